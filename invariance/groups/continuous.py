"""Rotations of the plane and of space; on a circle's Fourier coefficients or on points."""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import inf
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Array, ParameterError, Whole, short, stores_parameters
from .base import Group
from .densities import DENSITY, Density, Uniform, nodes_for, normalised, wrapped

Floats: TypeAlias = NDArray[Any]


def equal_turns(n: int) -> Floats:
    return np.asarray(2 * np.pi * np.arange(n) / n)


class Angles(Group):
    """Groups whose elements are angles in radians, shape (r,), which add up."""

    linear = True

    def identity(self) -> Floats:
        return np.zeros(1)

    def compose(self, first: ArrayLike, second: ArrayLike) -> Floats:
        return np.asarray(np.asarray(first) + np.asarray(second))

    def inverse(self, elements: ArrayLike) -> Floats:
        return -np.asarray(elements)

    def _check_elements(self, elements: Floats) -> Floats:
        return self._batch(elements, "angles in radians")


@stores_parameters
class CircleAction(Angles):
    r"""The circle acting on vectors by plane rotations, one angular frequency a pair of entries.

    Two neighbouring entries (c, s) of frequency m > 0 are the coefficients of cos and sin; the
    rotation by theta turns them by m theta. An entry of frequency 0 stays as it is. The action is
    exactly unitary, unlike the rotation of a pixel image by interpolation: `AngularBasis` takes
    images to such vectors and knows their frequencies.

    With ``n_nodes`` the circle is replaced by the cyclic group of that order and the density by
    its values there, normalised: the trapezoidal rule.

    Parameters
    ----------
    frequencies : array-like of int, shape (d,)
        Zeros stand alone, positive ones in neighbouring pairs.
    density : Density or None
        On the angle in radians; None is uniform.
    n_nodes : int or None
        Order of the cyclic group; None keeps the whole circle, which can be sampled only.

    Examples
    --------
    >>> import numpy as np
    >>> action = CircleAction([0, 1, 1, 2, 2], n_nodes=8)
    >>> action.act([np.pi / 2], [[5.0, 1.0, 0.0, 1.0, 0.0]])[0].round(12) + 0.0
    array([[ 5.,  0.,  1., -1.,  0.]])
    """

    frequencies: Annotated[ArrayLike, Array(1, whole=True, least=0)]
    density: Annotated[Density | None, DENSITY] = None
    _: KW_ONLY
    n_nodes: Annotated[int | None, Whole(1) | None] = None

    def _check_together(self) -> None:
        frequencies = np.asarray(self.frequencies)
        places = np.flatnonzero(frequencies)
        pairs, given = places[: len(places) // 2 * 2].reshape(-1, 2), short(self.frequencies)
        beside = len(places) % 2 == 0 and np.all(np.diff(pairs) == 1)
        if not beside or np.any(np.diff(frequencies[pairs])):
            raise ParameterError(f"frequencies must be positive in pairs, or zero, got {given}")

    def as_circle(self) -> Floats:
        """The frequencies, an array of int."""
        self._check()
        return np.asarray(self.frequencies)

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        self._check()
        return self.density is None or self.density.symmetric

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.as_circle()),)

    @property
    def order(self) -> int | float:
        self._check()
        return inf if self.n_nodes is None else self.n_nodes

    def _listed(self) -> Floats | None:
        """The nodes 2 pi k / n_nodes, shape (n_nodes,)."""
        if self.n_nodes is None:
            return None
        self._check_listable()
        return equal_turns(self.n_nodes)

    def weights(self) -> Floats | None:
        """The density at the nodes, normalised to sum to one; None when uniform."""
        self._check()
        if self.density is None or self.n_nodes is None:
            return None
        # Densities on the line (a normal, say) see the angle of least size.
        values = self.density.pdf(wrapped(equal_turns(self.n_nodes)))
        return normalised(values, self.density, n_nodes=self.n_nodes)

    def refined(self, factor: int) -> CircleAction:
        """The given nodes or four a period of the highest frequency, ``factor`` times as many."""
        n = self.n_nodes
        if n is None:
            n = nodes_for(self.density, 4 * int(self.as_circle().max(initial=0)) + 1)
        return type(self)(self.frequencies, self.density, n_nodes=factor * n)

    def moving(self, size: int) -> Floats:
        """The frequencies, and their roots, which the average of a Gaussian kernel depends on."""
        frequencies = self.as_circle().astype(float)
        return np.stack([frequencies, np.sqrt(frequencies)])[: 1 + (frequencies.max(initial=0) > 1)]

    def as_turn(self, A: Floats, B: Floats) -> tuple[Floats, Floats] | None:
        """The whole circle, turned by one frequency alone, with a uniform angle."""
        frequencies = self.as_circle()
        turned = np.flatnonzero(frequencies)
        one_frequency = len(turned) and np.ptp(frequencies[turned]) == 0
        if self.n_nodes is not None or self.density is not None or not one_frequency:
            return None
        fixed = np.flatnonzero(frequencies == 0)
        return A[:, fixed] @ B[:, fixed].T, complex_inner(A[:, turned], B[:, turned])

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Floats:
        return (self.density or Uniform()).sample(n_samples, rng)

    @property
    def one_sided(self) -> bool:
        return self.density is None

    def relative_rule(self) -> tuple[Floats, Floats]:
        """The nodes, with the circular autocorrelation of the density's values at them."""
        nodes, q = self.quadrature()
        w = np.fft.irfft(np.abs(np.fft.rfft(q)) ** 2, len(q))
        # Exactly even in the angle, so that a Gram matrix is exactly symmetric in theory.
        return nodes, (w + np.roll(w[::-1], 1)) / 2

    def _act(self, elements: Floats, X: Floats) -> Floats:
        frequencies = self.as_circle()
        moved = np.repeat(X[None], len(elements), axis=0)
        cosines = np.flatnonzero(frequencies)[::2]
        turns = np.asarray(elements, dtype=float).reshape(-1, 1) * frequencies[cosines]
        c = np.cos(turns)[:, None].astype(X.dtype)
        s = np.sin(turns)[:, None].astype(X.dtype)
        even, odd = X[:, cosines], X[:, cosines + 1]
        moved[..., cosines] = even * c - odd * s
        moved[..., cosines + 1] = even * s + odd * c
        return moved


def complex_inner(A: Floats, B: Floats) -> Floats:
    """Complex inner products of rows of plane points, each read as a complex number.

    Turning the points of b by an angle t, <a, b> becomes the real part of this times exp(i t).
    """
    one = A[:, ::2] + 1j * A[:, 1::2]
    two = B[:, ::2] + 1j * B[:, 1::2]
    return np.asarray(one.conj() @ two.T)
