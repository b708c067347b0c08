"""`LeaveOneOutPath`: a ridge problem in its eigenbasis, where every alpha costs thin products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LeaveOneOutPath"]


@dataclass
class LeaveOneOutPath:
    """The ridge problem in its eigenbasis.

    With (centred) features Phi and ``Phi Phi^T = Q diag(L) Q^T``, the fitted values at alpha are
    ``Q diag(L / (L + n alpha)) Q^T y``. Weighted problems have the roots of their weights, of mean
    one, multiplied to the rows of Phi and y.

    Attributes
    ----------
    Q : ndarray of shape (n, k), orthonormal columns
    L : ndarray of shape (k,), non-negative
    y : ndarray of shape (n, t), centred targets
    outside : ndarray of shape (n,)
        Squared norm of each unit vector's part outside the columns of Q (and the constant
        vector, when centred); zero where Q is complete.
    signs : ndarray of shape (k,)
        What a repair multiplies the dual coefficients by, see `Repair`.
    """

    Q: NDArray
    L: NDArray
    y: NDArray
    outside: NDArray
    signs: NDArray

    def residuals(self, alphas: NDArray) -> Iterator[NDArray]:
        """Leave-one-out residuals y_i - f_{-i}(x_i), shape (n, t), for each alpha in turn.

        The identity is (y_i - f(x_i)) / (1 - h_i) with h the diagonal of the hat matrix; numerator
        and denominator are written as sums in which nothing cancels when the fit interpolates
        (h near 1).
        """
        n, t = self.y.shape
        ridges = n * np.asarray(alphas, dtype=float)
        shrink = ridges / (self.L[:, None] + ridges)
        one_minus_h = np.empty((n, len(ridges)))
        for start in range(0, n, 256):  # Q is squared once for all alphas, and never as a whole
            rows = slice(start, start + 256)
            one_minus_h[rows] = np.square(self.Q[rows]) @ shrink
        one_minus_h += self.outside[:, None]
        inside = self.Q.T @ self.y
        complete = not self.outside.any()
        together = max(1, 64 // t)  # alphas whose columns make one product
        for start in range(0, len(ridges), together):
            some = shrink[:, start : start + together]
            columns = (some if complete else some - 1)[:, :, None] * inside[:, None]
            left = (self.Q @ columns.reshape(len(columns), some.shape[1] * t)).reshape(n, -1, t)
            for i in range(left.shape[1]):
                numerator = left[:, i] if complete else self.y + left[:, i]
                yield numerator / one_minus_h[:, start + i, None]

    def dual_coefficients(self, alpha: float) -> NDArray:
        """(Phi Phi^T + n alpha)^-1 y on the span of Q, shape (n, t)."""
        gains = self.signs / (self.L + len(self.y) * alpha)
        return self.Q @ (gains[:, None] * (self.Q.T @ self.y))
