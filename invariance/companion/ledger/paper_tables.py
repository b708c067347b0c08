"""The papers' tables with our results in the same cells: `paper_tables`, `table_of`.

``notebooks/tables.yml`` describes the layouts, and its head the form of a cell.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...evaluation.means import with_error
from ..errors import LedgerError
from ..files import AS_PRINTED, read_yaml
from .claims import Claim, Ledger
from .results import Entry
from .rows import Row
from .tally import outcome_of
from .verdicts import UNREADABLE, counterfactual_numbers, reached

#: The shades of cells by the outcome of their number; every other cell has none.
SHADES = {"reproduced": "inside", "near": "near", "undecided": "off", "not reproduced": "off"}
#: The signs of the shades where there are no colours.
SIGNS = {"inside": "✓", "near": "≈", "off": "✗"}
_MOST_DECIMALS = 12


@dataclass(frozen=True)
class Cell:
    """A number of a paper and ours.

    ``shade`` is ``inside`` (the margin), ``near``, ``off``, or empty if the number is no claim or
    has not been measured under its registered protocol.
    """

    printed: str = ""
    ours: str = ""
    shade: str = ""
    verdict: str = ""
    claim: str = ""

    @property
    def text(self) -> str:
        """Both numbers as text: ``"10.82 / 10.53 ± 0.14"``."""
        if not self.ours:
            return self.printed
        return f"{self.printed or '–'} / {self.ours}"

    @property
    def sign(self) -> str:
        """The shade as a sign."""
        return SIGNS.get(self.shade, "")


@dataclass(frozen=True)
class TableRow:
    """A row of a table: its label, its cells, and remarks for the margin."""

    label: str
    cells: tuple[Cell, ...]
    margin: tuple[str, ...] = ()


@dataclass(frozen=True)
class PaperTable:
    """A table in the paper's own layout.

    ``columns`` holds the heading of the labels and those of the cells; ``groups`` holds headings
    above them with the number of columns that each one spans.
    """

    name: str
    title: str
    source: str
    notebook: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    groups: tuple[tuple[str, int], ...] = ()
    unit: str = ""
    note: str = ""

    @property
    def paper_key(self) -> str:
        """The key of the paper to which the table belongs."""
        return self.name.split("/")[0]

    @property
    def file(self) -> str:
        """The name of the table's CSV file."""
        return f"{self.name.replace('/', '-')}.csv"

    @property
    def headings(self) -> list[str]:
        """The heading of each column in one line, with that of its group."""
        above = ["", *_spread_out(self.groups)] if self.groups else [""] * len(self.columns)
        pairs = zip(above, self.columns, strict=True)
        return [f"{group} {column}".strip() for group, column in pairs]

    @property
    def has_margin(self) -> bool:
        """Whether a row has a remark."""
        return any(row.margin for row in self.rows)

    def counts(self) -> dict[str, int]:
        """Return the number of cells of each shade."""
        shades = [cell.shade for row in self.rows for cell in row.cells]
        return {shade: shades.count(shade) for shade in SIGNS}

    def as_rows(self) -> list[dict[str, str]]:
        """Return the lines of the table by their headings, each cell as one text with its sign."""
        lines = []
        head, *headings = self.headings
        for row in self.rows:
            line = {head: row.label}
            for heading, cell in zip(headings, row.cells, strict=True):
                line[heading] = f"{cell.text} {cell.sign}".strip()
            if self.has_margin:
                line["counterfactual"] = "; ".join(row.margin)
            lines.append(line)
        return lines

    def as_csv(self) -> str:
        """Return the table as CSV, with a column each for paper, ours and shade."""
        head, *headings = self.headings
        names = [head]
        for heading in headings:
            names += [f"{heading}, paper", f"{heading}, ours", f"{heading}, verdict"]
        lines = [[*names, "counterfactual"]]
        for row in self.rows:
            line = [row.label]
            for cell in row.cells:
                line += [cell.printed, cell.ours, cell.shade]
            lines.append([*line, "; ".join(row.margin)])
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows(lines)
        return stream.getvalue()


def read_layouts(path: Path) -> dict[str, Any]:
    """Return the layouts in a file by the names of the tables; empty without the file."""
    if not path.is_file():
        return {}
    layouts = read_yaml(path, AS_PRINTED)
    if not isinstance(layouts, dict):
        raise LedgerError(f"{path} must hold a mapping from <paper>/<table> to a layout")
    return layouts


def tables_of(path: Path, rows: Iterable[Row]) -> list[PaperTable]:
    """Return the tables of a file of layouts, in its order; an empty list without the file."""
    by_claim = {row.claim.id: row for row in rows}
    return [table_of(name, layout, by_claim) for name, layout in read_layouts(path).items()]


def table_of(name: str, layout: Mapping[str, Any], rows: Mapping[str, Row]) -> PaperTable:
    """Return a table of a paper, with our results in its cells.

    Parameters
    ----------
    name : str
        ``<paper>/<table>``.
    layout : mapping
        An entry of ``notebooks/tables.yml``.
    rows : mapping
        The claims with their results, by the ids of the claims.

    Raises `LedgerError` for a missing field, a row of another length than the heading, an unknown
    claim, or a position that a claim does not have.
    """
    paper = name.split("/")[0]
    try:
        columns = tuple(layout["columns"])
        lines = []
        groups = tuple((heading, int(width)) for heading, width in layout.get("groups", []))
        groups_of_cells = _spread_out(groups) or [""] * (len(columns) - 1)
        for label, specifications in layout["rows"].items():
            if len(specifications) != len(columns) - 1:
                problem = f"{len(specifications)} cells below {len(columns) - 1} columns"
                raise LedgerError(f"table {name}, row {label!r}: {problem}")
            cells = tuple(_cell(entry, paper, rows) for entry in specifications)
            remarks = tuple(dict.fromkeys(_remarks(cells, groups_of_cells, rows)))
            lines.append(TableRow(label, cells, remarks))
        return PaperTable(
            name=name,
            title=layout["title"],
            source=layout["source"],
            notebook=layout["notebook"],
            columns=columns,
            rows=tuple(lines),
            groups=groups,
            unit=layout.get("unit", ""),
            note=layout.get("note", ""),
        )
    except LedgerError:
        raise
    except KeyError as error:
        raise LedgerError(f"table {name} has no field {error}") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise LedgerError(f"table {name} is malformed: {error}") from error


def _cell(specification: Any, paper: str, rows: Mapping[str, Row]) -> Cell:
    """Return the cell that an entry of a layout describes."""
    if not specification:
        return Cell()
    if isinstance(specification, str):
        short, _, position = specification.partition(" ")
        return _cell_of_number(_row(f"{paper}/{short}", rows), int(position or 0))
    printed = specification.get("printed", "")
    if "claim" not in specification:
        return Cell(printed=printed)
    row = _row(f"{paper}/{specification['claim']}", rows)
    return Cell(printed=printed, ours=_score(specification["score"], row), claim=row.claim.id)


def _row(claim_id: str, rows: Mapping[str, Row]) -> Row:
    """Return the row of a claim; a `LedgerError` names similar ones."""
    if claim_id not in rows:
        Ledger({name: row.claim for name, row in rows.items()})[claim_id]  # It raises the error.
    return rows[claim_id]


def _cell_of_number(row: Row, position: int) -> Cell:
    """Return the cell of one printed number of a claim."""
    claim = row.claim
    n_numbers = len(claim.paper)
    if not 0 <= position < n_numbers:
        fault = f"{claim.id} has {n_numbers} printed numbers"
        raise LedgerError(f"a table names number {position} of them, counted from 0; {fault}")
    printed = claim.paper[position]
    ours = _ours(row.result, claim, position)
    if row.profile != "full" or not ours:
        return Cell(printed=printed, claim=claim.id)
    verdict = row.verdicts_of_numbers[position]
    return Cell(
        printed=printed,
        ours=ours,
        shade=SHADES.get(outcome_of(verdict), ""),
        verdict=verdict,
        claim=claim.id,
    )


def _ours(entry: Entry | None, claim: Claim, position: int) -> str:
    """Return one of the recorded numbers of a claim as text; empty if it is not recorded."""
    try:
        recorded = (entry or {})["recorded"]
        value = recorded["value"][position]
        se = recorded["se"][position]
        return number_beside(value, se, claim.decimals[position])
    except UNREADABLE:
        return ""


def number_beside(value: float, se: float, decimals: int) -> str:
    """Return a number with its error, and with the decimals of the paper's number beside it.

    There are more decimals if the error would otherwise be zero.

    >>> number_beside(13.8731, 0.058, decimals=2), number_beside(86.946, 0.082, decimals=0)
    ('13.87 ± 0.06', '86.9 ± 0.1')
    """
    if not se:
        return f"{value:.{decimals}f}"
    while decimals < _MOST_DECIMALS and round(10**decimals * se) == 0:
        decimals += 1
    return f"{value:.{decimals}f} ± {se:.{decimals}f}"


def _score(name: str, row: Row) -> str:
    """Return a score that a full run has recorded for a claim; empty without such a score."""
    if row.profile != "full":
        return ""
    try:
        score = (row.result or {})["recorded"]["scores"][name]
        return with_error(score["mean"], score["se"])
    except UNREADABLE:
        return ""


def _spread_out(groups: Iterable[tuple[str, int]]) -> list[str]:
    """Return the heading of the group above each column.

    >>> _spread_out([("digits", 2), ("letters", 1)])
    ['digits', 'digits', 'letters']
    """
    headings = []
    for heading, width in groups:
        headings += [heading] * width
    return headings


def _remarks(
    cells: Sequence[Cell], groups: Sequence[str], rows: Mapping[str, Row]
) -> Iterator[str]:
    """Yield the counterfactuals of the claims of some cells, in words.

    If they belong to several groups of columns, each begins with the name of its group.
    """
    remarks = {}
    for cell, group in zip(cells, groups, strict=True):
        if cell.claim and cell.claim not in remarks:
            remarks[cell.claim] = (group, _counterfactuals(rows[cell.claim]))
    names = {group for group, sentences in remarks.values() if sentences}
    for group, sentences in remarks.values():
        for sentence in sentences:
            yield f"{group}: {sentence}" if len(names) > 1 else sentence


def _counterfactuals(row: Row) -> list[str]:
    """Return the counterfactuals of a claim, in words."""
    sentences = []
    for entry in row.counterfactuals:
        with suppress(*UNREADABLE):  # The numbers suit an earlier statement of the claim.
            sentences.append(counterfactual_in_words(row.claim, entry))
    if not sentences and row.claim.counterfactual:
        sentences.append(f"not run yet: {row.claim.counterfactual}")
    return sentences


def counterfactual_in_words(claim: Claim, entry: Entry) -> str:
    """Return a counterfactual with a sign for each number that it reaches or misses.

    >>> numbers = {"paper": ("61.02", "62.79"), "margin": "1", "better": "higher"}
    >>> claim = Claim("p/c", "value", "t", "full", **numbers)
    >>> recorded = {"value": [61.9, 60.0], "se": [0.1, 0.1]}
    >>> counterfactual_in_words(claim, {"change": "mirrored", "recorded": recorded})
    'mirrored: 61.90 ± 0.10 ✓, 60.00 ± 0.10 ✗'
    """
    recorded = entry["recorded"]
    texts = counterfactual_numbers(claim, recorded)
    parts = [texts]
    if claim.kind == "value":
        parts = texts.split(", ")
    words = []
    for text, reaches in zip(parts, reached(claim, recorded), strict=True):
        if reaches is not None:
            sign = SIGNS["inside"] if reaches else SIGNS["off"]
            words.append(f"{text} {sign}")
    return f"{entry['change']}: {', '.join(words)}"
