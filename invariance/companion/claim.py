"""The command ``invariance claim``: a claim's statement, its result, and the cost of a rerun."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from .errors import NotebookError
from .files import read_text
from .ledger.claims import DATA, Claim, Earlier, Ledger, load_ledger
from .ledger.results import read_results
from .ledger.rows import Row, published_results, rows_of
from .ledger.scoreboard import clipped, counterfactual
from .ledger.verdicts import at_fault
from .paths import Paths


def published(paths: Paths, name: str) -> Row:
    """Return a claim with the result that counts, and the notebook that records it.

    `name` is the id of the claim, or the end of its id alone.
    """
    claims = load_ledger(paths.ledger)
    claim_id = claims.full_id(name)
    ledger = Ledger({claim_id: claims[claim_id]})
    (row,) = rows_of(ledger, published_results(paths), paths)
    if row.notebook:
        return row
    for notebook in paths.all_notebooks():
        with suppress(NotebookError):  # An unreadable notebook does not hide the next one.
            if f'"{claim_id}"' in read_text(paths.source(notebook), NotebookError):
                return Row(row.claim, notebook=notebook)
    raise NotebookError(f"no notebook records the claim {claim_id} yet")


def ids_of(paths: Paths, paper: str) -> list[str]:
    """Return the ids of a paper's claims; none if the ledger has no such paper."""
    return [claim_id for claim_id in load_ledger(paths.ledger) if claim_id.startswith(f"{paper}/")]


def fresh(paths: Paths, row: Row, profile: str) -> Row:
    """Return the claim with the result of the notebook's run in this checkout."""
    results, _ = read_results(paths.output(row.notebook, profile), row.notebook)
    entry = None
    if results is not None:
        entry = results["claims"].get(row.claim.id)
    return Row(row.claim, entry, row.notebook, profile, row.digest)


def description(paths: Paths, row: Row) -> dict[str, str]:
    """Return the lines that describe a claim, by their titles, without empty ones."""
    claim = row.claim
    lines = {
        "claim": f"{claim.id}, {claim.topic}, {claim.kind}, {DATA[claim.data]}",
        "source": row.where,
        "states": claim.says,
        "paper": _printed(claim),
        **measured(row),
        "change": counterfactual(row),
        "note": row.words,
        "limits": claim.limits,
        "holds": claim.erratum.holds if claim.erratum else "",
        "program": "repeats the authors' own program" if claim.program else "",
        "protocol": claim.protocol or "none is registered yet",
        "words": _rewording(claim),
        "before": " | ".join(_earlier(result) for result in claim.history),
        "status": row.registration.said if row.registration else "",
        "score": "" if claim.is_scored else "not counted: no sentence of the paper states it",
        "notebook": row.notebook,
        "rerun": _cost(paths, row.notebook),
    }
    return {title: " ".join(text.split()) for title, text in lines.items() if text}


def _printed(claim: Claim) -> str:
    """Return the paper's numbers with their unit; empty if there are no numbers."""
    text = f"{claim.printed} {claim.unit}".strip()
    if text and claim.better in ("higher", "lower"):
        text += f", {claim.better} is better"
    return text


def _rewording(claim: Claim) -> str:
    """Return the words of the claim before its latest change, and why its result stands."""
    reworded = claim.reworded
    if reworded is None:
        return ""
    text = f"before: {reworded.words}"
    if reworded.stands:
        text += f"; the result stands: {reworded.stands}"
    return text


def _earlier(result: Earlier) -> str:
    """Return a result under an earlier protocol in one line."""
    verdict = result.verdict or "no verdict"
    return f"{verdict}: {clipped(result.gave, 120)} ({clipped(result.protocol, 200)})"


def measured(row: Row) -> dict[str, str]:
    """Return our verdict, our numbers, the comparison with the paper, and the evidence."""
    result: Mapping[str, Any] = row.result or {}
    verdict = row.verdict
    if row.profile != "full":
        verdict = result.get("verdict", verdict)
    return {
        "verdict": verdict,
        "ours": clipped(row.ours),
        "reason": clipped(at_fault(result.get("reason", ""))),
        "evidence": row.beside,
    }


def _cost(paths: Paths, notebook: str) -> str:
    """Return time and memory of the notebook's published run; empty without one."""
    results, _ = read_results(paths.published(notebook), notebook)
    if results is None:
        return ""
    spent = results["volatile"]
    seconds = duration(spent["wall_s"] + spent["cached_s"])
    memory = f"{spent['peak_memory_mb']:,.0f} MiB"
    if spent["cached_s"]:
        memory = f"at least {memory}"
    text = f"{seconds}, {memory}"
    processor = spent["hardware"].get("processor")
    if processor:
        text += f", on {processor}"
    return text


def duration(seconds: float) -> str:
    """Return a duration as text.

    >>> duration(9), duration(150), duration(8000)
    ('9.0 s', '2 min 30 s', '2 h 13 min')
    """
    if seconds < 100:
        return f"{seconds:.1f} s"
    all_minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(all_minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s"
