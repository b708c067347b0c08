"""The parameters cell of a text notebook: names, types, defaults; strict values for them.

papermill only warns about an unknown parameter and takes a value of any type; everything here
raises instead.
"""

import ast
import io
import tokenize
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from ..core.parameters import ParameterError, short
from .errors import NotebookError, hint
from .paths import PROFILES
from .source import parse_code, read_notebook

_PLAIN = {"int": int, "float": float, "str": str, "bool": bool}
_UNREADABLE = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError)


@dataclass(frozen=True)
class Parameter:
    """One annotated name of a parameters cell.

    ``type`` is the annotation as written (``int``, ``list[float]``, ``int | None``), ``help`` the
    comment at the end of the line.
    """

    name: str
    type: str
    default: Any
    help: str = ""

    def check(self, value: Any) -> Any:
        """The value, as the annotated type; `ParameterError` if it is of another.

        An int is taken for a float; nothing else is converted.
        """
        kind = eval(self.type, {"__builtins__": {}}, _PLAIN | {"list": list})
        try:
            value = _as(kind, value)
        except (TypeError, OverflowError):
            raise ParameterError(
                f"parameter {self.name}: {short(value)} is not of type {self.type} and finite "
                f"(default: {self.default!r})"
            ) from None
        if self.name == "profile" and value not in PROFILES:
            raise ParameterError(f"unknown profile {value!r}: {' or '.join(PROFILES)}")
        return value

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


def _as(kind: Any, value: Any) -> Any:
    """The value as of a type; TypeError if it is of another, or not finite."""
    if isinstance(kind, UnionType):
        for option in get_args(kind):
            with suppress(TypeError):
                return _as(option, value)
    elif get_origin(kind) is list and isinstance(value, list):
        return [_as(get_args(kind)[0], item) for item in value]
    elif kind is float and type(value) in (int, float) and isfinite(value):
        return float(value)
    elif kind is not float and type(value) is (kind or NoneType):
        return value
    raise TypeError


def _known(annotation: ast.expr) -> bool:
    match annotation:
        case ast.Constant(value=None):
            return True
        case ast.Name(id=name):
            return name in _PLAIN
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _known(left) and _known(right)
        case ast.Subscript(value=ast.Name(id="list"), slice=item):
            return _known(item)
    return False


def read_parameters(path: Path) -> dict[str, Parameter]:
    """Parameters of a text notebook, in their order.

    A `NotebookError` names the line: no cell or several cells tagged ``parameters``, a name without
    annotation, a default that is not a literal of that type, a second equals sign on a line
    (papermill then drops the parameter), or a first parameter that is not ``profile``.
    """
    cells = [
        cell.source
        for cell in read_notebook(path).cells
        if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", [])
    ]
    name = f"{path.parent.name}/{path.stem}"
    if len(cells) != 1:
        start = '# %% tags=["parameters"]\nprofile: str = "quick"  # quick or full'
        raise NotebookError(
            f"notebook {name} has {len(cells)} parameters cells, needs one. Start it with\n{start}"
        )
    statements = parse_code(cells[0], f"the parameters cell of notebook {name}").body
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(cells[0]).readline)
        if token.type == tokenize.COMMENT
    }
    lines = cells[0].splitlines()
    parameters = {}
    for statement in statements:
        line = lines[statement.lineno - 1]
        try:
            found = _parameter(statement, line, comments.get(statement.lineno, ""))
        except (NotebookError, ParameterError) as error:
            where = f"notebook {name}, parameters cell, line {line.strip()!r}"
            raise NotebookError(f"{where}: {error}") from None
        parameters[found.name] = found
    if next(iter(parameters), None) != "profile" or parameters["profile"].default != "quick":
        first = "the first parameter must be 'profile: str = \"quick\"'"
        raise NotebookError(f"notebook {name}: {first}")
    return parameters


def _parameter(statement: ast.stmt, line: str, comment: str) -> Parameter:
    match statement:
        case ast.AnnAssign(
            target=ast.Name(id=key), annotation=annotation, value=ast.expr() as value
        ):
            pass
        case _:
            raise NotebookError("expected 'name: type = value'")
    if statement.end_lineno != statement.lineno or line.count("=") > 1:
        raise NotebookError("papermill needs it on one line, without a second equals sign")
    if not _known(annotation):
        raise NotebookError("the type is not one of int, float, str, bool, list[...], ... | None")
    try:
        default = ast.literal_eval(value)
    except _UNREADABLE:
        raise NotebookError("the default is not a literal") from None
    parameter = Parameter(key, ast.unparse(annotation), default, comment)
    return Parameter(key, parameter.type, parameter.check(default), comment)


def resolve(
    notebook: str, parameters: Mapping[str, Parameter], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Every parameter of a notebook with its value: the given one or the default.

    A str is parsed by the parameter's type, as from a command line. An unknown name is a
    `ParameterError` that tells the valid ones, and so is a value of the wrong type.
    """
    for name in given:
        if name not in parameters:
            described = ", ".join(f"{p.name} ({p.type})" for p in parameters.values())
            close = hint(name, parameters) if get_close_matches(name, parameters) else ""
            raise ParameterError(
                f"notebook {notebook} has no parameter {name!r}. {close} It has: {described}"
            )
    values = {name: parameter.default for name, parameter in parameters.items()}
    for name, value in given.items():
        own = parameters[name]
        values[name] = own.parse(value) if isinstance(value, str) else own.check(value)
    return values
