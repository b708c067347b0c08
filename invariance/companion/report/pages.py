"""Pages from the collected material: what stands where, handed to the templates."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup
from nbconvert.filters.ansi import strip_ansi
from nbconvert.filters.highlight import Highlight2HTML

from invariance.companion.report.cells import Cells, read_notebook
from invariance.companion.report.collect import (
    OPEN,
    Figure,
    Material,
    Notebook,
    Outcome,
    Row,
)
from invariance.companion.report.images import Picture, picture, thumbnail
from invariance.companion.report.prose import (
    Problem,
    Prose,
    duration,
    plain,
    rich,
    run_time,
    signs,
    typeset,
)
from invariance.companion.report.reference import ReferencePage

_FOLDER = Path(__file__).parent / "templates"

# Word and sign of each verdict: never told by colour alone.
VERDICTS = {
    "matched": ("Matched", "✓"),
    "better": ("Better", "▲"),
    "short": ("Short", "▽"),
    "violated": ("Violated", "✕"),
    OPEN: ("Not yet reproduced", "○"),
}
_KINDS = {
    "value": "a number",
    "order": "an ordering",
    "bound": "an inequality",
    "rate": "a rate",
    "identity": "an identity",
}
_STATES = {
    "ok": ("Completed", "✓"),
    "failed": ("Failed", "✕"),
    "timeout": ("Ran out of time", "✕"),
    "killed": ("Killed", "✕"),
    "interrupted": ("Interrupted", "✕"),
}
_MOST_SHOWN = 2  # numbers of a result that stand in the scoreboard without a click


def index_html(material: Material, problems: list[Problem]) -> str:
    """The first page."""
    rows = material.rows
    return _template("index.html.j2").render(
        material=material,
        total=len(rows),
        counts=_counts(rows),
        paper_counts={paper.key: _counts(paper.rows) for paper in material.papers},
        tallies=_tallies(material),
        verdicts=VERDICTS,
        notebooks=material.notebooks,
        guides=[n for n in material.notebooks if n.paper not in {p.key for p in material.papers}],
        failures=[n for n in material.notebooks if n.failure],
        gallery=list(_gallery(material)),
        machines=_provenance(material),
        problems=problems,
    )


def notebook_html(material: Material, notebook: Notebook) -> tuple[str, list[Problem]]:
    """The page of one notebook, and what could not be shown on it."""
    page = _NotebookPage(material, notebook)
    return page.render(), page.prose.problems


def reference_html(page: ReferencePage | None, pages: tuple[ReferencePage, ...]) -> str:
    """One page of the API reference, or its index."""
    name = "reference.html.j2" if page else "reference_index.html.j2"
    return _template(name).render(page=page, pages=pages)


class _NotebookPage:
    def __init__(self, material: Material, notebook: Notebook) -> None:
        self.material = material
        self.notebook = notebook
        self.prose = Prose(notebook.name)
        self.rows = {row.claim.id: row for row in material.rows}
        self.partial = notebook.partial is not None
        # a failed attempt shows its own figures and claims, not those of an earlier success
        self.outcome = notebook.attempt if self.partial else notebook.run

    def render(self) -> str:
        notebook = self.notebook
        source = notebook.partial if self.partial else notebook.executed
        body, title, placed = "", notebook.title, set()
        if source is not None:
            node = read_notebook(source)
            title = node.metadata.get("title") or title
            cells = self._cells()
            body = self._linked(cells.html(node))
            placed = cells.placed
        recorded = notebook.recorded()
        rows = [row for row in self.material.rows if row.claim.id in recorded]
        names = [n.name for n in self.material.notebooks]
        place = names.index(notebook.name)
        neighbours = self.material.notebooks
        return _template("notebook.html.j2").render(
            material=self.material,
            notebook=notebook,
            title=Markup(rich(title or human_name(notebook.name))),
            plain_title=plain(rich(title or human_name(notebook.name))),
            paper=next((p for p in self.material.papers if p.key == notebook.paper), None),
            rows=rows,
            placed=placed,
            body=Markup(body),
            partial=self.partial,
            contents=[(anchor, Markup(text)) for anchor, text in self.prose.contents],
            full_figures=[Markup(h) for h in self._published_figures()],
            previous=neighbours[place - 1] if place else None,
            following=neighbours[place + 1] if place + 1 < len(names) else None,
            verdicts=VERDICTS,
            problems=self.prose.problems,
            files=list(_files(notebook)),
        )

    def _cells(self) -> Cells:
        outcome = self.outcome
        captions, tables = set(), {}
        if outcome is not None:
            captions = {f.caption for f in outcome.figures} | {t.caption for t in outcome.tables}
            tables = {
                t.name: f'<figcaption id="table-{t.name}">{self._caption(t.caption)}</figcaption>'
                for t in outcome.tables
                if t.caption
            }
        return Cells(
            prose=self.prose,
            figure_html=self._output_figure,
            claims={
                claim: _template("claim.html.j2").render(
                    row=self.rows.get(claim), result=result, verdicts=VERDICTS, claim_id=claim
                )
                for claim, result in (outcome.claims if outcome else {}).items()
            },
            captions=captions - {""},
            table_captions=tables,
            parameters=_template("parameters.html.j2").render(
                parameters=dict(outcome.parameters) if outcome else {}
            ),
        )

    def _linked(self, body: str) -> str:
        """Names of other notebooks, in `code` or as a table's cell, lead to their pages.

        In a table ``<paper>/<name>, <figure>`` leads to the figure there.
        """
        known = {n.name: n for n in self.material.notebooks if n is not self.notebook}

        def link(match: re.Match[str]) -> str:
            tag, name, figure = match["tag"], match["name"], match["figure"]
            if name not in known:
                return match[0]
            anchor = _figure_anchor(known[name], figure) if figure else None
            address = f"../{known[name].page}" + (f"#{anchor}" if anchor else "")
            shown = name + (f", {figure}" if figure else "")
            return f'<{tag}><a href="{address}">{shown}</a></{tag}>'

        # what is a link already stays as it is
        name = r"(?P<name>[\w.-]+/[\w.-]+)(?:, (?P<figure>[\w-]+))?"
        pattern = rf"<a\b.*?</a>|<(?P<tag>td|code)>{name}</(?P=tag)>"
        return re.sub(pattern, link, body, flags=re.DOTALL)

    def _caption(self, caption: str) -> str:
        return rich(caption, self.prose, "a caption")

    def _output_figure(self, name: str | None, data: dict[str, bytes], alt: str) -> str:
        figures = self.outcome.figures if self.outcome else ()
        record = next((f for f in figures if f.name == name), None)
        if record is not None:
            return self._figure(record, f"figure-{record.name}", None if self.partial else "run")
        drawn = picture(data.get("image/svg+xml"), data.get("image/png"))
        if drawn is None:
            return ""
        if not alt:
            message = "a figure without alternative text: show it with run.figure(..., alt=...)"
            self.prose.problems.append(Problem(self.notebook.name, "an output", message))
            alt = f"A figure of the notebook {self.notebook.name}"
        return _figure_html(drawn, alt, "", None, None)

    def _figure(self, figure: Figure, anchor: str, link: str | None) -> str:
        drawn = _drawn(figure)
        if drawn is None:
            return ""
        target = figure.svg or figure.png
        address = f"../files/{link}/{self.notebook.name}/{target.name}" if link else None
        return _figure_html(drawn, figure.alt, self._caption(figure.caption), anchor, address)

    def _published_figures(self) -> Iterable[str]:
        published = self.notebook.published
        if published is None:
            return
        for figure in published.figures:
            anchor = f"figure-{figure.name}"
            yield self._figure(figure, f"full-{anchor}" if self.outcome else anchor, "full")


def _figure_anchor(notebook: Notebook, name: str) -> str | None:
    """Where a figure stands on a notebook's page: at full scale, if there is such a run."""
    shown = notebook.attempt if notebook.partial is not None else notebook.run
    if notebook.published and name in {f.name for f in notebook.published.figures}:
        return f"full-figure-{name}" if shown else f"figure-{name}"
    if shown and name in {f.name for f in shown.figures}:
        return f"figure-{name}"
    return None


def _drawn(figure: Figure) -> Picture | None:
    return picture(
        figure.svg.read_bytes() if figure.svg else None,
        figure.png.read_bytes() if figure.png else None,
    )


def _figure_html(
    drawn: Picture, alt: str, caption: str, anchor: str | None, address: str | None
) -> str:
    return _template("figure.html.j2").render(
        picture=drawn, alt=alt, caption=Markup(caption), anchor=anchor, address=address
    )


def _files(notebook: Notebook) -> Iterable[tuple[str, str, list[str]]]:
    """Files to take away: label, folder, names."""
    for label, key, outcome in (
        ("This run", "run", notebook.run),
        ("Full scale", "full", notebook.published),
    ):
        if outcome is not None:
            yield label, f"../files/{key}/{notebook.name}", [p.name for p in outcome_files(outcome)]


def outcome_files(outcome: Outcome) -> list[Path]:
    """The figures, tables and numbers of a run, in a fixed order."""
    figures = [path for f in outcome.figures for path in (f.svg, f.png) if path is not None]
    return [outcome.folder / "results.json", *(t.file for t in outcome.tables), *figures]


@dataclass(frozen=True)
class _Thumb:
    notebook: Notebook
    figure: Figure
    picture: Picture
    anchor: str
    label: str


def _gallery(material: Material) -> Iterable[_Thumb]:
    """One thumbnail a figure: of this run, or of the full scale where this run has none."""
    for notebook in material.notebooks:
        outcomes = [(notebook.run, "figure-", material.profile)]
        prefix = "full-figure-" if notebook.run else "figure-"
        outcomes.append((notebook.published, prefix, "full scale"))
        seen: set[str] = set()
        for outcome, anchor, label in outcomes:
            for figure in outcome.figures if outcome else ():
                small = thumbnail(figure.svg, figure.png)
                if figure.name not in seen and small is not None:
                    seen.add(figure.name)
                    yield _Thumb(notebook, figure, small, f"{anchor}{figure.name}", label)


def _counts(rows: Iterable[Row]) -> dict[str, int]:
    found = Counter(row.verdict for row in rows)
    return {verdict: found[verdict] for verdict in VERDICTS}


def _tallies(material: Material) -> dict[str, dict[str, int]]:
    """Counts a column of the scoreboard."""
    rows = material.rows
    run = Counter(row.run.verdict if row.run else OPEN for row in rows)
    full = Counter(row.full.verdict if row.full else OPEN for row in rows)
    return {
        "run": {verdict: run[verdict] for verdict in VERDICTS},
        "full": {verdict: full[verdict] for verdict in VERDICTS},
    }


def _provenance(material: Material) -> list[dict[str, Any]]:
    """Where the results come from: one entry a distinct combination of code and machine."""
    found: dict[tuple, dict[str, Any]] = {}
    for notebook in material.notebooks:
        for label, outcome in (("run", notebook.run), ("full", notebook.published)):
            if outcome is None:
                continue
            packages = outcome.provenance.get("packages") or {}
            hardware = outcome.volatile.get("hardware") or {}
            code = outcome.provenance.get("code", "unknown")
            key = (label, code, tuple(sorted(packages.items())), str(sorted(hardware.items())))
            entry = found.setdefault(
                key,
                {"label": label, "code": code, "packages": dict(sorted(packages.items())),
                 "hardware": hardware, "notebooks": [], "finished": []},
            )  # fmt: skip
            entry["notebooks"].append(notebook.name)
            if outcome.volatile.get("finished"):
                entry["finished"].append(_moment(outcome.volatile["finished"]))
    return list(found.values())


def human_name(name: str) -> str:
    """A notebook's name as a title.

    >>> human_name("mroueh2015/theorem_1")
    'Theorem 1'
    """
    words = re.sub(r"[_-]+", " ", name.split("/")[-1])
    return words[:1].upper() + words[1:]


def _anchor(claim_id: str) -> str:
    return "claim-" + re.sub(r"[^A-Za-z0-9.-]+", "-", claim_id.split("/")[-1])


def _numbers(ours: str) -> tuple[list[str], bool]:
    """A result's numbers one by one, and whether they are few enough to stand in a table."""
    numbers = [part for part in re.split(r", (?![^\[(]*[\])])", ours) if part]
    return numbers, len(numbers) <= _MOST_SHOWN


def _moment(iso: str | None) -> str:
    """``"2026-01-31 12:05"`` from an ISO time."""
    return str(iso or "").replace("T", " ")[:16]


def _python(source: str) -> Markup:
    return Markup(Highlight2HTML(pygments_lexer="python3")(source))


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        anchor=_anchor,
        duration=duration,
        human=human_name,
        moment=_moment,
        numbers=_numbers,
        plain=strip_ansi,
        python=_python,
        signs=signs,
        rich=lambda text: Markup(rich(text)),
        run_time=run_time,
        typeset=lambda text: Markup(typeset(text)),
    )
    environment.globals.update(
        css=Markup((_FOLDER / "style.css").read_text(encoding="utf-8")),
        filter_js=Markup((_FOLDER / "filter.js").read_text(encoding="utf-8")),
        code_js=Markup((_FOLDER / "code.js").read_text(encoding="utf-8")),
        kinds=_KINDS,
        states=_STATES,
        OPEN=OPEN,
    )
    return environment


def _template(name: str) -> jinja2.Template:
    return _environment().get_template(name)
