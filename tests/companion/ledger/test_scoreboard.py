"""README's scoreboard: what it counts, where it stands, and that it is the one the files give."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from invariance.companion.cli import main
from invariance.companion.ledger import consistency
from invariance.companion.ledger.claims import load_ledger
from invariance.companion.ledger.protocols import registered
from invariance.companion.ledger.scoreboard import (
    BEGIN,
    END,
    GALLERY,
    ScoreboardError,
    scoreboard,
    with_scoreboard,
)
from invariance.companion.ledger.settings import Choice, write_settings
from invariance.companion.paths import Paths

ROOT = Path(__file__).parents[3]


def _publish(
    project, notebook: str, profile: str = "full", protocol: str | None = "", **verdicts: str
) -> Path:
    ledger = load_ledger(project.ledger)
    claims = {
        f"demo/{claim}": {"verdict": verdict, "reason": f"{claim} is 1 < b", "note": "a note",
                          "kind": "value", "recorded": {}, "ours": "1", "data": None,
                          "protocol": registered(ledger[f"demo/{claim}"], project, notebook)
                          if protocol == "" else protocol}
        for claim, verdict in verdicts.items()
    }  # fmt: skip
    path = project.published(notebook) / "results.json"
    path.parent.mkdir(parents=True)
    results = {"schema": 1, "notebook": notebook, "profile": profile, "claims": claims}
    path.write_text(json.dumps(results))
    return path


def test_readme_shows_what_ledger_and_results_give():
    paths = Paths(ROOT)
    readme = paths.readme.read_text(encoding="utf-8")
    assert with_scoreboard(readme, scoreboard(paths)) == readme, "run `invariance scoreboard`"


def test_counts_by_verdict_and_explains_what_fell_short(project):
    _publish(project, "demo/a", number="matched", pair="better", order="short")
    _publish(project, "demo/b", bound="violated")
    _publish(project, "demo/c", profile="quick", rate="matched")
    (project.figures / "demo" / ".d.1").mkdir()
    (project.figures / "demo" / ".d.1" / "results.json").write_text(
        (project.figures / "demo/a/results.json").read_text().replace("demo/pair", "demo/same")
    )
    lines = scoreboard(project).splitlines()
    assert lines[0].startswith("**2 of the 9 claims are reproduced**")
    assert "| [Demo](notebooks/demo) | 9 | 1 | 1 | 1 | 1 | 0 | 0 | 5 |" in lines
    assert "| all | 9 | 1 | 1 | 1 | 1 | 0 | 0 | 5 |" in lines
    assert (
        "- **short** [`demo/order`](notebooks/demo/a.py) (f1): order is 1 &lt; b. a note." in lines
    )
    assert (
        "- **violated** [`demo/bound`](notebooks/demo/b.py) (th1): bound is 1 &lt; b. a note."
        in lines
    )
    # what an earlier protocol gave stands beside what the registered one gives
    changed = lines[lines.index("<details>") : lines.index("</details>")]
    assert "- `demo/order` (f1): 1 against 2 (violated), two draws; now 1 (short)." in changed


def test_what_no_protocol_announced_does_not_count(project):
    _publish(project, "demo/a", protocol=None, number="matched", order="violated")
    _publish(project, "demo/b", protocol="0" * 16, pair="better")
    _publish(project, "demo/c", near="matched")  # the ledger holds no protocol for it
    board = scoreboard(project)
    assert board.startswith("**0 of the 9 claims are reproduced**")
    assert "3 results were measured before protocols were registered" in board
    assert "By the rules of their time 2 of them were matched or better." in board
    assert "1 results were measured by another protocol" in board
    assert "| all | 9 | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 3 | 5 |" in board
    assert "**violated**" not in board


def test_a_claim_that_moved_leaves_its_old_result_behind(project):
    project.write("demo/a", 'run.claim("demo/number", value=98.9, se=0.1)')
    project.write("demo/z")
    _publish(project, "demo/a", number="matched")
    _publish(project, "demo/z", protocol="0" * 16, number="short")
    assert scoreboard(project).startswith("**1 of the 9")
    assert not [said for said in consistency.problems(project) if "is recorded by" in said]


def test_settings_are_part_of_the_protocol(project):
    path = _publish(project, "demo/a", number="matched")
    assert scoreboard(project).startswith("**1 of the 9")
    choice = Choice(3.0, [1.0, 3.0], "leave-one-out", True, [0.5, 0.7], [])
    write_settings(project.settings("demo/a"), "demo/a", {"width": choice})
    assert scoreboard(project).startswith("**0 of the 9")
    path.unlink()
    path.parent.rmdir()
    _publish(project, "demo/a", number="matched")
    assert scoreboard(project).startswith("**1 of the 9")
    # a last digit of a score changes nothing, another grid does
    kept = {"width": replace(choice, scores=[0.5, 0.71])}
    write_settings(project.settings("demo/a"), "demo/a", kept)
    assert scoreboard(project).startswith("**1 of the 9")
    other = {"width": replace(choice, grid=[2.0, 3.0])}
    write_settings(project.settings("demo/a"), "demo/a", other)
    assert scoreboard(project).startswith("**0 of the 9")


def test_one_figure_a_paper_once_it_is_there(project):
    papers = [claim.paper_key for claim in load_ledger(Paths(ROOT).ledger).values()]
    assert [notebook.split("/")[0] for notebook, _, _ in GALLERY] == list(dict.fromkeys(papers))
    for notebook, name, _ in GALLERY:
        assert f'"{name}"' in Paths(ROOT).source(notebook).read_text(encoding="utf-8")
    assert "![" not in scoreboard(project)
    notebook, name, caption = GALLERY[0]
    path = _publish(project, notebook)
    content = json.loads(path.read_text()) | {
        "figures": [{"name": name, "alt": "a [b] < c", "caption": "", "files": [f"{name}.png"]}]
    }
    path.write_text(json.dumps(content))
    shown = scoreboard(project).partition("\n\n<details>")[0]
    assert shown.splitlines()[-3:] == [
        f"{caption} [The notebook](notebooks/{notebook}.py).", "",
        f"![a (b) &lt; c](figures/{notebook}/{name}.png)",
    ]  # fmt: skip


def test_readme_links_lead_somewhere():
    readme = Paths(ROOT).readme.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:|#)([^)\s]+)\)", readme)
    assert len(links) > 8
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_claim_is_counted_once():
    paths = Paths(ROOT)
    ledger = load_ledger(paths.ledger)
    rows = [line.strip("| ").split(" | ") for line in scoreboard(paths).splitlines()
            if line.startswith("| ")][1:]  # fmt: skip
    numbers = [[int(cell) for cell in row[1:]] for row in rows]
    assert all(row[0] == sum(row[1:]) for row in numbers)
    *papers, total = numbers
    assert [sum(column) for column in zip(*papers, strict=True)] == total
    assert total[0] == len(ledger)


def test_command_writes_it_and_check_misses_it(project):
    def invoke(command: str):
        return CliRunner().invoke(main, [command])

    assert invoke("check").exit_code == 0, "a project without a README has no scoreboard"
    assert "cannot read" in invoke("scoreboard").output
    project.readme.write_text("# A project\n")
    assert BEGIN in invoke("scoreboard").output and invoke("scoreboard").exit_code == 2
    assert any("no place for the scoreboard" in found for found in consistency.problems(project))

    project.readme.write_text(f"# A project\n\n{BEGIN}\n{END}\n\nMore.\n")
    assert any("the scoreboard differs" in found for found in consistency.problems(project))
    assert invoke("scoreboard").exit_code == 0
    assert consistency.problems(project) == []
    written = project.readme.read_text()
    assert written.startswith("# A project\n") and written.endswith(f"{END}\n\nMore.\n")
    invoke("scoreboard")
    assert project.readme.read_text() == written

    project.write("demo/a")
    _publish(project, "demo/a", number="matched")
    assert any("the scoreboard differs" in found for found in consistency.problems(project))


@pytest.mark.parametrize("text", ["", BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}"])
def test_markers_must_stand_once_and_in_order(text):
    with pytest.raises(ScoreboardError, match="once, where it shall stand"):
        with_scoreboard(text, "board")
