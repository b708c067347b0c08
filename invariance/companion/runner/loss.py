"""Published results that a new run lacks: `lost_results`.

A notebook may skip cells, or rows of a table, without an optional package or a file.
"""

import csv
from pathlib import Path

from ..ledger.results import Results, read_results


def lost_results(published: Path, folder: Path, source: Path, notebook: str) -> list[str]:
    """Return descriptions of published results that a folder lacks and that are not given up.

    These are claims, figures and tables, columns of tables, and words in tables that have fewer
    rows than before. Names that are gone from the code of the notebook, and of the modules beside
    it, are given up on purpose.
    """
    before, _ = read_results(published, notebook)
    now, _ = read_results(folder, notebook)
    if before is None or now is None:
        return []
    missing = _recorded(before) - _recorded(now)
    lost = {f"{kind} {name}": name for kind, name in missing}
    files = _table_files(now)
    for table, file in _table_files(before).items():
        if table in files:
            words = _missing_words(published / file, folder / files[table])
            lost |= {f"{word!r} in table {table}": word for word in words}
    code = _code(source)
    return sorted(text for text, name in lost.items() if f'"{name}"' in code)


def _recorded(results: Results) -> set[tuple[str, str]]:
    """Return kind and name of everything that a run has recorded."""
    names = {("claim", name) for name in results["claims"]}
    names |= {("figure", figure["name"]) for figure in results["figures"]}
    names |= {("table", name) for name in _table_files(results)}
    return names


def _table_files(results: Results) -> dict[str, str]:
    return {table["name"]: table["file"] for table in results["tables"]}


def _missing_words(before: Path, now: Path) -> set[str]:
    """Return the columns of a table that are gone, and the cells if it has fewer rows."""
    lines_before = _lines(before)
    lines_now = _lines(now)
    missing = set(lines_before[0]) - set(lines_now[0])
    if len(lines_now) < len(lines_before):
        missing |= _cells(lines_before) - _cells(lines_now)
    return missing


def _lines(path: Path) -> list[list[str]]:
    """Return the lines of a CSV file; one without cells if it cannot be read."""
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            return list(csv.reader(stream)) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error):
        return [[]]


def _cells(lines: list[list[str]]) -> set[str]:
    return {cell for line in lines for cell in line}


def _code(source: Path) -> str:
    """Return the code of a notebook and of the modules beside it, with double quotes only."""
    sources = [source, *source.parent.glob("_*.py")]
    code = "\n".join(path.read_text("utf-8", errors="replace") for path in sources)
    return code.replace("'", '"')
