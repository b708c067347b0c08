"""`TangentDistance`: distance between the tangent planes of two images' transformations."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
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
from ..orbits.blocks import in_tiles
from ..orbits.numerics import near_origin

Array = NDArray[Any]

#: Infinitesimal transformations by name: functions of gradients (gx, gy) and coordinates (x, y).
TANGENTS = {
    "horizontal": lambda gx, gy, x, y: gx,
    "vertical": lambda gx, gy, x, y: gy,
    "rotation": lambda gx, gy, x, y: y * gx - x * gy,
    "scaling": lambda gx, gy, x, y: x * gx + y * gy,
    "axis": lambda gx, gy, x, y: x * gx - y * gy,
    "diagonal": lambda gx, gy, x, y: y * gx + x * gy,
    "thickness": lambda gx, gy, x, y: gx**2 + gy**2,
}

#: Largest number of points per side of a tile.
_TILE = 128
#: Number of images whose tangents are computed together, so that arrays stay in cache.
_IMAGES_AT_ONCE = 32

#: Bound on the rounding of a derivative, in units in the last place of an image's norm.
_ROUNDING = 100.0
#: Smaller eigenvalues of the Gram matrix of unit tangent vectors count as zero.
_DEPENDENT = 1e-10

_SHAPE = kinds.Kind(
    "(height, width), at least two pixels each as images are differentiated both ways",
    lambda shape: kinds.Shape(2).accepts(shape) and min(shape) > 1,
)


@dataclass(frozen=True)
class _Axis:
    """Operations along one axis of images."""

    smooth: Array  #: matrix that smooths
    differentiate: Array  #: matrix that smooths and differentiates
    coordinates: Array  #: of the pixels, zero in the middle


@lru_cache(16)
def _axis(side: int, smoothing: float, dtype: Any) -> _Axis:
    """Return the operations along an axis of so many pixels."""
    smooth = np.eye(side)
    if smoothing:
        smooth = ndimage.gaussian_filter1d(smooth, smoothing, axis=0, mode="constant")
    differentiate = np.asarray(np.gradient(smooth, axis=0))
    coordinates = np.arange(side) - (side - 1) / 2
    return _Axis(smooth.astype(dtype), differentiate.astype(dtype), coordinates.astype(dtype))


@dataclass(frozen=True)
class _Planes:
    """Points with orthonormal bases of their tangent planes."""

    vectors: Array  #: points and bases in the points' own units, shape (1 + k, n, d)
    products: Array  #: inner products of the points with them, shape (1 + k, n)
    units: Array  #: powers of two, shape (n,)


@stores_parameters
class TangentDistance(BaseEstimator):
    r"""Least distance between images along their tangent vectors.

    With t_i(x) the derivatives of x under small transformations (Simard et al. 1998),

    .. math:: d(x, z)^2 = \min_{a, b} \Big\lVert x + \sum_i a_i t_i(x)
              - z - \sum_i b_i t_i(z) \Big\rVert^2

    Instances are called like kernels: ``TangentDistance(...)(X, Z)`` is a matrix of distances for
    ``metric="precomputed"``.

    Parameters
    ----------
    shape : tuple (height, width)
    vectors : sequence of str
        Some of "horizontal", "vertical" (translations), "rotation", "scaling", "axis", "diagonal"
        (the two hyperbolic deformations) and "thickness" (the squared gradient).
    smoothing : float
        Standard deviation, in pixels, of the Gaussian that smooths images before they are
        differentiated; zero uses central differences of the raw pixels.
    ridge : float
        Number added to the (dimensionless) normal equations, for planes that are nearly parallel.
    block_bytes, n_jobs : as in `Average`

    Notes
    -----
    Distances have the unit of the pixels: each image's tangent vectors are normalized before they
    are orthogonalized, so that the plane does not depend on the unit of the pixels.

    Examples
    --------
    >>> bump = np.exp(-((np.arange(16) - 7.0) ** 2) / 8)
    >>> x = np.outer(bump, bump).reshape(1, -1)
    >>> z = np.outer(bump, np.roll(bump, 1)).reshape(1, -1)
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
        """Return the tangent vectors of each image, shape (n, k, d)."""
        X = self._points(X)
        limit = 1e-3 * float(np.finfo(X.dtype).max) ** 0.5  # gradients are squared
        if max(X.max(), -X.min()) > limit:
            raise ParameterError(f"tangents takes pixels below {limit:.0e}: scale the images")
        return self._tangents(X, *self._axes(X.dtype))

    def _axes(self, dtype: Any) -> tuple[_Axis, _Axis]:
        """Return the operations along columns and along rows of images."""
        height, width = self.shape
        smoothing = float(self.smoothing)
        return _axis(int(height), smoothing, dtype), _axis(int(width), smoothing, dtype)

    def _tangents(self, X: Array, down: _Axis, right: _Axis) -> Array:
        images = X.reshape(-1, *self.shape)
        gx = down.smooth @ (images @ right.differentiate.T)
        gy = down.differentiate @ (images @ right.smooth.T)
        y = down.coordinates[:, None]
        x = right.coordinates
        vectors = [TANGENTS[name](gx, gy, x, y) for name in self.vectors]
        return np.stack(vectors, axis=1).reshape(len(X), len(vectors), -1)

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        """Return distances (n, m) between X of shape (n, d) and Y of shape (m, d), default X."""
        X = self._points(X)
        symmetric = Y is None
        points = (X, X if Y is None else self._points(Y))
        # Distances are computed from inner products, which are most accurate near the origin.
        # Tangents are computed from the points themselves.
        centred = near_origin(*points)
        dtype = np.result_type(*points)
        axes = self._axes(dtype)
        side, n_prepared = self._tile_sizes(X.shape[1], dtype)

        @lru_cache(n_prepared)
        def prepared(argument: int, start: int, stop: int) -> _Planes:
            """Return the planes of a block of X (argument 0) or Y (argument 1)."""
            images = points[argument][start:stop].astype(dtype, copy=False)
            block = centred[argument][start:stop].astype(dtype, copy=False)
            return self._planes(images, block, axes)

        def tile(rows: slice, columns: slice) -> Array:
            is_on_diagonal = symmetric and rows == columns
            x_planes = prepared(0, rows.start, rows.stop)
            if is_on_diagonal:
                # NumPy rounds A A^T differently if both factors are one array: see that they are,
                # although two threads may have prepared the same block.
                z_planes = x_planes
            else:
                z_planes = prepared(0 if symmetric else 1, columns.start, columns.stop)
            squared, unit = _squared(x_planes, z_planes, self.ridge)
            if is_on_diagonal:
                np.fill_diagonal(squared, 0)
            distances = np.sqrt(np.maximum(squared, 0, out=squared), out=squared)
            distances *= unit
            return np.asarray(distances)

        return in_tiles(
            tile,
            (len(points[0]), len(points[1])),
            (side, side),
            dtype,
            symmetric=symmetric,
            n_jobs=self.n_jobs,
        )

    def _tile_sizes(self, d: int, dtype: Any) -> tuple[int, int]:
        """Return the side of a tile, and the number of blocks of planes that are kept."""
        k = len(self.vectors)
        budget = block_bytes_of(self.block_bytes) / 4
        bytes_per_plane = dtype.itemsize * d * (k + 1)
        bytes_to_prepare = 8 * d * (4 * k + 8)
        bytes_per_pair = 24 * (k + 2) ** 2
        side = min(_TILE, (budget / bytes_per_pair) ** 0.5, budget / bytes_to_prepare)
        side = max(1, int(side))
        return side, max(2, int(budget / bytes_per_plane / side))

    def _planes(self, images: Array, points: Array, axes: tuple[_Axis, _Axis]) -> _Planes:
        """Return points, which may be images minus a centre, with the images' tangent planes."""
        scaled_images, _ = _in_units(images)
        scaled_points, units = _in_units(points)
        vectors = np.empty((1 + len(self.vectors), *points.shape), points.dtype)
        vectors[0] = scaled_points
        for block in row_blocks(len(images), 1, _IMAGES_AT_ONCE):
            vectors[1:, block] = self._bases(scaled_images[block], axes).swapaxes(0, 1)
        products = np.einsum("knd,nd->kn", vectors, scaled_points).astype(float)
        return _Planes(vectors, products, units)

    def _points(self, X: ArrayLike) -> Array:
        check_parameters(self)
        X = as_points(X, type(self).__name__)
        check_pixels("TangentDistance", self.shape, X.shape[1])
        limit = 0.1 * float(np.finfo(X.dtype).max) / X.shape[1] ** 0.5
        if max(X.max(), -X.min()) > limit:
            raise ParameterError(
                f"TangentDistance takes pixels below {limit:.0e}: scale the images"
            )
        return X

    def _bases(self, X: Array, axes: tuple[_Axis, _Axis]) -> Array:
        """Return orthonormal bases of tangent planes, (n, k, d); missing directions are zero."""
        tangents = self._tangents(X, *axes)
        in_double = tangents.astype(float, copy=False)
        products = np.einsum("nkd,nld->nkl", in_double, in_double)
        squares = np.einsum("nkk->nk", products)
        # A vector that consists of rounding, such as the derivative of equal pixels, is ignored.
        is_direction = squares > self._rounding(X) ** 2
        inverse_norms = _inverse_roots(squares, is_direction)
        # Each vector has its own unit, so linear dependence is decided for unit vectors.
        gram = products * inverse_norms[:, :, None] * inverse_norms[:, None, :]
        eigenvalues, eigenvectors = np.linalg.eigh(gram)
        scale = _inverse_roots(eigenvalues, eigenvalues > _DEPENDENT)
        coefficients = scale[:, :, None] * eigenvectors.swapaxes(1, 2) * inverse_norms[:, None, :]
        return np.asarray(coefficients.astype(X.dtype) @ tangents)

    def _rounding(self, X: Array) -> Array:
        """Return bounds on the rounding of the norm of each tangent vector, shape (n, k)."""
        norms = np.linalg.norm(X.astype(float, copy=False), axis=1)[:, None]
        gradient = _ROUNDING * float(np.finfo(X.dtype).eps) * norms
        # Coordinates multiply gradients, and the squared gradient has the squared rounding.
        largest_coordinate = max(self.shape) / 2
        bounds = {"horizontal": gradient, "vertical": gradient, "thickness": gradient**2}
        return np.hstack([bounds.get(name, largest_coordinate * gradient) for name in self.vectors])


def _inverse_roots(values: Array, valid: Array) -> Array:
    """Return 1 / sqrt of valid values, and zero for others."""
    return np.where(valid, 1 / np.sqrt(np.where(valid, values, 1)), 0)


def _in_units(X: Array) -> tuple[Array, Array]:
    """Return points (n, d) in their own units, and these units, powers of two of shape (n,).

    Squares of the scaled points neither overflow nor vanish. Possible units are far apart, so that
    points of one kind nearly always share them.
    """
    if X.dtype == np.float64:
        exponent_step = 64
        max_steps = 15
    else:
        exponent_step = 16
        max_steps = 7
    largest = np.maximum(X.max(axis=1), -X.min(axis=1))
    _, exponents = np.frexp(largest)
    n_steps = np.clip(np.rint(exponents / exponent_step), -max_steps, max_steps)
    exponents = exponent_step * n_steps.astype(np.intc)
    is_blank = largest == 0
    if not exponents.any() and not is_blank.any():
        return X, np.ones(len(X))
    # Blank points get the smallest unit, relative to which no other unit vanishes.
    units = np.where(is_blank, np.finfo(float).tiny, np.ldexp(1.0, exponents))
    return np.ldexp(X, -exponents[:, None]), units


def _squared(x_planes: _Planes, z_planes: _Planes, ridge: float) -> tuple[Array, Any]:
    """Return squared distances: |x - z|^2 less its projection on the span of both planes.

    They are in the squared unit of the larger point of each pair; this unit is returned as well.
    """
    n_x, n, d = x_planes.vectors.shape
    n_z, m, _ = z_planes.vectors.shape
    # inner[i, j] are the inner products of vectors i of x and j of z; vectors 0 are the points.
    inner = x_planes.vectors.reshape(-1, d) @ z_planes.vectors.reshape(-1, d).T
    inner = inner.reshape(n_x, n, n_z, m).swapaxes(1, 2)
    of_x = x_planes.products[:, :, None]
    of_z = z_planes.products[:, None, :]
    unit: Any = x_planes.units[0]
    same_unit = np.all(x_planes.units == unit) and np.all(z_planes.units == unit)
    if not same_unit:
        unit = np.maximum(x_planes.units[:, None], z_planes.units)
        x_scale = x_planes.units[:, None] / unit
        z_scale = z_planes.units / unit
        inner[0] *= x_scale.astype(inner.dtype)
        inner[:, 0] *= z_scale.astype(inner.dtype)
        of_x = of_x * x_scale
        of_z = of_z * z_scale
        of_x[0] *= x_scale
        of_z[0] *= z_scale
    squared: Array = of_x[0] - 2 * inner[0, 0].astype(float) + of_z[0]
    # Subtract the part of x - z in the plane of x, by its coordinates.
    in_x_plane = of_x[1:].astype(inner.dtype) - inner[1:, 0]
    squared -= np.einsum("inm,inm->nm", in_x_plane, in_x_plane)
    # The basis of the plane of z, without its parts in the plane of x, has a Gram matrix that is
    # the identity less `overlap`. `rest` are the inner products of x - z with this basis.
    cross = inner[1:, 1:]
    overlap = np.einsum("ijnm,ilnm->jlnm", cross, cross).astype(float)
    rest = inner[0, 1:] - of_z[1:] - np.einsum("inm,ijnm->jnm", in_x_plane, cross)
    # Gaussian elimination; a direction may lie in the other plane and has then no pivot.
    for j in range(n_z - 1):
        pivot = 1 + ridge - overlap[j, j]
        inverse = 1 / np.where(pivot > 1e-15, pivot, np.inf)
        squared -= rest[j] ** 2 * inverse
        factors = overlap[j, j + 1 :] * inverse
        rest[j + 1 :] += factors * rest[j]
        overlap[j + 1 :, j + 1 :] += factors[:, None] * overlap[j, j + 1 :]
    return squared, unit
