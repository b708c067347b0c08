"""Methods side by side on one task: what each gives, what it costs, and which of them to take.

A notebook of this folder fits every method on the same draws of the same data. What a draw gives
is a `Trial`; the functions here turn trials into a table, a figure and an answer.
"""

from collections.abc import Mapping, Sequence
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from invariance.companion import Run, label_ends, look, panel
from invariance.evaluation.trials import Trial, best_method

#: Relative discrepancies below this are rounding.
_ROUNDING = 1e-10
#: Curves that a panel can hold, and methods that a title counts instead of naming them.
_MOST, _MANY = 6, 3

Trials = Mapping[tuple[str, int], Sequence[Trial]]


def scores(trials: Trials) -> pd.DataFrame:
    """Means over draws, one row per method and number of samples; ``se`` is that of the score."""
    rows = [{"method": m, "n": n} | t._asdict() for (m, n), draws in trials.items() for t in draws]
    found = pd.DataFrame(rows).groupby(["method", "n"], sort=False)
    table = found.mean().assign(peak_mb=found["peak_mb"].max())
    table.insert(1, "se", found["score"].sem())
    return table.reset_index()


def answers(trials: Trials, higher_is_better: bool) -> pd.DataFrame:
    """Which method to take, for every number of samples, as `best_method` has it.

    Scores are accuracies in per cent if `higher_is_better`, otherwise risks; there are at least two
    draws of each method and number of samples. ``level`` names the others level with the best.
    """
    rows = []
    for n in sorted({n for _, n in trials}):
        found = {method: draws for (method, size), draws in trials.items() if size == n}
        best, score, level, quickest = best_method(found, higher_is_better=higher_is_better)
        rows.append((n, best, score.mean, score.se, ", ".join(level), quickest))
    return pd.DataFrame(rows, columns=["n", "best", "score", "se", "level", "quickest"])


def curves(
    table: pd.DataFrame,
    answer: pd.DataFrame,
    names: Mapping[str, str],
    score: str,
    discrepancy: str,
    log: bool = False,
    across: str = "training samples",
) -> Figure:
    """Score, discrepancy and time against the number of samples, with the finding of each above it.

    `names` are words at the end of each method's curve; its keys are names in `style`. The first
    one is what the others are compared with: it is drawn, and so are those that the titles name and
    the best others, up to six. `score`, `discrepancy` and `across` label the axes; with `log` the
    first two are logarithmic, and exact zeros are drawn at 1e-17, where rounding begins.
    """
    table = table.assign(seconds=table["fit_s"] + table["predict_s"])
    sizes = sorted(table["n"].unique())
    last = table[table["n"] == sizes[-1]].set_index("method")
    shown = _shown(last, names, answer.iloc[-1], log)
    # papers share hues, and here they meet: of two methods in one colour the second is dashed
    colours = [look(method).color for method in shown]
    dashes = ["--" if colour in colours[:i] else "-" for i, colour in enumerate(colours)]
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.8), width_ratios=[1.3, 1, 1])
    labels = {"score": score, "discrepancy": discrepancy}
    labels["seconds"] = "fit and predict (CPU seconds)"
    titles = _findings(last, answer.iloc[-1], names, sizes[-1], log)
    for axis, (column, label), title in zip(axes, labels.items(), titles, strict=True):
        drawn, least = {}, 1e-17 if log and column == "discrepancy" else -np.inf
        for method, dash in zip(shown, dashes, strict=True):
            rows = table[table["method"] == method]
            how = {"x": rows["n"].to_numpy(), "linestyle": dash}
            how |= {"error": rows["se"].to_numpy()} if column == "score" else {}
            drawn[fill(names[method], 22)] = (method, rows[column].to_numpy().clip(least), how)
        scale = "xy" if log or column == "seconds" else "x"
        words = {"xlabel": across, "ylabel": fill(label, 36), "title": fill(title, 40)}
        panel(axis, sizes, drawn, log=scale, ends=None, **words)
    label_ends(axes[0], apart=0.1)
    return figure


def _shown(last: pd.DataFrame, names: Mapping[str, str], answer: pd.Series, log: bool) -> list[str]:
    """The first method, those that the titles name, and the best others, in the order of names."""
    first, *others = names
    ranked = last["score"].reindex(others).dropna().sort_values(ascending=log)
    least = _least_changed(last, names, log)
    named = [first, answer.best, answer.quickest, *(least if len(least) < _MANY else [])]
    kept = list(dict.fromkeys([*named, *ranked.index]))[:_MOST]
    return [method for method in names if method in kept]


def _least_changed(last: pd.DataFrame, names: Mapping[str, str], log: bool) -> list[str]:
    """Methods that are invariant to rounding, or else the one whose predictions change least."""
    exact = [m for m in names if m in last.index and last["discrepancy"][m] < _ROUNDING]
    return exact if log and exact else [last["discrepancy"].idxmin()]


def _findings(
    last: pd.DataFrame, answer: pd.Series, names: Mapping[str, str], n: int, log: bool
) -> tuple[str, str, str]:
    """What the panels show with the most samples: who is best, invariant, and to be taken."""
    least = [names[m] for m in _least_changed(last, names, log)]
    if last["discrepancy"].min() >= _ROUNDING or not log:
        invariant = f"Least changed at {n:,}: {least[0]}"
    elif len(least) < _MANY:
        invariant = f"Invariant to rounding: {', '.join(least)}"
    else:
        invariant = f"{len(least)} of {len(last)} methods are invariant to rounding"
    best, quickest = names[answer.best], names[answer.quickest]
    none = "No other as good is quicker"
    taken = none if best == quickest else f"As good and quicker: {quickest}"
    return f"Best at {n:,}: {best}", invariant, taken


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
    """Emit the tables ``scores`` and ``answers`` and the figure ``curves``; the first table.

    `trials` has as many draws of every method and number of samples; what they measured is `score`
    and `discrepancy`, for axes and captions; `across` is what the numbers count, `names` as for
    `curves`. Risks (not `higher_is_better`) are drawn on logarithmic axes.
    """
    table, answer, log = scores(trials), answers(trials, higher_is_better), not higher_is_better
    means = f"Means over {len(next(iter(trials.values())))} draws"
    what = f"{score} with its standard error, {discrepancy}, CPU seconds; peak MiB."
    run.table(table, "scores", caption=f"{means}: {what}")
    left = len(names) - _MOST
    said = f"{means}; two standard errors on the left."
    said += f" The other {left} methods are in the table." if left > 0 else ""
    said += r" Discrepancies below $10^{-17}$ are drawn there." if log else ""
    figure = curves(table, answer, names, score, discrepancy, log, across)
    run.figure(figure, "curves", caption=said)
    said = (
        f"For each number of {across} the best method, those level with it (paired by draw within "
        "two standard errors, and at most a quarter more of the error), and the quickest of these. "
        "Below a tenth of a CPU second all count as equally quick, and the best of them is named."
    )
    run.table(answer, "answers", caption=said)
    return table
