"""Blocked projections with the nonlinearity and the group average applied to each block.

The features of this package are weighted means over transformations of a function of inner
products, ``sum_g w_g f(<x, g t>)``. The array of all (n, r s) inner products never exists: it is
made a tile at a time, the nonlinearity is applied in place and the tile is reduced to its means.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from ..groups import CircleAction, CircleProducts, Transformations

__all__ = [
    "circle_frequencies",
    "draw_transforms",
    "pool",
    "pool_arrays",
    "pool_circle",
    "resolve_side",
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


def draw_transforms(
    owner: str, group: Transformations | None, n_transforms: int | None, rng
) -> tuple[NDArray | None, NDArray]:
    """Group elements and weights that sum to one; ``(None, [1])`` without a group.

    Raises
    ------
    ValueError
        For ``n_transforms < 1``.
    TypeError
        For an infinite set without ``n_transforms``.
    """
    valid = n_transforms is None or (
        isinstance(n_transforms, (int, np.integer)) and n_transforms >= 1
    )
    if not valid:
        raise ValueError(f"{owner} needs n_transforms >= 1 as an integer, got {n_transforms!r}")
    if group is None:
        return None, np.ones(1)
    if n_transforms is None:
        elements, weights = group.elements(), group.weights()
    else:
        elements, weights = group.sample(n_transforms, rng), None
    if weights is None:
        weights = np.full(len(elements), 1 / len(elements))
    return elements, weights


def resolve_side(
    owner: str,
    side: str,
    group: Transformations | None,
    elements: NDArray | None,
    preserved: bool,
    templates: NDArray,
) -> tuple[str, NDArray | None]:
    """Whether templates or points are transformed, and by which elements.

    Where the action preserves the value, ``f(g x, t) = f(x, g^-1 t)``: with the inverses known the
    two sides agree element by element, whatever the density. A set without
    inverses needs a symmetric density, and then agrees in expectation (Raj et al. 2017, section
    2.2.1).

    Parameters
    ----------
    preserved : bool
        Whether the action preserves the value exactly.
    templates : ndarray of shape (s, d)
        Used to measure how far a non-unitary action departs, for the warning.

    Raises
    ------
    ValueError
        For an unknown side, or templates asked for under a density that is not symmetric in a set
        without inverses.
    """
    if side not in ("auto", "templates", "points"):
        raise ValueError(f"side must be 'auto', 'templates' or 'points', got {side!r}")
    if elements is None:
        return "templates", None
    invertible = hasattr(group, "inverse")
    if side == "points" or (side == "auto" and not (preserved and (invertible or group.symmetric))):
        return "points", elements
    if not (invertible or group.symmetric):
        raise ValueError(
            f"{owner}: templates cannot be transformed, because the density of {group!r} is not "
            "symmetric (q(g) != q(g^-1)) and its inverses are not known; use side='points' or a "
            "symmetric density"
        )
    if not preserved:
        some = templates[: min(len(templates), 8)]
        norms = np.linalg.norm(some.reshape(len(some), -1), axis=1)
        moved = group.act(elements[: min(len(elements), 32)], some)
        change = np.linalg.norm(moved.reshape(*moved.shape[:2], -1), axis=2) / norms - 1
        warnings.warn(
            f"{owner}: the action of {type(group).__name__} is not unitary (it changes the norm of "
            f"a template by {np.abs(change).mean():.1%} on average), so transforming templates "
            "only approximates transforming points; side='points' is exact",
            UserWarning,
            stacklevel=3,
        )
    return "templates", group.inverse(elements) if invertible else elements


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
