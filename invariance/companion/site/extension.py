"""The Sphinx extension: what stands for a number, boxes around parts of a page, no raw markup."""

import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole

from . import reference
from .book import Book
from .nodes import box, fold, framed, link, literal, python_link

__all__ = ["setup"]

_SAFE = ("https://", "http://", "mailto:")


def _nodes(book: Book, number: str) -> list[nodes.Node]:
    known = number.isdecimal() and int(number) < len(book.shown)
    return [node.deepcopy() for node in book.shown[int(number)]] if known else []


class _Said(SphinxRole):
    """A number within a sentence: the nodes that it stands for."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        return _nodes(self.config.invariance_book, self.text), []


class _Shown(SphinxDirective):
    """A number between paragraphs: the nodes that it stands for."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return _nodes(self.config.invariance_book, self.arguments[0])


class _Around(SphinxDirective):
    """A ``div``, or, with its first paragraph as title, a section or something to unfold."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {"at": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        inside = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, inside)
        classes, ids = " ".join(self.arguments).split(), self.options.get("at", "").split()
        if self.name == "div":
            return [box(*inside.children, classes=classes, ids=ids)]
        title, *rest = inside.children
        if self.name == "fold":
            return [fold(title.astext(), *rest)]
        head = nodes.title("", "", *title.children)
        return [nodes.section("", head, *rest, classes=classes, ids=ids)]


def _disarm(app: Sphinx, doctree: nodes.document) -> None:
    """No raw markup, no address but of the web, and notebooks' names become links."""
    pages = app.config.invariance_book.pages
    page = app.env.current_document.docname
    for raw in list(doctree.findall(nodes.raw)):
        raw.replace_self(literal(raw.astext()))
    for place in list(doctree.findall(nodes.reference)):
        address = str(place.get("refuri", ""))
        if ":" in address.split("/")[0].split("#")[0] and not address.startswith(_SAFE):
            place.replace_self(nodes.inline("", "", *place.children))
    for name in list(doctree.findall(nodes.literal)):
        target = name.astext()
        if isinstance(name.parent, nodes.reference | addnodes.pending_xref):
            continue
        if target in pages:
            name.replace_self(link(page, target, nodes.literal(target, target)))
        elif re.search(r"[A-Z_]", target) and target in reference.homes():
            name.replace_self(python_link(page, reference.homes()[target]))


def _pictures(app: Sphinx) -> None:
    """Sphinx knows WebP, but not yet that pages may hold it."""
    builder = type(app.builder)
    builder.supported_image_types = sorted({*builder.supported_image_types, "image/webp"})


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("invariance_book", None, "", types=[Book])
    app.add_node(framed, html=(framed.visit, framed.depart))
    app.add_role("shown", _Said())
    app.add_directive("shown", _Shown)
    for name in ("div", "section", "fold"):
        app.add_directive(name, _Around)
    app.connect("builder-inited", _pictures)
    app.connect("doctree-read", _disarm)
    reference.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
