"""One infinite part of a composition without its elements, over all elements of the other parts.

If parts a come before it and parts b after it, <x, b g a z> = <b^-1 x, g a z>: templates are
transformed by all a, and points X by the inverses of all b.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import i0e

from ...groups import Transformations
from ...groups.base import ENUMERATION_LIMIT
from ..blocks import Workers, part_of, row_blocks
from ..numerics import largest_norm
from ..plan import Problem, WeightedSet, composed
from ..reductions import Reduction
from ..registry import Prepared, register
from .closed_forms import ClosedForm, add_terms

Array = NDArray[Any]

#: Operations that take as long as the singular values of a small matrix, measured.
_SINGULAR_VALUES = 2e5
#: Operations that take as long as a radius, and as a Bessel function or an arccosine, measured.
_RADIUS = 100.0
_SPECIAL_FUNCTION = 500.0


class Transformed(NamedTuple):
    """Templates transformed by some elements of the parts before the infinite one."""

    templates: Array  #: shape (r, m, d)
    terms: Array | None  #: shape (r, m)
    weights: Array


class OverInfinitePart(ClosedForm):
    """Base class of reductions over an infinite part that the group has a formula for."""

    def __init__(self, problem: Problem):
        super().__init__(problem)
        place = _place_of_infinite(problem)
        assert place is not None
        before = problem.sets[:place]
        self.group = problem.sets[place].group
        self.before = composed(before)
        self.after = problem.sets[place + 1 :]
        #: Number of elements of the parts before and after.
        self.n_listed = int(prod(part.order for part in before + self.after))
        self.n_before = int(prod(part.order for part in before))

    @classmethod
    def applies_to(cls, problem: Problem) -> bool:
        place = _place_of_infinite(problem)
        if place is None:
            return False
        return cls.knows(problem.sets[place].group, problem.lifted_size)

    @classmethod
    @abstractmethod
    def knows(cls, group: Transformations, size: int) -> bool:
        """Whether the group has a formula for points of this size."""

    def prepare(
        self, templates: Array, offsets: Array | None, workers: Workers
    ) -> Iterator[Prepared]:
        if self.before is None:
            terms = self.problem.template_terms(templates[None], offsets)
            yield Prepared(largest_norm(templates), Transformed(templates[None], terms, np.ones(1)))
            return
        elements, weights = self.before.rule
        step = max(1, int(self.problem.block_bytes / 2 // super().prepared_bytes(len(templates))))
        for block in row_blocks(len(elements), 1, step):
            images = self.before.group.act(elements[block], templates)
            images = images.reshape(-1, *templates.shape)
            norm = largest_norm(images.reshape(-1, templates.shape[1]))
            terms = self.problem.template_terms(images, offsets)
            yield Prepared(norm, Transformed(images, terms, weights[block]))

    def compute(
        self, X: Array, prepared: Transformed, row_terms: Array | None, reduction: Reduction
    ) -> list[Array]:
        results: list[Array] = []
        for weight_after, back_X in _transformed_back(X, self.after):
            for i, weight_before in enumerate(prepared.weights):
                terms = part_of(prepared.terms, i)
                weight = weight_after * weight_before
                parts = self.values(
                    back_X, prepared.templates[i], row_terms, terms, reduction, weight
                )
                if not results:
                    results = parts
                    continue
                for k, part in enumerate(parts):
                    results[k] = reduction.merge(results[k], part, k)
        return results

    @abstractmethod
    def values(
        self,
        X: Array,
        templates: Array,
        row_terms: Any,
        template_terms: Any,
        reduction: Reduction,
        weight: float,
    ) -> list[Array]:
        """The reduction over the infinite part for all pairs, times a weight."""

    def prepared_bytes(self, m: int) -> float:
        return self.n_before * super().prepared_bytes(m)

    def pieces(self, m: int) -> int:
        """Templates are transformed by a few elements at a time."""
        bytes_of_one = super().prepared_bytes(1)
        return -(-m // max(1, int(self.problem.block_bytes / 2 // bytes_of_one)))

    def row_bytes(self, width: int) -> float:
        return super().row_bytes(width * (4 + 2 * sum(self.problem.reduction.tail)))


def _place_of_infinite(problem: Problem) -> int | None:
    """The place of the only infinite part, if the problem is linear and over the whole group."""
    if not problem.is_linear or not all(part.is_whole for part in problem.sets):
        return None
    return one_infinite([part.group for part in problem.sets])


def one_infinite(parts: Sequence[Transformations]) -> int | None:
    """Return the place of the only infinite part, if all elements of the other parts can be listed.

    Parts after it have to be undone on the other point: they must be unitary and have inverses.
    """
    places = [i for i, part in enumerate(parts) if part.order == inf]
    if len(places) != 1:
        return None
    place = places[0]
    n_listed = prod(part.order for part in parts if part.order < inf)
    can_be_undone = all(part.unitary and hasattr(part, "inverse") for part in parts[place + 1 :])
    if n_listed > ENUMERATION_LIMIT or not can_be_undone:
        return None
    return place


def _transformed_back(X: Array, parts: list[WeightedSet]) -> Iterator[tuple[float, Array]]:
    """Points transformed back by all elements of the parts, each with its weight."""
    if not parts:
        yield 1.0, X
        return
    elements, weights = parts[-1].rule
    group: Any = parts[-1].group
    for inverse, weight in zip(group.inverse(elements), weights, strict=True):
        images = group.act(inverse[None], X)[0]
        for weight_of_rest, points in _transformed_back(images, parts[:-1]):
            yield float(weight) * weight_of_rest, points


@register
class Superposed(OverInfinitePart):
    """Extremes that the group knows for a pair of points, as over all rotations of space."""

    name = "alignment"

    @classmethod
    def knows(cls, group: Transformations, size: int) -> bool:
        empty = np.zeros((0, size))
        return group.largest_inner(empty, empty) is not None

    @classmethod
    def applies_to(cls, problem: Problem) -> bool:
        return problem.reduction.extreme and super().applies_to(problem)

    def values(
        self,
        X: Array,
        templates: Array,
        row_terms: Any,
        template_terms: Any,
        reduction: Reduction,
        weight: float,
    ) -> list[Array]:
        extremes = [np.asarray(self.group.largest_inner(X, templates))]
        if reduction.n_outputs > 1:
            extremes.append(-np.asarray(self.group.largest_inner(X, -templates)))
        for values in extremes:
            add_terms(values, row_terms, template_terms)
        return extremes

    def operations(self, n: int, m: int) -> float:
        n_pairs = float(n) * m * self.n_listed
        per_pair = 6.0 * self.problem.lifted_size + _SINGULAR_VALUES
        return self.problem.reduction.n_outputs * n_pairs * per_pair

    def row_bytes(self, width: int) -> float:
        return super().row_bytes(4 * width)  # Moments and their singular values.


@register
class Turned(OverInfinitePart):
    """Turns of one frequency: <x, g z> is then a cosine of a uniform angle."""

    def __init__(self, problem: Problem):
        super().__init__(problem)
        if problem.reduction.extreme:
            self.name = Superposed.name

    @classmethod
    def knows(cls, group: Transformations, size: int) -> bool:
        empty = np.zeros((0, size))
        return group.as_turn(empty, empty) is not None

    @classmethod
    def applies_to(cls, problem: Problem) -> bool:
        reduction = problem.reduction
        if not reduction.plain_mean or not problem.folds_rate:
            if not reduction.knows_turns or (problem.outer and not reduction.extreme):
                return False
        return super().applies_to(problem)

    def values(
        self,
        X: Array,
        templates: Array,
        row_terms: Any,
        template_terms: Any,
        reduction: Reduction,
        weight: float,
    ) -> list[Array]:
        fixed, turning = self.group.as_turn(X, templates)
        radius = np.abs(turning)
        if reduction.extreme:
            parts = reduction.of_turns(fixed, radius, weight)
            for part in parts:
                add_terms(part, row_terms, template_terms)
            return [part.astype(X.dtype, copy=False) for part in parts]
        fixed = fixed + np.zeros_like(radius)
        if self.problem.tolerance:
            fixed += row_terms[:, None] * self.problem.row_factors(templates)
            row_terms = None
        add_terms(fixed, row_terms, template_terms)
        if not self.problem.folds_rate:
            parts = reduction.of_turns(fixed, radius, weight)
        else:
            # The mean of exp(r cos t) is I_0(r) = exp(r) i0e(r).
            rate = self.problem.form.rate
            radius *= abs(rate)
            parts = [weight * np.exp(rate * fixed + radius) * i0e(radius)]
        return [part.astype(X.dtype, copy=False) for part in parts]

    def operations(self, n: int, m: int) -> float:
        n_pairs = float(n) * m * self.n_listed
        reduction = self.problem.reduction
        per_value = _RADIUS if reduction.extreme else _SPECIAL_FUNCTION
        n_values = max(1, sum(reduction.tail))
        return n_pairs * (4.0 * self.problem.lifted_size + per_value * n_values)
