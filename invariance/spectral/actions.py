"""How isometries act on an eigenspace: the matrices D^lambda(g), in the basis and on its frame."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..groups import FiniteGroup
from .base import Basis, OracleCalls

__all__ = ["Actions", "check_finite_order"]

#: A generator's eigenvalues must be roots of unity of at most this order.
MAX_ORDER = 2000


def check_finite_order(group: FiniteGroup, maps: tuple[NDArray, NDArray]) -> None:
    """Refuse matrices that turn by an irrational angle.

    Their invariants exist, but a group that holds such a matrix is infinite, which the caller
    did not mean: the usual cause is a mistyped angle.
    """
    for i, matrix in enumerate(maps[0]):
        turns = np.angle(np.linalg.eigvals(matrix)) / (2 * np.pi)
        for turn in turns:
            if abs(turn - float(Fraction(turn).limit_denominator(MAX_ORDER))) > 1e-11:
                raise ValueError(
                    f"element {i} of {group!r} turns by {abs(turn):.9g} of a full turn, which is "
                    f"no fraction with a denominator up to {MAX_ORDER}: it generates no finite "
                    "group (of manageable order)"
                )


class Actions:
    """How given isometries act on one eigenspace, computed when first asked for."""

    def __init__(self, basis: Basis, k: int, maps, calls: OracleCalls | None):
        self.basis, self.k, self.maps, self.calls = basis, k, maps, calls
        self.frame = basis.frame(k)
        self._frame_actions = None

    def on_frame(self) -> list:
        if self._frame_actions is None:
            self._frame_actions = [
                self.basis.frame_action(self.k, matrix, shift)
                for matrix, shift in zip(*self.maps, strict=True)
            ]
        return self._frame_actions

    def permutations(self) -> list[tuple[NDArray, NDArray]] | None:
        """Each action as (perm, signs) on the frame, or None when one is no signed permutation."""
        found = []
        for action in self.on_frame():
            if not sparse.issparse(action):
                return None
            one_each = np.all(np.diff(action.indptr) == 1)
            if not one_each or np.any(np.abs(action.data) != 1):
                return None
            found.append((action.indices, action.data))
        if self.calls is not None:
            self.calls.inner_products += sum(len(perm) for perm, _ in found)
        return found

    def matrices(self, every_entry: bool = False) -> list[sparse.csr_array]:
        """D^lambda(g), sparse; ``every_entry`` counts the zeros as asked for, too."""
        found = [sparse.csr_array(self.frame @ a @ self.frame.T) for a in self.on_frame()]
        if self.calls is not None:
            self.calls.inner_products += sum(
                matrix.shape[0] ** 2 if every_entry else matrix.nnz for matrix in found
            )
        return found

    def constraints(self) -> sparse.csr_array:
        """B, the stacked D^lambda(g) - I, set up entry by entry as the paper counts it."""
        size = self.frame.shape[0]
        unit = sparse.eye_array(size, format="csr")
        stacked = [matrix - unit for matrix in self.matrices(every_entry=True)]
        return sparse.csr_array(sparse.vstack(stacked))
