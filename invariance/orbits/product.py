"""`Product`: apply every element to the templates, multiply, reduce.

This is the definition that every other algorithm is tested against. Without blocks it reads

    values = X @ group.act(elements, templates).reshape(-1, d).T        # (n, elements x templates)
    reduction.of(outer(values), weights)

`Product` does the same for a tile of elements and templates at a time, so that a tile stays in the
cache. Terms that depend on a point or on a transformed template alone, such as -|x|^2 / 2, are
further columns of both factors.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cached_property, partial
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .blocks import Workers, Workspace, part_of, row_blocks, side_by_side
from .numerics import largest_norm
from .plan import Problem, composed
from .reductions import Reduction
from .registry import Algorithm, Prepared, register

Array = NDArray[Any]

#: Number of points for which products take as long as a copy of their features, measured.
_REPAID = 100
#: Features are left out if less than this share of them is used.
_MOST_USED = 0.9
#: Transforming and lifting passes over memory; a pass over a number is worth this many operations.
_PASSES = 150.0
#: Smallest number of templates in a piece if outputs are too large to be merged often.
_FEWEST_TEMPLATES = 64


class Tile(NamedTuple):
    """Some transformed templates as rows of a matrix, one element after the other."""

    templates: slice
    weights: Array  #: of the elements, shape (1, r)
    matrix: Array


class Tiles(NamedTuple):
    """All tiles of some elements, template by template."""

    tiles: list[Tile]
    n_templates: int


def _shares(
    elements: slice, m: int, tile_shape: tuple[int, int], n_threads: int
) -> list[tuple[slice, slice]]:
    """Return the elements and the templates that each thread transforms: whole tiles."""
    n_elements = elements.stop - elements.start
    elements_of_tile, templates_of_tile = tile_shape
    if templates_of_tile >= m:
        step = elements_of_tile * -(-n_elements // (elements_of_tile * n_threads))
        blocks = row_blocks(n_elements, 1, step)
        first = elements.start
        return [(slice(first + b.start, first + b.stop), slice(0, m)) for b in blocks]
    step = templates_of_tile * -(-m // (templates_of_tile * n_threads))
    return [(elements, templates) for templates in row_blocks(m, 1, step)]


@register
class Product(Algorithm):
    """Every transformation applied, then one matrix product for each tile."""

    name = "product"
    #: Points, and transformed templates, of a tile: wide enough for a matrix product to run at full
    #: speed, small enough for the values to stay in the cache.
    rows, columns = 512, 1024

    def __init__(self, problem: Problem):
        super().__init__(problem)
        self.is_lifted = problem.form is not None and not problem.is_linear
        self.set = composed(problem.sets)
        #: Indices of the features that points X use; None for all.
        self.features: Array | None = None
        self.width = problem.lifted_size

    @classmethod
    def applies_to(cls, problem: Problem) -> bool:
        return problem.form is not None

    @cached_property
    def n_elements(self) -> int:
        order = self.problem.order
        if order == inf:
            return len(self.set.rule[0])
        return int(min(order, 1e300))

    def operations(self, n: int, m: int) -> float:
        n_used = self.width
        if self.features is not None:
            n_used = len(self.features)
        for_a_value = 2 * n_used + self.problem.reduction.cost
        return float(m) * self.n_elements * (n * for_a_value + _PASSES * self.width)

    def for_support(self, support: Array, n: int) -> Algorithm:
        """Leave features out, unless the copy of the others takes longer than it saves."""
        if self.is_lifted:
            support = self.problem.lift_points(support.astype(float)[None]).ravel() != 0
        used = float(support.mean())
        if not 0 < used < _MOST_USED or n * (1 - used) <= _REPAID * used:
            return self
        shorter = copy(self)
        shorter.features = np.flatnonzero(support)
        return shorter

    # Points and templates as rows of features.

    def points(self, X: Array) -> Array:
        if self.is_lifted:
            X = self.problem.lift_points(X).reshape(len(X), -1)
        return self._used(X)

    def templates(self, transformed: Array) -> Array:
        if self.is_lifted:
            transformed = self.problem.lift_templates(transformed).reshape(len(transformed), -1)
        return self._used(transformed)

    def _used(self, features: Array) -> Array:
        if self.features is None:
            return features
        return features[:, self.features]

    # Transform.

    def prepare(
        self, templates: Array, offsets: Array | None, workers: Workers
    ) -> Iterator[Prepared]:
        elements, weights = self.set.rule
        m = len(templates)
        n_at_once = min(len(elements), self._elements_that_fit(m))
        for block in row_blocks(len(elements), 1, n_at_once):
            tile_shape = self._tile_shape(block.stop - block.start, m)
            transform = partial(self._tiles, templates, offsets, elements, weights, tile_shape)
            shares = _shares(block, m, tile_shape, workers.n_threads)
            tiles: list[Tile] = []
            norm = 0.0
            for tiles_of_share, norm_of_share in workers.map(transform, shares):
                tiles += tiles_of_share
                norm = max(norm, norm_of_share)
            yield Prepared(norm, Tiles(tiles, m))
            del tiles  # Before the next ones are made.

    def _tile_shape(self, n_elements: int, m: int) -> tuple[int, int]:
        """Numbers of elements and of templates in a tile.

        Templates that fit into a tile are not cut: their results are merged over tiles of elements,
        and no tile is copied. Of more templates, a tile has all elements of a few, so that its
        results are final; also if outputs have several numbers for a pair, which are too large to
        be merged often.
        """
        columns = self._tile_columns(m)
        if m <= columns and not self.problem.reduction.tail:
            return columns // m, m
        return min(n_elements, self.columns), max(1, columns // n_elements)

    def _tiles(
        self,
        templates: Array,
        offsets: Array | None,
        elements: Array,
        weights: Array,
        tile_shape: tuple[int, int],
        parts: tuple[slice, slice],
    ) -> tuple[list[Tile], float]:
        """Return tiles of some elements and templates, and the largest norm if extremes need it."""
        part, share = parts
        elements = elements[part]
        weights = weights[part]
        r = len(elements)
        m = share.stop - share.start
        transformed = self.set.group.act(elements, templates[share]).reshape(r, m, -1)
        terms = self.problem.template_terms(transformed, part_of(offsets, share))
        transformed = transformed.reshape(r * m, -1)
        norm = 0.0
        if self.problem.reduction.extreme:
            norm = largest_norm(transformed)
        if terms is not None:
            terms = terms.ravel()
        # Terms of templates meet a column of ones, factors meet the terms of points.
        factors = self.problem.row_factors(transformed)
        matrix = side_by_side(self.templates(transformed), terms, factors)
        matrix = self.problem.scaled(matrix, in_place=terms is not None).reshape(r, m, -1)
        del transformed  # Its memory serves the tiles.
        tiles = []
        elements_of_tile, templates_of_tile = tile_shape
        for some_templates in row_blocks(m, 1, templates_of_tile):
            place = slice(share.start + some_templates.start, share.start + some_templates.stop)
            for some_elements in row_blocks(r, 1, elements_of_tile):
                rows = np.ascontiguousarray(matrix[some_elements, some_templates])
                tile_weights = self.element_weights(weights[some_elements])[None]
                tiles.append(Tile(place, tile_weights, rows.reshape(-1, matrix.shape[2])))
        return tiles, norm

    def element_weights(self, weights: Array) -> Array:
        """Weights of the values of a tile, given the weights of its elements."""
        return weights

    # Multiply and reduce.

    def compute(
        self, X: Array, prepared: Tiles, row_terms: Array | None, reduction: Reduction
    ) -> list[Array]:
        tiles, m = prepared
        workspace = Workspace(self.problem.dtype)
        factors = self._with_terms(self.points(X), row_terms, tiles[0].matrix.shape[1])
        outputs: list[Array] = []
        previous = None
        for tile in tiles:
            values = self.values(factors, tile.matrix, workspace)
            values = values.reshape(1, len(X), tile.weights.shape[1], -1)
            parts = reduction.of(values, tile.weights, self.problem.outer)
            if len(tiles) == 1:
                return parts
            if not outputs:
                outputs = [np.empty((len(X), m, *part.shape[2:]), part.dtype) for part in parts]
            for i, (output, part) in enumerate(zip(outputs, parts, strict=True)):
                if tile.templates == previous:  # The tile has further elements for them.
                    part = reduction.merge(output[:, tile.templates], part, i)
                output[:, tile.templates] = part
            previous = tile.templates
        return outputs

    def _with_terms(self, points: Array, row_terms: Array | None, width: int) -> Array:
        """Append columns to points, up to the width of the tiles."""
        n_columns = points.shape[1] + (row_terms is not None)
        ones = None
        if n_columns < width:
            ones = np.ones(len(points), points.dtype)
        return side_by_side(points, ones, row_terms)

    def values(self, points: Array, matrix: Array, workspace: Workspace) -> Array:
        """Inner products of points with the rows of a tile."""
        out = workspace.array("values", len(points), len(matrix))
        return np.matmul(points, matrix.T, out=out)

    def check(self) -> None:
        _ = self.set.rule

    # Memory.

    def prepared_bytes(self, m: int) -> float:
        return float(self.problem.dtype.itemsize) * self.width * self.n_elements * m

    def _elements_that_fit(self, m: int) -> int:
        """Number of elements by which m templates can be transformed at once."""
        bytes_per_element = 3.0 * self.problem.dtype.itemsize * self.width * m
        return max(1, int(self.problem.block_bytes / 2 // bytes_per_element))

    def pieces(self, m: int) -> int:
        """Pieces of templates are large, since elements come in blocks too, if merging is cheap."""
        n_that_fit = self._elements_that_fit(1)
        fewest = n_that_fit
        if self.problem.reduction.tail:
            fewest = min(_FEWEST_TEMPLATES, n_that_fit)
        templates_per_piece = max(fewest, n_that_fit // self.n_elements)
        return -(-m // templates_per_piece)

    def _tile_columns(self, width: int) -> int:
        """Number of transformed templates in a tile; the values of a single tile are not copied."""
        if self.n_elements == 1:
            return width
        return self.columns

    def row_step(self, width: int) -> int:
        rows_of_a_tile = self.rows * self.columns // self._tile_columns(width)
        return min(super().row_step(width), max(1, 2 * rows_of_a_tile))

    def row_bytes(self, width: int) -> float:
        n_transformed = width * min(self.n_elements, self._elements_that_fit(width))
        n_values = 4 * min(self._tile_columns(width), n_transformed)
        n_results = 2 * width * max(1, sum(self.problem.reduction.tail))
        return self.problem.dtype.itemsize * (3 * self.width + n_values + n_results)
