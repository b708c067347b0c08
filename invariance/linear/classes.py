"""Labels, losses and probabilities from scores in columns, for all classifiers of this package."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from ..core.arrays import refuse_masked, validate_data
from ..core.parameters import Has, OneOf, ParameterError, check_parameters, short
from .ridge import check_scale

#: Values that a parameter ``class_weight`` may have.
CLASS_WEIGHT = None | OneOf("balanced") | Has("a dictionary from classes to weights", "keys")


def checked_labels(owner: str, name: str, values: ArrayLike) -> NDArray:
    """Return labels as an array of shape (n,) that can be sorted, without missing ones."""
    try:
        labels = np.asarray(values)
        np.sort(labels)
    except (ValueError, TypeError):  # ragged, or labels that cannot be compared
        labels = np.array(None)
    is_list = labels.ndim == 1 and labels.size > 0
    is_missing = np.ma.is_masked(values) or np.any(labels != labels)
    if not is_list or is_missing:
        due = "one label per row, all of one type, none masked or missing"
        raise ParameterError(f"{owner} needs {name} to be {due}, got {short(values)}")
    return labels


def checked_weights(weights: ArrayLike | None, points: NDArray) -> NDArray:
    """Return one weight for each point, at least zero."""
    refuse_masked("sample_weight", weights)
    return _check_sample_weight(weights, points, dtype=float, ensure_non_negative=True)


def check_two_classes(classes: NDArray) -> None:
    """Refuse a single class."""
    if len(classes) >= 2:
        return
    description = "none of positive weight"
    if len(classes) == 1:
        description = f"the one class {str(classes[0])!r}"
    raise ValueError(f"classification needs labels of at least two classes, got {description}")


def misclassification(mistakes: NDArray, residuals: NDArray) -> float:
    """Share of wrong labels, plus a share of the squared error that only breaks ties."""
    mean_square = np.mean(np.square(residuals))
    return float(np.mean(mistakes) + tie_breaker(mean_square, 1 / len(mistakes)))


def tie_breaker(squares: Any, smallest: float) -> Any:
    """Increasing function of mean squared errors, below half of the smallest point's weight."""
    return 0.5 * smallest * squares / (1 + squares)


def signs(labels: NDArray, classes: NDArray) -> NDArray:
    """Targets 1 and -1: a column for each class, or one column for the second of two classes.

    >>> signs(np.array([5, 7]), np.array([5, 7])).tolist()
    [[-1.0], [1.0]]
    """
    positives = classes[1:] if len(classes) == 2 else classes
    return np.where(labels[:, None] == positives, 1.0, -1.0)


class OneVsRest(ClassifierMixin):
    """Labels from scores in columns: one column per class, or a single one for two classes.

    Subclasses have ``classes_`` and ``_decide``, from points to scores of shape (n, n_classes), or
    (n, 1) for two classes.
    """

    def _checked(
        self, X: ArrayLike, y: ArrayLike, weights: ArrayLike | None, dtype: Any, reset: bool = True
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Return checked points, labels and weights of a fit."""
        check_parameters(self)
        points, labels = validate_data(self, X, y, dtype=dtype, reset=reset)
        check_classification_targets(labels)
        check_scale(points, points.dtype)
        return points, labels, checked_weights(weights, points)

    def _labels(self, decisions: NDArray) -> NDArray:
        if decisions.shape[1] == 1:
            columns = (decisions[:, 0] > 0).astype(int)
        else:
            columns = decisions.argmax(axis=1)
        return self.classes_[columns]

    def decision_function(self, X: ArrayLike) -> NDArray:
        """Scores, shape (n,) for two classes and (n, classes) otherwise."""
        decisions = self._decide(X)
        return decisions[:, 0] if decisions.shape[1] == 1 else decisions

    def predict(self, X: ArrayLike) -> NDArray:
        """Predicted labels, shape (n,)."""
        return self._labels(self._decide(X))


def probabilities(values: NDArray, slope: float, noise: float) -> NDArray:
    r"""Softmax of ``slope`` times the values, mixed with a share ``noise`` of random labels.

    .. math:: P(k \mid f) = (1 - \varepsilon) \frac{e^{a f_k}}{\sum_l e^{a f_l}}
              + \frac{\varepsilon}{K}
    """
    n_classes = values.shape[1]
    by_values = softmax(slope * values, axis=1)
    return (1 - noise) * by_values + noise / n_classes


def fit_calibration(values: NDArray, truth: NDArray, weights: NDArray) -> tuple[float, float]:
    """Slope and noise with which `probabilities` fit the values of points that were left out.

    They are the most likely ones under wide normal priors on the logarithm of the slope and on the
    logit of the noise, which keep them finite if the classes are separable. A slope alone (Guo et
    al. 2017) cannot model labels that are as often wrong far from the boundary as near to it.
    ``truth`` holds the column of each point's class. Points without weight are left out.
    """
    counted = weights > 0
    values = values[counted]
    truth = truth[counted]
    weights = weights[counted]
    scale = float(np.ptp(values, axis=1).max()) or 1.0
    # The weights' sum is the effective number of points.
    counts = weights * (weights.sum() / np.square(weights).sum())
    points = np.arange(len(truth))

    def slope_and_noise(parameters: NDArray) -> tuple[float, float]:
        log_slope, logit_noise = parameters
        slope = np.exp(log_slope) / scale
        noise = expit(logit_noise)
        return float(slope), float(noise)

    def loss(parameters: NDArray) -> float:
        log_slope, logit_noise = parameters
        slope, noise = slope_and_noise(parameters)
        likelihoods = probabilities(values, slope, noise)[points, truth]
        prior = (log_slope - 2) ** 2 / 2 + (logit_noise + 3) ** 2 / 8
        return float(prior - counts @ np.log(likelihoods))

    optimum = minimize(loss, [2.0, -3.0], method="Nelder-Mead").x
    return slope_and_noise(optimum)
