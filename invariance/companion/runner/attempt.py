"""One attempt at a notebook: its process, how it ended, and what is kept of it.

An attempt writes to a hidden sibling of its output folder. On success that folder takes the place
of the output folder by a rename; on failure it becomes ``failed/`` inside the output folder and the
last good results stay. ``status.json`` always tells of the latest attempt.
"""

import os
import shutil
import signal
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from invariance.companion.errors import OutputError
from invariance.companion.files import read_json, repair_folder, replace_folder, write_json
from invariance.companion.paths import Paths
from invariance.companion.runner.places import Place, Process
from invariance.companion.runner.processes import kill_all

__all__ = ["Job", "Outcome", "describe_failure", "ending", "finish", "remove_leftovers", "start"]

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
    key : str
        See `runner.run_key`.
    expected_s : float
        Seconds.
    reads : list of str
        Notebooks whose results it reads.
    alone : bool
        To run beside no other: it is about time, or was killed beside others.
    """

    notebook: str
    source: Path
    final: Path
    parameters: dict[str, Any]
    default_parameters: bool
    key: str
    expected_s: float
    reads: list[str]
    folder: Path = field(init=False)
    process: Process | None = None
    started: datetime | None = None
    clock: float = 0.0
    alone: bool = False

    def __post_init__(self) -> None:
        self.folder = self.final.with_name(f".{self.final.name}.{os.getpid()}")

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.clock if self.clock else 0.0


def remove_leftovers(final: Path) -> None:
    """Folders of attempts whose runner was killed outright."""
    repair_folder(final)
    for folder in final.parent.glob(f".{final.name}.*"):
        owner = folder.name.rpartition(".")[2]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            kill_all(folder)
            shutil.rmtree(folder, ignore_errors=True)


def _environment(paths: Paths, threads: int) -> dict[str, str]:
    return {
        **dict.fromkeys(_THREAD_VARIABLES, str(threads)),
        "INVARIANCE_ROOT": str(paths.root),
        "TQDM_DISABLE": "1",
        # sets of strings come in the same order in every run
        "PYTHONHASHSEED": "0",
    }


def start(job: Job, paths: Paths, place: Place, threads: int, cell_timeout: float | None) -> None:
    """Start a job's process; ``threads`` are BLAS's, ``cell_timeout`` is in seconds."""
    description = {
        "notebook": job.notebook,
        "source": str(job.source),
        "folder": str(job.folder),
        "parameters": job.parameters,
        "cell_timeout": cell_timeout,
    }
    job.started, job.clock = datetime.now(UTC), time.monotonic()
    job.process = place.start(description, _environment(paths, threads))


def describe_failure(kind: str, message: str, job: Job | None = None) -> dict[str, Any]:
    """What `Outcome.failure` says; with a job, the cell that it had come to as well."""
    progress = read_json(job.folder / ".work" / "progress.json") if job else None
    progress = progress or {"cell_index": None, "cell_source": None}
    return {"kind": kind, "message": message, "exception": None, "traceback": None, **progress}


def ending(job: Job) -> tuple[str, dict[str, Any] | None]:
    """Status and failure of a worker that has exited by itself."""
    outcome = read_json(job.folder / ".work" / "outcome.json")
    if outcome is not None:
        return outcome["status"], outcome["failure"]
    code = job.process.returncode
    if code < 0:
        name = signal.Signals(-code).name
        how = f"killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
        return "killed", describe_failure("worker died", f"the notebook's process was {how}", job)
    free = shutil.disk_usage(job.folder).free
    if free < _LITTLE_SPACE:
        message = f"no space left for {job.final}: free some, then run again"
        return "failed", describe_failure("output", message, job)
    log = (job.folder / ".work" / "worker.log").read_text(errors="replace")[-2000:].strip()
    message = f"the notebook's process ended with code {code}: {log}"
    return "failed", describe_failure("runner", message, job)


def _status(
    job: Job,
    status: str,
    failure: dict | None,
    results: str | None,
    results_key: str | None,
    executed: str | None,
) -> dict[str, Any]:
    started = job.started or datetime.now(UTC)
    return {
        "schema": 1,
        "notebook": job.notebook,
        "profile": job.parameters["profile"],
        "parameters": job.parameters,
        "default_parameters": job.default_parameters,
        "status": status,
        "failure": failure,
        "key": job.key,
        "started": started.isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "duration_s": round(job.elapsed, 2),
        "results": results,
        "results_key": results_key,
        "executed": executed,
    }


def _keep_success(job: Job, paths: Paths) -> None:
    shutil.rmtree(job.folder / ".work", ignore_errors=True)
    has_results = (job.folder / "results.json").is_file()
    write_json(
        job.folder / "status.json",
        _status(
            job, "ok", None, "this attempt" if has_results else None, job.key, "executed.ipynb"
        ),
    )
    replace_folder(job.folder, job.final)
    if has_results and job.parameters["profile"] == "full" and job.default_parameters:
        _publish(job, paths)


def _publish(job: Job, paths: Paths) -> None:
    target = paths.published(job.notebook)
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        fresh.mkdir(parents=True, exist_ok=True)
        for path in sorted(job.final.iterdir()):
            if path.suffix in _PUBLISHED or path.name == "results.json":
                shutil.copyfile(path, fresh / path.name)
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise OutputError(f"cannot publish to {target}: {error.strerror or error}") from error
    replace_folder(fresh, target)


def _keep_failure(job: Job, status: str, failure: dict[str, Any]) -> None:
    executed = None
    if job.folder.exists():
        shutil.rmtree(job.folder / ".work", ignore_errors=True)
        if status == "interrupted":
            shutil.rmtree(job.folder)
        else:
            replace_folder(job.folder, job.final / "failed")
            if (job.final / "failed" / "executed.ipynb").is_file():
                executed = "failed/executed.ipynb"
    earlier = (job.final / "results.json").is_file()
    key = (read_json(job.final / "status.json") or {}).get("results_key") if earlier else None
    write_json(
        job.final / "status.json",
        _status(job, status, failure, "earlier attempt" if earlier else None, key, executed),
    )


def finish(
    job: Job, paths: Paths, place: Place, status: str, failure: dict[str, Any] | None
) -> Outcome:
    """End a job's processes and put in its place what is kept of it."""
    duration = job.elapsed
    place.end(job.process, job.folder)
    try:
        if status == "ok":
            _keep_success(job, paths)
        else:
            _keep_failure(job, status, failure)
    except OSError as error:
        if status == "ok":
            status, failure = "failed", describe_failure("output", str(error))
        else:
            failure = {**failure, "message": f"{failure['message']} (and: {error})"}
        shutil.rmtree(job.folder, ignore_errors=True)
    return Outcome(job.notebook, status, duration, failure)
