"""Is a result that lies on disk the one that a run would give? `reason_to_run` says why not.

A result counts as present when the latest success noted, in ``status.json``, the same fingerprint
(text, parameters, code, packages, threads) and the same inputs (results of the notebooks that it
reads), when every output of it is there with the digest that was noted, and when the data files
that it used are still the same. All of that goes by content: what a clock says plays no part.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from invariance.companion.errors import NotebookError
from invariance.companion.files import file_digest, read_json
from invariance.companion.imports import closure
from invariance.companion.ledger.results import as_recorded, read_results, read_status
from invariance.companion.paths import Paths
from invariance.companion.provenance import architecture, package_versions
from invariance.companion.source import notebook_code, parse_code, read_text

NEW = "it has not run yet"

# in an output folder, but no output of the run
_APART = ("status.json", "failed", ".work")


def fingerprint(source: Path, parameters: Mapping[str, Any], threads: int) -> dict[str, Any]:
    """What a run's results follow from, but for data and for other notebooks' results."""
    code = notebook_code(source)
    parse_code(code, f"notebook {source.parent.name}/{source.stem}")
    try:
        modules = closure(code)
    except (RecursionError, MemoryError) as error:
        raise NotebookError(f"notebook {source.stem} is nested too deeply to be read") from error
    return {
        "text": hashlib.sha256(read_text(source).encode()).hexdigest(),
        "parameters": dict(parameters),
        "code": {module: str(file_digest(path))[:16] for module, path in modules.items()},
        "packages": package_versions(),
        "settings": file_digest(
            source.parents[1] / "settings" / source.parent.name / f"{source.stem}.yml"
        ),
        # the last digits depend on these two
        "threads": threads,
        "architecture": architecture(),
    }


def _digest_of(path: Path) -> str | None:
    # verdicts are computed again when the ledger changes: they are no part of what was measured
    if path.name == "results.json":
        return as_recorded(read_json(path))
    return file_digest(path)


def outputs_of(folder: Path) -> dict[str, str]:
    """Digest of every file that a run left in its folder, by its path below it."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if name.parts[0] not in _APART and path.is_file():
            found[name.as_posix()] = _digest_of(path) or ""
    return found


def inputs_of(paths: Paths, reads: Sequence[str], profile: str) -> dict[str, str]:
    """Digest of what each notebook that is read has to offer: results and tables."""
    found = {}
    for name in reads:
        total = hashlib.sha256()
        for folder in (paths.published(name), paths.output(name, profile)):
            for path in sorted([folder / "results.json", *folder.glob("*.csv")]):
                total.update(f"{path.name} {file_digest(path)}\n".encode())
            total.update(b"\n")
        found[name] = total.hexdigest()
    return found


def reason_to_run(
    folder: Path, notebook: str, expected: Mapping[str, Any], inputs: Mapping[str, str]
) -> str | None:
    """Why the results in a folder are not those that a run would give; None if they are.

    `expected` comes from `fingerprint`, `inputs` from `inputs_of`.
    """
    status, problems = read_status(folder, notebook)
    if problems:
        return problems[0]
    if status is None:
        return NEW
    if status["status"] not in ("ok", "interrupted"):
        return f"its latest attempt ended as {status['status']}"
    success = status["success"]
    if success is None:
        return "no complete record of an earlier success"
    # written and read as JSON, so that 1.0 and tuples compare as they are stored
    expected = json.loads(json.dumps(dict(expected)))
    found, outputs = success.get("fingerprint"), success.get("outputs")
    if not isinstance(found, dict) or not isinstance(outputs, dict):
        return f"{folder / 'status.json'}: damaged"
    return (
        _changed(found, expected)
        or _changed_inputs(success.get("inputs"), inputs)
        or _changed_outputs(folder, outputs)
        or _changed_data(folder, notebook)
    )


def _different(before: Any, now: Mapping[str, Any]) -> list[str]:
    before = before if isinstance(before, dict) else {}
    return [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]


def _changed(found: Mapping[str, Any], expected: Mapping[str, Any]) -> str | None:
    if found.get("text") != expected["text"]:
        return "its text has changed"
    if names := _different(found.get("code"), expected["code"]):
        return f"the code has changed: {_listed(names)}"
    if found.get("settings") != expected["settings"]:
        return "other settings have been chosen since"
    for key, what in {"parameters": "parameter", "packages": "package"}.items():
        if names := _different(found.get(key), expected[key]):
            before = found[key] if isinstance(found.get(key), dict) else {}
            was = [f"{n} was {before.get(n)!r:.40}, is {expected[key].get(n)!r:.40}" for n in names]
            return f"another {what}: {_listed(was)}"
    for key in ("threads", "architecture"):
        if found.get(key) != expected[key]:
            return f"{key} was {found.get(key)!r:.40}, is {expected[key]!r}"
    return None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")


def _changed_inputs(found: Any, inputs: Mapping[str, str]) -> str | None:
    names = _different(found, inputs)
    return f"it reads {_listed(names)}, whose results have changed" if names else None


def _changed_outputs(folder: Path, outputs: Mapping[str, Any]) -> str | None:
    if "executed.ipynb" not in outputs:
        return f"{folder / 'status.json'}: damaged"
    for name, digest in outputs.items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if _digest_of(path) != digest:
            return f"{name} is not what the run wrote"
    return None


def _changed_data(folder: Path, notebook: str) -> str | None:
    results, problems = read_results(folder, notebook)
    if problems:
        return problems[0]
    for name, sha256 in (results["provenance"]["data"] if results else {}).items():
        now = _data_digest(name)
        # data that is not here any more cannot have changed what was computed from it
        if now is not None and now != sha256:
            return f"the data file {name} has changed"
    return None


def _data_digest(name: str) -> str | None:
    """SHA-256 of the file that a data set would read under that name; None if it is not here."""
    from invariance.datasets.catalogue import CATALOGUE
    from invariance.datasets.files import locate

    for entry in CATALOGUE.values():
        for file in entry.files:
            if any(source.path == name for source in file.sources):
                found = locate(file)
                return found.sha256 if found and found.source.path == name else None
    folder = os.environ.get("INVARIANCE_DATA")
    path = Path(folder, name) if folder else Path(name)
    return file_digest(path) if path.is_file() else None
