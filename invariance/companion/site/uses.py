"""Which public names of the package a notebook uses, read from its text without running it."""

import ast
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType, ModuleType

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
    """Documented names by module: classes and functions of ``__all__`` with words of their own.

    What several modules offer is documented with the first.
    """
    found: dict[str, list[str]] = {}
    for full in _canonical().values():
        module, _, name = full.rpartition(".")
        found.setdefault(module, []).append(name)
    return MappingProxyType({module: tuple(names) for module, names in found.items()})


@cache
def _canonical() -> dict[int, str]:
    """The full name that an object is documented under, by the object's identity."""
    found: dict[int, str] = {}
    for name in MODULES:
        try:
            module = import_module(name)
        except ModuleNotFoundError:
            continue
        for short in getattr(module, "__all__", ()):
            value = getattr(module, short)
            if callable(value) and value.__doc__:
                found.setdefault(id(value), f"{name}.{short}")
    return found


def _named(module: str, name: str) -> object:
    """The object that ``from module import name`` brings; None for what is not the package's."""
    if module.split(".")[0] != "invariance":
        return None
    try:
        owner = import_module(module)
        return getattr(owner, name, None) or import_module(f"{module}.{name}")
    except ImportError:
        return None


def tree(source: str) -> ast.AST:
    """The syntax tree; an empty one for what Python cannot read."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ast.Module(body=[], type_ignores=[])


def uses(source: str) -> list[str]:
    """Full names of what is imported from the package's documented modules, in order."""
    documented = _canonical()
    bound: dict[str, object] = {}
    found: dict[str, None] = {}
    parsed = tree(source)
    for node in ast.walk(parsed):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                value = _named(node.module, alias.name)
                bound[alias.asname or alias.name] = value
                if id(value) in documented:
                    found[documented[id(value)]] = None
    for node in ast.walk(parsed):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = bound.get(node.value.id)
            value = getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
            if id(value) in documented:
                found[documented[id(value)]] = None
    return list(found)


def used_by(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Notebooks by the full name of what they use."""
    found: dict[str, list[str]] = {}
    for notebook, source in sources.items():
        for name in uses(source):
            found.setdefault(name, []).append(notebook)
    return found
