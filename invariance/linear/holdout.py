"""`ridge_by_holdout`: one-vs-all kernel ridge classification, lambda by held-out accuracy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from .gram import check_gram, check_lambdas
from .ridge import ridge_dual

__all__ = ["HoldoutRidge", "ridge_by_holdout"]


@dataclass(frozen=True)
class HoldoutRidge:
    """Kernel ridge classification at the lambda with the best held-out accuracy.

    Attributes
    ----------
    dual_coef : ndarray of shape (n, t)
        Fitted on all n points; scores are ``K(x, X) @ dual_coef + intercept``.
    intercept : ndarray of shape (t,)
    lam : float
    accuracies : ndarray of shape (q,)
        On the held-out points, by lambda; NaN where the matrix was not positive definite.
    """

    dual_coef: NDArray
    intercept: NDArray
    lam: float
    accuracies: NDArray


def ridge_by_holdout(
    gram: ArrayLike, labels: ArrayLike, lambdas: ArrayLike, n_held_out: int
) -> HoldoutRidge:
    """Choose lambda on the last ``n_held_out`` points, then fit them all.

    One Cholesky factorisation in float64 a lambda: for Gram matrices that are too large to be
    diagonalised, given in float32 or float64. Targets are centred, the kernel is not.

    Parameters
    ----------
    gram : array-like of shape (n, n)
    labels : array-like of shape (n,)
        The columns of the result follow ``np.unique(labels)``.
    lambdas : array-like of shape (q,)
        Relative to the mean of the Gram matrix's diagonal; the ridge is lambda n times that.
    n_held_out : int
        At least 1, less than n.

    Raises
    ------
    ValueError
        For a Gram matrix that is not square or not finite, or when no lambda makes it positive
        definite.

    Examples
    --------
    >>> x = np.random.default_rng(0).uniform(-1, 1, (60, 1))
    >>> found = ridge_by_holdout(np.exp(-((x - x.T) ** 2)), x[:, 0] > 0, [1e-6, 1e-3], 20)
    >>> bool(found.accuracies.max() > 0.9), found.dual_coef.shape
    (True, (60, 2))
    """
    gram, labels = np.asarray(gram), np.asarray(labels)
    check_gram(gram, labels)
    n = len(labels)
    if not 1 <= n_held_out < n:
        raise ValueError(f"n_held_out must lie between 1 and n - 1 = {n - 1}, got {n_held_out}")
    lambdas = check_lambdas(lambdas)
    classes, index = np.unique(labels, return_inverse=True)
    targets = np.where(index[:, None] == np.arange(len(classes)), 1.0, -1.0)
    kept, held = slice(0, n - n_held_out), slice(n - n_held_out, n)
    accuracies = np.full(len(lambdas), np.nan)
    for i, lam in enumerate(lambdas):
        try:
            dual = ridge_dual(gram[kept, kept].astype(np.float64), targets[kept], lam)
        except linalg.LinAlgError:
            continue
        scores = gram[held, kept] @ dual + targets[kept].mean(axis=0)
        accuracies[i] = np.mean(scores.argmax(axis=1) == index[held])
    if np.isnan(accuracies).all():
        raise ValueError(
            f"the Gram matrix is not positive definite at any lambda up to {lambdas.max():.1e}; "
            "give larger ones"
        )
    # Among equals the strongest regularisation wins.
    best = np.flatnonzero(accuracies == np.nanmax(accuracies))
    lam = float(lambdas[best].max())
    dual = ridge_dual(gram.astype(np.float64), targets, lam)
    return HoldoutRidge(dual, targets.mean(axis=0), lam, accuracies)
