"""Tangent distances agree with least squares over the tangent planes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone

from invariance.beyond import TANGENTS, TangentDistance


def by_least_squares(distance, x, z):
    x_tangents = distance.tangents(x[None])[0]
    z_tangents = distance.tangents(z[None])[0]
    A = np.concatenate([x_tangents, -z_tangents]).T
    coefficients = np.linalg.lstsq(A, z - x, rcond=1e-12)[0]
    return np.linalg.norm(x + A @ coefficients - z)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(TANGENTS)), min_size=1, max_size=4, unique=True),
    st.sampled_from([0.0, 0.7]),
    st.integers(0, 10**6),
)
def test_tangent_distances_agree_with_least_squares(vectors, smoothing, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((3, 48))
    Z = rng.random((2, 48))
    distance = TangentDistance((8, 6), tuple(vectors), smoothing=smoothing, ridge=0.0)
    in_small_blocks = clone(distance).set_params(block_bytes=500)
    expected = [[by_least_squares(distance, x, z) for z in Z] for x in X]
    assert_allclose(distance(X, Z), expected, rtol=1e-6, atol=1e-7)
    assert_allclose(in_small_blocks(X, Z), distance(X, Z), rtol=1e-12)


def test_tangent_distances_are_at_most_euclidean_distances():
    X, Z = np.random.default_rng(0).random((2, 6, 64))
    X[0] = 0  # a blank image has no tangents
    both = TangentDistance((8, 8))(X, Z)
    assert np.all(both <= np.linalg.norm(X[:, None] - Z[None], axis=2) + 1e-12)
    assert_allclose(TangentDistance((8, 8))(X).diagonal(), 0, atol=1e-3)
    assert_allclose(both, TangentDistance((8, 8))(Z, X).T, rtol=1e-4)


def test_a_gram_matrix_does_not_depend_on_blocks_or_threads():
    X = np.random.default_rng(0).random((20, 64)) + 5
    gram = TangentDistance((8, 8))(X)
    assert np.array_equal(gram, gram.T)
    for block_bytes in (1000, 300_000, None):
        distance = TangentDistance((8, 8), block_bytes=block_bytes)
        assert np.array_equal(distance(X).diagonal(), np.zeros(20))
        in_threads = distance.set_params(n_jobs=2)(X)
        assert np.array_equal(in_threads, distance.set_params(n_jobs=1)(X))
    assert_allclose(gram, TangentDistance((8, 8), block_bytes=300_000)(X), atol=1e-7)


def test_tangents_are_derivatives_of_the_transformations():
    """They agree with finite differences on a smooth image."""
    for name in ["horizontal", "vertical", "rotation", "scaling"]:
        axis = np.linspace(-3, 3, 81)
        h = 1e-4
        step = axis[1] - axis[0]

        def image(x, y):
            return np.exp(-((x - 0.4) ** 2) - 2 * (y + 0.2) ** 2 + 0.5 * x * y)

        x, y = np.meshgrid(axis, axis)
        transformed = {
            "horizontal": image(x + h * step, y),
            "vertical": image(x, y + h * step),
            "rotation": image(x + h * y, y - h * x),
            "scaling": image(x * (1 + h), y * (1 + h)),
        }[name]
        derivative = (transformed - image(x, y)) / h
        distance = TangentDistance((81, 81), (name,), smoothing=0)
        ours = distance.tangents(image(x, y).reshape(1, -1))[0, 0]
        assert np.linalg.norm(ours - derivative.ravel()) < 0.03 * np.linalg.norm(derivative)


# -- units: the distance of c x and c z is c times the distance of x and z -------------------------

IMAGES = np.random.default_rng(1).random((12, 64))


@pytest.mark.parametrize("vectors", [tuple(TANGENTS), ("horizontal", "thickness"), ("thickness",)])
@pytest.mark.parametrize("smoothing", [0.0, 0.9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_scale_with_the_unit_of_the_pixels(vectors, smoothing, dtype):
    """Powers of two cause no rounding; other units round the pixels."""
    distance = TangentDistance((8, 8), vectors, smoothing=smoothing)
    X = IMAGES.astype(dtype)
    expected = distance(X)
    largest_power = 120 if dtype == np.float32 else 1000
    for power in (-largest_power, -60, -17, 20, 100, largest_power):
        scaled = distance(np.ldexp(X, power))
        assert_allclose(
            np.ldexp(scaled, -power), expected, rtol=1e-6 if dtype == np.float32 else 1e-13
        )
        pairs = distance(np.ldexp(X[3:], power), np.ldexp(X[:3], power))
        assert_allclose(pairs, scaled[3:, :3], rtol=1e-5)
    for unit in (1e-30, 1e-5, 255.0, 1e6, 1e30):
        tolerance = 1e-3 if dtype == np.float32 else 1e-9
        assert_allclose(distance(X * dtype(unit)) / dtype(unit), expected, atol=tolerance)
    if dtype == np.float64:
        for unit in (1e-150, 1e150):
            assert_allclose(distance(X * unit), unit * expected, atol=unit * 1e-9)


@pytest.mark.parametrize("name", sorted(TANGENTS))
def test_tangent_planes_do_not_depend_on_the_unit_of_the_image(name):
    """The definition uses tangent vectors that do not depend on the unit."""
    X = IMAGES[:3]
    Z = IMAGES[3:6]
    distance = TangentDistance((8, 8), (name, "horizontal"), ridge=0.0)
    T = distance.tangents(X)
    S = distance.tangents(Z)
    for x_unit, z_unit in ((1e-5, 1.0), (1.0, 1e6), (1e-150, 1.0), (1e-170, 1e-170), (1e-3, 1e-3)):
        distances = distance(x_unit * X, z_unit * Z)
        for i, x in enumerate(X):
            for j, z in enumerate(Z):
                A = np.concatenate([T[i], S[j]]).T
                basis, sizes, _ = np.linalg.svd(A / np.linalg.norm(A, axis=0))
                basis = basis[:, : (sizes > 1e-9).sum()]
                gap = (x_unit * x - z_unit * z) / max(x_unit, z_unit)
                rest = np.linalg.norm(gap - basis @ (basis.T @ gap)) * max(x_unit, z_unit)
                assert_allclose(distances[i, j], rest, rtol=1e-6)


def test_images_may_have_different_units():
    """Large images do not change the distances of small ones."""
    units = np.array([1e-200, 1e-200, 1e-30, 1e-30, 1.0, 1.0, 1e30, 1e30, 1e150, 1e150, 0, 0])
    X = units[:, None] * IMAGES
    together = TangentDistance((8, 8))(X)
    pairs = [[TangentDistance((8, 8))(x[None], z[None])[0, 0] for z in X] for x in X]
    np.fill_diagonal(pairs := np.array(pairs), 0)
    assert_allclose(together, pairs, rtol=1e-5)  # the ridge makes it asymmetric
    for i in range(0, 10, 2):
        alone = TangentDistance((8, 8))(IMAGES[i : i + 1], IMAGES[i + 1 : i + 2])[0, 0]
        assert_allclose(together[i, i + 1], units[i] * alone, rtol=1e-8)


@pytest.mark.parametrize("smoothing", [0.0, 0.9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit", [1e-30, 1e-5, 0.1, 1.0, 1e6, 1e30])
def test_distances_of_constant_images_and_with_repeated_tangents_scale_with_the_unit(
    unit, smoothing, dtype
):
    pixel = np.zeros((1, 9, 9))
    stripes = np.zeros((1, 9, 9))
    flat = np.ones((1, 9, 9))
    pixel[0, 4, 4] = 1
    stripes[0, :, ::2] = 1
    X = np.concatenate([pixel, stripes, flat, 0 * flat]).reshape(4, -1)
    distance = TangentDistance((9, 9), tuple(TANGENTS), smoothing=smoothing)
    scaled = (X * unit).astype(dtype)
    tolerance = 1e-3 if dtype == np.float32 else 1e-7
    assert_allclose(distance(scaled) / dtype(unit), distance(X), atol=tolerance)
    twice = TangentDistance((9, 9), ("horizontal", "thickness") * 2, smoothing=smoothing)
    once = TangentDistance((9, 9), ("horizontal", "thickness"), smoothing=smoothing)
    assert_allclose(twice(scaled) / dtype(unit), once(X), atol=tolerance)
    # A constant image has a gradient only at its frame, if smoothing pads with zeros.
    if not smoothing:
        assert_allclose(distance(scaled[2:]) / dtype(unit), [[0, 9], [9, 0]], rtol=1e-5)


def test_tangents_that_are_rounding_are_ignored():
    """Columns of equal pixels have no vertical derivative, except for rounding."""
    rng = np.random.default_rng(3)
    X = np.repeat(rng.random((6, 1, 8)), 8, axis=1).reshape(6, -1)
    for unit in (1e-5, 1.0, 1e6):
        both = TangentDistance((8, 8), ("horizontal", "vertical"), smoothing=0.0)
        horizontal = TangentDistance((8, 8), ("horizontal",), smoothing=0.0)
        assert_allclose(both(unit * X), horizontal(unit * X), rtol=1e-7)
