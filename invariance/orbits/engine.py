"""The engine: transform the templates, multiply, reduce, one block after another.

`reduce_in_blocks` is the only loop over points. It cuts the work three times, from the outside in:

- templates into *pieces*, columns of the result, so that prepared ones fit in memory;
- elements of the group into *parts*, as `Algorithm.prepare` yields them; their results are merged;
- points into *blocks*, rows of the result, which threads share.

What happens in a block is an `Algorithm`'s affair: `product.py` has the plain one, `ways` has
others that are faster for some groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from .blocks import Workers, part_of, row_blocks
from .numerics import largest_norm
from .reductions import Reduction
from .registry import Algorithm, Prepared

Array = NDArray[Any]

#: Fewer operations, about 20 ms, are not worth threads.
THREADS_FROM = 4e8
#: Number of points in a block for which products run at full speed, and for which two threads pay.
_ROWS = 256
_ROWS_FOR_TWO = 96


def reduce_in_blocks(
    algorithm: Algorithm,
    X: Array,
    templates: Array,
    reduction: Reduction,
    results: list[Array],
    *,
    pool: Workers,
    offsets: Array | None = None,
    row_offsets: Array | None = None,
    prepared: list[Prepared] | None = None,
    symmetric: bool = False,
) -> None:
    """Transform the templates, multiply, reduce: a piece of templates and a block of X at a time.

    Parameters
    ----------
    algorithm : Algorithm for the problem, which knows the group and the base kernel
    X, templates : ndarrays of shape (n, d) and (m, ...); the templates are transformed
    reduction : Reduction of what the algorithm computes (`Reduction.to_follow`)
    results : list of arrays of shape (n, m, ...), one for each output, which receive the values
    pool : Workers
    offsets, row_offsets : ndarrays or None
        Added to the inner products with each template, and with each point.
    prepared : list or None, all templates as `algorithm` needs them, if they are prepared already
    symmetric : bool
        Whether values below the diagonal may be left out; `OrbitProducts` mirrors the others.
    """
    n = len(X)
    m = len(templates)
    is_large = deserves_threads(algorithm.operations(n, m))
    # A number for each point, such as half its squared norm, or None.
    row_terms = algorithm.problem.row_terms(X, row_offsets)
    n_pieces = 1
    order = None
    if prepared is None and symmetric:
        n_pieces = triangle_pieces(algorithm, n, m)
    elif prepared is None:
        n_pieces = algorithm.pieces(m)
        order = algorithm.row_order(X)

    for columns in row_blocks(m, 1, -(-m // n_pieces)):
        n_rows = n
        if symmetric:
            n_rows = columns.stop
        blocks = _blocks_of_rows(algorithm, n_rows, columns.stop - columns.start, is_large, order)
        parts: Iterable[Prepared] = prepared or algorithm.prepare(
            templates[columns], part_of(offsets, columns), pool
        )
        is_first_part = True
        for part in parts:
            block_of_results = _BlockOfResults(
                algorithm, X, row_terms, reduction, part, results, columns, is_first_part
            )
            list(pool.map(block_of_results.compute, blocks))
            is_first_part = False
            del part, block_of_results  # Before the next templates are prepared.


@dataclass
class _BlockOfResults:
    """Prepared templates, and the place of their results."""

    algorithm: Algorithm
    X: Array
    row_terms: Array | None
    reduction: Reduction
    part: Prepared
    results: list[Array]
    columns: slice
    #: Whether no other elements of the group have been reduced before.
    is_first_part: bool

    def compute(self, rows: Any) -> None:
        """Compute and store the results for some points."""
        X = self.X[rows, :]
        row_terms = part_of(self.row_terms, rows)
        reduction = self.reduction
        if reduction.may_shorten:
            reduction = reduction.within(largest_norm(X) * self.part.largest_norm)
        values = self.algorithm.compute(X, self.part.content, row_terms, reduction)
        # A shortened reduction returns no smallest values: the largest ones take their place.
        values += values[-1:] * (len(self.results) - len(values))
        for i, (result, value) in enumerate(zip(self.results, values, strict=True)):
            if not self.is_first_part:
                value = self.reduction.merge(result[rows, self.columns], value, i)
            result[rows, self.columns] = value


def deserves_threads(operations: float) -> bool:
    """Whether so many operations are worth threads."""
    return operations >= THREADS_FROM


def triangle_pieces(algorithm: Algorithm, n: int, m: int) -> int:
    """Number of pieces of templates for a symmetric matrix, whose lower triangle is left out."""
    if not deserves_threads(algorithm.operations(n, m)):
        return algorithm.pieces(m)
    return max(algorithm.pieces(m), min(algorithm.triangle_pieces, m // algorithm.triangle_width))


def _blocks_of_rows(
    algorithm: Algorithm, n_rows: int, width: int, is_large: bool, order: Array | None
) -> list[Any]:
    """Cut points into blocks, the same for any number of threads, so that rounding is the same."""
    step = min(algorithm.row_step(width), max(_ROWS, -(-n_rows // 8)))
    n_blocks = -(-n_rows // step)
    if is_large:
        n_blocks = max(n_blocks, min(2, n_rows // _ROWS_FOR_TWO))
    blocks = list(row_blocks(n_rows, 1, -(-n_rows // n_blocks)))
    if order is None:
        return blocks
    return [order[block] for block in blocks]
