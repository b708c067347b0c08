"""`FinishedRows`: which rows of a result on disk are finished, and what they were computed from."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .extras import need
from .parameters import ParameterError

#: Rows of points that are hashed at a time.
_ROWS = 4096
#: Folders of what is installed: such code is known by its version.
_INSTALLED = ("site-packages", "dist-packages")
#: The package itself, every file of which counts.
_PACKAGE = Path(__file__).resolve().parents[1]


class FinishedRows:
    """A text file beside a result: a line for what is computed, then one for each finished block.

    A block is taken as finished only if the first line is that of the same computation (see
    `computation`) and if what the result holds there has the digest that was noted. A file that is
    made anew, or that something else was written to, is thus computed again.

    Parameters
    ----------
    path : path of the text file
    key : str, of the computation
    parts : callable
        ``parts(block)`` gives the arrays that a block has written, as the result holds them now.
    """

    def __init__(
        self, path: Path, key: str, parts: Callable[[slice], Iterable[NDArray[Any]]]
    ) -> None:
        self.path, self.key, self.parts = path, key, parts
        self._noted: dict[tuple[int, int], str] = {}
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if lines and lines[0] == key:
            for line in lines[1:]:
                self._read(line)
        else:
            path.write_text(f"{key}\n", encoding="utf-8")

    def _read(self, line: str) -> None:
        words = line.split()
        if len(words) == 3 and words[0].isdigit() and words[1].isdigit():  # not cut off in writing
            self._noted[int(words[0]), int(words[1])] = words[2]

    def holds(self, block: slice) -> bool:
        """Whether a block is finished, and its rows are still as they were written."""
        noted = self._noted.get((block.start, block.stop))
        return noted is not None and noted == self._digest(block)

    def add(self, block: slice) -> None:
        """Note a block whose rows are on disk."""
        line = f"{block.start} {block.stop} {self._digest(block)}\n"
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def _digest(self, block: slice) -> str:
        digest = blake2b(digest_size=16)
        for part in self.parts(block):
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()


def computation(function: Any, X: NDArray[Any], **others: Any) -> str:
    """A digest of a function with all its data and code, of the points, and of other settings.

    Code of installed packages counts by version, this package's and that of files beside them by
    its text. A ParameterError says that a function cannot be pickled.
    """
    digest = blake2b(digest_size=16)
    names = _hash_function(digest, function)
    for line in _code(names):
        digest.update(line.encode())
    digest.update(json.dumps([X.shape, str(X.dtype), others], sort_keys=True).encode())
    for start in range(0, len(X), _ROWS):
        rows = X[start : start + _ROWS]
        if X.dtype == object:
            digest.update(_cloudpickle().dumps(list(rows)))
        else:
            digest.update(np.ascontiguousarray(rows).view(np.uint8).data)
    return digest.hexdigest()


def _cloudpickle() -> Any:
    """The package that joblib pickles functions with: its own copy, or one that it needs."""
    try:
        from joblib.externals import cloudpickle
    except ImportError:
        return need("cloudpickle", "companion")
    return cloudpickle


def _hash_function(digest: Any, function: Any) -> set[str]:
    """Hash a function, and return the names of the modules that it uses."""
    modules: set[str] = set()

    class Recorder(_cloudpickle().Pickler):  # type: ignore[misc]
        """A pickler that remembers the modules whose classes and functions it meets."""

        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, ModuleType):
                modules.add(obj.__name__)
            modules.add(str(getattr(obj, "__module__", None) or type(obj).__module__))
            return super().reducer_override(obj)

    file = BytesIO()
    buffers: list[Any] = []  # arrays, which are not copied
    try:
        Recorder(file, protocol=5, buffer_callback=buffers.append).dump(function)
    except Exception as error:
        raise ParameterError(
            f"resume needs a function that can be pickled, to know it again: {error}"
        ) from error
    digest.update(file.getvalue())
    for buffer in buffers:
        digest.update(buffer.raw())
    return modules


def _code(names: Iterable[str]) -> list[str]:
    """Versions and digests of the code of modules, and of the files that these use in turn."""
    found: dict[str, str] = {"python": sys.version}
    todo, seen = list(names), set[str]()
    while todo:
        name = todo.pop()
        module = sys.modules.get(name)
        if name in seen or module is None:
            continue
        seen.add(name)
        top = name.partition(".")[0]
        file = getattr(module, "__file__", None)
        version = getattr(sys.modules.get(top), "__version__", None)
        if version is not None:
            found[top] = str(version)
        if top == _PACKAGE.name or file is None or name == "__main__":  # the last goes by value
            continue
        if _is_installed(file):
            continue
        found[name] = _digest_of_file(Path(file))
        for value in list(vars(module).values()):
            own = value.__name__ if isinstance(value, ModuleType) else None
            todo.append(own or str(getattr(value, "__module__", "")))
    for path in sorted(_PACKAGE.rglob("*.py")):
        found[path.relative_to(_PACKAGE).as_posix()] = _digest_of_file(path)
    return [f"{name}: {found[name]}\n" for name in sorted(found)]


def _is_installed(file: str) -> bool:
    """Whether a module's file is of the standard library or of an installed package."""
    path = Path(file).resolve()
    if any(part in _INSTALLED for part in path.parts):
        return True
    return path.is_relative_to(Path(sysconfig.get_path("stdlib")).resolve())


def _digest_of_file(path: Path) -> str:
    return blake2b(path.read_bytes(), digest_size=16).hexdigest() if path.is_file() else "none"
