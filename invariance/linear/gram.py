"""Learners on a given Gram matrix: ridge regression, and alpha by leave-one-out.

Negative eigenvalues are measured and repaired for training and new points alike, with a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from ..core.arrays import as_floats, check_finite
from ..core.messages import warn
from ..core.parameters import Array, Flag, Number, ParameterError, arguments, short
from .classes import check_two_classes, checked_labels, misclassification
from .ridge import DiagonalPath, cholesky, largest_absolute, solve_ridges

#: Factor from one alpha of a search to the next, and the largest number of alphas in a search.
_STEP = 10**0.5
_MAX_FITS = 20
_ALPHAS = Number(0) | Array(1, least=0)


class IndefiniteWarning(UserWarning):
    """A Gram matrix has negative eigenvalues: their number, their size and their treatment."""


def warn_indefinite(owner: str, size: str, treatment: str = "clipped") -> None:
    """Warn about negative eigenvalues, at the line outside the package that caused the call."""
    warn(
        f"{owner}: the Gram matrix is not positive semi-definite: {size}; negative eigenvalues "
        f"are {treatment} for training and new points alike",
        IndefiniteWarning,
    )


def describe_negative(values: NDArray, tolerance: float) -> tuple[str, float]:
    """Description of the negative eigenvalues, and their share of the sum of absolute ones."""
    is_negative = values < 0
    absolute_sum = np.abs(values).sum()
    share = float(-values[is_negative].sum() / absolute_sum)
    count = int((values < -tolerance).sum())
    lowest = values.min()
    size = f"{count} of {len(values)} eigenvalues are negative, the lowest {lowest:.2g}"
    return f"{size}, {100 * share:.2g} % of the sum of absolute values", share


def check_symmetric(gram: NDArray) -> None:
    """Refuse a square matrix that is not symmetric up to rounding."""
    largest = 0.0
    tiles = list(_tiles(len(gram)))
    for rows, columns in combinations_with_replacement(tiles, 2):
        tile = gram[rows, columns]
        mirrored = gram[columns, rows].T
        largest = max(largest, float(np.abs(tile - mirrored).max()))
    tolerance = 1e-4 if gram.dtype == np.float32 else 1e-6
    if largest > tolerance * max(gram.max(), -gram.min()):
        raise ValueError(
            f"the Gram matrix is not symmetric (largest difference {largest:.2g}); "
            "use (K + K.T) / 2, or invariance.kernels.GramTransformer"
        )


def _tiles(n_rows: int) -> Iterator[slice]:
    """Slices of 128 rows: a tile of 128 x 128 entries fits into the cache."""
    for start in range(0, n_rows, 128):
        yield slice(start, start + 128)


def frobenius_norm(matrix: NDArray) -> float:
    """Root of the sum of squares, also if these overflow or vanish."""
    with np.errstate(over="ignore", under="ignore"):
        size = float(np.linalg.norm(matrix))
    if 1e-15 < size < 1e15:
        return size
    largest = largest_absolute(matrix)
    if largest == 0:
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
    entry_rounding = 10 * float(np.finfo(gram.dtype).eps)
    return entry_rounding * frobenius_norm(gram) / len(gram) ** 0.5


def path_of_eigenvalues(
    values: NDArray, vectors: NDArray, Y: NDArray, tolerance: float, noise: float
) -> DiagonalPath:
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
    return DiagonalPath(
        basis=vectors.__getitem__,
        turn=None,
        L=np.where(is_real, values, 0).clip(0),
        inside=vectors.T @ Y,
        y=Y,
        real=is_real,
        noise=noise,
    )


def _exceeds(gram: NDArray, bound: float) -> bool:
    """Whether all eigenvalues are above a bound."""
    try:
        cholesky(gram, -bound)
    except linalg.LinAlgError:
        return False
    return True


def _is_lost(gram: NDArray, ridges: NDArray, noise: float) -> bool:
    """Whether a ridge is too small for a matrix that is singular up to rounding ``noise``."""
    return bool(ridges.min(initial=np.inf) < noise and not _exceeds(gram, noise))


def lowest_eigenvalue(gram: NDArray) -> float:
    """Lowest eigenvalue if it is negative by more than rounding, else zero.

    A Cholesky factor of the matrix, shifted by its rounding, shows that no eigenvalue is negative.
    It takes one copy, in the precision of the matrix.
    """
    tolerance = rounding(gram)
    if _exceeds(gram, -tolerance):
        return 0.0
    (lowest,) = linalg.eigvalsh(gram, subset_by_index=[0, 0], check_finite=False)
    if lowest >= -tolerance:
        return 0.0
    return float(lowest)


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

    Examples
    --------
    >>> x = np.linspace(0, 1, 30)
    >>> gram = np.exp(-np.subtract.outer(x, x) ** 2)
    >>> (dual,) = kernel_ridge(gram, x**2, alphas=1e-8)
    >>> bool(np.abs(gram @ dual + np.mean(x**2) - x**2).max() < 0.01)
    True
    """
    targets = as_floats("y", y)
    gram = _checked(gram, len(np.atleast_1d(targets)), "y", y)
    check_finite("y", targets)
    ridges = _ridges(alphas, len(gram))
    centred = targets - targets.mean(axis=0)
    lowest = lowest_eigenvalue(gram)
    if lowest < 0:
        size = f"it has an eigenvalue of {lowest:.2g}, beside a trace of {np.trace(gram):.2g}"
        treatment = "clipped" if clip else "kept"
        warn_indefinite("kernel_ridge", size, treatment)
    noise = certain_rounding(gram)
    is_definite = lowest == 0
    # Below rounding, solutions by factors would be rounding if points are equal.
    is_lost = is_definite and _is_lost(gram, ridges, noise)
    if (is_definite or not clip) and not is_lost:
        safe = rounding(gram) if is_definite else np.inf
        duals = solve_ridges(gram, centred, ridges, safe=safe)
        is_solved = not np.isnan(duals).any()
        if is_solved or not clip:
            return duals
    return _clipped_duals(gram, centred, ridges, noise)


def _ridges(alphas: ArrayLike, n: int) -> NDArray:
    """The ridges n alpha, an array of shape (q,)."""
    return np.atleast_1d(np.asarray(alphas, dtype=float)) * n


def _clipped_duals(gram: NDArray, centred: NDArray, ridges: NDArray, noise: float) -> NDArray:
    """Dual coefficients of a matrix without its negative eigenvalues, by its eigenvectors."""
    tolerance = rounding(gram)
    values, vectors = linalg.eigh(gram.astype(np.float64), check_finite=False, overwrite_a=True)
    columns = centred.reshape(len(gram), -1)
    path = path_of_eigenvalues(values, vectors, columns, tolerance, noise)
    solutions = []
    for ridge in ridges:
        solutions.append(vectors @ path.solve(ridge, path.inside))
    return np.array(solutions).reshape(len(ridges), *centred.shape)


def _inverse(
    gram: NDArray, targets: NDArray, ridge: float, copies: int = 1
) -> tuple[NDArray, NDArray]:
    """A^-1 y with A = K + ridge, and the blocks of A^-1 of a point and its copies, (n, c, c)."""
    lower = cholesky(gram, ridge)
    dual = linalg.cho_solve((lower, True), targets, check_finite=False)
    trtri = linalg.get_lapack_funcs("trtri", (lower,))
    root, _ = trtri(lower, lower=1, overwrite_c=1)
    parts = np.split(root, copies, axis=1)
    n_points = len(gram) // copies
    blocks = np.empty((n_points, copies, copies))
    for a, part in enumerate(parts):
        for b, other_part in enumerate(parts):
            blocks[:, a, b] = np.einsum("ij,ij->j", part, other_part, dtype=np.float64)
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

    Examples
    --------
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
    centred = Y - Y.mean(axis=0)
    targets = np.tile(centred, (copies, 1)).astype(gram.dtype)
    ridges = _ridges(alphas, n_rows)
    noise = certain_rounding(gram)
    is_singular = _is_lost(gram, ridges, noise)
    accuracies = np.full(len(ridges), np.nan)
    for i, ridge in enumerate(ridges):
        try:
            if is_singular and ridge < noise:
                raise linalg.LinAlgError("an inverse of rounding")
            dual, blocks = _inverse(gram, targets, ridge, copies)
        except linalg.LinAlgError as error:
            largest = gram.diagonal().max()
            has_no_effect = largest + gram.dtype.type(ridge) == largest
            if ridge and (is_singular or has_no_effect):
                raise ParameterError(
                    f"alpha={ridge / n_rows:.2g} is lost in the rounding of a diagonal up to "
                    f"{largest:.2g}: give larger alphas"
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

    Examples
    --------
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
    fits = _Fits(centred, targets, index, largest)
    relative_noise = noise / largest
    start = max(start, relative_noise)
    machine_rounding = 8 * float(np.finfo(gram.dtype).eps)
    floor = min(start, max(machine_rounding, relative_noise))

    def error(k: int) -> float:
        relative = start * _STEP**k
        if relative < floor:
            return np.inf
        return fits.error(relative)

    k = 0
    previous = None
    while k != previous and len(fits.duals) < _MAX_FITS:
        previous = k
        # Stronger regularisation first: it wins ties.
        if error(k + 1) <= error(k):
            k += 1
        elif error(k - 1) < error(k):
            k -= 1
    chosen = start * _STEP**k
    scale = largest / n
    dual = fits.duals[chosen].astype(np.float64)
    return CholeskyRLS(
        dual_coef=dual,
        intercept=targets.mean(axis=0) - gram_mean @ dual,
        alpha=chosen * scale,
        scale=scale,
        loo_errors={relative * scale: fits.errors[relative] for relative in sorted(fits.errors)},
    )


class _Fits:
    """Leave-one-out errors and dual coefficients, at ridges relative to the largest eigenvalue."""

    def __init__(self, centred: NDArray, targets: NDArray, index: NDArray, largest: float) -> None:
        self.centred = centred
        self.targets = targets
        self.index = index
        self.largest = largest
        self.errors: dict[float, float] = {}
        self.duals: dict[float, NDArray] = {}

    def error(self, relative: float) -> float:
        """Leave-one-out error at a ridge, which is computed once."""
        if relative not in self.errors:
            ridge = relative * self.largest
            loss, dual = _left_out(self.centred, self.targets, self.index, ridge, self.largest)
            self.errors[relative] = loss
            self.duals[relative] = dual
        return self.errors[relative]


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
        raise ValueError(
            f"the Gram matrix has no Cholesky factor with a ridge of {ridge:.2g}, not positive "
            "semi-definite: raise start, or use float64"
        ) from failed
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
        size = frobenius_norm(vector) or 1.0
    return size
