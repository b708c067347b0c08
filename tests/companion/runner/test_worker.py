"""Notebooks in forks of a process that has imported everything: only a clock can tell."""

import json
from functools import partial

import pytest

from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.places import Here
from invariance.companion.runner.worker import work

pytestmark = pytest.mark.notebooks

# what a notebook can see of where it runs, before it has done anything
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
    return json.loads((project.output(name, "quick") / "told.json").read_text())


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
    assert {o.notebook: o.status for o in summary.outcomes} == {
        "p/kills": "killed",
        "p/later": "ok",
    }
    assert "SIGKILL" in project.status("p/kills")["failure"]["message"]
    assert project.hidden() == [] and project.processes() == []
