"""Inner products of images over a set of shifts.

Every cyclic shift of a pair of images comes out of one inverse Fourier transform. As a rule it is a
partial one, a product with a small matrix. Opposite shifts are E + O and E - O, with the maximum
E + |O|.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ..blocks import Workspace, row_blocks

Array = NDArray[Any]

#: Number of first images that are transformed at a time: whole cache lines.
_IMAGES = 16


def shift_correlation(
    grid: Any, shifts: Any, n_channels: int, dtype: Any, shown: tuple[float, float] = (1.0, 1.0)
) -> ShiftCorrelation:
    """Return the correlation that multiplies least.

    It is a `RowCorrelation` of either axis, or a `FrequencyCorrelation`. ``shown`` are the shares
    of rows and of columns of pixels that are not blank in all first images.
    """
    shifts = np.asarray(shifts)
    by_rows, by_columns, by_frequencies = _correlations(
        tuple(grid), shifts.tobytes(), shifts.shape, shifts.dtype, n_channels, np.dtype(dtype)
    )
    n_operations = {
        by_rows: sum(by_rows.operations(shown[0]).values()),
        by_columns: sum(by_columns.operations(shown[1]).values()),
        by_frequencies: sum(by_frequencies.operations().values()),
    }
    return min(n_operations, key=lambda correlation: n_operations[correlation])


@lru_cache(maxsize=16)
def _correlations(
    grid: Any, data: bytes, shape: Any, integers: Any, n_channels: int, dtype: Any
) -> tuple[ShiftCorrelation, ...]:
    """All correlations. They are cached: for a few small points making them takes most time."""
    shifts = np.frombuffer(data, integers).reshape(shape)
    return (
        RowCorrelation(grid, shifts, n_channels, dtype),
        RowCorrelation(grid, shifts, n_channels, dtype, transposed=True),
        FrequencyCorrelation(grid, shifts, n_channels, dtype),
    )


class Sums(NamedTuple):
    """Products of some second images with all first ones, which an inverse transform reads.

    `even` and `odd` have shape (products, ...), with vertical shifts, second and first images in
    the order of `ShiftCorrelation.row_axis`.
    """

    images: slice
    even: Array
    odd: Array


class ShiftCorrelation(ABC):
    r"""Largest and smallest :math:`\langle a, T b \rangle` over cyclic shifts T of the grid.

    `RowCorrelation` is up to ten times as fast for one channel, `FrequencyCorrelation` up to six
    times for the 85 of a `Locality` kernel.

    Parameters
    ----------
    grid : tuple (height, width)
    shifts : ndarray of int, shape (s, 2), at least one (down, right), modulo the grid
    n_channels : int
    dtype : float32 or float64, of the images and of the computation
    transposed : bool
        Whether rows and columns change parts: everything below holds for transposed images.

    Examples
    --------
    >>> from invariance.orbits.ways.correlation import shift_correlation
    >>> a, b = np.zeros((2, 1, 1, 4, 4))
    >>> a[0, 0, 2, 1] = b[0, 0, 1, 1] = 1                   # one row down
    >>> pairs = shift_correlation((4, 4), np.array([[0, 0], [1, 0]]), 1, float)
    >>> pairs.extremes(a, pairs.spectra(b))[0].round(6)
    array([[1.]])
    """

    #: Bytes of the arrays that one inverse transform reads and writes: a core's own cache. Each
    #: number takes part in a few operations only, so that it must not come from further away.
    cache_bytes = 3 * 2**19
    #: Number of first images in a block, which makes the matrix products efficient.
    n_first = 128
    #: Axis of the vertical shifts among (vertical shifts, second images, first images).
    row_axis: int
    #: Number of terms of the products of a pair.
    depth: int
    #: Bytes of `spectra` for one image, and of temporary arrays for one of the first images.
    spectrum_bytes: int
    first_bytes: int
    #: Number of products that the inverse transform along columns reads, for a row of shifts.
    n_read: int

    def __init__(
        self, grid: Any, shifts: Any, n_channels: int, dtype: Any, transposed: bool = False
    ):
        self.n_channels = int(n_channels)
        self.grid = tuple(int(side) for side in grid)
        self.transposed = bool(transposed)
        self.dtype = np.dtype(dtype)
        self.height, self.width = self.grid[::-1] if transposed else self.grid
        down, right = self._on_grid(shifts)
        self.rows = np.unique(down)
        # A shift s and its opposite share a representative |s| <= width / 2; shifts by 0 and by
        # half the width are their own opposites and come first.
        folded = np.unique(np.minimum(right, self.width - right))
        self.columns, self.n_own = self._real_first(folded)
        self.wanted = np.zeros((2, len(self.columns), len(self.rows)), dtype=bool)
        self.wanted[self.places(shifts)] = True
        self.wanted[:, : self.n_own] = self.wanted[:, : self.n_own].any(axis=0)
        #: Whether the opposite of each wanted shift is wanted, in every row.
        self.symmetric = bool(self.wanted.all())
        #: Horizontal frequencies; those of real transforms, 0 and half the width, come first.
        self.frequencies, self.n_real = self._real_first(np.arange(self.width // 2 + 1))
        # Matrices that compute E, and O if it is not zero. Whole turns are left out as whole
        # numbers: the rounding of large angles would be a hundred times that of the products.
        turns = np.outer(self.columns, self.frequencies) % self.width
        angle = 2 * np.pi * turns / self.width
        even = np.cos(angle) / self.width
        even[:, self.n_real :] *= 2
        odd = -2 * np.sin(angle[self.n_own :, self.n_real :]) / self.width
        self._even = even.astype(self.dtype)
        self._odd = odd.astype(self.dtype)
        self._column_operations = 2 * (even.size + odd.size) * len(self.rows)

    def _real_first(self, numbers: Array) -> tuple[Array, int]:
        """Put 0 and half the width in front, and count them."""
        is_real = (2 * numbers) % self.width == 0
        return np.concatenate([numbers[is_real], numbers[~is_real]]), int(is_real.sum())

    def _on_grid(self, shifts: Array) -> tuple[Array, Array]:
        down, right = np.asarray(shifts).T
        if self.transposed:
            down, right = right, down
        return down % self.height, right % self.width

    def places(self, shifts: Array) -> tuple[Array, Array, Array]:
        """Return the places of shifts in a grid (2, columns, rows): signs, columns and rows."""
        down, right = self._on_grid(shifts)
        folded = np.minimum(right, self.width - right)
        by_column = np.argsort(self.columns)
        column = by_column[np.searchsorted(self.columns, folded, sorter=by_column)]
        is_opposite = (right != folded).astype(int)
        return is_opposite, column, np.searchsorted(self.rows, down)

    def _upright(self, images: Array) -> Array:
        """Images (n, channels, height, width), transposed if rows and columns change parts."""
        return images.swapaxes(2, 3) if self.transposed else images

    # -- methods of the two kinds -----------------------------------------------------------------

    @abstractmethod
    def operations(self, shown: float = 1.0) -> dict[str, int]:
        """Floating-point operations of `extremes` for a pair of images, by stage.

        "products" are over channels and rows of pixels, or over channels, "rows" and "columns" the
        partial inverse transforms. ``shown`` is the share of rows of pixels that are not blank.

        >>> from invariance.orbits.ways.correlation import RowCorrelation
        >>> RowCorrelation((28, 28), np.array([[0, 0], [5, 5]]), 1, float).operations()
        {'products': 6272, 'rows': 0, 'columns': 172}
        """

    @abstractmethod
    def room(self, m: int) -> list[Array]:
        """Arrays for the `spectra` of m images, each with m as its second axis."""

    @abstractmethod
    def spectra(self, images: Array, out: list[Array] | None = None) -> list[Array]:
        """Transforms of shifted images (m, n_channels, height, width), in their `room`."""

    @abstractmethod
    def transforms(self, first: Any) -> tuple[list[Array], slice]:
        """Transforms of first images, and the part of the last axis of `spectra` that they meet."""

    @abstractmethod
    def sums(
        self, first: list[Array], second: list[Array], step: int, multiple: int
    ) -> Iterator[Sums]:
        """Products of first and second transforms, for ``step`` second images at a time.

        ``step`` is a multiple of ``multiple``.
        """

    # -- the computation --------------------------------------------------------------------------

    def tiles(
        self, first: tuple[list[Array], slice], second: list[Array], multiple: int = 1
    ) -> Iterator[Sums]:
        """E and O for some second images at a time, which the next tile overwrites.

        ``first`` are `transforms` of the first images.
        """
        first_transforms, depth = first
        second = [part[..., depth] for part in second]
        n_numbers = len(self.rows) * (self.n_read + 2 * len(self.columns))
        n_first = max(first_transforms[0].shape[2], 1)
        step = self.cache_bytes // (self.dtype.itemsize * n_numbers * n_first)
        step = max(1, step // multiple) * multiple
        even = odd = np.empty(0)
        for images, even_read, odd_read in self.sums(first_transforms, second, step, multiple):
            tail = even_read.shape[1:]
            size = prod(tail)
            if even.shape[1:] != tail:
                even = np.empty((len(self._even), *tail), self.dtype)
                odd = np.empty((len(self._odd), *tail), self.dtype)
            even_read = even_read.reshape(len(even_read), size)
            odd_read = odd_read.reshape(len(odd_read), size)
            np.matmul(self._even, even_read, out=even.reshape(len(even), size))
            np.matmul(self._odd, odd_read, out=odd.reshape(len(odd), size))
            yield Sums(images, even, odd)

    def extremes(
        self, first: Any, second: list[Array], offsets: Array | None = None, minimum: bool = False
    ) -> tuple[Any, Any]:
        """Extreme correlations of every pair over the shifts: the largest, the smallest or None.

        Parameters
        ----------
        first : images (n, n_channels, height, width), or an object whose slices are such images
        second : `spectra` of m images
        offsets : ndarray (a, m, b, 1), in the order of `values`, subtracted first
        minimum : bool, whether the smallest correlations are needed too
        """
        if self.symmetric and offsets is None:
            extremes = self._symmetric_extremes(first, second, minimum)
        else:
            extremes = self._plain_extremes(first, second, offsets, minimum)
        largest, smallest = zip(*extremes, strict=True)
        if not minimum:
            return np.concatenate(largest).T, None
        return np.concatenate(largest).T, np.concatenate(smallest).T

    def _symmetric_extremes(
        self, first: Any, second: list[Array], minimum: bool
    ) -> Iterator[tuple[Array, Any]]:
        """Extremes of some second images after the others, by E + |O| and E - |O|."""
        for _, even, odd in self.tiles(self.transforms(first), second):
            size = np.abs(odd, out=odd)
            paired = even[self.n_own :]
            smallest = None
            if minimum:
                values = np.concatenate([even[: self.n_own], paired - size])
                smallest = values.min(axis=0).min(axis=self.row_axis)
            paired += size
            yield even.max(axis=0).max(axis=self.row_axis), smallest

    def _plain_extremes(
        self, first: Any, second: list[Array], offsets: Array | None, minimum: bool
    ) -> Iterator[tuple[Array, Any]]:
        """Extremes of some second images after the others, from the values at all shifts."""
        for values in self.values(first, second, offsets, fill=-np.inf):
            largest = values.max(axis=0).max(axis=1)
            smallest = None
            if minimum:
                values[values == -np.inf] = np.inf
                smallest = values.min(axis=0).min(axis=1)
            yield largest, smallest

    def values(
        self,
        first: Any,
        second: list[Array],
        offsets: Array | None = None,
        pairs: Array | None = None,
        multiple: int = 1,
        fill: float = 0.0,
    ) -> Iterator[Array]:
        """Correlations at all shifts, of some second images after the others; see `extremes`.

        Yields arrays (a, second images, b, n), to be overwritten, with shifts in the order of
        `in_tile_order` and a multiple of ``multiple`` second images. ``pairs``, which broadcast to
        (m, n), are added at every shift; ``fill`` stands at shifts that are not wanted.
        """
        n_own = self.n_own
        n_columns = len(self.columns)
        space = Workspace(self.dtype)
        wanted = np.concatenate([self.wanted[0], self.wanted[1, n_own:]])
        for images, even, odd in self.tiles(self.transforms(first), second, multiple):
            if pairs is not None:
                added = pairs if pairs.shape[0] == 1 else pairs[images]
                even += added[:, None] if self.row_axis else added
            values = space.array("values", 2 * n_columns - n_own, *even.shape[1:])
            values[:n_own] = even[:n_own]
            np.add(even[n_own:], odd, out=values[n_own:n_columns])
            np.subtract(even[n_own:], odd, out=values[n_columns:])
            if not wanted.all():
                np.moveaxis(values, 1 + self.row_axis, 1)[~wanted] = fill
            if not self.row_axis:
                values = values.reshape(prod(values.shape[:2]), *values.shape[2:])[:, :, None]
            if offsets is not None:
                values -= offsets[:, images]
            yield values

    def in_tile_order(self, grid: Array) -> Array:
        """Numbers (2, columns, rows) of the shifts, see `places`, as axes (a, b) of `values`."""
        placed = np.concatenate([grid[0], grid[1, self.n_own :]])
        return placed if self.row_axis else placed.reshape(-1, 1)


class RowCorrelation(ShiftCorrelation):
    """Only the horizontal axis is transformed; vertical shifts are products over rows of pixels.

    Cheap for few channels. Rows of pixels above and below everything that the first images show
    are skipped. The real part of a complex product (a + ib)(c - id) is (a, b) times (c, d), and the
    imaginary part is (b, -a) times (c, d), so that the second images are stored once.
    """

    row_axis = 1

    def __init__(
        self, grid: Any, shifts: Any, n_channels: int, dtype: Any, transposed: bool = False
    ):
        super().__init__(grid, shifts, n_channels, dtype, transposed)
        item = int(self.dtype.itemsize)
        n_frequencies = len(self.frequencies)
        self.depth = int(2 * self.height * self.n_channels)
        self.spectrum_bytes = item * n_frequencies * len(self.rows) * self.depth
        self.first_bytes = 3 * item * self.n_channels * self.height * self.width
        self.n_read = 2 * n_frequencies - self.n_real

    def operations(self, shown: float = 1.0) -> dict[str, int]:
        products = round(shown * self.n_read * 2 * len(self.rows) * self.depth)
        return {"products": products, "rows": 0, "columns": self._column_operations}

    def room(self, m: int) -> list[Array]:
        return [np.empty((len(self.frequencies), m, len(self.rows), self.depth), self.dtype)]

    def spectra(self, images: Array, out: list[Array] | None = None) -> list[Array]:
        if out is None:
            out = self.room(len(images))
        spectrum = fft.rfft(self._upright(images), axis=3)
        rolled = (np.arange(self.height) - self.rows[:, None]) % self.height
        # Rows of pixels come before channels, so that a range of them is a slice. This is a view.
        planes = out[0].reshape(*out[0].shape[:3], self.height, 2, self.n_channels)
        for k, frequency in enumerate(self.frequencies):
            plane = spectrum[..., frequency][:, :, rolled].transpose(0, 2, 3, 1)
            planes[k, ..., 0, :] = plane.real
            planes[k, ..., 1, :] = plane.imag
        return out

    def transforms(self, first: Any) -> tuple[list[Array], slice]:
        """The products skip rows of pixels in which all first images are blank."""
        images = self._upright(first[:])
        shown = np.flatnonzero(images.any(axis=(0, 1, 3)))
        top = int(shown[0]) if len(shown) else 0
        bottom = int(shown[-1]) + 1 if len(shown) else 1
        images = images[:, :, top:bottom]
        spectrum = fft.rfft(images, axis=3).transpose(3, 2, 1, 0)[self.frequencies]
        complex_part = spectrum[self.n_real :]
        n_products = len(spectrum) + len(complex_part)
        # In C order, which the products read fastest.
        factors = np.empty((n_products, bottom - top, 2, *spectrum.shape[2:]), self.dtype)
        np.concatenate([spectrum.real, complex_part.imag], out=factors[:, :, 0])
        np.concatenate([spectrum.imag, -complex_part.real], out=factors[:, :, 1])
        size = 2 * self.n_channels
        factors = factors.reshape(n_products, (bottom - top) * size, len(images))
        return [factors], slice(top * size, bottom * size)

    def sums(
        self, first: list[Array], second: list[Array], step: int, multiple: int
    ) -> Iterator[Sums]:
        factors = first[0]
        spectra = second[0]
        n_even, m, n_rows, depth = spectra.shape
        n = factors.shape[2]
        spectra = spectra.reshape(n_even, m * n_rows, depth)  # A view: only the last axis was cut.
        products = np.empty((0, 0))
        for start in range(0, m, step):
            size = min(step, m - start)
            if products.shape[1] != size * n_rows:
                products = np.empty((len(factors), size * n_rows, n), self.dtype)
            part = spectra[:, start * n_rows : (start + size) * n_rows]
            np.matmul(part, factors[:n_even], out=products[:n_even])
            np.matmul(part[self.n_real :], factors[n_even:], out=products[n_even:])
            by_image = products.reshape(len(products), size, n_rows, n)
            yield Sums(slice(start, start + size), by_image[:n_even], by_image[n_even:])


class FrequencyCorrelation(ShiftCorrelation):
    """Both axes are transformed, and each frequency is one matrix product over channels.

    Only then are the wanted vertical shifts recovered. For many channels this costs as many
    multiplications a pair as there are pixels and channels, whatever the number of shifts.
    """

    row_axis = 0

    #: Bytes of products over channels that are made before they are transformed.
    tile_bytes = 8 * 2**20

    def __init__(
        self, grid: Any, shifts: Any, n_channels: int, dtype: Any, transposed: bool = False
    ):
        super().__init__(grid, shifts, n_channels, dtype, transposed)
        # Matrices from real and imaginary parts at vertical frequencies to those at shifts. At real
        # horizontal frequencies results are real, and half of the vertical ones suffice.
        frequencies = np.arange(self.height)
        turns = np.outer(self.rows, frequencies) % self.height  # Without whole turns, as above.
        inverse = np.exp(2j * np.pi * turns / self.height) / self.height
        half = frequencies[: self.height // 2 + 1]
        inverse_of_half = inverse[:, half] * np.where((2 * half) % self.height == 0, 1, 2)
        as_real_matrix = np.block([[inverse.real, -inverse.imag], [inverse.imag, inverse.real]])
        real_part = np.hstack([inverse_of_half.real, -inverse_of_half.imag])
        self._rows_at_real = real_part.astype(self.dtype)
        self._rows_at_complex = as_real_matrix.astype(self.dtype)
        self.depth = self.n_channels
        n_frequencies = len(self.frequencies)
        self.n_read = 2 * n_frequencies
        bytes_of_plane = int(self.dtype.itemsize) * self.height * self.n_channels
        self.spectrum_bytes = 2 * n_frequencies * bytes_of_plane
        self.first_bytes = 3 * self.spectrum_bytes // 2
        #: Number of vertical frequencies that are stored for every horizontal one.
        self._sizes = [len(half)] * self.n_real + [self.height] * (n_frequencies - self.n_real)

    def operations(self, shown: float = 1.0) -> dict[str, int]:
        n_complex = (len(self.frequencies) - self.n_real) * self.height
        n_real = self.n_real * (self.height // 2 + 1)
        return {
            "products": 6 * self.n_channels * (n_real + n_complex),
            "rows": 4 * len(self.rows) * (n_real + 2 * n_complex),
            "columns": self._column_operations,
        }

    def room(self, m: int) -> list[Array]:
        return self._planes(m, self.n_channels)

    def _planes(self, *shape: int) -> list[Array]:
        """A real and an imaginary plane for each horizontal frequency."""
        planes = []
        for size in self._sizes:
            planes.append(np.empty((size, *shape), self.dtype))
            planes.append(np.empty((size, *shape), self.dtype))
        return planes

    def _fill(self, planes: list[Array], images: Any, step: int) -> None:
        """Write transforms, a few images at a time, into planes (frequencies, images, channels)."""
        for block in row_blocks(len(images), 1, step):
            spectrum = fft.rfft2(self._upright(images[block])).transpose(3, 2, 0, 1)
            for k, frequency in enumerate(self.frequencies):
                size = self._sizes[k]
                planes[2 * k][:, block] = spectrum[frequency, :size].real
                planes[2 * k + 1][:, block] = spectrum[frequency, :size].imag

    def spectra(self, images: Array, out: list[Array] | None = None) -> list[Array]:
        planes = self.room(len(images)) if out is None else out
        # So few images that they stay in the cache while they are transformed and put in order.
        self._fill(planes, images, max(1, self.cache_bytes // (self.spectrum_bytes + 1)))
        for imaginary in planes[1::2]:
            np.negative(imaginary, out=imaginary)
        return planes

    def transforms(self, first: Any) -> tuple[list[Array], slice]:
        """Planes (vertical frequencies, channels, images), as products read them."""
        planes = self._planes(self.n_channels, len(first))
        self._fill([plane.swapaxes(1, 2) for plane in planes], first, _IMAGES)
        return planes, slice(None)

    def sums(
        self, first: list[Array], second: list[Array], step: int, multiple: int
    ) -> Iterator[Sums]:
        """Products of several steps are made at once, and stored outside the cache."""
        n = first[0].shape[2]
        n_rows = len(self.rows)
        space = Workspace(self.dtype)
        n_frequencies = len(self.frequencies)
        sums_of_parts = [real + imaginary for real, imaginary in _pairs(first)]
        n_numbers = 2 * n_rows * n_frequencies + 3 * self.height
        bytes_per_image = int(self.dtype.itemsize) * n_numbers * max(n, 1)
        n_at_once = max(1, self.tile_bytes // bytes_per_image // multiple) * multiple
        for images in row_blocks(second[0].shape[1], 1, n_at_once):
            steps = list(row_blocks(images.stop - images.start, 1, step))
            at_shifts = []
            for k, block in enumerate(steps):
                shape = (n_frequencies, 2 * n_rows, block.stop - block.start, n)
                at_shifts.append(space.array(f"at shifts {k}", *shape))
            for k in range(n_frequencies):
                real, imaginary = first[2 * k], first[2 * k + 1]
                second_real = second[2 * k][:, images]
                second_imaginary = second[2 * k + 1][:, images]
                products = _complex_products(
                    real, imaginary, sums_of_parts[k], second_real, second_imaginary, space
                )
                matrix = self._rows_at_real if k < self.n_real else self._rows_at_complex
                for block, target in zip(steps, at_shifts, strict=True):
                    out = target[k].reshape(2 * n_rows, target.shape[2] * n)[: len(matrix)]
                    np.matmul(matrix, products[:, block.start * n : block.stop * n], out=out)
            for block, values in zip(steps, at_shifts, strict=True):
                place = slice(images.start + block.start, images.start + block.stop)
                yield Sums(place, values[:, :n_rows], values[self.n_real :, n_rows:])


def _pairs(planes: list[Array]) -> Iterator[tuple[Array, Array]]:
    """Real and imaginary planes."""
    return zip(planes[::2], planes[1::2], strict=True)


def _complex_products(
    real: Array,
    imaginary: Array,
    sum_of_both: Array,
    second_real: Array,
    second_imaginary: Array,
    space: Workspace,
) -> Array:
    """Sums over channels of second times first images, shape (2 frequencies, second x first).

    Real parts are followed by imaginary ones, by three real products instead of four:
    (c + id)(a + ib) = ca - db + i ((c + d)(a + b) - ca - db).
    """
    height, m = second_real.shape[:2]
    n = real.shape[2]
    products = space.array("products", 2, height, m, n)
    product_of_imaginary = space.array("product of imaginary", height, m, n)
    second_sum = np.add(second_real, second_imaginary, out=space.array("sum", *second_real.shape))
    np.matmul(second_sum, sum_of_both, out=products[1])
    np.matmul(second_imaginary, imaginary, out=product_of_imaginary)
    products[1] -= product_of_imaginary
    np.matmul(second_real, real, out=products[0])
    products[1] -= products[0]
    products[0] -= product_of_imaginary
    return products.reshape(2 * height, m * n)
