"""Run notebooks: each in its own process, several at a time, nothing half-written.

A run writes to a hidden sibling of its output folder. On success that folder takes the place of
the output folder by a rename; on failure it becomes ``failed/`` inside the output folder and the
last good results stay. ``status.json`` always tells of the latest attempt.
"""

import hashlib
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import psutil
from tqdm import tqdm

from invariance.companion.errors import NotebookError, OutputError, ParameterError
from invariance.companion.files import (
    ensure_writable,
    read_json,
    repair_folder,
    replace_folder,
    write_json,
)
from invariance.companion.imports import closure, digest
from invariance.companion.ledger import Ledger, load_ledger
from invariance.companion.order import reads, runs_alone
from invariance.companion.parameters import (
    Parameter,
    notebook_code,
    read_parameters,
    resolve,
)
from invariance.companion.paths import PROFILES, Paths
from invariance.companion.places import Here, Place, Process
from invariance.companion.processes import kill_all
from invariance.companion.provenance import package_versions
from invariance.companion.verdicts import judge

__all__ = ["DEADLINES", "Outcome", "Summary", "run_notebooks", "status_of"]

# seconds after which a notebook counts as hanging, unless --deadline says otherwise
DEADLINES = {"quick": 900.0, "full": 24 * 3600.0}

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS",
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


@dataclass
class _Job:
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
    alone: bool = False     # beside no other: it is about time, or was killed beside others

    def __post_init__(self) -> None:
        self.folder = self.final.with_name(f".{self.final.name}.{os.getpid()}")

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.clock if self.clock else 0.0


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
        source.read_text(encoding="utf-8"), json.dumps(parameters, sort_keys=True),
        digest(code), json.dumps(package_versions(), sort_keys=True), str(threads),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _expected_duration(paths: Paths, notebook: str, profile: str) -> float:
    """Duration of the last run; a notebook never run comes first, it may be the longest."""
    status = status_of(paths, notebook, profile)
    if status and status.get("status") == "ok":
        return float(status["duration_s"])
    if profile == "full" and (last := read_json(paths.published(notebook) / "results.json")):
        return float(last["volatile"]["wall_s"])
    return float("inf")


def _remove_leftovers(final: Path) -> None:
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


def _start(
    job: _Job, paths: Paths, place: Place, threads: int, cell_timeout: float | None
) -> None:
    description = {
        "notebook": job.notebook, "source": str(job.source), "folder": str(job.folder),
        "parameters": job.parameters, "cell_timeout": cell_timeout,
    }
    job.started, job.clock = datetime.now(UTC), time.monotonic()
    job.process = place.start(description, _environment(paths, threads))


def _note(kind: str, message: str, job: _Job | None = None) -> dict[str, Any]:
    progress = read_json(job.folder / ".work" / "progress.json") if job else None
    progress = progress or {"cell_index": None, "cell_source": None}
    return {"kind": kind, "message": message, "exception": None, "traceback": None, **progress}


def _ending(job: _Job) -> tuple[str, dict[str, Any] | None]:
    """Status and failure of a worker that has exited by itself."""
    outcome = read_json(job.folder / ".work" / "outcome.json")
    if outcome is not None:
        return outcome["status"], outcome["failure"]
    code = job.process.returncode
    if code < 0:
        name = signal.Signals(-code).name
        how = f"killed by {name}" + (" (out of memory?)" if name == "SIGKILL" else "")
        return "killed", _note("worker died", f"the notebook's process was {how}", job)
    free = shutil.disk_usage(job.folder).free
    if free < _LITTLE_SPACE:
        message = f"no space left for {job.final}: free some, then run again"
        return "failed", _note("output", message, job)
    log = (job.folder / ".work" / "worker.log").read_text(errors="replace")[-2000:].strip()
    return "failed", _note("runner", f"the notebook's process ended with code {code}: {log}", job)


def _status(job: _Job, status: str, failure: dict | None, results: str | None,
            executed: str | None) -> dict[str, Any]:
    started = job.started or datetime.now(UTC)
    return {
        "schema": 1, "notebook": job.notebook, "profile": job.parameters["profile"],
        "parameters": job.parameters, "default_parameters": job.default_parameters,
        "status": status, "failure": failure, "key": job.key,
        "started": started.isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "duration_s": round(job.elapsed, 2), "results": results, "executed": executed,
    }


def _keep_success(job: _Job, paths: Paths) -> None:
    shutil.rmtree(job.folder / ".work", ignore_errors=True)
    has_results = (job.folder / "results.json").is_file()
    write_json(
        job.folder / "status.json",
        _status(job, "ok", None, "this attempt" if has_results else None, "executed.ipynb"),
    )
    replace_folder(job.folder, job.final)
    if has_results and job.parameters["profile"] == "full" and job.default_parameters:
        _publish(job, paths)


def _publish(job: _Job, paths: Paths) -> None:
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


def _keep_failure(job: _Job, status: str, failure: dict[str, Any]) -> None:
    executed = None
    if job.folder.exists():
        shutil.rmtree(job.folder / ".work", ignore_errors=True)
        if status == "interrupted":
            shutil.rmtree(job.folder)
        else:
            replace_folder(job.folder, job.final / "failed")
            if (job.final / "failed" / "executed.ipynb").is_file():
                executed = "failed/executed.ipynb"
    results = "earlier attempt" if (job.final / "results.json").is_file() else None
    write_json(job.final / "status.json", _status(job, status, failure, results, executed))


def _finish(
    job: _Job, paths: Paths, place: Place, status: str, failure: dict[str, Any] | None
) -> Outcome:
    duration = job.elapsed
    place.end(job.process, job.folder)
    try:
        if status == "ok":
            _keep_success(job, paths)
        else:
            _keep_failure(job, status, failure)
    except OSError as error:
        if status == "ok":
            status, failure = "failed", _note("output", str(error))
        else:
            failure = {**failure, "message": f"{failure['message']} (and: {error})"}
        shutil.rmtree(job.folder, ignore_errors=True)
    return Outcome(job.notebook, status, duration, failure)


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
    paths: Paths, notebook: str, parameters: Mapping[str, Parameter], values: dict[str, Any],
    threads: int,
) -> _Job:
    profile = values["profile"]
    source = paths.source(notebook)
    defaults = {name: p.default for name, p in parameters.items()} | {"profile": profile}
    return _Job(
        notebook=notebook, source=source, final=paths.output(notebook, profile),
        parameters=values, default_parameters=values == defaults,
        key=run_key(source, values, threads),
        expected_s=_expected_duration(paths, notebook, profile), reads=reads(paths, notebook),
        alone=runs_alone(paths, notebook),
    )


def _still_valid(jobs: Sequence[_Job], paths: Paths, profile: str) -> list[_Job]:
    """Jobs whose last success is what a run would give again, and what they read with them."""
    by_name = {job.notebook: job for job in jobs}

    @cache
    def valid(notebook: str) -> bool:
        if notebook not in by_name:
            return True
        job = by_name[notebook]
        status = read_json(job.final / "status.json")
        if not status or status["status"] != "ok" or status["key"] != job.key:
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


def _next(waiting: Sequence[_Job], running: Sequence[_Job]) -> _Job | None:
    """The first job that reads nothing of one which is yet to end; those to run alone come last."""
    if any(job.alone for job in running):
        return None
    to_end = {job.notebook for job in (*waiting, *running)}
    ready = [job for job in waiting if to_end.isdisjoint(job.reads)]
    beside = next((job for job in ready if not job.alone), None)
    return beside or (ready[0] if ready and not running else None)


def run_notebooks(
    paths: Paths, notebooks: Sequence[str], *, profile: str = "quick",
    parameters: Mapping[str, Any] | None = None, place: Place | None = None, resume: bool = False,
    threads: int = 1, deadline: float | None = None, cell_timeout: float | None = None,
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
    waiting: list[_Job] = []
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
            job = _Job(notebook, paths.source(notebook), paths.output(notebook, profile), values,
                       default_parameters=False, key="", expected_s=0.0, reads=[])
            done(_finish(job, paths, place, "failed", _note("notebook", message)))
        if resume:
            for job in _still_valid(waiting, paths, profile):
                _refresh_verdicts(job.final / "results.json", ledger)
                if profile == "full" and job.default_parameters:
                    _refresh_verdicts(paths.published(job.notebook) / "results.json", ledger)
                waiting.remove(job)
                duration = read_json(job.final / "status.json")["duration_s"]
                done(Outcome(job.notebook, "ok", duration, resumed=True))
        waiting.sort(key=lambda job: -job.expected_s)

        running: list[_Job] = []
        with _signals_noted() as stop:
            while (waiting or running) and not stop.requested:
                while len(running) < place.slots and (job := _next(waiting, running)):
                    waiting.remove(job)
                    try:
                        _remove_leftovers(job.final)
                        _start(job, paths, place, threads, cell_timeout)
                    except OSError as error:
                        done(_finish(job, paths, place, "failed", _note("output", str(error))))
                        continue
                    running.append(job)
                    bar.set_postfix_str(", ".join(j.notebook for j in running))
                for job in list(running):
                    if job.process.poll() is not None:
                        ending = _ending(job)
                    elif job.elapsed > deadline:
                        message = f"killed after {deadline:g} s (--deadline)"
                        ending = "timeout", _note("deadline", message, job)
                    else:
                        continue
                    running.remove(job)
                    if ending[0] == "killed" and running and not job.alone:
                        place.end(job.process, job.folder)
                        shutil.rmtree(job.folder, ignore_errors=True)
                        job.alone = True
                        waiting.append(job)
                        others = ", ".join(other.notebook for other in running)
                        bar.write(f"{job.notebook} was killed beside {others}: once more, alone")
                        continue
                    done(_finish(job, paths, place, *ending))
                time.sleep(0.05)
            for job in running:
                note = _note("interrupted", "stopped before it was finished", job)
                done(_finish(job, paths, place, "interrupted", note))
    return Summary(outcomes, interrupted=stop.requested)
