"""``invariance check`` names published results that a change of code could have moved."""

import pytest

from invariance.companion.errors import NotebookError
from invariance.companion.ledger.outdated import outdated_results
from invariance.companion.ledger.repository import Repository
from invariance.companion.ledger.unmoved import (
    Comparison,
    compare_quick_runs,
    record_unmoved,
    recorded_changes,
)
from invariance.companion.paths import Paths
from invariance.companion.runner.batch import run_notebooks

from .test_registration import commit, git

HELPER = "def twice(value):\n    return 2 * value\n"
CLAIM = 'from _helper import twice\nrun.claim("demo/same", difference=twice(0.0), tolerance=1e-9)\n'


@pytest.fixture
def published(project):
    project.write("demo/a", CLAIM)
    project.write("demo/b", "print(1)")
    (project.source("demo/a").parent / "_helper.py").write_text(HELPER, "utf-8")
    git(project.root, "init", "-q")
    (project.root / ".gitignore").write_text("build/\n", "utf-8")
    commit(project)
    summary = run_notebooks(project, ["demo/a", "demo/b"], profile="full")
    assert [outcome.status for outcome in summary.outcomes] == ["ok", "ok"]
    return project


@pytest.mark.notebooks
def test_results_older_than_their_text_or_a_module_are_named(published):
    assert outdated_results(published).moved == []
    source = published.source("demo/b")
    source.write_text(source.read_text("utf-8") + "\n# %%\nprint(2)\n", "utf-8")
    assert outdated_results(published).moved == ["demo/b"]
    helper = published.source("demo/a").parent / "_helper.py"
    helper.write_text(HELPER.replace("2 * value", "3 * value"), "utf-8")
    assert outdated_results(published).moved == ["demo/a", "demo/b"]


@pytest.mark.notebooks
def test_a_module_makes_old_only_the_results_of_notebooks_that_import_it(published):
    helper = published.source("demo/a").parent / "_helper.py"
    helper.write_text(HELPER.replace("2 * value", "3 * value"), "utf-8")
    assert outdated_results(published).moved == ["demo/a"]


def test_commits_named_by_digits_alone_stay_texts(project):
    comparison = Comparison("0123456701", "1234567890", ["demo/a"])
    record_unmoved(project, comparison)
    record_unmoved(project, Comparison("1234567890", "12345e6789"))
    commits = [(change.before, change.after) for change in recorded_changes(project)]
    assert commits == [("0123456701", "1234567890"), ("1234567890", "12345e6789")]
    assert [change.notebooks for change in recorded_changes(project)] == [["demo/a"], []]


def test_a_change_of_a_notebook_with_accents_is_seen(project):
    project.write("demo/été", "x = 1")
    git(project.root, "init", "-q")
    first = commit(project)
    project.write("demo/été", "x = 2")
    source = project.source("demo/été")
    repository = Repository(project)
    assert list(repository.changed_since(first, project.root)) == [source]
    assert source in repository.files(first, source.parent)


@pytest.mark.notebooks
def test_words_make_no_result_old(published):
    source = published.source("demo/b")
    text_cell = "\n# %% [markdown]\n# Other words.\n\n# %%\n# A comment.\n"
    source.write_text(source.read_text("utf-8") + text_cell, "utf-8")
    helper = published.source("demo/a").parent / "_helper.py"
    documented = '"""Doubles."""\n\n\ndef twice(value):\n    """2 x."""\n'
    documented += "    return 2 * value  # exact\n"
    helper.write_text(documented, "utf-8")
    assert outdated_results(published).moved == []
    helper.write_text(documented.replace("2 * value", "value * 2"), "utf-8")
    assert outdated_results(published).moved == ["demo/a"]


@pytest.mark.notebooks
def test_sizes_of_a_quick_run_make_no_result_old(project):
    sizes = "if run.quick:\n    N = 2\nelse:\n    N = 30\n"
    project.write("demo/a", f"{sizes}draws = 1 if run.quick else 5\nprint(N, draws)\n")
    git(project.root, "init", "-q")
    (project.root / ".gitignore").write_text("build/\n", "utf-8")
    commit(project)
    summary = run_notebooks(project, ["demo/a"], profile="full")
    assert [outcome.status for outcome in summary.outcomes] == ["ok"]
    source = project.source("demo/a")
    text = source.read_text("utf-8")
    source.write_text(text.replace("N = 2", "N = 3").replace("draws = 1", "draws = 2"), "utf-8")
    assert outdated_results(project).moved == []
    for changed in (text.replace("N = 30", "N = 31"), text.replace("else 5", "else 6")):
        source.write_text(changed, "utf-8")
        assert outdated_results(project).moved == ["demo/a"]


MEASURED = """
from time import perf_counter
from _helper import twice
run.table([{"twice": twice(1.0), "seconds": perf_counter()}], "numbers")
"""


@pytest.mark.notebooks
def test_changes_that_move_no_number_of_a_quick_run_are_recorded(published, tmp_path):
    notebooks = ["demo/a", "demo/b", "demo/c"]
    published.write("demo/c", MEASURED)
    commit(published)
    run_notebooks(published, ["demo/c"], profile="full")
    earlier = [tmp_path / "one", tmp_path / "two"]
    for folder in earlier:
        git(tmp_path, "clone", "-q", str(published.root), str(folder))
        run_notebooks(Paths(folder), notebooks)
    helper = published.source("demo/a").parent / "_helper.py"
    for now, same in {"value + value": ["demo/a", "demo/c"], "3 * value": ["demo/a"]}.items():
        helper.write_text(HELPER.replace("2 * value", now), "utf-8")
        assert outdated_results(published).moved == ["demo/a", "demo/c"]
        commit(published)
        run_notebooks(published, notebooks)
        comparison = compare_quick_runs(published, earlier)
        assert comparison.unmoved == same
        assert comparison.moved["demo/b"] == "no number to compare"
        record_unmoved(published, comparison)
        outdated = outdated_results(published)
        assert outdated.unmoved == same
        assert outdated.moved == [name for name in ("demo/a", "demo/c") if name not in same]
    assert "row 1, twice: 2.0 before, 3.0 now" in comparison.moved["demo/c"]
    # Without a second checkout, a measured time counts as a number that has moved.
    helper.write_text(HELPER, "utf-8")
    commit(published)
    run_notebooks(published, notebooks)
    assert "seconds" in compare_quick_runs(published, earlier[:1]).moved["demo/c"]
    assert "demo/c" in compare_quick_runs(published, earlier).unmoved
    helper.write_text(HELPER + "# not committed\n", "utf-8")
    git(published.root, "add", "-A")
    run_notebooks(published, ["demo/a"])
    with pytest.raises(NotebookError, match="of these versions"):
        compare_quick_runs(published, earlier)
