"""Rules for all notebooks of this project, and for the lessons of its course."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from invariance.companion import source
from invariance.companion.paths import Paths
from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.places import Here
from invariance.companion.source import read_notebook

ROOT = Path(__file__).parents[3]
PATHS = Paths(ROOT)
CHOOSING = [name for name in PATHS.all_notebooks() if source.chooses(PATHS.source(name))]

#: Code that circumvents withholding: other loaders, its own functions, and files read directly.
AROUND = re.compile(
    r"sklearn\.datasets|fetch_openml|with(?:held|hold)\b|\._dataset\b|FILTER_VARIABLE"
    r"|INVARIANCE_DATASET_FILTER|read_idx|\bopen\(|np\.load\b"
)
#: Words of a finding. A text without a number of the run must not contain them.
FINDING = re.compile(
    r"\b(falls?|rises?|grows?|halves|doubles|leads?|wins?|beats|stays?|never|always|nearly|only"
    r"|(\w+er|more|less|better|worse) than|lowest|highest|largest|smallest|quickest|slope of)\b",
    re.IGNORECASE,
)
COMMAND = re.compile(r"`invariance run (\S+)((?: -p \S+ (?:\"[^\"]*\"|\S+))*)`")
FURTHER = re.compile(r"`((?:-p \S+ (?:\"[^\"]*\"|\S+) ?)+)`")


def test_notebooks_are_found():
    assert "mroueh2015/mnist" in CHOOSING
    assert len({notebook for notebook, *_ in SUGGESTED}) >= 20


@pytest.mark.parametrize("notebook", CHOOSING)
def test_notebooks_load_data_with_the_loaders_alone(notebook):
    code = source.notebook_code(PATHS.source(notebook))
    before, ended, _ = code.partition("run.measure()")
    assert ended, "run.measure() ends the choosing"
    assert AROUND.findall(before) == []
    names = [name for name, _ in source.calls_of(PATHS.source(notebook))]
    assert names.count("run.measure") == 1 and "run.select" in names
    # All claims are measured afterwards.
    assert "run.claim(" not in before


def literals(notebook):
    """Yield titles and alternative texts without a number of the run."""
    for call in ast.walk(ast.parse(PATHS.source(notebook).read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call):
            named = {word.arg: word.value for word in call.keywords}
            name = getattr(call.func, "attr", "")
            texts = [named.get("title"), named.get("alt")]
            texts += call.args[:1] if name in ("set_title", "suptitle") else []
            for text in texts:
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield text.value


def test_texts_without_a_number_of_the_run_state_no_finding():
    texts = {notebook: list(literals(notebook)) for notebook in PATHS.all_notebooks()}
    assert sum(map(len, texts.values())) > 10  # Names of panels.
    for notebook, titles in texts.items():
        assert not list(filter(FINDING.search, titles)), notebook
    assert FINDING.search("Batch and online learning err more than in theory")


@pytest.mark.notebooks
def test_a_title_says_what_this_run_found(tmp_path):
    """If data have no symmetry, results do not change under it, and no sentence claims a change."""
    project = Paths(tmp_path)
    name = "soleymani2025/circle_rotations"
    project.notebooks.symlink_to(ROOT / "notebooks", target_is_directory=True)
    summary = run_notebooks(project, [name], parameters={"k": 1, "seed": 3}, place=Here(1))
    assert [outcome.status for outcome in summary.outcomes] == ["ok"]
    results = json.loads((project.output(name, "quick") / "results.json").read_text("utf-8"))
    (fits,) = [figure["alt"] for figure in results["figures"] if figure["name"] == "fits"]
    assert "changes kernel ridge regression by 0%" in fits and "100%" not in fits


def last_text(notebook):
    """Return the last text cell, without Jupytext: each of pytest's processes reads all of them."""
    cells = PATHS.source(notebook).read_text("utf-8").split("\n# %%")
    texts = [cell for cell in cells if cell.startswith(" [markdown]")]
    return "\n".join(line.removeprefix("#").removeprefix(" ") for line in texts[-1].splitlines())


def suggestions(notebook):
    """Return (notebook, parameters) of every command in the last text cell of a notebook."""
    text = " ".join(last_text(notebook).partition("## Try it\n")[2].split())
    commands = COMMAND.findall(text)
    commands += [(notebook, rest) for rest in FURTHER.findall(text)]
    for name, rest in commands:
        words = shlex.split(rest)
        yield name, dict(zip(words[1::3], words[2::3], strict=True))


SUGGESTED = [(n, *command) for n in PATHS.all_notebooks() for command in suggestions(n)]


@pytest.mark.parametrize("notebook, named, changes", SUGGESTED)
def test_a_suggested_command_is_valid(notebook, named, changes):
    """The command line accepts the command, and its parameters change something."""
    parameters = source.read_parameters(PATHS.source(notebook))
    assert named == notebook and changes
    values = source.resolve(notebook, parameters, changes)
    assert values != {name: parameter.default for name, parameter in parameters.items()}


# -- a lesson runs without answers, and its exercises accept right answers alone -------------------

LESSONS = [name for name in PATHS.all_notebooks() if name.startswith("course/")]
SOLUTION = re.compile(
    r"<details><summary>Solution</summary>\n\n```python\n(.*?)```\n.*?</details>", re.S
)
#: Answers of a reader who has not understood.
WRONG = {
    "orbit": ["reading = [1, 2, 1, 2, 1, 2]", "bags = 8**5 // 120", "neighbours = np.sum"],
    "averaging": [
        "averaged = lambda f, group, X: f(X)",
        "w = [1, 2, 3, 4, 5, 6]",
        "values_enough = turns.order**2",
    ],
    "features": [
        "share_below = lambda t, x, tau: t @ x <= tau",
        "blind = positions - positions.mean()",
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
    plan = (PATHS.notebooks / "course/README.md").read_text("utf-8")
    for name in LESSONS:
        row = next(line for line in plan.splitlines() if f"({name.partition('/')[2]}.py)" in line)
        minutes = int(row.split("|")[-2])
        text = PATHS.source(name).read_text("utf-8")
        assert 30 <= minutes <= 45 and f"*{minutes} minutes." in text


@pytest.mark.notebooks
@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_runs_unanswered_and_takes_its_solutions(lesson, tmp_path, monkeypatch, capsys):
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    monkeypatch.setenv("INVARIANCE_ROOT", str(tmp_path))
    cells = read_notebook(PATHS.source(lesson)).cells
    solutions = SOLUTION.findall("\n".join(c.source for c in cells if c.cell_type == "markdown"))
    assert len(solutions) == 3
    answers = zip(WRONG[lesson.partition("/")[2]], solutions, strict=True)
    names = {}
    code = [c for c in cells if c.cell_type == "code"]
    taken = 0
    for cell, following in zip(code, [*code[1:], None], strict=True):
        exec(cell.source, names)
        if "exercise" not in cell.metadata.get("tags", []):
            continue
        assert "hide-input" in following.metadata["tags"]
        for answer, printed in zip(
            ("", *next(answers)), ("Not answered", "Not yet: ", "Right: "), strict=True
        ):
            exec(answer, names)
            capsys.readouterr()
            exec(following.source, names)
            out = capsys.readouterr().out
            assert out.startswith(printed) and "Error" not in out, f"{answer} gave {out}"
        taken += 1
    assert taken == 3


WITHOUT_US = re.findall(
    r"^    (.* notebooks/course/orbit\.py.*)$", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.M
)


@pytest.mark.notebooks
@pytest.mark.parametrize("command", WITHOUT_US)
def test_a_lesson_runs_without_our_command_line(command, tmp_path):
    """Each command in CONTRIBUTING.md works; VS Code runs the cells as a script."""
    if "--execute" in command:
        pytest.importorskip("nbconvert", reason="Jupyter's own commands execute with it")
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "INVARIANCE_ROOT": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment["PYTHONPATH"] += os.pathsep + os.environ.get("PYTHONPATH", "")
    done = subprocess.run(
        command,
        shell=True,
        cwd=tmp_path,
        env=os.environ | environment,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr[-3000:]
    folder = tmp_path / "build/interactive/quick/course/orbit"
    if "papermill" in command:
        folder = tmp_path / "orbit.results"
    results = json.loads((folder / "results.json").read_text("utf-8"))
    assert len(results["figures"]) == 2
    assert results["parameters"]["n_beads"] == (16 if "-p n_beads 16" in command else 12)


@pytest.mark.notebooks
def test_a_guide_that_starts_processes_runs_as_a_script(tmp_path):
    """A script that is imported by the processes it starts must not start further ones."""
    pytest.importorskip("distributed", reason="needs the extra `guides`")
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    done = subprocess.run(
        [sys.executable, ROOT / "notebooks/guides/many_machines.py"],
        cwd=tmp_path,
        env=os.environ | {"INVARIANCE_ROOT": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "of which one was killed" in done.stdout
