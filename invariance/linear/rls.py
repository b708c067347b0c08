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
    probabilities,
    signs,
    tie_breaker,
)
from .gram import (
    check_symmetric,
    describe_negative,
    frobenius_norm,
    path_of_eigenvalues,
    rounding,
    warn_indefinite,
)
from .ridge import TINY, LeaveOneOutPath, check_scale, row_blocks

#: What may be given for the parameter ``alphas``.
ALPHAS = None | Number(above=0, most=1e308) | Array(1, above=0, most=1e308)


class _Features:
    """Features in single or double precision, centred and weighted in double some at a time.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    shares : ndarray of shape (n,)
        Weights of sum one.
    centre : bool

    Attributes
    ----------
    mean : ndarray of shape (p,)
    roots : ndarray of shape (n,)
        Roots of the weights, whose squares have the mean one.
    rounding : float
        Times the mean square of a feature: the largest sum of squares along one direction that
        the rounding of entries can make. An entry is taken to be known to four machine epsilons,
        and a matrix of n x p independent errors has no singular value above their size times the
        sum of the roots of n and of p.
    """

    def __init__(self, X: NDArray, shares: NDArray, centre: bool) -> None:
        self.X, self.shares, self.shape = X, shares, X.shape
        self.roots = np.sqrt(len(X) * shares)
        self._weighted = bool(np.ptp(self.roots))
        self.mean = np.zeros(X.shape[1])
        if centre:
            for rows in row_blocks(len(X), 8 * X.shape[1]):
                self.mean += shares[rows] @ X[rows].astype(np.float64, copy=False)
        edge = np.sqrt(X.shape[0]) + np.sqrt(X.shape[1])
        self.rounding = float((4 * np.finfo(X.dtype).eps * edge) ** 2)

    def rows(self, rows: slice) -> NDArray:
        """Some rows, shape (rows, p)."""
        part = self.X[rows] - self.mean
        if self._weighted:
            part *= self.roots[rows, None]
        return part

    def products(self, Y: NDArray) -> tuple[NDArray, NDArray]:
        """Phi^T Phi, shape (p, p), and Phi^T Y, shape (p, t)."""
        p = self.shape[1]
        squares = np.zeros((p, p))
        cross = np.zeros((p, Y.shape[1]))
        for rows in row_blocks(len(self.X), 8 * p):
            part = self.rows(rows)
            squares += part.T @ part
            cross += part.T @ Y[rows]
        return squares, cross

    def gram(self) -> NDArray:
        """Phi Phi^T, shape (n, n)."""
        n, p = self.shape
        gram = np.zeros((n, n))
        for columns in row_blocks(p, 8 * n):
            part = self._columns(columns)
            gram += part @ part.T
        return gram

    def transposed_times(self, columns: NDArray) -> NDArray:
        """Phi^T times columns of shape (n, t)."""
        n, p = self.shape
        product = np.empty((p, columns.shape[1]))
        for some in row_blocks(p, 8 * n):
            product[some] = self._columns(some).T @ columns
        return product

    def _columns(self, columns: slice) -> NDArray:
        part = self.X[:, columns] - self.mean[columns]
        if self._weighted:
            part *= self.roots[:, None]
        return part


def _are_real(values: NDArray, lost: NDArray | float) -> NDArray:
    """Which directions of features are no rounding, by their sums of squares.

    ``lost`` is what rounding can make. If no direction has more, the points are equal. Beside one
    that has, directions of less are rounding if they are also below a hundredth of the largest:
    features that are small beside their mean, and all of one size, are what they are.
    """
    if np.all(values <= lost):
        return np.zeros(len(values), dtype=bool)
    return values > np.minimum(lost, 1e-4 * values.max())


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
            check_scale(X)
            features = _Features(X, shares, self.fit_intercept)
            if X.shape[1] <= n:
                path, scale = self._primal_path(features, rooted)
            else:
                path, scale = self._dual_path(features, rooted)
        else:
            gram, gram_mean, scale, tolerance, noise = self._train_gram(X, shares)
            path = self._kernel_path(gram, rooted, roots[:, 0], tolerance, noise)
        self.alphas_ = self._grid(path, scale, n)
        ridge = n * self._choose_alpha(path, Y, roots, weights)
        gained = path.gains(ridge)[:, None] * path.inside
        if self.kernel is not None:
            dual = path.basis(slice(None)) @ gained
            if self.fit_intercept:
                # The coefficients sum to zero, so centring shows only in the constant. Rounding of
                # a matrix far from its centred one must not change that.
                dual -= roots * (roots.T @ dual) / n
            self.dual_coef_ = roots * dual
            self.intercept_ = y_mean - gram_mean @ self.dual_coef_
            return
        if path.turn is None:
            coef = features.transposed_times(path.basis(slice(None)) @ gained)
        else:
            coef = path.turn @ (path.L[:, None] * gained)
        self.coef_ = coef.T
        self.intercept_ = y_mean - features.mean @ coef

    def _choose_alpha(
        self, path: LeaveOneOutPath, Y: NDArray, roots: NDArray, weights: NDArray
    ) -> float:
        """Set the leave-one-out errors and decisions, and return the alpha of the least error."""
        ridges = len(Y) * self.alphas_
        # Numerators of points that alone decide a coefficient are rounding unless they are sums.
        least = TINY if path.bare is None else 1e-14
        unexplained = path.unexplained(ridges, least=least)
        squared = np.zeros(len(ridges))
        wrong = np.zeros(len(ridges))
        for rows, some, left in path.residuals(ridges, unexplained):
            targets = Y[rows, None]
            decided = targets - left / roots[rows, None]
            squared[some] += weights[rows] @ np.square(targets - decided).mean(axis=2)
            wrong[some] += weights[rows] @ self._are_wrong(decided, targets)
        total = weights.sum()
        smallest = float(weights.min() / total)
        self.loo_errors_ = self._losses(squared / total, wrong / total, smallest)
        # Among equals the strongest regularisation wins: the grid is sorted upwards.
        best = len(ridges) - 1 - int(np.argmin(self.loo_errors_[::-1]))
        chosen = slice(best, best + 1)
        self.loo_decision_ = np.empty_like(Y)
        for rows, _, left in path.residuals(ridges[chosen], unexplained[:, chosen]):
            self.loo_decision_[rows] = Y[rows] - left[:, 0] / roots[rows]
        self.alpha_ = float(self.alphas_[best])
        return self.alpha_

    def _warn_indefinite(self, values: NDArray, tolerance: float) -> None:
        size, self.negative_share_ = describe_negative(values, tolerance)
        warn_indefinite(type(self).__name__, size)

    def _train_gram(
        self, X: NDArray, shares: NDArray
    ) -> tuple[NDArray, NDArray, float, float, float]:
        """The training points' weighted Gram matrix and what centring and rounding need to know.

        Returns
        -------
        gram : ndarray of shape (n, n)
            Centred when there is an intercept, with the roots of the weights multiplied to it.
        mean : ndarray of shape (n,)
            What was subtracted from each column; zero without an intercept.
        scale : float
            Frobenius norm of the weighted matrix before it was centred.
        tolerance : float
            How far below zero an eigenvalue may be by rounding; beyond it is truly negative.
        noise : float
            Rounding of eigenvalues that the matrix's type makes certain.
        """
        gram = X
        if not self._given:
            # a copy: what is set on the kernel later does not change the fitted model
            self.X_fit_, self.kernel_ = X, clone(self.kernel, safe=False)
            gram = kernel_matrix(self.kernel_, X)
        elif X.shape[0] != X.shape[1]:
            raise ValueError(f"a precomputed Gram matrix must be square at fit, got {X.shape}")
        check_finite("the Gram matrix", gram)
        check_symmetric(gram)
        tolerance = rounding(gram)
        eps = float(np.finfo(gram.dtype).eps)
        gram = gram.astype(np.float64)
        mean = shares @ gram if self.fit_intercept else np.zeros(len(gram))
        weights = len(gram) * shares
        roots = np.sqrt(weights)
        if np.ptp(weights):  # passes over the matrix that most need not
            scale = frobenius_norm(gram * roots * roots[:, None])
        else:
            scale = frobenius_norm(gram)
        if self.fit_intercept:
            gram += shares @ mean
            gram -= mean
            gram -= mean[:, None]
        if np.ptp(weights):
            gram *= roots
            gram *= roots[:, None]
        return gram, mean, scale, tolerance, 10 * eps * scale / len(gram) ** 0.5

    def _kernel_path(
        self, gram: NDArray, Y: NDArray, roots: NDArray, tolerance: float, noise: float
    ) -> LeaveOneOutPath:
        """The path of a Gram matrix, which is overwritten.

        See `path_of_eigenvalues` for what rounding put on either side of zero.
        """
        values, vectors = self._dual_basis(gram, roots)
        if values.min(initial=0) < -tolerance:
            self._warn_indefinite(values, tolerance)
        return path_of_eigenvalues(values, vectors, Y, tolerance, noise)

    def _dual_basis(self, gram: NDArray, roots: NDArray) -> tuple[NDArray, NDArray]:
        """All eigenvectors of the Gram matrix but, when centred, the constant one."""
        if self.fit_intercept:
            # The constant vector (times roots of weights) has eigenvalue zero, lost among others
            # near zero; lifted above all of them it comes out alone, and last.
            size = frobenius_norm(gram)
            lift = 2 * size or 1.0
            gram += lift / len(gram) * np.outer(roots, roots)
        values, vectors = linalg.eigh(gram, check_finite=False, overwrite_a=True)
        if not self.fit_intercept:
            return values, vectors
        if not size:
            values[:] = 0
        return values[:-1], vectors[:, :-1]

    def _primal_path(self, features: _Features, Y: NDArray) -> tuple[LeaveOneOutPath, float]:
        """The path of at most as many features as points, and the squared size of the features."""
        n, p = features.shape
        covariance, cross = features.products(Y)
        variances = covariance.diagonal() / n
        # divide and conquer: three quarters of the time, for memory that is small beside features
        # (SciPy 1.13 asks for too little workspace for a single feature)
        driver = "evd" if p > 1 else None
        values, vectors = linalg.eigh(
            covariance, check_finite=False, driver=driver, overwrite_a=True
        )
        mean_squares = variances + np.square(features.mean)
        lost = features.rounding * (mean_squares @ np.square(vectors))
        keep = _are_real(values, lost) & (values > values[-1] * n * np.finfo(float).eps)
        values = values[keep]
        turn = vectors[:, keep] / np.sqrt(values)
        bare = None
        if len(values) < n - self.fit_intercept:
            bare = 1 - self.fit_intercept * features.shares
        path = LeaveOneOutPath(features.rows, turn, values, turn.T @ cross, Y, bare)
        return path, float(n * mean_squares.sum())

    def _dual_path(self, features: _Features, Y: NDArray) -> tuple[LeaveOneOutPath, float]:
        """The path of more features than points, and the squared size of the features."""
        n, p = features.shape
        gram = features.gram()
        noise = 10 * np.finfo(float).eps * frobenius_norm(gram)
        size = float(gram.trace() + n * np.square(features.mean).sum())
        values, Q = self._dual_basis(gram, features.roots)
        real = _are_real(values, features.rounding * size / (n * p))
        L = np.where(real, values, 0)
        path = LeaveOneOutPath(Q.__getitem__, None, L, Q.T @ Y, Y, real=real, noise=noise)
        return path, size

    def _grid(self, path: LeaveOneOutPath, scale: float, n: int) -> NDArray:
        """The alphas to try, upwards.

        ``scale`` is the size of the matrix before it was centred: the scale of alpha if nothing is
        left after it. Alphas below what rounding does to eigenvalues and to new points' rows are
        left out.
        """
        if self.alphas is not None:
            return np.sort(np.atleast_1d(np.asarray(self.alphas, dtype=float)))
        largest = path.L.max(initial=0)
        if not largest:  # Any alpha then gives the mean.
            largest = scale or float(n)
        relative = np.logspace(-10, 0, 31)
        floor = min(n**0.5 * path.noise / largest, 1.0)
        return largest / n * relative[relative >= floor]

    @property
    def _given(self) -> bool:
        """Whether X is the Gram matrix."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _decide(self, X: ArrayLike) -> NDArray:
        check_is_fitted(self)
        return self._decisions(check_points(self, X, getattr(self, "kernel_", None), reset=False))

    def _decisions(self, X: NDArray) -> NDArray:
        if hasattr(self, "coef_"):
            decided = np.empty((len(X), len(self.coef_)))
            for rows in row_blocks(len(X), 8 * X.shape[1]):  # no copy of X in double precision
                np.matmul(X[rows], self.coef_.T, out=decided[rows])
            decided += self.intercept_
            return decided
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
        the covariance, but for those below the rounding of the kernel's Gram matrix, which is
        1e-6 of its size for a matrix in single precision. Features or kernels that differ by
        rounding alone, such as invariant ones of points on one orbit, are taken to be equal.
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

        Errors are averaged with ``sample_weight``, in the fit and in leave-one-out, which leaves
        out a sample with all of its weight. At one alpha a weight is so many copies; of several
        another one may be chosen, because a copy that stays gives away the one that is left out.
        (scikit-learn's ``check_sample_weight_equivalence_on_dense_data`` asks for that as well.)
        """
        check_parameters(self)
        points, targets = check_points(self, X, self.kernel, y=y, multi_output=True, y_numeric=True)
        weights = _check_sample_weight(sample_weight, points, dtype=float, ensure_non_negative=True)
        self._flat = targets.ndim == 1
        Y = check_array(targets, ensure_2d=False, dtype=np.float64).reshape(len(targets), -1)
        self._fit(points, Y, weights)
        return self

    def _are_wrong(self, decided: NDArray, targets: NDArray) -> NDArray:
        return np.zeros(decided.shape[:2])

    def _losses(self, squared: NDArray, wrong: NDArray, smallest: float) -> NDArray:
        return squared

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

    def _are_wrong(self, decided: NDArray, targets: NDArray) -> NDArray:
        if targets.shape[-1] == 1:
            return (decided[:, :, 0] > 0) != (targets[:, :, 0] > 0)
        return decided.argmax(axis=2) != targets.argmax(axis=2)

    def _losses(self, squared: NDArray, wrong: NDArray, smallest: float) -> NDArray:
        return wrong + tie_breaker(squared, smallest)

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
