"""Derivatives of kernels with respect to the logarithms of their hyperparameters.

A kernel that is a function of inner products has derivatives that are functions of them too, and
goes through an average over a group in the same pass. Derivatives in the hyperparameters are
differences of four values, with a relative error of about 1e-11: nobody writes them by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import Array as ArrayKind
from ..core.parameters import OneOf
from .engine import OrbitProducts, speaks_for_itself
from .reductions import WeightedMean

__all__ = [
    "BOUNDS",
    "BOUNDS_KIND",
    "Derivative",
    "of_products",
    "outer_derivatives",
    "whole_derivatives",
]

Array = NDArray[Any]
Derivative = Callable[[Array], Array]

#: Within which hyperparameters are tuned, as in scikit-learn.
BOUNDS = (1e-5, 1e5)
#: What may be given for them.
BOUNDS_KIND = OneOf("fixed") | ArrayKind(1, above=0)

#: Of a logarithm; the fifth derivative's term and rounding are then both about 1e-12.
_STEP = 1e-3
_STENCIL = ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12))


def _moved(kernel: Any, j: int, steps: int) -> Any:
    """The kernel with one hyperparameter changed."""
    theta = np.array(kernel.theta, dtype=float)
    theta[j] += steps * _STEP
    return kernel.clone_with_theta(theta)


def whole_derivatives(kernel: Any, X: Array) -> Array:
    """Derivatives of a Gram matrix, from four more for each hyperparameter, shape (n, n, p)."""
    made = np.zeros((len(X), len(X), len(kernel.theta)))
    for j in range(made.shape[2]):
        for steps, weight in _STENCIL:
            made[:, :, j] += (weight / _STEP) * _moved(kernel, j, steps)._gram(X, None)
    return made


def outer_derivatives(kernel: Any, shape: tuple[int, int, int]) -> list[Derivative] | None:
    """Derivatives of the function phi of inner products that a kernel is; None if it is none.

    It is for kernels whose lifts have no hyperparameters.
    """
    if not speaks_for_itself(kernel) or kernel.inner_form(shape) is None:
        return None

    def derivative(values: Array, forms: Sequence[tuple[Any, float]]) -> Array:
        total = np.zeros_like(values)
        for form, weight in forms:
            total += weight * form.value(values.copy())
        return total

    made: list[Derivative] = []
    for j in range(len(kernel.theta)):
        moved = [(_moved(kernel, j, s).inner_form(shape), w / _STEP) for s, w in _STENCIL]
        made.append(partial(derivative, forms=moved))
    return made


def of_products(
    orbits: OrbitProducts, functions: Sequence[Derivative], *, symmetric: bool = True
) -> Array:
    """Means of functions of inner products of the kept points among themselves, (n, n, p)."""
    if not functions:
        return np.empty((len(orbits.Z), len(orbits.Z), 0))
    reduction = WeightedMean(functions, raw=True)
    return np.stack(orbits.reduce(orbits.Z, reduction, symmetric=symmetric), axis=-1)
