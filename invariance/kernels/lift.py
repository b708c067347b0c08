"""`Lift`: kernels that are a function of one inner product of lifted points.

Polynomial and Gaussian kernels see two points through <x, z>; a quadratic locality kernel sees
them through the inner product of weighted products of pixels. In each case a maximum over
transformations is a maximum of inner products, and the outer function is applied once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .base import Gaussian, Kernel, Linear, Polynomial

__all__ = ["Lift", "lift_of"]


@dataclass(frozen=True)
class Lift:
    r"""A kernel written as :math:`k(x, z) = \phi_x(\langle a(x), b(z)\rangle - c(z))`.

    Attributes
    ----------
    n_channels : int
        Lifted points have shape (n_channels, height, width).
    first, second : callable
        a and b: from images (n, height, width, channels) to (n, n_channels, height, width).
        b commutes with cyclic shifts; a is zero wherever a product would cross the frame's edge.
    outer : callable
        ``outer(core, X)``: the kernel's values from the inner products and the first points.
    monotone : bool
        Whether `outer` increases with the core wherever it can lie.
    turning_point : float or None
        Where not monotone, `outer` falls below this core and rises above it.
    halved_norm : bool
        Whether c(z) = |z|^2 / 2 (Gaussian kernels), else zero.
    linear : bool
        Whether a and b are the identity and c is zero, so that a linear map of the second point
        may be transposed onto the first.
    """

    n_channels: int
    first: Callable[[NDArray], NDArray]
    second: Callable[[NDArray], NDArray]
    outer: Callable[[NDArray, NDArray], NDArray]
    monotone: bool = True
    turning_point: float | None = None
    halved_norm: bool = False
    linear: bool = False


def _planes(images: NDArray) -> NDArray:
    return np.moveaxis(images, -1, 1)


def lift_of(base: Kernel, n_channels: int = 1) -> Lift | None:
    """The lift of a kernel, or None where the kernel is no function of one inner product.

    Parameters
    ----------
    base : Kernel
    n_channels : int
        Channels of the images that the kernel will be evaluated on.
    """
    if type(base) is Linear:
        return Lift(n_channels, _planes, _planes, lambda core, X: core, linear=True)
    if type(base) is Polynomial and base.scale > 0:
        even = int(base.degree) % 2 == 0
        return Lift(
            n_channels,
            _planes,
            _planes,
            lambda core, X: base.of_inner_products(core),
            monotone=not even,
            turning_point=-base.constant / base.scale if even else None,
            linear=True,
        )
    if type(base) is Gaussian:

        def outer(core: NDArray, X: NDArray) -> NDArray:
            squared = np.einsum("nd,nd->n", X, X)[:, None] - 2 * core
            return base.of_squared_distances(np.maximum(squared, 0, out=squared))

        return Lift(n_channels, _planes, _planes, outer, halved_norm=True)
    return base.lift() if hasattr(base, "lift") else None
