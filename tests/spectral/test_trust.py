"""What went wrong in silence once: each case beside what must hold instead."""

import warnings

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.special import eval_gegenbauer
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression, PoissonRegressor, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from invariance.core.parameters import ParameterError
from invariance.groups import (
    DirectProduct,
    OrthogonalMatrices,
    Permutations,
    SignedPermutations,
    SignFlips,
    TorusTranslations,
    Translations,
)
from invariance.spectral import (
    Circle,
    Eigenfunctions,
    Product,
    SobolevKernel,
    SpectralAveraging,
    Sphere,
    Torus,
    VonMisesKernel,
    augment,
    invariance_discrepancy,
    invariant_dimensions,
    invariant_subspace,
    project,
    sobolev_target,
)

GOLDEN = (1 + 5**0.5) / 2


def turn(axis, angle):
    axis = np.asarray(axis, dtype=float)
    return Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()


ICOSAHEDRAL = OrthogonalMatrices(
    [turn([0, 1, GOLDEN], 2 * np.pi / 5), turn([1, 1, 1], 2 * np.pi / 3)]
)


@pytest.mark.parametrize("axis", [[0, 0, 1], [1, 2, 3]])
def test_the_program_decides_the_rank_where_the_constraints_are_rounding_noise(axis):
    """2 pi / 7 leaves a seventh of each eigenspace alone, where D - I is rounding errors."""
    basis, group = Sphere(3, degree=21), OrthogonalMatrices([turn(axis, 2 * np.pi / 7)])
    f = np.random.default_rng(0).standard_normal(basis.n_functions_)
    expected = project(f, basis, group, method="reynolds")
    for method in ("auto", "null_space", "closed_form"):
        np.testing.assert_allclose(project(f, basis, group, method=method), expected, atol=1e-11)
    np.testing.assert_allclose(project(f, basis, group, method="qp"), expected, atol=1e-8)


@pytest.mark.parametrize(("d", "degree"), [(2, 21), (4, 9)])
def test_the_program_on_other_spheres(d, degree):
    turned = np.eye(d)
    turned[:2, :2] = turn([0, 0, 1], 2 * np.pi / 7)[:2, :2]
    basis, group = Sphere(d, degree=degree), OrthogonalMatrices([turned])
    f = np.random.default_rng(0).standard_normal(basis.n_functions_)
    expected = project(f, basis, group, method="reynolds")
    np.testing.assert_allclose(project(f, basis, group, method="qp"), expected, atol=1e-8)


@pytest.mark.parametrize(
    ("basis", "group"),
    [
        (Circle(), TorusTranslations([5])),
        (Torus(2), TorusTranslations([3, 1], period=2 * np.pi)),
        (Torus(2), TorusTranslations([4, 1], period=3.0)),
        (Torus(2), TorusTranslations([4, 1], period=4.0)),
    ],
    ids=repr,
)
def test_translations_of_another_period_are_refused(basis, group):
    X = basis.sample(40, random_state=0)
    with pytest.raises(ParameterError, match=r"has period [\d.]+, but the \w+ has period [\d.]+"):
        SpectralAveraging(basis, group, degree=4).fit(X, np.cos(X[:, 0]))


def test_translations_of_another_period_hidden_in_a_product_are_refused():
    for period in (2 * np.pi, 3.0):
        group = DirectProduct([TorusTranslations([4], period=period), SignFlips(1)])
        with pytest.raises(ParameterError, match="the same period"):
            invariant_subspace(Torus(2, degree=4), group)
    group = DirectProduct([TorusTranslations([4]), SignFlips(1)])
    assert sum(u.shape[1] for u in invariant_subspace(Torus(2, degree=4), group)) == 3


@pytest.mark.parametrize("regressor", [Ridge(1e-8, fit_intercept=False), LinearRegression()])
def test_no_regressor_loses_the_constant(regressor):
    X = Sphere(3).sample(200, random_state=0)
    y = 100 + X.prod(axis=1)
    model = SpectralAveraging(Sphere(3), Permutations(3), degree=3, estimator=regressor).fit(X, y)
    assert model.score(X, y) > 0.999
    assert model.discrepancy(X) < 1e-12


class NoIntercept(Ridge):
    """A regressor that has no such attribute at all."""

    def __init__(self):
        super().__init__(alpha=1e-8, fit_intercept=False)

    def get_params(self, deep=True):
        return {}

    def fit(self, X, y):
        super().fit(X, y)
        del self.intercept_
        return self

    def predict(self, X):
        return X @ self.coef_


def test_a_regressor_without_an_intercept_gets_the_constant_as_a_feature():
    X = Sphere(3).sample(200, random_state=0)
    y = 100 + X.prod(axis=1)
    model = SpectralAveraging(Sphere(3), Permutations(3), degree=3, estimator=NoIntercept())
    assert model.fit(X, y).score(X, y) > 0.999


@pytest.mark.parametrize(
    ("regressor", "message"),
    [
        (PoissonRegressor(), "does not predict X @ coef_ .* Eigenfunctions"),
        (KNeighborsRegressor(), "has no coef_ .* Eigenfunctions"),
        (make_pipeline(StandardScaler(), Ridge()), "has no coef_"),
        (
            TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp),
            "has no coef_",
        ),
    ],
    ids=lambda v: type(v).__name__,
)
def test_regressors_that_are_not_linear_are_refused_with_the_remedy(regressor, message):
    X = Sphere(3).sample(200, random_state=0)
    y = np.exp(X.sum(axis=1))
    with pytest.raises(ParameterError, match=message):
        SpectralAveraging(Sphere(3), Permutations(3), degree=2, estimator=regressor).fit(X, y)


@pytest.mark.parametrize("learner", [PoissonRegressor(alpha=1e-6), KNeighborsRegressor(3)])
def test_the_remedy_is_exactly_invariant(learner):
    group, X = Permutations(3), Sphere(3).sample(300, random_state=0)
    y = np.exp(X.sum(axis=1))
    model = make_pipeline(Eigenfunctions(Sphere(3), group, degree=3), learner).fit(X, y)
    assert model.score(X, y) > 0.98
    assert invariance_discrepancy(model.predict, group, X, relative=True) < 1e-10


@pytest.mark.parametrize("degree", [40, 100, 120])
def test_two_sphere_functions_are_orthonormal_at_any_degree(degree):
    """By a product rule that is exact for polynomials of twice the degree."""
    basis = Sphere(3, degree=degree)
    nodes, weights = np.polynomial.legendre.leggauss(degree + 1)
    angles = 2 * np.pi * np.arange(2 * degree + 1) / (2 * degree + 1)
    z, phi = (a.ravel() for a in np.meshgrid(nodes, angles, indexing="ij"))
    flat = np.sqrt(1 - z**2)
    points = np.stack([flat * np.cos(phi), flat * np.sin(phi), z], axis=1)
    measure = np.repeat(weights / 2, len(angles)) / len(angles)
    first = int(basis.counts_[-2])
    pick = np.zeros((basis.n_functions_, 2 * degree + 1 + 9))
    pick[np.arange(first, basis.n_functions_), np.arange(2 * degree + 1)] = 1
    pick[np.arange(1, 10), 2 * degree + 1 + np.arange(9)] = 1
    values = basis.combine(points, pick)
    gram = values.T @ (measure[:, None] * values)
    np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-12)


@pytest.mark.parametrize("degree", [60, 100, 120])
def test_two_sphere_functions_sum_to_their_number(degree):
    basis = Sphere(3, degree=degree)
    x = np.concatenate([basis.sample(20, random_state=0), np.eye(3), -np.eye(3)])
    values = basis.evaluate(x)
    for columns, size in zip(basis.slices(), basis.dimensions_, strict=True):
        np.testing.assert_allclose(np.sum(values[:, columns] ** 2, axis=1), size, rtol=1e-12)


@pytest.mark.parametrize(
    "matrix",
    [
        turn([1, 2, 3], 1.0),
        -turn([1, 0, 1], 2.5),
        turn([1, 1, 0], np.pi),
        np.eye(3)[[1, 2, 0]],
        np.diag([1.0, -1.0, -1.0]),
        np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, -1]]),
        np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]]),
        np.eye(3),
    ],
)
def test_orthogonal_matrices_act_on_spherical_harmonics(matrix):
    basis = Sphere(3, degree=30)
    x = basis.sample(10, random_state=0)
    group = OrthogonalMatrices([matrix])
    for k in (8, 9, 10, 30):
        columns = basis.slices()[k]
        action = basis.representation(k, group, matrix[None])[0].toarray()
        np.testing.assert_allclose(action @ action.T, np.eye(2 * k + 1), atol=1e-13)
        moved = basis.evaluate(x @ matrix.T)[:, columns]
        np.testing.assert_allclose(moved, basis.evaluate(x)[:, columns] @ action.T, atol=2e-12)


@pytest.mark.parametrize("d", [2, 4, 5])
def test_other_spheres_are_refused_beyond_where_their_functions_hold(d):
    x = Sphere(d).sample(3, random_state=0)
    basis = Sphere(d, degree=41)
    assert basis.n_functions_ > 0 and np.all(basis.counting([1e4]) > 0)
    with pytest.raises(ParameterError, match="up to degree 40"):
        basis.evaluate(x)
    with pytest.raises(ParameterError, match="up to degree 40"):
        invariant_subspace(basis, Permutations(d))


@pytest.mark.parametrize(("d", "k"), [(2, 40), (4, 30), (4, 40), (5, 20)])
def test_other_spheres_hold_up_to_the_limit(d, k):
    """Addition theorem: sum_l phi_l(x) phi_l(y) is a Gegenbauer polynomial of <x, y>.

    Functions as many as the space's dimension have this sum where they are orthonormal, and only
    there. Off by 3e-10 on S^1, 8e-12 on S^3 at degree 40, 2e-13 on S^4 at degree 30.
    """
    basis = Sphere(d, degree=k)
    x = np.concatenate([basis.sample(14, random_state=0), np.eye(d)[:1], np.full((1, d), d**-0.5)])
    frames = dict(basis._frames(np.ascontiguousarray(x.T), k))
    values = (basis.frame(k) @ frames[k]).T
    size, cosines = basis.dimensions_[-1], np.clip(x @ x.T, -1, 1)
    if d == 2:
        expected = 2 * np.cos(k * np.arccos(cosines))
    else:
        a = d / 2 - 1
        expected = size * eval_gegenbauer(k, a, cosines) / eval_gegenbauer(k, a, 1.0)
    np.testing.assert_allclose(values @ values.T / size, expected / size, atol=1e-9)


@pytest.mark.parametrize(
    "group", [ICOSAHEDRAL, SignedPermutations(3)], ids=["icosahedral", "signed"]
)
def test_invariance_holds_to_rounding_at_degree_40(group):
    basis = Sphere(3, degree=40)
    X = basis.sample(300, random_state=0)
    y = np.cos(9 * X[:, 0]) * X[:, 1]
    model = SpectralAveraging(basis, group, estimator="centered")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert model.discrepancy(X[:40], n_elements=120) < 1e-12
    counted = invariant_dimensions(basis, group)
    np.testing.assert_array_equal(model.invariant_dimensions_, counted)
    assert counted[40] > 0


def test_data_off_the_torus_box_are_pointed_out_by_number():
    rng = np.random.default_rng(0)
    inside, outside = rng.uniform(-1, 1, (50, 2)), rng.uniform(3, 4, (7, 2))
    X = np.concatenate([inside, outside])
    for model in (SpectralAveraging(degree=2), Eigenfunctions(degree=2)):
        with pytest.warns(UserWarning, match="7 of 57 points lie outside"):
            model.fit(X, X[:, 0])
    product = SpectralAveraging(Product([Circle(), Torus(1)]), degree=3)
    with pytest.warns(UserWarning, match="7 of 57 points"):
        product.fit(X, X[:, 0])
    # A box of one period may lie anywhere: no two of its points are one.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SpectralAveraging(degree=2).fit(inside, inside[:, 0])
        SpectralAveraging(degree=2).fit(inside + 1, inside[:, 0])
        SpectralAveraging(Circle(), degree=2).fit(np.pi * (inside[:, :1] + 1), inside[:, 0])


def test_evaluation_of_many_eigenspaces_costs_what_its_cosines_cost():
    import time

    basis = Circle(degree=1000)
    x = basis.sample(300, random_state=0)

    def plain():
        angles = np.outer(x[:, 0], np.arange(1, 1001))
        return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) * np.sqrt(2)

    basis.evaluate(x)
    ratios = []
    for _ in range(5):
        start = time.perf_counter()
        basis.evaluate(x)
        middle = time.perf_counter()
        plain()
        ratios.append((middle - start) / (time.perf_counter() - middle))
    assert min(ratios) < 8  # 80 to 160 once, about 1.3 now


def test_horner_sums_are_the_sums_of_the_functions():
    for basis in (Sphere(6, degree=4), Sphere(3, degree=5), Sphere(2, degree=7)):
        x = basis.sample(30, random_state=0)
        f = np.random.default_rng(0).standard_normal((basis.n_functions_, 2))
        np.testing.assert_allclose(basis.combine(x, f), basis.evaluate(x) @ f, atol=1e-10)
        f[int(basis.counts_[1]) :] = 0
        np.testing.assert_allclose(basis.combine(x, f), basis.evaluate(x) @ f, atol=1e-12)


def test_kernels_check_their_points_on_the_diagonal_too():
    for kernel in (VonMisesKernel(), SobolevKernel(Torus(2, degree=2))):
        with pytest.raises(ValueError):
            kernel.diag([[np.nan, 0.0]])
        with pytest.raises(ValueError):
            kernel.diag([0.0, 1.0])
    with pytest.raises(ParameterError, match="eta"):
        VonMisesKernel(eta=-1).diag([[0.0]])


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: invariant_subspace(Torus(36, degree=1), Translations((6, 6), 1)), "generators"),
        (lambda: project(np.zeros(9), Sphere(3, degree=2), None, method="reynolds"), "listed"),
        (lambda: project("abc", Sphere(3, degree=2), Permutations(3)), "coefficients"),
        (lambda: project(np.zeros(9), Sphere, Permutations(3)), "basis .* make an instance"),
        (lambda: Product([], degree=2).n_functions_, "factors"),
        (lambda: Product([Sphere], degree=2).n_functions_, "factors"),
        (lambda: Product([Sphere(3)], degree=-1).n_functions_, "degree"),
        (lambda: Torus(2, degree=np.inf).n_functions_, "degree"),
        (lambda: Torus(2, degree=1.5).n_functions_, "degree"),
        (lambda: Circle(degree="3").n_functions_, "degree"),
        (lambda: Sphere("3", degree=1).n_functions_, "n_features"),
        (lambda: Sphere(3).sample(-1), "n_samples"),
        (lambda: Torus(3).truncate(cutoff=np.inf), "cutoff"),
        (lambda: Torus(3).truncate(cutoff=None), "degree or cutoff"),
        (lambda: augment(np.eye(2), [1, 2], SignFlips(2), n_copies="all"), "n_copies"),
        (lambda: augment(np.eye(2), [1, 2], SignFlips), "group"),
        (
            lambda: sobolev_target(Torus(2, degree=4), SignFlips(2), smoothness=None),
            "smoothness",
        ),
        (lambda: SobolevKernel(Torus(2, degree=1), smoothness=0)([[0.0, 0.0]]), "smoothness"),
        (lambda: SobolevKernel("torus")([[0.0, 0.0]]), "basis"),
        (lambda: invariance_discrepancy(len, SignFlips(2), None), "X"),
    ],
)
def test_wrong_values_are_named(make, name):
    with pytest.raises(ParameterError, match=name):
        make()


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("basis", Sphere),
        ("group", "permutations"),
        ("degree", "2"),
        ("degree", np.inf),
        ("cutoff", 0),
        ("smoothness", np.nan),
        ("estimator", Ridge),
        ("alphas", []),
        ("alphas", [np.nan]),
        ("alphas", [-1.0]),
        ("alphas", 3.0),
        ("method", None),
        ("density", 2.0),
    ],
)
def test_wrong_parameters_of_the_estimator_are_named(parameter, value):
    X = Torus(2).sample(20, random_state=0)
    with pytest.raises(ParameterError, match=f"SpectralAveraging needs {parameter} to be"):
        SpectralAveraging(**{parameter: value}).fit(X, X[:, 0])
