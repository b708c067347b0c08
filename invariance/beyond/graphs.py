"""`graph_nodes`: a graph as the set of its nodes, each described by its surroundings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arrays import as_floats, check_finite
from ..core.parameters import ParameterError, Whole, arguments, short


@arguments(n_walks=Whole(2), n_hops=Whole(0))
def graph_nodes(A: Any, X: Any = None, *, n_walks: int = 6, n_hops: int = 2) -> Any:
    r"""Descriptors of the nodes of a graph that do not depend on the numbering of the nodes.

    With weights A and attributes x (one-hot for kinds of nodes), node i has

    .. math:: \sum_j A_{ij}, \quad \log(1 + (A^k)_{ii}), \ k = 3 \ldots K, \quad
              (A^h x)_i, \ h = 0 \ldots H :

    its degree, its closed walks of each length, and the attributes summed over walks of h steps, as
    in h rounds of Weisfeiler and Leman. `SetFeatures` and `SetKernel` of nodes are invariant under
    permutations of the nodes.

    Parameters
    ----------
    A : array-like of shape (n, n), or list of such arrays
        Adjacency matrices: symmetric, with nonnegative weights.
    X : array-like of shape (n, p), or list of such arrays, optional
        Attributes of the nodes.
    n_walks, n_hops : int
        K (below 3 there are no closed walks) and H.

    Returns
    -------
    ndarray of shape (n, 1 + K - 2 + (H + 1) p), or list of such arrays, for `pad_sets`

    Examples
    --------
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> graph_nodes(path, [[1], [0], [0]], n_walks=2)           # degree; attribute, one hop, two
    array([[1., 1., 0., 1.],
           [2., 0., 1., 0.],
           [1., 0., 0., 1.]])
    """
    if isinstance(A, (list, tuple, np.ndarray)) and len(A) and len(np.shape(A[0])) == 2:
        return _nodes_of_graphs(A, X, n_walks=n_walks, n_hops=n_hops)
    A = _adjacency(A)
    columns = [A.sum(axis=1, keepdims=True)]
    walks = A @ A
    for _ in range(3, n_walks + 1):
        walks = walks @ A
        columns.append(np.log1p(np.diag(walks))[:, None])
    if X is not None:
        attributes = _attributes(X, n_nodes=len(A))
        columns.append(attributes)
        for _ in range(n_hops):
            attributes = A @ attributes
            columns.append(attributes)
    return np.concatenate(columns, axis=1)


def _nodes_of_graphs(A: Any, X: Any, *, n_walks: int, n_hops: int) -> list[Any]:
    attributes = [None] * len(A) if X is None else X
    if len(A) != len(attributes):
        raise ParameterError(f"X has attributes of {len(attributes)} graphs, A has {len(A)}")
    nodes = []
    for adjacency, graph_attributes in zip(A, attributes, strict=True):
        nodes.append(graph_nodes(adjacency, graph_attributes, n_walks=n_walks, n_hops=n_hops))
    return nodes


def _adjacency(weights: ArrayLike) -> NDArray[Any]:
    """Return a checked adjacency matrix."""
    A = as_floats("A", weights)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not len(A):
        raise ParameterError(f"A needs to be a square matrix of weights, got {short(weights)}")
    check_finite("A", A)
    if A.min() < 0 or not np.array_equal(A, A.T):
        i, j = np.argwhere((A < 0) | (A.T != A))[0]
        raise ParameterError(
            f"A needs to be symmetric, without negative weights, but entries ({i}, {j}) and "
            f"({j}, {i}) are {A[i, j]} and {A[j, i]}: use (A + A.T) / 2 or abs(A)"
        )
    return A


def _attributes(X: ArrayLike, n_nodes: int) -> NDArray[Any]:
    """Return checked attributes of the nodes."""
    attributes = as_floats("X", X)
    check_finite("X", attributes)
    if attributes.ndim != 2 or len(attributes) != n_nodes:
        raise ParameterError(
            f"X needs one row of attributes for each of {n_nodes} nodes, got {attributes.shape}"
        )
    return attributes
