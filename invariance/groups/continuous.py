"""Rotations whose elements are angles; `CircleAction` turns Fourier coefficients of a circle."""

from __future__ import annotations

from dataclasses import KW_ONLY
from math import inf
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Array, ParameterError, Whole, short, stores_parameters
from .alignment import wave_angles
from .base import Group
from .canonical import turned_to_axis
from .densities import (
    DENSITY,
    Density,
    Uniform,
    circular_pdf,
    nodes_for,
    normalize_weights,
    wrapped,
)

Floats: TypeAlias = NDArray[Any]


def equal_turns(n: int) -> Floats:
    """Equally spaced angles in [0, 2 pi), shape (n,)."""
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
    r"""The circle acting on vectors by plane rotations, one angular frequency per pair of entries.

    Two neighbouring entries (c, s) of frequency m > 0 are the coefficients of cos and sin; the
    rotation by theta turns them by m theta. An entry of frequency 0 stays as it is. The action is
    exactly unitary, unlike the rotation of a pixel image by interpolation: `AngularBasis` turns
    images into such vectors and gives their frequencies.

    If ``n_nodes`` is set, the circle is replaced by the cyclic group of that order and the density
    by its normalized values there: the trapezoidal rule.

    Parameters
    ----------
    frequencies : array-like of int, shape (d,)
        Zeros stand alone, positive ones in neighbouring pairs.
    density : Density or None
        Density of the angle in radians; None is uniform.
    n_nodes : int or None
        Order of the cyclic group; None keeps the whole circle, which can only be sampled.

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
        positions = np.flatnonzero(frequencies)
        n_pairs = len(positions) // 2
        pairs = positions[: 2 * n_pairs].reshape(-1, 2)
        all_paired = len(positions) == 2 * n_pairs
        are_neighbours = np.all(np.diff(pairs) == 1)
        are_equal = np.all(np.diff(frequencies[pairs]) == 0)
        if not (all_paired and are_neighbours and are_equal):
            values = short(self.frequencies)
            raise ParameterError(f"frequencies must be positive in pairs, or zero, got {values}")

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
        """The density at the nodes, normalized to sum to one; None if it is uniform."""
        self._check()
        if self.density is None or self.n_nodes is None:
            return None
        angles = wrapped(equal_turns(self.n_nodes))
        values = circular_pdf(self.density, angles)
        return normalize_weights(values, self.density, n_nodes=self.n_nodes)

    def refined(self, factor: int) -> CircleAction:
        """The rule with ``factor`` times as many nodes.

        The whole circle starts from four nodes per period of the highest frequency.
        """
        n_nodes = self.n_nodes
        if n_nodes is None:
            highest = int(self.as_circle().max(initial=0))
            n_nodes = nodes_for(self.density, 4 * highest + 1)
        return type(self)(self.frequencies, self.density, n_nodes=factor * n_nodes)

    def moving(self, size: int) -> Floats:
        """The frequencies, and their roots, which the average of a Gaussian kernel depends on."""
        frequencies = self.as_circle().astype(float)
        if frequencies.max(initial=0) <= 1:
            return frequencies[None]
        return np.stack([frequencies, np.sqrt(frequencies)])

    def as_turn(self, A: Floats, B: Floats) -> tuple[Floats, Floats] | None:
        """Inner products as turns, for the whole circle, one frequency and a uniform angle."""
        frequencies = self.as_circle()
        if not self._is_whole_circle():
            return None
        turning = np.flatnonzero(frequencies)
        if len(turning) == 0 or np.ptp(frequencies[turning]) > 0:
            return None
        waves = complex_inner(A[:, turning], B[:, turning])
        return self._fixed_products(A, B), waves

    def repeated(self, n_points: int) -> CircleAction:
        """The circle that turns all points of a row of ``n_points`` points together."""
        frequencies = np.tile(self.as_circle(), n_points)
        return type(self)(frequencies, self.density, n_nodes=self.n_nodes)

    def _is_whole_circle(self) -> bool:
        """Whether all angles are elements, with equal weights."""
        return self.n_nodes is None and self.density is None

    def _fixed_products(self, A: Floats, B: Floats) -> Floats:
        """Inner products of the coordinates that no rotation changes."""
        fixed = np.flatnonzero(self.as_circle() == 0)
        return np.asarray(A[:, fixed] @ B[:, fixed].T)

    def largest_inner(self, A: Floats, B: Floats) -> Floats | None:
        """Maxima of trigonometric polynomials of the angle: the best of many turns, refined."""
        frequencies = self.as_circle()
        if not self._is_whole_circle():
            return None
        distinct = np.unique(frequencies[frequencies > 0])
        largest = self._fixed_products(A, B)
        if not len(distinct) or not len(A) or not len(B):
            return largest
        n_nodes = _NODES_PER_PERIOD * int(distinct.max())
        step = max(1, _MAXIMA_BYTES // (16 * n_nodes * len(B)))
        for start in range(0, len(A), step):
            rows = slice(start, start + step)
            waves = []
            for frequency in distinct:
                columns = frequencies == frequency
                waves.append(complex_inner(A[rows, columns], B[:, columns]).ravel())
            maxima = _largest_of_waves(distinct, np.array(waves, dtype=complex), n_nodes)
            maxima = maxima.reshape(-1, len(B))
            largest[rows] += maxima.astype(largest.dtype)
        return largest

    def aligning(self, A: Floats, B: Floats) -> Floats | None:
        """Angles at which the trigonometric polynomials are largest, shape (n, m)."""
        frequencies = self.as_circle()
        if self.n_nodes is not None or self.density is not None:
            return None
        distinct = np.unique(frequencies[frequencies > 0])
        shape = (len(A), len(B))
        if not len(distinct):
            return np.zeros(shape)
        waves = [
            complex_inner(A[:, frequencies == m], B[:, frequencies == m]).ravel() for m in distinct
        ]
        return wave_angles(distinct, np.array(waves)).reshape(shape)

    def representatives(self, X: Floats) -> Floats | None:
        """Points whose first coefficients that turn are (r, 0); the last of all such images."""
        if self.n_nodes is not None:
            return None
        return turned_to_axis(X, self.as_circle(), self._act)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Floats:
        density = self.density or Uniform()
        return density.sample(n_samples, rng)

    @property
    def one_sided(self) -> bool:
        return self.density is None

    def relative_rule(self) -> tuple[Floats, Floats]:
        """The nodes, with the circular autocorrelation of the density's values at them."""
        nodes, weights = self.quadrature()
        power_spectrum = np.abs(np.fft.rfft(weights)) ** 2
        autocorrelation = np.fft.irfft(power_spectrum, len(weights))
        # Averaged with its mirror image: an exactly even function of the angle makes Gram matrices
        # exactly symmetric.
        reflected = np.roll(autocorrelation[::-1], 1)
        return nodes, (autocorrelation + reflected) / 2

    def _act(self, elements: Floats, X: Floats) -> Floats:
        frequencies = self.as_circle()
        cosine_columns = np.flatnonzero(frequencies)[::2]
        sine_columns = cosine_columns + 1
        angles = np.asarray(elements, dtype=float).reshape(-1, 1) * frequencies[cosine_columns]
        cosines = np.cos(angles)[:, None].astype(X.dtype)
        sines = np.sin(angles)[:, None].astype(X.dtype)
        cosine_parts = X[:, cosine_columns]
        sine_parts = X[:, sine_columns]
        images = np.repeat(X[None], len(elements), axis=0)
        images[..., cosine_columns] = cosine_parts * cosines - sine_parts * sines
        images[..., sine_columns] = cosine_parts * sines + sine_parts * cosines
        return images


#: Nodes per period of the highest frequency from which maxima are searched.
_NODES_PER_PERIOD = 12
_NEWTON_STEPS = 6
#: Bytes of the values at all nodes that are held at a time.
_MAXIMA_BYTES = 2**24


def complex_inner(A: Floats, B: Floats) -> Floats:
    """Complex inner products of rows of plane points, each point read as a complex number.

    If the points of b turn by an angle t, <a, b> becomes the real part of this times exp(i t).
    """
    return np.asarray(_as_complex(A).conj() @ _as_complex(B).T)


def _as_complex(rows: Floats) -> Floats:
    """Neighbouring entries of rows as the real and imaginary parts of complex numbers."""
    return np.asarray(rows[:, ::2] + 1j * rows[:, 1::2])


def _largest_of_waves(frequencies: Floats, waves: Floats, n_nodes: int) -> Floats:
    """Return the largest values of Re sum_m z_m exp(i m t) over all t, for z of shape (k, pairs).

    A maximum lies within half a step h of a node whose value is less by h^2 / 8 sum_m m^2 |z_m| at
    most. From every node that is as good, Newton's method goes uphill.
    """
    nodes = equal_turns(n_nodes)
    turns = np.exp(1j * np.outer(nodes, frequencies))
    values = turns.real @ waves.real - turns.imag @ waves.imag
    best = values.max(axis=0)
    step = 2 * np.pi / n_nodes
    order = frequencies[:, None]
    sizes = np.abs(waves)
    bends = np.square(order) * sizes
    slack = step**2 / 8 * bends.sum(axis=0)
    smallest_gain = np.finfo(float).eps * sizes.sum(axis=0)
    place, pair = np.nonzero(values >= best - slack)
    bound = values[place, pair] + slack[pair]
    angles = nodes[place]
    for _ in range(_NEWTON_STEPS + 1):
        terms = waves[:, pair] * np.exp(1j * order * angles)
        np.maximum.at(best, pair, terms.real.sum(axis=0))
        slope = -(order * terms.imag).sum(axis=0)
        move = _newton_move(slope, -(order**2 * terms.real).sum(axis=0), step)
        # Angles below another node's maximum, and those that have converged, are left out.
        may_exceed = bound > best[pair]
        moves = np.abs(slope * move) > smallest_gain[pair]
        improving = may_exceed & moves
        angles = (angles + move)[improving]
        pair = pair[improving]
        bound = bound[improving]
        if not len(pair):
            break
    return np.asarray(best)


def _newton_move(slope: Floats, bend: Floats, step: float) -> Floats:
    """Newton's step to a maximum, or uphill if there is none; at most half the nodes' distance."""
    uphill = np.sign(slope) * step / 4
    move = np.divide(-slope, bend, out=uphill, where=bend < 0)
    return np.asarray(np.clip(move, -step / 2, step / 2))
