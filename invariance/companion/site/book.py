"""`Book`: the pages of the site as MyST-NB reads them, written by templates from the material."""

import html
import json
import re
import runpy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, UndefinedError
from markupsafe import Markup

from ..ledger.rows import Row
from ..ledger.scoreboard import clipped
from ..ledger.verdicts import FAILED, KEPT, VERDICTS
from ..paths import Paths
from ..run.figures import light_picture
from .cells import RECORDED, Cell, Output, page_of
from .ideas import Idea, drawing
from .material import Figure, Material, Notebook, Outcome
from .plots import dot_plot
from .reference import BESIDE, Reference
from .text import anchor, code, escaped, link, prose, table

__all__ = ["Book", "answer"]

_HERE = Path(__file__).parent


class Book:
    """The material, its pages, and what stands on them.

    Templates are Markdown. Whatever they write of a value is plain text (`text.escaped`), or
    Markdown that a filter has made of it; a result, a ledger or a notebook is never markup.
    """

    def __init__(self, material: Material, paths: Paths, pictures: Path):
        self.material, self.about, self.pictures = material, material.about, pictures
        self.pages = {n.name: page_of(n) for n in material.notebooks.values()}
        self.reference = Reference(self.about["reference"])
        self.drawings: list[str] = []
        self._own = paths.notebooks / "pages"
        self._jinja = Environment(
            loader=FileSystemLoader(_HERE / "templates"), autoescape=True, finalize=escaped,
            trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
            undefined=StrictUndefined,
        )  # fmt: skip
        ours = (
            anchor, answer, circumstances, clipped, code, counts, dot_plot, drawing, link, prose,
            table, self.claim, self.function, self.heading, self.html, self.idea, self.image,
            self.literal, self.mathematics, self.members, self.page, self.recorded, self.thumbnail,
            self.toctree, verdict,
        )  # fmt: skip
        self._jinja.filters |= {function.__name__: function for function in ours}
        self._jinja.globals |= {
            "about": self.about, "material": material, "notebooks": material.notebooks,
            "papers": {p.key: p for p in material.papers}, "verdicts": VERDICTS, "kept": KEPT,
            "failed": FAILED, "findings": [*self._findings()],
        }  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        return {}  # Sphinx stores its configuration, and nobody reads the book from there

    def write(self, template: str, **values: Any) -> str:
        """The text of a template."""
        return self._jinja.get_template(template).render(values)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Every page: its file and its text."""
        material, about = self.material, self.about
        spent = [(n.name, run) for n in material.notebooks.values() if (run := n.published)]
        failed = [f"{n.name}: {n.failure}" for n in material.notebooks.values() if n.failure]
        homes = {*(paper.key for paper in material.papers), *about["sections"]}
        others = [name for name in self.pages if name.split("/")[0] not in homes]
        values: dict[str, dict[str, Any]] = {
            "index": {}, "claims": {}, "papers/index": {},
            "costs": {"spent": sorted(spent, key=lambda pair: -pair[1].seconds)},
            "about": {"problems": material.all_problems() + failed, "others": ["costs", *others]},
        }  # fmt: skip
        if self.reference.modules:
            values["api/index"] = {"modules": self.reference.modules}
        for page, more in values.items():
            yield f"{page}.md", self.write(f"pages/{page}.md", **more)
        for paper in material.papers:
            yield f"papers/{paper.key}.md", self.write("paper.md", paper=paper)
        for name, section in about["sections"].items():
            yield f"{name}/index.md", self.write("section.md", name=name, section=section)
        for name in about["pages"]:
            yield f"{name}.md", (self._own / f"{name}.md").read_text(encoding="utf-8")
        for notebook in material.notebooks.values():
            yield f"{notebook.name}.ipynb", self._notebook(notebook)
        for module, names in self.reference.modules.items():
            entries = {name: self._entry(f"{module}.{name}") for name in names}
            classes = self.reference.classes(module)
            text = self.write("module.md", module=module, entries=entries, classes=classes)
            yield f"api/{module}.md", text
            for name in classes:
                text = self.write("class.md", module=module, name=name, entry=entries[name])
                yield f"api/{module}.{name}.md", text

    def _notebook(self, notebook: Notebook) -> str:
        """A notebook with prose, code and what it printed as they stand, results between them."""
        page, name = self.pages[notebook.name], notebook.name
        runs = {"Published at full scale": notebook.published, "Run on this machine": notebook.run}
        states = [state(outcome, where) for where, outcome in runs.items() if outcome]
        head = self.write("head.md", notebook=notebook, title=page.title, states=states, name=name)
        cells = [Cell(head)]
        for cell in page.cells:
            cells.append(cell)
            if cell.outputs:
                shown = self.write("outputs.md", notebook=notebook, shown=cell.outputs)
                cells.append(Cell(shown))
        used = self.reference.uses(notebook.source)
        foot = self.write("foot.md", notebook=notebook, rest=page.rest, functions=used)
        written = [cell.written() for cell in [*cells, Cell(foot)]]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
        content = {"cells": written, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}
        return json.dumps(content)

    def _entry(self, full: str) -> dict[str, Any]:
        """An object of the reference: the notebooks that use it, and their claims."""
        using = [
            n for n in self.material.notebooks.values() if full in self.reference.uses(n.source)
        ]
        names = [notebook.name for notebook in using]
        counts = not full.startswith(BESIDE)
        claims = [row for row in self.material.rows if counts and row.notebook in names]
        return {"notebooks": names, "claims": claims}

    def _findings(self) -> Iterator[dict[str, Any]]:
        """Findings that published results bear out; the others are problems of their notebooks."""
        jinja = Environment(undefined=StrictUndefined)
        jinja.globals |= _Published(self.material).names()
        for finding in self.about["findings"]:
            notebook = self.material.notebooks.get(finding["notebook"])
            try:
                said = jinja.from_string(finding["says"]).render()
            except (UndefinedError, ArithmeticError, LookupError, TypeError, ValueError) as error:
                if notebook:
                    why = f"{type(error).__name__}: {error}"
                    notebook.problems.append(f"the finding {finding['title']!r} is left out: {why}")
                continue
            drawn = notebook.published.figures if notebook and notebook.published else {}
            yield finding | {"said": said, "drawn": drawn.get(finding["figure"])}

    # ------------------------------------------------------------------------- within a sentence

    def page(self, notebook: str) -> Markup:
        """A link under the notebook's title."""
        return link(prose(self.pages[notebook].title), notebook)

    def claim(self, label: Any, row: Row) -> Markup:
        """A link to the claim's place on its paper's page."""
        return link(label, f"papers/{row.claim.paper_key}", anchor(row.claim.id, "claim"))

    def function(self, full: str) -> Markup:
        return link(code(full.rpartition(".")[2]), *self.reference.address(full))

    def target(self, name: str) -> str | None:
        """Where a word between backquotes leads: a notebook, or a public name."""
        if name in self.pages:
            return f"site:{name}"
        if not re.search("[A-Z_]", name) or name not in self.reference.homes:
            return None
        return "site:{}#{}".format(*self.reference.address(self.reference.homes[name]))

    def thumbnail(self, figure: Figure, page: str) -> Markup:
        """A picture that leads to a page; its words stand there."""
        return link(Markup(f"![]({self._kept(figure.png, 1100)[0]})"), page)

    # --------------------------------------------------------------------- between the paragraphs

    def image(self, figure: Figure, most: int = 1100) -> Markup:
        """A picture at most so many pixels wide."""
        address, filled = self._kept(figure.png, most)
        return Markup(f"![{escaped(figure.alt)}]({address})" + "{.filled}" * filled)

    def _kept(self, png: Path, most: int) -> tuple[str, bool]:
        """Address of a picture, and whether it fills its frame; equal pictures are kept once."""
        content = png.read_bytes()
        name = f"{sha256(content + str(most).encode()).hexdigest()[:16]}.webp"
        if name not in self._filled:
            self.pictures.mkdir(parents=True, exist_ok=True)
            few = 12 if most < 500 else 28
            light, filled = light_picture(content, most=most, colours=few, kind="WEBP")
            (self.pictures / name).write_bytes(light)
            self._filled[name] = filled
        return f"/{self.pictures.name}/{name}", self._filled[name]

    @cached_property
    def _filled(self) -> dict[str, bool]:
        return {}

    def html(self, written: str) -> Markup:
        """HTML of this package's own."""
        self.drawings.append(written)
        return Markup(f"\n```{{drawing}} {len(self.drawings) - 1}\n```\n")

    def literal(self, text: str) -> Markup:
        return self.html(f"<pre>{html.escape(text[:4000], quote=False)}</pre>")

    def idea(self, name: str) -> Idea:
        """Something to move, drawn in advance."""
        return self._ideas[name]()

    @cached_property
    def _ideas(self) -> dict[str, Callable[[], Idea]]:
        return runpy.run_path(str(self._own / "_ideas.py"))

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

    def heading(self, row: Row) -> str:
        """What the paper calls it; one of many rows of a table says which."""
        place = (row.claim.paper_key, row.claim.source)
        many = sum((r.claim.paper_key, r.claim.source) == place for r in self.material.rows) > 1
        part = re.sub(r"^[a-z]+[0-9.]*(-|$)", "", row.claim.id.split("/")[1]).replace("-", " ")
        return f"{place[1][:1].upper()}{place[1][1:]}" + (f": {part}" if part and many else "")

    def mathematics(self, notebook: Notebook) -> list[str]:
        """What a notebook uses of the library; what records, loads and averages is left out."""
        used = self.reference.uses(notebook.source)
        return [name for name in used if not name.startswith(BESIDE)]

    def members(self, folder: str) -> list[str]:
        return [name for name in self.pages if name.startswith(f"{folder}/")]

    def toctree(self, names: Iterable[str]) -> Markup:
        listed = "\n".join(f"/{name}" for name in names)
        return Markup(f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n")


class _Published:
    """What a finding may ask of published results; what is not there is a LookupError."""

    def __init__(self, material: Material):
        self._material = material

    def names(self) -> dict[str, Any]:
        words = {"kept": KEPT, "failed": FAILED, "judged": VERDICTS}
        return words | {
            n: getattr(self, n) for n in ("claims", "recorded", "row", "table", "verdicts")
        }

    def row(self, claim: str) -> Row:
        return {row.claim.id: row for row in self._material.rows if row.profile == "full"}[claim]

    def claims(self) -> list[Any]:
        return [row.result for row in self._material.rows if row.profile == "full"]

    def recorded(self, claim: str) -> Any:
        """The numbers that a published claim rests on."""
        return (self.row(claim).result or {})["recorded"]

    def verdicts(self, prefix: str = "") -> list[str]:
        """What counts of these claims."""
        return [r.verdict for r in self._material.rows if r.claim.id.startswith(prefix)]

    def table(self, notebook: str, name: str) -> list[dict[str, str]]:
        """Rows of a published table by the names of its columns."""
        outcome = self._material.notebooks[notebook].published
        if outcome is None:
            raise KeyError(notebook)
        names, *rows = outcome.tables[name].rows
        return [dict(zip(names, row, strict=True)) for row in rows]


def verdict(word: str) -> Markup:
    known = word if word in VERDICTS else "open"
    return Markup(f"[{escaped(word)}]{{.verdict .verdict-{known}}}")


def answer(outcomes: Iterable[Outcome]) -> Figure | None:
    """The figure named ``answer`` or like one of the paper's (``figure2``), or else the first."""
    figures = [figure for outcome in outcomes for figure in outcome.figures.values()]
    named = [figure for figure in figures if re.match(r"answer$|(figure|table)\d", figure.name)]
    return next(iter(named or figures), None)


def counts(rows: Iterable[Row]) -> str:
    """``"3 matched, 1 short"``."""
    found = Counter(row.verdict for row in rows)
    return ", ".join(f"{number} {word}" for word, number in found.items())


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
