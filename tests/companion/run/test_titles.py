"""No title or description asserts what its run has not computed."""

import ast
import json
import re
from pathlib import Path

import pytest

from invariance.companion.paths import Paths
from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.places import Here

ROOT = Path(__file__).parents[3]
PATHS = Paths(ROOT)
#: What a finding is made of; a text without a number of the run may not have it.
FINDING = re.compile(
    r"\b(falls?|rises?|grows?|halves|doubles|leads?|wins?|beats|stays?|never|always|nearly|only"
    r"|(\w+er|more|less|better|worse) than|lowest|highest|largest|smallest|quickest|slope of)\b",
    re.IGNORECASE,
)


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
