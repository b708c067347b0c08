"""`Product`: every transformation applied, then matrix products. Always possible.

`Evaluation` is the same for a kernel that is no function of inner products, and `QuarterTurned`
computes one in four of the rotations that split into quarter turns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from math import inf, prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .numerics import half_squares
from .reductions import Reduction
from .way import (
    Problem,
    Run,
    Way,
    WeightedSet,
    Workspace,
    beside,
    changed,
    largest_norm,
    row_blocks,
    together,
)

Array = NDArray[Any]

#: First points whose products take as long as a copy of the features, measured.
_REPAID = 100
#: Points that are lifted at a time.
_POINTS = 32


class Product(Way):
    """Every transformation applied, then one matrix product for a tile."""

    name = "product"
    #: First points and moved second points of a tile: wide enough for the matrix product to run at
    #: full speed, small enough for what follows to find the values in cache.
    rows, columns = 512, 1024

    def __init__(self, problem: Problem):
        super().__init__(problem)
        self.host_only = problem.form is not None and not problem.linear  # points are lifted
        self.set = together(problem.sets)
        self.features: Array | None = None
        self.width = problem.lifted_size
        if problem.target is not None:  # whole blocks, as a device likes it
            self.rows = self.columns = 2**40

    def check(self) -> None:
        _ = self.set.rule

    @cached_property
    def n_elements(self) -> int:
        order = prod(part.order for part in self.problem.sets)
        return len(self.set.rule[0]) if order == inf else int(min(order, 1e300))

    def facing(self, support: Array, n: int) -> Way:
        """Leaving features out costs a copy, which a few, or few first points, do not repay."""
        if not self.problem.linear:
            support = self.problem.first(support.astype(float)[None]).ravel() != 0
        share = float(support.mean())
        if not 0 < share < 0.9 or n * (1 - share) <= _REPAID * share:
            return self
        return changed(self, features=np.flatnonzero(support))

    def first(self, X: Any) -> Any:
        """First points as rows of features."""
        rows = self.problem.first(X).reshape(len(X), -1) if self.host_only else X
        return rows if self.features is None else rows[:, self.features]

    def second(self, points: Array) -> Array:
        """Moved second points as rows of features."""
        rows = self.problem.second(points).reshape(len(points), -1) if self.host_only else points
        return rows if self.features is None else rows[:, self.features]

    def prepared_bytes(self, m: int) -> float:
        return float(self.problem.dtype.itemsize) * self.width * self.n_elements * m

    def _fitting(self, n_points: int) -> int:
        """How many times so many points are moved, lifted and put into tiles at once."""
        per_element = 3.0 * self.problem.dtype.itemsize * self.width * n_points
        return max(1, int(self.problem.block_bytes / 2 // per_element))

    def pieces(self, m: int) -> int:
        # Transformations come in blocks too: each is made once where outputs are cheap to merge.
        fitting = self._fitting(1)
        fewest = 64 if self.problem.reduction.tail else fitting
        return -(-m // max(min(fewest, fitting), fitting // self.n_elements))

    def row_bytes(self, width: int) -> float:
        moved = width * min(self.n_elements, self._fitting(width))
        values = 4 * min(self.columns, moved)
        kept = 2 * width * max(1, sum(self.problem.reduction.tail))
        return self.problem.dtype.itemsize * (3 * self.width + values + kept)

    def prepare(self, Y: Array, offsets: Array | None, run: Run) -> Iterator[tuple[float, Any]]:
        elements, weights = self.set.rule
        step, norm, m = min(len(elements), self._fitting(len(Y))), 0.0, len(Y)
        for some in row_blocks(len(elements), 1, step):
            width = max(1, self.columns // len(elements[some]))  # points of a tile
            share = -(-m // (width * run.threads)) * width
            tiles = partial(self._tiles, Y, offsets, elements[some], weights[some], width)
            parts, norms = zip(*run.map(tiles, row_blocks(m, 1, share)), strict=True)
            norm = max(norm, *norms)
            yield norm, (list(chain(*parts)), m)
            del parts  # before the next ones are made

    def _tiles(
        self, Y: Array, offsets: Any, elements: Array, weights: Array, width: int, some: slice
    ) -> tuple[list[tuple[slice, Any, Any]], float]:
        """Of some points: which, the weights (1, r) of some elements, and rows of a matrix.

        Rows are moved points with what is added to products, which meets ones, and the factors of
        the terms of first points. For extremes the largest norm, too.
        """
        m, r = some.stop - some.start, len(elements)
        moved = self.set.group.act(elements, Y[some]).reshape(r, m, -1)
        terms = self.problem.column_terms(moved, None if offsets is None else offsets[some])
        moved = moved.reshape(r * m, -1)
        norm = largest_norm(moved) if self.problem.reduction.extreme else 0.0
        factors = self.problem.row_factors(moved) if self.problem.has_row_terms else None
        lifted = beside(np, self.second(moved), None if terms is None else terms.ravel(), factors)
        lifted = self.problem.scaled(lifted, fresh=terms is not None).reshape(r, m, -1)
        del moved  # its memory serves the tiles
        send, tiles = self.problem.send, []
        for which in row_blocks(m, 1, width):
            for few in row_blocks(r, 1, self.columns):
                rows = np.ascontiguousarray(lifted[few, which]).reshape(-1, lifted.shape[2])
                place = slice(some.start + which.start, some.start + which.stop)
                tiles.append((place, send(self.shares(weights[few])[None]), send(rows)))
        return tiles, norm

    def shares(self, weights: Array) -> Array:
        """The weights of what `values` gives for each element."""
        return weights

    def own(self, X: Any, terms: Any, width: int) -> Any:
        """First points as rows of the width of those of the tiles."""
        first, xp = self.first(X), self.problem.xp
        meets = first.shape[1] + (terms is not None) < width
        return beside(xp, first, xp.ones_like(first[:, 0]) if meets else None, terms)

    def block(self, X: Any, prepared: Any, terms: Any, reduction: Reduction) -> list[Any]:
        tiles, m = prepared
        problem, xp, space = self.problem, self.problem.xp, Workspace(self.problem.dtype)
        own, outputs, before = self.own(X, terms, tiles[0][2].shape[1]), [], None
        for which, weights, matrix in tiles:
            values = self.values(own, matrix, space)
            values = xp.reshape(values, (1, own.shape[0], weights.shape[1], -1))
            parts = reduction.of(values, weights, problem.outer, xp)
            if len(tiles) == 1:
                return parts
            if before is None:
                outputs = [np.empty((len(X), m, *part.shape[2:]), part.dtype) for part in parts]
            for i, (out, part) in enumerate(zip(outputs, parts, strict=True)):
                seen = before == which  # by other elements
                out[:, which] = reduction.merge(out[:, which], part, i) if seen else part
            before = which
        return outputs

    def values(self, own: Any, matrix: Any, space: Workspace) -> Any:
        """Of a tile, shape (first points, elements, second points), axes joined or not."""
        if self.problem.target is not None:
            return own @ matrix.T
        return np.matmul(own, matrix.T, out=space.array("values", len(own), len(matrix)))

    def operations(self, n: int, m: int) -> float:
        share = 1.0 if self.features is None else len(self.features) / self.width
        values = 2 * self.width * share + self.problem.reduction.cost
        # Moving and lifting points costs passes over memory, worth some hundred operations each.
        return float(m) * self.n_elements * (n * values + 150.0 * self.width)


class Evaluation(Product):
    """The base kernel evaluated for every transformation, a tile at a time."""

    name = "product, kernel evaluated"
    rows, columns = 1024, 8192  # an evaluation has costs of its own at every call

    def __init__(self, problem: Problem):
        super().__init__(problem)
        self.width = prod(problem.shape)

    def facing(self, support: Array, n: int) -> Way:
        return self

    def values(self, own: Any, matrix: Any, space: Workspace) -> Any:
        return self.problem.evaluate(own, matrix)


class Differences(Product):
    """Squared distances from differences, for points so far away that products lose digits.

    The problem is one of a function of v = -|x - g z|^2 / 2, with nothing added to it.
    """

    name = "product, by differences"

    def facing(self, support: Array, n: int) -> Way:
        return self

    def values(self, own: Any, matrix: Any, space: Workspace) -> Any:
        return half_squares(own, matrix)

    def operations(self, n: int, m: int) -> float:
        return 10 * super().operations(n, m)  # measured: what differences take beside products


class QuarterTurned(Product):
    """The transformations within a quarter turn applied; quarter turns by `QuarterTurns`."""

    name = "product, with quarter turns"

    def __init__(self, problem: Problem, rest: WeightedSet):
        super().__init__(replace(problem, sets=[rest]))
        self.host_only = True
        self.turns = QuarterTurns(problem)

    @classmethod
    def offers(cls, problem: Problem) -> Self | None:
        if len(problem.sets) != 1 or problem.form is None or not problem.sets[0].whole:
            return None
        group = problem.sets[0].group
        rest = group.as_turns()
        if rest is None or not (problem.reduction.extreme or group.weights() is None):
            return None
        return cls(problem, WeightedSet(rest))

    def facing(self, support: Array, n: int) -> Way:
        lifted = self.problem.first(support.astype(float)[None])
        return changed(self, turns=self.turns.within(lifted.ravel() != 0))

    def first(self, X: Any) -> Any:
        return self.turns.first(X)

    def second(self, points: Array) -> Array:
        return self.turns.second(points)

    def shares(self, weights: Array) -> Array:
        return np.tile(weights, 4) / 4

    def values(self, own: Any, matrix: Any, space: Workspace) -> Any:
        return self.turns.values(own, matrix)

    def operations(self, n: int, m: int) -> float:
        return 1.5 * super().operations(n, m)


class QuarterTurns:
    """Inner products of lifted points with the quarter turns of the second.

    A quarter turn Q of a square only permutes pixels, and products of pixels that a `Form` holds.
    On a cycle of features the four inner products <a, b Q^k> are a cyclic correlation of length
    four, which a Fourier transform takes apart: two real products and a complex one.

    ``problem`` has ``first``, ``second`` and ``shape`` (side, side, channels).
    """

    def __init__(self, problem: Any):
        image = np.random.default_rng(0).random((1, *problem.shape))
        own, turned = (
            problem.second(i.reshape(1, -1)).ravel() for i in (image, np.rot90(image, axes=(1, 2)))
        )
        # No two features of a random image are equal unless they always are: sorting matches them.
        turn = np.empty(len(own), dtype=np.intp)
        turn[np.argsort(turned, kind="stable")] = np.argsort(own, kind="stable")
        cycles = [np.arange(len(own))]
        for _ in range(3):
            cycles.append(turn[cycles[-1]])
        if not np.array_equal(own[turn], turned) or not np.array_equal(turn[cycles[3]], cycles[0]):
            raise ValueError("a quarter turn does not permute the features")
        every = np.array(cycles)
        self._problem, self._cycles = problem, every[:, every.min(axis=0) == every[0]]

    def within(self, support: Array) -> QuarterTurns:
        """Without the cycles outside the support, features that not all first points have zero."""
        inside = np.asarray(support[self._cycles].any(axis=0))
        if not inside.any():  # all are blank: one cycle keeps the shapes of products
            inside[:1] = True
        return changed(self, _cycles=self._cycles[:, inside])

    def _transform(self, features: Array) -> list[Array]:
        """For each character of the group of order four, the trivial one last.

        The complex ones are one, as its real and its imaginary part.
        """
        a, b, c, d = (features.take(cycle, axis=1) for cycle in self._cycles)
        real, imaginary = a - c, d - b
        a += c
        b += d
        return [a - b, real, imaginary, a + b]

    def first(self, X: Array) -> Array:
        """What `values` needs of untransformed points: the four parts side by side."""
        parts = self._transform(self._problem.first(X).reshape(len(X), -1))
        # A cycle of length one or two is passed through several times.
        weights = 0.25 / (self._cycles == self._cycles[0]).sum(axis=0)
        for part, factor in zip(parts, (1, 2, 2, 1), strict=True):
            part *= (factor * weights).astype(X.dtype)
        return np.concatenate(parts, axis=1)

    def second(self, Y: Array) -> Array:
        """What `values` needs of points (m, d) that are turned."""
        size = self._cycles.shape[1]
        out = np.empty((len(Y), 4 * size), Y.dtype)
        # A few points at a time, so that the features themselves are never all there.
        for some in row_blocks(len(Y), 1, _POINTS):
            features = self._problem.second(Y[some])
            own = self._transform(features.reshape(len(features), -1))
            for i, values in enumerate(own):
                out[some, i * size : (i + 1) * size] = values
        return out

    def values(self, first: Array, second: Array) -> Array:
        """Inner products (n, 4, m) with the turns by 0, 90, 180, 270 degrees.

        Further columns of both are not turned: they go with the trivial character.
        """
        size = self._cycles.shape[1]
        edges = [size, 2 * size, 3 * size]
        a, c = np.split(first, edges, axis=1), np.split(second.T, edges)
        sign, trivial = a[0] @ c[0], a[3] @ c[3]
        real, imaginary = a[1] @ c[1], a[2] @ c[1]
        real += a[2] @ c[2]
        imaginary -= a[1] @ c[2]
        halves, quarters = trivial + sign, trivial - sign
        turns = (halves + real, quarters + imaginary, halves - real, quarters - imaginary)
        return np.stack(turns, axis=1)
