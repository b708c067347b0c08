"""What comparisons and guides have published is complete and keeps what they promise.

That they run is seen by ``make report``, which runs every notebook.
"""

import csv
import json
import math
import runpy
from pathlib import Path

import pytest

from invariance.companion.paths import Paths
from invariance.evaluation.trials import Trial

ROOT = Path(__file__).parents[3]
PATHS = Paths(ROOT)
COMPARISON = runpy.run_path(str(ROOT / "notebooks/compare/_comparison.py"))
answers, scores = COMPARISON["answers"], COMPARISON["scores"]
# what is invariant up to rounding
EXACT = {
    "digits": [],
    "rotated_digits": ["haar", "best-fit", "cdf"],
    "molecules": ["definition"],
    "torus": ["krr-average", "best-fit", "spec-avg", "spec-avg-ridge", "lgika-rff", "cdf"],
    "sphere": ["best-fit", "spec-avg", "spec-avg-ridge"],
}
TRIALS = {("krr", 10): [Trial(1.0, 0.0, 1.0, 1.0, 1.0), Trial(2.0, 0.0, 1.0, 1.0, math.nan)]}


def _rows(notebook: str, name: str) -> list[dict[str, str]]:
    with open(PATHS.published(notebook) / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("task", EXACT)
def test_every_method_at_every_size_with_an_answer(task):
    """Every column filled; invariant is what should be; an answer is the best or level with it."""
    rows = _rows(f"compare/{task}", "scores")
    assert list(rows[0]) == list(scores(TRIALS).columns)
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
    found = _rows(f"compare/{task}", "answers")
    assert list(found[0]) == list(answers(TRIALS, higher_is_better=True).columns)
    assert [row["n"] for row in found] == sizes
    for row in found:
        level = [row["best"], *filter(None, row["level"].split(", "))]
        assert set(level) <= set(methods) and row["quickest"] in level


def test_the_final_table_has_an_answer_for_every_task_and_size():
    rows = _rows("compare/which_one_when", "answer")
    for task in EXACT:
        sizes = [row["n"] for row in _rows(f"compare/{task}", "answers")]
        found = [r["samples"] for r in rows if r["task, figure"] == f"compare/{task}, curves"]
        assert [samples.replace(",", "") for samples in found] == sizes
    for row in rows:
        assert all(value for key, value in row.items() if key != "level with it"), row
        assert "±" in row["error"] and "±" in row["plain kernel"]
    results = json.loads((PATHS.published("compare/which_one_when") / "results.json").read_text())
    assert results["tables"][-1]["name"] == "answer"


def test_guides_record_no_claim():
    names = [n for n in PATHS.all_notebooks() if n.startswith("guides/")]
    folders = [folder for name in names if (folder := PATHS.published(name)).is_dir()]
    assert len(folders) >= 7
    for folder in folders:
        results = json.loads((folder / "results.json").read_text())
        assert results["claims"] == {}
        assert results["figures"] or results["tables"]
