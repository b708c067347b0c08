"""`in_tiles`: a matrix from its tiles, in threads."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

Array = NDArray[Any]


def in_tiles(
    values: Callable[[slice, slice], Array],
    shape: tuple[int, int],
    sides: tuple[int, int],
    dtype: Any,
    *,
    symmetric: bool = False,
    n_jobs: int | None = None,
) -> Array:
    """The matrix of ``values(rows, columns)``, of tiles of at most ``sides``.

    Of a symmetric one the tiles on and above the diagonal are computed; its sides are equal.
    """
    matrix = np.empty(shape, dtype)
    rows, columns = map(_pieces, shape, sides)

    def fill(a: slice, b: slice) -> None:
        tile = values(a, b)
        if symmetric and a == b:  # equal to the bit, as the others are
            tile = np.triu(tile) + np.triu(tile, 1).T
        matrix[a, b] = tile
        if symmetric and a != b:
            matrix[b, a] = tile.T

    tiles = [(a, b) for b in columns for a in rows if not symmetric or a.start <= b.start]
    n_jobs = min(effective_n_jobs(n_jobs), len(tiles))
    if n_jobs == 1:
        for tile in tiles:
            fill(*tile)
    else:
        with threadpool_limits(1, "blas"):
            Parallel(n_jobs, require="sharedmem")(delayed(fill)(*tile) for tile in tiles)
    return matrix


def _pieces(n: int, side: int) -> list[slice]:
    """Slices of nearly equal lengths, at most ``side``."""
    edges = np.linspace(0, n, -(-n // side) + 1).astype(int)
    return [slice(a, b) for a, b in pairwise(edges.tolist())]
