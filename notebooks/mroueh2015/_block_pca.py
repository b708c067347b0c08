"""`BlockPCA`: the same few principal components for every block of features."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from invariance.core.parameters import ParameterError, RandomState, Whole, stores_parameters
from invariance.features.feature_map import FeatureMap

#: The components are fitted to at most this many blocks.
_MAX_BLOCKS = 200_000


@stores_parameters
class BlockPCA(FeatureMap):
    """Project every block of ``block`` neighbouring features on common principal components.

    The 2 n + 1 features of a CDF-pooled template are values of one smooth curve, and the curves of
    all templates look alike. A few common components therefore preserve nearly all of every inner
    product. The components are orthonormal, and the mean block is subtracted.

    Parameters
    ----------
    block : int
        Features per block, ``2 n_bins + 1`` for `GroupCDF`; must divide the number of features.
    n_components : int, number of components per block, at most ``block``
    random_state : int, RandomState or None
        Selects the blocks to which the components are fitted, if there are more than 200,000.

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
        """Compute the components from features X of shape (n, p)."""
        X = self._points_to_fit(X)
        if X.shape[1] % self.block:
            raise ParameterError(f"block = {self.block} does not divide {X.shape[1]} features")
        if self.n_components > self.block:
            raise ParameterError(f"n_components={self.n_components}, not 1 to block = {self.block}")
        blocks = self._sample_blocks(X).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            self.mean_ = blocks.mean(axis=0)
            blocks -= self.mean_
            scatter = blocks.T @ blocks
        if not np.isfinite(scatter).all():
            raise ParameterError(f"X as large as {np.abs(X).max():g} overflows: scale it down")
        eigenvalues, eigenvectors = np.linalg.eigh(scatter)
        n_dropped = self.block - self.n_components
        # The largest eigenvalues come last.
        components = eigenvectors[:, n_dropped:].T[::-1]
        self.components_ = _with_fixed_signs(components)
        total = eigenvalues.sum()
        self.lost_ = 0.0
        if total > 0:
            dropped = eigenvalues[:n_dropped].sum()
            self.lost_ = float(max(dropped, 0) / total)
        n_blocks = X.shape[1] // self.block
        self._n_features_out = n_blocks * self.n_components
        return self

    def _sample_blocks(self, X: NDArray) -> NDArray:
        """Return the blocks of all points as rows, or a sample of them."""
        blocks = X.reshape(-1, self.block)
        if len(blocks) <= _MAX_BLOCKS:
            return blocks
        rng = check_random_state(self.random_state)
        sample = rng.choice(len(blocks), _MAX_BLOCKS, replace=False)
        return blocks[np.sort(sample)]

    def transform(self, X: ArrayLike) -> NDArray:
        """Return the components of every block, shape (n, p / block * n_components)."""
        X = self._points_to_transform(X)
        blocks = X.reshape(-1, len(self.mean_))
        components = self.components_.T.astype(X.dtype)
        mean = self.mean_.astype(X.dtype) @ components
        projected = blocks @ components - mean
        return projected.reshape(len(X), -1)


def _with_fixed_signs(components: NDArray) -> NDArray:
    """Make the entry of largest magnitude positive, since the signs of eigenvectors vary."""
    largest = np.abs(components).argmax(axis=1)
    rows = np.arange(len(components))
    signs = np.sign(components[rows, largest])
    return components * signs[:, None]
