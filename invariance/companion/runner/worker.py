"""The process of one notebook: it executes the notebook and says how it ended.

It forks its kernel before anything else runs in it, and it ends everything below it, orphans of
the notebook among them: when the notebook has ended, when it is told to (SIGTERM), and when the
runner has gone, whose end of a pipe then closes. In the run's folder it writes, beside the
notebook's own outputs, ``executed.ipynb`` (saved after every cell), ``.work/progress.json`` (the
cell under way) and ``.work/outcome.json``.
"""

import ctypes
import fcntl
import json
import os
import re
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from invariance.companion.files import read_json, write_bytes, write_json
from invariance.companion.ledger.results import read_executed
from invariance.companion.source import read_notebook

if TYPE_CHECKING:
    import psutil

# every process of a run inherits this variable: it says whose process it is, even of an orphan
MARK = "INVARIANCE_RUN_DIR"

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_START_S = 120.0  # for a kernel to say that it is there


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def die_with_parent(parent: int) -> None:
    """Have the system kill this process when its parent dies (Linux; elsewhere kernels poll)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def end_below(patience: float = 10.0) -> None:
    """Kill every descendant of this process."""
    import psutil

    end = time.monotonic() + patience
    while time.monotonic() < end:
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        below = psutil.Process().children(recursive=True)
        living = [p for p in below if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
        if not living:
            return
        for process in living:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(0.01)


def processes_of(folder: Path) -> list["psutil.Process"]:
    """Living processes that were started by a run which writes to `folder` or below it."""
    import psutil

    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            mark = Path(process.environ().get(MARK, ""))
            if process.pid != os.getpid() and folder in (mark, *mark.parents):
                if process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
    return found


def kill_all(folder: Path, patience: float = 10.0) -> None:
    """Kill what a run has started, for at most `patience` seconds."""
    import psutil

    end = time.monotonic() + patience
    while (living := processes_of(folder)) and time.monotonic() < end:
        for process in living:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(living, timeout=0.5)


def guard(lifeline: int) -> None:
    """From now on this process ends together with everything below it.

    It does so when it is told to, and when `lifeline` can be read: the runner has gone.
    """

    def stop(number: int, _: object) -> None:
        end_below()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def watch() -> None:
        select.select([lifeline], [], [])
        end_below()
        os._exit(1)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    threading.Thread(target=watch, daemon=True).start()


class Kernel:
    """A fork of this process that becomes a kernel: what nbclient asks of a kernel's manager.

    It chooses its ports itself and writes them to a file, so that no other process can take one
    of them between the choice and the start.

    Parameters
    ----------
    connection : Path
        Where that file comes to lie.
    folder : Path
        The kernel's working directory.
    """

    has_kernel = True

    def __init__(self, connection: Path, folder: Path) -> None:
        self._connection = connection
        self._dead = False
        worker = os.getpid()
        self._pid = os.fork()
        if self._pid:
            return
        os.setsid()  # interrupted with all that it has started
        die_with_parent(worker)
        os.chdir(folder)
        sys.argv[1:] = ["-f", str(connection)]
        try:
            from ipykernel import kernelapp

            kernelapp.launch_new_instance([*sys.argv[1:], f"--IPKernelApp.parent_handle={worker}"])
        finally:
            os._exit(0)

    def is_alive(self) -> bool:
        if not self._dead:
            with suppress(ChildProcessError):
                self._dead = os.waitpid(self._pid, os.WNOHANG)[0] != 0
        return not self._dead

    def client(self) -> Any:
        """A client of the kernel, once that has written its ports."""
        from jupyter_client.asynchronous.client import AsyncKernelClient

        class Client(AsyncKernelClient):
            async def _async_is_alive(_) -> bool:
                return self.is_alive()

            is_alive = _async_is_alive

        end = time.monotonic() + _START_S
        while not isinstance(read_json(self._connection), dict):
            if not self.is_alive() or time.monotonic() > end:
                raise RuntimeError("the kernel died before it could be told anything")
            time.sleep(0.005)
        client = Client(connection_file=str(self._connection))
        client.load_connection_file()
        return client

    async def interrupt_kernel(self) -> None:
        os.killpg(self._pid, signal.SIGINT)


def failure(kind: str, message: str, folder: Path | None = None, **more: Any) -> dict[str, Any]:
    """What ``status.json`` says of a failure; with a run's folder, of the cell under way too."""
    noted = read_json(folder / ".work" / "progress.json") if folder else None
    noted = noted if isinstance(noted, dict) else {}
    told = {"kind": kind, "message": message, "exception": None, "traceback": None}
    return told | {key: noted.get(key) for key in ("cell_index", "cell_source")} | more


def _incomplete(folder: Path) -> str | None:
    """Why an executed notebook did not run to its last cell; None if it did.

    papermill takes ``sys.exit(0)`` for a good end and leaves out the cells after it.
    """
    executed, problems = read_executed(folder / "executed.ipynb")
    if executed is None:
        return problems[0] if problems else "executed.ipynb was not written"
    last = None
    for i, cell in enumerate(executed["cells"]):
        if cell["cell_type"] == "code":
            last = i
            for output in cell.get("outputs", []):
                if output.get("output_type") == "error":
                    return (
                        f"cell {i} ended the notebook early: {output.get('ename')}"
                        f"({output.get('evalue')}); leave cells by a condition, not by sys.exit"
                    )
    came_to = failure("", "", folder)["cell_index"]
    return None if last in (None, came_to) else "its last cell did not run"


def execute(job: dict[str, Any], kernel: Kernel) -> dict[str, Any]:
    """Execute the job's notebook: ``{"status": ..., "failure": ...}`` as in ``status.json``."""
    folder, source = Path(job["folder"]), Path(job["source"])
    notebook = read_notebook(source)
    import nbformat
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from papermill.exceptions import PapermillExecutionError
    from papermill.iorw import LocalHandler, papermill_io

    class Whole(LocalHandler):
        """A kill never leaves half of a notebook."""

        def write(self, buf: str, path: str) -> None:
            write_bytes(Path(path), buf.encode("utf-8", "backslashreplace"))

    def note(cell: Any, cell_index: int) -> None:
        write_json(
            folder / ".work" / "progress.json",
            {"cell_index": cell_index, "cell_source": cell.source},
        )

    papermill_io.register("/", Whole())
    language = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    notebook.metadata["kernelspec"] = language
    # given the node instead of a file, papermill copies all of it into the output's metadata
    plain = folder / ".work" / source.with_suffix(".ipynb").name
    nbformat.write(notebook, plain)
    try:
        papermill.execute_notebook(
            plain,
            folder / "executed.ipynb",
            parameters=job["parameters"],
            kernel_name="python3",
            progress_bar=False,
            cwd=source.parent,
            start_timeout=int(_START_S),
            iopub_timeout=120,
            execution_timeout=job["cell_timeout"],
            km=kernel,
            on_cell_execute=note,
        )
    except PapermillExecutionError as error:
        plainly = {
            "exception": error.ename,
            "traceback": _ANSI.sub("", "\n".join(error.traceback)),
            "cell_index": error.cell_index,
            "cell_source": error.source,
        }
        message = f"{error.ename}: {_ANSI.sub('', error.evalue)}"
        return {"status": "failed", "failure": failure("cell", message, **plainly)}
    except CellTimeoutError:
        message = f"the cell ran longer than {job['cell_timeout']} s (--cell-timeout)"
        return {"status": "timeout", "failure": failure("cell timeout", message, folder)}
    except DeadKernelError:
        message = (
            "the kernel died while it ran this cell: killed for want of memory, by a signal, or "
            "by a crash in compiled code"
        )
        return {"status": "killed", "failure": failure("kernel died", message, folder)}
    if reason := _incomplete(folder):
        return {"status": "failed", "failure": failure("incomplete", reason, folder)}
    return {"status": "ok", "failure": None}


def work(
    path: Path,
    lifeline: int,
    kernel: Callable[[Path, Path], Any] = Kernel,
    execute: Callable[[dict[str, Any], Any], dict[str, Any]] = execute,
) -> None:
    """Do the job that is described in a file of its folder; `lifeline` as of `guard`."""
    held = take(path)
    if held is None:
        return
    job = json.load(held)
    folder = Path(job["folder"])
    os.environ[MARK] = str(folder)
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        os.environ[name] = str(path.with_name(name.lower()))
    # orphans of the notebook become children of this process, whatever their environment
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child = kernel(path.with_name("kernel.json"), Path(job["source"]).parent)
    guard(lifeline)
    try:
        outcome = execute(job, child)
    except Exception as error:
        told = failure("runner", f"{type(error).__name__}: {error}", folder)
        outcome = {"status": "failed", "failure": told}
    write_json(path.with_name("outcome.json"), outcome)
    end_below()
    os._exit(0)


def forked(path: Path, environment: dict[str, str]) -> None:
    """Do a job in a fork of multiprocessing's server, as a new process would do it."""
    import multiprocessing
    from multiprocessing import resource_tracker

    import numpy as np

    from invariance.companion.runner import preload

    runner = multiprocessing.parent_process()
    assert runner is not None
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    with open(path.with_name("worker.log"), "ab") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = preload.PATH  # not the runner's
    # what a notebook leaves to be tidied ends with it: the runner's tracker would tell of leaks
    setattr(resource_tracker._resource_tracker, "_fd", None)  # noqa: B010
    os.chdir(environment["INVARIANCE_ROOT"])
    np.random.seed()  # noqa: NPY002  (what a notebook draws from it is its own)
    work(path, runner.sentinel)


def take(path: Path) -> IO[str] | None:
    """A hold on a job for as long as the file is open; None if the job has been removed."""
    try:
        held = open(path, encoding="utf-8")
    except FileNotFoundError:
        return None
    with suppress(OSError):  # a file system without locks
        fcntl.flock(held, fcntl.LOCK_SH)
    return held if path.exists() else None


def lifeline() -> int:
    """The end of a pipe that was this process's standard input, and closes when the runner ends."""
    pipe = os.dup(0)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    return pipe


if __name__ == "__main__":
    work(Path(sys.argv[1]), lifeline())
