"""Reflection groups, by the definition: the products of a group's reflections are all of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from invariance import beyond
from invariance import groups as G
from invariance.groups import is_reflection_group


def turn(part):
    angle = 2 * np.pi / part
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


MIRROR = np.diag([1.0, -1.0])
GOLDEN = (1 + np.sqrt(5)) / 2
CYCLE = np.eye(3)[[1, 2, 0]]
HALF_TURN = np.diag([1.0, -1.0, -1.0])
FIFTH_TURN = np.array([[1, -GOLDEN, GOLDEN - 1], [GOLDEN, GOLDEN - 1, -1], [GOLDEN - 1, 1, GOLDEN]])
FIFTH_TURN = FIFTH_TURN / 2


def matrices_of(group):
    """All elements of a group as matrices."""
    images = group.act(group.elements(), np.eye(group.n_features))
    return images.swapaxes(1, 2)


def distinct(matrices):
    return {(np.round(matrix, 6) + 0.0).tobytes(): matrix for matrix in matrices}


def is_reflection(matrix):
    """Whether a matrix has one eigenvalue -1, and 1 for all other directions."""
    eigenvalues, _ = np.linalg.eig(matrix)
    values = np.sort(eigenvalues.real)
    expected = np.ones(len(matrix))
    expected[0] = -1
    return np.allclose(eigenvalues.imag, 0) and np.allclose(values, expected)


def generated_by_reflections(group):
    """Whether all products of a group's reflections are exactly its elements."""
    elements = distinct(matrices_of(group))
    reflections = [matrix for matrix in elements.values() if is_reflection(matrix)]
    products = distinct([np.eye(group.n_features)])
    newest = list(products.values())
    while newest:
        candidates = distinct([a @ b for a in newest for b in reflections])
        newest = [matrix for key, matrix in candidates.items() if key not in products]
        products |= candidates
    return set(products) == set(elements)


GROUPS = {
    "trivial": (G.Permutations(1), True),
    "orders": (G.Permutations(4), True),
    "orders of blocks": (G.Permutations(3, block=2), False),
    "orders of one block": (G.Permutations(1, block=3), True),
    "signs": (G.SignFlips(3), True),
    "orders and signs": (G.SignedPermutations(3), True),
    "two shifts": (G.CyclicShifts(2), True),
    "two shifts of blocks": (G.CyclicShifts(2, block=2), False),
    "four shifts": (G.CyclicShifts(4), False),
    "even orders": (G.GeneratedPermutations([[1, 2, 0, 3], [1, 0, 3, 2]]), False),
    "orders of two halves": (G.GeneratedPermutations([[1, 0, 2, 3], [0, 1, 3, 2]]), True),
    "two swaps at once": (G.GeneratedPermutations([[1, 0, 3, 2]]), False),
    "the square's orders": (G.GeneratedPermutations([[1, 2, 3, 0], [3, 2, 1, 0]]), False),
    "C5": (G.OrthogonalMatrices([turn(5)]), False),
    "D5": (G.OrthogonalMatrices([turn(5), MIRROR]), True),
    "D6": (G.OrthogonalMatrices([turn(6), MIRROR]), True),
    "half a turn": (G.OrthogonalMatrices([-np.eye(2)]), False),
    "the sign of a number": (G.OrthogonalMatrices([-np.eye(1)]), True),
    "T": (G.OrthogonalMatrices([CYCLE, HALF_TURN]), False),
    "Th": (G.OrthogonalMatrices([CYCLE, HALF_TURN, -np.eye(3)]), False),
    "Td": (G.OrthogonalMatrices([CYCLE, HALF_TURN, np.eye(3)[[1, 0, 2]]]), True),
    "I": (G.OrthogonalMatrices([CYCLE, FIFTH_TURN]), False),
    "Ih": (G.OrthogonalMatrices([CYCLE, FIFTH_TURN, -np.eye(3)]), True),
    "a product": (G.DirectProduct([G.Permutations(3), G.SignFlips(2)]), True),
    "a product with D3": (
        G.DirectProduct([G.SignFlips(1), G.OrthogonalMatrices([turn(3), MIRROR])]),
        True,
    ),
    "a product with shifts": (G.DirectProduct([G.CyclicShifts(3), G.SignFlips(2)]), False),
    "orders, then signs": (G.Permutations(3).then(G.SignFlips(3)), True),
    "shifts, then signs": (G.CyclicShifts(3).then(G.SignFlips(3)), False),
    "no group": (G.Permutations(3).then(G.OrthogonalMatrices([np.diag([-1.0, 1, 1])])), False),
    "signs, then the same signs": (G.SignFlips(2).then(G.SignFlips(2)), True),
    "two points": (G.Permutations(2).on_each(2), False),
    "one point": (G.Permutations(2).on_each(1), True),
    "teams and players": (beyond.Wreath(G.Permutations(2), G.Permutations(2)), False),
    "orders of atoms": (G.AtomPermutations(3), False),
}


@pytest.mark.parametrize("name", GROUPS)
def test_listed_groups_agree_with_the_definition(name):
    group, expected = GROUPS[name]
    assert generated_by_reflections(group) is expected
    assert is_reflection_group(group) is expected


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 4), st.integers(1, 3), st.integers(0, 10**6))
def test_random_groups_of_signed_permutations_agree_with_the_definition(n, n_generators, seed):
    rng = np.random.default_rng(seed)
    generators = [
        rng.choice([-1.0, 1.0], (n, 1)) * np.eye(n)[rng.permutation(n)] for _ in range(n_generators)
    ]
    group = G.OrthogonalMatrices(generators)
    assert is_reflection_group(group) is generated_by_reflections(group)


@pytest.mark.parametrize(
    ("group", "n_features", "expected"),
    [
        (G.Permutations(1000), None, True),
        (G.SignedPermutations(1000), None, True),
        (G.DirectProduct([G.Permutations(100), G.SignFlips(100)]), None, True),
        (G.DirectProduct([G.Permutations(100), G.CyclicShifts(100)]), None, False),
        (G.SignFlips(2).on_columns([0, 2]), None, True),
        (G.CyclicShifts(3).on_columns([0, 1, 2]), None, False),
        (G.SignFlips(50).on_columns(range(50)).then(G.CyclicShifts(3).on_columns([50, 51, 52])),
         None, None),
        (G.SignFlips(50).on_columns(range(50)).times(G.Permutations(9).on_columns(range(50, 59))),
         None, True),
        (G.CyclicShifts(2000), None, False),
        (G.Negation(), None, None),
        (G.Negation(), 1, True),
        (G.Negation(), 2, False),
        (G.OnPoints(G.SignFlips(2), 2), None, None),
        (G.OnPoints(G.SignFlips(2), 2), 2, True),
        (G.OnPoints(G.SignFlips(2), 2), 4, False),
        (G.Permutations(40, block=2), None, False),
        (beyond.PlaneRotations(), None, None),
        (beyond.PlaneRotations(), 2, None),
        (G.Rotations((4, 4), degrees=[0, 90]), None, False),
        (G.Translations((4, 4), max_shift=1), None, False),
        (G.LinearMaps([np.eye(2), MIRROR]), None, None),
        (G.OrthogonalMatrices([turn(2 * np.pi)]), None, None),
    ],
)  # fmt: skip
def test_large_and_infinite_groups_and_unknown_dimensions(group, n_features, expected):
    assert is_reflection_group(group, n_features) is expected


def test_a_subclass_with_its_own_elements_does_not_inherit_the_ability():
    with pytest.warns(UserWarning, match="reflects"):

        class EvenOrders(G.Permutations):
            def generators(self):
                return np.array([[2, 3, 1]])

            def elements(self):
                return np.array([[1, 2, 3], [2, 3, 1], [3, 1, 2]])

    assert is_reflection_group(G.Permutations(3)) is True
    assert is_reflection_group(EvenOrders(3)) is False
