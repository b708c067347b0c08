"""Scattering: constants, shifts, energy, and what the filters are."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance.features import Scattering, scattering

SHAPE = (16, 16)


def blob(row, column):
    y, x = np.indices(SHAPE)
    return np.exp(-((y - row) ** 2 + (x - column) ** 2) / 8).ravel()


def test_a_constant_image_leaves_its_mean_alone():
    features = Scattering(SHAPE, n_scales=2).fit_transform(np.full((1, 256), 0.7))[0]
    assert_allclose(features[:16], 0.7)
    assert_allclose(features[16:], 0, atol=1e-12)


def test_homogeneous_of_degree_one_and_non_negative_after_the_mean():
    X = np.random.default_rng(0).standard_normal((4, 256))
    scattering = Scattering(SHAPE, n_scales=2).fit(X)
    assert_allclose(scattering.transform(3 * X), 3 * scattering.transform(X), rtol=1e-10)
    assert scattering.transform(X)[:, 16:].min() > -1e-3


def test_more_stable_under_a_shift_than_pixels():
    one, other = blob(8, 8), blob(8, 9)
    features = Scattering(SHAPE, n_scales=3).fit_transform([one, other])
    pixels = np.linalg.norm(one - other) / np.linalg.norm(one)
    assert np.linalg.norm(features[0] - features[1]) / np.linalg.norm(features[0]) < pixels / 2


def test_orientation_is_seen():
    y, x = np.indices(SHAPE)
    stripes = [np.cos(3 * np.pi / 4 * x).ravel(), np.cos(3 * np.pi / 4 * y).ravel()]
    features = Scattering(SHAPE, n_scales=1, orientations=2).fit_transform(stripes)
    by_orientation = features.reshape(2, 3, -1).mean(axis=2)[:, 1:]
    assert by_orientation[0, 0] > 5 * by_orientation[0, 1]
    assert by_orientation[1, 1] > 5 * by_orientation[1, 0]


def test_batches_and_errors(monkeypatch):
    X = np.random.default_rng(0).random((5, 256)).astype(np.float32)
    whole = Scattering(SHAPE).fit_transform(X)
    assert whole.dtype == np.float32
    monkeypatch.setattr(scattering, "_BATCH", 2)
    assert_allclose(Scattering(SHAPE).fit_transform(X), whole, rtol=1e-5)
    for wrong, message in (
        ({"n_scales": 0}, "n_scales to be a whole number >= 1.*, got 0"),
        ({"shape": (15, 15)}, "have 225 pixels, but X has 256 features"),
        ({"shape": (16, 16, 1)}, r"shape to be a tuple of 2 .* got \(16, 16, 1\)"),
    ):
        with pytest.raises(ValueError, match=message):
            Scattering(**({"shape": SHAPE} | wrong)).fit(X)


def test_sides_that_are_no_multiples_are_continued():
    X = np.random.default_rng(0).random((2, 47 * 46))
    features = Scattering((47, 46), n_scales=2).fit_transform(X)
    assert features.shape == (2, 81 * 12 * 12)
    continued = np.pad(X.reshape(2, 47, 46), ((0, 0), (0, 1), (0, 2)), "reflect").reshape(2, -1)
    whole = Scattering((48, 48), n_scales=2).fit_transform(continued)
    # Far from the edge, where both see the same pixels.
    inner = [f.reshape(2, 81, 12, 12)[:, :17, 4:6, 4:6] for f in (features, whole)]
    assert_allclose(inner[0], inner[1], rtol=1e-3)
