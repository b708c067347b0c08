"""The counting results of all claims (`Row`), and the pages about them.

Verdicts are computed again from the recorded numbers; the verdicts stored in the results are not
trusted. The table of README stands between two marker lines. ``figures/README.md`` shows the
figures, ``FAILURES.md`` the claims that are not reproduced and the reasons, ``PROTOCOLS.md`` the
results under earlier protocols.
"""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import CompanionError
from ..files import read_text, write_bytes
from ..numbers import without_rounding
from ..paths import Paths
from ..words import without_tex
from .claims import Claim, Ledger, ledger_files, load_ledger, paper_label
from .errata import corrections
from .guard import record_digests
from .paper_tables import PaperTable, read_layouts, table_of
from .registration import Registrar, Registration, registration_sentence
from .results import Entry, Results, read_results
from .settings import ANOTHER, REWORDED, UNREGISTERED, registered, standing
from .verdicts import FAILED, KEPT, VERDICTS, at_fault, beside, in_brief, judge_again

if TYPE_CHECKING:
    from jinja2 import Environment

BEGIN = "<!-- scoreboard: written by `invariance scoreboard` from figures/*/*/results.json -->"
END = "<!-- end of scoreboard -->"
#: In place of the verdict on a claim that no full run has recorded.
OPEN = "open"
_UNCOUNTED = (ANOTHER, REWORDED, UNREGISTERED)
_PAGES = ("README.md", "FAILURES.md", "PROTOCOLS.md")
_NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class ScoreboardError(CompanionError, ValueError):
    """The scoreboard has no place in README, or a claim changed without a history entry."""


# ------------------------------------------------------------------------------ rows of claims


@dataclass(frozen=True)
class Row:
    """A claim and the result that counts for it.

    Attributes
    ----------
    claim : Claim
        The claim of the ledger.
    result : mapping or None
        Its entry of ``results.json``.
    notebook, profile : str
        The notebook and the profile of the run.
    digest : str or None
        The digest of the registered protocol.
    registration : Registration or None
        Whether the claim is shown to have been registered before the run; None if no full run has
        recorded it.
    counterfactuals : tuple of mappings
        Entries of ``results.json``, from whichever full run recorded them: results of a stated
        change, which count for nothing.
    """

    claim: Claim
    result: Entry | None = None
    notebook: str = ""
    profile: str = ""
    digest: str | None = None
    registration: Registration | None = None
    counterfactuals: tuple[Entry, ...] = ()

    @property
    def verdict(self) -> str:
        """The verdict of a full run under the registered protocol, or the reason it is missing."""
        if self.result is None or self.profile != "full":
            return OPEN
        return standing(self.result, self.claim, self.digest)

    @property
    def ours(self) -> str:
        """Our result in a line; empty if no run has recorded the claim."""
        return in_brief(self.result or {})

    @property
    def beside(self) -> str:
        """Margin, tightness and repetitions, as text."""
        if self.result is None:
            return ""
        return beside(self.claim, self.result["recorded"])

    @property
    def words(self) -> str:
        """The ledger's standing remark and the note of the run."""
        note = (self.result or {}).get("note")
        return " ".join(text for text in (self.claim.note, note) if text)

    @property
    def where(self) -> str:
        """The place in the paper: ``"Miller 1999, theorem 2"``."""
        return f"{paper_label(self.claim.paper_key)}, {self.claim.source}"


def published_results(paths: Paths) -> list[dict[str, Any]]:
    """Return the committed results of full runs that can be read.

    `invariance check` lists the other ones.
    """
    published = []
    for path in sorted(paths.figures.glob("*/*/results.json")):
        if path.parent.name.startswith("."):
            continue  # The folder is just being published.
        notebook = f"{path.parts[-3]}/{path.parts[-2]}"
        results, _ = read_results(path.parent, notebook)
        if results is not None and results["profile"] == "full":
            published.append(results)
    return published


def rows_of(ledger: Ledger, results: Sequence[Results], paths: Paths) -> list[Row]:
    """Return a row for each claim, in the ledger's order.

    `results` are contents of ``results.json``. If several of them hold a claim, because it has
    moved to another notebook, a result that counts is preferred.
    """
    candidates: dict[str, list[_Candidate]] = {
        name: [_Candidate(Row(claim), {})] for name, claim in ledger.items()
    }
    for content in results:
        notebook = content["notebook"]
        for name, entry in content["claims"].items():
            if name not in ledger:
                continue
            digest = registered(ledger[name], paths, notebook)
            row = _judged(Row(ledger[name], entry, notebook, content["profile"], digest), entry)
            if row is not None:
                candidates[name].append(_Candidate(row, content))
    registrar = Registrar(paths)
    counterfactuals = _counterfactuals(results)
    rows = []
    for name, of_claim in candidates.items():
        row = _chosen(of_claim, registrar)
        rows.append(replace(row, counterfactuals=tuple(counterfactuals.get(name, ()))))
    return rows


def _counterfactuals(results: Iterable[Results]) -> dict[str, list[Entry]]:
    """Return the counterfactuals of full runs, by claim."""
    by_claim: dict[str, list[Entry]] = {}
    for content in results:
        if content["profile"] == "full":
            for name, entries in content["counterfactuals"].items():
                by_claim.setdefault(name, []).extend(entries)
    return by_claim


class _Candidate(NamedTuple):
    """A row and the results from which it comes."""

    row: Row
    results: Results


def _judged(row: Row, entry: Entry) -> Row | None:
    """Return a row that counts with its computed verdict, and any other row as it is.

    Return None if the recorded numbers cannot be judged.
    """
    if row.profile != "full" or row.verdict != entry["verdict"]:
        return row
    if entry["kind"] != row.claim.kind:
        return None
    verdict = judge_again(row.claim, entry["recorded"])
    if verdict is None:
        return None
    return replace(row, result={**entry, **verdict._asdict()})


def _chosen(candidates: Sequence[_Candidate], registrar: Registrar) -> Row:
    """Return the last row that counts, or else the last one, with its registration."""
    counting = [candidate for candidate in candidates if candidate.row.verdict in VERDICTS]
    row, results = (counting or candidates)[-1]
    if row.result is None or row.profile != "full":
        return row
    return replace(row, registration=registrar.of(row.claim, row.result, results))


def all_rows(paths: Paths) -> list[Row]:
    """Return a row for each claim of the ledger, from the published results."""
    return rows_of(load_ledger(paths.ledger), published_results(paths), paths)


def faults(rows: Iterable[Row]) -> list[str]:
    """Return changes of claims without a history entry, and results that contradict a commit."""
    sentences = [row.registration.fault for row in rows if row.registration is not None]
    return list(dict.fromkeys(sentence for sentence in sentences if sentence))


# --------------------------------------------------------------------------------- the pages


def scoreboard(paths: Paths, rows: Sequence[Row] | None = None) -> dict[Path, str]:
    """Return the texts of ``README.md``, with the table, and of the other pages, by path.

    Raises `LedgerError` or `ScoreboardError` if something cannot be read, or if README has no place
    for the table.
    """
    if rows is None:
        rows = all_rows(paths)
    environment = _template_environment(paths, rows)

    def text(name: str) -> str:
        return environment.get_template(name).render().rstrip() + "\n"

    written = {}
    if paths.readme.is_file():
        board = text("scoreboard.md").rstrip()
        written[paths.readme] = with_scoreboard(read_text(paths.readme), board)
    for name in _PAGES:
        written[paths.figures / name] = text(name)
    if environment.globals["corrections"]:
        written[paths.figures / "ERRATA.md"] = text("ERRATA.md")
    tables = environment.globals["tables"]
    if tables:
        written[paths.figures / "TABLES.md"] = text("TABLES.md")
    for table in tables:
        written[paths.figures / "tables" / table.file] = table.as_csv()
    return written


def tables_of(paths: Paths, rows: Sequence[Row]) -> list[PaperTable]:
    """Return the papers' tables with our results, in the order of ``tables.yml``."""
    ledger = Ledger({row.claim.id: row.claim for row in rows})
    results = {}
    for row in rows:
        if row.result is not None and row.profile == "full":
            results[row.claim.id] = row.result
    counting = {row.claim.id for row in rows if row.verdict in VERDICTS}
    tables = []
    for name, layout in read_layouts(paths.tables).items():
        tables.append(table_of(name, layout, ledger, results, counting))
    return tables


def _template_environment(paths: Paths, rows: Sequence[Row]) -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "as_word": as_word,
        "at_fault": at_fault,
        "clipped": clipped,
        "counted": counted,
        "in_a_cell": _in_a_cell,
        "in_parentheses": _in_parentheses,
        "paper_label": paper_label,
        "plain": _plain,
        "registration": registration,
        "sentence": sentence,
        "with_verdicts": _with_verdicts,
        "without_rounding": without_rounding,
        "without_tex": without_tex,
    }
    ledger = Ledger({row.claim.id: row.claim for row in rows})
    environment.globals |= {
        "columns": _columns(rows),
        "corrections": corrections(paths.errata, ledger, paths.figures),
        "tables": tables_of(paths, rows),
        "papers": _by_paper(rows),
        "results": _papers_first(published_results(paths), rows),
        "rows": rows,
        "title": partial(_title, paths),
        "reproduced": KEPT,
        "not_reproduced": FAILED,
        "uncounted": _UNCOUNTED,
    }
    return environment


def _columns(rows: Sequence[Row]) -> dict[str, Sequence[str]]:
    """Return the verdicts that each column of the table counts."""
    columns: dict[str, Sequence[str]] = {
        "reproduced": KEPT,
        "not reproduced": FAILED,
        "not measured": (OPEN,),
    }
    if _with_verdicts(rows, _UNCOUNTED):
        columns["not counted"] = _UNCOUNTED
    return columns


def _by_paper(rows: Sequence[Row]) -> dict[str, Sequence[Row]]:
    """Return the rows of each line of the table, by its label."""
    papers: dict[str, list[Row]] = {}
    for row in rows:
        key = row.claim.paper_key
        label = f"[{paper_label(key)}](notebooks/{key})"
        papers.setdefault(label, []).append(row)
    return {**papers, "all": rows}


def _papers_first(results: list[dict[str, Any]], rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Sort results by their folders, in the ledger's order; folders without claims come last."""
    keys = list(dict.fromkeys(row.claim.paper_key for row in rows))

    def position(content: Results) -> int:
        folder = content["notebook"].split("/")[0]
        if folder in keys:
            return keys.index(folder)
        return len(keys)

    return sorted(results, key=position)


def write_scoreboard(paths: Paths) -> str:
    """Write the pages of `scoreboard`, record them and the ledger, and return the table.

    Raises `ScoreboardError` if a claim has changed since its run without a history entry.
    """
    rows = all_rows(paths)
    sentences = faults(rows)
    if sentences:
        raise ScoreboardError("\n".join(sentences))
    written = scoreboard(paths, rows)
    for path, text in written.items():
        write_bytes(path, text.encode())
    of_the_ledger = (*ledger_files(paths.ledger), paths.papers, paths.owners_digest)
    record_digests(paths, *written, *of_the_ledger)
    _, _, rest = written.get(paths.readme, "").partition(BEGIN)
    table, _, _ = rest.partition(END)
    return table.strip()


def with_scoreboard(readme: str, board: str) -> str:
    """Return the text of ``README.md`` with `board` between the two marker lines.

    >>> with_scoreboard(f"before\\n{BEGIN}\\nold\\n{END}\\nafter", "new").splitlines()[2]
    'new'
    """
    if (
        readme.count(BEGIN) != 1
        or readme.count(END) != 1
        or readme.index(BEGIN) > readme.index(END)
    ):
        lines = f"the lines\n{BEGIN}\n{END}\nonce, at the place where it belongs"
        raise ScoreboardError(f"README.md has no place for the scoreboard: write {lines}")
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{board}\n{END}{after}"


# --------------------------------------------------------------------------- texts of the pages


def _title(paths: Paths, notebook: str) -> str:
    """Return the first heading of a notebook, or its name."""
    source = paths.source(notebook)
    if not source.is_file():
        return notebook
    heading = re.search(r"^# # (.+)", read_text(source), re.MULTILINE)
    if heading is None:
        return notebook
    return heading[1]


def _with_verdicts(rows: Sequence[Row], verdicts: Sequence[str]) -> list[Row]:
    return [row for row in rows if row.verdict in verdicts]


def _plain(text: str) -> str:
    """Return a text in one line, escaped for HTML."""
    return html.escape(" ".join(text.split()), quote=False)


def _in_a_cell(text: str) -> str:
    """Return a text in one line, without bars, which would end a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", r"\vert ")


def as_word(number: int) -> str:
    """Return a number below ten as a word, and any other in digits.

    >>> as_word(5), as_word(12)
    ('five', '12')
    """
    if 0 <= number < len(_NUMBER_WORDS):
        return _NUMBER_WORDS[number]
    return str(number)


def _in_parentheses(text: str) -> str:
    return f" ({_plain(text)})" if text else ""


def sentence(rows: Sequence[Row]) -> str:
    """Return a paragraph of Markdown: how many claims of each sort are reproduced."""
    if not rows:
        return "The ledger holds no claims yet."
    reproduced = _with_verdicts(rows, KEPT)
    sorts: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        sorts.setdefault(_sort_of(row.claim), []).append(row)
    parts = []
    for singular, plural in sorted(sorts, key=_order_of_sort):
        of_sort = sorts[singular, plural]
        n_reproduced = len(_with_verdicts(of_sort, KEPT))
        parts.append(f"{n_reproduced} of {counted(len(of_sort), singular, plural)}")
    head = _claims_reproduced(len(reproduced), len(rows))
    text = f"**{head}** (as printed or better) at full scale: {'; '.join(parts)}."
    if not reproduced:
        return text
    n_weak = sum(bool(row.claim.limits) for row in reproduced)
    n_changed = sum(_was_unfavourable(row.claim) for row in reproduced)
    weak = counted(n_weak, "is", "are")
    changed = counted(n_changed, "rests", "rest")
    return (
        f"{text} Of the {len(reproduced)} reproduced, {weak} weakly tested and {changed} on a "
        "protocol that was changed after an unfavourable result."
    )


def _claims_reproduced(n_reproduced: int, n_claims: int) -> str:
    if n_claims == 1 and n_reproduced == 1:
        return "The one claim is reproduced"
    if n_claims == 1:
        return "The one claim is not reproduced"
    if n_reproduced == 1:
        return f"1 of the {n_claims} claims is reproduced"
    return f"{n_reproduced} of the {n_claims} claims are reproduced"


def _was_unfavourable(claim: Claim) -> bool:
    return any(earlier.verdict in FAILED for earlier in claim.history)


def _sort_of(claim: Claim) -> tuple[str, str]:
    """Return the sort of a claim in words, in the singular and in the plural."""
    if claim.program:
        program = "the authors' own program"
        return f"number that repeats {program}", f"numbers that repeat {program}"
    if claim.kind == "value":
        return "other printed number", "other printed numbers"
    if claim.data == "generated":
        topic = "of theory, on generated data"
    else:
        topic = "about real data"
    return f"statement {topic}", f"statements {topic}"


def _order_of_sort(sort: tuple[str, str]) -> list[bool]:
    """Sort key: statements before numbers, theory before real data, other numbers last."""
    _, plural = sort
    return [word in plural for word in ("numb", "other", "real")]


def counted(number: int, one: str, several: str) -> str:
    """Return a number with the word that belongs to it.

    >>> counted(1, "is", "are"), counted(0, "is", "are")
    ('1 is', '0 are')
    """
    word = one if number == 1 else several
    return f"{number} {word}"


def registration(rows: Iterable[Row]) -> str:
    """Return a sentence about the results that count and were registered before their runs."""
    registrations = [
        row.registration for row in rows if row.verdict in VERDICTS and row.registration is not None
    ]
    return registration_sentence(registrations)


def clipped(text: str, most: int = 400) -> str:
    """Return the first parts of a list, at most `most` characters.

    >>> clipped("one: 1; two: 2; three: 3", 16), clipped("a long sentence", 8)
    ('one: 1; two: 2; ...', 'a long ...')
    """
    if len(text) <= most:
        return text
    head = text[:most]
    end_of_part = max(head.rfind(";"), head.rfind(",")) + 1
    spaces = [match.end() for match in re.finditer(r"\s", head)]
    end = end_of_part or max(spaces, default=most)
    return f"{text[:end].rstrip()} ..."
