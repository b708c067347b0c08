"""Matchings of the blocks of two points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

Array = NDArray[Any]

#: Operations of a matrix product that take as long as a matching, and as a pair of blocks of it.
_PER_MATCHING = 6e5
_PER_PAIR_OF_BLOCKS = 2500.0


def matching_operations(n_pairs: float, n_blocks: float) -> float:
    """Cost of matchings for ``n_pairs`` pairs of points with ``n_blocks`` pairs of blocks in all.

    The unit is an operation of a matrix product.
    """
    return _PER_MATCHING * n_pairs + _PER_PAIR_OF_BLOCKS * n_blocks


def least_matching(X: Array, Y: Array, block: int, metric: str = "inner") -> Array:
    """Least sums over pairs of blocks, each block of x with one of y, for all pairs of rows.

    Parameters
    ----------
    X, Y : ndarrays of shape (n, k * block), (m, k * block)
    metric : str, of two blocks: "inner", or a metric of scipy's ``cdist``

    Examples
    --------
    >>> least_matching(np.array([[1.0, 2.0]]), np.array([[2.0, 1.5]]), 1, "cityblock")
    array([[0.5]])
    """
    sums = np.empty((len(X), len(Y)), np.result_type(X, Y))
    blocks_of_Y = Y.reshape(-1, block)
    k = X.shape[1] // block
    places = np.arange(k)
    points = np.arange(len(Y))[:, None]
    matched = np.empty((len(Y), k), int)
    for i, blocks_of_x in enumerate(X.reshape(len(X), k, block)):
        if metric == "inner":
            costs = blocks_of_x @ blocks_of_Y.T
        else:
            costs = cdist(blocks_of_x, blocks_of_Y, metric)
        costs = costs.reshape(k, len(Y), k)
        for j in range(len(Y)):
            _, matched[j] = linear_sum_assignment(costs[:, j])
        sums[i] = costs[places, points, matched].sum(axis=1)
    return sums
