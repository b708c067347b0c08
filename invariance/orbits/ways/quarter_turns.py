"""`QuarterTurned`: only the rotations within a quarter turn are applied.

A quarter turn Q of a square image only permutes pixels, and products of pixels that a `Form` holds.
On a cycle of features the four inner products <a, b Q^k> are a cyclic correlation of length four. A
Fourier transform takes it apart: into two real products and a complex one.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import Workspace, row_blocks
from ..plan import Problem, WeightedSet
from ..product import Product
from ..registry import Algorithm, register

Array = NDArray[Any]

#: Number of points that are lifted at a time, so that not all features are in memory at once.
_POINTS = 32
#: Duration relative to a product with a fourth of the elements, measured.
_OVERHEAD = 1.5


@register
class QuarterTurned(Product):
    """The transformations within a quarter turn applied; quarter turns by `QuarterTurns`."""

    name = "product, with quarter turns"

    def __init__(self, problem: Problem):
        within_a_quarter = WeightedSet(problem.whole_group.as_turns())
        super().__init__(replace(problem, sets=[within_a_quarter]))
        self.turns = QuarterTurns(problem)

    @classmethod
    def applies_to(cls, problem: Problem) -> bool:
        group = problem.whole_group
        if problem.form is None or group is None or group.as_turns() is None:
            return False
        return problem.reduction.extreme or group.weights() is None

    def for_support(self, support: Array, n: int) -> Algorithm:
        lifted = self.problem.lift_points(support.astype(float)[None])
        shorter = copy(self)
        shorter.turns = self.turns.within(lifted.ravel() != 0)
        return shorter

    def points(self, X: Array) -> Array:
        return self.turns.transform_points(X)

    def templates(self, transformed: Array) -> Array:
        return self.turns.transform_templates(transformed)

    def element_weights(self, weights: Array) -> Array:
        return np.tile(weights, 4) / 4

    def values(self, points: Array, matrix: Array, workspace: Workspace) -> Array:
        return self.turns.values(points, matrix)

    def operations(self, n: int, m: int) -> float:
        return _OVERHEAD * super().operations(n, m)


class QuarterTurns:
    """Inner products of lifted points with the quarter turns of lifted templates.

    ``problem`` has ``lift_points``, ``lift_templates`` and ``shape`` (side, side, channels).
    """

    def __init__(self, problem: Any):
        image = np.random.default_rng(0).random((1, *problem.shape))
        turned_image = np.rot90(image, axes=(1, 2))
        features = problem.lift_templates(image.reshape(1, -1)).ravel()
        turned_features = problem.lift_templates(turned_image.reshape(1, -1)).ravel()
        # Two features of a random image are equal only if they always are: sorting matches them.
        turn = np.empty(len(features), dtype=np.intp)
        turn[np.argsort(turned_features, kind="stable")] = np.argsort(features, kind="stable")
        cycles = [np.arange(len(features))]
        for _ in range(3):
            cycles.append(turn[cycles[-1]])
        permutes = np.array_equal(features[turn], turned_features)
        if not permutes or not np.array_equal(turn[cycles[3]], cycles[0]):
            raise ValueError("a quarter turn does not permute the features")
        all_cycles = np.array(cycles)
        starts_at_smallest = all_cycles.min(axis=0) == all_cycles[0]
        self._problem = problem
        self._cycles = all_cycles[:, starts_at_smallest]

    def within(self, support: Array) -> QuarterTurns:
        """Leave out cycles outside the support, the features that some point X uses."""
        is_used = np.asarray(support[self._cycles].any(axis=0))
        if not is_used.any():  # All points are blank: one cycle keeps the shapes of products.
            is_used[:1] = True
        shorter = copy(self)
        shorter._cycles = self._cycles[:, is_used]
        return shorter

    def _characters(self, features: Array) -> list[Array]:
        """Fourier transform of each cycle: a part for each character, the trivial one last.

        The two complex characters are one, given by its real and its imaginary part.
        """
        a, b, c, d = (features.take(cycle, axis=1) for cycle in self._cycles)
        real = a - c
        imaginary = d - b
        a += c
        b += d
        return [a - b, real, imaginary, a + b]

    def transform_points(self, X: Array) -> Array:
        """Points X as `values` needs them: the four parts side by side."""
        features = self._problem.lift_points(X).reshape(len(X), -1)
        parts = self._characters(features)
        # A cycle of length one or two is passed through several times.
        weights = 0.25 / (self._cycles == self._cycles[0]).sum(axis=0)
        for part, factor in zip(parts, (1, 2, 2, 1), strict=True):
            part *= (factor * weights).astype(X.dtype)
        return np.concatenate(parts, axis=1)

    def transform_templates(self, Z: Array) -> Array:
        """Templates (m, d) as `values` needs them."""
        size = self._cycles.shape[1]
        transformed = np.empty((len(Z), 4 * size), Z.dtype)
        for rows in row_blocks(len(Z), 1, _POINTS):
            features = self._problem.lift_templates(Z[rows])
            parts = self._characters(features.reshape(len(features), -1))
            for i, part in enumerate(parts):
                transformed[rows, i * size : (i + 1) * size] = part
        return transformed

    def values(self, X: Array, Z: Array) -> Array:
        """Inner products (n, 4, m) with the templates turned by 0, 90, 180 and 270 degrees.

        Further columns of both are not turned: they go with the trivial character.
        """
        size = self._cycles.shape[1]
        edges = [size, 2 * size, 3 * size]
        x_sign, x_real, x_imaginary, x_trivial = np.split(X, edges, axis=1)
        z_sign, z_real, z_imaginary, z_trivial = np.split(Z.T, edges)
        sign = x_sign @ z_sign
        trivial = x_trivial @ z_trivial
        real = x_real @ z_real
        real += x_imaginary @ z_imaginary
        imaginary = x_imaginary @ z_real
        imaginary -= x_real @ z_imaginary
        even = trivial + sign
        odd = trivial - sign
        return np.stack([even + real, odd + imaginary, even - real, odd - imaginary], axis=1)
