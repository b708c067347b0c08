"""The comparisons run in the quick profile: every method at every size, and the answers of all."""

import csv
import json
import math
import re
from pathlib import Path

import pytest

from invariance.companion.paths import Paths
from invariance.companion.run.comparison import answers, scores
from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.places import Here
from invariance.evaluation.trials import Trial

ROOT = Path(__file__).parents[3]
NAMES = [n for n in Paths(ROOT).all_notebooks() if n.startswith("compare/")]
SIZES = {task: ["10", "30"] for task in ("digits", "rotated_digits", "torus", "sphere")}
SIZES["molecules"] = ["10", "30", "100"]
# what is invariant up to rounding
EXACT = {
    "digits": [],
    "rotated_digits": ["haar", "best-fit", "cdf"],
    "molecules": ["definition"],
    "torus": ["krr-average", "best-fit", "spec-avg", "spec-avg-ridge", "lgika-rff", "cdf"],
    "sphere": ["best-fit", "spec-avg", "spec-avg-ridge"],
}
TRIALS = {("krr", 10): [Trial(1.0, 0.0, 1.0, 1.0, 1.0), Trial(2.0, 0.0, 1.0, 1.0, math.nan)]}


@pytest.mark.notebooks
@pytest.mark.timeout(1800)
def test_comparisons(tmp_path):
    """One test, not several: they would be shared out, and each process would run them all."""
    project = Paths(tmp_path)  # without published results
    project.notebooks.symlink_to(ROOT / "notebooks", target_is_directory=True)
    summary = run_notebooks(project, NAMES, place=Here(2))
    assert {o.notebook: (o.status, o.failure and o.failure["message"]) for o in summary.outcomes} \
        == dict.fromkeys(NAMES, ("ok", None))  # fmt: skip
    for task in EXACT:
        _check_scores(project.output(f"compare/{task}", "quick"), task)
        _check_answers(project.output(f"compare/{task}", "quick"), task)
    _check_final_table(project.output("compare/which_one_when", "quick"))
    assert _rows(project.output("compare/speed", "quick"), "ratios")


def _rows(folder: Path, name: str) -> list[dict[str, str]]:
    with open(folder / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _methods(task: str) -> list[str]:
    """The keys of the notebook's NAMES."""
    source = (ROOT / "notebooks" / "compare" / f"{task}.py").read_text(encoding="utf-8")
    (names,) = re.findall(r"^NAMES = \{$(.*?)^\}$", source, flags=re.MULTILINE | re.DOTALL)
    methods = re.findall(r'"([\w-]+)": "', names)
    assert len(methods) >= 9
    return methods


def _check_scores(folder: Path, task: str) -> None:
    """Every method at every size, every column filled; invariant is what should be."""
    rows = _rows(folder, "scores")
    assert list(rows[0]) == list(scores(TRIALS).columns)
    assert [(row["method"], row["n"]) for row in rows] \
        == [(method, n) for method in _methods(task) for n in SIZES[task]]  # fmt: skip
    for row in rows:
        numbers = {key: float(value) for key, value in row.items() if key != "method"}
        assert all(math.isfinite(value) and value >= 0 for value in numbers.values()), row
        assert min(numbers["fit_s"], numbers["predict_s"], numbers["peak_mb"]) > 0, row
        if row["method"] in EXACT[task]:
            assert numbers["discrepancy"] < 1e-6, row
        if row["method"] in ("raw", "krr"):
            assert numbers["discrepancy"] > 1e-3, row


def _check_answers(folder: Path, task: str) -> None:
    rows = _rows(folder, "answers")
    assert list(rows[0]) == list(answers(TRIALS, higher_is_better=True).columns)
    assert [row["n"] for row in rows] == SIZES[task]
    for row in rows:
        level = [row["best"], *filter(None, row["level"].split(", "))]
        assert set(level) <= set(_methods(task)) and row["quickest"] in level


def _check_final_table(folder: Path) -> None:
    """An answer for every task and size, in the table that the page ends in."""
    assert [row["table"] for row in _rows(folder, "sources")] == ["quick profile"] * len(EXACT)
    rows = _rows(folder, "answer")
    assert [(row["task, figure"], row["samples"]) for row in rows] \
        == [(f"compare/{task}, curves", n) for task in EXACT for n in SIZES[task]]  # fmt: skip
    for row in rows:
        assert all(value for key, value in row.items() if key != "level with it"), row
        assert "±" in row["error"] and "±" in row["plain kernel"]
    tables = json.loads((folder / "results.json").read_text(encoding="utf-8"))["tables"]
    assert tables[-1]["name"] == "answer"
