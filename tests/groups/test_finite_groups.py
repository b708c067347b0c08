"""Axioms, orders and uniform sampling of finite groups; validation of elements."""

import pickle
import sys
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from invariance import beyond
from invariance import groups as G
from invariance.core.parameters import ParameterError
from invariance.kernels import Average, Gaussian

QUARTER_TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
REFLECTION = np.array([[1.0, 0.0], [0.0, -1.0]])

GROUPS = [
    G.Permutations(1),
    G.Permutations(4),
    G.Permutations(3, block=2),
    G.CyclicShifts(1),
    G.CyclicShifts(7),
    G.CyclicShifts(3, block=2),
    G.SignFlips(4),
    G.SignedPermutations(3),
    G.GeneratedPermutations([[1, 2, 0, 3], [1, 0, 3, 2]]),
    G.GeneratedPermutations([[1, 2, 0], [1, 0, 2]], block=3),
    G.Negation(),
    G.OrthogonalMatrices([QUARTER_TURN, REFLECTION]),
    G.DirectProduct([G.Permutations(3), G.SignFlips(2)]),
    G.DirectProduct([G.CyclicShifts(3), G.OrthogonalMatrices([QUARTER_TURN])]),
]


def key(element):
    return (np.round(element, 6) + 0.0).tobytes()


@st.composite
def finite_groups(draw):
    """A finite group of the package, or a product of two, with at most a few hundred elements."""
    n = draw(st.integers(1, 4))
    block = draw(st.integers(1, 3))
    lines = draw(st.lists(st.permutations(range(n)), min_size=1, max_size=2))
    kinds = [
        G.Permutations(n, block=block),
        G.CyclicShifts(draw(st.integers(1, 12)), block=block),
        G.SignFlips(n),
        G.SignedPermutations(min(n, 3)),
        G.GeneratedPermutations(np.array(lines), block=block),
        G.CyclicTranslations((n, draw(st.integers(1, 4)))),
        G.AtomPermutations(n),
        G.OrthogonalMatrices([QUARTER_TURN, REFLECTION][: draw(st.integers(1, 2))]),
        G.OrthogonalMatrices([np.kron(np.eye(block), QUARTER_TURN)]),
    ]
    if draw(st.booleans()):
        return draw(st.sampled_from(kinds))
    factors = [group for group in kinds if group.order <= 12]
    return G.DirectProduct(draw(st.lists(st.sampled_from(factors), min_size=1, max_size=2)))


def check_axioms(group):
    """Check axioms, action, order, copies and generators."""
    G.check_group(group)
    for twin in (clone(group), pickle.loads(pickle.dumps(group))):
        assert np.array_equal(twin.sample(5, 3), group.sample(5, 3))
        assert twin.order == group.order
    listed = {key(e) for e in group.elements()}
    assert len(listed) == group.order
    assert {key(e) for e in group.generators()} <= listed
    assert {key(e) for e in group.random_words(20, random_state=0)} <= listed


def test_listed_groups_satisfy_the_axioms():
    for group in GROUPS:
        check_axioms(group)
        assert len(group.generators()) <= max(1, np.log2(group.order) * 2), group


@settings(max_examples=30, deadline=None)
@given(finite_groups())
def test_random_groups_satisfy_the_axioms(group):
    check_axioms(group)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_permutations_act_as_documented(n, seed):
    """(g x)[i] = x[p[i]], and a product acts like its factors one after the other."""
    group = G.SignedPermutations(n)
    g = group.sample(1, seed)
    h = group.sample(1, seed + 1)
    x = np.random.default_rng(seed).integers(-9, 9, (2, n)).astype(float)
    perm, signs = group.as_signed_permutations(g)
    assert np.array_equal(group.act(g, x)[0], x[:, perm[0]] * signs[0])
    assert np.array_equal(group.act(group.compose(g, h), x)[0], group.act(g, group.act(h, x)[0])[0])


def test_orders_need_no_enumeration(monkeypatch):
    def listed(self):
        raise AssertionError(f"{self!r} was listed")

    for kind in (G.Permutations, G.SignFlips, G.GeneratedPermutations):
        monkeypatch.setattr(kind, "elements", listed)
    assert G.Permutations(30).order == factorial(30)
    assert G.SignFlips(100).order == 2**100
    # A cycle and a transposition generate S_20; Schreier-Sims gives its order without listing it.
    twenty = G.GeneratedPermutations([np.roll(np.arange(20), 1), [1, 0, *range(2, 20)]])
    assert twenty.order == factorial(20)
    # All (even) permutations of sixty points: Schreier-Sims would take seconds.
    cycle = [*range(1, 60), 0]
    all_of_sixty = G.GeneratedPermutations([cycle, [1, 0, *range(2, 60)]])
    assert all_of_sixty.order == factorial(60)
    assert Average(Gaussian(0.1), all_of_sixty).explain(np.ones((2, 60))).seconds > 1e60
    even = [[1, 2, 0, *range(3, 61)], [0, *range(2, 61), 1], [*range(1, 61), 0]]
    assert G.GeneratedPermutations(even[:1] + even[2:]).order == factorial(61) // 2


def test_order_of_matrix_groups_needs_no_enumeration():
    """Signed permutation matrices in dimension 12: 2^12 12! matrices, orbits of 24 points."""
    group = G.OrthogonalMatrices(
        [np.eye(12)[e - 1] for e in G.Permutations(12).generators()] + [np.diag([-1.0] + [1] * 11)]
    )
    assert group.order == G.SignedPermutations(12).order
    G.check_group(group)
    tetrahedral = G.OrthogonalMatrices([np.roll(np.eye(3), 1, axis=0), np.diag([-1.0, -1, 1])])
    assert tetrahedral.order == 12


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(0, 9), st.integers(0, 10**6))
def test_mean_powers_and_exponentials_are_means_over_all_elements(n, degree, seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((2, n))
    B = rng.standard_normal((3, n))
    flips = G.SignFlips(n)
    for group in (flips, G.Permutations(n), G.SignedPermutations(min(n, 4))):
        a = A[:, : group.n]
        b = B[:, : group.n]
        transformed = group.act(group.elements(), b)
        inner = np.einsum("nd,gmd->gnm", a, transformed)
        for k in range(degree + 1):
            only_power_k = np.eye(degree + 1)[k]
            mean_power = group.mean_polynomial(a, b, only_power_k)
            size = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)) ** k
            if group is flips:  # no moment is a difference of much larger terms
                size = np.mean(np.abs(inner) ** k, axis=0)
            assert np.all(np.abs(mean_power - np.mean(inner**k, axis=0)) <= 1e-12 * size)
    transformed = flips.act(flips.elements(), B)
    gaps = np.abs(A[:, None] - transformed[:, None]).sum(axis=3)
    expected = np.log(np.mean(np.exp(-gaps), axis=0))
    assert np.allclose(flips.log_mean_laplacian(A, B), expected, rtol=1e-12, atol=1e-12)
    inner = np.einsum("nd,gmd->gnm", A, transformed)
    expected = np.log(np.mean(np.exp(inner), axis=0))
    assert np.allclose(flips.log_mean_exponential(A, B), expected, rtol=1e-12, atol=1e-12)


# -- invalid elements are refused, and equal elements count once -----------------------------------

X = np.arange(12.0).reshape(3, 4)
IMAGES = np.random.default_rng(0).random((2, 6, 6))


def test_elements_may_be_integers_stored_as_floats():
    shifts = G.Translations((6, 6), 1)
    assert_array_equal(shifts.act([[1.0, 0.0]], IMAGES), shifts.act([[1, 0]], IMAGES))
    flips = G.SignFlips(4)
    assert_array_equal(flips.act([[-1.0, 2, 3, 4]], X), flips.act([[-1, 2, 3, 4]], X))


def test_angles_that_differ_by_full_turns_are_the_same_element():
    quarters = G.Rotations((6, 6), degrees=range(-180, 181, 90))
    assert quarters.order == 4 and quarters.symmetric and quarters.unitary
    assert_array_equal(quarters.elements(), np.deg2rad([-180, -90, 0, 90]))
    assert_allclose(quarters.quadrature()[1], 0.25)
    G.check_group(quarters)
    assert not G.Rotations((6, 7), degrees=[90]).unitary
    weighed = G.Rotations((6, 6), degrees=[-180, 0, 180, 360], density=G.VonMises(1.0))
    assert_allclose(weighed.weights(), np.exp([-1, 1]) / np.exp([-1, 1]).sum())


def test_rotations_are_in_radians_and_whole_degrees_are_exact():
    for k in range(4):
        assert_array_equal(
            G.Rotations((6, 6), interpolation=1).act([k * np.pi / 2], IMAGES)[0],
            np.rot90(IMAGES, k, axes=(1, 2)),
        )
    # Sums of quarter turns stay exact.
    assert_array_equal(
        G.Rotations((6, 6), interpolation=1).act([np.deg2rad(100) - np.deg2rad(10)], IMAGES)[0],
        np.rot90(IMAGES, axes=(1, 2)),
    )
    assert np.abs(G.Rotations((6, 6)).sample(1000, 0)).max() <= np.pi


def _rotation(angle):
    return [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]


def test_matrices_are_different_elements_if_their_distance_exceeds_rounding(monkeypatch):
    monkeypatch.setattr(G.matrices, "ORBIT_LIMIT", 2000)
    # A sign flip and one rotated by 3e-7 generate a rotation by 6e-7, which has ten million
    # powers: too many to list, although two elements would suffice if both counted as equal.
    tiny = 3e-7
    turned = np.array(_rotation(tiny)) @ np.diag([1.0, -1])
    with pytest.raises(ValueError, match="no finite group"):
        G.OrthogonalMatrices([np.diag([1.0, -1]), turned]).order  # noqa: B018
    # Entries at a rounding boundary of six decimals: conjugates of a reflection by many angles.
    for offset in np.linspace(-1e-12, 1e-12, 11):
        angle = np.arccos(0.1234565) + offset
        basis = np.array(_rotation(angle))
        group = G.OrthogonalMatrices([basis @ np.array(_rotation(2 * np.pi / 5)) @ basis.T])
        assert group.order == len(group.elements()) == 5
        flip = basis @ np.diag([1.0, -1]) @ basis.T
        dihedral = G.OrthogonalMatrices([_rotation(2 * np.pi / 7), flip])
        assert dihedral.order == len(dihedral.elements()) == 14


class TurnsOfThePlane(G.FiniteGroup):
    """A user-defined group whose elements are floating-point numbers."""

    shape = (2,)
    order = None

    def __init__(self, order):
        self.order = order

    def identity(self):
        return np.zeros(1)

    def generators(self):
        return np.array([2 * np.pi / self.order])

    def compose(self, first, second):
        total = np.asarray(first) + np.asarray(second)
        return total - 2 * np.pi * np.round(total / (2 * np.pi))

    def inverse(self, elements):
        return -np.asarray(elements)

    def _act(self, elements, X):
        return beyond.PlaneRotations()._act(elements, X)


@pytest.mark.parametrize("n", [1, 3, 5, 97])
def test_elements_that_are_floats_are_listed_once(n):
    group = TurnsOfThePlane(n)
    assert len(group.elements()) == n
    G.check_group(group)


class NoSympy:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "sympy":
            raise ModuleNotFoundError("no sympy", name="sympy")


def test_listing_small_generated_groups_needs_no_sympy(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [NoSympy(), *sys.meta_path])
    for name in [name for name in sys.modules if name.partition(".")[0] == "sympy"]:
        monkeypatch.delitem(sys.modules, name)
    assert len(G.GeneratedPermutations([[1, 2, 0, 3], [1, 0, 3, 2]]).elements()) == 12
    # A rotation that no other test uses, because its order may have been computed already.
    turn = G.OrthogonalMatrices([np.array(_rotation(2 * np.pi / 13))])
    assert len(turn.elements()) == 13
    with pytest.raises(ImportError, match=r"\.\[permutations\]"):
        turn.order  # noqa: B018


def test_changed_parameters_are_validated_again():
    shifts = G.CyclicShifts(4)
    assert shifts.order == 4
    shifts.set_params(n=-1)
    with pytest.raises(ValueError, match="n to be a whole number >= 1, got -1"):
        shifts.act([[1, 2, 3, 4]], X)
    # Validation adds nothing to the attributes of the object.
    assert vars(G.CyclicShifts(4)) == vars(pickle.loads(pickle.dumps(shifts.set_params(n=4))))


class Twice(G.Transformations):
    """A set of transformations with the fewest methods possible."""

    order = 1

    def _sample(self, n_samples, rng):
        return np.full(n_samples, 2.0)

    def elements(self):
        return np.array([2.0])

    def _act(self, elements, X):
        return elements[:, None, None] * X


def test_three_methods_are_enough_for_a_set_of_transformations():
    twice = Twice()
    twice.unitary = False
    G.check_group(twice)
    assert_array_equal(twice.act(twice.sample(1, 0), X)[0], 2 * X)
    with pytest.raises(ValueError, match="n_samples"):
        twice.sample(-1)


def test_a_missing_sample_method_is_named():
    class NoMeasure(Twice):
        order = np.inf
        _sample = G.Transformations._sample

    with pytest.raises(NotImplementedError, match=r"NoMeasure needs a method _sample"):
        NoMeasure().sample(2)


def test_small_numpy_integers_do_not_overflow():
    small = np.int8(100)
    assert G.CyclicShifts(np.int16(200), np.int16(200)).n_features == 40_000
    assert G.Permutations(small, block=small).n_features == 10_000
    assert G.Translations((np.uint8(200), np.uint8(200)), small).n_features == 40_000
    assert G.Translations((250, 250), small, boundary="zero").elements().max() == 100
    assert G.OnPoints(G.SignFlips(2), np.int8(2)).act([[1, -2]], np.ones((1, 400))).sum() == 0
    assert G.CircleAction([0, 1, 1], n_nodes=small).order == 100


def has_method(group, name):
    """Whether the class of a group defines an optional method."""
    return getattr(type(group), name) is not getattr(G.Transformations, name)


def test_a_subclass_with_another_action_loses_the_fast_methods():
    class Loud(G.SignFlips):
        def _act(self, elements, X):
            return 2 * super()._act(elements, X)

    class Mixin:
        def weights(self):
            return np.full(8, 1 / 8)

    class Weighed(Mixin, G.SignFlips):
        pass

    class Renamed(G.SignFlips):
        """Changes nothing that a fast method depends on."""

        def random_words(self, n_words, length=20, *, random_state=None):
            return self.sample(n_words, random_state)

    class Said(Weighed):
        aligned = G.SignFlips.aligned

    class Below(Said):
        pass

    class Even(G.SignFlips):
        def elements(self):
            every = super().elements()
            return every[np.sign(every).prod(axis=1) > 0]

    for name in ("aligned", "log_mean_exponential", "log_mean_laplacian", "mean_polynomial"):
        assert has_method(G.SignFlips(3), name) and has_method(Renamed(3), name)
        assert not any(has_method(kind(3), name) for kind in (Loud, Weighed, Even))
    assert Loud(3).aligned(X) is None
    assert_array_equal(Below(4).aligned(-X), X)
    assert not has_method(Below(3), "mean_polynomial")
    assert not has_method(Loud(3), "as_shifts")


PERMUTING = [group for group in GROUPS if isinstance(group, G.SignedPermutationGroup)]


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, np.uint64])
@pytest.mark.parametrize("group", PERMUTING, ids=repr)
def test_elements_of_any_integer_type_become_indices_of_the_platform(group, dtype):
    """`np.take` refuses int64 on platforms with 32-bit pointers, as it refuses uint64 here."""
    elements = group.elements()
    if np.dtype(dtype).kind == "u":
        elements = elements[(elements > 0).all(axis=1)]
    perm, signs = group.as_signed_permutations(elements.astype(dtype))
    assert perm.dtype == np.intp
    X = np.random.default_rng(0).standard_normal((3, group.n_features))
    transformed = group.act(elements.astype(dtype), X)
    assert_array_equal(transformed, group.act(elements, X))
    assert_array_equal(transformed, (signs[:, None] * X[:, perm].swapaxes(0, 1)))


class MostlyStill(G.CyclicShifts):
    """Shifts of which one is likely."""

    as_shifts = G.CyclicShifts.as_shifts

    def weights(self):
        return np.array([0.8, 0.1, 0.1])


def test_elements_are_drawn_by_the_weights_of_a_group_of_ones_own():
    group = MostlyStill(3)
    drawn = np.bincount(group.sample(2000, 0)[:, 0] - 1, minlength=3) / 2000
    listed = group.elements()[:, 0] - 1
    assert_allclose(drawn[listed], group.weights(), atol=0.03)
    G.check_group(group)


@pytest.mark.parametrize("product", [
    G.DirectProduct([MostlyStill(3), G.SignFlips(1)]),
    beyond.Wreath(MostlyStill(3), G.Permutations(2)),
])  # fmt: skip
def test_products_refuse_factors_with_weights(product):
    with pytest.raises(ParameterError, match=r"elements of MostlyStill.* have weights"):
        product.elements()


class Residues(G.FiniteGroup):
    """Whole numbers modulo three; products have another type than the identity."""

    linear = True
    order = 3
    shape = (3,)

    def generators(self):
        return np.array([1])

    def identity(self):
        return np.zeros(1, np.int32)

    def compose(self, first, second):
        return (np.asarray(first, np.int64) + np.asarray(second)) % 3

    def inverse(self, elements):
        return -np.asarray(elements) % 3

    def _act(self, elements, X):
        return np.stack([np.roll(X, shift, axis=1) for shift in elements.tolist()])


def test_products_of_another_integer_type_are_listed_once():
    assert_array_equal(Residues().elements(), [0, 1, 2])
