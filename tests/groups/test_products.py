"""Transformations made of other transformations: composed, tabulated, projected, on points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from invariance import beyond
from invariance import groups as G
from invariance.core.parameters import ParameterError
from invariance.features import OrbitFourier
from invariance.kernels import Average, BestFit, Gaussian


def test_a_composition_applies_its_first_part_first():
    both = G.Composition(G.CyclicShifts(3), G.SignFlips(3))
    x = np.array([[1.0, 2.0, 3.0]])
    for element in both.elements():
        shift, flip = both.split(element[None])
        nested = G.SignFlips(3).act(flip, G.CyclicShifts(3).act(shift, x)[0])[0]
        assert np.array_equal(both.act(element[None], x)[0], nested)
    assert np.array_equal(both.act(both.elements(), x).shape, (24, 1, 3))


def test_parts_with_the_same_number_of_features_compose_whatever_their_shape():
    X = np.random.default_rng(0).standard_normal((2, 9))
    shifts = G.Translations((3, 3), 1)
    maps = G.LinearMaps(np.stack([np.eye(9), -np.eye(9)]))
    both = maps.then(shifts)
    assert_array_equal(both.act(both.elements(), X)[9:], shifts.act(shifts.elements(), -X))
    turned = G.CyclicShifts(9).then(shifts)
    assert turned.shape == (3, 3) and turned.act(turned.sample(4, 0), X.reshape(2, 3, 3)).ndim == 4
    images = G.Translations((2, 8), 0).then(G.Translations((4, 4), 1))
    assert images.act(images.sample(3, 0), np.ones((2, 16))).shape == (3, 2, 16)


def test_a_composition_of_commuting_groups_is_a_group():
    within = G.OrthogonalMatrices([np.kron(np.eye(4), np.roll(np.eye(3), 1, axis=0))])
    for first, second in (
        (G.CyclicShifts(4, block=3), within),
        (within, G.CyclicShifts(4, block=3)),
        (G.Permutations(5), G.Negation()),
        (G.Negation(), G.SignFlips(5)),
    ):
        both = first.then(second)
        assert both.is_group and both.symmetric and both.one_sided
        X = np.random.default_rng(0).standard_normal((4, both.n_features))
        kernel = Average(Gaussian(0.1), both)
        assert_allclose(kernel(X), Average(Gaussian(0.1), both, side="both")(X), rtol=1e-10)
        listed = both.act(both.elements(), X[:1])[:, 0]
        closed = both.act(both.elements()[1:2], listed)[0]
        assert np.abs(closed[:, None] - listed).max(axis=2).min(axis=1).max() < 1e-12
    for first, second in (
        (G.SignFlips(2).on_columns([0, 1]), G.CyclicShifts(4)),
        (G.CyclicShifts(4), G.SignFlips(2).on_columns([0, 1])),
        (G.CyclicShifts(4), G.Translations((1, 4), shifts=[[0, 0], [0, 1]])),
    ):
        both = first.then(second)
        assert not (both.is_group or both.symmetric or both.one_sided)


@pytest.mark.parametrize(
    ("first", "second", "one_sided"),
    [
        (G.CyclicShifts(4), G.SignFlips(4), True),
        (G.SignFlips(4), G.CyclicShifts(4), True),
        (G.Permutations(4), G.CyclicShifts(4), True),
        (G.SignFlips(2).on_columns([0, 1]), G.CyclicShifts(4), False),
        (G.CyclicShifts(4), G.SignFlips(2).on_columns([0, 1]), False),
    ],
    ids=repr,
)
def test_one_mean_is_enough_if_orbits_are_mapped_onto_orbits(first, second, one_sided):
    """Shifts map sets of points that differ in signs onto such sets, but not in two signs alone."""
    both = first.then(second)
    assert both.one_sided == one_sided
    X = np.random.default_rng(0).standard_normal((4, 4))
    images = both.act(both.elements(), X)
    n_elements = len(images)
    values = Gaussian(0.1)(images.reshape(-1, 4))
    expected = values.reshape(n_elements, 4, n_elements, 4).mean(axis=(0, 2))
    assert_allclose(Average(Gaussian(0.1), both)(X), expected, rtol=1e-10)
    one_sum = Average(Gaussian(0.1), both, side="second")(X)
    assert np.allclose(one_sum, expected) == one_sided


def test_a_tabulated_affine_action_agrees_with_the_affine_action():
    rng = np.random.default_rng(0)
    moves = {"rotation": G.VonMises(9), "scaling": G.LogNormal(0.3), "translation": G.Normal(0.3)}
    affine = G.Affine((8, 8), **moves, interpolation=1)
    projection = rng.standard_normal((5, 64))
    projected = affine.then(G.LinearMaps(projection[None]))
    elements = projected.sample(4, 1)
    X = rng.standard_normal((6, 64))
    expected = affine.act(projected.split(elements)[0], X.reshape(-1, 8, 8)).reshape(4, 6, 64)
    assert_allclose(projected.act(elements, X), expected @ projection.T)
    assert_allclose(projected.act(elements, X.reshape(-1, 8, 8)), expected @ projection.T)
    assert projected.shape == (8, 8) and not projected.unitary
    maps = G.LinearMaps(projected.act(elements, np.eye(64)).swapaxes(1, 2))
    assert maps.order == 4 and maps.shape == (64,) and not maps.unitary
    assert_allclose(maps.act(maps.elements(), X), projected.act(elements, X), atol=1e-12)
    for acting in (maps, projected):
        features = OrbitFourier(acting, 30, n_transforms=4, gamma=0.1, random_state=0).fit(X)
        omega = features.templates_
        phase = features.phases_
        assert features.side_ == "first" and omega.shape == (30, 5)
        transformed = acting.act(features.elements_, X)
        plain = np.mean([np.cos(Z @ omega.T + phase) for Z in transformed], axis=0)
        assert_allclose(features.transform(X), np.sqrt(2 / 30) * plain, atol=1e-12)


def test_a_group_acts_on_each_point_of_a_set_and_missing_points_stay_missing():
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
def test_sets_on_points_have_the_properties_of_their_group(group):
    G.check_group(group)
    inner = getattr(group, "group", group)
    assert (group.unitary, group.order) == (inner.unitary, inner.order)


class Reversal(G.FiniteGroup):
    """A group of one's own, on points of any length."""

    linear = True
    order = 2

    def generators(self):
        return np.array([-1])

    def identity(self):
        return np.array([1])

    def compose(self, first, second):
        return np.asarray(first) * np.asarray(second)

    def inverse(self, elements):
        return np.asarray(elements)

    def _act(self, elements, X):
        return np.stack([X[:, ::sign] for sign in elements.tolist()])


def test_rotations_of_some_columns_of_several_points():
    """Rotations about the third axis, written in two ways."""
    X = np.random.default_rng(0).standard_normal((3, 6))
    about_axis = G.OnPoints(beyond.PlaneRotations().on_columns([0, 1]), 3)
    same = G.OnPoints(beyond.PlaneRotations(), 3, coordinates=(0, 1))
    turned = about_axis.act([0.3], X)[0]
    assert_allclose(turned, same.act([0.3], X)[0])
    for kernel in (BestFit, Average):
        gram = kernel(Gaussian(0.3), about_axis)(X)
        assert_allclose(gram, kernel(Gaussian(0.3), same)(X), rtol=1e-6)
        assert_allclose(kernel(Gaussian(0.3), about_axis)(turned, X), gram, rtol=1e-6)
    assert_allclose(about_axis.canonical(turned), same.canonical(X), atol=1e-12)
    best = BestFit(Gaussian(0.3), about_axis).best_element(X[:1], X[1:])
    assert_allclose(best, BestFit(Gaussian(0.3), same).best_element(X[:1], X[1:]))


@pytest.mark.parametrize(
    "group", [G.CyclicShifts(3).on_columns([0, 1, 2]), Reversal(), G.Negation()], ids=repr
)
def test_groups_of_any_length_act_on_each_point_of_a_set(group):
    X = np.random.default_rng(0).standard_normal((3, 6))
    on_points = G.OnPoints(group, 3)
    images = on_points.act(on_points.elements(), X)
    values = np.array([Gaussian(0.3)(X, image) for image in images])
    assert_allclose(BestFit(Gaussian(0.3), on_points)(X), values.max(axis=0))
    assert_allclose(Average(Gaussian(0.3), on_points)(X), values.mean(axis=0))
    for image in images:
        assert_allclose(on_points.canonical(image), on_points.canonical(X))


# -- groups that combine ---------------------------------------------------------------------------

PRODUCTS = [
    (G.CyclicShifts(5, block=3), G.Permutations(3).on_each(5)),
    (G.Permutations(3).on_each(4), G.CyclicShifts(4, block=3)),
    (G.Permutations(4), G.Negation()),
    (G.SignFlips(2).on_columns([0, 1]), G.Permutations(3).on_columns([2, 3, 4])),
    (G.CyclicShifts(6), G.CyclicShifts(6)),
]


@pytest.mark.parametrize(("first", "second"), PRODUCTS, ids=repr)
def test_times_is_the_direct_product(first, second):
    """Its elements are all pairs of elements, applied one after the other."""
    both = first.times(second)
    assert both.is_group and both.symmetric and both.order == first.order * second.order
    X = np.random.default_rng(0).standard_normal((4, both.n_features or 6))
    pairs = np.array(
        [first.act(first.elements(), second.act(g[None], X)[0]) for g in second.elements()]
    )
    distances = ((X[:, None] - pairs.reshape(-1, 1, *X.shape)) ** 2).sum(axis=3)
    values = np.exp(-0.1 * distances)
    for kernel, expected in (
        (Average(Gaussian(0.1), both), values.mean(axis=0)),
        (BestFit(Gaussian(0.1), both), values.max(axis=0)),
    ):
        assert_allclose(kernel(X), expected, atol=1e-12)


def test_a_group_with_one_dominant_weight_is_compared_by_all_elements():
    """The smallest rotation does not commute with shifts, however rarely it is drawn."""
    turns = G.CircleAction([1, 1], G.VonMises(2.0), n_nodes=4).on_columns([0, 2])
    both = turns.then(G.CyclicShifts(4))
    assert turns.weights().max() > 0.7 and not (both.is_group or both.symmetric)
    X = np.random.default_rng(0).standard_normal((4, 4))
    values = [Gaussian(0.3)(X, image) for image in both.act(both.elements(), X)]
    assert_allclose(BestFit(Gaussian(0.3), both)(X), np.max(values, axis=0))
    with pytest.raises(ParameterError, match="times needs groups that commute, but element"):
        turns.times(G.CyclicShifts(4))


def test_times_preserves_the_fast_methods_of_the_factors():
    """Shifts use a correlation, and each point is permuted once per channel permutation."""
    shifts = G.CyclicShifts(32, block=4)
    channels = G.Permutations(4).on_each(32)
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


def test_a_group_on_some_columns_leaves_the_other_columns_fixed():
    group = G.Permutations(3).on_columns([4, 0, 2])
    G.check_group(G.Permutations(3).on_each(2))
    transformed = group.act(group.elements(), np.arange(6.0)[None])[:, 0]
    assert_array_equal(np.unique(transformed[:, [1, 3, 5]], axis=0), [[1.0, 3.0, 5.0]])
    assert_array_equal(
        transformed[:, [4, 0, 2]], G.Permutations(3).act(group.elements(), [[4.0, 0, 2]])[:, 0]
    )


def test_a_missing_value_in_a_column_that_stays_does_not_prevent_the_transformation():
    group = G.SignFlips(2).on_columns([0, 2])
    X = [[1.0, np.nan, 3.0], [1.0, 2.0, np.nan]]
    assert_array_equal(group.act([[-1, -2]], X)[0], [[-1.0, np.nan, -3.0], [1.0, 2.0, np.nan]])


WREATHS = [
    beyond.Wreath(G.Permutations(3), G.Permutations(2), block=2),
    beyond.Wreath(G.CyclicShifts(3), G.CyclicShifts(4)),
    beyond.Wreath(G.SignFlips(1), G.Permutations(3)),
    beyond.Wreath(G.Permutations(2, block=2), G.Permutations(2)),
]


@pytest.mark.parametrize("group", WREATHS, ids=repr)
def test_wreath_products(group):
    """They satisfy the axioms; an element sends part p(k), transformed by a_p(k), to position k."""
    G.check_group(group)
    elements = group.elements()
    assert len(np.unique(elements, axis=0)) == len(elements) == group.order
    m = group.outer.n_features
    X = np.random.default_rng(0).standard_normal((2, group.n_features))
    sample = np.random.default_rng(1).integers(len(elements), size=20)
    for transformed, element in zip(group.act(elements[sample], X), elements[sample], strict=True):
        cut = group.outer.identity()[0].size
        places = group.outer.act([element[:cut]], np.arange(m)[None])[0, 0].astype(int)
        inner = element[cut:].reshape(m, -1)
        for x, y in zip(
            X.reshape(2, m, -1, group.block),
            transformed.reshape(2, m, -1, group.block),
            strict=True,
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
def test_explain_counts_the_operations_of_products_of_groups(group):
    X = np.random.default_rng(0).standard_normal((20, 12))
    for kernel in (Average(Gaussian(0.1), group), BestFit(Gaussian(0.1), group)):
        plan = kernel.explain(X)
        assert plan.way == "product"
        assert plan.operations > 2 * 20 * 20 * 12 * group.order  # one inner product per element
