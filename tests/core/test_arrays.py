"""All arrays are validated alike: unusual arrays are converted or refused, never misread."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from invariance.core.arrays import check_array
from invariance.groups import CyclicShifts
from invariance.kernels import BestFit, Gaussian
from invariance.linear import RLSClassifier

PLAIN = np.arange(6.0).reshape(3, 2)
REFUSED = {
    "masked": (np.ma.masked_equal(PLAIN, 3.0), "X has 1 masked entries: fill them"),
    "complex": (PLAIN + 0j, "Complex data not supported"),
    "nan": (np.where(PLAIN == 4, np.nan, PLAIN), r"X must be finite, but entry \(2, 0\) is nan"),
    "none": (np.where(PLAIN == 4, None, PLAIN), r"X must be finite, but entry \(2, 0\) is nan"),
    "huge": ([[10**400]], "X needs numbers below 1e308"),
    "text": ([["a"]], "convert string to float"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_arrays_are_refused(name):
    values, message = REFUSED[name]
    for take in (check_array, Gaussian(), lambda X: RLSClassifier().fit(X, [0, 1, 0])):
        with pytest.raises((ValueError, TypeError), match=message):
            take(values)


def test_arrays_traced_by_jax_are_refused():
    jax = pytest.importorskip("jax", reason="jax is not installed")
    X = jax.numpy.ones((3, 2))
    for kernel in (Gaussian(), BestFit(Gaussian(), CyclicShifts(2))):
        assert kernel(X).shape == (3, 3)
        for trace in (jax.jit, jax.grad):
            with pytest.raises(TypeError, match="X has no values .* outside of jit and grad"):
                trace(lambda X, kernel=kernel: kernel(X).sum())(X)


# -- a sample of the cases of `slow_checks/fuzz_arrays.py`, which runs all of them -----------------

SCRIPT = Path(__file__).parents[1] / "slow_checks" / "fuzz_arrays.py"
spec = importlib.util.spec_from_file_location("fuzz_arrays", SCRIPT)
fuzz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz)


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_arrays_in_other_forms_give_the_same_numbers(name):
    """Every seventh case; over all targets, every form and every value occurs."""
    start = list(fuzz.TARGETS).index(name)
    chosen = [case for case in fuzz.cases(0) if case[0] == name][start % 7 :: 7]
    assert fuzz.failures(chosen, 0) == {}


def test_the_fuzz_detects_careless_functions(monkeypatch):
    def careless(X):
        X = fuzz.np.asarray(X)
        if X.dtype == float and X.flags.writeable:
            X[0] += 1
        return [X * 3]

    monkeypatch.setitem(fuzz.TARGETS, "careless", careless)
    failures = fuzz.failures([case for case in fuzz.cases(0) if case[0] == "careless"], 0)
    assert "modified" in failures["careless", "points", "strided"]
    assert "silent" in failures["careless", "points", "uint8"]
    assert "silent" in failures["careless", "points", "complex"]
    assert "silent" in failures["careless", "NaN", "read-only"]
