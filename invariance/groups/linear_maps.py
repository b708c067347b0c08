"""`LinearMaps`: transformations given as explicit matrices."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Array, stores_parameters
from .base import Transformations, whole_elements

__all__ = ["LinearMaps"]


@stores_parameters
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
    ParameterError
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
    keeps_shape = False
    linear = True
    matrices: Annotated[ArrayLike, Array(3)]

    def _array(self) -> NDArray[Any]:
        self._check()
        return np.asarray(self.matrices)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._array().shape[2],)

    @property
    def order(self) -> int:
        return len(self._array())

    def elements(self) -> NDArray[Any]:
        """The indices 0, ..., r - 1."""
        return np.arange(self.order)

    _sample = Transformations._from_listed

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        if elements.ndim != 1:
            self._refuse(elements, "indices of maps, of shape (r,)")
        if elements.dtype.kind not in "iu":
            elements = whole_elements(self, elements.reshape(-1, 1), 1, "indices of maps").ravel()
        last = self.order - 1
        if len(elements) and (elements.min() < 0 or elements.max() > last):
            self._refuse(elements, f"indices of maps, from 0 to {last}")
        return elements

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        matrices = self._array()
        moved = np.empty((len(elements), len(X), matrices.shape[1]), dtype=X.dtype)
        for i, element in enumerate(elements):
            np.matmul(X, matrices[element].T.astype(X.dtype, copy=False), out=moved[i])
        return moved
