"""`quadrature`: sums over elements in place of averages over the measure."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special
from sklearn.base import clone

from invariance.beyond import PlaneRotations, Rotations3D, SetKernel  # fmt: skip
from invariance.features import GroupCDF, OrbitFourier
from invariance.groups import LinearMaps, Rotations, Translations, VonMises
from invariance.kernels import Average, Gaussian

SHAPE = (12, 12)


def blobs(n, seed=0):
    """Images of a few soft spots near the centre."""
    grid = np.moveaxis(np.indices(SHAPE), 0, -1) - 5.5
    spots = np.random.default_rng(seed).uniform(-2, 2, (n, 3, 1, 1, 2))
    return np.exp(-((grid - spots) ** 2).sum(-1) / 3).sum(1).reshape(n, -1)


@settings(max_examples=30, deadline=None)
@given(st.integers(4, 30), st.integers(4, 30), st.floats(0, 20), st.data())
def test_angular_frequencies_are_integrated_exactly(height, width, kappa, data):
    """sum_k w_k exp(i m theta_k) = E exp(i m theta), for what an image of this size holds."""
    density = VonMises(kappa, loc=data.draw(st.floats(-3, 3)))
    m = data.draw(st.integers(0, max(height, width)))
    angles, weights = Rotations((height, width), density=density).quadrature()
    sums = weights @ np.exp(1j * m * angles)
    # Von Mises coefficients fall faster than any power: aliases of m are below rounding or small.
    orders = np.array([m, len(angles) - m, len(angles) + m])
    due, *aliases = special.ive(orders, kappa) / special.ive(0, kappa)
    tolerance = 1e-9 + 4 * np.sum(aliases)
    assert abs(sums - due * np.exp(1j * m * density.loc)) <= tolerance


@pytest.mark.parametrize("density", [None, VonMises(0.2), VonMises(9.0)], ids=repr)
def test_the_averaged_kernel_needs_no_more_nodes(density):
    X, group = blobs(6), Rotations(SHAPE, density=density)
    many = Rotations(SHAPE, degrees=np.arange(240) * 1.5, density=density)
    assert len(group.quadrature()[0]) == 48
    found, exact = (Average(Gaussian(0.05), each)(X) for each in (group, many))
    assert_allclose(found, exact, rtol=2e-3)


def test_a_composition_pairs_the_rules():
    X, turns, shifts = blobs(3), Rotations(SHAPE, density=VonMises(1.0)), Translations(SHAPE, 1)
    elements, weights = turns.then(shifts).quadrature()
    assert len(elements) == 48 * 9
    assert_allclose(weights.sum(), 1)
    moved = shifts.act(shifts.elements(), turns.act(turns.quadrature()[0], X).reshape(-1, 144))
    expected = np.einsum("snrd,n->rd", moved.reshape(9, 48, 3, 144), turns.quadrature()[1]) / 9
    found = np.einsum("r,rnd->nd", weights, turns.then(shifts).act(elements, X))
    assert_allclose(found, expected, atol=1e-12)


def test_a_projection_has_the_rule_of_what_it_projects():
    group = Rotations(SHAPE).then(LinearMaps(np.eye(144)[None, :3]))
    assert_array_equal(group.quadrature()[0][:, 0], Rotations(SHAPE).quadrature()[0])


def test_features_average_over_the_rule():
    """Of images by interpolation, as over many times as many angles, to one per cent."""
    X = blobs(4)
    many = Rotations(SHAPE, degrees=np.arange(1500) * 0.24)
    for method in (
        OrbitFourier(Rotations(SHAPE), 7, gamma=0.1, random_state=0),
        GroupCDF(Rotations(SHAPE), 3, random_state=0),
    ):
        found = method.fit_transform(X)
        assert 48 <= len(method.elements_) < 500
        exact = clone(method).set_params(group=many).fit_transform(X)
        assert np.linalg.norm(found - exact) < 0.01 * np.linalg.norm(exact)


# -- rotations of the plane and of space -----------------------------------------------------------


@pytest.mark.parametrize("degree", [0, 1, 4, 5, 10])
def test_means_of_polynomials_up_to_the_degree_are_exact(degree):
    """Harmonics of a turned point average to zero, products of two to Schur's 1 / (2 l + 1)."""
    rotations, weights = Rotations3D(degree).quadrature()
    assert len(rotations) == Rotations3D(degree).order
    assert_allclose(weights.sum(), 1)
    assert_allclose(np.linalg.det(rotations), 1)
    points = np.random.default_rng(0).standard_normal((2, 3))
    x, y, z = np.moveaxis(rotations @ points.T / np.linalg.norm(points, axis=1), 1, 0)
    polar, azimuth = np.arccos(np.clip(z, -1, 1)), np.arctan2(y, x)
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


def test_the_rule_holds_its_inverses():
    rotations, weights = Rotations3D(3).quadrature()
    distance = np.abs(rotations.swapaxes(1, 2)[:, None] - rotations).max(axis=(2, 3))
    assert distance.min(axis=1).max() < 1e-12
    assert_allclose(weights[distance.argmin(axis=1)], weights)


def test_plane_rotations_by_nodes():
    group = PlaneRotations(6)
    assert group.order == 6 and PlaneRotations().order == np.inf
    assert_allclose(group.quadrature()[0], np.pi / 3 * np.arange(6))
    assert set(group.sample(50, 0)) <= set(group.elements())


@pytest.mark.parametrize("group", [PlaneRotations(8), PlaneRotations(), Rotations3D()], ids=repr)
def test_points_that_turn_together_are_averaged_on_one_side(group):
    size = 2 if isinstance(group, PlaneRotations) else 3
    assert group.moves_points(2 * size) == list(range(2 * size))
    X = np.random.default_rng(0).standard_normal((4, 3, size))
    kernel = Average(SetKernel(Gaussian(0.3)), group)
    assert kernel.base.on_rows(X)[0].preserved_by(group)
    if size == 2:  # in space it takes half a minute
        both = Average(SetKernel(Gaussian(0.3)), group, side="both")
        assert_allclose(kernel(X), both(X), rtol=1e-4)
