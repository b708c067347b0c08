"""The content of the pages about errata, tables and figures: `Evidence`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..errors import LedgerError
from ..files import read_yaml
from ..ledger.claims import Ledger
from ..ledger.errata import TABLE, Correction, corrections
from ..ledger.paper_tables import PaperTable, tables_of
from ..paths import Paths
from .material import Figure, Material

_FIELDS = {"title", "source", "paper", "rests", "ours"}


@dataclass(frozen=True)
class Pair:
    """A figure of a paper, in words, and our figures on the same axes, by notebook."""

    name: str
    title: str
    source: str
    paper: str
    rests: str
    figures: tuple[tuple[str, Figure], ...]

    @property
    def paper_key(self) -> str:
        """The key of the paper to which the figure belongs."""
        return self.name.split("/")[0]


class Evidence:
    """Errata, tables and figures of the papers beside our results."""

    def __init__(self, material: Material, paths: Paths) -> None:
        self._material = material
        self._paths = paths

    @cached_property
    def corrections(self) -> list[Correction]:
        """Formulas that are wrong as printed."""
        ledger = Ledger({row.claim.id: row.claim for row in self._material.rows})
        return corrections(self._paths.errata, ledger, self._paths.figures)

    @cached_property
    def tables(self) -> list[PaperTable]:
        """The papers' tables with our results in their cells."""
        return tables_of(self._paths.tables, self._material.rows)

    @cached_property
    def in_tables(self) -> set[str]:
        """The claims whose numbers stand in the papers' tables."""
        claims = set()
        for table in self.tables:
            for row in table.rows:
                claims |= {cell.claim for cell in row.cells if cell.ours}
        return claims

    @cached_property
    def pairs(self) -> list[Pair]:
        """The papers' figures; those without a published figure of ours are left out."""
        path = self._paths.figure_pairs
        if not path.is_file():
            return []
        content = read_yaml(path)
        if not isinstance(content, dict):
            raise LedgerError(f"{path} must hold a mapping from <paper>/<figure> to texts")
        pairs = [self._pair(name, entry) for name, entry in content.items()]
        return [pair for pair in pairs if pair.figures]

    def _pair(self, name: str, entry: Any) -> Pair:
        if not isinstance(entry, Mapping) or set(entry) != _FIELDS:
            fields = ", ".join(sorted(_FIELDS))
            raise LedgerError(f"{self._paths.figure_pairs}: {name}: expected the fields {fields}")
        texts = {key: text for key, text in entry.items() if key != "ours"}
        return Pair(name=name, figures=tuple(self._figures(entry["ours"])), **texts)

    def _figures(self, addresses: list[str]) -> Iterator[tuple[str, Figure]]:
        """Yield the published figures at some addresses, each with its notebook."""
        for address in addresses:
            notebook, _, figure = address.rpartition("/")
            known = self._material.notebooks.get(notebook)
            if known is not None and known.published is not None:
                drawn = known.published.figures.get(figure)
                if drawn is not None:
                    yield notebook, drawn

    def has_counterexample(self, notebook: str) -> bool:
        """Whether the page of a notebook shows the numbers of its counterexample."""
        known = self._material.notebooks.get(notebook)
        return known is not None and any(TABLE in outcome.tables for outcome in known.outcomes)
