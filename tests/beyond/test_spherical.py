"""SphericalCoefficients: the rotation of functions on a sphere, its rules, its use in kernels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import factorial, lpmv
from sklearn.base import clone

from invariance.beyond import Rotations3D, SphericalCoefficients
from invariance.core.parameters import ParameterError
from invariance.features import OrbitFourier
from invariance.groups import CyclicShifts, check_group
from invariance.kernels import Average, BestFit, Gaussian, Polynomial

RNG = np.random.default_rng(0)


def harmonics(points, degree):
    """Real spherical harmonics by SciPy, shape (n, (degree + 1)^2)."""
    azimuth = np.arctan2(points[:, 1], points[:, 0])
    columns = []
    for order in range(degree + 1):
        for m in range(-order, order + 1):
            size = abs(m)
            ratio = factorial(order - size) / factorial(order + size)
            # SciPy's Legendre functions include the sign (-1)^m.
            values = (-1) ** m * np.sqrt(ratio) * lpmv(size, order, points[:, 2])
            wave = np.sin(size * azimuth) if m < 0 else np.cos(m * azimuth)
            scale = np.sqrt(2) if m else 1
            columns.append(scale * values * wave)
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("degree", [0, 1, 2, 5, 12])
def test_transformed_coefficients_are_those_of_the_rotated_function(degree):
    """The definition: act(g, c) has the values f(g^-1 x) of the function f with coefficients c."""
    group = SphericalCoefficients(degree)
    coefficients = RNG.standard_normal((3, (degree + 1) ** 2))
    points = RNG.standard_normal((40, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    half_turn = np.diag([1.0, -1.0, -1.0])
    elements = np.concatenate([group.sample(4, 0), np.eye(3)[None], half_turn[None]])
    for g, images in zip(elements, group.act(elements, coefficients), strict=True):
        expected = coefficients @ harmonics(points @ g, degree).T  # rows of points @ g are g^-1 x
        assert_allclose(images @ harmonics(points, degree).T, expected, atol=1e-11)


@pytest.mark.parametrize("degree", [0, 1, 4, 20])
def test_the_group_keeps_its_promises(degree):
    group = SphericalCoefficients(degree)
    check_group(group)
    assert group.n_features == (degree + 1) ** 2
    assert group.order == np.inf and group.is_group and group.unitary
    rule = clone(group).set_params(rule_degree=3)
    assert rule.order == Rotations3D(3).order and not rule.is_group


def test_the_degree_one_part_rotates_like_vectors():
    rotations = Rotations3D().sample(5, 0)
    vectors = RNG.standard_normal((4, 3))
    y_z_x = np.concatenate([np.ones((4, 1)), vectors[:, [1, 2, 0]]], axis=1)
    images = SphericalCoefficients(1).act(rotations, y_z_x)
    assert_allclose(images[..., [3, 1, 2]], Rotations3D().act(rotations, vectors), atol=1e-13)


def test_single_precision_is_kept():
    coefficients = RNG.standard_normal((3, 16))
    group = SphericalCoefficients(3)
    elements = group.sample(2, 0)
    images = group.act(elements, coefficients.astype(np.float32))
    assert images.dtype == np.float32
    assert_allclose(images, group.act(elements, coefficients), atol=1e-5)


def test_means_of_products_by_the_rule_are_power_spectra():
    """The mean of <x, g z>^2 is sum_l |x_l|^2 |z_l|^2 / (2 l + 1), by Schur's relations."""
    degree = 3
    X = RNG.standard_normal((4, 16))
    rule = SphericalCoefficients(degree, rule_degree=2 * degree)
    powers = np.stack([np.square(X[:, n * n : (n + 1) ** 2]).sum(axis=1) for n in range(4)], axis=1)
    expected = (powers / (2 * np.arange(4) + 1)) @ powers.T
    for square in (Polynomial(2, gamma=1.0, coef0=0.0), Polynomial(1, gamma=1.0, coef0=0.0)):
        mean = Average(square, rule)(X)
        wanted = expected if square.degree == 2 else np.outer(X[:, 0], X[:, 0])
        assert_allclose(mean, wanted, atol=1e-11)


@pytest.mark.parametrize("channels", [1, 2])
def test_kernels_and_features_choose_enough_nodes(channels):
    group = SphericalCoefficients(2)
    if channels > 1:
        group = group.on_each(channels)
    X = RNG.standard_normal((6, channels * 9)) / 2
    rotations = Rotations3D().sample(6, 1)
    images = np.stack(
        [group.act(g[None], x[None])[0, 0] for g, x in zip(rotations, X, strict=True)]
    )
    kernel = Average(Gaussian(0.1), group)
    assert_allclose(kernel(images, X), kernel(X), atol=2 * kernel.tolerance)
    features = OrbitFourier(group, 20, gamma=0.1, random_state=0).fit(X)
    change = np.linalg.norm(features.transform(images) - features.transform(X))
    assert change < 2 * features.tolerance * np.linalg.norm(features.transform(X))


def test_largest_values_are_those_over_the_rotations_of_a_rule():
    rule = SphericalCoefficients(2, rule_degree=4)
    X = RNG.standard_normal((4, 9))
    orbits = rule.act(rule.elements(), X)
    expected = np.max(np.exp(-0.1 * np.square(X[:, None] - orbits[:, None]).sum(axis=3)), axis=0)
    assert_allclose(BestFit(Gaussian(0.1), rule)(X), expected, atol=1e-12)


def test_bad_input_is_refused():
    with pytest.raises(ParameterError, match="degree"):
        SphericalCoefficients(-1).sample(1)
    with pytest.raises(ParameterError, match="rule_degree"):
        SphericalCoefficients(2, rule_degree=1.5).sample(1)
    with pytest.raises(ParameterError, match=r"\(n, 9\)"):
        SphericalCoefficients(2).act(np.eye(3)[None], np.ones((2, 8)))
    with pytest.raises(ParameterError, match="matrices"):
        SphericalCoefficients(2).act(np.ones(3), np.ones((2, 9)))
    with pytest.raises(ParameterError, match="commute"):
        SphericalCoefficients(2).times(CyclicShifts(9))
