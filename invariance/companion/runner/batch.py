"""Run a batch of notebooks: each in its own process, several at a time (see `attempt`).

A batch consists of tasks: notebooks with values of parameters. `run_notebooks` runs each notebook
once, and `sweep` runs one notebook with many combinations of values.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf, isinf
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ...core.parameters import ParameterError
from ..errors import NotebookError
from ..files import ensure_writable, repair_folder
from ..ledger.claims import Ledger, load_ledger
from ..ledger.registration import Registrar, undeclared
from ..ledger.results import read_results
from ..ledger.settings import CHOOSING_SEED
from ..paths import PROFILES, Paths
from ..source import Parameter, may_choose, read_parameters, reads, resolve, runs_alone
from .attempt import Job, Outcome, Place, Task, ending, finish, publish_again, start
from .places import Here, runner_folder, take_outputs
from .resume import NEW, fingerprint, reason_to_run
from .worker import failure

# Seconds after which a notebook counts as hanging, unless --deadline sets another limit.
DEADLINES = {"quick": 900.0, "full": 24 * 3600.0}

# Grace period, in seconds, for a signal that is sent to all processes.
_TOGETHER = 0.5
# Memory, in MiB, that a notebook is assumed to need before its first run.
_UNKNOWN_MB = 1024.0
# Signals that end a process; Windows has no SIGHUP.
_ENDING_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]

_Ending = tuple[str, dict[str, Any] | None]  # status and failure


@dataclass(frozen=True)
class Summary:
    """Outcomes of all notebooks, and whether the run was interrupted."""

    outcomes: list[Outcome]
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return 130
        return int(any(outcome.status != "ok" for outcome in self.outcomes))


@dataclass(frozen=True)
class _Request:
    """The arguments of a run that are the same for all its tasks."""

    paths: Paths
    profile: str
    threads: int
    choosing: bool = False
    architecture: str = ""  # of the processors that compute; see `resume.fingerprint`


def run_notebooks(
    paths: Paths,
    notebooks: Sequence[str],
    *,
    profile: str = "quick",
    parameters: Mapping[str, Any] | None = None,
    place: Place | None = None,
    resume: bool = False,
    choosing: bool = False,
    threads: int = 1,
    deadline: float | None = None,
    tell: Callable[[Outcome], None] | None = None,
) -> Summary:
    """Run notebooks, several at a time, longest first, each after those whose results it reads.

    Notebooks run together only if the place has enough memory for all, judged by their earlier
    runs. Notebooks that measure time (see `source`) run at the end of a full run, one by one. A
    notebook whose process was killed while others were running is tried once more, alone, since
    the system may have run out of memory.

    Parameters
    ----------
    paths : Paths
        The project.
    notebooks : sequence of str
        Names such as ``"paper/theorem1"``.
    profile : {"quick", "full"}
        The scale of the run.
    parameters : mapping, optional
        Values of parameters that all these notebooks have; str as on a command line.
    place : Here, optional
        Where the notebooks run; default: processes of this machine.
    resume : bool
        Skip notebooks whose stored results are those that a run would give.
    choosing : bool
        Run with seed 0 and without test data, until the settings are chosen.
    threads : int
        BLAS threads of each notebook.
    deadline : float, optional
        Seconds after which a notebook is killed; default: `DEADLINES`.
    tell : callable, optional
        Called with each outcome.

    Raises
    ------
    ParameterError, NotebookError, LedgerError, OutputError
        If an argument is invalid. No notebook has run then.
    """
    if choosing:
        _refuse_without_choice(paths, notebooks)
    values = parameters or {}
    tasks = [Task(notebook, values) for notebook in notebooks]
    return run_tasks(
        paths,
        tasks,
        profile=profile,
        place=place,
        resume=resume,
        choosing=choosing,
        threads=threads,
        deadline=deadline,
        tell=tell,
    )


def run_tasks(
    paths: Paths,
    tasks: Sequence[Task],
    *,
    profile: str = "quick",
    place: Place | None = None,
    resume: bool = False,
    choosing: bool = False,
    threads: int = 1,
    deadline: float | None = None,
    tell: Callable[[Outcome], None] | None = None,
    shared_outputs: Mapping[str, Any] | None = None,
) -> Summary:
    """Run tasks, each with an output folder of its own; see `run_notebooks`.

    `shared_outputs` maps each further file that is written from the results of all tasks to the
    values that determine it. If another run is about to write one of them from other values, a
    `NotebookError` is raised, and nothing runs.
    """
    place = place or Here()
    if profile not in PROFILES:
        raise ParameterError(f"unknown profile {profile!r}: {' or '.join(PROFILES)}")
    if deadline is None:
        deadline = DEADLINES[profile]
    for name, number in {"jobs": place.slots, "threads": threads, "deadline": deadline}.items():
        if not 1 <= number < inf:
            raise ParameterError(f"{name}={number}: at least 1, and finite")
    ledger = load_ledger(paths.ledger)
    request = _Request(paths, profile, threads, choosing, place.architecture)
    jobs = [_job(request, task) for task in tasks]
    ensure_writable(paths.build / profile)
    with (
        _signals_noted() as signals,
        runner_folder(paths) as folder,
        tqdm(total=len(jobs), unit="notebook", disable=None) as bar,
    ):
        batch = _Batch(request, place, deadline, signals, bar, tell)
        for job in jobs:
            job.folder = folder / job.name
            if job.fault:
                batch.end(job, "failed", failure(job.fault))
        waiting = [job for job in jobs if not job.fault]
        waiting = batch.without_conflicts(waiting, folder, shared_outputs or {})
        if resume:
            waiting = batch.without_valid(waiting, ledger)
        waiting = batch.without_undeclared(waiting, ledger)
        batch.run(sorted(waiting, key=_longest_first))
    return Summary(batch.outcomes, interrupted=bool(signals))


def reasons_to_run(
    paths: Paths, tasks: Sequence[Task], *, profile: str, threads: int, architecture: str
) -> dict[str, str | None]:
    """Return, for the name of each task, why it would run; None if its results are valid."""
    request = _Request(paths, profile, threads, architecture=architecture)
    jobs = [_job(request, task) for task in tasks]
    ledger = load_ledger(paths.ledger)
    reasons = {}
    for job in jobs:
        reasons[job.name] = job.fault or _reason_to_run(paths, job, ledger)
    return reasons


def _refuse_without_choice(paths: Paths, notebooks: Sequence[str]) -> None:
    """Raise a `NotebookError` if a notebook has no settings to choose."""
    for notebook in notebooks:
        if not may_choose(paths.source(notebook)):
            raise NotebookError(f"{notebook} chooses nothing: it has no Run(..., chooses=True)")


def _longest_first(job: Job) -> tuple[float, int]:
    """Sort key; if no duration is known, a long text suggests a long run."""
    return -job.expected_s, -job.source.stat().st_size


def _job(request: _Request, task: Task) -> Job:
    """Return the job of a task as the text of its notebook is now, or with that text's fault."""
    paths = request.paths
    profile = request.profile
    notebook = task.notebook
    folder_of = paths.choosing if request.choosing else paths.output
    final = task.folder or folder_of(notebook, profile)
    repair_folder(final)
    repair_folder(paths.published(notebook))
    source = paths.source(notebook)
    job = Job(task, source, final, {"profile": profile}, request.choosing)
    try:
        declared = read_parameters(source)
        job.parameters = resolve(notebook, declared, _requested_values(request, task, declared))
        defaults = {name: parameter.default for name, parameter in declared.items()}
        defaults["profile"] = profile
        job.default_parameters = job.parameters == defaults and not task.combination
        job.fingerprint = fingerprint(
            paths, notebook, job.parameters, request.threads, request.architecture
        )
        job.expected_s, job.expected_mb = _expected(paths, job)
        job.reads = reads(paths, notebook)
        # Timings of a quick run are shown but not relied upon.
        job.alone = runs_alone(paths, notebook) and profile == "full"
    except NotebookError as error:
        job.fault = str(error)
    return job


def _requested_values(
    request: _Request, task: Task, declared: Mapping[str, Parameter]
) -> dict[str, Any]:
    """Return the values of parameters for a task; the choosing stage fixes the seeds."""
    values = {**task.values, "profile": request.profile}
    if request.choosing:
        if "seed" in declared:
            values["seed"] = CHOOSING_SEED
        if "seeds" in declared:
            values["seeds"] = [CHOOSING_SEED]
    return values


def _expected(paths: Paths, job: Job) -> tuple[float, float]:
    """Return the expected seconds and MiB of a notebook: the largest among its records.

    Seconds are processor time if that is less than wall time, plus the time that filled its cache.
    A notebook without a record has infinite expected time, so that it starts first.
    """
    folders = [job.final]
    if job.task.combination:
        folders.append(paths.output(job.notebook, job.parameters["profile"]))
    if job.published:
        folders.append(paths.published(job.notebook))
    seconds = []
    memory = []
    for folder in folders:
        results, _ = read_results(folder, job.notebook)
        if results is None or not results["volatile"].get("wall_s"):
            continue
        record = results["volatile"]
        seconds.append(min(record["wall_s"], record["cpu_s"] or inf) + record["cached_s"])
        memory.append(record["peak_memory_mb"] or _UNKNOWN_MB)
    return max(seconds, default=inf), max(memory, default=_UNKNOWN_MB)


@contextmanager
def _signals_noted() -> Iterator[list[int]]:
    """Note Ctrl-C, termination and hang-up in a list; the batch stops at a safe point."""
    noted: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        for number in _ENDING_SIGNALS:
            # nohup makes a process ignore SIGHUP, and this has to stay so.
            is_hangup = number is _ENDING_SIGNALS[-1]
            if is_hangup and signal.getsignal(number) is signal.SIG_IGN:
                continue
            handlers[number] = signal.signal(number, lambda number, _: noted.append(number))
    try:
        yield noted
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _next(waiting: Sequence[Job], running: Sequence[Job], memory_mb: float) -> Job | None:
    """Return the first job that can start now, or None; jobs to run alone come last.

    A job waits for the notebooks that it reads, and for free memory: all running jobs together are
    expected to take at most `memory_mb`. A job that needs more than that runs by itself.
    """
    if any(job.alone for job in running):
        return None
    unfinished = {job.notebook for job in (*waiting, *running)}
    ready = [job for job in waiting if unfinished.isdisjoint(job.reads)]
    free_mb = memory_mb - sum(job.expected_mb for job in running)
    for job in ready:
        fits = job.expected_mb <= free_mb or not running
        if fits and not job.alone:
            return job
    if ready and not running:
        return ready[0]
    return None


@dataclass
class _Batch:
    """The jobs of one run: waiting, running, ended."""

    request: _Request
    place: Place
    deadline: float
    signals: list[int]  # received so far; the run stops after the first
    bar: Any
    tell: Callable[[Outcome], None] | None
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def paths(self) -> Paths:
        return self.request.paths

    def done(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.bar.update()
        if self.tell:
            with self.bar.external_write_mode():
                self.tell(outcome)

    def end(self, job: Job, status: str, reason: dict[str, Any] | None) -> None:
        self.done(finish(job, self.paths, self.place, status, reason))

    def without_conflicts(
        self, jobs: Sequence[Job], folder: Path, shared_outputs: Mapping[str, Any]
    ) -> list[Job]:
        """Return the jobs whose output folder is free, or written with the same parameters.

        The others fail, and nothing on disk changes: the other runner owns their folder. Raise a
        `NotebookError` if another runner writes one of the shared outputs.
        """
        outputs = {str(job.final): job.parameters for job in jobs}
        taken = take_outputs(folder, {**outputs, **shared_outputs})
        for output in shared_outputs:
            if output in taken:
                fault = f"another run that writes {output} is under way, with other values"
                raise NotebookError(f"{fault}: wait until it has ended")
        for job in jobs:
            parameters = taken.get(str(job.final))
            if parameters is not None:
                reason = failure(_conflict(job, parameters))
                self.done(Outcome(job.name, "failed", 0.0, reason))
        return [job for job in jobs if str(job.final) not in taken]

    def without_valid(self, jobs: Sequence[Job], ledger: Ledger) -> list[Job]:
        """Keep valid results; return the other jobs, and print why each runs again."""
        reasons = {job.name: _reason_to_run(self.paths, job, ledger) for job in jobs}
        _spread_to_readers(jobs, reasons)
        for job in jobs:
            if reasons[job.name] is None:
                reasons[job.name] = self._keep(job)
            reason = reasons[job.name]
            if reason not in (None, NEW):
                self.bar.write(f"{'again':<11}  {job.name:<40}  {reason}")
        return [job for job in jobs if reasons[job.name] is not None]

    def _keep(self, job: Job) -> str | None:
        """Count a valid result as done; return an error that prevents it from being published."""
        try:
            publish_again(job, self.paths)
        except OSError as error:
            return str(error)
        seconds = 0.0 if isinf(job.expected_s) else job.expected_s
        self.done(Outcome(job.name, "ok", seconds, resumed=True))
        return None

    def without_undeclared(self, jobs: Sequence[Job], ledger: Ledger) -> list[Job]:
        """Return the jobs that may run: a changed claim has to be declared before its run."""
        registrar = Registrar(self.paths)
        allowed = []
        for job in jobs:
            changes = []
            if job.published and not job.choosing:
                changes = undeclared(self.paths, job.notebook, ledger, registrar)
            if changes:
                self.end(job, "failed", failure("; ".join(changes)))
            else:
                allowed.append(job)
        return allowed

    def run(self, waiting: list[Job]) -> None:
        running: list[Job] = []
        while (waiting or running) and not self.signals:
            self._start_ready(waiting, running)
            for job in list(running):
                result = self._look(job)
                if result is None:
                    continue
                running.remove(job)
                status, reason = result
                if status == "killed" and running and not job.alone and not self.signals:
                    self._prepare_retry(job, running)
                    waiting.append(job)
                else:
                    self.end(job, status, reason)
            time.sleep(self.place.glance_s)
        for job in running:
            # A job that has succeeded in the meantime is kept.
            result = self._look(job)
            if result is None or result[0] != "ok":
                result = _interrupted(job)
            self.end(job, *result)

    def _start_ready(self, waiting: list[Job], running: list[Job]) -> None:
        while len(running) < self.place.slots:
            job = _next(waiting, running, self.place.memory_mb)
            if job is None:
                return
            waiting.remove(job)
            fault = self._renew(job)
            if fault:
                self.end(job, "failed", failure(fault))
                continue
            try:
                start(job, self.paths, self.place, self.request.threads)
            except OSError as error:
                self.end(job, "failed", failure(str(error)))
                continue
            running.append(job)
            self.bar.set_postfix_str(", ".join(other.name for other in running))

    def _renew(self, job: Job) -> str:
        """Update a job to the present text of its notebook; return the fault of that text."""
        try:
            now = _job(self.request, job.task)
        except (ParameterError, OSError) as error:
            return str(error)
        if not now.fault and now.reads != job.reads:
            return "its header has changed since the run began: run it again"
        job.parameters = now.parameters
        job.default_parameters = now.default_parameters
        job.fingerprint = now.fingerprint
        return now.fault

    def _look(self, job: Job) -> _Ending | None:
        """Return status and failure of a job that has ended or is too late, else None."""
        code = job.process.exitcode if job.process else 0
        if code is None:
            if job.elapsed <= self.deadline:
                return None
            return "timeout", failure(f"killed after {self.deadline:g} s (--deadline)", job.folder)
        status, reason = ending(job)
        if status == "ok":
            return status, reason
        if -code in _ENDING_SIGNALS:
            # A shutdown signals all processes, and may reach the worker before the runner.
            self._wait_for_signal()
        return _interrupted(job) if self.signals else (status, reason)

    def _wait_for_signal(self) -> None:
        end = time.monotonic() + _TOGETHER
        while not self.signals and time.monotonic() < end:
            time.sleep(self.place.glance_s)

    def _prepare_retry(self, job: Job, running: Sequence[Job]) -> None:
        self.place.end(job.process, job.folder)
        job.alone = True
        job.process = None
        names = ", ".join(other.name for other in running)
        self.bar.write(f"{job.name} was killed beside {names}: once more, alone")


def _conflict(job: Job, parameters: Mapping[str, Any]) -> str:
    """Message for a job that another runner runs with other parameters."""
    different = []
    for name, value in parameters.items():
        if job.parameters.get(name, ...) != value:
            different.append(f"{name}={value!r}")
    listed = ", ".join(different) or "other parameters"
    fault = f"another run of {job.notebook} is under way, with {listed}"
    remedy = "wait until it has ended, or run this one in a copy of the checkout"
    return f"{fault}, and both would write to {job.final}: {remedy}"


def _reason_to_run(paths: Paths, job: Job, ledger: Ledger) -> str | None:
    try:
        return reason_to_run(paths, job, ledger)
    except (OSError, ValueError, TypeError, KeyError, RecursionError, MemoryError) as error:
        return f"its results cannot be checked ({type(error).__name__}: {error})"


def _spread_to_readers(jobs: Sequence[Job], reasons: dict[str, str | None]) -> None:
    """Add a reason for each notebook that reads, directly or not, one that runs again."""
    changed = True
    while changed:
        changed = False
        for job in jobs:
            if reasons[job.name] is not None:
                continue
            for name in job.reads:
                if reasons.get(name):
                    reasons[job.name] = f"it reads {name}, which runs again"
                    changed = True


def _interrupted(job: Job) -> _Ending:
    return "interrupted", failure("stopped before it was finished", job.folder)
