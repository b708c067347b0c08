"""What there is to show: notebooks, results and papers, read from disk and checked on the way.

Whatever is not as a run leaves it is that notebook's problem, by name; the rest is shown.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from ..errors import CompanionError
from ..ledger.claims import Claim, Ledger, load_ledger, paper_label
from ..ledger.protocols import registered, standing
from ..ledger.verdicts import beside
from ..paths import Paths

__all__ = ["OPEN", "Figure", "Material", "Notebook", "Outcome", "Paper", "Result", "Row"]
__all__ += ["SiteError", "Table", "collect", "decode", "is_picture"]

OPEN = "open"  # the verdict of a claim that no run has recorded

_LARGEST_FILE = 8 * 2**20  # bytes of a text file or a picture
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
    data: str
    note: str
    recorded: Mapping[str, Any]
    protocol: str | None = None


@dataclass(frozen=True)
class Figure:
    """A figure of a run."""

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
    provenance: Mapping[str, Any]
    volatile: Mapping[str, Any]


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
    def best(self) -> Outcome | None:
        """The outcome that counts: full scale where there is one."""
        return self.published or self.run


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


@dataclass(frozen=True)
class Paper:
    """A paper as ``CITATION.cff`` names it, and its claims in the paper's order."""

    key: str
    title: str
    authors: str
    venue: str
    year: str
    links: tuple[tuple[str, str], ...]  # label and address
    rows: tuple[Row, ...]

    @property
    def short(self) -> str:
        """``"Mroueh 2015"``."""
        return paper_label(self.key)


@dataclass(frozen=True)
class Material:
    """Everything that the site shows."""

    papers: tuple[Paper, ...]
    notebooks: Mapping[str, Notebook]
    problems: tuple[str, ...] = ()

    @property
    def rows(self) -> list[Row]:
        return [row for paper in self.papers for row in paper.rows]

    def row(self, claim: str) -> Row | None:
        return next((row for row in self.rows if row.claim.id == claim), None)

    def all_problems(self) -> list[str]:
        """One line per thing that could not be read or shown, led by the notebook's name."""
        return [*self.problems] + [
            f"{notebook.name}: {problem}"
            for notebook in self.notebooks.values()
            for problem in notebook.problems
        ]


class _Unreadable(Exception):
    """What is wrong with a file, for the list of problems."""


def decode(path: Path) -> str:
    """Text of a file; a byte order mark at its beginning is dropped."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise _Unreadable(f"{path.name} is larger than {_LARGEST_FILE // 2**20} MiB")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise _Unreadable(f"{path.name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise _Unreadable(f"{path.name} is not UTF-8 (byte {error.start})") from error


def _mapping(path: Path) -> dict[str, Any]:
    text = decode(path)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _Unreadable(f"{path.name} is not JSON, or was cut off: {error}") from error
    if not isinstance(content, dict):
        raise _Unreadable(f"{path.name} holds {json.dumps(content)[:40]} where a mapping belongs")
    return content


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
    names = set(paths.all_notebooks()) | set(_names(paths.figures))
    if profile:
        names |= set(_names(paths.build / profile))
    if not names:
        raise SiteError(
            f"nothing to show: no notebooks in {paths.notebooks}, no results in {paths.figures}"
        )
    order = list(dict.fromkeys(claim.paper_key for claim in ledger.values()))
    rank = {paper: index for index, paper in enumerate([*order, "compare", "guides"])}
    ordered = sorted(names, key=lambda n: (rank.get(n.split("/")[0], len(rank)), n))
    notebooks = {name: _notebook(name, paths, profile) for name in ordered}
    problems: list[str] = []
    papers = _papers(ledger, notebooks, paths.root / "CITATION.cff", problems)
    papers = tuple(
        replace(p, rows=tuple(_registered(row, paths) for row in p.rows)) for p in papers
    )
    return Material(papers, notebooks, tuple(problems))


def _names(folder: Path) -> Iterator[str]:
    for pattern in ("results.json", "status.json"):
        for path in sorted(folder.glob(f"*/*/{pattern}")):
            name = path.parent.relative_to(folder).as_posix()
            if re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", name):
                yield name


def _notebook(name: str, paths: Paths, profile: str | None) -> Notebook:
    notebook = Notebook(name)

    def attempt(read: Any, *arguments: Any) -> Any:
        try:
            return read(*arguments)
        except _Unreadable as problem:
            notebook.problems.append(str(problem))
            return None

    if paths.source(name).exists():
        notebook.source = attempt(decode, paths.source(name)) or ""
    said = notebook.problems
    published = paths.published(name)
    if (published / "results.json").exists():
        notebook.published = attempt(_outcome, published, said)
    if profile is None:
        return notebook
    built = paths.output(name, profile)
    if (built / "results.json").exists():
        notebook.run = attempt(_outcome, built, said)
    if (built / "executed.ipynb").exists():
        notebook.executed = attempt(_executed, built / "executed.ipynb")
    if (built / "status.json").exists():
        status = attempt(_mapping, built / "status.json") or {}
        if status.get("status", "ok") != "ok":
            failure = status.get("failure")
            message = failure.get("message") if isinstance(failure, dict) else ""
            notebook.failure = f"{status['status']}: {message or 'no reason was left'}"
    return notebook


def _executed(path: Path) -> Mapping[str, Any]:
    content = _mapping(path)
    cells = content.get("cells")
    well_formed = isinstance(cells, list) and all(
        isinstance(cell, dict)
        and isinstance(cell.get("source", ""), str | list)
        and isinstance(cell.get("outputs", []), list)
        and all(isinstance(output, dict) for output in cell.get("outputs", []))
        for cell in cells
    )
    if not well_formed:
        raise _Unreadable(f"{path.name} is not a notebook")
    return content


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _entries(content: Mapping[str, Any], key: str, problems: list[str]) -> list[dict[str, Any]]:
    entries = content.get(key, [])
    if not isinstance(entries, list):
        problems.append(f"results.json: {key!r} is {json.dumps(entries)[:40]}, not a list")
        return []
    good = [e for e in entries if isinstance(e, dict) and isinstance(e.get("name"), str)]
    if len(good) < len(entries):
        problems.append(f"results.json: {len(entries) - len(good)} of {key!r} have no name")
    return good


def _outcome(folder: Path, problems: list[str]) -> Outcome:
    content = _mapping(folder / "results.json")
    figures, tables, claims = {}, {}, {}
    for entry in _entries(content, "figures", problems):
        name = entry["name"]
        png = folder / f"{Path(name).name}.png"
        if fault := is_picture(png):
            problems.append(f"figure {name}: {fault}")
            continue
        alt = _text(entry.get("alt")) or _text(entry.get("caption")) or name
        figures[name] = Figure(name, alt, _text(entry.get("caption")), png)
    for entry in _entries(content, "tables", problems):
        name = entry["name"]
        try:
            rows = _csv(folder / f"{Path(name).name}.csv")
        except _Unreadable as problem:
            problems.append(f"table {name}: {problem}")
            continue
        shown = tuple(rows[: 1 + _LONGEST_TABLE])
        tables[name] = Table(name, _text(entry.get("caption")), shown, len(rows) - len(shown))
    recorded = content.get("claims", {})
    if not isinstance(recorded, dict):
        problems.append(f"results.json: 'claims' is {json.dumps(recorded)[:40]}, not a mapping")
        recorded = {}
    quick = content.get("profile") == "quick"
    for claim, entry in recorded.items():
        if not isinstance(entry, dict) or not isinstance(entry.get("verdict"), str):
            problems.append(f"results.json: claim {claim} has no verdict")
            continue
        numbers = entry.get("recorded")
        claims[claim] = Result(
            # what a quick run measures on a stand-in says nothing of the paper's own data
            verdict=OPEN if quick and entry.get("data") else entry["verdict"],
            reason=_text(entry.get("reason")),
            ours=_text(entry.get("ours")),
            data=_text(entry.get("data")),
            note=_text(entry.get("note")),
            recorded=numbers if isinstance(numbers, dict) else {},
            protocol=_text(entry.get("protocol")) or None,
        )
    parts = (content.get(key) for key in ("provenance", "volatile"))
    provenance, volatile = (part if isinstance(part, dict) else {} for part in parts)
    return Outcome(_text(content.get("profile")), claims, figures, tables, provenance, volatile)


def is_picture(png: Path | bytes) -> str:
    """What is wrong with a PNG file, or nothing."""
    from PIL import Image

    if isinstance(png, Path):
        if not png.is_file():
            return f"no file {png.name}"
        if png.stat().st_size > _LARGEST_FILE:
            return f"{png.name} is larger than {_LARGEST_FILE // 2**20} MiB"
        png = png.read_bytes()
    try:
        with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
            width, height = picture.size
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        return f"not a PNG picture, or too large a one ({type(error).__name__})"
    if width * height > _LARGEST_PICTURE:
        return f"{width} x {height} pixels are too many to show"
    return ""


def _csv(path: Path) -> list[tuple[str, ...]]:
    if not path.is_file():
        raise _Unreadable(f"no file {path.name}")
    try:
        rows = [tuple(row) for row in csv.reader(io.StringIO(decode(path)), strict=True)]
    except csv.Error as error:
        raise _Unreadable(f"{path.name} is not CSV: {error}") from error
    if not rows or not rows[0] or len({len(row) for row in rows}) > 1:
        raise _Unreadable(f"{path.name}: rows of different lengths, or none")
    return rows


def _registered(row: Row, paths: Paths) -> Row:
    return replace(row, digest=registered(row.claim, paths, row.notebook))


def _papers(
    ledger: Ledger, notebooks: Mapping[str, Notebook], citation: Path, problems: list[str]
) -> tuple[Paper, ...]:
    results: dict[str, tuple[Result, str, str]] = {}
    for published in (False, True):
        for notebook in notebooks.values():
            outcome = notebook.published if published else notebook.run
            if outcome is not None:
                for name, result in outcome.claims.items():
                    results[name] = result, notebook.name, outcome.profile
    rows: dict[str, list[Row]] = {}
    for claim in ledger.values():
        measured = results.get(claim.id, (None, "", ""))
        rows.setdefault(claim.paper_key, []).append(Row(claim, *measured))
    about = _citations(citation, problems)
    nothing = {"title": "", "authors": "", "venue": "", "year": "", "links": ()}
    return tuple(
        Paper(key, rows=tuple(rows[key]), **(nothing | about.get(key, {}))) for key in rows
    )


def _citations(path: Path, problems: list[str]) -> dict[str, dict[str, Any]]:
    """What ``CITATION.cff`` says of each paper, by first author and year as in the ledger."""
    try:
        content = yaml.safe_load(decode(path))
        references = content.get("references") or []
        about = {}
        for reference in references:
            families = [author["family-names"] for author in reference["authors"]]
            about[f"{families[0].lower()}{reference['year']}"] = {
                "title": str(reference["title"]),
                "authors": ", ".join(families),
                "venue": str(reference.get("collection-title") or reference.get("journal") or ""),
                "year": str(reference["year"]),
                "links": tuple(_links(reference)),
            }
        return about
    except (_Unreadable, yaml.YAMLError, AttributeError, KeyError, TypeError, IndexError) as error:
        problems.append(f"{path.name}: papers have no titles here: {error}")
        return {}


def _links(reference: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if reference.get("doi"):
        yield "DOI", f"https://doi.org/{reference['doi']}"
    for known in reference.get("identifiers") or ():
        value = str(known.get("value", ""))
        if known.get("type") == "doi":
            yield "preprint" if "arxiv" in value.lower() else "DOI", f"https://doi.org/{value}"
    if str(reference.get("url", "")).startswith("https://"):
        yield "paper", str(reference["url"])
