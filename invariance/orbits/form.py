"""`Form`: a kernel as an outer function of one inner product of lifted points.

Polynomial and Gaussian kernels see two points through <x, z>; a quadratic locality kernel sees
them through the inner product of weighted products of pixels. A base kernel says so by a method
``inner_form(shape)``, which takes the shape (height, width, channels) of a point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["INNER", "Form", "planes"]


def planes(images: NDArray[Any]) -> NDArray[Any]:
    """Images (n, height, width, channels) with their channels first."""
    return np.moveaxis(images, -1, 1)


@dataclass(frozen=True)
class Form:
    r"""A kernel written as :math:`k(x, z) = \phi(v)` with :math:`v = \langle a(x), b(z) \rangle`.

    Attributes
    ----------
    outer : callable or None
        phi: ``outer(values, xp)`` of an array of the namespace ``xp``, which it may overwrite
        where ``xp`` is NumPy. None is the identity.
    distance : bool
        Whether v is less half of both squared norms, :math:`v = -\lVert x - z \rVert^2 / 2`.
    turning_point : float or None
        phi falls below this value and rises above it; None if it rises everywhere.
    sensitivity : float
        Relative error of the kernel for an error of one in v, where `distance`: says when single
        precision will not do.
    rate : float or None
        phi(v) = exp(rate v), where it is that.
    n_channels : int or None
        Lifted points have shape (n_channels, height, width); None: as many as the point has.
    first, second : callable
        a and b: from images (n, height, width, channels) to (n, n_channels, height, width).
        b commutes with cyclic shifts; a is zero wherever a product would cross the frame's edge.
    linear : bool
        Whether a and b are the identity, so that a linear map of the second point may be transposed
        onto the first.
    """

    outer: Callable[[Any, Any], Any] | None = None
    distance: bool = False
    turning_point: float | None = None
    sensitivity: float = 0.0
    rate: float | None = None
    n_channels: int | None = None
    first: Callable[[NDArray[Any]], NDArray[Any]] = planes
    second: Callable[[NDArray[Any]], NDArray[Any]] = planes

    @property
    def linear(self) -> bool:
        return self.n_channels is None

    def value(self, v: Any, xp: Any = np) -> Any:
        """The kernel's values; `v` may be overwritten."""
        return v if self.outer is None else self.outer(v, xp)


#: Inner products themselves.
INNER = Form()
