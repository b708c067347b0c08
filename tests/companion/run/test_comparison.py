"""Tables, answers and figures of the comparisons."""

import json
import runpy
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")

from invariance.companion import Run, saved
from invariance.evaluation.trials import LEVEL, Trial

COMPARISON = runpy.run_path(str(Path(__file__).parents[3] / "notebooks/compare/_comparison.py"))
answers, curves, scores, show = (COMPARISON[n] for n in ("answers", "curves", "scores", "show"))


def drawn(values, seconds=1.0, discrepancy=0.0, peak=1.0):
    return [
        Trial(value, discrepancy, seconds, seconds, peak if i == 0 else np.nan)
        for i, value in enumerate(values)
    ]


def test_scores_are_means_with_their_standard_errors():
    trials = {("krr", 10): drawn([1.0, 2.0, 3.0], seconds=0.5, discrepancy=0.25, peak=7.0)}
    row = scores(trials).iloc[0]
    assert (row.method, row.n, row.score) == ("krr", 10, 2.0)
    assert row.se == pytest.approx(1 / np.sqrt(3))
    assert (row.discrepancy, row.fit_s, row.predict_s, row.peak_mb) == (0.25, 0.5, 0.5, 7.0)


def test_differences_are_paired_by_draw():
    # spread over draws is large, the difference between methods is the same in each
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


def test_below_a_tenth_of_a_second_all_are_equally_quick_and_the_best_is_taken():
    draws = {"best": [90.0, 60.0], "next": [89.0, 61.0], "third": [87.0, 62.0]}
    for seconds, quickest in (([0.04, 0.02, 0.01], "best"), ([0.9, 0.02, 0.01], "next")):
        trials = {
            (method, 10): drawn(scores, seconds=s)
            for (method, scores), s in zip(draws.items(), seconds, strict=True)
        }
        row = answers(trials, higher_is_better=True).iloc[0]
        assert (row.level, row.quickest) == ("next, third", quickest)


def test_the_direction_of_the_score_matters():
    trials = {("low", 30): drawn([1.0, 1.0]), ("high", 30): drawn([2.0, 2.0])}
    assert answers(trials, higher_is_better=False).best[0] == "low"
    assert answers(trials, higher_is_better=True).best[0] == "high"


def test_one_draw_has_no_standard_error():
    with pytest.raises(ValueError, match="at least two"):
        answers({("krr", 10): drawn([1.0])}, higher_is_better=False)


def test_curves_draw_score_discrepancy_and_time_and_say_what_they_show():
    trials = {
        (method, n): drawn([1.0, 2.0], discrepancy=0.1 if method == "cdf" else 1e-15, seconds=2.0)
        for method in ("cdf", "spec-avg-ridge")
        for n in (10, 100)
    }
    names = {"cdf": "pooling", "spec-avg-ridge": "averaging"}
    answer = answers(trials, higher_is_better=False)
    figure = curves(scores(trials), answer, names, "risk", "discrepancy", log=True)
    panels = figure.axes
    assert [axis.get_ylabel() for axis in panels[:2]] == ["risk", "discrepancy"]
    for axis in panels:
        lines = [line for line in axis.lines if len(line.get_xdata()) == 2]
        assert len(lines) >= 2
        looks = {(line.get_color(), line.get_linestyle()) for line in lines}
        assert len({look for look in looks if look[1] != "None"}) == 2  # told apart
    assert {text.get_text() for text in panels[0].texts} == {"pooling", "averaging"}
    assert panels[2].lines[0].get_ydata().tolist() == [4.0, 4.0]  # to fit and to predict
    assert [axis.get_title() for axis in panels[:2]] == [
        "Best at 100: pooling",
        "Invariant to rounding: averaging",
    ]


def test_curves_of_many_methods_are_the_first_and_the_five_best():
    methods = ["raw", "cdf", "haar", "ti", "ri", "l", "krr", "rff"]
    trials = {(m, 10): drawn([i + 1.0, i + 2.0]) for i, m in enumerate(methods)}
    for higher, kept in ((True, ["raw", *methods[3:]]), (False, methods[:6])):
        answer = answers(trials, higher_is_better=higher)
        figure = curves(scores(trials), answer, dict(zip(methods, methods, strict=True)), "s", "d",
                        log=not higher)  # fmt: skip
        assert {text.get_text() for text in figure.axes[0].texts} == set(kept)


@pytest.mark.parametrize("log", [False, True])
def test_what_a_title_names_is_drawn_however_bad_it_is(log):
    methods = ["raw", "cdf", "haar", "ti", "ri", "l", "krr", "rff"]
    worst, much = "l", 9.0 if log else -9.0
    trials = {
        (m, 10): drawn([1.0, 2.0], discrepancy=0.1)
        if m != worst
        else drawn([much, much + 1], discrepancy=1e-15)
        for m in methods
    }
    answer = answers(trials, higher_is_better=not log)
    names = dict(zip(methods, methods, strict=True))
    figure = curves(scores(trials), answer, names, "s", "d", log=log)
    assert figure.axes[1].get_title().endswith(f": {worst}")
    assert worst in {text.get_text() for text in figure.axes[0].texts}


@pytest.mark.parametrize("higher_is_better", [True, False])
def test_show_emits_both_tables_and_the_figure(project, higher_is_better):
    project.papers.write_text('methods: {krr: ["#4d4d4d", o], cdf: ["#0072b2", "^"]}')
    trials = {("krr", 10): drawn([1.0, 2.0]), ("cdf", 10): drawn([3.0, 4.0])}
    run = Run("compare/task", profile="full")
    table = show(
        run,
        trials,
        {"krr": "plain", "cdf": "pooling"},
        score="success",
        discrepancy="departure",
        higher_is_better=higher_is_better,
    )
    assert table.equals(scores(trials))
    answer = pd.read_csv(run.folder / "answers.csv").iloc[0]
    assert answer.best == ("cdf" if higher_is_better else "krr")
    (figure,) = json.loads((run.folder / "results.json").read_text())["figures"]
    assert "success against training samples" in figure["alt"] and "pooling" in figure["alt"]
    assert ("drawn there" in figure["caption"]) != higher_is_better


def test_saved_tables_are_those_of_the_full_run_where_there_is_one(tmp_path, monkeypatch):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "claims.yml").write_text("")
    monkeypatch.setenv("INVARIANCE_ROOT", str(tmp_path))
    assert saved("compare/torus", "scores", "quick") is None
    for folder, profile in (("build/quick", "quick"), ("figures", "full")):
        place = tmp_path / folder / "compare" / "torus"
        place.mkdir(parents=True)
        (place / "results.json").write_text(json.dumps({"profile": profile}))
        assert saved("compare/torus", "answers", "quick") is None
        (place / "scores.csv").write_text(f"method,level\n{profile},\n")
        table, results = saved("compare/torus", "scores", "quick")
        assert (table.method[0], table.level[0], results["profile"]) == (profile, "", profile)
