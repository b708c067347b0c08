"""`Shifts`: translations by correlation, what comes before and after them applied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..groups import Grid, Transformations
from .correlation import shift_correlation
from .reductions import Reduction
from .way import Problem, Shown, Way, largest_norm, shallow, together

Array = NDArray[Any]

#: Bytes of one thread's transforms of a block of rows.
_ROWS_BYTES = 128 * 2**20
#: Share of the bound for transforms of second points: each piece transforms all first ones anew.
_PREPARED = 0.7


class Shifts(Way):
    """Shifts by correlation, after `before` on the second points; then `after`, transposed."""

    name = "correlation"
    on_host = True  # type: ignore[assignment]

    def __init__(self, problem: Problem, place: int, grid: Grid):
        super().__init__(problem)
        self.before = together(problem.parts[:place])
        self.after = together(problem.parts[place + 1 :])
        self.n_before = 1 if self.before is None else len(self.before.rule[0])
        self.n_after = 1 if self.after is None else len(self.after.rule[0])
        self.cyclic, self.pairs = grid.cyclic, grid.pairs
        self.weights = problem.parts[place].rule[1]
        # Zeros beyond the frame turn the shifts that lose pixels into cyclic ones.
        self.margin = np.zeros(2, dtype=int) if grid.cyclic else np.abs(self.pairs).max(axis=0)
        self._see(np.array(problem.shape[:2], dtype=float))
        self._kept: list[Array] | None = None
        item = problem.dtype.itemsize
        if self.after is not None:
            if self.n_after * item * prod(problem.shape) ** 2 <= problem.block_bytes:
                self._kept = [self._transpose(i) for i in range(self.n_after)]

    @classmethod
    def offers(cls, problem: Problem) -> Self | None:
        form = problem.form
        for place in reversed(range(len(problem.parts) if form is not None else 0)):
            part = problem.parts[place]
            # Elements are not listed only to be told that these are no shifts.
            if part.order == inf or type(part.group).as_shifts is Transformations.as_shifts:
                continue
            grid = part.group.as_shifts(part.rule[0])
            if grid is None:
                continue
            after = [p.group for p in problem.parts[place + 1 :]]
            # A norm that changes after the shifts cannot be told from the shifted points.
            transposable = form.linear and all(
                group.linear and (group.unitary or not form.distance) for group in after
            )
            # Shifts of the flattened points are none of the images that the base kernel sees.
            if grid.shape == problem.shape and (not after or transposable):
                return cls(problem, place, grid)
            return None
        return None

    def facing(self, shown: Shown) -> Shifts:
        way: Shifts = shallow(self)
        way._see(shown.mean)
        return way

    def _see(self, shown: Array) -> None:
        """Choose the correlation for mean numbers of rows and columns that are not blank."""
        grid = tuple(int(side) for side in self.margin + self.problem.shape[:2])
        given = self.pairs, self.problem.n_channels, self.problem.dtype
        self.correlation = shift_correlation(grid, *given, shown=tuple(shown / grid))
        self.skips = 1 if self.correlation.transposed else 0
        self._share = max(1e-3, float(shown[self.skips] / grid[self.skips]))

    def _transpose(self, i: int) -> Array:
        """The matrix that carries the transpose of an element of `after` to first points."""
        assert self.after is not None
        basis = np.eye(prod(self.problem.shape), dtype=self.problem.dtype)
        moved: Array = self.after.group.act(self.after.rule[0][i : i + 1], basis)[0]
        return moved.T

    def prepared_bytes(self, m: int) -> float:
        return float(m) * self.correlation.spectrum_bytes * self.n_before

    def pieces(self, m: int) -> int:
        return int(-(-self.prepared_bytes(m) // (_PREPARED * self.problem.block_bytes)))

    def row_step(self, width: int) -> int:
        correlation, item = self.correlation, self.problem.dtype.itemsize
        most, tile = correlation.n_first, 2 * correlation.cache_bytes
        if not self.problem.reduction.extreme:  # all of `before` go into one tile
            numbers = 2 * len(correlation.rows) * len(correlation.frequencies)
            while most > 8 and most * self.n_before * item * numbers > tile:
                most //= 2
        budget = min(_ROWS_BYTES, self.problem.block_bytes / 8)
        return _whole(int(np.clip(budget // correlation.first_bytes, 8, most)))

    def _second(self, points: Array) -> Array:
        """Second points lifted, with zeros below and to the right."""
        images = points.reshape(len(points), *self.problem.shape)
        if self.margin.any():
            images = np.pad(images, ((0, 0), (0, self.margin[0]), (0, self.margin[1]), (0, 0)))
        assert self.problem.form is not None
        return self.problem.form.second(images)

    def _first(self, points: Array) -> Any:
        """First points as images (n, channels, height, width), or what gives parts of them."""
        if not self.problem.linear:
            return _Lifted(self, points)
        return self._padded(points.reshape(len(points), *self.problem.shape).transpose(0, 3, 1, 2))

    def _padded(self, planes: Array) -> Array:
        """With zeros below and to the right."""
        if not self.margin.any():
            return planes
        return np.pad(planes, ((0, 0), (0, 0), (0, self.margin[0]), (0, self.margin[1])))

    def terms(self, moved: Array, offsets: Array | None) -> tuple[Array | None, Array | None]:
        """What is added for each moved point; what is subtracted for each shift of it.

        ``moved`` has shape (m, r, d).
        """
        problem, offsets = self.problem, None if offsets is None else offsets[:, None]
        if self.cyclic or problem.form is None or not problem.form.distance:
            terms = problem.column_terms(moved, offsets)
            return (None if terms is None else terms.ravel()), None
        points = moved.reshape(-1, moved.shape[2])
        frame = np.zeros((1, problem.n_channels, *self.correlation.grid), problem.dtype)
        frame[:, :, : problem.shape[0], : problem.shape[1]] = 1
        squares = self.correlation.spectra(self._second(points**2))
        norms = self.correlation.every(frame, squares)
        halves = norms[:, :, :, 0] / 2
        if offsets is not None:
            halves -= np.repeat(offsets, moved.shape[1]).astype(halves.dtype)
        return None, halves

    def prepare(self, Y: Array, offsets: Array | None, run: Callable[..., Any]) -> Iterator[Any]:
        problem, correlation, moved = self.problem, self.correlation, Y[:, None]
        if self.before is not None:  # (m, r, d): the moves of a point are neighbours
            moved = self.before.group.act(self.before.rule[0], Y).reshape(-1, *Y.shape)
            moved = np.ascontiguousarray(moved.swapaxes(0, 1))
        terms, of_shifts = self.terms(moved, offsets)
        moved = moved.reshape(-1, Y.shape[1])
        norm = largest_norm(moved)
        if problem.folded:
            assert problem.form is not None
            rate = moved.dtype.type(problem.form.rate)
            moved = rate * moved
            terms, of_shifts = (None if A is None else rate * A for A in (terms, of_shifts))
        budget = min(_ROWS_BYTES, problem.block_bytes) / 8
        step = 1 + int(budget // correlation.spectrum_bytes)
        spectra: Any = correlation.room(len(moved))

        def fill(start: int) -> None:
            some = slice(start, start + step)
            correlation.spectra(self._second(moved[some]), [whole[:, some] for whole in spectra])

        list(run(fill, range(0, len(moved), step)))
        on_grid = np.zeros(correlation.wanted.shape)
        np.add.at(on_grid, correlation.places(self.pairs), self.weights)
        weights = correlation.in_tile_order(on_grid)
        if self.before is not None:
            weights = (weights[:, None] * self.before.rule[1][:, None]).reshape(len(weights), -1)
        yield spectra, terms, of_shifts, weights, norm

    def block(self, X: Array, prepared: Any, terms: Any, reduction: Reduction) -> list[Any]:
        spectra, others, of_shifts, weights, norm = prepared
        problem, r = self.problem, self.n_before
        added = self._of_pairs(others, terms)
        outputs: list[Any] = [None] * reduction.n_outputs
        for i in range(self.n_after):
            own, parts = X, []
            if self.after is not None:
                own = X @ (self._transpose(i) if self._kept is None else self._kept[i])
            first = self._first(own)
            if reduction.extreme:
                both = self.lowest(own, norm)
                found = self.correlation.extremes(first, spectra, of_shifts, both)
                for part, either in zip(found[: 1 + both], (np.max, np.min), strict=False):
                    part = part if added is None else part + added.T
                    parts.append(part if r == 1 else either(part.reshape(len(X), -1, r), axis=2))
            else:
                tiles = []
                for _, values in self.correlation.values(first, spectra, of_shifts, added, r):
                    if r > 1:  # the moves are among the elements
                        a, _, b, n = values.shape
                        values = values.reshape(a, -1, r * b, n)
                    tiles.append(reduction.of(values, weights, problem.outer))
                for same in zip(*tiles, strict=True):
                    part = np.concatenate(same)
                    if self.after is not None:
                        part = part * float(self.after.rule[1][i])
                    parts.append(part.swapaxes(0, 1))
            for k, part in enumerate(parts):
                out = outputs[k]
                outputs[k] = part if out is None else reduction.merge(out, part, k)
        return [problem.send(output) for output in outputs]

    def _of_pairs(self, terms: Array | None, rows: Array | None) -> Array | None:
        """What is added at every shift, of shape (m, n) or less."""
        if rows is None:
            return None if terms is None else terms[:, None]
        if self.problem.folded:
            assert self.problem.form is not None
            rows = float(self.problem.form.rate or 1) * rows
        return rows[None, :] if terms is None else terms[:, None] + rows[None, :]

    def operations(self, n: int, m: int) -> float:
        pairs = float(n) * m * self.n_before * self.n_after
        stages, reduction = self.correlation.operations(self._share), self.problem.reduction
        # Products with small matrices run at a fraction of a large one's rate.
        products = stages["products"] * (1 + 8 / (self.correlation.depth * self._share))
        values = len(self.pairs) * (reduction.cost + (0 if reduction.extreme else 8))
        return pairs * (products + 2 * (stages["rows"] + stages["columns"]) + values)


def _whole(size: int) -> int:
    """A little less: products are quickest at multiples of 16."""
    return size - size % 16 if size > 16 else max(1, size)


class _Lifted:
    """First points as images that are lifted where they are read: channels may be many."""

    def __init__(self, way: Shifts, points: Array):
        self._way, self._points = way, points

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, some: slice) -> Array:
        return self._way._padded(self._way.problem.first(self._points[some]))
