"""Features over infinite groups are invariant to a tolerance, or a warning states the error."""

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


def randomly_transformed(group, points, seed=1):
    """Points, each transformed by its own random element."""
    elements = group.sample(len(points), seed)
    return np.stack([group.act(elements[i : i + 1], p[None])[0, 0] for i, p in enumerate(points)])


def relative_change(features, group, points):
    """Root mean square change of the features of transformed points, relative to the features."""
    values = features.transform(points)
    return np.linalg.norm(
        features.transform(randomly_transformed(group, points)) - values
    ) / np.linalg.norm(values)


@pytest.mark.parametrize("group", INFINITE, ids=lambda group: repr(group)[:60])
@pytest.mark.parametrize("name", FEATURES)
def test_features_are_invariant_to_the_tolerance(name, group):
    features = FEATURES[name](group)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        features.fit(X[:30])
        assert relative_change(features, group, X[:30]) <= features.tolerance
        # These points have a larger part that the group transforms than the points of fit.
        assert relative_change(features, group, 1.5 * X[:10]) <= features.tolerance


@pytest.mark.parametrize("group", [TURNS, G.CircleAction([1, 1, 2, 2, 0, 0])], ids=repr)
@pytest.mark.parametrize("gamma", [1e-3, 1.0, 30.0])
def test_the_number_of_nodes_follows_the_bandwidth(group, gamma):
    features = OrbitFourier(group, 50, gamma=gamma, random_state=0).fit(X)
    assert relative_change(features, group, X) <= 1e-4
    fine = G.CircleAction([1] * 6, n_nodes=5000)
    if group is not TURNS:
        fine = G.CircleAction(group.frequencies, n_nodes=5000)
    few = X[:15]
    plain = clone(features).set_params(group=fine).fit(few)
    assert_allclose(features.transform(few), plain.transform(few), atol=1e-5)


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
def test_rotations_of_one_frequency_agree_with_many_listed_rotations(name, group):
    """The closed form agrees with 600 listed rotations, whose shares have errors of 1 / 600."""
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
        closed = FEATURES[name](group).set_params(n_components=4).fit(few)
        two = FEATURES[name](listed(group)).set_params(n_components=4)
        if name == "cdf":
            two.set_params(s=closed.s_)
            closed.set_params(s=closed.s_).fit(few)
        two.fit(few)
    # The grid misses maxima by at most |x| |t| (pi / 300)^2 / 2 because the frequency is 2.
    atol = {"cdf": 4e-3, "max": 5e-4}.get(name, 5e-5)
    assert_allclose(closed.transform(few), two.transform(few), atol=atol)


@pytest.mark.parametrize("small", [0.0, 1e-9, 1e-6, 1e-4])
@pytest.mark.parametrize("size", [20.0, 60.0])
def test_two_quadratures_with_nearly_the_same_nodes_are_not_accepted_as_converged(small, size):
    """Nine rotations with half turns are nearly eighteen rotations, except at other frequencies."""
    group = G.CircleAction([1, 1, 2, 2]).then(G.Negation())
    points = np.array([[size, 0.0, small, small]])
    features = OrbitFourier(group, 6, gamma=0.3, random_state=0)
    orbit = np.concatenate([points, *group.act([[0.1, 1.0], [1.0, 1.0]], points)])
    for fitted in (features.fit(points), clone(features).fit(points / 30)):
        values, *transformed = fitted.transform(orbit)
        for others in transformed:
            assert_allclose(others, values, atol=1e-3 * np.linalg.norm(values))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("group", [TURNS.on_columns([0, 1]), G.CircleAction([2, 2, 0, 0, 0])])
def test_products_equal_to_a_threshold_up_to_rounding_count_for_arcs(group, kind):
    """0.1 + 0.2 - 0.3 is not zero in floating point; half of the circle is at or below zero."""
    points = np.array([[0, 0, 0.1, 0.2, -0.3], [3, 4, 0.1, 0.2, -0.3]], kind)
    features = GroupCDF(group, 1, templates=np.ones((1, 5)), n_bins=1, s=20.0).fit(points)
    shares = features.transform(points) / features.transform(points)[:1, -1:]
    # The inner products of the second point are 5 sqrt(2) cos t.
    assert_allclose(shares, [[0, 1, 1], [0, 0.5, 1]], atol=1e-6)


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize(
    "coarse, group",
    [
        (beyond.PlaneRotations(5), TURNS),
        (G.CircleAction([0, 1, 1, 3, 3, 0], n_nodes=7), G.CircleAction([0, 1, 1, 3, 3, 0])),
        (beyond.Rotations3D(2), beyond.Rotations3D()),
        (beyond.PlaneRotations(5).then(G.Negation()), TURNS.then(G.Negation())),
        (beyond.PlaneRotations(5).on_columns([0, 1]), TURNS.on_columns([0, 1])),
    ],
    ids=lambda group: repr(group)[:50],
)
def test_explicit_nodes_are_used_and_a_warning_estimates_the_error_of_too_few(name, coarse, group):
    features = FEATURES[name](coarse)
    with pytest.warns(UserWarning, match=f"over {coarse.order} nodes the features") as caught:
        features.fit(2 * X)
    (message,) = (str(each.message) for each in caught if "nodes" in str(each.message))
    estimate = float(re.search(r"differ by about ([\d.e+-]+) of", message)[1])
    # The warning reports the largest error of a few pairs; this is the root mean square of all.
    assert relative_change(features, group, 2 * X) < 3 * estimate
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no second warning, and its remedy works
        features.transform(3 * X)
        accepted = float(re.search(r"tolerance=([\d.e+-]+)", message)[1])
        clone(features).set_params(tolerance=accepted).fit(2 * X)


def test_enough_explicit_nodes_cause_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for group in (beyond.PlaneRotations(64), G.CircleAction([1, 1, 2, 2, 0, 0], n_nodes=64)):
            features = OrbitFourier(group, 30, gamma=0.1, random_state=0).fit(X)
            assert len(features.elements_) == 64 and features.transform(X).shape == (60, 30)


def test_a_bandwidth_that_needs_too_many_nodes_warns():
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


def test_coordinates_that_the_group_leaves_fixed_need_no_nodes():
    group = G.CircleAction([0, 0, 1, 1, 2, 2])
    few = OrbitFourier(group, 30, gamma=0.1, random_state=0).fit(X)
    far = X.copy()
    far[:, :2] *= 1000
    many = OrbitFourier(group, 30, gamma=0.1, random_state=0).fit(far)
    assert len(many.elements_) == len(few.elements_)
    assert relative_change(many, group, far) <= 1e-4


@pytest.mark.parametrize("density", [G.VonMises(2.0), G.VonMises(1.0, loc=0.7), G.Uniform(-1, 1)])
@pytest.mark.parametrize("name", ["fourier", "nystroem", "cdf"])
def test_densities_are_integrated_to_the_tolerance(name, density):
    """They agree with 4,000 nodes; to 2 % if the density ends abruptly."""
    frequencies = [0, 1, 1, 2, 2, 0]
    features = FEATURES[name](G.CircleAction(frequencies, density)).set_params(tolerance=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = features.fit_transform(X[:20])
        fine = G.CircleAction(frequencies, density, n_nodes=4000)
        exact = clone(features).set_params(group=fine).fit_transform(X[:20])
    assert np.linalg.norm(values - exact) <= 0.02 * np.linalg.norm(exact)


def test_group_cdf_uses_the_weights_of_the_elements():
    """phi_jk(x) = sqrt(s / (n m)) sum_i w_i 1[<g_i t_j, x> <= s k / n] over weighted nodes."""
    group = beyond.Rotations3D(3)
    model = GroupCDF(group, 4, n_bins=3, tolerance=10.0, random_state=0).fit(X)
    elements, weights = group.quadrature()
    transformed = group.act(elements, model.templates_)
    thresholds = model.s_ * np.arange(-3, 4) / 3
    below = np.einsum("rjd,nd->rnj", transformed, X)[..., None] <= thresholds
    expected = np.sqrt(model.s_ / 12) * np.einsum("r,rnjk->njk", weights, below)
    assert_allclose(model.transform(X), expected.reshape(len(X), -1), atol=1e-12)


@pytest.mark.parametrize("kernel", [Polynomial(3), Laplacian(0.1)], ids=repr)
def test_nystroem_features_of_other_kernels_are_invariant(kernel):
    features = OrbitNystroem(TURNS, 12, kernel=kernel, rcond=1e-6, tolerance=1e-3, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        features.fit(X)
    assert relative_change(features, TURNS, X) <= 1e-3 or any(
        "differ by" in str(w.message) for w in caught
    )


def test_features_of_many_points_in_single_precision_are_invariant():
    group = G.CircleAction([0, 1, 1, 2, 2, 0])
    single = OrbitFourier(group, 30, gamma=0.5, random_state=0).fit(X.astype(np.float32))
    values = single.transform(X.astype(np.float32))
    assert values.dtype == np.float32
    transformed = randomly_transformed(group, X).astype(np.float32)
    assert np.abs(single.transform(transformed) - values).max() < 1e-4


def test_tensors_with_gradients_use_the_same_nodes():
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
