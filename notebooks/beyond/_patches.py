"""Patches of photographs, compared with templates, as `cifar10` and `records` do."""

import numpy as np


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


def mirrored(rows):
    """Flat photographs of 32 x 32 pixels and three colours, left and right exchanged."""
    return rows.reshape(-1, 32, 32, 3)[:, :, ::-1].reshape(len(rows), -1)
