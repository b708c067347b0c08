"""Published pictures that are older than the code that draws them: `older_pictures`."""

from collections.abc import Iterator
from pathlib import Path

from ..errors import NotebookError
from ..files import read_text
from ..paths import Paths
from .drawing import Drawings
from .registration import commit_of
from .repository import Repository
from .results import Results, read_results


def older_pictures(paths: Paths) -> list[str]:
    """Return the published figures that their notebook would now draw differently, or not at all.

    Each one is named as ``paper/name: figure``. A figure is compared with the digest that its run
    recorded (`drawing`) or, without one, with the notebook in the commit that the results
    name. A figure with neither is left out, unless no code draws it any more.
    """
    repository = Repository(paths)
    names = []
    for path in sorted(paths.figures.glob("[!.]*/[!.]*/results.json")):
        notebook = f"{path.parts[-3]}/{path.parts[-2]}"
        results, _ = read_results(path.parent, notebook)
        if results is not None and paths.source(notebook).is_file():
            for figure in _older_figures(paths, repository, results):
                names.append(f"{notebook}: {figure}")
    return names


def _older_figures(paths: Paths, repository: Repository, results: Results) -> Iterator[str]:
    source = paths.source(results["notebook"])
    texts_at_run = _texts_at_run(paths, repository, results)
    try:
        drawings = Drawings(*_texts(source))
        drawings_at_run = None
        if texts_at_run is not None:
            drawings_at_run = Drawings(*texts_at_run)
    except NotebookError:
        return  # `invariance check` has reported it.
    for figure in results["figures"]:
        name = figure["name"]
        digest_at_run = figure["drawn"]
        if digest_at_run is None and drawings_at_run is not None:
            digest_at_run = drawings_at_run.digest(name)
        digest = drawings.digest(name)
        if digest is None or digest_at_run not in (None, digest):
            yield name


def _texts(source: Path) -> tuple[str, dict[str, str]]:
    """Return a notebook's text and the sources of the modules beside it."""
    helpers = sorted(source.parent.glob("_*.py"))
    texts = {path.name: read_text(path, NotebookError) for path in helpers}
    return read_text(source, NotebookError), texts


def _texts_at_run(
    paths: Paths, repository: Repository, results: Results
) -> tuple[str, dict[str, str]] | None:
    """Return the same texts from the commit of a run.

    Return None if they are not needed, not available, or not changed since.
    """
    source = paths.source(results["notebook"])
    commit, clean = commit_of(results["provenance"]["code"])
    has_digests = all(figure["drawn"] is not None for figure in results["figures"])
    if has_digests or not commit or not clean or repository.unknown(commit):
        return None
    folder = source.parent
    changed = repository.changed_since(commit, paths.notebooks)
    if not any(path == source or path.match(f"{folder}/_*.py") for path in changed):
        return None
    try:
        helpers = [path for path in repository.files(commit, folder) if path.match("_*.py")]
        texts = {path.name: repository.text(commit, path) for path in helpers}
        return repository.text(commit, source), texts
    except LookupError:
        return None
