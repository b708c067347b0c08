"""Means over repetitions with their standard errors."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Score(NamedTuple):
    """A mean and its standard error, in the units of the measurement.

    >>> Score(97.3, 0.05)
    Score(mean=97.3, se=0.05)
    >>> f"{Score(97.3, 0.05):.1f}, {Score(97.3, 0.05)}"
    '97.3 ± 0.1, 97.300 ± 0.050'
    """

    mean: float
    se: float = 0.0

    def __format__(self, spec: str) -> str:
        """Mean ± error, both by `spec` (a sign for the mean alone); without one, `with_error`."""
        if not spec:
            return with_error(self.mean, self.se)
        mean = format(self.mean, spec)
        se = format(self.se, spec.lstrip("+"))
        return f"{mean} ± {se}"


def mean_se(samples: ArrayLike) -> Score | tuple[NDArray, NDArray]:
    """Mean over repetitions (axis 0) and its standard error ``std / sqrt(repetitions)``.

    Parameters
    ----------
    samples : array-like, shape (repetitions, ...)
        At least two repetitions, finite.

    Returns
    -------
    Score
        For one-dimensional `samples`; otherwise a pair of arrays ``(mean, se)``.

    Examples
    --------
    >>> mean_se([1.0, 2.0, 3.0])
    Score(mean=2.0, se=0.5773502691896258)
    """
    if np.ma.is_masked(samples):
        raise ValueError(f"samples has {np.ma.count_masked(samples)} masked entries: fill them")
    samples = np.asarray(samples, dtype=float)
    if samples.ndim == 0 or len(samples) < 2:
        raise ValueError(
            "a standard error needs at least two repetitions along axis 0, got "
            f"samples={samples}; repeat with other seeds"
        )
    invalid = ~np.isfinite(samples)
    if invalid.any():
        index = np.argwhere(invalid)[0].tolist()
        value = samples[tuple(index)]
        raise ValueError(f"samples{index} is {value}: every sample must be finite")
    # In a unit that is a power of two, nothing is rounded and squares neither overflow nor vanish.
    _, exponents = np.frexp(np.abs(samples).max(axis=0))
    scaled = np.ldexp(samples, -exponents)
    mean = np.ldexp(scaled.mean(axis=0), exponents)
    se = np.ldexp(scaled.std(axis=0, ddof=1) / np.sqrt(len(samples)), exponents)
    if samples.ndim == 1:
        return Score(float(mean), float(se))
    return mean, se


def with_error(mean: float, se: float, decimals: int = 0) -> str:
    """A mean and its standard error in words, to two digits of the latter.

    ``decimals`` is the least number of decimals; it is two if there is no error.

    >>> with_error(53.84, 3.41), with_error(97.92, 0.0999), with_error(100.0, 0.0)
    ('53.8 ± 3.4', '97.92 ± 0.10', '100.00 ± 0.00')
    """
    digits = 2
    if 0 < se < math.inf:
        rounded = float(f"{se:.1e}")  # two digits of the rounded error: 0.0999 is 0.10
        digits = 1 - math.floor(math.log10(rounded))
    digits = min(max(decimals, digits), 12)
    return f"{mean:.{digits}f} ± {se:.{digits}f}"
