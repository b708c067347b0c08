"""Ridge regression by conjugate gradients, for Gram matrices too large for double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg


def gram_times(Z: NDArray, x: NDArray) -> NDArray:
    """Return Z Z^T x of features (n, s) and x (n, t), in the precision of x.

    A block of rows of Z is converted at a time.
    """
    blocks = [slice(start, start + 64) for start in range(0, len(Z), 64)]
    inner = sum(Z[rows].T @ x[rows] for rows in blocks)
    return np.concatenate([Z[rows] @ inner for rows in blocks])


def solve_by_gradients(
    Z: NDArray,
    targets: NDArray,
    ridges: ArrayLike,
    near: list[tuple[Any, Any, NDArray]],
    *,
    inside: ArrayLike = 1.0,
    rtol: float = 1e-6,
) -> NDArray:
    r"""Return solutions of :math:`(Z Z^T + r_j) x_j = y_j` by preconditioned conjugate gradients.

    No Gram matrix is computed in the precision of the targets: the preconditioners are factors, in
    single precision, of matrices near it.

    Parameters
    ----------
    Z : ndarray of shape (n, s), features
    targets : ndarray of shape (n, t); of the precision in which to compute
    ridges : float or array of shape (t,)
    near : list of (rows, columns, matrix)
        A matrix near :math:`Z Z^T + r` of these rows, for these columns; it is overwritten.
    inside : array of shape (n, t)
        One for the rows that belong to a column's system, zero for others. Targets of those other
        rows are zero.
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
    factors = []
    for rows, columns, matrix in near:
        factor = linalg.cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
        factors.append((rows, columns, factor))
    solution = np.zeros_like(targets)
    residuals = targets
    direction = np.zeros_like(targets)
    previous = np.ones_like(targets[0])
    tolerance = rtol * np.linalg.norm(targets, axis=0)
    for _ in range(1000):
        if np.all(np.linalg.norm(residuals, axis=0) <= tolerance):
            return solution
        guess = np.zeros_like(targets)
        for rows, columns, factor in factors:
            right = residuals[rows, columns].astype(factor[0].dtype)
            guess[rows, columns] = linalg.cho_solve(factor, right, check_finite=False)
        current = np.sum(residuals * guess, axis=0)
        direction = guess + _ratio(current, previous) * direction
        image = inside * gram_times(Z, direction) + ridges * direction
        step = _ratio(current, np.sum(direction * image, axis=0))
        solution = solution + step * direction
        residuals = residuals - step * image
        previous = current
    raise ValueError("conjugate gradients have not converged: take larger ridges")


def _ratio(a: NDArray, b: NDArray) -> NDArray:
    """Return a / b, or zero if b is zero, so that a solved column stays as it is."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
