"""Results are not typed into prose: `typed_results` finds those that no run has printed.

A number in a text cell states a result when it has a decimal point or an exponent, or is followed
by a percent sign or "±". It may stand there if the notebook's code has it (a setting), if the
ledger prints it (the paper's), or if published results hold it, rounded as it is typed: the
notebook's own, or those of a notebook that the cell names. Anything else is to be printed by the
run: ``run.say("{best:.2f} % are right", best=...)``.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import NotebookError
from ..files import read_json
from ..paths import Paths
from ..source import notebook_code, read_notebook

_NUMBER = re.compile(r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(e[-+−]?\d+)?(?![\w]*\d)")
_UNIT = re.compile(r"\s*(?:%|per cent\b|±)")
# formulas, code, addresses and places in a paper state no results
_APART = re.compile(
    r"\$\$.*?\$\$|\$[^$]*\$|```.*?```|`[^`]*`|\]\([^)]*\)|\w+://\S+"
    r"|\b(?:sections?|lemmas?|theorems?|remarks?|examples?|propositions?|appendix)\s[\d.]+",
    re.DOTALL | re.IGNORECASE,
)


def typed_results(paths: Paths, notebook: str, printed: Iterable[str]) -> list[str]:
    """Numbers in a notebook's text cells that state a result and stand nowhere else, in context.

    `printed` is what the papers print, as the ledger has it.
    """
    source = paths.source(notebook)
    try:
        cells = [c.source for c in read_notebook(source).cells if c.cell_type == "markdown"]
        code = notebook_code(source).replace("_", "")
    except NotebookError:
        return []  # `invariance check` has reported it
    known = {_plain(m[1]) for text in (code, *printed) for m in _NUMBER.finditer(text)}
    others = set(paths.all_notebooks())
    found = []
    for cell in cells:
        named = [notebook, *others.intersection(re.findall(r"\w+/\w+", cell))]
        measured: list[float] | None = None
        text = " ".join(_APART.sub(" ", cell).split())
        for match in _NUMBER.finditer(text):
            number = _plain(match[1])
            states = "." in number or match[2] or _UNIT.match(text, match.end())
            if not states or (number in known and not match[2]):
                continue
            if measured is None:
                measured = [x for name in named for x in _published(paths.published(name))]
            if not _holds(measured, number, (match[2] or "").replace("−", "-")):
                around = text[max(0, match.start() - 40) : match.end() + 20]
                found.append(f"{match[0]} in '... {around} ...'")
    return found


def _plain(number: str) -> str:
    return number.replace(",", "")


def _holds(measured: list[float], number: str, exponent: str) -> bool:
    """Whether a measured number, or a hundred times it, rounds to what is typed."""
    unit = float(f"1{exponent}") if exponent else 1.0
    step = unit * 10.0 ** -len(number.partition(".")[2])
    typed = float(number) * unit
    return any(abs(abs(m) * scale - typed) <= 0.51 * step for m in measured for scale in (1, 100))


def _published(folder: Path) -> Iterator[float]:
    """Every number of the published results: recorded ones, tables, captions and notes."""
    content = read_json(folder / "results.json")
    if not isinstance(content, dict):
        return
    apart = ("volatile", "provenance")
    texts = [json.dumps({k: v for k, v in content.items() if k not in apart}, ensure_ascii=False)]
    for path in sorted(folder.glob("*.csv")):
        texts.append(re.sub('[",]', " , ", path.read_text(encoding="utf-8", errors="replace")))
    for text in texts:
        for found in _NUMBER.finditer(text):
            yield float(_plain(found[1]) + (found[2] or "").replace("−", "-"))
