"""Power laws fitted with confidence intervals."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = ["RateFit", "fit_rate"]


@dataclass(frozen=True)
class RateFit:
    """A fitted power law ``y = exp(intercept) * x**slope``.

    Attributes
    ----------
    slope, low, high : float
        Exponent and its confidence interval.
    intercept : float
        ``log y`` at ``x = 1``.
    se : float
        Standard error of the slope.
    confidence : float
        Coverage of ``[low, high]``.
    points : int
        Number of abscissae.
    method : str
        What the interval rests on: ``"residuals"``, ``"standard errors"``, ``"repetitions"``,
        the latter two followed by ``", widened by residuals"`` where a power law does not
        describe the points within their errors.
    """

    slope: float
    low: float
    high: float
    intercept: float
    se: float
    confidence: float
    points: int
    method: str

    def predict(self, x: ArrayLike) -> NDArray:
        """Fitted curve at `x` (any shape)."""
        return np.exp(self.intercept) * np.asarray(x, dtype=float) ** self.slope

    def __str__(self) -> str:
        return f"{self.slope:.3f} [{self.low:.3f}, {self.high:.3f}]"


def fit_rate(
    x: ArrayLike, y: ArrayLike, *, se: ArrayLike | None = None, confidence: float = 0.95
) -> RateFit:
    r"""Fit ``log y = intercept + slope log x`` by weighted least squares.

    The interval of the slope ``a^T log y`` (`a` the least-squares weights) rests on the best
    information given:

    - `y` of shape (points, repetitions): the means over repetitions are fitted with weights
      ``(mean / se)**2``. The delta method linearises ``log mean``, so that repetition `r`
      contributes ``z_r = sum_i a_i y_ir / mean_i`` and the slope has standard error
      ``std(z) / sqrt(repetitions)``, with a t quantile of ``repetitions - 1`` degrees of
      freedom. Repetitions shared between points (the same column, the same random draw) are
      thereby accounted for.
    - `se` given: weights ``(y / se)**2``, normal quantile.
    - neither: ordinary least squares, variance from the residuals, t quantile of ``points - 2``.

    In the first two cases, when residuals exceed what the errors explain (a chi-square test at
    5 %), the interval is widened to the one that residuals give, if that is wider.

    Parameters
    ----------
    x : array-like, shape (points,)
        Positive; at least three distinct values.
    y : array-like, shape (points,) or (points, repetitions)
        Positive (for repetitions: positive means).
    se : array-like, shape (points,), optional
        Standard error of each `y`; only for one-dimensional `y`.
    confidence : float, default=0.95
        Coverage of the interval.

    Returns
    -------
    RateFit

    Raises
    ------
    ValueError
        For shapes that do not fit, values that are not positive and finite, or fewer than three
        distinct abscissae.

    Examples
    --------
    >>> import numpy as np
    >>> m = np.array([10, 100, 1000])
    >>> print(fit_rate(m, 3 / np.sqrt(m)))
    -0.500 [-0.500, -0.500]
    """
    x = np.asarray(x, dtype=float)
    y = np.asarray(y, dtype=float)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence}: expected a number between 0 and 1")
    if x.ndim != 1 or y.ndim not in (1, 2) or len(y) != len(x):
        raise ValueError(
            f"x has shape {x.shape} and y {y.shape}: expected (points,) and (points,) or "
            "(points, repetitions)"
        )
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim == 2 and se is not None:
        raise ValueError("se is for one-dimensional y: repetitions bring their own errors")
    if not (np.isfinite(x).all() and (x > 0).all()):
        raise ValueError(f"x must be positive and finite to have a logarithm, got {x.tolist()}")
    if not np.isfinite(y).all():
        raise ValueError("y holds NaN or infinity: a power law needs finite values")
    if len(np.unique(x)) < 3:
        raise ValueError(f"a rate needs at least three distinct x, got {np.unique(x).tolist()}")

    mean = y.mean(axis=1) if y.ndim == 2 else y
    if not (mean > 0).all():
        i = int(np.argmin(mean))
        raise ValueError(f"y at x={x[i]:g} is {mean[i]:g}: a power law needs positive values")
    if y.ndim == 2:
        error = y.std(axis=1, ddof=1) / np.sqrt(y.shape[1])
        kind = "repetitions"
    elif se is not None:
        error = np.broadcast_to(np.asarray(se, dtype=float), mean.shape)
        if not (np.isfinite(error).all() and (error >= 0).all()):
            raise ValueError(f"se must be finite and not negative, got {error.tolist()}")
        kind = "standard errors"
    else:
        error = np.zeros_like(mean)
        kind = "residuals"

    relative = error / mean
    # a point without error would take all the weight: then every point counts the same
    exact = bool((relative == 0).any())
    weight = np.ones_like(mean) if exact else relative**-2.0
    log_x, log_y = np.log(x), np.log(mean)
    centred = log_x - np.average(log_x, weights=weight)
    information = np.sum(weight * centred**2)
    a = weight * centred / information
    slope = float(a @ log_y)
    intercept = float(np.average(log_y, weights=weight) - slope * np.average(log_x, weights=weight))
    residual = log_y - intercept - slope * log_x
    freedom = len(x) - 2
    scatter = float(np.sum(weight * residual**2) / freedom)
    residual_se = float(np.sqrt(scatter / information))
    upper = 0.5 + confidence / 2

    width, slope_se = float(stats.t.ppf(upper, freedom)) * residual_se, residual_se
    if kind != "residuals":
        if kind == "repetitions":
            repetitions = y.shape[1]
            own_se = float(np.std(a @ (y / mean[:, None]), ddof=1) / np.sqrt(repetitions))
            own_width = float(stats.t.ppf(upper, repetitions - 1)) * own_se
        else:
            own_se = float(np.sqrt(np.sum((a * relative) ** 2)))
            own_width = float(stats.norm.ppf(upper)) * own_se
        misfit = exact or stats.chi2.sf(scatter * freedom, freedom) < 0.05
        if misfit and width > own_width:
            kind += ", widened by residuals"
        else:
            width, slope_se = own_width, own_se
    return RateFit(
        slope=slope,
        low=slope - width,
        high=slope + width,
        intercept=intercept,
        se=slope_se,
        confidence=confidence,
        points=len(x),
        method=kind,
    )
