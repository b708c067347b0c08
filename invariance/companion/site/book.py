"""`Book` holds the pages of the site, which templates write from the material."""

import csv
import io
import re
import runpy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from posixpath import normpath
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined, UndefinedError
from markupsafe import Markup

from ... import __version__
from ..files import read_text, read_yaml
from ..ledger.claims import DATA, paper_label
from ..ledger.rows import Row
from ..ledger.scoreboard import as_word, clipped, counterfactual, registration
from ..ledger.tally import sentence, tallies, used_outcomes
from ..ledger.verdicts import FAILED, KEPT, UNREADABLE, VERDICTS, at_fault
from ..lite.notebooks import names_in
from ..numbers import without_rounding
from ..paths import Paths
from ..provenance import code_version
from ..run.style import light_picture, shown_size
from .cells import RECORDED, Cell, Output, as_notebook, page_of
from .evidence import Evidence
from .ideas import Idea
from .material import Figure, Material, Notebook, Outcome
from .plots import chart, dot_plot
from .reference import Reference, imported_modules
from .text import anchor, highlighted, plain, prose, statement, time_in_words

_TEMPLATES = Path(__file__).parent / "templates"
#: Texts of the project that are pages too: page names by file.
DOCUMENTS = {name: name.lower() for name in ("CHANGELOG.md", "CONTRIBUTING.md")}
#: The settings that Sphinx expects in a ``conf.py``.
SETTINGS: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "sphinx.yml").read_text("utf-8"))

# Markup that notebooks may contain: a summary with text that is folded below it.
_FOLDED = re.compile(r"^<details><summary>([\w ]+)</summary>\n(.+?)^</details>$", re.S | re.M)
_LINK = re.compile(r"\[([^]]*)\]\((?!https:)([^)\s]+)\)")
# The part of a claim's name that repeats its source, such as "fig1-".
_SOURCE_PREFIX = re.compile(r"^[a-z]+[A-Z0-9.]+(-|$)")
_ANSWER = re.compile(r"answer$|(figure|table)\d")
_THUMBNAIL = 500  # pixels; narrower pictures get fewer colours
_FULL_SIZE = 1600  # pixels; twice what a page shows, and more than any figure has
_ROWS_OF_RUN = 12  # of a table of this machine, if it is published too
_ROWS = 200  # of every other table
#: Objects that are named on the card of a notebook.
_N_OBJECTS = 4
_CLAIM_COLUMNS = (
    "claim", "paper", "source", "kind", "statement", "printed", "unit", "margin", "ours",
    "verdict", "notebook",
)  # fmt: skip


@dataclass(frozen=True)
class PlainPage:
    """A page that Sphinx does not write: titles and words for its search."""

    titles: list[str]
    words: str


@dataclass(frozen=True)
class Picture:
    """A copy of a figure: its address, and the size in pixels at which a page shows it."""

    address: str
    fills_frame: bool  # as photographs do
    width: int
    height: int


@dataclass(frozen=True)
class Shown:
    """A recorded result with a label; a table shows at most `n_rows` rows."""

    label: str
    value: Any
    n_rows: int


class Book:
    """The material and its pages.

    Text from a result, a ledger or a notebook is escaped by the templates (`text.prose`); it never
    becomes markup.
    """

    def __init__(self, material: Material, paths: Paths, pictures: Path):
        self.material = material
        self.about = material.about
        self.pictures = pictures
        self.pages = {name: page_of(notebook) for name, notebook in material.notebooks.items()}
        self.reference = Reference(self.about["reference"])
        self.findings = list(findings_of(material))
        self.evidence = Evidence(material, paths)
        self.parts: list[str] = []  # HTML in Sphinx's pages, which refer to it by number
        self.examples: dict[str, int] = {}  # part with the notebooks that use a documented name
        self.class_pages: set[str] = set()  # pages of the reference for one class
        self.without_sphinx: dict[str, PlainPage] = {}
        self.has_feed = (paths.root / "CHANGELOG.md").is_file()
        self.in_browser = names_in(paths.lite)  # notebooks with a button that runs them
        self._paths = paths
        self._project_pages = paths.notebooks / "pages"
        self._pictures: dict[str, Picture] = {}  # by file name
        self._jinja = self._environment()

    def __getstate__(self) -> dict[str, Any]:
        # Sphinx stores its configuration, which includes the book, but nothing reads it there.
        return {}

    def _environment(self) -> Environment:
        jinja = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=StrictUndefined,
        )
        jinja.filters |= {
            "anchor": anchor,
            "answer": answer,
            "as_word": as_word,
            "at_fault": at_fault,
            "clipped": clipped,
            "counterfactual": counterfactual,
            "counts": counts,
            "dot_plot": dot_plot,
            "figure_beside": self.figure_beside,
            "heading": self.heading,
            "idea": self.idea,
            "in_words": time_in_words,
            "members": self.members,
            "objects": self.objects,
            "opening": lambda notebook: plain(self.pages[notebook].opening),
            "paper_label": paper_label,
            "picture": self.picture,
            "prose": prose,
            "python": highlighted,
            "recorded": self.recorded,
            "registration": registration,
            "sentence": sentence,
            "statement": statement,
            "tallies": tallies,
            "title": self.title,
            "used_outcomes": used_outcomes,
            "without_rounding": without_rounding,
        }
        jinja.globals |= {
            "about": self.about,
            "evidence": self.evidence,
            "helpers": self.helpers,
            "evidence_pages": self._evidence_pages,
            "data_in_words": DATA,
            "existing_pages": self._existing_pages(),
            "failed": FAILED,
            "findings": self.findings,
            "in_browser": self.in_browser,
            "kept": KEPT,
            "material": self.material,
            "menu": self.menu,
            "notebooks": self.material.notebooks,
            "papers": {paper.key: paper for paper in self.material.papers},
            "reference": self.reference,
            "release": __version__,
            "feed": self.has_feed,
            "preview": self.preview if self.about["address"] else "",
            "verdicts": VERDICTS,
        }
        return jinja

    def _existing_pages(self) -> set[str]:
        """Return the pages that a project's own text may link to."""
        pages = {*self.pages, *self.about["pages"], *self._evidence_pages}
        pages |= {"claims/index", "claims/ledger"}
        pages |= {f"{name.split('/')[0]}/index" for name in self.pages}
        pages |= {f"papers/{paper.key}" for paper in self.material.papers}
        return pages

    def render(self, template: str, page: str, /, **values: Any) -> str:
        """Return the HTML of a template, with links relative to a page."""
        root = "../" * page.count("/")
        shared = {"page": page, "root": root, "source": "", "description": ""}
        return self._jinja.get_template(template).render(shared | values)

    def source(self, page: str) -> str:
        """Return the file of the repository that a page is made from, or an empty text."""
        if page in self.pages:
            return f"notebooks/{page}.py"
        if page in self.about["pages"]:
            return f"notebooks/pages/{page}.md"
        documents = {name.removesuffix(".md"): file for file, name in DOCUMENTS.items()}
        return documents.get(page, "")

    @cached_property
    def preview(self) -> str:
        """The address of the picture that stands for the site where a link to it is shared."""
        for paper in self.material.papers:
            notebook = self.material.notebooks.get(paper.notebook)
            if notebook and notebook.published:
                figure = notebook.published.figures.get(paper.figure)
                figure = figure or answer([notebook.published])
                return self.picture(figure).address if figure else ""
        return ""

    @cached_property
    def software(self) -> dict[str, Any]:
        """The entry of the software in ``CITATION.cff``."""
        path = self._paths.root / "CITATION.cff"
        content = read_yaml(path) if path.is_file() else {}
        return {"authors": content.get("authors", []), "title": content.get("title", "")}

    @cached_property
    def edition(self) -> dict[str, str]:
        """Authors, day and version of the code, for the printed report."""
        names = [author["name"] for author in self.software["authors"] if "name" in author]
        return {
            "authors": ", ".join(names) or f"The {self.about['name']} developers",
            "day": datetime.now(UTC).date().isoformat(),
            "version": code_version(self._paths.root),
        }

    def search_entries(self) -> list[list[str]]:
        """Return pages and public names with words that find them beyond those of their text.

        An entry holds the page, the place on it, a title, and words: those of ``search`` in
        ``papers.yml``, for a name also its task and the first paragraph of its docstring.
        """
        words = dict(self.about["search"])
        for task, names in self.about["tasks"].items():
            for name in names:
                words[name] = f"{words.get(name, '')} {task}"
        entries = []
        for page, title in self.page_titles().items():
            if page in words:
                entries.append([page, "", title, words[page]])
        for short, full in self.reference.homes.items():
            address, _, place = self.reference.address(full).partition("#")
            summary = plain(self.reference.summary(full))
            page = address.removesuffix(".html")
            entries.append([page, place, short, f"{summary} {words.get(short, '')}".strip()])
        return entries

    def claims_table(self) -> list[dict[str, str]]:
        """Return all claims, each with the values of its columns."""
        table = []
        for row in self.material.rows:
            claim = row.claim
            place = [claim.id, claim.paper_key, claim.source, claim.kind]
            numbers = [plain(claim.says), claim.printed, claim.unit, claim.margin, row.ours]
            values = [*place, *numbers, row.verdict, row.notebook]
            table.append(dict(zip(_CLAIM_COLUMNS, map(str, values), strict=True)))
        return table

    def claims_csv(self) -> str:
        """Return all claims as a table of comma-separated values."""
        lines = io.StringIO()
        table = csv.DictWriter(lines, _CLAIM_COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(self.claims_table())
        return lines.getvalue()

    def objects(self, notebook: str) -> list[str]:
        """Return full names of classes that a notebook uses and that belong to a task."""
        with_task = {name for names in self.about["tasks"].values() for name in names}
        used = self.reference.uses(self.material.notebooks[notebook].source)
        short_names = {full: full.rpartition(".")[2] for full in used}
        classes = [full for full, name in short_names.items() if name[0].isupper()]
        return [full for full in classes if short_names[full] in with_task][:_N_OBJECTS]

    def page_titles(self) -> dict[str, str]:
        """Return the titles of the pages that ``search`` in ``papers.yml`` may name."""
        titles = {name: plain(page.title) for name, page in self.pages.items()}
        sections = {name: section.get("title", name) for name, section in self.sections.items()}
        titles |= {f"{name}/index": title for name, title in sections.items()}
        titles |= self.about["pages"] | self._evidence_pages
        titles |= {"cite": "How to cite", "changelog": "Changelog", "about": "About this site"}
        return titles

    def part(self, template: str, page: str, /, **values: Any) -> str:
        """Render a template for a page of Sphinx; return the Markdown that stands for it."""
        self.parts.append(self.render(template, page, **values))
        return f"\n{_directive(len(self.parts) - 1)}\n"

    # ------------------------------------------------------------------- pages that Sphinx writes

    def sphinx_pages(self) -> Iterator[tuple[str, str]]:
        """Yield file and text of every page that Sphinx writes."""
        sections = self.sections
        yield self._index()
        yield from self._paper_pages()
        for name, section in sections.items():
            yield self._section(name, section)
        yield from self._claim_lists()
        yield from self._about_pages({*sections, *(paper.key for paper in self.material.papers)})
        for name in self.about["pages"]:
            yield f"{name}.md", (self._project_pages / f"{name}.md").read_text(encoding="utf-8")
        for notebook in self.material.notebooks.values():
            yield f"{notebook.name}.ipynb", self._notebook(notebook)
        yield from self._reference_pages()

    @cached_property
    def sections(self) -> dict[str, Any]:
        """The sections of ``papers.yml`` that have notebooks."""
        sections = self.about["sections"].items()
        return {name: section for name, section in sections if self.members(name)}

    @cached_property
    def menu(self) -> dict[str, str]:
        """Labels of the entries in the header of every page, by page."""
        menu = {"papers/index": "Papers"}
        for name, section in self.sections.items():
            menu[f"{name}/index"] = section.get("menu", name)
        menu |= self.about["pages"]
        menu["claims/index"] = "Claims"
        if self.reference.modules:
            menu["api/index"] = "Reference"
        menu["about"] = "About"
        return menu

    def _index(self) -> tuple[str, str]:
        children = [f"{label} </{name}>" for name, label in self.menu.items()]
        title = self.about["title"]
        return self._page("index", title, "index.html", children, text=self.about["text"])

    def _paper_pages(self) -> Iterator[tuple[str, str]]:
        papers = self.material.papers
        children = [f"papers/{paper.key}" for paper in papers]
        yield self._page("papers/index", "The papers", "papers.html", children)
        for paper in papers:
            notebooks = self.members(paper.key)
            name = f"papers/{paper.key}"
            yield self._page(name, paper.heading, "paper.html", notebooks, paper=paper)

    def _section(self, name: str, section: Mapping[str, Any]) -> tuple[str, str]:
        """Return the page of a section, with the text of its README below the title."""
        file, text = self._page(
            f"{name}/index",
            section.get("title", name),
            "section.html",
            self.members(name),
            name=name,
            section=section,
            text=section.get("text", ""),
        )
        readme = self._document(f"notebooks/{name}/README.md").partition("\n")[2]
        return file, text.replace("```{part}", f"{readme}\n```{{part}}", 1)

    @cached_property
    def _evidence_pages(self) -> dict[str, str]:
        """The titles of the pages about errata, tables and figures that have any content."""
        pages = {}
        n_corrections = len(self.evidence.corrections)
        if n_corrections:
            noun = "formula" if n_corrections == 1 else "formulas"
            pages["claims/errata"] = f"{as_word(n_corrections).capitalize()} {noun} to correct"
        if self.evidence.tables:
            pages["claims/tables"] = "The papers' tables and ours"
        if self.evidence.pairs:
            pages["claims/figures"] = "The papers' figures and ours"
        return pages

    def _claim_lists(self) -> Iterator[tuple[str, str]]:
        head = read_text(self._paths.ledger).partition("\nclaims:")[0]
        rules = [line.removeprefix("#").removeprefix(" ") for line in head.splitlines()]
        children = [*self._evidence_pages, "claims/failures", "claims/ledger"]
        yield self._page("claims/index", "All claims", "claims.html", children)
        for name, title in self._evidence_pages.items():
            yield self._page(name, title, f"{name.rpartition('/')[2]}.html")
        yield self._page("claims/failures", "Claims that failed, and why", "failures.html")
        yield self._page("claims/ledger", "The ledger", "ledger.html", rules=rules)

    def _about_pages(self, folders: set[str]) -> Iterator[tuple[str, str]]:
        """Yield the costs, the project's documents, and the page about the site.

        `folders` are those with a page of their own; notebooks in others are listed here.
        """
        notebooks = self.material.notebooks.values()
        published = [(notebook.name, notebook.published) for notebook in notebooks]
        costs = [(name, outcome) for name, outcome in published if outcome]
        costs.sort(key=lambda cost: -cost[1].seconds)
        yield self._page("costs", "Computing costs", "costs.html", costs=costs)
        documents = []
        for file, page in DOCUMENTS.items():
            text = self._document(file)
            if text:
                documents.append(page.removesuffix(".md"))
                yield page, text
        problems = self.material.all_problems()
        problems += [f"{n.name}: {n.failure}" for n in notebooks if n.failure]
        unlisted = [name for name in self.pages if name.split("/")[0] not in folders]
        yield self._page("cite", "How to cite", "cite.html", software=self.software)
        children = ["cite", "costs", *unlisted, *documents]
        yield self._page(
            "about",
            "About this site",
            "about.html",
            children,
            problems=problems,
            documents=documents,
        )

    def _document(self, file: str) -> str:
        """Return a text of the project; its links lead to pages or to the repository."""
        path = self._paths.root / file
        if not path.is_file():
            return ""
        pages = {f"notebooks/{name}.py": f"{name}.ipynb" for name in self.pages}
        pages |= {f"notebooks/pages/{name}.md": f"{name}.md" for name in self.about["pages"]}
        for document, page in DOCUMENTS.items():
            if (self._paths.root / document).is_file():
                pages[document] = page
        repository = self.about["repository"]

        def with_target(link: re.Match[str]) -> str:
            label = link[1]
            place = normpath(f"{file}/../{link[2]}")
            if place in pages:
                return f"[{label}](/{pages[place]})"
            if repository:
                return f"[{label}]({repository}/blob/HEAD/{place})"
            return label

        return _LINK.sub(with_target, path.read_text(encoding="utf-8"))

    def _page(
        self, name: str, title: str, template: str, children: Iterable[str] = (), /, **values: Any
    ) -> tuple[str, str]:
        """Return file and text of a page: its title, a part, and the pages below it."""
        part = self.part(template, name, **values)
        # An entry is a page, or has the form "label </page>".
        entries = [entry if "<" in entry else f"/{entry}" for entry in children]
        text = self.render(
            "page.md",
            name,
            title=Markup(title),
            part=Markup(part),
            children=[Markup(entry) for entry in entries],
        )
        return f"{name}.md", text

    def _notebook(self, notebook: Notebook) -> str:
        """Return a notebook file: prose, code and printed output, with results between them."""
        name = notebook.name
        page = self.pages[name]
        head = self.part("head.html", name, notebook=notebook)
        cells = [Cell(f"# {page.title}\n{head}")]
        for cell in page.cells:
            if not cell.code:
                cell.source = _FOLDED.sub(self._folded, cell.source)
            cells.append(cell)
            if cell.outputs:
                part = self.part("outputs.html", name, notebook=notebook, shown=cell.outputs)
                cells.append(Cell(part))
        cells.append(Cell(self.part("foot.html", name, notebook=notebook, rest=page.rest)))
        return as_notebook(cells)

    def _folded(self, match: re.Match[str]) -> str:
        """Return Markdown for folded text; all other markup of a notebook is shown as text."""
        start = len(self.parts)
        self.parts += [f"<details><summary>{match[1]}</summary>", "</details>"]
        return f"{_directive(start)}\n\n{match[2].strip()}\n\n{_directive(start + 1)}\n"

    def _reference_pages(self) -> Iterator[tuple[str, str]]:
        modules = self.reference.modules
        if modules:
            children = [f"api/{module}" for module in modules]
            yield self._page("api/index", "Reference", "api.html", children)
        for module in modules:
            yield from self._module_pages(module)

    def _module_pages(self, module: str) -> Iterator[tuple[str, str]]:
        """Yield the page of a module, and one for each of its classes."""
        page = f"api/{module}"
        names = list(self.reference.modules[module])
        classes = self.reference.classes(module)
        summary = self.part("module.html", page, module=module)
        text = self.render(
            "module.md", page, module=module, names=names, classes=classes, part=Markup(summary)
        )
        yield f"{page}.md", text
        for name in names:
            full = f"{module}.{name}"
            self.examples[full] = len(self.parts)
            self.part("examples.html", page, names=self._users.get(full, []))
        for name in classes:
            self.class_pages.add(f"{page}.{name}")
            text = self.render("class.md", page, module=module, name=name)
            yield f"{page}.{name}.md", text

    @cached_property
    def _users(self) -> dict[str, list[str]]:
        """The notebooks that use each documented name."""
        users: dict[str, list[str]] = {}
        for notebook in self.material.notebooks.values():
            for full in self.reference.uses(notebook.source):
                users.setdefault(full, []).append(notebook.name)
        return users

    # ---------------------------------------------------------------------- pages without Sphinx

    def plain_pages(self) -> Iterator[tuple[str, str]]:
        """Yield name and HTML of the pages that are written here: claims and sources."""
        for row in self.material.rows:
            name = f"claims/{row.claim.id}"
            heading = self.heading(row)
            title = f"{row.where.partition(',')[0]}, {heading}"
            words = f"{row.claim.says} {row.claim.kind} {row.verdict}"
            self.without_sphinx[name] = PlainPage([title, heading, row.claim.id], words)
            description = clipped(plain(row.claim.says), 150)
            yield (
                name,
                self.render(
                    "claim.html",
                    name,
                    row=row,
                    title=title,
                    description=description,
                    source="notebooks/claims.yml",
                ),
            )
        for module, source in self.reference.sources.items():
            name = f"code/{module}"
            path = f"{module.replace('.', '/')}.py"
            if not (self._paths.root / path).is_file():
                path = ""
            page = self.render("source.html", name, lines=source, title=module, source=path)
            yield name, page

    # ---------------------------------------------------------------------- filters of templates

    def title(self, notebook: str) -> Markup:
        return prose(self.pages[notebook].title)

    def target(self, name: str) -> str | None:
        """Return the address of the notebook or public name in backquotes, or None."""
        if name in self.pages:
            return f"{name}.html"
        if not re.search("[A-Z_]", name) or name not in self.reference.homes:
            return None
        return self.reference.address(self.reference.homes[name])

    def picture(self, figure: Figure, most: int = _FULL_SIZE) -> Picture:
        """Return a copy of a figure of at most this width in pixels."""
        content = figure.png.read_bytes()
        name = f"{sha256(content + str(most).encode()).hexdigest()[:16]}.webp"
        if name not in self._pictures:
            self.pictures.mkdir(parents=True, exist_ok=True)
            n_colours = 12 if most < _THUMBNAIL else 24
            copy, fills = light_picture(content, most=most, colours=n_colours, kind="WEBP")
            (self.pictures / name).write_bytes(copy)
            address = f"{self.pictures.name}/{name}"
            self._pictures[name] = Picture(address, fills, *shown_size(content))
        return self._pictures[name]

    def helpers(self, notebook: Notebook) -> dict[str, str]:
        """Return the modules beside a notebook that it imports, also through others: texts by file.

        Without them a downloaded notebook stops at its first import.
        """
        folder = self._paths.notebooks / notebook.paper
        helpers: dict[str, str] = {}
        sources = [notebook.source]
        while sources:
            for name in sorted(imported_modules(sources.pop())):
                path = folder / f"{name}.py"
                if name.startswith("_") and path.is_file() and path.name not in helpers:
                    helpers[path.name] = path.read_text(encoding="utf-8")
                    sources.append(helpers[path.name])
        return helpers

    @cached_property
    def _ideas(self) -> dict[str, Callable[[], Idea]]:
        return runpy.run_path(str(self._project_pages / "_ideas.py"))

    def idea(self, name: str) -> Idea:
        """Return a moving picture of the project."""
        return self._ideas[name]()

    def figure_beside(self, row: Row) -> Figure | None:
        """Return the published figure that its notebook shows beside a claim."""
        notebook = self.material.notebooks.get(row.notebook)
        if notebook is None or notebook.published is None or not notebook.published.figures:
            return None
        name = self.pages[row.notebook].figure_beside(row.claim.id)
        return notebook.published.figures.get(name)

    def recorded(self, notebook: Notebook, output: Output) -> list[Shown]:
        """Return a recorded result as it is in each outcome of its notebook that has it."""
        shown = []
        for outcome in notebook.outcomes:
            value = getattr(outcome, RECORDED[output.kind]).get(output.value)
            if not value:
                continue
            if outcome is notebook.run:
                n_rows = _ROWS_OF_RUN if notebook.published else _ROWS
                shown.append(Shown(f"{outcome.profile} run on this machine", value, n_rows))
            else:
                shown.append(Shown("published, full scale", value, _ROWS))
        return shown

    def heading(self, row: Row) -> str:
        """Return the paper's name for a claim's source; one of several claims adds its own name."""
        source = row.claim.source
        heading = f"{source[:1].upper()}{source[1:]}"
        detail = _SOURCE_PREFIX.sub("", row.claim.id.split("/")[1]).replace("-", " ")
        place = (row.claim.paper_key, source)
        n_claims = self._claims_per_source[place]
        return f"{heading}: {detail}" if detail and n_claims > 1 else heading

    @cached_property
    def _claims_per_source(self) -> Counter[tuple[str, str]]:
        return Counter((row.claim.paper_key, row.claim.source) for row in self.material.rows)

    def members(self, folder: str) -> list[str]:
        return [name for name in self.pages if name.startswith(f"{folder}/")]


def _directive(number: int) -> str:
    """Markdown for a part of the book; see `extension`."""
    return f"```{{part}} {number}\n```"


# -------------------------------------------------------------------------------------- findings


def findings_of(material: Material) -> Iterator[dict[str, Any]]:
    """Yield the findings that published results support; the others become problems.

    A finding is a template in ``papers.yml``. It may set ``holds`` and a ``chart``.
    """
    jinja = Environment(undefined=StrictUndefined)
    jinja.globals |= published(material)
    for finding in material.about["findings"]:
        try:
            module = jinja.from_string(finding["says"]).make_module()
            variables = vars(module)
            if not variables.get("holds", True):
                raise LookupError("the published results do not support it")
            data = variables.get("chart")
            drawn = chart(**data) if data else None
            yield finding | {"text": str(module), "chart": drawn}
        except (UndefinedError, *UNREADABLE) as error:
            notebook = material.notebooks.get(finding["notebook"])
            if notebook:
                reason = f"{type(error).__name__}: {error}"
                fault = f"the finding {finding['title']!r} is left out: {reason}"
                notebook.problems.append(fault)


def published(material: Material) -> dict[str, Any]:
    """Return the functions and names of a finding's template; a missing result is a LookupError."""
    rows = {row.claim.id: row for row in material.rows if row.profile == "full"}

    def table(notebook: str, name: str) -> list[dict[str, str]]:
        """Return the rows of a published table, each by the names of its columns."""
        outcome = material.notebooks[notebook].published
        if outcome is None:
            raise LookupError(f"{notebook} is not published")
        names, *values = outcome.tables[name].rows
        return [dict(zip(names, row, strict=True)) for row in values]

    def claims() -> list[Any]:
        return [row.result for row in rows.values()]

    def recorded(claim: str) -> Any:
        return (rows[claim].result or {})["recorded"]

    def verdicts(start: str = "") -> list[str]:
        return [row.verdict for row in material.rows if row.claim.id.startswith(start)]

    return {
        "kept": KEPT,
        "failed": FAILED,
        "judged": VERDICTS,
        "row": rows.__getitem__,
        "table": table,
        "claims": claims,
        "recorded": recorded,
        "verdicts": verdicts,
    }


def answer(outcomes: Iterable[Outcome]) -> Figure | None:
    """Return the figure named ``answer`` or like one of the paper's (``figure2``), or the first."""
    figures = [figure for outcome in outcomes for figure in outcome.figures.values()]
    for figure in figures:
        if _ANSWER.match(figure.name):
            return figure
    return figures[0] if figures else None


def counts(rows: Iterable[Row]) -> str:
    """Return a count of verdicts such as ``"3 matched, 1 short"``."""
    numbers = Counter(row.verdict for row in rows)
    return ", ".join(f"{number} {verdict}" for verdict, number in numbers.items())
