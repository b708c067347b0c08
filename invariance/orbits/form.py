"""`Form`: a kernel as an outer function of one inner product of lifted points.

A base kernel says so by a method ``inner_form(shape)``; `form_of` knows some of scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import kernels as sklearn_kernels

from ..core.arrays import like, on_host


def planes(images: NDArray[Any]) -> NDArray[Any]:
    """Images (n, height, width, channels) with their channels first."""
    return images.transpose(0, 3, 1, 2)


@dataclass(frozen=True)
class Form:
    """A kernel k(x, z) = phi(v) with v = <a(x), b(z)>."""

    #: phi: ``outer(values, xp)`` of an array of the namespace ``xp``, which it may overwrite where
    #: ``xp`` is NumPy. None is the identity.
    outer: Callable[[Any, Any], Any] | None = None
    #: Whether v is less half of both squared norms, v = -|x - z|^2 / 2.
    distance: bool = False
    turning_point: float | None = None  #: phi falls below this value and rises above it
    monotone: bool = True  #: False where phi turns elsewhere
    #: Relative error of the kernel for an error of one in a distance v. It says when single
    #: precision will do, and when distances far from the origin have to be computed with care.
    sensitivity: float = 0.0
    #: Squared distance over which the kernel varies, if ``sensitivity`` does not say it.
    reach: float | None = None
    #: Whether phi is a function of the distance itself, whose slope at v = 0 is infinite.
    rooted: bool = False
    rate: float | None = None  #: phi(v) = exp(rate v), where it is that
    n_channels: int | None = None  #: of lifted points; None: as many as the point has
    #: a and b: from images (n, height, width, channels) to (n, n_channels, height, width). b
    #: commutes with cyclic shifts; a is zero wherever a product would cross the frame's edge.
    first: Callable[[NDArray[Any]], NDArray[Any]] = planes
    second: Callable[[NDArray[Any]], NDArray[Any]] = planes

    @property
    def linear(self) -> bool:
        """Whether a and b are the identity: a linear map of z may then be transposed onto x."""
        return self.n_channels is None

    def value(self, v: Any, xp: Any = np) -> Any:
        """The kernel's values; `v` may be overwritten."""
        return v if self.outer is None else self.outer(v, xp)


#: Inner products themselves.
INNER = Form()


@singledispatch
def form_of(kernel: Any, shape: tuple[int, int, int]) -> Form | None:
    """A kernel's form for points of a shape (height, width, channels), None where it has none.

    >>> from sklearn.gaussian_process.kernels import RBF, DotProduct
    >>> form_of(RBF(2.0), (1, 3, 1)).distance, form_of(DotProduct(), (1, 3, 1)).distance
    (True, False)
    """
    own = getattr(kernel, "inner_form", None)
    form: Form | None = None if own is None else own(shape)
    return form


@form_of.register(sklearn_kernels.RBF)
@form_of.register(sklearn_kernels.Matern)
@form_of.register(sklearn_kernels.RationalQuadratic)
def _(kernel: Any, shape: tuple[int, int, int]) -> Form | None:
    if np.size(kernel.length_scale) > 1:
        return None
    outer = partial(_on_line, kernel=kernel, distance=True)
    reach = float(np.square(kernel.length_scale).max())
    rough = getattr(kernel, "nu", np.inf) < 1  # of Matern kernels
    return Form(outer, distance=True, sensitivity=np.inf, reach=reach, rooted=rough)


@form_of.register
def _(kernel: sklearn_kernels.DotProduct, shape: tuple[int, int, int]) -> Form:
    return Form(partial(_on_line, kernel=kernel, distance=False))


def _on_line(values: Any, xp: Any, kernel: Any, distance: bool) -> Any:
    """A kernel of scikit-learn as a function of v, read off on a line."""
    if xp is not np:
        return like(_on_line(on_host(values, type(kernel).__name__), np, kernel, distance), values)
    line = np.sqrt(np.maximum(-2 * values, 0)) if distance else values
    start = np.zeros((1, 1)) if distance else np.ones((1, 1))
    found = np.asarray(kernel(start, line.reshape(-1, 1))).reshape(values.shape)
    return found.astype(values.dtype, copy=False)
