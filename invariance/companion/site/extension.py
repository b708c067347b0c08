"""The Sphinx extension: directives for claims, verdicts, scoreboard, notebooks and galleries."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ..ledger.scoreboard import GALLERY
from ..ledger.verdicts import FAILED, KEPT, VERDICTS
from ..notebook.figures import light_png
from . import reference, widgets
from .cells import Output, Page
from .findings import Finding, found
from .material import OPEN, Figure, Material, Notebook, Outcome, Paper, Result, Row
from .nodes import (
    Part,
    anchor,
    box,
    drawing,
    fold,
    framed,
    joined,
    link,
    literal,
    paragraph,
    prose,
    python_link,
    section,
    table,
)
from .plots import dot_plot
from .uses import uses

__all__ = ["Book", "setup"]

_MOST_TILES = 6  # pictures below an entry of the reference
_LARGE, _WIDE = 25_000, 1100  # bytes of a picture that has to do with fewer colours; pixels
_SAFE = ("https://", "http://", "mailto:")


@dataclass
class Book:
    """What the directives show: the material, its pages, and where pictures are kept."""

    material: Material
    pages: Mapping[str, Page]
    pictures: Path  # inside the source folder
    findings: list[tuple[Finding, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.findings = list(found(self.material))

    def picture(self, png: Path | bytes, most: int) -> str:
        """Address of a picture for docutils, `most` pixels wide; equal pictures are kept once."""
        content = png if isinstance(png, bytes) else png.read_bytes()
        name = f"{sha256(content + str(most).encode()).hexdigest()[:16]}.png"
        if not (self.pictures / name).exists():
            self.pictures.mkdir(parents=True, exist_ok=True)
            few = 32 if most < 500 else 64 if len(content) > _LARGE else 128
            (self.pictures / name).write_bytes(light_png(content, most=most, colours=few))
        return f"/{self.pictures.name}/{name}"


def _verdict(verdict: str) -> nodes.inline:
    known = verdict if verdict in VERDICTS else "open"
    return nodes.inline(verdict, verdict, classes=["verdict", f"verdict-{known}"])


def _counts(rows: Iterable[Row]) -> str:
    """``"3 matched, 1 short"``."""
    counts = Counter(row.verdict for row in rows)
    return ", ".join(f"{number} {verdict}" for verdict, number in counts.items())


def _protocol(row: Row, result: Result) -> Iterator[nodes.Node]:
    """How the claim is measured, and what earlier protocols gave."""
    if row.claim.protocol:
        yield fold("Protocol, registered before the run that counts", paragraph(row.claim.protocol))
    if row.verdict not in (*VERDICTS, OPEN):
        said = f"These numbers do not count ({row.verdict}); by the rules of their time: "
        yield paragraph(said, _verdict(result.verdict))
    if row.claim.history:
        yield paragraph(nodes.strong("", "Protocol changed after a first result. Before:"))
        for earlier in row.claim.history:
            verdict = f" ({earlier.verdict})" if earlier.verdict else ""
            yield paragraph(f"{earlier.gave}{verdict}: {earlier.protocol}")
    if row.claim.note:
        yield paragraph(row.claim.note)


def _clipped(text: str, most: int = 400) -> str:
    return text if len(text) <= most else text[:most].rsplit(",", 1)[0] + ", ..."


def _warning(title: str, words: str) -> nodes.warning:
    parts = [paragraph(nodes.strong("", title)), literal(words[:2000])]
    return nodes.warning("", *parts, classes=["problem"])


def _state(outcome: Outcome, where: str) -> str:
    seconds, code = outcome.volatile["wall_s"], outcome.provenance["code"]
    spent = f"in {seconds:.0f} s" if seconds < 100 else f"in {seconds / 60:.0f} min"
    finished = str(outcome.volatile.get("finished") or "")[:10]
    return f"{where} {spent}" + (f" on {finished}" if finished else "") + f" by version {code}"


def _answer(outcomes: Iterable[Outcome]) -> Figure | None:
    """The figure that answers: the first named like one of the paper's, or else the first."""
    figures = [figure for outcome in outcomes for figure in outcome.figures.values()]
    named = [figure for figure in figures if re.match(r"(figure|table)\d", figure.name)]
    return next(iter(named or figures), None)


def _seconds(outcome: Outcome) -> float:
    """Of a run and of the earlier ones that had computed a part of it."""
    return outcome.volatile["wall_s"] + outcome.volatile["cached_s"]


def _machine(hardware: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in hardware.items())


class _Shown(SphinxDirective):
    """A directive of ours: its method of the same name yields the nodes."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        self.book: Book = self.config.invariance_book
        self.material = self.book.material
        self.page: str = self.env.docname
        show = getattr(self, self.name.replace("-", "_"))
        return list(show(*self.arguments))

    # ---------------------------------------------------------------------------- small parts

    def to(self, notebook: str, *label: Part, at: str = "") -> nodes.Node:
        title = label or prose(self.book.pages[notebook].title)
        return link(self.page, notebook, *title, at=at)

    def image(self, png: Path | bytes, alt: str, most: int = _WIDE) -> nodes.image:
        return nodes.image(uri=self.book.picture(png, most), alt=alt)

    def picture(self, figure: Figure, most: int = _WIDE) -> nodes.container:
        words = [paragraph(*prose(figure.caption), classes=["caption"])] if figure.caption else []
        shown = paragraph(self.image(figure.png, figure.alt, most))
        return box(shown, *words, classes=["picture"])

    def claim_link(self, row: Row, *label: Part) -> nodes.Node:
        where = f"papers/{row.claim.paper_key}"
        return link(self.page, where, *label, at=anchor("claim", row.claim.id))

    def functions(self, notebook: Notebook) -> list[Part]:
        return joined(python_link(self.page, name) for name in uses(notebook.source))

    def dots(self, paper: Paper, title: str) -> Iterator[nodes.Node]:
        if (svg := dot_plot(paper)) is not None:
            alt = f"Dot plot of the claims of {paper.short}; its page has the same numbers."
            yield from (nodes.rubric("", title), box(drawing(svg, alt), classes=["scroll"]))

    # ------------------------------------------------------------------------- the front page

    def result(self) -> Iterator[nodes.Node]:
        """How many claims came out."""
        rows = self.material.rows
        full = [row for row in rows if row.result and row.profile == "full"]
        counted = [row.verdict for row in rows if row.verdict in VERDICTS]
        before = [row.result.verdict for row in full if row.result and row.verdict not in VERDICTS]
        kept, kept_before = (sum(v in KEPT for v in some) for some in (counted, before))
        said = ""
        if counted:
            said += f"**{kept} of the {len(counted)} claims measured by a registered protocol come "
            said += "out as printed or better.** "
        if before:
            said += f"**{kept_before} of {len(before)} claims came out as printed or better** in "
            said += "full runs whose protocol was not registered beforehand; these do not count "
            said += "until they are measured again. "
        more = link(self.page, self.page, "The scoreboard", at="scoreboard")
        where = " says what fell short, and why."
        yield paragraph(*prose(said), more, where, classes=["result-line"])

    def widget(self, name: str) -> Iterator[nodes.Node]:
        """Something to move, drawn in advance."""
        before, after = widgets.WIDGETS[name]().html()
        yield framed(before=before, after=after)

    def finding_sections(self) -> Iterator[nodes.Node]:
        for finding, words in self.book.findings:
            outcome = self.material.notebooks[finding.notebook].published
            figure = outcome.figures.get(finding.figure) if outcome else None
            more = paragraph(self.to(finding.notebook, "How it was measured"), classes=["more"])
            said = box(paragraph(*prose(words)), more, classes=["words"])
            shown = [paragraph(self.image(figure.png, figure.alt))] if figure else []
            body = box(said, *shown, classes=["finding-body"])
            yield section(
                finding.title, anchor("finding", finding.title), body, classes=["finding"]
            )

    def scoreboard(self) -> Iterator[nodes.Node]:
        """Counts by paper, what fell short and why, and a dot plot per paper."""
        rows = self.material.rows
        total = Counter(row.verdict for row in rows)
        known = [*(v for v in VERDICTS if total[v]), *sorted({*total} - {*VERDICTS})]
        papers = [
            (link(self.page, f"papers/{p.key}", p.short), p.rows) for p in self.material.papers
        ]
        listed: list[list[Part]] = [["paper", "claims", *known]]
        for label, some in [*papers, ("all", tuple(rows))]:
            counts = Counter(row.verdict for row in some)
            listed.append([label, str(len(some)), *(str(counts[verdict]) for verdict in known)])
        yield table(listed)
        # what fell short is told even where it does not count
        if failed := [row for row in rows if row.result and row.result.verdict in FAILED]:
            yield nodes.rubric("", "What fell short, and why")
            yield box(*map(self._failed, failed), classes=["failures"])
        for paper in self.material.papers:
            yield from self.dots(paper, paper.short)

    def _failed(self, row: Row) -> nodes.Node:
        result, says = row.result, f": {row.claim.says}" if row.claim.says else ""
        assert result is not None
        what = paragraph(_verdict(result.verdict), " ", self.claim_link(row, row.where), says)
        why = [paragraph(*prose(result.note))] if result.note else []
        reason = fold("The numbers", paragraph(*prose(result.reason)))
        return box(what, *why, reason, classes=["failure"])

    # --------------------------------------------------------------------- the page of a paper

    def paper(self, key: str) -> Iterator[nodes.Node]:
        """What it is, its idea in a picture, and each claim in the paper's order."""
        paper = next(p for p in self.material.papers if p.key == key)
        about = paragraph(nodes.emphasis("", paper.title), f". {paper.authors}. {paper.venue}")
        for label, address in paper.links:
            about += [nodes.Text(" · "), nodes.reference("", label, refuri=address)]
        yield box(about, classes=["about"])
        if key in widgets.WIDGETS:
            yield from self.widget(key)
        for name, figure, words in GALLERY:
            notebook = self.material.notebooks.get(name)
            outcome = notebook.published if notebook and notebook.paper == key else None
            if outcome and figure in outcome.figures:
                yield from (paragraph(*prose(words)), self.picture(outcome.figures[figure]))
        yield from self.dots(paper, "At a glance")
        sources = Counter(row.claim.source for row in paper.rows)
        for row in paper.rows:
            yield self._claim(row, paper, many=sources[row.claim.source] > 1)

    def _claim(self, row: Row, paper: Paper, many: bool) -> nodes.section:
        claim, result = row.claim, row.result
        title = f"{claim.source[:1].upper()}{claim.source[1:]}"
        part = re.sub(r"^[a-z]+[0-9.]*(-|$)", "", claim.id.split("/")[1]).replace("-", " ")
        if part and many:  # one of many rows of a table
            title += f": {part}"
        shown = [paragraph(_verdict(row.verdict), " ", *prose(claim.says or claim.id))]
        if claim.printed:
            printed = f"{claim.printed} {claim.unit}".rstrip()
            shown.append(paragraph(nodes.strong("", "Printed: "), printed))
        if result is None:
            shown.append(paragraph("No run has recorded this claim yet."))
        else:
            scale = (
                "published, full scale" if row.profile == "full" else "quick run on this machine"
            )
            ours = nodes.strong("", f"Ours ({scale}): ")
            shown.append(paragraph(ours, _clipped(result.ours)))
            if result.data:
                shown.append(paragraph(nodes.strong("", "Data: "), result.data))
            if result.note:
                shown.append(paragraph(*prose(result.note)))
            rests = [paragraph(nodes.strong("", "It rests on: "), row.beside)] if row.beside else []
            shown.append(fold("Why this verdict", paragraph(*prose(result.reason)), *rests))
            shown += _protocol(row, result)
            at = anchor("claim", claim.id)
            notebook = self.material.notebooks[row.notebook]
            evidence = [self.to(row.notebook, "the run", at=at), self.to(row.notebook)]
            links: list[Part] = ["Evidence: ", *joined(evidence), ". "]
            if functions := self.functions(notebook):
                links += ["Functions: ", *functions, ". "]
            for label, address in paper.links:
                links += [nodes.reference("", f"The {label}", refuri=address), ". "]
            shown.append(paragraph(*links, classes=["evidence"]))
        return section(title, anchor("claim", claim.id), *shown, classes=["claim"])

    # ------------------------------------------------------------------ the page of a notebook

    def notebook_head(self) -> Iterator[nodes.Node]:
        """Below the title: how its runs ended, the answer in a picture and in numbers."""
        notebook = self.material.notebooks[self.page]
        if notebook.failure:
            yield _warning("The latest run on this machine failed.", notebook.failure)
        for problem in notebook.problems:
            yield _warning("Something of this notebook cannot be shown.", problem)
        states: list[Part] = [
            _state(outcome, where)
            for outcome, where in (
                (notebook.published, "Published at full scale"),
                (notebook.run, "Run on this machine"),
            )
            if outcome
        ]
        states += [
            link(self.page, f"papers/{paper.key}", f"All of {paper.short}")
            for paper in self.material.papers
            if paper.key == notebook.paper
        ]
        yield paragraph(*joined(states, " · "), classes=["state"])
        if notebook.published and (figure := _answer([notebook.published])):
            more = paragraph(
                link(self.page, self.page, "How it was obtained", at=anchor("figure", figure.name)),
                classes=["more"],
            )
            yield box(self.picture(figure), more, classes=["answer"])
        if rows := [row for row in self.material.rows if row.notebook == notebook.name]:
            listed: list[list[Part]] = [["claim", "printed", "ours", "verdict"]]
            for row in rows:
                at = anchor("claim", row.claim.id)
                label = link(self.page, self.page, row.claim.source, at=at)
                ours = _clipped(row.result.ours if row.result else "", 60)
                listed.append([label, row.claim.printed, ours, _verdict(row.verdict)])
            if not any(row.claim.printed for row in rows):
                listed = [[line[0], *line[2:]] for line in listed]
            answer = table(listed)
            many = f"{len(rows)} claims: {_counts(rows)}"
            yield fold(many, answer) if len(rows) > 6 else answer

    def outputs(self, cell: str) -> Iterator[nodes.Node]:
        """What a cell showed: published results where there are any, each labelled."""
        for output in self.book.pages[self.page].outputs[int(cell)]:
            match output.kind:
                case "text" | "error":
                    yield box(literal(output.value), classes=["output", f"output-{output.kind}"])
                case "prose":
                    yield paragraph(*prose(output.value))
                case "rows":
                    yield table(output.value)
                case "picture":
                    yield paragraph(self.image(output.value, "A picture that the cell shows"))
                case _:
                    yield from self._recorded(output)

    def _recorded(self, output: Output) -> Iterator[nodes.Node]:
        notebook = self.material.notebooks[self.page]
        labels = {"full": "published, full scale"}
        ids = [anchor(output.kind, output.value)]
        for outcome in notebook.outcomes:
            ours = outcome is notebook.run
            label = f"{outcome.profile} run on this machine" if ours else labels["full"]
            small = ours and notebook.published is not None
            node = self._one(output, outcome, 360 if small else _WIDE, 12 if small else 200)
            if node is not None and ids:
                yield box(paragraph(label, classes=["label"]), node, classes=["result"], ids=ids)
                ids = []
            elif node is not None:
                yield fold(f"The same, {label}", node)

    def _one(self, output: Output, outcome: Outcome, wide: int, long: int) -> nodes.Node | None:
        """A result, its picture at most `wide` pixels, its table at most `long` rows."""
        if output.kind == "figure" and (figure := outcome.figures.get(output.value)):
            return self.picture(figure, wide)
        if output.kind == "claim" and (result := outcome.claims.get(output.value)):
            return self._measured(output.value, result)
        if output.kind == "table" and (rows := outcome.tables.get(output.value)):
            shown = table(map(self._cells, rows.rows[: 1 + long]), rows.caption)
            if more := rows.left_out + max(0, len(rows.rows) - 1 - long):
                shown += paragraph(f"{more} more in the file.")
            return shown
        return None

    def _cells(self, row: tuple[str, ...]) -> list[Part]:
        """Cells of a row; one that names a notebook leads there."""
        first = [cell.split(",")[0] for cell in row]
        return [
            self.to(name, cell) if name in self.book.pages else cell
            for name, cell in zip(first, row, strict=True)
        ]

    def _measured(self, claim: str, result: Result) -> nodes.Node:
        row, name = self.material.row(claim), nodes.literal(claim, claim)
        where = self.claim_link(row, name) if row else name
        first = paragraph(_verdict(result.verdict), " ", where, ": ", _clipped(result.ours))
        remarks = "; ".join(filter(None, [result.data, result.note]))
        more = [paragraph(*prose(remarks))] if remarks else []
        reason = fold("Why this verdict", paragraph(*prose(result.reason)))
        return box(first, *more, reason, classes=["measured"])

    def notebook_foot(self, rest: str) -> Iterator[nodes.Node]:
        """At the end: results that no cell names, functions used, parameters and versions."""
        notebook = self.material.notebooks[self.page]
        if further := list(self.outputs(rest)):
            yield from (nodes.rubric("", "Further results"), *further)
        if functions := self.functions(notebook):
            yield paragraph("Functions used here: ", *functions, classes=["functions"])
        for outcome in notebook.outcomes[:1]:
            packages, parameters = (outcome.provenance[k] for k in ("packages", "parameters"))
            hardware = outcome.volatile.get("hardware")
            said = [f"{name} {version}" for name, version in packages.items()]
            said += [f"{name} = {value!r}" for name, value in parameters.items()]
            if isinstance(hardware, dict):
                said += [f"{name}: {value}" for name, value in hardware.items()]
            yield fold("Versions, parameters and machine", paragraph("; ".join(said)))

    # ------------------------------------------------------------------- galleries, and about

    def gallery(self, prefix: str) -> Iterator[nodes.Node]:
        """Cards of the notebooks whose names begin so, with their first figure."""
        names = [name for name in self.book.pages if name.startswith(prefix)]
        yield box(*map(self._card, names), classes=["gallery"])

    def _card(self, name: str) -> nodes.Node:
        first = _answer(self.material.notebooks[name].outcomes)
        # its words stand on the notebook's own page
        shown = [paragraph(self.to(name, self.image(first.png, "")))] if first else []
        said = _counts(row for row in self.material.rows if row.notebook == name)
        words = [paragraph(said, classes=["counts"])] if said else []
        return box(*shown, paragraph(self.to(name)), *words, classes=["tile"])

    def used_in(self, name: str) -> Iterator[nodes.Node]:
        """Below an entry of the reference: the notebooks that use it, and their claims."""
        notebooks = self.material.notebooks.values()
        names = [n.name for n in notebooks if name in uses(n.source) and n.name in self.book.pages]
        if not names:
            return
        yield nodes.rubric("", "Examples")
        yield box(*map(self._card, names[:_MOST_TILES]), classes=["gallery"])
        if more := names[_MOST_TILES:]:
            yield paragraph("Also in: ", *joined(map(self.to, more), "; "))
        if claims := [row for row in self.material.rows if row.notebook in names]:
            links = joined((self.claim_link(row, row.where) for row in claims), "; ")
            summary = f"Claims measured in these notebooks: {_counts(claims)}"
            yield fold(summary, paragraph(*links, classes=["evidence"]))

    def costs(self) -> Iterator[nodes.Node]:
        """Minutes and memory of each notebook in its last run at full scale, dearest first."""
        spent = [(n.name, n.published) for n in self.material.notebooks.values() if n.published]
        spent.sort(key=lambda pair: -_seconds(pair[1]))
        total = sum(_seconds(outcome) for _, outcome in spent) or 1.0
        cpu = sum(outcome.volatile["cpu_s"] for _, outcome in spent)
        versions = Counter(outcome.provenance["code"] for _, outcome in spent)
        said = f"{len(spent)} notebooks, {total / 60:.0f} minutes one after another"
        if cpu:
            said += f", {cpu / 60:.0f} minutes of processor time as far as it was noted"
        if len(versions) == 1:
            yield paragraph(f"{said}, all by version {next(iter(versions))} of the code.")
        else:
            yield paragraph(f"{said}, by {len(versions)} versions of the code.")
        head = ["notebook", "minutes", "share", "processor", "floor", "peak, GiB", "on"]
        rows: list[list[Part]] = [[*head]]
        for name, outcome in spent:
            seconds, volatile = _seconds(outcome), outcome.volatile
            processor, peak = volatile["cpu_s"], volatile["peak_memory_mb"]
            floor = volatile["floor_s"]
            rows.append([
                self.to(name), f"{seconds / 60:.1f}", f"{100 * seconds / total:.0f} %",
                f"{processor / 60:.1f}" if processor else "",
                f"{floor / processor:.0%}" if floor and processor else "",
                f"{peak / 1024:.1f}",
                str(volatile.get("finished") or "")[:10].replace("-", "\N{NON-BREAKING HYPHEN}"),
            ])  # fmt: skip
        yield table(rows)
        machines = [outcome.volatile.get("hardware") for _, outcome in spent]
        for said in dict.fromkeys(_machine(m) for m in machines if isinstance(m, dict)):
            yield paragraph(f"Measured on: {said}.")

    def problems(self) -> Iterator[nodes.Node]:
        """What could not be read or shown, by notebook."""
        failed = [n for n in self.material.notebooks.values() if n.failure]
        said = self.material.all_problems() + [f"{n.name}: {n.failure}" for n in failed]
        for problem in said or ["Everything could be read and is shown."]:
            yield paragraph(problem[:600])


_DIRECTIVES = """
result widget finding-sections scoreboard paper notebook-head outputs notebook-foot gallery used-in
problems costs
""".split()


def _disarm(app: Sphinx, doctree: nodes.document) -> None:
    """No raw markup, no address but of the web, and notebooks' names become links."""
    pages = app.config.invariance_book.pages
    page = app.env.current_document.docname
    for raw in list(doctree.findall(nodes.raw)):
        raw.replace_self(literal(raw.astext()))
    for place in list(doctree.findall(nodes.reference)):
        address = str(place.get("refuri", ""))
        if ":" in address.split("/")[0].split("#")[0] and not address.startswith(_SAFE):
            place.replace_self(nodes.inline("", "", *place.children))
    for name in list(doctree.findall(nodes.literal)):
        target = name.astext()
        if isinstance(name.parent, nodes.reference | addnodes.pending_xref):
            continue
        if target in pages:
            name.replace_self(link(page, target, nodes.literal(target, target)))
        elif re.search(r"[A-Z_]", target) and target in reference.homes():
            name.replace_self(python_link(page, reference.homes()[target]))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("invariance_book", None, "", types=[Book])
    app.add_node(framed, html=(framed.visit, framed.depart))
    for name in _DIRECTIVES:
        app.add_directive(name, _Shown)
    app.connect("doctree-read", _disarm)
    reference.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
