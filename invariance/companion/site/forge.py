"""Pages beside the published figures, so that a forge's browser shows the results as they are."""

from itertools import groupby
from pathlib import Path

from ..files import write_bytes
from ..ledger.claims import paper_label
from ..ledger.guard import record_digests
from ..ledger.verdicts import FAILED, KEPT, VERDICTS
from ..paths import Paths
from .cells import page_of
from .material import collect
from .text import prose

__all__ = ["pages", "write_pages"]

_TEMPLATES = Path(__file__).parent / "templates/forge"
_ROWS = 12  # of a table; the file has them all


def write_pages(paths: Paths) -> list[Path]:
    """Write ``figures/README.md`` and ``figures/<paper>/<name>.md``; those of others go.

    Raises
    ------
    LedgerError
        If the ledger cannot be read, or a verdict is not what the recorded numbers give.
    OutputError
        If a page cannot be written.
    """
    wanted = pages(paths)
    for path, text in wanted.items():
        write_bytes(path, text.encode())
    gone = [path for path in paths.figures.glob("*/*.md") if path not in wanted]
    for path in gone:
        path.unlink()
    record_digests(paths, *gone, *wanted)
    return list(wanted)


def pages(paths: Paths) -> dict[Path, str]:
    """Text of every page, by its path."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    jinja = Environment(
        loader=FileSystemLoader(_TEMPLATES), finalize=prose, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, undefined=StrictUndefined,
    )  # fmt: skip
    material = collect(paths)
    labels = {p.key: f"{p.short}, *{p.title}*" if p.title else p.short for p in material.papers}
    published = [notebook for notebook in material.notebooks.values() if notebook.published]
    claims = {
        notebook.name: [row for row in material.of(notebook.name) if row.profile == "full"]
        for notebook in published
    }
    jinja.globals |= {
        "claims": claims, "titles": {n.name: page_of(n).title for n in published}, "most": _ROWS,
        "kept": KEPT, "failed": FAILED, "verdicts": VERDICTS,
    }  # fmt: skip
    groups = {
        labels.get(paper) or paper_label(paper): [*members]
        for paper, members in groupby(published, lambda notebook: notebook.paper)
    }
    found = {"README": jinja.get_template("index.md").render(groups=groups)}
    for notebook in published:
        values = {"name": notebook.name, "outcome": notebook.published}
        found[notebook.name] = jinja.get_template("page.md").render(values)
    return {paths.figures / f"{name}.md": text for name, text in found.items()}
