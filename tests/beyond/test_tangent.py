"""Tangent distance against least squares over the tangent planes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from invariance.beyond import TANGENTS, TangentDistance


def by_least_squares(distance, x, z):
    t, s = distance.tangents(x[None])[0], distance.tangents(z[None])[0]
    A = np.concatenate([t, -s]).T
    found = np.linalg.lstsq(A, z - x, rcond=1e-12)[0]
    return np.linalg.norm(x + A @ found - z)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(TANGENTS)), min_size=1, max_size=4, unique=True),
    st.sampled_from([0.0, 0.7]),
    st.integers(0, 10**6),
)
def test_distances_between_planes(vectors, smoothing, seed):
    rng = np.random.default_rng(seed)
    X, Z = rng.random((3, 48)), rng.random((2, 48))
    how = {"vectors": tuple(vectors), "smoothing": smoothing, "ridge": 0.0}
    distance, small = (TangentDistance((8, 6), **how, block_bytes=most) for most in (None, 500))
    expected = [[by_least_squares(distance, x, z) for z in Z] for x in X]
    assert_allclose(distance(X, Z), expected, rtol=1e-6, atol=1e-7)
    assert_allclose(small(X, Z), distance(X, Z), rtol=1e-12)


def test_at_most_euclidean():
    X, Z = np.random.default_rng(0).random((2, 6, 64))
    X[0] = 0  # a blank image has no tangents
    both = TangentDistance((8, 8))(X, Z)
    assert np.all(both <= np.linalg.norm(X[:, None] - Z[None], axis=2) + 1e-12)
    assert_allclose(TangentDistance((8, 8))(X).diagonal(), 0, atol=1e-3)
    assert_allclose(both, TangentDistance((8, 8))(Z, X).T, rtol=1e-4)


def test_a_gram_matrix_does_not_depend_on_blocks_or_threads():
    X = np.random.default_rng(0).random((20, 64)) + 5
    whole = TangentDistance((8, 8))(X)
    assert np.array_equal(whole, whole.T)
    for block_bytes in (1000, 300_000, None):
        distance = TangentDistance((8, 8), block_bytes=block_bytes)
        assert np.array_equal(distance(X).diagonal(), np.zeros(20))
        two, one = (distance.set_params(n_jobs=n)(X) for n in (2, 1))
        assert np.array_equal(two, one)
    assert_allclose(whole, TangentDistance((8, 8), block_bytes=300_000)(X), atol=1e-7)


def test_tangents_are_derivatives():
    """Against finite differences of the transformation itself, on a smooth image."""
    for name in ["horizontal", "vertical", "rotation", "scaling"]:
        axis = np.linspace(-3, 3, 81)
        h, step = 1e-4, axis[1] - axis[0]

        def image(x, y):
            return np.exp(-((x - 0.4) ** 2) - 2 * (y + 0.2) ** 2 + 0.5 * x * y)

        x, y = np.meshgrid(axis, axis)
        moved = {
            "horizontal": image(x + h * step, y),
            "vertical": image(x, y + h * step),
            "rotation": image(x + h * y, y - h * x),
            "scaling": image(x * (1 + h), y * (1 + h)),
        }[name]
        derivative = (moved - image(x, y)) / h
        distance = TangentDistance((81, 81), (name,), smoothing=0)
        ours = distance.tangents(image(x, y).reshape(1, -1))[0, 0]
        assert np.linalg.norm(ours - derivative.ravel()) < 0.03 * np.linalg.norm(derivative)


# -- units: a distance of c x and c z is c times that of x and z -----------------------------------

IMAGES = np.random.default_rng(1).random((12, 64))


@pytest.mark.parametrize("vectors", [tuple(TANGENTS), ("horizontal", "thickness"), ("thickness",)])
@pytest.mark.parametrize("smoothing", [0.0, 0.9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_have_the_unit_of_the_pixels(vectors, smoothing, dtype):
    """Powers of two round nothing, and other units the pixels."""
    distance = TangentDistance((8, 8), vectors, smoothing=smoothing)
    X = IMAGES.astype(dtype)
    expected = distance(X)
    most = 120 if dtype == np.float32 else 1000
    for power in (-most, -60, -17, 20, 100, most):
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
def test_a_plane_does_not_depend_on_the_image_s_unit(name):
    """Against least squares, with tangent vectors that do not carry the unit."""
    X, Z = IMAGES[:3], IMAGES[3:6]
    distance = TangentDistance((8, 8), (name, "horizontal"), ridge=0.0)
    T, S = distance.tangents(X), distance.tangents(Z)
    for one, two in ((1e-5, 1.0), (1.0, 1e6), (1e-150, 1.0), (1e-170, 1e-170), (1e-3, 1e-3)):
        found = distance(one * X, two * Z)
        for i, x in enumerate(X):
            for j, z in enumerate(Z):
                A = np.concatenate([T[i], S[j]]).T
                basis, sizes, _ = np.linalg.svd(A / np.linalg.norm(A, axis=0))
                basis = basis[:, : (sizes > 1e-9).sum()]
                gap = (one * x - two * z) / max(one, two)
                rest = np.linalg.norm(gap - basis @ (basis.T @ gap)) * max(one, two)
                assert_allclose(found[i, j], rest, rtol=1e-6)


def test_units_that_differ_between_images():
    """Small images beside large ones keep their distances."""
    units = np.array([1e-200, 1e-200, 1e-30, 1e-30, 1.0, 1.0, 1e30, 1e30, 1e150, 1e150, 0, 0])
    X = units[:, None] * IMAGES
    together = TangentDistance((8, 8))(X)
    pairs = [[TangentDistance((8, 8))(x[None], z[None])[0, 0] for z in X] for x in X]
    np.fill_diagonal(pairs := np.array(pairs), 0)
    assert_allclose(together, pairs, rtol=1e-5)  # not symmetric, by the ridge
    for i in range(0, 10, 2):
        alone = TangentDistance((8, 8))(IMAGES[i : i + 1], IMAGES[i + 1 : i + 2])[0, 0]
        assert_allclose(together[i, i + 1], units[i] * alone, rtol=1e-8)


@pytest.mark.parametrize("smoothing", [0.0, 0.9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit", [1e-30, 1e-5, 0.1, 1.0, 1e6, 1e30])
def test_flat_images_pixels_and_repeated_tangents(unit, smoothing, dtype):
    pixel, stripes, flat = np.zeros((1, 9, 9)), np.zeros((1, 9, 9)), np.ones((1, 9, 9))
    pixel[0, 4, 4] = 1
    stripes[0, :, ::2] = 1
    X = np.concatenate([pixel, stripes, flat, 0 * flat]).reshape(4, -1)
    how = {"smoothing": smoothing}
    distance = TangentDistance((9, 9), tuple(TANGENTS), **how)
    scaled = (X * unit).astype(dtype)
    tolerance = 1e-3 if dtype == np.float32 else 1e-7
    assert_allclose(distance(scaled) / dtype(unit), distance(X), atol=tolerance)
    twice = TangentDistance((9, 9), ("horizontal", "thickness") * 2, **how)
    once = TangentDistance((9, 9), ("horizontal", "thickness"), **how)
    assert_allclose(twice(scaled) / dtype(unit), once(X), atol=tolerance)
    # A flat image has no gradient but at the frame, where smoothing sees zeros beyond it.
    if not smoothing:
        assert_allclose(distance(scaled[2:]) / dtype(unit), [[0, 9], [9, 0]], rtol=1e-5)


def test_a_tangent_that_is_rounding_is_no_direction():
    """Columns of equal pixels have no vertical derivative, whatever rounding leaves of it."""
    rng = np.random.default_rng(3)
    X = np.repeat(rng.random((6, 1, 8)), 8, axis=1).reshape(6, -1)
    for unit in (1e-5, 1.0, 1e6):
        how = {"smoothing": 0.0}
        both = TangentDistance((8, 8), ("horizontal", "vertical"), **how)(unit * X)
        assert_allclose(both, TangentDistance((8, 8), ("horizontal",), **how)(unit * X), rtol=1e-7)
