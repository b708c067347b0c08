"""`SpectralAveragingClassifier`: classes that are exactly invariant, with probabilities."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import validate_data
from ..core.parameters import check_parameters, stores_parameters
from ..linear import RLSClassifier
from ..linear.classes import CLASS_WEIGHT, OneVsRest
from ..linear.rls import ALPHAS, SCORING
from .invariants import InvariantLearner

__all__ = ["SpectralAveragingClassifier"]


@stores_parameters
class SpectralAveragingClassifier(OneVsRest, InvariantLearner):
    """Classes by ridge regression on +-1 targets among the invariant functions of a basis.

    `SpectralAveraging` with ``estimator="ridge"`` for classes: decision functions, labels and
    probabilities are exactly invariant. Alpha and the calibration of the probabilities come from
    leave-one-out, as in `RLSClassifier`, which does the fit.

    Parameters
    ----------
    basis, group, degree, cutoff, smoothness, method
        As in `SpectralAveraging`.
    alphas, scoring, class_weight
        As in `RLSClassifier`.

    Attributes
    ----------
    classes_ : ndarray
    basis_, invariant_dimensions_, vectors_, oracle_calls_
        As in `SpectralAveraging`.
    coef_ : ndarray of shape (D, n_classes), or (D, 1) for two classes
        The decision functions' coefficients in the full basis.
    model_ : RLSClassifier
        Fitted on the values of the invariant functions but the constant one.

    Examples
    --------
    Do two particles on a sphere touch?

    >>> from invariance.groups import Rotations3D
    >>> from invariance.spectral import Product, Sphere
    >>> pair = Product([Sphere(3)] * 2, exchangeable=True)
    >>> X = pair.sample(300, random_state=0)
    >>> near = (X[:, :3] * X[:, 3:]).sum(axis=1) > 0.5
    >>> model = SpectralAveragingClassifier(pair, Rotations3D(), degree=24).fit(X[:200], near[:200])
    >>> bool(model.score(X[200:], near[200:]) > 0.9), bool(model.discrepancy(X) < 1e-12)
    (True, True)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    """

    _: KW_ONLY
    alphas: Annotated[ArrayLike | None, ALPHAS] = None
    scoring: Annotated[Any, SCORING] = None
    class_weight: Annotated[Any, CLASS_WEIGHT] = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # the default basis is periodic
        return tags

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> SpectralAveragingClassifier:
        """Fit points of the manifold, shape (n, n_features), to labels of shape (n,).

        ``sample_weight`` of shape (n,) counts as so many copies of a sample.
        """
        check_parameters(self)
        points: NDArray
        points, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        weights = self._weights(sample_weight, points)
        free, others = self._split(self._fit_features(points, weights))
        kept = others.shape[1]
        model = RLSClassifier(self.alphas, scoring=self.scoring, class_weight=self.class_weight)
        self.model_ = model.fit(
            _or_none(others), labels, None if sample_weight is None else weights
        )
        self.classes_ = model.classes_
        # The constant function is 1 or -1, and stands for the intercept.
        constant = model.intercept_ * np.sign(free[0, 0])
        inner = [constant[None], (model.coef_[:, :kept] * self._sobolev_scale()).T]
        self.coef_ = self.vectors_ @ np.concatenate(inner)
        return self

    def _values(self, X: ArrayLike) -> NDArray:
        check_is_fitted(self)
        points: NDArray = validate_data(self, X, dtype=np.float64, reset=False)
        return _or_none(self._split(self._features(points))[1])

    def _decide(self, X: ArrayLike) -> NDArray:
        values = self._values(X)
        return self.model_._decide(values)

    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Probabilities of the classes, shape (n, n_classes); see `RLSClassifier`."""
        values = self._values(X)
        return self.model_.predict_proba(values)


def _or_none(features: NDArray) -> NDArray:
    """A column of zeros where the constant is the only invariant function."""
    return features if features.shape[1] else np.zeros((len(features), 1))
