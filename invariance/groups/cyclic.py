"""`CyclicProduct`: direct products of cyclic groups, whatever they act on."""

from __future__ import annotations

from abc import abstractmethod
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .base import FiniteGroup, whole_elements

__all__ = ["CyclicProduct"]


class CyclicProduct(FiniteGroup):
    """Base of the groups Z_k1 x ... x Z_kd; an element is a row of d integers, added mod k."""

    @abstractmethod
    def _periods(self) -> NDArray[Any]:
        """The orders k1, ..., kd of the factors."""

    @property
    def order(self) -> int:
        return prod(int(k) for k in self._periods())

    def generators(self) -> NDArray[Any]:
        periods = self._periods()
        return np.eye(len(periods), dtype=np.int64)[periods > 1]

    def identity(self) -> NDArray[Any]:
        return np.zeros((1, len(self._periods())), dtype=np.int64)

    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray[Any]:
        return np.asarray((np.atleast_2d(first) + np.atleast_2d(second)) % self._periods())

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        return np.asarray(-np.atleast_2d(elements) % self._periods())

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        periods = self._periods()
        return rng.randint(periods, size=(n_samples, len(periods)))

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        return whole_elements(self, elements, len(self._periods()), "steps")
