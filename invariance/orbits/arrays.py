"""Reductions over orbits for arrays of other libraries, by the same ways.

What is linear in the number of points (group actions, lifts, transforms of a single point) is done
by NumPy on the host; what is done for every pair runs in the library and on the device of the
arrays that are handed over. Tiles have the shape (a, m, b, n) of `reductions`, with second points
before first ones. Gradients pass through points that are not transformed, where means are taken of
a function of inner products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..array_api import is_foreign, like, namespace, on_host, wants_gradient
from .choose import offered
from .product import Product
from .reductions import Reduction
from .way import Problem, half_norms, row_blocks

if TYPE_CHECKING:
    from .engine import OrbitProducts

__all__ = ["reduce_arrays"]

Array = NDArray[Any]


def reduce_arrays(orbits: OrbitProducts, X: Any, reduction: Reduction) -> list[Any]:
    """`OrbitProducts.reduce` for points of another library; results are like X."""
    first, second = (X, orbits.Z) if orbits.side == "second" else (orbits.Z, X)
    xp = namespace(X)
    moved = on_host(second, orbits.owner) if is_foreign(second) else second
    fixed = first if is_foreign(first) else like(first, X)
    single = X.dtype == xp.float32 or orbits.precision == "single"
    dtype = np.dtype(np.float32 if single else np.float64)
    form = orbits._form(orbits._shape(fixed.shape[1]))
    own: Array | None = None
    if form is not None and (reduction.extreme or not form.linear):
        own = (on_host(first, orbits.owner) if is_foreign(first) else first).astype(dtype)
    elif form is not None and form.distance and dtype == np.float32:
        known = on_host(fixed.detach() if hasattr(fixed, "detach") else fixed)
        dtype = np.dtype(orbits._dtype(form, known, moved.astype(dtype)))
    moved = moved.astype(dtype, copy=False)
    probe = np.zeros((0, fixed.shape[1]), dtype) if own is None else own
    problem = orbits.problem(probe, reduction, moved, dtype)
    typed = xp.float32 if dtype == np.float32 else xp.float64
    pairs = _Pairs(xp, problem, xp.astype(fixed, typed), own, orbits, moved)
    parts = [xp.astype(part, X.dtype) for part in pairs.finished(reduction)]
    if orbits.side == "first":
        return parts
    return [xp.permute_dims(part, (1, 0, *range(2, part.ndim))) for part in parts]


class _Pairs:
    """Outputs (m, n, ...) of a reduction, block by block."""

    def __init__(
        self,
        xp: Any,
        problem: Problem,
        fixed: Any,
        own: Array | None,
        orbits: OrbitProducts,
        moved: Array,
    ):
        self.xp, self.problem, self.fixed, self.own = xp, problem, fixed, own
        self.orbits, self.moved = orbits, moved
        n, m = fixed.shape[0], len(moved)
        self.way: Any = None
        for way in offered(problem, n, m):
            plain = own is None and wants_gradient(fixed)
            if hasattr(way, "outputs_arrays") and not (plain and way.on_host):
                self.way = way
                break
        if self.way is None:
            self.way = Product(problem)
        if self.way.on_host and self.own is None:
            self.own = on_host(fixed, orbits.owner)

    def finished(self, wanted: Reduction) -> list[Any]:
        """The kernel's values, where only extremes of inner products are known so far."""
        xp, problem, form = self.xp, self.problem, self.problem.form
        outputs = self.reduced()
        if not wanted.extreme or problem.evaluate is not None:
            return outputs
        halves = 0.0
        if form.distance:
            assert self.own is not None
            halves = xp.astype(like(half_norms(self.own.astype(float)), self.fixed), xp.float64)
        values = [form.value(xp.astype(part, xp.float64) - halves, xp) for part in outputs]
        if form.turning_point is None:
            return values[: wanted.n_outputs]
        high, low = values
        n_reversed = int(xp.sum(xp.astype(low > high, xp.int64)))
        self.orbits.warn_reversed(n_reversed, high.shape[0] * high.shape[1])
        return [xp.maximum(high, low)]

    def reduced(self) -> list[Any]:
        xp, problem, way = self.xp, self.problem, self.way
        terms = None
        if problem.first_terms:
            terms = self.orbits._first_terms_arrays(xp, problem, self.fixed)
        budget = problem.block_bytes / 2
        n, m = self.fixed.shape[0], len(self.moved)
        width, step = way.tile_arrays(n, m, budget)
        rows: list[list[Any]] = [[] for _ in range(problem.reduction.n_outputs)]
        for columns in row_blocks(m, 1, width):
            offsets = self.orbits._offsets(columns)
            prepared = list(way.prepare_arrays(xp, self.fixed, self.moved[columns], offsets))
            found: list[list[Any]] = [[] for _ in rows]
            for some in row_blocks(n, 1, step):
                block = self.fixed[some, :]
                own = None if self.own is None else self.own[some]
                added = None if terms is None else terms[some]
                parts = None
                for one in prepared:
                    now = way.outputs_arrays(xp, block, own, one, added)
                    parts = now if parts is None else self._merged(parts, now)
                for out, part in zip(found, parts or [], strict=True):
                    out.append(part)
            for row, blocks in zip(rows, found, strict=True):
                row.append(blocks[0] if len(blocks) == 1 else xp.concat(blocks, axis=1))
        return [row[0] if len(row) == 1 else xp.concat(row, axis=0) for row in rows]

    def _merged(self, one: list[Any], two: list[Any]) -> list[Any]:
        merge = self.problem.reduction.merge_arrays
        return [merge(self.xp, a, b, i) for i, (a, b) in enumerate(zip(one, two, strict=True))]
