"""Products: `DirectProduct` acts on blocks side by side, `Composition` one after the other."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .base import FiniteGroup, Transformations

__all__ = ["Composition", "DirectProduct"]


def _rows(elements: NDArray) -> NDArray:
    return elements.reshape(len(elements), prod(elements.shape[1:]))


def _pairs(one: NDArray, two: NDArray) -> NDArray:
    """Every element of the one beside every element of the other, which varies fastest."""
    return np.concatenate(
        [np.repeat(_rows(one), len(two), axis=0), np.tile(_rows(two), (len(one), 1))], axis=1
    )


class DirectProduct(FiniteGroup):
    """The direct product of finite groups, each acting on its own stretch of coordinates.

    An element is the concatenation of one element a factor, flattened.

    >>> from invariance.groups import Permutations, SignFlips
    >>> group = DirectProduct([Permutations(3), SignFlips(2)])
    >>> group.order, group.n_features
    (24, 5)
    """

    def __init__(self, factors: list[FiniteGroup]):
        self.factors = factors

    @property
    def unitary(self) -> bool:
        return all(f.unitary for f in self.factors)

    @property
    def linear(self) -> bool:
        return all(f.linear for f in self.factors)

    @property
    def preserves_l1(self) -> bool:
        return all(f.preserves_l1 for f in self.factors)

    @property
    def shape(self) -> tuple[int, ...]:
        sizes = [f.n_features for f in self.factors]
        if None in sizes:
            raise ValueError(
                f"factor {self.factors[sizes.index(None)]!r} has no fixed number of coordinates, "
                "so its stretch in the product is undefined"
            )
        return (sum(sizes),)

    @property
    def order(self) -> int:
        return prod(f.order for f in self.factors)

    def identity(self) -> NDArray:
        return np.concatenate([_rows(f.identity()) for f in self.factors], axis=1)

    def generators(self) -> NDArray:
        """Each factor's generators, with the identity in the other factors."""
        parts = []
        for i, factor in enumerate(self.factors):
            moved = _rows(factor.generators())
            row = [np.repeat(_rows(f.identity()), len(moved), axis=0) for f in self.factors]
            row[i] = moved
            parts.append(np.concatenate(row, axis=1))
        return np.concatenate(parts)

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        rng = check_random_state(random_state)
        return np.concatenate([_rows(f.sample(n_samples, rng)) for f in self.factors], axis=1)

    def _split(self, elements: ArrayLike) -> list[NDArray]:
        """The factors' own batches, in their own shapes and types."""
        elements = np.atleast_2d(elements)
        units = [f.identity() for f in self.factors]
        edges = np.cumsum([0] + [u[0].size for u in units])
        return [
            elements[:, a:b].reshape(len(elements), *u.shape[1:]).astype(u.dtype)
            for (a, b), u in zip(pairwise(edges), units, strict=True)
        ]

    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray:
        first, second = np.broadcast_arrays(np.atleast_2d(first), np.atleast_2d(second))
        pairs = zip(self.factors, self._split(first), self._split(second), strict=True)
        return np.concatenate([_rows(f.compose(a, b)) for f, a, b in pairs], axis=1)

    def inverse(self, elements: ArrayLike) -> NDArray:
        pairs = zip(self.factors, self._split(elements), strict=True)
        return np.concatenate([_rows(f.inverse(e)) for f, e in pairs], axis=1)

    def _act(self, elements: NDArray, X: NDArray) -> NDArray:
        edges = np.cumsum([0] + [f.n_features for f in self.factors])
        pieces = zip(self.factors, self._split(elements), pairwise(edges), strict=True)
        return np.concatenate([f.act(e, X[:, a:b]) for f, e, (a, b) in pieces], axis=2)


class Composition(Transformations):
    """Transformations ``first``, then ``second``: every pair, with the product measure.

    In general not a group even where both parts are (shifts and rotations of a pixel frame do not
    commute), so the order matters and is part of the object.

    >>> from invariance.groups import CyclicShifts, SignFlips
    >>> both = CyclicShifts(4).then(SignFlips(4))
    >>> both.order
    64
    """

    def __init__(self, first: Transformations, second: Transformations):
        self.first = first
        self.second = second

    @property
    def unitary(self) -> bool:
        return self.first.unitary and self.second.unitary

    @property
    def linear(self) -> bool:
        return self.first.linear and self.second.linear

    @property
    def preserves_l1(self) -> bool:
        return self.first.preserves_l1 and self.second.preserves_l1

    def refined(self, factor: int) -> Composition | None:
        """Both parts refined, where they are infinite."""
        parts = [part.refined(factor) for part in (self.first, self.second)]
        if parts == [None, None]:
            return None
        given = (self.first, self.second)
        one, two = (g if part is None else part for part, g in zip(parts, given, strict=True))
        return Composition(one, two)

    def chain(self) -> list[Transformations]:
        """The parts of nested compositions."""
        return [*self.first.chain(), *self.second.chain()]

    @property
    def shape(self) -> tuple[int, ...] | None:
        shapes = {s for s in (self.first.shape, self.second.shape) if s is not None}
        if len(shapes) > 1:
            raise ValueError(
                f"cannot compose transformations of shapes {self.first.shape} and "
                f"{self.second.shape}: both must act on the same points"
            )
        return shapes.pop() if shapes else None

    @property
    def order(self) -> int | float:
        return self.first.order * self.second.order

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        rng = check_random_state(random_state)
        one, two = self.first.sample(n_samples, rng), self.second.sample(n_samples, rng)
        return np.concatenate([_rows(one), _rows(two)], axis=1)

    def elements(self) -> NDArray:
        """All pairs, the second part varying fastest."""
        self._check_listable()
        return _pairs(self.first.elements(), self.second.elements())

    def weights(self) -> NDArray | None:
        one, two = self.first.weights(), self.second.weights()
        if one is None and two is None:
            return None
        one = np.full(self.first.order, 1 / self.first.order) if one is None else one
        two = np.full(self.second.order, 1 / self.second.order) if two is None else two
        return np.outer(one, two).ravel()

    def quadrature(self) -> tuple[NDArray, NDArray]:
        """All pairs of the parts' rules, and products of their weights."""
        if np.isfinite(self.order):
            return super().quadrature()
        (one, weights), (two, others) = self.first.quadrature(), self.second.quadrature()
        return _pairs(one, two), np.outer(weights, others).ravel()

    def split(self, elements: NDArray) -> tuple[NDArray, NDArray]:
        """The batches of the first and of the second part."""
        one, two = self.first.sample(1, 0), self.second.sample(1, 0)
        edge = one[0].size
        return (
            elements[:, :edge].reshape(len(elements), *one.shape[1:]).astype(one.dtype),
            elements[:, edge:].reshape(len(elements), *two.shape[1:]).astype(two.dtype),
        )

    def _act(self, elements: NDArray, X: NDArray) -> NDArray:
        one, two = self.split(elements)
        moved = np.empty((len(elements), *X.shape), dtype=X.dtype)
        # Runs of equal first parts (as `elements` lists them) are transformed once.
        starts = np.flatnonzero(np.r_[True, np.any(_rows(one)[1:] != _rows(one)[:-1], axis=1)])
        for a, b in pairwise([*starts, len(one)]):
            moved[a:b] = self.second.act(two[a:b], self.first.act(one[a : a + 1], X)[0])
        return moved
