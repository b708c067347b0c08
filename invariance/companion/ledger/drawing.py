"""The code that draws a figure of a notebook, so that an older picture of it can be told.

It is the cell that calls `run.figure` with the figure's name, without what that cell records or
prints, and the functions and classes that the cell uses, directly or through others, in the
notebook and in the modules beside it (``_*.py``). Comments, formatting and docstrings play no part,
and neither do the numbers that are drawn: they are results, and the claims of a notebook are judged
by them.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping

from ..source import code_cells, parse_code

_RECORDS = {"claim", "say", "table", "timing", "uses_data"}
_DEFINED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Drawings:
    """The code of a notebook that draws its figures.

    `notebook` is the text of a notebook, `beside` holds the sources of modules beside it by name. A
    `NotebookError` if one of them is not Python.
    """

    def __init__(self, notebook: str, beside: Mapping[str, str]) -> None:
        self._cells = [_parsed(cell, "a cell") for cell in code_cells(notebook)]
        modules = [_parsed(source, name) for name, source in sorted(beside.items())]
        trees = (*modules, *self._cells)
        self._known = {n.name: n for tree in trees for n in tree.body if isinstance(n, _DEFINED)}

    def digest(self, figure: str) -> str | None:
        """Sixteen digits of the code that draws a figure; None if it is not found."""
        start = _emitting(self._cells, figure)
        if not start:  # a function beside the notebook draws it
            start = _emitting([ast.Module([n], []) for n in self._known.values()], figure)
        if not start:
            return None
        used: set[str] = set()
        waiting: list[ast.AST] = list(start)
        while waiting:
            for name in _names(waiting.pop()) & self._known.keys() - used:
                used.add(name)
                waiting.append(self._known[name])
        parts = [*map(ast.dump, start), *(ast.dump(self._known[name]) for name in sorted(used))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _parsed(code: str, what: str) -> ast.Module:
    """A syntax tree without docstrings."""
    tree = parse_code(code, what)
    for node in ast.walk(tree):
        if isinstance(node, _DEFINED) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return tree


def _emitting(trees: Iterable[ast.Module], figure: str) -> list[ast.stmt]:
    """Statements of the first tree that saves a figure under a name; or under a computed one."""
    computed: list[ast.stmt] = []
    for tree in trees:
        names = list(_saved(tree))
        kept = [node for node in tree.body if not _only_records(node)]
        if figure in names:
            return kept
        if None in names:
            computed += kept
    return computed


def _saved(tree: ast.AST) -> Iterator[str | None]:
    """Names of the figures that are saved; None for one that is computed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "figure":
            named = [keyword.value for keyword in node.keywords if keyword.arg == "name"]
            given = [*node.args[1:2], *named]
            if given:  # matplotlib's own figure(...) takes no second argument here
                value = getattr(given[0], "value", None)
                yield value if isinstance(value, str) else None


def _only_records(node: ast.stmt) -> bool:
    """Whether a statement is a call such as ``run.claim(...)``, which draws nothing."""
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and getattr(call.func, "attr", "") in _RECORDS


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
