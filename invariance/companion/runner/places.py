"""Where notebooks run: on this machine, or on the workers of a Dask cluster.

The machines of a cluster share the project's folder, as they do on a network file system, and
have the same environment installed. Everything that a notebook writes goes to that folder, so
that only its exit code has to travel.
"""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import joblib
import psutil

from invariance.companion.errors import CompanionError
from invariance.companion.files import write_json
from invariance.companion.runner.worker import MARK, forked, kill_all

_WORKER = ("-P", "-m", "invariance.companion.runner.worker")
# seconds between two looks at a notebook's process, and patience with one that shall end
_GLANCE, _PATIENCE = 0.1, 5.0


class ClusterError(CompanionError, OSError):
    """A cluster cannot be reached or cannot run notebooks."""


class Process(Protocol):
    """What a runner needs to know of a notebook's process."""

    @property
    def returncode(self) -> int | None: ...

    def poll(self) -> int | None: ...


class Place(Protocol):
    """Somewhere to run notebooks, `slots` at a time.

    ``start`` begins the process of the notebook that is described, in a folder of its own
    (see `prepare`); ``end`` ends it and everything that it has started.
    """

    slots: int

    def start(self, description: dict[str, Any], environment: dict[str, str]) -> Process: ...

    def end(self, process: Process | None, folder: Path) -> None: ...


def prepare(description: dict[str, Any]) -> None:
    """Make an empty folder for a run, with the description of its job."""
    shutil.rmtree(description["folder"], ignore_errors=True)
    write_json(_job(description), description)


def _job(description: dict[str, Any]) -> Path:
    return Path(description["folder"], ".work", "job.json")


def _popen(
    path: Path, environment: Mapping[str, str], worker: Sequence[str] = _WORKER
) -> subprocess.Popen[bytes]:
    with path.with_name("worker.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, *worker, str(path)],
            stdin=subprocess.PIPE,  # held open as long as this process lives
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=environment["INVARIANCE_ROOT"],
            env=os.environ | environment | {MARK: str(path.parents[1])},
            # Ctrl-C in the terminal reaches the runner alone, which then ends the rest
            start_new_session=True,
        )


class _Fork:
    """A fork of multiprocessing's server, with the methods of `subprocess.Popen`."""

    def __init__(self, process: Any) -> None:
        self._process = process
        self.terminate, self.kill = process.terminate, process.kill

    @property
    def returncode(self) -> int | None:
        # 255: the server itself is gone, and with it all that it had forked
        return -signal.SIGKILL if self._process.exitcode == 255 else self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float) -> None:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("a notebook", timeout)


def _share(processes: int) -> dict[str, str]:
    """What ``n_jobs=-1`` means in a notebook that shares its machine with others."""
    return {"LOKY_MAX_CPU_COUNT": str(max(1, joblib.cpu_count() // processes))}


class Here:
    """This machine.

    On Linux, with one BLAS thread, the notebooks' processes are forks of multiprocessing's server,
    which has imported everything (`preload`): two interpreters with Jupyter, scikit-learn and
    matplotlib take four seconds to start, two forks a few hundredths. With more threads there
    would be threads to fork; every process is started anew.

    Notebooks run `jobs` at a time (default: one a core) and take at most `memory_mb` MiB together
    (default: 20 GiB, or 85 % of what the machine has). `worker` are the arguments of Python that
    start a worker; the path of a job's description follows.
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

    def start(self, description: dict[str, Any], environment: dict[str, str]) -> Process:
        environment = environment | _share(self.slots)
        path = _job(description)
        if (
            sys.platform != "linux"
            or environment["OMP_NUM_THREADS"] != "1"
            or self._worker is not _WORKER
        ):
            return _popen(path, environment, self._worker)
        return _fork(path, environment)

    def end(self, process: Any, folder: Path) -> None:
        if process is not None:
            # told to, it ends everything below it first; killed, it takes its kernel along
            for end in (process.terminate, process.kill):
                if process.poll() is None:
                    end()
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(_PATIENCE)
        kill_all(folder)


def _fork(path: Path, environment: dict[str, str]) -> Process:
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["invariance.companion.runner.preload"])
    process = server.Process(target=forked, args=(path, {**os.environ, **environment}))
    before = dict(os.environ)
    # the server keeps the environment of the process that starts it, and takes no path from it
    os.environ.update(environment, PYTHONSAFEPATH="1")
    try:
        process.start()
    finally:
        os.environ.clear()
        os.environ.update(before)
    return _Fork(process)


def _supervise(description: dict[str, Any], environment: dict[str, str]) -> int:
    """On a worker of the cluster: run a notebook's process to its end, or until told to stop."""
    from distributed import get_worker

    folder, here = Path(description["folder"]), Here(1)
    kill_all(folder)  # of a worker that was lost: Dask gives its notebook to another
    prepare(description)
    process = _popen(_job(description), environment | _share(get_worker().state.nthreads))
    try:
        # a runner that has gone leaves the stop sign out, but the next one clears the folder
        while process.poll() is None and folder.exists() and not (folder / ".work/stop").exists():
            time.sleep(_GLANCE)
    finally:
        here.end(process, folder)
    return process.returncode


class _Remote:
    """A notebook on some worker, by its future."""

    returncode: int | None = None

    def __init__(self, future: Any, folder: Path) -> None:
        self._future, self._folder = future, folder

    def poll(self) -> int | None:
        if self.returncode is None and self._future.done():
            try:
                self.returncode = self._future.result(timeout=20.0)
            except Exception as error:  # whatever befell the cluster, this notebook failed
                log = self._folder / ".work" / "worker.log"
                log.parent.mkdir(parents=True, exist_ok=True)
                log.write_text(f"lost by the cluster: {type(error).__name__}: {error}")
                self.returncode = 1
            # or Dask would run it again when the worker that holds its exit code is lost
            self._future.release()
        return self.returncode

    def end(self) -> None:
        if self.returncode is None and (self._folder / ".work").is_dir():
            (self._folder / ".work" / "stop").touch()
            end = time.monotonic() + 4 * _PATIENCE
            while self.poll() is None and time.monotonic() < end:
                time.sleep(_GLANCE)
            self._future.cancel()


class Cluster:
    """The workers of a Dask cluster, one notebook a thread of them; `client` is of `connect`.

    A worker that dies takes its notebook with it; Dask starts that one again on another. A
    `ClusterError` names the workers that have no ``invariance`` or do not see the folder `root`.
    """

    def __init__(self, client: Any, root: Path, jobs: int | None = None) -> None:
        self._client = client
        self.slots = sum(client.ncores().values()) if jobs is None else jobs
        ledger = str(root / "notebooks" / "claims.yml")
        sight = client.run(os.path.isfile, ledger, on_error="return")
        blind = {
            address: "does not see that folder" if seen is False else seen
            for address, seen in sight.items()
            if seen is not True
        }
        if blind:
            raise ClusterError(
                f"{len(blind)} of {len(sight)} workers cannot run notebooks of {root}: "
                + "; ".join(f"{address} {fault}" for address, fault in blind.items())
                + ". They need the same environment and a file system in common with this machine"
            )

    def start(self, description: dict[str, Any], environment: dict[str, str]) -> Process:
        shared = {k: v for k, v in os.environ.items() if k.startswith("INVARIANCE_")}
        key = f"{description['notebook']}-{uuid.uuid4().hex}"
        future = self._client.submit(_supervise, description, shared | environment, key=key)
        return _Remote(future, Path(description["folder"]))

    def end(self, process: Any, folder: Path) -> None:
        if process is not None:
            process.end()


def connect(address: str, timeout: float = 10.0) -> Any:
    """A `distributed.Client` of the scheduler at an address such as ``"tcp://10.0.0.1:8786"``.

    It waits `timeout` seconds for somebody to accept the connection, and one more for them to say
    who they are. A `ClusterError` says if Dask is not installed, no scheduler answers there,
    something else does, or the scheduler has no workers.
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
    who = "something"
    fault: Exception | None = None
    # A client waits without end for the greeting of whoever accepts its connection, and nothing
    # ends it from outside. Hence a question first, in an event loop that goes away with it.
    try:
        answer = LoopRunner().run_sync(_identity, address, timeout)
        if "workers" not in answer:
            who, fault = f"a Dask {answer['type'].lower()}", TypeError()
    # silence; a line cut; another language, whose first letters are read as a message's length
    except (TimeoutError, CommClosedError, MemoryError, AssertionError) as error:
        fault = error
    except Exception as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address!r} within {timeout:g} s "
            f"({str(error).splitlines()[0] if str(error) else type(error).__name__}): start one "
            "with 'dask scheduler', and give the address that it prints, not its dashboard's"
        ) from error
    if fault is not None:
        raise ClusterError(
            f"{who} answers at {address!r}, but no Dask scheduler: give the address that 'dask "
            "scheduler' prints for itself, such as 'tcp://10.0.0.1:8786', not its dashboard's"
        ) from fault
    if not answer["workers"]:
        raise ClusterError(
            f"the Dask scheduler at {address!r} has no workers: start some with "
            f"'dask worker {address}' on each machine"
        )
    return Client(address, timeout=timeout, set_as_default=False)


async def _identity(address: str, timeout: float) -> dict[str, Any]:
    """What the Dask process at an address says of itself."""
    import asyncio

    from distributed import Security, rpc

    arguments = Security().get_connection_args("client")
    async with (
        asyncio.timeout(timeout + 1.0),
        rpc(address, timeout=timeout, connection_args=arguments) as process,
    ):
        return await process.identity()
