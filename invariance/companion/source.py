"""Text notebooks on disk: their cells and code, the calls in it, their parameters and header.

A fault in a file is a `NotebookError` that names the file, and affects no other notebook. In the
header above its first cell, a notebook declares the notebooks whose results it reads, and whether
it measures time, which another notebook beside it would distort::

    # ---
    # jupyter:
    #   invariance:
    #     reads: [compare/digits, compare/torus]
    #     alone: true

It starts once the notebooks that it reads have ended, successfully or not. At full scale, a
notebook with ``alone: true`` starts after all others, when nothing else is running.
"""

import ast
import csv
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.parameters import ParameterError, short
from .errors import NotebookError, hint
from .files import read_text
from .paths import Paths

if TYPE_CHECKING:
    import nbformat

_PLAIN_TYPES = {"int": int, "float": float, "str": str, "bool": bool}
_TYPE = re.compile(rf"({'|'.join(_PLAIN_TYPES)}|list\[({'|'.join(_PLAIN_TYPES)})\])( \| None)?")
# A name, a type, a value, a comment. Papermill drops a parameter with a second equals sign.
_LINE = re.compile(r"""(\w+): *([^=#]+?) *= *((?:"[^"=]*"|'[^'=]*'|[^='"#])+?) *(?:# *([^=]*))?""")
# The end of a comment that limits a parameter: "# of the samples; from 0 to 1".
_NUMBER = r"(-?\d[\d_]*(?:\.\d+)?(?:e-?\d+)?)"
_BETWEEN = re.compile(rf"from {_NUMBER} to {_NUMBER}")
_AT_LEAST = re.compile(rf"at least {_NUMBER}")
_AT_MOST = re.compile(rf"at most {_NUMBER}")
_CHOICES = re.compile(r"one of (.+)")
#: Largest number of values of a parameter, and of combinations, in a sweep.
MOST_VALUES = 10_000
_WHOLE_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)")
# A comma that no closing bracket follows before the next opening one.
_OUTER_COMMA = re.compile(r",(?![^\[]*\])")
_LITERAL_ERRORS = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError)
_CODE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
# Jupytext ends a line at these characters, as `str.splitlines` does. Python does not, so private
# characters, which no text contains, replace them while Jupytext reads.
_OTHER_BREAKS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_TO_PRIVATE = {ord(mark): 0xF0000 + i for i, mark in enumerate(_OTHER_BREAKS)}
_FROM_PRIVATE = {private: mark for mark, private in _TO_PRIVATE.items()}
# Methods that IPython calls for magics and shell commands, and the magics that run Python.
_MAGIC_METHODS = {"run_line_magic", "run_cell_magic", "system", "getoutput"}
_PYTHON_MAGICS = {"time", "timeit", "capture", "prun"}
_MAGIC_OPTIONS = re.compile(r"\A\s*(-\w+\s*(\d+\s+)?)*")
_CHOOSES = re.compile(r"\bchooses\s*=")
_CELL_MARKER = re.compile(r"\s*#\s*%%")
#: Syntax that has a name and may have a docstring.
DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


# ------------------------------------------------------------------------------ reading cells


def read_notebook(path: Path) -> "nbformat.NotebookNode":
    """Read a text notebook, not to be changed; `NotebookError` if it cannot be read."""
    text = read_text(path, NotebookError)
    try:
        return parse_notebook(text)
    except NotebookError as error:
        raise NotebookError(f"cannot read the notebook {path}: {error}") from error


@lru_cache(256)  # several callers read the same text, and reading YAML is slow
def parse_notebook(text: str) -> "nbformat.NotebookNode":
    """Read the text of a notebook (py:percent), not to be changed.

    A `NotebookError` names the line that cannot be read: a header or a cell's metadata in a form
    that Jupytext refuses, such as ``tags="x"`` in place of ``tags=["x"]``.
    """
    try:
        notebook = _jupytext(text)
    except Exception as error:  # Jupytext's own code raises errors of many types
        first_line = str(error).partition("\n")[0][:200]
        message = f"{_unreadable_line(text)} ({type(error).__name__}: {first_line})"
        raise NotebookError(message) from error
    for cell in notebook.cells:
        cell.source = cell.source.translate(_FROM_PRIVATE)
    return notebook


def _jupytext(text: str) -> "nbformat.NotebookNode":
    import jupytext

    return jupytext.reads(text.translate(_TO_PRIVATE), fmt="py:percent")


def _unreadable_line(text: str) -> str:
    """Return the first line that begins a cell with unreadable metadata, or else the header."""
    for number, line in enumerate(text.split("\n"), 1):
        if not _CELL_MARKER.match(line):
            continue
        try:
            _jupytext(f"{line}\n1\n")
        except Exception:
            form = "metadata of a cell are written as in '# %% tags=[\"parameters\"]'"
            return f"line {number}, {line[:80]!r}: {form}"
    return "its header is not one that Jupytext writes"


def notebook_code(path: Path) -> str:
    """Return all code of a text notebook as one Python source, without IPython's magics.

    A `NotebookError` names file, cell and line of code that neither Python nor IPython can read.
    """
    parts = []
    for number, cell in enumerate(read_notebook(path).cells, 1):
        if cell.cell_type != "code":
            continue
        try:
            parts.append(python_of(cell.source))
        except _CODE_ERRORS as error:
            line = getattr(error, "lineno", None)
            place = f"cell {number}, line {line}" if line else f"cell {number}"
            reason = getattr(error, "msg", None) or error
            fault = f"the notebook {path}, {place}, is not Python, or nested too deeply"
            raise NotebookError(f"{fault}: {reason}") from error
    return "\n".join(parts)


def code_cells(text: str) -> list[str]:
    """Return the code cells of a text notebook as Python, without IPython's magics.

    A `NotebookError` if it cannot be read.
    """
    try:
        cells = parse_notebook(text).cells
        return [python_of(cell.source) for cell in cells if cell.cell_type == "code"]
    except Exception as error:
        raise NotebookError(f"cannot read the notebook: {error}") from error


# ------------------------------------------------------------------------------- reading code


@lru_cache(4096)
def python_of(cell: str) -> str:
    """Return a cell's code as Python, with None for each magic and shell command.

    Python that a magic such as ``%time`` runs is appended. A `SyntaxError`, or another error of
    Python's parser, if IPython cannot read the cell either.

    >>> python_of("files = !ls")
    'files = None'
    >>> python_of("%%time\\nx = f(1)")
    'None\\nx = f(1)\\n'
    """
    try:
        ast.parse(cell)
        return cell
    except SyntaxError:
        tree, magic_code = _without_magics(ast.parse(_transformed(cell)))
    return "\n".join([ast.unparse(tree), *map(python_of, magic_code)])


def _transformed(cell: str) -> str:
    """Return a cell as IPython hands it to Python; unchanged if IPython cannot read it either."""
    from IPython.core.inputtransformer2 import TransformerManager

    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        return TransformerManager().transform_cell(cell)
    return cell


class _MagicRemover(ast.NodeTransformer):
    """Replaces calls of magics by None, and collects the Python code that they run."""

    def __init__(self) -> None:
        self.code: list[str] = []

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Call(func=ast.Name("get_ipython")), attr=method)
            ) if method in _MAGIC_METHODS:
                name, *texts = [getattr(argument, "value", None) for argument in node.args]
                if name in _PYTHON_MAGICS and texts:
                    self.code.append(_MAGIC_OPTIONS.sub("", str(texts[-1])))
                return ast.Constant(None)
        return self.generic_visit(node)


def _without_magics(tree: ast.Module) -> tuple[ast.Module, list[str]]:
    """Return the tree with None for each magic, and the Python code that some of them run."""
    remover = _MagicRemover()
    cleaned = remover.visit(tree)
    return cleaned, [code for code in remover.code if code.strip()]


def parse_code(code: str, name: str) -> ast.Module:
    """Return the syntax tree of `code`; `name` is its name in a `NotebookError`."""
    try:
        return ast.parse(code)
    except _CODE_ERRORS as error:
        raise NotebookError(f"{name} is not Python, or nested too deeply: {error}") from error


def parse_without_docstrings(code: str, name: str) -> ast.Module:
    """Return the syntax tree of `code`, as `parse_code` does, without docstrings.

    >>> ast.unparse(parse_without_docstrings("'Numbers.'\\nx = 1  # the first", "a module"))
    'x = 1'
    """
    tree = parse_code(code, name)
    for node in (tree, *statements_of(tree)):
        if isinstance(node, DEFINITION | ast.Module) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return tree


def tree_text(node: ast.AST) -> str:
    """Return a syntax tree as text that is the same for all versions of Python."""
    for part in ast.walk(node):
        # Python 3.12 added this field.
        if isinstance(part, DEFINITION) and not getattr(part, "type_params", True):
            delattr(part, "type_params")
    if sys.version_info >= (3, 13):
        return ast.dump(node, show_empty=True)
    return ast.dump(node)


#: Fields of a syntax tree that hold statements, or the parts of a statement that hold some.
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def statements_of(tree: ast.AST) -> Iterator[ast.stmt]:
    """Yield all statements of a syntax tree, also those inside others, in no particular order.

    >>> sorted(type(node).__name__ for node in statements_of(ast.parse("if a: import b\\nc = 1")))
    ['Assign', 'If', 'Import']
    """
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        for name in _BODIES:
            waiting += getattr(node, name, ())
        if isinstance(node, ast.stmt):
            yield node


def calls_of(path: Path) -> list[tuple[str, ast.Call]]:
    """Return a notebook's calls of plain names (``Run``) and of their methods (``run.claim``)."""
    calls = []
    for node in ast.walk(parse_code(notebook_code(path), f"notebook {path}")):
        match node:
            case ast.Call(func=ast.Name(id=name)):
                calls.append((name, node))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)):
                calls.append((f"{owner}.{name}", node))
    return calls


def chooses(path: Path) -> bool:
    """Whether a notebook has a stage of choosing: ``Run(..., chooses=True)``."""
    if not _CHOOSES.search(read_text(path, NotebookError)):  # Most notebooks need not be parsed.
        return False
    for name, call in calls_of(path):
        if name == "Run" and any(keyword.arg == "chooses" for keyword in call.keywords):
            return True
    return False


def may_choose(path: Path) -> bool:
    """Whether a notebook chooses, or cannot be read: its run then reports the fault."""
    try:
        return chooses(path)
    except NotebookError:
        return True


# --------------------------------------------------------------------------------- the header


@dataclass(frozen=True)
class _Header:
    reads: list[str]
    alone: bool


def reads(paths: Paths, notebook: str) -> list[str]:
    """Return the notebooks whose results a notebook reads.

    A `NotebookError` for a malformed header, an unknown name, and notebooks that read in a circle.
    """
    names = _header(paths, notebook).reads
    if names:
        valid_names = paths.all_notebooks()
        for name in names:
            if name not in valid_names:
                advice = hint(name, valid_names, "notebooks")
                fault = f"notebook {notebook} reads {name!r}, which is no notebook"
                raise NotebookError(f"{fault}. {advice}")
        _refuse_circles(paths, notebook, names)
    return names


def _refuse_circles(paths: Paths, notebook: str, names: list[str]) -> None:
    """Raise a `NotebookError` if a notebook reads itself, through others or directly."""
    chains = [[notebook, name] for name in names]
    visited = set(names)
    while chains:
        chain = chains.pop()
        if chain[-1] == notebook:
            raise NotebookError(f"notebooks read each other in a circle: {' reads '.join(chain)}")
        with suppress(NotebookError):  # reported when that notebook runs
            following = _header(paths, chain[-1]).reads
            chains += [[*chain, name] for name in following if name not in visited]
            visited |= set(following)


def runs_alone(paths: Paths, notebook: str) -> bool:
    """Whether a notebook must run alone; raises the errors of `reads`."""
    return _header(paths, notebook).alone


def _header(paths: Paths, notebook: str) -> _Header:
    content = read_notebook(paths.source(notebook)).metadata.get("invariance", {})
    if isinstance(content, dict) and set(content) <= {"reads", "alone"}:
        names = content.get("reads", [])
        alone = content.get("alone", False)
        are_names = isinstance(names, list) and all(type(name) is str for name in names)
        if are_names and isinstance(alone, bool):
            return _Header(names, alone)
    expected = "expected 'reads: [<paper>/<name>, ...]' or 'alone: true' below it"
    raise NotebookError(f"notebook {notebook}: its header has invariance: {content!r}; {expected}")


# ----------------------------------------------------------------------------- the parameters

# Papermill only warns about an unknown parameter and accepts a value of any type. These raise.


@dataclass(frozen=True)
class Parameter:
    """One annotated name of a parameters cell.

    ``type`` is the annotation as written, such as ``int | None``; ``help`` is the line's comment.
    The comment, or what follows its last semicolon, may limit the values::

        noise: float = 0.1  # standard deviation of the samples; from 0 to 1
        draws: int = 5  # at least 2
        group: str = "permutations"  # of the five places; one of permutations, cyclic shifts

    Both ends of a range are allowed. In a list, the limits hold for each entry.
    """

    name: str
    type: str
    default: Any
    help: str = ""

    def check(self, value: Any) -> Any:
        """Return the value as the annotated type, within the declared limits, or raise an error.

        An int is converted to a float if a float is expected; nothing else is converted. The
        `ParameterError` names the type or the limits.
        """
        try:
            checked = _as(self.type, value)
        except (TypeError, OverflowError):
            expected = f"of type {self.type} and finite (default: {self.default!r})"
            message = f"parameter {self.name}: {short(value)} is not {expected}"
            raise ParameterError(message) from None
        entries = checked if isinstance(checked, list) else [checked]
        for entry in entries:
            self._check_limits(entry)
        return checked

    def parse_values(self, text: str) -> list[Any]:
        """Return the values of a sweep: separated by commas, with ranges of whole numbers.

        >>> Parameter("seed", "int", 0).parse_values("1..3,10")
        [1, 2, 3, 10]
        >>> Parameter("group", "str", "turns").parse_values("turns,cyclic shifts")
        ['turns', 'cyclic shifts']

        Text that contains a comma is put in double quotes, and lists in brackets as in Python.
        """
        values: list[Any] = []
        for part in self._parts(text):
            limits = _WHOLE_RANGE.fullmatch(part)
            if limits and self.type.startswith(("int", "float")):
                values += self._whole_numbers(int(limits[1]), int(limits[2]))
            else:
                values.append(self.parse(part))
        for i, value in enumerate(values):
            if value in values[:i]:
                raise ParameterError(f"parameter {self.name}: {short(value)} is listed twice")
        return values

    def _parts(self, text: str) -> list[str]:
        """Split a text at its commas, except those within quotes or brackets."""
        if self.type.startswith("str"):
            # The reader returns no part, not an empty one, for an empty text.
            return next(csv.reader([text], skipinitialspace=True), []) or [""]
        return [part.strip() for part in _OUTER_COMMA.split(text)]

    def _whole_numbers(self, first: int, last: int) -> list[Any]:
        """Return the numbers of a range, both ends included, as the annotated type."""
        count = last - first + 1
        text = f"parameter {self.name}: {first}..{last}"
        if count < 1:
            raise ParameterError(f"{text} is empty: the smaller number comes first")
        if count > MOST_VALUES:
            raise ParameterError(f"{text} has {count:,} values, at most {MOST_VALUES:,}")
        return [self.check(number) for number in range(first, last + 1)]

    @property
    def _limits(self) -> str:
        """The part of the comment that may limit the values."""
        return self.help.rpartition(";")[2].strip()

    @property
    def choices(self) -> list[Any]:
        """The values that the comment lists after "one of"; an empty list if it lists none."""
        listed = _CHOICES.fullmatch(self._limits)
        if listed is None:
            return []
        kind = self.type.partition(" | ")[0].removeprefix("list[").removesuffix("]")
        entry = Parameter(self.name, kind, None)
        return [entry.parse(text.strip()) for text in listed[1].split(",")]

    def _check_limits(self, value: Any) -> None:
        """Raise a `ParameterError` if a value lies outside the declared limits."""
        if value is None:
            return
        choices = self.choices
        if choices and value not in choices:
            advice = hint(str(value), map(str, choices), "choices")
            raise ParameterError(f"parameter {self.name}: {short(value)} is no choice. {advice}")
        low, high = _range_in(self._limits)
        if not isinstance(value, str) and not low <= value <= high:
            limits = f"{self._limits} (default: {self.default!r})"
            raise ParameterError(f"parameter {self.name}: {short(value)} is not {limits}")

    def parse(self, text: str) -> Any:
        """Return a value of a command line, written as in Python; text needs no quotes.

        >>> Parameter("window", "int", 7).parse("9")
        9
        >>> Parameter("sizes", "list[float]", [1.0]).parse("[1, 1e-3]")
        [1.0, 0.001]
        """
        value: Any = text
        if self.type != "str":
            with suppress(*_LITERAL_ERRORS):
                value = ast.literal_eval(text)
        return self.check(value)


def _as(annotation: str, value: Any) -> Any:
    """Return the value as an annotated type; TypeError if it is of another, or not finite."""
    kind, _, optional = annotation.partition(" | ")
    if value is None and optional:
        return None
    if kind.startswith("list[") and type(value) is list:
        item_type = kind.removeprefix("list[").removesuffix("]")
        return [_as(item_type, item) for item in value]
    if kind == "float" and type(value) in (int, float) and isfinite(value):
        return float(value)
    if kind != "float" and type(value) is _PLAIN_TYPES.get(kind):
        return value
    raise TypeError


def _range_in(limits: str) -> tuple[float, float]:
    """Return the lowest and the highest value that a text such as "from 0 to 1" allows.

    >>> _range_in("at least 2"), _range_in("of the samples")
    ((2.0, inf), (-inf, inf))
    """
    between = _BETWEEN.fullmatch(limits)
    if between:
        return float(between[1]), float(between[2])
    at_least = _AT_LEAST.fullmatch(limits)
    if at_least:
        return float(at_least[1]), inf
    at_most = _AT_MOST.fullmatch(limits)
    if at_most:
        return -inf, float(at_most[1])
    return -inf, inf


def read_parameters(path: Path) -> dict[str, Parameter]:
    """Return the parameters of a text notebook, in their order.

    A `NotebookError` names the first line that declares no parameter.
    """
    notebook = f"notebook {path.parent.name}/{path.stem}"
    parameters = {}
    for line in _parameters_cell(path, notebook).splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        try:
            parameter = _parameter(line)
        except (NotebookError, ParameterError) as error:
            place = f"{notebook}, parameters cell, line {line[:200]!r}"
            raise NotebookError(f"{place}: {error}") from None
        parameters[parameter.name] = parameter
    first = next(iter(parameters.values()), None)
    if first is None or first.name != "profile" or first.default != "quick":
        raise NotebookError(f"{notebook}: the first parameter must be 'profile: str = \"quick\"'")
    return parameters


def _parameters_cell(path: Path, notebook: str) -> str:
    cells = []
    for cell in read_notebook(path).cells:
        if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", []):
            cells.append(cell.source)
    if len(cells) != 1:
        start = 'Start it with\n# %% tags=["parameters"]\nprofile: str = "quick"  # quick or full'
        raise NotebookError(f"{notebook} has {len(cells)} parameters cells, needs one. {start}")
    return cells[0]


def _parameter(line: str) -> Parameter:
    match = _LINE.fullmatch(line)
    if match is None:
        raise NotebookError("expected 'name: type = value' without a second equals sign")
    name, annotation, value, comment = match.groups(default="")
    if not _TYPE.fullmatch(annotation):
        raise NotebookError("the type is not one of int, float, str, bool, list[...], ... | None")
    try:
        default = ast.literal_eval(value)
    except _LITERAL_ERRORS:
        raise NotebookError("the default is not a literal") from None
    parameter = Parameter(name, annotation, default, comment)
    return replace(parameter, default=parameter.check(default))


def resolve(
    notebook: str, parameters: Mapping[str, Parameter], requested: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the value of every parameter of a notebook: the requested one or the default.

    A str is parsed by the parameter's type. A `ParameterError` for unknown names and wrong types.
    """
    for name in requested:
        declared_parameter(notebook, parameters, name)
    values = {}
    for name, parameter in parameters.items():
        if name not in requested:
            values[name] = parameter.default
        elif isinstance(requested[name], str):
            values[name] = parameter.parse(requested[name])
        else:
            values[name] = parameter.check(requested[name])
    return values


def declared_parameter(notebook: str, parameters: Mapping[str, Parameter], name: str) -> Parameter:
    """Return the parameter of that name; a `ParameterError` lists those that the notebook has."""
    if name not in parameters:
        raise ParameterError(_unknown_parameter(notebook, name, parameters))
    return parameters[name]


def _unknown_parameter(notebook: str, name: str, parameters: Mapping[str, Parameter]) -> str:
    """Message for a parameter that a notebook does not have."""
    listed = ", ".join(f"{parameter.name} ({parameter.type})" for parameter in parameters.values())
    message = f"notebook {notebook} has no parameter {name!r}."
    if get_close_matches(name, parameters):
        message = f"{message} {hint(name, parameters)}"
    return f"{message} It has: {listed}"
