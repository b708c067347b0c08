"""Which public names of the package a notebook uses, read from its text without running it."""

import ast
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType, ModuleType

__all__ = ["LABORATORY", "MODULES", "public", "tree", "uses"]

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
    "invariance.core.config",
    "invariance.core.parallel",
    "invariance.companion",
)
#: What records and draws; no claim rests on it.
LABORATORY = MODULES[-1]


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
        module = import_module(name)
        for short in module.__all__:
            value = getattr(module, short)
            if callable(value) and value.__doc__:
                found.setdefault(id(value), f"{name}.{short}")
    return found


def _named(module: str, name: str) -> object:
    """The object that ``from module import name`` brings; None for what is not the package's."""
    if module.split(".")[0] != "invariance":
        return None
    try:
        return getattr(import_module(module), name, None) or import_module(f"{module}.{name}")
    except ImportError:
        return None


def tree(source: str) -> ast.AST:
    """The syntax tree; an empty one for what Python cannot read."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ast.Module(body=[], type_ignores=[])


@cache
def uses(source: str) -> tuple[str, ...]:
    """Full names of what is imported from the package's documented modules, in order."""
    parsed = list(ast.walk(tree(source)))
    bound = {
        alias.asname or alias.name: _named(node.module, alias.name)
        for node in parsed
        if isinstance(node, ast.ImportFrom) and node.module and not node.level
        for alias in node.names
    }
    attributes = [
        getattr(bound[node.value.id], node.attr, None)
        for node in parsed
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if isinstance(bound.get(node.value.id), ModuleType)
    ]
    found = (_canonical().get(id(value)) for value in [*bound.values(), *attributes])
    return tuple(dict.fromkeys(filter(None, found)))
