"""`cells_html`: the cells of an executed notebook as HTML, through nbconvert."""

import base64
import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.ansi import strip_ansi
from traitlets.config import Config

from invariance.companion.report.prose import Prose, output_html, title_and_body

_TEMPLATES = Path(__file__).parent / "templates"
_PRIORITY = [
    "image/svg+xml",
    "image/png",
    "image/jpeg",
    "text/html",
    "text/markdown",
    "text/latex",
    "text/plain",
]
# Representations of objects, which say nothing to a reader.
_NOISE = re.compile(
    r"^\s*(<(Figure|Axes|IPython|function|module|matplotlib)\b|\[<matplotlib|Verdict\()"
)


def read_notebook(path: Path) -> nbformat.NotebookNode:
    """An executed notebook, its title taken out of the first text into ``metadata.title``."""
    notebook = nbformat.read(path, as_version=4)
    # papermill adds cells that point at an error; the page says it in its own place
    notebook.cells = [
        cell
        for cell in notebook.cells
        if "papermill-error-cell-tag" not in cell.metadata.get("tags", [])
    ]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            title, body = title_and_body(cell.source)
            if title is not None:
                notebook.metadata["title"] = title
                cell.source = body
            break
    return notebook


@dataclass
class Cells:
    """Renders the cells of one notebook.

    Attributes
    ----------
    prose : Prose
        Renders Markdown and collects problems.
    figure_html : callable
        ``(name or None, {type: bytes}, alternative text) -> HTML`` of a figure.
    claims : dict
        HTML of each claim by id; stands where the notebook recorded it.
    captions : set of str
        Captions of figures and tables, which the notebook shows apart from them.
    table_captions : dict
        Caption of each table by name.
    parameters : str
        HTML that stands below the parameters cell.
    placed : set of str
        After `html`: the claims that were found in an output.
    """

    prose: Prose
    figure_html: Callable[[str | None, dict[str, bytes], str], str]
    claims: dict[str, str] = field(default_factory=dict)
    captions: set[str] = field(default_factory=set)
    table_captions: dict[str, str] = field(default_factory=dict)
    parameters: str = ""
    placed: set[str] = field(default_factory=set)

    def html(self, notebook: nbformat.NotebookNode) -> str:
        """HTML of all cells of a notebook as `read_notebook` returns it."""
        exporter = HTMLExporter(
            config=Config(
                HTMLExporter={
                    "template_name": "cells",
                    "extra_template_basedirs": [str(_TEMPLATES)],
                },
            )
        )
        for name in ("page_text", "page_output", "page_after"):
            exporter.register_filter(name, getattr(self, f"_{name.removeprefix('page_')}"))
        for number, cell in enumerate(notebook.cells, start=1):
            cell.metadata["where"] = f"cell {number}"
        body, _ = exporter.from_notebook_node(notebook)
        return body

    def _text(self, cell: nbformat.NotebookNode) -> str:
        return self.prose.html(cell.source, cell.metadata["where"], cell.get("attachments"))

    def _after(self, cell: nbformat.NotebookNode) -> str:
        return self.parameters if "parameters" in cell.metadata.get("tags", []) else ""

    def _output(self, output: nbformat.NotebookNode, cell: nbformat.NotebookNode) -> str:
        if output.output_type == "stream":
            return _printed(output.text, output.name)
        if output.output_type == "error":
            return _traceback("\n".join(output.traceback) or f"{output.ename}: {output.evalue}")
        where = cell.metadata["where"]
        names = output.metadata.get("invariance", {})
        data = output.get("data", {})
        if names.get("claim") in self.claims:
            self.placed.add(names["claim"])
            return self.claims[names["claim"]]
        kind = next((mime for mime in _PRIORITY if mime in data), None)
        if kind is None or "application/vnd.jupyter.widget-view+json" in data:
            return '<p class="remark">An interactive element stands here in the notebook.</p>'
        content = data[kind]
        if kind.startswith("image/"):
            return self._image(output, names.get("figure"))
        if kind == "text/html":
            table = output_html(content, self.prose, where)
            caption = self.table_captions.get(names.get("table"), "")
            return f'<figure class="table">{caption}{table}</figure>'
        if kind == "text/markdown":
            return "" if content in self.captions else self.prose.html(content, where)
        if kind == "text/latex":
            return self._latex(content, where)
        plain = strip_ansi(content)
        return "" if _NOISE.match(plain) else f'<pre class="out">{html.escape(plain)}</pre>'

    def _image(self, output: nbformat.NotebookNode, name: str | None) -> str:
        images: dict[str, bytes] = {}
        for mime, content in output.data.items():
            if mime == "image/svg+xml":
                images[mime] = content.encode()
            elif mime.startswith("image/"):
                images[mime] = base64.b64decode(content)
        alts = [output.metadata.get(mime, {}).get("alt") for mime in images]
        alt = next((a for a in alts if a), "")
        return self.figure_html(name, images, alt)

    def _latex(self, content: str, where: str) -> str:
        display = content.strip().startswith(("$$", "\\[", "\\begin"))
        tex = re.sub(r"^\s*(\$\$?|\\\[)|(\$\$?|\\\])\s*$", "", content)
        return self.prose.formula(tex, where, display)


def _printed(text: str, name: str) -> str:
    # What a progress bar overwrote on screen is not worth a line on paper.
    lines = [line.rsplit("\r", 1)[-1].rstrip() for line in strip_ansi(text).rstrip().split("\n")]
    if not any(lines):
        return ""
    label = "Warnings and messages" if name == "stderr" else "Printed"
    count = f"{len(lines)} line{'s' if len(lines) > 1 else ''}"
    shown = html.escape("\n".join(lines))
    return (
        f'<details class="printed"><summary>{label} ({count})</summary>'
        f'<pre class="out">{shown}</pre></details>'
    )


def _traceback(text: str) -> str:
    return f'<pre class="out traceback">{html.escape(strip_ansi(text))}</pre>'
