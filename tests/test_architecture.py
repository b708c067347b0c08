"""The floors of ARCHITECTURE.md: imports go downward and have no cycles."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import invariance

PACKAGE = Path(invariance.__file__).parent
#: From the ground up. Subpackages on one floor may import each other, without cycles.
FLOORS = [
    {"core"},
    {"theory", "groups"},
    {"orbits"},
    {"kernels", "features", "spectral", "linear"},
    {"evaluation", "datasets", "beyond"},
    {"companion"},
]
FLOOR_OF = {part: floor for floor, parts in enumerate(FLOORS) for part in parts}
#: Packages that `pip install .` installs.
INSTALLED = {"numpy", "scipy", "sklearn", "joblib", "threadpoolctl", "tqdm"}


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def part_of(module: str) -> str:
    """The subpackage that a module belongs to; the package itself counts as core."""
    part = [*module.split("."), ""][1]
    return part if (PACKAGE / part / "__init__.py").is_file() and part else "core"


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file; several tests walk through the same trees."""
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(autouse=True, scope="module")
def _trees_are_forgotten():
    """All trees together take 130 MB."""
    yield
    parsed.cache_clear()


def _statements(node: ast.AST, *, deferred: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    """Import statements that are executed, including those within functions if ``deferred``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):  # It contains no statement.
            continue
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from _statements(ast.Module(child.orelse, []), deferred=deferred)
        elif deferred or not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from _statements(child, deferred=deferred)


def imports(module: str, *, deferred: bool = True) -> set[str]:
    """Full names of the modules that a module imports."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    imported = set()
    for statement in _statements(parsed(path), deferred=deferred):
        if isinstance(statement, ast.Import):
            imported |= {alias.name for alias in statement.names}
            continue
        base = statement.module or ""
        if statement.level:
            above = package.split(".")[: len(package.split(".")) - statement.level + 1]
            base = ".".join([*above, *([base] if base else [])])
        for alias in statement.names:
            full = f"{base}.{alias.name}"
            imported.add(full if full in MODULES else base)
    return imported


INSIDE = {module: (imports(module) & MODULES.keys()) - {module} for module in MODULES}
#: A method of the base class returns an object of a class that derives from it: `Transformations`
#: has `then`, which returns a `Composition`. The import is inside the method.
INSIDE["invariance.groups.base"].remove("invariance.groups.products")
#: A kernel has `on_columns`, which returns an `OnColumns`. The import is inside the method.
INSIDE["invariance.kernels.base"].remove("invariance.kernels.columns")


def circle(graph: dict[str, set[str]]) -> list[str] | None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def test_every_subpackage_has_a_floor():
    assert {part_of(module) for module in MODULES} <= FLOOR_OF.keys()


def test_no_import_goes_upward():
    up = [
        f"{module} imports {used}, which lies above it"
        for module in MODULES
        for used in sorted(INSIDE[module])
        if FLOOR_OF[part_of(used)] > FLOOR_OF[part_of(module)]
    ]
    assert not up, "\n".join(up)


def test_modules_subpackages_and_parts_of_the_companion_have_no_import_cycles():
    parts: dict[str, set[str]] = {}
    rooms: dict[str, set[str]] = {}
    for module, used in INSIDE.items():
        part = part_of(module)
        parts.setdefault(part, set()).update({part_of(m) for m in used} - {part})
        if part == "companion":
            room = ".".join(module.split(".")[:3])
            inside = {".".join(m.split(".")[:3]) for m in used if part_of(m) == part}
            rooms.setdefault(room, set()).update(inside - {room})
    assert circle(INSIDE) is circle(parts) is circle(rooms) is None


def test_the_library_imports_only_installed_packages_at_module_level():
    allowed = INSTALLED | {"invariance"} | sys.stdlib_module_names
    late = [
        f"{module}: import {name} where it is used, by `extras.need`"
        for module in MODULES
        if part_of(module) != "companion"
        for name in sorted(imports(module, deferred=False))
        if name.partition(".")[0] not in allowed
    ]
    assert not late, "\n".join(late)


def test_only_core_arrays_calls_the_validation_of_scikit_learn():
    """The validation of scikit-learn ignores masks, so that only `core.arrays` may call it."""
    validators = {"check_array", "check_X_y", "validate_data", "validation", "_check_y"}
    violations = [
        f"{module}, line {node.lineno}: take check_array or validate_data of core.arrays"
        for module, path in MODULES.items()
        if part_of(module) != "companion" and module != "invariance.core.arrays"
        for node in ast.walk(parsed(path))
        if getattr(node, "attr", None) in validators
        or (isinstance(node, ast.Import) and any("validation" in a.name for a in node.names))
        or (
            (getattr(node, "module", None) or "").startswith("sklearn")
            and validators & {alias.name for alias in node.names}
        )
    ]
    assert not violations, "\n".join(violations)


def test_the_parser_finds_absolute_relative_and_deferred_imports(tmp_path, monkeypatch):
    source = """
from typing import TYPE_CHECKING
from . import base
from ..core.parameters import Whole
import scipy.linalg as la
if TYPE_CHECKING:
    import pandas
class A:
    import numpy
    def f(self):
        from .average import Average
        import cvxpy
"""
    (tmp_path / "module.py").write_text(source, "utf-8")
    monkeypatch.setitem(MODULES, "invariance.kernels.new", tmp_path / "module.py")
    monkeypatch.setitem(MODULES, "invariance.kernels.average", tmp_path / "module.py")
    at_once = {"typing", "invariance.kernels.base", "invariance.core.parameters"}
    at_once |= {"scipy.linalg", "numpy"}
    assert imports("invariance.kernels.new", deferred=False) == at_once
    assert imports("invariance.kernels.new") - at_once == {"invariance.kernels.average", "cvxpy"}
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) and not circle({"a": {"b"}, "b": set()})


def _by_locale(call: ast.Call) -> bool:
    """Whether a call reads or writes text without an explicit encoding."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    name = getattr(call.func, "attr", None) or getattr(call.func, "id", "")
    if "encoding" in keywords or None in keywords:  # explicit, or passed on from a caller
        return False
    match name:
        case "read_text":
            return not call.args
        case "write_text":
            return len(call.args) < 2
        case "run" | "Popen" | "check_output" | "check_call":
            return "text" in keywords or "universal_newlines" in keywords
        case "open" if isinstance(call.func, ast.Name):
            mode = keywords.get("mode", call.args[1] if len(call.args) > 1 else ast.Constant("r"))
            return not (isinstance(mode, ast.Constant) and "b" in str(mode.value))
    return False


def test_texts_are_read_and_written_with_an_explicit_encoding():
    root = PACKAGE.parent
    files = [
        p for name in ("invariance", "tests", "notebooks") for p in (root / name).rglob("*.py")
    ]
    violations = [
        f"{path.relative_to(root)}, line {node.lineno}: pass encoding='utf-8'"
        for path in sorted(files)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and _by_locale(node)
    ]
    assert len(files) > 100 and not violations, "\n".join(violations)


def test_every_call_without_an_encoding_is_recognized():
    without = ["p.read_text()", "p.write_text(t)", "open(p)", "open(p, 'w')", "run(c, text=True)"]
    explicit = ["p.read_text('utf-8')", "p.write_text(t, encoding='utf-8')", "open(p, 'rb')"]
    explicit += ["open(p, mode='xb')", "run(c, capture_output=True)", "run(c, encoding='utf-8')"]
    recognized = [line for line in without + explicit if _by_locale(ast.parse(line).body[0].value)]
    assert recognized == without


#: Integers of 64 bits that are not indices: hashes, counts, words of counts, periods of angles.
WIDE = {
    "invariance.groups.translations": 1,
    "invariance.orbits.reductions": 4,
    "invariance.spectral.base": 3,
    "invariance.spectral.torus": 1,
}


def test_indices_have_the_width_of_the_platform():
    """NumPy refuses int64 indices on platforms with 32-bit pointers, such as WebAssembly."""
    for name, path in MODULES.items():
        if part_of(name) not in {"groups", "orbits", "kernels", "features", "spectral", "linear"}:
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        wide = [line for line in lines if re.search(r"\bu?int64\b", line)]
        assert len(wide) == WIDE.get(name, 0), (name, wide)
