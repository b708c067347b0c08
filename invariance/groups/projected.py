"""`Projected`: transformed points seen in fewer coordinates."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Array, ParameterError, short, stores_parameters
from .base import GROUP, Transformations
from .borrowed import Borrowed

__all__ = ["Projected"]


@stores_parameters
class Projected(Borrowed):
    """Transformations followed by a projection on the rows of a matrix.

    A kernel of distances or inner products sees only the span of the transformed points. Where a
    few hundred principal components carry nearly all of it, as for natural images, features of the
    projected points approximate the same kernel at a fraction of the cost. Since points go in and
    coordinates come out, points must be transformed and never the templates.

    Parameters
    ----------
    group : Transformations
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
    keeps_shape = False
    group: Annotated[Transformations, GROUP]
    components: Annotated[ArrayLike, Array(2)]

    def _check_together(self) -> None:
        n, k = self.group.n_features, np.shape(self.components)[1]
        if n not in (None, k):
            raise ParameterError(
                f"components must have shape (k, {n}) to project points of {n} features, got "
                f" {short(self.components)} of shape {np.shape(self.components)}"
            )

    @property
    def shape(self) -> tuple[int, ...] | None:
        self._check()
        return self.group.shape

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        components = np.asarray(self.components, dtype=X.dtype)
        if components.shape[1] != X.shape[1]:
            raise ParameterError(
                f"components must have shape (k, {X.shape[1]}) to project points of "
                f"{X.shape[1]} features, got {components.shape}"
            )
        moved = np.empty((len(elements), len(X), len(components)), dtype=X.dtype)
        for i in range(len(elements)):
            # One element at a time: the transformed points never all exist in full.
            whole = self.group.act(elements[i : i + 1], X)
            np.matmul(whole[0], components.T, out=moved[i])
        return moved
