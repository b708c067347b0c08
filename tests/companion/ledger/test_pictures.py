"""A published picture is reported if its notebook would now draw it differently."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from invariance.companion.cli import main
from invariance.companion.ledger.drawing import Drawings
from invariance.companion.ledger.pictures import older_pictures
from invariance.companion.paths import Paths
from invariance.companion.runner.batch import run_notebooks

from .test_registration import commit, git

FIGURE = """\
figure, axes = plt.subplots()
curve(axes, sizes)
run.figure(figure, "line", alt="A line", caption="A line.")
run.claim("demo/same", difference=0.0, tolerance=1e-9)
"""
HELPER = """\
def scaled(values):
    return [2 * value for value in values]


def curve(axes, values):
    '''Draw a line.'''
    axes.plot(scaled(values))


def unused():
    return 1
"""
OTHER = 'other, more = plt.subplots()\nrun.figure(other, "other", alt="Nothing")'


@pytest.fixture
def published(project):
    project.write(
        "demo/a", "import matplotlib.pyplot as plt", HELPER, "sizes = [1, 2]", FIGURE, OTHER
    )
    git(project.root, "init", "-q")
    (project.root / ".gitignore").write_text("build/\n", "utf-8")
    commit(project)
    summary = run_notebooks(project, ["demo/a"], profile="full")
    assert [outcome.status for outcome in summary.outcomes] == ["ok"]
    return project


def edit(project, before: str, after: str) -> None:
    source = project.source("demo/a")
    text = source.read_text("utf-8")
    assert before in text
    source.write_text(text.replace(before, after, 1), "utf-8")


def forget_digests(project) -> None:
    """Turn results into those recorded before figures had a digest."""
    path = project.published("demo/a") / "results.json"
    content = json.loads(path.read_text("utf-8"))
    for figure in content["figures"]:
        del figure["drawn"]
    path.write_text(json.dumps(content), "utf-8")


@pytest.mark.notebooks
@pytest.mark.parametrize("old", [False, True], ids=["digests", "before digests"])
def test_older_pictures_are_named(published, old):
    if old:
        forget_digests(published)
    source = published.source("demo/a")
    text = source.read_text("utf-8")
    assert older_pictures(published) == []
    for before, after in [
        ("plt.subplots()\ncurve", "plt.subplots()  # a comment\ncurve"),
        ("curve(axes, sizes)", "curve(\n    axes,\n    sizes,\n)"),
        ("'''Draw a line.'''", "'''Draw a straight line.'''"),
        ("# # A small notebook", "# # A smaller notebook"),
        ("tolerance=1e-9", "tolerance=1e-8"),
        ("return 1\n", "return 2\n"),
    ]:
        edit(published, before, after)
        assert older_pictures(published) == [], before
        source.write_text(text, "utf-8")
    for before, after in [
        ("curve(axes, sizes)", "curve(axes, sizes)\naxes.set(title='A line')"),
        ("axes.plot(", "axes.semilogy("),
        ("2 * value", "3 * value"),
        ('caption="A line."', 'caption="A curve."'),
    ]:
        edit(published, before, after)
        assert older_pictures(published) == ["demo/a: line"], before
        commit(published, "changed, and committed")
        assert older_pictures(published) == ["demo/a: line"], before
        source.write_text(text, "utf-8")
    edit(published, 'alt="Nothing")', 'alt="Nothing", caption="More.")')
    assert older_pictures(published) == ["demo/a: other"]


@pytest.mark.notebooks
def test_check_names_them_and_refuses_them_if_asked(published):
    edit(published, "axes.plot(", "axes.semilogy(")
    done = CliRunner().invoke(main, ["check"])
    assert done.exit_code == 0, done.output
    assert (
        "demo/a: published pictures are older than the code that draws them: line;" in done.output
    )
    done = CliRunner().invoke(main, ["check", "--strict"])
    assert (
        done.exit_code == 1
        and "demo/a: published pictures are older than the code that draws them: line;"
        in done.output
    )


@pytest.mark.notebooks
def test_a_figure_that_no_code_draws_any_more_is_older_also_without_git(published, monkeypatch):
    forget_digests(published)
    edit(published, '"line"', '"curve"')
    monkeypatch.setenv("PATH", "")
    assert older_pictures(published) == ["demo/a: line"]


def test_a_function_beside_the_notebook_counts():
    helper = {"_draw.py": "def draw(run, figure):\n    run.figure(figure, 'curves')\n"}
    notebook = "# %%\nfrom _draw import draw\n\n# %%\ndraw(run, figure)\n"
    before = Drawings(notebook, helper).digest("curves")
    assert before is not None
    helper["_draw.py"] = helper["_draw.py"].replace("    run", "    figure.legend()\n    run")
    assert Drawings(notebook, helper).digest("curves") != before
    assert Drawings(notebook, {}).digest("curves") is None


def test_a_digest_is_the_same_in_all_versions_of_python():
    # Versions print syntax trees differently: this is the digest of 3.11, 3.12 and 3.13.
    drawings = Drawings(f"# %%\n{FIGURE}", {"_draw.py": HELPER})
    assert drawings.digest("line") == "de37de64b08fd4e9"


def test_every_published_figure_has_code_that_draws_it_or_is_named_as_older():
    root = Path(__file__).parents[3]
    reported = older_pictures(Paths(root))
    missing = []
    for path in sorted((root / "figures").glob("*/*/results.json")):
        folder = root / "notebooks" / path.parts[-3]
        helper = {p.name: p.read_text(encoding="utf-8") for p in folder.glob("_*.py")}
        source = folder / f"{path.parts[-2]}.py"
        drawings = Drawings(source.read_text(encoding="utf-8"), helper)
        for figure in json.loads(path.read_text(encoding="utf-8"))["figures"]:
            name = figure["name"]
            is_reported = f"{path.parts[-3]}/{path.parts[-2]}: {name}" in reported
            if drawings.digest(name) is None and not is_reported:
                missing.append((path, name))
    assert missing == []
