"""Functions whose values turn with the group, against their definition: f(g x) = g f(x)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance import groups as G
from invariance import spectral as S

from .conftest import QP, turn

TURNS = G.Rotations3D()
TILTED = G.OrthogonalMatrices([turn([1, 2, 2], 2 * np.pi / 3)])

FINITE = [
    (S.Sphere(3, degree=4), G.Permutations(3), G.Permutations(3), 3),
    (S.Sphere(3, degree=3), G.SignedPermutations(3), G.SignedPermutations(3), 3),
    (S.Sphere(3, degree=3), TILTED, TILTED, 3),
    (S.Torus(4, degree=3), G.Permutations(2, block=2), G.Permutations(2), 2),
    (S.Torus(2, degree=4), G.Negation(), G.Negation(), 1),
    (S.Sphere(3, degree=10), G.CyclicShifts(3), G.CyclicShifts(3), 3),
]


def definition(f, basis, group, outputs):
    """The average of g^-1 f(g x) over the group, and its coefficients by least squares."""
    x = basis.sample(2 * basis.n_functions_ + 20, random_state=0)
    elements = group.elements()
    moved, back = group.act(elements, x), group.inverse(elements)
    values = [
        outputs.act(back[i : i + 1], basis.evaluate(moved[i]) @ f)[0] for i in range(len(elements))
    ]
    return np.linalg.lstsq(basis.evaluate(x), np.mean(values, axis=0), rcond=None)[0]


@pytest.mark.parametrize(("basis", "group", "outputs", "p"), FINITE, ids=repr)
def test_projection_is_the_average_over_the_group(basis, group, outputs, p):
    f = np.random.default_rng(0).standard_normal((basis.n_functions_, p))
    expected = definition(f, basis, group, outputs)
    for method in ("auto", "null_space", "closed_form", *QP, "reynolds"):
        found = S.project(f, basis, group, outputs=outputs, method=method)
        assert_allclose(found, expected, atol=1e-8 if method == "qp" else 1e-10)
    x = basis.sample(30, random_state=1)
    gap = S.invariance_discrepancy(S.Expansion(basis, found).predict, group, x, outputs=outputs)
    assert gap.max() < 1e-11
    free = S.Expansion(basis, f).predict
    assert S.invariance_discrepancy(free, group, x, outputs=outputs).max() > 1


@pytest.mark.parametrize(("basis", "group", "outputs", "p"), FINITE, ids=repr)
def test_dimensions_are_mean_products_of_characters(basis, group, outputs, p):
    elements = group.elements()
    turns = outputs.act(elements, np.eye(p))
    traces = [
        basis.characters(*maps) * np.trace(turn)
        for *maps, turn in zip(*basis.isometries(group, elements), turns, strict=True)
    ]
    spaces = S.invariant_subspace(basis, group, outputs=outputs, n_outputs=p)
    assert_allclose([u.shape[1] for u in spaces], np.mean(traces, axis=0), atol=1e-10)
    for u in spaces:
        assert_allclose((u.T @ u).toarray(), np.eye(u.shape[1]), atol=1e-12)


def test_rotations_of_one_and_two_points():
    """One point leaves f(x) = c x; two leave a, b and a x b, each times functions of <a, b>."""
    one = S.invariant_subspace(S.Sphere(3, 3), TURNS, outputs=TURNS, n_outputs=3)
    assert [u.shape[1] for u in one] == [0, 1, 0, 0]
    basis = S.Product([S.Sphere(3)] * 2, degree=4)
    two = S.invariant_subspace(basis, TURNS, outputs=TURNS, n_outputs=3)
    assert [u.shape[1] for u in two] == [0, 2, 1]
    x = basis.sample(40, random_state=0)
    a, b = x[:, :3], x[:, 3:]
    y = np.cross(a, b) + 2 * a
    model = S.SpectralAveraging(basis, TURNS, outputs=TURNS, estimator="least_squares").fit(x, y)
    assert_allclose(model.predict(x), y, atol=1e-12)
    assert model.discrepancy(x) < 1e-12


@pytest.mark.parametrize("estimator", ["mean", "centered", "least_squares", "ridge"])
def test_every_estimator_is_exactly_equivariant(estimator):
    basis = S.Product([S.Sphere(3)] * 3, exchangeable=True)
    X = basis.sample(200, random_state=0)
    a, b, c = X[:, :3], X[:, 3:6], X[:, 6:]
    force = np.concatenate([b + c - 2 * a, c + a - 2 * b, a + b - 2 * c], axis=1)
    force += 0.1 * np.random.default_rng(0).standard_normal(force.shape)
    model = S.SpectralAveraging(basis, TURNS, outputs=TURNS, degree=4, estimator=estimator)
    model.fit(X, force)
    assert model.score(X, force) > 0.5
    assert model.discrepancy(X, n_elements=20) < 1e-12
    g = TURNS.sample(1, 3)
    swapped = TURNS.act(g, X)[0].reshape(-1, 3, 3)[:, [1, 0, 2]].reshape(len(X), 9)
    expected = TURNS.act(g, model.predict(X))[0].reshape(-1, 3, 3)[:, [1, 0, 2]].reshape(-1, 9)
    assert_allclose(model.predict(swapped), expected, atol=1e-12)


def test_one_vector_of_all_particles_does_not_change_with_their_order():
    basis = S.Product([S.Sphere(3)] * 3, exchangeable=True)
    X = basis.sample(100, random_state=0)
    sum_of_all = X.reshape(-1, 3, 3).sum(axis=1)
    how = {"outputs": TURNS, "degree": 2, "estimator": "least_squares"}
    model = S.SpectralAveraging(basis, TURNS, **how).fit(X, sum_of_all)
    assert_allclose(model.predict(X), sum_of_all, atol=1e-12)
    assert model.vectors_.shape[1] == 1 and model.discrepancy(X) < 1e-12


def test_mean_is_the_projection_of_the_plain_means():
    basis, group = S.Sphere(3, degree=3), G.Permutations(3)
    X = basis.sample(50, random_state=0)
    Y = np.random.default_rng(0).standard_normal((50, 3))
    primary = basis.evaluate(X).T @ Y / 50
    model = S.SpectralAveraging(basis, group, outputs=group, estimator="mean").fit(X, Y)
    expected = S.project(primary, basis, group, outputs=group)
    assert_allclose(model.coef_, expected, atol=1e-12)


def test_ridge_minimises_what_it_says():
    """The alpha of (1/n) sum |y_i - f(x_i)|^2 + alpha |f|^2."""
    basis, group = S.Sphere(3, degree=3), G.Permutations(3)
    X = basis.sample(50, random_state=0)
    Y = X**2 + 0.1 * np.random.default_rng(0).standard_normal((50, 3))
    model = S.SpectralAveraging(basis, group, outputs=group, estimator="ridge", alphas=[0.02])
    values = model.fit(X, Y).predict(X)
    assert model.alpha_ == 0.02
    features = basis.evaluate(X) @ model.vectors_.toarray().reshape(basis.n_functions_, -1)
    features = features.reshape(150, -1)
    free = int(model.invariant_dimensions_[0])
    assert free == 1  # (1, 1, 1) turns with the coordinates
    penalty = 0.02 * 50 * np.diag(np.arange(features.shape[1]) >= free)
    c = np.linalg.solve(features.T @ features + penalty, features.T @ Y.ravel())
    assert_allclose(values, (features @ c).reshape(50, 3), atol=1e-10)


def test_odd_functions_turn_with_the_sign():
    X = S.Torus(2).sample(80, random_state=0)
    y = np.sin(np.pi * X[:, 0]) + np.cos(np.pi * X[:, 1])
    model = S.SpectralAveraging(
        S.Torus(2), G.Negation(), outputs=G.Negation(), degree=2, estimator="least_squares"
    ).fit(X, y)
    assert_allclose(model.predict(-X), -model.predict(X), atol=1e-12)
    assert model.predict(X).shape == (80,) and model.discrepancy(X) < 1e-12
