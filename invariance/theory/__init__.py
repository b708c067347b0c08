"""Every bound and rate of the papers as a plain function of its parameters: one module per paper.

Arguments are numbers, or arrays that broadcast if the annotation is `Numbers`. A symbol means the
same throughout a paper, and its module describes the values it may have; no function checks them.
"""

from collections.abc import Callable
from functools import wraps
from math import ceil, inf
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

#: A number, or several that broadcast with the others.
Numbers = float | NDArray[np.float64]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def count(value: float) -> int:
    """Smallest whole number that is not below; infinity if it is too large for a float."""
    if value < inf:
        return ceil(value)
    return inf  # type: ignore[return-value]


def confidence_factor(odds: Numbers) -> Numbers:
    r"""Factor :math:`1 + \sqrt{2 \log(1/\delta)}` of bounds that hold with probability 1 - delta.

    ``odds`` is 1 / delta, or m / delta for a union over m events.
    """
    return 1 + np.sqrt(2 * np.log(odds))


def in_floats(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Decorate a function to take NumPy's integers and half floats as floats: they may overflow.

    >>> @in_floats
    ... def square(x: Numbers) -> Numbers:
    ...     return x * x
    >>> float(square(np.uint8(16)))
    256.0
    """

    @wraps(function)
    def in_floats_call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        floats = [_widened(value) for value in args]
        named_floats = {name: _widened(value) for name, value in kwargs.items()}
        return function(*floats, **named_floats)

    return in_floats_call


def _widened(value: Any) -> Any:
    """Return the value, in double precision if it consists of NumPy's integers or half floats."""
    if not isinstance(value, np.ndarray | np.generic):
        return value
    if value.dtype.kind in "iu" or value.dtype == np.float16:
        return value.astype(float)
    return value
