"""`Shifts`: translations by correlation, what comes before and after them applied."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..array_api import like
from ..groups import Composition, Grid, Transformations
from ..groups.abilities import Abilities
from .correlation import shift_correlation
from .way import Part, Problem, Run, Way, largest_norm

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

    def __init__(self, problem: Problem, place: int, grid: Grid):
        super().__init__(problem)
        self.before = _together(problem.parts[:place])
        self.after = _together(problem.parts[place + 1 :])
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
        self.grid_weights = np.zeros(self.correlation.wanted.shape)
        np.add.at(self.grid_weights, self.correlation.places(pairs), self.weights)
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
            if type(part.group).as_shifts is Abilities.as_shifts or part.order == inf:
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
        per_row = 3 * self.problem.dtype.itemsize * self.problem.n_channels
        per_row *= correlation.height * correlation.width
        budget = min(_ROWS_BYTES, self.problem.block_bytes / 8)
        return int(np.clip(budget // per_row, 8, correlation.n_first))

    def pad(self, planes: Array) -> Array:
        """Zeros below and to the right of (n, channels, height, width)."""
        if not self.margin.any():
            return planes
        return np.pad(planes, ((0, 0), (0, 0), (0, self.margin[0]), (0, self.margin[1])))

    def padded_second(self, points: Array) -> Array:
        images = self.problem.images(points)
        if self.margin.any():
            images = np.pad(images, ((0, 0), (0, self.margin[0]), (0, self.margin[1]), (0, 0)))
        return self.problem.form.second(images)

    def _spectra(self, points: Array) -> list[Array]:
        return self.correlation.spectra(self.padded_second(points))

    def moved(self, Y: Array) -> Array:
        """Second points after `before`, shape (r, m, d)."""
        moved = Y[None] if self.before is None else self.before.group.act(self.before.rule[0], Y)
        return moved.reshape(len(moved), *Y.shape)

    def terms(self, moved: Array, offsets: Array | None) -> tuple[Array | None, Array | None]:
        """What is added for each moved point; what is subtracted for each shift of it."""
        if self.cyclic or not self.problem.form.distance:
            terms = self.problem.column_terms(moved, offsets)
            return (None if terms is None else terms.ravel()), None
        points = moved.reshape(-1, moved.shape[2])
        frame = np.ones((1, self.problem.n_channels, *self.problem.shape[:2]), self.problem.dtype)
        norms = self.correlation.every(self.pad(frame), self._spectra(points**2))
        halves = norms[:, :, :, 0] / 2
        if offsets is not None:
            halves -= np.tile(offsets, len(moved)).astype(halves.dtype)
        return None, halves

    def prepare(self, Y: Array, offsets: Array | None, run: Run) -> Iterator[Any]:
        moved = self.moved(Y)
        terms, of_shifts = self.terms(moved, offsets)
        moved = moved.reshape(-1, Y.shape[1])
        norm = largest_norm(moved)
        if self.problem.folded:
            rate = moved.dtype.type(self.problem.form.rate)
            moved, terms, of_shifts = (
                None if A is None else rate * A for A in (moved, terms, of_shifts)
            )
        budget = min(_ROWS_BYTES, self.problem.block_bytes) / 8
        step = 1 + int(budget // self.correlation.spectrum_bytes())
        blocks = [moved[a : a + step] for a in range(0, len(moved), step)]
        parts = run(self._spectra, blocks)
        spectra = []
        for h in range(len(parts[0])):
            spectra.append(
                parts[0][h]
                if len(parts) == 1
                else np.concatenate([part[h] for part in parts], axis=1)
            )
            for part in parts:
                part[h] = None
        yield spectra, terms, of_shifts, norm

    def block(self, X: Array, prepared: Any, terms: Array | None) -> list[Array | None]:
        spectra, others, of_shifts, norm = prepared
        reduction = self.problem.reduction
        outputs: list[Array | None] = [None] * reduction.n_outputs
        for transpose, weight in self.transposes():
            own = X if transpose is None else X @ transpose
            first = self.pad(self.problem.first(own))
            if reduction.extreme:
                parts = self._extremes(first, spectra, others, of_shifts, self.lowest(own, norm))
                for part in parts:
                    if part is not None and terms is not None:
                        part += terms[:, None]
            else:
                parts = [*self._reduced(first, spectra, others, of_shifts, terms)]
            for i, part in enumerate(parts):
                if part is None:
                    continue
                if self.before is not None:
                    shape = len(X), self._n_before(), -1, *reduction.tail
                    part = reduction.join(part.reshape(shape), self.before.rule[1], i)
                if self.after is not None and not reduction.extreme:
                    part *= part.dtype.type(weight)
                out = outputs[i]
                if out is None:
                    outputs[i] = part
                else:
                    reduction.merge(out, part, i)
        return outputs

    def _extremes(
        self, first: Array, spectra: Any, terms: Any, of_shifts: Any, minimum: bool
    ) -> list[Array | None]:
        high, low = self.correlation.extremes(first, spectra, of_shifts, minimum)
        for part in (high, low):
            if part is not None and terms is not None:
                part += terms
        return [high, low][: self.problem.reduction.n_outputs]

    def _reduced(
        self, first: Array, spectra: Any, terms: Any, of_shifts: Any, row_terms: Array | None
    ) -> list[Array]:
        m, reduction = spectra[0].shape[1], self.problem.reduction
        shape = m, len(first), *reduction.tail
        out: list[Array] = [np.empty(shape, self.problem.dtype) for _ in range(reduction.n_outputs)]
        pairs = None
        if terms is not None or row_terms is not None:
            pairs = np.zeros(shape[:2], self.problem.dtype)
            pairs += 0 if terms is None else terms[:, None]
            if row_terms is not None:
                pairs += self.problem.form.rate * row_terms if self.problem.folded else row_terms
        weights = self.correlation.in_tile_order(self.grid_weights)
        for some, values in self.correlation.values(first, spectra, of_shifts, pairs):
            parts = reduction.of(values, weights, self.problem.applied)
            for whole, part in zip(out, parts, strict=True):
                whole[some] = part
        return [np.ascontiguousarray(part.swapaxes(0, 1)) for part in out]

    # -- other libraries -----------------------------------------------------------------------

    on_host = True

    def tile_arrays(self, n: int, m: int, budget: float) -> tuple[int, int]:
        """Second and first points at a time."""
        kept = self.correlation.spectrum_bytes() * self._n_before()
        width = max(1, min(m, int(budget / 2 // kept)))
        item, correlation = self.problem.dtype.itemsize, self.correlation
        shifts = correlation.wanted.size + 4 * len(correlation.rows) * len(correlation.frequencies)
        # All shifts of the pairs of a tile, a few times over.
        tile = min(budget / 2, _TILE_BYTES) / (2 * item * shifts)
        self.tile_width = max(1, int(tile**0.5)) if tile < 64**2 else max(1, int(tile // 64))
        return width, max(1, min(n, int(tile // min(self.tile_width, width * self._n_before()))))

    def prepare_arrays(self, xp: Any, fixed: Any, Y: Array, offsets: Array | None) -> Iterator[Any]:
        moved = self.moved(Y)
        terms, of_shifts = self.terms(moved, offsets)
        spectra = self._spectra(moved.reshape(-1, Y.shape[1]))
        added = [None if A is None else like(A, fixed) for A in (terms, of_shifts)]
        matrices = [like(A, fixed) for A in self.correlation.matrices()]
        weights = self.correlation.in_tile_order(self.grid_weights).astype(self.problem.dtype)
        yield (
            self.correlation.second_arrays(xp, spectra, fixed),
            added,
            matrices,
            like(weights, fixed),
            len(moved),
            largest_norm(moved.reshape(-1, Y.shape[1])),
        )

    def outputs_arrays(
        self, xp: Any, block: Any, own: Array | None, prepared: Any, added: Any
    ) -> list[Any]:
        assert own is not None
        second, (terms, of_shifts), matrices, weights, n_before, norm = prepared
        reduction, form = self.problem.reduction, self.problem.form
        total: list[Any] = []
        for transpose, weight in self.transposes():
            points = own if transpose is None else own @ transpose
            first = self.correlation.first_arrays(self.pad(self.problem.first(points)), block)
            n_extremes = 0
            if reduction.extreme:
                n_extremes = 2 if self.lowest(points, norm) else 1
            n_tiles = n_extremes or reduction.n_outputs
            tiles: list[list[Any]] = [[] for _ in range(n_tiles)]
            for some, values in self.correlation.values_arrays(
                xp, first, second, matrices, of_shifts, self.tile_width, n_extremes
            ):
                pairs = None if terms is None else terms[some, None]
                if added is not None:
                    pairs = added[None, :] if pairs is None else pairs + added[None, :]
                if reduction.extreme:
                    parts = values if pairs is None else [part + pairs for part in values]
                else:
                    if pairs is not None:
                        values = values + pairs[None, :, None, :]
                    parts = reduction.of_arrays(xp, values, weights, form)
                for tile, part in zip(tiles, parts, strict=True):
                    tile.append(part)
            # A smallest value that cannot matter: any will do.
            tiles += tiles[:1] * (reduction.n_outputs - n_tiles)
            for i, tile in enumerate(tiles):
                part = tile[0] if len(tile) == 1 else xp.concat(tile, axis=0)
                if n_before > 1:
                    part = self._joined(xp, part, n_before, i)
                if self.after is not None and not reduction.extreme:
                    part = part * weight
                if len(total) <= i:
                    total.append(part)
                else:
                    total[i] = reduction.merge_arrays(xp, total[i], part, i)
        return total

    def _joined(self, xp: Any, part: Any, n_before: int, which: int) -> Any:
        """Reduce over what came before the shifts: (before m, n, ...) to (m, n, ...)."""
        assert self.before is not None
        part = xp.reshape(part, (n_before, -1, *part.shape[1:]))
        if self.problem.reduction.extreme:
            return (xp.min if which else xp.max)(part, axis=0)
        weights = like(self.before.rule[1].astype(self.problem.dtype), part)
        return xp.sum(part * xp.reshape(weights, (-1, *[1] * (part.ndim - 1))), axis=0)

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


def _together(parts: list[Part]) -> Part | None:
    """Some parts as one."""
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    group: Transformations = parts[0].group
    for part in parts[1:]:
        group = Composition(group, part.group)
    return Part(group)
