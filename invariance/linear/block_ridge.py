"""`BlockRidgeClassifier`: regularised least squares from normal equations summed over blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..checks import check_count, check_positive
from .classes import OneVsRest, check_two_classes

__all__ = ["BlockRidgeClassifier"]


class BlockRidgeClassifier(OneVsRest, BaseEstimator):
    r"""One-vs-all regularised least squares that sees its features a block of rows at a time.

    Minimises :math:`\frac1N \lVert Y - \Phi W \rVert^2 + \lambda \lVert W \rVert^2` over centred
    features, as `RLSClassifier` does, from the sums of Phi^T Phi and Phi^T Y: the (N, p) array of
    features need never exist, more points may be added later, and every lambda costs one Cholesky
    factorisation. Products of float32 blocks run in float32 and are summed in float64. Memory is
    that of two p x p arrays.

    Parameters
    ----------
    lam : float
        Regularisation; see `scores` for choosing it on held-out points.
    block_rows : int
        Rows that `fit` passes at a time.
    dtype : {"float64", "float32"}
        Of the p x p sums and of the factorisation. float32 halves the memory and the time, and
        stands regularisation down to about 1e-7 times the largest eigenvalue.

    Attributes
    ----------
    classes_ : ndarray
    n_seen_ : int
    coef_ : ndarray of shape (n_classes, p), or (1, p) for two classes
    intercept_ : ndarray

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BlockRidgeClassifier(lam=1e-3)
    >>> for start in range(3):
    ...     model = model.partial_fit(X[start::3], y[start::3], classes=[0, 1, 2])
    >>> model.n_seen_, bool(model.score(X, y) > 0.8)
    (150, True)
    """

    def __init__(self, lam: float = 1e-6, block_rows: int = 1000, dtype: str = "float64"):
        self.lam = lam
        self.block_rows = block_rows
        self.dtype = dtype

    def fit(self, X: ArrayLike, y: ArrayLike) -> BlockRidgeClassifier:
        """Fit features of shape (N, p) to labels of shape (N,)."""
        check_count("BlockRidgeClassifier", block_rows=self.block_rows)
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32))
        check_classification_targets(y)
        self._start(X.shape[1], np.unique(y))
        for start in range(0, len(X), self.block_rows):
            rows = slice(start, start + self.block_rows)
            self._add(X[rows], y[rows])
        self._solve()
        return self

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None
    ) -> BlockRidgeClassifier:
        """Add a block of points; ``classes`` lists all labels at the first call."""
        first = not hasattr(self, "classes_")
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32), reset=first)
        check_classification_targets(y)
        if first:
            if classes is None:
                raise ValueError("the first call of partial_fit needs classes, the list of labels")
            self._start(X.shape[1], np.unique(classes))
        self._add(X, y)
        return self

    def _start(self, p: int, classes: NDArray) -> None:
        check_positive("BlockRidgeClassifier", lam=self.lam)
        if self.dtype not in ("float64", "float32"):
            raise ValueError(f"dtype must be 'float64' or 'float32', got {self.dtype!r}")
        check_two_classes(classes)
        self.classes_ = classes
        self.n_seen_ = 0
        targets = 1 if len(classes) == 2 else len(classes)
        # Only the lower triangle counts. LAPACK's order of storage, so that sums of squares and
        # Cholesky factors are made in place.
        self._squares = np.zeros((p, p), dtype=self.dtype, order="F")
        self._cross = np.zeros((p, targets))
        self._sum = np.zeros(p)
        self._targets_sum = np.zeros(targets)

    def _add(self, X: NDArray, y: NDArray) -> None:
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            raise ValueError(f"label {y[unknown][0]} is not among classes {self.classes_}")
        shown = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        Y = np.where(y[:, None] == shown, 1.0, -1.0)
        if X.dtype == self._squares.dtype:
            syrk = linalg.get_blas_funcs("syrk", (self._squares,))
            self._squares = syrk(
                1, np.ascontiguousarray(X).T, beta=1, c=self._squares, lower=True, overwrite_c=True
            )
        else:
            self._squares += X.T @ X
        self._cross += X.T @ Y.astype(X.dtype)
        self._sum += X.sum(axis=0, dtype=np.float64)
        self._targets_sum += Y.sum(axis=0)
        self.n_seen_ += len(X)
        self._stale = True

    def _weights(self, lam: float) -> tuple[NDArray, NDArray]:
        n = self.n_seen_
        mean, target = self._sum / n, self._targets_sum / n
        covariance = self._squares / n
        syr = linalg.get_blas_funcs("syr", (covariance,))
        covariance = syr(-1, mean, a=covariance, lower=True, overwrite_a=True)
        covariance.flat[:: len(covariance) + 1] += lam
        cross = self._cross / n - np.outer(mean, target)
        try:
            factor = linalg.cho_factor(covariance, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            raise ValueError(
                f"the normal equations are not positive definite at lam = {lam:.1e} in "
                f"{self.dtype}; raise lam" + (" or use float64" if self.dtype != "float64" else "")
            ) from None
        coef = linalg.cho_solve(factor, cross.astype(covariance.dtype), check_finite=False)
        return coef.T.astype(np.float64), target - mean @ coef

    def _solve(self) -> None:
        self.coef_, self.intercept_ = self._weights(self.lam)
        self._stale = False

    def scores(self, X: ArrayLike, y: ArrayLike, lambdas: ArrayLike) -> NDArray:
        """Accuracy on held-out points at each lambda, shape (q,); NaN where it is too small.

        The points seen so far are not forgotten: add the held-out ones afterwards with
        `partial_fit` to use them all.
        """
        check_is_fitted(self, "classes_")
        X = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        y = np.asarray(y)
        if y.shape != (len(X),):
            raise ValueError(
                f"expected one label a row: {len(X)} rows, but labels of shape {y.shape}"
            )
        found = []
        for lam in np.atleast_1d(lambdas):
            check_positive("BlockRidgeClassifier.scores", lam=lam)
            try:
                coef, intercept = self._weights(float(lam))
            except ValueError:
                found.append(np.nan)
                continue
            decided = X @ coef.T.astype(X.dtype) + intercept
            found.append(np.mean(self._labels(decided) == y))
        return np.array(found)

    def _decide(self, X: ArrayLike) -> NDArray:
        check_is_fitted(self, "classes_")
        if self._stale:
            self._solve()
        X = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        return X @ self.coef_.T.astype(X.dtype) + self.intercept_
