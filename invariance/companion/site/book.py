"""`Book`: the pages of the site, written by templates from the material."""

import re
import runpy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from posixpath import normpath
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined, UndefinedError
from markupsafe import Markup

from ..files import read_text
from ..ledger.scoreboard import Row, clipped, registration, sentence
from ..ledger.verdicts import FAILED, KEPT, UNREADABLE, VERDICTS, at_fault
from ..numbers import without_rounding
from ..paths import Paths
from ..run.style import light_picture
from .cells import RECORDED, Cell, Output, as_notebook, page_of
from .ideas import Idea
from .material import Figure, Material, Notebook, Outcome
from .plots import chart, dot_plot
from .reference import Reference
from .text import anchor, prose

_TEMPLATES = Path(__file__).parent / "templates"
#: Texts of the project that are pages as well.
DOCUMENTS = {name: name.lower() for name in ("CHANGELOG.md", "CONTRIBUTING.md")}
_FOLDED = re.compile(r"^<details><summary>([\w ]+)</summary>\n(.+?)^</details>$", re.S | re.M)
#: What would stand in Sphinx's ``conf.py``.
SETTINGS: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "sphinx.yml").read_text("utf-8"))


class Book:
    """The material, its pages, and what stands on them.

    What a template writes of a result, a ledger or a notebook is text (`text.prose`), never markup.
    """

    def __init__(self, material: Material, paths: Paths, pictures: Path):
        self.material, self.about, self.pictures = material, material.about, pictures
        self.pages = {n.name: page_of(n) for n in material.notebooks.values()}
        self.reference = Reference(self.about["reference"])
        self.parts: list[str] = []  # HTML on the pages of Sphinx, where their numbers stand
        self.examples: dict[str, int] = {}  # parts with the notebooks that use a documented name
        self.leaves: set[str] = set()  # pages of the reference that one class has to itself
        self.found: dict[str, tuple[list[str], str]] = {}  # titles, words of pages without Sphinx
        self._paths, self._own = paths, paths.notebooks / "pages"
        self._filled: dict[str, bool] = {}
        self._jinja = Environment(
            loader=FileSystemLoader(_TEMPLATES), autoescape=True, trim_blocks=True,
            lstrip_blocks=True, undefined=StrictUndefined,
        )  # fmt: skip
        ours = (
            anchor, answer, at_fault, clipped, counts, dot_plot, prose, self.beside,
            self.heading, self.idea, self.members, self.picture, self.recorded,
            self.title, sentence, registration, without_rounding,
        )  # fmt: skip
        self._jinja.filters |= {function.__name__: function for function in ours}
        # pages that a project's own words may lead to
        there = {*self.pages, *self.about["pages"], "claims/index", "claims/ledger"}
        there |= {f"{name.split('/')[0]}/index" for name in self.pages}
        there |= {f"papers/{paper.key}" for paper in material.papers}
        self._jinja.globals |= {
            "about": self.about, "material": material, "notebooks": material.notebooks,
            "papers": {p.key: p for p in material.papers}, "verdicts": VERDICTS, "kept": KEPT,
            "failed": FAILED, "findings": [*self._findings()], "reference": self.reference,
            "there": there,
        }  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        return {}  # Sphinx stores its configuration, and nobody reads the book from there

    def write(self, template: str, page: str, /, **values: Any) -> str:
        """The HTML of a template, with links as a page needs them."""
        values |= {"page": page, "root": "../" * page.count("/")}
        return self._jinja.get_template(template).render(values)

    def part(self, *arguments: Any, **values: Any) -> str:
        """The same, kept for Sphinx; what stands for it in Markdown."""
        self.parts.append(self.write(*arguments, **values))
        return f"\n```{{part}} {len(self.parts) - 1}\n```\n"

    # ---------------------------------------------------------------------------------- pages

    def texts(self) -> Iterator[tuple[str, str]]:
        """Every page that Sphinx writes: its file and its text."""
        material, about = self.material, self.about
        sections = {name: entry for name, entry in about["sections"].items() if self.members(name)}
        yield self._index(sections)
        papers = [f"papers/{paper.key}" for paper in material.papers]
        yield self._page("papers/index", "The papers", "papers.html", papers)
        for paper in material.papers:
            below = self.members(paper.key)
            yield self._page(f"papers/{paper.key}", paper.heading, "paper.html", below, paper=paper)
        for name, section in sections.items():
            values = {"name": name, "section": section, "text": section.get("text", "")}
            at = (f"{name}/index", section.get("title", name), "section.html", self.members(name))
            said = self._document(f"notebooks/{name}/README.md").partition("\n")[2]
            file, page = self._page(*at, **values)
            yield file, page.replace("```{part}", f"{said}\n```{{part}}", 1)
        rules = read_text(self._paths.ledger).partition("\nclaims:")[0].splitlines()
        rules = [line.removeprefix("#").removeprefix(" ") for line in rules]
        listed = ["claims/failures", "claims/ledger"]
        yield self._page("claims/index", "All claims", "claims.html", listed)
        yield self._page("claims/failures", "What fell short, and why", "failures.html")
        yield self._page("claims/ledger", "The ledger", "ledger.html", rules=rules)
        spent = [(n.name, run) for n in material.notebooks.values() if (run := n.published)]
        spent.sort(key=lambda pair: -pair[1].seconds)
        yield self._page("costs", "What it costs", "costs.html", spent=spent)
        problems = material.all_problems()
        problems += [f"{n.name}: {n.failure}" for n in material.notebooks.values() if n.failure]
        homes = {*(paper.key for paper in material.papers), *sections}
        others = ["costs", *(name for name in self.pages if name.split("/")[0] not in homes)]
        texts = {page: text for file, page in DOCUMENTS.items() if (text := self._document(file))}
        yield from texts.items()
        values = {"problems": problems, "documents": [page.removesuffix(".md") for page in texts]}
        below = [*others, *values["documents"]]
        yield self._page("about", "About this site", "about.html", below, **values)
        for name in about["pages"]:
            yield f"{name}.md", (self._own / f"{name}.md").read_text(encoding="utf-8")
        for notebook in material.notebooks.values():
            yield f"{notebook.name}.ipynb", self._notebook(notebook)
        yield from self._api()

    def whole(self) -> Iterator[tuple[str, str]]:
        """Every page that is written here: claims, and the sources of what is documented."""
        for row in self.material.rows:
            name = f"claims/{row.claim.id}"
            title = f"{row.where.partition(',')[0]}, {self.heading(row)}"
            words = f"{row.claim.says} {row.claim.kind} {row.verdict}"
            self.found[name] = [title, self.heading(row), row.claim.id], words
            yield name, self.write("claim.html", name, row=row, title=title)
        for module, (lines, places) in self.reference.sources.items():
            name = f"code/{module}"
            yield name, self.write("source.html", name, lines=lines, places=places, title=module)

    def _index(self, sections: Mapping[str, Any]) -> tuple[str, str]:
        about = self.about
        menu = {"papers/index": "Papers"}
        menu |= {f"{name}/index": entry.get("menu", name) for name, entry in sections.items()}
        menu |= about["pages"] | {"claims/index": "Claims"}
        menu |= {"api/index": "Reference"} if self.reference.modules else {}
        below = [f"{words} </{name}>" for name, words in (menu | {"about": "About"}).items()]
        return self._page("index", about["title"], "index.html", below, text=about["text"])

    def _document(self, file: str) -> str:
        """A text of the project; a link leads to a page, or to the repository, or is words."""
        path, home = self._paths.root / file, self.about["repository"]
        places = {f"notebooks/{name}.py": f"{name}.ipynb" for name in self.pages}
        places |= {f"notebooks/pages/{name}.md": f"{name}.md" for name in self.about["pages"]}
        places |= {f: page for f, page in DOCUMENTS.items() if (self._paths.root / f).is_file()}

        def leads(link: re.Match[str]) -> str:
            place = normpath(f"{file}/../{link[2]}")
            to = f"/{places[place]}" if place in places else home and f"{home}/blob/HEAD/{place}"
            return f"[{link[1]}]({to})" if to else link[1]

        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        return re.sub(r"\[([^]]*)\]\((?!https:)([^)\s]+)\)", leads, text)

    def _page(
        self, name: str, title: str, template: str, below: Iterable[str] = (), /, **values: Any
    ) -> tuple[str, str]:
        """A page: its title and a part; and pages below it."""
        said = {"title": Markup(title), "part": Markup(self.part(template, name, **values))}
        below = [Markup(entry if "<" in entry else f"/{entry}") for entry in below]
        return f"{name}.md", self.write("page.md", name, below=below, **said)

    def _notebook(self, notebook: Notebook) -> str:
        """A notebook with prose, code and what it printed as they stand, results between them."""
        page, name = self.pages[notebook.name], notebook.name
        cells = [Cell(f"# {page.title}\n{self.part('head.html', name, notebook=notebook)}")]
        for cell in page.cells:
            cells.append(cell)
            if not cell.code:
                cell.source = _FOLDED.sub(self._folded, cell.source)
            if cell.outputs:
                part = self.part("outputs.html", name, notebook=notebook, shown=cell.outputs)
                cells.append(Cell(part))
        cells.append(Cell(self.part("foot.html", name, notebook=notebook, rest=page.rest)))
        return as_notebook(cells)

    def _folded(self, found: re.Match[str]) -> str:
        """What a notebook folds is folded here: the only markup of its own that is kept."""
        self.parts += [f"<details><summary>{found[1]}</summary>", "</details>"]
        start, end = (f"```{{part}} {len(self.parts) + at}\n```" for at in (-2, -1))
        return f"{start}\n\n{found[2].strip()}\n\n{end}\n"

    def _api(self) -> Iterator[tuple[str, str]]:
        using: dict[str, list[str]] = {}
        for notebook in self.material.notebooks.values():
            for full in self.reference.uses(notebook.source):
                using.setdefault(full, []).append(notebook.name)
        if modules := self.reference.modules:
            below = [f"api/{module}" for module in modules]
            yield self._page("api/index", "Reference", "api.html", below)
        for module, names in modules.items():
            page, classes = f"api/{module}", self.reference.classes(module)
            part = Markup(self.part("module.html", page, module=module))
            values = {"module": module, "names": names, "classes": classes, "part": part}
            yield f"{page}.md", self.write("module.md", page, **values)
            for name in names:
                self.examples[f"{module}.{name}"] = len(self.parts)
                self.part("examples.html", page, names=using.get(f"{module}.{name}", []))
            for name in classes:
                self.leaves.add(f"{page}.{name}")
                yield f"{page}.{name}.md", self.write("class.md", page, module=module, name=name)

    # --------------------------------------------------------------------- what a project says

    def _findings(self) -> Iterator[dict[str, Any]]:
        """Findings that published results bear out; the others are problems of their notebooks."""
        jinja = Environment(undefined=StrictUndefined)
        jinja.globals |= published(self.material)
        for finding in self.about["findings"]:
            notebook = self.material.notebooks.get(finding["notebook"])
            try:
                module = jinja.from_string(finding["says"]).make_module()
                drawn = vars(module).get("chart")
                if not vars(module).get("holds", True):
                    raise LookupError("what is published does not bear it out")
                yield finding | {"said": str(module), "chart": drawn and chart(**drawn)}
            except (UndefinedError, *UNREADABLE) as error:
                if notebook:
                    why = f"{type(error).__name__}: {error}"
                    notebook.problems.append(f"the finding {finding['title']!r} is left out: {why}")

    # ---------------------------------------------------------------------------- what there is

    def title(self, notebook: str) -> Markup:
        return prose(self.pages[notebook].title)

    def target(self, name: str) -> str | None:
        """Where a word between backquotes leads: a notebook, or a public name."""
        if name in self.pages:
            return f"{name}.html"
        if not re.search("[A-Z_]", name) or name not in self.reference.homes:
            return None
        return self.reference.address(self.reference.homes[name])

    def picture(self, figure: Figure, most: int = 960) -> tuple[str, bool]:
        """Address of a picture at most so many pixels wide, and whether it fills its frame."""
        content = figure.png.read_bytes()
        name = f"{sha256(content + str(most).encode()).hexdigest()[:16]}.webp"
        if name not in self._filled:
            self.pictures.mkdir(parents=True, exist_ok=True)
            few = 12 if most < 500 else 24
            light, filled = light_picture(content, most=most, colours=few, kind="WEBP")
            (self.pictures / name).write_bytes(light)
            self._filled[name] = filled
        return f"{self.pictures.name}/{name}", self._filled[name]

    @cached_property
    def _ideas(self) -> dict[str, Callable[[], Idea]]:
        return runpy.run_path(str(self._own / "_ideas.py"))

    def idea(self, name: str) -> Idea:
        """Something to move, drawn in advance."""
        return self._ideas[name]()

    def beside(self, row: Row) -> Figure | None:
        """The published figure that its notebook shows beside a claim."""
        notebook = self.material.notebooks.get(row.notebook)
        drawn = notebook.published.figures if notebook and notebook.published else {}
        return drawn.get(self.pages[row.notebook].beside(row.claim.id)) if drawn else None

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
        part = re.sub(r"^[a-z]+[A-Z0-9.]+(-|$)", "", row.claim.id.split("/")[1]).replace("-", " ")
        place = (row.claim.paper_key, row.claim.source)
        many = sum((r.claim.paper_key, r.claim.source) == place for r in self.material.rows) > 1
        return f"{place[1][:1].upper()}{place[1][1:]}" + (f": {part}" if part and many else "")

    def members(self, folder: str) -> list[str]:
        return [name for name in self.pages if name.startswith(f"{folder}/")]


def published(material: Material) -> dict[str, Any]:
    """What a finding may ask of published results; what is not there is a LookupError."""
    rows = {row.claim.id: row for row in material.rows if row.profile == "full"}

    def table(notebook: str, name: str) -> list[dict[str, str]]:
        """Rows of a published table by the names of its columns."""
        names, *found = material.notebooks[notebook].published.tables[name].rows  # type: ignore[union-attr]
        return [dict(zip(names, row, strict=True)) for row in found]

    return {
        "kept": KEPT, "failed": FAILED, "judged": VERDICTS, "row": rows.__getitem__, "table": table,
        "claims": lambda: [row.result for row in rows.values()],
        "recorded": lambda claim: (rows[claim].result or {})["recorded"],
        "verdicts": lambda start="": [
            r.verdict for r in material.rows if r.claim.id.startswith(start)
        ],
    }  # fmt: skip


def answer(outcomes: Iterable[Outcome]) -> Figure | None:
    """The figure named ``answer`` or like one of the paper's (``figure2``), or else the first."""
    figures = [figure for outcome in outcomes for figure in outcome.figures.values()]
    named = [figure for figure in figures if re.match(r"answer$|(figure|table)\d", figure.name)]
    return next(iter(named or figures), None)


def counts(rows: Iterable[Row]) -> str:
    """``"3 matched, 1 short"``."""
    return ", ".join(f"{n} {word}" for word, n in Counter(row.verdict for row in rows).items())
