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


def shift_correlation(
    grid, shifts, n_channels: int, dtype, shown: tuple[float, float] = (1.0, 1.0)
) -> ShiftCorrelation:
    """`RowCorrelation` of either axis or `FrequencyCorrelation`, whichever multiplies least.

    Parameters
    ----------
    grid, shifts, n_channels, dtype
        As in `ShiftCorrelation`.
    shown : tuple (share of rows, share of columns)
        Of pixels that are not blank in a block of first images.
    """
    ways = [
        (RowCorrelation(grid, shifts, n_channels, dtype), shown[0]),
        (RowCorrelation(grid, shifts, n_channels, dtype, transposed=True), shown[1]),
        (FrequencyCorrelation(grid, shifts, n_channels, dtype), 1.0),
    ]
    return min(ways, key=lambda way: sum(way[0].operations(way[1]).values()))[0]


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
    transposed : bool
        Whether rows and columns change parts: everything below holds for transposed images.

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

    def __init__(self, grid, shifts, n_channels: int, dtype, transposed: bool = False):
        shifts = np.asarray(shifts)
        if shifts.ndim != 2 or shifts.shape[1] != 2 or not len(shifts):
            raise ValueError(
                "shifts must be rows (down, right), at least one, got an array of shape "
                f"{shifts.shape}"
            )
        self.n_channels = int(n_channels)
        self.grid = tuple(int(side) for side in grid)
        self.transposed = bool(transposed)
        self._axes = (1, 0) if transposed else (0, 1)
        sides = [self.grid[axis] for axis in self._axes]
        self._steps = [
            gcd(side, *np.abs(shifts[:, axis]).tolist())
            for side, axis in zip(sides, self._axes, strict=True)
        ]
        self.height, self.width = (
            side // step for side, step in zip(sides, self._steps, strict=True)
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
        down, right = np.asarray(shifts)[..., self._axes].T
        return down // self._steps[0] % self.height, right // self._steps[1] % self.width

    def place(self, shift: NDArray) -> tuple[int, int, int]:
        """Where `every` has a shift (down, right): sign, column and row."""
        down, right = self._on_grid(shift)
        folded = min(right, self.width - right)
        column, row = np.flatnonzero(self.columns == folded), np.flatnonzero(self.rows == down)
        on_steps = not np.any(np.asarray(shift)[list(self._axes)] % self._steps)
        if not on_steps or not (len(column) and len(row)):
            raise ValueError(
                f"the shift {tuple(int(s) for s in shift)} is none of the correlation's: give it "
                "among its `shifts`"
            )
        return int(right != folded), int(column[0]), int(row[0])

    def _column_transform(self) -> tuple[NDArray, NDArray]:
        """Matrices from what `_tiles` gives to E, and to O where it is not 0."""
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
        if self.transposed:
            images = images.swapaxes(2, 3)
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
        """Some of the second images, and what the column transform makes E and O of.

        Each of shape (columns of its matrix, ...), with vertical shifts, second and first images
        in the order of `_row_axis`.
        """

    @abstractmethod
    def operations(self, shown: float = 1.0) -> dict[str, int]:
        """Floating-point operations of `extremes` for a pair of images, by stage.

        "products" are over channels and rows of pixels, or over channels, "rows" and "columns"
        the partial inverse transforms; additions and comparisons are left out.

        Parameters
        ----------
        shown : float
            Share of the rows of pixels that are not blank in all first images: `RowCorrelation`
            leaves out the others.

        >>> RowCorrelation((28, 28), np.array([[0, 0], [5, 5]]), 1, float).operations()
        {'products': 4592, 'rows': 0, 'columns': 328}
        """

    def _column_operations(self) -> int:
        return 2 * (self._even.size + self._odd.size) * len(self.rows)

    def _bytes_a_pair(self, n_read: int) -> int:
        """Bytes that the inverse transform along columns reads and writes."""
        return self.dtype.itemsize * (n_read + 2 * len(self.columns)) * len(self.rows)

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
        for some, *parts in self._tiles(first, second):
            even, odd = self._even_odd(parts, space)
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
        for some, *parts in self._tiles(first, second):
            even, odd = (
                self._rows_first(part).swapaxes(2, 3) for part in self._even_odd(parts, space)
            )
            out[..., some] = even
            out[0, self.n_own :, ..., some] += odd
            out[1, self.n_own :, ..., some] -= odd
        return out

    def _even_odd(self, parts: list[NDArray], space: Workspace) -> list[NDArray]:
        made = []
        for name, matrix, values in zip(("E", "O"), (self._even, self._odd), parts, strict=True):
            part = space.array(name, len(matrix), *values.shape[1:])
            np.matmul(
                matrix, values.reshape(len(values), prod(values.shape[1:])),
                out=part.reshape(len(matrix), prod(values.shape[1:])),
            )
            made.append(part)
        return made

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
    are skipped. Of a complex product (a + ib)(c + id) three real ones are made, b(c + d), c(a + b)
    and a(d - c): the real part is the second less the first, the imaginary part the second and
    the third, and these sums are left to the inverse transform.
    """

    n_first = 128
    _row_axis = 1

    def _column_transform(self) -> tuple[NDArray, NDArray]:
        even, odd = super()._column_transform()
        real, others = even[:, : self.n_real], even[:, self.n_real :]
        return np.hstack([real, -others, others]), np.hstack([odd, odd])

    def _n_products(self) -> int:
        return self.n_real + 3 * (len(self.frequencies) - self.n_real)

    def spectrum_bytes(self) -> int:
        numbers = self._n_products() * self.height * self._n_planes * len(self.rows)
        return self.dtype.itemsize * numbers

    def spectra(self, images: NDArray) -> list[NDArray]:
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

    def _tiles(self, first, second):
        n, m, rows = len(first), second[0].shape[1], len(self.rows)
        images = self._phases(first)
        # The first images meet nothing where all are blank: only products with the other rows.
        seen = np.flatnonzero(images.any(axis=(0, 1, 3)))
        top, bottom = (seen[0], seen[-1] + 1) if len(seen) else (0, 1)
        size = (bottom - top) * self._n_planes
        spectrum = fft.rfft(images[:, :, top:bottom], axis=3).transpose(3, 2, 1, 0)
        spectrum = spectrum[self.frequencies].reshape(len(self.frequencies), size, n)
        others = spectrum[self.n_real :]
        # In C order, which the products read fastest.
        own = np.empty((self._n_products(), size, n), self.dtype)
        np.concatenate(
            [spectrum[: self.n_real].real, others.imag, others.real + others.imag, others.real],
            out=own,
        )
        space, at_imaginary = Workspace(self.dtype), len(self._even[0]) - len(others)
        step = max(1, _CACHE_BYTES // (self._bytes_a_pair(len(own)) * max(n, 1)))
        kept = second[0][..., top * self._n_planes : bottom * self._n_planes]
        for start in range(0, m, step):
            some = slice(start, min(start + step, m))
            width = some.stop - some.start
            products = space.array("products", len(own), width * rows, n)
            np.matmul(kept[:, some].reshape(len(own), width * rows, size), own, out=products)
            products = products.reshape(len(own), width, rows, n)
            yield some, products[: len(self._even[0])], products[at_imaginary:]

    def operations(self, shown: float = 1.0) -> dict[str, int]:
        each = 2 * len(self.rows) * self.height * self._n_planes
        products = round(shown * self._n_products() * each)
        return {"products": products, "rows": 0, "columns": self._column_operations()}


class FrequencyCorrelation(ShiftCorrelation):
    """Both axes are transformed, and each frequency is one matrix product over channels.

    Only then are the wanted vertical shifts recovered. For many channels this costs as many
    multiplications a pair as there are pixels and channels, whatever the number of shifts.
    """

    n_first = 128
    _row_axis = 0

    def __init__(self, grid, shifts, n_channels: int, dtype, transposed: bool = False):
        super().__init__(grid, shifts, n_channels, dtype, transposed)
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
        read = self._bytes_a_pair(2 * len(self.frequencies))
        fits = max(1, _CACHE_BYTES // (read * max(n, 1)))
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

    def operations(self, shown: float = 1.0) -> dict[str, int]:
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
