"""What one method gives on one draw of the data, and what it costs in time and memory."""

import time
import tracemalloc
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Predict", "Trial", "trial"]

Predict = Callable[[NDArray], NDArray]


class Trial(NamedTuple):
    """One method fitted once.

    Attributes
    ----------
    score : float
        Accuracy or risk on test points.
    discrepancy : float
        How far the fitted function is from invariant.
    fit_s, predict_s : float
        CPU seconds of fitting, choice of parameters included, and of predicting all test points.
    peak_mb : float
        Largest memory of NumPy arrays and Python objects allocated by both, in MiB; NaN where it
        was not measured.
    """

    score: float
    discrepancy: float
    fit_s: float
    predict_s: float
    peak_mb: float


def trial(
    fit: Callable[[], Predict],
    points: NDArray,
    *,
    score: Callable[[NDArray], float],
    discrepancy: Callable[[Predict], float],
    memory: bool = False,
    apart: bool = True,
) -> Trial:
    """Fit, predict, and measure.

    Parameters
    ----------
    fit : callable
        Does everything from training data to a function that predicts.
    points : ndarray
        Test points.
    score : callable
        From predictions to accuracy or risk.
    discrepancy : callable
        From the fitted function to its departure from invariance.
    memory : bool
        Measure memory, by `tracemalloc`.
    apart : bool
        Fit and predict once more for that, since it slows the clock; False takes less time.

    Examples
    --------
    >>> first = lambda: lambda X: X[:, 0]
    >>> done = trial(first, np.eye(3), score=np.mean, discrepancy=lambda f: 0.0, memory=True)
    >>> round(done.score, 3), done.peak_mb < 1
    (0.333, True)
    """
    if memory and not apart:
        tracemalloc.start()
    start = time.process_time()
    predict = fit()
    fitted = time.process_time()
    predicted = predict(points)
    done = time.process_time()
    peak = np.nan
    if memory:
        if apart:
            tracemalloc.start()
            fit()(points)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
    return Trial(
        float(score(predicted)), float(discrepancy(predict)), fitted - start, done - fitted, peak
    )
