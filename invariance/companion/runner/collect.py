"""The results of a sweep in one table, `write_table`, and in one plot, `write_plot`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import pandas as pd

from ...core.parameters import ParameterError
from ..errors import hint
from ..files import write_bytes
from ..ledger.results import read_results, read_status
from ..run import style
from .attempt import Task
from .batch import reasons_to_run
from .sweep import Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Parameters that only repeat an experiment: a plot shows means over them.
_REPETITIONS = ("seed", "seeds")
_MOST_PANELS = 6
_PANELS_IN_A_ROW = 3
# Longer tables of a notebook are data, and no results.
_MOST_ROWS = 100
_LAST_COLUMNS = ("status", "seconds", "failure")


def table_of(sweep: Sweep) -> pd.DataFrame:
    """Return one row for each combination: parameters, numbers, status and seconds.

    Combinations of earlier sweeps over the same parameters have rows too, if they failed or if
    their results are those that a run would give. The rows are in the order of the values.

    The numbers are those that the notebook handed to ``run.say`` (under their names), the cells of
    its tables (``table.column``, or ``table.row.column`` if there are several rows), the recorded
    numbers of its claims (``paper/claim.value``), and its timings (``timings.name``). They are
    missing for a combination whose latest attempt has failed. A second number of the same name ends
    in ``_2``, and one with the name of another column begins with ``said.``.
    """
    tasks = sweep.tasks()
    tasks += [task for task in sweep.earlier_tasks() if _counts(sweep, task)]
    rows = [_row(task) for task in sorted(tasks, key=lambda task: _place_in_order(sweep, task))]
    columns: dict[str, None] = {}
    for row in rows:
        columns |= dict.fromkeys(row)
    last_columns = _last_columns(sweep.axes).values()
    ordered = [name for name in columns if name not in last_columns]
    table = pd.DataFrame(rows, columns=[*ordered, *last_columns])
    for name in sweep.axes:
        values = [row[name] for row in rows]
        if None in values:  # pandas would make None a number that is missing, and others fractions
            table[name] = pd.Series(values, dtype=object)
    return table


def _counts(sweep: Sweep, task: Task) -> bool:
    """Whether a combination of an earlier sweep failed, or has the results a run would give."""
    assert task.folder is not None
    status, _ = read_status(task.folder, task.notebook)
    if status is None or status["status"] == "interrupted":
        return False
    if status["status"] != "ok":
        return True
    made_by = (status["success"] or {}).get("fingerprint")
    if not isinstance(made_by, dict):
        return False
    try:
        reasons = reasons_to_run(
            sweep.paths,
            [task],
            profile=sweep.profile,
            threads=made_by.get("threads", 1),
            architecture=made_by.get("architecture", ""),
        )
    except ParameterError:  # The notebook does not take the value any more.
        return False
    return reasons[task.name] is None


def _place_in_order(sweep: Sweep, task: Task) -> list[tuple[Any, ...]]:
    """Return a sort key: numbers by size, other values as in the sweep, then by the alphabet."""
    key: list[tuple[Any, ...]] = []
    for name, value in task.values.items():
        requested = sweep.axes[name]
        if _is_number(value):
            key.append((0, value, ""))
        elif value in requested:
            key.append((1, requested.index(value), ""))
        else:
            key.append((2, 0, str(value)))
    return key


def write_table(sweep: Sweep) -> pd.DataFrame:
    """Write ``sweep.csv`` into the folder of the sweep, and return the table."""
    table = table_of(sweep)
    write_bytes(sweep.table, table.to_csv(index=False).encode())
    return table


def _row(task: Task) -> dict[str, Any]:
    assert task.folder is not None
    row = dict(task.values)
    last_columns = _last_columns(task.values)
    status, _ = read_status(task.folder, task.notebook)
    if status is None:
        return {**row, last_columns["status"]: "missing"}
    if status["status"] == "ok":
        results, _ = read_results(task.folder, task.notebook)
        other_columns = {*row, *last_columns.values()}
        for name, number in _numbers(task.folder, results or {}):
            full_name = f"said.{name}" if name in other_columns else name
            row[_free_name(full_name, row)] = number
    failure = status["failure"] or {"message": None}
    row[last_columns["status"]] = status["status"]
    row[last_columns["seconds"]] = status["duration_s"]
    row[last_columns["failure"]] = failure["message"]
    return row


def _last_columns(parameters: Iterable[str]) -> dict[str, str]:
    """Return the names of the last columns; those of a parameter's name get a prefix."""
    names = set(parameters)
    return {name: f"run.{name}" if name in names else name for name in _LAST_COLUMNS}


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    """Return a name that is not taken: the given one, or else with the suffix _2, _3, ..."""
    number = 1
    free_name = name
    while free_name in taken:
        number += 1
        free_name = f"{name}_{number}"
    return free_name


def _numbers(folder: Path, results: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield names and values of all numbers that a notebook has recorded."""
    for sentence in results.get("says", []):
        yield from sentence["numbers"].items()
    for entry in results.get("tables", []):
        yield from _cells(entry["name"], folder / entry["file"])
    for claim_id, claim in results.get("claims", {}).items():
        yield from _leaves(claim_id, claim["recorded"])
    volatile = results.get("volatile", {})
    yield from _leaves("timings", volatile.get("timings", {}))


def _cells(name: str, path: Path) -> Iterator[tuple[str, float]]:
    """Yield the numbers in a table that a notebook has saved.

    Its first column labels the rows. If it repeats, the next columns label them too, or else
    their numbers do, from 0.
    """
    try:
        table = pd.read_csv(path)
        texts = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError):
        return
    if len(table) > _MOST_ROWS:
        return
    n_labels = _count_label_columns(table, texts)
    for i in range(len(table)):
        labels = list(texts.iloc[i, :n_labels])
        if not labels and len(table) > 1:
            labels = [str(i)]
        for column in range(n_labels, table.shape[1]):
            cell = table.iat[i, column]
            if _is_number(cell):
                yield ".".join([name, *labels, str(table.columns[column])]), cell


def _count_label_columns(table: pd.DataFrame, texts: pd.DataFrame) -> int:
    """Return how many leading columns tell the rows of a table apart; 0 if none do, or for one row.

    Behind the first column, fractions are results: they differ between combinations.
    """
    if len(table) < 2:
        return 0
    for n_columns in range(1, max(2, table.shape[1])):
        if n_columns > 1 and pd.api.types.is_float_dtype(table.dtypes.iloc[n_columns - 1]):
            return 0
        if not texts.iloc[:, :n_columns].duplicated().any():
            return n_columns
    return 0


def _leaves(prefix: str, content: Any) -> Iterator[tuple[str, float]]:
    """Yield the numbers in nested mappings and lists; a list of one number counts as a number."""
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    if _is_number(content):
        yield prefix, content
    elif isinstance(content, Mapping):
        for name, value in content.items():
            if name != "pairs":  # the differences of scores, which are there themselves
                yield from _leaves(f"{prefix}.{name}", value)
    elif isinstance(content, list):
        for i, value in enumerate(content):
            yield from _leaves(f"{prefix}.{i}", value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and value == value


# ---------------------------------------------------------------------------------------- plot


def plot_of(sweep: Sweep, table: pd.DataFrame, columns: Sequence[str] = ()) -> "Figure | None":
    """Draw numbers of a sweep against its parameters.

    Without `columns`, these are the first six recorded numbers that differ between combinations.
    The result is None if there are none, and unless one or two parameters vary. If one of two is
    ``seed``, points are means over the seeds, with bars of two standard errors.
    """
    for name in columns:
        if name not in table.columns:
            raise ParameterError(f"no column {name!r}. {hint(name, table.columns, 'columns')}")
    drawn = list(columns) or _differing_columns(sweep, table)
    # Values may be lists, which pandas cannot count.
    varying = [name for name in sweep.axes if table[name].map(str).nunique() > 1]
    if not drawn or len(varying) not in (1, 2):
        return None
    style.use()
    n_columns = min(len(drawn), _PANELS_IN_A_ROW)
    n_rows = ceil(len(drawn) / n_columns)
    size = (4.2 * n_columns, 3.2 * n_rows)
    figure, grid = plt.subplots(n_rows, n_columns, figsize=size, squeeze=False)
    panels = list(grid.flat)
    for axes, column in zip(panels, drawn, strict=False):
        _draw(axes, table.dropna(subset=[column]), varying, column)
    for axes in panels[len(drawn) :]:
        axes.set_visible(False)
    return figure


def write_plot(sweep: Sweep, table: pd.DataFrame, columns: Sequence[str] = ()) -> Path | None:
    """Write ``sweep.png`` into the folder of the sweep, if there is a `plot_of` it."""
    figure = plot_of(sweep, table, columns)
    if figure is None:
        return None
    write_bytes(sweep.plot, style.to_png(figure))
    plt.close(figure)
    return sweep.plot


def _differing_columns(sweep: Sweep, table: pd.DataFrame) -> list[str]:
    columns = []
    no_results = {*sweep.axes, *_last_columns(sweep.axes).values()}
    for name in table.columns:
        is_result = name not in no_results and not name.startswith("timings.")
        if is_result and table[name].nunique() > 1:
            columns.append(name)
    return columns[:_MOST_PANELS]


def _draw(axes: "Axes", table: pd.DataFrame, varying: Sequence[str], column: str) -> None:
    """Draw one number: a curve for each value of the second parameter, or means over seeds."""
    repeated = [name for name in varying if name in _REPETITIONS]
    if len(varying) == 2 and repeated:
        (x,) = set(varying) - set(repeated[:1])
        parts = list(_by_value(table, x))
        means = [part[column].mean() for _, part in parts]
        bars = [2 * part[column].sem() for _, part in parts]
        axes.errorbar(_positions(value for value, _ in parts), means, bars, marker="o")
        axes.set_ylabel(f"{column}, mean over {repeated[0]}", wrap=True)
    else:
        x = varying[0]
        for label, part in _curves(table, varying[1:]):
            axes.plot(_positions(part[x]), part[column], marker="o", label=label)
        if len(varying) == 2:
            axes.legend(title=varying[1])
        axes.set_ylabel(column, wrap=True)
    axes.set_xlabel(x)


def _curves(table: pd.DataFrame, names: Sequence[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of each value of the named parameter; all rows if there is no name."""
    if not names:
        yield "", table
        return
    for value, part in _by_value(table, names[0]):
        yield str(value), part


def _by_value(table: pd.DataFrame, name: str) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield each value of a parameter, which may be a list or None, and its rows."""
    for _, part in table.groupby(table[name].map(str), sort=False):
        yield part[name].iloc[0], part


def _positions(values: Iterable[Any]) -> list[Any]:
    """Return where values lie on the horizontal axis: numbers as they are, texts by their names."""
    listed = list(values)
    if all(_is_number(value) for value in listed):
        return listed
    return [str(value) for value in listed]
