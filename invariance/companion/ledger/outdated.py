"""Published results that a change of code since their run could have moved: `outdated_results`."""

from pathlib import Path

from ..errors import NotebookError
from ..paths import Paths
from ..provenance import modules_of
from .registration import commit_of
from .repository import Repository
from .results import read_results

_PACKAGE = Path(__file__).resolve().parents[2]


def outdated_results(paths: Paths) -> list[str]:
    """Return the notebooks whose text, or a module that they import, has changed since their run.

    The revision that the results name is compared with the files of this checkout. The companion's
    modules do not count: they record results and compute none. Results of a revision that is not
    in this copy of the history are left out.
    """
    repository = Repository(paths)
    changes: dict[str, set[Path]] = {}
    outdated = []
    for file in sorted(paths.figures.glob("[!.]*/[!.]*/results.json")):
        notebook = f"{file.parts[-3]}/{file.parts[-2]}"
        source = paths.source(notebook)
        results, _ = read_results(file.parent, notebook)
        if results is None or not source.is_file():
            continue
        commit, _ = commit_of(results["provenance"]["code"])
        if not commit or repository.unknown(commit):
            continue
        if commit not in changes:
            changes[commit] = set(repository.changed_since(commit, paths.root))
        if changes[commit] & _files_of(source):
            outdated.append(notebook)
    return outdated


def _files_of(source: Path) -> set[Path]:
    """Return the files that compute a notebook's results: its text, and the modules it imports."""
    try:
        modules = modules_of(source)
    except NotebookError:
        return set()  # `invariance check` reports it.
    companion = _PACKAGE / "companion"
    files = {path for path in modules.values() if not path.is_relative_to(companion)}
    return files | {source}
