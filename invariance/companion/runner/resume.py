"""Decide whether a stored result is the one that a run would give (`reason_to_run`).

The latest success has recorded in ``status.json`` a fingerprint (text, parameters, code, packages,
threads), its inputs (results of the notebooks that it reads), the user's modules that it imported,
and digests of its outputs. All of these, and the data files, must be unchanged. Time stamps play no
part.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import NotebookError
from ..files import file_digest, read_json, read_text
from ..ledger.claims import Ledger, ledger_digest, load_ledger
from ..ledger.results import altered, read_results, read_status
from ..ledger.settings import answers, registered
from ..paths import Paths
from ..provenance import modules_of, package_versions

if TYPE_CHECKING:
    from .attempt import Job

NEW = "it has not run yet"
_LIBRARY = Path(__file__).resolve().parents[2]


def fingerprint(
    paths: Paths, notebook: str, parameters: Mapping[str, Any], threads: int, architecture: str
) -> dict[str, Any]:
    """Return all that determines a run's results, except data and other notebooks' results.

    `architecture` is that of the processors that compute: see `provenance.architecture`.
    """
    source = paths.source(notebook)
    text = read_text(source, NotebookError)
    code = {name: str(file_digest(path))[:16] for name, path in modules_of(source).items()}
    return {
        "text": hashlib.sha256(text.encode()).hexdigest(),
        "code": code,
        "settings": file_digest(paths.settings(notebook)),
        "parameters": dict(parameters),
        "packages": package_versions(),
        # The last digits depend on these two.
        "threads": threads,
        "architecture": architecture,
    }


def inputs_of(paths: Paths, reads: Sequence[str], profile: str) -> dict[str, str]:
    """Return, for each notebook that is read, a digest of its results and tables."""
    digests = {}
    for name in reads:
        total = hashlib.sha256()
        for folder in (paths.published(name), paths.output(name, profile)):
            for path in sorted([folder / "results.json", *folder.glob("*.csv")]):
                total.update(f"{path.name} {file_digest(path)}\n".encode())
            total.update(b"\n")
        digests[name] = total.hexdigest()
    return digests


def _inputs_now(paths: Paths, job: "Job") -> dict[str, str]:
    return inputs_of(paths, job.reads, job.parameters["profile"])


# ------------------------------------------------------------------------- after an attempt


def imported_modules(paths: Paths, job: "Job") -> dict[str, str]:
    """Return the digests of the user's modules that a notebook's process has imported, by file.

    These may lie anywhere: in a package beside the notebook, in the project, or outside of it. The
    fingerprint holds the modules of the library.
    """
    files_read = read_json(job.work / "read.json")
    if not isinstance(files_read, dict):
        return {}
    root = paths.root.resolve()
    digests = {}
    for file, sha256 in files_read["modules"].items():
        path = Path(file)
        if not path.is_relative_to(_LIBRARY):
            name = path.relative_to(root) if path.is_relative_to(root) else path
            digests[name.as_posix()] = sha256
    return digests


def undeclared_reads(job: "Job") -> list[str]:
    """Return notebooks whose results a notebook's process has read, but which `reads` lacks."""
    files_read = read_json(job.work / "read.json")
    if not isinstance(files_read, dict):
        return []
    return sorted(set(files_read["results"]) - {*job.reads, job.notebook})


def changed_meanwhile(paths: Paths, job: "Job") -> str | None:
    """Return the first dependency of a job's results that has changed since its start, or None.

    The files that the notebook's process has read count too: an edit may have been undone since.
    """
    try:
        now = fingerprint(
            paths,
            job.notebook,
            job.parameters,
            job.fingerprint["threads"],
            job.fingerprint["architecture"],
        )
    except NotebookError as error:
        return f"the text ({error})"
    for name, value in now.items():
        change = _difference(job.fingerprint, name, value)
        if change:
            return change
    change = _difference({"inputs": job.inputs}, "inputs", _inputs_now(paths, job))
    if change:
        return change
    text = read_json(job.work / "text.json")
    if text not in (None, job.fingerprint["text"]):
        return "text"
    files_read = read_json(job.work / "read.json")
    if isinstance(files_read, dict):
        return _difference_to_start(paths, job, files_read)
    return None


def _difference_to_start(paths: Paths, job: "Job", files_read: Mapping[str, Any]) -> str | None:
    """Return a file that the notebook's process read in another version than at the start.

    The process notes these digests itself; see `Run`.
    """
    expected = job.fingerprint
    modules = modules_of(paths.source(job.notebook))
    names = {str(path.resolve()): name for name, path in modules.items()}
    for file, sha256 in files_read["modules"].items():
        name = names.get(file)
        if name is not None and expected["code"].get(name) != sha256[:16]:
            return f"code ({name})"
    if files_read["settings"] != expected["settings"]:
        return "settings"
    if job.choosing or files_read["claims"] == ledger_digest(paths.ledger):
        return None
    results, _ = read_results(job.folder, job.notebook)
    return _changed_protocol(paths, job.notebook, results or {}, load_ledger(paths.ledger))


def _changed_protocol(
    paths: Paths, notebook: str, results: Mapping[str, Any], ledger: Ledger
) -> str | None:
    """Return the change of a claim since it was measured at full scale, or None."""
    if results.get("profile") != "full":
        return None
    for claim_id in sorted(set(ledger) & set(results["claims"])):
        entry = results["claims"][claim_id]
        if entry["protocol"] != registered(ledger[claim_id], paths, notebook):
            return f"the protocol of {claim_id}"
        if not answers(ledger[claim_id], entry):
            return f"the statement of {claim_id}"
    return None


# -------------------------------------------------------------------------------- before a run


def reason_to_run(paths: Paths, job: "Job", ledger: Ledger) -> str | None:
    """Return why a job has to run, or None if its output folder has the results it would give.

    An interrupted attempt does not invalidate the success before it.
    """
    status, problems = read_status(job.final, job.notebook)
    if status is None:
        return problems[0] if problems else NEW
    if status["status"] not in ("ok", "interrupted"):
        return f"its latest attempt ended as {status['status']}"
    success = status["success"]
    if not success:
        return f"its latest attempt ended as {status['status']}, and no success is recorded"
    reason = _changed_dependency(paths, job, success)
    if reason:
        return reason
    outputs = success.get("outputs")
    if not isinstance(outputs, dict) or "executed.ipynb" not in outputs:
        return f"{job.final / 'status.json'}: damaged"
    damage = altered(job.final, status)
    if damage:
        return damage
    results, problems = read_results(job.final, job.notebook)
    if results is None:
        return problems[0] if problems else None
    for name, sha256 in results["provenance"]["data"].items():
        # A data file that is absent cannot be compared, and counts as unchanged.
        if _data_digest(paths, name) not in (None, sha256):
            return f"the data file {name} has changed"
    protocol = _changed_protocol(paths, job.notebook, results, ledger)
    return f"{protocol} has changed" if protocol else None


def _changed_dependency(paths: Paths, job: "Job", success: Mapping[str, Any]) -> str | None:
    """Return what differs from the latest success in fingerprint or inputs, or None."""
    # Written and read as JSON, 1.0 and tuples compare as they are stored.
    stored = json.loads(json.dumps(job.fingerprint))
    for name, now in stored.items():
        change = _difference(success.get("fingerprint"), name, now)
        if change:
            return f"{change} has changed"
    imported = success.get("imported", {})
    if not isinstance(imported, dict):
        return f"{job.final / 'status.json'}: damaged"
    for file, sha256 in imported.items():
        # A module that is absent, as one that the notebook itself wrote, counts as unchanged.
        if file_digest(paths.root / file) not in (None, sha256):
            return f"code ({file}) has changed"
    change = _difference(success, "inputs", _inputs_now(paths, job))
    return f"the results that it reads have changed: {change}" if change else None


def _difference(record: Any, name: str, now: Any) -> str | None:
    """Return the name of an entry that is not `now`, with the keys that differ, or None."""
    before = record.get(name) if isinstance(record, dict) else None
    if before == now:
        return None
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return name
    keys = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
    listed = ", ".join(keys[:3])
    return f"{name} ({listed}, ...)" if len(keys) > 3 else f"{name} ({listed})"


def _data_digest(paths: Paths, name: str) -> str | None:
    """Return the SHA-256 of the file that `Run.uses_data` has recorded so, or None if absent.

    The name is that of a file of a data set, or a path in the project or in the folder of data.
    """
    from ...datasets.catalogue import CATALOGUE
    from ...datasets.files import locate

    for entry in CATALOGUE.values():
        for file in entry.files:
            if any(source.path == name for source in file.sources):
                located = locate(file)
                if located is None or located.source.path != name:
                    return None
                return located.sha256
    digest = file_digest(paths.root / name)
    folder = os.environ.get("INVARIANCE_DATA")
    if digest is None and folder:
        digest = file_digest(Path(folder, name))
    return digest
