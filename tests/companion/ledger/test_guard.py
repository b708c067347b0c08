"""The whole ledger is checked, and no published number, setting or claim changes unnoticed."""

import hashlib
import json
import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from invariance.companion.cli import main
from invariance.companion.errors import LedgerError
from invariance.companion.ledger import consistency, guard
from invariance.companion.ledger.claims import KINDS, load_ledger
from invariance.companion.ledger.consistency import typed_results
from invariance.companion.ledger.guard import alterations, departures, record_digests
from invariance.companion.ledger.settings import read_settings
from invariance.companion.paths import Paths

from .test_scoreboard import board, publish

ROOT = Path(__file__).parents[3]
SEED = 20261124


@pytest.fixture
def guarded(project):
    project.write("demo/a")
    (publish(project, "demo/a", "number").parent / "scores.csv").write_text("haar,98.26\n", "utf-8")
    project.owners_digest.write_text(f"{'0' * 64}  claims.yaml\n", "utf-8")
    board(project)
    record_digests(project, project.figures)
    assert alterations(project) == []
    return project


def edited(content: bytes, dice: random.Random) -> bytes:
    """Return a different text: a byte, a digit or a word is changed, or the end is cut off."""
    kind = dice.choice(["byte", "digit", "word", "end"])
    at = dice.randrange(len(content))
    digits = [i for i, c in enumerate(content) if chr(c).isdigit()]
    if kind == "digit" and digits:
        at = dice.choice(digits)
        return content[:at] + str((content[at] - 47) % 10).encode() + content[at + 1 :]
    words = content.split(b" ")
    if kind == "word" and len(words) > 1:
        words[dice.randrange(len(words))] += b"er"
        return b" ".join(words)
    if kind == "end":
        return content[:at]
    return content[:at] + bytes([content[at] ^ dice.randrange(1, 256)]) + content[at + 1 :]


def test_check_names_every_edit_without_a_traceback(guarded):
    dice = random.Random(SEED)
    files = [p for p in sorted(guarded.root.rglob("*")) if p.is_file() and p.suffix != ".py"]
    files = [p for p in files if guarded.build not in p.parents]  # Nothing is published there.
    for number in range(200):
        path = dice.choice(files)
        before = path.read_bytes()
        path.write_bytes(edited(before, dice))
        problems = consistency.problems(guarded)
        unseen = path == guarded.readme and path.read_bytes().startswith(before[: len(before) - 1])
        assert unseen or problems, f"edit {number} of {path} with seed {SEED}"
        path.write_bytes(before)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("figures/demo/a/scores.csv", "scores.csv: is not what was recorded"),
        ("figures/demo/a/results.json", "results.json: is not what was recorded"),
        ("notebooks/claims.yml", "claims.yml: is not what was recorded"),
        ("notebooks/claims.sha256", "claims.sha256: is not what was recorded"),
        ("figures/SHA256SUMS", "SHA256SUMS is damaged"),
    ],
)
def test_what_is_emptied_or_gone_is_found(guarded, name, said):
    path = guarded.root / name
    content = path.read_bytes()
    path.write_bytes(b"")
    assert any(said in problem for problem in consistency.problems(guarded))
    path.unlink()
    assert consistency.problems(guarded) != []
    path.write_bytes(content)
    assert alterations(guarded) == []


def test_a_file_that_nobody_recorded_is_found(guarded):
    (guarded.figures / "demo/a/more.csv").write_text("1\n", "utf-8")
    (problems,) = alterations(guarded)
    assert problems.startswith("figures/demo/a/more.csv: nobody has recorded it")
    record_digests(guarded, guarded.figures / "demo/a")
    assert alterations(guarded) == []
    (guarded.figures / "demo/a/more.csv").unlink()
    assert alterations(guarded) == [
        "figures/demo/a/more.csv: is recorded in SHA256SUMS, but missing"
    ]
    (guarded.figures / "demo/a/more.csv").symlink_to("/etc/hostname")
    assert "is not what was recorded" in alterations(guarded)[0]


def test_the_whole_ledger_is_guarded(guarded):
    for name in ("protocols.yml", "history.yml"):
        path = guarded.notebooks / name
        path.write_text("{}\n", "utf-8")
        (problem,) = alterations(guarded)
        assert problem.startswith(f"notebooks/{name}: nobody has recorded it")
        board(guarded)
        assert alterations(guarded) == []
        path.write_text("# changed\n", "utf-8")
        (problem,) = alterations(guarded)
        assert problem.startswith(f"notebooks/{name}: is not what was recorded")
        board(guarded)


DAMAGED = ["[" * 100_000, "- " * 100_000, "{a: " * 100_000, "a: &a [*a]", "claims: {id: [", "\0"]


@pytest.mark.parametrize("text", [*DAMAGED, "!!python/object:os.system {}"])
def test_damaged_yaml_is_an_error_and_no_crash(tmp_path, text):
    path = tmp_path / "claims.yml"
    path.write_text(text, "utf-8")
    for read in (load_ledger, read_settings):
        with pytest.raises(LedgerError, match=r"claims\.yml"):
            read(path)


def test_runners_that_publish_at_the_same_moment_lose_no_entry(guarded, monkeypatch):
    recorded = guard.recorded_digests

    def slowly(paths: Paths) -> dict[str, str]:
        problems = recorded(paths)
        time.sleep(0.2)  # The second process has read the file before the first one writes.
        return problems

    folders = [guarded.figures / "demo" / name for name in ("b", "c")]
    for folder in folders:
        folder.mkdir()
        (folder / "scores.csv").write_text(folder.name, "utf-8")
    with monkeypatch.context() as slower, ThreadPoolExecutor(2) as pool:
        slower.setattr(guard, "recorded_digests", slowly)
        list(pool.map(partial(record_digests, guarded), folders))
    assert alterations(guarded) == []


OWNERS = """\
# The rules.
claims:
  # ---- one
  - {id: demo/a, kind: order, source: f1, says: "a, beats b", data: full}
  - {id: demo/b, kind: same, source: f2, margin: 1, data: full}
"""


@pytest.fixture
def edition(project):
    digest = hashlib.sha256(OWNERS.encode()).hexdigest()
    project.ledger.write_text(OWNERS, "utf-8")
    project.owners_digest.write_text(f"{digest}  claims.yaml\n", "utf-8")
    return project


def test_the_ledger_is_the_owners_edition_word_for_word():
    paths = Paths(ROOT)
    assert paths.owners_digest.is_file()
    assert departures(paths) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [("The rules", "Our rules"), ("beats", "equals"), ("margin: 1", "margin: 2"),
     ("  # ---- one\n", ""), ("data: full}\n", 'data: full, protocol: "ten draws"}\n')],
)  # fmt: skip
def test_any_difference_is_refused(edition, before, after):
    assert departures(edition) == []
    assert before in OWNERS
    edition.ledger.write_text(OWNERS.replace(before, after), "utf-8")
    assert any("differs from its owner's edition" in sentence for sentence in departures(edition))


def test_protocols_and_history_are_no_part_of_the_edition(edition):
    (edition.notebooks / "protocols.yml").write_text("demo/a: ten draws\n", "utf-8")
    (edition.notebooks / "history.yml").write_text("demo/b: {note: it is ours}\n", "utf-8")
    assert departures(edition) == []
    ledger = load_ledger(edition.ledger)
    assert (ledger["demo/a"].protocol, ledger["demo/b"].note) == ("ten draws", "it is ours")


def test_the_owners_file_is_compared_only_if_it_is_named(edition, tmp_path):
    """Files outside the repository do not matter unless they are named."""
    theirs = tmp_path / "claims.yaml"
    for folder in (edition.root.parent / "shared", tmp_path):
        folder.mkdir(exist_ok=True)
        (folder / "claims.yaml").write_text(OWNERS.replace("margin: 1", "margin: 3"), "utf-8")
    assert departures(edition) == []
    (sentences,) = departures(edition, theirs)
    assert "another edition" in sentences
    theirs.write_text(OWNERS, "utf-8")
    assert departures(edition, theirs) == []
    done = CliRunner().invoke(main, ["check", "--edition", str(theirs)])
    assert "another edition" not in done.output
    theirs.write_text(OWNERS + "# more\n", "utf-8")
    done = CliRunner().invoke(main, ["check", "--edition", str(theirs)])
    assert done.exit_code == 1 and "another edition" in done.output


# -- reading claims.yml ----------------------------------------------------------------------------


def test_the_ledger_of_the_four_papers_loads():
    ledger = load_ledger(ROOT / "notebooks" / "claims.yml")
    papers = Counter(claim.paper_key for claim in ledger.values())
    assert set(papers) == {"mroueh2015", "raj2017", "liu2022", "soleymani2025"}
    assert {claim.kind for claim in ledger.values()} == set(KINDS)
    assert len(ledger) == 178
    svm = [claim for claim in ledger.values() if claim.id.startswith("liu2022/table2-mnist")]
    assert {claim.margin for claim in svm} == {"0.02", "0.3"}
    assert {claim.better for claim in svm} == {"higher", "neither"}
    assert ledger["mroueh2015/fig1-knn-order"].share == "0.75"
    assert sum(claim.is_scored for claim in ledger.values()) == 175
    topics = Counter(claim.about for claim in ledger.values())
    assert topics == {"theorem": 72, "cost": 12, "finding": 45, "number": 49}
    errata = [claim for claim in ledger.values() if claim.erratum is not None]
    assert len(errata) == 5 and all(claim.erratum.holds for claim in errata)
    assert sum(bool(claim.counterfactual) for claim in ledger.values()) == 18
    assert ledger["mroueh2015/remark2-cost"].count == "instructions"
    assert "by construction" in ledger["soleymani2025/example5.2"].limits
    assert ledger["liu2022/table1-mnist"].margins == (4.5, 37.5)


def test_printed_digits_survive_and_our_fields_are_there(project):
    ledger = load_ledger(project.ledger)
    assert ledger["demo/number"].printed == "98.90"
    assert (ledger["demo/number"].decimals, ledger["demo/pair"].decimals) == ((2,), (2, 1))
    claim = ledger["demo/order"]
    assert (claim.protocol, claim.note) == ("ten draws", "b is ours")
    assert claim.history[0].gave == "1 against 2" and claim.history[0].verdict == "violated"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{id: demo/a, kind: value, source: s, data: full}", "no field 'paper'"),
        ("{id: demo/a, kind: same, source: s, data: full}", "no field 'margin'"),
        ("{id: demo/a, kind: valu, source: s, data: full}", "demo/a.*kind: 'valu'"),
        ("{id: demo/a, kind: order, source: s}", "demo/a.*no field 'data'"),
        ("{id: a, kind: order, source: s, data: full}", "<paper>/<claim>"),
        ("{id: demo/a, kind: order, source: s, data: full, margni: 1}", "mean 'margin'"),
        ("{id: demo/a, kind: same, source: s, data: full, margin: -1}", "negative"),
        ("{id: demo/a, kind: same, source: s, data: full, margin: 5 %}", "'5 %' is a share of"),
        (
            "{id: demo/a, kind: same, source: s, data: full, margin: 1, paper: [1, 2]}",
            "one difference, not 2 numbers",
        ),
        ("{id: demo/a, kind: same, source: s, data: full, margin: inf}", "'inf' is not a fin"),
        ("{id: demo/a, kind: same, source: s, data: full, margin: nan %}", "'nan %' is not a"),
        ("{id: demo/a, kind: order, source: s, data: full, protocol: [a]}", "protocol: .* not t"),
        ("{id: demo/a, kind: order, source: s, data: full, history: [a]}", "history: expected"),
        ("{id: demo/a, kind: value, source: s, data: full, better: up, paper: 1}", "better: 'up'"),
        (
            "{id: demo/a, kind: value, source: s, data: full, better: lower, margin: 1, paper: x}",
            "'x' is not",
        ),
        ("{id: demo/a, kind: order, source: s, data: real}", "data: 'real' is not one of"),
        ("{id: demo/a, kind: order, source: s, data: full, about: art}", "about: 'art'"),
        ("{id: demo/a, kind: order, source: s, data: full, scored: no}", "scored: 'no'"),
        ("{id: demo/a, kind: order, source: s, data: full, erratum: x}", "erratum: expected .prin"),
        (
            "{id: demo/a, kind: order, source: s, data: full, erratum: {printed: x, hold: y}}",
            "erratum: expected .printed: ..., holds",
        ),
        ("just text", "claim 1"),
        (
            "{id: demo/a, kind: order, source: s, data: full}\n"
            "  - {id: demo/a, kind: order, source: s, data: full}",
            "stands twice",
        ),
    ],
)
def test_a_malformed_entry_is_named(tmp_path, entry, message):
    path = tmp_path / "claims.yml"
    path.write_text(f"claims:\n  - {entry}\n", "utf-8")
    with pytest.raises(LedgerError, match=message):
        load_ledger(path)


LEDGER = 'claims:\n  - {id: demo/a, kind: order, source: s, data: full, protocol: "few draws"}\n'


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("protocols.yml", "demo/b: ten draws", "names the claim 'demo/b'"),
        ("protocols.yml", "demo/a: ten draws", "'demo/a' has protocol in two files"),
        ("protocols.yml", "[demo/a]", "protocols.yml must hold a mapping"),
        ("history.yml", "demo/a: {nota: x}", "history.yml: demo/a: .* is not a mapping with"),
        ("history.yml", "demo/a: {earlier: x}", "history: expected a list of"),
        ("history.yml", "demo/a: {earlier: [{gave: x}]}", "history: expected a list of"),
        ("history.yml", "demo/a: {reworded: {before: x}}", "reworded: expected .before"),
    ],
)
def test_a_malformed_file_beside_the_claims_is_named(tmp_path, file, text, message):
    path = tmp_path / "claims.yml"
    path.write_text(LEDGER, "utf-8")
    (tmp_path / file).write_text(text, "utf-8")
    with pytest.raises(LedgerError, match=message):
        load_ledger(path)


def test_unreadable_ledgers(tmp_path):
    with pytest.raises(LedgerError, match="cannot read"):
        load_ledger(tmp_path / "none.yml")
    for text, message in {"claims: [": "not YAML", "other: []": "one list named 'claims'"}.items():
        (tmp_path / "bad.yml").write_text(text, "utf-8")
        with pytest.raises(LedgerError, match=message):
            load_ledger(tmp_path / "bad.yml")


# -- results in a notebook's text ------------------------------------------------------------------


@pytest.fixture
def written(project):
    def write(text, **published):
        project.write("demo/a", "sizes = [10, 2_500]\nwidth = 0.2")
        path = project.source("demo/a")
        path.write_text(path.read_text("utf-8") + f"\n# %% [markdown]\n# {text}\n", "utf-8")
        if published:
            folder = project.published("demo/a")
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "results.json").write_text(json.dumps(published), "utf-8")
            (folder / "table.csv").write_text("a,b\nx,97.25 ± 0.07\n", "utf-8")
        return typed_results(project, "demo/a", ["96.83, 97.18"])

    return write


def test_a_typed_result_is_found(written):
    for text in ("It is 91.3 points.", "A share of 12 % is lost.", "Errs by 7 ± 2.", "To 3e-4."):
        (problems,) = written(text)
        assert problems.split()[0] in text


@pytest.mark.parametrize(
    "text",
    [
        "With 2,500 images at a width of 0.2 all is said in the code.",
        "The paper prints 96.83 % and 97.18 %.",
        "Theorem 3.2, section 4.1 and Lemma 2.1 of the paper.",
        "The bound $\\\\varepsilon = 0.37$ and `tol=1e-9`, and [a link](x-0.5.html), tcp://1.2.3.4:5.",
        "There are 32,768 points in 792 orbits.",
    ],
)
def test_settings_formulas_and_the_papers_numbers_are_none(written, text):
    assert written(text) == []


def test_what_the_published_run_holds_may_be_said(written):
    measured = {"claims": {"c": {"recorded": {"value": [0.91337]}}}, "volatile": {"wall_s": 12.5}}
    text = "It reaches 91.3 %, or 0.9134; the table says 97.25 ± 0.07."
    assert written(text) and written(text, **measured) == []
    assert written("It reaches 91.4 %.", **measured)
    assert written("It took 12.5 seconds.", **measured), "another machine takes others"


def test_check_refuses_it_and_says_what_to_do(project, written):
    written("It reaches 91.3 %.")
    (problem,) = consistency.problems(project)
    assert "demo/a: a result is typed" in problem and "run.say(" in problem
