"""Power laws fitted with confidence intervals."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ..core.arrays import as_floats, check_finite
from ..core.parameters import ParameterError


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
      ``std(z) / sqrt(repetitions)``, with a t quantile of ``repetitions - 1`` degrees of freedom.
      Repetitions shared between points (the same column, the same draw) are accounted for.
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

    Raises
    ------
    ValueError
        For shapes that do not fit, values that are not real, positive and finite, or fewer than
        three distinct abscissae.

    Examples
    --------
    >>> m = np.array([10, 100, 1000])
    >>> print(fit_rate(m, 3 / np.sqrt(m)))
    -0.500 [-0.500, -0.500]
    """
    return _fit(*_checked(x, y, se, confidence), confidence)


def _checked(
    x: ArrayLike, y: ArrayLike, se: ArrayLike | None, confidence: float
) -> tuple[NDArray, NDArray, NDArray | None]:
    """x, y and its standard errors; None where repetitions or residuals tell them."""
    x, y = as_floats("x", x), as_floats("y", y)
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence={confidence}: expected a number between 0 and 1")
    if x.ndim != 1 or y.ndim not in (1, 2) or len(y) != len(x):
        raise ParameterError(
            f"x has shape {x.shape} and y {y.shape}: expected (points,) and (points,) or "
            "(points, repetitions)"
        )
    if not (np.isfinite(x).all() and (x > 0).all()):
        raise ParameterError(f"x must be positive and finite to have a logarithm, got {x.tolist()}")
    if len(np.unique(x)) < 3:
        raise ParameterError(f"a rate needs three distinct x, got {np.unique(x).tolist()}")
    check_finite("y", y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    mean = y.reshape(len(x), -1).mean(axis=1)
    if not (mean > 0).all():
        i = int(np.argmin(mean))
        raise ParameterError(f"y at x={x[i]:g} is {mean[i]:g}: a power law needs positive values")
    if se is None:
        return x, y, None
    if y.ndim == 2:
        raise ParameterError("se is for one-dimensional y: repetitions bring their own errors")
    error = np.broadcast_to(as_floats("se", se), y.shape)
    if not (np.isfinite(error).all() and (error >= 0).all()):
        raise ParameterError(f"se must be finite and not negative, got {error.tolist()}")
    return x, y, error


def _fit(x: NDArray, y: NDArray, error: NDArray | None, confidence: float) -> RateFit:
    mean, kind = y, "residuals" if error is None else "standard errors"
    if y.ndim == 2:
        mean, kind = y.mean(axis=1), "repetitions"
        error = y.std(axis=1, ddof=1) / np.sqrt(y.shape[1])
    relative = np.zeros_like(mean) if error is None else error / mean
    # a point without error would take all the weight: then every point counts the same
    exact = bool((relative == 0).any())
    weight = np.ones_like(mean) if exact else relative**-2.0
    log_x, log_y = np.log(x), np.log(mean)
    centred = log_x - np.average(log_x, weights=weight)
    information = np.sum(weight * centred**2)
    a = weight * centred / information
    slope = float(a @ log_y)
    intercept = float(np.average(log_y, weights=weight) - slope * np.average(log_x, weights=weight))
    freedom, upper = len(x) - 2, 0.5 + confidence / 2
    squares = float(np.sum(weight * (log_y - intercept - slope * log_x) ** 2))
    se = float(np.sqrt(squares / freedom / information))
    width = float(stats.t.ppf(upper, freedom)) * se
    if kind != "residuals":
        if kind == "repetitions":
            repetitions = y.shape[1]
            own = float(np.std(a @ (y / mean[:, None]), ddof=1) / np.sqrt(repetitions))
            own_width = float(stats.t.ppf(upper, repetitions - 1)) * own
        else:
            own = float(np.sqrt(np.sum((a * relative) ** 2)))
            own_width = float(stats.norm.ppf(upper)) * own
        if (exact or stats.chi2.sf(squares, freedom) < 0.05) and width > own_width:
            kind += ", widened by residuals"
        else:
            width, se = own_width, own
    return RateFit(slope, slope - width, slope + width, intercept, se, confidence, len(x), kind)
