"""A table as CSV, as HTML and as plain text: by pandas, or without it by Python alone."""

import csv
import html
import io
from collections.abc import Mapping
from typing import Any


def written(table: Any) -> tuple[str, dict[str, str]]:
    """Return the CSV text of a table, empty if it has no cell, and what a notebook shows of it.

    `table` is a DataFrame or a list of dicts. A TypeError or ValueError if it is neither.
    """
    try:
        import pandas as pd
    except ImportError:
        return _by_hand(table)
    frame = pd.DataFrame(table)
    if frame.empty:
        return "", {}
    # a default index is a row number, any other one says something
    named = not isinstance(frame.index, pd.RangeIndex)
    markup = frame.to_html(index=named, border=0, na_rep="")
    return frame.to_csv(index=named), {
        "text/html": markup,
        "text/plain": frame.to_string(index=named),
    }


def _by_hand(rows: Any) -> tuple[str, dict[str, str]]:
    """The same of a list of dicts, as in a browser, where there may be no pandas."""
    rows = list(rows)
    if wrong := [row for row in rows if not isinstance(row, Mapping)]:
        raise TypeError(f"a row is {wrong[0]!r:.60}")
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if not columns:
        return "", {}
    cells = [[row.get(name) for name in columns] for row in rows]
    lines = [columns, *([("" if cell is None else str(cell)) for cell in row] for row in cells)]
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    head, *body = ([html.escape(str(cell)) for cell in line] for line in lines)
    markup = f"<table><thead><tr><th>{'</th><th>'.join(head)}</th></tr></thead><tbody>"
    markup += "".join(f"<tr><td>{'</td><td>'.join(line)}</td></tr>" for line in body)
    widths = [max(len(str(line[i])) for line in lines) for i in range(len(columns))]
    plain = "\n".join(
        " ".join(str(cell).rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    return stream.getvalue(), {"text/html": f"{markup}</tbody></table>", "text/plain": plain}
