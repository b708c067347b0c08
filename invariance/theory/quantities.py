"""What the quantities in a bound may be, and the check of a function's arguments by these kinds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from math import inf
from numbers import Real
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ..core.parameters import Array, Kind, Number, ParameterError, Whole, check_values, short

__all__ = ["AMOUNTS", "ANY_SIZE", "DIMENSION", "LOGGED", "PROBABILITY", "SIZE", "SIZES", "checked"]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


_INFINITY = Kind("infinity", lambda value: isinstance(value, Real) and value == inf)

AMOUNTS = Array(above=0)
#: Numbers of bins, templates, group elements: an infinite one makes its error zero.
SIZE = Number(above=0, most=1e308) | _INFINITY
#: The same where its logarithm is taken.
LOGGED = Number(1, most=1e308) | _INFINITY


def _are_sizes(value: Any) -> bool:
    """Like an array of numbers above zero, but infinite entries are sizes too."""
    if np.ndim(value) == 0:
        return SIZE.accepts(value)
    try:
        array = np.asarray(value)
    except ValueError:
        return False
    return array.dtype.kind in "iuf" and all(map(SIZE.accepts, array.ravel().tolist()))


SIZES = Kind(AMOUNTS.words, _are_sizes)
ANY_SIZE = Kind(
    "a whole number >= 1, of any size",
    lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 1,
) | Whole(1)
#: Of a space, where binomial coefficients are computed.
DIMENSION = Whole(1, 10_000)
PROBABILITY = Number(above=0, below=1)


def checked(
    kinds: Mapping[str, Kind], **more: Kind
) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """A decorator: arguments are of these kinds and the result is finite, or it is an error.

    Parameters
    ----------
    kinds : mapping from names to kinds
        Names that the function does not have do not matter.
    **more : Kind
        Takes the place of those in ``kinds``.

    Examples
    --------
    >>> @checked({"delta": PROBABILITY})
    ... def bound(n, delta=0.5):
    ...     return n**2 / delta
    >>> bound(1)
    2.0
    >>> bound(1, delta=2)
    Traceback (most recent call last):
    invariance.core.parameters.ParameterError: bound needs delta to be a finite number > 0 and < 1, got 2
    >>> bound(1e200)
    Traceback (most recent call last):
    invariance.core.parameters.ParameterError: bound is too large for a floating-point number at n=1e+200
    """
    wanted = {**kinds, **more}

    def decorate(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        signature = inspect.signature(function)

        @wraps(function)
        def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
            bound = signature.bind(*args, **kwargs)
            given = bound.arguments = check_values(function.__name__, wanted, bound.arguments)
            try:
                with np.errstate(all="ignore"):
                    result = function(*bound.args, **bound.kwargs)
                finite = _finite(result)
            except (OverflowError, ZeroDivisionError):
                finite = False
            if not finite:
                shown = ", ".join(f"{name}={short(value, 40)}" for name, value in given.items())
                raise ParameterError(
                    f"{function.__name__} is too large for a floating-point number at {shown}"
                )
            return result

        return call

    return decorate


def _finite(result: Any) -> bool:
    if isinstance(result, tuple):
        return all(map(_finite, result))
    return isinstance(result, (int, str)) or bool(np.isfinite(result).all())
