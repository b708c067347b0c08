"""`Transformations`, `Group` and `FiniteGroup`: what acts on data, and with which measure.

Elements are always handled in batches: an array whose first axis counts the elements, so that
slicing, sampling and blocking read the same for permutations, angles and matrices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from .abilities import Abilities

__all__ = [
    "ENUMERATION_LIMIT",
    "FiniteGroup",
    "Group",
    "Transformations",
    "check_transformations",
]

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
    ``get_params`` and grid search reach inside a group.

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

    @property
    def shape(self) -> tuple[int, ...] | None:
        return None

    @property
    def n_features(self) -> int | None:
        """Length of the vectors acted on, or ``None`` when any length is accepted."""
        return None if self.shape is None else prod(self.shape)

    @property
    @abstractmethod
    def order(self) -> int | float:
        """Number of elements, computed without listing them; ``math.inf`` when infinite."""

    @abstractmethod
    def sample(self, n_samples: int, random_state=None) -> NDArray:
        """Draw independent elements from the measure.

        Parameters
        ----------
        n_samples : int
        random_state : int, RandomState or None

        Returns
        -------
        elements : ndarray of shape (n_samples, ...)
        """

    @abstractmethod
    def _act(self, elements: NDArray, X: NDArray) -> NDArray:
        """Apply r elements to X of shape (n, d); returns (r, n, d)."""

    def act(self, elements: ArrayLike, X: ArrayLike) -> NDArray:
        """Apply each element to each point: ``act(g, X)[i, j] = g_i x_j``.

        Parameters
        ----------
        elements : array of shape (r, ...)
        X : array of shape (n, d) or (n, *shape)

        Returns
        -------
        ndarray of shape (r, n, d) or (r, n, *shape), of X's floating type
        """
        try:
            X = np.asarray(X)
        except ValueError as error:
            raise ValueError(
                f"{self!r} acts on points of one shape, put together in one array; "
                f"these do not fit into one: {error}"
            ) from error
        elements = np.asarray(elements)
        flat = self._flatten(X)
        moved = self._act(elements, flat)
        if moved.shape != (len(elements), *flat.shape):
            raise ValueError(
                f"{self!r} turned points of length {flat.shape[1]} into an array of shape "
                f"{moved.shape} where {(len(elements), *flat.shape)} is due: a transformation must "
                "keep the points' shape (crop or pad inside _act)"
            )
        return moved.reshape(len(moved), *X.shape)

    def elements(self) -> NDArray:
        """List all elements, in a fixed order, the identity (if present) first."""
        raise TypeError(f"{self!r} has infinitely many elements and cannot be listed; {_DRAW}")

    def weights(self) -> NDArray | None:
        """Probabilities of `elements()`, or ``None`` for equal ones."""
        return None

    def quadrature(self) -> tuple[NDArray, NDArray]:
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
        from .products import Composition

        return Composition(self, other)

    def _flatten(self, X: NDArray) -> NDArray:
        """X as (n, d), checked against the group's own shape."""
        if X.ndim < 2:
            raise ValueError(
                f"expected points as rows of an array of shape (n, d), got an array of shape "
                f"{X.shape}; use X[None] for a single point"
            )
        accepted = {(self.n_features,), None if self.shape is None else tuple(self.shape)}
        if self.shape is not None and X.shape[1:] not in accepted:
            expected = " or ".join(str(("n", *s)).replace("'", "") for s in sorted(accepted))
            raise ValueError(f"{self!r} acts on arrays of shape {expected}, got {X.shape}")
        if not np.issubdtype(X.dtype, np.floating):
            X = X.astype(np.float64)
        return X.reshape(len(X), -1)

    def _check_listable(self) -> None:
        if self.order > ENUMERATION_LIMIT:
            raise ValueError(
                f"{self!r} has {self.order} elements, more than the {ENUMERATION_LIMIT} that "
                f"elements() lists; {_DRAW}"
            )


class Group(Transformations):
    """A group of transformations with its Haar measure, unless a density says otherwise."""

    is_group = True
    symmetric = True

    @abstractmethod
    def identity(self) -> NDArray:
        """The identity as a batch of one element."""

    @abstractmethod
    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray:
        """Elementwise products, ``act(compose(a, b), x) = act(a, act(b, x))``; broadcasts."""

    @abstractmethod
    def inverse(self, elements: ArrayLike) -> NDArray:
        """Elementwise inverses."""


class FiniteGroup(Group):
    """A finite group given by generators."""

    @abstractmethod
    def generators(self) -> NDArray:
        """A small generating set as a batch of elements (empty for the trivial group)."""

    def elements(self) -> NDArray:
        """List the whole group by closing the generators under products (breadth first).

        Raises
        ------
        ValueError
            When the group is too large to list.
        """
        self._check_listable()
        generators = self.generators()
        listed = [self.identity()]
        known = {self._key(e) for e in listed[0]}
        frontier = listed[0]
        while len(frontier):
            fresh = []
            for g in generators:
                for candidate in self.compose(g[None], frontier):
                    key = self._key(candidate)
                    if key not in known:
                        known.add(key)
                        fresh.append(candidate)
            if len(known) > ENUMERATION_LIMIT:
                raise ValueError(
                    f"closing the generators of {type(self).__name__} passed "
                    f"{ENUMERATION_LIMIT} elements: they may generate no finite group"
                )
            frontier = np.array(fresh).reshape(len(fresh), *listed[0].shape[1:])
            listed.append(frontier)
        return np.concatenate(listed).astype(listed[0].dtype, copy=False)

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        """Draw elements from the Haar measure, independently and uniformly."""
        listed = self.elements()
        rng = check_random_state(random_state)
        return listed[rng.randint(len(listed), size=n_samples)]

    def random_words(self, n_words: int, length: int = 20, random_state=None) -> NDArray:
        """Products of random generators and their inverses: reaches everywhere, lists nothing."""
        rng = check_random_state(random_state)
        letters = self.generators()
        words = np.repeat(self.identity(), n_words, axis=0)
        if len(letters) == 0:
            return words
        letters = np.concatenate([letters, self.inverse(letters)])
        for _ in range(length):
            words = self.compose(letters[rng.randint(len(letters), size=n_words)], words)
        return words

    @staticmethod
    def _key(element: NDArray) -> bytes:
        """A hashable name of an element; floats are rounded, and -0 is made 0."""
        if np.issubdtype(element.dtype, np.floating):
            element = np.round(element, 6) + 0.0
        return element.tobytes()


def check_transformations(owner: str, group: object) -> None:
    """Refuse what is no set of transformations, such as a class in place of its instance."""
    if isinstance(group, type):
        raise TypeError(
            f"{owner}: group is the class {group.__name__}; make an instance of it, "
            f"{group.__name__}(...)"
        )
    if not isinstance(group, Transformations):
        raise TypeError(
            f"{owner}: group must be a group or other Transformations, such as CyclicShifts(8), "
            f"got {group!r}"
        )
