"""Whoever edits while a batch runs never gets a result that another text has given."""

import json
import os
import subprocess
import sys

import pytest

from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.places import Here

from .light import Writer, statuses


def _run(chaos, project, names, meanwhile, slots: int = 1):
    """Run notebooks; `meanwhile` is called with the name of each that has just started."""

    def write(folder, description):
        chaos.write(folder, description)
        meanwhile(description)

    place = Writer(write, slots=slots)
    return run_notebooks(project, names, profile="full", place=place, resume=True)


def _failure(summary, name: str) -> str:
    return next(o.failure["message"] for o in summary.outcomes if o.notebook == name)


def test_a_queued_notebook_runs_as_it_is_when_its_turn_comes(chaos, project):
    names = ("p/a", "p/b")
    before = {name: project.source(name).read_text("utf-8") for name in names}
    edited = []

    def meanwhile(description):
        if not edited:
            edited.extend(name for name in names if name != description["notebook"])
            chaos.rewrite(edited[0])

    assert statuses(_run(chaos, project, names, meanwhile)) == dict.fromkeys(names, "ok")
    assert chaos.holds(chaos.folder(edited[0]), chaos.truths[edited[0]][-1])
    assert chaos.resume(names) == []
    project.source(edited[0]).write_text(before[edited[0]], "utf-8")
    chaos.truths[edited[0]].append(chaos.truths[edited[0]][0])
    assert chaos.resume(names) == edited  # the edit was taken back


def test_a_queued_notebook_has_the_parameters_of_its_new_text(chaos, project):
    parameters = {}

    def meanwhile(description):
        parameters[description["notebook"]] = description["parameters"]
        if len(parameters) == 1:
            for name in ("p/a", "p/b"):
                text = project.source(name).read_text("utf-8")
                project.source(name).write_text(
                    text.replace("seed: int = 0", "seed: int = 7"), "utf-8"
                )

    summary = _run(chaos, project, ("p/a", "p/b"), meanwhile)
    first, second = parameters
    assert parameters[first]["seed"] == 0 and parameters[second]["seed"] == 7
    assert "text changed while it ran" in _failure(summary, first)


def test_a_queued_notebook_whose_text_breaks_fails_alone(chaos, project):
    started = []

    def meanwhile(description):
        started.append(description["notebook"])
        for name in {"p/a", "p/b"} - {started[0]}:
            project.source(name).write_text("# %%\nx = 1\n", "utf-8")

    summary = _run(chaos, project, ("p/a", "p/b"), meanwhile)
    assert len(started) == 1 and sorted(statuses(summary).values()) == ["failed", "ok"]


def _text(project):
    return project.source("p/b")


def _helper(project):
    return project.notebooks / "p" / "_helper.py"


def _settings(project):
    return project.settings("p/b")


@pytest.mark.parametrize("what", [_text, _helper, _settings])
@pytest.mark.parametrize("there", [True, False])
def test_a_running_notebook_fails_if_what_it_follows_from_changes(chaos, project, what, there):
    file = what(project)
    file.parent.mkdir(parents=True, exist_ok=True)
    if there and what is not _text:
        file.write_text("x = 1\n", "utf-8")
    chaos.resume(("p/b",))
    good = chaos.truths["p/b"][-1]
    chaos.rewrite("p/b")
    with project.source("p/b").open("a", encoding="utf-8") as stream:
        stream.write("\n# %%\nMODULE = '_helper'  # imported by name\n")

    def meanwhile(description):
        file.write_text((file.read_text("utf-8") if file.exists() else "") + "y = 2\n", "utf-8")

    summary = _run(chaos, project, ("p/b",), meanwhile)
    assert "changed while it ran" in _failure(summary, "p/b")
    assert chaos.holds(chaos.folder("p/b"), good)
    del good["executed.ipynb"]
    assert chaos.holds(project.published("p/b"), good)


def test_a_reader_fails_if_what_it_reads_changes(chaos, project):
    chaos.resume()
    chaos.rewrite("p/reader")

    def meanwhile(description):
        (project.published("p/a") / "numbers.csv").write_text("x\n1\n", "utf-8")

    summary = _run(chaos, project, ("p/reader",), meanwhile)
    assert "inputs (p/a) changed while it ran" in _failure(summary, "p/reader")


SWAPS = {
    "code (_tool.py)": """
        from pathlib import Path
        path = Path("_tool.py")
        before = path.read_text()
        path.write_text("K = 5")
        import _tool
        path.write_text(before)
        run.table([{"x": _tool.K}], "numbers")
    """,
    "demo/order": """
        run.claim("demo/order", order="b > a", scores={"a": 1.0, "b": 2.0}, exact="demo")
        from pathlib import Path
        path = Path("../claims.yml")
        path.write_text(path.read_text().replace("ten draws", "twenty draws"))
    """,
}


@pytest.mark.notebooks
@pytest.mark.parametrize(("said", "cell"), SWAPS.items(), ids=SWAPS)
def test_an_edit_of_its_own_is_noticed_even_if_taken_back(project, said, cell):
    project.write("p/swaps", cell)
    (project.notebooks / "p" / "_tool.py").write_text("K = 1", "utf-8")
    summary = run_notebooks(project, ["p/swaps"], profile="full", place=Here(1))
    assert said in _failure(summary, "p/swaps")
    assert "changed while it ran" in _failure(summary, "p/swaps")
    assert not project.published("p/swaps").exists()


READER = """
from invariance.companion import saved
saved("p/read", "numbers", profile)
run.table([{"x": 1}], "numbers")
"""


@pytest.mark.notebooks
def test_a_reader_names_what_it_reads(project):
    """Otherwise `--resume` would keep its results when those that it has read change."""
    project.write("p/read", "run.table([{'x': 1}], 'numbers')")
    project.write("p/reader", READER)
    summary = run_notebooks(project, ["p/reader"], profile="full", place=Here(1))
    message = _failure(summary, "p/reader")
    assert "has read results of p/read, which its header does not name" in message
    assert "reads: [p/read]" in message
    assert not project.published("p/reader").exists()
    source = project.source("p/reader")
    header = "# jupyter:\n#   invariance:\n#     reads: [p/read]\n"
    text = source.read_text("utf-8").replace("# jupyter:\n", header, 1)
    source.write_text(text, "utf-8")
    summary = run_notebooks(project, ["p/reader"], profile="full", place=Here(1))
    assert statuses(summary) == {"p/reader": "ok"}


LIBRARY_NOTEBOOK = "from invariance.theory.five import five\nrun.table([{'x': five()}], 'numbers')"
LIBRARY_CHECK = """
import sys, pathlib
from invariance.companion.paths import Paths
from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.places import Here
import invariance
root = pathlib.Path(sys.argv[1])
module = pathlib.Path(invariance.__file__).parent / "theory" / "five.py"
place = Here(1)
if __name__ == "__main__":
    for value in ("5.0", "7.0"):
        module.write_text(f"VALUE = {value}\\n\\n\\ndef five():\\n    return VALUE\\n")
        summary = run_notebooks(Paths(root), ["p/five"], profile="full", place=place)
        print(summary.outcomes[0].status, (root / "figures/p/five/numbers.csv").read_text().split())
"""


@pytest.mark.notebooks
def test_the_processes_of_a_runner_never_compute_with_an_earlier_library(project, copy):
    theory = copy / "theory" / "__init__.py"
    theory.write_text(
        theory.read_text("utf-8") + "\nfrom .five import five\n", "utf-8"
    )  # is imported early
    project.write("p/five", LIBRARY_NOTEBOOK)
    script = project.root / "check.py"
    script.write_text(LIBRARY_CHECK, "utf-8")
    (copy / "theory" / "five.py").write_text(
        "VALUE = 5.0\n\n\ndef five():\n    return VALUE\n", "utf-8"
    )
    line = [sys.executable, script, project.root]
    output = subprocess.run(
        line, capture_output=True, encoding="utf-8", env=os.environ, check=True
    ).stdout
    assert output.splitlines() == ["ok ['x', '5.0']", "ok ['x', '7.0']"]
    published = json.loads((project.published("p/five") / "results.json").read_text("utf-8"))
    assert published["notebook"] == "p/five"
