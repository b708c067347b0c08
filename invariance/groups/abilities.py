"""`Abilities`: what a set of transformations says of itself, so that a faster way may be taken.

Every method has a default that promises nothing. A user's own group that has one more of them gets
the way that goes with it: see `invariance.orbits`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Abilities", "Grid", "ability"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Grid:
    """Shifts of a grid.

    Attributes
    ----------
    shape : tuple (height, width, channels)
    pairs : ndarray of int, shape (r, 2)
        (down, right) of each element.
    cyclic : bool
        Whether what leaves comes back on the other side, or is lost and zeros come in.
    """

    shape: tuple[int, int, int]
    pairs: Array
    cyclic: bool = True


class Abilities:
    """Defaults of what transformations can do beyond `act`.

    Attributes
    ----------
    linear : bool
        Whether every element acts linearly.
    preserves_l1 : bool
        Whether every element preserves sums of absolute differences: it permutes coordinates and
        flips signs.
    """

    linear: bool = False
    preserves_l1: bool = False

    def chain(self) -> list[Any]:
        """The parts that are applied one after another, first ones first."""
        return [self]

    @property
    def grid_shape(self) -> tuple[int, int, int] | None:
        """(height, width, channels) of a point, None where it is no image."""
        shape = getattr(self, "shape", None)
        if shape is None or len(shape) not in (2, 3):
            return None
        return (shape[0], shape[1], shape[2] if len(shape) == 3 else 1)

    @property
    def one_sided(self) -> bool:
        """Whether a mean over both arguments' transformations is one over those of the second.

        It is for kernels that the transformations preserve, over a whole group with equal weights.
        """
        whole = getattr(self, "is_group", False) and getattr(self, "unitary", False)
        return bool(whole) and self.weights() is None  # type: ignore[attr-defined]

    def relative_rule(self) -> tuple[Array, Array] | None:
        """Elements h and weights w with sum_ij w_i w_j k(g_i x, g_j z) = sum_h w(h) k(x, h z).

        It holds for every kernel that the transformations preserve. None where there is no shorter
        list than all pairs.
        """
        return None

    def refined(self, factor: int) -> Any:
        """A finite set with ``factor`` times as many nodes as this one's quadrature rule.

        None for a set of no more elements than it lists, or one without a rule.
        """
        return None

    def moves_points(self, size: int) -> list[int] | None:
        """Which of the ``size`` coordinates of each point are moved, where a row holds points.

        None where elements do not act on all points of a row alike.
        """
        return None

    def as_shifts(self, elements: Array) -> Grid | None:
        """These elements as shifts of a grid, or None."""
        return None

    def as_circle(self) -> Array | None:
        """Angular frequencies of the coordinates (see `CircleAction`), or None.

        The elements are then angles in radians.
        """
        return None

    def as_turns(self) -> Any:
        """A set R such that this one is R followed by the four quarter turns of a square image.

        None where there is none.
        """
        return None

    def aligned(self, X: Any, xp: Any = np) -> Any:
        """Representatives with max_g <x, g z> = <aligned(x), aligned(z)>, or None.

        Parameters
        ----------
        X : array of shape (n, d) of the array API namespace `xp`
        """
        return None

    def as_assignment(self) -> int | None:
        """The block length b where the elements are all permutations of blocks of b coordinates."""
        return None

    def largest_inner(self, A: Array, B: Array) -> Array | None:
        """max_g <a, g b> for all pairs of rows, shape (n, m), or None.

        Parameters
        ----------
        A, B : arrays of shape (n, d) and (m, d)
        """
        return None

    def log_mean_exponential(self, A: Any, B: Any, xp: Any = np) -> Any:
        """log E_g exp <a, g b> for all pairs of rows, shape (n, m), or None.

        Parameters
        ----------
        A, B : arrays of shape (n, d) and (m, d) of the array API namespace `xp`
        """
        return None

    def mean_powers(self, A: Array, B: Array, degree: int) -> list[Array] | None:
        """E_g <a, g b>^k for k = 0, ..., degree, each of shape (n, m), or None."""
        return None

    def log_mean_separable(
        self, A: Array, B: Array, cost: Callable[[Array], Array]
    ) -> Array | None:
        """log E_g exp -sum_i cost(a_i - (g b)_i) for all pairs of rows, shape (n, m), or None."""
        return None


#: Whoever changes one of these changes what abilities inherited from above would say.
_MEANING = {"act", "_act", "elements", "generators", "order", "quadrature", "weights"}


def ability(group: Any, name: str) -> Any:
    """The method of that name; None where a subclass changed what it speaks of.

    >>> from invariance.groups import SignFlips
    >>> class FirstOnly(SignFlips):
    ...     def generators(self):
    ...         return super().generators()[:1]
    >>> ability(SignFlips(3), "aligned") is None, ability(FirstOnly(3), "aligned") is None
    (False, True)
    """
    for cls in type(group).__mro__:
        if name in vars(cls):
            return None if cls is Abilities else getattr(group, name)
        if _MEANING & set(vars(cls)):
            return None
    return None


def differences(pairs: Array, weights: Array, sizes: Array) -> tuple[Array, Array]:
    """Distinct differences of shifts modulo ``sizes``, with the weights of their pairs."""
    every = (pairs[None] - pairs[:, None]).reshape(-1, 2) % sizes
    found, place = np.unique(every, axis=0, return_inverse=True)
    both = np.outer(weights, weights).ravel()
    return found, np.bincount(place.ravel(), both, minlength=len(found))
