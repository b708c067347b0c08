"""Rotations of the plane and of space that rotate all points of a row together."""

from __future__ import annotations

from abc import abstractmethod
from math import inf
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from ..core.parameters import ParameterError, Whole, stores_parameters
from ..groups.alignment import rotation_matrices
from ..groups.base import Group, Transformations
from ..groups.canonical import in_own_frame
from ..groups.continuous import Angles, Floats, complex_inner, equal_turns
from ..groups.products import OnPoints


class ContinuousGroup(Group):
    """Rotations that rotate all points of a row together, or a finite rule of them.

    A function is invariant under a connected group if and only if the generators of its Lie algebra
    annihilate it. `invariance.spectral` uses this to find invariants without any group element.
    """

    linear = True
    #: A mean over the rule represents a mean over the whole group.
    one_sided = True
    #: Number of coordinates of a point.
    _size: int

    @abstractmethod
    def _matrices(self, elements: Floats) -> Floats:
        """Return the elements as matrices, shape (r, size, size)."""

    def moves_points(self, size: int) -> list[int] | None:
        if size == 0 or size % self._size:
            return None
        return list(range(size))

    def moving(self, size: int) -> Floats:
        return np.ones((1, size))

    def repeated(self, n_points: int) -> Transformations:
        """Return the group itself, as it rotates all points of a row."""
        return self

    def on_each(self, n_points: int) -> Transformations:
        """Return the group on rows of exactly ``n_points`` points.

        Without this, it acts on rows of any number of points.
        """
        return OnPoints(self, self._size, n_points=n_points)

    def _points(self, X: Floats) -> Floats:
        """Return X of shape (n, d) as points (n, d / size, size)."""
        n_features = X.shape[1]
        if n_features == 0 or n_features % self._size:
            raise ParameterError(
                f"{self!r}: the {n_features} numbers of a row of X are no multiple of {self._size}"
            )
        return X.reshape(len(X), n_features // self._size, self._size)

    def lie_algebra(self, n_features: int) -> tuple[Floats, Floats]:
        """Return generators on rows of ``n_features`` coordinates.

        Returns
        -------
        matrices : ndarray of shape (r, n_features, n_features)
        shifts : ndarray of shape (r, n_features)
            ``x -> x + e (A x + t)`` are the motions of first order in e.
        """
        if self.order != inf:
            raise ParameterError(
                f"{self!r} is a finite rule without a Lie algebra; take {type(self).__name__}()"
            )
        n_points = self._points(np.zeros((1, n_features))).shape[1]
        on_all_points = np.eye(n_points)
        generators = []
        for i, j in zip(*np.tril_indices(self._size, -1), strict=True):
            generator = np.zeros((self._size, self._size))
            generator[i, j] = 1.0
            generator[j, i] = -1.0
            generators.append(np.kron(on_all_points, generator))
        return np.array(generators), np.zeros((len(generators), n_features))

    def _act(self, elements: Floats, X: Floats) -> Floats:
        rotations = self._matrices(elements).astype(X.dtype)
        rotated: Floats = np.einsum("rij,npj->rnpi", rotations, self._points(X))
        return rotated.reshape(len(rotations), *X.shape)


class SpaceRotations(Group):
    """Groups whose elements are rotations of space, as matrices of shape (r, 3, 3).

    Subclasses have a product rule of nodes if ``_rule_degree`` is not None.
    """

    linear = True
    #: A mean over the rule represents a mean over the whole group.
    one_sided = True

    @property
    @abstractmethod
    def _rule_degree(self) -> int | None:
        """Degree of the polynomials in the matrix's entries whose means are exact."""

    @property
    def is_group(self) -> bool:  # type: ignore[override]
        return self._rule_degree is None

    # The product rule is over Euler angles z-y-z: equal angles, as many as a Fourier series of the
    # rule's degree needs, and Gauss's nodes of the cosine. Their number is even, so that the rule
    # contains its inverses.

    @property
    def order(self) -> int | float:
        self._check()
        degree = self._rule_degree
        if degree is None:
            return inf
        return _n_turns(degree) ** 2 * _n_cosines(degree)

    def _listed(self) -> Floats | None:
        """The matrices of the product rule."""
        degree = self._rule_degree
        if degree is None:
            return None
        cosines, _ = np.polynomial.legendre.leggauss(_n_cosines(degree))
        z_angles = equal_turns(_n_turns(degree))
        about_z = Rotation.from_euler("Z", z_angles[:, None]).as_matrix()
        about_y = Rotation.from_euler("Y", np.arccos(cosines)[:, None]).as_matrix()
        first_two = about_z[:, None] @ about_y
        matrices = first_two[:, :, None] @ about_z
        return np.asarray(matrices.reshape(-1, 3, 3))

    def weights(self) -> Floats | None:
        self._check()
        degree = self._rule_degree
        if degree is None:
            return None
        _, cosine_weights = np.polynomial.legendre.leggauss(_n_cosines(degree))
        n_turns = _n_turns(degree)
        weights = cosine_weights[:, None] / (2 * n_turns**2)
        shape = (n_turns, len(cosine_weights), n_turns)
        return np.broadcast_to(weights, shape).ravel()

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Floats:
        if not n_samples:
            return np.empty((0, 3, 3))
        # The direction of four independent normal numbers is uniform: a random unit quaternion.
        quaternions = rng.standard_normal((n_samples, 4))
        return np.asarray(Rotation.from_quat(quaternions).as_matrix())

    def identity(self) -> Floats:
        return np.eye(3)[None]

    def compose(self, first: ArrayLike, second: ArrayLike) -> Floats:
        return np.asarray(np.asarray(first) @ np.asarray(second))

    def inverse(self, elements: ArrayLike) -> Floats:
        return np.asarray(elements).swapaxes(-1, -2)

    def _check_elements(self, elements: Floats) -> Floats:
        return self._batch(elements, "matrices", 3, 3)


def _n_turns(degree: int) -> int:
    """Number of equal angles about each z axis of a product rule."""
    return degree + 1 + (degree + 1) % 2


def _n_cosines(degree: int) -> int:
    """Number of Gauss's nodes of the cosine of a product rule's second angle."""
    return degree // 2 + 1


@stores_parameters
class Rotations3D(SpaceRotations, ContinuousGroup):
    """All rotations of space, SO(3); a row of 3 m coordinates is m points that rotate together.

    Elements are matrices, shape (r, 3, 3).

    Parameters
    ----------
    degree : int or None
        Replace the group by a product rule over Euler angles, about degree^3 / 2 rotations with
        weights: its means are exact for polynomials of that degree in the matrix's entries. None
        keeps the whole group. Averages then choose a degree; they check once that a chosen one is
        high enough.

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
    repeated = ContinuousGroup.repeated
    degree: Annotated[int | None, Whole(0, 200) | None] = None

    @property
    def _rule_degree(self) -> int | None:
        return self.degree

    def refined(self, factor: int) -> Rotations3D:
        if self.degree is None:
            return Rotations3D(4 * factor)
        return Rotations3D(min(200, (self.degree + 2) * factor - 2))

    def largest_inner(self, A: Floats, B: Floats) -> Floats | None:
        """Return the largest inner products by superposition (Kabsch 1976).

        They are sums of singular values of the points' 3 x 3 moments.
        """
        if self.degree is not None:
            return None
        moments = np.tensordot(self._points(A), self._points(B), axes=(1, 1)).swapaxes(1, 2)
        singular_values = np.linalg.svd(moments, compute_uv=False)
        # No rotation superposes a mirror image. Cubes of moments could vanish, so that these are
        # divided by the largest singular value.
        units = singular_values[..., :1, None]
        moments /= np.where(units > 0, units, 1)
        singular_values[..., 2] *= np.sign(np.linalg.det(moments))
        return np.asarray(singular_values.sum(axis=-1))

    def aligning(self, A: Floats, B: Floats) -> Floats | None:
        """Return the rotations that superpose b on a, as matrices of shape (n, m, 3, 3)."""
        if self.degree is not None:
            return None
        return rotation_matrices(self._points(A), self._points(B))

    def representatives(self, X: Floats) -> Floats | None:
        """Return points in a frame of the first ones: one axis, then a half plane."""
        if self.degree is not None:
            return None
        return in_own_frame(self._points(X)).reshape(X.shape)

    def _matrices(self, elements: Floats) -> Floats:
        return elements


@stores_parameters
class PlaneRotations(Angles, ContinuousGroup):
    """All rotations of the plane, SO(2); a row of 2 m coordinates is m points that rotate together.

    Elements are angles in radians, shape (r,).

    Parameters
    ----------
    n_nodes : int or None
        Replace the group by that many equally spaced angles. None keeps the whole group. Averages
        then choose a number; they check once that a chosen one is high enough.

    Examples
    --------
    >>> import numpy as np
    >>> PlaneRotations().act([np.pi / 2], [[1.0, 0.0, 0.0, 2.0]])[0].round(12) + 0.0
    array([[ 0.,  1., -2.,  0.]])
    """

    _size = 2
    moving = ContinuousGroup.moving
    moves_points = ContinuousGroup.moves_points
    repeated = ContinuousGroup.repeated
    n_nodes: Annotated[int | None, Whole(1, 2**20) | None] = None

    def _listed(self) -> Floats | None:
        if self.n_nodes is None:
            return None
        return equal_turns(self.n_nodes)

    def refined(self, factor: int) -> PlaneRotations:
        self._check()
        n_nodes = 8 if self.n_nodes is None else self.n_nodes
        return PlaneRotations(min(2**20, factor * n_nodes))

    def as_turn(self, A: Floats, B: Floats) -> tuple[Floats | float, Floats] | None:
        if self.n_nodes is not None:
            return None
        # Numbers that are no points of the plane are refused.
        A = self._points(A).reshape(A.shape)
        B = self._points(B).reshape(B.shape)
        return 0.0, complex_inner(A, B)

    def largest_inner(self, A: Floats, B: Floats) -> Floats | None:
        """Return the modulus of the inner product of the points as complex numbers."""
        turn = self.as_turn(A, B)
        if turn is None:
            return None
        return np.abs(turn[1])

    def aligning(self, A: Floats, B: Floats) -> Floats | None:
        """Return the angles that turn b onto a, shape (n, m)."""
        turn = self.as_turn(A, B)
        if turn is None:
            return None
        return -np.angle(turn[1])

    def representatives(self, X: Floats) -> Floats | None:
        """Return points of which the first lies on the first axis."""
        if self.n_nodes is not None:
            return None
        return in_own_frame(self._points(X)).reshape(X.shape)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Floats:
        return np.asarray(rng.uniform(-np.pi, np.pi, size=n_samples))

    def _matrices(self, elements: Floats) -> Floats:
        cosine = np.cos(elements)
        sine = np.sin(elements)
        first_row = np.stack([cosine, -sine], axis=-1)
        second_row = np.stack([sine, cosine], axis=-1)
        return np.stack([first_row, second_row], axis=1)
