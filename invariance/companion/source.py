"""Text notebooks as they lie on disk: cells, code, what it calls, and what the header says.

Whatever is wrong with a file is a `NotebookError` that names it, so that one bad notebook never
takes the others down.

A notebook that collects what others have measured says so above its first cell, and so does one
whose subject is time, which another notebook beside it would distort::

    # ---
    # jupyter:
    #   invariance:
    #     reads: [compare/digits, compare/torus]
    #     alone: true

The runner starts the first once those that it reads and that run at all have ended, well or badly,
and the second, at full scale, when nothing else is running, after all that need not be alone.
"""

import ast
import re
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import NotebookError, hint
from .files import read_text
from .paths import Paths

if TYPE_CHECKING:
    import nbformat


def read_notebook(path: Path) -> "nbformat.NotebookNode":
    """Read a text notebook, not to be changed; `NotebookError` if it cannot be read."""
    text = read_text(path, NotebookError)
    try:
        return parse_notebook(text)
    except Exception as error:
        raise NotebookError(f"cannot read the notebook {path}: {error}") from error


@lru_cache(256)  # many ask for parts of the same text, and reading YAML is slow
def parse_notebook(text: str) -> "nbformat.NotebookNode":
    """A text notebook (py:percent), not to be changed."""
    # Where JupyterLab is installed, jsonschema, and with it nbformat, builds an Earley parser of
    # RFC 3987 at its import: 1.4 s, for fields that no notebook has. None makes that import fail.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    import jupytext

    return jupytext.reads(text, fmt="py:percent")


def notebook_code(path: Path) -> str:
    """All code of a text notebook as one Python source, IPython's magic lines left out."""
    cells = (cell.source for cell in read_notebook(path).cells if cell.cell_type == "code")
    return re.sub(r"(?m)^\s*[%!].*$", "", "\n".join(cells))


def parse_code(code: str, what: str) -> ast.Module:
    """The syntax tree of `code`; a `NotebookError` names `what` it is of."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotebookError(f"{what} is not Python, or nested too deeply: {error}") from error


def calls_of(path: Path) -> list[tuple[str, ast.Call]]:
    """A notebook's calls of plain names (``Run``) and of methods of plain names (``run.claim``)."""
    found = []
    for node in ast.walk(parse_code(notebook_code(path), f"notebook {path}")):
        match node:
            case ast.Call(func=ast.Name(id=name)):
                found.append((name, node))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)):
                found.append((f"{owner}.{name}", node))
    return found


def chooses(path: Path) -> bool:
    """Whether a notebook has a stage of choosing: ``Run(..., chooses=True)``."""
    calls = [call for name, call in calls_of(path) if name == "Run"]
    return any(keyword.arg == "chooses" for call in calls for keyword in call.keywords)


def reads(paths: Paths, notebook: str) -> list[str]:
    """Notebooks whose results a notebook reads.

    A `NotebookError` is raised for a header that does not list names, a name that no notebook has,
    and notebooks that read each other in a circle.
    """
    found = _header(paths, notebook)["reads"]
    known = paths.all_notebooks() if found else []
    for name in found:
        if name not in known:
            said = hint(name, known, "notebooks")
            raise NotebookError(f"notebook {notebook} reads {name!r}, which is no notebook. {said}")
    chains, seen = [[notebook, name] for name in found], set(found)
    while chains:
        chain = chains.pop()
        if chain[-1] == notebook:
            raise NotebookError(f"notebooks read each other in a circle: {' reads '.join(chain)}")
        with suppress(NotebookError):  # that notebook's own error
            further = _header(paths, chain[-1])["reads"]
            chains += [[*chain, name] for name in further if name not in seen]
            seen |= set(further)
    return found


def runs_alone(paths: Paths, notebook: str) -> bool:
    """Whether a notebook is to run beside no other; errors as of `reads`."""
    return _header(paths, notebook)["alone"]


def _header(paths: Paths, notebook: str) -> dict[str, Any]:
    match read_notebook(paths.source(notebook)).metadata.get("invariance", {}):
        case dict() as header if {*header} <= {"reads", "alone"}:
            said = {"reads": [], "alone": False} | header
            listed = isinstance(said["reads"], list) and all(type(n) is str for n in said["reads"])
            if listed and isinstance(said["alone"], bool):
                return said
        case header:
            pass
    raise NotebookError(
        f"notebook {notebook}: its header says invariance: {header!r}; expected "
        "'reads: [<paper>/<name>, ...]' or 'alone: true' below it"
    )
