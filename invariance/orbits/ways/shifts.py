"""`Shifts`: all translations at once, by correlation (`correlation.py`).

Parts of a composition before the shifts are applied to the templates. Linear parts after them are
transposed onto the points X: <x, b s a z> = <b^T x, s a z>.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...groups import Grid, Transformations
from ..blocks import Workers, part_of, total
from ..numerics import largest_norm, row_norms
from ..plan import Problem, WeightedSet, composed
from ..reductions import Reduction
from ..registry import Algorithm, Prepared, register
from .correlation import shift_correlation

Array = NDArray[Any]

#: Bytes of one thread's transforms of a block of rows.
_ROWS_BYTES = 128 * 2**20
#: Share of the memory bound for transforms of templates: each piece transforms all X anew.
_PREPARED = 0.7
#: Small products, and traffic between them, run at a fraction of a large product's rate: measured
#: 1.1 to 2.8 times slower an operation (median 2.1) on grids of 8 x 8 to 64 x 64, in single
#: precision beside other work, and more alone. Extremes are read off the frequencies' last stage,
#: which makes up for it.
_SLOWNESS = 2.5
#: Small products of a depth d take 1 + 8 / d times as long as large ones.
_OVERHEAD = 8
#: Products are quickest if a block has a multiple of this number of points.
_MULTIPLE = 16


@dataclass(frozen=True)
class ShiftedTemplates:
    """Templates as `Shifts` needs them; transformed templates are those after `Shifts.before`."""

    spectra: list[Array]
    terms: Array | None  #: added for each transformed template
    factors: Array | None  #: factors of the terms of points, for each transformed template
    terms_of_shifts: Array | None  #: subtracted for each shift of a transformed template
    weights: Array  #: of the shifts, in the order of a tile


@register
class Shifts(Algorithm):
    """Shifts by correlation."""

    name = "correlation"

    def __init__(self, problem: Problem):
        super().__init__(problem)
        place, grid = _shifts_of(problem)  # type: ignore[misc]
        self.before = composed(problem.sets[:place])
        self.after = composed(problem.sets[place + 1 :])
        self.n_before = _n_elements(self.before)
        self.n_after = _n_elements(self.after)
        self.is_cyclic = grid.cyclic
        self.pairs = grid.pairs
        self.shift_weights = problem.sets[place].rule[1]
        if not problem.reduction.extreme:
            self.slowness = _SLOWNESS
        #: Zeros below and to the right of images turn shifts that lose pixels into cyclic ones.
        self.margin = np.zeros(2, dtype=np.intp)
        if not grid.cyclic:
            self.margin = np.abs(self.pairs).max(axis=0)
        self._choose_correlation(np.array(problem.shape[:2]))
        self._transposes: list[Array] | None = None
        bytes_of_transposes = self.n_after * problem.dtype.itemsize * prod(problem.shape) ** 2
        if self.after is not None and bytes_of_transposes <= problem.block_bytes:
            self._transposes = [self._new_transpose(i) for i in range(self.n_after)]

    @classmethod
    def applies_to(cls, problem: Problem) -> bool:
        return _shifts_of(problem) is not None

    def for_support(self, support: Array, n: int) -> Algorithm:
        shown: Any = support.reshape(self.problem.shape).any(axis=2)
        n_rows = shown.any(axis=1).sum()
        n_columns = shown.any(axis=0).sum()
        shorter = copy(self)
        shorter._choose_correlation(np.array([n_rows, n_columns]))
        return shorter

    def _choose_correlation(self, n_shown: Array) -> None:
        """Choose the correlation, given the numbers of rows and columns that are not blank."""
        height, width = (int(side) for side in self.margin + self.problem.shape[:2])
        shown = (n_shown[0] / height, n_shown[1] / width)
        self.correlation = shift_correlation(
            (height, width), self.pairs, self.problem.n_channels, self.problem.dtype, shown=shown
        )
        share_of_rows = shown[int(self.correlation.transposed)]
        self._share_shown = max(1e-3, float(share_of_rows))

    def row_order(self, X: Array) -> Array:
        """Sort images so that those of a block share blank rows, which are skipped."""
        images = X.reshape(len(X), *self.problem.shape)
        across = 1 if self.correlation.transposed else 2
        shown = (images != 0).any(axis=(across, 3))
        first_shown = shown.argmax(axis=1)
        n_blank_at_end = shown[:, ::-1].argmax(axis=1)
        return np.lexsort((-n_blank_at_end, first_shown))

    def operations(self, n: int, m: int) -> float:
        n_pairs = float(n) * m * self.n_before * self.n_after
        stages = self.correlation.operations(self._share_shown)
        reduction = self.problem.reduction
        depth = self.correlation.depth * self._share_shown
        products = stages["products"] * (1 + _OVERHEAD / depth)
        transforms = 2 * (stages["rows"] + stages["columns"])
        per_value = reduction.cost
        if not reduction.extreme:
            per_value += _OVERHEAD
        return n_pairs * (products + transforms + len(self.pairs) * per_value)

    # Memory.

    def prepared_bytes(self, m: int) -> float:
        return float(m) * self.correlation.spectrum_bytes * self.n_before

    def pieces(self, m: int) -> int:
        return int(-(-self.prepared_bytes(m) // (_PREPARED * self.problem.block_bytes)))

    def row_bytes(self, width: int) -> float:
        return self.correlation.first_bytes

    def row_step(self, width: int) -> int:
        correlation = self.correlation
        largest = correlation.n_first
        if not self.problem.reduction.extreme:
            # Templates transformed by all of `before` go into one tile.
            n_numbers = 2 * len(correlation.rows) * len(correlation.frequencies) * self.n_before
            bytes_per_row = self.problem.dtype.itemsize * n_numbers
            while largest > 8 and largest * bytes_per_row > 2 * correlation.cache_bytes:
                largest //= 2
        budget = min(_ROWS_BYTES, self.problem.block_bytes / 8)
        step = int(np.clip(budget // self.row_bytes(width), 8, largest))
        if step > _MULTIPLE:
            step -= step % _MULTIPLE
        return step

    # Points and templates as images.

    def lifted_points(self, X: Array) -> Array:
        """Points X lifted, with zeros below and to the right."""
        images = self.problem.lift_points(X)
        down, right = map(int, self.margin)
        if not down and not right:
            return images
        return np.pad(images, ((0, 0), (0, 0), (0, down), (0, right)))

    def _lifted_templates(self, Z: Array) -> Array:
        """Templates lifted, with zeros below and to the right."""
        images = Z.reshape(len(Z), *self.problem.shape)
        down, right = map(int, self.margin)
        if down or right:
            images = np.pad(images, ((0, 0), (0, down), (0, right), (0, 0)))
        return self.problem.lift_images(images)

    def _transpose(self, i: int) -> Array:
        """The matrix that applies the transpose of an element of `after` to rows of points."""
        if self._transposes is None:
            return self._new_transpose(i)
        return self._transposes[i]

    def _new_transpose(self, i: int) -> Array:
        basis = np.eye(prod(self.problem.shape), dtype=self.problem.dtype)
        element = self.after.rule[0][i : i + 1]
        images: Array = self.after.group.act(element, basis)[0]
        return images.T

    # The computation.

    def prepare(
        self, templates: Array, offsets: Array | None, workers: Workers
    ) -> Iterator[Prepared]:
        problem = self.problem
        transformed = self._transformed(templates)
        terms, terms_of_shifts = self._terms(transformed, offsets)
        transformed = transformed.reshape(-1, templates.shape[1])
        norm = largest_norm(transformed)
        factors = problem.row_factors(transformed)
        content = ShiftedTemplates(
            spectra=self._spectra(problem.scaled(transformed), workers),
            terms=problem.scaled(terms),
            factors=factors,
            terms_of_shifts=problem.scaled(terms_of_shifts),
            weights=self._tile_weights(),
        )
        yield Prepared(norm, content)

    def _transformed(self, templates: Array) -> Array:
        """Templates after `before`, shape (m, r, d): those of a template are neighbours."""
        if self.before is None:
            return templates[:, None]
        transformed: Array = self.before.group.act(self.before.rule[0], templates)
        transformed = transformed.reshape(-1, *templates.shape)
        return np.ascontiguousarray(transformed.swapaxes(0, 1))

    def _spectra(self, transformed: Array, workers: Workers) -> list[Array]:
        """Transforms of templates, some at a time."""
        correlation = self.correlation
        budget = min(_ROWS_BYTES, self.problem.block_bytes) / 8
        step = 1 + int(budget // correlation.spectrum_bytes)
        spectra = correlation.room(len(transformed))

        def fill(start: int) -> None:
            block = slice(start, start + step)
            images = self._lifted_templates(transformed[block])
            correlation.spectra(images, [spectrum[:, block] for spectrum in spectra])

        list(workers.map(fill, range(0, len(transformed), step)))
        return spectra

    def _terms(
        self, transformed: Array, offsets: Array | None
    ) -> tuple[Array | None, Array | None]:
        """Terms added for each template (m r,), and terms subtracted for each shift of it.

        Shifts that lose pixels change the norm, so that there is a term for each shift.
        """
        problem = self.problem
        if offsets is not None:
            offsets = offsets[:, None]
        if self.is_cyclic or not problem.form.distance:
            terms = problem.template_terms(transformed, offsets)
            if terms is not None:
                terms = terms.ravel()
            return terms, None
        points = transformed.reshape(-1, transformed.shape[2])
        frame = np.zeros((1, problem.n_channels, *self.correlation.grid), problem.dtype)
        frame[:, :, : problem.shape[0], : problem.shape[1]] = 1
        squares = self.correlation.spectra(self._lifted_templates(points**2))
        halves = [values / 2 for values in self.correlation.values(frame, squares)]
        terms_of_shifts = np.concatenate(halves, axis=1)
        if offsets is not None:
            repeated = np.repeat(offsets, transformed.shape[1])
            terms_of_shifts -= repeated.astype(terms_of_shifts.dtype)[:, None, None]
        return None, terms_of_shifts

    def _tile_weights(self) -> Array:
        """Weights of the shifts, and of `before`, in the order of a tile."""
        on_grid = np.zeros(self.correlation.wanted.shape)
        np.add.at(on_grid, self.correlation.places(self.pairs), self.shift_weights)
        weights = self.correlation.in_tile_order(on_grid)
        if self.before is None:
            return weights
        products = weights[:, None] * self.before.rule[1][:, None]
        return np.reshape(products, (len(weights), -1))

    def compute(
        self, X: Array, prepared: ShiftedTemplates, row_terms: Array | None, reduction: Reduction
    ) -> list[Array]:
        if self.after is None:
            return self._compute_shifts(X, prepared, row_terms, reduction)
        results: list[Array] = []
        for i, weight in enumerate(self.after.rule[1]):
            moved_X = X @ self._transpose(i)
            if self.problem.tolerance:  # Rounding is relative to the norms of both factors.
                row_terms = -row_norms(moved_X)
            parts = self._compute_shifts(moved_X, prepared, row_terms, reduction)
            parts = [reduction.scaled(part, float(weight)) for part in parts]
            if not results:
                results = parts
                continue
            for k, part in enumerate(parts):
                results[k] = reduction.merge(results[k], part, k)
        return results

    def _compute_shifts(
        self, X: Array, prepared: ShiftedTemplates, row_terms: Array | None, reduction: Reduction
    ) -> list[Array]:
        """Reduce over the shifts and `before`."""
        terms = self._terms_of_pairs(prepared, row_terms)
        if reduction.extreme:
            return self._extremes(X, prepared, terms, reduction)
        return self._reduced_values(X, prepared, terms, reduction)

    def _extremes(
        self, X: Array, prepared: ShiftedTemplates, terms: Array | None, reduction: Reduction
    ) -> list[Array]:
        """Largest, and if needed smallest, inner products over the shifts and `before`."""
        needs_smallest = reduction.n_outputs > 1
        largest, smallest = self.correlation.extremes(
            self._images(X), prepared.spectra, prepared.terms_of_shifts, needs_smallest
        )
        extremes = [self._over_before(largest, terms, np.max)]
        if needs_smallest:
            extremes.append(self._over_before(smallest, terms, np.min))
        return extremes

    def _over_before(self, values: Array, terms: Array | None, extreme: Any) -> Array:
        if terms is not None:
            values = values + terms.T
        if self.n_before == 1:
            return values
        return np.asarray(extreme(values.reshape(len(values), -1, self.n_before), axis=2))

    def _reduced_values(
        self, X: Array, prepared: ShiftedTemplates, terms: Array | None, reduction: Reduction
    ) -> list[Array]:
        """Reduce the values at all shifts, for some templates at a time."""
        r = self.n_before
        tiles = []
        for values in self.correlation.values(
            self._images(X), prepared.spectra, prepared.terms_of_shifts, terms, r
        ):
            if r > 1:  # The elements of `before` are reduced like shifts.
                a, _, b, n = values.shape
                values = values.reshape(a, -1, r * b, n)
            tiles.append(reduction.of(values, prepared.weights, self.problem.outer))
        results = []
        for parts in zip(*tiles, strict=True):
            results.append(np.concatenate(parts).swapaxes(0, 1))
        return results

    def _images(self, X: Array) -> Any:
        if self.problem.is_linear:
            return self.lifted_points(X)
        return _LiftedOnDemand(self, X)

    def _terms_of_pairs(self, prepared: ShiftedTemplates, row_terms: Array | None) -> Any:
        """Terms added at every shift, of a shape that broadcasts to (m, n)."""
        terms = part_of(prepared.terms, (slice(None), None))
        if row_terms is None:
            return terms
        if self.problem.tolerance and prepared.factors is not None:
            row_terms = prepared.factors[:, None] * row_terms[None, :]
        else:
            row_terms = self.problem.scaled(row_terms)[None, :]
        return total(terms, row_terms)


def _n_elements(part: WeightedSet | None) -> int:
    if part is None:
        return 1
    return len(part.rule[0])


def _shifts_of(problem: Problem) -> tuple[int, Grid] | None:
    """Return the place and the shifts of the last part that consists of shifts, if they apply."""
    if problem.form is None:
        return None
    for place in reversed(range(len(problem.sets))):
        part = problem.sets[place]
        # Elements are not listed if the group has no shifts anyway.
        if part.order == inf or type(part.group).as_shifts is Transformations.as_shifts:
            continue
        grid = part.group.as_shifts(part.rule[0])
        if grid is None:
            continue
        # Shifts of flattened points are not those of the images that the base kernel sees.
        if grid.shape != problem.shape or not _can_transpose(problem, place + 1):
            return None
        return place, grid
    return None


def _can_transpose(problem: Problem, start: int) -> bool:
    """Whether all parts from a place on can be transposed onto the points X.

    A norm that changes after the shifts cannot be computed from the shifted points.
    """
    for part in problem.sets[start:]:
        keeps_norm = part.group.unitary or not problem.form.distance
        if not problem.is_linear or not part.group.linear or not keeps_norm:
            return False
    return True


class _LiftedOnDemand:
    """Points as images, lifted when they are read, since there may be many channels."""

    def __init__(self, algorithm: Shifts, points: Array):
        self._algorithm = algorithm
        self._points = points

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, block: slice) -> Array:
        return self._algorithm.lifted_points(self._points[block])
