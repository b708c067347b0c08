"""One attempt at a notebook: its process, how it ended, and what is kept of it.

An attempt writes to a folder of its runner (`places`). On success that folder takes the place of
the output folder by a rename; on failure it becomes ``failed/`` inside it and the last good results
stay. ``status.json`` tells of the latest attempt, and what `resume` needs of the latest success.
"""

import shutil
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..clock import WorkingClock
from ..files import file_digest, replace_folder, write_bytes, write_json, writing
from ..ledger.guard import record_digests
from ..ledger.results import outputs_of, read_executed, read_outcome, read_results, read_status
from ..ledger.settings import STAGE
from ..paths import Paths
from .resume import changed_meanwhile, inputs_of
from .worker import failure

_THREADS = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "NUMEXPR_NUM", "VECLIB_MAXIMUM")
# with less than this many bytes free, a worker that left no word died of it
_LITTLE_SPACE = 2**17
# a notebook with more output than this is neither kept nor read: reading it takes minutes
_MOST_MB = 100
_PUBLISHED = (".svg", ".png", ".csv")


@dataclass(frozen=True)
class Outcome:
    """How one notebook ended: ``status`` is ok, failed, timeout, killed or interrupted."""

    notebook: str
    status: str
    duration_s: float
    failure: dict[str, Any] | None = None
    resumed: bool = False


@dataclass(eq=False)
class Job:
    """A notebook to be run: from where, with what, to where; its process once it has started."""

    notebook: str
    source: Path
    final: Path  # its output folder
    parameters: dict[str, Any]
    choosing: bool = False  # it ends where it has chosen its settings
    folder: Path = Path()  # the attempt's own
    fault: str = ""  # why its text cannot be run
    default_parameters: bool = False  # the notebook's own for its profile: these are published
    fingerprint: dict[str, Any] = field(default_factory=dict)  # see `resume.fingerprint`
    reads: list[str] = field(default_factory=list)  # notebooks whose results it reads
    inputs: dict[str, str] = field(default_factory=dict)  # digests of these when it started
    expected_s: float = 0.0
    expected_mb: float = 0.0  # at its peak
    alone: bool = False  # it is about time, or was killed beside others
    process: Any = None
    started: datetime | None = None
    clock: WorkingClock | None = None  # looked at while the job runs

    #: What the choosing stage writes at its end.
    chosen = property(lambda self: self.folder / "settings.yml")

    @property
    def elapsed(self) -> float:
        return self.clock() if self.clock else 0.0

    @property
    def published(self) -> bool:
        return self.parameters["profile"] == "full" and self.default_parameters


def start(job: Job, paths: Paths, place: Any, threads: int) -> None:
    """Start a job's process, with so many of BLAS's threads."""
    job.inputs = inputs_of(paths, job.reads, job.parameters["profile"])
    job.started = datetime.now(UTC)
    where = {"source": str(job.source), "folder": str(job.folder)}
    description = {"notebook": job.notebook, "parameters": job.parameters, **where}
    environment = {
        **{f"{name}_THREADS": str(threads) for name in _THREADS},
        "INVARIANCE_ROOT": str(paths.root),
        "TQDM_DISABLE": "1",
        "PYTHONHASHSEED": "0",  # sets of strings come in the same order in every run
        # as a kernel sets it; here before anything is imported
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "JUPYTER_PLATFORM_DIRS": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        **({STAGE: str(job.chosen)} if job.choosing else {}),
    }
    shutil.rmtree(job.folder, ignore_errors=True)
    write_json(job.folder / ".work" / "job.json", description)
    job.process = place.start(description, environment)
    job.clock = WorkingClock()  # the first notebook may have waited for the server of forks


def ending(job: Job) -> tuple[str, dict[str, Any] | None]:
    """Status and failure of a worker that has exited by itself."""
    if outcome := read_outcome(job.folder / ".work" / "outcome.json"):
        told = outcome["failure"]
        if told or outcome["status"] == "ok":
            return outcome["status"], failure("") | told if told else None
    if not job.folder.exists():
        return "failed", failure(f"{job.folder} was removed while it ran")
    code = job.process.exitcode
    if code == 255:  # multiprocessing's server is gone, and with it all that it had forked
        code = -signal.SIGKILL
    if code is not None and code < 0:
        how = signal.Signals(-code).name + " (out of memory?)" * (code == -signal.SIGKILL)
        return "killed", failure(f"the notebook's process was killed by {how}", job.folder)
    if shutil.disk_usage(job.folder).free < _LITTLE_SPACE:
        return "failed", failure(f"no space left for {job.final}: free some, then run again")
    log = ""
    with suppress(OSError):
        log = (
            (job.folder / ".work" / "worker.log")
            .read_text(errors="replace", encoding="utf-8")[-2000:]
            .strip()
        )
    if log.endswith("KeyboardInterrupt"):  # before it could take the signal as its own end
        return "killed", failure("the notebook's process was killed by SIGINT while it started")
    message = f"the notebook's process ended with code {code}: {log or 'it said nothing'}"
    return "failed", failure(message, job.folder)


def finish(job: Job, paths: Paths, place: Any, status: str, why: dict[str, Any] | None) -> Outcome:
    """End a job's processes and put in its place what is kept of it."""
    duration = job.elapsed
    place.end(job.process, job.folder)
    if status == "ok" and (fault := _fault(job) or _change(job, paths)):
        status, why = "failed", failure(fault)
    try:
        if status == "ok":
            why = None
            _keep_success(job, paths)
        else:
            why = why or failure("no reason known")
            _keep_failure(job, status, why)
    except OSError as error:
        said = f"{why['message']} (and: {error})" if why else str(error)
        status, why = status if why else "failed", (why or failure("")) | {"message": said}
    shutil.rmtree(job.folder, ignore_errors=True)
    return Outcome(job.notebook, status, duration, why)


def _fault(job: Job) -> str | None:
    """What is wrong with what an attempt left that says it went well; None if nothing is."""
    if not (job.folder / ".work" / "job.json").is_file():
        return f"{job.folder} was removed while it ran; what it had written by then is lost"
    if size := _too_large(job.folder / "executed.ipynb"):
        return f"the notebook's output takes {size} MB, at most {_MOST_MB} are kept: print less"
    executed, problems = read_executed(job.folder / "executed.ipynb")
    if executed is None:
        return problems[0] if problems else "the executed notebook is missing"
    if job.choosing and not job.chosen.is_file():
        return "no run.measure() came: it ends the choosing, and writes what was chosen"
    results, problems = read_results(job.folder, job.notebook)
    if results is None:
        return problems[0] if problems else None
    recorded = results["parameters"]
    if different := [n for n, v in job.parameters.items() if n not in recorded or recorded[n] != v]:
        listed = ", ".join(f"{name}={name}" for name in job.parameters)
        line = f'    run = Run("{job.notebook}", {listed})'
        return f"the results were recorded without the run's {', '.join(different)}; write\n{line}"
    return None


def _change(job: Job, paths: Paths) -> str | None:
    """What has changed while an attempt ran: its results may be of neither text."""
    if changed := changed_meanwhile(paths, job):
        return f"{changed} changed while it ran: run it again"
    return None


def _too_large(path: Path) -> int:
    """Megabytes of a file that holds too many; 0 of any other."""
    megabytes = path.stat().st_size // 10**6 if path.is_file() else 0
    return megabytes if megabytes > _MOST_MB else 0


def _write_status(job: Job, folder: Path, status: str, **fields: Any) -> None:
    content: dict[str, Any] = {"notebook": job.notebook, "parameters": job.parameters}
    now = datetime.now(UTC)
    for name, at in {"started": job.started or now, "finished": now}.items():
        content[name] = at.isoformat(timespec="seconds")
    content |= {"status": status, "duration_s": round(job.elapsed, 2)}
    write_json(folder / "status.json", content | fields)


def _keep_success(job: Job, paths: Paths) -> None:
    shutil.rmtree(job.folder / ".work", ignore_errors=True)
    follows = {"fingerprint": job.fingerprint, "inputs": job.inputs}
    success = follows | {"outputs": outputs_of(job.folder)}
    _write_status(job, job.folder, "ok", failure=None, success=success)
    # published first: a kill in between leaves a notebook that runs again, not one that is kept
    # beside an earlier publication
    if job.choosing and job.parameters["profile"] == "full":
        write_bytes(paths.settings(job.notebook), job.chosen.read_bytes())
        record_digests(paths, paths.settings(job.notebook))
    elif job.published and (job.folder / "results.json").is_file():
        _publish(job, job.folder, paths)
    replace_folder(job.folder, job.final)


def _keep_failure(job: Job, status: str, why: dict[str, Any]) -> None:
    if job.folder.exists() and status != "interrupted":
        shutil.rmtree(job.folder / ".work", ignore_errors=True)
        partial = job.folder / "executed.ipynb"
        if _too_large(partial) or read_executed(partial)[0] is None:
            partial.unlink(missing_ok=True)
        replace_folder(job.folder, job.final / "failed")
    before, _ = read_status(job.final, job.notebook)
    success = before["success"] if before else None
    _write_status(job, job.final, status, failure=why, success=success)


def publish_again(job: Job, paths: Paths) -> None:
    """Publish a valid result once more, in place of a copy of it or of what cannot be read."""
    target = paths.published(job.notebook)
    mine, theirs = (file_digest(folder / "results.json") for folder in (job.final, target))
    known = theirs == mine or not read_results(target, job.notebook)[0]
    if mine is not None and job.published and known:
        _publish(job, job.final, paths)


def _publish(job: Job, folder: Path, paths: Paths) -> None:
    target = paths.published(job.notebook)
    fresh = target.with_name(f".{target.name}.{job.folder.parents[1].name}")
    with writing(target):
        try:
            fresh.mkdir(parents=True, exist_ok=True)
            for path in folder.iterdir():
                if path.suffix in _PUBLISHED or path.name == "results.json":
                    shutil.copyfile(path, fresh / path.name)
        except OSError:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
    replace_folder(fresh, target)
    record_digests(paths, target)
