"""Compositions with quadratures and infinite parts: kernels, features, explanations, spectra."""

import inspect
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance import beyond
from invariance import groups as G
from invariance.beyond import MaxFilter
from invariance.features import GroupCDF, OrbitFourier, OrbitNystroem
from invariance.kernels import Average, BestFit, Gaussian, Laplacian, Linear, Polynomial
from invariance.spectral import SpectralAveraging, Sphere

X, Y = np.random.default_rng(0).standard_normal((2, 6, 12))
SHIFTS = G.CyclicShifts(4, block=3)
CIRCLE = G.CircleAction([0, 1, 1, 0, 2, 2, 0, 0, 0, 1, 1, 0], n_nodes=8)


def values_over_all_elements(base, group, X, Y):
    """Values of the base kernel for all elements of a finite set, shape (elements, n, m)."""
    transformed = group.act(group.elements(), Y)
    return np.stack([base(X, points.reshape(len(Y), -1)) for points in transformed])


FINITE = [
    beyond.Rotations3D(2).then(G.Negation()),
    G.Negation().then(beyond.Rotations3D(2)),
    CIRCLE.then(G.SignFlips(3).on_columns([0, 3, 6])),
    beyond.PlaneRotations(5).then(beyond.PlaneRotations(3).on_columns([0, 1])),
    beyond.Rotations3D(1).then(SHIFTS).then(G.Negation()),
    beyond.Rotations3D(1).on_each(4).then(G.Negation()),
    G.OnPoints(beyond.Rotations3D(1).then(G.Negation()), 3),
    G.Rotations((3, 4), degrees=[0, 90], density=G.VonMises(1.0)).then(G.Negation()),
]


@pytest.mark.parametrize("group", FINITE, ids=lambda group: repr(group)[:60])
def test_kernels_over_finite_compositions_agree_with_all_listed_elements(group):
    elements, weights = group.quadrature()
    assert len(elements) == group.order and abs(weights.sum() - 1) < 1e-12
    listed = group.weights()
    assert_allclose(
        weights, np.full(len(elements), 1 / len(elements)) if listed is None else listed
    )
    values = values_over_all_elements(Gaussian(0.1), group, X, Y)
    assert_allclose(BestFit(Gaussian(0.1), group)(X, Y), values.max(axis=0), atol=1e-12)
    second = Average(Gaussian(0.1), group, side="second", tolerance=10.0)
    assert_allclose(second(X, Y), np.einsum("r,rnm->nm", weights, values), atol=1e-12)
    assert second.explain(X, Y).operations > 0
    transformed = group.act(elements, X).reshape(len(elements), len(X), -1)
    cosines = OrbitFourier(group, 5, gamma=0.1, side="first", tolerance=10.0, random_state=0).fit(X)
    expected = np.cos(transformed @ cosines.templates_.T + cosines.phases_)
    assert_allclose(
        cosines.transform(X), np.sqrt(2 / 5) * np.einsum("r,rnm->nm", weights, expected), atol=1e-12
    )
    for features in (OrbitNystroem(group, 4, random_state=0), GroupCDF(group, 4, random_state=0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert features.fit_transform(X).shape[0] == 6 and features.explain(X).operations > 0


# -- best fits over compositions with an infinite part ---------------------------------------------

ROTATIONS = beyond.Rotations3D()
BEST = [
    SHIFTS.then(ROTATIONS),
    ROTATIONS.then(SHIFTS),
    ROTATIONS.then(G.Negation()),
    SHIFTS.times(ROTATIONS),
    SHIFTS.times(ROTATIONS.on_each(4)),
    ROTATIONS.on_each(4).times(SHIFTS),
    SHIFTS.times(G.OnPoints(ROTATIONS, 3)),
    G.SignFlips(2).on_columns([0, 4]).then(ROTATIONS).then(G.SignFlips(2).on_columns([1, 5])),
    ROTATIONS.then(G.SignFlips(2).on_columns([1, 5])).then(SHIFTS),
    ROTATIONS.on_columns([0, 4, 8]).then(G.Negation()),
    G.OnPoints(ROTATIONS.then(G.Negation()), 3),
    G.Translations((4, 3), 1, boundary="zero").then(ROTATIONS),
    beyond.PlaneRotations().then(G.SignFlips(2).on_columns([0, 3])),
    G.SignFlips(2).on_columns([0, 3]).then(beyond.PlaneRotations().on_columns([5, 1])),
    G.OnPoints(G.CircleAction([0, 3, 3]), 3).then(G.Negation()),
]


def largest_inner_products(group, x, y):
    """Maximize over the infinite part with an optimizer, for all elements of the finite parts.

    One start is enough: an inner product <M, R> has no second local maximum over rotations R of
    space, and all its maxima over a circle of one frequency are equal.
    """
    from scipy.optimize import minimize
    from scipy.spatial.transform import Rotation

    chain = group.chain()
    infinite = next(part for part in chain if part.order == np.inf)
    in_space = "Rotations3D" in repr(infinite)
    parts = [None if part is infinite else part.elements() for part in chain]
    rng = np.random.default_rng(0)

    def element(parameters):
        if in_space:
            return Rotation.from_rotvec(parameters).as_matrix()[None]
        return parameters

    def act(parameters, choice, z):
        for part, elements, i in zip(chain, parts, choice, strict=True):
            chosen = element(parameters) if elements is None else elements[i : i + 1]
            z = part.act(chosen, z)[0]
        return z

    best = -np.inf
    for choice in np.ndindex(*[1 if elements is None else len(elements) for elements in parts]):
        start = rng.uniform(-np.pi, np.pi, 3 if in_space else 1)
        optimum = minimize(lambda p, c=choice: -float((x @ act(p, c, y).T)[0, 0]), start)
        best = max(best, -optimum.fun)
    return best


@pytest.mark.parametrize("group", BEST, ids=lambda group: repr(group)[:60])
def test_the_best_fit_over_a_composition_agrees_with_an_optimizer(group):
    expected = largest_inner_products(group, X[:1], Y[:1])
    kernel = BestFit(Linear(), group)
    largest = kernel(X[:1], Y[:1])[0, 0]
    assert_allclose(largest, expected, rtol=1e-6)
    squares = np.square(X[0]).sum() + np.square(Y[0]).sum()
    if group.unitary:
        distance = BestFit(Gaussian(0.1), group)(X[:1], Y[:1])[0, 0]
        assert_allclose(distance, np.exp(-0.1 * (squares - 2 * expected)), rtol=1e-6)
        cubes = BestFit(Polynomial(3, 0.1, coef0=0.0), group)(X[:1], Y[:1])[0, 0]
        assert_allclose(cubes, (0.1 * expected) ** 3, rtol=1e-6)
    # No sampled element is better.
    drawn = (X[:1] @ group.act(group.sample(300, 0), Y[:1])[:, 0].T).max()
    assert drawn <= largest + 1e-9
    assert BestFit(Linear(), group, side="first")(Y[:1], X[:1])[0, 0] == pytest.approx(
        expected, rel=1e-6
    )
    plan = kernel.explain(X, Y)
    assert plan.way == "alignment"
    values = kernel(X, Y)
    blocks = BestFit(Linear(), group, block_bytes=3000)(X, Y)
    assert_allclose(blocks, values, rtol=1e-10)
    templates = MaxFilter(group, 6, templates=Y).fit(X)
    assert_allclose(templates.transform(X), values, rtol=1e-10)


def test_a_composition_too_large_to_list_is_refused_with_the_remedy():
    group = G.Permutations(30, block=3).then(ROTATIONS)
    for method in (BestFit(Gaussian(0.1), group), BestFit(Laplacian(0.1), ROTATIONS)):
        with pytest.raises(ValueError, match="lists|cannot be listed") as error:
            method(np.ones((2, 90)))
        assert "n_transforms" in str(error.value)


def test_on_each_of_a_group_that_acts_on_whole_rows_fixes_the_number_of_points():
    group = ROTATIONS.on_each(4)
    assert group.n_features == 12
    elements = ROTATIONS.sample(5, 0)
    assert_allclose(group.act(elements, X), ROTATIONS.act(elements, X))
    with pytest.raises(ValueError, match="acts on arrays of shape"):
        group.act(elements, X[:, :9])


def test_a_circle_that_turns_several_points_at_several_frequencies():
    """It is the circle with the frequencies of all points side by side."""
    on_points = G.OnPoints(G.CircleAction([1, 1, 2, 2]), 4)
    whole = G.CircleAction([1, 1, 2, 2] * 3)
    for kernel in (BestFit(Gaussian(0.1), on_points), BestFit(Linear(), on_points)):
        expected = BestFit(kernel.base, whole)
        assert_allclose(kernel(X, Y), expected(X, Y))
        elements = kernel.best_element(X, Y)
        images = on_points.act(elements[:, 0], Y[:1])[:, 0]
        assert_allclose(np.diag(kernel.base(X, images)), kernel(X, Y)[:, 0])
    turned = on_points.act([1.1], X)[0]
    assert_allclose(on_points.canonical(turned), on_points.canonical(X), atol=1e-12)


def test_mirror_images_in_any_order_need_one_sum_and_no_nodes():
    """The mean over O(2) is a closed form, whichever part comes first."""
    mirror = G.OnPoints(G.OrthogonalMatrices([[[1, 0], [0, -1]]]), 2)
    angles = 2 * np.pi * np.arange(64) / 64
    turned = np.concatenate(
        [beyond.PlaneRotations().act(angles, mirror.act(g[None], Y)[0]) for g in mirror.elements()]
    )
    expected = np.mean([Gaussian(0.05)(X, images) for images in turned], axis=0)
    for group in (
        beyond.PlaneRotations().then(mirror),
        mirror.then(beyond.PlaneRotations()),
    ):
        assert group.one_sided and not group.is_group
        kernel = Average(Gaussian(0.05), group)
        assert_allclose(kernel(X, Y), expected, rtol=1e-9)
        assert (
            kernel.explain(X, Y).operations
            < 10 * Average(Gaussian(0.05), beyond.PlaneRotations()).explain(X, Y).operations
        )


def test_a_mean_over_a_density_and_a_group_transforms_both_arguments():
    """Two angles of the density, and one sign: the density of their difference is another one."""
    density = G.VonMises(2.0)
    frequencies = [0, 1, 1, 0, 2, 2, 0, 0, 0, 1, 1, 0]
    group = G.CircleAction(frequencies, density).then(G.Negation())
    listed = G.CircleAction(frequencies, density, n_nodes=40).then(G.Negation())
    elements, weights = listed.quadrature()
    images_of_X, images_of_Y = listed.act(elements, 0.3 * X), listed.act(elements, 0.3 * Y)
    expected = sum(
        weight * other_weight * Gaussian(0.1)(images, other_images)
        for weight, images in zip(weights, images_of_X, strict=True)
        for other_weight, other_images in zip(weights, images_of_Y, strict=True)
    )
    assert not group.one_sided
    assert_allclose(Average(Gaussian(0.1), group)(0.3 * X, 0.3 * Y), expected, rtol=1e-4)


def test_points_of_any_number_of_coordinates_compose():
    labelled = G.OnPoints(beyond.PlaneRotations(5), 7, coordinates=(0, 1))
    far_right = G.SignFlips(1).on_columns([100])
    assert labelled.then(G.Negation()).is_group and far_right.then(G.Negation()).is_group
    points = np.random.default_rng(0).standard_normal((3, 14))
    kernel = Average(Gaussian(0.1), labelled.then(G.Negation()))
    images = labelled.act(labelled.elements(), points)
    expected = [(Gaussian(0.1)(points, Z) + Gaussian(0.1)(points, -Z)) / 2 for Z in images]
    assert_allclose(kernel(points), np.mean(expected, axis=0))


def test_times_takes_a_rule_that_stands_for_a_group():
    rule = SHIFTS.times(G.OnPoints(beyond.Rotations3D(2), 3))
    assert rule.order == SHIFTS.order * beyond.Rotations3D(2).order and rule.one_sided
    with pytest.raises(ValueError, match=r"needs two groups of linear maps.*\.then applies"):
        G.Translations((1, 6), 1, boundary="zero").times(G.Negation())


# -- compositions as groups ------------------------------------------------------------------------


def test_compositions_that_are_groups_multiply():
    group = G.CyclicShifts(4).times(G.Negation())
    assert len(group.generators()) == 2
    G.check_group(group)
    elements = group.elements()
    points = X[:, :4]
    for first in elements:
        for second in elements:
            product = group.compose(first[None], second[None])
            applied = group.act(first[None], group.act(second[None], points)[0])
            assert_allclose(group.act(product, points), applied)
        assert_allclose(
            group.act(group.inverse(first[None]), group.act(first[None], points)[0])[0], points
        )
    assert not hasattr(G.CyclicShifts(4).then(G.SignFlips(4)), "compose")


def test_spectral_averaging_over_a_direct_product():
    group = G.CyclicShifts(4).times(G.Negation())
    points = Sphere(4).sample(80, 0)
    model = SpectralAveraging(Sphere(4), group, degree=3).fit(points, points[:, 0] ** 2)
    for element in group.elements():
        assert_allclose(model.predict(group.act(element[None], points)[0]), model.predict(points))


def test_spectral_averaging_over_products_with_continuous_groups():
    """Rotations of space with mirror images, and with the exchange of two particles."""
    basis = beyond.Product([Sphere(3)] * 2, degree=12.0)
    points = basis.sample(120, 0)
    targets = (points[:, :3] * points[:, 3:]).sum(axis=1) ** 2
    exchange = G.Permutations(2, block=3)
    for group in (
        beyond.Rotations3D().times(G.Negation()),
        beyond.Rotations3D().on_each(2).times(exchange),
        exchange.times(beyond.Rotations3D().on_each(2)),
    ):
        model = SpectralAveraging(basis, group, degree=12.0).fit(points, targets)
        assert np.ptp(model.predict(points)) > 0.3
        for element in group.sample(3, 0):
            moved = group.act(element[None], points)[0]
            assert_allclose(model.predict(moved), model.predict(points), atol=1e-9)
    with pytest.raises(ValueError, match="neither generators.*times"):
        SpectralAveraging(basis, G.SignFlips(6).then(beyond.Rotations3D())).fit(points, targets)


def test_methods_of_groups_on_points_have_names_signatures_and_docstrings():
    for name in (
        "elements",
        "compose",
        "inverse",
        "generators",
        "identity",
        "weights",
        "quadrature",
    ):
        method = getattr(G.OnPoints, name)
        assert inspect.getdoc(method)
        assert next(iter(inspect.signature(method).parameters)) == "self"
    assert list(inspect.signature(G.OnPoints.compose).parameters) == ["self", "first", "second"]
    assert not hasattr(G.OnPoints(beyond.PlaneRotations(), 2), "generators")
    assert hasattr(G.OnPoints(G.CyclicShifts(2), 2), "generators")


# -- refusals --------------------------------------------------------------------------------------

PROJECTION = G.LinearMaps(np.random.default_rng(0).standard_normal((2, 2, 12)))


@pytest.mark.parametrize(
    "call",
    [
        lambda: BestFit(Gaussian(0.1), PROJECTION)(X),
        lambda: BestFit(Gaussian(0.1), PROJECTION).explain(X),
        lambda: BestFit(Laplacian(0.1), PROJECTION)(X),
        lambda: Average(Gaussian(0.1), PROJECTION, side="second")(X),
        lambda: BestFit(Gaussian(0.1), SHIFTS.then(PROJECTION))(X),
        lambda: GroupCDF(PROJECTION, 3).fit(X).transform(X),
        lambda: MaxFilter(PROJECTION, 3).fit(X).transform(X),
    ],
)
def test_maps_to_another_dimension_are_refused_by_name(call):
    with pytest.raises(ValueError, match=r"makes 2 numbers of 12.*side='both'"):
        call()


def test_maps_to_another_dimension_are_refused_if_both_points_are_transformed():
    first, second = (PROJECTION.act(PROJECTION.elements(), Z) for Z in (X, Y))
    expected = np.mean([[Gaussian(0.1)(a, b) for b in second] for a in first], axis=(0, 1))
    kernel = Average(Gaussian(0.1), PROJECTION)
    assert_allclose(kernel(X, Y), expected)
    assert kernel.explain(X, Y).operations > 0
    features = OrbitFourier(PROJECTION, 3, random_state=0).fit(X)
    assert features.templates_.shape == (3, 2)


def test_a_refused_computation_announces_no_duration():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        group = G.SignedPermutations(40)
        for kernel in (Average(Gaussian(0.1), group), BestFit(Polynomial(2, -0.2), group)):
            with pytest.raises(ValueError, match="more than the 1000000 that elements"):
                kernel(np.ones((7, 40)))
        with pytest.raises(ValueError, match="infinitely many elements .* n_transforms"):
            Average(Gaussian(0.1), G.Affine((3, 4), G.Normal(0.2)))(X)


def test_a_bool_in_place_of_a_number_is_named():
    with pytest.raises(ValueError, match="a finite number > 0, got True, a bool"):
        Gaussian(True)(X)
