"""Results of expensive functions kept on disk, keyed on everything that they depend on.

A function of a notebook cell depends on its arguments and on all code and data that it reaches, as
they are in memory (`dependencies`); on the modules of the library, whose files must still say what
is in memory (`invariance.companion.imports`); on the data files that the run has named so far and
on the versions of what computes; not on what runs the notebook and records.

A file is a pickle, named by the key and the digest of its bytes. One with another digest is never
unpickled: that finds damage, but no harm that is meant. Do not share a cache with strangers.
"""

import hashlib
import inspect
import json
import os
import pickle
import re
import sys
import time
import uuid
import warnings
import weakref
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from functools import wraps
from math import nan
from pathlib import Path
from typing import Any, TypeVar

from ..files import file_digest
from ..imports import is_library, stale
from ..provenance import architecture, closure, digest, modules_of, package_versions
from .dependencies import CacheError, Dependencies, stand_ins

__all__ = ["CacheError", "Code", "cached"]

T = TypeVar("T")
_MACHINERY = "invariance.companion"


_Stamp = tuple[int, int, int, int] | None


def _computes(module: str) -> bool:
    inside = f"{module}.".startswith(f"{_MACHINERY}.")
    return not inside or module == f"{_MACHINERY}.network"  # what notebooks compute with


def _leads_on(module: str) -> bool:
    """Whether what a module imports counts: the companion's front door hands on what computes."""
    return _computes(module) or module == _MACHINERY


class Code:
    """The code on disk that a notebook (None: this process) computes with; see `digest`."""

    def __init__(self, notebook: Path | None) -> None:
        self._notebook = notebook
        # by the modules that were reached: the files as they were, and their digest
        self._known: dict[frozenset[str], tuple[dict[Path, _Stamp], str]] = {}

    def digest(self, reached: Set[str] = frozenset()) -> str:
        """Key of the modules that the notebook imports, of those reached, and of versions.

        A `CacheError` if one is in memory with another code than its file has.
        """
        modules = frozenset(reached)
        stamps, found = self._known.get(modules, ({}, ""))
        if not stamps or any(_stamp(path) != stamp for path, stamp in stamps.items()):
            stamps, found = self._read(modules)
            self._known[modules] = stamps, found
        return found

    def _read(self, reached: Set[str]) -> tuple[dict[Path, _Stamp], str]:
        loaded = [name for name in sys.modules if is_library(name)]
        named = filter(is_library, reached) if self._notebook else loaded
        imports = "\n".join(f"import {name}" for name in sorted(named) if _leads_on(name))
        files = closure(imports, through=_leads_on)
        watched = []
        if self._notebook:
            files |= modules_of(self._notebook, _leads_on)
            watched = [self._notebook, self._notebook.parent]
        kept = {name: path for name, path in files.items() if _computes(name)}
        own = _own_files(reached)
        stamps = {path: _stamp(path) for path in (*watched, *files.values(), *own.values())}
        if changed := stale(kept | own):
            names = {name if is_library(name) else (kept | own)[name].name for name in changed}
            what = f"{', '.join(sorted(names))} has changed since it was imported"
            raise CacheError(f"{what}: restart the kernel, or the run, to compute with it")
        versions = json.dumps(package_versions(), sort_keys=True)
        return stamps, f"{digest(kept)} {architecture()} {versions}"


def _own_files(modules: Set[str]) -> dict[str, Path]:
    """Files of the user's modules; what these hold is followed in memory, not read."""
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in modules}
    return {
        name: Path(file)
        for name, file in files.items()
        if file and not is_library(name) and name != "__main__"
    }


def _stamp(path: Path) -> _Stamp:
    """What of a file is different once it has been written to; its text need not be."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def cached(
    function: Callable[..., T],
    folder: Path,
    code: Callable[[Set[str]], str],
    reused: Callable[[str, float], None],
    clock: Callable[[], float] = time.perf_counter,
) -> Callable[..., T]:
    """`function`, pure and seeded by an argument, with results kept under `folder`.

    `code` gives at each call the key of the code and the data that it runs on, from the modules of
    the library that were reached; `reused` takes a result's key and the seconds that it had taken,
    NaN for one that was computed now; `clock` counts them. Calling raises `CacheError` if something
    that is used cannot be followed (see `dependencies`), or if a module in memory is not what its
    file says.
    """
    title = getattr(function, "__name__", type(function).__name__)

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> T:
        # all is read at the call: a cell above may have changed it since the definition
        walk = _walk(function, title, args, kwargs)
        state = code(walk.modules)
        digest = hashlib.sha256(f"{state} {walk.digest()}".encode()).hexdigest()
        key = f"{re.sub('[^A-Za-z0-9_]', '', title)}-{digest[:32]}"
        if (stored := _load(folder, key)) is not None:
            value, seconds = stored
            reused(key, seconds)
            return value
        _forget(walk.memories)
        start = clock()
        value = function(*args, **kwargs)
        seconds = clock() - start
        why = f"no room in {folder}, or it has no pickle"
        if code(walk.modules) != state:
            why = "the code on disk has changed while it was computed"
        elif _save(folder, key, value, seconds):
            why = ""
        if why:
            warnings.warn(f"the result of {title} is not kept: {why}", stacklevel=2)
        reused(key, nan)
        return value

    stand_ins[wrapper] = function
    return wrapper


def _walk(
    function: Callable, title: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Dependencies:
    """Everything that a call depends on."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
    except ValueError:  # some built-in functions have no signature
        arguments = {"arguments": args, "keywords": kwargs}
    walk = Dependencies(title)
    try:
        walk.add(function)
        for name, value in arguments.items():
            walk.add(name, "(name)")
            walk.add(value, name)
    except RecursionError as error:
        what = f"what {title} takes or uses is nested too deeply to be followed"
        raise CacheError(f"{what}: pass plain values") from error
    return walk


# functions of `functools.cache`, and the state of what they call when they last forgot all
_states: weakref.WeakKeyDictionary[Callable, str] = weakref.WeakKeyDictionary()


def _forget(memories: Sequence[Any]) -> None:
    """Have functions forget results that they may have computed from an earlier state."""
    for memory in memories:
        walk = Dependencies(memory.__name__)
        walk.add(memory.__wrapped__)
        if _states.get(memory) != walk.digest():
            memory.cache_clear()
            _states[memory] = walk.digest()


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
