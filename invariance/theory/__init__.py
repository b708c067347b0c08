"""Every bound and rate of the papers as a plain function of its parameters: one module a paper.

Arguments are numbers, or arrays that broadcast where `Numbers` stands. A symbol means the same
throughout a paper, and its module says what it may be; no function checks it.
"""

from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from math import ceil, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A number, or several that broadcast with the others.
Numbers = float | NDArray[np.float64]


def count(value: float) -> int:
    """The smallest whole number that is not below; infinity, where it is too large for a float."""
    return ceil(value) if value < inf else inf  # type: ignore[return-value]


def in_floats(module: dict[str, Any]) -> None:
    """Make floats of NumPy's small integers in all calls of a module: they overflow in silence."""

    def wide(value: Any) -> Any:
        given = value.dtype if isinstance(value, (np.ndarray, np.generic)) else None
        narrow = given is not None and given.kind in "iu" and given.itemsize < 8
        return value.astype(float) if narrow else value

    def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            return function(*map(wide, args), **{k: wide(v) for k, v in named.items()})

        return call

    for name, function in list(module.items()):
        if isfunction(function) and function.__module__ == module["__name__"]:
            module[name] = wrapped(function)
