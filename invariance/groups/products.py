"""Products: `DirectProduct` acts on blocks side by side, `Composition` one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Each, Has, ParameterError, stores_parameters
from .base import GROUP, FiniteGroup, Transformations, whole_elements

__all__ = ["Composition", "DirectProduct"]


def _rows(elements: NDArray[Any]) -> NDArray[Any]:
    return elements.reshape(len(elements), prod(elements.shape[1:]))


def _pairs(one: NDArray[Any], two: NDArray[Any]) -> NDArray[Any]:
    """Every element of the one beside every element of the other, which varies fastest."""
    return np.concatenate(
        [np.repeat(_rows(one), len(two), axis=0), np.tile(_rows(two), (len(one), 1))], axis=1
    )


def _typed(group: Transformations, rows: NDArray[Any], like: NDArray[Any]) -> NDArray[Any]:
    """A part's rows in its own shape and type; fractions are refused where it has whole numbers."""
    if like.dtype.kind in "iu" and rows.dtype.kind not in "iu":
        whole_elements(group, rows, rows.shape[1], "rows with whole numbers where a part has them")
    return rows.reshape(len(rows), *like.shape[1:]).astype(like.dtype)


def _of_all(name: str) -> Any:
    """What holds where it holds for all parts."""
    return property(lambda self: all(getattr(part, name) for part in self._parts()))


@stores_parameters
class DirectProduct(FiniteGroup):
    """The direct product of finite groups, each acting on its own stretch of coordinates.

    An element is the concatenation of one element a factor, flattened.

    >>> from invariance.groups import Permutations, SignFlips
    >>> group = DirectProduct([Permutations(3), SignFlips(2)])
    >>> group.order, group.n_features
    (24, 5)
    """

    factors: Annotated[
        Sequence[FiniteGroup],
        Each(Has("a finite group, such as CyclicShifts(8)", "generators", "compose")),
    ]

    unitary = _of_all("unitary")
    linear = _of_all("linear")
    preserves_l1 = _of_all("preserves_l1")

    def _parts(self) -> Sequence[Transformations]:
        self._check()
        return self.factors

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(self._sizes()),)

    def _sizes(self) -> list[int]:
        self._check()
        sizes = []
        for factor in self.factors:
            n = factor.n_features
            if n is None:
                raise ParameterError(
                    f"factors: factor {factor!r} has no fixed number of coordinates, so its "
                    "stretch in the product is undefined"
                )
            sizes.append(n)
        return sizes

    @property
    def order(self) -> int | float:
        self._check()
        return prod(f.order for f in self.factors)

    def identity(self) -> NDArray[Any]:
        return np.concatenate([_rows(f.identity()) for f in self.factors], axis=1)

    def generators(self) -> NDArray[Any]:
        """Each factor's generators, with the identity in the other factors."""
        parts = []
        for i, factor in enumerate(self.factors):
            moved = _rows(factor.generators())
            row = [np.repeat(_rows(f.identity()), len(moved), axis=0) for f in self.factors]
            row[i] = moved
            parts.append(np.concatenate(row, axis=1))
        return np.concatenate(parts)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        return np.concatenate([_rows(f.sample(n_samples, rng)) for f in self.factors], axis=1)

    def _split(self, elements: ArrayLike) -> list[NDArray[Any]]:
        """The factors' own batches, in their own shapes and types."""
        elements = np.atleast_2d(elements)
        units = [f.identity() for f in self.factors]
        edges = np.cumsum([0] + [u[0].size for u in units])
        return [
            _typed(self, elements[:, a:b], u)
            for (a, b), u in zip(pairwise(edges), units, strict=True)
        ]

    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray[Any]:
        first, second = np.broadcast_arrays(np.atleast_2d(first), np.atleast_2d(second))
        pairs = zip(self.factors, self._split(first), self._split(second), strict=True)
        return np.concatenate([_rows(f.compose(a, b)) for f, a, b in pairs], axis=1)

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        pairs = zip(self.factors, self._split(elements), strict=True)
        return np.concatenate([_rows(f.inverse(e)) for f, e in pairs], axis=1)

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        width = sum(f.identity()[0].size for f in self.factors)
        if elements.shape[1:] != (width,):
            self._refuse(elements, f"one element of each factor side by side, shape (r, {width})")
        return elements

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        edges = np.cumsum([0, *self._sizes()])
        pieces = zip(self.factors, self._split(elements), pairwise(edges), strict=True)
        return np.concatenate([f.act(e, X[:, a:b]) for f, e, (a, b) in pieces], axis=2)


@stores_parameters
class Composition(Transformations):
    """Transformations ``first``, then ``second``: every pair, with the product measure.

    In general not a group even where both parts are (shifts and rotations of a pixel frame do not
    commute), so the order matters and is part of the object.

    >>> from invariance.groups import CyclicShifts, SignFlips
    >>> both = CyclicShifts(4).then(SignFlips(4))
    >>> both.order
    64
    """

    first: Annotated[Transformations, GROUP]
    second: Annotated[Transformations, GROUP]

    def _check_together(self) -> None:
        shapes = {tuple(s) for s in (self.first.shape, self.second.shape) if s is not None}
        if len(shapes) > 1:
            raise ParameterError(
                f"cannot compose transformations of shapes {self.first.shape} and "
                f"{self.second.shape}: both must act on the same points, first {self.first!r}, "
                f"second {self.second!r}"
            )

    unitary = _of_all("unitary")
    linear = _of_all("linear")
    preserves_l1 = _of_all("preserves_l1")

    def _parts(self) -> Sequence[Transformations]:
        self._check()
        return self.first, self.second

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
        self._check()
        return self.second.shape if self.first.shape is None else self.first.shape

    @property
    def order(self) -> int | float:
        self._check()
        return self.first.order * self.second.order

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        one, two = self.first.sample(n_samples, rng), self.second.sample(n_samples, rng)
        return np.concatenate([_rows(one), _rows(two)], axis=1)

    def elements(self) -> NDArray[Any]:
        """All pairs, the second part varying fastest."""
        self._check_listable()
        return _pairs(self.first.elements(), self.second.elements())

    def weights(self) -> NDArray[Any] | None:
        one, two = self.first.weights(), self.second.weights()
        if one is None and two is None:
            return None
        one = np.full(int(self.first.order), 1 / self.first.order) if one is None else one
        two = np.full(int(self.second.order), 1 / self.second.order) if two is None else two
        return np.outer(one, two).ravel()

    def quadrature(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """All pairs of the parts' rules, and products of their weights."""
        if np.isfinite(self.order):
            return super().quadrature()
        (one, weights), (two, others) = self.first.quadrature(), self.second.quadrature()
        return _pairs(one, two), np.outer(weights, others).ravel()

    def split(self, elements: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """The batches of the first and of the second part."""
        one, two = self.first.sample(1, 0), self.second.sample(1, 0)
        edge, width = one[0].size, one[0].size + two[0].size
        if elements.shape[1:] != (width,):
            self._refuse(elements, f"an element of each part side by side, shape (r, {width})")
        return _typed(self, elements[:, :edge], one), _typed(self, elements[:, edge:], two)

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        one, two = self.split(elements)
        moved = np.empty((len(elements), *X.shape), dtype=X.dtype)
        # Runs of equal first parts (as `elements` lists them) are transformed once.
        starts = np.flatnonzero(np.r_[True, np.any(_rows(one)[1:] != _rows(one)[:-1], axis=1)])
        for a, b in pairwise([*starts, len(one)]):
            moved[a:b] = self.second.act(two[a:b], self.first.act(one[a : a + 1], X)[0])
        return moved


Transformations._composition = Composition
