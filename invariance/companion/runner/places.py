"""Where notebooks run: processes of this machine, and a folder for each runner.

Several runners (containers, two terminals) may share ``build/``. Each holds a lock on a file in its
folder, which the system releases when the process ends: this distinguishes dead from living ones.
"""

import multiprocessing
import os
import shutil
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import forkserver, resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import joblib
import psutil

from ..files import locked, read_json, write_json, writing
from ..paths import Paths
from ..provenance import architecture, digest
from .attempt import Process
from .worker import MARK, begin, end_all, holders_of, processes_of, work

_PATIENCE_S = 5.0  # for a process to end after a signal
_SWEEP_S = 10.0  # for the notebooks of a dead runner, which end by themselves
# Memory that notebooks may take together: this many MiB, or this share of the machine's.
_MAX_MEMORY_MB = 20 * 1024.0
_MEMORY_SHARE = 0.85


class Here:
    """Processes of this machine, for `jobs` notebooks at a time (default: one per core).

    On Linux, with one BLAS thread, the processes are forks of multiprocessing's server, which has
    imported all packages before (`preload`): a start takes hundredths of a second instead of two
    seconds. After a file of the library has changed, they are new interpreters again.
    ``memory_mb`` is the memory, in MiB, that notebooks may take together, and ``glance_s`` the time
    between two looks at them. `work` is the function
    that a process calls with the file that describes its job.
    """

    glance_s = 0.05

    def __init__(self, jobs: int | None = None, work: Callable[[Path], None] = work) -> None:
        self.slots = joblib.cpu_count() if jobs is None else jobs
        total_mb = psutil.virtual_memory().total / 2**20
        self.memory_mb = min(_MAX_MEMORY_MB, _MEMORY_SHARE * total_mb)
        self._work = work

    @property
    def architecture(self) -> str:
        """The processor architecture that determines the last digits of results."""
        return architecture()

    def start(self, description: dict[str, Any], environment: dict[str, str]) -> BaseProcess:
        """Start the process of the described notebook, in a folder of its own."""
        path = Path(description["folder"], ".work", "job.json")
        shared = dict(environment)
        # The meaning of n_jobs=-1 in a notebook that shares its machine with others.
        shared["LOKY_MAX_CPU_COUNT"] = str(max(1, joblib.cpu_count() // self.slots))
        shared["PYTHONSAFEPATH"] = "1"
        complete = {**os.environ, **shared, MARK: description["folder"]}
        may_fork = sys.platform == "linux" and self._work is work
        if may_fork and environment["OMP_NUM_THREADS"] == "1" and _is_as_preloaded():
            context: Any = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(["invariance.companion.runner.preload"])
            initial = shared  # of the server, which many notebooks share
        else:
            context = multiprocessing.get_context("spawn")
            initial = complete
        folders = sys.path[0 if sys.flags.safe_path else 1 :]  # without the runner's own folder
        # multiprocessing's tracker outlives the notebook, so it must not be marked as its process.
        resource_tracker.ensure_running()
        with _environment(initial):
            if context.get_start_method() == "forkserver":
                with _interrupts_wait():
                    forkserver.ensure_running()
            return _start_process(context, (path, complete, folders, self._work))

    def end(self, process: Process | None, folder: Path) -> None:
        """End a process and everything that it has started."""
        if process is not None:
            # SIGTERM lets it end its descendants first.
            for end in (process.terminate, process.kill):
                if process.exitcode is None:
                    end()
                    process.join(_PATIENCE_S)
        end_all(partial(processes_of, folder))
        job = folder / ".work" / "job.json"
        if not _is_released(job):
            end_all(partial(holders_of, job))


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables for a while: a new interpreter inherits those of the process that starts it."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Let Ctrl-C take effect afterwards: a new interpreter inherits that it is blocked."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_process(context: Any, arguments: tuple[Any, ...]) -> BaseProcess:
    """Start a process; try again if the fork server ends meanwhile, since this starts another."""
    for pause in (0.1, 0.5, None):
        process: BaseProcess = context.Process(target=begin, args=arguments)
        try:
            process.start()
            return process
        except (EOFError, ConnectionError) as error:
            if pause is None:
                fault = "the server that notebooks are forked from ended"
                raise OSError(f"{fault} ({type(error).__name__}: {error})") from error
            time.sleep(pause)
    raise AssertionError("unreachable")


# Digest of the library's text when the fork server was started.
_preloaded: list[str] = []


def _is_as_preloaded() -> bool:
    """Whether the library's files are still those that the fork server has imported."""
    package = Path(__file__).resolve().parents[2]
    text = digest({str(path): path for path in package.rglob("*.py")})
    if not _preloaded:
        _preloaded.append(text)
    return text == _preloaded[0]


@contextmanager
def runner_folder(paths: Paths) -> Iterator[Path]:
    """Make a folder for this runner's attempts, on the file system of the results.

    First, the remains of dead runners are removed: folders, half-published copies, processes.
    """
    runners = paths.build / ".runners"
    folder = runners / uuid.uuid4().hex[:16]
    with writing(folder):
        runners.mkdir(parents=True, exist_ok=True)
        # Within this lock, no other runner sees the folder before it is locked.
        with open(runners / "turn", "w", encoding="utf-8") as turn:
            locked(turn)
            for earlier in runners.iterdir():
                if earlier.is_dir():
                    _sweep(earlier, paths)
            folder.mkdir()
            alive = open(folder / "alive", "w", encoding="utf-8")
            locked(alive, wait=False)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        alive.close()


def take_outputs(folder: Path, parameters_of: Mapping[str, Any]) -> dict[str, Any]:
    """Note in a runner's folder which output folders it writes to, and with which parameters.

    Return the output folders that another living runner writes to with other parameters, and these
    parameters; they are not noted. On a file system without locks this cannot be decided, and
    nothing is returned.
    """
    taken: dict[str, Any] = {}
    with open(folder.parent / "turn", "w", encoding="utf-8") as turn:
        if not locked(turn):
            return taken
        for runner in folder.parent.iterdir():
            noted = read_json(runner / "outputs.json") if runner != folder else None
            if not isinstance(noted, dict) or not _is_alive(runner):
                continue
            for output, parameters in noted.items():
                if parameters_of.get(output, parameters) != parameters:
                    taken[output] = parameters
        noted = {name: value for name, value in parameters_of.items() if name not in taken}
        write_json(folder / "outputs.json", noted)
    return taken


def _is_released(file: Path) -> bool:
    """Whether no process holds a lock on a file; no on a file system without locks."""
    try:
        with open(file, encoding="utf-8") as opened:
            return locked(opened, wait=False)
    except FileNotFoundError:
        return True


def _is_alive(runner: Path) -> bool:
    """Whether the runner of a folder lives: it holds a lock."""
    return not _is_released(runner / "alive")


def _sweep(folder: Path, paths: Paths) -> None:
    """Remove a runner's folder if the runner is dead."""
    if _is_alive(folder):
        return
    end_all(partial(processes_of, folder))
    end = time.monotonic() + _SWEEP_S
    for job in list(folder.rglob(".work/job.json")):
        # Worker and kernel hold a lock. Within ours, a worker that is about to start finds its job
        # removed, and ends.
        with suppress(FileNotFoundError), open(job, encoding="utf-8") as opened:
            while not locked(opened, wait=False) and time.monotonic() < end:
                time.sleep(0.02)
            shutil.rmtree(job.parents[1], ignore_errors=True)
    for copy in paths.figures.glob(f"*/.*.{folder.name}"):
        shutil.rmtree(copy, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
