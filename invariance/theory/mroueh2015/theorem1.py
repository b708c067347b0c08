"""Theorem 1, its lemmas and remarks: the kernel between its sandwich of distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.spatial.distance import cdist
from scipy.special import gammaln

from ...core.parameters import Array, Kind, ParameterError, Positive, short
from ..quantities import checked

__all__ = [
    "chi2_lower_tail_bound",
    "chi2_upper_tail_bound",
    "clark_max_moments",
    "orbit_distance",
    "sphere_gap",
    "sphere_slack",
    "theorem1_delta1",
    "theorem1_delta2",
    "theorem1_deviation",
    "theorem1_gap",
    "theorem1_sandwich",
]

_KINDS: dict[str, Kind] = {
    "orbit_x": Array(3),
    "orbit_z": Array(3) | None,
    "d": Array(least=1),
    "k": Array(least=1),
    "eps": Array(above=0),
    "R": Positive(),
    "distance": Array(),
    "mean_x": Array(),
    "mean_y": Array(),
    "sd_x": Array(least=0),
    "sd_y": Array(least=0),
    "rho": Array(least=-1, most=1),
}


def _check_dimension(d: ArrayLike, eps: ArrayLike) -> tuple[NDArray, NDArray]:
    one, two = np.asarray(d, dtype=float), np.asarray(eps, dtype=float)
    if not (np.all(one >= 1) and np.all((two > 0) & (two < 1))):
        raise ParameterError(
            f"theorem 1 needs d >= 1 and 0 < eps < 1, got d={short(d)} and eps={short(eps)}"
        )
    return one, two


@checked(_KINDS)
def orbit_distance(orbit_x: ArrayLike, orbit_z: ArrayLike | None = None) -> NDArray:
    r"""Mean distance between orbits (theorem 1),

    .. math:: d_G(x, z) = \frac{1}{\sqrt{2 \pi d}} \int_G \int_G \lVert gx - g'z \rVert .

    Every pair of elements is visited, whatever the group: this is the definition.

    Parameters
    ----------
    orbit_x : array of shape (r, n, d)
        ``group.act(elements, X)``.
    orbit_z : array of shape (r', m, d), default orbit_x

    Returns
    -------
    ndarray of shape (n, m)

    Examples
    --------
    >>> x, z = [[[1.0, 0.0]], [[-1.0, 0.0]]], [[[0.0, 1.0]]]
    >>> orbit_distance(x, z).round(4)                      # sqrt(2) / sqrt(4 pi)
    array([[0.3989]])
    """
    one = np.asarray(orbit_x, dtype=float)
    two = one if orbit_z is None else np.asarray(orbit_z, dtype=float)
    if one.shape[2] != two.shape[2]:
        raise ParameterError(
            "orbits orbit_x and orbit_z have shape (elements, points, d), got "
            f"{one.shape} and {two.shape}"
        )
    total = np.zeros((one.shape[1], two.shape[1]))
    for gx in one:
        for gz in two:
            total += cdist(gx, gz)
    return total / (len(one) * len(two) * np.sqrt(2 * np.pi * one.shape[2]))


@checked(_KINDS)
def theorem1_delta1(d: ArrayLike, eps: ArrayLike, *, R: float = 1.0) -> NDArray:
    r"""Upper slack of theorem 1 (eq. 3; eq. 4 for norms up to R),

    .. math:: \delta_1 = R\,\frac{e^{-d\varepsilon^2/16}}{\sqrt d}
              - \frac R2 \frac{e^{-\varepsilon d/2} (1+\varepsilon)^{d/2}}{\sqrt d} .

    >>> float(theorem1_delta1(100, 0.5).round(5))
    0.02052
    """
    d, eps = _check_dimension(d, eps)
    cauchy = np.exp(-d * eps**2 / 16)
    return R * (cauchy - 0.5 * np.exp(d / 2 * (np.log1p(eps) - eps))) / np.sqrt(d)


@checked(_KINDS)
def theorem1_delta2(d: ArrayLike, eps: ArrayLike, *, R: float = 1.0) -> NDArray:
    r"""Lower slack of theorem 1 (eq. 3; eq. 4 for norms up to R),

    .. math:: \delta_2 = R\,\frac{e^{-d\varepsilon^2/16}}{\sqrt d}
              + R (1 + \varepsilon) e^{-d\varepsilon^2/8} .

    >>> float(theorem1_delta2(100, 0.5).round(5))
    0.08687
    """
    d, eps = _check_dimension(d, eps)
    return R * (np.exp(-d * eps**2 / 16) / np.sqrt(d) + (1 + eps) * np.exp(-d * eps**2 / 8))


@checked(_KINDS)
def theorem1_sandwich(d: ArrayLike, eps: ArrayLike, *, R: float = 1.0) -> tuple[NDArray, NDArray]:
    r"""Bounds on :math:`K_s - (R - d_G)` (theorem 1, eq. 3; remark 3, eq. 4),

    .. math:: R \varepsilon - \delta_2 \le K_s(x, z) - (R - d_G(x, z))
              \le R \varepsilon + \delta_1 .

    Returns
    -------
    low, high : floats (arrays for array arguments)

    Examples
    --------
    >>> low, high = theorem1_sandwich(d=50, eps=0.5)
    >>> round(float(low), 4), round(float(high), 4)
    (0.1208, 0.5581)
    """
    low = R * np.asarray(eps, dtype=float) - theorem1_delta2(d, eps, R=R)
    return low, R * np.asarray(eps, dtype=float) + theorem1_delta1(d, eps, R=R)


@checked(_KINDS)
def theorem1_gap(distance: ArrayLike, d: ArrayLike, *, eps: ArrayLike, R: float = 1.0) -> NDArray:
    r"""Distance of the kernel from its limit, exactly: :math:`K_s - (s - d_G)`.

    The proof bounds two quantities of eq. (8) that chi-square distributions give in closed form.
    With :math:`\bar F_k` the upper tail of :math:`\chi^2_k`,

    .. math:: K_s - (s - d_G) = d_G \bar F_{d+1}(d(1+\varepsilon))
              - s \bar F_d(d(1+\varepsilon)) .

    The first term is the proof's :math:`I_2`: it is never negative, so the first term of delta2
    is not needed. Affine in d_G, so that the two ends of its range, 0 and
    :math:`2R/\sqrt{2 \pi d}`, decide whether the sandwich holds for every pair of points.

    Parameters
    ----------
    distance : array
        d_G(x, z).

    Examples
    --------
    >>> float(theorem1_gap(0.1, d=50, eps=0.5).round(4))
    -0.0173
    """
    d, eps = _check_dimension(d, eps)
    bound = d * (1 + eps)
    kept_out = np.asarray(distance, dtype=float) * stats.chi2.sf(bound, d + 1)
    return kept_out - R * (1 + eps) * stats.chi2.sf(bound, d)


@checked(_KINDS)
def theorem1_deviation(
    distance: ArrayLike, d: ArrayLike, *, eps: ArrayLike, R: float = 1.0
) -> NDArray:
    r"""What the sandwich encloses, exactly: :math:`K_s - (R - d_G)`.

    That is :math:`R \varepsilon` plus `theorem1_gap`.

    >>> float(theorem1_deviation(0.1, d=50, eps=0.5).round(4))
    0.4827
    """
    return R * np.asarray(eps, dtype=float) + theorem1_gap(distance, d, eps=eps, R=R)


@checked(_KINDS, d=Array(least=1))
def sphere_gap(distance: ArrayLike, d: ArrayLike) -> NDArray:
    r"""Distance of the kernel from its limit for templates uniform on the sphere (remark 1).

    Nothing is rejected, :math:`s = R`, and a coordinate of such a template has mean size
    :math:`c_d \sqrt{2 / \pi d}`, so that exactly

    .. math:: K_s - (s - d_G) = -(c_d - 1)\, d_G , \qquad
              c_d = \sqrt{d/2}\; \Gamma(d/2) \,/\, \Gamma((d + 1)/2) .

    >>> float(sphere_gap(0.1, 3).round(5))
    -0.00854
    """
    d = np.asarray(d, dtype=float)
    ratio = np.sqrt(d / 2) * np.exp(gammaln(d / 2) - gammaln((d + 1) / 2))
    return (1 - ratio) * np.asarray(distance, dtype=float)


@checked(_KINDS, d=Array(least=1))
def sphere_slack(d: ArrayLike, *, R: float = 1.0) -> NDArray:
    r"""Theorem 1's delta2 for templates uniform on the sphere (remark 1); delta1 is zero.

    By Wendel's inequality :math:`c_d \le \sqrt{1 + 1/d} \le 1 + 1/2d`, and
    :math:`d_G \le 2R / \sqrt{2 \pi d}`, hence

    .. math:: 0 \le (s - d_G) - K_s \le \frac{R}{d \sqrt{2 \pi d}} .

    >>> float(sphere_slack(3).round(4))
    0.0768
    """
    d = np.asarray(d, dtype=float)
    return R / (d * np.sqrt(2 * np.pi * d))


@checked(_KINDS)
def chi2_upper_tail_bound(k: ArrayLike, eps: ArrayLike) -> NDArray:
    r"""Lemma 3: :math:`P(\chi^2_k / k \ge 1 + \varepsilon) \le e^{-k \varepsilon^2 / 8}`."""
    k, eps = _check_dimension(k, eps)
    return np.exp(-k * eps**2 / 8)


@checked(_KINDS)
def chi2_lower_tail_bound(k: ArrayLike, eps: ArrayLike) -> NDArray:
    r"""Lemma 3, for k >= 2:

    .. math:: P(\chi^2_k / k < 1 + \varepsilon) \le
              1 - \frac12 \frac{e^{-\varepsilon k/2} (1+\varepsilon)^{(k-2)/2}}{\sqrt k} .

    For k = 1 the inequality is false; theorem 1's sandwich holds there all the same.

    >>> float(chi2_lower_tail_bound(10, 0.5).round(4))
    0.9343
    """
    k, eps = _check_dimension(k, eps)
    return 1 - 0.5 * np.exp(-eps * k / 2 + (k - 2) / 2 * np.log1p(eps)) / np.sqrt(k)


@checked(_KINDS)
def clark_max_moments(
    mean_x: ArrayLike, mean_y: ArrayLike, *, sd_x: ArrayLike, sd_y: ArrayLike, rho: ArrayLike
) -> tuple[NDArray, NDArray]:
    r"""Mean and variance of max(X, Y) for jointly Gaussian X, Y (lemma 2, eqs 9 and 10).

    With :math:`a = \sqrt{\sigma_X^2 + \sigma_Y^2 - 2\rho\sigma_X\sigma_Y}` and
    :math:`\alpha = (\mu_X - \mu_Y)/a`,

    .. math:: \mu_Z = \mu_X \Phi(\alpha) + \mu_Y \Phi(-\alpha) + a \varphi(\alpha) .

    Where a = 0 the two variables differ by a constant, and the larger one is returned.

    Examples
    --------
    >>> mean, variance = clark_max_moments(0, 0, sd_x=1, sd_y=1, rho=0)  # 1/sqrt(pi), 1 - 1/pi
    >>> float(mean.round(4)), float(variance.round(4))
    (0.5642, 0.6817)
    """
    mean_x, mean_y, sd_x, sd_y, rho = np.broadcast_arrays(
        *(np.asarray(v, dtype=float) for v in (mean_x, mean_y, sd_x, sd_y, rho))
    )
    a = np.sqrt(np.maximum(sd_x**2 + sd_y**2 - 2 * rho * sd_x * sd_y, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        alpha = np.where(a > 0, (mean_x - mean_y) / a, np.where(mean_x >= mean_y, np.inf, -np.inf))
    first, second, density = stats.norm.cdf(alpha), stats.norm.cdf(-alpha), stats.norm.pdf(alpha)
    mean = mean_x * first + mean_y * second + a * density
    squares = (sd_x**2 + mean_x**2) * first + (sd_y**2 + mean_y**2) * second
    return mean, squares + (mean_x + mean_y) * a * density - mean**2
