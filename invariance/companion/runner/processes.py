"""Processes of a notebook run: they end with their parent, and all of them can be ended."""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

import psutil

__all__ = ["MARK", "die_with_parent", "kill_all", "processes_of"]

# every process of a run inherits this variable: it says whose process it is, even of an orphan
MARK = "INVARIANCE_RUN_DIR"

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int) -> None:
    """Have the system kill this process when its parent dies (Linux; elsewhere kernels poll).

    Parameters
    ----------
    parent : int
        Process id of the parent; if it is gone already, this process exits.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def processes_of(folder: Path) -> list[psutil.Process]:
    """Living processes that belong to the run which writes to `folder`, this one excepted."""
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
    end = time.monotonic() + patience
    while living := processes_of(folder):
        for process in living:
            try:
                process.kill()
            except psutil.Error:
                continue
        psutil.wait_procs(living, timeout=0.5)
        if time.monotonic() > end:
            return
