"""Representations and projections: every method gives the average over the listed group."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import ortho_group

from invariance import beyond
from invariance import groups as G
from invariance import spectral as S
from invariance.core.parameters import ParameterError
from invariance.groups import base as groups_base
from invariance.spectral.actions import Actions, Symmetry

from .conftest import ICOSAHEDRAL, QP, turn

# The symmetries of a square in tilted coordinates: no generator permutes coordinates.
TILT = ortho_group.rvs(3, random_state=0)
TILTED = G.OrthogonalMatrices(
    [TILT @ turn([0, 0, 1], np.pi / 2) @ TILT.T, TILT @ np.diag([1.0, -1.0, 1.0]) @ TILT.T]
)

CASES = [
    (S.Sphere(4, degree=5), G.Permutations(4)),
    (S.Sphere(3, degree=5), G.CyclicShifts(3)),
    (S.Sphere(4, degree=4), G.SignFlips(4)),
    (S.Sphere(3, degree=6), G.SignedPermutations(3)),
    (S.Sphere(4, degree=4), G.Negation()),
    (S.Sphere(3, degree=6), ICOSAHEDRAL),
    (S.Sphere(3, degree=5), TILTED),
    (S.Sphere(2, degree=7), G.OrthogonalMatrices([[[0.0, -1.0], [1.0, 0.0]]])),
    (S.Sphere(6, degree=2), G.Permutations(3, block=2)),
    (S.Sphere(3, degree=3), G.Permutations(3)),
    (S.Torus(4, degree=4), G.SignFlips(4)),
    (S.Torus(3, degree=6), G.SignedPermutations(3)),
    (S.Torus(3, degree=5), G.Permutations(3)),
    (S.Torus(2, degree=8), G.TorusTranslations([3, 2])),
    (S.Torus(2, period=5.0, degree=5), G.TorusTranslations([4, 1], period=5.0)),
    (S.Torus(2, degree=4), G.DirectProduct([G.TorusTranslations([4]), G.SignFlips(1)])),
    (S.Circle(degree=9), G.TorusTranslations([4], period=2 * np.pi)),
    (S.Circle(degree=4), G.Negation()),
    (S.Torus(1, degree=4), G.Permutations(1)),
    (
        beyond.Product([S.Sphere(3), S.Torus(2)], degree=20),
        G.DirectProduct([G.Permutations(3), G.SignFlips(2)]),
    ),
    (
        beyond.Product([S.Circle(), S.Sphere(3)], degree=6),
        G.DirectProduct([G.TorusTranslations([2], period=2 * np.pi), G.CyclicShifts(3)]),
    ),
]


def ids(value):
    if isinstance(value, G.FiniteGroup):
        return f"{type(value).__name__}-{value.order}"
    return repr(value)


def reynolds_by_evaluation(f, basis, group):
    """The definition: average f o g over all g, then fit its coefficients to values at points."""
    x = basis.sample(4 * basis.n_functions_ + 20, random_state=5)
    values = np.mean(
        [basis.evaluate(transformed) @ f for transformed in group.act(group.elements(), x)], 0
    )
    return np.linalg.lstsq(basis.evaluate(x), values, rcond=None)[0]


@pytest.mark.parametrize(("basis", "group"), CASES, ids=ids)
def test_all_methods_give_the_average_over_the_group(basis, group):
    f = np.random.default_rng(0).standard_normal((basis.n_functions_, 2))  # two functions at once
    expected = reynolds_by_evaluation(f, basis, group)
    n_methods = 0
    methods = [m for m in S.projection.METHODS if m != "qp" or QP]
    for method in methods:
        try:
            projected = S.project(f, basis, group, method=method)
        except ValueError as error:
            assert method == "components" and "do not permute" in str(error)
            continue
        assert_allclose(projected, expected, atol=1e-8, err_msg=method)
        n_methods += 1
    assert n_methods >= len(methods) - 1


@pytest.mark.parametrize(("basis", "group"), CASES, ids=ids)
def test_the_representation_is_an_orthogonal_homomorphism_that_transforms_functions(basis, group):
    x = basis.sample(6, random_state=2)
    g, h = group.sample(2, random_state=1)[:, None]
    product = group.compose(g, h)
    transformed = basis.evaluate(group.act(g, x)[0])
    values = basis.evaluate(x)
    for k, columns in enumerate(basis.slices()):
        a, b, ab = (basis.representation(k, group, g)[0].toarray() for g in (g, h, product))
        assert_allclose(a @ a.T, np.eye(len(a)), atol=1e-12)
        assert_allclose(ab, a @ b, atol=1e-11)
        assert_allclose(transformed[:, columns], values[:, columns] @ a.T, atol=1e-11)


@pytest.mark.parametrize(("basis", "group"), CASES, ids=ids)
def test_invariant_dimension_is_the_mean_character(basis, group):
    """dim V^G = (1/|G|) sum_g trace D(g), which does not use the null space."""
    elements = group.elements()
    subspaces = S.invariant_subspace(basis, group)
    if not isinstance(basis, beyond.Product):
        assert_array_equal(S.invariant_dimensions(basis, group), [u.shape[1] for u in subspaces])
    for k, vectors in enumerate(subspaces):
        traces = [d.trace() for d in basis.representation(k, group, elements)]
        assert vectors.shape[1] == pytest.approx(np.mean(traces), abs=1e-9)
        gram = (vectors.T @ vectors).toarray()
        assert_allclose(gram, np.eye(len(gram)), atol=1e-12)
        for d in basis.representation(k, group, group.generators()):
            assert_allclose((d @ vectors - vectors).toarray(), 0, atol=1e-12)


@st.composite
def permutation_groups(draw):
    n = draw(st.integers(2, 5))
    count = draw(st.integers(1, 3))
    return G.GeneratedPermutations([draw(st.permutations(range(n))) for _ in range(count)])


@given(permutation_groups(), st.integers(0, 2**31))
@settings(max_examples=12, deadline=None)
def test_all_methods_agree_for_random_permutation_groups(group, seed):
    rng = np.random.default_rng(seed)
    for basis in (S.Sphere(group.n_features, degree=3), S.Torus(group.n_features, degree=3)):
        f = rng.standard_normal(basis.n_functions_)
        once = S.project(f, basis, group)
        assert_allclose(once, S.project(f, basis, group, method="null_space"), atol=1e-10)
        assert_allclose(once, S.project(f, basis, group, method="closed_form"), atol=1e-10)
        assert_allclose(once, S.project(f, basis, group, method="reynolds"), atol=1e-10)
        assert_allclose(S.project(once, basis, group), once, atol=1e-12)
        # The residual is orthogonal to every invariant function.
        assert abs((f - once) @ S.project(rng.standard_normal(len(f)), basis, group)) < 1e-10


def test_large_blocks_are_refused(monkeypatch):
    basis = S.Sphere(4, degree=4)
    group = G.Permutations(4)
    monkeypatch.setattr(S.projection, "LARGEST_BLOCK", 4)
    with pytest.raises(ValueError, match=r"mix \d+ functions of eigenspace"):
        S.project(np.ones(basis.n_functions_), basis, group, method="null_space")


def test_large_eigenspaces_with_small_blocks_are_projected(monkeypatch):
    basis = S.Torus(9, degree=4)
    group = G.TorusTranslations([3] + 8 * [1])
    monkeypatch.setattr(S.projection, "LARGEST_BLOCK", 100)
    assert max(basis.dimensions_) > 2000
    f = np.random.default_rng(0).standard_normal(basis.n_functions_)
    first = np.concatenate([basis.frequencies(k)[:, 0] for k in range(len(basis.labels_))])
    invariant = first % 3 == 0
    assert_allclose(S.project(f, basis, group), f * invariant, atol=1e-12)


def test_structured_actions_are_sparse_and_need_few_inner_products():
    basis = S.Sphere(8, degree=3)
    group = G.Permutations(8)
    calls = S.OracleCalls()
    S.project(np.ones(basis.n_functions_), basis, group, calls=calls)
    dense = len(group.generators()) * int(np.sum(basis.dimensions_**2))
    assert 0 < calls.inner_products < dense / 20
    action = basis.representation(3, group, group.generators())[0]
    assert sparse.issparse(action) and action.nnz < 0.1 * action.shape[0] ** 2


def test_generators_of_an_infinite_group_are_refused(monkeypatch):
    basis = S.Sphere(3, degree=1)
    one_radian = turn([0, 0, 1], 1.0)
    group = G.OrthogonalMatrices([one_radian])
    for method in ("auto", "reynolds"):
        monkeypatch.setattr(groups_base, "ENUMERATION_LIMIT", 500)
        with pytest.raises(ValueError, match="no finite group"):
            S.project(np.zeros(4), basis, group, method=method)
    # A representation alone takes any orthogonal matrix.
    action = basis.representation(1, group, one_radian[None])[0]
    assert_allclose(action.trace(), 1 + 2 * np.cos(1.0))


def test_torus_translations_are_a_group_on_the_torus():
    group = G.TorusTranslations([3, 1, 4], period=2.0)
    assert len(group.elements()) == group.order == 12
    x = np.random.default_rng(0).uniform(-1, 1, (5, 3))

    def same(actual, expected):
        gap = (actual - expected) / group.period
        assert_allclose(gap, np.round(gap), atol=1e-12)

    a = group.sample(20, 1)
    b = group.sample(20, 2)
    nested = np.stack([group.act(g[None], y)[0] for g, y in zip(a, group.act(b, x), strict=True)])
    same(group.act(group.compose(a, b), x), nested)
    same(group.act(group.compose(a, group.inverse(a)), x), np.broadcast_to(x, (20, 5, 3)))
    assert len(G.TorusTranslations([1, 1]).generators()) == 0


def test_invariants_of_translations_combined_with_permutations():
    """The generator permutes and translates at the same time."""

    class Screw(G.TorusTranslations):
        def _act(self, elements, X):
            images = []
            for (power,) in elements[:, :1]:
                transformed = X
                for _ in range(int(power)):
                    transformed = transformed[:, [1, 0]] + np.array([0.5, 0.0])
                images.append(transformed)
            return np.stack(images)

        @property
        def shape(self):
            return (2,)

    # The square of the screw translates both coordinates by a quarter of the period: order 8.
    basis = S.Torus(2, degree=20)
    group = Screw([8])
    dimensions = [vectors.shape[1] for vectors in S.invariant_subspace(basis, group)]
    assert_array_equal(S.invariant_dimensions(basis, group), dimensions)
    assert 0 < sum(dimensions) < basis.n_functions_ / 4


@pytest.mark.parametrize("axis", [[0, 0, 1], [1, 2, 3]])
def test_projections_are_exact_if_the_constraints_are_rounding(axis):
    """A rotation by 2 pi / 7 leaves some functions fixed, for which D - I is rounding."""
    basis = S.Sphere(3, degree=21)
    group = G.OrthogonalMatrices([turn(axis, 2 * np.pi / 7)])
    f = np.random.default_rng(0).standard_normal(basis.n_functions_)
    expected = S.project(f, basis, group, method="reynolds")
    for method in ("auto", "null_space", "closed_form"):
        assert_allclose(S.project(f, basis, group, method=method), expected, atol=1e-11)
    if QP:
        assert_allclose(S.project(f, basis, group, method="qp"), expected, atol=1e-8)


def test_the_first_invariant_of_a_large_reflection_group():
    """W(E7) has order 2,903,040; its invariants have the degrees 2, 6, 8 and more."""
    e = np.eye(8)
    roots = [(e[0] + e[7] - e[1:7].sum(axis=0)) / 2, e[0] + e[1]]
    roots += [e[i + 1] - e[i] for i in range(5)]
    roots = np.linalg.qr(np.transpose(roots))[1].T  # in coordinates of their span
    group = G.OrthogonalMatrices([np.eye(7) - np.outer(r, r) for r in roots])
    basis = S.Sphere(7, degree=6)
    actions = Actions(basis, 6, Symmetry.generated(basis, group), None)
    vectors = S.projection.invariant_vectors(actions)
    assert vectors.shape == (714, 1)
    f = np.zeros((basis.n_functions_, 1))
    f[basis.slices()[6]] = vectors.toarray()
    x = basis.sample(20, random_state=0)
    values = basis.combine(x, f)
    for transformed in group.act(group.generators(), x):
        assert_allclose(basis.combine(transformed, f), values, atol=1e-10)
    assert np.std(values) > 0.1


# -- units: a projection is linear, whatever the size of the coefficients --------------------------


@pytest.mark.parametrize("method", ["components", "null_space", "closed_form", "reynolds", *QP])
@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e-12, 1e12, 1e170, 1e300])
@pytest.mark.parametrize("group", [G.SignFlips(3), G.CyclicShifts(3)])
def test_projections_scale_with_the_unit_of_the_coefficients(method, unit, group):
    basis = S.Sphere(3, degree=3)
    f = np.random.default_rng(0).uniform(0.5, 1, (basis.n_functions_, 2))
    expected = S.project(f, basis, group)
    projected = S.project(unit * f, basis, group, method=method)
    assert_allclose(projected / unit, expected, atol=1e-8)
    # Columns and eigenspaces may have different units.
    units = np.where(np.arange(len(f)) < 4, 1.0, 1e-200)[:, None] * [1.0, 1e90]
    assert_allclose(S.project(units * f, basis, group, method=method) / units, expected, atol=1e-8)
    zero = S.project(0 * f, basis, group, method=method)
    assert_array_equal(zero, np.zeros_like(f))


@pytest.mark.skipif(not QP, reason="needs cvxpy")
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_a_solver_that_stops_early_is_accurate_or_refused(steps, monkeypatch):
    """Its solution is accurate, or the error names its distance from the invariant functions."""
    import cvxpy

    solve = cvxpy.Problem.solve

    def stopped(problem, *args, **options):
        return solve(problem, *args, **options, max_iter=steps)

    monkeypatch.setattr(cvxpy.Problem, "solve", stopped)
    basis = S.Sphere(3, degree=4)
    group = G.Permutations(3)
    f = np.random.default_rng(0).standard_normal(basis.n_functions_)
    try:
        projected = S.project(f, basis, group, method="qp")
    except (RuntimeError, cvxpy.SolverError) as error:
        assert steps < 4 or "auto" in str(error)
    else:
        assert_allclose(projected, S.project(f, basis, group), atol=1e-7)


@pytest.mark.skipif(not QP, reason="needs cvxpy")
@pytest.mark.parametrize("size", [1e-6, 0.3])
@pytest.mark.parametrize("invariant", [False, True])
def test_an_inaccurate_solution_of_the_quadratic_program_is_refused(size, invariant, monkeypatch):
    """The solution is not invariant, or it is invariant but not the nearest function."""
    import cvxpy

    solve = cvxpy.Problem.solve
    basis = S.Sphere(3, degree=2)
    group = G.Permutations(3)
    vectors = S.invariant_subspace(basis, group)

    def inaccurate(problem, *args, **options):
        value = solve(problem, *args, **options)
        (z,) = problem.variables()
        direction = np.random.default_rng(0).standard_normal(z.size)
        inside = next(v for v in vectors if v.shape[0] == z.size).toarray()
        direction -= inside @ (inside.T @ direction)
        z.value = z.value + size * (inside[:, 0] if invariant else direction)
        return value

    monkeypatch.setattr(cvxpy.Problem, "solve", inaccurate)
    f = np.random.default_rng(1).standard_normal(basis.n_functions_)
    with pytest.raises(RuntimeError, match=r"by \d.*optimal.*method='auto'"):
        S.project(f, basis, group, method="qp")


def test_invariants_of_huge_eigenspaces_are_counted_exactly():
    for d, degree in ((20, 60), (50, 40)):
        basis = S.Sphere(d, degree=degree)
        counts = S.invariant_dimensions(basis, G.Negation())
        assert_array_equal(counts[::2], basis.dimensions_[::2])
        assert not counts[1::2].any()
    # With every coordinate's sign, harmonic functions of squares: comb(d - 2 + k / 2, k / 2).
    counts = S.invariant_dimensions(S.Sphere(8, degree=400), G.SignFlips(8))
    assert_array_equal(counts[::2], [comb(6 + half, half) for half in range(201)])


def test_dimensions_beyond_64_bits_are_exact():
    basis = S.Sphere(50, degree=60)
    assert basis.dimensions_[-1] == comb(109, 60) - comb(107, 58)
    assert basis.n_functions_ == sum(map(int, basis.dimensions_)) > 2**63


def test_traces_that_lose_digits_are_refused():
    turn = np.eye(20)
    turn[:2, :2] = np.array([[-1.0, -(3**0.5)], [3**0.5, -1.0]]) / 2
    with pytest.raises(ParameterError, match="2.*53 functions, .*: lower the degree"):
        S.invariant_dimensions(S.Sphere(20, degree=60), G.OrthogonalMatrices([turn]))
