"""The parameters cell of a text notebook: names, types, defaults; strict values for them.

papermill only warns about an unknown parameter and takes a value of any type; everything here
raises instead.
"""

import ast
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any

from ..core.parameters import ParameterError, short
from .errors import NotebookError, hint
from .source import read_notebook

_PLAIN = {"int": int, "float": float, "str": str, "bool": bool}
_TYPE = re.compile(rf"({'|'.join(_PLAIN)}|list\[({'|'.join(_PLAIN)})\])( \| None)?")
# a name, a type, a value, a comment; papermill drops a parameter with a second equals sign
_LINE = re.compile(r"""(\w+): *([^=#]+?) *= *((?:"[^"=]*"|'[^'=]*'|[^='"#])+?) *(?:# *([^=]*))?""")
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
        try:
            return _as(self.type, value)
        except (TypeError, OverflowError):
            raise ParameterError(
                f"parameter {self.name}: {short(value)} is not of type {self.type} and finite "
                f"(default: {self.default!r})"
            ) from None

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

    A `NotebookError` names the line: no cell or several cells tagged ``parameters``, anything but
    ``name: type = value`` on a line, a default that is not a literal of that type, or a first
    parameter that is not ``profile``.
    """
    name = f"notebook {path.parent.name}/{path.stem}"
    cells = [
        cell.source
        for cell in read_notebook(path).cells
        if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", [])
    ]
    if len(cells) != 1:
        start = '# %% tags=["parameters"]\nprofile: str = "quick"  # quick or full'
        raise NotebookError(
            f"{name} has {len(cells)} parameters cells, needs one. Start it with\n{start}"
        )
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
