"""`Transformations`, `Group` and `FiniteGroup`: what acts on data, and with which measure.

Elements are always handled in batches: an array whose first axis counts the elements, so that
slicing, sampling and blocking read the same for permutations, angles and matrices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from math import prod
from operator import is_
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..core.parameters import (
    Has,
    Kind,
    ParameterError,
    Seed,
    Whole,
    check_memory,
    check_parameters,
    check_values,
    short,
)
from .abilities import Abilities
from .known import Known

__all__ = [
    "ENUMERATION_LIMIT",
    "GROUP",
    "FiniteGroup",
    "Group",
    "Transformations",
    "whole_elements",
]

#: What may be given for a parameter ``group``.
GROUP = Has(
    "a group or other Transformations, such as CyclicShifts(8)", "act", "sample", "quadrature"
)
#: What may be given to `Transformations.sample`.
_DRAWS: dict[str, Kind] = {"n_samples": Whole(0), "random_state": Seed()}
_WORDS: dict[str, Kind] = {"n_words": Whole(0), "length": Whole(0), "random_state": Seed()}

#: `elements()` refuses to list more than this many elements.
ENUMERATION_LIMIT = 1_000_000

#: The remedy where elements cannot be listed.
_DRAW = (
    "draw some with sample(n_samples, random_state), or with n_transforms=... where a kernel or a "
    "feature map takes the elements"
)


class Transformations(Abilities, BaseEstimator, ABC):
    """A set of transformations of vectors together with a probability measure on it.

    Subclasses store their constructor's arguments unchanged, so that scikit-learn's ``clone``,
    ``get_params`` and grid search reach inside a group. They say in ``_parameters`` what these may
    be, and provide `order`, ``_act`` and ``_sample``; what these three are handed has been checked.

    Attributes
    ----------
    unitary : bool
        Whether every element preserves inner products (exactly, not up to interpolation).
    is_group : bool
        Whether the set is closed under composition and inverse.
    symmetric : bool
        Whether the measure satisfies q(g) = q(g^-1).
    shape : tuple of int or None
        Shape of one data point; ``None`` when vectors of any length are accepted.
    """

    unitary: bool = True
    is_group: bool = False
    symmetric: bool = False
    #: Whether transformed points have the shape of points; where not, they are rows.
    keeps_shape: bool = True
    #: What `then` makes: `products` puts its Composition here, a subclass that cannot stand below.
    _composition: ClassVar[Any]
    #: What the constructor's arguments may be.
    _parameters: ClassVar[Mapping[str, Kind]] = {}

    @property
    def shape(self) -> tuple[int, ...] | None:
        return None

    @property
    def n_features(self) -> int | None:
        """Length of the vectors acted on, or ``None`` when any length is accepted."""
        self._check()
        return None if self.shape is None else prod(self.shape)

    @property
    @abstractmethod
    def order(self) -> int | float:
        """Number of elements, computed without listing them; ``math.inf`` when infinite."""

    def sample(self, n_samples: int, random_state: Any = None) -> NDArray[Any]:
        """Draw independent elements from the measure.

        Parameters
        ----------
        n_samples : int
        random_state : int, RandomState or None

        Returns
        -------
        elements : ndarray of shape (n_samples, ...)
        """
        self._check()
        values = {"n_samples": n_samples, "random_state": random_state}
        owner = f"{type(self).__name__}.sample"
        check_values(owner, _DRAWS, values)
        check_memory(owner, 64 * int(n_samples), n_samples=n_samples)
        return self._sample(int(n_samples), check_random_state(random_state))

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        raise NotImplementedError(
            f"{type(self).__name__} needs a method _sample(self, n_samples, rng) that draws from "
            "its measure"
        )

    def _from_listed(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        """Draws of listed elements, by their weights: ``_sample`` of a finite set."""
        listed = self.elements()
        drawn: NDArray[Any] = listed[rng.choice(len(listed), n_samples, p=self.weights())]
        return drawn

    @abstractmethod
    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        """Apply r elements to X of shape (n, d); returns (r, n, d)."""

    def act(self, elements: ArrayLike, X: ArrayLike) -> NDArray[Any]:
        """Apply each element to each point: ``act(g, X)[i, j] = g_i x_j``.

        Parameters
        ----------
        elements : array of shape (r, ...)
        X : array of shape (n, d) or (n, *shape)
            Numbers; what is not finite is not looked for.

        Returns
        -------
        ndarray of shape (r, n, d) or (r, n, *shape), of X's floating type
        """
        self._check()
        X = _numbers(f"{type(self).__name__}.act", "X", X)
        flat = self._flatten(X)
        batch = self._batch(elements)
        moved = self._act(batch, flat)
        if not self.keeps_shape:
            return moved
        if moved.shape != (len(batch), *flat.shape):
            raise ValueError(
                f"{self!r} turned points of length {flat.shape[1]} into an array of shape "
                f"{moved.shape} where {(len(batch), *flat.shape)} is due: a transformation must "
                "keep the points' shape (crop or pad inside _act)"
            )
        return moved.reshape(len(moved), *X.shape)

    def _batch(self, elements: ArrayLike) -> NDArray[Any]:
        """Elements as an array, checked."""
        batch = _numbers(f"{type(self).__name__}.act", "elements", elements)
        if batch.ndim == 0:
            self._refuse(elements, "a batch, an array of shape (r, ...)")
        return self._check_elements(batch)

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        """Elements as ``_act`` takes them; refuses, cheaply, what is no element.

        Subclasses call `_refuse` with what elements are.
        """
        return elements

    def _refuse(self, elements: Any, due: str) -> None:
        raise ParameterError(
            f"{type(self).__name__}.act needs elements to be {due}, got {short(elements)}"
        )

    def _check(self) -> None:
        """Refuse wrong parameters; values that were looked at are not looked at again."""
        values, known = tuple(vars(self).values()), _CHECKED.get(self, ())
        if len(known) != len(values) or not all(map(is_, known, values)):
            check_parameters(self)
            self._check_together()
            _CHECKED[self] = values

    def _check_together(self) -> None:
        """What the parameters' kinds cannot say."""

    def elements(self) -> NDArray[Any]:
        """List all elements, in a fixed order, the identity (if present) first."""
        raise TypeError(f"{self!r} has infinitely many elements and cannot be listed; {_DRAW}")

    def weights(self) -> NDArray[Any] | None:
        """Probabilities of `elements()`, or ``None`` for equal ones."""
        return None

    def quadrature(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Elements, and weights that sum to one, over which to average in place of the measure.

        All elements of a finite set. Rotations of the plane have the trapezoidal rule; another
        infinite set has none and can only be sampled.

        Returns
        -------
        elements : ndarray of shape (r, ...)
        weights : ndarray of shape (r,)

        Raises
        ------
        TypeError
            For an infinite set without a rule.
        """
        elements, weights = self.elements(), self.weights()
        return elements, np.full(len(elements), 1 / len(elements)) if weights is None else weights

    def then(self, other: Transformations) -> Transformations:
        """The composition that applies ``self`` first and ``other`` second."""
        check_values(f"{type(self).__name__}.then", {"other": GROUP}, {"other": other})
        made: Transformations = self._composition(self, other)
        return made

    def _flatten(self, X: NDArray[Any]) -> NDArray[Any]:
        """X as (n, d), checked against the group's own shape."""
        if X.ndim < 2:
            raise ParameterError(
                f"{type(self).__name__} expected points X as rows of an array of shape (n, d), got "
                f"{short(X)} of shape {X.shape}; use X[None] for a single point"
            )
        shape = self.shape
        accepted = [] if shape is None else sorted({(prod(shape),), tuple(shape)})
        if shape is not None and X.shape[1:] not in accepted:
            expected = " or ".join(str(("n", *s)).replace("'", "") for s in accepted)
            raise ParameterError(
                f"{self!r} acts on arrays of shape {expected}, got X of shape {X.shape}"
            )
        if not np.issubdtype(X.dtype, np.floating):
            X = X.astype(np.float64)
        return X.reshape(len(X), prod(X.shape[1:]))

    def _at_least(self, n: int) -> int | float:
        """A lower bound on the order, which may be cheaper; exact where it is n or less."""
        return self.order

    def _check_listable(self) -> None:
        order = self._at_least(ENUMERATION_LIMIT)
        if order > ENUMERATION_LIMIT:
            raise ValueError(
                f"{self!r} has {_count(order)} elements, more than the {ENUMERATION_LIMIT} that "
                f"elements() lists; {_DRAW}"
            )


class Group(Transformations):
    """A group of transformations with its Haar measure, unless a density says otherwise."""

    is_group = True
    symmetric = True

    @abstractmethod
    def identity(self) -> NDArray[Any]:
        """The identity as a batch of one element."""

    @abstractmethod
    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray[Any]:
        """Elementwise products, ``act(compose(a, b), x) = act(a, act(b, x))``; broadcasts."""

    @abstractmethod
    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        """Elementwise inverses."""


class FiniteGroup(Group):
    """A finite group given by generators."""

    @abstractmethod
    def generators(self) -> NDArray[Any]:
        """A small generating set as a batch of elements (empty for the trivial group)."""

    def elements(self) -> NDArray[Any]:
        """List the whole group by closing the generators under products (breadth first).

        Raises
        ------
        ValueError
            When the group is too large to list.
        """
        self._check_listable()
        generators = self.generators()
        listed = [self.identity()]
        # Whole numbers are the same or not; others are the same up to rounding.
        exact: set[bytes] = set()
        known = Known(1e-9 * max(1.0, float(np.abs(listed[0]).max(initial=0))))
        floating = np.issubdtype(listed[0].dtype, np.floating)

        def is_new(element: NDArray[Any]) -> bool:
            before = len(known) if floating else len(exact)
            if floating:
                known.index(element)
            else:
                exact.add(element.tobytes())
            return (len(known) if floating else len(exact)) > before

        frontier = listed[0]
        is_new(frontier[0])
        while len(frontier):
            fresh: list[NDArray[Any]] = []
            for g in generators:
                fresh.extend(filter(is_new, self.compose(g[None], frontier)))
            if max(len(known), len(exact)) > ENUMERATION_LIMIT:
                raise ValueError(
                    f"closing the generators of {type(self).__name__} passed "
                    f"{ENUMERATION_LIMIT} elements: they may generate no finite group"
                )
            frontier = np.array(fresh).reshape(len(fresh), *listed[0].shape[1:])
            listed.append(frontier)
        return np.concatenate(listed).astype(listed[0].dtype, copy=False)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        """Draws from the Haar measure: every element is as likely."""
        listed = self.elements()
        return listed[rng.randint(len(listed), size=n_samples)]

    def random_words(
        self, n_words: int, length: int = 20, *, random_state: Any = None
    ) -> NDArray[Any]:
        """Products of random generators and their inverses: reaches everywhere, lists nothing."""
        given = {"n_words": n_words, "length": length, "random_state": random_state}
        check_values(f"{type(self).__name__}.random_words", _WORDS, given)
        rng = check_random_state(random_state)
        letters = self.generators()
        words = np.repeat(self.identity(), n_words, axis=0)
        if len(letters) == 0:
            return words
        letters = np.concatenate([letters, self.inverse(letters)])
        for _ in range(length):
            words = self.compose(letters[rng.randint(len(letters), size=n_words)], words)
        return words


#: By object, the values of its parameters when they were last found right.
_CHECKED: WeakKeyDictionary[Transformations, tuple[Any, ...]] = WeakKeyDictionary()


def _count(order: int | float) -> str:
    """A number for a message; Python does not print the longest ones."""
    if isinstance(order, int) and order.bit_length() > 100:
        return f"about 10^{order.bit_length() * 0.30103:.0f}"
    return f"{order:,}" if isinstance(order, float) else str(order)


def _numbers(owner: str, name: str, value: ArrayLike) -> NDArray[Any]:
    """An array of real numbers of any kind."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise ParameterError(
            f"{owner} needs {name} of one shape, put together in one array; got {short(value)}: "
            f"{error}"
        ) from error
    if array.dtype.kind not in "biuf":
        raise ParameterError(f"{owner} needs {name} to be an array of numbers, got {short(value)}")
    return array


def whole_elements(
    group: Transformations, elements: NDArray[Any], width: int, what: str
) -> NDArray[Any]:
    """Elements that are rows of whole numbers: fractions are refused, not cut off."""
    if elements.ndim != 2 or elements.shape[1] != width:
        group._refuse(elements, f"{what} of shape (r, {width})")
    if elements.dtype.kind not in "iu":
        whole = np.isfinite(elements).all() and np.array_equal(elements, np.rint(elements))
        if elements.dtype.kind == "b" or not whole or np.abs(elements).max(initial=0) > 2**53:
            group._refuse(elements, f"{what}, whole numbers")
        elements = elements.astype(np.int64)
    return elements
