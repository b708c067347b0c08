"""What is kept of a function over an orbit: weighted means, extremes, histograms.

A reduction takes tiles of values of shape (a, p, b, q), whose axes 0 and 2 count group elements and
whose axes 1 and 3 count pairs, and gives arrays of shape (p, q) or (p, q, k). Tiles are arrays of
the library ``xp``; NumPy's may be overwritten. The values are inner products, of which ``outer`` is
the kernel; None is the identity.
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

from ..core.arrays import like, on_cpu, on_host

Function = Callable[[Any], Any]
Outer = Callable[[Any, Any], Any] | None

#: Bytes of the values that are computed from extreme inner products at a time.
_OUTER_BYTES = 2**20


class Reduction(ABC):
    """Reduces values over group elements; small, stateless and picklable."""

    extreme: bool = False  #: whether extremes are followed, and the outer function applied last
    plain_mean: bool = False  #: whether it is the mean of the kernel's values and nothing else
    n_outputs: int = 1  #: how many arrays it gives
    cost: float = 10.0  #: floating-point operations' worth of work for one value
    tail: tuple[int, ...] = ()  #: shape of what is kept of a pair
    kind: tuple[Any, ...] = ()  #: what of a reduction the computation of the values depends on
    #: Whether `of_turns` knows what the reduction gives for a full turn.
    knows_turns: bool = False

    def tolerance(self, n_features: int, dtype: Any) -> float:
        """Rounding of an inner product, relative to both norms, that must not change the result.

        The engine subtracts it from inner products before they are reduced.
        """
        return 0.0

    @abstractmethod
    def of(self, values: Any, weights: Any, outer: Outer, xp: Any = np) -> list[Any]:
        """Reduce a tile (a, p, b, q) with weights (a, b)."""

    def of_turns(self, fixed: NDArray[Any], radius: NDArray[Any], weight: float) -> list[Any]:
        """Reduce fixed + radius cos t over a full turn of t that has a weight; of pairs (p, q).

        Both arrays may be overwritten. For extremes ``fixed`` may be a number.
        """
        raise NotImplementedError(f"{type(self).__name__} does not know turns")

    def merge(self, out: Any, part: Any, which: int, xp: Any = np) -> Any:
        """What `out` and the elements of `part` give together, in place for NumPy."""
        if xp is not np:
            return out + part
        out += part
        return out


class WeightedMean(Reduction):
    r"""Means :math:`\sum_g w_g f(k(x, g z))`, one for each function f.

    Parameters
    ----------
    functions : sequence of callables, or None
        Elementwise functions of an array; they may overwrite it where it is NumPy's. None is the
        identity alone.
    raw : bool, whether the functions take the form's own value v rather than the kernel's
    factor : float, by which means are multiplied
    over_turns : sequence of callables, or None
        ``f(fixed, radius)``, the mean of each function of fixed + radius cos t over a full turn of
        t; None if it is not known.
    """

    def __init__(
        self,
        functions: Sequence[Function] | None = None,
        *,
        raw: bool = False,
        factor: float = 1.0,
        over_turns: Sequence[Callable[[Any, Any], Any]] | None = None,
    ):
        self.functions, self.raw, self.factor = functions, raw, factor
        self.over_turns = over_turns
        self.knows_turns = over_turns is not None
        self.plain_mean = functions is None and not raw
        self.n_outputs = 1 if functions is None else len(functions)
        self.kind = "mean", self.n_outputs, self.plain_mean, self.knows_turns

    def of_turns(self, fixed: NDArray[Any], radius: NDArray[Any], weight: float) -> list[Any]:
        return [self.factor * weight * mean(fixed, radius) for mean in self.over_turns or ()]

    def of(self, values: Any, weights: Any, outer: Outer, xp: Any = np) -> list[Any]:
        values = values if self.raw or outer is None else outer(values, xp)
        if self.factor != 1:
            weights = weights * self.factor
        if self.functions is None:
            return [_contract(xp, values, weights)]
        means = []
        for i, function in enumerate(self.functions):
            last = xp is not np or i + 1 == self.n_outputs
            means.append(_contract(xp, function(values if last else values.copy()), weights))
        return means


def _contract(xp: Any, values: Any, weights: Any) -> Any:
    """Sum of weights (a, b) times values (a, p, b, q), shape (p, q)."""
    a, p, b, q = values.shape
    if xp is np:
        weights = weights.astype(values.dtype, copy=False)
    if a == b == 1:  # nothing to sum, and no pass over the values where the weight is one
        only = values[0, :, 0, :]
        if xp is np:
            return only if weights[0, 0] == 1 else np.multiply(only, weights, out=only)
        return only * weights
    if b == p == 1:
        return (weights[:, 0] @ values[:, 0, 0, :])[None, :]
    if b == 1:
        row = xp.reshape(weights, (1, a))
        return xp.reshape(row @ xp.reshape(values, (a, p * q)), (p, q))
    if a == 1 and q == 1:
        return (xp.reshape(values, (p, b)) @ weights[0, :])[:, None]
    if a == 1:
        return xp.matmul(weights, values[0, ...])[:, 0, :]
    return xp.sum(xp.matmul(weights[:, None, None, :], values)[:, :, 0, :], axis=0)


class Extremes(Reduction):
    """The largest value, and the smallest where it is asked for, as outputs in this order.

    Extreme inner products are followed, and the kernel is applied to them in the end (`finish`),
    unless the form's ``raw`` values v are wanted.
    """

    extreme = True
    knows_turns = True
    cost = 1.0

    def __init__(self, *, smallest: bool = False, raw: bool = False):
        self.smallest, self.raw = smallest, raw
        self.n_outputs = 2 if smallest else 1
        self.kind = "extremes", smallest, raw

    def of(self, values: Any, weights: Any, outer: Outer, xp: Any = np) -> list[Any]:
        a, _, b, _ = values.shape
        found = []
        for reduce in (xp.max, xp.min)[: self.n_outputs]:
            part = reduce(values, axis=0) if a > 1 else values[0, ...]
            found.append(reduce(part, axis=1) if b > 1 else part[:, 0, :])
        return found

    def of_turns(self, fixed: NDArray[Any], radius: NDArray[Any], weight: float) -> list[Any]:
        smallest = [fixed - radius] if self.smallest else []
        if np.ndim(fixed) or fixed:
            radius += fixed
        return [radius, *smallest]

    def merge(self, out: Any, part: Any, which: int, xp: Any = np) -> Any:
        either = xp.minimum if which else xp.maximum
        return either(out, part, out=out) if xp is np else either(out, part)

    def finish(
        self, found: list[Any], outer: Outer, halves: Any, dtype: Any, xp: Any
    ) -> tuple[list[Any], int]:
        """Extreme values from extreme inner products, and for how many pairs the smallest counts.

        ``found``, overwritten where of ``dtype``, are the largest (n, m), and the smallest where
        these are needed: for this reduction, or since ``outer`` falls before it rises. ``halves``
        (n, 1), half the squared norms of first points, are subtracted first.
        """
        (n, m), n_reversed = found[0].shape, 0
        # A few rows at a time, in a processor's cache: the arithmetic is less than the traffic.
        step = max(1, _OUTER_BYTES // (32 * max(m, 1))) if xp is np else n
        outputs = [
            part if xp is not np or part.dtype == dtype else np.empty((n, m), dtype)
            for part in found[: self.n_outputs]
        ]
        for start in range(0, n, step):
            rows, values = slice(start, start + step), []
            for part in found:
                v = part[rows].astype(float) if xp is np else xp.astype(part, xp.float64)
                if halves is not None:
                    v -= halves[rows, :]
                values.append(v if outer is None or self.raw else outer(v, xp))
            if len(found) > self.n_outputs:  # the outer function turns
                largest, smallest = values
                above = xp.where(smallest > largest, xp.ones_like(largest), 0 * largest)
                n_reversed += int(xp.sum(above))
                values = [xp.maximum(largest, smallest)]
            if xp is not np:
                return values, n_reversed
            for output, value in zip(outputs, values, strict=True):
                output[rows] = value
        return outputs, n_reversed


class Histogram(Reduction):
    r"""Cumulative distribution: weights of the elements with value at most each threshold.

    Thresholds are :math:`s k / n` for k = -n, ..., n, with n bins and the half-width s, so that the
    output has shape (n, m, 2 n + 1). Inner products that exceed a threshold by no more than their
    rounding (`tolerance`) count as equal to it.
    """

    knows_turns = True

    def __init__(self, n_bins: int, half_width: float):
        self.n_bins, self.half_width = n_bins, half_width
        self.tail = (2 * n_bins + 1,)
        self.kind = "histogram", n_bins

    def tolerance(self, n_features: int, dtype: Any) -> float:
        # Above twice the largest error that was measured: by products, correlations and Fourier
        # series, in both precisions, of 4 to 16,384 features, also where all have one sign.
        return float(np.finfo(dtype).eps * (8 + np.sqrt(n_features) / 2))

    def of(self, values: Any, weights: Any, outer: Outer, xp: Any = np) -> list[Any]:
        values = values if outer is None else outer(values, xp)
        n = self.n_bins
        if xp is not np and on_cpu(values):  # libraries have no histograms of many pairs at once
            host = [on_host(A, "Histogram") for A in (values, weights)]
            return [like(A, values) for A in self.of(host[0].copy(), host[1], None)]
        if xp is not np:
            values = values * (n / self.half_width)
            weights = weights[:, None, :, None]
            none = xp.zeros_like(weights)
            shares = [
                xp.sum(xp.where(values <= k, weights, none), axis=(0, 2)) for k in range(-n, n + 1)
            ]
            return [xp.stack(shares, axis=-1)]
        dtype = values.dtype
        # A value in units of the bin width falls below threshold k from k = ceil(value) on: one
        # histogram and one cumulative sum replace 2 n + 1 comparisons.
        if self.half_width != n:
            values *= dtype.type(n / self.half_width)
        np.ceil(values, out=values)
        np.clip(values, -n, n + 1, out=values)
        a, p, b, q = values.shape
        n_cells = 8 * -(-(2 * n + 2) // 8)  # whole words of counts
        # Entries of a sparse matrix that SciPy adds up where they meet: one row for each of the p,
        # or a single one where their entries do not lie together.
        rows, together = (p, 1) if a == 1 else (1, p)
        of_pairs = (np.arange(together * q, dtype=np.int32) * n_cells + n).reshape(together, 1, q)
        cells = values.astype(np.int32).reshape(-1, together * b * q)
        cells += np.broadcast_to(of_pairs, (together, b, q)).reshape(-1)
        equal = bool((weights == weights.flat[0]).all())
        if equal:  # counts, in the smallest whole numbers that hold them, and their scale once
            entries = np.ones(cells.size, np.min_scalar_type(min(a * b, 2**32 - 1)))
        else:  # as where the shifts of a correlation are not all wanted
            entries = np.empty((a, p, b, q), dtype)
            entries[...] = weights[:, None, :, None]
        starts = np.arange(rows + 1, dtype=np.int32) * (cells.size // rows)
        counted = csr_array(
            (entries.reshape(-1), cells.reshape(-1), starts), shape=(rows, p * q * n_cells // rows)
        ).toarray()
        counted = counted.reshape(p * q, n_cells)
        if not equal:
            below = np.triu(np.ones((n_cells, 2 * n + 1), dtype))
            return [(counted @ below).reshape(p, q, -1)]
        _accumulate(counted)
        shares = np.multiply(counted[:, : 2 * n + 1], weights.flat[0], dtype=dtype)
        return [shares.reshape(p, q, -1)]

    def of_turns(self, fixed: NDArray[Any], radius: NDArray[Any], weight: float) -> list[Any]:
        """The share of a circle on which a cosine is at most a threshold is an arc."""
        shares = np.empty((*fixed.shape, *self.tail), fixed.dtype)
        turns = radius > 0
        scale = np.where(turns, radius, 1)
        for k in range(-self.n_bins, self.n_bins + 1):
            above = k * self.half_width / self.n_bins - fixed
            arc = 1 - np.arccos(np.clip(above / scale, -1, 1)) / np.pi
            shares[..., k + self.n_bins] = weight * np.where(turns, arc, above >= 0)
        return [shares]


def _accumulate(counts: NDArray[Any]) -> None:
    """Cumulative sums of rows of small whole numbers, several of which make a word of 64 bits."""
    bits = 8 * counts.dtype.itemsize
    if sys.byteorder == "big" or bits == 64:
        np.add.accumulate(counts, axis=1, out=counts)
        return
    words = counts.view(np.uint64)
    # A product adds to each number of a word those before it, and the last one is the word's sum.
    ones, last = np.uint64((2**64 - 1) // (2**bits - 1)), np.uint64(64 - bits)
    words *= ones
    for before, word in pairwise(words.T):
        word += (before >> last) * ones
