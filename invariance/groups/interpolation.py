"""Interpolation of many images at the same points, as one sparse matrix a transformation.

Weights are worked out once for a batch of images; coefficients of cubic splines depend on the image
alone. Weights, boundary treatment and hence results are those of `scipy.ndimage.affine_transform`
with ``mode="constant", cval=0``, to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, sparse

ORDERS = (1, 3)

#: Images handled at a time, and bytes of operator and result made at a time.
_COLUMNS, _BLOCK_BYTES = 512, 32 * 2**20


def _weights(fraction: NDArray[Any], order: int) -> NDArray[Any]:
    """B-spline weights of the order + 1 nearest samples, last axis; ``fraction`` in [0, 1)."""
    t, u = fraction, 1 - fraction
    if order == 1:
        return np.stack([u, t], axis=-1)
    return np.stack([u**3, 4 - 6 * t**2 + 3 * t**3, 4 - 6 * u**2 + 3 * u**3, t**3], axis=-1) / 6


def sampling_matrix(
    matrices: NDArray[Any], offsets: NDArray[Any], shape: tuple[int, int], order: int
) -> sparse.csr_array:
    """The operators that sample an image at ``matrix @ (row, column) + offset``, stacked.

    matrices (r, 2, 2) and offsets (r, 2), in pixels, map positions in the result to positions in
    the image; order 1 is bilinear on the pixels, 3 cubic on the B-spline coefficients. The result
    has shape (r h w, h w); a row whose position lies outside the image is zero.
    """
    height, width = shape
    rows, columns = np.indices(shape, dtype=float).reshape(2, -1)
    taps = order + 1
    inside = np.ones((len(matrices), height * width), dtype=bool)
    index, weight = [], []
    for axis, length in enumerate(shape):
        # The order of the additions is SciPy's: it decides which points fall outside the frame.
        down, right = matrices[:, axis, 0, None] * rows, matrices[:, axis, 1, None] * columns
        position = (offsets[:, axis, None] + down) + right
        inside &= (position >= 0) & (position <= length - 1)
        below = np.floor(position)
        weight.append(_weights(position - below, order))
        tap = below.astype(np.intp)[..., None] - order // 2 + np.arange(taps)
        # Splines continue by reflection about the outermost pixels.
        period = max(2 * (length - 1), 1)
        tap = np.abs(tap) % period
        index.append(np.minimum(tap, period - tap) if length > 1 else np.zeros_like(tap))
    data = weight[0][..., :, None] * weight[1][..., None, :]
    data *= inside[..., None, None]
    indices = index[0][..., :, None] * width + index[1][..., None, :]
    ends = np.arange(len(matrices) * height * width + 1) * taps**2
    parts = data.ravel(), indices.ravel(), ends
    return sparse.csr_array(parts, shape=(len(ends) - 1, height * width))


def resample(
    matrices: NDArray[Any],
    offsets: NDArray[Any],
    factors: NDArray[Any] | None,
    images: NDArray[Any],
    order: int,
) -> NDArray[Any]:
    """Images (n, height, width) by r affine maps (see `sampling_matrix`), zero outside the frame.

    ``factors`` (r,) multiply the results, of shape (r, n, height, width) and the images' type.
    """
    n, *shape = images.shape
    size = shape[0] * shape[1]
    moved = np.empty((len(matrices), n, size), dtype=images.dtype)
    row_bytes = size * max((order + 1) ** 2 * 16, _COLUMNS * images.itemsize)
    block = max(1, _BLOCK_BYTES // row_bytes)
    coefficients = images
    if order == 3:
        for axis in (1, 2):
            coefficients = ndimage.spline_filter1d(coefficients, 3, axis, mode="mirror")
    columns = np.ascontiguousarray(coefficients.reshape(n, size).T, dtype=images.dtype)
    for start in range(0, len(matrices), block):
        which = slice(start, start + block)
        operator = sampling_matrix(matrices[which], offsets[which], tuple(shape), order)
        if factors is not None:
            operator.data *= np.repeat(factors[which], size * (order + 1) ** 2)
        operator = operator.astype(images.dtype)
        for first in range(0, n, _COLUMNS):
            some = np.ascontiguousarray(columns[:, first : first + _COLUMNS])
            result = (operator @ some).reshape(-1, size, some.shape[1])
            moved[which, first : first + _COLUMNS] = result.swapaxes(1, 2)
    return moved.reshape(len(matrices), n, *shape)
