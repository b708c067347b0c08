"""Run notebooks: each in its own process, several at a time, nothing half-written (`attempt`)."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from math import inf, isinf
from pathlib import Path
from typing import Any

from tqdm import tqdm

from invariance.companion.errors import NotebookError
from invariance.companion.files import ensure_writable, read_json, repair_folder, write_json
from invariance.companion.ledger.claims import Ledger, load_ledger
from invariance.companion.ledger.protocols import registered
from invariance.companion.ledger.results import read_results, read_status
from invariance.companion.ledger.verdicts import judge_again
from invariance.companion.order import reads, runs_alone
from invariance.companion.parameters import read_parameters, resolve
from invariance.companion.paths import PROFILES, Paths
from invariance.companion.runner.attempt import (
    Job,
    Outcome,
    ending,
    finish,
    publish_again,
    start,
)
from invariance.companion.runner.lock import runner_folder
from invariance.companion.runner.places import Here
from invariance.companion.runner.resume import NEW, fingerprint, inputs_of, reason_to_run
from invariance.companion.runner.worker import failure
from invariance.core.parameters import ParameterError

# seconds after which a notebook counts as hanging, unless --deadline says otherwise
DEADLINES = {"quick": 900.0, "full": 24 * 3600.0}

# seconds between two looks at the notebooks that run, and for a signal to all to arrive here too
_GLANCE, _TOGETHER = 0.05, 0.5
# MiB that a notebook is taken to need until it has run
_UNKNOWN_MB = 1024.0
_STOPPED = (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP)


@dataclass(frozen=True)
class Summary:
    """Outcomes of all notebooks, and whether the run was cut short."""

    outcomes: list[Outcome]
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return 130
        return int(any(outcome.status != "ok" for outcome in self.outcomes))


def run_notebooks(
    paths: Paths,
    notebooks: Sequence[str],
    *,
    profile: str = "quick",
    parameters: Mapping[str, Any] | None = None,
    place: Any = None,
    resume: bool = False,
    threads: int = 1,
    deadline: float | None = None,
    tell: Callable[[Outcome], None] | None = None,
) -> Summary:
    """Run notebooks, several at a time, longest first, each after those whose results it reads.

    Together they take no more memory than the place has, by what they took before. Notebooks that
    say so (see `order`) run at the end of a full run, one by one. So does, once more, one whose
    process was killed while others were running, as a system does that is out of memory.

    Parameters
    ----------
    paths : Paths
    notebooks : sequence of str
        ``<paper>/<name>``; see ``Paths.select``.
    profile : {"quick", "full"}
    parameters : mapping, optional
        Values for parameters that every one of the notebooks has; str as on a command line.
    place : optional
        Where they run, and how many at a time; default: `Here`, one a core.
    resume : bool
        Skip notebooks whose results are those that a run would give; see `resume`.
    threads : int
        BLAS threads of each notebook; fixed, so that results do not depend on `place`.
    deadline : float, optional
        Seconds after which a notebook is killed (default: `DEADLINES`).
    tell : callable, optional
        Called with each outcome as it arrives.

    Raises
    ------
    ParameterError, LedgerError, OutputError
        Before anything is run: unknown parameter or profile, wrong type, malformed ledger, an
        output folder that cannot be written to.
    """
    if profile not in PROFILES:
        raise ParameterError(f"unknown profile {profile!r}: {' or '.join(PROFILES)}")
    place = place or Here()
    deadline = DEADLINES[profile] if deadline is None else deadline
    for name, number in {"jobs": place.slots, "threads": threads, "deadline": deadline}.items():
        if not 1 <= number < inf:
            raise ParameterError(f"{name}={number}: at least 1, and finite")
    ledger = load_ledger(paths.ledger)
    given = {**(parameters or {}), "profile": profile}
    jobs, malformed = [], {}
    for notebook in notebooks:
        source, final = paths.source(notebook), paths.output(notebook, profile)
        job = Job(notebook, source, final, final, {"profile": profile})
        jobs.append(job)
        try:
            own = read_parameters(source)
            job.parameters = resolve(notebook, own, given)
            defaults = {name: p.default for name, p in own.items()} | {"profile": profile}
            job.default_parameters = job.parameters == defaults
        except NotebookError as error:
            malformed[job] = str(error)
    ensure_writable(paths.build / profile)
    with (
        _signals_noted() as stop,
        runner_folder(paths) as folder,
        tqdm(total=len(jobs), unit="notebook", disable=None) as bar,
    ):
        batch = _Batch(paths, place, threads, deadline, stop, bar, tell)
        for job in jobs:
            job.folder = folder / job.notebook
            repair_folder(job.final)
            repair_folder(paths.published(job.notebook))
            try:
                if job not in malformed:
                    _prepare(job, paths, threads)
            except NotebookError as error:
                malformed[job] = str(error)
            if job in malformed:
                batch.end(job, "failed", failure(malformed[job]))
        waiting = [job for job in jobs if job not in malformed]
        if resume:
            waiting = batch.keep(waiting, profile, ledger)
        # a text's length says little of its time, and more than nothing
        batch.run(sorted(waiting, key=lambda job: (-job.expected_s, -job.source.stat().st_size)))
    return Summary(batch.outcomes, interrupted=bool(stop))


def _prepare(job: Job, paths: Paths, threads: int) -> None:
    """Find out what a job follows from, and what it will take."""
    profile = job.parameters["profile"]
    job.fingerprint = fingerprint(paths, job.notebook, job.parameters, threads)
    job.expected_s, job.expected_mb = _expected(paths, job.notebook, profile)
    job.reads = reads(paths, job.notebook)
    # seconds at a toy's scale are shown, not believed
    job.alone = runs_alone(paths, job.notebook) and profile == "full"


def _expected(paths: Paths, notebook: str, profile: str) -> tuple[float, float]:
    """Seconds and MiB that a notebook takes, by its records.

    Seconds are those of a run and of the earlier ones that filled its cache: of the processor
    where they are fewer than by the clock, for others may have run beside it. A record from before
    that was noted says too little, hence the largest counts. A notebook never run comes first: it
    may be the longest.
    """
    folders = [paths.output(notebook, profile)]
    if profile == "full":
        folders.append(paths.published(notebook))
    seconds, memory = [], []
    for folder in folders:
        volatile = (read_results(folder, notebook)[0] or {"volatile": {}})["volatile"]
        if volatile.get("wall_s"):
            own = min(volatile["wall_s"], volatile["cpu_s"] or inf)
            seconds.append(own + volatile["cached_s"])
            memory.append(volatile["peak_memory_mb"] or _UNKNOWN_MB)
    return max(seconds, default=inf), max(memory, default=_UNKNOWN_MB)


@contextmanager
def _signals_noted() -> Iterator[list[int]]:
    """Note Ctrl-C, termination and hang-up instead of obeying: nothing is cut in the middle."""
    noted: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # nohup leaves the last one ignored, and it stays so
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, lambda number, _: noted.append(number))
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _reasons(
    jobs: Sequence[Job], paths: Paths, profile: str, ledger: Ledger
) -> dict[str, str | None]:
    """Why each job has to run again; None where its last success is what a run would give.

    An attempt that was interrupted takes nothing away from the success before it.
    """
    by_name = {job.notebook: job for job in jobs}

    @cache
    def reason(notebook: str) -> str | None:
        job = by_name[notebook]
        inputs = inputs_of(paths, job.reads, profile)
        try:
            own = reason_to_run(job.final, notebook, job.fingerprint, inputs)
        except (OSError, ValueError, TypeError, KeyError, RecursionError, MemoryError) as error:
            own = f"its results cannot be checked ({type(error).__name__}: {error})"
        if own is None and profile == "full":
            own = _other_protocol(job, paths, ledger)
        again = (name for name in job.reads if name in by_name and reason(name))
        return own or next((f"it reads {name}, which runs again" for name in again), None)

    return {name: reason(name) for name in by_name}


def _other_protocol(job: Job, paths: Paths, ledger: Ledger) -> str | None:
    results, _ = read_results(job.final, job.notebook)
    for claim_id, entry in (results["claims"] if results else {}).items():
        if claim_id in ledger:
            if entry["protocol"] != registered(ledger[claim_id], paths, job.notebook):
                return f"the protocol of {claim_id} has changed"
    return None


def _refresh_verdicts(folder: Path, notebook: str, ledger: Ledger) -> None:
    """Judge stored numbers again where the ledger has changed since."""
    if read_results(folder, notebook)[0] is None:
        return
    before: Any = read_json(folder / "results.json")
    content: Any = read_json(folder / "results.json")
    for claim_id, entry in content["claims"].items():
        # numbers of a protocol that was never registered keep the verdict of their time
        ours = content["profile"] == "quick" or entry.get("protocol")
        if ours and claim_id in ledger and ledger[claim_id].kind == entry["kind"]:
            verdict = judge_again(ledger[claim_id], entry["recorded"])
            entry.update(verdict._asdict() if verdict else {})
    if content != before:
        write_json(folder / "results.json", content)


def _next(waiting: Sequence[Job], running: Sequence[Job], room: float) -> Job | None:
    """The first job that can start now; those to run alone come last.

    It reads nothing of one which is yet to end, and what it needs of memory is free: at most
    `room` MiB are given away together. What needs more than that runs by itself.
    """
    if any(job.alone for job in running):
        return None
    to_end = {job.notebook for job in (*waiting, *running)}
    ready = [job for job in waiting if to_end.isdisjoint(job.reads)]
    free = room - sum(job.expected_mb for job in running)
    beside = (job for job in ready if not job.alone and (job.expected_mb <= free or not running))
    return next(beside, ready[0] if ready and not running else None)


@dataclass
class _Batch:
    """The jobs of one run on their way: waiting, running, ended."""

    paths: Paths
    place: Any
    threads: int
    deadline: float
    stop: list[int]
    bar: Any
    tell: Callable[[Outcome], None] | None
    outcomes: list[Outcome] = field(default_factory=list)

    def done(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.bar.update()
        if self.tell:
            with self.bar.external_write_mode():
                self.tell(outcome)

    def end(self, job: Job, status: str, why: dict[str, Any] | None) -> None:
        self.done(finish(job, self.paths, self.place, status, why))

    def keep(self, jobs: Sequence[Job], profile: str, ledger: Ledger) -> list[Job]:
        """Keep what is valid, and say of the rest why it runs again."""
        reasons = _reasons(jobs, self.paths, profile, ledger)
        for job in jobs:
            if reasons[job.notebook] is None:
                try:
                    self._keep(job, ledger)
                except OSError as error:
                    reasons[job.notebook] = str(error)
            if reasons[job.notebook] not in (None, NEW):
                self.bar.write(f"{'again':<11}  {job.notebook:<40}  {reasons[job.notebook]}")
        return [job for job in jobs if reasons[job.notebook] is not None]

    def _keep(self, job: Job, ledger: Ledger) -> None:
        _refresh_verdicts(job.final, job.notebook, ledger)
        if job.published:
            _refresh_verdicts(self.paths.published(job.notebook), job.notebook, ledger)
            publish_again(job, self.paths)
        status, _ = read_status(job.final, job.notebook)
        spent = status["duration_s"] if status and isinf(job.expected_s) else job.expected_s
        self.done(Outcome(job.notebook, "ok", spent, resumed=True))

    def run(self, waiting: list[Job]) -> None:
        running: list[Job] = []
        room = getattr(self.place, "memory_mb", inf)
        while (waiting or running) and not self.stop:
            while len(running) < self.place.slots and (job := _next(waiting, running, room)):
                waiting.remove(job)
                try:
                    start(job, self.paths, self.place, self.threads)
                    running.append(job)
                    self.bar.set_postfix_str(", ".join(j.notebook for j in running))
                except OSError as error:
                    self.end(job, "failed", failure(str(error)))
            for job in list(running):
                if (ended := self._look(job)) is None:
                    continue
                running.remove(job)
                if ended[0] == "killed" and running and not job.alone and not self.stop:
                    self._once_more(job, running)
                    waiting.append(job)
                else:
                    self.end(job, *ended)
            time.sleep(_GLANCE)
        for job in running:
            # one that has ended well by itself meanwhile is not thrown away
            ended = self._look(job)
            self.end(job, *(ended if ended and ended[0] == "ok" else _interrupted(job)))

    def _look(self, job: Job) -> tuple[str, dict[str, Any] | None] | None:
        """How a job has ended, if it has."""
        code = job.process.exitcode
        if code is None:
            if job.elapsed <= self.deadline:
                return None
            return "timeout", failure(f"killed after {self.deadline:g} s (--deadline)", job.folder)
        ended = ending(job)
        if ended[0] != "ok" and code in _STOPPED:
            # whoever ends everything at once, as a shutdown does, may reach the worker first
            end = time.monotonic() + _TOGETHER
            while not self.stop and time.monotonic() < end:
                time.sleep(_GLANCE)
        return ended if ended[0] == "ok" or not self.stop else _interrupted(job)

    def _once_more(self, job: Job, beside: Sequence[Job]) -> None:
        self.place.end(job.process, job.folder)
        job.alone, job.process = True, None
        others = ", ".join(other.notebook for other in beside)
        self.bar.write(f"{job.notebook} was killed beside {others}: once more, alone")


def _interrupted(job: Job) -> tuple[str, dict[str, Any]]:
    return "interrupted", failure("stopped before it was finished", job.folder)
