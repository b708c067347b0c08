"""The Sphinx extension: parts that this package writes, links by name, and no raw markup."""

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from pygments.lexers import PythonConsoleLexer, PythonLexer
from pygments.token import Comment, Generic, Keyword, Name, String, Text
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from . import reference
from .book import Book
from .text import internal

_SAFE = ("https://", "http://", "mailto:")


class part(nodes.raw):
    """HTML that this package has written; Sphinx's search finds its words."""


class _Part(SphinxDirective):
    """A part of the book, by its number."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        known, number = self.config.companion_book.parts, self.arguments[0]
        if not number.isdecimal() or int(number) >= len(known):
            return []
        return [part("", known[int(number)], format="html")]


def _write(writer: Any, node: part) -> None:
    writer.body.append(node.astext())
    raise nodes.SkipNode


def _finish(app: Sphinx, doctree: nodes.document) -> None:
    """No raw markup, no address but of the web, and notebooks' names become links."""
    book, page = app.config.companion_book, app.env.current_document.docname
    for raw in list(doctree.findall(nodes.raw)):
        if not isinstance(raw, part):
            raw.replace_self(nodes.literal_block(raw.astext(), raw.astext(), language="text"))
    for place in list(doctree.findall(nodes.reference)):
        address = str(place.get("refuri", ""))
        if ":" in address.split("/")[0].split("#")[0] and not address.startswith(_SAFE):
            place.replace_self(nodes.inline("", "", *place.children))
    for place in list(doctree.findall(nodes.literal)):
        parent = place.parent
        if isinstance(parent, nodes.reference) or "refuri" in getattr(parent, "attributes", {}):
            continue
        if target := book.target(place.astext()):
            address = internal(page, target)
            place.replace_self(
                nodes.reference("", "", place.deepcopy(), refuri=address, internal=True)
            )


class _Light(HTML5Translator):
    """A tenth of the weight: words of code need no span each."""

    protect_literal_text = property(lambda self: 0, lambda self, depth: None)


def _resolved(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Links without tool-tips that repeat them; once, the search learns of pages without Sphinx."""
    for place in doctree.findall(nodes.reference):
        place.attributes.pop("reftitle", None)
    found = app.config.companion_book.found
    while found:  # here, where one process feeds the index and not yet its children
        name, (titles, words) = found.popitem()
        app.env.all_docs[name] = 0  # or the index would forget it
        app.env.titles[name] = nodes.title("", titles[0])
        tree = nodes.document("", None)
        tree += [nodes.section("", nodes.title("", title)) for title in titles]
        tree += nodes.paragraph("", words)
        app.builder.indexer.feed(name, f"{name}.html", titles[0], tree)  # type: ignore[attr-defined]


class _FewColours:
    """Half the weight of a page of code: names and punctuation have no colour, strings have one."""

    def get_tokens_unprocessed(self, *arguments: Any) -> Iterator[tuple[int, Any, str]]:
        for at, kind, text in super().get_tokens_unprocessed(*arguments):  # type: ignore[misc]
            kept = kind is Name.Builtin or any(kind in some for some in (Comment, Generic, Keyword))
            yield at, kind if kept else String if kind in String else Text, text


def _template(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> str | None:
    """A class has a light page, without the theme's menus; a part may hold formulas."""
    book = app.config.companion_book
    body = context.get("body", "")
    context["has_maths_elements"] = "\\(" in body or "\\[" in body  # in a line, or on its own
    context |= {"about": book.about, "reference": book.reference, "root": "../"}
    # a button that folds a menu is drawn by two kilobytes
    context["sidebars"] = [s for s in context["sidebars"] or () if s != "sidebar-collapse.html"]
    return "leaf.html" if page in book.leaves else None


def _trim(app: Sphinx) -> None:
    """The theme's templates without the blanks around their statements: a tenth of a page."""
    app.builder.templates.environment.trim_blocks = True
    app.builder.templates.environment.lstrip_blocks = True


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("companion_book", None, "", types=[Book])
    app.add_node(part, html=(_write, None))
    app.add_directive("part", _Part)
    lexers = {"python": PythonLexer, "ipython3": PythonLexer, "pycon": PythonConsoleLexer}
    for language, lexer in lexers.items():
        app.add_lexer(language, type(lexer.__name__, (_FewColours, lexer), {}))
    app.connect("doctree-read", _finish)
    app.connect("doctree-resolved", _resolved)
    app.connect("builder-inited", _trim)
    app.connect("html-page-context", _template, priority=400)  # before MathJax
    app.set_translator("html", _Light)
    reference.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
