"""One process that has imported everything; the processes of notebooks are forks of it.

Two interpreters a notebook, with Jupyter, scikit-learn and matplotlib imported in them, take four
seconds to start; two forks take a few hundredths. The process forks only while it has a single
thread, so that no BLAS has started any, and nothing but imports has happened in it: a notebook
finds what a new interpreter would have after the same imports. Where it cannot be had (another
system, BLAS with several threads, a process that was killed) workers are started one by one.
"""

import ctypes
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from invariance.companion.runner.processes import MARK

__all__ = ["Born", "Nursery"]

# seconds for its imports, and patience with a notebook's processes that shall end
_IMPORTS, _PATIENCE = 60.0, 20.0
_ROOM = 1024  # bytes for the mark of whoever is born
_INLINE = "module://matplotlib_inline.backend_inline"  # as a kernel sets it, before any import


class Nursery:
    """The runner's end of it.

    Parameters
    ----------
    environment : mapping
        What every notebook of the batch has in common.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)
        self._channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-Xfrozen_modules=off", "-m", __name__, str(other.fileno())],
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                # the mark last: whoever reads an environment stops where it ends
                env={"MPLBACKEND": _INLINE}
                | {k: v for k, v in os.environ.items() if k != MARK}
                | self.environment
                | {MARK: "-" * _ROOM},
                start_new_session=True,
            )
        self.codes: dict[int, int] = {}
        self._count = 0
        ready = select.select([self._channel], [], [], _IMPORTS)[0]
        self.alive = bool(ready) and self._receive() == {"ready": True}
        self._channel.setblocking(False)

    def _receive(self) -> dict[str, Any] | None:
        try:
            message = self._channel.recv(2**16)
        except BlockingIOError:
            return None
        except OSError:
            message = b""
        if not message:
            self.alive = False
        return json.loads(message) if message else None

    def start(self, folder: Path, root: str, log: int) -> "Born | None":
        """Have the worker of the job in a folder born; None if that cannot be."""
        read, write = os.pipe()
        self._count += 1
        order = {"number": self._count, "folder": str(folder), "root": root}
        try:
            if len(str(folder)) >= _ROOM:
                raise OSError("no room for its mark")
            socket.send_fds(self._channel, [json.dumps(order).encode()], [read, log])
        except OSError:
            os.close(write)
            return None
        finally:
            os.close(read)
        return Born(self, self._count, write)

    def look(self) -> None:
        """Take note of who has ended."""
        while self.alive and (message := self._receive()):
            self.codes[message["number"]] = message["code"]

    def close(self) -> None:
        """Let it go; what was born lives on until its own end."""
        self._channel.close()
        self.alive = False
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_PATIENCE)


class Born:
    """A notebook's guard that was forked, with everything below it."""

    returncode: int | None = None

    def __init__(self, nursery: Nursery, number: int, pipe: int) -> None:
        self._nursery, self._number = nursery, number
        self._pipe: int | None = pipe

    def poll(self) -> int | None:
        self._nursery.look()
        if self.returncode is None:
            self.returncode = self._nursery.codes.pop(self._number, None)
            if self.returncode is None and not self._nursery.alive:
                self.returncode = -signal.SIGKILL  # nobody is left to say how it ends
        return self.returncode

    def end(self) -> None:
        """Have the guard end everything below it, and then itself."""
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
        end = time.monotonic() + _PATIENCE
        while self.poll() is None and time.monotonic() < end:
            time.sleep(0.01)


# ------------------------------------------------------------------------------- the process itself


def _import_everything() -> None:
    """What workers, kernels and most notebooks import or read; nothing is computed."""
    from invariance.companion.imports import read_all
    from invariance.companion.lean import skip_iri_grammar

    skip_iri_grammar()
    import importlib

    for name in (
        "jupytext", "nbformat", "papermill.engines", "nbclient.exceptions", "psutil",
        "ipykernel.kernelapp", "ipykernel.ipkernel", "IPython.core.completer",
        "matplotlib.pyplot", "pandas", "scipy.stats", "sklearn.svm", "sklearn.kernel_ridge",
        "invariance.companion.run.run", "invariance.companion.run.comparison",
        "invariance.companion.runner._worker", "invariance.datasets", "invariance.evaluation",
        "invariance.features", "invariance.groups", "invariance.kernels", "invariance.linear",
        "invariance.spectral", "invariance.theory",
    ):  # fmt: skip
        importlib.import_module(name)
    read_all()
    sys.modules["nbformat"].v4.new_code_cell()  # compiles its schema


def _place_of_mark() -> int:
    """Address of the mark in the memory that others see as this process's environment."""
    names = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
    start = f"{MARK}=".encode()
    index = 0
    while address := names[index]:
        if ctypes.string_at(address).startswith(start):
            return address + len(start)
        index += 1
    raise OSError("the mark is not in the environment")


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


def _serve(channel: socket.socket) -> Callable[[], None] | None:
    """Fork as told until the runner has gone; in a fork, what it is to do."""
    place = _place_of_mark()
    _import_everything()
    if _threads() > 1:
        return None
    gc.collect()
    gc.freeze()
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    channel.send(b'{"ready": true}')
    numbers: dict[int, int] = {}
    while True:
        ready = select.select([channel.fileno(), woken], [], [])[0]
        if channel.fileno() in ready:
            message, handles, *_ = socket.recv_fds(channel, 2**16, 2)
            if not message:
                return None
            order = json.loads(message)
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for handle in (channel.detach(), woken, wake):
                    os.close(handle)
                return lambda: _be_born(order, handles, place)
            numbers[pid] = order["number"]
            for handle in handles:
                os.close(handle)
        if woken in ready:
            os.read(woken, 1024)
        while numbers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            told = {"number": numbers.pop(pid), "code": os.waitstatus_to_exitcode(status)}
            with suppress(BrokenPipeError):
                channel.send(json.dumps(told).encode())


def _be_born(order: dict[str, Any], handles: list[int], place: int) -> None:
    """Become the worker of a job, with the streams, folder and mark of one that was started."""
    import numpy as np

    from invariance.companion.runner._worker import main

    os.setsid()
    for target, handle in enumerate((handles[0], handles[1], handles[1])):
        os.dup2(handle, target)
    for handle in handles:
        os.close(handle)
    os.chdir(order["root"])
    ctypes.memset(place, 0, _ROOM)
    ctypes.memmove(place, order["folder"].encode(), len(order["folder"].encode()))
    os.environ[MARK] = order["folder"]
    np.random.seed()  # noqa: NPY002  (what a notebook draws from it is its own)
    main(str(Path(order["folder"], ".work", "job.json")), forked=True)


if __name__ == "__main__":
    task = _serve(socket.socket(fileno=int(sys.argv[1])))
    if task is not None:
        try:
            task()
        except Exception:
            traceback.print_exc()
            sys.exit(1)
