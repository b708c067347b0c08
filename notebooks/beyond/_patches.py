"""Patches of photographs, compared with templates, as `cifar10` and `records` do."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer

from invariance.beyond import PatchPooling, patch_sets

SHAPE = (32, 32, 3)


def centred(rows):
    """Each row minus its mean, over its standard deviation (kept from zero)."""
    rows = rows - rows.mean(axis=1, keepdims=True)
    return rows / np.sqrt(rows.var(axis=1, keepdims=True) + 1e-2)


def unit(rows):
    """Rows at unit norm; blank ones stay blank."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def similar(patches, whitening, templates, threshold):
    """Thresholded inner products of whitened unit patches with templates and their negatives."""
    products = unit((centred(patches) @ whitening).astype(np.float32)) @ templates
    found = np.empty((len(products), 2 * products.shape[1]), np.float32)
    above, below = np.hsplit(found, 2)
    np.subtract(products, threshold, out=above)
    np.subtract(-threshold, products, out=below)
    return np.maximum(found, 0, out=found)


def patch_pooling(rows, *, every, patches, components, templates, threshold, seed, stride=1):
    """A pooling over quarters of photographs; whitening and templates come from patches of `rows`.

    These are taken at every so many pixels, and so many of them are drawn at random.
    """
    found = patch_sets(rows, SHAPE, size=6, stride=every).reshape(-1, 6, 6, 3)
    found = found[np.random.default_rng(seed).permutation(len(found))[:patches]]
    found = centred(found.transpose(0, 3, 1, 2).reshape(-1, 108))  # colours first, as pooled
    pca = PCA(components, random_state=seed).fit(found)
    whitening = (pca.components_.T / np.sqrt(pca.explained_variance_)).astype(np.float32)
    given = {"whitening": whitening, "templates": unit(found[:templates] @ whitening).T}
    features = FunctionTransformer(similar, kw_args=given | {"threshold": np.float32(threshold)})
    how = {"size": 6, "stride": stride, "grid": 2, "block_bytes": 2**22}
    return PatchPooling(features, SHAPE, **how).fit(rows[:1])


def pooled(pooling, rows, mirror=True):
    """Averages over the patches of flat photographs, and over their mirror images."""
    found = pooling.transform(rows)
    mirrored = rows.reshape(-1, *SHAPE)[:, :, ::-1].reshape(len(rows), -1)
    return (found + pooling.transform(mirrored)) / 2 if mirror else found
