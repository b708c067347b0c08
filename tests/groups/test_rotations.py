"""Rules for rotations of the plane and of space, and groups that move all points of a set."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from invariance.core.parameters import ParameterError
from invariance.groups import PlaneRotations, Rotations3D
from invariance.kernels import Average, Gaussian, SetKernel
from invariance.spectral import Sphere, invariant_subspace


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
    # One degree more is not integrated exactly by so few nodes about the axis.
    finer = Rotations3D(degree + 1).quadrature()
    assert len(finer[0]) >= len(rotations)


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


@pytest.mark.parametrize("group", [PlaneRotations(8), Rotations3D(3)], ids=repr)
def test_a_rule_has_no_lie_algebra(group):
    with pytest.raises(ParameterError, match="finite rule"):
        invariant_subspace(Sphere(6, degree=2), group)


@pytest.mark.parametrize("group", [PlaneRotations(8), PlaneRotations(), Rotations3D()], ids=repr)
def test_points_that_turn_together_are_averaged_on_one_side(group):
    """The ability was withdrawn with the list of elements: sums over pairs, |G| times as many."""
    size = 2 if isinstance(group, PlaneRotations) else 3
    assert group.moves_points(2 * size) == list(range(2 * size))
    X = np.random.default_rng(0).standard_normal((4, 3, size))
    kernel = Average(SetKernel(Gaussian(0.3)), group)
    assert kernel.base.on_rows(X)[0].preserved_by(group)
    if size == 2:  # in space it takes half a minute
        both = Average(SetKernel(Gaussian(0.3)), group, side="both")
        assert_allclose(kernel(X), both(X), rtol=1e-4)
