"""Ridge regression in a tridiagonal basis agrees with dense matrices and with eigenvectors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from invariance.linear.ridge import DiagonalPath
from invariance.linear.tridiagonal import (
    Tridiagonal,
    TridiagonalPath,
    diagonalize_in_place,
    normalize_in_place,
    tridiagonal_form,
)

RIDGES = np.array([1e-8, 1e-3, 0.5, 20.0])


def definite(n, seed=0):
    """A positive definite matrix, in LAPACK's order, without its upper triangle."""
    X = np.random.default_rng(seed).standard_normal((n, n + 3))
    gram = X @ X.T
    return gram, np.asfortranarray(np.tril(gram))


def dense(T):
    beside = T.bands[1, :-1]
    return np.diag(T.bands[0]) + np.diag(beside, 1) + np.diag(beside, -1)


@pytest.mark.parametrize("n", [2, 3, 40])
def test_the_form_is_orthogonal_and_takes_the_place_of_the_matrix(n):
    gram, lower = definite(n)
    basis, T = tridiagonal_form(lower)
    assert np.shares_memory(basis, lower)
    assert_allclose(basis.T @ basis, np.eye(n), atol=1e-14)
    assert_allclose(basis @ dense(T) @ basis.T, gram, atol=1e-13 * np.linalg.norm(gram))


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_methods_agree_with_dense_matrices(n):
    bands = np.random.default_rng(n).uniform(0.1, 1, (2, n))
    bands[0] += 2
    T = Tridiagonal(bands)
    matrix = dense(T)
    columns = np.random.default_rng(1).standard_normal((n, 4))
    lowest, largest = np.linalg.eigvalsh(matrix)[[0, -1]]
    for size in (1.0, 1e-250, 1e250):
        assert_allclose(Tridiagonal(size * bands).largest_eigenvalue(), size * largest)
    assert T.exceeds(lowest - 1e-9)
    assert not T.exceeds(lowest + 1e-9)
    assert_allclose(T.times(columns), matrix @ columns)
    forms = T.inverse_forms(RIDGES, columns)
    for ridge, form in zip(RIDGES, forms, strict=True):
        inverse = np.linalg.inv(matrix + ridge * np.eye(n))
        assert_allclose(T.solve(ridge, columns), inverse @ columns, atol=1e-12)
        assert_allclose(form, np.diagonal(columns.T @ inverse @ columns))


def test_eigenvectors_take_the_place_of_the_basis():
    gram, lower = definite(30)
    basis, T = tridiagonal_form(lower)
    values = diagonalize_in_place(basis, T)
    assert_allclose(values, np.linalg.eigvalsh(gram), atol=1e-12 * values[-1])
    assert_allclose(gram @ basis, basis * values, atol=1e-12 * values[-1])


def paths(n, p, bare):
    """The same ridge problem in a tridiagonal basis and in one of eigenvectors."""
    rng = np.random.default_rng(n + p)
    Phi = rng.standard_normal((n, p))
    Y = rng.standard_normal((n, 3))
    basis, T = tridiagonal_form(np.asfortranarray(Phi.T @ Phi))
    T = normalize_in_place(basis, T)
    U = Phi @ basis
    assert_allclose(U.T @ U, np.eye(p), atol=1e-11)
    assert_allclose(U @ dense(T) @ U.T, Phi @ Phi.T, atol=1e-11 * T.largest_eigenvalue())
    tridiagonal = TridiagonalPath(
        basis=Phi.__getitem__,
        turn=basis,
        inside=U.T @ Y,
        y=Y,
        bare=bare,
        T=T,
    )
    left, roots, _ = np.linalg.svd(Phi, full_matrices=False)
    by_eigenvectors = DiagonalPath(
        basis=left.__getitem__, turn=None, L=roots**2, inside=left.T @ Y, y=Y, bare=bare
    )
    return tridiagonal, by_eigenvectors, U, left


@pytest.mark.parametrize("n, p", [(40, 30), (30, 30)])
def test_paths_agree_with_those_of_eigenvectors(n, p):
    bare = np.ones(n) if p < n else None
    path, expected, U, left = paths(n, p, bare)
    unexplained = path.unexplained(RIDGES)
    assert_allclose(unexplained, expected.unexplained(RIDGES), rtol=1e-9, atol=1e-14)
    residuals = list(path.residuals(RIDGES, unexplained))
    for own, other in zip(residuals, expected.residuals(RIDGES, unexplained), strict=True):
        assert own[:2] == other[:2]
        assert_allclose(own[2], other[2], rtol=1e-6, atol=1e-9)
    for ridge in RIDGES:
        for method in ("solve", "shrink"):
            own = U @ getattr(path, method)(ridge, path.inside)
            other = left @ getattr(expected, method)(ridge, expected.inside)
            assert_allclose(own, other, rtol=1e-7, atol=1e-10)


def test_the_matrix_itself_is_left_alone_by_methods():
    T = Tridiagonal(np.array([[3.0, 4.0, 5.0], [1.0, 1.0, np.nan]]))
    before = T.bands.copy()
    columns = np.ones((3, 2))
    T.solve(0.1, columns)
    T.inverse_forms(RIDGES, columns)
    T.exceeds(1.0)
    assert_array_equal(T.bands, before)
    assert_array_equal(columns, np.ones((3, 2)))
