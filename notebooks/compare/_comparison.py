"""Methods side by side on one task: their scores, their costs, and which of them to take.

A notebook of this folder fits every method on the same draws of the same data. The result of one
draw is a `Trial`; the functions of this module turn trials into a table, a figure and an answer.
"""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _trials import Trial, best_method
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from invariance.companion import Run, label_ends, look, panel

#: Relative discrepancies below this are rounding.
_ROUNDING = 1e-10
#: Discrepancies below this are drawn at this value on logarithmic axes.
_LEAST_DISCREPANCY = 1e-17
#: The score above, discrepancy and time beside each other below it.
_PLACES = [["score", "score"], ["discrepancy", "seconds"]]
#: The share of each panel's width that the labels of its curves take.
_ROOM = {"score": 0.3, "discrepancy": 0.75, "seconds": 0.75}
#: The least distance of two labels, as a share of the height.
_APART = {"score": 0.1, "discrepancy": 0.15, "seconds": 0.15}
#: The number of curves that fit into a panel.
_MAX_CURVES = 6
#: A title names fewer methods than this, and counts them otherwise.
_MANY = 3

Trials = Mapping[tuple[str, int], Sequence[Trial]]


class Sizes(NamedTuple):
    """Numbers of training points, draws, test points and features of a comparison."""

    sizes: tuple[int, ...]
    n_draws: int
    n_test: int
    n_features: int


def regression_sizes(quick: bool) -> Sizes:
    """Return the sizes that all comparisons of regressions use."""
    if quick:
        return Sizes(sizes=(10, 30), n_draws=2, n_test=100, n_features=100)
    return Sizes(sizes=(10, 30, 100, 300, 1000), n_draws=8, n_test=500, n_features=500)


def scores(trials: Trials) -> pd.DataFrame:
    """Return means over draws, one row per method and number of samples.

    The column ``se`` is the standard error of the score.
    """
    rows = []
    for (method, n), draws in trials.items():
        for trial in draws:
            rows.append({"method": method, "n": n} | trial._asdict())
    groups = pd.DataFrame(rows).groupby(["method", "n"], sort=False)
    table = groups.mean()
    table["peak_mb"] = groups["peak_mb"].max()
    table.insert(1, "se", groups["score"].sem())
    return table.reset_index()


def answers(trials: Trials, higher_is_better: bool) -> pd.DataFrame:
    """Return the method to take for every number of samples, as `best_method` chooses it.

    Scores are accuracies in per cent if `higher_is_better`, otherwise risks; there are at least two
    draws of each method and number of samples. ``level`` names the methods level with the best.
    """
    rows = []
    for n in sorted({size for _, size in trials}):
        trials_of_size = {method: draws for (method, size), draws in trials.items() if size == n}
        answer = best_method(trials_of_size, higher_is_better=higher_is_better)
        row = {
            "n": n,
            "best": answer.best,
            "score": answer.score.mean,
            "se": answer.score.se,
            "level": ", ".join(answer.level),
            "quickest": answer.quickest,
        }
        rows.append(row)
    return pd.DataFrame(rows)


def curves(
    table: pd.DataFrame,
    answer: pd.DataFrame,
    names: Mapping[str, str],
    score: str,
    discrepancy: str,
    log: bool = False,
    across: str = "training samples",
) -> Figure:
    """Draw score, discrepancy and time against the number of samples, each with its finding.

    `names` are words at the end of each method's curve; its keys are names in `style`. The first
    method is the reference. It is drawn, as are the methods that the titles name and the best
    others, up to six. `score`, `discrepancy` and `across` label the axes; with `log` the first two
    are logarithmic, and exact zeros are drawn at 1e-17, below the size of rounding errors.
    """
    table = table.assign(seconds=table["fit_s"] + table["predict_s"])
    last_size = table["n"].max()
    last = table[table["n"] == last_size].set_index("method")
    last_answer = answer.iloc[-1]
    methods = _methods_to_draw(last, names, last_answer, log)
    figure, places = plt.subplot_mosaic(_PLACES, figsize=(9, 8.2), height_ratios=[1.2, 1])
    labels = {
        "score": score,
        "discrepancy": discrepancy,
        "seconds": "fit and predict (CPU seconds)",
    }
    titles = _findings(last, last_answer, names, last_size, log, across)
    for column, title in zip(labels, titles, strict=True):
        axis = places[column]
        _draw_panel(axis, table, column, methods, names, log)
        axis.set(xlabel=across, ylabel=labels[column], title=title)
        label_ends(axis, room=_ROOM[column], apart=_APART[column])
    return figure


def _draw_panel(
    axis: Axes,
    table: pd.DataFrame,
    column: str,
    methods: Sequence[str],
    names: Mapping[str, str],
    log: bool,
) -> None:
    """Draw one column of the table as curves, one per method."""
    least = -np.inf
    if log and column == "discrepancy":
        least = _LEAST_DISCREPANCY
    lines = {}
    for method, linestyle in _linestyles(methods).items():
        rows = table[table["method"] == method]
        options = {"x": rows["n"].to_numpy(), "linestyle": linestyle}
        if column == "score":
            options["error"] = rows["se"].to_numpy()
        values = rows[column].to_numpy().clip(least)
        lines[fill(names[method], 22)] = (method, values, options)
    scale = "x"
    if log or column == "seconds":
        scale = "xy"
    panel(axis, sorted(table["n"].unique()), lines, log=scale, ends=None)


def _linestyles(methods: Sequence[str]) -> dict[str, str]:
    """Return the line of each method: dashed if an earlier method has the same colour.

    Methods of different papers share colours, and they meet in these comparisons.
    """
    linestyles = {}
    used_colours = set()
    for method in methods:
        colour = look(method).color
        linestyles[method] = "--" if colour in used_colours else "-"
        used_colours.add(colour)
    return linestyles


def _methods_to_draw(
    last: pd.DataFrame, names: Mapping[str, str], answer: pd.Series, log: bool
) -> list[str]:
    """Return the first method, those that the titles name, and the best others, in order."""
    first, *rest = names
    ranked = last["score"].reindex(rest).dropna().sort_values(ascending=log)
    named = [first, answer.best, answer.quickest]
    least_changed = _least_changed(last, names, log)
    if len(least_changed) < _MANY:
        named += least_changed
    by_importance = list(dict.fromkeys([*named, *ranked.index]))
    drawn = by_importance[:_MAX_CURVES]
    return [method for method in names if method in drawn]


def _least_changed(last: pd.DataFrame, names: Mapping[str, str], log: bool) -> list[str]:
    """Return the methods that are invariant up to rounding, or else the least changed ones."""
    discrepancy = last["discrepancy"]
    exact = [name for name in names if name in last.index and discrepancy[name] < _ROUNDING]
    if log and exact:
        return exact
    least = 1.001 * discrepancy.min()
    return [name for name in names if name in last.index and discrepancy[name] <= least]


def _findings(
    last: pd.DataFrame,
    answer: pd.Series,
    names: Mapping[str, str],
    n: int,
    log: bool,
    across: str,
) -> tuple[str, str, str]:
    """Return the titles of the panels, on the largest number of samples."""
    least_changed = [names[method] for method in _least_changed(last, names, log)]
    is_rounding = log and last["discrepancy"].min() < _ROUNDING
    if len(least_changed) >= _MANY:
        invariant = f"{len(least_changed)} of all {len(last)} methods "
        invariant += "are invariant up to rounding" if is_rounding else "change equally little"
    elif is_rounding:
        verb = "is" if len(least_changed) == 1 else "are"
        invariant = f"Only {' and '.join(least_changed)} {verb} invariant up to rounding"
    else:
        invariant = f"The smallest change: {' and '.join(least_changed)}"
    best = names[answer.best]
    quickest = names[answer.quickest]
    if best == quickest:
        time = "No equally good method is faster"
    else:
        time = f"{_capitalized(quickest)} is equally good and faster"
    return f"{_capitalized(best)} is best at {n:,} {across}", invariant, time


def _capitalized(words: str) -> str:
    return words[:1].upper() + words[1:]


def show(
    run: Run,
    trials: Trials,
    names: Mapping[str, str],
    *,
    score: str,
    discrepancy: str,
    higher_is_better: bool,
    across: str = "training samples",
) -> pd.DataFrame:
    """Emit the tables ``scores`` and ``answers`` and the figure ``curves``; return the scores.

    `trials` has equally many draws of every method and number of samples. `score` and `discrepancy`
    name the measured quantities, for axes and captions, and `across` what the numbers of samples
    count; `names` are those of `curves`. Risks (not `higher_is_better`) have logarithmic axes.
    """
    table = scores(trials)
    answer = answers(trials, higher_is_better)
    log = not higher_is_better
    n_draws = len(next(iter(trials.values())))
    means = f"Means over {n_draws} draws"
    run.table(
        table,
        "scores",
        caption=f"{means}: {score} with its standard error, {discrepancy}, CPU seconds; peak MiB.",
    )
    caption = f"{means}; two standard errors in the upper panel."
    n_left_out = len(names) - _MAX_CURVES
    if n_left_out > 0:
        caption += f" The other {n_left_out} methods are in the table."
    if log:
        caption += r" Discrepancies below $10^{-17}$ are drawn there."
    figure = curves(table, answer, names, score, discrepancy, log, across)
    run.figure(figure, "curves", caption=caption)
    run.table(
        answer,
        "answers",
        caption=f"For each number of {across} the best method, the methods level with it (paired by "
        "draw within two standard errors, with at most a quarter more error), and the fastest of "
        "these. Below a tenth of a CPU second all methods count as equally fast, and the best of "
        "them is named.",
    )
    return table
