"""Pages beside the published figures, so that a forge's browser shows the results as they are."""

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..files import write_bytes
from ..ledger.claims import paper_label
from ..ledger.protocols import ANOTHER, UNREGISTERED
from ..ledger.verdicts import KEPT, VERDICTS
from ..paths import Paths
from .cells import page_of
from .material import Material, Notebook, Outcome, Row, collect
from .widgets import moving_orbit

__all__ = ["pages", "write_pages"]

_FIRST = "<!-- written by `invariance pages` from results.json -->\n"
_ROWS = 12  # of a table; the file has them all


def write_pages(paths: Paths) -> list[Path]:
    """Write ``figures/README.md``, its picture and ``figures/<paper>/<name>.md``; others go.

    Raises
    ------
    LedgerError
        If the ledger cannot be read.
    OutputError
        If a page cannot be written.
    """
    wanted = pages(paths)
    for path, text in wanted.items():
        write_bytes(path, text.encode())
    for path in paths.figures.glob("*/*.md"):
        if path not in wanted and path.read_bytes().startswith(_FIRST.encode()):
            path.unlink()
    return list(wanted)


def pages(paths: Paths) -> dict[Path, str]:
    """Text of every page, by its path."""
    material = collect(paths)
    claims = {name: [r for r in material.rows if (r.notebook, r.profile) == (name, "full")]
              for name in material.notebooks}  # fmt: skip
    found = {"README": _index(material, claims)}
    for name, notebook in material.notebooks.items():
        if notebook.published:
            found[name] = _page(notebook, notebook.published, claims[name])
    return {paths.figures / "orbit.svg": moving_orbit()} | {
        paths.figures / f"{name}.md": _FIRST + "\n".join(lines) + "\n"
        for name, lines in found.items()
    }


def _plain(text: str) -> str:
    """Text as it stands, on one line: no markup but formulas and code."""
    parts = re.split(r"(`[^`\n]+`|\$[^$\n]+\$)", " ".join(text.split()))
    for index, part in enumerate(parts):
        if part.startswith("`") and index % 2:
            parts[index] = part.replace("|", "\\|")
        else:
            part = html.escape(part, quote=False)
            special = part if index % 2 else re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", part)
            parts[index] = special
    return "".join(parts)


def _table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table of cells that are Markdown already."""
    for index, row in enumerate(rows):
        yield f"| {' | '.join(row)} |"
        if not index:
            yield f"|{'---|' * len(row)}"


def _index(material: Material, claims: dict[str, list[Row]]) -> Iterator[str]:
    yield "# Results at the papers' own scale\n"
    yield "One page per notebook: its figures with captions, its tables, and each claim with what"
    yield "the paper prints, what was measured and the verdict. `make site` makes a book of them."
    titles = {paper.key: f"{paper.short}, *{_plain(paper.title)}*" for paper in material.papers}
    shown = [notebook for notebook in material.notebooks.values() if notebook.published]
    for group in dict.fromkeys(notebook.paper for notebook in shown):
        yield f"\n## {titles.get(group) or paper_label(group)}\n"
        members = [notebook for notebook in shown if notebook.paper == group]
        found = {row.verdict for notebook in members for row in claims[notebook.name]}
        states = [*VERDICTS, *(state for state in (ANOTHER, UNREGISTERED) if state in found)]
        rows = [["notebook", "figures", "claims", *states]]
        for notebook in members:
            counts = Counter(row.verdict for row in claims[notebook.name])
            figures = len(notebook.published.figures) if notebook.published else 0
            numbers = [figures, counts.total(), *(counts[state] for state in states)]
            label = f"[{_plain(page_of(notebook).title)}]({notebook.name}.md)"
            rows.append([label, *(str(n or "") for n in numbers)])
        yield from _table(rows)


def _page(notebook: Notebook, outcome: Outcome, claims: list[Row]) -> Iterator[str]:
    short = notebook.name.split("/")[1]
    yield f"# {_plain(page_of(notebook).title)}\n"
    finished = _plain(str(outcome.volatile.get("finished") or "")[:10])
    yield f"[The notebook](../../notebooks/{notebook.name}.py) · run at full scale on {finished} by"
    yield f"version {_plain(outcome.provenance['code'])} · [all results](../README.md)"
    for figure in outcome.figures.values():
        yield f"\n![{_plain(figure.alt)}]({short}/{figure.png.name})"
        if figure.caption:
            yield f"\n{_plain(figure.caption)}"
    if claims:
        yield "\n## Claims\n"
        rows = [["claim", "the paper", "ours", "verdict"]]
        for row in claims:
            assert row.result is not None
            claim, result = row.claim, row.result
            says = f": {_plain(claim.says)}" if claim.says else ""
            note = f"<br>{_plain(result.note)}" if result.note else ""
            printed = _plain(f"{claim.printed} {claim.unit}".strip())
            verdict = row.verdict if row.verdict in KEPT else f"**{row.verdict}**"
            if row.verdict not in VERDICTS:  # measured, and does not count
                verdict += f"<br>(then: {result.verdict})"
            if claim.history:
                verdict += "<br>protocol changed after a first result"
            verdict += f"<br>{_plain(row.beside)}" if row.beside else ""
            ours = f"{_plain(result.ours[:300])}{note}"
            rows.append([f"{_plain(claim.source)}{says}", printed, ours, verdict])
        yield from _table(rows)
    for found in outcome.tables.values():
        yield f"\n## {_plain(found.name)}\n"
        if found.caption:
            yield f"{_plain(found.caption)}\n"
        yield from _table([list(map(_plain, row)) for row in found.rows[: 1 + _ROWS]])
        if (more := len(found.rows) - 1 - _ROWS + found.left_out) > 0:
            yield f"\n[{more} more rows]({short}/{found.name}.csv)"
