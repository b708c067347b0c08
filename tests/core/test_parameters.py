"""Parameters are checked and converted once; afterwards they are Python's numbers."""

from typing import Annotated

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from invariance.core.parameters import (
    Array,
    Number,
    OneOf,
    ParameterError,
    Positive,
    Shape,
    Whole,
    arguments,
    check_parameters,
    check_values,
    stores_parameters,
)


@stores_parameters
class Box(BaseEstimator):
    shape: Annotated[tuple, Shape(2)] = (2, 3)
    n: Annotated[int, Whole(1)] = 1
    width: Annotated[float, Positive()] = 1.0
    side: Annotated[str, OneOf("left", "right")] = "left"
    centre: Annotated[list, Array(1) | None] = None


NARROW = {
    "shape": (np.uint8(200), np.uint8(200)),
    "n": np.int8(100),
    "width": np.float32(0.5),
    "side": np.str_("right"),
    "centre": np.array([200, 3], np.uint8),
}


def test_what_was_checked_is_python_s():
    box = Box(**NARROW)
    check_parameters(box)
    assert box.shape[0] * box.shape[1] == 40_000 and box.n * 100 == 10_000
    types = [type(getattr(box, name)) for name in ("shape", "n", "width", "side")]
    assert types == [tuple, int, float, str]
    assert box.centre.dtype == np.int64
    assert repr(box).startswith("Box(centre=array([200,   3]), n=100, shape=(200, 200)")


@pytest.mark.parametrize("checked", [False, True])
def test_clones_take_what_was_given_and_what_was_converted(checked):
    box = Box(**NARROW)
    if checked:
        check_parameters(box)
    copied = clone(box)
    check_parameters(copied)
    assert copied.get_params()["n"] == 100 and type(copied.n) is int
    check_parameters(copied.set_params(n=np.uint8(7)))
    assert type(copied.n) is int and copied.n == 7


def test_functions_and_methods_get_python_s_numbers():
    class Square:
        @arguments(side=Whole(1))
        def area(self, side):
            return side**2

    assert Square().area(np.uint8(200)) == 40_000
    with pytest.raises(ParameterError, match="Square.area needs side to be .* >= 1, got 0"):
        Square().area(side=0)
    given = {"a": np.float16(0.5), "b": [np.int8(100), 3], "c": np.int16(9)}
    found = check_values("f", {"a": Number(), "b": Array(1)}, given)
    assert (
        type(found["a"]) is float and np.asarray(found["b"]).dtype == np.int64 and found["c"] == 9
    )


@pytest.mark.parametrize(
    "value",
    [
        np.ma.array([1.0, 2.0], mask=[0, 1]),
        [1.0, 1j],
        np.array([2**63], np.uint64),
        [[1.0, 2.0], [3.0]],
        ["1"],
        [np.nan],
        [None],
    ],
    ids=str,
)
def test_arrays_that_are_none(value):
    assert not Array().accepts(value)
