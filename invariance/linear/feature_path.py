"""Ridge paths of features, from their covariance or from their Gram matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..core.symmetric import add_row_products
from .ridge import DiagonalPath, LeaveOneOutPath, row_blocks
from .tridiagonal import (
    Tridiagonal,
    TridiagonalPath,
    diagonalize_in_place,
    normalize_in_place,
    tridiagonal_form,
)


class Features:
    """Features in single or double precision, centred and weighted in double, block by block.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    shares : ndarray of shape (n,)
        Weights of sum one.
    centre : bool

    Attributes
    ----------
    mean : ndarray of shape (p,)
    is_centred : bool
    roots : ndarray of shape (n,)
        Roots of the weights, whose squares have the mean one.
    rounding : float
        Times the mean square of a feature: the largest sum of squares along one direction that
        the rounding of entries can make. An entry is taken to be exact to four machine epsilons,
        and a matrix of n x p independent errors has no singular value above their size times the
        sum of the roots of n and of p.
    rounding_with_mean : float
        The same with the rounding of the mean, which is the same error of each row. A sum of n
        terms is taken to be exact to the root of n machine epsilons.
    """

    def __init__(self, X: NDArray, shares: NDArray, centre: bool) -> None:
        self.X = X
        self.is_centred = centre
        self.shares = shares
        self.shape = X.shape
        self.roots = np.sqrt(len(X) * shares)
        self._is_weighted = bool(np.ptp(self.roots))
        self.mean = np.zeros(X.shape[1])
        if centre:
            for rows in row_blocks(len(X), 8 * X.shape[1]):
                self.mean += shares[rows] @ X[rows].astype(np.float64, copy=False)
        n, p = X.shape
        of_entries = 4 * np.finfo(X.dtype).eps * (np.sqrt(n) + np.sqrt(p))
        of_mean = np.sqrt(n) * np.finfo(np.float64).eps * np.sqrt(n * p) if centre else 0.0
        self.rounding = float(of_entries**2)
        self.rounding_with_mean = float((of_entries + of_mean) ** 2)

    def lose_digits(self, largest: float, ridge: float) -> bool:
        """Whether squares lose digits that a step of iterative refinement can bring back.

        Squares, in double precision, hold half of the digits of features in double precision. This
        shows at ridges that are small beside the largest eigenvalue. Features in single precision
        have no more digits than that.
        """
        if self.X.dtype != np.float64:
            return False
        eps = float(np.finfo(np.float64).eps)
        return bool(1e-12 * ridge < eps * largest)

    def bare(self, n_directions: int) -> NDArray | None:
        """See `LeaveOneOutPath`; the constant costs nothing if the features are centred."""
        if n_directions == len(self.X) - self.is_centred:
            return None
        return 1 - self.is_centred * self.shares

    def rows(self, rows: slice) -> NDArray:
        """Return a block of rows of Phi, the centred and weighted features."""
        block = self.X[rows] - self.mean
        if self._is_weighted:
            block *= self.roots[rows, None]
        return block

    def products(self, Y: NDArray) -> tuple[NDArray, NDArray]:
        """Return Phi^T Phi, the lower triangle of (p, p), and Phi^T Y, shape (p, t)."""
        p = self.shape[1]
        squares = np.zeros((p, p), order="F")
        cross = np.zeros((p, Y.shape[1]))
        for rows in row_blocks(len(self.X), 8 * p):
            block = self.rows(rows)
            squares = add_row_products(squares, block.T)
            cross += block.T @ Y[rows]
        return squares, cross

    def products_with_residuals(self, Y: NDArray, coef: NDArray) -> NDArray:
        """Return Phi^T (Y - Phi coef), shape (p, t)."""
        products = np.zeros_like(coef)
        for rows in row_blocks(len(self.X), 8 * self.shape[1]):
            block = self.rows(rows)
            residuals = Y[rows] - block @ coef
            products += block.T @ residuals
        return products

    def gram(self) -> NDArray:
        """Return Phi Phi^T, the lower triangle of (n, n)."""
        n, p = self.shape
        gram = np.zeros((n, n), order="F")
        for columns in row_blocks(p, 8 * n):
            gram = add_row_products(gram, self._columns(columns))
        return gram

    def coef_and_values(self, dual: NDArray) -> tuple[NDArray, NDArray]:
        """Return coef = Phi^T dual, shape (p, t), and Phi coef, shape (n, t), in one pass."""
        n, p = self.shape
        coef = np.empty((p, dual.shape[1]))
        values = np.zeros_like(dual)
        for columns in row_blocks(p, 8 * n):
            block = self._columns(columns)
            coef[columns] = block.T @ dual
            values += block @ coef[columns]
        return coef, values

    def transposed_times(self, dual: NDArray) -> NDArray:
        """Return Phi^T dual, shape (p, t)."""
        n, p = self.shape
        product = np.empty((p, dual.shape[1]))
        for columns in row_blocks(p, 8 * n):
            product[columns] = self._columns(columns).T @ dual
        return product

    def _columns(self, columns: slice) -> NDArray:
        block = self.X[:, columns] - self.mean[columns]
        if self._is_weighted:
            block *= self.roots[:, None]
        return block


class _Reflection:
    """Reflection that takes the eigenvector of a centred Gram matrix to the last coordinate.

    A centred matrix has the eigenvalue zero for the constant vector (times the roots of the
    weights), which is left out. As the last coordinate it cannot be confused with other
    eigenvectors of eigenvalue zero.

    Parameters
    ----------
    constant : ndarray of shape (n,)
    """

    def __init__(self, constant: NDArray) -> None:
        normal = constant / np.linalg.norm(constant)
        normal[-1] += 1
        self.normal = normal / np.linalg.norm(normal)

    def of_matrix(self, lower: NDArray) -> NDArray:
        """Return the reflected matrix; only the lower triangle is read, and is overwritten."""
        normal = self.normal
        image = linalg.blas.dsymv(1.0, lower, normal, lower=True)
        image -= (normal @ image) * normal
        lower = linalg.blas.dsyr2(-2.0, normal, image, a=lower, lower=True, overwrite_a=True)
        # A row that is exactly zero makes the last coordinate exactly an eigenvector.
        lower[-1] = 0
        return lower

    def of_vectors(self, vectors: NDArray) -> NDArray:
        """Return the reflected columns of a matrix, (n, k), which is overwritten."""
        products = self.normal @ vectors
        return linalg.blas.dger(-2.0, self.normal, products, a=vectors, overwrite_a=True)


def eigenvectors(lower: NDArray, constant: NDArray | None) -> tuple[NDArray, NDArray]:
    """Return eigenvalues in no order, (k,), and eigenvectors, (n, k), of a symmetric matrix.

    Only the lower triangle is read, and is overwritten. ``constant`` is an eigenvector of
    eigenvalue zero that is left out, or None.
    """
    if constant is None:
        values, vectors = linalg.eigh(lower, check_finite=False, overwrite_a=True)
        return values, vectors
    reflection = _Reflection(constant)
    lower = reflection.of_matrix(lower)
    values, vectors = linalg.eigh(lower, check_finite=False, overwrite_a=True)
    place = int(np.abs(vectors[-1]).argmax())
    # The last eigenvector takes its place, so that no others are moved.
    values[place] = values[-1]
    vectors[:, place] = vectors[:, -1]
    return values[:-1], reflection.of_vectors(vectors[:, :-1])


def _tridiagonal(lower: NDArray, constant: NDArray | None) -> tuple[NDArray, Tridiagonal]:
    """Return Q of shape (n, k) and T with a matrix equal to Q T Q^T; see `eigenvectors`."""
    if constant is None:
        return tridiagonal_form(lower)
    reflection = _Reflection(constant)
    basis, T = tridiagonal_form(reflection.of_matrix(lower))
    # The last vector is the last coordinate's, which the reflection makes of the constant.
    return reflection.of_vectors(basis[:, :-1]), Tridiagonal(T.bands[:, :-1])


def _is_tridiagonal_cheaper(n_rows: int, n_directions: int) -> bool:
    """Whether a tridiagonal form takes less time than eigenvectors, for some thirty alphas.

    It saves time in proportion to the cube of the number of directions, and takes more for each row
    and alpha. Where it takes more in all, a second matrix is small.
    """
    return n_directions**2 > 640 * n_rows


def primal_path(features: Features, Y: NDArray) -> tuple[NDArray, LeaveOneOutPath, float]:
    """Return ``turn``, of shape (p, k), and the ridge path, from the covariance of the features.

    The third value is the sum of squares of the features before they were centred.
    """
    n, p = features.shape
    covariance, cross = features.products(Y)
    mean_squares = covariance.diagonal() / n + np.square(features.mean)
    solver_rounding = n * np.finfo(float).eps
    size = float(n * mean_squares.sum())
    if not _is_tridiagonal_cheaper(n, p):
        # Divide and conquer takes a little less time and twice the memory, which is small beside
        # many points. (SciPy 1.13 asks for too little workspace for a single feature.)
        driver = "evd" if 1 < p < n / 4 else "evr"
        values, vectors = linalg.eigh(
            covariance, check_finite=False, driver=driver, overwrite_a=True
        )
    else:
        vectors, T = tridiagonal_form(covariance)
        largest = T.largest_eigenvalue()
        most_lost = features.rounding_with_mean * mean_squares.max()
        if T.exceeds(max(most_lost, largest * solver_rounding)):
            T = normalize_in_place(vectors, T)
            path = TridiagonalPath(
                basis=features.rows,
                turn=vectors,
                inside=vectors.T @ cross,
                y=Y,
                bare=features.bare(p),
                T=T,
            )
            return vectors, path, size
        values = diagonalize_in_place(vectors, T)
    del covariance
    lost = features.rounding_with_mean * np.einsum("i,ij,ij->j", mean_squares, vectors, vectors)
    is_real = _exceed_rounding(values, lost) & (values > values[-1] * solver_rounding)
    values = values[is_real]
    turn = vectors[:, is_real]
    turn /= np.sqrt(values)
    eigenpath = DiagonalPath(
        basis=features.rows,
        turn=turn,
        L=values,
        inside=turn.T @ cross,
        y=Y,
        bare=features.bare(len(values)),
    )
    return turn, eigenpath, size


def dual_path(features: Features, Y: NDArray) -> tuple[NDArray, LeaveOneOutPath, float]:
    """Return the basis, of shape (n, k), and the ridge path, from the features' Gram matrix.

    The third value is the sum of squares of the features before they were centred.
    """
    n, p = features.shape
    gram = features.gram()
    noise = 10 * np.finfo(float).eps * _norm_by_triangle(gram)
    size = float(gram.trace() + n * np.square(features.mean).sum())
    lost = features.rounding * size / (n * p)
    constant = features.roots if features.is_centred else None
    if not _is_tridiagonal_cheaper(n, n):
        values, basis = eigenvectors(gram, constant)
    else:
        basis, T = _tridiagonal(gram, constant)
        if T.exceeds(max(lost, noise)):
            path = TridiagonalPath(
                basis=basis.__getitem__,
                turn=None,
                inside=basis.T @ Y,
                y=Y,
                noise=noise,
                T=T,
            )
            return basis, path, size
        values = diagonalize_in_place(basis, T)
    del gram
    is_real = _exceed_rounding(values, lost)
    eigenpath = DiagonalPath(
        basis=basis.__getitem__,
        turn=None,
        L=np.where(is_real, values, 0),
        inside=basis.T @ Y,
        y=Y,
        real=is_real,
        noise=noise,
    )
    return basis, eigenpath, size


def _exceed_rounding(sums: NDArray, lost: NDArray | float) -> NDArray:
    """Return a mask of the directions of features that are more than rounding.

    ``sums`` are the sums of squares along the directions and ``lost`` is the part of them that
    rounding can make. If no direction has more, the points are equal. Otherwise directions of less
    are rounding if they are also below a hundredth of the largest: features that are small compared
    with their mean, and all of one size, are real.
    """
    if np.all(sums <= lost):
        return np.zeros(len(sums), dtype=bool)
    return sums > np.minimum(lost, 1e-4 * sums.max())


def _norm_by_triangle(lower: NDArray) -> float:
    """Frobenius norm of a symmetric matrix, by its lower triangle."""
    norm = linalg.lapack.dlantr("F", lower, uplo="L")
    if not norm:
        return 0.0
    share_of_diagonal = np.square(lower.diagonal() / norm).sum()
    return float(norm * np.sqrt(2 - share_of_diagonal))
