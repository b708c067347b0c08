"""Derivatives of Gram matrices with respect to the logarithms of hyperparameters.

The derivatives of a function of inner products are functions of inner products too. They are
differences of four values, with a relative error of about 1e-11, so no kernel has to define them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..orbits import OrbitProducts, WeightedMean, form_of

Array = NDArray[Any]
Derivative = Callable[[Array], Array]

#: Step of finite differences in log theta: truncation and rounding errors are both about 1e-12.
_STEP = 1e-3
#: Weights of the differences of fourth order, times 12, by the number of steps.
_WEIGHTS = {1: 8, -1: -8, 2: -1, -2: 1}


def _stencil(kernel: Any, j: int) -> list[tuple[Any, float]]:
    """Return the kernel with hyperparameter j moved by two steps each way, and their weights.

    The weighted sum of the four values is the derivative with respect to theta_j.
    """
    stencil = []
    for steps, weight in _WEIGHTS.items():
        theta = np.array(kernel.theta, dtype=float)
        theta[j] += steps * _STEP
        shifted = kernel.clone_with_theta(theta)
        stencil.append((shifted, weight / (12 * _STEP)))
    return stencil


def whole_derivatives(kernel: Any, X: Array) -> Array:
    """Return derivatives of a Gram matrix, shape (n, n, p), from four matrices per parameter."""
    n_parameters = len(kernel.theta)
    derivatives = np.zeros((len(X), len(X), n_parameters))
    for j in range(n_parameters):
        for shifted, weight in _stencil(kernel, j):
            derivatives[:, :, j] += weight * shifted._gram(X, None)
    return derivatives


def outer_derivatives(kernel: Any, shape: tuple[int, int, int]) -> list[Derivative] | None:
    """Return the derivatives of phi for a kernel phi(<a(x), b(z)>), or None for another kernel.

    The lifts a and b of such kernels have no hyperparameters.
    """
    form = form_of(kernel, shape)
    if form is None:
        return None
    derivatives: list[Derivative] = []
    for j in range(len(kernel.theta)):
        forms = []
        for shifted, weight in _stencil(kernel, j):
            forms.append((form_of(shifted, shape), weight))
        derivatives.append(partial(_derivative, forms=forms, rate=form.rate))
    return derivatives


def _derivative(values: Array, forms: list[tuple[Any, float]], rate: float | None) -> Array:
    """Return the derivative of phi; may overwrite ``values``."""
    if rate is None:
        total = np.zeros_like(values)
        for form, weight in forms:
            total += weight * form.value(values.copy())
        return total
    # The derivative of exp(rate v) takes one exponential instead of four.
    slope = 0.0
    for form, weight in forms:
        slope += form.rate * weight
    values *= values.dtype.type(rate)
    derivative = np.exp(values)
    derivative *= values
    if abs(slope / rate - 1) > 1e-9:  # The slope is the rate itself if the rate is linear in gamma.
        derivative *= values.dtype.type(slope / rate)
    return derivative


def of_products(
    orbits: OrbitProducts, functions: Sequence[Derivative], *, symmetric: bool = True
) -> Array:
    """Return means of functions of the templates' inner products over the group, (n, n, p)."""
    n_templates = len(orbits.Z)
    if not functions:
        return np.empty((n_templates, n_templates, 0))
    reduction = WeightedMean(functions, raw=True)
    means = orbits.reduce(orbits.Z, reduction, symmetric=symmetric)
    return np.stack(means, axis=-1)
