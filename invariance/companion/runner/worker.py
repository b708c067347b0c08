"""The process of one notebook: it executes the notebook and reports how it ended.

It forks its kernel before anything else runs in it. It ends all its descendants, among them orphans
that the notebook left, when the notebook has ended, when it receives SIGTERM, and when the runner
is gone. It writes ``executed.ipynb`` after every cell, and in ``.work`` the cell under way
(``progress.json``) and how the notebook ended (``outcome.json``).
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
from multiprocessing import connection
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import psutil

from ..errors import NotebookError
from ..files import locked, read_json, read_text, without_escapes, write_bytes, write_json
from ..ledger.results import read_executed
from ..ledger.settings import STAGE
from ..run.folder import VARIABLE
from ..source import read_notebook

if TYPE_CHECKING:
    from jupyter_client.asynchronous.client import AsyncKernelClient

#: Environment variable with the folder of a run; every program that the run starts inherits it.
MARK = VARIABLE

_PR_SET_CHILD_SUBREAPER = 36
_START_S = 120.0  # for a kernel to write its ports
_LOOK_S = 0.1  # between two looks at the fork server


# --------------------------------------------------------------------------------- processes


def _adopt_orphans() -> None:
    """Make orphaned descendants children of this process instead of init's (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _is_alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def _descendants() -> list[psutil.Process]:
    """Return the living descendants of this process, after it has reaped its dead children."""
    with suppress(ChildProcessError):
        ended = -1
        while ended:
            ended, _ = os.waitpid(-1, os.WNOHANG)
    children = psutil.Process().children(recursive=True)
    return [process for process in children if _is_alive(process)]


def processes_of(folder: Path) -> list[psutil.Process]:
    """Return the living programs that were started by a run which writes to `folder` or below."""
    marked = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            mark = Path(process.environ().get(MARK, ""))
            is_ours = process.pid != os.getpid() and folder in (mark, *mark.parents)
            if is_ours and _is_alive(process):
                marked.append(process)
    return marked


def holders_of(file: Path) -> list[psutil.Process]:
    """Return the other processes that have a file open.

    A worker and its kernel hold their job open. Forks of the server can be recognized by nothing
    else: the system shows them with the environment of the server.
    """
    holders = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            is_open = any(opened.path == str(file) for opened in process.open_files())
            if is_open and process.pid != os.getpid():
                holders.append(process)
    return holders


def end_all(find: Callable[[], list[psutil.Process]], patience: float = 10.0) -> None:
    """Kill the processes that `find` returns until it is empty, for at most `patience` seconds."""
    end = time.monotonic() + patience
    living = find()
    while living and time.monotonic() < end:
        for process in living:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(0.01)
        living = find()


def _guard(runner: int) -> None:
    """End this process and its descendants on a signal, or when its runner or parent is gone."""
    parent = os.getppid()  # the fork server, or the runner itself

    def stop(number: int, _: object) -> None:
        end_all(_descendants)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def watch() -> None:
        runner_is_gone = False
        while not runner_is_gone and os.getppid() == parent:
            runner_is_gone = bool(connection.wait([runner], _LOOK_S))
        end_all(_descendants)
        os._exit(1)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    threading.Thread(target=watch, daemon=True).start()


# ------------------------------------------------------------------------------------ kernel


class Kernel:
    """A fork of this process that becomes a kernel, with the methods of a kernel manager.

    The kernel chooses its ports itself and writes them to `ports`, so that no other process can
    take one in between. `folder` is its working directory.
    """

    has_kernel = True

    def __init__(self, ports: Path, folder: Path) -> None:
        self._ports = ports
        self.code: int | None = None  # the exit code, negative after a signal; None while it runs
        worker = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                _become_kernel(ports, folder, worker)
            finally:
                os._exit(0)

    def is_alive(self) -> bool:
        if self.code is None:
            with suppress(ChildProcessError):
                ended, status = os.waitpid(self._pid, os.WNOHANG)
                if ended:
                    self.code = os.waitstatus_to_exitcode(status)
        return self.code is None

    def client(self) -> "AsyncKernelClient":
        """Wait until the kernel has written its ports, and return a client."""
        from jupyter_client.asynchronous.client import AsyncKernelClient

        kernel = self

        class Client(AsyncKernelClient):
            """A client that asks the system whether the kernel lives, not its heartbeat."""

            async def _async_is_alive(self) -> bool:
                return kernel.is_alive()

            is_alive = _async_is_alive

        end = time.monotonic() + _START_S
        while not isinstance(read_json(self._ports), dict):
            if not self.is_alive() or time.monotonic() > end:
                raise RuntimeError("the kernel died before it was ready")
            time.sleep(0.005)
        client = Client(connection_file=str(self._ports))
        client.load_connection_file()
        return client

    async def interrupt_kernel(self) -> None:
        os.killpg(self._pid, signal.SIGINT)


def _become_kernel(ports: Path, folder: Path, worker: int) -> None:
    """Turn this fork of a worker into a kernel, which ends itself once the worker has died."""
    os.setsid()  # an interrupt reaches the kernel and all that it has started, and nothing else
    os.chdir(folder)
    sys.path.append(str(folder))  # for modules beside the notebook
    sys.argv[1:] = ["-f", str(ports)]
    from ipykernel import kernelapp
    from tqdm import tqdm

    # tqdm's own lock is a semaphore between processes, which a killed kernel would leave behind,
    # and every kernel is killed in the end.
    tqdm.set_lock(threading.RLock())
    # ipykernel compares the id of its parent with this one every second.
    kernelapp.launch_new_instance([*sys.argv[1:], f"--IPKernelApp.parent_handle={worker}"])


# --------------------------------------------------------------------------------- execution


def failure(message: str, folder: Path | None = None, **details: Any) -> dict[str, Any]:
    """Return the ``failure`` of a ``status.json``, with the cell under way in a run's `folder`."""
    fields = ("message", "exception", "traceback", "cell_index", "cell_source")
    content: dict[str, Any] = dict.fromkeys(fields)
    if folder:
        progress = read_json(folder / ".work" / "progress.json")
        if isinstance(progress, dict):
            content |= progress
    return content | {"message": message} | details


def _failed(reason: dict[str, Any], status: str = "failed") -> dict[str, Any]:
    return {"status": status, "failure": reason}


def _incomplete(folder: Path) -> str | None:
    """Return why an executed notebook did not run to its last cell, or None if it did.

    papermill takes ``sys.exit(0)`` for success; a choosing stage ends like that.
    """
    executed, problems = read_executed(folder / "executed.ipynb")
    if executed is None:
        return problems[0] if problems else "executed.ipynb was not written"
    if STAGE in os.environ:
        return None
    code_cells = [i for i, cell in enumerate(executed["cells"]) if _is_executed(cell)]
    latest = failure("", folder)["cell_index"]
    if latest is None or latest == max(code_cells, default=None):
        return None
    return "the notebook ended early: leave cells by a condition, not by sys.exit"


def _is_executed(cell: dict[str, Any]) -> bool:
    """Whether a cell has code to execute: JupyterLab leaves an empty one at the end."""
    if cell["cell_type"] != "code":
        return False
    is_skipped = "skip-execution" in cell["metadata"].get("tags", [])
    return bool("".join(cell["source"]).strip()) and not is_skipped


class _KernelEndedError(Exception):
    """A cell has asked the kernel to end, as ``quit()`` does."""


def _refuse_quit(cell: Any, cell_index: int, execute_reply: dict[str, Any]) -> None:
    """Raise if the cell just executed asks the kernel to end: the next cell would fail instead."""
    for payload in execute_reply["content"].get("payload") or []:
        if payload.get("source") == "ask_exit" and not payload.get("keepkernel"):
            fault = "quit() or exit() in this cell ends the kernel"
            raise _KernelEndedError(f"{fault}: leave it out, and leave cells by a condition")


def execute(job: dict[str, Any], kernel: Kernel) -> dict[str, Any]:
    """Execute the job's notebook; return status and failure as in ``status.json``."""
    folder = Path(job["folder"])
    notebook = _prepare(Path(job["source"]), folder)
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    try:
        _run_papermill(job, notebook, kernel)
    except PapermillExecutionError as error:
        reason = failure(
            f"{error.ename}: {without_escapes(error.evalue)}",
            exception=error.ename,
            traceback=without_escapes("\n".join(error.traceback)),
            cell_index=error.cell_index,
            cell_source=error.source,
        )
        return _failed(reason)
    except _KernelEndedError as error:
        return _failed(failure(str(error), folder))
    except DeadKernelError:
        return _death_of(kernel, folder)
    fault = _incomplete(folder)
    if fault:
        return _failed(failure(fault, folder))
    return {"status": "ok", "failure": None}


def _prepare(source: Path, folder: Path) -> Path:
    """Write the notebook that papermill reads, and the digest of its text."""
    import nbformat

    text = read_text(source, NotebookError)
    notebook = deepcopy(read_notebook(source))
    # The notebook's own process notes its imports in a file beside this one.
    write_json(folder / ".work" / "text.json", hashlib.sha256(text.encode()).hexdigest())
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
    }
    # Papermill copies a notebook that is not a file into the metadata of its output.
    prepared = folder / ".work" / source.with_suffix(".ipynb").name
    nbformat.write(notebook, prepared)
    return prepared


def _run_papermill(job: dict[str, Any], notebook: Path, kernel: Kernel) -> None:
    import papermill
    from papermill.iorw import LocalHandler, papermill_io

    folder = Path(job["folder"])

    class WholeFiles(LocalHandler):
        """Writes files such that a kill never leaves half a notebook."""

        def write(self, buf: str, path: str) -> None:
            write_bytes(Path(path), buf.encode("utf-8", "backslashreplace"))

    def note_progress(cell: Any, cell_index: int) -> None:
        progress = {"cell_index": cell_index, "cell_source": cell.source}
        write_json(folder / ".work" / "progress.json", progress)

    papermill_io.register("/", WholeFiles())
    papermill.execute_notebook(
        notebook,
        folder / "executed.ipynb",
        parameters=job["parameters"],
        kernel_name="python3",
        progress_bar=False,
        cwd=Path(job["source"]).parent,
        start_timeout=int(_START_S),
        iopub_timeout=120,
        km=kernel,
        on_cell_execute=note_progress,
        on_cell_executed=_refuse_quit,
    )


def _death_of(kernel: Kernel, folder: Path) -> dict[str, Any]:
    """Return the failure of a cell during which the kernel died."""
    if kernel.code is not None and kernel.code >= 0:
        fault = f"this cell ended the kernel's process with exit code {kernel.code}"
        message = f"{fault}, as os._exit does: leave it by a condition"
        return _failed(failure(message, folder))
    causes = "killed for want of memory, by a signal, or by a crash in compiled code"
    message = f"the kernel died while it ran this cell: {causes}"
    return _failed(failure(message, folder), "killed")


# ----------------------------------------------------------------------------------- process


class _StartKernel(Protocol):
    def __call__(self, ports: Path, folder: Path, /) -> Any: ...


def work(
    path: Path,
    start_kernel: _StartKernel = Kernel,
    execute: Callable[[dict[str, Any], Any], dict[str, Any]] = execute,
) -> None:
    """Do the job that the file `path` describes, which lies in the job's folder."""
    opened = _open_job(path)
    if opened is None:
        return
    job = json.load(opened)
    folder = Path(job["folder"])
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        os.environ[name] = str(path.with_name(name.lower()))
    _adopt_orphans()
    kernel = start_kernel(path.with_name("kernel.json"), Path(job["source"]).parent)
    runner = multiprocessing.parent_process()
    assert runner is not None
    _guard(runner.sentinel)
    try:
        outcome = execute(job, kernel)
    except Exception as error:
        outcome = _failed(failure(f"{type(error).__name__}: {error}", folder))
    write_json(path.with_name("outcome.json"), outcome)
    end_all(_descendants)
    os._exit(0)


def _open_job(path: Path) -> IO[str] | None:
    """Open a job and lock it for as long as the file is open; None if the job was removed."""
    try:
        opened = open(path, encoding="utf-8")
    except FileNotFoundError:
        return None
    locked(opened, shared=True)
    return opened if path.exists() else None


def begin(
    path: Path, environment: dict[str, str], folders: list[str], work: Callable[[Path], None]
) -> None:
    """Do a job in a new child of the runner or of the fork server, in a state as after a start.

    `environment` is the whole environment of the job, and `folders` are those of ``sys.path``.
    """
    os.setsid()  # Ctrl-C in the terminal reaches only the runner, which then ends the others
    # The fork server ignores and blocks it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    with (
        open(path.with_name("worker.log"), "ab") as log,
        open(os.devnull, encoding="utf-8") as nothing,
    ):
        for stream, file in enumerate((nothing, log, log)):
            os.dup2(file.fileno(), stream)
    # The fork server may have variables that the runner has not any more.
    for name in set(os.environ) - set(environment):
        del os.environ[name]
    os.environ.update(environment)
    sys.path[:] = folders
    os.chdir(environment["INVARIANCE_ROOT"])
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()  # forks would draw the same numbers
    work(path)
