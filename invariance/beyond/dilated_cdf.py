"""`DilatedCDF`: distributions of inner products with shifted, dilated templates, for series."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from itertools import combinations
from typing import Annotated, Any, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from ..core.arrays import check_arrays, is_foreign, like, namespace, on_host, refuse_gradient
from ..core.config import block_bytes_of
from ..core.parameters import BlockBytes, OneOf, RandomState, Verbose, Whole, stores_parameters
from ..features.feature_map import ONE_CHANNEL, FeatureMap
from ..orbits import row_blocks

#: Entries of a template, three of them 2 and the others -1, hence 84 templates that sum to zero.
_LENGTH, _TEMPLATES = 9, 84
#: Rounding of an inner product in units of the last place of the series' largest entry, at most:
#: nine entries are added up, and three times an entry three times.
_ROUNDING = 64
#: Bytes of comparisons at a time: more than a call's own cost, few enough for a core's cache.
_BLOCK = 2**20


@stores_parameters
class DilatedCDF(FeatureMap):
    r"""CDF pooling over the shifts of dilated templates: MiniRocket's features, with its symmetry.

    Mroueh et al. 2015, section 2, for the group of shifts g of a series: template t at threshold h
    has the feature

    .. math:: \phi_{t h}(x) = \frac{1}{|G|} \sum_g 1[\langle g t, x \rangle \le h] ,

    the empirical distribution function of a convolution. One minus it is the proportion of positive
    values in MiniRocket (Dempster, Schmidt and Webb 2021), whose templates these are: nine entries,
    three of them 2 and six -1, d positions apart for dilations d of 1 up to where the template is
    as long as the series. Thresholds are quantiles of <g t, x> for a training series x drawn for
    each template and dilation. Where series go around (closed outlines, phases), features of
    a series and of its shifts are equal to the last bit. Inner products that exceed a threshold by
    no more than rounding count as equal to it.

    Parameters
    ----------
    n_features : int
        At least 84, one feature a template; a number that 84 does not divide is rounded down.
    boundary : {"cyclic", "zero"}
        What follows the end of a series: its beginning; or, as in MiniRocket, zeros, where for
        every second pair of template and dilation only shifts that need none of them count.
    n_dilations : int, at most so many, equally spaced on a logarithmic scale
    block_bytes, verbose, random_state : as in `OrbitFourier`

    Attributes
    ----------
    dilations_ : ndarray of int
    thresholds_ : list of ndarray of shape (84, k), one a dilation

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((4, 50)).cumsum(axis=1)
    >>> features = DilatedCDF(n_features=500, random_state=0).fit(X)
    >>> features.transform(X).shape                            # 5 thresholds for 84 templates
    (4, 420)
    >>> bool(np.array_equal(features.transform(X), features.transform(np.roll(X, 7, axis=1))))
    True
    """

    _as_rows = ONE_CHANNEL
    _: KW_ONLY
    n_features: Annotated[int, Whole(_TEMPLATES)] = 10_000
    boundary: Annotated[str, OneOf("cyclic", "zero")] = "cyclic"
    n_dilations: Annotated[int, Whole(1)] = 32
    block_bytes: BlockBytes = None
    verbose: Verbose = 0
    random_state: RandomState = None

    def fit(self, X: ArrayLike, y=None) -> Self:
        """Choose dilations from the length of the series X (n, d), and thresholds from some."""
        if is_foreign(X):
            check_arrays("DilatedCDF", X)
            X = on_host(X, "DilatedCDF.fit")
        X = self._points_to_fit(X)
        rng, each = check_random_state(self.random_state), self.n_features // _TEMPLATES
        longest = max(1.0, (X.shape[1] - 1) / (_LENGTH - 1))
        grid = np.geomspace(1, longest, min(each, self.n_dilations))
        self.dilations_, shares = np.unique(np.floor(grid + 1e-9).astype(int), return_counts=True)
        # As many thresholds in all as were asked for, shared out as the grid's points are.
        ends = np.round(np.cumsum(shares) * each / shares.sum()).astype(int)
        counts = np.diff(ends, prepend=0)
        # A sequence of low discrepancy: thresholds of a template differ between dilations.
        levels = np.arange(1, each * _TEMPLATES + 1) * (np.sqrt(5) - 1) / 2 % 1
        self.dilations_, counts = self.dilations_[counts > 0], counts[counts > 0]
        self.thresholds_: list[NDArray] = []
        #: Thresholds with the rounding of the training series that they come from.
        self._levels: list[NDArray] = []
        rounding = _rounding(X)
        for dilation, count in zip(self.dilations_, counts, strict=True):
            own, levels = np.split(levels, [count * _TEMPLATES])
            own = np.sort(own.reshape(_TEMPLATES, count), axis=1)
            drawn = rng.randint(len(X), size=_TEMPLATES)
            used, place = np.unique(drawn, return_inverse=True)
            columns = np.ascontiguousarray(X[used].T)
            products = zip(self._products(columns, int(dilation)), place, own, strict=True)
            rows = [np.quantile(p[0, :, i], q) for p, i, q in products]
            thresholds = np.array(rows, dtype=X.dtype).reshape(own.shape)
            self.thresholds_.append(thresholds)
            self._levels.append(thresholds + rounding[drawn][:, None])
        self._n_features_out = each * _TEMPLATES
        return self

    def transform(self, X: Any) -> NDArray:
        """Features of series X (n, d), in their library and floating type, between 0 and 1."""
        if is_foreign(X):
            check_is_fitted(self)
            check_arrays("DilatedCDF", X, n_features=self.n_features_in_)
            refuse_gradient("DilatedCDF", X, "counts inner products")
        else:
            X = self._points_to_transform(X)
        # Of an entry: sums under templates, those of several, comparisons and their counts.
        most = max(t.shape[1] for t in self.thresholds_)
        bytes_each = self.n_features_in_ * (2 * (_LENGTH + 3) * 8 + 7 * most)
        bound = max(2**13, _BLOCK // most) * bytes_each // self.n_features_in_
        bound = min(block_bytes_of(self.block_bytes), bound)
        rows = list(row_blocks(X.shape[0], bytes_each, bound))
        # Of short blocks several templates at once: a call takes as long as some of them.
        longest = bytes_each * max(some.stop - some.start for some in rows)
        bar = tqdm(rows, "series", disable=not self.verbose)
        return _joined([self._block(X[some, :], bound / longest * most) for some in bar])

    def _block(self, X: Any, masks: float) -> Any:
        columns = X.T if is_foreign(X) else np.ascontiguousarray(X.T)
        parts: list[Any] = []
        rounding = _rounding(X)
        for j, dilation in enumerate(self.dilations_.tolist()):
            levels = like(self._levels[j], X)[..., None, None]  # (84, k, 1, 1)
            at_once = max(1, min(_TEMPLATES, int(masks / levels.shape[1])))
            products = self._products(columns, dilation, at_once, less=rounding)
            parts += _shares(products, levels, self._edge(dilation, X.shape[1]), (j + 1) % 2)
        return _joined(parts).T

    def _products(
        self, columns: Any, dilation: int, at_once: int = 1, less: Any = 0
    ) -> Iterator[Any]:
        """<g t, x> of templates in turn, arrays (g, d, n), each good until the next one.

        ``less``, of shape (n,), is subtracted from the products with each series.
        With s the sum of the nine entries under a template and y three times an entry: y_a + y_b +
        y_c - s, in the same order at every position, so that a shift of the series shifts them bit
        by bit, which a product of matrices would not.
        """
        d = columns.shape[0]
        padded = self._padded(columns, dilation * (_LENGTH // 2))
        under = [padded[i * dilation : i * dilation + d, :] for i in range(_LENGTH)]
        first = -sum(under[1:], under[0]) - less
        if is_foreign(columns):
            tripled = [3 * entries for entries in under]
            for a, b, c in combinations(range(_LENGTH), 3):
                yield (first + tripled[a] + tripled[b] + tripled[c])[None, ...]
            return
        thrice = sliding_window_view(3 * padded, d, axis=0)[::dilation].swapaxes(1, 2)
        # In place: a new array for each would take as long as the sum.
        room = np.empty((at_once, *columns.shape), columns.dtype)
        second, third = np.empty_like(first), np.empty_like(first)
        filled = 0
        for a in range(_LENGTH - 2):
            np.add(first, thrice[a], out=second)
            for b in range(a + 1, _LENGTH - 1):
                np.add(second, thrice[b], out=third)
                c = b + 1
                while c < _LENGTH:
                    some = thrice[c : c + at_once - filled]
                    np.add(third, some, out=room[filled : filled + len(some)])
                    c, filled = c + len(some), filled + len(some)
                    if filled == at_once:
                        yield room
                        filled = 0
        if filled:
            yield room[:filled]

    def _padded(self, columns: Any, reach: int) -> Any:
        """The series and ``reach`` entries on either side: those around the end, or zeros."""
        d, n = columns.shape
        if self._fitted.boundary == "zero":
            zeros = like(np.zeros((reach, n)), columns)
            return _joined([zeros, columns, zeros])
        turns = -(-reach // d)
        around = _joined([columns] * (2 * turns + 1))
        return around[turns * d - reach : (turns + 1) * d + reach, :]

    def _edge(self, dilation: int, d: int) -> int:
        """At either end, the shifts that need zeros, where every second time they do not count."""
        reach = dilation * (_LENGTH // 2)
        return 0 if self._fitted.boundary == "cyclic" or 2 * reach >= d else reach


def _rounding(X: Any) -> Any:
    """What rounding may add to an inner product with a template, for each series, shape (n,)."""
    xp = namespace(X)
    largest = xp.maximum(xp.max(X, axis=1), -xp.min(X, axis=1))
    return _ROUNDING * float(xp.finfo(X.dtype).eps) * largest


def _shares(batches: Iterator[Any], levels: Any, edge: int, odd: int) -> Iterator[Any]:
    """Of products (g, d, n) of all templates in turn, the shares along d at most each level.

    Levels are (84, k, 1, 1), shares (84 k, n) or in parts. Of every second template, from ``odd``
    on, only products that are ``edge`` away from both ends count.
    """
    if is_foreign(levels):
        xp = namespace(levels)
        for i, products in enumerate(batches):
            off, end = edge * ((i + odd + 1) % 2), products.shape[1]
            below = products[:, None, off : end - off, :] <= levels[i : i + 1, ...]
            yield xp.mean(xp.astype(below, levels.dtype), axis=2)[0, ...]
        return
    start, k = 0, levels.shape[1]
    for products in batches:
        g, d, n = products.shape
        if start == 0:
            # Bytes are added as such, whole vectors at a time: 15 by 17 ones do not exceed one.
            rows, few = -(-d // 15), -(-d // 255)
            mask = np.empty((g, k, -(-d // rows) * rows, n), bool)
            counts = np.empty((_TEMPLATES, k, -(-rows // few) * few, n), np.uint8)
            mask[:, :, d:], counts[:, :, rows:] = False, 0
        some, stop = products[(start + odd) % 2 :: 2], start + g
        some[:, :edge] = some[:, d - edge :] = np.nan
        np.less_equal(products[:, None], levels[start:stop], out=mask[:g, :, :d])
        ones = mask[:g].view(np.uint8).reshape(g, k, -1, rows, n)
        np.add.reduce(ones, axis=2, dtype=np.uint8, out=counts[start:stop, :, :rows])
        start = stop
    sums = counts.reshape(_TEMPLATES, k, -1, few, n).sum(axis=2, dtype=np.uint8)
    shares = sums.sum(axis=2, dtype=levels.dtype)
    shares[odd::2] /= d - 2 * edge
    shares[1 - odd :: 2] /= d
    yield shares.reshape(-1, n)


def _joined(parts: list[Any]) -> Any:
    return namespace(parts[0]).concat(parts) if is_foreign(parts[0]) else np.concatenate(parts)
