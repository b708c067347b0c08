"""`Turns`: rotations that split into quarter turns, of which one in four is computed."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .product import Product
from .way import Part, Problem, beside

__all__ = ["QuarterTurns", "Turns"]

Array = NDArray[Any]

#: Points that are lifted at a time.
_POINTS = 32


class Turns(Product):
    """The transformations within a quarter turn applied; quarter turns by `QuarterTurns`."""

    name = "product, with quarter turns"
    on_host = True

    def __init__(self, problem: Problem, rest: Part):
        super().__init__(replace(problem, parts=[rest]))
        self.features = None
        support = None if problem.support is None else problem.support.ravel()
        self.turns = QuarterTurns(problem, support)

    @staticmethod
    def offers(problem: Problem) -> Turns | None:
        if len(problem.parts) != 1 or problem.evaluate is not None or not problem.parts[0].whole:
            return None
        group = problem.parts[0].group
        rest = group.as_turns()
        if rest is None or not (problem.reduction.extreme or group.weights() is None):
            return None
        return Turns(problem, Part(rest))

    def prepared_bytes(self, m: int) -> float:
        return 4 / 3 * super().prepared_bytes(m)

    def lifted(self, moved: Array, offsets: Array | None) -> Any:
        r, m, _ = moved.shape
        parts = self.turns.second(moved.reshape(r * m, -1))
        terms = self.problem.column_terms(moved, offsets)
        terms = np.zeros((r, m), moved.dtype) if terms is None else terms
        ones = np.ones(r * m, parts.dtype) if self.problem.first_terms else None
        lifted = beside(ones, terms.ravel(), parts)
        if self.problem.folded:
            lifted *= lifted.dtype.type(self.problem.form.rate)
        return lifted.reshape(r, m, -1)

    def own(self, X: Any, with_terms: bool, terms: Any) -> Any:
        return beside(terms, np.ones(len(X), X.dtype), self.turns.first(X))

    def _shares(self, weights: Array) -> Array:
        return np.tile(weights, 4) / 4

    def _values(self, own: Any, matrix: Any, some: slice, space: Any) -> Any:
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
    problem : object with ``first``, ``second`` and ``shape`` (side, side, channels)
    support : ndarray of bool, shape (n_features,), or None
        Features that are not zero for all first points: others need not be looked at.

    Raises
    ------
    ValueError
        If a quarter turn does not permute the features.
    """

    def __init__(self, problem: Any, support: Array | None = None):
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
        every = np.array(cycles)
        if not np.array_equal(own[turn], turned) or not np.array_equal(turn[every[3]], every[0]):
            raise ValueError("a quarter turn does not permute the features")
        chosen = every.min(axis=0) == every[0]
        if support is not None:
            chosen &= support[every].any(axis=0)
        self._cycles = every[:, chosen]
        # A cycle of length one or two is passed through several times.
        repeats = (self._cycles == self._cycles[0]).sum(axis=0)
        self._weights = 0.25 / repeats
        self._problem = problem

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
