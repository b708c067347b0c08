"""`shifted_solutions`: (K + r)^-1 y for several ridges r, from fewer factors than ridges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

__all__ = ["shifted_solutions"]

#: Rows from which some forty solutions with a factor take less time than two factors.
_FROM = 4000
#: Ridges on either side of a factor's that it serves too.
_REACH = 10 * (1 + 1e-9)


def shifted_solutions(
    shifted: Callable[[float], NDArray],
    targets: NDArray,
    ridges: NDArray,
    *,
    safe: float,
) -> list[NDArray | None]:
    r"""Solutions at each ridge; None where K + r has no Cholesky factor.

    With :math:`M = (K + s)^{-1}` from one factor,
    :math:`(K + r)^{-1} y = (1 + (r - s) M)^{-1} M y`, whose matrix has a condition number of at
    most r / s or s / r. Up to ten, Lanczos iterations give it to rounding in some forty steps, the
    same ones for all r.

    Parameters
    ----------
    shifted : callable
        ``shifted(r)`` is K + r, of shape (n, n), in LAPACK's order and to be overwritten.
    targets : ndarray of shape (n,) or (n, t), y
    ridges : ndarray of shape (q,)
    safe : float
        Above it K + r is known to be positive definite. Other ridges have a factor each.

    Examples
    --------
    >>> K, y = np.diag([1.0, 2.0]), np.ones(2)
    >>> shifted_solutions(lambda r: K + r * np.eye(2), y, np.array([1.0]), safe=0)[0].round(3)
    array([0.5  , 0.333])
    """
    found: list[NDArray | None] = [None] * len(ridges)
    left = [int(i) for i in np.argsort(ridges)]
    while left:
        lowest = ridges[left[0]]
        near = len(targets) >= _FROM and lowest > safe
        centre = max(i for i, k in enumerate(left) if ridges[k] <= lowest * (_REACH if near else 1))
        most = ridges[left[centre]] * (_REACH if near else 1)
        group = [k for k in left if ridges[k] <= most]
        chosen, left = left[centre], left[len(group) :]
        try:
            factor = linalg.cho_factor(
                shifted(ridges[chosen]), lower=True, overwrite_a=True, check_finite=False
            )
        except linalg.LinAlgError:
            continue
        direct = linalg.cho_solve(factor, targets, check_finite=False)
        others = [k for k in group if ridges[k] != ridges[chosen]]
        for k in group:
            found[k] = direct
        solved = _nearby(factor, direct, ridges[others] - ridges[chosen]) if others else []
        for k, solution in zip(others, solved, strict=True):
            found[k] = solution
        del factor  # before the next one is made
    return found


def _nearby(factor: tuple[NDArray, bool], direct: NDArray, shifts: NDArray) -> list[NDArray]:
    """(1 + shift M)^-1 ``direct`` for each shift, by Lanczos iterations with M."""
    rows = np.ascontiguousarray(direct.reshape(len(direct), -1).T)  # one per target
    t, n = rows.shape
    eps = float(np.finfo(direct.dtype).eps)
    rate = (_REACH**0.5 - 1) / (_REACH**0.5 + 1)  # of conjugate gradients, a step
    steps = min(n, int(np.ceil(np.log(eps**0.75 / 2) / np.log(rate))))
    basis, inner = np.empty((t, steps, n), direct.dtype), np.zeros((t, steps, steps))
    norms = np.linalg.norm(rows, axis=1)
    vector = rows / np.where(norms > 0, norms, 1)[:, None]
    for j in range(steps):
        basis[:, j] = vector
        known = basis[:, : j + 1]
        image = linalg.cho_solve(factor, vector.T, check_finite=False).T
        size = np.linalg.norm(image, axis=1)
        for _ in range(2):  # orthogonal to rounding
            shares = np.matmul(known, image[:, :, None])
            inner[:, : j + 1, j] += shares[:, :, 0]
            image = image - np.matmul(shares.swapaxes(1, 2), known)[:, 0]
        rest = np.linalg.norm(image, axis=1)
        new = rest > 10 * eps * size  # else the space is exhausted
        vector = np.where(new, 1 / np.where(new, rest, 1), 0).astype(direct.dtype)[:, None] * image
        if j % 4 == 3 or j + 1 == steps:
            weights = _small(inner[:, : j + 1, : j + 1], norms, shifts)
            left = np.abs(shifts[:, None] * weights[:, :, -1]) * np.where(new, rest, 0)
            if (left <= eps**0.75 * norms).all():
                break
    solved = np.matmul(weights[:, :, None], known)[:, :, 0].swapaxes(1, 2)
    return [solution.reshape(direct.shape).astype(direct.dtype) for solution in solved]


def _small(upper: NDArray, norms: NDArray, shifts: NDArray) -> NDArray:
    """First columns of (1 + shift T)^-1 times the norms, for a symmetric T, shape (q, t, k)."""
    symmetric = upper + np.triu(upper, 1).swapaxes(1, 2)
    first = np.zeros((len(upper), upper.shape[1], 1))
    first[:, 0, 0] = norms
    matrices = np.eye(upper.shape[1]) + shifts[:, None, None, None] * symmetric
    return np.linalg.solve(matrices, first)[..., 0]
