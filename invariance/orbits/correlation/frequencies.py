"""`FrequencyCorrelation`: products over channels, transforms along both axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ...array_api import like
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
    tile_bytes = 16 * 2**20

    def __init__(
        self, grid: Any, shifts: Any, n_channels: int, dtype: Any, transposed: bool = False
    ):
        super().__init__(grid, shifts, n_channels, dtype, transposed)
        self._complex = np.result_type(self.dtype, np.complex64)
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
        return self._complex.itemsize * numbers

    def room(self, m: int) -> list[NDArray[Any]]:
        half = self.height // 2 + 1
        sizes = [half if k < self.n_real else self.height for k in range(len(self.frequencies))]
        return [np.empty((size, m, self._n_planes), self._complex) for size in sizes]

    def _planes(
        self, images: NDArray[Any], out: list[NDArray[Any]] | None = None
    ) -> list[NDArray[Any]]:
        """Transforms by horizontal frequency, of shape (vertical frequency, images, channels)."""
        n, planes = len(images), self.room(len(images)) if out is None else out
        # A few images at a time, which stay in cache while they are transformed and put in order.
        step = max(1, self.cache_bytes // (self.spectrum_bytes() + 1))
        for start in range(0, n, step):
            some = slice(start, start + step)
            spectrum = fft.rfft2(self._phases(images[some])).transpose(3, 2, 0, 1)
            for plane, h in zip(planes, self.frequencies, strict=True):
                plane[:, some] = spectrum[h, : len(plane)]
        return planes

    def spectra(
        self, images: NDArray[Any], out: list[NDArray[Any]] | None = None
    ) -> list[NDArray[Any]]:
        planes = self._planes(images, out)
        for plane in planes:
            np.conj(plane, out=plane)
        return planes

    def _tiles(
        self, first: NDArray[Any], second: list[NDArray[Any]], together: int = 1
    ) -> Iterator[tuple[slice, Tile]]:
        n, m, rows = len(first), second[0].shape[1], len(self.rows)
        prepared = [plane.swapaxes(1, 2) for plane in self._planes(first)]
        space, products = Workspace(self.dtype), Workspace(self._complex)
        n_freq = len(prepared)
        fits = self._multiple(
            self.cache_bytes // (self._bytes_a_pair(2 * n_freq) * max(n, 1)), together
        )
        kept = self._complex.itemsize * (rows * n_freq + self.height)
        step = self._multiple(self.tile_bytes // (kept * max(n, 1)), together)
        for start in range(0, m, step):
            width = min(step, m - start)
            parts = [slice(a, min(a + fits, width)) for a in range(0, width, fits)]
            shifted = [
                space.array(f"shifted {a}", n_freq, 2 * rows, part.stop - part.start, n)
                for a, part in enumerate(parts)
            ]
            for k, (own, other) in enumerate(zip(prepared, second, strict=True)):
                product = products.array("product", len(own), width, n)
                np.matmul(other[:, start : start + width], own, out=product)
                matrix = self._rows_of_others if k >= self.n_real else self._rows_of_real
                for part, target in zip(parts, shifted, strict=True):
                    size = target.shape[2] * n
                    both = space.array("both", 2, len(own), *target.shape[2:])
                    both[0], both[1] = product[:, part].real, product[:, part].imag
                    out = target[k].reshape(2 * rows, size)[: len(matrix)]
                    np.matmul(matrix, both.reshape(2 * len(own), size), out=out)
            for part, both in zip(parts, shifted, strict=True):
                some = slice(start + part.start, start + part.stop)
                yield some, self._tile(both[:, :rows], both[self.n_real :, rows:], space)

    def matrices(self) -> list[NDArray[Any]]:
        return [*super().matrices(), self._rows_of_real, self._rows_of_others]

    def second_arrays(self, spectra: list[NDArray[Any]], like_this: Any) -> Any:
        return [(like(plane.real, like_this), like(plane.imag, like_this)) for plane in spectra]

    def first_arrays(self, first: NDArray[Any], like_this: Any) -> Any:
        planes = [plane.swapaxes(1, 2) for plane in self._planes(first)]
        return [(like(plane.real, like_this), like(plane.imag, like_this)) for plane in planes]

    def _n_second(self, second: Any) -> int:
        return int(second[0][0].shape[1])

    def _even_odd(self, xp: Any, first: Any, second: Any, some: slice, matrices: list[Any]) -> Any:
        rows, parts = len(self.rows), []
        for k, ((a, b), (c, d)) in enumerate(zip(first, second, strict=True)):
            c, d = c[:, some, :], d[:, some, :]
            # (c + id)(a + ib), a frequency down at a time; the rows of shifts are a small product.
            both = xp.concat([c @ a - d @ b, c @ b + d @ a])
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
            "products": 8 * self._n_planes * (real + others),
            "rows": 4 * len(self.rows) * (real + 2 * others),
            "columns": self._column_operations(),
        }
