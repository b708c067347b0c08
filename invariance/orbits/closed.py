"""Reductions over a whole group that need no element of it: cost and memory do not depend on it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from .reductions import Reduction
from .way import Problem, Run, Way, largest_norm

Array = NDArray[Any]


class _Closed(Way):
    name = "closed form"

    def prepared_bytes(self, m: int) -> float:
        return 3.0 * self.problem.dtype.itemsize * self.problem.lifted_size * m

    def row_bytes(self, width: int) -> float:
        return self.problem.dtype.itemsize * (3 * self.problem.lifted_size + 4 * width)

    def terms(self, Y: Array, offsets: Array | None) -> Any:
        """What is added for each second point."""
        terms = self.problem.column_terms(Y[None], offsets)
        return self.problem.send(None if terms is None else terms[0])

    def add(self, values: Any, terms: Any, others: Any, rate: float = 1.0) -> None:
        """Add, in place, what is added for each first and for each second point."""
        for extra in (None if terms is None else terms[:, None], others):
            if extra is not None:
                values += rate * extra

    def operations(self, n: int, m: int) -> float:
        return 40.0 * n * m * self.problem.lifted_size


class Exponential(_Closed):
    """Means of exponentials from log E_g exp <a, g b>, as for sign changes."""

    @classmethod
    def offers(cls, problem: Problem) -> Self | None:
        none = np.zeros((2, 0, problem.lifted_size))
        known = problem.plain and problem.folded
        known = known and problem.sets[0].group.log_mean_exponential(*none) is not None
        return cls(problem) if known else None

    def prepare(self, Y: Array, offsets: Array | None, run: Run) -> Iterator[tuple[float, Any]]:
        yield 0.0, (self.problem.send(Y), self.terms(Y, offsets))

    def block(self, X: Any, prepared: Any, terms: Any, reduction: Reduction) -> list[Any]:
        Y, others = prepared
        rate, xp = self.problem.form.rate, self.problem.xp
        exponents = self.problem.sets[0].group.log_mean_exponential(rate * X, Y, xp)
        self.add(exponents, terms, others, rate)
        return [xp.exp(exponents)]


class OwnForm(_Closed):
    """What the base kernel knows of its own mean or largest value: `Kernel.closed_form`."""

    host_only = True

    @classmethod
    def offers(cls, problem: Problem) -> Self | None:
        known = problem.closed is not None and len(problem.sets) == 1 and problem.sets[0].whole
        return cls(problem) if known else None

    def prepare(self, Y: Array, offsets: Array | None, run: Run) -> Iterator[tuple[float, Any]]:
        yield 0.0, Y

    def block(self, X: Array, prepared: Any, terms: Any, reduction: Reduction) -> list[Any]:
        return [self.problem.closed(X, prepared)]


class _Extremes(_Closed):
    """Extremes by a way to the largest inner products; the minimum is that of -z, negated."""

    host_only = True
    #: The group's method, and how many empty sets of points it is asked with.
    asks: tuple[str, int]

    @classmethod
    def offers(cls, problem: Problem) -> Self | None:
        name, n = cls.asks
        none = [np.zeros((0, problem.lifted_size))] * n
        known = problem.plain and problem.reduction.extreme
        known = known and getattr(problem.sets[0].group, name)(*none) is not None
        return cls(problem) if known else None

    def prepare(self, Y: Array, offsets: Array | None, run: Run) -> Iterator[tuple[float, Any]]:
        signs = (1, -1)[: self.problem.reduction.n_outputs]
        moved = [self.problem.send(self.moved(sign * Y)) for sign in signs]
        yield largest_norm(Y), (moved, self.terms(Y, offsets))

    def moved(self, Y: Any, xp: Any = np) -> Any:
        """What `largest` needs of points."""
        return Y

    @abstractmethod
    def largest(self, own: Any, moved: Any) -> Any:
        """max_g <x, g z> for all pairs, shape (n, m)."""

    def block(self, X: Array, prepared: Any, terms: Any, reduction: Reduction) -> list[Any]:
        moved, others = prepared
        own = self.moved(X, self.problem.xp)
        parts = [self.largest(own, points) for points in moved[: reduction.n_outputs]]
        if reduction.n_outputs > 1:
            parts[1] = -parts[1]
        for part in parts:
            self.add(part, terms, others)
        return parts


class Aligned(_Extremes):
    """By representatives, such as sorted vectors: max_g <x, g z> = <aligned(x), aligned(z)>."""

    asks = "aligned", 1
    host_only = False

    @classmethod
    def offers(cls, problem: Problem) -> Self | None:
        return super().offers(problem) if problem.sets[0].group.unitary else None

    def moved(self, Y: Any, xp: Any = np) -> Any:
        return self.problem.sets[0].group.aligned(Y, xp)

    def largest(self, own: Any, moved: Any) -> Any:
        return own @ moved.T

    def operations(self, n: int, m: int) -> float:
        d = self.problem.lifted_size
        return 2.0 * n * m * d * self.problem.reduction.n_outputs + 10.0 * (n + m) * d


class Matched(_Extremes):
    """Over all permutations of blocks: a matching of blocks, pair by pair of points."""

    name = "matching"
    asks = "as_assignment", 0

    def largest(self, own: Any, moved: Any) -> Any:
        return -least_matching(own, -moved, self.problem.sets[0].group.as_assignment() or 1)

    def operations(self, n: int, m: int) -> float:
        k = self.problem.lifted_size // (self.problem.sets[0].group.as_assignment() or 1)
        return self.problem.reduction.n_outputs * matching_operations(n * m, n * m * k * k)


class Superposed(_Extremes):
    """Extremes that the group knows for a pair of points, such as over all rotations."""

    name = "alignment"
    asks = "largest_inner", 2

    def row_bytes(self, width: int) -> float:
        return super().row_bytes(8 * width)  # moments and their singular values

    def largest(self, own: Any, moved: Any) -> Any:
        return np.asarray(self.problem.sets[0].group.largest_inner(own, moved))

    def operations(self, n: int, m: int) -> float:
        # Measured: what singular values of a small matrix cost.
        return self.problem.reduction.n_outputs * n * m * (6.0 * self.problem.lifted_size + 2e5)


def matching_operations(n_pairs: float, n_blocks: float) -> float:
    """Of matchings of n_pairs pairs of points that compare n_blocks pairs of blocks in all.

    Measured, with what a call costs, in operations of a matrix product.
    """
    return 6e5 * n_pairs + 2500.0 * n_blocks


def least_matching(X: Array, Y: Array, block: int, metric: str = "inner") -> Array:
    """Least sums over pairs of blocks, each block of x with one of y, for all pairs of rows.

    Parameters
    ----------
    X, Y : ndarrays of shape (n, k * block), (m, k * block)
    metric : str, of two blocks: "inner", or a metric of scipy's ``cdist``

    >>> least_matching(np.array([[1.0, 2.0]]), np.array([[2.0, 1.5]]), 1, "cityblock")
    array([[0.5]])
    """
    sums = np.empty((len(X), len(Y)), np.result_type(X, Y))
    others = Y.reshape(-1, block)
    k = X.shape[1] // block
    for i, x in enumerate(X.reshape(len(X), k, block)):
        costs = x @ others.T if metric == "inner" else cdist(x, others, metric)
        for j, cost in enumerate(costs.reshape(k, len(Y), k).swapaxes(0, 1)):
            sums[i, j] = cost[linear_sum_assignment(cost)].sum()
    return sums
