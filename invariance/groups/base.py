"""`Transformations`, `Group` and `FiniteGroup`: sets that act on data, each with a measure.

Elements always come in batches, arrays whose first axis counts the elements. Slicing, sampling and
blocking are thus the same for permutations, angles and matrices.
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
from ..core.dask_arrays import refuse_dask
from ..core.parameter_state import Remembering
from ..core.parameters import ParameterError, check_values, short
from .canonical import last_images

Array = NDArray[Any]

#: Values that are accepted as a parameter ``group``.
GROUP = kinds.Has(
    "a group or other Transformations, such as CyclicShifts(8)", "act", "sample", "quadrature"
)
#: Values that are accepted as arguments of `sample` and `random_words`.
_DRAWS: dict[str, kinds.Kind] = {
    "n_samples": kinds.Whole(0),
    "n_words": kinds.Whole(0),
    "length": kinds.Whole(0),
    "random_state": kinds.Seed(),
}

#: `elements()` refuses to list more than this many elements.
ENUMERATION_LIMIT = 1_000_000


class ListingError(ParameterError):
    """A group has too many elements to list, or infinitely many."""


#: Methods that abilities rely on; a class that overrides one of them loses inherited abilities.
_ACTION = "act _act _listed elements generators order quadrature weights".split()


@dataclass(frozen=True)
class Grid:
    """Shifts of a grid of ``shape`` (height, width, channels).

    ``pairs`` (r, 2) holds the shift (down, right) of each element. If the shifts are ``cyclic``,
    pixels that leave the grid come back on the other side; otherwise they are lost and zeros come
    in.
    """

    shape: tuple[int, int, int]
    pairs: Array
    cyclic: bool = True


class Transformations(Remembering, BaseEstimator, ABC):
    """A set of transformations of vectors together with a probability measure on it.

    A class of your own provides ``_act``. For a finite set it also provides ``_listed``, or `order`
    and `elements`; for an infinite set, ``_sample``. A `FiniteGroup` needs `order`,
    ``generators``, ``identity``, ``compose`` and ``inverse``. The constructor stores its arguments
    unchanged, so that scikit-learn's ``clone`` and grid search reach inside; ``_parameters`` may
    state their permitted values. The arguments of ``_act`` and ``_sample`` have been checked.

    *Abilities* are methods that return None unless a subclass overrides them. They let kernels and
    features use a faster algorithm. A, B and X hold points of length d in rows; xp is the array
    API namespace of X, A and B.

    ====================================  =========================================================
    ``as_shifts(elements)``               the elements as a `Grid`: all at once by frequencies
    ``as_circle()``                       angular frequencies of the coordinates (`CircleAction`)
    ``as_turns()``                        rotations that quarter turns of a square image complete
    ``chain()``                           a list of the parts, those applied first in front
    ``aligned(X, xp)``                    points with max_g <x, g z> = <aligned(x), aligned(z)>
    ``as_assignment()``                   block length b: all orders of blocks of b coordinates
    ``largest_inner(A, B)``               max_g <a, g b>, shape (n, m)
    ``aligning(A, B)``                    elements g with the largest <a, g b>, shape (n, m, ...)
    ``representatives(X)``                a point of each orbit, the same for all its points
    ``as_turn(A, B)``                     c, and complex z, of shape (n, m), with <a, g b> = c +
                                          Re(z exp(i t)) for an angle t that is uniform; c may be
                                          the number 0
    ``mean_polynomial(A, B, c)``          E_g sum_k c_k <a, g b>^k, for a sequence of coefficients
    ``log_mean_exponential(A, B, xp)``    log E_g exp <a, g b>, for Gaussian kernels
    ``log_mean_laplacian(A, B)``          log E_g exp -sum_i |a_i - (g b)_i|
    ``repeated(n_points)``                the same elements acting on so many points in a row: the
                                          object itself if it takes rows of any number of points
    ``relative_rule()``                   elements h and weights w of one sum for a double mean,
                                          sum_ij w_i w_j k(g_i x, g_j z) = sum_h w(h) k(x, h z)
    ``refined(factor)``                   for an infinite set, a finite one with ``factor`` times
                                          as many nodes as its quadrature rule; for a rule that
                                          stands for an infinite set, a finer rule
    ``moving(size)``                      speeds of the ``size`` coordinates of a point (0: fixed),
                                          shape (k, size), for `refined`: points with large entries
                                          in fast coordinates need many nodes
    ``moves_points(size)``                the coordinates that move, if each point in a row has
                                          ``size`` coordinates
    ``reflects(n_features)``              whether reflections generate the group; if the ability is
                                          missing, `is_reflection_group` looks at the elements
    ====================================  =========================================================

    An inherited ability holds as long as the class acts, lists and weighs like the class that
    defines it. A subclass that overrides ``act``, `elements`, `weights` or a similar method loses
    it, and must restate it (``aligned = SignFlips.aligned``) if it still holds.

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
        Whether transformed points have the shape of points; if not, they are rows.
    shape : tuple of int or None
        Shape of one data point; ``None`` when vectors of any length are accepted.
    """

    unitary: bool = True
    linear: bool = False
    preserves_l1: bool = False
    is_group: bool = False
    symmetric: bool = False
    keeps_shape: bool = True
    #: Permitted values of the constructor's arguments.
    _parameters: ClassVar[Mapping[str, kinds.Kind]] = {}
    #: Advice if there are too many elements to list.
    _remedy: ClassVar[str] = (
        "draw some with sample(n_samples, random_state), or with n_transforms=... where a kernel "
        "or a feature map takes the elements"
    )

    def chain(self) -> list[Any]:
        return [self]

    def _unknown(self, *args: Any, **kwargs: Any) -> Any:
        """Return None: the class does not have this ability; see `Transformations`."""
        return None

    as_shifts = as_circle = as_turns = aligned = as_assignment = largest_inner = _unknown
    mean_polynomial = log_mean_exponential = log_mean_laplacian = as_turn = _unknown
    relative_rule = refined = moving = moves_points = reflects = _unknown
    aligning = representatives = repeated = _unknown

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Withdraw inherited abilities if the class overrides a method that they rely on."""
        super().__init_subclass__(**kwargs)
        defaults = (Transformations._unknown, Transformations.chain)
        lost = {}
        for name, default in vars(Transformations).items():
            if name in vars(cls) or default not in defaults:
                continue
            if _inherits_validly(cls, name):
                continue
            if getattr(cls, name) is not default:
                lost[name] = definer(cls, name)
            setattr(cls, name, default)
        overridden = [name for name in _ACTION if name in vars(cls)]
        if lost and overridden:
            _warn_of_lost_abilities(cls, lost, overridden)

    @property
    def shape(self) -> tuple[int, ...] | None:
        return None

    @property
    def n_features(self) -> int | None:
        """Length of the vectors acted on, or ``None`` when any length is accepted."""
        self._check()
        shape = self.shape
        if shape is None:
            return None
        return prod(map(int, shape))

    @property
    def grid_shape(self) -> tuple[int, int, int] | None:
        """Shape (height, width, channels) of a point; None if points are not images."""
        shape = self.shape
        if shape is None or len(shape) not in (2, 3):
            return None
        height, width, *channels = map(int, shape)
        n_channels = channels[0] if channels else 1
        return height, width, n_channels

    def _listed(self) -> Array | None:
        """The elements of a finite set; None for an infinite one."""
        return None

    @property
    def order(self) -> int | float:
        """Number of elements; ``math.inf`` when infinite."""
        self._check()
        listed = self._listed()
        if listed is None:
            return inf
        return len(listed)

    @abstractmethod
    def _act(self, elements: Array, X: Array) -> Array:
        """Apply r elements to X of shape (n, d); returns (r, n, d)."""

    def act(self, elements: ArrayLike, X: ArrayLike) -> Array:
        """Apply each element to each point: ``act(g, X)[i, j] = g_i x_j``.

        Parameters
        ----------
        elements : array of shape (r, ...)
        X : array of shape (n, d) or (n, ...)
            Numbers; they are not checked for being finite.

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
        images = self._act(batch, flat)
        if not self.keeps_shape:
            return images
        if images.shape != (len(batch), *flat.shape):
            raise ValueError(f"{self!r} must keep the points' shape, but gave {images.shape}")
        return images.reshape(len(images), *points.shape)

    def elements(self) -> Array:
        """List all elements, in a fixed order, the identity (if present) first."""
        self._check()
        listed = self._listed()
        if listed is None:
            problem = "infinitely many elements and cannot be listed"
            raise ListingError(f"{self!r} has {problem}; {self._remedy}")
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
        n_samples = int(n_samples)
        rng = check_random_state(random_state)
        listed = self._listed()
        if listed is None:
            return self._sample(n_samples, rng)
        indices = rng.choice(len(listed), n_samples, p=self.weights())
        return np.asarray(listed[indices])

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        raise NotImplementedError(f"{type(self).__name__} needs a method _sample(n_samples, rng)")

    def quadrature(self) -> tuple[Array, Array]:
        """Elements (r, ...), and weights (r,) that sum to one, for means over the measure.

        A finite set takes all its elements. Rotations have a rule, which ``refined`` refines; other
        infinite sets can only be sampled (ParameterError).
        """
        self._check()
        if self._listed() is None:
            rule: Transformations | None = self.refined(1)
            if rule is not None and self.order == inf:
                return rule.quadrature()
        elements = self.elements()
        weights = self.weights()
        if weights is None:
            weights = np.full(len(elements), 1 / len(elements))
        return elements, weights

    def canonical(self, X: ArrayLike) -> Array:
        """Return a representative of the orbit of each point, the same for all its points.

        Permutations sort, sign changes take absolute values, rotations turn the first point onto
        the first axis. Other groups take the image that comes last in lexicographic order, among
        all elements. Representatives of similar points need not be similar: a kernel or a feature
        map over the group is the better input of a model.

        Parameters
        ----------
        X : array of shape (n, d) or (n, ...)

        Returns
        -------
        ndarray of the shape of X

        Raises
        ------
        ParameterError
            If the set is no group, if there is no formula and the elements cannot be listed, or if
            a point has infinite entries that are not only permuted and negated.

        Examples
        --------
        >>> from invariance.groups import CyclicShifts
        >>> CyclicShifts(4).canonical([[1.0, 2.0, 4.0, 3.0], [4.0, 3.0, 1.0, 2.0]])
        array([[4., 3., 1., 2.],
               [4., 3., 1., 2.]])
        """
        self._check()
        if not self.is_group:
            raise ParameterError(f"canonical needs a group, which {self!r} is not: orbits overlap")
        points = numbers(f"{type(self).__name__}.canonical", "X", X)
        flat = self._flatten(points)
        representatives = self.representatives(flat)
        if representatives is None:
            representatives = last_images(self, flat)
        return np.asarray(representatives).reshape(points.shape)

    def then(self, other: Transformations) -> Transformations:
        """The composition that applies ``self`` first and ``other`` second."""
        check_values(f"{type(self).__name__}.then", {"other": GROUP}, {"other": other})
        from .products import Composition

        return Composition(self, other)

    def times(self, other: Transformations) -> Transformations:
        """The direct product with another group that acts on the same coordinates.

        Raises
        ------
        ParameterError
            If the two do not commute; the message names two elements that do not.

        Examples
        --------
        >>> from invariance.groups import CyclicShifts, Permutations
        >>> both = CyclicShifts(128, block=6).times(Permutations(6).on_each(128))
        >>> both.order, both.is_group, both.n_features
        (92160, True, 768)
        """
        product: Transformations = self.then(other).as_direct_product()
        return product

    def on_each(self, n_points: int) -> Transformations:
        """The same transformations of each of several points in a row, all by one element.

        >>> from invariance.groups import Negation, Permutations
        >>> Permutations(2).on_each(2).act([[2, 1]], [[1.0, 2.0, 3.0, 4.0]])
        array([[[2., 1., 4., 3.]]])
        """
        from .products import OnPoints

        size = self.n_features
        if size is None:
            raise ParameterError(
                f"{self!r} acts on any length: take OnPoints(group, n_coordinates)"
            )
        return OnPoints(self, size, n_points=n_points)

    def on_columns(self, columns: Any) -> Transformations:
        """The same transformations of some columns of rows of any length; other columns stay.

        >>> from invariance.groups import SignFlips
        >>> SignFlips(2).on_columns([0, 2]).act([[-1, -2]], [[1.0, 2.0, 3.0, 4.0]])
        array([[[-1.,  2., -3.,  4.]]])
        """
        from .products import OnPoints

        return OnPoints(self, coordinates=columns)

    @property
    def one_sided(self) -> bool:
        """Whether a kernel's mean over transformations of both arguments needs only the second.

        This holds for kernels that the transformations preserve, over a whole group with equal
        weights.
        """
        return self.is_group and self.unitary and self.weights() is None

    # Checks of elements and points.

    def _check_elements(self, elements: Array) -> Array:
        """Elements as ``_act`` takes them; a cheap check raises an error for invalid ones."""
        return elements

    def _batch(self, elements: Array, due: str, *shape: int, whole: bool = False) -> Array:
        """Finite elements, each of this shape; ``whole`` ones as integers, without fractions.

        ``due`` describes valid elements in error messages.
        """
        kind = elements.dtype.kind
        if elements.shape[1:] != shape:
            self._refuse(elements, f"{due}, of shape {_shape_text('r', *shape)}")
        if kind == "f" and not np.isfinite(elements).all():
            self._refuse(elements, f"{due}, finite")
        if not whole or elements.dtype == np.intp:
            return elements
        if kind not in "fiu" or not _are_whole(elements):
            self._refuse(elements, f"{due}, whole numbers")
        # They become indices, and NumPy takes no other type on every platform.
        return elements.astype(np.intp)

    def _refuse(self, elements: Any, due: str) -> None:
        owner = f"{type(self).__name__}.act"
        raise ParameterError(f"{owner} needs elements to be {due}, got {short(elements)}")

    def _flatten(self, X: Array) -> Array:
        """X as (n, d), checked against the shape of the group's points."""
        if X.ndim < 2:
            raise ParameterError(f"X must be (n, d), got {short(X)}; a single point is X[None]")
        shape = self.shape
        if shape is not None:
            accepted = sorted({(prod(shape),), tuple(shape)})
            if X.shape[1:] not in accepted:
                due = " or ".join(_shape_text("n", *sizes) for sizes in accepted)
                raise ParameterError(f"{self!r} acts on arrays of shape {due}, got X of {X.shape}")
        if X.dtype.kind != "f":
            X = X.astype(np.float64)
        return X.reshape(len(X), prod(X.shape[1:]))

    def _check_listable(self) -> None:
        try:
            order = self.order
        except ImportError:
            # SymPy is needed to count; without it, the listing itself detects a large group.
            return
        if order <= ENUMERATION_LIMIT:
            return
        if order == inf:
            count = "infinitely many"
        elif order > 1e15:
            count = f"about 10^{log10(order):.0f}"
        else:
            count = f"{order:,}"
        limit = f"more than the {ENUMERATION_LIMIT} that elements() lists"
        raise ListingError(f"{self!r} has {count} elements, {limit}; {self._remedy}")


def _shape_text(*sizes: object) -> str:
    """A shape as messages write it.

    >>> _shape_text("n", 3)
    '(n, 3)'
    """
    return str(sizes).replace("'", "")


def definer(cls: type, name: str) -> type:
    """The class from which another one inherits a method."""
    return next(base for base in cls.__mro__[1:] if name in vars(base))


def _acts_alike(cls: type, base: type) -> bool:
    """Whether two classes share all methods that abilities rely on."""
    for name in _ACTION:
        if getattr(base, name, None) is not getattr(cls, name, None):
            return False
    return True


def _inherits_validly(cls: type, ability: str) -> bool:
    """Whether a class inherits an ability from a base that acts in the same way."""
    method = getattr(cls, ability)
    for base in cls.__bases__:
        if getattr(base, ability, None) is method and _acts_alike(cls, base):
            return True
    return False


def _warn_of_lost_abilities(cls: type, lost: Mapping[str, type], overridden: list[str]) -> None:
    """Warn that a class loses abilities, with the lines that restore or decline them.

    ``lost`` maps each ability to the class that defines it.
    """
    owner = next(iter(lost.values()))
    restoring = []
    declining = []
    for ability, base in lost.items():
        restoring.append(f"{ability} = {base.__name__}.{ability}")
        declining.append(f"{ability} = Transformations.{ability}")
    warnings.warn(
        f"{cls.__name__} defines {' and '.join(overridden)}, so that {', '.join(lost)} of "
        f"{owner.__name__} may not hold for it: kernels and features take its elements one "
        "by one, often ten times slower. Restate in the class what still holds, as "
        f"{', '.join(restoring)}; to go without the rest and without this warning, write "
        f"{', '.join(declining)}",
        stacklevel=4,
    )


def _are_whole(values: Array) -> bool:
    """Whether numbers are whole and small enough for an index."""
    largest = min(2**53, np.iinfo(np.intp).max)
    fits = (values <= largest) & (values >= -largest)
    if not fits.all():
        return False
    if values.dtype.kind != "f":
        return True
    return bool(np.all(values == np.rint(values)))


class Group(Transformations):
    """A group of transformations with its Haar measure, unless it has a density."""

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
        """Draws by the weights; without any, from the Haar measure: all are equally likely."""
        listed = self.elements()
        weights = self.weights()
        if weights is not None:
            return listed[rng.choice(len(listed), n_samples, p=weights)]
        return listed[rng.randint(len(listed), size=n_samples)]

    def random_words(self, n_words: int, length: int = 20, *, random_state: Any = None) -> Array:
        """Random products of ``length`` generators and inverses, without listing the group."""
        arguments = {"n_words": n_words, "length": length, "random_state": random_state}
        check_values(f"{type(self).__name__}.random_words", _DRAWS, arguments)
        rng = check_random_state(random_state)
        generators = self.generators()
        words = np.repeat(self.identity(), n_words, axis=0)
        if len(generators) == 0:
            return words
        letters = np.concatenate([generators, self.inverse(generators)])
        for _ in range(length):
            next_letters = letters[rng.randint(len(letters), size=n_words)]
            words = self.compose(next_letters, words)
        return words


def closure(
    identity: Array, generators: Array, compose: Callable[..., Array], owner: str, limit: int = 0
) -> Array:
    """All products of generators, breadth first from the identity.

    More than ``limit`` elements raise an error; 0 is `ENUMERATION_LIMIT`.
    """
    limit = limit or ENUMERATION_LIMIT
    # Whole numbers are compared exactly, others up to rounding.
    tolerance = 0.0
    if identity.dtype.kind == "f":
        tolerance = 1e-9 * max(1.0, float(np.abs(identity).max(initial=0)))
    distinct = Distinct(tolerance)
    distinct.index(identity[0])
    n_listed = 1
    levels = [identity]
    while len(levels[-1]):
        new_elements: list[Array] = []
        for generator in generators:
            products = np.asarray(compose(generator[None], levels[-1]))
            if not tolerance:
                # The bytes that are compared depend on the type.
                products = products.astype(identity.dtype, copy=False)
            for product in products:
                if distinct.index(product) == n_listed:
                    n_listed += 1
                    new_elements.append(product)
        if n_listed > limit:
            raise ValueError(
                f"closing the generators of {owner} passed {limit} elements: no finite group?"
            )
        level = np.array(new_elements)
        levels.append(level.reshape(len(new_elements), *identity.shape[1:]))
    return np.concatenate(levels).astype(identity.dtype, copy=False)


class Distinct:
    """Numbering of vectors by their first occurrence; vectors within a tolerance count as equal.

    Vectors are looked up by their projection on one direction, in a cell and its two neighbours,
    and then compared, so that rounding cannot separate equal vectors.

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
        """The number of the vector; a new number if no earlier vector is equal."""
        if not self.tolerance:
            return self._exact.setdefault(vector.tobytes(), len(self._exact))
        if not self.vectors:
            direction = np.random.default_rng(0).standard_normal(vector.size)
            self._direction = direction / np.linalg.norm(direction)
        projection = float(vector.ravel() @ self._direction)
        cell = floor(projection / (2 * self.tolerance))
        for neighbour in (cell, cell - 1, cell + 1):
            for i in self._cells.get(neighbour, ()):
                distance = np.abs(vector - self.vectors[i]).max()
                if distance <= self.tolerance:
                    return i
        new_index = len(self.vectors)
        self.vectors.append(vector)
        self._cells.setdefault(cell, []).append(new_index)
        return new_index


def numbers(owner: str, name: str, value: ArrayLike) -> Array:
    """An array of real numbers of any kind."""
    refuse_dask(name, value)
    try:
        array: Array = kinds.plain(np.asarray(value))
    except (ValueError, TypeError):
        array = np.array(None)
    if array.dtype.kind not in "biuf" or np.ma.is_masked(value):
        due = "an array of numbers, all points or elements of one shape"
        raise ParameterError(f"{owner} needs {name} to be {due}, got {short(value)}")
    return array
