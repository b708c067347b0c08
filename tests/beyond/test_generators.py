"""`find_generators`: the minimum by its definition, planted algebras, the rate of false ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.linalg import expm
from sklearn.kernel_ridge import KernelRidge

from invariance.beyond import find_generators
from invariance.core.parameters import ParameterError
from invariance.kernels import Gaussian


def rotations(signs):
    """Generators of the linear maps that preserve a sum of squares with these signs."""
    d = len(signs)
    generators = []
    for i in range(d):
        for j in range(i + 1, d):
            A = np.zeros((d, d))
            A[i, j] = 1
            A[j, i] = -signs[i] * signs[j]
            generators.append(A)
    return generators


def unit(d, i, j):
    E = np.zeros((d, d))
    E[i, j] = 1
    return E


def cosine(first, second):
    """Cosine of the largest principal angle of two spans of matrices."""
    bases = []
    for matrices in (first, second):
        columns = np.array([np.ravel(matrix) for matrix in matrices]).T
        bases.append(np.linalg.qr(columns)[0])
    return np.linalg.svd(bases[0].T @ bases[1], compute_uv=False).min()


def draw(function, d, n=400, noise=0.1, seed=0):
    """Normal points, and values of a function with noise relative to its standard deviation."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    values = function(X)
    return X, values / values.std() + noise * rng.standard_normal(n)


def homogeneous(result):
    """Generators as matrices that act on (x, 1)."""
    return np.concatenate([result.matrices, result.shifts[:, :, None]], axis=2)


LINEAR = {
    "so(3)": (3, lambda X: np.sqrt((X**2).sum(axis=1)), rotations([1, 1, 1])),
    "so(4)": (4, lambda X: np.exp(-(X**2).sum(axis=1) / 4), rotations([1, 1, 1, 1])),
    "so(1,3)": (4, lambda X: np.tanh(X**2 @ [0.5, -0.5, -0.5, -0.5]), rotations([1, -1, -1, -1])),
    "so(2)": (
        3,
        lambda X: np.hypot(X[:, 0], X[:, 1]) * np.sin(X[:, 2]),
        [unit(3, 0, 1) - unit(3, 1, 0)],
    ),
    "squeezes": (
        3,
        lambda X: np.tanh(X[:, 0] * X[:, 1]) + np.sin(X[:, 2]),
        [unit(3, 0, 0) - unit(3, 1, 1)],
    ),
}


@pytest.mark.parametrize("name", LINEAR)
def test_planted_algebras_of_matrices_are_found(name):
    d, function, planted = LINEAR[name]
    X, y = draw(function, d, n=700)
    result = find_generators(X, y, random_state=0)
    assert result.dimension == len(planted)
    assert cosine(result.matrices, planted) > 0.99
    assert_allclose(result.shifts, 0)
    assert len(result) == len(planted)
    if len(planted) > 1:
        assert result.closure < 0.3
    else:
        assert result.closure is None


def test_a_direction_that_does_not_matter_gives_all_fields_along_it():
    X, y = draw(lambda X: np.sin(2 * X[:, 0]) * np.cos(X[:, 1]), 3, n=700)
    result = find_generators(X, y, affine=True, random_state=0)
    planted = [np.outer([0, 0, 1.0], row) for row in np.eye(4)]
    assert result.dimension == 4
    assert cosine(homogeneous(result), planted) > 0.99


def test_a_screw_is_found_among_affine_fields():
    """x -> (turn of the first two, third + angle)."""
    X, y = draw(
        lambda X: X[:, 0] * np.cos(X[:, 2]) + X[:, 1] * np.sin(X[:, 2]), 3, n=1000, noise=0.05
    )
    field = np.zeros((3, 4))
    field[0, 1] = -1
    field[1, 0] = 1
    field[2, 3] = 1
    result = find_generators(X, y, affine=True, random_state=0)
    assert result.dimension == 1
    assert cosine(homogeneous(result), [field]) > 0.99


def test_a_scaling_is_found():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((700, 2)) + [4, 0]
    y = np.arctan2(X[:, 1], X[:, 0])
    y = np.sin(6 * y) + 0.05 * rng.standard_normal(len(y))
    result = find_generators(X, y, random_state=0)
    # The function changes along all fields but multiples of x, and x itself is the linear one.
    assert result.dimension == 1
    assert cosine(result.matrices, [np.eye(2)]) > 0.99


def test_the_gradients_are_those_of_kernel_ridge_regression():
    X, y = draw(lambda X: np.sin(X).sum(axis=1), 2, n=80)
    result = find_generators(X, y, random_state=0, level=0.5, n_null=1)
    white = np.linalg.inv(np.linalg.cholesky(X.T @ X / len(X))).T
    model = KernelRidge(kernel="rbf", gamma=result.gamma, alpha=result.ridge)
    model.fit(X @ white, y - y.mean())
    step = 1e-5
    for j in range(2):
        moved = step * np.eye(2)[j]
        slopes = (model.predict((X + moved) @ white) - model.predict((X - moved) @ white)) / 2
        assert_allclose(result.gradients[:, j], slopes / step, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("affine", [False, True])
def test_generators_are_stationary_directions_of_the_mean_square(affine):
    """No combination of unit size with other fields changes the function less."""
    X, y = draw(lambda X: np.sin(X[:, 0]) * X[:, 1] + X[:, 2], 3, n=120)
    X = X @ np.array([[1.0, 0.5, 0], [0, 2, 0], [0, 0, 0.3]]) + [1, 0, 2]
    result = find_generators(X, y, affine=affine, random_state=0, level=0.5, n_null=1)
    matrices, shifts = result.all_matrices, result.all_shifts
    assert len(matrices) == 9 + 3 * affine
    fields = np.einsum("kij,nj->kni", matrices, X) + shifts[:, None]
    slopes = np.einsum("kni,ni->kn", fields, result.gradients)
    gram = slopes @ slopes.T / len(X)
    assert_allclose(np.diag(gram), result.changes, rtol=1e-6)
    assert_allclose(gram - np.diag(np.diag(gram)), 0, atol=1e-8 * gram.max())
    assert np.all(np.diff(result.changes) >= 0)
    # The fields have size one, and are orthogonal, in the metric of the points.
    second_moments = X.T @ X / len(X)
    if affine:
        second_moments = np.cov(X.T, bias=True)
    metric = np.linalg.inv(second_moments)
    sizes = np.einsum("kni,ij,lnj->kl", fields, metric, fields) / len(X)
    assert_allclose(sizes, np.eye(len(sizes)), atol=1e-8)


@pytest.mark.parametrize("affine", [False, True])
def test_the_result_does_not_depend_on_the_coordinates(affine):
    X, y = draw(lambda X: np.sqrt((X**2).sum(axis=1)), 3, n=150)
    C = np.array([[2.0, 1, 0], [0, 0.5, 0.3], [0, 0, 3]])
    c = affine * np.array([5.0, -3, 1])
    plain = find_generators(X, y, affine=affine, random_state=0, n_null=20)
    moved = find_generators(X @ C.T + c, y, affine=affine, random_state=0, n_null=20)
    assert_allclose(moved.changes, plain.changes, rtol=1e-6)
    assert_allclose(moved.p_values, plain.p_values)
    inverse = np.linalg.inv(C)
    for i in range(3):
        A = C @ plain.all_matrices[i] @ inverse
        b = C @ plain.all_shifts[i] - A @ c
        sign = np.sign(np.vdot(A, moved.all_matrices[i]))
        assert_allclose(sign * A, moved.all_matrices[i], atol=1e-4 * np.abs(A).max())
        assert_allclose(sign * b, moved.all_shifts[i], atol=1e-4 * max(np.abs(b).max(), 1))


def test_units_of_the_values_do_not_matter():
    X, y = draw(lambda X: np.sin(X).sum(axis=1), 2, n=100)
    plain = find_generators(X, y, random_state=0, n_null=20)
    scaled = find_generators(X, 1000 * y - 7, random_state=0, n_null=20)
    assert_allclose(scaled.p_values, plain.p_values)
    assert_allclose(scaled.changes, 1e6 * plain.changes, rtol=1e-6)


def test_flows_leave_a_planted_function_unchanged():
    X, y = draw(lambda X: np.sqrt((X**2).sum(axis=1)), 3, n=700)
    result = find_generators(X, y, random_state=0)
    moved = result.flow(X, [0.3, -0.5, 1.0])
    A = np.tensordot([0.3, -0.5, 1.0], result.matrices, 1)
    assert_allclose(moved, X @ expm(A).T, atol=1e-10)
    lengths = np.linalg.norm(X, axis=1)
    assert np.abs(np.linalg.norm(moved, axis=1) - lengths).mean() < 0.05 * lengths.mean()
    assert np.abs(moved - X).mean() > 0.2
    with pytest.raises(ParameterError, match="one number per generator"):
        result.flow(X, [1.0])


def test_affine_flows_follow_the_field():
    X, y = draw(lambda X: np.sin(2 * X[:, 0]) * np.cos(X[:, 1]), 3, n=300)
    result = find_generators(X, y, affine=True, random_state=0)
    t = np.zeros(len(result))
    t[0] = 1e-6
    slopes = (result.flow(X, t) - X) / 1e-6
    assert_allclose(slopes, X @ result.matrices[0].T + result.shifts[0], atol=1e-4)


def test_false_generators_are_as_rare_as_stated():
    """Functions without symmetry, drawn from Gaussian processes, and noise alone."""
    rng = np.random.default_rng(0)
    n_draws = 80
    n_false = {"process": 0, "noise": 0}
    for i in range(n_draws):
        X = rng.standard_normal((90, 2))
        gram = Gaussian(0.4)(X) + 1e-8 * np.eye(len(X))
        values = np.linalg.cholesky(gram) @ rng.standard_normal(len(X))
        noise = rng.standard_normal(len(X))
        for name, y in (("process", values + 0.1 * noise), ("noise", noise)):
            result = find_generators(X, y, n_null=39, random_state=i)
            n_false[name] += result.dimension > 0
    most = stats.binom.ppf(0.999, n_draws, 0.05)
    assert max(n_false.values()) <= most


def test_functions_that_vary_little_along_a_field_are_told_from_constant_ones():
    """The last coordinate matters less than the others, but it matters."""
    n_found = {0.0: 0, 0.6: 0}
    for weight in n_found:
        for seed in range(4):
            X, y = draw(
                lambda X, weight=weight: (
                    np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + weight * np.sin(X[:, 2])
                ),
                3,
                n=800,
                seed=seed,
            )
            result = find_generators(X, y, affine=True, random_state=0)
            n_found[weight] += result.dimension > 0
            if weight:
                assert result.p_values_of_zero[0] <= 0.05
    assert n_found[0.0] >= 3
    assert n_found[0.6] == 0


def test_the_table_names_the_answer():
    X, y = draw(lambda X: np.sqrt((X**2).sum(axis=1)), 3, n=500)
    result = find_generators(X, y, random_state=0)
    text = repr(result)
    assert text.startswith("3 generators")
    assert "p = 0.01 without symmetry" in text
    noise = np.random.default_rng(0).standard_normal(500)
    assert repr(find_generators(X, noise, random_state=0)).startswith("no generator")


def test_equal_seeds_give_equal_results_and_points_beyond_the_limit_are_left_out():
    X, y = draw(lambda X: np.sin(X).sum(axis=1), 2, n=120)
    first = find_generators(X, y, n_points=60, n_null=19, random_state=1)
    again = find_generators(X, y, n_points=60, n_null=19, random_state=1)
    assert len(first.gradients) == 60 == len(first.points)
    assert np.array_equal(first.p_values, again.p_values)
    assert np.array_equal(first.points, again.points)
    assert {tuple(point) for point in first.points} <= {tuple(point) for point in X}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.ones(30)}, "constant"),
        ({"X": np.ones((30, 2))}, "subspace"),
        ({"X": np.ones((30, 2)) * np.arange(30)[:, None]}, "subspace"),
        ({"y": np.zeros((30, 2))}, "1d|shape"),
        ({"y": np.arange(29.0)}, "inconsistent|samples"),
        ({"level": 1.5}, "level"),
        ({"level": 0.01, "n_null": 50}, "n_null"),
        ({"n_null": 0}, "n_null"),
        ({"X": np.full((30, 2), np.nan)}, "NaN"),
    ],
)
def test_invalid_arguments_are_refused(change, message):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    arguments = {"X": X, "y": X[:, 0] + rng.standard_normal(30)} | change
    points = arguments.pop("X")
    values = arguments.pop("y")
    with pytest.raises(ValueError, match=message):
        find_generators(points, values, **arguments)


@pytest.mark.parametrize("exponent", [-600, 600])
def test_values_may_have_any_size(exponent):
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = np.hypot(X[:, 0], X[:, 1])
    expected = find_generators(X, y, n_null=19, random_state=0)
    result = find_generators(X, np.ldexp(y, exponent), n_null=19, random_state=0)
    assert result.dimension == expected.dimension
    assert_allclose(result.p_values, expected.p_values)
    assert_allclose(result.p_values_of_zero, expected.p_values_of_zero)
    assert_allclose(np.ldexp(result.gradients, -exponent), expected.gradients, rtol=1e-9)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("exponents", [(0, -20), (30, -600), (600, 640)], ids=str)
def test_coordinates_may_have_any_units(exponents, affine):
    X = np.random.default_rng(1).standard_normal((60, 2))
    y = np.exp(-np.square(X).sum(axis=1))
    units = np.ldexp(1.0, exponents)
    expected = find_generators(X, y, affine=affine, n_null=19, random_state=0)
    found = find_generators(units * X, y, affine=affine, n_null=19, random_state=0)
    assert len(found) == len(expected) == 1
    assert_allclose(found.changes, expected.changes, rtol=1e-6)
    assert_allclose(found.gradients * units, expected.gradients, atol=1e-8)
    matrix = found.matrices[0] * units / units[:, None]
    sign = np.sign(np.sum(matrix * expected.matrices[0]))
    assert_allclose(sign * matrix, expected.matrices[0], atol=1e-6)
    assert_allclose(sign * found.shifts[0] / units, expected.shifts[0], atol=1e-6)
