"""Tables as CSV, HTML and plain text, written by pandas or, without it, by Python alone."""

import csv
import html
import io
from collections.abc import Iterable, Mapping
from typing import Any


def written(table: Any) -> tuple[str, dict[str, str]]:
    """Return a table as CSV, "" if it has no cells, and as a MIME bundle for the notebook.

    `table` is a DataFrame or a list of dicts; anything else raises TypeError or ValueError.
    """
    try:
        import pandas as pd
    except ImportError:
        return _without_pandas(table)
    frame = pd.DataFrame(table)
    if frame.empty:
        return "", {}
    # A default index only holds row numbers.
    with_index = not isinstance(frame.index, pd.RangeIndex)
    bundle = {
        "text/html": frame.to_html(index=with_index, border=0, na_rep=""),
        "text/plain": frame.to_string(index=with_index),
    }
    return frame.to_csv(index=with_index), bundle


def _without_pandas(table: Iterable[Any]) -> tuple[str, dict[str, str]]:
    """Return the same for a list of dicts. In a browser there may be no pandas."""
    rows = list(table)
    for row in rows:
        if not isinstance(row, Mapping):
            raise TypeError(f"a row is {row!r:.60}")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if not columns:
        return "", {}
    lines = [[str(name) for name in columns]]
    for row in rows:
        lines.append([_cell(row.get(name)) for name in columns])
    bundle = {"text/html": _as_html(lines), "text/plain": _as_text(lines)}
    return _as_csv(lines), bundle


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def _as_csv(lines: list[list[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    return stream.getvalue()


def _as_html(lines: list[list[str]]) -> str:
    head, *body = lines
    rows = "".join(_html_row(line, "td") for line in body)
    return f"<table><thead>{_html_row(head, 'th')}</thead><tbody>{rows}</tbody></table>"


def _html_row(line: list[str], tag: str) -> str:
    cells = [f"<{tag}>{html.escape(cell)}</{tag}>" for cell in line]
    return f"<tr>{''.join(cells)}</tr>"


def _as_text(lines: list[list[str]]) -> str:
    columns = zip(*lines, strict=True)
    widths = [max(len(cell) for cell in column) for column in columns]
    aligned = []
    for line in lines:
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        aligned.append(" ".join(cells))
    return "\n".join(aligned)
