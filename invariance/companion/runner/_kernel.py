"""A Python kernel that cannot outlive the worker which asked for it: started anew, or kept ready.

A worker that was forked with everything imported (`nursery`) forks a child before anything else
runs in it; the first kernel that Jupyter asks for is that child.
"""

import json
import os
import signal
import sys
from typing import Any

from invariance.companion.runner.processes import die_with_parent

__all__ = ["Spare", "keep_one_ready", "launch"]


def launch(parent: int) -> None:
    """Be a kernel until it is shut down; `sys.argv` names the file with its ports."""
    die_with_parent(parent)
    from ipykernel import kernelapp

    # Jupyter's own watch over the parent; it reads the variable when it is imported
    kernelapp.launch_new_instance([*sys.argv[1:], f"--IPKernelApp.parent_handle={parent}"])


class Spare:
    """A child that waits to become a kernel, with what Jupyter asks of a `subprocess.Popen`."""

    stdin = stdout = stderr = None
    returncode: int | None = None

    def __init__(self, pid: int, order: int) -> None:
        self.pid, self._order = pid, order

    def begin(self, command: list[str], env: dict[str, str], cwd: Any) -> None:
        """Have it become the kernel that a command would start."""
        told = {"argv": command[command.index("-f") :], "env": env, "cwd": str(cwd)}
        with os.fdopen(self._order, "wb") as stream:
            stream.write(json.dumps(told).encode())

    def poll(self) -> int | None:
        return self._ended(os.WNOHANG)

    def wait(self) -> int | None:
        return self._ended(0)

    def _ended(self, flag: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, flag)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def keep_one_ready() -> Spare | None:
    """Fork a child that becomes a kernel when it is told to; None in a child that has been one."""
    worker = os.getpid()
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(read)
        return Spare(pid, write)
    os.close(write)
    os.setsid()  # as Jupyter starts a kernel: interrupted with all that it has started
    die_with_parent(worker)
    with os.fdopen(read, "rb") as stream:
        order = stream.read()
    if order:
        told = json.loads(order)
        os.environ.clear()
        os.environ.update(told["env"], JPY_PARENT_PID=str(worker))
        os.chdir(told["cwd"])
        sys.argv[1:] = told["argv"]
        launch(worker)
    return None


if __name__ == "__main__":
    launch(int(os.environ["JPY_PARENT_PID"]))
