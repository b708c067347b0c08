"""What is kept of a function over an orbit: weighted means, extremes, histograms.

A reduction takes tiles of values of shape (a, p, b, q), whose axes 0 and 2 count group elements and
whose axes 1 and 3 count pairs, and gives arrays of shape (p, q) or (p, q, k).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from .form import Form

__all__ = ["Extremes", "Histogram", "Moments", "Reduction", "WeightedMean"]

Values = NDArray[Any]
Function = Callable[[Any], Any]


class Reduction(ABC):
    """Reduces values over group elements; small, stateless and picklable."""

    #: Whether only the smallest and largest values count: then the outer function is applied last.
    extreme: bool = False

    #: Whether it is the mean of the kernel's values and nothing else.
    plain_mean: bool = False

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """How many arrays it gives."""

    @property
    def tail(self) -> tuple[int, ...]:
        """Shape of what is kept of a pair."""
        return ()

    @property
    def cost(self) -> float:
        """Floating-point operations' worth of work for one value."""
        return 10.0

    @abstractmethod
    def of(self, values: Values, weights: Values, form: Form) -> list[Values]:
        """Reduce a tile (a, p, b, q), which may be overwritten, with weights (a, b)."""

    @abstractmethod
    def join(self, part: Values, weights: Values, which: int) -> Values:
        """Reduce output `which` over a further axis of elements, the second of (p, r, q, ...)."""

    @abstractmethod
    def merge(self, out: Values, part: Values, which: int) -> None:
        """Take the elements of `part` into `out`, in place."""

    @abstractmethod
    def start(self, which: int) -> float:
        """What `out` holds before the first element."""

    @abstractmethod
    def of_arrays(self, xp: Any, values: Any, weights: Any, form: Form) -> list[Any]:
        """`of` in another library, without overwriting."""

    @abstractmethod
    def merge_arrays(self, xp: Any, one: Any, two: Any, which: int) -> Any:
        """`merge` in another library."""


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

    def _functions(self) -> Sequence[Function | None]:
        return (None,) if self.functions is None else self.functions

    @property
    def n_outputs(self) -> int:
        return len(self._functions())

    def _apply(self, xp: Any, values: Any, form: Form) -> list[Any]:
        values = values if self.raw else form.value(values, xp)
        functions = self._functions()
        applied = []
        for i, function in enumerate(functions):
            own = values.copy() if xp is np and i + 1 < len(functions) else values
            applied.append(own if function is None else function(own))
        return applied

    def of(self, values: Values, weights: Values, form: Form) -> list[Values]:
        weights = weights.astype(values.dtype, copy=False)
        if self.n_outputs == 1:
            return [_contract(self._apply(np, values, form)[0], weights)]
        return [_contract(part, weights) for part in self._apply(np, values, form)]

    def join(self, part: Values, weights: Values, which: int) -> Values:
        return np.asarray(np.einsum("prq,r->pq", part, weights.astype(part.dtype, copy=False)))

    def merge(self, out: Values, part: Values, which: int) -> None:
        out += part

    def start(self, which: int) -> float:
        return 0.0

    def of_arrays(self, xp: Any, values: Any, weights: Any, form: Form) -> list[Any]:
        a, p, b, q = values.shape
        applied = self._apply(xp, values, form)
        if b == 1:
            row = xp.reshape(weights, (1, a))
            return [xp.reshape(row @ xp.reshape(part, (a, -1)), (p, q)) for part in applied]
        row = xp.reshape(weights, (a, 1, 1, b))
        return [xp.sum(xp.matmul(row, part), axis=0)[:, 0, :] for part in applied]

    def merge_arrays(self, xp: Any, one: Any, two: Any, which: int) -> Any:
        return one + two


def _contract(values: Values, weights: Values) -> Values:
    """Sum of weights (a, b) times values (a, p, b, q), shape (p, q)."""
    a, p, b, q = values.shape
    if b == 1:
        return np.asarray(weights.reshape(1, a) @ values.reshape(a, p * q)).reshape(p, q)
    if a == 1:
        if q == 1:
            return np.asarray(values.reshape(p, b) @ weights[0])[:, None]
        return np.asarray(np.matmul(weights, values[0])[:, 0])
    return np.asarray(np.matmul(weights[:, None, None, :], values)[:, :, 0].sum(axis=0))


class Moments(WeightedMean):
    """Means of powers of the kernel's values.

    Parameters
    ----------
    orders : sequence of int
    """

    def __init__(self, orders: Sequence[int]):
        self.orders = orders
        super().__init__([_Power(int(order)) for order in orders])


class _Power:
    def __init__(self, order: int):
        self.order = order

    def __call__(self, values: Any) -> Any:
        return values**self.order


class Extremes(Reduction):
    """The largest value, and the smallest where it is asked for, as outputs in this order.

    Weights do not matter.

    Parameters
    ----------
    smallest : bool
    """

    extreme = True

    def __init__(self, *, smallest: bool = False):
        self.smallest = smallest

    @property
    def n_outputs(self) -> int:
        return 2 if self.smallest else 1

    @property
    def cost(self) -> float:
        return 1.0

    def of(self, values: Values, weights: Values, form: Form) -> list[Values]:
        return [_over(ufunc, values) for ufunc in (np.maximum, np.minimum)[: self.n_outputs]]

    def join(self, part: Values, weights: Values, which: int) -> Values:
        joined: Values = (np.minimum if which else np.maximum).reduce(part, axis=1)
        return joined

    def merge(self, out: Values, part: Values, which: int) -> None:
        (np.minimum if which else np.maximum)(out, part, out=out)

    def start(self, which: int) -> float:
        return np.inf if which else -np.inf

    def of_arrays(self, xp: Any, values: Any, weights: Any, form: Form) -> list[Any]:
        return [reduce(values, axis=(0, 2)) for reduce in (xp.max, xp.min)[: self.n_outputs]]

    def merge_arrays(self, xp: Any, one: Any, two: Any, which: int) -> Any:
        return (xp.minimum if which else xp.maximum)(one, two)


def _over(ufunc: Any, values: Values) -> Values:
    a, _, b, _ = values.shape
    values = ufunc.reduce(values, axis=0) if a > 1 else values[0]
    reduced: Values = ufunc.reduce(values, axis=1) if b > 1 else values[:, 0]
    return reduced


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
    def n_outputs(self) -> int:
        return 1

    @property
    def tail(self) -> tuple[int, ...]:
        return (2 * self.n_bins + 1,)

    def of(self, values: Values, weights: Values, form: Form) -> list[Values]:
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

    def join(self, part: Values, weights: Values, which: int) -> Values:
        weights = weights.astype(part.dtype, copy=False)
        return np.asarray(np.einsum("prqk,r->pqk", part, weights))

    def merge(self, out: Values, part: Values, which: int) -> None:
        out += part

    def start(self, which: int) -> float:
        return 0.0

    def of_arrays(self, xp: Any, values: Any, weights: Any, form: Form) -> list[Any]:
        values = form.value(values, xp) * (self.n_bins / self.half_width)
        weights = weights[:, None, :, None]
        shares = [
            xp.sum(xp.where(values <= k, weights, xp.zeros_like(weights)), axis=(0, 2))
            for k in range(-self.n_bins, self.n_bins + 1)
        ]
        return [xp.stack(shares, axis=-1)]

    def merge_arrays(self, xp: Any, one: Any, two: Any, which: int) -> Any:
        return one + two
