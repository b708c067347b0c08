"""Where notebooks run: processes of this machine, and a folder of each runner's own.

Runners may share ``build/`` (containers, two terminals): a dead one is told from a living one by
the lock on its folder, which the system releases when the process ends.
"""

import multiprocessing
import os
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import joblib
import psutil

from ..files import locked, read_json, write_json, writing
from ..paths import Paths
from ..provenance import digest
from .worker import MARK, begin, end_all, processes_of, work

_PATIENCE = 5.0  # seconds for a process that was told to end
_SWEEP = 10.0  # seconds for the notebooks of a dead runner, which end by themselves


class Here:
    """This machine, `jobs` notebooks at a time (default: one a core).

    On Linux, with one BLAS thread, the notebooks' processes are forks of multiprocessing's server,
    which has imported everything (`preload`): a start takes hundredths of a second instead of two
    seconds; once a file of the library has changed, they are new processes again. ``memory_mb``
    are MiB that notebooks may take together: 20 GiB, or 85 % of what the machine has. `work` is
    what a process does with the file that describes its job.
    """

    def __init__(self, jobs: int | None = None, work: Callable[[Path], None] = work) -> None:
        self.slots = joblib.cpu_count() if jobs is None else jobs
        self.memory_mb = min(20 * 1024.0, 0.85 * psutil.virtual_memory().total / 2**20)
        self._work = work

    def start(self, description: dict[str, Any], environment: dict[str, str]) -> BaseProcess:
        """Begin the process of the notebook that is described, in a folder of its own."""
        path = Path(description["folder"], ".work", "job.json")
        # what n_jobs=-1 means in a notebook that shares its machine with others
        share = str(max(1, joblib.cpu_count() // self.slots))
        environment = {**environment, "LOKY_MAX_CPU_COUNT": share, "PYTHONSAFEPATH": "1"}
        marked = {**os.environ, **environment, MARK: description["folder"]}
        forks = sys.platform == "linux" and self._work is work
        if forks and environment["OMP_NUM_THREADS"] == "1" and _as_preloaded():
            server: Any = multiprocessing.get_context("forkserver")
            server.set_forkserver_preload(["invariance.companion.runner.preload"])
        else:
            server, environment = multiprocessing.get_context("spawn"), marked
        folders = sys.path[0 if sys.flags.safe_path else 1 :]  # without the runner's own
        resource_tracker.ensure_running()
        before = dict(os.environ)
        # a new interpreter, and the server, have the environment of the process that starts them
        os.environ.update(environment)
        try:
            return _started(server, (path, marked, folders, self._work))
        finally:
            os.environ.clear()
            os.environ.update(before)

    def end(self, process: BaseProcess | None, folder: Path) -> None:
        """End a process and everything that it has started."""
        if process is not None:
            # told to, it ends everything below it first; killed, it takes its kernel along
            for end in (process.terminate, process.kill):
                if process.exitcode is None:
                    end()
                    process.join(_PATIENCE)
        end_all(partial(processes_of, folder))


def _started(server: Any, arguments: tuple[Any, ...]) -> BaseProcess:
    """Start a process; once more if the server of forks ends meanwhile, which starts another."""
    for patience in (0.1, 0.5, None):
        process: BaseProcess = server.Process(target=begin, args=arguments)
        try:
            process.start()
            return process
        except (EOFError, ConnectionError) as error:
            if patience is None:
                what = "the server that notebooks are forked from ended"
                raise OSError(f"{what} ({type(error).__name__}: {error})") from error
            time.sleep(patience)
    raise AssertionError("unreachable")


# the text of the library when the server that forks was started
_preloaded: list[str] = []


def _as_preloaded() -> bool:
    """Whether the library is still what the server has imported, or will import now."""
    package = Path(__file__).resolve().parents[2]
    text = digest({str(path): path for path in package.rglob("*.py")})
    if not _preloaded:
        _preloaded.append(text)
    return text == _preloaded[0]


@contextmanager
def runner_folder(paths: Paths) -> Iterator[Path]:
    """A folder for this runner's attempts, on the file system of the results.

    What dead runners left is removed first: folders, half-published copies, processes.
    """
    home = paths.build / ".runners"
    mine = home / uuid.uuid4().hex[:16]
    with writing(mine):
        home.mkdir(parents=True, exist_ok=True)
        with open(
            home / "turn", "w", encoding="utf-8"
        ) as turn:  # nobody meets a folder that is not locked yet
            locked(turn)
            for folder in home.iterdir():
                if folder.is_dir():
                    _sweep(folder, paths)
            mine.mkdir()
            alive = open(mine / "alive", "w", encoding="utf-8")
            locked(alive, wait=False)
    try:
        yield mine
    finally:
        shutil.rmtree(mine, ignore_errors=True)
        alive.close()


def take_outputs(mine: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Note in a runner's folder what it writes to: output folders, and the parameters of each.

    Returns those that another living runner writes to with other parameters, with these: they are
    not noted. On a file system without locks nobody can tell, and nothing is returned.
    """
    taken: dict[str, Any] = {}
    with open(mine.parent / "turn", "w", encoding="utf-8") as turn:
        if not locked(turn):
            return taken
        for folder in mine.parent.iterdir():
            noted = read_json(folder / "outputs.json") if folder != mine else None
            if isinstance(noted, dict) and _lives(folder):
                taken |= {name: p for name, p in noted.items() if wanted.get(name, p) != p}
        write_json(mine / "outputs.json", {n: p for n, p in wanted.items() if n not in taken})
    return taken


def _lives(folder: Path) -> bool:
    """Whether the runner of a folder lives: it holds the lock."""
    try:
        with open(folder / "alive", encoding="utf-8") as alive:
            return not locked(alive, wait=False)
    except FileNotFoundError:
        return False


def _sweep(folder: Path, paths: Paths) -> None:
    """Remove a runner's folder if the runner is dead."""
    if _lives(folder):
        return
    end_all(partial(processes_of, folder))
    end = time.monotonic() + _SWEEP
    for job in [*folder.rglob(".work/job.json")]:
        # held by worker and kernel; once it is ours, a worker on its way finds its job gone
        with suppress(FileNotFoundError), open(job, encoding="utf-8") as held:
            while not locked(held, wait=False) and time.monotonic() < end:
                time.sleep(0.02)
            shutil.rmtree(job.parents[1], ignore_errors=True)
    for copy in paths.figures.glob(f"*/.*.{folder.name}"):
        shutil.rmtree(copy, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)
