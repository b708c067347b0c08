"""Checks of arrays and parameters shared by the parts of this package."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "check_count",
    "check_finite",
    "check_number",
    "check_positive",
    "check_rows",
    "is_integer",
    "is_number",
]


def is_integer(value: Any) -> bool:
    """Whether a parameter is a whole number, which True and 3.0 are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether a parameter is one finite real number: no bool, text or array."""
    return (
        isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))
    )


def check_finite(what: str, array: NDArray) -> None:
    """Refuse NaN and infinity, naming the first such entry.

    >>> check_finite("the Gram matrix", np.array([[1.0, np.nan]]))
    Traceback (most recent call last):
    ValueError: the Gram matrix must be finite, but entry (0, 1) is nan
    """
    step = max(1, 2**20 // max(array[:1].size, 1))  # the array may fill the memory
    for start in range(0, len(array), step):
        broken = ~np.isfinite(array[start : start + step])
        if broken.any():
            first, *rest = (int(i) for i in np.argwhere(broken)[0])
            index = (start + first, *rest)
            entry = f"({', '.join(map(str, index))})" if len(index) > 1 else str(index[0])
            raise ValueError(f"{what} must be finite, but entry {entry} is {array[index]}")


def check_number(owner: str, **values: Any) -> None:
    """Refuse parameters that are not finite real numbers, by name."""
    for name, value in values.items():
        if not is_number(value):
            raise ValueError(f"{owner} needs a finite number for {name}, got {value!r}")


def check_positive(owner: str, **values: Any) -> None:
    """Refuse parameters that are not positive finite numbers, by name.

    >>> check_positive("Gaussian", gamma=float("inf"))
    Traceback (most recent call last):
    ValueError: Gaussian needs a finite gamma > 0, got inf
    """
    for name, value in values.items():
        if not is_number(value) or not value > 0:
            raise ValueError(f"{owner} needs a finite {name} > 0, got {value!r}")


def check_count(owner: str, least: int = 1, **values: Any) -> None:
    """Refuse parameters that are not integers of at least ``least``, by name."""
    for name, value in values.items():
        if not is_integer(value) or value < least:
            raise ValueError(f"{owner} needs {name} >= {least} as an integer, got {value!r}")


def check_rows(owner: str, X: Any) -> None:
    """Refuse arrays of images, which are to be given as rows of pixels."""
    shape = tuple(getattr(X, "shape", ()))
    if len(shape) > 2:
        raise ValueError(
            f"{owner} expects points as rows of shape (n, d), got shape {shape}; use "
            "X.reshape(len(X), -1)"
        )
