"""Features of photographs from comparisons of their patches with templates."""

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer

from invariance.beyond import PatchPooling, patch_sets

SHAPE = (32, 32, 3)
SIDE = 6  # pixels of a patch


def centred(rows: NDArray) -> NDArray:
    """Subtract each row's mean and divide by its standard deviation, which is kept from zero."""
    rows = rows - rows.mean(axis=1, keepdims=True)
    variances = rows.var(axis=1, keepdims=True)
    return rows / np.sqrt(variances + 1e-2)


def unit(rows: NDArray) -> NDArray:
    """Scale rows to unit norm; blank rows stay blank."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.maximum(norms, 1e-9)


def similar(
    patches: NDArray, whitening: NDArray, templates: NDArray, threshold: np.float32
) -> NDArray:
    """Return thresholded inner products of whitened patches with templates and their negatives."""
    whitened = (centred(patches) @ whitening).astype(np.float32)
    products = unit(whitened) @ templates
    features = np.empty((len(products), 2 * products.shape[1]), np.float32)
    above, below = np.hsplit(features, 2)
    np.subtract(products, threshold, out=above)
    np.subtract(-threshold, products, out=below)
    return np.maximum(features, 0, out=features)


def patch_pooling(
    rows: NDArray,
    *,
    every: int,
    patches: int,
    components: int,
    templates: int,
    threshold: float,
    seed: int,
    stride: int = 1,
) -> PatchPooling:
    """Return a pooling over quarters of photographs.

    Whitening and templates come from `patches` random patches of `rows`, out of those that begin at
    each `every` pixels. The pooling itself takes patches at each `stride` pixels.
    """
    candidates = patch_sets(rows, SHAPE, size=SIDE, stride=every)
    candidates = candidates.reshape(-1, SIDE, SIDE, 3)
    order = np.random.default_rng(seed).permutation(len(candidates))
    drawn = candidates[order[:patches]]
    # Colours come first, as in the patches that are pooled.
    drawn = centred(drawn.transpose(0, 3, 1, 2).reshape(-1, 3 * SIDE**2))
    pca = PCA(components, random_state=seed).fit(drawn)
    scaled_components = pca.components_.T / np.sqrt(pca.explained_variance_)
    whitening = scaled_components.astype(np.float32)
    arguments = {
        "whitening": whitening,
        "templates": unit(drawn[:templates] @ whitening).T,
        "threshold": np.float32(threshold),
    }
    features = FunctionTransformer(similar, kw_args=arguments)
    pooling = PatchPooling(features, SHAPE, size=SIDE, stride=stride, grid=2, block_bytes=2**22)
    return pooling.fit(rows[:1])


def pooled(pooling: PatchPooling, rows: NDArray, mirror: bool = True) -> NDArray:
    """Return averages over the patches of flat photographs, and over their mirror images."""
    features = pooling.transform(rows)
    if not mirror:
        return features
    mirrored = rows.reshape(-1, *SHAPE)[:, :, ::-1].reshape(len(rows), -1)
    return (features + pooling.transform(mirrored)) / 2
