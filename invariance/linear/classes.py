"""Labels, losses and probabilities from scores in columns, as all classifiers here have them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, softmax
from sklearn.base import ClassifierMixin

from ..core.parameters import Has, OneOf

# Standard deviation of the prior of log a, around the slope without noise: a factor of 1.6.
_FREEDOM = 0.5
#: What may be given for a parameter ``class_weight``.
CLASS_WEIGHT = None | OneOf("balanced") | Has("a dictionary from classes to weights", "keys")


def check_two_classes(classes: NDArray) -> None:
    """Refuse a single class."""
    if len(classes) < 2:
        raise ValueError(
            "classification needs labels of at least two classes, got the one class "
            f"{str(classes[0])!r}"
        )


def misclassification(wrong: NDArray, residuals: NDArray, weights: NDArray | None = None) -> float:
    """Weighted share of wrong labels, plus a share of the squared error that only breaks ties.

    Weights are positive; the tie-breaker stays below half the smallest.
    """
    weights = np.ones(len(wrong)) if weights is None else weights
    squared = np.average(np.square(residuals).mean(axis=1), weights=weights)
    smallest = weights.min() / weights.sum()
    share = np.average(wrong.ravel(), weights=weights)
    return float(share + 0.5 * smallest * squared / (1 + squared))


class OneVsRest(ClassifierMixin):
    """Labels from scores in columns: one a class, or a single one whose sign tells two apart.

    Subclasses have ``classes_`` and ``_decide``, from points to scores of shape (n, n_classes), or
    (n, 1) for two classes.
    """

    def _labels(self, decided: NDArray) -> NDArray:
        single = decided.shape[1] == 1
        return self.classes_[(decided[:, 0] > 0).astype(int) if single else decided.argmax(axis=1)]

    def decision_function(self, X: ArrayLike) -> NDArray:
        """Scores, shape (n,) for two classes and (n, classes) otherwise."""
        decided = self._decide(X)
        return decided[:, 0] if decided.shape[1] == 1 else decided

    def predict(self, X: ArrayLike) -> NDArray:
        """Predicted labels, shape (n,)."""
        return self._labels(self._decide(X))


def probabilities(values: NDArray, slope: float, noise: float) -> NDArray:
    r"""Softmax of ``slope`` times the values, of which labels at random take the share ``noise``.

    .. math:: P(k \mid f) = (1 - \varepsilon) \frac{e^{a f_k}}{\sum_l e^{a f_l}}
              + \frac{\varepsilon}{K}
    """
    return (1 - noise) * softmax(slope * values, axis=1) + noise / values.shape[1]


def fit_calibration(values: NDArray, truth: NDArray, weights: NDArray) -> tuple[float, float]:
    """Slope and share of noise, with which `probabilities` fit values of points that were left out.

    By maximum likelihood, with a share of 1 / (n + 2) of each point given to the other classes, as
    Platt (1999) does, so that the slope stays finite where the classes are separable. The slope
    alone is "temperature scaling" (Guo et al. 2017), which cannot say that a point far from the
    boundary is as often mislabelled as one near to it. A normal prior keeps the second parameter
    from being fitted to a few points. ``truth`` numbers the columns of the points' classes.

    >>> values = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> found = probabilities(values, *fit_calibration(values, np.array([0, 0, 1, 1]), np.ones(4)))
    >>> bool(0.5 < found[0, 0] < 0.75)  # three of four are right
    True
    """
    n, k = values.shape
    scale = float(np.ptp(values, axis=1).max()) or 1.0
    values = values / scale
    targets = np.full((n, k), 1 / (n + 2) / (k - 1))
    targets[np.arange(n), truth] = 1 - 1 / (n + 2)
    # as many points as the weights are worth
    targets *= weights[:, None] * (weights.sum() / np.square(weights).sum())

    def plain(log_slope: float) -> float:
        return -float(np.sum(targets * log_softmax(values * np.exp(log_slope), axis=1)))

    # convex in the slope, hence with one minimum in its logarithm
    start = float(minimize_scalar(plain, bounds=(-12, 12), method="bounded").x)

    def loss(free: NDArray) -> tuple[float, NDArray]:
        scaled, noise = values * np.exp(free[0]), expit(free[1])
        soft = softmax(scaled, axis=1)
        mixed = (1 - noise) * soft + noise / k
        pull = -targets / mixed
        steeper = (1 - noise) * soft * (scaled - np.sum(soft * scaled, axis=1, keepdims=True))
        noisier = noise * (1 - noise) * (1 / k - soft)
        gap = (free[0] - start) / _FREEDOM
        value = -np.sum(targets * np.log(mixed)) + gap**2 / 2
        return value, np.array([np.sum(pull * steeper) + gap / _FREEDOM, np.sum(pull * noisier)])

    found = min(
        (
            minimize(loss, first, jac=True, bounds=[(-12, 12), (-12, 4)], method="L-BFGS-B")
            for first in ([start, -5.0], [start + 2 * _FREEDOM, -1.0])
        ),
        key=lambda result: float(result.fun),
    )
    return float(np.exp(found.x[0])) / scale, float(expit(found.x[1]))
