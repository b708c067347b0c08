"""Tangent distance against least squares over the tangent planes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from invariance.kernels import TANGENTS, TangentDistance


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
