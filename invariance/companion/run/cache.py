"""Results of expensive functions kept on disk, keyed on everything that they depend on.

A function of a notebook cell depends on its arguments and its source, on helpers and constants of
other cells, on the modules that the notebook computes with, on the data files that the run has
named so far and on the versions of what computes; not on what runs the notebook and records.

A file is a pickle, named by the key and the digest of its bytes. One with another digest is never
unpickled: that finds damage, but no harm that is meant. Do not share a cache with strangers.
"""

import dis
import hashlib
import inspect
import json
import os
import pickle
import sys
import textwrap
import time
import types
import uuid
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache, wraps
from math import nan
from pathlib import Path
from typing import Any, TypeVar

import joblib
import numpy as np

from ..errors import CompanionError
from ..files import file_digest
from ..provenance import architecture, closure, digest, modules_of, package_versions

T = TypeVar("T")
_MACHINERY = "invariance.companion"


class CacheError(CompanionError, TypeError):
    """A function cannot be cached: something that it uses has no key."""


def _computes(module: str) -> bool:
    inside = f"{module}.".startswith(f"{_MACHINERY}.")
    return not inside or module == f"{_MACHINERY}.network"  # what notebooks compute with


def _leads_on(module: str) -> bool:
    """Whether what a module imports counts: the companion's front door hands on what computes."""
    return _computes(module) or module == _MACHINERY


def code_digest(notebook: Path | None) -> str:
    """Key of the modules that a notebook (None: this process) computes with, and of versions."""
    loaded = "\n".join(f"import {m}" for m in sys.modules if m.split(".")[0] == "invariance")
    files = modules_of(notebook, _leads_on) if notebook else closure(loaded, through=_leads_on)
    kept = {name: path for name, path in files.items() if _computes(name)}
    return f"{digest(kept)} {architecture()} {json.dumps(package_versions(), sort_keys=True)}"


# the source and the names of what a cell has defined never change: a cell that runs again defines
# it anew, and reading them takes milliseconds at each call


@cache
def _source(thing: types.CodeType | type) -> str:
    return textwrap.dedent(inspect.getsource(thing))


@cache
def _names(code: types.CodeType) -> set[str]:
    """Global names that a code object and the functions inside it look up."""
    names = {
        i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    return names.union(*(_names(c) for c in code.co_consts if isinstance(c, types.CodeType)))


def _follow(function: Callable, seen: dict[str, str]) -> None:
    """Note a function's source, and the keys of its closure, defaults and globals."""
    # what `wraps` has copied onto a decorator's function is that of the decorated one
    label = f"{function.__module__}.{function.__qualname__} {function.__code__.co_qualname}"
    if label in seen:
        return
    try:
        seen[label] = _source(function.__code__)
    except (OSError, TypeError) as error:
        raise CacheError(f"cannot read the source of {label}: define it in a cell") from error
    known = function.__globals__
    used = {name: known[name] for name in sorted(_names(function.__code__)) if name in known}
    used |= inspect.getclosurevars(function).nonlocals
    used |= {"default arguments": (function.__defaults__, function.__kwdefaults__)}
    for name, value in used.items():
        _note(f"{label}: {name}", name, value, seen, function)


def _note(label: str, name: str, value: Any, seen: dict[str, str], user: Callable) -> None:
    # a cached function, or one of functools: what it wraps
    here = globals()
    while hasattr(value, "__wrapped__") and getattr(value, "__globals__", here) is here:
        value = value.__wrapped__
    own = getattr(value, "__module__", None) == user.__module__
    own = own and not user.__module__.startswith("invariance.")
    if isinstance(value, types.ModuleType):
        seen[label] = value.__name__
    elif own and isinstance(value, types.FunctionType):
        _follow(value, seen)
    elif own and isinstance(value, type):
        try:
            seen[label] = _source(value)
        except OSError:  # as of every class in a kernel, whose cells are no file
            plain = {key: member for key, member in vars(value).items() if _plain(member)}
            seen[label] = repr((value.__bases__, plain))
        for member in vars(value).values():
            if isinstance(member, types.FunctionType):
                _follow(member, seen)
    elif isinstance(value, type | types.FunctionType | types.BuiltinFunctionType | np.ufunc):
        seen[label] = f"{getattr(value, '__module__', '')}.{value.__name__}"
    elif _plain(value):
        seen[label] = repr(value)  # a hundredth of the time of a hash
    else:
        _refuse_state(name, value, user)
        try:
            seen[label] = joblib.hash(value)
        except Exception as error:
            what = f"{user.__name__} uses {name!r} ({type(value).__name__})"
            raise CacheError(f"{what}, which has no key: pass what it needs of it") from error


def _plain(value: Any) -> bool:
    """Whether `repr` says all about a value: numbers, texts and what holds nothing else."""
    if type(value) in (tuple, list, dict):
        inside = [*value, *value.values()] if type(value) is dict else value
        return all(map(_plain, inside))
    return value is None or type(value) in (bool, int, float, str, bytes)


def _refuse_state(name: str, value: Any, user: Callable) -> None:
    generator = isinstance(value, np.random.Generator | np.random.RandomState)
    if generator or getattr(value, "changes_with_use", False):
        what = f"{user.__name__} takes or uses {name!r} ({type(value).__name__})"
        raise CacheError(f"{what}, which changes with use: pass a seed, or plain values")


def cached(
    function: Callable[..., T],
    folder: Path,
    code: Callable[[], str],
    reused: Callable[[str, float], None],
    clock: Callable[[], float] = time.perf_counter,
) -> Callable[..., T]:
    """`function`, pure and seeded by an argument, with results kept under `folder`.

    `code` gives at each call the key of the code and the data that it runs on; `reused` takes a
    result's key and the seconds that it had taken, NaN for one that was computed now; `clock`
    counts them. Calling raises `CacheError` where a generator, a ``Run`` or something without a key
    is used.
    """

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> T:
        bound = inspect.signature(function).bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            _refuse_state(name, value, function)
        bound.apply_defaults()
        # globals are read at the call: a cell above may have changed them since the definition
        seen: dict[str, str] = {}
        _follow(function, seen)
        try:
            arguments = joblib.hash(dict(bound.arguments))
        except Exception as error:
            what = f"an argument of {function.__name__} has no key ({error})"
            raise CacheError(f"{what}: pass plain values") from error
        everything = json.dumps([code(), seen, arguments], sort_keys=True)
        key = f"{function.__name__}-{hashlib.sha256(everything.encode()).hexdigest()[:32]}"
        if (stored := _load(folder, key)) is not None:
            value, seconds = stored
            reused(key, seconds)
            return value
        start = clock()
        value = function(*args, **kwargs)
        if not _save(folder, key, value, clock() - start):
            why = f"no room in {folder}, or it has no pickle"
            warnings.warn(f"the result of {function.__name__} is not kept: {why}", stacklevel=2)
        reused(key, nan)
        return value

    return wrapper


def _load(folder: Path, key: str) -> tuple[Any, float] | None:
    """Value and seconds saved under a key; None if there is nothing that can be verified."""
    for path in folder.glob(f"{key}-*.pkl"):
        if path.stem == f"{key}-{file_digest(path)}":
            with suppress(Exception), path.open("rb") as stream:  # of a class that is gone
                return pickle.load(stream)
    return None


def _save(folder: Path, key: str, value: Any, seconds: float) -> bool:
    """Write a value whole or not at all; False if it has no pickle or there is no room."""
    temporary = folder / f".{key}.{uuid.uuid4().hex}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(temporary, "xb") as stream:
            pickle.dump((value, seconds), stream, protocol=5)
        for damaged in folder.glob(f"{key}-*.pkl"):
            damaged.unlink(missing_ok=True)
        os.replace(temporary, folder / f"{key}-{file_digest(temporary)}.pkl")
        return True
    except Exception:
        return False
    finally:
        temporary.unlink(missing_ok=True)
