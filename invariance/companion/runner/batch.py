"""Run notebooks: each in its own process, several at a time, nothing half-written (`attempt`)."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
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
from ..source import may_choose, read_parameters, reads, resolve, runs_alone
from .attempt import Job, Outcome, ending, finish, publish_again, start
from .places import Here, runner_folder, take_outputs
from .resume import NEW, fingerprint, reason_to_run
from .worker import failure

# seconds after which a notebook counts as hanging, unless --deadline says otherwise
DEADLINES = {"quick": 900.0, "full": 24 * 3600.0}

# seconds between two looks at the notebooks that run, and for a signal to all to arrive here too
_GLANCE, _TOGETHER = 0.05, 0.5
# MiB that a notebook is taken to need until it has run
_UNKNOWN_MB = 1024.0
# what ends a process from outside; Windows has no hang-up
_ENDING = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]


@dataclass(frozen=True)
class Summary:
    """Outcomes of all notebooks, and whether the run was cut short."""

    outcomes: list[Outcome]
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        failed = any(outcome.status != "ok" for outcome in self.outcomes)
        return 130 if self.interrupted else int(failed)


def run_notebooks(
    paths: Paths,
    notebooks: Sequence[str],
    *,
    profile: str = "quick",
    parameters: Mapping[str, Any] | None = None,
    place: Any = None,
    resume: bool = False,
    choosing: bool = False,
    threads: int = 1,
    deadline: float | None = None,
    tell: Callable[[Outcome], None] | None = None,
) -> Summary:
    """Run notebooks, several at a time, longest first, each after those whose results it reads.

    Together they take no more memory than the place has, by what they took before. Notebooks that
    say so (see `source`) run at the end of a full run, one by one. So does, once more, one whose
    process was killed while others were running, as a system does that is out of memory.

    `parameters` are values for parameters that every one of the notebooks has (str as on a command
    line), `place` is where they run (default: `Here`). With `resume`, notebooks are skipped whose
    results are those that a run would give. With `choosing`, they run with seed 0 and without test
    data until they have chosen their settings. `threads` are BLAS's, `deadline` are seconds after
    which a notebook is killed, `tell` is called with each outcome. What is asked wrongly is a
    `ParameterError`, `NotebookError`, `LedgerError` or `OutputError` before anything is run.
    """
    if profile not in PROFILES:
        raise ParameterError(f"unknown profile {profile!r}: {' or '.join(PROFILES)}")
    place = place or Here()
    deadline = DEADLINES[profile] if deadline is None else deadline
    for name, number in {"jobs": place.slots, "threads": threads, "deadline": deadline}.items():
        if not 1 <= number < inf:
            raise ParameterError(f"{name}={number}: at least 1, and finite")
    for notebook in notebooks if choosing else ():
        if not may_choose(paths.source(notebook)):
            raise NotebookError(f"{notebook} chooses nothing: it has no Run(..., chooses=True)")
    ledger = load_ledger(paths.ledger)
    given = {**(parameters or {}), "profile": profile}
    jobs = [_job(paths, notebook, given, threads, choosing) for notebook in notebooks]
    ensure_writable(paths.build / profile)
    with (
        _signals_noted() as stop,
        runner_folder(paths) as folder,
        tqdm(total=len(jobs), unit="notebook", disable=None) as bar,
    ):
        renew = partial(_job, paths, given=given, threads=threads, choosing=choosing)
        batch = _Batch(paths, place, threads, deadline, stop, bar, tell, renew)
        for job in jobs:
            job.folder = folder / job.notebook
            if job.fault:
                batch.end(job, "failed", failure(job.fault))
        sound = batch.take([job for job in jobs if not job.fault], folder)
        waiting = batch.keep(sound, ledger) if resume else sound
        waiting = batch.refuse(waiting, ledger)
        # a text's length says little of its time, and more than nothing
        batch.run(sorted(waiting, key=lambda job: (-job.expected_s, -job.source.stat().st_size)))
    return Summary(batch.outcomes, interrupted=bool(stop))


def _job(
    paths: Paths, notebook: str, given: Mapping[str, Any], threads: int, choosing: bool
) -> Job:
    """A notebook, what it follows from and what it will take, or what is wrong with its text."""
    profile, source = given["profile"], paths.source(notebook)
    final = (paths.choosing if choosing else paths.output)(notebook, profile)
    for folder in (final, paths.published(notebook)):
        repair_folder(folder)
    job = Job(notebook, source, final, {"profile": profile}, choosing)
    try:
        own = read_parameters(source)
        seeds = {"seed": CHOOSING_SEED, "seeds": [CHOOSING_SEED]} if choosing else {}
        given = {**given, **{name: value for name, value in seeds.items() if name in own}}
        job.parameters = resolve(notebook, own, given)
        defaults = {name: p.default for name, p in own.items()} | {"profile": profile}
        job.default_parameters = job.parameters == defaults
        job.fingerprint = fingerprint(paths, notebook, job.parameters, threads)
        job.expected_s, job.expected_mb = _expected(paths, job)
        job.reads = reads(paths, notebook)
        # seconds at a toy's scale are shown, not believed
        job.alone = runs_alone(paths, notebook) and profile == "full"
    except NotebookError as error:
        job.fault = str(error)
    return job


def _expected(paths: Paths, job: Job) -> tuple[float, float]:
    """Seconds and MiB that a notebook takes, by the largest of its records.

    Seconds are the processor's where they are fewer than the clock's, with those that filled its
    cache. A notebook never run comes first.
    """
    folders = [job.final, *([paths.published(job.notebook)] if job.published else [])]
    found = [(read_results(f, job.notebook)[0] or {"volatile": {}})["volatile"] for f in folders]
    known = [volatile for volatile in found if volatile.get("wall_s")]
    seconds = [min(v["wall_s"], v["cpu_s"] or inf) + v["cached_s"] for v in known]
    memory = [v["peak_memory_mb"] or _UNKNOWN_MB for v in known]
    return max(seconds, default=inf), max(memory, default=_UNKNOWN_MB)


@contextmanager
def _signals_noted() -> Iterator[list[int]]:
    """Note Ctrl-C, termination and hang-up instead of obeying: nothing is cut in the middle."""
    noted: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in _ENDING:
            # nohup leaves the last one ignored, and it stays so
            if number is not _ENDING[-1] or signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, lambda number, _: noted.append(number))
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _next(waiting: Sequence[Job], running: Sequence[Job], room: float) -> Job | None:
    """The first job that can start now; those to run alone come last.

    It reads nothing of one which is yet to end, and at most `room` MiB are given away together.
    What needs more than that runs by itself.
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
    renew: Callable[[str], Job]  # a job for a notebook as it is now
    outcomes: list[Outcome] = field(default_factory=list)

    def done(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.bar.update()
        if self.tell:
            with self.bar.external_write_mode():
                self.tell(outcome)

    def end(self, job: Job, status: str, why: dict[str, Any] | None) -> None:
        self.done(finish(job, self.paths, self.place, status, why))

    def take(self, jobs: Sequence[Job], folder: Path) -> list[Job]:
        """The jobs whose output folder no other runner is writing to with other parameters.

        The others fail, and nothing on disk changes: it is that runner's.
        """
        taken = take_outputs(folder, {str(job.final): job.parameters for job in jobs})
        for job in jobs:
            theirs = taken.get(str(job.final))
            if theirs is not None:
                given = [f"{n}={v!r}" for n, v in theirs.items() if job.parameters.get(n, ...) != v]
                others = ", ".join(given) or "other parameters"
                what = f"another run of {job.notebook} is under way, with {others}"
                remedy = "wait until it has ended, or run this one in a copy of the checkout"
                why = failure(f"{what}, and both would write to {job.final}: {remedy}")
                self.done(Outcome(job.notebook, "failed", 0.0, why))
        return [job for job in jobs if str(job.final) not in taken]

    def keep(self, jobs: Sequence[Job], ledger: Ledger) -> list[Job]:
        """Keep what is valid, and say of the rest why it runs again."""
        why: dict[str, str | None] = {}
        for job in jobs:
            try:
                why[job.notebook] = reason_to_run(self.paths, job, ledger)
            except (OSError, ValueError, TypeError, KeyError, RecursionError, MemoryError) as error:
                said = f"its results cannot be checked ({type(error).__name__}: {error})"
                why[job.notebook] = said
        readers = {job.notebook: job.reads for job in jobs if why[job.notebook] is None}
        for _ in jobs:  # until nothing reads what runs again
            why |= {
                reader: f"it reads {name}, which runs again"
                for reader, names in readers.items() if why[reader] is None
                for name in names if why.get(name)
            }  # fmt: skip
        for job in jobs:
            if why[job.notebook] is None:
                try:
                    publish_again(job, self.paths)
                    spent = 0.0 if isinf(job.expected_s) else job.expected_s
                    self.done(Outcome(job.notebook, "ok", spent, resumed=True))
                except OSError as error:
                    why[job.notebook] = str(error)
            if why[job.notebook] not in (None, NEW):
                self.bar.write(f"{'again':<11}  {job.notebook:<40}  {why[job.notebook]}")
        return [job for job in jobs if why[job.notebook] is not None]

    def refuse(self, jobs: Sequence[Job], ledger: Ledger) -> list[Job]:
        """Do not run what would replace a result whose claim has changed without a word."""
        registrar = Registrar(self.paths)
        allowed = []
        for job in jobs:
            replaces = job.published and not job.choosing
            if replaces and (found := undeclared(self.paths, job.notebook, ledger, registrar)):
                self.end(job, "failed", failure("; ".join(found)))
            else:
                allowed.append(job)
        return allowed

    def run(self, waiting: list[Job]) -> None:
        running: list[Job] = []
        room = getattr(self.place, "memory_mb", inf)
        while (waiting or running) and not self.stop:
            while len(running) < self.place.slots and (job := _next(waiting, running, room)):
                waiting.remove(job)
                if fault := self._renewed(job):
                    self.end(job, "failed", failure(fault))
                    continue
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

    def _renewed(self, job: Job) -> str:
        """Take a job's text, and all that follows from it, as they are now; why not, if not."""
        try:
            now = self.renew(job.notebook)
        except (ParameterError, OSError) as error:
            return str(error)
        if not now.fault and now.reads != job.reads:
            return "its header has changed since the run began: run it again"
        job.parameters, job.default_parameters = now.parameters, now.default_parameters
        job.fingerprint = now.fingerprint
        return now.fault

    def _look(self, job: Job) -> tuple[str, dict[str, Any] | None] | None:
        """How a job has ended, if it has."""
        code = job.process.exitcode
        if code is None:
            if job.elapsed <= self.deadline:
                return None
            return "timeout", failure(f"killed after {self.deadline:g} s (--deadline)", job.folder)
        ended = ending(job)
        if ended[0] != "ok" and -code in _ENDING:
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
