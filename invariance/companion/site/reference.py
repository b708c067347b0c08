"""The reference: what is public, where its source stands, which notebooks use it."""

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from ..source import python_of


class Reference:
    """The documented names of some modules; what several offer is documented with the first."""

    def __init__(self, modules: Sequence[str]):
        self.roots = {name.split(".")[0] for name in modules}
        self._full: dict[int, str] = {}
        self.modules: dict[str, dict[str, Any]] = {}
        for name in modules:
            module = import_module(name)
            own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == name]
            for short in getattr(module, "__all__", [n for n in own if not n.startswith("_")]):
                value = getattr(module, short)
                if callable(value) and value.__doc__ and id(value) not in self._full:
                    self._full[id(value)] = f"{name}.{short}"
                    self.modules.setdefault(name, {})[short] = value

    @cached_property
    def homes(self) -> dict[str, str]:
        """Full names by short ones; the first module that has one counts."""
        return {name.rpartition(".")[2]: name for name in reversed(self._full.values())}

    def classes(self, module: str) -> list[str]:
        return [name for name, value in self.modules[module].items() if isinstance(value, type)]

    def address(self, full: str) -> str:
        """The page of a documented class, and of a function its place on its module's page."""
        module, _, name = full.rpartition(".")
        return f"api/{full}.html" if name in self.classes(module) else f"api/{module}.html#{full}"

    def summary(self, full: str) -> str:
        """The first sentence of what is said of a name."""
        module, _, name = full.rpartition(".")
        said = inspect.cleandoc(self.modules[module][name].__doc__).partition("\n\n")[0]
        plain = re.sub(r":math:`([^`]*)`", r"$\1$", said.replace("``", "`"))
        return re.sub(r":\w+:`~?\.?([^`]*)`", r"`\1`", plain)

    @cache  # noqa: B019
    def uses(self, source: str) -> tuple[str, ...]:
        """Full names of what a source imports from the documented modules."""
        known, found, bound = {*self._full.values()}, [], {}
        for node in ast.walk(tree(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in self.roots:
                for alias in node.names:
                    full = bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                    found.append(full if full in known else self.homes.get(alias.name, ""))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found.append(f"{bound.get(node.value.id)}.{node.attr}")
        return tuple(full for full in dict.fromkeys(found) if full in known)

    def source(self, module: str, name: str) -> str | None:
        """Page and anchor of the source of ``module.name``, which may be a class's member."""
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        found = getattr(found, "fget", None) or found
        home, at = (getattr(found, key, None) for key in ("__module__", "__qualname__"))
        known = home in self.sources and at in self.sources[home][1].values()
        return f"code/{home}.html#{at}" if known else None

    @cached_property
    def sources(self) -> dict[str, tuple[list[str], dict[int, str]]]:
        """Lines of each module that defines something documented, and names by their line."""
        homes = {getattr(value, "__module__", "") for each in self.modules.values()
                 for thing in each.values()
                 for value in (getattr(thing, "__mro__", None) or [thing])}  # fmt: skip
        found = {}
        for home in sorted(home for home in homes if home.split(".")[0] in self.roots):
            text = Path(str(sys.modules[home].__file__)).read_text(encoding="utf-8")
            found[home] = (text.splitlines(), dict(_places(tree(text), "")))
        return found


def _places(owner: ast.AST, prefix: str) -> Iterator[tuple[int, str]]:
    """Line and name of each class, function and method."""
    for node in ast.iter_child_nodes(owner):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield min([node.lineno, *(d.lineno for d in node.decorator_list)]), prefix + node.name
            if isinstance(node, ast.ClassDef):
                yield from _places(node, f"{prefix}{node.name}.")


@cache
def tree(source: str) -> ast.AST:
    """The syntax tree without IPython's magics; an empty one for what nobody can read."""
    try:
        return ast.parse(python_of(source))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ast.Module(body=[], type_ignores=[])
