"""A sweep: names, refusals, resume, failures beside successes, table and plot."""

import json
from functools import partial

import pandas as pd
import pytest
from click.testing import CliRunner

from invariance.companion.cli import main
from invariance.companion.errors import NotebookError
from invariance.companion.runner.batch import run_notebooks
from invariance.companion.runner.collect import plot_of, write_plot, write_table
from invariance.companion.runner.places import Here, runner_folder, take_outputs
from invariance.companion.runner.sweep import Sweep

from .light import Writer, statuses, write_truth

PARAMETERS = """\
# %% tags=["parameters"]
profile: str = "quick"
seed: int = 0  # at least 0
noise: float = 0.1  # of the samples; from 0 to 1
group: str = "turns"  # one of turns, cyclic shifts, mirror images
"""
MEASURE = """
accuracy = 1 - noise + 0.01 * seed
run.say("{accuracy:.2f} are right", accuracy=accuracy)
run.table([{"method": "a", "error": noise, "name": "x"}, {"method": "b", "error": 0.5}], "errors")
run.table([{"folds": 5, "draws": 7}], "counts")
run.claim("demo/number", value=99 + noise, exact="made up")
run.timing("fit", 0.5)
if noise == 1:
    raise ValueError("too much noise")
"""


@pytest.fixture
def swept(project):
    """A project with one notebook, and a function that sweeps it without processes."""
    project.write("p/a", "x = 1", parameters=PARAMETERS)
    place = Writer(partial(write_truth, project))

    def run(*requested: tuple[str, str], place=place):
        sweep = Sweep.read(project, "p/a", "quick", requested)
        summary = sweep.run(place=place)
        return sweep, statuses(summary)

    project.place = place
    return run


@pytest.fixture
def invoke(project):
    return lambda *arguments: CliRunner().invoke(main, arguments)


def test_each_combination_has_a_folder_named_by_its_parameters(project, swept):
    sweep, ended = swept(("noise", "0.1,0.3"), ("seed", "1..2"))
    names = [f"seed={seed},noise={noise}" for seed in (1, 2) for noise in (0.1, 0.3)]
    assert ended == {f"p/a/{name}": "ok" for name in names}
    assert sweep.folder == project.build / "sweeps/quick/p/a/seed,noise"
    for task in sweep.tasks():
        results = json.loads((task.folder / "results.json").read_text("utf-8"))
        assert {name: results["parameters"][name] for name in task.values} == task.values
        assert task.folder.parent == sweep.folder and task.folder.name == task.combination
    assert sorted(path.name for path in sweep.folder.iterdir()) == names
    assert not project.output("p/a", "quick").exists() and project.hidden() == []


def test_awkward_values_have_names_of_their_own(project, swept):
    texts = ["a/b", "a_b", "x" * 300, "x" * 301, "é", "..", "y "]
    project.write("p/a", "x = 1", parameters=PARAMETERS + 'word: str = ""\n')
    quoted = ",".join(f'"{text}"' for text in texts)
    sweep, ended = swept(("word", quoted))
    assert len(ended) == len(texts) and set(ended.values()) == {"ok"}
    assert len([*sweep.folder.iterdir()]) == len(texts)


def test_a_sweep_continues_grows_and_runs_again_what_has_changed(project, swept):
    started = project.place.started
    swept(("seed", "1..2"))
    _, ended = swept(("seed", "1..4"))
    assert [*ended.values()].count("kept") == 2 and len(project.place.started) == len(started) + 4
    # The order of options and other results of the notebook do not matter.
    swept(("seed", "1"), ("noise", "0.5"))
    run_notebooks(project, ["p/a"], place=project.place)
    assert set(swept(("noise", "0.5"), ("seed", "1"))[1].values()) == {"kept"}
    project.write("p/a", "x = 2", parameters=PARAMETERS)
    assert set(swept(("seed", "1..4"))[1].values()) == {"ok"}


def test_one_failure_hides_no_other(project, swept):
    failing = Writer(partial(write_truth, project), failing=("p/a",))
    assert set(swept(("seed", "1..3"), place=failing)[1].values()) == {"failed"}
    sweep, ended = swept(("seed", "1..3"))
    assert set(ended.values()) == {"ok"} and len(write_table(sweep)) == 3


def test_full_results_of_a_sweep_are_not_published(project):
    project.write("p/a", "x = 1", parameters=PARAMETERS)
    sweep = Sweep.read(project, "p/a", "full", [("seed", "0,1")])
    assert sweep.run(place=Writer(partial(write_truth, project))).exit_code == 0
    assert not project.figures.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("p/a -p sed 1,2", "no parameter 'sed'. Did you mean 'seed'"),
        ("p/a -p seed 1,x", "seed: 'x' is not of type int"),
        ("p/a -p seed 1..3 -p seed 5", "-p seed is passed twice: separate its values by commas"),
        ("p/a -p seed 1,1", "seed: 1 is listed twice"),
        ("p/a -p noise 0.5,1.5", "noise: 1.5 is not from 0 to 1"),
        ("p/a -p group turns,mirrors", "group: 'mirrors' is no choice. Did you mean"),
        ("p/a -p seed 1..200 -p noise 0,0.1 -p profile full", "pass --profile"),
        ("p/a", "a sweep needs a parameter"),
        ("p -p seed 1..2", "a sweep runs one notebook"),
        ("p/a -p seed 1..1000 -p noise 0,1,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9", "11,000 comb"),
    ],
)
def test_refusals_come_before_anything_starts(project, invoke, arguments, message):
    project.write("p/a", "x = 1", parameters=PARAMETERS)
    project.write("p/b", "x = 1")
    result = invoke("sweep", *arguments.split())
    assert result.exit_code == 2 and message in result.output
    assert not project.build.exists()


def test_a_run_has_one_value_for_each_parameter(project, invoke):
    project.write("p/a", "x = 1", parameters=PARAMETERS)
    result = invoke("run", "p/a", "-p", "seed", "1", "-p", "seed", "2")
    assert result.exit_code == 2 and "invariance sweep ... -p seed 1,2" in result.output
    assert not project.build.exists()


def test_a_dry_run_gives_reasons_and_starts_nothing(project, swept, invoke):
    project.write("p/a", MEASURE, parameters=PARAMETERS)
    line = ["sweep", "p/a", "-p", "seed", "1..3", "--dry-run"]
    result = invoke(*line)
    assert result.exit_code == 0 and result.output.count("it has not run yet") == 3
    assert not project.build.exists()
    swept(("seed", "1..2"))
    result = invoke(*line)
    states = [row.split()[:2] for row in result.output.splitlines()]
    assert states[:3] == [["keep", "p/a/seed=1"], ["keep", "p/a/seed=2"], ["run", "p/a/seed=3"]]
    assert "1 of 3 combinations would run" in result.output
    project.write("p/a", "x = 3", parameters=PARAMETERS)
    assert invoke(*line).output.count("text has changed") == 2


def test_a_sweep_that_writes_the_same_table_is_refused(project, swept):
    other = Sweep.read(project, "p/a", "quick", [("seed", "1..3")])
    with runner_folder(project) as folder:
        take_outputs(folder, {str(other.table): dict(other.axes)})
        with pytest.raises(NotebookError, match=r"sweep.csv is under way, with other values"):
            swept(("seed", "1..2"))
        assert set(swept(("seed", "1..3"))[1].values()) == {"ok"}
        assert set(swept(("noise", "0"))[1].values()) == {"ok"}


@pytest.mark.notebooks
def test_table_and_plot_hold_parameters_numbers_status_and_seconds(project, invoke):
    project.write("p/a", MEASURE, parameters=PARAMETERS)
    line = ["sweep", "p/a", "-p", "seed", "1..2", "-p", "noise", "0.25,1,0.5", "--jobs", "2"]
    result = invoke(*line)
    assert result.exit_code == 1 and "4 of 6 combinations succeeded" in result.output
    failed = "p/a/seed=1,noise=1.0, p/a/seed=2,noise=1.0: ValueError: too much noise"
    assert result.output.count("too much noise") == 2 and failed in result.output
    folder = project.sweep("p/a", "quick", ["seed", "noise"])
    table = pd.read_csv(folder / "sweep.csv")
    assert table.columns[:2].tolist() == ["seed", "noise"]
    assert table.columns[-3:].tolist() == ["status", "seconds", "failure"]
    good = table[table.noise < 1]
    assert good.accuracy.round(6).tolist() == [0.76, 0.51, 0.77, 0.52]
    assert good["errors.a.error"].tolist() == [0.25, 0.5, 0.25, 0.5]
    assert set(good["counts.folds"]) == {5} and set(good["counts.draws"]) == {7}
    assert set(good["errors.b.error"]) == {0.5} and "errors.a.name" not in table
    assert good["demo/number.value"].tolist() == [99.25, 99.5, 99.25, 99.5]
    assert set(good["timings.fit"]) == {0.5} and set(good.status) == {"ok"}
    assert (table.seconds > 0).all() and good.failure.isna().all()
    bad = table[table.noise == 1]
    assert set(bad.status) == {"failed"} and bad.accuracy.isna().all()
    assert bad.failure.str.contains("too much noise").all()
    assert (folder / "sweep.png").read_bytes().startswith(b"\x89PNG")
    # Finished combinations do not run again, and a column can be chosen.
    result = invoke(*line, "--plot", "accuracy")
    assert result.output.count("kept") == 4 and "sweep.png" in result.output
    (folder / "sweep.png").unlink()
    result = invoke(*line, "--plot", "acuracy", "--plot", "accuracy")
    assert result.exit_code == 1 and "Did you mean 'accuracy'" in result.output
    assert (folder / "sweep.png").exists(), "the column that exists is drawn"


def said(*numbers: dict) -> list[dict]:
    """Return sentences of a notebook with these numbers."""
    return [{"text": "", "said": str(entry), "numbers": entry} for entry in numbers]


@pytest.fixture
def collected(project):
    """A function that sweeps a notebook with given sentences and tables, and returns its table."""

    def collect(sentences=(), requested=(("seed", "1,2"),), parameters=PARAMETERS, **tables):
        project.write("p/a", "x = 1", parameters=parameters)

        def write(folder, description):
            write_truth(project, folder, description)
            path = folder / "results.json"
            results = json.loads(path.read_text("utf-8"))
            results["says"] = said(*sentences)
            results["tables"] = []
            for name, text in tables.items():
                results["tables"].append({"name": name, "file": f"{name}.csv", "caption": ""})
                (folder / f"{name}.csv").write_text(text, "utf-8")
            path.write_text(json.dumps(results), "utf-8")

        sweep = Sweep.read(project, "p/a", "quick", requested)
        assert sweep.run(place=Writer(write)).exit_code == 0
        return write_table(sweep)

    return collect


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("method,error\na,1\nb,2\n", {"t.a.error": 1, "t.b.error": 2}),
        ("n,error\n10,0.5\n20,1\n", {"t.10.error": 0.5, "t.20.error": 1}),
        ("method,n,error\na,5,1\na,6,2\n", {"t.a.5.error": 1, "t.a.6.error": 2}),
        ("method,error\na,1\na,2\n", {"t.0.error": 1, "t.1.error": 2}),
        ("method,error,time\na,0.5,3\na,0.25,3\n",
         {"t.0.error": 0.5, "t.0.time": 3, "t.1.error": 0.25, "t.1.time": 3}),
    ],
)  # fmt: skip
def test_every_row_of_a_table_is_collected_under_its_labels(collected, text, columns):
    table = collected(t=text)
    assert [name for name in table.columns if name.startswith("t.")] == list(columns)
    assert table.iloc[0][list(columns)].to_dict() == columns


def test_numbers_of_the_same_name_have_columns_of_their_own(collected):
    table = collected([{"best": 1, "seconds": 7}, {"best": 2, "seed": 9}])
    first = table.iloc[0]
    assert first[["best", "best_2", "said.seconds", "said.seed"]].tolist() == [1, 2, 7, 9]
    assert table.seed.tolist() == [1, 2] and (table.seconds < 7).all()


def test_a_parameter_with_the_name_of_a_last_column_keeps_its_values(collected):
    parameters = PARAMETERS + "seconds: int = 0\n"
    table = collected(requested=[("seconds", "5,6")], parameters=parameters)
    assert table.seconds.tolist() == [5, 6]
    assert table.columns[-3:].tolist() == ["status", "run.seconds", "failure"]


def test_an_unknown_column_ends_with_status_2_after_the_others_are_drawn(project, swept, invoke):
    swept(("seed", "1..3"))
    line = ["sweep", "p/a", "-p", "seed", "1..3"]
    result = invoke(*line, "--plot", "demo/same.count", "--plot", "demo/same.cont")
    assert result.exit_code == 2 and "sweep.png" in result.output
    assert "--plot demo/same.cont: Did you mean 'demo/same.count'" in result.output
    result = invoke(*line, "--plot", "zzz")
    assert result.exit_code == 2 and "The columns are:" in result.output
    assert "Plot:" not in result.output


def test_a_part_of_a_sweep_leaves_the_other_rows_in_the_table(project, swept):
    sweep, _ = swept(("seed", "10,9"))
    assert write_table(sweep).seed.tolist() == [9, 10]
    failing = Writer(partial(write_truth, project), failing=("p/a",))
    swept(("seed", "8"), place=failing)
    part, _ = swept(("seed", "11"))
    table = write_table(part)
    assert table.seed.tolist() == [8, 9, 10, 11]
    assert table.status.tolist() == ["failed", "ok", "ok", "ok"]
    assert write_plot(part, table.assign(score=table.seed)) is not None
    sweep, _ = swept(("group", "turns,mirror images"))
    part, _ = swept(("group", "cyclic shifts"))
    assert write_table(part).group.tolist() == ["cyclic shifts", "mirror images", "turns"]


def test_results_of_an_earlier_text_are_not_in_the_table(project, swept, invoke):
    swept(("seed", "1..3"))
    project.write("p/a", "x = 2", parameters=PARAMETERS)
    swept(("seed", "4"))
    result = invoke("sweep", "p/a", "-p", "seed", "4")
    assert "3 other combinations in this folder are out of date" in result.output
    assert pd.read_csv(project.sweep("p/a", "quick", ["seed"]) / "sweep.csv").seed.tolist() == [4]


@pytest.mark.notebooks
def test_interpreter_and_library_are_started_once(project):
    cell = "import os, pathlib\nrun.say('{parent}', parent=os.getppid())"
    cell += "\nrun.say('{server}', server=psutil.Process().parents()[1].pid)"
    project.write("p/a", "import psutil", cell, parameters=PARAMETERS)
    sweep = Sweep.read(project, "p/a", "quick", [("seed", "1..4")])
    assert sweep.run(place=Here(2)).exit_code == 0
    table = write_table(sweep)
    assert table.parent.nunique() == 4 and table.server.nunique() == 1


@pytest.mark.parametrize(
    ("requested", "is_drawn"),
    [
        ([("seed", "1..3")], True),
        ([("group", "turns,cyclic shifts")], True),
        ([("noise", "0,0.5"), ("group", "turns,cyclic shifts")], True),
        ([("seed", "1..3"), ("noise", "0,0.5"), ("group", "turns,cyclic shifts")], False),
        ([("seed", "1"), ("noise", "0.5")], False),
    ],
)
def test_a_plot_needs_one_or_two_varying_parameters(project, swept, requested, is_drawn):
    sweep, _ = swept(*requested)
    table = write_table(sweep)
    table.insert(0, "score", range(len(table)))
    assert (write_plot(sweep, table) is not None) == is_drawn
    assert sweep.plot.exists() == is_drawn


@pytest.mark.parametrize(
    ("parameter", "values", "in_file", "on_axis"),
    [
        ("depth: int | None = None", "None,1,2", ["1", "2", ""], ["1", "2", "None"]),
        ("depth: list[int] = []", "[],[1],[1, 2]", ["[]", "[1]", "[1, 2]"],
         ["[]", "[1]", "[1, 2]"]),
    ],
)  # fmt: skip
def test_none_and_lists_are_values_like_others(project, swept, parameter, values, in_file, on_axis):
    project.write("p/a", "x = 1", parameters=f"{PARAMETERS}{parameter}\n")
    sweep, _ = swept(("depth", values), ("seed", "1,2"))
    table = write_table(sweep)
    texts = pd.read_csv(sweep.table, dtype=str, keep_default_na=False)
    assert texts[texts.seed == "1"].depth.tolist() == in_file
    table.insert(0, "score", [float(i**2) for i in range(6)])
    (axes,) = plot_of(sweep, table, ["score"]).axes
    line = axes.containers[0].lines[0]
    assert list(line.get_xdata(orig=True)) == on_axis
    assert line.get_ydata().tolist() == [(i**2 + (i + 3) ** 2) / 2 for i in range(3)]
