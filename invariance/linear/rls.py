"""Regularised least squares: all alphas by leave-one-out, from one factorisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin, clone
from sklearn.metrics import get_scorer
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import Tags
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from ..core.arrays import check_array
from ..core.kernel_matrix import check_points, kernel_matrix
from ..core.parameters import (
    Array,
    Flag,
    Has,
    Number,
    ParameterError,
    Text,
    check_finite,
    check_parameters,
    short,
    stores_parameters,
)
from .classes import (
    CLASS_WEIGHT,
    OneVsRest,
    check_two_classes,
    fit_calibration,
    misclassification,
    probabilities,
)
from .gram import REPAIRS, check_symmetric, repaired, rounding, warn_indefinite
from .ridge import LeaveOneOutPath, check_scale

#: What may be given for the parameters ``alphas`` and ``scoring``.
ALPHAS = None | Number(above=0, most=1e308) | Array(1, above=0, most=1e308)
SCORING = None | Text() | Has("a scorer, a function of (estimator, X, y)", "__call__")


@stores_parameters
class _RegularisedLeastSquares(BaseEstimator):
    """What the classifier and the regressor share."""

    alphas: Annotated[ArrayLike | None, ALPHAS] = None
    kernel: Annotated[
        Any, None | Text() | Has("a kernel, or a function of two points", "__call__")
    ] = None
    _: KW_ONLY
    fit_intercept: Annotated[bool, Flag()] = True
    repair: Annotated[str, REPAIRS] = "clip"
    scoring: Annotated[Any, SCORING] = None

    coef_: NDArray = field(init=False)
    dual_coef_: NDArray = field(init=False)
    loo_decision_: NDArray = field(init=False)

    def _fit(
        self, X: NDArray, Y: NDArray, y: NDArray, sample_weight: NDArray, factors: NDArray | float
    ) -> None:
        """Fit targets Y of shape (n, t), made of y, with weights times factors (of the classes)."""
        for name in ("coef_", "dual_coef_", "kernel_", "X_fit_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        weights = sample_weight * factors
        kept = np.flatnonzero(weights)
        if not kept.size:
            raise ValueError("sample_weight is zero for all points: nothing to fit")
        points = X if len(kept) == len(X) else X[np.ix_(kept, kept)] if self._given else X[kept]
        self._fit_kept(points, Y[kept], y[kept], weights[kept], sample_weight[kept])
        if len(kept) < len(X):  # what has one row per point has one for those without weight too
            decided = self.loo_decision_
            if self.kernel is not None:
                self.dual_coef_ = _rows(kept, self.dual_coef_, np.zeros((len(X), Y.shape[1])))
            if hasattr(self, "kernel_"):
                self.X_fit_ = X
            self.loo_decision_ = _rows(kept, decided, self._decisions(X))

    def _fit_kept(
        self, X: NDArray, Y: NDArray, y: NDArray, weights: NDArray, sample_weight: NDArray
    ) -> None:
        """`_fit` to points of positive weights."""
        n = len(X)
        if n < 2:
            raise ValueError(
                f"leave-one-out needs at least 2 samples, got n_samples = {n} (1 sample)"
            )
        shares = weights / weights.sum()
        roots = np.sqrt(n * shares)[:, None]
        y_mean = shares @ Y if self.fit_intercept else np.zeros(Y.shape[1])
        Y_rooted = roots * (Y - y_mean)
        signs: NDArray | float = 1.0
        self.negative_share_ = 0.0
        if self.kernel is None:
            X = X.astype(np.float64, copy=False)
            check_scale(X)
            x_mean = shares @ X if self.fit_intercept else np.zeros(X.shape[1])
            features = X - x_mean
            features *= roots
        if self.kernel is None and X.shape[1] <= n:
            path = self._primal_path(features, Y_rooted, shares)
        else:
            if self.kernel is None:
                gram, tolerance = features @ features.T, np.inf  # no eigenvalue is truly negative
            else:
                gram, gram_mean, tolerance = self._train_gram(X, shares)
                gram *= roots * roots.T
            values, Q = self._dual_basis(gram, roots[:, 0])
            if values.min(initial=0) < -tolerance:
                self._warn_indefinite(values, tolerance)
            L, signs = repaired(values, self.repair)
            path = LeaveOneOutPath(Q, L, Y_rooted, np.zeros(n))
        self.alphas_ = self._grid(path.L, n)
        self.loo_errors_ = np.empty(len(self.alphas_))
        least = np.inf
        for i, left in enumerate(path.residuals(n * self.alphas_)):
            decided = Y - left / roots
            error = self.loo_errors_[i] = self._loss(decided, Y, y, weights, sample_weight)
            # Among equals the strongest regularisation wins: the grid is sorted upwards.
            if i == 0 or error <= least:
                least, self.alpha_, self.loo_decision_ = error, float(self.alphas_[i]), decided
        gains = signs / (path.L + n * self.alpha_)
        dual_coef = path.Q @ (gains[:, None] * (path.Q.T @ Y_rooted))
        if self.kernel is None:
            coef = features.T @ dual_coef
            self.coef_ = coef.T
            self.intercept_ = y_mean - x_mean @ coef
        else:
            # The coefficients sum to zero, so centring shows only in the constant.
            self.dual_coef_ = roots * dual_coef
            self.intercept_ = y_mean - gram_mean @ self.dual_coef_

    def _warn_indefinite(self, values: NDArray, tolerance: float) -> None:
        self.negative_share_ = float(-values[values < 0].sum() / np.abs(values).sum())
        warn_indefinite(
            type(self).__name__,
            f"{int((values < -tolerance).sum())} of {len(values)} eigenvalues are negative, "
            f"{100 * self.negative_share_:.2g} % of the sum of their absolute values, the lowest "
            f"{values.min():.2g} beside a largest of {values.max():.2g}",
            self.repair,
        )

    def _loss(
        self, decided: NDArray, Y: NDArray, y: NDArray, weights: NDArray, sample_weight: NDArray
    ) -> float:
        """What the chosen alpha has least of; minus the score, where ``scoring`` names one."""
        if self.scoring is None:
            return self._default_loss(decided, Y, weights)
        scorer = get_scorer(self.scoring) if isinstance(self.scoring, str) else self.scoring
        given = {"sample_weight": sample_weight} if np.ptp(sample_weight) else {}
        try:
            score = float(scorer(self._of_decisions(), decided, y, **given))
        except (TypeError, ValueError) as error:
            raise ParameterError(f"scoring={short(self.scoring)} fails: {error}") from error
        if not np.isfinite(score):
            raise ParameterError(
                f"{type(self).__name__}: scoring={short(self.scoring)} gives {score} on "
                "leave-one-out values; take one that is defined for these targets"
            )
        return -score

    def _train_gram(self, X: NDArray, shares: NDArray) -> tuple[NDArray, NDArray, float]:
        """The training points' Gram matrix, centred when there is an intercept, and its means."""
        if self._given:
            gram = X
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"a precomputed Gram matrix must be square at fit, got shape {X.shape}"
                )
        else:
            self.X_fit_ = X
            # a copy: what is set on the kernel later does not change the fitted model
            self.kernel_ = clone(self.kernel, safe=False)
            gram = kernel_matrix(self.kernel_, X)
        check_finite("the Gram matrix", gram)
        check_symmetric(gram)
        tolerance = rounding(gram)
        gram = gram.astype(np.float64)
        mean = np.zeros(len(gram))
        if self.fit_intercept:
            mean = shares @ gram
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
        values, vectors = linalg.eigh(features.T @ features, check_finite=False, driver="evd")
        keep = values > values[-1] * len(features) * np.finfo(float).eps
        values, vectors = values[keep], vectors[:, keep]
        Q = features @ (vectors / np.sqrt(values))
        if len(values) == len(features) - self.fit_intercept:
            return LeaveOneOutPath(Q, values, Y, np.zeros(len(Q)))
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


def _pairs(decided: NDArray) -> NDArray:
    """Values of which the sign decides as values of two classes, shape (n t, 2)."""
    return np.column_stack([-decided.ravel(), decided.ravel()]) / 2


def _rows(kept: NDArray, some: NDArray, rest: NDArray) -> NDArray:
    """``rest`` with the rows ``kept`` replaced."""
    rest[kept] = some
    return rest


class _Decided(ClassifierMixin, BaseEstimator):
    """A classifier whose points are decision values, for scorers."""

    def __init__(self, classes: NDArray, labels: Callable[[NDArray], NDArray]):
        self.classes_ = classes
        self.labels = labels

    def decision_function(self, decided: NDArray) -> NDArray:
        return decided[:, 0] if decided.shape[1] == 1 else decided

    def predict(self, decided: NDArray) -> NDArray:
        return self.labels(decided)


class _Predicted(RegressorMixin, BaseEstimator):
    """A regressor whose points are predictions, for scorers."""

    def predict(self, decided: NDArray) -> NDArray:
        return decided


class RLSRegressor(MultiOutputMixin, RegressorMixin, _RegularisedLeastSquares):
    r"""Regularised least squares regression, alpha chosen by exact leave-one-out.

    Minimises (Mroueh et al. 2015, section 6)

    .. math:: \frac{1}{N} \lVert Y - \Phi W \rVert_F^2 + \alpha \lVert W \rVert_F^2.

    One eigendecomposition, of the p x p covariance or of the n x n Gram matrix, whichever is
    smaller, gives the leave-one-out error of every alpha.

    Leave-one-out describes the model that predicts: it is what refitting without the point gives,
    in the feature space that all points fix. For an indefinite kernel that is the space after
    ``repair``, of the (centred) Gram matrix :math:`V \Lambda V^T`: with "clip" new points are
    projected on the eigenvectors :math:`V_+` of positive eigenvalues, where training points have
    coordinates :math:`V_+ \Lambda_+^{1/2}`; "flip" turns the sign of the others; "shift" adds
    :math:`-\lambda_{\min}` to the diagonal, which new points do not see, and neither does a
    point that is left out.

    Parameters
    ----------
    alphas : positive float, array-like of positive floats, or None
        The path; None takes 31 values over ten decades below the largest eigenvalue of
        the covariance.
    kernel : Kernel, str, callable, "precomputed" or None
        None is linear on the features as given; otherwise the dual problem with this kernel.
    fit_intercept : bool
        Whether to centre features (in feature space, for kernels) and targets.
    repair : {"clip", "flip", "shift", "raise"}
        What happens to negative eigenvalues of an indefinite kernel, with an
        `IndefiniteWarning` that says how many there are. "raise" refuses them.
    scoring : str, callable or None
        Score of leave-one-out predictions by which alpha is chosen: a name or a scorer that
        scikit-learn knows; None takes the squared error.

    Attributes
    ----------
    alpha_, alphas_, loo_errors_ : the chosen value, the path, its mean squared leave-one-out
        errors (or minus its scores), shape (q,)
    loo_decision_ : ndarray of shape (n, t), leave-one-out predictions at ``alpha_``
    negative_share_ : float
        Sum of the negative eigenvalues over the sum of all absolute ones; zero for a positive
        semi-definite kernel.
    coef_, intercept_ : when ``kernel`` is None
    dual_coef_ : ndarray of shape (n, t), with a kernel

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(10.0)[:, None]
    >>> RLSRegressor().fit(X, 2 * X[:, 0] + 1).predict([[20.0]]).round(3)
    array([41.])
    """

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> RLSRegressor:
        """Fit features or a Gram matrix to targets.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,) or (n, t)
        sample_weight : array-like of shape (n,), optional
            Not negative. Errors are averaged with these weights, in the fit and in leave-one-out.
        """
        check_parameters(self)
        points, targets = check_points(self, X, self.kernel, y=y, multi_output=True, y_numeric=True)
        weights = _check_sample_weight(sample_weight, points, dtype=float, ensure_non_negative=True)
        self._flat = targets.ndim == 1
        Y = check_array(targets, ensure_2d=False, dtype=np.float64).reshape(len(targets), -1)
        self._fit(points, Y, targets, weights, 1.0)
        return self

    def _default_loss(self, decided: NDArray, Y: NDArray, weights: NDArray) -> float:
        return float(np.average(np.square(Y - decided).mean(axis=1), weights=weights))

    def _of_decisions(self) -> BaseEstimator:
        return _Predicted()

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
    scoring : str, callable or None
        None takes the (weighted) accuracy.

    Attributes
    ----------
    classes_ : ndarray
    loo_errors_ : ndarray of shape (q,)
        Leave-one-out misclassification rates (plus a tie-breaking share of squared error below
        half a sample), or minus the scores.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RLSClassifier().fit(X, y)
    >>> bool(model.score(X, y) > 0.8), model.predict_proba(X[:1]).argmax()
    (True, np.int64(0))
    """

    _: KW_ONLY
    class_weight: Annotated[Any, CLASS_WEIGHT] = None

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> RLSClassifier:
        """Fit features or a Gram matrix to labels.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,), or (n, t) of zeros and ones for several labels at once
        sample_weight : array-like of shape (n,), optional
            Not negative. Errors are averaged with these weights, in the fit and in leave-one-out.
        """
        check_parameters(self)
        points, labels = check_points(self, X, self.kernel, y=y, multi_output=True)
        check_classification_targets(labels)
        weights = _check_sample_weight(sample_weight, points, dtype=float, ensure_non_negative=True)
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = column_or_1d(labels, warn=True)
        self._multilabel = type_of_target(labels) == "multilabel-indicator"
        seen = labels[weights > 0]
        binarizer = LabelBinarizer(pos_label=1, neg_label=-1).fit(seen if len(seen) else labels)
        self.classes_ = binarizer.classes_
        if not self._multilabel:
            check_two_classes(self.classes_)
        Y = binarizer.transform(labels).astype(np.float64)
        factors = (
            1.0 if self.class_weight is None else compute_sample_weight(self.class_weight, labels)
        )
        self._fit(points, Y, labels, weights, factors)
        pairs = self._multilabel or Y.shape[1] == 1
        self._columns = (Y > 0).ravel().astype(int) if pairs else Y.argmax(axis=1)
        self._column_weights = np.repeat(weights * factors, len(self._columns) // len(Y))
        return self

    def _default_loss(self, decided: NDArray, Y: NDArray, weights: NDArray) -> float:
        if Y.shape[1] == 1 or self._multilabel:
            wrong = (decided > 0) != (Y > 0)
        else:
            wrong = decided.argmax(axis=1) != Y.argmax(axis=1)
        return misclassification(wrong, Y - decided, weights)

    def _of_decisions(self) -> BaseEstimator:
        return _Decided(self.classes_, self._labels)

    def _labels(self, decided: NDArray) -> NDArray:
        """Labels, or the multilabel matrix."""
        return (decided > 0).astype(int) if self._multilabel else super()._labels(decided)

    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Probabilities of the classes, shape (n, n_classes), calibrated on leave-one-out values.

        Softmax of the decisions times a slope, mixed with a share of labels at random; both are
        fitted to the decisions on points that were left out (`fit_calibration`). The most probable
        class is the predicted one. With weights, of classes too, they are probabilities in the
        weighted population. For several labels at once shape (n, t), each on its own.
        """
        decided, held = self._decide(X), self.loo_decision_
        pairs = self._multilabel or held.shape[1] == 1
        held = _pairs(held) if pairs else held
        fitted = fit_calibration(held, self._columns, self._column_weights)
        found = probabilities(_pairs(decided) if pairs else decided, *fitted)
        return found[:, 1].reshape(decided.shape) if self._multilabel else found

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
