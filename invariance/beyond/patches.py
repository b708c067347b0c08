"""Patches of images: `patch_sets`, and `PatchPooling`, means of features over grid cells."""

from __future__ import annotations

from dataclasses import KW_ONLY
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..core import parameters as kinds
from ..core.arrays import check_pixels
from ..core.config import block_bytes_of
from ..core.dask_arrays import over_blocks
from ..core.parameters import ParameterError, arguments, stores_parameters
from ..features.feature_map import FeatureMap, Inner
from ..orbits import row_blocks

Array = NDArray[Any]

#: Bytes of patches and their features at a time, so that they stay in cache.
_TILE_BYTES = 2**23


@arguments(
    images=kinds.Array(),
    shape=kinds.Shape(2, 3),
    size=kinds.Whole(1),
    stride=kinds.Whole(1),
    place=kinds.Number(0),
)
def patch_sets(
    images: ArrayLike, shape: tuple[int, ...], *, size: int, stride: int = 1, place: float = 0.0
) -> NDArray:
    """Return images as sets of their patches, for `SetKernel` and `SetFeatures`.

    Images (n, d) are rows of pixels of ``shape`` (height, width) or (height, width, channels);
    patches are ``size`` pixels high and wide, ``stride`` apart. If ``place`` is not 0, the row and
    column of a patch's corner, times ``place``, are two more coordinates after its pixels. The sets
    have shape (n, patches, size * size * channels), or (..., size * size * channels + 2).

    >>> patch_sets(np.arange(12.0).reshape(1, 12), (3, 4), size=3)[0]
    array([[ 0.,  1.,  2.,  4.,  5.,  6.,  8.,  9., 10.],
           [ 1.,  2.,  3.,  5.,  6.,  7.,  9., 10., 11.]])
    """
    X: Array = np.asarray(images)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(float)
    image_shape = (*shape, 1)[:3]
    fits = X.ndim > 0 and X.size == len(X) * np.prod(image_shape)
    if not fits or size > min(image_shape[:2]):
        raise ParameterError(
            f"patch_sets: images of shape {X.shape} as {shape} have no patch of size={size}"
        )
    windows = sliding_window_view(X.reshape(-1, *image_shape), (size, size), axis=(1, 2))
    # Shape (n, rows, columns, height, width, channels).
    patches = windows[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)
    n_rows, n_columns = patches.shape[1:3]
    sets = patches.reshape(len(X), n_rows * n_columns, -1)
    if not place:
        return sets
    corners = np.indices((n_rows, n_columns)).reshape(2, -1).T * (stride * place)
    corners = np.broadcast_to(corners.astype(X.dtype), (len(X), *corners.shape))
    return np.concatenate([sets, corners], axis=2)


@stores_parameters
class PatchPooling(FeatureMap):
    r"""Orbit statistics of image patches: a feature map of patches, averaged over positions.

    For every cell c of a coarse grid over the image, and patches x_p with position p in c,

    .. math:: \phi_c(x) = \frac{1}{|c|} \sum_{p \in c} \psi(x_p) ,

    the embedding of a part of the patch's orbit under translations (Raj et al. 2017, end of
    section 4.3): with random Fourier features for psi, inner products compare the distributions of
    patches cell by cell.

    Parameters
    ----------
    features : transformer or None
        psi, on flattened patches; None is the identity. A clone is fitted to a sample of patches.
    shape : tuple (height, width) or (height, width, channels), or None
        None treats each row as an image one pixel high.
    size : int or None
        Height and width of a patch in pixels (at most the image's); None is the whole image.
    stride : int
        Pixels between neighbouring patches.
    grid : int
        Cells along each axis, at most as many as there are patches.
    n_patches : int
        Number of random patches that ``features`` is fitted to.
    block_bytes, random_state : as in `OrbitFourier`

    Attributes
    ----------
    features_ : the fitted transformer, or None
    places_ : tuple of int, rows and columns of patches in an image

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> images = np.random.default_rng(0).random((20, 8 * 8))
    >>> pooled = PatchPooling(PCA(4), (8, 8), size=3, grid=2, random_state=0).fit_transform(images)
    >>> pooled.shape
    (20, 16)
    """

    features: Inner = None
    shape: Annotated[tuple[int, ...] | None, kinds.Shape(2, 3) | None] = None
    _: KW_ONLY
    size: Annotated[int | None, kinds.Whole(1) | None] = None
    stride: Annotated[int, kinds.Whole(1)] = 1
    grid: Annotated[int, kinds.Whole(1)] = 1
    n_patches: Annotated[int, kinds.Whole(1)] = 10_000
    block_bytes: kinds.BlockBytes = None
    random_state: kinds.RandomState = None

    def fit(self, X: ArrayLike, y=None) -> PatchPooling:
        """Fit the feature map to patches of images X of shape (n, d)."""
        X = self._points_to_fit(X)
        shape = (1, X.shape[1]) if self.shape is None else tuple(self.shape)
        check_pixels("PatchPooling", shape, X.shape[1])
        self._image_shape = (*shape, 1)[:3]
        self._window = tuple(min(self.size or side, side) for side in self._image_shape[:2])
        patches = self._patches(X)
        self.places_ = patches.shape[1:3]
        self.features_ = None
        if self.features is not None:
            rng = check_random_state(self.random_state)
            n_patches = int(np.prod(patches.shape[:3]))
            drawn = rng.choice(n_patches, min(self.n_patches, n_patches), replace=False)
            sample = patches[np.unravel_index(drawn, patches.shape[:3])]
            self.features_ = clone(self.features).fit(sample.reshape(len(drawn), -1))
        self._n_features_out = self._pooled(X[:1]).shape[1]
        return self

    def _patches(self, X: Array) -> Array:
        """Return a view of all patches, shape (n, rows, columns, channels, height, width)."""
        images = X.reshape(-1, *self._image_shape)
        windows = sliding_window_view(images, self._window, axis=(1, 2))
        stride = self._fitted.stride
        return windows[:, ::stride, ::stride]

    def _pooled(self, X: Array) -> Array:
        """Return the means of features over the cells, shape (n, cells * k)."""
        n_rows, n_columns = self.places_
        values = self._patches(X).reshape(len(X) * n_rows * n_columns, -1)
        if self.features_ is not None:
            values = self.features_.transform(values)
        by_position: Array = values.reshape(len(X), n_rows, n_columns, -1)
        row_cells = _cells(n_rows, self._fitted.grid)
        column_cells = _cells(n_columns, self._fitted.grid)
        dtype = np.result_type(values, np.float32)
        means_shape = (len(X), len(row_cells), len(column_cells), by_position.shape[-1])
        means: Array = np.empty(means_shape, dtype)
        for i, rows in enumerate(row_cells):
            for j, columns in enumerate(column_cells):
                means[:, i, j] = by_position[:, rows, columns].mean(axis=(1, 2))
        return means.reshape(len(X), -1)

    def dtype_of_features(self, point: Array) -> np.dtype[Any]:
        return self._pooled(self._rows(point, reset=False)).dtype

    @over_blocks
    def transform(self, X: ArrayLike) -> Array:
        """Return features of shape (n, cells * k) with k features of a patch, cell by cell."""
        X = self._points_to_transform(X)
        n_cells = np.prod(np.minimum(self.places_, self._fitted.grid))
        patch_size = np.prod(self._window) * self._image_shape[2]
        numbers_per_patch = patch_size + self._n_features_out // n_cells
        bytes_per_image = np.prod(self.places_) * numbers_per_patch * X.itemsize
        budget = min(block_bytes_of(self._fitted.block_bytes), _TILE_BYTES)
        blocks = row_blocks(len(X), bytes_per_image, budget)
        return np.concatenate([self._pooled(X[block]) for block in blocks])


def _cells(n_positions: int, grid: int) -> list[slice]:
    """Return the positions in each of at most ``grid`` cells along an axis."""
    n_cells = min(grid, n_positions)
    edges = np.arange(n_cells + 1) * n_positions // n_cells
    return [slice(*pair) for pair in pairwise(edges)]
