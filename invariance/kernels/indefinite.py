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

from ..core.arrays import check_array
from ..core.kernel_matrix import check_points, kernel_matrix, repaired_eigenvalues
from ..core.parameters import Has, OneOf, ParameterError, Text, check_parameters, stores_parameters

Array = NDArray[Any]


def _square(given: ArrayLike) -> Array:
    gram = check_array(given, input_name="gram", dtype=np.float64)
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(f"a Gram matrix is square, as kernel(X) is: got {gram.shape}")
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

    By one Cholesky factorisation of its symmetric part, which breaks down at the first leading
    block that is not positive definite.

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
    """What `gram_report` found; ``print`` it for advice."""

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
                "Indefinite: these are inner products of no points. An SVM may end at a poor "
                "solution. GramTransformer(kernel) takes points and repairs their matrix, "
                "GramTransformer('precomputed') a given one; RLSClassifier does so by itself."
            )
        if not self.symmetric:
            lines.append(
                "Not symmetric: LIBSVM reads the matrix as given; (K + K.T) / 2 is its symmetric "
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
    values = linalg.eigvalsh((K + K.T) / 2)
    sizes, tiny = np.abs(values), np.finfo(float).tiny
    tolerance = float(np.finfo(float).eps * len(K) * sizes.max())
    return GramReport(
        n=len(K),
        asymmetry=float(np.abs(K - K.T).max() / max(np.abs(K).max(), tiny)),
        smallest=float(values[0]),
        largest=float(values[-1]),
        n_negative=int((values < -tolerance).sum()),
        tolerance=tolerance,
        gershgorin=gershgorin_margin(K),
        definite_up_to=largest_definite(K),
        negative_share=float(sizes[values < 0].sum() / max(sizes.sum(), tiny)),
    )


@stores_parameters
class GramTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Points to their rows of the (repaired) Gram matrix: an indefinite kernel in a pipeline.

    Put it before a learner on precomputed kernels, such as ``SVC(kernel="precomputed")``: each fit
    repairs the matrix of its own training points. It works on the symmetric part of the training
    matrix :math:`K = V \Lambda V^T`.

    - "clip" sets negative eigenvalues to zero. New points have rows :math:`k V_+ V_+^T`, the
      Nystrom extension of the clipped matrix.
    - "flip" takes absolute values, :math:`V |\Lambda| V^T`. New points have rows
      :math:`k V \operatorname{sign}(\Lambda) V^T`.
    - "shift" adds -lambda_min to the diagonal: the smallest ridge that helps. `transform` takes
      its points for new ones, whose rows stay as they are.
    - "nystrom" takes the first samples, as long as their matrix :math:`K_{mm}` is positive
      definite, as landmarks and extends it to all points, :math:`K_{nm} K_{mm}^{-1} K_{mn}`.

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
        K = _square(self._matrix(points, None))
        self.eigenvalues_: Array | None = None
        self.n_landmarks_: int | None = None
        self._projection: Array | None = None
        if self.repair is None:
            return K
        K = (K + K.T) / 2
        values, vectors = linalg.eigh(K)
        self.eigenvalues_ = values
        if self.repair == "nystrom":
            # Definite by more than rounding: the landmarks' matrix is inverted.
            rounding = len(K) * np.finfo(float).eps * float(np.abs(values).max())
            m = self.n_landmarks_ = largest_definite(K - rounding * np.eye(len(K)))
            if not m:
                raise ParameterError(
                    f"k(x, x) = {K[0, 0]:g} of the first sample is not positive: take 'clip'"
                )
            self._projection = linalg.cho_solve(linalg.cho_factor(K[:m, :m]), K[:m])
        else:
            mended, signs = repaired_eigenvalues(values, self.repair)
            if self.repair == "shift":
                return np.asarray(K + (mended[0] - values[0]) * np.eye(len(K)))
            self._projection = (vectors * signs) @ vectors.T
        repaired = self._repaired(K)
        return np.asarray((repaired + repaired.T) / 2)

    def transform(self, X: ArrayLike) -> Array:
        """Repaired rows of new points against the training points, shape (m, n)."""
        check_is_fitted(self)
        points = check_points(self, X, self.kernel_, reset=False)
        return self._repaired(self._matrix(points, self.X_fit_))

    def _matrix(self, X: Array, Y: Array | None) -> Array:
        given = isinstance(self.kernel_, str) and self.kernel_ == "precomputed"
        return X if given else kernel_matrix(self.kernel_, X, Y)

    def _repaired(self, rows: Array) -> Array:
        turn = self._projection
        return rows if turn is None else np.asarray(rows[:, : len(turn)] @ turn)

    @property
    def _n_features_out(self) -> int:
        return len(self.X_fit_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Cross-validation then takes the training columns as well; a pipeline passes this on.
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags
