"""The counting results of all claims: `Row`, `rows_of`.

Verdicts are computed again from the recorded numbers; the verdicts stored in the results are not
trusted.
"""

import re
from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..paths import Paths
from .claims import Claim, Ledger, load_ledger, paper_label, statement_digest
from .registration import Registrar, Registration
from .results import Entry, Results, read_results
from .settings import ANOTHER, REWORDED, UNREGISTERED, registered, standing, statement_at_run
from .verdicts import (
    NOT_TESTABLE,
    UNREADABLE,
    VERDICTS,
    beside,
    in_brief,
    judge_again,
    judge_parts,
    reached,
)

#: In place of the verdict on a claim that no full run has recorded.
OPEN = "open"
#: Verdicts that come from the numbers of a claim, so that each number has one of its own.
PER_NUMBER = tuple(name for name in VERDICTS if name != NOT_TESTABLE)
#: In place of the verdict on a claim that waits for a run, although it has a result.
UNCOUNTED = (ANOTHER, REWORDED, UNREGISTERED)


@dataclass(frozen=True)
class Row:
    """A claim and the result that counts for it.

    Attributes
    ----------
    claim : Claim
        The claim of the ledger.
    result : mapping or None
        Its entry of ``results.json``.
    notebook, profile : str
        The notebook and the profile of the run.
    digest : str or None
        The digest of the registered protocol.
    registration : Registration or None
        Whether the claim is shown to have been registered before the run; None if no full run has
        recorded it.
    counterfactuals : tuple of mappings
        Entries of ``results.json``, from whichever full run recorded them: results of a stated
        change, which count for nothing.
    verdict_at_run : str
        The verdict by the rules and words of the time of the run; empty without a full run.
    """

    claim: Claim
    result: Entry | None = None
    notebook: str = ""
    profile: str = ""
    digest: str | None = None
    registration: Registration | None = None
    counterfactuals: tuple[Entry, ...] = ()
    verdict_at_run: str = ""

    @property
    def verdict(self) -> str:
        """The verdict of a full run under the registered protocol, or the reason it is missing."""
        if self.result is None or self.profile != "full":
            return OPEN
        return standing(self.result, self.claim, self.digest)

    @property
    def counts(self) -> bool:
        """Whether the claim has a verdict, and does not wait for a run."""
        return self.verdict in VERDICTS

    @property
    def is_reworded(self) -> bool:
        """Whether the claim's words have changed since the result."""
        if self.result is None:
            return False
        before = statement_at_run(self.claim, self.result)
        return before not in (None, statement_digest(self.claim))

    @property
    def has_stand_in(self) -> bool:
        """Whether other data stand in for the paper's, by the ledger or by the run."""
        return self.claim.data == "stand-in" or bool((self.result or {}).get("data"))

    @property
    def has_verdict_of_run(self) -> bool:
        """Whether the verdict is the one by the rules and words of the time of the run."""
        return self.verdict == self.verdict_at_run

    @property
    def verdicts_of_numbers(self) -> list[str]:
        """The verdict on each printed number by itself, as `verdict` for the claim."""
        if self.verdict in PER_NUMBER and self.result is not None:
            parts = judge_parts(self.claim, self.result["recorded"])
            return [part.verdict for part in parts]
        return [self.verdict] * len(self.claim.paper)

    @property
    def reached(self) -> list[bool | None]:
        """Whether a counterfactual reaches each printed number; None if none was tried on it."""
        results: list[bool | None] = [None] * max(1, len(self.claim.paper))
        for entry in self.counterfactuals:
            with suppress(*UNREADABLE):  # The numbers suit an earlier statement of the claim.
                for i, reaches in enumerate(reached(self.claim, entry["recorded"])):
                    if reaches is not None:
                        results[i] = bool(results[i]) or reaches
        return results

    @property
    def ours(self) -> str:
        """Our result in a line; empty if no run has recorded the claim."""
        return in_brief(self.result or {})

    @property
    def beside(self) -> str:
        """Margin, tightness and repetitions, as text."""
        if self.result is None:
            return ""
        return beside(self.claim, self.result["recorded"])

    @property
    def words(self) -> str:
        """The ledger's standing remark and the note of the run."""
        note = (self.result or {}).get("note")
        return " ".join(text for text in (self.claim.note, note) if text)

    @property
    def where(self) -> str:
        """The place in the paper: ``"Miller 1999, theorem 2"``."""
        return f"{paper_label(self.claim.paper_key)}, {self.claim.source}"


def published_results(paths: Paths) -> list[dict[str, Any]]:
    """Return the committed results of full runs that can be read.

    `invariance check` lists the other ones.
    """
    published = []
    for path in sorted(paths.figures.glob("*/*/results.json")):
        if path.parent.name.startswith("."):
            continue  # The folder is just being published.
        notebook = f"{path.parts[-3]}/{path.parts[-2]}"
        results, _ = read_results(path.parent, notebook)
        if results is not None and results["profile"] == "full":
            published.append(results)
    return published


def rows_of(ledger: Ledger, results: Sequence[Results], paths: Paths) -> list[Row]:
    """Return a row for each claim, in the ledger's order.

    `results` are contents of ``results.json``. If several of them hold a claim, because it has
    moved to another notebook, a result that counts is preferred.
    """
    candidates: dict[str, list[_Candidate]] = {
        name: [_Candidate(Row(claim), {})] for name, claim in ledger.items()
    }
    for content in results:
        notebook = content["notebook"]
        for name, entry in content["claims"].items():
            if name not in ledger:
                continue
            digest = registered(ledger[name], paths, notebook)
            profile = content["profile"]
            at_run = entry["verdict"] if profile == "full" else ""
            row = Row(ledger[name], entry, notebook, profile, digest, verdict_at_run=at_run)
            judged = _judged(row, entry)
            if judged is not None:
                candidates[name].append(_Candidate(judged, content))
    registrar = Registrar(paths)
    counterfactuals = _counterfactuals(results)
    rows = []
    for name, of_claim in candidates.items():
        row = _chosen(of_claim, registrar)
        rows.append(replace(row, counterfactuals=tuple(counterfactuals.get(name, ()))))
    return rows


def _counterfactuals(results: Iterable[Results]) -> dict[str, list[Entry]]:
    """Return the counterfactuals of full runs, by claim."""
    by_claim: dict[str, list[Entry]] = {}
    for content in results:
        if content["profile"] == "full":
            for name, entries in content["counterfactuals"].items():
                by_claim.setdefault(name, []).extend(entries)
    return by_claim


class _Candidate(NamedTuple):
    """A row and the results from which it comes."""

    row: Row
    results: Results


def _judged(row: Row, entry: Entry) -> Row | None:
    """Return a row that counts with its computed verdict, and any other row as it is.

    Return None if the recorded numbers cannot be judged.
    """
    if row.profile != "full" or row.verdict != entry["verdict"]:
        return row
    if entry["kind"] != row.claim.kind:
        return None
    verdict = judge_again(row.claim, entry["recorded"])
    if verdict is None:
        return None
    return replace(row, result={**entry, **verdict._asdict()})


def _chosen(candidates: Sequence[_Candidate], registrar: Registrar) -> Row:
    """Return the last row that counts, or else the last one, with its registration."""
    counting = [candidate for candidate in candidates if candidate.row.counts]
    row, results = (counting or candidates)[-1]
    if row.result is None or row.profile != "full":
        return row
    return replace(row, registration=registrar.of(row.claim, row.result, results))


def claims_named(claim: Claim, ledger: Container[str]) -> list[str]:
    """Return the other claims of the same paper that a protocol names, with or without the paper.

    >>> claim = Claim("p/few-bins", "order", "f6", "full", protocol="As fig3-speaker, 1,000 bins")
    >>> claims_named(claim, {"p/fig3-speaker", "p/few-bins"})
    ['p/fig3-speaker']
    """
    paper, _, _ = claim.id.partition("/")
    names = []
    for word in re.findall(r"[\w.]+(?:[-/][\w.]+)+", claim.protocol):
        name = word.rstrip(".").removeprefix(f"{paper}/")
        full_name = f"{paper}/{name}"
        if full_name != claim.id and full_name in ledger and full_name not in names:
            names.append(full_name)
    return names


def referring_to_another_protocol(rows: Sequence[Row]) -> list[Row]:
    """Return rows that count although a claim that their protocol names has another protocol now.

    A digest covers the words of a protocol, and not the protocols of the claims that it names. Only
    claims that the same run has recorded are compared.
    """
    by_id = {row.claim.id: row for row in rows}
    referring = []
    for row in rows:
        named = [by_id[name] for name in claims_named(row.claim, by_id)]
        changed = [other for other in named if other.verdict == ANOTHER]
        if row.counts and any(other.notebook == row.notebook for other in changed):
            referring.append(row)
    return referring


def all_rows(paths: Paths) -> list[Row]:
    """Return a row for each claim of the ledger, from the published results."""
    return rows_of(load_ledger(paths.ledger), published_results(paths), paths)


def faults(rows: Iterable[Row]) -> list[str]:
    """Return changes of claims without a history entry, and results that contradict a commit."""
    sentences = [row.registration.fault for row in rows if row.registration is not None]
    return list(dict.fromkeys(sentence for sentence in sentences if sentence))
