"""Where a result comes from: the modules that its code imports, packages, machine."""

import ast
import hashlib
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .errors import NotebookError
from .files import read_text
from .source import notebook_code, parse_code

# Windows has no resource, and Python in a browser neither of the two: sizes are then left out
try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]
try:
    import psutil
except ImportError:
    psutil = None

# the packages whose version may change a number or a figure
PACKAGES = ("cvxpy", "joblib", "matplotlib", "numpy", "pandas", "scikit-learn", "scipy", "sympy")


@cache
def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages that compute."""
    found = {"python": platform.python_version()} | dict.fromkeys(PACKAGES, "absent")
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def code_version(root: Path) -> str:
    """Version of this package and the commit of `root`: ``0.1.0+g1234abc``, or ``...-dirty``.

    Dirty means that the package or a notebook differs from the commit; new figures do not count.
    """

    def git(*arguments: str) -> str:
        line = ["git", "-C", str(root), *arguments]
        return subprocess.run(
            line, capture_output=True, encoding="utf-8", timeout=30, check=True
        ).stdout

    release = version("invariance")
    try:
        commit = git("rev-parse", "--short=10", "HEAD").strip()
        changed = git("status", "--porcelain", "--", "invariance", "notebooks")
    except (OSError, subprocess.SubprocessError):
        return release
    return f"{release}+g{commit}{'-dirty' if changed else ''}"


@cache
def architecture() -> str:
    """The processor for which NumPy's BLAS works, such as ``"SkylakeX"``: last digits of a matrix
    product depend on it. OpenBLAS finds it out, or ``OPENBLAS_CORETYPE`` says it."""
    import numpy  # noqa: F401  (loads the library)
    from threadpoolctl import threadpool_info

    found = {str(library.get("architecture", "")) for library in threadpool_info()}
    return ", ".join(sorted(found - {""})) or "unknown"


@cache
def hardware() -> dict[str, Any]:
    """Processor, cores and memory of this machine, and the BLAS in use with its threads."""
    processor = platform.processor() or platform.machine()
    with suppress(OSError, IndexError):  # no such file outside Linux
        told = Path("/proc/cpuinfo").read_text("utf-8")
        processor = re.findall(r"(?m)^model name\s*: (.+)$", told)[0].strip()
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        **({"memory_gb": round(psutil.virtual_memory().total / 2**30, 1)} if psutil else {}),
        "system": f"{platform.system()} {platform.machine()}",
        "blas": architecture(),
        "blas_threads": os.environ.get("OMP_NUM_THREADS", "not pinned"),
    }


def floor_s() -> float:
    """Seconds of a bare matrix product for the operations that orbits have taken so far here.

    Not of solvers nor figures, nor of what was interrupted; a symmetric matrix counts whole.
    """
    way = sys.modules.get("invariance.orbits.way")  # absent where there were no orbits
    return sum(n / way.rate(dtype) for dtype, n in way.done.items()) if way else 0.0


def peak_memory_mb() -> dict[str, float]:
    """Peak resident memory, in MiB, of this process and, at most, of its largest finished child.

    Nothing on a system that does not tell.
    """
    if resource is None:
        return {}
    unit = 2**20 if sys.platform == "darwin" else 2**10
    whose = {"peak_memory_mb": resource.RUSAGE_SELF}
    whose["peak_memory_child_mb"] = resource.RUSAGE_CHILDREN
    return {name: round(resource.getrusage(who).ru_maxrss / unit, 1) for name, who in whose.items()}


# ------------------------------------------------------------------------------------- imports

_PACKAGE = Path(__file__).resolve().parents[1]


# texts are part of what these two are remembered by: files change while a process lives


@cache
def _import_statements(source: str, module: str) -> list[ast.Import | ast.ImportFrom]:
    """Import statements of a source, which may be inside functions."""
    tree = parse_code(source, module or "the code")
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


@cache
def _defined(source: str, module: str) -> set[str]:
    """Names of the functions and classes of a module."""
    body = parse_code(source, module).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


class _Package:
    """One look at the files of a package in a folder; none of them is read twice."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, Path | None] = {}
        self._texts: dict[Path, str] = {}
        self._homes: dict[str, dict[str, str]] = {}

    def file(self, module: str) -> Path | None:
        if module not in self._files:
            base = self.folder.parent.joinpath(*module.split("."))
            found = (base / "__init__.py", base.with_suffix(".py"))
            self._files[module] = next((path for path in found if path.is_file()), None)
        return self._files[module]

    def text(self, path: Path) -> str:
        if path not in self._texts:
            self._texts[path] = path.read_text(encoding="utf-8")
        return self._texts[path]

    def homes(self, origin: str) -> dict[str, str]:
        """Module of each name that a package finds on first use, by `__getattr__`."""
        if origin not in self._homes:
            self._homes[origin] = self._found_late(origin)
        return self._homes[origin]

    def _found_late(self, origin: str) -> dict[str, str]:
        path = self.file(origin) if origin.split(".")[0] == self.folder.name else None
        source = self.text(path) if path and path.name == "__init__.py" else ""
        if path is None or "def __getattr__" not in source:
            return {}
        statements = _import_statements(source, origin)
        imports = [node for node in statements if isinstance(node, ast.ImportFrom)]
        known = {alias.name for node in imports for alias in node.names}
        return {
            name: f"{origin}.{home.stem}"
            for home in sorted(path.parent.glob("*.py"))
            for name in _defined(self.text(home), home.stem) - known
        }

    def imported(self, source: str, module: str = "") -> set[str]:
        """Modules named by the import statements of `source`, with their parents."""
        named: set[str] = set()
        for node in _import_statements(source, module):
            if isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
                continue
            above = module.split(".")[: -node.level] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            # "from package import x": x may be a module or a name inside the package
            named |= {origin, *(f"{origin}.{alias.name}" for alias in node.names)}
            homes = self.homes(origin)
            named |= {homes[alias.name] for alias in node.names if alias.name in homes}
        found: set[str] = set()
        for parts in (name.split(".") for name in named):
            if parts[0] == self.folder.name:
                found |= {".".join(parts[:i]) for i in range(1, len(parts) + 1)}
        return {name for name in found if self.file(name)}

    def imports_of(self, module: str, path: Path) -> set[str]:
        """Modules that a module imports."""
        # relative imports of a package's __init__ start at the package itself
        here = f"{module}.__init__" if path.name == "__init__.py" else module
        return self.imported(self.text(path), here)


def closure(
    source: str, package: Path = _PACKAGE, through: Callable[[str], bool] = lambda module: True
) -> dict[str, Path]:
    """Modules of the package that running `source` imports, with their files.

    `package` is the package's folder; `through` says of a module's name whether what that module
    imports counts as well. A `NotebookError` for what is not Python.

    >>> "invariance.companion.errors" in closure("from invariance.companion.cli import main")
    True
    """
    look = _Package(package)
    files: dict[str, Path] = {}
    waiting = look.imported(source)
    while waiting:
        module = waiting.pop()
        path = look.file(module)
        if module not in files and path is not None:
            files[module] = path
            if through(module):
                waiting |= look.imports_of(module, path)
    return dict(sorted(files.items()))


def modules_of(notebook: Path, through: Callable[[str], bool] = lambda module: True) -> dict:
    """Modules that a text notebook imports, and those beside it, ``_*.py``, with their files.

    What the latter import counts as well; for `through` and errors see `closure`.
    """
    beside = {path.name: path for path in sorted(notebook.parent.glob("_*.py"))}
    texts = [notebook_code(notebook)]
    for path in beside.values():
        text = read_text(path, NotebookError)
        parse_code(text, f"the module {path}")  # an error names the file that it is in
        texts.append(text)
    return closure("\n".join(texts), through=through) | beside


def digest(files: dict[str, Path]) -> str:
    """SHA-256 of module names and sources."""
    total = hashlib.sha256()
    for module, path in sorted(files.items()):
        total.update(module.encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()
