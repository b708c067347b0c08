"""The code that draws a figure of a notebook, digested: `Drawings`.

The digest shows whether a published picture is older than the code. It covers the cell that calls
`run.figure` with the figure's name, without its calls that record or print, and the functions and
classes that the cell uses, directly or indirectly, in the notebook and in the modules beside it
(``_*.py``). Comments, formatting and docstrings do not matter. Neither do the drawn numbers: they
are results, which the notebook's claims judge.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping

from ..source import DEFINITION, code_cells, parse_without_docstrings, tree_text

_RECORDING_METHODS = {"claim", "counterfactual", "say", "table", "timing", "uses_data"}


class Drawings:
    """The code of a notebook that draws its figures.

    `notebook` is the text of a notebook; `helpers` holds the sources of the modules beside it, by
    file name. Raises `NotebookError` if one of them is not Python.
    """

    def __init__(self, notebook: str, helpers: Mapping[str, str]) -> None:
        self._cells = [parse_without_docstrings(cell, "a cell") for cell in code_cells(notebook)]
        modules = []
        for name, source in sorted(helpers.items()):
            modules.append(parse_without_docstrings(source, name))
        self._definitions: dict[str, ast.stmt] = {}
        for tree in (*modules, *self._cells):
            for node in tree.body:
                if isinstance(node, DEFINITION):
                    self._definitions[node.name] = node

    def digest(self, figure: str) -> str | None:
        """Return 16 digits that identify the code that draws a figure; None if it is missing."""
        statements = _drawing_statements(self._cells, figure)
        if not statements:
            # A function of the notebook or of a module beside it may save the figure.
            functions = [ast.Module([node], []) for node in self._definitions.values()]
            statements = _drawing_statements(functions, figure)
        if not statements:
            return None
        parts = [tree_text(statement) for statement in statements]
        for name in sorted(self._used_by(statements)):
            parts.append(tree_text(self._definitions[name]))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def _used_by(self, statements: Iterable[ast.stmt]) -> set[str]:
        """Return the names of all definitions that statements use, directly or indirectly."""
        used: set[str] = set()
        waiting = list(statements)
        while waiting:
            names = _names(waiting.pop()) & self._definitions.keys()
            for name in names - used:
                used.add(name)
                waiting.append(self._definitions[name])
        return used


def _drawing_statements(trees: Iterable[ast.Module], figure: str) -> list[ast.stmt]:
    """Return the statements of the first tree that saves a figure under this name.

    If no tree does, return those of all trees that save a figure under a computed name.
    """
    with_computed_name: list[ast.stmt] = []
    for tree in trees:
        names = list(_figure_names(tree))
        statements = [node for node in tree.body if not _only_records(node)]
        if figure in names:
            return statements
        if None in names:
            with_computed_name += statements
    return with_computed_name


def _figure_names(tree: ast.AST) -> Iterator[str | None]:
    """Yield the names of the figures that are saved; None for a name that is computed."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "figure":
            continue
        arguments = node.args[1:2]
        arguments += [keyword.value for keyword in node.keywords if keyword.arg == "name"]
        if arguments:  # matplotlib's own figure(...) has no second argument here.
            yield text_constant(arguments[0])


def text_constant(node: ast.AST) -> str | None:
    """Return the value of a constant text, or None for any other node."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def _only_records(node: ast.stmt) -> bool:
    """Return whether a statement is a call such as ``run.claim(...)``, which draws nothing."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    return getattr(node.value.func, "attr", "") in _RECORDING_METHODS


def _names(node: ast.AST) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
