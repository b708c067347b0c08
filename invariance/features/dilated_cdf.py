"""`DilatedCDF`: distributions of inner products with shifted, dilated templates, for series."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from tqdm import tqdm

from ..core.arrays import check_arrays, is_foreign, like, namespace, on_host, refuse_gradient
from ..core.config import block_bytes_of
from ..core.parameters import BlockBytes, OneOf, RandomState, Verbose, Whole, stores_parameters
from ..orbits import row_blocks
from .feature_map import FeatureMap

#: Entries of a template, three of them 2 and the others -1, hence 84 templates that sum to zero.
_LENGTH, _TEMPLATES = 9, 84
#: Entries of a block of series: long enough for whole vectors, short enough for a core's cache.
_BLOCK = 2**17


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
    a series and of its shifts are equal to the last bit.

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
        for dilation, count in zip(self.dilations_, counts, strict=True):
            own, levels = np.split(levels, [count * _TEMPLATES])
            own = np.sort(own.reshape(_TEMPLATES, count), axis=1)
            drawn = rng.randint(len(X), size=_TEMPLATES)
            used, place = np.unique(drawn, return_inverse=True)
            products = self._products(X[used].T, int(dilation))
            rows = [np.quantile(p[:, i], q) for p, i, q in zip(products, place, own, strict=True)]
            self.thresholds_.append(np.array(rows, dtype=X.dtype).reshape(own.shape))
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
        # Of a series: entries under a template, their sums, and a mask for each threshold.
        most = max(t.shape[1] for t in self.thresholds_)
        bytes_each = self.n_features_in_ * (2 * (_LENGTH + 3) * 8 + most)
        bound = min(block_bytes_of(self.block_bytes), _BLOCK * bytes_each // self.n_features_in_)
        rows = list(row_blocks(X.shape[0], bytes_each, bound))
        return _joined(
            [self._block(X[some, :]) for some in tqdm(rows, "series", disable=not self.verbose)]
        )

    def _block(self, X: Any) -> Any:
        columns = X.T if is_foreign(X) else np.ascontiguousarray(X.T)
        parts = []
        for j, (dilation, thresholds) in enumerate(
            zip(self.dilations_, self.thresholds_, strict=True)
        ):
            levels = like(thresholds, X)[..., None, None]  # (84, k, 1, 1), products are (d, n)
            mask = np.empty((thresholds.shape[1], *columns.shape), bool)
            for i, products in enumerate(self._products(columns, int(dilation))):
                whole = self._whole(i + j, int(dilation), columns.shape[0])
                parts.append(_share(products[whole, :], levels[i, ...], mask[:, whole]))
        return _joined(parts).T

    def _products(self, columns: Any, dilation: int) -> Iterator[Any]:
        """<g t, x> for each template: arrays (d, n) of shifts by series, good until the next one.

        With s the sum of the nine entries under a template and y three times an entry, they are
        y_a + y_b + y_c - s. Sums are taken in the same order at every position, so that a shift
        of the series shifts them bit by bit, which a product of matrices would not.
        """
        offsets = dilation * (np.arange(_LENGTH) - _LENGTH // 2)
        under = [self._moved(columns, int(offset)) for offset in offsets]
        first = -sum(under[1:], under[0])
        thrice = [3 * entries for entries in under]
        room = None if is_foreign(columns) else np.empty_like(columns)
        for a in range(_LENGTH):
            second = first + thrice[a]
            for b in range(a + 1, _LENGTH - 1):
                third = second + thrice[b]
                for entries in thrice[b + 1 :]:
                    # In place: a new array for each would take as long as the sum.
                    yield third + entries if room is None else np.add(third, entries, out=room)

    def _moved(self, columns: Any, offset: int) -> Any:
        """The entries ``offset`` later: around the end, or zero beyond it."""
        d = columns.shape[0]
        if self._fitted.boundary == "cyclic":
            cut = offset % d
            return _joined([columns[cut:, :], columns[:cut, :]])
        kept = max(0, d - abs(offset))
        zeros = 0 * columns[: d - kept, :]
        if offset < 0:
            return _joined([zeros, columns[:kept, :]])
        return _joined([columns[d - kept :, :], zeros])

    def _whole(self, turn: int, dilation: int, d: int) -> slice:
        """The shifts that count: all, or every second time those that need no zeros."""
        reach = dilation * (_LENGTH // 2)
        if self._fitted.boundary == "cyclic" or turn % 2 == 0 or 2 * reach >= d:
            return slice(None)
        return slice(reach, d - reach)


def _share(products: Any, levels: Any, mask: NDArray) -> Any:
    """Of products (d, n), the share along d at most each level (k, 1, 1): (k, n)."""
    if is_foreign(products):
        xp = namespace(products)
        return xp.mean(xp.astype(products <= levels, products.dtype), axis=1)
    np.less_equal(products, levels, out=mask)
    # Bytes are added in halves, whole vectors at a time, as long as no sum can exceed a byte.
    counts, length = mask.view(np.uint8), len(products)
    for _ in range(7):
        half = length // 2
        counts[:, :half] += counts[:, length - half : length]
        length -= half
    return counts[:, :length].sum(axis=1, dtype=products.dtype) / len(products)


def _joined(parts: list[Any]) -> Any:
    return namespace(parts[0]).concat(parts) if is_foreign(parts[0]) else np.concatenate(parts)
