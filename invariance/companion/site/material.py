"""What there is to show: notebooks, results and papers, read from disk and checked on the way.

Whatever is not as a run leaves it is that notebook's problem, by name; the rest is shown.
"""

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import CompanionError, NotebookError
from ..ledger.claims import load_ledger, paper_label, read_papers
from ..ledger.results import altered, read_executed, read_results, read_status
from ..ledger.scoreboard import OPEN, Row, rows_of
from ..numbers import without_rounding
from ..paths import Paths
from ..source import parse_notebook
from ..words import without_tex

_LARGEST_PICTURE = 40_000_000  # pixels


class SiteError(CompanionError, ValueError):
    """The site cannot be built; the message says why and what to do."""


class Figure(NamedTuple):
    name: str
    alt: str
    caption: str
    png: Path


class Table(NamedTuple):
    """A table of a run: its first row names the columns."""

    name: str
    caption: str
    rows: list[tuple[str, ...]]


class Outcome(NamedTuple):
    """One ``results.json`` and the files beside it; sentences by the text they were made of."""

    profile: str
    content: Mapping[str, Any]
    figures: Mapping[str, Figure]
    tables: Mapping[str, Table]
    says: Mapping[str, list[str]]
    claims: Mapping[str, Any]

    @property
    def seconds(self) -> float:
        """Of this run and of the earlier ones that had computed a part of it."""
        return self.content["volatile"]["wall_s"] + self.content["volatile"]["cached_s"]

    @property
    def day(self) -> str:
        """When it ended."""
        return str(self.content["volatile"].get("finished") or "")[:10]

    @property
    def hardware(self) -> list[str]:
        parts = self.content["volatile"]["hardware"].items()
        return [f"{name.replace('_', ' ')} {value}" for name, value in parts]


@dataclass
class Notebook:
    """One notebook: its text, what is published at full scale, what ran on this machine."""

    name: str
    source: str = ""
    readable: bool = True  # its source has cells
    published: Outcome | None = None
    run: Outcome | None = None
    executed: Mapping[str, Any] | None = None
    failure: str = ""
    problems: list[str] = field(default_factory=list)

    paper = property(lambda self: self.name.split("/")[0])

    @property
    def outcomes(self) -> list[Outcome]:
        """What there is, the one that counts first: full scale, then this machine's."""
        return [outcome for outcome in (self.published, self.run) if outcome]


@dataclass(frozen=True)
class Paper:
    """A paper as ``papers.yml`` names it, and its claims in the ledger's order."""

    key: str
    rows: tuple[Row, ...]
    title: str = ""
    authors: str = ""
    venue: str = ""
    links: Mapping[str, str] = field(default_factory=dict)  # addresses by label
    idea: str = ""
    notebook: str = ""
    figure: str = ""
    caption: str = ""

    #: ``"Miller 1999"``.
    short = property(lambda self: paper_label(self.key))

    @property
    def heading(self) -> str:
        """``"Miller 1999: On Everything"``."""
        return ": ".join(filter(None, [self.short, self.title.partition(":")[0]]))


@dataclass(frozen=True)
class Material:
    """Everything that the site shows."""

    about: Mapping[str, Any]
    papers: list[Paper]
    notebooks: Mapping[str, Notebook]

    @property
    def rows(self) -> list[Row]:
        return [row for paper in self.papers for row in paper.rows]

    def of(self, notebook: str) -> list[Row]:
        """The claims that a notebook measures."""
        return [row for row in self.rows if row.notebook == notebook]

    def row(self, claim: str) -> Row | None:
        return next((row for row in self.rows if row.claim.id == claim), None)

    def all_problems(self) -> list[str]:
        """One line per thing that could not be read or shown, led by the notebook's name."""
        return [f"{n.name}: {p}" for n in self.notebooks.values() for p in n.problems]


def collect(paths: Paths, profile: str | None = None) -> Material:
    """Read notebooks, ledger, published results and, with a `profile`, this machine's runs."""
    ledger, about = load_ledger(paths.ledger), read_papers(paths)
    names = {*paths.all_notebooks()}
    for folder in [paths.figures, *([paths.build / profile] if profile else [])]:
        for file in [*folder.glob("*/*/results.json"), *folder.glob("*/*/status.json")]:
            name = file.parent.relative_to(folder).as_posix()
            names |= {name} if re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", name) else set()
    if not names:
        where = f"no notebooks in {paths.notebooks}, no results in {paths.figures}"
        raise SiteError(f"nothing to show: {where}")
    keys = dict.fromkeys([*about["papers"], *(claim.paper_key for claim in ledger.values())])
    homes = {key: {} for key in keys} | about["papers"] | about["sections"]

    def place(name: str) -> tuple[int, int, str]:
        """Papers, sections, other folders; in each first what ``papers.yml`` puts first."""
        folder, short = name.split("/")
        first = homes.get(folder, {}).get("first") or []
        return [*homes, folder].index(folder), [*first, short].index(short), name

    notebooks = {name: _notebook(name, paths, profile) for name in sorted(names, key=place)}
    # what is published counts before what ran here
    outcomes = [n.run for n in notebooks.values()] + [n.published for n in notebooks.values()]
    rows = rows_of(ledger, [outcome.content for outcome in outcomes if outcome], paths)
    papers = []
    for key in keys:
        known = {k: v for k, v in homes[key].items() if k in Paper.__dataclass_fields__}
        papers.append(Paper(key, tuple(r for r in rows if r.claim.paper_key == key), **known))
    return Material(about, papers, notebooks)


def _notebook(name: str, paths: Paths, profile: str | None) -> Notebook:
    said = (notebook := Notebook(name)).problems
    try:
        if paths.source(name).exists():
            notebook.source = paths.source(name).read_text(encoding="utf-8-sig")
            parse_notebook(notebook.source)
    except (OSError, UnicodeDecodeError, NotebookError) as error:
        said.append(f"{paths.source(name).name} cannot be read: {error}")
        notebook.readable = False
    notebook.published = _outcome(paths.published(name), name, said)
    if profile:
        built = paths.output(name, profile)
        notebook.run = _outcome(built, name, said)
        notebook.executed, unread = read_executed(built / "executed.ipynb")
        status, unclear = read_status(built, name)
        if status and status["status"] != "ok":
            failure = status["failure"] or {"message": "no reason was noted"}
            notebook.failure = f"{status['status']}: {failure['message']}"
        unclear += [f"{fault}; run it again"] if (fault := altered(built, status)) else []
        said += [problem.replace(f"{built}/", "") for problem in unread + unclear]
    return notebook


def _outcome(folder: Path, name: str, problems: list[str]) -> Outcome | None:
    content, unread = read_results(folder, name)
    problems += [problem.replace(f"{folder}/", "") for problem in unread]
    if content is None:
        return None
    figures, tables = {}, {}
    for entry in content["figures"]:
        png = folder / next((f for f in entry["files"] if f.endswith(".png")), "without.png")
        if fault := is_picture(png):
            problems.append(f"figure {entry['name']}: {fault}")
        else:
            alt = without_rounding(without_tex(entry["alt"]) or entry["caption"] or entry["name"])
            caption = without_rounding(entry["caption"])
            figures[entry["name"]] = Figure(entry["name"], alt, caption, png)
    for entry in content["tables"]:
        try:
            text = (folder / entry["file"]).read_text(encoding="utf-8-sig")
            rows = [tuple(row) for row in csv.reader(io.StringIO(text), strict=True)]
            if not rows or not rows[0] or len({len(row) for row in rows}) > 1:
                raise csv.Error("rows of different lengths, or none")
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            problems.append(f"table {entry['name']}: {entry['file']} cannot be read: {error}")
            continue
        caption = without_rounding(entry["caption"])
        tables[entry["name"]] = Table(entry["name"], caption, rows)
    for entry in content["claims"].values() if content["profile"] == "quick" else ():
        if entry["data"]:  # measured on a stand-in, it says nothing of the paper's own data
            entry["verdict"] = OPEN
    says: dict[str, list[str]] = {}
    for entry in content["says"]:
        says.setdefault(entry["text"], []).append(without_rounding(entry["said"]))
    return Outcome(content["profile"], content, figures, tables, says, content["claims"])


def is_picture(png: Path | bytes) -> str:
    """What is wrong with a PNG file, or nothing."""
    from PIL import Image

    if isinstance(png, Path) and not png.is_file():
        return f"no file {png.name}"
    content = io.BytesIO(png) if isinstance(png, bytes) else png
    try:
        with Image.open(content, formats=["PNG"]) as picture:
            width, height = picture.size
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        return f"not a PNG picture, or too large a one ({type(error).__name__})"
    large = width * height > _LARGEST_PICTURE
    return f"{width} x {height} pixels are too many to show" if large else ""
