"""Reductions over orbits for arrays of other libraries, by the same ways.

What is linear in the number of points (group actions, lifts, transforms of a single point) is done
by NumPy on the host; what is done for every pair runs in the library and on the device of the
arrays that are handed over. Gradients pass through points that are not transformed, where the
kernel's form is linear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..array_api import is_foreign, like, namespace, on_host
from .choose import offered
from .product import Product
from .reductions import Reduction
from .way import Problem, Way, row_blocks

if TYPE_CHECKING:
    from .engine import OrbitProducts

__all__ = ["reduce_arrays"]

Array = NDArray[Any]


def reduce_arrays(orbits: OrbitProducts, X: Any, reduction: Reduction) -> list[Any]:
    """`OrbitProducts.reduce` for points of another library; results are like X."""
    owner = "OrbitProducts" if orbits.base is None else type(orbits.base).__name__
    xp = namespace(X)
    if orbits.side == "second":
        first, second = X, orbits.Z
    else:
        first, second = orbits.Z, X
    moved = on_host(second, owner) if is_foreign(second) else second
    shape = orbits._shape(first.shape[1])
    form = orbits._form(shape)
    linear = form is not None and form.linear
    own = None
    if not linear or orbits.precision == "single":
        own = on_host(first, owner) if is_foreign(first) else first
    if not is_foreign(first):
        first = like(first, X)
    final = X.dtype
    dtype = np.float32 if final == xp.float32 or orbits.precision == "single" else np.float64
    probe = np.empty((0, first.shape[1]), dtype) if own is None else own.astype(dtype)
    problem = orbits.problem(probe, reduction, moved[:0].astype(dtype), dtype, blank=True)
    if problem.evaluate is not None:
        return _evaluated(orbits, problem, xp, first, moved.astype(dtype), reduction)
    inner = problem.reduction
    n, m = first.shape[0], len(moved)
    way = next(
        (way for way in offered(problem, n, m) if hasattr(way, "values_arrays")), None
    ) or Product(problem)
    moved = moved.astype(dtype, copy=False)
    typed = xp.float32 if dtype == np.float32 else xp.float64
    first = xp.astype(first, typed)
    budget = problem.block_bytes / 4
    columns_of: list[list[Any]] = [[] for _ in range(inner.n_outputs)]
    width = _width(way, n, m, budget)
    for columns in row_blocks(m, 1, width):
        offsets = None if orbits.offsets is None else orbits.offsets[columns]
        kept = way.prepared_arrays(xp, first, moved[columns], offsets)
        rows_of: list[list[Any]] = [[] for _ in range(inner.n_outputs)]
        for rows in row_blocks(n, 1, way.rows_arrays(columns.stop - columns.start, budget)):
            block = way.own_arrays(xp, first[rows, :], None if own is None else own[rows])
            parts = None
            for values, weights in way.values_arrays(xp, block, kept):
                now = inner.of_arrays(xp, values, weights, problem.form)
                parts = (
                    now
                    if parts is None
                    else [inner.merge_arrays(xp, a, b, i) for i, (a, b) in enumerate(zip(parts, now, strict=True))]
                )
            for out, part in zip(rows_of, parts or [], strict=True):
                out.append(xp.reshape(part, (rows.stop - rows.start, -1, *inner.tail)))
        for out, row in zip(columns_of, rows_of, strict=True):
            out.append(xp.concat(row, axis=0))
    results = [xp.concat(out, axis=1) for out in columns_of]
