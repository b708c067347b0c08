"""Blocks of rows, tiles, threads and progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController
from tqdm import tqdm

Array = NDArray[Any]

#: The libraries of this process that use threads. Finding them takes longer than a block.
_libraries = cache(ThreadpoolController)
#: Side of the square blocks in which a triangle is mirrored.
_MIRROR_SIDE = 256


class Workers(NamedTuple):
    """A number of threads, and a ``map`` that uses them."""

    n_threads: int
    map: Callable[..., Any]


@contextmanager
def workers(n_threads: int, verbose: int) -> Iterator[Workers]:
    """Provide a ``map`` that runs in threads, each with one BLAS thread, and shows progress.

    The threads are the standard library's: blocks take milliseconds, and joblib polls for 10 ms.
    """
    if n_threads == 1 and not verbose:
        yield Workers(1, map)
        return
    blas_threads = 1 if n_threads > 1 else None
    with (
        tqdm(desc="orbits", unit=" blocks", disable=not verbose) as progress,
        _libraries().limit(limits=blas_threads, user_api="blas"),
        ThreadPoolExecutor(n_threads) as pool,
    ):
        plain_map = pool.map if n_threads > 1 else map

        def map_with_progress(function: Any, arguments: Any) -> Iterator[Any]:
            for result in plain_map(function, arguments):
                progress.update()
                yield result

        yield Workers(n_threads, map_with_progress)


def row_blocks(n_rows: int, bytes_per_row: float, block_bytes: float) -> Iterator[slice]:
    """Slices that cover ``range(n_rows)`` with at most ``block_bytes`` of temporaries each."""
    step = max(1, int(block_bytes // max(bytes_per_row, 1)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def even_blocks(n_rows: int, largest: int) -> list[slice]:
    """Slices of nearly equal length, at most ``largest``, that cover ``range(n_rows)``."""
    n_blocks = -(-n_rows // largest)
    return list(row_blocks(n_rows, 1, -(-n_rows // n_blocks)))


def in_tiles(
    values: Callable[[slice, slice], Array],
    shape: tuple[int, int],
    sides: tuple[int, int],
    dtype: Any,
    *,
    symmetric: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Array:
    """Return the matrix of ``values(rows, columns)``, computed in tiles of at most ``sides``.

    Only the tiles on and above the diagonal of a symmetric matrix are computed; its sides must be
    equal.
    """
    matrix = np.empty(shape, dtype)
    row_slices = even_blocks(shape[0], sides[0])
    column_slices = even_blocks(shape[1], sides[1])
    tiles = []
    for rows in row_slices:
        for columns in column_slices:
            if not symmetric or rows.start <= columns.start:
                tiles.append((rows, columns))

    def fill(tile: tuple[slice, slice]) -> None:
        matrix[tile] = values(*tile)

    n_threads = min(effective_n_jobs(n_jobs), len(tiles))
    with workers(n_threads, verbose) as pool:
        list(pool.map(fill, tiles))
    if symmetric:
        mirror(matrix)
    return matrix


def mirror(matrix: Array) -> None:
    """Copy the upper triangle onto the lower one, in place, by blocks."""
    step = _MIRROR_SIDE
    for start in range(0, len(matrix), step):
        rows = slice(start, start + step)
        below = slice(start + step, None)
        matrix[below, rows] = matrix[rows, below].swapaxes(0, 1)
        block = matrix[rows, rows]
        is_lower = np.tri(len(block), k=-1, dtype=bool)
        np.copyto(block.T, block.T.swapaxes(-2, -1), where=is_lower.T)


class Workspace:
    """Arrays that are used again for every tile: fresh memory costs a page fault for every page."""

    def __init__(self, dtype: Any):
        self.dtype = dtype
        self.buffers: dict[str, Array] = {}

    def array(self, name: str, *shape: int) -> Array:
        size = prod(shape)
        if name not in self.buffers or self.buffers[name].size < size:
            self.buffers[name] = np.empty(size, self.dtype)
        return self.buffers[name][:size].reshape(shape)


def part_of(values: Any, rows: Any) -> Any:
    """Return ``values[rows]``, or None if there are no values."""
    if values is None:
        return None
    return values[rows]


def total(first: Any, second: Any) -> Any:
    """Return the sum of two terms; a term of None counts as zero."""
    if first is None:
        return second
    if second is None:
        return first
    return first + second


def side_by_side(*parts: Array | None) -> Array:
    """Join arrays along axis 1; vectors are single columns, and None is left out."""
    columns = []
    for part in parts:
        if part is not None:
            columns.append(part.reshape(len(part), -1))
    if len(columns) == 1:
        return columns[0]
    return np.concatenate(columns, axis=1)
