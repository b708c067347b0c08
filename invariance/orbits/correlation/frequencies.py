"""`FrequencyCorrelation`: products over channels, transforms along both axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ...core.arrays import like
from .base import ShiftCorrelation
from .tile import Tile, Workspace

__all__ = ["FrequencyCorrelation"]


class FrequencyCorrelation(ShiftCorrelation):
    """Both axes are transformed, and each frequency is one matrix product over channels.

    Only then are the wanted vertical shifts recovered. For many channels this costs as many
    multiplications a pair as there are pixels and channels, whatever the number of shifts.
    """

    _row_axis = 0

    #: Bytes of products over channels that are made before they are transformed.
    tile_bytes = 8 * 2**20

    def __init__(
        self, grid: Any, shifts: Any, n_channels: int, dtype: Any, transposed: bool = False
    ):
        super().__init__(grid, shifts, n_channels, dtype, transposed)
        self._rows_of_real, self._rows_of_others = self._row_transforms()

    def _row_transforms(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Matrices from real and imaginary parts at vertical frequencies to those at shifts.

        At real horizontal frequencies results are real, and half of the vertical ones suffice.
        """
        frequencies = np.arange(self.height)
        angle = 2 * np.pi * np.outer(self.rows, frequencies) / self.height
        whole = np.exp(1j * angle) / self.height
        half = frequencies[: self.height // 2 + 1]
        few = whole[:, half] * np.where((2 * half) % self.height == 0, 1, 2)
        both = np.block([[whole.real, -whole.imag], [whole.imag, whole.real]])
        return np.hstack([few.real, -few.imag]).astype(self.dtype), both.astype(self.dtype)

    def spectrum_bytes(self) -> int:
        numbers = len(self.frequencies) * self.height * self._n_planes
        return 2 * int(self.dtype.itemsize) * numbers

    def _sizes(self) -> list[int]:
        """How many vertical frequencies are kept of every horizontal one."""
        half = self.height // 2 + 1
        return [half if k < self.n_real else self.height for k in range(len(self.frequencies))]

    def room(self, m: int) -> list[NDArray[Any]]:
        # Real, then imaginary parts by horizontal frequency.
        planes = self._n_planes
        return [np.empty((size, m, planes), self.dtype) for size in self._sizes() for _ in "ri"]

    def _fill(self, planes: list[NDArray[Any]], images: Any, step: int) -> None:
        """Write transforms, a few images at a time, into planes (frequencies, images, channels)."""
        for start in range(0, len(images), step):
            some = slice(start, start + step)
            spectrum = fft.rfft2(self._phases(images[some])).transpose(3, 2, 0, 1)
            for real, imag, h in zip(planes[::2], planes[1::2], self.frequencies, strict=True):
                real[:, some] = spectrum[h, : len(real)].real
                imag[:, some] = spectrum[h, : len(imag)].imag

    def _own(self, images: Any) -> list[NDArray[Any]]:
        """As `room`, of first images: (vertical frequency, channels, images), as products read."""
        n, planes = len(images), self._n_planes
        own = [np.empty((size, planes, n), self.dtype) for size in self._sizes() for _ in "ri"]
        self._fill([plane.swapaxes(1, 2) for plane in own], images, 16)  # whole cache lines
        return own

    def spectra(
        self, images: NDArray[Any], out: list[NDArray[Any]] | None = None
    ) -> list[NDArray[Any]]:
        planes = self.room(len(images)) if out is None else out
        # So few that they stay in cache while they are transformed and put in order.
        self._fill(planes, images, max(1, self.cache_bytes // (self.spectrum_bytes() + 1)))
        for imag in planes[1::2]:
            np.negative(imag, out=imag)
        return planes

    def first_bytes(self) -> int:
        return 3 * self.spectrum_bytes() // 2

    def _tiles(
        self, first: Any, second: list[NDArray[Any]], together: int = 1
    ) -> Iterator[tuple[slice, Tile]]:
        n, m, rows = len(first), second[0].shape[1], len(self.rows)
        own, space, n_freq = self._own(first), Workspace(self.dtype), len(self.frequencies)
        sums = [a + b for a, b in zip(own[::2], own[1::2], strict=True)]
        fits = self._multiple(
            self.cache_bytes // (self._bytes_a_pair(2 * n_freq) * max(n, 1)), together
        )
        kept = int(self.dtype.itemsize) * (2 * rows * n_freq + 3 * self.height)
        step = self._multiple(self.tile_bytes // (kept * max(n, 1)), together)
        for start in range(0, m, step):
            width = min(step, m - start)
            parts = [slice(a, min(a + fits, width)) for a in range(0, width, fits)]
            shifted = [
                space.array(f"shifted {a}", n_freq, 2 * rows, part.stop - part.start, n)
                for a, part in enumerate(parts)
            ]
            for k in range(n_freq):
                pair = slice(2 * k, 2 * k + 2)
                shown = [plane[:, start : start + width] for plane in second[pair]]
                both = self._products([*own[pair], sums[k]], shown, space)
                matrix = self._rows_of_others if k >= self.n_real else self._rows_of_real
                for part, target in zip(parts, shifted, strict=True):
                    size = target.shape[2] * n
                    out = target[k].reshape(2 * rows, size)[: len(matrix)]
                    np.matmul(matrix, both[:, part.start * n : part.stop * n], out=out)
            for part, moved in zip(parts, shifted, strict=True):
                some = slice(start + part.start, start + part.stop)
                yield some, self._tile(moved[:, :rows], moved[self.n_real :, rows:], space)

    @staticmethod
    def _products(
        first: list[NDArray[Any]], second: list[NDArray[Any]], space: Workspace
    ) -> NDArray[Any]:
        """Sums over channels of second times first, shape (2 frequencies, second x first images).

        Real parts, then imaginary ones, by three real products in place of four:
        (c + id)(a + ib) = ca - db + i ((c + d)(a + b) - ca - db).
        """
        (a, b, ab), (c, d) = first, second
        height, width, n = len(c), c.shape[1], a.shape[2]
        both = space.array("both", 2, height, width, n)
        other = space.array("other", height, width, n)
        cd = np.add(c, d, out=space.array("sum", *c.shape))
        np.matmul(cd, ab, out=both[1])
        np.matmul(d, b, out=other)
        both[1] -= other
        np.matmul(c, a, out=both[0])
        both[1] -= both[0]
        both[0] -= other
        return both.reshape(2 * height, width * n)

    def matrices(self) -> list[NDArray[Any]]:
        return [*super().matrices(), self._rows_of_real, self._rows_of_others]

    def second_arrays(self, spectra: list[NDArray[Any]], like_this: Any) -> Any:
        return [like(plane, like_this) for plane in spectra]

    def first_arrays(self, first: Any, like_this: Any) -> Any:
        return [like(plane, like_this) for plane in self._own(first)]

    def _n_second(self, second: Any) -> int:
        return int(second[0].shape[1])

    def _even_odd(self, xp: Any, first: Any, second: Any, some: slice, matrices: list[Any]) -> Any:
        rows, parts = len(self.rows), []
        for k in range(len(self.frequencies)):
            (a, b), (c, d) = first[2 * k : 2 * k + 2], second[2 * k : 2 * k + 2]
            c, d = c[:, some, :], d[:, some, :]
            # As in `_products`; the rows of shifts are a small product.
            real, other = c @ a, d @ b
            both = xp.concat([real - other, (c + d) @ (a + b) - real - other])
            m, n = both.shape[1:]
            parts.append(matrices[2 + (k >= self.n_real)] @ xp.reshape(both, (-1, m * n)))
        even = xp.stack([part[:rows, :] for part in parts])
        others = [part[rows:, :] for part in parts[self.n_real :]]
        odd = xp.stack(others) if others else even[:0, ...]
        return [
            xp.reshape(matrix @ xp.reshape(part, (part.shape[0], rows * m * n)), (-1, rows, m, n))
            for matrix, part in zip(matrices, (even, odd), strict=False)
        ]

    def operations(self, shown: float = 1.0) -> dict[str, int]:
        others = (len(self.frequencies) - self.n_real) * self.height
        real = self.n_real * (self.height // 2 + 1)
        return {
            "products": 6 * self._n_planes * (real + others),
            "rows": 4 * len(self.rows) * (real + 2 * others),
            "columns": self._column_operations(),
        }
