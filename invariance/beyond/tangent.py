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
from ..kernels.base import as_points
from ..orbits import row_blocks
from ..orbits.numerics import near_origin
from ..orbits.way import in_tiles

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

#: Units in the last place of an image's norm that rounding leaves of a derivative, at most.
_ROUNDING = 100.0
#: Eigenvalues of the inner products of unit tangent vectors that count as zero.
_DEPENDENT = 1e-10

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

    Distances have the unit of the pixels: each image's tangent vectors are normalised before they
    are orthogonalised, so that the plane does not depend on the unit in which it is given.
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
        most = 1e-3 * float(np.finfo(X.dtype).max) ** 0.5  # gradients are squared
        if max(X.max(), -X.min()) > most:
            raise ParameterError(f"tangents takes pixels below {most:.0e}: scale the images")
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
        def prepared(which: int, start: int, stop: int) -> tuple[Array, Array, Array]:
            """Points and bases of their planes (1 + k, n, d), their products (1 + k, n), and units.

            Points are in their own units, powers of two of shape (n,).
            """
            images, _ = _in_units(sides[which][start:stop].astype(dtype, copy=False))
            points, units = _in_units(placed[which][start:stop].astype(dtype, copy=False))
            vectors = np.empty((1 + k, *points.shape), dtype)
            vectors[0] = points
            for few in row_blocks(len(images), 1, _AT_ONCE):
                vectors[1:, few] = self._bases(images[few], axes).swapaxes(0, 1)
            return vectors, np.einsum("knd,nd->kn", vectors, points).astype(float), units

        def tile(rows: slice, columns: slice) -> Array:
            parts = enumerate((rows, columns))
            one, two = (prepared(0 if Y is None else i, s.start, s.stop) for i, s in parts)
            squared, unit = _squared(*one, *two, self.ridge)
            if Y is None and rows == columns:
                np.fill_diagonal(squared, 0)
            distances = np.sqrt(np.maximum(squared, 0, out=squared), out=squared)
            distances *= unit
            return np.asarray(distances)

        given = tile, (len(sides[0]), len(sides[1])), (side, side), dtype
        return in_tiles(*given, symmetric=Y is None, n_jobs=self.n_jobs)

    def _points(self, X: ArrayLike) -> Array:
        check_parameters(self)
        X = as_points(X, type(self).__name__)
        check_pixels("TangentDistance", self.shape, X.shape[1])
        most = 0.1 * float(np.finfo(X.dtype).max) / X.shape[1] ** 0.5
        if max(X.max(), -X.min()) > most:
            raise ParameterError(f"TangentDistance takes pixels below {most:.0e}: scale the images")
        return X

    def _bases(self, X: Array, axes: Any) -> Array:
        """Orthonormal bases of the tangent planes, (n, k, d); missing directions are zero."""
        T = self._tangents(X, *axes)
        wide = T.astype(float, copy=False)
        products = np.einsum("nkd,nld->nkl", wide, wide)
        squares = np.einsum("nkk->nk", products)
        # A vector that is all rounding, such as the derivative of equal pixels, is no direction.
        seen = squares > self._rounding(X) ** 2
        inverse = np.where(seen, 1 / np.sqrt(np.where(seen, squares, 1)), 0)
        # Each vector has its own unit: what depends on the others is decided for unit vectors.
        values, vectors = np.linalg.eigh(products * inverse[:, :, None] * inverse[:, None, :])
        kept = values > _DEPENDENT
        scale = np.where(kept, 1 / np.sqrt(np.where(kept, values, 1)), 0)
        turns = scale[:, :, None] * vectors.swapaxes(1, 2) * inverse[:, None, :]
        return np.asarray(turns.astype(X.dtype) @ T)

    def _rounding(self, X: Array) -> Array:
        """Norms that rounding may give to each tangent vector of each image, shape (n, k)."""
        norms = np.linalg.norm(X.astype(float, copy=False), axis=1)[:, None]
        gradient = _ROUNDING * float(np.finfo(X.dtype).eps) * norms
        # Coordinates multiply gradients, and the squared gradient has the rounding squared.
        longest = max(self.shape) / 2
        bounds = {"horizontal": gradient, "vertical": gradient, "thickness": gradient**2}
        return np.hstack([bounds.get(name, longest * gradient) for name in self.vectors])


def _in_units(X: Array) -> tuple[Array, Array]:
    """Points (n, d) in units of their own, powers of two, and these units, shape (n,).

    Squares of what is left neither overflow nor vanish. Units are far apart, so that points of one
    kind nearly always share them.
    """
    apart, most = (64, 15) if X.dtype == np.float64 else (16, 7)
    _, exponents = np.frexp(np.abs(X).max(axis=1))
    exponents = apart * np.clip(np.rint(exponents / apart), -most, most).astype(np.intc)
    blank = ~X.any(axis=1)  # the smallest unit, beside which no other one vanishes
    if not exponents.any() and not blank.any():
        return X, np.ones(len(X))
    units = np.where(blank, np.finfo(float).tiny, np.ldexp(1.0, exponents))
    return np.ldexp(X, -exponents[:, None]), units


def _squared(
    one: Array,
    of_one: Array,
    one_units: Array,
    two: Array,
    of_two: Array,
    two_units: Array,
    ridge: float,
) -> tuple[Array, Any]:
    """Squared distances: |x - z|^2 less its projection on the span of both planes.

    They are in the unit of the larger point of each pair, squared, which is given as well.
    """
    (k, n, d), (q, m, _) = one.shape, two.shape
    inner = one.reshape(-1, d) @ two.reshape(-1, d).T
    inner = inner.reshape(k, n, q, m).swapaxes(1, 2)
    of_one, of_two = of_one[:, :, None], of_two[:, None, :]
    unit: Any = one_units[0]
    if np.ptp(one_units) or np.ptp(two_units) or one_units[0] != two_units[0]:
        unit = np.maximum(one_units[:, None], two_units)
        x_units, z_units = one_units[:, None] / unit, two_units / unit
        inner[0] *= x_units.astype(inner.dtype)
        inner[:, 0] *= z_units.astype(inner.dtype)
        of_one, of_two = of_one * x_units, of_two * z_units
        of_one[0] *= x_units
        of_two[0] *= z_units
    squared: Array = of_one[0] - 2 * inner[0, 0].astype(float) + of_two[0]
    # Coordinates of x - z in the plane of x, and what the plane of z adds to that: its part
    # orthogonal to the plane of x, whose inner products are those of the identity less `overlap`.
    u = of_one[1:].astype(inner.dtype) - inner[1:, 0]
    squared -= np.einsum("inm,inm->nm", u, u)
    cross = inner[1:, 1:]
    overlap = np.einsum("ijnm,ilnm->jlnm", cross, cross).astype(float)
    rest = inner[0, 1:] - of_two[1:] - np.einsum("inm,ijnm->jnm", u, cross)
    for j in range(q - 1):  # by elimination; a direction may lie in the other plane
        pivot = 1 + ridge - overlap[j, j]
        inverse = 1 / np.where(pivot > 1e-15, pivot, np.inf)
        squared -= rest[j] ** 2 * inverse
        factors = overlap[j, j + 1 :] * inverse
        rest[j + 1 :] += factors * rest[j]
        overlap[j + 1 :, j + 1 :] += factors[:, None] * overlap[j, j + 1 :]
    return squared, unit
