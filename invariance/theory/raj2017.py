r"""Bounds of Raj, Kumar, Mroueh, Fletcher and Schoelkopf 2017.

*Local Group Invariant Representations via Orbit Embeddings.* Throughout, s is the number of
templates, r that of group samples, d the dimension, sigma the bandwidth of the Gaussian base
kernel exp(-\|x - z\|^2 / (2 sigma^2)) and ``diameter`` (diam) that of the compact set.

Two constants of the published proof do not survive a check, and the functions say which version
they give. Changing one group sample moves the U-statistic by up to 2/r, not 1/r, because the sample
occurs on both sides; and a deviation of eps/2 over the whole set asks for eps/4 at the centres of
the cover. Both change r eps^2 / 2 into r eps^2 / 32 in the exponent. Optimising the radius of the
cover leaves a factor 2 that the statement of theorem 3.1 drops.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import ParameterError, short
from . import Numbers, confidence_factor, count, in_floats

#: Exponents per s eps^2 (templates) and r eps^2 (group samples) at the centres of the cover.
_TEMPLATES = 1 / 128
_GROUP = 1 / 32
_GROUP_PUBLISHED = 1 / 2


@in_floats
def gamma_of_bandwidth(sigma: float) -> float:
    """gamma of `Gaussian`: exp(-gamma |x - z|^2) has gamma = 1 / (2 sigma^2).

    >>> gamma_of_bandwidth(1.0)
    0.5
    """
    return float(1 / (2 * sigma**2))


@in_floats
def jacobian_factor(matrix: Numbers) -> float:
    r"""The factor :math:`|J_g|^{-1/2}` that makes x -> A x + b unitary on images (lemma 2.1).

    >>> jacobian_factor([[2.0, 0.0], [0.0, 2.0]])
    0.5
    """
    determinant = abs(np.linalg.det(matrix))
    if not determinant > 0:
        raise ParameterError(f"matrix={short(matrix)} has no inverse")
    return float(determinant**-0.5)


@in_floats
def statistics_gap(r: int) -> float:
    """Largest difference 1/r of U- and V-statistics for a base kernel in [0, 1] (term C).

    >>> statistics_gap(50)
    0.02
    """
    return float(1 / r)


@in_floats
def uniform_failure(
    s: float, r: float, *, eps: float, d: int, diameter: float, sigma: float, published: bool = True
) -> float:
    r"""Bound on P(sup \|<psi(x), psi(z)> - k_q,G(x, z)\| > eps + 1/r) (theorem 3.1).

    .. math:: 2 (\kappa_1 + \kappa_2)^{1/(d+1)} \kappa_3^{d/(d+1)} , \quad
              \kappa_i = 2 (2 \, diam)^{2d} e^{-c_i \epsilon^2} , \quad
              \kappa_3 = \frac{64 (d + 1)}{\epsilon^2 \sigma^2} ,

    with c_2 = s / 128 and c_1 = r / 2 as published, r / 32 with the constants repaired.

    >>> uniform_failure(1e3, 1e3, eps=0.1, d=2, diameter=2.0, sigma=1.0)     # says nothing yet
    1.0
    >>> bool(uniform_failure(1e6, 1e5, eps=0.1, d=2, diameter=2.0, sigma=1.0) < 1e-6)
    True
    """
    group = _GROUP_PUBLISHED if published else _GROUP
    log_cover = _log_cover(d, 2 * diameter)
    group_exponent = -r * group * eps**2
    template_exponent = -s * _TEMPLATES * eps**2
    log_kappa = log_cover + np.logaddexp(group_exponent, template_exponent)
    log_lipschitz = np.log(64 * (d + 1) / (eps * sigma) ** 2)
    log_failure = np.log(2) + (log_kappa + d * log_lipschitz) / (d + 1)
    return float(np.exp(min(log_failure, 0.0)))


def _log_cover(d: int, ratio: float) -> float:
    """Logarithm of 2 ratio^(2d)."""
    return float(np.log(2) + 2 * d * np.log(ratio))


def _smallest_sample(rate: float, eps: float, d: int, diameter: float, delta: float) -> int:
    """Smallest whole n >= 1 with 2 (2 diam)^(2d) exp(-rate n eps^2) <= delta^(2d)."""
    log_cover = _log_cover(d, 2 * diameter / delta)
    least = log_cover / (rate * eps**2)
    return count(max(1.0, least))


@in_floats
def templates(eps: float, d: int, *, diameter: float, delta: float) -> int:
    """Templates s >= C_2 (d / eps^2) log(diam / delta_2) of theorem 3.1, with its constant.

    >>> templates(0.2, d=2, diameter=1.0, delta=0.1)
    40564
    """
    return _smallest_sample(_TEMPLATES, eps, d, diameter, delta)


@in_floats
def group_samples(
    eps: float, d: int, *, diameter: float, delta: float, published: bool = True
) -> int:
    """Group samples r >= C_1 (d / eps^2) log(diam / delta_1) of theorem 3.1, with its constant.

    >>> group_samples(0.2, d=2, diameter=1.0, delta=0.1)
    634
    """
    rate = _GROUP_PUBLISHED if published else _GROUP
    return _smallest_sample(rate, eps, d, diameter, delta)


@in_floats
def hilbert_average_bound(n: Numbers, bound: float, *, delta: float) -> NDArray:
    r"""Distance of a mean of n vectors of norm <= M from its expectation (lemma A.1).

    :math:`\frac{M}{\sqrt n} (1 + \sqrt{2 \log(1/\delta)})`, with probability 1 - delta.

    >>> float(hilbert_average_bound(100, 1.0, delta=0.1).round(3))
    0.315
    """
    return bound / np.sqrt(n) * confidence_factor(1 / delta)


@in_floats
def approximation_error(s: Numbers, r: Numbers, *, C: float, delta: float) -> NDArray:
    r"""L2 distance of some f^ in the random class from f* (lemma A.2), probability 1 - 2 delta.

    :math:`C (1/\sqrt s + 1/\sqrt r) (1 + \sqrt{2 \log(1/\delta)})`.

    >>> float(approximation_error(400, 100, C=1.0, delta=0.1).round(3))
    0.472
    """
    template_error = hilbert_average_bound(s, C, delta=delta)
    group_error = hilbert_average_bound(r, C, delta=delta)
    return template_error + group_error


@in_floats
def excess_risk_bound(
    n: Numbers,
    s: Numbers,
    *,
    r: Numbers,
    C: float,
    delta: float,
    lipschitz: float = 1.0,
    loss_at_zero: float = 1.0,
) -> NDArray:
    r"""Excess risk over F_p of the empirical risk minimiser (theorem 3.2), probability 1 - 3 delta.

    .. math:: 2 \left( \frac{4 L C + 2 |V(0)|}{\sqrt n}
              + L C \sqrt{\frac{\log(1/\delta)}{2 n}} \right)
              + L \, C \left( \frac{1}{\sqrt s} + \frac{1}{\sqrt r} \right)
                (1 + \sqrt{2 \log(1/\delta)}) .

    n counts labelled points, C / s bounds the coefficients, and ``lipschitz`` and ``loss_at_zero``
    are L and V(0) of the loss V: 1 and 1 for the hinge loss.

    >>> float(excess_risk_bound(1e6, 1e4, r=1e4, C=1.0, delta=0.1).round(3))
    0.077
    """
    LC = lipschitz * C
    complexity = (4 * LC + 2 * abs(loss_at_zero)) / np.sqrt(n)
    log_odds = np.log(1 / delta)
    deviation = LC * np.sqrt(log_odds / (2 * n))
    approximation = approximation_error(s, r, C=C, delta=delta)
    return 2 * (complexity + deviation) + lipschitz * approximation
