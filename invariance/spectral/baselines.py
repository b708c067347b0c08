"""Kernels of the manifolds, with which spectral averaging is compared."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from ..core import parameters as kinds
from ..core.parameters import ParameterError, stores_parameters
from ..groups import SignFlips, Transformations
from ..kernels import Kernel
from ..kernels.base import BOUNDS, BOUNDS_KIND
from ..theory.soleymani2025 import alpha
from .base import BASIS, Basis
from .torus import without_far_turns


@stores_parameters
class VonMisesKernel(Kernel):
    r"""The von Mises kernel on the torus of side ``period`` (Soleymani et al. 2025, section 6),

    .. math:: k(x, y) = \exp\Big(\eta \sum_i \cos(\omega (x_i - y_i))\Big), \quad
              \omega = 2\pi / \text{period}.

    Since :math:`\cos(u - v) = \cos u \cos v + \sin u \sin v`, the exponent is one matrix product.

    Parameters
    ----------
    eta : float
        Inverse bandwidth; a Gaussian process tunes it within ``eta_bounds``, unless "fixed".
    period : float
    normalize : bool
        Divide by k(x, x) = exp(eta d). The paper does not; its regularisation parameter is then
        larger by that factor.

    Examples
    --------
    >>> VonMisesKernel(eta=1.0)([[0.0]], [[0.0], [0.5], [2.0]]).round(4)
    array([[1.    , 0.3679, 1.    ]])
    """

    eta: Annotated[float, kinds.Number(above=0, most=1e10)] = 1.0
    period: Annotated[float, kinds.Number(1e-100, 1e100)] = 2.0
    _: KW_ONLY
    normalize: Annotated[bool, kinds.Flag()] = True
    eta_bounds: Annotated[Any, BOUNDS_KIND] = BOUNDS
    _tuned = ("eta",)

    def preserved_by(self, group: Transformations) -> bool:
        """Whether the group only permutes coordinates and changes signs: cosines allow both."""
        return group.preserves_l1

    def _waves(self, X: NDArray) -> tuple[NDArray, NDArray]:
        angles = (2 * np.pi / self.period) * without_far_turns(X, self.period)
        return np.cos(angles), np.sin(angles)

    def _offset(self, d: int) -> float:
        if not self.normalize:
            return 0.0
        return float(self.eta) * d

    def _gram(self, X: NDArray, Y: NDArray | None) -> NDArray:
        X_waves = np.hstack(self._waves(X))
        Y_waves = X_waves if Y is None else np.hstack(self._waves(Y))
        return np.exp(self.eta * (X_waves @ Y_waves.T) - self._offset(X.shape[1]))

    def _slope(self, X: NDArray) -> NDArray:
        """Derivative of the exponent's logarithm, without normalisation, in eta."""
        waves = np.hstack(self._waves(X))
        return waves @ waves.T

    def _gradient(self, X: NDArray) -> NDArray:
        slope = self.eta * self._slope(X) - self._offset(X.shape[1])
        derivative = self._gram(X, None) * slope
        return derivative[:, :, None][:, :, : len(self.theta)]

    def _diag(self, X: NDArray) -> NDArray:
        d = X.shape[1]
        return np.full(len(X), np.exp(self.eta * d - self._offset(d)))


class SignAveragedVonMises(VonMisesKernel):
    r"""`VonMisesKernel` averaged exactly over all 2^d sign flips, at cost d per pair.

    The average over a product group of a product kernel factorises,

    .. math:: \frac{1}{2^d} \sum_{g} k(g x, y)
              = \prod_i \tfrac12 \big(k_i(x_i - y_i) + k_i(x_i + y_i)\big)
              = \prod_i e^{\eta \cos u_i \cos v_i} \cosh(\eta \sin u_i \sin v_i),

    with u = omega x and v = omega y. No such shortcut exists for permutations.

    >>> k = SignAveragedVonMises(eta=1.0)
    >>> bool(k([[0.2, 0.3]], [[0.1, 0.4]])[0, 0] == k([[-0.2, 0.3]], [[0.1, 0.4]])[0, 0])
    True
    """

    def _gram(self, X: NDArray, Y: NDArray | None) -> NDArray:
        cosines, sines = self._waves(X)
        Y_cosines = cosines
        Y_sines = sines
        if Y is not None:
            Y_cosines, Y_sines = self._waves(Y)
        # Sign changes keep the cosines and act on the sines as on any vectors.
        flips = SignFlips(X.shape[1])
        exponents = flips.log_mean_exponential(self.eta * sines, Y_sines)
        exponents += self.eta * (cosines @ Y_cosines.T) - self._offset(X.shape[1])
        return np.asarray(np.exp(exponents, out=exponents))

    def _slope(self, X: NDArray) -> NDArray:
        cosines, sines = self._waves(X)
        slope = cosines @ cosines.T
        for column in sines.T:
            products = np.outer(column, column)
            slope += products * np.tanh(self.eta * products)
        return slope

    def _diag(self, X: NDArray) -> NDArray:
        cosines, sines = self._waves(X)
        squares = self.eta * sines**2
        cosh = np.logaddexp(squares, -squares) - np.log(2)
        exponents = self.eta * cosines**2 + cosh
        return np.asarray(np.exp(exponents.sum(axis=1) - self._offset(X.shape[1])))


@stores_parameters
class SobolevKernel(Kernel):
    r"""Reproducing kernel of the Sobolev space H^s, truncated to the basis (section B.8),

    .. math:: K(x, y) = \sum_\lambda D_\lambda^{-\alpha} \sum_l \phi_{\lambda l}(x)
              \phi_{\lambda l}(y), \qquad \alpha = 2 s / d.

    It is isotropic, K(gx, gy) = K(x, y) for every isometry g.

    Parameters
    ----------
    basis : Basis
        A truncated basis.
    smoothness : float
        Sobolev exponent s; a Gaussian process tunes it within ``smoothness_bounds``, unless
        "fixed".

    Examples
    --------
    >>> from invariance.spectral import Circle
    >>> k = SobolevKernel(Circle(degree=50), smoothness=1.0)
    >>> bool(abs(k([[0.1]], [[0.4]]) - k([[1.1]], [[1.4]]))[0, 0] < 1e-12)
    True
    """

    basis: Annotated[Basis, BASIS]
    smoothness: Annotated[float, kinds.Positive()] = 1.0
    _: KW_ONLY
    smoothness_bounds: Annotated[Any, BOUNDS_KIND] = BOUNDS
    _tuned = ("smoothness",)

    def preserved_by(self, group: Transformations) -> bool:
        """Whether the group's generators are isometries of the manifold."""
        if not hasattr(group, "generators"):
            return False
        try:
            self.basis.isometries(group, group.generators())
        except ParameterError:
            return False
        return True

    def _features(self, X: NDArray) -> tuple[NDArray, NDArray]:
        """Values of the functions, shape (n, r), and the weight of each in the kernel."""
        basis = self.basis
        exponent = alpha(self.smoothness, basis.manifold_dimension)
        weights = basis.counts_.astype(float) ** -exponent
        return basis.evaluate(X), np.repeat(weights, basis.dimensions_)

    def _gram(self, X: NDArray, Y: NDArray | None) -> NDArray:
        values, weights = self._features(X)
        roots = np.sqrt(weights)
        values *= roots
        if Y is None:
            return np.asarray(values @ values.T, dtype=X.dtype)
        Y_values, _ = self._features(Y)
        Y_values *= roots
        return np.asarray(values @ Y_values.T, dtype=np.result_type(X, Y))

    def _gradient(self, X: NDArray) -> NDArray:
        values, weights = self._features(X)
        # D^(-alpha) is D to a multiple of s: its derivative in log s is D^(-alpha) log D^(-alpha).
        slopes = np.log(weights, out=np.zeros_like(weights), where=weights > 0) * weights
        derivative = (values * slopes) @ values.T
        return derivative[:, :, None][:, :, : len(self.theta)]

    def _diag(self, X: NDArray) -> NDArray:
        values, weights = self._features(X)
        return np.asarray(values**2 @ weights)
