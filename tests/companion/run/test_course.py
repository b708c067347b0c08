"""A lesson runs unanswered, and each of its exercises knows right from wrong."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from invariance.companion.paths import Paths
from invariance.companion.source import read_notebook

ROOT = Path(__file__).parents[3]
PATHS = Paths(ROOT)
LESSONS = [name for name in PATHS.all_notebooks() if name.startswith("course/")]
SOLUTION = re.compile(
    r"<details><summary>Solution</summary>\n\n```python\n(.*?)```\n.*?</details>", re.S
)
#: What somebody might answer who has not understood.
WRONG = {
    "orbit": ["reading = [1, 2, 1, 2, 1, 2]", "bags = 8**5 // 120", "neighbours = np.sum"],
    "averaging": [
        "averaged = lambda f, group, X: f(X)",
        "w = [1, 2, 3, 4, 5, 6]",
        "values_enough = turns.order**2",
    ],
    "features": [
        "share_below = lambda t, x, tau: t @ x <= tau",
        "blind = places - places.mean()",
        "times_as_many = 2",
    ],
    "best_fit": [
        "best_shift = lambda x, z: np.argmax(x) - np.argmax(z) + 1",
        "best_order = lambda x, z: x @ np.sort(z)",
        "four = np.eye(4, 3)",
    ],
    "spectral": [
        "left_over = [3, 6, 9, 12]",
        "projector = lambda k, m: np.eye(2)",
        "of_degree_two = 2",
    ],
    "when_it_hurts": [
        "highest = 1.0",
        "width = 0",
        "candidates = {'shifts': Translations(frame, max_shift=2)}",
    ],
}


def test_the_plan_names_every_lesson_and_its_minutes():
    assert len(WITHOUT_US) == 4 and "papermill" in WITHOUT_US[1]
    assert {name.partition("/")[2] for name in LESSONS} == WRONG.keys()
    plan = (PATHS.notebooks / "course/README.md").read_text()
    for name in LESSONS:
        row = next(line for line in plan.splitlines() if f"({name.partition('/')[2]}.py)" in line)
        minutes = int(row.split("|")[-2])
        assert 30 <= minutes <= 45 and f"*{minutes} minutes." in PATHS.source(name).read_text()


@pytest.mark.notebooks
@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_runs_unanswered_and_takes_its_solutions(lesson, tmp_path, monkeypatch, capsys):
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    monkeypatch.setenv("INVARIANCE_ROOT", str(tmp_path))
    cells = read_notebook(PATHS.source(lesson)).cells
    solutions = SOLUTION.findall("\n".join(c.source for c in cells if c.cell_type == "markdown"))
    assert len(solutions) == 3
    answers = zip(WRONG[lesson.partition("/")[2]], solutions, strict=True)
    names, code, taken = {}, [c for c in cells if c.cell_type == "code"], 0
    for cell, following in zip(code, [*code[1:], None], strict=True):
        exec(cell.source, names)
        if "exercise" not in cell.metadata.get("tags", []):
            continue
        assert "hide-input" in following.metadata["tags"]
        for answer, said in zip(
            ("", *next(answers)), ("Not answered", "Not yet: ", "Right."), strict=True
        ):
            exec(answer, names)
            capsys.readouterr()
            exec(following.source, names)
            out = capsys.readouterr().out
            assert out.startswith(said) and "Error" not in out, f"{answer} gave {out}"
        taken += 1
    assert taken == 3


WITHOUT_US = re.findall(
    r"^    (.* notebooks/course/orbit\.py.*)$", (ROOT / "CONTRIBUTING.md").read_text(), re.M
)


@pytest.mark.notebooks
@pytest.mark.parametrize("command", WITHOUT_US)
def test_a_lesson_runs_without_our_command_line(command, tmp_path):
    """By each of the commands that CONTRIBUTING.md gives; VS Code runs the cells as a script."""
    if "--execute" in command:
        pytest.importorskip("nbconvert", reason="Jupyter's own commands execute with it")
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {"PATH": path, "INVARIANCE_ROOT": str(tmp_path), "PYTHONPATH": str(ROOT)}
    own["PYTHONPATH"] += os.pathsep + os.environ.get("PYTHONPATH", "")
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, env=os.environ | own, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    folder = tmp_path / "build/interactive/quick/course/orbit"
    results = json.loads((folder / "results.json").read_text())
    assert len(results["figures"]) == 2
    assert results["parameters"]["n_beads"] == (16 if "-p n_beads 16" in command else 12)
