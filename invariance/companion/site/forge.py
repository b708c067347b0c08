"""Pages beside the published figures, so that a forge's browser shows the results as they are."""

import html
import re
from itertools import groupby
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ..files import write_bytes
from ..ledger.claims import paper_label
from ..ledger.guard import record_digests
from ..ledger.verdicts import FAILED, KEPT, VERDICTS
from ..paths import Paths
from .cells import page_of
from .material import collect

_TEMPLATES = Path(__file__).parent / "templates/forge"
_ROWS = 12  # of a table; the file has them all


def write_pages(paths: Paths) -> list[Path]:
    """Write ``figures/README.md`` and ``figures/<paper>/<name>.md``; those of others go."""
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

    material = collect(paths)
    known = {p.key: f"{p.short}, *{p.title}*" for p in material.papers if p.title}
    found = [notebook for notebook in material.notebooks.values() if notebook.published]
    jinja = Environment(
        loader=FileSystemLoader(_TEMPLATES), finalize=forge_prose, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined,
    )  # fmt: skip
    jinja.globals |= {
        "claims": {n.name: [r for r in material.of(n.name) if r.profile == "full"] for n in found},
        "titles": {n.name: page_of(n).title for n in found},
        "groups": {known.get(paper) or paper_label(paper): [*members]
                   for paper, members in groupby(found, lambda notebook: notebook.paper)},
        "most": _ROWS, "kept": KEPT, "failed": FAILED, "verdicts": VERDICTS,
    }  # fmt: skip
    written = {paths.figures / "README.md": jinja.get_template("index.md").render()}
    page = jinja.get_template("page.md")
    for notebook in found:
        text = page.render(name=notebook.name, outcome=notebook.published)
        written[paths.figures / f"{notebook.name}.md"] = text
    return written


def forge_prose(text: Any) -> str:
    """A sentence, in a table too, in Markdown that a forge shows; it lets no HTML through.

    >>> forge_prose("|x| < `a_b` in $|x|$")
    '\\\\|x\\\\| &lt; `a_b` in $\\\\vert x\\\\vert $'
    """
    if isinstance(text, Markup):
        return text
    parts = re.split(r"(\$[^$]+\$|`[^`]+`)", " ".join(str(text).split()))
    for at, part in enumerate(parts):
        bar = r"\vert " if part.startswith("$") else r"\|"
        plain = html.escape(part, quote=False) if at % 2 == 0 else part
        parts[at] = plain.replace("|", bar)
    return "".join(parts)
