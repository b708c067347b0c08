"""A notebook as MyST-NB reads it: prose, code and what it printed, and where results stand."""

import ast
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..files import without_escapes
from ..source import parse_notebook
from .material import Notebook, is_picture
from .reference import tree

_LONG_CELL = 24  # lines; longer code is folded
_LONG_DISPLAY = 5  # the same where the code only draws and records
_DISPLAYS = re.compile(r"\b(run\.(figure|table|claim|say)|tell)\(")
_PLUMBING = re.compile(r"\s*(#|import |from |\)|$|[\w, ]+,?$)")
_LONG_OUTPUT = 4000  # characters
# a warning: where it was raised, on whose machine, and the line there are nobody's concern
_WARNING = re.compile(r"^\S+:\d+: (\w*Warning: .*)\n(?:  .*\n?)?", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
#: Kinds of recorded results, and where an outcome keeps them.
RECORDED = {"figure": "figures", "table": "tables", "claim": "claims", "says": "says"}


class Output(NamedTuple):
    """A recorded result to show below a cell: its kind, and its name or the sentence's text."""

    kind: str
    value: str


@dataclass(frozen=True)
class Page:
    """A notebook's title, its cells (prose without the title), and results that no cell names."""

    title: str
    cells: list["Cell"]
    rest: list[Output]

    @property
    def outputs(self) -> list[list[Output]]:
        return [*(cell.outputs for cell in self.cells), self.rest]

    def beside(self, claim: str) -> str:
        """The figure shown last before a claim, or else the first after it."""
        shown = [output for outputs in self.outputs for output in outputs]
        at = next((i for i, output in enumerate(shown) if output == ("claim", claim)), 0)
        figures = [o.value for o in [*shown[at::-1], *shown[at:]] if o.kind == "figure"]
        return next(iter(figures), "")


@dataclass
class Cell:
    """Prose or code, what it printed, and the recorded results to show below it."""

    source: str
    code: bool = False
    tags: Sequence[str] = ()
    printed: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)

    def written(self) -> dict[str, Any]:
        """The cell in a notebook file, with what it printed; plumbing is folded."""
        tags = {*self.tags, *(["hide-input"] if self.code and _is_plumbing(self) else [])}
        metadata = {"tags": sorted(tags)} if tags else {}
        kind = {"cell_type": "code" if self.code else "markdown"}
        ran = {"outputs": self.printed, "execution_count": None} if self.code else {}
        return {"metadata": metadata, "source": self.source, **kind, **ran}


def as_notebook(cells: Sequence[Cell]) -> str:
    """A notebook file of cells."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    content = {"cells": [cell.written() for cell in cells], "metadata": metadata}
    return json.dumps(content | {"nbformat": 4, "nbformat_minor": 4}, separators=(",", ":"))


def page_of(notebook: Notebook) -> Page:
    """The page of a notebook, from its text or, where there is one, its executed copy.

    A result stands where that shows it, else below the cell that records it by name, else below
    one that mentions it, else at the end.
    """
    try:
        cells = list(_cells(notebook)) if notebook.readable or notebook.executed else []
    except Exception as error:  # whatever stands in the file: the page says so, others go on
        notebook.problems.append(f"the notebook cannot be read: {type(error).__name__}: {error}")
        cells = []
    shown = {output for cell in cells for output in cell.outputs}
    recorded = [
        Output(kind, name)
        for kind, attribute in RECORDED.items()
        for outcome in notebook.outcomes
        for name in getattr(outcome, attribute)
    ]
    left = [output for output in dict.fromkeys(recorded) if output not in shown]
    for mentioned in (False, True):
        for cell in cells if left else ():
            for kind, pattern in _names(cell.source, mentioned):
                found = [o for o in left if re.fullmatch(pattern, o.value) and kind in (o.kind, "")]
                cell.outputs += found
                left = [output for output in left if output not in found]
    # what a function showed that was given the run; those that print sentences are named say_...
    if takers := [c for c in cells if c.code and re.search(r"\(\s*run\s*,", c.source)]:
        saying = [c for c in takers if re.search(r"\bsay_\w+\(", c.source)]
        showing = [c for c in takers if c not in saying]
        for output in left:
            ((saying if output.kind == "says" else showing) or takers)[-1].outputs.append(output)
        left = []
    title = ""
    for cell in (cell for cell in cells if not cell.code):
        if not title and (head := re.match(r"\s*# +(.+)\n?", cell.source)):
            title, cell.source = head[1].strip(), cell.source[head.end() :]
        cell.source = _with_sections(cell.source)
    return Page(title or notebook.name, cells, left)


def _with_sections(prose: str) -> str:
    """Prose in which what looks like a second title is a section; code between fences stays."""
    lines, fence = [], ""
    for line in prose.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip(f"{fence[0]} "):
            fence = ""
        lines.append(f"#{line}" if line.startswith("# ") and not fence else line)
    return "\n".join(lines)


def cells_of(text: str) -> list[Cell]:
    """The cells of a text notebook (py:percent); a `NotebookError` if it cannot be read."""
    return [
        Cell(cell.source, cell.cell_type == "code", cell.metadata.get("tags", []))
        for cell in parse_notebook(text).cells
    ]


def _cells(notebook: Notebook) -> Iterator[Cell]:
    if notebook.executed is None:
        yield from cells_of(notebook.source)
        return
    found = notebook.executed["cells"]
    contents = [outcome.content for outcome in notebook.outcomes]
    captions = {entry["caption"] for c in contents for entry in c["figures"] + c["tables"]}
    quick = bool(notebook.published) and not (notebook.run and notebook.run.profile == "full")
    for cell in found:
        tags = [str(tag) for tag in (cell.get("metadata") or {}).get("tags") or []]
        if {"injected-parameters", "papermill-error-cell-tag"} & set(tags):
            continue
        ours, shown = [], []
        for output in cell.get("outputs") or []:
            named = (output.get("metadata") or {}).get("invariance") or {}
            some = [Output(k, named[k]) for k in RECORDED if isinstance(named.get(k), str)]
            ours += some[:1]
            shown += [] if some else [_printed(output, captions)]
        notebook.problems += [problem for problem in shown if isinstance(problem, str)]
        printed = [output for output in shown if isinstance(output, dict)]
        yield Cell(
            _joined(cell["source"]), cell["cell_type"] == "code", tags,
            [_QUICK, *printed] if quick and printed else printed,
            list(dict.fromkeys(ours)),  # a sentence said of several things is one, with them all
        )  # fmt: skip


def _printed(output: Mapping[str, Any], captions: set[str]) -> dict[str, Any] | str | None:
    """An output for MyST-NB to show, a complaint about it, or nothing."""
    data = output.get("data") or {}
    match output.get("output_type"):
        case "stream":
            text = _joined(output.get("text"))
            if output.get("name") == "stderr":
                if "\r" in text or not text.strip():
                    return None  # a progress bar
                text = "\n".join(dict.fromkeys(_WARNING.sub(r"\1\n", text).splitlines()))
            lines = [line.rsplit("\r", 1)[-1] for line in text.split("\n")]
            return _stream("\n".join(lines))
        case "error":
            return _stream("\n".join(map(_joined, output.get("traceback") or [])))
    if "image/png" in data:
        try:
            png = b64decode(_joined(data["image/png"]), validate=False)
        except ValueError:
            return "a picture that is not in base64"
        if fault := is_picture(png):
            return f"a picture in an output: {fault}"
        return _shown("image/png", b64encode(png).decode())
    text = _joined(data.get("text/markdown") or data.get("text/plain"))
    if not text.strip() or text in captions or text.startswith("Verdict("):
        return None
    return _stream(text)


def _stream(text: str) -> dict[str, Any]:
    short = text if len(text) <= _LONG_OUTPUT else f"{text[:_LONG_OUTPUT]}\n[...]"
    return {"output_type": "stream", "name": "stdout", "text": short}


def _shown(mime: str, content: str) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {mime: content}, "metadata": {}}


#: Above what was printed, where figures of the full run follow.
_QUICK = _shown("text/markdown", "*Printed by a quick run; figures and tables are of the full run*")


def _joined(text: Any) -> str:
    return without_escapes("".join(map(str, text)) if isinstance(text, list) else str(text or ""))


def _names(source: str, mentioned: bool) -> Iterator[tuple[str, str]]:
    """Kind, or none if `mentioned`, and pattern of the results that code records, in order."""
    nodes = [node for node in ast.walk(tree(source)) if isinstance(node, ast.expr)]
    for node in sorted(nodes, key=lambda n: (n.lineno, n.col_offset)):
        if mentioned and isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield "", re.escape(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            kind = "says" if node.func.attr == "say" else node.func.attr
            for argument in node.args[:2] if kind in RECORDED and not mentioned else ():
                match argument:
                    case ast.Constant(value=str() as text):
                        yield kind, re.escape(text)
                    case ast.JoinedStr(values=parts):
                        fixed = (p.value if isinstance(p, ast.Constant) else None for p in parts)
                        yield kind, "".join(".+" if f is None else re.escape(str(f)) for f in fixed)


def _is_plumbing(cell: Cell) -> bool:
    """Whether to fold code: settings, imports, and what is long beside what it shows."""
    if {"parameters", "settings"} & {*cell.tags} or "run = Run(" in cell.source:
        return True
    most = _LONG_DISPLAY if _DISPLAYS.search(cell.source) else _LONG_CELL
    lines = cell.source.splitlines()
    return len(lines) > most or all(map(_PLUMBING.match, lines))
