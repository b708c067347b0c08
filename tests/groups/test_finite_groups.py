"""Group axioms, orders and uniform sampling of the finite groups."""

import pickle
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from invariance.groups import (
    AtomPermutations,
    CyclicShifts,
    CyclicTranslations,
    DirectProduct,
    GeneratedPermutations,
    Negation,
    OrthogonalMatrices,
    Permutations,
    SignedPermutations,
    SignFlips,
    check_group,
)
from invariance.kernels import Average, Gaussian

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


def key(element):
    return (np.round(element, 6) + 0.0).tobytes()


@st.composite
def finite_groups(draw):
    """A finite group of the package, or a product of two, of at most some hundred elements."""
    n, block = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    lines = draw(st.lists(st.permutations(range(n)), min_size=1, max_size=2))
    kinds = [
        Permutations(n, block=block),
        CyclicShifts(draw(st.integers(1, 12)), block=block),
        SignFlips(n),
        SignedPermutations(min(n, 3)),
        GeneratedPermutations(np.array(lines), block=block),
        CyclicTranslations((n, draw(st.integers(1, 4)))),
        AtomPermutations(n),
        OrthogonalMatrices([QUARTER_TURN, REFLECTION][: draw(st.integers(1, 2))]),
        OrthogonalMatrices([np.kron(np.eye(block), QUARTER_TURN)]),
    ]
    if draw(st.booleans()):
        return draw(st.sampled_from(kinds))
    factors = [group for group in kinds if group.order <= 12]
    return DirectProduct(draw(st.lists(st.sampled_from(factors), min_size=1, max_size=2)))


def holds(group):
    """Axioms, action, order, copies, generators and words."""
    check_group(group)
    for twin in (clone(group), pickle.loads(pickle.dumps(group))):
        assert np.array_equal(twin.sample(5, 3), group.sample(5, 3))
        assert twin.order == group.order
    listed = {key(e) for e in group.elements()}
    assert len(listed) == group.order
    assert {key(e) for e in group.generators()} <= listed
    assert {key(e) for e in group.random_words(20, random_state=0)} <= listed


def test_groups_hold_what_they_promise():
    for group in GROUPS:
        holds(group)
        assert len(group.generators()) <= max(1, np.log2(group.order) * 2), group


@settings(max_examples=30, deadline=None)
@given(finite_groups())
def test_any_group_holds_what_it_promises(group):
    holds(group)


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


def test_orders_need_no_enumeration(monkeypatch):
    def listed(self):
        raise AssertionError(f"{self!r} was listed")

    for kind in (Permutations, SignFlips, GeneratedPermutations):
        monkeypatch.setattr(kind, "elements", listed)
    assert Permutations(30).order == factorial(30)
    assert SignFlips(100).order == 2**100
    # A cycle and a transposition generate S_20; Schreier-Sims finds it without listing.
    assert GeneratedPermutations([np.roll(np.arange(20), 1), [1, 0, *range(2, 20)]]).order == (
        factorial(20)
    )
    # All (even) permutations of sixty points, for which Schreier-Sims takes seconds.
    cycle = [*range(1, 60), 0]
    all_of_sixty = GeneratedPermutations([cycle, [1, 0, *range(2, 60)]])
    assert all_of_sixty.order == factorial(60)
    assert Average(Gaussian(0.1), all_of_sixty).explain(np.ones((2, 60))).seconds > 1e60
    even = [[1, 2, 0, *range(3, 61)], [0, *range(2, 61), 1], [*range(1, 61), 0]]
    assert GeneratedPermutations(even[:1] + even[2:]).order == factorial(61) // 2
    monkeypatch.undo()
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


def test_orbit_counts_by_burnside():
    """Words over two letters up to reordering: one orbit a multiset."""
    group = Permutations(3, block=2)
    words = np.array([[a, b, c] for a in range(2) for b in range(2) for c in range(2)])
    X = np.eye(2)[words].reshape(8, 6)
    orbits = group.act(group.elements(), X).swapaxes(0, 1)
    canonical = {min(row.tobytes() for row in orbit) for orbit in orbits}
    assert len(canonical) == comb(2 + 3 - 1, 3)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(0, 9), st.integers(0, 10**6))
def test_mean_powers_and_exponentials_are_those_over_all_elements(n, degree, seed):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((2, n)), rng.standard_normal((3, n))
    flips = SignFlips(n)
    for group in (flips, Permutations(n), SignedPermutations(min(n, 4))):
        a, b = A[:, : group.n], B[:, : group.n]
        moved = group.act(group.elements(), b)
        inner = np.einsum("nd,gmd->gnm", a, moved)
        found = group.mean_powers(a, b, degree)
        for k in range(degree + 1):
            size = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)) ** k
            if group is flips:  # no moment is a difference of much larger ones
                size = np.mean(np.abs(inner) ** k, axis=0)
            assert np.all(np.abs(found[k] - np.mean(inner**k, axis=0)) <= 1e-12 * size)
    moved = flips.act(flips.elements(), B)
    gaps = np.abs(A[:, None] - moved[:, None]).sum(axis=3)
    expected = np.log(np.mean(np.exp(-gaps), axis=0))
    assert np.allclose(flips.log_mean_laplacian(A, B), expected, rtol=1e-12, atol=1e-12)
    inner = np.einsum("nd,gmd->gnm", A, moved)
    expected = np.log(np.mean(np.exp(inner), axis=0))
    assert np.allclose(flips.log_mean_exponential(A, B), expected, rtol=1e-12, atol=1e-12)
