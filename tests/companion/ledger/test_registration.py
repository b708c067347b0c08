"""A claim counts as registered only if this is shown, and no change of it goes unnoticed."""

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from invariance.companion import Run
from invariance.companion.cli import main
from invariance.companion.ledger import consistency
from invariance.companion.ledger.claims import load_ledger, statement_digest
from invariance.companion.ledger.guard import record_digests
from invariance.companion.ledger.registration import Registrar
from invariance.companion.ledger.rows import published_results, rows_of
from invariance.companion.ledger.scoreboard import BEGIN, END, ScoreboardError, write_scoreboard
from invariance.companion.ledger.settings import Choice, write_settings
from invariance.companion.paths import Paths
from invariance.companion.provenance import code_version
from invariance.companion.runner.batch import run_notebooks

ROOT = Path(__file__).parents[3]
LEDGER = """\
claims:
  - {id: demo/number, kind: value, source: t1, says: "it is 98.9", paper: 98.90, margin: 1.0,
     unit: "%", better: higher, data: full, protocol: "ten draws"}
"""
CELL = 'run.claim("demo/number", value=98.9, se=0.1)'
HISTORY = 'history: [{protocol: "as it was", gave: "98.9", verdict: short}]}'


def git(folder: Path, *arguments: str) -> str:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    who = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    line = ["git", "-C", str(folder), *who, *arguments]
    return subprocess.run(line, check=True, capture_output=True, encoding="utf-8").stdout.strip()


def commit(project, words: str = "registered") -> str:
    git(project.root, "add", "-A", "-f", ".")
    git(project.root, "commit", "-q", "--allow-empty", "-m", words)
    return git(project.root, "rev-parse", "HEAD")


@pytest.fixture
def own(project, monkeypatch):
    """A project with one claim and one notebook; `run` publishes the results of a full run."""
    project.ledger.write_text(LEDGER, "utf-8")
    project.write("demo/a", CELL)
    project.readme.write_text(f"{BEGIN}\n{END}\n", "utf-8")

    def run(name: str = "demo/number", **numbers) -> None:
        folder = project.published("demo/a")
        with monkeypatch.context() as batch:
            batch.setenv("INVARIANCE_RUN_DIR", str(folder))
            chooses = project.settings("demo/a").is_file()
            run = Run("demo/a", profile="full", seed=1, width=1.5, chooses=chooses)
            if chooses:
                run.select("width", [1.0, 3.0], lambda width: 0.5, by="loo")
                run.measure()
            run.claim(name, **(numbers or {"value": 98.9, "se": 0.1}))
        record_digests(project, folder)

    object.__setattr__(project, "run", run)
    return project


@pytest.fixture
def repository(own):
    git(own.root, "init", "-q")
    commit(own)
    return own


def edit(project, before: str, after: str) -> None:
    text = project.ledger.read_text("utf-8")
    assert before in text
    project.ledger.write_text(text.replace(before, after), "utf-8")


def invoke(command: str):
    done = CliRunner().invoke(main, [command])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def shown(project) -> str:
    """Return the sentence about registration on the page."""
    board = write_scoreboard(project)
    assert invoke("check").exit_code == 0, invoke("check").output
    (line,) = [
        line for line in board.splitlines() if line.startswith("Statement and protocol were")
    ]
    return line.partition("shown for ")[2]


def refused(project, *words: str) -> None:
    """Assert that check and scoreboard both end with an error that contains these words."""
    for command in ("check", "scoreboard"):
        done = invoke(command)
        assert done.exit_code != 0, command
        for word in words:
            assert word in done.output, (command, word, done.output)


def without_digests(project) -> None:
    """Turn results into those recorded before a claim's statement had a digest."""
    path = project.published("demo/a") / "results.json"
    content = json.loads(path.read_text("utf-8"))
    for entry in content["claims"].values():
        del entry["statement"], entry["earlier"]
    del content["provenance"]["edition"]
    path.write_text(json.dumps(content), "utf-8")
    record_digests(project, path)


CHANGES = [
    ("margin: 1.0", "margin: 9.0", "margin"),
    ("paper: 98.90", "paper: 98.9", "paper"),
    ("better: higher", "better: neither", "better"),
    ('says: "it is 98.9"', 'says: "it is about 98.9"', "says"),
    ("source: t1", "source: t2", "source"),
    ('"ten draws"', '"the best of ten draws"', "protocol"),
]


@pytest.mark.parametrize(("before", "after", "field"), CHANGES)
def test_a_claim_changed_after_its_run_is_named(own, before, after, field):
    own.run()
    assert shown(own).startswith("0 of 1 result")
    edit(own, before, after)
    change = "protocol" if field == "protocol" else "statement"
    refused(own, "demo/number", f"its {change}", "history")
    edit(own, 'draws"}', f'draws",\n     {HISTORY}')
    assert invoke("scoreboard").exit_code == 0
    assert invoke("check").exit_code == 0


@pytest.mark.parametrize(("before", "after", "field"), CHANGES)
@pytest.mark.parametrize("old", [False, True], ids=["digests", "before digests"])
def test_with_a_repository_the_field_is_named(repository, before, after, field, old):
    repository.run()
    if old:
        without_digests(repository)
    assert shown(repository) == "1 of 1 result."
    edit(repository, before, after)
    refused(repository, "demo/number", field, "history")
    commit(repository, "changed, and committed")
    refused(repository, "demo/number", field, "history")


def test_what_only_counts_a_claim_apart_is_no_change(repository):
    repository.run()
    edit(repository, "data: full", 'data: full, limits: "one sort"')
    assert shown(repository) == "1 of 1 result."


def verdict_of(project) -> str:
    rows = rows_of(load_ledger(project.ledger), published_results(project), project)
    (verdict,) = [row.verdict for row in rows if row.claim.id == "demo/number"]
    return verdict


def declare_rewording(project, before: str, stands: str = "") -> None:
    """Write into the history that the claim's statement had the digest `before` at the run."""
    now = statement_digest(load_ledger(project.ledger)["demo/number"])
    fields = f"before: {before}, now: {now}, words: as it was"
    if stands:
        fields += f", stands: {stands}"
    path = project.notebooks / "history.yml"
    path.write_text(f"demo/number: {{reworded: {{{fields}}}}}\n", "utf-8")


def test_a_result_under_earlier_words_waits_for_a_run(repository):
    repository.run()
    edit(repository, "margin: 1.0", "margin: 9.0")
    edit(repository, 'draws"}', f'draws",\n     {HISTORY}')
    assert verdict_of(repository) == "another wording"
    commit(repository)
    repository.run()
    assert shown(repository) == "1 of 1 result."
    assert verdict_of(repository) == "matched"
    assert "turned 1 verdict from unfavourable" in repository.readme.read_text("utf-8")


@pytest.mark.parametrize("old", [False, True], ids=["digests", "before digests"])
def test_a_result_under_earlier_words_stands_with_a_declared_reason_only(repository, old):
    repository.run()
    if old:
        without_digests(repository)
    before = statement_digest(load_ledger(repository.ledger)["demo/number"])
    edit(repository, "margin: 1.0", "margin: 9.0")
    declare_rewording(repository, before)
    assert verdict_of(repository) == "another wording"
    declare_rewording(repository, before, stands="the same numbers are compared")
    assert verdict_of(repository) == "matched"
    assert shown(repository).startswith("0 of 1 result. Not shown: statement changed since the run")
    edit(repository, "margin: 9.0", "margin: 8.0")
    refused(repository, "demo/number", "its statement")


def test_a_protocol_in_a_file_of_its_own_is_the_same_protocol(repository):
    repository.run()
    assert shown(repository) == "1 of 1 result."
    edit(repository, ', protocol: "ten draws"', "")
    protocols = repository.notebooks / "protocols.yml"
    protocols.write_text("demo/number: >-\n  ten\n  draws\n", "utf-8")
    assert shown(repository) == "1 of 1 result."
    commit(repository, "protocols have a file of their own")
    repository.run()
    assert shown(repository) == "1 of 1 result."
    protocols.write_text("demo/number: the best of ten draws\n", "utf-8")
    refused(repository, "demo/number", "its protocol", "history")


def test_the_same_entry_declares_one_change_only(repository):
    edit(repository, 'draws"}', f'draws",\n     {HISTORY}')
    commit(repository)
    repository.run()
    edit(repository, "margin: 1.0", "margin: 9.0")
    refused(repository, "demo/number", "margin", "history")


def test_changed_and_changed_back_is_registered(repository):
    repository.run()
    edit(repository, "ten draws", "five draws")
    refused(repository, "demo/number", "protocol")
    commit(repository)
    edit(repository, "five draws", "ten draws")
    commit(repository)
    assert shown(repository) == "1 of 1 result."


def test_run_under_a_change_that_is_taken_back_does_not_count(repository):
    edit(repository, "ten draws", "the best of ten draws")
    commit(repository)
    repository.run()
    edit(repository, "the best of ten draws", "ten draws")
    refused(repository, "demo/number", "its protocol")


def test_settings_are_part_of_what_is_registered(repository):
    choice = Choice(3.0, [1.0, 3.0], "loo", True, [0.5, 0.7], [])
    write_settings(repository.settings("demo/a"), "demo/a", {"width": choice})
    source = repository.source("demo/a")
    source.write_text(
        source.read_text("utf-8").replace("width=width", "width=width, chooses=True"), "utf-8"
    )
    record_digests(repository, repository.settings("demo/a"))
    commit(repository)
    repository.run()
    entry = json.loads((repository.published("demo/a") / "results.json").read_text("utf-8"))
    settings = {"width": Choice(3.0, [1.0, 2.0, 3.0], "loo", True, [0.5, 0.6, 0.7], [])}
    assert entry["claims"]["demo/number"]["protocol"]
    write_settings(repository.settings("demo/a"), "demo/a", settings)
    record_digests(repository, repository.settings("demo/a"))
    refused(repository, "demo/number", "settings")


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ("verdict: matched", "verdict has changed"),
        ("verdict: short, ", ""),
        (None, "is missing"),
    ],
)
@pytest.mark.parametrize("old", [False, True], ids=["digests", "before digests"])
def test_history_only_grows(repository, now, said, old):
    edit(repository, 'draws"}', f'draws",\n     {HISTORY}')
    commit(repository)
    repository.run()
    if old:
        without_digests(repository)
    assert shown(repository) == "1 of 1 result."
    if now is None:
        edit(repository, f",\n     {HISTORY}", "}")
    else:
        edit(repository, "verdict: short", now.rstrip(", "))
    if said:
        refused(repository, "demo/number", "history", said)
    else:
        assert shown(repository) == "1 of 1 result."


# -- registration shown by a repository ------------------------------------------------------------


def test_without_a_repository_nothing_is_shown(own):
    own.run()
    assert shown(own) == "0 of 1 result. Not shown: no commit named by the run (1)."


def test_a_claim_that_was_not_committed_is_not_shown(repository):
    edit(repository, "ten draws", "twelve draws")
    repository.run()
    assert shown(repository) == "0 of 1 result. Not shown: uncommitted changes at the run (1)."
    commit(repository, "afterwards")
    assert shown(repository) == "0 of 1 result. Not shown: uncommitted changes at the run (1)."


def test_a_new_module_is_no_part_of_the_commit_even_if_git_hides_it(repository):
    assert not code_version(repository.root).endswith("-dirty")
    git(repository.root, "config", "status.showUntrackedFiles", "no")
    (repository.source("demo/a").parent / "_new.py").write_text("N = 2\n", "utf-8")
    assert code_version(repository.root).endswith("-dirty")


def test_a_commit_that_was_rewritten_is_not_shown(repository):
    repository.run()
    assert shown(repository) == "1 of 1 result."
    git(repository.root, "commit", "-q", "--amend", "--allow-empty", "-m", "other words")
    assert shown(repository).startswith("0 of 1 result. Not shown: commit not in this history (1)")


@pytest.mark.parametrize("how", ["shallow", "archive"])
def test_a_copy_without_history_says_so_and_agrees(repository, tmp_path_factory, monkeypatch, how):
    repository.run()
    assert shown(repository) == "1 of 1 result."
    commit(repository, "results")
    copy = tmp_path_factory.mktemp("copy") / "here"
    if how == "shallow":
        git(repository.root, "clone", "-q", "--depth", "1", f"file://{repository.root}", str(copy))
    else:
        git(repository.root, "archive", "-o", str(copy.with_suffix(".tar")), "HEAD")
        copy.mkdir()
        subprocess.run(["tar", "xf", copy.with_suffix(".tar"), "-C", copy], check=True)
    monkeypatch.setenv("INVARIANCE_ROOT", str(copy))
    done = invoke("check")
    assert done.exit_code == 0, done.output
    assert "shown here for 0 of 1" in done.output
    readme = copy / "README.md"
    committed = readme.read_text("utf-8")
    for extra in ("2 of 1 result", "1 of 2 result"):
        readme.write_text(committed.replace("1 of 1 result", extra), "utf-8")
        assert invoke("check").exit_code == 1
    readme.write_text(committed, "utf-8")
    assert invoke("scoreboard").exit_code == 0
    why = "shallow clone" if how == "shallow" else "no git repository"
    assert "shown for 0 of 1 result. Not shown: " in readme.read_text("utf-8")
    assert why in readme.read_text("utf-8")
    assert invoke("check").exit_code == 0
    ledger = copy / "notebooks/claims.yml"
    ledger.write_text(ledger.read_text("utf-8").replace("margin: 1.0", "margin: 9.0"), "utf-8")
    assert "demo/number: its statement" in invoke("check").output


def test_a_page_cannot_say_more_than_the_results_name(own):
    own.run()
    write_scoreboard(own)
    page = own.readme.read_text("utf-8")
    own.readme.write_text(
        re.sub(r"shown for 0 of 1 result\..*", "shown for 1 of 1 result.", page), "utf-8"
    )
    assert "the scoreboard differs" in invoke("check").output


def test_results_that_contradict_their_commit_are_named(repository):
    """Results copied by hand, or with digests set by hand to the present claim, are refused."""
    repository.run()
    edit(repository, "margin: 1.0", "margin: 9.0")
    path = repository.published("demo/a") / "results.json"
    content = json.loads(path.read_text("utf-8"))
    claim = load_ledger(repository.ledger)["demo/number"]
    content["claims"]["demo/number"]["statement"] = statement_digest(claim)
    path.write_text(json.dumps(content), "utf-8")
    refused(repository, "results.json", "is not what was recorded")
    record_digests(repository, path)
    refused(repository, "demo/number", "the commit that it names")


def test_a_number_changed_by_hand_is_named_by_both(own):
    own.run()
    path = own.published("demo/a") / "results.json"
    path.write_text(path.read_text("utf-8").replace("98.9", "98.8"), "utf-8")
    refused(own, "demo/a/results.json", "is not what was recorded")


def test_a_claim_added_after_the_run_is_open_and_one_renamed_is_named(repository):
    repository.run()
    added = LEDGER.replace("claims:\n", "").replace("demo/number", "demo/more")
    repository.ledger.write_text(LEDGER + added, "utf-8")
    assert shown(repository) == "1 of 1 result."
    assert "| printed numbers | 2 | 1 | 0 | 0 | 0 | 1 |" in repository.readme.read_text("utf-8")
    repository.ledger.write_text(LEDGER.replace("demo/number", "demo/numbers"), "utf-8")
    done = invoke("check")
    assert done.exit_code == 1 and "claim 'demo/number' is not in the ledger" in done.output


def test_a_run_does_not_replace_what_an_undeclared_change_would_hide(own):
    own.run(value=70.0, se=0.1)
    edit(own, "ten draws", "the best of ten draws")
    summary = run_notebooks(own, ["demo/a"], profile="full")
    (outcome,) = summary.outcomes
    assert outcome.status == "failed" and "demo/number: its protocol" in outcome.failure["message"]
    assert "70.0" in (own.published("demo/a") / "results.json").read_text("utf-8")


@pytest.mark.parametrize("old", [False, True], ids=["digests", "before digests"])
@pytest.mark.parametrize("removed", [False, True], ids=["overwritten", "removed"])
def test_a_result_that_replaced_one_of_another_protocol_is_named(repository, removed, old):
    """The earlier result is overwritten or removed, the protocol is changed, and all runs again."""
    repository.run(value=70.0, se=0.1)
    if old:
        without_digests(repository)
    write_scoreboard(repository)
    commit(repository, "it falls short")
    edit(repository, "ten draws", "the best of ten draws")
    if removed:
        (repository.published("demo/a") / "results.json").unlink()
    commit(repository, "another protocol")
    repository.run()
    commit(repository, "it matches")
    refused(repository, "demo/number", "between two runs", "short")
    edit(repository, 'draws"}', f'draws",\n     {HISTORY}')
    assert invoke("scoreboard").exit_code == 0


# -- the owner's editions --------------------------------------------------------------------------


@pytest.fixture
def owned(repository):
    def publish_edition() -> None:
        digest = hashlib.sha256(repository.ledger.read_bytes()).hexdigest()
        repository.owners_digest.write_text(f"{digest}  claims.yaml\n", "utf-8")

    line = "  - {id: demo/number, kind: value, source: t1, paper: 98.90, margin: 1.0"
    line += ", better: higher, data: full"
    repository.ledger.write_text(f"claims:\n{line}}}\n", "utf-8")
    (repository.notebooks / "protocols.yml").write_text("demo/number: ten draws\n", "utf-8")
    publish_edition()
    commit(repository)
    object.__setattr__(repository, "publish_edition", publish_edition)
    return repository


def test_results_under_an_owners_earlier_words_do_not_count_and_need_no_history(owned):
    owned.run()
    assert shown(owned) == "1 of 1 result."
    edit(owned, "margin: 1.0", "margin: 9.0")
    assert "differs from its owner's edition" in invoke("check").output
    owned.publish_edition()
    assert verdict_of(owned) == "another wording"
    assert invoke("scoreboard").exit_code == 0 and invoke("check").exit_code == 0
    protocols = owned.notebooks / "protocols.yml"
    protocols.write_text("demo/number: twelve draws\n", "utf-8")
    refused(owned, "demo/number", "its protocol", "history")


def test_old_results_need_a_declaration_of_an_owners_new_words(owned):
    """Without it, a copy without the repository's history could not know that they changed."""
    owned.run()
    without_digests(owned)
    before = statement_digest(load_ledger(owned.ledger)["demo/number"])
    edit(owned, "margin: 1.0", "margin: 9.0")
    owned.publish_edition()
    refused(owned, "demo/number", "margin from 1.0 to 9.0")
    earlier = "earlier: [{protocol: as it was, gave: '98.9', verdict: matched}]"
    history = owned.notebooks / "history.yml"
    history.write_text(f"demo/number: {{{earlier}}}\n", "utf-8")
    refused(owned, "demo/number", "margin from 1.0 to 9.0")
    declare_rewording(owned, before)
    assert verdict_of(owned) == "another wording"
    assert invoke("scoreboard").exit_code == 0


def test_a_new_edition_that_leaves_a_claim_alone_changes_nothing_for_it(owned):
    owned.run()
    edit(owned, "claims:\n", "claims:\n  # a new section\n")
    owned.publish_edition()
    assert shown(owned) == "1 of 1 result."


# -- this project ----------------------------------------------------------------------------------


def test_every_published_result_of_this_project_is_registered():
    paths = Paths(ROOT)
    registrar = Registrar(paths)
    if registrar.repository.lack:
        pytest.skip("a copy without the project's history: nothing can be shown here")
    rows = rows_of(load_ledger(paths.ledger), published_results(paths), paths)
    counted = [row for row in rows if row.registration is not None]
    assert [row.registration.fault for row in counted if row.registration.fault] == []
    counting = [row for row in counted if row.counts and not row.is_reworded]
    assert len(counting) > 100 and all(row.registration.shown for row in counting)


def test_an_error_of_the_scoreboard_writes_nothing(own):
    own.run()
    write_scoreboard(own)
    before = own.readme.read_text("utf-8")
    edit(own, "margin: 1.0", "margin: 9.0")
    with pytest.raises(ScoreboardError, match="demo/number"):
        write_scoreboard(own)
    assert own.readme.read_text("utf-8") == before
    assert any("demo/number" in message for message in consistency.problems(own))
