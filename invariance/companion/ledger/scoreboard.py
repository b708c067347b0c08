"""What counts for each claim (`Row`), and what it comes to: README's table, pages beside figures.

A verdict that counts is computed here from the recorded numbers, whatever the results say of it.
The table stands between two marker lines. ``figures/README.md`` shows the figures, ``FAILURES.md``
what is not reproduced, and why, ``PROTOCOLS.md`` what earlier protocols gave.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import CompanionError
from ..files import read_text, write_bytes
from ..numbers import without_rounding
from ..paths import Paths
from ..words import without_tex
from .claims import Claim, Ledger, load_ledger, paper_label
from .guard import record_digests
from .registration import Registrar, Registration, registration_sentence
from .results import read_results
from .settings import ANOTHER, UNREGISTERED, registered, standing
from .verdicts import FAILED, KEPT, VERDICTS, at_fault, beside, in_brief, judge_again

BEGIN = "<!-- scoreboard: written by `invariance scoreboard` from figures/*/*/results.json -->"
END = "<!-- end of scoreboard -->"
_UNCOUNTED = (ANOTHER, UNREGISTERED)
_PAGES = ("README.md", "FAILURES.md", "PROTOCOLS.md")


OPEN = "open"  # no full run has recorded the claim


@dataclass(frozen=True)
class Row:
    """A claim, its entry of ``results.json``, notebook and profile, the protocol that counts.

    `registration` says whether the claim is shown to have been registered before the run; None if
    no full run has recorded it.
    """

    claim: Claim
    result: Mapping[str, Any] | None = None
    notebook: str = ""
    profile: str = ""
    digest: str | None = None
    registration: Registration | None = None

    @property
    def verdict(self) -> str:
        """What counts: the verdict of a full run by the registered protocol."""
        if self.result is None or self.profile != "full":
            return OPEN
        return standing(self.result, self.digest)

    @property
    def ours(self) -> str:
        """What was measured, in a line; nothing where no run has recorded the claim."""
        return in_brief(self.result or {})

    @property
    def beside(self) -> str:
        """Margin, tightness and repetitions, as text."""
        return beside(self.claim, self.result["recorded"]) if self.result else ""

    @property
    def words(self) -> str:
        """The verdict in words: the ledger's standing remark, and what the run noted."""
        return " ".join(filter(None, (self.claim.note, (self.result or {}).get("note"))))

    #: ``"Miller 1999, theorem 2"``.
    where = property(lambda self: f"{paper_label(self.claim.paper_key)}, {self.claim.source}")


def published_results(paths: Paths) -> list[dict[str, Any]]:
    """The committed results of full runs that can be read; `invariance check` lists the others."""
    found = []
    for path in sorted(paths.figures.glob("*/*/results.json")):
        if not path.parent.name.startswith("."):  # being published
            content, _ = read_results(path.parent, f"{path.parts[-3]}/{path.parts[-2]}")
            if content is not None and content["profile"] == "full":
                found.append(content)
    return found


def rows_of(ledger: Ledger, results: Iterable[Mapping[str, Any]], paths: Paths) -> list[Row]:
    """A row for each claim, in the ledger's order, from contents of ``results.json``.

    One that counts stands before one that does not: a claim may have moved to another notebook.
    """
    found: dict[str, list[tuple[Row, Mapping[str, Any]]]]
    found = {name: [(Row(claim), {})] for name, claim in ledger.items()}
    for content in results:
        notebook, profile = content["notebook"], content["profile"]
        for name, entry in content["claims"].items():
            if name in ledger:
                digest = registered(ledger[name], paths, notebook)
                row = Row(ledger[name], entry, notebook, profile, digest)
                found[name] += [(judged, content) for judged in _judged(row, entry)]
    registrar = Registrar(paths)
    chosen = []
    for candidates in found.values():
        row, content = sorted(candidates, key=lambda pair: pair[0].verdict in VERDICTS)[-1]
        if row.result is not None and row.profile == "full":
            row = replace(row, registration=registrar.of(row.claim, row.result, content))
        chosen.append(row)
    return chosen


def _judged(row: Row, entry: Mapping[str, Any]) -> list[Row]:
    """The row with its verdict by the rule, or that of its time; none where numbers are missing."""
    if row.profile != "full" or row.verdict != entry["verdict"]:
        return [row]
    same = entry["kind"] == row.claim.kind
    verdict = judge_again(row.claim, entry["recorded"]) if same else None
    if verdict is None:
        return []
    return [Row(row.claim, {**entry, **verdict._asdict()}, row.notebook, row.profile, row.digest)]


class ScoreboardError(CompanionError, ValueError):
    """The scoreboard cannot be written: no place for it, or a claim changed without a word."""


def all_rows(paths: Paths) -> list[Row]:
    """A row for each claim of the ledger, from the published results."""
    return rows_of(load_ledger(paths.ledger), published_results(paths), paths)


def scoreboard(paths: Paths, rows: Sequence[Row] | None = None) -> dict[Path, str]:
    """``README.md`` with the table in its place, and the pages beside figures, by path.

    A `LedgerError` or a `ScoreboardError` if something cannot be read, or there is no place.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    results = published_results(paths)
    rows = all_rows(paths) if rows is None else rows
    columns = {"reproduced": KEPT, "not reproduced": FAILED, "not measured": (OPEN,)}
    columns |= {"not counted": _UNCOUNTED} if _of(rows, _UNCOUNTED) else {}
    papers: dict[str, list[Row]] = {}
    for row in rows:
        key = row.claim.paper_key
        papers.setdefault(f"[{paper_label(key)}](notebooks/{key})", []).append(row)
    homes = [*dict.fromkeys(row.claim.paper_key for row in rows)]  # papers first
    results.sort(key=lambda r: [*homes, home := r["notebook"].split("/")[0]].index(home))
    jinja = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined,
    )  # fmt: skip
    jinja.filters |= {"at_fault": at_fault, "clipped": clipped, "of": _of, "plain": _plain,
                      "said": lambda text: f" ({_plain(text)})" * bool(text),
                      "sentence": sentence, "counted": counted,
                      "registration": registration,
                      "without_rounding": without_rounding, "without_tex": without_tex}  # fmt: skip
    jinja.globals |= {"rows": rows, "columns": columns, "papers": papers | {"all": rows},
                      "kept": KEPT, "failed": FAILED, "uncounted": _UNCOUNTED, "results": results,
                      "title": partial(_title, paths)}  # fmt: skip

    def text(name: str) -> str:
        return jinja.get_template(name).render().rstrip() + "\n"

    written = {paths.figures / name: text(name) for name in _PAGES}
    if paths.readme.is_file():
        board = with_scoreboard(read_text(paths.readme), text("scoreboard.md").rstrip())
        written = {paths.readme: board} | written
    return written


def write_scoreboard(paths: Paths) -> str:
    """Write what `scoreboard` returns, and record it and the ledger; the table.

    A `ScoreboardError` if a claim has changed since its run and its history does not say so.
    """
    rows = all_rows(paths)
    if found := faults(rows):
        raise ScoreboardError("\n".join(found))
    written = scoreboard(paths, rows)
    for path, text in written.items():
        write_bytes(path, text.encode())
    record_digests(paths, *written, paths.ledger, paths.papers, paths.owners_digest)
    readme = written.get(paths.readme, "")
    return readme.partition(BEGIN)[2].partition(END)[0].strip()


def _title(paths: Paths, notebook: str) -> str:
    source = paths.source(notebook)
    found = re.search(r"^# # (.+)", read_text(source), re.MULTILINE) if source.is_file() else None
    return found[1] if found else notebook


def _of(rows: Sequence[Row], verdicts: Sequence[str]) -> list[Row]:
    return [row for row in rows if row.verdict in verdicts]


def _plain(text: str) -> str:
    return html.escape(" ".join(text.split()), quote=False)


def _sort(claim: Claim) -> tuple[str, str]:
    """The sort of a claim, for one claim and for several, in words."""
    if claim.program:
        own = "the authors' own program"
        return f"number that repeats {own}", f"numbers that repeat {own}"
    if claim.kind == "value":
        return "other printed number", "other printed numbers"
    about = "of theory, on generated data" if claim.data == "generated" else "about real data"
    return f"statement {about}", f"statements {about}"


def sentence(rows: Sequence[Row]) -> str:
    """How many claims are reproduced, and what sort of claims they are: a paragraph of Markdown."""
    if not rows:
        return "The ledger holds no claims yet."
    kept = _of(rows, KEPT)
    parts: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        parts.setdefault(_sort(row.claim), []).append(row)
    # statements before numbers, other numbers last
    order = sorted(parts, key=lambda sort: [word in sort[1] for word in ("numb", "other", "real")])
    listed = []
    for sort in order:
        total = len(parts[sort])
        listed.append(f"{len(_of(parts[sort], KEPT))} of {total} {sort[total != 1]}")
    every = "The one claim" if len(rows) == 1 else f"{len(kept)} of the {len(rows)} claims"
    verb = "are" if len(kept) != 1 and len(rows) != 1 else "is"
    verb += " not" if len(rows) == 1 and not kept else ""
    said = f"**{every} {verb} reproduced** (as printed or better) at full scale: "
    said += f"{'; '.join(listed)}."
    if not kept:
        return said
    weak = sum(bool(row.claim.limits) for row in kept)
    changed = sum(any(e.verdict in FAILED for e in row.claim.history) for row in kept)
    rest = "rests" if changed == 1 else "rest"
    return (
        f"{said} Of the {len(kept)} reproduced, {counted(weak, 'is', 'are')} weakly tested and "
        f"{changed} {rest} on a protocol that was changed after an unfavourable result."
    )


def counted(number: int, one: str, several: str) -> str:
    """A number with the word that goes with it.

    >>> counted(1, "is", "are"), counted(0, "is", "are")
    ('1 is', '0 are')
    """
    return f"{number} {one if number == 1 else several}"


def registration(rows: Iterable[Row]) -> str:
    """For how many of the results that count it is shown that they were registered before."""
    measured = [row.registration for row in rows if row.verdict in VERDICTS]
    return registration_sentence([one for one in measured if one is not None])


def faults(rows: Iterable[Row]) -> list[str]:
    """Changes of claims that no history tells of, and results that contradict their commit."""
    found = [row.registration.fault for row in rows if row.registration]
    return list(dict.fromkeys(filter(None, found)))


def clipped(text: str, most: int = 400) -> str:
    """The first things of a list, as far as there is room.

    >>> clipped("one: 1; two: 2; three: 3", 16), clipped("a long sentence", 8)
    ('one: 1; two: 2; ...', 'a long ...')
    """
    if len(text) <= most:
        return text
    ends = [m.end() for between in (";", ",", r"\s") for m in re.finditer(between, text[:most])]
    best = max((end for end in ends if text[end - 1] in ";,"), default=max(ends, default=most))
    return f"{text[:best].rstrip()} ..."


def with_scoreboard(readme: str, board: str) -> str:
    """The text of ``README.md`` with `board` between the two marker lines.

    >>> with_scoreboard(f"before\\n{BEGIN}\\nold\\n{END}\\nafter", "new").splitlines()[2]
    'new'
    """
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end) or BEGIN in rest or END in before + after:
        lines = f"the lines\n{BEGIN}\n{END}\nonce, where it shall stand"
        raise ScoreboardError(f"README.md has no place for the scoreboard: write {lines}")
    return f"{before}{begin}\n{board}\n{end}{after}"
