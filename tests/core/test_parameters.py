"""Parameters are checked and converted once; afterwards they are Python's numbers."""

import inspect
from importlib import import_module
from typing import Annotated

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, clone

from invariance.core import parameters as P


@P.stores_parameters
class Box(BaseEstimator):
    shape: Annotated[tuple, P.Shape(2)] = (2, 3)
    n: Annotated[int, P.Whole(1)] = 1
    width: Annotated[float, P.Positive()] = 1.0
    side: Annotated[str, P.OneOf("left", "right")] = "left"
    centre: Annotated[list, P.Array(1) | None] = None


NARROW = {
    "shape": (np.uint8(200), np.uint8(200)),
    "n": np.int8(100),
    "width": np.float32(0.5),
    "side": np.str_("right"),
    "centre": np.array([200, 3], np.uint8),
}


@pytest.mark.parametrize("copied", [False, True])
def test_what_was_checked_is_python_s_also_in_a_clone(copied):
    box = Box(**NARROW)
    P.check_parameters(box)
    box = clone(box) if copied else box
    assert box.shape[0] * box.shape[1] == 40_000 and box.n * 100 == 10_000
    types = [type(getattr(box, name)) for name in ("shape", "n", "width", "side")]
    assert types == [tuple, int, float, str]
    assert box.centre.dtype == np.int64
    assert repr(box).startswith("Box(centre=array([200,   3]), n=100, shape=(200, 200)")
    P.check_parameters(box.set_params(n=np.uint8(7)))
    assert type(box.n) is int and box.n == 7
    P.check_parameters(clone(Box(**NARROW)))


def test_functions_and_methods_get_python_s_numbers():
    class Square:
        @P.arguments(side=P.Whole(1))
        def area(self, side):
            return side**2

    assert Square().area(np.uint8(200)) == 40_000
    with pytest.raises(P.ParameterError, match="Square.area needs side to be .* >= 1, got 0"):
        Square().area(side=0)
    given = {"a": np.float16(0.5), "b": [np.int8(100), 3], "c": np.int16(9)}
    found = P.check_values("f", {"a": P.Number(), "b": P.Array(1)}, given)
    assert type(found["a"]) is float and np.asarray(found["b"]).dtype == np.int64
    assert found["c"] == 9


REFUSED = [
    *[(P.Array(), v) for v in (np.ma.array([1.0, 2.0], mask=[0, 1]), [1.0, 1j], ["1"], [np.nan])],
    *[(P.Array(), v) for v in (np.array([2**63], np.uint64), [[1.0, 2.0], [3.0]], [None])],
    *[(P.Number(), v) for v in (np.inf, 10**30, 1e160, True)],
    *[(P.Shape(2), v) for v in ((28,), (0, 3), "ab")],
    *((P.Each(P.Positive()), []), (P.Has("a kernel", "diag"), dict)),
]


@pytest.mark.parametrize(("kind", "value"), REFUSED, ids=lambda value: repr(value)[:30])
def test_values_that_are_of_no_kind(kind, value):
    assert not kind.accepts(value)


#: Values of what is no size; bounds of arrays alone are left out.
SYMBOLS = dict.fromkeys(("eps", "eps0", "epsilon", "delta", "delta1", "delta2", "rho"), 0.25)
SYMBOLS["loss"] = "hinge"
OF_ARRAYS = {"orbit_distance", "cdf_products", "remark4_kernel", "jacobian_factor"}


@pytest.mark.parametrize("paper", ["liu2022", "mroueh2015", "raj2017", "soleymani2025"])
@pytest.mark.parametrize("small", [np.int8(100), np.uint8(200), np.int16(200)], ids=repr)
@np.errstate(all="ignore")
def test_bounds_of_small_integers_are_those_of_python_s(paper, small):
    module = import_module(f"invariance.theory.{paper}")
    for name, f in inspect.getmembers(module, inspect.isfunction):
        if f.__module__ == module.__name__ and name[0] != "_" and name not in OF_ARRAYS:
            symbols = inspect.signature(f).parameters
            found = f(**{s: SYMBOLS.get(s, small) for s in symbols})
            due = f(**{s: SYMBOLS.get(s, int(small)) for s in symbols})
            assert_allclose(found, due, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("value", [[1e151, 0.0], (np.inf, -2e200), np.full(20, -1e160)])
def test_arrays_of_finite_numbers_that_are_too_large_are_told_the_bound(value):
    """They are finite, and a message that asks for finite numbers alone would say nothing."""
    with pytest.raises(P.ParameterError) as refused:
        P.check_values("Ball", {"centre": P.Array()}, {"centre": value})
    told = "magnitudes beyond 1e150 overflow when they are multiplied; rescale the data"
    finite = all(abs(number) < np.inf for number in np.ravel(value).tolist())
    assert (told in str(refused.value)) == finite
