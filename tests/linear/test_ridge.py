"""Ridge regression at several penalties: against a factor for each of them, and scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from sklearn.kernel_ridge import KernelRidge

from invariance.kernels import Gaussian
from invariance.linear import kernel_ridge, ridge, solve_ridges


@pytest.fixture
def always_near(monkeypatch):
    """Ridges share a factor however small the matrix."""
    monkeypatch.setattr(ridge, "_WORTH", 0)


def problem(n, decades, t, dtype=float, seed=0):
    """A symmetric matrix with eigenvalues over so many decades, and targets."""
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.standard_normal((n, n)))[0]
    matrix = (vectors * np.logspace(-decades, 0, n)) @ vectors.T
    return ((matrix + matrix.T) / 2).astype(dtype), rng.standard_normal((n, t)).astype(dtype)


@pytest.mark.parametrize(("decades", "step"), [(0, 10), (4, 10), (12, 10), (8, 10**0.5), (3, 1.0)])
@pytest.mark.parametrize("t", [1, 3])
def test_each_ridge_as_by_its_own_factor(decades, step, t, always_near):
    matrix, y = problem(80, decades, t)
    ridges, made = 1e-5 * step ** np.array([3, 0, 5, 1, 4, 2]), []

    def fresh():
        made.append(1)
        return np.asfortranarray(matrix)

    found = solve_ridges(fresh, y, ridges, safe=1e-12)
    assert len(made) == {10: 2, 10**0.5: 2, 1.0: 1}[step]
    for r, solution in zip(ridges, found, strict=True):
        expected = linalg.solve(matrix + r * np.eye(80), y, assume_a="pos")
        assert_allclose(solution, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_single_precision_and_vectors(always_near):
    matrix, y = problem(60, 3, 1, np.float32)
    ridges = np.array([0.01, 0.1, 1.0])
    found = solve_ridges(matrix, y[:, 0], ridges, safe=1e-5)
    assert found.dtype == np.float32 and found.shape == (3, 60)
    for r, solution in zip(ridges, found, strict=True):
        expected = np.linalg.solve(matrix + r * np.eye(60), y[:, 0])
        assert_allclose(solution, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


def test_exhausted_spaces_and_zero_targets(always_near):
    matrix = np.diag(np.repeat([1.0, 2.0, 5.0], 20))  # Krylov spaces of three dimensions
    y = np.column_stack([np.ones(60), np.zeros(60)])
    found = solve_ridges(matrix, y, np.array([1, 3.0]), safe=0)
    for r, solution in zip((1, 3), found, strict=True):
        assert_allclose(solution, y / (matrix.diagonal() + r)[:, None], rtol=1e-12)


def test_what_is_not_known_to_be_definite_is_factored(always_near):
    matrix, y = np.diag([1.0, 2.0, -0.5]), np.ones(3)
    before = matrix.copy()
    found = solve_ridges(matrix, y, np.array([0.1, 0.4, 0.6, 1.0]))
    assert np.isnan(found).all(axis=1).tolist() == [True, True, False, False]
    assert_allclose(found[3], [1 / 2, 1 / 3, 2])
    assert_array_equal(matrix, before)


def plain(gram, y, train, test, lam):
    alpha = lam * len(train) * gram[train, train].mean()
    model = KernelRidge(alpha=alpha, kernel="precomputed")
    model.fit(gram[np.ix_(train, train)], y[train] - y[train].mean())
    return model.predict(gram[np.ix_(test, train)]) + y[train].mean()


@pytest.mark.parametrize("seed", range(3))
def test_kernel_ridge_agrees_with_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((43, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(43) + 5
    gram, alphas = Gaussian(0.5)(X), np.logspace(-6, 0, 5)
    before = gram.copy()
    test, train = np.split(rng.permutation(43), [11])
    square, across = gram[np.ix_(train, train)], gram[np.ix_(test, train)]
    duals = kernel_ridge(square, y[train], alphas=alphas * square.diagonal().mean())
    for lam, dual in zip(alphas, duals, strict=True):
        expected = plain(gram, y, train, test, lam)
        assert_allclose(y[train].mean() + across @ dual, expected, rtol=1e-6)
    assert_array_equal(gram, before)
    scale = square.diagonal().mean()
    grams = (square, square.astype(np.float32))
    double, single = (kernel_ridge(K, y[train], alphas=1e-3 * scale)[0] for K in grams)
    assert_allclose(square @ single, square @ double, atol=1e-4)


@pytest.mark.filterwarnings("ignore::invariance.linear.IndefiniteWarning")
def test_indefinite_matrices_need_larger_alphas_where_they_are_not_repaired():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    gram = Gaussian(0.5)(X)
    gram -= 0.05 * np.eye(30)
    duals = kernel_ridge(gram, y, alphas=[1e-10, 1e-1], clip=False)
    assert np.isnan(duals[0]).all() and np.isfinite(duals[1]).all()
    assert np.isfinite(kernel_ridge(gram, y, alphas=[0.0, 1e-10])).all()
