"""`Tile`: the inverse transform along columns of some pairs, in buffers that outlive it."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Tile", "Workspace"]


class Tile:
    """Sums even and odd in the horizontal shift, E and O, of what `read_even` and `read_odd` hold.

    Made once for all tiles of one size, which are written into the arrays read here one after
    another: on small tiles, making views of them anew would cost as much as the sums, and would
    keep the interpreter's lock from the other threads.

    Parameters
    ----------
    even_matrix, odd_matrix : ndarray
    read_even, read_odd : ndarray, as many first entries as the matrices have columns
        Contiguous but for the first axis.
    n_own : int
        How many first columns of shifts have no odd part.
    space : Workspace
    """

    def __init__(
        self,
        even_matrix: NDArray[Any],
        odd_matrix: NDArray[Any],
        read_even: NDArray[Any],
        read_odd: NDArray[Any],
        n_own: int,
        space: Workspace,
    ):
        self.even = space.array("E", len(even_matrix), *read_even.shape[1:])
        self.odd = space.array("O", len(odd_matrix), *read_odd.shape[1:])
        #: The part of `even` that belongs to `odd`.
        self.paired = self.even[n_own:]
        self._products = [
            (matrix, *(a.reshape(len(a), prod(a.shape[1:])) for a in (read, write)))
            for matrix, read, write in (
                (even_matrix, read_even, self.even),
                (odd_matrix, read_odd, self.odd),
            )
        ]

    def transform(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """E and O of what the arrays hold now; E + O and E - O are values at shifts +, -."""
        for matrix, read, write in self._products:
            np.matmul(matrix, read, out=write)
        return self.even, self.odd


class Workspace:
    """Arrays that are used again for every tile: fresh memory costs a page fault a page."""

    def __init__(self, dtype: Any):
        self.dtype = dtype
        self.buffers: dict[str, NDArray[Any]] = {}

    def array(self, name: str, *shape: int) -> NDArray[Any]:
        size = prod(shape)
        if name not in self.buffers or self.buffers[name].size < size:
            self.buffers[name] = np.empty(size, self.dtype)
        return self.buffers[name][:size].reshape(shape)
