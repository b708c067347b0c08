"""Pages beside the published figures, so that a forge's browser shows the results as they are."""

import html
import re
from collections import Counter
from pathlib import Path
from typing import Any

from ..files import write_bytes
from ..ledger.claims import load_ledger, paper_label
from ..ledger.guard import record_digests
from ..ledger.protocols import ANOTHER, UNREGISTERED
from ..ledger.rows import published_results, refuse_unfounded, rows_of
from ..ledger.verdicts import KEPT, VERDICTS
from ..paths import Paths
from .cells import page_of
from .material import Material, Row, collect
from .widgets import moving_orbit

__all__ = ["pages", "write_pages"]

_TEMPLATES = Path(__file__).parent / "templates/forge"
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
    first = wanted[paths.figures / "README.md"].partition("\n")[0].encode()
    for path in paths.figures.glob("*/*.md"):
        if path not in wanted and path.read_bytes().startswith(first):
            path.unlink()
    record_digests(paths, *paths.figures.glob("*/*.md"), *wanted)
    return list(wanted)


def pages(paths: Paths) -> dict[Path, str]:
    """Text of every page, by its path."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    jinja = Environment(
        loader=FileSystemLoader(_TEMPLATES), finalize=_plain, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, undefined=StrictUndefined,
    )  # fmt: skip
    material = collect(paths)
    refuse_unfounded(rows_of(load_ledger(paths.ledger), published_results(paths), paths))
    claims = {name: [r for r in material.rows if (r.notebook, r.profile) == (name, "full")]
              for name in material.notebooks}  # fmt: skip
    found = {"README": jinja.get_template("index.md").render(groups=_groups(material, claims))}
    for name, notebook in material.notebooks.items():
        if outcome := notebook.published:
            finished = str(outcome.volatile.get("finished") or "")[:10]
            found[name] = jinja.get_template("page.md").render(
                name=name, short=name.split("/")[1], title=page_of(notebook).title, outcome=outcome,
                finished=finished, claims=claims[name], kept=KEPT, verdicts=VERDICTS, most=_ROWS,
            )  # fmt: skip
    written = {paths.figures / f"{name}.md": text for name, text in found.items()}
    return {paths.figures / "orbit.svg": moving_orbit()} | written


def _groups(material: Material, claims: dict[str, list[Row]]) -> list[dict[str, Any]]:
    """Published notebooks by paper, with the numbers of their figures and verdicts."""
    labels = {paper.key: f"{paper.short}, *{_plain(paper.title)}*" for paper in material.papers}
    members: dict[str, list[tuple[str, str, int, Counter[str]]]] = {}
    for name, notebook in material.notebooks.items():
        if notebook.published:
            counts = Counter(row.verdict for row in claims[name])
            figures = len(notebook.published.figures)
            member = (page_of(notebook).title, name, figures, counts)
            members.setdefault(notebook.paper, []).append(member)
    return [
        {
            "label": labels.get(paper) or paper_label(paper),
            "members": some,
            "states": [
                *VERDICTS,
                *(s for s in (ANOTHER, UNREGISTERED) if any(counts[s] for *_, counts in some)),
            ],
        }
        for paper, some in members.items()
    ]


def _plain(value: Any) -> Any:
    """Text as it stands, on one line: no markup but formulas and code."""
    if hasattr(value, "__html__"):  # the template says that it is safe
        return value
    parts = re.split(r"(`[^`\n]+`|\$[^$\n]+\$)", " ".join(str(value).split()))
    for index, part in enumerate(parts):
        if part.startswith("`") and index % 2:
            parts[index] = part.replace("|", "\\|")
        else:
            part = html.escape(part, quote=False)
            special = part if index % 2 else re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", part)
            parts[index] = special
    return "".join(parts)
