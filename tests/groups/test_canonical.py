"""`canonical`: the representative lies in the orbit and is the same for all points of the orbit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance import beyond as B
from invariance import groups as G
from invariance.core.parameters import ParameterError
from invariance.kernels import BestFit, Gaussian

RNG = np.random.default_rng(0)
QUARTER = [[0.0, -1.0], [1.0, 0.0]]
ROTATIONS = B.Rotations3D()
GROUPS = {
    "cyclic shifts": (G.CyclicShifts(6), 6),
    "shifts of images": (G.CyclicTranslations((3, 4)), 12),
    "permutations": (G.Permutations(30), 30),
    "permutations of blocks": (G.Permutations(10, block=3), 30),
    "generated permutations": (G.GeneratedPermutations([[1, 2, 0, 3], [1, 0, 3, 2]]), 4),
    "sign changes": (G.SignFlips(30), 30),
    "signed permutations": (G.SignedPermutations(30), 30),
    "negation": (G.Negation(), 5),
    "quarter turns": (G.OrthogonalMatrices([QUARTER]).on_each(3), 6),
    "side by side": (G.DirectProduct([G.Permutations(10), G.CyclicShifts(4)]), 14),
    "nodes of a circle": (G.CircleAction([0, 1, 1, 2, 2], n_nodes=8), 5),
    "a circle": (G.CircleAction([0, 3, 3, 2, 2, 5, 5]), 7),
    "rotations of the plane": (B.PlaneRotations(), 6),
    "rotations of space": (ROTATIONS, 12),
    "rotations of some columns": (ROTATIONS.on_columns([0, 2, 3]), 5),
    "rotations of labelled points": (G.OnPoints(ROTATIONS, 4, coordinates=(1, 2, 3)), 12),
    "rotations and mirror images": (ROTATIONS.then(G.Negation()), 9),
    "permutations and negation": (G.Permutations(20).then(G.Negation()), 20),
    "permutations of blocks and negation": (G.Permutations(4, block=2).then(G.Negation()), 8),
    "a circle on several points": (G.OnPoints(G.CircleAction([0, 3, 3, 2, 2]), 5), 10),
    "teams": (B.Wreath(G.Permutations(2), G.Permutations(2), block=2), 8),
    "atoms": (G.AtomPermutations(3), 9),
}


@pytest.mark.parametrize("name", GROUPS)
def test_representatives_are_invariant_and_in_the_orbit(name):
    group, d = GROUPS[name]
    X = RNG.standard_normal((4, d)).round(1)  # some entries are equal
    representatives = group.canonical(X)
    assert representatives.shape == X.shape
    for moved in group.act(group.sample(5, random_state=0), X):
        assert_allclose(group.canonical(moved), representatives, atol=1e-9)
    assert_allclose(group.canonical(representatives), representatives, atol=1e-9)
    # A point at distance zero from the orbit: the best fit of the two is one.
    if group.order == np.inf or group.order <= 1000 or group.aligned(X) is not None:
        best = BestFit(Gaussian(1.0), group)(X, representatives)
        assert_allclose(best.diagonal(), np.ones(4), atol=1e-9)
    else:
        assert_allclose(np.sort(np.abs(representatives), axis=1), np.sort(np.abs(X), axis=1))


def test_points_of_different_orbits_have_different_representatives():
    X = np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])
    same, different = G.Permutations(3).canonical(X), G.CyclicShifts(3).canonical(X)
    assert np.array_equal(same[0], same[1]) and not np.array_equal(different[0], different[1])
    mirrored = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1]])
    assert np.abs(ROTATIONS.canonical(mirrored) - ROTATIONS.canonical(-mirrored)).max() > 1


@pytest.mark.parametrize("point", [np.zeros(9), np.tile([1e12, 0.0, 0.0], 3)])
def test_points_without_a_frame(point):
    rows = ROTATIONS.act(ROTATIONS.sample(3, random_state=0), point[None])[:, 0]
    representatives = ROTATIONS.canonical(rows)
    assert_allclose(representatives, np.tile(point, (3, 1)), atol=1e-2)


def test_angles_on_a_torus():
    group = G.TorusTranslations([4, 1], period=2.0)
    assert_allclose(group.canonical([[1.7, 0.3], [-0.3, 2.3]]), [[0.2, 0.3], [0.2, 0.3]])


def test_shapes_of_images_are_kept():
    group = G.CyclicTranslations((3, 4))
    images = RNG.standard_normal((2, 3, 4))
    assert_allclose(group.canonical(images).reshape(2, 12), group.canonical(images.reshape(2, 12)))


def test_sets_without_representatives_say_so():
    with pytest.raises(ParameterError, match="canonical needs a group"):
        G.Translations((1, 6), 2).canonical(np.ones((1, 6)))
    many = G.Permutations(20).on_each(2)
    with pytest.raises(ParameterError, match="elements"):
        many.canonical(np.ones((1, 40)))
