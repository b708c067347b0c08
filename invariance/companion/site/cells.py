"""A notebook as MyST-NB reads it: prose and code as they stand, results in our directives."""

import ast
import json
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .material import Notebook, is_picture
from .nodes import table_of_html
from .uses import tree

__all__ = ["Output", "Page", "page_of"]

_LONG_CELL = 24  # lines; longer code is folded
_LONG_DISPLAY = 5  # the same where the code only draws and records
_DISPLAYS = re.compile(r"\brun\.(figure|table|claim)\(")
_LONG_OUTPUT = 4000  # characters
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


@dataclass(frozen=True)
class Output:
    """One thing to show below a cell.

    `kind` is ``text``, ``prose``, ``error``, ``table`` (of rows), ``picture`` (PNG), or, with the
    name of a recorded result, ``figure``, ``table-of`` or ``claim``.
    """

    kind: str
    value: Any


@dataclass
class Page:
    """A notebook's page: the notebook for MyST-NB and the outputs that it refers to."""

    title: str
    ipynb: str
    outputs: list[list[Output]] = field(default_factory=list)


def page_of(notebook: Notebook) -> Page:
    """The page of a notebook, from its text or, where there is one, its executed copy."""
    try:
        cells = list(_cells(notebook))
    except Exception as error:  # whatever stands in the file: the page says so, others go on
        notebook.problems.append(f"the notebook cannot be read: {type(error).__name__}: {error}")
        cells = []
    where = {"figure": "figures", "table-of": "tables", "claim": "claims"}
    left = {
        kind: {
            name: None
            for outcome in (notebook.published, notebook.run)
            if outcome
            for name in getattr(outcome, attribute)
        }
        for kind, attribute in where.items()
    }
    placed = [_executed(cell, notebook) for cell in cells]
    for outputs in placed:
        for output in outputs:
            left.get(output.kind, {}).pop(output.value if output.kind in left else None, None)
    for found in (_calls, _mentions):
        for cell, outputs in zip(cells, placed, strict=True):
            outputs += list(found(cell.source, left))
    takers = [i for i, c in enumerate(cells) if c.code and re.search(r"\(\s*run\s*,", c.source)]
    rest = [Output(kind, name) for kind, names in left.items() for name in names]
    if rest and takers:
        placed[takers[-1]] += rest
        rest = []
    title, written = _written(notebook, cells, placed)
    page = Page(title, json.dumps(written), placed)
    page.outputs.append(rest)
    return page


@dataclass
class _Cell:
    source: str
    code: bool
    tags: list[str]
    outputs: list[Mapping[str, Any]]


def _cells(notebook: Notebook) -> Iterator[_Cell]:
    if notebook.executed is not None:
        found = notebook.executed["cells"]
    else:
        import jupytext

        found = (
            jupytext.reads(notebook.source, fmt="py:percent")["cells"] if notebook.source else []
        )
    for cell in found:
        source = cell.get("source", "")
        metadata = cell.get("metadata")
        tags = metadata.get("tags") if isinstance(metadata, dict) else None
        tags = [str(tag) for tag in tags] if isinstance(tags, list) else []
        if {"injected-parameters", "papermill-error-cell-tag"} & set(tags):
            continue
        yield _Cell(
            source if isinstance(source, str) else "".join(map(str, source)),
            cell.get("cell_type") == "code",
            tags,
            cell.get("outputs") or [],
        )


def _executed(cell: _Cell, notebook: Notebook) -> list[Output]:
    found: list[Output] = []
    captions = {
        thing.caption
        for outcome in (notebook.run, notebook.published)
        if outcome
        for things in (outcome.figures, outcome.tables)
        for thing in things.values()
    }
    for output in cell.outputs:
        kept = _output(output, captions)
        if isinstance(kept, str):
            notebook.problems.append(kept)
        elif kept is not None:
            found.append(kept)
    return found


def _output(output: Mapping[str, Any], captions: set[str]) -> Output | str | None:
    """What to show of an output, a complaint about it, or nothing."""
    metadata, data = output.get("metadata"), output.get("data")
    ours = metadata.get("invariance") if isinstance(metadata, dict) else None
    if isinstance(ours, dict):
        for key, kind in (("figure", "figure"), ("table", "table-of"), ("claim", "claim")):
            if isinstance(ours.get(key), str):
                return Output(kind, ours[key])
    match output.get("output_type"):
        case "stream":
            lines = [line.rsplit("\r", 1)[-1] for line in _plain(output.get("text")).split("\n")]
            return Output("text", _short("\n".join(lines)))
        case "error":
            trace = output.get("traceback")
            trace = trace if isinstance(trace, list) else [output.get("evalue")]
            return Output("error", _short("\n".join(map(_plain, trace))))
    if not isinstance(data, dict):
        return None
    if any("widget" in mime for mime in data):
        return Output("text", "An interactive element stands here when the notebook is open.")
    if "image/png" in data:
        try:
            png = b64decode(_plain(data["image/png"]), validate=False)
        except ValueError:
            return "a picture that is not in base64"
        fault = is_picture(png)
        return f"a picture in an output: {fault}" if fault else Output("picture", png)
    if rows := table_of_html(_plain(data.get("text/html"))):
        return Output("table", rows[:100])
    text = _plain(data.get("text/markdown") or data.get("text/plain"))
    if not text.strip() or text in captions or text.startswith("Verdict("):
        return None
    return Output("prose" if "text/markdown" in data else "text", _short(text))


def _plain(text: Any) -> str:
    joined = "".join(map(str, text)) if isinstance(text, list) else str(text or "")
    return _ESCAPES.sub("", joined)


def _short(text: str) -> str:
    return text if len(text) <= _LONG_OUTPUT else f"{text[:_LONG_OUTPUT]}\n[...]"


def _take(pattern: str, kind: str, left: dict[str, dict[str, None]]) -> Iterator[Output]:
    for name in [name for name in left[kind] if re.fullmatch(pattern, name)]:
        del left[kind][name]
        yield Output(kind, name)


def _calls(source: str, left: dict[str, dict[str, None]]) -> Iterator[Output]:
    """Results named in ``run.figure(...)``, ``run.table(...)`` and ``run.claim(...)``."""
    kinds = {"figure": "figure", "table": "table-of", "claim": "claim"}
    if not any(f".{method}(" in source for method in kinds):
        return
    calls = [n for n in ast.walk(tree(source)) if isinstance(n, ast.Call)]
    for call in sorted(calls, key=lambda n: (n.lineno, n.col_offset)):
        if isinstance(call.func, ast.Attribute) and call.func.attr in kinds:
            for argument in call.args[:2]:
                for pattern in _patterns(argument):
                    yield from _take(pattern, kinds[call.func.attr], left)


def _mentions(source: str, left: dict[str, dict[str, None]]) -> Iterator[Output]:
    """Results whose name stands anywhere else in the code."""
    if not any(f'"{name}"' in source for names in left.values() for name in names):
        return
    for node in ast.walk(tree(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for kind in left:
                yield from _take(re.escape(node.value), kind, left)


def _patterns(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str() as text):
            yield re.escape(text)
        case ast.JoinedStr(values=parts):
            fixed = (str(p.value) if isinstance(p, ast.Constant) else None for p in parts)
            yield "".join(".+" if part is None else re.escape(part) for part in fixed)


def _written(
    notebook: Notebook, cells: list[_Cell], placed: list[list[Output]]
) -> tuple[str, dict[str, Any]]:
    title = ""
    written: list[dict[str, Any]] = []

    def markdown(text: str) -> None:
        written.append({"cell_type": "markdown", "metadata": {}, "source": text})

    for index, cell in enumerate(cells):
        if not cell.code:
            if not title and (head := re.match(r"\s*# +(.+)\n?", cell.source)):
                title = head[1].strip()
                markdown(f"# {title}")
                markdown("```{notebook-head}\n```")
                markdown(cell.source[head.end() :])
            else:
                # one title a page: what looks like a second one is a section
                markdown(re.sub(r"^# ", "## ", cell.source, flags=re.MULTILINE))
        else:
            most = _LONG_DISPLAY if _DISPLAYS.search(cell.source) else _LONG_CELL
            fold = cell.source.count("\n") >= most or "parameters" in cell.tags
            fold = fold or all(map(_plumbing, cell.source.splitlines()))
            tags = [*cell.tags, *(["hide-input"] if fold and "hide-input" not in cell.tags else [])]
            code: dict[str, Any] = {"cell_type": "code", "outputs": [], "execution_count": None}
            written.append(code | {"metadata": {"tags": tags}, "source": cell.source})
        if placed[index]:
            markdown(f"```{{outputs}} {index}\n```")
    if not title:
        title = notebook.name
        below = written[:]
        written.clear()
        markdown(f"# {title}\n\n```{{notebook-head}}\n```")
        written += below
    markdown(f"```{{notebook-foot}} {len(cells)}\n```")
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return title, {"cells": written, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}


_PLUMBING = re.compile(r"\s*(#|import |from |\)|$|[\w, ]+,?$|run = Run\()")


def _plumbing(line: str) -> bool:
    return bool(_PLUMBING.match(line))
