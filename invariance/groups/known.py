"""`Known`: vectors told apart by a distance, whatever their last digits."""

from __future__ import annotations

from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Known"]


class Known:
    """A growing list of vectors, no two of them within a tolerance of each other.

    Vectors are looked up by their projection on one direction, in a cell and its two neighbours,
    and then compared, so that no boundary of rounding comes between equal ones.

    >>> known = Known(1e-9)
    >>> [known.index(np.array([x, 1.0])) for x in (0.5, 0.5 + 1e-12, 0.5 + 3e-7)]
    [0, 0, 1]
    """

    def __init__(self, tolerance: float):
        self.tolerance = tolerance
        self.vectors: list[NDArray[Any]] = []
        self._cells: dict[int, list[int]] = {}
        self._direction = np.zeros(0)

    def __len__(self) -> int:
        return len(self.vectors)

    def index(self, vector: NDArray[Any]) -> int:
        """Where the vector stands in the list; one that is not there is appended."""
        if not self.vectors:
            direction = np.random.default_rng(0).standard_normal(vector.size)
            self._direction = direction / np.linalg.norm(direction)
        cell = floor(float(vector.ravel() @ self._direction) / (2 * self.tolerance))
        for near in (cell, cell - 1, cell + 1):
            for i in self._cells.get(near, ()):
                if np.abs(vector - self.vectors[i]).max() <= self.tolerance:
                    return i
        self._cells.setdefault(cell, []).append(len(self.vectors))
        self.vectors.append(vector)
        return len(self.vectors) - 1
