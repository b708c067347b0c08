"""`need`: an optional package, imported where it is used, or an error that names its extra."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def how_to_install(extra: str) -> str:
    """The command that brings an extra; no package index has this project.

    >>> how_to_install("qp")
    'pip install ".[qp]" in a clone of invariance'
    """
    return f'pip install ".[{extra}]" in a clone of invariance'


def need(package: str, extra: str) -> ModuleType:
    """Import an optional package, or say which extra brings it.

    >>> need("no_such_package", "qp")
    Traceback (most recent call last):
    ImportError: this needs no-such-package, which is not installed: pip install ".[qp]" in a ...
    """
    top = package.partition(".")[0]
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != top:  # it is there, and something that it needs itself is not
            raise
        what = f"{top.replace('_', '-')}, which is not installed"
        raise ImportError(f"this needs {what}: {how_to_install(extra)}", name=top) from None
