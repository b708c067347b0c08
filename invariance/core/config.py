"""`config_context`: a bound on memory that applies to everything computed inside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .parameters import BLOCK_BYTES, check_values

# A context variable: threads and tasks that change it do not change it for each other.
_BLOCK_BYTES: ContextVar[int] = ContextVar("block_bytes", default=256 * 2**20)


@contextmanager
def config_context(*, block_bytes: int | None = None) -> Iterator[None]:
    """Bound the temporary arrays of each call, in bytes, in addition to its inputs and its result.

    The bound applies in a ``with`` block, to every object whose own ``block_bytes`` is None; the
    default is 256 MiB.

    >>> with config_context(block_bytes=2**20):
    ...     block_bytes_of(None)
    1048576
    """
    checked = check_values(
        "config_context", {"block_bytes": BLOCK_BYTES}, {"block_bytes": block_bytes}
    )
    token = _BLOCK_BYTES.set(block_bytes_of(checked["block_bytes"]))
    try:
        yield
    finally:
        _BLOCK_BYTES.reset(token)


def block_bytes_of(block_bytes: int | None) -> int:
    """Return an object's own bound on memory, or the configured one if it is None."""
    if block_bytes is None:
        return _BLOCK_BYTES.get()
    return int(block_bytes)
