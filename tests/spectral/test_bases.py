"""Bases are orthonormal, harmonic, and complete on each eigenspace."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import eval_chebyt, eval_gegenbauer

from invariance.beyond import Product
from invariance.core.config import config_context
from invariance.core.parameters import ParameterError
from invariance.groups import OrthogonalMatrices, Permutations
from invariance.spectral import Circle, OracleCalls, Sphere, Torus, invariant_subspace
from invariance.spectral.sphere import monomials, symmetric_power
from invariance.spectral.torus import sums_of_squares

from .conftest import turn

BASES = [
    Circle(degree=6),
    Torus(1, degree=9),
    Torus(2, period=3.0, degree=10),
    Torus(4, degree=5),
    Sphere(2, degree=6),
    Sphere(3, degree=7),
    Sphere(5, degree=4),
    Sphere(9, degree=3),
    Product([Sphere(3), Circle()], degree=6),
    Product([Torus(2), Sphere(4)], degree=20),
]


def torus_grid(basis, points):
    side = np.arange(points) / points * basis.period - basis.period / 2
    return np.array(list(itertools.product(side, repeat=basis.n_features)))


@pytest.mark.parametrize(("basis", "points"), [
    (Circle(degree=6), 15),
    (Torus(1, degree=9), 15),
    (Torus(2, period=3.0, degree=10), 15),
    (Torus(4, degree=5), 5),
], ids=repr)  # fmt: skip
def test_torus_functions_are_orthonormal_by_exact_quadrature(basis, points):
    # An equispaced grid of p points integrates frequencies below p exactly.
    values = basis.evaluate(torus_grid(basis, points))
    gram = values.T @ values / len(values)
    assert_allclose(gram, np.eye(basis.n_functions_), atol=1e-12)


@pytest.mark.parametrize("d", [2, 3, 4, 5, 6, 7, 9])
def test_zonal_sums_are_gegenbauer_polynomials(d):
    """The addition theorem holds only if the functions are orthonormal."""
    basis = Sphere(d, degree=5)
    x = basis.sample(5, random_state=1)
    y = basis.sample(4, random_state=2)
    at_x = basis.evaluate(x)
    at_y = basis.evaluate(y)
    for k, columns in enumerate(basis.slices()):
        inner = x @ y.T
        if d == 2:
            zonal = eval_chebyt(k, inner)
        else:
            order = (d - 2) / 2
            zonal = eval_gegenbauer(k, order, inner) / eval_gegenbauer(k, order, 1.0)
        expected = basis.dimensions_[k] * zonal
        assert_allclose(at_x[:, columns] @ at_y[:, columns].T, expected, atol=1e-11)


@pytest.mark.parametrize("basis", [Circle(degree=4), Torus(3, period=3.0, degree=6)], ids=repr)
def test_torus_eigenvalues_agree_with_the_laplacian(basis):
    x = basis.sample(5, random_state=0)
    step = 1e-4
    values = basis.evaluate(x)
    laplacian = np.zeros_like(values)
    for e in np.eye(basis.n_features) * step:
        laplacian += (basis.evaluate(x + e) - 2 * values + basis.evaluate(x - e)) / step**2
    eigenvalues = np.repeat(basis.eigenvalues_, basis.dimensions_)
    assert_allclose(-laplacian, eigenvalues * values, atol=1e-4 * eigenvalues.max())


def test_a_torus_may_have_many_dimensions():
    d = 600  # (2 sqrt(N) + 1)^d, a bound on the number of frequencies, exceeds the largest float
    assert Torus(d, degree=1).n_functions_ == 1 + 2 * d


@given(st.integers(1, 4), st.integers(0, 12))
@settings(max_examples=25, deadline=None)
def test_torus_frequencies_are_the_integer_points_on_a_sphere(d, level):
    brute = {m for m in itertools.product(range(-4, 5), repeat=d) if sum(i * i for i in m) == level}
    assert sums_of_squares(d, 13)[level] == len(brute)
    if brute:
        basis = Torus(d, degree=level)
        assert basis.labels_[-1] == level
        assert {tuple(map(int, m)) for m in basis.frequencies(len(basis.labels_) - 1)} == brute


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_multiplicities_match_the_functions_and_the_counting_function(basis):
    for k, size in enumerate(basis.dimensions_):
        b = basis.frame(k)
        assert b.shape[0] == size
        assert_allclose((b @ b.T).toarray(), np.eye(size), atol=1e-13)
    assert basis.evaluate(basis.sample(2, random_state=0)).shape == (2, basis.n_functions_)
    assert_array_equal(basis.counting(basis.eigenvalues_), basis.counts_)
    middle = basis.eigenvalues_[:-1] + np.diff(basis.eigenvalues_) / 2
    assert_array_equal(basis.counting(middle), basis.counts_[:-1])
    assert np.all(basis.counting(np.array([-1.0])) == 0)
    assert np.all(np.diff(basis.eigenvalues_) > 0)


@pytest.mark.parametrize("eigenvalues", [[np.nan, 50.0], np.inf])
def test_only_finite_eigenvalues_are_counted(eigenvalues):
    with pytest.raises(ValueError, match="counting needs finite eigenvalues, got .*(nan|inf)"):
        Torus(2).counting(eigenvalues)
    assert Torus(2).counting([-1.0, 50.0]).tolist() == [0, 21]


def test_the_paper_counts_invariant_functions_only():
    basis = Torus(10, degree=3)
    assert_array_equal(basis.counts_, [1, 21, 201, 1161])
    cosines = [int(np.all(basis.frequencies(k) >= 0, axis=1).sum()) for k in range(4)]
    assert_array_equal(np.cumsum(cosines), [1, 11, 56, 176])
    assert_allclose(basis.eigenvalues_, np.pi**2 * np.arange(4))


@pytest.mark.parametrize(("first", "second", "degree"), [
    (Sphere(3, degree=2), Circle(degree=3), 6),
    (Torus(2, degree=2), Sphere(4, degree=3), 20),
], ids=repr)  # fmt: skip
def test_product_dimensions_and_values_come_from_the_factors(first, second, degree):
    basis = Product([first, second], degree=degree)
    x = basis.sample(6, random_state=0)
    values = basis.evaluate(x)
    cut = first.n_features
    outer = np.einsum("ni,nj->nij", first.evaluate(x[:, :cut]), second.evaluate(x[:, cut:]))
    sums = np.add.outer(
        np.repeat(first.eigenvalues_, first.dimensions_),
        np.repeat(second.eigenvalues_, second.dimensions_),
    )
    for k, columns in enumerate(basis.slices()):
        expected = outer[:, np.isclose(sums, basis.eigenvalues_[k])]
        kernel = values[:, columns] @ values[:, columns].T
        assert_allclose(kernel, expected @ expected.T, atol=1e-11)


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_combinations_in_small_blocks_agree_with_the_full_table(basis):
    x = basis.sample(23, random_state=0)
    weights = np.random.default_rng(0).standard_normal((basis.n_functions_, 3))
    weights[::2] = 0
    values = basis.evaluate(x)
    calls = OracleCalls()
    with config_context(block_bytes=4000):
        combined = basis.combine(x, weights, calls=calls)
    assert_allclose(combined, values @ weights, atol=1e-10)
    assert calls.eigenfunctions == 23 * (basis.n_functions_ // 2)
    few = weights[:, :2]  # spheres use Horner's scheme
    for n_used in (basis.n_functions_, int(basis.counts_[1])):
        few[n_used:] = 0
        assert_allclose(basis.combine(x, few), values @ few, atol=1e-10)


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_symmetric_power_is_polynomial_substitution(k):
    rng = np.random.default_rng(k)
    matrix = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    power = symmetric_power(matrix, k)
    assert_allclose(power @ power.T, np.eye(len(power)), atol=1e-13)
    table = monomials(3, k)
    x = rng.standard_normal((4, 3))

    def normalised(points):
        return np.prod(points[:, table.variables], axis=2) / np.sqrt(table.factorials)

    assert_allclose(normalised(x @ matrix.T), normalised(x) @ power.T, atol=1e-12)


def test_truncation_never_splits_an_eigenspace():
    assert Torus(10).truncate(cutoff=21, warn=True).n_functions_ == 21
    with pytest.warns(UserWarning, match=r"cutoff=200 falls inside .* rounded down to D=21"):
        assert Torus(10).truncate(cutoff=200).n_functions_ == 21
    assert Circle().truncate(degree=3).n_functions_ == 7


def test_eigenspaces_change_with_the_parameters():
    basis = Sphere(3, degree=2)
    assert basis.n_functions_ == 9
    assert basis.set_params(degree=1).n_functions_ == 4
    assert basis.set_params(n_features=5).n_functions_ == 6


@pytest.mark.parametrize("degree", [40, 100])
def test_two_sphere_functions_are_orthonormal_at_any_degree(degree):
    """The product quadrature is exact for polynomials of twice the degree."""
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
    assert_allclose(gram, np.eye(len(gram)), atol=1e-12)


@pytest.mark.parametrize("matrix", [
    turn([1, 2, 3], 1.0),
    -turn([1, 0, 1], 2.5),
    turn([1, 1, 0], np.pi),
    np.eye(3)[[1, 2, 0]],
    np.diag([1.0, -1.0, -1.0]),
    np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, -1]]),
    np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]]),
    np.eye(3),
])  # fmt: skip
def test_orthogonal_matrices_act_on_spherical_harmonics(matrix):
    basis = Sphere(3, degree=30)
    x = basis.sample(10, random_state=0)
    group = OrthogonalMatrices([matrix])
    for k in (8, 9, 10, 30):
        columns = basis.slices()[k]
        action = basis.representation(k, group, matrix[None])[0].toarray()
        assert_allclose(action @ action.T, np.eye(2 * k + 1), atol=1e-13)
        transformed = basis.evaluate(x @ matrix.T)[:, columns]
        assert_allclose(transformed, basis.evaluate(x)[:, columns] @ action.T, atol=2e-12)


@pytest.mark.parametrize("d", [2, 4, 5])
def test_degrees_with_inaccurate_functions_are_refused_on_other_spheres(d):
    x = Sphere(d).sample(3, random_state=0)
    basis = Sphere(d, degree=41)
    assert basis.n_functions_ > 0 and np.all(basis.counting([1e4]) > 0)
    with pytest.raises(ParameterError, match="up to degree 40"):
        basis.evaluate(x)
    with pytest.raises(ParameterError, match="up to degree 40"):
        invariant_subspace(basis, Permutations(d))


@pytest.mark.parametrize(("d", "k"), [(2, 40), (4, 40), (5, 20)])
def test_functions_on_other_spheres_are_accurate_up_to_the_largest_degree(d, k):
    """Addition theorem: sum_l phi_l(x) phi_l(y) is a Gegenbauer polynomial of <x, y>.

    As many functions as the dimension of the space have this sum only if they are orthonormal.
    The errors are 3e-10 on S^1, 8e-12 on S^3 at degree 40, and 2e-13 on S^4 at degree 30.
    """
    basis = Sphere(d, degree=k)
    x = np.concatenate([basis.sample(14, random_state=0), np.eye(d)[:1], np.full((1, d), d**-0.5)])
    frames = dict(basis._by_degree(np.ascontiguousarray(x.T), k))
    values = (basis.frame(k) @ frames[k]).T
    size = basis.dimensions_[-1]
    cosines = np.clip(x @ x.T, -1, 1)
    if d == 2:
        expected = 2 * np.cos(k * np.arccos(cosines))
    else:
        a = d / 2 - 1
        expected = size * eval_gegenbauer(k, a, cosines) / eval_gegenbauer(k, a, 1.0)
    assert_allclose(values @ values.T / size, expected / size, atol=1e-9)


@pytest.mark.parametrize("block_bytes", [20_000, None])
def test_sums_with_equal_weights_are_those_of_the_table(block_bytes):
    # An invariant function has equal weights for the monomials of an orbit.
    basis = Sphere(6, degree=4)
    x = basis.sample(300, random_state=0)
    values = basis.evaluate(x)
    spaces = invariant_subspace(basis, Permutations(6))
    for columns, vectors in zip(basis.slices(), spaces, strict=True):
        weights = np.zeros((basis.n_functions_, vectors.shape[1]))
        weights[columns] = vectors.toarray()
        for f in weights.T:
            with config_context(block_bytes=block_bytes):
                combined = basis.combine(x, f[:, None])
            assert_allclose(combined[:, 0], values @ f, atol=1e-11)


def test_far_points_of_the_torus_keep_their_digits():
    near = np.array([[0.25, -0.375], [0.125, 0.0]])
    basis = Torus(2, period=1.0, degree=10)
    expected = basis.evaluate(near)
    for turns in (1e9, -1e9, 2.0**40):
        assert_allclose(basis.evaluate(near + turns), expected, atol=1e-12)
