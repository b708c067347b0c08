"""`Hyperkernel`: a Gaussian kernel of what another kernel embeds."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import Positive, check_parameters, stores_parameters
from ..groups import Transformations
from ..orbits import INNER, Form, form_of
from ..orbits.numerics import SINGLE_ERROR
from ..orbits.way import warn
from .base import BASE, Kernel, preserved, products

#: Relative error by cancellation that is told.
_LOST = 1e-3


@stores_parameters
class Hyperkernel(Kernel):
    r"""The Gaussian kernel between embedded points.

    With :math:`\mu` the feature map of the base kernel (of an orbit embedding, say),

    .. math:: k(x, z) = \exp\big(-\gamma \|\mu_x - \mu_z\|^2\big), \qquad
              \|\mu_x - \mu_z\|^2 = k_0(x, x) + k_0(z, z) - 2 k_0(x, z).

    It is what the second layer of Raj et al. 2017, section 4, approaches as its random templates
    grow in number. Invariant where the base kernel is.

    >>> from invariance.kernels import Gaussian, Hyperkernel
    >>> Hyperkernel(Gaussian(gamma=0.5), gamma=1.0)([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.4552]])
    """

    base: Annotated[Kernel, BASE]
    gamma: Annotated[float, Positive()] = 1.0

    def preserved_by(self, group: Transformations) -> bool:
        """Where the base kernel is."""
        return preserved(self.base, group)

    def of_gram(
        self, gram: NDArray[Any], left: NDArray[Any], right: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """From values of the base kernel, so that several gammas share one Gram matrix.

        ``gram`` (n, m) holds k_0(x_i, z_j), ``left`` (n,) and ``right`` (m,), or None for the same,
        k_0(x_i, x_i) and k_0(z_j, z_j).
        """
        check_parameters(self)
        error = self._error(gram, left, right)
        if error > _LOST:
            warn(
                f"Hyperkernel: the base kernel's values, up to {float(np.max(left)):.1e}, lose "
                f"digits in distances, and values are wrong by about {min(error, 1.0):.0e}: centre "
                "the points, or take a smaller gamma"
            )
        values = -2 * gram
        values += left[:, None]
        values += left if right is None else right
        np.maximum(values, 0, out=values)  # rounding may leave a small negative distance
        values *= -self.gamma
        return np.asarray(np.exp(values, out=values))

    def _gram(self, X: NDArray[Any], Y: NDArray[Any] | None) -> NDArray[Any]:
        form = form_of(self.base, (1, X.shape[1], 1))
        if form == INNER:  # embedded points are the points themselves
            rate = 2 * self.gamma
            straight = Form(distance=True, sensitivity=rate, rate=rate)
            return np.asarray(np.exp(rate * np.minimum(products(straight, X, Y), 0)))
        gram = self.base(X, Y)
        if Y is None:
            left = gram.diagonal()
            right = None
        else:
            left, right = (self.base.diag(A).astype(gram.dtype) for A in (X, Y))
        if gram.dtype == np.float32 and self._error(gram, left, right) > SINGLE_ERROR:
            wide = self._gram(X.astype(float), None if Y is None else Y.astype(float))
            return wide.astype(np.float32)
        return self.of_gram(gram, left, right)

    def _error(
        self, gram: NDArray[Any], left: NDArray[Any], right: NDArray[Any] | None = None
    ) -> float:
        """Relative error of values by cancellation, of arguments as of `of_gram`."""
        sets = [left] if right is None else [left, right]
        largest = max(float(np.max(values, initial=0.0)) for values in sets)
        return 4 * float(self.gamma) * largest * float(np.finfo(np.result_type(gram)).eps)

    def _diag(self, X: NDArray[Any]) -> NDArray[Any]:
        return np.ones(len(X), X.dtype)
