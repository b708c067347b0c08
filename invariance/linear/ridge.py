r"""Ridge regression, for all learners: eigenvectors for every penalty, Cholesky factors for a few.

`LeaveOneOutPath` has the leave-one-out residuals at every penalty from one set of eigenvectors,
`fit_ridge` makes one for regression with columns that cost nothing, `solve_ridges` has
:math:`(K + r)^{-1} y` at several penalties r from fewer factors than penalties, and
`solve_by_gradients` has it from features and a factor of a matrix near K + r.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

#: Rows, times factors saved, from which some twenty solutions with a factor take less time; more
#: where there are over ten targets, which also keeps the Krylov space below the matrix.
_WORTH = 8000
#: Penalties on either side of a factor's that it serves too, by bytes of a number.
_REACH = {4: 1000**0.5, 8: 10.0}
#: Bytes of the copies in double precision that are made of some rows at a time.
BLOCK_BYTES = 2**22
#: The smallest normal number: divisors are no smaller.
TINY = float(np.finfo(float).tiny)


@dataclass
class LeaveOneOutPath:
    """A ridge problem in its eigenbasis, in which every penalty costs thin products.

    With features Phi, freed of what costs nothing, and ``Phi Phi^T = Q diag(L) Q^T``, the fitted
    values at a ridge r are ``Q diag(L / (L + r)) Q^T y``. Weighted problems have the roots of their
    weights multiplied to the rows of Phi and y.

    Attributes
    ----------
    basis : callable
        Rows of a matrix A, from a slice; ``Q = A turn``, and A is Q itself if ``turn`` is None.
    turn : ndarray of shape (m, k) or None
    L : ndarray of shape (k,)
    inside : ndarray of shape (k, t)
        Q^T y.
    y : ndarray of shape (n, t)
    bare : ndarray of shape (n,) or None
        Squared norm of each unit vector's part outside what costs nothing; None if the columns
        of Q and what costs nothing span everything.
    real : ndarray of bool of shape (k,) or None
        Directions that the model has; the others, whose L is zero, are never fitted.
    noise : float
        Rounding in L. Eigenvalues that are no larger count as zero for ridges below it.
    """

    basis: Callable[[slice], NDArray]
    turn: NDArray | None
    L: NDArray
    inside: NDArray
    y: NDArray
    bare: NDArray | None = None
    real: NDArray | None = None
    noise: float = 0.0

    def spectrum(self, ridges: NDArray) -> NDArray:
        """Eigenvalues as they count beside each ridge, shape (k, ridges)."""
        known = (self.L[:, None] > self.noise) | (ridges >= self.noise)
        return np.where(known, self.L[:, None], 0.0)

    def gains(self, ridge: float) -> NDArray:
        """1 / (L + r) for what is fitted and zero for the rest, shape (k,)."""
        values = self.spectrum(np.array([ridge]))[:, 0]
        fitted = (values > 0) | (ridge >= self.noise)
        if self.real is not None:
            fitted &= self.real
        return np.divide(1.0, values + ridge, out=np.zeros_like(values), where=fitted)

    def unexplained(self, ridges: NDArray, *, least: float = TINY) -> NDArray:
        """1 - h with h the diagonal of the hat matrix, at least ``least``, shape (n, ridges)."""
        shrink = self._shrink(ridges)
        rest = np.empty((len(self.y), len(ridges)))
        for rows in self._rows(len(self.L)):
            squares = self._basis(rows)
            squares = np.square(squares, out=None if self.turn is None else squares)
            np.matmul(squares, shrink, out=rest[rows])
            if self.bare is not None:
                outside = (self.bare[rows] - squares.sum(axis=1)).clip(0)
                rest[rows] += outside[:, None]
        return np.maximum(rest, least, out=rest)

    def residuals(
        self, ridges: NDArray, unexplained: NDArray
    ) -> Iterator[tuple[slice, slice, NDArray]]:
        """Leave-one-out residuals y_i - f_{-i}(x_i), of some rows at some ridges at a time.

        The identity is (y_i - f(x_i)) / (1 - h_i), see `unexplained`; numerator and denominator
        are written as sums in which nothing cancels when the fit interpolates (h near 1).

        Yields
        ------
        rows : slice
        some : slice, of the ridges
        left : ndarray of shape (rows, some, t)
        """
        t = self.y.shape[1]
        shrink = self._shrink(ridges)
        together = max(1, 200 // t)  # ridges whose columns make one product
        for start in range(0, len(ridges), together):
            some = slice(start, min(start + together, len(ridges)))
            factors = shrink[:, some]
            if self.bare is not None:
                factors = factors - 1
            columns = factors[:, :, None] * self.inside[:, None]
            columns = columns.reshape(len(self.L), factors.shape[1] * t)
            if self.turn is not None:
                columns = self.turn @ columns
            for rows in self._rows(max(columns.shape)):
                left = (self.basis(rows) @ columns).reshape(-1, factors.shape[1], t)
                if self.bare is not None:
                    left += self.y[rows, None]
                left /= unexplained[rows, some, None]
                yield rows, some, left

    def _shrink(self, ridges: NDArray) -> NDArray:
        return ridges / (self.spectrum(ridges) + ridges)

    def _basis(self, rows: slice) -> NDArray:
        part = self.basis(rows)
        return part if self.turn is None else part @ self.turn

    def _rows(self, width: int) -> Iterator[slice]:
        """Blocks of rows that take `BLOCK_BYTES` at this many numbers each."""
        return row_blocks(len(self.y), 8 * width)


def row_blocks(n_rows: int, bytes_per_row: int) -> Iterator[slice]:
    """Slices that cover so many rows, of at most `BLOCK_BYTES` each."""
    step = max(1, BLOCK_BYTES // max(bytes_per_row, 1))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


class RidgeFit(NamedTuple):
    """What `fit_ridge` found: alpha, its leave-one-out error, coefficients (b, c), (m + r, t)."""

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

    n is the sum of the weights: a weight counts as so many copies of its sample. Of several alphas
    the one is taken whose leave-one-out residuals, weighted, have the smallest mean square over
    all targets.

    Where the mean squares of the columns of x over all points are known, ``squares`` of shape (r,),
    for columns that are orthogonal there, the error is that of a point drawn anew: leave-one-out's
    times :math:`1 + \sum_j q_j V_{jj}`, with V the covariance of c under noise of variance one.

    >>> X = np.arange(6.0)[:, None]
    >>> fit = fit_ridge(np.ones((6, 1)), X, 2 * X + 1, np.ones(6), np.array([1e-12, 1.0]))
    >>> fit.alpha, fit.coefficients.round(6).ravel()
    (1e-12, array([1., 2.]))
    """
    total, used = float(weights.sum()), weights > 0
    if not used.all():
        free, features, targets, weights = (a[used] for a in (free, features, targets, weights))
    root = np.sqrt(weights)[:, None]
    Q, R = np.linalg.qr(root * free)
    # What the free columns explain of the features, and of the targets.
    explained = np.linalg.inv(R) @ Q.T
    shared, own = explained @ (root * features), explained @ (root * targets)
    residue = root * (targets - free @ own)
    left, values, right = np.linalg.svd(root * (features - free @ shared), full_matrices=False)
    # Directions without variance, such as the constant one, are no part of the features: what is
    # left of them is rounding, of the other directions or of the features before.
    lost = np.finfo(float).eps * np.linalg.norm(root * features)
    real = values > max(1e-14 * max(features.shape) * values.max(initial=0), 2 * lost)
    left, values, right = left[:, real], values[real], right[real]
    bare = 1 - np.sum(Q**2, axis=1)
    inside = left.T @ residue
    path = LeaveOneOutPath(left.__getitem__, None, values**2, inside, residue, bare)
    ridges = total * alphas
    # A point that alone determines a coefficient cannot be left out.
    unexplained = path.unexplained(ridges, least=1e-12)
    errors = np.zeros(len(ridges))
    for _, some, block in path.residuals(ridges, unexplained):
        errors[some] += np.square(block).sum(axis=(0, 2)) / residue.size
    if squares is not None:
        variances = (values[:, None] / (values[:, None] ** 2 + total * alphas)) ** 2
        errors *= 1 + (right**2 @ squares) @ variances
    best = int(np.argmin(errors))
    gains = values / (values**2 + total * alphas[best])
    shrunk = right.T @ (gains[:, None] * inside)
    coefficients = np.concatenate([own - shared @ shrunk, shrunk])
    return RidgeFit(float(alphas[best]), float(errors[best]), coefficients)


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
        K, symmetric; or a function that makes it anew, in LAPACK's order and to be overwritten,
        of which only the lower triangle counts.
    targets : ndarray of shape (n,) or (n, t)
        y; of the precision in which to compute.
    ridges : ndarray of shape (q,)
    safe : float
        Ridges above it are known to make K + r positive definite; others have a factor each.

    Returns
    -------
    ndarray of shape (q, n) or (q, n, t)

    >>> K, y = np.diag([1.0, 2.0]), np.ones(2)
    >>> solve_ridges(K, y, np.array([0.0, 1.0]))
    array([[1.        , 0.5       ],
           [0.5       , 0.33333333]])
    """
    n, t = len(targets), targets[0].size
    found = np.full((len(ridges), *targets.shape), np.nan, targets.dtype)
    reach = _REACH[targets.dtype.itemsize]
    for group in _groups(ridges, safe, reach, _WORTH * max(1, t / 10) / n):
        # the transpose of a symmetric matrix is itself, in the order that LAPACK works on
        shifted = matrix() if callable(matrix) else np.array(matrix.T, targets.dtype, order="F")
        lowest, highest = ridges[group[0]], ridges[group[-1]]
        centre = lowest if lowest == highest else (lowest * highest) ** 0.5
        shifted.flat[:: n + 1] += shifted.dtype.type(centre)
        potrf = linalg.get_lapack_funcs("potrf", (shifted,))
        # what lies above the diagonal stays: SciPy cannot clear over 2^31 entries
        lower, failed = potrf(shifted, lower=True, clean=False, overwrite_a=True)
        if failed:
            continue
        shifts = ridges[group] - centre
        solved = _near(lower, targets.reshape(n, t), shifts.astype(targets.dtype))
        found[group] = solved.reshape(-1, *targets.shape)
        del shifted, lower  # before the next one is made
    return found


def _groups(ridges: NDArray, safe: float, reach: float, least: float) -> Iterator[list[int]]:
    """Indices of ridges that share a factor, upwards, where that saves at least so many factors."""
    left = [int(i) for i in np.argsort(ridges)]
    while left:
        lowest = ridges[left[0]]
        group = [k for k in left if ridges[k] <= lowest * reach**2 * (1 + 1e-9)]
        if lowest <= safe or len(set(ridges[group])) - 1 < least:
            group = [k for k in left if ridges[k] == lowest]
        left = left[len(group) :]
        yield group


def _near(lower: NDArray, y: NDArray, shifts: NDArray) -> NDArray:
    """(1 + shift M)^-1 M y for each shift, from a Krylov space of M, whose inverse has a factor."""

    def apply(block: NDArray) -> NDArray:
        return linalg.cho_solve((lower, True), block, check_finite=False)

    direct = apply(y)
    if not shifts.any():
        return np.broadcast_to(direct, (len(shifts), *direct.shape))
    eps = float(np.finfo(y.dtype).eps)
    enough = eps**0.625  # single precision stays above half of it, however many steps are made
    reach = _REACH[y.dtype.itemsize] ** 0.5
    rate = (reach - 1) / (reach + 1)  # of conjugate gradients, a step
    steps = int(np.ceil(np.log(enough / 2) / np.log(rate)))
    n, t = y.shape
    basis, images = (np.empty((n, min(steps * t, n)), y.dtype, order="F") for _ in range(2))
    block, k = direct, 0
    for step in range(1, steps + 1):
        for _ in range(2):  # orthogonal to rounding
            rest = block - basis[:, :k] @ (basis[:, :k].T @ block)
            Q, R, _ = linalg.qr(rest, mode="economic", pivoting=True, check_finite=False)
            new = np.abs(R.diagonal()) > 10 * eps * np.linalg.norm(block)
            block = Q[:, new][:, : n - k]
        k, before = k + block.shape[1], k
        basis[:, before:k], images[:, before:k] = block, apply(block)
        block = images[:, before:k]
        if step % 4 == 0 or step == steps or before == k or k == n:
            inner = basis[:, :k].T @ images[:, :k]
            small = np.eye(k) + shifts[:, None, None] * (inner + inner.T) / 2
            shares = np.linalg.solve(small, (basis[:, :k].T @ direct)[None]).astype(y.dtype)
            found = basis[:, :k] @ shares
            left = direct - found - shifts[:, None, None] * (images[:, :k] @ shares)
            close = np.linalg.norm(left, axis=1) <= enough * np.linalg.norm(direct, axis=0)
            if close.all() or before == k or k == n:
                break
    return found


def gram_times(Z: NDArray, x: NDArray) -> NDArray:
    """Z Z^T x of features (n, s) and x (n, t), in the precision of x, some rows of Z at a time."""
    parts = [slice(start, start + 64) for start in range(0, len(Z), 64)]
    inner = sum(Z[some].T @ x[some] for some in parts)
    return np.concatenate([Z[some] @ inner for some in parts])


def solve_by_gradients(
    Z: NDArray,
    targets: NDArray,
    ridges: ArrayLike,
    near: list[tuple[Any, Any, NDArray]],
    *,
    inside: ArrayLike = 1.0,
    rtol: float = 1e-6,
) -> NDArray:
    r"""Solutions of :math:`(Z Z^T + r_j) x_j = y_j` by preconditioned conjugate gradients.

    No Gram matrix is made in the precision of the targets: factors in single precision of matrices
    near it are the preconditioners.

    Parameters
    ----------
    Z : ndarray of shape (n, s), features
    targets : ndarray of shape (n, t); of the precision in which to compute
    ridges : float or array of shape (t,)
    near : list of (rows, columns, matrix)
        A matrix near :math:`Z Z^T + r` of these rows, for these columns; it is overwritten.
    inside : array of shape (n, t)
        One for the rows that a column's system has; elsewhere zero, and targets are zero too.
    rtol : float, of the residual's norm relative to the target's

    Raises
    ------
    LinAlgError
        If a matrix has no Cholesky factor.
    ValueError
        If a thousand steps are not enough.

    >>> Z, y = np.eye(3)[:, :2], np.ones((3, 1))
    >>> solve_by_gradients(Z, y, 0.5, [(slice(None), slice(None), np.eye(3))]).ravel().round(3)
    array([0.667, 0.667, 2.   ])
    """
    factors = [(*at, linalg.cho_factor(A.T, True, True, check_finite=False)) for *at, A in near]
    found, left, direction = np.zeros_like(targets), targets, np.zeros_like(targets)
    before = np.ones_like(targets[0])
    enough = rtol * np.linalg.norm(targets, axis=0)
    for _ in range(1000):
        if np.all(np.linalg.norm(left, axis=0) <= enough):
            return found
        guess = np.zeros_like(targets)
        for rows, columns, factor in factors:
            some = left[rows, columns].astype(factor[0].dtype)
            guess[rows, columns] = linalg.cho_solve(factor, some, check_finite=False)
        now = np.sum(left * guess, axis=0)
        direction = guess + _share(now, before) * direction
        image = inside * gram_times(Z, direction) + ridges * direction
        step, before = _share(now, np.sum(direction * image, axis=0)), now
        found, left = found + step * direction, left - step * image
    raise ValueError("conjugate gradients have not converged: take larger ridges")


def _share(a: NDArray, b: NDArray) -> NDArray:
    """a / b, and nothing of nothing: a column that is solved stays."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def in_power_of_two(values: NDArray) -> tuple[NDArray, int]:
    """Return values with entries of at most one in size, and the exponent of their unit.

    The unit is a power of two: nothing is rounded, and ``np.ldexp`` takes the values back.
    """
    _, exponent = np.frexp(np.abs(values).max(initial=0.0))
    return np.ldexp(values, -exponent), int(exponent)


def check_scale(X: NDArray) -> None:
    """Refuse features whose squares overflow, or vanish beside the smallest number."""
    largest = float(max(X.max(initial=0), -X.min(initial=0)))
    if largest and not 1e-140 < largest < 1e140:
        wrong = f"the largest absolute feature is {largest:.1g}, whose square float64 cannot hold"
        raise ValueError(f"{wrong}: scale the features, and alpha with their squares")
