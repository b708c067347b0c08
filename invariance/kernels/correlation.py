"""`ShiftCorrelation`: the extreme inner products of images over a set of shifts.

Every cyclic shift of a pair comes out of one inverse Fourier transform. Only a small window of
shifts is wanted as a rule, so that the inverse is partial: two small matrix products, the second
of which never separates opposite shifts, whose values are E + O and E - O with maximum E + |O|.
"""

from __future__ import annotations

from math import gcd, prod

import numpy as np
from numpy.typing import NDArray
from scipy import fft

__all__ = ["ShiftCorrelation"]

#: Bytes of working arrays for one tile of pairs; chosen to stay in a processor's cache.
_TILE_BYTES = 32 * 2**20


class ShiftCorrelation:
    r"""Largest and smallest :math:`\langle a, T b \rangle` over cyclic shifts T of the grid.

    Two ways to the same numbers. By *rows*, only the horizontal axis is transformed and vertical
    shifts are matrix products over rows of pixels; cheap for few channels. By *frequency*, both
    axes are transformed, each frequency is one matrix product over channels, and only then are the
    wanted vertical shifts recovered; for many channels this costs as many multiplications a pair
    as there are pixels and channels, whatever the number of shifts. Where all shifts are multiples
    of a step that divides the grid, the pixels of one phase only ever meet their own phase: phases
    become channels of a coarser grid, whose transforms are smaller.

    Parameters
    ----------
    grid : tuple (height, width)
    shifts : ndarray of int, shape (s, 2)
        (down, right), modulo the grid.
    n_channels : int
    dtype : float32 or float64
        Of the images and of the computation.
    method : {"auto", "rows", "frequency"}

    Examples
    --------
    >>> a, b = np.zeros((2, 1, 1, 4, 4))
    >>> a[0, 0, 2, 1] = b[0, 0, 1, 1] = 1                   # one row down
    >>> pairs = ShiftCorrelation((4, 4), np.array([[0, 0], [1, 0]]), 1, float)
    >>> pairs.extremes(a, pairs.spectra(b))[0].round(6)
    array([[1.]])
    """

    def __init__(self, grid, shifts, n_channels: int, dtype, method: str = "auto"):
        shifts = np.asarray(shifts)
        self._steps = [
            gcd(int(side), *np.abs(column).tolist())
            for side, column in zip(grid, shifts.T, strict=True)
        ]
        self.height, self.width = (
            int(side) // step for side, step in zip(grid, self._steps, strict=True)
        )
        self.n_channels = int(n_channels) * prod(self._steps)
        self.dtype = np.dtype(dtype)
        down = shifts[:, 0] // self._steps[0] % self.height
        right = shifts[:, 1] // self._steps[1] % self.width
        self.rows = np.unique(down)
        # A shift s and its opposite share a representative |s| <= width / 2.
        folded = np.minimum(right, self.width - right)
        self.columns = np.unique(folded)
        wanted = np.zeros((2, len(self.columns), len(self.rows)), dtype=bool)
        row_of, column_of = np.searchsorted(self.rows, down), np.searchsorted(self.columns, folded)
        wanted[(right != folded).astype(int), column_of, row_of] = True
        # Shifts by 0 and by half the width are their own opposites.
        own = (2 * self.columns) % self.width == 0
        wanted[1, own] |= wanted[0, own]
        wanted[0, own] |= wanted[1, own]
        self.wanted = wanted
        self.symmetric = bool(wanted.all())
        self._half = self.width // 2 + 1
        if method not in ("auto", "rows", "frequency"):
            raise ValueError(f"method must be 'auto', 'rows' or 'frequency', got {method!r}")
        if method == "auto":
            by_rows = len(self.rows) * self.height * self.n_channels
            by_frequency = self.height * self.n_channels + 4 * self.height * len(self.rows)
            method = "rows" if by_rows <= by_frequency else "frequency"
        self.method = method
        self._columns_out = self._column_transform()
        self._rows_out = self._row_transform() if method == "frequency" else None

    # -- the inverse transforms ----------------------------------------------------------------

    def _column_transform(self) -> tuple[NDArray, NDArray]:
        """Matrices from half a row of frequencies to E and O at the representatives."""
        frequency = np.arange(self._half)
        twice = np.where((2 * frequency) % self.width == 0, 1, 2) / self.width
        angle = 2 * np.pi * np.outer(self.columns, frequency) / self.width
        even, odd = twice * np.cos(angle), -twice * np.sin(angle)
        return even.astype(self.dtype), odd.astype(self.dtype)

    def _row_transform(self):
        """Representatives of the vertical shifts, and matrices from E and O of frequencies."""
        folded = np.minimum(self.rows, self.height - self.rows)
        representatives = np.unique(folded)
        half = self.height // 2 + 1
        pairs = (self.height - 1) // 2
        angle = 2 * np.pi * np.outer(representatives, np.arange(half)) / self.height
        even = (np.cos(angle) / self.height).astype(self.dtype)
        odd = (np.sin(angle[:, 1 : pairs + 1]) / self.height).astype(self.dtype)
        place = np.searchsorted(representatives, folded)
        sign = np.where(self.rows == folded, 1, -1).astype(self.dtype)
        # At the two self-conjugate horizontal frequencies half the vertical ones suffice.
        doubled = np.where((2 * np.arange(half)) % self.height == 0, 1, 2).astype(self.dtype)
        return even, odd, place, sign, doubled

    # -- forward transforms ----------------------------------------------------------------------

    def _phases(self, images: NDArray) -> NDArray:
        """(n, channels, height, width) with the phases of the step among the channels."""
        down, right = self._steps
        if down == right == 1:
            return images
        n = len(images)
        split = images.reshape(n, -1, self.height, down, self.width, right)
        return split.transpose(0, 1, 3, 5, 2, 4).reshape(n, -1, self.height, self.width)

    def _edge(self, h: int) -> bool:
        return (2 * h) % self.width == 0

    def spectrum_bytes(self) -> int:
        """Bytes that `spectra` keeps for one image."""
        copies = len(self.rows) if self.method == "rows" else 1
        size = 2 * self.dtype.itemsize * self._half * self.height
        return size * self.n_channels * copies

    def spectra(self, images: NDArray) -> list[NDArray]:
        """Transforms of the shifted side, one array a horizontal frequency.

        Parameters
        ----------
        images : ndarray of shape (m, n_channels, height, width)

        Returns
        -------
        list of ndarray
            By rows: (2 channels height, rows, m). By frequency: (height, 2 channels, m).
        """
        m = len(images)
        images = self._phases(images)
        if self.method == "rows":
            spectrum = fft.rfft(images, axis=3)
            kept = []
            for h in range(self._half):
                # (channels, height, m), rolled down by every wanted shift
                plane = spectrum[..., h].transpose(1, 2, 0)
                parts = [plane.real] if self._edge(h) else [plane.real, plane.imag]
                own = np.empty((len(parts), *plane.shape[:2], len(self.rows), m), self.dtype)
                for target, part in zip(own, parts, strict=True):
                    for k, down in enumerate(self.rows):
                        target[:, :, k] = np.roll(part, int(down), axis=1)
                kept.append(own.reshape(-1, len(self.rows), m))
            return kept
        # One transposing copy: reading a frequency at a time would pass over the spectrum h times.
        spectrum = np.ascontiguousarray(fft.rfft2(images).transpose(3, 2, 1, 0))
        kept = []
        for h, plane in enumerate(spectrum):
            if self._edge(h):
                plane = plane[: self.height // 2 + 1]
            kept.append(np.concatenate([plane.real, plane.imag], axis=1, dtype=self.dtype))
        return kept

    def _first_spectra(self, images: NDArray) -> tuple[list[NDArray], NDArray | None]:
        """Transforms of the other side: what gives real parts, and what gives imaginary parts.

        By rows, also which rows of pixels are not zero in all images: only these are kept.
        """
        n = len(images)
        images = self._phases(images)
        kept = []
        if self.method == "rows":
            alive = images.any(axis=(0, 3))
            spectrum = fft.rfft(images[:, alive], axis=2)
            for h in range(self._half):
                plane = spectrum[..., h]
                if self._edge(h):
                    kept.append(np.ascontiguousarray(plane.real))
                else:
                    kept.append(_real_and_imaginary(plane, self.dtype).reshape(2 * n, -1))
            return kept, np.flatnonzero(alive)
        spectrum = np.ascontiguousarray(fft.rfft2(images).transpose(3, 2, 0, 1))
        for h, plane in enumerate(spectrum):
            if self._edge(h):
                plane = plane[: self.height // 2 + 1]
            kept.append(_real_and_imaginary(plane, self.dtype).reshape(len(plane), 2 * n, -1))
        return kept, None

    # -- correlations ----------------------------------------------------------------------------

    def operations(self) -> dict[str, int]:
        """Floating-point operations of `extremes` for a pair of images, by stage.

        "products" are over channels and rows of pixels, or over channels, "rows" and "columns"
        the partial inverse transforms; additions and comparisons are left out.

        >>> ShiftCorrelation((28, 28), np.array([[0, 0], [5, 5]]), 1, float).operations()
        {'products': 6048, 'rows': 0, 'columns': 240}
        """
        edges = sum(self._edge(h) for h in range(self._half))
        others = self._half - edges
        columns = 4 * len(self.columns) * self._half * len(self.rows)
        if self.method == "rows":
            each = 2 * len(self.rows) * self.height * self.n_channels
            return {"products": (edges + 4 * others) * each, "rows": 0, "columns": columns}
        even, odd, *_ = self._rows_out
        half = self.height // 2 + 1
        return {
            "products": 8 * self.n_channels * (edges * half + others * self.height),
            "rows": 2 * (even.size + odd.size) * (edges + 2 * others),
            "columns": columns,
        }

    def tile(self) -> int:
        """How many pairs are worked on at a time."""
        per_pair = 2 * self._half * len(self.rows) + 2 * len(self.columns) * len(self.rows)
        if self.method == "frequency":
            per_pair += 4 * self.height
        return max(256, _TILE_BYTES // (self.dtype.itemsize * per_pair))

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
        offsets : ndarray of shape (s, m) or None
            Subtracted before the maximum, for shifts in the order (rows, columns, signs) of
            `every`.
        minimum : bool
            Whether the minimum is wanted too.

        Returns
        -------
        maximum : ndarray of shape (n, m)
        minimum : ndarray of shape (n, m) or None
        """
        n = len(first)
        m = second[0].shape[-1]
        highest = np.empty((n, m), self.dtype)
        lowest = np.empty((n, m), self.dtype) if minimum else None
        prepared = self._first_spectra(first)
        step = max(1, min(m, self.tile() // max(n, 1)))
        space = _Workspace(self.dtype)
        for start in range(0, m, step):
            some = slice(start, min(start + step, m))
            even, odd = self._even_odd(prepared, second, some, n, space)
            if self.symmetric and offsets is None:
                np.abs(odd, out=odd)
                if minimum:
                    lowest[:, some] = _reduce(even - odd, np.minimum)
                even += odd
                highest[:, some] = _reduce(even, np.maximum)
                continue
            for sign in (0, 1):
                values = even + odd if sign == 0 else even - odd
                if offsets is not None:
                    values -= offsets[sign][:, :, None, some]
                missing = ~self.wanted[sign]
                parts = []
                for reduce, fill in ((np.maximum, -np.inf), (np.minimum, np.inf)):
                    if reduce is np.minimum and not minimum:
                        continue
                    if missing.any():
                        values[missing] = fill
                    parts.append(_reduce(values, reduce))
                for target, part, reduce in zip(
                    (highest, lowest), parts, (np.maximum, np.minimum), strict=False
                ):
                    if sign == 0:
                        target[:, some] = part
                    else:
                        reduce(target[:, some], part, out=target[:, some])
        return highest, lowest

    def every(self, first: NDArray, second: list[NDArray]) -> NDArray:
        """All correlations, shape (2, columns, rows, n, m): at +columns, then at -columns."""
        n = len(first)
        m = second[0].shape[-1]
        space = _Workspace(self.dtype)
        even, odd = self._even_odd(self._first_spectra(first), second, slice(0, m), n, space)
        return np.stack([even + odd, even - odd])

    def _even_odd(
        self, prepared, second, some: slice, n: int, space: _Workspace
    ) -> tuple[NDArray, NDArray]:
        """E and O of shape (columns, rows, n, tile)."""
        prepared, alive = prepared
        rows, width = len(self.rows), some.stop - some.start
        # One matrix product gives all rows, which then lie inside the points; or rows come first.
        inside = self.method == "rows"
        layout = (n, rows, width) if inside else (rows, n, width)
        both = space.array("both", self._half, 2, *layout)
        for h in range(self._half):
            chosen = second[h][..., some]
            planes = 1 if self._edge(h) else 2
            both[h, planes:] = 0
            if inside:
                chosen = chosen.reshape(planes, -1, rows, width)[:, alive]
                np.matmul(
                    prepared[h], chosen.reshape(-1, rows * width),
                    out=both[h, :planes].reshape(planes * n, rows * width),
                )
            else:
                self._by_frequency(self._edge(h), prepared[h], chosen, *both[h], space)
        parts = []
        for k, (name, matrix) in enumerate(zip(("even", "odd"), self._columns_out, strict=True)):
            out = space.array(name, len(self.columns), *layout)
            values = both.reshape(self._half, 2, -1)[:, k]
            np.matmul(matrix, values, out=out.reshape(len(self.columns), -1))
            parts.append(out.swapaxes(1, 2) if inside else out)
        return parts[0], parts[1]

    def _by_frequency(self, edge, first, second, real, imaginary, space) -> None:
        even, odd, place, sign, doubled = self._rows_out
        _, n, width = real.shape
        n_pairs, half, size = odd.shape[1], even.shape[1], n * width
        product = space.array("product", len(first), 2 * n, width)
        np.matmul(first, second, out=product)
        flat = product.reshape(-1, 2, size)
        if edge:
            cosines = np.matmul(even * doubled, flat[:, 0])
            sines = np.matmul(2 * odd, flat[1 : n_pairs + 1, 1])
            _combine(cosines, sines, real, place, -sign)
            return
        differences = space.array("differences", n_pairs, 2, size)
        opposite = flat[: -n_pairs - 1 : -1]
        np.subtract(flat[1 : n_pairs + 1], opposite, out=differences)
        flat[1 : n_pairs + 1] += opposite
        cosines = space.array("cosines", len(even), 2, size)
        np.matmul(even, flat[:half].reshape(half, 2 * size), out=cosines.reshape(-1, 2 * size))
        sines = space.array("sines", len(odd), 2, size)
        np.matmul(odd, differences.reshape(n_pairs, 2 * size), out=sines.reshape(-1, 2 * size))
        _combine(cosines[:, 0], sines[:, 1], real, place, -sign)
        _combine(cosines[:, 1], sines[:, 0], imaginary, place, sign)


class _Workspace:
    """Arrays that are used again for every tile: fresh memory costs a page fault a page."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.buffers: dict[str, NDArray] = {}

    def array(self, name: str, *shape: int) -> NDArray:
        size = prod(shape)
        if name not in self.buffers or self.buffers[name].size < size:
            self.buffers[name] = np.empty(size, self.dtype)
        return self.buffers[name][:size].reshape(shape)


def _combine(cosines: NDArray, sines: NDArray, target: NDArray, place, sign) -> None:
    """``target[k] = cosines[place[k]] + sign[k] sines[place[k]]``."""
    for row, p, s in zip(target.reshape(len(target), -1), place, sign, strict=True):
        (np.add if s > 0 else np.subtract)(cosines[p], sines[p], out=row)


def _reduce(values: NDArray, reduce) -> NDArray:
    """Over the columns and rows of shifts."""
    return reduce.reduce(values, axis=(0, 1))


def _real_and_imaginary(plane: NDArray, dtype) -> NDArray:
    """[Re, Im] and [Im, -Re], (..., 2, n, 2 size): times [Re, Im] of y, the parts of x conj(y)."""
    *lead, n, size = plane.shape
    both = np.empty((*lead, 2, n, 2 * size), dtype)
    both[..., 0, :, :size] = both[..., 1, :, size:] = plane.real
    both[..., 0, :, size:] = both[..., 1, :, :size] = plane.imag
    np.negative(both[..., 1, :, size:], out=both[..., 1, :, size:])
    return both
