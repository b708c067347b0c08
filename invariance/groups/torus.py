"""`TorusTranslations`: rational translations of the circle and of flat tori."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .base import FiniteGroup

__all__ = ["TorusTranslations"]


class TorusTranslations(FiniteGroup):
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

    def _orders(self) -> NDArray:
        orders = np.atleast_1d(np.asarray(self.orders))
        if orders.ndim != 1 or not np.issubdtype(orders.dtype, np.integer) or np.any(orders < 1):
            raise ValueError(f"orders must be positive integers, got {self.orders!r}")
        if not self.period > 0:
            raise ValueError(f"period must be positive, got {self.period!r}")
        return orders.astype(np.int64)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self._orders()),)

    @property
    def order(self) -> int:
        return prod(int(k) for k in self._orders())

    def generators(self) -> NDArray:
        orders = self._orders()
        return np.eye(len(orders), dtype=np.int64)[orders > 1]

    def identity(self) -> NDArray:
        return np.zeros((1, len(self._orders())), dtype=np.int64)

    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray:
        return (np.atleast_2d(first) + np.atleast_2d(second)) % self._orders()

    def inverse(self, elements: ArrayLike) -> NDArray:
        return -np.atleast_2d(elements) % self._orders()

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        orders = self._orders()
        return check_random_state(random_state).randint(orders, size=(n_samples, len(orders)))

    def _act(self, elements: NDArray, X: NDArray) -> NDArray:
        shifts = np.asarray(self.period * elements / self._orders(), dtype=X.dtype)
        return X[None] + shifts[:, None]
