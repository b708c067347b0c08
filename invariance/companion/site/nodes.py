"""Text, tables and links as docutils nodes: what a result says is never markup."""

import html
import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias
from xml.etree.ElementTree import Element, tostring

from docutils import nodes
from sphinx import addnodes

__all__ = ["Part", "anchor", "box", "drawing", "fold", "framed", "joined", "link", "literal"]
__all__ += ["paragraph", "prose", "python_link", "section", "table", "table_of_html"]

Part: TypeAlias = nodes.Node | str

_INLINE = re.compile(
    r"\$(?P<math>[^$\n]+)\$|`(?P<literal>[^`\n]+)`|\*\*(?P<strong>[^*\n]+)\*\*"
    r"|\*(?P<emphasis>[^*\s][^*\n]*)\*|\[(?P<label>[^\]\n]+)\]\((?P<address>https://[^\s)]+)\)"
)


class framed(nodes.General, nodes.Element):
    """Nodes between ``node["before"]`` and ``node["after"]``, HTML that this package writes."""

    @staticmethod
    def visit(writer: Any, node: nodes.Element) -> None:
        writer.body.append(node["before"])

    @staticmethod
    def depart(writer: Any, node: nodes.Element) -> None:
        writer.body.append(node["after"])


def _filled(node: nodes.Element, parts: Iterable[Part]) -> Any:
    node += [nodes.Text(part) if isinstance(part, str) else part for part in parts]
    return node


def drawing(svg: Element, alt: str) -> framed:
    """An SVG element and what it shows in words."""
    before = f'<div class="drawing" role="img" aria-label="{html.escape(alt)}">'
    return framed(before=before + tostring(svg, encoding="unicode"), after="</div>")


def fold(summary: str, *parts: Part) -> framed:
    """Something to unfold, under the words `summary`."""
    before = f"<details><summary>{html.escape(summary)}</summary>"
    return _filled(framed(before=before, after="</details>"), parts)


def anchor(what: str, name: str) -> str:
    """An id for an element of a page: ``claim-fig1-rls-order``."""
    return f"{what}-" + re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def prose(text: str) -> list[nodes.Node]:
    """Inline nodes of a sentence with ``$formulas$``, `code`, emphasis and web links."""
    found: list[nodes.Node] = []
    end = 0
    for match in _INLINE.finditer(text):
        found.append(nodes.Text(text[end : match.start()]))
        end = match.end()
        if match["address"]:
            found.append(nodes.reference("", match["label"], refuri=match["address"]))
        else:
            kind = match.lastgroup or ""
            found.append(getattr(nodes, kind)(match[kind], match[kind]))
    return [*found, nodes.Text(text[end:])]


def paragraph(*parts: Part, classes: Sequence[str] = ()) -> nodes.paragraph:
    """A paragraph of nodes and of text as it stands."""
    return _filled(nodes.paragraph(classes=list(classes)), parts)


def joined(parts: Iterable[Part], between: str = ", ") -> list[Part]:
    """Parts of a paragraph with something between them."""
    return [part for item in parts for part in (between, item)][1:]


def box(*parts: nodes.Node, classes: Sequence[str], ids: Sequence[str] = ()) -> nodes.container:
    """A ``div`` with classes."""
    return _filled(nodes.container(classes=list(classes), ids=list(ids)), parts)


def section(title: str, at: str, *parts: nodes.Node, classes: Sequence[str]) -> nodes.section:
    """A section with its heading, to be linked to by the id `at`."""
    head = nodes.title(title, title)
    return _filled(nodes.section(ids=[at], classes=list(classes)), [head, *parts])


def literal(text: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language="text")


def link(page: str, target: str, *label: Part, at: str = "") -> nodes.reference:
    """A link from one page of the site to another, or to an anchor on it."""
    start = posixpath.dirname(page) or "."
    address = "" if page == target else posixpath.relpath(f"{target}.html", start)
    uri = address + (f"#{at}" if at else "")
    return _filled(nodes.reference("", "", internal=True, refuri=uri), label)


def python_link(page: str, name: str) -> addnodes.pending_xref:
    """A link to an object of the package, by its full name; plain text if it has no entry."""
    short = name.rsplit(".", 1)[1]
    target = {"refdomain": "py", "reftype": "obj", "reftarget": name, "refexplicit": True}
    return addnodes.pending_xref(
        "", nodes.literal(short, short), refdoc=page, refwarn=False, **target
    )


def table(rows: Iterable[Sequence[Part]], caption: str = "") -> nodes.container:
    """A table whose first row names the columns; wider than the page, it scrolls by itself."""
    lines = [
        _filled(nodes.row(), [_entry(cell, not i) for cell in row]) for i, row in enumerate(rows)
    ]
    columns = [nodes.colspec(colwidth=1) for _ in lines[0]]
    body = [_filled(nodes.tbody(), lines[1:])] if lines[1:] else []
    group = [*columns, _filled(nodes.thead(), lines[:1]), *body]
    whole = _filled(
        nodes.table(classes=["results"]), [_filled(nodes.tgroup(cols=len(columns)), group)]
    )
    words = [paragraph(*prose(caption), classes=["caption"])] if caption else []
    return box(*words, box(whole, classes=["scroll"]), classes=["with-caption"])


def _entry(cell: Part, head: bool) -> nodes.entry:
    """A cell; numbers stay on one line, and sentences get room."""
    length = len(cell if isinstance(cell, str) else cell.astext())
    classes = ["short"] if length <= 16 else ["long"] if length > 32 and not head else []
    return _filled(nodes.entry(classes=classes), [paragraph(cell)])


def table_of_html(text: str) -> list[list[str]]:
    """Rows of the first table in some HTML as plain text; empty where there is none."""
    inside = re.search(r"<table(.*?)(</table>|$)", text, re.DOTALL)
    plain = re.sub(r"<(script|style)\b.*?</\1>", "", inside[1] if inside else "", flags=re.DOTALL)
    rows = [
        [
            " ".join(html.unescape(re.sub(r"<[^>]*>", "", cell)).split())
            for cell in re.split(r"<t[hd]\b[^>]*>", row)[1:]
        ]
        for row in re.split(r"<tr\b[^>]*>", plain)
    ]
    width = max(map(len, rows), default=0)
    return [row + [""] * (width - len(row)) for row in rows if row]
