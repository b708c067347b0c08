"""Every bound and rate of the papers as a plain function of its parameters: one module a paper.

A symbol means the same throughout a paper, so that what it may be is said once a module, by a table
of `Floats`; `core.parameters.arguments` checks it and makes floats of it, which do not overflow.
"""

from math import ceil, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.parameters import Kind

#: What most arguments may be: a number, or several (lists too) that broadcast with the others.
Numbers = float | NDArray[np.float64]


def Floats(
    ndim: int | None = 0,
    *,
    least: float = -inf,
    above: float = -inf,
    below: float = inf,
    most: float = 1e308,
) -> Kind:
    """Numbers (``ndim`` 0) or arrays (None: of any shape), finite unless ``most`` is infinite.

    >>> float(Floats(above=0).convert(np.uint8(2))), Floats(above=0).accepts(-1)
    (2.0, False)
    """

    def convert(value: Any) -> Any:
        given = np.asarray(float(value) if type(value) is int else value)  # ints of any size
        if given.dtype.kind not in "iuf" or np.ma.is_masked(value):
            raise ValueError(value)
        return given.astype(float)[()]

    def accepts(value: Any) -> bool:
        try:
            array = np.asarray(convert(value))
        except (ValueError, TypeError, OverflowError):
            return False
        inside = (array >= least) & (array <= most)
        if above > -inf:
            inside &= array > above
        if below < inf:
            inside &= array < below
        return bool((ndim is None or array.ndim == ndim) and array.size and inside.all())

    ends = [(">=", least), (">", above), ("<", below), ("<=", most)]
    ranges = " and ".join(f"{sign} {end:g}" for sign, end in ends if abs(end) < 1e308)
    words = [f"an array of {ndim} axes of finite numbers" if ndim else "a finite number"]
    words += [ranges] * bool(ranges) + ["or infinity"] * (most == inf)
    return Kind(" ".join(words), accepts, convert)


#: Kinds that several papers' symbols are of.
POSITIVE, ANY_POSITIVE = Floats(above=0), Floats(None, above=0)
AT_LEAST_ZERO, AT_LEAST_ONE = Floats(least=0), Floats(least=1)
PROBABILITY, SIZE = Floats(above=0, below=1), Floats(above=0, most=inf)


def count(value: float) -> int:
    """The smallest whole number that is not below; infinity, where it is too large for a float."""
    return ceil(value) if value < inf else inf  # type: ignore[return-value]
