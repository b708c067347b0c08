"""Reductions of a function over an orbit: weighted means, extremes, histograms.

A reduction takes tiles of values of shape (a, p, b, q), whose axes 0 and 2 run over group elements
and whose axes 1 and 3 run over pairs, and returns arrays of shape (p, q) or (p, q, k). Tiles may be
overwritten. The values are inner products, and ``outer`` is the kernel as a function of them; None
is the identity.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .blocks import part_of
from .form import Form

Array = NDArray[Any]
Function = Callable[[Any], Any]
Outer = Callable[[Any, Any], Any] | None

#: Kernel values are computed from extreme inner products in blocks of this many bytes.
_OUTER_BYTES = 2**20
#: NumPy reduces a middle axis slowly if axes of so few bytes follow it, but not if it is the last.
_SHORT = 512


class Reduction(ABC):
    """Reduces values over group elements; small, stateless and picklable."""

    #: Whether the reduction follows extremes, so that the outer function is applied at the end.
    extreme: bool = False
    #: Whether the result is the mean, or the largest one, of the kernel's values and nothing else.
    plain_mean: bool = False
    plain_maximum: bool = False
    #: Number of arrays that the reduction returns.
    n_outputs: int = 1
    #: Work for one value, in floating-point operations.
    cost: float = 10.0
    #: Trailing axes of an output, after those of the pairs.
    tail: tuple[int, ...] = ()
    #: Reductions with equal keys are computed by the same algorithms.
    key: tuple[Any, ...] = ()
    #: Whether `of_turns` reduces a full turn.
    knows_turns: bool = False
    #: Whether `within` may return a cheaper reduction.
    may_shorten: bool = False

    def tolerance(self, n_features: int, dtype: Any) -> float:
        """Rounding of an inner product, relative to both norms, that must not change the result.

        The engine subtracts it from inner products before they are reduced.
        """
        return 0.0

    def to_follow(self, form: Form | None) -> Reduction:
        """Return the reduction of inner products from which `finish` gets the kernel's values."""
        return self

    def within(self, bound: float) -> Reduction:
        """Return an equivalent reduction for inner products of absolute value at most ``bound``."""
        return self

    def takes_exponents(self, form: Form) -> bool:
        """Whether the reduction takes rate v instead of v, for a kernel exp(rate v)."""
        return self.plain_mean and form.rate is not None

    @abstractmethod
    def of(self, values: Array, weights: Array, outer: Outer) -> list[Array]:
        """Reduce a tile (a, p, b, q) with weights (a, b)."""

    def of_turns(self, fixed: Array, radius: Array, weight: float) -> list[Array]:
        """Reduce fixed + radius cos t over a full turn of t with a weight, for pairs (p, q).

        Both arrays may be overwritten. For extremes ``fixed`` may be a number.
        """
        raise NotImplementedError(f"{type(self).__name__} does not know turns")

    def scaled(self, part: Array, weight: float) -> Array:
        """Return a result with all weights of its elements multiplied by a weight."""
        return part * weight

    def merge(self, out: Array, part: Array, output: int) -> Array:
        """Combine results of two sets of group elements, in place; ``output`` is their index."""
        out += part
        return out

    @abstractmethod
    def of_arrays(self, values: Any, weights: Any, outer: Outer, xp: Any) -> list[Any]:
        """Reduce values (n, r, m) with weights (r,) in the library ``xp``; see `ways.arrays`."""

    def merge_arrays(self, results: list[Any], parts: list[Any], xp: Any) -> list[Any]:
        """Combine results of two sets of group elements in the library ``xp``."""
        return [result + part for result, part in zip(results, parts, strict=True)]


class WeightedMean(Reduction):
    r"""Means :math:`\sum_g w_g f(k(x, g z))`, one for each function f.

    Parameters
    ----------
    functions : sequence of callables, or None
        Elementwise functions of an array, which they may overwrite if it is NumPy's. None is the
        identity alone.
    raw : bool, whether the functions take the value v of the form instead of the kernel's value
    factor : float, a factor of the means
    over_turns : sequence of callables, or None
        ``f(fixed, radius)``, the mean of each function of fixed + radius cos t over a full turn of
        t; None if there is no formula.
    """

    def __init__(
        self,
        functions: Sequence[Function] | None = None,
        *,
        raw: bool = False,
        factor: float = 1.0,
        over_turns: Sequence[Callable[[Any, Any], Any]] | None = None,
    ):
        self.functions = functions
        self.raw = raw
        self.factor = factor
        self.over_turns = over_turns
        self.knows_turns = over_turns is not None
        self.plain_mean = functions is None and not raw
        self.n_outputs = 1 if functions is None else len(functions)
        self.key = ("mean", self.n_outputs, self.plain_mean, self.knows_turns)

    def of_turns(self, fixed: Array, radius: Array, weight: float) -> list[Array]:
        scale = self.factor * weight
        return [scale * mean(fixed, radius) for mean in self.over_turns or ()]

    def of(self, values: Array, weights: Array, outer: Outer) -> list[Array]:
        if outer is not None and not self.raw:
            values = outer(values, np)
        if self.factor != 1:
            weights = weights * self.factor
        if self.functions is None:
            return [_contract(values, weights)]
        means = []
        for i, function in enumerate(self.functions):
            argument = values
            if i + 1 < self.n_outputs:
                # The function may overwrite its argument, which later functions still need.
                argument = values.copy()
            means.append(_contract(function(argument), weights))
        return means

    def of_arrays(self, values: Any, weights: Any, outer: Outer, xp: Any) -> list[Any]:
        if outer is not None and not self.raw:
            values = outer(values, xp)
        weights = xp.reshape(weights * self.factor, (1, 1, -1))
        means = []
        for function in self.functions or [_identity]:
            means.append(xp.matmul(weights, function(values))[:, 0, :])
        return means


class JointMeans(Reduction):
    """Means of several functions of the value v of the form, which share work.

    Parameters
    ----------
    functions : callable
        Returns ``n_outputs`` arrays of the shape of its argument, which it may overwrite.
    n_outputs : int
    of_exponents : callable or None
        The same functions of rate v, for a kernel exp(rate v).
    """

    def __init__(
        self,
        functions: Callable[[Any], list[Any]],
        n_outputs: int,
        *,
        of_exponents: Callable[[Any], list[Any]] | None = None,
    ):
        self.functions = functions
        self.n_outputs = n_outputs
        self.of_exponents = of_exponents
        self.key = ("joint means", n_outputs, of_exponents is not None)

    def takes_exponents(self, form: Form) -> bool:
        return self.of_exponents is not None and form.rate is not None

    def to_follow(self, form: Form | None) -> Reduction:
        if self.of_exponents is None or form is None or form.rate is None or not form.linear:
            return self
        return JointMeans(self.of_exponents, self.n_outputs, of_exponents=self.of_exponents)

    def of(self, values: Array, weights: Array, outer: Outer) -> list[Array]:
        return [_contract(part, weights) for part in self.functions(values)]

    def of_arrays(self, values: Any, weights: Any, outer: Outer, xp: Any) -> list[Any]:
        weights = xp.reshape(weights, (1, 1, -1))
        return [xp.matmul(weights, part)[:, 0, :] for part in self.functions(values)]


def _identity(values: Any) -> Any:
    return values


def _contract(values: Array, weights: Array) -> Array:
    """Sum of weights (a, b) times values (a, p, b, q), shape (p, q)."""
    a, p, b, q = values.shape
    weights = weights.astype(values.dtype, copy=False)
    if a == b == 1:
        single = values[0, :, 0, :]
        if weights[0, 0] != 1:
            np.multiply(single, weights, out=single)
        return single
    if b == p == 1:
        return (weights[:, 0] @ values[:, 0, 0, :])[None, :]
    if b == 1:
        row = weights.reshape(1, a)
        return (row @ values.reshape(a, p * q)).reshape(p, q)
    if a == 1 and q == 1:
        return (values.reshape(p, b) @ weights[0, :])[:, None]
    if a == 1:
        return np.asarray(np.matmul(weights, values[0])[:, 0, :])
    sums_over_b = np.matmul(weights[:, None, None, :], values)
    return np.asarray(sums_over_b[:, :, 0, :].sum(axis=0))


class Extremes(Reduction):
    """The largest values, followed by the smallest if ``smallest`` is set.

    Extremes of inner products are followed, and the kernel is applied to them at the end
    (`finish`), unless the ``raw`` values v of the form are needed. If the kernel falls below a
    ``turning_point`` v and rises above it, only products that may lie below need the smallest ones.
    """

    extreme = True
    knows_turns = True
    cost = 1.0

    def __init__(
        self, *, smallest: bool = False, raw: bool = False, turning_point: float | None = None
    ):
        self.smallest = smallest
        self.raw = raw
        self.turning_point = turning_point
        self.n_outputs = 2 if smallest else 1
        self.may_shorten = turning_point is not None
        self.plain_maximum = not smallest and not raw
        self.key = ("extremes", smallest, raw)

    def to_follow(self, form: Form | None) -> Reduction:
        if form is None or form.turning_point is None or self.raw:
            return self
        return Extremes(smallest=True, turning_point=form.turning_point)

    def within(self, bound: float) -> Reduction:
        if self.turning_point is not None and -bound >= self.turning_point:
            return Extremes()
        return self

    def of(self, values: Array, weights: Array, outer: Outer) -> list[Array]:
        largest = _extreme_of_tile(np.maximum, values, in_place=not self.smallest)
        if not self.smallest:
            return [largest]
        return [largest, _extreme_of_tile(np.minimum, values, in_place=True)]

    def of_turns(self, fixed: Array, radius: Array, weight: float) -> list[Array]:
        smallest = fixed - radius
        if np.ndim(fixed) or fixed:
            radius += fixed
        return [radius, smallest][: self.n_outputs]

    def scaled(self, part: Array, weight: float) -> Array:
        return part

    def merge(self, out: Array, part: Array, output: int) -> Array:
        extreme = np.maximum if output == 0 else np.minimum
        return extreme(out, part, out=out)

    def of_arrays(self, values: Any, weights: Any, outer: Outer, xp: Any) -> list[Any]:
        extremes = [xp.max(values, axis=1)]
        if self.smallest:
            extremes.append(xp.min(values, axis=1))
        return extremes

    def merge_arrays(self, results: list[Any], parts: list[Any], xp: Any) -> list[Any]:
        merged = [xp.maximum(results[0], parts[0])]
        if self.smallest:
            merged.append(xp.minimum(results[1], parts[1]))
        return merged

    def finish(
        self, extremes: list[Array], outer: Outer, halves: Array | None, dtype: Any
    ) -> tuple[list[Array], int]:
        """Return the extreme values, and for how many pairs the smallest product attains them.

        Parameters
        ----------
        extremes : list of arrays of shape (n, m)
            The largest inner products, and the smallest ones if they are needed: for this
            reduction, or since ``outer`` falls before it rises. Overwritten if of type ``dtype``.
        halves : array of shape (n, 1) or None
            Half the squared norms of first points, which are subtracted first.
        """
        n, m = extremes[0].shape
        outputs = []
        for part in extremes[: self.n_outputs]:
            if part.dtype == dtype:
                outputs.append(part)
            else:
                outputs.append(np.empty((n, m), dtype))
        # Blocks of a few rows fit into the cache: memory traffic takes longer than arithmetic.
        step = max(1, _OUTER_BYTES // (32 * max(m, 1)))
        n_reversed = 0
        for start in range(0, n, step):
            rows = slice(start, start + step)
            block = [part[rows].astype(float) for part in extremes]
            block_halves = part_of(halves, rows)
            values, n_reversed_in_block = self.finish_arrays(block, outer, block_halves, np)
            n_reversed += n_reversed_in_block
            for output, value in zip(outputs, values, strict=True):
                output[rows] = value
        return outputs, n_reversed

    def finish_arrays(
        self, products: list[Any], outer: Outer, halves: Any, xp: Any
    ) -> tuple[list[Any], int]:
        """`finish` all rows at once, in double precision, in any library.

        NumPy's arrays may be overwritten.
        """
        if halves is not None:
            for i in range(len(products)):
                products[i] -= halves
        values = products
        if outer is not None and not self.raw:
            values = [outer(v, xp) for v in products]
        if len(values) == self.n_outputs:
            return values, 0
        # The outer function has a minimum: its maximum is at either extreme product.
        at_largest, at_smallest = values
        ones = xp.ones_like(at_largest)
        is_reversed = xp.where(at_smallest > at_largest, ones, xp.zeros_like(at_largest))
        return [xp.maximum(at_largest, at_smallest)], int(xp.sum(is_reversed))


def _extreme_of_tile(extreme: np.ufunc, values: Array, *, in_place: bool) -> Array:
    """Reduce a tile (a, p, b, q) to (p, q), without a pass over axes of length one."""
    a, _, b, q = values.shape
    if a > 1:
        values = extreme.reduce(values, axis=0)
    else:
        values = values[0]
    if b == 1:
        return values[:, 0]
    if q == 1 or q * values.itemsize > _SHORT:
        return np.asarray(extreme.reduce(values, axis=1))
    return _extreme_by_halves(extreme, values, in_place=in_place or a > 1)


def _extreme_by_halves(extreme: np.ufunc, values: Array, *, in_place: bool) -> Array:
    """Reduce the middle axis of (p, b, q) by comparing its halves until one row is left.

    NumPy's own reduction of a middle axis takes ten times as long for each value if q is small.
    """
    n = values.shape[1]
    while n > 1:
        half = n // 2
        upper = values[:, n - half : n]
        lower = values[:, :half]
        if in_place:
            extreme(lower, upper, out=lower)
        else:
            # The middle row of an odd number stays behind the others.
            values = np.concatenate([extreme(lower, upper), values[:, half : n - half]], axis=1)
            in_place = True
        n -= half
    return values[:, 0]


class Histogram(Reduction):
    r"""Cumulative distribution: weights of the elements with value at most each threshold.

    Thresholds are :math:`s k / n` for k = -n, ..., n, with n bins and the half-width s, so that the
    output has shape (n, m, 2 n + 1). Inner products that exceed a threshold by no more than their
    rounding (`tolerance`) count as equal to it.
    """

    knows_turns = True

    def __init__(self, n_bins: int, half_width: float):
        self.n_bins = n_bins
        self.half_width = half_width
        self.tail = (2 * n_bins + 1,)
        self.key = ("histogram", n_bins)

    def tolerance(self, n_features: int, dtype: Any) -> float:
        # More than twice the largest error measured for products, correlations and Fourier series,
        # in both precisions, with 4 to 16,384 features, also if all have the same sign.
        units_in_last_place = 8 + np.sqrt(n_features) / 2
        return float(np.finfo(dtype).eps * units_in_last_place)

    def of(self, values: Array, weights: Array, outer: Outer) -> list[Array]:
        if outer is not None:
            values = outer(values, np)
        return [self._shares(values, weights)]

    def of_arrays(self, values: Any, weights: Any, outer: Outer, xp: Any) -> list[Any]:
        """Compare all values with each threshold in turn: few libraries have histograms."""
        if outer is not None:
            values = outer(values, xp)
        in_bins = values * (self.n_bins / self.half_width)
        weights = weights[None, :, None]
        zeros = xp.zeros_like(weights)
        shares = []
        for k in range(-self.n_bins, self.n_bins + 1):
            counted = xp.where(in_bins <= k, weights, zeros)
            shares.append(xp.sum(counted, axis=1))
        return [xp.stack(shares, axis=-1)]

    def _shares(self, values: Array, weights: Array) -> Array:
        """Compute one histogram and its cumulative sums instead of 2 n + 1 comparisons.

        A value in units of the bin width lies below threshold k if k is at least its ceiling.
        """
        a, p, b, q = values.shape
        dtype = values.dtype
        n_thresholds = 2 * self.n_bins + 1
        # One cell per threshold and one beyond the last; a multiple of eight makes whole words.
        n_cells = 8 * -(-(n_thresholds + 1) // 8)
        # SciPy adds up entries of a sparse matrix at the same place. It has a row for each of the
        # p if their entries are contiguous, and otherwise a single row.
        n_rows = 1
        if a == 1:
            n_rows = p
        cells = self._cells(values, p // n_rows, n_cells)
        first_weight = weights.flat[0]
        are_equal = bool((weights == first_weight).all())
        if are_equal:
            # Counts, in the smallest type that holds them, are multiplied by the weight at the end.
            entries = np.ones(cells.size, np.min_scalar_type(min(a * b, 2**32 - 1)))
        else:
            entries = np.empty((a, p, b, q), dtype)
            entries[...] = weights[:, None, :, None]
            entries = entries.reshape(-1)
        row_starts = np.arange(n_rows + 1, dtype=np.int32) * (cells.size // n_rows)
        n_columns = p * q * n_cells // n_rows
        matrix = csr_array((entries, cells, row_starts), shape=(n_rows, n_columns))
        histograms = matrix.toarray().reshape(p * q, n_cells)
        if are_equal:
            _accumulate(histograms)
            shares: Array = np.multiply(histograms[:, :n_thresholds], first_weight, dtype=dtype)
        else:
            is_below = np.triu(np.ones((n_cells, n_thresholds), dtype))
            shares = histograms @ is_below
        return shares.reshape(p, q, -1)

    def _cells(self, values: Array, n_pairs: int, n_cells: int) -> NDArray[np.int32]:
        """Return the cell of each value among those of all pairs in its row; overwrite values.

        ``n_pairs`` is the length of axis 1 (p) that shares a row: p or one.
        """
        _, _, b, q = values.shape
        n = self.n_bins
        if self.half_width != n:
            values *= values.dtype.type(n / self.half_width)
        np.ceil(values, out=values)
        np.clip(values, -n, n + 1, out=values)
        pairs = np.arange(n_pairs * q, dtype=np.int32)
        # Threshold -n has the first cell of a pair.
        zero_cells = (pairs * n_cells + n).reshape(n_pairs, 1, q)
        cells = values.astype(np.int32).reshape(-1, n_pairs * b * q)
        cells += np.broadcast_to(zero_cells, (n_pairs, b, q)).reshape(-1)
        return cells.reshape(-1)

    def of_turns(self, fixed: Array, radius: Array, weight: float) -> list[Any]:
        # A cosine is at most a threshold on an arc of the circle.
        shares = np.empty((*fixed.shape, *self.tail), fixed.dtype)
        varies = radius > 0
        scale = np.where(varies, radius, 1)
        for k in range(-self.n_bins, self.n_bins + 1):
            threshold = k * self.half_width / self.n_bins
            gap = threshold - fixed
            arc = 1 - np.arccos(np.clip(gap / scale, -1, 1)) / np.pi
            shares[..., k + self.n_bins] = weight * np.where(varies, arc, gap >= 0)
        return [shares]


def _accumulate(counts: Array) -> None:
    """Replace rows of small whole numbers by their cumulative sums, one 64-bit word at a time."""
    bits = 8 * counts.dtype.itemsize
    if sys.byteorder == "big" or bits == 64:
        np.add.accumulate(counts, axis=1, out=counts)
        return
    words = counts.view(np.uint64)
    # Multiplying by a word of ones adds to each number those before it in its word. The last
    # number of a word is then the sum, which all numbers of the next word are increased by.
    ones = np.uint64((2**64 - 1) // (2**bits - 1))
    shift_of_last = np.uint64(64 - bits)
    words *= ones
    for previous, word in pairwise(words.T):
        word += (previous >> shift_of_last) * ones


class Sorted(Reduction):
    r"""All values in ascending order, shape (n, m, k) for k equally likely elements.

    The weight of an element is a multiple of 1 / k, which says how often its value counts. Where
    some elements are missing, infinity stands at the end.
    """

    def __init__(self, n_elements: int):
        self.n_elements = n_elements
        self.tail = (n_elements,)
        self.key = ("sorted", n_elements)
        # Sorting k values takes about log2(k) comparisons each.
        self.cost = 10.0 + 5.0 * float(np.log2(n_elements))

    def of(self, values: Array, weights: Array, outer: Outer) -> list[Array]:
        if outer is not None:
            values = outer(values, np)
        a, p, b, q = values.shape
        counted = values.transpose(1, 3, 0, 2).reshape(p, q, a * b)
        counted = self._counted(counted, weights.reshape(-1))
        counted.sort(axis=2)
        return [self._filled(counted)]

    def _filled(self, values: Array) -> Array:
        """Return sorted values (p, q, r) with infinity in place of those that are missing."""
        p, q, r = values.shape
        if r == self.n_elements:
            return values
        infinite = np.full((p, q, self.n_elements - r), np.inf, values.dtype)
        return np.concatenate([values, infinite], axis=2)

    def _counted(self, values: Array, weights: Array) -> Array:
        """Return a copy of values (p, q, r), each as often as its weight says."""
        counts = np.rint(weights * self.n_elements).astype(int)
        if (counts == 1).all():
            return values.copy(order="C")  # The memory of a tile serves the next one.
        return np.repeat(values, counts, axis=2)

    def scaled(self, part: Array, weight: float) -> Array:
        # Each value stands there 1 / weight times as often as it counts.
        return self._filled(part[:, :, :: round(1 / weight)])

    def merge(self, out: Array, part: Array, output: int) -> Array:
        both = np.concatenate([out, part], axis=2)
        both.sort(axis=2)
        out[...] = both[:, :, : self.n_elements]
        return out

    def of_arrays(self, values: Any, weights: Any, outer: Outer, xp: Any) -> list[Any]:
        if outer is not None:
            values = outer(values, xp)
        counts = xp.astype(xp.round(weights * self.n_elements), xp.int64)
        if not bool(xp.all(counts == 1)):
            places = xp.repeat(xp.arange(counts.shape[0], device=counts.device), counts)
            values = xp.take(values, places, axis=1)
        return [xp.sort(xp.permute_dims(values, (0, 2, 1)), axis=-1)]

    def merge_arrays(self, results: list[Any], parts: list[Any], xp: Any) -> list[Any]:
        return [xp.sort(xp.concat([results[0], parts[0]], axis=-1), axis=-1)]
