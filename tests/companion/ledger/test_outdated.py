"""``invariance check`` names published results that a change of code could have moved."""

import pytest

from invariance.companion.ledger.outdated import outdated_results
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
    assert outdated_results(published) == []
    source = published.source("demo/b")
    source.write_text(source.read_text("utf-8") + "\n# %%\nprint(2)\n", "utf-8")
    assert outdated_results(published) == ["demo/b"]
    helper = published.source("demo/a").parent / "_helper.py"
    helper.write_text(HELPER.replace("2 * value", "3 * value"), "utf-8")
    assert outdated_results(published) == ["demo/a", "demo/b"]


@pytest.mark.notebooks
def test_a_module_makes_old_only_the_results_of_notebooks_that_import_it(published):
    helper = published.source("demo/a").parent / "_helper.py"
    helper.write_text(HELPER.replace("2 * value", "3 * value"), "utf-8")
    assert outdated_results(published) == ["demo/a"]


@pytest.mark.notebooks
def test_words_make_no_result_old(published):
    source = published.source("demo/b")
    text_cell = "\n# %% [markdown]\n# Other words.\n\n# %%\n# A comment.\n"
    source.write_text(source.read_text("utf-8") + text_cell, "utf-8")
    helper = published.source("demo/a").parent / "_helper.py"
    documented = '"""Doubles."""\n\n\ndef twice(value):\n    """2 x."""\n'
    documented += "    return 2 * value  # exact\n"
    helper.write_text(documented, "utf-8")
    assert outdated_results(published) == []
    helper.write_text(documented.replace("2 * value", "value * 2"), "utf-8")
    assert outdated_results(published) == ["demo/a"]


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
    assert outdated_results(project) == []
    for changed in (text.replace("N = 30", "N = 31"), text.replace("else 5", "else 6")):
        source.write_text(changed, "utf-8")
        assert outdated_results(project) == ["demo/a"]
