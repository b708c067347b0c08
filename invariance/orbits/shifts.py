"""`Shifts`: translations by correlation, what comes before and after them applied."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..groups import Grid, Transformations
from .correlation import shift_correlation
from .reductions import Reduction
from .way import Problem, Run, Way, changed, largest_norm, row_norms, together

Array = NDArray[Any]

#: Bytes of one thread's transforms of a block of rows.
_ROWS_BYTES = 128 * 2**20
#: Share of the bound for transforms of second points: each piece transforms all first ones anew.
_PREPARED = 0.7
#: Small products, and traffic between them, run at a fraction of a large product's rate: measured
#: 1.1 to 2.8 times slower an operation (median 2.1) on grids of 8 x 8 to 64 x 64, in single
#: precision beside other work, and more alone. Extremes are read off the frequencies' last stage,
#: which makes up for it.
_CHARGED = 2.5


class Shifts(Way):
    """Shifts by correlation, after `before` on the second points; then `after`, transposed."""

    name = "correlation"
    host_only = True

    def __init__(self, problem: Problem, place: int, grid: Grid):
        super().__init__(problem)
        self.before = together(problem.sets[:place])
        self.after = together(problem.sets[place + 1 :])
        self.n_before = 1 if self.before is None else len(self.before.rule[0])
        self.n_after = 1 if self.after is None else len(self.after.rule[0])
        self.cyclic, self.pairs = grid.cyclic, grid.pairs
        self.weights = problem.sets[place].rule[1]
        self.charge = 1.0 if problem.reduction.extreme else _CHARGED
        # Zeros beyond the frame turn the shifts that lose pixels into cyclic ones.
        self.margin = np.zeros(2, dtype=np.intp) if grid.cyclic else np.abs(self.pairs).max(axis=0)
        self._see(np.array(problem.shape[:2]))
        self._kept: list[Array] | None = None
        size = self.n_after * problem.dtype.itemsize * prod(problem.shape) ** 2
        if self.after is not None and size <= problem.block_bytes:
            self._kept = [self._transpose(i) for i in range(self.n_after)]

    @classmethod
    def offers(cls, problem: Problem) -> Self | None:
        form = problem.form
        for place in reversed(range(len(problem.sets) if form is not None else 0)):
            part = problem.sets[place]
            # Elements are not listed only to be told that these are no shifts.
            if part.order == inf or type(part.group).as_shifts is Transformations.as_shifts:
                continue
            grid = part.group.as_shifts(part.rule[0])
            if grid is None:
                continue
            after = [other.group for other in problem.sets[place + 1 :]]
            # A norm that changes after the shifts cannot be told from the shifted points.
            transposable = form.linear and all(
                group.linear and (group.unitary or not form.distance) for group in after
            )
            # Shifts of the flattened points are none of the images that the base kernel sees.
            if grid.shape == problem.shape and (not after or transposable):
                return cls(problem, place, grid)
            return None
        return None

    def facing(self, support: Array, n: int) -> Way:
        way = changed(self)
        seen: Any = support.reshape(self.problem.shape).any(axis=2)
        way._see(np.array([seen.any(axis=1).sum(), seen.any(axis=0).sum()]))
        return way

    def order(self, X: Array) -> Array:
        """By what they show, so that a block has blank rows in common, which are skipped."""
        images = X.reshape(len(X), *self.problem.shape)
        seen = (images != 0).any(axis=(1 if self.correlation.transposed else 2, 3))
        return np.lexsort((-seen[:, ::-1].argmax(axis=1), seen.argmax(axis=1)))

    def _see(self, shown: Array) -> None:
        """Choose the correlation for numbers of rows and columns that are not blank."""
        grid = tuple(int(side) for side in self.margin + self.problem.shape[:2])
        given = self.pairs, self.problem.n_channels, self.problem.dtype
        self.correlation = shift_correlation(grid, *given, shown=tuple(shown / grid))
        axis = 1 if self.correlation.transposed else 0
        self._share = max(1e-3, float(shown[axis] / grid[axis]))

    def _transpose(self, i: int) -> Array:
        """The matrix that carries the transpose of an element of `after` to first points."""
        basis = np.eye(prod(self.problem.shape), dtype=self.problem.dtype)
        moved: Array = self.after.group.act(self.after.rule[0][i : i + 1], basis)[0]
        return moved.T

    def prepared_bytes(self, m: int) -> float:
        return float(m) * self.correlation.spectrum_bytes * self.n_before

    def pieces(self, m: int) -> int:
        return int(-(-self.prepared_bytes(m) // (_PREPARED * self.problem.block_bytes)))

    def row_bytes(self, width: int) -> float:
        return self.correlation.first_bytes

    def row_step(self, width: int) -> int:
        correlation, item = self.correlation, self.problem.dtype.itemsize
        most, tile = correlation.n_first, 2 * correlation.cache_bytes
        if not self.problem.reduction.extreme:  # all of `before` go into one tile
            numbers = 2 * len(correlation.rows) * len(correlation.frequencies)
            while most > 8 and most * self.n_before * item * numbers > tile:
                most //= 2
        budget = min(_ROWS_BYTES, self.problem.block_bytes / 8)
        step = int(np.clip(budget // self.row_bytes(width), 8, most))
        return step - step % 16 if step > 16 else step  # products are quickest at multiples

    def _second(self, points: Array) -> Array:
        """Second points lifted, with zeros below and to the right."""
        images = points.reshape(len(points), *self.problem.shape)
        if self.margin.any():
            images = np.pad(images, ((0, 0), (0, self.margin[0]), (0, self.margin[1]), (0, 0)))
        lifted: Array = self.problem.form.second(images)
        return lifted

    def first(self, points: Array) -> Array:
        """First points lifted, with zeros below and to the right."""
        planes, (down, right) = self.problem.first(points), self.margin
        return np.pad(planes, ((0, 0), (0, 0), (0, down), (0, right))) if down or right else planes

    def terms(self, moved: Array, offsets: Array | None) -> tuple[Array | None, Array | None]:
        """What is added for each moved point; what is subtracted for each shift of it.

        ``moved`` has shape (m, r, d).
        """
        problem, offsets = self.problem, None if offsets is None else offsets[:, None]
        if self.cyclic or not problem.form.distance:
            terms = problem.column_terms(moved, offsets)
            return (None if terms is None else terms.ravel()), None
        points = moved.reshape(-1, moved.shape[2])
        frame = np.zeros((1, problem.n_channels, *self.correlation.grid), problem.dtype)
        frame[:, :, : problem.shape[0], : problem.shape[1]] = 1
        squares = self.correlation.spectra(self._second(points**2))
        halves = [values / 2 for values in self.correlation.values(frame, squares)]
        of_shifts = np.concatenate(halves, axis=1)
        if offsets is not None:
            of_shifts -= np.repeat(offsets, moved.shape[1]).astype(of_shifts.dtype)[:, None, None]
        return None, of_shifts

    def prepare(self, Y: Array, offsets: Array | None, run: Run) -> Iterator[tuple[float, Any]]:
        problem, correlation, moved = self.problem, self.correlation, Y[:, None]
        if self.before is not None:  # (m, r, d): the moves of a point are neighbours
            moved = self.before.group.act(self.before.rule[0], Y).reshape(-1, *Y.shape)
            moved = np.ascontiguousarray(moved.swapaxes(0, 1))
        terms, of_shifts = self.terms(moved, offsets)
        moved = moved.reshape(-1, Y.shape[1])
        norm = largest_norm(moved)
        factors = problem.row_factors(moved) if problem.has_row_terms else None
        if problem.folded:
            terms, of_shifts, moved = map(problem.scaled, (terms, of_shifts, moved))
        budget = min(_ROWS_BYTES, problem.block_bytes) / 8
        step = 1 + int(budget // correlation.spectrum_bytes)
        spectra = correlation.room(len(moved))

        def fill(start: int) -> None:
            some = slice(start, start + step)
            correlation.spectra(self._second(moved[some]), [whole[:, some] for whole in spectra])

        list(run.map(fill, range(0, len(moved), step)))
        on_grid = np.zeros(correlation.wanted.shape)
        np.add.at(on_grid, correlation.places(self.pairs), self.weights)
        weights = correlation.in_tile_order(on_grid)
        if self.before is not None:
            weights = (weights[:, None] * self.before.rule[1][:, None]).reshape(len(weights), -1)
        yield norm, (spectra, terms, factors, of_shifts, weights)

    def block(self, X: Array, prepared: Any, terms: Any, reduction: Reduction) -> list[Any]:
        spectra, others, factors, of_shifts, weights = prepared
        added, r = self._of_pairs(others, factors, terms), self.n_before
        outputs: list[Array] = []
        for i in range(self.n_after):
            own, parts = X, list[Array]()
            if self.after is not None:
                own = X @ (self._transpose(i) if self._kept is None else self._kept[i])
                if self.problem.tolerance:  # rounding goes by what is multiplied
                    added = self._of_pairs(others, factors, -row_norms(own))
            first = self.first(own) if self.problem.linear else _Lifted(self, own)
            if reduction.extreme:
                both = reduction.n_outputs > 1
                found: Any = self.correlation.extremes(first, spectra, of_shifts, both)
                for part, either in zip(found[: 1 + both], (np.max, np.min), strict=False):
                    part = part if added is None else part + added.T
                    parts.append(part if r == 1 else either(part.reshape(len(X), -1, r), axis=2))
            else:
                tiles = []
                for values in self.correlation.values(first, spectra, of_shifts, added, r):
                    if r > 1:  # the moves are among the elements
                        a, _, b, n = values.shape
                        values = values.reshape(a, -1, r * b, n)
                    tiles.append(reduction.of(values, weights, self.problem.outer))
                share = 1.0 if self.after is None else float(self.after.rule[1][i])
                for same in zip(*tiles, strict=True):
                    part = np.concatenate(same).swapaxes(0, 1)
                    parts.append(part if share == 1 else part * share)
            for k, part in enumerate(parts[: len(outputs)]):
                outputs[k] = reduction.merge(outputs[k], part, k)
            outputs = outputs or parts
        return outputs

    def _of_pairs(
        self, terms: Array | None, factors: Array | None, rows: Array | None
    ) -> Array | None:
        """What is added at every shift, of shape (m, n) or less."""
        if rows is None:
            return None if terms is None else terms[:, None]
        if self.problem.tolerance and factors is not None:
            rows = factors[:, None] * rows[None, :]
        else:
            rows = self.problem.scaled(rows)[None, :]
        return rows if terms is None else terms[:, None] + rows

    def operations(self, n: int, m: int) -> float:
        pairs = float(n) * m * self.n_before * self.n_after
        stages, reduction = self.correlation.operations(self._share), self.problem.reduction
        # Products with small matrices run at a fraction of a large one's rate.
        products = stages["products"] * (1 + 8 / (self.correlation.depth * self._share))
        values = len(self.pairs) * (reduction.cost + (0 if reduction.extreme else 8))
        return pairs * (products + 2 * (stages["rows"] + stages["columns"]) + values)


class _Lifted:
    """First points as images, lifted where they are read: channels may be many."""

    def __init__(self, way: Shifts, points: Array):
        self._way, self._points = way, points

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, some: slice) -> Array:
        return self._way.first(self._points[some])
