"""Trials of methods on the same draws of the data: results, costs, and the choice of a method."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from invariance.evaluation import Score, mean_se, share_of_changes
from invariance.evaluation.selection import Predict
from invariance.groups import Transformations
from invariance.spectral import invariance_discrepancy

#: A method with an error this many times the best one's is not level with it, however noisy.
LEVEL = 1.25

#: Methods that take less than this many seconds count as equally quick.
NO_TIME = 0.1


class Trial(NamedTuple):
    """One method fitted once.

    Attributes
    ----------
    score : float
        Accuracy or risk on test points.
    discrepancy : float
        Departure of the fitted function from invariance.
    fit_s, predict_s : float
        CPU seconds of fitting, choice of parameters included, and of predicting all test points.
    peak_mb : float
        Largest memory of NumPy arrays and Python objects allocated by both, in MiB; NaN if it was
        not measured.
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

    ``fit`` does everything from training data to a function that predicts; ``score`` takes its
    predictions at test points, ``discrepancy`` the function itself. Memory is measured by
    `tracemalloc`; ``apart`` fits and predicts once more for that, since it slows the clock.

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
        score=float(score(predicted)),
        discrepancy=float(discrepancy(predict)),
        fit_s=fitted - start,
        predict_s=done - fitted,
        peak_mb=peak,
    )


def classification_trial(
    fit: Callable[[], Predict],
    X: NDArray,
    y: NDArray,
    *,
    group: Transformations,
    n_transformed: int = 10,
    memory: bool,
    apart: bool,
) -> Trial:
    """Return the trial of a classifier on test points: its accuracy in per cent.

    The discrepancy is the share of classes of the first points that change with a transformation.
    """
    return trial(
        fit,
        X,
        score=lambda predicted: 100 * np.mean(predicted == y),
        discrepancy=lambda predict: share_of_changes(predict, group, X=X[:n_transformed]),
        memory=memory,
        apart=apart,
    )


def regression_trial(
    fit: Callable[[], Predict],
    X: NDArray,
    y: NDArray,
    *,
    group: Transformations,
    n_elements: int,
    risk: Callable[[NDArray], NDArray] = np.square,
    memory: bool,
    apart: bool,
) -> Trial:
    """Return the trial of a regression on test points: the mean risk of its errors.

    The discrepancy is the relative `invariance_discrepancy` at the first ten points.
    """

    def discrepancy(predict: Predict) -> float:
        value = invariance_discrepancy(predict, group, X[:10], n_elements=n_elements, relative=True)
        return float(value)

    return trial(
        fit,
        X,
        score=lambda predicted: np.mean(risk(predicted - y)),
        discrepancy=discrepancy,
        memory=memory,
        apart=apart,
    )


def all_trials(
    compare: Callable[[str, int, int], Trial],
    methods: Iterable[str],
    sizes: Sequence[int],
    n_draws: int,
) -> dict[tuple[str, int], list[Trial]]:
    """Return the trials ``compare(method, n, draw)`` of all draws, by method and sample size."""
    trials = {}
    for method in methods:
        for n in sizes:
            trials[method, n] = [compare(method, n, draw) for draw in range(n_draws)]
    return trials


class Answer(NamedTuple):
    """The best method and its score, the methods level with it, and the quickest of all these."""

    best: str
    score: Score
    level: list[str]
    quickest: str


def best_method(trials: Mapping[str, Sequence[Trial]], *, higher_is_better: bool) -> Answer:
    """Return the best method, the methods level with it, and the quickest of them.

    A method is *level* with the best one if the mean of their differences, paired by draw, lies
    within two of its standard errors and its error is at most `LEVEL` times as large. Methods below
    `NO_TIME` (fit and prediction) count as equally quick; the best of them is the quickest.

    There are at least two draws of each method, in the same order for all of them. If higher is
    better, scores are accuracies in per cent; otherwise risks, compared by their logarithms.

    >>> slow, fast = [Trial(s, 0, 9, 1, 0) for s in (3, 5)], [Trial(s, 0, 1, 1, 0) for s in (2, 5)]
    >>> best_method({"slow": slow, "fast": fast}, higher_is_better=True).quickest
    'fast'
    """
    scores = {}
    merits = {}
    errors = {}
    seconds = {}
    for method, draws in trials.items():
        scores[method] = np.array([draw.score for draw in draws], dtype=float)
        if higher_is_better:
            merits[method] = scores[method]
            errors[method] = abs(100 - scores[method].mean())
        else:
            merits[method] = -np.log(scores[method])
            errors[method] = abs(scores[method].mean())
        durations = [draw.fit_s + draw.predict_s for draw in draws]
        seconds[method] = max(np.mean(durations), NO_TIME)
    best = max(scores, key=lambda method: merits[method].mean())
    level = [best]
    for method in scores:
        difference = Score(*mean_se(merits[best] - merits[method]))
        is_close = errors[method] <= LEVEL * errors[best]
        if method != best and is_close and difference.mean <= 2 * difference.se:
            level.append(method)
    quickest = min(level, key=lambda method: (seconds[method], -merits[method].mean()))
    return Answer(best, Score(*mean_se(scores[best])), level[1:], quickest)
