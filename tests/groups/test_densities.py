"""Densities on angles: the limit of large concentration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance.groups import (
    VonMises,
)


@pytest.mark.parametrize("kappa", [1e11, 1e13, 1e17, 1e300])
def test_large_concentrations_are_normal_around_the_circle(kappa):
    density = VonMises(kappa, loc=7.0)
    near = 7.0 - 2 * np.pi
    x = density.sample(4000, 0)
    if kappa < 1e20:  # else all draws round to the same angle
        spread = max(kappa**-0.5, 1e-15)
        assert abs((x - near).std() / spread - 1) < 0.1
    assert_allclose(x, near, atol=max(6 * kappa**-0.5, 1e-14))
    if kappa < 1e15:
        for centre in (near, 7.0):
            expected = np.sqrt(kappa / (2 * np.pi))
            assert_allclose(density.pdf(centre), expected, rtol=1e-3)
    assert_allclose(density.fourier_coefficients([0, 1]), [1, np.exp(7j)], atol=1e-10)
