"""What there is to report: notebooks, their results and their states, read from disk."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from invariance.companion.errors import CompanionError
from invariance.companion.files import read_json
from invariance.companion.ledger.claims import Claim, Ledger, load_ledger, paper_label
from invariance.companion.report.prose import title_and_body

OPEN = "open"  # the verdict of a claim that no run has recorded

_ACRONYM_LENGTH = 3


class ReportError(CompanionError, ValueError):
    """The report cannot be built; the message says what is missing and how to get it."""


@dataclass(frozen=True)
class Result:
    """One recorded claim, as ``results.json`` holds it."""

    notebook: str
    verdict: str
    reason: str
    ours: str
    data: str | None
    note: str | None


@dataclass(frozen=True)
class Figure:
    """A figure of a run, with the two files that draw it (each may be missing)."""

    name: str
    alt: str
    caption: str
    svg: Path | None
    png: Path | None


@dataclass(frozen=True)
class Table:
    """A table of a run, saved as CSV."""

    name: str
    caption: str
    file: Path


@dataclass(frozen=True)
class Outcome:
    """One ``results.json`` with the files beside it."""

    folder: Path
    profile: str
    parameters: Mapping[str, Any]
    claims: Mapping[str, Result]
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]
    provenance: Mapping[str, Any]
    volatile: Mapping[str, Any]


@dataclass(frozen=True)
class Failure:
    """How the latest attempt of a notebook ended, when it did not complete."""

    status: str
    duration: float | None
    message: str
    cell: str
    traceback: str


@dataclass(frozen=True)
class Notebook:
    """One notebook: what this machine made of it, and what is committed at full scale."""

    name: str
    title: str | None
    status: Mapping[str, Any] | None
    executed: Path | None
    partial: Path | None  # the executed notebook of a latest attempt that failed
    attempt: Outcome | None  # what that attempt had recorded until then
    run: Outcome | None
    published: Outcome | None

    @property
    def paper(self) -> str:
        return self.name.split("/")[0]

    @property
    def page(self) -> str:
        """Address of the notebook's page, from the index."""
        return f"{self.name}.html"

    @property
    def failure(self) -> Failure | None:
        if self.status is None or self.status.get("status", "ok") == "ok":
            return None
        what = self.status.get("failure") or {}
        return Failure(
            status=self.status["status"],
            duration=self.status.get("duration_s"),
            message=what.get("message") or "",
            cell=what.get("cell_source") or "",
            traceback=what.get("traceback") or "",
        )

    def recorded(self) -> set[str]:
        """Claims recorded in any of the runs."""
        outcomes = (self.attempt, self.run, self.published)
        return {claim for outcome in outcomes if outcome is not None for claim in outcome.claims}


@dataclass(frozen=True)
class Row:
    """One line of the scoreboard."""

    claim: Claim
    run: Result | None
    full: Result | None

    @property
    def best(self) -> Result | None:
        """The result that counts: full scale where there is one."""
        return self.full or self.run

    @property
    def verdict(self) -> str:
        return self.best.verdict if self.best else OPEN

    @property
    def title(self) -> str:
        """The claim's own words, or words made of its id where the source says it all."""
        if self.claim.says:
            starts_with_word = re.match(r"(?!eps)(?:a\s|[a-z]{2,}[\s,-])", self.claim.says)
            return (
                self.claim.says[: bool(starts_with_word)].upper()
                + self.claim.says[bool(starts_with_word) :]
            )
        words = self.claim.id.split("/")[1].split("-")
        if len(words) > 1 and self.claim.source.replace(" ", "").startswith(words[0]):
            words = words[1:]
        return " ".join(w.upper() if len(w) <= _ACRONYM_LENGTH else w.capitalize() for w in words)


@dataclass(frozen=True)
class Paper:
    """A paper and its claims; `about` holds title, authors, venue, year and url."""

    key: str
    about: Mapping[str, str]
    rows: tuple[Row, ...]

    @property
    def short(self) -> str:
        """``"Mroueh 2015"``."""
        return paper_label(self.key)


@dataclass(frozen=True)
class Material:
    """Everything a report shows."""

    profile: str
    papers: tuple[Paper, ...]
    notebooks: tuple[Notebook, ...] = field(default=())

    @property
    def rows(self) -> list[Row]:
        return [row for paper in self.papers for row in paper.rows]


def collect(build_dir: Path, figures_dir: Path, ledger_path: Path, profile: str) -> Material:
    """Read the results of one profile, the committed full-scale results and the ledger.

    Raises
    ------
    ReportError
        If neither folder holds any result.
    LedgerError
        If the ledger cannot be read.
    """
    ledger = load_ledger(ledger_path)
    names = set(_names(build_dir / profile)) | set(_names(figures_dir))
    if not names:
        raise ReportError(
            f"nothing to report: no results in {build_dir / profile} and none in {figures_dir}. "
            f"Run `invariance run --profile {profile}` first"
        )
    order = list(dict.fromkeys(claim.paper_key for claim in ledger.values()))
    place = {paper: index for index, paper in enumerate(order)}
    notebooks = tuple(
        _notebook(name, build_dir / profile / name, figures_dir / name, ledger_path.parent)
        for name in sorted(names, key=lambda n: (place.get(n.split("/")[0], len(order)), n))
    )
    citation = ledger_path.parent.parent / "CITATION.cff"
    return Material(profile, _papers(ledger, notebooks, _about(citation)), notebooks)


def _names(folder: Path) -> Iterator[str]:
    """Names ``<paper>/<name>`` of the notebooks that left anything in a folder."""
    for pattern in ("results.json", "status.json"):
        for path in folder.glob(f"*/*/{pattern}"):
            name = path.parent.relative_to(folder).as_posix()
            if not any(part.startswith(".") for part in name.split("/")):
                yield name


def _notebook(name: str, build: Path, published: Path, sources: Path) -> Notebook:
    status = read_json(build / "status.json")
    status = status if isinstance(status, dict) else None
    # an interrupted attempt leaves nothing, yet what an older failure left may still lie there
    partial = build / "failed" / "executed.ipynb"
    left_behind = status is not None and status.get("executed") == "failed/executed.ipynb"
    left_behind = left_behind and partial.is_file()
    executed = build / "executed.ipynb"
    source = sources / f"{name}.py"
    return Notebook(
        name=name,
        title=_source_title(source.read_text(encoding="utf-8")) if source.is_file() else None,
        status=status,
        executed=executed if executed.is_file() else None,
        partial=partial if left_behind else None,
        attempt=_outcome(name, partial.parent) if left_behind else None,
        run=_outcome(name, build),
        published=_outcome(name, published),
    )


def _source_title(source: str) -> str | None:
    cells = re.split(r"^# %%.*$", source, flags=re.MULTILINE)
    for cell in cells[1:]:
        title, _ = title_and_body(re.sub(r"^# ?", "", cell.strip(), flags=re.MULTILINE))
        if title:
            return title
    return None


def _outcome(name: str, folder: Path) -> Outcome | None:
    content = read_json(folder / "results.json")
    if not isinstance(content, dict):
        return None

    def file(filename: str) -> Path | None:
        path = folder / Path(filename).name
        return path if path.is_file() else None

    figures = []
    for figure in content.get("figures", []):
        files = {Path(f).suffix: file(f) for f in figure.get("files", [])}
        if any(files.values()):
            figures.append(
                Figure(
                    name=figure["name"],
                    alt=figure.get("alt") or figure.get("caption") or figure["name"],
                    caption=figure.get("caption") or "",
                    svg=files.get(".svg"),
                    png=files.get(".png"),
                )
            )
    tables = [
        Table(table["name"], table.get("caption") or "", path)
        for table in content.get("tables", [])
        if (path := file(table["file"])) is not None
    ]
    quick = content.get("profile") == "quick"
    claims = {
        claim: Result(
            notebook=name,
            # What a quick run measures on a stand-in says nothing of the paper's own data.
            verdict=OPEN if quick and recorded.get("data") else recorded["verdict"],
            reason=recorded.get("reason") or "",
            ours=recorded.get("ours") or "",
            data=recorded.get("data"),
            note=recorded.get("note"),
        )
        for claim, recorded in content.get("claims", {}).items()
    }
    return Outcome(
        folder=folder,
        profile=content.get("profile", ""),
        parameters=content.get("parameters") or {},
        claims=claims,
        figures=tuple(figures),
        tables=tuple(tables),
        provenance=content.get("provenance") or {},
        volatile=content.get("volatile") or {},
    )


def _papers(
    ledger: Ledger, notebooks: tuple[Notebook, ...], about: Mapping[str, Any]
) -> tuple[Paper, ...]:
    run: dict[str, Result] = {}
    full: dict[str, Result] = {}
    for notebook in notebooks:
        if notebook.run is not None:
            run.update(notebook.run.claims)
        if notebook.published is not None:
            full.update(notebook.published.claims)
    rows: dict[str, list[Row]] = {}
    for claim in ledger.values():
        rows.setdefault(claim.paper_key, []).append(
            Row(claim, run.get(claim.id), full.get(claim.id))
        )
    return tuple(Paper(key, about.get(key) or {}, tuple(rows[key])) for key in rows)


def _about(citation: Path) -> dict[str, dict[str, str]]:
    """What ``CITATION.cff`` says of each paper, by first author and year as in the ledger."""
    try:
        content = yaml.safe_load(citation.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError):
        return {}
    about = {}
    for reference in content.get("references", []):
        families = [author.get("family-names", "") for author in reference.get("authors", [])]
        if not families:
            continue
        about[f"{families[0].lower()}{reference.get('year', '')}"] = {
            "title": reference.get("title", ""),
            "authors": ", ".join(families),
            "venue": reference.get("collection-title") or reference.get("journal") or "",
            "year": str(reference.get("year", "")),
            "url": reference.get("url", ""),
        }
    return about
