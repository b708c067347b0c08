"""What there is to show: notebooks, results and papers, read from disk and checked on the way.

Whatever is not as a run leaves it is that notebook's problem, by name; the rest is shown.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ..errors import CompanionError
from ..ledger.claims import Claim, Ledger, load_ledger, paper_label
from ..ledger.protocols import registered, standing
from ..ledger.results import read_executed, read_results, read_status
from ..ledger.verdicts import VERDICTS, beside
from ..paths import Paths

__all__ = ["OPEN", "Figure", "Material", "Notebook", "Outcome", "Paper", "Result", "Row"]
__all__ += ["SiteError", "Table", "collect", "is_picture"]

OPEN = "open"  # the verdict of a claim that no run has recorded

_LARGEST_PICTURE = 40_000_000  # pixels
_LONGEST_TABLE = 200  # rows


class SiteError(CompanionError, ValueError):
    """The site cannot be built; the message says why and what to do."""


@dataclass(frozen=True)
class Result:
    """One recorded claim, as ``results.json`` holds it."""

    verdict: str
    reason: str
    ours: str
    recorded: Mapping[str, Any]
    data: str = ""
    note: str = ""
    protocol: str | None = None


@dataclass(frozen=True)
class Figure:
    name: str
    alt: str
    caption: str
    png: Path


@dataclass(frozen=True)
class Table:
    """A table of a run: its first row names the columns."""

    name: str
    caption: str
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0


@dataclass(frozen=True)
class Outcome:
    """One ``results.json`` and the files beside it."""

    profile: str
    claims: Mapping[str, Result]
    figures: Mapping[str, Figure]
    tables: Mapping[str, Table]
    says: Mapping[str, list[str]]  # sentences by the text that they were made of
    provenance: Mapping[str, Any]
    volatile: Mapping[str, Any]

    @property
    def seconds(self) -> float:
        """Of this run and of the earlier ones that had computed a part of it."""
        return self.volatile["wall_s"] + self.volatile["cached_s"]

    @property
    def day(self) -> str:
        """When it ended, not to be broken over lines."""
        day = str(self.volatile.get("finished") or "")[:10]
        return day.replace("-", "\N{NON-BREAKING HYPHEN}")

    @property
    def machine(self) -> str:
        hardware = self.volatile.get("hardware")
        parts = hardware.items() if isinstance(hardware, dict) else ()
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in parts)


@dataclass
class Notebook:
    """One notebook: its text, what is published at full scale, what ran on this machine."""

    name: str
    source: str = ""
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
        """What there is, the one that counts first: full scale, then this machine's."""
        return [outcome for outcome in (self.published, self.run) if outcome]


@dataclass(frozen=True)
class Row:
    """A claim with what was measured for it, and by which notebook."""

    claim: Claim
    result: Result | None = None
    notebook: str = ""
    profile: str = ""
    digest: str | None = None  # of the protocol that counts

    @property
    def verdict(self) -> str:
        """What counts: the verdict of a full run by the registered protocol."""
        if self.result is None or self.profile != "full":
            return OPEN
        entry = {"protocol": self.result.protocol, "verdict": self.result.verdict}
        return standing(entry, self.digest)

    @property
    def beside(self) -> str:
        """Margin, tightness and repetitions, as text."""
        return beside(self.claim, self.result.recorded) if self.result else ""

    @property
    def where(self) -> str:
        """``"Mroueh 2015, theorem 2"``."""
        return f"{paper_label(self.claim.paper_key)}, {self.claim.source}"


@dataclass(frozen=True)
class Paper:
    """A paper as ``CITATION.cff`` names it, and its claims in the paper's order."""

    key: str
    rows: tuple[Row, ...]
    title: str = ""
    authors: str = ""
    venue: str = ""
    links: tuple[tuple[str, str], ...] = ()  # label and address

    @property
    def short(self) -> str:
        """``"Mroueh 2015"``."""
        return paper_label(self.key)

    @property
    def heading(self) -> str:
        """``"Mroueh 2015: Learning with Group Invariant Features"``."""
        return ": ".join(filter(None, [self.short, self.title.partition(":")[0]]))


@dataclass(frozen=True)
class Material:
    """Everything that the site shows."""

    papers: tuple[Paper, ...]
    notebooks: Mapping[str, Notebook]
    problems: tuple[str, ...] = ()

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
        return [*self.problems] + [
            f"{notebook.name}: {problem}"
            for notebook in self.notebooks.values()
            for problem in notebook.problems
        ]


def collect(paths: Paths, profile: str | None = None) -> Material:
    """Read notebooks, ledger, published results and, with a `profile`, this machine's runs.

    Raises
    ------
    LedgerError
        If the ledger cannot be read.
    SiteError
        If there is no notebook and no result.
    """
    ledger = load_ledger(paths.ledger)
    folders = [paths.figures, *([paths.build / profile] if profile else [])]
    names = {*paths.all_notebooks()}.union(*map(_names, folders))
    if not names:
        raise SiteError(
            f"nothing to show: no notebooks in {paths.notebooks}, no results in {paths.figures}"
        )
    order = dict.fromkeys([*(c.paper_key for c in ledger.values()), "compare", "beyond", "guides"])
    rank = {paper: index for index, paper in enumerate(order)}
    ordered = sorted(names, key=lambda n: (rank.get(n.split("/")[0], len(rank)), n))
    notebooks = {name: _notebook(name, paths, profile) for name in ordered}
    problems: list[str] = []
    papers = _papers(ledger, notebooks, paths, problems)
    return Material(papers, notebooks, tuple(problems))


def _names(folder: Path) -> Iterator[str]:
    for pattern in ("results.json", "status.json"):
        for path in sorted(folder.glob(f"*/*/{pattern}")):
            name = path.parent.relative_to(folder).as_posix()
            if re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", name):
                yield name


def _notebook(name: str, paths: Paths, profile: str | None) -> Notebook:
    notebook = Notebook(name)
    said = notebook.problems
    try:
        if paths.source(name).exists():
            notebook.source = paths.source(name).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        said.append(f"{paths.source(name).name} cannot be read: {error}")
    notebook.published = _outcome(paths.published(name), name, said)
    if profile:
        built = paths.output(name, profile)
        notebook.run = _outcome(built, name, said)
        notebook.executed, unread = read_executed(built / "executed.ipynb")
        status, unclear = read_status(built, name)
        if status and status["status"] != "ok":
            failure = status["failure"] or {"message": "no reason was noted"}
            notebook.failure = f"{status['status']}: {failure['message']}"
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
            alt = entry["alt"] or entry["caption"] or entry["name"]
            figures[entry["name"]] = Figure(entry["name"], alt, entry["caption"], png)
    for entry in content["tables"]:
        try:
            rows = _csv(folder / entry["file"])
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            problems.append(f"table {entry['name']}: {entry['file']} cannot be read: {error}")
            continue
        shown = rows[: 1 + _LONGEST_TABLE]
        left_out = len(rows) - len(shown)
        tables[entry["name"]] = Table(entry["name"], entry["caption"], tuple(shown), left_out)
    quick = content["profile"] == "quick"
    claims = {
        claim: Result(
            # what a quick run measures on a stand-in says nothing of the paper's own data
            verdict=OPEN if quick and entry.get("data") else entry["verdict"],
            data=entry.get("data") or "",
            note=entry.get("note") or "",
            protocol=entry.get("protocol"),
            **{key: entry[key] for key in ("reason", "ours", "recorded")},
        )
        for claim, entry in content["claims"].items()
    }
    says: dict[str, list[str]] = {}
    for entry in content["says"]:
        says.setdefault(entry["text"], []).append(entry["said"])
    parts = (content[key] for key in ("provenance", "volatile"))
    return Outcome(content["profile"], claims, figures, tables, says, *parts)


def is_picture(png: Path | bytes) -> str:
    """What is wrong with a PNG file, or nothing."""
    from PIL import Image

    try:
        content = png.read_bytes() if isinstance(png, Path) else png
    except OSError:
        return f"no file {png.name}" if isinstance(png, Path) else ""
    try:
        with Image.open(io.BytesIO(content), formats=["PNG"]) as picture:
            width, height = picture.size
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        return f"not a PNG picture, or too large a one ({type(error).__name__})"
    if width * height > _LARGEST_PICTURE:
        return f"{width} x {height} pixels are too many to show"
    return ""


def _csv(path: Path) -> list[tuple[str, ...]]:
    text = path.read_text(encoding="utf-8-sig")
    rows = [tuple(row) for row in csv.reader(io.StringIO(text), strict=True)]
    if not rows or not rows[0] or len({len(row) for row in rows}) > 1:
        raise csv.Error("rows of different lengths, or none")
    return rows


def _papers(
    ledger: Ledger, notebooks: Mapping[str, Notebook], paths: Paths, problems: list[str]
) -> tuple[Paper, ...]:
    found: dict[str, list[Row]] = {}
    for attribute in ("run", "published"):
        for notebook in notebooks.values():
            outcome = getattr(notebook, attribute)
            for name, result in outcome.claims.items() if outcome else ():
                if name in ledger:
                    digest = registered(ledger[name], paths, notebook.name)
                    row = Row(ledger[name], result, notebook.name, outcome.profile, digest)
                    found.setdefault(name, []).append(row)
    rows: dict[str, list[Row]] = {}
    for claim in ledger.values():
        # a claim that moved to another notebook may have an older result, which does not count
        best = sorted(found.get(claim.id, [Row(claim)]), key=lambda row: row.verdict in VERDICTS)
        rows.setdefault(claim.paper_key, []).append(best[-1])
    about = _citations(paths.root / "CITATION.cff", problems)
    return tuple(Paper(key, tuple(rows[key]), **about.get(key, {})) for key in rows)


def _citations(path: Path, problems: list[str]) -> dict[str, dict[str, Any]]:
    """What ``CITATION.cff`` says of each paper, by first author and year as in the ledger."""
    about = {}
    try:
        for paper in yaml.safe_load(path.read_text(encoding="utf-8")).get("references") or ():
            families = [author["family-names"] for author in paper["authors"]]
            about[f"{families[0].lower()}{paper['year']}"] = {
                "title": str(paper["title"]),
                "authors": ", ".join(families),
                "venue": str(paper.get("collection-title") or paper.get("journal") or ""),
                "links": tuple(_links(paper)),
            }
    except (OSError, ValueError, yaml.YAMLError, AttributeError, LookupError, TypeError) as error:
        problems.append(f"{path.name}: papers have no titles here: {error}")
    return about


def _links(paper: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    dois = [i["value"] for i in paper.get("identifiers") or () if i.get("type") == "doi"]
    for doi in filter(None, [paper.get("doi"), *dois]):
        yield "preprint" if "arxiv" in doi.lower() else "DOI", f"https://doi.org/{doi}"
    if str(paper.get("url", "")).startswith("https://"):
        yield "paper", str(paper["url"])
