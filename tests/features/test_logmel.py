"""Log-mel spectrograms: as loud as floats go, of parameters of any integer type."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from invariance.features import LogMel

WAVES = np.sin(np.arange(3000) ** np.array([[1.1], [1.2]]))


@pytest.mark.parametrize(("dtype", "loud"), [(np.float32, 2.0**67), (np.float64, 2.0**700)])
def test_loudness_does_not_overflow(dtype, loud):
    """Float32 waves of 1e20 gave NaN."""
    waves = WAVES.astype(dtype)
    expected = LogMel().fit_transform(waves)
    assert np.isfinite(expected).all() and expected.max() == 1
    assert_array_equal(LogMel().fit_transform(waves * dtype(loud)), expected)
    small = LogMel(n_bands=np.uint8(20), frame=np.int8(100), hop=np.int8(90))
    assert_allclose(
        small.fit_transform(waves), LogMel(n_bands=20, frame=100, hop=90).fit_transform(waves)
    )
