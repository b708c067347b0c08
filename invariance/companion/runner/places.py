"""Where notebooks run: on this machine, or on the workers of a Dask cluster.

The machines of a cluster share the project's folder, as they do on a network file system, and
have the same environment installed. Everything that a notebook writes goes to that folder, so
that only its exit code has to travel.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import joblib
import psutil

from invariance.companion.errors import CompanionError
from invariance.companion.files import write_json
from invariance.companion.runner.nursery import Nursery
from invariance.companion.runner.processes import MARK, kill_all

__all__ = ["Cluster", "ClusterError", "Here", "Place", "Process", "connect"]

_WORKER = ("-P", "-m", "invariance.companion.runner._worker")

# seconds between two looks at a notebook's process, and patience with one that shall end
_GLANCE, _PATIENCE = 0.1, 20.0

# seconds for whoever has accepted a connection at the last moment to say what it is
_GREETING = 1.0


class ClusterError(CompanionError, OSError):
    """A cluster cannot be reached or cannot run notebooks."""


class Process(Protocol):
    """What a runner needs to know of a notebook's process: see `subprocess.Popen`."""

    returncode: int | None

    def poll(self) -> int | None: ...

    def end(self) -> None:
        """End it, and whatever it started, wherever it runs."""


class Place(Protocol):
    """Somewhere to run notebooks."""

    slots: int

    def start(self, description: dict[str, Any], environment: dict[str, str]) -> Process:
        """Start the worker process of a notebook in its folder, ``description["folder"]``."""

    def end(self, process: Process | None, folder: Path) -> None:
        """End every process of a notebook, wherever it runs."""


class _Guarded(subprocess.Popen[bytes]):
    """A notebook's guard on this machine, with everything below it."""

    def end(self) -> None:
        if self.stdin is not None:
            # the guard ends everything below it, and then itself
            self.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.wait(_PATIENCE)


def _launch(
    description: dict[str, Any],
    environment: dict[str, str],
    worker: Sequence[str] = _WORKER,
    nursery: Nursery | None = None,
) -> Process:
    folder = Path(description["folder"])
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / ".work"
    write_json(work / "job.json", description)
    with open(work / "worker.log", "wb") as log:
        root = environment["INVARIANCE_ROOT"]
        if nursery is not None and (born := nursery.start(folder, root, log.fileno())):
            return born
        return _Guarded(
            [sys.executable, *worker, str(work / "job.json")],
            # held open as long as this process lives: see `invariance.companion.runner.processes`
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=root,
            env=os.environ | environment | {MARK: str(folder)},
            # Ctrl-C in the terminal reaches the runner alone, which then ends the rest
            start_new_session=True,
        )


def _share(processes: int) -> dict[str, str]:
    """What ``n_jobs=-1`` means in a notebook that shares its machine with others."""
    return {"LOKY_MAX_CPU_COUNT": str(max(1, joblib.cpu_count() // processes))}


class Here:
    """This machine.

    Parameters
    ----------
    jobs : int, optional
        Notebooks at a time; default: the number of cores.
    memory_mb : float, optional
        MiB that they may take together; default: 20 GiB, or 85 % of what the machine has.
    worker : sequence of str, optional
        Arguments of Python that start a worker; the path of a job's description follows.
    """

    def __init__(
        self,
        jobs: int | None = None,
        worker: Sequence[str] = _WORKER,
        memory_mb: float | None = None,
    ) -> None:
        self.slots = joblib.cpu_count() if jobs is None else jobs
        there = 0.85 * psutil.virtual_memory().total / 2**20
        self.memory_mb = min(20 * 1024.0, there) if memory_mb is None else memory_mb
        self._worker = worker
        self._forks = sys.platform == "linux" and worker is _WORKER
        self._nursery: Nursery | None = None

    def start(self, description: dict[str, Any], environment: dict[str, str]) -> Process:
        environment = environment | _share(self.slots)
        nursery = self._nursery
        if nursery is not None and not (nursery.alive and nursery.environment == environment):
            nursery.close()
            nursery = None
        # for one notebook alone it would be no gain
        if nursery is None and self._forks and description.get("more"):
            nursery = Nursery(environment)
            weakref.finalize(self, nursery.close)
            self._forks = nursery.alive  # what cannot be had is not asked for again
        self._nursery = nursery if self._forks else None
        return _launch(description, environment, self._worker, self._nursery)

    def end(self, process: Process | None, folder: Path) -> None:
        if process is not None:
            process.end()
        kill_all(folder)


def _supervise(description: dict[str, Any], environment: dict[str, str]) -> int:
    """On a worker of the cluster: run a notebook's process to its end, or until told to stop."""
    from distributed import get_worker

    folder = Path(description["folder"])
    kill_all(folder)  # of a worker that was lost: Dask gives its notebook to another
    process = _launch(description, environment | _share(get_worker().state.nthreads))
    try:
        while process.poll() is None:
            time.sleep(_GLANCE)
            # a runner that has gone leaves the stop sign out, but the next one clears the folder
            if (folder / ".work" / "stop").exists() or not folder.exists():
                break
    finally:
        process.end()
        kill_all(folder)
    code = process.poll()
    return -signal.SIGKILL if code is None else code


class _Remote:
    """A notebook on some worker, by its future."""

    returncode: int | None = None

    def __init__(self, future: Any, folder: Path) -> None:
        self._future, self._folder = future, folder

    def poll(self) -> int | None:
        if self.returncode is None and self._future.done():
            try:
                self.returncode = self._future.result(timeout=_PATIENCE)
            except Exception as error:  # whatever befell the cluster, this notebook failed
                log = self._folder / ".work" / "worker.log"
                log.parent.mkdir(parents=True, exist_ok=True)
                log.write_text(f"lost by the cluster: {type(error).__name__}: {error}")
                self.returncode = 1
            # or Dask would run it again when the worker that holds its exit code is lost
            self._future.release()
        return self.returncode

    def end(self) -> None:
        if self.returncode is not None:
            return
        if (self._folder / ".work").is_dir():
            (self._folder / ".work" / "stop").touch()
            end = time.monotonic() + _PATIENCE
            while self.poll() is None and time.monotonic() < end:
                time.sleep(_GLANCE)
        self._future.cancel()


class Cluster:
    """The workers of a Dask cluster, one notebook a thread of them.

    A worker that dies takes its notebook with it; Dask starts that one again on another.

    Parameters
    ----------
    client : distributed.Client
        From `connect`.
    root : Path
        The project's folder.
    jobs : int, optional
        Notebooks at a time; default: the number of the workers' threads.

    Raises
    ------
    ClusterError
        Naming the workers that have no ``invariance`` or do not see the folder.
    """

    def __init__(self, client: Any, root: Path, jobs: int | None = None) -> None:
        self._client = client
        self.slots = sum(client.ncores().values()) if jobs is None else jobs
        sight = client.run(_sees, str(root / "notebooks" / "claims.yml"), on_error="return")
        blind = {address: seen for address, seen in sight.items() if seen is not True}
        if blind:
            raise ClusterError(
                f"{len(blind)} of {len(sight)} workers cannot run notebooks of {root}: "
                + "; ".join(
                    f"{address} " + ("does not see that folder" if seen is False else str(seen))
                    for address, seen in blind.items()
                )
                + ". They need the same environment and a file system in common with this machine"
            )

    def start(self, description: dict[str, Any], environment: dict[str, str]) -> Process:
        shared = {k: v for k, v in os.environ.items() if k.startswith("INVARIANCE_")}
        future = self._client.submit(
            _supervise,
            description,
            shared | environment,
            key=f"{description['notebook']}-{uuid.uuid4().hex}",
        )
        return _Remote(future, Path(description["folder"]))

    def end(self, process: Process | None, folder: Path) -> None:
        if process is not None:
            process.end()


def _sees(path: str) -> bool:
    return Path(path).is_file()


async def _identity(address: str, timeout: float) -> dict[str, Any]:
    """What the Dask process at an address says of itself."""
    from distributed import Security, rpc

    arguments = Security().get_connection_args("client")
    async with (
        asyncio.timeout(timeout + _GREETING),
        rpc(address, timeout=timeout, connection_args=arguments) as process,
    ):
        return await process.identity()


def _stranger(address: str, what: str = "something") -> ClusterError:
    return ClusterError(
        f"{what} answers at {address!r}, but no Dask scheduler: give the address that "
        "'dask scheduler' prints for itself, such as 'tcp://10.0.0.1:8786', not its dashboard's"
    )


def connect(address: str, timeout: float = 10.0) -> Any:
    """A client of the Dask scheduler at an address.

    Parameters
    ----------
    address : str
        Such as ``"tcp://10.0.0.1:8786"``.
    timeout : float
        Seconds to wait for somebody to accept the connection, and one more to say who it is.

    Returns
    -------
    distributed.Client

    Raises
    ------
    ClusterError
        If Dask is not installed, no scheduler answers there, something else does, or the scheduler
        has no workers.
    """
    try:
        from distributed import Client
        from distributed.comm import CommClosedError
        from distributed.utils import LoopRunner
    except ImportError as error:
        raise ClusterError(
            "running on a cluster needs Dask, which is not installed here: "
            "pip install 'invariance[guides]'"
        ) from error
    # A client waits without end for the greeting of whoever accepts its connection, and nothing
    # ends it from outside. Hence a question first, in an event loop that goes away with it.
    try:
        answer = LoopRunner().run_sync(_identity, address, timeout)
    # silence; a line cut; another language, whose first letters are read as a message's length
    except (TimeoutError, CommClosedError, MemoryError, AssertionError) as error:
        raise _stranger(address) from error
    except Exception as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address!r} within {timeout:g} s "
            f"({str(error).splitlines()[0] if str(error) else type(error).__name__}): start one "
            "with 'dask scheduler', and give the address that it prints, not its dashboard's"
        ) from error
    if "workers" not in answer:
        raise _stranger(address, f"a Dask {answer['type'].lower()}")
    if not answer["workers"]:
        raise ClusterError(
            f"the Dask scheduler at {address!r} has no workers: start some with "
            f"'dask worker {address}' on each machine"
        )
    return Client(address, timeout=timeout, set_as_default=False)
