"""`RidgeFit`: ridge regression with an intercept, its penalty chosen by leave-one-out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["RidgeFit"]


class RidgeFit:
    r"""Minimise :math:`\frac1n \sum_i w_i (y_i - b - \langle c, x_i\rangle)^2 + \alpha |c|^2`.

    n is the sum of the weights: a weight counts as so many copies of its sample. Of several alphas
    the one is taken whose leave-one-out residuals, weighted, have the smallest mean square over
    all outputs.

    Parameters
    ----------
    features : ndarray of shape (n, r)
    targets : ndarray of shape (n, t)
    weights : ndarray of shape (n,)
    alphas : ndarray of shape (a,)

    Attributes
    ----------
    alpha : float
    coefficients : ndarray of shape (r, t)
    intercepts : ndarray of shape (t,)
    noise : ndarray of shape (t,)
        Variance of the noise that makes the data most likely, where the estimate is read as the
        posterior mean of c ~ N(0, noise / (n alpha)) and of any intercept.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> fit = RidgeFit(X, 2 * X + 1, np.ones(6), np.array([1e-12, 1.0]))
    >>> fit.alpha, fit.coefficients.round(6), fit.intercepts.round(6)
    (1e-12, array([[2.]]), array([1.]))
    """

    def __init__(self, features: NDArray, targets: NDArray, weights: NDArray, alphas: NDArray):
        self._total = float(weights.sum())
        used = weights > 0
        features, targets, weights = features[used], targets[used], weights[used]
        share = weights / self._total
        self._centre, means = share @ features, share @ targets
        root = np.sqrt(weights)[:, None]
        residue = root * (targets - means)
        left, values, self._right = np.linalg.svd(
            root * (features - self._centre), full_matrices=False
        )
        # One row per alpha.
        damped = values**2 / (values**2 + self._total * alphas[:, None])
        inner = left.T @ residue
        leverage = share[:, None] + left**2 @ damped.T
        errors = np.empty(len(alphas))
        for j, shrink in enumerate(damped):
            gone = residue - left @ (shrink[:, None] * inner)
            # A point that alone determines a coefficient cannot be left out.
            errors[j] = np.mean((gone / np.maximum(1 - leverage[:, [j]], 1e-12)) ** 2)
        best = int(np.argmin(errors))
        self.alpha = float(alphas[best])
        ridge = values**2 + self._total * self.alpha
        self.coefficients = self._right.T @ ((values / ridge)[:, None] * inner)
        self.intercepts = means - self._centre @ self.coefficients
        gone = residue - left @ (damped[best][:, None] * inner)
        self.noise = np.sum(residue * gone, axis=0) / max(self._total - 1, 1)
        self._inverse = 1 / ridge

    def variances(self, features: NDArray) -> NDArray:
        """Posterior variance of the function's values, shape (n, t); the noise is not added."""
        centred = features - self._centre
        inside = centred @ self._right.T
        outside = np.maximum(np.sum(centred**2, axis=1) - np.sum(inside**2, axis=1), 0)
        spread = 1 / self._total + inside**2 @ self._inverse
        if len(self._right) < features.shape[1] and self.alpha > 0:
            spread = spread + outside / (self._total * self.alpha)
        return np.asarray(spread[:, None] * self.noise)
