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
# # Which one when
#
# Four papers, four ways to tell a learner what does not matter: average over the group, pool
# features over orbits, take the best fit, or work with invariant functions alone. Which one
# should one take? The notebooks beside this one put all of them to five tasks by one protocol.
# This one collects what they measured (at full scale, where that was run), and ends with a table
# that says which to take.

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
TASKS = {
    "digits": "Digits, shifted and turned a little",
    "rotated_digits": "Digits at any angle",
    "molecules": "Molecules, atoms numbered at random",
    "torus": "Even function on the torus",
    "sphere": "Symmetric function on the sphere",
}
ACCURACIES = ("digits", "rotated_digits")
found, sources = {}, []
for task in TASKS:
    tables = [saved(f"compare/{task}", name, profile) for name in ("scores", "answers")]
    source = f"none yet: invariance run compare/{task}"
    if None not in tables:
        (scores, results), (answers, _) = tables
        found[task], source = (scores, answers), f"{results['profile']} profile"
    sources.append({"comparison": task, "table": source})
run.table(sources, "sources", caption="Where the numbers come from.")

# %% [markdown]
# ## How far from the best?
#
# For each task and number of samples the error of every method as a multiple of the smallest one.
# An empty field: the method does not apply there, and its notebook says why.

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
PUBLIC = {key: name for name, keys in METHODS.items() for key in keys}


# %%
def errors(task):
    """Errors by method (rows) and number of samples (columns)."""
    table = found[task][0]
    table = table.assign(method=table["method"].map(PUBLIC))
    wide = table.pivot(index="method", columns="n", values="score").reindex(list(METHODS))
    return 100 - wide if task in ACCURACIES else wide


def draw_map(axis, task):
    """Draw errors as multiples of the least, in numbers and colours."""
    wide = errors(task)
    ratio = wide / wide.min()
    axis.imshow(np.log2(ratio), cmap="viridis_r", vmin=0, vmax=4, aspect="auto")
    for (i, j), value in np.ndenumerate(ratio.to_numpy()):
        if np.isfinite(value):
            text = "1" if value == 1 else f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
            how = {"color": "white" if value > 4 else "black", "ha": "center", "va": "center"}
            how["fontweight"] = "bold" if value == 1 else "normal"
            axis.text(j, i, text, fontsize=8, **how)
    axis.set_xticks(range(wide.shape[1]), [f"{n:,}" for n in wide.columns], fontsize=7.5)
    axis.set(xlabel="training samples")
    axis.set_title(fill(TASKS[task], 16), fontsize=9)
    axis.grid(False)


if found:
    size = (2.5 + 1.55 * len(found), 6.4)
    fig, axes = plt.subplots(1, len(found), figsize=size, sharey=True, squeeze=False)
    for axis, task in zip(axes[0], found, strict=True):
        draw_map(axis, task)
    axes[0, 0].set_yticks(range(len(METHODS)), list(METHODS), fontsize=9)
    wins = [name for task in found for name in errors(task).idxmin().dropna()]
    often = {name: wins.count(name) for name in METHODS if name in wins}
    fig.suptitle(f"{len(often)} different methods are best somewhere")
    run.figure(
        fig,
        "errors",
        alt="A map of errors as multiples of the best error: methods in rows, in columns the "
        "tasks and numbers of samples. How often each method is best: "
        + ", ".join(f"{name} {count}" for name, count in often.items())
        + f"; the plain kernel {wins.count('plain kernel')} times.",
        caption="Error over the least error; bold: the best. The figures with error bars, times and "
        "memory are those of the five notebooks.",
    )

# %% [markdown]
# ## How to choose
#
# - **Can the group be listed?** Best fit and average cost its order times the square of the number
#   of samples, unless it has structure: shifts go by Fourier transforms, rotations by frequencies.
# - **All permutations of the coordinates?** The best fit is the plain kernel of the sorted ones.
# - **Some other canonical form?** It is cheap; it jumps where two norms cross or tie.
# - **Many samples?** Explicit features cost the number of samples only once, and a linear learner
#   does the rest. Take fewer landmarks than points: `compare/sphere` says why.
# - **Too large to list, on a manifold with known eigenfunctions?** Spectral averaging needs the
#   generators only and is invariant to the last digit.
# - **Only approximate?** A local average, with leave-one-out to say how local; where the whole group
#   does harm: `guides/when_invariance_hurts`.

# %% [markdown]
# ## Which one when
#
# For every task and number of samples: the fastest method that is level with the best (within two
# standard errors of the difference, paired by draw, and an error at most a quarter larger), its
# error and its cost. Below a tenth of a CPU second all count as equally fast, and the best of them
# is taken.

# %%
UNITS = dict.fromkeys(ACCURACIES, ("%", 1)) | {"molecules": ("kcal/mol", 1)}
UNITS |= dict.fromkeys(("torus", "sphere"), ("10⁻³", 1000))


def short(method):
    """Name of a method without its authors."""
    return PUBLIC[method].partition(" (")[0]


def line(task, answer):
    """What to take, and its error and cost beside the plain kernel's."""
    scores, (unit, times) = found[task][0].set_index(["method", "n"]), UNITS[task]
    score = scores["score"]
    error, n = times * (100 - score if task in ACCURACIES else score), answer.n
    (plain,) = [(m, n) for m in METHODS["plain kernel"] if (m, n) in scores.index]
    taken, key = scores.loc[answer.quickest, n], (answer.quickest, n)
    level = [answer.best, *answer.level.split(", ")]
    share = task in ACCURACIES
    return {
        "task, figure": f"compare/{task}, curves",
        "samples": f"{n:,}",
        "take": short(answer.quickest),
        "unit": unit,
        "error": with_error(error[key], times * taken.se),
        "plain kernel": with_error(error[plain], times * scores["se"][plain]),
        "discrepancy": f"{taken.discrepancy:.0%}" if share else f"{taken.discrepancy:.0e}",
        "CPU seconds": f"{taken.fit_s + taken.predict_s:.2g}",
        "MiB": f"{taken.peak_mb:.0f}" if taken.peak_mb >= 1 else "< 1",
        "level with it": "; ".join(short(m) for m in level if m and m != answer.quickest),
    }


rows = []
for task in TASKS:
    if task in found:
        rows += [line(task, answer) for answer in found[task][1].itertuples()]
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
