"""Regularised least squares: all alphas by leave-one-out, from one factorisation."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..core.arrays import check_array, check_finite
from ..core.kernel_matrix import check_points, kernel_matrix
from ..core.parameters import Array, Flag, Has, Number, Text, check_parameters, stores_parameters
from .classes import (
    CLASS_WEIGHT,
    OneVsRest,
    check_two_classes,
    fit_calibration,
    misclassification,
    probabilities,
    signs,
)
from .gram import check_symmetric, rounding, warn_indefinite
from .ridge import LeaveOneOutPath, check_scale

#: What may be given for the parameter ``alphas``.
ALPHAS = None | Number(above=0, most=1e308) | Array(1, above=0, most=1e308)


@stores_parameters
class _RegularisedLeastSquares(BaseEstimator):
    """What the classifier and the regressor share."""

    alphas: Annotated[ArrayLike | None, ALPHAS] = None
    kernel: Annotated[
        Any, None | Text() | Has("a kernel, or a function of two points", "__call__")
    ] = None
    _: KW_ONLY
    fit_intercept: Annotated[bool, Flag()] = True

    coef_: NDArray = field(init=False)
    dual_coef_: NDArray = field(init=False)
    loo_decision_: NDArray = field(init=False)

    def _fit(self, X: NDArray, Y: NDArray, weights: NDArray) -> None:
        """Fit targets Y of shape (n, t); points without weight are as if they were not there."""
        for name in ("coef_", "dual_coef_", "kernel_", "X_fit_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        kept, n = np.flatnonzero(weights), len(X)
        if len(kept) < 2:
            given = f"{len(kept)} sample of a sample_weight above zero"
            raise ValueError(f"leave-one-out needs at least 2 samples, got {given}")
        some = X if len(kept) == n else X[np.ix_(kept, kept)] if self._given else X[kept]
        self._fit_kept(some, Y[kept], weights[kept])
        if len(kept) < n:  # what has one row per point has one for those without weight too
            left_out = self.loo_decision_
            if self.kernel is not None:
                dual, self.dual_coef_ = self.dual_coef_, np.zeros(Y.shape)
                self.dual_coef_[kept] = dual
            if hasattr(self, "kernel_"):
                self.X_fit_ = X
            self.loo_decision_ = self._decisions(X)
            self.loo_decision_[kept] = left_out

    def _fit_kept(self, X: NDArray, Y: NDArray, weights: NDArray) -> None:
        """`_fit` to points of positive weights."""
        n = len(X)
        shares = weights / weights.sum()
        roots = np.sqrt(n * shares)[:, None]
        y_mean = shares @ Y if self.fit_intercept else np.zeros(Y.shape[1])
        rooted = roots * (Y - y_mean)
        self.negative_share_ = 0.0
        if self.kernel is None:
            X = X.astype(np.float64, copy=False)
            check_scale(X)
            x_mean = shares @ X if self.fit_intercept else np.zeros(X.shape[1])
            features = X - x_mean
            if np.ptp(roots):  # a pass over the points that most need not
                features *= roots
        if self.kernel is None and X.shape[1] <= n:
            path = self._primal_path(features, rooted, shares)
        else:
            if self.kernel is None:
                gram, tolerance = features @ features.T, np.inf  # no eigenvalue is truly negative
            else:
                gram, gram_mean, tolerance = self._train_gram(X, shares)
                gram *= roots * roots.T
            values, Q = self._dual_basis(gram, roots[:, 0])
            if values.min(initial=0) < -tolerance:
                self._warn_indefinite(values, tolerance)
            path = LeaveOneOutPath(Q, values.clip(0), rooted, np.zeros(n))
        self.alphas_ = self._grid(path.L, n)
        self.loo_errors_ = np.full(len(self.alphas_), np.inf)
        blocks = path.residuals(n * self.alphas_)
        for i, left in enumerate(left for block in blocks for left in block.swapaxes(0, 1)):
            decided = Y - left / roots
            self.loo_errors_[i] = self._loss(decided, Y, weights)
            # Among equals the strongest regularisation wins: the grid is sorted upwards.
            if not self.loo_errors_[i] > self.loo_errors_.min():
                self.alpha_, self.loo_decision_ = float(self.alphas_[i]), decided
        gains = (path.L > 0) / (path.L + n * self.alpha_)
        dual_coef = path.Q @ (gains[:, None] * (path.Q.T @ rooted))
        if self.kernel is None:
            coef = features.T @ dual_coef
            self.coef_, self.intercept_ = coef.T, y_mean - x_mean @ coef
        else:
            # The coefficients sum to zero, so centring shows only in the constant.
            self.dual_coef_ = roots * dual_coef
            self.intercept_ = y_mean - gram_mean @ self.dual_coef_

    def _warn_indefinite(self, values: NDArray, tolerance: float) -> None:
        self.negative_share_ = float(-values[values < 0].sum() / np.abs(values).sum())
        count, share = int((values < -tolerance).sum()), 100 * self.negative_share_
        size = f"{count} of {len(values)} eigenvalues are negative, the lowest {values.min():.2g}"
        warn_indefinite(type(self).__name__, f"{size}, {share:.2g} % of the sum of absolute values")

    def _train_gram(self, X: NDArray, shares: NDArray) -> tuple[NDArray, NDArray, float]:
        """The training points' Gram matrix, centred when there is an intercept, and its means."""
        gram = X
        if not self._given:
            # a copy: what is set on the kernel later does not change the fitted model
            self.X_fit_, self.kernel_ = X, clone(self.kernel, safe=False)
            gram = kernel_matrix(self.kernel_, X)
        elif X.shape[0] != X.shape[1]:
            raise ValueError(f"a precomputed Gram matrix must be square at fit, got {X.shape}")
        check_finite("the Gram matrix", gram)
        check_symmetric(gram)
        tolerance, gram = rounding(gram), gram.astype(np.float64)
        mean = shares @ gram if self.fit_intercept else np.zeros(len(gram))
        if self.fit_intercept:
            gram += shares @ mean
            gram -= mean
            gram -= mean[:, None]
        return gram, mean, tolerance

    def _dual_basis(self, gram: NDArray, roots: NDArray) -> tuple[NDArray, NDArray]:
        """All eigenvectors of the Gram matrix but, when centred, the constant one."""
        if self.fit_intercept:
            # The constant vector (times roots of weights) has eigenvalue zero, lost among others
            # near zero; lifted above all of them it comes out alone, and last.
            lift = 2 * float(np.linalg.norm(gram)) or 1.0
            gram += lift / len(gram) * np.outer(roots, roots)
        values, vectors = linalg.eigh(gram, check_finite=False, overwrite_a=True)
        return (values[:-1], vectors[:, :-1]) if self.fit_intercept else (values, vectors)

    def _primal_path(self, features: NDArray, Y: NDArray, shares: NDArray) -> LeaveOneOutPath:
        # divide and conquer: three quarters of the time, for memory that is small beside features
        # (SciPy 1.13 asks for too little workspace for a single feature)
        driver = "evd" if features.shape[1] > 1 else None
        values, vectors = linalg.eigh(features.T @ features, check_finite=False, driver=driver)
        keep = values > values[-1] * len(features) * np.finfo(float).eps
        values, vectors = values[keep], vectors[:, keep]
        Q = features @ (vectors / np.sqrt(values))
        outside = np.zeros(len(Q))
        if len(values) < len(features) - self.fit_intercept:
            outside = 1 - np.einsum("ij,ij->i", Q, Q) - self.fit_intercept * shares
        return LeaveOneOutPath(Q, values, Y, outside.clip(0))

    def _grid(self, values: NDArray, n: int) -> NDArray:
        if self.alphas is None:
            # Constant features leave no eigenvalue: any alpha then gives the mean.
            return (values.max(initial=0) / n or 1.0) * np.logspace(-10, 0, 31)
        return np.sort(np.atleast_1d(np.asarray(self.alphas, dtype=float)))

    @property
    def _given(self) -> bool:
        """Whether X is the Gram matrix."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _decide(self, X: ArrayLike) -> NDArray:
        check_is_fitted(self)
        return self._decisions(check_points(self, X, getattr(self, "kernel_", None), reset=False))

    def _decisions(self, X: NDArray) -> NDArray:
        if hasattr(self, "coef_"):
            return X @ self.coef_.T + self.intercept_
        if hasattr(self, "kernel_"):
            X = kernel_matrix(self.kernel_, X, self.X_fit_)
            check_finite("the kernel between new points and training points", X)
        return X @ self.dual_coef_ + self.intercept_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._given
        return tags


class RLSRegressor(MultiOutputMixin, RegressorMixin, _RegularisedLeastSquares):
    r"""Regularised least squares regression, alpha chosen by exact leave-one-out.

    Minimises (Mroueh et al. 2015, section 6)

    .. math:: \frac{1}{N} \lVert Y - \Phi W \rVert_F^2 + \alpha \lVert W \rVert_F^2.

    One eigendecomposition, of the p x p covariance or of the n x n Gram matrix, whichever is
    smaller, gives the leave-one-out error of every alpha: what refitting without the point gives,
    in the feature space that all points fix. Negative eigenvalues of an indefinite kernel are
    clipped, with an `IndefiniteWarning`: new points are projected onto the eigenvectors of positive
    eigenvalues.

    Parameters
    ----------
    alphas : positive float, array-like of positive floats, or None
        The path; None takes 31 values over ten decades below the largest eigenvalue of
        the covariance.
    kernel : Kernel, str, callable, "precomputed" or None
        None is linear on the features as given; otherwise the dual problem with this kernel.
    fit_intercept : bool
        Whether to centre features (in feature space, for kernels) and targets.

    Attributes
    ----------
    alpha_, alphas_, loo_errors_ : the chosen value, the path, and its mean squared leave-one-out
        errors, shape (q,)
    loo_decision_ : ndarray of shape (n, t), leave-one-out predictions at ``alpha_``
    negative_share_ : float
        Sum of the negative eigenvalues over the sum of all absolute ones; zero for a positive
        semi-definite kernel.
    coef_, intercept_ : when ``kernel`` is None
    dual_coef_ : ndarray of shape (n, t), with a kernel

    >>> import numpy as np
    >>> X = np.arange(10.0)[:, None]
    >>> RLSRegressor().fit(X, 2 * X[:, 0] + 1).predict([[20.0]]).round(3)
    array([41.])
    """

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> RLSRegressor:
        """Fit features (n, p), or a Gram matrix, to targets of shape (n,) or (n, t).

        Errors are averaged with ``sample_weight``, in the fit and in leave-one-out.
        """
        check_parameters(self)
        points, targets = check_points(self, X, self.kernel, y=y, multi_output=True, y_numeric=True)
        weights = _check_sample_weight(sample_weight, points, dtype=float, ensure_non_negative=True)
        self._flat = targets.ndim == 1
        Y = check_array(targets, ensure_2d=False, dtype=np.float64).reshape(len(targets), -1)
        self._fit(points, Y, weights)
        return self

    def _loss(self, decided: NDArray, Y: NDArray, weights: NDArray) -> float:
        return float(np.average(np.square(Y - decided).mean(axis=1), weights=weights))

    def predict(self, X: ArrayLike) -> NDArray:
        """Predicted targets, of shape (n,) or (n, t) as in `fit`."""
        decided = self._decide(X)
        return decided[:, 0] if self._flat else decided


@stores_parameters
class RLSClassifier(OneVsRest, _RegularisedLeastSquares):
    """Regularised least squares classification on one-vs-all +-1 targets.

    The alpha with the best leave-one-out accuracy is taken; equal accuracies are told apart by
    the squared error. Parameters and attributes are those of `RLSRegressor`, and these:

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of the classes, in the fit and in the leave-one-out error; "balanced" gives all
        classes the same sum. Without it, few positives among many points are best ignored.

    Attributes
    ----------
    classes_ : ndarray
    loo_errors_ : ndarray of shape (q,)
        Leave-one-out misclassification rates (plus a tie-breaking share of squared error below
        half a sample).

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RLSClassifier().fit(X, y)
    >>> bool(model.score(X, y) > 0.8), model.predict_proba(X[:1]).round().tolist()
    (True, [[1.0, 0.0, 0.0]])
    """

    _: KW_ONLY
    class_weight: Annotated[Any, CLASS_WEIGHT] = None

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> RLSClassifier:
        """Fit features or a Gram matrix to labels of shape (n,), weighted as in `RLSRegressor`."""
        check_parameters(self)
        points, labels = check_points(self, X, self.kernel, y=y)
        check_classification_targets(labels)
        weights = _check_sample_weight(sample_weight, points, dtype=float, ensure_non_negative=True)
        if self.class_weight is not None:
            weights = weights * compute_sample_weight(self.class_weight, labels)
        self.classes_ = np.unique(labels[weights > 0] if weights.any() else labels)
        check_two_classes(self.classes_)
        Y = signs(labels, self.classes_)
        self._fit(points, Y, weights)
        self._columns = (Y[:, 0] > 0).astype(int) if Y.shape[1] == 1 else Y.argmax(axis=1)
        self._column_weights = weights
        return self

    def _loss(self, decided: NDArray, Y: NDArray, weights: NDArray) -> float:
        return misclassification(self._labels(decided) != self._labels(Y), Y - decided, weights)

    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Probabilities of the classes, shape (n, n_classes), calibrated on leave-one-out values.

        Softmax of the decisions times a slope, mixed with a share of labels at random; both are
        fitted to the decisions on points that were left out (`fit_calibration`). The most probable
        class is the predicted one. With weights, of classes too, they are probabilities in the
        weighted population.
        """
        decided, held = self._decide(X), self.loo_decision_
        if held.shape[1] == 1:
            decided, held = (np.column_stack([-one, one]) / 2 for one in (decided, held))
        fitted = fit_calibration(held, self._columns, self._column_weights)
        return probabilities(decided, *fitted)
