"""Regularised least squares: every alpha by leave-one-out, from one factorisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import check_array, check_finite
from ..core.kernel_matrix import check_points, is_known_definite, kernel_matrix
from ..core.parameters import Array, Flag, Has, Number, Text, check_parameters, stores_parameters
from .classes import (
    CLASS_WEIGHT,
    OneVsRest,
    check_two_classes,
    checked_weights,
    fit_calibration,
    probabilities,
    signs,
    tie_breaker,
)
from .feature_path import Features, dual_path, eigenvectors, primal_path
from .gram import (
    check_symmetric,
    describe_negative,
    frobenius_norm,
    path_of_eigenvalues,
    rounding,
    warn_indefinite,
)
from .ridge import TINY, LeaveOneOutPath, check_scale, in_power_of_two, row_blocks

#: Values that the parameter ``alphas`` may have.
ALPHAS = None | Number(above=0, most=1e308) | Array(1, above=0, most=1e308)


@dataclass
class _TrainingGram:
    """The weighted Gram matrix of the training points, and the sizes that rounding is judged by.

    Attributes
    ----------
    matrix : ndarray of shape (n, n)
        Centred if there is an intercept, and multiplied by the roots of the weights.
    mean : ndarray of shape (n,)
        The number subtracted from each column; zero without an intercept.
    scale : float
        Frobenius norm of the weighted matrix before it was centred.
    tolerance : float
        Eigenvalues that are negative by less are zero but for rounding.
    noise : float
        Rounding of eigenvalues that the matrix's type makes certain.
    """

    matrix: NDArray
    mean: NDArray
    scale: float
    tolerance: float
    noise: float


@stores_parameters
class _RegularisedLeastSquares(BaseEstimator):
    """Common base of the classifier and the regressor."""

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
        n = len(X)
        positive = np.flatnonzero(weights)
        if len(positive) < 2:
            raise ValueError(
                f"leave-one-out needs at least 2 samples, got {len(positive)} sample of a "
                "sample_weight above zero"
            )
        if len(positive) == n:
            self._fit_positive(X, Y, weights)
            return
        points = X[np.ix_(positive, positive)] if self._is_precomputed else X[positive]
        self._fit_positive(points, Y[positive], weights[positive])
        # Attributes with one row per point get rows for the points without weight, too.
        if self.kernel is not None:
            dual_coef = np.zeros(Y.shape)
            dual_coef[positive] = self.dual_coef_
            self.dual_coef_ = dual_coef
        if hasattr(self, "kernel_"):
            self.X_fit_ = X
        decisions = self._decisions(X)
        decisions[positive] = self.loo_decision_
        self.loo_decision_ = decisions

    def _fit_positive(self, X: NDArray, Y: NDArray, weights: NDArray) -> None:
        """Fit points that all have positive weights."""
        shares = weights / weights.sum()
        roots = np.sqrt(len(X) * shares)
        y_mean = np.zeros(Y.shape[1])
        if self.fit_intercept:
            y_mean = shares @ Y
        rooted = roots[:, None] * (Y - y_mean)
        self.negative_share_ = 0.0

        def choose_ridge(path: LeaveOneOutPath, scale: float) -> float:
            self.alphas_ = self._grid(path, scale, len(X))
            return len(X) * self._choose_alpha(path, Y, roots, weights)

        if self.kernel is None:
            check_scale(X)
            features = Features(X, shares, self.fit_intercept)
            # A centred Gram matrix is one direction smaller.
            if X.shape[1] <= len(X) - self.fit_intercept:
                coef = self._primal_coef(features, rooted, choose_ridge)
            else:
                coef = self._dual_coef(features, rooted, choose_ridge)
            self.coef_ = coef.T
            self.intercept_ = y_mean - features.mean @ coef
        else:
            gram = self._train_gram(X, shares)
            self.dual_coef_ = self._kernel_coef(gram, rooted, roots, choose_ridge)
            self.intercept_ = y_mean - gram.mean @ self.dual_coef_

    def _choose_alpha(
        self, path: LeaveOneOutPath, Y: NDArray, roots: NDArray, weights: NDArray
    ) -> float:
        """Set the leave-one-out errors and decisions, and return the alpha of the least error."""
        ridges = len(Y) * self.alphas_
        # Numerators of points that alone decide a coefficient are rounding unless they are sums.
        least = TINY if path.bare is None else 1e-14
        unexplained = path.unexplained(ridges, least=least)
        squares = np.zeros(len(ridges))
        mistakes = np.zeros(len(ridges))
        for rows, penalties, residuals in path.residuals(ridges, unexplained):
            targets = Y[rows, None]
            decisions = targets - residuals / roots[rows, None, None]
            row_squares = np.square(targets - decisions).mean(axis=2)
            row_mistakes = self._are_mistakes(decisions, targets)
            squares[penalties] += weights[rows] @ row_squares
            mistakes[penalties] += weights[rows] @ row_mistakes
        total = weights.sum()
        smallest = float(weights.min() / total)
        self.loo_errors_ = self._losses(squares / total, mistakes / total, smallest)
        # Among equals the strongest regularisation wins: the grid is sorted upwards.
        descending = self.loo_errors_[::-1]
        best = len(ridges) - 1 - int(np.argmin(descending))
        chosen = slice(best, best + 1)
        self.loo_decision_ = np.empty_like(Y)
        for rows, _, residuals in path.residuals(ridges[chosen], unexplained[:, chosen]):
            self.loo_decision_[rows] = Y[rows] - residuals[:, 0] / roots[rows, None]
        self.alpha_ = float(self.alphas_[best])
        return self.alpha_

    def _train_gram(self, X: NDArray, shares: NDArray) -> _TrainingGram:
        """Return the Gram matrix of the training points, centred and weighted."""
        gram = self._given_gram(X)
        check_finite("the Gram matrix", gram)
        check_symmetric(gram)
        n = len(gram)
        tolerance = rounding(gram)
        eps = float(np.finfo(gram.dtype).eps)
        gram = gram.astype(np.float64)
        mean = np.zeros(n)
        if self.fit_intercept:
            mean = shares @ gram
        roots = np.sqrt(n * shares)
        is_weighted = bool(np.ptp(shares))  # otherwise passes over the matrix are saved
        if is_weighted:
            scale = frobenius_norm(gram * roots * roots[:, None])
        else:
            scale = frobenius_norm(gram)
        if self.fit_intercept:
            gram += shares @ mean
            gram -= mean
            gram -= mean[:, None]
        if is_weighted:
            gram *= roots
            gram *= roots[:, None]
        noise = 10 * eps * scale / n**0.5
        return _TrainingGram(gram, mean, scale, tolerance, noise)

    def _given_gram(self, X: NDArray) -> NDArray:
        """Return X if it is the Gram matrix, or the matrix of a copy of the kernel."""
        if self._is_precomputed:
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"a precomputed Gram matrix must be square at fit, got {X.shape}")
            return X
        # A copy: changes to the kernel after fitting must not change the fitted model.
        self.X_fit_ = X
        self.kernel_ = clone(self.kernel, safe=False)
        return kernel_matrix(self.kernel_, X)

    def _kernel_coef(
        self,
        gram: _TrainingGram,
        Y: NDArray,
        roots: NDArray,
        choose_ridge: Callable[[LeaveOneOutPath, float], float],
    ) -> NDArray:
        """Return the dual coefficients of a Gram matrix, which is overwritten.

        See `path_of_eigenvalues` for eigenvalues that rounding put on either side of zero.
        """
        # The transpose is the same matrix in LAPACK's order of storage, and is not copied.
        values, vectors = eigenvectors(gram.matrix.T, roots if self.fit_intercept else None)
        is_negative = values.min(initial=0) < -gram.tolerance
        if is_negative and not is_known_definite(self.kernel):
            size, self.negative_share_ = describe_negative(values, gram.tolerance)
            warn_indefinite(type(self).__name__, size)
        path = path_of_eigenvalues(values, vectors, Y, gram.tolerance, gram.noise)
        ridge = choose_ridge(path, gram.scale)
        dual = vectors @ path.solve(ridge, path.inside)
        if self.fit_intercept:
            # The coefficients sum to zero, so centring shows only in the constant. Rounding of
            # a matrix far from its centred one must not change that.
            dual -= np.outer(roots, roots @ dual) / len(roots)
        return roots[:, None] * dual

    def _primal_coef(
        self,
        features: Features,
        Y: NDArray,
        choose_ridge: Callable[[LeaveOneOutPath, float], float],
    ) -> NDArray:
        """Return the coefficients, shape (p, t), of at most as many features as points."""
        turn, path, size = primal_path(features, Y)
        ridge = choose_ridge(path, size)
        coef = turn @ path.shrink(ridge, path.inside)
        if not features.lose_digits(path.largest_eigenvalue, ridge):
            return coef
        gradient = features.products_with_residuals(Y, coef) - ridge * coef
        correction = turn @ path.shrink(ridge, turn.T @ gradient)
        return coef + correction

    def _dual_coef(
        self,
        features: Features,
        Y: NDArray,
        choose_ridge: Callable[[LeaveOneOutPath, float], float],
    ) -> NDArray:
        """Return the coefficients, shape (p, t), of more features than points."""
        basis, path, size = dual_path(features, Y)
        ridge = choose_ridge(path, size)
        dual = basis @ path.solve(ridge, path.inside)
        if not features.lose_digits(path.largest_eigenvalue, ridge):
            return features.transposed_times(dual)
        coef, values = features.coef_and_values(dual)
        residuals = Y - values - ridge * dual
        dual_correction = basis @ path.solve(ridge, basis.T @ residuals)
        return coef + features.transposed_times(dual_correction)

    def _grid(self, path: LeaveOneOutPath, scale: float, n: int) -> NDArray:
        """Return the alphas to try, in ascending order.

        ``scale`` is the size of the matrix before it was centred: the scale of alpha if nothing is
        left after it. Alphas below the rounding of eigenvalues and of new points' rows are left
        out.
        """
        if self.alphas is not None:
            return np.sort(np.atleast_1d(np.asarray(self.alphas, dtype=float)))
        largest = path.largest_eigenvalue
        if not largest:  # Any alpha then gives the mean.
            largest = scale or float(n)
        relative = np.logspace(-10, 0, 31)
        relative_noise = n**0.5 * path.noise / largest
        is_above_noise = relative >= min(relative_noise, 1.0)
        return largest / n * relative[is_above_noise]

    @property
    def _is_precomputed(self) -> bool:
        """Whether X is the Gram matrix."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _decide(self, X: ArrayLike) -> NDArray:
        check_is_fitted(self)
        kernel = getattr(self, "kernel_", None)
        return self._decisions(check_points(self, X, kernel, reset=False))

    def _decisions(self, X: NDArray) -> NDArray:
        if hasattr(self, "coef_"):
            decisions = np.empty((len(X), len(self.coef_)))
            for rows in row_blocks(len(X), 8 * X.shape[1]):  # no copy of X in double precision
                np.matmul(X[rows], self.coef_.T, out=decisions[rows])
            decisions += self.intercept_
            return decisions
        if hasattr(self, "kernel_"):
            X = kernel_matrix(self.kernel_, X, self.X_fit_)
            check_finite("the kernel between new points and training points", X)
        return X @ self.dual_coef_ + self.intercept_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags


class RLSRegressor(MultiOutputMixin, RegressorMixin, _RegularisedLeastSquares):
    r"""Regularised least squares regression, alpha chosen by exact leave-one-out.

    Minimises (Mroueh et al. 2015, section 6)

    .. math:: \frac{1}{N} \lVert Y - \Phi W \rVert_F^2 + \alpha \lVert W \rVert_F^2.

    One factorisation, of the p x p covariance or of the n x n Gram matrix, whichever is smaller,
    gives the leave-one-out error of every alpha: what refitting without the point gives, in the
    feature space that all points fix. It needs the memory of one such matrix in double precision,
    or of two for kernels, and where features or points are combinations of others. Negative
    eigenvalues of an indefinite kernel are clipped, with an `IndefiniteWarning`: new points are
    projected onto the eigenvectors of positive eigenvalues.

    Parameters
    ----------
    alphas : positive float, array-like of positive floats, or None
        The path; None takes 31 values over ten decades below the largest eigenvalue of
        the covariance, but for those below the rounding of the kernel's Gram matrix, which is
        1e-6 of its size for a matrix in single precision. Features or kernels that differ by
        rounding alone, such as invariant ones of points on one orbit, are taken to be equal.
    kernel : Kernel, str, callable, "precomputed" or None
        None is linear on the features as given; otherwise the dual problem with this kernel.
    fit_intercept : bool
        Whether to centre features (in feature space, for kernels) and targets.

    Attributes
    ----------
    alpha_ : float
        The chosen value.
    alphas_ : ndarray of shape (q,)
        The path, in ascending order.
    loo_errors_ : ndarray of shape (q,)
        Mean squared leave-one-out errors of the path.
    loo_decision_ : ndarray of shape (n, t)
        Leave-one-out predictions at ``alpha_``.
    negative_share_ : float
        Sum of the negative eigenvalues over the sum of all absolute ones; zero for a positive
        semi-definite kernel.
    coef_ : ndarray of shape (t, p)
        If ``kernel`` is None.
    intercept_ : ndarray of shape (t,)
    dual_coef_ : ndarray of shape (n, t)
        With a kernel.

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
        """Fit features (n, p), or a Gram matrix, to targets of shape (n,) or (n, t).

        Errors are averaged with ``sample_weight``, in the fit and in leave-one-out, which leaves
        out a sample with all of its weight. At one alpha a weight is so many copies; of several
        another one may be chosen, because a copy that stays gives away the one that is left out.
        (scikit-learn's ``check_sample_weight_equivalence_on_dense_data`` asks for that as well.)
        """
        check_parameters(self)
        points, targets = check_points(self, X, self.kernel, y=y, multi_output=True, y_numeric=True)
        # Sums and squares of weights must neither overflow nor vanish; their unit has no effect.
        weights, _ = in_power_of_two(checked_weights(sample_weight, points))
        self._is_flat = targets.ndim == 1
        Y = check_array(targets, ensure_2d=False, dtype=np.float64).reshape(len(targets), -1)
        Y = np.where(weights[:, None] > 0, Y, 0.0)
        # Squares of residuals must neither overflow nor vanish, whatever the unit of the targets.
        Y, exponent = in_power_of_two(Y)
        self._fit(points, Y, weights)
        self._multiply_targets(exponent)
        return self

    def _multiply_targets(self, exponent: int) -> None:
        """Express the fitted attributes in another unit: targets times a power of two."""
        self.intercept_ = np.ldexp(self.intercept_, exponent)
        self.loo_decision_ = np.ldexp(self.loo_decision_, exponent)
        if self.kernel is None:
            self.coef_ = np.ldexp(self.coef_, exponent)
        else:
            self.dual_coef_ = np.ldexp(self.dual_coef_, exponent)
        with np.errstate(over="ignore", under="ignore"):
            self.loo_errors_ = np.ldexp(self.loo_errors_, 2 * exponent)

    def _are_mistakes(self, decisions: NDArray, targets: NDArray) -> NDArray:
        return np.zeros(decisions.shape[:2])

    def _losses(self, squares: NDArray, mistakes: NDArray, smallest: float) -> NDArray:
        return squares

    def predict(self, X: ArrayLike) -> NDArray:
        """Predicted targets, of shape (n,) or (n, t) as in `fit`."""
        decisions = self._decide(X)
        return decisions[:, 0] if self._is_flat else decisions


@stores_parameters
class RLSClassifier(OneVsRest, _RegularisedLeastSquares):
    """Regularised least squares classification on one-vs-all +-1 targets.

    The alpha with the best leave-one-out accuracy is taken; equal accuracies are told apart by
    the squared error. Parameters and attributes are those of `RLSRegressor`, and these:

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of the classes, in the fit and in the leave-one-out error. "balanced" gives all
        classes the same sum; without it, few positives among many points are best ignored. A
        ``sample_weight`` is multiplied to these weights, so that sums may then differ, and points
        without weight do not count.

    Attributes
    ----------
    classes_ : ndarray
    loo_errors_ : ndarray of shape (q,)
        Leave-one-out misclassification rates (plus a tie-breaking share of squared error below
        half a sample).

    Examples
    --------
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
        weights = checked_weights(sample_weight, points)
        if self.class_weight is not None:
            weights = _times_class_weights(weights, self.class_weight, labels)
        weights, _ = in_power_of_two(weights)
        counted = labels[weights > 0] if weights.any() else labels
        self.classes_ = np.unique(counted)
        check_two_classes(self.classes_)
        Y = signs(labels, self.classes_)
        self._fit(points, Y, weights)
        self._columns = _in_two_columns(Y).argmax(axis=1)
        self._column_weights = weights
        return self

    def _are_mistakes(self, decisions: NDArray, targets: NDArray) -> NDArray:
        if targets.shape[-1] == 1:
            return (decisions[:, :, 0] > 0) != (targets[:, :, 0] > 0)
        return decisions.argmax(axis=2) != targets.argmax(axis=2)

    def _losses(self, squares: NDArray, mistakes: NDArray, smallest: float) -> NDArray:
        return mistakes + tie_breaker(squares, smallest)

    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Probabilities of the classes, shape (n, n_classes), calibrated on leave-one-out values.

        Softmax of the decisions times a slope, mixed with a share of labels at random; both are
        fitted to the decisions on points that were left out (`fit_calibration`). The most probable
        class is the predicted one. With weights, of classes too, they are probabilities in the
        weighted population.
        """
        decisions = _in_two_columns(self._decide(X))
        left_out = _in_two_columns(self.loo_decision_)
        slope, noise = fit_calibration(left_out, self._columns, self._column_weights)
        return probabilities(decisions, slope, noise)


def _times_class_weights(weights: NDArray, class_weight: Any, labels: NDArray) -> NDArray:
    """Return weights times those of the classes, whose balance is that of points with weight."""
    counted = weights > 0
    products = np.zeros_like(weights)
    if counted.any():
        of_classes = compute_sample_weight(class_weight, labels[counted])
        products[counted] = weights[counted] * of_classes
    return products


def _in_two_columns(decisions: NDArray) -> NDArray:
    """Return decisions with a column for each class, also for two classes."""
    if decisions.shape[1] > 1:
        return decisions
    return np.column_stack([-decisions, decisions]) / 2
