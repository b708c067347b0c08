"""Rotations of the plane and of space; on a circle's Fourier coefficients or on points."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from math import inf
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from ..core.parameters import Array, ParameterError, Whole, short, stores_parameters
from .base import Group, Transformations
from .densities import DENSITY, Density, Uniform, nodes_for, normalised, wrapped

Floats: TypeAlias = NDArray[Any]


def _equal_turns(n: int) -> Floats:
    return np.asarray(2 * np.pi * np.arange(n) / n)


class _Angles(Group):
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
class CircleAction(_Angles):
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
        return _equal_turns(self.n_nodes)

    def weights(self) -> Floats | None:
        """The density at the nodes, normalised to sum to one; None when uniform."""
        self._check()
        if self.density is None or self.n_nodes is None:
            return None
        # Densities on the line (a normal, say) see the angle of least size.
        values = self.density.pdf(wrapped(_equal_turns(self.n_nodes)))
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
        return A[:, fixed] @ B[:, fixed].T, _complex_inner(A[:, turned], B[:, turned])

    def largest_inner(self, A: Floats, B: Floats) -> Floats | None:
        """Maxima of trigonometric polynomials of the angle: the best of many turns, refined."""
        frequencies = self.as_circle()
        if self.n_nodes is not None or self.density is not None:
            return None
        turned = np.unique(frequencies[frequencies > 0])
        fixed = np.flatnonzero(frequencies == 0)
        largest = A[:, fixed] @ B[:, fixed].T
        if not len(turned) or not len(A) or not len(B):
            return np.asarray(largest)
        n_nodes = _NODES_A_PERIOD * int(turned.max())
        step = max(1, _MAXIMA_BYTES // (16 * n_nodes * len(B)))
        for start in range(0, len(A), step):
            rows = slice(start, start + step)
            waves = [
                _complex_inner(A[rows, frequencies == m], B[:, frequencies == m]).ravel()
                for m in turned
            ]
            maxima = _largest_of_waves(turned, np.array(waves, dtype=complex), n_nodes)
            largest[rows] += maxima.reshape(-1, len(B)).astype(largest.dtype)
        return np.asarray(largest)

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


#: Nodes for a period of the highest frequency at which maxima are looked for, Newton's steps from
#: there, and bytes at a time.
_NODES_A_PERIOD, _NEWTON_STEPS, _MAXIMA_BYTES = 12, 6, 2**24


def _complex_inner(A: Floats, B: Floats) -> Floats:
    """Complex inner products of rows of plane points, each read as a complex number.

    Turning the points of b by an angle t, <a, b> becomes the real part of this times exp(i t).
    """
    one = A[:, ::2] + 1j * A[:, 1::2]
    two = B[:, ::2] + 1j * B[:, 1::2]
    return np.asarray(one.conj() @ two.T)


def _largest_of_waves(frequencies: Floats, waves: Floats, n_nodes: int) -> Floats:
    """Largest values of Re sum_m z_m exp(i m t) over all angles t, for z of shape (k, pairs).

    A maximum lies within half a step h of a node whose value is less by h^2 / 8 sum_m m^2 |z_m| at
    most. From every node that is as good, Newton's method goes uphill.
    """
    nodes = _equal_turns(n_nodes)
    turns = np.exp(1j * np.outer(nodes, frequencies))
    values = turns.real @ waves.real - turns.imag @ waves.imag
    best = values.max(axis=0)
    step = 2 * np.pi / n_nodes
    slack = step**2 / 8 * (np.square(frequencies)[:, None] * np.abs(waves)).sum(axis=0)
    place, pair = np.nonzero(values >= best - slack)
    bound = values[place, pair] + slack[pair]
    angles = nodes[place]
    order = frequencies[:, None]
    smallest_gain = np.finfo(float).eps * np.abs(waves).sum(axis=0)
    for _ in range(_NEWTON_STEPS + 1):
        moved = waves[:, pair] * np.exp(1j * order * angles)
        np.maximum.at(best, pair, moved.real.sum(axis=0))
        slope = -(order * moved.imag).sum(axis=0)
        bend = -(order**2 * moved.real).sum(axis=0)
        uphill = np.sign(slope) * step / 4
        newton = np.divide(-slope, bend, out=uphill, where=bend < 0)
        move = np.clip(newton, -step / 2, step / 2)
        # Those that another node's maximum passes, and those that have arrived, are left out.
        going = (bound > best[pair]) & (np.abs(slope * move) > smallest_gain[pair])
        angles = (angles + move)[going]
        pair = pair[going]
        bound = bound[going]
        if not len(pair):
            break
    return np.asarray(best)


class ContinuousGroup(Group):
    """Rotations that turn all points of a row alike, or a finite rule of them.

    A function is invariant under a connected group exactly when the generators of its Lie algebra
    annihilate it, which is how `invariance.spectral` finds the invariants without any element.
    """

    linear = True
    #: A mean over the rule stands for one over the whole group.
    one_sided = True
    #: Coordinates of a point.
    _size: int

    @abstractmethod
    def _matrices(self, elements: Floats) -> Floats:
        """The elements as matrices, shape (r, size, size)."""

    def moves_points(self, size: int) -> list[int] | None:
        return None if size % self._size or not size else list(range(size))

    def moving(self, size: int) -> Floats:
        return np.ones((1, size))

    def on_each(self, n_points: int) -> Transformations:
        """The same on rows of exactly so many points: rows of any number turn together anyway."""
        return self._on_points(self, self._size, n_points=n_points)

    def _points(self, X: Floats) -> Floats:
        """X of shape (n, d) as points (n, d / size, size)."""
        if X.shape[1] % self._size or not X.shape[1]:
            raise ParameterError(
                f"{self!r}: the {X.shape[1]} numbers of a row of X are no multiple of {self._size}"
            )
        return X.reshape(len(X), X.shape[1] // self._size, self._size)

    def lie_algebra(self, n_features: int) -> tuple[Floats, Floats]:
        """Generators on points of ``n_features`` coordinates.

        Returns
        -------
        matrices : ndarray of shape (r, n_features, n_features)
        shifts : ndarray of shape (r, n_features)
            ``x -> x + e (A x + t)`` are the motions of first order in e.
        """
        if self.order != inf:
            whole = f"take {type(self).__name__}()"
            raise ParameterError(f"{self!r} is a finite rule without a Lie algebra; {whole}")
        unit, found = np.eye(self._points(np.zeros((1, n_features))).shape[1]), []
        for i, j in zip(*np.tril_indices(self._size, -1), strict=True):
            turn = np.zeros((self._size, self._size))
            turn[i, j], turn[j, i] = 1.0, -1.0
            found.append(np.kron(unit, turn))
        return np.array(found), np.zeros((len(found), n_features))

    def _act(self, elements: Floats, X: Floats) -> Floats:
        turns = self._matrices(elements).astype(X.dtype)
        moved: Floats = np.einsum("rij,npj->rnpi", turns, self._points(X))
        return moved.reshape(len(turns), *X.shape)


@stores_parameters
class Rotations3D(ContinuousGroup):
    """All rotations of space, SO(3); a row of 3 m coordinates is m points that turn together.

    Elements are matrices, shape (r, 3, 3).

    Parameters
    ----------
    degree : int or None
        Replace the group by a product rule over Euler angles, about degree^3 / 2 rotations with
        weights: its means are exact for polynomials of that degree in the matrix's entries. None
        keeps the whole group; averages choose a degree, and look once whether a given one will do.

    Examples
    --------
    >>> import numpy as np
    >>> group = Rotations3D()
    >>> g = group.sample(2, random_state=0)
    >>> X = np.array([[1.0, 0.0, 0.0, 0.0, 2.0, 0.0]])              # two points
    >>> np.linalg.norm(group.act(g, X).reshape(2, 2, 3), axis=2).round(12)
    array([[1., 2.],
           [1., 2.]])
    """

    _size = 3
    moving = ContinuousGroup.moving
    moves_points = ContinuousGroup.moves_points
    degree: Annotated[int | None, Whole(0, 200) | None] = None

    @property
    def is_group(self) -> bool:  # type: ignore[override]
        return self.degree is None

    def _rule(self) -> tuple[Floats, Floats] | tuple[None, None]:
        if self.degree is None:
            return None, None
        # z-y-z: equal turns, as many as a Fourier series of that degree needs, about Gauss's nodes
        # of the cosine; an even number, so that the rule holds its inverses.
        n = self.degree + 1 + (self.degree + 1) % 2
        cosines, weights = np.polynomial.legendre.leggauss(self.degree // 2 + 1)
        turns = _equal_turns(n)
        grid = np.meshgrid(turns, np.arccos(cosines), turns, indexing="ij")
        angles = np.stack(grid, axis=-1).reshape(-1, 3)
        each = np.broadcast_to(weights[None, :, None] / (2 * n**2), (n, len(weights), n))
        return np.asarray(Rotation.from_euler("ZYZ", angles).as_matrix()), each.ravel()

    def _listed(self) -> Floats | None:
        return self._rule()[0]

    def weights(self) -> Floats | None:
        self._check()
        return self._rule()[1]

    def refined(self, factor: int) -> Rotations3D:
        given = self.degree
        return Rotations3D(4 * factor if given is None else min(200, (given + 2) * factor - 2))

    def largest_inner(self, A: Floats, B: Floats) -> Floats | None:
        """By superposition (Kabsch 1976): singular values of the points' 3 x 3 moments."""
        if self.degree is not None:
            return None
        moments = np.tensordot(self._points(A), self._points(B), axes=(1, 1)).swapaxes(1, 2)
        values = np.linalg.svd(moments, compute_uv=False)
        values[..., 2] *= np.sign(np.linalg.det(moments))  # a mirror image cannot be turned back
        return np.asarray(values.sum(axis=-1))

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Floats:
        if not n_samples:
            return np.empty((0, 3, 3))
        # Four independent normal numbers point in a uniform direction: a random unit quaternion.
        return np.asarray(Rotation.from_quat(rng.standard_normal((n_samples, 4))).as_matrix())

    def identity(self) -> Floats:
        return np.eye(3)[None]

    def compose(self, first: ArrayLike, second: ArrayLike) -> Floats:
        return np.asarray(np.asarray(first) @ np.asarray(second))

    def inverse(self, elements: ArrayLike) -> Floats:
        return np.asarray(elements).swapaxes(-1, -2)

    def _check_elements(self, elements: Floats) -> Floats:
        return self._batch(elements, "matrices", 3, 3)

    def _matrices(self, elements: Floats) -> Floats:
        return elements


@stores_parameters
class PlaneRotations(_Angles, ContinuousGroup):
    """All rotations of the plane, SO(2); a row of 2 m coordinates is m points that turn together.

    Elements are angles in radians, shape (r,).

    Parameters
    ----------
    n_nodes : int or None
        Replace the group by that many equal turns; None keeps it whole, and averages choose a
        number, or look once whether a given one will do.

    Examples
    --------
    >>> import numpy as np
    >>> PlaneRotations().act([np.pi / 2], [[1.0, 0.0, 0.0, 2.0]])[0].round(12) + 0.0
    array([[ 0.,  1., -2.,  0.]])
    """

    _size = 2
    moving = ContinuousGroup.moving
    moves_points = ContinuousGroup.moves_points
    n_nodes: Annotated[int | None, Whole(1, 2**20) | None] = None

    def _listed(self) -> Floats | None:
        return None if self.n_nodes is None else _equal_turns(self.n_nodes)

    def refined(self, factor: int) -> PlaneRotations:
        self._check()
        n = 8 if self.n_nodes is None else self.n_nodes
        return PlaneRotations(min(2**20, factor * n))

    def as_turn(self, A: Floats, B: Floats) -> tuple[Floats | float, Floats] | None:
        if self.n_nodes is not None:
            return None
        one = self._points(A).reshape(A.shape)
        two = self._points(B).reshape(B.shape)
        return 0.0, _complex_inner(one, two)

    def largest_inner(self, A: Floats, B: Floats) -> Floats | None:
        """The modulus of the inner product of the points as complex numbers."""
        turn = self.as_turn(A, B)
        return None if turn is None else np.abs(turn[1])

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Floats:
        return np.asarray(rng.uniform(-np.pi, np.pi, size=n_samples))

    def _matrices(self, elements: Floats) -> Floats:
        c, s = np.cos(elements), np.sin(elements)
        return np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=1)
