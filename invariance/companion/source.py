"""Text notebooks: read from disk, their code, and the syntax tree of that code.

Whatever is wrong with a file is a `NotebookError` that names it, so that one bad notebook never
takes the others down.
"""

import ast
import codecs
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import NotebookError

if TYPE_CHECKING:
    import nbformat


def read_text(path: Path) -> str:
    """The text of a notebook's file.

    A `NotebookError` if it cannot be read, is not UTF-8, or starts with a byte-order mark (after
    which the header would not be recognised).
    """
    try:
        content = path.read_bytes()
        if content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            fault = "starts with a byte-order mark: save it as UTF-8 without one"
        elif b"\0" in content:
            fault = "holds null bytes: it is damaged, restore it from version control"
        else:
            return content.decode("utf-8")
    except OSError as error:
        raise NotebookError(f"cannot read the notebook {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        fault = f"is not UTF-8 text (byte {error.start} is 0x{error.object[error.start]:02x})"
    raise NotebookError(f"the notebook {path} {fault}")


def read_notebook(path: Path) -> "nbformat.NotebookNode":
    """Read a text notebook, not to be changed; `NotebookError` if it cannot be read."""
    text = read_text(path)
    try:
        return _parsed(text)
    except Exception as error:
        raise NotebookError(f"cannot read the notebook {path}: {error}") from error


@lru_cache(256)  # many ask for parts of the same text, and reading YAML is slow
def _parsed(text: str) -> "nbformat.NotebookNode":
    # Where JupyterLab is installed, jsonschema, and with it nbformat, builds an Earley parser of
    # RFC 3987 at its import: 1.4 s, for fields that no notebook has. None makes that import fail.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    import jupytext

    return jupytext.reads(text, fmt="py:percent")


def code_cells(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Code and tags of each code cell, IPython's magic lines left out."""
    for cell in read_notebook(path).cells:
        if cell.cell_type == "code":
            yield re.sub(r"(?m)^\s*[%!].*$", "", cell.source), cell.metadata.get("tags", [])


def notebook_code(path: Path) -> str:
    """All code of a text notebook as one Python source, IPython's magic lines left out."""
    return "\n".join(source for source, _ in code_cells(path))


def calls_of(path: Path) -> list[tuple[str, ast.Call]]:
    """A notebook's calls of plain names (``Run``) and of methods of plain names (``run.claim``)."""
    found = []
    tree = parse_code(notebook_code(path), f"notebook {path.parent.name}/{path.stem}")
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)):
                found.append((name, node))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)):
                found.append((f"{owner}.{name}", node))
    return found


def parse_code(code: str, what: str) -> ast.Module:
    """The syntax tree of `code`; a `NotebookError` names `what` it is of."""
    try:
        return ast.parse(code)
    except (SyntaxError, ValueError) as error:
        raise NotebookError(f"{what} is not Python: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise NotebookError(f"{what} is nested too deeply for Python to read it") from error
