"""MaxFilter: its definition, its invariance and its Lipschitz bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from invariance import groups as G
from invariance.beyond import MaxFilter

GROUPS = [
    None,
    G.CyclicShifts(6),
    G.SignFlips(6),
    G.Permutations(6),
    G.Permutations(3, block=2),
    G.SignedPermutations(4),
    G.Negation(),
    G.Translations((2, 3), shifts=[[i, j] for i in range(2) for j in range(3)]),
    G.CircleAction([0, 1, 1, 3, 3, 0], n_nodes=9),
]


def definition(model, X):
    """Return phi_j(x) = max_g <x, g t_j> over the sampled or all elements."""
    if model.group is None:
        return X @ model.templates_.T
    elements = model.elements_
    if elements is None:
        elements = model.group.elements()
    return np.max([X @ model.group.act(g[None], model.templates_)[0].T for g in elements], axis=0)


OPTIONS = {
    "n_transforms": [None, 1, 4],
    "templates": ["gaussian", "sphere", "data"],
    "block_bytes": [2000, 10**8],
}
PARAMETERS = st.fixed_dictionaries(
    {name: st.sampled_from(values) for name, values in OPTIONS.items()}
)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(GROUPS), st.integers(1, 9), PARAMETERS, st.integers(0, 10**6))
def test_max_filter_agrees_with_the_definition(group, m, parameters, seed):
    d = 6 if group is None or group.n_features is None else group.n_features
    X = np.random.default_rng(seed).standard_normal((7, d))
    model = MaxFilter(group, m, **parameters, random_state=seed)
    assert_allclose(model.fit_transform(X), definition(model, X), atol=1e-12)


@pytest.mark.parametrize("group", GROUPS[1:], ids=repr)
def test_max_filter_is_invariant_and_lipschitz_in_the_distance_between_orbits(group):
    d = group.n_features or 6
    X, Y = np.random.default_rng(0).standard_normal((2, 8, d))
    model = MaxFilter(group, 20, random_state=0).fit(X)
    elements = group.elements()
    for points in group.act(elements[:5], X):
        assert_allclose(model.transform(points), model.transform(X), atol=1e-12)
    orbits = group.act(elements, Y)
    distance = np.sqrt(np.square(X[None] - orbits).sum(axis=2).min(axis=0))
    change = np.abs(model.transform(X) - model.transform(Y))
    bound = np.linalg.norm(model.templates_, axis=1) * distance[:, None]
    assert np.all(change <= bound + 1e-12)
    # The bound is not vacuous: a pair of points reaches more than a fifth of it.
    assert np.max(change / bound) > 0.2


def test_templates_may_be_passed_as_an_array():
    X = np.random.default_rng(0).standard_normal((300, 6))
    model = MaxFilter(G.CyclicShifts(6), 70, random_state=3)
    Z = model.fit_transform(X)
    with_templates = MaxFilter(G.CyclicShifts(6), 70, templates=model.templates_).fit(X[:1])
    assert_array_equal(with_templates.transform(X), Z)
    assert model.get_feature_names_out()[-1] == "maxfilter69"


CIRCLES = {
    "two frequencies": (G.CircleAction([0, 1, 1, 2, 2]), 5),
    "far apart": (G.CircleAction([1, 1, 5, 5]), 4),
    "five": (G.CircleAction([1, 1, 2, 2, 3, 3, 4, 4, 9, 9]), 10),
    "one": (G.CircleAction([3, 3, 0]), 3),
    "none": (G.CircleAction([0, 0]), 2),
    "then negation": (G.CircleAction([1, 1, 2, 2]).then(G.Negation()), 4),
    "after signs": (G.SignFlips(2).on_columns([0, 2]).then(G.CircleAction([1, 1, 2, 2])), 4),
    "some columns": (G.CircleAction([1, 1, 3, 3]).on_columns([4, 0, 1, 3]), 5),
}


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", CIRCLES)
def test_largest_values_over_all_angles_are_exact(name, kind):
    """A grid of 20,000 angles misses the largest value by about 1e-6."""
    group, d = CIRCLES[name]
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((4, d)), rng.integers(-1, 2, (4, d)), np.eye(d)[:2]])
    X = (X * np.array([1.0, 1e3, 1, 1, 1, 1, 1e-3, 1, 1, 1])[:, None]).astype(kind)
    model = MaxFilter(group, 7, templates=np.concatenate([X[2:6], X[:3]]), random_state=0).fit(X)
    values = model.transform(X)
    scale = np.linalg.norm(X.astype(float), axis=1)[:, None]
    scale = scale * np.linalg.norm(model.templates_.astype(float), axis=1)
    rounding = 1e-12 if kind == np.float64 else 1e-5
    for element in group.sample(5 if group.is_group else 0, 0)[:, None]:
        transformed = model.transform(group.act(element, X)[0].astype(kind))
        assert np.all(np.abs(transformed - values) <= rounding * scale)
    angles = 2 * np.pi * np.arange(20_000) / 20_000
    parts = group.chain()
    (turned,) = [i for i, part in enumerate(parts) if part.order == np.inf]
    transformed = model.templates_.astype(float)[None]
    for i, part in enumerate(parts):
        elements = angles if i == turned else part.elements()
        transformed = np.concatenate([part.act(elements, M) for M in transformed])
    dense = np.max([X.astype(float) @ M.T for M in transformed], axis=0)
    assert np.all(np.abs(dense - values) <= max(rounding, 1e-5) * scale)
    assert np.all(values >= dense - rounding * scale)
