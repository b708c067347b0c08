"""Symmetric products and Cholesky factors of large matrices.

OpenBLAS, which the wheels of NumPy and SciPy contain, ends the process in its symmetric product if
it has several threads on a processor with AVX-512 and the matrix is large: Python stops without an
error. With two threads, this happens from about 20,000 rows in double precision. Its Cholesky
factorization uses the same product. If OpenBLAS has several threads, the functions of this module
compute large matrices in panels of rows or columns, by the general product, which is not affected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from threadpoolctl import threadpool_info

Array = NDArray[Any]

#: Rows or columns of a panel.
_PANEL = 2048
#: Matrices of no more rows are left to BLAS and LAPACK.
_SAFE = 4 * _PANEL


def row_products(X: Array, panel: int | None = None) -> Array:
    """Return X X^T, the inner products of all pairs of rows, shape (n, n).

    `panel` is the number of rows of a panel. By default there are panels only if BLAS could end
    the process.

    >>> row_products(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 5., 11.],
           [11., 25.]])
    """
    n = len(X)
    panel = panel or _panel_for(n)
    if panel is None:
        return np.asarray(X @ X.T)
    values = np.empty((n, n), X.dtype)
    for rows in _panels(n, panel):
        values[rows, : rows.stop] = X[rows] @ X[: rows.stop].T
        values[: rows.start, rows] = values[rows, : rows.start].T
    return values


def add_row_products(matrix: Array, X: Array, panel: int | None = None) -> Array:
    """Return `matrix` plus X X^T, right in the lower triangle alone; `matrix` may be overwritten.

    `matrix` has shape (n, n), is in Fortran's order, and has the type of X. For `panel` see
    `row_products`.
    """
    n = len(X)
    panel = panel or _panel_for(n)
    if panel is None:
        syrk = linalg.get_blas_funcs("syrk", (matrix,))
        # SciPy copies what is not in Fortran's order; the transpose of rows in C's order is.
        is_transposed = X.flags.c_contiguous
        factor = X.T if is_transposed else X
        matrix = syrk(
            1, factor, beta=1, c=matrix, trans=is_transposed, lower=True, overwrite_c=True
        )
        return np.asarray(matrix)
    for columns in _panels(n, panel):
        matrix[columns.start :, columns] += X[columns.start :] @ X[columns].T
    return matrix


def factorize(matrix: Array, clear: bool = False, panel: int | None = None) -> int:
    """Replace the lower triangle of a symmetric matrix by its Cholesky factor.

    Parameters
    ----------
    matrix : ndarray of shape (n, n), of float32 or float64, in Fortran's order
        Only the lower triangle is read.
    clear : bool
        Whether to set entries above the diagonal to zero. Otherwise they have no meaning. SciPy
        cannot clear more than 2^31 entries.
    panel : int, optional
        Columns of a panel. By default there are panels only if LAPACK could end the process.

    Returns
    -------
    int
        Zero, or the size of the first leading block that is not positive definite. The factor is
        then incomplete.

    Examples
    --------
    >>> matrix = np.array([[4.0, 2.0], [2.0, 5.0]], order="F")
    >>> factorize(matrix, clear=True), matrix.tolist()
    (0, [[2.0, 0.0], [1.0, 2.0]])
    >>> factorize(np.array([[1.0, 2.0], [2.0, 1.0]], order="F"))
    2
    """
    potrf = linalg.get_lapack_funcs("potrf", (matrix,))
    n = len(matrix)
    panel = panel or _panel_for(n)
    if panel is None:
        factor, failed = potrf(matrix, lower=True, clean=clear, overwrite_a=True)
        if factor is not matrix:  # SciPy copies a matrix that is not in Fortran's order.
            matrix[...] = factor
        return int(failed)
    for columns in _panels(n, panel):
        start, stop = columns.start, columns.stop
        finished = matrix[:, :start]
        matrix[start:, columns] -= finished[start:] @ finished[columns].T
        block, failed = potrf(matrix[columns, columns], lower=True)
        if failed:
            return int(start + failed)
        matrix[columns, columns] = block
        if clear:
            matrix[:start, columns] = 0
        below = matrix[stop:, columns]
        matrix[stop:, columns] = linalg.solve_triangular(
            block, below.T, lower=True, check_finite=False
        ).T
    return 0


def _panel_for(n: int) -> int | None:
    """Return the size of panels for n rows, or None if BLAS may compute all of them at once."""
    if n <= _SAFE:
        return None
    for library in threadpool_info():
        if library["internal_api"] == "openblas" and library["num_threads"] > 1:
            return _PANEL
    return None


def _panels(n: int, panel: int) -> Iterator[slice]:
    for start in range(0, n, panel):
        yield slice(start, min(start + panel, n))
