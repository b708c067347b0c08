"""Every bound and rate of the papers as a plain function of its parameters: one module a paper.

Arguments are numbers, or arrays that broadcast where `Numbers` stands. A symbol means the same
throughout a paper, and its module says what it may be; no function checks it.
"""

from math import ceil, inf

import numpy as np
from numpy.typing import NDArray

#: A number, or several that broadcast with the others.
Numbers = float | NDArray[np.float64]


def count(value: float) -> int:
    """The smallest whole number that is not below; infinity, where it is too large for a float."""
    return ceil(value) if value < inf else inf  # type: ignore[return-value]
