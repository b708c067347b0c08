"""Bounds of Liu et al. 2022, compared with exact values and simulations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance.groups import CyclicTranslations
from invariance.kernels import BestFit, Linear
from invariance.theory import liu2022


def test_the_sample_bound_for_independent_features_agrees_with_its_formula():
    for m, epsilon in ((100, 0.5), (784, 1.0), (4096, 0.1)):
        expected = np.sqrt(m) / (2 * np.log(m) ** ((1 + epsilon) / 2))
        assert_allclose(liu2022.theorem1_samples(np.ones(m), epsilon), expected)


def test_the_sample_bound_ignores_the_scale_and_decreases_with_correlation():
    flat = np.ones(400)
    steep = np.arange(1, 401.0) ** -1.5
    for unit in (3, 1e-300, 1e-200, 1e200, 1e305):
        scaled = liu2022.theorem1_samples(unit * steep)
        assert_allclose(scaled, liu2022.theorem1_samples(steep))
    assert liu2022.theorem1_samples(steep) < liu2022.theorem1_samples(flat)


def test_the_probability_below_the_bound_tends_to_one():
    probabilities = []
    for m in (10**3, 10**5, 10**6):
        n = int(liu2022.theorem1_samples(np.ones(m)))
        probabilities.append(liu2022.theorem1_probability(n, np.ones(m)))
        assert liu2022.theorem1_probability(n + 1, np.ones(m)) == 0
    assert (
        probabilities[0] < probabilities[1] < probabilities[2] <= 1 and probabilities[2] > 1 - 1e-6
    )


@pytest.mark.parametrize("side", [8, 20])
def test_tail_bounds_exceed_simulated_frequencies(side):
    m = side**2
    rng = np.random.default_rng(side)
    X, Z = rng.standard_normal((2, 60, m))
    assert np.mean((X**2).mean(axis=1) <= 0.5) <= liu2022.diagonal_tail(np.ones(m)) + 1e-12
    entries = BestFit(Linear(), CyclicTranslations((side, side)))(X, Z) / m
    for epsilon in (0.5, 1.0):
        level = np.sqrt(m) * np.log(m) ** ((1 + epsilon) / 2) / m
        assert np.mean(entries >= level) <= liu2022.offdiagonal_tail(m, epsilon)
