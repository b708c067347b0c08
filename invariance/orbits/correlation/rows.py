"""`RowCorrelation`: products over rows of pixels, transforms along rows."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ...core.arrays import like
from .base import ShiftCorrelation
from .tile import Tile, Workspace

__all__ = ["RowCorrelation"]


class RowCorrelation(ShiftCorrelation):
    """Only the horizontal axis is transformed; vertical shifts are products over rows of pixels.

    Cheap for few channels. Rows of pixels above and below everything that the first images show
    are skipped. Of a complex product (a + ib)(c - id) the real part is (a, b) times (c, d) and the
    imaginary part (b, -a) times (c, d), so that the second images are kept once.
    """

    _row_axis = 1

    @property
    def depth(self) -> int:
        return int(2 * self.height * self._n_planes)

    def spectrum_bytes(self) -> int:
        return int(self.dtype.itemsize * len(self.frequencies) * len(self.rows) * self.depth)

    def room(self, m: int) -> list[NDArray[Any]]:
        return [np.empty((len(self.frequencies), m, len(self.rows), self.depth), self.dtype)]

    def spectra(
        self, images: NDArray[Any], out: list[NDArray[Any]] | None = None
    ) -> list[NDArray[Any]]:
        out = self.room(len(images)) if out is None else out
        spectrum = fft.rfft(self._phases(images), axis=3)
        rolled = (np.arange(self.height) - self.rows[:, None]) % self.height
        # Rows of pixels before planes, so that a range of them is a slice.
        kept = out[0].reshape(*out[0].shape[:3], self.height, 2, self._n_planes)  # a view
        for k, h in enumerate(self.frequencies):
            plane = spectrum[..., h][:, :, rolled].transpose(0, 2, 3, 1)
            kept[k, ..., 0, :], kept[k, ..., 1, :] = plane.real, plane.imag
        return out

    def first_bytes(self) -> int:
        return 3 * int(self.dtype.itemsize) * self._n_planes * self.height * self.width

    def _tiles(
        self, first: Any, second: list[NDArray[Any]], together: int = 1
    ) -> Iterator[tuple[slice, Tile]]:
        n, m, rows = len(first), second[0].shape[1], len(self.rows)
        own, shown = self._own(first)
        space, n_even, n_real = Workspace(self.dtype), len(self.frequencies), self.n_real
        step = self._multiple(
            self.cache_bytes // (self._bytes_a_pair(len(own)) * max(n, 1)), together
        )
        kept = second[0][..., shown]
        kept = kept.reshape(n_even, m * rows, kept.shape[3])  # a view: only the last axis was cut
        for start in range(0, m, step):
            stop = min(start + step, m)
            if start == 0 or stop - start < step:
                products = space.array("products", len(own), (stop - start) * rows, n)
                apart = products.reshape(len(own), stop - start, rows, n)
                tile = self._tile(apart[:n_even], apart[n_even:], space)
            some = slice(start * rows, stop * rows)
            np.matmul(kept[:, some], own[:n_even], out=products[:n_even])
            np.matmul(kept[n_real:, some], own[n_even:], out=products[n_even:])
            yield slice(start, stop), tile

    def _own(self, first: Any) -> tuple[NDArray[Any], slice]:
        """Transforms of first images, shape (products, depth, n), and what depth of second ones.

        The first images meet nothing where all are blank: only products with the other rows.
        """
        images = self._phases(first[:])
        seen = np.flatnonzero(images.any(axis=(0, 1, 3)))
        top, bottom = (int(seen[0]), int(seen[-1]) + 1) if len(seen) else (0, 1)
        size, images = 2 * self._n_planes, images[:, :, top:bottom]
        spectrum = fft.rfft(images, axis=3).transpose(3, 2, 1, 0)[self.frequencies]
        others = spectrum[self.n_real :]
        # In C order, which the products read fastest.
        own = np.empty(
            (len(spectrum) + len(others), len(spectrum[0]), 2, *others.shape[2:]), self.dtype
        )
        np.concatenate([spectrum.real, others.imag], out=own[:, :, 0])
        np.concatenate([spectrum.imag, -others.real], out=own[:, :, 1])
        depth = slice(top * size, bottom * size)
        return own.reshape(len(own), prod(own.shape[1:4]), len(images)), depth

    def second_arrays(self, spectra: list[NDArray[Any]], like_this: Any) -> Any:
        return like(spectra[0], like_this)

    def first_arrays(self, first: Any, like_this: Any) -> Any:
        own, shown = self._own(first)
        return like(own, like_this), shown

    def _n_second(self, second: Any) -> int:
        return int(second.shape[1])

    def _even_odd(self, xp: Any, first: Any, second: Any, some: slice, matrices: list[Any]) -> Any:
        (first, shown), n_even, rows = first, len(self.frequencies), len(self.rows)
        kept, n = second[:, some, :, shown], first.shape[2]
        m = kept.shape[1]
        kept = xp.reshape(kept, (n_even, m * rows, kept.shape[3]))
        pairs = (kept, first[:n_even, ...]), (kept[self.n_real :, ...], first[n_even:, ...])
        return [
            xp.reshape(
                matrix @ xp.reshape(xp.matmul(one, two), (-1, m * rows * n)), (-1, m, rows, n)
            )
            for matrix, (one, two) in zip(matrices, pairs, strict=True)
        ]

    def operations(self, shown: float = 1.0) -> dict[str, int]:
        n_products = 2 * len(self.frequencies) - self.n_real
        products = round(shown * n_products * 2 * len(self.rows) * self.depth)
        return {"products": products, "rows": 0, "columns": self._column_operations()}
