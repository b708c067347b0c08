"""Solutions at several ridges against a factor for each of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg

from invariance.linear import shifted
from invariance.linear.shifted import shifted_solutions


def problem(n, decades, t, dtype=float, seed=0):
    """A symmetric matrix with eigenvalues over so many decades, and targets."""
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.standard_normal((n, n)))[0]
    matrix = (vectors * np.logspace(-decades, 0, n)) @ vectors.T
    return ((matrix + matrix.T) / 2).astype(dtype), rng.standard_normal((n, t)).astype(dtype)


@pytest.mark.parametrize(("decades", "step"), [(0, 10), (4, 10), (12, 10), (8, 10**0.5), (3, 1.0)])
@pytest.mark.parametrize("t", [1, 3])
def test_each_ridge_as_by_its_own_factor(decades, step, t, monkeypatch):
    monkeypatch.setattr(shifted, "_FROM", 1)
    matrix, y = problem(80, decades, t)
    ridges, made = 1e-5 * step ** np.array([3, 0, 5, 1, 4, 2]), []

    def with_ridge(ridge):
        made.append(ridge)
        return np.asfortranarray(matrix + ridge * np.eye(80))

    found = shifted_solutions(with_ridge, y, ridges, safe=1e-12)
    assert len(made) == {10: 2, 10**0.5: 2, 1.0: 1}[step]
    for ridge, solution in zip(ridges, found, strict=True):
        expected = linalg.solve(matrix + ridge * np.eye(80), y, assume_a="pos")
        assert_allclose(solution, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_single_precision_and_vectors(monkeypatch):
    monkeypatch.setattr(shifted, "_FROM", 1)
    matrix, y = problem(60, 3, 1, np.float32)
    eye = np.eye(60, dtype=np.float32)
    ridges = np.array([0.01, 0.1, 1.0])
    found = shifted_solutions(lambda r: matrix + np.float32(r) * eye, y[:, 0], ridges, safe=1e-5)
    for ridge, solution in zip(ridges, found, strict=True):
        assert solution.dtype == np.float32 and solution.shape == (60,)
        expected = np.linalg.solve(matrix + ridge * np.eye(60), y[:, 0])
        assert_allclose(solution, expected, rtol=0, atol=1e-4 * np.abs(expected).max())


def test_exhausted_spaces_and_zero_targets(monkeypatch):
    monkeypatch.setattr(shifted, "_FROM", 1)
    matrix = np.diag(np.repeat([1.0, 2.0, 5.0], 20))  # Krylov spaces of three dimensions
    y = np.column_stack([np.ones(60), np.zeros(60)])
    found = shifted_solutions(lambda r: matrix + r * np.eye(60), y, np.array([1, 3.0]), safe=0)
    for ridge, solution in zip((1, 3), found, strict=True):
        assert_allclose(solution, y / (matrix.diagonal() + ridge)[:, None], rtol=1e-12)


def test_what_is_not_known_to_be_definite_is_factored(monkeypatch):
    monkeypatch.setattr(shifted, "_FROM", 1)
    matrix, y = np.diag([1.0, 2.0, -0.5]), np.ones(3)
    ridges = np.array([0.1, 0.4, 0.6, 1.0])
    found = shifted_solutions(lambda r: matrix + r * np.eye(3), y, ridges, safe=np.inf)
    assert [solution is None for solution in found] == [True, True, False, False]
    assert_allclose(found[3], [1 / 2, 1 / 3, 2])
