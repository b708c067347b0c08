"""Modules in memory: whose they are, and whether their files still say what was imported.

Python goes on with a module that it has imported when the file changes. So the text of each module
of the library, and of each module of one's own, is noted when it is imported: `stale` names those
whose file has another code by now.
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
_MACHINERY = f"{LIBRARY}.companion"
_SITES = {"site-packages", "dist-packages"}

# the file and the text of each module when it was imported
_texts: dict[str, tuple[str, bytes]] = {}
# those that had been imported before anybody could note their text
_earlier: set[str] = set()


@cache
def _installed(file: str) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    parts = Path(file).parts
    zipped = any(part.startswith("python3") and part.endswith(".zip") for part in parts)
    standard = {Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    return zipped or bool(_SITES & {*parts}) or bool(standard & {*Path(file).parents})


def is_library(module: str) -> bool:
    """Whether a module is this package's."""
    return module.partition(".")[0] == LIBRARY


def is_own(module: str) -> bool:
    """Whether a module is the user's: a notebook's cells, a helper beside it, a file of theirs."""
    if is_library(module) or module == "builtins":
        return False
    loaded = sys.modules.get(module)
    if loaded is None:
        return True
    spec = getattr(loaded, "__spec__", None)
    file = getattr(loaded, "__file__", None)
    if file is None and spec is not None:
        return spec.origin not in ("built-in", "frozen") and not _namespace_installed(spec)
    return file is None or not _installed(file)


def _namespace_installed(spec: ModuleSpec) -> bool:
    places = list(spec.submodule_search_locations or ())
    return bool(places) and all(map(_installed, places))


@cache
def is_own_file(module: str) -> bool:
    """Whether a module that may not be imported yet would be read from a file of the user's."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return False
    origin = spec.origin if spec else None
    return bool(origin) and str(origin).endswith(".py") and not _installed(str(origin))


class _Loader(SourceFileLoader):
    """Loads a module from its text, and notes it.

    What Python keeps compiled is not used: it is taken for current if the file has the same size
    and was written in the same second.
    """

    def get_code(self, fullname: str) -> types.CodeType | None:
        text = self.get_data(self.path)
        _texts[fullname] = self.path, text
        _earlier.discard(fullname)
        if f"{fullname}.".startswith(f"{_MACHINERY}."):
            return super().get_code(fullname)
        code: types.CodeType = self.source_to_code(text, self.path)
        return code


class _Finder:
    """The first of ``sys.meta_path``: gives modules that are to be noted another loader."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            search = getattr(finder, "find_spec", None)
            spec = search(fullname, path, target) if search and finder is not self else None
            if spec is None:
                continue
            noted = is_library(fullname) or not _installed(spec.origin or "")
            if type(spec.loader) is SourceFileLoader and noted:
                spec.loader = _Loader(spec.loader.name, spec.loader.path)
            return spec
        return None


def watch() -> None:
    """From now on, note the text of modules that are imported; of earlier ones, as it is now."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    for name, module in [*sys.modules.items()]:
        file = getattr(module, "__file__", None)
        loader = getattr(getattr(module, "__spec__", None), "loader", None)
        if file and type(loader) is SourceFileLoader and _noted(name, file):
            _earlier.add(name)
    sys.meta_path.insert(0, _Finder())


def _noted(name: str, file: str) -> bool:
    if not is_library(name) and _installed(file):
        return False
    try:
        _texts[name] = file, Path(file).read_bytes()
    except OSError:
        return False
    return True


def imported() -> dict[str, str]:
    """SHA-256 of the text of each module that was noted, by its file."""
    digests = {file: hashlib.sha256(text).hexdigest() for file, text in _texts.values()}
    return {str(Path(file).resolve()): digest for file, digest in digests.items()}


def stale(files: Mapping[str, Path]) -> list[str]:
    """Which modules, given with their files, are in memory with another code than their file has.

    A module is named as in an import statement, or by its file's name, ``_helper.py``. Comments and
    line breaks are no code.
    """
    return [name for name, path in files.items() if _differs(name.removesuffix(".py"), path)]


def _differs(name: str, path: Path) -> bool:
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None or file is None or Path(file).resolve() != path.resolve():
        return False
    try:
        now = path.read_bytes()
    except OSError:
        return True
    if name in _earlier:
        return not _has_functions_of(module, now)
    noted_file, text = _texts.get(name, ("", now))
    return noted_file == file and text != now and not _same_code(text, now)


def _compiled(text: bytes) -> types.CodeType | None:
    try:
        return compile(text, "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None


def _same_code(one: bytes, other: bytes) -> bool:
    from .bytecode import code_digest

    codes = [_compiled(text) for text in (one, other)]
    return None not in codes and len({code_digest(code) for code in codes if code}) == 1


def _has_functions_of(module: types.ModuleType, text: bytes) -> bool:
    """Whether the functions that a module has in memory are those of a text."""
    from .bytecode import code_digest, nested

    code = _compiled(text)
    known = {code_digest(each) for each in nested(code)} if code else set()
    return all(code_digest(function.__code__) in known for function in _functions(module))


def _functions(module: types.ModuleType) -> Iterator[types.FunctionType]:
    """Functions of a module's text, and methods of its classes."""
    for value in [*vars(module).values()]:
        own_class = isinstance(value, type) and value.__module__ == module.__name__
        members = [*vars(value).values()] if own_class else [value]
        for member in members:
            function = getattr(member, "__func__", member)
            if isinstance(function, types.FunctionType):
                if function.__code__.co_filename == module.__file__:
                    yield function
