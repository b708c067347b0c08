"""The reference: what is public, which notebooks use it, and docstrings as Sphinx reads them."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

__all__ = ["BESIDE", "LABORATORY", "Reference", "setup", "tree"]

#: What records and draws; no claim rests on it.
LABORATORY = "invariance.companion"
#: No mathematics that a claim rests on: what records, loads and averages.
BESIDE = (LABORATORY, "invariance.datasets", "invariance.evaluation")

_BLOCK = re.compile(r"(\s*)(?:\.\. (?:math|code-block|testcode)::.*|.*[^:]::)$")
# roles, code, references and emphasis stay; bars, stars and underscores outside are themselves
_MARKUP = re.compile(
    r"(:\w+(?::\w+)?:`[^`]*`|``[^`]*``|`[^`]*`_?_?"
    r"|(?<![\w*\\])\*\*?[A-Za-z][\w ,'-]*\*\*?(?![\w*]))"
)


class Reference:
    """The documented names of some modules: classes and functions with words of their own.

    What several modules offer is documented with the first.
    """

    def __init__(self, modules: Sequence[str]):
        self.roots = {name.split(".")[0] for name in modules}
        self._full: dict[int, str] = {}
        self.modules: dict[str, list[str]] = {}
        for name in modules:
            module = import_module(name)
            for short in getattr(module, "__all__", vars(module)):
                value = getattr(module, short)
                foreign = not hasattr(module, "__all__") and (
                    short.startswith("_") or getattr(value, "__module__", "") != name
                )
                if (
                    callable(value)
                    and value.__doc__
                    and not foreign
                    and id(value) not in self._full
                ):
                    self._full[id(value)] = f"{name}.{short}"
                    self.modules.setdefault(name, []).append(short)
        self._used: dict[str, tuple[str, ...]] = {}

    @cached_property
    def homes(self) -> dict[str, str]:
        """Full names by short ones; the first module that has one counts."""
        return {name.rpartition(".")[2]: name for name in reversed(self._full.values())}

    def classes(self, module: str) -> list[str]:
        owner = import_module(module)
        return [name for name in self.modules[module] if isinstance(getattr(owner, name), type)]

    def address(self, full: str) -> tuple[str, str]:
        """Page and anchor of a documented name."""
        module, _, name = full.rpartition(".")
        return f"api/{full if name in self.classes(module) else module}", full

    def uses(self, source: str) -> tuple[str, ...]:
        """Full names of what a source imports from the documented modules, in order."""
        if source not in self._used:
            self._used[source] = tuple(dict.fromkeys(self._imports(source)))
        return self._used[source]

    def _imports(self, source: str) -> Iterator[str]:
        parsed = list(ast.walk(tree(source)))
        bound = {
            alias.asname or alias.name: self._named(node.module, alias.name)
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
        found = (self._full.get(id(value)) for value in [*bound.values(), *attributes])
        yield from filter(None, found)

    def _named(self, module: str, name: str) -> object:
        """The object that ``from module import name`` brings; None for what is of no root."""
        if module.split(".")[0] not in self.roots:
            return None
        try:
            return getattr(import_module(module), name, None) or import_module(f"{module}.{name}")
        except ImportError:
            return None


@cache
def tree(source: str) -> ast.AST:
    """The syntax tree; an empty one for what Python cannot read."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ast.Module(body=[], type_ignores=[])


# ------------------------------------------------------------------------ docstrings for Sphinx


def _escaped(lines: list[str]) -> Iterator[str]:
    """Plain text of a docstring as it stands; blocks of code, examples and formulas are left."""
    inside: int | None = None  # indentation of the line that a block of code hangs on
    example = False
    for line in lines:
        depth = len(line) - len(line.lstrip())
        example = line.strip().startswith(">>>") or (example and bool(line.strip()))
        if inside is not None and line.strip() and depth <= inside:
            inside = None
        if inside is None and not example:
            if block := _BLOCK.fullmatch(line):
                inside = len(block[1])
            if not line.strip().startswith(".. "):
                parts = _MARKUP.split(line)
                parts[::2] = [
                    re.sub(r"(?<!\\)([|*]|(?<=\w)_(?!\w))", r"\\\1", p) for p in parts[::2]
                ]
                line = "".join(parts)
        yield line


def _docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = list(_escaped(lines))


def _skip(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Methods that scikit-learn and others bring are described there."""
    obj = getattr(obj, "fget", None) or getattr(obj, "__func__", None) or obj
    home = getattr(obj, "__module__", None) or ""
    ours = not home or home.split(".")[0] in app.config.companion_book.reference.roots
    return None if ours and not re.fullmatch(r"set_\w+_request", name) else True


def _name(role: str, raw: str, text: str, line: int, inliner: Any, *_: Any) -> tuple[list, list]:
    """A word between backquotes: a link where it names something public, else as it stands."""
    env = inliner.document.settings.env
    reference = env.config.companion_book.reference
    full = reference.homes.get(text.removesuffix("()").rpartition(".")[2])
    literal = nodes.literal(text, text)
    if full is None or text.startswith("."):
        return [literal], []
    page, at = reference.address(full)
    return [nodes.reference("", "", literal, refuri=f"site:{page}#{at}")], []


def _types(app: Sphinx, doctree: nodes.document) -> None:
    """Types of parameters: a link to what is ours by its full name, words otherwise.

    Sphinx would compare each with the end of every name that it knows.
    """
    homes = app.config.companion_book.reference.homes
    for place in list(doctree.findall(addnodes.pending_xref)):
        if place.get("reftype") == "class" and place.get("refspecific"):
            full = homes.get(place["reftarget"].rpartition(".")[2])
            if full is None:
                place.replace_self(place.children)
            else:
                place["reftarget"], place["refspecific"] = full, False


class _English(SearchEnglish):
    """Remembers the stem of a word from page to page: it takes a tenth of a build to find."""

    stems: ClassVar[dict[str, str]] = {}

    def stem(self, word: str) -> str:
        if word not in self.stems:
            self.stems[word] = super().stem(word)
        return self.stems[word]


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", _types, priority=400)
    app.add_search_language(_English)
    app.connect(
        "html-page-context",
        lambda app, page, *_: "source.html" if page.startswith("_modules/") else None,
    )
    app.add_role("name", _name)
    app.connect("autodoc-process-docstring", _docstring, priority=400)
    app.connect("autodoc-skip-member", _skip)
