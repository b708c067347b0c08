"""`warn`: a warning at the user's line, whichever function of this package issues it."""

from __future__ import annotations

import sys
import warnings


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the line outside this package that led to the call."""
    level = 1
    frame = sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("invariance."):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
