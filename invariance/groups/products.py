"""Transformations that are made of others.

`DirectProduct` acts on consecutive blocks of coordinates, `Composition` applies two sets of
transformations in turn, and `OnPoints` transforms all points of a set in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from itertools import pairwise
from math import inf, lcm, prod
from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from ..core.parameters import Array as ArrayKind
from ..core.parameters import Each, Has, ParameterError, Whole, stores_parameters
from .base import ENUMERATION_LIMIT, GROUP, FiniteGroup, Transformations
from .canonical import last_images
from .reflections import is_reflection_group

Array: TypeAlias = NDArray[Any]

#: Largest number of values that are computed to find out whether two groups commute.
_TRIAL = 10**6
#: Numbers of elements that stand for a set without generators there: of a finite one, if this does
#: not take long, and of any.
_MANY = 64
_FEW = 6
#: Number of coordinates of points for that, if the groups take any number: whole points of the
#: plane and of space.
_TRIAL_SIZE = 60
_Method = TypeVar("_Method", bound=Callable[..., Any])
FINITE = Has("a finite group, such as CyclicShifts(8)", "generators", "compose")


def _rows(elements: Array) -> Array:
    """Elements, each flattened to a row."""
    return elements.reshape(len(elements), prod(elements.shape[1:]))


def matched(first: ArrayLike, second: ArrayLike) -> tuple[Array, ...]:
    """Two batches of elements, broadcast against each other."""
    return np.broadcast_arrays(np.atleast_2d(first), np.atleast_2d(second))


def side_by_side(batches: Sequence[Array]) -> Array:
    """Elements made of one element of each batch, flattened and concatenated."""
    return np.concatenate([_rows(batch) for batch in batches], axis=1)


def pairs(first: Array, second: Array) -> Array:
    """All pairs of elements of two batches, the second varying fastest."""
    repeated_first = np.repeat(_rows(first), len(second), axis=0)
    repeated_second = np.tile(_rows(second), (len(first), 1))
    return side_by_side([repeated_first, repeated_second])


def _spanning(part: Any, most: int = _FEW) -> Array:
    """Generators of a part; elements of a set without generators, at most as many as stated.

    They are drawn with equal probabilities, since weights may leave little but the identity.
    """
    if hasattr(part, "generators"):
        return np.asarray(part.generators())
    if part.order > ENUMERATION_LIMIT:
        return np.asarray(part.sample(_FEW, 0))
    elements = np.asarray(part.elements())
    if len(elements) <= most:
        return elements
    drawn = np.random.RandomState(0).choice(len(elements), most, replace=False)
    return elements[drawn]


def _if(condition: Callable[[Any], bool]) -> Callable[[_Method], _Method]:
    """Decorator of methods that exist only if a condition on the object holds."""
    decorate: Callable[[_Method], _Method] = available_if(condition)
    return decorate


def _parts_have(name: str) -> Callable[[Any], bool]:
    """Condition that all parts of a composition have a method."""

    def condition(composition: Any) -> bool:
        return all(hasattr(part, name) for part in composition._parts())

    return condition


def _parts_commute(name: str) -> Callable[[Any], bool]:
    """Condition that all parts of a composition have a method, and together form a group."""

    def condition(composition: Any) -> bool:
        has_methods = _parts_have(name)(composition) and _parts_have("identity")(composition)
        return has_methods and composition.is_group

    return condition


def _group_has(name: str) -> Callable[[Any], bool]:
    """Condition that the group that acts on points has a method."""

    def condition(on_points: Any) -> bool:
        return hasattr(on_points._inner(), name)

    return condition


def _of_all(name: str) -> Any:
    """A property that is true if it is true of every part."""
    return property(lambda self: all(getattr(part, name) for part in self._parts()))


class _Parts(Transformations):
    """Base of sets made of several parts.

    An element is one element of each part, flattened and side by side. The parts are drawn
    independently.
    """

    unitary = _of_all("unitary")
    linear = _of_all("linear")
    preserves_l1 = _of_all("preserves_l1")

    def _parts(self) -> Sequence[Any]:
        raise NotImplementedError

    @property
    def order(self) -> int | float:
        order: int | float = prod(part.order for part in self._parts())
        return order

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        return side_by_side([part.sample(n_samples, rng) for part in self._parts()])

    def split(self, elements: ArrayLike) -> list[Array]:
        """Batches of elements of the parts, in the parts' shapes and types."""
        elements = np.atleast_2d(elements)
        examples = [_example(part) for part in self._parts()]
        blocks = consecutive_slices([example[0].size for example in examples])
        elements = self._batch(elements, "one element of each part side by side", blocks[-1].stop)
        batches = []
        for block, example in zip(blocks, examples, strict=True):
            is_whole = example.dtype.kind in "iu"
            size = block.stop - block.start
            rows = self._batch(elements[:, block], "rows", size, whole=is_whole)
            batch = rows.reshape(len(rows), *example.shape[1:])
            batches.append(batch.astype(example.dtype))
        return batches

    # Products of elements, part by part. Subclasses offer them if the whole is a group.

    def _identity(self) -> Array:
        return side_by_side([part.identity() for part in self._parts()])

    def _generators(self) -> Array:
        """Each part's generators, with the identity in the other parts."""
        parts = self._parts()
        batches = []
        for i, part in enumerate(parts):
            generators = part.generators()
            columns = [np.repeat(other.identity(), len(generators), axis=0) for other in parts]
            columns[i] = generators
            batches.append(side_by_side(columns))
        return np.concatenate(batches)

    def _composed(self, first: ArrayLike, second: ArrayLike) -> Array:
        first, second = matched(first, second)
        products = []
        for part, a, b in zip(self._parts(), self.split(first), self.split(second), strict=True):
            products.append(part.compose(a, b))
        return side_by_side(products)

    def _inverted(self, elements: ArrayLike) -> Array:
        inverses = []
        for part, batch in zip(self._parts(), self.split(elements), strict=True):
            inverses.append(part.inverse(batch))
        return side_by_side(inverses)


def consecutive_slices(sizes: Sequence[int]) -> list[slice]:
    """Slices of these sizes, one after the other."""
    edges = np.cumsum([0, *sizes]).tolist()
    return [slice(start, stop) for start, stop in pairwise(edges)]


def _example(part: Any) -> Array:
    """One element of a part, a batch that shows the shape and type of elements."""
    if hasattr(part, "identity"):
        return np.asarray(part.identity())
    return np.asarray(part.sample(1, 0))


class Factors(_Parts, FiniteGroup):
    """Base of products of finite groups."""

    def identity(self) -> Array:
        return self._identity()

    def generators(self) -> Array:
        """Each factor's generators, with the identity in the other factors."""
        return self._generators()


def refuse_weights(name: str, *factors: Any) -> None:
    """Refuse factors whose elements are not equally likely."""
    for factor in factors:
        if factor.weights() is not None:
            raise ParameterError(
                f"{name}: the elements of {factor!r} have weights, but must be equally likely; "
                "first.on_columns(...).then(second.on_columns(...)) keeps the weights of two sets"
            )


@stores_parameters
class DirectProduct(Factors):
    """The direct product of finite groups, each acting on its own block of coordinates.

    An element is the concatenation of one element per factor, flattened. All are equally likely:
    factors whose elements have weights are refused.

    >>> from invariance.groups import Permutations, SignFlips
    >>> group = DirectProduct([Permutations(3), SignFlips(2)])
    >>> group.order, group.n_features
    (24, 5)
    """

    factors: Annotated[Sequence[FiniteGroup], Each(FINITE)]

    def _check_together(self) -> None:
        refuse_weights(f"{type(self).__name__}: factors", *self.factors)

    def _parts(self) -> Sequence[Any]:
        self._check()
        return self.factors

    def _sizes(self) -> list[int]:
        sizes = [factor.n_features for factor in self._parts()]
        if None in sizes:
            factor = self.factors[sizes.index(None)]
            raise ParameterError(f"factors: {factor!r} has no fixed number of coordinates")
        return sizes

    def _blocks(self) -> list[slice]:
        """The columns on which each factor acts."""
        return consecutive_slices(self._sizes())

    @property
    def shape(self) -> tuple[int, ...]:
        return (sum(self._sizes()),)

    def compose(self, first: ArrayLike, second: ArrayLike) -> Array:
        return self._composed(first, second)

    def inverse(self, elements: ArrayLike) -> Array:
        return self._inverted(elements)

    def _act(self, elements: Array, X: Array) -> Array:
        images = []
        parts = zip(self.factors, self.split(elements), self._blocks(), strict=True)
        for factor, batch, block in parts:
            images.append(factor.act(batch, X[:, block]))
        return np.concatenate(images, axis=2)

    def aligned(self, X: Any, xp: Any = np) -> Any:
        """Aligned blocks side by side; None if a factor cannot align its block."""
        aligned_blocks = []
        for factor, block in zip(self.factors, self._blocks(), strict=True):
            aligned_block = factor.aligned(X[:, block], xp)
            if aligned_block is None:
                return None
            aligned_blocks.append(aligned_block)
        if xp is np:
            return np.concatenate(aligned_blocks, axis=1)
        return xp.concat(aligned_blocks, axis=1)

    def aligning(self, A: Array, B: Array) -> Array | None:
        """The factors' best elements side by side; None if a factor does not know them."""
        batches = []
        for factor, block in zip(self._parts(), self._blocks(), strict=True):
            elements = factor.aligning(A[:, block], B[:, block])
            if elements is None:
                return None
            batches.append(elements.reshape(len(A), len(B), prod(elements.shape[2:])))
        return np.concatenate(batches, axis=2)

    def representatives(self, X: Array) -> Array:
        """Representatives for each factor, side by side."""
        parts = zip(self._parts(), self._blocks(), strict=True)
        return np.concatenate([factor.canonical(X[:, block]) for factor, block in parts], axis=1)

    def reflects(self, n_features: int | None) -> bool | None:
        """Whether reflections generate every factor; None if it is not known."""
        answers = [is_reflection_group(factor) for factor in self._parts()]
        if False in answers:
            return False
        return None if None in answers else True


@stores_parameters
class Composition(_Parts):
    """Transformations ``first``, then ``second``: every pair, with the product measure.

    It is a group if both parts are groups and their generators commute on random points.

    >>> from invariance.groups import CyclicShifts, Negation, SignFlips
    >>> both = CyclicShifts(4).then(SignFlips(4))
    >>> both.order, both.is_group, CyclicShifts(4).then(Negation()).is_group
    (64, False, True)
    """

    first: Annotated[Transformations, GROUP]
    second: Annotated[Transformations, GROUP]

    keeps_shape = _of_all("keeps_shape")

    def _check_together(self) -> None:
        first_part = self.first
        second_part = self.second
        if not first_part.keeps_shape:
            # The second part checks the points that it receives.
            return
        first_size = first_part.n_features
        second_size = second_part.n_features
        if first_size is None or second_size is None or first_size == second_size:
            return
        shapes = f"{first_part.shape} and {second_part.shape}"
        raise ParameterError(
            f"first={first_part!r} and second={second_part!r} have shapes {shapes}: both must act "
            "on the same points; .on_each(n_points) and .on_columns(columns) act on longer ones"
        )

    def _parts(self) -> Sequence[Any]:
        self._check()
        return self.first, self.second

    @property
    def is_group(self) -> bool:  # type: ignore[override]
        """Whether both parts are groups of linear maps that commute."""
        for part in self._parts():
            if not part.is_group or not (part.linear or part.unitary):
                return False
        commutes = self._commuting()
        return commutes is not None and bool(commutes.all())

    @property
    def one_sided(self) -> bool:
        """Whether one mean over the second argument is enough, as for groups that commute.

        It is also enough if each element of one part maps orbits of the other part onto orbits, as
        a mirror does with the orbits of all rotations.
        """
        first_part, second_part = self._parts()
        for part in (first_part, second_part):
            if not (part.one_sided and part.unitary and part.linear and part.keeps_shape):
                return False
        commutes = self._commuting()
        if commutes is not None and commutes.all():
            return True
        size = self._trial_size()
        return _maps_orbits_onto_orbits(first_part, second_part, size) or _maps_orbits_onto_orbits(
            second_part, first_part, size
        )

    def _trial_size(self) -> int:
        """A number of coordinates on which all parts act."""
        if self.n_features is not None:
            return self.n_features
        size = _TRIAL_SIZE
        largest_column = 0
        for part in self.chain():
            size = lcm(size, int(getattr(part, "n_coordinates", None) or 1))
            largest_column = max(largest_column, _least_size(part) or 0)
        return size * max(1, -(-largest_column // size))

    def _trial_elements(self) -> tuple[Array, Array] | None:
        """Generators (or elements) of both parts; None if their comparison would take long."""
        size = self._trial_size()
        for most in (_MANY, _FEW):
            first_elements = _spanning(self.first, most)
            second_elements = _spanning(self.second, most)
            if len(first_elements) * len(second_elements) * size <= _TRIAL:
                return first_elements, second_elements
        return None

    def _commuting(self) -> Array | None:
        """Which generators (or elements) of the parts commute, a matrix of booleans.

        Linear maps that agree on a random point are the same, with probability one. The result is
        None if the comparison would take long.
        """
        batches = self._trial_elements()
        if batches is None:
            return None
        first_elements, second_elements = batches
        X = np.random.RandomState(0).standard_normal((1, self._trial_size()))
        first_images = self.first.act(first_elements, X)[:, 0]
        first_then_second = self.second.act(second_elements, first_images)
        second_images = self.second.act(second_elements, X)[:, 0]
        second_then_first = self.first.act(first_elements, second_images).swapaxes(0, 1)
        is_equal = np.isclose(first_then_second, second_then_first, atol=1e-9).all(axis=2)
        return np.asarray(is_equal.T)

    def as_direct_product(self) -> Composition:
        """The direct product of the parts, which must commute; a part that shifts comes last.

        The part in front is applied to points only once; a part after the shifts would be applied
        to every shifted point.
        """
        first_part, second_part = self._parts()
        batches = self._trial_elements()
        commutes = self._commuting()
        if batches is None or commutes is None:
            raise ParameterError(
                f"times: {first_part!r} and {second_part!r} have too many generators to try"
            )
        if not commutes.all():
            i, j = np.argwhere(~commutes)[0]
            g = batches[0][i].tolist()
            h = batches[1][j].tolist()
            raise ParameterError(
                f"times needs groups that commute, but element {g} of {first_part!r} and {h} of "
                f"{second_part!r} do not: .then applies one, then the other"
            )
        if not (self.is_group or self.one_sided):
            raise ParameterError(
                f"times needs two groups of linear maps, got {first_part!r} and {second_part!r}: "
                ".then applies one, then the other"
            )
        if type(self.first).as_shifts is Transformations.as_shifts:
            return self
        return Composition(self.second, self.first)

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return all(part.symmetric for part in self._parts()) and self.is_group

    def refined(self, factor: int) -> Composition | None:
        """The composition with infinite parts refined; None if no part can be refined.

        If all parts are finite, rules that stand for an infinite set are refined instead.
        """
        first_part, second_part = self._parts()
        finer_first = first_part.refined(factor)
        finer_second = second_part.refined(factor)
        replaces_first = finer_first is not None and first_part.order == inf
        replaces_second = finer_second is not None and second_part.order == inf
        if replaces_first or replaces_second:
            # Finite rules are the user's choice and stay.
            finer_first = finer_first if replaces_first else None
            finer_second = finer_second if replaces_second else None
        if finer_first is None and finer_second is None:
            return None
        return Composition(
            first_part if finer_first is None else finer_first,
            second_part if finer_second is None else finer_second,
        )

    def moving(self, size: int) -> Array | None:
        """Rates of the parts that can be refined, all together and one by one."""
        rates = []
        for part in self._parts():
            if part.refined(1) is None:
                continue
            part_rates = part.moving(size)
            # The second part may take other coordinates than the first, after a projection.
            if part_rates is None or part_rates.shape[1] != size:
                return None
            rates.append(part_rates)
        if not rates:
            return None
        if len(rates) == 1:
            return np.asarray(rates[0])
        squares = [np.square(part_rates[0]) for part_rates in rates]
        joint_rate = np.sqrt(sum(squares))
        return np.concatenate([joint_rate[None], *rates])

    # Infinite parts that move different coordinates are aligned one by one.

    def _moves_apart(self, size: int | None = None) -> list[Array] | None:
        """Masks of the coordinates that each part moves; None unless both are infinite and apart.

        Without a size of points, the smallest one that the parts accept is taken.
        """
        parts = self._parts()
        if not all(part.order == inf and part.unitary for part in parts):
            return None
        sizes = [_least_size(part) for part in parts]
        if None in sizes:
            return None
        masks = []
        for part in parts:
            rates = part.moving(size or max(map(int, filter(None, sizes))))
            if rates is None:
                return None
            masks.append(rates.any(axis=0))
        return None if np.any(masks[0] & masks[1]) else masks

    def largest_inner(self, A: Array, B: Array) -> Array | None:
        """Sums of the largest inner products of parts that move different coordinates."""
        masks = self._moves_apart(A.shape[1])
        if masks is None:
            return None
        is_fixed = ~(masks[0] | masks[1])
        total = A[:, is_fixed] @ B[:, is_fixed].T
        for part, moves in zip(self._parts(), masks, strict=True):
            largest = part.largest_inner(np.where(moves, A, 0), B)
            if largest is None:
                return None
            total = total + largest
        return np.asarray(total)

    def aligning(self, A: Array, B: Array) -> Array | None:
        """Best elements of parts that move different coordinates, side by side."""
        masks = self._moves_apart(A.shape[1])
        if masks is None:
            return None
        batches = []
        for part, moves in zip(self._parts(), masks, strict=True):
            elements = part.aligning(np.where(moves, A, 0), B)
            if elements is None:
                return None
            batches.append(elements.reshape(len(A), len(B), prod(elements.shape[2:])))
        return np.concatenate(batches, axis=2)

    def repeated(self, n_points: int) -> Composition | None:
        """The composition itself if this is so for both parts; otherwise not known."""
        if all(part.repeated(n_points) is part for part in self._parts()):
            return self
        return None

    # If the parts commute, the composition is a group whose elements multiply part by part.

    @_if(_parts_commute("generators"))
    def generators(self) -> Array:
        """Generators of each part, with the identity of the other part."""
        return self._generators()

    @_if(_parts_have("identity"))
    def identity(self) -> Array:
        """The identity as a batch of one element."""
        return self._identity()

    @_if(_parts_commute("compose"))
    def compose(self, first: ArrayLike, second: ArrayLike) -> Array:
        """Elementwise products, part by part."""
        return self._composed(first, second)

    @_if(_parts_commute("inverse"))
    def inverse(self, elements: ArrayLike) -> Array:
        """Elementwise inverses, part by part."""
        return self._inverted(elements)

    def representatives(self, X: Array) -> Array | None:
        """The last image of one part's representatives, if the other part can be listed."""
        for formula, listed in (self._parts(), reversed(self._parts())):
            if formula.representatives(X[:0]) is not None and listed.order < inf:
                return last_images(listed, X, formula.representatives)
        return None

    def reflects(self, n_features: int | None) -> bool | None:
        """True if reflections generate both parts and the parts commute; otherwise not known."""
        for part in self._parts():
            if is_reflection_group(part, n_features) is not True:
                return None
        return True if self.is_group else None

    def chain(self) -> list[Transformations]:
        """The parts of nested compositions, if points keep their shape in all of them.

        Infinite groups that move different coordinates stay together.
        """
        if not self.keeps_shape or self._moves_apart() is not None:
            return [self]
        return [*self.first.chain(), *self.second.chain()]

    @property
    def shape(self) -> tuple[int, ...] | None:
        self._check()
        first_shape = self.first.shape
        second_shape = self.second.shape
        if not self.first.keeps_shape or second_shape is None:
            return first_shape
        if first_shape is None or len(first_shape) < len(second_shape):
            return second_shape
        return first_shape

    @property
    def grid_shape(self) -> tuple[int, int, int] | None:
        """Shape of the points if they are images, otherwise of the grid that a part shifts."""
        grid = super().grid_shape
        if grid is not None:
            return grid
        for part in self._parts():
            if part.grid_shape is not None:
                part_grid: tuple[int, int, int] = part.grid_shape
                return part_grid
        return None

    def elements(self) -> Array:
        """All pairs, the second part varying fastest."""
        self._check_listable()
        return pairs(self.first.elements(), self.second.elements())

    def weights(self) -> Array | None:
        if self.first.weights() is None and self.second.weights() is None:
            return None
        _, first_weights = self.first.quadrature()
        _, second_weights = self.second.quadrature()
        return np.outer(first_weights, second_weights).ravel()

    def quadrature(self) -> tuple[Array, Array]:
        """All pairs of the parts' rules, and products of their weights."""
        if self.order < inf:
            return super().quadrature()
        first_elements, first_weights = self.first.quadrature()
        second_elements, second_weights = self.second.quadrature()
        weights = np.outer(first_weights, second_weights).ravel()
        return pairs(first_elements, second_elements), weights

    def _act(self, elements: Array, X: Array) -> Array:
        first_elements, second_elements = self.split(elements)
        images: Array | None = None
        for run in _runs_of_equal_rows(_rows(first_elements)):
            first_element = first_elements[run.start : run.start + 1]
            first_images = self.first.act(first_element, X)[0]
            run_images = self.second.act(second_elements[run], first_images)
            if images is None:
                image_shape = run_images.shape[1:]
                images = np.empty((len(elements), *image_shape), dtype=X.dtype)
            images[run] = run_images
        if images is None:
            return np.empty((0, *X.shape), dtype=X.dtype)
        return images


def _least_size(part: Any) -> int | None:
    """The smallest number of coordinates on which a group acts; None if it moves all of a row."""
    if isinstance(part, Composition):
        sizes = [_least_size(each) for each in part._parts()]
        return None if None in sizes else max(map(int, filter(None, sizes)))
    if isinstance(part, OnPoints) and part.coordinates is not None and part.n_coordinates is None:
        return part._least_n_coordinates()
    size: int | None = part.n_features
    return size


def _maps_orbits_onto_orbits(mover: Any, group: Any, size: int) -> bool:
    """Whether g t x lies on the orbit of g x, for generators g of one group and t of another.

    A random point x decides, with probability one. The result is False if the comparison would take
    long, or if orbits cannot be compared.
    """
    if not group.is_group:
        return False
    movers = _spanning(mover)
    elements = _spanning(group)
    X = np.random.RandomState(0).standard_normal((1, size))
    if group.representatives(X) is None:
        if len(movers) * len(elements) * group.order * size > _TRIAL:
            return False
    images = group.act(elements, X)[:, 0]
    moved_images = mover.act(movers, images).reshape(-1, size)
    moved_X = np.repeat(mover.act(movers, X)[:, 0], len(elements), axis=0)
    return np.allclose(group.canonical(moved_images), group.canonical(moved_X), atol=1e-9)


def _runs_of_equal_rows(rows: Array) -> list[slice]:
    """Runs of equal neighbouring rows.

    `Composition.elements` lists every first part many times in a row: it is applied once per run.
    """
    if len(rows) == 0:
        return []
    is_new = np.any(rows[1:] != rows[:-1], axis=1)
    starts = [0, *(np.flatnonzero(is_new) + 1).tolist()]
    stops = [*starts[1:], len(rows)]
    return [slice(start, stop) for start, stop in zip(starts, stops, strict=True)]


@stores_parameters
class OnPoints(Transformations):
    """Any transformations of points, acting in the same way on all points of a set.

    A row of ``m * n_coordinates`` numbers, or a padded set (m, n_coordinates), holds m points.
    Missing points, with NaN in any coordinate, stay as they are; so does a row that is one point
    (``n_coordinates=None``) if a coordinate that would be transformed is NaN.

    Parameters
    ----------
    group : Transformations
        Transformations of vectors with as many entries as there are ``coordinates``.
    n_coordinates : int or None
        Numbers per point, including its label and weight; None takes a row as one point.
    coordinates : sequence of int or None
        The coordinates that are transformed, such as ``(1, 2, 3)`` if the first is a label; None
        is all.
    n_points : int or None
        Points per row; None takes any number. A group's methods `on_each` and `on_columns` create
        these objects.

    Examples
    --------
    >>> import numpy as np
    >>> from invariance.beyond import PlaneRotations
    >>> atoms = [[6.0, 1.0, 0.0, 8.0, 0.0, 1.0]]               # a carbon and an oxygen
    >>> OnPoints(PlaneRotations(), 3, coordinates=(1, 2)).act([np.pi / 2], atoms)[0].round(6) + 0.0
    array([[ 6.,  0.,  1.,  8., -1.,  0.]])
    """

    group: Annotated[Transformations, GROUP]
    n_coordinates: Annotated[int | None, Whole(1) | None] = None
    _: KW_ONLY
    coordinates: Annotated[Sequence[int] | None, ArrayKind(1, whole=True, least=0) | None] = None
    n_points: Annotated[int | None, Whole(1) | None] = None

    @property
    def shape(self) -> tuple[int, ...] | None:
        if self.n_points is None or self.n_coordinates is None:
            return None
        return (self.n_points * self.n_coordinates,)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        return self.group.sample(n_samples, rng)

    def _moving_coordinates(self, n_coordinates: int) -> list[int]:
        """The coordinates that are transformed, for points with this many coordinates."""
        if self.coordinates is None:
            return list(range(n_coordinates))
        return [int(coordinate) for coordinate in self.coordinates]

    def _least_n_coordinates(self) -> int | None:
        """Number of coordinates of a point, or the least possible; None if any will do."""
        if self.n_coordinates is not None:
            return self.n_coordinates
        if self.coordinates is not None:
            return 1 + max(map(int, self.coordinates))
        return self.group.n_features

    def _check_together(self) -> None:
        n_coordinates = self._least_n_coordinates()
        if n_coordinates is None:
            return
        moving = self._moving_coordinates(n_coordinates)
        settings = f"n_coordinates={self.n_coordinates}, got coordinates={self.coordinates!r}"
        if len(set(moving)) < len(moving) or max(moving) >= n_coordinates:
            raise ParameterError(f"OnPoints: coordinates must be different ones below {settings}")
        n_features = self.group.n_features
        if n_features not in (None, len(moving)):
            raise ParameterError(
                f"OnPoints: {self.group!r} moves {n_features} coordinates, but points have "
                f"{len(moving)}: {settings}"
            )

    def moves_points(self, size: int) -> list[int] | None:
        if size != self.n_coordinates:
            return None
        return self._moving_coordinates(size)

    def repeated(self, n_points: int) -> OnPoints | None:
        """The object itself if it takes rows of any number of points; otherwise not known."""
        if self.n_coordinates is None or self.n_points is not None:
            return None
        return self

    def reflects(self, n_features: int | None) -> bool | None:
        """Whether reflections generate the group, if a row is one point; otherwise not known."""
        row_length = n_features or self.n_features
        is_one_point = self.n_coordinates is None or row_length == self.n_coordinates
        if not is_one_point:
            return None
        size = self._least_n_coordinates() if self.coordinates is None else len(self.coordinates)
        return is_reflection_group(self.group, size or row_length)

    def _with_group(self, group: Transformations) -> OnPoints:
        """The same object with another group."""
        return OnPoints(
            group,
            self.n_coordinates,
            coordinates=self.coordinates,
            n_points=self.n_points,
        )

    def refined(self, factor: int) -> OnPoints | None:
        finer_group = self.group.refined(factor)
        if finer_group is None:
            return None
        return self._with_group(finer_group)

    def chain(self) -> list[Transformations]:
        """The group's parts, each on the same coordinates of points."""
        parts = self.group.chain()
        if len(parts) < 2:
            return [self]
        return [self._with_group(part) for part in parts]

    def _columns(self, size: int) -> Array:
        """The columns of a row of ``size`` numbers that move, shape (points, coordinates)."""
        n_coordinates = int(self.n_coordinates or size)
        point_starts = np.arange(0, size, n_coordinates)
        moving = np.array(self._moving_coordinates(n_coordinates))
        return np.asarray(point_starts[:, None] + moving)

    def moving(self, size: int) -> Array | None:
        columns = self._columns(size)
        group_rates = self.group.moving(columns.shape[1])
        if group_rates is None:
            return None
        rates = np.zeros((len(group_rates), size))
        rates[:, columns] = group_rates[:, None]
        return rates

    def _group_of_row(self, columns: Array) -> Any:
        """The group that moves all points of a row at once; None if it takes them one by one.

        ``columns`` has the shape (points, coordinates).
        """
        n_points, n_coordinates = columns.shape
        group = self.group
        if n_points > 1 and isinstance(group, OnPoints) and group.n_coordinates is None:
            # A group on columns takes a row as one point, unless the length of points is stated.
            group = OnPoints(group.group, n_coordinates, coordinates=group.coordinates)
        repeated = group.repeated(n_points)
        if repeated is not None:
            return repeated
        return group if n_points == 1 else None

    def _on_moving_columns(self, A: Array, B: Array, ability: str) -> Any:
        """Results of an ability for the columns that move, and inner products of all others.

        The result holds one entry per point; a group that can be ``repeated`` takes all points of a
        row at once.
        """
        columns = self._columns(A.shape[1])
        group = self._group_of_row(columns)
        if group is None:
            group = self.group
        else:
            columns = columns.reshape(1, -1)
        results = []
        for point in columns:
            results.append(getattr(group, ability)(A[:, point], B[:, point]))
        fixed = np.setdiff1d(np.arange(A.shape[1]), columns)
        fixed_products = A[:, fixed] @ B[:, fixed].T
        return results, fixed_products

    def as_turn(self, A: Array, B: Array) -> tuple[Any, Any] | None:
        turns, fixed_products = self._on_moving_columns(A, B, "as_turn")
        if any(turn is None for turn in turns):
            return None
        constants, waves = zip(*turns, strict=True)
        return fixed_products + sum(constants), sum(waves)

    def largest_inner(self, A: Array, B: Array) -> Array | None:
        """The group's largest inner products, plus those of the coordinates that do not move.

        The result is None if the group takes points one by one.
        """
        results, fixed_products = self._on_moving_columns(A, B, "largest_inner")
        if len(results) != 1 or results[0] is None:
            return None
        return np.asarray(results[0] + fixed_products)

    def aligning(self, A: Array, B: Array) -> Array | None:
        """The group's best elements; None if it takes points one by one."""
        elements, _ = self._on_moving_columns(A, B, "aligning")
        if len(elements) != 1:
            return None
        best_elements: Array | None = elements[0]
        return best_elements

    def representatives(self, X: Array) -> Array | None:
        """The group's representatives; None if it knows none, or takes points one by one."""
        columns = self._columns(X.shape[1])
        group = self._group_of_row(columns)
        if group is None:
            return None
        moving_part = X[:, columns.ravel()]
        if group.order == inf and group.representatives(moving_part[:1]) is None:
            return None
        representatives = X.copy()
        representatives[:, columns.ravel()] = group.canonical(moving_part)
        return representatives

    # The elements, the measure and the properties below are those of the group.

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
        """The group, after a check of the parameters."""
        self._check()
        return self.group

    @_if(_group_has("generators"))
    def generators(self) -> Array:
        """The group's generators."""
        return np.asarray(self._inner().generators())

    @_if(_group_has("lie_algebra"))
    def lie_algebra(self, n_features: int) -> tuple[Array, Array]:
        """Generators of the group's Lie algebra on rows, x -> x + e (A x + t) to first order."""
        columns = self._columns(n_features)
        of_point, shifts_of_point = self._inner().lie_algebra(columns.shape[1])
        matrices = np.zeros((len(of_point), n_features, n_features))
        shifts = np.zeros((len(of_point), n_features))
        for point in columns:
            matrices[:, point[:, None], point] = of_point
            shifts[:, point] = shifts_of_point
        return matrices, shifts

    @_if(_group_has("identity"))
    def identity(self) -> Array:
        """The group's identity, a batch of one element."""
        return np.asarray(self._inner().identity())

    @_if(_group_has("compose"))
    def compose(self, first: ArrayLike, second: ArrayLike) -> Array:
        """Elementwise products, as the group composes them."""
        return np.asarray(self._inner().compose(first, second))

    @_if(_group_has("inverse"))
    def inverse(self, elements: ArrayLike) -> Array:
        """Elementwise inverses, as the group inverts them."""
        return np.asarray(self._inner().inverse(elements))

    def elements(self) -> Array:
        """All elements of the group."""
        return np.asarray(self._inner().elements())

    def weights(self) -> Array | None:
        """Probabilities of the group's elements, or ``None`` for equal ones."""
        weights: Array | None = self._inner().weights()
        return weights

    def quadrature(self) -> tuple[Array, Array]:
        """Elements and weights of the group's rule."""
        rule: tuple[Array, Array] = self._inner().quadrature()
        return rule

    def relative_rule(self) -> tuple[Array, Array] | None:
        rule: tuple[Array, Array] | None = self._inner().relative_rule()
        return rule

    def _check_elements(self, elements: Array) -> Array:
        return np.asarray(self._inner()._check_elements(elements))

    def _act(self, elements: Array, X: Array) -> Array:
        n_columns = X.shape[1]
        n_coordinates = int(self.n_coordinates or n_columns)
        moving = self._moving_coordinates(n_coordinates)
        if n_columns % n_coordinates or max(moving) >= n_coordinates:
            expected = self.n_coordinates or f"at least {1 + max(moving)}"
            raise ParameterError(
                f"{self!r} acts on rows of points of {expected} coordinates; the rows have "
                f"{n_columns}"
            )
        points = X.reshape(-1, n_coordinates)
        # A row of which some columns move may lack values in the others.
        decisive = points if self.n_coordinates else points[:, moving]
        present = np.flatnonzero(~np.isnan(decisive).any(axis=1))
        present_points = points[present]
        images = np.repeat(points[None], len(elements), axis=0)
        all_elements = np.arange(len(elements))
        positions = np.ix_(all_elements, present, np.array(moving))
        images[positions] = self.group.act(elements, present_points[:, moving])
        return images.reshape(len(elements), *X.shape)
