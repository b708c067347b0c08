"""Test data behind a door: `withheld`, while settings are chosen.

The door is one environment variable, so that processes started meanwhile see it too. `Dataset`
looks at it when it is made, and nothing else does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["WithheldError", "withheld", "withhold", "withholding"]

_DOOR = "INVARIANCE_WITHHOLD_TESTS"


class WithheldError(RuntimeError):
    """Test data were asked for while settings are being chosen."""


def withholding() -> bool:
    """Whether loaders hand out training data alone."""
    return os.environ.get(_DOOR) == "1"


def withhold(closed: bool) -> None:
    """From now on, hand out training data alone, or everything."""
    os.environ[_DOOR] = "1" if closed else "0"


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
    before = withholding()
    withhold(closed)
    try:
        yield
    finally:
        withhold(before)
