"""The papers' tables with our results in the same cells: `paper_tables`, `table_of`.

``notebooks/tables.yml`` describes the layouts, and its head the form of a cell.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...evaluation.means import with_error
from ..errors import LedgerError
from ..files import AS_PRINTED, read_yaml
from .claims import Claim, Ledger
from .results import Entry
from .verdicts import UNREADABLE, judge_again

#: The shades of cells by the verdict on their number; every other verdict leaves a cell unshaded.
SHADES = {
    "matched": "inside",
    "better": "inside",
    "near": "near",
    "inconclusive": "off",
    "short": "off",
    "differs": "off",
}
#: The signs of the shades where there are no colours.
SIGNS = {"inside": "✓", "near": "≈", "off": "✗"}


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
        above = [""] * len(self.columns)
        if self.groups:
            above = [""]
            for heading, width in self.groups:
                above += [heading] * width
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


def paper_tables(path: Path, ledger: Ledger, results: Mapping[str, Entry]) -> list[PaperTable]:
    """Return the tables that a file of layouts describes; none if there is no such file.

    `results` holds the entry of ``results.json`` that counts for each measured claim, by its id.
    """
    if not path.is_file():
        return []
    layouts = read_yaml(path, AS_PRINTED) or {}
    return [table_of(name, layout, ledger, results) for name, layout in layouts.items()]


def table_of(
    name: str, layout: Mapping[str, Any], ledger: Ledger, results: Mapping[str, Entry]
) -> PaperTable:
    """Return a table of a paper, with our results in its cells.

    Parameters
    ----------
    name : str
        ``<paper>/<table>``.
    layout : mapping
        An entry of ``notebooks/tables.yml``.
    ledger : Ledger
        The claims by id.
    results : mapping
        The entry of ``results.json`` that counts for each measured claim, by its id.

    Raises `LedgerError` for a missing field, a row of another length than the heading, an unknown
    claim, or a position that a claim does not have.
    """
    paper = name.split("/")[0]
    try:
        columns = tuple(layout["columns"])
        rows = []
        for label, specifications in layout["rows"].items():
            if len(specifications) != len(columns) - 1:
                problem = f"{len(specifications)} cells below {len(columns) - 1} columns"
                raise LedgerError(f"table {name}, row {label!r}: {problem}")
            cells = [_cell(entry, paper, ledger, results) for entry in specifications]
            margin = tuple(_remarks(cells, results))
            rows.append(TableRow(label, tuple(cells), margin))
        groups = tuple((heading, int(width)) for heading, width in layout.get("groups", []))
        return PaperTable(
            name=name,
            title=layout["title"],
            source=layout["source"],
            notebook=layout["notebook"],
            columns=columns,
            rows=tuple(rows),
            groups=groups,
            unit=layout.get("unit", ""),
            note=layout.get("note", ""),
        )
    except KeyError as error:
        raise LedgerError(f"table {name} has no field {error}") from error
    except (AttributeError, TypeError) as error:
        raise LedgerError(f"table {name} is malformed: {error}") from error


def _cell(
    specification: Any, paper: str, ledger: Ledger, results: Mapping[str, Entry]
) -> Cell:
    """Return the cell that an entry of a layout describes."""
    if not specification:
        return Cell()
    if isinstance(specification, str):
        short, _, position = specification.partition(" ")
        claim = ledger[f"{paper}/{short}"]
        return _cell_of_number(claim, int(position or 0), results.get(claim.id))
    printed = specification.get("printed", "")
    if "claim" not in specification:
        return Cell(printed=printed)
    claim = ledger[f"{paper}/{specification['claim']}"]
    ours = _score(specification["score"], results.get(claim.id))
    return Cell(printed=printed, ours=ours, claim=claim.id)


def _cell_of_number(claim: Claim, position: int, entry: Entry | None) -> Cell:
    """Return the cell of one printed number of a claim."""
    if position >= len(claim.paper):
        numbers = f"{len(claim.paper)} printed numbers"
        raise LedgerError(f"a table asks for number {position} of {claim.id}, which has {numbers}")
    printed = claim.paper[position]
    recorded = _recorded_number(entry, position)
    verdict = None
    if recorded is not None:
        verdict = judge_again(replace(claim, paper=(printed,)), recorded)
    if verdict is None:
        return Cell(printed=printed, claim=claim.id)
    shade = SHADES.get(verdict.verdict, "")
    return Cell(printed, verdict.ours, shade, verdict.verdict, claim.id)


def _recorded_number(entry: Entry | None, position: int) -> dict[str, Any] | None:
    """Return what an entry records for one number, or None."""
    try:
        recorded = dict((entry or {})["recorded"])
        for name in ("value", "se"):
            recorded[name] = [recorded[name][position]]
    except UNREADABLE:
        return None
    return recorded


def _score(name: str, entry: Entry | None) -> str:
    """Return a recorded score as text; empty if it is not recorded."""
    try:
        score = (entry or {})["recorded"]["scores"][name]
        return with_error(score["mean"], score["se"])
    except UNREADABLE:
        return ""


def _remarks(cells: list[Cell], results: Mapping[str, Entry]) -> Iterator[str]:
    """Yield the counterfactuals of a row's claims, each once."""
    for claim_id in dict.fromkeys(cell.claim for cell in cells if cell.claim):
        entry = results.get(claim_id) or {}
        for counterfactual in entry.get("counterfactuals") or ():
            yield counterfactual["text"]
