"""A sample of the fuzz of arrays; all of it runs by hand (tests/slow_checks/fuzz_arrays.py)."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "slow_checks" / "fuzz_arrays.py"
spec = importlib.util.spec_from_file_location("fuzz_arrays", SCRIPT)
fuzz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz)


@pytest.mark.parametrize("name", fuzz.TARGETS)
def test_the_same_numbers_in_other_forms(name):
    """Every seventh case: over the targets, all forms and all values come up."""
    start = list(fuzz.TARGETS).index(name)
    chosen = [case for case in fuzz.cases(0) if case[0] == name][start % 7 :: 7]
    assert fuzz.failures(chosen, 0) == {}


def test_the_fuzz_finds_what_it_looks_for(monkeypatch):
    def careless(X):
        X = fuzz.np.asarray(X)
        if X.dtype == float and X.flags.writeable:
            X[0] += 1
        return [X * 3]

    monkeypatch.setitem(fuzz.TARGETS, "careless", careless)
    wrong = fuzz.failures([case for case in fuzz.cases(0) if case[0] == "careless"], 0)
    assert "modified" in wrong["careless", "points", "strided"]
    assert "silent" in wrong["careless", "points", "uint8"]
    assert "silent" in wrong["careless", "points", "complex"]
    assert "silent" in wrong["careless", "NaN", "read-only"]
