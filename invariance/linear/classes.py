"""`OneVsRest`: labels from scores, as all classifiers of this package have them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

__all__ = ["OneVsRest", "check_two_classes", "misclassification"]


def check_two_classes(classes: NDArray) -> None:
    """Refuse a single class."""
    if len(classes) < 2:
        raise ValueError(
            f"classification needs at least two classes, got the one class {str(classes[0])!r}"
        )


def misclassification(wrong: float, residuals: NDArray) -> float:
    """A share of wrong labels, plus less than half a sample that breaks ties by squared error."""
    squared = np.mean(np.square(residuals))
    return float(wrong + 0.5 / len(residuals) * squared / (1 + squared))


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
