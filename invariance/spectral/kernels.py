"""Kernels of the manifolds here: von Mises on the torus, and kernels from a manifold's spectrum."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..groups import SignFlips, Transformations
from ..kernels import Kernel
from ..core.parameters import Flag, Number, Positive, check_parameters, stores_parameters
from ..theory.soleymani2025 import alpha
from .base import BASIS, GROUP, Basis
from .projection import invariant_subspace

__all__ = [
    "HeatKernel",
    "MaternKernel",
    "SignAveragedVonMises",
    "SobolevKernel",
    "SpectralKernel",
    "VonMisesKernel",
]


@stores_parameters
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

    eta: Annotated[float, Number(above=0, most=1e10)] = 1.0
    period: Annotated[float, Number(1e-100, 1e100)] = 2.0
    _: KW_ONLY
    normalise: Annotated[bool, Flag()] = True

    def _waves(self, X: NDArray) -> tuple[NDArray, NDArray]:
        check_parameters(self)
        angles = (2 * np.pi / self.period) * X
        return np.cos(angles), np.sin(angles)

    def _offset(self, d: int) -> float:
        return self.eta * d if self.normalise else 0.0

    def _gram(self, X: NDArray, Y: NDArray | None) -> NDArray:
        one = np.hstack(self._waves(X))
        two = one if Y is None else np.hstack(self._waves(Y))
        return np.exp(self.eta * (one @ two.T) - self._offset(X.shape[1]))

    def _diag(self, X: NDArray) -> NDArray:
        check_parameters(self)
        d = X.shape[1]
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

    def _gram(self, X: NDArray, Y: NDArray | None) -> NDArray:
        cosines, sines = self._waves(X)
        other_cosines, other_sines = (cosines, sines) if Y is None else self._waves(Y)
        # Sign changes leave the cosines alone and act on the sines as on any vectors.
        flips = SignFlips(X.shape[1])
        exponents = flips.log_mean_exponential(self.eta * sines, other_sines)
        exponents += self.eta * (cosines @ other_cosines.T) - self._offset(X.shape[1])
        return np.asarray(np.exp(exponents, out=exponents))

    def _diag(self, X: NDArray) -> NDArray:
        cosines, sines = self._waves(X)
        squares = self.eta * sines**2
        cosh = np.logaddexp(squares, -squares) - np.log(2)
        exponents = self.eta * cosines**2 + cosh
        return np.asarray(np.exp(exponents.sum(axis=1) - self._offset(X.shape[1])))


@stores_parameters
class SpectralKernel(Kernel):
    r"""Base of kernels that weigh a manifold's eigenspaces, truncated to the basis,

    .. math:: K(x, y) = \sum_\lambda s(\lambda) \sum_l \phi_{\lambda l}(x) \phi_{\lambda l}(y).

    They are isotropic, K(gx, gy) = K(x, y) for every isometry g. With a ``group`` the inner sum
    runs over an orthonormal basis of the invariant functions: that is the kernel averaged over the
    group, exactly, and is invariant in each argument.
    """

    basis: Annotated[Basis, BASIS]
    _: KW_ONLY
    group: Annotated[Transformations | None, GROUP | None] = None

    @abstractmethod
    def _spectrum(self) -> NDArray:
        """s at each kept eigenspace, shape (K,)."""

    def _features(self, X: NDArray) -> NDArray:
        check_parameters(self)
        basis = self.basis
        scales = np.sqrt(self._spectrum())
        if self.group is None and not len(basis.exchanges()[0]):
            return basis.combine(X, sparse.diags_array(np.repeat(scales, basis.dimensions_)))
        spaces = invariant_subspace(basis, self.group)
        scaled = [s * vectors for s, vectors in zip(scales, spaces, strict=True)]
        return basis.combine(X, sparse.block_diag(scaled, format="csr"))

    def _gram(self, X: NDArray, Y: NDArray | None) -> NDArray:
        one = self._features(X)
        return np.asarray(one @ (one if Y is None else self._features(Y)).T)

    def _diag(self, X: NDArray) -> NDArray:
        return np.asarray(np.sum(self._features(X) ** 2, axis=1))


@stores_parameters
class SobolevKernel(SpectralKernel):
    r"""Reproducing kernel of the Sobolev space H^s, truncated to the basis (section B.8),

    .. math:: K(x, y) = \sum_\lambda D_\lambda^{-\alpha} \sum_l \phi_{\lambda l}(x)
              \phi_{\lambda l}(y), \qquad \alpha = 2 s / d.

    Parameters
    ----------
    basis : Basis
        A truncated basis.
    smoothness : float
        Sobolev exponent s.
    group : FiniteGroup or continuous group, optional
        Average the kernel over this group, exactly.

    Examples
    --------
    >>> from invariance.spectral import Circle
    >>> k = SobolevKernel(Circle(degree=50), smoothness=1.0)
    >>> bool(abs(k([[0.1]], [[0.4]]) - k([[1.1]], [[1.4]]))[0, 0] < 1e-12)
    True
    """

    smoothness: Annotated[float, Positive()] = 1.0

    def _spectrum(self) -> NDArray:
        exponent = alpha(self.smoothness, self.basis.manifold_dimension)
        return np.asarray(self.basis.counts_.astype(float) ** -exponent)


@stores_parameters
class HeatKernel(SpectralKernel):
    r"""The heat kernel, a manifold's Gaussian: :math:`s(\lambda) \propto
    e^{-\ell^2 \lambda / 2}`.

    Scaled so that the mean of K(x, x) over the manifold is one (without a group).

    Parameters
    ----------
    basis : Basis
        A truncated basis; what lies beyond it is left out.
    length_scale : float
        l, in units of the manifold: at short distances the kernel is exp(-distance^2 / (2 l^2)).
    group : FiniteGroup or continuous group, optional
        Average the kernel over this group, exactly.

    Examples
    --------
    >>> from invariance.spectral import Circle
    >>> k = HeatKernel(Circle(degree=60), length_scale=0.1)
    >>> k([[0.0]], [[0.0], [0.1], [0.2]]).round(4)          # exp(-1/2), exp(-2)
    array([[1.    , 0.6065, 0.1353]])
    """

    length_scale: Annotated[float, Number(above=0, most=1e100)] = 0.5

    def _spectrum(self) -> NDArray:
        values = np.exp(-(self.length_scale**2) * self.basis.eigenvalues_ / 2)
        return np.asarray(values / (self.basis.dimensions_ @ values))


@stores_parameters
class MaternKernel(SpectralKernel):
    r"""The Matern kernel of a manifold of dimension d (Borovitskiy et al. 2020),

    .. math:: s(\lambda) \propto \Big(\frac{2 \nu}{\ell^2} + \lambda\Big)^{-\nu - d/2}.

    Scaled so that the mean of K(x, x) over the manifold is one (without a group).

    Parameters
    ----------
    basis : Basis
        A truncated basis; what lies beyond it is left out.
    length_scale : float
    nu : float
        Smoothness; `HeatKernel` is the limit of large nu.
    group : FiniteGroup or continuous group, optional
        Average the kernel over this group, exactly.

    Examples
    --------
    >>> from invariance.groups import Rotations3D
    >>> from invariance.spectral import Product, Sphere
    >>> pairs = Product([Sphere(3)] * 2, degree=12)
    >>> k = MaternKernel(pairs, length_scale=1.0, nu=1.5, group=Rotations3D())
    >>> x, turned = [[0.0, 0, 1, 1, 0, 0]], [[1.0, 0, 0, 0, 1, 0]]
    >>> bool(abs(k(x, x) - k(turned, x))[0, 0] < 1e-12)
    True
    """

    length_scale: Annotated[float, Number(above=0, most=1e100)] = 0.5
    _: KW_ONLY
    nu: Annotated[float, Positive()] = 2.5

    def _spectrum(self) -> NDArray:
        power = -self.nu - self.basis.manifold_dimension / 2
        # Relative to the constant function's, which keeps large nu from overflowing.
        relative = 1 + self.basis.eigenvalues_ * self.length_scale**2 / (2 * self.nu)
        values = relative**power
        return np.asarray(values / (self.basis.dimensions_ @ values))
