"""One claim at a time: what the paper states, what was measured, and what a rerun costs."""

from contextlib import suppress
from typing import Any

from .errors import NotebookError
from .files import read_text
from .ledger.claims import Ledger, load_ledger
from .ledger.results import read_results
from .ledger.scoreboard import Row, clipped, published_results, rows_of
from .ledger.verdicts import at_fault
from .paths import Paths


def published(paths: Paths, claim_id: str) -> Row:
    """The claim with what counts for it, and the notebook that records it."""
    ledger = Ledger({claim_id: load_ledger(paths.ledger)[claim_id]})
    (row,) = rows_of(ledger, published_results(paths), paths)
    if row.notebook:
        return row
    for notebook in paths.all_notebooks():
        with suppress(NotebookError):  # one that cannot be read takes no other down
            if f'"{claim_id}"' in read_text(paths.source(notebook), NotebookError):
                return Row(row.claim, notebook=notebook)
    raise NotebookError(f"no notebook records the claim {claim_id} yet")


def fresh(paths: Paths, row: Row, profile: str) -> Row:
    """The same claim with what the notebook's run here has recorded for it."""
    results, _ = read_results(paths.output(row.notebook, profile), row.notebook)
    entry = (results or {"claims": {}})["claims"].get(row.claim.id)
    return Row(row.claim, entry, row.notebook, profile, row.digest)


def told(paths: Paths, row: Row) -> dict[str, str]:
    """What there is to say of a claim, by name; whatever is empty is left out."""
    claim = row.claim
    printed = f"{claim.printed} {claim.unit}".strip()
    better = f", {claim.better} is better" if claim.better in ("higher", "lower") else ""
    real = {"full": "real data", "generated": "generated data"}[claim.data]
    said = {
        "claim": f"{claim.id}, {claim.kind}, {real}",
        "source": row.where,
        "states": claim.says,
        "paper": printed and f"{printed}{better}",
        **measured(row),
        "note": row.words,
        "limits": claim.limits,
        "program": "repeats the authors' own program" if claim.program else "",
        "protocol": claim.protocol,
        "standing": row.registration.said if row.registration else "",
        "notebook": row.notebook,
        "a rerun": _cost(paths, row.notebook),
    }
    return {name: " ".join(text.split()) for name, text in said.items() if text}


def measured(row: Row) -> dict[str, str]:
    """Verdict, our number, its interval against the paper, and what that rests on."""
    result: Any = row.result or {}
    return {
        "verdict": row.verdict if row.profile == "full" else result.get("verdict", row.verdict),
        "ours": clipped(row.ours),
        "why": clipped(at_fault(result.get("reason", ""))),
        "rests on": row.beside,
    }


def _cost(paths: Paths, notebook: str) -> str:
    results, _ = read_results(paths.published(notebook), notebook)
    if results is None:
        return ""
    spent = results["volatile"]
    where = f", on {name}" if (name := spent["hardware"].get("processor")) else ""
    memory = "at least " * bool(spent["cached_s"]) + f"{spent['peak_memory_mb']:,.0f} MiB"
    return f"{duration(spent['wall_s'] + spent['cached_s'])}, {memory}{where}"


def duration(seconds: float) -> str:
    """Seconds as a reader takes them.

    >>> duration(9), duration(150), duration(8000)
    ('9.0 s', '2 min 30 s', '2 h 13 min')
    """
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
