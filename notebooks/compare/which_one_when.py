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
from invariance.companion.run.comparison import saved
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


# %%
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
    wins = [name for task in found for name in errors(task).idxmin().dropna()]
    often = {name: wins.count(name) for name in METHODS if name in wins}
    fig.suptitle(f"{len(often)} different methods are best somewhere", fontsize=10)
    run.figure(
        fig,
        "errors",
        alt="A map of errors as multiples of the best error: methods in rows, in columns the "
        "tasks and numbers of samples. How often each method is best: "
        + ", ".join(f"{name} {count}" for name, count in often.items())
        + f"; the plain kernel {wins.count('plain kernel')} times.",
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


def ratios(question):
    """Errors of the first of a pair over those of the second, by task: fewest samples, most."""
    ours, theirs = PAIRS[question]
    compared = {}
    for task in found:
        wide = errors(task)
        ratio = wide.loc[list(ours)].min() / wide.loc[list(theirs)].min()
        if ratio.notna().all():
            compared[task] = ratio.iloc[0], ratio.iloc[-1]
    return compared


rows = [
    {"question": question}
    | {
        TASKS[task]: "{:.2f}, {:.2f}".format(*ratios(question)[task])
        if task in ratios(question)
        else ""
        for task in found
    }
    for question in PAIRS
]
run.table(
    pd.DataFrame(rows),
    "pairs",
    caption="Ratios of errors with the fewest and with the most samples. Where a method comes in "
    "several forms, the best of them.",
)

# %% [markdown]
# ## How to choose
#
# What follows from how the methods are made, and the measured ratio of errors behind it: the range
# over the tasks where both apply, from the table above.


# %%
def spread(question, most=True):
    """The range of a question's ratios with the most samples, or with the fewest, in words."""
    found_here = [pair[most] for pair in ratios(question).values()]
    if not found_here:
        return "not measured yet"
    low, high = min(found_here), max(found_here)
    return f"{low:.2f} to {high:.2f}" if len(found_here) > 1 else f"{low:.2f}"


SYMMETRY, AUGMENT, FIT, FEATURES, HISTOGRAMS, LOCAL, SORTING, RIDGE, RIDGE_OR_FIT = PAIRS
run.say(
    "**Is there a symmetry?** With the most samples the best method has {best} of the plain "
    "kernel's error. **Augment, or build it in?** Augmentation makes {copies} times its errors.",
    best=spread(SYMMETRY),
    copies=spread(AUGMENT),
)
run.say(
    "**Can the group be listed?** Then there is the best fit, with {few} times the averaged "
    "kernel's error with the fewest samples and {many} times with the most. Both cost the order of "
    "the group times the square of the number of samples, unless the group has structure: shifts "
    "go by Fourier transforms, rotations by angular frequencies.",
    few=spread(FIT, most=False),
    many=spread(FIT),
)
run.say(
    "**Does the group consist of all permutations of the coordinates?** Then the best fit is the "
    "plain kernel of the sorted coordinates, for the price of sorting and invariant to rounding; "
    "on the sphere it has {sphere} of the sampled average's error with the most samples. This is a "
    "theorem about coordinates and inner products, and holds for nothing else.",
    sphere=f"{ratios(FIT)['sphere'][1]:.2f}" if "sphere" in found else "(not measured yet)",
)

# %%
run.say(
    "**Is there some other canonical form?** It is cheap, and a start. Atoms sorted by the norms "
    "of their rows have {few} times the error of the average over several orders near the sorted "
    "one with the fewest samples, {many} times with the most. Such a form jumps where two norms "
    "cross, and where they tie the numbering decides.",
    few=spread(SORTING, most=False),
    many=spread(SORTING),
)
run.say(
    "**Are there many samples?** Explicit features cost the number of samples only once, and a "
    "linear learner does the rest. Orbit Nystrom ends at {nystrom} times the averaged kernel's "
    "error. Take fewer landmarks than points: `compare/sphere` shows why. **Histograms or "
    "cosines?** Where templates are windows of an image histograms have {windows} of the cosines' "
    "error, elsewhere {elsewhere}.",
    nystrom=spread(FEATURES),
    windows=f"{ratios(HISTOGRAMS)['digits'][1]:.2f}" if "digits" in found else "(not measured yet)",
    elsewhere=", ".join(f"{r[1]:.2f}" for t, r in ratios(HISTOGRAMS).items() if t != "digits"),
)
run.say(
    "**Is the group too large to list, and the domain a manifold with known eigenfunctions?** "
    "Spectral averaging needs the generators only and is invariant to the last digit. Ridge "
    "regression among the invariant functions has {ridge} of the published mean's error, and {fit} "
    "times that of the best fit.",
    ridge=spread(RIDGE),
    fit=spread(RIDGE_OR_FIT),
)
run.say(
    "**Is the symmetry only approximate?** A local average, with leave-one-out to say how local, "
    "has {local} times the error of the average over the whole group with the most samples, where "
    "the symmetry is exact. Where the whole group does harm: `guides/when_invariance_hurts`.",
    local=spread(LOCAL),
)

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


def unit(task):
    """What errors are multiplied by."""
    return 1000 if UNITS[task] == "10⁻³" else 1


# %%
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
                "error": with_error(unit(task) * taken.error, unit(task) * taken.se),
                "plain kernel": with_error(unit(task) * base.error, unit(task) * base.se),
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
