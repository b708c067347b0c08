"""`RidgeFit`: ridge regression with columns that cost nothing, its penalty by leave-one-out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["RidgeFit"]


class RidgeFit:
    r"""Minimise :math:`\frac1n \sum_i w_i (y_i - \langle b, z_i\rangle - \langle c, x_i\rangle)^2
    + \alpha |c|^2`.

    n is the sum of the weights: a weight counts as so many copies of its sample. Of several alphas
    the one is taken whose leave-one-out residuals, weighted, have the smallest mean square over
    all targets.

    Parameters
    ----------
    free : ndarray of shape (n, m)
        The columns z; a single one of ones is an intercept.
    features : ndarray of shape (n, r)
    targets : ndarray of shape (n, t)
    weights : ndarray of shape (n,)
    alphas : ndarray of shape (a,)

    Attributes
    ----------
    alpha : float
    coefficients : ndarray of shape (m + r, t)
    noise : ndarray of shape (t,)
        Variance of the noise that makes the data most likely, where the estimate is read as the
        posterior mean of c ~ N(0, noise / (n alpha)) and of any b.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> fit = RidgeFit(np.ones((6, 1)), X, 2 * X + 1, np.ones(6), np.array([1e-12, 1.0]))
    >>> fit.alpha, fit.coefficients.round(6)
    (1e-12, array([[1.],
           [2.]]))
    """

    def __init__(
        self, free: NDArray, features: NDArray, targets: NDArray, weights: NDArray, alphas: NDArray
    ):
        self._total = float(weights.sum())
        used = weights > 0
        free, features, targets, weights = (a[used] for a in (free, features, targets, weights))
        root = np.sqrt(weights)[:, None]
        Q, R = np.linalg.qr(root * free)
        self._inverse_free = np.linalg.inv(R)
        # What the free columns explain of the features, and of the targets.
        self._shared, own = (self._inverse_free @ (Q.T @ (root * a)) for a in (features, targets))
        residue = root * (targets - free @ own)
        left, values, self._right = np.linalg.svd(
            root * (features - free @ self._shared), full_matrices=False
        )
        # One row per alpha.
        damped = values**2 / (values**2 + self._total * alphas[:, None])
        inner = left.T @ residue
        leverage = np.sum(Q**2, axis=1)[:, None] + left**2 @ damped.T
        errors = np.empty(len(alphas))
        for j, shrink in enumerate(damped):
            gone = residue - left @ (shrink[:, None] * inner)
            # A point that alone determines a coefficient cannot be left out.
            errors[j] = np.mean((gone / np.maximum(1 - leverage[:, [j]], 1e-12)) ** 2)
        best = int(np.argmin(errors))
        self.alpha = float(alphas[best])
        ridge = values**2 + self._total * self.alpha
        shrunk = self._right.T @ ((values / ridge)[:, None] * inner)
        self.coefficients = np.concatenate([own - self._shared @ shrunk, shrunk])
        gone = residue - left @ (damped[best][:, None] * inner)
        self.noise = np.sum(residue * gone, axis=0) / max(self._total - free.shape[1], 1)
        self._inverse = 1 / ridge

    def variances(self, free: NDArray, features: NDArray) -> NDArray:
        """Posterior variance of the function's values, shape (n, t); the noise is not added."""
        centred = features - free @ self._shared
        inside = centred @ self._right.T
        spread = np.sum((free @ self._inverse_free) ** 2, axis=1) + inside**2 @ self._inverse
        if len(self._right) < features.shape[1] and self.alpha > 0:
            outside = np.sum(centred**2, axis=1) - np.sum(inside**2, axis=1)
            spread = spread + np.maximum(outside, 0) / (self._total * self.alpha)
        return np.asarray(spread[:, None] * self.noise)
