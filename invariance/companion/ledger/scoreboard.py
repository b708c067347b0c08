"""The scoreboard of ``README.md``: a table written from the committed full-scale results.

It stands between two marker lines, so that a command can write it and a check can compare it.
"""

import html
from collections import Counter
from collections.abc import Iterator
from typing import Any

from invariance.companion.errors import CompanionError
from invariance.companion.ledger.claims import Claim, load_ledger, paper_label
from invariance.companion.ledger.results import read_results
from invariance.companion.ledger.verdicts import VERDICTS, at_fault
from invariance.companion.paths import Paths

__all__ = ["BEGIN", "END", "GALLERY", "ScoreboardError", "scoreboard", "with_scoreboard"]

BEGIN = "<!-- scoreboard: written by `invariance scoreboard` from figures/*/*/results.json -->"
END = "<!-- end of scoreboard -->"

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
    """The scoreboard as Markdown: one line per paper, every claim that fell short and why, figures.

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
    results = dict(_full_scale(paths))
    counts: dict[str, Counter[str]] = {}
    for claim in ledger.values():
        verdict = results[claim.id]["verdict"] if claim.id in results else _NONE
        counts.setdefault(claim.paper_key, Counter())[verdict] += 1
    total = sum(counts.values(), Counter())
    columns = [*VERDICTS, _NONE]
    lines = [
        f"**{total['matched'] + total['better']} of the {total.total()} claims are reproduced** "
        "(matched or better) at full scale.",
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
        if claim.id in results and results[claim.id]["verdict"] in ("short", "violated")
    ]
    if fallen:
        lines += ["", "What fell short, with the measured reason:", ""]
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
    return "\n".join(lines)


def _full_scale(paths: Paths) -> Iterator[tuple[str, dict[str, Any]]]:
    """Recorded claims of the committed results, each with its notebook."""
    for path in sorted(paths.figures.glob("*/*/results.json")):
        if path.parent.name.startswith("."):
            continue  # being published
        # `invariance check` reports what cannot be read
        content, _ = read_results(path.parent, f"{path.parent.parent.name}/{path.parent.name}")
        if content is not None and content["profile"] == "full":
            for claim_id, entry in content["claims"].items():
                yield claim_id, {**entry, "notebook": content["notebook"]}


def _row(label: str, found: Counter[str], columns: list[str]) -> str:
    cells = [label, str(found.total()), *(str(found[column]) for column in columns)]
    return f"| {' | '.join(cells)} |"


def _explained(claim: Claim, entry: dict[str, Any]) -> str:
    reasons = [at_fault(entry["reason"]), entry.get("note") or ""]
    why = html.escape(". ".join(text.rstrip(".") for text in reasons if text), quote=False)
    notebook = entry["notebook"]
    return (
        f"- **{entry['verdict']}** [`{claim.id}`](notebooks/{notebook}.py) ({claim.source}): {why}."
    )


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
