"""Labels, losses and probabilities from scores in columns, as all classifiers here have them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from ..core.arrays import validate_data
from ..core.parameters import Has, OneOf, ParameterError, check_parameters, short
from .ridge import check_scale

#: What may be given for a parameter ``class_weight``.
CLASS_WEIGHT = None | OneOf("balanced") | Has("a dictionary from classes to weights", "keys")


def checked_labels(owner: str, name: str, given: ArrayLike) -> NDArray:
    """Labels as an array of shape (n,), which can be sorted: of one type, none missing."""
    try:
        labels = np.asarray(given)
        np.sort(labels)
    except (ValueError, TypeError):  # ragged, or labels that cannot be compared
        labels = np.array(None)
    if labels.ndim != 1 or not labels.size or np.ma.is_masked(given) or np.any(labels != labels):
        due = "one label per row, all of one type, none masked or missing"
        raise ParameterError(f"{owner} needs {name} to be {due}, got {short(given)}")
    return labels


def check_two_classes(classes: NDArray) -> None:
    """Refuse a single class."""
    if len(classes) < 2:
        found = f"the one class {str(classes[0])!r}" if len(classes) else "none of positive weight"
        raise ValueError(f"classification needs labels of at least two classes, got {found}")


def misclassification(wrong: NDArray, residuals: NDArray) -> float:
    """Share of wrong labels, plus a share of the squared error that only breaks ties."""
    return float(np.mean(wrong) + tie_breaker(np.mean(np.square(residuals)), 1 / len(wrong)))


def tie_breaker(squared: Any, smallest: float) -> Any:
    """A part of mean squared errors below half of the smallest point's share of all weights."""
    return 0.5 * smallest * squared / (1 + squared)


def signs(labels: NDArray, classes: NDArray) -> NDArray:
    """Targets 1 and -1, a column for each class, or one that says whether it is the second of two.

    >>> signs(np.array([5, 7]), np.array([5, 7])).tolist()
    [[-1.0], [1.0]]
    """
    return np.where(labels[:, None] == (classes[1:] if len(classes) == 2 else classes), 1.0, -1.0)


class OneVsRest(ClassifierMixin):
    """Labels from scores in columns: one a class, or a single one whose sign tells two apart.

    Subclasses have ``classes_`` and ``_decide``, from points to scores of shape (n, n_classes), or
    (n, 1) for two classes.
    """

    def _checked(self, X: ArrayLike, y: ArrayLike, weights: Any, **how: Any) -> tuple[NDArray, ...]:
        """Points, labels and weights of a fit."""
        check_parameters(self)
        points, labels = validate_data(self, X, y, **how)
        check_classification_targets(labels)
        check_scale(points)
        how = {"dtype": float, "ensure_non_negative": True}
        return points, labels, _check_sample_weight(weights, points, **how)

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

    The most likely ones under wide normal priors on the logarithm of the slope and on the logit of
    the noise, which keep them finite where the classes are separable. A slope alone (Guo et al.
    2017) cannot say that a point far from the boundary is as often mislabelled as one near to it.
    ``truth`` numbers the columns of the points' classes.
    """
    scale = float(np.ptp(values, axis=1).max()) or 1.0
    # as many points as the weights are worth
    counts = weights * (weights.sum() / np.square(weights).sum())

    def slope_and_noise(free: NDArray) -> tuple[float, float]:
        return float(np.exp(free[0]) / scale), float(expit(free[1]))

    def loss(free: NDArray) -> float:
        likely = probabilities(values, *slope_and_noise(free))[np.arange(len(truth)), truth]
        return float((free[0] - 2) ** 2 / 2 + (free[1] + 3) ** 2 / 8 - counts @ np.log(likely))

    return slope_and_noise(minimize(loss, [2.0, -3.0], method="Nelder-Mead").x)
