"""`Projected`: transformed points seen in fewer coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import Transformations

__all__ = ["Projected"]


class Projected(Transformations):
    """Transformations followed by a projection on the rows of a matrix.

    A kernel of distances or inner products sees only the span of the transformed points. Where a
    few hundred principal components carry nearly all of it, as for natural images, features of the
    projected points approximate the same kernel at a fraction of the cost. Since points go in and
    coordinates come out, points must be transformed and never the templates.

    Parameters
    ----------
    transformations : Transformations
    components : array of shape (k, d), orthonormal rows

    Examples
    --------
    >>> from invariance.groups import CyclicShifts
    >>> shifts = Projected(CyclicShifts(3), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> shifts.act(shifts.elements(), [[1.0, 2.0, 3.0]])[:, 0]
    array([[1., 2.],
           [3., 1.],
           [2., 3.]])
    """

    unitary = False

    def __init__(self, transformations: Transformations, components: ArrayLike):
        self.transformations = transformations
        self.components = components

    @property
    def shape(self) -> tuple[int, ...] | None:
        return self.transformations.shape

    @property
    def order(self) -> int | float:
        return self.transformations.order

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        return self.transformations.sample(n_samples, random_state)

    def elements(self) -> NDArray:
        return self.transformations.elements()

    def weights(self) -> NDArray | None:
        return self.transformations.weights()

    def quadrature(self) -> tuple[NDArray, NDArray]:
        return self.transformations.quadrature()

    def act(self, elements: ArrayLike, X: ArrayLike) -> NDArray:
        """Coordinates of the transformed points, shape (r, n, k)."""
        return self._act(np.asarray(elements), self._flatten(np.asarray(X)))

    def _act(self, elements: NDArray, X: NDArray) -> NDArray:
        components = np.asarray(self.components, dtype=X.dtype)
        if components.ndim != 2 or components.shape[1] != X.shape[1]:
            raise ValueError(
                f"components must have shape (k, {X.shape[1]}) to project points of "
                f"{X.shape[1]} features, got {components.shape}"
            )
        moved = np.empty((len(elements), len(X), len(components)), dtype=X.dtype)
        for i in range(len(elements)):
            # One element at a time: the transformed points never all exist in full.
            whole = self.transformations.act(elements[i : i + 1], X)
            np.matmul(whole.reshape(len(X), -1), components.T, out=moved[i])
        return moved
