"""Inner products of images over a set of shifts.

Every cyclic shift of a pair comes out of one inverse Fourier transform, a partial one as a rule: a
product with a small matrix. Opposite shifts are E + O and E - O, with maximum E + |O|.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from .way import Workspace, row_blocks

Array = NDArray[Any]


def shift_correlation(
    grid: Any, shifts: Any, n_channels: int, dtype: Any, shown: tuple[float, float] = (1.0, 1.0)
) -> ShiftCorrelation:
    """`RowCorrelation` of either axis or `FrequencyCorrelation`, whichever multiplies least.

    ``shown`` are the shares of rows and columns of pixels that are not blank in all first images.
    """
    shifts = np.asarray(shifts)
    key = tuple(grid), shifts.tobytes(), shifts.shape, shifts.dtype, n_channels, np.dtype(dtype)
    ways = zip(_ways(*key), (*shown, 1.0), strict=True)
    return min(ways, key=lambda way: sum(way[0].operations(way[1]).values()))[0]


@lru_cache(maxsize=16)
def _ways(
    grid: Any, data: bytes, shape: Any, integers: Any, n_channels: int, dtype: Any
) -> tuple[ShiftCorrelation, ...]:
    """Kept for further calls: on a few small points making them would take most of the time."""
    given = grid, np.frombuffer(data, integers).reshape(shape), n_channels, dtype
    return (
        RowCorrelation(*given),
        RowCorrelation(*given, transposed=True),
        FrequencyCorrelation(*given),
    )


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
    >>> from invariance.orbits.correlation import shift_correlation
    >>> a, b = np.zeros((2, 1, 1, 4, 4))
    >>> a[0, 0, 2, 1] = b[0, 0, 1, 1] = 1                   # one row down
    >>> pairs = shift_correlation((4, 4), np.array([[0, 0], [1, 0]]), 1, float)
    >>> pairs.extremes(a, pairs.spectra(b))[0].round(6)
    array([[1.]])
    """

    #: Bytes of the arrays that one inverse transform reads and writes: a core's own cache. What it
    #: reads takes part in a few operations only, so that it must not come from further away.
    cache_bytes = 3 * 2**19
    #: How many first images at once make the matrix products efficient.
    n_first = 128
    #: Where the vertical shifts stand in (vertical shifts, second images, first images).
    _row_axis: int
    #: Over how many numbers the products of a pair sum.
    depth: int
    #: Bytes that `spectra` keeps for one image, and that one of the first images takes at work.
    spectrum_bytes: int
    first_bytes: int
    #: How many products are read by the inverse transform along columns, for a row of shifts.
    _n_read: int

    def __init__(
        self, grid: Any, shifts: Any, n_channels: int, dtype: Any, transposed: bool = False
    ):
        self.n_channels, self.grid = int(n_channels), tuple(int(side) for side in grid)
        self.transposed, self.dtype = bool(transposed), np.dtype(dtype)
        self.height, self.width = self.grid[::-1] if transposed else self.grid
        down, right = self._on_grid(shifts)
        self.rows = np.unique(down)
        # A shift s and its opposite share a representative |s| <= width / 2; shifts by 0 and by
        # half the width are their own opposites and come first.
        folded = np.unique(np.minimum(right, self.width - right))
        own = (2 * folded) % self.width == 0
        self.columns = np.concatenate([folded[own], folded[~own]])
        self.n_own = int(own.sum())
        self.wanted = np.zeros((2, len(self.columns), len(self.rows)), dtype=bool)
        self.wanted[self.places(shifts)] = True
        self.wanted[:, : self.n_own] = self.wanted[:, : self.n_own].any(axis=0)
        #: Whether with each shift its opposite is wanted, in every row.
        self.symmetric = bool(self.wanted.all())
        # Horizontal frequencies: first those of real transforms, 0 and half the width.
        frequencies = np.arange(self.width // 2 + 1)
        real = (2 * frequencies) % self.width == 0
        self.frequencies = np.concatenate([frequencies[real], frequencies[~real]])
        self.n_real = int(real.sum())
        # Matrices to E, and to O where it is not 0. Whole turns are left out as whole numbers: the
        # rounding of large angles would be a hundred times that of the inner products.
        turns = np.outer(self.columns, self.frequencies) % self.width
        angle = 2 * np.pi * turns / self.width
        even = np.cos(angle) / self.width
        even[:, self.n_real :] *= 2
        odd = -2 * np.sin(angle[self.n_own :, self.n_real :]) / self.width
        self._even, self._odd = even.astype(self.dtype), odd.astype(self.dtype)
        self._column_operations = 2 * (even.size + odd.size) * len(self.rows)

    def _on_grid(self, shifts: Array) -> tuple[Array, Array]:
        down, right = np.asarray(shifts)[..., [1, 0] if self.transposed else [0, 1]].T
        return down % self.height, right % self.width

    def places(self, shifts: Array) -> tuple[Array, Array, Array]:
        """Where a grid (2, columns, rows) has some of the shifts: signs, columns and rows."""
        down, right = self._on_grid(shifts)
        folded = np.minimum(right, self.width - right)
        by_column = np.argsort(self.columns)
        column = by_column[np.searchsorted(self.columns, folded, sorter=by_column)]
        return (right != folded).astype(int), column, np.searchsorted(self.rows, down)

    def _upright(self, images: Array) -> Array:
        """Images (n, channels, height, width), transposed where that is the way."""
        return images.swapaxes(2, 3) if self.transposed else images

    # -- what a way to it provides ----------------------------------------------------------------

    @abstractmethod
    def operations(self, shown: float = 1.0) -> dict[str, int]:
        """Floating-point operations of `extremes` for a pair of images, by stage.

        "products" are over channels and rows of pixels, or over channels, "rows" and "columns" the
        partial inverse transforms. ``shown`` is the share of rows of pixels that are not blank.

        >>> from invariance.orbits.correlation import RowCorrelation
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
    def _own(self, first: Any) -> tuple[list[Array], slice]:
        """Transforms of first images, as products read them, and what they need of the second."""

    @abstractmethod
    def _reads(
        self, own: list[Array], second: list[Array], step: int, together: int
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Some of the second images, and what the transform to E, and to O, reads of them.

        Each of shape (products, ...), with vertical shifts, second and first images in the order
        of `_row_axis`. ``step`` second images at a time, of multiples of ``together``.
        """

    # -- the computation --------------------------------------------------------------------------

    def _tiles(
        self, first: tuple[list[Array], slice], second: list[Array], together: int = 1
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Some of the second images, with E and O of them, which the next tile overwrites.

        ``first`` are `_own` transforms of the first images.
        """
        own, depth = first
        second = [part[..., depth] for part in second]
        n_numbers = len(self.rows) * (self._n_read + 2 * len(self.columns))
        step = self.cache_bytes // (self.dtype.itemsize * n_numbers * max(own[0].shape[2], 1))
        step = max(1, step // together) * together
        even = odd = np.empty(0)
        for some, *read in self._reads(own, second, step, together):
            tail, size = read[0].shape[1:], prod(read[0].shape[1:])
            if even.shape[1:] != tail:
                even, odd = (np.empty((len(M), *tail), self.dtype) for M in (self._even, self._odd))
            for matrix, part, out in ((self._even, read[0], even), (self._odd, read[1], odd)):
                np.matmul(matrix, part.reshape(len(part), size), out=out.reshape(len(out), size))
            yield some, even, odd

    def extremes(
        self, first: Any, second: list[Array], offsets: Array | None = None, minimum: bool = False
    ) -> tuple[Any, Any]:
        """Extreme correlations of every pair over the shifts: the largest, the smallest or None.

        ``first`` are images (n, n_channels, height, width), or what gives parts of such an array by
        slices; ``second`` the `spectra` of m images; ``offsets`` (a, m, b, 1), in the order of
        `values`, are subtracted first; ``minimum`` asks for the smallest too.
        """
        found: tuple[list[Array], list[Array]] = [], []
        if self.symmetric and offsets is None:
            for _, even, odd in self._tiles(self._own(first), second):
                size, rest = np.abs(odd, out=odd), even[self.n_own :]
                if minimum:
                    values = np.concatenate([even[: self.n_own], rest - size])
                    found[1].append(values.min(axis=0).min(axis=self._row_axis))
                rest += size
                found[0].append(even.max(axis=0).max(axis=self._row_axis))
        else:
            for values in self.values(first, second, offsets, fill=-np.inf):
                found[0].append(values.max(axis=0).max(axis=1))
                if minimum:
                    values[values == -np.inf] = np.inf
                    found[1].append(values.min(axis=0).min(axis=1))
        high, low = (np.concatenate(parts).T if parts else None for parts in found)
        return high, low

    def values(
        self,
        first: Any,
        second: list[Array],
        offsets: Array | None = None,
        pairs: Array | None = None,
        together: int = 1,
        fill: float = 0.0,
    ) -> Iterator[Array]:
        """Correlations at all shifts, of some second images after the others; see `extremes`.

        Yields arrays (a, second images, b, n), to be overwritten, with shifts in the order of
        `in_tile_order` and multiples of ``together`` second images. ``pairs``, which broadcast to
        (m, n), are added at every shift; ``fill`` stands at shifts that are not wanted.
        """
        n_own, n_columns = self.n_own, len(self.columns)
        space = Workspace(self.dtype)
        wanted = np.concatenate([self.wanted[0], self.wanted[1, n_own:]])
        for some, even, odd in self._tiles(self._own(first), second, together):
            if pairs is not None:
                added = pairs if pairs.shape[0] == 1 else pairs[some]
                even += added[:, None] if self._row_axis else added
            values = space.array("values", 2 * n_columns - n_own, *even.shape[1:])
            values[:n_own] = even[:n_own]
            np.add(even[n_own:], odd, out=values[n_own:n_columns])
            np.subtract(even[n_own:], odd, out=values[n_columns:])
            if not wanted.all():
                np.moveaxis(values, 1 + self._row_axis, 1)[~wanted] = fill
            if not self._row_axis:
                values = values.reshape(prod(values.shape[:2]), *values.shape[2:])[:, :, None]
            if offsets is not None:
                values -= offsets[:, some]
            yield values

    def in_tile_order(self, grid: Array) -> Array:
        """Numbers (2, columns, rows) of the shifts, see `places`, as axes (a, b) of `values`."""
        placed = np.concatenate([grid[0], grid[1, self.n_own :]])
        return placed if self._row_axis else placed.reshape(-1, 1)


class RowCorrelation(ShiftCorrelation):
    """Only the horizontal axis is transformed; vertical shifts are products over rows of pixels.

    Cheap for few channels. Rows of pixels above and below everything that the first images show
    are skipped. Of a complex product (a + ib)(c - id) the real part is (a, b) times (c, d) and the
    imaginary part (b, -a) times (c, d), so that the second images are kept once.
    """

    _row_axis = 1

    def __init__(self, *given: Any, **how: Any):
        super().__init__(*given, **how)
        item, n = int(self.dtype.itemsize), len(self.frequencies)
        self.depth = int(2 * self.height * self.n_channels)
        self.spectrum_bytes = item * n * len(self.rows) * self.depth
        self.first_bytes = 3 * item * self.n_channels * self.height * self.width
        self._n_read = 2 * n - self.n_real

    def operations(self, shown: float = 1.0) -> dict[str, int]:
        products = round(shown * self._n_read * 2 * len(self.rows) * self.depth)
        return {"products": products, "rows": 0, "columns": self._column_operations}

    def room(self, m: int) -> list[Array]:
        return [np.empty((len(self.frequencies), m, len(self.rows), self.depth), self.dtype)]

    def spectra(self, images: Array, out: list[Array] | None = None) -> list[Array]:
        out = self.room(len(images)) if out is None else out
        spectrum = fft.rfft(self._upright(images), axis=3)
        rolled = (np.arange(self.height) - self.rows[:, None]) % self.height
        # Rows of pixels before channels, so that a range of them is a slice.
        kept = out[0].reshape(*out[0].shape[:3], self.height, 2, self.n_channels)  # a view
        for k, h in enumerate(self.frequencies):
            plane = spectrum[..., h][:, :, rolled].transpose(0, 2, 3, 1)
            kept[k, ..., 0, :], kept[k, ..., 1, :] = plane.real, plane.imag
        return out

    def _own(self, first: Any) -> tuple[list[Array], slice]:
        """The first images meet nothing where all are blank: only products with the other rows."""
        images = self._upright(first[:])
        seen = np.flatnonzero(images.any(axis=(0, 1, 3)))
        top, bottom = (int(seen[0]), int(seen[-1]) + 1) if len(seen) else (0, 1)
        size, images = 2 * self.n_channels, images[:, :, top:bottom]
        spectrum = fft.rfft(images, axis=3).transpose(3, 2, 1, 0)[self.frequencies]
        others = spectrum[self.n_real :]
        # In C order, which the products read fastest.
        own = np.empty(
            (len(spectrum) + len(others), len(spectrum[0]), 2, *others.shape[2:]), self.dtype
        )
        np.concatenate([spectrum.real, others.imag], out=own[:, :, 0])
        np.concatenate([spectrum.imag, -others.real], out=own[:, :, 1])
        own = own.reshape(len(own), prod(own.shape[1:4]), len(images))
        return [own], slice(top * size, bottom * size)

    def _reads(
        self, own: list[Array], second: list[Array], step: int, together: int
    ) -> Iterator[tuple[slice, Array, Array]]:
        (products_of,), (kept,) = own, second
        m, rows, depth = kept.shape[1:]
        n, n_even, products = products_of.shape[2], len(self.frequencies), np.empty((0, 0))
        kept = kept.reshape(n_even, m * rows, depth)  # a view, as only the last axis was cut
        for start in range(0, m, step):
            size = min(step, m - start)
            if products.shape[1] != size * rows:
                products = np.empty((len(products_of), size * rows, n), self.dtype)
            part = kept[:, start * rows : (start + size) * rows]
            np.matmul(part, products_of[:n_even], out=products[:n_even])
            np.matmul(part[self.n_real :], products_of[n_even:], out=products[n_even:])
            read = products.reshape(len(products), size, rows, n)
            yield slice(start, start + size), read[:n_even], read[n_even:]


class FrequencyCorrelation(ShiftCorrelation):
    """Both axes are transformed, and each frequency is one matrix product over channels.

    Only then are the wanted vertical shifts recovered. For many channels this costs as many
    multiplications a pair as there are pixels and channels, whatever the number of shifts.
    """

    _row_axis = 0

    #: Bytes of products over channels that are made before they are transformed.
    tile_bytes = 8 * 2**20

    def __init__(self, *given: Any, **how: Any):
        super().__init__(*given, **how)
        # From real and imaginary parts at vertical frequencies to those at shifts. At real
        # horizontal frequencies results are real, and half of the vertical ones suffice.
        frequencies = np.arange(self.height)
        turns = np.outer(self.rows, frequencies) % self.height  # without whole turns, as above
        whole = np.exp(2j * np.pi * turns / self.height) / self.height
        half = frequencies[: self.height // 2 + 1]
        few = whole[:, half] * np.where((2 * half) % self.height == 0, 1, 2)
        both = np.block([[whole.real, -whole.imag], [whole.imag, whole.real]])
        self._rows_of_real = np.hstack([few.real, -few.imag]).astype(self.dtype)
        self._rows_of_others = both.astype(self.dtype)
        self.depth, self._n_read = self.n_channels, 2 * len(self.frequencies)
        item, n = int(self.dtype.itemsize), len(self.frequencies)
        self.spectrum_bytes = 2 * item * n * self.height * self.n_channels
        self.first_bytes = 3 * self.spectrum_bytes // 2
        #: How many vertical frequencies are kept of every horizontal one.
        self._sizes = [len(half) if k < self.n_real else self.height for k in range(n)]

    def operations(self, shown: float = 1.0) -> dict[str, int]:
        others = (len(self.frequencies) - self.n_real) * self.height
        real = self.n_real * (self.height // 2 + 1)
        return {
            "products": 6 * self.n_channels * (real + others),
            "rows": 4 * len(self.rows) * (real + 2 * others),
            "columns": self._column_operations,
        }

    def room(self, m: int) -> list[Array]:
        # Real, then imaginary parts by horizontal frequency.
        shapes = [(size, m, self.n_channels) for size in self._sizes for _ in "ri"]
        return [np.empty(shape, self.dtype) for shape in shapes]

    def _fill(self, planes: list[Array], images: Any, step: int) -> None:
        """Write transforms, a few images at a time, into planes (frequencies, images, channels)."""
        for some in row_blocks(len(images), 1, step):
            spectrum = fft.rfft2(self._upright(images[some])).transpose(3, 2, 0, 1)
            for real, imag, h in zip(planes[::2], planes[1::2], self.frequencies, strict=True):
                real[:, some] = spectrum[h, : len(real)].real
                imag[:, some] = spectrum[h, : len(imag)].imag

    def spectra(self, images: Array, out: list[Array] | None = None) -> list[Array]:
        planes = self.room(len(images)) if out is None else out
        # So few that they stay in cache while they are transformed and put in order.
        self._fill(planes, images, max(1, self.cache_bytes // (self.spectrum_bytes + 1)))
        for imag in planes[1::2]:
            np.negative(imag, out=imag)
        return planes

    def _own(self, first: Any) -> tuple[list[Array], slice]:
        """As `room`: (vertical frequency, channels, images), as products read."""
        shapes = [(size, self.n_channels, len(first)) for size in self._sizes for _ in "ri"]
        own = [np.empty(shape, self.dtype) for shape in shapes]
        self._fill([plane.swapaxes(1, 2) for plane in own], first, 16)  # whole cache lines
        return own, slice(None)

    def _reads(
        self, own: list[Array], second: list[Array], step: int, together: int
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Several steps' products are made at once, and kept beyond the cache."""
        n, m, rows = own[0].shape[2], second[0].shape[1], len(self.rows)
        space, n_freq = Workspace(self.dtype), len(self.frequencies)
        sums = [a + b for a, b in zip(own[::2], own[1::2], strict=True)]
        kept = int(self.dtype.itemsize) * (2 * rows * n_freq + 3 * self.height)
        whole = max(1, self.tile_bytes // (kept * max(n, 1)) // together) * together
        for some in row_blocks(m, 1, whole):
            parts = list(row_blocks(some.stop - some.start, 1, step))
            shifted = [
                space.array(f"shifted {a}", n_freq, 2 * rows, part.stop - part.start, n)
                for a, part in enumerate(parts)
            ]
            for k in range(n_freq):
                pair = slice(2 * k, 2 * k + 2)
                shown = [plane[:, some] for plane in second[pair]]
                both = self._products([*own[pair], sums[k]], shown, space)
                matrix = self._rows_of_real if k < self.n_real else self._rows_of_others
                for part, target in zip(parts, shifted, strict=True):
                    out = target[k].reshape(2 * rows, target.shape[2] * n)[: len(matrix)]
                    np.matmul(matrix, both[:, part.start * n : part.stop * n], out=out)
            for part, moved in zip(parts, shifted, strict=True):
                here = slice(some.start + part.start, some.start + part.stop)
                yield here, moved[:, :rows], moved[self.n_real :, rows:]

    @staticmethod
    def _products(first: list[Array], second: list[Array], space: Workspace) -> Array:
        """Sums over channels of second times first, shape (2 frequencies, second x first images).

        Real parts, then imaginary ones, by three real products in place of four:
        (c + id)(a + ib) = ca - db + i ((c + d)(a + b) - ca - db).
        """
        (a, b, ab), (c, d) = first, second
        (height, width), n = c.shape[:2], a.shape[2]
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
