"""`canonical`: the representative lies in the orbit and is the same for all points of the orbit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

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


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e200])
@pytest.mark.parametrize("rotations", [B.PlaneRotations(), ROTATIONS], ids=["plane", "space"])
def test_rotated_points_in_units_whose_squares_overflow_or_vanish(rotations, unit):
    X = np.random.default_rng(1).standard_normal((4, 6))
    moved = rotations.act(rotations.sample(1, 0), unit * X)[0]
    assert_allclose(rotations.canonical(moved) / unit, rotations.canonical(X), atol=1e-9)


def test_angles_on_a_torus():
    group = G.TorusTranslations([4, 1], period=2.0)
    assert_allclose(group.canonical([[1.7, 0.3], [-0.3, 2.3]]), [[0.2, 0.3], [0.2, 0.3]])


def test_angles_within_rounding_of_a_step_are_multiples_of_it():
    group = G.TorusTranslations([10], period=1.0)
    shifted = group.act(group.elements(), [[0.0]])[:, 0]
    for angles in (shifted, shifted.astype(np.float32), [[0.3], [0.4]]):
        assert_allclose(group.canonical(angles), np.zeros_like(angles), atol=1e-5)
    assert_array_equal(group.canonical([[0.1 - 1e-6]]), [[0.1 - 1e-6]])


FIFTH = [[np.cos(0.4 * np.pi), -np.sin(0.4 * np.pi)], [np.sin(0.4 * np.pi), np.cos(0.4 * np.pi)]]


@pytest.mark.parametrize(
    ("group", "x"),
    [
        (G.OrthogonalMatrices([np.kron(np.eye(2), FIFTH)]), [-1.0, 0.0, 0.3, 0.7]),
        (ROTATIONS, [1.0, 2.0, 3.0, 0.3, 0.6, 0.9, 0.3, 0.7, -0.2]),
        (G.CircleAction([1, 1, 2, 2]), [0.0, 0.0, 0.3, 0.7]),
    ],
    ids=["fifths of a turn", "rotations of space", "a circle"],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ties_up_to_rounding_do_not_change_the_representative(group, x, dtype):
    images = group.act(group.sample(20, 0), np.array([x], dtype))[:, 0]
    assert np.ptp(group.canonical(images), axis=0).max() < 1e-5


def test_infinite_and_missing_entries():
    for value in (np.inf, -np.inf, np.nan):
        cycle = G.CyclicShifts(3)
        first, second = cycle.canonical([[1.0, value, 2.0], [value, 2.0, 1.0]])
        assert_array_equal(first, second)
        assert_array_equal(np.sort(first), np.sort([1.0, value, 2.0]))
    points = np.array([[1.0, 2.0, np.nan, np.nan, 0.5, -1.0]])  # the second point is missing
    for group in (G.OnPoints(B.PlaneRotations(), 2), G.OrthogonalMatrices([QUARTER]).on_each(3)):
        for moved in group.act(group.sample(5, 0), points):
            assert_allclose(group.canonical(moved), group.canonical(points), atol=1e-12)
        with pytest.raises(ParameterError, match=r"X must be finite, but entry \(0, 2\) is inf"):
            group.canonical(np.where(np.isnan(points), np.inf, points))


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
