"""Notebooks on the workers of a Dask cluster: same results, clear errors, nothing left running."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from click.testing import CliRunner

from invariance.companion.cli import main
from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.places import Cluster, ClusterError, Here, connect
from invariance.companion.runner.worker import processes_of

distributed = pytest.importorskip("distributed", reason="needs the extra `guides` (Dask)")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
    ) as cluster:
        yield cluster


def _numbers(project, notebook: str) -> dict:
    content = json.loads((project.output(notebook, "quick") / "results.json").read_text())
    del content["volatile"]
    return content


@pytest.mark.notebooks
def test_a_batch_on_a_cluster(project, cluster):
    project.write("p/draws", 'run.table([{"x": float(run.rng.normal())}], "numbers")')
    project.write("p/fails", "answer = 1 / 0")
    # the first attempt takes its worker down, kernel and all
    project.write(
        "p/strikes",
        f"""
        import os, pathlib, psutil, signal
        sign = pathlib.Path({str(project.root / "struck")!r})
        if not sign.exists():
            sign.touch()
            worker = psutil.Process().parents()[1]  # above the notebook's worker
            assert "dask" in " ".join(worker.cmdline()) or "spawn" in " ".join(worker.cmdline())
            os.kill(worker.pid, signal.SIGKILL)
    """,
    )
    with connect(cluster.scheduler_address) as client:
        place = Cluster(client, project.root)
        assert place.slots == 2
        summary = run_notebooks(project, project.all_notebooks(), place=place)
    outcomes = {outcome.notebook: outcome for outcome in summary.outcomes}
    statuses = {name: outcome.status for name, outcome in outcomes.items()}
    assert statuses == {"p/draws": "ok", "p/fails": "failed", "p/strikes": "ok"}
    assert outcomes["p/fails"].failure["exception"] == "ZeroDivisionError"
    assert (project.root / "struck").exists()
    assert not list(project.build.glob("*/*/.*"))
    there = _numbers(project, "p/draws")
    run_notebooks(project, ["p/draws"], place=Here(1))
    assert _numbers(project, "p/draws") == there
    assert project.status("p/draws", "quick")["status"] == "ok"


def test_ending_a_notebook_ends_its_processes(project, cluster):
    notebook = project.write("p/hangs", "import time\ntime.sleep(1000)")
    folder = project.output(notebook, "quick").with_name(".hangs.1")
    with connect(cluster.scheduler_address) as client:
        place = Cluster(client, project.root)
        process = place.start(
            {"notebook": notebook, "source": str(project.source(notebook)),
             "folder": str(folder), "parameters": {}, "cell_timeout": None},
            {"INVARIANCE_ROOT": str(project.root)},
        )  # fmt: skip
        while not processes_of(folder):
            assert process.poll() is None
            time.sleep(0.05)
        place.end(process, folder)
        assert processes_of(folder) == []
        assert process.returncode is not None


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:9", "127.0.0.1:9", "nowhere.invalid:8786", "tls:/", "3"]
)
def test_a_cluster_that_cannot_be_reached_is_named(project, address):
    project.write("p/a")
    with pytest.raises(ClusterError, match="no Dask scheduler answers at") as caught:
        connect(address, timeout=3)
    assert repr(address) in str(caught.value) and "dask scheduler" in str(caught.value)


class _Silent(BaseHTTPRequestHandler):
    """Waits for the end of a line that Dask does not send, as the dashboard does."""

    def log_message(self, *_):
        pass


class _Hasty(_Silent):
    """Answers before it is asked."""

    def handle(self):
        self.send_error(408)


class _Closing(_Silent):
    def handle(self):
        pass


@pytest.fixture(params=[_Silent, _Hasty, _Closing])
def stranger(request):
    """The address of an HTTP server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), request.param) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"tcp://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_what_answers_and_is_no_scheduler_is_named_in_time(stranger):
    loops = {thread for thread in threading.enumerate() if thread.name == "IO loop"}
    start = time.monotonic()
    with pytest.raises(ClusterError, match="something answers at .*dashboard") as caught:
        connect(stranger, timeout=3)
    assert time.monotonic() - start < 100  # it would wait for ever
    assert repr(stranger) in str(caught.value)
    assert {thread for thread in threading.enumerate() if thread.name == "IO loop"} <= loops


def test_a_worker_is_no_scheduler(cluster):
    address = cluster.workers[0].worker_address
    with pytest.raises(ClusterError, match=f"a Dask worker answers at '{address}', but no Dask"):
        connect(address)


def test_command_line_says_so_and_runs_nothing(project, stranger, monkeypatch):
    project.write("p/a")
    monkeypatch.setattr("invariance.companion.cli.connect", lambda a: connect(a, timeout=3))
    for address, found in [("tcp://127.0.0.1:9", "no Dask scheduler"), (stranger, "something")]:
        result = CliRunner().invoke(main, ["run", "--scheduler", address])
        assert result.exit_code == 2
        assert f"Error: {found} answers at '{address}'" in result.output
        assert not project.build.exists()


def test_workers_that_do_not_see_the_project_are_named(cluster, tmp_path):
    with connect(cluster.scheduler_address) as client:
        with pytest.raises(ClusterError, match="2 of 2 workers cannot run .* see that folder"):
            Cluster(client, tmp_path / "elsewhere")


def test_a_cluster_without_workers():
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as empty:
        with pytest.raises(ClusterError, match="has no workers: start some with 'dask worker"):
            connect(empty.scheduler_address)


def test_without_dask(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"pip install 'invariance\[guides\]'"):
        connect("tcp://127.0.0.1:8786")
