"""`Circle`: rotations in an angular basis, one small product over frequencies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import is_foreign, namespace
from .reductions import Reduction
from .way import Problem, Run, Way, beside, largest_norm, row_blocks

Array = NDArray[Any]

#: Pairs whose products at all angles fit into a fast cache together.
_PAIRS = 768
#: First and second points of a tile.
_ROWS, _COLUMNS = 256, 128


class Circle(Way):
    """All angles of a pair from its products by frequency; see `CircleProducts`."""

    name = "circle"
    rows = _ROWS

    def __init__(self, problem: Problem, frequencies: Array):
        super().__init__(problem)
        self.frequencies = frequencies
        self.n_orders = len(np.unique(frequencies))
        self.angles, self.weights = problem.sets[0].rule
        #: Bytes a pair of what a tile of another library holds at once.
        self._pair_bytes = 0.0
        if problem.target is not None:
            self._pair_bytes = 4.0 * problem.dtype.itemsize * (len(self.angles) + self.n_orders)
            self.rows = 2**40

    @classmethod
    def offers(cls, problem: Problem) -> Self | None:
        frequencies = None
        if len(problem.sets) == 1 and problem.linear:
            frequencies = problem.sets[0].group.as_circle()
        return None if frequencies is None else cls(problem, frequencies)

    def prepared_bytes(self, m: int) -> float:
        return m * max(2.0 * self.problem.dtype.itemsize * len(self.frequencies), self._pair_bytes)

    def row_bytes(self, width: int) -> float:
        problem, tail = self.problem, max(1, sum(self.problem.reduction.tail))
        numbers = 2 * len(self.frequencies) + 2 * width * tail + _COLUMNS * self.n_orders
        return problem.dtype.itemsize * numbers + width * self._pair_bytes

    def prepare(self, Y: Array, offsets: Array | None, run: Run) -> Iterator[tuple[float, Any]]:
        problem, terms = self.problem, self.problem.column_terms(Y[None], offsets)
        factors = problem.row_factors(Y) if problem.has_row_terms else None
        moved = problem.scaled(beside(np, Y, None if terms is None else terms[0], factors))
        frequencies = np.append(self.frequencies, np.zeros(moved.shape[1] - Y.shape[1], dtype=int))
        products = CircleProducts(frequencies, moved, self.angles, problem.send)
        weights = problem.send(self.weights[:, None].astype(problem.dtype))
        yield largest_norm(Y), (products, weights, terms is not None)

    def block(self, X: Any, prepared: Any, terms: Any, reduction: Reduction) -> list[Any]:
        products, weights, with_terms = prepared
        problem, xp, n, m = self.problem, self.problem.xp, X.shape[0], products.n_templates
        ones = xp.ones_like(X[:, 0]) if with_terms else None
        gathered = products.gather(beside(xp, X, ones, terms))
        if xp is not np:
            ((_, values),) = products.pairs(gathered, slice(None), slice(None))
            values = xp.reshape(values, (len(self.angles), n, 1, m))
            return reduction.of(values, weights, problem.outer, xp)
        outputs = [np.empty((n, m, *reduction.tail), X.dtype) for _ in range(reduction.n_outputs)]
        for columns in row_blocks(m, 1, _COLUMNS):
            parts = [np.empty(out[:, columns].shape, out.dtype) for out in outputs]
            flat = [part.reshape(-1, *reduction.tail) for part in parts]
            for which, values in products.pairs(gathered, slice(None), columns):
                values = values.reshape(len(self.angles), 1, 1, -1)
                tiles = reduction.of(values, weights, problem.outer)
                for part, tile in zip(flat, tiles, strict=True):
                    part[which] = tile[0]
            for out, part in zip(outputs, parts, strict=True):
                out[:, columns] = part
        return outputs

    def operations(self, n: int, m: int) -> float:
        angles = len(self.angles) * (2 * self.n_orders + 2 + self.problem.reduction.cost)
        return float(n) * m * (4 * len(self.frequencies) + angles)


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
    send : callable, carries NumPy's arrays to the library in which pairs are computed
    """

    def __init__(self, frequencies: Array, templates: Array, angles: Array, send: Any = np.asarray):
        dtype = templates.dtype
        self.n_templates = len(templates)
        self.n_angles = len(angles)
        fixed, paired = np.flatnonzero(frequencies == 0), np.flatnonzero(frequencies > 0)
        # By frequency: its cosines, then its sines.
        places = np.arange(len(paired))
        order = np.lexsort((places % 2, frequencies[paired]))
        self._columns = np.concatenate([fixed, paired[order]])
        partners = np.concatenate([fixed, paired[(places ^ 1)[order]]])
        orders, counts = np.unique(frequencies[paired], return_counts=True)
        self._edges = np.cumsum([0, len(fixed), *counts])
        cross = np.ascontiguousarray(templates[:, partners].T)
        cross[len(fixed) :][places[order] % 2 == 0] *= -1
        same = np.ascontiguousarray(templates[:, self._columns].T)
        self._same, self._cross = send(same), send(cross)
        angles = np.asarray(angles, dtype=float)
        # Nodes come in pairs theta, -theta: cosines and sines are then needed for one of each.
        half = len(angles) // 2 + 1
        mirrored = np.exp(1j * angles[1:][::-1]) - np.exp(-1j * angles[1:])
        at_zero = len(angles) > 2 and abs(np.exp(1j * angles[0]) - 1) < 1e-9
        paired_up = at_zero and np.abs(mirrored).max() < 1e-9 and not is_foreign(self._same)
        self._half = half if paired_up else None
        turns = np.outer(angles[:half] if paired_up else angles, orders)
        self._even = np.concatenate([np.ones((len(turns), 1)), np.cos(turns)], axis=1).astype(dtype)
        self._odd = np.sin(turns).astype(dtype)
        self._both = send(np.concatenate([self._even, self._odd], axis=1))

    def gather(self, X: Any) -> Any:
        """The rows' coefficients by frequency: made once for many tiles."""
        if is_foreign(X):
            xp = namespace(X)
            return xp.take(X, xp.asarray(self._columns, device=X.device), axis=1)
        return X[:, self._columns]

    def _coefficients(self, gathered: Any, rows: slice, columns: slice) -> Any:
        """a_0, ..., a_M, b_1, ..., b_M of all pairs of a tile, shape (2 M + 1, pairs)."""
        own, n_orders = gathered[rows, :], len(self._edges) - 2
        same, cross = self._same[:, columns], self._cross[:, columns]
        blocks = [slice(*ends) for ends in pairwise(self._edges.tolist())]
        if is_foreign(own):
            parts = [own[:, block] @ same[block, :] for block in blocks]
            parts += [own[:, block] @ cross[block, :] for block in blocks[1:]]
            xp = namespace(own)
            return xp.reshape(xp.stack(parts), (len(parts), -1))
        coefficients = np.empty((2 * n_orders + 1, len(own), same.shape[1]), dtype=own.dtype)
        for i, block in enumerate(blocks):
            np.matmul(own[:, block], same[block], out=coefficients[i])
            if i:
                np.matmul(own[:, block], cross[block], out=coefficients[n_orders + i])
        return coefficients.reshape(len(coefficients), -1)

    def pairs(self, gathered: Any, rows: slice, columns: slice) -> Iterator[tuple[slice, Any]]:
        """Products of a tile, a cache's worth of (row, column) pairs at a time.

        Yields slices of the flattened pairs, and values (r, pairs), which the next overwrite.
        """
        coefficients = self._coefficients(gathered, rows, columns)
        n_pairs = coefficients.shape[1]
        if is_foreign(coefficients):  # all at once, as a device likes it
            yield slice(n_pairs), self._both @ coefficients
            return
        split, width = self._even.shape[1], min(_PAIRS, n_pairs)
        values = np.empty((self.n_angles, width), dtype=coefficients.dtype)
        if self._half is not None:
            even, odd = np.empty((2, self._half, width), dtype=coefficients.dtype)
        for start in range(0, n_pairs, width):
            which = slice(start, min(start + width, n_pairs))
            now = slice(0, which.stop - which.start)
            part = coefficients[:, which]
            if self._half is None:
                np.matmul(self._both, part, out=values[:, now])
            else:
                h, rest = self._half, self.n_angles - self._half
                np.matmul(self._even, part[:split], out=even[:, now])
                np.matmul(self._odd, part[split:], out=odd[:, now])
                np.add(even[:, now], odd[:, now], out=values[:h, now])
                mirror = slice(rest, 0, -1)
                np.subtract(even[mirror, now], odd[mirror, now], out=values[h:, now])
            yield which, values[:, now]
