"""Rotations of the plane and of space that turn all points of a row alike."""

from __future__ import annotations

from abc import abstractmethod
from math import inf
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from ..core.parameters import ParameterError, Whole, stores_parameters
from ..groups.base import Group, Transformations
from ..groups.continuous import Angles, Floats, complex_inner, equal_turns


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
        turns = equal_turns(n)
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
class PlaneRotations(Angles, ContinuousGroup):
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
        return None if self.n_nodes is None else equal_turns(self.n_nodes)

    def refined(self, factor: int) -> PlaneRotations:
        self._check()
        n = 8 if self.n_nodes is None else self.n_nodes
        return PlaneRotations(min(2**20, factor * n))

    def as_turn(self, A: Floats, B: Floats) -> tuple[Floats | float, Floats] | None:
        if self.n_nodes is not None:
            return None
        one = self._points(A).reshape(A.shape)
        two = self._points(B).reshape(B.shape)
        return 0.0, complex_inner(one, two)

    def largest_inner(self, A: Floats, B: Floats) -> Floats | None:
        """The modulus of the inner product of the points as complex numbers."""
        turn = self.as_turn(A, B)
        return None if turn is None else np.abs(turn[1])

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Floats:
        return np.asarray(rng.uniform(-np.pi, np.pi, size=n_samples))

    def _matrices(self, elements: Floats) -> Floats:
        c, s = np.cos(elements), np.sin(elements)
        return np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=1)
