"""Processes of a notebook run: they end with their runner, and all of them can be ended.

Between the runner and a notebook's worker stands a guard: a process that holds the reading end of
a pipe whose writing end the runner has. Whatever happens to the runner, the pipe closes, and the
guard ends the worker, its kernel and whatever the notebook started, to the last orphan.
"""

import ctypes
import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import psutil

__all__ = ["MARK", "die_with_parent", "guarded", "kill_all", "processes_of"]

# every process of a run inherits this variable: it says whose process it is, even of an orphan
MARK = "INVARIANCE_RUN_DIR"

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36

# seconds between two looks of the guard at orphans that have ended
_GLANCE = 1.0


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def die_with_parent(parent: int) -> None:
    """Have the system kill this process when its parent dies (Linux; elsewhere kernels poll).

    Parameters
    ----------
    parent : int
        Process id of the parent; if it is gone already, this process exits.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def guarded(folder: Path) -> None:
    """Go on as a child of this process, which stays as its guard and ends as the child does.

    The guard's standard input is the pipe from the runner: when it closes, or when the guard is
    told to end, or when the child has ended, everything below it is killed.

    Parameters
    ----------
    folder : Path
        The run's folder, by which `kill_all` knows its processes.
    """
    # orphans of the notebook become the guard's children, whatever their environment
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    guard = os.getpid()
    child = os.fork()
    if child:
        _guard(child, folder)
    die_with_parent(guard)
    with open(os.devnull) as nothing:  # the pipe is the guard's alone
        os.dup2(nothing.fileno(), 0)


def _guard(child: int, folder: Path) -> NoReturn:
    told: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        told.append(number)

    for stop in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(stop, note)
    # a signal wakes the guard at once, and so do the runner and the child when they end
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    code = _reap(child)
    while code is None and not told:
        with suppress(InterruptedError):
            ready = select.select([0, woken], [], [], _GLANCE)[0]
            if 0 in ready and not os.read(0, 1024):
                break
            if woken in ready:
                os.read(woken, 1024)
        code = _reap(child)
    _end_below(folder)
    number = told[0] if told else -code if code is not None and code < 0 else 0
    if number:
        # as the child did, so that the runner sees what happened
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(1 if code is None else code)


def _reap(child: int) -> int | None:
    """Collect children that have ended; exit code of the one that counts, if it has."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == child:
            code = os.waitstatus_to_exitcode(status)


def _end_below(folder: Path, patience: float = 10.0) -> None:
    """Kill every descendant of this process, orphans among them."""
    import psutil

    end = time.monotonic() + patience
    if sys.platform != "linux":  # orphans have gone to another parent
        kill_all(folder, patience)
    while time.monotonic() < end:
        _reap(0)
        below = psutil.Process().children(recursive=True)
        living = [p for p in below if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
        if not living:
            return
        for process in living:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(0.01)


def processes_of(folder: Path) -> list["psutil.Process"]:
    """Living processes that belong to the run which writes to `folder`, this one excepted."""
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            mine = process.pid != os.getpid() and process.environ().get(MARK) == str(folder)
            if mine and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def kill_all(folder: Path, patience: float = 10.0) -> None:
    """Kill every process of a run: worker, kernel and whatever the notebook started.

    Parameters
    ----------
    folder : Path
        The run's output folder.
    patience : float
        Seconds to wait for the processes to disappear.
    """
    import psutil

    end = time.monotonic() + patience
    while living := processes_of(folder):
        for process in living:
            with suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(living, timeout=0.5)
        if time.monotonic() > end:
            return
