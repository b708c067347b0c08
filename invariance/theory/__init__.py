"""Every bound and rate of the papers as a plain function of its parameters: one module a paper.

Arguments become floats (`numbers`), so that small integers do not overflow; what is too large for
a float gives infinity.
"""

from math import ceil, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import ParameterError, short

#: What most arguments may be: a number, or several (lists too) that broadcast with the others.
Numbers = float | NDArray[np.float64]


def numbers(
    *,
    axes: int | None = 0,
    least: float = -inf,
    above: float = -inf,
    below: float = inf,
    most: float = 1e308,
    **values: Any,
) -> Any:
    """Arguments of a bound as floats or arrays of floats, where each is finite and in range.

    Parameters
    ----------
    axes : int or None
        Of arrays; 0 is a number alone and None any shape.
    least, above, below, most : float
        Entries are in [least, most], above ``above`` and below ``below``.
    **values
        The arguments, by name; one alone comes back alone.

    >>> float(numbers(above=0, eps=np.uint8(2))), numbers(axes=None, least=1, m=[1, 2])
    (2.0, array([1., 2.]))
    >>> numbers(above=0, eps=-1)
    Traceback (most recent call last):
    invariance.core.parameters.ParameterError: the bound needs eps to be a finite number > 0, got -1
    """
    found = []
    for name, value in values.items():
        try:
            given = np.asarray(value)
            array = given.astype(float) if given.dtype.kind in "iuf" else np.asarray(np.nan)
            if type(value) is int:  # of any size
                array = np.asarray(float(value))
        except (ValueError, TypeError, OverflowError):
            array = np.asarray(np.nan)
        inside = (array >= least) & (array <= most)
        if above > -inf:
            inside &= array > above
        if below < inf:
            inside &= array < below
        shaped = axes is None or array.ndim == axes
        if not (shaped and array.size and inside.all()) or np.ma.is_masked(value):
            ends = [(">=", least), (">", above), ("<", below), ("<=", most)]
            ranges = [f"{sign} {end:g}" for sign, end in ends if abs(end) < 1e308]
            what = f"an array of {axes} axes of finite numbers" if axes else "a finite number"
            words = " ".join([what, *([" and ".join(ranges)] if ranges else [])])
            words += " or infinity" if most == inf else ""
            raise ParameterError(f"the bound needs {name} to be {words}, got {short(value)}")
        found.append(array[()])
    return found[0] if len(found) == 1 else found


def count(value: float) -> int:
    """The smallest whole number that is not below; infinity, where it is too large for a float."""
    return ceil(value) if value < inf else inf  # type: ignore[return-value]
