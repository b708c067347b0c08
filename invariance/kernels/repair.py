"""Indefinite Gram matrices made positive semi-definite, on training and on new points alike."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import validate_data
from ..core.kernel_matrix import check_points, kernel_matrix
from ..core.parameters import (
    Has,
    OneOf,
    ParameterError,
    Text,
    Whole,
    check_parameters,
    stores_parameters,
)
from ..orbits.choose import Explanation, by_the_clock
from .diagnostics import largest_definite, square

__all__ = ["GramTransformer", "SpectrumRepair"]

_METHODS = OneOf("clip", "flip", "shift", "nystrom")


@stores_parameters
class SpectrumRepair(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Make a precomputed kernel positive semi-definite, on training and on new points alike.

    Put it before ``SVC(kernel="precomputed")``; cross-validation of that pipeline on a Gram matrix
    takes the rows and the columns of each fold. It works on the symmetric part of the training
    matrix :math:`K = V \Lambda V^T`.

    - "clip" sets negative eigenvalues to zero. New points have rows :math:`k V_+ V_+^T`, the
      Nystrom extension of the clipped matrix.
    - "flip" takes absolute values, :math:`V |\Lambda| V^T`. New points have rows
      :math:`k V \operatorname{sign}(\Lambda) V^T`. Nothing is discarded: where
      :math:`K = S S^T - D D^T` with S and D orthogonal to each other, this is
      :math:`S S^T + D D^T`.
    - "shift" adds -lambda_min to the diagonal: the smallest ridge that helps. New points differ
      from training points, hence their rows stay as they are.
    - "nystrom" takes the first ``n_landmarks`` samples, with a positive definite matrix
      :math:`K_{mm}`, as landmarks and extends it to all points,
      :math:`K_{nm} K_{mm}^{-1} K_{mn}`.

    Parameters
    ----------
    method : {"clip", "flip", "shift", "nystrom"}
    n_landmarks : int or None
        None takes `largest_definite`.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n,)
        Of the symmetric part, ascending.
    n_features_in_ : int
        Number of training points.
    n_landmarks_ : int or None
        Landmarks used by "nystrom".

    Examples
    --------
    >>> K = np.array([[1.0, 2.0], [2.0, 1.0]])
    >>> SpectrumRepair("clip").fit_transform(K)
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """

    method: Annotated[str, _METHODS] = "clip"
    n_landmarks: Annotated[int | None, None | Whole(1)] = None

    def fit(self, K: ArrayLike, y: Any = None) -> SpectrumRepair:
        """Decompose the training matrix, shape (n, n)."""
        self._fit(K)
        return self

    def fit_transform(self, K: ArrayLike, y: Any = None) -> NDArray[Any]:
        """The repaired training matrix, shape (n, n)."""
        return self._fit(K)

    def transform(self, K: ArrayLike) -> NDArray[Any]:
        """Repaired rows of new points against the training points, shape (m, n)."""
        check_is_fitted(self)
        rows: NDArray[Any] = validate_data(self, K, reset=False, dtype=np.float64)
        if self._projection is None:
            return rows
        projected: NDArray[Any] = rows[:, : len(self._projection)] @ self._projection
        return projected

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_in_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Cross-validation then takes the training columns as well; a pipeline passes this on.
        tags.input_tags.pairwise = True
        return tags

    def _fit(self, given: ArrayLike) -> NDArray[Any]:
        check_parameters(self)
        K = square(validate_data(self, given, dtype=np.float64))
        K = (K + K.T) / 2
        self.eigenvalues_, vectors = linalg.eigh(K)
        self.n_landmarks_: int | None = None
        self._projection: NDArray[Any] | None = None
        values = self.eigenvalues_
        if self.method == "shift":
            return K + max(0.0, -float(values[0])) * np.eye(len(K))
        if self.method == "nystrom":
            repaired = self._extend(K)
        else:
            signs = np.sign(values) if self.method == "flip" else (values > 0).astype(float)
            kept, signs, values = vectors[:, signs != 0], signs[signs != 0], values[signs != 0]
            self._projection = (kept * signs) @ kept.T
            repaired = (kept * np.abs(values)) @ kept.T
        symmetric: NDArray[Any] = (repaired + repaired.T) / 2
        return symmetric

    def _extend(self, K: NDArray[Any]) -> NDArray[Any]:
        """Nystrom's extension of the landmarks' matrix to all points."""
        # definite by more than rounding: the landmarks' matrix is inverted
        rounding = len(K) * np.finfo(float).eps * float(np.abs(self.eigenvalues_).max())
        largest = largest_definite(K - rounding * np.eye(len(K)))
        m = largest if self.n_landmarks is None else self.n_landmarks
        if not 1 <= m <= largest:
            raise ParameterError(
                f"n_landmarks={self.n_landmarks!r}: the first {largest} samples have a positive "
                "definite matrix, so between 1 and that many can be landmarks"
            )
        self.n_landmarks_ = m
        projection: NDArray[Any] = linalg.cho_solve(linalg.cho_factor(K[:m, :m]), K[:m])
        self._projection = projection
        extended: NDArray[Any] = K[:, :m] @ projection
        return extended


@stores_parameters
class GramTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Points to their rows of the (repaired) Gram matrix: an indefinite kernel in a pipeline.

    Put it before a learner on precomputed kernels. Cross-validation and grid search then split
    points, and each fit repairs the matrix of its own training points.

    Parameters
    ----------
    kernel : Kernel, str or callable
        As scikit-learn's ``pairwise_kernels`` takes it; also a function of two points.
    repair : {"clip", "flip", "shift", "nystrom"} or None
        As `SpectrumRepair`, on the symmetric part of the training matrix; None passes the kernel
        on as it is. With "shift" training points have a ridge that `transform` does not give
        them, because it takes them for new ones.

    Attributes
    ----------
    X_fit_ : ndarray of shape (n, d)
        Training points.
    repair_ : SpectrumRepair or None
        The fitted repair, with the ``eigenvalues_`` of the training matrix.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(GramTransformer("sigmoid", repair="clip"), SVC(kernel="precomputed"))
    >>> model.fit(X, y).predict(X[:3]).shape
    (3,)
    """

    kernel: Annotated[Any, Text() | Has("a kernel, or a function of two points", "__call__")] = (
        "linear"
    )
    repair: Annotated[str | None, None | _METHODS] = "clip"

    def explain(self, X: Any) -> Explanation:
        """What `fit` to points X will cost: as the kernel says, or by the clock for 64 points."""
        check_parameters(self)
        if hasattr(self.kernel, "explain"):
            return self.kernel.explain(X)  # type: ignore[no-any-return]
        return by_the_clock(lambda: kernel_matrix(self.kernel, X[:64]), (len(X) / 64) ** 2)

    def fit(self, X: ArrayLike, y: Any = None) -> GramTransformer:
        """Evaluate the kernel on training points of shape (n, d), and fit the repair to it.

        Or on padded sets (n, largest, d), for a kernel that takes them, such as `SetKernel`.
        """
        self._fit(X)
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> NDArray[Any]:
        """The training points' Gram matrix, repaired, shape (n, n)."""
        return self._fit(X)

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Repaired rows of new points against the training points, shape (m, n)."""
        check_is_fitted(self)
        points = check_points(self, X, self.kernel_, reset=False)
        rows = kernel_matrix(self.kernel_, points, self.X_fit_)
        return rows if self.repair_ is None else self.repair_.transform(rows)

    @property
    def _n_features_out(self) -> int:
        return len(self.X_fit_)

    def _fit(self, X: ArrayLike) -> NDArray[Any]:
        check_parameters(self)
        points = check_points(self, X, self.kernel)
        # copies: what changes on the kernel or in X later does not change the fitted model
        self.X_fit_, self.kernel_ = points.copy(), clone(self.kernel, safe=False)
        gram = kernel_matrix(self.kernel_, points)
        self.repair_ = None if self.repair is None else SpectrumRepair(self.repair)
        return square(gram) if self.repair_ is None else self.repair_.fit_transform(gram)
