"""Means over the orbits of both arguments, where no shorter list of elements gives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.config import block_bytes_of
from ..groups import Transformations
from .choose import warn_long
from .engine import OrbitProducts, mirror
from .reductions import WeightedMean
from .way import row_blocks

__all__ = ["both_sides", "without_equal"]

Array = NDArray[Any]


def both_sides(orbits: OrbitProducts, X: Array, *, same: bool) -> Array:
    r"""Kernel means :math:`\sum_{i, j} w_i w_j k(g_i x, g_j z)` of all pairs, shape (n, m).

    The orbits of X are unrolled, a block of points at a time, against pieces of the others.

    Parameters
    ----------
    orbits : OrbitProducts
        Of the second points z, with the elements and their weights.
    X : ndarray of shape (n, d)
    same : bool
        Whether X are the second points: pieces under the diagonal are then left out.
    """
    Y, group, elements, weights = orbits.Z, orbits.group, orbits.elements, orbits.weights
    assert elements is not None and weights is not None
    told = orbits.explain(X, WeightedMean()).times(len(elements))
    warn_long(
        told.operations / (2 if same else 1),
        f"{orbits.owner}: {len(X)} x {len(Y)} pairs, {len(elements)} elements each,",
        "verbose=1 shows progress. Cheaper: side='second', or n_transforms=... for fewer",
    )
    gram = np.empty((len(X), len(Y)), dtype=np.result_type(X, Y))
    n_pieces = min(4, -(-len(Y) // 64)) if same else 1
    budget, step = block_bytes_of(orbits.block_bytes), -(-len(Y) // n_pieces)
    pieces = [
        (columns, replace(orbits, Z=Y[columns], keep=True, block_bytes=1 + budget // n_pieces))
        for columns in row_blocks(len(Y), 1, step)
    ]
    row_bytes = gram.itemsize * len(elements) * (2 * X.shape[1] + step)
    for block in row_blocks(len(X), row_bytes, budget / 4):
        moved = group.act(elements, X[block])
        for rows in row_blocks(moved.shape[1], 1, step if same else moved.shape[1]):
            own = moved[:, rows].reshape(-1, prod(moved.shape[2:]))
            for columns, piece in pieces:
                if same and columns.stop <= block.start + rows.start:
                    continue
                (part,) = piece.reduce(own, WeightedMean())
                parts = part.reshape(len(moved), -1, len(piece.Z))
                mean = np.tensordot(weights.astype(part.dtype), parts, axes=1)
                gram[block.start + rows.start : block.start + rows.stop, columns] = mean
    if same:
        mirror(gram)  # exactly symmetric, as in theory
    return gram


def without_equal(
    gram: Array,
    base: Callable[[Array, Array], Array],
    group: Transformations,
    elements: Array,
    points: tuple[Array, Array],
) -> Array:
    """A mean over all pairs of r elements, with equal weights, without the pairs i = j.

    Parameters
    ----------
    gram : ndarray of shape (n, m)
        The mean over all pairs, which is overwritten.
    """
    diagonal = np.zeros_like(gram)
    for one in elements[:, None]:
        diagonal += base(*(group.act(one, A)[0].reshape(len(A), -1) for A in points))
    r = len(elements)
    gram *= r / (r - 1)
    gram -= diagonal / (r * (r - 1))
    return gram
