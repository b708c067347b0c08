"""`nested_ridge`: kernel ridge regression in nested cross-validation over fixed folds."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from ..checks import check_finite
from .gram import check_gram, check_lambdas
from .ridge import ridge_dual

__all__ = ["NestedRidge", "nested_ridge"]


@dataclass(frozen=True)
class NestedRidge:
    """Outcome of nested cross-validation over k folds and q values of lambda.

    Attributes
    ----------
    lambdas : ndarray of shape (q,)
    inner : ndarray of shape (k, q)
        Mean over the inner folds of the root mean square error on each, trained on the folds
        other than it and the test fold.
    chosen : ndarray of shape (k,)
        The lambda with the smallest inner error, by test fold.
    predictions : ndarray of shape (n,)
        For every point, by the model trained without its fold at that fold's chosen lambda.
    """

    lambdas: NDArray
    inner: NDArray
    chosen: NDArray
    predictions: NDArray


def _predict(gram, y, train, test, lambdas) -> NDArray:
    """Ridge regression on the training points' Gram block, targets centred; NaN where singular.

    Shape (q, len(test)), a row a lambda.
    """
    own, others = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
    factor, predictions = np.empty_like(own), np.full((len(lambdas), len(test)), np.nan)
    for lam, row in zip(lambdas, predictions, strict=True):
        factor[:] = own
        with suppress(linalg.LinAlgError):
            row[:] = y[train].mean() + others @ ridge_dual(factor, y[train], lam)
    return predictions


def _check_folds(folds: list[NDArray], n: int) -> None:
    """Refuse folds that are empty, reach beyond the points or share one."""
    owner = np.full(n, -1)
    for a, fold in enumerate(folds):
        fold = np.asarray(fold)
        if fold.ndim != 1 or not fold.size or not np.issubdtype(fold.dtype, np.integer):
            raise ValueError(
                f"each fold must be a row of at least one index, but fold {a} is {fold!r}"
            )
        outside = fold[(fold < 0) | (fold >= n)]
        if outside.size:
            raise ValueError(f"fold {a} has index {outside[0]}, outside 0 .. {n - 1}")
        for point in fold:
            if owner[point] >= 0:
                raise ValueError(
                    f"folds must be disjoint, but point {point} is in fold {owner[point]} and "
                    f"again in fold {a}"
                )
            owner[point] = a


def nested_ridge(
    gram: ArrayLike,
    y: ArrayLike,
    folds: list[NDArray],
    lambdas: ArrayLike,
    n_inner: int | None = None,
) -> NestedRidge:
    """Nested cross-validation of kernel ridge regression, by Cholesky factorisations.

    For test fold a and inner fold b the model is trained without both, and serves once more with
    the folds exchanged: k (k - 1) / 2 factorisations a lambda instead of k (k - 1).

    Parameters
    ----------
    gram : array-like of shape (n, n)
        Symmetric; as float64 it is not copied.
    y : array-like of shape (n,)
    folds : list of k >= 3 arrays of indices, disjoint
    lambdas : array-like of shape (q,)
        Relative to the mean of the Gram matrix's diagonal; the ridge is lambda n times that.
    n_inner : even int or None
        How many of the other folds choose lambda for a test fold: half of them before it and half
        after it in the ring of folds. None takes all; 2 takes k factorisations a lambda.

    Returns
    -------
    NestedRidge

    Raises
    ------
    ValueError
        For a Gram matrix or targets that are not finite, fewer than three folds, folds that are
        empty or not disjoint, ``n_inner`` that is not even or not between 2 and k - 1, or
        when no lambda keeps the Gram matrix positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 30)
    >>> folds = [np.arange(30)[i::3] for i in range(3)]
    >>> found = nested_ridge(np.exp(-np.subtract.outer(x, x) ** 2), x, folds, [1e-8, 1.0])
    >>> found.chosen, bool(np.abs(found.predictions - x).max() < 0.01)
    (array([1.e-08, 1.e-08, 1.e-08]), True)
    """
    gram, y = np.asarray(gram, dtype=np.float64), np.asarray(y, dtype=np.float64)
    lambdas = check_lambdas(lambdas)
    check_gram(gram, y, "target")
    check_finite("y", y)
    if len(folds) < 3:
        raise ValueError(f"nested cross-validation needs at least 3 folds, got {len(folds)}")
    _check_folds(folds, len(y))
    k = len(folds)
    if n_inner is not None and (n_inner % 2 or not 2 <= n_inner < k):
        raise ValueError(f"n_inner must be even and between 2 and k - 1 = {k - 1}, got {n_inner!r}")
    reach = k if n_inner is None else n_inner // 2
    errors = np.full((k, k, len(lambdas)), np.nan)
    pairs = [(a, b) for a, b in combinations(range(k), 2) if min(b - a, k - b + a) <= reach]
    used = np.zeros((k, k), dtype=bool)
    for a, b in pairs:
        used[a, b] = used[b, a] = True
        train = np.concatenate([folds[c] for c in range(k) if c not in (a, b)])
        held_out = np.concatenate([folds[a], folds[b]])
        squared = (_predict(gram, y, train, held_out, lambdas) - y[held_out]) ** 2
        errors[b, a] = np.sqrt(squared[:, : len(folds[a])].mean(axis=1))
        errors[a, b] = np.sqrt(squared[:, len(folds[a]) :].mean(axis=1))
    # A lambda that fails on any inner fold is out.
    inner = np.array([errors[a][used[a]].mean(axis=0) for a in range(k)])
    inner = np.where(np.isnan(inner), np.inf, inner)
    if not np.isfinite(inner).any(axis=1).all():
        raise ValueError(
            f"the Gram matrix is not positive definite at any lambda up to {lambdas.max():.1e}; "
            "give larger ones"
        )
    chosen = lambdas[inner.argmin(axis=1)]
    predictions = np.full(len(y), np.nan)
    for a in range(k):
        train = np.concatenate([folds[c] for c in range(k) if c != a])
        predictions[folds[a]] = _predict(gram, y, train, folds[a], chosen[a : a + 1])[0]
    return NestedRidge(lambdas, inner, chosen, predictions)
