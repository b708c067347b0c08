"""Groups of signed permutations of coordinates: g x = signs * x[perm].

Every group here is a subgroup of the hyperoctahedral group, so one base class holds the algebra
and each group only says which signed permutations it contains.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..checks import check_count
from .abilities import Grid
from .base import FiniteGroup
from .schreier_sims import permutation_group, sample_permutations

__all__ = [
    "CyclicShifts",
    "GeneratedPermutations",
    "Negation",
    "Permutations",
    "SignFlips",
    "SignedPermutationGroup",
    "SignedPermutations",
]


class SignedPermutationGroup(FiniteGroup):
    """Base of groups whose elements permute coordinates and flip signs.

    An element is a row of integers in signed one-line notation: the entry ``+-(j + 1)`` at
    position i means ``(g x)[i] = +-x[j]``. All groups of this family share the notation, so their
    elements compose with each other.
    """

    unitary = True
    linear = True
    preserves_l1 = True
    #: Coordinates that move together.
    block = 1

    def _degree(self) -> int:
        """Number of coordinates (or blocks of coordinates) that are moved: ``n``, as a rule."""
        at_least_one(self, "block")
        return at_least_one(self, "n")

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._degree() * self.block,)

    def identity(self) -> NDArray:
        return np.arange(1, self._degree() + 1)[None]

    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray:
        first, second = np.broadcast_arrays(np.atleast_2d(first), np.atleast_2d(second))
        picked = np.take_along_axis(second, np.abs(first) - 1, axis=1)
        return np.sign(first) * picked

    def inverse(self, elements: ArrayLike) -> NDArray:
        elements = np.atleast_2d(elements)
        result = np.empty_like(elements)
        target = np.sign(elements) * np.arange(1, elements.shape[1] + 1)
        np.put_along_axis(result, np.abs(elements) - 1, target, axis=1)
        return result

    def as_signed_permutations(self, elements: ArrayLike) -> tuple[NDArray, NDArray]:
        """Elements on all coordinates: ``(g x)[i] = signs[i] * x[perm[i]]``.

        Returns
        -------
        perm : ndarray of int, shape (r, d)
        signs : ndarray of int8, shape (r, d)
        """
        elements = np.atleast_2d(elements)
        perm = (np.abs(elements) - 1)[:, :, None] * self.block + np.arange(self.block)
        signs = np.repeat(np.sign(elements).astype(np.int8), self.block, axis=1)
        return perm.reshape(len(elements), -1), signs

    def _act(self, elements: NDArray, X: NDArray) -> NDArray:
        perm, signs = self.as_signed_permutations(elements)
        moved = np.take(X, perm, axis=1).swapaxes(0, 1)
        if np.any(signs < 0):
            moved = moved * signs[:, None, :].astype(X.dtype)
        return moved


class SymmetricGroup(SignedPermutationGroup):
    """Base of the groups of all permutations, whatever these do to the data (S_n)."""

    @property
    def order(self) -> int:
        return factorial(self._degree())

    def generators(self) -> NDArray:
        """The transposition (1 2) and the cycle (1 2 ... n)."""
        n, line = self._degree(), self.identity()[0]
        swap = line.copy()
        swap[:2] = line[:2][::-1]
        return np.stack([swap, np.roll(line, -1)])[: min(n - 1, 2)].reshape(-1, n)

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        rng = check_random_state(random_state)
        return np.argsort(rng.random_sample((n_samples, self._degree())), axis=1) + 1


class Permutations(SymmetricGroup):
    """All permutations of ``n`` coordinates, or of ``n`` blocks of ``block`` coordinates (S_n).

    >>> group = Permutations(5, block=8)
    >>> group.order, group.n_features, len(group.generators())
    (120, 40, 2)
    """

    def __init__(self, n: int, block: int = 1):
        self.n = n
        self.block = block

    def aligned(self, X: Any, xp: Any = np) -> Any:
        """Sorted rows; None for blocks of several coordinates."""
        return xp.sort(X, axis=1) if self.block == 1 else None


class CyclicShifts(SignedPermutationGroup):
    """Cyclic shifts of ``n`` coordinates (or blocks): (g x)[i] = x[i - shift] (Z_n).

    >>> group = CyclicShifts(4)
    >>> group.act(group.generators(), [[1.0, 2.0, 3.0, 4.0]])[0]
    array([[4., 1., 2., 3.]])
    """

    def __init__(self, n: int, block: int = 1):
        self.n = n
        self.block = block

    @property
    def order(self) -> int:
        return self._degree()

    def generators(self) -> NDArray:
        return np.roll(self.identity(), 1, axis=1)[: self._degree() - 1]

    def elements(self) -> NDArray:
        i = np.arange(self._degree())
        return (i[None, :] - i[:, None]) % self._degree() + 1

    def as_shifts(self, elements: NDArray) -> Grid:
        """Shifts to the right of a row of blocks."""
        n = self._degree()
        right = (1 - np.asarray(elements)[:, 0]) % n
        return Grid((1, n, self.block), np.stack([np.zeros_like(right), right], axis=1))


class SignFlips(SignedPermutationGroup):
    """All sign changes of ``n`` coordinates, order 2^n.

    >>> SignFlips(10).order
    1024
    """

    def __init__(self, n: int):
        self.n = n

    @property
    def order(self) -> int:
        return 2 ** self._degree()

    def generators(self) -> NDArray:
        return self.identity() * (1 - 2 * np.eye(self._degree(), dtype=int))

    def elements(self) -> NDArray:
        self._check_listable()
        bits = (np.arange(self.order)[:, None] >> np.arange(self._degree())) & 1
        return self.identity() * (1 - 2 * bits)

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        rng = check_random_state(random_state)
        return self.identity() * (1 - 2 * rng.randint(2, size=(n_samples, self._degree())))

    def aligned(self, X: Any, xp: Any = np) -> Any:
        """Absolute values."""
        return xp.abs(X)

    def log_mean_exponential(self, A: NDArray, B: NDArray) -> NDArray:
        """Sums of log cosh a_i b_i."""
        total = np.zeros((len(A), len(B)), np.result_type(A, B))
        for a, b in zip(np.abs(A.T), np.abs(B.T), strict=True):
            each = np.multiply.outer(a, b)
            total += each
            each *= -2
            np.log1p(np.exp(each, out=each), out=each)
            total += each
        total -= A.shape[1] * np.log(2)
        return total


class SignedPermutations(SignedPermutationGroup):
    """All signed permutations of ``n`` coordinates, the hyperoctahedral group, order 2^n n!.

    >>> SignedPermutations(3).order
    48
    """

    def __init__(self, n: int):
        self.n = n

    @property
    def order(self) -> int:
        return 2 ** self._degree() * factorial(self._degree())

    def generators(self) -> NDArray:
        flip = self.identity()
        flip[0, 0] = -1
        return np.concatenate([Permutations(self._degree()).generators(), flip])

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        rng = check_random_state(random_state)
        lines = Permutations(self._degree()).sample(n_samples, rng)
        return lines * np.sign(SignFlips(self._degree()).sample(n_samples, rng))

    def aligned(self, X: Any, xp: Any = np) -> Any:
        """Sorted absolute values."""
        return xp.sort(xp.abs(X), axis=1)


class GeneratedPermutations(SignedPermutationGroup):
    """The permutation group generated by given permutations, in zero-based one-line notation.

    The order comes from SymPy's Schreier-Sims algorithm, and so do uniform samples: the group is
    never listed for either.

    Parameters
    ----------
    permutations : array-like of int, shape (k, n)
        Row p moves coordinates as ``(g x)[i] = x[p[i]]``.
    block : int
        Each of the n positions holds this many coordinates.

    >>> GeneratedPermutations([[1, 2, 0, 3], [1, 0, 3, 2]]).order    # the alternating group A_4
    12
    """

    def __init__(self, permutations: ArrayLike, block: int = 1):
        self.permutations = permutations
        self.block = block

    def _lines(self) -> NDArray:
        lines = np.atleast_2d(np.asarray(self.permutations))
        if lines.ndim != 2 or not np.array_equal(
            np.sort(lines, axis=1), np.broadcast_to(np.arange(lines.shape[1]), lines.shape)
        ):
            raise ValueError(
                "each row must be a permutation of 0 .. n-1 in one-line notation, got "
                f"{self.permutations!r}"
            )
        return lines

    def _degree(self) -> int:
        return self._lines().shape[1]

    @property
    def order(self) -> int:
        return int(permutation_group(self._lines()).order())

    def generators(self) -> NDArray:
        return self._lines() + 1

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        rng = check_random_state(random_state)
        return sample_permutations(permutation_group(self._lines()), n_samples, rng) + 1


class Negation(FiniteGroup):
    """The two-element group {x, -x} on vectors of any length.

    >>> Negation().act(Negation().elements(), [[1.0, 2.0]])[:, 0]
    array([[ 1.,  2.],
           [-1., -2.]])
    """

    order = 2
    linear = True
    preserves_l1 = True

    def generators(self) -> NDArray:
        return np.array([-1])

    def identity(self) -> NDArray:
        return np.array([1])

    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray:
        return np.asarray(first) * np.asarray(second)

    def inverse(self, elements: ArrayLike) -> NDArray:
        return np.asarray(elements)

    def _act(self, elements: NDArray, X: NDArray) -> NDArray:
        return elements.astype(X.dtype)[:, None, None] * X


def at_least_one(group: FiniteGroup, name: str) -> int:
    """A parameter of a group, checked."""
    value = getattr(group, name)
    check_count(type(group).__name__, **{name: value})
    return int(value)
