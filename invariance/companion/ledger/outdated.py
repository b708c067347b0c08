"""Published results that a change of code since their run could have moved: `outdated_results`."""

import ast
from pathlib import Path
from typing import Any

from ..errors import NotebookError
from ..files import read_text
from ..paths import Paths
from ..provenance import modules_of
from ..source import code_cells, parse_without_docstrings, tree_text
from .registration import commit_of
from .repository import Repository
from .results import read_results

_PACKAGE = Path(__file__).resolve().parents[2]


def outdated_results(paths: Paths) -> list[str]:
    """Return the notebooks whose code, or a module that they import, has changed since their run.

    The revision that the results name is compared with the files of this checkout. Comments,
    docstrings and text cells do not count, as no number depends on them. Neither do the companion's
    modules, which record results and compute none, nor what a notebook does ``if run.quick``:
    published results are of the profile ``full``. Results of a revision that is not in this copy of
    the history are left out.
    """
    changes = _Changes(paths)
    outdated = []
    for file in sorted(paths.figures.glob("[!.]*/[!.]*/results.json")):
        notebook = f"{file.parts[-3]}/{file.parts[-2]}"
        source = paths.source(notebook)
        results, _ = read_results(file.parent, notebook)
        if results is None or not source.is_file():
            continue
        commit, _ = commit_of(results["provenance"]["code"])
        if not commit or changes.repository.unknown(commit):
            continue
        is_outdated = changes.moves(commit, source, is_notebook=True) or any(
            changes.moves(commit, module) for module in _modules_of(source)
        )
        if is_outdated:
            outdated.append(notebook)
    return outdated


def _modules_of(source: Path) -> list[Path]:
    """Return the modules that compute a notebook's results."""
    try:
        modules = modules_of(source)
    except NotebookError:
        return []  # `invariance check` reports it.
    companion = _PACKAGE / "companion"
    return [path for path in modules.values() if not path.is_relative_to(companion)]


class _Changes:
    """The files whose code differs from that of earlier commits. Answers are remembered."""

    def __init__(self, paths: Paths) -> None:
        self.repository = Repository(paths)
        self._root = paths.root
        self._ids_at: dict[str, dict[Path, str]] = {}
        self._answers: dict[tuple[Path, str], bool] = {}

    def moves(self, commit: str, path: Path, *, is_notebook: bool = False) -> bool:
        """Whether the code of a file differs from that of a commit."""
        if commit not in self._ids_at:
            self._ids_at[commit] = self.repository.changed_since(commit, self._root)
        file_id = self._ids_at[commit].get(path)
        if file_id is None:
            return False
        if (path, file_id) not in self._answers:
            self._answers[path, file_id] = self._differs(path, file_id, is_notebook)
        return self._answers[path, file_id]

    def _differs(self, path: Path, file_id: str, is_notebook: bool) -> bool:
        try:
            before = _code(self.repository.text_of(file_id), is_notebook)
            return before != _code(read_text(path, NotebookError), is_notebook)
        except (LookupError, NotebookError):
            return True


def _code(text: str, is_notebook: bool) -> list[str]:
    """Return the code of a notebook's cells, or of a module, without what changes no number."""
    sources = code_cells(text) if is_notebook else [text]
    statements = []
    for source in sources:
        tree = parse_without_docstrings(source, "a cell")
        if is_notebook:
            tree = _WithoutQuick().visit(tree)
        statements += tree.body
    return [tree_text(statement) for statement in statements]


class _WithoutQuick(ast.NodeTransformer):
    """Replaces ``if run.quick`` by what the profile ``full`` executes.

    >>> tree = ast.parse("n = 2 if run.quick else 9\\nif not run.quick:\\n    test(n)")
    >>> print(ast.unparse(_WithoutQuick().visit(tree)))
    n = 9
    test(n)
    """

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        chosen = self._at_full_scale(node)
        return node if chosen is None else chosen

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        chosen = self._at_full_scale(node)
        return node if chosen is None else chosen

    def _at_full_scale(self, node: Any) -> Any:
        """Return the branch of a condition that ``full`` takes; None for any other condition."""
        test = ast.unparse(node.test)
        if test == "run.quick":
            return node.orelse
        if test == "not run.quick":
            return node.body
        return None
