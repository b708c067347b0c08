"""Blocked projections with the nonlinearity and the group average applied to each block.

The features of this package are weighted means over transformations of a function of inner
products, ``sum_g w_g f(<x, g t>)``. The array of all (n, r s) inner products never exists: it is
made a tile at a time, the nonlinearity is applied in place and the tile is reduced to its means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ..groups import CircleAction, Transformations
from ..orbits import CircleProducts

__all__ = [
    "circle_frequencies",
    "pool",
    "pool_arrays",
    "pool_circle",
    "row_slices",
    "spawn",
]

Activation = Callable[[NDArray], NDArray]

#: Rows and columns of a tile: wide enough for the matrix product to run at full speed, small
#: enough for what follows to find it in cache.
TILE_ROWS, TILE_COLUMNS = 256, 2048
#: The same for pairs of the angular path.
CIRCLE_ROWS, CIRCLE_COLUMNS = 256, 128


def dot(rows: NDArray, columns: NDArray) -> NDArray:
    """Inner products of rows (a, d) and columns (b, d), shape (a, b)."""
    return rows @ columns.T


def pool(
    rows: NDArray,
    orbit: NDArray,
    weights: NDArray,
    activations: Sequence[Activation],
    outputs: Sequence[NDArray],
    evaluate: Callable[[NDArray, NDArray], NDArray] = dot,
    n_jobs: int | None = None,
) -> None:
    """Add ``sum_g weights[g] f(evaluate(rows[i], orbit[g, j]))`` to ``outputs[.][i, j]``.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
    orbit : ndarray of shape (r, s, d)
    weights : ndarray of shape (r,)
    activations : one function f for each output, which may overwrite its argument
    outputs : arrays of shape (n, s), written in place
    evaluate : function of rows (a, d) and columns (b, d), shape (a, b)
    n_jobs : int or None
        Threads; results do not depend on their number.
    """
    r, s, d = orbit.shape
    some_templates = max(1, TILE_COLUMNS // r)
    weights = weights.astype(outputs[0].dtype, copy=False)
    last = len(activations) - 1

    def one(start: int) -> None:
        which = slice(start, start + some_templates)
        for first in range(0, r, TILE_COLUMNS):
            elements = slice(first, first + TILE_COLUMNS)
            part = orbit[elements, which]
            shape, columns = part.shape[:2], part.reshape(-1, d)
            for begin in range(0, len(rows), TILE_ROWS):
                block = slice(begin, begin + TILE_ROWS)
                values = evaluate(rows[block], columns)
                for i, (activation, output) in enumerate(zip(activations, outputs, strict=True)):
                    applied = activation(values if i == last else values.copy())
                    applied = applied.reshape(-1, *shape)
                    output[block, which] += np.matmul(weights[elements], applied)

    # tasks write into one array: threads, whatever backend joblib is told to use
    tasks = (delayed(one)(start) for start in range(0, s, some_templates))
    Parallel(n_jobs=n_jobs, require="sharedmem")(tasks)


def pool_arrays(
    xp: Any,
    rows: Any,
    orbit: Any,
    weights: Any,
    activations: Sequence[Callable],
    block_bytes: int,
) -> list[Any]:
    """`pool` for arrays of another library, blocked for its device: outputs of shape (n, s).

    Parameters
    ----------
    xp : array API namespace
    rows, orbit, weights : as in `pool`, arrays of that library
    activations : functions of arrays that leave their argument alone
    block_bytes : int
        Bound on the inner products that exist at a time.
    """
    r, s, d = orbit.shape
    item = 4 if rows.dtype == xp.float32 else 8
    # Products, values and their copies: about four arrays of a tile.
    some_templates = max(1, min(s, int(block_bytes // (4 * item * r))))
    some_rows = max(1, int(block_bytes // (4 * item * r * some_templates)))
    weights = xp.reshape(weights, (1, 1, r))
    outputs = [[] for _ in activations]
    for which in row_slices(s, 1, some_templates):
        columns = xp.reshape(orbit[:, which, :], (-1, d)).T
        parts = [[] for _ in activations]
        for block in row_slices(rows.shape[0], 1, some_rows):
            values = xp.reshape(rows[block, :] @ columns, (block.stop - block.start, r, -1))
            for part, activation in zip(parts, activations, strict=True):
                part.append((weights @ activation(values))[:, 0, :])
        for output, part in zip(outputs, parts, strict=True):
            output.append(xp.concat(part, axis=0))
    return [xp.concat(output, axis=1) for output in outputs]


def pool_circle(
    X: NDArray,
    products: CircleProducts,
    weights: NDArray,
    activations: Sequence[Activation],
    outputs: Sequence[NDArray],
    n_jobs: int | None = None,
) -> None:
    """Write ``sum_theta weights[theta] f(<x_i, g_theta t_j>)`` into ``outputs[.][i, j]``.

    Parameters are those of `pool`, with functions of the inner product for activations.
    """
    gathered = products.gather(X)
    weights = weights.astype(X.dtype, copy=False)
    last = len(activations) - 1

    def one(begin: int) -> None:
        rows = slice(begin, begin + CIRCLE_ROWS)
        for start in range(0, products.n_templates, CIRCLE_COLUMNS):
            columns = slice(start, start + CIRCLE_COLUMNS)
            tiles = [np.empty(output[rows, columns].shape, output.dtype) for output in outputs]
            for which, values in products.pairs(gathered, rows, columns):
                for i, (activation, tile) in enumerate(zip(activations, tiles, strict=True)):
                    applied = activation(values if i == last else values.copy())
                    tile.reshape(-1)[which] = weights @ applied
            for tile, output in zip(tiles, outputs, strict=True):
                output[rows, columns] = tile

    # as in `pool`: one array, hence threads
    tasks = (delayed(one)(begin) for begin in range(0, len(X), CIRCLE_ROWS))
    Parallel(n_jobs=n_jobs, require="sharedmem")(tasks)


def circle_frequencies(group: Transformations | None, extra: int) -> NDArray | None:
    """Frequencies of a `CircleAction` with ``extra`` fixed entries appended, else None."""
    if not isinstance(group, CircleAction):
        return None
    return np.concatenate([group.frequency_array(), np.zeros(extra, dtype=int)])


def row_slices(n_rows: int, bytes_per_row: int, block_bytes: int) -> Iterable[slice]:
    """Slices that cover ``range(n_rows)`` with at most ``block_bytes`` of temporaries each."""
    step = max(1, int(block_bytes // max(1, bytes_per_row)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def spawn(rng: np.random.RandomState, n_streams: int) -> list[np.random.RandomState]:
    """Generators whose draws do not depend on how much the others are used."""
    return [np.random.RandomState(seed) for seed in rng.randint(2**31 - 1, size=n_streams)]
