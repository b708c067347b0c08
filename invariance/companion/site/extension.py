"""The Sphinx extension: parts written by this package, links by name, and no raw markup."""

import html
import posixpath
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from docutils import nodes
from pygments.lexers import PythonConsoleLexer, PythonLexer
from pygments.token import Comment, Generic, Keyword, Name, String, Text
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish
from sphinx.util.docutils import SphinxDirective

from ..ledger.scoreboard import clipped
from .book import Book
from .text import PUNCTUATION

_SAFE_ADDRESSES = ("https://", "http://", "mailto:")
_FORMULA = re.compile(r"\\[(\[]")
# Text between backquotes, which markup does not touch, or a character that would start markup.
_LITERAL_OR_MARKUP = re.compile(r"`+[^`]*`+(?:_\b)?|(?<!\\)\||(?<=\w)_(?!\w)")
_CALL = re.compile(r"\b[A-Za-z_]\w*(?=\()")
_SHORTEST_DESCRIPTION = 40  # characters
_PARAGRAPH = re.compile(r"<p\b[^>]*>(.*?)</p>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_REQUEST_METHOD = re.compile(r"set_\w+_request")


def _book(app: Sphinx) -> Book:
    return app.config.companion_book


# ----------------------------------------------------------------------------- parts of the book


class part(nodes.raw):
    """HTML written by this package; Sphinx's search finds its words."""


class _PartDirective(SphinxDirective):
    """A part of the book, by its number."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        parts = self.config.companion_book.parts
        number = self.arguments[0]
        if not number.isdecimal() or int(number) >= len(parts):
            return []
        return [part("", parts[int(number)], format="html")]


def _write_part(writer: Any, node: part) -> None:
    writer.body.append(node.astext())
    raise nodes.SkipNode


# ------------------------------------------------------------------------------- links and markup


def _link(page: str, address: str, content: nodes.Node) -> nodes.reference:
    """Return a link from a page to an address such as ``papers/x.html#claim-y``."""
    relative = posixpath.relpath(address, posixpath.dirname(page) or ".")
    return nodes.reference("", "", content, refuri=relative, internal=True)


def _clean(app: Sphinx, doctree: nodes.document) -> None:
    """Show raw markup as text, remove unsafe links, and link the names of notebooks."""
    book = _book(app)
    page = app.env.current_document.docname
    for raw in list(doctree.findall(nodes.raw)):
        if not isinstance(raw, part):
            raw.replace_self(nodes.literal_block(raw.astext(), raw.astext(), language="text"))
    for reference in list(doctree.findall(nodes.reference)):
        address = str(reference.get("refuri", ""))
        has_scheme = ":" in address.split("/")[0].split("#")[0]
        if has_scheme and not address.startswith(_SAFE_ADDRESSES):
            reference.replace_self(nodes.inline("", "", *reference.children))
    for literal in list(doctree.findall(nodes.literal)):
        parent = literal.parent
        # Sphinx will make a link of a pending reference.
        is_linked = isinstance(parent, (nodes.reference, addnodes.pending_xref))
        if is_linked or "refuri" in getattr(parent, "attributes", {}):
            continue
        target = book.target(literal.astext())
        if target:
            literal.replace_self(_link(page, target, literal.deepcopy()))
        elif page in book.about["pages"]:
            literal.replace_self(_with_linked_calls(book, page, literal.astext()))


def _keep_punctuation(_: Sphinx, doctree: nodes.document) -> None:
    """Keep each formula within a sentence in one line with the punctuation after it."""
    for formula in list(doctree.findall(nodes.math)):
        parent = formula.parent
        position = parent.index(formula)
        following = parent[position + 1 : position + 2]
        text = following[0].astext() if following and isinstance(following[0], nodes.Text) else ""
        mark = PUNCTUATION.match(text)
        if mark:
            kept = nodes.inline(
                "", "", formula.deepcopy(), nodes.Text(mark[0]), classes=["unbroken"]
            )
            parent[position : position + 2] = [kept, nodes.Text(text[mark.end() :])]


def _with_linked_calls(book: Book, page: str, code: str) -> nodes.literal:
    """Return code whose calls of public names are links."""
    linked = nodes.literal()
    end = 0
    for call in _CALL.finditer(code):
        full = book.reference.homes.get(call[0])
        if full is not None:
            linked += nodes.Text(code[end : call.start()])
            linked += _link(page, book.reference.address(full), nodes.inline("", call[0]))
            end = call.end()
    linked += nodes.Text(code[end:])
    return linked


def _finish(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Remove tooltips that repeat their links, and feed the search with the pages of the book."""
    for reference in doctree.findall(nodes.reference):
        reference.attributes.pop("reftitle", None)
    # This event comes first in the process that feeds the index, before it starts others.
    plain_pages = _book(app).without_sphinx
    while plain_pages:
        name, plain = plain_pages.popitem()
        app.env.all_docs[name] = 0  # the index drops pages that are not in this list
        app.env.titles[name] = nodes.title("", plain.titles[0])
        tree = nodes.document("", None)
        for title in plain.titles:
            tree += nodes.section("", nodes.title("", title))
        tree += nodes.paragraph("", plain.words)
        app.builder.indexer.feed(name, f"{name}.html", plain.titles[0], tree)  # type: ignore[attr-defined]


class _RememberedStems(SearchEnglish):
    """Sphinx's English, which finds the stem of a word once for all pages, not once for each."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._stem_of = cache(super().stem)

    def stem(self, word: str) -> str:
        return self._stem_of(word)


# ------------------------------------------------------------------------------------ light pages


def _without_most_colours(kind: Any) -> Any:
    """Return a coarser token type: names and punctuation lose theirs, strings share one."""
    if kind in String:
        return String
    if kind is Name.Builtin or kind in Comment or kind in Generic or kind in Keyword:
        return kind
    return Text


class _FewColours(PythonLexer):
    """Python with few colours, which halves the bytes of a page of code."""

    def get_tokens_unprocessed(self, *arguments: Any) -> Iterator[tuple[int, Any, str]]:
        for position, kind, text in super().get_tokens_unprocessed(*arguments):
            yield position, _without_most_colours(kind), text


class _FewColoursConsole(PythonConsoleLexer):
    """Python's prompt with few colours."""

    def get_tokens_unprocessed(self, *arguments: Any) -> Iterator[tuple[int, Any, str]]:
        for position, kind, text in super().get_tokens_unprocessed(*arguments):
            yield position, _without_most_colours(kind), text


def _description(doctree: nodes.document | None) -> str:
    """Return the first paragraph of a page, clipped, for those who find it elsewhere."""
    if doctree is None:
        return ""
    for node in doctree.findall(lambda node: isinstance(node, (nodes.paragraph, part))):
        texts = [node.astext()]
        if isinstance(node, part):
            texts = [html.unescape(_TAG.sub("", text)) for text in _PARAGRAPH.findall(texts[0])]
        for text in texts:
            words = " ".join(text.split())
            if len(words) > _SHORTEST_DESCRIPTION:
                return clipped(words, 150)
    return ""


def _set_context(
    app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: Any
) -> str | None:
    """Choose the template of a page: a class has one without the theme's menus."""
    book = _book(app)
    context["has_maths_elements"] = bool(_FORMULA.search(context.get("body", "")))
    if page == "search":
        app.add_js_file("entries.js", priority=400)
    values = {"title": context.get("title") or "", "description": _description(doctree)}
    values["source"] = book.source(page)
    context |= values
    context["metatags"] = context.get("metatags", "") + book.render("share.html", page, **values)
    if page in book.class_pages:
        context |= {"about": book.about, "menu": book.menu, "release": app.config.release}
        context |= {"root": "../", "page": page, "feed": book.has_feed, "preview": ""}
    elif "body" in context:
        context["body"] += book.render("below.html", page, **values)
    if page in book.about["pages"]:
        context["body"] = f'<div class="page-{page}">{context["body"]}</div>'
    # The button that folds a menu is drawn by two kilobytes.
    sidebars = context["sidebars"] or ()
    context["sidebars"] = [sidebar for sidebar in sidebars if "collapse" not in sidebar]
    return "class.html" if page in book.class_pages else None


# ------------------------------------------------------------------------------------- docstrings


def _escaped(line: str) -> str:
    """Escape bars and trailing underscores outside backquotes: ``|x|`` and ``coef_`` are text."""

    def escape(match: re.Match[str]) -> str:
        text = match[0]
        return text if text.startswith("`") else f"\\{text}"

    return _LITERAL_OR_MARKUP.sub(escape, line)


def _process_docstring(
    app: Sphinx, kind: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Prepare a docstring, and add the notebooks that use the name before the list of methods."""
    if isinstance(value, property) and not value.__doc__:
        lines.clear()  # Sphinx would show the docstring of the value's type
    lines[:] = _with_escapes(lines)
    number = _book(app).examples.get(name)
    if number is not None:
        lines += ["", f".. part:: {number}", ""]


def _with_escapes(lines: list[str]) -> list[str]:
    """Escape a docstring's text, but not its literal blocks, formulas and examples."""
    escaped = []
    block_indent: int | None = None  # the indentation of the line that opened a literal block
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if block_indent is not None and line.strip() and indent <= block_indent:
            block_indent = None
        is_example = line.lstrip().startswith((">>>", "...", ".. "))
        if block_indent is None and not is_example:
            escaped.append(_escaped(line))
        else:
            escaped.append(line)
        opens_block = line.rstrip().endswith("::") or line.lstrip().startswith(".. math")
        if block_indent is None and opens_block:
            block_indent = indent
    return escaped


def _skip_member(
    app: Sphinx, kind: str, name: str, value: Any, skip: bool, options: Any
) -> bool | None:
    """Skip members of scikit-learn, and of a base class that has a page of its own."""
    value = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
    reference = _book(app).reference
    module = getattr(value, "__module__", None) or ""
    owner, dot, _ = getattr(value, "__qualname__", "").partition(".")
    page = app.env.current_document.docname.rpartition(".")[2]
    is_foreign = module and module.split(".")[0] not in reference.roots
    has_own_page = dot and owner != page and owner in reference.homes
    if is_foreign or has_own_page or _REQUEST_METHOD.fullmatch(name):
        return True
    return None


def _name_role(
    role: str, raw: str, text: str, line: int, inliner: Any, *_: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Return a word in backquotes: a link if it is a public name, else code."""
    env = inliner.document.settings.env
    reference = env.config.companion_book.reference
    full = reference.homes.get(text.removesuffix("()").rpartition(".")[2])
    literal = nodes.literal(text, text)
    if full is None or text.startswith("."):
        return [literal], []
    return [_link(env.current_document.docname, reference.address(full), literal)], []


def _link_types(app: Sphinx, doctree: nodes.document) -> None:
    """Link the documented types of parameters, and each signature to its source."""
    reference = _book(app).reference
    page = app.env.current_document.docname
    for pending in list(doctree.findall(addnodes.pending_xref)):
        if pending.get("reftype") == "class" and pending.get("refspecific"):
            full = reference.homes.get(pending["reftarget"].rpartition(".")[2])
            if full is None:
                pending.replace_self(pending.children)
            else:
                pending["reftarget"] = full
                pending["refspecific"] = False
    for signature in doctree.findall(addnodes.desc_signature):
        if not signature.get("module"):
            continue
        address = reference.source(signature["module"], signature["fullname"])
        if address:
            label = nodes.inline("", "source", classes=["viewcode-link"])
            signature += _link(page, address, label)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("companion_book", None, "", types=[Book])
    app.add_node(part, html=(_write_part, None))
    app.add_directive("part", _PartDirective)
    app.add_role("name", _name_role)
    app.add_search_language(_RememberedStems)
    app.add_lexer("python", _FewColours)
    app.add_lexer("ipython3", _FewColours)
    app.add_lexer("pycon", _FewColoursConsole)
    app.connect("doctree-read", _clean)
    app.connect("doctree-read", _keep_punctuation)
    app.connect("doctree-read", _link_types, priority=400)
    app.connect("doctree-resolved", _finish)
    app.connect("html-page-context", _set_context, priority=400)  # before MathJax
    app.connect("autodoc-process-docstring", _process_docstring, priority=600)  # after napoleon
    app.connect("autodoc-skip-member", _skip_member)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
