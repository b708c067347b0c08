"""Methods side by side on one task: what each gives, what it costs, and which of them to take.

A notebook of ``compare/`` fits every method on the same draws of the same data. What a draw gives
is a `Trial`; the functions here turn trials into a table, a figure and an answer.
"""

from collections.abc import Iterable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from invariance.companion.files import read_json
from invariance.companion.notebook.run import Run
from invariance.companion.notebook.style import look
from invariance.companion.paths import Paths
from invariance.evaluation.means import Score, mean_se
from invariance.evaluation.paired import best_method
from invariance.evaluation.trials import Trial

__all__ = ["answers", "curves", "saved", "scores", "show"]

Trials = Mapping[tuple[str, int], Sequence[Trial]]


def scores(trials: Trials) -> pd.DataFrame:
    """Means over draws, one row per method and number of samples; ``se`` is that of the score."""
    rows = []
    for (method, n), draws in trials.items():
        values = np.array(draws, dtype=float)
        score = Score(*mean_se(values[:, 0]))
        rows.append(
            {
                "method": method,
                "n": n,
                "score": score.mean,
                "se": score.se,
                "discrepancy": values[:, 1].mean(),
                "fit_s": values[:, 2].mean(),
                "predict_s": values[:, 3].mean(),
                "peak_mb": np.nanmax(values[:, 4]),
            }
        )
    return pd.DataFrame(rows)


def answers(trials: Trials, higher_is_better: bool) -> pd.DataFrame:
    """Which method to take, for every number of samples, as `best_method` has it.

    Parameters
    ----------
    trials : mapping
        At least two draws of each method and number of samples.
    higher_is_better : bool
        Scores are accuracies in per cent; otherwise they are risks.

    Returns
    -------
    DataFrame
        ``n``, ``best``, ``score``, ``se``, ``level`` (others level with the best, separated by
        commas) and ``quickest``.

    Examples
    --------
    >>> from invariance.evaluation import Trial
    >>> slow, fast = [Trial(s, 0, 9, 1, 0) for s in (3, 5)], [Trial(s, 0, 1, 1, 0) for s in (2, 5)]
    >>> answers({("slow", 10): slow, ("fast", 10): fast}, higher_is_better=True).quickest[0]
    'fast'
    """
    rows = []
    for n in sorted({n for _, n in trials}):
        found = {method: draws for (method, size), draws in trials.items() if size == n}
        answer = best_method(found, higher_is_better=higher_is_better)
        rows.append(
            {
                "n": n,
                "best": answer.best,
                "score": answer.score.mean,
                "se": answer.score.se,
                "level": ", ".join(answer.level),
                "quickest": answer.quickest,
            }
        )
    return pd.DataFrame(rows)


def curves(
    table: pd.DataFrame,
    names: Mapping[str, str],
    score: str,
    discrepancy: str,
    log: bool = False,
) -> Figure:
    """Score, discrepancy, times and memory against the number of samples.

    Parameters
    ----------
    table : DataFrame
        From `scores`.
    names : mapping
        Name for the legend of each method, which is also its name in
        `invariance.companion.notebook.style`.
    score, discrepancy : str
        Labels of the first two vertical axes.
    log : bool
        Whether these two are logarithmic. Exact zeros are then drawn at 1e-17, where rounding
        begins.
    """
    panels = {
        "score": score,
        "discrepancy": discrepancy,
        "fit_s": "fit (CPU seconds)",
        "predict_s": "predict the test points (CPU seconds)",
        "peak_mb": "peak memory (MiB)",
    }
    sizes = sorted(table["n"].unique())
    dashed = _second_of_a_colour(names)
    figure, axes = plt.subplots(2, 3, figsize=(12, 7.2))
    flat = axes.ravel()
    for axis, (column, label) in zip(flat, panels.items(), strict=False):
        for method in names:
            rows = table[table["method"] == method]
            values = rows[column].to_numpy()
            if column == "discrepancy" and log:
                values = np.maximum(values, 1e-17)
            errors = 2 * rows["se"].to_numpy() if column == "score" else None
            axis.errorbar(
                rows["n"],
                values,
                errors,
                label=names[method],
                linestyle="--" if method in dashed else "-",
                **look(method)._asdict(),
            )
        axis.set(xscale="log", xlabel="training samples", ylabel=label)
        if log or column not in ("score", "discrepancy"):
            axis.set_yscale("log")
        axis.set_xticks(sizes, [f"{n:,}" for n in sizes])
        axis.minorticks_off()
    flat[-1].axis("off")
    flat[-1].legend(*flat[0].get_legend_handles_labels(), loc="center")
    return figure


def _second_of_a_colour(methods: Iterable[str]) -> set[str]:
    """Methods whose colour an earlier one has: papers share hues, and here they meet."""
    seen: set[str] = set()
    dashed = set()
    for method in methods:
        colour = look(method).color
        if colour in seen:
            dashed.add(method)
        seen.add(colour)
    return dashed


def show(
    run: Run,
    trials: Trials,
    names: Mapping[str, str],
    *,
    score: str,
    discrepancy: str,
    higher_is_better: bool,
    alt: str,
) -> pd.DataFrame:
    """Emit the tables ``scores`` and ``answers`` and the figure ``curves``.

    Parameters
    ----------
    run : Run
    trials : mapping
        As many draws of every method and number of samples.
    names : mapping
        As for `curves`.
    score, discrepancy : str
        What the trials measured, for axes and captions.
    higher_is_better : bool
        As for `answers`. Risks are drawn on logarithmic axes, and so are their discrepancies.
    alt : str
        What is to be seen in the panels, which describe themselves.

    Returns
    -------
    DataFrame
        From `scores`.
    """
    table, log = scores(trials), not higher_is_better
    means = f"Means over {len(next(iter(trials.values())))} draws"
    run.table(
        table,
        "scores",
        caption=(
            f"{means}: {score} with its standard error, {discrepancy}, CPU seconds; peak MiB."
        ),
    )
    panels = f"{score}, {discrepancy}, time to fit, time to predict and peak memory"
    run.figure(
        curves(table, names, score, discrepancy, log),
        "curves",
        alt="Five panels against the number of training samples: "
        f"{panels} of {len(names)} methods. {alt}",
        caption=f"{means}; two standard errors on the left of the upper row."
        + r" Discrepancies below $10^{-17}$ are drawn there." * log,
    )
    run.table(
        answers(trials, higher_is_better),
        "answers",
        caption=(
            "For each number of training samples the best method, those level with it "
            "and the quickest."
        ),
    )
    return table


def saved(notebook: str, table: str, profile: str) -> tuple[pd.DataFrame, dict] | None:
    """A table that another notebook has saved, and its ``results.json``; None where there is none.

    The published results of the last full-scale run come first, then those of this checkout's
    own run in `profile`.
    """
    paths = Paths.find()
    for folder in (paths.published(notebook), paths.output(notebook, profile)):
        results = read_json(folder / "results.json")
        if results is not None and (folder / f"{table}.csv").is_file():
            return pd.read_csv(folder / f"{table}.csv", keep_default_na=False), results
    return None
