"""The runner against good, failing, hanging, dying and malformed notebooks, many in a run."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import jupytext
import nbformat
import papermill
import psutil
import pytest

import invariance
from invariance.companion.files import write_json
from invariance.companion.ledger import consistency
from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.places import Here, runner_folder
from invariance.companion.runner.worker import work

from .light import Writer, statuses

pytestmark = pytest.mark.notebooks

PACKAGE = Path(invariance.__file__).parent

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


def results(folder: Path) -> dict:
    content = json.loads((folder / "results.json").read_text("utf-8"))
    del content["volatile"]
    return content


OPTIONAL = """
HAS_RIVAL = True
rows = [{"method": "mine", "x": 1}]
if HAS_RIVAL:
    rows.append({"method": "rival", "x": 3})
    run.table([{"x": 2}], "theirs")
run.table(rows, "ours")
"""


def test_a_full_run_without_an_optional_package_leaves_published_results_alone(project):
    project.write("p/a", OPTIONAL)
    assert run_notebooks(project, ["p/a"], profile="full", place=Here(1)).exit_code == 0
    published = project.published("p/a")
    before = {path.name: path.read_bytes() for path in published.iterdir()}
    project.write("p/a", OPTIONAL.replace("True", "False"))
    summary = run_notebooks(project, ["p/a"], profile="full", place=Here(1))
    assert statuses(summary) == {"p/a": "failed"} and summary.exit_code == 1
    message = summary.outcomes[0].failure["message"]
    assert "have: 'rival' in table ours, table theirs. Is an optional package missing" in message
    assert {path.name: path.read_bytes() for path in published.iterdir()} == before
    # A result that the notebook no longer names is given up on purpose.
    before, _, after = OPTIONAL.partition("if ")
    project.write("p/a", before + "run.table" + after.rpartition("run.table")[2])
    assert run_notebooks(project, ["p/a"], profile="full", place=Here(1)).exit_code == 0
    assert not (published / "theirs.csv").exists() and (published / "ours.csv").exists()


def test_one_failure_never_stops_the_rest(project):
    project.write("p/good", GOOD, CLAIM)
    project.write("p/cached", *CACHED)
    project.write("p/fails", GOOD, "answer = 1 / 0", "raise AssertionError('not reached')")
    project.write("p/dies", "import os\nos.kill(os.getpid(), 9)")
    project.write("p/orphan", "import os\nos.kill(os.getppid(), 9)\nwhile True: pass")
    project.write("p/shapeless", "x = 1", parameters="")
    project.write("p/exits", "import sys\nsys.exit(0)", "raise AssertionError('not reached')")
    project.write("p/half", "(run.folder / 'results.json').write_text('{')")
    summary = run_notebooks(project, project.all_notebooks(), place=Here(2))
    killed, failed = ("p/dies", "p/orphan"), "p/fails p/shapeless p/exits p/half"
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
    assert "ended early" in failures["p/exits"]["message"]
    assert "sys.exit(0)" in failures["p/exits"]["cell_source"]
    assert "results.json: not readable as results" in failures["p/half"]["message"]

    good = project.output("p/good", "quick")
    written = {"executed.ipynb", "results.json", "status.json", "walk.png", "numbers.csv"}
    assert {p.name for p in good.iterdir()} == written
    claims = results(good)["claims"]
    assert claims["demo/order"]["verdict"] == "matched" and [*claims] == ["demo/order"]
    executed = nbformat.read(good / "executed.ipynb", as_version=4)
    outputs = [output for cell in executed.cells for output in cell.get("outputs", [])]
    ours = [o.metadata["invariance"] for o in outputs if "invariance" in o.get("metadata", {})]
    assert ours == [{"figure": "walk"}, {"table": "numbers"}, {"claim": "demo/order"}]
    # each is shown once: the value of a call that ends a cell is not shown beside it
    assert not [output for output in outputs if output.output_type == "execute_result"]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert [p.metadata["image/png"]["alt"] for p in pictures] == ["A random walk"]

    # a cached function is not computed again, and plain papermill gives the same
    first = {name: results(good.parent / name) for name in ("good", "cached")}
    assert run_notebooks(project, ["p/cached"], place=Here(1)).exit_code == 0
    assert results(good.parent / "cached") == first["cached"]
    assert (project.root / "computed").read_text("utf-8") == "x"
    notebook = project.root / "good.ipynb"
    jupytext.write(jupytext.read(project.source("p/good")), notebook)
    papermill.execute_notebook(notebook, None, parameters={"seed": 0}, progress_bar=False)
    by_hand = project.interactive("p/good", "quick")
    assert results(by_hand) == first["good"]
    assert (by_hand / "walk.png").read_bytes() == (good / "walk.png").read_bytes()


def test_other_parameters_are_not_published_and_a_failure_takes_nothing(chaos, project):
    chaos.resume()
    published = project.published("p/b")
    good = {path: path.read_bytes() for path in published.iterdir()}
    assert sorted(path.name for path in good) == ["numbers.csv", "results.json", "walk.png"]
    assert consistency.problems(project) == []
    # other parameters are another key
    options = {"profile": "full", "resume": True, "parameters": {"seed": "7"}}
    place = Writer(chaos.write, failing=("p/b",))
    assert statuses(run_notebooks(project, ["p/b"], place=place, **options)) == {"p/b": "failed"}
    assert project.status("p/b", "full")["parameters"]["seed"] == 7
    assert (chaos.folder("p/b") / "failed/executed.ipynb").is_file()
    assert {path: path.read_bytes() for path in published.iterdir()} == good
    assert chaos.holds(chaos.folder("p/b"), chaos.truths["p/b"][-1])


def test_a_full_disk_loses_nothing(project, tmp_path):
    project.write("p/good", GOOD)
    project.build.mkdir()
    mount = f"mount -t tmpfs -o size=1m none {project.build}".split()
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs more rights")
    try:
        before = project.output("p/good", "quick")
        before.mkdir(parents=True)
        (before / "results.json").write_text("precious", "utf-8")
        free_bytes = shutil.disk_usage(project.build).free
        (project.build / "filler").write_bytes(b"x" * (free_bytes - 65536))
        summary = run_notebooks(project, ["p/good"])
        assert statuses(summary) == {"p/good": "failed"}
        assert "o space left" in str(summary.outcomes[0].failure)
        assert (before / "results.json").read_text("utf-8") == "precious"
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
    assert statuses(summary) == {"p/good": "kept", "p/sleeps": "ok"}


@pytest.mark.skipif(sys.platform != "linux", reason="there is no fork server")
def test_an_interruption_while_the_server_imports_prints_no_traceback(project):
    project.write("p/a", "import signal\nassert signal.getsignal(signal.SIGINT) != signal.SIG_IGN")
    command = [sys.executable, "-m", "invariance.companion", "run", "p/a"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        runner = psutil.Process(process.pid)
        while not any("forkserver" in str(child.cmdline()) for child in runner.children()):
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in output, output
    assert "--resume goes on from here" in output and project.processes() == []
    assert run_notebooks(project, ["p/a"], place=Here(1)).exit_code == 0


def test_a_hanging_notebook_meets_its_deadline(project):
    project.write("p/hangs", "import subprocess\nsubprocess.run(['sleep', '1000'])")
    summary = run_notebooks(project, ["p/hangs"], deadline=1)
    assert statuses(summary) == {"p/hangs": "timeout"}
    assert "--deadline" in summary.outcomes[0].failure["message"]
    assert project.processes() == []


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


# -- forks of a process that has imported everything differ from new interpreters only in time -----

# the state of a notebook's process before its first statement
STATE = """
import json, os, signal, sys, threading, warnings
import matplotlib, numpy
from pathlib import Path
told = {
    "environment": {k: v for k, v in os.environ.items() if k.startswith(("INV", "OMP", "MPL"))},
    "names": sorted(os.environ),
    "path": sys.path,
    "flags": [sys.flags.safe_path, sys.flags.hash_randomization],
    "argv": sys.argv[1:2],
    "folder": os.getcwd(),
    "group": os.getpgrp() == os.getpid(),
    "umask": os.umask(0o22),
    "signals": [str(signal.getsignal(s)) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)],
    "threads": sorted(type(thread).__name__ for thread in threading.enumerate()),
    "backend": matplotlib.get_backend(),
    "look": sorted(map(str, matplotlib.rcParams.items())),
    "numpy": [numpy.get_printoptions(), numpy.geterr()],
    "warnings": sorted({str(entry[:3]) for entry in warnings.filters}),
    "main": sys.modules["__main__"].__name__,
    "stdin": os.read(0, 1).decode(),
}
numpy.set_printoptions(precision=2)
os.environ["LEFT"] = "behind"
matplotlib.rcParams["font.size"] = 30
warnings.simplefilter("ignore")
told["forked"] = b"forkserver" in Path("/proc/self/cmdline").read_bytes()
told["draws"] = numpy.random.rand(2).tolist()
(run.folder / "told.json").write_text(json.dumps(told, default=str))
"""


def told(project, name: str) -> dict:
    return json.loads((project.output(name, "quick") / "told.json").read_text("utf-8"))


def test_a_fork_finds_what_a_new_interpreter_finds(project):
    names = [project.write(f"p/{name}", STATE) for name in "ab"]
    assert run_notebooks(project, names, place=Here(1)).exit_code == 0
    forked = [told(project, name) for name in names]
    another = Here(1, work=partial(work))  # which the server has not imported
    assert run_notebooks(project, names[:1], place=another).exit_code == 0
    anew = told(project, names[0])
    assert [state.pop("forked") for state in (*forked, anew)] == [True] * 2 + [False]
    draws = [state.pop("draws") for state in (*forked, anew)]
    assert len({str(drawn) for drawn in draws}) == 3  # NumPy's own generator is everybody's own
    for state, name in zip((*forked, anew), [*names, names[0]], strict=True):
        folder = state["environment"].pop("INVARIANCE_RUN_DIR")
        assert folder.startswith(str(project.build / ".runners")) and folder.endswith(name)
    for state in forked:
        # packages that were imported beforehand have added theirs
        assert set(anew["warnings"]) <= set(state.pop("warnings"))
    del anew["warnings"]
    for state in forked:
        assert {k for k in anew if state[k] != anew[k]} == set()


def test_a_server_that_is_killed_takes_its_notebooks_with_it_and_nothing_else(project):
    strike = """
        import os, pathlib, psutil, time
        struck = pathlib.Path(os.environ['INVARIANCE_ROOT'], 'struck')
        if not struck.exists():
            struck.touch()
            psutil.Process().parents()[1].kill()
            time.sleep(1000)
    """
    project.write("p/kills", strike)
    project.write("p/later", "x = 1")
    summary = run_notebooks(project, ["p/kills", "p/later"], place=Here(1))
    assert statuses(summary) == {"p/kills": "killed", "p/later": "ok"}
    assert "SIGKILL" in project.status("p/kills")["failure"]["message"]
    assert project.hidden() == [] and project.processes() == []


# -- ends of cells, and broken modules -------------------------------------------------------------


def test_an_empty_last_cell_is_no_early_end(project):
    names = [project.write("p/blank", "x = 1", ""), project.write("p/spaces", "x = 1", " ", "\n")]
    names.append(project.write("p/comment", "x = 1", "# nothing more"))
    skipped = project.source(project.write("p/skipped", "x = 1"))
    with skipped.open("a", encoding="utf-8") as file:
        file.write('\n# %% tags=["skip-execution"]\n1 / 0\n')
    summary = run_notebooks(project, [*names, "p/skipped"], place=Here(2))
    assert statuses(summary) == dict.fromkeys([*names, "p/skipped"], "ok")


ENDS = {
    "quit": ("quit()", "ends the kernel: leave it out"),
    "exit": ("if width:\n    exit()", "ends the kernel: leave it out"),
    "last": ("import os\nget_ipython().ask_exit()", "ends the kernel: leave it out"),
    "sys": ("import sys\nsys.exit(3)", "SystemExit: 3"),
    "os": ("import os\nos._exit(3)", "ended the kernel's process with exit code 3"),
}


def test_a_cell_that_ends_the_kernel_is_named_itself_and_runs_once(project):
    for name, (cell, _) in ENDS.items():
        after = [] if name == "last" else ["raise AssertionError('not reached')"]
        mark = f"open({str(project.root)!r} + '/{name}', 'a').write('x')"
        project.write(f"p/{name}", f"{mark}\n{cell}", *after)
    summary = run_notebooks(project, project.all_notebooks(), place=Here(2))
    assert statuses(summary) == {f"p/{name}": "failed" for name in ENDS}
    for outcome in summary.outcomes:
        name = outcome.notebook.removeprefix("p/")
        cell, message = ENDS[name]
        assert message in outcome.failure["message"] and cell in outcome.failure["cell_source"]
        assert (project.root / name).read_text("utf-8") == "x", name


def test_magics_run_and_are_read(project):
    cells = [
        "%%bash\necho from the shell",
        "files = !echo one\nassert files == ['one']",
        "x = %time 1 + 1\nassert x == 2",
        "x?",
        "assert len('a\u2028b\x85c') == 5",
        "%%capture out\nrun.claim('demo/same', difference=0.0, tolerance=1e-10)",
    ]
    project.write("p/a", *cells)
    assert statuses(run_notebooks(project, ["p/a"], place=Here(1))) == {"p/a": "ok"}
    problems = [p for p in consistency.problems(project) if "p/a" in p]
    assert problems == [] and "demo/same" in results(project.output("p/a", "quick"))["claims"]


def test_a_broken_module_fails_the_notebooks_that_need_it_and_no_other(project, tmp_path):
    package = shutil.copytree(PACKAGE, tmp_path / "copy" / "invariance")
    (package / "theory" / "raj2017.py").write_text("x = = 1\n", "utf-8")
    (package / "beyond" / "graphs.py").write_text("raise SystemExit(3)\n", "utf-8")
    project.write("p/needs", "from invariance.theory import raj2017")
    project.write("p/exits", "from invariance.beyond import graph_nodes")
    project.write("p/plain", "from invariance.groups import CyclicShifts\nCyclicShifts(3)")
    line = [sys.executable, "-m", "invariance.companion", "run"]
    path = os.pathsep.join([str(package.parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(
        line, env=environment, cwd=tmp_path, capture_output=True, encoding="utf-8"
    )
    output = done.stdout + done.stderr
    assert done.returncode == 1 and "1 of 3 notebooks succeeded" in output, output
    assert project.status("p/plain")["status"] == "ok"
    for name, reason in (("p/needs", "raj2017"), ("p/exits", "SystemExit: 3")):
        status = project.status(name)
        assert status["status"] == "failed"
        assert reason in str(status["failure"]), status["failure"]


def test_progress_bars_leave_no_semaphore_behind(project):
    project.write("p/a", "from tqdm import tqdm", "list(tqdm(range(3)))")
    line = [sys.executable, "-m", "invariance.companion", "run"]
    done = subprocess.run(line, cwd=project.root, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "leaked" not in done.stderr


def test_a_server_that_ends_between_two_notebooks_is_started_again(project):
    names = [project.write(f"p/{name}", "x = 1") for name in "ab"]
    ended = []

    def end_server(_) -> None:
        for child in psutil.Process().children():
            if not ended and "forkserver" in " ".join(child.cmdline()):
                ended.append(child)
                child.kill()

    summary = run_notebooks(project, names, place=Here(1), tell=end_server)
    assert statuses(summary) == dict.fromkeys(names, "ok") and len(ended) == 1
