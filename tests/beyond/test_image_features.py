"""Features of images: pooled patches agree with a loop over patches; scattering."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer

from invariance.beyond import PatchPooling, Scattering


def plain(images, psi, size, stride, grid):
    """Mean of psi over the patches of each cell, by a loop over patches."""
    height, width = images.shape[1:3]
    tops = range(0, height - size + 1, stride)
    lefts = range(0, width - size + 1, stride)
    cells = (min(grid, len(tops)), min(grid, len(lefts)))
    features = []
    for image in images:
        patches = {(a, b): [] for a in range(cells[0]) for b in range(cells[1])}
        for i, top in enumerate(tops):
            for j, left in enumerate(lefts):
                # a patch belongs to the last cell that starts at or before it
                a = max(a for a in range(cells[0]) if a * len(tops) // cells[0] <= i)
                b = max(b for b in range(cells[1]) if b * len(lefts) // cells[1] <= j)
                patch = image[top : top + size, left : left + size]
                patches[a, b].append(psi(patch.transpose(2, 0, 1).reshape(1, -1))[0])
        features.append(np.concatenate([np.mean(v, axis=0) for v in patches.values()]))
    return np.array(features)


OPTIONS = st.fixed_dictionaries(
    {
        "size": st.integers(1, 3),
        "stride": st.integers(1, 3),
        "grid": st.integers(1, 4),
        "block_bytes": st.sampled_from([1, 2**20]),
    }
)


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 7), st.integers(3, 7), st.integers(1, 3), OPTIONS, st.integers(0, 99))
def test_patch_features_agree_with_a_loop_over_patches(height, width, channels, options, seed):
    images = np.random.default_rng(seed).standard_normal((3, height, width, channels))
    model = PatchPooling(FunctionTransformer(np.cos), (height, width, channels), **options)
    expected = plain(images, np.cos, options["size"], options["stride"], options["grid"])
    assert_allclose(model.fit_transform(images.reshape(3, -1)), expected, atol=1e-12)


def test_the_feature_map_is_fitted_to_patches_of_the_images():
    images = np.arange(24.0).reshape(2, 12)
    model = PatchPooling(PCA(1), (3, 4), size=2, n_patches=5, random_state=0).fit(images)
    assert model.features_.n_samples_ == 5 and model.features_.n_features_in_ == 4
    assert model.places_ == (2, 3)
    assert_array_equal(PatchPooling().fit_transform(images), images)


# -- scattering: its definition, by a loop over wavelets and sums over pixels ---------------------

SHAPE = (16, 16)


def by_definition(images, n_scales, orientations):
    """Window averages of x, |x * psi_1| and ||x * psi_1| * psi_2| with reflected boundaries."""
    block = 2**n_scales
    images = np.pad(images, ((0, 0), (block, block), (block, block)), "reflect")
    n = images.shape[1]
    y, x = np.meshgrid(*[np.arange(-3 * n, 3 * n)] * 2, indexing="ij")
    far = np.subtract.outer(np.arange(n), np.arange(n)) % n

    def convolution(values):
        torus = values.reshape(6, n, 6, n).sum(axis=(0, 2))
        return torus[far[:, None, :, None], far[None, :, None, :]].reshape(n * n, n * n)

    def wavelet(j, k):
        angle = np.pi * k / orientations
        width = 0.8 * 2**j
        u = x * np.cos(angle) + y * np.sin(angle)
        v = y * np.cos(angle) - x * np.sin(angle)
        window = np.exp(-(u**2 + (4 * v / orientations) ** 2) / (2 * width**2))
        window = window / window.sum()
        wave = np.exp(3j * np.pi / 4 * u / 2**j)
        return convolution(window * (wave - np.sum(window * wave)))

    def average(image):
        places = (smooth @ image).reshape(n, n, -1)[block:-block:block, block:-block:block]
        return places.reshape(-1, image.shape[1])

    window = np.exp(-(x**2 + y**2) / (2 * (0.4 * block) ** 2))
    images = images.reshape(-1, n * n).T
    smooth = convolution(window / window.sum())
    waves = {(j, k): wavelet(j, k) for j in range(n_scales) for k in range(orientations)}
    coefficients = [average(images)]
    for band, wave in waves.items():
        first = np.abs(wave @ images)
        second = [np.abs(later @ first) for (j, _), later in waves.items() if j > band[0]]
        coefficients += [average(image) for image in (first, *second)]
    return np.concatenate(coefficients).T


#: Wavelets with few orientations are broad, so that moduli are not subsampled.
CASES = [(1, 3, 1e-12), (2, 4, 1e-12), (3, 2, 1e-12), (3, 4, 1e-3)]


@pytest.mark.parametrize(("n_scales", "orientations", "rtol"), CASES)
def test_scattering_agrees_with_the_definition(n_scales, orientations, rtol):
    X = np.concatenate([np.random.default_rng(0).standard_normal((2, 64)), np.ones((1, 64))])
    expected = by_definition(X.reshape(3, 8, 8), n_scales, orientations)
    features = Scattering((8, 8), n_scales=n_scales, orientations=orientations).fit_transform(X)
    assert_allclose(features, expected, rtol=0, atol=rtol * expected.max())


def blob(row, column):
    y, x = np.indices(SHAPE)
    return np.exp(-((y - row) ** 2 + (x - column) ** 2) / 8).ravel()


def test_scattering_changes_less_under_a_shift_than_pixels():
    image = blob(8, 8)
    shifted = blob(8, 9)
    features = Scattering(SHAPE, n_scales=3).fit_transform([image, shifted])
    pixels = np.linalg.norm(image - shifted) / np.linalg.norm(image)
    assert np.linalg.norm(features[0] - features[1]) / np.linalg.norm(features[0]) < pixels / 2


def test_scattering_of_an_image_does_not_depend_on_its_batch():
    """The images are filtered in several batches."""
    X = np.random.default_rng(0).random((300, 256)).astype(np.float32)
    features = Scattering(SHAPE).fit(X)
    together = features.transform(X)
    assert together.dtype == np.float32
    alone = np.concatenate([features.transform(X[i : i + 1]) for i in (0, 150, 299)])
    assert_allclose(together[[0, 150, 299]], alone, rtol=1e-5)


def test_sides_that_are_not_multiples_of_the_window_are_padded():
    X = np.random.default_rng(0).random((2, 47 * 46))
    features = Scattering((47, 46), n_scales=2).fit_transform(X)
    assert features.shape == (2, 81 * 12 * 12)
    continued = np.pad(X.reshape(2, 47, 46), ((0, 0), (0, 1), (0, 2)), "reflect").reshape(2, -1)
    of_continued = Scattering((48, 48), n_scales=2).fit_transform(continued)
    # Away from the boundary, both depend on the same pixels.
    inner = [f.reshape(2, 81, 12, 12)[:, :17, 4:6, 4:6] for f in (features, of_continued)]
    assert_allclose(inner[0], inner[1], rtol=1e-3)
