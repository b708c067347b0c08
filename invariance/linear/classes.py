"""`OneVsRest`: labels from scores, as all classifiers of this package have them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from ..core.parameters import Has, OneOf

__all__ = ["CLASS_WEIGHT", "OneVsRest", "check_two_classes", "misclassification"]

#: What may be given for a parameter ``class_weight``.
CLASS_WEIGHT = None | OneOf("balanced") | Has("a dictionary from classes to weights", "keys")


def check_two_classes(classes: NDArray, where: str = "") -> None:
    """Refuse a single class."""
    if len(classes) < 2:
        raise ValueError(
            "classification needs labels of at least two classes, got the one class "
            f"{str(classes[0])!r}" + (f" in {where}" if where else "")
        )


def misclassification(wrong: NDArray, residuals: NDArray, weights: NDArray | None = None) -> float:
    """Weighted share of wrong labels, plus a share of the squared error that only breaks ties.

    Parameters
    ----------
    wrong : ndarray of bool, shape (n,) or (n, t)
    residuals : ndarray of shape (n, t)
    weights : ndarray of shape (n,) or None
        Positive. The tie-breaker stays below half the smallest.
    """
    weights = np.ones(len(wrong)) if weights is None else weights
    rows = wrong.reshape(len(wrong), -1).mean(axis=1)
    squared = np.average(np.square(residuals).mean(axis=1), weights=weights)
    smallest = weights.min() / weights.sum() / (1 if wrong.ndim == 1 else wrong.shape[1])
    return float(np.average(rows, weights=weights) + 0.5 * smallest * squared / (1 + squared))


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
