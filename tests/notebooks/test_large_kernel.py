"""Half of a kernel's matrix solves and classifies as the whole matrix does."""

import sys
from pathlib import Path

import numpy as np
import pytest

from invariance.kernels import Gaussian

sys.path.insert(0, str(Path(__file__).parents[2] / "notebooks/beyond"))
import _large_kernel
from _large_kernel import SymmetricMatrix, kernel_ridge_classes

RNG = np.random.default_rng(0)
KERNEL = Gaussian(0.3)


@pytest.mark.parametrize("tile", [3, 8, 100])
def test_half_of_the_matrix_solves_as_the_whole(tile, monkeypatch):
    monkeypatch.setattr(_large_kernel, "TILE", tile)
    X = RNG.standard_normal((22, 4))
    Y = RNG.standard_normal((22, 3))
    half = SymmetricMatrix(KERNEL, X)
    assert half.packed.size == 22 * 23 / 2
    for ridge, overwrite in ((1.0, False), (0.1, True)):
        expected = np.linalg.solve(KERNEL(X) + ridge * np.eye(22), Y)
        solution = half.solve(Y, ridge, overwrite=overwrite)
        np.testing.assert_allclose(solution, expected, rtol=1e-10, atol=1e-12)


def test_an_odd_number_of_points_and_an_indefinite_matrix_are_refused():
    with pytest.raises(ValueError, match="even number of points is needed, got 3"):
        SymmetricMatrix(KERNEL, np.ones((3, 2)))
    matrix = SymmetricMatrix(KERNEL, np.ones((4, 2)))
    with pytest.raises(np.linalg.LinAlgError, match="leading block of size 1"):
        matrix.solve(np.ones((4, 1)), -2)


def test_classes_are_those_of_the_definition():
    X = RNG.standard_normal((40, 3)).astype(np.float32)
    labels = np.array(["a", "b", "c", "b"] * 10)
    X_new = RNG.standard_normal((15, 3)).astype(np.float32)
    ridges = [0.01, 1.0]
    Y = np.where(labels[:, None] == ["a", "b", "c"], 1.0, -1.0)
    expected = []
    for ridge in ridges:
        dual = np.linalg.solve(KERNEL(X).astype(float) + ridge * np.eye(40), Y - Y.mean(axis=0))
        decisions = KERNEL(X_new, X) @ dual + Y.mean(axis=0)
        expected.append(np.array(["a", "b", "c"])[decisions.argmax(axis=1)])
    predicted = kernel_ridge_classes(KERNEL, X, labels, X_new, ridges)
    np.testing.assert_array_equal(predicted, expected)
