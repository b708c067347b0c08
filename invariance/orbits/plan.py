"""`Planner`: describes a reduction (`Problem`), and ranks the algorithms that can do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import detached, namespace
from ..core.parameters import ParameterError
from ..groups import Composition, Transformations
from ..groups.base import ENUMERATION_LIMIT
from .blocks import total
from .form import INNER, Form, form_of
from .numerics import OVERFLOWS, half_norms, largest_entry, row_norms, single_will_do
from .reductions import Reduction
from .registry import Algorithm, algorithms

Array = NDArray[Any]

#: Axes of images (n, height, width, channels), with the channels in front.
_CHANNELS_FIRST = (0, 3, 1, 2)


class WeightedSet:
    """Transformations with some elements and their weights; None takes the group's own rule."""

    def __init__(
        self, group: Transformations, elements: Array | None = None, weights: Array | None = None
    ):
        self.group = group
        self.is_whole = elements is None
        self._elements = elements
        self._weights = weights

    @cached_property
    def rule(self) -> tuple[Array, Array]:
        """Elements, and weights that sum to one."""
        if self._elements is None:
            return self.group.quadrature()
        n_elements = len(self._elements)
        if self._weights is None:
            return self._elements, np.full(n_elements, 1 / n_elements)
        return self._elements, np.asarray(self._weights)

    @cached_property
    def order(self) -> float:
        if self.is_whole:
            return self.group.order
        return len(self.rule[0])


def composed(sets: list[WeightedSet]) -> Any:
    """Return sets that are applied one after another as a single set, or None for no set."""
    if not sets:
        return None
    if len(sets) == 1:
        return sets[0]
    group = sets[0].group
    for later in sets[1:]:
        group = Composition(group, later.group)
    return WeightedSet(group)


@dataclass(eq=False)
class Problem:
    """The reduction of a kernel's values over the orbits of templates, for points of any number.

    Points X meet transformed templates: k(x, g z). X is not transformed.
    """

    #: Parts of the group with their elements, those applied first in front.
    sets: list[WeightedSet]
    #: The kernel as a function of inner products. If it is None, ``evaluate(X, Z)`` is the kernel.
    form: Any
    evaluate: Any
    #: The reduction; another one with the same key is computed in the same way.
    reduction: Reduction
    #: Shape of a point: (height, width, channels), or (1, d, 1).
    shape: tuple[int, int, int]
    #: Type of the inner products.
    dtype: np.dtype[Any]
    block_bytes: int
    _: KW_ONLY
    #: Whether a number for each point of X is added to its inner products: minus half its squared
    #: norm, or an offset.
    adds_row_terms: bool = False
    #: ``closed(X, Z)`` is the whole reduction, if the base kernel knows it.
    closed: Any = None
    #: Whether squared distances are computed from differences.
    by_differences: bool = False

    @cached_property
    def order(self) -> float:
        """Number of elements."""
        return prod(part.order for part in self.sets)

    @cached_property
    def is_linear(self) -> bool:
        """Whether the inner products are those of the points themselves."""
        return self.form is not None and self.form.linear

    @property
    def whole_group(self) -> Any:
        """The group, if the reduction is over all of it and it has a single part, else None."""
        if len(self.sets) == 1 and self.sets[0].is_whole:
            return self.sets[0].group
        return None

    @cached_property
    def folds_rate(self) -> bool:
        """Whether templates are multiplied by the rate, so that products are exponents."""
        return bool(self.is_linear and self.reduction.takes_exponents(self.form))

    @cached_property
    def outer(self) -> Any:
        """Function of the values that an algorithm computes; None is the identity."""
        if self.folds_rate:
            return _exponential
        return self.kernel_outer

    @property
    def kernel_outer(self) -> Any:
        """The kernel as a function of inner products; None is the identity."""
        if self.form is None:
            return None
        return self.form.outer

    @cached_property
    def n_channels(self) -> int:
        """Number of channels of lifted points."""
        if self.form is None or self.form.n_channels is None:
            return self.shape[2]
        return int(self.form.n_channels)

    @cached_property
    def lifted_size(self) -> int:
        return self.n_channels * self.shape[0] * self.shape[1]

    @cached_property
    def tolerance(self) -> float:
        """Share of both norms that is subtracted from inner products, since rounding matters."""
        form = self.form
        if not self.is_linear or form.outer is not None or form.distance or self.adds_row_terms:
            return 0.0
        return self.reduction.tolerance(self.lifted_size, self.dtype)

    @property
    def has_halves(self) -> bool:
        """Whether half of both squared norms is subtracted from inner products."""
        return self.form is not None and self.form.distance

    @property
    def has_row_terms(self) -> bool:
        return self.adds_row_terms or self.tolerance > 0

    def lift_points(self, X: Array) -> Array:
        """Lifted points of shape (n, channels, height, width)."""
        images = X.reshape(len(X), *self.shape)
        if self.form.first is None:
            return images.transpose(_CHANNELS_FIRST)
        lifted: Array = self.form.first(images)
        return lifted

    def lift_templates(self, Z: Array) -> Array:
        return self.lift_images(Z.reshape(len(Z), *self.shape))

    def lift_images(self, images: Array) -> Array:
        """Lifted templates of shape (n, channels, height, width), from images of any size."""
        if self.form.second is None:
            return images.transpose(_CHANNELS_FIRST)
        lifted: Array = self.form.second(images)
        return lifted

    def row_terms(self, X: Array, offsets: Array | None) -> Any:
        """Terms for points X of shape (n,), which meet `row_factors`."""
        terms = None
        if self.tolerance:
            terms = -row_norms(X)
        elif self.has_halves and not self.reduction.extreme:
            terms = -half_norms(X)
        if offsets is not None:
            offsets = offsets[: len(X)].astype(self.dtype, copy=False)
        return total(terms, offsets)

    def row_factors(self, transformed: Array) -> Array | None:
        """Factors of the row terms for transformed templates (r, d), shape (r,), if there are any.

        They are scaled by `scaled`, together with the templates.
        """
        if not self.has_row_terms:
            return None
        if self.tolerance:
            return np.asarray(self.tolerance * row_norms(transformed), dtype=transformed.dtype)
        return np.ones(len(transformed), transformed.dtype)

    def template_terms(self, transformed: Array, offsets: Array | None) -> Any:
        """Terms added to inner products with transformed templates (r, m, d), shape (r, m)."""
        shape = transformed.shape[:2]
        terms = None
        if self.has_halves:
            rows = transformed.reshape(-1, transformed.shape[2])
            terms = -half_norms(rows).reshape(shape)
        if offsets is not None:
            offsets = np.broadcast_to(offsets.astype(self.dtype), shape)
        return total(terms, offsets)

    def scaled(self, values: Any, *, in_place: bool = False) -> Any:
        """Multiply prepared values by the rate if products are to be exponents."""
        if not self.folds_rate or values is None:
            return values
        rate = values.dtype.type(self.form.rate)
        if not in_place:
            return values * rate
        values *= rate
        return values


def _exponential(values: Any, xp: Any) -> Any:
    return np.exp(values, out=values)


@dataclass(frozen=True)
class Outline:
    """The part of a problem that depends on no value of the points."""

    form: Form | None
    shape: tuple[int, int, int]

    @cached_property
    def may_cancel(self) -> bool:
        """Whether distances come from inner products of the points, which may lose digits."""
        return self.form is not None and self.form.distance and self.form.linear


@dataclass(frozen=True)
class Plan:
    """A problem, and the algorithms that solve it."""

    problem: Problem
    algorithms: list[Algorithm]

    def least_cost(self, n: int, m: int) -> float:
        """Return the cost of the cheapest algorithm for n points and m templates."""
        return min(algorithm.cost(n, m) for algorithm in self.algorithms)

    def ranked(self, X: Array, n_templates: int, *, skip_blank: bool) -> list[Algorithm]:
        """Return the algorithms for points X, the cheapest first.

        With ``skip_blank``, features in which all points X are zero are left out.
        """
        candidates = self.algorithms
        if skip_blank and self.problem.form is not None:
            support = (X.max(axis=0) > 0) | (X.min(axis=0) < 0)
            if not support.all():
                candidates = [algorithm.for_support(support, len(X)) for algorithm in candidates]
        return sorted(candidates, key=lambda algorithm: algorithm.cost(len(X), n_templates))


@dataclass(eq=False)
class Planner:
    """Makes plans for a base kernel over a group.

    It remembers each `Outline` and `Plan` between calls, under everything that they depend on
    besides the planner's own fields, which never change. No entry depends on values of points, so
    that the result of a call does not depend on earlier calls.
    """

    group: Transformations
    base: Any
    owner: str
    elements: Array | None
    weights: Array | None
    method: str
    precision: str
    #: Whether offsets are added to the inner products with points X.
    has_row_offsets: bool
    #: The algorithms that are considered; None takes all that are registered.
    considered: Sequence[type[Algorithm]] | None = None
    _outlines: dict[Any, Outline] = field(default_factory=dict)
    _plans: dict[Any, Plan] = field(default_factory=dict)
    #: The elements as maps of other libraries' arrays (`ways.tensor_action`).
    maps: dict[Any, Any] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_outlines": {}, "_plans": {}, "maps": {}}

    def outline(self, n_features: int, reduction: Reduction) -> Outline:
        """Return the form of the base kernel, and the shape of the points."""
        key = (n_features, reduction.extreme)
        if key not in self._outlines:
            shape = image_shape(self.group, self.base, n_features)
            self._outlines[key] = Outline(self._form(shape, reduction), shape)
        return self._outlines[key]

    def plan(
        self,
        n_features: int,
        template_size: int,
        dtype: np.dtype[Any],
        reduction: Reduction,
        block_bytes: int,
    ) -> Plan:
        """Return the problem for points of this size and type, and the algorithms for it."""
        key = (n_features, reduction.key, dtype, block_bytes)
        if key not in self._plans:
            outline = self.outline(n_features, reduction)
            self._check_width(n_features, template_size)
            problem = self._problem(outline, reduction, dtype, block_bytes)
            self._plans[key] = Plan(problem, self._candidates(problem))
        return self._plans[key]

    def _form(self, shape: tuple[int, int, int], reduction: Reduction) -> Form | None:
        if self.base is None:
            return INNER
        if self.method == "definition":
            return None
        form = form_of(self.base, shape)
        if form is None or (reduction.extreme and not form.monotone):
            return None
        if self.method == "differences":
            return replace(form, distance=False, rate=None)
        return form

    def dtype(self, X: Any, templates: Any, reduction: Reduction) -> np.dtype[Any]:
        """Type of the inner products: float32 if requested, or if the points are and it is enough.

        Points may be arrays of any library. Distances that overflow are refused here, since inner
        products may not show it.
        """
        form = self.outline(X.shape[1], reduction).form
        sets = (detached(X), detached(templates))
        single = all(points.dtype == namespace(points).float32 for points in sets)
        if form is not None and form.distance:
            largest = max(largest_entry(points) for points in sets)
            if largest > OVERFLOWS:
                raise ValueError(
                    f"{self.owner}: the largest absolute feature of the points is {largest:g}, "
                    "and squared distances overflow: scale the points down"
                )
            if single and self.precision != "single":
                half_norm = max(_largest_half_norm(points) for points in sets)
                single = single_will_do(form, half_norm)
        if self.method == "differences":
            return np.dtype(np.float64)
        if single or self.precision == "single":
            return np.dtype(np.float32)
        return np.dtype(np.float64)

    def _check_width(self, n_features: int, template_size: int) -> None:
        """Refuse a group that maps templates to another length than that of X."""
        if self.group.keeps_shape:
            return
        elements = self.elements
        if elements is None:
            elements = self.group.sample(1, 0)
        elements = elements[:1]
        width = self.group.act(elements, np.zeros((1, template_size))).size
        if width != n_features:
            raise ParameterError(
                f"{self.owner}: {self.group!r} makes {width} numbers of {template_size}, and "
                f"points of {n_features} meet them untransformed: take maps to {n_features} "
                "numbers, or Average (side='both') or OrbitFourier (side='first'), which compare "
                "transformed points alone"
            )

    def _problem(
        self, outline: Outline, reduction: Reduction, dtype: np.dtype[Any], block_bytes: int
    ) -> Problem:
        form = outline.form
        evaluate = None
        if form is None:
            evaluate = getattr(self.base, "_gram", self.base)
        sets = [WeightedSet(self.group, self.elements, self.weights)]
        if self.elements is None:
            sets = [WeightedSet(part) for part in self.group.chain()]
        adds_halves = form is not None and form.distance and not reduction.extreme
        return Problem(
            sets=sets,
            form=form,
            evaluate=evaluate,
            reduction=reduction.to_follow(form),
            shape=outline.shape,
            dtype=dtype,
            block_bytes=block_bytes,
            adds_row_terms=adds_halves or self.has_row_offsets,
            closed=self._closed_form(reduction),
            by_differences=self.method == "differences",
        )

    def _candidates(self, problem: Problem) -> list[Algorithm]:
        """Return the algorithms that apply; for an infinite group those without nodes, if any."""
        considered = algorithms() if self.considered is None else self.considered
        candidates = []
        for algorithm in considered:
            if algorithm.by_differences == problem.by_differences and algorithm.applies_to(problem):
                candidates.append(algorithm(problem))
        if problem.order < inf:
            return candidates
        exact = [algorithm for algorithm in candidates if not algorithm.by_elements]
        return exact or candidates

    def _closed_form(self, reduction: Reduction) -> Any:
        """The base kernel's own mean or largest value over the whole group, if it has one."""
        if self.elements is not None or self.method == "definition":
            return None
        if not reduction.plain_mean and not reduction.plain_maximum:
            return None
        if not hasattr(self.base, "closed_form"):
            return None
        return self.base.closed_form(self.group, reduction.extreme)


def can_list(group: Transformations, elements: Array | None) -> bool:
    """Whether every element can be applied."""
    return elements is not None or group.order <= ENUMERATION_LIMIT


def _largest_half_norm(points: Any) -> float:
    return float(namespace(points).max(half_norms(points)))


def image_shape(group: Transformations | None, base: Any, d: int) -> tuple[int, int, int]:
    """Return (height, width, channels) of points; plain vectors are images of height one.

    Raises a ValueError if base kernel and group see points of different shapes.
    """
    base_shape = getattr(base, "point_shape", None)
    if base_shape is None:
        grid = None
        if group is not None:
            grid = group.grid_shape
        if grid is None or prod(grid) != d:
            return 1, d, 1
        return grid
    height, width, n_channels = base_shape
    if group is not None and group.shape is not None:
        accepted = [(1, prod(base_shape)), (prod(base_shape),), tuple(base_shape)]
        if n_channels == 1:
            accepted.append((height, width))
        if tuple(group.shape) not in accepted:
            raise ValueError(
                f"{base!r} sees points {accepted[-1]}, {group!r} {group.shape}: they must agree"
            )
    return height, width, n_channels


class Trivial(Transformations):
    """The identity alone, on vectors of any length."""

    order = 1

    def elements(self) -> Array:
        return np.zeros((1, 0))

    def sample(self, n_samples: int, random_state: Any = None) -> Array:
        return np.zeros((n_samples, 0))

    def act(self, elements: Any, X: Any) -> Array:
        return np.broadcast_to(X, (len(elements), *X.shape))  # The points may be of any type.

    _act = act
