"""Group axioms, orders and uniform sampling of the finite groups."""

import pickle
from itertools import permutations
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone

from invariance.groups import (
    Composition,
    CyclicShifts,
    DirectProduct,
    GeneratedPermutations,
    Negation,
    OrthogonalMatrices,
    Permutations,
    SignedPermutations,
    SignFlips,
    check_group,
)

QUARTER_TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
REFLECTION = np.array([[1.0, 0.0], [0.0, -1.0]])

GROUPS = [
    Permutations(1),
    Permutations(4),
    Permutations(3, block=2),
    CyclicShifts(1),
    CyclicShifts(7),
    CyclicShifts(3, block=2),
    SignFlips(4),
    SignedPermutations(3),
    GeneratedPermutations([[1, 2, 0, 3], [1, 0, 3, 2]]),
    GeneratedPermutations([[1, 2, 0], [1, 0, 2]], block=3),
    Negation(),
    OrthogonalMatrices([QUARTER_TURN, REFLECTION]),
    DirectProduct([Permutations(3), SignFlips(2)]),
    DirectProduct([CyclicShifts(3), OrthogonalMatrices([QUARTER_TURN])]),
]


@pytest.mark.parametrize("group", GROUPS, ids=repr)
def test_axioms_action_and_order(group):
    check_group(group)


@pytest.mark.parametrize("group", GROUPS, ids=repr)
def test_clone_pickle_and_seed(group):
    for twin in (clone(group), pickle.loads(pickle.dumps(group))):
        assert np.array_equal(twin.sample(5, 3), group.sample(5, 3))
        assert twin.order == group.order


def key(element):
    return (np.round(element, 6) + 0.0).tobytes()


@pytest.mark.parametrize("group", GROUPS, ids=repr)
def test_generators_and_words_lie_in_the_group(group):
    listed = {key(e) for e in group.elements()}
    assert {key(e) for e in group.generators()} <= listed
    assert {key(e) for e in group.random_words(20, random_state=0)} <= listed
    assert len(group.generators()) <= max(1, np.log2(group.order) * 2)


@pytest.mark.parametrize("group", [g for g in GROUPS if 1 < g.order <= 50], ids=repr)
def test_sampling_is_uniform(group):
    listed = [key(e) for e in group.elements()]
    draws = [key(e) for e in group.sample(200 * len(listed), random_state=1)]
    counts = np.array([draws.count(key) for key in listed])
    assert counts.sum() == len(draws)
    assert stats.chisquare(counts).pvalue > 1e-4


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_generated_order_agrees_with_closure(n, seed):
    rng = np.random.default_rng(seed)
    lines = [rng.permutation(n) for _ in range(rng.integers(1, 3))]
    group = GeneratedPermutations(np.array(lines))
    assert group.order == len(group.elements())


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_permutations_act_as_written(n, seed):
    """(g x)[i] = x[p[i]], and the product's action is the nested action, on integers."""
    rng = np.random.default_rng(seed)
    group = SignedPermutations(n)
    g, h = group.sample(1, seed), group.sample(1, seed + 1)
    x = rng.integers(-9, 9, (2, n)).astype(float)
    perm, signs = group.as_signed_permutations(g)
    assert np.array_equal(group.act(g, x)[0], x[:, perm[0]] * signs[0])
    assert np.array_equal(group.act(group.compose(g, h), x)[0], group.act(g, group.act(h, x)[0])[0])


def test_orders_need_no_enumeration():
    assert Permutations(30).order == factorial(30)
    assert SignFlips(100).order == 2**100
    # A cycle and a transposition generate S_20; Schreier-Sims finds it without listing.
    assert GeneratedPermutations([np.roll(np.arange(20), 1), [1, 0, *range(2, 20)]]).order == (
        factorial(20)
    )
    with pytest.raises(ValueError, match="draw some with sample"):
        Permutations(30).elements()


def test_order_of_matrix_groups_needs_no_enumeration():
    """Signed permutation matrices in dimension 12: 2^12 12! matrices, an orbit of 24 points."""
    group = OrthogonalMatrices(
        [np.eye(12)[e - 1] for e in Permutations(12).generators()] + [np.diag([-1.0] + [1] * 11)]
    )
    assert group.order == SignedPermutations(12).order
    check_group(group)
    tetrahedral = OrthogonalMatrices([np.roll(np.eye(3), 1, axis=0), np.diag([-1.0, -1, 1])])
    assert tetrahedral.order == 12


def test_an_irrational_rotation_generates_no_finite_group():
    c, s = np.cos(1.0), np.sin(1.0)
    with pytest.raises(ValueError, match="no finite group"):
        OrthogonalMatrices([[[c, -s], [s, c]]]).order  # noqa: B018


def test_permutations_list_all_lines():
    listed = {tuple(e - 1) for e in Permutations(4).elements()}
    assert listed == set(permutations(range(4)))


def test_orbit_counts_by_burnside():
    """Words over two letters up to reordering: one orbit a multiset."""
    group = Permutations(3, block=2)
    words = np.array([[a, b, c] for a in range(2) for b in range(2) for c in range(2)])
    X = np.eye(2)[words].reshape(8, 6)
    orbits = group.act(group.elements(), X).swapaxes(0, 1)
    canonical = {min(row.tobytes() for row in orbit) for orbit in orbits}
    assert len(canonical) == comb(2 + 3 - 1, 3)


@pytest.mark.parametrize("matrix", [np.eye(3)[:2], 2 * np.eye(2), [[1.0, 1.0], [0.0, 1.0]]])
def test_matrices_that_are_not_orthogonal(matrix):
    with pytest.raises(ValueError, match="not orthogonal|shape"):
        OrthogonalMatrices([matrix]).order  # noqa: B018


def test_composition_applies_first_then_second():
    both = Composition(CyclicShifts(3), SignFlips(3))
    x = np.array([[1.0, 2.0, 3.0]])
    for element in both.elements():
        shift, flip = both.split(element[None])
        nested = SignFlips(3).act(flip, CyclicShifts(3).act(shift, x)[0])[0]
        assert np.array_equal(both.act(element[None], x)[0], nested)
    assert np.array_equal(both.act(both.elements(), x).shape, (24, 1, 3))


def test_composition_of_different_shapes():
    with pytest.raises(ValueError, match="same points"):
        CyclicShifts(3).then(SignFlips(4)).act([[1, 2, 3, 1, 2, 3, 4]], np.ones((1, 3)))


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "3"])
def test_bad_degree(n):
    with pytest.raises(ValueError, match="n to be a whole number >= 1"):
        Permutations(n).order  # noqa: B018


def test_bad_points():
    with pytest.raises(ValueError, match="acts on arrays of shape"):
        Permutations(3).act(Permutations(3).identity(), np.ones((2, 4)))
    with pytest.raises(ValueError, match="single point"):
        Permutations(3).act(Permutations(3).identity(), np.ones(3))
    with pytest.raises(ValueError, match="permutation of 0"):
        GeneratedPermutations([[0, 0, 1]]).order  # noqa: B018


class NotAGroup(CyclicShifts):
    """A shift whose inverse is wrong."""

    def inverse(self, elements):
        return np.asarray(elements)


def test_check_group_names_what_breaks():
    with pytest.raises(AssertionError, match=r"inverse: g\^-1"):
        check_group(NotAGroup(5))


class NotUnitary(Negation):
    def _act(self, elements, X):
        return 1.1 * super()._act(elements, X)


def test_check_group_finds_a_non_unitary_action():
    with pytest.raises(AssertionError, match="unitary is claimed"):
        check_group(NotUnitary())
