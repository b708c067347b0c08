"""Ridge regression by conjugate gradients, against solutions of each system."""

import sys
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose
from scipy import linalg

sys.path.insert(0, str(Path(__file__).parents[2] / "notebooks/raj2017"))
from _ridge import solve_by_gradients


def test_conjugate_gradients_where_each_target_has_rows_of_its_own():
    rng = np.random.default_rng(0)
    Z, ridges = rng.standard_normal((40, 25)), np.array([0.01, 3.0])
    inside = np.column_stack([np.arange(40) < 30, np.arange(40) >= 5])
    y, near, expected = inside * rng.standard_normal((40, 2)), [], np.zeros((40, 2))
    for i, own in enumerate(inside.T):
        matrix = Z[own] @ Z[own].T + ridges[i] * np.eye(own.sum())
        expected[own, i] = linalg.solve(matrix, y[own, i])
        near.append((own, i, (matrix + 0.02 * np.eye(len(matrix))).astype(np.float32)))
    found = solve_by_gradients(Z, y, ridges, near, inside=inside, rtol=1e-12)
    assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
