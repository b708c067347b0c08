"""`Circle`: rotations in an angular basis, one small product over frequencies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import Workers, part_of, row_blocks, side_by_side
from ..numerics import largest_norm
from ..plan import Problem
from ..reductions import Reduction
from ..registry import Algorithm, Prepared, register

Array = NDArray[Any]

#: Pairs whose products at all angles fit into a fast cache together.
_PAIRS = 768
#: Number of points and of templates in a tile.
_ROWS = 256
_COLUMNS = 128


class CircleTemplates(NamedTuple):
    """Templates as `Circle` needs them."""

    products: CircleProducts
    has_terms: bool  #: whether terms of the templates meet a column of ones


@register
class Circle(Algorithm):
    """All angles of a pair from its products by frequency; see `CircleProducts`."""

    name = "circle"
    rows = _ROWS

    def __init__(self, problem: Problem):
        super().__init__(problem)
        rotations = problem.sets[0]
        self.frequencies = rotations.group.as_circle()
        self.n_orders = len(np.unique(self.frequencies))
        self.angles, self.weights = rotations.rule

    @classmethod
    def applies_to(cls, problem: Problem) -> bool:
        if len(problem.sets) != 1 or not problem.is_linear:
            return False
        return problem.sets[0].group.as_circle() is not None

    def operations(self, n: int, m: int) -> float:
        per_angle = 2 * self.n_orders + 2 + self.problem.reduction.cost
        return float(n) * m * (4 * len(self.frequencies) + len(self.angles) * per_angle)

    def prepared_bytes(self, m: int) -> float:
        return m * 2.0 * self.problem.dtype.itemsize * len(self.frequencies)

    def row_bytes(self, width: int) -> float:
        tail = max(1, sum(self.problem.reduction.tail))
        n_numbers = 2 * len(self.frequencies) + 2 * width * tail + _COLUMNS * self.n_orders
        return self.problem.dtype.itemsize * n_numbers

    def prepare(
        self, templates: Array, offsets: Array | None, workers: Workers
    ) -> Iterator[Prepared]:
        terms = self.problem.template_terms(templates[None], offsets)
        column = part_of(terms, 0)
        factors = self.problem.row_factors(templates)
        extended = self.problem.scaled(side_by_side(templates, column, factors))
        # Rotations leave the columns of terms as they are.
        n_further = extended.shape[1] - templates.shape[1]
        frequencies = np.append(self.frequencies, np.zeros(n_further, dtype=int))
        products = CircleProducts(frequencies, extended, self.angles)
        yield Prepared(largest_norm(templates), CircleTemplates(products, terms is not None))

    def compute(
        self, X: Array, prepared: CircleTemplates, row_terms: Array | None, reduction: Reduction
    ) -> list[Array]:
        products = prepared.products
        weights = self.weights[:, None].astype(self.problem.dtype)
        ones = np.ones(len(X), X.dtype) if prepared.has_terms else None
        gathered = products.gather(side_by_side(X, ones, row_terms))
        shape = (len(X), products.n_templates, *reduction.tail)
        results = [np.empty(shape, X.dtype) for _ in range(reduction.n_outputs)]
        for columns in row_blocks(products.n_templates, 1, _COLUMNS):
            tiles = [np.empty(result[:, columns].shape, result.dtype) for result in results]
            tiles_by_pair = [tile.reshape(-1, *reduction.tail) for tile in tiles]
            for pairs, values in products.pairs(gathered, slice(None), columns):
                values = values.reshape(len(self.angles), 1, 1, -1)
                parts = reduction.of(values, weights, self.problem.outer)
                for tile, part in zip(tiles_by_pair, parts, strict=True):
                    tile[pairs] = part[0]
            for result, tile in zip(results, tiles, strict=True):
                result[:, columns] = tile
        return results


class CircleProducts:
    r"""All products ``<x, g_theta t>`` at many angles from one projection and one small product.

    With the coefficients of x and t collected by frequency,

    .. math:: \langle x, g_\theta t \rangle = \sum_m a_m \cos m\theta + b_m \sin m\theta ,

    where a_m and b_m are two short inner products: the cost of a pair is that of one projection
    plus (2 M + 1) operations an angle, instead of d operations an angle.

    Parameters
    ----------
    frequencies : ndarray of int, shape (d,), as in `CircleAction`
    templates : ndarray of shape (s, d)
    angles : ndarray of shape (r,), radians
    """

    def __init__(self, frequencies: Array, templates: Array, angles: Array):
        self.n_templates = len(templates)
        self.n_angles = len(angles)
        self._set_templates(frequencies, templates)
        self._set_angles(np.asarray(angles, dtype=float), templates.dtype)

    def _set_templates(self, frequencies: Array, templates: Array) -> None:
        """Sort columns by frequency, with the cosines of a frequency before its sines."""
        fixed = np.flatnonzero(frequencies == 0)
        paired = np.flatnonzero(frequencies > 0)
        places = np.arange(len(paired))
        is_sine = places % 2
        order = np.lexsort((is_sine, frequencies[paired]))
        partner_of = places ^ 1
        partners = np.concatenate([fixed, paired[partner_of[order]]])
        self._columns = np.concatenate([fixed, paired[order]])
        #: The frequencies, and the edges of their blocks of columns.
        self._orders, counts = np.unique(frequencies[paired], return_counts=True)
        self._edges = np.cumsum([0, len(fixed), *counts])
        # Cosines of <x, g t> meet the same coordinate of t, sines the other one of its plane.
        cross = np.ascontiguousarray(templates[:, partners].T)
        cross[len(fixed) :][is_sine[order] == 0] *= -1
        self._same = np.ascontiguousarray(templates[:, self._columns].T)
        self._cross = cross

    def _set_angles(self, angles: Array, dtype: Any) -> None:
        """Cosines and sines of the angles; if these come in pairs, of one angle of each pair."""
        half = len(angles) // 2 + 1
        points = np.exp(1j * angles)
        starts_at_zero = len(angles) > 2 and abs(points[0] - 1) < 1e-9
        gaps = np.abs(points[1:][::-1] - points[1:].conj())
        self._half = half if starts_at_zero and gaps.max() < 1e-9 else None
        turns = np.outer(angles[: self._half], self._orders)
        self._even = np.concatenate([np.ones((len(turns), 1)), np.cos(turns)], axis=1).astype(dtype)
        self._odd = np.sin(turns).astype(dtype)
        self._both = np.concatenate([self._even, self._odd], axis=1)

    def gather(self, X: Array) -> Array:
        """Return the points' coefficients by frequency, which serve many tiles."""
        return X[:, self._columns]

    def _coefficients(self, gathered: Array, columns: slice) -> Array:
        """a_0, ..., a_M, b_1, ..., b_M of all pairs of a tile, shape (2 M + 1, pairs)."""
        n_orders = len(self._orders)
        same = self._same[:, columns]
        cross = self._cross[:, columns]
        shape = (2 * n_orders + 1, len(gathered), same.shape[1])
        coefficients = np.empty(shape, gathered.dtype)
        for i, ends in enumerate(pairwise(self._edges.tolist())):
            block = slice(*ends)
            np.matmul(gathered[:, block], same[block], out=coefficients[i])
            if i > 0:
                np.matmul(gathered[:, block], cross[block], out=coefficients[n_orders + i])
        return coefficients.reshape(len(coefficients), -1)

    def pairs(self, gathered: Array, rows: slice, columns: slice) -> Iterator[tuple[slice, Array]]:
        """Products of a tile, a cache's worth of (row, column) pairs at a time.

        Yields slices of the flattened pairs, and values (r, pairs), which the next overwrite.
        """
        coefficients = self._coefficients(gathered[rows], columns)
        n_pairs = coefficients.shape[1]
        width = min(_PAIRS, n_pairs)
        values = np.empty((self.n_angles, width), coefficients.dtype)
        n_computed = len(self._even)
        even = np.empty((n_computed, width), coefficients.dtype)
        odd = np.empty((n_computed, width), coefficients.dtype)
        for start in range(0, n_pairs, width):
            block = slice(start, min(start + width, n_pairs))
            size = block.stop - block.start
            part = coefficients[:, block]
            if self._half is None:
                np.matmul(self._both, part, out=values[:, :size])
            else:
                self._mirrored(part, even[:, :size], odd[:, :size], values[:, :size])
            yield block, values[:, :size]

    def _mirrored(self, coefficients: Array, even: Array, odd: Array, values: Array) -> None:
        """Compute the values at angles that come in pairs theta, -theta: E + O and E - O."""
        n_even = self._even.shape[1]
        half = len(self._even)
        np.matmul(self._even, coefficients[:n_even], out=even)
        np.matmul(self._odd, coefficients[n_even:], out=odd)
        np.add(even, odd, out=values[:half])
        mirror = slice(self.n_angles - half, 0, -1)
        np.subtract(even[mirror], odd[mirror], out=values[half:])
