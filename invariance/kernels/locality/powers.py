"""`power`: integer powers of arrays."""

from __future__ import annotations

from typing import Any

__all__ = ["power"]


def power(values: Any, degree: int) -> Any:
    """Integer powers by repeated squaring: ``**`` goes through the general power function."""
    result = None
    while degree:
        if degree & 1:
            result = values if result is None else result * values
        degree >>= 1
        if degree:
            values = values * values
    return result
