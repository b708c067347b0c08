"""`RowCorrelation`: products over rows of pixels, transforms along rows."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ...array_api import like
from .base import ShiftCorrelation
from .tile import Tile
from .workspace import Workspace

__all__ = ["RowCorrelation"]


class RowCorrelation(ShiftCorrelation):
    """Only the horizontal axis is transformed; vertical shifts are products over rows of pixels.

    Cheap for few channels. Rows of pixels above and below everything that the first images show
    are skipped. Of a complex product (a + ib)(c + id) three real ones are made, b(c + d), c(a + b)
    and a(d - c): the real part is the second less the first, the imaginary part the second and
    the third, and these sums are left to the inverse transform.
    """

    _row_axis = 1

    def _column_transform(self) -> tuple[NDArray[Any], NDArray[Any]]:
        even, odd = super()._column_transform()
        real, others = even[:, : self.n_real], even[:, self.n_real :]
        return np.hstack([real, -others, others]), np.hstack([odd, odd])

    def _n_products(self) -> int:
        return self.n_real + 3 * (len(self.frequencies) - self.n_real)

    @property
    def depth(self) -> int:
        return int(self.height * self._n_planes)

    def spectrum_bytes(self) -> int:
        numbers = self._n_products() * self.height * self._n_planes * len(self.rows)
        return int(self.dtype.itemsize * numbers)

    def spectra(self, images: NDArray[Any]) -> list[NDArray[Any]]:
        spectrum = fft.rfft(self._phases(images), axis=3)
        rolled = (np.arange(self.height) - self.rows[:, None]) % self.height
        # Rows of pixels before planes, so that a range of them is a slice.
        shape = self._n_products(), len(images), len(self.rows), self.height, self._n_planes
        kept = np.empty(shape, self.dtype)
        others = len(self.frequencies) - self.n_real
        for k, h in enumerate(self.frequencies):
            plane = spectrum[..., h][:, :, rolled].transpose(0, 2, 3, 1)
            if k < self.n_real:
                kept[k] = plane.real
            else:
                # c + d, c and d - c of the conjugate.
                np.subtract(plane.real, plane.imag, out=kept[k])
                kept[k + others] = plane.real
                np.add(plane.real, plane.imag, out=kept[k + 2 * others])
                np.negative(kept[k + 2 * others], out=kept[k + 2 * others])
        return [kept.reshape(*shape[:3], prod(shape[3:]))]

    def _tiles(
        self, first: NDArray[Any], second: list[NDArray[Any]]
    ) -> Iterator[tuple[slice, Tile]]:
        n, m, rows = len(first), second[0].shape[1], len(self.rows)
        images = self._phases(first)
        # The first images meet nothing where all are blank: only products with the other rows.
        seen = np.flatnonzero(images.any(axis=(0, 1, 3)))
        top, bottom = (seen[0], seen[-1] + 1) if len(seen) else (0, 1)
        size = (bottom - top) * self._n_planes
        own = self._own(images[:, :, top:bottom])
        others = len(self.frequencies) - self.n_real
        space, at_imaginary = Workspace(self.dtype), len(self._even[0]) - others
        step = max(1, self.cache_bytes // (self._bytes_a_pair(len(own)) * max(n, 1)))
        kept = second[0][..., top * self._n_planes : bottom * self._n_planes]
        kept = kept.reshape(len(own), m * rows, size)  # a view: only the last axis was cut
        for start in range(0, m, step):
            stop = min(start + step, m)
            if start == 0 or stop - start < step:
                products = space.array("products", len(own), (stop - start) * rows, n)
                apart = products.reshape(len(own), stop - start, rows, n)
                tile = self._tile(apart[: len(self._even[0])], apart[at_imaginary:], space)
            np.matmul(kept[:, start * rows : stop * rows], own, out=products)
            yield slice(start, stop), tile

    def _own(self, images: NDArray[Any]) -> NDArray[Any]:
        """Transforms of first images (n, planes, height, width), shape (products, size, n)."""
        spectrum = fft.rfft(images, axis=3).transpose(3, 2, 1, 0)
        size = images.shape[1] * images.shape[2]
        spectrum = spectrum[self.frequencies].reshape(len(self.frequencies), size, len(images))
        others = spectrum[self.n_real :]
        # In C order, which the products read fastest.
        own = np.empty((self._n_products(), size, len(images)), self.dtype)
        np.concatenate(
            [spectrum[: self.n_real].real, others.imag, others.real + others.imag, others.real],
            out=own,
        )
        return own

    def second_arrays(self, spectra: list[NDArray[Any]], like_this: Any) -> Any:
        return like(spectra[0], like_this)

    def first_arrays(self, first: NDArray[Any], like_this: Any) -> Any:
        return like(self._own(self._phases(first)), like_this)

    def _n_second(self, second: Any) -> int:
        return int(second.shape[1])

    def _even_odd(self, xp: Any, first: Any, second: Any, some: slice, matrices: list[Any]) -> Any:
        kept = second[:, some, :, :]
        n, m, rows = first.shape[2], kept.shape[1], len(self.rows)
        kept = xp.reshape(kept, (kept.shape[0], m * rows, kept.shape[3]))
        products = xp.reshape(xp.matmul(kept, first), (kept.shape[0], m * rows * n))
        n_even = len(self._even[0])
        at_imaginary = n_even - (len(self.frequencies) - self.n_real)
        even = matrices[0] @ products[:n_even, :]
        odd = matrices[1] @ products[at_imaginary:, :]
        return xp.reshape(even, (-1, m, rows, n)), xp.reshape(odd, (-1, m, rows, n))

    def operations(self, shown: float = 1.0) -> dict[str, int]:
        each = 2 * len(self.rows) * self.height * self._n_planes
        products = round(shown * self._n_products() * each)
        return {"products": products, "rows": 0, "columns": self._column_operations()}
