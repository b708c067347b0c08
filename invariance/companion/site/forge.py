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

__all__ = ["pages", "write_pages"]

_ROWS = 12  # of a table; the file has them all


def write_pages(paths: Paths) -> list[Path]:
    """Write ``figures/README.md`` and ``figures/<paper>/<name>.md``; pages of no result go.

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


_FIRST = "<!-- written by `invariance pages` from results.json -->\n"


def pages(paths: Paths) -> dict[Path, str]:
    """Text of every page, by its path."""
    material = collect(paths)
    shown = [n for n in material.notebooks.values() if n.published]
    found = {paths.figures / "README.md": _FIRST + "\n".join(_index(material, shown)) + "\n"}
    for notebook in shown:
        assert notebook.published is not None
        path = paths.figures / f"{notebook.name}.md"
        found[path] = _FIRST + "\n".join(_page(material, notebook, notebook.published)) + "\n"
    return found


def _plain(text: str) -> str:
    """Text as it stands, on one line: no markup but formulas and code."""
    parts = re.split(r"(`[^`\n]+`|\$[^$\n]+\$)", " ".join(text.split()))
    for index, part in enumerate(parts):
        if index % 2:
            parts[index] = part.replace("|", "\\|") if part[0] == "`" else html.escape(part, False)
        else:
            parts[index] = re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", html.escape(part, quote=False))
    return "".join(parts)


def _table(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table of cells that are Markdown already."""
    for index, row in enumerate(rows):
        yield f"| {' | '.join(row)} |"
        if not index:
            yield f"|{'---|' * len(row)}"


def _index(material: Material, notebooks: list[Notebook]) -> Iterator[str]:
    yield "# Results at the papers' own scale"
    yield ""
    yield "One page per notebook: its figures with captions, its tables, and each claim with what"
    yield "the paper prints, what was measured and the verdict. `make site` makes a book of them."
    groups: dict[str, list[Notebook]] = {}
    for notebook in notebooks:
        groups.setdefault(notebook.paper, []).append(notebook)
    titles = {paper.key: f"{paper.short}, *{_plain(paper.title)}*" for paper in material.papers}
    for group, members in groups.items():
        yield from ("", f"## {titles.get(group) or paper_label(group)}", "")
        states = [*VERDICTS, *(s for s in (ANOTHER, UNREGISTERED) if any(
            row.verdict == s for n in members for row in _claims(material, n)))]  # fmt: skip
        rows = [["notebook", "figures", "claims", *states]]
        for notebook in members:
            counts = Counter(row.verdict for row in _claims(material, notebook))
            figures = len(notebook.published.figures) if notebook.published else 0
            label = f"[{_plain(page_of(notebook).title)}]({notebook.name}.md)"
            numbers = [figures, counts.total(), *(counts[state] for state in states)]
            rows.append([label, *(str(n or "") for n in numbers)])
        yield from _table(rows)


def _claims(material: Material, notebook: Notebook) -> list[Row]:
    return [r for r in material.rows if r.notebook == notebook.name and r.profile == "full"]


def _page(material: Material, notebook: Notebook, outcome: Outcome) -> Iterator[str]:
    short = notebook.name.split("/")[1]
    yield f"# {_plain(page_of(notebook).title)}"
    yield ""
    finished = _plain(str(outcome.volatile.get("finished") or "")[:10])
    code = _plain(str(outcome.provenance.get("code") or ""))
    yield f"[The notebook](../../notebooks/{notebook.name}.py) · run at full scale on {finished} by"
    yield f"version {code} · [all results](../README.md)"
    for figure in outcome.figures.values():
        yield from ("", f"![{_plain(figure.alt)}]({short}/{figure.png.name})")
        if figure.caption:
            yield from ("", _plain(figure.caption))
    rows = _claims(material, notebook)
    if rows:
        yield from ("", "## Claims", "")
        listed = [["claim", "the paper", "ours", "verdict"]]
        for row in rows:
            assert row.result is not None
            says = f": {_plain(row.claim.says)}" if row.claim.says else ""
            note = f"<br>{_plain(row.result.note)}" if row.result.note else ""
            verdict = row.verdict if row.verdict in KEPT else f"**{row.verdict}**"
            if row.verdict not in VERDICTS:  # measured, and does not count
                verdict += f"<br>(then: {row.result.verdict})"
            if row.claim.history:
                verdict += "<br>protocol changed after a first result"
            verdict += f"<br>{_plain(row.beside)}" if row.beside else ""
            listed.append(
                [
                    f"{_plain(row.claim.source)}{says}",
                    _plain(f"{row.claim.printed} {row.claim.unit}".strip()),
                    f"{_plain(row.result.ours[:300])}{note}",
                    verdict,
                ]
            )
        yield from _table(listed)
    for found in outcome.tables.values():
        yield from ("", f"## {_plain(found.name)}", "")
        if found.caption:
            yield from (_plain(found.caption), "")
        yield from _table([list(map(_plain, row)) for row in found.rows[: 1 + _ROWS]])
        more = len(found.rows) - 1 - _ROWS + found.left_out
        if more > 0:
            yield from ("", f"[{more} more rows]({short}/{found.name}.csv)")
