"""The pages about the results of all claims: `scoreboard`, `write_scoreboard`.

The counts of README stand between two marker lines. ``figures/README.md`` shows the figures,
``FAILURES.md`` the claims that are not reproduced with cause, counterfactual and numbers,
``PROTOCOLS.md`` how verdicts turned as protocols, words and rules changed.
"""

import html
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CompanionError
from ..files import read_text, write_bytes
from ..numbers import without_rounding
from ..paths import Paths
from ..words import without_tex
from .claims import HISTORY, Ledger, ledger_files, paper_label
from .errata import corrections
from .guard import record_digests
from .paper_tables import tables_of
from .registration import registration_sentence
from .results import Results
from .rows import Row, all_rows, faults, published_results
from .tally import (
    TOPICS,
    numbers_off,
    sentence,
    tallies,
    turns,
    used_outcomes,
    verdicts_over_time,
    waiting,
)
from .verdicts import FAILED, KEPT, UNREADABLE, at_fault, in_words, reached

if TYPE_CHECKING:
    from jinja2 import Environment

BEGIN = "<!-- scoreboard: written by `invariance scoreboard` from figures/*/*/results.json -->"
END = "<!-- end of scoreboard -->"
_PAGES = ("README.md", "FAILURES.md", "PROTOCOLS.md")
_NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class ScoreboardError(CompanionError, ValueError):
    """The scoreboard has no place in README, or a claim changed without a history entry."""


# --------------------------------------------------------------------------------- the pages


def scoreboard(paths: Paths, rows: Sequence[Row] | None = None) -> dict[Path, str]:
    """Return the texts of ``README.md``, with the table, and of the other pages, by path.

    Raises `LedgerError` or `ScoreboardError` if something cannot be read, or if README has no place
    for the table.
    """
    if rows is None:
        rows = all_rows(paths)
    tables = tables_of(paths.tables, rows)
    values = _template_values(paths, rows) | {"tables": tables}

    def text(name: str) -> str:
        return _templates().get_template(name).render(values).rstrip() + "\n"

    written = {}
    if paths.readme.is_file():
        board = text("scoreboard.md").rstrip()
        written[paths.readme] = with_scoreboard(read_text(paths.readme), board)
    for name in _PAGES:
        written[paths.figures / name] = text(name)
    if values["corrections"]:
        written[paths.figures / "ERRATA.md"] = text("ERRATA.md")
    if tables:
        written[paths.figures / "TABLES.md"] = text("TABLES.md")
    for table in tables:
        written[paths.figures / "tables" / table.file] = table.as_csv()
    return written


@cache
def _templates() -> "Environment":
    """Return the templates, which are compiled once."""
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
        "by_verdict": by_verdict,
        "cause": cause,
        "clipped": clipped,
        "counted": counted,
        "counterfactual_in_brief": counterfactual_in_brief,
        "first_sentence": first_sentence,
        "in_a_cell": _in_a_cell,
        "paper_label": paper_label,
        "plain": _plain,
        "registration": registration,
        "sentence": sentence,
        "verdicts_over_time": verdicts_over_time,
        "without_rounding": without_rounding,
        "without_tex": without_tex,
    }
    return environment


def _template_values(paths: Paths, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the values that the templates show."""
    ledger = Ledger({row.claim.id: row.claim for row in rows})
    # A small project keeps earlier results in the claims themselves.
    history = paths.ledger.with_name(HISTORY)
    if not history.is_file():
        history = paths.ledger
    counted_topics = tallies(rows)
    return {
        "corrections": corrections(paths.errata, ledger, paths.figures),
        "failed": [row for row in rows if row.verdict in FAILED and row.claim.is_scored],
        "history": history.name,
        "numbers_off": numbers_off(rows),
        "outcomes": used_outcomes(counted_topics),
        "results": _papers_first(published_results(paths), rows),
        "rows": rows,
        "tallies": counted_topics,
        "title": partial(_title, paths),
        "topics": TOPICS,
        "turns": turns(rows),
        "unscored": [row for row in rows if not row.claim.is_scored],
        "waiting": waiting(rows),
    }


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


_SENTENCE = re.compile(r".+?[.!?](?=\s+[A-Z'\"(`]|\s*$)")


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, with a capital and a stop.

    >>> first_sentence("It is at n = 1.5. More follows."), first_sentence("no sentence")
    ('It is at n = 1.5.', 'No sentence.')
    """
    line = " ".join(text.split())
    match = _SENTENCE.match(line)
    start = match[0] if match else line
    if start and start[-1] not in ".!?":
        start += "."
    return start[:1].upper() + start[1:]


def cause(row: Row) -> str:
    """Return the cause of a verdict in one sentence.

    The notes of a run are lists: their first entry is the cause.
    """
    note = (row.result or {}).get("note") or "no cause has been measured"
    return first_sentence(row.claim.note or note.partition(";")[0])


def counterfactual(row: Row) -> str:
    """Return the results of stated changes in one sentence, or the change that was not run."""
    lines = []
    for entry in row.counterfactuals:
        with suppress(*UNREADABLE):  # The numbers suit an earlier statement of the claim.
            lines.append(in_words(row.claim, entry))
    if lines:
        return f"With a change: {'; '.join(lines)}."
    if row.claim.counterfactual:
        return f"Not run yet: {row.claim.counterfactual}."
    return ""


def counterfactual_in_brief(row: Row) -> str:
    """Return the same for a short page: how many numbers or statements each change reaches.

    A single change of a number is stated in full.
    """
    counts = []
    for entry in row.counterfactuals:
        with suppress(*UNREADABLE):
            results = [
                result for result in reached(row.claim, entry["recorded"]) if result is not None
            ]
            counts.append(f"{entry['change']} ({sum(results)} of {len(results)})")
    is_one_number = row.claim.kind == "value" and len(counts) == 1
    if not counts or is_one_number:
        return counterfactual(row)
    noun = "numbers" if row.claim.kind == "value" else "statements"
    return f"With a change ({noun} reached): {'; '.join(counts)}."


def by_verdict(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return rows by their verdicts; favourable verdicts come first."""
    groups: dict[str, list[Row]] = {verdict: [] for verdict in (*KEPT, *FAILED)}
    for row in rows:
        groups.setdefault(row.verdict, []).append(row)
    return {verdict: group for verdict, group in groups.items() if group}


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
        row.registration for row in rows if row.counts and row.registration is not None
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
