"""Densities on angles, shifts and scales: bad parameters, and the limit of large concentration."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from invariance.groups import (
    Affine,
    CircleAction,
    LogNormal,
    Normal,
    Rotations,
    Scalings,
    Translations,
    Uniform,
    VonMises,
)


@pytest.mark.parametrize(
    "density, message",
    [
        (Uniform(1.0, 1.0), "low < high, got low=1.0, high=1.0"),
        (Uniform(0.0, np.inf), "Uniform needs high to be a finite number, got inf"),
        (Uniform(np.nan, 1.0), "Uniform needs low to be a finite number, got nan"),
        (VonMises(-1.0), "VonMises needs kappa to be a finite number >= 0, got -1.0"),
        (VonMises(np.inf), "VonMises needs kappa to be a finite number >= 0, got inf"),
        (VonMises(np.nan), "VonMises needs kappa to be a finite number >= 0, got nan"),
        (VonMises("1"), "VonMises needs kappa to be a finite number >= 0, got '1'"),
        (VonMises(1.0, loc=np.nan), "VonMises needs loc to be a finite number, got nan"),
        (Normal(0.0), "Normal needs scale to be a finite number > 0, got 0.0"),
        (Normal(np.inf), "Normal needs scale to be a finite number > 0, got inf"),
        (Normal(None), "Normal needs scale to be a finite number > 0, got None"),
        (Normal(1.0, loc=np.inf), "Normal needs loc to be a finite number, got inf"),
        (LogNormal(0.0), "LogNormal needs sigma to be a finite number > 0 and <= 50, got 0.0"),
        (LogNormal(np.inf), "LogNormal needs sigma to be a finite number > 0 and <= 50, got inf"),
        (LogNormal(1.0, median=-1.0), "LogNormal needs median to be a finite number > 0, got -1.0"),
    ],
)
def test_bad_parameters_are_named(density, message):
    for method in (density.sample, density.pdf):
        with pytest.raises(ValueError, match=message):
            method(1)


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


@pytest.mark.parametrize(
    "group, name",
    [
        (Rotations((4, 4), density=0.2), "density"),
        (Rotations((4, 4), [0, 90], density=0.2), "density"),
        (Scalings((4, 4), density=0.2), "density"),
        (Translations((4, 4), 1, density=0.2), "density"),
        (CircleAction([0, 1, 1], 0.2), "density"),
        (CircleAction([0, 1, 1], 0.2, n_nodes=4), "density"),
        (Affine((4, 4), shear=0.2), "shear"),
    ],
)
def test_a_number_is_no_density(group, name):
    message = f"needs {name} to be a density, such as Normal.* got 0.2"
    with pytest.raises(TypeError, match=message):
        group.sample(2, 0)
    with pytest.raises(TypeError, match=message):
        _ = group.symmetric
