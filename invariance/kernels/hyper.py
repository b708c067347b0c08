"""`Hyperkernel`: a Gaussian kernel of the points that another kernel embeds."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..core.messages import warn
from ..core.parameters import Positive, check_parameters, stores_parameters
from ..groups import Transformations
from ..orbits import INNER, Form, form_of
from ..orbits.numerics import SINGLE_ERROR
from .base import BASE, Kernel, preserved, products

Array = NDArray[Any]

#: Warn above this relative error by cancellation.
_WARN_ABOVE = 1e-3


@stores_parameters
class Hyperkernel(Kernel):
    r"""The Gaussian kernel between embedded points.

    With :math:`\mu` the feature map of the base kernel (of an orbit embedding, say),

    .. math:: k(x, z) = \exp\big(-\gamma \|\mu_x - \mu_z\|^2\big), \qquad
              \|\mu_x - \mu_z\|^2 = k_0(x, x) + k_0(z, z) - 2 k_0(x, z).

    It is the limit of the second layer of Raj et al. 2017, section 4, for many random templates. It
    is invariant if the base kernel is.

    >>> from invariance.kernels import Gaussian, Hyperkernel
    >>> Hyperkernel(Gaussian(gamma=0.5), gamma=1.0)([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.4552]])
    """

    base: Annotated[Kernel, BASE]
    gamma: Annotated[float, Positive()] = 1.0

    def preserved_by(self, group: Transformations) -> bool:
        """Whether the group preserves the base kernel."""
        return preserved(self.base, group)

    def of_gram(self, gram: Array, left: Array, right: Array | None = None) -> Array:
        """Return the kernel matrix from values of the base kernel.

        Several values of gamma can share one Gram matrix of the base kernel. ``gram``, of shape
        (n, m), holds k_0(x_i, z_j); ``left``, of shape (n,), holds k_0(x_i, x_i); and ``right``, of
        shape (m,), holds k_0(z_j, z_j), or is None if it equals ``left``.
        """
        check_parameters(self)
        error = self._error(gram, left, right)
        if error > _WARN_ABOVE:
            warn(
                f"Hyperkernel: the base kernel's values, up to {float(np.max(left)):.1e}, lose "
                f"digits in distances, and values are wrong by about {min(error, 1.0):.0e}: centre "
                "the points, or take a smaller gamma"
            )
        if right is None:
            right = left
        values = -2 * gram
        values += left[:, None]
        values += right
        np.maximum(values, 0, out=values)  # Rounding may leave a small negative distance.
        values *= -self.gamma
        return np.asarray(np.exp(values, out=values))

    def _gram(self, X: Array, Y: Array | None) -> Array:
        form = form_of(self.base, (1, X.shape[1], 1))
        if form == INNER:
            return self._gram_of_points(X, Y)
        gram = self.base(X, Y)
        right = None
        if Y is None:
            left = gram.diagonal()
        else:
            left = self.base.diag(X).astype(gram.dtype)
            right = self.base.diag(Y).astype(gram.dtype)
        if gram.dtype == np.float32 and self._error(gram, left, right) > SINGLE_ERROR:
            if Y is not None:
                Y = Y.astype(float)
            return self._gram(X.astype(float), Y).astype(np.float32)
        return self.of_gram(gram, left, right)

    def _gram_of_points(self, X: Array, Y: Array | None) -> Array:
        """Return the Gaussian kernel of the points, which a linear base kernel does not change."""
        rate = 2 * self.gamma
        form = Form(distance=True, sensitivity=rate, rate=rate)
        exponents = rate * np.minimum(products(form, X, Y), 0)
        return np.asarray(np.exp(exponents))

    def _error(self, gram: Array, left: Array, right: Array | None = None) -> float:
        """Return the relative error of values by cancellation; arguments as in `of_gram`."""
        largest = float(np.max(left, initial=0.0))
        if right is not None:
            largest = max(largest, float(np.max(right, initial=0.0)))
        return 4 * float(self.gamma) * largest * _rounding(self.base, gram.dtype)

    def _diag(self, X: Array) -> Array:
        return np.ones(len(X), X.dtype)


def _rounding(kernel: Kernel, dtype: DTypeLike) -> float:
    """Return the relative rounding error of a kernel's values, which it may state itself."""
    if hasattr(kernel, "rounding"):
        return float(kernel.rounding(dtype))
    return float(np.finfo(dtype).eps)
