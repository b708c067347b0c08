"""`TorusTranslations`: rational translations of the circle and of flat tori."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Array, Number, ParameterError, short, stores_parameters
from .cyclic import CyclicProduct

__all__ = ["TorusTranslations"]


@stores_parameters
class TorusTranslations(CyclicProduct):
    """Translations of coordinate i by multiples of ``period / orders[i]``, read modulo ``period``.

    The group is Z_k1 x ... x Z_kd. With one order and period 2 pi it is the group of rotations of
    the circle by 2 pi / k, a point being an angle. Translations are isometries of the torus but
    not linear maps of its coordinates, hence not `unitary`.

    Parameters
    ----------
    orders : sequence of int
        One a coordinate; 1 leaves the coordinate alone.
    period : float

    Examples
    --------
    >>> group = TorusTranslations([4, 1])
    >>> group.order, group.act(group.generators(), [[0.0, 0.3]])[0]
    (4, array([[0.5, 0.3]]))
    """

    unitary = False
    orders: Annotated[ArrayLike, Array(whole=True, least=1, most=2**31)]
    period: Annotated[float, Number(1e-100, 1e100)] = 2.0

    def _periods(self) -> NDArray[Any]:
        self._check()
        orders = np.atleast_1d(np.asarray(self.orders))
        if orders.ndim != 1:
            raise ParameterError(
                f"TorusTranslations needs orders to be one row, got {short(self.orders)} of shape "
                f"{orders.shape}"
            )
        return orders.astype(np.int64)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self._periods()),)

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        shifts = np.asarray(float(self.period) * elements / self._periods(), dtype=X.dtype)
        return np.asarray(X[None] + shifts[:, None])
