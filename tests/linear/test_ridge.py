"""Ridge regression at several penalties agrees with one solution per penalty and scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from sklearn.kernel_ridge import KernelRidge

from invariance.kernels import Gaussian
from invariance.linear import kernel_ridge, solve_ridges

#: So many penalties share a factor even if the matrix is small.
MANY = 300


def problem(n, decades, t, dtype=float, seed=0):
    """A symmetric matrix whose eigenvalues span `decades` decades, and targets."""
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.standard_normal((n, n)))[0]
    matrix = (vectors * np.logspace(-decades, 0, n)) @ vectors.T
    return ((matrix + matrix.T) / 2).astype(dtype), rng.standard_normal((n, t)).astype(dtype)


@pytest.mark.parametrize(("decades", "step"), [(0, 10), (4, 10), (12, 10), (8, 10**0.5), (3, 1.0)])
@pytest.mark.parametrize("t", [1, 3])
def test_each_ridge_agrees_with_its_own_solution(decades, step, t):
    matrix, y = problem(80, decades, t)
    exponents = np.random.default_rng(1).permutation(np.linspace(0, 5, 2 * MANY))
    ridges = 1e-5 * step**exponents
    calls = []

    def fresh():
        calls.append(1)
        return np.asfortranarray(matrix)

    solutions = solve_ridges(fresh, y, ridges, safe=1e-12)
    assert len(calls) == {10: 3, 10**0.5: 2, 1.0: 1}[step]
    for r, solution in zip(ridges, solutions, strict=True):
        expected = linalg.solve(matrix + r * np.eye(80), y, assume_a="pos")
        assert_allclose(solution, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_ridges_of_single_precision_matrices_and_one_target():
    matrix, y = problem(60, 3, 1, np.float32)
    ridges = np.logspace(-2, 0, MANY)
    solutions = solve_ridges(matrix, y[:, 0], ridges, safe=1e-5)
    assert solutions.dtype == np.float32 and solutions.shape == (MANY, 60)
    for r, solution in zip(ridges, solutions, strict=True):
        expected = np.linalg.solve(matrix + r * np.eye(60), y[:, 0])
        assert_allclose(solution, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


def test_ridges_with_few_different_eigenvalues_and_zero_targets():
    matrix = np.diag(np.repeat([1.0, 2.0, 5.0], 20))  # Krylov spaces of three dimensions
    y = np.column_stack([np.ones(60), np.zeros(60)])
    ridges = np.linspace(1, 3, MANY)
    solutions = solve_ridges(matrix, y, ridges, safe=0)
    for r, solution in zip(ridges, solutions, strict=True):
        assert_allclose(solution, y / (matrix.diagonal() + r)[:, None], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_target_has_its_own_unit(dtype):
    """The second target would otherwise be lost in the rounding of the first."""
    matrix, y = problem(60, 3, 2, dtype)
    units = np.array([1.0, 1e-20], dtype)
    ridges = np.logspace(-2, 0, MANY)
    solutions = solve_ridges(matrix, units * y, ridges, safe=1e-5) / units
    tolerance = 1e-4 if dtype == np.float32 else 1e-9
    for r, solution in zip(ridges, solutions, strict=True):
        expected = np.linalg.solve(matrix + r * np.eye(60), y)
        assert_allclose(solution, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize(
    "size, unit",
    [(1, 1e-200), (1, 1e200), (1e-160, 1), (1e160, 1), (1e-290, 1e-200), (1e290, 1e200)],
)
def test_squares_of_matrices_and_targets_may_overflow_or_vanish(size, unit):
    matrix, y = problem(60, 3, 2)
    ridges = np.logspace(-2, 0, MANY)
    solutions = solve_ridges(size * matrix, unit * y, size * ridges, safe=1e-5 * size)
    for r, solution in zip(ridges, solutions, strict=True):
        expected = np.linalg.solve(matrix + r * np.eye(60), y)
        scaled = solution * (size / unit)
        assert_allclose(scaled, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_matrices_that_may_be_indefinite_give_nan_unless_the_ridge_is_large():
    matrix = np.diag(np.repeat([1.0, 2.0, -0.5], 100))
    y = np.ones(300)
    before = matrix.copy()
    small = np.linspace(0.1, 0.4, 40)  # enough to share a factor
    large = np.linspace(0.6, 1.0, 40)
    solutions = solve_ridges(matrix, y, np.r_[small, large])
    assert np.isnan(solutions[:40]).all() and np.isfinite(solutions[40:]).all()
    assert_allclose(solutions[-1], np.repeat([1 / 2, 1 / 3, 2], 100))
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
    gram = Gaussian(0.5)(X)
    alphas = np.logspace(-6, 0, 5)
    before = gram.copy()
    test, train = np.split(rng.permutation(43), [11])
    square = gram[np.ix_(train, train)]
    across = gram[np.ix_(test, train)]
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
def test_indefinite_matrices_need_larger_alphas_if_they_are_not_repaired():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    y = rng.standard_normal(30)
    gram = Gaussian(0.5)(X)
    gram -= 0.05 * np.eye(30)
    duals = kernel_ridge(gram, y, alphas=[1e-10, 1e-1], clip=False)
    assert np.isnan(duals[0]).all() and np.isfinite(duals[1]).all()
    assert np.isfinite(kernel_ridge(gram, y, alphas=[0.0, 1e-10])).all()
