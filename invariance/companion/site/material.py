"""The content of the site: notebooks, results and papers, read from disk and checked.

A file that is not as a run leaves it is a problem of its notebook; everything else is shown.
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
from ..ledger.rows import OPEN, Row, rows_of
from ..numbers import without_rounding
from ..paths import Paths
from ..source import parse_notebook
from ..words import without_tex

_MAX_PIXELS = 40_000_000
_NOTEBOOK_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


class SiteError(CompanionError, ValueError):
    """The site cannot be built; the message states the reason and the remedy."""


class Figure(NamedTuple):
    name: str
    alt: str
    caption: str
    png: Path


class Table(NamedTuple):
    """A table of a run; its first row holds the names of the columns."""

    name: str
    caption: str
    rows: list[tuple[str, ...]]


class Outcome(NamedTuple):
    """One ``results.json`` and the files beside it; the sentences are listed by their template."""

    profile: str
    content: Mapping[str, Any]
    figures: Mapping[str, Figure]
    tables: Mapping[str, Table]
    says: Mapping[str, list[str]]
    claims: Mapping[str, Any]

    @property
    def seconds(self) -> float:
        """Duration of this run, and of the earlier ones whose cached results it used."""
        volatile = self.content["volatile"]
        return volatile["wall_s"] + volatile["cached_s"]

    @property
    def day(self) -> str:
        """The day on which it ended."""
        return str(self.content["volatile"].get("finished") or "")[:10]

    @property
    def hardware(self) -> list[str]:
        parts = self.content["volatile"]["hardware"].items()
        return [f"{name.replace('_', ' ')} {value}" for name, value in parts]


@dataclass
class Notebook:
    """One notebook: its text, its published results, and its run on this machine."""

    name: str
    source: str = ""
    readable: bool = True  # the source can be split into cells
    published: Outcome | None = None
    run: Outcome | None = None
    executed: Mapping[str, Any] | None = None
    failure: str = ""
    problems: list[str] = field(default_factory=list)

    @property
    def paper(self) -> str:
        return self.name.split("/")[0]

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcomes there are; the published one comes first and counts."""
        return [outcome for outcome in (self.published, self.run) if outcome]


@dataclass(frozen=True)
class Paper:
    """A paper as described in ``papers.yml``, and its claims in the order of the ledger."""

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

    @property
    def short(self) -> str:
        """A label such as ``"Miller 1999"``."""
        return paper_label(self.key)

    @property
    def heading(self) -> str:
        """A heading such as ``"Miller 1999: On Everything"``."""
        title = self.title.partition(":")[0]
        return f"{self.short}: {title}" if title else self.short


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
        """Return the claims that a notebook measures."""
        return [row for row in self.rows if row.notebook == notebook]

    def row(self, claim: str) -> Row | None:
        return next((row for row in self.rows if row.claim.id == claim), None)

    def all_problems(self) -> list[str]:
        """Return one line for each unreadable thing; it starts with the notebook's name."""
        lines = []
        for notebook in self.notebooks.values():
            lines += [f"{notebook.name}: {problem}" for problem in notebook.problems]
        return lines


def collect(paths: Paths, profile: str | None = None) -> Material:
    """Read notebooks, ledger, published results and, with a `profile`, this machine's runs."""
    ledger = load_ledger(paths.ledger)
    about = read_papers(paths)
    names = _notebook_names(paths, profile)
    keys = list(dict.fromkeys([*about["papers"], *(claim.paper_key for claim in ledger.values())]))
    folders = {key: {} for key in keys} | about["papers"] | about["sections"]

    def position(name: str) -> tuple[int, int, str]:
        """Sort key: papers, sections, other folders; in each the order of ``papers.yml``."""
        folder, short = name.split("/")
        first = folders.get(folder, {}).get("first") or []
        return [*folders, folder].index(folder), [*first, short].index(short), name

    notebooks = {name: _notebook(name, paths, profile) for name in sorted(names, key=position)}
    # Published results come last, since later ones take precedence.
    outcomes = [notebook.run for notebook in notebooks.values()]
    outcomes += [notebook.published for notebook in notebooks.values()]
    rows = rows_of(ledger, [outcome.content for outcome in outcomes if outcome], paths)
    papers = []
    for key in keys:
        papers.append(_paper(key, folders[key], rows))
    return Material(about, papers, notebooks)


def _notebook_names(paths: Paths, profile: str | None) -> set[str]:
    """Return the names of all notebooks with a source, published results or a run."""
    names = set(paths.all_notebooks())
    folders = [paths.figures]
    if profile:
        folders.append(paths.build / profile)
    for folder in folders:
        for file in [*folder.glob("*/*/results.json"), *folder.glob("*/*/status.json")]:
            name = file.parent.relative_to(folder).as_posix()
            if _NOTEBOOK_NAME.fullmatch(name):
                names.add(name)
    if not names:
        reason = f"no notebooks in {paths.notebooks}, no results in {paths.figures}"
        raise SiteError(f"nothing to show: {reason}")
    return names


def _paper(key: str, entry: Mapping[str, Any], rows: list[Row]) -> Paper:
    fields = {name: v for name, v in entry.items() if name in Paper.__dataclass_fields__}
    claims = tuple(row for row in rows if row.claim.paper_key == key)
    return Paper(key, claims, **fields)


def _notebook(name: str, paths: Paths, profile: str | None) -> Notebook:
    notebook = Notebook(name)
    problems = notebook.problems
    source = paths.source(name)
    try:
        if source.exists():
            notebook.source = source.read_text(encoding="utf-8-sig")
            parse_notebook(notebook.source)
    except (OSError, UnicodeDecodeError, NotebookError) as error:
        problems.append(f"{source.name} cannot be read: {error}")
        notebook.readable = False
    notebook.published = _outcome(paths.published(name), name, problems)
    if profile:
        folder = paths.output(name, profile)
        notebook.run = _outcome(folder, name, problems)
        _add_run(notebook, folder)
    return notebook


def _add_run(notebook: Notebook, folder: Path) -> None:
    """Add the executed notebook and the status of a run on this machine."""
    notebook.executed, problems = read_executed(folder / "executed.ipynb")
    status, status_problems = read_status(folder, notebook.name)
    problems = problems + status_problems
    if status and status["status"] != "ok":
        failure = status["failure"] or {"message": "no reason was noted"}
        notebook.failure = f"{status['status']}: {failure['message']}"
    damage = altered(folder, status)
    if damage:
        problems.append(f"{damage}; run it again")
    notebook.problems += [problem.replace(f"{folder}/", "") for problem in problems]


def _outcome(folder: Path, name: str, problems: list[str]) -> Outcome | None:
    """Read the results in a folder; what cannot be read is added to `problems`."""
    content, faults = read_results(folder, name)
    problems += [fault.replace(f"{folder}/", "") for fault in faults]
    if content is None:
        return None
    figures = {}
    for entry in content["figures"]:
        figure = _figure(folder, entry, problems)
        if figure:
            figures[figure.name] = figure
    tables = {}
    for entry in content["tables"]:
        table = _table(folder, entry, problems)
        if table:
            tables[table.name] = table
    if content["profile"] == "quick":
        for entry in content["claims"].values():
            if entry["data"]:  # measured on stand-in data: no evidence about the paper's data
                entry["verdict"] = OPEN
    sentences: dict[str, list[str]] = {}
    for entry in content["says"]:
        sentences.setdefault(entry["text"], []).append(without_rounding(entry["said"]))
    return Outcome(content["profile"], content, figures, tables, sentences, content["claims"])


def _figure(folder: Path, entry: Mapping[str, Any], problems: list[str]) -> Figure | None:
    files = [file for file in entry["files"] if file.endswith(".png")]
    png = folder / (files[0] if files else "without.png")
    fault = picture_fault(png)
    if fault:
        problems.append(f"figure {entry['name']}: {fault}")
        return None
    alt = without_tex(entry["alt"]) or entry["caption"] or entry["name"]
    caption = without_rounding(entry["caption"])
    return Figure(entry["name"], without_rounding(alt), caption, png)


def _table(folder: Path, entry: Mapping[str, Any], problems: list[str]) -> Table | None:
    try:
        text = (folder / entry["file"]).read_text(encoding="utf-8-sig")
        rows = [tuple(row) for row in csv.reader(io.StringIO(text), strict=True)]
        if not rows or not rows[0] or len({len(row) for row in rows}) > 1:
            raise csv.Error("no rows, or rows of different lengths")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        problems.append(f"table {entry['name']}: {entry['file']} cannot be read: {error}")
        return None
    return Table(entry["name"], without_rounding(entry["caption"]), rows)


def picture_fault(png: Path | bytes) -> str:
    """Return the fault of a PNG file, or an empty text if it can be shown."""
    from PIL import Image

    if isinstance(png, Path) and not png.is_file():
        return f"no file {png.name}"
    content = io.BytesIO(png) if isinstance(png, bytes) else png
    try:
        with Image.open(content, formats=["PNG"]) as picture:
            width, height = picture.size
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        return f"not a PNG picture, or too large a one ({type(error).__name__})"
    if width * height > _MAX_PIXELS:
        return f"{width} x {height} pixels are too many to show"
    return ""
