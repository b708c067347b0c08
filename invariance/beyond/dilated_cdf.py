"""`DilatedCDF`: distributions of inner products with shifted, dilated templates, for series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from itertools import combinations
from typing import Annotated, Any, Self, TypeGuard

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from ..core.arrays import (
    check_array,
    check_arrays,
    is_foreign,
    like,
    namespace,
    on_host,
    refuse_gradient,
)
from ..core.config import block_bytes_of
from ..core.dask_arrays import over_blocks
from ..core.parameters import (
    BlockBytes,
    OneOf,
    ParameterError,
    RandomState,
    Verbose,
    Whole,
    check_parameters,
    stores_parameters,
)
from ..features.feature_map import FeatureMap
from ..orbits import row_blocks

Array = NDArray[Any]

#: Length of a template.
_LENGTH = 9
#: Number of templates: three entries are 2 and the other six -1, so that they sum to zero.
_TEMPLATES = 84
#: Bound on the rounding of an inner product, in units of the last place of the series' largest
#: entry: the entry is centred, nine are added up, and three times an entry three times.
_ROUNDING = 64
#: Comparisons at a time, a byte each, and entries of a block of series: enough to outweigh the
#: overhead of calls, and few enough for a core's cache.
_COMPARISONS = 2**20
_ENTRIES = 2**17
#: A template acts on at most this many channels, as in MiniRocket.
_MAX_CHANNELS = 9


@stores_parameters
class DilatedCDF(FeatureMap):
    r"""CDF pooling over the shifts of dilated templates: MiniRocket's features, with its symmetry.

    Mroueh et al. 2015, section 2, for the group of shifts g of a series: template t at threshold h
    has the feature

    .. math:: \phi_{t h}(x) = \frac{1}{|G|} \sum_g 1[\langle g t, x \rangle \le h] ,

    the empirical distribution function of a convolution. One minus it is the proportion of positive
    values in MiniRocket (Dempster, Schmidt and Webb 2021), whose templates these are: nine entries,
    three of them 2 and six -1, d positions apart. Dilations d range from 1 to the value at which
    the template is as long as the series. Thresholds are quantiles of <g t, x> for a training
    series x drawn for each template and dilation. For cyclic series (closed outlines, phases),
    features of a series and of its shifts are equal to the last bit. Inner products that exceed a
    threshold by no more than rounding count as equal to it.

    *Several channels* are one row of ``channels`` series of equal length, one after the other:
    ``X.reshape(len(X), -1)`` for X of shape (n, channels, length). A template is then the same on
    some channels, drawn at random for each dilation, and zero on the others, so that its product is
    that with the sum of these channels. Channels in different units should be scaled first.

    *Series of unequal length* come as a list of arrays (length,), or (channels, length); or as rows
    that are padded with NaN at the end (each channel alike). A share is over the shifts of the
    series without padding, whose features are thus the same as if it came alone. A list may have
    series that are longer or shorter than all series of `fit`: dilations and thresholds are then
    those of the fit. Rows have as many columns as the fitted ones.

    Parameters
    ----------
    n_features : int
        At least 84, one feature per template; it is rounded down to a multiple of 84.
    boundary : {"cyclic", "zero"}
        Continuation of a series beyond its end: by its beginning; or by zeros, as in MiniRocket. In
        that case, for every second pair of template and dilation, only shifts that need no zeros
        count.
    n_dilations : int
        Largest number of dilations, which are equally spaced on a logarithmic scale.
    channels : int
        Number of series in a row. Up to this many sets of channels are drawn for each dilation: of
        1, ..., 9 channels, small numbers more often, as in MiniRocket.
    block_bytes, verbose, random_state : as in `OrbitFourier`

    Attributes
    ----------
    dilations_ : ndarray of int
        For several channels, a dilation occurs once for each set of channels.
    channels_ : list of ndarray of int, the channels that each dilation adds up
    thresholds_ : list of ndarray of shape (84, k), one per dilation

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((4, 50)).cumsum(axis=1)
    >>> features = DilatedCDF(n_features=500, random_state=0).fit(X)
    >>> features.transform(X).shape                            # 5 thresholds for 84 templates
    (4, 420)
    >>> bool(np.array_equal(features.transform(X), features.transform(np.roll(X, 7, axis=1))))
    True

    Series of other lengths; then two channels:

    >>> features.transform([X[0, :30], rng.standard_normal(90)]).shape
    (2, 420)
    >>> of_two = DilatedCDF(n_features=500, channels=2, random_state=0)
    >>> of_two.fit_transform(np.hstack([X, X**2])).shape
    (4, 420)
    """

    _as_rows = (
        "a row has its channels one after the other: take DilatedCDF(channels=X.shape[1]) and "
        "X.reshape(len(X), -1) for X of shape (n, channels, length); if channels are the last "
        "axis, take X.swapaxes(1, 2) first"
    )
    #: NaN at the end pads a series.
    _ensure_all_finite = "allow-nan"
    _: KW_ONLY
    n_features: Annotated[int, Whole(_TEMPLATES)] = 10_000
    boundary: Annotated[str, OneOf("cyclic", "zero")] = "cyclic"
    n_dilations: Annotated[int, Whole(1)] = 32
    channels: Annotated[int, Whole(1)] = 1
    block_bytes: BlockBytes = None
    verbose: Verbose = 0
    random_state: RandomState = None

    def fit(self, X: ArrayLike, y=None) -> Self:
        """Choose dilations from the length of the series X (n, d), and thresholds from some."""
        if is_foreign(X):
            check_arrays("DilatedCDF", X)
            X = on_host(X, "DilatedCDF.fit")
        if _is_list_of_arrays(X):
            check_parameters(self)
            X = _padded_rows(X, self.channels)
        X = self._points_to_fit(X)
        lengths = self._lengths(X)
        rng = check_random_state(self.random_state)
        per_template = self.n_features // _TEMPLATES
        dilations, counts = self._choose_dilations(int(lengths.max()), per_template)
        self.dilations_, counts, self.channels_ = self._choose_channels(dilations, counts, rng)
        # A sequence of low discrepancy: thresholds of a template differ between dilations.
        golden_ratio_multiples = np.arange(1, per_template * _TEMPLATES + 1) * (np.sqrt(5) - 1) / 2
        quantile_levels = golden_ratio_multiples % 1
        self.thresholds_: list[Array] = []
        #: Thresholds with the rounding of the training series that they come from.
        self._rounded_thresholds: list[Array] = []
        for j, count in enumerate(counts):
            levels, quantile_levels = np.split(quantile_levels, [count * _TEMPLATES])
            levels = np.sort(levels.reshape(_TEMPLATES, count), axis=1)
            drawn = rng.randint(len(X), size=_TEMPLATES)
            thresholds, rounding = self._quantiles(X, drawn, lengths[drawn], levels, j)
            self.thresholds_.append(thresholds)
            self._rounded_thresholds.append(thresholds + rounding[:, None])
        self._n_features_out = per_template * _TEMPLATES
        return self

    def _rows(self, X: ArrayLike, reset: bool) -> Array:
        if not reset and not hasattr(X, "columns"):  # Names of columns are checked before numbers.
            self._check_width(getattr(X, "shape", ()))
        return super()._rows(X, reset)

    def _check_width(self, shape: tuple[int, ...]) -> None:
        """Refuse rows of another width than the fitted ones, and name the two lengths."""
        n_channels = self._fitted.channels
        if len(shape) != 2 or shape[1] == self.n_features_in_ or shape[1] % n_channels:
            return
        raise ParameterError(
            f"X has {shape[1]} features, but DilatedCDF is expecting {self.n_features_in_} "
            f"features as input: series have length {shape[1] // n_channels}, and the fitted ones "
            f"{self.n_features_in_ // n_channels}. Take transform(list(X)), as a list of arrays "
            "may have series of any length, or pad shorter ones with NaN"
        )

    def _lengths(self, X: Array) -> Array:
        """Return the length of each series without the NaN at its end, and refuse other NaN."""
        n_channels = self._fitted.channels
        if X.shape[1] % n_channels:
            raise ParameterError(
                f"DilatedCDF: the {X.shape[1]} columns of X are no multiple of channels="
                f"{n_channels}"
            )
        is_missing = np.isnan(X).reshape(len(X), n_channels, -1)
        width = is_missing.shape[2]
        if not is_missing.any():
            return np.full(len(X), width)
        lengths = width - is_missing[:, 0].sum(axis=1)
        is_padding = np.arange(width) >= lengths[:, None]
        is_valid = (is_missing == is_padding[:, None]).all(axis=(1, 2)) & (lengths > 0)
        if not is_valid.all():
            row = int(np.argmin(is_valid))
            raise ParameterError(
                f"DilatedCDF: row {row} of X has NaN that does not pad the end of all its channels "
                "alike: fill in missing entries, and leave out empty series"
            )
        return lengths

    def _choose_channels(
        self, dilations: Array, counts: Array, rng: np.random.RandomState
    ) -> tuple[Array, Array, list[Array]]:
        """Return dilations, numbers of thresholds, and channels, for each set of channels."""
        n_channels = self.channels
        if n_channels == 1:
            return dilations, counts, [np.zeros(1, dtype=int)] * len(dilations)
        n_sets = np.minimum(counts, n_channels)
        set_counts = []
        for count, n in zip(counts, n_sets, strict=True):
            shares = np.full(n, count // n)
            shares[: count % n] += 1
            set_counts.append(shares)
        log_sizes = rng.uniform(0, np.log2(min(n_channels, _MAX_CHANNELS) + 1), n_sets.sum())
        channels = []
        for size in (2**log_sizes).astype(int):
            channels.append(np.sort(rng.choice(n_channels, size, replace=False)))
        return np.repeat(dilations, n_sets), np.concatenate(set_counts), channels

    def _choose_dilations(self, length: int, per_template: int) -> tuple[Array, Array]:
        """Return dilations for series of a length, and numbers of thresholds per template."""
        longest = max(1.0, (length - 1) / (_LENGTH - 1))
        grid = np.geomspace(1, longest, min(per_template, self.n_dilations))
        rounded_down = np.floor(grid + 1e-9).astype(int)
        dilations, shares = np.unique(rounded_down, return_counts=True)
        # Thresholds are distributed over the dilations like the points of the grid.
        ends = np.round(np.cumsum(shares) * per_template / shares.sum()).astype(int)
        counts = np.diff(ends, prepend=0)
        return dilations[counts > 0], counts[counts > 0]

    def _quantiles(
        self, X: Array, drawn: Array, lengths: Array, levels: Array, j: int
    ) -> tuple[Array, Array]:
        """Return quantiles of the products of each template with the series drawn for it.

        Also return the rounding of these series. ``lengths`` are those of the drawn series, and
        ``j`` is the number of the dilation.
        """
        thresholds = np.empty(levels.shape, X.dtype)
        rounding = np.empty(len(drawn), X.dtype)
        for length in np.unique(lengths):
            templates = np.flatnonzero(lengths == length)
            rows, row_of_template = np.unique(drawn[templates], return_inverse=True)
            series = self._summed(X[rows], self.channels_[j], length)
            rounding[templates] = _rounding(series)[row_of_template]
            row_of = dict(zip(templates, row_of_template, strict=True))
            products = self._products(np.ascontiguousarray(series.T), int(self.dilations_[j]))
            own_products = []
            for i, values in enumerate(products):
                if i in row_of:
                    own_products.append(values[0, :, row_of[i]].copy())
            thresholds[templates] = _row_quantiles(np.array(own_products), levels[templates])
        return thresholds, rounding

    @over_blocks
    def transform(self, X: Any) -> NDArray:
        """Return features of series X (n, d), in their library and floating type, in [0, 1].

        Series of any length may come as a list of arrays.
        """
        check_is_fitted(self)
        if is_foreign(X):
            self._check_width(X.shape)
            check_arrays("DilatedCDF", X, n_features=self.n_features_in_)
            refuse_gradient("DilatedCDF", X, "counts inner products")
            return self._of_length(X, X.shape[1] // self._fitted.channels)
        if _is_list_of_arrays(X):
            rows = _padded_rows(X, self._fitted.channels)
            X = check_array(rows, estimator=self, ensure_all_finite="allow-nan")
        else:
            X = self._points_to_transform(X)
        lengths = self._lengths(X)
        distinct = np.unique(lengths)
        if len(distinct) == 1:
            return self._of_length(X, int(distinct[0]))
        features = np.empty((len(X), self._n_features_out), X.dtype)
        for length in distinct.tolist():
            has_length = lengths == length
            features[has_length] = self._of_length(X[has_length], length)
        return features

    def _of_length(self, X: Any, length: int) -> Any:
        """Return features of series of one length."""
        # Bytes per entry: sums under one and under several templates, comparisons, and counts.
        n_thresholds = max(thresholds.shape[1] for thresholds in self.thresholds_)
        bytes_per_series = length * (2 * (_LENGTH + 3) * 8 + 7 * n_thresholds)
        cached_entries = max(2**13, min(_ENTRIES, 2 * _COMPARISONS // n_thresholds))
        block_bytes = cached_entries * bytes_per_series // length
        block_bytes = min(block_bytes_of(self.block_bytes), block_bytes)
        blocks = row_blocks(X.shape[0], bytes_per_series, block_bytes)
        n_comparisons = min(_COMPARISONS, block_bytes)
        features = []
        for block in tqdm(list(blocks), "series", disable=not self.verbose):
            features.append(self._block(X[block, :], length, n_comparisons))
        return _concatenated(features)

    def _block(self, X: Any, length: int, n_comparisons: int) -> Any:
        """Return features of a block of series, with about so many comparisons at a time."""
        n_entries = X.shape[0] * length
        parts: list[Any] = []
        summed: Array | None = None
        for j, dilation in enumerate(self.dilations_.tolist()):
            if summed is None or not np.array_equal(summed, self.channels_[j]):
                summed = self.channels_[j]
                series = self._summed(X, summed, length)
                columns = series.T if is_foreign(X) else np.ascontiguousarray(series.T)
                rounding = _rounding(series)
            thresholds = like(self._rounded_thresholds[j], X)[..., None, None]  # (84, k, 1, 1)
            # Short blocks take several templates at once, which saves the overhead of calls.
            at_once = n_comparisons // (n_entries * thresholds.shape[1])
            at_once = max(1, min(_TEMPLATES, at_once))
            products = self._products(columns, dilation, at_once, less=rounding)
            edge = self._edge(dilation, length)
            first_without_zeros = (j + 1) % 2
            if is_foreign(X):
                parts += _foreign_shares(products, thresholds, edge, first_without_zeros)
            else:
                parts.append(_shares(products, thresholds, edge, first_without_zeros))
        return _concatenated(parts).T

    def _summed(self, X: Any, channels: Array, length: int) -> Any:
        """Return the sums of some channels, (n, length), centred as in `_centred`."""
        width = X.shape[1] // self._fitted.channels
        first, *further = [X[:, c * width : c * width + length] for c in channels.tolist()]
        return self._centred(sum(further, first))

    def _products(
        self, columns: Any, dilation: int, at_once: int = 1, less: Any = 0
    ) -> Iterator[Any]:
        """Yield <g t, x> for several templates, arrays (g, d, n) that the next ones overwrite.

        ``less``, of shape (n,), is subtracted from the products with each series.

        With s the sum of the nine entries under a template and y three times an entry, a product is
        y_a + y_b + y_c - s. The order of summation is the same at every position, so that a shift
        of the series shifts the products bit by bit. A product of matrices would not do that.
        """
        d = columns.shape[0]
        padded = self._padded(columns, dilation * (_LENGTH // 2))
        under = [padded[i * dilation : i * dilation + d, :] for i in range(_LENGTH)]
        base = -sum(under[1:], under[0]) - less
        if is_foreign(columns):
            tripled = [3 * entries for entries in under]
            for a, b, c in combinations(range(_LENGTH), 3):
                yield (base + tripled[a] + tripled[b] + tripled[c])[None, ...]
            return
        thrice = sliding_window_view(3 * padded, d, axis=0)[::dilation].swapaxes(1, 2)
        # In place: allocating a new array for each sum would take as long as the sum.
        batch = np.empty((at_once, *columns.shape), columns.dtype)
        with_one = np.empty_like(base)
        with_two = np.empty_like(base)
        n_filled = 0
        for a in range(_LENGTH - 2):
            np.add(base, thrice[a], out=with_one)
            for b in range(a + 1, _LENGTH - 1):
                np.add(with_one, thrice[b], out=with_two)
                c = b + 1
                while c < _LENGTH:
                    third = thrice[c : c + at_once - n_filled]
                    np.add(with_two, third, out=batch[n_filled : n_filled + len(third)])
                    c += len(third)
                    n_filled += len(third)
                    if n_filled == at_once:
                        yield batch
                        n_filled = 0
        if n_filled:
            yield batch[:n_filled]

    def _centred(self, X: Any) -> Any:
        """Return series around the middle of their range, which a shift does not change.

        The entries of a template sum to zero, so that products are the same; but those of a series
        far from zero would lose digits. A series that zeros continue stays as it is.
        """
        if self._fitted.boundary == "zero":
            return X
        xp = namespace(X)
        middle = xp.max(X, axis=1) / 2 + xp.min(X, axis=1) / 2
        return X - middle[:, None]

    def _padded(self, columns: Any, reach: int) -> Any:
        """Return the series with ``reach`` entries on either side: continued cyclically, or 0."""
        d, n = columns.shape
        if self._fitted.boundary == "zero":
            zeros = like(np.zeros((reach, n)), columns)
            return _concatenated([zeros, columns, zeros])
        turns = -(-reach // d)
        repeated = _concatenated([columns] * (2 * turns + 1))
        return repeated[turns * d - reach : (turns + 1) * d + reach, :]

    def _edge(self, dilation: int, d: int) -> int:
        """Return the number of shifts at either end that need zeros and are left out by turns."""
        reach = dilation * (_LENGTH // 2)
        if self._fitted.boundary == "cyclic" or 2 * reach >= d:
            return 0
        return reach


def _is_list_of_arrays(X: Any) -> TypeGuard[Sequence[Array]]:
    return isinstance(X, (list, tuple)) and all(isinstance(series, np.ndarray) for series in X)


def _padded_rows(series: Sequence[Array], n_channels: int) -> Array:
    """Return series (length,) or (channels, length) as rows that are padded with NaN.

    A series (length,) of several channels has them one after the other.
    """
    if not len(series):
        raise ParameterError("DilatedCDF: X is an empty list; give at least one series")
    blocks = []
    for i, values in enumerate(series):
        block = values
        if values.ndim == 1 and values.size % n_channels == 0:
            block = values.reshape(n_channels, -1)
        if block.ndim != 2 or len(block) != n_channels:
            raise ParameterError(
                f"DilatedCDF: series {i} of X has shape {values.shape}, and channels={n_channels}: "
                f"give arrays of shape ({n_channels}, length), or set channels"
            )
        blocks.append(block)
    longest = max(block.shape[1] for block in blocks)
    dtype = np.result_type(np.float32, *blocks)
    padded = np.full((len(blocks), n_channels, longest), np.nan, dtype)
    for i, block in enumerate(blocks):
        padded[i, :, : block.shape[1]] = block
    return padded.reshape(len(blocks), -1)


def _rounding(X: Any) -> Any:
    """Bound on the rounding of inner products with a template, for each series, shape (n,)."""
    xp = namespace(X)
    largest = xp.maximum(xp.max(X, axis=1), -xp.min(X, axis=1))
    return _ROUNDING * float(xp.finfo(X.dtype).eps) * largest


def _row_quantiles(values: Array, levels: Array) -> Array:
    """Return quantiles of each row of values (r, d) at levels of its own, (r, k).

    They are those of `numpy.quantile`, whose calls for each row would take longer than the fit.
    """
    ordered = np.sort(values, axis=1)
    last = values.shape[1] - 1
    places = levels * last
    lower = np.floor(places).astype(int)
    upper = np.minimum(lower + 1, last)
    low = np.take_along_axis(ordered, lower, axis=1)
    high = np.take_along_axis(ordered, upper, axis=1)
    share = places - lower
    # Interpolated from the nearer end.
    return np.where(share < 0.5, low + (high - low) * share, high - (high - low) * (1 - share))


def _foreign_shares(
    batches: Iterator[Any], thresholds: Any, edge: int, first_without_zeros: int
) -> Iterator[Any]:
    """Yield `_shares` of arrays of another library, (k, n) for each template."""
    xp = namespace(thresholds)
    for i, products in enumerate(batches):
        start = edge * ((i + first_without_zeros + 1) % 2)
        stop = products.shape[1] - start
        below = products[:, None, start:stop, :] <= thresholds[i : i + 1, ...]
        yield xp.mean(xp.astype(below, thresholds.dtype), axis=2)[0, ...]


def _shares(
    batches: Iterator[Array], thresholds: Array, edge: int, first_without_zeros: int
) -> Array:
    """Return the shares of products (g, d, n) that are at most each threshold, along d.

    Thresholds are (84, k, 1, 1), shares (84 k, n). For every second template, from number
    ``first_without_zeros`` on, only products that are ``edge`` away from both ends count.
    """
    step = 2 if edge else 1
    counters = []
    for i in range(step):
        margin = edge if i == first_without_zeros else 0
        counters.append(_Counter(thresholds[i::step], margin))
    start = 0
    for products in batches:
        for i, counter in enumerate(counters):
            own = products[(i - start) % step :: step]
            if len(own):
                counter.add(own, n_most=-(-len(products) // step))
        start += len(products)
    shares = np.empty((_TEMPLATES, thresholds.shape[1], products.shape[2]), thresholds.dtype)
    for i, counter in enumerate(counters):
        shares[i::step] = counter.shares()
    return shares.reshape(-1, products.shape[2])


class _Counter:
    """Shares of the products of some templates that are at most each threshold.

    Parameters
    ----------
    thresholds : ndarray of shape (m, k, 1, 1)
    margin : int
        Products that are left out at either end.
    """

    def __init__(self, thresholds: Array, margin: int) -> None:
        self._thresholds = thresholds
        self._margin = margin
        self._n_done = 0

    def add(self, products: Array, n_most: int) -> None:
        """Count the products (g, d, n) of the next g templates.

        No call has more than ``n_most`` templates.
        """
        n_templates, length, n = products.shape
        d = length - 2 * self._margin
        if self._n_done == 0:
            self._allocate(n_most, d, n)
        templates = slice(self._n_done, self._n_done + n_templates)
        self._n_done = templates.stop
        below = self._mask[:n_templates]
        inner = products[:, None, self._margin : self._margin + d]
        np.less_equal(inner, self._thresholds[templates], out=below[:, :, :d])
        ones = below.view(np.uint8).reshape(*below.shape[:2], -1, self._n_rows, n)
        counts = self._counts[templates, :, : self._n_rows]
        np.add.reduce(ones, axis=2, dtype=np.uint8, out=counts)

    def _allocate(self, n_templates: int, d: int, n: int) -> None:
        # Bytes are added as such, whole vectors at a time: sums of 15 and then of 17 of them fit in
        # a byte.
        m, k = self._thresholds.shape[:2]
        self._n_shifts = d
        self._n_rows = -(-d // 15)
        self._n_groups = -(-d // 255)
        n_padded = -(-d // self._n_rows) * self._n_rows
        n_sums = -(-self._n_rows // self._n_groups) * self._n_groups
        self._mask = np.empty((n_templates, k, n_padded, n), bool)
        self._counts = np.empty((m, k, n_sums, n), np.uint8)
        self._mask[:, :, d:] = False
        self._counts[:, :, self._n_rows :] = 0

    def shares(self) -> Array:
        """Return the shares, (m, k, n)."""
        m, k, _, n = self._counts.shape
        sums = self._counts.reshape(m, k, -1, self._n_groups, n).sum(axis=2, dtype=np.uint8)
        return sums.sum(axis=2, dtype=self._thresholds.dtype) / self._n_shifts


def _concatenated(arrays: list[Any]) -> Any:
    """Concatenate arrays of one library along their first axis."""
    if is_foreign(arrays[0]):
        return namespace(arrays[0]).concat(arrays)
    return np.concatenate(arrays)
