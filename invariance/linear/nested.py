"""`nested_ridge`: kernel ridge regression in nested cross-validation over fixed folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from ..core.parameters import (
    Array,
    ParameterError,
    Whole,
    as_floats,
    check_finite,
    check_values,
    short,
)
from .gram import check_gram
from .ridge import RidgeSolver, check_alphas

__all__ = ["NestedRidge", "nested_ridge"]


@dataclass(frozen=True)
class NestedRidge:
    """What nested cross-validation over k folds and q alphas found.

    Attributes
    ----------
    alphas : ndarray of shape (q,)
    inner : ndarray of shape (k, q)
        Mean over the inner folds of the root mean square error on each, trained on the folds
        other than it and the test fold.
    chosen : ndarray of shape (k,)
        The alpha with the smallest inner error, by test fold, in the units of ``alphas``.
    predictions : ndarray of shape (n,)
        For every point, by the model trained without its fold at that fold's chosen alpha.
    """

    alphas: NDArray
    inner: NDArray
    chosen: NDArray
    predictions: NDArray


def _predict(
    solver: RidgeSolver,
    gram: NDArray,
    y: NDArray,
    train: NDArray,
    test: NDArray,
    alphas: NDArray | None = None,
) -> NDArray:
    """Ridge regression on the training points' Gram block, targets centred; NaN where singular.

    Shape (q, len(test)), one row per alpha.
    """
    others = gram[np.ix_(test, train)]
    duals = solver.duals(gram[np.ix_(train, train)], y[train], alphas)
    return np.array([y[train].mean() + others @ dual for dual in duals])


def _check_folds(folds: Sequence[NDArray], n: int) -> None:
    """Refuse fewer than three folds, and such that are empty, reach too far or share a point."""
    if not isinstance(folds, (list, tuple, np.ndarray)) or getattr(folds, "ndim", 1) == 0:
        raise ParameterError(f"folds must be a list of arrays of indices, got {short(folds)}")
    if len(folds) < 3:
        raise ParameterError(
            f"nested cross-validation needs at least 3 folds, got {len(folds)}: {short(folds)}"
        )
    owner = np.full(n, -1)
    for a, fold in enumerate(folds):
        if not Array(1, whole=True).accepts(fold):
            raise ParameterError(
                f"each of the folds must be a row of at least one index, but fold {a} is "
                f"{short(fold)}: got {short(folds)}"
            )
        fold = np.asarray(fold)
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
    *,
    folds: Sequence[NDArray],
    alphas: ArrayLike,
    n_inner: int | None = None,
    relative_to: str | None = None,
    repair: str | None = "clip",
    verbose: int = 0,
) -> NestedRidge:
    """Nested cross-validation of kernel ridge regression, by Cholesky factorisations.

    For test fold a and inner fold b the model is trained without both, and serves once more with
    the folds exchanged: k (k - 1) / 2 factorisations per alpha instead of k (k - 1).

    Parameters
    ----------
    gram : array-like of shape (n, n)
        Symmetric; as float64 it is not copied.
    y : array-like of shape (n,)
    folds : list of k >= 3 arrays of indices, disjoint
    alphas : array-like of shape (q,)
        On the scale of `invariance.linear`.
    n_inner : even int or None
        How many of the other folds choose alpha for a test fold: half of them before it and half
        after it in the ring of folds. None takes all; 2 takes k factorisations per alpha.
    relative_to : {None, "diagonal"}
        "diagonal" takes alphas as multiples of the mean diagonal of each training block.
    repair : {"clip", "flip", "shift", "raise"} or None
        What happens to the negative eigenvalues of an indefinite matrix, with a warning: each
        training block is repaired on its own, and the rows of its test points alike, by one
        eigendecomposition in place of the factorisations. None leaves them to the ridge: alphas
        that are too small for it are out.
    verbose : int
        1 shows a progress bar.

    Returns
    -------
    NestedRidge

    Raises
    ------
    ValueError
        For a Gram matrix that is not symmetric or not finite, targets that are not finite, fewer
        than three folds, folds that are empty or not disjoint, ``n_inner`` that is not even or not
        between 2 and k - 1, or when no alpha makes the matrix positive definite with
        ``repair=None``.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 30)
    >>> folds = [np.arange(30)[i::3] for i in range(3)]
    >>> gram = np.exp(-np.subtract.outer(x, x) ** 2)
    >>> found = nested_ridge(gram, x, folds=folds, alphas=[1e-8, 1.0])
    >>> found.chosen, bool(np.abs(found.predictions - x).max() < 0.01)
    (array([1.e-08, 1.e-08, 1.e-08]), True)
    """
    alphas = check_alphas(
        "nested_ridge", alphas, relative_to=relative_to, repair=repair, verbose=verbose
    )
    gram, y = as_floats("gram", gram), as_floats("y", y)
    check_gram(gram, y, "target", "y")
    check_finite("y", y)
    _check_folds(folds, len(y))
    k = len(folds)
    check_values("nested_ridge", {"n_inner": None | Whole(2, k - 1)}, {"n_inner": n_inner})
    if n_inner is not None and n_inner % 2:
        raise ParameterError(
            f"n_inner must be even and between 2 and k - 1 = {k - 1}, got {n_inner!r}"
        )
    solver = RidgeSolver("nested_ridge", gram, alphas, relative_to=relative_to, repair=repair)
    reach = k if n_inner is None else n_inner // 2
    errors = np.full((k, k, len(alphas)), np.nan)
    pairs = [(a, b) for a, b in combinations(range(k), 2) if min(b - a, k - b + a) <= reach]
    used = np.zeros((k, k), dtype=bool)
    for a, b in tqdm(pairs, "inner folds", disable=not verbose):
        used[a, b] = used[b, a] = True
        train = np.concatenate([folds[c] for c in range(k) if c not in (a, b)])
        held_out = np.concatenate([folds[a], folds[b]])
        squared = (_predict(solver, gram, y, train, held_out) - y[held_out]) ** 2
        errors[b, a] = np.sqrt(squared[:, : len(folds[a])].mean(axis=1))
        errors[a, b] = np.sqrt(squared[:, len(folds[a]) :].mean(axis=1))
    # An alpha that fails on any inner fold is out.
    inner = np.array([errors[a][used[a]].mean(axis=0) for a in range(k)])
    inner = np.where(np.isnan(inner), np.inf, inner)
    if not np.isfinite(inner).any(axis=1).all():
        raise ValueError(
            f"the Gram matrix is not positive definite at any alpha up to {alphas.max():.1e}; "
            "give larger ones"
        )
    chosen = alphas[inner.argmin(axis=1)]
    predictions = np.full(len(y), np.nan)
    for a in tqdm(range(k), "test folds", disable=not verbose):
        train = np.concatenate([folds[c] for c in range(k) if c != a])
        predictions[folds[a]] = _predict(solver, gram, y, train, folds[a], chosen[a : a + 1])[0]
    return NestedRidge(alphas, inner, chosen, predictions)
