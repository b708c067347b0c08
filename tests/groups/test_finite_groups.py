"""Group axioms, orders and uniform sampling of the finite groups."""

import pickle
from math import factorial

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from invariance import groups as G
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
    """A finite group of the package, or a product of two, of at most some hundred elements."""
    n, block = draw(st.integers(1, 4)), draw(st.integers(1, 3))
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


def holds(group):
    """Axioms, action, order, copies, generators and words."""
    G.check_group(group)
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
    group = G.SignedPermutations(n)
    g, h = group.sample(1, seed), group.sample(1, seed + 1)
    x = rng.integers(-9, 9, (2, n)).astype(float)
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
    # A cycle and a transposition generate S_20; Schreier-Sims finds it without listing.
    twenty = G.GeneratedPermutations([np.roll(np.arange(20), 1), [1, 0, *range(2, 20)]])
    assert twenty.order == factorial(20)
    # All (even) permutations of sixty points, for which Schreier-Sims takes seconds.
    cycle = [*range(1, 60), 0]
    all_of_sixty = G.GeneratedPermutations([cycle, [1, 0, *range(2, 60)]])
    assert all_of_sixty.order == factorial(60)
    assert Average(Gaussian(0.1), all_of_sixty).explain(np.ones((2, 60))).seconds > 1e60
    even = [[1, 2, 0, *range(3, 61)], [0, *range(2, 61), 1], [*range(1, 61), 0]]
    assert G.GeneratedPermutations(even[:1] + even[2:]).order == factorial(61) // 2


def test_order_of_matrix_groups_needs_no_enumeration():
    """Signed permutation matrices in dimension 12: 2^12 12! matrices, an orbit of 24 points."""
    group = G.OrthogonalMatrices(
        [np.eye(12)[e - 1] for e in G.Permutations(12).generators()] + [np.diag([-1.0] + [1] * 11)]
    )
    assert group.order == G.SignedPermutations(12).order
    G.check_group(group)
    tetrahedral = G.OrthogonalMatrices([np.roll(np.eye(3), 1, axis=0), np.diag([-1.0, -1, 1])])
    assert tetrahedral.order == 12


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(0, 9), st.integers(0, 10**6))
def test_mean_powers_and_exponentials_are_those_over_all_elements(n, degree, seed):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((2, n)), rng.standard_normal((3, n))
    flips = G.SignFlips(n)
    for group in (flips, G.Permutations(n), G.SignedPermutations(min(n, 4))):
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
