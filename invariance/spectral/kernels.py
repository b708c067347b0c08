"""Kernels of the manifolds here: von Mises on the torus, its sign average, and Sobolev kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..kernels import Kernel
from ..theory.soleymani2025 import alpha
from .base import Basis

__all__ = ["SignAveragedVonMises", "SobolevKernel", "VonMisesKernel"]


class VonMisesKernel(Kernel):
    r"""The von Mises kernel on the torus of side ``period`` (Soleymani et al. 2025, section 6),

    .. math:: k(x, y) = \exp\Big(\eta \sum_i \cos(\omega (x_i - y_i))\Big), \quad
              \omega = 2\pi / \text{period}.

    Since :math:`\cos(u - v) = \cos u \cos v + \sin u \sin v`, the exponent is one matrix product.

    Parameters
    ----------
    eta : float
        Inverse bandwidth.
    period : float
    normalise : bool
        Divide by k(x, x) = exp(eta d). The paper does not; its regularisation parameter is then
        larger by that factor.

    Examples
    --------
    >>> VonMisesKernel(eta=1.0)([[0.0]], [[0.0], [0.5], [2.0]]).round(4)
    array([[1.    , 0.3679, 1.    ]])
    """

    def __init__(self, eta: float = 1.0, period: float = 2.0, normalise: bool = True):
        self.eta = eta
        self.period = period
        self.normalise = normalise

    def _waves(self, X: NDArray) -> tuple[NDArray, NDArray]:
        if not self.eta > 0 or not self.period > 0:
            raise ValueError(
                f"eta and period must be positive, got eta={self.eta!r}, period={self.period!r}"
            )
        angles = (2 * np.pi / self.period) * X
        return np.cos(angles), np.sin(angles)

    def _offset(self, d: int) -> float:
        return self.eta * d if self.normalise else 0.0

    def _gram(self, X, Y):
        one = np.hstack(self._waves(X))
        two = one if Y is None else np.hstack(self._waves(Y))
        return np.exp(self.eta * (one @ two.T) - self._offset(X.shape[1]))

    def diag(self, X):
        d = np.shape(X)[1]
        return np.full(len(X), np.exp(self.eta * d - self._offset(d)))


class SignAveragedVonMises(VonMisesKernel):
    r"""`VonMisesKernel` averaged exactly over all 2^d sign flips, at cost d a pair.

    The average over a product group of a product kernel factorises,

    .. math:: \frac{1}{2^d} \sum_{g} k(g x, y)
              = \prod_i \tfrac12 \big(k_i(x_i - y_i) + k_i(x_i + y_i)\big)
              = \prod_i e^{\eta \cos u_i \cos v_i} \cosh(\eta \sin u_i \sin v_i),

    with u = omega x and v = omega y. No such shortcut exists for permutations.

    Examples
    --------
    >>> k = SignAveragedVonMises(eta=1.0)
    >>> bool(k([[0.2, 0.3]], [[0.1, 0.4]])[0, 0] == k([[-0.2, 0.3]], [[0.1, 0.4]])[0, 0])
    True
    """

    def _gram(self, X, Y):
        cosines, sines = self._waves(X)
        other_cosines, other_sines = (cosines, sines) if Y is None else self._waves(Y)
        gram = np.exp(self.eta * (cosines @ other_cosines.T) - self._offset(X.shape[1]))
        for u, v in zip(sines.T, other_sines.T, strict=True):
            gram *= np.cosh(self.eta * np.outer(u, v))
        return gram

    def diag(self, X):
        cosines, sines = self._waves(np.asarray(X, dtype=float))
        d = cosines.shape[1]
        exponent = self.eta * np.sum(cosines**2, axis=1) - self._offset(d)
        return np.exp(exponent) * np.prod(np.cosh(self.eta * sines**2), axis=1)


class SobolevKernel(Kernel):
    r"""Reproducing kernel of the Sobolev space H^s, truncated to the basis (section B.8),

    .. math:: K(x, y) = \sum_\lambda D_\lambda^{-\alpha} \sum_l \phi_{\lambda l}(x)
              \phi_{\lambda l}(y), \qquad \alpha = 2 s / d.

    Shift-invariant, K(gx, gy) = K(x, y) for every isometry g, but not invariant in each argument.

    Parameters
    ----------
    basis : Basis
        A truncated basis.
    smoothness : float
        Sobolev exponent s.

    Examples
    --------
    >>> from invariance.spectral import Circle
    >>> k = SobolevKernel(Circle(degree=50), smoothness=1.0)
    >>> bool(abs(k([[0.1]], [[0.4]]) - k([[1.1]], [[1.4]]))[0, 0] < 1e-12)
    True
    """

    def __init__(self, basis: Basis, smoothness: float = 1.0):
        self.basis = basis
        self.smoothness = smoothness

    def _features(self, X: NDArray) -> NDArray:
        exponent = alpha(self.smoothness, self.basis.manifold_dimension)
        counts = np.repeat(self.basis.counts_, self.basis.dimensions_).astype(float)
        scales = sparse.diags_array(counts ** (-exponent / 2))
        return self.basis.combine(X, scales)

    def _gram(self, X, Y):
        one = self._features(X)
        return one @ (one if Y is None else self._features(Y)).T

    def diag(self, X):
        return np.sum(self._features(np.asarray(X, dtype=float)) ** 2, axis=1)
