"""README's scoreboard and its pages: their counts, and their agreement with the results."""

import json
import random
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from invariance.companion.cli import main
from invariance.companion.ledger import consistency
from invariance.companion.ledger.claims import Earlier, load_ledger
from invariance.companion.ledger.guard import record_digests
from invariance.companion.ledger.rows import Row
from invariance.companion.ledger.scoreboard import (
    BEGIN,
    END,
    ScoreboardError,
    clipped,
    scoreboard,
    with_scoreboard,
    write_scoreboard,
)
from invariance.companion.ledger.settings import Choice, registered, write_settings
from invariance.companion.ledger.tally import sentence, turns
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


def table(text: str) -> dict[str, dict[str, int]]:
    """Return the counts of a scoreboard by the labels of its rows and columns."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    columns = [column.strip("| ") for column in lines[0]]
    rows = {}
    for label, *counts in lines[2:]:
        rows[label] = dict(zip(columns[-len(counts) :], map(int, counts), strict=True))
    return rows


def test_the_files_show_what_ledger_and_results_give_and_count_every_claim_once():
    paths = Paths(ROOT)
    problems = consistency.problems(paths)
    assert [text for text in problems if "scoreboard" in text] == [], "run `invariance scoreboard`"
    readme = paths.readme.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    counts = table(readme)
    assert list(counts) == ["theorems", "costs", "findings", "printed numbers"]
    for row in counts.values():
        assert row["tested"] == sum(row.values()) - row["tested"]
    scored = [claim for claim in load_ledger(paths.ledger).values() if claim.is_scored]
    for label, topic in {"theorems": "theorem", "costs": "cost", "findings": "finding"}.items():
        assert counts[label]["tested"] == sum(claim.topic == topic for claim in scored)
    n_numbers = sum(len(claim.paper) for claim in scored if claim.topic == "number")
    assert counts["printed numbers"]["tested"] == n_numbers


def test_the_pages_are_short():
    """A reader finishes them; the details stand in the ledger and on the page of each claim."""
    for name, most in {"FAILURES.md": 2500, "PROTOCOLS.md": 1000}.items():
        assert len((ROOT / "figures" / name).read_text("utf-8").split()) < most, name


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
    start = "**Reproduced at the papers' own scale: 0 of 6 theorems and 3 of 4 printed numbers**"
    assert text.startswith(start)
    claims = "These are 2 of 9 claims, some of several numbers; 0 of the 2 are weakly tested."
    assert claims in text
    counts = table(text)
    assert counts["theorems"]["not reproduced"] == 2
    assert counts["theorems"]["waiting for a run"] == 4
    assert counts["printed numbers"] == {
        "tested": 4, "reproduced": 3, "near": 0, "undecided": 0, "not reproduced": 0,
        "waiting for a run": 1,
    }  # fmt: skip
    assert (
        "Statement and protocol were registered before the run: shown for 0 of 4 results." in text
    )
    assert "5 claims wait for a run: `invariance check` names them." in text
    failures = (project.figures / "FAILURES.md").read_text("utf-8")
    assert "**Demo, f1: violated**, [`demo/order`](../notebooks/demo/a.py)." in failures
    assert "B is ours." in failures and "a &gt; b is reversed" in failures
    assert "A &lt; note." in failures, "the cause of the bound, which the ledger does not explain"


def test_a_failure_is_a_cause_a_counterfactual_and_one_line_of_numbers(project):
    ledger = project.ledger.read_text("utf-8")
    named = ledger.replace("data: full,", "data: full, counterfactual: mirrored,", 1)
    project.ledger.write_text(named, "utf-8")
    path = publish(project, "demo/a", "number", number={"value": 70.0})
    board(project)
    page = (project.figures / "FAILURES.md").read_text("utf-8")
    assert "1 printed number is missed: 0 are reached by a stated change, 0 by no change" in page
    assert "for 1 none was tried (1 of these waits for the run of one)." in page
    assert "Not run yet: mirrored." in page
    for value, words, reached in [
        (
            98.6,
            "With a change: mirrored: 98.60 reaches 98.90.",
            "1 is reached by a stated change, 0 by",
        ),
        (
            60.0,
            "With a change: mirrored: 60.00 does not reach 98.90.",
            "0 are reached by a stated change, 1 by",
        ),
    ]:
        content = json.loads(path.read_text("utf-8"))
        recorded = {"value": [value], "se": [0.0]}
        entry = {"change": "mirrored", "recorded": recorded, "ours": "", "reaches": [None]}
        content["counterfactuals"] = {"demo/number": [entry]}
        path.write_text(json.dumps(content), "utf-8")
        before = board(project)
        page = (project.figures / "FAILURES.md").read_text("utf-8")
        assert words in page and reached in page and "for 0 none was tried." in page
        assert table(before)["printed numbers"]["not reproduced"] == 1, "it counts for nothing"


def test_many_changes_are_counted_on_the_short_page_and_spelled_out_with_the_claim(project):
    path = publish(project, "demo/a", "pair", pair={"value": [30.0, 30.0]})
    content = json.loads(path.read_text("utf-8"))
    entries = []
    for change, values in {"smoothed": [14.0, 20.0], "mirrored": [14.1, 13.5]}.items():
        recorded = {"value": values, "se": [0.0, 0.0]}
        entries.append({"change": change, "recorded": recorded, "ours": "", "reaches": [None]})
    content["counterfactuals"] = {"demo/pair": entries}
    path.write_text(json.dumps(content), "utf-8")
    board(project)
    page = (project.figures / "FAILURES.md").read_text("utf-8")
    assert "With a change (numbers reached): smoothed (1 of 2); mirrored (2 of 2)." in page
    assert "2 are reached by a stated change" in page
    assert "mirrored: 14.10 reaches 14.01, 13.5 reaches 13.7" in invoke("claim demo/pair").output


def rows_with(project, verdicts: dict[str, str], **fields) -> list[Row]:
    ledger = load_ledger(project.ledger)
    rows = []
    for name, verdict in verdicts.items():
        claim = replace(ledger[f"demo/{name}"], **fields.get(name, {}))
        entry = {"verdict": verdict, "protocol": "x"}
        rows.append(Row(claim, entry, "demo/a", "full", "x"))
    return rows


def test_the_sentence_counts_claims_by_what_they_are_about(project):
    earlier = (Earlier("two draws", "1", "violated"),)
    rows = rows_with(
        project,
        {
            "order": "matched",
            "bound": "violated",
            "law": "matched",
            "same": "open",
            "alike": "matched",
        },
        order={"about": "finding", "history": earlier},
        bound={"history": (Earlier("ten draws", "1", "matched"),), "limits": "few"},
        law={"about": "cost", "limits": "counted", "data": "stand-in"},
        alike={"scored": "false", "history": earlier},
    )
    text = sentence(rows)
    assert "scale: 0 of 2 theorems, 1 of 1 cost and 1 of 1 finding**" in text
    tested = "These are 2 of 4 claims, some of several numbers; 1 of the 2 is weakly tested"
    assert f"{tested}, and 1 was tested on data that stand in for the paper's." in text
    turned = "turned 1 verdict from unfavourable to favourable, and 1 the other way."
    assert turned in text
    assert "program" not in text
    # A run may take other data than the ledger names, and says so.
    (order,) = (row for row in rows if row.claim.id == "demo/order")
    elsewhere = replace(order, result={**order.result, "data": "made-up digits"})
    text = sentence([elsewhere if row is order else row for row in rows])
    assert "and 2 were tested on data that stand in for the paper's." in text


def test_each_printed_number_counts_by_itself(project):
    publish(project, "demo/a", "pair", pair={"value": [15.3, 30.0]})
    text = board(project)
    assert "0 of 4 printed numbers" in text
    counts = table(text)["printed numbers"]
    assert (counts["near"], counts["not reproduced"]) == (1, 1)


def test_numbers_of_the_authors_own_program_are_named_apart(project):
    text = project.ledger.read_text("utf-8").replace("data: full,", "data: full, program: true,", 1)
    project.ledger.write_text(text, "utf-8")
    publish(project, "demo/a", "number", "pair")
    assert "Of the numbers, 1 repeats the authors' own program." in board(project)


def test_a_claim_that_is_not_testable_is_counted_apart(project):
    failing = {"precondition": False, "because": "the network has not learnt"}
    publish(project, "demo/a", "number", "order", order=failing)
    text = board(project)
    counts = table(text)["theorems"]
    assert (counts["not testable"], counts["not reproduced"], counts["reproduced"]) == (1, 0, 0)
    assert "demo/order" not in (project.figures / "FAILURES.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["short", "matched", "short"], (1, 1)),
        (["matched", "matched"], (0, 0)),
        (["inconclusive", "short", "near"], (0, 0)),
        (["short", "", "better"], (1, 0)),  # An earlier result without a verdict turns nothing.
        (["better", "not testable"], (0, 1)),
    ],
)
def test_a_turn_is_a_change_between_favourable_and_not(project, verdicts, expected):
    *before, last = verdicts
    history = tuple(Earlier("p", "1", verdict) for verdict in before)
    rows = rows_with(project, {"order": last}, order={"history": history})
    assert tuple(len(turned) for turned in turns(rows)) == expected


def test_what_the_ledger_does_not_score_is_shown_and_not_counted(project):
    publish(project, "demo/a", "number", "order")
    before = board(project)
    text = project.ledger.read_text("utf-8").replace("data: full,", "data: full, scored: false,", 1)
    project.ledger.write_text(text, "utf-8")
    after = board(project)
    tested = [table(text)["printed numbers"]["tested"] for text in (before, after)]
    assert tested == [4, 3]
    assert "`number` (not scored)" in (project.figures / "README.md").read_text("utf-8")


def test_no_claims_and_few(project):
    assert sentence([]) == "The ledger holds no claims yet."
    text = sentence(rows_with(project, {"number": "open"}))
    assert text.startswith("**Reproduced at the papers' own scale: 0 of 1 printed number**")
    assert "weakly" not in text


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
    assert "0 of 6 theorems and 0 of 4 printed numbers**" in page
    assert "Protocols changed" not in page, "what does not count turns nothing"
    assert "9 claims wait for a run" in page
    assert "violated" not in (project.figures / "FAILURES.md").read_text("utf-8")


def test_check_names_results_whose_protocol_names_a_claim_with_another_protocol(project):
    text = project.ledger.read_text("utf-8")
    text = text.replace('"all trials"', '"points as in demo/number, all trials"')
    project.ledger.write_text(text, "utf-8")
    publish(project, "demo/a", "number", "bound")
    subject = "counting, although a claim that their protocol names waits"
    assert subject not in " ".join(consistency.awaiting(project))
    publish(project, "demo/a", "number", "bound", protocol="0" * 16)
    assert subject not in " ".join(consistency.awaiting(project)), "both wait"
    publish(project, "demo/a", "number", "bound")
    changed = text.replace('"one draw"}', '"two draws"}', 1)
    project.ledger.write_text(changed, "utf-8")
    assert f"{subject} for a run of another one: 1 (demo/bound)" in " ".join(
        consistency.awaiting(project)
    )


def test_a_typed_verdict_changes_nothing(project):
    path = publish(project, "demo/a", "number", "order")
    before = board(project)
    path.write_text(path.read_text("utf-8").replace('"violated"', '"matched"'), "utf-8")
    assert board(project) == before
    assert table(before)["theorems"]["not reproduced"] == 1
    path.write_text(path.read_text("utf-8").replace('"gap"', '"gup"'), "utf-8")
    # Invalid numbers have no verdict.
    assert table(board(project))["theorems"]["not reproduced"] == 0


def test_a_claim_that_moved_leaves_its_old_result_behind(project):
    project.write("demo/a", 'run.claim("demo/number", value=98.9, se=0.1)')
    project.write("demo/z")
    publish(project, "demo/a", "number")
    publish(project, "demo/z", "number", protocol="0" * 16, number={"value": 90.0})
    assert table(board(project))["printed numbers"]["reproduced"] == 1
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
        return table(board(project))["printed numbers"]["reproduced"] == 1

    publish(project, "demo/a", "number")
    assert reproduced()
    assert not reproduced(by="leave-one-out")
    publish(project, "demo/a", "number")
    # The last digit of a score does not matter, but the grid does.
    assert reproduced(by="leave-one-out", scores=[0.5, 0.71])
    assert not reproduced(by="leave-one-out", grid=[2.0, 3.0])


def invoke(command: str):
    return CliRunner().invoke(main, command.split())


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
        caption = f"They agree to {error:.1e} of theirs."
        drawn = {"name": "f", "caption": caption, "files": ["f.png"]}
        results["figures"] = [drawn | {"alt": f"b from {error:.3g} to 0.5, or {gap + 1e-18:.0e}."}]
        path.write_text(json.dumps(results), "utf-8")
        (path.parent / "f.png").touch()
        board(project)
        written = [project.readme, *project.figures.glob("*.md")]
        pages.add("".join(page.read_text("utf-8") for page in sorted(written)))
    (text,) = pages
    assert "agree to &lt; 1e-12 of theirs" in text
    assert "b from &lt; 1e-12 to 0.5" in text


def on_another_machine(value, dice: random.Random):
    """Return recorded content with the rounding of another machine."""
    if isinstance(value, dict):
        return {name: on_another_machine(entry, dice) for name, entry in value.items()}
    if isinstance(value, list):
        return [on_another_machine(entry, dice) for entry in value]
    if isinstance(value, str):
        return re.sub(
            r"\d\.\d+(?=e-(?:1[3-9]|[2-9]\d)\b)", lambda _: f"{dice.uniform(1, 9):.2f}", value
        )
    if isinstance(value, float) and abs(value) < 1e-12:
        return value * dice.uniform(0.3, 3)
    if isinstance(value, float) and value != round(value, 6):  # Shares of a count are exact.
        return value * (1 + dice.uniform(-1e-13, 1e-13))
    return value


def test_the_pages_of_this_project_stay_after_a_rerun_with_other_rounding(tmp_path):
    dice = random.Random(20261126)
    project = Paths(tmp_path)
    left_out = shutil.ignore_patterns("*.png", "*.svg", "*.ipynb", ".*")
    for folder in ("figures", "notebooks"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=left_out)
    project.readme.write_text(f"{BEGIN}\n{END}\n", "utf-8")
    record_digests(project, project.figures)
    before = scoreboard(project)
    for path in project.figures.glob("*/*/results.json"):
        content = json.loads(path.read_text("utf-8"))
        for part in ("claims", "figures", "says"):
            content[part] = on_another_machine(content[part], dice)
        path.write_text(json.dumps(content), "utf-8")
    record_digests(project, project.figures)
    after = scoreboard(project)
    for path, text in before.items():
        assert after[path] == text, path


def test_the_pages_of_this_project_print_no_rounding():
    for name in ("README.md", "figures/README.md", "figures/FAILURES.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        measured = [line for line in text.splitlines() if "tolerance" not in line]
        assert re.findall(r"[\d.]+e-(?:1[3-9]|[2-9]\d)\b", "\n".join(measured)) == [], name
