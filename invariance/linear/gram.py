"""Learners on a given Gram matrix: ridge regression, and alpha by leave-one-out.

Negative eigenvalues are measured and repaired for training and new points alike, with a warning.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from ..core.arrays import as_floats, check_finite
from ..core.parameters import Array, Flag, Number, ParameterError, arguments, short
from .classes import check_two_classes, checked_labels, misclassification
from .ridge import LeaveOneOutPath, solve_ridges

#: Factor from one alpha of a search to the next, and the largest number of alphas in a search.
_STEP = 10**0.5
_MAX_FITS = 20
_ALPHAS = Number(0) | Array(1, least=0)


class IndefiniteWarning(UserWarning):
    """A Gram matrix has negative eigenvalues: their number, their size and their treatment."""


def warn_indefinite(owner: str, size: str, treatment: str = "clipped") -> None:
    """Warn about negative eigenvalues, at the line outside the package that caused the call."""
    message = (
        f"{owner}: the Gram matrix is not positive semi-definite: {size}; negative eigenvalues "
        f"are {treatment} for training and new points alike"
    )
    level = 1
    frame = sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("invariance."):
        frame = frame.f_back
        level += 1
    warnings.warn(message, IndefiniteWarning, stacklevel=level)


def describe_negative(values: NDArray, tolerance: float) -> tuple[str, float]:
    """Description of the negative eigenvalues, and their share of the sum of absolute ones."""
    share = float(-values[values < 0].sum() / np.abs(values).sum())
    count = int((values < -tolerance).sum())
    size = f"{count} of {len(values)} eigenvalues are negative, the lowest {values.min():.2g}"
    return f"{size}, {100 * share:.2g} % of the sum of absolute values", share


def check_symmetric(gram: NDArray) -> None:
    """Refuse a square matrix that is not symmetric up to rounding."""
    tiles = [slice(start, start + 128) for start in range(0, len(gram), 128)]
    largest = 0.0
    for rows, columns in combinations_with_replacement(tiles, 2):  # tiles that fit into the cache
        differences = np.abs(gram[rows, columns] - gram[columns, rows].T)
        largest = max(largest, float(differences.max()))
    tolerance = 1e-4 if gram.dtype == np.float32 else 1e-6
    if largest > tolerance * max(gram.max(), -gram.min()):
        problem = f"the Gram matrix is not symmetric (largest difference {largest:.2g})"
        raise ValueError(f"{problem}; use (K + K.T) / 2, or invariance.kernels.GramTransformer")


def frobenius_norm(matrix: NDArray) -> float:
    """Root of the sum of squares, also if these overflow or vanish."""
    with np.errstate(over="ignore", under="ignore"):
        size = float(np.linalg.norm(matrix))
    if 1e-15 < size < 1e15:
        return size
    largest = float(max(matrix.max(initial=0), -matrix.min(initial=0)))
    if not largest:
        return 0.0
    return largest * float(np.linalg.norm(matrix / largest))


def rounding(gram: NDArray) -> float:
    """Largest size of negative eigenvalues that rounding makes of a semi-definite matrix."""
    eps = float(np.finfo(gram.dtype).eps)
    return max(10 * eps, 1e-12) * frobenius_norm(gram)


def certain_rounding(gram: NDArray) -> float:
    """Size of eigenvalues that the rounding of a matrix's entries alone may make.

    Rounding is taken to be ten machine epsilons of an entry, independently. A ridge larger by the
    root of n also covers the rounding of new points' rows.
    """
    return 10 * float(np.finfo(gram.dtype).eps) * frobenius_norm(gram) / len(gram) ** 0.5


def path_of_eigenvalues(
    values: NDArray, vectors: NDArray, Y: NDArray, tolerance: float, noise: float
) -> LeaveOneOutPath:
    """Ridge path of a kernel's matrix, from its eigenvalues and eigenvectors.

    Directions whose eigenvalues are below -``tolerance`` are cut. Those that rounding put on either
    side of zero stay: at a ridge r above rounding their coefficients are those of y / r. If all are
    within ``noise``, the points are equal, and all directions are cut.
    """
    lowest = float(values.min(initial=0))
    if lowest >= -tolerance:
        # Rounding has the same size above zero as below.
        noise = max(noise, -2 * lowest)
    is_real = values >= -tolerance
    if values.max(initial=0) <= noise:
        is_real[:] = False
    clipped = np.where(is_real, values, 0).clip(0)
    inside = vectors.T @ Y
    return LeaveOneOutPath(vectors.__getitem__, None, clipped, inside, Y, real=is_real, noise=noise)


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
    """Lowest eigenvalue if it is negative by more than rounding, else zero.

    A Cholesky factor of the matrix, shifted by its rounding, shows that no eigenvalue is negative.
    It takes one copy, in the precision of the matrix.
    """
    shifted = np.array(gram.T, order="F")  # the same matrix, in LAPACK's order of storage
    shifted.flat[:: len(gram) + 1] += gram.dtype.type(rounding(gram))
    try:
        linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        return 0.0
    except linalg.LinAlgError:
        lowest = float(linalg.eigvalsh(gram, subset_by_index=[0, 0], check_finite=False)[0])
        return lowest if lowest < -rounding(gram) else 0.0


def _checked(matrix: ArrayLike, n_rows: int, name: str, targets: ArrayLike) -> NDArray:
    """Return a symmetric finite matrix with ``n_rows`` rows, in its own precision.

    ``name`` and ``targets`` are those of the argument that has one entry per row.
    """
    gram = as_floats("gram", matrix, single=True)
    if not n_rows or gram.shape != (n_rows, n_rows):
        due = f"a square Gram matrix and one {name.rstrip('s')} per row"
        shapes = f"gram of shape {gram.shape} and {n_rows} {name}: {short(targets)}"
        raise ParameterError(f"expected {due}, got {shapes}")
    check_finite("the Gram matrix", gram)
    check_symmetric(gram)
    return gram


def _classes(values: ArrayLike) -> tuple[NDArray, NDArray]:
    """Indices of the labels' classes, (n,), and targets 1 and -1 of shape (n, classes)."""
    labels = checked_labels("one-vs-all least squares", "labels", values)
    classes, index = np.unique(labels, return_inverse=True)
    check_two_classes(classes)
    is_member = index[:, None] == np.arange(len(classes))
    return index, np.where(is_member, 1.0, -1.0)


@arguments(alphas=_ALPHAS, clip=Flag())
def kernel_ridge(gram: ArrayLike, y: ArrayLike, *, alphas: ArrayLike, clip: bool = True) -> NDArray:
    r"""Dual coefficients :math:`(K + n \alpha)^{-1} (y - \bar y)` of ridge regression, by alpha.

    Predictions are ``K(x, X) @ dual + y.mean(axis=0)``: targets are centred, the kernel is not.
    Cholesky factors solve (`solve_ridges`), or eigenvectors if the matrix must be repaired.

    Parameters
    ----------
    gram : array-like of shape (n, n)
        Symmetric.
    y : array-like of shape (n,) or (n, t)
    alphas : float or array-like of shape (q,)
        On the scale of `invariance.linear`.
    clip : bool
        Negative eigenvalues are clipped, see `RLSRegressor`, or left to the ridge: an alpha that is
        too small for it then has coefficients NaN. An `IndefiniteWarning` gives the lowest one.

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
    is_definite = lowest == 0
    # Below rounding, solutions by factors would be rounding if points are equal.
    is_lost = is_definite and ridges.min(initial=np.inf) < noise and not _exceeds(gram, noise)
    if (is_definite or not clip) and not is_lost:
        safe = rounding(gram) if is_definite else np.inf
        duals = solve_ridges(gram, centred, ridges, safe=safe)
        if not (clip and np.isnan(duals).any()):
            return duals
    values, vectors = linalg.eigh(gram.astype(np.float64), check_finite=False, overwrite_a=True)
    columns = centred.reshape(len(gram), -1)
    path = path_of_eigenvalues(values, vectors, columns, rounding(gram), noise)
    solutions = []
    for ridge in ridges:
        gains = path.gains(ridge)[:, None]
        solutions.append(vectors @ (gains * path.inside))
    return np.array(solutions).reshape(len(ridges), *targets.shape)


def _inverse(
    gram: NDArray, targets: NDArray, ridge: float, copies: int = 1
) -> tuple[NDArray, NDArray]:
    """A^-1 y with A = K + ridge, and the blocks of A^-1 of a point and its copies, (n, c, c)."""
    shifted = np.array(gram.T, order="F")
    shifted.flat[:: len(gram) + 1] += gram.dtype.type(ridge)
    lower = linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    dual = linalg.cho_solve((lower, True), targets, check_finite=False)
    root, _ = linalg.get_lapack_funcs("trtri", (lower,))(lower, lower=1, overwrite_c=1)
    parts = np.split(root, copies, axis=1)
    blocks = np.empty((root.shape[1] // copies, copies, copies))
    for a, part in enumerate(parts):
        for b, copy in enumerate(parts):
            blocks[:, a, b] = np.einsum("ij,ij->j", part, copy, dtype=np.float64)
    return dual, blocks


@arguments(alphas=_ALPHAS)
def left_out_with_copies(gram: ArrayLike, labels: ArrayLike, *, alphas: ArrayLike) -> NDArray:
    r"""Leave-one-out accuracies of one-vs-all kernel ridge classification on augmented points.

    A point is left out together with its copies, which would reveal its label. With
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
        Accuracies on the n points themselves; NaN if the matrix was not positive definite.

    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> points = np.concatenate([x, x + 0.01])
    >>> gram = np.exp(-((points - points.T) ** 2))
    >>> bool(left_out_with_copies(gram, x[:, 0] > 0, alphas=1e-3)[0] > 0.9)
    True
    """
    n_rows = len(np.atleast_1d(gram))
    n = np.size(labels)
    if not n or n_rows % n:
        shapes = f"gram of shape {np.shape(gram)} and labels of shape {np.shape(labels)}"
        raise ParameterError(f"expected as many rows for one label as for another, got {shapes}")
    index, Y = _classes(labels)
    gram = _checked(gram, n_rows, "labels", labels)
    copies = n_rows // n
    targets = np.tile(Y - Y.mean(axis=0), (copies, 1)).astype(gram.dtype)
    ridges = n_rows * np.atleast_1d(np.asarray(alphas, dtype=float))
    noise = certain_rounding(gram)
    is_singular = ridges.min(initial=np.inf) < noise and not _exceeds(gram, noise)
    accuracies = np.full(len(ridges), np.nan)
    for i, ridge in enumerate(ridges):
        try:
            if is_singular and ridge < noise:
                raise linalg.LinAlgError("an inverse of rounding")
            dual, blocks = _inverse(gram, targets, ridge, copies)
        except linalg.LinAlgError as error:
            largest = gram.diagonal().max()
            is_lost = is_singular or largest + gram.dtype.type(ridge) == largest
            if ridge and is_lost:
                reason = f"lost in the rounding of a diagonal up to {largest:.2g}"
                raise ParameterError(
                    f"alpha={ridge / n_rows:.2g} is {reason}: give larger alphas"
                ) from error
            continue
        products = dual.reshape(copies, n, -1).swapaxes(0, 1)
        residuals = np.linalg.solve(blocks, products)[:, 0]
        predicted = (Y - residuals).argmax(axis=1)
        accuracies[i] = np.mean(predicted == index)
    return accuracies


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
        Leave-one-out error of every alpha in the search.
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
        Symmetric and positive semi-definite; its precision is that of the computation. The search
        keeps alpha above the rounding of its type: 1e-6 of ``scale`` in float32.
    labels : array-like of shape (n,)
        Classes; the columns of the result follow ``np.unique(labels)``.
    start : float
        First alpha, as a multiple of ``scale``, the largest that is worth trying. It is raised to
        the rounding of the matrix, if that is more. If all points are equal under a kernel, so that
        the centred matrix is zero, predictions are the classes' shares.

    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> model = rls_by_cholesky(X @ X.T, X[:, 0] > 0)
    >>> float(np.mean(model.decide(X @ X.T).argmax(axis=1) == (X[:, 0] > 0))) > 0.9
    True
    """
    index, targets = _classes(labels)
    n = len(index)
    gram = _checked(gram, n, "labels", labels)
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

    k = 0
    previous = None
    while k != previous and len(fits) < _MAX_FITS:
        previous = k
        # Stronger regularisation first: it wins ties.
        if error(k + 1) <= error(k):
            k += 1
        elif error(k - 1) < error(k):
            k -= 1
    chosen = start * _STEP**k
    scale = largest / n
    dual = fits[chosen][1].astype(np.float64)
    errors = {relative * scale: loss for relative, (loss, _) in sorted(fits.items())}
    intercept = targets.mean(axis=0) - gram_mean @ dual
    return CholeskyRLS(dual, intercept, chosen * scale, scale, errors)


def _centred(gram: NDArray, mean: NDArray) -> tuple[NDArray, float, float]:
    """Centred matrix with its null vector lifted, its largest eigenvalue and its rounding."""
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
    # The inverse of the constant vector's eigenvalue, zero, would dominate the others: it gets the
    # largest instead, and `_left_out` subtracts the term that this adds to the inverse.
    centred += largest / len(gram)
    return centred, largest, noise


def _left_out(
    centred: NDArray, targets: NDArray, index: NDArray, ridge: float, largest: float
) -> tuple[float, NDArray]:
    """Leave-one-out error at a ridge, and the dual coefficients."""
    try:
        dual, blocks = _inverse(centred, targets - targets.mean(axis=0), ridge)
    except linalg.LinAlgError as failed:
        problem = f"no Cholesky factor with a ridge of {ridge:.2g}"
        remedy = "not positive semi-definite: raise start, or use float64"
        raise ValueError(f"the Gram matrix has {problem}, {remedy}") from failed
    lifted = 1 / (len(centred) * (largest + ridge))
    residuals = dual / (blocks[:, 0] - lifted)
    mistakes = (targets - residuals).argmax(axis=1) != index
    return misclassification(mistakes, residuals), dual


def _largest_eigenvalue(gram: NDArray) -> float:
    """Largest eigenvalue to a few per cent, by power iteration: a scale for alpha."""
    vector = np.cos(np.arange(len(gram))).astype(gram.dtype)
    size = 1.0
    for _ in range(20):
        vector = gram @ (vector / size)
        size = float(np.linalg.norm(vector)) or 1.0
    return size
