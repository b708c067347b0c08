"""Notebooks as MyST-NB reads them: prose, code and printed output, and places for results."""

import ast
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..files import without_escapes
from ..source import parse_notebook
from .material import Notebook, picture_fault
from .reference import tree

_LONG_CELL = 24  # lines; longer code is folded
_LONG_DISPLAY = 5  # lines of code that only draws and records; longer code is folded
_DISPLAYS = re.compile(r"\b(run\.(figure|table|claim|say)|tell)\(")
_PLUMBING = re.compile(r"\s*(#|import |from |\)|$|[\w, ]+,?$)")
_LONG_OUTPUT = 4000  # characters
# A warning, with its file and line of code, which are not shown.
_WARNING = re.compile(r"^\S+:\d+: (\w*Warning: .*)\n(?:  .*\n?)?", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_TITLE = re.compile(r"\s*# +(.+)\n?")
# A call of a helper that is handed the run.
_HELPER_CALL = re.compile(r"\(\s*run\s*,")
_SAY_CALL = re.compile(r"\bsay_\w+\(")
_GENERATED_TAGS = {"injected-parameters", "papermill-error-cell-tag"}
#: A sentence ends before a capital; "et al. (2015)" does not end one.
_SENTENCE = re.compile(r".+?[.?!](?=\s+[A-Z*`]|$)")
#: Kinds of recorded results, and the attribute of an `Outcome` that holds them.
RECORDED = {"figure": "figures", "table": "tables", "claim": "claims", "says": "says"}


class Output(NamedTuple):
    """A recorded result to show below a cell: its kind, and its name or the sentence's template."""

    kind: str
    value: str


@dataclass
class Cell:
    """Prose or code, its printed output, and the recorded results to show below it."""

    source: str
    code: bool = False
    tags: Sequence[str] = ()
    printed: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the cell as in a notebook file, with its printed output; plumbing is folded."""
        tags = set(self.tags)
        if self.code and _is_plumbing(self):
            tags.add("hide-input")
        metadata: dict[str, Any] = {"tags": sorted(tags)} if tags else {}
        if self.code and "hide-input" in self.tags:
            metadata["jupyter"] = {"source_hidden": True}  # JupyterLab's own mark
        content: dict[str, Any] = {"metadata": metadata, "source": self.source}
        if self.code:
            content |= {"cell_type": "code", "outputs": self.printed, "execution_count": None}
        else:
            content["cell_type"] = "markdown"
        return content


@dataclass(frozen=True)
class Page:
    """A notebook's title, its cells (prose without the title), and results without a cell."""

    title: str
    cells: list[Cell]
    rest: list[Output]

    @property
    def opening(self) -> str:
        """The first sentence of the text that has no command of TeX, or an empty text.

        >>> Page("t", [Cell("*In italics.*\\n\\nA ring turns. It has beads.")], []).opening
        'A ring turns.'
        """
        texts = [cell.source for cell in self.cells if not cell.code]
        for source in texts:
            for paragraph in re.split(r"\n\s*\n", source):
                text = " ".join(paragraph.split())
                sentence = _SENTENCE.match(text)
                if sentence and text[0].isalpha() and "\\" not in sentence[0]:
                    return sentence[0]
        return ""

    @property
    def outputs(self) -> list[list[Output]]:
        return [*(cell.outputs for cell in self.cells), self.rest]

    def figure_beside(self, claim: str) -> str:
        """Return the name of the last figure before a claim, or else of the first one after it."""
        outputs = [output for group in self.outputs for output in group]
        position = 0
        if ("claim", claim) in outputs:
            position = outputs.index(Output("claim", claim))
        before = reversed(outputs[: position + 1])
        for output in [*before, *outputs[position:]]:
            if output.kind == "figure":
                return output.value
        return ""


def as_notebook(cells: Sequence[Cell]) -> str:
    """Return the text of a notebook file with these cells."""
    language = {"name": "python3", "display_name": "Python 3", "language": "python"}
    content = {
        "cells": [cell.as_json() for cell in cells],
        "metadata": {"kernelspec": language, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
    return json.dumps(content, separators=(",", ":"))


def cells_of(text: str) -> list[Cell]:
    """Return the cells of a text notebook (py:percent); a `NotebookError` if it is unreadable."""
    cells = []
    for cell in parse_notebook(text).cells:
        tags = cell.metadata.get("tags", [])
        cells.append(Cell(cell.source, cell.cell_type == "code", tags))
    return cells


# ---------------------------------------------------------------------- the page of a notebook


def page_of(notebook: Notebook) -> Page:
    """Return the page of a notebook, from its executed copy if there is one, else from its text.

    A recorded result is shown below the cell that shows it in the executed copy. Otherwise it is
    shown below the cell that records it by name, or below one that mentions its name, or at the
    end of the page.
    """
    cells: list[Cell] = []
    if notebook.readable or notebook.executed:
        try:
            cells = _cells(notebook)
        except Exception as error:  # the file may hold anything; other pages are still built
            fault = f"the notebook cannot be read: {type(error).__name__}: {error}"
            notebook.problems.append(fault)
    shown = {output for cell in cells for output in cell.outputs}
    unplaced = [output for output in _recorded(notebook) if output not in shown]
    unplaced = _place_by_name(cells, unplaced, mentioned=False)
    unplaced = _place_by_name(cells, unplaced, mentioned=True)
    unplaced = _place_below_helpers(cells, unplaced)
    title = _take_title(cells)
    return Page(title or notebook.name, cells, unplaced)


def _recorded(notebook: Notebook) -> list[Output]:
    """Return all recorded results of a notebook, each once."""
    outputs = []
    for kind, attribute in RECORDED.items():
        for outcome in notebook.outcomes:
            outputs += [Output(kind, name) for name in getattr(outcome, attribute)]
    return list(dict.fromkeys(outputs))


def _place_by_name(cells: list[Cell], unplaced: list[Output], mentioned: bool) -> list[Output]:
    """Show results below cells that record (or mention) their names; return the others."""
    for cell in cells:
        if not unplaced:
            break
        for kind, pattern in _names(cell.source, mentioned):
            named = []
            for output in unplaced:
                if kind in (output.kind, "") and re.fullmatch(pattern, output.value):
                    named.append(output)
            cell.outputs += named
            unplaced = [output for output in unplaced if output not in named]
    return unplaced


def _place_below_helpers(cells: list[Cell], unplaced: list[Output]) -> list[Output]:
    """Show results below the last cell that hands the run to a helper; return the others.

    Helpers that print sentences are named ``say_...``.
    """
    calling = [cell for cell in cells if cell.code and _HELPER_CALL.search(cell.source)]
    if not calling:
        return unplaced
    saying = [cell for cell in calling if _SAY_CALL.search(cell.source)]
    showing = [cell for cell in calling if cell not in saying]
    for output in unplaced:
        preferred = saying if output.kind == "says" else showing
        (preferred or calling)[-1].outputs.append(output)
    return []


def _take_title(cells: list[Cell]) -> str:
    """Remove the title from the first cell that has one, and return it; demote later titles."""
    title = ""
    for cell in cells:
        if cell.code:
            continue
        heading = _TITLE.match(cell.source)
        if heading and not title:
            title = heading[1].strip()
            cell.source = cell.source[heading.end() :]
        cell.source = _with_sections(cell.source)
    return title


def _with_sections(prose: str) -> str:
    """Turn titles into sections, except within fenced code."""
    lines = []
    fence = ""
    for line in prose.split("\n"):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line.strip(f"{fence[0]} "):
            fence = ""
        if line.startswith("# ") and not fence:
            line = f"#{line}"
        lines.append(line)
    return "\n".join(lines)


# ------------------------------------------------------------------------------------- outputs


def _cells(notebook: Notebook) -> list[Cell]:
    if notebook.executed is None:
        return cells_of(notebook.source)
    captions = set()
    for outcome in notebook.outcomes:
        for entry in [*outcome.content["figures"], *outcome.content["tables"]]:
            captions.add(entry["caption"])
    is_quick = notebook.run is None or notebook.run.profile != "full"
    has_full_figures = notebook.published is not None and is_quick
    cells = []
    for content in notebook.executed["cells"]:
        tags = [str(tag) for tag in (content.get("metadata") or {}).get("tags") or []]
        if _GENERATED_TAGS.isdisjoint(tags):
            cell = Cell(_joined(content["source"]), content["cell_type"] == "code", tags)
            _add_outputs(cell, content, captions, notebook.problems)
            if cell.printed and has_full_figures:
                cell.printed.insert(0, _QUICK)
            cells.append(cell)
    return cells


def _add_outputs(
    cell: Cell, content: Mapping[str, Any], captions: set[str], problems: list[str]
) -> None:
    """Add the recorded results and the printed output of an executed cell."""
    outputs = []
    for output in content.get("outputs") or []:
        recorded = (output.get("metadata") or {}).get("invariance") or {}
        kinds = [kind for kind in RECORDED if isinstance(recorded.get(kind), str)]
        if kinds:
            outputs.append(Output(kinds[0], recorded[kinds[0]]))
            continue
        try:
            printed = printed_output(output, captions)
        except _BadPictureError as error:
            problems.append(str(error))
            continue
        if printed:
            cell.printed.append(printed)
    cell.outputs = list(dict.fromkeys(outputs))  # several sentences may share a template


class _BadPictureError(ValueError):
    """A picture in an output that cannot be shown."""


def printed_output(output: Mapping[str, Any], captions: set[str]) -> dict[str, Any] | None:
    """Return an output for MyST-NB to show, or None if it adds nothing to the page."""
    data = output.get("data") or {}
    kind = output.get("output_type")
    if kind == "stream":
        return _stream_of(output)
    if kind == "error":
        return _stream("\n".join(map(_joined, output.get("traceback") or [])))
    if "image/png" in data:
        return _picture(data["image/png"])
    text = _joined(data.get("text/markdown") or data.get("text/plain"))
    if not text.strip() or text in captions or text.startswith("Verdict("):
        return None
    return _stream(text)


def _stream_of(output: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return printed text as a terminal shows it; without progress bars, warnings once."""
    text = _joined(output.get("text"))
    if output.get("name") == "stderr":
        is_progress_bar = "\r" in text
        if is_progress_bar or not text.strip():
            return None
        text = "\n".join(dict.fromkeys(_WARNING.sub(r"\1\n", text).splitlines()))
    lines = [line.rsplit("\r", 1)[-1] for line in text.split("\n")]
    return _stream("\n".join(lines))


def _picture(content: Any) -> dict[str, Any]:
    try:
        png = b64decode(_joined(content), validate=False)
    except ValueError:
        raise _BadPictureError("a picture that is not in base64") from None
    fault = picture_fault(png)
    if fault:
        raise _BadPictureError(f"a picture in an output: {fault}")
    return _display("image/png", b64encode(png).decode())


def _stream(text: str) -> dict[str, Any]:
    if len(text) > _LONG_OUTPUT:
        text = f"{text[:_LONG_OUTPUT]}\n[...]"
    return {"output_type": "stream", "name": "stdout", "text": text}


def _display(mime: str, content: str) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {mime: content}, "metadata": {}}


# Shown above printed output if the figures below come from the full run.
_QUICK = _display(
    "text/markdown", "*Printed by a quick run; the figures and tables are from the full run*"
)


def _joined(text: Any) -> str:
    """Return a text that a notebook file may store as a list of lines, without escapes."""
    if isinstance(text, list):
        text = "".join(map(str, text))
    return without_escapes(str(text or ""))


# ---------------------------------------------------------------------------------------- code


def _names(source: str, mentioned: bool) -> Iterator[tuple[str, str]]:
    """Yield kind and name (as a pattern) of the results that code records, in order.

    If `mentioned`, yield instead all text constants, with an empty kind.
    """
    nodes = [node for node in ast.walk(tree(source)) if isinstance(node, ast.expr)]
    nodes.sort(key=lambda node: (node.lineno, node.col_offset))
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)) if mentioned:
                yield "", re.escape(text)
            case ast.Call(func=ast.Attribute(attr=method), args=arguments) if not mentioned:
                kind = "says" if method == "say" else method
                if kind in RECORDED:
                    for argument in arguments[:2]:
                        pattern = _pattern(argument)
                        if pattern is not None:
                            yield kind, pattern


def _pattern(argument: ast.expr) -> str | None:
    """Return the pattern of a name; a field of an f-string matches any text."""
    match argument:
        case ast.Constant(value=str(text)):
            return re.escape(text)
        case ast.JoinedStr(values=parts):
            patterns = []
            for part in parts:
                if isinstance(part, ast.Constant):
                    patterns.append(re.escape(str(part.value)))
                else:
                    patterns.append(".+")
            return "".join(patterns)
    return None


def _is_plumbing(cell: Cell) -> bool:
    """Whether to fold code: settings, imports, and code that is long beside its output."""
    if not {"parameters", "settings"}.isdisjoint(cell.tags) or "run = Run(" in cell.source:
        return True
    limit = _LONG_DISPLAY if _DISPLAYS.search(cell.source) else _LONG_CELL
    lines = cell.source.splitlines()
    return len(lines) > limit or all(map(_PLUMBING.match, lines))
