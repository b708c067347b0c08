r"""Bounds and rates of Soleymani, Tahmasebi, Jegelka and Jaillet 2025.

*Learning with Exact Invariances in Polynomial Time.* Throughout, d is the manifold's dimension, s
the Sobolev exponent, :math:`\alpha = 2s/d`, n the number of samples, D that of eigenfunctions kept
and :math:`f_\lambda` the part of f in an eigenspace, in a basis orthonormal for the uniform
probability measure.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from . import Numbers, in_floats


@in_floats
def alpha(s: float, d: int) -> float:
    r"""Exponent :math:`\alpha = 2s/d`; the theorem needs it above 1.

    >>> alpha(3.0, 2)
    3.0
    """
    return float(2 * s / d)


@in_floats
def cutoff(n: float, s: float, *, d: int) -> float:
    r"""Number of eigenfunctions kept, :math:`D = n^{1/(1+\alpha)}` (algorithm 1).

    >>> round(cutoff(1000, s=1.0, d=1), 6)
    10.0
    """
    return float(n ** (1 / (1 + alpha(s, d))))


@in_floats
def risk_exponent(s: float, d: int) -> float:
    r"""Exponent of n in the excess risk, :math:`-s / (s + d/2)` (theorem 1).

    >>> risk_exponent(2.0, 2)
    -0.6666666666666666
    """
    return float(-s / (s + d / 2))


@in_floats
def estimation_error(n: int, D: float, *, noise: float, sup_norm: float) -> float:
    r"""Variance term :math:`(D/n)(\sigma^2 + |f^\star|_\infty^2)`, ``noise`` sigma (eq. 42)."""
    return float(D / n * (noise**2 + sup_norm**2))


@in_floats
def approximation_error(D: float, s: float, *, d: int, sobolev: float) -> float:
    r"""Bias term :math:`D^{-\alpha} |f^\star|_{H^s}^2` (eq. 29)."""
    return float(D ** -alpha(s, d) * sobolev**2)


@in_floats
def risk_bound(
    n: int, D: float, *, s: float, d: int, noise: float, sup_norm: float, sobolev: float
) -> float:
    r"""Bound on the excess risk of Spec-Avg at cutoff D (eq. 43),

    .. math:: R \le \frac{D}{n}(\sigma^2 + |f^\star|_\infty^2) + D^{-\alpha} |f^\star|_{H^s}^2.

    >>> risk_bound(n=100, D=10, s=1.0, d=1, noise=0.0, sup_norm=1.0, sobolev=1.0)
    0.11
    """
    variance = estimation_error(n, D, noise=noise, sup_norm=sup_norm)
    return variance + approximation_error(D, s, d=d, sobolev=sobolev)


@in_floats
def sobolev_norm(coefficients: Numbers, counts: Numbers, *, s: float, d: int) -> float:
    r"""Norm with :math:`|f|_{H^s}^2 = \sum_\lambda D_\lambda^\alpha |f_\lambda|^2` (def. B.18).

    ``counts`` holds D_lambda of each coefficient's eigenspace.
    """
    weights = np.asarray(counts) ** alpha(s, d)
    floats = 1.0 * np.asarray(coefficients)  # squares of integers may wrap
    square = np.dot(weights, np.square(floats))
    return float(np.sqrt(square))


@in_floats
def dirichlet_energy(coefficients: Numbers, eigenvalues: Numbers) -> float:
    r"""Energy :math:`\int |\nabla f|^2 = \sum_\lambda \lambda |f_\lambda|^2` (lemma B.15).

    >>> dirichlet_energy([1.0, 2.0], [0.0, 3.0])
    12.0
    """
    floats = 1.0 * np.asarray(coefficients)  # squares of integers may wrap
    return float(np.dot(eigenvalues, np.square(floats)))


@in_floats
def oracle_calls(n: int, s: float, *, d: int, generators: int) -> float:
    r"""Bound on oracle calls, :math:`\rho\, n^{2/(1+\alpha)} + n^{(2+\alpha)/(1+\alpha)}` (eq. 20).

    >>> round(oracle_calls(1000, s=1.0, d=1, generators=2))
    10200
    """
    D = cutoff(n, s, d=d)
    return float(generators * D**2 + n * D)


def generators_bound(order: int) -> int:
    r"""Largest size of a minimal generating set, :math:`\lfloor \log_2 |G| \rfloor` (prop. C.1).

    >>> generators_bound(1024), generators_bound(120)
    (10, 6)
    """
    return int(order).bit_length() - 1


@in_floats
def weyl_law(eigenvalue: Numbers, d: int, *, volume: float) -> NDArray:
    r"""Leading term of the counting function (theorem B.16; invariants: divided by \|G\|, B.17),

    .. math:: D_\lambda \sim \frac{\omega_d}{(2\pi)^d} \mathrm{vol}(M)\, \lambda^{d/2},

    with the volume :math:`\omega_d = \pi^{d/2} / \Gamma(d/2 + 1)` of the unit ball.

    >>> float(weyl_law(100.0, 1, volume=2 * np.pi))        # the circle: about 2 sqrt(lambda)
    20.0
    """
    log_ball = d / 2 * np.log(np.pi) - gammaln(d / 2 + 1)
    ball = np.exp(log_ball)
    density = ball / (2 * np.pi) ** d * volume
    return np.asarray(density * eigenvalue ** (d / 2))
