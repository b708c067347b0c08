"""Finite groups of matrices in any coordinates: orders, samples, elements."""

from math import factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance.groups import OrthogonalMatrices, check_group

pytest.importorskip("sympy")


def coordinates(d, seed=0):
    """A random orthonormal basis."""
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


def turned(matrices, seed=0):
    basis = coordinates(len(matrices[0]), seed)
    return OrthogonalMatrices([basis @ matrix @ basis.T for matrix in matrices])


def permutation(line):
    return np.eye(len(line))[list(line)]


def reflections(gram):
    """Reflections in vectors of given inner products, in the coordinates of a Cholesky factor."""
    roots = np.linalg.cholesky(np.array(gram, dtype=float))
    return [np.eye(len(roots)) - 2 * np.outer(r, r) / (r @ r) for r in roots]


def weyl(edges, n):
    gram = 2 * np.eye(n)
    for i, j in edges:
        gram[i, j] = gram[j, i] = -1
    return reflections(gram)


E6 = weyl([(0, 1), (1, 2), (2, 3), (3, 4), (2, 5)], 6)
E7 = weyl([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (2, 6)], 7)
E8 = weyl([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (2, 7)], 8)
SWAP, CYCLE = permutation([1, 0, 2, 3, 4, 5, 6]), permutation([1, 2, 3, 4, 5, 6, 0])
# Mathieu's group of degree 11, by two cycles of eleven and of four points each
M11 = [permutation([*range(1, 11), 0]), permutation([0, 1, 6, 9, 5, 3, 10, 2, 8, 4, 7])]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("matrices", "order"),
    [
        (E6, 51_840),
        (E7, 2_903_040),
        (E8, 696_729_600),
        ([np.linalg.multi_dot(E7), E7[0]], 2 * 51_840),
        ([E7[i] @ E7[i + 1] for i in range(6)], 1_451_520),
        ([SWAP, CYCLE], factorial(7)),
        ([permutation([1, 2, 0, 3, 4, 5, 6]), CYCLE], factorial(7) // 2),
        ([SWAP, CYCLE, -np.eye(7)], 2 * factorial(7)),
        ([-SWAP, CYCLE], factorial(7)),
        (
            [np.diag([-1.0, 1, 1, 1, 1]), *map(permutation, ([1, 0, 2, 3, 4], [1, 2, 3, 4, 0]))],
            3840,
        ),
        (M11, 7920),
        ([np.kron(np.eye(2), [[0.0, -1], [1, 0]])], 4),
    ],
    ids=[
        "E6",
        "E7",
        "E8",
        "within E7",
        "E7 even",
        "S7",
        "A7",
        "S7 and -1",
        "S7 signed",
        "B5",
        "M11",
        "C4",
    ],
)
def test_the_order_does_not_depend_on_coordinates(matrices, order, seed):
    assert turned(matrices, seed).order == order


@pytest.mark.parametrize("matrices", [E7, [SWAP, CYCLE]], ids=["E7", "S7"])
def test_samples_belong_and_are_uniform(matrices):
    """Traces: E tr g = 0 or 1 (the number of fixed vectors), and E (tr g)^2 = 1 or 2.

    The traces have a standard deviation of at most 1, their squares of at most 4.
    Each test fails by chance once in 2e6 (five standard errors).
    """
    group = turned(matrices)
    n = 4000
    drawn = group.sample(n, 0)
    assert_allclose(
        drawn @ drawn.swapaxes(1, 2), np.broadcast_to(np.eye(7), drawn.shape), atol=1e-9
    )
    fixed = float(matrices[0] is SWAP)
    traces = np.trace(drawn, axis1=1, axis2=2)
    assert abs(traces.mean() - fixed) < 5 / np.sqrt(n)
    squares = traces**2
    assert abs(squares.mean() - 1 - fixed) < 5 * squares.std() / np.sqrt(n)


def test_elements_are_the_group_in_other_coordinates():
    lines = [permutation([1, 0, 2, 3, 4]), permutation([1, 2, 3, 4, 0])]
    group = turned([*lines, np.diag([-1.0, 1, 1, 1, 1])])
    listed = group.elements()
    assert listed.shape == (3840, 5, 5)
    assert_allclose(listed[0], np.eye(5), atol=1e-12)
    basis = coordinates(5)
    plain = basis.T @ listed @ basis
    assert_allclose(np.abs(plain).round(9) % 1, 0)  # signed permutations
    assert len(np.unique(plain.round(6), axis=0)) == 3840
    check_group(turned(lines))


def test_infinite_groups_are_refused_with_what_to_do():
    c, s = np.cos(1.0), np.sin(1.0)
    for matrices in ([[[c, -s], [s, c]]], [coordinates(5), coordinates(5, 1)]):
        with pytest.raises(ValueError, match="no finite group .* random_words"):
            OrthogonalMatrices(matrices).order  # noqa: B018
    assert OrthogonalMatrices([[[c, -s], [s, c]]]).random_words(3, random_state=0).shape == (
        3,
        2,
        2,
    )
