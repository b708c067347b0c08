"""`Arrays`: arrays of PyTorch and other libraries, and gradients with respect to them.

Templates are transformed by NumPy on the host, unless gradients with respect to them are needed:
then their library applies the elements (`Maps`). Arrays that NumPy can read and that need no
gradient are reduced by NumPy altogether. Products with other arrays are computed in their own
library and on their device, and gradients pass through both arguments: for an extreme, at the
element that attains it, as in max pooling. Nothing else in `orbits` computes with arrays of other
libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import (
    detached,
    is_foreign,
    like,
    namespace,
    numpy_only,
    on_cpu,
    on_host,
    wants_gradient,
)
from ...core.config import block_bytes_of
from ...groups.base import ENUMERATION_LIMIT
from ..blocks import part_of, row_blocks, total
from ..far import far_pairs
from ..form import array_gram
from ..numerics import centred, half_norms, half_squares
from ..orbit_products import OrbitProducts
from ..plan import Problem, composed
from ..product import Product
from ..reductions import Reduction
from ..registry import Algorithm, register_for_arrays
from .best_elements import best_elements, can_align
from .closed_forms import Aligned, MeanExponential
from .tensor_action import Maps

Array = NDArray[Any]

#: Operations of a GPU while the host does one, measured with sixteen cores.
_GPU_SPEED = 100.0
#: Copies of templates, and of values, that are in memory at the same time.
_COPIES_OF_TEMPLATES = 3
_COPIES_OF_VALUES = 4


class SentTemplates(NamedTuple):
    """Transformed templates in the library and on the device of the points."""

    columns: slice  #: the templates
    rows: Any  #: shape (r m, d), one element after the other
    terms: Any  #: added to the inner products, shape (r m,), or None
    factors: Any  #: factors of the terms of the points, shape (r m,), or None
    weights: Any  #: of the elements, shape (r,)


@register_for_arrays
class Arrays:
    """Reductions for arrays of other libraries."""

    def reduce(self, orbits: OrbitProducts, X: Any, reduction: Reduction) -> list[Any]:
        """Return ``orbits.reduce(X, reduction)`` for an array of another library."""
        task = _Task.of(orbits, X, reduction)
        if task.is_for_numpy:
            results = _numpy_orbits(orbits).reduce(on_host(X, orbits.owner), reduction)
            return [like(result, X) for result in results]
        results = task.results()
        if orbits.side == "first":
            axes = (1, 0, *range(2, results[0].ndim))
            results = [task.xp.permute_dims(result, axes) for result in results]
        return [task.xp.astype(result, X.dtype) for result in results]

    def is_exact(self, orbits: OrbitProducts, X: Any, reduction: Reduction) -> bool:
        """Whether no elements of an infinite group are needed."""
        task = _Task.of(orbits, X, reduction)
        if task.is_for_numpy:
            points = on_host(detached(X), orbits.owner)
            return _numpy_orbits(orbits).is_exact(points, reduction)
        if task.compute is _Task.extremes_at_best_elements:
            return True
        return not task.algorithm.by_elements


def _numpy_orbits(orbits: OrbitProducts) -> OrbitProducts:
    """The same orbits with templates for NumPy."""
    if not is_foreign(orbits.Z):
        return orbits
    return orbits.at(on_host(detached(orbits.Z), orbits.owner))


@dataclass
class _Task:
    """A reduction for points of another library, which are not transformed, and templates."""

    orbits: OrbitProducts
    reduction: Reduction
    points: Any
    templates: Array
    #: The templates in their library, if gradients with respect to them are needed.
    variable_templates: Any
    problem: Problem
    #: The algorithm whose operations are done in the library, and the method that does them.
    algorithm: Algorithm
    compute: Callable[[_Task], list[Any]]
    is_for_numpy: bool

    @classmethod
    def of(cls, orbits: OrbitProducts, X: Any, reduction: Reduction) -> _Task:
        points, templates = orbits.roles(X, reduction)
        if not is_foreign(points):
            points = like(points, X)
        variable_templates = None
        if is_foreign(templates):
            if wants_gradient(templates):
                variable_templates = templates
            templates = on_host(detached(templates), orbits.owner)
        needs_gradient = variable_templates is not None or wants_gradient(points)
        if needs_gradient:
            orbits = _differentiable(orbits, points.shape[1], reduction)
        _check_base(orbits, points, templates, reduction)
        is_single = points.dtype == namespace(points).float32
        same_type = templates.astype(np.float32 if is_single else np.float64, copy=False)
        dtype = orbits.planner.dtype(points, same_type, reduction)
        bound = block_bytes_of(orbits.block_bytes)
        plan = orbits.planner.plan(points.shape[1], templates.shape[1], dtype, reduction, bound)
        algorithm, compute = _algorithm_for_arrays(plan.problem)
        if needs_gradient and _needs_best_elements(orbits, plan.problem, algorithm):
            compute = _Task.extremes_at_best_elements
        task = cls(
            orbits=orbits,
            reduction=reduction,
            points=points,
            templates=templates,
            variable_templates=variable_templates,
            problem=plan.problem,
            algorithm=algorithm,
            compute=compute,
            is_for_numpy=False,
        )
        task.is_for_numpy = task.is_better_by_numpy(plan.algorithms)
        return task

    def is_better_by_numpy(self, candidates: list[Algorithm]) -> bool:
        """Whether NumPy can do it as well and faster, or the library cannot do it."""
        n = self.points.shape[0]
        m = len(self.templates)
        if self.compute is _Task.extremes_at_best_elements:
            return False
        if not _is_possible(self.problem, candidates, self.algorithm):
            return True
        if self.variable_templates is not None or wants_gradient(self.points):
            return False
        fastest = min(candidates, key=lambda candidate: candidate.cost(n, m))
        if self.problem.form is None:  # The kernel refuses arrays that it cannot evaluate.
            return not fastest.by_elements
        if on_cpu(self.points):
            return True
        return _GPU_SPEED * fastest.cost(n, m) < self.algorithm.cost(n, m)

    @property
    def xp(self) -> Any:
        return namespace(self.points)

    def results(self) -> list[Any]:
        """Results for (points, templates) in the library."""
        exact = self._place()
        if exact is not None:
            return Arrays().reduce(*exact, self.reduction)
        xp = self.xp
        dtype = xp.float32 if self.problem.dtype == np.float32 else xp.float64
        self.points = xp.astype(self.points, dtype)
        if self.variable_templates is not None:
            self.variable_templates = xp.astype(self.variable_templates, dtype)
        results = self.compute(self)
        return self._finished(results) if self.reduction.extreme else results

    def _place(self) -> tuple[OrbitProducts, Any] | None:
        """Subtract a centre; return exact orbits and points if that is not enough."""
        form = self.problem.form
        if not self.problem.is_linear or not self.problem.has_halves:
            return None
        pair = centred(form, self.orbits.group, self.points, self.templates)
        if pair is None:
            return None
        if self.variable_templates is not None:
            group = self.orbits.group
            same_centre: Any = centred(form, group, self.variable_templates, self.templates)
            self.variable_templates = same_centre[0]
        self.points, self.templates = pair
        points = on_host(detached(self.points), self.orbits.owner)
        far = far_pairs(self.orbits, form, points, self.templates, self.reduction)
        if far is None:
            return None
        exact = far.exact
        templates = self.variable_templates
        if templates is not None:
            if far.aligned is not None:
                templates = far.aligned(templates, self.xp)
            exact = exact.at(templates)
        if far.aligned is None:
            return exact, self.points
        return exact, far.aligned(self.points, self.xp)

    # Products.

    def products(self) -> list[Any]:
        """Reduce products with all transformed templates, block by block."""
        xp = self.xp
        reduction = self.reduction.to_follow(self.problem.form)
        row_terms = self._row_terms()
        by_columns: dict[int, list[Any]] = {}
        for sent in self._sent_templates():
            parts = self._products_with(sent, row_terms, reduction)
            start = sent.columns.start
            if start in by_columns:
                parts = reduction.merge_arrays(by_columns[start], parts, xp)
            by_columns[start] = parts
        pieces = by_columns.values()
        return [_joined(xp, piece, axis=1) for piece in zip(*pieces, strict=True)]

    def _products_with(
        self, sent: SentTemplates, row_terms: Any, reduction: Reduction
    ) -> list[Any]:
        """Reduce products with some transformed templates, for some points at a time."""
        xp = self.xp
        outer = self.problem.kernel_outer
        n = self.points.shape[0]
        n_elements = sent.weights.shape[0]
        bytes_per_row = _COPIES_OF_VALUES * self.problem.dtype.itemsize * sent.rows.shape[0]
        blocks = []
        for rows in row_blocks(n, bytes_per_row, self.problem.block_bytes / 2):
            values = self._values(self.points[rows, :], sent.rows)
            if sent.terms is not None:
                values = values + sent.terms[None, :]
            if row_terms is not None:
                values = values + row_terms[rows][:, None] * sent.factors[None, :]
            values = xp.reshape(values, (values.shape[0], n_elements, -1))
            blocks.append(reduction.of_arrays(values, sent.weights, outer, xp))
        return [_joined(xp, parts, axis=0) for parts in zip(*blocks, strict=True)]

    def _values(self, points: Any, rows: Any) -> Any:
        if self.problem.form is None:
            gram: Any = array_gram(self.orbits.base)
            return gram(self.xp, points, rows)
        if self.problem.by_differences:
            return half_squares(points, rows)
        return points @ rows.T

    def _sent_templates(self) -> Iterable[SentTemplates]:
        """Transformed templates, which are kept between calls if the orbits ask for it."""
        orbits = self.orbits
        n_bytes = self.algorithm.prepared_bytes(len(self.templates))
        fits = n_bytes <= self.problem.block_bytes / 2
        is_constant = self.variable_templates is None
        if not orbits.keep or orbits.side == "first" or not fits or not is_constant:
            return self._send_templates()
        key = (self.problem, self.xp.__name__, str(self.points.device))
        if key not in orbits.prepared:
            orbits.prepared[key] = list(self._send_templates())
        return orbits.prepared[key]

    def _send_templates(self) -> Iterator[SentTemplates]:
        problem = self.problem
        elements, weights = composed(problem.sets).rule
        templates = self.templates.astype(problem.dtype, copy=False)
        offsets = self.orbits.template_offsets
        bytes_per_row = _COPIES_OF_TEMPLATES * problem.dtype.itemsize * self.points.shape[1]
        budget = problem.block_bytes / 2
        for columns in row_blocks(len(templates), bytes_per_row, budget):
            bytes_per_element = bytes_per_row * (columns.stop - columns.start)
            for block in row_blocks(len(elements), bytes_per_element, budget):
                if self.variable_templates is not None:
                    maps = self._maps(elements, block)
                    yield self._variable(columns, maps, weights[block])
                    continue
                transformed = composed(problem.sets).group.act(elements[block], templates[columns])
                transformed = transformed.reshape(len(elements[block]), len(templates[columns]), -1)
                terms = problem.template_terms(transformed, part_of(offsets, columns))
                if terms is not None:
                    terms = terms.ravel()
                rows = transformed.reshape(-1, transformed.shape[2])
                yield SentTemplates(
                    columns,
                    self._sent(rows),
                    self._sent(terms),
                    self._sent(problem.row_factors(rows)),
                    self._sent(weights[block]),
                )

    def _maps(self, elements: Array, block: slice) -> Maps:
        """Return some elements as maps, which are kept between calls if they are small."""
        remembered = self.orbits.planner.maps
        d = self.templates.shape[1]
        key = (block.start, block.stop, d)
        known_maps: Maps | None = remembered.get(key)
        if known_maps is not None:
            return known_maps
        maps = Maps.of(composed(self.problem.sets).group, elements[block], d)
        n_bytes = maps.n_bytes * -(-len(elements) // (block.stop - block.start))
        if n_bytes <= self.problem.block_bytes / 4:
            remembered[key] = maps
        return maps

    def _variable(self, columns: slice, maps: Maps, weights: Array) -> SentTemplates:
        """Return templates that are transformed by their library, so that gradients pass."""
        problem = self.problem
        templates = self.variable_templates[columns, :]
        transformed = maps.on_all(templates)
        rows = self.xp.reshape(transformed, (-1, transformed.shape[2]))
        offsets = part_of(self.orbits.template_offsets, columns)
        if offsets is not None:
            offsets = self._sent(np.tile(offsets, len(weights)))
        halves = -half_norms(rows) if problem.has_halves else None
        factors = None
        if problem.has_row_terms:
            factors = self.xp.ones_like(rows[:, 0])
        return SentTemplates(columns, rows, total(halves, offsets), factors, self._sent(weights))

    def _sent(self, values: Array | None) -> Any:
        if values is None:
            return None
        return like(values, detached(self.points))

    def _row_terms(self) -> Any:
        """Terms of the points, see `Problem.row_terms`."""
        problem = self.problem
        terms = None
        if problem.tolerance:
            terms = -self.xp.sqrt(2 * half_norms(self.points))
        elif problem.has_halves and not self.reduction.extreme:
            terms = -half_norms(self.points)
        offsets = part_of(self.orbits.row_offsets, slice(self.points.shape[0]))
        return total(terms, self._sent(offsets))

    # Closed forms.

    def mean_exponential(self) -> list[Any]:
        """Means of exponentials."""
        xp = self.xp
        rate = self.problem.form.rate
        exponents = self.problem.whole_group.log_mean_exponential(
            rate * self.points, self._templates_in_library(), xp
        )
        row_terms = self._row_terms()
        if row_terms is not None:
            exponents = exponents + rate * row_terms[:, None]
        template_terms = self._terms_of_unmoved()
        if template_terms is not None:
            exponents = exponents + rate * template_terms[None, :]
        return [xp.exp(exponents)]

    def _templates_in_library(self) -> Any:
        """Return the templates, not transformed, in the library of the points."""
        if self.variable_templates is not None:
            return self.variable_templates
        return self._sent(self.templates.astype(self.problem.dtype, copy=False))

    def _terms_of_unmoved(self) -> Any:
        """Return terms of templates whose norms no element changes, shape (m,), or None."""
        halves = None
        if self.problem.has_halves:
            halves = -half_norms(self._templates_in_library())
        return total(halves, self._sent(self.orbits.template_offsets))

    def aligned_extremes(self) -> list[Any]:
        """Extreme inner products of representatives; the smallest are those of -z, negated."""
        group = self.problem.whole_group
        templates = self._templates_in_library()
        points = group.aligned(self.points, self.xp)
        extremes = [points @ group.aligned(templates, self.xp).T]
        if self.reduction.to_follow(self.problem.form).n_outputs > 1:
            extremes.append(-(points @ group.aligned(-templates, self.xp).T))
        return self._with_terms(extremes)

    def _with_terms(self, extremes: list[Any]) -> list[Any]:
        """Add the terms of points, and of templates whose norms no element changes."""
        terms = self._terms_of_unmoved()
        if terms is not None:
            extremes = [values + terms[None, :] for values in extremes]
        row_terms = self._row_terms()
        if row_terms is not None:
            extremes = [values + row_terms[:, None] for values in extremes]
        return extremes

    def extremes_at_best_elements(self) -> list[Any]:
        """Inner products at the best element for each pair, which the group knows.

        Each element is a constant of the derivatives, since a small change of the points changes
        the extreme only in second order through the element.
        """
        orbits = self.orbits.at(self.templates)
        points = on_host(detached(self.points), orbits.owner)
        n_outputs = self.reduction.to_follow(self.problem.form).n_outputs
        extremes = []
        for smallest in (False, True)[:n_outputs]:
            elements = best_elements(orbits, points, smallest=smallest)
            extremes.append(self._inner_products(elements))
        return self._with_terms(extremes)

    def _inner_products(self, elements: Array) -> Any:
        """Return <x, g z> for the element g of each pair, shape (n, m)."""
        n = len(elements)
        templates = self._templates_in_library()
        columns = []
        for j in range(templates.shape[0]):
            maps = Maps.of(self.orbits.group, elements[:, j], templates.shape[1])
            images = maps.on_own(templates, np.full(n, j))
            columns.append(self.xp.sum(self.points * images, axis=1))
        return self.xp.stack(columns, axis=1)

    def _finished(self, extremes: list[Any]) -> list[Any]:
        """Apply the kernel to extreme inner products, in double precision."""
        xp = self.xp
        extremes = [xp.astype(values, xp.float64) for values in extremes]
        if self.problem.has_halves:
            halves = half_norms(xp.astype(self.points, xp.float64))[:, None]
            extremes = [values - halves for values in extremes]
        outer = self.problem.kernel_outer
        reduction: Any = self.reduction
        values, n_reversed = reduction.finish_arrays(extremes, outer, None, xp)
        self.orbits.warn_of_reversed(n_reversed, values[0].shape[0] * values[0].shape[1])
        return list(values)


def _check_base(orbits: OrbitProducts, points: Any, templates: Array, reduction: Reduction) -> None:
    """Refuse base kernels that can only be evaluated by NumPy."""
    base = orbits.base
    form = orbits.planner.outline(points.shape[1], reduction).form
    if form is None and array_gram(base) is None:
        remedy = "take kernels of this package as the base, such as Gaussian, and their sums"
        numpy_only(type(base).__name__, remedy, points, templates)


def _differentiable(orbits: OrbitProducts, d: int, reduction: Reduction) -> OrbitProducts:
    """Return orbits whose kernel is evaluated if it lifts points by NumPy, else the same orbits."""
    form = orbits.planner.outline(d, reduction).form
    if form is None or form.linear or not hasattr(orbits.base, "_gram_arrays"):
        return orbits
    planner: Any = None
    return replace(orbits, method="definition", planner=planner)


def _needs_best_elements(orbits: OrbitProducts, problem: Problem, algorithm: Algorithm) -> bool:
    """Whether an extreme is over elements that are not listed, and the group knows the best."""
    if not problem.reduction.extreme or not algorithm.by_elements or problem.by_differences:
        return False
    if problem.order <= ENUMERATION_LIMIT or not orbits.group.unitary:
        return False
    return can_align(orbits, problem.form, problem.lifted_size)


def _algorithm_for_arrays(problem: Problem) -> tuple[Algorithm, Callable[[_Task], list[Any]]]:
    """The algorithm whose operations are done in the library: a closed form, or the product."""
    if problem.by_differences:
        return Product(problem), _Task.products
    if Aligned.applies_to(problem):
        return Aligned(problem), _Task.aligned_extremes
    if MeanExponential.applies_to(problem):
        return MeanExponential(problem), _Task.mean_exponential
    return Product(problem), _Task.products


def _is_possible(problem: Problem, candidates: list[Algorithm], algorithm: Algorithm) -> bool:
    """Whether the library can do it: points are not lifted, and extremes are over listed elements.

    A mean over too many elements is possible here, so that it is refused with the group's message.
    """
    if problem.form is not None and not problem.is_linear:
        return False
    if not algorithm.by_elements or not problem.reduction.extreme:
        return True
    if problem.order <= ENUMERATION_LIMIT or problem.sets[0].group.as_circle() is not None:
        return True
    return all(candidate.by_elements for candidate in candidates)


def _joined(xp: Any, parts: Any, axis: int) -> Any:
    if len(parts) == 1:
        return parts[0]
    return xp.concat(list(parts), axis=axis)
