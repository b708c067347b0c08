"""Tables, answers and figures of the comparisons, and the published results of the guides.

That they run is seen by ``make report``, which runs every notebook.
"""

import csv
import json
import math
import runpy
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")

from invariance.companion import Run, recorded, saved
from invariance.companion.paths import Paths

sys.path.insert(0, str(Path(__file__).parents[3] / "notebooks/compare"))
from _trials import LEVEL, Trial

ROOT = Path(__file__).parents[3]
PATHS = Paths(ROOT)
COMPARISON = runpy.run_path(str(ROOT / "notebooks/compare/_comparison.py"))
answers, curves, scores, show = (COMPARISON[n] for n in ("answers", "curves", "scores", "show"))
METHODS = ("raw", "cdf", "haar", "ti", "ri", "l", "krr", "rff")


def drawn(values, seconds=1.0, discrepancy=0.0, peak=1.0):
    return [
        Trial(value, discrepancy, seconds, seconds, peak if i == 0 else np.nan)
        for i, value in enumerate(values)
    ]


def draw(trials, higher, names=None):
    """Return the figure of these trials."""
    names = names or {method: method for method, _ in trials}
    answer = answers(trials, higher_is_better=higher)
    return curves(scores(trials), answer, names, "risk", "discrepancy", log=not higher)


def words(axes):
    return {text.get_text() for text in axes.texts}


def test_scores_are_means_with_their_standard_errors():
    trials = {("krr", 10): drawn([1.0, 2.0, 3.0], seconds=0.5, discrepancy=0.25, peak=7.0)}
    row = scores(trials).iloc[0]
    assert (row.method, row.n, row.score) == ("krr", 10, 2.0)
    assert row.se == pytest.approx(1 / np.sqrt(3))
    assert (row.discrepancy, row.fit_s, row.predict_s, row.peak_mb) == (0.25, 0.5, 0.5, 7.0)
    with pytest.raises(ValueError, match="at least two"):
        answers({("krr", 10): drawn([1.0])}, higher_is_better=False)


def test_differences_are_paired_by_draw():
    # The spread over draws is large, but the difference between methods is always the same.
    trials = {
        ("good", 10): drawn([90.0, 60.0, 75.0]),
        ("near", 10): drawn([89.0, 59.0, 74.0], seconds=0.1),
        ("noisy", 10): drawn([70.0, 74.0, 76.0], seconds=0.5),
    }
    row = answers(trials, higher_is_better=True).iloc[0]
    assert (row.best, row.level, row.quickest) == ("good", "noisy", "noisy")


def test_a_method_with_a_much_larger_error_is_not_level_however_noisy():
    trials = {("good", 10): drawn([0.010, 0.010]), ("wild", 10): drawn([0.5, 0.009], seconds=0.1)}
    assert answers(trials, higher_is_better=False).iloc[0].quickest == "good"
    near = 0.01 * LEVEL * 0.99
    trials["near", 10] = drawn([0.0099, 2 * near - 0.0099], seconds=0.1)
    assert answers(trials, higher_is_better=False).iloc[0].quickest == "near"


@pytest.mark.parametrize(
    ("seconds", "quickest"), [([0.04, 0.02, 0.01], "best"), ([0.9, 0.02, 0.01], "next")]
)
def test_below_a_tenth_of_a_second_all_are_equally_quick_and_the_best_is_taken(seconds, quickest):
    draws = {"best": [90.0, 60.0], "next": [89.0, 61.0], "third": [87.0, 62.0]}
    timed = zip(draws.items(), seconds, strict=True)
    trials = {(method, 10): drawn(values, seconds=s) for (method, values), s in timed}
    row = answers(trials, higher_is_better=True).iloc[0]
    assert (row.level, row.quickest) == ("next, third", quickest)


def test_curves_draw_score_discrepancy_and_time_and_say_what_they_show():
    trials = {
        (method, n): drawn([1.0, 2.0], discrepancy=0.1 if method == "cdf" else 1e-15, seconds=2.0)
        for method in ("cdf", "spec-avg-ridge")
        for n in (10, 100)
    }
    panels = draw(trials, False, {"cdf": "pooling", "spec-avg-ridge": "averaging"}).axes
    assert [axis.get_ylabel() for axis in panels[:2]] == ["risk", "discrepancy"]
    for axis in panels:
        lines = [line for line in axis.lines if len(line.get_xdata()) == 2]
        assert len(lines) >= 2
        looks = {(line.get_color(), line.get_linestyle()) for line in lines}
        assert len({look for look in looks if look[1] != "None"}) == 2  # Significantly different.
    assert words(panels[0]) == {"pooling", "averaging"}
    assert panels[2].lines[0].get_ydata().tolist() == [4.0, 4.0]  # Times to fit and to predict.
    titles = [axis.get_title() for axis in panels[:2]]
    assert titles == [
        "Pooling is best at 100 training samples",
        "Only averaging is invariant up to rounding",
    ]


@pytest.mark.parametrize("higher", [True, False])
def test_of_many_methods_the_first_the_five_best_and_what_a_title_names_are_drawn(higher):
    trials = {(m, 10): drawn([i + 1.0, i + 2.0]) for i, m in enumerate(METHODS)}
    expected = {"raw", *METHODS[3:]} if higher else {*METHODS[:6]}
    assert words(draw(trials, higher).axes[0]) == expected
    # The invariant method is drawn even if it is the worst.
    much = -9.0 if higher else 9.0
    trials = {(m, 10): drawn([1.0, 2.0], discrepancy=0.1) for m in METHODS}
    trials["l", 10] = drawn([much, much + 1], discrepancy=1e-15)
    figure = draw(trials, higher)
    title = figure.axes[1].get_title().lower()
    assert "l" in title.split() and "l" in words(figure.axes[0])


@pytest.mark.parametrize("higher", [True, False])
def test_show_emits_both_tables_and_the_figure(project, higher):
    project.papers.write_text('methods: {krr: ["#4d4d4d", o], cdf: ["#0072b2", "^"]}', "utf-8")
    trials = {("krr", 10): drawn([1.0, 2.0]), ("cdf", 10): drawn([3.0, 4.0])}
    run = Run("compare/task", profile="full")
    names = {"krr": "plain", "cdf": "pooling"}
    printed = {"score": "success", "discrepancy": "departure", "higher_is_better": higher}
    assert show(run, trials, names, **printed).equals(scores(trials))
    assert pd.read_csv(run.folder / "answers.csv").iloc[0].best == ("cdf" if higher else "krr")
    (figure,) = json.loads((run.folder / "results.json").read_text("utf-8"))["figures"]
    assert "success against training samples" in figure["alt"] and "pooling" in figure["alt"]
    assert ("drawn there" in figure["caption"]) != higher


def test_saved_tables_are_those_of_the_full_run_where_there_is_one(project):
    assert saved("compare/torus", "scores", "quick") is None
    for folder, profile in ((project.build / "quick", "quick"), (project.figures, "full")):
        place = folder / "compare/torus"
        place.mkdir(parents=True)
        (place / "results.json").write_text(json.dumps({"profile": profile}), "utf-8")
        assert saved("compare/torus", "answers", "quick") is None
        (place / "scores.csv").write_text(f"method,level\n{profile},\n", "utf-8")
        table, results = saved("compare/torus", "scores", "quick")
        assert (table.method[0], table.level[0], results["profile"]) == (profile, "", profile)


def test_recorded_numbers_are_those_of_the_full_run_where_there_is_one(project):
    assert recorded("compare/torus", "demo/number", "quick") is None
    for folder, value in ((project.build / "quick", 1.0), (project.figures, 2.0)):
        place = folder / "compare/torus"
        place.mkdir(parents=True)
        claims = {"demo/number": {"recorded": {"value": [value]}}}
        (place / "results.json").write_text(json.dumps({"claims": claims}), "utf-8")
        assert recorded("compare/torus", "demo/number", "quick") == {"value": [value]}
        assert recorded("compare/torus", "demo/pair", "quick") is None


# Methods that are invariant up to rounding.
EXACT = {
    "digits": [],
    "rotated_digits": ["haar", "best-fit", "cdf"],
    "molecules": ["definition"],
    "torus": ["krr-average", "best-fit", "spec-avg", "spec-avg-ridge", "lgika-rff", "cdf"],
    "sphere": ["best-fit", "spec-avg", "spec-avg-ridge"],
}


def _rows(notebook: str, name: str) -> list[dict[str, str]]:
    with open(PATHS.published(notebook) / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("task", EXACT)
def test_every_method_at_every_size_with_an_answer(task):
    """All columns are filled, invariant methods are invariant, and an answer is among the best."""
    rows = _rows(f"compare/{task}", "scores")
    trials = {("krr", 10): drawn([1.0, 2.0])}
    assert list(rows[0]) == list(scores(trials).columns)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    sizes = list(dict.fromkeys(row["n"] for row in rows))
    assert len(methods) >= 9 and len(sizes) >= 2
    assert [(r["method"], r["n"]) for r in rows] == [(m, n) for m in methods for n in sizes]
    for row in rows:
        numbers = {key: float(value) for key, value in row.items() if key != "method"}
        assert all(math.isfinite(value) and value >= 0 for value in numbers.values()), row
        assert min(numbers["fit_s"], numbers["predict_s"], numbers["peak_mb"]) > 0, row
        if row["method"] in EXACT[task]:
            assert numbers["discrepancy"] < 1e-6, row
        if row["method"] in ("raw", "krr"):
            assert numbers["discrepancy"] > 1e-3, row
    table = _rows(f"compare/{task}", "answers")
    assert list(table[0]) == list(answers(trials, higher_is_better=True).columns)
    assert [row["n"] for row in table] == sizes
    for row in table:
        level = [row["best"], *filter(None, row["level"].split(", "))]
        assert set(level) <= set(methods) and row["quickest"] in level


def test_the_final_table_has_an_answer_for_every_task_and_size():
    rows = _rows("compare/which_one_when", "answer")
    for task in EXACT:
        sizes = [row["n"] for row in _rows(f"compare/{task}", "answers")]
        table = [r["samples"] for r in rows if r["task, figure"] == f"compare/{task}, curves"]
        assert [samples.replace(",", "") for samples in table] == sizes
    for row in rows:
        assert all(value for key, value in row.items() if key != "level with it"), row
        assert "±" in row["error"] and "±" in row["plain kernel"]
    results = json.loads(
        (PATHS.published("compare/which_one_when") / "results.json").read_text("utf-8")
    )
    assert results["tables"][-1]["name"] == "answer"


def test_guides_record_no_claim():
    names = [n for n in PATHS.all_notebooks() if n.startswith("guides/")]
    folders = [folder for name in names if (folder := PATHS.published(name)).is_dir()]
    assert len(folders) >= 7
    for folder in folders:
        results = json.loads((folder / "results.json").read_text("utf-8"))
        assert results["claims"] == {}
        assert results["figures"] or results["tables"]
