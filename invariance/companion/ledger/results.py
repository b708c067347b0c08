"""What a run left on disk, read without trust: `read_results`, `read_status`, `read_executed`.

Whatever is wrong with a file is a sentence in a list of problems, never an exception, and nothing
of that file is used. What a file must hold stands in ``results.yml``.
"""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..files import file_digest, read_json, read_yaml

RESULTS_SCHEMA = 1

Found = tuple[dict[str, Any] | None, list[str]]

# in an output folder, but no output of the run
_APART = ("status.json", "failed", ".work")


@cache
def check_of(kind: str) -> Callable[[Any], Any]:
    """What fills in a mapping of a kind, or says by a ValueError what is wrong with it."""
    import fastjsonschema

    return fastjsonschema.compile(read_yaml(Path(__file__).with_suffix(".yml"))[kind])


def _read(path: Path, kind: str, notebook: str | None = None) -> Found:
    """A JSON file of a kind, what was left out filled in, and of that notebook if it says whose."""
    if not path.exists() and not path.is_symlink():
        return None, []
    content, fault = read_json(path, kind != "executed"), "damaged or no file"
    if kind == "results" and isinstance(content, dict):
        content = {"provenance": {}, "volatile": {}} | content
    try:
        content = None if content is None else check_of(kind)(content)
    except ValueError as error:  # fastjsonschema's is one
        content, fault = None, str(error).replace("data.", "").replace("data ", "it ")[:300]
    if content is None:
        return None, [f"{path}: not readable as results: {fault}; run the notebook again"]
    if notebook is not None and content.get("notebook", notebook) != notebook:
        return None, [f"{path}: of {content['notebook']!r:.60}, not of {notebook}; run it again"]
    return content, []


def read_results(folder: Path, notebook: str | None = None) -> Found:
    """Content of a folder's ``results.json``, and what is wrong with it.

    Whatever was left out is filled in. None where there is none, none that can be used, or that of
    another than the named notebook. A problem is one sentence, starting with the file.
    """
    return _read(folder / "results.json", "results", notebook)


def files_of(results: Mapping[str, Any]) -> list[str]:
    """Names of the figures' and tables' files."""
    named = [file for figure in results["figures"] for file in figure["files"]]
    return [*named, *(table["file"] for table in results["tables"])]


def read_status(folder: Path, notebook: str | None = None) -> Found:
    """Content of a folder's ``status.json``, and what is wrong with it; as `read_results`.

    Its ``failure`` is None or of `runner.worker.failure`, its ``success`` None or of `resume`.
    """
    return _read(folder / "status.json", "status", notebook)


def read_outcome(path: Path) -> dict[str, Any] | None:
    """What a worker says at its end: ``status`` and ``failure``, as in ``status.json``."""
    return _read(path, "status")[0]


def read_executed(path: Path) -> Found:
    """An executed notebook as plain JSON, and what is wrong with it; as `read_results`."""
    return _read(path, "executed")


def outputs_of(folder: Path) -> dict[str, str]:
    """Digest of every file that a run left in its folder, by its path below it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if name.parts[0] not in _APART and path.is_file():
            found[name.as_posix()] = file_digest(path) or ""
    return found


def altered(folder: Path, status: Mapping[str, Any] | None) -> str | None:
    """Which output is not what the latest success wrote; None if all are. See `read_status`."""
    outputs = ((status or {}).get("success") or {}).get("outputs")
    found = outputs_of(folder)
    for name, digest in outputs.items() if isinstance(outputs, dict) else ():
        if name not in found:
            return f"{name} is missing"
        if found[name] != digest:
            return f"{name} is not what the run wrote"
    return None
