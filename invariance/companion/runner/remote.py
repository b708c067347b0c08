"""The part of `cluster` that runs in the workers of a Dask cluster.

This module is sent to the workers as it is, so that they need the packages of this project but not
the project itself. Therefore it imports nothing from it.
"""

import io
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile
from pathlib import Path
from typing import Any

from distributed import get_worker
from distributed.diagnostics.plugin import WorkerPlugin

_LOOK_S = 0.5  # between two looks at whether the result is still wanted


class ProjectCopy(WorkerPlugin):
    """A copy of project and library on a worker, and the processes that run its notebooks.

    `archive` is a zip file with the folders ``project`` and ``code``. A worker that starts later,
    or again, receives the copy too.
    """

    def __init__(self, name: str, archive: bytes, environment: dict[str, str]) -> None:
        self.name = name
        self.archive = archive
        self.environment = environment  # set on workers that do not have these variables

    def setup(self, worker: Any) -> None:
        self.folder = Path(worker.local_directory, self.name).resolve()
        _unpack(self.archive, self.folder)
        self.idle: list[Host] = []
        self.hosts: list[Host] = []
        self.lock = threading.Lock()

    def teardown(self, worker: Any) -> None:
        for host in self.hosts:
            host.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def host(self) -> "Host":
        """Return an idle process that runs notebooks, or a new one."""
        with self.lock:
            while self.idle:
                host = self.idle.pop()
                if host.process.poll() is None:
                    return host
        environment = {**self.environment, **os.environ}
        path = [str(self.folder / "code"), os.environ.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
        environment["INVARIANCE_ROOT"] = str(self.folder / "project")
        host = Host(environment, self.folder)
        with self.lock:
            self.hosts.append(host)
        return host

    def give_back(self, host: "Host") -> None:
        with self.lock:
            self.idle.append(host)


class Host:
    """A running ``invariance.companion.runner.host``; `machine` is its description."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "invariance.companion.runner.host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=folder,
        )
        self.machine = self.answer()

    def answer(self) -> dict[str, Any]:
        """Return the next answer; end the process if the task is not wanted any more."""
        assert self.process.stdout is not None
        while not select.select([self.process.stdout], [], [], _LOOK_S)[0]:
            if _is_cancelled():
                self.process.kill()
                raise RuntimeError("the task was cancelled")
        line = self.process.stdout.readline()
        if not line:
            raise EOFError(f"the process of notebooks ended with code {self.process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def run(self, job: dict[str, Any]) -> int:
        """Run a notebook and return the exit code of its process.

        If this process is killed, its notebook is killed with it.
        """
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(job).encode() + b"\n")
            self.process.stdin.flush()
            code: int = self.answer()["exitcode"]
        except (EOFError, BrokenPipeError):
            return -signal.SIGKILL
        return code


def describe(name: str) -> dict[str, Any]:
    """Return versions and architecture of this machine, and keep the process that knows them."""
    copy: Any = get_worker().plugins[name]
    host = copy.host()
    copy.give_back(host)
    return host.machine


def run_job(
    name: str, machine: dict[str, Any], job: dict[str, Any], inputs: bytes
) -> tuple[int, bytes]:
    """Run a notebook; return the exit code of its process, and a zip file of its folder.

    `name` is that of a `ProjectCopy`. The job's paths are those of the machine that has sent it,
    ``job["root"]`` and ``job["code"]``. `inputs` is a zip file of results that the notebook reads.
    The versions of packages must be those of `machine`.
    """
    copy: Any = get_worker().plugins[name]
    _unpack(inputs, copy.folder / "project")
    host = copy.host()
    _refuse_other_machine(machine, host.machine)
    root = copy.folder / "project"
    attempts = copy.folder / "attempts"
    attempts.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=attempts), "run")
    description = dict(job["description"])
    source = Path(description["source"]).relative_to(job["root"])
    description["source"] = str(root / source)
    description["folder"] = str(folder)
    work = folder / ".work"
    work.mkdir(parents=True)
    (work / "job.json").write_text(json.dumps(description), encoding="utf-8")
    environment = {**job["environment"], "INVARIANCE_ROOT": str(root)}
    try:
        code = host.run({"description": description, "environment": environment})
        copy.give_back(host)
        _use_paths_of_sender(
            work / "read.json", {root: job["root"], root.with_name("code"): job["code"]}
        )
        return code, _packed(folder)
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)


def _is_cancelled() -> bool:
    """Whether nobody waits for the result of the present task any more."""
    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"


def _refuse_other_machine(expected: dict[str, Any], machine: dict[str, Any]) -> None:
    """Raise an error if results of this machine may differ from those of the others."""
    for name, version in expected["packages"].items():
        present = machine["packages"].get(name)
        if present != version:
            raise RuntimeError(f"{name} is {present} on a worker, and {version} here")
    if machine["architecture"] not in expected["architecture"].split(" + "):
        raise RuntimeError(f"a worker with processor {machine['architecture']} joined the run")


def _use_paths_of_sender(path: Path, folders: dict[Path, str]) -> None:
    """Replace folders of this machine, in the list of modules that the notebook has imported."""
    if not path.is_file():
        return
    content = json.loads(path.read_text(encoding="utf-8"))
    modules = {}
    for file, digest in content["modules"].items():
        for here, there in folders.items():
            if Path(file).is_relative_to(here):
                file = str(Path(there, Path(file).relative_to(here)))
        modules[file] = digest
    content["modules"] = modules
    path.write_text(json.dumps(content), encoding="utf-8")


def _packed(folder: Path) -> bytes:
    """Return a zip file of a folder, without the programs' folders in ``.work``."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder)
            is_inside_work = name.parts[0] == ".work" and len(name.parts) > 2
            if path.is_file() and not is_inside_work and name.as_posix() != ".work/job.json":
                archive.write(path, name)
    return buffer.getvalue()


def _unpack(content: bytes, folder: Path) -> None:
    """Unpack a zip file; a file that another task reads now is replaced as a whole."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            target = folder / entry.filename
            data = archive.read(entry)
            if target.is_file() and target.read_bytes() == data:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=target.parent)
            with open(descriptor, "wb") as file:
                file.write(data)
            os.replace(temporary, target)
