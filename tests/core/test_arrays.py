"""One door for arrays: what is odd is converted or refused, never read wrongly."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from invariance.core.arrays import check_array
from invariance.kernels import Gaussian
from invariance.linear import RLSClassifier

PLAIN = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    "given",
    [
        PLAIN.tolist(),
        PLAIN.astype(np.float16),
        PLAIN.astype(">f8"),
        PLAIN.astype(object),
        PLAIN.astype(np.uint8),
        np.asfortranarray(PLAIN),
        np.repeat(PLAIN, 2, axis=0)[::2],
        np.ma.array(PLAIN, mask=False),
    ],
    ids="list half big-endian objects bytes columns strided unmasked".split(),
)
def test_the_same_numbers_in_another_form(given):
    found = check_array(given)
    assert type(found) is np.ndarray and found.dtype == np.float64 and found.dtype.isnative
    assert_array_equal(found, PLAIN)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ma.masked_equal(PLAIN, 3.0), "X has 1 masked entries: fill them"),
        (PLAIN + 0j, "Complex data not supported"),
        (np.where(PLAIN == 4, np.nan, PLAIN), r"X must be finite, but entry \(2, 0\) is nan"),
        (np.where(PLAIN == 4, None, PLAIN), r"X must be finite, but entry \(2, 0\) is nan"),
        ([[10**400]], "X needs numbers below 1e308"),
        ([["a"]], "convert string to float"),
    ],
    ids="masked complex nan none huge text".split(),
)
def test_what_is_no_array_of_numbers(given, message):
    for take in (check_array, Gaussian(), RLSClassifier().fit):
        with pytest.raises((ValueError, TypeError), match=message):
            take(given, *([[0, 1, 0]] if "fit" in repr(take) else []))


def test_arrays_without_values_say_so():
    """JAX's tracers, of which nothing can be checked."""

    class JVPTracer:
        def __array_namespace__(self):
            return np

    with pytest.raises(TypeError, match="X cannot be traced by"):
        Gaussian()(JVPTracer())
