"""The command ``invariance export paper-json``: `paper_json`.

paper.json (Canedo, 2026) is a JSON file beside a paper that other programs read: the claims with
stable ids, what is not claimed, and the exact command that reproduces each one.
"""

from importlib.metadata import version
from typing import Any

from .ledger.claims import DATA, load_ledger, read_papers
from .ledger.rows import Row, published_results, rows_of
from .paths import Paths

#: The identifier of a claim in paper.json is a letter and a number; its own id is in its evidence.
_CLAIM = "C{number}"
_ENVIRONMENT = "Python 3.11 or newer; pip install '.[companion]' in a clone of invariance"


def paper_json(paths: Paths) -> dict[str, Any]:
    """Return the ledger, its results and its commands in the form of paper.json.

    Claims are numbered in the order of the ledger. The evidence of a claim is its id, the page of
    its notebook and its verdict; its limits are among the things that are not claimed.
    """
    papers = read_papers(paths)
    ledger = load_ledger(paths.ledger)
    rows = rows_of(ledger, published_results(paths), paths)
    exported = {
        "id": _kebab_case(papers["name"]),
        "title": papers["title"] or papers["name"],
        "version": version("invariance"),
        "status": "draft",
        "authors": [{"name": f"The authors of the companion {papers['name']}"}],
        "abstract": _abstract(papers, rows),
        "claims": [_claim(number, row) for number, row in enumerate(rows, 1)],
        "does_not_claim": _limits(rows),
        "reproducibility": {
            "data": "Data sets are downloaded, or read from the folder INVARIANCE_DATA.",
            "environment": _ENVIRONMENT,
            "commands": [_command(row) for row in rows],
            "agent_friendly": True,
            "human_intervention_required": False,
        },
    }
    if papers["repository"]:
        exported["repository"] = papers["repository"]
    return exported


def _kebab_case(name: str) -> str:
    return "-".join(name.lower().replace("_", "-").split())


def _abstract(papers: dict[str, Any], rows: list[Row]) -> str:
    titles = [f"{paper['title']} ({paper['authors']})" for paper in papers["papers"].values()]
    n_verdicts = sum(row.counts for row in rows)
    counts = f"{len(rows)} claims, {n_verdicts} of them with a verdict from a run at full scale"
    return f"A companion to: {'; '.join(titles)}. It tests {counts}."


def _claim(number: int, row: Row) -> dict[str, Any]:
    claim = row.claim
    evidence = [claim.id, claim.source, f"verdict: {row.verdict}"]
    if row.notebook:
        evidence.append(f"notebooks/{row.notebook}.py")
    if row.ours:
        evidence.append(f"measured: {row.ours}")
    return {
        "id": _CLAIM.format(number=number),
        "statement": claim.says or claim.source,
        "evidence": evidence,
    }


def _limits(rows: list[Row]) -> list[str]:
    """Return one sentence for each limit, erratum and finding outside of the papers."""
    limits = ["That a verdict holds for another protocol than the one that is registered with it."]
    for number, row in enumerate(rows, 1):
        name = f"{_CLAIM.format(number=number)} ({row.claim.id})"
        if row.has_stand_in:
            limits.append(f"{name}: tested on {DATA['stand-in']}, not on the paper's data")
        if row.claim.limits:
            limits.append(f"{name}: {row.claim.limits}")
        if row.claim.erratum is not None:
            limits.append(f"{name} as printed; what holds: {row.claim.erratum.holds}")
        if not row.claim.is_scored:
            limits.append(f"{name}: no sentence of the paper states it")
    return limits


def _command(row: Row) -> str:
    return f"invariance claim {row.claim.id} --run"
