"""What counts for each claim: `Row`, one per entry of the ledger, from the recorded results.

A verdict that counts is computed here from the recorded numbers, whatever the results say of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..paths import Paths
from .claims import Claim, Ledger, paper_label
from .results import read_results
from .settings import registered, standing
from .verdicts import VERDICTS, beside, judge_again

OPEN = "open"  # no full run has recorded the claim


@dataclass(frozen=True)
class Row:
    """A claim, its entry of ``results.json``, notebook and profile, the protocol that counts."""

    claim: Claim
    result: Mapping[str, Any] | None = None
    notebook: str = ""
    profile: str = ""
    digest: str | None = None

    @property
    def verdict(self) -> str:
        """What counts: the verdict of a full run by the registered protocol."""
        if self.result is None or self.profile != "full":
            return OPEN
        return standing(self.result, self.digest)

    @property
    def beside(self) -> str:
        """Margin, tightness and repetitions, as text."""
        return beside(self.claim, self.result["recorded"]) if self.result else ""

    @property
    def words(self) -> str:
        """The verdict in words: the ledger's standing remark, and what the run noted."""
        return " ".join(filter(None, (self.claim.note, (self.result or {}).get("note"))))

    @property
    def where(self) -> str:
        """``"Miller 1999, theorem 2"``."""
        return f"{paper_label(self.claim.paper_key)}, {self.claim.source}"


def published_results(paths: Paths) -> list[dict[str, Any]]:
    """The committed results of full runs that can be read; `invariance check` lists the others."""
    found = []
    for path in sorted(paths.figures.glob("*/*/results.json")):
        if not path.parent.name.startswith("."):  # being published
            content, _ = read_results(path.parent, f"{path.parts[-3]}/{path.parts[-2]}")
            if content is not None and content["profile"] == "full":
                found.append(content)
    return found


def rows_of(ledger: Ledger, results: Iterable[Mapping[str, Any]], paths: Paths) -> list[Row]:
    """A row for each claim, in the ledger's order.

    `results` are contents of ``results.json``. A later one counts before an earlier one, and one
    that counts before one that does not: a claim may have moved to another notebook.
    """
    found = {name: [Row(claim)] for name, claim in ledger.items()}
    for content in results:
        notebook, profile = content["notebook"], content["profile"]
        for name, entry in content["claims"].items():
            if name in ledger:
                digest = registered(ledger[name], paths, notebook)
                row = Row(ledger[name], entry, notebook, profile, digest)
                found[name] += _judged(row, entry)
    return [sorted(rows, key=lambda row: row.verdict in VERDICTS)[-1] for rows in found.values()]


def _judged(row: Row, entry: Mapping[str, Any]) -> list[Row]:
    """The row with its verdict by the rule; none where the numbers are not what the rule needs.

    One of an earlier protocol keeps the verdict of its time.
    """
    if row.profile != "full" or row.verdict != entry["verdict"]:
        return [row]
    same = entry["kind"] == row.claim.kind
    verdict = judge_again(row.claim, entry["recorded"]) if same else None
    if verdict is None:
        return []
    return [Row(row.claim, {**entry, **verdict._asdict()}, row.notebook, row.profile, row.digest)]
