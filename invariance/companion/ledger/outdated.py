"""Published results that a change of code since their run could have moved: `outdated_results`."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import LedgerError, NotebookError
from ..files import read_text
from ..paths import Paths
from ..provenance import modules_of
from ..source import code_cells, parse_without_docstrings, tree_text
from .registration import commit_of
from .repository import Repository
from .results import read_results
from .unmoved import Unmoved, recorded_changes

_PACKAGE = Path(__file__).resolve().parents[2]


@dataclass
class Outdated:
    """Notebooks whose published results are older than their code.

    ``unmoved`` are those whose quick numbers are the same with the code of the run and the present
    one (`unmoved`); the results of the others, in ``moved``, could have moved.
    """

    moved: list[str] = field(default_factory=list)
    unmoved: list[str] = field(default_factory=list)


def outdated_results(paths: Paths) -> Outdated:
    """Return the notebooks whose code, or a module that they import, has changed since their run.

    The revision that the results name is compared with the files of this checkout. Comments,
    docstrings and text cells do not count, as no number depends on them. Neither do the companion's
    modules, which record results and compute none, nor what a notebook does ``if run.quick``:
    published results are of the profile ``full``. Results of a revision that is not in this copy of
    the history are left out.
    """
    history = _History(paths)
    changes = recorded_changes(paths)
    outdated = Outdated()
    for file in sorted(paths.figures.glob("[!.]*/[!.]*/results.json")):
        notebook = f"{file.parts[-3]}/{file.parts[-2]}"
        source = paths.source(notebook)
        results, _ = read_results(file.parent, notebook)
        if results is None or not source.is_file():
            continue
        commit, _ = commit_of(results["provenance"]["code"])
        if not commit or history.repository.unknown(commit):
            continue
        files = [source, *_modules_of(source)]
        if history.is_same(commit, "", files):
            continue
        relevant = [change for change in changes if notebook in change.notebooks]
        if _leads_to_present(history, commit, relevant, files):
            outdated.unmoved.append(notebook)
        else:
            outdated.moved.append(notebook)
    return outdated


def _leads_to_present(
    history: "_History", commit: str, changes: Sequence[Unmoved], files: Sequence[Path]
) -> bool:
    """Whether changes that moved no number connect a commit's code with that of the checkout."""
    reached = [commit]
    for earlier in reached:  # grows
        if history.is_same(earlier, "", files):
            return True
        for change in changes:
            if change.after in reached or not history.knows(change):
                continue
            if history.is_same(earlier, change.before, files):
                reached.append(change.after)
    return False


def _modules_of(source: Path) -> list[Path]:
    """Return the modules that compute a notebook's results."""
    try:
        modules = modules_of(source)
    except NotebookError:
        return []  # `invariance check` reports it.
    companion = _PACKAGE / "companion"
    return [path for path in modules.values() if not path.is_relative_to(companion)]


class _History:
    """The code of files at earlier commits and, with the name "", in the checkout."""

    def __init__(self, paths: Paths) -> None:
        self.repository = Repository(paths)
        self._paths = paths
        #: For each commit the files that have changed since, with their ids there.
        self._changed: dict[str, dict[Path, str]] = {"": {}}
        self._codes: dict[tuple[Path, str], list[str] | None] = {}

    def knows(self, change: Unmoved) -> bool:
        """Whether both commits of a change are in this copy of the history."""
        return not (self.repository.unknown(change.before) or self.repository.unknown(change.after))

    def is_same(self, commit: str, other: str, files: Sequence[Path]) -> bool:
        """Whether the code of all these files is the same at two commits."""
        for path in files:
            file_id = self._id_at(commit, path)
            other_id = self._id_at(other, path)
            if file_id != other_id and self._code(path, file_id) != self._code(path, other_id):
                return False
        return True

    def _id_at(self, commit: str, path: Path) -> str:
        """Return the id of a file at a commit, or "" if it is that of the checkout."""
        if commit not in self._changed:
            self._changed[commit] = self.repository.changed_since(commit, self._paths.root)
        return self._changed[commit].get(path, "")

    def _code(self, path: Path, file_id: str) -> list[str] | None:
        """Return the code of a file; None if it did not exist, or is no Python."""
        if (path, file_id) not in self._codes:
            try:
                text = self.repository.text_of(file_id) if file_id else read_text(path)
                is_notebook = self._is_notebook(path)
                self._codes[path, file_id] = _code(text, is_notebook)
            except (LookupError, NotebookError, LedgerError):
                self._codes[path, file_id] = None
        return self._codes[path, file_id]

    def _is_notebook(self, path: Path) -> bool:
        return path.is_relative_to(self._paths.notebooks) and not path.name.startswith("_")


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
