"""The runner against good, failing, hanging, dying and malformed notebooks.

Each kernel costs seconds, hence few runs with many notebooks in each.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import jupytext
import nbformat
import papermill
import pytest

from invariance.companion.errors import OutputError
from invariance.companion.files import write_json
from invariance.companion.ledger import consistency
from invariance.companion.ledger.claims import load_ledger
from invariance.companion.paths import Paths
from invariance.companion.runner import batch
from invariance.companion.runner.batch import Summary, run_notebooks
from invariance.companion.runner.lock import runner_folder
from invariance.companion.runner.places import Here
from invariance.core.parameters import ParameterError

pytestmark = pytest.mark.notebooks

GOOD = """
import matplotlib.pyplot as plt
figure, axes = plt.subplots()
axes.plot(run.rng.normal(size=3))
run.figure(figure, "walk", alt="A random walk")
run.table([{"x": float(run.rng.normal())}], "numbers")
"""
CLAIM = """
run.claim("demo/order", order="b > a", scores={"a": run.rng.normal(size=9), "b": 4 + width})
"""
CACHED = (
    """
OFFSET = 1

def helper(x):
    return x + OFFSET
""",
    """
import os, pathlib

@run.cache
def slow(x):
    with open(os.environ["INVARIANCE_ROOT"] + "/computed", "a") as file:
        file.write("x")
    return helper(x)

assert slow(2) == 3
run.claim("demo/same", difference=slow(2) - 3.0, tolerance=1e-10)
""",
)
SLEEP = """
import os, pathlib, time
pathlib.Path(os.environ["INVARIANCE_ROOT"], "asleep").touch()
while pathlib.Path(os.environ["INVARIANCE_ROOT"], "sleep").exists():
    time.sleep(0.1)
"""


def results(paths: Paths, notebook: str, profile: str = "quick") -> dict:
    content = json.loads((paths.output(notebook, profile) / "results.json").read_text())
    del content["volatile"]
    return content


def statuses(summary: Summary) -> dict[str, str]:
    return {outcome.notebook: outcome.status for outcome in summary.outcomes}


SCARCE = """
import os, pathlib, time
root = pathlib.Path(os.environ["INVARIANCE_ROOT"])
with open(root / "attempts", "a") as file:
    file.write("x")
while not (root / "asleep").exists():
    time.sleep(0.05)
if (root / "sleep").exists():
    os.kill(os.getpid(), 9)
"""


def test_what_is_killed_beside_others_is_tried_once_more_alone(project, capfd, monkeypatch):
    """As when two notebooks together want more memory than there is."""
    once_more = batch._Batch._once_more

    def noticed(*arguments) -> None:
        once_more(*arguments)
        (project.root / "noticed").touch()

    monkeypatch.setattr(batch._Batch, "_once_more", noticed)
    (project.root / "sleep").touch()
    project.write("p/scarce", SCARCE)
    waits = """
root = pathlib.Path(os.environ["INVARIANCE_ROOT"])
while not (root / "noticed").exists():
    time.sleep(0.05)
(root / "sleep").unlink()
while"""
    project.write("p/beside", SLEEP.replace("while", waits, 1))
    project.write("p/third", "x = 1")
    summary = run_notebooks(project, project.all_notebooks(), place=Here(2))
    assert statuses(summary) == {"p/scarce": "ok", "p/beside": "ok", "p/third": "ok"}
    assert (project.root / "attempts").read_text() == "xx"
    assert [o.notebook for o in summary.outcomes][-1] == "p/scarce"
    assert "p/scarce was killed beside p/beside: once more, alone" in capfd.readouterr().out
    assert project.processes() == [] and project.hidden() == []


def test_one_failure_never_stops_the_rest(project):
    project.write("p/good", GOOD, CLAIM)
    project.write("p/cached", *CACHED)
    project.write("p/fails", GOOD, "answer = 1 / 0", "raise AssertionError('not reached')")
    project.write("p/dies", "import os\nos.kill(os.getpid(), 9)")
    project.write("p/orphan", "import os\nos.kill(os.getppid(), 9)\nwhile True: pass")
    project.write("p/shapeless", "x = 1", parameters="")
    project.write("p/garbled", "x = (")
    project.write("p/exits", "import sys\nsys.exit(0)", "raise AssertionError('not reached')")
    project.write("p/half", "(run.folder / 'results.json').write_text('{')")
    summary = run_notebooks(project, project.all_notebooks(), place=Here(2))
    killed, failed = ("p/dies", "p/orphan"), "p/fails p/shapeless p/garbled p/exits p/half"
    assert statuses(summary) == dict.fromkeys(("p/good", "p/cached"), "ok") | dict.fromkeys(
        killed, "killed"
    ) | dict.fromkeys(failed.split(), "failed")
    assert summary.exit_code == 1 and not summary.interrupted
    assert project.processes() == [] and project.hidden() == []
    failures = {o.notebook: o.failure for o in summary.outcomes if o.failure}

    assert failures["p/fails"]["cell_source"] == "answer = 1 / 0"
    assert failures["p/fails"]["exception"] == "ZeroDivisionError"
    assert "answer = 1 / 0" in failures["p/fails"]["traceback"]
    assert "\x1b" not in failures["p/fails"]["traceback"]
    assert project.status("p/fails", "quick")["failure"] == failures["p/fails"]
    failed = project.output("p/fails", "quick") / "failed"
    executed = nbformat.read(failed / "executed.ipynb", as_version=4)
    assert any("ZeroDivisionError" in str(cell.get("outputs")) for cell in executed.cells)

    assert "os.kill" in failures["p/dies"]["cell_source"]
    assert "kernel died" in failures["p/dies"]["message"]
    assert "os.kill" in failures["p/orphan"]["cell_source"]
    assert "SIGKILL" in failures["p/orphan"]["message"]
    assert 'Start it with\n# %% tags=["parameters"]' in failures["p/shapeless"]["message"]
    assert "not Python" in failures["p/garbled"]["message"]
    assert "ended early" in failures["p/exits"]["message"]
    assert "sys.exit(0)" in failures["p/exits"]["cell_source"]
    assert "results.json: not readable as results" in failures["p/half"]["message"]

    good = project.output("p/good", "quick")
    written = {"executed.ipynb", "results.json", "status.json", "walk.png", "numbers.csv"}
    assert {p.name for p in good.iterdir()} == written
    assert results(project, "p/good")["claims"]["demo/order"]["verdict"] == "matched"
    executed = nbformat.read(good / "executed.ipynb", as_version=4)
    outputs = [output for cell in executed.cells for output in cell.get("outputs", [])]
    assert [o.metadata["invariance"] for o in outputs if "invariance" in o.get("metadata", {})] == [
        {"figure": "walk"},
        {"table": "numbers"},
        {"claim": "demo/order"},
    ]
    # each is shown once: the value of a call that ends a cell is not shown beside it
    assert not [output for output in outputs if output.output_type == "execute_result"]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert [p.metadata["image/png"]["alt"] for p in pictures] == ["A random walk"]

    # the same seed alone and one at a time; the cached function is not computed again
    first = {name: results(project, name) for name in ("p/good", "p/cached")}
    png = (good / "walk.png").read_bytes()
    again = run_notebooks(project, list(first), place=Here(1))
    assert again.exit_code == 0
    assert {name: results(project, name) for name in first} == first
    assert (good / "walk.png").read_bytes() == png
    assert (project.root / "computed").read_text() == "x"


def test_resume_publication_and_a_later_failure(project):
    name = project.write("p/good", GOOD, CLAIM)
    options = {"profile": "full", "resume": True}
    summary = run_notebooks(project, [name], **options)
    assert statuses(summary) == {name: "ok"}
    published = project.published(name)
    names = sorted(path.name for path in published.iterdir())
    assert names == ["numbers.csv", "results.json", "walk.png"]
    assert consistency.problems(project) == []

    summary = run_notebooks(project, [name], **options)
    assert summary.outcomes[0].resumed and summary.outcomes[0].status == "ok"
    # a ledger that changes is followed without running anything
    ledger = project.ledger.read_text()
    project.ledger.write_text(ledger.replace("demo/order, kind: order", "demo/order, kind: bound"))
    assert any("of kind bound" in problem for problem in consistency.problems(project))
    project.ledger.write_text(ledger)

    # other parameters and other text are another key; the last good results survive a failure
    good = {path: path.read_bytes() for path in published.iterdir()}
    project.write("p/good", GOOD, CLAIM, "assert width == 1.5, 'too wide'")
    summary = run_notebooks(project, [name], parameters={"width": "2.5"}, **options)
    assert statuses(summary) == {name: "failed"}
    status = project.status(name, "full")
    assert status["parameters"]["width"] == 2.5
    assert (project.output(name, "full") / "failed/executed.ipynb").is_file()
    assert results(project, name, "full")["parameters"]["width"] == 1.5
    assert {path: path.read_bytes() for path in published.iterdir()} == good
    failed = json.loads((project.output(name, "full") / "failed" / "results.json").read_text())
    assert failed["parameters"]["width"] == 2.5


def test_what_does_not_exist_is_refused_before_anything_runs(project, monkeypatch):
    project.write("p/good", GOOD)
    for options, message in (
        ({"parameters": {"wdth": 1}}, "Did you mean 'width'"),
        ({"parameters": {"width": "wide"}}, "not of type float"),
        ({"profile": "fast"}, "unknown profile 'fast'"),
        ({"place": Here(0)}, "jobs=0"),
        ({"threads": 0}, "threads=0"),
    ):
        with pytest.raises(ParameterError, match=message):
            run_notebooks(project, ["p/good"], **options)
    assert not project.build.exists()
    project.build.write_text("a file where a folder should be")
    with pytest.raises(OutputError, match="cannot write"):
        run_notebooks(project, ["p/good"])


def test_a_full_disk_loses_nothing(project, tmp_path):
    project.write("p/good", GOOD)
    project.build.mkdir()
    size = "size=1m"
    mount = ["mount", "-t", "tmpfs", "-o", size, "none", str(project.build)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs more rights")
    try:
        before = project.output("p/good", "quick")
        before.mkdir(parents=True)
        (before / "results.json").write_text("precious")
        free = shutil.disk_usage(project.build).free
        (project.build / "filler").write_bytes(b"x" * (free - 65536))
        summary = run_notebooks(project, ["p/good"])
        assert statuses(summary) == {"p/good": "failed"}
        assert "No space left" in str(summary.outcomes[0].failure) or (
            "no space left" in str(summary.outcomes[0].failure)
        )
        assert (before / "results.json").read_text() == "precious"
        assert project.hidden() == [] and project.processes() == []
    finally:
        subprocess.run(["umount", str(project.build)], check=True)


def wait_for(condition, seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def test_interruption_leaves_nothing_running_and_resume_goes_on(project):
    names = [project.write("p/sleeps", SLEEP, GOOD), project.write("p/good", GOOD)]
    sleep, asleep = project.root / "sleep", project.root / "asleep"
    sleep.touch()

    def interrupt() -> int:
        wait_for(lambda: asleep.exists() and project.status("p/good", "quick"))
        living = len(project.processes())
        os.kill(os.getpid(), signal.SIGINT)
        return living

    with ThreadPoolExecutor(1) as pool:
        living = pool.submit(interrupt)
        summary = run_notebooks(project, names, place=Here(2))
        assert living.result() >= 2  # worker and kernel
    assert summary.exit_code == 130
    assert project.processes() == [] and project.hidden() == []
    assert statuses(summary) == {"p/good": "ok", "p/sleeps": "interrupted"}
    assert project.status("p/sleeps", "quick")["status"] == "interrupted"
    assert not (project.output("p/sleeps", "quick") / "results.json").exists()
    sleep.unlink()
    summary = run_notebooks(project, names, place=Here(1), resume=True)
    assert {o.notebook: o.resumed for o in summary.outcomes} == {"p/good": True, "p/sleeps": False}
    assert project.status("p/sleeps", "quick")["status"] == "ok"


def test_a_hanging_notebook_meets_its_deadline(project):
    project.write("p/hangs", "import subprocess\nsubprocess.run(['sleep', '1000'])")
    summary = run_notebooks(project, ["p/hangs"], deadline=1)
    assert statuses(summary) == {"p/hangs": "timeout"}
    assert "--deadline" in summary.outcomes[0].failure["message"]
    assert project.processes() == []


def test_plain_papermill_gives_the_same_claims(project):
    name = project.write("p/good", GOOD, CLAIM)
    assert run_notebooks(project, [name], parameters={"seed": 4}).exit_code == 0
    notebook = project.root / "good.ipynb"
    jupytext.write(jupytext.read(project.source(name)), notebook)
    papermill.execute_notebook(
        notebook, project.root / "out.ipynb", parameters={"seed": 4}, progress_bar=False
    )
    by_hand = json.loads((project.interactive(name, "quick") / "results.json").read_text())
    del by_hand["volatile"]
    assert by_hand == results(project, name)
    assert set(by_hand["claims"]) <= set(load_ledger(project.ledger))


def test_what_a_notebook_emits_obeys_the_umask(project):
    before = os.umask(0o077)
    try:
        write_json(project.root / "a.json", {})
    finally:
        os.umask(before)
    assert (project.root / "a.json").stat().st_mode & 0o777 == 0o600
    write_json(project.root / "b.json", {})
    assert (project.root / "b.json").stat().st_mode & 0o777 == 0o666 & ~before


def test_runners_that_share_a_folder_never_collide(project):
    with runner_folder(project) as one, runner_folder(project) as other:
        assert one != other and one.is_dir() and other.is_dir()
        dead = one.with_name("0123456789abcdef")
        for folder in (dead / "p" / "a", one / "p" / "a"):
            folder.mkdir(parents=True)
        copies = [project.figures / "p" / f".a.{folder.name}" for folder in (dead, one)]
        for copy in copies:
            copy.mkdir(parents=True)
        with runner_folder(project):
            assert (one / "p" / "a").is_dir() and not dead.exists()
            assert [copy.is_dir() for copy in copies] == [False, True]
    assert project.hidden() == [copies[1]] and not one.exists()
