"""Is a Gram matrix positive definite, up to how many samples, and what to do when it is not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

__all__ = [
    "GramReport",
    "SpectrumRepair",
    "gershgorin_margin",
    "gram_report",
    "largest_definite",
]


def _square(gram: ArrayLike) -> NDArray:
    gram = check_array(gram, dtype=np.float64)
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(
            f"a Gram matrix is square, got shape {gram.shape}: evaluate the kernel on the "
            "training points alone, kernel(X)"
        )
    return gram


def gershgorin_margin(gram: ArrayLike) -> float:
    r"""Gershgorin's lower bound of the spectrum, :math:`\min_i K_{ii} - \sum_{j\ne i} |K_{ij}|`.

    The proof of theorem 1 of Liu et al. 2022 shows that it is positive; the smallest eigenvalue
    may be positive long after it is not.

    >>> gershgorin_margin([[2.0, -0.5], [-0.5, 1.0]])
    0.5
    """
    gram = _square(gram)
    return float((gram.diagonal() + np.abs(gram.diagonal()) - np.abs(gram).sum(axis=1)).min())


def largest_definite(gram: ArrayLike) -> int:
    """Largest n for which the first n samples have a positive definite Gram matrix.

    By one Cholesky factorisation: it breaks down at the first leading block that is not positive
    definite, and no larger one can be. An asymmetric matrix is replaced by its symmetric part.

    >>> largest_definite([[1.0, 0.5, 2.0], [0.5, 1.0, 0.0], [2.0, 0.0, 1.0]])
    2
    """
    gram = _square(gram)
    gram = gram + gram.T
    # Half of it is definite where it is. Symmetric, hence its own transpose, which is in LAPACK's
    # order: nothing is copied. LAPACK's info is the order of the first bad leading block.
    _, info = linalg.lapack.dpotrf(gram.T, lower=1, clean=0, overwrite_a=1)
    return len(gram) if info == 0 else info - 1


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
                "Indefinite: an SVM finds a stationary point, not a guaranteed optimum. "
                "SpectrumRepair() clips or shifts the spectrum, or extends a definite part to "
                "all points (method='nystrom')."
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
    gram = _square(gram)
    values = linalg.eigvalsh((gram + gram.T) / 2)
    tolerance = float(np.finfo(float).eps * len(gram) * np.abs(values).max())
    scale = np.abs(gram).max()
    return GramReport(
        n=len(gram),
        asymmetry=float(np.abs(gram - gram.T).max() / scale) if scale > 0 else 0.0,
        smallest=float(values[0]),
        largest=float(values[-1]),
        n_negative=int((values < -tolerance).sum()),
        tolerance=tolerance,
        gershgorin=gershgorin_margin(gram),
        definite_up_to=largest_definite(gram),
        negative_share=float(
            np.abs(values[values < 0]).sum() / max(np.abs(values).sum(), np.finfo(float).tiny)
        ),
    )


class SpectrumRepair(TransformerMixin, BaseEstimator):
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

    def __init__(self, method: str = "clip", n_landmarks: int | None = None):
        self.method = method
        self.n_landmarks = n_landmarks

    def fit(self, K: ArrayLike, y=None) -> SpectrumRepair:
        """Decompose the training matrix, shape (n, n)."""
        self._fit(K)
        return self

    def fit_transform(self, K: ArrayLike, y=None) -> NDArray:
        """The repaired training matrix, shape (n, n)."""
        return self._fit(K)

    def transform(self, K: ArrayLike) -> NDArray:
        """Repaired rows of new points against the training points, shape (m, n)."""
        check_is_fitted(self)
        K = check_array(K, dtype=np.float64)
        if K.shape[1] != self.n_features_in_:
            raise ValueError(
                f"K has {K.shape[1]} columns; the repair was fitted to {self.n_features_in_} "
                "training points"
            )
        return K if self._projection is None else K[:, : len(self._projection)] @ self._projection

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Cross-validation then takes the training columns as well; a pipeline passes this on.
        tags.input_tags.pairwise = True
        return tags

    def _fit(self, K: ArrayLike) -> NDArray:
        if self.method not in ("clip", "flip", "shift", "nystrom"):
            raise ValueError(
                f"method must be 'clip', 'flip', 'shift' or 'nystrom', got {self.method!r}"
            )
        K = _square(K)
        K = (K + K.T) / 2
        self.n_features_in_ = len(K)
        self.eigenvalues_, vectors = linalg.eigh(K)
        self.n_landmarks_ = self._projection = None
        if self.method == "shift":
            return K + max(0.0, -self.eigenvalues_[0]) * np.eye(len(K))
        if self.method == "clip":
            kept = vectors[:, self.eigenvalues_ > 0]
            self._projection = kept @ kept.T
            repaired = (kept * self.eigenvalues_[self.eigenvalues_ > 0]) @ kept.T
            return (repaired + repaired.T) / 2
        if self.method == "flip":
            self._projection = (vectors * np.sign(self.eigenvalues_)) @ vectors.T
            repaired = (vectors * np.abs(self.eigenvalues_)) @ vectors.T
            return (repaired + repaired.T) / 2
        largest = largest_definite(K)
        m = largest if self.n_landmarks is None else self.n_landmarks
        if not 1 <= m <= largest:
            raise ValueError(
                f"n_landmarks={self.n_landmarks!r}: the first {largest} samples have a positive "
                "definite matrix, so between 1 and that many can be landmarks"
            )
        self.n_landmarks_ = m
        self._projection = linalg.cho_solve(linalg.cho_factor(K[:m, :m]), K[:m])
        repaired = K[:, :m] @ self._projection
        return (repaired + repaired.T) / 2
