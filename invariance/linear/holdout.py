"""`ridge_by_holdout`: one-vs-all kernel ridge classification, alpha by held-out accuracy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import Flag, Whole, check_values
from .classes import check_two_classes
from .gram import labelled_gram
from .ridge import RidgeSolver, check_alphas

__all__ = ["HoldoutRidge", "ridge_by_holdout"]


@dataclass(frozen=True)
class HoldoutRidge:
    """Kernel ridge classification at the alpha with the best held-out accuracy.

    Attributes
    ----------
    alpha : float
        In the units of ``alphas``.
    accuracies : ndarray of shape (q,)
        On the held-out points, by alpha; NaN where the matrix was not positive definite.
    dual_coef : ndarray of shape (n, t) or None
        Fitted on all n points; scores are ``K(x, X) @ dual_coef + intercept``. None without refit.
    intercept : ndarray of shape (t,)
    """

    alpha: float
    accuracies: NDArray
    dual_coef: NDArray | None
    intercept: NDArray


def ridge_by_holdout(
    gram: ArrayLike,
    labels: ArrayLike,
    *,
    alphas: ArrayLike,
    n_held_out: int,
    relative_to: str | None = None,
    repair: str | None = "clip",
    refit: bool = True,
) -> HoldoutRidge:
    """Choose alpha on the last ``n_held_out`` points, then fit them all.

    One Cholesky factorisation in float64 per alpha: for Gram matrices that are too large to be
    diagonalised, given in float32 or float64. Targets are centred, the kernel is not.

    Parameters
    ----------
    gram : array-like of shape (n, n)
        Symmetric.
    labels : array-like of shape (n,)
        The columns of the result follow ``np.unique(labels)``.
    alphas : array-like of shape (q,)
        On the scale of `invariance.linear`.
    n_held_out : int
        At least 1, less than n.
    relative_to : {None, "diagonal"}
        "diagonal" takes alphas as multiples of the mean of the Gram matrix's diagonal.
    repair : {"clip", "flip", "shift", "raise"} or None
        What happens to the negative eigenvalues of an indefinite matrix, with a warning, for the
        points fitted to and the others alike; it diagonalises the matrix. None leaves them to the
        ridge: alphas that are too small for it are out.
    refit : bool
        False leaves out the fit to all points, where accuracies are all that is wanted.

    Raises
    ------
    ValueError
        For a Gram matrix that is not square, symmetric or finite, labels that are missing, a
        single class, or when no alpha makes the matrix positive definite with ``repair=None``.

    Examples
    --------
    >>> x = np.random.default_rng(0).uniform(-1, 1, (60, 1))
    >>> gram, positive = np.exp(-((x - x.T) ** 2)), x[:, 0] > 0
    >>> found = ridge_by_holdout(gram, positive, alphas=[1e-6, 1e-3], n_held_out=20)
    >>> bool(found.accuracies.max() > 0.9), found.dual_coef.shape
    (True, (60, 2))
    """
    alphas = check_alphas("ridge_by_holdout", alphas, relative_to=relative_to, repair=repair)
    gram, labels, index, targets = labelled_gram(gram, labels)
    n = len(labels)
    kinds = {"n_held_out": Whole(1, n - 1), "refit": Flag()}
    check_values("ridge_by_holdout", kinds, {"n_held_out": n_held_out, "refit": refit})
    check_two_classes(np.unique(labels[: n - n_held_out]), "the points that are not held out")
    kept, held = slice(0, n - n_held_out), slice(n - n_held_out, n)
    solver = RidgeSolver("ridge_by_holdout", gram, alphas, relative_to=relative_to, repair=repair)
    accuracies = np.full(len(alphas), np.nan)
    for i, dual in enumerate(solver.duals(gram[kept, kept], targets[kept])):
        if np.isfinite(dual).all():
            scores = gram[held, kept] @ dual + targets[kept].mean(axis=0)
            accuracies[i] = np.mean(scores.argmax(axis=1) == index[held])
    if np.isnan(accuracies).all():
        raise ValueError(
            f"the Gram matrix is not positive definite at any alpha up to {alphas.max():.1e}; "
            "give larger ones"
        )
    # Among equals the strongest regularisation wins.
    alpha = float(alphas[accuracies == np.nanmax(accuracies)].max())
    fitted = solver.duals(gram, targets, np.array([alpha]))[0] if refit else None
    return HoldoutRidge(alpha, accuracies, fitted, targets.mean(axis=0))
