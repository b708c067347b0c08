"""Averages over infinite groups are accurate to their tolerance."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance import beyond
from invariance import groups as G
from invariance.kernels import Average, Gaussian, Laplacian, Linear, Polynomial

TURNS = beyond.PlaneRotations()
CIRCLE = G.CircleAction([1, 1, 2, 2])


def with_nodes(group, n):
    """The group with n nodes on every circle."""
    if isinstance(group, G.Composition):
        return with_nodes(group.first, n).then(with_nodes(group.second, n))
    if isinstance(group, G.OnPoints):
        return G.OnPoints(**group.get_params(deep=False) | {"group": with_nodes(group.group, n)})
    if isinstance(group, G.CircleAction):
        return G.CircleAction(group.frequencies, group.density, n_nodes=n)
    return beyond.PlaneRotations(n) if isinstance(group, beyond.PlaneRotations) else group


def worst(kernel, X, Y, n):
    """Largest error, relative to the largest value of a mean over n nodes.

    Twice as many nodes change the means of Gaussian kernels here by less than 1e-13.
    """
    exact = Average(kernel.base, with_nodes(kernel.group, n), side=kernel.side, tolerance=10.0)(
        X, Y
    )
    return np.abs(kernel(X, Y) - exact).max() / np.abs(exact).max()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    "group",
    [TURNS.on_columns([0, 1]), CIRCLE.on_columns([0, 1, 2, 3])],
    ids=["one frequency", "two"],
)
def test_columns_that_the_group_leaves_fixed_do_not_affect_the_accuracy(group, seed):
    rng = np.random.default_rng(seed)
    d = 2 if group.group is TURNS else 4
    X = np.hstack([rng.normal(scale=2.0, size=(40, d)), rng.normal(scale=10.0, size=(40, 1))])
    kernel = Average(Gaussian(0.5), group)
    assert worst(kernel, X, X, 300) <= 1e-4


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "scales",
    [(1, 1, 1), (10, 1, 0.1), (0.1, 1, 10), (0.01, 3, 100)],
    ids=repr,
)
def test_averages_over_two_circles_of_very_different_sizes_are_accurate(scales, seed):
    """Two circles with two frequencies each, and a fixed column."""
    a, b, c = scales
    X = np.random.default_rng(seed).standard_normal((25, 9)) * np.repeat([a, b, c], [4, 4, 1])
    group = CIRCLE.on_columns([0, 1, 2, 3]).then(CIRCLE.on_columns([4, 5, 6, 7]))
    kernel = Average(Gaussian(0.2 / max(1, a, b) ** 2), group)
    assert worst(kernel, X, X, 50) <= 1e-4


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("share", [0.05, 0.5, 1.0, 4.0])
def test_averages_are_accurate_if_the_second_points_have_another_size(seed, share):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 5))
    Y = share * rng.standard_normal((12, 5))
    kernel = Average(Gaussian(1.0), G.CircleAction([0, 1, 1, 3, 3]))
    assert worst(kernel, X, Y, 300) <= 1e-4
    assert worst(kernel, X[:1], Y, 300) <= 1e-4
    assert worst(kernel, X, X[:3], 300) <= 1e-4


@pytest.mark.parametrize("base", [Gaussian(0.3), Polynomial(3, 0.2), Linear(), Laplacian(0.2)])
@pytest.mark.parametrize("density", [None, G.VonMises(3.0), G.VonMises(1.0, loc=0.5)], ids=repr)
def test_averages_with_densities_are_accurate_or_warn(base, density):
    X = np.random.default_rng(0).standard_normal((12, 5))
    kernel = Average(base, G.CircleAction([0, 1, 1, 2, 2], density), tolerance=1e-3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error = worst(kernel, X, X, 600)
    assert error <= 1e-3 or any("leave a relative error" in str(w.message) for w in caught)


@pytest.mark.parametrize("gamma", [0.01, 0.5, 20.0])
@pytest.mark.parametrize(
    "group",
    [
        TURNS,
        TURNS.on_columns([3, 1]),
        TURNS.on_each(3),
        G.OnPoints(G.CircleAction([0, 2, 2]), 3),
        TURNS.times(G.Permutations(3, block=2)),
        G.Negation().then(TURNS),
    ],
    ids=lambda group: repr(group)[:50],
)
def test_gaussian_kernels_over_plane_rotations_have_closed_forms(group, gamma):
    """They agree with the definition, the mean of exp(-gamma |x - g z|^2) over 600 rotations."""
    X, Y = np.random.default_rng(0).standard_normal((2, 7, 6))
    fine = with_nodes(group, 600)
    elements, weights = fine.quadrature()
    transformed = fine.act(elements, Y)
    squares = ((X[None, :, None] - transformed[:, None]) ** 2).sum(axis=3)
    expected = np.einsum("r,rnm->nm", weights, np.exp(-gamma * squares))
    kernel = Average(Gaussian(gamma), group)
    assert_allclose(kernel(X, Y), expected, rtol=1e-9, atol=1e-300)
    assert kernel.explain(X, Y).way == "closed form"
    assert_allclose(Average(Gaussian(gamma), group, side="first")(X, Y), expected, rtol=1e-9)
    assert_allclose(Average(Gaussian(gamma), group, side="second")(X, Y), expected, rtol=1e-9)
    single = kernel(X.astype(np.float32), Y.astype(np.float32))
    assert single.dtype == np.float32 and np.abs(single - expected).max() < 1e-5


def test_far_points_and_narrow_kernels_neither_overflow_nor_lose_their_peak():
    X = 1e3 * np.random.default_rng(0).standard_normal((5, 2))
    gram = Average(Gaussian(10.0), TURNS)(X)
    r2 = (X**2).sum(axis=1)
    # I_0(z) exp(-z) = (2 pi z)^(-1/2) (1 + 1 / (8 z) + ...) at z = 2 gamma r^2
    assert_allclose(gram.diagonal(), 1 / np.sqrt(2 * np.pi * 20 * r2), rtol=1e-6)


def test_explicit_nodes_stay_in_compositions_with_infinite_groups():
    """Five explicit nodes of the first part are used as they are."""
    group = beyond.PlaneRotations(5).on_columns([0, 1]).then(CIRCLE.on_columns([2, 3, 4, 5]))
    X = np.random.default_rng(0).standard_normal((8, 6))
    fine = G.CircleAction([1, 1, 2, 2], n_nodes=300).on_columns([2, 3, 4, 5])
    exact = Average(
        Gaussian(0.1), beyond.PlaneRotations(5).on_columns([0, 1]).then(fine), tolerance=10
    )
    assert_allclose(Average(Gaussian(0.1), group)(X), exact(X), rtol=1e-3, atol=1e-4)


def test_a_mean_of_zero_causes_no_warning():
    X = np.random.default_rng(0).standard_normal((8, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.abs(Average(Linear(), CIRCLE)(X)).max() < 1e-12
