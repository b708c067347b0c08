"""`ridge_dual`: kernel ridge regression at one lambda, relative to the Gram matrix's diagonal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

__all__ = ["ridge_dual"]


def ridge_dual(gram: NDArray, targets: NDArray, lam: float) -> NDArray:
    """Dual coefficients (K + lambda n k I)^-1 (y - mean y), with k the mean of K's diagonal.

    Parameters
    ----------
    gram : ndarray of shape (n, n), float64
        Symmetric; overwritten by its Cholesky factor.
    targets : ndarray of shape (n,) or (n, t)

    Raises
    ------
    scipy.linalg.LinAlgError
        When the matrix is not positive definite.
    """
    if not gram.flags.f_contiguous:
        gram = gram.T  # the same matrix, in the order that LAPACK factorises in place
    gram[np.diag_indices_from(gram)] += lam * len(gram) * gram.diagonal().mean()
    factor = linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    return linalg.cho_solve(factor, targets - targets.mean(axis=0), check_finite=False)
