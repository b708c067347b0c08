"""Support-vector machines on Gram matrices, and their parameters by cross-validation."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from sklearn.svm import SVC

Key = TypeVar("Key", bound=Hashable)
MAX_STEPS = 10_000  # indefinite matrices may send the solver in circles


def machine(gram: NDArray, y: NDArray, C: float = 1) -> SVC:
    """Return a machine fitted to a Gram matrix."""
    return SVC(C=C, kernel="precomputed", max_iter=MAX_STEPS).fit(gram, y)


def best_cost(gram: NDArray, y: NDArray, costs: Sequence[float]) -> tuple[float, float]:
    """Return the best accuracy over five folds of the training sample, and the first C with it."""
    folds = list(KFold(5, shuffle=True, random_state=0).split(gram))
    accuracies = []
    for C in costs:
        fitted = [machine(gram[np.ix_(train, train)], y[train], C) for train, _ in folds]
        scores = []
        for model, (train, test) in zip(fitted, folds, strict=True):
            scores.append(model.score(gram[np.ix_(test, train)], y[test]))
        accuracies.append(np.mean(scores))
        if all(np.abs(model.dual_coef_).max() < C for model in fitted):
            # The margin is hard: a larger C changes nothing.
            break
    return max(accuracies), costs[int(np.argmax(accuracies))]


def best_candidate(
    grams: Mapping[Key, NDArray], y: NDArray, costs: Sequence[float]
) -> tuple[Key, float]:
    """Return the key of the Gram matrix with the best accuracy by cross-validation, and its C."""
    results = {key: best_cost(gram, y, costs) for key, gram in grams.items()}
    best = max(results, key=lambda key: results[key][0])
    return best, results[best][1]


def chosen_accuracy(
    grams: Mapping[Key, NDArray],
    test_rows: Mapping[Key, NDArray],
    y: NDArray,
    y_test: NDArray,
    costs: Sequence[float],
) -> float:
    """Return the test accuracy in per cent with the matrix and the C that cross-validation takes.

    `grams` are candidates, `test_rows` their values between test and training points.
    """
    key, C = best_candidate(grams, y, costs)
    return 100 * machine(grams[key], y, C).score(test_rows[key], y_test)
