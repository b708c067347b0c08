"""`kernel_matrix`: the matrix of whatever scikit-learn takes as a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import pairwise_kernels

__all__ = ["kernel_matrix"]


def kernel_matrix(kernel: Any, X: NDArray[Any], Y: NDArray[Any] | None = None) -> NDArray[Any]:
    """k(x_i, y_j) for a kernel object, a name or a function of two points.

    Kernel objects, those of this package and of scikit-learn's Gaussian processes, are asked for
    ``kernel(X)`` where Y is None, and can make use of its symmetry.

    Parameters
    ----------
    kernel : Kernel, str or callable
    X : ndarray of shape (n, d)
    Y : ndarray of shape (m, d), default X

    Examples
    --------
    >>> kernel_matrix("linear", np.array([[1.0, 2.0]]))
    array([[5.]])
    """
    if hasattr(kernel, "diag"):
        return np.asarray(kernel(X) if Y is None else kernel(X, Y))
    return np.asarray(pairwise_kernels(X, Y, metric=kernel))
