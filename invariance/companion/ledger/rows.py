"""What counts for each claim: `Row`, one per entry of the ledger, from the recorded results."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from invariance.companion.errors import LedgerError
from invariance.companion.ledger.claims import Claim, Ledger, paper_label
from invariance.companion.ledger.protocols import registered, standing
from invariance.companion.ledger.results import read_results
from invariance.companion.ledger.verdicts import VERDICTS, Verdict, beside, judge_again
from invariance.companion.paths import Paths

__all__ = ["OPEN", "UNFOUNDED", "Row", "published_results", "refuse_unfounded", "rows_of"]

OPEN = "open"  # no full run has recorded the claim
UNFOUNDED = "not what its numbers give"


@dataclass(frozen=True)
class Row:
    """A claim with what was measured for it, and by which notebook.

    Attributes
    ----------
    claim : Claim
    result : mapping or None
        The claim's entry of ``results.json``.
    notebook, profile : str
    digest : str or None
        Of the protocol that counts.
    """

    claim: Claim
    result: Mapping[str, Any] | None = None
    notebook: str = ""
    profile: str = ""
    digest: str | None = None

    @property
    def verdict(self) -> str:
        """What counts: the verdict of a full run by the registered protocol, judged again."""
        if self.result is None or self.profile != "full":
            return OPEN
        said = standing(self.result, self.digest)
        return said if said not in VERDICTS or self.founded else UNFOUNDED

    @property
    def founded(self) -> bool:
        """Whether the recorded verdict is what the rule gives for the recorded numbers."""
        entry = self.result or {}
        told = tuple(entry.get(key) for key in Verdict._fields)
        return (
            entry.get("kind") == self.claim.kind
            and judge_again(self.claim, entry["recorded"]) == told
        )

    @property
    def beside(self) -> str:
        """Margin, tightness and repetitions, as text."""
        return beside(self.claim, self.result["recorded"]) if self.result else ""

    @property
    def where(self) -> str:
        """``"Miller 1999, theorem 2"``."""
        return f"{paper_label(self.claim.paper_key)}, {self.claim.source}"


def published_results(paths: Paths) -> list[dict[str, Any]]:
    """The committed results of full runs that can be read; `invariance check` lists the others."""
    found = []
    for path in sorted(paths.figures.glob("*/*/results.json")):
        if not path.parent.name.startswith("."):  # being published
            name = f"{path.parent.parent.name}/{path.parent.name}"
            content, _ = read_results(path.parent, name)
            if content is not None and content["profile"] == "full":
                found.append(content)
    return found


def rows_of(ledger: Ledger, results: Iterable[Mapping[str, Any]], paths: Paths) -> list[Row]:
    """A row for each claim, in the ledger's order.

    Parameters
    ----------
    ledger : Ledger
    results : iterable of mapping
        Contents of ``results.json``; a later one counts before an earlier one, and one that
        counts before one that does not: a claim may have moved to another notebook.
    paths : Paths
    """
    found: dict[str, list[Row]] = {}
    for content in results:
        notebook, profile = content["notebook"], content["profile"]
        for name, entry in content["claims"].items():
            if name in ledger:
                digest = registered(ledger[name], paths, notebook)
                row = Row(ledger[name], entry, notebook, profile, digest)
                found.setdefault(name, []).append(row)
    best = (
        sorted(found.get(claim.id, [Row(claim)]), key=lambda row: row.verdict in VERDICTS)[-1]
        for claim in ledger.values()
    )
    return list(best)


def refuse_unfounded(rows: Iterable[Row]) -> None:
    """Nothing is written of verdicts that do not follow from the recorded numbers.

    Raises
    ------
    LedgerError
    """
    if wrong := [row.claim.id for row in rows if row.verdict == UNFOUNDED]:
        raise LedgerError(
            f"the verdict on {', '.join(wrong)} does not follow from the recorded numbers and the "
            "ledger; run the notebook again (--resume suffices)"
        )
