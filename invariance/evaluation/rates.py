"""Power laws fitted with confidence intervals."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ..core.arrays import as_floats, check_finite
from ..core.parameters import ParameterError
from .means import mean_se


@dataclass(frozen=True)
class RateFit:
    """A fitted power law ``y = exp(intercept) * x**slope``.

    Attributes
    ----------
    slope : float
        The exponent.
    low : float
        Lower end of its 95 % confidence interval.
    high : float
        Upper end of its 95 % confidence interval.
    intercept : float
        ``log y`` at ``x = 1``.
    se : float
        Standard error of the slope.
    points : int
        Number of abscissae.
    method : str
        Basis of the interval: "residuals", "repetitions", or "repetitions, widened by residuals"
        if a power law does not describe the means within their errors.
    """

    slope: float
    low: float
    high: float
    intercept: float
    se: float
    points: int
    method: str

    def predict(self, x: ArrayLike) -> NDArray:
        """Fitted curve at `x` (any shape)."""
        return np.exp(self.intercept) * np.asarray(x, dtype=float) ** self.slope

    def __str__(self) -> str:
        return f"{self.slope:.3f} [{self.low:.3f}, {self.high:.3f}]"


def fit_rate(x: ArrayLike, y: ArrayLike) -> RateFit:
    r"""Fit ``log y = intercept + slope log x`` by weighted least squares.

    The interval of the slope ``a^T log y`` (`a` the least-squares weights) rests

    - for `y` of shape (repetitions, points), on the repetitions: their means are fitted with
      weights ``(mean / se)**2``. By the delta method repetition `r` contributes
      ``z_r = sum_i a_i y_ri / mean_i``, also if a row is one draw, and the slope has standard
      error ``std(z) / sqrt(repetitions)``, with a t quantile of ``repetitions - 1`` degrees of
      freedom. When residuals exceed what the errors explain (a chi-square test at 5 %), the
      interval is widened to the one that residuals give;
    - for `y` of shape (points,), on the residuals of ordinary least squares, with a t quantile of
      ``points - 2``.

    Parameters
    ----------
    x : array-like, shape (points,)
        Positive; at least three distinct values.
    y : array-like, shape (points,) or (repetitions, points)
        Positive (for repetitions: positive means). Repetitions come first, as in `mean_se`.

    Examples
    --------
    >>> m = np.array([10, 100, 1000])
    >>> print(fit_rate(m, 3 / np.sqrt(m)))
    -0.500 [-0.500, -0.500]
    """
    x, y = _checked(x, y)
    if y.ndim == 1:
        line = _fitted_line(x, y, np.ones_like(y))
        return line.rate(line.width, line.se, "residuals")
    repetitions = len(y)
    mean, errors = map(np.asarray, mean_se(y))
    relative_errors = errors / mean
    # A point without error would take all the weight: then every point counts the same.
    is_exact = bool((relative_errors == 0).any())
    weights = np.ones_like(mean)
    if not is_exact:
        weights = relative_errors**-2.0
    line = _fitted_line(x, mean, weights)
    slopes = (y / mean) @ line.slope_weights
    se = float(np.std(slopes, ddof=1) / np.sqrt(repetitions))
    width = float(stats.t.ppf(0.975, repetitions - 1)) * se
    is_poor_fit = is_exact or stats.chi2.sf(line.squares, line.freedom) < 0.05
    if is_poor_fit and line.width > width:
        return line.rate(line.width, line.se, "repetitions, widened by residuals")
    return line.rate(width, se, "repetitions")


@dataclass(frozen=True)
class _Line:
    """A weighted least-squares line in logarithms, and its slope's error by the residuals."""

    slope: float
    intercept: float
    slope_weights: NDArray  #: the slope is their inner product with log y
    squares: float  #: weighted sum of squared residuals
    freedom: int
    se: float

    @property
    def width(self) -> float:
        """Half the 95 % confidence interval of the slope."""
        return float(stats.t.ppf(0.975, self.freedom)) * self.se

    def rate(self, width: float, se: float, method: str) -> RateFit:
        """Return the result of `fit_rate` with this interval and error of the slope."""
        return RateFit(
            slope=self.slope,
            low=self.slope - width,
            high=self.slope + width,
            intercept=self.intercept,
            se=se,
            points=self.freedom + 2,
            method=method,
        )


def _fitted_line(x: NDArray, y: NDArray, weights: NDArray) -> _Line:
    log_x = np.log(x)
    log_y = np.log(y)
    mean_log_x = np.average(log_x, weights=weights)
    mean_log_y = np.average(log_y, weights=weights)
    centred = log_x - mean_log_x
    information = np.sum(weights * centred**2)
    slope_weights = weights * centred / information
    slope = float(slope_weights @ log_y)
    intercept = float(mean_log_y - slope * mean_log_x)
    residuals = log_y - intercept - slope * log_x
    squares = float(np.sum(weights * residuals**2))
    freedom = len(x) - 2
    se = float(np.sqrt(squares / freedom / information))
    return _Line(slope, intercept, slope_weights, squares, freedom, se)


def _checked(abscissae: ArrayLike, ordinates: ArrayLike) -> tuple[NDArray, NDArray]:
    """Return x and y as floats; y has shape (points,) if there is one repetition."""
    x: NDArray = as_floats("x", abscissae)
    y: NDArray = as_floats("y", ordinates)
    is_pair = x.ndim == 1 and y.ndim in (1, 2)
    if not is_pair or y.shape[-1] != len(x):
        raise ParameterError(
            f"x has shape {x.shape} and y {y.shape}: expected (points,) and (points,) or "
            "(repetitions, points)"
        )
    is_positive = np.isfinite(x) & (x > 0)
    if len(np.unique(x)) < 3 or not is_positive.all():
        raise ParameterError(
            f"a rate needs three distinct x, positive and finite, got {x.tolist()}"
        )
    check_finite("y", y)
    if y.ndim == 2 and len(y) == 1:
        y = y[0]
    mean = y.reshape(-1, len(x)).mean(axis=0)
    lowest = int(np.argmin(mean))
    if mean[lowest] <= 0:
        raise ParameterError(
            f"y at x={x[lowest]:g} is {mean[lowest]:g}: a power law needs positive values"
        )
    return x, y
