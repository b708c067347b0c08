"""`LinearMaps`: transformations given as explicit matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .base import Transformations

__all__ = ["LinearMaps"]


class LinearMaps(Transformations):
    """A finite list of linear maps x -> M_i x, equally weighted; an element is an index.

    Every linear action of given elements can be tabulated so: transform the basis vectors once,
    and a set of many points costs one matrix product an element instead of an interpolation a
    point. The maps need not be square or invertible, hence points are transformed and never
    templates.

    Parameters
    ----------
    matrices : array of shape (r, k, d)

    Raises
    ------
    ValueError
        For an array of another shape.

    Examples
    --------
    >>> from invariance.groups import CyclicShifts, Projected
    >>> seen = Projected(CyclicShifts(3), [[1.0, 0.0, 0.0]])       # the first coordinate
    >>> matrices = seen.act(seen.elements(), np.eye(3)).swapaxes(1, 2)
    >>> maps = LinearMaps(matrices)
    >>> maps.act(maps.elements(), [[1.0, 2.0, 3.0]])[:, 0, 0]
    array([1., 3., 2.])
    """

    unitary = False
    linear = True

    def __init__(self, matrices: ArrayLike):
        self.matrices = matrices

    def _array(self) -> NDArray:
        matrices = np.asarray(self.matrices)
        if matrices.ndim != 3 or not len(matrices):
            raise ValueError(
                f"matrices must have shape (r, k, d) with r >= 1, got {matrices.shape}"
            )
        return matrices

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._array().shape[2],)

    @property
    def order(self) -> int:
        return len(self._array())

    def elements(self) -> NDArray:
        """The indices 0, ..., r - 1."""
        return np.arange(self.order)

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        return check_random_state(random_state).randint(self.order, size=n_samples)

    def act(self, elements: ArrayLike, X: ArrayLike) -> NDArray:
        """Images of the points, shape (r, n, k)."""
        return self._act(np.asarray(elements), self._flatten(np.asarray(X)))

    def _act(self, elements: NDArray, X: NDArray) -> NDArray:
        matrices = self._array()
        moved = np.empty((len(elements), len(X), matrices.shape[1]), dtype=X.dtype)
        for i, element in enumerate(elements):
            np.matmul(X, matrices[element].T.astype(X.dtype, copy=False), out=moved[i])
        return moved
