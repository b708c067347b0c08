"""Results of expensive functions kept on disk, keyed on everything that they depend on.

joblib.Memory keys on a function's arguments and its own source. A function of a notebook cell
also depends on helpers and constants of other cells, on the package's modules and on the
versions of what computes: these make up the name of the folder that Memory works in.
"""

import dis
import hashlib
import inspect
import json
import sys
import textwrap
import types
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from joblib.memory import MemorizedResult

from invariance.companion.errors import CompanionError
from invariance.companion.imports import closure, digest
from invariance.companion.provenance import package_versions

__all__ = ["CacheError", "cached", "code_digest"]


_LOOKUPS = ("LOAD_GLOBAL", "LOAD_NAME")


class CacheError(CompanionError, TypeError):
    """A function cannot be cached: something that it uses has no key."""


def code_digest(source: str | None) -> str:
    """Key of the package modules that a notebook computes with, and of package versions.

    The companion is left out: redrawing a figure in another colour does not change a number.

    Parameters
    ----------
    source : str or None
        Source of the notebook; None takes the modules loaded so far.
    """
    if source is not None:
        files = closure(source)
    else:
        files = {
            name: Path(module.__file__)
            for name, module in list(sys.modules.items())
            if name.split(".")[0] == "invariance" and getattr(module, "__file__", None)
        }
    kept = {n: path for n, path in files.items() if not n.startswith("invariance.companion")}
    return digest(kept) + json.dumps(package_versions(), sort_keys=True)


def _names(code: types.CodeType) -> set[str]:
    """Global names that a code object and the functions inside it look up."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname in _LOOKUPS}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


def _dependencies(function: Callable, seen: dict[str, str]) -> None:
    """Digest of a function's source, its closure, defaults and the globals that it uses."""
    label = f"{function.__module__}.{function.__qualname__}"
    if label in seen:
        return
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError) as error:
        raise CacheError(f"cannot read the source of {label}: define it in a cell") from error
    seen[label] = source
    values = {
        name: function.__globals__[name]
        for name in sorted(_names(function.__code__))
        if name in function.__globals__
    }
    values |= inspect.getclosurevars(function).nonlocals
    values |= {"default arguments": (function.__defaults__, function.__kwdefaults__)}
    for name, value in values.items():
        _add(f"{label}: {name}", name, value, seen, function)


def _add(label: str, name: str, value: Any, seen: dict[str, str], user: Callable) -> None:
    if isinstance(value, types.ModuleType):
        seen[label] = value.__name__
    elif isinstance(value, types.FunctionType) and _in_notebook(value, user):
        _dependencies(value, seen)
    elif isinstance(value, type) and _in_notebook(value, user):
        seen[label] = inspect.getsource(value)
        for member in vars(value).values():
            if isinstance(member, types.FunctionType):
                _dependencies(member, seen)
    elif isinstance(value, type | types.FunctionType | types.BuiltinFunctionType | np.ufunc):
        seen[label] = f"{getattr(value, '__module__', '')}.{value.__name__}"
    elif hasattr(value, "__wrapped__") and isinstance(value.__wrapped__, types.FunctionType):
        _add(label, name, value.__wrapped__, seen, user)
    else:
        _refuse_state(name, value, user)
        try:
            seen[label] = joblib.hash(value)
        except Exception as error:
            raise CacheError(
                f"{user.__name__} uses {name!r} ({type(value).__name__}), which has no key: "
                "pass what it needs from there as arguments"
            ) from error


def _in_notebook(value: Any, user: Callable) -> bool:
    return value.__module__ == user.__module__ and not value.__module__.startswith("invariance.")


def _refuse_state(name: str, value: Any, user: Callable) -> None:
    if isinstance(value, np.random.Generator | np.random.RandomState) or getattr(
        value, "changes_with_use", False
    ):
        raise CacheError(
            f"{user.__name__} takes or uses {name!r} ({type(value).__name__}), whose state a "
            "cached result could not advance: pass a seed, or the plain values that it needs"
        )


def cached(
    function: Callable, folder: Path, code: str, reused: Callable[[MemorizedResult], None]
) -> Callable:
    """`function`, with results kept under `folder`.

    Parameters
    ----------
    function : callable
        A function of a notebook cell or a module; pure, and seeded by an argument.
    folder : Path
    code : str
        Key of the code that it runs on, from `code_digest`.
    reused : callable
        Called with every result that was on disk already.

    Raises
    ------
    CacheError
        When wrapping or calling: a generator, a ``Run`` or something without a key is used.
    """

    @wraps(function)
    def wrapper(*args, **kwargs):
        bound = inspect.signature(function).bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            _refuse_state(name, value, function)
        # globals are read at the call: a cell above may have changed them since the definition
        seen: dict[str, str] = {}
        _dependencies(function, seen)
        key = hashlib.sha256((code + json.dumps(seen, sort_keys=True)).encode()).hexdigest()[:20]
        memory = joblib.Memory(folder / key, verbose=0)
        # joblib names a cell's function after ipykernel's temporary file; our key replaces that
        plain = types.FunctionType(
            function.__code__,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        plain.__kwdefaults__ = function.__kwdefaults__
        plain.__module__, plain.__qualname__ = "notebook", function.__qualname__
        kept = memory.cache(plain)
        hit = kept.check_call_in_cache(*bound.args, **bound.kwargs)
        result = kept(*bound.args, **bound.kwargs)
        if hit:
            reused(kept.call_and_shelve(*bound.args, **bound.kwargs))
        return result

    return wrapper
