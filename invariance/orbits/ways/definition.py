"""`Evaluation` and `Differences`: the plain product with another function of a pair of points."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import Workspace
from ..numerics import half_squares
from ..plan import Problem
from ..product import Product
from ..registry import Algorithm, register

Array = NDArray[Any]

#: Duration of differences, relative to products, measured.
_DIFFERENCES = 10


@register
class Evaluation(Product):
    """The base kernel evaluated for every transformation: it is no function of inner products."""

    name = "product, kernel evaluated"
    # Each evaluation has costs of its own, so tiles are large.
    rows, columns = 1024, 8192

    def __init__(self, problem: Problem):
        super().__init__(problem)
        self.width = prod(problem.shape)

    @classmethod
    def applies_to(cls, problem: Problem) -> bool:
        return problem.form is None

    def for_support(self, support: Array, n: int) -> Algorithm:
        return self

    def values(self, points: Array, matrix: Array, workspace: Workspace) -> Array:
        return np.asarray(self.problem.evaluate(points, matrix))


@register
class Differences(Product):
    """Squared distances from differences, for points so far away that products lose digits.

    The kernel is a function of v = -|x - g z|^2 / 2, and nothing is added to v.
    """

    name = "product, by differences"
    by_differences = True

    def for_support(self, support: Array, n: int) -> Algorithm:
        return self

    def values(self, points: Array, matrix: Array, workspace: Workspace) -> Array:
        return np.asarray(half_squares(points, matrix))

    def operations(self, n: int, m: int) -> float:
        return _DIFFERENCES * super().operations(n, m)
