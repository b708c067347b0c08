"""Methods compared on the same draws: which are level with the best, and which of them to take."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .means import Score, mean_se
from .trials import Trial

__all__ = ["LEVEL", "NO_TIME", "Answer", "best_method"]

#: A method with an error this many times the best one's is not level with it, however noisy.
LEVEL = 1.25

#: Methods that take less than this many seconds are equally quick.
NO_TIME = 0.1


class Answer(NamedTuple):
    """Which method to take.

    Attributes
    ----------
    best : str
        The method with the best mean.
    score : Score
        Its mean and standard error over the draws.
    level : list of str
        The other methods that are statistically tied with it.
    quickest : str
        The quickest of all these.
    """

    best: str
    score: Score
    level: list[str]
    quickest: str


def best_method(trials: Mapping[str, Sequence[Trial]], *, higher_is_better: bool) -> Answer:
    """The best method, those level with it, and the quickest of them.

    A method is *level* with the best one when the mean of their differences, paired by draw, lies
    within two of its standard errors and its error is at most `LEVEL` times as large. Risks, which
    are positive and skewed, are compared by their logarithms. Among these methods the quickest (fit
    and prediction) is the answer; of those below `NO_TIME`, which count as equally quick, the best.

    Parameters
    ----------
    trials : mapping
        At least two draws of each method, in the same order for all of them.
    higher_is_better : bool
        Scores are accuracies in per cent; otherwise they are risks.

    Raises
    ------
    ValueError
        With fewer than two draws.

    Examples
    --------
    >>> slow, fast = [Trial(s, 0, 9, 1, 0) for s in (3, 5)], [Trial(s, 0, 1, 1, 0) for s in (2, 5)]
    >>> best_method({"slow": slow, "fast": fast}, higher_is_better=True).quickest
    'fast'
    """
    found = {method: np.array(draws, dtype=float) for method, draws in trials.items()}

    def merits(method: str) -> NDArray:
        return found[method][:, 0] if higher_is_better else -np.log(found[method][:, 0])

    def error(method: str) -> float:
        score = float(found[method][:, 0].mean())
        return 100 - score if higher_is_better else score

    def seconds(method: str) -> float:
        return max(float(found[method][:, 2:4].sum(axis=1).mean()), NO_TIME)

    best = max(found, key=lambda m: merits(m).mean())
    level = [best]
    for method in found:
        behind = _score(merits(best) - merits(method))
        close = error(method) <= LEVEL * error(best)
        if method != best and close and behind.mean <= 2 * behind.se:
            level.append(method)
    quickest = min(level, key=lambda m: (seconds(m), -merits(m).mean()))
    return Answer(best, _score(found[best][:, 0]), level[1:], quickest)


def _score(samples: NDArray) -> Score:
    mean, se = mean_se(samples)
    return Score(float(mean), float(se))
