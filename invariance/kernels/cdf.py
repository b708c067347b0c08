r"""`CDF`: the kernel whose orbit average is K_s, the expected kernel of CDF-pooling features.

.. math:: k(x, z) = s P - c \, \lVert x - z \rVert .
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from math import prod
from typing import Annotated, Any

import numpy as np
from scipy import special

from ..core.parameters import Flag, OneOf, Positive, stores_parameters
from ..orbits import Form
from .base import Kernel


@stores_parameters
class CDF(Kernel):
    r"""Expected inner product of threshold features, in closed form.

    For templates t and thresholds tau uniform on [-s, s] with s = radius (1 + epsilon),

    .. math:: k(x, z) = E_t \int_{-s}^{s} 1[\langle x, t\rangle \le \tau]
              1[\langle z, t\rangle \le \tau] \, d\tau
              = s P - c \, \lVert x - z \rVert .

    ``Average(CDF(epsilon), group)`` is therefore the kernel K_s of Mroueh et al. 2015, theorem 1.
    Gaussian templates t ~ N(0, I/d) outside |t|^2 < 1 + epsilon contribute zero, so
    P = P(chi2_d < d (1 + epsilon)) and c = P(chi2_{d+1} < d (1 + epsilon)) / sqrt(2 pi d).
    Without truncation P = 1 and k = s - |x - z| / sqrt(2 pi d).

    The value of a point with itself is exact to rounding. If a group moves two points onto each
    other, in `Average` and `BestFit`, the error is c times the root of the rounding of |x|^2, about
    1e-8 of s.

    Parameters
    ----------
    epsilon : float, in (0, 1) in the paper; any positive number works here
    radius : float, bound on the norm of the points; the formula holds for |x| <= radius
    templates : {"gaussian", "sphere"}, uniform on the unit sphere has P = 1 and c = E|t_1| / 2
    truncated : bool
        Whether Gaussian templates are rejected outside the norm bound, as in the paper.

    Examples
    --------
    >>> x, z = [[1.0, 0.0]], [[0.0, 1.0]]
    >>> CDF(epsilon=0.2, truncated=False)(x, z).round(4)         # 1.2 - sqrt(2) / sqrt(4 pi)
    array([[0.8011]])
    """

    unitary_invariant = True
    epsilon: Annotated[float, Positive()] = 0.2
    radius: Annotated[float, Positive()] = 1.0
    _: KW_ONLY
    templates: Annotated[str, OneOf("gaussian", "sphere")] = "gaussian"
    truncated: Annotated[bool, Flag()] = True

    def coefficients(self, d: int) -> tuple[float, float]:
        """Return (s P, c) in dimension d, so that k = s P - c |x - z|."""
        s = self.radius * (1 + self.epsilon)
        if self.templates == "sphere":
            log_gamma = special.gammaln(d / 2)
            log_ratio = log_gamma - special.gammaln((d + 1) / 2)
            mean_coordinate = np.exp(log_ratio) / np.sqrt(np.pi)  # E|t_1|
            return s, float(mean_coordinate / 2)
        slope = 1 / np.sqrt(2 * np.pi * d)
        if not self.truncated:
            return s, float(slope)
        bound = d * (1 + self.epsilon)
        probability = special.chdtr(d, bound)
        probability_one_up = special.chdtr(d + 1, bound)
        return float(s * probability), float(slope * probability_one_up)

    def inner_form(self, shape: tuple[int, int, int]) -> Form:
        n_features = prod(shape)
        constant, slope = self.coefficients(n_features)
        outer = partial(_of_distance, constant, slope)
        reach = float(self.radius) ** 2
        return Form(outer, distance=True, sensitivity=np.inf, reach=reach, rooted=True)


def _of_distance(constant: float, slope: float, values: Any, xp: Any) -> Any:
    """Return constant - slope |x - z| from v = -|x - z|^2 / 2; may overwrite ``values``."""
    if xp is not np:
        # The root has no derivative at zero, so coinciding points are left out of it.
        apart = values < 0
        squares = xp.where(apart, -2 * values, xp.ones_like(values))
        distances = xp.where(apart, xp.sqrt(squares), 0 * values)
        return constant - slope * distances
    values *= -2
    np.maximum(values, 0, out=values)
    np.sqrt(values, out=values)
    values *= values.dtype.type(-slope)
    values += values.dtype.type(constant)
    return values
