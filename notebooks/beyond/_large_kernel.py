"""Kernel ridge regression on many points, with half of the kernel's matrix in memory."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from invariance.kernels import Kernel

TILE = 2500  # points at a time


class SymmetricMatrix:
    """The lower triangle of a symmetric matrix in LAPACK's rectangular full packed format.

    The first `half` columns lie below the first row of an array of half the size. The triangle that
    is left, the last n - half columns, lies transposed above them. In this format a matrix needs
    n (n + 1) / 2 numbers, and so does its Cholesky factor.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray of shape (n, d)
        An even number of points.
    """

    def __init__(self, kernel: Kernel, X: NDArray) -> None:
        n = len(X)
        if n % 2:
            raise ValueError(f"an even number of points is needed, got {n}")
        self.n = n
        self.half = n // 2
        self.packed = np.empty((n + 1, self.half), X.dtype, order="F")
        for columns in self._tiles(0, self.half):
            for rows in self._tiles(columns.start, n):
                self._write_first_columns(rows, columns, kernel(X[rows], X[columns]))
        for columns in self._tiles(self.half, n):
            for rows in self._tiles(columns.start, n):
                self._write_last_columns(rows, columns, kernel(X[rows], X[columns]))

    def _tiles(self, start: int, stop: int) -> Iterator[slice]:
        for first in range(start, stop, TILE):
            yield slice(first, min(first + TILE, stop))

    def _write_first_columns(self, rows: slice, columns: slice, values: NDArray) -> None:
        target = self.packed[rows.start + 1 : rows.stop + 1, columns]
        is_lower = np.arange(rows.start, rows.stop)[:, None] >= np.arange(
            columns.start, columns.stop
        )
        np.copyto(target, values, where=is_lower)

    def _write_last_columns(self, rows: slice, columns: slice, values: NDArray) -> None:
        half = self.half
        target = self.packed[columns.start - half : columns.stop - half]
        target = target[:, rows.start - half : rows.stop - half]
        is_lower = np.arange(rows.start, rows.stop)[:, None] >= np.arange(
            columns.start, columns.stop
        )
        np.copyto(target, values.T, where=is_lower.T)

    def solve(self, Y: NDArray, ridge: float, overwrite: bool = False) -> NDArray:
        """Return (K + ridge)^-1 Y, shape (n, t); the factor may take the place of the matrix."""
        pftrf, pftrs = linalg.get_lapack_funcs(("pftrf", "pftrs"), (self.packed,))
        packed = self.packed if overwrite else self.packed.copy(order="F")
        # Both ends of the diagonal begin in the first column, one below the other.
        first = np.arange(self.half)
        packed[first + 1, first] += ridge
        packed[first, first] += ridge
        flat = packed.ravel(order="K")  # a view
        factor, failed = pftrf(self.n, flat, uplo="L", overwrite_a=True)
        if failed:
            raise linalg.LinAlgError(f"the leading block of size {failed} is not positive definite")
        solution, _ = pftrs(self.n, factor, Y, uplo="L")
        return solution


def kernel_ridge_classes(
    kernel: Kernel, X: NDArray, labels: NDArray, X_new: NDArray, ridges: Sequence[float]
) -> NDArray:
    """Return the classes that kernel ridge regression gives to new points.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray of shape (n, d), of float32
        An even number of points.
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
    matrix = SymmetricMatrix(kernel, X)
    duals = []
    for i, ridge in enumerate(ridges):
        is_last = i == len(ridges) - 1
        duals.append(matrix.solve(targets - means, ridge, overwrite=is_last))
    del matrix
    predicted = []
    for start in range(0, len(X_new), TILE):
        new = X_new[start : start + TILE]
        decisions = np.zeros((len(ridges), len(new), len(classes)), np.float32)
        for column in range(0, len(X), TILE):
            columns = slice(column, column + TILE)
            values = kernel(new, X[columns])
            decisions += [values @ dual[columns] for dual in duals]
        predicted.append(classes[(decisions + means).argmax(axis=2)])
    return np.concatenate(predicted, axis=1)
