"""Transformations made of others: one after the other, tabulated, projected, on points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from invariance import beyond
from invariance import groups as G
from invariance.features import OrbitFourier
from invariance.kernels import Average, BestFit, Gaussian


def test_composition_applies_first_then_second():
    both = G.Composition(G.CyclicShifts(3), G.SignFlips(3))
    x = np.array([[1.0, 2.0, 3.0]])
    for element in both.elements():
        shift, flip = both.split(element[None])
        nested = G.SignFlips(3).act(flip, G.CyclicShifts(3).act(shift, x)[0])[0]
        assert np.array_equal(both.act(element[None], x)[0], nested)
    assert np.array_equal(both.act(both.elements(), x).shape, (24, 1, 3))


def test_parts_of_as_many_numbers_compose_whatever_their_shape():
    X = np.random.default_rng(0).standard_normal((2, 9))
    shifts, maps = G.Translations((3, 3), 1), G.LinearMaps(np.stack([np.eye(9), -np.eye(9)]))
    both = maps.then(shifts)
    assert_array_equal(both.act(both.elements(), X)[9:], shifts.act(shifts.elements(), -X))
    turned = G.CyclicShifts(9).then(shifts)
    assert turned.shape == (3, 3) and turned.act(turned.sample(4, 0), X.reshape(2, 3, 3)).ndim == 4
    images = G.Translations((2, 8), 0).then(G.Translations((4, 4), 1))
    assert images.act(images.sample(3, 0), np.ones((2, 16))).shape == (3, 2, 16)


def test_groups_that_commute_make_a_group():
    within = G.OrthogonalMatrices([np.kron(np.eye(4), np.roll(np.eye(3), 1, axis=0))])
    for one, two in (
        (G.CyclicShifts(4, block=3), within),
        (within, G.CyclicShifts(4, block=3)),
        (G.Permutations(5), G.Negation()),
        (G.Negation(), G.SignFlips(5)),
    ):
        both = one.then(two)
        assert both.is_group and both.symmetric and both.one_sided
        X = np.random.default_rng(0).standard_normal((4, both.n_features))
        kernel = Average(Gaussian(0.1), both)
        assert_allclose(kernel(X), Average(Gaussian(0.1), both, side="both")(X), rtol=1e-10)
        listed = both.act(both.elements(), X[:1])[:, 0]
        closed = both.act(both.elements()[1:2], listed)[0]
        assert np.abs(closed[:, None] - listed).max(axis=2).min(axis=1).max() < 1e-12
    for one, two in (
        (G.CyclicShifts(4), G.SignFlips(4)),
        (G.Permutations(3), G.CyclicShifts(3)),
        (G.CyclicShifts(4), G.Translations((1, 4), shifts=[[0, 0], [0, 1]])),
    ):
        both = one.then(two)
        assert not (both.is_group or both.symmetric or both.one_sided)


def test_a_tabulated_affine_action_gives_the_same_points_and_features():
    rng = np.random.default_rng(0)
    moves = {"rotation": G.VonMises(9), "scaling": G.LogNormal(0.3), "translation": G.Normal(0.3)}
    affine, projection = G.Affine((8, 8), **moves, interpolation=1), rng.standard_normal((5, 64))
    seen = affine.then(G.LinearMaps(projection[None]))
    elements, X = seen.sample(4, 1), rng.standard_normal((6, 64))
    expected = affine.act(seen.split(elements)[0], X.reshape(-1, 8, 8)).reshape(4, 6, 64)
    assert_allclose(seen.act(elements, X), expected @ projection.T)
    assert_allclose(seen.act(elements, X.reshape(-1, 8, 8)), expected @ projection.T)
    assert seen.shape == (8, 8) and not seen.unitary
    maps = G.LinearMaps(seen.act(elements, np.eye(64)).swapaxes(1, 2))
    assert maps.order == 4 and maps.shape == (64,) and not maps.unitary
    assert_allclose(maps.act(maps.elements(), X), seen.act(elements, X), atol=1e-12)
    for acting in (maps, seen):
        features = OrbitFourier(acting, 30, n_transforms=4, gamma=0.1, random_state=0).fit(X)
        omega, phase = features.templates_, features.phases_
        assert features.side_ == "first" and omega.shape == (30, 5)
        moved = acting.act(features.elements_, X)
        plain = np.mean([np.cos(Z @ omega.T + phase) for Z in moved], axis=0)
        assert_allclose(features.transform(X), np.sqrt(2 / 30) * plain, atol=1e-12)


def test_points_are_moved_one_by_one_and_missing_ones_stay_missing():
    X = np.random.default_rng(0).standard_normal((4, 5, 3))
    X[1, 3:] = np.nan
    for group, coordinates in ((G.SignFlips(2), (2, 0)), (G.CyclicShifts(3), None)):
        acting = G.OnPoints(group, 3, coordinates=coordinates)
        elements = group.sample(3, 0)
        columns = list(range(3)) if coordinates is None else list(coordinates)
        expected = np.repeat(X[None], 3, axis=0)
        for s in range(4):
            for p in range(5):
                if not np.isnan(X[s, p, 0]):
                    expected[:, s, p, columns] = group.act(elements, X[s, p, columns][None])[:, 0]
        assert_allclose(acting.act(elements, X), expected)
        assert_allclose(acting.act(elements, X.reshape(4, -1)), expected.reshape(3, 4, -1))


@pytest.mark.parametrize("group", [
    G.OnPoints(G.CyclicShifts(3), 3),
    G.OnPoints(G.SignFlips(2), 4, coordinates=(1, 2)),
    G.OnPoints(beyond.PlaneRotations(), 2),
    G.OnPoints(G.Translations(4, max_shift=1), 4),
    beyond.PlaneRotations(),
    beyond.PlaneRotations(7),
    beyond.Rotations3D(),
], ids=repr)  # fmt: skip
def test_they_are_what_the_group_is(group):
    G.check_group(group)
    inner = getattr(group, "group", group)
    assert (group.unitary, group.order) == (inner.unitary, inner.order)


# -- groups that combine ---------------------------------------------------------------------------

PRODUCTS = [
    (G.CyclicShifts(5, block=3), G.Permutations(3).on_each(5)),
    (G.Permutations(3).on_each(4), G.CyclicShifts(4, block=3)),
    (G.Permutations(4), G.Negation()),
    (G.SignFlips(2).on_columns([0, 1]), G.Permutations(3).on_columns([2, 3, 4])),
    (G.CyclicShifts(6), G.CyclicShifts(6)),
]


@pytest.mark.parametrize(("one", "two"), PRODUCTS, ids=repr)
def test_times_is_the_direct_product(one, two):
    """Every pair of elements, applied in turn in either order."""
    both = one.times(two)
    assert both.is_group and both.symmetric and both.order == one.order * two.order
    X = np.random.default_rng(0).standard_normal((4, both.n_features or 6))
    pairs = np.array([one.act(one.elements(), two.act(g[None], X)[0]) for g in two.elements()])
    distances = ((X[:, None] - pairs.reshape(-1, 1, *X.shape)) ** 2).sum(axis=3)
    values = np.exp(-0.1 * distances)
    for kernel, expected in (
        (Average(Gaussian(0.1), both), values.mean(axis=0)),
        (BestFit(Gaussian(0.1), both), values.max(axis=0)),
    ):
        assert_allclose(kernel(X), expected, atol=1e-12)


def test_times_keeps_the_factors_fast_ways():
    """A shift by correlation inside, the channels' permutations once for each point."""
    shifts, channels = G.CyclicShifts(32, block=4), G.Permutations(4).on_each(32)
    X = np.random.default_rng(0).standard_normal((20, 128))
    for both in (shifts.times(channels), channels.times(shifts)):
        explained = BestFit(Gaussian(0.1), both).explain(X)
        assert explained.way == "correlation"
        assert explained.operations < 0.3 * explained.alternatives["product"]


def test_continuous_groups_have_products():
    both = beyond.PlaneRotations(16).times(G.Permutations(3, block=2))
    assert both.is_group
    X = np.random.default_rng(0).standard_normal((3, 6))
    turned = beyond.PlaneRotations(16).act([2 * np.pi / 16], X)[0][:, [2, 3, 0, 1, 4, 5]]
    kernel = Average(Gaussian(0.3), both)
    assert_allclose(kernel(X, turned), kernel(X), rtol=1e-10)


def test_a_group_on_some_columns_leaves_the_others():
    group = G.Permutations(3).on_columns([4, 0, 2])
    G.check_group(G.Permutations(3).on_each(2))
    moved = group.act(group.elements(), np.arange(6.0)[None])[:, 0]
    assert_array_equal(np.unique(moved[:, [1, 3, 5]], axis=0), [[1.0, 3.0, 5.0]])
    assert_array_equal(
        moved[:, [4, 0, 2]], G.Permutations(3).act(group.elements(), [[4.0, 0, 2]])[:, 0]
    )


WREATHS = [
    beyond.Wreath(G.Permutations(3), G.Permutations(2), block=2),
    beyond.Wreath(G.CyclicShifts(3), G.CyclicShifts(4)),
    beyond.Wreath(G.SignFlips(1), G.Permutations(3)),
    beyond.Wreath(G.Permutations(2, block=2), G.Permutations(2)),
]


@pytest.mark.parametrize("group", WREATHS, ids=repr)
def test_wreath_products(group):
    """Axioms; and every element sends part p(k), moved by a_p(k), to place k."""
    G.check_group(group)
    elements = group.elements()
    assert len(np.unique(elements, axis=0)) == len(elements) == group.order
    m = group.outer.n_features
    X = np.random.default_rng(0).standard_normal((2, group.n_features))
    some = np.random.default_rng(1).integers(len(elements), size=20)
    for moved, element in zip(group.act(elements[some], X), elements[some], strict=True):
        cut = group.outer.identity()[0].size
        places = group.outer.act([element[:cut]], np.arange(m)[None])[0, 0].astype(int)
        inner = element[cut:].reshape(m, -1)
        for x, y in zip(
            X.reshape(2, m, -1, group.block), moved.reshape(2, m, -1, group.block), strict=True
        ):
            for k, j in enumerate(places):
                expected = [
                    group.inner.act(inner[j][None], x[j, :, [b]])[0, 0] for b in range(group.block)
                ]
                assert_allclose(y[k], np.transpose(expected))


@pytest.mark.parametrize(
    "group",
    [WREATHS[0], G.Permutations(3).on_each(4), G.Permutations(3).on_columns([4, 0, 2])],
    ids=repr,
)
def test_groups_made_of_others_tell_what_they_cost(group):
    X = np.random.default_rng(0).standard_normal((20, 12))
    for kernel in (Average(Gaussian(0.1), group), BestFit(Gaussian(0.1), group)):
        told = kernel.explain(X)
        assert told.way == "product"
        assert told.operations > 2 * 20 * 20 * 12 * group.order  # a product for each element
