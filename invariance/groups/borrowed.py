"""`Borrowed`: transformations whose elements and measure are those of another set."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Transformations

__all__ = ["Borrowed", "of_group"]


def of_group(name: str) -> Any:
    """What holds where it holds for the ``group``."""
    return property(lambda self: getattr(self.group, name))


class Borrowed(Transformations):
    """Base of transformations that hold another set as ``group`` and let it act elsewhere."""

    group: Transformations

    @property
    def order(self) -> int | float:
        self._check()
        return self.group.order

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        return self.group.sample(n_samples, rng)

    def elements(self) -> NDArray[Any]:
        self._check()
        return self.group.elements()

    def weights(self) -> NDArray[Any] | None:
        self._check()
        return self.group.weights()

    def quadrature(self) -> tuple[NDArray[Any], NDArray[Any]]:
        self._check()
        return self.group.quadrature()

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        return self.group._check_elements(elements)
