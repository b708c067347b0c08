"""`Products` and `TurnedProducts`: transformations applied, then matrix products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...groups import Transformations
from ..quarter_turns import QuarterTurns
from .base import Plan, largest_norm

__all__ = ["Products", "TurnedProducts"]


@dataclass
class Products(Plan):
    """Every transformation applied, then one matrix product for a block of them."""

    support: NDArray  # (channels, height, width)
    group: Transformations
    elements: NDArray

    #: Bytes in use for each that `lifted` returns.
    overhead = 2

    def __post_init__(self) -> None:
        self.skips = int(np.argmin(self.shown() / self.shape[:2]))
        # Features along that axis, so that those of a range of rows or columns are a slice.
        features = np.arange(self.support.size).reshape(self.support.shape)
        features, support = (np.moveaxis(a, 1 + self.skips, 0) for a in (features, self.support))
        # Leaving features out costs a copy, which a few of them do not repay.
        self.features = features[support] if support.mean() < 0.9 else None

    def _lifted_bytes(self) -> int:
        return self.dtype.itemsize * self.lift.n_channels * self.shape[0] * self.shape[1]

    def pieces(self, Y: NDArray) -> int:
        # At least 64 columns at a time, however many transformations: these come in blocks too.
        kept = self.overhead * self._lifted_bytes() * len(self.elements)
        width = max(64, int(self.block_bytes // kept))
        return -(-len(Y) // width)

    def row_step(self, width: int) -> int:
        columns = width * min(len(self.elements), self._elements_step(width))
        fits = self.block_bytes // (16 * (self._lifted_bytes() + self.dtype.itemsize * columns))
        return int(np.clip(fits, 16, 1024))

    def _elements_step(self, width: int) -> int:
        return max(1, int(self.block_bytes // (self.overhead * self._lifted_bytes() * width)))

    def _kept(self, lifted: NDArray) -> NDArray:
        lifted = lifted.reshape(len(lifted), -1)
        return lifted if self.features is None else lifted[:, self.features]

    def lifted(self, Y: NDArray):
        """What `cores` needs of transformed points."""
        return self._kept(self.lift.second(self.images(Y)))

    def cores(self, X: NDArray, lifted) -> tuple[NDArray, NDArray]:
        """Largest and smallest inner products over what has not been applied yet: nothing."""
        first = self._kept(self.lift.first(self.images(X)))
        if self.features is not None:
            seen = np.flatnonzero(first.any(axis=0))
            some = slice(seen[0], seen[-1] + 1) if len(seen) else slice(0)
            first, lifted = first[:, some], lifted[:, some]
        core = first @ lifted.T
        return core, core

    def seconds(self, Y: NDArray, pool):
        step = self._elements_step(len(Y))
        for start in range(0, len(self.elements), step):
            moved = self.group.act(self.elements[start : start + step], Y)
            n_elements = len(moved)
            moved = moved.reshape(-1, Y.shape[1])
            half = np.einsum("nd,nd->n", moved, moved) / 2 if self.lift.halved_norm else None
            yield self.lifted(moved), n_elements, half, largest_norm(moved)

    def block(self, X: NDArray, second) -> tuple[NDArray | None, NDArray]:
        lifted, n_elements, half, norm = second
        high, low = self.cores(X, lifted)
        if self.lift.halved_norm:
            high, low = high - half, low - half
        low = low.reshape(len(X), n_elements, -1).min(axis=1) if self.lowest(X, norm) else None
        return low, high.reshape(len(X), n_elements, -1).max(axis=1)


@dataclass
class TurnedProducts(Products):
    """The transformations within a quarter turn applied; quarter turns by `QuarterTurns`."""

    overhead = 4 / 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self.turns = QuarterTurns(self.lift, self.shape, self.support.ravel())

    def lifted(self, Y: NDArray):
        return self.turns.second(Y)

    def cores(self, X: NDArray, lifted) -> tuple[NDArray, NDArray]:
        return self.turns.extremes(self.turns.first(X), lifted)
