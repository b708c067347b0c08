"""One attempt at a notebook: its process, how it ended, and what is kept of it.

An attempt writes to a hidden sibling of its output folder, named after the runner (`lock`). On
success that folder takes the place of the output folder by a rename; on failure it becomes
``failed/`` inside the output folder and the last good results stay. ``status.json`` always tells of
the latest attempt, and of the latest success what `resume` needs to recognise it.
"""

import shutil
import signal
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from invariance.companion.errors import OutputError
from invariance.companion.files import (
    file_digest,
    read_json,
    repair_folder,
    replace_folder,
    write_json,
)
from invariance.companion.ledger.guard import record_digests
from invariance.companion.ledger.results import (
    STATUSES,
    as_recorded,
    read_executed,
    read_results,
    read_status,
)
from invariance.companion.paths import Paths
from invariance.companion.runner.lock import is_alive
from invariance.companion.runner.places import Place, Process
from invariance.companion.runner.processes import kill_all
from invariance.companion.runner.resume import inputs_of, outputs_of

__all__ = [
    "Job",
    "Outcome",
    "describe_failure",
    "ending",
    "finish",
    "publish_again",
    "remove_leftovers",
    "start",
]

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
# with less than this many bytes free, a worker that left no word died of it
_LITTLE_SPACE = 2**17
_PUBLISHED = (".svg", ".png", ".csv")
_ABSENT = object()


@dataclass(frozen=True)
class Outcome:
    """How one notebook ended.

    Attributes
    ----------
    notebook : str
    status : {"ok", "failed", "timeout", "killed", "interrupted"}
    duration_s : float
    failure : dict or None
        ``kind``, ``message``, ``exception``, ``traceback``, ``cell_index``, ``cell_source``.
    resumed : bool
        Not run: an earlier success was still valid.
    """

    notebook: str
    status: str
    duration_s: float
    failure: dict[str, Any] | None = None
    resumed: bool = False


@dataclass
class Job:
    """A notebook to be run: from where, with what, to where; and its process once it has started.

    Attributes
    ----------
    notebook : str
    source, final, folder : Path
        The text notebook, its output folder, and the attempt's own folder beside it.
    parameters : dict
    default_parameters : bool
        Whether these are the notebook's own for its profile; only such results are published.
    fingerprint : dict
        What its results follow from; see `resume.fingerprint`.
    runner : str
        Name of the runner's lock, by which the attempt's folder is called.
    expected_s, expected_mb : float
        Seconds, and MiB at its peak.
    reads : list of str
        Notebooks whose results it reads.
    inputs : dict
        Digests of those results when it started; see `resume.inputs_of`.
    alone : bool
        To run beside no other: it is about time, or was killed beside others.
    """

    notebook: str
    source: Path
    final: Path
    parameters: dict[str, Any]
    default_parameters: bool
    fingerprint: dict[str, Any]
    runner: str
    expected_s: float
    expected_mb: float
    reads: list[str]
    inputs: dict[str, str] = field(default_factory=dict)
    folder: Path = field(init=False)
    process: Process | None = None
    started: datetime | None = None
    clock: float = 0.0
    alone: bool = False

    def __post_init__(self) -> None:
        self.folder = self.final.with_name(f".{self.final.name}.{self.runner}")

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.clock if self.clock else 0.0


def remove_leftovers(final: Path, build: Path) -> None:
    """Folders of attempts whose runner was killed outright, and what may still write to them."""
    repair_folder(final)
    for folder in final.parent.glob(f".{final.name}.*"):
        owner = folder.name.rpartition(".")[2]
        if owner != "previous" and not is_alive(build, owner):
            kill_all(folder)
            if folder.is_dir():
                shutil.rmtree(folder, ignore_errors=True)
            else:
                folder.unlink(missing_ok=True)


def _environment(paths: Paths, threads: int) -> dict[str, str]:
    return {
        **dict.fromkeys(_THREAD_VARIABLES, str(threads)),
        "INVARIANCE_ROOT": str(paths.root),
        "TQDM_DISABLE": "1",
        # sets of strings come in the same order in every run
        "PYTHONHASHSEED": "0",
    }


def start(
    job: Job, paths: Paths, place: Place, threads: int, cell_timeout: float | None, more: bool
) -> None:
    """Start a job's process.

    ``threads`` are BLAS's, ``cell_timeout`` is in seconds, ``more`` says whether others follow.
    """
    description = {
        "notebook": job.notebook,
        "source": str(job.source),
        "folder": str(job.folder),
        "parameters": job.parameters,
        "cell_timeout": cell_timeout,
        "more": more,
    }
    job.inputs = inputs_of(paths, job.reads, job.parameters["profile"])
    job.started, job.clock = datetime.now(UTC), time.monotonic()
    job.process = place.start(description, _environment(paths, threads))


def describe_failure(kind: str, message: str, job: Job | None = None) -> dict[str, Any]:
    """What `Outcome.failure` says; with a job, the cell that it had come to as well."""
    noted = read_json(job.folder / ".work" / "progress.json") if job else None
    noted = noted if isinstance(noted, dict) else {}
    progress = {key: noted.get(key) for key in ("cell_index", "cell_source")}
    return {"kind": kind, "message": message, "exception": None, "traceback": None, **progress}


def ending(job: Job) -> tuple[str, dict[str, Any] | None]:
    """Status and failure of a worker that has exited by itself."""
    outcome = read_json(job.folder / ".work" / "outcome.json")
    if isinstance(outcome, dict) and outcome.get("status") in STATUSES:
        failure = outcome.get("failure")
        if outcome["status"] == "ok":
            return "ok", None
        if isinstance(failure, dict) and isinstance(failure.get("message"), str):
            return outcome["status"], describe_failure("unknown", "") | failure
    code = job.process.returncode if job.process else None
    if code is None:
        return "failed", describe_failure("runner", "its process left no exit code", job)
    if code < 0:
        name = signal.Signals(-code).name
        how = f"killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
        return "killed", describe_failure("worker died", f"the notebook's process was {how}", job)
    free = shutil.disk_usage(job.folder).free
    if free < _LITTLE_SPACE:
        message = f"no space left for {job.final}: free some, then run again"
        return "failed", describe_failure("output", message, job)
    try:
        log = (job.folder / ".work" / "worker.log").read_text(errors="replace")[-2000:].strip()
    except OSError as error:
        log = f"its log cannot be read ({error.strerror})"
    if log.endswith("KeyboardInterrupt"):  # before it could take the signal as its own end
        message = "the notebook's process was killed by SIGINT while it started"
        return "killed", describe_failure("worker died", message, job)
    message = f"the notebook's process ended with code {code}: {log or 'it said nothing'}"
    return "failed", describe_failure("runner", message, job)


def _status(
    job: Job,
    status: str,
    failure: dict | None,
    results: str | None,
    success: dict[str, Any] | None,
    executed: str | None,
) -> dict[str, Any]:
    started = job.started or datetime.now(UTC)
    return {
        "schema": 2,
        "notebook": job.notebook,
        "profile": job.parameters["profile"],
        "parameters": job.parameters,
        "default_parameters": job.default_parameters,
        "status": status,
        "failure": failure,
        "started": started.isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "duration_s": round(job.elapsed, 2),
        "results": results,
        "success": success,
        "executed": executed,
    }


def _fault(job: Job) -> str | None:
    """What is wrong with what an attempt left that says it went well; None if nothing is."""
    executed, problems = read_executed(job.folder / "executed.ipynb")
    if executed is None:
        return problems[0] if problems else "the executed notebook is missing"
    results, problems = read_results(job.folder, job.notebook)
    if problems:
        return "; ".join(problems)
    if results is None:
        return None
    names = [file for figure in results["figures"] for file in figure["files"]]
    names += [table["file"] for table in results["tables"]]
    if missing := [name for name in names if not (job.folder / name).is_file()]:
        return f"results.json names files that are not there: {', '.join(missing)}"
    recorded = results["parameters"]
    if different := [n for n, v in job.parameters.items() if recorded.get(n, _ABSENT) != v]:
        listed = ", ".join(f"{name}={name}" for name in job.parameters)
        return (
            f"the results were recorded without the run's {', '.join(different)}; write\n"
            f'    run = Run("{job.notebook}", {listed})'
        )
    return None


def _keep_success(job: Job, paths: Paths) -> None:
    shutil.rmtree(job.folder / ".work", ignore_errors=True)
    has_results = (job.folder / "results.json").is_file()
    success = {
        "fingerprint": job.fingerprint,
        "inputs": job.inputs,
        "outputs": outputs_of(job.folder),
    }
    write_json(
        job.folder / "status.json",
        _status(
            job, "ok", None, "this attempt" if has_results else None, success, "executed.ipynb"
        ),
    )
    replace_folder(job.folder, job.final)
    if has_results and job.parameters["profile"] == "full" and job.default_parameters:
        _publish(job, paths)


def publish_again(job: Job, paths: Paths) -> bool:
    """Repair the published copy of a valid result, if it was damaged; whether it was done.

    A sound copy of other results (from elsewhere, or of another commit) is left as it is.
    """
    mine, _ = read_results(job.final, job.notebook)
    if mine is None or job.parameters["profile"] != "full" or not job.default_parameters:
        return False
    target = paths.published(job.notebook)
    theirs, problems = read_results(target, job.notebook)
    if problems:
        theirs = None
    if theirs is not None and as_recorded(theirs) != as_recorded(mine):
        return False
    files = [path for path in job.final.iterdir() if _to_publish(path)]
    if theirs is not None and all(
        file_digest(target / path.name) == file_digest(path)
        for path in files
        if path.name != "results.json"
    ):
        return False
    _publish(job, paths)
    return True


def _to_publish(path: Path) -> bool:
    return path.suffix in _PUBLISHED or path.name == "results.json"


def _publish(job: Job, paths: Paths) -> None:
    target = paths.published(job.notebook)
    fresh = target.with_name(f".{target.name}.{job.runner}")
    try:
        fresh.mkdir(parents=True, exist_ok=True)
        for path in sorted(job.final.iterdir()):
            if _to_publish(path):
                shutil.copyfile(path, fresh / path.name)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise OutputError(f"cannot publish to {target}: {error.strerror or error}") from error
    replace_folder(fresh, target)
    record_digests(paths, target)


def _keep_failure(job: Job, status: str, failure: dict[str, Any]) -> None:
    executed = None
    if job.folder.exists():
        shutil.rmtree(job.folder / ".work", ignore_errors=True)
        if status == "interrupted":
            shutil.rmtree(job.folder)
        else:
            partial = job.folder / "executed.ipynb"
            if read_executed(partial)[0] is None:
                partial.unlink(missing_ok=True)
            else:
                executed = "failed/executed.ipynb"
            replace_folder(job.folder, job.final / "failed")
    before, _ = read_status(job.final, job.notebook)
    earlier = "earlier attempt" if (job.final / "results.json").is_file() else None
    success = before["success"] if before else None
    write_json(job.final / "status.json", _status(job, status, failure, earlier, success, executed))


def finish(
    job: Job, paths: Paths, place: Place, status: str, failure: dict[str, Any] | None
) -> Outcome:
    """End a job's processes and put in its place what is kept of it."""
    duration = job.elapsed
    place.end(job.process, job.folder)
    if status == "ok" and (fault := _fault(job)):
        status, failure = "failed", describe_failure("results", fault)
    failure = failure or (None if status == "ok" else describe_failure(status, "no reason known"))
    try:
        if failure is None:
            _keep_success(job, paths)
        else:
            _keep_failure(job, status, failure)
    except OSError as error:
        if failure is None:
            status, failure = "failed", describe_failure("output", str(error))
        else:
            failure = {**failure, "message": f"{failure['message']} (and: {error})"}
        shutil.rmtree(job.folder, ignore_errors=True)
    return Outcome(job.notebook, status, duration, failure)
