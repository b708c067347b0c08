"""A result in a notebook's text is one that the published run has printed."""

import json

import pytest

from invariance.companion.ledger import consistency
from invariance.companion.ledger.consistency import typed_results


@pytest.fixture
def written(project):
    def write(text, **published):
        project.write("demo/a", "sizes = [10, 2_500]\nwidth = 0.2")
        path = project.source("demo/a")
        path.write_text(path.read_text() + f"\n# %% [markdown]\n# {text}\n")
        if published:
            folder = project.published("demo/a")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "results.json").write_text(json.dumps(published))
            (folder / "table.csv").write_text("a,b\nx,97.25 ± 0.07\n")
        return typed_results(project, "demo/a", ["96.83, 97.18"])

    return write


def test_a_typed_result_is_found(written):
    for text in ("It is 91.3 points.", "A share of 12 % is lost.", "Errs by 7 ± 2.", "To 3e-4."):
        (found,) = written(text)
        assert found.split()[0] in text


@pytest.mark.parametrize(
    "text",
    [
        "With 2,500 images at a width of 0.2 all is said in the code.",
        "The paper prints 96.83 % and 97.18 %.",
        "Theorem 3.2, section 4.1 and Lemma 2.1 of the paper.",
        "The bound $\\\\varepsilon = 0.37$ and `tol=1e-9`, and [a link](x-0.5.html), tcp://1.2.3.4:5.",
        "There are 32,768 points in 792 orbits.",
    ],
)
def test_settings_formulas_and_the_papers_numbers_are_none(written, text):
    assert written(text) == []


def test_what_the_published_run_holds_may_be_said(written):
    measured = {"claims": {"c": {"recorded": {"value": [0.91337]}}}, "volatile": {"wall_s": 12.5}}
    text = "It reaches 91.3 %, or 0.9134; the table says 97.25 ± 0.07."
    assert written(text) and written(text, **measured) == []
    assert written("It reaches 91.4 %.", **measured)
    assert written("It took 12.5 seconds.", **measured), "another machine takes others"


def test_check_refuses_it_and_says_what_to_do(project, written):
    written("It reaches 91.3 %.")
    (problem,) = consistency.problems(project)
    assert "demo/a: a result is typed" in problem and "run.say(" in problem
