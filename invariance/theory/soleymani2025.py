r"""Bounds and rates of Soleymani, Tahmasebi, Jegelka and Jaillet 2025.

*Learning with Exact Invariances in Polynomial Time.* Throughout, d is the manifold's dimension, s
the Sobolev exponent, :math:`\alpha = 2s/d` and n the number of samples.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from ..core.parameters import Array, Kind, Number, ParameterError, Positive, Whole, short
from .quantities import ANY_SIZE, DIMENSION, checked

__all__ = [
    "alpha",
    "approximation_error",
    "ball_volume",
    "cutoff",
    "dirichlet_energy",
    "estimation_error",
    "generators_bound",
    "group_averaging_time",
    "invariant_weyl_law",
    "oracle_calls",
    "prediction_cost",
    "risk_bound",
    "risk_exponent",
    "sobolev_norm",
    "sphere_dimension",
    "time_bound",
    "weyl_law",
]

_KINDS: dict[str, Kind] = {
    "s": Positive(),
    "d": DIMENSION,
    "n": Number(1),
    "D": Positive(),
    "noise": Number(0),
    "sup_norm": Number(0),
    "sobolev": Number(0),
    "coefficients": Array(1),
    "counts": Array(1, above=0),
    "generators": Number(0),
    "order": ANY_SIZE,
    "eigenvalue": Array(least=0),
    "volume": Positive(),
    "k": Whole(0, 10_000),
}


@checked(_KINDS)
def alpha(s: float, d: int) -> float:
    r"""Exponent :math:`\alpha = 2s/d`; the theorem needs it above 1.

    >>> alpha(3.0, 2)
    3.0
    """
    return 2 * s / d


@checked(_KINDS)
def cutoff(n: float, s: float, *, d: int) -> float:
    r"""Number of eigenfunctions kept, :math:`D = n^{1/(1+\alpha)}` (algorithm 1).

    >>> round(cutoff(1000, s=1.0, d=1), 6)
    10.0
    """
    return float(n) ** (1 / (1 + alpha(s, d)))


@checked(_KINDS)
def risk_exponent(s: float, d: int) -> float:
    r"""Exponent of n in the excess risk, :math:`-s / (s + d/2)` (theorem 1).

    >>> risk_exponent(2.0, 2)
    -0.6666666666666666
    """
    return -s / (s + d / 2)


@checked(_KINDS)
def estimation_error(n: int, D: float, *, noise: float, sup_norm: float) -> float:
    r"""Variance term :math:`(D/n)(\sigma^2 + |f^\star|_\infty^2)` (eq. 42).

    Parameters
    ----------
    noise : float
        Standard deviation of the noise.
    """
    return D / n * (noise**2 + sup_norm**2)


@checked(_KINDS)
def approximation_error(D: float, s: float, *, d: int, sobolev: float) -> float:
    r"""Bias term :math:`D^{-\alpha} |f^\star|_{H^s}^2` (eq. 29)."""
    return D ** -alpha(s, d) * sobolev**2


@checked(_KINDS)
def risk_bound(
    n: int, D: float, *, s: float, d: int, noise: float, sup_norm: float, sobolev: float
) -> float:
    r"""Bound on the excess risk of Spec-Avg at cutoff D (eq. 43),

    .. math:: R \le \frac{D}{n}(\sigma^2 + |f^\star|_\infty^2) + D^{-\alpha} |f^\star|_{H^s}^2.

    >>> risk_bound(n=100, D=10, s=1.0, d=1, noise=0.0, sup_norm=1.0, sobolev=1.0)
    0.11
    """
    return estimation_error(n, D, noise=noise, sup_norm=sup_norm) + approximation_error(
        D, s, d=d, sobolev=sobolev
    )


@checked(_KINDS)
def sobolev_norm(coefficients: ArrayLike, counts: ArrayLike, *, s: float, d: int) -> float:
    r"""Norm with :math:`|f|_{H^s}^2 = \sum_\lambda D_\lambda^\alpha |f_\lambda|^2` (def. B.18).

    Parameters
    ----------
    coefficients : array of shape (D,)
    counts : array of shape (D,)
        D_lambda of each coefficient's eigenspace.
    """
    values, weights = np.asarray(coefficients, dtype=float), np.asarray(counts, dtype=float)
    if len(values) != len(weights):
        raise ParameterError(
            "coefficients and counts must be of one length, got "
            f"{short(coefficients)} and {short(counts)}"
        )
    return float(np.sqrt(weights ** alpha(s, d) @ values**2))


@checked(_KINDS, eigenvalues=Array(1, least=0))
def dirichlet_energy(coefficients: ArrayLike, eigenvalues: ArrayLike) -> float:
    r"""Energy :math:`\int |\nabla f|^2 = \sum_\lambda \lambda |f_\lambda|^2` (lemma B.15).

    Parameters
    ----------
    coefficients, eigenvalues : arrays of shape (D,)
        In an orthonormal basis of the uniform probability measure.

    >>> dirichlet_energy([1.0, 2.0], [0.0, 3.0])
    12.0
    """
    values, weights = np.asarray(coefficients, dtype=float), np.asarray(eigenvalues, dtype=float)
    if len(values) != len(weights):
        raise ParameterError(
            "coefficients and eigenvalues must be of one length, got "
            f"{short(coefficients)} and {short(eigenvalues)}"
        )
    return float(weights @ values**2)


@checked(_KINDS)
def time_bound(n: int, s: float, *, d: int, generators: int) -> float:
    r"""Operations of Spec-Avg up to a constant (theorem 1, remark 4.1),

    .. math:: \rho^3 n^{3/(1+\alpha)} + n^{(2+\alpha)/(1+\alpha)}.
    """
    a = alpha(s, d)
    return generators**3 * n ** (3 / (1 + a)) + n ** ((2 + a) / (1 + a))


@checked(_KINDS)
def oracle_calls(n: int, s: float, *, d: int, generators: int) -> float:
    r"""Bound on oracle calls, :math:`\rho\, n^{2/(1+\alpha)} + n^{(2+\alpha)/(1+\alpha)}` (eq. 20).

    >>> round(oracle_calls(1000, s=1.0, d=1, generators=2))
    10200
    """
    D = cutoff(n, s, d=d)
    return generators * D**2 + n * D


@checked(_KINDS)
def prediction_cost(n: int, s: float, *, d: int) -> float:
    r"""Eigenfunctions evaluated for one prediction, at most :math:`n^{1/(1+\alpha)}` (eq. 23)."""
    return cutoff(n, s, d=d)


@checked(_KINDS)
def group_averaging_time(n: int, order: int) -> float:
    r"""Kernel evaluations of exact group averaging, :math:`n^2 |G|` (section 3)."""
    return float(n) ** 2 * order


@checked(_KINDS)
def generators_bound(order: int) -> int:
    r"""Largest size of a minimal generating set, :math:`\lfloor \log_2 |G| \rfloor` (prop. C.1).

    Exact for orders of any size.

    >>> generators_bound(1024), generators_bound(120)
    (10, 6)
    """
    return int(order).bit_length() - 1


@checked(_KINDS)
def ball_volume(d: int) -> float:
    r"""Volume of the unit ball in R^d, :math:`\omega_d = \pi^{d/2} / \Gamma(d/2 + 1)`.

    >>> round(ball_volume(2), 6)
    3.141593
    """
    return float(np.exp(d / 2 * np.log(np.pi) - gammaln(d / 2 + 1)))


@checked(_KINDS)
def weyl_law(eigenvalue: ArrayLike, d: int, *, volume: float) -> NDArray:
    r"""Leading term of the counting function (theorem B.16),

    .. math:: D_\lambda \sim \frac{\omega_d}{(2\pi)^d} \mathrm{vol}(M)\, \lambda^{d/2}.

    >>> float(weyl_law(100.0, 1, volume=2 * np.pi))        # the circle: about 2 sqrt(lambda)
    20.0
    """
    values = np.asarray(eigenvalue, dtype=float)
    return ball_volume(d) / (2 * np.pi) ** d * volume * values ** (d / 2)


@checked(_KINDS)
def invariant_weyl_law(eigenvalue: ArrayLike, d: int, *, volume: float, order: int) -> NDArray:
    r"""Leading term for invariant functions: a share :math:`1/|G|` of `weyl_law` (theorem B.17)."""
    return weyl_law(eigenvalue, d, volume=volume) / order


# Whole numbers, exact and quick in a million dimensions, where formulas in floats are not.
@checked(_KINDS | {"d": Whole(1, 10**9)})
def sphere_dimension(d: int, k: int) -> int:
    r"""Dimension of degree k on S^(d-1), :math:`\binom{d+k-1}{k} - \binom{d+k-3}{k-2}`.

    >>> [sphere_dimension(3, k) for k in range(4)]
    [1, 3, 5, 7]
    """
    return comb(d + k - 1, k) - (comb(d + k - 3, k - 2) if k > 1 else 0)
