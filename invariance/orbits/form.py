"""`Form`: a kernel as an outer function of one inner product of lifted points.

A base kernel declares its form by a method ``inner_form(shape)``. `form_of` also returns the forms
of some kernels of scikit-learn. `array_gram` evaluates kernels of other libraries' arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import kernels as sklearn_kernels

from ..core.arrays import like, on_host

ArrayGram: TypeAlias = Callable[[Any, Any, Any], Any]


@dataclass(frozen=True)
class Form:
    """A kernel k(x, z) = phi(v) with v = <a(x), b(z)>."""

    #: phi: ``outer(values, xp)`` of an array of the namespace ``xp``, which it may overwrite if
    #: ``xp`` is NumPy. None is the identity.
    outer: Callable[[Any, Any], Any] | None = None
    #: Whether half of both squared norms is subtracted from v, so that v = -|x - z|^2 / 2.
    distance: bool = False
    #: phi falls below this value and rises above it.
    turning_point: float | None = None
    #: False if phi changes its direction elsewhere.
    monotone: bool = True
    #: Relative error of the kernel for an error of one in a distance v. It decides whether single
    #: precision is enough, and whether points far from the origin need care.
    sensitivity: float = 0.0
    #: Squared distance over which the kernel varies, if ``sensitivity`` is not known.
    reach: float | None = None
    #: Whether phi is a function of the distance itself, whose slope at v = 0 is infinite.
    rooted: bool = False
    #: The rate of an exponential phi(v) = exp(rate v), otherwise None.
    rate: float | None = None
    #: Number of channels of lifted points; None if points are not lifted.
    n_channels: int | None = None
    #: a and b: from images (n, height, width, channels) to (n, n_channels, height, width). b
    #: commutes with cyclic shifts; a is zero wherever a product would cross the frame's edge.
    #: None moves the channels in front, and nothing else.
    first: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    second: Callable[[NDArray[Any]], NDArray[Any]] | None = None

    @property
    def linear(self) -> bool:
        """Whether a and b are the identity: a linear map of z may then be transposed onto x."""
        return self.n_channels is None

    def value(self, v: Any, xp: Any = np) -> Any:
        """The kernel's values; `v` may be overwritten."""
        if self.outer is None:
            return v
        return self.outer(v, xp)


#: Inner products themselves.
INNER = Form()


@singledispatch
def form_of(kernel: Any, shape: tuple[int, int, int]) -> Form | None:
    """Return the form of a kernel for points (height, width, channels), or None if it has no form.

    A subclass of a kernel of scikit-learn with its own ``__call__`` has none.

    >>> from sklearn.gaussian_process.kernels import RBF, DotProduct
    >>> form_of(RBF(2.0), (1, 3, 1)).distance, form_of(DotProduct(), (1, 3, 1)).distance
    (True, False)
    """
    inner_form = getattr(kernel, "inner_form", None)
    if inner_form is None:
        return None
    form: Form | None = inner_form(shape)
    return form


def _calls_like(kernel: Any, *classes: type) -> bool:
    """Whether a kernel's values are those of one of these classes, not of a subclass's own."""
    call = type(kernel).__call__
    return any(call is cls.__call__ for cls in classes)


_RADIAL = (sklearn_kernels.RBF, sklearn_kernels.Matern, sklearn_kernels.RationalQuadratic)


@form_of.register(sklearn_kernels.RBF)
@form_of.register(sklearn_kernels.Matern)
@form_of.register(sklearn_kernels.RationalQuadratic)
def _(kernel: Any, shape: tuple[int, int, int]) -> Form | None:
    if not _calls_like(kernel, *_RADIAL) or np.size(kernel.length_scale) > 1:
        return None
    outer = partial(_on_line, kernel=kernel, distance=True)
    reach = float(np.square(kernel.length_scale).max())
    # Matern kernels with a small nu have an infinite slope at distance zero.
    rooted = getattr(kernel, "nu", np.inf) < 1
    return Form(outer, distance=True, sensitivity=np.inf, reach=reach, rooted=rooted)


@form_of.register
def _(kernel: sklearn_kernels.DotProduct, shape: tuple[int, int, int]) -> Form | None:
    if not _calls_like(kernel, sklearn_kernels.DotProduct):
        return None
    return Form(partial(_on_line, kernel=kernel, distance=False))


def _on_line(values: Any, xp: Any, kernel: Any, distance: bool) -> Any:
    """Evaluate a kernel of scikit-learn as a function of v, at points on a line."""
    if xp is not np:
        host_values = on_host(values, type(kernel).__name__)
        return like(_on_line(host_values, np, kernel, distance), values)
    if distance:
        origin = np.zeros((1, 1))
        line = np.sqrt(np.maximum(-2 * values, 0))
    else:
        origin = np.ones((1, 1))
        line = values
    kernel_values = np.asarray(kernel(origin, line.reshape(-1, 1)))
    return kernel_values.reshape(values.shape).astype(values.dtype, copy=False)


@singledispatch
def array_gram(kernel: Any) -> ArrayGram | None:
    """Return a function (xp, X, Y) for a kernel's matrix in the library of X and Y, or None.

    Sums, products and powers of kernels have one if all their parts have one, unless they are of a
    subclass with its own ``__call__``.
    """
    function: ArrayGram | None = getattr(kernel, "_gram_arrays", None)
    return function


@array_gram.register
def _(kernel: sklearn_kernels.ConstantKernel) -> ArrayGram | None:
    if not _calls_like(kernel, sklearn_kernels.ConstantKernel):
        return None

    def constant(xp: Any, X: Any, Y: Any) -> Any:
        # Zero times the points keeps their type and device.
        zeros = 0 * X[:, :1] + 0 * Y[:, :1].T
        return zeros + float(kernel.constant_value)

    return constant


@array_gram.register(sklearn_kernels.Sum)
@array_gram.register(sklearn_kernels.Product)
def _(kernel: Any) -> ArrayGram | None:
    if not _calls_like(kernel, sklearn_kernels.Sum, sklearn_kernels.Product):
        return None
    first = array_gram(kernel.k1)
    second = array_gram(kernel.k2)
    if first is None or second is None:
        return None
    combine = operator.add if isinstance(kernel, sklearn_kernels.Sum) else operator.mul

    def combined(xp: Any, X: Any, Y: Any) -> Any:
        return combine(first(xp, X, Y), second(xp, X, Y))

    return combined


@array_gram.register
def _(kernel: sklearn_kernels.Exponentiation) -> ArrayGram | None:
    if not _calls_like(kernel, sklearn_kernels.Exponentiation):
        return None
    function = array_gram(kernel.kernel)
    if function is None:
        return None

    def power(xp: Any, X: Any, Y: Any) -> Any:
        return function(xp, X, Y) ** kernel.exponent

    return power
