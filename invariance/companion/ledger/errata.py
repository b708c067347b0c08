"""Formulas that are wrong as printed, with a counterexample: `errata_of`.

``notebooks/errata.yml`` holds the formulas and sentences, and its head explains the fields. The
numbers come from the table ``counterexample`` that the claim's notebook has recorded.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import LedgerError
from ..files import read_text, read_yaml
from .claims import Claim, Ledger

#: The name of the table that a notebook records for an erratum.
TABLE = "counterexample"
#: In place of a sentence whose numbers no run has recorded.
NOT_MEASURED = "No full run has recorded the numbers yet."
_FIELDS = ("notebook", "title", "printed", "example", "holds", "verified")


@dataclass(frozen=True)
class Correction:
    """An erratum as readers see it.

    All texts are Markdown with formulas in dollars. ``example`` is the counterexample, and
    ``verified`` counts the comparisons behind the formula that holds.
    """

    claim: Claim
    notebook: str
    title: str
    printed: str
    example: str
    holds: str
    verified: str

    @property
    def anchor(self) -> str:
        """The id of the table below the notebook's cell, on its page of the site."""
        return f"table-{TABLE}"


def corrections(path: Path, ledger: Ledger, figures: Path) -> list[Correction]:
    """Return the errata that a file describes, in its order; an empty list without the file.

    `figures` is the folder of the published results. Raises `LedgerError` for a malformed entry.
    """
    if not path.is_file():
        return []
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise LedgerError(f"{path} must hold a mapping from claims to texts")
    listed = []
    for claim_id, texts in content.items():
        claim = ledger[claim_id]
        if not isinstance(texts, dict) or set(texts) != set(_FIELDS):
            raise LedgerError(f"{path}: {claim_id}: expected the fields {', '.join(_FIELDS)}")
        numbers = recorded_numbers(figures / texts["notebook"] / f"{TABLE}.csv")
        listed.append(correction_of(claim, texts, numbers))
    return listed


def correction_of(
    claim: Claim, texts: Mapping[str, str], numbers: Mapping[str, float] | None
) -> Correction:
    """Return an erratum with the recorded numbers in its sentences.

    Sentences contain fields such as ``%(exact).3f``. Raises `LedgerError` for a field without a
    number.
    """
    filled: dict[str, Any] = dict(texts)
    for name in ("example", "verified"):
        filled[name] = NOT_MEASURED
        if numbers is not None:
            try:
                filled[name] = texts[name] % numbers
            except (KeyError, TypeError, ValueError) as error:
                problem = f"the counterexample of {claim.id} has no number for {error}"
                raise LedgerError(f"{problem}: correct the sentence or run its notebook") from error
    return Correction(claim=claim, **filled)


def recorded_numbers(path: Path) -> dict[str, float] | None:
    """Return the one row of a table by its columns; None if there is no such table."""
    if not path.is_file():
        return None
    lines = list(csv.DictReader(read_text(path).splitlines()))
    if len(lines) != 1:
        raise LedgerError(f"{path}: expected one row of numbers, got {len(lines)}")
    return {name: float(value) for name, value in lines[0].items()}
