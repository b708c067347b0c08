r"""Ridge regression, for all learners: eigenvectors for every penalty, Cholesky factors for a few.

`DiagonalPath` has the leave-one-out residuals at every penalty from one set of eigenvectors,
`fit_ridge` makes one for regression with columns that cost nothing, and `solve_ridges` has
:math:`(K + r)^{-1} y` at several penalties r from fewer factors than penalties.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import linalg

from ..core.symmetric import factorize

#: Rows, times factors saved, from which twenty solutions with a factor take less time. The number
#: grows with over ten targets, which also keeps the Krylov space smaller than the matrix.
_WORTH = 8000
#: Penalties on either side of a factor's that it serves too, by bytes of a number.
_REACH = {4: 1000**0.5, 8: 10.0}
#: Bytes of the copies in double precision that are made of a block of rows.
BLOCK_BYTES = 2**22
#: The smallest normal number: divisors are no smaller.
TINY = float(np.finfo(float).tiny)


@dataclass(kw_only=True)
class LeaveOneOutPath(ABC):
    """A ridge problem in an orthonormal basis, in which every penalty costs thin products.

    With features Phi, without their projection onto columns that cost nothing, and
    ``Phi Phi^T = Q T Q^T``, the fitted values at a ridge r are ``Q T (T + r)^-1 Q^T y``. Weighted
    problems have the roots of their weights multiplied to the rows of Phi and y.

    Attributes
    ----------
    basis : callable
        Rows of a matrix A, from a slice; ``Q = A turn``, and A is Q itself if ``turn`` is None.
    turn : ndarray of shape (m, k) or None
    inside : ndarray of shape (k, t)
        Q^T y.
    y : ndarray of shape (n, t)
    bare : ndarray of shape (n,) or None
        Squared norm of each unit vector's part orthogonal to the columns that cost nothing; None
        if these and the columns of Q span everything.
    noise : float
        Rounding in the eigenvalues of T.
    largest_eigenvalue : float
        That of T; zero if there are no features.
    """

    basis: Callable[[slice], NDArray]
    turn: NDArray | None
    inside: NDArray
    y: NDArray
    bare: NDArray | None = None
    noise: float = 0.0
    largest_eigenvalue: float = field(init=False)

    @abstractmethod
    def solve(self, ridge: float, columns: NDArray) -> NDArray:
        """Return (T + r)^-1 times columns of shape (k, t), for directions that are fitted."""

    @abstractmethod
    def shrink(self, ridge: float, columns: NDArray) -> NDArray:
        """Return T (T + r)^-1 times columns of shape (k, t)."""

    @abstractmethod
    def _squares(self, basis: NDArray, ridges: NDArray) -> tuple[NDArray, NDArray]:
        """q^T q, and q^T r (T + r)^-1 q at each ridge, for rows q of Q."""

    @abstractmethod
    def _residual_columns(self, ridges: NDArray) -> NDArray:
        """Coefficients of residuals in the columns of ``basis``, shape (m, ridges t).

        They give y - f(x), or -f(x) if ``bare`` is an array: y is then added afterwards.
        """

    def unexplained(self, ridges: NDArray, *, least: float = TINY) -> NDArray:
        """1 - h with h the diagonal of the hat matrix, at least ``least``, shape (n, ridges)."""
        unexplained = np.empty((len(self.y), len(ridges)))
        for rows in self._row_blocks(len(self.inside)):
            inside, unexplained[rows] = self._squares(self._basis(rows), ridges)
            if self.bare is not None:
                outside = (self.bare[rows] - inside).clip(0)
                unexplained[rows] += outside[:, None]
        return np.maximum(unexplained, least, out=unexplained)

    def residuals(
        self, ridges: NDArray, unexplained: NDArray
    ) -> Iterator[tuple[slice, slice, NDArray]]:
        """Leave-one-out residuals y_i - f_{-i}(x_i), for blocks of rows and of ridges.

        The identity is (y_i - f(x_i)) / (1 - h_i), see `unexplained`; numerator and denominator
        are written as sums in which nothing cancels when the fit interpolates (h near 1).

        Yields
        ------
        rows : slice
        penalties : slice, of the ridges
        residuals : ndarray of shape (rows, penalties, t)
        """
        n_targets = self.y.shape[1]
        step = max(1, 200 // n_targets)  # ridges whose columns make one product
        for start in range(0, len(ridges), step):
            penalties = slice(start, min(start + step, len(ridges)))
            columns = self._residual_columns(ridges[penalties])
            for rows in self._row_blocks(max(columns.shape)):
                residuals = self.basis(rows) @ columns
                residuals = residuals.reshape(-1, penalties.stop - start, n_targets)
                if self.bare is not None:
                    residuals += self.y[rows, None]
                residuals /= unexplained[rows, penalties, None]
                yield rows, penalties, residuals

    def _basis(self, rows: slice) -> NDArray:
        """Rows of Q."""
        block = self.basis(rows)
        if self.turn is None:
            return block
        return block @ self.turn

    def _row_blocks(self, width: int) -> Iterator[slice]:
        """Blocks of rows that take `BLOCK_BYTES` at this many numbers each."""
        return row_blocks(len(self.y), 8 * width)


@dataclass(kw_only=True)
class DiagonalPath(LeaveOneOutPath):
    """`LeaveOneOutPath` in eigenvectors, with ``Phi Phi^T = Q diag(L) Q^T``.

    Attributes
    ----------
    L : ndarray of shape (k,)
        Eigenvalues. Those no larger than ``noise`` count as zero for ridges below it.
    real : ndarray of bool of shape (k,) or None
        Directions that the model has; the others, whose L is zero, are never fitted.
    """

    L: NDArray
    real: NDArray | None = None

    def __post_init__(self) -> None:
        self.largest_eigenvalue = float(self.L.max(initial=0))

    def spectrum(self, ridges: NDArray) -> NDArray:
        """Eigenvalues that count at each ridge, shape (k, ridges)."""
        values = self.L[:, None]
        counts = (values > self.noise) | (ridges >= self.noise)
        return np.where(counts, values, 0.0)

    def gains(self, ridge: float) -> NDArray:
        """1 / (L + r) for directions that are fitted and zero for the rest, shape (k,)."""
        values = self.spectrum(np.array([ridge]))[:, 0]
        is_fitted = (values > 0) | (ridge >= self.noise)
        if self.real is not None:
            is_fitted &= self.real
        gains = np.zeros_like(values)
        gains[is_fitted] = 1 / (values[is_fitted] + ridge)
        return gains

    def solve(self, ridge: float, columns: NDArray) -> NDArray:
        return self.gains(ridge)[:, None] * columns

    def shrink(self, ridge: float, columns: NDArray) -> NDArray:
        return (self.L * self.gains(ridge))[:, None] * columns

    def _squares(self, basis: NDArray, ridges: NDArray) -> tuple[NDArray, NDArray]:
        squares = np.square(basis)
        return squares.sum(axis=1), squares @ self._shrinkage(ridges)

    def _residual_columns(self, ridges: NDArray) -> NDArray:
        shrinkage = self._shrinkage(ridges)
        factors = shrinkage
        if self.bare is not None:
            factors = shrinkage - 1
        columns = factors[:, :, None] * self.inside[:, None]
        columns = columns.reshape(len(self.L), shrinkage.shape[1] * self.y.shape[1])
        if self.turn is not None:
            columns = self.turn @ columns
        return columns

    def _shrinkage(self, ridges: NDArray) -> NDArray:
        """r / (L + r) at each ridge, shape (k, ridges)."""
        return ridges / (self.spectrum(ridges) + ridges)


def row_blocks(n_rows: int, bytes_per_row: int) -> Iterator[slice]:
    """Slices that cover ``n_rows`` rows, of at most `BLOCK_BYTES` each."""
    step = max(1, BLOCK_BYTES // max(bytes_per_row, 1))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


class RidgeFit(NamedTuple):
    """Result of `fit_ridge`: alpha, its leave-one-out error, coefficients (b, c), (m + r, t)."""

    alpha: float
    error: float
    coefficients: NDArray


def fit_ridge(
    free: NDArray,
    features: NDArray,
    targets: NDArray,
    weights: NDArray,
    alphas: NDArray,
    squares: NDArray | None = None,
) -> RidgeFit:
    r"""Minimise :math:`\frac1n \sum_i w_i (y_i - \langle b, z_i\rangle - \langle c, x_i\rangle)^2
    + \alpha |c|^2` over (b, c), for z of shape (n, m) and x of (n, r).

    n is the sum of the weights: a sample of weight w counts as w copies. The chosen alpha is the
    one whose weighted leave-one-out residuals have the smallest mean square over all targets.

    ``squares``, of shape (r,), holds the mean squares of the columns of x over all points, if they
    are known and the columns are orthogonal there. The error is then that of a newly drawn point:
    leave-one-out's times :math:`1 + \sum_j q_j V_{jj}`, with V the covariance of c under noise of
    variance one.

    >>> X = np.arange(6.0)[:, None]
    >>> fit = fit_ridge(np.ones((6, 1)), X, 2 * X + 1, np.ones(6), np.array([1e-12, 1.0]))
    >>> fit.alpha, fit.coefficients.round(6).ravel()
    (1e-12, array([1., 2.]))
    """
    is_used = weights > 0
    if not is_used.all():
        return fit_ridge(
            free[is_used],
            features[is_used],
            targets[is_used],
            weights[is_used],
            alphas,
            squares,
        )
    problem = _without_free_columns(free, features, targets, weights)
    left, values, right = _directions(problem.features, problem.features_norm)
    path = DiagonalPath(
        basis=left.__getitem__,
        turn=None,
        L=values**2,
        inside=left.T @ problem.targets,
        y=problem.targets,
        bare=problem.bare,
    )
    ridges = float(weights.sum()) * alphas
    errors = _mean_squares(path, ridges)
    if squares is not None:
        noise_gains = values[:, None] / (values[:, None] ** 2 + ridges)
        variances = noise_gains**2
        errors *= 1 + (right**2 @ squares) @ variances
    best = int(np.argmin(errors))
    gains = values / (values**2 + ridges[best])
    shrunk = right.T @ (gains[:, None] * path.inside)
    free_coefficients = problem.free_of_targets - problem.free_of_features @ shrunk
    return RidgeFit(
        alpha=float(alphas[best]),
        error=float(errors[best]),
        coefficients=np.concatenate([free_coefficients, shrunk]),
    )


class _WithoutFree(NamedTuple):
    """Features and targets without their projection onto the columns that cost nothing.

    Rows are multiplied by the roots of their weights.
    """

    features: NDArray
    targets: NDArray
    #: Coefficients of the free columns for the features, (m, r), and for the targets, (m, t).
    free_of_features: NDArray
    free_of_targets: NDArray
    #: See `LeaveOneOutPath`.
    bare: NDArray
    #: Frobenius norm of the weighted features before the projection.
    features_norm: float


def _without_free_columns(
    free: NDArray, features: NDArray, targets: NDArray, weights: NDArray
) -> _WithoutFree:
    roots = np.sqrt(weights)[:, None]
    weighted_features = roots * features
    Q, R = np.linalg.qr(roots * free)
    project = np.linalg.inv(R) @ Q.T
    free_of_features = project @ weighted_features
    free_of_targets = project @ (roots * targets)
    return _WithoutFree(
        features=roots * (features - free @ free_of_features),
        targets=roots * (targets - free @ free_of_targets),
        free_of_features=free_of_features,
        free_of_targets=free_of_targets,
        bare=1 - np.sum(Q**2, axis=1),
        features_norm=float(np.linalg.norm(weighted_features)),
    )


def _directions(features: NDArray, original_norm: float) -> tuple[NDArray, NDArray, NDArray]:
    """Singular vectors and values of the features, for directions with variance.

    Directions without variance, such as the constant one, are no part of the features: their
    residuals are rounding, of the other directions or of the original features.
    """
    left, values, right = np.linalg.svd(features, full_matrices=False)
    largest = values.max(initial=0)
    rounding = 1e-14 * max(features.shape) * largest
    original_rounding = 2 * np.finfo(float).eps * original_norm
    is_real = values > max(rounding, original_rounding)
    return left[:, is_real], values[is_real], right[is_real]


def _mean_squares(path: LeaveOneOutPath, ridges: NDArray) -> NDArray:
    """Mean squared leave-one-out residual at each ridge."""
    # A point that alone determines a coefficient cannot be left out.
    unexplained = path.unexplained(ridges, least=1e-12)
    errors = np.zeros(len(ridges))
    for _, penalties, residuals in path.residuals(ridges, unexplained):
        errors[penalties] += np.square(residuals).sum(axis=(0, 2)) / path.y.size
    return errors


def solve_ridges(
    matrix: NDArray | Callable[[], NDArray],
    targets: NDArray,
    ridges: NDArray,
    *,
    safe: float = np.inf,
) -> NDArray:
    r"""Solutions of :math:`(K + r) x = y` for each ridge r; NaN where K + r has no Cholesky factor.

    With :math:`M = (K + s)^{-1}` from one factor, :math:`(K + r)^{-1} y = (1 + (r - s) M)^{-1} M y`
    for all r near s, by block conjugate gradients in one Krylov space for all r.

    Parameters
    ----------
    matrix : ndarray of shape (n, n), or callable
        K, symmetric; or a function that returns a new copy of it, in LAPACK's order and to be
        overwritten. Only its lower triangle is read.
    targets : ndarray of shape (n,) or (n, t)
        y; of the precision in which to compute.
    ridges : ndarray of shape (q,)
    safe : float
        Ridges above it are known to make K + r positive definite; others have a factor each.

    Returns
    -------
    ndarray of shape (q, n) or (q, n, t)

    Examples
    --------
    >>> K, y = np.diag([1.0, 2.0]), np.ones(2)
    >>> solve_ridges(K, y, np.array([0.0, 1.0]))
    array([[1.        , 0.5       ],
           [0.5       , 0.33333333]])
    """
    n = len(targets)
    n_targets = targets[0].size
    columns = targets.reshape(n, n_targets)
    solutions = np.full((len(ridges), *targets.shape), np.nan, targets.dtype)
    reach = _REACH[targets.dtype.itemsize]
    least_saved = _WORTH * max(1, n_targets / 10) / n
    for group in _groups(ridges, safe, reach, least_saved):
        if callable(matrix):
            shifted = matrix()
        else:
            shifted = lapack_copy(matrix, targets.dtype)
        centre = _geometric_mean(ridges[group[0]], ridges[group[-1]])
        add_to_diagonal(shifted, centre)
        failed = factorize(shifted)
        if not failed:
            shifts = (ridges[group] - centre).astype(targets.dtype)
            near = _solve_near(shifted, columns, shifts)
            solutions[group] = near.reshape(-1, *targets.shape)
        del shifted  # before the next matrix is allocated
    return solutions


def lapack_copy(matrix: NDArray, dtype: DTypeLike | None = None) -> NDArray:
    """Copy a symmetric matrix, in LAPACK's order of storage."""
    # The transpose of a symmetric matrix is itself.
    return np.array(matrix.T, dtype, order="F")


def add_to_diagonal(matrix: NDArray, number: float) -> None:
    """Add a number to the diagonal, in place and in the precision of the matrix."""
    matrix.flat[:: len(matrix) + 1] += matrix.dtype.type(number)


def cholesky(gram: NDArray, ridge: float) -> NDArray:
    """Lower Cholesky factor of ``gram + ridge``, in a copy; LinAlgError if there is none."""
    shifted = lapack_copy(gram)
    add_to_diagonal(shifted, ridge)
    failed = factorize(shifted, clear=True)
    if failed:
        raise linalg.LinAlgError(f"the leading block of size {failed} is not positive definite")
    return shifted


def _geometric_mean(lowest: float, highest: float) -> float:
    if lowest == highest:
        return lowest
    # Their product must neither overflow nor vanish.
    (low, high), exponent = in_power_of_two(np.array([lowest, highest]))
    return float(np.ldexp((low * high) ** 0.5, exponent))


def _groups(ridges: NDArray, safe: float, reach: float, least: float) -> Iterator[list[int]]:
    """Indices of ridges that share a factor, upwards; it must save at least ``least`` factors."""
    remaining = [int(i) for i in np.argsort(ridges)]
    while remaining:
        lowest = ridges[remaining[0]]
        highest = lowest * reach**2 * (1 + 1e-9)
        group = [k for k in remaining if ridges[k] <= highest]
        n_saved = len(set(ridges[group])) - 1
        if lowest <= safe or n_saved < least:
            group = [k for k in remaining if ridges[k] == lowest]
        remaining = remaining[len(group) :]
        yield group


def _solve_near(lower: NDArray, y: NDArray, shifts: NDArray) -> NDArray:
    """(1 + shift M)^-1 M y for each shift, by a Krylov space of M, whose inverse has a factor."""
    direct = linalg.cho_solve((lower, True), y, check_finite=False)
    if not shifts.any():
        return np.broadcast_to(direct, (len(shifts), *direct.shape))
    # Each column in its own unit: beside large ones, small ones would pass for rounding.
    _, exponents = np.frexp(np.abs(direct).max(axis=0))
    direct = np.ldexp(direct, -exponents)
    # M in the unit of the shifts: squares of its entries must neither overflow nor vanish.
    shifts, exponent = in_power_of_two(shifts)
    eps = float(np.finfo(y.dtype).eps)
    tolerance = eps**0.625  # single precision stays above half of it, however many steps it takes
    reach = _REACH[y.dtype.itemsize] ** 0.5
    rate = (reach - 1) / (reach + 1)  # of conjugate gradients, per step
    steps = np.log(tolerance / 2) / np.log(rate)
    n_steps = int(np.ceil(steps))
    space = _KrylovSpace(lower, direct, n_steps, exponent)
    for step in range(1, n_steps + 1):
        space.extend()
        if step % 4 == 0 or step == n_steps or space.is_complete:
            solutions, errors = space.solve(shifts)
            is_close = errors <= tolerance * np.linalg.norm(direct, axis=0)
            if is_close.all() or space.is_complete:
                break
    return np.ldexp(solutions, exponents)


class _KrylovSpace:
    """An orthonormal basis of M y, M^2 y, ... with M the inverse of a factored matrix.

    M is multiplied by two to the power of ``exponent``.
    """

    def __init__(self, lower: NDArray, direct: NDArray, n_steps: int, exponent: int) -> None:
        n, n_targets = direct.shape
        shape = (n, min(n_steps * n_targets, n))
        self.lower = lower
        self.exponent = exponent
        #: M y.
        self.direct = direct
        self.is_complete = False
        self._basis = np.empty(shape, direct.dtype, order="F")
        self._images = np.empty(shape, direct.dtype, order="F")
        self._size = 0  # columns so far
        self._last_images = direct

    def extend(self) -> None:
        """Add the images of the last columns, as far as they are new."""
        start = self._size
        block = _orthonormal_block(self._last_images, self._basis[:, :start])
        self._size += block.shape[1]
        new = slice(start, self._size)
        self._basis[:, new] = block
        images = linalg.cho_solve((self.lower, True), block, check_finite=False)
        self._images[:, new] = np.ldexp(images, self.exponent)
        self._last_images = self._images[:, new]
        self.is_complete = self._size in (start, len(self.direct))

    def solve(self, shifts: NDArray) -> tuple[NDArray, NDArray]:
        """Solutions x of (1 + shift M) x = M y in this space, and the norms of their errors."""
        basis = self._basis[:, : self._size]
        images = self._images[:, : self._size]
        factors = shifts[:, None, None]
        inner = basis.T @ images
        small = np.eye(self._size) + factors * (inner + inner.T) / 2
        right = basis.T @ self.direct
        shares = np.linalg.solve(small, right[None]).astype(basis.dtype)
        solutions = basis @ shares
        products = solutions + factors * (images @ shares)
        errors = np.linalg.norm(self.direct - products, axis=1)
        return solutions, errors


def _orthonormal_block(block: NDArray, basis: NDArray) -> NDArray:
    """Orthonormal columns that span a block's part orthogonal to a basis."""
    eps = float(np.finfo(block.dtype).eps)
    n_missing = len(basis) - basis.shape[1]
    for _ in range(2):  # the second time for columns that are orthogonal to rounding
        residuals = block - basis @ (basis.T @ block)
        Q, R, _ = linalg.qr(residuals, mode="economic", pivoting=True, check_finite=False)
        is_new = np.abs(R.diagonal()) > 10 * eps * np.linalg.norm(block)
        block = Q[:, is_new][:, :n_missing]
    return block


def in_power_of_two(values: NDArray) -> tuple[NDArray, int]:
    """Return values with entries of at most one in size, and the exponent of their unit.

    The unit is a power of two: nothing is rounded, and ``np.ldexp`` takes the values back.
    """
    _, exponent = np.frexp(np.abs(values).max(initial=0.0))
    return np.ldexp(values, -exponent), int(exponent)


def check_scale(X: NDArray, dtype: DTypeLike = np.float64) -> None:
    """Refuse features whose squares, in a type, overflow or vanish beside the smallest number."""
    largest = largest_absolute(X)
    bound = 1e140 if np.dtype(dtype) == np.float64 else 1e15
    if largest and not 1 / bound < largest < bound:
        raise ValueError(
            f"the largest absolute feature is {largest:.1g}, whose square {np.dtype(dtype)} cannot "
            "hold: scale the features, and alpha with their squares"
        )


def largest_absolute(X: NDArray) -> float:
    """Largest absolute entry, without a copy of the array; zero if it is empty."""
    return float(max(X.max(initial=0), -X.min(initial=0)))
