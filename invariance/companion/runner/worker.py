"""The process of one notebook: it executes the notebook and says how it ended.

It forks its kernel before anything else runs in it, and it ends everything below it, orphans of
the notebook among them: when the notebook has ended, when it is told to (SIGTERM), and when the
runner has gone. It writes ``executed.ipynb`` after every cell, and in ``.work`` the cell under way
(``progress.json``) and how it ended (``outcome.json``).
"""

import ctypes
import hashlib
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from multiprocessing import connection, resource_tracker
from pathlib import Path
from typing import IO, Any

import psutil

from ..errors import NotebookError
from ..files import locked, read_json, read_text, without_escapes, write_bytes, write_json
from ..ledger.results import read_executed
from ..ledger.settings import STAGE
from ..source import read_notebook

# every process of a run inherits this variable: it says whose process it is, even of an orphan
MARK = "INVARIANCE_RUN_DIR"

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_START_S = 120.0  # for a kernel to say that it is there


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def die_with_parent(parent: int) -> None:
    """Have the system kill this process when its parent dies (Linux; elsewhere kernels poll)."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def _below() -> list[psutil.Process]:
    """Living descendants of this process."""
    with suppress(ChildProcessError):  # no child is left
        ended = -1
        while ended:  # those that have ended are let go, one at a time
            ended, _ = os.waitpid(-1, os.WNOHANG)
    return [process for process in psutil.Process().children(recursive=True) if _alive(process)]


def processes_of(folder: Path) -> list[psutil.Process]:
    """Living processes that were started by a run which writes to `folder` or below it."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            mark = Path(process.environ().get(MARK, ""))
            if process.pid != os.getpid() and folder in (mark, *mark.parents) and _alive(process):
                found.append(process)
    return found


def end_all(find: Callable[[], list[psutil.Process]], patience: float = 10.0) -> None:
    """Kill what `find` finds until it finds nothing, for at most `patience` seconds."""
    end = time.monotonic() + patience
    while (living := find()) and time.monotonic() < end:
        for process in living:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(0.01)


def _guard(runner: int) -> None:
    """From now on this process ends with everything below it: when told to, and with its runner."""

    def stop(number: int, _: object) -> None:
        end_all(_below)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def watch() -> None:
        connection.wait([runner])
        end_all(_below)
        os._exit(1)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    threading.Thread(target=watch, daemon=True).start()


class Kernel:
    """A fork of this process that becomes a kernel: what nbclient asks of a kernel's manager.

    It chooses its ports itself and writes them to the file `told`: no other process can take one
    in between. `folder` is its working directory.
    """

    has_kernel = True

    def __init__(self, told: Path, folder: Path) -> None:
        self._told = told
        self.code: int | None = (
            None  # its exit code, once it has ended; that of a signal is below 0
        )
        worker = os.getpid()
        self._pid = os.fork()
        if self._pid:
            return
        os.setsid()  # interrupted with all that it has started
        die_with_parent(worker)
        os.chdir(folder)
        sys.path.append(str(folder))  # of modules beside the notebook
        sys.argv[1:] = ["-f", str(told)]
        try:
            from ipykernel import kernelapp

            kernelapp.launch_new_instance([*sys.argv[1:], f"--IPKernelApp.parent_handle={worker}"])
        finally:
            os._exit(0)

    def is_alive(self) -> bool:
        if self.code is None:
            with suppress(ChildProcessError):
                ended, status = os.waitpid(self._pid, os.WNOHANG)
                self.code = os.waitstatus_to_exitcode(status) if ended else None
        return self.code is None

    def client(self) -> Any:
        """A client of the kernel, once that has written its ports."""
        from jupyter_client.asynchronous.client import AsyncKernelClient

        async def is_alive() -> bool:
            return self.is_alive()

        end = time.monotonic() + _START_S
        while not isinstance(read_json(self._told), dict):
            if not self.is_alive() or time.monotonic() > end:
                raise RuntimeError("the kernel died before it could be told anything")
            time.sleep(0.005)
        client = AsyncKernelClient(connection_file=str(self._told))
        client.is_alive = client._async_is_alive = is_alive  # type: ignore[method-assign]
        client.load_connection_file()
        return client

    async def interrupt_kernel(self) -> None:
        os.killpg(self._pid, signal.SIGINT)


def failure(message: str, folder: Path | None = None, **more: Any) -> dict[str, Any]:
    """What ``status.json`` says of a failure; with a run's folder, of the cell under way too."""
    noted = read_json(folder / ".work" / "progress.json") if folder else None
    told = dict.fromkeys(("message", "exception", "traceback", "cell_index", "cell_source"))
    return told | (noted if isinstance(noted, dict) else {}) | {"message": message} | more


def _incomplete(folder: Path) -> str | None:
    """Why an executed notebook did not run to its last cell; None if it did.

    papermill takes ``sys.exit(0)`` for a good end; a choosing stage ends like that.
    """
    executed, problems = read_executed(folder / "executed.ipynb")
    if executed is None:
        return problems[0] if problems else "executed.ipynb was not written"
    code = [i for i, cell in enumerate(executed["cells"]) if _is_executed(cell)]
    if STAGE in os.environ or failure("", folder)["cell_index"] in (None, *code[-1:]):
        return None
    return "the notebook ended early: leave cells by a condition, not by sys.exit"


def _is_executed(cell: dict[str, Any]) -> bool:
    """Whether a cell has code to execute: JupyterLab leaves an empty one at the end."""
    skipped = "skip-execution" in cell["metadata"].get("tags", [])
    return cell["cell_type"] == "code" and bool("".join(cell["source"]).strip()) and not skipped


class _KernelEndedError(Exception):
    """A cell has asked the kernel to end, as ``quit()`` does."""


def _refuse_quit(cell: Any, cell_index: int, execute_reply: dict[str, Any]) -> None:
    """Raise if the cell that has just been executed ends the kernel, which would fail the next."""
    for payload in execute_reply["content"].get("payload") or []:
        if payload.get("source") == "ask_exit" and not payload.get("keepkernel"):
            what = "quit() or exit() in this cell ends the kernel"
            raise _KernelEndedError(f"{what}: leave it out, and leave cells by a condition")


def execute(job: dict[str, Any], kernel: Kernel) -> dict[str, Any]:
    """Execute the job's notebook: ``{"status": ..., "failure": ...}`` as in ``status.json``."""
    folder, source = Path(job["folder"]), Path(job["source"])
    text = read_text(source, NotebookError)
    notebook = deepcopy(read_notebook(source))
    # beside it, the notebook's own process says what it has imported
    write_json(folder / ".work" / "text.json", hashlib.sha256(text.encode()).hexdigest())
    import nbformat
    import papermill
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError
    from papermill.iorw import LocalHandler, papermill_io

    class Whole(LocalHandler):
        """A kill never leaves half of a notebook."""

        def write(self, buf: str, path: str) -> None:
            write_bytes(Path(path), buf.encode("utf-8", "backslashreplace"))

    def note(cell: Any, cell_index: int) -> None:
        under_way = {"cell_index": cell_index, "cell_source": cell.source}
        write_json(folder / ".work" / "progress.json", under_way)

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
            km=kernel,
            on_cell_execute=note,
            on_cell_executed=_refuse_quit,
        )
    except PapermillExecutionError as error:
        cell = {"cell_index": error.cell_index, "cell_source": error.source}
        trace = without_escapes("\n".join(error.traceback))
        what = f"{error.ename}: {without_escapes(error.evalue)}"
        return _failed(failure(what, exception=error.ename, traceback=trace, **cell))
    except _KernelEndedError as error:
        return _failed(failure(str(error), folder))
    except DeadKernelError:
        if kernel.code is not None and kernel.code >= 0:
            what = f"this cell ended the kernel's process with exit code {kernel.code}"
            return _failed(failure(f"{what}, as os._exit does: leave it by a condition", folder))
        why = "killed for want of memory, by a signal, or by a crash in compiled code"
        return _failed(failure(f"the kernel died while it ran this cell: {why}", folder), "killed")
    reason = _incomplete(folder)
    return _failed(failure(reason, folder)) if reason else {"status": "ok", "failure": None}


def _failed(why: dict[str, Any], status: str = "failed") -> dict[str, Any]:
    return {"status": status, "failure": why}


def work(
    path: Path,
    kernel: Callable[[Path, Path], Any] = Kernel,
    execute: Callable[[dict[str, Any], Any], dict[str, Any]] = execute,
) -> None:
    """Do the job that is described in a file of its folder."""
    held = _take(path)
    if held is None:
        return
    job = json.load(held)
    folder = Path(job["folder"])
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        os.environ[name] = str(path.with_name(name.lower()))
    # orphans of the notebook become children of this process, whatever their environment
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child = kernel(path.with_name("kernel.json"), Path(job["source"]).parent)
    runner = multiprocessing.parent_process()
    assert runner is not None
    _guard(runner.sentinel)
    try:
        outcome = execute(job, child)
    except Exception as error:
        outcome = _failed(failure(f"{type(error).__name__}: {error}", folder))
    write_json(path.with_name("outcome.json"), outcome)
    end_all(_below)
    os._exit(0)


def _take(path: Path) -> IO[str] | None:
    """A hold on a job for as long as the file is open; None if the job has been removed."""
    try:
        held = open(path, encoding="utf-8")
    except FileNotFoundError:
        return None
    locked(held, shared=True)
    return held if path.exists() else None


def begin(
    path: Path, environment: dict[str, str], folders: list[str], work: Callable[[Path], None]
) -> None:
    """Do a job in a child of the runner or of multiprocessing's server, as a new process would."""
    runner = multiprocessing.parent_process()
    if runner is not None and os.getppid() != runner.pid:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # with the server
    os.setsid()  # Ctrl-C in the terminal reaches the runner alone, which then ends the rest
    with (
        open(path.with_name("worker.log"), "ab") as log,
        open(os.devnull, encoding="utf-8") as nothing,
    ):
        for stream, file in enumerate((nothing, log, log)):
            os.dup2(file.fileno(), stream)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = folders
    # what a notebook leaves to be tidied ends with it: the runner's tracker would tell of leaks
    setattr(resource_tracker._resource_tracker, "_fd", None)  # noqa: B010
    os.chdir(environment["INVARIANCE_ROOT"])
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()  # what a notebook draws from it is its own
    work(path)
