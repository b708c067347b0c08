"""Patch pooling against a plain loop over patches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer

from invariance.features import OrbitFourier, PatchPooling


def plain(images, psi, size, stride, grid):
    """Mean of psi over the patches whose place falls in a cell, one patch at a time."""
    height, width = images.shape[1:3]
    tops, lefts = range(0, height - size + 1, stride), range(0, width - size + 1, stride)
    cells = (min(grid, len(tops)), min(grid, len(lefts)))
    features = []
    for image in images:
        found = {(a, b): [] for a in range(cells[0]) for b in range(cells[1])}
        for i, top in enumerate(tops):
            for j, left in enumerate(lefts):
                # the last cell that starts at or before the place
                a = max(a for a in range(cells[0]) if a * len(tops) // cells[0] <= i)
                b = max(b for b in range(cells[1]) if b * len(lefts) // cells[1] <= j)
                patch = image[top : top + size, left : left + size]
                found[a, b].append(psi(patch.transpose(2, 0, 1).reshape(1, -1))[0])
        features.append(np.concatenate([np.mean(v, axis=0) for v in found.values()]))
    return np.array(features)


HOW = st.fixed_dictionaries(
    {
        "size": st.integers(1, 3),
        "stride": st.integers(1, 3),
        "grid": st.integers(1, 4),
        "block_bytes": st.sampled_from([1, 2**20]),
    }
)


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 7), st.integers(3, 7), st.integers(1, 3), HOW, st.integers(0, 99))
def test_agrees_with_a_loop_over_patches(height, width, channels, how, seed):
    images = np.random.default_rng(seed).standard_normal((3, height, width, channels))
    model = PatchPooling(FunctionTransformer(np.cos), (height, width, channels), **how)
    expected = plain(images, np.cos, how["size"], how["stride"], how["grid"])
    assert_allclose(model.fit_transform(images.reshape(3, -1)), expected, atol=1e-12)


def test_a_fourier_map_embeds_the_distribution_of_patches():
    """One cell and cyclic images: moving the image leaves the features alone."""
    X = np.random.default_rng(0).standard_normal((4, 1, 9))
    wrapped, moved = (np.concatenate([Z, Z[:, :, :2]], axis=2) for Z in (X, np.roll(X, 4, axis=2)))
    psi = OrbitFourier(None, 50, gamma=0.3, random_state=0)
    model = PatchPooling(psi, (1, 11), size=3, random_state=0).fit(wrapped[:, 0])
    Z = model.transform(wrapped[:, 0])
    assert Z.shape == (4, 50)
    assert_allclose(Z, model.transform(moved[:, 0]), atol=1e-12)
    assert np.abs(Z[0] - Z[1]).max() > 0.01


def test_the_map_is_fitted_to_patches_of_the_images_given():
    images = np.arange(24.0).reshape(2, 12)
    model = PatchPooling(PCA(1), (3, 4), size=2, n_patches=5, random_state=0).fit(images)
    assert model.features_.n_samples_ == 5 and model.features_.n_features_in_ == 4
    assert model.places_ == (2, 3)
    assert_array_equal(PatchPooling().fit_transform(images), images)
    with pytest.raises(ValueError, match="have 15 pixels, but X has 12 features"):
        PatchPooling(shape=(3, 5)).fit(images)
