r"""Ridge regression in a tridiagonal basis, which takes the place of the matrix it comes from.

Reflections turn a symmetric matrix K into an orthogonal Q and a tridiagonal T with
:math:`K = Q T Q^T`. Then :math:`(K + r)^{-1} = Q (T + r)^{-1} Q^T` at every ridge r, and the system
with T takes a few operations per unknown (Elden 1977). Eigenvectors make T diagonal, but need a
second matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack

from .ridge import LeaveOneOutPath, row_blocks


@dataclass
class Tridiagonal:
    """A symmetric tridiagonal matrix T.

    Attributes
    ----------
    bands : ndarray of shape (2, k)
        The diagonal, and the entries below it, followed by a number without meaning.
    """

    bands: NDArray

    def cholesky(self, ridge: float = 0.0) -> NDArray:
        """Return the lower factor B of T + r = B B^T, in the form of ``bands``.

        Raises
        ------
        scipy.linalg.LinAlgError
            If T + r is not positive definite.
        """
        shifted = self.bands.copy()
        shifted[0] += ridge
        return linalg.cholesky_banded(shifted, lower=True, overwrite_ab=True, check_finite=False)

    def exceeds(self, bound: float) -> bool:
        """Whether all eigenvalues are larger than a bound."""
        try:
            self.cholesky(-bound)
        except linalg.LinAlgError:
            return False
        return True

    def largest_eigenvalue(self) -> float:
        diagonal = self.bands[0]
        beside = self.bands[1, :-1]
        size = max(np.abs(diagonal).max(), np.abs(beside).max(initial=0))
        if size == 0:
            return 0.0
        last = len(diagonal) - 1
        # Bisection squares the entries, which float64 may not hold.
        (largest,) = linalg.eigvalsh_tridiagonal(
            diagonal / size, beside / size, select="i", select_range=(last, last)
        )
        return float(size * largest)

    def times(self, columns: NDArray) -> NDArray:
        """Return T C, for C of shape (k, t)."""
        diagonal = self.bands[0, :, None]
        beside = self.bands[1, :-1, None]
        products = diagonal * columns
        products[1:] += beside * columns[:-1]
        products[:-1] += beside * columns[1:]
        return products

    def solve(self, ridge: float, columns: NDArray) -> NDArray:
        """Return (T + r)^-1 C, for C of shape (k, t)."""
        return linalg.cho_solve_banded((self.cholesky(ridge), True), columns, check_finite=False)

    def inverse_forms(self, ridges: NDArray, columns: NDArray) -> NDArray:
        """Return c^T (T + r)^-1 c for each column c and ridge r, shape (ridges, t).

        With T + r = B B^T it is the sum of squares of B^-1 c, whose entries are computed one after
        the other, for all columns and ridges at once.
        """
        factors = np.array([self.cholesky(ridge) for ridge in ridges])
        reciprocals = 1 / factors[:, 0]
        forms = np.zeros((len(ridges), columns.shape[1]))
        entries = np.zeros_like(forms)
        squares = np.empty_like(forms)
        for j, row in enumerate(columns):
            # In place: allocating arrays would take as long as the operations.
            if j > 0:
                entries *= factors[:, 1, j - 1, None]
            np.subtract(row, entries, out=entries)
            entries *= reciprocals[:, j, None]
            np.square(entries, out=squares)
            forms += squares
        return forms


def tridiagonal_form(matrix: NDArray) -> tuple[NDArray, Tridiagonal]:
    """Return Q and T with a symmetric matrix of shape (n, n), n > 1, equal to Q T Q^T.

    Only the lower triangle is read. Q takes the place of the matrix, if it is in Fortran's order.
    """
    n = len(matrix)
    workspace, _ = lapack.dsytrd_lwork(n, lower=True)
    reflectors, diagonal, beside, scales, _ = lapack.dsytrd(
        matrix, lower=True, lwork=int(workspace), overwrite_a=True
    )
    # These reflectors are stored like those of a Hessenberg form.
    workspace, _ = lapack.dorghr_lwork(n)
    basis, _ = lapack.dorghr(reflectors, scales, lwork=int(workspace), overwrite_a=True)
    bands = np.zeros((2, n))
    bands[0] = diagonal
    bands[1, :-1] = beside
    return basis, Tridiagonal(bands)


def diagonalize_in_place(basis: NDArray, T: Tridiagonal) -> NDArray:
    """Replace Q, (n, k), by the eigenvectors of Q T Q^T, and return the ascending eigenvalues."""
    # Divide and conquer, the default, would take another matrix.
    values, vectors = linalg.eigh_tridiagonal(
        T.bands[0], T.bands[1, :-1], lapack_driver="stemr", check_finite=False
    )
    for rows in row_blocks(len(basis), 8 * basis.shape[1]):
        basis[rows] = basis[rows] @ vectors
    return values


def normalize_in_place(basis: NDArray, T: Tridiagonal) -> Tridiagonal:
    """Replace Q of shape (p, p) by Q B^-T with T = B B^T, and return B^T B.

    If Q T Q^T is Phi^T Phi, the columns of U = Phi Q B^-T are orthonormal, and Phi Phi^T is
    U B^T B U^T.
    """
    roots, beside = T.cholesky()
    for j in range(len(roots)):
        if j > 0:
            basis[:, j] -= beside[j - 1] * basis[:, j - 1]
        basis[:, j] /= roots[j]
    bands = np.zeros_like(T.bands)
    bands[0] = roots**2
    bands[0, :-1] += beside[:-1] ** 2
    bands[1, :-1] = beside[:-1] * roots[1:]
    return Tridiagonal(bands)


@dataclass(kw_only=True)
class TridiagonalPath(LeaveOneOutPath):
    """`LeaveOneOutPath` with a tridiagonal T.

    Attributes
    ----------
    T : Tridiagonal
        Its eigenvalues are all larger than ``noise``, and all directions are fitted.
    """

    T: Tridiagonal

    def __post_init__(self) -> None:
        self.largest_eigenvalue = self.T.largest_eigenvalue()

    def solve(self, ridge: float, columns: NDArray) -> NDArray:
        return self.T.solve(ridge, columns)

    def shrink(self, ridge: float, columns: NDArray) -> NDArray:
        return self.T.times(self.T.solve(ridge, columns))

    def _squares(self, basis: NDArray, ridges: NDArray) -> tuple[NDArray, NDArray]:
        columns = np.ascontiguousarray(basis.T)
        forms = self.T.inverse_forms(ridges, columns)
        return np.einsum("ij,ij->i", basis, basis), ridges * forms.T

    def _residual_columns(self, ridges: NDArray) -> NDArray:
        k, n_targets = self.inside.shape
        columns = np.empty((k, len(ridges) * n_targets))
        for i, ridge in enumerate(ridges):
            own = slice(i * n_targets, (i + 1) * n_targets)
            columns[:, own] = ridge * self.T.solve(ridge, self.inside)
            if self.bare is not None:
                columns[:, own] -= self.inside
        if self.turn is not None:
            columns = self.turn @ columns
        return columns
