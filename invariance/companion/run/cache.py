"""Results of expensive functions, kept on disk and used again until something has changed.

A call of a cached function takes these steps:

1. Find everything that the result depends on (`Dependencies`): the function's code, its arguments,
   and all other code and data that it reaches, as they are in memory.
2. Make a key: a digest of these dependencies, and of the files and package versions that the run
   computes with (`Code`). Code that only executes and records notebooks is left out.
3. If a result is stored under this key, return it. Otherwise compute the result and store it.

A stored result is one pickle file, ``<function>-<key>-<SHA-256 of the file>.pkl``. A file is
unpickled only if its digest matches its name. This detects damage, but does not protect against
an attacker, who can compute digests too. Do not share a cache with strangers.
"""

import hashlib
import inspect
import os
import pickle
import re
import time
import uuid
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..files import file_digest
from ..provenance import operations_done
from .dependencies import CacheError, Dependencies, stand_ins

__all__ = ["CacheError", "Cost", "cached"]

T = TypeVar("T")


class Cost(NamedTuple):
    """What the computation of a result took."""

    seconds: float
    #: Operations on orbits, by precision; those of other processes are not known.
    operations: Counter[str]


def cached(
    function: Callable[..., T],
    folder: Path,
    code_key: Callable[[Set[str]], str],
    on_result: Callable[[str, Cost | None], None],
    clock: Callable[[], float] = time.perf_counter,
) -> Callable[..., T]:
    """Return a function that stores the results of `function` and reuses them.

    Parameters
    ----------
    function : callable
        It must be pure: its result depends on its arguments, on the code and the objects that it
        reaches, and on files that ``run.uses_data`` has named, and on nothing random but the seeds
        among the arguments. Other files that it reads are not followed.
    folder : Path
        The folder for the stored results.
    code_key : callable
        ``code_key(modules)`` returns a key of the files and the data that the run computes with,
        given the names of the modules that `function` reaches.
    on_result : callable
        ``on_result(key, cost)`` is called with each result's key and the `Cost` of its earlier
        computation, or None if it was computed by this call.
    clock : callable
        Returns the time in seconds.

    Raises
    ------
    CacheError
        At a call, if a dependency cannot be followed, or if a module in memory differs from its
        file.
    """
    title = getattr(function, "__name__", type(function).__name__)

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> T:
        # The dependencies are read at the call: a cell may have changed them since the definition.
        arguments = _arguments_by_name(function, args, kwargs)
        dependencies = _dependencies(function, title, arguments)
        state = code_key(dependencies.modules)
        key = _key(title, state, dependencies.digest())

        stored = _load(folder, key)
        if stored is not None:
            on_result(key, stored.cost)
            return stored.value

        _clear_stale_memories(dependencies.memories)
        start = clock()
        operations_before = operations_done()
        value = function(*args, **kwargs)
        cost = Cost(clock() - start, operations_done() - operations_before)

        problem = None
        if code_key(dependencies.modules) != state:
            problem = "the code on disk has changed while it was computed"
        elif not _save(folder, key, _Stored(value, cost)):
            problem = f"it cannot be pickled, or {folder} has no room for it"
        if problem is not None:
            warnings.warn(f"the result of {title} is not kept: {problem}", stacklevel=2)
        on_result(key, None)
        return value

    # A function that calls a cached one depends on the original, not on this wrapper.
    stand_ins[wrapper] = function
    return wrapper


# ------------------------------------------------------------------------------------ the key


def _arguments_by_name(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Mapping[str, Any]:
    """Return the arguments of a call by the names of the parameters, defaults included."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # Some built-in functions have no signature.
        return {"arguments": args, "keywords": kwargs}
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


def _dependencies(
    function: Callable[..., Any], title: str, arguments: Mapping[str, Any]
) -> Dependencies:
    """Return everything that a call depends on."""
    dependencies = Dependencies(title)
    try:
        dependencies.add(function)
        for name, value in arguments.items():
            dependencies.add(name, "(name)")
            dependencies.add(value, name)
    except RecursionError as error:
        message = f"an object that {title} takes or uses is nested too deeply: pass plain values"
        raise CacheError(message) from error
    return dependencies


def _key(title: str, state: str, dependencies: str) -> str:
    """Return the key of a result: the function's name in ASCII and 32 hexadecimal digits."""
    name = re.sub("[^A-Za-z0-9_]", "", title)
    digest = hashlib.sha256(f"{state} {dependencies}".encode()).hexdigest()
    return f"{name}-{digest[:32]}"


# ------------------------------------------------- results that functools.cache remembers


#: For each function with `functools.cache`: the digest of its dependencies when it was cleared.
_digests_when_cleared: weakref.WeakKeyDictionary[Callable[..., Any], str]
_digests_when_cleared = weakref.WeakKeyDictionary()


def _clear_stale_memories(memories: Sequence[Any]) -> None:
    """Clear functions with `functools.cache` that may remember results of an earlier state.

    Such a result would otherwise become part of a value that is stored under the new key.
    """
    for memory in memories:
        dependencies = Dependencies(memory.__name__)
        dependencies.add(memory.__wrapped__)
        digest = dependencies.digest()
        if _digests_when_cleared.get(memory) != digest:
            memory.cache_clear()
            _digests_when_cleared[memory] = digest


# ----------------------------------------------------------------------------------- the files


class _Stored(NamedTuple):
    """A result and the cost of its computation."""

    value: Any
    cost: Cost


def _load(folder: Path, key: str) -> _Stored | None:
    """Return the result stored under a key, or None if there is no undamaged file."""
    for path in folder.glob(f"{key}-*.pkl"):
        if path.stem != f"{key}-{file_digest(path)}":
            continue
        # Unpickling fails, for example, if the class of the result no longer exists.
        with suppress(Exception), path.open("rb") as stream:
            value, seconds, *operations = pickle.load(stream)
            return _Stored(value, Cost(seconds, Counter(*operations)))
    return None


def _save(folder: Path, key: str, stored: _Stored) -> bool:
    """Store a result in one step, and return whether this succeeded.

    It fails if the value cannot be pickled or if the disk is full.
    """
    temporary = folder / f".{key}.{uuid.uuid4().hex}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(temporary, "xb") as stream:
            content = (stored.value, stored.cost.seconds, dict(stored.cost.operations))
            pickle.dump(content, stream, protocol=5)
        for damaged in folder.glob(f"{key}-*.pkl"):
            damaged.unlink(missing_ok=True)
        os.replace(temporary, folder / f"{key}-{file_digest(temporary)}.pkl")
    except Exception:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    return True
