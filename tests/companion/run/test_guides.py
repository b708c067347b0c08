"""The guides run in the quick profile, record no claim and keep what they promise."""

import csv
import json
from pathlib import Path

import pytest

from invariance.companion.paths import Paths
from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.places import Here

ROOT = Path(__file__).parents[3]
NAMES = [n for n in Paths(ROOT).all_notebooks() if n.startswith("guides/")]


def _run(folder: Path) -> None:
    project = Paths(folder)
    project.notebooks.symlink_to(ROOT / "notebooks", target_is_directory=True)
    summary = run_notebooks(project, NAMES, place=Here(2))
    assert {o.notebook: (o.status, o.failure and o.failure["message"]) for o in summary.outcomes} \
        == dict.fromkeys(NAMES, ("ok", None))  # fmt: skip


@pytest.fixture(scope="module")
def outputs(made_once) -> dict[str, Path]:
    """Output folders of the guides, run in a project that has only its outputs of its own."""
    pytest.importorskip("distributed", reason="needs the extra `guides` (Dask)")
    pytest.importorskip("ipywidgets", reason="needs the extra `guides` (sliders)")
    project = Paths(made_once("guides", _run))
    return {name: project.output(name, "quick") for name in NAMES}


def _rows(folder: Path, name: str) -> list[dict[str, str]]:
    with open(folder / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.notebooks
def test_guides_run_and_record_no_claim(outputs):
    assert len(outputs) == len(NAMES) >= 7
    for folder in outputs.values():
        results = json.loads((folder / "results.json").read_text())
        assert results["claims"] == {}
        assert results["figures"] or results["tables"]


@pytest.mark.notebooks
def test_broken_groups_are_named(outputs):
    said = {r["class"]: r["what check_group says"] for r in _rows(outputs["guides/own_group"],
                                                                    "broken")}  # fmt: skip
    assert "(gh)x = g(hx) fails" in said["ForgetsTheSign"] and "], [" in said["ForgetsTheSign"]
    assert "unitary is claimed" in said["LosesEnergy"] and "for [ 1 13]" in said["LosesEnergy"]
    assert "order says 16" in said["Miscounts"]


@pytest.mark.notebooks
def test_results_larger_than_a_worker_and_a_worker_lost(outputs):
    folder = outputs["guides/many_machines"]
    rows = _rows(folder, "larger")
    assert [row["what"] for row in rows] == ["Gram matrix", "feature map"]
    for row in rows:
        size, limit = float(row["size (MiB)"]), float(row["limit of a worker (MiB)"])
        assert float(row["most memory of a worker (MiB)"]) < limit < size
        assert float(row["largest relative difference from here"]) <= 1e-6
    workers = [row["ran below the worker"] for row in _rows(folder, "batch")]
    assert len(workers) == 2 and all(worker.startswith("tcp://127.0.0.1:") for worker in workers)
    assert {path.name for path in folder.iterdir()} == {
        "batch.csv", "executed.ipynb", "larger.csv", "lost.png", "results.json",
        "status.json",
    }  # fmt: skip
