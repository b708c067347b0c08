"""Interpolation of many images at the same points, with one sparse matrix per transformation.

Weights are computed once for a batch of images; coefficients of cubic splines depend on the image
alone. Weights, boundary treatment and hence results are those of `scipy.ndimage.affine_transform`
with ``mode="constant", cval=0``, up to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, sparse

#: Orders of the splines that are available.
ORDERS = (1, 3)

#: Number of images that are sampled at a time.
_COLUMNS = 512
#: Number of bytes of operators and results that are computed at a time.
_BLOCK_BYTES = 32 * 2**20


def _weights(fraction: NDArray[Any], order: int) -> NDArray[Any]:
    """B-spline weights of the order + 1 nearest samples, last axis; ``fraction`` in [0, 1)."""
    t = fraction
    u = 1 - fraction
    if order == 1:
        return np.stack([u, t], axis=-1)
    outer_before = u**3
    before = 4 - 6 * t**2 + 3 * t**3
    after = 4 - 6 * u**2 + 3 * u**3
    outer_after = t**3
    return np.stack([outer_before, before, after, outer_after], axis=-1) / 6


def sampling_matrix(
    matrices: NDArray[Any], offsets: NDArray[Any], shape: tuple[int, int], order: int
) -> sparse.csr_array:
    """Stacked operators that sample an image at ``matrix @ (row, column) + offset``.

    matrices (r, 2, 2) and offsets (r, 2), in pixels, map positions in the result to positions in
    the image; order 1 is bilinear on the pixels, 3 cubic on the B-spline coefficients. The result
    has shape (r h w, h w); a row whose position lies outside the image is zero.
    """
    height, width = shape
    n_pixels = height * width
    n_taps = order + 1
    rows, columns = np.indices(shape, dtype=float).reshape(2, -1)
    is_inside = np.ones((len(matrices), n_pixels), dtype=bool)
    taps = []
    for axis, length in enumerate(shape):
        # The order of the additions is SciPy's: it decides which points fall outside the frame.
        row_terms = matrices[:, axis, 0, None] * rows
        column_terms = matrices[:, axis, 1, None] * columns
        positions = (offsets[:, axis, None] + row_terms) + column_terms
        is_inside &= positions >= 0
        is_inside &= positions <= length - 1
        taps.append(_taps(positions, length, order))
    (row_indices, row_weights), (column_indices, column_weights) = taps
    data = row_weights[..., :, None] * column_weights[..., None, :]
    data *= is_inside[..., None, None]
    indices = row_indices[..., :, None] * width + column_indices[..., None, :]
    n_rows = len(matrices) * n_pixels
    row_ends = np.arange(n_rows + 1) * n_taps**2
    parts = (data.ravel(), indices.ravel(), row_ends)
    return sparse.csr_array(parts, shape=(n_rows, n_pixels))


def _taps(
    positions: NDArray[Any], length: int, order: int
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Indices and weights of the order + 1 nearest samples along an axis, in the last axis."""
    below = np.floor(positions)
    first = below.astype(np.intp) - order // 2
    indices = first[..., None] + np.arange(order + 1)
    return _reflected(indices, length), _weights(positions - below, order)


def _reflected(indices: NDArray[np.intp], length: int) -> NDArray[np.intp]:
    """Indices of pixels after reflection about the outermost ones, as splines continue."""
    if length == 1:
        return np.zeros_like(indices)
    period = 2 * (length - 1)
    remainders = np.abs(indices) % period
    return np.asarray(np.minimum(remainders, period - remainders))


def resample(
    matrices: NDArray[Any],
    offsets: NDArray[Any],
    factors: NDArray[Any] | None,
    images: NDArray[Any],
    order: int,
) -> NDArray[Any]:
    """Transform images (n, height, width) by r affine maps (see `sampling_matrix`).

    Outside the frame, images are zero. ``factors`` (r,) multiply the results, which have shape
    (r, n, height, width) and the images' type.
    """
    n_images, height, width = images.shape
    n_maps = len(matrices)
    n_pixels = height * width
    n_weights = (order + 1) ** 2
    operator_bytes = n_pixels * n_weights * 16
    result_bytes = n_pixels * _COLUMNS * images.itemsize
    block_size = max(1, _BLOCK_BYTES // max(operator_bytes, result_bytes))
    columns = _coefficient_columns(images, order)
    results = np.empty((n_maps, n_images, n_pixels), dtype=images.dtype)
    for start in range(0, n_maps, block_size):
        maps = slice(start, start + block_size)
        operator = sampling_matrix(matrices[maps], offsets[maps], (height, width), order)
        if factors is not None:
            operator.data *= np.repeat(factors[maps], n_pixels * n_weights)
        operator = operator.astype(images.dtype)
        for first_image in range(0, n_images, _COLUMNS):
            batch = slice(first_image, first_image + _COLUMNS)
            samples = operator @ np.ascontiguousarray(columns[:, batch])
            samples = samples.reshape(-1, n_pixels, samples.shape[1])
            results[maps, batch] = samples.swapaxes(1, 2)
    return results.reshape(n_maps, n_images, height, width)


def _coefficient_columns(images: NDArray[Any], order: int) -> NDArray[Any]:
    """Spline coefficients of each image in a column, shape (pixels, n), in the images' type."""
    coefficients = images
    if order == 3:
        for axis in (1, 2):
            coefficients = ndimage.spline_filter1d(coefficients, 3, axis, mode="mirror")
    n_images, height, width = images.shape
    columns = coefficients.reshape(n_images, height * width).T
    return np.ascontiguousarray(columns, dtype=images.dtype)
