"""`Correlations`: translations by correlation."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from joblib import delayed
from numpy.typing import NDArray

from ...groups import Transformations
from ..arrays import shift_extremes
from ..base import row_blocks
from ..correlation import shift_correlation
from .base import Plan, largest_norm

__all__ = ["Correlations"]

#: Bytes of one thread's transforms of a block of rows.
_ROWS_BYTES = 128 * 2**20


@dataclass
class Correlations(Plan):
    """Translations by correlation, after `before` on the second points; then `after` transposed."""

    pairs: NDArray
    cyclic: bool
    before: Transformations | None
    after: Transformations | None

    def __post_init__(self) -> None:
        margin = np.zeros(2, dtype=int) if self.cyclic else np.abs(self.pairs).max(axis=0)
        # Zeros beyond the frame turn the shifts that lose pixels into cyclic ones.
        self.margin = margin
        grid = (self.shape[0] + margin[0], self.shape[1] + margin[1])
        self.correlation = shift_correlation(
            grid, self.pairs, self.lift.n_channels, self.dtype, shown=tuple(self.shown() / grid)
        )
        self.skips = 1 if self.correlation.transposed else 0
        self.elements = None if self.before is None else self.before.elements()
        self.kept_transposes = None
        if self.after is not None:
            self.after_elements = self.after.elements()
            kept = len(self.after_elements) * self.dtype.itemsize * prod(self.shape) ** 2
            if kept <= self.block_bytes:
                self.kept_transposes = list(self._made_transposes())

    def transposes(self):
        """Matrices that carry the transposes of `after` to the first points; None for none."""
        if self.after is None:
            return [None]
        return self._made_transposes() if self.kept_transposes is None else self.kept_transposes

    def _made_transposes(self):
        basis = np.eye(prod(self.shape), dtype=self.dtype)
        for i in range(len(self.after_elements)):
            yield self.after.act(self.after_elements[i : i + 1], basis)[0].T

    def _n_elements(self) -> int:
        return 1 if self.elements is None else len(self.elements)

    def pieces(self, Y: NDArray) -> int:
        kept = self.correlation.spectrum_bytes() * self._n_elements()
        return -(-len(Y) * kept // (self.block_bytes * 3 // 4))

    def row_step(self, width: int) -> int:
        per_row = (
            4
            * self.dtype.itemsize
            * self.lift.n_channels
            * (self.correlation.height * self.correlation.width)
        )
        return int(np.clip(_ROWS_BYTES // per_row, 8, self.correlation.n_first))

    def _pad(self, planes: NDArray) -> NDArray:
        """Zeros below and to the right of (n, channels, height, width)."""
        if not self.margin.any():
            return planes
        return np.pad(planes, ((0, 0), (0, 0), (0, self.margin[0]), (0, self.margin[1])))

    def _padded_images(self, points: NDArray) -> NDArray:
        images = self.images(points)
        if not self.margin.any():
            return images
        return np.pad(images, ((0, 0), (0, self.margin[0]), (0, self.margin[1]), (0, 0)))

    def _spectra(self, points: NDArray) -> list[NDArray]:
        return self.correlation.spectra(self.lift.second(self._padded_images(points)))

    def seconds(self, Y: NDArray, pool):
        moved = Y[None] if self.before is None else self.before.act(self.elements, Y)
        n_elements = len(moved)
        moved = moved.reshape(-1, Y.shape[1])
        step = max(1, _ROWS_BYTES // (8 * self.correlation.spectrum_bytes()) + 1)
        parts = pool(
            delayed(self._spectra)(moved[a : a + step]) for a in range(0, len(moved), step)
        )
        spectra = []
        for h in range(len(parts[0])):
            spectra.append(np.concatenate([part[h] for part in parts], axis=1))
            for part in parts:
                part[h] = None
        yield spectra, n_elements, *self._halved_norms(moved), largest_norm(moved)

    def extremes_arrays(self, xp, like_this, X: NDArray, Y: NDArray):
        """Smallest and largest cores in another library, shape (n, m) each."""
        kept = self._n_elements() * self.correlation.spectrum_bytes()
        parts = []
        for columns in row_blocks(len(Y), kept, self.block_bytes // 2):
            moved = (
                Y[None, columns]
                if self.before is None
                else (self.before.act(self.elements, Y[columns]))
            )
            n_elements = len(moved)
            moved = moved.reshape(-1, Y.shape[1])
            second = self.lift.second(self._padded_images(moved))
            halves, of_shifts = self._halved_norms(moved)
            if of_shifts is not None:
                halves = np.stack([of_shifts[self.correlation.place(pair)] for pair in self.pairs])
            low = high = None
            for transpose in self.transposes():
                own = X if transpose is None else X @ transpose
                smallest, largest = shift_extremes(
                    xp,
                    like_this,
                    self._pad(self.lift.first(self.images(own))),
                    second,
                    self.pairs,
                    None if halves is None else np.atleast_2d(halves),
                    self.block_bytes,
                )
                low = smallest if low is None else xp.minimum(low, smallest)
                high = largest if high is None else xp.maximum(high, largest)
            shape = (len(X), n_elements, -1)
            parts.append(
                (xp.min(xp.reshape(low, shape), axis=1), xp.max(xp.reshape(high, shape), axis=1))
            )
        return tuple(xp.concat(part, axis=1) for part in zip(*parts, strict=True))

    def _halved_norms(self, moved: NDArray) -> tuple[NDArray | None, NDArray | None]:
        """Half of |T z|^2: for each point where shifts keep it, else for each shift as well."""
        if not self.lift.halved_norm:
            return None, None
        if self.cyclic:
            return np.einsum("nd,nd->n", moved, moved) / 2, None
        frame = self._pad(np.ones((1, self.lift.n_channels, *self.shape[:2]), self.dtype))
        norms = self.correlation.every(frame, self._spectra(moved**2))
        return None, norms[:, :, :, 0] / 2

    def block(self, X: NDArray, second) -> tuple[NDArray | None, NDArray]:
        spectra, n_elements, half, halves, norm = second
        smallest = largest = None
        for transpose in self.transposes():
            own = X if transpose is None else X @ transpose
            first = self._pad(self.lift.first(self.images(own)))
            high, low = self.correlation.extremes(first, spectra, halves, self.lowest(own, norm))
            if half is not None:
                high -= half
            if n_elements > 1:
                high = high.reshape(len(X), n_elements, -1).max(axis=1)
                low = None if low is None else low.reshape(len(X), n_elements, -1).min(axis=1)
            largest = high if largest is None else np.maximum(largest, high, out=largest)
            if low is not None:
                smallest = low if smallest is None else np.minimum(smallest, low, out=smallest)
        return smallest, largest
