"""Groups of signed permutations of coordinates: g x = signs * x[perm].

Every group here is a subgroup of the hyperoctahedral group, so one base class holds the algebra
and each group only says which signed permutations it contains.
"""

from __future__ import annotations

from functools import lru_cache
from math import factorial
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arrays import on_cpu
from ..core.extras import need
from ..core.parameters import Array, ParameterError, Whole, short, stores_parameters
from .base import FiniteGroup, Grid
from .moments import permutation_powers, row_slices, sign_laplacian, sign_powers

#: Coordinates whose permutations are counted; a factorial has to be computed for it.
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

    def identity(self) -> NDArray[Any]:
        return np.arange(1, self._degree() + 1)[None]

    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray[Any]:
        first, second = np.broadcast_arrays(np.atleast_2d(first), np.atleast_2d(second))
        picked = np.take_along_axis(second, np.abs(first) - 1, axis=1)
        return np.asarray(np.sign(first) * picked)

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        elements = np.atleast_2d(elements)
        result = np.empty_like(elements)
        target = np.sign(elements) * np.arange(1, elements.shape[1] + 1)
        np.put_along_axis(result, np.abs(elements) - 1, target, axis=1)
        return result

    def as_signed_permutations(self, elements: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """perm (intp) and signs (int8), (r, d): ``(g x)[i] = signs[i] * x[perm[i]]``."""
        elements = np.atleast_2d(elements)
        block = int(self.block)
        lines = np.abs(elements).astype(np.intp, copy=False) - 1
        perm = lines[:, :, None] * block + np.arange(block)
        signs = np.repeat(np.sign(elements).astype(np.int8), block, axis=1)
        return perm.reshape(signs.shape), signs

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        n, due = self._degree(), "rows of 1 .. n in some order, with signs"
        elements = self._batch(elements, due, n, whole=True)
        if len(elements) and not self._belong(elements, n):
            self._refuse(elements, f"elements of {self!r}, {due}")
        return elements

    def _belong(self, elements: NDArray[Any], n: int) -> bool:
        """Whether rows of n whole numbers, at least one row, are this group's elements."""
        lines = np.abs(elements) if self._signed else elements
        if lines.min() < 1 or lines.max() > n:
            return False
        seen = np.zeros(lines.size, dtype=bool)
        seen[lines + np.arange(-1, lines.size - 1, n)[:, None]] = True
        return bool(seen.all())

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        perm, signs = self.as_signed_permutations(elements)
        moved = np.take(X, perm, axis=1).swapaxes(0, 1)
        if np.any(signs < 0):
            moved = moved * signs[:, None, :].astype(X.dtype)
        return moved


class SymmetricGroup(SignedPermutationGroup):
    """Base of the groups of all permutations, whatever these do to the data (S_n)."""

    _signed = False

    @property
    def order(self) -> int:
        return factorial(self._degree())

    def generators(self) -> NDArray[Any]:
        """The transposition (1 2) and the cycle (1 2 ... n)."""
        n, line = self._degree(), self.identity()[0]
        swap = line.copy()
        swap[:2] = line[:2][::-1]
        return np.stack([swap, np.roll(line, -1)])[: min(n - 1, 2)].reshape(-1, n)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        return np.argsort(rng.random_sample((n_samples, self._degree())), axis=1) + 1


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
        return xp.sort(X, axis=1) if self.block == 1 else None

    def as_assignment(self) -> int:
        return int(self.block)

    def mean_powers(self, A: NDArray[Any], B: NDArray[Any], degree: int) -> Any:
        """By power sums; None for blocks of several coordinates."""
        return permutation_powers(A, B, degree) if self.block == 1 else None


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

    def generators(self) -> NDArray[Any]:
        return np.roll(self.identity(), 1, axis=1)[: self._degree() - 1]

    def elements(self) -> NDArray[Any]:
        i = np.arange(self._degree())
        return np.asarray((i[None, :] - i[:, None]) % self._degree() + 1)

    def _belong(self, elements: NDArray[Any], n: int) -> bool:
        first = elements[:, 0]
        if first.min() < 1 or first.max() > n:
            return False
        twice = np.arange(2 * n) % n + 1
        shifted = np.lib.stride_tricks.as_strided(twice, (n, n), twice.strides * 2)
        return bool((shifted[first - 1] == elements).all())

    @property
    def grid_shape(self) -> tuple[int, int, int] | None:
        self._check()
        return 1, int(self.n), int(self.block)

    def as_shifts(self, elements: NDArray[Any]) -> Grid:
        """Shifts to the right of a row of blocks."""
        n = self._degree()
        right = (1 - np.asarray(elements)[:, 0]) % n
        return Grid((1, n, self.block), np.stack([np.zeros_like(right), right], axis=1))


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

    def generators(self) -> NDArray[Any]:
        return np.asarray(self.identity() * (1 - 2 * np.eye(self._degree(), dtype=int)))

    def elements(self) -> NDArray[Any]:
        self._check_listable()
        bits = (np.arange(self.order)[:, None] >> np.arange(self._degree())) & 1
        return np.asarray(self.identity() * (1 - 2 * bits))

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        bits = rng.randint(2, size=(n_samples, self._degree()))
        return np.asarray(self.identity() * (1 - 2 * bits))

    def _belong(self, elements: NDArray[Any], n: int) -> bool:
        return bool((np.abs(elements) == np.arange(1, n + 1)).all())

    def aligned(self, X: Any, xp: Any = np) -> Any:
        """Absolute values."""
        return xp.abs(X)

    def log_mean_exponential(self, A: Any, B: Any, xp: Any = np) -> Any:
        """Sums of log cosh a_i b_i = |a_i b_i| - log 2 + log(1 + exp(-2 |a_i b_i|))."""
        a, b = xp.abs(A), xp.abs(B)
        total, doubled = a @ b.T, -2 * b.T
        total -= A.shape[1] * float(np.log(2))
        for rows in row_slices(total.shape) if xp is np or on_cpu(total) else [slice(None)]:
            for start in range(0, A.shape[1], 100):
                factors = xp.ones_like(total[rows, :])  # each at most 2
                for i in range(start, min(start + 100, A.shape[1])):
                    factors *= xp.exp(a[rows, i : i + 1] * doubled[i : i + 1, :]) + 1
                total[rows, :] += xp.log(factors)
        return total

    def log_mean_laplacian(self, A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
        return sign_laplacian(A, B)

    def mean_powers(self, A: NDArray[Any], B: NDArray[Any], degree: int) -> list[NDArray[Any]]:
        return sign_powers(A, B, degree)


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

    def generators(self) -> NDArray[Any]:
        flip = self.identity()
        flip[0, 0] = -1
        return np.concatenate([Permutations(self._degree()).generators(), flip])

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        lines = Permutations(self._degree()).sample(n_samples, rng)
        return np.asarray(lines * np.sign(SignFlips(self._degree()).sample(n_samples, rng)))

    def aligned(self, X: Any, xp: Any = np) -> Any:
        """Sorted absolute values."""
        return xp.sort(xp.abs(X), axis=1)

    def mean_powers(self, A: NDArray[Any], B: NDArray[Any], degree: int) -> Any:
        """As for permutations, of even powers of the coordinates alone."""
        return permutation_powers(A, B, degree, even=True)


@stores_parameters
class GeneratedPermutations(SignedPermutationGroup):
    """The permutation group generated by given permutations, in zero-based one-line notation.

    The order comes from SymPy's Schreier-Sims algorithm (the extra ``permutations``), and so do
    uniform samples: the group is never listed for either.

    Parameters
    ----------
    permutations : array-like of int, shape (k, n)
        Row p moves coordinates as ``(g x)[i] = x[p[i]]``.
    block : int
        Each of the n positions holds this many coordinates.

    >>> GeneratedPermutations([[1, 2, 0, 3], [1, 0, 3, 2]]).order    # the alternating group A_4
    12
    """

    _signed = False
    permutations: Annotated[ArrayLike, Array(whole=True, least=0)]
    block: Annotated[int, Whole(1)] = 1

    def _check_together(self) -> None:
        lines = np.atleast_2d(np.asarray(self.permutations))
        if lines.ndim != 2 or np.any(np.sort(lines, axis=1) != np.arange(lines.shape[1])):
            given = short(self.permutations)
            raise ParameterError(f"permutations must be permutations of 0 .. n-1, got {given}")

    def _lines(self) -> NDArray[Any]:
        self._check()
        return np.atleast_2d(np.asarray(self.permutations))

    def _degree(self) -> int:
        return int(self._lines().shape[1])

    @property
    def order(self) -> int:
        return order_of(permutation_group(self._lines()))

    def generators(self) -> NDArray[Any]:
        return self._lines() + 1

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        return sample_permutations(permutation_group(self._lines()), n_samples, rng) + 1


@lru_cache(maxsize=64)
def _generated(lines: tuple[tuple[int, ...], ...]) -> Any:
    combinatorics = need("sympy.combinatorics", "permutations")
    return combinatorics.PermutationGroup([combinatorics.Permutation(list(line)) for line in lines])


def permutation_group(lines: NDArray[Any]) -> Any:
    """SymPy's group of zero-based lines (k, n); kept, as its stabiliser chain can cost seconds."""
    return _generated(tuple(map(tuple, np.asarray(lines).tolist())))


def order_of(group: Any) -> int:
    """The order of one of SymPy's groups."""
    # A few random elements tell all (even) permutations of many points from other groups; SymPy
    # then needs no stabiliser chain, which takes seconds for sixty points.
    if group.degree >= 8:
        _ = group.is_symmetric
    return int(group.order())


def sample_permutations(group: Any, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
    """Uniform draws, shape (n_samples, degree): products of random transversal elements.

    SymPy's transversals hold right cosets, so the deeper stabiliser's element comes first.
    """
    lines = np.tile(np.arange(group.degree), (n_samples, 1))
    for level in group.basic_transversals:
        options = np.array([p.array_form for p in level.values()])
        drawn = options[rng.randint(len(options), size=n_samples)]
        lines = np.take_along_axis(lines, drawn, axis=1)
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

    def generators(self) -> NDArray[Any]:
        return np.array([-1])

    def identity(self) -> NDArray[Any]:
        return np.array([1])

    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray[Any]:
        return np.asarray(np.asarray(first) * np.asarray(second))

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        return np.asarray(elements)

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        if not (np.abs(self._batch(elements, "a row of 1 and -1").astype(float)) == 1).all():
            self._refuse(elements, "a row of 1 and -1")
        return elements

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(elements.astype(X.dtype)[:, None, None] * X)
