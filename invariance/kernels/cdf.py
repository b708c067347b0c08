"""`CDF`: the kernel whose orbit average is K_s, the expected kernel of CDF-pooling features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from .base import Kernel, squared_distances, squared_distances_arrays

__all__ = ["CDF"]


class CDF(Kernel):
    r"""Expected inner product of threshold features, in closed form.

    For templates t and thresholds tau uniform on [-s, s] with s = radius (1 + epsilon),

    .. math:: k(x, z) = E_t \int_{-s}^{s} 1[\langle x, t\rangle \le \tau]
              1[\langle z, t\rangle \le \tau] \, d\tau
              = s P - c \, \lVert x - z \rVert .

    ``Average(CDF(epsilon), group)`` is therefore the kernel K_s of Mroueh et al. 2015, theorem 1.
    Gaussian templates t ~ N(0, I/d) that fall outside |t|^2 < 1 + epsilon contribute zero, so
    P = P(chi2_d < d (1 + epsilon)) and c = P(chi2_{d+1} < d (1 + epsilon)) / sqrt(2 pi d):
    the second is E[|t_1|; |t|^2 < 1 + epsilon] / 2, whose radial part is a chi-square one degree
    up. Without truncation P = 1 and k = s - |x - z| / sqrt(2 pi d).

    Parameters
    ----------
    epsilon : float
        In (0, 1) in the paper; any positive number works here.
    radius : float
        Bound on the norm of the points; the formula holds for |x| <= radius.
    templates : {"gaussian", "sphere"}
        Uniform on the unit sphere has P = 1 and c = E|t_1| / 2.
    truncated : bool
        Whether Gaussian templates are rejected outside the norm bound, as in the paper.

    Examples
    --------
    >>> x, z = [[1.0, 0.0]], [[0.0, 1.0]]
    >>> CDF(epsilon=0.2, truncated=False)(x, z).round(4)         # 1.2 - sqrt(2) / sqrt(4 pi)
    array([[0.8011]])
    """

    unitary_invariant = True

    def __init__(
        self,
        epsilon: float = 0.2,
        radius: float = 1.0,
        templates: str = "gaussian",
        truncated: bool = True,
    ):
        self.epsilon = epsilon
        self.radius = radius
        self.templates = templates
        self.truncated = truncated

    def coefficients(self, d: int) -> tuple[float, float]:
        """(s P, c) in dimension d, so that k = s P - c |x - z|."""
        if not (self.epsilon > 0 and self.radius > 0):
            raise ValueError(
                f"CDF needs epsilon > 0 and radius > 0, got {self.epsilon!r} and {self.radius!r}"
            )
        s = self.radius * (1 + self.epsilon)
        if self.templates == "sphere":
            mean_first = np.exp(special.gammaln(d / 2) - special.gammaln((d + 1) / 2))
            return s, float(mean_first / np.sqrt(np.pi) / 2)
        if self.templates != "gaussian":
            raise ValueError(f"templates must be 'gaussian' or 'sphere', got {self.templates!r}")
        slope = 1 / np.sqrt(2 * np.pi * d)
        if not self.truncated:
            return s, float(slope)
        bound = d * (1 + self.epsilon)
        return float(s * stats.chi2.cdf(bound, d)), float(slope * stats.chi2.cdf(bound, d + 1))

    def _gram(self, X: NDArray, Y: NDArray | None) -> NDArray:
        constant, slope = self.coefficients(X.shape[1])
        return (constant - slope * np.sqrt(squared_distances(X, Y))).astype(X.dtype, copy=False)

    def _gram_arrays(self, xp, X, Y):
        constant, slope = self.coefficients(X.shape[1])
        squared = squared_distances_arrays(xp, X, Y)
        # The root has no derivative at zero: coinciding points keep out of it.
        apart = squared > 0
        roots = xp.sqrt(xp.where(apart, squared, xp.ones_like(squared)))
        return constant - slope * xp.where(apart, roots, squared)

    def _diag(self, X: NDArray) -> NDArray:
        return np.full(len(X), self.coefficients(X.shape[1])[0])
