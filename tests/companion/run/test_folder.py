"""Results lie beside papermill's output file, and runs at the same time never share a folder."""

import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import jupytext
import pytest

from invariance.companion import Run


def seed_in(folder: Path) -> int:
    return json.loads((folder / "results.json").read_text("utf-8"))["seed"]


def fork_for_each(connection: Connection) -> None:
    """For each seed and environment that is received, record results in a process of its own."""
    while request := connection.recv():
        seed, environment = request
        child = os.fork()
        if child == 0:
            try:
                os.environ.update(environment)
                run = Run("p/a", seed=seed)
                run.say("{n} is the seed", n=run.seed)
                connection.send(run.folder)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        connection.send("ended")


@pytest.fixture
def record(project, tmp_path, monkeypatch) -> Iterator[Callable[..., Path]]:
    """A function that returns the folder in which another process has recorded its results.

    These processes are forks of one that has imported everything and has no `Run` yet.
    """
    monkeypatch.chdir(tmp_path)
    connection, other_end = multiprocessing.Pipe()
    server = multiprocessing.get_context("fork").Process(target=fork_for_each, args=[other_end])
    server.start()

    def recorded(seed: int, **environment: str) -> Path:
        connection.send((seed, environment))
        folder = connection.recv()
        assert folder != "ended", "the other process has failed"
        assert connection.recv() == "ended"
        return folder

    yield recorded
    connection.send(None)
    server.join()


def test_runs_at_the_same_time_never_share_a_folder(project, record):
    folder = project.interactive("p/a", "quick")
    run = Run("p/a", seed=1)
    again = Run("p/a", seed=2)  # a cell that is executed again
    assert run.folder == again.folder == folder
    assert record(3) == folder.with_name("a-2")
    assert (seed_in(folder), seed_in(folder.with_name("a-2"))) == (2, 3)
    del run
    assert record(3) == folder.with_name("a-2")
    del again
    assert record(4) == folder and seed_in(folder) == 4


def test_the_folder_can_be_chosen(record, tmp_path, monkeypatch):
    chosen = tmp_path / "chosen"
    assert record(5, INVARIANCE_RUN_DIR="chosen") == chosen and seed_in(chosen) == 5
    monkeypatch.setenv("INVARIANCE_RUN_DIR", str(chosen))
    run = Run("p/a", seed=6)
    assert run.folder == chosen
    assert record(7, INVARIANCE_RUN_DIR=str(chosen)) == tmp_path / "chosen-2"
    assert seed_in(chosen) == 6


@pytest.mark.notebooks
def test_plain_papermill_writes_beside_its_output(project, tmp_path):
    """Two at the same time, by each of papermill's commands, from other folders than the output."""
    notebook = tmp_path / "a.ipynb"
    jupytext.write(jupytext.read(project.source(project.write("p/a", "x = 1"))), notebook)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    line = [sys.executable, "-m", "papermill", "-k", "python3", str(notebook)]
    command = [sys.executable, str(Path(sys.executable).with_name("papermill"))]
    lines = [
        [*line, "out/first-{seed}.ipynb", "-p", "seed", "3"],
        [*command, str(notebook), "out/second.v2.ipynb", "--cwd", "elsewhere", "-p", "seed", "4"],
    ]
    environment = os.environ | {"PWD": str(tmp_path)}  # as a shell sets it
    started = [subprocess.Popen(line, cwd=tmp_path, env=environment) for line in lines]
    assert [process.wait(timeout=300) for process in started] == [0, 0]
    assert seed_in(tmp_path / "out/first-3.results") == 3
    assert seed_in(tmp_path / "out/second.v2.results") == 4
    assert not project.build.exists()
