"""Notebooks on the machines of a Dask cluster: a `Cluster` is a place of `batch`.

Library and notebooks are sent to the workers as an archive (`remote.ProjectCopy`); data sets have
to be in a folder that the workers see. Each worker has a process that has imported everything
(`host`), from which notebooks are forked. The folder that a notebook has written comes back whole,
and is kept like that of a notebook that ran on this machine. If a worker dies, Dask runs its
notebooks on another one.
"""

import io
import os
import time
import uuid
import zipfile
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

import cloudpickle
from distributed import Client

from ...core.parameters import ParameterError
from ..errors import NotebookError
from ..files import write_json
from ..paths import Paths
from ..provenance import REVISION, code_version, digest, package_versions
from . import remote
from .attempt import Process
from .worker import failure

_COUNT_S = 2.0  # between two looks at how many workers there are
# Variables that workers take over from this machine, unless they have their own.
_SHARED_VARIABLES = ("INVARIANCE_DATA",)
_PACKAGE = Path(__file__).resolve().parents[2]


class RemoteProcess:
    """The process of a notebook on a worker: its results lie in `folder` once it has ended."""

    def __init__(self, future: Any, folder: Path) -> None:
        self._future = future
        self._folder = folder
        self._code: int | None = None

    @property
    def exitcode(self) -> int | None:
        if self._code is None and self._future.done():
            self._code = self._fetch()
        return self._code

    def _fetch(self) -> int:
        """Unpack the folder of the notebook, or write down why there is none."""
        if self._future.status == "finished":
            try:
                code, archive = self._future.result()
            except Exception as fault:  # the worker died, or the scheduler
                return self._note("killed", f"its result was lost ({type(fault).__name__})")
            with zipfile.ZipFile(io.BytesIO(archive)) as opened:
                opened.extractall(self._folder)
            return int(code)
        if self._future.status == "error":
            error = self._future.exception()
            kind = type(error).__name__
            status = "failed"
            if kind == "KilledWorker":  # several workers died while they ran this notebook
                status = "killed"
            return self._note(status, f"{kind}: {error}")
        return self._note("failed", "the Dask scheduler is gone: start it again, and run again")

    def _note(self, status: str, message: str) -> int:
        outcome = {"status": status, "failure": failure(message)}
        write_json(self._folder / ".work" / "outcome.json", outcome)
        return 1

    def terminate(self) -> None:
        with suppress(Exception):  # without a scheduler, no worker runs it
            self._future.cancel()

    kill = terminate

    def join(self, timeout: float | None = None) -> None:
        """Return at once: results that come later are not wanted."""

    @property
    def is_lost(self) -> bool:
        return self._future.status in ("lost", "cancelled")


class Cluster:
    """The workers of the Dask scheduler at `address`, one notebook for each of their threads.

    A context manager: at its end, the workers remove their copies of the project. It raises a
    `ParameterError` if no scheduler answers, and a `NotebookError` if there are no workers, or if
    their packages have other versions, within `connect_s` seconds.
    """

    memory_mb = inf
    glance_s = 0.05

    def __init__(self, address: str, paths: Paths, *, connect_s: float = 30.0) -> None:
        self._address = address
        self._connect_s = connect_s
        self._paths = paths
        self._run = uuid.uuid4().hex[:8]
        self._copy = ""  # name of the present copy of the project, and a digest of it
        self._processes: list[RemoteProcess] = []
        self._counted: tuple[float, int] = (-inf, 0)
        cloudpickle.register_pickle_by_value(remote)
        try:
            self._client = Client(address, timeout=connect_s, set_as_default=False)
        except (OSError, ValueError) as error:
            remedy = "start one with 'dask scheduler', and workers with 'dask worker ADDRESS'"
            raise ParameterError(f"no Dask scheduler answers at {address!r}: {remedy}") from error
        try:
            self._send_project()
            self._machine = self._describe_workers()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with suppress(Exception):  # the scheduler may be gone
            if self._copy:
                self._client.unregister_worker_plugin(self._copy)
        self._client.close(timeout=5)

    @property
    def architecture(self) -> str:
        """The processor architectures of the workers."""
        return str(self._machine["architecture"])

    @property
    def slots(self) -> int:
        """The number of threads of all workers."""
        counted_at, count = self._counted
        if time.monotonic() > counted_at + _COUNT_S:
            with suppress(Exception):  # the scheduler may be gone; `start` reports it
                count = sum(self._client.nthreads().values())
            self._counted = (time.monotonic(), count)
        # Without workers, one notebook waits for the next that starts.
        return max(1, count)

    def start(self, description: dict[str, Any], environment: dict[str, str]) -> RemoteProcess:
        """Hand a notebook to the scheduler; raises OSError if that is gone."""
        lost = any(process.is_lost for process in self._processes)
        if lost or self._client.status != "running":
            fault = f"the Dask scheduler at {self._address} is gone"
            raise OSError(f"{fault}: start it again, and run the same command again")
        self._send_project()
        job = {
            "description": description,
            "environment": environment,
            "root": str(self._paths.root),
            "code": str(_PACKAGE.parent),
        }
        future = self._client.submit(
            remote.run_job,
            self._copy,
            self._machine,
            job,
            self._inputs(description),
            key=f"{description['notebook']}-{uuid.uuid4().hex}",
            pure=False,
        )
        process = RemoteProcess(future, Path(description["folder"]))
        self._processes.append(process)
        return process

    def end(self, process: Process | None, folder: Path) -> None:
        """Have the worker end a notebook and everything that it has started."""
        if process in self._processes:
            process.terminate()
            self._processes.remove(process)

    def _send_project(self) -> None:
        """Send library and notebooks to all workers, unless they have them as they are now."""
        files = _files(self._paths)
        name = f"invariance-{self._run}-{digest(files)[:16]}"
        if name == self._copy:
            return
        contents = {name: path.read_bytes() for name, path in files.items()}
        revision = code_version(self._paths.root)
        contents[f"project/{REVISION}"] = revision.encode()
        shared = {}
        for variable in _SHARED_VARIABLES:
            if variable in os.environ:
                shared[variable] = os.environ[variable]
        copy = remote.ProjectCopy(name, _zipped(contents), shared)
        self._client.register_plugin(copy, name=name)
        self._copy = name

    def _describe_workers(self) -> dict[str, Any]:
        """Return packages and architectures of the workers; refuse other versions than ours."""
        try:
            self._client.wait_for_workers(1, timeout=self._connect_s)
        except TimeoutError:
            remedy = f"start some with 'dask worker {self._address}'"
            raise NotebookError(f"the scheduler has no workers: {remedy}") from None
        addresses = list(self._client.nthreads())
        futures = []
        for address in addresses:
            future = self._client.submit(remote.describe, self._copy, workers=[address], pure=False)
            futures.append(future)
        machines = self._client.gather(futures)
        ours = package_versions()
        for address, machine in zip(addresses, machines, strict=True):
            _refuse_other_packages(address, machine["packages"], ours)
        architectures = sorted({machine["architecture"] for machine in machines})
        return {"packages": ours, "architecture": " + ".join(architectures)}

    def _inputs(self, description: dict[str, Any]) -> bytes:
        """Return a zip file with the results of the notebooks that a notebook reads."""
        contents = {}
        profile = description["parameters"]["profile"]
        for name in description["reads"]:
            for folder in (self._paths.published(name), self._paths.output(name, profile)):
                for path in (folder / "results.json", *folder.glob("*.csv")):
                    if path.is_file():
                        relative = path.relative_to(self._paths.root).as_posix()
                        contents[relative] = path.read_bytes()
        return _zipped(contents)


def _refuse_other_packages(
    address: str, packages: dict[str, str], expected: dict[str, str]
) -> None:
    """Raise a `NotebookError` if a worker has other versions of packages."""
    for name, version in expected.items():
        present = packages.get(name, "absent")
        if present != version:
            fault = f"{name} is {present} on the worker {address}, and {version} here"
            raise NotebookError(f"{fault}: install the same version")


def _files(paths: Paths) -> dict[str, Path]:
    """Return the files that notebooks need, by their names in the archive."""
    files = {}
    for prefix, folder in (("code/invariance", _PACKAGE), ("project/notebooks", paths.notebooks)):
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            is_left_out = any(part == "__pycache__" or part.startswith(".") for part in name.parts)
            if path.is_file() and not is_left_out:
                files[f"{prefix}/{name.as_posix()}"] = path
    return files


def _zipped(contents: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return buffer.getvalue()
