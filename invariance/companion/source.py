"""Text notebooks as they lie on disk: cells, code, what it calls, its parameters, and its header.

Whatever is wrong with a file is a `NotebookError` that names it: it takes no other notebook down.
Above its first cell a notebook says what it reads of others' results, and whether another one
beside it would distort the times that it measures::

    # ---
    # jupyter:
    #   invariance:
    #     reads: [compare/digits, compare/torus]
    #     alone: true

It starts once those that it reads have ended, well or badly; at full scale, one that is to be alone
starts when nothing else is running, after all others.
"""

import ast
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.parameters import ParameterError, short
from .errors import NotebookError, hint
from .files import read_text
from .paths import Paths

if TYPE_CHECKING:
    import nbformat

_PLAIN = {"int": int, "float": float, "str": str, "bool": bool}
_TYPE = re.compile(rf"({'|'.join(_PLAIN)}|list\[({'|'.join(_PLAIN)})\])( \| None)?")
# a name, a type, a value, a comment; papermill drops a parameter with a second equals sign
_LINE = re.compile(r"""(\w+): *([^=#]+?) *= *((?:"[^"=]*"|'[^'=]*'|[^='"#])+?) *(?:# *([^=]*))?""")
_MAGIC = re.compile(r"(?m)^\s*[%!].*$")
_UNREADABLE = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError)


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
    return _MAGIC.sub("", "\n".join(cells))


def code_cells(text: str) -> list[str]:
    """The code cells of a text notebook as Python, IPython's magic lines left out.

    A `NotebookError` if it cannot be read.
    """
    try:
        cells = [cell.source for cell in parse_notebook(text).cells if cell.cell_type == "code"]
    except Exception as error:
        raise NotebookError(f"cannot read the notebook: {error}") from error
    return [_MAGIC.sub("", cell) for cell in cells]


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

    A `NotebookError` for a malformed header, an unknown name, and notebooks that read in a circle.
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
    header = read_notebook(paths.source(notebook)).metadata.get("invariance", {})
    if isinstance(header, dict) and {*header} <= {"reads", "alone"}:
        said = {"reads": [], "alone": False} | header
        listed = isinstance(said["reads"], list) and all(type(n) is str for n in said["reads"])
        if listed and isinstance(said["alone"], bool):
            return said
    wanted = "expected 'reads: [<paper>/<name>, ...]' or 'alone: true' below it"
    raise NotebookError(f"notebook {notebook}: its header says invariance: {header!r}; {wanted}")


# papermill only warns about an unknown parameter and takes a value of any type; all below raises


@dataclass(frozen=True)
class Parameter:
    """One annotated name of a parameters cell.

    ``type`` is the annotation as written, such as ``int | None``, ``help`` the line's comment.
    """

    name: str
    type: str
    default: Any
    help: str = ""

    def check(self, value: Any) -> Any:
        """The value, as the annotated type; `ParameterError` if it is of another.

        An int is taken for a float; nothing else is converted.
        """
        try:
            return _as(self.type, value)
        except (TypeError, OverflowError):
            wanted = f"of type {self.type} and finite (default: {self.default!r})"
            raise ParameterError(f"parameter {self.name}: {short(value)} is not {wanted}") from None

    def parse(self, text: str) -> Any:
        """The value written on a command line as in Python; text needs no quotes.

        >>> Parameter("window", "int", 7).parse("9")
        9
        >>> Parameter("sizes", "list[float]", [1.0]).parse("[1, 1e-3]")
        [1.0, 0.001]
        """
        value: Any = text
        if self.type != "str":
            with suppress(*_UNREADABLE):
                value = ast.literal_eval(text)
        return self.check(value)


def _as(kind: str, value: Any) -> Any:
    """The value as of a type; TypeError if it is of another, or not finite."""
    kind, _, optional = kind.partition(" | ")
    if value is None and optional:
        return None
    if kind.startswith("list[") and type(value) is list:
        return [_as(kind[5:-1], item) for item in value]
    if kind == "float" and type(value) in (int, float) and isfinite(value):
        return float(value)
    if kind != "float" and type(value) is _PLAIN.get(kind):
        return value
    raise TypeError


def read_parameters(path: Path) -> dict[str, Parameter]:
    """Parameters of a text notebook, in their order.

    Raises a `NotebookError` that names the first line which declares no parameter.
    """
    name = f"notebook {path.parent.name}/{path.stem}"
    code = [cell for cell in read_notebook(path).cells if cell.cell_type == "code"]
    cells = [cell.source for cell in code if "parameters" in cell.metadata.get("tags", [])]
    if len(cells) != 1:
        start = 'Start it with\n# %% tags=["parameters"]\nprofile: str = "quick"  # quick or full'
        raise NotebookError(f"{name} has {len(cells)} parameters cells, needs one. {start}")
    lines = [line.strip() for line in cells[0].splitlines()]
    parameters = {}
    for line in (line for line in lines if line and not line.startswith("#")):
        try:
            found = _parameter(line)
        except (NotebookError, ParameterError) as error:
            where = f"{name}, parameters cell, line {line[:200]!r}"
            raise NotebookError(f"{where}: {error}") from None
        parameters[found.name] = found
    if next(iter(parameters), None) != "profile" or parameters["profile"].default != "quick":
        raise NotebookError(f"{name}: the first parameter must be 'profile: str = \"quick\"'")
    return parameters


def _parameter(line: str) -> Parameter:
    if (found := _LINE.fullmatch(line)) is None:
        raise NotebookError("expected 'name: type = value' without a second equals sign")
    name, kind, value, comment = found.groups(default="")
    if not _TYPE.fullmatch(kind):
        raise NotebookError("the type is not one of int, float, str, bool, list[...], ... | None")
    try:
        default = ast.literal_eval(value)
    except _UNREADABLE:
        raise NotebookError("the default is not a literal") from None
    return Parameter(name, kind, Parameter(name, kind, default).check(default), comment)


def resolve(
    notebook: str, parameters: Mapping[str, Parameter], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Every parameter of a notebook with its value: the given one or the default.

    A str is parsed by the parameter's type. A `ParameterError` for unknown names and wrong types.
    """
    for name in given:
        if name not in parameters:
            described = ", ".join(f"{p.name} ({p.type})" for p in parameters.values())
            close = hint(name, parameters) if get_close_matches(name, parameters) else ""
            said = f"{close} It has: {described}"
            raise ParameterError(f"notebook {notebook} has no parameter {name!r}. {said}")
    values = {name: parameter.default for name, parameter in parameters.items()}
    for name, value in given.items():
        own = parameters[name]
        values[name] = own.parse(value) if isinstance(value, str) else own.check(value)
    return values
