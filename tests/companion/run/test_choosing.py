"""A notebook chooses settings without test data, and then measures with other seeds."""

import json
from dataclasses import replace

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from invariance.companion import Run
from invariance.companion.cli import main
from invariance.companion.errors import LedgerError, RecordError
from invariance.companion.ledger import consistency
from invariance.companion.ledger import settings as chosen
from invariance.companion.run.withholding import WithheldError, withhold, withholding
from invariance.datasets import load_digits_images

PARAMETERS = """\
# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1
"""

CHOOSES = """
from invariance.datasets import load_digits_images

run = Run("demo/chooses", profile=profile, seed=seed, chooses=True)
data = load_digits_images()
width = run.select("width", [1.0, 2.0], lambda w: [w / len(data.data), w / 1200], by="a score")
"""

MEASURES = """
run.measure()
data = load_digits_images()
run.claim("demo/order", order="a > b", scores={"a": [len(data.data)] * 2, "b": [seed] * 2})
"""


CHOICES = {"width": chosen.Choice(3.0, [1.0, 3.0], "loo", True, [0.1, 0.2], [])}


@pytest.fixture(autouse=True)
def door():
    before = withholding()
    yield
    withhold(before)


@pytest.fixture
def chooser(project):
    """Three notebooks: one chooses, one reads test data too early, and one never measures."""
    faults = {"chooses": ("", ""), "looks": ("width = ", "data.test\nwidth = "),
              "stays": ("run.measure()", "")}  # fmt: skip
    for name, (before, after) in faults.items():
        notebook = f"demo/{name}"
        path = project.source(project.write(notebook, CHOOSES, MEASURES, parameters=PARAMETERS))
        # The small project's text already calls Run.
        text = path.read_text("utf-8").replace(
            f'run = Run("{notebook}", profile=profile, seed=seed)', ""
        )
        path.write_text(
            text.replace("demo/chooses", notebook).replace(before, after, bool(before)), "utf-8"
        )
    return project


def test_a_quick_stage_of_choosing_does_not_change_the_settings(chooser):
    ended = CliRunner().invoke(main, ["choose", "demo/chooses", "--profile", "quick"])
    assert ended.exit_code == 0, ended.output
    assert not chooser.settings("demo/chooses").exists()
    assert (chooser.choosing("demo/chooses", "quick") / "settings.yml").is_file()


def test_notebooks_that_choose_without_test_data_can_use_their_settings(chooser):
    ended = CliRunner().invoke(main, ["choose"])
    assert ended.exit_code == 1 and "1 of 3 notebooks have chosen (full)" in ended.output
    assert "WithheldError" in ended.output and "run.measure()" in ended.output
    assert "run.measure() was not called" in ended.output
    for name in ("demo/looks", "demo/stays"):
        assert not chooser.settings(name).exists()
        chooser.source(name).unlink()
    written = yaml.safe_load(chooser.settings("demo/chooses").read_text("utf-8"))
    assert written["seed"] == 0 and written["choices"]["width"]["chosen"] == 2.0
    # Only the 1,200 training rows were loaded.
    assert written["choices"]["width"]["scores"][1] == pytest.approx(2 / 1200, rel=1e-4)
    scope = {"profile": "full", "seed": 1}
    exec(f"from invariance.companion import Run\n{CHOOSES}\n{MEASURES}", scope)
    assert scope["width"] == 2.0 and len(scope["data"].data) == 1797
    assert consistency.problems(chooser) == []


def test_only_a_notebook_that_chooses_can_choose(project):
    ended = CliRunner().invoke(main, ["choose", project.write("demo/plain")])
    assert ended.exit_code == 2 and "demo/plain chooses nothing" in ended.output


def test_a_full_run_reads_and_does_not_choose(project):
    def never(_):
        raise AssertionError("a full run computed a score")

    chosen.write_settings(project.settings("demo/a"), "demo/a", CHOICES)
    with pytest.raises(RecordError, match="seed 0 chose the settings"):
        Run("demo/a", profile="full", seed=0, chooses=True)
    with pytest.raises(RecordError, match="measure with other seeds"):
        Run("demo/a", profile="full", chooses=True, seeds=[1, 0])
    run = Run("demo/a", profile="full", seed=1, chooses=True)
    assert run.select("width", [1.0, 3.0], never, by="loo") == 3.0
    with pytest.raises(RecordError, match="chosen from another grid.*invariance choose demo/a"):
        Run("demo/a", profile="full", seed=1, chooses=True).select("width", [1.0], never, by="loo")
    with pytest.raises(RecordError, match="'depth' has not been chosen yet"):
        run.select("depth", [1, 2], never, by="loo")


def protocol_of(run, claim):
    results = json.loads((run.folder / "results.json").read_text("utf-8"))
    return results["claims"][claim]["protocol"]


def test_claims_carry_the_digest_of_protocol_and_settings(project):
    digests = []
    for path in (None, project.settings("demo/a")):
        if path:
            chosen.write_settings(path, "demo/a", CHOICES)
        run = Run("demo/a", profile="full", seeds=[1, 2], chooses=bool(path))
        assert (run.seed, run.seeds) == (1, (1, 2))
        run.claim("demo/order", order="a > b", scores={"a": [2, 2], "b": [1, 1]})
        run.claim("demo/near", value=90, se=0.1)
        digests.append(protocol_of(run, "demo/order"))
        assert protocol_of(run, "demo/near") is None  # No protocol is registered.
    assert digests[0] and digests[1] and digests[0] != digests[1]
    run = Run("demo/a", profile="quick")
    run.claim("demo/order", order="a > b", scores={"a": [2, 2], "b": [1, 1]})
    assert protocol_of(run, "demo/order") is None


def test_a_quick_run_chooses_and_measures_without_test_data_in_the_choice(project):
    run = Run("demo/a", profile="quick", seed=0, chooses=True)
    with pytest.raises(WithheldError):
        load_digits_images().test  # noqa: B018
    assert run.select("c", ["a", None, {"x": 1}], scores=lambda: [1, 3, 2], by="loo") is None
    assert run.select("d", [1, 2], float, by="e", higher=False) == 1
    run.measure()
    assert len(load_digits_images().test[1]) == 597
    with pytest.raises(RecordError, match="after measure"):
        run.select("e", [1], float, by="loo")
    with pytest.raises(RecordError, match="once"):
        run.measure()
    Run("demo/a", profile="quick", chooses=True)
    assert withholding()
    Run("demo/a", profile="quick")  # Without choosing, all data are available.
    assert not withholding()


@pytest.mark.parametrize(
    ("grid", "scoring", "message"),
    [
        ([], {"score": float}, "grid is empty"),
        ([object()], {"score": float}, "no number, text or list"),
        ([1], {}, "pass score or scores="),
        ([1, 2], {"scores": lambda: [1]}, "1 scores for 2 entries"),
        ([1], {"score": lambda _: float("nan")}, "no score is finite"),
        ([1, 2], {"scores": lambda: np.ma.array([3, 4], mask=[0, 1])}, "score of 2 is masked"),
        ([1], {"score": lambda _: np.ma.array([3, 99], mask=[0, 1])}, "score of 1 is masked"),
    ],
)
def test_invalid_choices_are_refused(project, grid, scoring, message):
    run = Run("demo/a", profile="quick", chooses=True)
    with pytest.raises(RecordError, match=message):
        run.select("a", grid, by="loo", **scoring)
    with pytest.raises(RecordError, match="chooses=True"):
        Run("demo/a", profile="quick").select("a", [1], float, by="loo")


def test_settings_that_do_not_match_their_scores_are_refused(project):
    path = project.settings("demo/a")
    assert chosen.read_settings(path) is None and chosen.settings_digest(None) == ""
    chosen.write_settings(path, "demo/a", {"w": replace(CHOICES["width"], chosen=1.0)})
    with pytest.raises(LedgerError, match="'w' is 1.0, which is not the best of its scores"):
        chosen.read_settings(path)
    assert any("no notebook chooses this" in problem for problem in consistency.problems(project))
    path.write_text("choices: [1]", "utf-8")
    with pytest.raises(LedgerError, match="not readable as settings"):
        chosen.read_settings(path)
    assert chosen.best_of([float("nan"), 2, 1], higher=False) == 2
