"""``invariance new`` starts an independent companion to a paper, from text to site."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from invariance.companion import Run, fit_rate
from invariance.companion.cli import main
from invariance.companion.ledger.claims import KINDS
from invariance.companion.new import start_companion
from invariance.companion.paths import Paths

CLAIMS = """\
  - {id: doe2031/figure1, kind: order, source: figure 1, says: "more coins err less",
     data: full, limits: "coins of one sort", protocol: "100 and 10,000 coins, 20 draws, seed 1"}
  - {id: doe2031/lemma1, kind: identity, source: lemma 1, says: "heads and tails are all coins",
     data: generated, protocol: "10,000 coins, seed 1"}
"""
PAPERS = """\
  coin: ["#767676", "o"]
findings:
- {title: Evenly, notebook: doe2031/first, figure: terms,
   says: "At most {{ recorded('doe2031/first').tolerance }}."}
"""
CELLS = """
# %%
from invariance.companion import look

heads = np.random.default_rng(1).integers(0, 2, (20, 10_000)).mean(axis=1)
figure, axes = plt.subplots()
axes.plot(heads, **look("coin")._asdict())
run.figure(figure, "heads", alt="Shares of heads in twenty draws")

# %%
run.claim("doe2031/figure1", order="many > few", scores={"few": heads + 1, "many": heads},
          note="the order is turned round on purpose")

# %%
run.claim("doe2031/lemma1", difference=1e-5, tolerance=1e-3, note="more than rounding")

# %%
run.say("Heads are {share:.1%} of all coins.", share=heads.mean())
"""


@pytest.mark.notebooks
def test_a_new_companion_from_text_to_site(tmp_path, monkeypatch):
    """Run the new companion as it is, and with claims matched, violated and inconclusive."""
    monkeypatch.delenv("INVARIANCE_ROOT", raising=False)
    monkeypatch.delenv("INVARIANCE_RUN_DIR", raising=False)
    monkeypatch.chdir(tmp_path)

    def invoke(*command: str) -> str:
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, (command, done.output, done.exception)
        return done.output

    invoke("new", "doe2031")
    monkeypatch.chdir(tmp_path / "doe2031")
    assert "agree" in invoke("check")
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]  # A check and a run.
    assert subprocess.run(tests).returncode == 0
    added = {"claims.yml": CLAIMS, "papers.yml": PAPERS, "doe2031/first.py": CELLS}
    for name, text in added.items():
        with open(tmp_path / "doe2031/notebooks" / name, "a", encoding="utf-8") as file:
            file.write(text)
    assert "1 of 1 notebooks succeeded" in invoke("run", "--profile", "full")
    board = invoke("scoreboard")
    assert "own scale: 1 of 2 theorems and 0 of 1 finding**" in board
    assert "agree" in invoke("check")
    invoke("report", "--profile", "quick", "--out", str(tmp_path / "site"))
    site = tmp_path / "site"
    pages = {
        path.relative_to(site).as_posix(): path.read_text("utf-8") for path in site.rglob("*.html")
    }
    check_pages(pages)


def check_pages(pages: dict[str, str]) -> None:
    """Check that the site shows the new companion, and nothing of this project."""
    index = pages["index.html"]
    paper = pages["papers/doe2031.html"]
    assert "A companion to doe2031" in index and "At most 1e-12." in index
    assert all(word in paper for word in ("The paper", "matched", "violated", "inconclusive"))
    notebook = pages["doe2031/first.html"]
    assert "roots of unity" in notebook and "of all coins" in notebook
    assert "doe2031/lemma1" in pages["claims/index.html"]
    everything = "".join(pages.values())
    assert not [word for word in ("mroueh", "Orbit", "invariant") if word in everything]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["Miller 1999"], "cannot be a paper's key"), (["miller1999", "--out", "."], "is not empty")],
)
def test_invalid_names_and_folders_are_refused(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").touch()
    result = CliRunner().invoke(main, ["new", *arguments])
    assert result.exit_code in (1, 2) and message in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_next_command_can_be_copied(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = CliRunner().invoke(main, ["new", "miller1999", "--out", "my folder"]).output
    assert "Next: cd 'my folder' && make report" in output


@pytest.fixture
def companion(tmp_path, monkeypatch):
    """Return the paths of a new companion, with the working directory in it."""
    monkeypatch.delenv("INVARIANCE_ROOT", raising=False)
    start_companion("doe2031", tmp_path / "doe2031")
    monkeypatch.chdir(tmp_path / "doe2031")
    return Paths(tmp_path / "doe2031")


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), "utf-8")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("notebook: doe2031/first", "notebook: doe2031/frist", "notebook: 'doe2031/frist' is no"),
        ("first: [first]", "first: [frist]", "first: 'doe2031/frist' is no notebook"),
        ('bound: ["#000000", ""]', "bound: black", "expected [colour, marker]"),
    ],
)
def test_check_names_what_papers_yml_misspells(companion, before, after, message):
    edit(companion.papers, before, after)
    output = CliRunner().invoke(main, ["check"]).output
    assert message in output and "notebooks/papers.yml" in output


def test_the_page_about_protocols_names_the_file_that_holds_earlier_results(companion):
    page = companion.figures / "PROTOCOLS.md"
    assert "(../notebooks/claims.yml)" in page.read_text("utf-8")
    assert "0 times the other way." in page.read_text("utf-8")
    (companion.notebooks / "history.yml").write_text("doe2031/first: {}\n", "utf-8")
    CliRunner().invoke(main, ["scoreboard"])
    assert "(../notebooks/history.yml)" in page.read_text("utf-8")


def test_an_edited_claim_is_named_with_the_command_that_records_it(companion):
    edit(companion.ledger, "sum to zero", "have the sum zero")
    output = CliRunner().invoke(main, ["check"]).output
    assert "claims.yml: is not what was recorded. If you have edited it" in output
    assert CliRunner().invoke(main, ["scoreboard"]).exit_code == 0
    assert "agree" in CliRunner().invoke(main, ["check"]).output


def test_the_exported_file_names_stand_in_data(companion):
    edit(companion.ledger, "data: generated", "data: stand-in")
    exported = json.loads(CliRunner().invoke(main, ["export", "paper-json"]).output)
    assert any("not on the paper's data" in limit for limit in exported["does_not_claim"])


def test_help_without_a_topic_lists_the_commands():
    assert "scoreboard" in CliRunner().invoke(main, ["help"]).output


def test_a_colon_without_quotation_marks_is_explained(companion):
    edit(companion.ledger, "says: the n-th", "says: roots: the n-th")
    output = CliRunner().invoke(main, ["check"]).output
    assert "line 8" in output and "a colon needs quotation marks" in output


def test_the_calls_in_the_help_about_the_ledger_are_accepted(tmp_path, monkeypatch):
    """Write the claims and record the numbers of all kinds as ``invariance help ledger`` shows."""
    monkeypatch.delenv("INVARIANCE_ROOT", raising=False)
    start_companion("miller1999", tmp_path / "miller")
    monkeypatch.chdir(tmp_path / "miller")
    text = CliRunner().invoke(main, ["help", "ledger"]).output
    calls = re.findall(r"(?m)^    (run\.\w+\(.*)$", text)
    kinds = re.findall(r"(?m)^\*\*(\w+)\*\*: ", text)
    assert sorted(kinds) == sorted(KINDS) and len(calls) == len(kinds) + 1
    history = re.search(r"(?m)^    history:\n      (- .*)$", text)
    claims = [
        {"id": call.split('"')[1], "kind": kind, "source": "p. 1", "data": "generated",
         "margin": 1.0, "protocol": "none"}
        for kind, call in zip(kinds, calls[:-1], strict=True)
    ]  # fmt: skip
    claims[0] |= {"paper": 98.1, "better": "higher", "history": yaml.safe_load(history[1])}
    for claim in claims[1:-1]:
        del claim["margin"]
    Paths(tmp_path / "miller").ledger.write_text(yaml.safe_dump({"claims": claims}), "utf-8")
    ones = np.ones(5)
    points = np.array([1.0, 10.0, 100.0])
    names = {
        "run": Run("miller1999/first"), "fit_rate": fit_rate, "accuracies": 98 + ones / 10,
        "a": 2 * ones, "b": ones, "observed": ones, "bounds": 2 * ones, "largest_possible": 3,
        "n": points, "errors": points**-0.5, "largest_difference": 0.0, "differences": 0 * ones,
    }  # fmt: skip
    verdicts = [eval(call.partition("  #")[0], names) for call in calls]
    assert [verdict.verdict for verdict in verdicts[:-1]] == ["matched"] * len(kinds)
    assert verdicts[-1] == [True]


@pytest.mark.parametrize("name", ["claims.yml", "papers.yml"])
def test_a_key_that_stands_twice_is_refused(companion, name):
    path = companion.notebooks / name
    key = "kind: order" if name == "claims.yml" else "title: Again"
    line = f"\n    {key}" if name == "claims.yml" else f"\n{key}"
    path.write_text(path.read_text("utf-8").rstrip() + line + "\n", "utf-8")
    output = CliRunner().invoke(main, ["check"]).output
    assert f"{name} is not YAML: the key '{key.split(':')[0]}' stands twice" in output
