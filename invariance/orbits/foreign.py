"""`as_function`: kernels of other packages that are functions of inner products or distances.

A kernel such as scikit-learn's ``ConstantKernel() * RBF() + Matern()`` does not say that it sees
two points through their distance alone. It is asked: its values at some points in space must be
those at points of a line with the same distances.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..groups import Transformations
from .form import Form

__all__ = ["FunctionKernel", "InnerValues", "as_function"]

Array = NDArray[Any]


def as_function(base: Any, *, monotone: bool = False) -> Any:
    """The base kernel, with an ``inner_form`` where it is found to have one.

    Parameters
    ----------
    base : kernel
        One that has ``inner_form`` speaks for itself.
    monotone : bool
        Whether it must fall with the distance, or grow with the inner product, as it is found to
        do at 4,000 values.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, DotProduct
    >>> as_function(RBF([1.0, 2.0, 3.0])) is not None, as_function(RBF(2.0)).distance
    (True, True)
    >>> as_function(DotProduct()).distance
    False
    """
    if hasattr(base, "inner_form") or not hasattr(base, "theta"):
        return base
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((2, 12, 3))
    for distance in (True, False):
        found = FunctionKernel(base, distance)
        try:
            same = all(
                np.allclose(found.on_line(A, B), base(A, B), rtol=1e-9, atol=1e-300)
                for A, B in (directions * scale for scale in np.logspace(-2, 1, 4))
            )
            if same and (not monotone or found.rises()):
                return found
        except (ValueError, FloatingPointError):  # a length scale for each of some features
            continue
    return base


class FunctionKernel(BaseEstimator):
    """A kernel phi(|x - z|) or phi(<x, z>) of another package, phi read off on a line.

    Parameters
    ----------
    base : kernel
    distance : bool
        Whether it is a function of the distance.
    """

    unitary_invariant = True

    def __init__(self, base: Any, distance: bool = True):
        self.base = base
        self.distance = distance

    def _outer(self, values: Array, xp: Any = np) -> Array:
        """phi of v = -|x - z|^2 / 2, or of the inner product."""
        line = np.sqrt(np.maximum(-2 * values, 0)) if self.distance else values
        start = np.zeros((1, 1)) if self.distance else np.ones((1, 1))
        found = np.asarray(self.base(start, line.reshape(-1, 1))).reshape(values.shape)
        return found.astype(values.dtype, copy=False)

    def on_line(self, X: Array, Y: Array) -> Array:
        """Values at all pairs of rows."""
        values = X @ Y.T
        if self.distance:
            values = -np.square(X[:, None] - Y[None]).sum(axis=2) / 2
        return self._outer(values)

    def rises(self) -> bool:
        """Whether phi never falls, as a function of v."""
        line = np.logspace(-8, 8, 2000)
        values = -line[::-1] if self.distance else np.concatenate([-line[::-1], line])
        found = self._outer(values)
        return bool((np.diff(found) >= -1e-12 * np.abs(found[1:])).all())

    def inner_form(self, shape: tuple[int, int, int]) -> Form:
        return Form(self._outer, distance=self.distance, sensitivity=np.inf)

    def preserved_by(self, group: Transformations) -> bool:
        return group.unitary

    def _gram(self, X: Array, Y: Array | None = None) -> Array:
        return np.asarray(self.base(X, Y))

    @property
    def theta(self) -> Array:
        return np.asarray(self.base.theta, dtype=float)

    def clone_with_theta(self, theta: Array) -> FunctionKernel:
        return FunctionKernel(self.base.clone_with_theta(theta), self.distance)


class InnerValues(BaseEstimator):
    """The inner products (less half the squared norms, for a distance) that a kernel is made of."""

    def __init__(self, base: Any):
        self.base = base

    def inner_form(self, shape: tuple[int, int, int]) -> Form:
        form: Form = self.base.inner_form(shape)
        return replace(form, outer=None, rate=None)
