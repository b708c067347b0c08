"""SortedCoorbits: its definition, its invariance, its constants and its runs of ranks."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import wasserstein_distance

from invariance import groups as G
from invariance.beyond import PlaneRotations, SortedCoorbits
from invariance.core.parameters import ParameterError

GROUPS = [
    None,
    G.CyclicShifts(6),
    G.SignFlips(6),
    G.Permutations(4),
    G.Permutations(3, block=2),
    G.Negation(),
    G.CyclicTranslations((2, 3)),
    G.Rotations((3, 3), degrees=[0, 90, 180, 270]),
    G.CyclicShifts(4).then(G.SignFlips(4)),
]


def projections(model, X):
    """Return <x, g t_j>, shape (n, m, elements)."""
    if model.group is None:
        return (X @ model.templates_.T)[:, :, None]
    elements = model.elements_
    if elements is None:
        elements = model.group.elements()
    orbits = model.group.act(elements, model.templates_)
    return np.einsum("nd,gmd->nmg", X, orbits)


def definition(model, X):
    """Return the sorted projections over the root of their number, each run summed up."""
    values = np.sort(projections(model, X), axis=2)
    n, m, n_elements = values.shape
    n_ranks = n_elements if model.n_ranks is None else min(model.n_ranks, n_elements)
    edges = np.round(np.linspace(0, n_elements, n_ranks + 1)).astype(int)
    runs = []
    for start, end in pairwise(edges):
        runs.append(values[:, :, start:end].mean(axis=2) * np.sqrt(end - start))
    features = np.stack(runs, axis=2) / np.sqrt(m * n_elements)
    return features.reshape(n, -1)


def n_features_of(group):
    return 6 if group is None or group.n_features is None else group.n_features


OPTIONS = {
    "n_transforms": [None, 1, 5],
    "n_ranks": [None, 1, 4],
    "templates": ["tight", "gaussian", "sphere", "data"],
    "block_bytes": [2000, 10**8],
}
PARAMETERS = st.fixed_dictionaries(
    {name: st.sampled_from(values) for name, values in OPTIONS.items()}
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(GROUPS), st.integers(1, 9), PARAMETERS, st.integers(0, 10**6))
def test_features_agree_with_the_definition(group, m, parameters, seed):
    X = np.random.default_rng(seed).standard_normal((7, n_features_of(group)))
    model = SortedCoorbits(group, m, **parameters, random_state=seed)
    assert_allclose(model.fit_transform(X), definition(model, X), atol=1e-12)


@pytest.mark.parametrize("templates", ["gaussian", "tight"])
@pytest.mark.parametrize("group", GROUPS[1:], ids=repr)
def test_features_are_invariant_and_the_upper_constant_is_attained(group, templates):
    d = n_features_of(group)
    X, Z = np.random.default_rng(0).standard_normal((2, 8, d))
    model = SortedCoorbits(group, 2 * d, templates=templates, random_state=0).fit(X)
    elements = group.elements()
    for points in group.act(elements[:5], X):
        assert_allclose(model.transform(points), model.transform(X), atol=1e-12)
    orbits = group.act(elements, Z)
    distances = np.sqrt(np.square(X[None] - orbits).sum(axis=2).min(axis=0))
    changes = np.linalg.norm(model.transform(X) - model.transform(Z), axis=1)
    assert np.all(changes <= model.upper_constant_ * distances + 1e-12)
    # No rank changes in a small step, and the best direction of one attains the constant.
    rows = group.act(elements, model.templates_).reshape(-1, d)
    step = 1e-6 * np.linalg.eigh(rows.T @ rows)[1][:, -1]
    change = np.linalg.norm(model.transform(X[:1] + step) - model.transform(X[:1]))
    assert_allclose(change, 1e-6 * model.upper_constant_, rtol=1e-6)


@pytest.mark.parametrize("group", GROUPS[1:], ids=repr)
def test_tight_templates_keep_the_distances_of_nearby_points(group):
    d = n_features_of(group)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((8, d))
    steps = 1e-6 * rng.standard_normal((8, d))
    model = SortedCoorbits(group, 2 * d, random_state=0).fit(X)
    changes = np.linalg.norm(model.transform(X + steps) - model.transform(X), axis=1)
    assert_allclose(changes, np.linalg.norm(steps, axis=1), rtol=1e-6)
    assert_allclose(model.upper_constant_, 1, rtol=1e-10)


def test_the_distance_is_a_sliced_wasserstein_distance():
    """For one template it is at least the 1-Wasserstein distance, and equal for a translation."""
    X = np.random.default_rng(0).standard_normal((2, 5))
    model = SortedCoorbits(G.Permutations(5), 1, random_state=0).fit(X)
    (first,), (second,) = projections(model, X)
    distance = np.linalg.norm(np.diff(model.transform(X), axis=0))
    assert distance >= wasserstein_distance(first, second)
    moved = X[:1] + 2.0 * np.ones(5)  # All projections grow by the same number.
    shift = 2.0 * model.templates_.sum()
    assert_allclose(
        np.linalg.norm(model.transform(moved) - model.transform(X[:1])), abs(shift), rtol=1e-12
    )


def test_runs_of_ranks_do_not_increase_distances():
    X = np.random.default_rng(0).standard_normal((12, 7))
    full = SortedCoorbits(G.CyclicShifts(7), 5, random_state=0).fit_transform(X)
    for n_ranks in (1, 2, 3, 7, 50):
        model = SortedCoorbits(G.CyclicShifts(7), 5, n_ranks=n_ranks, random_state=0)
        short = model.fit_transform(X)
        assert short.shape == (12, 5 * min(n_ranks, 7))
        for i in range(1, 12):
            longer = np.linalg.norm(full[i] - full[0])
            assert np.linalg.norm(short[i] - short[0]) <= longer + 1e-12


def test_infinite_and_weighted_sets_need_draws():
    X = np.ones((3, 4))
    with pytest.raises(ParameterError, match="set n_transforms"):
        SortedCoorbits(PlaneRotations(), 3).fit(X)
    with pytest.raises(ParameterError, match="take 'gaussian'"):
        SortedCoorbits(G.LinearMaps([[[1.0, 1.0], [0.0, 1.0]]]), 3).fit(X[:, :2])
    with pytest.raises(ParameterError, match="set n_transforms"):
        SortedCoorbits(G.CircleAction([0, 1, 1, 0], G.VonMises(1.0), n_nodes=8), 3).fit(X)
    with pytest.raises(ParameterError, match="set n_transforms"):
        SortedCoorbits(G.CircleAction([0, 1, 1, 0], n_nodes=8), 3).fit(X)
    drawn = SortedCoorbits(PlaneRotations(), 3, n_transforms=10, random_state=0)
    assert drawn.fit_transform(X).shape == (3, 30)
