"""Published pictures that are older than the code that draws them: `older_pictures`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import NotebookError
from ..files import read_text
from ..paths import Paths
from .drawing import Drawings
from .registration import commit_of
from .repository import Repository
from .results import read_results


def older_pictures(paths: Paths) -> list[str]:
    """Published figures that their notebook would draw otherwise today: ``paper/name: figure``.

    A figure is compared with the digest that its run recorded (`drawing`), and
    without one with the notebook of the commit that the results name. Figures without either are
    left out.
    """
    repository = Repository(paths)
    found = []
    for path in sorted(paths.figures.glob("[!.]*/[!.]*/results.json")):
        notebook = f"{path.parts[-3]}/{path.parts[-2]}"
        results, _ = read_results(path.parent, notebook)
        if results is not None and paths.source(notebook).is_file():
            found += [f"{notebook}: {name}" for name in _older(paths, repository, results)]
    return found


def _older(paths: Paths, repository: Repository, results: Mapping[str, Any]) -> Iterator[str]:
    source = paths.source(results["notebook"])
    then = _then(paths, repository, results)
    if then is None and all(figure["drawn"] is None for figure in results["figures"]):
        return
    try:
        now = Drawings(*_texts(source))
        earlier = Drawings(*then) if then else None
    except NotebookError:
        return  # `invariance check` has reported it
    for figure in results["figures"]:
        before = figure["drawn"]
        if before is None and earlier is not None:
            before = earlier.digest(figure["name"])
        if before is not None and before != now.digest(figure["name"]):
            yield figure["name"]


def _texts(source: Path) -> tuple[str, dict[str, str]]:
    """A notebook's text, and the sources of the modules beside it."""
    beside = sorted(source.parent.glob("_*.py"))
    texts = {path.name: read_text(path, NotebookError) for path in beside}
    return read_text(source, NotebookError), texts


def _then(
    paths: Paths, repository: Repository, results: Mapping[str, Any]
) -> tuple[str, dict[str, str]] | None:
    """The same of the commit of a run, if it is needed, known, and may be another."""
    source = paths.source(results["notebook"])
    commit, clean = commit_of(results["provenance"]["code"])
    recorded = all(figure["drawn"] is not None for figure in results["figures"])
    if recorded or not commit or not clean or repository.unknown(commit):
        return None
    changed = repository.changed_since(commit, paths.notebooks)
    folder = source.parent
    if not any(path == source or path.match(f"{folder}/_*.py") for path in changed):
        return None
    try:
        modules = [p for p in repository.files(commit, folder) if p.match("_*.py")]
        texts = {path.name: repository.text(commit, path) for path in modules}
        return repository.text(commit, source), texts
    except LookupError:
        return None
