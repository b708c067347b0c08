"""Checks of the quantities that go into a bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["positive", "probability"]


def positive(**values: ArrayLike) -> None:
    """Refuse what is not positive, by name."""
    for name, value in values.items():
        if not np.all(np.asarray(value) > 0):
            raise ValueError(f"{name} must be positive, got {value!r}")


def probability(**values: float) -> None:
    """Refuse what is no probability of failure, by name."""
    for name, value in values.items():
        if not 0 < value < 1:
            raise ValueError(f"{name} is a probability of failure in (0, 1), got {value!r}")
