"""The provenance of a result: versions, machine, and the modules that its code imports."""

import ast
import hashlib
import os
import platform
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .errors import NotebookError
from .files import read_text
from .source import notebook_code, parse_code, statements_of

# Windows has no `resource`, and Python in a browser has neither. Memory is then not recorded.
try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]
try:
    import psutil
except ImportError:
    psutil = None

#: The packages whose versions may change a number or a figure.
PACKAGES = ("cvxpy", "joblib", "matplotlib", "numpy", "pandas", "scikit-learn", "scipy", "sympy")

#: File in a copy of a project on another machine, with the version of the code that it was made of.
REVISION = ".revision"

#: Paths of libraries that come with NumPy and SciPy.
_OWN_BLAS = re.compile(r"[/\\](numpy|scipy)(\.libs)?[/\\]")


@cache
def package_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that compute."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "absent"
    return versions


def code_version(root: Path) -> str:
    """Return the package's version and the commit of `root`: ``0.1.0+g1234abc``, or ``...-dirty``.

    Dirty means that the package or a notebook differs from the commit. New figures do not count.
    """
    if (root / REVISION).is_file():
        return (root / REVISION).read_text("utf-8")
    release = version("invariance")
    try:
        commit = _git(root, "rev-parse", "--short=10", "HEAD").strip()
        # A configuration may hide new files, which are not in the commit either.
        options = ("--porcelain", "--untracked-files=normal")
        changes = _git(root, "status", *options, "--", "invariance", "notebooks")
    except (OSError, subprocess.SubprocessError):
        return release
    if changes:
        return f"{release}+g{commit}-dirty"
    return f"{release}+g{commit}"


def _git(root: Path, *arguments: str) -> str:
    line = ["git", "-C", str(root), *arguments]
    completed = subprocess.run(line, capture_output=True, encoding="utf-8", timeout=30, check=True)
    return completed.stdout


@cache
def architecture() -> str:
    """Return the processor architecture that NumPy's and SciPy's BLAS use, such as ``"SkylakeX"``.

    The last digits of a matrix product depend on it. OpenBLAS detects it, unless
    ``OPENBLAS_CORETYPE`` sets it. Other packages bring a BLAS of their own, as CVXPY's solvers do:
    those do not count if NumPy and SciPy have theirs in their own folders.
    """
    import numpy  # noqa: F401  (loads the library)
    from threadpoolctl import threadpool_info

    libraries = [library for library in threadpool_info() if library.get("architecture")]
    own = [library for library in libraries if _OWN_BLAS.search(library["filepath"])]
    names = {str(library["architecture"]) for library in own or libraries}
    return ", ".join(sorted(names)) or "unknown"


@cache
def hardware() -> dict[str, Any]:
    """Return processor, cores and memory of this machine, and the BLAS with its threads."""
    description = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "blas": architecture(),
        "blas_threads": os.environ.get("OMP_NUM_THREADS", "not pinned"),
    }
    if psutil is not None:
        description["memory_gb"] = round(psutil.virtual_memory().total / 2**30, 1)
    return description


def _processor() -> str:
    with suppress(OSError, IndexError):  # The file exists only on Linux.
        text = Path("/proc/cpuinfo").read_text("utf-8")
        models = re.findall(r"(?m)^model name\s*: (.+)$", text)
        return models[0].strip()
    return platform.processor() or platform.machine()


def operations_done() -> Counter[str]:
    """Return the operations on orbits that this process has done, by precision.

    Solvers, figures and interrupted calls are not included; a symmetric matrix counts in full.
    """
    cost = sys.modules.get("invariance.orbits.cost")  # Missing if there were no orbits.
    if cost is None:
        return Counter()
    return Counter(cost.operations_done)


def floor_s(operations: Mapping[str, int]) -> float:
    """Return the seconds of bare matrix products with these numbers of operations, by precision."""
    if not operations:
        return 0.0
    from ..orbits.cost import rate  # Imported late, as notebooks without orbits do without it.

    return sum(count / rate(dtype) for dtype, count in operations.items())


def peak_memory_mb() -> dict[str, float]:
    """Return the peak memory, in MiB, of this process and of its largest finished child.

    The result is empty on a system that does not record it.
    """
    if not hasattr(resource, "getrusage"):  # JupyterLite puts an empty module in its place.
        return {}
    unit = 2**20 if sys.platform == "darwin" else 2**10
    own_usage = resource.getrusage(resource.RUSAGE_SELF)
    children_usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "peak_memory_mb": round(own_usage.ru_maxrss / unit, 1),
        "peak_memory_child_mb": round(children_usage.ru_maxrss / unit, 1),
    }


# ------------------------------------------------------------------------------------- imports

_PACKAGE = Path(__file__).resolve().parents[1]


def _follow_all(module: str) -> bool:
    return True


def closure(
    source: str, package: Path = _PACKAGE, through: Callable[[str], bool] = _follow_all
) -> dict[str, Path]:
    """Return the modules of the package that running `source` imports, with their files.

    `package` is the package's folder. The imports of a module count only if ``through(module)`` is
    True. Raises `NotebookError` for a source that is not Python.

    >>> "invariance.companion.errors" in closure("from invariance.companion.cli import main")
    True
    """
    reader = _Package(package)
    files: dict[str, Path] = {}
    waiting = reader.imported(source)
    while waiting:
        module = waiting.pop()
        path = reader.file(module)
        if module in files or path is None:
            continue
        files[module] = path
        if through(module):
            waiting |= reader.imports_of(module, path)
    return dict(sorted(files.items()))


def modules_of(notebook: Path, through: Callable[[str], bool] = _follow_all) -> dict[str, Path]:
    """Return the modules that a text notebook imports, with their files.

    The modules beside it are ``_*.py``. They count if their names occur in the notebook or in
    another module that counts, which may also import them by name. See `closure` for `through` and
    for errors.
    """
    beside = {path.stem: path for path in sorted(notebook.parent.glob("_*.py"))}
    helpers = {}
    texts = [notebook_code(notebook)]
    unread = [read_text(notebook, NotebookError)]
    while unread:
        words = set(re.findall(r"\w+", unread.pop()))
        for name in sorted(words & beside.keys()):
            path = beside.pop(name)
            text = read_text(path, NotebookError)
            parse_code(text, f"the module {path}")  # An error then names this file.
            helpers[path.name] = path
            texts.append(text)
            unread.append(text)
    return closure("\n".join(texts), through=through) | helpers


def digest(files: dict[str, Path]) -> str:
    """Return the SHA-256 of module names and sources."""
    total = hashlib.sha256()
    for module, path in sorted(files.items()):
        total.update(module.encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


# Files change while a process lives, so these two functions are cached by the text of a file.


@cache
def _import_statements(source: str, module: str) -> list[ast.Import | ast.ImportFrom]:
    """Return all import statements of a source, also those inside functions."""
    tree = parse_code(source, module or "the code")
    return [node for node in statements_of(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


@cache
def _definitions(source: str, module: str) -> set[str]:
    """Return the names of the functions and classes of a module."""
    body = parse_code(source, module).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


class _Package:
    """The files of a package in a folder, each read at most once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, Path | None] = {}
        self._texts: dict[Path, str] = {}
        self._lazy_names: dict[str, dict[str, str]] = {}

    def file(self, module: str) -> Path | None:
        """Return the file of a module, or None if there is no such module."""
        if module not in self._files:
            base = self.folder.parent.joinpath(*module.split("."))
            candidates = (base / "__init__.py", base.with_suffix(".py"))
            existing = (path for path in candidates if path.is_file())
            self._files[module] = next(existing, None)
        return self._files[module]

    def imports_of(self, module: str, path: Path) -> set[str]:
        """Return the modules of the package that a module imports."""
        # Relative imports in a package's __init__ start at the package itself.
        if path.name == "__init__.py":
            module = f"{module}.__init__"
        return self.imported(self._text(path), module)

    def imported(self, source: str, importer: str = "") -> set[str]:
        """Return the modules of the package that a source imports, with their parents."""
        names: set[str] = set()
        for node in _import_statements(source, importer):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            else:
                names |= self._imported_from(node, importer)
        modules: set[str] = set()
        for name in names:
            parts = name.split(".")
            if parts[0] == self.folder.name:
                modules |= {".".join(parts[:length]) for length in range(1, len(parts) + 1)}
        return {module for module in modules if self.file(module) is not None}

    def _imported_from(self, node: ast.ImportFrom, importer: str) -> set[str]:
        """Return the modules that ``from origin import a, b`` may import."""
        parts: list[str] = []
        if node.level:
            parts += importer.split(".")[: -node.level]
        if node.module:
            parts.append(node.module)
        origin = ".".join(parts)
        names = {origin}
        lazy_names = self._lazy_names_of(origin)
        for alias in node.names:
            names.add(f"{origin}.{alias.name}")  # Each name may be a module.
            if alias.name in lazy_names:
                names.add(lazy_names[alias.name])
        return names

    def _text(self, path: Path) -> str:
        if path not in self._texts:
            self._texts[path] = path.read_text(encoding="utf-8")
        return self._texts[path]

    def _lazy_names_of(self, origin: str) -> dict[str, str]:
        """Return the names that a package imports on first use, with their modules."""
        if origin not in self._lazy_names:
            self._lazy_names[origin] = self._find_lazy_names(origin)
        return self._lazy_names[origin]

    def _find_lazy_names(self, origin: str) -> dict[str, str]:
        if origin.split(".")[0] != self.folder.name:
            return {}
        path = self.file(origin)
        if path is None or path.name != "__init__.py":
            return {}
        source = self._text(path)
        if "def __getattr__" not in source:
            return {}
        imported = set()
        for node in _import_statements(source, origin):
            if isinstance(node, ast.ImportFrom):
                imported |= {alias.name for alias in node.names}
        modules = {}
        for file in sorted(path.parent.glob("*.py")):
            for name in _definitions(self._text(file), file.stem) - imported:
                modules[name] = f"{origin}.{file.stem}"
        return modules
