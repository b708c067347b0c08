"""Randomisation tests of symmetry: exact size for exact draws, and targets that are turned."""

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist
from scipy.stats import binomtest

sys.path.insert(0, str(Path(__file__).parents[2] / "notebooks/beyond"))
from _randomisation import (
    Turned,
    kernel_scales,
    mean_kernels,
    orders,
    random_rotations,
    randomisation_p_value,
)


def points(n, seed):
    return np.random.default_rng(seed).standard_normal((n, 3))


def test_the_size_is_the_level_if_randomised_samples_have_the_law_of_the_sample():
    rng = np.random.default_rng(0)

    def draw(rng):
        return rng.standard_normal((8, 2))

    p_values = np.array([randomisation_p_value(draw(rng), draw, rng) for _ in range(300)])
    for level in (0.2, 0.5):
        # Levels that the 101 possible p-values cannot reach are rounded down.
        expected = np.floor(level * 101) / 101
        n_rejected = np.count_nonzero(p_values <= level)
        assert binomtest(n_rejected, len(p_values), expected).pvalue > 0.001


@pytest.mark.parametrize("shift", [2.0, -2.0])
def test_a_sample_far_from_the_randomised_ones_has_the_smallest_p_value(shift):
    rng = np.random.default_rng(1)
    sample = rng.standard_normal((40, 2)) + shift
    p_value = randomisation_p_value(sample, lambda rng: rng.standard_normal((40, 2)), rng)
    assert p_value == 1 / 101


def test_kernels_are_gaussian_and_laplacian():
    distances = {"sqeuclidean": np.array([[0.0, 4.0]]), "cityblock": np.array([[1.0, 3.0]])}
    scales = {"sqeuclidean": np.array([2.0]), "cityblock": np.array([0.5])}
    gaussian = (1 + np.exp(-2)) / 2
    laplacian = (np.exp(-2) + np.exp(-6)) / 2
    assert_allclose(mean_kernels(distances, scales), [[gaussian, laplacian]], rtol=1e-6)


def test_rotations_take_the_representative_to_the_point():
    X = points(20, 2)
    R = random_rotations(X, np.random.default_rng(3))
    assert_allclose(R @ R.swapaxes(1, 2), np.broadcast_to(np.eye(3), R.shape), atol=1e-12)
    assert_allclose(np.linalg.det(R), 1)
    assert_allclose(R[:, :, 0] * np.linalg.norm(X, axis=1, keepdims=True), X)


def test_orders_take_sorted_numbers_to_the_point():
    X = points(20, 4)
    images = np.einsum("nij,nj->ni", orders(X, np.random.default_rng(0)), np.sort(X, axis=1))
    assert_allclose(images, X)


@pytest.mark.parametrize("elements_of", [random_rotations, orders])
def test_equivariant_targets_are_turned_back_to_invariant_ones(elements_of):
    X = points(30, 5)
    invariants = np.sort(X, axis=1) if elements_of is orders else np.linalg.norm(X, axis=1)[:, None]
    elements = elements_of(X, np.random.default_rng(6))
    turned = Turned(X, 2 * X, invariants, elements)
    expected = 2 * invariants
    assert_allclose(turned.targets[:, : expected.shape[1]], expected, atol=1e-12)


def test_randomised_targets_are_turned_by_elements_of_points_with_near_invariants():
    X = np.repeat([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 9.0], [0, -9.0, 0]], 100, axis=0)
    lengths = np.linalg.norm(X, axis=1)[:, None]
    turned = Turned(X, X, lengths, random_rotations(X, np.random.default_rng(7)))
    drawn = turned.draw(np.random.default_rng(8))
    assert_allclose(np.linalg.norm(drawn, axis=1), lengths[:, 0])
    rows = [tuple(row) for row in drawn.round().astype(int).tolist()]
    assert set(rows[:200]) == {(1, 0, 0), (0, 1, 0)}
    assert set(rows[200:]) == {(0, 0, 9), (0, -9, 0)}


@pytest.mark.parametrize("n_widths", [5, 10])
def test_widths_are_equally_spaced_between_the_same_ends(n_widths):
    sample = points(20, 7)
    scales = kernel_scales(sample, n_widths)
    for metric, power in (("sqeuclidean", 2), ("cityblock", 1)):
        widths = scales[metric] ** (1 / power)
        distances = pdist(sample, metric) ** (1 / power)
        assert len(widths) == n_widths
        assert_allclose(np.diff(widths), np.diff(widths)[0])
        assert_allclose(widths[0], np.quantile(distances, 0.05) / 2, rtol=0.05)
        assert_allclose(widths[-1], np.quantile(distances, 0.95) * 2, rtol=0.05)
