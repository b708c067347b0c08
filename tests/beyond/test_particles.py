"""Continuous groups, exchangeable factors, several outputs, weights, and equivariant functions."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm
from scipy.special import eval_legendre
from sklearn.base import clone
from sklearn.linear_model import Ridge

from invariance import beyond
from invariance import groups as G
from invariance import spectral as S
from invariance.beyond import PlaneRotations, Rotations3D
from invariance.core.parameters import ParameterError
from invariance.groups import Permutations

from ..spectral.conftest import QP, turn

CONTINUOUS = [
    (S.Sphere(3, degree=12), Rotations3D()),
    (S.Sphere(6, degree=4), Rotations3D()),
    (S.Sphere(4, degree=6), PlaneRotations()),
    (beyond.Product([S.Sphere(3)] * 2, degree=8), Rotations3D()),
    (beyond.Product([S.Sphere(2), S.Sphere(4)], degree=6), PlaneRotations()),
]


def haar_average(f, basis, group, n_nodes=9):
    """The definition: average f o g with exact quadratures, then fit coefficients."""
    x = basis.sample(3 * basis.n_functions_ + 20, random_state=5)
    values = np.mean(
        [basis.evaluate(rotated) @ f for rotated in group.act(haar_nodes(group, n_nodes), x)],
        axis=0,
    )
    return np.linalg.lstsq(basis.evaluate(x), values, rcond=None)[0]


def haar_nodes(group, n):
    """Elements whose mean is the Haar integral for all degrees below n."""
    return 2 * np.pi * np.arange(n) / n


@pytest.mark.parametrize(("basis", "group"), CONTINUOUS, ids=repr)
def test_the_lie_algebra_is_the_derivative_of_the_action(basis, group):
    x = basis.sample(6, random_state=0)
    step = 1e-5
    matrices, shifts = group.lie_algebra(basis.n_features)
    for matrix, shift in zip(matrices, shifts, strict=True):
        # The derivative of a point along its orbit.
        def moved(size, matrix=matrix, shift=shift):
            return x @ expm(size * matrix).T + size * shift

        slope = (basis.evaluate(moved(step)) - basis.evaluate(moved(-step))) / (2 * step)
        values = basis.evaluate(x)
        for k, columns in enumerate(basis.slices()):
            frame = basis.frame(k)
            action = (frame @ basis.frame_derivative(k, matrix, shift) @ frame.T).toarray()
            assert_allclose(action, -action.T, atol=1e-12)
            size = np.abs(slope).max()
            assert_allclose(slope[:, columns], values[:, columns] @ action.T, atol=1e-6 * size)


@pytest.mark.parametrize(
    ("basis", "group"),
    [case for case in CONTINUOUS if not isinstance(case[1], Rotations3D)],
    ids=repr,
)
def test_continuous_projection_is_the_haar_average(basis, group):
    f = np.random.default_rng(0).standard_normal(basis.n_functions_)
    n = 2 * int(max(basis.labels_)) + 11
    expected = haar_average(f, basis, group, n)
    for method in ("auto", "null_space", "closed_form"):
        assert_allclose(S.project(f, basis, group, method=method), expected, atol=1e-9)
    with pytest.raises(ParameterError, match="do not permute"):
        S.project(f, basis, group, method="components")
    with pytest.raises(ParameterError, match="listed"):
        S.project(f, basis, group, method="reynolds")


@pytest.mark.parametrize(("basis", "group"), CONTINUOUS, ids=repr)
def test_continuous_invariants_do_not_change_and_are_orthonormal(basis, group):
    invariants = S.invariant_subspace(basis, group)
    x = basis.sample(10, random_state=1)
    vectors = np.concatenate(
        [
            np.pad(u.toarray(), ((s.start, basis.n_functions_ - s.stop), (0, 0)))
            for u, s in zip(invariants, basis.slices(), strict=True)
        ],
        axis=1,
    )
    assert_allclose(vectors.T @ vectors, np.eye(vectors.shape[1]), atol=1e-12)
    f = S.Expansion(basis, vectors)
    for rotated in group.act(group.sample(5, random_state=0), x):
        assert_allclose(f.predict(rotated), f.predict(x), atol=1e-11)


def test_invariants_of_two_points_are_one_function_per_degree():
    """Rotation invariants of two points on a sphere are functions of their inner product."""
    basis = beyond.Product([S.Sphere(3)] * 2, degree=40)
    expected = [int(any(2 * k * (k + 1) == value for k in range(9))) for value in basis.labels_]
    assert [u.shape[1] for u in S.invariant_subspace(basis, Rotations3D())] == expected
    x = basis.sample(20, random_state=0)
    inner = np.sum(x[:, :3] * x[:, 3:], axis=1)
    for u, columns, value in zip(
        S.invariant_subspace(basis, Rotations3D()), basis.slices(), basis.labels_, strict=True
    ):
        if u.shape[1]:
            k = round((np.sqrt(1 + 2 * value) - 1) / 2)
            ours = (basis.evaluate(x)[:, columns] @ u.toarray())[:, 0]
            plain = np.sqrt(2 * k + 1) * eval_legendre(k, inner)
            assert_allclose(np.abs(ours), np.abs(plain), atol=1e-11)


@pytest.mark.parametrize(
    ("factor", "n", "degree"), [(S.Sphere(3), 3, 6), (S.Circle(), 4, 2), (S.Torus(2), 2, 40)]
)
def test_exchangeable_projection_is_the_average_over_all_orders(factor, n, degree):
    basis = beyond.Product([factor] * n, degree=degree, exchangeable=True)
    f = np.random.default_rng(0).standard_normal(basis.n_functions_)
    x = basis.sample(3 * basis.n_functions_ + 20, random_state=0)
    points = x.reshape(len(x), n, -1)
    orders = itertools.permutations(range(n))
    values = np.mean(
        [basis.evaluate(points[:, list(p)].reshape(len(x), -1)) @ f for p in orders], axis=0
    )
    expected = np.linalg.lstsq(basis.evaluate(x), values, rcond=None)[0]
    for method in ("auto", "null_space", "closed_form", *QP):
        projected = S.project(f, basis, None, method=method)
        assert_allclose(projected, expected, atol=1e-8, err_msg=method)
    # The same group on a product whose factors are not declared exchangeable.
    plain = beyond.Product([factor] * n, degree=degree)
    group = Permutations(n, block=factor.n_features)
    for method in ("auto", "null_space", "reynolds"):
        projected = S.project(f, plain, group, method=method)
        assert_allclose(projected, expected, atol=1e-9, err_msg=method)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_particles_on_a_sphere_are_invariant_to_exchange_and_rotation(n):
    basis = beyond.Product([S.Sphere(3)] * n, exchangeable=True)
    rng = np.random.RandomState(0)
    X = basis.sample(300, rng)
    points = X.reshape(len(X), n, 3)
    pairs = itertools.combinations(points.swapaxes(0, 1), 2)
    y = np.sum([np.sum(a * b, axis=1) ** 2 for a, b in pairs], axis=0)
    model = S.SpectralAveraging(basis, Rotations3D(), degree=12, estimator="ridge").fit(X, y)
    Z = basis.sample(30, rng)
    assert model.discrepancy(Z, n_elements=20) < 1e-12
    assert model.score(X, y) > 1 - 1e-8
    rotated = Rotations3D().act(Rotations3D().sample(1, 3), Z)[0].reshape(-1, n, 3)[:, ::-1]
    assert_allclose(model.predict(rotated.reshape(len(Z), -1)), model.predict(Z), atol=1e-11)


SMALL = S.Sphere(3).sample(40, random_state=0)
TARGETS = np.stack([SMALL.prod(axis=1), np.cos(SMALL).sum(axis=1), SMALL.sum(axis=1) ** 2], axis=1)


@pytest.mark.parametrize("estimator", ["mean", "centered", "least_squares", "ridge"])
def test_several_outputs_are_fitted_together_with_one_alpha(estimator):
    model = S.SpectralAveraging(S.Sphere(3), Permutations(3), degree=3, estimator=estimator)
    both = clone(model).fit(SMALL, TARGETS)
    assert both.coef_.shape == (16, 3) and both.predict(SMALL).shape == (40, 3)
    assert both.discrepancy(SMALL) < 1e-12
    for j in range(3):
        if estimator == "ridge":
            model.set_params(alphas=[both.alpha_])
        assert_allclose(both.coef_[:, j], model.fit(SMALL, TARGETS[:, j]).coef_, atol=1e-12)


@pytest.mark.parametrize("estimator", ["mean", "centered", "least_squares", "ridge"])
def test_integer_weights_are_repetitions(estimator):
    weights = np.random.default_rng(0).integers(0, 4, size=40).astype(float)
    model = S.SpectralAveraging(
        S.Sphere(3), Permutations(3), degree=3, estimator=estimator, alphas=[1e-2]
    )
    weighed = model.fit(SMALL, TARGETS[:, 1], sample_weight=weights).coef_
    many = np.repeat(np.arange(40), weights.astype(int))
    assert_allclose(weighed, model.fit(SMALL[many], TARGETS[many, 1]).coef_, atol=1e-10)


@pytest.mark.parametrize("smoothness", [None, 2.0])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.filterwarnings("ignore:the cutoff keeps 64")
@pytest.mark.parametrize("degree", [3, 7])  # 16 and 64 functions of 40 points
def test_alpha_minimizes_the_weighted_leave_one_out_error(degree, weighted, smoothness):
    """The definition: fit without a weighted point, and weight its residual."""
    rng = np.random.default_rng(1)
    alphas = [1e-6, 1e-3, 1e-1, 10.0]
    weights = rng.uniform(0.1, 3, size=40)
    if not weighted:
        weights = np.ones(40)
    y = TARGETS[:, 1] + 0.3 * rng.standard_normal(40)
    model = S.SpectralAveraging(S.Sphere(3), degree=degree, smoothness=smoothness, alphas=alphas)
    model.fit(SMALL, y, sample_weight=weights if weighted else None)
    features = (model.basis_.evaluate(SMALL) @ model.vectors_.toarray())[:, 1:]
    if smoothness is not None:
        counts = np.repeat(model.basis_.counts_, model.invariant_dimensions_)[1:]
        features = features * counts ** (-smoothness / 2)  # alpha = 2 s / d = s
    errors = []
    for alpha in alphas:
        total = 0.0
        for i in range(40):
            rest = np.arange(40) != i
            ridge = Ridge(alpha=alpha * weights.sum())
            ridge.fit(features[rest], y[rest], sample_weight=weights[rest])
            total += weights[i] * (ridge.predict(features[i : i + 1])[0] - y[i]) ** 2
        errors.append(total)
    assert model.alpha_ == alphas[int(np.argmin(errors))]


def test_the_mean_estimator_is_unbiased_if_the_density_is_given():
    """The mean over many data sets is within five standard errors of the true function."""
    basis = S.Circle()
    rng = np.random.RandomState(0)
    truth = np.array([1.0, 0.7, 0, 0.5, -0.25])
    target = S.Expansion(basis.truncate(degree=2), truth)

    def density(X):
        return 1 + 0.8 * np.cos(X[:, 0])

    unbiased = []
    biased = []
    mean = S.SpectralAveraging(basis, degree=2, estimator="mean")
    for _ in range(200):
        x = basis.sample(400, rng)
        x = x[rng.uniform(0, 1.8, len(x)) < density(x)][:150]
        y = target.predict(x) + 0.1 * rng.standard_normal(len(x))
        unbiased.append(mean.fit(x, y, 1 / density(x)).coef_)
        biased.append(mean.fit(x, y).coef_)
    error = np.mean(unbiased, axis=0) - truth
    spread = np.std(unbiased, axis=0) / np.sqrt(len(unbiased))
    assert np.all(np.abs(error) <= 5 * spread + 1e-12)
    assert np.abs(np.mean(biased, axis=0) - truth).max() > 0.2


# -- equivariant functions: f(g x) = g f(x) --------------------------------------------------------

TURNS = beyond.Rotations3D()
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
    """The average of g^-1 f(g x) over the group, with coefficients by least squares."""
    x = basis.sample(2 * basis.n_functions_ + 20, random_state=0)
    elements = group.elements()
    transformed = group.act(elements, x)
    inverses = group.inverse(elements)
    values = [
        outputs.act(inverses[i : i + 1], basis.evaluate(transformed[i]) @ f)[0]
        for i in range(len(elements))
    ]
    return np.linalg.lstsq(basis.evaluate(x), np.mean(values, axis=0), rcond=None)[0]


@pytest.mark.parametrize(("basis", "group", "outputs", "p"), FINITE, ids=repr)
def test_equivariant_projection_is_the_average_over_the_group(basis, group, outputs, p):
    f = np.random.default_rng(0).standard_normal((basis.n_functions_, p))
    expected = definition(f, basis, group, outputs)
    for method in ("auto", "null_space", "closed_form", *QP, "reynolds"):
        projected = S.project(f, basis, group, outputs=outputs, method=method)
        assert_allclose(projected, expected, atol=1e-8 if method == "qp" else 1e-10)
    x = basis.sample(30, random_state=1)
    gap = S.invariance_discrepancy(S.Expansion(basis, projected).predict, group, x, outputs=outputs)
    assert gap.max() < 1e-11
    unprojected = S.Expansion(basis, f).predict
    assert S.invariance_discrepancy(unprojected, group, x, outputs=outputs).max() > 1


@pytest.mark.parametrize(("basis", "group", "outputs", "p"), FINITE, ids=repr)
def test_equivariant_dimensions_are_mean_products_of_characters(basis, group, outputs, p):
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


def test_equivariant_functions_of_one_and_two_points_on_a_sphere():
    """For one point f(x) = c x; for two points a, b and a x b, times functions of <a, b>."""
    of_one_point = S.invariant_subspace(S.Sphere(3, 3), TURNS, outputs=TURNS, n_outputs=3)
    assert [u.shape[1] for u in of_one_point] == [0, 1, 0, 0]
    basis = beyond.Product([S.Sphere(3)] * 2, degree=4)
    of_two_points = S.invariant_subspace(basis, TURNS, outputs=TURNS, n_outputs=3)
    assert [u.shape[1] for u in of_two_points] == [0, 2, 1]
    x = basis.sample(40, random_state=0)
    a = x[:, :3]
    b = x[:, 3:]
    y = np.cross(a, b) + 2 * a
    model = S.SpectralAveraging(basis, TURNS, outputs=TURNS, estimator="least_squares").fit(x, y)
    assert_allclose(model.predict(x), y, atol=1e-12)
    assert model.discrepancy(x) < 1e-12


@pytest.mark.parametrize("estimator", ["mean", "centered", "least_squares", "ridge"])
def test_every_estimator_is_exactly_equivariant(estimator):
    basis = beyond.Product([S.Sphere(3)] * 3, exchangeable=True)
    X = basis.sample(200, random_state=0)
    a = X[:, :3]
    b = X[:, 3:6]
    c = X[:, 6:]
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


def test_one_vector_for_all_particles_does_not_depend_on_their_order():
    basis = beyond.Product([S.Sphere(3)] * 3, exchangeable=True)
    X = basis.sample(100, random_state=0)
    sum_of_all = X.reshape(-1, 3, 3).sum(axis=1)
    model = S.SpectralAveraging(
        basis, TURNS, outputs=TURNS, degree=2, estimator="least_squares"
    ).fit(X, sum_of_all)
    assert_allclose(model.predict(X), sum_of_all, atol=1e-12)
    assert model.vectors_.shape[1] == 1 and model.discrepancy(X) < 1e-12


def test_the_equivariant_mean_is_the_projection_of_the_means():
    basis = S.Sphere(3, degree=3)
    group = G.Permutations(3)
    X = basis.sample(50, random_state=0)
    Y = np.random.default_rng(0).standard_normal((50, 3))
    primary = basis.evaluate(X).T @ Y / 50
    model = S.SpectralAveraging(basis, group, outputs=group, estimator="mean").fit(X, Y)
    assert_allclose(model.coef_, S.project(primary, basis, group, outputs=group), atol=1e-12)


def test_equivariant_ridge_minimizes_the_penalized_risk():
    """The risk is (1/n) sum |y_i - f(x_i)|^2 + alpha |f|^2."""
    basis = S.Sphere(3, degree=3)
    group = G.Permutations(3)
    X = basis.sample(50, random_state=0)
    Y = X**2 + 0.1 * np.random.default_rng(0).standard_normal((50, 3))
    model = S.SpectralAveraging(basis, group, outputs=group, estimator="ridge", alphas=[0.02])
    values = model.fit(X, Y).predict(X)
    assert model.alpha_ == 0.02
    features = basis.evaluate(X) @ model.vectors_.toarray().reshape(basis.n_functions_, -1)
    features = features.reshape(150, -1)
    n_unpenalized = int(model.invariant_dimensions_[0])
    assert n_unpenalized == 1  # (1, 1, 1) is equivariant
    penalty = 0.02 * 50 * np.diag(np.arange(features.shape[1]) >= n_unpenalized)
    c = np.linalg.solve(features.T @ features + penalty, features.T @ Y.ravel())
    assert_allclose(values, (features @ c).reshape(50, 3), atol=1e-10)


def test_odd_functions_are_equivariant_to_the_sign():
    X = S.Torus(2).sample(80, random_state=0)
    y = np.sin(np.pi * X[:, 0]) + np.cos(np.pi * X[:, 1])
    model = S.SpectralAveraging(
        S.Torus(2), G.Negation(), outputs=G.Negation(), degree=2, estimator="least_squares"
    ).fit(X, y)
    assert_allclose(model.predict(-X), -model.predict(X), atol=1e-12)
    assert model.predict(X).shape == (80,) and model.discrepancy(X) < 1e-12
