"""The papers' tables: the numbers in their cells, the shades, and the project's layouts."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from invariance.companion.errors import LedgerError
from invariance.companion.ledger.claims import Claim, load_ledger, statement_digest
from invariance.companion.ledger.paper_tables import read_layouts, table_of, tables_of
from invariance.companion.ledger.rows import Row, all_rows
from invariance.companion.ledger.verdicts import judge
from invariance.companion.paths import Paths

PATHS = Paths(Path(__file__).parents[3])
LAYOUT = {
    "title": "Errors",
    "source": "table 1",
    "notebook": "demo/a",
    "columns": ["method", "one layer", "two layers"],
    "rows": {"ours": ["error 0", "error 1"], "cited": [{"printed": "9.5"}, ""]},
}


def measured(values, errors=(0.01, 0.01), better="neither", digest="d", **more) -> Row:
    """The row of a claim with two printed numbers, 10.0 and 8.00, and a margin of 0.5."""
    claim = Claim(
        "demo/error",
        "value",
        "table 1",
        "full",
        paper=("10.0", "8.00"),
        margin="0.5",
        better=better,
    )
    recorded = {"value": list(values), "se": list(errors), "repetitions": 5}
    entry = {
        "kind": "value",
        "recorded": recorded,
        "protocol": "d",
        "statement": statement_digest(claim),
        **judge(claim, recorded)._asdict(),
    }
    return Row(claim, entry, "demo/a", "full", digest, verdict_at_run=entry["verdict"], **more)


def table(row: Row, **changed):
    return table_of("demo/table1", LAYOUT | changed, {row.claim.id: row})


def shades(row: Row) -> list[str]:
    return [cell.shade for cell in table(row).rows[0].cells]


def test_a_cell_holds_the_papers_number_and_ours_with_its_error():
    first, second = table(measured([10.1234, 7.5], [0.2, 0.0])).rows[0].cells
    assert (first.printed, first.ours, first.text) == ("10.0", "10.1 ± 0.2", "10.0 / 10.1 ± 0.2")
    assert second.text == "8.00 / 7.50"
    cited, empty = table(measured([10, 8])).rows[1].cells
    assert (cited.text, cited.shade, empty.text) == ("9.5", "", "")


def test_each_number_has_the_shade_of_its_own_verdict():
    # Inside the margin, and outside it by more than two errors.
    assert shades(measured([10.1, 9.0])) == ["inside", "off"]
    # The mean inside and the interval not; both outside, within two errors.
    assert shades(measured([10.45, 8.55], [0.1, 0.1])) == ["near", "off"]
    # Outside on the better side counts as reproduced, on the worse one it does not.
    assert shades(measured([8.0, 9.0], better="lower")) == ["inside", "off"]


def test_a_number_without_a_run_that_counts_has_no_shade():
    waiting = table(measured([10.1, 8.0], digest="another")).rows[0].cells
    assert [(cell.text, cell.shade) for cell in waiting] == [
        ("10.0 / 10.10 ± 0.01", ""),
        ("8.00 / 8.00 ± 0.01", ""),
    ]
    row = Row(measured([1, 1]).claim)
    assert [cell.text for cell in table(row).rows[0].cells] == ["10.0", "8.00"]


def test_the_margin_shows_each_counterfactual_once_and_what_it_reaches():
    change = {"change": "sorted atoms", "recorded": {"value": [10.2, None], "se": [0.1, None]}}
    shown = table(measured([12, 12], counterfactuals=(change,)))
    assert shown.has_margin and shown.rows[0].margin == ("sorted atoms: 10.20 ± 0.10 ✓",)
    assert not table(measured([12, 12])).has_margin


def test_counterfactuals_of_several_groups_of_columns_name_their_groups():
    change = {"change": "sorted atoms", "recorded": {"value": [10.2, None], "se": [0.1, None]}}
    digits = measured([12, 12], counterfactuals=(change,))
    letters = replace(digits, claim=replace(digits.claim, id="demo/other"))
    layout = LAYOUT | {
        "groups": [["Digits", 1], ["Letters", 1]],
        "rows": {"both": ["error 0", "other 0"], "one": ["error 0", ""]},
    }
    both, one = table_of("demo/table1", layout, {"demo/error": digits, "demo/other": letters}).rows
    words = "sorted atoms: 10.20 ± 0.10 ✓"
    assert both.margin == (f"Digits: {words}", f"Letters: {words}")
    assert one.margin == (words,)


def test_csv_has_three_columns_for_each_of_the_papers():
    lines = list(csv.reader(io.StringIO(table(measured([10.1, 9.0])).as_csv())))
    assert lines[0][1:4] == ["one layer, paper", "one layer, ours", "one layer, verdict"]
    assert lines[1][:4] == ["ours", "10.0", "10.10 ± 0.01", "inside"]
    assert {len(line) for line in lines} == {2 + 3 * 2}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"rows": {"a": ["error 0"]}}, "1 cells below 2 columns"),
        ({"rows": {"a": ["eror 0", ""]}}, "demo/error"),
        ({"rows": {"a": ["error 2", ""]}}, "number 2"),
        ({"rows": {"a": ["error -1", ""]}}, "number -1"),
        ({"rows": {"a": ["error one", ""]}}, "malformed: .* 'one'"),
        ({"groups": [["layers", 3]]}, "malformed"),
        ({"rows": ["error 0"]}, "malformed"),
    ],
)
def test_a_layout_that_does_not_fit_the_ledger_is_refused(changed, named):
    with pytest.raises(LedgerError, match=named):
        table(measured([10, 8]), **changed)


def test_the_projects_tables_hold_every_number_that_a_table_of_a_paper_prints():
    ledger = load_ledger(PATHS.ledger)
    in_tables = set()
    for name, layout in read_layouts(PATHS.tables).items():
        for cells in layout["rows"].values():
            in_tables |= {f"{name.split('/')[0]}/{cell}" for cell in cells if isinstance(cell, str)}
    for claim in ledger.values():
        if claim.source.startswith("table") and claim.kind == "value" and claim.is_scored:
            for position in range(len(claim.paper)):
                names = {f"{claim.id} {position}"}
                if position == 0:
                    names.add(claim.id)
                assert names & in_tables, f"no table of the project shows {claim.id} {position}"


def test_the_projects_tables_name_scores_that_a_run_has_recorded():
    tables = {table.name: table for table in tables_of(PATHS.tables, all_rows(PATHS))}
    assert len(tables) >= 8
    for name, layout in read_layouts(PATHS.tables).items():
        for row, cells in zip(tables[name].rows, layout["rows"].values(), strict=True):
            for cell, specification in zip(row.cells, cells, strict=True):
                if "score" in specification:
                    assert cell.ours, f"{name}: nothing is recorded as {specification}"
