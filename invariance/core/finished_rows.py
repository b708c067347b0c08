"""`FinishedRows`: the finished rows of a result on disk, and the computation that made them."""

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

#: Number of points that are hashed at a time.
_ROWS = 4096
#: Folders of installed packages, whose code is identified by version.
_INSTALLED = ("site-packages", "dist-packages")
#: The package itself; every file of it is hashed.
_PACKAGE = Path(__file__).resolve().parents[1]


class FinishedRows:
    """A text file beside a result: a line for the computation, then one for each finished block.

    A block counts as finished only if the first line belongs to the same computation (see
    `computation`), and if the digest of its rows in the result is the recorded one. Blocks of a new
    file, or of a file that has been overwritten, are thus computed again.

    Parameters
    ----------
    path : path of the text file
    key : str, identifies the computation
    parts : callable
        ``parts(block)`` returns the arrays that a block has written, as they are now in the result.
    """

    def __init__(
        self, path: Path, key: str, parts: Callable[[slice], Iterable[NDArray[Any]]]
    ) -> None:
        self.path = path
        self.key = key
        self.parts = parts
        self._recorded: dict[tuple[int, int], str] = {}
        lines: list[str] = []
        if path.exists():
            lines = path.read_text(encoding="utf-8").splitlines()
        if lines and lines[0] == key:
            for line in lines[1:]:
                self._read(line)
        else:
            path.write_text(f"{key}\n", encoding="utf-8")

    def _read(self, line: str) -> None:
        words = line.split()
        # A line that was cut off while it was written is ignored.
        if len(words) == 3 and words[0].isdigit() and words[1].isdigit():
            start, stop, digest = words
            self._recorded[int(start), int(stop)] = digest

    def holds(self, block: slice) -> bool:
        """Whether a block is finished, and its rows are still as they were written."""
        recorded = self._recorded.get((block.start, block.stop))
        return recorded is not None and recorded == self._digest(block)

    def add(self, block: slice) -> None:
        """Record a block whose rows are on disk."""
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


def computation(function: Callable[..., Any], X: NDArray[Any], **settings: object) -> str:
    """Return a digest of a function with its data and code, of the points, and of settings.

    Installed packages are identified by their version; this package, and files that are not
    installed, by their text. Raises a ParameterError if a function cannot be pickled.
    """
    digest = blake2b(digest_size=16)
    module_names = _hash_function(digest, function)
    for line in _code(module_names):
        digest.update(line.encode())
    digest.update(json.dumps([X.shape, str(X.dtype), settings], sort_keys=True).encode())
    for start in range(0, len(X), _ROWS):
        rows = X[start : start + _ROWS]
        if X.dtype == object:
            digest.update(_cloudpickle().dumps(list(rows)))
        else:
            digest.update(np.ascontiguousarray(rows).view(np.uint8).data)
    return digest.hexdigest()


def _cloudpickle() -> Any:
    """Return the package that joblib pickles functions with: its own copy, or a dependency."""
    try:
        from joblib.externals import cloudpickle
    except ImportError:
        return need("cloudpickle", "companion")
    return cloudpickle


def _hash_function(digest: blake2b, function: Callable[..., Any]) -> set[str]:
    """Hash a function, and return the names of the modules that it uses."""
    modules: set[str] = set()

    class Recorder(_cloudpickle().Pickler):  # type: ignore[misc]
        """A pickler that records the modules of the classes and functions it pickles."""

        def reducer_override(self, obj: object) -> Any:
            if isinstance(obj, ModuleType):
                modules.add(obj.__name__)
            modules.add(str(getattr(obj, "__module__", None) or type(obj).__module__))
            return super().reducer_override(obj)

    file = BytesIO()
    buffers: list[Any] = []  # of arrays, which are not copied
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
    """Return versions and digests of the code of modules, and of the modules that they use."""
    digests: dict[str, str] = {"python": sys.version}
    pending = list(names)
    visited = set[str]()
    while pending:
        name = pending.pop()
        module = sys.modules.get(name)
        if name in visited or module is None:
            continue
        visited.add(name)
        top_level = name.partition(".")[0]
        version = getattr(sys.modules.get(top_level), "__version__", None)
        if version is not None:
            digests[top_level] = str(version)
        file = getattr(module, "__file__", None)
        if file is None or not _is_read(name, top_level, file):
            continue
        digests[name] = _digest_of_file(Path(file))
        pending.extend(_used_modules(module))
    for path in sorted(_PACKAGE.rglob("*.py")):
        digests[path.relative_to(_PACKAGE).as_posix()] = _digest_of_file(path)
    return [f"{name}: {digests[name]}\n" for name in sorted(digests)]


def _is_read(name: str, top_level: str, file: str) -> bool:
    """Whether the text of a module's file counts.

    Functions of `__main__` are pickled by value, and all files of this package count anyway.
    """
    return name != "__main__" and top_level != _PACKAGE.name and not _is_installed(file)


def _used_modules(module: ModuleType) -> list[str]:
    """Return the names of the modules that the values in a module come from."""
    names = []
    for value in list(vars(module).values()):
        if isinstance(value, ModuleType) and value.__name__:
            names.append(value.__name__)
        else:
            names.append(str(getattr(value, "__module__", "")))
    return names


def _is_installed(file: str) -> bool:
    """Whether a module's file belongs to the standard library or to an installed package."""
    path = Path(file).resolve()
    if any(part in _INSTALLED for part in path.parts):
        return True
    return path.is_relative_to(Path(sysconfig.get_path("stdlib")).resolve())


def _digest_of_file(path: Path) -> str:
    if not path.is_file():
        return "none"
    return blake2b(path.read_bytes(), digest_size=16).hexdigest()
