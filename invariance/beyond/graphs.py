"""`graph_nodes`: a graph as the set of its nodes, each described by what surrounds it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arrays import as_floats, check_finite
from ..core.parameters import ParameterError, Whole, arguments, short


@arguments(n_walks=Whole(2), n_hops=Whole(0))
def graph_nodes(A: Any, X: Any = None, *, n_walks: int = 6, n_hops: int = 2) -> Any:
    r"""Descriptors of the nodes of a graph, which do not depend on how the nodes are numbered.

    With weights A and attributes x (one-hot for kinds of nodes), node i has

    .. math:: \sum_j A_{ij}, \quad \log(1 + (A^k)_{ii}), \ k = 3 \ldots K, \quad
              (A^h x)_i, \ h = 0 \ldots H :

    its degree, its closed walks of each length, and the attributes summed over walks of h steps, as
    in h rounds of Weisfeiler and Leman. `SetFeatures` or `SetKernel` of nodes forget their order.

    Parameters
    ----------
    A : array-like of shape (n, n), or list of such
        Adjacency matrices: symmetric, with weights that are not negative.
    X : array-like of shape (n, p), or list of such, optional: attributes of the nodes
    n_walks, n_hops : int, K (none below 3) and H

    Returns
    -------
    ndarray of shape (n, 1 + K - 2 + (H + 1) p), or list of such, for `pad_sets`

    Examples
    --------
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> graph_nodes(path, [[1], [0], [0]], n_walks=2)           # degree; attribute, one hop, two
    array([[1., 1., 0., 1.],
           [2., 0., 1., 0.],
           [1., 0., 0., 1.]])
    """
    if isinstance(A, (list, tuple, np.ndarray)) and len(A) and len(np.shape(A[0])) == 2:
        attributes = [None] * len(A) if X is None else X
        if len(A) != len(attributes):
            raise ParameterError(f"X has attributes of {len(attributes)} graphs, A has {len(A)}")
        pairs = zip(A, attributes, strict=True)
        return [graph_nodes(a, x, n_walks=n_walks, n_hops=n_hops) for a, x in pairs]
    A = _adjacency(A)
    walks, columns = A @ A, [A.sum(axis=1, keepdims=True)]
    for _ in range(3, n_walks + 1):
        walks = walks @ A
        columns.append(np.log1p(np.diag(walks))[:, None])
    if X is not None:
        sums = as_floats("X", X)
        check_finite("X", sums)
        if sums.ndim != 2 or len(sums) != len(A):
            raise ParameterError(
                f"X needs one row of attributes for each of {len(A)} nodes, got {sums.shape}"
            )
        columns.append(sums)
        for _ in range(n_hops):
            sums = A @ sums
            columns.append(sums)
    return np.concatenate(columns, axis=1)


def _adjacency(given: ArrayLike) -> NDArray:
    A = as_floats("A", given)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not len(A):
        raise ParameterError(f"A needs to be a square matrix of weights, got {short(given)}")
    check_finite("A", A)
    if A.min() < 0 or not np.array_equal(A, A.T):
        i, j = np.argwhere((A < 0) | (A.T != A))[0]
        raise ParameterError(
            f"A needs to be symmetric, without negative weights, but entries ({i}, {j}) and "
            f"({j}, {i}) are {A[i, j]} and {A[j, i]}: use (A + A.T) / 2 or abs(A)"
        )
    return A
