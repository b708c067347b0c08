"""Modules in memory: whether they are the user's, and whether their files have changed.

Python keeps an imported module when its file changes. Results must not be stored under the new
text then. So the text of every module of the library and of the user is recorded when the module
is imported, and `stale` returns those modules whose files have other code now.
"""

import hashlib
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path

LIBRARY = __name__.partition(".")[0]
_COMPANION = f"{LIBRARY}.companion"
_PACKAGE_FOLDERS = {"site-packages", "dist-packages"}

#: The file and the text of each module when it was imported.
_texts: dict[str, tuple[str, bytes]] = {}
#: Modules that were imported before `watch` was called, so that their text may be newer.
_imported_before: set[str] = set()


# ------------------------------------------------------------------------- whose is a module


def is_library(module: str) -> bool:
    """Return whether a module belongs to this package."""
    return module.partition(".")[0] == LIBRARY


def is_users_module(module: str) -> bool:
    """Return whether a module is the user's: a notebook's cells, or a file of theirs."""
    if is_library(module) or module == "builtins":
        return False
    loaded = sys.modules.get(module)
    if loaded is None:
        return True
    file = getattr(loaded, "__file__", None)
    if file is not None:
        return not _is_installed(file)
    spec = getattr(loaded, "__spec__", None)
    if spec is None:
        return True
    origin = getattr(spec, "origin", None)
    return origin not in ("built-in", "frozen") and not _is_installed_namespace(spec)


@cache
def is_users_file(module: str) -> bool:
    """Return whether a module, imported or not, lies in a file of the user."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return False
    origin = getattr(spec, "origin", None)
    return origin is not None and origin.endswith(".py") and not _is_installed(origin)


@cache
def _is_installed(file: str) -> bool:
    """Return whether a file belongs to Python or to an installed package."""
    path = Path(file)
    if _PACKAGE_FOLDERS.intersection(path.parts):
        return True
    if any(part.startswith("python3") and part.endswith(".zip") for part in path.parts):
        return True
    standard_library = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    return not standard_library.isdisjoint(path.parents)


def _is_installed_namespace(spec: ModuleSpec) -> bool:
    folders = list(getattr(spec, "submodule_search_locations", None) or ())
    return bool(folders) and all(_is_installed(folder) for folder in folders)


# --------------------------------------------------------------------------- recording texts


class _Loader(SourceFileLoader):
    """A loader that compiles a module from its text and records the text.

    Python's stored bytecode is not used. Python considers it current if the file has the same size
    and was written within the same second, which an edit can satisfy.
    """

    def get_code(self, fullname: str) -> types.CodeType | None:
        text = self.get_data(self.path)
        _texts[fullname] = self.path, text
        _imported_before.discard(fullname)
        if f"{fullname}.".startswith(f"{_COMPANION}."):
            return super().get_code(fullname)  # No result depends on it, and this is faster.
        code: types.CodeType = self.source_to_code(text, self.path)
        return code


class _Finder:
    """The first entry of ``sys.meta_path``: it gives modules to be recorded another loader."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            search = getattr(finder, "find_spec", None)
            if finder is self or search is None:
                continue
            spec: ModuleSpec | None = search(fullname, path, target)
            if spec is None:
                continue
            # Finders of some packages return objects of their own, which have a loader at least.
            loader = spec.loader
            if type(loader) is SourceFileLoader and _is_recorded(fullname, loader.path):
                spec.loader = _Loader(loader.name, loader.path)
            return spec
        return None


def watch() -> None:
    """Record the text of every module imported from now on, and of earlier ones as it is now."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        loader = getattr(getattr(module, "__spec__", None), "loader", None)
        if file and type(loader) is SourceFileLoader:
            _record_imported(name, file)
    sys.meta_path.insert(0, _Finder())


def _is_recorded(name: str, file: str) -> bool:
    return is_library(name) or not _is_installed(file)


def _record_imported(name: str, file: str) -> None:
    if not _is_recorded(name, file):
        return
    try:
        _texts[name] = file, Path(file).read_bytes()
    except OSError:
        return
    _imported_before.add(name)


def imported() -> dict[str, str]:
    """Return the SHA-256 of the text of each recorded module, by its file."""
    digests = {}
    for file, text in _texts.values():
        digests[str(Path(file).resolve())] = hashlib.sha256(text).hexdigest()
    return digests


# ---------------------------------------------------------------------------- comparing texts


def stale(files: Mapping[str, Path]) -> list[str]:
    """Return the modules that have other code in memory than in their files.

    `files` maps modules to files. A module's name is that of an import statement or of a file, such
    as ``_helper.py``. Changes of comments and line breaks do not matter.
    """
    return [name for name, path in files.items() if _differs(name.removesuffix(".py"), path)]


def _differs(name: str, path: Path) -> bool:
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None or file is None or Path(file).resolve() != path.resolve():
        return False
    if name not in _imported_before and name not in _texts:
        return False
    try:
        text_now = path.read_bytes()
    except OSError:
        return True
    if name in _imported_before:
        return not _has_functions_of(module, text_now)
    recorded_file, text = _texts[name]
    return recorded_file == file and text != text_now and not _is_same_code(text, text_now)


def _is_same_code(text: bytes, text_now: bytes) -> bool:
    # `watch` runs whenever the library is imported, and should not import `dis`.
    from .bytecode import code_digest

    code = _compiled(text)
    code_now = _compiled(text_now)
    if code is None or code_now is None:
        return False
    return code_digest(code) == code_digest(code_now)


def _has_functions_of(module: types.ModuleType, text: bytes) -> bool:
    """Return whether all functions of a module in memory are those of a text."""
    from .bytecode import code_digest, nested

    code = _compiled(text)
    digests = set()
    if code is not None:
        digests = {code_digest(inner) for inner in nested(code)}
    return all(code_digest(function.__code__) in digests for function in _functions(module))


def _compiled(text: bytes) -> types.CodeType | None:
    try:
        return compile(text, "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None


def _functions(module: types.ModuleType) -> Iterator[types.FunctionType]:
    """Yield the functions defined in a module's file, and the methods of its classes."""
    for value in list(vars(module).values()):
        members = [value]
        if isinstance(value, type) and value.__module__ == module.__name__:
            members = list(vars(value).values())
        for member in members:
            function = getattr(member, "__func__", member)
            if not isinstance(function, types.FunctionType):
                continue
            if function.__code__.co_filename == module.__file__:
                yield function
