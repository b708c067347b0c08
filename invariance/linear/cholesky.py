"""`rls_by_cholesky`: leave-one-out for Gram matrices too large to diagonalise."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from ..core.parameters import Number, Whole, arguments
from .classes import misclassification
from .gram import labelled_gram, lowest_eigenvalue

__all__ = ["CholeskyRLS", "rls_by_cholesky"]


@dataclass(frozen=True)
class CholeskyRLS:
    """Regularised least squares at the alpha that leave-one-out prefers.

    Attributes
    ----------
    dual_coef : ndarray of shape (n, t)
        Predictions are ``K(x, X) @ dual_coef + intercept``.
    intercept : ndarray of shape (t,)
    alpha : float
        The chosen alpha, on the scale of `invariance.linear`.
    scale : float
        Largest eigenvalue of the centred covariance (Gram matrix over n), to a few per cent.
    loo_errors : dict of float to float
        Leave-one-out error of every alpha that was tried.
    """

    dual_coef: NDArray
    intercept: NDArray
    alpha: float
    scale: float
    loo_errors: dict[float, float] = field(default_factory=dict)

    def decide(self, gram: NDArray) -> NDArray:
        """Predictions of shape (m, t) from K(test, train) of shape (m, n)."""
        return gram @ self.dual_coef + self.intercept


@arguments(start=Number(above=0, most=1e15), step=Number(above=1), max_steps=Whole(1))
def rls_by_cholesky(
    gram: ArrayLike,
    labels: ArrayLike,
    *,
    start: float = 1e-5,
    step: float = 10**0.5,
    max_steps: int = 20,
) -> CholeskyRLS:
    r"""One-vs-all regularised least squares, alpha by a search of the leave-one-out error.

    `RLSClassifier` diagonalises the Gram matrix, which gives the whole path. A Cholesky factor
    gives one alpha for a tenth of the price: with :math:`A = K + n \alpha I`,
    :math:`y_i - f_{-i}(x_i) = (A^{-1} y)_i / (A^{-1})_{ii}`. From ``start`` the search moves
    by factors of ``step`` while the leave-one-out error falls, so it wants a start near the
    minimum: ``alpha / scale`` of a smaller sample, or of another draw. Computes in the precision of
    ``gram``.

    Parameters
    ----------
    gram : array-like of shape (n, n)
        Symmetric and positive semi-definite. The search keeps alpha above the rounding of its
        type: 1e-6 of ``scale`` in float32.
    labels : array-like of shape (n,)
        Classes; the columns of the result follow ``np.unique(labels)``.
    start : float
        First alpha, as a multiple of ``scale``, the largest that is worth trying.
    step : float
        Factor to the next.
    max_steps : int
        Bound on the number of alphas tried.

    Raises
    ------
    ValueError
        For a Gram matrix that is not square, symmetric and finite, other than one label per row,
        missing labels, a single class, or an indefinite matrix, which `RLSClassifier` repairs.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> model = rls_by_cholesky(X @ X.T, X[:, 0] > 0)
    >>> float(np.mean(model.decide(X @ X.T).argmax(axis=1) == (X[:, 0] > 0))) > 0.9
    True
    """
    gram, _, index, targets = labelled_gram(gram, labels)
    targets = targets.astype(gram.dtype)
    target_mean = targets.mean(axis=0)
    gram_mean = gram.mean(axis=0, dtype=np.float64)
    centred = gram - (gram_mean - gram_mean.mean() / 2).astype(gram.dtype)
    centred -= (gram_mean - gram_mean.mean() / 2).astype(gram.dtype)[:, None]
    lowest = lowest_eigenvalue(centred)
    if lowest < 0:
        raise ValueError(
            f"the Gram matrix is not positive semi-definite: centred, it has an eigenvalue of "
            f"{lowest:.2g}; take RLSClassifier, which repairs it, or a positive definite kernel"
        )
    largest = _largest_eigenvalue(centred)
    # The constant vector has eigenvalue zero, to rounding. Its inverse would drown the others where
    # the penalty is small, so it gets the largest eigenvalue instead; see `_one`.
    centred += largest / len(gram)

    fits: dict[float, tuple[float, NDArray]] = {}
    floor = min(start, 8 * float(np.finfo(gram.dtype).eps))

    def error(exponent: int) -> float:
        relative = start * step**exponent
        if relative < floor:
            return np.inf
        if relative not in fits:
            fits[relative] = _one(centred, targets, index, relative * largest, largest)
        return fits[relative][0]

    here, moved = 0, True
    while moved and len(fits) < max_steps:
        moved = False
        # Stronger regularisation first: it wins ties.
        for there in (here + 1, here - 1):
            better = error(there) < error(here) or (there > here and error(there) == error(here))
            if better:
                here, moved = there, True
                break
    chosen = start * step**here
    dual = fits[chosen][1].astype(np.float64)
    scale = largest / len(gram)
    return CholeskyRLS(
        dual,
        target_mean - gram_mean @ dual,
        chosen * scale,
        scale,
        {relative * scale: loss for relative, (loss, _) in sorted(fits.items())},
    )


def _largest_eigenvalue(gram: NDArray) -> float:
    """By power iteration: a scale for alpha, so a few per cent will do."""
    vector = np.cos(np.arange(len(gram))).astype(gram.dtype)
    size = 1.0
    for _ in range(20):
        vector = gram @ (vector / size)
        size = float(np.linalg.norm(vector)) or 1.0
    return size


def _one(
    gram: NDArray, targets: NDArray, index: NDArray, ridge: float, constant: float
) -> tuple[float, NDArray]:
    """Leave-one-out error and dual coefficients at one ridge.

    ``constant`` is the eigenvalue of the constant vector, which stands for the intercept and is
    not penalised: what it adds to the inverse is taken out again.
    """
    n = len(gram)
    potrf, potrs, trtri = linalg.get_lapack_funcs(("potrf", "potrs", "trtri"), (gram,))
    shifted = np.array(gram, order="F")
    shifted.flat[:: n + 1] += gram.dtype.type(ridge)
    factor, info = potrf(shifted, lower=1, clean=1, overwrite_a=1)
    if info:
        raise ValueError(
            f"the Gram matrix is not positive semi-definite: with a ridge of {ridge:.2g} it has "
            "no Cholesky factor; raise start, or use float64"
        )
    dual, _ = potrs(factor, targets - targets.mean(axis=0), lower=1)
    inverse, _ = trtri(factor, lower=1, overwrite_c=1)
    diagonal = np.einsum("ij,ij->j", inverse, inverse, dtype=np.float64)
    diagonal -= 1 / (n * (constant + ridge))
    residuals = dual / diagonal[:, None]
    wrong = (targets - residuals).argmax(axis=1) != index
    return misclassification(wrong, residuals), dual
