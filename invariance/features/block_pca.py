"""`BlockPCA`: the same few principal components for every block of features."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..core.parameters import ParameterError, RandomState, Whole, stores_parameters
from .feature_map import FeatureMap

#: Blocks that the components are fitted to, at most.
_MOST = 200_000


@stores_parameters
class BlockPCA(FeatureMap):
    """Project every block of ``block`` neighbouring features on common principal components.

    The 2 n + 1 thresholds of a CDF-pooled template are read off one smooth curve, and curves of all
    templates look alike: a few components shared by all hold nearly all of every inner product.
    Components are orthonormal, and the mean (a constant of each feature) is removed.

    Parameters
    ----------
    block : int
        Features a block, ``2 n_bins + 1`` for `GroupCDF`; must divide the number of features.
    n_components : int, components kept of each block, at most ``block``
    random_state : int, RandomState or None
        Which blocks the components are fitted to, where there are more than 200,000.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, block)
    mean_ : ndarray of shape (block,)
    lost_ : float, share of the variance within blocks that the components leave out

    Examples
    --------
    >>> curves = np.sort(np.random.default_rng(0).random((50, 4, 9)), axis=2).reshape(50, 36)
    >>> pca = BlockPCA(block=9, n_components=3).fit(curves)
    >>> pca.transform(curves).shape, pca.lost_ < 0.2
    ((50, 12), True)
    """

    block: Annotated[int, Whole(1)] = 1
    n_components: Annotated[int, Whole(1)] = 1
    _: KW_ONLY
    random_state: RandomState = None

    def fit(self, X: ArrayLike, y=None) -> BlockPCA:
        """Find the components from features X of shape (n, p)."""
        X = self._points_to_fit(X)
        if X.shape[1] % self.block:
            raise ParameterError(f"block = {self.block} does not divide {X.shape[1]} features")
        if self.n_components > self.block:
            raise ParameterError(f"n_components={self.n_components}, not 1 to block = {self.block}")
        blocks = X.reshape(-1, self.block)
        if len(blocks) > _MOST:
            rng = check_random_state(self.random_state)
            blocks = blocks[np.sort(rng.choice(len(blocks), _MOST, replace=False))]
        blocks = blocks.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            self.mean_ = blocks.mean(axis=0)
            blocks -= self.mean_
            products = blocks.T @ blocks
        if not np.isfinite(products).all():
            raise ParameterError(f"X as large as {np.abs(X).max():g} overflows: scale it down")
        values, vectors = np.linalg.eigh(products)
        self.components_ = vectors[:, ::-1][:, : self.n_components].T
        # The sign of an eigenvector is arbitrary; fix it, so that runs agree.
        largest = np.abs(self.components_).argmax(axis=1)
        signs = np.sign(self.components_[np.arange(self.n_components), largest])
        self.components_ *= signs[:, None]
        total = values.sum()
        rest = values[: self.block - self.n_components].sum()
        self.lost_ = float(max(rest, 0) / total) if total > 0 else 0.0
        self._n_features_out = X.shape[1] // self.block * self.n_components
        return self

    def transform(self, X: ArrayLike) -> NDArray:
        """Components of every block, shape (n, p / block * n_components)."""
        X = self._points_to_transform(X)
        blocks = X.reshape(-1, len(self.mean_))
        components = self.components_.T.astype(X.dtype)
        projected = blocks @ components - self.mean_.astype(X.dtype) @ components
        return projected.reshape(len(X), -1)
