"""The parameters cell of a text notebook: names, types, defaults; strict values for them.

papermill only warns about an unknown parameter and takes a value of any type; everything here
raises instead.
"""

import ast
import io
import re
import tokenize
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import yaml

from invariance.companion.errors import NotebookError, hint
from invariance.companion.paths import PROFILES
from invariance.companion.source import parse_code, read_notebook
from invariance.core.parameters import ParameterError, short

_PLAIN = {"int": int, "float": float, "str": str, "bool": bool}


@dataclass(frozen=True)
class Parameter:
    """One annotated name of a parameters cell.

    Attributes
    ----------
    name : str
    type : str
        The annotation as written: ``int``, ``list[float]``, ``int | None`` ...
    default : object
    help : str
        The comment at the end of its line.
    """

    name: str
    type: str
    default: Any
    help: str = ""

    def check(self, value: Any, *, words: bool = False) -> Any:
        """The value, as the annotated type; `ParameterError` if it is of another.

        An int is taken for a float; nothing else is converted. With `words`, text is read as the
        type has it: ``010`` is ten for an int, and ``1:30`` no number at all, as it is in YAML.
        """
        try:
            value = _as(
                eval(self.type, {"__builtins__": {}}, _PLAIN | {"list": list}), value, words
            )
        except (TypeError, OverflowError, RecursionError):
            raise ParameterError(
                f"parameter {self.name}: {short(value)} is not of type {self.type} "
                f"(default: {self.default!r})"
            ) from None
        if not _finite(value):
            raise ParameterError(
                f"parameter {self.name}: {short(value)} is not finite; results are kept as JSON, "
                "which has no such numbers"
            )
        if self.name == "profile" and value not in PROFILES:
            raise ParameterError(f"unknown profile {value!r}: {' or '.join(PROFILES)}")
        return value

    def parse(self, text: str) -> Any:
        """The value written on a command line as `text`.

        >>> Parameter("window", "int", 7).parse("9")
        9
        >>> Parameter("sizes", "list[float]", [1.0]).parse("[1, 1e-3]")
        [1.0, 0.001]
        """
        value: Any = text
        if text.startswith("["):
            with suppress(yaml.YAMLError, RecursionError):
                value = yaml.load(text, yaml.BaseLoader)  # which makes a string of every scalar
        return self.check(value if self.type != "str" else text, words=True)


_NONE, _TRUE, _FALSE = {"null", "none", "~", ""}, {"true", "yes", "on"}, {"false", "no", "off"}
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def _as(kind: Any, value: Any, words: bool) -> Any:
    """The value as of a type; TypeError if it is of another."""
    if isinstance(kind, UnionType):
        for option in get_args(kind):
            with suppress(TypeError):
                return _as(option, value, words)
    elif get_origin(kind) is list and isinstance(value, list):
        return [_as(get_args(kind)[0], item, words) for item in value]
    elif words and isinstance(value, str):
        return _meant(kind, value)
    elif kind is float and type(value) is int:
        return float(value)
    elif type(value) is kind or (kind is NoneType and value is None):
        return value
    raise TypeError


def _meant(kind: Any, word: str) -> Any:
    low = word.strip().lower()
    if kind is int and _INT.fullmatch(low):
        with suppress(ValueError):  # more digits than Python reads
            return int(low)
    elif kind is float and _FLOAT.fullmatch(low):
        return float(low)
    elif kind is bool and low in _TRUE | _FALSE:
        return low in _TRUE
    elif kind is NoneType and low in _NONE:
        return None
    elif kind is str:
        return word
    raise TypeError


def _finite(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_finite, value))
    return not isinstance(value, float) or isfinite(value)


def _known_annotation(annotation: ast.expr) -> bool:
    match annotation:
        case ast.Constant(value=None):
            return True
        case ast.Name(id=name):
            return name in _PLAIN
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _known_annotation(left) and _known_annotation(right)
        case ast.Subscript(value=ast.Name(id="list"), slice=item):
            return _known_annotation(item)
    return False


def read_parameters(path: Path) -> dict[str, Parameter]:
    """Parameters of a text notebook, in their order.

    Raises
    ------
    NotebookError
        Naming the line: no cell or several cells tagged ``parameters``, a name without
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
        raise NotebookError(
            f"notebook {name} has {len(cells)} parameters cells, needs one. Start it with\n"
            '# %% tags=["parameters"]\nprofile: str = "quick"  # quick or full\n'
            "seed: int = 0"
        )
    source = cells[0]
    statements = parse_code(source, f"the parameters cell of notebook {name}").body
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    lines = source.splitlines()
    parameters: dict[str, Parameter] = {}
    for statement in statements:
        line = lines[statement.lineno - 1]
        where = f"notebook {name}, parameters cell, line {line.strip()!r}"
        if not (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and statement.value is not None
        ):
            raise NotebookError(f"{where}: expected 'name: type = value'")
        if statement.end_lineno != statement.lineno or line.count("=") > 1:
            raise NotebookError(
                f"{where}: papermill loses a parameter whose line holds a second equals sign or "
                "that runs over several lines; write it on one line, without '=' in the comment"
            )
        if not _known_annotation(statement.annotation):
            raise NotebookError(
                f"{where}: the type is not one of {', '.join(_PLAIN)}, list[...] or '... | None'"
            )
        try:
            default = ast.literal_eval(statement.value)
        except (ValueError, TypeError, RecursionError, MemoryError):
            raise NotebookError(f"{where}: the default is not a literal") from None
        key = statement.target.id
        annotation = ast.unparse(statement.annotation)
        parameter = Parameter(key, annotation, default, comments.get(statement.lineno, ""))
        try:
            parameters[key] = Parameter(key, annotation, parameter.check(default), parameter.help)
        except ParameterError as error:
            raise NotebookError(f"{where}: {error}") from None
    if next(iter(parameters), None) != "profile" or parameters["profile"].default != "quick":
        raise NotebookError(
            f"notebook {name}: the first parameter must be 'profile: str = \"quick\"'"
        )
    return parameters


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
            close = hint(name, parameters, "parameters")
            close = f" {close}" if close.startswith("Did") else ""
            raise ParameterError(
                f"notebook {notebook} has no parameter {name!r}.{close} It has: {described}"
            )
    values = {}
    for name, parameter in parameters.items():
        value = given.get(name, parameter.default)
        if name in given:
            value = parameter.parse(value) if isinstance(value, str) else parameter.check(value)
        values[name] = value
    return values
