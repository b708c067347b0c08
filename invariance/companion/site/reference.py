"""The reference: public names, where their source is, and which notebooks use them."""

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ..source import python_of


@dataclass(frozen=True)
class ModuleSource:
    """Lines of a module, and the names of its classes, functions and methods by line number."""

    lines: list[str]
    names: dict[int, str]


class Reference:
    """The documented names of some modules.

    A name that several modules offer is documented with the first of them.
    """

    def __init__(self, modules: Sequence[str]):
        self.roots = {name.split(".")[0] for name in modules}
        self.modules: dict[str, dict[str, Any]] = {}  # objects by module and short name
        self._full_names: dict[int, str] = {}  # by the identity of the object
        for module in modules:
            for short, value in _public_objects(import_module(module)).items():
                if callable(value) and value.__doc__ and id(value) not in self._full_names:
                    self._full_names[id(value)] = f"{module}.{short}"
                    self.modules.setdefault(module, {})[short] = value

    @cached_property
    def homes(self) -> dict[str, str]:
        """Full names by short ones; the first module with a name counts."""
        homes: dict[str, str] = {}
        for full in self._full_names.values():
            homes.setdefault(full.rpartition(".")[2], full)
        return homes

    def classes(self, module: str) -> list[str]:
        return [name for name, value in self.modules[module].items() if isinstance(value, type)]

    def address(self, full: str) -> str:
        """Return the page of a class, or the place of a function on its module's page."""
        module, _, name = full.rpartition(".")
        if name in self.classes(module):
            return f"api/{full}.html"
        return f"api/{module}.html#{full}"

    def summary(self, full: str) -> str:
        """Return the first paragraph of a docstring, without roles."""
        module, _, name = full.rpartition(".")
        docstring = inspect.cleandoc(self.modules[module][name].__doc__)
        paragraph = docstring.partition("\n\n")[0].replace("``", "`")
        paragraph = re.sub(r":math:`([^`]*)`", r"$\1$", paragraph)
        return re.sub(r":\w+:`~?\.?([^`]*)`", r"`\1`", paragraph)

    @cache  # noqa: B019
    def uses(self, source: str) -> tuple[str, ...]:
        """Return the full documented names that a source uses, in order."""
        documented = set(self._full_names.values())
        names: list[str] = []
        imported: dict[str, str] = {}
        for node in ast.walk(tree(source)):
            match node:
                case ast.ImportFrom(module=str(module)) if module.split(".")[0] in self.roots:
                    for alias in node.names:
                        full = f"{module}.{alias.name}"
                        imported[alias.asname or alias.name] = full
                        if full not in documented:
                            full = self.homes.get(alias.name, "")
                        names.append(full)
                case ast.Attribute(value=ast.Name(id=owner)):
                    names.append(f"{imported.get(owner)}.{node.attr}")
        return tuple(name for name in dict.fromkeys(names) if name in documented)

    def source(self, module: str, name: str) -> str | None:
        """Return page and anchor of the source of ``module.name``, perhaps a class's member."""
        target: Any = import_module(module)
        for part in name.split("."):
            target = getattr(target, part, None)
        target = getattr(target, "fget", None) or target
        home = getattr(target, "__module__", None)
        qualified = getattr(target, "__qualname__", None)
        if home in self.sources and qualified in self.sources[home].names.values():
            return f"code/{home}.html#{qualified}"
        return None

    @cached_property
    def sources(self) -> dict[str, ModuleSource]:
        """Sources of the modules that define something documented, base classes included."""
        homes = set()
        for values in self.modules.values():
            for value in values.values():
                for definition in getattr(value, "__mro__", None) or [value]:
                    homes.add(getattr(definition, "__module__", ""))
        sources = {}
        for home in sorted(homes):
            if home.split(".")[0] in self.roots:
                text = Path(str(sys.modules[home].__file__)).read_text(encoding="utf-8")
                sources[home] = ModuleSource(text.splitlines(), dict(_definitions(tree(text), "")))
        return sources


def _public_objects(module: ModuleType) -> dict[str, Any]:
    """Return the objects in ``__all__``, or else those that a module defines, by short name."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = []
        for name, value in vars(module).items():
            is_defined_there = getattr(value, "__module__", "") == module.__name__
            if is_defined_there and not name.startswith("_"):
                names.append(name)
    return {name: getattr(module, name) for name in names}


def _definitions(owner: ast.AST, prefix: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each class, function and method."""
    for node in ast.iter_child_nodes(owner):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            lines = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
            yield min(lines), prefix + node.name
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node, f"{prefix}{node.name}.")


@cache
def tree(source: str) -> ast.AST:
    """Return the syntax tree without IPython's magics; an empty one if the code is unreadable."""
    try:
        return ast.parse(python_of(source))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ast.Module(body=[], type_ignores=[])


@cache
def imported_modules(source: str) -> frozenset[str]:
    """Return the top-level names of the modules that a source imports.

    >>> sorted(imported_modules("import numpy.linalg\\nfrom _patches import pooled"))
    ['_patches', 'numpy']
    """
    names = set()
    for node in ast.walk(tree(source)):
        match node:
            case ast.Import(names=aliases):
                names |= {alias.name.partition(".")[0] for alias in aliases}
            case ast.ImportFrom(module=str(module), level=0):
                names.add(module.partition(".")[0])
    return frozenset(names)
