"""The scoreboard of ``README.md``: a table written from the committed full-scale results.

It stands between two marker lines, so that a command can write it and a check can compare it.
"""

import html
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from invariance.companion.errors import CompanionError
from invariance.companion.ledger.claims import Claim, Ledger, load_ledger, paper_label
from invariance.companion.ledger.protocols import ANOTHER, UNREGISTERED, registered, standing
from invariance.companion.ledger.results import read_results
from invariance.companion.ledger.verdicts import FAILED, KEPT, VERDICTS, at_fault, beside
from invariance.companion.paths import Paths

__all__ = ["BEGIN", "END", "GALLERY", "ScoreboardError", "scoreboard", "with_scoreboard"]

BEGIN = "<!-- scoreboard: written by `invariance scoreboard` from figures/*/*/results.json -->"
END = "<!-- end of scoreboard -->"

_LONGEST = 120  # characters of numbers
_NONE = "no full-scale verdict yet"

# One figure a paper: notebook, name, and what to look at. Each appears once its notebook has been
# run at full scale.
GALLERY = (
    ("mroueh2015/xperm", "accuracy-against-samples",
     "Letters in any order (Mroueh 2015): features that pool distributions over the group beside "
     "the exact invariant kernel."),
    ("raj2017/rotated_mnist", "table2",
     "Rotated digits (Raj 2017): orbit embeddings with a local density on rotations."),
    ("liu2022/few_samples", "table2",
     "A few hundred digits (Liu 2022): kernels that look for the best alignment."),
    ("soleymani2025/sphere_permutations", "comparison",
     "Permutations of up to 30 coordinates (Soleymani 2025): invariant to rounding under 30! "
     "elements, from two generators."),
)  # fmt: skip


class ScoreboardError(CompanionError, ValueError):
    """``README.md`` has no place for the scoreboard."""


def scoreboard(paths: Paths) -> str:
    """The scoreboard as Markdown: a line per paper, what is not reproduced and why, figures.

    Parameters
    ----------
    paths : Paths

    Returns
    -------
    str
        Without the marker lines.

    Raises
    ------
    LedgerError
        If the ledger cannot be read.
    """
    ledger = load_ledger(paths.ledger)
    measured = list(_full_scale(paths, ledger))
    # a claim that moved to another notebook may have an older result, which does not count
    measured.sort(key=lambda pair: pair[1]["standing"] in VERDICTS)
    results = dict(measured)
    counts: dict[str, Counter[str]] = {}
    for claim in ledger.values():
        verdict = results[claim.id]["standing"] if claim.id in results else _NONE
        counts.setdefault(claim.paper_key, Counter())[verdict] += 1
    total = sum(counts.values(), Counter())
    columns = [*VERDICTS, *(c for c in (ANOTHER, UNREGISTERED) if total[c]), _NONE]
    lines = [
        f"**{sum(total[v] for v in KEPT)} of the {total.total()} claims are reproduced** "
        "(matched or better) at full scale, by protocols registered beforehand.",
        *_uncounted(results),
        "",
        f"| paper | claims | {' | '.join(columns)} |",
        f"|---|{'---:|' * (1 + len(columns))}",
    ]
    for paper, found in counts.items():
        lines.append(_row(f"[{paper_label(paper)}](notebooks/{paper})", found, columns))
    lines.append(_row("all", total, columns))
    fallen = [
        (claim, results[claim.id])
        for claim in ledger.values()
        if claim.id in results and results[claim.id]["standing"] in FAILED
    ]
    if fallen:
        lines += ["", "What is not reproduced, with the measured reason:", ""]
        lines += [_explained(claim, entry) for claim, entry in fallen]
    for notebook, name, caption in GALLERY:
        published, _ = read_results(paths.published(notebook), notebook)
        drawn = published["figures"] if published else []
        alts = [figure["alt"] for figure in drawn if figure["name"] == name]
        for alt in alts:
            image = (paths.published(notebook) / f"{name}.png").relative_to(paths.root).as_posix()
            alt = html.escape(alt, quote=False).replace("[", "(").replace("]", ")")
            lines += ["", f"{caption} [The notebook](notebooks/{notebook}.py).", ""]
            lines += [f"![{alt}]({image})"]
    changed = [claim for claim in ledger.values() if claim.history]
    if changed:
        lines += [
            "",
            "<details>",
            f"<summary>Protocols changed after a first result ({len(changed)} claims), and "
            "what they gave before</summary>",
            "",
            *(_changed(claim, results.get(claim.id)) for claim in changed),
            "",
            "</details>",
        ]
    return "\n".join(lines)


def _full_scale(paths: Paths, ledger: Ledger) -> Iterator[tuple[str, dict[str, Any]]]:
    """Recorded claims of the committed results, each with its notebook and its standing."""
    for path in sorted(paths.figures.glob("*/*/results.json")):
        if path.parent.name.startswith("."):
            continue  # being published
        # `invariance check` reports what cannot be read
        content, _ = read_results(path.parent, f"{path.parent.parent.name}/{path.parent.name}")
        if content is not None and content["profile"] == "full":
            notebook = content["notebook"]
            for claim_id, entry in content["claims"].items():
                if claim_id in ledger:
                    counts = standing(entry, registered(ledger[claim_id], paths, notebook))
                    yield claim_id, {**entry, "notebook": notebook, "standing": counts}


def _uncounted(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is measured, yet does not count, and how it came out by the rules of its time."""
    lines = []
    for state, why in (
        (
            UNREGISTERED,
            "were measured before protocols were registered (the ledger's first edition)",
        ),
        (ANOTHER, "were measured by another protocol than the registered one"),
    ):
        found = [entry["verdict"] for entry in results.values() if entry["standing"] == state]
        kept = sum(verdict in KEPT for verdict in found)
        if found:
            lines.append(
                f"{len(found)} results {why}: they do not count until they are measured again. By "
                f"the rules of their time {kept} of them were matched or better."
            )
    return lines


def _row(label: str, found: Counter[str], columns: list[str]) -> str:
    cells = [label, str(found.total()), *(str(found[column]) for column in columns)]
    return f"| {' | '.join(cells)} |"


def _explained(claim: Claim, entry: dict[str, Any]) -> str:
    reasons = [at_fault(entry["reason"]), entry.get("note") or ""]
    why = html.escape(". ".join(text.rstrip(".") for text in reasons if text), quote=False)
    rests = html.escape(beside(claim, entry["recorded"]), quote=False)
    return (
        f"- **{entry['verdict']}** [`{claim.id}`](notebooks/{entry['notebook']}.py) "
        f"({claim.source}): {why}{f' ({rests})' if rests else ''}."
    )


def _changed(claim: Claim, entry: dict[str, Any] | None) -> str:
    earlier = "; ".join(
        f"{e.gave}{f' ({e.verdict})' if e.verdict else ''}, {e.protocol}" for e in claim.history
    )
    ours = entry["ours"] if entry else ""
    ours = ours if len(ours) < _LONGEST else f"{ours[:_LONGEST].rpartition(',')[0]}, ..."
    now = f"; now {ours} ({entry['standing']})" if entry else "; now not measured"
    return f"- `{claim.id}` ({claim.source}): {html.escape(earlier + now, quote=False)}."


def with_scoreboard(readme: str, board: str) -> str:
    """The text of ``README.md`` with `board` between the markers.

    Raises
    ------
    ScoreboardError
        If the two marker lines are not there, once each and in order.

    Examples
    --------
    >>> with_scoreboard(f"before\\n{BEGIN}\\nold\\n{END}\\nafter", "new").splitlines()[2]
    'new'
    """
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end) or BEGIN in rest or END in before + after:
        raise ScoreboardError(
            f"README.md has no place for the scoreboard: write the lines\n{BEGIN}\n{END}\n"
            "once, where it shall stand"
        )
    return f"{before}{begin}\n{board}\n{end}{after}"
