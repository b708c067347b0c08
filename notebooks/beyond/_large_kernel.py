"""Kernel ridge regression on as many points as memory has room for one matrix."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from invariance.kernels import Kernel
from invariance.linear import solve_ridges

TILE = 2500  # points at a time


def upper_triangle(kernel: Kernel, X: NDArray) -> NDArray:
    """Return the matrix of a kernel in single precision; entries below the diagonal tiles are zero."""
    n = len(X)
    matrix = np.zeros((n, n), np.float32)
    for row in range(0, n, TILE):
        rows = slice(row, row + TILE)
        for column in range(row, n, TILE):
            columns = slice(column, column + TILE)
            matrix[rows, columns] = kernel(X[rows], X[columns])
    return matrix


def kernel_ridge_classes(
    kernel: Kernel, X: NDArray, labels: NDArray, X_new: NDArray, ridges: Sequence[float]
) -> NDArray:
    """Return the classes that kernel ridge regression gives to new points.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray of shape (n, d), of float32
    labels : ndarray of shape (n,)
    X_new : ndarray of shape (n_new, d), of float32
    ridges : sequence of q floats
        Each is added to the diagonal of the kernel's matrix.

    Returns
    -------
    ndarray of shape (q, n_new)
    """
    classes = np.unique(labels)
    targets = np.where(labels[:, None] == classes, 1, -1).astype(np.float32)
    means = targets.mean(axis=0)

    def matrix() -> NDArray:
        # The transpose has the triangle that LAPACK reads, in the order in which it reads it.
        return upper_triangle(kernel, X).T

    duals = solve_ridges(matrix, targets - means, np.asarray(ridges), safe=0)
    predicted = []
    for start in range(0, len(X_new), TILE):
        new = X_new[start : start + TILE]
        decisions = np.zeros((len(ridges), len(new), len(classes)), np.float32)
        for column in range(0, len(X), TILE):
            columns = slice(column, column + TILE)
            decisions += kernel(new, X[columns]) @ duals[:, columns]
        predicted.append(classes[(decisions + means).argmax(axis=2)])
    return np.concatenate(predicted, axis=1)
