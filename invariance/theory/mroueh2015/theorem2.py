"""Theorem 2 and corollary 1: how many bins, templates and group elements are enough."""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.parameters import Array, Kind, Number, ParameterError, Positive, short
from ..quantities import LOGGED, PROBABILITY, SIZE, checked
from .theorem1 import theorem1_sandwich

__all__ = [
    "Sizes",
    "cdf_products",
    "corollary1_sandwich",
    "corollary1_sizes",
    "expected_inner_product",
    "mean_maximum",
    "remark4_kernel",
    "theorem2_bins",
    "theorem2_constants",
    "theorem2_elements",
    "theorem2_errors",
    "theorem2_templates",
]

_KINDS: dict[str, Kind] = {
    "projections": Array(2),
    "others": Array(1),
    "s": Number(1e-100),
    "kernel": Array(),
    "plain": Array(),
    "eps": Positive(),
    "eps0": Number(1e-100),
    "delta": PROBABILITY,
    "n_points": Number(1),
    "n_bins": SIZE,
    "n_templates": LOGGED,
    "n_elements": SIZE,
}


@checked(_KINDS)
def cdf_products(projections: ArrayLike, s: float) -> NDArray:
    r"""Exact threshold integrals of one template, the :math:`\hat X_j` of theorem 2's proof,

    .. math:: \int_{-s}^{s} \hat\psi(x, t, \tau) \, \hat\psi(z, t, \tau) \, d\tau
              = s - \frac{1}{|G|^2} \sum_{i, i'} \max(\langle x, g_i t\rangle,
              \langle z, g_{i'} t\rangle) ,

    for every pair of points: the empirical distribution functions are constant between the sorted
    projections of all points, so that one weighted matrix product integrates all pairs at once.
    This is the limit of infinitely many bins.

    Parameters
    ----------
    projections : array of shape (n_points, |G|)
        ``<x, g_i t>``, within [-s, s].

    Returns
    -------
    ndarray of shape (n_points, n_points)

    Examples
    --------
    >>> cdf_products([[0.0, 1.0], [0.5, 0.5]], s=2.0)
    array([[1.25, 1.25],
           [1.25, 1.5 ]])
    """
    values = np.asarray(projections, dtype=float)
    if np.abs(values).max() > s:
        raise ParameterError(
            f"projections must have shape (n_points, |G|) and lie within [-s, s] = [{-s:g}, "
            f"{s:g}], got shape {values.shape} and values up to {np.abs(values).max():.4g}: "
            f"{short(projections)}"
        )
    n_points, n_elements = values.shape
    order = np.argsort(values, axis=None)
    steps = np.append(values.ravel()[order], float(s))
    cdf = np.zeros((n_points, len(order)))
    cdf[order // n_elements, np.arange(len(order))] = 1 / n_elements
    np.cumsum(cdf, axis=1, out=cdf)
    return (cdf * np.diff(steps)) @ cdf.T


@checked(_KINDS)
def mean_maximum(projections: ArrayLike, others: ArrayLike) -> NDArray:
    r"""Mean over all pairs of :math:`\max(a_i, b_k)`, for many lists a against one list b.

    s minus it is the threshold integral of `cdf_products` for a few points against many, at the
    price of a sort: with b sorted, the mean over k is piecewise linear in a.

    Parameters
    ----------
    projections : array of shape (n_points, |G|)
    others : array of shape (|G|',)

    Returns
    -------
    ndarray of shape (n_points,)

    Examples
    --------
    >>> mean_maximum([[0.0, 1.0]], [0.5, 2.0])            # mean of 0.5, 2, 1 and 2
    array([1.375])
    """
    values, listed = np.asarray(projections, dtype=float), np.sort(np.asarray(others, dtype=float))
    above = np.append(np.cumsum(listed[::-1])[::-1], 0)
    below = np.searchsorted(listed, values)
    return np.asarray(((below * values + above[below]) / len(listed)).mean(axis=1))


@checked(_KINDS, projections=Array(3), weights=Array(1, least=0))
def remark4_kernel(projections: ArrayLike, weights: ArrayLike, *, s: float) -> NDArray:
    r"""Expected kernel of templates with any law p (remark 4), every pair of elements visited,

    .. math:: K_s(x, z) = \int_G \int_G \Bigl( \int s - \max(\langle x, gt \rangle,
              \langle z, g't \rangle)\, p(t)\, dt \Bigr) d\mu(g)\, d\mu(g') .

    Parameters
    ----------
    projections : array of shape (n_templates, n_points, |G|)
        ``<x, g t>``.
    weights : array of shape (n_templates,)
        p(t); they sum to one.

    Returns
    -------
    ndarray of shape (n_points, n_points)

    Examples
    --------
    >>> remark4_kernel([[[0.0, 1.0], [0.5, 0.5]]], [1.0], s=2.0)
    array([[1.25, 1.25],
           [1.25, 1.5 ]])
    """
    values, p = np.asarray(projections, dtype=float), np.asarray(weights, dtype=float)
    maxima = [np.maximum.outer(part, part).mean(axis=(1, 3)) for part in values]
    return s - np.tensordot(p, np.asarray(maxima), 1)


@checked(_KINDS, n_elements=Array(least=1))
def expected_inner_product(
    kernel: ArrayLike, plain: ArrayLike, *, n_elements: ArrayLike
) -> NDArray:
    r"""Expectation of :math:`\langle\Phi(x), \Phi(z)\rangle` over templates *and* group elements.

    Section 2 states :math:`\lim_n E_{t,g} \langle\Phi(x),\Phi(z)\rangle = K_s(x, z)`. Both feature
    vectors use the same sampled elements, so a share :math:`1/|G|` of the double sum pairs each
    element with itself and contributes the kernel of the trivial group:

    .. math:: E_{t,g} \langle\Phi(x),\Phi(z)\rangle =
              \Bigl(1 - \frac{1}{|G|}\Bigr) K_s(x, z) + \frac{1}{|G|} K_s^{\{e\}}(x, z) .

    The identity of section 2 is the limit of large :math:`|G|`. (Nothing is lost when a finite
    group is enumerated instead of sampled.)

    Parameters
    ----------
    kernel, plain : arrays of equal shape
        K_s of the group and of the trivial group.
    n_elements : array
        :math:`|G|`, one number or several that broadcast with the kernels.
    """
    share = 1 / np.asarray(n_elements)
    if np.shape(kernel) != np.shape(plain):
        raise ParameterError(
            f"kernel and plain must be of equal shape, got {short(kernel)} of shape "
            f"{np.shape(kernel)} and {short(plain)} of shape {np.shape(plain)}"
        )
    try:
        return (1 - share) * np.asarray(kernel) + share * np.asarray(plain)
    except ValueError as error:
        raise ParameterError(
            f"n_elements={short(n_elements)} is not of that shape: {error}"
        ) from error


class Sizes(NamedTuple):
    """Numbers of bins, templates and group elements that a bound asks for."""

    bins: int
    templates: int
    elements: int


@checked(_KINDS)
def theorem2_bins(eps: float, s: float = 1.0) -> int:
    r"""Bins for a binning error of at most eps, :math:`n \ge s / \varepsilon_0`.

    Theorem 2 prints :math:`1/\varepsilon_0` (the default here) and its proof derives
    :math:`s/\varepsilon_0`: a right-hand Riemann sum of a product of distribution functions
    overshoots by at most s/n, and by s/(2n) on average.

    >>> theorem2_bins(0.1), theorem2_bins(0.1, s=1.2)
    (10, 12)
    """
    return ceil(s / eps - 1e-12)


@checked(_KINDS)
def theorem2_templates(eps: float, n_points: int, *, delta: float, s: float = 2.0) -> int:
    r"""Templates for a template error of at most eps on all pairs of N points,

    .. math:: m \ge \frac{2 s^2}{\varepsilon_1^2} \log \frac{2 N^2}{\delta_1} ,

    from Hoeffding's inequality for variables in [0, 2s] and a union over the pairs (theorem 2).
    The default s = 2 is the largest that :math:`\varepsilon < 1` allows.

    >>> theorem2_templates(eps=0.05, n_points=1000, delta=0.01)
    61165
    """
    return ceil(2 * s**2 / eps**2 * log(2 * n_points**2 / delta))


@checked(_KINDS, n_templates=SIZE)
def theorem2_elements(
    eps: float, n_points: int, *, n_templates: int, delta: float, s: float = 2.0
) -> int:
    r"""Group elements for a group error of at most eps on all pairs of N points,

    .. math:: |G| \ge \frac{18 s^2}{\varepsilon_2^2} \log \frac{4 m N^2}{\delta_2} ,

    from the Dvoretzky-Kiefer-Wolfowitz inequality at level :math:`\varepsilon_2 / (6 s)` and a
    union over pairs and templates (theorem 2). Distribution functions lie in [0, 1], so that
    their product moves by at most two levels, not three: 8 s^2 in place of 18 s^2 would do.

    >>> theorem2_elements(eps=0.5, n_points=100, n_templates=100, delta=0.1)
    5042
    """
    return ceil(18 * s**2 / eps**2 * log(4 * n_templates * n_points**2 / delta))


@checked(_KINDS)
def theorem2_constants(s: float = 2.0) -> tuple[float, float]:
    r"""Universal constants C1 and C2 that make theorem 2 true as printed.

    For N >= 2, :math:`\log(2N^2/\delta) \le 3 \log(N/\delta)` and
    :math:`\log(4mN^2/\delta) \le 4 \log(Nm/\delta)`, hence C1 = 6 s^2 and C2 = 72 s^2.

    >>> theorem2_constants()
    (24.0, 288.0)
    """
    return 6 * s**2, 72 * s**2


@checked(_KINDS)
def theorem2_errors(
    n_bins: float,
    n_templates: float,
    *,
    n_elements: float,
    n_points: int,
    delta: float,
    s: float,
) -> tuple[float, float, float]:
    r"""The three parts :math:`\varepsilon_0, \varepsilon_1, \varepsilon_2` for given sizes.

    Inverse of `theorem2_bins` (as derived), `theorem2_templates` and `theorem2_elements`; an
    infinite size makes its part zero. The sum bounds
    :math:`|\langle\Phi(x_i),\Phi(x_j)\rangle - K_s(x_i,x_j)|` on all pairs with probability at
    least 1 - 2 delta (eq. 5).

    >>> parts = theorem2_errors(10, 10_000, n_elements=np.inf, n_points=20, delta=0.05, s=1.2)
    >>> [round(p, 3) for p in parts]
    [0.12, 0.053, 0.0]
    """
    templates = s * sqrt(2 / n_templates * log(2 * n_points**2 / delta))
    elements = 0.0
    if np.isfinite(float(n_elements)):
        union = 4 * n_templates * n_points**2 / delta
        elements = s * sqrt(18 / n_elements * log(union))
    return s / n_bins, templates, elements


@checked(_KINDS)
def corollary1_sizes(eps0: float, n_points: int, *, delta: float, s: float = 2.0) -> Sizes:
    r"""Sizes for corollary 1: theorem 2 with each of the three errors at eps0 / 3.

    The bins are the printed :math:`3/\varepsilon_0`.

    >>> corollary1_sizes(0.9, n_points=10, delta=0.1, s=1.2)
    Sizes(bins=4, templates=244, elements=3972)
    """
    part = eps0 / 3
    templates = theorem2_templates(part, n_points, delta=delta, s=s)
    elements = theorem2_elements(part, n_points, n_templates=templates, delta=delta, s=s)
    return Sizes(theorem2_bins(part), templates, elements)


@checked(_KINDS, d=Array(least=1), eps=Array(above=0))
def corollary1_sandwich(d: ArrayLike, eps: ArrayLike, *, eps0: float) -> tuple[NDArray, NDArray]:
    r"""Bounds on :math:`\langle\Phi(x_i),\Phi(x_j)\rangle - (1 - d_G)` (corollary 1, eq. 6).

    >>> low, high = corollary1_sandwich(d=1000, eps=0.5, eps0=0.1)
    >>> round(float(low), 4), round(float(high), 4)
    (0.4, 0.6)
    """
    low, high = theorem1_sandwich(d, eps)
    return low - eps0, high + eps0
