"""A notebook runs after those whose results it reads, and alone if its header requests it."""

import os
import re
import signal
import time
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner

from invariance.companion.cli import main
from invariance.companion.errors import NotebookError
from invariance.companion.files import write_json
from invariance.companion.ledger import consistency
from invariance.companion.paths import Paths
from invariance.companion.runner.batch import run_notebooks
from invariance.companion.source import reads

from .light import Writer, statuses

REAL = Paths(Path(__file__).parents[3])


DRAWS = count()


def results(description, **volatile):
    return {"schema": 1, "notebook": description["notebook"], "volatile": volatile,
            "profile": description["parameters"]["profile"],
            "parameters": description["parameters"]}  # fmt: skip


def script(slots: int, failing: tuple[str, ...] = (), kind: type[Writer] = Writer) -> Writer:
    """A place in which a notebook takes some glances, and every run draws other numbers."""

    def write_draw(folder, description) -> None:
        write_json(folder / "executed.ipynb", {"nbformat": 4, "nbformat_minor": 5, "cells": []})
        write_json(folder / "results.json", results(description, draw=next(DRAWS)))

    return kind(write_draw, slots, failing, glances=5)


def write(project, notebook: str, header: str = "", cell: str = "x = 1") -> str:
    path = project.source(project.write(notebook, cell))
    path.write_text(
        path.read_text("utf-8").replace("# jupyter:\n", f"# jupyter:\n{header}", 1), "utf-8"
    )
    return notebook


def publish(project, notebook: str, **volatile) -> None:
    """Results at full scale of an earlier run that took so long and so much."""
    path = project.published(notebook) / "results.json"
    path.parent.mkdir(parents=True)
    write_json(path, results({"notebook": notebook, "parameters": {"profile": "full"}}, **volatile))


def run(project, place, *names: str, **options) -> dict[str, str]:
    """Run these notebooks (default: all); return how each ends."""
    names = names or tuple(project.all_notebooks())
    return statuses(run_notebooks(project, names, place=place, **options))


def header(*names: str) -> str:
    return f"#   invariance:\n#     reads: [{', '.join(names)}]\n"


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_a_reader_waits_for_those_it_reads_and_for_no_other(project, slots):
    write(project, "p/a_last", header("p/b_middle"))
    write(project, "p/b_middle", header("p/c_fails", "p/d_first"))
    write(project, "p/c_fails")
    write(project, "p/d_first")
    write(project, "p/e_other")
    place = script(slots, failing=("p/c_fails",))
    ended = run(project, place)
    assert ended.pop("p/c_fails") == "failed" and [*ended.values()] == ["ok"] * 4
    order = {event: number for number, event in enumerate(place.events)}
    assert order["end", "p/c_fails"] < order["start", "p/b_middle"]
    assert order["end", "p/d_first"] < order["start", "p/b_middle"]
    assert order["end", "p/b_middle"] < order["start", "p/a_last"]
    if slots > 2:  # as soon as there is room
        assert order["start", "p/e_other"] < order["end", "p/c_fails"]


def test_the_longest_goes_first_with_what_earlier_runs_had_computed(project):
    records = {
        "p/a_short": (9, 0),
        "p/b_long": (100, 0),
        "p/c_mostly_kept": (1, 200),
        "p/d_new": (),
        "p/e_waited_for_others": (900, 0, 12.5),
    }
    for name, seconds in records.items():
        write(project, name)
        if seconds:
            spent = dict(zip(("wall_s", "cached_s", "cpu_s"), seconds, strict=False))
            publish(project, name, **spent)
    place = script(1)
    run(project, place, profile="full")
    assert place.started == [
        "p/d_new", "p/c_mostly_kept", "p/b_long", "p/e_waited_for_others", "p/a_short",
    ]  # fmt: skip


def test_an_interrupted_attempt_takes_nothing_from_the_success_before_it(project):
    name = write(project, "p/a")
    text = project.source(name).read_text("utf-8")
    run(project, script(1))

    class Stopped(Writer):
        """Control-C arrives as soon as something runs."""

        def start(self, description, environment):
            process = super().start(description, environment)
            signal.raise_signal(signal.SIGINT)
            return process

    project.source(name).write_text(text + "# changed", "utf-8")
    assert run(project, script(1, kind=Stopped)) == {name: "interrupted"}
    assert run(project, script(1), resume=True) == {name: "ok"}
    project.source(name).write_text(text, "utf-8")
    run(project, script(1))
    run(project, script(1, kind=Stopped))
    assert project.status(name)["status"] == "interrupted"
    assert run(project, script(1), resume=True) == {name: "kept"}


ALONE = "#   invariance:\n#     alone: true\n"


@pytest.mark.parametrize("slots", [1, 3])
def test_what_is_alone_runs_beside_nothing_and_last_but_for_its_readers(project, slots):
    for name in ("p/a_timed", "p/b_timed"):
        write(project, name, ALONE)
    write(project, "p/c_reader", header("p/a_timed"))
    ordinary = [write(project, name) for name in ("p/d", "p/e", "p/f", "p/g")]
    place = script(slots)
    assert {*run(project, place, profile="full").values()} == {"ok"}
    for timed in ("p/a_timed", "p/b_timed"):
        start = place.events.index(("start", timed))
        assert place.events[start + 1] == ("end", timed)
    assert sorted(place.started[:4]) == ordinary
    assert place.started.index("p/a_timed") < place.started.index("p/c_reader")


def test_a_quick_run_leaves_no_core_idle_for_the_sake_of_a_clock(project):
    names = [write(project, name, ALONE) for name in ("p/a_timed", "p/b_timed")]
    place = script(2)
    run(project, place)
    assert {*place.events[:2]} == {("start", name) for name in names}


def test_notebooks_together_take_no_more_memory_than_there_is(project):
    needs = {"p/a": 2500, "p/b": 2000, "p/c": 900, "p/d": 400, "p/e_huge": 9000}
    for seconds, (name, memory) in enumerate(needs.items()):
        write(project, name)
        publish(project, name, wall_s=100 - seconds, peak_memory_mb=memory)
    place = script(3)
    place.memory_mb = 3000
    assert {*run(project, place, profile="full").values()} == {"ok"}
    running: list[str] = []
    most_running = 0
    for what, name in place.events:
        running.append(name) if what == "start" else running.remove(name)
        taken = sum(needs[other] for other in running)
        assert taken <= place.memory_mb or len(running) == 1, running
        most_running = max(most_running, len(running))
    # the longest first, and beside it what there is room for
    assert place.started[:3] == ["p/a", "p/d", "p/b"] and most_running == 2


def test_what_is_killed_beside_others_is_tried_once_more_alone(project, capfd):
    """The system kills a notebook if two together need more memory than there is."""
    for name in ("p/a_scarce", "p/b_beside", "p/c_third"):
        write(project, name)

    class Scarce(Writer):
        """The first attempt at p/a_scarce is killed."""

        def start(self, description, environment):
            process = super().start(description, environment)
            if description["notebook"] == "p/a_scarce" and self.started.count("p/a_scarce") == 1:
                (Path(description["folder"]) / ".work/outcome.json").unlink()
                process.code, process.glances = -signal.SIGKILL, 2
            return process

    place = script(2, kind=Scarce)
    assert {*run(project, place).values()} == {"ok"}
    assert place.started == ["p/a_scarce", "p/b_beside", "p/c_third", "p/a_scarce"]
    assert place.events[-3:] == [
        ("end", "p/c_third"),
        ("start", "p/a_scarce"),
        ("end", "p/a_scarce"),
    ]
    assert "p/a_scarce was killed beside p/b_beside: once more, alone" in capfd.readouterr().out


def test_what_is_not_run_is_not_waited_for(project):
    write(project, "p/a")
    write(project, "p/broken", header("p/nothing"))
    write(project, "p/reader", header("p/a", "p/broken"))
    assert run(project, script(1), "p/reader") == {"p/reader": "ok"}
    # nor is what cannot run
    ended = run(project, script(1), "p/reader", "p/broken")
    assert ended == {"p/reader": "ok", "p/broken": "failed"}


def test_resume_runs_a_reader_again_when_there_is_something_new_to_read(project):
    names = [write(project, "p/a"), write(project, "p/b")]
    names.append(write(project, "p/reader", header("p/a")))

    def resumed() -> list[str]:
        place = script(2)
        run(project, place, resume=True)
        return place.started

    assert sorted(resumed()) == names
    assert resumed() == []
    # run again by itself: there may be other numbers in it
    run(project, script(1), "p/a")
    assert resumed() == ["p/reader"]
    assert resumed() == []
    # changed, hence run again, and the reader after it
    write(project, "p/a", cell="x = 2")
    assert resumed() == ["p/a", "p/reader"]
    # results at full scale, which a reader prefers, have come from elsewhere
    assert resumed() == []
    published = project.published("p/a") / "results.json"
    write_json(published, {"claims": {}})
    os.utime(published, (0, 0))  # time stamps do not count
    assert resumed() == ["p/reader"]
    # the same again, written later
    write_json(published, {"claims": {}})
    assert resumed() == []
    # one that failed is tried again
    run(project, script(1, failing=("p/a",)), "p/a")
    assert resumed() == ["p/a", "p/reader"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (header("p/god"), "p/wrong reads 'p/god', which is no notebook. Did you mean 'p/good'"),
        (header("p/wrong"), "in a circle: p/wrong reads p/wrong"),
        (header("p/good", "p/there"), "in a circle: p/wrong reads p/there reads p/wrong"),
        ("#   invariance:\n#     reads: p/good\n", r"expected 'reads: \[<paper>/<name>"),
        ("#   invariance: p/good\n", r"has invariance: 'p/good'; expected 'reads"),
        ("#   invariance:\n#     alone: often\n", r"'alone': 'often'\}; expected .*'alone: true'"),
        ("#   invariance:\n#     red: [p/good]\n", r"'red': \['p/good'\]\}; expected 'reads"),
    ],
)
def test_what_cannot_be_read_is_named_and_stops_nothing_else(project, wrong, message):
    write(project, "p/good")
    write(project, "p/wrong", wrong)
    write(project, "p/there", header("p/wrong"))
    with pytest.raises(NotebookError, match=message):
        reads(project, "p/wrong")
    assert any("p/wrong: " in problem for problem in consistency.problems(project))
    ended = run(project, script(1), "p/wrong", "p/good")
    assert ended == {"p/wrong": "failed", "p/good": "ok"}
    assert re.search(message, project.status("p/wrong")["failure"]["message"])
    assert "p/wrong" in CliRunner().invoke(main, ["check"]).output


def test_the_comparison_reads_what_it_compares():
    tasks = reads(REAL, "compare/which_one_when")
    source = REAL.source("compare/which_one_when").read_text("utf-8")
    table = source.partition("TASKS = {")[2].partition("\n}")[0]
    assert tasks == [f"compare/{line.split(chr(34))[1]}" for line in table.strip().splitlines()]


# -- delays and conflicts -----------------------------------------------------------------------


class Slow(Writer):
    """A place that takes a while to start a notebook."""

    def start(self, description, environment):
        time.sleep(1.2)
        return super().start(description, environment)


def test_a_deadline_does_not_count_what_the_place_takes_to_start_a_notebook(project):
    write(project, "p/a")
    summary = run_notebooks(project, ["p/a"], place=script(1, kind=Slow), deadline=1)
    assert statuses(summary) == {"p/a": "ok"} and summary.outcomes[0].duration_s < 1


def test_two_runs_at_once_do_not_overwrite_each_other(project):
    """The second begins while the first notebook of the first is running."""
    for name in ("p/a", "p/b"):
        write(project, name)
    inner, place = {}, script(1)
    begin = place.start

    def start(description, environment):
        if not inner:
            inner.update(dict.fromkeys(("other", "same", "choosing")))
            for kind, width in (("other", 2.0), ("same", 1.5)):
                options_of_inner = {"parameters": {"width": width}, "place": script(1)}
                inner[kind] = run_notebooks(project, ["p/a", "p/b"], **options_of_inner)
        return begin(description, environment)

    place.start = start
    outer = run_notebooks(project, ["p/a", "p/b"], place=place)
    assert statuses(outer) == statuses(inner["same"]) == dict.fromkeys(("p/a", "p/b"), "ok")
    assert statuses(inner["other"]) == dict.fromkeys(("p/a", "p/b"), "failed")
    message = inner["other"].outcomes[0].failure["message"]
    assert "another run of p/a is under way, with width=1.5" in message
    assert project.status("p/a")["parameters"]["width"] == 1.5
    assert project.status("p/a")["status"] == "ok" and project.hidden() == []
    # nobody else runs any more
    options = {"parameters": {"width": 2.0}, "place": script(1)}
    assert statuses(run_notebooks(project, ["p/a"], **options)) == {"p/a": "ok"}
    assert project.status("p/a")["parameters"]["width"] == 2.0
