"""The Sphinx extension: directives for claims, verdicts, scoreboard, notebooks and galleries."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ..ledger.scoreboard import GALLERY
from ..ledger.verdicts import FAILED, VERDICTS
from . import reference
from .cells import Output, Page
from .findings import found
from .material import Figure, Material, Notebook, Outcome, Paper, Result, Row
from .nodes import (
    anchor,
    box,
    depart_fold,
    drawing,
    fold,
    link,
    literal,
    paragraph,
    prose,
    python_link,
    table,
    visit_drawing,
    visit_fold,
)
from .plots import dot_plot, orbit
from .uses import used_by, uses

__all__ = ["Book", "setup"]

_MOST_TILES = 6  # pictures below an entry of the reference
_SAFE = ("https://", "http://", "mailto:")


@dataclass
class Book:
    """What the directives show: the material, its pages, and where pictures are kept."""

    material: Material
    pages: Mapping[str, Page]
    pictures: Path  # inside the source folder
    used: Mapping[str, list[str]] = field(default_factory=dict)
    findings: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.used = used_by({n.name: n.source for n in self.material.notebooks.values()})
        self.findings = list(found(self.material))

    def picture(self, png: Path | bytes, most: int = 2000) -> str:
        """Address of a picture for docutils, `most` pixels wide; equal pictures are kept once."""
        content = png if isinstance(png, bytes) else png.read_bytes()
        name = f"{sha256(content + str(most).encode()).hexdigest()[:16]}.png"
        if not (self.pictures / name).exists():
            self.pictures.mkdir(parents=True, exist_ok=True)
            (self.pictures / name).write_bytes(_smaller(content, most))
        return f"/{self.pictures.name}/{name}"

    def title(self, notebook: str) -> str:
        return self.pages[notebook].title if notebook in self.pages else notebook


def _smaller(png: bytes, most: int) -> bytes:
    """A picture of bounded width, in 128 colours where that saves a third or more."""
    import io

    from PIL import Image

    stream = io.BytesIO()
    with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
        flat = picture.convert("RGB")
        flat.thumbnail((most, 4 * most))
        flat = flat.quantize(128, dither=Image.Dither.NONE)
        flat.save(stream, "PNG", optimize=True)
        resized = picture.width > most
    smaller = stream.getvalue()
    return smaller if resized or len(smaller) < len(png) * 2 / 3 else png


class _Directive(SphinxDirective):
    has_content = False
    optional_arguments = 1
    final_argument_whitespace = True

    @property
    def book(self) -> Book:
        return self.config.invariance_book

    @property
    def page(self) -> str:
        return self.env.docname

    @property
    def argument(self) -> str:
        return self.arguments[0] if self.arguments else ""

    def to(self, notebook: str, *label: nodes.Node | str, at: str = "") -> nodes.Node:
        if notebook not in self.book.pages:
            return nodes.inline("", "", *map(_node, label))
        return link(self.page, notebook, *label, at=at)

    def image(self, png: Path | bytes, alt: str, most: int = 2000) -> nodes.image:
        return nodes.image(uri=self.book.picture(png, most), alt=alt)

    def figure(self, figure: Figure, most: int = 2000) -> nodes.container:
        caption = [paragraph(*prose(figure.caption), classes=["caption"])] if figure.caption else []
        picture = paragraph(self.image(figure.png, figure.alt, most))
        return box(picture, *caption, classes=["picture"])

    def claim_link(self, row: Row, *label: nodes.Node | str) -> nodes.Node:
        at = anchor("claim", row.claim.id)
        return link(self.page, f"papers/{row.claim.paper_key}", *label, at=at)


def _node(part: nodes.Node | str) -> nodes.Node:
    return nodes.Text(part) if isinstance(part, str) else part


def _verdict(verdict: str) -> nodes.inline:
    return nodes.inline(verdict, verdict, classes=["verdict", f"verdict-{_known(verdict)}"])


def _known(verdict: str) -> str:
    return verdict if verdict in VERDICTS else "open"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


class _Front(_Directive):
    """The moving picture of an orbit, and how many claims came out."""

    def run(self) -> list[nodes.Node]:
        words = (
            "A ring of eight readings turns step by step; the eight inner products with a template "
            "turn with it, and their cumulative distribution does not move."
        )
        rows = self.book.material.rows
        kept = sum(row.verdict in ("matched", "better") for row in rows)
        failed = sum(row.verdict in FAILED for row in rows)
        result = (
            f"**{kept} of the {len(rows)} claims of the four papers come out as printed or "
            f"better.** {failed} do not, and each says why: "
        )
        more = link(self.page, self.page, "the scoreboard", at="scoreboard")
        said = paragraph(*prose(result), more, ".", classes=["result-line"])
        return [said, drawing(svg=orbit(), alt=words)]


class _Findings(_Directive):
    """Five findings, a figure each."""

    def run(self) -> list[nodes.Node]:
        sections: list[nodes.Node] = []
        for finding, words in self.book.findings:
            section = nodes.section(ids=[anchor("finding", finding.title)], classes=["finding"])
            section += nodes.title(finding.title, finding.title)
            said = paragraph(*prose(words))
            outcome = self.book.material.notebooks[finding.notebook].published
            picture = outcome.figures.get(finding.figure) if outcome else None
            shown = [paragraph(self.image(picture.png, picture.alt))] if picture else []
            more = paragraph(self.to(finding.notebook, "How it was measured"), classes=["more"])
            section += box(box(said, more, classes=["words"]), *shown, classes=["finding-body"])
            sections.append(section)
        return sections


class _Scoreboard(_Directive):
    """Counts by paper, what fell short and why, and a dot plot per paper."""

    def run(self) -> list[nodes.Node]:
        material = self.book.material
        known = [*VERDICTS, *sorted({row.verdict for row in material.rows} - set(VERDICTS))]
        rows: list[list[str | nodes.Node]] = [["paper", "claims", *known]]
        for paper in material.papers:
            count = Counter(row.verdict for row in paper.rows)
            label = link(self.page, f"papers/{paper.key}", paper.short)
            rows.append([label, str(count.total()), *(str(count[verdict]) for verdict in known)])
        total = Counter(row.verdict for row in material.rows)
        rows.append(["all", str(total.total()), *(str(total[verdict]) for verdict in known)])
        kept = total["matched"] + total["better"]
        says = f"**{kept} of the {total.total()} claims are reproduced** (matched or better)."
        shown: list[nodes.Node] = [paragraph(*prose(says)), table(rows)]
        failed = [row for row in material.rows if row.verdict in FAILED]
        if failed:
            shown.append(nodes.rubric("", "What fell short, and why"))
            shown.append(box(*map(self._failed, failed), classes=["failures"]))
        for paper in material.papers:
            if (svg := dot_plot(paper)) is not None:
                shown += [nodes.rubric("", paper.short), _dots(paper, svg)]
        return shown

    def _failed(self, row: Row) -> nodes.Node:
        result = row.result
        assert result is not None
        what = self.claim_link(
            row, f"{_paper_of(self.book.material, row).short}, {row.claim.source}"
        )
        said = [nodes.Text(": " + row.claim.says)] if row.claim.says else []
        why = [paragraph(*prose(result.note))] if result.note else []
        reason = fold(summary="The numbers")
        reason += paragraph(*prose(result.reason))
        return box(
            paragraph(_verdict(row.verdict), " ", what, *said), *why, reason, classes=["failure"]
        )


def _dots(paper: Paper, svg: Any) -> nodes.container:
    words = f"Dot plot of the claims of {paper.short}; the same numbers stand on the paper's page."
    return box(drawing(svg=svg, alt=words), classes=["scroll"])


def _paper_of(material: Material, row: Row) -> Paper:
    return next(paper for paper in material.papers if paper.key == row.claim.paper_key)


class _Paper(_Directive):
    """One paper: what it is, its idea in a picture, and each claim in the paper's order."""

    def run(self) -> list[nodes.Node]:
        paper = next(p for p in self.book.material.papers if p.key == self.argument)
        about = paragraph(nodes.emphasis("", paper.title), f". {paper.authors}. {paper.venue}.")
        for label, address in paper.links:
            about += [nodes.Text(" "), nodes.reference("", label, refuri=address)]
        shown: list[nodes.Node] = [box(about, classes=["about"])]
        for name, figure, words in GALLERY:
            notebook = self.book.material.notebooks.get(name)
            outcome = notebook.published if notebook and notebook.paper == paper.key else None
            if outcome and figure in outcome.figures:
                shown += [paragraph(*prose(words)), self.figure(outcome.figures[figure])]
        if (svg := dot_plot(paper)) is not None:
            shown += [nodes.rubric("", "At a glance"), _dots(paper, svg)]
        sources = Counter(row.claim.source for row in paper.rows)
        return [*shown, *(self._claim(row, paper, sources) for row in paper.rows)]

    def _claim(self, row: Row, paper: Paper, sources: Mapping[str, int]) -> nodes.section:
        claim, result = row.claim, row.result
        title = f"{claim.source[:1].upper()}{claim.source[1:]}"
        part = re.sub(r"^[a-z]+[0-9.]*(-|$)", "", claim.id.split("/")[1]).replace("-", " ")
        if part and sources[claim.source] > 1:  # one of many rows of a table
            title += f": {part}"
        section = nodes.section(ids=[anchor("claim", claim.id)], classes=["claim"])
        section += nodes.title(title, title)
        section += paragraph(_verdict(row.verdict), " ", *prose(claim.says or claim.id))
        if claim.printed:
            unit = f" {claim.unit}" if claim.unit else ""
            section += paragraph(nodes.strong("", "Printed: "), f"{claim.printed}{unit}")
        if result is None:
            section += paragraph("No run has recorded this claim yet.")
            return section
        scale = "published, full scale" if row.profile == "full" else "quick run on this machine"
        section += paragraph(nodes.strong("", f"Ours ({scale}): "), _clipped(result.ours))
        if result.data:
            section += paragraph(nodes.strong("", "Data: "), result.data)
        if result.note:
            section += paragraph(*prose(result.note))
        details = fold(summary="Why this verdict")
        details += paragraph(*prose(result.reason))
        if row.beside:
            details += paragraph(nodes.strong("", "It rests on: "), row.beside)
        section += details
        section += _protocol(row)
        to = self.to(row.notebook, "the run", at=anchor("claim", claim.id))
        links: list[nodes.Node | str] = ["Evidence: ", to]
        links += [", ", self.to(row.notebook, "its notebook"), ". "] if row.notebook else []
        source = self.book.material.notebooks[row.notebook].source
        names = [name for name in uses(source) if ".companion." not in name]
        if names:
            links.append("Functions: ")
            for index, name in enumerate(names):
                links += [", "] * bool(index) + [python_link(self.page, name)]
            links.append(". ")
        for label, address in paper.links:
            links += [nodes.reference("", f"The {label}", refuri=address), ". "]
        section += paragraph(*links, classes=["evidence"])
        return section


def _protocol(row: Row) -> list[nodes.Node]:
    """How the claim is measured, and what earlier protocols gave."""
    shown: list[nodes.Node] = []
    if row.claim.protocol:
        registered = fold(summary="Protocol, registered before the run that counts")
        registered += paragraph(row.claim.protocol)
        shown.append(registered)
    if row.result and row.verdict not in (*VERDICTS, "open"):
        said = f"These numbers do not count ({row.verdict}); by their time's rules: "
        shown.append(paragraph(said, _verdict(row.result.verdict)))
    if row.claim.history:
        shown.append(paragraph(nodes.strong("", "Protocol changed after a first result. Before:")))
        for earlier in row.claim.history:
            verdict = f" ({earlier.verdict})" if earlier.verdict else ""
            shown.append(paragraph(f"{earlier.gave}{verdict}: {earlier.protocol}"))
    if row.claim.note:
        shown.append(paragraph(row.claim.note))
    return shown


def _clipped(text: str, most: int = 400) -> str:
    return text if len(text) <= most else text[:most].rsplit(",", 1)[0] + ", ..."


class _NotebookHead(_Directive):
    """Below a notebook's title: where it belongs, what came out, how its runs ended."""

    def run(self) -> list[nodes.Node]:
        notebook = self.book.material.notebooks[self.page]
        shown: list[nodes.Node] = []
        if notebook.failure:
            shown.append(_warning("The latest run on this machine failed.", notebook.failure))
        for problem in notebook.problems:
            shown.append(_warning("Something of this notebook cannot be shown.", problem))
        states = [
            _state(outcome, where)
            for outcome, where in (
                (notebook.published, "Published at full scale"),
                (notebook.run, "Run on this machine"),
            )
            if outcome
        ]
        for paper in self.book.material.papers:
            if paper.key == notebook.paper:
                states.append(link(self.page, f"papers/{paper.key}", f"All of {paper.short}"))
        line = paragraph(classes=["state"])
        for index, state in enumerate(states):
            line += [nodes.Text(" · ")] * bool(index) + [_node(state)]
        shown.append(line)
        claims = [row for row in self.book.material.rows if row.notebook == notebook.name]
        if claims:
            printed = any(row.claim.printed for row in claims)
            rows: list[list[str | nodes.Node]] = [
                ["claim", *(["printed"] if printed else []), "ours", "verdict"]
            ]
            for row in claims:
                assert row.result is not None
                at = anchor("claim", row.claim.id)
                label = link(self.page, self.page, row.claim.source, at=at)
                ours = _clipped(row.result.ours, 60)
                theirs = [row.claim.printed] if printed else []
                rows.append([label, *theirs, ours, _verdict(row.verdict)])
            answer = table(rows)
            if len(claims) > 6:
                counts = Counter(row.verdict for row in claims)
                said = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
                folded = fold(summary=f"{_count(len(claims), 'claim')}: {said}")
                folded += answer
                shown.append(folded)
            else:
                shown.append(answer)
        return shown


def _warning(title: str, words: str) -> nodes.warning:
    node = nodes.warning(classes=["problem"])
    node += [paragraph(nodes.strong("", title)), literal(words[:2000])]
    return node


def _state(outcome: Outcome, where: str) -> str:
    said = [where]
    seconds = outcome.volatile.get("wall_s")
    if isinstance(seconds, int | float):
        said.append(f"in {seconds:.0f} s" if seconds < 100 else f"in {seconds / 60:.0f} min")
    if finished := str(outcome.volatile.get("finished") or ""):
        said.append(f"on {finished[:10]}")
    if code := outcome.provenance.get("code"):
        said.append(f"by version {code}")
    return " ".join(said)


class _Outputs(_Directive):
    """What a cell showed: published results where there are any, each labelled."""

    def run(self) -> list[nodes.Node]:
        notebook = self.book.material.notebooks[self.page]
        outputs = self.book.pages[self.page].outputs[int(self.argument)]
        return [node for output in outputs for node in self._shown(output, notebook)]

    def _shown(self, output: Output, notebook: Notebook) -> Iterator[nodes.Node]:
        match output.kind:
            case "text" | "error":
                yield box(literal(output.value), classes=["output", f"output-{output.kind}"])
            case "prose":
                yield paragraph(*prose(output.value))
            case "table":
                yield table(output.value)
            case "picture":
                yield paragraph(self.image(output.value, "A picture that the cell shows"))
            case _:
                yield from self._recorded(output, notebook)

    def _recorded(self, output: Output, notebook: Notebook) -> Iterator[nodes.Node]:
        outcomes: list[tuple[str, Outcome | None]]
        outcomes = [("published, full scale", notebook.published)]
        if notebook.run:
            outcomes.append((f"{notebook.run.profile} run on this machine", notebook.run))
        shown = [
            (label, node)
            for label, outcome in outcomes
            if outcome and (node := self._one(output, outcome, notebook)) is not None
        ]
        for index, (label, node) in enumerate(shown):
            ids = [] if index else [anchor(output.kind.removesuffix("-of"), output.value)]
            if not index:
                badge = paragraph(label, classes=["label"])
                yield box(badge, node, classes=["result"], ids=ids)
            else:
                folded = fold(summary=f"The same, {label}")
                folded += node
                yield folded

    def _one(self, output: Output, outcome: Outcome, notebook: Notebook) -> nodes.Node | None:
        match output.kind:
            case "figure" if output.value in outcome.figures:
                beside = outcome is notebook.run and notebook.published is not None
                return self.figure(outcome.figures[output.value], 480 if beside else 2000)
            case "table-of" if output.value in outcome.tables:
                found = outcome.tables[output.value]
                shown = table(map(self._cells, found.rows), found.caption)
                if found.left_out:
                    shown += paragraph(f"{_count(found.left_out, 'more row')} in the file.")
                return shown
            case "claim" if output.value in outcome.claims:
                return self._verdict_of(output.value, outcome.claims[output.value])
        return None

    def _cells(self, row: tuple[str, ...]) -> list[str | nodes.Node]:
        """Cells of a row; one that names a notebook leads there."""
        return [
            self.to(cell.split(",")[0], cell) if cell.split(",")[0] in self.book.pages else cell
            for cell in row
        ]

    def _verdict_of(self, claim: str, result: Result) -> nodes.Node:
        row = self.book.material.row(claim)
        name: nodes.Node = nodes.literal(claim, claim)
        if row is not None:
            name = self.claim_link(row, name)
        remarks = "; ".join(filter(None, [result.data, result.note]))
        first = paragraph(_verdict(result.verdict), " ", name, ": ", _clipped(result.ours))
        more = [paragraph(*prose(remarks))] if remarks else []
        reason = fold(summary="Why this verdict")
        reason += paragraph(*prose(result.reason))
        return box(first, *more, reason, classes=["measured"])


class _NotebookFoot(_Outputs):
    """At the end: results that no cell names, functions used, parameters and versions."""

    def run(self) -> list[nodes.Node]:
        notebook = self.book.material.notebooks[self.page]
        rest = super().run()
        shown: list[nodes.Node] = [nodes.rubric("", "Further results"), *rest] if rest else []
        names = uses(notebook.source)
        if names:
            line = paragraph("Functions used here: ", classes=["functions"])
            for index, name in enumerate(names):
                line += [nodes.Text(", ")] * bool(index) + [python_link(self.page, name)]
            shown.append(line)
        outcome = notebook.best
        packages = outcome.provenance.get("packages") if outcome else None
        if isinstance(packages, dict):
            folded = fold(summary="Versions, parameters and machine")
            said = [f"{name} {version}" for name, version in packages.items()]
            parameters = outcome.provenance.get("parameters") if outcome else None
            if isinstance(parameters, dict):
                said += [f"{name} = {value!r}" for name, value in parameters.items()]
            hardware = outcome.volatile.get("hardware") if outcome else None
            if isinstance(hardware, dict):
                said += [f"{name}: {value}" for name, value in hardware.items()]
            folded += paragraph("; ".join(said))
            shown.append(folded)
        return shown


class _Gallery(_Directive):
    """Cards of the notebooks whose names begin as the argument does, with their first figure."""

    def run(self) -> list[nodes.Node]:
        names = [n for n in self.book.pages if n.startswith(self.argument)]
        return [box(*map(self.card, names), classes=["gallery"])]

    def card(self, name: str) -> nodes.Node:
        notebook = self.book.material.notebooks[name]
        picture: list[nodes.Node] = []
        if notebook.best and notebook.best.figures:
            first = next(iter(notebook.best.figures.values()))
            # its words stand on the notebook's own page
            picture = [paragraph(self.to(name, self.image(first.png, "")))]
        counts = Counter(r.verdict for r in self.book.material.rows if r.notebook == name)
        said = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
        words = [paragraph(said, classes=["counts"])] if said else []
        return box(*picture, paragraph(self.to(name, *prose(self.book.title(name)))), *words,
                   classes=["tile"])  # fmt: skip


class _UsedIn(_Gallery):
    """Below an entry of the reference: the notebooks that use it, and their claims."""

    def run(self) -> list[nodes.Node]:
        names = [n for n in self.book.used.get(self.argument, ()) if n in self.book.pages]
        if not names:
            return []
        claims = [row for row in self.book.material.rows if row.notebook in names]
        shown: list[nodes.Node] = [nodes.rubric("", "Examples")]
        shown.append(box(*map(self.card, names[:_MOST_TILES]), classes=["gallery"]))
        if len(names) > _MOST_TILES:
            line = paragraph("Also in: ")
            for index, name in enumerate(names[_MOST_TILES:]):
                line += [nodes.Text("; ")] * bool(index) + [
                    self.to(name, *prose(self.book.title(name)))
                ]
            shown.append(line)
        if claims:
            line = paragraph("Claims measured there: ", classes=["evidence"])
            for index, row in enumerate(claims):
                label = f"{_paper_of(self.book.material, row).short}, {row.claim.source}"
                line += [nodes.Text("; ")] * bool(index) + [self.claim_link(row, label)]
            folded = fold(summary=f"{_count(len(claims), 'claim')} measured in these notebooks")
            folded += line
            shown.append(folded)
        return shown


class _Problems(_Directive):
    """What could not be read or shown, by notebook."""

    def run(self) -> list[nodes.Node]:
        problems = self.book.material.all_problems()
        problems += [
            f"{n.name}: {n.failure}" for n in self.book.material.notebooks.values() if n.failure
        ]
        if not problems:
            return [paragraph("Everything could be read and is shown.")]
        listed = nodes.bullet_list()
        for problem in problems:
            item = nodes.list_item()
            item += paragraph(problem[:600])
            listed += item
        return [listed]


def _disarm(app: Sphinx, doctree: nodes.document) -> None:
    """No raw markup, no address but of the web, and notebooks' names become links."""
    book: Book = app.config.invariance_book
    page = app.env.current_document.docname
    for raw in list(doctree.findall(nodes.raw)):
        raw.replace_self(literal(raw.astext()))
    for place in list(doctree.findall(nodes.reference)):
        address = str(place.get("refuri", ""))
        if ":" in address.split("/")[0].split("#")[0] and not address.startswith(_SAFE):
            place.replace_self(nodes.inline("", "", *place.children))
    for name in list(doctree.findall(nodes.literal)):
        target = name.astext()
        if target in book.pages and not isinstance(name.parent, nodes.reference):
            name.replace_self(link(page, target, nodes.literal(target, target)))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("invariance_book", None, "", types=[Book])
    app.add_node(drawing, html=(visit_drawing, None))
    app.add_node(fold, html=(visit_fold, depart_fold))
    for name, directive in {
        "front": _Front,
        "findings": _Findings,
        "scoreboard": _Scoreboard,
        "paper": _Paper,
        "notebook-head": _NotebookHead,
        "notebook-foot": _NotebookFoot,
        "outputs": _Outputs,
        "gallery": _Gallery,
        "used-in": _UsedIn,
        "problems": _Problems,
    }.items():
        app.add_directive(name, directive)
    app.connect("doctree-read", _disarm)
    reference.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
