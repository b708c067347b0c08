"""Patches of images: `patch_sets`, and `PatchPooling`, means of features in each part."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..core import parameters as kinds
from ..core.arrays import check_pixels
from ..core.config import block_bytes_of
from ..core.parameters import ParameterError, arguments, stores_parameters
from ..features.feature_map import FeatureMap, Inner
from ..orbits import row_blocks

#: Bytes of patches and their features that exist at a time, where they may: they stay in cache.
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
    """Images as sets of their patches, which `SetKernel` and `SetFeatures` compare.

    Images (n, d) are rows of pixels of ``shape`` (height, width) or (height, width, channels);
    patches are ``size`` pixels high and wide, ``stride`` apart. Row and column of a patch's corner,
    times ``place``, follow its pixels as two more coordinates; 0 leaves them out. The sets have
    shape (n, patches, size * size * channels), or 2 numbers more.

    >>> patch_sets(np.arange(12.0).reshape(1, 12), (3, 4), size=3)[0]
    array([[ 0.,  1.,  2.,  4.,  5.,  6.,  8.,  9., 10.],
           [ 1.,  2.,  3.,  5.,  6.,  7.,  9., 10., 11.]])
    """
    X: NDArray = np.asarray(images)
    X = X if X.dtype in (np.float32, np.float64) else X.astype(float)
    image = (*shape, 1)[:3]
    if not X.ndim or X.size != len(X) * np.prod(image) or size > min(image[:2]):
        raise ParameterError(
            f"patch_sets: images of shape {X.shape} as {shape} have no patch of size={size}"
        )
    views = sliding_window_view(X.reshape(-1, *image), (size, size), axis=(1, 2))
    views = views[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)
    sets = views.reshape(len(X), views.shape[1] * views.shape[2], -1)
    if not place:
        return sets
    corners = np.indices(views.shape[1:3]).reshape(2, -1).T * (stride * place)
    corners = np.broadcast_to(corners.astype(X.dtype), (len(X), *corners.shape))
    return np.concatenate([sets, corners], axis=2)


@stores_parameters
class PatchPooling(FeatureMap):
    r"""Orbit statistics of image patches: a feature map of patches, averaged over places.

    For every cell c of a coarse grid over the image, and patches x_p with their place p in c,

    .. math:: \phi_c(x) = \frac{1}{|c|} \sum_{p \in c} \psi(x_p) ,

    the embedding of a part of the patch's orbit under translations (Raj et al. 2017, end of
    section 4.3): with random Fourier features for psi, inner products compare the distributions of
    patches cell by cell.

    Parameters
    ----------
    features : transformer or None
        psi, on flattened patches; None is the identity. A clone is fitted to a sample of patches.
    shape : tuple (height, width) or (height, width, channels), or None
        None takes each row for an image one pixel high.
    size : int or None
        Height and width of a patch in pixels (at most the image's); None is the whole image.
    stride : int, pixels between the places of neighbouring patches
    grid : int, cells along each axis (at most as many as there are places)
    n_patches : int, patches, of random images and places, that ``features`` is fitted to
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
        given = (1, X.shape[1]) if self.shape is None else tuple(self.shape)
        self._image = (*given, 1)[:3]
        check_pixels("PatchPooling", given, X.shape[1])
        self._window = tuple(min(self.size or side, side) for side in self._image[:2])
        patches = self._patches(X)
        self.places_ = patches.shape[1:3]
        self.features_ = None
        if self.features is not None:
            rng, n_all = check_random_state(self.random_state), int(np.prod(patches.shape[:3]))
            chosen = rng.choice(n_all, min(self.n_patches, n_all), replace=False)
            some = patches[np.unravel_index(chosen, patches.shape[:3])]
            self.features_ = clone(self.features).fit(some.reshape(len(chosen), -1))
        self._n_features_out = self._pooled(X[:1]).shape[1]
        return self

    def _patches(self, X: NDArray) -> NDArray:
        """A view of all patches, shape (n, rows, columns, channels, height, width)."""
        views = sliding_window_view(X.reshape(-1, *self._image), self._window, axis=(1, 2))
        return views[:, :: self._fitted.stride, :: self._fitted.stride]

    def _pooled(self, X: NDArray) -> NDArray:
        rows, columns = self.places_
        values = self._patches(X).reshape(len(X) * rows * columns, -1)
        if self.features_ is not None:
            values = self.features_.transform(values)
        kind = np.result_type(values, np.float32)
        down, across = (_means(n, self._fitted.grid).astype(kind) for n in self.places_)
        values = down @ values.reshape(len(X), rows, -1)
        values = across @ values.reshape(len(X), len(down), columns, -1)
        return values.reshape(len(X), -1)

    def transform(self, X: ArrayLike) -> NDArray:
        """Features of shape (n, cells * k) with k features of a patch, cell by cell."""
        X = self._points_to_transform(X)
        cells = np.prod(np.minimum(self.places_, self._fitted.grid))
        widths = np.prod(self._window) * self._image[2] + self._n_features_out // cells
        image_bytes = np.prod(self.places_) * widths * X.itemsize
        budget = min(block_bytes_of(self._fitted.block_bytes), _TILE_BYTES)
        blocks = row_blocks(len(X), image_bytes, budget)
        return np.concatenate([self._pooled(X[some]) for some in blocks])


def _means(n: int, grid: int) -> NDArray:
    """The matrix (cells, n) that averages n places within each of at most ``grid`` cells."""
    edges = np.arange(min(grid, n) + 1) * n // min(grid, n)
    inside = (np.arange(n) >= edges[:-1, None]) & (np.arange(n) < edges[1:, None])
    return inside / np.diff(edges)[:, None]
