"""Oracle two and the projection: every way gives the average over the listed group."""

from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.transform import Rotation
from scipy.stats import ortho_group

from invariance.core.parameters import ParameterError
from invariance.groups import (
    CyclicShifts,
    DirectProduct,
    FiniteGroup,
    GeneratedPermutations,
    Negation,
    OrthogonalMatrices,
    Permutations,
    SignedPermutations,
    SignFlips,
    TorusTranslations,
)
from invariance.groups import base as groups_base
from invariance.spectral import (
    Circle,
    OracleCalls,
    Product,
    SpectralAveraging,
    Sphere,
    Torus,
    invariant_dimensions,
    invariant_subspace,
    null_space,
    project,
    projection,
)
from invariance.spectral.actions import Actions, Symmetry

GOLDEN = (1 + 5**0.5) / 2
#: The quadratic programs need cvxpy; other methods are held to the definition without it.
QP = ("qp",) if find_spec("cvxpy") else ()
needs_cvxpy = pytest.mark.skipif(not QP, reason="quadratic programs need cvxpy")


def turn(axis, angle):
    axis = np.asarray(axis, dtype=float)
    return Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()


ICOSAHEDRAL = OrthogonalMatrices(
    [turn([0, 1, GOLDEN], 2 * np.pi / 5), turn([1, 1, 1], 2 * np.pi / 3)]
)
# A tilted copy of the symmetries of the square: no generator permutes anything.
TILT = ortho_group.rvs(3, random_state=0)
TILTED = OrthogonalMatrices(
    [TILT @ turn([0, 0, 1], np.pi / 2) @ TILT.T, TILT @ np.diag([1.0, -1.0, 1.0]) @ TILT.T]
)

CASES = [
    (Sphere(4, degree=5), Permutations(4)),
    (Sphere(3, degree=5), CyclicShifts(3)),
    (Sphere(4, degree=4), SignFlips(4)),
    (Sphere(3, degree=6), SignedPermutations(3)),
    (Sphere(4, degree=4), Negation()),
    (Sphere(3, degree=6), ICOSAHEDRAL),
    (Sphere(3, degree=5), TILTED),
    (Sphere(2, degree=7), OrthogonalMatrices([[[0.0, -1.0], [1.0, 0.0]]])),
    (Sphere(6, degree=2), Permutations(3, block=2)),
    (Sphere(3, degree=3), Permutations(3)),
    (Torus(4, degree=4), SignFlips(4)),
    (Torus(3, degree=6), SignedPermutations(3)),
    (Torus(3, degree=5), Permutations(3)),
    (Torus(2, degree=8), TorusTranslations([3, 2])),
    (Torus(2, period=5.0, degree=5), TorusTranslations([4, 1], period=5.0)),
    (Circle(degree=9), TorusTranslations([4], period=2 * np.pi)),
    (Circle(degree=4), Negation()),
    (Sphere(3, degree=3), Permutations(3)),
    (Torus(1, degree=4), Permutations(1)),
    (Product([Sphere(3), Torus(2)], degree=20), DirectProduct([Permutations(3), SignFlips(2)])),
    (
        Product([Circle(), Sphere(3)], degree=6),
        DirectProduct([TorusTranslations([2], period=2 * np.pi), CyclicShifts(3)]),
    ),
]


def ids(value):
    if isinstance(value, FiniteGroup):
        return f"{type(value).__name__}-{value.order}"
    return repr(value)


def reynolds_by_evaluation(f, basis, group):
    """The plain definition: average f o g over all g, then read its coefficients off points."""
    x = basis.sample(4 * basis.n_functions_ + 20, random_state=5)
    values = np.mean([basis.evaluate(moved) @ f for moved in group.act(group.elements(), x)], 0)
    return np.linalg.lstsq(basis.evaluate(x), values, rcond=None)[0]


@pytest.mark.parametrize(("basis", "group"), CASES, ids=ids)
def test_all_methods_give_the_average_over_the_group(basis, group):
    f = np.random.default_rng(0).standard_normal(basis.n_functions_)
    expected = reynolds_by_evaluation(f, basis, group)
    tried, methods = 0, [m for m in projection.METHODS if m != "qp" or QP]
    for method in methods:
        try:
            found = project(f, basis, group, method=method)
        except ValueError as error:
            assert method == "components" and "do not permute" in str(error)
            continue
        np.testing.assert_allclose(found, expected, atol=1e-8, err_msg=method)
        tried += 1
    assert tried >= len(methods) - 1


@pytest.mark.parametrize(("basis", "group"), CASES, ids=ids)
def test_representation_is_an_orthogonal_homomorphism_that_moves_functions(basis, group):
    x = basis.sample(6, random_state=2)
    one, two = group.sample(2, random_state=1)[:, None]
    both = group.compose(one, two)
    moved, values = basis.evaluate(group.act(one, x)[0]), basis.evaluate(x)
    for k, columns in enumerate(basis.slices()):
        a, b, ab = (basis.representation(k, group, g)[0].toarray() for g in (one, two, both))
        np.testing.assert_allclose(a @ a.T, np.eye(len(a)), atol=1e-12)
        np.testing.assert_allclose(ab, a @ b, atol=1e-11)
        np.testing.assert_allclose(moved[:, columns], values[:, columns] @ a.T, atol=1e-11)


@pytest.mark.parametrize(("basis", "group"), CASES, ids=ids)
def test_invariant_dimension_is_the_mean_character(basis, group):
    """dim V^G = (1/|G|) sum_g trace D(g), a count that the null space knows nothing of."""
    elements = group.elements()
    for k, vectors in enumerate(invariant_subspace(basis, group)):
        traces = [d.trace() for d in basis.representation(k, group, elements)]
        assert vectors.shape[1] == pytest.approx(np.mean(traces), abs=1e-9)
        gram = (vectors.T @ vectors).toarray()
        np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-12)
        for d in basis.representation(k, group, group.generators()):
            np.testing.assert_allclose((d @ vectors - vectors).toarray(), 0, atol=1e-12)


@st.composite
def permutation_groups(draw):
    n = draw(st.integers(2, 5))
    count = draw(st.integers(1, 3))
    return GeneratedPermutations([draw(st.permutations(range(n))) for _ in range(count)])


@given(permutation_groups(), st.integers(0, 2**31))
@settings(max_examples=12, deadline=None)
def test_random_permutation_groups(group, seed):
    rng = np.random.default_rng(seed)
    for basis in (Sphere(group.n_features, degree=3), Torus(group.n_features, degree=3)):
        f = rng.standard_normal(basis.n_functions_)
        once = project(f, basis, group)
        np.testing.assert_allclose(once, project(f, basis, group, method="null_space"), atol=1e-10)
        np.testing.assert_allclose(once, project(f, basis, group, method="closed_form"), atol=1e-10)
        np.testing.assert_allclose(once, project(f, basis, group, method="reynolds"), atol=1e-10)
        np.testing.assert_allclose(project(once, basis, group), once, atol=1e-12)
        # The residual is orthogonal to every invariant function.
        assert abs((f - once) @ project(rng.standard_normal(len(f)), basis, group)) < 1e-10


def test_several_columns_are_projected_at_once():
    basis, group = Sphere(3, degree=4), ICOSAHEDRAL
    f = np.random.default_rng(0).standard_normal((basis.n_functions_, 3))
    for method in ("null_space", "closed_form", *QP, "reynolds"):
        found = project(f, basis, group, method=method)
        for j in range(3):
            np.testing.assert_allclose(
                found[:, j], project(f[:, j], basis, group, method=method), atol=1e-9
            )


def test_large_blocks_are_refused(monkeypatch):
    basis, group = Sphere(4, degree=4), Permutations(4)
    monkeypatch.setattr(null_space, "LARGEST_BLOCK", 4)
    with pytest.raises(ValueError, match=r"mix \d+ functions of eigenspace"):
        project(np.ones(basis.n_functions_), basis, group, method="null_space")


def test_blocks_of_a_large_eigenspace_are_cut_out_of_the_sparse_matrix(monkeypatch):
    basis, group = Torus(9, degree=4), TorusTranslations([3] + 8 * [1])
    monkeypatch.setattr(null_space, "LARGEST_BLOCK", 100)
    assert max(basis.dimensions_) > 2000
    f = np.random.default_rng(0).standard_normal(basis.n_functions_)
    first = np.concatenate([basis.frequencies(k)[:, 0] for k in range(len(basis.labels_))])
    invariant = first % 3 == 0
    np.testing.assert_allclose(project(f, basis, group), f * invariant, atol=1e-12)


def test_signed_orbits_that_meet_their_negative_vanish():
    """x_1 - x_2 changes sign under the swap, and no multiple of it is invariant."""
    basis = Sphere(2, degree=1)
    found = project(np.array([0.0, 1.0, -1.0]), basis, Permutations(2))
    np.testing.assert_allclose(found, 0, atol=1e-15)


def test_structured_actions_are_sparse_and_cheap_to_ask_for():
    basis, group = Sphere(8, degree=3), Permutations(8)
    calls = OracleCalls()
    project(np.ones(basis.n_functions_), basis, group, calls=calls)
    dense = len(group.generators()) * int(np.sum(basis.dimensions_**2))
    assert 0 < calls.inner_products < dense / 20
    action = basis.representation(3, group, group.generators())[0]
    assert sparse.issparse(action) and action.nnz < 0.1 * action.shape[0] ** 2


class Squaring(FiniteGroup):
    """Not linear: no eigenspace is preserved."""

    order = 2

    def generators(self):
        return np.array([1])

    def identity(self):
        return np.array([0])

    def compose(self, first, second):
        return (np.asarray(first) + np.asarray(second)) % 2

    def inverse(self, elements):
        return np.asarray(elements)

    def _act(self, elements, X):
        return np.where(elements[:, None, None] == 1, X**2, X)


@pytest.mark.parametrize(
    ("basis", "group", "message"),
    [
        (Sphere(3, degree=2), Permutations(4), "acts on 4 coordinates, but .* have 3"),
        (Sphere(3, degree=2), Squaring(), "does not act on the eigenfunctions"),
        (Torus(2, degree=2), Squaring(), "does not act on the eigenfunctions"),
        (Sphere(2, degree=2), TorusTranslations([2, 2]), "does not act on the sphere"),
        (
            Torus(2, degree=2),
            OrthogonalMatrices([turn([0, 0, 1], 0.5 * np.pi / 1.5)[:2, :2]]),
            "only signed permutations",
        ),
        (Sphere(2, degree=2), OrthogonalMatrices([[[1.0, 0.5], [0.0, 1.0]]]), "not orthogonal"),
        (Product([Torus(2), Torus(2)], degree=10), Permutations(4), "mixes the coordinates"),
        (Product([Torus(2), Torus(2)], degree=10), Permutations(3), "acts on 3 coordinates"),
    ],
)
def test_groups_that_do_not_act_are_refused(basis, group, message):
    with pytest.raises(ValueError, match=message):
        project(np.zeros(basis.n_functions_), basis, group)


def test_generators_of_no_finite_group_are_refused(monkeypatch):
    basis = Sphere(3, degree=1)
    for method in ("auto", "reynolds"):
        monkeypatch.setattr(groups_base, "ENUMERATION_LIMIT", 500)
        with pytest.raises(ValueError, match="no finite group"):
            project(np.zeros(4), basis, OrthogonalMatrices([turn([0, 0, 1], 1.0)]), method=method)
    # Oracle two itself takes any orthogonal matrix.
    one_radian = turn([0, 0, 1], 1.0)
    action = basis.representation(1, OrthogonalMatrices([one_radian]), one_radian[None])[0]
    np.testing.assert_allclose(action.trace(), 1 + 2 * np.cos(1.0))


def test_other_bad_input_is_named():
    basis, group = Sphere(3, degree=2), Permutations(3)
    with pytest.raises(ValueError, match=r"must have shape \(9,\)"):
        project(np.zeros(8), basis, group)
    with pytest.raises(ValueError, match="method to be 'auto'"):
        project(np.zeros(9), basis, group, method="magic")
    with pytest.raises(ValueError, match=r"turns by 1.59\S* of a full turn"):
        invariant_subspace(basis, OrthogonalMatrices([turn([0, 0, 1], 1e-8)]))
    quarter = np.pi / 2
    nearly_equal = OrthogonalMatrices([turn([0, 0, 1], quarter), turn([1e-8, 0, 1], quarter)])
    with pytest.raises(ValueError, match="cannot be told from zero"):
        invariant_subspace(basis, nearly_equal)
    with pytest.raises(ValueError, match="acts densely on the"):
        matrix = ortho_group.rvs(40, random_state=0)
        Sphere(40, degree=3).representation(3, OrthogonalMatrices([matrix]), matrix[None])


@pytest.mark.parametrize("orders", [[0], [1.5], [[2, 2]], [-3]])
def test_torus_translations_reject_bad_orders(orders):
    with pytest.raises(ValueError, match="needs orders to be"):
        TorusTranslations(orders).generators()


def test_torus_translations_are_a_group_on_the_torus():
    group = TorusTranslations([3, 1, 4], period=2.0)
    listed = group.elements()
    assert len(listed) == group.order == 12
    x = np.random.default_rng(0).uniform(-1, 1, (5, 3))

    def same(one, two):
        gap = (one - two) / group.period
        np.testing.assert_allclose(gap, np.round(gap), atol=1e-12)

    a, b = group.sample(20, 1), group.sample(20, 2)
    nested = np.stack([group.act(g[None], y)[0] for g, y in zip(a, group.act(b, x), strict=True)])
    same(group.act(group.compose(a, b), x), nested)
    same(group.act(group.compose(a, group.inverse(a)), x), np.broadcast_to(x, (20, 5, 3)))
    assert len(TorusTranslations([1, 1]).generators()) == 0


@pytest.mark.parametrize(
    ("basis", "group"), [c for c in CASES if not isinstance(c[0], Product)], ids=ids
)
def test_characters_count_the_invariants(basis, group):
    found = [vectors.shape[1] for vectors in invariant_subspace(basis, group)]
    np.testing.assert_array_equal(invariant_dimensions(basis, group), found)


def test_characters_of_permuted_translations():
    """A generator that permutes and translates at once, which no case above does."""

    class Screw(TorusTranslations):
        def _act(self, elements, X):
            moved = X
            images = []
            for (power,) in elements[:, :1]:
                moved = X
                for _ in range(int(power)):
                    moved = moved[:, [1, 0]] + np.array([0.5, 0.0])
                images.append(moved)
            return np.stack(images)

        @property
        def shape(self):
            return (2,)

    # The screw squared translates both coordinates by a quarter of the period: order 8.
    basis, group = Torus(2, degree=20), Screw([8])
    found = [vectors.shape[1] for vectors in invariant_subspace(basis, group)]
    np.testing.assert_array_equal(invariant_dimensions(basis, group), found)
    assert 0 < sum(found) < basis.n_functions_ / 4


def test_characters_refuse_other_bases():
    with pytest.raises(TypeError, match="Sphere and Torus"):
        invariant_dimensions(Product([Circle(), Circle()], degree=2), SignFlips(2))


@pytest.mark.parametrize("axis", [[0, 0, 1], [1, 2, 3]])
def test_the_program_decides_the_rank_where_the_constraints_are_rounding_noise(axis):
    """2 pi / 7 leaves a seventh of each eigenspace alone, where D - I is rounding errors."""
    basis, group = Sphere(3, degree=21), OrthogonalMatrices([turn(axis, 2 * np.pi / 7)])
    f = np.random.default_rng(0).standard_normal(basis.n_functions_)
    expected = project(f, basis, group, method="reynolds")
    for method in ("auto", "null_space", "closed_form"):
        np.testing.assert_allclose(project(f, basis, group, method=method), expected, atol=1e-11)
    if QP:
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


def test_the_first_invariant_of_a_large_reflection_group():
    """W(E8) has order 696,729,600; its invariants have the degrees 2, 8, 12 and more."""
    e = np.eye(8)
    roots = [(e[0] + e[7] - e[1:7].sum(axis=0)) / 2, e[0] + e[1]]
    roots += [e[i + 1] - e[i] for i in range(6)]
    group = OrthogonalMatrices([np.eye(8) - np.outer(r, r) for r in roots])
    basis = Sphere(8, degree=8)
    actions = Actions(basis, 8, Symmetry.generated(basis, group), None)
    vectors = projection.invariant_vectors(actions)
    assert vectors.shape == (4719, 1)
    f = np.zeros((basis.n_functions_, 1))
    f[basis.slices()[8]] = vectors.toarray()
    x = basis.sample(20, random_state=0)
    values = basis.combine(x, f)
    for moved in group.act(group.generators(), x):
        np.testing.assert_allclose(basis.combine(moved, f), values, atol=1e-10)
    assert np.std(values) > 0.1
