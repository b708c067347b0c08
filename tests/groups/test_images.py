"""Image transformations agree with SciPy's interpolation and with their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import ndimage, special
from sklearn.base import clone

from invariance import groups as G

shapes = st.tuples(st.integers(1, 9), st.integers(1, 9))
seeds = st.integers(0, 10**6)


def images(shape, n=3, seed=0, dtype=float):
    return np.random.default_rng(seed).random((n, *shape)).astype(dtype)


def smooth(size=28, n=4, seed=0):
    """Blurred blobs, well inside the frame."""
    X = np.zeros((n, size, size))
    quarter = size // 4
    X[:, quarter:-quarter, quarter:-quarter] = images((size - 2 * quarter,) * 2, n, seed)
    return ndimage.gaussian_filter(X, (0, 2.0, 2.0))


angles = st.one_of(st.integers(-400, 400), st.floats(-400, 400))


@settings(max_examples=60, deadline=None)
@given(shapes, st.lists(angles, min_size=1, max_size=4), st.sampled_from([1, 3]), seeds)
def test_rotations_agree_with_scipy(shape, degrees, order, seed):
    X = images(shape, seed=seed)
    turned = G.Rotations(shape, degrees=degrees, interpolation=order).act(np.deg2rad(degrees), X)
    for i, angle in enumerate(degrees):
        for j, x in enumerate(X):
            expected = ndimage.rotate(x, angle, reshape=False, order=order)
            assert_allclose(turned[i, j], expected, atol=1e-10)


@settings(max_examples=30, deadline=None)
@given(shapes, seeds, st.sampled_from([1, 3]))
def test_affine_maps_agree_with_scipy(shape, seed, order):
    rng = np.random.default_rng(seed)
    linear = rng.standard_normal((2, 2)) + 2 * np.eye(2)
    shift = rng.standard_normal(2)
    x = rng.random(shape)
    centre = (np.array(shape) - 1) / 2
    back = np.linalg.inv(linear)
    expected = ndimage.affine_transform(x, back, centre - back @ (centre + shift), order=order)
    moves = G.Affine(shape, interpolation=order, jacobian=False)
    element = np.c_[linear, shift][None]
    assert_allclose(moves.act(element, x[None])[0, 0], expected, atol=1e-9)
    factor = abs(np.linalg.det(linear)) ** -0.5
    moves = moves.set_params(jacobian=True)
    assert_allclose(moves.act(element, x[None])[0, 0], factor * expected, atol=1e-9)


def test_rotations_translations_and_affine_maps_agree_with_each_other():
    X = images((9, 11))
    affine = G.Affine((9, 11))
    turned = G.Rotations((9, 11)).act(np.deg2rad([30, -50]), X)
    assert_allclose(turned, affine.act(G.affine_maps(degrees=[30, -50]), X), atol=1e-10)
    shifted = G.Translations((9, 11), 3, boundary="zero").act([[2, -3]], X)
    assert_allclose(shifted, affine.act(G.affine_maps(shift=(2, -3)), X), atol=1e-10)


@pytest.mark.parametrize("transformations", [
    G.Rotations((6, 7, 3), interpolation=3),
    G.Affine((6, 7, 3), rotation=G.VonMises(1), translation=G.Normal(1.0)),
    G.Translations((6, 7, 3), 2),
    G.Translations((6, 7, 3), 2, boundary="zero"),
    G.CyclicTranslations((6, 7, 3)),
], ids=lambda t: type(t).__name__)  # fmt: skip
def test_channels_are_transformed_alike_and_flattened_images_too(transformations):
    X = images((6, 7, 3))
    g = transformations.sample(4, 0)
    transformed = transformations.act(g, X)
    assert transformed.shape == (4, 3, 6, 7, 3)
    grey = clone(transformations).set_params(shape=(6, 7))
    for channel in range(3):
        assert_allclose(transformed[..., channel], grey.act(g, X[..., channel]), atol=1e-12)
    assert_array_equal(
        transformations.act(g, X.reshape(3, -1)).reshape(transformed.shape), transformed
    )
    single = transformations.act(g, X.astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, transformed, atol=2e-6)


def test_many_images_are_transformed_in_blocks():
    X = images((5, 5), n=1100)
    turns = G.Rotations((5, 5), degrees=[12, 40])
    one_block = turns.act(turns.elements(), X)
    for i in (0, 511, 512, 1099):
        assert_allclose(one_block[:, i], turns.act(turns.elements(), X[i : i + 1])[:, 0])


@settings(max_examples=30, deadline=None)
@given(st.tuples(st.integers(3, 8), st.integers(3, 8)), st.integers(0, 2), seeds)
def test_translations_agree_with_their_definition(shape, largest, seed):
    X = images(shape, seed=seed)
    cyclic = G.Translations(shape, min(largest, (min(shape) - 1) // 2))
    G.check_group(cyclic)
    for group in (cyclic, G.Translations(shape, largest, boundary="zero")):
        transformed = group.act(group.elements(), X)
        for (down, right), result in zip(group.elements(), transformed, strict=True):
            for i in range(shape[0]):
                for j in range(shape[1]):
                    a = i - down
                    b = j - right
                    inside = 0 <= a < shape[0] and 0 <= b < shape[1]
                    if group is cyclic:
                        expected = X[:, a % shape[0], b % shape[1]]
                    else:
                        expected = X[:, a, b] if inside else 0
                    assert_array_equal(result[:, i, j], expected)


def test_sets_of_shifts_report_order_symmetry_and_unitarity():
    assert G.Translations((28, 28), max_shift=3).order == 49
    assert G.Translations((64, 64), shifts=range(-32, 29, 4)).order == 256
    assert not G.Translations((64, 64), shifts=range(-28, 29, 4)).is_group
    assert G.Translations((64, 64), shifts=range(-32, 29, 4)).is_group
    assert G.Translations((4, 4), shifts=range(-2, 2)).is_group
    assert not G.Translations((28, 28), shifts=[0, 1]).symmetric
    assert G.Translations((28, 28), shifts=[[0, 1], [0, -1]]).order == 2
    assert G.Translations((1, 28), max_shift=2).order == 5
    assert not G.Translations((28, 28), boundary="zero").unitary


def test_densities_determine_weights_and_samples():
    weighed = G.Rotations((8, 8), degrees=[-90, 0, 90], density=G.VonMises(2.0))
    assert_allclose(weighed.weights(), np.exp([0, 2, 0]) / np.exp([0, 2, 0]).sum())
    angles = G.Rotations((8, 8), density=G.VonMises(9.0)).sample(20000, 0)
    kappa = special.ive(1, 9.0) / special.ive(0, 9.0)
    assert abs(np.cos(angles).mean() - kappa) < 0.005
    assert G.Rotations((8, 8)).weights() is None


@pytest.mark.parametrize(("transformations", "symmetric"), [
    (G.Rotations((8, 8)), True),
    (G.Rotations((8, 8), degrees=range(-5, 6)), True),
    (G.Rotations((8, 8), degrees=range(-10, 10)), False),
    (G.Rotations((8, 8), degrees=[90, 180, 270, 360]), True),
    (G.Rotations((8, 8), density=G.VonMises(1.0, loc=0.3)), False),
    (G.Affine((8, 8), maps=G.affine_maps(factor=[0.5, 1, 2])), True),
    (G.Affine((8, 8), maps=G.affine_maps(factor=[1, 2])), False),
    (G.Affine((8, 8), rotation=G.VonMises(9.0), scaling=G.LogNormal(0.3)), True),
    (G.Affine((8, 8), rotation=G.VonMises(9.0), translation=G.Normal(0.3)), False),
    (G.Affine((8, 8), maps=G.affine_maps(shear=[-0.1, 0, 0.1])), True),
])  # fmt: skip
def test_symmetric_tells_whether_inverses_have_the_same_measure(transformations, symmetric):
    assert transformations.symmetric is symmetric


def test_affine_maps_invert():
    moves = G.Affine(
        (8, 8), rotation=G.VonMises(1.0), scaling=G.LogNormal(0.3), translation=G.Normal(1.0)
    )
    a = moves.sample(6, 0)
    point = np.random.default_rng(0).standard_normal((6, 2, 1))

    def at(g, x):
        return g[:, :, :2] @ x + g[:, :, 2:]

    assert_allclose(at(moves.inverse(a), at(a, point)), point, atol=1e-12)


def test_lemma_2_1_energy_of_smooth_images_is_preserved():
    X = smooth()
    # An image that stays inside the frame needs the factor to preserve its energy.
    zooms = G.Affine((28, 28), maps=G.affine_maps(factor=[0.7, 1.3]))
    assert G.departure_from_unitary(zooms, X)["norm"] < 0.01
    assert G.departure_from_unitary(zooms.set_params(jacobian=False), X)["norm"] > 0.2
    turns = G.departure_from_unitary(G.Rotations((28, 28)), X)
    assert turns["norm"] < 0.01
    rough = G.departure_from_unitary(G.Rotations((28, 28), interpolation=1), X)
    assert rough["norm"] > turns["norm"]
    exact = G.departure_from_unitary(G.Translations((28, 28), 5), X)
    assert max(exact["norm"], exact["inner_product"]) < 1e-12
    assert G.departure_from_unitary(G.Translations((28, 28), 9, boundary="zero"), X)["norm"] > 0.01
