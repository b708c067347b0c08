"""The reference: what is public, where its source stands, which notebooks use it, docstrings."""

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import states
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

from .text import internal


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
    """The syntax tree; an empty one for what Python cannot read."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ast.Module(body=[], type_ignores=[])


# ------------------------------------------------------------------------ docstrings for Sphinx


def _plain(inliner: Any, match: re.Match[str], line: int) -> tuple[str, list, str, list]:
    """In a docstring a bar is a bar, and coef_ is a name: neither starts markup."""
    end = max(match.end("start"), match.end("whole"))
    return match.string[:end], [], match.string[end:], []


def _docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Below the words, and above the list of methods, the notebooks that use it."""
    number = app.config.companion_book.examples.get(name)
    if isinstance(obj, property) and not obj.__doc__:
        lines.clear()  # Sphinx would take the words of its value's type
    lines += [] if number is None else ["", f".. part:: {number}", ""]


def _skip(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """What scikit-learn brings, or a base class with a page of its own, is described there."""
    obj = getattr(obj, "fget", None) or getattr(obj, "__func__", None) or obj
    homes, roots = (getattr(app.config.companion_book.reference, k) for k in ("homes", "roots"))
    module = getattr(obj, "__module__", None) or ""
    owner, dot, _ = getattr(obj, "__qualname__", "").partition(".")
    page = app.env.current_document.docname.rpartition(".")[2]
    foreign = module and module.split(".")[0] not in roots
    elsewhere = dot and owner != page and owner in homes
    return True if foreign or elsewhere or re.fullmatch(r"set_\w+_request", name) else None


def _name(role: str, raw: str, text: str, line: int, inliner: Any, *_: Any) -> tuple[list, list]:
    """A word between backquotes: a link where it names something public, else as it stands."""
    env = inliner.document.settings.env
    reference = env.config.companion_book.reference
    full = reference.homes.get(text.removesuffix("()").rpartition(".")[2])
    literal = nodes.literal(text, text)
    if full is None or text.startswith("."):
        return [literal], []
    address = internal(env.current_document.docname, reference.address(full))
    return [nodes.reference("", "", literal, refuri=address, internal=True)], []


def _links(app: Sphinx, doctree: nodes.document) -> None:
    """Types of parameters: a link to what is ours, words otherwise; and each name's source.

    Sphinx would compare each type with the end of every name that it knows.
    """
    reference, page = app.config.companion_book.reference, app.env.current_document.docname
    for place in list(doctree.findall(addnodes.pending_xref)):
        if place.get("reftype") == "class" and place.get("refspecific"):
            full = reference.homes.get(place["reftarget"].rpartition(".")[2])
            if full is None:
                place.replace_self(place.children)
            else:
                place["reftarget"], place["refspecific"] = full, False
    for sign in doctree.findall(addnodes.desc_signature):
        if sign.get("module") and (at := reference.source(sign["module"], sign["fullname"])):
            words = nodes.inline("", "source", classes=["viewcode-link"])
            sign += nodes.reference("", "", words, refuri=internal(page, at), internal=True)


class _English(SearchEnglish):
    """Remembers the stem of a word from page to page: it takes a tenth of a build to find."""

    stem = cache(SearchEnglish.stem)


def setup(app: Sphinx) -> None:
    states.Inliner.dispatch |= dict.fromkeys(("|", "_", "__"), _plain)
    app.connect("doctree-read", _links, priority=400)
    app.add_search_language(_English)
    app.add_role("name", _name)
    app.connect("autodoc-process-docstring", _docstring, priority=400)
    app.connect("autodoc-skip-member", _skip)
