"""`need`: import an optional package, or raise an error that names its extra."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra; no package index has this project.

    >>> how_to_install("qp")
    'pip install ".[qp]" in a clone of invariance'
    """
    return f'pip install ".[{extra}]" in a clone of invariance'


def need(package: str, extra: str) -> ModuleType:
    """Import an optional package, or raise an ImportError that names the extra to install.

    >>> need("no_such_package", "qp")
    Traceback (most recent call last):
    ImportError: this needs no-such-package, which is not installed: pip install ".[qp]" in a ...
    """
    top_level = package.partition(".")[0]
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != top_level:  # the package is installed, but one of its own needs is not
            raise
        distribution = top_level.replace("_", "-")
        raise ImportError(
            f"this needs {distribution}, which is not installed: {how_to_install(extra)}",
            name=top_level,
        ) from None
