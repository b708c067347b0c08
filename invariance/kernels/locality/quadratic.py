"""A quadratic first layer as one inner product of pixel products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...orbits import Form
from .powers import power
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
    linear = 2 / alpha * weights[0]

    def first(images: NDArray[Any]) -> NDArray[Any]:
        n, height, width, channels = images.shape
        lifted = np.empty((n, channels, len(offsets) + 1, height, width), images.dtype)
        for c in range(channels):
            plane = np.ascontiguousarray(images[..., c])
            lifted[:, c, 0] = linear * plane
            for k, (i, j) in enumerate(offsets):
                moved = np.roll(plane, (-i, -j), axis=(1, 2))
                np.multiply(plane, moved, out=moved)
                lifted[:, c, k + 1] = weights[k].astype(images.dtype) * moved
        return lifted.reshape(n, -1, height, width)

    def second(images: NDArray[Any]) -> NDArray[Any]:
        n, height, width, channels = images.shape
        lifted = np.empty((n, channels, len(offsets) + 1, height, width), images.dtype)
        for c in range(channels):
            plane = np.ascontiguousarray(images[..., c])
            lifted[:, c, 0] = plane
            for k, (i, j) in enumerate(offsets):
                np.multiply(plane, np.roll(plane, (-i, -j), axis=(1, 2)), out=lifted[:, c, k + 1])
        return lifted.reshape(n, -1, height, width)

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
