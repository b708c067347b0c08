"""`FrequencyCorrelation`: products over channels, transforms along both axes."""

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

__all__ = ["FrequencyCorrelation"]


class FrequencyCorrelation(ShiftCorrelation):
    """Both axes are transformed, and each frequency is one matrix product over channels.

    Only then are the wanted vertical shifts recovered. For many channels this costs as many
    multiplications a pair as there are pixels and channels, whatever the number of shifts.
    """

    _row_axis = 0

    #: Bytes of products over channels that are made before they are transformed.
    tile_bytes = 32 * 2**20

    def __init__(
        self, grid: Any, shifts: Any, n_channels: int, dtype: Any, transposed: bool = False
    ):
        super().__init__(grid, shifts, n_channels, dtype, transposed)
        self._complex = np.result_type(self.dtype, np.complex64)
        self._rows_of_real, self._rows_of_others = self._row_transforms()

    def _row_transforms(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Matrices from vertical frequencies to vertical shifts.

        At real horizontal frequencies results are real, and half of the vertical ones suffice.
        """
        frequencies = np.arange(self.height)
        angle = 2 * np.pi * np.outer(self.rows, frequencies) / self.height
        whole = (np.exp(1j * angle) / self.height).astype(self._complex)
        half = frequencies[: self.height // 2 + 1]
        return whole[:, half] * np.where((2 * half) % self.height == 0, 1, 2), whole

    def spectrum_bytes(self) -> int:
        numbers = len(self.frequencies) * self.height * self._n_planes
        return self._complex.itemsize * numbers

    def _planes(self, images: NDArray[Any]) -> list[NDArray[Any]]:
        """Transforms by horizontal frequency, of shape (vertical frequency, images, channels)."""
        n, half = len(images), self.height // 2 + 1
        sizes = [half if k < self.n_real else self.height for k in range(len(self.frequencies))]
        planes = [np.empty((size, n, self._n_planes), self._complex) for size in sizes]
        # A few images at a time, which stay in cache while they are transformed and put in order.
        step = max(1, self.cache_bytes // (self.spectrum_bytes() + 1))
        for start in range(0, n, step):
            some = slice(start, start + step)
            spectrum = fft.rfft2(self._phases(images[some])).transpose(3, 2, 0, 1)
            for plane, h in zip(planes, self.frequencies, strict=True):
                plane[:, some] = spectrum[h, : len(plane)]
        return planes

    def spectra(self, images: NDArray[Any]) -> list[NDArray[Any]]:
        planes = self._planes(images)
        for plane in planes:
            np.conj(plane, out=plane)
        return planes

    def _tiles(
        self, first: NDArray[Any], second: list[NDArray[Any]]
    ) -> Iterator[tuple[slice, Tile]]:
        n, m = len(first), second[0].shape[1]
        prepared = [plane.swapaxes(1, 2) for plane in self._planes(first)]
        space, products = Workspace(self.dtype), Workspace(self._complex)
        rows = len(self.rows)
        read = self._bytes_a_pair(2 * len(self.frequencies))
        fits = max(1, self.cache_bytes // (read * max(n, 1)))
        kept = self._complex.itemsize * (rows * len(self.frequencies) + self.height)
        step = max(1, self.tile_bytes // (kept * max(n, 1)))
        for start in range(0, m, step):
            width = min(step, m - start)
            parts = [slice(a, min(a + fits, width)) for a in range(0, width, fits)]
            both = [
                space.array(f"both {a}", 2, len(self.frequencies), rows, part.stop - part.start, n)
                for a, part in enumerate(parts)
            ]
            for k, (own, other) in enumerate(zip(prepared, second, strict=True)):
                product = products.array("product", len(own), width, n)
                np.matmul(other[:, start : start + width], own, out=product)
                matrix = self._rows_of_others if k >= self.n_real else self._rows_of_real
                for part, target in zip(parts, both, strict=True):
                    values = product[:, part]
                    shifted = products.array("shifted", *target.shape[2:])
                    np.matmul(
                        matrix,
                        values.reshape(len(values), prod(values.shape[1:])),
                        out=shifted.reshape(rows, prod(values.shape[1:])),
                    )
                    target[0, k] = shifted.real
                    if k >= self.n_real:
                        target[1, k] = shifted.imag
            for part, (real, imaginary) in zip(parts, both, strict=True):
                some = slice(start + part.start, start + part.stop)
                yield some, self._tile(real, imaginary[self.n_real :], space)

    def matrices(self) -> list[NDArray[Any]]:
        parts = [A for M in (self._rows_of_real, self._rows_of_others) for A in (M.real, M.imag)]
        return [*super().matrices(), *parts]

    def second_arrays(self, spectra: list[NDArray[Any]], like_this: Any) -> Any:
        return [(like(plane.real, like_this), like(plane.imag, like_this)) for plane in spectra]

    def first_arrays(self, first: NDArray[Any], like_this: Any) -> Any:
        planes = [plane.swapaxes(1, 2) for plane in self._planes(first)]
        return [(like(plane.real, like_this), like(plane.imag, like_this)) for plane in planes]

    def _n_second(self, second: Any) -> int:
        return int(second[0][0].shape[1])

    def _even_odd(self, xp: Any, first: Any, second: Any, some: slice, matrices: list[Any]) -> Any:
        reals, imaginaries = [], []
        rows = len(self.rows)
        for k, ((a, b), (c, d)) in enumerate(zip(first, second, strict=True)):
            c, d = c[:, some, :], d[:, some, :]
            # (c + id)(a + ib), a frequency down at a time; the rows of shifts are a small product.
            real, imaginary = c @ a - d @ b, c @ b + d @ a
            m, n = real.shape[1:]
            real, imaginary = (xp.reshape(A, (A.shape[0], m * n)) for A in (real, imaginary))
            p, q = matrices[4:6] if k >= self.n_real else matrices[2:4]
            reals.append(xp.reshape(p @ real - q @ imaginary, (rows, m, n)))
            if k >= self.n_real:
                imaginaries.append(xp.reshape(p @ imaginary + q @ real, (rows, m, n)))
        shape = (rows, *reals[0].shape[1:])
        even = xp.reshape(xp.stack(reals), (len(reals), -1))
        even = xp.reshape(matrices[0] @ even, (-1, *shape))
        if not imaginaries:
            return even, even[:0, ...]
        odd = xp.reshape(xp.stack(imaginaries), (len(imaginaries), -1))
        return even, xp.reshape(matrices[1] @ odd, (-1, *shape))

    def operations(self, shown: float = 1.0) -> dict[str, int]:
        others = len(self.frequencies) - self.n_real
        numbers = self.n_real * (self.height // 2 + 1) + others * self.height
        return {
            "products": 8 * self._n_planes * numbers,
            "rows": 8 * len(self.rows) * numbers,
            "columns": self._column_operations(),
        }
