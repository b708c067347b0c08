"""`config_context`: settings that hold for everything computed inside it, as in scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .parameters import BLOCK_BYTES, arguments

# A context variable: threads and tasks that change it do not change it for each other.
_BLOCK_BYTES: ContextVar[int] = ContextVar("block_bytes", default=256 * 2**20)


def get_config() -> dict[str, int]:
    """The settings in force.

    >>> get_config()["block_bytes"] // 2**20
    256
    """
    return {"block_bytes": _BLOCK_BYTES.get()}


@arguments(block_bytes=BLOCK_BYTES)
def set_config(*, block_bytes: int | None = None) -> None:
    """Change settings from here on; None leaves one as it is.

    Parameters
    ----------
    block_bytes : int or None
        Bound, in bytes, on the temporary arrays of one call, beside its inputs and its result,
        for every object whose own ``block_bytes`` is None.
    """
    if block_bytes is not None:
        _BLOCK_BYTES.set(block_bytes)


@contextmanager
def config_context(*, block_bytes: int | None = None) -> Iterator[None]:
    """`set_config` for the time of a ``with`` block.

    >>> with config_context(block_bytes=2**20):
    ...     get_config()["block_bytes"]
    1048576
    """
    before = _BLOCK_BYTES.get()
    set_config(block_bytes=block_bytes)
    try:
        yield
    finally:
        _BLOCK_BYTES.set(before)


def block_bytes_of(given: int | None) -> int:
    """An object's own bound on memory, or the configured one where it is None."""
    return _BLOCK_BYTES.get() if given is None else int(given)
