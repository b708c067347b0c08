"""Which public names of the package a notebook uses, read from its text without running it."""

import ast
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType

__all__ = ["MODULES", "public", "used_by", "uses"]

#: What the reference documents, from the ground up.
MODULES = (
    "invariance.groups",
    "invariance.kernels",
    "invariance.features",
    "invariance.spectral",
    "invariance.linear",
    "invariance.evaluation",
    "invariance.theory.mroueh2015",
    "invariance.theory.raj2017",
    "invariance.theory.liu2022",
    "invariance.theory.soleymani2025",
    "invariance.datasets",
    "invariance.config",
    "invariance.parallel",
    "invariance.companion",
)


@cache
def public() -> Mapping[str, tuple[str, ...]]:
    """Documented names by module: classes and functions of ``__all__`` with words of their own."""
    found = {}
    for name in MODULES:
        try:
            module = import_module(name)
        except ModuleNotFoundError:
            continue
        objects = {n: getattr(module, n) for n in getattr(module, "__all__", ())}
        callables = {n: o for n, o in objects.items() if callable(o) and o.__doc__}
        if callables:
            found[name] = tuple(callables)
    return MappingProxyType(found)


def tree(source: str) -> ast.AST:
    """The syntax tree; an empty one for what Python cannot read."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ast.Module(body=[], type_ignores=[])


def uses(source: str) -> list[str]:
    """Full names of what is imported from the package's documented modules, in order."""
    known = {f"{module}.{name}" for module, names in public().items() for name in names}
    modules: dict[str, str] = {}
    found: dict[str, None] = {}
    parsed = tree(source)
    for node in ast.walk(parsed):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                modules[alias.asname or alias.name] = full
                found |= dict.fromkeys(n for n in known if n == full or _home(n) == full)
    for node in ast.walk(parsed):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            full = f"{modules.get(node.value.id)}.{node.attr}"
            if full in known:
                found[full] = None
    return list(found)


@cache
def _home(name: str) -> str:
    """Where a public name is defined: notebooks may import it from there as well."""
    module, _, short = name.rpartition(".")
    value = getattr(import_module(module), short)
    return f"{getattr(value, '__module__', module)}.{short}"


def used_by(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Notebooks by the full name of what they use."""
    found: dict[str, list[str]] = {}
    for notebook, source in sources.items():
        for name in uses(source):
            found.setdefault(name, []).append(notebook)
    return found
