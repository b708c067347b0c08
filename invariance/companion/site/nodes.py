"""Text, tables and links as docutils nodes: what a result says is never markup."""

import html
import posixpath
import re
from collections.abc import Iterable, Sequence
from html.parser import HTMLParser
from typing import Any
from xml.etree.ElementTree import Element, tostring

from docutils import nodes
from sphinx import addnodes

__all__ = ["anchor", "box", "drawing", "fold", "link", "literal", "paragraph", "prose"]
__all__ += ["python_link", "table", "table_of_html"]

_INLINE = re.compile(
    r"\$(?P<math>[^$\n]+)\$|`(?P<code>[^`\n]+)`|\*\*(?P<bold>[^*\n]+)\*\*|\*(?P<em>[^*\s][^*\n]*)\*"
    r"|\[(?P<label>[^\]\n]+)\]\((?P<address>https://[^\s)]+)\)"
)


class drawing(nodes.General, nodes.Element):
    """A picture drawn here: an SVG element in ``node["svg"]`` and its words in ``node["alt"]``."""


class fold(nodes.General, nodes.Element):
    """Something to unfold, under the words ``node["summary"]``."""


def visit_drawing(writer: Any, node: drawing) -> None:
    writer.body.append(f'<div class="drawing" role="img" aria-label="{html.escape(node["alt"])}">')
    svg: Element = node["svg"]
    writer.body.append(tostring(svg, encoding="unicode") + "</div>")
    raise nodes.SkipNode


def visit_fold(writer: Any, node: fold) -> None:
    writer.body.append(f"<details><summary>{html.escape(node['summary'])}</summary>")


def depart_fold(writer: Any, node: fold) -> None:
    writer.body.append("</details>")


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
        kind, inner = match.lastgroup or "", match.group(match.lastgroup or 0)
        if kind == "math":
            found.append(nodes.math(inner, inner))
        elif kind == "code":
            found.append(nodes.literal(inner, inner))
        elif kind == "address":
            found.append(nodes.reference("", match["label"], refuri=inner))
        else:
            found.append((nodes.strong if kind == "bold" else nodes.emphasis)(inner, inner))
    return [*found, nodes.Text(text[end:])]


def paragraph(*parts: nodes.Node | str, classes: Sequence[str] = ()) -> nodes.paragraph:
    """A paragraph of nodes and of text as it stands."""
    node = nodes.paragraph(classes=list(classes))
    node += [nodes.Text(part) if isinstance(part, str) else part for part in parts]
    return node


def box(*parts: nodes.Node, classes: Sequence[str], ids: Sequence[str] = ()) -> nodes.container:
    """A ``div`` with classes."""
    node = nodes.container(classes=list(classes), ids=list(ids))
    node += list(parts)
    return node


def literal(text: str, language: str = "text") -> nodes.literal_block:
    return nodes.literal_block(text, text, language=language)


def link(page: str, target: str, *label: nodes.Node | str, at: str = "") -> nodes.reference:
    """A link from one page of the site to another, or to an anchor on it."""
    start = posixpath.dirname(page) or "."
    address = "" if page == target else posixpath.relpath(f"{target}.html", start)
    node = nodes.reference("", "", internal=True, refuri=address + (f"#{at}" if at else ""))
    node += [nodes.Text(part) if isinstance(part, str) else part for part in label]
    return node


def python_link(page: str, name: str) -> addnodes.pending_xref:
    """A link to an object of the package, by its full name; plain text if it has no entry."""
    short = name.rsplit(".", 1)[1]
    target = {"refdomain": "py", "reftype": "obj", "reftarget": name, "refexplicit": True}
    return addnodes.pending_xref(
        "", nodes.literal(short, short), refdoc=page, refwarn=False, **target
    )


def table(rows: Iterable[Sequence[str | nodes.Node]], caption: str = "") -> nodes.container:
    """A table whose first row names the columns; wider than the page, it scrolls by itself."""
    rows = [list(row) for row in rows]
    columns = len(rows[0])
    group = nodes.tgroup(cols=columns)
    group += [nodes.colspec(colwidth=1) for _ in range(columns)]
    head, body = nodes.thead(), nodes.tbody()
    for index, row in enumerate(rows):
        line = nodes.row()
        for cell in row:
            entry = nodes.entry()
            entry += cell if isinstance(cell, nodes.paragraph) else paragraph(cell)
            line += entry
        (body if index else head).append(line)
    group += [head, body] if len(rows) > 1 else [body]
    if len(rows) == 1:
        body += head.children
    node = nodes.table(classes=["results"])
    node += group
    parts = [paragraph(*prose(caption), classes=["caption"])] if caption else []
    return box(*parts, box(node, classes=["scroll"]), classes=["with-caption"])


class _Cells(HTMLParser):
    """The words in the cells of a table, and nothing else of it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[str]] = []
        self._inside = self._code = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            if not self.rows:
                self.rows.append([])
            self.rows[-1].append("")
            self._inside = True
        self._code = tag in ("style", "script")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag not in ("td", "th")
        self._code = False

    def handle_data(self, data: str) -> None:
        if self._inside and not self._code:
            self.rows[-1][-1] += data


def table_of_html(text: str) -> list[list[str]]:
    """Rows of the first table in some HTML as plain text; empty where there is none."""
    if "<table" not in text:
        return []
    parser = _Cells()
    parser.feed(text.partition("</table>")[0])
    rows = [[" ".join(cell.split()) for cell in row] for row in parser.rows if row]
    width = max((len(row) for row in rows), default=0)
    return [row + [""] * (width - len(row)) for row in rows]
