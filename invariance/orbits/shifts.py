"""`Shifts`: translations by correlation, what comes before and after them applied."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..groups import Grid
from ..groups.base import ability
from .correlation import shift_correlation
from .way import Problem, Run, Way, largest_norm, together

__all__ = ["Shifts"]

Array = NDArray[Any]

#: Bytes of one thread's transforms of a block of rows.
_ROWS_BYTES = 128 * 2**20
#: Share of the bound for transforms of second points: each piece transforms all first ones anew.
_PREPARED = 0.7
#: Bytes of the shifts of a tile of pairs in another library.
_TILE_BYTES = 16 * 2**20


class Shifts(Way):
    """Shifts by correlation, after `before` on the second points; then `after`, transposed."""

    name = "correlation"
    on_host = True

    def __init__(self, problem: Problem, place: int, grid: Grid):
        super().__init__(problem)
        self.before = together(problem.parts[:place])
        self.after = together(problem.parts[place + 1 :])
        self.cyclic = grid.cyclic
        pairs, self.weights = grid.pairs, problem.parts[place].rule[1]
        margin = np.zeros(2, dtype=int) if grid.cyclic else np.abs(pairs).max(axis=0)
        # Zeros beyond the frame turn the shifts that lose pixels into cyclic ones.
        self.margin = margin
        height, width = problem.shape[0] + margin[0], problem.shape[1] + margin[1]
        self.pairs = pairs
        self.correlation = shift_correlation(
            (height, width),
            pairs,
            problem.n_channels,
            problem.dtype,
            shown=tuple(problem.shown / (height, width)),
        )
        self.skips = 1 if self.correlation.transposed else 0
        self._kept: list[Array] | None = None
        if self.after is not None:
            n, item = len(self.after.rule[0]), problem.dtype.itemsize
            if n * item * prod(problem.shape) ** 2 <= problem.block_bytes:
                self._kept = list(self._made_transposes())

    @staticmethod
    def offers(problem: Problem) -> Shifts | None:
        if problem.evaluate is not None:
            return None
        for place in reversed(range(len(problem.parts))):
            part = problem.parts[place]
            # Elements are not listed only to be told that these are no shifts.
            if ability(part.group, "as_shifts") is None or part.order == inf:
                continue
            grid = part.group.as_shifts(part.rule[0])
            if grid is None:
                continue
            after = problem.parts[place + 1 :]
            transposable = problem.form.linear and all(p.group.linear for p in after)
            # A norm that changes after the shifts cannot be told from the shifted points.
            if problem.form.distance:
                transposable = transposable and all(p.group.unitary for p in after)
            # Shifts of the flattened points are none of the images that the base kernel sees.
            if grid.shape == problem.shape and (not after or transposable):
                return Shifts(problem, place, grid)
            return None
        return None

    def transposes(self) -> Iterator[tuple[Array | None, float]]:
        """Matrices that carry the transposes of `after` to first points, with their weights."""
        if self.after is None:
            yield None, 1.0
            return
        made = self._made_transposes() if self._kept is None else iter(self._kept)
        yield from zip(made, self.after.rule[1], strict=True)

    def _made_transposes(self) -> Iterator[Array]:
        assert self.after is not None
        basis = np.eye(prod(self.problem.shape), dtype=self.problem.dtype)
        elements = self.after.rule[0]
        for i in range(len(elements)):
            yield self.after.group.act(elements[i : i + 1], basis)[0].T

    def _n_before(self) -> int:
        return 1 if self.before is None else len(self.before.rule[0])

    def prepared_bytes(self, m: int) -> float:
        return float(m) * self.correlation.spectrum_bytes() * self._n_before()

    def pieces(self, m: int) -> int:
        return int(-(-self.prepared_bytes(m) // (_PREPARED * self.problem.block_bytes)))

    def row_step(self, width: int) -> int:
        correlation = self.correlation
        budget = min(_ROWS_BYTES, self.problem.block_bytes / 8)
        if self.problem.target is not None:
            return _whole(int(self._tile_pairs() // min(64, width * self._n_before())))
        most, tile = correlation.n_first, 2 * correlation.cache_bytes
        if not self.problem.reduction.extreme:  # all of `before` go into one tile
            numbers = 2 * len(correlation.rows) * len(correlation.frequencies)
            while (
                most > 8 and most * self._n_before() * self.problem.dtype.itemsize * numbers > tile
            ):
                most //= 2
        return _whole(int(np.clip(budget // correlation.first_bytes(), 8, most)))

    def _tile_pairs(self) -> float:
        """How many pairs another library computes at once: all shifts of them, a few times over."""
        correlation = self.correlation
        shifts = correlation.wanted.size + 4 * len(correlation.rows) * len(correlation.frequencies)
        budget = min(self.problem.block_bytes / 4, _TILE_BYTES)
        return budget / (2 * self.problem.dtype.itemsize * shifts)

    def pad(self, planes: Array) -> Array:
        """Zeros below and to the right of (n, channels, height, width)."""
        if not self.margin.any():
            return planes
        return np.pad(planes, ((0, 0), (0, 0), (0, self.margin[0]), (0, self.margin[1])))

    def padded_first(self, points: Array) -> Array:
        return self.pad(self.problem.first(points))

    def padded_second(self, points: Array) -> Array:
        images = self.problem.images(points)
        if self.margin.any():
            images = np.pad(images, ((0, 0), (0, self.margin[0]), (0, self.margin[1]), (0, 0)))
        return self.problem.form.second(images)

    def _spectra(self, points: Array, out: list[Array] | None = None) -> list[Array]:
        return self.correlation.spectra(self.padded_second(points), out)

    def moved(self, Y: Array) -> Array:
        """Second points after `before`, shape (m, r, d): those of a point are neighbours."""
        if self.before is None:
            return Y[:, None]
        moved = self.before.group.act(self.before.rule[0], Y).reshape(-1, *Y.shape)
        return np.ascontiguousarray(moved.swapaxes(0, 1))

    def terms(self, moved: Array, offsets: Array | None) -> tuple[Array | None, Array | None]:
        """What is added for each moved point; what is subtracted for each shift of it.

        ``moved`` has shape (m, r, d).
        """
        offsets = None if offsets is None else offsets[:, None]
        if self.cyclic or not self.problem.form.distance:
            terms = self.problem.column_terms(moved, offsets)
            return (None if terms is None else terms.ravel()), None
        points = moved.reshape(-1, moved.shape[2])
        frame = np.ones((1, self.problem.n_channels, *self.problem.shape[:2]), self.problem.dtype)
        norms = self.correlation.every(self.pad(frame), self._spectra(points**2))
        halves = norms[:, :, :, 0] / 2
        if offsets is not None:
            halves -= np.repeat(offsets, moved.shape[1]).astype(halves.dtype)
        return None, halves

    def prepare(self, Y: Array, offsets: Array | None, run: Run) -> Iterator[Any]:
        moved = self.moved(Y)
        terms, of_shifts = self.terms(moved, offsets)
        moved = moved.reshape(-1, Y.shape[1])
        norm = largest_norm(moved)
        if self.problem.folded:
            rate = moved.dtype.type(self.problem.form.rate)
            moved = rate * moved
            terms, of_shifts = (None if A is None else rate * A for A in (terms, of_shifts))
        budget = min(_ROWS_BYTES, self.problem.block_bytes) / 8
        step = 1 + int(budget // self.correlation.spectrum_bytes())
        spectra: Any = self.correlation.room(len(moved))

        def fill(start: int) -> None:
            some = slice(start, start + step)
            self._spectra(moved[some], [whole[:, some] for whole in spectra])

        run(fill, range(0, len(moved), step))
        on_grid = np.zeros(self.correlation.wanted.shape)
        np.add.at(on_grid, self.correlation.places(self.pairs), self.weights)
        weights, send = self.correlation.in_tile_order(on_grid), self.problem.send
        if self.before is not None:
            weights = (weights[:, None] * self.before.rule[1][:, None]).reshape(len(weights), -1)
        if self.problem.target is not None:
            matrices = [send(A) for A in self.correlation.matrices()]
            spectra = self.correlation.second_arrays(spectra, self.problem.target), matrices
        yield spectra, send(terms), send(of_shifts), send(weights), norm

    def block(self, X: Array, prepared: Any, terms: Array | None) -> list[Any]:
        reduction, xp = self.problem.reduction, self.problem.xp
        outputs: list[Any] = [None] * reduction.n_outputs
        for transpose, weight in self.transposes():
            own = X if transpose is None else X @ transpose
            first = _Lifted(self, own)
            if xp is not np:
                parts = self._parts_arrays(first, prepared, terms, self.lowest(own, prepared[-1]))
            elif reduction.extreme:
                parts = self._extremes(first, prepared, terms, self.lowest(own, prepared[-1]))
            else:
                parts = self._reduced(first, prepared, terms)
            for i, part in enumerate(parts):
                if part is None:
                    continue
                if self.before is not None and reduction.extreme:
                    part = xp.reshape(part, (len(X), -1, self._n_before()))
                    part = (xp.min if i else xp.max)(part, axis=2)
                if self.after is not None and not reduction.extreme:
                    part *= float(weight)
                out = outputs[i]
                outputs[i] = part if out is None else reduction.merge(out, part, i, xp)
        return outputs

    def _extremes(
        self, first: _Lifted, prepared: Any, row_terms: Array | None, minimum: bool
    ) -> list[Any]:
        spectra, terms, of_shifts, *_ = prepared
        parts = self.correlation.extremes(first, spectra, of_shifts, minimum)
        for part in parts:
            if part is not None and terms is not None:
                part += terms
            if part is not None and row_terms is not None:
                part += row_terms[:, None]
        return [*parts][: self.problem.reduction.n_outputs]

    def _of_pairs(self, prepared: Any, row_terms: Array | None) -> Any:
        """What is added at every shift, shape (m, n) or less."""
        terms, rows = prepared[1], self.problem.send(row_terms)
        if rows is not None and self.problem.folded:
            rows = float(self.problem.form.rate or 1) * rows
        if rows is None:
            return None if terms is None else terms[:, None]
        return rows[None, :] if terms is None else terms[:, None] + rows[None, :]

    def _together(self, values: Any) -> Any:
        """A tile (a, points moved by `before`, b, n) with the moves among the elements."""
        a, _, b, n = values.shape
        return self.problem.xp.reshape(values, (a, -1, self._n_before() * b, n))

    def _reduced(self, first: _Lifted, prepared: Any, row_terms: Array | None) -> list[Any]:
        spectra, _, of_shifts, weights, _ = prepared
        reduction, r = self.problem.reduction, self._n_before()
        m, n = spectra[0].shape[1], len(first)
        out: list[Array] = [
            np.empty((m // r, n, *reduction.tail), self.problem.dtype)
            for _ in range(reduction.n_outputs)
        ]
        pairs = self._of_pairs(prepared, row_terms)
        pairs = None if pairs is None else np.broadcast_to(pairs, (m, n))
        for some, values in self.correlation.values(first, spectra, of_shifts, pairs, r):
            parts = reduction.of(self._together(values), weights, self.problem.applied)
            for whole, part in zip(out, parts, strict=True):
                whole[some.start // r : some.stop // r] = part
        return [np.ascontiguousarray(part.swapaxes(0, 1)) for part in out]

    def _parts_arrays(
        self, first: _Lifted, prepared: Any, row_terms: Array | None, minimum: bool
    ) -> list[Any]:
        """`_extremes` or `_reduced` in another library."""
        (second, matrices), _, of_shifts, weights, _ = prepared
        reduction, xp = self.problem.reduction, self.problem.xp
        pairs = self._of_pairs(prepared, row_terms)
        n_extremes = 1 + minimum if reduction.extreme else 0
        own = self.correlation.first_arrays(first, weights)
        step = max(1, int(self._tile_pairs() // len(first)))
        if not n_extremes:
            step = max(1, step // self._n_before()) * self._n_before()
        tiles: list[list[Any]] = []
        for some, values in self.correlation.values_arrays(
            xp, own, second, matrices, of_shifts, step, n_extremes
        ):
            added: Any = 0
            if pairs is not None:
                added = pairs if pairs.shape[0] == 1 else pairs[some, :]
            if n_extremes:
                tiles.append([part + added for part in values])
            else:
                if pairs is not None:
                    values = values + added[None, :, None, :]
                tiles.append(
                    reduction.of(self._together(values), weights, self.problem.applied, xp)
                )
        parts = [
            tile[0] if len(tile) == 1 else xp.concat(tile)
            for tile in map(list, zip(*tiles, strict=True))
        ]
        return [xp.permute_dims(part, (1, 0, *range(2, part.ndim))) for part in parts]

    def operations(self, n: int, m: int) -> float:
        pairs = float(n) * m * self._n_before()
        if self.after is not None:
            pairs *= len(self.after.rule[0])
        axis = 1 if self.correlation.transposed else 0
        share = float(self.problem.shown[axis] / self.correlation.grid[axis])
        stages, reduction = self.correlation.operations(share), self.problem.reduction
        # Products with small matrices run at a fraction of a large one's rate.
        depth = self.correlation.depth * share
        products = stages["products"] * (1 + 8 / depth)
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
        return self._way.padded_first(self._points[some])
