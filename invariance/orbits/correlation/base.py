"""`ShiftCorrelation`: what the ways to correlations over shifts have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import gcd, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .tile import Tile, Workspace

__all__ = ["ShiftCorrelation"]


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

    def __init__(
        self, grid: Any, shifts: Any, n_channels: int, dtype: Any, transposed: bool = False
    ):
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
        self.wanted[self.places(shifts)] = True
        self.wanted[:, : self.n_own] = self.wanted[:, : self.n_own].any(axis=0)
        self.symmetric = bool(self.wanted.all())
        # Horizontal frequencies: first those of real transforms, 0 and half the width.
        frequencies = np.arange(self.width // 2 + 1)
        real = (2 * frequencies) % self.width == 0
        self.frequencies = np.concatenate([frequencies[real], frequencies[~real]])
        self.n_real = int(real.sum())
        self._even, self._odd = self._column_transform()

    def _on_grid(self, shifts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        down, right = np.asarray(shifts)[..., self._axes].T
        return down // self._steps[0] % self.height, right // self._steps[1] % self.width

    def place(self, shift: NDArray[Any]) -> tuple[int, int, int]:
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

    def places(self, shifts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """`place` of many shifts, all of which are among the correlation's own."""
        down, right = self._on_grid(np.asarray(shifts))
        folded = np.minimum(right, self.width - right)
        by_column = np.argsort(self.columns)
        column = by_column[np.searchsorted(self.columns, folded, sorter=by_column)]
        return (right != folded).astype(int), column, np.searchsorted(self.rows, down)

    def _column_transform(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Matrices of a `Tile`, to E, and to O where it is not 0."""
        angle = 2 * np.pi * np.outer(self.columns, self.frequencies) / self.width
        even = np.cos(angle) / self.width
        even[:, self.n_real :] *= 2
        odd = -2 * np.sin(angle[self.n_own :, self.n_real :]) / self.width
        return even.astype(self.dtype), odd.astype(self.dtype)

    def _phases(self, images: NDArray[Any]) -> NDArray[Any]:
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

    @property
    def depth(self) -> int:
        """Over how many numbers the products of a pair sum."""
        return self._n_planes

    @abstractmethod
    def spectrum_bytes(self) -> int:
        """Bytes that `spectra` keeps for one image."""

    @abstractmethod
    def room(self, m: int) -> list[NDArray[Any]]:
        """Arrays for the `spectra` of m images."""

    @abstractmethod
    def spectra(
        self, images: NDArray[Any], out: list[NDArray[Any]] | None = None
    ) -> list[NDArray[Any]]:
        """Transforms of the shifted side.

        Parameters
        ----------
        images : ndarray of shape (m, n_channels, height, width)
        out : list of ndarray or None
            Where they are written: `room`, or the part of it for these images.

        Returns
        -------
        list of ndarray, each with m as its second axis
        """

    @abstractmethod
    def first_bytes(self) -> int:
        """Bytes that one of the first images takes at work."""

    @abstractmethod
    def _tiles(
        self, first: Any, second: list[NDArray[Any]], together: int = 1
    ) -> Iterator[tuple[slice, Tile]]:
        """Some of the second images, and the tile whose `transform` gives E and O of them.

        Each of shape (columns, ...), with vertical shifts, second and first images in the order
        of `_row_axis`.
        """

    def _tile(self, read_even: NDArray[Any], read_odd: NDArray[Any], space: Workspace) -> Tile:
        return Tile(self._even, self._odd, read_even, read_odd, self.n_own, space)

    @staticmethod
    def _multiple(size: int, together: int) -> int:
        """The largest multiple up to a size; one of them at least."""
        return max(1, size // together) * together

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

        >>> from invariance.orbits.correlation import RowCorrelation
        >>> RowCorrelation((28, 28), np.array([[0, 0], [5, 5]]), 1, float).operations()
        {'products': 6272, 'rows': 0, 'columns': 172}
        """

    def _column_operations(self) -> int:
        return 2 * (self._even.size + self._odd.size) * len(self.rows)

    def _bytes_a_pair(self, n_read: int) -> int:
        """Bytes that the inverse transform along columns reads and writes."""
        return int(self.dtype.itemsize) * (n_read + 2 * len(self.columns)) * len(self.rows)

    def extremes(
        self,
        first: Any,
        second: list[NDArray[Any]],
        offsets: NDArray[Any] | None = None,
        minimum: bool = False,
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        """Extreme correlations of every pair over the shifts.

        Parameters
        ----------
        first : ndarray of shape (n, n_channels, height, width)
            Or what gives parts of such an array by slices.
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
        # A tile's second images are rows here, so that its results are written in one piece.
        shape = second[0].shape[1], len(first)
        highest = np.empty(shape, self.dtype)
        lowest = np.empty(shape if minimum else (0, 0), self.dtype)
        for some, tile in self._tiles(first, second):
            even, odd = tile.transform()
            if self.symmetric and offsets is None:
                np.abs(odd, out=odd)
                if minimum:
                    below = even.copy()
                    below[self.n_own :] -= odd
                    self._reduce(below, np.minimum, lowest[some])
                np.add(tile.paired, odd, out=tile.paired)
                self._reduce(even, np.maximum, highest[some])
                continue
            values = [even.copy(), even]
            values[0][self.n_own :] += odd
            values[1][self.n_own :] -= odd
            if offsets is not None:
                for value, offset in zip(values, offsets, strict=True):
                    self._rows_first(value)[:] -= offset[:, :, some, None]
            self._over_wanted(values, np.maximum, -np.inf, highest[some])
            if minimum:
                self._over_wanted(values, np.minimum, np.inf, lowest[some])
        return highest.T.copy(), lowest.T.copy() if minimum else None

    def in_tile_order(self, grid: NDArray[Any]) -> NDArray[Any]:
        """Numbers (2, columns, rows) of the shifts, shaped as the weights of `values`."""
        placed = np.concatenate([grid[0], grid[1, self.n_own :]])
        return placed if self._row_axis else placed.reshape(-1, 1)

    def values(
        self,
        first: Any,
        second: list[NDArray[Any]],
        offsets: NDArray[Any] | None = None,
        pairs: NDArray[Any] | None = None,
        together: int = 1,
    ) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Correlations at all shifts, a tile of pairs at a time.

        Parameters
        ----------
        first, second, offsets
            As in `extremes`.
        pairs : ndarray of shape (m, n) or None
            Added to the correlations of a pair at every shift.
        together : int
            Tiles hold multiples of so many second images.

        Yields
        ------
        some : slice of second images
        values : ndarray of shape (a, second images, b, n), to be overwritten
            Zero where a shift is not wanted.
        """
        n_own, n_columns = self.n_own, len(self.columns)
        space = Workspace(self.dtype)
        wanted = np.concatenate([self.wanted[0], self.wanted[1, n_own:]])
        for some, tile in self._tiles(first, second, together):
            even, odd = tile.transform()
            if pairs is not None:
                self._rows_first(even)[:] += pairs[some]
            values = space.array("values", 2 * n_columns - n_own, *even.shape[1:])
            values[:n_own] = even[:n_own]
            np.add(even[n_own:], odd, out=values[n_own:n_columns])
            np.subtract(even[n_own:], odd, out=values[n_columns:])
            by_shift = self._rows_first(values)
            if offsets is not None:
                own = np.concatenate([offsets[0], offsets[1, n_own:]])
                by_shift[:] -= own[:, :, some, None]
            if not wanted.all():
                by_shift[~wanted] = 0
            if not self._row_axis:
                values = values.reshape(-1, *values.shape[2:])[:, :, None, :]
            yield some, values

    # -- other libraries -----------------------------------------------------------------------

    def matrices(self) -> list[NDArray[Any]]:
        """Of the inverse transform along columns, and what more a way needs."""
        return [self._even, self._odd]

    @abstractmethod
    def second_arrays(self, spectra: list[NDArray[Any]], like_this: Any) -> Any:
        """What `spectra` gave, in the library of an array."""

    @abstractmethod
    def first_arrays(self, first: Any, like_this: Any) -> Any:
        """Transforms of first images, computed here, in the library of an array."""

    @abstractmethod
    def _even_odd(self, xp: Any, first: Any, second: Any, some: slice, matrices: list[Any]) -> Any:
        """E and O of a tile, in the order of `_row_axis`."""

    @abstractmethod
    def _n_second(self, second: Any) -> int: ...

    def values_arrays(
        self,
        xp: Any,
        first: Any,
        second: Any,
        matrices: list[Any],
        offsets: Any,
        step: int,
        n_extremes: int,
    ) -> Iterator[tuple[slice, Any]]:
        """`values` in another library, or the largest, or these and the smallest."""
        n_own, m = self.n_own, self._n_second(second)
        reductions = [(xp.max, -np.inf), (xp.min, np.inf)][:n_extremes]
        wanted = np.concatenate([self.wanted[0], self.wanted[1, n_own:]])
        shape = (len(wanted), 1, -1, 1) if self._row_axis else (*wanted.shape, 1, 1)
        for start in range(0, m, step):
            some = slice(start, min(start + step, m))
            even, odd = self._even_odd(xp, first, second, some, matrices)
            own, rest = even[:n_own, ...], even[n_own:, ...]
            if n_extremes and self.symmetric and offsets is None:
                size, found = xp.abs(odd), []
                for i, (reduce, _) in enumerate(reductions):
                    values = xp.concat([own, rest - size if i else rest + size], axis=0)
                    found.append(reduce(reduce(values, axis=0), axis=self._row_axis))
                yield some, found
                continue
            values = xp.concat([own, rest + odd, rest - odd], axis=0)
            if offsets is not None:
                less = xp.concat([offsets[0, ...], offsets[1, n_own:, ...]], axis=0)[:, :, some]
                less = xp.permute_dims(less, (0, 2, 1)) if self._row_axis else less
                values = values - less[..., None]
            known = xp.asarray(wanted.reshape(shape), device=values.device)

            def where_wanted(fill: float, values: Any = values, known: Any = known) -> Any:
                return (
                    values if wanted.all() else xp.where(known, values, xp.full_like(values, fill))
                )

            if n_extremes:
                # The outer axis first: libraries are slow at several axes at once.
                yield (
                    some,
                    [
                        reduce(reduce(where_wanted(fill), axis=0), axis=self._row_axis)
                        for reduce, fill in reductions
                    ],
                )
                continue
            values = where_wanted(0.0)
            if not self._row_axis:
                values = xp.reshape(values, (-1, 1, *values.shape[2:]))
                values = xp.permute_dims(values, (0, 2, 1, 3))
            yield some, values

    def every(self, first: Any, second: list[NDArray[Any]]) -> NDArray[Any]:
        """All correlations, shape (2, columns, rows, n, m): at +columns, then at -columns."""
        shape = 2, len(self.columns), len(self.rows), len(first), second[0].shape[1]
        out = np.empty(shape, self.dtype)
        for some, tile in self._tiles(first, second):
            even, odd = (self._rows_first(part).swapaxes(2, 3) for part in tile.transform())
            out[..., some] = even
            out[0, self.n_own :, ..., some] += odd
            out[1, self.n_own :, ..., some] -= odd
        return out

    def _rows_first(self, values: NDArray[Any]) -> NDArray[Any]:
        """A view of shape (columns, rows, m, n)."""
        return np.moveaxis(values, 1 + self._row_axis, 1)

    def _reduce(self, values: NDArray[Any], reduce: Any, out: NDArray[Any]) -> None:
        """Over columns and rows of shifts, shape (m, n)."""
        reduce.reduce(reduce.reduce(values, axis=0), axis=self._row_axis, out=out)

    def _over_wanted(
        self, values: list[NDArray[Any]], reduce: Any, fill: float, out: NDArray[Any]
    ) -> None:
        for value, wanted in zip(values, self.wanted, strict=True):
            if not wanted.all():
                self._rows_first(value)[~wanted] = fill
        self._reduce(reduce(*values), reduce, out)
