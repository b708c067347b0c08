"""`Plan`: blocks of first points against pieces of the second, whatever the way."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..lift import Lift

__all__ = ["Plan", "bounding_boxes", "largest_norm"]


@dataclass
class Plan:
    """Extreme inner products of lifted points over a set of transformations of the second.

    What is blank in all first points of a block need not be multiplied. So they are taken in the
    order of their bounding boxes, first along the axis by which a plan skips (`skips`).

    Attributes
    ----------
    lift : Lift
    shape : tuple (height, width, channels)
    dtype : dtype
        Of the inner products.
    block_bytes : int
    n_jobs : int or None
        Threads over blocks of first points.
    boxes : ndarray
        `bounding_boxes` of the first points.
    skips : {0, 1}
        Axis of the images along which blank rows or columns are left out; each plan chooses.
    """

    lift: Lift
    shape: tuple[int, int, int]
    dtype: np.dtype
    block_bytes: int
    n_jobs: int | None
    boxes: NDArray

    def shown(self) -> NDArray:
        """Mean numbers of rows and of columns that are not blank."""
        return (self.boxes[:, :, 1] - self.boxes[:, :, 0]).mean(axis=0)

    def order(self) -> NDArray:
        """The first points by their bounding boxes."""
        axis = self.skips
        keys = [self.boxes[:, a, end] for a in (1 - axis, axis) for end in (1, 0)]
        return np.lexsort(keys)

    def images(self, X: NDArray) -> NDArray:
        return X.reshape(len(X), *self.shape)

    def extremes(self, X: NDArray, Y: NDArray, symmetric: bool) -> tuple[NDArray | None, NDArray]:
        """Smallest (None where it cannot matter) and largest cores, shape (n, m)."""
        high = np.full((len(X), len(Y)), -np.inf, self.dtype)
        low = None if self.lift.monotone else np.full((len(X), len(Y)), np.inf, self.dtype)
        needed = False
        threads = effective_n_jobs(self.n_jobs)
        # Whole tiles under the diagonal are skipped where the mirror image will do.
        pieces = max(self.pieces(Y), min(8, len(Y) // 64) if symmetric else 1, 1)
        pieces = min(pieces, len(Y))
        bounds = np.linspace(0, len(Y), pieces + 1).astype(int)
        order = np.arange(len(X)) if symmetric else self.order()
        with (
            threadpool_limits(1 if threads > 1 else None, "blas"),
            Parallel(threads, prefer="threads") as pool,
        ):
            for start, stop in pairwise(bounds):
                rows = stop if symmetric else len(X)
                # The same blocks whatever the number of threads, for the same rounding.
                step = min(self.row_step(stop - start), max(32, -(-rows // 16)))
                blocks = [order[a : min(a + step, rows)] for a in range(0, rows, step)]
                for second in self.seconds(Y[start:stop], pool):
                    parts = pool(delayed(self.block)(X[b], second) for b in blocks)
                    for b, (smallest, largest) in zip(blocks, parts, strict=True):
                        high[b, start:stop] = np.maximum(high[b, start:stop], largest)
                        if smallest is not None:
                            needed = True
                            low[b, start:stop] = np.minimum(low[b, start:stop], smallest)
        if needed:
            # Blocks whose points are too short to reach the turning point have no minimum.
            low = np.where(np.isinf(low), high, low)
        if symmetric:
            # The lower triangle is the caller's to copy; any number will do until then.
            i, j = np.tril_indices(len(X), -1)
            for matrix in (high, low):
                if matrix is not None:
                    matrix[i, j] = matrix[j, i]
        return (low if needed else None), high

    def lowest(self, first: NDArray, norm: float) -> bool:
        """Whether inner products of these points may lie below the turning point."""
        if self.lift.monotone:
            return False
        own = np.sqrt(np.einsum("nd,nd->n", first, first).max(initial=0.0))
        return -own * norm < self.lift.turning_point


def bounding_boxes(images: NDArray) -> NDArray:
    """For rows, then columns: the first that is not blank, and the one after the last.

    >>> from invariance.kernels.plans.base import bounding_boxes
    >>> image = np.zeros((1, 3, 5, 1))
    >>> image[0, 1, 1:4] = 1
    >>> bounding_boxes(image)[0].tolist()
    [[1, 2], [1, 4]]
    """
    shown = images.any(axis=3)
    boxes = np.empty((len(images), 2, 2), dtype=np.intp)
    for axis in (0, 1):
        along = shown.any(axis=2 - axis)
        boxes[:, axis, 0] = along.argmax(axis=1)
        boxes[:, axis, 1] = along.shape[1] - along[:, ::-1].argmax(axis=1)
    return boxes


def largest_norm(points: NDArray) -> float:
    """The largest Euclidean norm of the rows, zero for none."""
    return float(np.sqrt(np.einsum("nd,nd->n", points, points).max(initial=0.0)))
