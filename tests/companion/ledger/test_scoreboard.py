"""README's scoreboard and its pages: their counts, and their agreement with the results."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from invariance.companion.cli import main
from invariance.companion.ledger import consistency
from invariance.companion.ledger.claims import Earlier, load_ledger
from invariance.companion.ledger.rows import Row
from invariance.companion.ledger.scoreboard import (
    BEGIN,
    END,
    ScoreboardError,
    clipped,
    with_scoreboard,
    write_scoreboard,
)
from invariance.companion.ledger.settings import Choice, registered, write_settings
from invariance.companion.ledger.tally import sentence
from invariance.companion.ledger.verdicts import judge
from invariance.companion.paths import Paths
from invariance.companion.run.recording import record

ROOT = Path(__file__).parents[3]
NUMBERS = {
    "number": {"value": 98.9, "se": 0.1},
    "pair": {"value": [10.0, 9.0], "se": 0.1},
    "near": {"value": 90.0, "se": 0.1},
    "order": {"order": "a > b", "scores": {"a": [1.0, 1.1], "b": [2.0, 2.1]}},
    "bound": {"lhs": [2.0], "rhs": [1.0], "ceiling": 3.0},
    "same": {"difference": 0.0, "tolerance": 1e-9},
}


def publish(project, notebook: str, *claims: str, profile="full", protocol="", **changed) -> Path:
    """Publish results: number and same matched, pair better, order and bound violated."""
    ledger = load_ledger(project.ledger)
    entries = {}
    for name in claims:
        claim = ledger[f"demo/{name}"]
        recorded = record(claim, NUMBERS[name] | changed.get(name, {}))
        digest = registered(claim, project, notebook) if protocol == "" else protocol
        entry = {"kind": claim.kind, "recorded": recorded, "note": "a < note", "protocol": digest}
        entries[claim.id] = entry | judge(claim, recorded)._asdict()
    path = project.published(notebook) / "results.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    results = {"schema": 1, "notebook": notebook, "profile": profile, "claims": entries}
    path.write_text(json.dumps(results), "utf-8")
    return path


def board(project) -> str:
    project.readme.write_text(f"{BEGIN}\n{END}\n", "utf-8")
    return write_scoreboard(project)


def test_the_files_show_what_ledger_and_results_give_and_count_every_claim_once():
    paths = Paths(ROOT)
    problems = consistency.problems(paths)
    assert [text for text in problems if "scoreboard" in text] == [], "run `invariance scoreboard`"
    readme = paths.readme.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    cells = [line.strip("| ").split(" | ")[1:] for line in readme.splitlines() if "| " in line[:2]]
    *papers, total = [[int(cell) for cell in row] for row in cells[1:]]
    assert all(row[0] == sum(row[1:]) for row in papers)
    assert [sum(column) for column in zip(*papers, strict=True)] == total
    assert total[0] == len(load_ledger(paths.ledger))


@pytest.mark.parametrize("page", ["README.md", "figures/README.md"])
def test_pages_of_a_forge_lead_somewhere_and_hold_no_markup_of_results(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https:|#)([^)\s]+)\)", text)
    assert len(links) > 8 and "<script" not in text
    assert page == "README.md" or text.count("![") > 100
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_counts_by_verdict_and_explains_what_fell_short(project):
    publish(project, "demo/a", "number", "pair", "order")
    publish(project, "demo/b", "bound")
    publish(project, "demo/c", "same", profile="quick")
    left = project.figures / "demo/.d.1/results.json"
    left.parent.mkdir()
    published = (project.figures / "demo/a/results.json").read_text("utf-8")
    left.write_text(published.replace("demo/pair", "demo/same"), "utf-8")
    text = board(project)
    lines = text.splitlines()
    assert lines[0].startswith("**2 of the 9 claims are reproduced**")
    assert "0 of 6 statements of theory, on generated data; 2 of 3 other printed" in lines[0]
    assert "Of the 2 reproduced, 0 are weakly tested and 0 rest on" in lines[0]
    assert "| [Demo](notebooks/demo) | 9 | 2 | 2 | 5 |" in lines
    assert "| all | 9 | 2 | 2 | 5 |" in lines
    assert (
        "2 claims are not reproduced (2 violated): [which ones, and why](figures/FAILURES.md)."
        in lines
    )
    assert "Registered before the run, statement and protocol: shown for 0 of 4 results." in text
    assert len(lines) < 15 and sum(line.endswith(".") for line in lines) == 4
    failures = (project.figures / "FAILURES.md").read_text("utf-8")
    assert "## Demo, f1: violated\n\n[`demo/order`](../notebooks/demo/a.py) (a beats b)" in failures
    assert "a &lt; note" in failures and "a &gt; b is reversed" in failures
    # The page shows the results of the earlier and of the registered protocol.
    changed = (project.figures / "PROTOCOLS.md").read_text("utf-8")
    assert "- before: 1 against 2 (violated), two draws\n- now: a: 1.050 ± 0.050; b: " in changed


def test_the_sentence_counts_claims_by_what_they_are(project):
    ledger = load_ledger(project.ledger)
    entries = {
        "number": {"program": "true"},
        "pair": {"limits": "one setting"},
        "order": {"data": "full", "history": (Earlier("two draws", "1", "violated"),)},
        "bound": {"history": (Earlier("ten draws", "1", "matched"),), "limits": "few"},
        "same": {},
    }
    for name, fields in entries.items():
        ledger[f"demo/{name}"] = replace(ledger[f"demo/{name}"], **fields)
    verdicts = {"number": "matched", "pair": "better", "order": "matched", "bound": "violated"}
    rows = [
        Row(ledger[f"demo/{name}"], {"verdict": verdict, "protocol": "x"}, "demo/a", "full", "x")
        for name, verdict in (verdicts | {"same": "open"}).items()
    ]
    text = sentence(rows)
    assert text.startswith("**3 of the 5 claims are reproduced**")
    assert "0 of 2 statements of theory, on generated data; 1 of 1 statement about real" in text
    assert "1 of 1 number that repeats the authors' own program; 1 of 1 other printed" in text
    assert "Of the 3 reproduced, 1 is weakly tested and 1 rests on a protocol" in text
    assert "beforehand" not in text


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ([], "The ledger holds no claims yet."),
        (
            ["open"],
            "**The one claim is not reproduced** (as printed or better) at full scale: 0 of",
        ),
        (["matched"], "**The one claim is reproduced** (as printed or better) at full scale: 1 of"),
        (["open", "open"], "**0 of the 2 claims are reproduced**"),
        (["matched", "open"], "**1 of the 2 claims is reproduced**"),
        (["matched", "matched"], "**2 of the 2 claims are reproduced**"),
    ],
)
def test_the_sentence_of_few_claims(project, verdicts, said):
    claim = load_ledger(project.ledger)["demo/number"]
    entries = [{"verdict": verdict, "protocol": "x"} for verdict in verdicts]
    rows = [Row(claim, entry, "demo/a", "full", "x") for entry in entries]
    text = sentence(rows)
    assert text.startswith(said)
    assert ("reproduced, 0 are weakly tested" in text) == ("matched" in verdicts)


def test_what_is_cut_keeps_its_beginning():
    long = "K_s - 1: " + "x" * 500
    assert clipped(long, 120) == "K_s - 1: ..." and clipped("y" * 200, 120).startswith("y" * 120)
    assert clipped("a: 1, b: 2, c: 3", 12) == "a: 1, b: 2, ..." and clipped("short", 12) == "short"


def test_what_no_protocol_announced_does_not_count(project):
    declared = '"two draws", gave: "1", verdict: short}]}'
    text = project.ledger.read_text("utf-8")
    pair = text.index("demo/pair")
    first, second = text[:pair], text[pair:]
    second = second.replace('"one draw"}', '"one draw", history: [{protocol: ' + declared, 1)
    project.ledger.write_text(first + second, "utf-8")
    publish(project, "demo/a", "number", "order", protocol=None)
    publish(project, "demo/b", "pair", protocol="0" * 16)
    publish(project, "demo/c", "near")  # The ledger has no protocol for it.
    page = board(project)
    assert page.startswith("**0 of the 9 claims are reproduced**")
    assert "4 claims were not measured by the registered protocol and do not count" in page
    assert "by the rules of their time, 3 were reproduced." in page
    assert "| all | 9 | 0 | 0 | 5 | 4 |" in page
    assert "violated" not in (project.figures / "FAILURES.md").read_text("utf-8")


def test_a_typed_verdict_changes_nothing(project):
    path = publish(project, "demo/a", "number", "order")
    before = board(project)
    path.write_text(path.read_text("utf-8").replace('"violated"', '"matched"'), "utf-8")
    assert board(project) == before and "1 violated" in before
    path.write_text(path.read_text("utf-8").replace('"gap"', '"gup"'), "utf-8")
    assert "violated" not in board(project)  # Invalid numbers have no verdict.


def test_a_claim_that_moved_leaves_its_old_result_behind(project):
    project.write("demo/a", 'run.claim("demo/number", value=98.9, se=0.1)')
    project.write("demo/z")
    publish(project, "demo/a", "number")
    publish(project, "demo/z", "number", protocol="0" * 16, number={"value": 90.0})
    assert board(project).startswith("**1 of the 9")
    assert not [text for text in consistency.problems(project) if "is recorded by" in text]


def test_settings_are_part_of_the_protocol(project):
    text = project.ledger.read_text("utf-8").replace(
        '"one draw"}', '"one draw", history: [{protocol: "p", gave: "1", verdict: short}]}', 1
    )
    project.ledger.write_text(text, "utf-8")

    def reproduced(**changed) -> bool:
        if changed:
            choice = replace(Choice(3.0, [1.0, 3.0], "loo", True, [0.5, 0.7], []), **changed)
            write_settings(project.settings("demo/a"), "demo/a", {"width": choice})
        return board(project).startswith("**1 of the 9")

    publish(project, "demo/a", "number")
    assert reproduced()
    assert not reproduced(by="leave-one-out")
    publish(project, "demo/a", "number")
    # The last digit of a score does not matter, but the grid does.
    assert reproduced(by="leave-one-out", scores=[0.5, 0.71])
    assert not reproduced(by="leave-one-out", grid=[2.0, 3.0])


def invoke(command: str):
    return CliRunner().invoke(main, [command])


def test_command_writes_it_and_check_misses_it(project):
    assert invoke("check").exit_code == 0, "a project without a README has no scoreboard"
    project.readme.write_text("# A project\n", "utf-8")
    assert BEGIN in invoke("scoreboard").output and invoke("scoreboard").exit_code == 2
    assert any(
        "no place for the scoreboard" in problem for problem in consistency.problems(project)
    )

    project.readme.write_text(f"# A project\n\n{BEGIN}\n{END}\n\nMore.\n", "utf-8")
    assert any("the scoreboard differs" in problem for problem in consistency.problems(project))
    assert invoke("scoreboard").exit_code == 0
    assert consistency.problems(project) == []
    written = project.readme.read_text("utf-8")
    assert written.startswith("# A project\n") and written.endswith(f"{END}\n\nMore.\n")
    invoke("scoreboard")
    assert project.readme.read_text("utf-8") == written

    project.write("demo/a")
    publish(project, "demo/a", "number")
    assert any("the scoreboard differs" in problem for problem in consistency.problems(project))


def test_a_readme_that_is_no_text_is_named(project):
    project.readme.write_bytes(f"caf\xa0\n{BEGIN}\n{END}\n".encode("latin-1"))
    for done in map(invoke, ("scoreboard", "check")):
        assert isinstance(done.exception, SystemExit)
        assert "README.md is not UTF-8 text (byte 3 is 0xa0)" in done.output


@pytest.mark.parametrize("text", ["", BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_markers_must_stand_once_and_in_order(text):
    with pytest.raises(ScoreboardError, match="once, at the place where it belongs"):
        with_scoreboard(text, "board")


ROUNDINGS = [(8.27e-15, 3.1e-16, 5e-15), (0.0, 2.2e-17, 4.4e-16), (9e-14, 0.0, 7.77e-14)]


def test_no_page_prints_digits_of_rounding(project):
    """A faithful rerun on another machine, with other rounding, gives the same pages."""
    pages = set()
    for largest, gap, error in ROUNDINGS:
        scores = {"a": [1.0 + gap, 1.1], "b": [2.0, 2.1]}
        path = publish(project, "demo/a", "same", "order", same={"difference": largest},
                       order={"scores": scores, "paired": True})  # fmt: skip
        results = json.loads(path.read_text("utf-8"))
        results["says"] = [{"text": "x", "said": f"They agree to {error:.1e} of theirs."}]
        drawn = {"name": "f", "caption": "", "files": ["f.png"]}
        results["figures"] = [drawn | {"alt": f"b from {error:.3g} to 0.5, or {gap + 1e-18:.0e}."}]
        path.write_text(json.dumps(results), "utf-8")
        (path.parent / "f.png").touch()
        board(project)
        written = [project.readme, *project.figures.glob("*.md")]
        pages.add("".join(page.read_text("utf-8") for page in sorted(written)))
    (text,) = pages
    assert "agree to &lt; 1e-12 of theirs" in text
    assert "b from &lt; 1e-12 to 0.5" in text


def test_the_pages_of_this_project_print_no_rounding():
    for name in ("README.md", "figures/README.md", "figures/FAILURES.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        measured = [line for line in text.splitlines() if "tolerance" not in line]
        assert re.findall(r"[\d.]+e-(?:1[3-9]|[2-9]\d)\b", "\n".join(measured)) == [], name
