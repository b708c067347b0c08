"""What every notebook of this project keeps to, read off its text."""

import ast
import json
import re
import shlex
from pathlib import Path

import pytest

from invariance.companion import source
from invariance.companion.paths import Paths
from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.places import Here

ROOT = Path(__file__).parents[3]
PATHS = Paths(ROOT)
CHOOSING = [name for name in PATHS.all_notebooks() if source.chooses(PATHS.source(name))]

#: Ways past the door: other loaders, the door itself, and files read by hand.
AROUND = re.compile(
    r"sklearn\.datasets|fetch_openml|with(?:held|hold)\b|_all\b|INVARIANCE_WITHHOLD|\bopen\(|np\.load\b"
)
#: What a finding is made of; a text without a number of the run may not have it.
FINDING = re.compile(
    r"\b(falls?|rises?|grows?|halves|doubles|leads?|wins?|beats|stays?|never|always|nearly|only"
    r"|(\w+er|more|less|better|worse) than|lowest|highest|largest|smallest|quickest|slope of)\b",
    re.IGNORECASE,
)
COMMAND = re.compile(r"`invariance run (\S+)((?: -p \S+ (?:\"[^\"]*\"|\S+))*)`")
FURTHER = re.compile(r"`((?:-p \S+ (?:\"[^\"]*\"|\S+) ?)+)`")


def test_there_are_some():
    assert "mroueh2015/mnist" in CHOOSING
    assert len({notebook for notebook, *_ in SUGGESTED}) >= 20


@pytest.mark.parametrize("notebook", CHOOSING)
def test_data_come_through_the_door_alone(notebook):
    """No notebook that chooses can reach a test label while it does."""
    code = source.notebook_code(PATHS.source(notebook))
    before, ended, _ = code.partition("run.measure()")
    assert ended, "run.measure() ends the choosing"
    assert AROUND.findall(before) == []
    names = [name for name, _ in source.calls_of(PATHS.source(notebook))]
    assert names.count("run.measure") == 1 and "run.select" in names
    # whatever is claimed is measured afterwards
    assert "run.claim(" not in before


def literals(notebook):
    """Titles and alternative texts that hold no number of the run."""
    for call in ast.walk(ast.parse(PATHS.source(notebook).read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call):
            named = {word.arg: word.value for word in call.keywords}
            name = getattr(call.func, "attr", "")
            given = [named.get("title"), named.get("alt")]
            given += call.args[:1] if name in ("set_title", "suptitle") else []
            for text in given:
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield text.value


def test_what_is_not_computed_is_no_finding():
    texts = {notebook: list(literals(notebook)) for notebook in PATHS.all_notebooks()}
    assert sum(map(len, texts.values())) > 10  # names of panels
    assert {
        n: found for n, some in texts.items() if (found := list(filter(FINDING.search, some)))
    } == {}
    assert FINDING.search("Batch and online learning err more than in theory")


@pytest.mark.notebooks
def test_a_title_says_what_this_run_found(tmp_path):
    """Without a symmetry nothing changes under it, and no sentence says that something does."""
    project, name = Paths(tmp_path), "soleymani2025/circle_rotations"
    project.notebooks.symlink_to(ROOT / "notebooks", target_is_directory=True)
    summary = run_notebooks(project, [name], parameters={"k": 1, "seed": 3}, place=Here(1))
    assert [outcome.status for outcome in summary.outcomes] == ["ok"]
    results = json.loads((project.output(name, "quick") / "results.json").read_text())
    (fits,) = [figure["alt"] for figure in results["figures"] if figure["name"] == "fits"]
    assert "kernel ridge regression changes by 0%" in fits and "100%" not in fits


def suggestions(notebook):
    """(notebook, parameters) of every command in the last text of a notebook."""
    texts = [
        c.source
        for c in source.read_notebook(PATHS.source(notebook)).cells
        if c.cell_type == "markdown"
    ]
    text = " ".join(texts[-1].partition("## Try it\n")[2].split())
    commands = COMMAND.findall(text)
    commands += [(notebook, rest) for rest in FURTHER.findall(text)]
    for name, rest in commands:
        words = shlex.split(rest)
        yield name, dict(zip(words[1::3], words[2::3], strict=True))


SUGGESTED = [(n, *found) for n in PATHS.all_notebooks() for found in suggestions(n)]


@pytest.mark.parametrize("notebook, named, given", SUGGESTED)
def test_a_suggestion_is_taken(notebook, named, given):
    """It is a command that the command line takes, and changes something."""
    parameters = source.read_parameters(PATHS.source(notebook))
    assert named == notebook and given
    values = source.resolve(notebook, parameters, given)
    assert values != {name: parameter.default for name, parameter in parameters.items()}
