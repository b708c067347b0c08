"""`Product`: every transformation applied, then matrix products. Always possible."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import namespace
from .correlation.tile import Workspace
from .reductions import Extremes
from .way import Problem, Run, Way, beside, largest_norm, row_blocks, together

__all__ = ["Product"]

Array = NDArray[Any]

#: First points and moved second points of a tile: wide enough for the matrix product to run at full
#: speed, small enough for what follows to find the values in cache.
_ROWS, _COLUMNS = 512, 1024
#: The same where a kernel is evaluated, which has costs of its own at every call.
_EVALUATED = 1024, 8192
#: First points whose products take as long as a copy of the features, measured.
_REPAID = 100


class Product(Way):
    """Every transformation applied, then one matrix product for a tile.

    Kernels that are no function of inner products are evaluated, a tile at a time.
    """

    name = "product"

    def __init__(self, problem: Problem):
        super().__init__(problem)
        part = together(problem.parts)
        assert part is not None
        self.group, (self.elements, self.weights) = part.group, part.rule
        self.rows, self.columns = (_ROWS, _COLUMNS) if problem.evaluate is None else _EVALUATED
        self.features: Array | None = None
        if problem.target is not None:  # whole blocks, as a device likes it
            self.rows = self.columns = 2**40
        if problem.evaluate is not None:
            return
        self.skips = int(np.argmin(problem.shown / problem.shape[:2]))
        support, n = problem.support, np.inf if problem.boxes is None else len(problem.boxes)
        # Leaving features out costs a copy, which a few of them, or few first points, do not repay.
        share = 1.0 if support is None else float(support.mean())
        if support is not None and share < 0.9 and n * (1 - share) > _REPAID * share:
            # Features along that axis, so that those of a range of rows or columns are a slice.
            if problem.form.linear:  # points as they are, channels last
                support = np.moveaxis(support, 0, -1)
            features = np.arange(support.size).reshape(support.shape)
            axis = self.skips + (0 if problem.form.linear else 1)
            self.features = np.moveaxis(features, axis, 0)[np.moveaxis(support, axis, 0)]

    @property
    def _width(self) -> int:
        problem = self.problem
        return problem.lifted_size if problem.evaluate is None else prod(problem.shape)

    def prepared_bytes(self, m: int) -> float:
        return self.problem.dtype.itemsize * self._width * len(self.elements) * m

    def _fitting(self, n_points: int) -> int:
        """How many times so many points are moved, lifted and put into tiles at once."""
        per_element = 3.0 * self.problem.dtype.itemsize * self._width * n_points
        return max(1, int(self.problem.block_bytes / 2 // per_element))

    def pieces(self, m: int) -> int:
        # Transformations come in blocks too: each is made once where outputs are cheap to merge.
        fitting = self._fitting(1)
        fewest = 64 if self.problem.reduction.tail else fitting
        return -(-m // max(min(fewest, fitting), fitting // len(self.elements)))

    def row_step(self, width: int) -> int:
        item, problem = self.problem.dtype.itemsize, self.problem
        moved = width * min(len(self.elements), self._fitting(width))
        per_row = item * (
            3 * self._width
            + 4 * min(self.columns, moved)
            + 2 * width * max(1, sum(problem.reduction.tail))
        )
        return int(np.clip(self.budget // per_row, 1, self.rows))

    def lifted(self, moved: Array, offsets: Array | None) -> Any:
        """Moved points (r, m, d) as rows (r, m, ...), with what is added to products."""
        r, m, _ = moved.shape
        problem, points = self.problem, moved.reshape(r * m, -1)
        if problem.evaluate is not None:
            return moved
        lifted = problem.rows(points, problem.form.second)
        if self.features is not None:
            lifted = lifted[:, self.features]
        terms = problem.column_terms(moved, offsets)
        ones = np.ones(r * m, lifted.dtype) if problem.first_terms else None
        whole = beside(lifted, None if terms is None else terms.ravel(), ones)
        if problem.folded:
            rate = whole.dtype.type(problem.form.rate)
            whole = np.multiply(whole, rate, out=None if terms is None else whole)
        return whole.reshape(r, m, -1)

    def own(self, X: Any, with_terms: bool, terms: Any) -> Any:
        """First points as rows that meet those of `lifted`."""
        if self.problem.evaluate is not None:
            return X
        first = self.problem.rows(X, self.problem.form.first)
        if self.features is not None:
            first = first[:, self.features]
        ones = namespace(first).ones_like(first[:, 0]) if with_terms else None
        return beside(first, ones, terms)

    def prepare(self, Y: Array, offsets: Array | None, run: Run) -> Iterator[Any]:
        step, norm = min(len(self.elements), self._fitting(len(Y))), 0.0
        with_terms = self.problem.form.distance or offsets is not None
        for start in range(0, len(self.elements), step):
            some = slice(start, start + step)
            moved = self.group.act(self.elements[some], Y)
            moved = moved.reshape(len(moved), len(Y), -1)
            if self.problem.reduction.n_outputs > 1 and self.problem.reduction.extreme:
                norm = largest_norm(moved.reshape(-1, moved.shape[2]))
            lifted = self.lifted(moved, offsets)
            del moved
            yield self._tiles(lifted, self.weights[some]), norm, with_terms, len(Y)

    def _tiles(self, lifted: Array, weights: Array) -> list[tuple[slice, Any, Any]]:
        """Which second points, the weights (1, r) of the elements, and their rows of a matrix."""
        r, m, width = lifted.shape
        across = max(1, self.columns // r)
        tiles = []
        for which in row_blocks(m, 1, across):
            for some in row_blocks(r, 1, self.columns):
                tile = np.ascontiguousarray(lifted[some, which])
                tile = tile.reshape(tile.shape[0] * tile.shape[1], width)
                own = self._shares(weights[some])[None]
                tiles.append((which, self.problem.send(own), self.problem.send(tile)))
        return tiles

    def _shares(self, weights: Array) -> Array:
        """The weights of what `_values` gives for each element."""
        return weights

    def block(self, X: Any, prepared: Any, terms: Any) -> list[Any]:
        tiles, norm, with_terms, m = prepared
        problem, reduction, xp = self.problem, self.problem.reduction, self.problem.xp
        own = self.own(X, with_terms, terms)
        some = slice(None)
        if self.features is not None:
            seen = np.flatnonzero(own.any(axis=0))
            some = slice(seen[0], seen[-1] + 1) if len(seen) else slice(0)
            own = np.ascontiguousarray(own[:, some])
        own = problem.send(own)
        space = Workspace(own.dtype) if xp is np and problem.evaluate is None else None
        if reduction.extreme and not self.lowest(X, norm):
            reduction = Extremes()
        outputs: list[Any] = []
        done = -1  # up to which second point some elements are in already
        for which, weights, matrix in tiles:
            values = self._values(own, matrix, some, space)
            values = xp.reshape(values, (1, own.shape[0], weights.shape[1], -1))
            parts = reduction.of(values, weights, problem.applied, xp)
            if len(tiles) == 1:
                outputs = parts
                break
            if not outputs:
                outputs = [np.empty((len(X), m, *part.shape[2:]), part.dtype) for part in parts]
            for i, (out, part) in enumerate(zip(outputs, parts, strict=True)):
                if which.start > done:
                    out[:, which] = part
                else:
                    reduction.merge(out[:, which], part, i)
            done = which.start
        return [*outputs, *[None] * (problem.reduction.n_outputs - len(outputs))]

    def _values(self, own: Any, matrix: Any, some: slice, space: Workspace | None) -> Any:
        if self.problem.evaluate is not None:
            return self.problem.evaluate(own, matrix)
        if space is None:
            return own @ matrix[:, some].T
        return np.matmul(own, matrix[:, some].T, out=space.array("values", len(own), len(matrix)))

    def operations(self, n: int, m: int) -> float:
        values = float(n) * m * len(self.elements)
        share = 1.0 if self.features is None else len(self.features) / self._width
        # Moving and lifting points costs passes over memory, worth some hundred operations each.
        moving = 150.0 * m * len(self.elements) * self._width
        return values * (2 * self._width * share + self.problem.reduction.cost) + moving
