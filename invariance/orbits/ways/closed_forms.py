"""Reductions over a whole group without its elements: the cost does not depend on its order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import Workers, part_of
from ..matching import least_matching, matching_operations
from ..numerics import largest_norm
from ..plan import Problem
from ..reductions import Reduction
from ..registry import Algorithm, Prepared, register

Array = NDArray[Any]

#: Operations for each feature of a pair, measured.
_OPERATIONS = 40.0
#: Operations of sorting, and the like, for each feature of a point.
_ALIGNING = 10.0


class ClosedForm(Algorithm):
    """Base class of the algorithms without elements."""

    name = "closed form"
    by_elements = False

    def operations(self, n: int, m: int) -> float:
        return _OPERATIONS * n * m * self.problem.lifted_size

    def prepared_bytes(self, m: int) -> float:
        return 3.0 * self.problem.dtype.itemsize * self.problem.lifted_size * m

    def row_bytes(self, width: int) -> float:
        return self.problem.dtype.itemsize * (3 * self.problem.lifted_size + 4 * width)

    def terms(self, templates: Array, offsets: Array | None) -> Any:
        """Terms added to the inner products with each template, shape (m,)."""
        return part_of(self.problem.template_terms(templates[None], offsets), 0)


def add_terms(
    values: Array, row_terms: Array | None, template_terms: Array | None, rate: float = 1.0
) -> None:
    """Add terms of points and of templates, times a rate, to values (n, m) in place."""
    if row_terms is not None:
        values += rate * row_terms[:, None]
    if template_terms is not None:
        values += rate * template_terms


@register
class MeanExponential(ClosedForm):
    """Means of exponentials from the group's log E_g exp <a, g b>, as for sign changes."""

    @classmethod
    def applies_to(cls, problem: Problem) -> bool:
        group = problem.whole_group
        if group is None or not problem.folds_rate or not problem.reduction.plain_mean:
            return False
        empty = np.zeros((0, problem.lifted_size))
        return group.log_mean_exponential(empty, empty) is not None

    def prepare(
        self, templates: Array, offsets: Array | None, workers: Workers
    ) -> Iterator[Prepared]:
        yield Prepared(0.0, (templates, self.terms(templates, offsets)))

    def compute(
        self, X: Array, prepared: Any, row_terms: Array | None, reduction: Reduction
    ) -> list[Array]:
        templates, template_terms = prepared
        rate = self.problem.form.rate
        exponents = self.problem.whole_group.log_mean_exponential(rate * X, templates)
        add_terms(exponents, row_terms, template_terms, rate)
        return [np.exp(exponents)]


@register
class KernelClosedForm(ClosedForm):
    """The base kernel's own formula for its mean or largest value: `Kernel.closed_form`."""

    @classmethod
    def applies_to(cls, problem: Problem) -> bool:
        return problem.closed is not None and problem.whole_group is not None

    def prepare(
        self, templates: Array, offsets: Array | None, workers: Workers
    ) -> Iterator[Prepared]:
        yield Prepared(0.0, templates)

    def compute(
        self, X: Array, prepared: Any, row_terms: Array | None, reduction: Reduction
    ) -> list[Array]:
        return [self.problem.closed(X, prepared)]


class LargestProducts(ClosedForm):
    """Base class: extremes from the largest inner products, those of -z for the smallest ones."""

    def prepare(
        self, templates: Array, offsets: Array | None, workers: Workers
    ) -> Iterator[Prepared]:
        prepared = [self.representatives(templates)]
        if self.problem.reduction.n_outputs > 1:
            prepared.append(self.representatives(-templates))
        terms = self.terms(templates, offsets)
        yield Prepared(largest_norm(templates), (prepared, terms))

    def representatives(self, points: Array) -> Array:
        """Return points as `largest` needs them."""
        return points

    @abstractmethod
    def largest(self, X: Array, templates: Array) -> Array:
        """max_g <x, g z> for all pairs, shape (n, m)."""

    def compute(
        self, X: Array, prepared: Any, row_terms: Array | None, reduction: Reduction
    ) -> list[Array]:
        templates, template_terms = prepared
        X = self.representatives(X)
        extremes = [self.largest(X, templates[0])]
        if reduction.n_outputs > 1:
            extremes.append(-self.largest(X, templates[1]))
        for values in extremes:
            add_terms(values, row_terms, template_terms)
        return extremes


@register
class Aligned(LargestProducts):
    """Representatives of orbits, as sorted vectors: max_g <x, g z> = <aligned(x), aligned(z)>."""

    @classmethod
    def applies_to(cls, problem: Problem) -> bool:
        group = problem.whole_group
        if group is None or not problem.is_linear or not problem.reduction.extreme:
            return False
        return group.unitary and group.aligned(np.zeros((0, problem.lifted_size))) is not None

    def representatives(self, points: Array) -> Array:
        return np.asarray(self.problem.whole_group.aligned(points))

    def largest(self, X: Array, templates: Array) -> Array:
        return np.asarray(X @ templates.T)

    def operations(self, n: int, m: int) -> float:
        d = self.problem.lifted_size
        return 2.0 * n * m * d * self.problem.reduction.n_outputs + _ALIGNING * (n + m) * d


@register
class Matched(LargestProducts):
    """All permutations of blocks: a matching of blocks for each pair of points."""

    name = "matching"
    #: Matchings take longer than a call for a piece of templates.
    triangle_pieces = 24
    triangle_width = 1

    @classmethod
    def applies_to(cls, problem: Problem) -> bool:
        group = problem.whole_group
        if group is None or not problem.is_linear or not problem.reduction.extreme:
            return False
        return group.as_assignment() is not None

    def largest(self, X: Array, templates: Array) -> Array:
        return -least_matching(X, -templates, self.problem.whole_group.as_assignment())

    def operations(self, n: int, m: int) -> float:
        k = self.problem.lifted_size // self.problem.whole_group.as_assignment()
        return self.problem.reduction.n_outputs * matching_operations(n * m, n * m * k * k)
