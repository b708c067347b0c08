"""Learners on a Gram matrix that is given: ridge regression, and alpha by points that are left out.

Negative eigenvalues are measured, warned of, and repaired for training and new points alike.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from ..core.arrays import as_floats, check_finite
from ..core.parameters import Array, Flag, Number, ParameterError, arguments, short
from .classes import check_two_classes, checked_labels, misclassification
from .ridge import LeaveOneOutPath, solve_ridges

#: Factor from one alpha to the next that a search tries, and how many it tries at most.
_STEP, _MOST = 10**0.5, 20
_ALPHAS = Number(0) | Array(1, least=0)


class IndefiniteWarning(UserWarning):
    """A Gram matrix has negative eigenvalues: how many, how large, and what follows."""


def warn_indefinite(owner: str, size: str, done: str = "clipped") -> None:
    """Say how large negative eigenvalues are and what follows, at the line that called us."""
    says = f"{owner}: the Gram matrix is not positive semi-definite: {size}; negative eigenvalues "
    says += f"are {done} for training and new points alike"
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("invariance."):
        frame = frame.f_back
        level += 1
    warnings.warn(says, IndefiniteWarning, stacklevel=level)


def describe_negative(values: NDArray, tolerance: float) -> tuple[str, float]:
    """How large negative eigenvalues are, in words, and their share of all absolute ones."""
    share = float(-values[values < 0].sum() / np.abs(values).sum())
    count = int((values < -tolerance).sum())
    size = f"{count} of {len(values)} eigenvalues are negative, the lowest {values.min():.2g}"
    return f"{size}, {100 * share:.2g} % of the sum of absolute values", share


def check_symmetric(gram: NDArray) -> None:
    """Refuse a square matrix that is not symmetric up to rounding."""
    tiles = [slice(start, start + 128) for start in range(0, len(gram), 128)]
    gap = 0.0
    for a, b in combinations_with_replacement(tiles, 2):  # squares that fit into the cache
        gap = max(gap, float(np.abs(gram[a, b] - gram[b, a].T).max()))
    tolerance = 1e-4 if gram.dtype == np.float32 else 1e-6
    if gap > tolerance * max(gram.max(), -gram.min()):
        says = f"the Gram matrix is not symmetric (largest difference {gap:.2g})"
        raise ValueError(f"{says}; use (K + K.T) / 2, or invariance.kernels.GramTransformer")


def frobenius_norm(matrix: NDArray) -> float:
    """The root of the sum of squares, also if these overflow or vanish."""
    with np.errstate(over="ignore", under="ignore"):
        size = float(np.linalg.norm(matrix))
    if 1e-15 < size < 1e15:
        return size
    largest = float(max(matrix.max(initial=0), -matrix.min(initial=0)))
    return largest * float(np.linalg.norm(matrix / largest)) if largest else 0.0


def rounding(gram: NDArray) -> float:
    """How far below zero rounding may put an eigenvalue of a positive semi-definite matrix."""
    eps = float(np.finfo(gram.dtype).eps)
    return max(10 * eps, 1e-12) * frobenius_norm(gram)


def certain_rounding(gram: NDArray) -> float:
    """Size of eigenvalues that the rounding of a matrix's entries alone may make.

    Rounding is taken to be ten machine epsilons of an entry, independently; a ridge of the root of
    n times as much also covers what it does to new points' rows.
    """
    return 10 * float(np.finfo(gram.dtype).eps) * frobenius_norm(gram) / len(gram) ** 0.5


def path_of_eigenvalues(
    values: NDArray, vectors: NDArray, Y: NDArray, tolerance: float, noise: float
) -> LeaveOneOutPath:
    """The ridge path of a kernel's matrix, by its eigenvalues and eigenvectors.

    Directions whose eigenvalues are below -``tolerance`` are cut. Those that rounding put on either
    side of zero stay: at a ridge r above rounding their coefficients are those of y / r. If all are
    within ``noise``, the points are equal, and nothing stays.
    """
    lowest = float(values.min(initial=0))
    if lowest >= -tolerance:
        # what rounding put below zero shows how much it may have put above
        noise = max(noise, -2 * lowest)
    real = values >= -tolerance
    if values.max(initial=0) <= noise:
        real[:] = False
    L = np.where(real, values, 0).clip(0)
    return LeaveOneOutPath(vectors.__getitem__, None, L, vectors.T @ Y, Y, real=real, noise=noise)


def _exceeds(gram: NDArray, bound: float) -> bool:
    """Whether all eigenvalues are above a bound."""
    shifted = np.array(gram.T, order="F")
    shifted.flat[:: len(gram) + 1] -= gram.dtype.type(bound)
    try:
        linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return False
    return True


def lowest_eigenvalue(gram: NDArray) -> float:
    """The lowest eigenvalue where it is negative by more than rounding, else zero.

    A Cholesky factor of the matrix, shifted by its rounding, shows that nothing is negative. It
    takes one copy, in the precision of the matrix.
    """
    shifted = np.array(gram.T, order="F")  # the same matrix, in the order that LAPACK works on
    shifted.flat[:: len(gram) + 1] += gram.dtype.type(rounding(gram))
    try:
        linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        return 0.0
    except linalg.LinAlgError:
        lowest = float(linalg.eigvalsh(gram, subset_by_index=[0, 0], check_finite=False)[0])
        return lowest if lowest < -rounding(gram) else 0.0


def _checked(given: ArrayLike, rows: int, beside: str = "labels", value: Any = None) -> NDArray:
    """A symmetric finite matrix with so many rows, in single precision where it is given in it."""
    gram = as_floats("gram", given, single=True)
    if not rows or gram.shape != (rows, rows):
        due = f"a square Gram matrix and one {beside.rstrip('s')} per row"
        given = f"gram of shape {gram.shape} and {rows} {beside}: {short(value)}"
        raise ParameterError(f"expected {due}, got {given}")
    check_finite("the Gram matrix", gram)
    check_symmetric(gram)
    return gram


def _classes(given: ArrayLike) -> tuple[NDArray, NDArray]:
    """The numbers of the labels' classes, (n,), and targets 1 and -1 of shape (n, classes)."""
    labels = checked_labels("one-vs-all least squares", "labels", given)
    classes, index = np.unique(labels, return_inverse=True)
    check_two_classes(classes)
    return index, np.where(index[:, None] == np.arange(len(classes)), 1.0, -1.0)


@arguments(alphas=_ALPHAS, clip=Flag())
def kernel_ridge(gram: ArrayLike, y: ArrayLike, *, alphas: ArrayLike, clip: bool = True) -> NDArray:
    r"""Dual coefficients :math:`(K + n \alpha)^{-1} (y - \bar y)` of ridge regression, by alpha.

    Predictions are ``K(x, X) @ dual + y.mean(axis=0)``: targets are centred, the kernel is not.
    By Cholesky factors (`solve_ridges`); by eigenvectors where the matrix must be repaired.

    Parameters
    ----------
    gram : array-like of shape (n, n)
        Symmetric.
    y : array-like of shape (n,) or (n, t)
    alphas : float or array-like of shape (q,)
        On the scale of `invariance.linear`.
    clip : bool
        Negative eigenvalues are clipped, see `RLSRegressor`, or left to the ridge: an alpha that is
        too small for it then has coefficients NaN. An `IndefiniteWarning` says how low they are.

    Returns
    -------
    ndarray of shape (q, n) or (q, n, t)

    >>> x = np.linspace(0, 1, 30)
    >>> gram = np.exp(-np.subtract.outer(x, x) ** 2)
    >>> (dual,) = kernel_ridge(gram, x**2, alphas=1e-8)
    >>> bool(np.abs(gram @ dual + np.mean(x**2) - x**2).max() < 0.01)
    True
    """
    targets = as_floats("y", y)
    gram = _checked(gram, len(np.atleast_1d(targets)), "y", y)
    check_finite("y", targets)
    ridges = np.atleast_1d(np.asarray(alphas, dtype=float)) * len(gram)
    centred = targets - targets.mean(axis=0)
    lowest = lowest_eigenvalue(gram)
    if lowest < 0:
        size = f"it has an eigenvalue of {lowest:.2g}, beside a trace of {np.trace(gram):.2g}"
        warn_indefinite("kernel_ridge", size, "clipped" if clip else "kept")
    noise = certain_rounding(gram)
    # below rounding a factor would give what rounding makes of equal points
    lost = lowest == 0 and ridges.min(initial=np.inf) < noise and not _exceeds(gram, noise)
    if (lowest == 0 or not clip) and not lost:
        safe = np.inf if lowest < 0 else rounding(gram)
        duals = solve_ridges(gram, centred, ridges, safe=safe)
        if not (clip and np.isnan(duals).any()):
            return duals
    values, vectors = linalg.eigh(gram.astype(np.float64), check_finite=False, overwrite_a=True)
    columns = centred.reshape(len(gram), -1)
    path = path_of_eigenvalues(values, vectors, columns, rounding(gram), noise)
    solutions = [vectors @ (path.gains(ridge)[:, None] * path.inside) for ridge in ridges]
    return np.array(solutions).reshape(len(ridges), *targets.shape)


def _inverse(
    gram: NDArray, targets: NDArray, ridge: float, copies: int = 1
) -> tuple[NDArray, NDArray]:
    """A^-1 y with A = K + ridge, and the blocks of A^-1 of each point and its copies, (n, c, c)."""
    shifted = np.array(gram.T, order="F")
    shifted.flat[:: len(gram) + 1] += gram.dtype.type(ridge)
    lower = linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    dual = linalg.cho_solve((lower, True), targets, check_finite=False)
    root, _ = linalg.get_lapack_funcs("trtri", (lower,))(lower, lower=1, overwrite_c=1)
    parts = np.split(root, copies, axis=1)
    blocks = [[np.einsum("ij,ij->j", a, b, dtype=np.float64) for b in parts] for a in parts]
    return dual, np.moveaxis(np.array(blocks), 2, 0)


@arguments(alphas=_ALPHAS)
def left_out_with_copies(gram: ArrayLike, labels: ArrayLike, *, alphas: ArrayLike) -> NDArray:
    r"""Leave-one-out accuracies of one-vs-all kernel ridge classification on augmented points.

    A point is left out together with its copies, which would give it away. With
    :math:`B = (K + N \alpha I)^{-1}` and g the rows of a point and of its copies, the residuals
    of the machine that was trained without them are :math:`B_{gg}^{-1} (B y)_g`: one inverse for
    each alpha. Targets are centred, the kernel is not. Computes in the precision of ``gram``.

    Parameters
    ----------
    gram : array-like of shape (N, N)
        Symmetric, of n points followed by their first copies, by their second ones, and so on.
    labels : array-like of shape (n,)
        Of the points; N must be a multiple of n, and may be n.
    alphas : float or array-like of shape (q,)
        On the scale of `invariance.linear`.

    Returns
    -------
    ndarray of shape (q,)
        On the n points themselves; NaN where the matrix was not positive definite.

    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> points = np.concatenate([x, x + 0.01])
    >>> gram = np.exp(-((points - points.T) ** 2))
    >>> bool(left_out_with_copies(gram, x[:, 0] > 0, alphas=1e-3)[0] > 0.9)
    True
    """
    total, n = len(np.atleast_1d(gram)), np.size(labels)
    if not n or total % n:
        given = f"gram of shape {np.shape(gram)} and labels of shape {np.shape(labels)}"
        raise ParameterError(f"expected as many rows for one label as for another, got {given}")
    index, Y = _classes(labels)
    gram, copies = _checked(gram, total, "labels", labels), total // n
    mean = Y.mean(axis=0)
    targets = np.tile(Y - mean, (copies, 1)).astype(gram.dtype)
    tried = np.atleast_1d(np.asarray(alphas, dtype=float))
    noise = certain_rounding(gram)
    singular = tried.min(initial=np.inf) * total < noise and not _exceeds(gram, noise)
    found = []
    for alpha in tried:
        try:
            if singular and alpha * total < noise:
                raise linalg.LinAlgError("an inverse of rounding")
            dual, own = _inverse(gram, targets, alpha * total, copies)
        except linalg.LinAlgError as error:
            largest = gram.diagonal().max()
            if alpha and (singular or largest + gram.dtype.type(alpha * total) == largest):
                lost = f"lost in the rounding of a diagonal up to {largest:.2g}"
                raise ParameterError(f"{alpha=:.2g} is {lost}: give larger alphas") from error
            found.append(np.nan)
            continue
        products = dual.reshape(copies, n, -1).swapaxes(0, 1)
        decided = Y - np.linalg.solve(own, products)[:, 0]
        found.append(np.mean(decided.argmax(axis=1) == index))
    return np.array(found)


@dataclass(frozen=True)
class CholeskyRLS:
    """Regularised least squares at the alpha that leave-one-out prefers.

    Attributes
    ----------
    dual_coef : ndarray of shape (n, t)
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
    loo_errors: dict[float, float]

    def decide(self, gram: NDArray) -> NDArray:
        """Predictions of shape (m, t) from K(test, train) of shape (m, n)."""
        return gram @ self.dual_coef + self.intercept


@arguments(start=Number(above=0, most=1e15))
def rls_by_cholesky(gram: ArrayLike, labels: ArrayLike, *, start: float = 1e-5) -> CholeskyRLS:
    r"""One-vs-all regularised least squares, alpha by a search of the leave-one-out error.

    A Cholesky factor gives one alpha for a tenth of the price of the eigenvectors, which give the
    whole path: with :math:`A = K + n \alpha I`,
    :math:`y_i - f_{-i}(x_i) = (A^{-1} y)_i / (A^{-1})_{ii}`. From ``start`` the search moves by
    factors of :math:`\sqrt{10}` while the error falls: start near ``alpha / scale`` of a smaller
    sample, or of another draw.

    Parameters
    ----------
    gram : array-like of shape (n, n)
        Symmetric and positive semi-definite, in whose precision all is computed. The search keeps
        alpha above the rounding of its type: 1e-6 of ``scale`` in float32.
    labels : array-like of shape (n,)
        Classes; the columns of the result follow ``np.unique(labels)``.
    start : float
        First alpha, as a multiple of ``scale``, the largest that is worth trying. It is raised to
        the rounding of the matrix, if that is more: points that are equal under a kernel, and hence
        a matrix that centring leaves nothing of, have the classes' shares for predictions.

    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> model = rls_by_cholesky(X @ X.T, X[:, 0] > 0)
    >>> float(np.mean(model.decide(X @ X.T).argmax(axis=1) == (X[:, 0] > 0))) > 0.9
    True
    """
    index, targets = _classes(labels)
    gram, n = _checked(gram, len(index), "labels", labels), len(index)
    targets = targets.astype(gram.dtype)
    gram_mean = gram.mean(axis=0, dtype=np.float64)
    centred, largest, noise = _centred(gram, gram_mean)
    start = max(start, noise / largest)
    fits: dict[float, tuple[float, NDArray]] = {}
    floor = min(start, max(8 * float(np.finfo(gram.dtype).eps), noise / largest))

    def error(k: int) -> float:
        relative = start * _STEP**k
        if relative < floor:
            return np.inf
        if relative not in fits:
            fits[relative] = _left_out(centred, targets, index, relative * largest, largest)
        return fits[relative][0]

    here, before = 0, None
    while here != before and len(fits) < _MOST:
        before = here
        # Stronger regularisation first: it wins ties.
        if error(here + 1) <= error(here):
            here += 1
        elif error(here - 1) < error(here):
            here -= 1
    chosen, scale = start * _STEP**here, largest / n
    dual = fits[chosen][1].astype(np.float64)
    errors = {relative * scale: loss for relative, (loss, _) in sorted(fits.items())}
    intercept = targets.mean(axis=0) - gram_mean @ dual
    return CholeskyRLS(dual, intercept, chosen * scale, scale, errors)


def _centred(gram: NDArray, mean: NDArray) -> tuple[NDArray, float, float]:
    """The centred matrix, its null vector lifted; its largest eigenvalue; and its rounding."""
    noise = certain_rounding(gram) * len(gram) ** 0.5
    half = (mean - mean.mean() / 2).astype(gram.dtype)
    centred = gram - half
    centred -= half[:, None]
    largest = _largest_eigenvalue(centred)
    if largest <= noise:  # the points are equal
        centred[:] = 0
        largest = frobenius_norm(gram) or 1.0
        noise = 0.0
    lowest = lowest_eigenvalue(centred)
    if lowest < -noise:
        raise ValueError(
            f"the Gram matrix is not positive semi-definite: centred, it has an eigenvalue of "
            f"{lowest:.2g}; take RLSClassifier, which repairs it, or a positive definite kernel"
        )
    # The inverse of the constant vector's eigenvalue, zero, would drown the others: it gets the
    # largest instead, and `_left_out` takes out again what that adds to the inverse.
    centred += largest / len(gram)
    return centred, largest, noise


def _left_out(
    centred: NDArray, targets: NDArray, index: NDArray, ridge: float, largest: float
) -> tuple[float, NDArray]:
    """Leave-one-out error at a ridge, and the dual coefficients."""
    try:
        dual, own = _inverse(centred, targets - targets.mean(axis=0), ridge)
    except linalg.LinAlgError as failed:
        lacks = f"no Cholesky factor with a ridge of {ridge:.2g}"
        remedy = "not positive semi-definite: raise start, or use float64"
        raise ValueError(f"the Gram matrix has {lacks}, {remedy}") from failed
    residuals = dual / (own[:, 0] - 1 / (len(centred) * (largest + ridge)))
    wrong = (targets - residuals).argmax(axis=1) != index
    return misclassification(wrong, residuals), dual


def _largest_eigenvalue(gram: NDArray) -> float:
    """By power iteration: a scale for alpha, so a few per cent will do."""
    vector = np.cos(np.arange(len(gram))).astype(gram.dtype)
    size = 1.0
    for _ in range(20):
        vector = gram @ (vector / size)
        size = float(np.linalg.norm(vector)) or 1.0
    return size
