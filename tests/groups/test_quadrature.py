"""Quadratures: weighted sums over elements replace averages over the measure."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special
from sklearn.base import clone

from invariance import groups as G
from invariance.beyond import PlaneRotations, Rotations3D, SetKernel  # fmt: skip
from invariance.features import GroupCDF, OrbitFourier
from invariance.groups import LinearMaps, Rotations, Translations, VonMises
from invariance.kernels import Average, Gaussian

SHAPE = (12, 12)


def blobs(n, seed=0):
    """Images of a few blurred spots near the centre."""
    grid = np.moveaxis(np.indices(SHAPE), 0, -1) - 5.5
    spots = np.random.default_rng(seed).uniform(-2, 2, (n, 3, 1, 1, 2))
    return np.exp(-((grid - spots) ** 2).sum(-1) / 3).sum(1).reshape(n, -1)


@settings(max_examples=30, deadline=None)
@given(st.integers(4, 30), st.integers(4, 30), st.floats(0, 20), st.data())
def test_angular_frequencies_are_integrated_exactly(height, width, kappa, data):
    """sum_k w_k exp(i m theta_k) = E exp(i m theta) for all frequencies of images of this size."""
    density = VonMises(kappa, loc=data.draw(st.floats(-3, 3)))
    m = data.draw(st.integers(0, max(height, width)))
    angles, weights = Rotations((height, width), density=density).quadrature()
    sums = weights @ np.exp(1j * m * angles)
    # Von Mises coefficients decrease faster than any power, so that aliases of m are small.
    orders = np.array([m, len(angles) - m, len(angles) + m])
    due, *aliases = special.ive(orders, kappa) / special.ive(0, kappa)
    tolerance = 1e-9 + 4 * np.sum(aliases)
    assert abs(sums - due * np.exp(1j * m * density.loc)) <= tolerance


@pytest.mark.parametrize("density", [None, VonMises(0.2), VonMises(9.0)], ids=repr)
def test_averaged_kernels_need_no_more_nodes(density):
    X = blobs(6)
    group = Rotations(SHAPE, density=density)
    many = Rotations(SHAPE, degrees=np.arange(240) * 1.5, density=density)
    assert len(group.quadrature()[0]) == 48
    gram, exact = (Average(Gaussian(0.05), each)(X) for each in (group, many))
    assert_allclose(gram, exact, rtol=2e-3)


def test_the_quadrature_of_a_composition_has_all_pairs_of_nodes():
    X = blobs(3)
    turns = Rotations(SHAPE, density=VonMises(1.0))
    shifts = Translations(SHAPE, 1)
    elements, weights = turns.then(shifts).quadrature()
    assert len(elements) == 48 * 9
    assert_allclose(weights.sum(), 1)
    transformed = shifts.act(
        shifts.elements(), turns.act(turns.quadrature()[0], X).reshape(-1, 144)
    )
    expected = (
        np.einsum("snrd,n->rd", transformed.reshape(9, 48, 3, 144), turns.quadrature()[1]) / 9
    )
    mean = np.einsum("r,rnd->nd", weights, turns.then(shifts).act(elements, X))
    assert_allclose(mean, expected, atol=1e-12)


def test_a_projection_has_the_quadrature_of_the_rotations_before_it():
    group = Rotations(SHAPE).then(LinearMaps(np.eye(144)[None, :3]))
    assert_array_equal(group.quadrature()[0][:, 0], Rotations(SHAPE).quadrature()[0])


def test_features_average_over_the_quadrature():
    """Features of interpolated images agree with those over many more angles to one per cent."""
    X = blobs(4)
    many = Rotations(SHAPE, degrees=np.arange(1500) * 0.24)
    for method in (
        OrbitFourier(Rotations(SHAPE), 7, gamma=0.1, random_state=0),
        GroupCDF(Rotations(SHAPE), 3, random_state=0),
    ):
        features = method.fit_transform(X)
        assert 48 <= len(method.elements_) < 500
        exact = clone(method).set_params(group=many).fit_transform(X)
        assert np.linalg.norm(features - exact) < 0.01 * np.linalg.norm(exact)


# -- rotations of the plane and of space -----------------------------------------------------------


@pytest.mark.parametrize("degree", [0, 1, 4, 5, 10])
def test_means_of_polynomials_up_to_the_degree_are_exact(degree):
    """Harmonics of a rotated point have mean 0, products of two the mean 1 / (2 l + 1) of Schur."""
    rotations, weights = Rotations3D(degree).quadrature()
    assert len(rotations) == Rotations3D(degree).order
    assert_allclose(weights.sum(), 1)
    assert_allclose(np.linalg.det(rotations), 1)
    points = np.random.default_rng(0).standard_normal((2, 3))
    x, y, z = np.moveaxis(rotations @ points.T / np.linalg.norm(points, axis=1), 1, 0)
    polar = np.arccos(np.clip(z, -1, 1))
    azimuth = np.arctan2(y, x)
    for order in range(1, degree + 1):
        for m in range(-order, order + 1):
            if hasattr(special, "sph_harm_y"):
                values = special.sph_harm_y(order, m, polar, azimuth)
            else:  # SciPy before 1.15
                values = special.sph_harm(m, order, azimuth, polar)
            assert_allclose(weights @ values, 0, atol=1e-12)
            if 2 * order <= degree:
                square = weights @ np.abs(values) ** 2
                assert_allclose(square, 1 / (4 * np.pi), atol=1e-12)


def test_the_quadrature_contains_the_inverses_of_its_nodes():
    rotations, weights = Rotations3D(3).quadrature()
    distance = np.abs(rotations.swapaxes(1, 2)[:, None] - rotations).max(axis=(2, 3))
    assert distance.min(axis=1).max() < 1e-12
    assert_allclose(weights[distance.argmin(axis=1)], weights)


def test_plane_rotations_with_nodes_are_finite_and_without_nodes_infinite():
    group = PlaneRotations(6)
    assert group.order == 6 and PlaneRotations().order == np.inf
    assert_allclose(group.quadrature()[0], np.pi / 3 * np.arange(6))
    assert set(group.sample(50, 0)) <= set(group.elements())


@pytest.mark.parametrize("group", [PlaneRotations(8), PlaneRotations(), Rotations3D()], ids=repr)
def test_averages_over_common_rotations_of_all_points_transform_one_side(group):
    size = 2 if isinstance(group, PlaneRotations) else 3
    assert group.moves_points(2 * size) == list(range(2 * size))
    X = np.random.default_rng(0).standard_normal((4, 3, size))
    kernel = Average(SetKernel(Gaussian(0.3)), group)
    assert kernel.base.on_rows(X)[0].preserved_by(group)
    if size == 2:  # rotations in space would take half a minute
        both = Average(SetKernel(Gaussian(0.3)), group, side="both")
        assert_allclose(kernel(X), both(X), rtol=1e-4)


@pytest.mark.parametrize("density", [
    G.Uniform(0, 2 * np.pi),
    G.Uniform(-1.0, 8.0),
    G.VonMises(1.0, 3.0),
    G.Normal(1.0, 3.0),
    G.Normal(2.0),
    G.Normal(0.1, 40.0),
    G.LogNormal(1.0, 3.0),
], ids=repr)  # fmt: skip
def test_the_weights_of_nodes_are_the_probabilities_of_drawn_angles(density):
    """Angles that are whole turns apart are the same rotation."""
    draws = density.sample(100_000, 0)
    n_nodes = 90
    for weights in (
        G.CircleAction([1, 1], density, n_nodes=n_nodes).weights(),
        G.Rotations((3, 3), np.arange(n_nodes) * 360 / n_nodes, density=density).weights(),
    ):
        nodes = 2 * np.pi * np.arange(n_nodes) / n_nodes
        for frequency in (1, 2):
            mean = weights @ np.exp(1j * frequency * nodes)
            assert abs(mean - np.exp(1j * frequency * draws).mean()) < 0.03


def test_both_ends_of_a_whole_turn_are_one_angle():
    for density in (G.Uniform(0, 2 * np.pi), G.Uniform(), G.Uniform(-2 * np.pi, 2 * np.pi)):
        assert_allclose(G.CircleAction([1, 1], density, n_nodes=8).weights(), np.full(8, 1 / 8))
        rotations = G.Rotations((3, 3), [0, 90, 180, 270], density=density)
        assert_allclose(rotations.weights(), np.full(4, 1 / 4))
