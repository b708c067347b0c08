"""One attempt at a notebook: start its process, read how it ended, keep its results or not.

An attempt writes to a folder of its runner (`places`). If it succeeds, that folder replaces the
output folder by a rename. If it fails, the folder becomes ``failed/`` inside the output folder, and
the last good results stay. ``status.json`` describes the latest attempt, and holds what `resume`
needs to know about the latest success.
"""

import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from ..clock import WorkingClock
from ..files import file_digest, replace_folder, write_bytes, write_json, writing
from ..ledger.guard import record_digests
from ..ledger.results import outputs_of, read_executed, read_outcome, read_results, read_status
from ..ledger.settings import STAGE
from ..paths import Paths
from .loss import lost_results
from .resume import changed_meanwhile, imported_modules, inputs_of, undeclared_reads
from .worker import failure

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# With fewer free bytes than this, a worker that left no message died of a full disk.
_LITTLE_SPACE = 2**17
# Larger executed notebooks are neither kept nor read: reading one takes minutes.
_MAX_OUTPUT_MB = 100
_PUBLISHED_SUFFIXES = (".svg", ".png", ".csv")


class Process(Protocol):
    """The process of a notebook, with these methods of multiprocessing's."""

    @property
    def exitcode(self) -> int | None: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...

    def join(self, timeout: float | None = None) -> None: ...


class Place(Protocol):
    """Runs the processes of notebooks.

    At most `slots` run at a time, together in `memory_mb` MiB. A batch looks at them every
    `glance_s` seconds. `architecture` names the processors, since digits depend on them.
    """

    memory_mb: float
    glance_s: float

    @property
    def slots(self) -> int: ...

    @property
    def architecture(self) -> str: ...

    def start(self, description: dict[str, Any], environment: dict[str, str]) -> Process: ...

    def end(self, process: Process | None, folder: Path) -> None: ...


@dataclass(frozen=True)
class Outcome:
    """How one notebook ended: ``status`` is ok, failed, timeout, killed or interrupted.

    ``notebook`` is its name, in a sweep followed by the name of the combination.
    """

    notebook: str
    status: str
    duration_s: float
    failure: dict[str, Any] | None = None
    resumed: bool = False


@dataclass(frozen=True)
class Task:
    """A request to run a notebook: the values of some of its parameters, str as on a command line.

    A combination of a sweep has its own name and output folder. Its results are never published.
    """

    notebook: str
    values: Mapping[str, Any]
    combination: str = ""
    folder: Path | None = None  # of the outputs; None for the folder of the notebook

    @property
    def name(self) -> str:
        """The name of the notebook, and of the combination if there is one."""
        return f"{self.notebook}/{self.combination}" if self.combination else self.notebook


@dataclass(eq=False)
class Job:
    """A notebook to run: its source, parameters and folders, and its process once started."""

    task: Task
    source: Path
    final: Path  # the output folder
    parameters: dict[str, Any]
    choosing: bool = False  # stops after it has chosen its settings
    folder: Path = Path()  # the folder of this attempt
    fault: str = ""  # the reason why the text cannot be run
    default_parameters: bool = False  # all as the profile has them: such results are published
    fingerprint: dict[str, Any] = field(default_factory=dict)  # see `resume.fingerprint`
    reads: list[str] = field(default_factory=list)  # notebooks whose results it reads
    inputs: dict[str, str] = field(default_factory=dict)  # digests of their results at the start
    expected_s: float = 0.0
    expected_mb: float = 0.0  # at its peak
    alone: bool = False  # run alone: it measures time, or was killed for memory before
    process: Process | None = None
    started: datetime | None = None
    clock: WorkingClock | None = None

    @property
    def notebook(self) -> str:
        return self.task.notebook

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def chosen(self) -> Path:
        """The file that the choosing stage writes at its end."""
        return self.folder / "settings.yml"

    @property
    def work(self) -> Path:
        """The folder in which runner and worker leave messages for each other."""
        return self.folder / ".work"

    @property
    def elapsed(self) -> float:
        return self.clock() if self.clock else 0.0

    @property
    def published(self) -> bool:
        return self.parameters["profile"] == "full" and self.default_parameters


def start(job: Job, paths: Paths, place: Place, threads: int) -> None:
    """Start a job's process, with that many BLAS threads."""
    job.inputs = inputs_of(paths, job.reads, job.parameters["profile"])
    job.started = datetime.now(UTC)
    description = {
        "notebook": job.notebook,
        "parameters": job.parameters,
        "source": str(job.source),
        "folder": str(job.folder),
        "reads": job.reads,
    }
    environment = dict.fromkeys(_THREAD_VARIABLES, str(threads))
    environment["INVARIANCE_ROOT"] = str(paths.root)
    environment["TQDM_DISABLE"] = "1"
    # Sets of strings are iterated in the same order in every run.
    environment["PYTHONHASHSEED"] = "0"
    # A kernel sets this variable, but only after some packages have been imported.
    environment["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    environment["JUPYTER_PLATFORM_DIRS"] = "1"
    environment["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    if job.choosing:
        environment[STAGE] = str(job.chosen)
    shutil.rmtree(job.folder, ignore_errors=True)
    write_json(job.work / "job.json", description)
    job.process = place.start(description, environment)
    # The clock starts now, since the first notebook may have waited for the fork server.
    job.clock = WorkingClock()


def ending(job: Job) -> tuple[str, dict[str, Any] | None]:
    """Return status and failure of a worker that has exited by itself."""
    outcome = read_outcome(job.work / "outcome.json")
    if outcome:
        reported = outcome["failure"]
        if reported:
            return outcome["status"], failure("") | reported
        if outcome["status"] == "ok":
            return "ok", None
    if not job.folder.exists():
        return "failed", failure(f"{job.folder} was removed while it ran")
    code = job.process.exitcode if job.process else None
    if code == 255:  # the fork server has ended, and the worker with it
        code = -signal.SIGKILL
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        if code == -signal.SIGKILL:
            name += " (out of memory?)"
        return "killed", failure(f"the notebook's process was killed by {name}", job.folder)
    if shutil.disk_usage(job.folder).free < _LITTLE_SPACE:
        return "failed", failure(f"no space left for {job.final}: free some, then run again")
    log = _end_of_log(job)
    if log.endswith("KeyboardInterrupt"):  # the signal came before the worker could handle it
        return "killed", failure("the notebook's process was killed by SIGINT while it started")
    message = f"the notebook's process ended with code {code}: {log or 'it printed nothing'}"
    return "failed", failure(message, job.folder)


def _end_of_log(job: Job) -> str:
    try:
        log = (job.work / "worker.log").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return log[-2000:].strip()


def finish(
    job: Job, paths: Paths, place: Place, status: str, reason: dict[str, Any] | None
) -> Outcome:
    """End a job's processes, and keep its results or its failure in the output folder."""
    duration = job.elapsed
    place.end(job.process, job.folder)
    if status == "ok":
        fault = _fault(job) or _undeclared(job) or _change(job, paths) or _loss(job, paths)
        if fault:
            status = "failed"
            reason = failure(fault)
    try:
        if status == "ok":
            reason = None
            _keep_success(job, paths)
        else:
            reason = reason or failure("no reason known")
            _keep_failure(job, status, reason)
    except OSError as error:
        if reason:
            reason = reason | {"message": f"{reason['message']} (and: {error})"}
        else:
            status = "failed"
            reason = failure(str(error))
    shutil.rmtree(job.folder, ignore_errors=True)
    return Outcome(job.name, status, duration, reason)


def _fault(job: Job) -> str | None:
    """Return the fault of an attempt that reports success, or None."""
    if not (job.work / "job.json").is_file():
        return f"{job.folder} was removed while it ran; its outputs up to then are lost"
    size = _excessive_megabytes(job.folder / "executed.ipynb")
    if size:
        return (
            f"the notebook's output takes {size} MB, at most {_MAX_OUTPUT_MB} are kept: print less"
        )
    executed, problems = read_executed(job.folder / "executed.ipynb")
    if executed is None:
        return problems[0] if problems else "the executed notebook is missing"
    if job.choosing and not job.chosen.is_file():
        return "run.measure() was not called: it ends the choosing, and writes the chosen settings"
    results, problems = read_results(job.folder)
    if results is None:
        return problems[0] if problems else None
    named = results.get("notebook", job.notebook)
    if named != job.notebook:
        return f"calls Run with {[named]}; expected one Run({job.notebook!r}, ...)"
    return _unrecorded_parameters(job, results["parameters"])


def _unrecorded_parameters(job: Job, recorded: dict[str, Any]) -> str | None:
    """Return a message if the notebook did not hand all its parameters to its `Run`."""
    different = []
    for name, value in job.parameters.items():
        if name not in recorded or recorded[name] != value:
            different.append(name)
    if not different:
        return None
    arguments = ", ".join(f"{name}={name}" for name in job.parameters)
    remedy = f'    run = Run("{job.notebook}", {arguments})'
    return f"the results were recorded without the run's {', '.join(different)}; write\n{remedy}"


def _undeclared(job: Job) -> str | None:
    """Return a message if the notebook has read results that its header does not name."""
    missing = undeclared_reads(job)
    if not missing:
        return None
    listed = ", ".join([*job.reads, *missing])
    return (
        f"it has read results of {', '.join(missing)}, which its header does not name: it would "
        f"not run again when they change. Write in the header\n"
        f"    # jupyter:\n    #   invariance:\n    #     reads: [{listed}]"
    )


def _change(job: Job, paths: Paths) -> str | None:
    """Return a message if an input changed during the attempt: results may mix both versions."""
    changed = changed_meanwhile(paths, job)
    return f"{changed} changed while it ran: run it again" if changed else None


def _loss(job: Job, paths: Paths) -> str | None:
    """Return a message if published results would be lost that the notebook still names."""
    if not job.published or job.choosing:
        return None
    published = paths.published(job.notebook)
    lost = lost_results(published, job.folder, job.source, job.notebook)
    if not lost:
        return None
    problem = f"this run lacks what the published results have: {', '.join(lost)}"
    remedy = f"to give them up, remove {published}"
    question = "Is an optional package missing, or a file?"
    return f"{problem}. {question} The published results are untouched; {remedy}"


def _excessive_megabytes(path: Path) -> int:
    """Size of a file above the limit, in megabytes; 0 for every other file."""
    if not path.is_file():
        return 0
    megabytes = path.stat().st_size // 10**6
    return megabytes if megabytes > _MAX_OUTPUT_MB else 0


def _write_status(job: Job, folder: Path, status: str, **fields: Any) -> None:
    now = datetime.now(UTC)
    started = job.started or now
    content = {
        "notebook": job.notebook,
        "parameters": job.parameters,
        "started": started.isoformat(timespec="seconds"),
        "finished": now.isoformat(timespec="seconds"),
        "status": status,
        "duration_s": round(job.elapsed, 2),
    }
    write_json(folder / "status.json", content | fields)


def _keep_success(job: Job, paths: Paths) -> None:
    imported = imported_modules(paths, job)
    shutil.rmtree(job.work, ignore_errors=True)
    success = {
        "fingerprint": job.fingerprint,
        "inputs": job.inputs,
        "imported": imported,
        "outputs": outputs_of(job.folder),
    }
    _write_status(job, job.folder, "ok", failure=None, success=success)
    # Publish first: after a kill in between, the notebook runs again. In the other order, it would
    # be kept while an earlier publication stays.
    if job.choosing and job.parameters["profile"] == "full":
        settings = paths.settings(job.notebook)
        write_bytes(settings, job.chosen.read_bytes())
        record_digests(paths, settings)
    elif job.published and (job.folder / "results.json").is_file():
        _publish(job, job.folder, paths)
    replace_folder(job.folder, job.final)


def _keep_failure(job: Job, status: str, reason: dict[str, Any]) -> None:
    if job.folder.exists() and status != "interrupted":
        shutil.rmtree(job.work, ignore_errors=True)
        partial = job.folder / "executed.ipynb"
        if _excessive_megabytes(partial) or read_executed(partial)[0] is None:
            partial.unlink(missing_ok=True)
        replace_folder(job.folder, job.final / "failed")
    before, _ = read_status(job.final, job.notebook)
    success = before["success"] if before else None
    _write_status(job, job.final, status, failure=reason, success=success)


def publish_again(job: Job, paths: Paths) -> None:
    """Publish a valid result again, over an identical or an unreadable publication."""
    target = paths.published(job.notebook)
    valid = file_digest(job.final / "results.json")
    published = file_digest(target / "results.json")
    if valid is None or not job.published:
        return
    if published == valid or not read_results(target, job.notebook)[0]:
        _publish(job, job.final, paths)


def _publish(job: Job, folder: Path, paths: Paths) -> None:
    target = paths.published(job.notebook)
    runner = job.folder.parents[1].name
    copy = target.with_name(f".{target.name}.{runner}")
    with writing(target):
        try:
            copy.mkdir(parents=True, exist_ok=True)
            for path in folder.iterdir():
                if path.suffix in _PUBLISHED_SUFFIXES or path.name == "results.json":
                    shutil.copyfile(path, copy / path.name)
        except OSError:
            shutil.rmtree(copy, ignore_errors=True)
            raise
    replace_folder(copy, target)
    record_digests(paths, target)
