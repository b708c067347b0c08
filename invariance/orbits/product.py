"""`Product`: every transformation applied, then matrix products. Always possible.

`Evaluation` is the same for a kernel that is no function of inner products, and `Turns` computes
one in four of the rotations that split into quarter turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import namespace
from .reductions import Extremes, Reduction
from .way import (
    Part,
    Problem,
    Shown,
    Way,
    Workspace,
    beside,
    joined,
    largest_norm,
    row_blocks,
    shallow,
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
        part = together(problem.parts)
        assert part is not None
        self.group, (self.elements, self.weights) = part.group, part.rule
        self.features: Array | None = None
        self._width = problem.lifted_size
        if problem.target is not None:  # whole blocks, as a device likes it
            self.rows = self.columns = 2**40

    def facing(self, shown: Shown) -> Product:
        """With the features left out that are zero for all first points."""
        problem, n = self.problem, len(shown.boxes)
        way: Product = shallow(self, skips=int(np.argmin(shown.mean / problem.shape[:2])))
        support = shown.support()
        # Leaving features out costs a copy, which a few of them, or few first points, do not repay.
        share = float(support.mean())
        if 0 < share < 0.9 and n * (1 - share) > _REPAID * share:
            # Features along that axis, so that those of a range of rows or columns are a slice.
            linear = problem.form is not None and problem.form.linear
            if linear:  # points as they are, channels last
                support = np.moveaxis(support, 0, -1)
            features = np.arange(support.size).reshape(support.shape)
            axis = way.skips + (0 if linear else 1)
            way.features = np.moveaxis(features, axis, 0)[np.moveaxis(support, axis, 0)]
        return way

    def prepared_bytes(self, m: int) -> float:
        return float(self.problem.dtype.itemsize) * self._width * len(self.elements) * m

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
        moved = width * min(len(self.elements), self._fitting(width))
        per_row = self.problem.dtype.itemsize * (
            3 * self._width
            + 4 * min(self.columns, moved)
            + 2 * width * max(1, sum(self.problem.reduction.tail))
        )
        return int(np.clip(self.budget // per_row, 1, self.rows))

    def prepare(self, Y: Array, offsets: Array | None, run: Callable[..., Any]) -> Iterator[Any]:
        problem, step = self.problem, min(len(self.elements), self._fitting(len(Y)))
        with_terms = offsets is not None or (problem.form is not None and problem.form.distance)
        both = problem.reduction.extreme and problem.reduction.n_outputs > 1
        # Threads lift some elements each, which are put together in tiles.
        chunk = step if run is map else max(1, min(-(-step // 8), self.columns))
        norm = 0.0
        for first in range(0, len(self.elements), step):
            some = slice(first, first + step)
            moved = self.group.act(self.elements[some], Y)
            moved = moved.reshape(len(moved), len(Y), -1)
            if both:
                norm = max(norm, largest_norm(moved.reshape(-1, moved.shape[2])))
            chunks = [moved[a : a + chunk] for a in range(0, len(moved), chunk)]
            parts = list(run(partial(self.lifted, offsets=offsets), chunks))
            del moved, chunks
            wanted = self._tiles(parts, self.weights[some], len(Y))
            # Nothing here refers to the tiles, which are gone when the next ones are made.
            yield list(run(self._tile, wanted)), norm, with_terms, len(Y)

    def _tiles(self, parts: list[Array], weights: Array, m: int) -> Iterator[tuple[Any, ...]]:
        """Second points, the weights of some elements, and the lifted points of these."""
        chunk, r = len(parts[0]), len(weights)
        for which in row_blocks(m, 1, max(1, self.columns // r)):
            if len(parts) == 1:
                for some in row_blocks(r, 1, self.columns):
                    yield which, weights[some], [parts[0][some]]
                continue
            for k in row_blocks(len(parts), chunk, self.columns):
                yield which, weights[k.start * chunk : k.stop * chunk], parts[k]

    def _tile(self, given: tuple[slice, Array, list[Array]]) -> tuple[slice, Any, Any]:
        """Which second points, the weights (1, r) of the elements, and their rows of a matrix."""
        which, weights, parts = given
        tile = joined(np, [part[:, which] for part in parts])
        tile = np.ascontiguousarray(tile).reshape(-1, tile.shape[2])
        return which, self.problem.send(self._shares(weights)[None]), self.problem.send(tile)

    def _shares(self, weights: Array) -> Array:
        """The weights of what `_values` gives for each element."""
        return weights

    def lifted(self, moved: Array, offsets: Array | None) -> Array:
        """Moved points (r, m, d) as rows (r, m, ...), with what is added to products."""
        r, m, _ = moved.shape
        problem = self.problem
        assert problem.form is not None
        lifted = problem.rows(moved.reshape(r * m, -1), problem.form.second)
        if self.features is not None:
            lifted = lifted[:, self.features]
        terms = problem.column_terms(moved, offsets)
        ones = np.ones(r * m, lifted.dtype) if problem.first_terms else None
        whole: Array = beside(np, lifted, None if terms is None else terms.ravel(), ones)
        if problem.folded:
            factor = whole.dtype.type(problem.form.rate)
            whole = np.multiply(whole, factor, out=None if terms is None else whole)
        return whole.reshape(r, m, -1)

    def own(self, X: Any, with_terms: bool, terms: Any) -> Any:
        """First points as rows that meet those of `lifted`."""
        assert self.problem.form is not None
        first = self.problem.rows(X, self.problem.form.first)
        if self.features is not None:
            first = first[:, self.features]
        xp = namespace(first)
        return beside(xp, first, xp.ones_like(first[:, 0]) if with_terms else None, terms)

    def block(self, X: Any, prepared: Any, terms: Any, reduction: Reduction) -> list[Any]:
        tiles, norm, with_terms, m = prepared
        problem, xp = self.problem, self.problem.xp
        own, some = self.own(X, with_terms, terms), slice(None)
        if self.features is not None:
            seen = np.flatnonzero(own.any(axis=0))
            some = slice(seen[0], seen[-1] + 1) if len(seen) else slice(0)
            own = np.ascontiguousarray(own[:, some])
        own, space = problem.send(own), Workspace(problem.dtype)
        missing = [None] * (reduction.n_outputs - 1)
        if reduction.extreme and missing and not self.lowest(X, norm):
            reduction = Extremes()
        outputs: list[Any] = []
        done = -1  # up to which second point some elements are in already
        for which, weights, matrix in tiles:
            values = self._values(own, matrix, some, space)
            values = xp.reshape(values, (1, own.shape[0], weights.shape[1], -1))
            parts = reduction.of(values, weights, problem.outer, xp)
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
        return outputs if len(outputs) > 1 or not missing else [*outputs, *missing]

    def _values(self, own: Any, matrix: Any, some: slice, space: Workspace) -> Any:
        if self.problem.target is not None:
            return own @ matrix[:, some].T
        return np.matmul(own, matrix[:, some].T, out=space.array("values", len(own), len(matrix)))

    def operations(self, n: int, m: int) -> float:
        values = float(n) * m * len(self.elements)
        share = 1.0 if self.features is None else len(self.features) / self._width
        # Moving and lifting points costs passes over memory, worth some hundred operations each.
        moving = 150.0 * m * len(self.elements) * self._width
        return values * (2 * self._width * share + self.problem.reduction.cost) + moving


class Evaluation(Product):
    """The base kernel evaluated for every transformation, a tile at a time."""

    rows, columns = 1024, 8192  # an evaluation has costs of its own at every call
    evaluates = True

    def __init__(self, problem: Problem):
        super().__init__(problem)
        self._width = prod(problem.shape)

    def facing(self, shown: Shown) -> Product:
        return self

    def lifted(self, moved: Array, offsets: Array | None) -> Array:
        return moved

    def own(self, X: Any, with_terms: bool, terms: Any) -> Any:
        return X

    def _values(self, own: Any, matrix: Any, some: slice, space: Workspace) -> Any:
        assert self.problem.evaluate is not None
        return self.problem.evaluate(own, matrix)


class Turns(Product):
    """The transformations within a quarter turn applied; quarter turns by `QuarterTurns`."""

    name = "product, with quarter turns"
    on_host = True  # type: ignore[assignment]

    def __init__(self, problem: Problem, rest: Part):
        super().__init__(replace(problem, parts=[rest]))
        self.turns = QuarterTurns(problem)

    @classmethod
    def offers(cls, problem: Problem) -> Self | None:
        if len(problem.parts) != 1 or problem.form is None or not problem.parts[0].whole:
            return None
        group = problem.parts[0].group
        rest = group.as_turns()
        if rest is None or not (problem.reduction.extreme or group.weights() is None):
            return None
        return cls(problem, Part(rest))

    def facing(self, shown: Shown) -> Turns:
        way: Turns = shallow(self, turns=self.turns.within(shown.support().ravel()))
        way.skips = int(np.argmin(shown.mean / self.problem.shape[:2]))
        return way

    def prepared_bytes(self, m: int) -> float:
        return 4 / 3 * super().prepared_bytes(m)

    def lifted(self, moved: Array, offsets: Array | None) -> Array:
        r, m, _ = moved.shape
        parts = self.turns.second(moved.reshape(r * m, -1))
        terms = self.problem.column_terms(moved, offsets)
        terms = np.zeros((r, m), moved.dtype) if terms is None else terms
        ones = np.ones(r * m, parts.dtype) if self.problem.first_terms else None
        lifted: Array = beside(np, ones, terms.ravel(), parts)
        if self.problem.folded:
            assert self.problem.form is not None
            lifted *= lifted.dtype.type(self.problem.form.rate)
        return lifted.reshape(r, m, -1)

    def own(self, X: Any, with_terms: bool, terms: Any) -> Any:
        return beside(np, terms, np.ones(len(X), X.dtype), self.turns.first(X))

    def _shares(self, weights: Array) -> Array:
        return np.tile(weights, 4) / 4

    def _values(self, own: Any, matrix: Any, some: slice, space: Workspace) -> Any:
        return self.turns.values(own, matrix, 1 + int(self.problem.first_terms), self.problem.xp)

    def operations(self, n: int, m: int) -> float:
        return 1.5 * super().operations(n, m)


class QuarterTurns:
    """Inner products of lifted points with the quarter turns of the second.

    A quarter turn Q of a square only permutes pixels, and so it permutes the products of pixels
    that a `Form` holds. On a cycle of features the four inner products <a, b Q^k> are a cyclic
    correlation of length four, which a Fourier transform of that length takes apart: two real
    products, and a complex one of which four turns need the real and the imaginary part once each.

    Parameters
    ----------
    problem : object with ``second`` and ``shape`` (side, side, channels)
        And ``first``, for the first points.

    Raises
    ------
    ValueError
        If a quarter turn does not permute the features.
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
        self._every = np.array(cycles)
        if not np.array_equal(own[turn], turned) or not np.array_equal(turn[cycles[3]], cycles[0]):
            raise ValueError("a quarter turn does not permute the features")
        self._problem = problem
        self._choose(self._every.min(axis=0) == self._every[0])

    def _choose(self, chosen: Array) -> None:
        self._cycles = self._every[:, chosen]
        # A cycle of length one or two is passed through several times.
        repeats = (self._cycles == self._cycles[0]).sum(axis=0)
        self._weights = 0.25 / repeats

    def within(self, support: Array) -> QuarterTurns:
        """Without the cycles outside the support, features that not all first points have zero."""
        turns: QuarterTurns = shallow(self)
        first = self._every.min(axis=0) == self._every[0]
        turns._choose(first & support[self._every].any(axis=0))
        return turns

    def _transform(self, features: Array) -> list[Array]:
        """For each character of the group of order four; the complex ones as real, imaginary."""
        a, b, c, d = (features.take(cycle, axis=1) for cycle in self._cycles)
        real, imaginary = a - c, d - b
        a += c
        b += d
        return [a + b, a - b, real, imaginary]

    def first(self, X: Array) -> Array:
        """What `values` needs of untransformed points: the four parts side by side."""
        parts = self._transform(self._problem.first(X).reshape(len(X), -1))
        weights = self._weights.astype(X.dtype)
        for part, factor in zip(parts, (1, 1, 2, 2), strict=True):
            part *= factor * weights
        return np.concatenate(parts, axis=1)

    def second(self, Y: Array) -> Array:
        """What `values` needs of points (m, d) that are turned."""
        size = self._cycles.shape[1]
        out = np.empty((len(Y), 4 * size), Y.dtype)
        # A few points at a time, so that the features themselves are never all there.
        for start in range(0, len(Y), _POINTS):
            some = slice(start, start + _POINTS)
            features = self._problem.second(Y[some])
            own = self._transform(features.reshape(len(features), -1))
            for i, values in enumerate(own):
                out[some, i * size : (i + 1) * size] = values
        return out

    def values(self, first: Any, second: Any, lead: int = 0, xp: Any = np) -> Any:
        """Inner products (n, 4, m) with the turns by 0, 90, 180, 270 degrees.

        The first ``lead`` columns of both are not turned.
        """
        size = self._cycles.shape[1]
        edges = [lead + i * size for i in range(5)]
        a = [first[:, x:y] for x, y in pairwise(edges)]
        c = [second[:, x:y].T for x, y in pairwise(edges)]
        # What is not turned goes with the trivial character.
        trivial, sign = first[:, : edges[1]] @ second[:, : edges[1]].T, a[1] @ c[1]
        real, imaginary = a[2] @ c[2], a[3] @ c[2]
        real += a[3] @ c[3]
        imaginary -= a[2] @ c[3]
        halves, quarters = trivial + sign, trivial - sign
        turns = (halves + real, quarters + imaginary, halves - real, quarters - imaginary)
        return xp.stack(turns, axis=1)
