from collections import Counter
from pathlib import Path

import pytest

from invariance.companion.errors import LedgerError
from invariance.companion.ledger.claims import KINDS, load_ledger

ROOT = Path(__file__).parents[3]


def test_the_ledger_of_the_four_papers_loads():
    ledger = load_ledger(ROOT / "notebooks" / "claims.yml")
    papers = Counter(claim.paper_key for claim in ledger.values())
    assert set(papers) == {"mroueh2015", "raj2017", "liu2022", "soleymani2025"}
    assert {claim.kind for claim in ledger.values()} == set(KINDS)
    assert len(ledger) == 172
    svm = [claim for claim in ledger.values() if claim.id.startswith("liu2022/table2-mnist")]
    assert {claim.margin for claim in svm} == {"0.02", "0.3"}
    assert {claim.better for claim in svm} == {"higher", "neither"}
    assert ledger["mroueh2015/fig2-templates-bins"].share == "0.75"
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
        ("{id: demo/a, kind: same, source: s, data: full, margin: inf}", "'inf' is not a fin"),
        ("{id: demo/a, kind: same, source: s, data: full, margin: nan %}", "'nan %' is not a"),
        ("{id: demo/a, kind: order, source: s, data: full, protocol: [a]}", "protocol: .* not t"),
        ("{id: demo/a, kind: order, source: s, data: full, history: [a]}", "history: expected"),
        ("{id: demo/a, kind: value, source: s, data: full, better: up, paper: 1}", "better: 'up'"),
        (
            "{id: demo/a, kind: value, source: s, data: full, better: lower, margin: 1, paper: x}",
            "'x' is not",
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
    path.write_text(f"claims:\n  - {entry}\n")
    with pytest.raises(LedgerError, match=message):
        load_ledger(path)


def test_unreadable_ledgers(tmp_path):
    with pytest.raises(LedgerError, match="cannot read"):
        load_ledger(tmp_path / "none.yml")
    for text, message in {"claims: [": "not YAML", "other: []": "one list named 'claims'"}.items():
        (tmp_path / "bad.yml").write_text(text)
        with pytest.raises(LedgerError, match=message):
            load_ledger(tmp_path / "bad.yml")
