"""Indefinite kernels: reports on their Gram matrices, and repairs that make them definite.

`GramTransformer` stands before a learner that needs a positive semi-definite matrix. It repairs the
rows of training points and of new points alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import check_array
from ..core.dask_arrays import over_blocks
from ..core.kernel_matrix import (
    check_points,
    is_known_definite,
    kernel_matrix,
    repaired_eigenvalues,
)
from ..core.parameters import Has, OneOf, ParameterError, Text, check_parameters, stores_parameters
from ..core.symmetric import factorize

Array = NDArray[Any]


def _square(gram: ArrayLike) -> Array:
    """Return a square matrix in double precision, or raise an error."""
    matrix = check_array(gram, input_name="gram", dtype=np.float64)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"a Gram matrix is square, as kernel(X) is: got {matrix.shape}")
    return matrix


def gershgorin_margin(gram: ArrayLike) -> float:
    r"""Gershgorin's lower bound of the spectrum, :math:`\min_i K_{ii} - \sum_{j\ne i} |K_{ij}|`.

    The proof of theorem 1 of Liu et al. 2022 shows that it is positive. The smallest eigenvalue can
    be positive although the bound is negative.

    >>> gershgorin_margin([[2.0, -0.5], [-0.5, 1.0]])
    0.5
    """
    K = _square(gram)
    diagonal = K.diagonal()
    # The sum runs over whole rows, so the diagonal's absolute value is taken out again.
    margins = diagonal + np.abs(diagonal) - np.abs(K).sum(axis=1)
    return float(margins.min())


def largest_definite(gram: ArrayLike) -> int:
    """Largest n for which the first n samples have a positive definite Gram matrix.

    One Cholesky factorization of the symmetric part is enough: it breaks down at the first leading
    block that is not positive definite.

    >>> largest_definite([[1.0, 0.5, 2.0], [0.5, 1.0, 0.0], [2.0, 0.0, 1.0]])
    2
    """
    matrix = _square(gram)
    matrix = matrix + matrix.T
    # Twice the symmetric part has the same definite blocks. The matrix equals its transpose, which
    # is in Fortran's order, so nothing is copied.
    first_indefinite = factorize(matrix.T)
    if first_indefinite == 0:
        return len(matrix)
    return first_indefinite - 1


@dataclass(frozen=True)
class GramReport:
    """Result of `gram_report`; ``print`` it for advice."""

    n: int  #: samples
    asymmetry: float  #: largest |K - K^T| over the largest |K|
    smallest: float  #: extreme eigenvalues of the symmetric part
    largest: float
    n_negative: int  #: eigenvalues below minus `tolerance`
    tolerance: float  #: rounding in the eigenvalues: machine epsilon times n times the largest
    gershgorin: float  #: `gershgorin_margin`
    definite_up_to: int  #: `largest_definite`
    negative_share: float  #: sum of the negative eigenvalues over the sum of all absolute ones

    @property
    def symmetric(self) -> bool:
        return self.asymmetry < 1e-12

    @property
    def positive_definite(self) -> bool:
        """Whether all eigenvalues are above rounding."""
        return self.smallest > self.tolerance

    def __str__(self) -> str:
        lines = [
            f"{self.n} samples; asymmetry {self.asymmetry:.1e}; eigenvalues {self.smallest:.3e} "
            f"to {self.largest:.3e}, {self.n_negative} of them negative "
            f"({self.negative_share:.2e} of the trace norm)",
            f"Gershgorin margin {self.gershgorin:.3e}; the first {self.definite_up_to} samples "
            "have a positive definite matrix",
        ]
        if self.n_negative:
            lines.append(
                "Indefinite: no points have these inner products. An SVM may end at a poor "
                "solution. GramTransformer(kernel) takes points and repairs their matrix, "
                "GramTransformer('precomputed') takes the matrix; RLSClassifier repairs it itself."
            )
        if not self.symmetric:
            lines.append(
                "Not symmetric: LIBSVM reads the matrix as it is; (K + K.T) / 2 is its symmetric "
                "part."
            )
        return "\n".join(lines)


def gram_report(gram: ArrayLike) -> GramReport:
    """Symmetry, spectrum, Gershgorin margin and largest positive definite part of a Gram matrix.

    >>> report = gram_report([[1.0, 2.0], [2.0, 1.0]])
    >>> report.positive_definite, report.n_negative, report.definite_up_to
    (False, 1, 1)
    """
    K = _square(gram)
    largest_difference = np.abs(K - K.T).max()
    # A zero matrix is divided by one, so that its shares are zero.
    asymmetry = largest_difference / (np.abs(K).max() or 1)
    eigenvalues = linalg.eigvalsh((K + K.T) / 2)
    magnitudes = np.abs(eigenvalues)
    tolerance = float(np.finfo(float).eps * len(K) * magnitudes.max())
    negative_sum = magnitudes[eigenvalues < 0].sum()
    trace_norm = magnitudes.sum()
    return GramReport(
        n=len(K),
        asymmetry=float(asymmetry),
        smallest=float(eigenvalues[0]),
        largest=float(eigenvalues[-1]),
        n_negative=int((eigenvalues < -tolerance).sum()),
        tolerance=tolerance,
        gershgorin=gershgorin_margin(K),
        definite_up_to=largest_definite(K),
        negative_share=float(negative_sum / (trace_norm or 1)),
    )


@stores_parameters
class GramTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Transform points to rows of the (repaired) Gram matrix: an indefinite kernel in a pipeline.

    Put it before a learner on precomputed kernels, such as ``SVC(kernel="precomputed")``: each fit
    repairs the matrix of its own training points. It works on the symmetric part of the training
    matrix :math:`K = V \Lambda V^T`.

    - "clip" sets negative eigenvalues to zero. New points have rows :math:`k V_+ V_+^T`, the
      Nystrom extension of the clipped matrix.
    - "flip" takes absolute values, :math:`V |\Lambda| V^T`. New points have rows
      :math:`k V \operatorname{sign}(\Lambda) V^T`.
    - "shift" adds -lambda_min to the diagonal: the smallest ridge that helps. `transform` treats
      all points as new, and rows of new points stay as they are.
    - "nystrom" takes the first samples, as long as their matrix :math:`K_{mm}` is positive
      definite, as landmarks and extends it to all points, :math:`K_{nm} K_{mm}^{-1} K_{mn}`.

    A kernel that states ``positive_definite = True``, such as a Gaussian or a `BestFit` over a
    group generated by reflections, is passed on as it is.

    Parameters
    ----------
    kernel : Kernel, str or callable
        As scikit-learn's ``pairwise_kernels`` takes it; also a function of two points.
        "precomputed" takes Gram matrices for points.
    repair : {"clip", "flip", "shift", "nystrom"}; None passes the kernel on as it is

    Attributes
    ----------
    X_fit_ : ndarray of shape (n, d), training points
    eigenvalues_ : ndarray of shape (n,), of the symmetric part, ascending; None without a repair
    n_landmarks_ : int or None, landmarks of "nystrom"

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(GramTransformer("sigmoid", repair="clip"), SVC(kernel="precomputed"))
    >>> model.fit(X, y).predict(X[:3]).shape
    (3,)
    >>> GramTransformer("precomputed").fit_transform([[1.0, 2.0], [2.0, 1.0]])
    array([[1.5, 1.5],
           [1.5, 1.5]])
    """

    kernel: Annotated[Any, Text() | Has("a kernel, or a function of two points", "__call__")] = (
        "linear"
    )
    repair: Annotated[str | None, OneOf("clip", "flip", "shift", "nystrom") | None] = "clip"

    def fit(self, X: ArrayLike, y: Any = None) -> GramTransformer:
        """Evaluate the kernel on training points of shape (n, d), and fit the repair to it.

        Kernels of sets, such as `SetKernel`, take padded sets of shape (n, largest, d).
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> Array:
        """Return the training points' Gram matrix, repaired, shape (n, n)."""
        check_parameters(self)
        points = check_points(self, X, self.kernel)
        # Copies keep the fitted model from changing with the kernel or with X.
        self.X_fit_ = points.copy()
        self.kernel_ = clone(self.kernel, safe=False)
        self.eigenvalues_: Array | None = None
        self.n_landmarks_: int | None = None
        self._projection: Array | None = None
        K = _square(self._matrix(points, None))
        if self.repair is None or is_known_definite(self.kernel_):
            return K
        K = (K + K.T) / 2
        eigenvalues, eigenvectors = linalg.eigh(K)
        self.eigenvalues_ = eigenvalues
        if self.repair == "nystrom":
            largest = float(np.abs(eigenvalues).max())
            self._projection = self._project_on_landmarks(K, largest)
        else:
            repaired_values, factors = repaired_eigenvalues(eigenvalues, self.repair)
            if self.repair == "shift":
                ridge = repaired_values[0] - eigenvalues[0]
                return np.asarray(K + ridge * np.eye(len(K)))
            self._projection = (eigenvectors * factors) @ eigenvectors.T
        repaired = self._repaired(K)
        return np.asarray((repaired + repaired.T) / 2)

    def _project_on_landmarks(self, K: Array, largest_eigenvalue: float) -> Array:
        """Choose the landmarks of "nystrom"; return the matrix that extends their rows."""
        # The landmarks' matrix is inverted, so it has to be definite by more than rounding.
        rounding = len(K) * np.finfo(float).eps * largest_eigenvalue
        n_landmarks = largest_definite(K - rounding * np.eye(len(K)))
        self.n_landmarks_ = n_landmarks
        if n_landmarks == 0:
            raise ParameterError(
                f"k(x, x) = {K[0, 0]:g} of the first sample is not positive: take 'clip'"
            )
        factor = linalg.cho_factor(K[:n_landmarks, :n_landmarks])
        return np.asarray(linalg.cho_solve(factor, K[:n_landmarks]))

    def dtype_of_features(self, point: Array) -> np.dtype[Any]:
        """Check one point, and return the type of rows of points of its type."""
        point = check_points(self, point, self.kernel_, reset=False)
        training_point = self.X_fit_[:1].astype(point.dtype)
        return self.transform(training_point).dtype

    @over_blocks
    def transform(self, X: ArrayLike) -> Array:
        """Return repaired rows of new points against the training points, shape (m, n)."""
        check_is_fitted(self)
        points = check_points(self, X, self.kernel_, reset=False)
        return self._repaired(self._matrix(points, self.X_fit_))

    def _matrix(self, X: Array, Y: Array | None) -> Array:
        if _is_precomputed(self.kernel_):
            return X
        return kernel_matrix(self.kernel_, X, Y)

    def _repaired(self, rows: Array) -> Array:
        projection = self._projection
        if projection is None:
            return rows
        return np.asarray(rows[:, : len(projection)] @ projection)

    @property
    def _n_features_out(self) -> int:
        return len(self.X_fit_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Cross-validation of a Gram matrix selects columns as well as rows; a pipeline passes the
        # tag on.
        tags.input_tags.pairwise = _is_precomputed(self.kernel)
        return tags


def _is_precomputed(kernel: Any) -> bool:
    return isinstance(kernel, str) and kernel == "precomputed"
