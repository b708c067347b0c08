"""`Transformations`, `Group` and `FiniteGroup`: what acts on data, and with which measure.

Elements are always handled in batches: an array whose first axis counts the elements, so that
slicing, sampling and blocking read the same for permutations, angles and matrices.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import floor, inf, log10, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ..core import parameters as kinds
from ..core.parameters import ParameterError, check_values, short

Array = NDArray[Any]

#: What may be given for a parameter ``group``.
GROUP = kinds.Has(
    "a group or other Transformations, such as CyclicShifts(8)", "act", "sample", "quadrature"
)
_DRAWS = dict.fromkeys(("n_samples", "n_words", "length"), kinds.Whole(0))
_DRAWS["random_state"] = kinds.Seed()

#: `elements()` refuses to list more than this many elements.
ENUMERATION_LIMIT = 1_000_000

#: What abilities speak of: a class that changes one of these has to say them again.
_ACTION = "act _act _listed elements generators order quadrature weights".split()


@dataclass(frozen=True)
class Grid:
    """Shifts of a grid of ``shape`` (height, width, channels).

    ``pairs`` (r, 2) are (down, right) of each element. What leaves comes back on the other side
    where they are ``cyclic``; otherwise it is lost and zeros come in.
    """

    shape: tuple[int, int, int]
    pairs: Array
    cyclic: bool = True


class Transformations(BaseEstimator, ABC):
    """A set of transformations of vectors together with a probability measure on it.

    A class of your own provides ``_act`` and, of a finite set, ``_listed`` or `order` and
    `elements`; of an infinite one ``_sample``. A `FiniteGroup` needs `order`, ``generators``,
    ``identity``, ``compose`` and ``inverse``. The constructor stores its arguments unchanged, so
    that scikit-learn's ``clone`` and grid search reach inside; ``_parameters`` may say what they
    may be. What ``_act`` and ``_sample`` are handed has been checked.

    *Abilities* are methods that return None unless a subclass knows better, and let kernels and
    features take a faster way. A, B and X hold points of length d in rows; xp is the array API
    namespace of X, A and B where it is given.

    ====================================  =========================================================
    ``as_shifts(elements)``               the elements as a `Grid`: all at once by frequencies
    ``as_circle()``                       angular frequencies of the coordinates (`CircleAction`)
    ``as_turns()``                        a set which quarter turns of a square image complete
    ``chain()``                           a list of the parts, those applied first in front
    ``aligned(X, xp)``                    points with max_g <x, g z> = <aligned(x), aligned(z)>
    ``as_assignment()``                   block length b: all orders of blocks of b coordinates
    ``largest_inner(A, B)``               max_g <a, g b>, shape (n, m)
    ``as_turn(A, B)``                     c, and complex z, of shape (n, m), with <a, g b> = c +
                                          Re(z exp(i t)) for an angle t that is uniform; c may be
                                          the number 0
    ``mean_powers(A, B, degree)``         E_g <a, g b>^k for k = 0, ..., degree
    ``log_mean_exponential(A, B, xp)``    log E_g exp <a, g b>, for Gaussian kernels
    ``log_mean_laplacian(A, B)``          log E_g exp -sum_i |a_i - (g b)_i|
    ``relative_rule()``                   elements h and weights w of one sum for a double mean,
                                          sum_ij w_i w_j k(g_i x, g_j z) = sum_h w(h) k(x, h z)
    ``refined(factor)``                   of an infinite set, a finite one with ``factor`` times
                                          as many nodes as its quadrature rule; of a rule that
                                          stands for an infinite set, a finer one
    ``moving(size)``                      how fast each of ``size`` coordinates of a point moves
                                          (0: not at all), shape (k, size), for `refined`: points
                                          that are large where it is fast need many nodes
    ``moves_points(size)``                which of ``size`` coordinates of each point in a row move
    ====================================  =========================================================

    An inherited ability holds as long as the class acts, lists and weighs as the one that it comes
    from. A subclass that changes ``act``, `elements`, `weights` or their like loses it, and says it
    again (``aligned = SignFlips.aligned``) where it still holds.

    Attributes
    ----------
    unitary : bool
        Whether every element preserves inner products (exactly, not up to interpolation).
    linear : bool
        Whether every element acts linearly.
    preserves_l1 : bool
        Whether every element preserves sums of absolute differences: it permutes coordinates and
        flips signs.
    is_group : bool
        Whether the set is closed under composition and inverse.
    symmetric : bool
        Whether the measure satisfies q(g) = q(g^-1).
    keeps_shape : bool
        Whether transformed points have the shape of points; where not, they are rows.
    shape : tuple of int or None
        Shape of one data point; ``None`` when vectors of any length are accepted.
    """

    unitary: bool = True
    linear: bool = False
    preserves_l1: bool = False
    is_group: bool = False
    symmetric: bool = False
    keeps_shape: bool = True
    #: What the constructor's arguments may be.
    _parameters: ClassVar[Mapping[str, kinds.Kind]] = {}
    #: What `then`, `on_each` and `on_columns` make: `products` puts its subclasses here.
    _composition: ClassVar[Callable[..., Transformations]]
    _on_points: ClassVar[Callable[..., Transformations]]
    #: What to do where there are too many elements to list.
    _remedy: ClassVar[str] = (
        "draw some with sample(n_samples, random_state), or with n_transforms=... where a kernel "
        "or a feature map takes the elements"
    )

    def chain(self) -> list[Any]:
        return [self]

    def _unknown(self, *args: Any, **kwargs: Any) -> Any:
        """None: an ability that is not there; see `Transformations`."""
        return None

    as_shifts = as_circle = as_turns = aligned = as_assignment = largest_inner = _unknown
    mean_powers = log_mean_exponential = log_mean_laplacian = as_turn = _unknown
    relative_rule = refined = moving = moves_points = _unknown

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Withdraw inherited abilities where the class acts otherwise than their owner."""
        super().__init_subclass__(**kwargs)

        def acts_alike(base: type) -> bool:
            return all(getattr(base, n, None) is getattr(cls, n, None) for n in _ACTION)

        defaults = Transformations._unknown, Transformations.chain
        lost = {}
        for name, default in vars(Transformations).items():
            if name in vars(cls) or default not in defaults:
                continue
            owners = [b for b in cls.__bases__ if getattr(b, name, None) is getattr(cls, name)]
            if not any(map(acts_alike, owners)):
                if getattr(cls, name) is not default:
                    lost[name] = next(base for base in cls.__mro__[1:] if name in vars(base))
                setattr(cls, name, default)
        changed = [name for name in _ACTION if name in vars(cls)]
        if lost and changed:
            owner = next(iter(lost.values()))
            none = ", ".join(f"{n} = Transformations.{n}" for n in lost)
            still = ", ".join(f"{n} = {base.__name__}.{n}" for n, base in lost.items())
            warnings.warn(
                f"{cls.__name__} defines {' and '.join(changed)}, so that {', '.join(lost)} of "
                f"{owner.__name__} may not hold for it: kernels and features take its elements one "
                f"by one, often ten times slower. What still holds has to be said in the class, as "
                f"{still}; what does not, to go without this warning, as {none}",
                stacklevel=3,
            )

    @property
    def shape(self) -> tuple[int, ...] | None:
        return None

    @property
    def n_features(self) -> int | None:
        """Length of the vectors acted on, or ``None`` when any length is accepted."""
        self._check()
        shape = self.shape
        return None if shape is None else prod(map(int, shape))

    @property
    def grid_shape(self) -> tuple[int, int, int] | None:
        """(height, width, channels) of a point, None where it is no image."""
        shape = self.shape or ()
        if len(shape) not in (2, 3):
            return None
        height, width, channels, *_ = map(int, (*shape, 1))
        return height, width, channels

    def _listed(self) -> Array | None:
        """The elements of a finite set, None of an infinite one."""
        return None

    @property
    def order(self) -> int | float:
        """Number of elements; ``math.inf`` when infinite."""
        self._check()
        listed = self._listed()
        return inf if listed is None else len(listed)

    @abstractmethod
    def _act(self, elements: Array, X: Array) -> Array:
        """Apply r elements to X of shape (n, d); returns (r, n, d)."""

    def act(self, elements: ArrayLike, X: ArrayLike) -> Array:
        """Apply each element to each point: ``act(g, X)[i, j] = g_i x_j``.

        Parameters
        ----------
        elements : array of shape (r, ...)
        X : array of shape (n, d) or (n, ...)
            Numbers; what is not finite is not looked for.

        Returns
        -------
        ndarray of shape (r, n, d) or (r, n, ...), of X's floating type
        """
        self._check()
        name = type(self).__name__
        points = numbers(f"{name}.act", "X", X)
        flat = self._flatten(points)
        batch = numbers(f"{name}.act", "elements", elements)
        if batch.ndim == 0:
            self._refuse(elements, "a batch, an array of shape (r, ...)")
        batch = self._check_elements(batch)
        moved = self._act(batch, flat)
        if not self.keeps_shape:
            return moved
        if moved.shape != (len(batch), *flat.shape):
            raise ValueError(f"{self!r} must keep the points' shape, but gave {moved.shape}")
        return moved.reshape(len(moved), *points.shape)

    def elements(self) -> Array:
        """List all elements, in a fixed order, the identity (if present) first."""
        self._check()
        listed = self._listed()
        if listed is None:
            endless = "infinitely many elements and cannot be listed"
            raise ParameterError(f"{self!r} has {endless}; {self._remedy}")
        return listed

    def weights(self) -> Array | None:
        """Probabilities of `elements()`, or ``None`` for equal ones."""
        return None

    def sample(self, n_samples: int, random_state: Any = None) -> Array:
        """Draw independent elements from the measure, an array of shape (n_samples, ...)."""
        self._check()
        owner = f"{type(self).__name__}.sample"
        check_values(owner, _DRAWS, {"n_samples": n_samples, "random_state": random_state})
        kinds.check_memory(owner, 64 * int(n_samples), n_samples=n_samples)
        n, rng, listed = int(n_samples), check_random_state(random_state), self._listed()
        if listed is None:
            return self._sample(n, rng)
        return np.asarray(listed[rng.choice(len(listed), n, p=self.weights())])

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        raise NotImplementedError(f"{type(self).__name__} needs a method _sample(n_samples, rng)")

    def quadrature(self) -> tuple[Array, Array]:
        """Elements (r, ...), and weights (r,) that sum to one, whose mean replaces the measure's.

        All elements of a finite set. Rotations have a rule, which ``refined`` refines; another
        infinite set has none (ParameterError) and can only be sampled.
        """
        self._check()
        rule: Transformations | None = self.refined(1) if self._listed() is None else None
        if rule is not None and self.order == inf:
            return rule.quadrature()
        elements, weights = self.elements(), self.weights()
        if weights is None:
            weights = np.full(len(elements), 1 / len(elements))
        return elements, weights

    def then(self, other: Transformations) -> Transformations:
        """The composition that applies ``self`` first and ``other`` second."""
        check_values(f"{type(self).__name__}.then", {"other": GROUP}, {"other": other})
        return self._composition(self, other)

    def times(self, other: Transformations) -> Transformations:
        """The direct product with another group that acts on the same coordinates.

        Raises
        ------
        ParameterError
            Where the two do not commute, with two elements that do not.

        >>> from invariance.groups import CyclicShifts, Permutations
        >>> both = CyclicShifts(128, block=6).times(Permutations(6).on_each(128))
        >>> both.order, both.is_group, both.n_features
        (92160, True, 768)
        """
        made: Transformations = self.then(other).as_direct_product()
        return made

    def on_each(self, n_points: int) -> Transformations:
        """The same on each of several points in a row, all moved by one element.

        >>> from invariance.groups import Negation, Permutations
        >>> Permutations(2).on_each(2).act([[2, 1]], [[1.0, 2.0, 3.0, 4.0]])
        array([[[2., 1., 4., 3.]]])
        """
        size = self.n_features
        if size is None:
            raise ParameterError(
                f"{self!r} acts on any length: take OnPoints(group, n_coordinates)"
            )
        return self._on_points(self, size, n_points=n_points)

    def on_columns(self, columns: Any) -> Transformations:
        """The same on some columns of rows of any length; the others stay.

        >>> from invariance.groups import SignFlips
        >>> SignFlips(2).on_columns([0, 2]).act([[-1, -2]], [[1.0, 2.0, 3.0, 4.0]])
        array([[[-1.,  2., -3.,  4.]]])
        """
        return self._on_points(self, coordinates=columns)

    @property
    def one_sided(self) -> bool:
        """Whether a mean over both arguments' transformations is one over those of the second.

        It is for kernels that the transformations preserve, over a whole group with equal weights.
        """
        return self.is_group and self.unitary and self.weights() is None

    # What is checked.

    def _check(self) -> None:
        """Refuse wrong parameters, once until one is set anew."""
        if "_checked" not in self.__dict__:
            kinds.check_parameters(self)
            self._check_together()
            self.__dict__["_checked"] = True

    def __dir__(self) -> list[str]:
        """All names. scikit-learn would compute every attribute to see whether it is there."""
        return list(object.__dir__(self))

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__.pop("_checked", None)
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        return {name: v for name, v in super().__getstate__().items() if name != "_checked"}

    def _check_together(self) -> None:
        """What the parameters' kinds cannot say."""

    def _check_elements(self, elements: Array) -> Array:
        """Elements as ``_act`` takes them; refuses, cheaply, what is no element."""
        return elements

    def _batch(self, elements: Array, due: str, *shape: int, whole: bool = False) -> Array:
        """Finite elements, each of this shape; ``whole`` ones as integers, fractions refused."""
        given = elements.dtype.kind
        if elements.shape[1:] != shape:
            self._refuse(elements, f"{due}, of shape {('r', *shape)}".replace("'", ""))
        if given == "f" and not np.isfinite(elements).all():
            self._refuse(elements, f"{due}, finite")
        if not whole or elements.dtype == np.intp:
            return elements
        # They become indices, of which NumPy takes no others on every platform.
        most = min(2**53, np.iinfo(np.intp).max)
        fits = given in "fiu" and bool(np.all((elements <= most) & (elements >= -most)))
        if not fits or (given == "f" and np.any(elements != np.rint(elements))):
            self._refuse(elements, f"{due}, whole numbers")
        return elements.astype(np.intp)

    def _refuse(self, elements: Any, due: str) -> None:
        owner = f"{type(self).__name__}.act"
        raise ParameterError(f"{owner} needs elements to be {due}, got {short(elements)}")

    def _flatten(self, X: Array) -> Array:
        """X as (n, d), checked against the group's own shape."""
        if X.ndim < 2:
            raise ParameterError(f"X must be (n, d), got {short(X)}; a single point is X[None]")
        shape = self.shape
        accepted = [] if shape is None else sorted({(prod(shape),), tuple(shape)})
        if shape is not None and X.shape[1:] not in accepted:
            due = " or ".join(str(("n", *s)).replace("'", "") for s in accepted)
            raise ParameterError(f"{self!r} acts on arrays of shape {due}, got X of {X.shape}")
        X = X if X.dtype.kind == "f" else X.astype(np.float64)
        return X.reshape(len(X), prod(X.shape[1:]))

    def _check_listable(self) -> None:
        try:
            order = self.order
        except ImportError:  # SymPy counts; without it the listing itself finds out
            return
        if order > ENUMERATION_LIMIT:
            count = f"about 10^{log10(order):.0f}" if 1e15 < order < inf else f"{order:,}"
            if order == inf:
                count = "infinitely many"
            most = f"more than the {ENUMERATION_LIMIT} that elements() lists"
            raise ParameterError(f"{self!r} has {count} elements, {most}; {self._remedy}")


class Group(Transformations):
    """A group of transformations with its Haar measure, unless a density says otherwise."""

    is_group = True
    symmetric = True

    @abstractmethod
    def identity(self) -> Array:
        """The identity as a batch of one element."""

    @abstractmethod
    def compose(self, first: ArrayLike, second: ArrayLike) -> Array:
        """Elementwise products, ``act(compose(a, b), x) = act(a, act(b, x))``; broadcasts."""

    @abstractmethod
    def inverse(self, elements: ArrayLike) -> Array:
        """Elementwise inverses."""


class FiniteGroup(Group):
    """A finite group given by generators."""

    @property
    @abstractmethod
    def order(self) -> int | float:
        """Number of elements, computed without listing them."""

    @abstractmethod
    def generators(self) -> Array:
        """A small generating set as a batch of elements (empty for the trivial group)."""

    def elements(self) -> Array:
        """List the whole group by closing the generators under products (breadth first)."""
        self._check_listable()
        return closure(self.identity(), self.generators(), self.compose, type(self).__name__)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        """Draws from the Haar measure: every element is as likely."""
        listed = self.elements()
        return listed[rng.randint(len(listed), size=n_samples)]

    def random_words(self, n_words: int, length: int = 20, *, random_state: Any = None) -> Array:
        """Products of random generators and their inverses: reaches everywhere, lists nothing."""
        given = {"n_words": n_words, "length": length, "random_state": random_state}
        check_values(f"{type(self).__name__}.random_words", _DRAWS, given)
        rng = check_random_state(random_state)
        letters = self.generators()
        words = np.repeat(self.identity(), n_words, axis=0)
        if len(letters) == 0:
            return words
        letters = np.concatenate([letters, self.inverse(letters)])
        for _ in range(length):
            words = self.compose(letters[rng.randint(len(letters), size=n_words)], words)
        return words


def closure(
    identity: Array, generators: Array, compose: Callable[..., Array], owner: str, limit: int = 0
) -> Array:
    """All products of generators, breadth first from the identity; at most ``limit``, if given."""
    limit = limit or ENUMERATION_LIMIT
    # Whole numbers are the same or not; others are the same up to rounding.
    size = max(1.0, float(np.abs(identity).max(initial=0)))
    known = Distinct(1e-9 * size if identity.dtype.kind == "f" else 0)
    known.index(identity[0])
    frontier, listed, count = identity, [identity], 1
    while len(frontier):
        fresh: list[Array] = []
        for g in generators:
            for product in compose(g[None], frontier):
                if known.index(product) == count:
                    count += 1
                    fresh.append(product)
        if count > limit:
            raise ValueError(
                f"closing the generators of {owner} passed {limit} elements: no finite group?"
            )
        frontier = np.array(fresh).reshape(len(fresh), *identity.shape[1:])
        listed.append(frontier)
    return np.concatenate(listed).astype(identity.dtype, copy=False)


class Distinct:
    """Numbers vectors in the order in which they come first, equal ones alike up to a tolerance.

    Vectors are looked up by their projection on one direction, in a cell and its two neighbours,
    and then compared, so that no boundary of rounding comes between equal ones.

    >>> distinct = Distinct(1e-9)
    >>> [distinct.index(np.array([x, 1.0])) for x in (0.5, 0.5 + 1e-12, 0.5 + 3e-7)]
    [0, 0, 1]
    """

    def __init__(self, tolerance: float):
        self.tolerance = tolerance
        self.vectors: list[Array] = []
        self._exact: dict[bytes, int] = {}
        self._cells: dict[int, list[int]] = {}
        self._direction = np.zeros(0)

    def __len__(self) -> int:
        return len(self.vectors) or len(self._exact)

    def index(self, vector: Array) -> int:
        """The vector's number, a new one if it has not come before."""
        if not self.tolerance:
            return self._exact.setdefault(vector.tobytes(), len(self._exact))
        if not self.vectors:
            direction = np.random.default_rng(0).standard_normal(vector.size)
            self._direction = direction / np.linalg.norm(direction)
        cell = floor(float(vector.ravel() @ self._direction) / (2 * self.tolerance))
        for near in (cell, cell - 1, cell + 1):
            for i in self._cells.get(near, ()):
                if np.abs(vector - self.vectors[i]).max() <= self.tolerance:
                    return i
        self._cells.setdefault(cell, []).append(len(self.vectors))
        self.vectors.append(vector)
        return len(self.vectors) - 1


def numbers(owner: str, name: str, value: ArrayLike) -> Array:
    """An array of real numbers of any kind."""
    try:
        array: Array = kinds.plain(np.asarray(value))
    except (ValueError, TypeError):
        array = np.array(None)
    if array.dtype.kind not in "biuf" or np.ma.is_masked(value):
        due = "an array of numbers, all points or elements of one shape"
        raise ParameterError(f"{owner} needs {name} to be {due}, got {short(value)}")
    return array
