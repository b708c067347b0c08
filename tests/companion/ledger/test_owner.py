"""The ledger is its owner's edition, word for word, but for three fields of ours."""

import hashlib
from pathlib import Path

import pytest

from invariance.companion.ledger.guard import departures, owners_text
from invariance.companion.paths import Paths

ROOT = Path(__file__).parents[3]

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
    paths = Paths(ROOT)
    assert paths.owners_digest.is_file()
    assert departures(paths) == []


def test_our_fields_are_taken_out():
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
