"""`Product`: every transformation applied, then matrix products. Always possible."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..array_api import like
from ..groups import Composition, Transformations
from .reductions import Extremes
from .way import Problem, Run, Way, largest_norm, row_blocks

__all__ = ["Product"]

Array = NDArray[Any]

#: First points and moved second points of a tile: wide enough for the matrix product to run at full
#: speed, small enough for what follows to find the values in cache.
_ROWS, _COLUMNS = 256, 2048
#: The same where a kernel is evaluated, which has costs of its own at every call.
_EVALUATED = 1024, 8192


class Product(Way):
    """Every transformation applied, then one matrix product for a tile.

    Kernels that are no function of inner products are evaluated, a tile at a time.
    """

    name = "product"

    def __init__(self, problem: Problem):
        super().__init__(problem)
        self.group, self.elements, self.weights = _as_one(problem)
        self.rows, self.columns = _ROWS, _COLUMNS
        self.features: Array | None = None
        if problem.evaluate is not None:
            self.rows, self.columns = _EVALUATED
            return
        self.skips = int(np.argmin(problem.shown / problem.shape[:2]))
        support = problem.support
        if support is not None:
            # Features along that axis, so that those of a range of rows or columns are a slice.
            features = np.arange(support.size).reshape(support.shape)
            features, support = (np.moveaxis(a, 1 + self.skips, 0) for a in (features, support))
            # Leaving features out costs a copy, which a few of them do not repay.
            if support.mean() < 0.9:
                self.features = features[support]

    @property
    def _width(self) -> int:
        problem = self.problem
        if problem.evaluate is not None:
            return problem.shape[0] * problem.shape[1] * problem.shape[2]
        return problem.lifted_size

    def prepared_bytes(self, m: int) -> float:
        return self.problem.dtype.itemsize * self._width * len(self.elements) * m

    def _step(self, m: int) -> int:
        """Elements at a time for m second points: what is moved, lifted and put into tiles."""
        per_element = 3.0 * self.problem.dtype.itemsize * self._width * m
        return max(1, min(len(self.elements), int(self.problem.block_bytes / 2 // per_element)))

    def pieces(self, m: int) -> int:
        # At least 64 columns at a time, however many transformations: these come in blocks too.
        width = int(self.problem.block_bytes / 2 // (3 * self.prepared_bytes(1)))
        return -(-m // max(min(64, self._at_least()), width))

    def _at_least(self) -> int:
        each = 3.0 * self.problem.dtype.itemsize * self._width
        return max(1, int(self.problem.block_bytes / 2 // each))

    def row_step(self, width: int) -> int:
        item, problem = self.problem.dtype.itemsize, self.problem
        values = min(self.columns, width * self._step(width))
        per_row = item * (
            3 * self._width + 4 * values + 2 * width * max(1, sum(problem.reduction.tail))
        )
        return int(np.clip(problem.block_bytes / 8 // per_row, 1, self.rows))

    def lifted(self, moved: Array, offsets: Array | None) -> Array:
        """Moved points (r, m, d) as rows (r, m, ...), with what is added to products."""
        r, m, _ = moved.shape
        points = moved.reshape(r * m, -1)
        if self.problem.evaluate is not None:
            return points.reshape(r, m, -1)
        lifted = self.problem.second(points).reshape(r * m, -1)
        if self.features is not None:
            lifted = lifted[:, self.features]
        terms = self.problem.column_terms(moved, offsets)
        extra = [] if terms is None else [terms.reshape(-1, 1)]
        if self.problem.first_terms:
            extra.append(np.ones((r * m, 1), lifted.dtype))
        if extra:
            lifted = np.concatenate([lifted, *extra], axis=1, dtype=lifted.dtype)
        if self.problem.folded:
            lifted *= lifted.dtype.type(self.problem.form.rate)
        return lifted.reshape(r, m, -1)

    def own(self, X: Array, n_extra: int, terms: Array | None) -> Array:
        """First points as rows that meet those of `lifted`."""
        if self.problem.evaluate is not None:
            return X
        first = self.problem.first(X).reshape(len(X), -1)
        if self.features is not None:
            first = first[:, self.features]
        extra = []
        if n_extra - (terms is not None):
            extra.append(np.ones((len(X), 1), first.dtype))
        if terms is not None:
            extra.append(terms[:, None])
        return np.concatenate([first, *extra], axis=1, dtype=first.dtype) if extra else first

    def _n_extra(self, offsets: Array | None) -> int:
        form = self.problem.form
        return int(form.distance or offsets is not None) + int(self.problem.first_terms)

    def prepare(self, Y: Array, offsets: Array | None, run: Run) -> Iterator[Any]:
        step, norm = self._step(len(Y)), 0.0
        for start in range(0, len(self.elements), step):
            some = slice(start, start + step)
            moved = self.group.act(self.elements[some], Y)
            moved = moved.reshape(len(moved), len(Y), -1)
            if self.problem.reduction.n_outputs > 1 and self.problem.reduction.extreme:
                norm = largest_norm(moved.reshape(-1, moved.shape[2]))
            lifted = self.lifted(moved, offsets)
            del moved
            yield self._tiles(lifted, self.weights[some]), norm, self._n_extra(offsets), len(Y)

    def _tiles(self, lifted: Array, weights: Array) -> list[tuple[slice, Array, Array]]:
        """Which second points, the weights of the elements, and their rows of a matrix."""
        r, m, width = lifted.shape
        across = max(1, self.columns // r)
        if across >= m and r * m <= self.columns:
            return [(slice(0, m), weights, lifted.reshape(r * m, width))]
        tiles = []
        for which in row_blocks(m, 1, across):
            for some in row_blocks(r, 1, self.columns):
                tile = np.ascontiguousarray(lifted[some, which])
                tiles.append((which, weights[some], tile.reshape(-1, width)))
        return tiles

    def block(self, X: Array, prepared: Any, terms: Array | None) -> list[Array | None]:
        tiles, norm, n_extra, m = prepared
        problem, reduction = self.problem, self.problem.reduction
        own = self.own(X, n_extra, terms)
        some = slice(None)
        if self.features is not None:
            seen = np.flatnonzero(own.any(axis=0))
            some = slice(seen[0], seen[-1] + 1) if len(seen) else slice(0)
            own = np.ascontiguousarray(own[:, some])
        if reduction.extreme and not self.lowest(X, norm):
            reduction = Extremes()
        shape = len(X), m, *reduction.tail
        outputs = [np.empty(shape, problem.dtype) for _ in range(reduction.n_outputs)]
        done = -1  # up to which second point some elements are in already
        for which, weights, matrix in tiles:
            r = len(weights)
            values = self._values(own, matrix, some).reshape(1, len(X), r, -1)
            parts = reduction.of(values, weights.reshape(1, r), problem.applied)
            for i, (out, part) in enumerate(zip(outputs, parts, strict=True)):
                if which.start > done:
                    out[:, which] = part
                else:
                    reduction.merge(out[:, which], part, i)
            done = which.start
        return [*outputs, *[None] * (problem.reduction.n_outputs - len(outputs))]

    def _values(self, own: Array, matrix: Array, some: slice) -> Array:
        if self.problem.evaluate is not None:
            return self.problem.evaluate(own, matrix)
        values: Array = own @ matrix[:, some].T
        return values

    # -- other libraries -----------------------------------------------------------------------

    def tile_arrays(self, n: int, m: int, budget: float) -> tuple[int, int]:
        """Second and first points at a time."""
        item, r = self.problem.dtype.itemsize, len(self.elements)
        width = max(1, min(m, int(budget // (item * min(r, self._step(1)) * self._width * 3))))
        step = max(1, min(n, int(budget // (item * (4 * width * r + 2 * self._width)))))
        return width, step

    def prepare_arrays(
        self, xp: Any, fixed: Any, Y: Array, offsets: Array | None
    ) -> Iterator[tuple[Any, Any, Any]]:
        problem, step = self.problem, self._step(len(Y))
        for start in range(0, len(self.elements), step):
            some = slice(start, start + step)
            moved = self.group.act(self.elements[some], Y)
            moved = moved.reshape(len(moved), len(Y), -1)
            points = moved.reshape(len(moved) * len(Y), -1)
            if problem.evaluate is None and not problem.form.linear:
                lifted = problem.second(points).reshape(len(points), -1)
            else:
                lifted = points
            terms = None if problem.evaluate else problem.column_terms(moved, offsets)
            if terms is not None:
                terms = like(terms.reshape(-1, 1), fixed)
            weights = like(self.weights[some].astype(problem.dtype)[:, None], fixed)
            yield like(lifted, fixed), terms, weights

    def outputs_arrays(
        self, xp: Any, block: Any, own: Array | None, prepared: Any, added: Any
    ) -> list[Any]:
        problem = self.problem
        lifted, terms, weights = prepared
        if problem.evaluate is not None:
            assert problem.evaluate_arrays is not None
            values = problem.evaluate_arrays(xp, block, lifted).T
        else:
            if own is not None and not problem.form.linear:
                block = like(problem.first(own).reshape(len(own), -1), block)
            values = lifted @ block.T
            if terms is not None:
                values = values + terms
            if added is not None:
                values = values + added[None, :]
        r = weights.shape[0]
        values = xp.reshape(values, (r, -1, 1, block.shape[0]))
        return problem.reduction.of_arrays(xp, values, weights, problem.form)

    def operations(self, n: int, m: int) -> float:
        values = float(n) * m * len(self.elements)
        share = 1.0 if self.features is None else len(self.features) / self._width
        # Moving and lifting points costs passes over memory, worth some hundred operations each.
        moving = 150.0 * m * len(self.elements) * self._width
        return values * (2 * self._width * share + self.problem.reduction.cost) + moving


def _as_one(problem: Problem) -> tuple[Transformations, Array, Array]:
    """All parts as one set of transformations, its elements and weights."""
    if len(problem.parts) == 1:
        (part,) = problem.parts
        return part.group, *part.rule
    group = problem.parts[0].group
    for part in problem.parts[1:]:
        group = Composition(group, part.group)
    return group, *group.quadrature()
