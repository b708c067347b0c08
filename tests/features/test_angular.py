"""The angular basis, the action of the circle on it, and averages over the circle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import special
from scipy.ndimage import rotate
from sklearn.base import clone

from invariance.features import AngularBasis, OrbitFourier
from invariance.groups import CircleAction, VonMises
from invariance.kernels import Average, BestFit, Gaussian, Linear, Polynomial
from invariance.orbits import CircleProducts


def test_the_action_is_the_rotation_of_functions_on_the_circle():
    frequencies = np.array([0, 1, 1, 2, 2])
    c = np.random.default_rng(0).standard_normal(5)

    def function(t):
        once = c[1] * np.cos(t) + c[2] * np.sin(t)
        return c[0] + once + c[3] * np.cos(2 * t) + c[4] * np.sin(2 * t)

    action = CircleAction(frequencies)
    t = np.linspace(0, 6, 20)
    turned = action.act([0.7], c[None])[0, 0]
    values = turned[0] + turned[1] * np.cos(t) + turned[2] * np.sin(t)
    values += turned[3] * np.cos(2 * t) + turned[4] * np.sin(2 * t)
    assert_allclose(values, function(t - 0.7), atol=1e-12)


def test_nodes_integrate_the_density_and_samples_follow_it():
    density = VonMises(kappa=1.5, loc=0.3)
    action = CircleAction([1, 1], density, n_nodes=32)
    due = special.ive(range(8), 1.5) / special.ive(0, 1.5) * np.exp(0.3j * np.arange(8))
    for m in range(8):
        quadrature = np.sum(action.weights() * np.exp(1j * m * action.elements()))
        assert_allclose(quadrature, due[m], atol=1e-12)
    for nodes in (None, 64):
        angles = CircleAction([1, 1], density, n_nodes=nodes).sample(20_000, 0)
        error = np.mean(np.cos(angles)) - due[1].real
        assert abs(error) < 4.5 / np.sqrt(20_000)
    assert CircleAction([1, 1], n_nodes=5).weights() is None
    with pytest.raises(TypeError, match="cannot be listed"):
        CircleAction([1, 1]).elements()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(1, 6), st.integers(0, 999))
def test_circle_products_agree_with_the_action(orders, r, seed):
    frequencies = np.concatenate([[m] * (1 if m == 0 else 2) for m in orders])
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4, len(frequencies)))
    T = rng.standard_normal((3, len(frequencies)))
    angles = rng.uniform(-4, 4, r)
    products = CircleProducts(frequencies, T, angles)
    every = slice(None)
    parts = [values.copy() for _, values in products.pairs(products.gather(X), every, every)]
    plain = np.einsum("nd,rsd->rns", X, CircleAction(frequencies).act(angles, T))
    assert_allclose(np.concatenate(parts, axis=1).reshape(plain.shape), plain, atol=1e-12)


@pytest.fixture(scope="module")
def basis():
    """Angular basis of functions with a share of at most 1e-7 of their energy outside the disc."""
    return AngularBasis((24, 24), concentration=1 - 1e-7).fit(np.zeros((1, 576)))


def test_the_basis_is_orthonormal_on_the_pixel_grid(basis):
    gram = basis.functions_.T @ basis.functions_
    assert_allclose(gram, np.eye(len(gram)), atol=1e-3)
    assert len(basis.frequencies_) > 100
    # The number of concentrated functions is close to (radius * bandwidth / 2)^2 = 355.
    loose = AngularBasis((24, 24)).fit(np.zeros((1, 576)))
    assert 0.9 * 355 < len(loose.frequencies_) < 1.1 * 355


def test_quarter_turns_in_the_basis_are_quarter_turns_of_pixels(basis):
    images = np.random.default_rng(0).standard_normal((3, len(basis.frequencies_)))
    action = basis.rotations()
    for quarter in range(4):
        turned = action.act([quarter * np.pi / 2], images)[0]
        pixels = np.rot90(basis.inverse_transform(images).reshape(3, 24, 24), quarter, axes=(1, 2))
        assert_allclose(basis.inverse_transform(turned), pixels.reshape(3, -1), atol=1e-10)


def test_rotations_in_the_basis_agree_with_interpolated_rotations(basis):
    low = basis.frequencies_ <= 3
    c = np.random.default_rng(1).standard_normal((1, len(low))) * low
    image, turned = (
        basis.inverse_transform(part).reshape(24, 24)
        for part in (c, basis.rotations().act([0.4], c)[0])
    )
    inner = np.s_[4:-4, 4:-4]
    # SciPy rotates in the opposite direction because its rows count downwards.
    right, opposite = (
        np.linalg.norm((turned - rotate(image, angle, reshape=False, order=5))[inner])
        for angle in (np.degrees(0.4), -np.degrees(0.4))
    )
    assert right / np.linalg.norm(image) < 0.1 < 0.5 < opposite / np.linalg.norm(image)


def test_features_equal_those_of_rotated_pixel_templates(basis):
    """For band-limited images and templates, both agree to 1e-3."""
    k = len(basis.frequencies_)
    coefficients = np.random.default_rng(0).standard_normal((5, k)) / np.sqrt(k)
    images = basis.inverse_transform(coefficients)
    group = basis.rotations(VonMises(0.5), n_nodes=48)
    model = OrbitFourier(group, 30, gamma=1.0, random_state=0).fit(basis.transform(images))
    fast = model.transform(basis.transform(images))
    # The definition on pixels: draw, rotate and project every template as an image.
    plain = 0
    for angle, weight in zip(model.elements_, model.weights_, strict=True):
        turned = basis.inverse_transform(basis.rotations().act([angle], model.templates_)[0])
        plain = plain + weight * np.sqrt(2 / 30) * np.cos(images @ turned.T + model.phases_)
    assert np.abs(fast - plain).max() < 1e-3
    assert np.linalg.norm(fast - plain) / np.linalg.norm(plain) < 1e-3


def double_average(base, group, X, Y):
    """Return sum_ij w_i w_j k(g_i x, g_j z), one pair of elements after the other."""
    elements, weights = group.quadrature()
    moved_x = group.act(elements, X)
    moved_y = group.act(elements, Y)
    return sum(
        v * w * base(x, y)
        for v, x in zip(weights, moved_x, strict=True)
        for w, y in zip(weights, moved_y, strict=True)
    )


@pytest.mark.parametrize("density", [None, VonMises(2.0), VonMises(1.0, loc=0.5)])
def test_the_average_over_a_circle_is_the_double_average(density):
    group = CircleAction([0, 1, 1, 2, 2, 1, 1], density, n_nodes=9)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((7, 7))
    Y = rng.standard_normal((4, 7))
    for base in (Gaussian(0.3), Polynomial(3, gamma=0.1), Linear()):
        kernel = Average(base, group, side="both")
        assert_allclose(kernel(X, Y), double_average(base, group, X, Y), atol=1e-12)
        plain = double_average(base, group, X, X)
        assert_allclose(kernel(X), plain, atol=1e-12)
        assert_allclose(kernel.diag(X), np.diag(plain), atol=1e-12)


def test_the_average_over_a_circle_does_not_depend_on_blocks():
    group = CircleAction([0, 1, 1, 2, 2], VonMises(1.0), n_nodes=8)
    X = np.random.default_rng(0).standard_normal((333, 5))
    gram = Average(Gaussian(0.3), group, side="both")(X)
    threads = Average(Gaussian(0.3), group, side="both", n_jobs=2)
    assert_allclose(gram, threads(X, X.copy()), atol=1e-12)
    assert np.linalg.eigvalsh(gram).min() > -1e-10
    for K in (gram, Average(Gaussian(0.3), group)(X)):
        assert np.array_equal(K, K.T)


def test_the_average_is_invariant_over_the_whole_circle():
    group = AngularBasis((8, 8)).rotations(n_nodes=64)  # without a fit
    assert group.order == 64
    group = CircleAction([0, 1, 1, 2, 2], n_nodes=64)
    X = np.random.default_rng(0).standard_normal((6, 5))
    kernel = Average(Gaussian(0.3), group)
    turned = group.act([1.234], X)[0]
    assert_allclose(kernel(turned, X), kernel(X), atol=1e-10)
    local = Average(Gaussian(0.3), clone(group).set_params(density=VonMises(3.0)), side="both")
    assert np.abs(local(turned, X) - local(X)).max() > 1e-2


def test_rotations_and_the_reflection_are_all_of_o2():
    images = np.random.default_rng(0).random((5, 7, 7))
    basis = AngularBasis((7, 7), concentration=0.9)
    coefficients = basis.fit_transform(images.reshape(5, 49))
    mirror = AngularBasis((7, 7), concentration=0.9).reflection()
    assert mirror.order == 2
    mirrored = basis.transform(images[:, ::-1].reshape(5, 49))
    assert_allclose(mirror.act(mirror.generators(), coefficients)[0], mirrored, atol=1e-9)
    # A quarter turn, and a mirror image from left to right, which is half a turn of the other one.
    for moved in (np.rot90(images, axes=(1, 2)), images[:, :, ::-1]):
        group = basis.rotations(n_nodes=8).then(basis.reflection())
        kernel = BestFit(Gaussian(1.0), group)
        assert_allclose(
            kernel(coefficients, basis.transform(moved.reshape(5, 49))).diagonal(), np.ones(5)
        )
