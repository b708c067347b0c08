"""Test data behind a door: `withheld`, while settings are chosen.

The door is one environment variable, so that processes started meanwhile see it too. `Dataset`
looks at it when it is made, and nothing else does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["WithheldError", "withheld", "withholding"]

_DOOR = "INVARIANCE_WITHHOLD_TESTS"


class WithheldError(RuntimeError):
    """Test data were asked for while settings are being chosen."""


def withholding() -> bool:
    """Whether loaders hand out training data alone."""
    return os.environ.get(_DOOR) == "1"


@contextmanager
def withheld(closed: bool = True) -> Iterator[None]:
    """While this lasts, loaders hand out training data alone (or, if not closed, everything).

    Examples
    --------
    >>> from invariance.datasets import load_digits_images
    >>> with withheld():
    ...     len(load_digits_images().data)
    1200
    """
    before = os.environ.get(_DOOR)
    os.environ[_DOOR] = "1" if closed else "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_DOOR]
        else:
            os.environ[_DOOR] = before
