"""Is a result that lies on disk the one that a run would give? `reason_to_run` says why not.

The latest success noted, in ``status.json``, a fingerprint (text, parameters, code, packages,
threads), inputs (results of the notebooks that it reads) and digests of its outputs: all of them,
and the data files, are to be the same. What a clock says plays no part.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import NotebookError
from ..files import file_digest, read_json, read_text
from ..ledger.claims import Ledger, load_ledger
from ..ledger.results import altered, read_results, read_status
from ..ledger.settings import registered
from ..paths import Paths
from ..provenance import architecture, modules_of, package_versions

NEW = "it has not run yet"


def fingerprint(paths: Paths, notebook: str, parameters: Mapping[str, Any], threads: int) -> dict:
    """What a run's results follow from, but for data and for other notebooks' results."""
    source = paths.source(notebook)
    return {
        "text": hashlib.sha256(read_text(source, NotebookError).encode()).hexdigest(),
        "code": {name: str(file_digest(path))[:16] for name, path in modules_of(source).items()},
        "settings": file_digest(paths.settings(notebook)),
        "parameters": dict(parameters),
        "packages": package_versions(),
        # the last digits depend on these two
        "threads": threads,
        "architecture": architecture(),
    }


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


def changed_meanwhile(paths: Paths, job: Any) -> str | None:
    """What a job's results follow from that has changed since it started; None if nothing has.

    What the notebook says that it has read counts as well: an edit may have been taken back.
    """
    try:
        now = fingerprint(paths, job.notebook, job.parameters, job.fingerprint.get("threads"))
    except NotebookError as error:
        return f"the text ({error})"
    for name, value in now.items():
        if changed := _changed(job.fingerprint, name, value):
            return changed
    if changed := _changed({"inputs": job.inputs}, "inputs", _inputs_of(paths, job)):
        return changed
    text = read_json(job.folder / ".work" / "text.json")
    if text not in (None, job.fingerprint["text"]):
        return "text"
    read = read_json(job.folder / ".work" / "read.json")
    return _read_otherwise(paths, job, read) if isinstance(read, dict) else None


def _read_otherwise(paths: Paths, job: Any, read: Mapping[str, Any]) -> str | None:
    """What a notebook's process has read that is not what it was started with; see `Run`."""
    expected = job.fingerprint
    modules = modules_of(paths.source(job.notebook))
    names = {str(path.resolve()): name for name, path in modules.items()}
    for file, sha256 in read["modules"].items():
        if file in names and expected["code"].get(names[file]) != sha256[:16]:
            return f"code ({names[file]})"
    if read["settings"] != expected["settings"]:
        return "settings"
    if job.choosing or read["claims"] == file_digest(paths.ledger):
        return None
    results, _ = read_results(job.folder, job.notebook)
    return _other_protocol(paths, job.notebook, results or {}, load_ledger(paths.ledger))


def _other_protocol(
    paths: Paths, notebook: str, results: Mapping[str, Any], ledger: Ledger
) -> str | None:
    """A claim whose protocol is not the one that results were measured by; None if all are."""
    known = {*ledger} & {*results["claims"]} if results.get("profile") == "full" else ()
    for claim_id in sorted(known):
        protocol = results["claims"][claim_id]["protocol"]
        if protocol != registered(ledger[claim_id], paths, notebook):
            return f"the protocol of {claim_id}"
    return None


def _inputs_of(paths: Paths, job: Any) -> dict[str, str]:
    return inputs_of(paths, job.reads, job.parameters["profile"])


def reason_to_run(paths: Paths, job: Any, ledger: Ledger) -> str | None:
    """Why the results in a job's output folder are not those that it would give; None if they are.

    An attempt that was interrupted takes nothing away from the success before it.
    """
    folder, notebook = job.final, job.notebook
    status, problems = read_status(folder, notebook)
    if status is None:
        return problems[0] if problems else NEW
    if status["status"] not in ("ok", "interrupted"):
        return f"its latest attempt ended as {status['status']}"
    success = status["success"] or {}
    # written and read as JSON, so that 1.0 and tuples compare as they are stored
    for name, now in json.loads(json.dumps(job.fingerprint)).items():
        if changed := _changed(success.get("fingerprint"), name, now):
            return f"{changed} has changed"
    if changed := _changed(success, "inputs", _inputs_of(paths, job)):
        return f"what it reads has changed: {changed}"
    outputs = success.get("outputs")
    if not isinstance(outputs, dict) or "executed.ipynb" not in outputs:
        return f"{folder / 'status.json'}: damaged"
    if said := altered(folder, status):
        return said
    results, problems = read_results(folder, notebook)
    if results is None:
        return problems[0] if problems else None
    for name, sha256 in results["provenance"]["data"].items():
        # data that is not here any more cannot have changed what was computed from it
        if _data_digest(name) not in (None, sha256):
            return f"the data file {name} has changed"
    changed = _other_protocol(paths, notebook, results, ledger)
    return f"{changed} has changed" if changed else None


def _changed(found: Any, name: str, now: Any) -> str | None:
    """What of it is different, in words; None if nothing is."""
    before = found.get(name) if isinstance(found, dict) else None
    if before == now:
        return None
    if not (isinstance(before, dict) and isinstance(now, dict)):
        return name
    names = [key for key in sorted({*before, *now}) if before.get(key) != now.get(key)]
    return f"{name} ({', '.join(names[:3])}{', ...' if names[3:] else ''})"


def _data_digest(name: str) -> str | None:
    """SHA-256 of the file that a data set would read under that name; None if it is not here."""
    from ...datasets.catalogue import CATALOGUE
    from ...datasets.files import locate

    for entry in CATALOGUE.values():
        for file in entry.files:
            if any(source.path == name for source in file.sources):
                found = locate(file)
                return found.sha256 if found and found.source.path == name else None
    return file_digest(Path(os.environ.get("INVARIANCE_DATA", ""), name))
