"""Lifted inner products in other array libraries: their products and extremes over transformations.

Lifts and group actions are NumPy's; what is done for every pair of points runs on the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..array_api import like
from ..groups import Transformations
from .base import row_blocks
from .lift import Lift

__all__ = ["lifted_products", "orbit_extremes", "product_extremes", "shift_extremes"]


def lifted_products(
    xp: Any, X: Any, first: NDArray, second: NDArray, lift: Lift, block_bytes: int
) -> Any:
    """<a(x), b(z)> for images (n, height, width, channels) and (m, ...), shape (n, m), like X."""
    per_point = first.itemsize * lift.n_channels * first.shape[1] * first.shape[2]
    columns = []
    for some in row_blocks(len(second), per_point, block_bytes // 2):
        lifted = lift.second(second[some])
        lifted = like(lifted.reshape(len(lifted), -1).T, X)
        rows = []
        for block in row_blocks(len(first), per_point, block_bytes // 2):
            own = lift.first(first[block])
            rows.append(like(own.reshape(len(own), -1), X) @ lifted)
        columns.append(xp.concat(rows, axis=0))
    return xp.concat(columns, axis=1)


def product_extremes(core: Any, n_elements: int, xp: Any) -> tuple[Any, Any]:
    """Smallest and largest of cores (n, n_elements m) over the elements, each (n, m)."""
    core = xp.reshape(core, (core.shape[0], n_elements, -1))
    return xp.min(core, axis=1), xp.max(core, axis=1)


def orbit_extremes(
    xp: Any,
    X: Any,
    first: NDArray,
    second: NDArray,
    plan: Any,
    group: Transformations,
    elements: NDArray,
) -> tuple[Any, Any]:
    """Extremes of <a(x), b(g z)> - c(g z) over the elements, shape (n, m) each, like X.

    Parameters
    ----------
    X : array
        Says which library, device and precision.
    first, second : ndarray of shape (n, d) and (m, d)
    plan : object with ``lift``, ``images`` and ``block_bytes``
    group : Transformations
    elements : ndarray of shape (r, ...)
    """
    lift = plan.lift
    point_bytes = first.itemsize * lift.n_channels * plan.images(first[:1]).size
    own = [
        like(lift.first(plan.images(first[rows])).reshape(rows.stop - rows.start, -1), X)
        for rows in row_blocks(len(first), point_bytes, plan.block_bytes // 4)
    ]
    parts = []
    for columns in row_blocks(len(second), point_bytes, plan.block_bytes // 4):
        width = columns.stop - columns.start
        per_element = (point_bytes + 2 * first.itemsize * len(first)) * width
        low = high = None
        for some in row_blocks(len(elements), per_element, plan.block_bytes // 4):
            moved = group.act(elements[some], second[columns])
            n_elements, moved = len(moved), moved.reshape(-1, second.shape[1])
            lifted = like(lift.second(plan.images(moved)).reshape(len(moved), -1).T, X)
            halves = like(np.einsum("nd,nd->n", moved, moved) / 2, X) if lift.halved_norm else 0
            cores = [product_extremes(rows @ lifted - halves, n_elements, xp) for rows in own]
            smallest, largest = (xp.concat(part, axis=0) for part in zip(*cores, strict=True))
            low = smallest if low is None else xp.minimum(low, smallest)
            high = largest if high is None else xp.maximum(high, largest)
        parts.append((low, high))
    low, high = (xp.concat(part, axis=1) for part in zip(*parts, strict=True))
    return low, high


def shift_extremes(
    xp: Any,
    X: Any,
    first: NDArray,
    second: NDArray,
    shifts: NDArray,
    halves: NDArray | None,
    block_bytes: int,
) -> tuple[Any, Any]:
    r"""Extremes of :math:`\langle a, T b\rangle - c_T(b)` over cyclic shifts T, shape (n, m) each.

    All shifts of a pair come from one inverse Fourier transform of the product of its spectra,
    :math:`\langle a, T_s b\rangle = \sum_p a_p b_{p - s}`.

    Parameters
    ----------
    X : array
        Says which library, device and precision.
    first, second : ndarray of shape (n, channels, height, width) and (m, ...)
    shifts : ndarray of int, shape (s, 2)
        (down, right).
    halves : ndarray of shape (s, m) or None
        The c of every shift.
    block_bytes : int
        Bound on the arrays of a tile of pairs.
    """
    height, width = first.shape[2:]
    places = (shifts[:, 0] % height) * width + shifts[:, 1] % width
    wanted = xp.asarray(places, device=X.device)
    # All shifts of a pair and the spectra of a point, and copies of them.
    pair_bytes = 8 * first.itemsize * height * width
    points = max(1, int(block_bytes // (pair_bytes * first.shape[1])))
    pairs = max(1, int(block_bytes // pair_bytes))
    some_columns = min(len(second), points, max(1, int(np.sqrt(pairs))))
    some_rows = min(points, max(1, pairs // some_columns))
    low, high = [], []
    for columns in row_blocks(len(second), 1, some_columns):
        spectra = xp.permute_dims(xp.fft.rfftn(like(second[columns], X), axes=(2, 3)), (2, 3, 1, 0))
        offsets = None if halves is None else like(halves[:, columns], X)[:, None, :]
        lows, highs = [], []
        for block in row_blocks(len(first), 1, some_rows):
            own = xp.fft.rfftn(like(first[block], X), axes=(2, 3))
            product = xp.permute_dims(own, (2, 3, 0, 1)) @ xp.conj(spectra)
            every = xp.fft.irfftn(product, s=(height, width), axes=(0, 1))
            every = xp.reshape(every, (height * width, *every.shape[2:]))
            every = xp.take(every, wanted, axis=0)
            if offsets is not None:
                every = every - offsets
            lows.append(xp.min(every, axis=0))
            highs.append(xp.max(every, axis=0))
        low.append(xp.concat(lows, axis=0))
        high.append(xp.concat(highs, axis=0))
    return xp.concat(low, axis=1), xp.concat(high, axis=1)
