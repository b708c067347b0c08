"""No published number, setting or promise changes unseen: `guard`, and all of ``check``."""

import hashlib
import random
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from invariance.companion.errors import LedgerError
from invariance.companion.ledger import consistency, guard
from invariance.companion.ledger.claims import load_ledger
from invariance.companion.ledger.guard import alterations, departures, owners_text, record_digests
from invariance.companion.ledger.settings import read_settings
from invariance.companion.paths import Paths

from .test_scoreboard import board, publish

ROOT = Path(__file__).parents[3]
SEED = 20261124


@pytest.fixture
def guarded(project):
    project.write("demo/a")
    (publish(project, "demo/a", "number").parent / "scores.csv").write_text("haar,98.26\n")
    project.owners_digest.write_text(f"{'0' * 64}  claims.yaml\n")
    board(project)
    record_digests(project, project.figures)
    assert alterations(project) == []
    return project


def edited(content: bytes, dice: random.Random) -> bytes:
    """A byte, a digit or a word changed, or the end cut off; never the same."""
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
    files = [p for p in files if guarded.build not in p.parents]  # where nothing is published
    for number in range(200):
        path = dice.choice(files)
        before = path.read_bytes()
        path.write_bytes(edited(before, dice))
        found = consistency.problems(guarded)
        unseen = path == guarded.readme and path.read_bytes().startswith(before[: len(before) - 1])
        assert unseen or found, f"edit {number} of {path} with seed {SEED}"
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
    assert any(said in found for found in consistency.problems(guarded))
    path.unlink()
    assert consistency.problems(guarded) != []
    path.write_bytes(content)
    assert alterations(guarded) == []


def test_a_file_that_nobody_recorded_is_found(guarded):
    (guarded.figures / "demo/a/more.csv").write_text("1\n")
    (found,) = alterations(guarded)
    assert found.startswith("figures/demo/a/more.csv: nobody has recorded it")
    record_digests(guarded, guarded.figures / "demo/a")
    assert alterations(guarded) == []
    (guarded.figures / "demo/a/more.csv").unlink()
    assert alterations(guarded) == ["figures/demo/a/more.csv: recorded, and not there"]
    (guarded.figures / "demo/a/more.csv").symlink_to("/etc/hostname")
    assert "is not what was recorded" in alterations(guarded)[0]


DAMAGED = ["[" * 100_000, "- " * 100_000, "{a: " * 100_000, "a: &a [*a]", "claims: {id: [", "\0"]


@pytest.mark.parametrize("text", [*DAMAGED, "!!python/object:os.system {}"])
def test_damaged_yaml_is_an_error_and_no_crash(tmp_path, text):
    """libyaml recursed until the process died."""
    path = tmp_path / "claims.yml"
    path.write_text(text)
    for read in (load_ledger, read_settings):
        with pytest.raises(LedgerError, match=r"claims\.yml"):
            read(path)


def test_runners_that_publish_at_the_same_moment_lose_no_entry(guarded, monkeypatch):
    recorded = guard._recorded

    def slowly(paths: Paths) -> dict[str, str]:
        found = recorded(paths)
        time.sleep(0.2)  # the other has read as well before this one writes
        return found

    folders = [guarded.figures / "demo" / name for name in ("b", "c")]
    for folder in folders:
        folder.mkdir()
        (folder / "scores.csv").write_text(folder.name)
    with monkeypatch.context() as slower, ThreadPoolExecutor(2) as pool:
        slower.setattr(guard, "_recorded", slowly)
        list(pool.map(partial(record_digests, guarded), folders))
    assert alterations(guarded) == []


OWNERS = """\
# The rules.
claims:
  # ---- one
  - {id: demo/a, kind: order, source: f1, says: "a, beats b", data: full}
  - {id: demo/b, kind: same, source: f2, margin: 1, data: full}
"""
OURS = """\
# The rules.
claims:
  # ---- one
  - {id: demo/a, kind: order, source: f1, says: "a, beats b", data: full,
     protocol: &one "ten draws",
     history: [{protocol: "two draws", gave: "1"}]}
  - {id: demo/b, kind: same, source: f2, margin: 1, data: full,
     protocol: *one}
"""


@pytest.fixture
def edition(project, monkeypatch):
    monkeypatch.delenv("INVARIANCE_DATA", raising=False)
    digest = hashlib.sha256(OWNERS.encode()).hexdigest()
    project.owners_digest.write_text(f"{digest}  claims.yaml\n")
    return project


def test_ours_is_the_owners_and_it_is_compared():
    """Word for word, but for three fields of ours."""
    paths = Paths(ROOT)
    assert paths.owners_digest.is_file()
    assert departures(paths) == []
    assert owners_text(OURS) == owners_text(OWNERS) == OWNERS


@pytest.mark.parametrize(
    ("before", "after"),
    [("The rules", "Our rules"), ("beats", "equals"), ("margin: 1", "margin: 2"),
     ("  # ---- one\n", ""), ("full,\n     protocol: *one}", "generated}"),
     ("protocol: *one}", "protocol: *one}\n  - {id: demo/c, kind: order, source: f, data: full}")],
)  # fmt: skip
def test_any_other_difference_is_refused(edition, before, after):
    edition.ledger.write_text(OURS)
    assert departures(edition) == []
    assert before in OURS
    edition.ledger.write_text(OURS.replace(before, after))
    assert any("differs from its owner's edition" in said for said in departures(edition))


def test_an_owners_field_set_again_below_is_refused(edition):
    edition.ledger.write_text(OURS.replace("protocol: *one}", "protocol: *one,\n     margin: 9}"))
    (said,) = departures(edition)
    assert "demo/b: margin is the owner's" in said


def test_the_owners_file_beside_the_data_is_compared(edition, tmp_path, monkeypatch):
    edition.ledger.write_text(OURS)
    beside = tmp_path / "elsewhere" / "data"
    beside.mkdir(parents=True)
    monkeypatch.setenv("INVARIANCE_DATA", str(beside))
    (beside.parent / "claims.yaml").write_text(OWNERS)
    assert departures(edition) == []
    (beside.parent / "claims.yaml").write_text(OWNERS.replace("margin: 1", "margin: 3"))
    (said,) = departures(edition)
    assert "another edition" in said
