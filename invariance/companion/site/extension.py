"""The Sphinx extension: links within the site, ideas to move, things to unfold, no raw markup."""

import html
import posixpath
from collections.abc import Iterator
from typing import Any, ClassVar

from docutils import nodes
from pygments.lexers import PythonConsoleLexer, PythonLexer
from pygments.token import Comment, Generic, Keyword, Name, String, Text
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from . import reference
from .book import Book

__all__ = ["setup"]

_SAFE = ("https://", "http://", "mailto:")


class framed(nodes.General, nodes.Element):
    """Nodes between ``node["before"]`` and ``node["after"]``, HTML that this package writes."""

    @staticmethod
    def visit(writer: Any, node: nodes.Element) -> None:
        writer.body.append(node["before"])

    @staticmethod
    def depart(writer: Any, node: nodes.Element) -> None:
        writer.body.append(node["after"])


class _Fold(SphinxDirective):
    """Something to unfold, under the words of its first paragraph."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        inside = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, inside)
        title, *rest = inside.children
        before = f"<details><summary>{html.escape(title.astext())}</summary>"
        return [framed("", *rest, before=before, after="</details>")]


class _Drawing(SphinxDirective):
    """A drawing of the book, by its number."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        known, number = self.config.companion_book.drawings, self.arguments[0]
        if not number.isdecimal() or int(number) >= len(known):
            return []
        return [framed("", before=known[int(number)], after="")]


def _link(page: str, address: str) -> str:
    """Where ``site:papers/x#claim-y`` lies, seen from a page."""
    target, _, at = address.removeprefix("site:").partition("#")
    start = posixpath.dirname(page) or "."
    return posixpath.relpath(f"{target}.html", start) + (f"#{at}" if at else "")


def _finish(app: Sphinx, doctree: nodes.document) -> None:
    """No raw markup, no address but of the web, and notebooks' names become links."""
    book, page = app.config.companion_book, app.env.current_document.docname
    for raw in list(doctree.findall(nodes.raw)):
        raw.replace_self(nodes.literal_block(raw.astext(), raw.astext(), language="text"))
    for place in list(doctree.findall(nodes.literal)):
        name, parent = place.astext(), place.parent
        if isinstance(parent, nodes.reference) or "refuri" in getattr(parent, "attributes", {}):
            continue
        if target := book.target(name):
            place.replace_self(nodes.reference("", "", place.deepcopy(), refuri=target))
    for place in list(doctree.findall(nodes.reference)):
        address = str(place.get("refuri", ""))
        if address.startswith("site:"):
            place["refuri"], place["internal"] = _link(page, address), True
        elif ":" in address.split("/")[0].split("#")[0] and not address.startswith(_SAFE):
            place.replace_self(nodes.inline("", "", *place.children))
    for entry in doctree.findall(nodes.entry):  # numbers stay on a line, sentences get room
        length = len(entry.astext())
        entry["classes"] += ["short"] if length <= 16 else ["long"] if length > 32 else []


class _Light(HTML5Translator):
    """Half the weight: words of code need no span each, and links no class."""

    protect_literal_text = property(lambda self: 0, lambda self, depth: None)

    def starttag(self, *parts: Any, **attributes: Any) -> str:
        """A tag without the classes that no style sheet names."""
        shorter = {"reference internal": "", "docutils literal notranslate": "literal"}
        for key in {"class", "CLASS"} & {*attributes}:
            attributes[key] = shorter.get(attributes[key], attributes[key])
        return super().starttag(*parts, **attributes)


def _untitled(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """A link to a function needs no tool-tip that repeats its name."""
    for place in doctree.findall(nodes.reference):
        place.attributes.pop("reftitle", None)


class _FewColours:
    """Half the weight of a page of code: names and punctuation have no colour, strings have one."""

    def get_tokens_unprocessed(self, *arguments: Any) -> Iterator[tuple[int, Any, str]]:
        for at, kind, text in super().get_tokens_unprocessed(*arguments):  # type: ignore[misc]
            kept = kind is Name.Builtin or any(kind in some for some in (Comment, Generic, Keyword))
            yield at, kind if kept else String if kind in String else Text, text


class _Python(_FewColours, PythonLexer):
    pass


class _Console(_FewColours, PythonConsoleLexer):
    pass


def _pictures(app: Sphinx) -> None:
    """Sphinx knows WebP, but not yet that pages may hold it."""
    builder = type(app.builder)
    builder.supported_image_types = sorted({*builder.supported_image_types, "image/webp"})


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("companion_book", None, "", types=[Book])
    app.add_node(framed, html=(framed.visit, framed.depart))
    app.add_directive("fold", _Fold)
    for language, lexer in {"python": _Python, "ipython3": _Python, "pycon": _Console}.items():
        app.add_lexer(language, lexer)
    app.add_directive("drawing", _Drawing)
    app.connect("builder-inited", _pictures)
    app.connect("doctree-read", _finish)
    app.connect("doctree-resolved", _untitled)
    app.set_translator("html", _Light)
    reference.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
