"""One door for arrays: what is odd is converted or refused, never read wrongly."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from invariance.core.arrays import check_array
from invariance.groups import CyclicShifts
from invariance.kernels import BestFit, Gaussian
from invariance.linear import RLSClassifier

PLAIN = np.arange(6.0).reshape(3, 2)
FORMS = {
    **{
        name: PLAIN.astype(kind) for name, kind in (("half", "f2"), ("big", ">f8"), ("bytes", "u1"))
    },
    "list": PLAIN.tolist(),
    "objects": PLAIN.astype(object),
    "columns": np.asfortranarray(PLAIN),
    "strided": np.repeat(PLAIN, 2, axis=0)[::2],
    "unmasked": np.ma.array(PLAIN, mask=False),
}
REFUSED = {
    "masked": (np.ma.masked_equal(PLAIN, 3.0), "X has 1 masked entries: fill them"),
    "complex": (PLAIN + 0j, "Complex data not supported"),
    "nan": (np.where(PLAIN == 4, np.nan, PLAIN), r"X must be finite, but entry \(2, 0\) is nan"),
    "none": (np.where(PLAIN == 4, None, PLAIN), r"X must be finite, but entry \(2, 0\) is nan"),
    "huge": ([[10**400]], "X needs numbers below 1e308"),
    "text": ([["a"]], "convert string to float"),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_same_numbers_in_another_form(name):
    found = check_array(FORMS[name])
    assert type(found) is np.ndarray and found.dtype == np.float64 and found.dtype.isnative
    assert_array_equal(found, PLAIN)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_array_of_numbers(name):
    given, message = REFUSED[name]
    for take in (check_array, Gaussian(), lambda X: RLSClassifier().fit(X, [0, 1, 0])):
        with pytest.raises((ValueError, TypeError), match=message):
            take(given)


def test_what_jax_traces_has_no_values():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    X = jax.numpy.ones((3, 2))
    for kernel in (Gaussian(), BestFit(Gaussian(), CyclicShifts(2))):
        assert kernel(X).shape == (3, 3)
        for trace in (jax.jit, jax.grad):
            with pytest.raises(TypeError, match="X has no values .* outside of jit and grad"):
                trace(lambda X, kernel=kernel: kernel(X).sum())(X)
