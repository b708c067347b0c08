"""Notebooks on a Dask cluster of this machine: results come back whole, also if workers die.

``make chaos`` kills workers at random moments, ``INVARIANCE_KILLS`` times, and the scheduler once.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from invariance.companion.cli import main
from invariance.companion.errors import NotebookError
from invariance.companion.provenance import code_version, package_versions
from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.collect import write_table
from invariance.companion.runner.places import Here
from invariance.companion.runner.sweep import Sweep
from invariance.core.parameters import ParameterError

from .light import statuses

distributed = pytest.importorskip("distributed", reason="needs the extra `guides`")
from invariance.companion.runner.cluster import Cluster  # noqa: E402

KILLS = int(os.environ.get("INVARIANCE_KILLS", 10))
PATIENCE = 300.0

#: Notes each execution, and waits as long as a file says so.
WAIT = """
import time
from pathlib import Path
from _helper import twice
root = Path("ROOT")
with open(root / f"ran-{seed}", "a") as file:
    file.write("x")
while (root / f"wait-{seed}").exists():
    time.sleep(0.05)
run.say("{double} is twice the seed", double=twice(seed))
run.table([{"x": run.rng.normal()}], "numbers")
"""
READ = """
from invariance.companion import saved
numbers, _ = saved("p/base", "numbers", profile)
run.say("{x:.3f} was measured", x=numbers.x[0])
"""


def wait_for(condition) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@contextmanager
def program(*arguments: str) -> Iterator[psutil.Popen]:
    """A program of Dask, which is ended with all that it has started."""
    process = psutil.Popen(
        [sys.executable, "-m", "dask", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        below = process.children(recursive=True) if process.is_running() else []
        for each in (process, *below):
            with suppress(psutil.Error):
                each.kill()
        process.wait()


def worker(address: str, folder: Path, *options: str):
    limits = ["--nthreads", "1", "--no-dashboard", "--local-directory", str(folder), *options]
    return program("worker", address, *limits)


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a scheduler in this process."""
    with distributed.LocalCluster(
        n_workers=0, processes=False, protocol="tcp://", host="127.0.0.1", dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def waiting(project):
    """A notebook with a module beside it that notes its executions; and which seeds have run."""
    (project.notebooks / "p").mkdir()
    (project.notebooks / "p/_helper.py").write_text("def twice(x):\n    return 2 * x\n", "utf-8")
    project.write("p/a", WAIT.replace("ROOT", str(project.root)))

    def executions() -> dict[int, int]:
        files = sorted(project.root.glob("ran-*"))
        return {int(file.name[4:]): len(file.read_bytes()) for file in files}

    return executions


@pytest.mark.notebooks
def test_a_sweep_survives_the_death_of_a_worker_and_comes_back_whole(
    project, waiting, address, tmp_path, monkeypatch
):
    base = "import numpy as np\nrun.table([{'x': 0.25}], 'numbers')"
    project.write("p/base", base)
    project.write("p/reader", READ)
    source = project.source("p/reader")
    header = "# jupyter:\n#   invariance:\n#     reads: [p/base]\n"
    source.write_text(source.read_text("utf-8").replace("# jupyter:\n", header), "utf-8")
    sweep = Sweep.read(project, "p/a", "quick", [("seed", "1..4")])
    for seed in (1, 2):
        (tmp_path / f"wait-{seed}").touch()
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        dying = stack.enter_context(worker(address, tmp_path / "one", "--no-nanny"))
        stack.enter_context(worker(address, tmp_path / "two", "--no-nanny"))
        client = stack.enter_context(distributed.Client(address, set_as_default=False))
        client.wait_for_workers(2, timeout=PATIENCE)
        place = stack.enter_context(Cluster(address, project))
        assert place.slots == 2
        running = pool.submit(sweep.run, place=place)
        wait_for(lambda: set(waiting()) == {1, 2})
        dying.kill()
        for seed in (1, 2):
            (tmp_path / f"wait-{seed}").unlink()
        summary = running.result(timeout=PATIENCE)
        assert {outcome.status for outcome in summary.outcomes} == {"ok"}
        # One notebook ran on the worker that died, and again on the other one.
        assert sorted(waiting().values()) == [1, 1, 1, 2]
        others = run_notebooks(project, ["p/reader", "p/base"], place=place)
        assert statuses(others) == {"p/base": "ok", "p/reader": "ok"}
        versions = package_versions() | {"numpy": "0.1"}
        monkeypatch.setattr(
            "invariance.companion.runner.cluster.package_versions", lambda: versions
        )
        with pytest.raises(
            NotebookError, match=r"numpy is [\d.]+ on the worker tcp.*, and 0.1 here"
        ):
            Cluster(address, project)
    # They count as results of a run on this machine, with every file.
    assert set(statuses(sweep.run(place=Here(1))).values()) == {"kept"}
    kept = run_notebooks(project, ["p/reader", "p/base"], place=Here(1), resume=True)
    assert set(statuses(kept).values()) == {"kept"}
    assert write_table(sweep)["double"].tolist() == [2, 4, 6, 8]
    names = {path.name for path in sweep.tasks()[0].folder.iterdir()}
    assert names == {"executed.ipynb", "results.json", "status.json", "numbers.csv"}
    text = (project.output("p/reader", "quick") / "results.json").read_text("utf-8")
    stored = json.loads(text)
    assert stored["says"][0]["numbers"] == {"x": 0.25}
    assert stored["provenance"]["code"] == code_version(project.root)
    assert project.hidden() == [] and not [*tmp_path.glob("two/*/*/invariance-*")]


def test_a_cluster_that_is_not_there_is_refused(project, address):
    project.write("p/a", "x = 1")
    with pytest.raises(ParameterError, match="no Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        Cluster("tcp://127.0.0.1:9", project, connect_s=1.0)
    with pytest.raises(NotebookError, match="no workers: start some with 'dask worker tcp://127"):
        Cluster(address, project, connect_s=1.0)
    result = CliRunner().invoke(main, ["run", "--cluster", address, "--jobs", "2"])
    assert result.exit_code == 2 and "--jobs is for this machine" in result.output
    assert not project.build.exists()


@pytest.mark.chaos
def test_random_kills_of_workers_lose_nothing_and_repeat_nothing_finished(
    project, waiting, address, tmp_path
):
    seed = int(os.environ.get("INVARIANCE_CHAOS_SEED", 0))
    print(f"INVARIANCE_CHAOS_SEED={seed}")
    draw = random.Random(seed)
    repeated = 0
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        for name in ("one", "two"):
            stack.enter_context(worker(address, tmp_path / name))  # a nanny starts it again
        client = stack.enter_context(distributed.Client(address, set_as_default=False))
        client.wait_for_workers(2, timeout=PATIENCE)
        place = stack.enter_context(Cluster(address, project))
        for kill in range(KILLS):
            values = f"{10 * kill}..{10 * kill + 5}"
            sweep = Sweep.read(project, "p/a", "quick", [("seed", values)])
            first = min(sweep.axes["seed"])
            (tmp_path / f"wait-{first}").touch()
            finished: dict[str, int] = {}

            def note(outcome, finished=finished) -> None:
                finished[outcome.notebook] = waiting()[int(outcome.notebook.rpartition("=")[2])]

            running = pool.submit(sweep.run, place=place, tell=note)
            wait_for(lambda first=first: first in waiting())
            time.sleep(draw.uniform(0, 3))
            client.wait_for_workers(2, timeout=PATIENCE)
            pids = client.run(os.getpid)
            victim = draw.choice(list(pids.values()))
            (tmp_path / f"wait-{first}").unlink()
            psutil.Process(victim).kill()
            summary = running.result(timeout=PATIENCE)
            assert {outcome.status for outcome in summary.outcomes} == {"ok"}
            executions = waiting()
            for name, count in finished.items():
                # Results that the runner knew of did not run again later.
                assert executions[int(name.rpartition("=")[2])] == count
            counts = [executions[value] for value in sweep.axes["seed"]]
            assert max(counts) <= 2 and sum(counts) <= len(counts) + 1, counts
            repeated += sum(counts) - len(counts)
            again = sweep.run(place=place)
            assert set(statuses(again).values()) == {"kept"}
            client.wait_for_workers(2, timeout=PATIENCE)
    assert project.hidden() == []
    print(f"{KILLS} kills of workers, {repeated} notebooks ran twice, none of them finished")


@pytest.mark.chaos
def test_a_killed_scheduler_loses_nothing_that_was_finished(project, waiting, tmp_path):
    file = tmp_path / "scheduler.json"
    sweep = Sweep.read(project, "p/a", "quick", [("seed", "1..4")])
    (tmp_path / "wait-4").touch()
    with ExitStack() as stack, ThreadPoolExecutor(1) as pool:
        options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        scheduler = stack.enter_context(
            program("scheduler", *options, "--scheduler-file", str(file))
        )
        wait_for(file.exists)
        address = json.loads(file.read_text("utf-8"))["address"]
        stack.enter_context(worker(address, tmp_path / "one"))
        place = stack.enter_context(Cluster(address, project))
        running = pool.submit(sweep.run, place=place)
        wait_for(lambda: 4 in waiting())
        scheduler.kill()
        summary = running.result(timeout=PATIENCE)
    (tmp_path / "wait-4").unlink()
    ended = statuses(summary)
    assert ended == {f"p/a/seed={n}": "ok" if n < 4 else "failed" for n in range(1, 5)}
    failures = [outcome.failure["message"] for outcome in summary.outcomes if outcome.failure]
    assert len(failures) == 1 and "the Dask scheduler" in failures[0] and "is gone" in failures[0]
    assert set(statuses(sweep.run(place=Here(1))).values()) == {"kept", "ok"}
    assert waiting() == {1: 1, 2: 1, 3: 1, 4: 2}
