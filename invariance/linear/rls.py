"""Regularised least squares with the whole lambda path by leave-one-out from one factorisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import (
    check_array,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from .classes import OneVsRest, check_two_classes, misclassification

__all__ = ["LeaveOneOutPath", "RLSClassifier", "RLSRegressor"]


@dataclass
class LeaveOneOutPath:
    """The ridge problem in its eigenbasis: every lambda costs two thin products.

    With (centred) features Phi and ``Phi Phi^T = Q diag(L) Q^T``, the fitted values at lambda are
    ``Q diag(L / (L + n lambda)) Q^T y``.

    Attributes
    ----------
    Q : ndarray of shape (n, k), orthonormal columns
    L : ndarray of shape (k,), non-negative
    y : ndarray of shape (n, t), centred targets
    outside : ndarray of shape (n,)
        Squared norm of each unit vector's part outside the columns of Q (and the constant
        vector, when centred); zero where Q is complete.
    """

    Q: NDArray
    L: NDArray
    y: NDArray
    outside: NDArray

    def residuals(self, lam: float) -> NDArray:
        """Leave-one-out residuals y_i - f_{-i}(x_i) at one lambda, shape (n, t).

        The identity is (y_i - f(x_i)) / (1 - h_i) with h the diagonal of the hat matrix; numerator
        and denominator are written as sums in which nothing cancels when the fit interpolates
        (h near 1).
        """
        ridge = len(self.y) * lam
        shrink = ridge / (self.L + ridge)
        inside = self.Q.T @ self.y
        left = self.y + self.Q @ ((shrink - 1)[:, None] * inside)
        if not self.outside.any():
            left = self.Q @ (shrink[:, None] * inside)
        one_minus_h = self.outside + np.square(self.Q) @ shrink
        return left / one_minus_h[:, None]

    def dual_coefficients(self, lam: float) -> NDArray:
        """(Phi Phi^T + n lambda)^-1 y on the span of Q, shape (n, t)."""
        return self.Q @ ((self.Q.T @ self.y) / (self.L + len(self.y) * lam)[:, None])


class _RegularisedLeastSquares(BaseEstimator):
    """What the classifier and the regressor share."""

    def __init__(self, lambdas=None, kernel=None, fit_intercept: bool = True):
        self.lambdas = lambdas
        self.kernel = kernel
        self.fit_intercept = fit_intercept

    def _fit(self, X: NDArray, Y: NDArray, loss) -> None:
        """Fit targets Y of shape (n, t); ``loss(residuals) -> float`` ranks the lambdas."""
        n = len(X)
        if n < 2:
            raise ValueError(
                f"leave-one-out needs at least 2 samples, got n_samples = {n} (1 sample)"
            )
        X = X.astype(np.float64, copy=False)
        self._y_mean = Y.mean(axis=0) if self.fit_intercept else np.zeros(Y.shape[1])
        if self.kernel is None:
            self._x_mean = X.mean(axis=0) if self.fit_intercept else np.zeros(X.shape[1])
            features = X - self._x_mean
            dual = X.shape[1] > n
            gram = features @ features.T if dual else features.T @ features
        else:
            gram, dual = self._train_gram(X), True
        Y_centred = Y - self._y_mean
        if dual:
            path = LeaveOneOutPath(*self._dual_basis(gram), Y_centred, np.zeros(n))
        else:
            path = self._primal_path(features, gram, Y_centred)

        self.lambdas_ = self._grid(path.L, n)
        self.loo_errors_ = np.array([loss(path.residuals(lam)) for lam in self.lambdas_])
        # Among equals the strongest regularisation wins: the grid is sorted upwards.
        best = len(self.lambdas_) - 1 - int(np.argmin(self.loo_errors_[::-1]))
        self.lambda_ = float(self.lambdas_[best])
        self.loo_decision_ = Y - path.residuals(self.lambda_)
        dual_coef = path.dual_coefficients(self.lambda_)
        if self.kernel is None:
            coef = features.T @ dual_coef
            self.coef_ = coef.T
            self.intercept_ = self._y_mean - self._x_mean @ coef
        else:
            # The coefficients sum to zero, so centring shows only in the constant.
            self.dual_coef_ = dual_coef
            self.intercept_ = self._y_mean - self._gram_mean @ dual_coef

    def _train_gram(self, X: NDArray) -> NDArray:
        """The Gram matrix of the training points, centred when there is an intercept."""
        if self.kernel == "precomputed":
            gram = X
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"a precomputed Gram matrix must be square at fit, got shape {X.shape}"
                )
        else:
            gram = pairwise_kernels(X, metric=self.kernel)
            self.X_fit_ = X
        gap = np.abs(gram - gram.T).max()
        if gap > 1e-6 * np.abs(gram).max():
            raise ValueError(
                f"the Gram matrix is not symmetric (largest difference {gap:.2g}); use "
                "(K + K.T) / 2, or a learner for indefinite kernels such as SVC"
            )
        self._gram_mean = np.zeros(len(gram))
        if not self.fit_intercept:
            return gram
        self._gram_mean = gram.mean(axis=0)
        return gram - self._gram_mean - self._gram_mean[:, None] + gram.mean()

    def _dual_basis(self, gram: NDArray) -> tuple[NDArray, NDArray]:
        """All eigenvectors of the Gram matrix but, when centred, the constant one."""
        if self.fit_intercept:
            # The constant vector has eigenvalue zero, lost among others near zero; lifted above
            # all of them it comes out alone, and last.
            gram = gram + (2 * np.trace(gram) + 1) / len(gram)
        values, vectors = linalg.eigh(gram, check_finite=False)
        if self.fit_intercept:
            values, vectors = values[:-1], vectors[:, :-1]
        return vectors, np.maximum(values, 0)

    def _primal_path(self, features: NDArray, covariance: NDArray, Y: NDArray) -> LeaveOneOutPath:
        values, vectors = linalg.eigh(covariance, check_finite=False)
        keep = values > values[-1] * len(features) * np.finfo(float).eps
        values, vectors = values[keep], vectors[:, keep]
        Q = features @ (vectors / np.sqrt(values))
        outside = 1 - np.square(Q).sum(axis=1) - self.fit_intercept / len(features)
        full = len(values) == len(features) - self.fit_intercept
        return LeaveOneOutPath(Q, values, Y, np.zeros(len(Q)) if full else outside.clip(0))

    def _grid(self, values: NDArray, n: int) -> NDArray:
        if self.lambdas is None:
            # Constant features leave no eigenvalue: any lambda then gives the mean.
            return (values.max(initial=0) / n or 1.0) * np.logspace(-10, 0, 31)
        grid = np.sort(np.atleast_1d(np.asarray(self.lambdas, dtype=float)))
        if grid.ndim != 1 or not grid.size or not np.all(grid > 0):
            raise ValueError(f"lambdas must be positive numbers, got {self.lambdas!r}")
        return grid

    def _decide(self, X: ArrayLike) -> NDArray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        if self.kernel is None:
            return X @ self.coef_.T + self.intercept_
        gram = (
            X
            if self.kernel == "precomputed"
            else pairwise_kernels(X, self.X_fit_, metric=self.kernel)
        )
        return gram @ self.dual_coef_ + self.intercept_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


class RLSRegressor(MultiOutputMixin, RegressorMixin, _RegularisedLeastSquares):
    r"""Regularised least squares regression, lambda chosen by exact leave-one-out.

    Minimises (Mroueh et al. 2015, section 6)

    .. math:: \frac{1}{N} \lVert Y - \Phi W \rVert_F^2 + \lambda \lVert W \rVert_F^2.

    One eigendecomposition, of the p x p covariance or of the n x n Gram matrix, whichever is
    smaller, gives the leave-one-out error of every lambda.

    Parameters
    ----------
    lambdas : array-like of positive floats or None
        The path; None takes 31 values over ten decades below the largest eigenvalue of
        the covariance.
    kernel : Kernel, str, callable, "precomputed" or None
        None is linear on the features as given; otherwise the dual problem with this kernel.
    fit_intercept : bool
        Whether to centre features (in feature space, for kernels) and targets.

    Attributes
    ----------
    lambda_, lambdas_, loo_errors_ : the chosen value, the path, its mean squared leave-one-out
        errors, shape (q,)
    loo_decision_ : ndarray of shape (n, t), leave-one-out predictions at ``lambda_``
    coef_, intercept_ : when ``kernel`` is None
    dual_coef_ : ndarray of shape (n, t), with a kernel

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(10.0)[:, None]
    >>> RLSRegressor().fit(X, 2 * X[:, 0] + 1).predict([[20.0]]).round(3)
    array([41.])
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> RLSRegressor:
        """Fit features or Gram matrix X of shape (n, p) to targets of shape (n,) or (n, t)."""
        X, y = validate_data(
            self, X, y, dtype=(np.float64, np.float32), multi_output=True, y_numeric=True
        )
        self._flat = y.ndim == 1
        Y = check_array(y, ensure_2d=False, dtype=np.float64).reshape(len(y), -1)
        self._fit(X, Y, loss=lambda residuals: np.mean(np.square(residuals)))
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """Predicted targets, of shape (n,) or (n, t) as in `fit`."""
        decided = self._decide(X)
        return decided[:, 0] if self._flat else decided


class RLSClassifier(OneVsRest, _RegularisedLeastSquares):
    """Regularised least squares classification on one-vs-all +-1 targets.

    The lambda with the best leave-one-out accuracy is taken; equal accuracies are told apart by
    the squared error. Parameters and attributes are those of `RLSRegressor`; ``loo_errors_`` holds
    leave-one-out misclassification rates (plus a tie-breaking share of squared error below half
    a sample).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(RLSClassifier().fit(X, y).score(X, y) > 0.8)
    True
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> RLSClassifier:
        """Fit features or Gram matrix X of shape (n, p) to labels (or a multilabel matrix)."""
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32), multi_output=True)
        check_classification_targets(y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        self._binarizer = LabelBinarizer(pos_label=1, neg_label=-1)
        Y = self._binarizer.fit_transform(y).astype(np.float64)
        self._multilabel = type_of_target(y) == "multilabel-indicator"
        self.classes_ = self._binarizer.classes_
        if not self._multilabel:
            check_two_classes(self.classes_)

        def loss(residuals: NDArray) -> float:
            decided = Y - residuals
            if Y.shape[1] == 1 or self._multilabel:
                wrong = np.mean((decided > 0) != (Y > 0))
            else:
                wrong = np.mean(decided.argmax(axis=1) != Y.argmax(axis=1))
            return misclassification(wrong, residuals)

        self._fit(X, Y, loss)
        return self

    def _labels(self, decided: NDArray) -> NDArray:
        """Labels, or the multilabel matrix."""
        return (decided > 0).astype(int) if self._multilabel else super()._labels(decided)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
