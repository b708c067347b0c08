"""A quadratic first layer as one inner product of pixel products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...orbits import Form
from ..base import power
from .windows import Settings

__all__ = ["quadratic_form"]


def quadratic_form(
    matrices: list[NDArray[Any]],
    settings: Settings,
    n_channels: int,
    gammas: list[float],
    degree: int,
) -> Form:
    r"""The locality kernel of two layers with :math:`d_1 = 2`, as a function of one inner product.

    The sum over windows is, up to a constant,

    .. math:: \sum_w \langle x_w, z_w \rangle^2 = \sum_\delta \sum_p
              k(p, p + \delta)\, x_p x_{p + \delta} \; z_p z_{p + \delta},

    where k counts the windows that hold both pixels; padding, stride and the frame's edge
    enter through k alone, on the first argument. The linear term is weighted alike.

    Parameters
    ----------
    matrices : two arrays of shape (windows, pixels)
        From `memberships`, of the vertical and the horizontal axis.
    settings : Settings
        Of the same layer.
    n_channels : int
    gammas : list of two floats
        alpha and beta.
    degree : int
        The power of the sum over windows.
    """
    vertical, horizontal = matrices
    alpha, beta = gammas
    n_windows = len(vertical) * len(horizontal) * n_channels
    reach = [side - 1 for side, _, _ in settings]
    # The offsets delta and -delta contribute alike: one of each pair, counted twice.
    offsets = [
        (i, j)
        for i in range(reach[0] + 1)
        for j in range(-reach[1], reach[1] + 1)
        if (i, j) >= (0, 0)
    ]
    shared = [m.T @ m for m in (vertical, horizontal)]
    weights = np.stack([np.outer(_offset(shared[0], i), _offset(shared[1], j)) for i, j in offsets])
    alive = np.asarray(weights.any(axis=(1, 2)))
    offsets = [o for o, keep in zip(offsets, alive, strict=True) if keep]
    weights = weights[alive] * alpha**2
    weights[1:] *= 2
    factors = np.concatenate([2 / alpha * weights[:1], weights])

    def products(images: NDArray[Any], mode: Any) -> NDArray[Any]:
        """Pixels, then products with those at each offset, in the frame or around its edges."""
        n, height, width, channels = images.shape
        lifted = np.empty((n, channels, len(offsets) + 1, height, width), images.dtype)
        planes = np.ascontiguousarray(np.moveaxis(images, 3, 1))
        lifted[:, :, 0] = planes
        beyond = np.pad(planes, ((0, 0), (0, 0), (0, reach[0]), (reach[1], reach[1])), mode)
        for k, (i, j) in enumerate(offsets):
            moved = beyond[:, :, i : i + height, j + reach[1] : j + reach[1] + width]
            np.multiply(planes, moved, out=lifted[:, :, k + 1])
        return lifted

    def first(images: NDArray[Any]) -> NDArray[Any]:
        lifted = products(images, "constant")
        lifted *= factors.astype(images.dtype)
        return lifted.reshape(len(images), -1, *images.shape[1:3])

    def second(images: NDArray[Any]) -> NDArray[Any]:
        lifted = products(images, "wrap")
        return lifted.reshape(len(images), -1, *images.shape[1:3])

    def outer(values: Any, xp: Any) -> Any:
        return power(1 + beta * (n_windows + values), degree)

    return Form(outer, n_channels=n_channels * (len(offsets) + 1), first=first, second=second)


def _offset(matrix: NDArray[Any], offset: int) -> NDArray[Any]:
    """``matrix[p, p + offset]`` for every p, zero where p + offset leaves the frame."""
    entries = np.zeros(len(matrix))
    diagonal = np.diagonal(matrix, offset)
    start = max(0, -offset)
    entries[start : start + len(diagonal)] = diagonal
    return entries
