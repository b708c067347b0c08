"""The Sphinx extension: parts that this package writes, links by name, and no raw markup."""

import posixpath
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from docutils import nodes
from docutils.parsers.rst import states
from pygments.lexers import PythonConsoleLexer, PythonLexer
from pygments.token import Comment, Generic, Keyword, Name, String, Text
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from .book import Book

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


def _link(page: str, address: str, words: Any) -> nodes.reference:
    """A link to ``papers/x.html#claim-y``, seen from a page."""
    seen = posixpath.relpath(address, posixpath.dirname(page) or ".")
    return nodes.reference("", "", words, refuri=seen, internal=True)


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
            place.replace_self(_link(page, target, place.deepcopy()))


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


def _template(app: Sphinx, page: str, _: str, context: dict[str, Any], tree: Any) -> str | None:
    """A class has a light page, without the theme's menus; a part may hold formulas."""
    book = app.config.companion_book
    # in a line, or on its own
    context["has_maths_elements"] = bool(re.search(r"\\[(\[]", context.get("body", "")))
    context |= {"about": book.about, "reference": book.reference, "root": "../"}
    # a button that folds a menu is drawn by two kilobytes
    context["sidebars"] = [s for s in context["sidebars"] or () if "collapse" not in s]
    return "leaf.html" if page in book.leaves else None


def _trim(app: Sphinx) -> None:
    """The theme's templates without the blanks around their statements: a tenth of a page."""
    app.builder.templates.environment.trim_blocks = True
    app.builder.templates.environment.lstrip_blocks = True


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
    return [_link(env.current_document.docname, reference.address(full), literal)], []


def _links(app: Sphinx, doctree: nodes.document) -> None:
    """Types of parameters: a link to what is ours, words otherwise; and each name's source."""
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
            sign += _link(page, at, nodes.inline("", "source", classes=["viewcode-link"]))


class _English(SearchEnglish):
    """Remembers the stem of a word from page to page: it takes a tenth of a build to find."""

    stem = cache(SearchEnglish.stem)


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
    states.Inliner.dispatch |= dict.fromkeys(("|", "_", "__"), _plain)
    app.connect("doctree-read", _links, priority=400)
    app.add_search_language(_English)
    app.add_role("name", _name)
    app.connect("autodoc-process-docstring", _docstring, priority=400)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
