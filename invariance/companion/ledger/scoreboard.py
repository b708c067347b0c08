"""What the results come to, as Markdown: the table of ``README.md``, and two pages beside figures.

The table stands between two marker lines, so that a command can write it and a check can compare
it. ``figures/FAILURES.md`` says what is not reproduced, and why; ``figures/PROTOCOLS.md`` what
protocols that were changed after a first result gave before.
"""

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..errors import CompanionError
from ..files import write_bytes
from ..paths import Paths
from .claims import load_ledger, paper_label
from .guard import record_digests
from .protocols import ANOTHER, UNREGISTERED
from .reading import read_text
from .rows import OPEN, Row, published_results, rows_of
from .verdicts import FAILED, KEPT, at_fault

BEGIN = "<!-- scoreboard: written by `invariance scoreboard` from figures/*/*/results.json -->"
END = "<!-- end of scoreboard -->"
_PAGE = "<!-- written by `invariance scoreboard` from results.json and the ledger -->"


class ScoreboardError(CompanionError, ValueError):
    """``README.md`` has no place for the scoreboard."""


def scoreboard(paths: Paths) -> dict[Path, str]:
    """``README.md`` with the table in its place, and the two pages, by path.

    A `LedgerError` if the ledger or ``README.md`` cannot be read, a `ScoreboardError` if the latter
    has no place for the table.
    """
    rows = rows_of(load_ledger(paths.ledger), published_results(paths), paths)
    written = {
        paths.figures / "FAILURES.md": "\n".join([_PAGE, *_failures(rows)]) + "\n",
        paths.figures / "PROTOCOLS.md": "\n".join([_PAGE, *_protocols(rows)]) + "\n",
    }
    if paths.readme.is_file():
        readme = with_scoreboard(read_text(paths.readme), "\n".join(_table(rows)))
        written = {paths.readme: readme} | written
    return written


def write_scoreboard(paths: Paths) -> str:
    """Write what `scoreboard` returns, and record it and the ledger; the table."""
    written = scoreboard(paths)
    for path, text in written.items():
        write_bytes(path, text.encode())
    record_digests(paths, *written, paths.ledger, paths.papers, paths.owners_digest)
    readme = written.get(paths.readme, "")
    return readme.partition(BEGIN)[2].partition(END)[0].strip()


def sentence(rows: Sequence[Row]) -> str:
    """How many claims are reproduced, and what sort of claims they are: one paragraph of Markdown.

    A number that a paper prints is one that the authors' own program gives as well, or another;
    a statement is one of theory, tested on generated data, or one about real data.
    """
    parts: dict[str, list[Row]] = {
        "statements of theory, on generated data": [],
        "statements about real data": [],
        "numbers that repeat the authors' own program": [],
        "other printed numbers": [],
    }
    theory, real, program, printed = parts.values()
    for row in rows:
        if row.claim.program:
            program.append(row)
        elif row.claim.kind == "value":
            printed.append(row)
        else:
            (theory if row.claim.data == "generated" else real).append(row)
    kept = [row for row in rows if row.verdict in KEPT]
    listed = [
        f"{sum(row.verdict in KEPT for row in some)} of {len(some)} {what}"
        for what, some in parts.items()
        if some
    ]
    weak = sum(bool(row.claim.limits) for row in kept)
    changed = sum(any(e.verdict in FAILED for e in row.claim.history) for row in kept)
    return (
        f"**{len(kept)} of the {len(rows)} claims are reproduced** (as printed or better) at full "
        f"scale, by protocols registered beforehand: {'; '.join(listed)}. Of the {len(kept)} "
        f"reproduced, {weak} are weakly tested and {changed} rest on a protocol that was changed "
        "after an unfavourable result."
    )


def _table(rows: list[Row]) -> Iterator[str]:
    total = Counter(row.verdict for row in rows)
    columns = {"reproduced": KEPT, "not reproduced": FAILED, "not measured": (OPEN,)}
    uncounted = [row for row in rows if row.verdict in (ANOTHER, UNREGISTERED)]
    if uncounted:
        columns["not counted"] = (ANOTHER, UNREGISTERED)
    yield sentence(rows)
    if named := [f"{total[verdict]} {verdict}" for verdict in FAILED if total[verdict]]:
        fallen = sum(total[verdict] for verdict in FAILED)
        yield f"{fallen} are not ({', '.join(named)}): [which, and why](figures/FAILURES.md)."
    if changed := sum(bool(row.claim.history) for row in rows):
        yield (
            f"Of {changed} the protocol was changed after a first result: "
            "[what it gave before](figures/PROTOCOLS.md)."
        )
    if uncounted:
        then = sum((row.result or {})["verdict"] in KEPT for row in uncounted)
        yield (
            f"{len(uncounted)} were not measured by the registered protocol and do not count; by "
            f"the rules of their time {then} of them were reproduced."
        )
    yield from ["", f"| paper | claims | {' | '.join(columns)} |"]
    yield f"|---|{'---:|' * (1 + len(columns))}"
    papers: dict[str, list[Row]] = {}
    for row in rows:
        papers.setdefault(row.claim.paper_key, []).append(row)
    labels = {f"[{paper_label(key)}](notebooks/{key})": some for key, some in papers.items()}
    for label, some in {**labels, "all": rows}.items():
        counts = [sum(row.verdict in verdicts for row in some) for verdicts in columns.values()]
        yield f"| {label} | {len(some)} | {' | '.join(map(str, counts))} |"


def _failures(rows: Iterable[Row]) -> Iterator[str]:
    yield from ["# What is not reproduced, and why", ""]
    yield "In our words first, as far as a reason could be measured; then the numbers."
    for row, entry in ((row, row.result) for row in rows if row.verdict in FAILED):
        assert entry is not None  # it is judged
        claim, note = row.claim, entry.get("note") or "No reason has been measured."
        yield from ["", f"## {_plain(row.where)}: {row.verdict}", ""]
        yield f"[`{claim.id}`](../notebooks/{row.notebook}.py){_said(claim.says)}"
        yield from ["", _plain(note), "", f"{_plain(at_fault(entry['reason']))}{_said(row.beside)}"]


def _protocols(rows: Iterable[Row]) -> Iterator[str]:
    yield from ["# Protocols changed after a first result, and what they gave before", ""]
    yield "What counts is the result by the protocol that the ledger now holds."
    for row in rows:
        if row.claim.history:
            yield from ["", f"## {_plain(row.where)}", "", f"`{row.claim.id}`", ""]
            for earlier in row.claim.history:
                verdict = f" ({earlier.verdict})" if earlier.verdict else ""
                yield f"- before: {_plain(earlier.gave)}{verdict}, {_plain(earlier.protocol)}"
            now = (
                f"{clipped(row.result['ours'], 300)} ({row.verdict})" if row.result else row.verdict
            )
            yield f"- now: {_plain(now)}"


def _said(text: str) -> str:
    return f" ({_plain(text)})" if text else ""


def _plain(text: str) -> str:
    return html.escape(" ".join(text.split()), quote=False)


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
        raise ScoreboardError(
            f"README.md has no place for the scoreboard: write the lines\n{BEGIN}\n{END}\n"
            "once, where it shall stand"
        )
    return f"{before}{begin}\n{board}\n{end}{after}"
