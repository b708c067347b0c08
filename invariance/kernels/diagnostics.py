"""Is a Gram matrix positive definite, and up to how many samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from sklearn.utils.validation import check_array

from ..core.parameters import as_floats

__all__ = [
    "GramReport",
    "gershgorin_margin",
    "gram_report",
    "largest_definite",
]


def square(given: ArrayLike) -> NDArray[np.float64]:
    """A Gram matrix as a finite square array of float64, or an error."""
    gram: NDArray[np.float64] = as_floats("gram", given, check_array)
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
    K = square(gram)
    return float((K.diagonal() + np.abs(K.diagonal()) - np.abs(K).sum(axis=1)).min())


def largest_definite(gram: ArrayLike) -> int:
    """Largest n for which the first n samples have a positive definite Gram matrix.

    By one Cholesky factorisation: it breaks down at the first leading block that is not positive
    definite, and no larger one can be. An asymmetric matrix is replaced by its symmetric part.

    >>> largest_definite([[1.0, 0.5, 2.0], [0.5, 1.0, 0.0], [2.0, 0.0, 1.0]])
    2
    """
    matrix = square(gram)
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
                "Indefinite: an SVM finds a stationary point, not a guaranteed optimum. "
                "SpectrumRepair() clips or shifts the spectrum, or extends a definite part to "
                "all points (method='nystrom'); GramTransformer(kernel) does so from points, and "
                "RLSClassifier by itself."
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
    K = square(gram)
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
