"""Derivatives of Gram matrices with respect to the logarithms of hyperparameters.

The derivatives of a function of inner products are functions of inner products too. They are
differences of four values, with a relative error of about 1e-11, so no kernel has to define them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..orbits import Form, JointMeans, OrbitProducts, form_of

Array = NDArray[Any]
Function = Callable[[Array], list[Array]]

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


def outer_with_derivatives(kernel: Any, shape: tuple[int, int, int]) -> Function | None:
    """Return a function of v for phi and its p derivatives, or None for a kernel without phi.

    It returns 1 + p arrays and may overwrite its argument. The lifts a and b of a kernel
    phi(<a(x), b(z)>) have no hyperparameters.
    """
    form = form_of(kernel, shape)
    if form is None:
        return None
    stencils: list[list[tuple[Any, float]]] = []
    for j in range(len(kernel.theta)):
        stencil = [(form_of(shifted, shape), weight) for shifted, weight in _stencil(kernel, j)]
        stencils.append(stencil)
    if form.rate is None or len(stencils) != 1:
        return partial(_values_and_differences, form=form, stencils=stencils)
    slope = sum(float(shifted.rate) * weight for shifted, weight in stencils[0])
    return _ExponentialAndDerivative(form, slope)


def _values_and_differences(
    values: Array, form: Form, stencils: list[list[tuple[Any, float]]]
) -> list[Array]:
    """Return phi, and the weighted sum of its values for each stencil."""
    results = [form.value(values.copy())]
    for stencil in stencils:
        derivative = np.zeros_like(values)
        for shifted, weight in stencil:
            derivative += weight * shifted.value(values.copy())
        results.append(derivative)
    return results


@dataclass(frozen=True)
class _ExponentialAndDerivative:
    """exp(rate v) and its derivative, from one exponential.

    ``slope`` is the derivative of the rate with respect to theta.
    """

    form: Any
    slope: float

    def __call__(self, values: Array) -> list[Array]:
        if self.form.distance:
            np.minimum(values, 0, out=values)  # Rounding may leave squares below zero.
        values *= values.dtype.type(self.form.rate)
        return self.of_exponents(values)

    def of_exponents(self, exponents: Array) -> list[Array]:
        """The same functions of rate v."""
        exponentials = np.exp(exponents)
        exponents *= exponentials
        factor = self.slope / self.form.rate
        if abs(factor - 1) > 1e-9:  # The slope is the rate itself for a rate like 2 gamma.
            exponents *= exponents.dtype.type(factor)
        return [exponentials, exponents]


def gram_and_derivatives(
    orbits: OrbitProducts, functions: Function, n_parameters: int, *, symmetric: bool = True
) -> tuple[Array, Array]:
    """Return means over the group, for the templates: the Gram matrix and (n, n, p) derivatives.

    ``functions`` are those of `outer_with_derivatives`; they share one pass over the group.
    """
    of_exponents = getattr(functions, "of_exponents", None)
    reduction = JointMeans(functions, 1 + n_parameters, of_exponents=of_exponents)
    gram, *derivatives = orbits.reduce(orbits.Z, reduction, symmetric=symmetric)
    return gram, stacked(derivatives, len(gram))


def stacked(derivatives: list[Array], n: int) -> Array:
    """Return p derivatives of shape (n, n) as one array (n, n, p); p may be zero."""
    if not derivatives:
        return np.empty((n, n, 0))
    return np.stack(derivatives, axis=-1)
