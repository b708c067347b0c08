# ---
# jupyter:
#   invariance:
#     reads: [compare/digits, compare/rotated_digits, compare/molecules, compare/torus,
#       compare/sphere]
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which one when
#
# *The answers of the five comparisons, side by side.*
#
# Four papers, four ways to tell a learner what does not matter: average over the group, pool
# features over orbits, take the best fit, or work with invariant functions alone. Which one
# should one take? The notebooks beside this one put all of them to five tasks by one protocol.
# This one only collects what they measured: it reads their tables, those of the last run at full
# scale where there is one, and ends with a table that says which to take. It says so where a
# comparison has not been run.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from invariance.companion import Run
from invariance.companion.notebook.comparison import saved

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
    tables = {name: saved(f"compare/{task}", name, profile) for name in ("scores", "answers")}
    if None in tables.values():
        sources.append({"comparison": task, "table": f"none yet: invariance run compare/{task}"})
        continue
    results = tables["scores"][1]
    found[task] = tables["scores"][0], tables["answers"][0]
    sources.append(
        {
            "comparison": task,
            "table": f"{results['profile']} profile",
            "seed": results["seed"],
            "code": results["provenance"]["code"],
        }
    )
run.table(sources, "sources", caption="Where the numbers come from.")

# %% [markdown]
# ## How far from the best?
#
# For each task and number of samples the error of every method as a multiple of the smallest one.
# One is the best; two is twice its error. An empty field: the method does not apply there, and
# its notebook says why.

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


def errors(task):
    """Errors by method (rows) and number of samples (columns)."""
    table = found[task][0]
    table = table.assign(method=table["method"].map(PUBLIC))
    wide = table.pivot(index="method", columns="n", values="score").reindex(list(METHODS))
    return 100 - wide if task in ACCURACIES else wide


if found:
    fig, axes = plt.subplots(
        1, len(found), figsize=(2.6 + 2.3 * len(found), 6.4), sharey=True, squeeze=False
    )
    for axis, task in zip(axes[0], found, strict=True):
        wide = errors(task)
        ratio = wide / wide.min()
        image = axis.imshow(np.log2(ratio), cmap="viridis_r", vmin=0, vmax=4, aspect="auto")
        for (i, j), value in np.ndenumerate(ratio.to_numpy()):
            if np.isfinite(value):
                dark = np.log2(value) > 2
                text = "1" if value == 1 else f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
                axis.text(
                    j,
                    i,
                    text,
                    ha="center",
                    va="center",
                    fontsize=7.5,
                    color="white" if dark else "black",
                    fontweight="bold" if value == 1 else "normal",
                )
        axis.set(
            xticks=range(wide.shape[1]),
            title="\n".join(TASKS[task].split(", ")),
            xlabel="training samples",
        )
        axis.set_xticklabels([f"{n:,}" for n in wide.columns], fontsize=8)
        axis.title.set_fontsize(8.5)
        axis.grid(False)
    axes[0, 0].set_yticks(range(len(METHODS)), list(METHODS), fontsize=8.5)
    bar = fig.colorbar(
        image, ax=axes[0], shrink=0.6, label="error as a multiple of the best", extend="max"
    )
    bar.set_ticks(range(5), labels=[f"{2**k}" for k in range(5)])
    wins = {name for task in found for name in errors(task).idxmin().dropna()}
    fig.suptitle(f"{len(wins)} different methods are best somewhere", fontsize=10)
    run.figure(
        fig,
        "errors",
        alt="A map of errors as multiples of the best error: methods in rows, in columns the "
        "tasks and numbers of samples. No row is best throughout; the plain kernel is best "
        "nowhere.",
        caption="Bold: the best. The figures with error bars, times and memory are those of the "
        "five notebooks.",
    )

# %% [markdown]
# ## Pairs
#
# Questions that a reader may have, as ratios of errors: below one, the first of the two is better.
# With the fewest samples, then with the most.

# %%
BASIS = ("averaged kernel, whole group", "averaged kernel, sampled or local")
PAIRS = {
    "use the symmetry at all? best method / plain kernel": (list(METHODS), ["plain kernel"]),
    "augment, or build it in? augmentation / best method": (["augmentation"], list(METHODS)),
    "best fit / averaged kernel": (["best fit (Liu et al.)"], BASIS),
    "explicit features or the kernel? orbit Nystrom / averaged kernel": (
        ["orbit Nystrom (Raj et al.)"],
        BASIS,
    ),
    "histograms or cosines? CDF pooling / orbit random Fourier": (
        ["CDF pooling (Mroueh et al.)"],
        ["orbit random Fourier (Raj et al.)"],
    ),
    "local or whole group? local / Haar": (BASIS[1:], BASIS[:1]),
    "sort or average? canonical form / averaged kernel": (["canonical form (sorted)"], BASIS),
    "spectral averaging: ridge / published mean": (
        ["spectral averaging, ridge"],
        ["spectral averaging (Soleymani et al.)"],
    ),
    "spectral averaging, ridge / best fit": (
        ["spectral averaging, ridge"],
        ["best fit (Liu et al.)"],
    ),
}
rows = []
for question, (ours, theirs) in PAIRS.items():
    row = {"question": question}
    for task in found:
        wide = errors(task)
        ratio = wide.loc[list(ours)].min() / wide.loc[list(theirs)].min()
        shown = ratio.notna().all()
        row[TASKS[task]] = f"{ratio.iloc[0]:.2f}, {ratio.iloc[-1]:.2f}" if shown else ""
    rows.append(row)
run.table(
    pd.DataFrame(rows),
    "pairs",
    caption="Ratios of errors with the fewest and with the most samples. Where a method comes in "
    "several forms, the best of them.",
)

# %% [markdown]
# ## How to choose
#
# What follows from how the methods are made, and the measured ratio behind it: from the table
# above, at full scale, with the fewest and with the most samples.
#
# - **Is there a symmetry?** Use it, and build it in. With the most samples the best method has
#   0.03 to 0.34 of the plain kernel's error; augmentation has 1.8 to 14 times that of the best.
# - **Can the group be listed, and are samples few?** Then the best fit: with the fewest samples
#   it has 0.62 to 1.03 of the averaged kernel's error. With more of them the average takes over:
#   with the most samples the best fit has 1.1 to 3.6 times its error, except on the sphere.
#   Both cost the order of the group times the square of the number of samples, unless the group has
#   structure: shifts go by Fourier transforms, rotations by angular frequencies.
# - **Does the group consist of all permutations of the *coordinates*?** Then the best fit is the
#   plain kernel of the sorted coordinates: for the price of sorting, invariant to rounding, 0.24
#   of the sampled average's error on the sphere. This is a theorem about coordinates and inner
#   products, and holds for nothing else.
# - **Is there some other canonical form?** It is cheap, and a start. Atoms sorted by the norms of
#   their rows have 1.28 and 1.29 times the error of the average over several orders near the
#   sorted one. Such a form jumps where two norms cross, and where they tie the numbering decides,
#   as the page on molecules shows.
# - **Are there many samples?** Explicit features cost the number of samples only once, and a
#   linear learner does the rest. Orbit Nystrom ends at 0.34 to 1.43 times the averaged kernel's
#   error. Take fewer landmarks than points: `compare/sphere` shows why.
# - **Histograms or cosines?** Histograms where templates are windows of an image (0.65 of the
#   cosines' error on the digits that shift), cosines elsewhere (histograms have 1.1 to 2.6 times
#   their error).
# - **Is the group too large to list, and the domain a manifold with known eigenfunctions?**
#   Spectral averaging needs the generators only and is invariant to the last digit. Take ridge
#   regression in place of the published mean: it has 0.05 to 0.07 of its error. It is the best on
#   the sphere from 100 samples on, and never on the torus, whose 64 flips can be listed.
# - **Is the symmetry only approximate?** A local average, with leave-one-out to say how local, is
#   the safe choice; on digits at any angle it is level with the whole circle (1.01, 0.99). Where
#   the whole group does harm: `guides/when_invariance_hurts`.

# %% [markdown]
# ## Which one when
#
# For every task and number of samples: the fastest method that is level with the best (within two
# standard errors of the difference, paired by draw, and an error at most a quarter larger), its
# error and its cost. Below a tenth of a CPU second all count as
# equally fast, and the best of them is taken. Each line rests on the figure `curves` of the
# comparison in its first column.

# %%
UNITS = {
    "digits": "%",
    "rotated_digits": "%",
    "molecules": "kcal/mol",
    "torus": "10⁻³",
    "sphere": "10⁻³",
}


def spoken(task, value, se):
    """An error with its standard error, to two digits of the latter."""
    scale = 1000 if UNITS[task] == "10⁻³" else 1
    digits = max(0, 1 - int(f"{scale * se:.1e}".partition("e")[2])) if se > 0 else 2
    return f"{scale * value:.{digits}f} ± {scale * se:.{digits}f}"


def short(method):
    """Name of a method without its authors."""
    return PUBLIC[method].partition(" (")[0]


rows = []
for task in TASKS:
    if task not in found:
        rows.append({"task, figure": f"compare/{task}", "samples": "", "take": "not measured yet"})
        continue
    scores, answers = found[task]
    scores = scores.assign(
        error=100 - scores["score"] if task in ACCURACIES else scores["score"]
    ).set_index(["method", "n"])
    plain = METHODS["plain kernel"]
    for answer in answers.itertuples():
        taken = scores.loc[answer.quickest, answer.n]
        (base,) = [scores.loc[m, answer.n] for m in plain if (m, answer.n) in scores.index]
        changes = (
            f"{100 * taken.discrepancy:.0f} %" if task in ACCURACIES else f"{taken.discrepancy:.0e}"
        )
        rows.append(
            {
                "task, figure": f"compare/{task}, curves",
                "samples": f"{answer.n:,}",
                "take": short(answer.quickest),
                "unit": UNITS[task],
                "error": spoken(task, taken.error, taken.se),
                "plain kernel": spoken(task, base.error, base.se),
                "discrepancy": changes,
                "CPU seconds": f"{taken.fit_s + taken.predict_s:.2g}",
                "MiB": f"{taken.peak_mb:.0f}" if taken.peak_mb >= 1 else "< 1",
                "level with it": "; ".join(
                    short(m)
                    for m in [answer.best, *answer.level.split(", ")]
                    if m and m != answer.quickest
                ),
            }
        )
run.table(
    pd.DataFrame(rows).fillna(""),
    "answer",
    caption=(
        "Errors with their standard error: share of test images in %, mean absolute error in "
        "kcal/mol, mean squared error in thousandths. Discrepancy: share of classes that change "
        "under a transformation, or the largest change relative to the largest value. Time to fit "
        "(every choice included) and to predict; peak memory."
    ),
)
