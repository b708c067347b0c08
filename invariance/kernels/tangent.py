"""`TangentDistance`: distance between the tangent planes of two images' transformations."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage
from sklearn.base import BaseEstimator

from ..core import parameters as kinds
from ..core.arrays import check_pixels
from ..core.config import block_bytes_of
from ..core.parameters import ParameterError, check_parameters, stores_parameters
from ..orbits import row_blocks
from ..orbits.numerics import near_origin
from ..orbits.way import in_tiles
from .base import as_points

Array = NDArray[Any]

#: Infinitesimal transformations, by name, of gradients (along columns and rows) and coordinates.
TANGENTS = {
    "horizontal": lambda gx, gy, x, y: gx,
    "vertical": lambda gx, gy, x, y: gy,
    "rotation": lambda gx, gy, x, y: y * gx - x * gy,
    "scaling": lambda gx, gy, x, y: x * gx + y * gy,
    "axis": lambda gx, gy, x, y: x * gx - y * gy,
    "diagonal": lambda gx, gy, x, y: y * gx + x * gy,
    "thickness": lambda gx, gy, x, y: gx**2 + gy**2,
}

#: Points of a side of a tile, and those whose tangents are computed together: arrays stay in cache.
_TILE, _AT_ONCE = 128, 32

_SHAPE = kinds.Kind(
    "(height, width), at least two pixels each as images are differentiated both ways",
    lambda shape: kinds.Shape(2).accepts(shape) and min(shape) > 1,
)


@stores_parameters
class TangentDistance(BaseEstimator):
    r"""Least distance between images along their tangent vectors.

    With t_i(x) the derivatives of x under small transformations (Simard et al. 1998),

    .. math:: d(x, z)^2 = \min_{a, b} \Big\lVert x + \sum_i a_i t_i(x)
              - z - \sum_i b_i t_i(z) \Big\rVert^2

    A callable like a kernel: ``TangentDistance(...)(X, Z)`` is a matrix of distances for
    ``metric="precomputed"``.

    Parameters
    ----------
    shape : tuple (height, width)
    vectors : sequence of str
        Of "horizontal", "vertical" (translations), "rotation", "scaling", "axis", "diagonal" (the
        two hyperbolic deformations) and "thickness" (the squared gradient).
    smoothing : float
        Standard deviation, in pixels, of the Gaussian under which images are differentiated; zero
        takes central differences of the raw pixels.
    ridge : float
        Added to the (dimensionless) normal equations, against planes that are all but parallel.
    block_bytes, n_jobs : as in `Average`

    Examples
    --------
    >>> bump = np.exp(-((np.arange(16) - 7.0) ** 2) / 8)
    >>> x, z = np.outer(bump, bump).reshape(1, -1), np.outer(bump, np.roll(bump, 1)).reshape(1, -1)
    >>> float(np.linalg.norm(x - z).round(2)), TangentDistance((16, 16))(x, z).round(2)
    (1.23, array([[0.16]]))
    """

    shape: Annotated[tuple[int, int], _SHAPE]
    vectors: Annotated[tuple[str, ...], kinds.Each(kinds.OneOf(*TANGENTS))] = (
        "horizontal",
        "vertical",
        "thickness",
    )
    _: KW_ONLY
    smoothing: Annotated[float, kinds.Number(0)] = 0.9
    ridge: Annotated[float, kinds.Number(0)] = 1e-6
    block_bytes: kinds.BlockBytes = None
    n_jobs: kinds.Jobs = None

    def tangents(self, X: ArrayLike) -> Array:
        """Tangent vectors of each image, shape (n, k, d)."""
        X = self._points(X)
        return self._tangents(X, *self._axes(X.dtype))

    def _axes(self, dtype: Any) -> tuple[Any, Any]:
        """For each axis: matrices that smooth, that smooth and differentiate, and coordinates."""
        axes = []
        for side in self.shape:
            smooth = np.eye(side)
            if self.smoothing:
                smooth = ndimage.gaussian_filter1d(smooth, self.smoothing, axis=0, mode="constant")
            parts: Any = smooth, np.gradient(smooth, axis=0), np.arange(side) - (side - 1) / 2
            axes.append([part.astype(dtype) for part in parts])
        return axes[0], axes[1]

    def _tangents(self, X: Array, down: Any, right: Any) -> Array:
        images = X.reshape(-1, *self.shape)
        gx, gy = down[0] @ (images @ right[1].T), down[1] @ (images @ right[0].T)
        y, x = np.meshgrid(down[2], right[2], indexing="ij")
        vectors = [TANGENTS[name](gx, gy, x, y) for name in self.vectors]
        return np.stack(vectors, axis=1).reshape(len(X), len(vectors), -1)

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        """Distances of shape (n, m) between X of shape (n, d) and Y of shape (m, d), default X."""
        X = self._points(X)
        sides = (X, X if Y is None else self._points(Y))
        # Distances are computed from inner products, tangents from the points themselves.
        placed = near_origin(*sides)
        dtype = np.result_type(*sides)
        axes = self._axes(dtype)
        k, budget = len(self.vectors), block_bytes_of(self.block_bytes) / 4
        # Bytes of a point that are kept, and while it is prepared; and of a pair of points.
        kept = dtype.itemsize * X.shape[1] * (k + 1)
        point, pair = 8 * X.shape[1] * (4 * k + 8), 24 * (k + 2) ** 2
        side = max(1, int(min(_TILE, (budget / pair) ** 0.5, budget / point)))

        @lru_cache(max(2, int(budget / kept / side)))
        def prepared(which: int, start: int, stop: int) -> tuple[Array, Array]:
            """Points and bases of their planes (1 + k, n, d), and their products (1 + k, n)."""
            some = sides[which][start:stop].astype(dtype, copy=False)
            vectors = np.empty((1 + k, *some.shape), dtype)
            vectors[0] = placed[which][start:stop]
            for few in row_blocks(len(some), 1, _AT_ONCE):
                vectors[1:, few] = self._bases(some[few], axes).swapaxes(0, 1)
            return vectors, np.einsum("knd,nd->kn", vectors, vectors[0]).astype(float)

        def tile(rows: slice, columns: slice) -> Array:
            parts = enumerate((rows, columns))
            one, two = (prepared(0 if Y is None else i, s.start, s.stop) for i, s in parts)
            squared = _squared(*one, *two, self.ridge)
            if Y is None and rows == columns:
                np.fill_diagonal(squared, 0)
            return np.sqrt(np.maximum(squared, 0, out=squared), out=squared)

        given = tile, (len(sides[0]), len(sides[1])), (side, side), dtype
        return in_tiles(*given, symmetric=Y is None, n_jobs=self.n_jobs)

    def _points(self, X: ArrayLike) -> Array:
        check_parameters(self)
        X = as_points(X, type(self).__name__)
        check_pixels("TangentDistance", self.shape, X.shape[1])
        most = 1e-3 * float(np.finfo(X.dtype).max) ** 0.25  # squared gradients are squared again
        if max(X.max(), -X.min()) > most:
            raise ParameterError(f"TangentDistance takes pixels below {most:.0e}: scale the images")
        return X

    def _bases(self, X: Array, axes: Any) -> Array:
        """Orthonormal bases of the tangent planes, (n, k, d); missing directions are zero."""
        T = self._tangents(X, *axes)
        wide = T.astype(float, copy=False)
        values, vectors = np.linalg.eigh(np.einsum("nkd,nld->nkl", wide, wide))
        kept = values > 1e-10 * np.maximum(values[:, -1:], np.finfo(float).tiny)
        scale = np.where(kept, 1 / np.sqrt(np.where(kept, values, 1)), 0)
        return np.asarray((scale[:, :, None] * vectors.swapaxes(1, 2)).astype(X.dtype) @ T)


def _squared(one: Array, of_one: Array, two: Array, of_two: Array, ridge: float) -> Array:
    """Squared distances: |x - z|^2 less its projection on the span of both planes."""
    (k, n, d), (q, m, _) = one.shape, two.shape
    inner = one.reshape(-1, d) @ two.reshape(-1, d).T
    inner = inner.reshape(k, n, q, m).swapaxes(1, 2)
    squared: Array = of_one[0][:, None] - 2 * inner[0, 0].astype(float) + of_two[0]
    # Coordinates of x - z in the plane of x, and what the plane of z adds to that: its part
    # orthogonal to the plane of x, whose inner products are those of the identity less `overlap`.
    u = of_one[1:, :, None].astype(inner.dtype) - inner[1:, 0]
    squared -= np.einsum("inm,inm->nm", u, u)
    cross = inner[1:, 1:]
    overlap = np.einsum("ijnm,ilnm->jlnm", cross, cross).astype(float)
    rest = inner[0, 1:] - of_two[1:, None] - np.einsum("inm,ijnm->jnm", u, cross)
    for j in range(q - 1):  # by elimination; a direction may lie in the other plane
        pivot = 1 + ridge - overlap[j, j]
        inverse = 1 / np.where(pivot > 1e-15, pivot, np.inf)
        squared -= rest[j] ** 2 * inverse
        factors = overlap[j, j + 1 :] * inverse
        rest[j + 1 :] += factors * rest[j]
        overlap[j + 1 :, j + 1 :] += factors[:, None] * overlap[j, j + 1 :]
    return squared
