"""The extreme inner products of images over a set of shifts.

Every cyclic shift of a pair comes out of one inverse Fourier transform. Only a small window of
shifts is wanted as a rule, so that the inverse is partial: a product with a small matrix, which
never separates opposite shifts, whose values are E + O and E - O with maximum E + |O|.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray
from scipy import fft

__all__ = ["FrequencyCorrelation", "RowCorrelation", "ShiftCorrelation", "shift_correlation"]

#: Bytes of the arrays that one inverse transform reads and writes: a core's own cache. What it
#: reads takes part in a few operations only, so that it must not come from further away.
_CACHE_BYTES = 2**20

#: Bytes of products over channels that are made before they are transformed.
_TILE_BYTES = 32 * 2**20


def shift_correlation(grid, shifts, n_channels: int, dtype) -> ShiftCorrelation:
    """`RowCorrelation` or `FrequencyCorrelation`, whichever multiplies less; same arguments."""
    ways = [way(grid, shifts, n_channels, dtype) for way in (RowCorrelation, FrequencyCorrelation)]
    return min(ways, key=lambda way: sum(way.operations().values()))


class ShiftCorrelation(ABC):
    r"""Largest and smallest :math:`\langle a, T b \rangle` over cyclic shifts T of the grid.

    Two ways to the same numbers, `RowCorrelation` and `FrequencyCorrelation`. Where all shifts
    are multiples of a step that divides the grid, the pixels of one phase only ever meet their own
    phase: phases become channels of a coarser grid, whose transforms are smaller.

    Parameters
    ----------
    grid : tuple (height, width)
    shifts : ndarray of int, shape (s, 2)
        (down, right), modulo the grid.
    n_channels : int
    dtype : float32 or float64
        Of the images and of the computation.

    Examples
    --------
    >>> a, b = np.zeros((2, 1, 1, 4, 4))
    >>> a[0, 0, 2, 1] = b[0, 0, 1, 1] = 1                   # one row down
    >>> pairs = shift_correlation((4, 4), np.array([[0, 0], [1, 0]]), 1, float)
    >>> pairs.extremes(a, pairs.spectra(b))[0].round(6)
    array([[1.]])
    """

    #: How many first images at once make the matrix products efficient.
    n_first: int

    #: Where the vertical shifts stand in (vertical shifts, second images, first images).
    _row_axis: int

    def __init__(self, grid, shifts, n_channels: int, dtype):
        shifts = np.asarray(shifts)
        if shifts.ndim != 2 or shifts.shape[1] != 2 or not len(shifts):
            raise ValueError(
                "shifts must be rows (down, right), at least one, got an array of shape "
                f"{shifts.shape}"
            )
        self.n_channels = int(n_channels)
        self.grid = tuple(int(side) for side in grid)
        self._steps = [
            gcd(side, *np.abs(column).tolist())
            for side, column in zip(self.grid, shifts.T, strict=True)
        ]
        self.height, self.width = (
            side // step for side, step in zip(self.grid, self._steps, strict=True)
        )
        # Channels of the coarser grid: every phase of every channel.
        self._n_planes = self.n_channels * prod(self._steps)
        self.dtype = np.dtype(dtype)
        down, right = self._on_grid(shifts)
        self.rows = np.unique(down)
        # A shift s and its opposite share a representative |s| <= width / 2; shifts by 0 and by
        # half the width are their own opposites and come first.
        folded = np.unique(np.minimum(right, self.width - right))
        own = (2 * folded) % self.width == 0
        self.columns = np.concatenate([folded[own], folded[~own]])
        self.n_own = int(own.sum())
        self.wanted = np.zeros((2, len(self.columns), len(self.rows)), dtype=bool)
        for shift in shifts:
            self.wanted[self.place(shift)] = True
        self.wanted[:, : self.n_own] = self.wanted[:, : self.n_own].any(axis=0)
        self.symmetric = bool(self.wanted.all())
        # Horizontal frequencies: first those of real transforms, 0 and half the width.
        frequencies = np.arange(self.width // 2 + 1)
        real = (2 * frequencies) % self.width == 0
        self.frequencies = np.concatenate([frequencies[real], frequencies[~real]])
        self.n_real = int(real.sum())
        self._even, self._odd = self._column_transform()

    def _on_grid(self, shifts: NDArray) -> tuple[NDArray, NDArray]:
        down, right = np.asarray(shifts).T
        return down // self._steps[0] % self.height, right // self._steps[1] % self.width

    def place(self, shift: NDArray) -> tuple[int, int, int]:
        """Where `every` has a shift (down, right): sign, column and row."""
        down, right = self._on_grid(shift)
        folded = min(right, self.width - right)
        column, row = np.flatnonzero(self.columns == folded), np.flatnonzero(self.rows == down)
        if np.any(np.asarray(shift) % self._steps) or not (len(column) and len(row)):
            raise ValueError(
                f"the shift {tuple(int(s) for s in shift)} is none of the correlation's: give it "
                "among its `shifts`"
            )
        return int(right != folded), int(column[0]), int(row[0])

    def _column_transform(self) -> tuple[NDArray, NDArray]:
        """Matrices from frequencies to E, and from those that are not real to O where it is not 0.
        """
        angle = 2 * np.pi * np.outer(self.columns, self.frequencies) / self.width
        even = np.cos(angle) / self.width
        even[:, self.n_real :] *= 2
        odd = -2 * np.sin(angle[self.n_own :, self.n_real :]) / self.width
        return even.astype(self.dtype), odd.astype(self.dtype)

    def _phases(self, images: NDArray) -> NDArray:
        """(n, channels, height, width) with the phases of the step among the channels."""
        if images.shape[1:] != (self.n_channels, *self.grid):
            raise ValueError(
                f"images must have shape (n, {self.n_channels}, {self.grid[0]}, {self.grid[1]}) "
                f"for {self.n_channels} channels on this grid, got {images.shape}"
            )
        down, right = self._steps
        if down == right == 1:
            return images
        n = len(images)
        split = images.reshape(n, self.n_channels, self.height, down, self.width, right)
        phases = split.transpose(0, 1, 3, 5, 2, 4)
        return phases.reshape(n, self._n_planes, self.height, self.width)

    @abstractmethod
    def spectrum_bytes(self) -> int:
        """Bytes that `spectra` keeps for one image."""

    @abstractmethod
    def spectra(self, images: NDArray) -> list[NDArray]:
        """Transforms of the shifted side.

        Parameters
        ----------
        images : ndarray of shape (m, n_channels, height, width)

        Returns
        -------
        list of ndarray, each with m as its second axis
        """

    @abstractmethod
    def _tiles(
        self, first: NDArray, second: list[NDArray]
    ) -> Iterator[tuple[slice, NDArray, NDArray]]:
        """Some of the second images, and horizontal transforms of their correlations.

        Real parts at all frequencies, and imaginary parts at those that are not real, each of
        shape (frequencies, ...) with vertical shifts, second and first images after `_row_axis`.
        """

    @abstractmethod
    def operations(self) -> dict[str, int]:
        """Floating-point operations of `extremes` for a pair of images, by stage, at most.

        "products" are over channels and rows of pixels, or over channels, "rows" and "columns"
        the partial inverse transforms; additions and comparisons are left out. `RowCorrelation`
        does less where rows of pixels are blank in all first images.

        >>> RowCorrelation((28, 28), np.array([[0, 0], [5, 5]]), 1, float).operations()
        {'products': 6048, 'rows': 0, 'columns': 172}
        """

    def _column_operations(self) -> int:
        return 2 * (self._even.size + self._odd.size) * len(self.rows)

    def _bytes_a_pair(self) -> int:
        """Bytes that the inverse transform along columns reads and writes."""
        planes = 2 * len(self.frequencies) + 2 * len(self.columns)
        return self.dtype.itemsize * planes * len(self.rows)

    def extremes(
        self,
        first: NDArray,
        second: list[NDArray],
        offsets: NDArray | None = None,
        minimum: bool = False,
    ) -> tuple[NDArray, NDArray | None]:
        """Extreme correlations of every pair over the shifts.

        Parameters
        ----------
        first : ndarray of shape (n, n_channels, height, width)
        second : list of ndarray
            From `spectra`, of m images.
        offsets : ndarray of shape (2, columns, rows, m) or None
            Subtracted before the maximum, in the order of `every`.
        minimum : bool
            Whether the minimum is wanted too.

        Returns
        -------
        maximum : ndarray of shape (n, m)
        minimum : ndarray of shape (n, m) or None
        """
        shape = len(first), second[0].shape[1]
        highest = np.empty(shape, self.dtype)
        lowest = np.empty(shape, self.dtype) if minimum else None
        space = Workspace(self.dtype)
        for some, real, imaginary in self._tiles(first, second):
            even, odd = self._even_odd(real, imaginary, space)
            if self.symmetric and offsets is None:
                np.abs(odd, out=odd)
                if minimum:
                    below = even.copy()
                    below[self.n_own :] -= odd
                    lowest[:, some] = self._reduce(below, np.minimum).T
                even[self.n_own :] += odd
                highest[:, some] = self._reduce(even, np.maximum).T
                continue
            values = [even.copy(), even]
            values[0][self.n_own :] += odd
            values[1][self.n_own :] -= odd
            if offsets is not None:
                for value, offset in zip(values, offsets, strict=True):
                    self._rows_first(value)[:] -= offset[:, :, some, None]
            highest[:, some] = self._over_wanted(values, np.maximum, -np.inf).T
            if minimum:
                lowest[:, some] = self._over_wanted(values, np.minimum, np.inf).T
        return highest, lowest

    def every(self, first: NDArray, second: list[NDArray]) -> NDArray:
        """All correlations, shape (2, columns, rows, n, m): at +columns, then at -columns."""
        shape = 2, len(self.columns), len(self.rows), len(first), second[0].shape[1]
        out = np.empty(shape, self.dtype)
        space = Workspace(self.dtype)
        for some, real, imaginary in self._tiles(first, second):
            even, odd = (
                self._rows_first(part).swapaxes(2, 3)
                for part in self._even_odd(real, imaginary, space)
            )
            out[..., some] = even
            out[0, self.n_own :, ..., some] += odd
            out[1, self.n_own :, ..., some] -= odd
        return out

    def _even_odd(
        self, real: NDArray, imaginary: NDArray, space: Workspace
    ) -> tuple[NDArray, NDArray]:
        parts = []
        for name, matrix, values in (("even", self._even, real), ("odd", self._odd, imaginary)):
            part = space.array(name, len(matrix), *values.shape[1:])
            np.matmul(
                matrix, values.reshape(len(values), prod(values.shape[1:])),
                out=part.reshape(len(matrix), prod(values.shape[1:])),
            )
            parts.append(part)
        return parts[0], parts[1]

    def _rows_first(self, values: NDArray) -> NDArray:
        """A view of shape (columns, rows, m, n)."""
        return np.moveaxis(values, 1 + self._row_axis, 1)

    def _reduce(self, values: NDArray, reduce) -> NDArray:
        """Over columns and rows of shifts, shape (m, n)."""
        return reduce.reduce(reduce.reduce(values, axis=0), axis=self._row_axis)

    def _over_wanted(self, values: list[NDArray], reduce, fill: float) -> NDArray:
        parts = []
        for value, wanted in zip(values, self.wanted, strict=True):
            if not wanted.all():
                self._rows_first(value)[~wanted] = fill
            parts.append(self._reduce(value, reduce))
        return reduce(*parts)


class RowCorrelation(ShiftCorrelation):
    """Only the horizontal axis is transformed; vertical shifts are products over rows of pixels.

    Cheap for few channels. Rows of pixels above and below everything that the first images show
    are skipped.
    """

    n_first = 64
    _row_axis = 1

    def _real_and_other(self) -> tuple[tuple[NDArray, int], tuple[NDArray, int]]:
        """The horizontal frequencies, and how many numbers there are at each."""
        return (self.frequencies[: self.n_real], 1), (self.frequencies[self.n_real :], 2)

    def spectrum_bytes(self) -> int:
        numbers = 2 * len(self.frequencies) * self.height * self._n_planes * len(self.rows)
        return self.dtype.itemsize * numbers

    def spectra(self, images: NDArray) -> list[NDArray]:
        m = len(images)
        spectrum = fft.rfft(self._phases(images), axis=3)
        rolled = (np.arange(self.height) - self.rows[:, None]) % self.height
        kept = []
        for some, parts in self._real_and_other():
            # Rows of pixels outermost, so that a range of them is a slice.
            shape = len(some), m, len(self.rows), self.height, parts, self._n_planes
            own = np.empty(shape, self.dtype)
            for target, h in zip(own, some, strict=True):
                plane = spectrum[..., h][:, :, rolled].transpose(0, 2, 3, 1)
                target[:, :, :, 0] = plane.real
                if parts == 2:
                    target[:, :, :, 1] = plane.imag
            kept.append(own.reshape(*shape[:3], prod(shape[3:])))
        return kept

    def _tiles(self, first, second):
        n, m, rows = len(first), second[0].shape[1], len(self.rows)
        images = self._phases(first)
        # The first images meet nothing where all are blank: only products with the other rows.
        seen = np.flatnonzero(images.any(axis=(0, 1, 3)))
        top, bottom = (seen[0], seen[-1] + 1) if len(seen) else (0, 1)
        spectrum = fft.rfft(images[:, :, top:bottom], axis=3).transpose(3, 2, 1, 0)
        size = (bottom - top) * self._n_planes
        real = spectrum[self.frequencies[: self.n_real]].real.reshape(self.n_real, size, n)
        others = spectrum[self.frequencies[self.n_real :]]
        # Times [Re y, Im y]: the real and the imaginary part of x conj(y).
        both = [
            np.stack(parts, axis=2).reshape(self._odd.shape[1], 2 * size, n)
            for parts in ((others.real, others.imag), (others.imag, -others.real))
        ]
        space = Workspace(self.dtype)
        step = max(1, _CACHE_BYTES // (self._bytes_a_pair() * max(n, 1)))
        for start in range(0, m, step):
            some = slice(start, min(start + step, m))
            width = some.stop - some.start
            at_real, at_others = (
                part[:, some].reshape(len(part), width * rows, part.shape[3])[
                    :, :, parts * self._n_planes * top : parts * self._n_planes * bottom
                ]
                for part, (_, parts) in zip(second, self._real_and_other(), strict=True)
            )
            in_phase = space.array("real", len(self.frequencies), width * rows, n)
            out_of_phase = space.array("imaginary", self._odd.shape[1], width * rows, n)
            np.matmul(at_real, real, out=in_phase[: self.n_real])
            np.matmul(at_others, both[0], out=in_phase[self.n_real :])
            np.matmul(at_others, both[1], out=out_of_phase)
            yield some, *(
                part.reshape(len(part), width, rows, n) for part in (in_phase, out_of_phase)
            )

    def operations(self) -> dict[str, int]:
        others = len(self.frequencies) - self.n_real
        each = 2 * len(self.rows) * self.height * self._n_planes
        products = (self.n_real + 4 * others) * each
        return {"products": products, "rows": 0, "columns": self._column_operations()}


class FrequencyCorrelation(ShiftCorrelation):
    """Both axes are transformed, and each frequency is one matrix product over channels.

    Only then are the wanted vertical shifts recovered. For many channels this costs as many
    multiplications a pair as there are pixels and channels, whatever the number of shifts.
    """

    n_first = 128
    _row_axis = 0

    def __init__(self, grid, shifts, n_channels: int, dtype):
        super().__init__(grid, shifts, n_channels, dtype)
        self._complex = np.result_type(self.dtype, np.complex64)
        self._rows_of_real, self._rows_of_others = self._row_transforms()

    def _row_transforms(self) -> tuple[NDArray, NDArray]:
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

    def _planes(self, images: NDArray, *axes: int) -> list[NDArray]:
        """Transforms by horizontal frequency, each of shape (vertical frequency, *axes)."""
        # One transposing copy: reading a frequency at a time would pass over the spectrum h times.
        spectrum = np.ascontiguousarray(fft.rfft2(self._phases(images)).transpose(3, 2, *axes))
        half = self.height // 2 + 1
        return [
            spectrum[h, :half] if k < self.n_real else spectrum[h]
            for k, h in enumerate(self.frequencies)
        ]

    def spectra(self, images: NDArray) -> list[NDArray]:
        return [np.conj(plane) for plane in self._planes(images, 0, 1)]

    def _tiles(self, first, second):
        n, m = len(first), second[0].shape[1]
        prepared = self._planes(first, 1, 0)
        space, products = Workspace(self.dtype), Workspace(self._complex)
        rows = len(self.rows)
        fits = max(1, _CACHE_BYTES // (self._bytes_a_pair() * max(n, 1)))
        kept = self._complex.itemsize * (rows * len(self.frequencies) + self.height)
        step = max(1, _TILE_BYTES // (kept * max(n, 1)))
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
                        matrix, values.reshape(len(values), prod(values.shape[1:])),
                        out=shifted.reshape(rows, prod(values.shape[1:])),
                    )
                    target[0, k] = shifted.real
                    if k >= self.n_real:
                        target[1, k] = shifted.imag
            for part, (real, imaginary) in zip(parts, both, strict=True):
                some = slice(start + part.start, start + part.stop)
                yield some, real, imaginary[self.n_real :]

    def operations(self) -> dict[str, int]:
        others = len(self.frequencies) - self.n_real
        numbers = self.n_real * (self.height // 2 + 1) + others * self.height
        return {
            "products": 8 * self._n_planes * numbers,
            "rows": 8 * len(self.rows) * numbers,
            "columns": self._column_operations(),
        }


class Workspace:
    """Arrays that are used again for every tile: fresh memory costs a page fault a page."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.buffers: dict[str, NDArray] = {}

    def array(self, name: str, *shape: int) -> NDArray:
        size = prod(shape)
        if name not in self.buffers or self.buffers[name].size < size:
            self.buffers[name] = np.empty(size, self.dtype)
        return self.buffers[name][:size].reshape(shape)
