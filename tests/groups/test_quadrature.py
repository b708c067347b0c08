"""`quadrature`: sums over elements in place of averages over the measure."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from invariance.features import GroupCDF, OrbitFourier
from invariance.groups import Affine, CircleAction, LinearMaps, Rotations, Translations, VonMises
from invariance.kernels import Average, Gaussian

SHAPE = (12, 12)


def blobs(n, seed=0):
    """Images of a few soft spots near the centre."""
    rng = np.random.default_rng(seed)
    grid = np.moveaxis(np.indices(SHAPE), 0, -1) - 5.5
    spots = rng.uniform(-2, 2, (n, 3, 1, 1, 2))
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
    aliases = density.fourier_coefficients(np.array([len(angles) - m, len(angles) + m]))
    tolerance = 1e-9 + 4 * np.abs(aliases).sum()
    assert abs(sums - density.fourier_coefficients([m])[0]) <= tolerance


@pytest.mark.parametrize("density", [None, VonMises(0.2), VonMises(9.0)], ids=repr)
def test_the_averaged_kernel_needs_no_more_nodes(density):
    X = blobs(6)
    kernel = Average(Gaussian(0.05), Rotations(SHAPE, density=density))
    many = Rotations(SHAPE, degrees=np.arange(240) * 1.5, density=density)
    assert len(kernel.group.quadrature()[0]) == 48
    assert_allclose(kernel(X), Average(Gaussian(0.05), many)(X), rtol=2e-3)
    draws = np.array(
        [
            Average(
                Gaussian(0.05),
                Rotations(SHAPE, density=density),
                n_transforms=40,
                random_state=seed,
            )(X)
            for seed in range(30)
        ]
    )
    # Drawn elements serve both sides, so that a share 1 / 40 of the pairs is not independent.
    plain = Average(Gaussian(0.05), Rotations(SHAPE, degrees=[0]))(X)
    expected = (1 - 1 / 40) * kernel(X) + 1 / 40 * plain
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - expected) < 5 * error + 2e-3)


def test_the_circle_has_nodes_enough_for_its_highest_frequency():
    X = np.random.default_rng(0).standard_normal((5, 7)) / 3
    whole = CircleAction([0, 1, 1, 2, 2, 3, 3], VonMises(0.7))
    fine = CircleAction(whole.frequencies, whole.density, n_nodes=500)
    assert_allclose(Average(Gaussian(0.2), whole)(X), Average(Gaussian(0.2), fine)(X), rtol=1e-5)


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


def test_features_average_over_the_rule_and_histograms_ask_for_equal_weights():
    X = blobs(4)
    features = OrbitFourier(Rotations(SHAPE), 7, gamma=0.1, random_state=0).fit(X)
    assert len(features.elements_) == 48
    assert len(GroupCDF(Rotations(SHAPE), 3, random_state=0).fit(X).elements_) == 48
    with pytest.raises(ValueError, match="weighs its elements unequally"):
        GroupCDF(Rotations(SHAPE, density=VonMises(1.0)), 3).fit(X)


def test_what_has_no_rule_must_be_sampled():
    with pytest.raises(TypeError, match="n_transforms"):
        Average(Gaussian(0.1), Affine(SHAPE))(blobs(2))
