"""The code on disk that a notebook computes with: `Code`.

Its digest is part of the key of every cached result. It covers the modules of the library that the
notebook reaches, the processor architecture, and the versions of the packages that compute. The
companion's own modules are left out, except for `network`: they execute notebooks and record
results, and do not change a computed value.
"""

import json
import sys
from collections.abc import Iterable, Set
from pathlib import Path

from ..provenance import architecture, closure, digest, modules_of, package_versions
from .dependencies import CacheError
from .imports import is_library, stale

_COMPANION = "invariance.companion"

#: Modification time, change time, size and inode of a file; None if there is no such file.
Stamp = tuple[int, int, int, int] | None


def computes(module: str) -> bool:
    """Return whether results depend on a module of the library."""
    if module == f"{_COMPANION}.network":
        return True
    return not f"{module}.".startswith(f"{_COMPANION}.")


def imports_count(module: str) -> bool:
    """Return whether the imports of a module are followed.

    The companion's front module is followed as well, because it re-exports functions that compute.
    """
    return computes(module) or module == _COMPANION


class Code:
    """The code that a notebook computes with, or that this process has loaded if it is None."""

    def __init__(self, notebook: Path | None) -> None:
        self._notebook = notebook
        # A digest stays valid as long as all stamps of the files that it was read from do.
        self._digests: dict[frozenset[str], tuple[dict[Path, Stamp], str]] = {}

    def digest(self, reached: Set[str] = frozenset()) -> str:
        """Return the key of the imported modules, the modules in `reached`, and the versions.

        Raises `CacheError` if a module in memory has other code than its file.
        """
        modules = frozenset(reached)
        if modules in self._digests:
            stamps, digest_of_modules = self._digests[modules]
            if all(_stamp(path) == stamp for path, stamp in stamps.items()):
                return digest_of_modules
        stamps, digest_of_modules = self._read(modules)
        self._digests[modules] = stamps, digest_of_modules
        return digest_of_modules

    def _read(self, reached: Set[str]) -> tuple[dict[Path, Stamp], str]:
        """Return the stamps of all files that matter, and the digest of the computing ones."""
        files = self._library_files(reached)
        computing = {name: path for name, path in files.items() if computes(name)}
        user_files = _user_files(reached)

        watched = [*files.values(), *user_files.values()]
        if self._notebook is not None:
            # A new helper module beside the notebook changes the folder.
            watched += [self._notebook, self._notebook.parent]
        stamps = {path: _stamp(path) for path in watched}

        _refuse_stale(computing | user_files)
        versions = json.dumps(package_versions(), sort_keys=True)
        return stamps, f"{digest(computing)} {architecture()} {versions}"

    def _library_files(self, reached: Set[str]) -> dict[str, Path]:
        """Return the files of the library's modules that the notebook imports or reaches."""
        names: Iterable[str] = list(sys.modules)
        if self._notebook is not None:
            names = reached
        followed = [name for name in names if is_library(name) and imports_count(name)]
        imports = "\n".join(f"import {name}" for name in sorted(followed))
        files = closure(imports, through=imports_count)
        if self._notebook is not None:
            files |= modules_of(self._notebook, imports_count)
        return files


def _user_files(modules: Set[str]) -> dict[str, Path]:
    """Return the files of the user's modules. Their content is followed in memory instead."""
    files = {}
    for name in modules:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file and not is_library(name) and name != "__main__":
            files[name] = Path(file)
    return files


def _refuse_stale(files: dict[str, Path]) -> None:
    """Raise `CacheError` if a module in memory has other code than its file."""
    names = set()
    for module in stale(files):
        names.add(module if is_library(module) else files[module].name)
    if names:
        change = f"{', '.join(sorted(names))} has changed since it was imported"
        raise CacheError(f"{change}: restart the kernel, or the run, to compute with it")


def _stamp(path: Path) -> Stamp:
    """Return values that change whenever a file is written, even if its text stays the same."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
