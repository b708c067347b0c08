"""Groups of signed permutations of coordinates: g x = signs * x[perm].

All groups in this module, except `Negation`, are subgroups of the hyperoctahedral group: one base
class holds the algebra, and each group only defines which signed permutations it contains.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import factorial
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import parameters as kinds
from ..core.extras import need
from ..core.parameters import ParameterError, Whole, short, stores_parameters
from .alignment import (
    matching_permutations,
    signed_permutations,
    signs_of_products,
    sorting_permutations,
)
from .base import FiniteGroup, Grid
from .canonical import sorted_blocks
from .log_cosh import sums_of_log_cosh
from .moments import permutation_polynomial, sign_laplacian, sign_polynomial

Array: TypeAlias = NDArray[Any]

#: Largest number of coordinates of a group of all permutations: its order is a factorial.
_MOST = 100_000


class SignedPermutationGroup(FiniteGroup):
    """Base of groups whose elements permute coordinates and flip signs.

    An element is a row of integers in signed one-line notation: the entry ``+-(j + 1)`` at
    position i means ``(g x)[i] = +-x[j]``. All groups of this family share the notation, so their
    elements compose with each other.
    """

    linear = True
    preserves_l1 = True
    #: Coordinates that move together.
    block: int = 1
    n: int
    #: Whether some elements flip signs.
    _signed = True

    def _degree(self) -> int:
        """Number of coordinates (or blocks of coordinates) that are moved: ``n``, as a rule."""
        self._check()
        return int(self.n)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._degree() * int(self.block),)

    def identity(self) -> Array:
        return np.arange(1, self._degree() + 1)[None]

    def compose(self, first: ArrayLike, second: ArrayLike) -> Array:
        first, second = np.broadcast_arrays(np.atleast_2d(first), np.atleast_2d(second))
        sources = np.abs(first) - 1
        signs = np.sign(first)
        return np.asarray(signs * np.take_along_axis(second, sources, axis=1))

    def inverse(self, elements: ArrayLike) -> Array:
        elements = np.atleast_2d(elements)
        sources = np.abs(elements) - 1
        targets = np.arange(1, elements.shape[1] + 1)
        signed_targets = np.sign(elements) * targets
        result = np.empty_like(elements)
        np.put_along_axis(result, sources, signed_targets, axis=1)
        return result

    def as_signed_permutations(self, elements: ArrayLike) -> tuple[Array, Array]:
        """Arrays perm (intp) and signs (int8), (r, d): ``(g x)[i] = signs[i] * x[perm[i]]``."""
        elements = np.atleast_2d(elements)
        block = int(self.block)
        block_order = np.abs(elements).astype(np.intp, copy=False) - 1
        block_starts = block_order * block
        perm = block_starts[:, :, None] + np.arange(block)
        signs = np.repeat(np.sign(elements).astype(np.int8), block, axis=1)
        return perm.reshape(signs.shape), signs

    def _check_elements(self, elements: Array) -> Array:
        n = self._degree()
        notation = "rows of 1 .. n in some order, with signs"
        elements = self._batch(elements, notation, n, whole=True)
        if len(elements) and not self._belong(elements, n):
            self._refuse(elements, f"elements of {self!r}, {notation}")
        return elements

    def _belong(self, elements: Array, n: int) -> bool:
        """Whether rows of n whole numbers (at least one row) are elements of this group."""
        lines = np.abs(elements) if self._signed else elements
        if lines.min() < 1 or lines.max() > n:
            return False
        # A row is a permutation if every number occurs in it.
        row_offsets = np.arange(-1, lines.size - 1, n)
        occurs = np.zeros(lines.size, dtype=bool)
        occurs[lines + row_offsets[:, None]] = True
        return bool(occurs.all())

    def _act(self, elements: Array, X: Array) -> Array:
        perm, signs = self.as_signed_permutations(elements)
        images = np.take(X, perm, axis=1).swapaxes(0, 1)
        if np.any(signs < 0):
            images = images * signs[:, None, :].astype(X.dtype)
        return images


class SymmetricGroup(SignedPermutationGroup):
    """Base of the groups of all permutations (S_n), for any action on the data."""

    _signed = False

    @property
    def order(self) -> int:
        return factorial(self._degree())

    def generators(self) -> Array:
        """The transposition (1 2) and the cycle (1 2 ... n)."""
        n = self._degree()
        identity = self.identity()[0]
        transposition = identity.copy()
        transposition[:2] = identity[:2][::-1]
        cycle = np.roll(identity, -1)
        # One coordinate has no generator, and for two coordinates both are the same.
        n_generators = min(n - 1, 2)
        return np.stack([transposition, cycle])[:n_generators]

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        scores = rng.random_sample((n_samples, self._degree()))
        return np.argsort(scores, axis=1) + 1


@stores_parameters
class Permutations(SymmetricGroup):
    """All permutations of ``n`` coordinates, or of ``n`` blocks of ``block`` coordinates (S_n).

    >>> group = Permutations(5, block=8)
    >>> group.order, group.n_features, len(group.generators())
    (120, 40, 2)
    """

    n: Annotated[int, Whole(1, _MOST)]
    block: Annotated[int, Whole(1)] = 1

    def aligned(self, X: Any, xp: Any = np) -> Any:
        """Sorted rows; None for blocks of several coordinates."""
        if self.block != 1:
            return None
        return xp.sort(X, axis=1)

    def as_assignment(self) -> int:
        return int(self.block)

    def aligning(self, A: Array, B: Array) -> Array:
        """Permutations that sort b as a is sorted, or that match blocks."""
        if self.block == 1:
            return sorting_permutations(A, B)
        return matching_permutations(A, B, int(self.block))

    def representatives(self, X: Array) -> Array:
        """Sorted numbers, or blocks in lexicographic order."""
        return sorted_blocks(X, int(self.block))

    def reflects(self, n_features: int | None) -> bool:
        """Swaps of two numbers are reflections, swaps of blocks are not."""
        return self.block == 1 or self.n == 1

    def mean_polynomial(self, A: Array, B: Array, coefficients: Sequence[float]) -> Any:
        """Moments from power sums; None for blocks of several coordinates."""
        if self.block != 1:
            return None
        return permutation_polynomial(A, B, coefficients)


@stores_parameters
class CyclicShifts(SignedPermutationGroup):
    """Cyclic shifts of ``n`` coordinates (or blocks): (g x)[i] = x[i - shift] (Z_n).

    >>> group = CyclicShifts(4)
    >>> group.act(group.generators(), [[1.0, 2.0, 3.0, 4.0]])[0]
    array([[4., 1., 2., 3.]])
    """

    n: Annotated[int, Whole(1)]
    block: Annotated[int, Whole(1)] = 1

    @property
    def order(self) -> int:
        return self._degree()

    def generators(self) -> Array:
        if self._degree() == 1:
            return self.identity()[:0]
        return np.roll(self.identity(), 1, axis=1)

    def elements(self) -> Array:
        n = self._degree()
        positions = np.arange(n)
        shifts = np.arange(n)[:, None]
        return np.asarray((positions - shifts) % n + 1)

    def _belong(self, elements: Array, n: int) -> bool:
        first_entries = elements[:, 0]
        if first_entries.min() < 1 or first_entries.max() > n:
            return False
        # Row j is the shift that starts with j + 1: a view, without memory of its own.
        two_periods = np.arange(2 * n) % n + 1
        strides = two_periods.strides * 2
        all_shifts = np.lib.stride_tricks.as_strided(two_periods, (n, n), strides)
        expected = all_shifts[first_entries - 1]
        return bool((expected == elements).all())

    @property
    def grid_shape(self) -> tuple[int, int, int] | None:
        self._check()
        return 1, int(self.n), int(self.block)

    def as_shifts(self, elements: Array) -> Grid:
        """The elements as shifts of a row of blocks to the right."""
        n = self._degree()
        rights = (1 - np.asarray(elements)[:, 0]) % n
        downs = np.zeros_like(rights)
        return Grid((1, n, self.block), np.stack([downs, rights], axis=1))


@stores_parameters
class SignFlips(SignedPermutationGroup):
    """All sign changes of ``n`` coordinates, order 2^n.

    >>> SignFlips(10).order
    1024
    """

    n: Annotated[int, Whole(1, 10**6)]

    @property
    def order(self) -> int:
        return 1 << self._degree()

    def generators(self) -> Array:
        return self._with_signs(np.eye(self._degree(), dtype=int))

    def _with_signs(self, bits: Array) -> Array:
        """Elements that flip the coordinates with bit 1."""
        return np.asarray(self.identity() * (1 - 2 * bits))

    def elements(self) -> Array:
        self._check_listable()
        numbers = np.arange(self.order)[:, None]
        bits = (numbers >> np.arange(self._degree())) & 1
        return self._with_signs(bits)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        bits = rng.randint(2, size=(n_samples, self._degree()))
        return self._with_signs(bits)

    def _belong(self, elements: Array, n: int) -> bool:
        in_place = np.abs(elements) == np.arange(1, n + 1)
        return bool(in_place.all())

    def aligned(self, X: Any, xp: Any = np) -> Any:
        """Absolute values."""
        return xp.abs(X)

    def aligning(self, A: Array, B: Array) -> Array:
        """Sign changes that give b the signs of a."""
        return np.asarray(self.identity() * signs_of_products(A, B))

    def representatives(self, X: Array) -> Array:
        """Absolute values."""
        return np.abs(X)

    def reflects(self, n_features: int | None) -> bool:
        """Flips of one sign are reflections."""
        return True

    def log_mean_exponential(self, A: Any, B: Any, xp: Any = np) -> Any:
        return sums_of_log_cosh(A, B, xp)

    def log_mean_laplacian(self, A: Array, B: Array) -> Array:
        return sign_laplacian(A, B)

    def mean_polynomial(self, A: Array, B: Array, coefficients: Sequence[float]) -> Array:
        return sign_polynomial(A, B, coefficients)


@stores_parameters
class SignedPermutations(SignedPermutationGroup):
    """All signed permutations of ``n`` coordinates, the hyperoctahedral group, order 2^n n!.

    >>> SignedPermutations(3).order
    48
    """

    n: Annotated[int, Whole(1, _MOST)]

    @property
    def order(self) -> int:
        return factorial(self._degree()) << self._degree()

    def generators(self) -> Array:
        flip = self.identity()
        flip[0, 0] = -1
        return np.concatenate([Permutations(self._degree()).generators(), flip])

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        n = self._degree()
        lines = Permutations(n).sample(n_samples, rng)
        signs = np.sign(SignFlips(n).sample(n_samples, rng))
        return np.asarray(lines * signs)

    def aligned(self, X: Any, xp: Any = np) -> Any:
        """Sorted absolute values."""
        return xp.sort(xp.abs(X), axis=1)

    def aligning(self, A: Array, B: Array) -> Array:
        """Signed permutations by which the largest absolute values meet."""
        return signed_permutations(A, B)

    def representatives(self, X: Array) -> Array:
        """Sorted absolute values."""
        return np.sort(np.abs(X), axis=1)

    def reflects(self, n_features: int | None) -> bool:
        """Swaps of two numbers and flips of one sign are reflections."""
        return True

    def mean_polynomial(self, A: Array, B: Array, coefficients: Sequence[float]) -> Array:
        """The moments of permutations, with even powers of the coordinates only."""
        return permutation_polynomial(A, B, coefficients, even=True)


@stores_parameters
class GeneratedPermutations(SignedPermutationGroup):
    """The permutation group generated by given permutations, in zero-based one-line notation.

    The order and uniform samples come from SymPy's Schreier-Sims algorithm (the extra
    ``permutations``), without listing the group.

    Parameters
    ----------
    permutations : array-like of int, shape (k, n)
        Row p moves coordinates as ``(g x)[i] = x[p[i]]``.
    block : int
        Each of the n positions holds this many coordinates.

    Examples
    --------
    >>> GeneratedPermutations([[1, 2, 0, 3], [1, 0, 3, 2]]).order    # the alternating group A_4
    12
    """

    _signed = False
    permutations: Annotated[ArrayLike, kinds.Array(whole=True, least=0)]
    block: Annotated[int, Whole(1)] = 1

    def _check_together(self) -> None:
        lines = np.atleast_2d(np.asarray(self.permutations))
        if lines.ndim == 2:
            is_permutation = np.sort(lines, axis=1) == np.arange(lines.shape[1])
            if is_permutation.all():
                return
        values = short(self.permutations)
        raise ParameterError(f"permutations must be permutations of 0 .. n-1, got {values}")

    def _lines(self) -> Array:
        self._check()
        return np.atleast_2d(np.asarray(self.permutations))

    def _degree(self) -> int:
        return int(self._lines().shape[1])

    @property
    def order(self) -> int:
        return order_of(permutation_group(self._lines()))

    def generators(self) -> Array:
        return self._lines() + 1

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        group = permutation_group(self._lines())
        return sample_permutations(group, n_samples, rng) + 1


@lru_cache(maxsize=64)
def _generated(lines: tuple[tuple[int, ...], ...]) -> Any:
    """SymPy's group of zero-based lines, remembered for some recent sets of lines."""
    combinatorics = need("sympy.combinatorics", "permutations")
    generators = [combinatorics.Permutation(list(line)) for line in lines]
    return combinatorics.PermutationGroup(generators)


def permutation_group(lines: Array) -> Any:
    """SymPy's group of zero-based lines (k, n).

    Recent groups are remembered, as a group's stabilizer chain can take seconds to compute.
    """
    rows = np.asarray(lines).tolist()
    return _generated(tuple(tuple(row) for row in rows))


def order_of(group: Any) -> int:
    """The order of one of SymPy's groups."""
    if group.degree >= 8:
        # A few random elements distinguish the group of all (even) permutations from others. SymPy
        # remembers the answer and then needs no stabilizer chain, which takes seconds for sixty
        # points.
        _ = group.is_symmetric
    return int(group.order())


def sample_permutations(group: Any, n_samples: int, rng: np.random.RandomState) -> Array:
    """Uniform draws, shape (n_samples, degree): products of random transversal elements.

    SymPy's transversals hold right cosets, so the deeper stabilizer's element comes first.
    """
    lines = np.tile(np.arange(group.degree), (n_samples, 1))
    for transversal in group.basic_transversals:
        options = np.array([permutation.array_form for permutation in transversal.values()])
        draws = options[rng.randint(len(options), size=n_samples)]
        lines = np.take_along_axis(lines, draws, axis=1)
    return lines


class Negation(FiniteGroup):
    """The two-element group {x, -x} on vectors of any length.

    >>> Negation().act(Negation().elements(), [[1.0, 2.0]])[:, 0]
    array([[ 1.,  2.],
           [-1., -2.]])
    """

    linear = True
    preserves_l1 = True
    order = 2

    def generators(self) -> Array:
        return np.array([-1])

    def identity(self) -> Array:
        return np.array([1])

    def compose(self, first: ArrayLike, second: ArrayLike) -> Array:
        return np.asarray(np.asarray(first) * np.asarray(second))

    def inverse(self, elements: ArrayLike) -> Array:
        return np.asarray(elements)

    def repeated(self, n_points: int) -> Negation:
        """The group itself, as it negates rows of any length."""
        return self

    def _check_elements(self, elements: Array) -> Array:
        signs = self._batch(elements, "a row of 1 and -1").astype(float)
        if not np.all(np.abs(signs) == 1):
            self._refuse(elements, "a row of 1 and -1")
        return elements

    def _act(self, elements: Array, X: Array) -> Array:
        signs = elements.astype(X.dtype)
        return np.asarray(signs[:, None, None] * X)
