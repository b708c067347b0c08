"""Old names that keep working for one release, with a warning that says what to write instead."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

__all__ = ["old_names", "renamed_parameters", "warn_renamed"]

_Class = TypeVar("_Class", bound=type)


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Say that a name goes, and which one to write."""
    warnings.warn(
        f"{old} is the old name of {new} and goes in the next release; write {new}",
        FutureWarning,
        stacklevel=stacklevel,
    )


def renamed_parameters(**new_names: str) -> Callable[[_Class], _Class]:
    """A class decorator: constructor arguments by their old names.

    The signature, hence ``get_params`` and ``clone``, has the new names only.

    Parameters
    ----------
    **new_names : str
        ``old="new"``.

    Examples
    --------
    >>> import warnings
    >>> @renamed_parameters(lam="alpha")
    ... class Ridge:
    ...     def __init__(self, alpha=1.0):
    ...         self.alpha = alpha
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     Ridge(lam=2.0).alpha, str(caught[0].message).partition("; ")[2]
    (2.0, 'write Ridge(alpha=...)')
    """

    def decorate(cls: _Class) -> _Class:
        original = cls.__init__  # type: ignore[misc]

        @wraps(original)
        def init(self: Any, *args: Any, **given: Any) -> None:
            for old in new_names.keys() & given.keys():
                new, name = new_names[old], cls.__name__
                if new in given:
                    raise TypeError(f"{name} got both {new} and {old}, its old name")
                warn_renamed(f"{name}({old}=...)", f"{name}({new}=...)")
                given[new] = given.pop(old)
            original(self, *args, **given)

        init.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
        cls.__init__ = init  # type: ignore[misc]
        return cls

    return decorate


def old_names(module: str, renamed: Mapping[str, Any]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` that serves old names.

    Parameters
    ----------
    module : str
        The module's ``__name__``.
    renamed : mapping from old names to (words, object)
        What to write instead, for the warning, and what the old name stands for.
    """

    def __getattr__(name: str) -> Any:
        if name not in renamed:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        words, value = renamed[name]
        warn_renamed(f"{module}.{name}", words)
        return value

    return __getattr__
