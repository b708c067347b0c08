"""The companion's modules import each other without a circle, inside functions as well."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

from invariance.companion.imports import package_folder

ROOT = package_folder().parent


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {_name(path): path for path in (package_folder() / "companion").rglob("*.py")}


def _for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _imported(module: str) -> set[str]:
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(MODULES[module].read_text())]
    while waiting:
        node = waiting.pop()
        if _for_types_only(node):
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".")
            if MODULES[module].name != "__init__.py":
                parts = parts[:-1]
            base = ".".join(parts[: len(parts) - node.level + 1]) if node.level else ""
            origin = ".".join(filter(None, [base, node.module]))
            for alias in node.names:
                whole = f"{origin}.{alias.name}"
                found.add(whole if whole in MODULES else origin)
    return (found & set(MODULES)) - {module}


def test_no_module_imports_itself_through_others():
    graph = {module: _imported(module) for module in MODULES}
    assert "invariance.companion.ledger.claims" in graph["invariance.companion.run.run"]
    order = [*TopologicalSorter(graph).static_order()]  # a CycleError names the circle
    assert len(order) == len(MODULES)


def test_a_notebook_needs_nothing_of_the_runner():
    """So that what runs notebooks can change without a notebook's results counting as old."""
    seen, waiting = set(), ["invariance.companion.run.run"]
    while waiting:
        module = waiting.pop()
        seen.add(module)
        waiting += _imported(module) - seen
    assert not [name for name in seen if ".runner" in name or ".site" in name or "cli" in name]
