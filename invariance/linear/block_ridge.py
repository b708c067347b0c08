"""`BlockRidgeClassifier`: regularised least squares from normal equations summed over blocks."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..core import parameters as kinds
from ..core.arrays import refuse_masked, validate_data
from ..core.parameters import check_values, short, stores_parameters
from ..core.symmetric import add_row_products, row_products
from .classes import OneVsRest, check_two_classes, signs
from .gram import rounding
from .ridge import check_scale, solve_ridges

_FLOATS = (np.float64, np.float32)


@stores_parameters
class BlockRidgeClassifier(OneVsRest, BaseEstimator):
    r"""One-vs-all regularised least squares that sees its features a block of rows at a time.

    Minimises :math:`\frac1N \lVert Y - \Phi W \rVert^2 + \alpha \lVert W \rVert^2` over centred
    features, as `RLSClassifier` does, from the sums of Phi^T Phi and Phi^T Y around the mean of the
    first block: the (N, p) array of features need never exist, and more points may be added later.
    Memory is that of two p x p arrays.

    Parameters
    ----------
    alpha : float
        Regularisation; see `scores` for choosing it on held-out points and `solve` for another
        one without new sums.
    block_rows : int
        Rows that `fit` passes at a time.
    dtype : {"float64", "float32"}
        Type of the p x p sums and of the factorisation. float32 halves the memory and the time, and
        takes regularisation down to about 1e-7 times the largest eigenvalue.

    Attributes
    ----------
    classes_ : ndarray
    n_seen_ : int
    alpha_ : float
        The alpha of ``coef_``.
    coef_ : ndarray of shape (n_classes, p), or (1, p) for two classes
        After `partial_fit` it is computed at its first use.
    intercept_ : ndarray

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BlockRidgeClassifier(alpha=1e-3)
    >>> shuffled = np.random.default_rng(0).permutation(len(X))  # the file is sorted by class
    >>> for block in np.split(shuffled, 3):
    ...     model = model.partial_fit(X[block], y[block], classes=[0, 1, 2])
    >>> model.n_seen_, model.coef_.shape, bool(model.score(X, y) > 0.8)
    (150, (3, 4), True)
    """

    alpha: Annotated[float, kinds.Number(above=0, most=1e308)] = 1e-6
    block_rows: Annotated[int, kinds.Whole(1)] = 1000
    _: KW_ONLY
    dtype: Annotated[str, kinds.OneOf("float64", "float32")] = "float64"

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> BlockRidgeClassifier:
        """Fit features of shape (N, p) to labels of shape (N,), with weights of shape (N,)."""
        points, labels, weights = self._checked(X, y, sample_weight, dtype=_FLOATS)
        check_scale(points, self.dtype)
        self._start(points.shape[1], np.unique(labels[weights > 0]))
        for start in range(0, len(points), self.block_rows):
            rows = slice(start, start + self.block_rows)
            self._add(points[rows], labels[rows], weights[rows])
        return self.solve()

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> BlockRidgeClassifier:
        """Add a block of points; ``classes`` lists all labels at the first call."""
        first = not hasattr(self, "classes_")
        points, labels, weights = self._checked(X, y, sample_weight, dtype=_FLOATS, reset=first)
        check_scale(points, self.dtype)
        if first:
            if classes is None:
                raise ValueError("the first call of partial_fit needs classes, the list of labels")
            refuse_masked("classes", classes)
            self._start(points.shape[1], np.unique(np.asarray(classes)))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={short(classes)} are not those of the first call, {short(self.classes_)}"
            )
        self._add(points, labels, weights)
        self._solved: tuple[NDArray, NDArray] | None = None
        self.alpha_ = float(self.alpha)
        return self

    def _start(self, p: int, classes: NDArray) -> None:
        check_two_classes(classes)
        self.classes_ = classes
        self.n_seen_ = 0
        n_targets = signs(classes, classes).shape[1]
        # Only the lower triangle is used. LAPACK's order of storage, so that sums of squares and
        # Cholesky factors are computed in place.
        self._squares = np.zeros((p, p), dtype=self.dtype, order="F")
        self._cross = np.zeros((p, n_targets))
        self._sum = np.zeros(p)
        self._targets_sum = np.zeros(n_targets)
        self._weights_sum = 0.0
        self._origin: NDArray | None = None  # subtracted from features before all sums

    def _add(self, X: NDArray, y: NDArray, weights: NDArray) -> None:
        unknown = ~np.isin(y, self.classes_) & (weights > 0)
        if unknown.any():
            raise ValueError(f"label {y[unknown][0]} is not among classes {self.classes_}")
        self.n_seen_ += len(X)
        counted = weights > 0
        if not counted.any():
            return
        if not counted.all():  # otherwise copies are saved
            X = X[counted]
            y = y[counted]
            weights = weights[counted]
        Y = signs(y, self.classes_)
        if self._origin is None:
            # In the precision of the points: differences of like numbers are then exact.
            self._origin = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        roots = np.sqrt(weights)[:, None].astype(X.dtype)
        X = X - self._origin
        weighted = X
        all_are_one = np.ptp(weights) == 0 and weights[0] == 1
        if not all_are_one:  # otherwise passes over the points are saved
            X *= roots
            weighted = roots * X
        if X.dtype == self._squares.dtype:
            self._squares = add_row_products(self._squares, X.T)
        else:
            self._squares += row_products(X.T)
        self._cross += X.T @ (roots * Y.astype(X.dtype))
        self._sum += weighted.sum(axis=0, dtype=np.float64)
        self._targets_sum += weights @ Y
        self._weights_sum += float(weights.sum())

    def _solutions(self, alphas: NDArray) -> list[tuple[NDArray, NDArray]]:
        """Coefficients and the intercept for features relative to the origin, at each alpha."""
        n = self._weights_sum
        if n <= 0:
            raise ValueError("sample_weight is zero for all points: nothing to fit")
        mean = self._sum / n
        target = self._targets_sum / n
        cross = self._cross / n - np.outer(mean, target)

        def covariance() -> NDArray:
            squares = self._squares / n
            syr = linalg.get_blas_funcs("syr", (squares,))
            return syr(-1, mean, a=squares, lower=True, overwrite_a=True)

        with np.errstate(over="ignore"):  # if infinite, each alpha gets a factor of its own
            safe = rounding(self._squares) / n
        cross = cross.astype(self._squares.dtype)
        columns = solve_ridges(covariance, cross, alphas, safe=safe)
        coefs = columns.astype(np.float64).swapaxes(1, 2)
        return [(coef, target - coef @ mean) for coef in coefs]

    def solve(self, alpha: float | None = None) -> BlockRidgeClassifier:
        """Solve at another alpha, without new sums; None means the constructor's alpha.

        The next `partial_fit` returns to the constructor's alpha.
        """
        check_is_fitted(self, "classes_")
        alpha = self.alpha if alpha is None else alpha
        check_values("BlockRidgeClassifier.solve", self._parameters, {"alpha": alpha})
        (solution,) = self._solutions(np.array([float(alpha)]))
        coef, _ = solution
        if np.isnan(coef).any():
            remedy = "raise alpha"
            if self._squares.dtype == np.float32:
                remedy = "raise alpha or use float64"
            raise ValueError(
                f"normal equations not positive definite at alpha={alpha:.1e} in "
                f"{self._squares.dtype}: {remedy}"
            )
        self._solved = solution
        self.alpha_ = float(alpha)
        return self

    def _solution(self) -> tuple[NDArray, NDArray]:
        check_is_fitted(self, "alpha_")
        if self._solved is None:
            self.solve(self.alpha_)
        return self._solved  # type: ignore[return-value]

    @property
    def coef_(self) -> NDArray:
        return self._solution()[0]

    @property
    def intercept_(self) -> NDArray:
        coef, intercept = self._solution()
        return intercept - coef @ self._origin

    def scores(self, X: ArrayLike, y: ArrayLike, *, alphas: ArrayLike) -> NDArray:
        """Accuracy on held-out points at each alpha, shape (q,); NaN if alpha is too small.

        The sums stay: add the held-out points afterwards with `partial_fit` to use them all.
        """
        check_is_fitted(self, "classes_")
        due = kinds.Number(above=0, most=1e308) | kinds.Array(1, above=0, most=1e308)
        check_values("BlockRidgeClassifier.scores", {"alphas": due}, {"alphas": alphas})
        points = validate_data(self, X, reset=False, dtype=_FLOATS)
        refuse_masked("y", y)
        labels = np.asarray(y)
        if labels.shape != (len(points),):
            raise ValueError(
                f"expected one label per row: {len(points)} rows, labels of {labels.shape}"
            )
        solutions = self._solutions(np.atleast_1d(np.asarray(alphas, dtype=float)))
        accuracies = np.full(len(solutions), np.nan)
        for i, (coef, intercept) in enumerate(solutions):
            if np.isnan(coef).any():
                continue
            decisions = self._decisions(points, coef, intercept)
            predicted = self._labels(decisions)
            accuracies[i] = np.mean(predicted == labels)
        return accuracies

    def _decide(self, X: ArrayLike) -> NDArray:
        check_is_fitted(self, "classes_")
        points = validate_data(self, X, reset=False, dtype=_FLOATS)
        coef, intercept = self._solution()
        return self._decisions(points, coef, intercept)

    def _decisions(self, X: NDArray, coef: NDArray, intercept: NDArray) -> NDArray:
        X = X - self._origin
        return X @ coef.T.astype(X.dtype) + intercept
