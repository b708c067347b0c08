"""Files that a run left on disk, validated: `read_results`, `read_status`, `read_executed`.

A damaged file raises no exception: the readers return None and a sentence about the problem. The
schemas of the files are in ``results.yml``.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..files import file_digest, read_json, read_yaml

RESULTS_SCHEMA = 1

#: The content of ``results.json``.
Results = Mapping[str, Any]
#: The recorded result of one claim, an entry of ``results.json``.
Entry = Mapping[str, Any]
#: Content of a file, or None, and the problems with it.
Content = tuple[dict[str, Any] | None, list[str]]

# Entries of an output folder that the run itself did not write.
_NO_OUTPUTS = ("status.json", "failed", ".work")


@cache
def check_of(kind: str) -> Callable[[Any], Any]:
    """Return a function that adds defaults to a mapping, or raises ValueError if it is invalid."""
    import fastjsonschema

    schemas = read_yaml(Path(__file__).with_suffix(".yml"))
    return fastjsonschema.compile(schemas[kind])


def _read(path: Path, kind: str, notebook: str | None = None) -> Content:
    """Read a JSON file of a kind; if it names a notebook, this must be the given one."""
    if not path.exists() and not path.is_symlink():
        return None, []
    content = read_json(path, finite=kind != "executed")
    problem = "damaged or no file"
    if content is not None:
        if kind == "results" and isinstance(content, dict):
            content = {"provenance": {}, "volatile": {}} | content
        try:
            content = check_of(kind)(content)
        except ValueError as error:  # The exception of fastjsonschema is a ValueError.
            content = None
            problem = str(error).replace("data.", "").replace("data ", "it ")[:300]
    if content is None:
        return None, [f"{path}: not readable as results: {problem}; run the notebook again"]
    if notebook is not None and content.get("notebook", notebook) != notebook:
        other_notebook = f"{content['notebook']!r:.60}"
        return None, [f"{path}: belongs to {other_notebook}, not to {notebook}; run it again"]
    return content, []


def read_results(folder: Path, notebook: str | None = None) -> Content:
    """Return the content of a folder's ``results.json``, and the problems with it.

    Missing keys get their defaults. The content is None if there is no file, if it is invalid, or
    if it belongs to another notebook. A problem is one sentence, starting with the file.
    """
    return _read(folder / "results.json", "results", notebook)


def files_of(results: Results) -> list[str]:
    """Return the names of the files of all figures and tables."""
    names = [file for figure in results["figures"] for file in figure["files"]]
    names += [table["file"] for table in results["tables"]]
    return names


def read_status(folder: Path, notebook: str | None = None) -> Content:
    """Return the content of a folder's ``status.json`` and its problems, as `read_results` does.

    Its ``failure`` is None or comes from `runner.worker.failure`; its ``success`` is None or comes
    from `runner.resume`.
    """
    return _read(folder / "status.json", "status", notebook)


def read_outcome(path: Path) -> dict[str, Any] | None:
    """Return ``status`` and ``failure`` of a worker that has ended, as in ``status.json``."""
    outcome, _ = _read(path, "status")
    return outcome


def read_executed(path: Path) -> Content:
    """Return an executed notebook as plain JSON and its problems, as `read_results` does."""
    return _read(path, "executed")


def outputs_of(folder: Path) -> dict[str, str]:
    """Return the digest of every file that a run left in its folder, by its relative path."""
    digests = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if name.parts[0] not in _NO_OUTPUTS and path.is_file():
            digests[name.as_posix()] = file_digest(path) or ""
    return digests


def altered(folder: Path, status: Mapping[str, Any] | None) -> str | None:
    """Return a sentence about the first output that changed since the latest success, or None.

    `status` is the content of the folder's ``status.json``.
    """
    success = (status or {}).get("success") or {}
    outputs = success.get("outputs")
    if not isinstance(outputs, dict):
        return None
    digests = outputs_of(folder)
    for name, digest in outputs.items():
        if name not in digests:
            return f"{name} is missing"
        if digests[name] != digest:
            return f"{name} is not what the run wrote"
    return None
