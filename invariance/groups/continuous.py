"""Continuous groups: rotations of the plane and of space, and translations of a torus.

`CircleAction` and `PlaneRotations` turn by angles, `Rotations3D` by matrices; what their Lie
algebras generate, `invariance.spectral` finds invariants of without any element.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from math import inf
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from ..core.parameters import Array, ParameterError, Positive, Whole, short, stores_parameters
from .base import Group
from .densities import DENSITY, Density, nodes_for

Floats: TypeAlias = NDArray[Any]


@stores_parameters
class CircleAction(Group):
    r"""The circle acting on vectors by plane rotations, one angular frequency a pair of entries.

    Two neighbouring entries (c, s) of frequency m > 0 are the coefficients of cos and sin; the
    rotation by theta turns them by m theta. An entry of frequency 0 stays as it is. The action is
    exactly unitary, unlike the rotation of a pixel image by interpolation: `AngularBasis` takes
    images to such vectors and knows their frequencies.

    With ``n_nodes`` the circle is replaced by the cyclic group of that order and the density by
    its values there, normalised: the trapezoidal rule, whose error falls faster than any power for
    smooth functions of the angle. `elements` and `weights` list the rule.

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

    unitary = True
    linear = True
    frequencies: Annotated[ArrayLike, Array(whole=True, least=0)]
    density: Annotated[Density | None, DENSITY] = None
    _: KW_ONLY
    n_nodes: Annotated[int | None, Whole(1) | None] = None

    def _check_together(self) -> None:
        frequencies = np.atleast_1d(np.asarray(self.frequencies))
        places = np.flatnonzero(frequencies > 0)
        paired = frequencies.ravel()[places]
        if (
            frequencies.ndim != 1
            or len(paired) % 2
            or np.any(paired[::2] != paired[1::2])
            or np.any(places[1::2] - places[::2] != 1)
        ):
            raise ParameterError(
                "frequencies must be one row in which positive frequencies come in neighbouring "
                f"pairs (cos, sin), got {short(self.frequencies)}"
            )

    def frequency_array(self) -> Floats:
        """The frequencies as integers, checked.

        Raises
        ------
        ParameterError
            For a negative frequency or one that lacks its partner.
        """
        self._check()
        return np.atleast_1d(np.asarray(self.frequencies))

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        self._check()
        return self.density is None or self.density.symmetric

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.frequency_array()),)

    @property
    def order(self) -> int | float:
        self._check()
        return inf if self.n_nodes is None else int(self.n_nodes)

    def elements(self) -> Floats:
        """The nodes 2 pi k / n_nodes of the quadrature rule, shape (n_nodes,)."""
        self._check()
        if self.n_nodes is None:
            return super().elements()
        self._check_listable()
        return _equal_turns(self.n_nodes)

    def weights(self) -> Floats | None:
        """The density at the nodes, normalised to sum to one; None when uniform."""
        self._check()
        if self.density is None or self.n_nodes is None:
            return None
        # Densities on the line (a normal, say) see the angle of least size.
        angles = (self.elements() + np.pi) % (2 * np.pi) - np.pi
        values = self.density.pdf(angles)
        if not values.sum() > 0:
            raise ParameterError(
                f"density {self.density!r} vanishes at all {self.n_nodes} nodes; raise n_nodes"
            )
        return np.asarray(values / values.sum())

    def quadrature(self) -> tuple[Floats, Floats]:
        """The nodes; of the whole circle, four a period of the highest frequency, and one more."""
        return super().quadrature() if self.n_nodes else self.refined(1).quadrature()

    def refined(self, factor: int) -> CircleAction:
        """The rule of the whole circle, or the given one, with ``factor`` times as many nodes."""
        self._check()
        if self.n_nodes is None:
            n = nodes_for(self.density, 4 * int(self.frequency_array().max(initial=0)) + 1)
        else:
            n = int(self.n_nodes)
        return type(self)(self.frequencies, self.density, n_nodes=factor * n)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Floats:
        if self.n_nodes is not None:
            return super()._sample(n_samples, rng)
        if self.density is None:
            return rng.uniform(-np.pi, np.pi, size=n_samples)
        return self.density.sample(n_samples, rng)

    @property
    def one_sided(self) -> bool:
        return self.density is None

    def relative_rule(self) -> tuple[Floats, Floats]:
        """The nodes, with the circular autocorrelation of the density's values at them."""
        nodes, q = self.quadrature()
        w = np.fft.irfft(np.abs(np.fft.rfft(q)) ** 2, len(q))
        # Exactly even in the angle, so that a Gram matrix is exactly symmetric in theory.
        return nodes, (w + np.roll(w[::-1], 1)) / 2

    def as_circle(self) -> Floats:
        """The frequencies."""
        return self.frequency_array()

    def identity(self) -> Floats:
        return np.zeros(1)

    def compose(self, first: ArrayLike, second: ArrayLike) -> Floats:
        return np.asarray(np.asarray(first) + np.asarray(second))

    def inverse(self, elements: ArrayLike) -> Floats:
        return -np.asarray(elements)

    def _check_elements(self, elements: Floats) -> Floats:
        if elements.ndim != 1 or not np.isfinite(elements).all():
            self._refuse(elements, "finite angles in radians, of shape (r,)")
        return elements

    def _act(self, elements: Floats, X: Floats) -> Floats:
        frequencies = self.frequency_array()
        moved = np.repeat(X[None], len(elements), axis=0)
        cosines = np.flatnonzero(frequencies)[::2]
        turns = np.asarray(elements, dtype=float).reshape(-1, 1) * frequencies[cosines]
        c = np.cos(turns)[:, None].astype(X.dtype)
        s = np.sin(turns)[:, None].astype(X.dtype)
        even, odd = X[:, cosines], X[:, cosines + 1]
        moved[..., cosines] = even * c - odd * s
        moved[..., cosines + 1] = even * s + odd * c
        return moved


def _equal_turns(n: int) -> Floats:
    return np.asarray(2 * np.pi * np.arange(int(n)) / int(n))


class ContinuousGroup(Group):
    """A connected compact group, acting on points by ``x -> A x + t``.

    A function is invariant under it exactly when the generators of its Lie algebra annihilate it,
    which is how `invariance.spectral` finds the invariants without any element of the group.
    """

    @property
    def order(self) -> float:
        return inf

    @abstractmethod
    def lie_algebra(self, n_features: int) -> tuple[Floats, Floats]:
        """Generators on points of ``n_features`` coordinates.

        Returns
        -------
        matrices : ndarray of shape (r, n_features, n_features)
        shifts : ndarray of shape (r, n_features)
            ``x -> x + e (A x + t)`` are the motions of first order in e.
        """


class _PointRotations(ContinuousGroup):
    """Rotations that turn all points of a row alike, ``_size`` coordinates a point."""

    unitary = True
    linear = True
    #: A mean over the rule stands for one over the whole group.
    one_sided = True
    _size: int

    @abstractmethod
    def _rule(self) -> tuple[Floats, Floats | None] | None:
        """Elements and weights of the finite rule that was asked for, None for the whole group."""

    @abstractmethod
    def _matrices(self, elements: Floats) -> Floats:
        """The elements as matrices, shape (r, size, size)."""

    @property
    def order(self) -> float:
        self._check()
        rule = self._rule()
        return inf if rule is None else len(rule[0])

    def elements(self) -> Floats:
        self._check()
        rule = self._rule()
        return super().elements() if rule is None else rule[0]

    def weights(self) -> Floats | None:
        self._check()
        rule = self._rule()
        return None if rule is None else rule[1]

    def quadrature(self) -> tuple[Floats, Floats]:
        """Nodes and weights of the rule; of the whole group, a rule that `refined` refines."""
        whole = self.refined(1)
        return super().quadrature() if whole is None else whole.quadrature()

    def moves_points(self, size: int) -> list[int] | None:
        return None if size % self._size or not size else list(range(size))

    def _points(self, n_features: int) -> int:
        if n_features % self._size or n_features < self._size:
            raise ParameterError(
                f"{type(self).__name__} turns points of {self._size} coordinates, one after the "
                f"other in each row, but the rows have {n_features}, which is no multiple of "
                f"{self._size}"
            )
        return n_features // self._size

    def lie_algebra(self, n_features: int) -> tuple[Floats, Floats]:
        if self.order != inf:
            raise ParameterError(
                f"{self!r} is a finite rule, which no Lie algebra generates; take "
                f"{type(self).__name__}()"
            )
        points = self._points(n_features)
        pairs = [(i, j) for i in range(self._size) for j in range(i)]
        matrices = np.zeros((len(pairs), n_features, n_features))
        for matrix, (i, j) in zip(matrices, pairs, strict=True):
            turn = np.zeros((self._size, self._size))
            turn[i, j], turn[j, i] = 1.0, -1.0
            matrix[:] = np.kron(np.eye(points), turn)
        return matrices, np.zeros((len(pairs), n_features))

    def _act(self, elements: Floats, X: Floats) -> Floats:
        points = X.reshape(len(X), self._points(X.shape[1]), self._size)
        turns = self._matrices(elements).astype(X.dtype)
        moved: Floats = np.einsum("rij,npj->rnpi", turns, points)
        return moved.reshape(len(turns), *X.shape)


@stores_parameters
class Rotations3D(_PointRotations):
    """All rotations of space, SO(3); a row of 3 m coordinates is m points that turn together.

    Elements are matrices, shape (r, 3, 3).

    Parameters
    ----------
    degree : int or None
        Replace the group by a product rule over Euler angles, about degree^3 / 2 rotations with
        weights: its means are exact for polynomials of that degree in the matrix's entries. None
        keeps the whole group; averages choose a degree.

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
    degree: Annotated[int | None, Whole(0, 200) | None] = None

    @property
    def is_group(self) -> bool:  # type: ignore[override]
        return self.degree is None

    def _rule(self) -> tuple[Floats, Floats] | None:
        if self.degree is None:
            return None
        # z-y-z: equal turns, as many as a Fourier series of that degree needs, about Gauss's nodes
        # of the cosine; an even number, so that the rule holds its inverses.
        degree = int(self.degree)
        n = degree + 1 + (degree + 1) % 2
        cosines, weights = np.polynomial.legendre.leggauss(degree // 2 + 1)
        turns = _equal_turns(n)
        grid = np.meshgrid(turns, np.arccos(cosines), turns, indexing="ij")
        angles = np.stack(grid, axis=-1).reshape(-1, 3)
        each = np.broadcast_to(weights[None, :, None] / (2 * n**2), (n, len(weights), n))
        return np.asarray(Rotation.from_euler("ZYZ", angles).as_matrix()), each.ravel()

    def refined(self, factor: int) -> Rotations3D | None:
        return Rotations3D(4 * factor) if self.degree is None else None

    def largest_inner(self, A: Floats, B: Floats) -> Floats | None:
        """By superposition (Kabsch 1976): singular values of the points' 3 x 3 moments."""
        if self.degree is not None:
            return None
        one, two = (M.reshape(len(M), self._points(M.shape[1]), 3) for M in (A, B))
        moments = np.tensordot(one, two, axes=(1, 1)).swapaxes(1, 2)
        values = np.linalg.svd(moments, compute_uv=False)
        values[..., 2] *= np.sign(np.linalg.det(moments))  # a mirror image cannot be turned back
        found: Floats = values.sum(axis=-1)
        return found

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Floats:
        if self.degree is not None:
            return super()._sample(n_samples, rng)
        # Four independent normal numbers point in a uniform direction: a random unit quaternion.
        quaternions = rng.standard_normal((n_samples, 4))
        if not n_samples:
            return np.empty((0, 3, 3))
        return np.asarray(Rotation.from_quat(quaternions).as_matrix())

    def identity(self) -> Floats:
        return np.eye(3)[None]

    def compose(self, first: ArrayLike, second: ArrayLike) -> Floats:
        return np.asarray(np.asarray(first) @ np.asarray(second))

    def inverse(self, elements: ArrayLike) -> Floats:
        return np.asarray(elements).swapaxes(-1, -2)

    def _check_elements(self, elements: Floats) -> Floats:
        if elements.shape[1:] != (3, 3):
            self._refuse(elements, f"matrices of shape (r, 3, 3), not {elements.shape}")
        return elements

    def _matrices(self, elements: Floats) -> Floats:
        return elements


@stores_parameters
class PlaneRotations(_PointRotations):
    """All rotations of the plane, SO(2); a row of 2 m coordinates is m points that turn together.

    Elements are angles in radians, shape (r,).

    Parameters
    ----------
    n_nodes : int or None
        Replace the group by that many equal turns; None keeps it whole, and averages choose.

    Examples
    --------
    >>> import numpy as np
    >>> PlaneRotations().act([np.pi / 2], [[1.0, 0.0, 0.0, 2.0]])[0].round(12) + 0.0
    array([[ 0.,  1., -2.,  0.]])
    """

    _size = 2
    n_nodes: Annotated[int | None, Whole(1, 2**20) | None] = None

    identity = CircleAction.identity
    compose = CircleAction.compose
    inverse = CircleAction.inverse
    _check_elements = CircleAction._check_elements

    def _rule(self) -> tuple[Floats, None] | None:
        return None if self.n_nodes is None else (_equal_turns(self.n_nodes), None)

    def refined(self, factor: int) -> PlaneRotations | None:
        self._check()
        return PlaneRotations(8 * factor) if self.n_nodes is None else None

    def largest_inner(self, A: Floats, B: Floats) -> Floats | None:
        """The modulus of the inner product of the points as complex numbers."""
        if self.n_nodes is not None:
            return None
        self._points(A.shape[1])
        one, two = (M[:, ::2] + 1j * M[:, 1::2] for M in (A, B))
        found: Floats = np.abs(one.conj() @ two.T)
        return found

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Floats:
        if self.n_nodes is not None:
            return super()._sample(n_samples, rng)
        return np.asarray(rng.uniform(-np.pi, np.pi, size=n_samples))

    def _matrices(self, elements: Floats) -> Floats:
        c, s = np.cos(elements), np.sin(elements)
        return np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=1)


@stores_parameters
class TorusShifts(ContinuousGroup):
    """All translations of a torus along some directions: a subtorus, acting by addition.

    Elements are shifts, shape (r, d).

    Parameters
    ----------
    directions : array-like of int, shape (k, d)
        Whole numbers, so that moving along a direction leads back to the start: ``[[1, 1]]`` moves
        both coordinates alike. The identity matrix stands for all translations.
    period : float
        Side of the torus.

    Examples
    --------
    >>> TorusShifts([[1, 1]], period=2.0).act([[0.5, 0.5]], [[0.0, 0.25]])[0]
    array([[0.5 , 0.75]])
    """

    unitary = False
    directions: Annotated[ArrayLike, Array(ndim=2, whole=True)]
    period: Annotated[float, Positive()] = 2.0

    def _directions(self) -> Floats:
        self._check()
        return np.asarray(self.directions, dtype=float)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._directions().shape[1],)

    def lie_algebra(self, n_features: int) -> tuple[Floats, Floats]:
        directions = self._directions()
        if directions.shape[1] != n_features:
            raise ParameterError(
                f"{self!r} acts on {directions.shape[1]} coordinates, but the points have "
                f"{n_features}"
            )
        return np.zeros((len(directions), n_features, n_features)), directions

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Floats:
        directions = self._directions()
        turns = rng.uniform(size=(n_samples, len(directions)))
        return np.asarray(self.period * turns @ directions % self.period)

    def identity(self) -> Floats:
        return np.zeros((1, *self.shape))

    def compose(self, first: ArrayLike, second: ArrayLike) -> Floats:
        return np.asarray((np.asarray(first) + np.asarray(second)) % self.period)

    def inverse(self, elements: ArrayLike) -> Floats:
        return np.asarray(-np.asarray(elements) % self.period)

    def _check_elements(self, elements: Floats) -> Floats:
        if elements.shape[1:] != self.shape or not np.isfinite(elements).all():
            self._refuse(elements, f"finite shifts of shape (r, {self.shape[0]})")
        return elements

    def _act(self, elements: Floats, X: Floats) -> Floats:
        return np.asarray(X[None] + elements[:, None].astype(X.dtype))
