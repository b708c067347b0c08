"""Means of exponentials over sign changes: sums of log cosh, for few points and for many."""

import numpy as np
import pytest

from invariance import groups, kernels

N_POINTS = 200
#: Largest products of coordinates: tiny, small, on either side of where powers end, and large.
SIZES = [1e-8, 0.01, 0.3, 1.4, 1.6, 5.0, 300.0]


def log_cosh(t):
    """log cosh t = log(e^t + e^-t) - log 2; for small t by cosh t = 1 + 2 sinh^2(t / 2)."""
    small = np.clip(t, -1, 1)
    of_small = np.log1p(2 * np.sinh(small / 2) ** 2)
    return np.where(np.abs(t) < 1, of_small, np.logaddexp(t, -t) - np.log(2))


def points(size):
    """Return two sets of points whose products of coordinates reach a size."""
    rng = np.random.default_rng(0)
    A = rng.uniform(-1, 1, (N_POINTS, 6))
    B = rng.uniform(-1, 1, (N_POINTS, 6))
    return A * size, B


@pytest.mark.parametrize("size", SIZES)
def test_the_mean_over_signs_is_a_sum_of_log_cosh(size):
    A, B = points(size)
    expected = log_cosh(A[:, None] * B).sum(axis=2)
    flips = groups.SignFlips(6)
    np.testing.assert_allclose(flips.log_mean_exponential(A, B), expected, rtol=1e-12)
    single = flips.log_mean_exponential(A.astype("f4"), B.astype("f4"))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-5, atol=1e-6 * min(size, 1))


def test_coordinates_of_every_size_and_zeros_add_up():
    rng = np.random.default_rng(0)
    A = rng.uniform(-1, 1, (N_POINTS, 8)) * [0, 1e-200, 1e200, 1e-3, 0.1, 1, 3, 40]
    B = rng.uniform(-1, 1, (N_POINTS, 8)) * [1, 1e-200, 1e-200, 1, 1, 1, 1, 1]
    expected = log_cosh(A[:, None] * B).sum(axis=2)
    actual = groups.SignFlips(8).log_mean_exponential(A, B)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_a_point_has_the_same_mean_alone_as_among_many(size):
    A, B = points(size)
    flips = groups.SignFlips(6)
    together = flips.log_mean_exponential(A, B)
    alone = flips.log_mean_exponential(A[:1], B)
    np.testing.assert_allclose(alone[0], together[0], rtol=1e-12, atol=1e-14)


def test_the_averaged_gaussian_of_many_points_is_the_mean_over_all_signs():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_POINTS, 4))
    flips = groups.SignFlips(4)
    base = kernels.Gaussian(0.3)
    moved = flips.act(flips.elements(), X)
    expected = np.mean([base(X, points) for points in moved], axis=0)
    np.testing.assert_allclose(kernels.Average(base, flips)(X), expected, rtol=1e-12)
