"""The reference: pages that autodoc fills, and docstrings made fit for reStructuredText."""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

from .book import Book
from .nodes import python_link
from .uses import LABORATORY, public, uses

__all__ = ["homes", "pages", "setup"]

_BLOCK = re.compile(r"(\s*)(?:\.\. (?:math|code-block|testcode)::.*|.*[^:]::)$")
# roles, code, references and emphasis stay; bars, stars and underscores outside are themselves
_MARKUP = re.compile(
    r"(:\w+(?::\w+)?:`[^`]*`|``[^`]*``|`[^`]*`_?_?"
    r"|(?<![\w*\\])\*\*?[A-Za-z][\w ,'-]*\*\*?(?![\w*]))"
)


def pages(book: Book) -> dict[str, str]:
    """A page per module, with its functions, and one per class, by file name."""
    written = {}
    for module, names in public().items():
        owner = import_module(module)
        classes = [name for name in names if isinstance(getattr(owner, name), type)]
        entries = {name: _entry(book, f"{module}.{name}") for name in names}
        written[f"api/{module}.md"] = book.write(
            f"api/{module}", "module.md", module=module, entries=entries, classes=classes
        )
        for name in classes:
            page = f"api/{module}.{name}"
            entry = _entry(book, f"{module}.{name}")
            written[f"{page}.md"] = book.write(page, "class.md", module=module, entry=entry)
    return written


def _entry(book: Book, full: str) -> dict[str, Any]:
    """An object of the reference, the notebooks that use it, and their claims."""
    notebooks = [n.name for n in book.material.notebooks.values() if full in uses(n.source)]
    counts = not full.startswith(LABORATORY)
    claims = [row for row in book.material.rows if counts and row.notebook in notebooks]
    return {"name": full.rpartition(".")[2], "notebooks": notebooks, "claims": claims}


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
    home = getattr(obj, "__module__", None) or "invariance"
    ours = home.split(".")[0] == "invariance" and not re.fullmatch(r"set_\w+_request", name)
    return None if ours else True


@cache
def homes() -> dict[str, str]:
    """Full names by short ones; the first module that has one counts."""
    named = [(name, f"{module}.{name}") for module, names in public().items() for name in names]
    return dict(reversed(named))


def _name(role: str, raw: str, text: str, line: int, inliner: Any, *_: Any) -> tuple[list, list]:
    """A word between backquotes: a link where it names something public, else as it stands."""
    full = homes().get(text.removesuffix("()").rpartition(".")[2])
    if full is None or text.startswith("."):
        return [nodes.literal(text, text)], []
    return [python_link(inliner.document.settings.env.current_document.docname, full)], []


def _plain_page(app: Sphinx, page: str, *_: Any) -> str | None:
    return "source.html" if page.startswith("_modules/") else None


def _types(app: Sphinx, doctree: nodes.document) -> None:
    """Types of parameters: a link to what is ours by its full name, words otherwise.

    Sphinx would compare each with the end of every name that it knows.
    """
    for place in list(doctree.findall(addnodes.pending_xref)):
        if place.get("reftype") == "class" and place.get("refspecific"):
            full = homes().get(place["reftarget"].rpartition(".")[2])
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
    app.connect("doctree-read", _types)
    app.add_search_language(_English)
    app.connect("html-page-context", _plain_page)
    app.add_role("name", _name)
    app.connect("autodoc-process-docstring", _docstring, priority=400)
    app.connect("autodoc-skip-member", _skip)
