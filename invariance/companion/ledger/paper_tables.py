"""The papers' tables with our results in the same cells: `paper_tables`, `table_of`.

``notebooks/tables.yml`` describes the layouts, and its head the form of a cell.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...evaluation.means import with_error
from ..errors import LedgerError
from ..files import AS_PRINTED, read_yaml
from .claims import Ledger
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


def read_layouts(path: Path) -> dict[str, Any]:
    """Return the layouts in a file by the names of the tables; none if there is no such file."""
    if not path.is_file():
        return {}
    layouts = read_yaml(path, AS_PRINTED)
    if not isinstance(layouts, dict):
        raise LedgerError(f"{path} must hold a mapping from <paper>/<table> to a layout")
    return layouts


def table_of(
    name: str,
    layout: Mapping[str, Any],
    ledger: Ledger,
    results: Mapping[str, Entry],
    counting: AbstractSet[str],
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
        The entry of ``results.json`` of each measured claim, by its id.
    counting : set of str
        The claims whose result counts; only their cells have a shade.

    Raises `LedgerError` for a missing field, a row of another length than the heading, an unknown
    claim, or a position that a claim does not have.
    """
    sources = _Sources(name.split("/")[0], ledger, results, counting)
    try:
        columns = tuple(layout["columns"])
        rows = []
        for label, specifications in layout["rows"].items():
            if len(specifications) != len(columns) - 1:
                problem = f"{len(specifications)} cells below {len(columns) - 1} columns"
                raise LedgerError(f"table {name}, row {label!r}: {problem}")
            cells = tuple(sources.cell(specification) for specification in specifications)
            rows.append(TableRow(label, cells, tuple(sources.remarks(cells))))
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


@dataclass(frozen=True)
class _Sources:
    """The claims of a paper and their results, from which cells are made."""

    paper: str
    ledger: Ledger
    results: Mapping[str, Entry]
    counting: AbstractSet[str]

    def cell(self, specification: Any) -> Cell:
        """Return the cell that an entry of a layout describes."""
        if not specification:
            return Cell()
        if isinstance(specification, str):
            short, _, position = specification.partition(" ")
            return self._cell_of_number(short, int(position or 0))
        printed = specification.get("printed", "")
        if "claim" not in specification:
            return Cell(printed=printed)
        claim = self.ledger[f"{self.paper}/{specification['claim']}"]
        ours = _score(specification["score"], self.results.get(claim.id))
        return Cell(printed=printed, ours=ours, claim=claim.id)

    def _cell_of_number(self, short: str, position: int) -> Cell:
        """Return the cell of one printed number of a claim."""
        claim = self.ledger[f"{self.paper}/{short}"]
        n_numbers = len(claim.paper)
        if position >= n_numbers:
            fault = f"{claim.id} has {n_numbers} printed numbers"
            raise LedgerError(f"a table names number {position} of them, counted from 0; {fault}")
        printed = claim.paper[position]
        recorded = _recorded_number(self.results.get(claim.id), position)
        verdict = None
        if recorded is not None:
            verdict = judge_again(replace(claim, paper=(printed,)), recorded)
        if verdict is None:
            return Cell(printed=printed, claim=claim.id)
        if claim.id not in self.counting:
            return Cell(printed=printed, ours=verdict.ours, claim=claim.id)
        shade = SHADES.get(verdict.verdict, "")
        return Cell(printed, verdict.ours, shade, verdict.verdict, claim.id)

    def remarks(self, cells: Iterable[Cell]) -> Iterator[str]:
        """Yield the counterfactuals of the claims in a row, each once."""
        for claim_id in dict.fromkeys(cell.claim for cell in cells if cell.claim):
            entry = self.results.get(claim_id) or {}
            for counterfactual in entry.get("counterfactuals") or ():
                yield counterfactual["text"]


def _recorded_number(entry: Entry | None, position: int) -> dict[str, Any] | None:
    """Return what an entry records for one of its numbers, or None."""
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
