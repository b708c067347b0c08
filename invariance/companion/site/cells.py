"""A notebook as MyST-NB reads it: prose and code as they stand, results in our directives."""

import ast
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .material import Notebook, is_picture
from .nodes import table_of_html
from .uses import tree

__all__ = ["RECORDED", "Cell", "Output", "Page", "page_of"]

_LONG_CELL = 24  # lines; longer code is folded
_LONG_DISPLAY = 5  # the same where the code only draws and records
_DISPLAYS = re.compile(r"\b(run\.(figure|table|claim|say)|tell)\(")
_PLUMBING = re.compile(r"\s*(#|import |from |\)|$|[\w, ]+,?$)")
_LONG_OUTPUT = 4000  # characters
# a warning: where it was raised, on whose machine, and the line there are nobody's concern
_WARNING = re.compile(r"^\S+:\d+: (\w*Warning: .*)\n(?:  .*\n?)?", re.MULTILINE)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
#: Kinds of recorded results, and where an outcome keeps them.
RECORDED = {"figure": "figures", "table": "tables", "claim": "claims", "says": "says"}


@dataclass(frozen=True)
class Output:
    """One thing to show below a cell.

    `kind` is ``text``, ``prose``, ``error``, ``rows`` (of a table), ``picture`` (PNG), or, with the
    name of a recorded result, ``figure``, ``table``, ``claim`` or ``says`` (the sentence's text).
    """

    kind: str
    value: Any


@dataclass(frozen=True)
class Page:
    """A notebook's title, its cells (prose without the title), and results that no cell names."""

    title: str
    cells: list["Cell"]
    rest: list[Output]

    @property
    def outputs(self) -> list[list[Output]]:
        return [*(cell.outputs for cell in self.cells), self.rest]


@dataclass
class Cell:
    """Prose or code, and what is shown below it."""

    source: str
    code: bool = False
    tags: Sequence[str] = ()
    outputs: list[Output] = field(default_factory=list)

    def written(self) -> dict[str, Any]:
        """The cell in a notebook file, its outputs left out and plumbing folded."""
        tags = {*self.tags, *(["hide-input"] if self.code and _is_plumbing(self) else [])}
        written: dict[str, Any] = {"metadata": {"tags": sorted(tags)}, "source": self.source}
        if self.code:
            return written | {"cell_type": "code", "outputs": [], "execution_count": None}
        return written | {"cell_type": "markdown"}


def page_of(notebook: Notebook) -> Page:
    """The page of a notebook, from its text or, where there is one, its executed copy."""
    try:
        cells = list(_cells(notebook))
    except Exception as error:  # whatever stands in the file: the page says so, others go on
        notebook.problems.append(f"the notebook cannot be read: {type(error).__name__}: {error}")
        cells = []
    left = {
        (kind, name): None
        for kind, attribute in RECORDED.items()
        for outcome in notebook.outcomes
        for name in getattr(outcome, attribute)
    }
    for output in (output for cell in cells for output in cell.outputs):
        if output.kind in RECORDED:
            left.pop((output.kind, output.value), None)
    for reading in (_calls, _mentions):
        for cell in cells if left else ():
            for kind, pattern in reading(cell.source):
                for key in [k for k in left if re.fullmatch(pattern, k[1]) and kind in (k[0], "")]:
                    del left[key]
                    cell.outputs.append(Output(*key))
    rest = [Output(*key) for key in left]
    # what a function showed that was given the run; those that print sentences are named say_...
    if takers := [c for c in cells if c.code and re.search(r"\(\s*run\s*,", c.source)]:
        saying = [c for c in takers if re.search(r"\bsay_\w+\(", c.source)]
        showing = [c for c in takers if c not in saying]
        for output in rest:
            fitting = saying if output.kind == "says" else showing
            (fitting or takers)[-1].outputs.append(output)
        rest = []
    return Page(_without_title(cells) or notebook.name, cells, rest)


def _without_title(cells: list[Cell]) -> str:
    """The title, which goes; what looks like a second one becomes a section."""
    title = ""
    for cell in cells:
        if not cell.code and not title and (head := re.match(r"\s*# +(.+)\n?", cell.source)):
            title, cell.source = head[1].strip(), cell.source[head.end() :]
        elif not cell.code:
            cell.source = re.sub(r"^# ", "## ", cell.source, flags=re.MULTILINE)
    return title


def _cells(notebook: Notebook) -> Iterator[Cell]:
    if notebook.executed is not None:
        found = notebook.executed["cells"]
    else:
        import jupytext

        text = notebook.source
        found = jupytext.reads(text, fmt="py:percent")["cells"] if text else []
    captions = {
        thing.caption
        for outcome in notebook.outcomes
        for things in (outcome.figures, outcome.tables)
        for thing in things.values()
    }
    for cell in found:
        tags = [str(tag) for tag in (cell.get("metadata") or {}).get("tags") or []]
        if {"injected-parameters", "papermill-error-cell-tag"} & set(tags):
            continue
        shown = [_output(output, captions) for output in cell.get("outputs") or []]
        notebook.problems += [problem for problem in shown if isinstance(problem, str)]
        found_here = [output for output in shown if isinstance(output, Output)]
        # a sentence that a loop says of several things is one output, which says them all
        outputs = [
            o for i, o in enumerate(found_here) if o.kind != "says" or o not in found_here[:i]
        ]
        yield Cell(_joined(cell["source"]), cell["cell_type"] == "code", tags, outputs)


def _output(output: Mapping[str, Any], captions: set[str]) -> Output | str | None:
    """What to show of an output, a complaint about it, or nothing."""
    ours = (output.get("metadata") or {}).get("invariance") or {}
    for kind in RECORDED:
        if isinstance(ours.get(kind), str):
            return Output(kind, ours[kind])
    data = output.get("data") or {}
    match output.get("output_type"):
        case "stream":
            text = _joined(output.get("text"))
            if output.get("name") == "stderr":
                if "\r" in text or not text.strip():
                    return None  # a progress bar
                said = _WARNING.sub(r"\1\n", text).splitlines()
                return Output("text", _short("\n".join(dict.fromkeys(said))))
            lines = text.split("\n")
            return Output("text", _short("\n".join(line.rsplit("\r", 1)[-1] for line in lines)))
        case "error":
            return Output("error", _short("\n".join(map(_joined, output.get("traceback") or []))))
    if any("widget" in mime for mime in data):
        return Output("text", "An interactive element stands here when the notebook is open.")
    if "image/png" in data:
        try:
            png = b64decode(_joined(data["image/png"]), validate=False)
        except ValueError:
            return "a picture that is not in base64"
        fault = is_picture(png)
        return f"a picture in an output: {fault}" if fault else Output("picture", png)
    if rows := table_of_html(_joined(data.get("text/html"))):
        return Output("rows", rows[:100])
    text = _joined(data.get("text/markdown") or data.get("text/plain"))
    if not text.strip() or text in captions or text.startswith("Verdict("):
        return None
    return Output("prose" if "text/markdown" in data else "text", _short(text))


def _joined(text: Any) -> str:
    return _ESCAPES.sub("", "".join(map(str, text)) if isinstance(text, list) else str(text or ""))


def _short(text: str) -> str:
    return text if len(text) <= _LONG_OUTPUT else f"{text[:_LONG_OUTPUT]}\n[...]"


def _calls(source: str) -> Iterator[tuple[str, str]]:
    """Kind and name of results in ``run.figure(...)`` and the like; an f-string is a pattern."""
    calls = [n for n in ast.walk(tree(source)) if isinstance(n, ast.Call)]
    for call in sorted(calls, key=lambda n: (n.lineno, n.col_offset)):
        kind = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        kind = "says" if kind == "say" else kind
        for argument in call.args[:2] if kind in RECORDED else ():
            match argument:
                case ast.Constant(value=str() as text):
                    yield kind, re.escape(text)
                case ast.JoinedStr(values=parts):
                    fixed = [re.escape(str(getattr(p, "value", ""))) for p in parts]
                    whole = zip(parts, fixed, strict=True)
                    yield (
                        kind,
                        "".join(f if isinstance(p, ast.Constant) else ".+" for p, f in whole),
                    )


def _mentions(source: str) -> Iterator[tuple[str, str]]:
    """Results whose name stands anywhere else in the code."""
    for node in ast.walk(tree(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield "", re.escape(node.value)


def _is_plumbing(cell: Cell) -> bool:
    """Whether to fold code: settings, imports, and what is long beside what it shows."""
    if {"parameters", "settings"} & {*cell.tags} or "run = Run(" in cell.source:
        return True
    most = _LONG_DISPLAY if _DISPLAYS.search(cell.source) else _LONG_CELL
    lines = cell.source.splitlines()
    return len(lines) > most or all(map(_PLUMBING.match, lines))
