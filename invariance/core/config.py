"""`config_context`: a bound on memory that holds for everything computed inside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .parameters import BLOCK_BYTES, check_values

# A context variable: threads and tasks that change it do not change it for each other.
_BLOCK_BYTES: ContextVar[int] = ContextVar("block_bytes", default=256 * 2**20)


@contextmanager
def config_context(*, block_bytes: int | None = None) -> Iterator[None]:
    """A bound, in bytes, on the temporary arrays of one call, beside its inputs and its result.

    It holds in a ``with`` block, for every object whose own ``block_bytes`` is None; the default
    is 256 MiB.

    >>> with config_context(block_bytes=2**20):
    ...     block_bytes_of(None)
    1048576
    """
    given = check_values(
        "config_context", {"block_bytes": BLOCK_BYTES}, {"block_bytes": block_bytes}
    )
    before = _BLOCK_BYTES.set(block_bytes_of(given["block_bytes"]))
    try:
        yield
    finally:
        _BLOCK_BYTES.reset(before)


def block_bytes_of(given: int | None) -> int:
    """An object's own bound on memory, or the configured one where it is None."""
    return _BLOCK_BYTES.get() if given is None else int(given)
