"""Features over infinite groups: invariant to the tolerance, or a warning tells how far off."""

import pickle
import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from invariance import beyond
from invariance import groups as G
from invariance.beyond import MaxFilter
from invariance.features import GroupCDF, OrbitFourier, OrbitNystroem
from invariance.kernels import Laplacian, Polynomial

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 6))
TURNS = beyond.PlaneRotations()
REFLECTION = G.OrthogonalMatrices([np.diag([1.0, -1.0])])

#: Infinite groups on six coordinates: alone, on some columns, on each point, and composed.
INFINITE = [
    TURNS,
    TURNS.on_columns([4, 1]),
    TURNS.on_each(3),
    G.OnPoints(TURNS, 3, coordinates=(0, 2)),
    TURNS.then(G.Negation()),
    TURNS.then(G.OnPoints(REFLECTION, 2)),
    TURNS.times(G.Permutations(3, block=2)),
    G.CyclicShifts(3, block=2).then(TURNS),
    TURNS.on_columns([0, 1]).then(TURNS.on_columns([2, 3])),
    G.CircleAction([0, 1, 1, 2, 2, 0]),
    G.CircleAction([1, 1, 3, 3, 7, 7]),
    G.CircleAction([0, 5, 5, 5, 5, 0]),
    G.OnPoints(G.CircleAction([0, 1, 1]), 3),
    beyond.Rotations3D(),
    beyond.Rotations3D().on_columns([0, 2, 5]),
    beyond.Rotations3D().on_each(2),
]
FEATURES = {
    "fourier": lambda group: OrbitFourier(group, 40, gamma=0.3, random_state=0),
    "both waves": lambda group: OrbitFourier(
        group, 20, gamma=0.3, form="cos_sin", kernel="gaussian", random_state=0
    ),
    "nystroem": lambda group: OrbitNystroem(group, 20, gamma=0.3, random_state=0),
    "cdf": lambda group: GroupCDF(group, 15, n_bins=10, s="data", random_state=0),
    "max": lambda group: MaxFilter(group, 20, random_state=0),
}


def moved_by(group, points, seed=1):
    """Each point after a random element of its own."""
    elements = group.sample(len(points), seed)
    return np.stack([group.act(elements[i : i + 1], p[None])[0, 0] for i, p in enumerate(points)])


def change(features, group, points):
    """How much features change where points are moved, relative to their size."""
    values = features.transform(points)
    return np.linalg.norm(features.transform(moved_by(group, points)) - values) / np.linalg.norm(
        values
    )


@pytest.mark.parametrize("group", INFINITE, ids=lambda group: repr(group)[:60])
@pytest.mark.parametrize("name", FEATURES)
def test_features_are_invariant_to_the_tolerance(name, group):
    features = FEATURES[name](group)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features.fit(X)
        assert change(features, group, X) <= features.tolerance
        # points of which more moves than of those of fit
        assert change(features, group, 1.5 * X[:10]) <= features.tolerance


@pytest.mark.parametrize("group", [TURNS, G.CircleAction([1, 1, 2, 2, 0, 0])], ids=repr)
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 30.0])
def test_nodes_are_as_many_as_the_width_asks_for(group, gamma):
    features = OrbitFourier(group, 50, gamma=gamma, random_state=0).fit(X)
    assert change(features, group, X) <= 1e-4
    fine = G.CircleAction([1] * 6, n_nodes=5000)
    if group is not TURNS:
        fine = G.CircleAction(group.frequencies, n_nodes=5000)
    plain = clone(features).set_params(group=fine).fit(X)
    assert_allclose(features.transform(X), plain.transform(X), atol=1e-5)


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize(
    "group",
    [
        TURNS,
        TURNS.then(G.SignFlips(6)),
        G.SignFlips(2).on_columns([0, 3]).then(TURNS).then(G.CyclicShifts(3, block=2)),
        TURNS.on_columns([3, 0]),
        G.OnPoints(G.CircleAction([2, 2, 0]), 3),
    ],
    ids=lambda group: repr(group)[:50],
)
def test_turns_of_one_frequency_agree_with_many_listed_ones(name, group):
    """The closed form against its definition, over 600 turns, whose shares err by 1 / 600."""
    few = X[:3]

    def listed(part):
        if isinstance(part, G.Composition):
            return listed(part.first).then(listed(part.second))
        if isinstance(part, G.OnPoints):
            inner = {"group": listed(part.group)}
            return G.OnPoints(**part.get_params(deep=False) | inner)
        if isinstance(part, beyond.PlaneRotations):
            return beyond.PlaneRotations(600)
        if isinstance(part, G.CircleAction):
            return G.CircleAction(part.frequencies, n_nodes=600)
        return part

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = FEATURES[name](group).set_params(n_components=4).fit(few)
        two = FEATURES[name](listed(group)).set_params(n_components=4).fit(few)
        if name == "cdf":
            two.set_params(s=one.s_).fit(few)
            one.set_params(s=one.s_).fit(few)
    # Largest values are missed by |x| |t| (pi / 300)^2 / 2, where the frequency is 2.
    atol = {"cdf": 4e-3, "max": 5e-4}.get(name, 5e-5)
    assert_allclose(one.transform(few), two.transform(few), atol=atol)


@pytest.mark.parametrize("small", [0.0, 1e-9, 1e-6, 1e-4])
@pytest.mark.parametrize("size", [20.0, 60.0])
def test_rules_that_are_nearly_the_same_set_do_not_pass_for_enough(small, size):
    """Turns by 1/9 with half turns are turns by 1/18, up to what moves at another frequency."""
    group = G.CircleAction([1, 1, 2, 2]).then(G.Negation())
    points = np.array([[size, 0.0, small, small]])
    features = OrbitFourier(group, 6, gamma=0.3, random_state=0)
    for fitted in (features.fit(points), clone(features).fit(points / 30)):
        whole = fitted.transform(points)
        for angle in (0.1, 1.0):
            element = [[angle, 1.0]]
            moved = fitted.transform(group.act(element, points)[0])
            assert_allclose(moved, whole, atol=1e-3 * np.linalg.norm(whole))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("group", [TURNS.on_columns([0, 1]), G.CircleAction([2, 2, 0, 0, 0])])
def test_products_that_tie_up_to_rounding_count_at_the_threshold_also_for_arcs(group, kind):
    """0.1 + 0.2 - 0.3 is no zero in floating point; half of a circle lies at zero or below."""
    points = np.array([[0, 0, 0.1, 0.2, -0.3], [3, 4, 0.1, 0.2, -0.3]], kind)
    features = GroupCDF(group, 1, templates=np.ones((1, 5)), n_bins=1, s=20.0).fit(points)
    shares = features.transform(points) / features.transform(points)[:1, -1:]
    # The second point's products are 5 sqrt(2) cos t.
    assert_allclose(shares, [[0, 1, 1], [0, 0.5, 1]], atol=1e-6)


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize(
    "given, group",
    [
        (beyond.PlaneRotations(5), TURNS),
        (G.CircleAction([0, 1, 1, 3, 3, 0], n_nodes=7), G.CircleAction([0, 1, 1, 3, 3, 0])),
        (beyond.Rotations3D(2), beyond.Rotations3D()),
        (beyond.PlaneRotations(5).then(G.Negation()), TURNS.then(G.Negation())),
        (beyond.PlaneRotations(5).on_columns([0, 1]), TURNS.on_columns([0, 1])),
    ],
    ids=lambda group: repr(group)[:50],
)
def test_nodes_that_were_given_stay_and_too_few_say_by_how_much(name, given, group):
    features = FEATURES[name](given)
    with pytest.warns(UserWarning, match=f"over {given.order} nodes the features") as caught:
        features.fit(2 * X)
    (message,) = (str(each.message) for each in caught if "nodes" in str(each.message))
    told = float(re.search(r"differ by about ([\d.e+-]+) of", message)[1])
    # The largest of a few pairs is told, the root mean square over all points is measured.
    assert change(features, group, 2 * X) < 3 * told
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough, and the warning's remedy is one
        features.transform(3 * X)
        accepted = float(re.search(r"tolerance=([\d.e+-]+)", message)[1])
        clone(features).set_params(tolerance=accepted).fit(2 * X)


def test_enough_nodes_are_taken_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for group in (beyond.PlaneRotations(64), G.CircleAction([1, 1, 2, 2, 0, 0], n_nodes=64)):
            features = OrbitFourier(group, 30, gamma=0.1, random_state=0).fit(X)
            assert len(features.elements_) == 64 and features.transform(X).shape == (60, 30)


def test_nodes_that_would_be_too_many_warn():
    features = OrbitFourier(beyond.Rotations3D(), 10, gamma=100.0, random_state=0)
    with pytest.warns(UserWarning, match="differ by about .* take a smaller gamma"):
        features.fit(X[:10])


def test_points_of_transform_do_not_depend_on_earlier_calls():
    group = G.CircleAction([0, 1, 1, 2, 2, 0])
    features = OrbitFourier(group, 30, gamma=0.5, random_state=0).fit(X)
    before = features.transform(X)
    far = features.transform(5 * X)
    assert np.array_equal(features.transform(X), before)
    fresh = clone(features).fit(X)
    assert np.array_equal(fresh.transform(5 * X), far)
    assert np.array_equal(pickle.loads(pickle.dumps(features)).transform(5 * X), far)


def test_what_does_not_move_asks_for_no_nodes():
    group = G.CircleAction([0, 0, 1, 1, 2, 2])
    few = OrbitFourier(group, 30, gamma=0.1, random_state=0).fit(X)
    far = X.copy()
    far[:, :2] *= 1000
    many = OrbitFourier(group, 30, gamma=0.1, random_state=0).fit(far)
    assert len(many.elements_) == len(few.elements_)
    assert change(many, group, far) <= 1e-4


@pytest.mark.parametrize("density", [G.VonMises(2.0), G.VonMises(1.0, loc=0.7), G.Uniform(-1, 1)])
@pytest.mark.parametrize("name", ["fourier", "nystroem", "cdf"])
def test_densities_are_integrated_to_the_tolerance(name, density):
    """Against 4,000 nodes; a uniform density on a part of the circle ends abruptly: to 2 %."""
    frequencies = [0, 1, 1, 2, 2, 0]
    features = FEATURES[name](G.CircleAction(frequencies, density)).set_params(tolerance=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = features.fit_transform(X[:20])
        fine = G.CircleAction(frequencies, density, n_nodes=4000)
        exact = clone(features).set_params(group=fine).fit_transform(X[:20])
    assert np.linalg.norm(found - exact) <= 0.02 * np.linalg.norm(exact)


def test_shares_of_elements_that_weigh_differently():
    """phi_jk(x) = sqrt(s / (n m)) sum_i w_i 1[<g_i t_j, x> <= s k / n], over a weighted rule."""
    group = beyond.Rotations3D(3)
    model = GroupCDF(group, 4, n_bins=3, tolerance=10.0, random_state=0).fit(X)
    elements, weights = group.quadrature()
    moved = group.act(elements, model.templates_)
    thresholds = model.s_ * np.arange(-3, 4) / 3
    below = np.einsum("rjd,nd->rnj", moved, X)[..., None] <= thresholds
    expected = np.sqrt(model.s_ / 12) * np.einsum("r,rnjk->njk", weights, below)
    assert_allclose(model.transform(X), expected.reshape(len(X), -1), atol=1e-12)


@pytest.mark.parametrize("kernel", [Polynomial(3), Laplacian(0.1)], ids=repr)
def test_landmarks_of_other_kernels_too(kernel):
    features = OrbitNystroem(TURNS, 12, kernel=kernel, rcond=1e-6, tolerance=1e-3, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        features.fit(X)
    assert change(features, TURNS, X) <= 1e-3 or any("differ by" in str(w.message) for w in caught)


def test_single_precision_and_large_numbers_of_points():
    group = G.CircleAction([0, 1, 1, 2, 2, 0])
    single = OrbitFourier(group, 30, gamma=0.5, random_state=0).fit(X.astype(np.float32))
    values = single.transform(X.astype(np.float32))
    assert values.dtype == np.float32
    moved = moved_by(group, X).astype(np.float32)
    assert np.abs(single.transform(moved) - values).max() < 1e-4


def test_tensors_with_gradients_go_over_nodes():
    torch = pytest.importorskip("torch")
    features = OrbitFourier(TURNS, 10, gamma=0.5, random_state=0).fit(X)
    points = torch.tensor(X[:5], requires_grad=True)
    values = features.transform(points)
    assert_allclose(values.detach().numpy(), features.transform(X[:5]), atol=1e-4)
    values.sum().backward()
    step = 1e-5 * np.eye(6)
    due = [
        (features.transform(X[:5] + s).sum(axis=1) - features.transform(X[:5] - s).sum(axis=1))
        / 2e-5
        for s in step
    ]
    assert_allclose(points.grad.numpy(), np.transpose(due), atol=1e-3)
