"""`TorusTranslations`: rational translations of the circle and of flat tori."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .cyclic import CyclicProduct

__all__ = ["TorusTranslations"]


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

    def __init__(self, orders: ArrayLike, period: float = 2.0):
        self.orders = orders
        self.period = period

    def _periods(self) -> NDArray:
        orders = np.atleast_1d(np.asarray(self.orders))
        if orders.ndim != 1 or not np.issubdtype(orders.dtype, np.integer) or np.any(orders < 1):
            raise ValueError(f"orders must be positive integers, got {self.orders!r}")
        if not self.period > 0:
            raise ValueError(f"period must be positive, got {self.period!r}")
        return orders.astype(np.int64)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self._periods()),)

    def _act(self, elements: NDArray, X: NDArray) -> NDArray:
        shifts = np.asarray(self.period * elements / self._periods(), dtype=X.dtype)
        return X[None] + shifts[:, None]
