"""Run notebooks: each in its own process, several at a time, nothing half-written (`attempt`)."""

import hashlib
import json
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from math import inf, isinf
from pathlib import Path
from typing import Any

from tqdm import tqdm

from invariance.companion.errors import NotebookError, ParameterError
from invariance.companion.files import ensure_writable, read_json, write_json
from invariance.companion.imports import closure, digest
from invariance.companion.ledger.claims import Ledger, load_ledger
from invariance.companion.ledger.verdicts import judge
from invariance.companion.paths import PROFILES, Paths
from invariance.companion.provenance import package_versions
from invariance.companion.runner.attempt import (
    Job,
    Outcome,
    describe_failure,
    ending,
    finish,
    remove_leftovers,
    start,
)
from invariance.companion.runner.order import reads, runs_alone
from invariance.companion.runner.parameters import (
    Parameter,
    notebook_code,
    read_parameters,
    resolve,
)
from invariance.companion.runner.places import Here, Place

__all__ = ["DEADLINES", "Outcome", "Summary", "run_notebooks", "status_of"]

# seconds after which a notebook counts as hanging, unless --deadline says otherwise
DEADLINES = {"quick": 900.0, "full": 24 * 3600.0}


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


def status_of(paths: Paths, notebook: str, profile: str) -> dict[str, Any] | None:
    """Content of a notebook's ``status.json``, or None if it was never run."""
    return read_json(paths.output(notebook, profile) / "status.json")


def run_key(source: Path, parameters: Mapping[str, Any], threads: int) -> str:
    """Key of a run: notebook text, parameters (profile among them), package code, versions."""
    try:
        code = closure(notebook_code(source))
    except SyntaxError as error:
        raise NotebookError(f"notebook {source.stem} is not Python: {error}") from error
    parts = [
        source.read_text(encoding="utf-8"),
        json.dumps(parameters, sort_keys=True),
        digest(code),
        json.dumps(package_versions(), sort_keys=True),
        str(threads),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _expected_duration(paths: Paths, notebook: str, profile: str) -> float:
    """Seconds of the last run, and of those before it that filled its cache.

    A notebook never run comes first: it may be the longest.
    """
    folders = [paths.output(notebook, profile)]
    if profile == "full":
        folders.append(paths.published(notebook))
    for folder in folders:
        spent = (read_json(folder / "results.json") or {}).get("volatile", {})
        if "wall_s" in spent:
            return spent["wall_s"] + spent.get("cached_s", 0)
    return inf


def _refresh_verdicts(results: Path, ledger: Ledger) -> None:
    """Judge stored numbers again where the ledger has changed since."""
    content = read_json(results)
    if content is None:
        return
    before = json.dumps(content)
    for claim_id, entry in content["claims"].items():
        if claim_id in ledger and ledger[claim_id].kind == entry["kind"]:
            entry.update(judge(ledger[claim_id], entry["recorded"])._asdict())
    if json.dumps(content) != before:
        write_json(results, content)


@dataclass
class _Stop:
    requested: bool = False


@contextmanager
def _signals_noted() -> Iterator[_Stop]:
    """Note Ctrl-C, termination and hang-up instead of obeying: nothing is cut in the middle."""
    noted = _Stop()
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup leaves it
        numbers.append(signal.SIGHUP)

    def note(*_: object) -> None:
        noted.requested = True

    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _prepare(
    paths: Paths,
    notebook: str,
    parameters: Mapping[str, Parameter],
    values: dict[str, Any],
    threads: int,
) -> Job:
    profile = values["profile"]
    source = paths.source(notebook)
    defaults = {name: p.default for name, p in parameters.items()} | {"profile": profile}
    return Job(
        notebook=notebook,
        source=source,
        final=paths.output(notebook, profile),
        parameters=values,
        default_parameters=values == defaults,
        key=run_key(source, values, threads),
        expected_s=_expected_duration(paths, notebook, profile),
        reads=reads(paths, notebook),
        alone=runs_alone(paths, notebook),
    )


def _still_valid(jobs: Sequence[Job], paths: Paths, profile: str) -> list[Job]:
    """Jobs whose last success is what a run would give again, and what they read with them.

    An attempt that was interrupted takes nothing away from the success before it.
    """
    by_name = {job.notebook: job for job in jobs}

    @cache
    def valid(notebook: str) -> bool:
        if notebook not in by_name:
            return True
        job = by_name[notebook]
        status = read_json(job.final / "status.json")
        if not status or status["status"] not in ("ok", "interrupted"):
            return False
        if status.get("results_key") != job.key:
            return False
        finished = _changed(job.final / "status.json")
        return all(
            valid(name)
            and _changed(paths.output(name, profile) / "results.json") <= finished
            and _changed(paths.published(name) / "results.json") <= finished
            for name in job.reads
        )

    return [job for job in jobs if valid(job.notebook)]


def _changed(path: Path) -> int:
    return path.stat().st_mtime_ns if path.is_file() else 0


def _next(waiting: Sequence[Job], running: Sequence[Job]) -> Job | None:
    """The first job that reads nothing of one which is yet to end; those to run alone come last."""
    if any(job.alone for job in running):
        return None
    to_end = {job.notebook for job in (*waiting, *running)}
    ready = [job for job in waiting if to_end.isdisjoint(job.reads)]
    beside = next((job for job in ready if not job.alone), None)
    return beside or (ready[0] if ready and not running else None)


def run_notebooks(
    paths: Paths,
    notebooks: Sequence[str],
    *,
    profile: str = "quick",
    parameters: Mapping[str, Any] | None = None,
    place: Place | None = None,
    resume: bool = False,
    threads: int = 1,
    deadline: float | None = None,
    cell_timeout: float | None = None,
    tell: Callable[[Outcome], None] | None = None,
) -> Summary:
    """Run notebooks, several at a time, longest first, each after those whose results it reads.

    Notebooks that say so (see `order`) run at the end, one by one. So does, once more, one whose
    process was killed while others were running, as a system does that is out of memory.

    Parameters
    ----------
    paths : Paths
    notebooks : sequence of str
        ``<paper>/<name>``; see ``Paths.select``.
    profile : {"quick", "full"}
    parameters : mapping, optional
        Values for parameters that every one of the notebooks has; str as on a command line.
    place : Place, optional
        Where they run, and how many at a time; default: here, one a core.
    resume : bool
        Skip notebooks whose last run succeeded with the same key, unless what they read is newer.
    threads : int
        BLAS threads of each notebook; fixed, so that results do not depend on `place`.
    deadline : float, optional
        Seconds after which a notebook is killed; default: `DEADLINES`.
    cell_timeout : float, optional
        Seconds after which a cell is given up.
    tell : callable, optional
        Called with each outcome as it arrives.

    Returns
    -------
    Summary

    Raises
    ------
    ParameterError, LedgerError, OutputError
        Before anything is run: unknown parameter or profile, wrong type, malformed ledger, an
        output folder that cannot be written to.
    """
    if profile not in PROFILES:
        raise ParameterError(f"unknown profile {profile!r}: {' or '.join(PROFILES)}")
    place = place or Here()
    for name, number in {"jobs": place.slots, "threads": threads}.items():
        if number < 1:
            raise ParameterError(f"{name}={number}: at least 1")
    deadline = DEADLINES[profile] if deadline is None else deadline
    ledger = load_ledger(paths.ledger)
    given = {**(parameters or {}), "profile": profile}

    outcomes: list[Outcome] = []
    waiting: list[Job] = []
    malformed: dict[str, str] = {}
    for notebook in notebooks:
        try:
            own = read_parameters(paths.source(notebook))
            values = resolve(notebook, own, given)
            waiting.append(_prepare(paths, notebook, own, values, threads))
        except NotebookError as error:
            malformed[notebook] = str(error)
    ensure_writable(paths.build / profile)

    def done(outcome: Outcome) -> None:
        outcomes.append(outcome)
        bar.update()
        if tell:
            with bar.external_write_mode():
                tell(outcome)

    with tqdm(total=len(notebooks), unit="notebook", disable=None) as bar:
        for notebook, message in malformed.items():
            values = {"profile": profile}
            job = Job(
                notebook,
                paths.source(notebook),
                paths.output(notebook, profile),
                values,
                default_parameters=False,
                key="",
                expected_s=0.0,
                reads=[],
            )
            done(finish(job, paths, place, "failed", describe_failure("notebook", message)))
        if resume:
            for job in _still_valid(waiting, paths, profile):
                _refresh_verdicts(job.final / "results.json", ledger)
                if profile == "full" and job.default_parameters:
                    _refresh_verdicts(paths.published(job.notebook) / "results.json", ledger)
                waiting.remove(job)
                status = read_json(job.final / "status.json")
                duration = status["duration_s"] if isinf(job.expected_s) else job.expected_s
                done(Outcome(job.notebook, "ok", duration, resumed=True))
        waiting.sort(key=lambda job: -job.expected_s)

        running: list[Job] = []
        with _signals_noted() as stop:
            while (waiting or running) and not stop.requested:
                while len(running) < place.slots and (job := _next(waiting, running)):
                    waiting.remove(job)
                    try:
                        remove_leftovers(job.final)
                        start(job, paths, place, threads, cell_timeout)
                    except OSError as error:
                        failure = describe_failure("output", str(error))
                        done(finish(job, paths, place, "failed", failure))
                        continue
                    running.append(job)
                    bar.set_postfix_str(", ".join(j.notebook for j in running))
                for job in list(running):
                    if job.process.poll() is not None:
                        status, failure = ending(job)
                    elif job.elapsed > deadline:
                        message = f"killed after {deadline:g} s (--deadline)"
                        status, failure = "timeout", describe_failure("deadline", message, job)
                    else:
                        continue
                    running.remove(job)
                    if status == "killed" and running and not job.alone:
                        place.end(job.process, job.folder)
                        shutil.rmtree(job.folder, ignore_errors=True)
                        job.alone = True
                        waiting.append(job)
                        others = ", ".join(other.notebook for other in running)
                        bar.write(f"{job.notebook} was killed beside {others}: once more, alone")
                        continue
                    done(finish(job, paths, place, status, failure))
                time.sleep(0.05)
            for job in running:
                failure = describe_failure("interrupted", "stopped before it was finished", job)
                done(finish(job, paths, place, "interrupted", failure))
    return Summary(outcomes, interrupted=stop.requested)
