"""Commands without a kernel, and the consistency check of ``invariance check``."""

import json
import shutil
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from invariance import datasets
from invariance.companion import Run, paths
from invariance.companion.cli import main
from invariance.companion.ledger import consistency
from invariance.companion.ledger.guard import record_digests
from invariance.companion.ledger.scoreboard import BEGIN, END, write_scoreboard
from invariance.companion.runner import batch

from .ledger.test_scoreboard import publish


@pytest.fixture
def invoke():
    def call(*arguments: str):
        result = CliRunner().invoke(main, arguments)
        # An intended error ends with an exit status; any other exception is a bug.
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        return result

    return call


def test_list_shows_parameters_and_the_last_status(project, invoke):
    project.write("p/a")
    project.write("p/b", parameters="")
    folder = project.output("p/a", "quick")
    folder.mkdir(parents=True)
    (folder / "status.json").write_text(json.dumps({"status": "ok", "duration_s": 75.0}), "utf-8")
    result = invoke("list")
    assert result.exit_code == 0
    for words in ("p/a  [quick: ok, 75.0 s]", "width: float = 1.5  # of the line",
                  "p/b  [never run]", "p/b has 0 parameters cells"):  # fmt: skip
        assert words in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "p/aa"], "unknown notebook or paper 'p/aa'"),
        (["run", "-p", "wdth", "3"], "Did you mean 'width'"),
        (["run", "-p", "seed", "0.5"], "seed: 0.5 is not of type int"),
        (["run", "--profile", "fast"], "'fast' is not one of"),
        (["run", "--jobs", "0"], "jobs=0"),
        (["run", "--threads", "0"], "threads=0"),
        (["list", "q"], "unknown notebook"),
        (["run", "-p", "profile", "full"], "pass --profile full"),
        (["run", "-p", "width", "1e400"], "parameter width: inf is not of type float and finite"),
        (["run", "--deadline", "nan"], "deadline=nan: at least 1"),
        (["run", "--deadline", "0"], "deadline=0.0: at least 1"),
        (["report", "--profile", "fast"], "'fast' is not one of"),
    ],
)
def test_what_does_not_exist_ends_with_status_2(project, invoke, arguments, message):
    project.write("p/a")
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert not project.build.exists()


def test_an_output_folder_that_cannot_be_written_ends_with_status_1(project, invoke):
    project.write("p/a")
    project.build.write_text("a file", "utf-8")
    result = invoke("run")
    assert result.exit_code == 1 and "cannot write" in result.output
    assert "make the folder writable" in result.output


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (["run"], "--resume goes on from here"),
        (["sweep", "p/a", "-p", "seed", "1,2"], "the same command goes on from here"),
        (["choose", "p/a"], "name the other notebooks to go on"),
    ],
)
def test_after_an_interruption_the_command_says_how_to_go_on(
    project, invoke, monkeypatch, arguments, remedy
):
    project.write("p/a")
    interrupted = batch.Summary([], interrupted=True)
    for name in ("run_notebooks", "run_tasks"):
        monkeypatch.setattr(batch, name, lambda *_, **__: interrupted)
    result = invoke(*arguments)
    assert result.exit_code == 130 and remedy in result.output
    assert "--resume" not in result.output or arguments[0] == "run"


def test_check_accepts_what_agrees_and_finds_claims_recorded_twice_or_unknown(project, invoke):
    project.write("p/a", 'run.claim("demo/same", difference=0.0)')
    project.write("p/c", 'for kind in ("pair",):\n    run.claim(f"demo/{kind}", value=[1, 2])')
    result = invoke("check")
    assert result.exit_code == 0, result.output
    project.write("p/b", 'run.claim("demo/same", difference=0.0)\nrun.claim("demo/ordr")')
    result = invoke("check")
    assert result.exit_code == 1
    assert "'demo/same' is recorded by p/a and by p/b" in result.output
    assert "p/b: claim 'demo/ordr' is not in the ledger. Did you mean 'demo/order'" in result.output


def test_results_of_a_removed_notebook_are_named_in_build_and_refused_in_figures(
    project, invoke, monkeypatch
):
    project.write("p/a", 'run.claim("demo/same", difference=0.0)')
    removed = project.write("p/removed")
    for folder in (project.output(removed, "quick"), project.published(removed)):
        monkeypatch.setenv("INVARIANCE_RUN_DIR", str(folder))
        run = Run(removed, profile="quick", width=1.5)
        run.claim("demo/same", difference=0.0, tolerance=1e-9)
    record_digests(project, project.figures)
    project.source(removed).unlink()
    result = invoke("check")
    assert result.exit_code == 1
    assert "figures/p/removed/results.json: there is no notebook p/removed" in result.output
    assert "build/quick/p/removed" not in result.output
    shutil.rmtree(project.published(removed))
    record_digests(project, project.figures)
    for arguments in (["check"], ["check", "--strict"]):
        result = invoke(*arguments)
        assert result.exit_code == 0, result.output
        assert "build/quick/p/removed is left of a notebook that is gone" in result.output


def test_check_finds_malformed_notebooks(project):
    text = project.source(project.write("p/other")).read_text("utf-8")
    project.source("p/misnamed").write_text(text.replace("kernelspec", "kernelspecs"), "utf-8")
    (project.notebooks / "p" / "kept.ipynb").write_text("{}", "utf-8")
    problems = "\n".join(consistency.problems(project))
    assert "p/misnamed: the header needs a kernelspec" in problems
    assert "p/misnamed: calls Run with ['p/other']; expected one Run('p/misnamed'" in problems
    assert "kept.ipynb: notebooks are kept as text" in problems


def test_check_names_missing_arguments_of_run(project):
    name = project.write("p/a")
    text = project.source(name).read_text("utf-8")
    assert consistency.problems(project) == []
    for argument in ("", ", width=2.0"):
        project.source(name).write_text(text.replace(", width=width", argument), "utf-8")
        (problems,) = consistency.problems(project)
        assert "p/a: Run is called without width" in problems
        assert 'run = Run("p/a", profile=profile, seed=seed, width=width)' in problems


def test_check_recomputes_stored_verdicts(project, monkeypatch):
    project.write("p/a")
    folder = project.published("p/a")
    monkeypatch.setenv("INVARIANCE_RUN_DIR", str(folder))
    run = Run("p/a", profile="full", width=1.5)
    run.claim("demo/number", value=98.0, exact="made up")
    run.table([{"x": 1}], "numbers")
    stored = folder / "results.json"
    problems = "\n".join(consistency.problems(project))
    assert "demo/number is short, and no note explains it" in problems
    content = json.loads(stored.read_text("utf-8"))
    content["claims"]["demo/number"]["note"] = "half as many samples"
    stored.write_text(json.dumps(content), "utf-8")
    record_digests(project, project.figures)
    assert consistency.problems(project) == []
    ledger = project.ledger.read_text("utf-8")
    project.ledger.write_text(
        ledger.replace("demo/number, kind: value", "demo/number, kind: order"), "utf-8"
    )
    assert any("demo/number: its statement" in text for text in consistency.problems(project))
    project.ledger.write_text(ledger, "utf-8")

    del content["claims"]["demo/number"]["recorded"]["se"]
    stored.write_text(json.dumps(content), "utf-8")
    (folder / "numbers.csv").unlink()
    problems = "\n".join(consistency.problems(project))
    assert "the numbers of demo/number do not suit its kind" in problems
    assert "names the file numbers.csv, which is missing" in problems

    stored.write_text("{", "utf-8")
    assert "not readable as results" in "\n".join(consistency.problems(project))
    project.source("p/a").unlink()
    stored.write_text(json.dumps(content), "utf-8")
    assert "there is no notebook p/a" in "\n".join(consistency.problems(project))


def test_data_lists_and_downloads(project, invoke, monkeypatch):
    sets = {
        name: SimpleNamespace(name=name, description="small", files=[f"{name}.gz"],
                              source="https://example.org", present=present, checksum_ok=present)
        for name, present in {"digits": True, "letters": None}.items()
    }  # fmt: skip
    monkeypatch.setattr(datasets, "available", lambda: list(sets.values()))
    monkeypatch.setattr(
        datasets, "download", lambda name: vars(sets[name]).update(present=True, checksum_ok=True)
    )

    result = invoke("data")
    assert result.exit_code == 0
    assert "digits: here, checksums hold" in result.output and "letters: absent" in result.output
    assert "letters: here" in invoke("data", "--download", "letters").output
    unknown = invoke("data", "--download", "numbers")
    assert unknown.exit_code == 2 and "digits, letters" in unknown.output
    sets["digits"].checksum_ok = False
    damaged = invoke("data")
    assert damaged.exit_code == 1 and "WRONG CHECKSUM" in damaged.output
    sets["digits"].present = False  # One file is damaged, another one missing.
    damaged = invoke("data")
    assert damaged.exit_code == 1 and "digits: damaged" in damaged.output


def test_outside_a_checkout_commands_say_where_notebooks_are(tmp_path, invoke, monkeypatch):
    monkeypatch.delenv("INVARIANCE_ROOT", raising=False)
    monkeypatch.chdir(tmp_path)
    # As after installation, without a project around the package.
    monkeypatch.setattr(paths, "__file__", str(tmp_path / "site/invariance/companion/paths.py"))
    for command in ("list", "check", "scoreboard", "run"):
        result = invoke(command)
        assert result.exit_code == 2
        assert "do not come with the installed package" in result.output
        assert "INVARIANCE_ROOT" in result.output
    # A notebook runs anywhere; its claims are judged if there is a ledger.
    run = Run("mine/first")
    assert run.folder == tmp_path / "build/interactive/quick/mine/first"
    assert run.claim("demo/number", value=1.0).verdict == "open"


@pytest.mark.notebooks
def test_a_claim_is_shown_with_all_files_of_the_ledger_and_its_counterfactual(project, invoke):
    project.write("demo/a", 'run.claim("demo/number", value=98.7, se=0.1)')
    text = project.ledger.read_text("utf-8").replace(
        ',\n     data: full, protocol: "one draw"}', ", data: rebuilt, scored: false}", 1
    )
    project.ledger.write_text(text, "utf-8")
    output = invoke("claim", "demo/number").output
    assert "none is registered yet" in output and "rebuilt from the same source" in output
    assert "not counted: no sentence of the paper states it" in output
    (project.notebooks / "protocols.yml").write_text("demo/number: nine draws\n", "utf-8")
    history = "earlier: [{protocol: two draws, gave: '98.1', verdict: short}], note: it is ours"
    (project.notebooks / "history.yml").write_text(f"demo/number: {{{history}}}\n", "utf-8")
    path = publish(project, "demo/a", "number")
    content = json.loads(path.read_text("utf-8"))
    recorded = {"value": [98.0], "se": [0.2]}
    entry = {"change": "mirrored", "recorded": recorded, "ours": "98.0", "reaches": [False]}
    content["counterfactuals"] = {"demo/number": [entry]}
    path.write_text(json.dumps(content), "utf-8")
    output = invoke("claim", "demo/number").output
    assert "nine draws" in output and "it is ours" in output
    assert "short: 98.1 (two draws)" in output
    assert "With a change: mirrored: 98.00 ± 0.20 does not reach 98.90." in output
    assert "matched" in output, "a counterfactual counts for nothing"


def test_check_names_what_waits_for_a_run_and_succeeds(project, invoke):
    publish(project, "demo/a", "number")
    project.write("demo/a")
    project.readme.write_text(f"{BEGIN}\n{END}\n", "utf-8")
    record_digests(project, project.figures)
    write_scoreboard(project)
    done = invoke("check")
    assert done.exit_code == 0, done.output
    waits = "waiting for a first full run: 8 (demo/pair, demo/near, demo/order, demo/bound"
    assert waits in done.output
    assert "no protocol yet: 5 (demo/near, demo/rate" in done.output
    assert invoke("check", "--strict").exit_code == 0, "no verdict is counted for them"


def test_the_end_of_an_id_is_enough_if_no_other_id_has_it(project, invoke):
    project.write("demo/a", 'run.claim("demo/number", value=98.7, se=0.1)')
    text = project.ledger.read_text("utf-8")
    text += "  - {id: other/rate, kind: rate, source: th2, data: generated}\n"
    text += "  - {id: other/growth-rate, kind: rate, source: th2, data: generated}\n"
    project.ledger.write_text(text, "utf-8")
    assert invoke("claim", "number").output == invoke("claim", "demo/number").output
    assert invoke("claim", "mber").output == invoke("claim", "demo/number").output
    assert "the claim other/growth-rate" in invoke("claim", "growth-rate").output
    several = invoke("claim", "rate")
    assert several.exit_code == 2
    assert "2 claims end with 'rate': demo/rate, other/rate" in several.output
    assert "The papers are demo" in invoke("claim", "").output


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("demo/numbr", "Did you mean 'demo/number'"),
        ("numbr", "Did you mean 'demo/number'?"),
        ("mo/o", "Ids with this text: demo/order"),
        ("demo/zzz", "The ids of demo: demo/number, demo/pair, demo/near"),
        ("zzz", "The papers are demo; 'invariance claim PAPER' lists ids"),
    ],
)
def test_similar_ids_are_named_for_an_unknown_claim(project, invoke, name, answer):
    done = invoke("claim", name)
    assert done.exit_code == 2 and answer in done.output


def test_the_key_of_a_paper_lists_the_ids_of_its_claims(project, invoke):
    done = invoke("claim", "demo")
    assert done.exit_code == 0 and "Error" not in done.output
    assert done.output.splitlines()[:2] == ["demo/number", "demo/pair"]
    assert invoke("claim", "demo", "--run").exit_code == 2


def test_a_claim_is_shown_with_what_it_rests_on_and_measured_again(project, invoke):
    project.write("demo/a", 'run.claim("demo/number", value=98.7, se=0.1)')
    output = invoke("claim", "demo/number").output
    assert (
        "demo/number, number, value, the paper's data" in output
        and "98.90, higher is better" in output
    )
    assert "open" in output and "demo/a" in output and "one draw" in output
    path = publish(project, "demo/a", "number")
    content = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(content | {"volatile": {"wall_s": 90, "cached_s": 60}}), "utf-8")
    output = invoke("claim", "demo/number").output
    assert "98.90 ± 0.10 against 98.90: [98.70, 99.10] within the margin of 0.5" in output
    assert "matched" in output and "2 min 30 s" in output
    assert "no notebook records" in invoke("claim", "demo/same").output
    result = invoke("claim", "demo/number", "--run", "--profile", "quick")
    assert result.exit_code == 0 and "98.70 ± 0.10 against 98.90" in result.output
    assert "no verdict" in result.output
