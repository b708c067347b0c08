"""Made of other transformations: side by side, one after the other, on each point of a set.

`DirectProduct` acts on stretches of coordinates, `Composition` applies two sets in turn, and
`OnPoints` moves all points of a set alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from itertools import pairwise
from math import inf, prod
from typing import Annotated, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from ..core.parameters import Array, Each, Has, ParameterError, Whole, stores_parameters
from .base import GROUP, FiniteGroup, Transformations

#: Numbers that may be computed to find out whether two groups commute.
_TRIAL = 10**6
_Method = TypeVar("_Method", bound=Callable[..., Any])
FINITE = Has("a finite group, such as CyclicShifts(8)", "generators", "compose")


def _rows(elements: NDArray[Any]) -> NDArray[Any]:
    return elements.reshape(len(elements), prod(elements.shape[1:]))


def matched(first: ArrayLike, second: ArrayLike) -> tuple[NDArray[Any], ...]:
    return np.broadcast_arrays(np.atleast_2d(first), np.atleast_2d(second))


def side_by_side(batches: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([_rows(batch) for batch in batches], axis=1)


def pairs(one: NDArray[Any], two: NDArray[Any]) -> NDArray[Any]:
    """Every element of the one beside every element of the other, which varies fastest."""
    return side_by_side(
        [np.repeat(_rows(one), len(two), axis=0), np.tile(_rows(two), (len(one), 1))]
    )


def _spanning(part: Any) -> NDArray[Any]:
    """Generators, or where there are none such as of rotations, elements drawn at random."""
    found: NDArray[Any] = part.generators() if hasattr(part, "generators") else part.sample(6, 0)
    return found


def _if(condition: Callable[[Any], bool]) -> Callable[[_Method], _Method]:
    """A decorator: the method is there if a condition on the object holds."""
    decorate: Callable[[_Method], _Method] = available_if(condition)
    return decorate


def _parts_have(*names: str) -> Callable[[Any], bool]:
    """Whether the parts of a composition all have these methods."""
    return lambda self: all(hasattr(part, name) for part in self._parts() for name in names)


def _group_has(name: str) -> Callable[[Any], bool]:
    """Whether the group of points has a method."""
    return lambda self: hasattr(self._inner(), name)


def _parts_commute(name: str) -> Callable[[Any], bool]:
    """Whether the parts of a composition have a method, and make a group."""
    return lambda self: _parts_have(name, "identity")(self) and self.is_group


def _of_all(name: str) -> Any:
    """What holds where it holds for all parts."""
    return property(lambda self: all(getattr(part, name) for part in self._parts()))


class _Parts(Transformations):
    """An element is one of each part, flattened, side by side; drawn independently."""

    unitary = _of_all("unitary")
    linear = _of_all("linear")
    preserves_l1 = _of_all("preserves_l1")

    def _parts(self) -> Sequence[Any]:
        raise NotImplementedError

    @property
    def order(self) -> int | float:
        found: int | float = prod(part.order for part in self._parts())
        return found

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        return side_by_side([part.sample(n_samples, rng) for part in self._parts()])

    def split(self, elements: ArrayLike) -> list[NDArray[Any]]:
        """The parts' own batches, in their own shapes and types."""
        elements, parts = np.atleast_2d(elements), self._parts()
        like = [p.identity() if hasattr(p, "identity") else p.sample(1, 0) for p in parts]
        edges = np.cumsum([0] + [unit[0].size for unit in like]).tolist()
        elements = self._batch(elements, "one element of each part side by side", edges[-1])
        found = []
        for (a, b), unit in zip(pairwise(edges), like, strict=True):
            whole = unit.dtype.kind in "iu"
            rows = self._batch(elements[:, a:b], "rows", b - a, whole=whole)
            found.append(rows.reshape(len(rows), *unit.shape[1:]).astype(unit.dtype))
        return found


class Factors(_Parts, FiniteGroup):
    """Parts that are finite groups: one element generates, the others are the identity."""

    def identity(self) -> NDArray[Any]:
        return side_by_side([factor.identity() for factor in self._parts()])

    def generators(self) -> NDArray[Any]:
        """Each factor's generators, with the identity in the other factors."""
        factors, found = self._parts(), []
        for i, factor in enumerate(factors):
            moved = factor.generators()
            row = [np.repeat(f.identity(), len(moved), axis=0) for f in factors]
            row[i] = moved
            found.append(side_by_side(row))
        return np.concatenate(found)


@stores_parameters
class DirectProduct(Factors):
    """The direct product of finite groups, each acting on its own stretch of coordinates.

    An element is the concatenation of one element a factor, flattened.

    >>> from invariance.groups import Permutations, SignFlips
    >>> group = DirectProduct([Permutations(3), SignFlips(2)])
    >>> group.order, group.n_features
    (24, 5)
    """

    factors: Annotated[Sequence[FiniteGroup], Each(FINITE)]

    def _parts(self) -> Sequence[Any]:
        self._check()
        return self.factors

    def _sizes(self) -> list[int]:
        sizes = [factor.n_features for factor in self._parts()]
        if None in sizes:
            free = self.factors[sizes.index(None)]
            raise ParameterError(f"factors: {free!r} has no fixed number of coordinates")
        return sizes

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(self._sizes()),)

    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray[Any]:
        parts = zip(self.factors, *map(self.split, matched(first, second)), strict=True)
        return side_by_side([f.compose(a, b) for f, a, b in parts])

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        parts = zip(self.factors, self.split(elements), strict=True)
        return side_by_side([f.inverse(e) for f, e in parts])

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        edges = np.cumsum([0, *self._sizes()])
        pieces = zip(self.factors, self.split(elements), pairwise(edges), strict=True)
        return np.concatenate([f.act(e, X[:, a:b]) for f, e, (a, b) in pieces], axis=2)

    def aligned(self, X: Any, xp: Any = np) -> Any:
        """Side by side, where every factor aligns its stretch."""
        pieces = zip(self.factors, pairwise(np.cumsum([0, *self._sizes()]).tolist()), strict=True)
        found = [f.aligned(X[:, a:b], xp) for f, (a, b) in pieces]
        if any(part is None for part in found):
            return None
        return np.concatenate(found, axis=1) if xp is np else xp.concat(found, axis=1)


@stores_parameters
class Composition(_Parts):
    """Transformations ``first``, then ``second``: every pair, with the product measure.

    A group where both parts are and their generators commute on random points.

    >>> from invariance.groups import CyclicShifts, Negation, SignFlips
    >>> both = CyclicShifts(4).then(SignFlips(4))
    >>> both.order, both.is_group, CyclicShifts(4).then(Negation()).is_group
    (64, False, True)
    """

    first: Annotated[Transformations, GROUP]
    second: Annotated[Transformations, GROUP]

    keeps_shape = _of_all("keeps_shape")

    def _check_together(self) -> None:
        if not self.first.keeps_shape:
            return  # what comes out of it, the second part checks
        one, two = self.first, self.second
        if None in (one.n_features, two.n_features) or one.n_features == two.n_features:
            return
        raise ParameterError(
            f"first={one!r} and second={two!r} have shapes {one.shape} and {two.shape}: both must "
            "act on the same points; .on_each(n_points) and .on_columns(columns) act on longer ones"
        )

    def _parts(self) -> Sequence[Any]:
        self._check()
        return self.first, self.second

    @property
    def is_group(self) -> bool:  # type: ignore[override]
        """Whether both parts are groups of linear maps that commute."""
        if not all(p.is_group and (p.linear or p.unitary) for p in self._parts()):
            return False
        found = self._commuting()
        return found is not None and bool(found.all())

    def _commuting(self) -> NDArray[Any] | None:
        """Which generators of the one commute with which of the other, or elements drawn.

        Linear maps that agree on a random point are the same, with probability one. None where
        that would take long.
        """
        one, two = (_spanning(part) for part in self._parts())
        X = np.random.RandomState(0).standard_normal((1, self.n_features or 60))
        if len(one) * len(two) * X.size > _TRIAL:
            return None
        there = self.second.act(two, self.first.act(one, X)[:, 0])
        back = self.first.act(one, self.second.act(two, X)[:, 0]).swapaxes(0, 1)
        return np.asarray(np.isclose(there, back, atol=1e-9).all(axis=2).T)

    def as_direct_product(self) -> Composition:
        """The direct product of the parts, which have to commute; what shifts comes last.

        What comes before shifts is applied to points once, what comes after to each shift.
        """
        found, (one, two) = self._commuting(), self._parts()
        if found is None:
            raise ParameterError(f"times: {one!r} and {two!r} have too many generators to try")
        if not found.all():
            i, j = np.argwhere(~found)[0]
            g, h = _spanning(one)[i].tolist(), _spanning(two)[j].tolist()
            raise ParameterError(
                f"times needs groups that commute, but element {g} of {one!r} and {h} of {two!r} "
                "do not: .then applies one, then the other"
            )
        if not self.is_group:
            raise ParameterError(f"times needs two groups of linear maps, got {one!r} and {two!r}")
        if type(self.first).as_shifts is Transformations.as_shifts:
            return self
        return Composition(self.second, self.first)

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return all(part.symmetric for part in self._parts()) and self.is_group

    def refined(self, factor: int) -> Composition | None:
        """Infinite parts refined; where all parts are finite, those that are rules."""
        finer = [part.refined(factor) for part in self._parts()]
        infinite = [
            rule is not None and part.order == inf
            for rule, part in zip(finer, self._parts(), strict=True)
        ]
        if any(infinite):  # nodes that were given stay
            finer = [rule if is_one else None for rule, is_one in zip(finer, infinite, strict=True)]
        one, two = finer
        if one is None and two is None:
            return None
        return Composition(self.first if one is None else one, self.second if two is None else two)

    def moving(self, size: int) -> NDArray[Any] | None:
        """What moves by the parts that are refined, together and one by one."""
        rates = []
        for part in self._parts():
            if part.refined(1) is None:
                continue
            rate = part.moving(size)
            if rate is None or rate.shape[1] != size:  # after a projection, say
                return None
            rates.append(rate)
        if len(rates) < 2:
            return rates[0] if rates else None
        together = np.sqrt(sum(np.square(rate[0]) for rate in rates))
        return np.concatenate([together[None], *rates])

    # A group if its parts commute: elements are then multiplied part by part.

    @_if(_parts_commute("generators"))
    def generators(self) -> NDArray[Any]:
        """Generators of each part, with the identity of the other part."""
        one, two = self._parts()
        return np.concatenate(
            [pairs(one.generators(), two.identity()), pairs(one.identity(), two.generators())]
        )

    @_if(_parts_have("identity"))
    def identity(self) -> NDArray[Any]:
        """The identity as a batch of one element."""
        return side_by_side([part.identity() for part in self._parts()])

    @_if(_parts_commute("compose"))
    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray[Any]:
        """Elementwise products, part by part."""
        pairs = zip(self._parts(), *map(self.split, matched(first, second)), strict=True)
        return side_by_side([part.compose(a, b) for part, a, b in pairs])

    @_if(_parts_commute("inverse"))
    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        """Elementwise inverses, part by part."""
        pairs = zip(self._parts(), self.split(elements), strict=True)
        return side_by_side([part.inverse(element) for part, element in pairs])

    def chain(self) -> list[Transformations]:
        """The parts of nested compositions, as long as points keep their shape on the way."""
        return [*self.first.chain(), *self.second.chain()] if self.keeps_shape else [self]

    @property
    def shape(self) -> tuple[int, ...] | None:
        self._check()
        one, two = self.first.shape, self.second.shape
        if not self.first.keeps_shape or two is None or (one is not None and len(one) >= len(two)):
            return one
        return two

    @property
    def grid_shape(self) -> tuple[int, int, int] | None:
        """The image of points; of rows of numbers, the grid that one of the parts shifts."""
        grids = (super().grid_shape, *(part.grid_shape for part in self._parts()))
        return next((grid for grid in grids if grid is not None), None)

    def elements(self) -> NDArray[Any]:
        """All pairs, the second part varying fastest."""
        self._check_listable()
        return pairs(self.first.elements(), self.second.elements())

    def weights(self) -> NDArray[Any] | None:
        if self.first.weights() is None and self.second.weights() is None:
            return None
        (_, one), (_, two) = self.first.quadrature(), self.second.quadrature()
        return np.outer(one, two).ravel()

    def quadrature(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """All pairs of the parts' rules, and products of their weights."""
        if self.order < inf:
            return super().quadrature()
        (one, weights), (two, others) = self.first.quadrature(), self.second.quadrature()
        return pairs(one, two), np.outer(weights, others).ravel()

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        one, two = self.split(elements)
        # Runs of equal first parts (as `elements` lists them) are transformed once.
        starts = np.flatnonzero(np.r_[True, np.any(_rows(one)[1:] != _rows(one)[:-1], axis=1)])
        moved: Any = np.empty((0, *X.shape), dtype=X.dtype)
        for a, b in pairwise([*starts, len(one)][: len(one) + 1]):  # none of no elements
            part = self.second.act(two[a:b], self.first.act(one[a : a + 1], X)[0])
            if not a:
                moved = np.empty((len(elements), *part.shape[1:]), dtype=X.dtype)
            moved[a:b] = part
        return np.asarray(moved)


@stores_parameters
class OnPoints(Transformations):
    """Any transformations of points, acting on all points of a set alike.

    A row of m ``n_coordinates`` numbers, or a padded set (m, n_coordinates), is m points. Missing
    points, NaN, stay missing.

    Parameters
    ----------
    group : Transformations
        Of vectors of as many entries as there are ``coordinates``.
    n_coordinates : int or None
        Numbers that make a point, its label and weight included; None takes a row as one point.
    coordinates : sequence of int or None
        Those that are moved, such as ``(1, 2, 3)`` where the first is a label; None is all.
    n_points : int or None
        Points of a row; None takes any number. `on_each` and `on_columns` of a group make these.

    >>> import numpy as np
    >>> from invariance.beyond import PlaneRotations
    >>> atoms = [[6.0, 1.0, 0.0, 8.0, 0.0, 1.0]]               # a carbon and an oxygen
    >>> OnPoints(PlaneRotations(), 3, coordinates=(1, 2)).act([np.pi / 2], atoms)[0].round(6) + 0.0
    array([[ 6.,  0.,  1.,  8., -1.,  0.]])
    """

    group: Annotated[Transformations, GROUP]
    n_coordinates: Annotated[int | None, Whole(1) | None] = None
    _: KW_ONLY
    coordinates: Annotated[Sequence[int] | None, Array(1, whole=True, least=0) | None] = None
    n_points: Annotated[int | None, Whole(1) | None] = None

    @property
    def shape(self) -> tuple[int, ...] | None:
        if self.n_points is None or self.n_coordinates is None:
            return None
        return (self.n_points * self.n_coordinates,)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        return self.group.sample(n_samples, rng)

    def _moved(self, size: int) -> list[int]:
        """The coordinates that are moved, of points of a size."""
        return list(range(size)) if self.coordinates is None else [int(c) for c in self.coordinates]

    def _check_together(self) -> None:
        size, n = self.n_coordinates, self.group.n_features
        if size is None:
            size = n if self.coordinates is None else 1 + max(map(int, self.coordinates))
        if size is None:
            return
        moved = self._moved(size)
        given = f"n_coordinates={self.n_coordinates}, got coordinates={self.coordinates!r}"
        if len(set(moved)) < len(moved) or max(moved) >= size:
            raise ParameterError(f"OnPoints: coordinates must be different ones below {given}")
        if n not in (None, len(moved)):
            moves = f"{self.group!r} moves {n} coordinates, but points have {len(moved)}"
            raise ParameterError(f"OnPoints: {moves}: {given}")

    def moves_points(self, size: int) -> list[int] | None:
        return self._moved(size) if size == self.n_coordinates else None

    def _on(self, group: Transformations) -> OnPoints:
        """Another group on the same coordinates of points."""
        return OnPoints(**self.get_params(deep=False) | {"group": group})

    def refined(self, factor: int) -> OnPoints | None:
        finer = self.group.refined(factor)
        return None if finer is None else self._on(finer)

    def chain(self) -> list[Transformations]:
        """The group's parts, each on the same coordinates of points."""
        parts = self.group.chain()
        return [self] if len(parts) < 2 else [self._on(part) for part in parts]

    def _columns(self, size: int) -> NDArray[Any]:
        """The columns of a row of ``size`` numbers that move, shape (points, coordinates)."""
        n_coordinates = int(self.n_coordinates or size)
        starts = np.arange(0, size, n_coordinates)
        return np.asarray(starts[:, None] + np.array(self._moved(n_coordinates)))

    def moving(self, size: int) -> NDArray[Any] | None:
        columns = self._columns(size)
        inner = self.group.moving(columns.shape[1])
        if inner is None:
            return None
        rates = np.zeros((len(inner), size))
        rates[:, columns] = inner[:, None]
        return rates

    def _inner_on_points(self, A: NDArray[Any], B: NDArray[Any], inner: Any) -> Any:
        """What ``inner`` gives for the coordinates that move, and inner products of the others.

        A group of rows of any length takes all points of a row at once.
        """
        columns = self._columns(A.shape[1])
        if self.group.n_features is None:
            columns = columns.reshape(1, -1)
        fixed = np.setdiff1d(np.arange(A.shape[1]), columns)
        found = [inner(A[:, point], B[:, point]) for point in columns]
        return found, A[:, fixed] @ B[:, fixed].T

    def as_turn(self, A: NDArray[Any], B: NDArray[Any]) -> tuple[Any, Any] | None:
        turns, fixed = self._inner_on_points(A, B, self.group.as_turn)
        if any(turn is None for turn in turns):
            return None
        return fixed + sum(c for c, _ in turns), sum(z for _, z in turns)

    def largest_inner(self, A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any] | None:
        """The group's, of the coordinates that move; None if it takes points one by one."""
        largest, fixed = self._inner_on_points(A, B, self.group.largest_inner)
        if len(largest) != 1 or largest[0] is None:
            return None
        return np.asarray(largest[0] + fixed)

    # Elements, measure and properties are the group's.

    @property
    def unitary(self) -> bool:  # type: ignore[override]
        return bool(self._inner().unitary)

    @property
    def linear(self) -> bool:  # type: ignore[override]
        return bool(self._inner().linear)

    @property
    def preserves_l1(self) -> bool:  # type: ignore[override]
        return bool(self._inner().preserves_l1)

    @property
    def is_group(self) -> bool:  # type: ignore[override]
        return bool(self._inner().is_group)

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return bool(self._inner().symmetric)

    @property
    def one_sided(self) -> bool:
        return bool(self._inner().one_sided)

    @property
    def order(self) -> int | float:
        order: int | float = self._inner().order
        return order

    def _inner(self) -> Any:
        """The group, once the parameters are known to be right."""
        self._check()
        return self.group

    @_if(_group_has("generators"))
    def generators(self) -> NDArray[Any]:
        """The group's generators."""
        return np.asarray(self._inner().generators())

    @_if(_group_has("identity"))
    def identity(self) -> NDArray[Any]:
        """The group's identity, a batch of one element."""
        return np.asarray(self._inner().identity())

    @_if(_group_has("compose"))
    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray[Any]:
        """Elementwise products, as the group composes them."""
        return np.asarray(self._inner().compose(first, second))

    @_if(_group_has("inverse"))
    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        """Elementwise inverses, as the group inverts them."""
        return np.asarray(self._inner().inverse(elements))

    def elements(self) -> NDArray[Any]:
        """All elements of the group."""
        return np.asarray(self._inner().elements())

    def weights(self) -> NDArray[Any] | None:
        """Probabilities of the group's elements, or ``None`` for equal ones."""
        weights: NDArray[Any] | None = self._inner().weights()
        return weights

    def quadrature(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Elements and weights of the group's rule."""
        rule: tuple[NDArray[Any], NDArray[Any]] = self._inner().quadrature()
        return rule

    def relative_rule(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        rule: tuple[NDArray[Any], NDArray[Any]] | None = self._inner().relative_rule()
        return rule

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._inner()._check_elements(elements))

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        n_coordinates = int(self.n_coordinates or X.shape[1])
        moved = self._moved(n_coordinates)
        if X.shape[1] % n_coordinates or max(moved) >= n_coordinates:
            due = self.n_coordinates or f"at least {1 + max(moved)}"
            acts = f"{self!r} acts on rows of points of {due} coordinates"
            raise ParameterError(f"{acts}; the rows have {X.shape[1]}")
        points = X.reshape(-1, n_coordinates)
        there = ~np.isnan(points).any(axis=1)
        result = np.repeat(points[None], len(elements), axis=0)
        places = np.ix_(np.arange(len(elements)), np.flatnonzero(there), np.array(moved))
        result[places] = self.group.act(elements, points[there][:, moved])
        return result.reshape(len(elements), *X.shape)


Transformations._composition = Composition
Transformations._on_points = OnPoints
