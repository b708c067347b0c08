"""`Hyperkernel` warns if its base kernel has too few correct digits."""

import warnings

import numpy as np
import pytest

from invariance.groups import CyclicShifts
from invariance.kernels import CDF, Average, BestFit, Hyperkernel

GROUP = CyclicShifts(3, block=2)
POINTS = 1e5 * np.random.default_rng(0).random((5, 6))
#: Shifted by one block, and moved by so little that no exact kernel value changes by 1e-5.
SHIFTED_POINTS = np.roll(POINTS, 2, axis=1)
SHIFTED_POINTS += 1e-6 * np.random.default_rng(1).standard_normal(POINTS.shape)


@pytest.mark.parametrize("reduced", [Average, BestFit])
def test_a_corner_at_distance_zero_costs_half_the_digits_and_a_large_gamma_warns(reduced):
    kernel = Hyperkernel(reduced(CDF(radius=3e5), GROUP), gamma=100.0)
    with pytest.warns(UserWarning, match="values are wrong by about"):
        error = np.abs(kernel(POINTS, SHIFTED_POINTS) - kernel(POINTS)).max()
    assert error > 1e-4


@pytest.mark.parametrize("reduced", [Average, BestFit])
def test_silence_means_that_values_are_accurate(reduced):
    kernel = Hyperkernel(reduced(CDF(radius=3e5), GROUP), gamma=1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        error = np.abs(kernel(POINTS, SHIFTED_POINTS) - kernel(POINTS)).max()
    assert error < 1e-3
