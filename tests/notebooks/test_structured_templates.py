"""Structured templates, against the matrices that define them."""

import sys
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose
from scipy.linalg import hadamard

from invariance.kernels import Gaussian

sys.path.insert(0, str(Path(__file__).parents[2] / "notebooks/raj2017"))
from _structured_templates import StructuredTemplates


def test_structured_products_are_those_of_the_definition():
    for s, d in [(1, 1), (5, 3), (16, 16), (40, 12)]:
        templates = StructuredTemplates(s, d, gamma=0.7, random_state=0)
        H = hadamard(templates.size) / np.sqrt(templates.size)
        rows = []
        for signs, radii in zip(templates.signs, templates.radii, strict=True):
            block = H @ np.diag(signs[2]) @ H @ np.diag(signs[1]) @ H @ np.diag(signs[0])
            # In full: sqrt(2 gamma) times the radii of Gaussian vectors.
            rows.append(radii[:, None] * templates.size**1.5 * block)
        W = np.concatenate(rows)[:s, :d]
        X = np.random.default_rng(0).standard_normal((4, d))
        assert_allclose(templates.products(X), X @ W.T, atol=1e-12)
        assert templates.products(X.astype(np.float32)).dtype == np.float32


def test_structured_features_approximate_the_kernel():
    """Mean over 200 draws; the standard error is below 0.004."""
    X = np.random.default_rng(1).standard_normal((6, 8)) / np.sqrt(8)
    grams = []
    for draw in range(200):
        values = StructuredTemplates(16, 8, gamma=0.5, random_state=draw).products(X)
        Z = np.hstack([np.cos(values), np.sin(values)]) / 4
        grams.append(Z @ Z.T)
    assert_allclose(np.mean(grams, axis=0), Gaussian(0.5)(X), atol=0.03)
