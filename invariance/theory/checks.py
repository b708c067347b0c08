"""Checks of the quantities that go into a bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..checks import is_number

__all__ = ["finite", "positive", "probability"]


def finite(**values: float) -> None:
    """Refuse what is not one finite number, by name."""
    for name, value in values.items():
        if not is_number(value):
            raise ValueError(f"{name} must be one finite number, got {value!r}")


def positive(**values: ArrayLike) -> None:
    """Refuse what is not positive, by name."""
    for name, value in values.items():
        array = np.asarray(value)
        if array.dtype.kind not in "iuf" or not np.all(array > 0):
            raise ValueError(f"{name} must be positive, got {value!r}")


def probability(**values: float) -> None:
    """Refuse what is no probability of failure, by name."""
    for name, value in values.items():
        if not is_number(value) or not 0 < value < 1:
            raise ValueError(f"{name} is a probability of failure in (0, 1), got {value!r}")
