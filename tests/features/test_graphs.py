"""graph_nodes against walks that are counted one by one, and in any order of the nodes."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from invariance.features import graph_nodes, pad_sets
from invariance.kernels import Gaussian, SetKernel


def graph(n, seed, weighted=False):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((n, n)) < 0.5, 1) * (rng.random((n, n)) if weighted else 1.0)
    return A + A.T, rng.standard_normal((n, 2))


def walks(A, i, j, steps):
    """The weights of all walks from i to j, walk by walk."""
    total = 0.0
    for between in product(range(len(A)), repeat=steps - 1):
        path = (i, *between, j)
        total += np.prod([A[a, b] for a, b in pairwise(path)])
    return total


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 5), st.integers(2, 5), st.integers(0, 2), st.booleans(), st.integers(0, 999))
def test_agrees_with_the_definition(n, n_walks, n_hops, weighted, seed):
    A, X = graph(n, seed, weighted)
    found = graph_nodes(A, X, n_walks=n_walks, n_hops=n_hops)
    for i in range(n):
        expected = [sum(A[i])]
        expected += [np.log(1 + walks(A, i, i, k)) for k in range(3, n_walks + 1)]
        expected += list(X[i])
        for h in range(1, n_hops + 1):
            expected += list(sum(walks(A, i, j, h) * X[j] for j in range(n)))
        assert_allclose(found[i], expected, rtol=0, atol=1e-10)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 12), st.integers(0, 999))
def test_another_numbering_of_the_nodes_reorders_the_rows(n, seed):
    A, X = graph(n, seed, weighted=True)
    order = np.random.default_rng(seed).permutation(n)
    again = graph_nodes(A[np.ix_(order, order)], X[order])
    assert_allclose(again, graph_nodes(A, X)[order], rtol=1e-12, atol=1e-12)


def test_graphs_of_different_sizes_are_sets():
    """Two triangles and a hexagon, which one round of neighbours' degrees cannot tell apart."""
    ring = np.roll(np.eye(6), 1, axis=1)
    triangles = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    graphs = [ring + ring.T, triangles, np.ones((3, 3)) - np.eye(3)]
    nodes = graph_nodes(graphs)
    assert [len(a) for a in nodes] == [6, 6, 3]
    K = SetKernel(Gaussian(0.1), normalize=True)(pad_sets(nodes))
    assert K[0, 1] < 0.9 and abs(K[1, 2] - 1) < 1e-12


@pytest.mark.parametrize(
    ("A", "X", "says"),
    [
        ([[0, 1], [0, 0]], None, "symmetric"),
        ([[0, -1], [-1, 0]], None, "negative"),
        ([[0, 1, 1], [1, 0, 0]], None, "square"),
        ([[0, np.nan], [np.nan, 0]], None, "finite"),
        (np.eye(2), [[1.0]], "one row of attributes for each of 2"),
        ([np.eye(2)], [[[1.0], [1.0]]] * 2, "2 graphs"),
    ],
)
def test_says_what_is_wrong(A, X, says):
    with pytest.raises(ValueError, match=says):
        graph_nodes(A, X)
