"""`Book`: pages written by templates, in which a number stands for every value."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from docutils import nodes
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..ledger.scoreboard import GALLERY
from ..ledger.verdicts import FAILED, KEPT, VERDICTS
from ..run.figures import light_picture
from . import widgets
from .cells import RECORDED, Output, page_of
from .findings import found
from .material import Figure, Material, Notebook, Outcome, Paper, Row
from .nodes import anchor, drawing, framed, link, literal, paragraph, prose, python_link, table
from .plots import dot_plot
from .uses import LABORATORY, uses

__all__ = ["Book", "answer"]

_HERE = Path(__file__).parent


class Book:
    """The material, its pages, and what stands on them.

    A template (Markdown, in ``pages`` and ``templates/parts``) never writes a text of a result, a
    ledger or a notebook: it writes a number, and the directives of `extension` put the nodes there
    that it stands for. So no text can be markup.
    """

    def __init__(self, material: Material, pictures: Path):
        self.material, self.pictures = material, pictures
        self.pages = {n.name: page_of(n) for n in material.notebooks.values()}
        self.shown: list[list[nodes.Node]] = []
        self._page = ""
        self._jinja = Environment(
            loader=FileSystemLoader([_HERE / "templates/parts", _HERE / "pages"]),
            autoescape=True, finalize=self._neutral, trim_blocks=True, lstrip_blocks=True,
            keep_trailing_newline=True, undefined=StrictUndefined,
        )  # fmt: skip
        ours = (
            self.page, self.to, self.claim, self.function, self.web, self.thumbnail, self.image,
            self.code, self.prose, self.verdict, self.literal, self.table, self.drawing,
            self.widget, self.recorded, self.gallery, self.members, self.toctree,
            self.heading, answer, circumstances, clipped, counts, dot_plot, mathematics,
        )  # fmt: skip
        self._jinja.filters |= {function.__name__: function for function in ours}
        self._jinja.filters["anchor"] = lambda name, what: Markup(anchor(what, name))
        self._jinja.globals |= {
            "material": material, "notebooks": material.notebooks, "findings": [*found(material)],
            "verdicts": VERDICTS, "kept": KEPT, "failed": FAILED, "widgets": widgets.WIDGETS,
        }  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        return {}  # Sphinx stores its configuration, and nobody reads the book from there

    def write(self, page: str, template: str, **values: Any) -> str:
        """The text of a template, for the page of that name."""
        self._page = page
        return self._jinja.get_template(template).render(values | {"name": page})

    # ---------------------------------------------------------------- numbers in place of values

    def _neutral(self, value: Any) -> Any:
        """What the templates write of a value: numbers and what is safe as it stands."""
        if isinstance(value, int | Markup) or not str(value):
            return value
        return self._inline(nodes.Text(str(value)))

    def _inline(self, *some: nodes.Node) -> Markup:
        self.shown.append([*some])
        return Markup(f"{{shown}}`{len(self.shown) - 1}`")

    def _block(self, *some: nodes.Node) -> Markup:
        self.shown.append([*some])
        return Markup(f"\n```{{shown}} {len(self.shown) - 1}\n```\n")

    # ------------------------------------------------------------------------- within a sentence

    def prose(self, text: str) -> Markup:
        return self._inline(*prose(text))

    def code(self, text: str) -> Markup:
        return self._inline(nodes.literal(text, text))

    def verdict(self, verdict: str) -> Markup:
        known = verdict if verdict in VERDICTS else "open"
        classes = ["verdict", f"verdict-{known}"]
        return self._inline(nodes.inline(verdict, verdict, classes=classes))

    def to(self, label: str, target: str, at: str = "") -> Markup:
        return self._inline(link(self._page, target, label, at=at))

    def page(self, notebook: str) -> Markup:
        """A link under the notebook's title."""
        return self._inline(self._titled(notebook))

    def _titled(self, notebook: str) -> nodes.Node:
        return link(self._page, notebook, *prose(self.pages[notebook].title))

    def claim(self, label: str, row: Row, code: bool = False) -> Markup:
        """A link to the claim's place on its paper's page."""
        where, at = f"papers/{row.claim.paper_key}", anchor("claim", row.claim.id)
        words = nodes.literal(label, label) if code else label
        return self._inline(link(self._page, where, words, at=at))

    def function(self, name: str) -> Markup:
        return self._inline(python_link(self._page, name))

    def web(self, label: str, address: str) -> Markup:
        return self._inline(nodes.reference("", label, refuri=address))

    def thumbnail(self, figure: Figure, notebook: str) -> Markup:
        """A picture that leads to its notebook; its words stand there."""
        image = nodes.image(uri=self._kept(figure.png, 1100), alt="")
        return self._inline(link(self._page, notebook, image))

    # --------------------------------------------------------------------- between the paragraphs

    def image(self, shown: Figure | bytes, alt: str, most: int = 1100) -> Markup:
        """A picture at most so many pixels wide."""
        png = shown.png if isinstance(shown, Figure) else shown
        return self._block(paragraph(nodes.image(uri=self._kept(png, most), alt=alt)))

    def _kept(self, png: Path | bytes, most: int) -> str:
        """Address of a picture for docutils; equal pictures are kept once."""
        content = png if isinstance(png, bytes) else png.read_bytes()
        name = f"{sha256(content + str(most).encode()).hexdigest()[:16]}.webp"
        if not (self.pictures / name).exists():
            self.pictures.mkdir(parents=True, exist_ok=True)
            few = 16 if most < 500 else 48
            light = light_picture(content, most=most, colours=few, kind="WEBP")
            (self.pictures / name).write_bytes(light)
        return f"/{self.pictures.name}/{name}"

    def literal(self, text: str) -> Markup:
        return self._block(literal(text[:4000]))

    def table(self, rows: Iterable[Sequence[str]], caption: str = "") -> Markup:
        """Rows of plain text; a cell that names a notebook leads there."""
        cells = [
            [link(self._page, n, c) if (n := c.split(",")[0]) in self.pages else c for c in row]
            for row in rows
        ]
        return self._block(table(cells, caption))

    def drawing(self, svg: Element, alt: str) -> Markup:
        return self._block(drawing(svg, alt))

    def widget(self, name: str) -> Markup:
        """Something to move, drawn in advance."""
        before, after = widgets.WIDGETS[name]().html()
        return self._block(framed(before=before, after=after))

    # -------------------------------------------------------------------------- what there is

    def recorded(self, notebook: Notebook, output: Output) -> list[tuple[str, Any, int]]:
        """Label, thing and rows to show, of each outcome that has this output."""
        some = []
        for outcome in notebook.outcomes:
            ours = outcome is notebook.run
            label = f"{outcome.profile} run on this machine" if ours else "published, full scale"
            if thing := getattr(outcome, RECORDED[output.kind]).get(output.value):
                some.append((label, thing, 12 if ours and notebook.published else 200))
        return some

    def gallery(self, paper: Paper) -> Iterator[tuple[str, Figure]]:
        """Words and figure of what the README shows of a paper."""
        for name, figure, words in GALLERY:
            notebook = self.material.notebooks.get(name)
            outcome = notebook.published if notebook and notebook.paper == paper.key else None
            if outcome and figure in outcome.figures:
                yield words, outcome.figures[figure]

    def heading(self, row: Row) -> str:
        """What the paper calls it; one of many rows of a table says which."""
        place = (row.claim.paper_key, row.claim.source)
        many = sum((r.claim.paper_key, r.claim.source) == place for r in self.material.rows) > 1
        part = re.sub(r"^[a-z]+[0-9.]*(-|$)", "", row.claim.id.split("/")[1]).replace("-", " ")
        return f"{place[1][:1].upper()}{place[1][1:]}" + (f": {part}" if part and many else "")

    def members(self, folder: str) -> list[str]:
        return [name for name in self.pages if name.startswith(f"{folder}/")]

    def toctree(self, names: Iterable[str]) -> Markup:
        listed = "\n".join(f"/{name}" for name in names)
        return Markup(f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n")


def answer(outcomes: Iterable[Outcome]) -> Figure | None:
    """The figure named ``answer`` or like one of the paper's (``figure2``), or else the first."""
    figures = [figure for outcome in outcomes for figure in outcome.figures.values()]
    named = [figure for figure in figures if re.match(r"answer$|(figure|table)\d", figure.name)]
    return next(iter(named or figures), None)


def counts(rows: Iterable[Row]) -> str:
    """``"3 matched, 1 short"``."""
    found = Counter(row.verdict for row in rows)
    return ", ".join(f"{number} {verdict}" for verdict, number in found.items())


def mathematics(notebook: Notebook) -> list[str]:
    """What a notebook uses of the library; what records and draws is left out."""
    return [name for name in uses(notebook.source) if not name.startswith(LABORATORY)]


def clipped(text: str, most: int = 400) -> str:
    """Its first things, as far as there is room."""
    between = ";" if ";" in text[:most] else ","
    return text if len(text) <= most else text[:most].rsplit(between, 1)[0] + f"{between} ..."


def state(outcome: Outcome, where: str) -> str:
    """When a run ended, and how long it took."""
    seconds, code = outcome.seconds, outcome.provenance["code"]
    spent = f"in {seconds:.0f} s" if seconds < 100 else f"in {seconds / 60:.0f} min"
    finished = str(outcome.volatile.get("finished") or "")[:10]
    return f"{where} {spent}" + (f" on {finished}" if finished else "") + f" by version {code}"


def circumstances(outcome: Outcome) -> list[str]:
    """Versions, parameters and machine of a run."""
    packages, parameters = (outcome.provenance[key] for key in ("packages", "parameters"))
    hardware = outcome.volatile.get("hardware")
    said = [f"{name} {version}" for name, version in packages.items()]
    said += [f"{name} = {value!r}" for name, value in parameters.items()]
    if isinstance(hardware, dict):
        said += [f"{name}: {value}" for name, value in hardware.items()]
    return said
