"""Indefinite kernels: what their Gram matrices look like, and how to make them definite.

Before a learner that needs a positive semi-definite matrix, on training and on new points alike.
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

from ..core.arrays import check_array, validate_data
from ..core.kernel_matrix import check_points, kernel_matrix, repaired_eigenvalues
from ..core.parameters import (
    Has,
    OneOf,
    ParameterError,
    Text,
    check_parameters,
    stores_parameters,
)

Array = NDArray[Any]

_METHODS = OneOf("clip", "flip", "shift", "nystrom")


def _square(given: ArrayLike) -> Array:
    gram = check_array(given, input_name="gram", dtype=np.float64)
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(
            f"a Gram matrix is square, that of kernel(X) on training points: got {gram.shape}"
        )
    return gram


def gershgorin_margin(gram: ArrayLike) -> float:
    r"""Gershgorin's lower bound of the spectrum, :math:`\min_i K_{ii} - \sum_{j\ne i} |K_{ij}|`.

    The proof of theorem 1 of Liu et al. 2022 shows that it is positive; the smallest eigenvalue
    may be positive long after it is not.

    >>> gershgorin_margin([[2.0, -0.5], [-0.5, 1.0]])
    0.5
    """
    K = _square(gram)
    return float((K.diagonal() + np.abs(K.diagonal()) - np.abs(K).sum(axis=1)).min())


def largest_definite(gram: ArrayLike) -> int:
    """Largest n for which the first n samples have a positive definite Gram matrix.

    By one Cholesky factorisation: it breaks down at the first leading block that is not positive
    definite, and no larger one can be. An asymmetric matrix is replaced by its symmetric part.

    >>> largest_definite([[1.0, 0.5, 2.0], [0.5, 1.0, 0.0], [2.0, 0.0, 1.0]])
    2
    """
    matrix = _square(gram)
    matrix = matrix + matrix.T
    # Half of it is definite where it is. Symmetric, hence its own transpose, which is in LAPACK's
    # order: nothing is copied. LAPACK's info is the order of the first bad leading block.
    _, info = linalg.lapack.dpotrf(matrix.T, lower=1, clean=0, overwrite_a=1)
    return len(matrix) if info == 0 else int(info) - 1


@dataclass(frozen=True)
class GramReport:
    """What `gram_report` found; ``print`` it for advice.

    Attributes
    ----------
    n : int
        Number of samples.
    asymmetry : float
        Largest |K - K^T| over the largest |K|.
    smallest, largest : float
        Extreme eigenvalues of the symmetric part.
    n_negative : int
        Eigenvalues below minus `tolerance`.
    tolerance : float
        Rounding in the eigenvalues: machine epsilon times n times the largest.
    gershgorin : float
        `gershgorin_margin`.
    definite_up_to : int
        `largest_definite`.
    negative_share : float
        Sum of the negative eigenvalues over the sum of all absolute ones.
    """

    n: int
    asymmetry: float
    smallest: float
    largest: float
    n_negative: int
    tolerance: float
    gershgorin: float
    definite_up_to: int
    negative_share: float

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
                "Indefinite: these are inner products of no points. An SVM may end at a poor "
                "solution. GramTransformer(kernel) repairs the matrix, from points on; "
                "SpectrumRepair() a precomputed one; RLSClassifier does so by itself."
            )
        if not self.symmetric:
            lines.append(
                "Not symmetric: LIBSVM reads the matrix as given; (K + K.T) / 2 is its symmetric "
                "part."
            )
        return "\n".join(lines)


def gram_report(gram: ArrayLike) -> GramReport:
    """Symmetry, spectrum, Gershgorin margin and largest positive definite part of a Gram matrix.

    Parameters
    ----------
    gram : array-like of shape (n, n)

    Returns
    -------
    GramReport

    Examples
    --------
    >>> report = gram_report([[1.0, 2.0], [2.0, 1.0]])
    >>> report.positive_definite, report.n_negative, report.definite_up_to
    (False, 1, 1)
    """
    K = _square(gram)
    values = linalg.eigvalsh((K + K.T) / 2)
    tolerance = float(np.finfo(float).eps * len(K) * np.abs(values).max())
    scale = np.abs(K).max()
    return GramReport(
        n=len(K),
        asymmetry=float(np.abs(K - K.T).max() / scale) if scale > 0 else 0.0,
        smallest=float(values[0]),
        largest=float(values[-1]),
        n_negative=int((values < -tolerance).sum()),
        tolerance=tolerance,
        gershgorin=gershgorin_margin(K),
        definite_up_to=largest_definite(K),
        negative_share=float(
            np.abs(values[values < 0]).sum() / max(np.abs(values).sum(), np.finfo(float).tiny)
        ),
    )


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
    - "nystrom" takes the first samples, as long as their matrix :math:`K_{mm}` is positive
      definite, as landmarks and extends it to all points, :math:`K_{nm} K_{mm}^{-1} K_{mn}`.

    Parameters
    ----------
    method : {"clip", "flip", "shift", "nystrom"}

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

    def fit(self, K: ArrayLike, y: Any = None) -> SpectrumRepair:
        """Decompose the training matrix, shape (n, n)."""
        self.fit_transform(K)
        return self

    def fit_transform(self, K: ArrayLike, y: Any = None) -> Array:
        """The repaired training matrix, shape (n, n)."""
        check_parameters(self)
        K = _square(validate_data(self, K, dtype=np.float64))
        K = (K + K.T) / 2
        values, vectors = linalg.eigh(K)
        self.eigenvalues_ = values
        self.n_landmarks_: int | None = None
        self._projection: Array | None = None
        if self.method == "nystrom":
            # Definite by more than rounding: the landmarks' matrix is inverted.
            rounding = len(K) * np.finfo(float).eps * float(np.abs(values).max())
            m = self.n_landmarks_ = largest_definite(K - rounding * np.eye(len(K)))
            if not m:
                raise ParameterError(
                    f"SpectrumRepair: k(x, x) = {K[0, 0]:g} of the first sample is not positive: "
                    "method='nystrom' has no landmark, take 'clip'"
                )
            self._projection = linalg.cho_solve(linalg.cho_factor(K[:m, :m]), K[:m])
        else:
            mended, signs = repaired_eigenvalues(values, self.method)
            if self.method == "shift":
                return K + (mended[0] - values[0]) * np.eye(len(K))
            self._projection = (vectors * signs) @ vectors.T
        repaired: Array = self.transform(K)
        return (repaired + repaired.T) / 2

    def transform(self, K: ArrayLike) -> Array:
        """Repaired rows of new points against the training points, shape (m, n)."""
        check_is_fitted(self)
        rows: Array = validate_data(self, K, reset=False, dtype=np.float64)
        if self._projection is None:
            return rows
        return rows[:, : len(self._projection)] @ self._projection

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_in_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Cross-validation then takes the training columns as well; a pipeline passes this on.
        tags.input_tags.pairwise = True
        return tags


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

    def fit(self, X: ArrayLike, y: Any = None) -> GramTransformer:
        """Evaluate the kernel on training points of shape (n, d), and fit the repair to it.

        Or on padded sets (n, largest, d), for a kernel that takes them, such as `SetKernel`.
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> Array:
        """The training points' Gram matrix, repaired, shape (n, n)."""
        check_parameters(self)
        points = check_points(self, X, self.kernel)
        # copies: what changes on the kernel or in X later does not change the fitted model
        self.X_fit_, self.kernel_ = points.copy(), clone(self.kernel, safe=False)
        gram = kernel_matrix(self.kernel_, points)
        self.repair_ = None if self.repair is None else SpectrumRepair(self.repair)
        return _square(gram) if self.repair_ is None else self.repair_.fit_transform(gram)

    def transform(self, X: ArrayLike) -> Array:
        """Repaired rows of new points against the training points, shape (m, n)."""
        check_is_fitted(self)
        points = check_points(self, X, self.kernel_, reset=False)
        rows = kernel_matrix(self.kernel_, points, self.X_fit_)
        return rows if self.repair_ is None else self.repair_.transform(rows)

    @property
    def _n_features_out(self) -> int:
        return len(self.X_fit_)
