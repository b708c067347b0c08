"""What is kept of a function over an orbit: weighted means, extremes, histograms.

A reduction takes tiles of values of shape (a, p, b, q), whose axes 0 and 2 count group elements and
whose axes 1 and 3 count pairs, and gives arrays of shape (p, q) or (p, q, k). Tiles are arrays of
the library ``xp``; NumPy's may be overwritten.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..core.arrays import like, on_cpu, on_host
from .form import INNER, Form

__all__ = ["Extremes", "Histogram", "Moments", "Reduction", "WeightedMean"]

Values = NDArray[Any]
Function = Callable[[Any], Any]


class Reduction(ABC):
    """Reduces values over group elements; small, stateless and picklable."""

    #: Whether only the smallest and largest values count: then the outer function is applied last.
    extreme: bool = False

    #: Whether it is the mean of the kernel's values and nothing else.
    plain_mean: bool = False

    #: How many arrays it gives.
    n_outputs: int = 1

    #: Floating-point operations' worth of work for one value.
    cost: float = 10.0

    @property
    def tail(self) -> tuple[int, ...]:
        """Shape of what is kept of a pair."""
        return ()

    @abstractmethod
    def of(self, values: Any, weights: Any, form: Form, xp: Any = np) -> list[Any]:
        """Reduce a tile (a, p, b, q) with weights (a, b)."""

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
    raw : bool
        Whether the functions take the form's own value v rather than the kernel's.
    """

    def __init__(self, functions: Sequence[Function] | None = None, *, raw: bool = False):
        self.functions = functions
        self.raw = raw
        self.plain_mean = functions is None and not raw
        self.n_outputs = 1 if functions is None else len(functions)

    def of(self, values: Any, weights: Any, form: Form, xp: Any = np) -> list[Any]:
        values = values if self.raw else form.value(values, xp)
        functions: Sequence[Function | None] = (None,) if self.functions is None else self.functions
        means = []
        for i, function in enumerate(functions):
            own = values.copy() if xp is np and i + 1 < len(functions) else values
            means.append(_contract(xp, own if function is None else function(own), weights))
        return means


def _contract(xp: Any, values: Any, weights: Any) -> Any:
    """Sum of weights (a, b) times values (a, p, b, q), shape (p, q)."""
    a, p, b, q = values.shape
    if xp is np:
        weights = weights.astype(values.dtype, copy=False)
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


class Moments(WeightedMean):
    """Means of powers of the kernel's values.

    Parameters
    ----------
    orders : sequence of int
    """

    def __init__(self, orders: Sequence[int]):
        self.orders = orders
        super().__init__([partial(_power, order=int(order)) for order in orders])


def _power(values: Any, order: int) -> Any:
    return values**order


class Extremes(Reduction):
    """The largest value, and the smallest where it is asked for, as outputs in this order.

    Weights do not matter.

    Parameters
    ----------
    smallest : bool
    """

    extreme = True
    cost = 1.0

    def __init__(self, *, smallest: bool = False):
        self.smallest = smallest
        self.n_outputs = 2 if smallest else 1

    def of(self, values: Any, weights: Any, form: Form, xp: Any = np) -> list[Any]:
        a, _, b, _ = values.shape
        found = []
        for reduce in (xp.max, xp.min)[: self.n_outputs]:
            part = reduce(values, axis=0) if a > 1 else values[0, ...]
            found.append(reduce(part, axis=1) if b > 1 else part[:, 0, :])
        return found

    def merge(self, out: Any, part: Any, which: int, xp: Any = np) -> Any:
        either = xp.minimum if which else xp.maximum
        return either(out, part, out=out) if xp is np else either(out, part)


@lru_cache(maxsize=2)
def _ones(size: int, dtype: np.dtype[Any]) -> Values:
    return np.ones(size, dtype)


@lru_cache(maxsize=8)
def _below(n_bins: int, dtype: np.dtype[Any]) -> Values:
    """Sums of cells up to each threshold, as a matrix."""
    return np.triu(np.ones((2 * n_bins + 2, 2 * n_bins + 1), dtype))


class Histogram(Reduction):
    r"""Cumulative distribution: weights of the elements with value at most each threshold.

    Thresholds are :math:`s k / n` for k = -n, ..., n, so that the output has shape
    (n, m, 2 n + 1).

    Parameters
    ----------
    n_bins : int
        n.
    half_width : float
        s.
    """

    def __init__(self, n_bins: int, half_width: float):
        self.n_bins = n_bins
        self.half_width = half_width

    @property
    def tail(self) -> tuple[int, ...]:
        return (2 * self.n_bins + 1,)

    def of(self, values: Any, weights: Any, form: Form, xp: Any = np) -> list[Any]:
        if xp is not np and on_cpu(values):  # libraries have no histograms of many pairs at once
            host = [on_host(A, "Histogram") for A in (form.value(values, xp), weights)]
            return [like(A, values) for A in self.of(host[0].copy(), host[1], INNER)]
        if xp is not np:
            values = form.value(values, xp) * (self.n_bins / self.half_width)
            weights = weights[:, None, :, None]
            none = xp.zeros_like(weights)
            shares = [
                xp.sum(xp.where(values <= k, weights, none), axis=(0, 2))
                for k in range(-self.n_bins, self.n_bins + 1)
            ]
            return [xp.stack(shares, axis=-1)]
        n, dtype = self.n_bins, values.dtype
        values = form.value(values)
        # A value in units of the bin width falls below threshold k from k = ceil(value) on: one
        # histogram and one cumulative sum replace 2 n + 1 comparisons.
        if self.half_width != n:
            values *= dtype.type(n / self.half_width)
        np.ceil(values, out=values)
        np.clip(values, -n, n + 1, out=values)
        a, p, b, q = values.shape
        n_cells = 2 * n + 2
        # Entries of a sparse matrix that SciPy adds up where they meet: one row for each of the p,
        # or a single one where their entries do not lie together.
        rows, together = (p, 1) if a == 1 else (1, p)
        of_pairs = (np.arange(together * q, dtype=np.int32) * n_cells + n).reshape(together, 1, q)
        cells = values.astype(np.int32).reshape(-1, together * b * q)
        cells += np.broadcast_to(of_pairs, (together, b, q)).reshape(-1)
        first = weights.flat[0]
        equal = bool((weights == first).all())
        # Counts first and their scale once: whole numbers below 2^24 are exact in any type.
        kind = np.dtype(np.float32) if equal else dtype
        entries = _ones(cells.size, kind)
        if not equal:
            entries = np.empty((a, p, b, q), kind)
            entries[...] = weights[:, None, :, None]
        starts = np.arange(rows + 1, dtype=np.int32) * (cells.size // rows)
        counted = csr_array(
            (entries.reshape(-1), cells.reshape(-1), starts),
            shape=(rows, p * q * n_cells // rows),
        ).toarray()
        shares = counted.reshape(p * q, n_cells) @ _below(n, kind)
        shares = shares.reshape(p, q, -1)
        return [np.multiply(shares, first, dtype=dtype) if equal else shares]
