# ---
# jupyter:
#   invariance:
#     reads: [compare/digits, compare/rotated_digits, compare/molecules, compare/torus,
#       compare/sphere]
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Five tasks, four papers: which method when?
#
# Four papers have four ways to build an invariance into a learner: average over the group, pool
# features over orbits, take the best fit, or work with invariant functions alone. Which one should you
# choose? There is no single answer: a different method wins each task.
#
# The notebooks of this folder apply all of them to five tasks by one protocol. This notebook collects
# their measurements (of the full profile, if it was run), and ends with a table of recommendations.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from invariance.companion import Run, saved
from invariance.evaluation.means import with_error

run = Run("compare/which_one_when", profile=profile, seed=seed)

# %% tags=["settings"]
TASKS = {
    "digits": "Digits, shifted and turned a little",
    "rotated_digits": "Digits at any angle",
    "molecules": "Molecules, atoms numbered at random",
    "torus": "Even function on the torus",
    "sphere": "Symmetric function on the sphere",
}
ACCURACIES = ("digits", "rotated_digits")  # tasks whose scores are accuracies in per cent

# %%
scores = {}
answers = {}
sources = []
for task in TASKS:
    saved_scores = saved(f"compare/{task}", "scores", profile)
    saved_answers = saved(f"compare/{task}", "answers", profile)
    source = f"none yet: invariance run compare/{task}"
    if saved_scores is not None and saved_answers is not None:
        scores[task], results = saved_scores
        answers[task], _ = saved_answers
        source = f"{results['profile']} profile"
    sources.append({"comparison": task, "table": source})
run.table(sources, "sources", caption="Sources of the numbers.")

# %% [markdown]
# ## How far from the best?
#
# The figure has one map per task. Each number is the error of a method as a multiple of the smallest
# error with as many samples. A field is empty if the method does not apply to the task; the task's
# notebook gives the reason.

# %%
METHODS = {
    "plain kernel": ("raw", "krr"),
    "augmentation": ("augmentation",),
    "tangent distance": ("tangent-distance",),
    "scattering": ("scattering",),
    "locality": ("l",),
    "canonical form (sorted)": ("sorted",),
    "eigenvalues": ("definition",),
    "averaged kernel, sampled or local": ("local", "average-fit"),
    "averaged kernel, whole group": ("haar", "krr-average"),
    "CDF pooling (Mroueh et al.)": ("cdf",),
    "orbit random Fourier (Raj et al.)": ("lgika-rff",),
    "orbit Nystrom (Raj et al.)": ("lgika-nystrom",),
    "best fit (Liu et al.)": ("ti-ri", "best-fit"),
    "locality, best fit (Liu et al.)": ("l-ti-ri",),
    "spectral averaging (Soleymani et al.)": ("spec-avg",),
    "spectral averaging, ridge": ("spec-avg-ridge",),
}
PUBLIC_NAMES = {}
for name, keys in METHODS.items():
    for key in keys:
        PUBLIC_NAMES[key] = name


# %%
def errors(task):
    """Return errors by method (rows) and number of samples (columns)."""
    table = scores[task]
    table = table.assign(method=table["method"].map(PUBLIC_NAMES))
    wide = table.pivot(index="method", columns="n", values="score").reindex(list(METHODS))
    if task in ACCURACIES:
        return 100 - wide
    return wide


# %%
def ratio_text(ratio):
    """Return a multiple of the least error as it is printed in the map."""
    if ratio == 1:
        return "1"
    if ratio < 9.95:
        return f"{ratio:.1f}"
    return f"{ratio:.0f}"


# %%
def draw_map(axis, task):
    """Draw errors as multiples of the least error, in numbers and colours."""
    wide = errors(task)
    ratios = (wide / wide.min()).to_numpy()
    axis.imshow(np.log2(ratios), cmap="viridis_r", vmin=0, vmax=4, aspect="auto")
    for (i, j), ratio in np.ndenumerate(ratios):
        if np.isfinite(ratio):
            text = axis.text(j, i, ratio_text(ratio), fontsize=9, ha="center", va="center")
            text.set_color("white" if ratio > 4 else "black")
            text.set_fontweight("bold" if ratio == 1 else "normal")
    labels = [f"{n:,}" for n in wide.columns]
    axis.set_xticks(range(wide.shape[1]), labels, fontsize=9, rotation=90)
    axis.set_title(fill(TASKS[task], 16), fontsize=9)
    axis.grid(False)


# %%
if scores:
    size = (2.5 + 1.3 * len(scores), 7)
    fig, axes = plt.subplots(1, len(scores), figsize=size, sharey=True, squeeze=False)
    for axis, task in zip(axes[0], scores, strict=True):
        draw_map(axis, task)
    axes[0, 0].set_yticks(range(len(METHODS)), list(METHODS), fontsize=9)
    wins = []
    for task in scores:
        wins += list(errors(task).idxmin().dropna())
    counts = {name: wins.count(name) for name in METHODS if name in wins}
    counts_in_words = ", ".join(f"{name} {count}" for name, count in counts.items())
    fig.suptitle(f"{len(counts)} different methods are best somewhere")
    fig.supxlabel("training samples", fontsize=10)
    run.figure(
        fig,
        "errors",
        alt="A map of errors as multiples of the best error: methods in rows, in columns the "
        f"tasks and numbers of samples. How often each method is best: {counts_in_words}; the plain "
        f"kernel {wins.count('plain kernel')} times.",
        caption="Error divided by the least error; the best method has a bold 1. Figures with error "
        "bars, times and memory are in the five notebooks.",
    )

# %% [markdown]
# ## How to choose
#
# - **Can the group be listed?** The cost of best fit and average is its order times the square of the
#   number of samples, unless it has structure: shifts use Fourier transforms, rotations frequencies.
# - **All permutations of the coordinates?** The best fit is the plain kernel of sorted coordinates.
# - **Is there another canonical form?** It is cheap, but discontinuous at points with two equal norms.
# - **Many samples?** The cost of explicit features is linear in the number of samples, and a linear
#   learner does the rest. Take fewer landmarks than points: `compare/sphere` gives the reason.
# - **Too large to list, on a manifold with known eigenfunctions?** Spectral averaging needs the
#   generators only and is invariant to the last digit.
# - **Only approximate?** A local average, with leave-one-out to choose how local. If the whole group
#   does harm, see `guides/when_invariance_hurts`.

# %% [markdown]
# ## Recommendations
#
# For every task and number of samples the table has the fastest method that is level with the best
# (within two standard errors of the difference, paired by draw, and an error at most a quarter
# larger), its error and its cost. Below a tenth of a CPU second all methods count as equally fast, and
# the best of them is taken.

# %%
UNITS = {
    "digits": "%",
    "rotated_digits": "%",
    "molecules": "kcal/mol",
    "torus": "10⁻³",
    "sphere": "10⁻³",
}


def name_without_authors(method):
    return PUBLIC_NAMES[method].partition(" (")[0]


# %%
def error_in_units(task, row):
    """Return the error of a row of scores, with its standard error, in the task's unit."""
    error = row.score
    if task in ACCURACIES:
        error = 100 - error
    factor = 1
    if UNITS[task] == "10⁻³":
        factor = 1000
    return with_error(factor * error, factor * row.se)


def memory_text(mebibytes):
    if mebibytes < 1:
        return "< 1"
    return f"{mebibytes:.0f}"


# %% [markdown]
# A row of the table also has the plain kernel's error, for comparison.


# %%
def recommendation(task, answer):
    """Return the method to take, with its error and cost beside the plain kernel's error."""
    table = scores[task].set_index(["method", "n"])
    best = table.loc[answer.quickest, answer.n]
    (plain_key,) = [key for key in METHODS["plain kernel"] if (key, answer.n) in table.index]
    plain = table.loc[plain_key, answer.n]
    level = [answer.best, *answer.level.split(", ")]
    level = [name_without_authors(key) for key in level if key and key != answer.quickest]
    discrepancy = f"{best.discrepancy:.0e}"
    if task in ACCURACIES:
        discrepancy = f"{best.discrepancy:.0%}"
    return {
        "task, figure": f"compare/{task}, curves",
        "samples": f"{answer.n:,}",
        "take": name_without_authors(answer.quickest),
        "unit": UNITS[task],
        "error": error_in_units(task, best),
        "plain kernel": error_in_units(task, plain),
        "discrepancy": discrepancy,
        "CPU seconds": f"{best.fit_s + best.predict_s:.2g}",
        "MiB": memory_text(best.peak_mb),
        "level with it": "; ".join(level),
    }


# %%
rows = []
for task in TASKS:
    if task in scores:
        rows += [recommendation(task, answer) for answer in answers[task].itertuples()]
    else:
        rows.append({"task, figure": f"compare/{task}", "samples": "", "take": "not measured yet"})
run.table(
    pd.DataFrame(rows).fillna(""),
    "answer",
    caption="Errors with their standard error: share of test images in %, mean absolute error in "
    "kcal/mol, mean squared error in thousandths. Discrepancy: share of classes that change "
    "under a transformation, or the largest change relative to the largest value. Time to fit "
    "(every choice included) and to predict; peak memory.",
)
