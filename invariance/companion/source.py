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
import warnings
from collections.abc import Callable, Mapping
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
_UNREADABLE = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError)
_NOT_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
# Jupytext ends a line at these, as `str.splitlines` does, and Python does not
_OTHER_BREAKS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
# in place of them while Jupytext reads: private characters, which no text has
_STAND_INS = {ord(mark): 0xF0000 + i for i, mark in enumerate(_OTHER_BREAKS)}
_BACK = {stand_in: mark for mark, stand_in in _STAND_INS.items()}
# what IPython makes of magics and of commands for the shell, and the magics that run Python
_MAGIC = {"run_line_magic", "run_cell_magic", "system", "getoutput"}
_RUNS_PYTHON = {"time", "timeit", "capture", "prun"}
_OPTIONS = re.compile(r"\A\s*(-\w+\s*(\d+\s+)?)*")
_MARKER = re.compile(r"\s*#\s*%%")


def read_notebook(path: Path) -> "nbformat.NotebookNode":
    """Read a text notebook, not to be changed; `NotebookError` if it cannot be read."""
    text = read_text(path, NotebookError)
    try:
        return parse_notebook(text)
    except NotebookError as error:
        raise NotebookError(f"cannot read the notebook {path}: {error}") from error


@lru_cache(256)  # many ask for parts of the same text, and reading YAML is slow
def parse_notebook(text: str) -> "nbformat.NotebookNode":
    """Read the text of a notebook (py:percent), not to be changed.

    A `NotebookError` says which line cannot be read: a header or a cell's metadata that Jupytext
    does not take, such as ``tags="x"`` in place of ``tags=["x"]``.
    """
    # Where JupyterLab is installed, jsonschema, and with it nbformat, builds an Earley parser of
    # RFC 3987 at its import: 1.4 s, for fields that no notebook has. None makes that import fail.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    import jupytext

    def read(lines: str) -> "nbformat.NotebookNode":
        return jupytext.reads(lines.translate(_STAND_INS), fmt="py:percent")

    try:
        notebook = read(text)
    except Exception as error:  # of whichever kind Jupytext's own code runs into
        why = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
        raise NotebookError(f"{_unreadable_line(text, read)} ({why})") from error
    for cell in notebook.cells:
        cell.source = cell.source.translate(_BACK)
    return notebook


def _unreadable_line(text: str, read: Callable[[str], Any]) -> str:
    """The first line that begins a cell with metadata that cannot be read, or else the header."""
    for number, line in enumerate(text.split("\n"), 1):
        if not _MARKER.match(line):
            continue
        try:
            read(f"{line}\n1\n")
        except Exception:
            form = "metadata of a cell are written as in '# %% tags=[\"parameters\"]'"
            return f"line {number}, {line[:80]!r}: {form}"
    return "its header is not one that Jupytext writes"


def notebook_code(path: Path) -> str:
    """All code of a text notebook as one Python source, without IPython's magics.

    A `NotebookError` names file, cell and line of what neither Python nor IPython takes.
    """
    parts = []
    for number, cell in enumerate(read_notebook(path).cells, 1):
        if cell.cell_type != "code":
            continue
        try:
            parts.append(python_of(cell.source))
        except _NOT_PYTHON as error:
            line = getattr(error, "lineno", None)
            place = f"cell {number}, line {line}" if line else f"cell {number}"
            why = getattr(error, "msg", None) or error
            what = f"the notebook {path}, {place}, is not Python, or nested too deeply"
            raise NotebookError(f"{what}: {why}") from error
    return "\n".join(parts)


def code_cells(text: str) -> list[str]:
    """The code cells of a text notebook as Python, without IPython's magics.

    A `NotebookError` if it cannot be read.
    """
    try:
        cells = [cell.source for cell in parse_notebook(text).cells if cell.cell_type == "code"]
        return [python_of(cell) for cell in cells]
    except Exception as error:
        raise NotebookError(f"cannot read the notebook: {error}") from error


@lru_cache(4096)
def python_of(cell: str) -> str:
    """The Python of a cell's code: magics and commands for the shell are None.

    What ``%time`` and its like run is Python as well, and stands below. A `SyntaxError` (or another
    error of Python's parser) for what IPython does not take either.

    >>> python_of("files = !ls")
    'files = None'
    >>> python_of("%%time\\nx = f(1)")
    'None\\nx = f(1)\\n'
    """
    try:
        ast.parse(cell)
        return cell
    except SyntaxError:
        tree, runs = _without_magics(ast.parse(_transformed(cell)))
    return "\n".join([ast.unparse(tree), *map(python_of, runs)])


def _transformed(cell: str) -> str:
    """A cell as IPython hands it to Python; as it stands if IPython cannot read it either."""
    from IPython.core.inputtransformer2 import TransformerManager

    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        return TransformerManager().transform_cell(cell)
    return cell


def _without_magics(tree: ast.Module) -> tuple[ast.Module, list[str]]:
    """The tree with None for each magic, and the Python code that some of them run."""
    runs = []

    class Magics(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Call(func=ast.Name("get_ipython")), attr=kind)
                ) if kind in _MAGIC:
                    name, *code = [getattr(argument, "value", None) for argument in node.args]
                    if name in _RUNS_PYTHON and code:
                        runs.append(_OPTIONS.sub("", str(code[-1])))
                    return ast.Constant(None)
            return self.generic_visit(node)

    return Magics().visit(tree), [code for code in runs if code.strip()]


def parse_code(code: str, what: str) -> ast.Module:
    """The syntax tree of `code`; a `NotebookError` names `what` it is of."""
    try:
        return ast.parse(code)
    except _NOT_PYTHON as error:
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


def may_choose(path: Path) -> bool:
    """Whether a notebook chooses, or cannot be read: its run then says what is wrong with it."""
    try:
        return chooses(path)
    except NotebookError:
        return True


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
