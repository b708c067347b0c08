"""Reductions over a whole group that need no element of it: cost and memory do not depend on it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from math import inf, prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.special import i0e

from ..groups import Transformations
from ..groups.base import ENUMERATION_LIMIT
from .reductions import Reduction
from .way import Problem, Run, Way, WeightedSet, largest_norm, row_blocks, together

Array = NDArray[Any]


class _Closed(Way):
    name = "closed form"
    by_elements = False

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


class _OverOne(_Closed):
    """One infinite part of a composition without its elements, over all elements of the others.

    For parts a before it and b after it, <x, b g a z> = <b^-1 x, g a z>: second points are moved by
    all a, first points by the inverses of all b.
    """

    host_only = True

    def __init__(
        self,
        problem: Problem,
        before: list[WeightedSet],
        group: Transformations,
        after: list[WeightedSet],
    ):
        super().__init__(problem)
        self.before = together(before)
        self.group = group
        self.after = after
        self.n_before = 1 if self.before is None else int(prod(part.order for part in before))
        self.n_after = int(prod(part.order for part in after))

    @classmethod
    def knows(cls, group: Transformations, size: int) -> bool:
        """Whether the group has what this way needs, for points of a size."""
        raise NotImplementedError

    @classmethod
    def offers(cls, problem: Problem) -> Self | None:
        split = None
        if problem.linear and all(part.whole for part in problem.sets):
            split = one_infinite([part.group for part in problem.sets])
        if split is None or not cls.knows(problem.sets[split].group, problem.lifted_size):
            return None
        before, after = problem.sets[:split], problem.sets[split + 1 :]
        return cls(problem, before, problem.sets[split].group, after)

    def _bytes(self, m: int) -> float:
        """Bytes of m second points, moved by one element."""
        return 3.0 * self.problem.dtype.itemsize * self.problem.lifted_size * m

    def prepared_bytes(self, m: int) -> float:
        return self.n_before * self._bytes(m)

    def pieces(self, m: int) -> int:
        return -(-m // max(1, int(self.problem.block_bytes / 2 // self._bytes(1))))

    def row_bytes(self, width: int) -> float:
        return super().row_bytes(width * (4 + 2 * sum(self.problem.reduction.tail)))

    def prepare(self, Y: Array, offsets: Array | None, run: Run) -> Iterator[tuple[float, Any]]:
        if self.before is None:
            yield largest_norm(Y), (Y[None], self.problem.column_terms(Y[None], offsets), [1.0])
            return
        elements, weights = self.before.rule
        step = max(1, int(self.problem.block_bytes / 2 // self._bytes(len(Y))))
        for chosen in row_blocks(len(elements), 1, step):
            moved = self.before.group.act(elements[chosen], Y).reshape(-1, *Y.shape)
            terms = self.problem.column_terms(moved, offsets)
            norm = largest_norm(moved.reshape(-1, Y.shape[1]))
            yield norm, (moved, terms, weights[chosen])

    def _moved_back(self, X: Array, after: list[WeightedSet]) -> Iterator[tuple[float, Array]]:
        """First points moved back by all elements of the parts after, each with its weight."""
        if not after:
            yield 1.0, X
            return
        elements, weights = after[-1].rule
        group: Any = after[-1].group
        for element, weight in zip(group.inverse(elements), weights, strict=True):
            moved = group.act(element[None], X)[0]
            for share, points in self._moved_back(moved, after[:-1]):
                yield float(weight) * share, points

    def block(self, X: Any, prepared: Any, terms: Any, reduction: Reduction) -> list[Any]:
        moved, others, weights = prepared
        results: list[Any] = []
        for share, own in self._moved_back(X, self.after):
            for i, (points, weight) in enumerate(zip(moved, weights, strict=True)):
                extra = None if others is None else others[i]
                parts = self.values(own, points, (terms, extra), reduction, share * weight)
                if results:
                    pairs = enumerate(zip(results, parts, strict=True))
                    parts = [reduction.merge(out, part, i) for i, (out, part) in pairs]
                results = parts
        return results

    @abstractmethod
    def values(
        self, X: Array, Y: Array, terms: Any, reduction: Reduction, weight: float
    ) -> list[Any]:
        """The reduction over the infinite part, with a weight, for all pairs.

        ``terms`` are added to the inner products with each first, and with each second point.
        """


class Superposed(_OverOne):
    """Extremes that the group knows for a pair of points, such as over all rotations."""

    name = "alignment"

    @classmethod
    def knows(cls, group: Transformations, size: int) -> bool:
        none = np.zeros((0, size))
        return group.largest_inner(none, none) is not None

    @classmethod
    def offers(cls, problem: Problem) -> Self | None:
        return super().offers(problem) if problem.reduction.extreme else None

    def row_bytes(self, width: int) -> float:
        return super().row_bytes(4 * width)  # moments and their singular values

    def values(
        self, X: Array, Y: Array, terms: Any, reduction: Reduction, weight: float
    ) -> list[Any]:
        parts = [np.asarray(self.group.largest_inner(X, Y))]
        if reduction.n_outputs > 1:
            parts.append(-np.asarray(self.group.largest_inner(X, -Y)))
        for part in parts:
            self.add(part, *terms)
        return parts

    def operations(self, n: int, m: int) -> float:
        # Measured: what singular values of a small matrix cost.
        pairs = float(n) * m * self.n_before * self.n_after
        return self.problem.reduction.n_outputs * pairs * (6.0 * self.problem.lifted_size + 2e5)


class Turned(_OverOne):
    """Reductions over turns of one frequency: <x, g z> is then a cosine of a uniform angle."""

    def __init__(self, problem: Problem, *parts: Any):
        super().__init__(problem, *parts)
        if problem.reduction.extreme:
            self.name = Superposed.name

    @classmethod
    def knows(cls, group: Transformations, size: int) -> bool:
        none = np.zeros((0, size))
        return group.as_turn(none, none) is not None

    @classmethod
    def offers(cls, problem: Problem) -> Self | None:
        reduction = problem.reduction
        known = problem.folded or (
            reduction.knows_turns and (reduction.extreme or not problem.outer)
        )
        return super().offers(problem) if known else None

    def values(
        self, X: Array, Y: Array, terms: Any, reduction: Reduction, weight: float
    ) -> list[Any]:
        turn = self.group.as_turn(X, Y)
        assert turn is not None
        fixed = turn[0]
        radius = np.abs(turn[1])
        if reduction.extreme:  # what is added to all products is added to the extreme ones
            parts = reduction.of_turns(fixed, radius, weight)
            for part in parts:
                self.add(part, *terms)
            return [part.astype(X.dtype, copy=False) for part in parts]
        fixed = fixed + np.zeros_like(radius) if np.ndim(fixed) == 0 else fixed
        of_first, of_second = terms
        if self.problem.tolerance:  # of a pair it is relative to the norms of both
            fixed += of_first[:, None] * self.problem.row_factors(Y)
            of_first = None
        self.add(fixed, of_first, of_second)
        if not self.problem.folded:
            parts = reduction.of_turns(fixed, radius, weight)
        else:  # the mean of exp(r cos t) is I_0(r) = exp(r) i0e(r)
            rate = self.problem.form.rate
            radius *= abs(rate)
            parts = [weight * np.exp(rate * fixed + radius) * i0e(radius)]
        return [part.astype(X.dtype, copy=False) for part in parts]

    def operations(self, n: int, m: int) -> float:
        # Measured: Bessel functions, and an arccosine for each threshold.
        pairs = float(n) * m * self.n_before * self.n_after
        each = 100.0 if self.problem.reduction.extreme else 500.0
        return pairs * (
            4.0 * self.problem.lifted_size + each * max(1, sum(self.problem.reduction.tail))
        )


def one_infinite(parts: Sequence[Transformations]) -> int | None:
    """The place of the only infinite one of some parts, if the others can be gone through.

    Those after it (later in the list) have to be undone on the other point: unitary, and with
    inverses.
    """
    places = [i for i, part in enumerate(parts) if part.order == inf]
    if len(places) != 1:
        return None
    (place,) = places
    listed = prod(part.order for part in parts if part.order < inf) <= ENUMERATION_LIMIT
    undone = all(part.unitary and hasattr(part, "inverse") for part in parts[place + 1 :])
    return place if listed and undone else None


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
