# ---
# jupyter:
#   invariance:
#     reads: [compare/digits, compare/rotated_digits, compare/molecules, compare/torus, compare/sphere]
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
# Four papers, four ways to tell a learner what does not matter: average over the group, pool features over orbits, take
# the best fit, or work with invariant functions alone. Which one should one take? The notebooks beside this one put all of them to
# five tasks by one protocol. This one collects what they measured and adds nothing: it reads their tables, those of the last
# run at full scale where there is one, and says which. Where a comparison has not been run it says that.

# %% tags=["parameters"]
profile: str = "quick"      # quick or full
seed: int = 0

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from invariance.companion import Run
from invariance.companion.comparison import saved

run = Run("compare/which_one_when", profile=profile, seed=seed)
TASKS = {
    "digits": ("Digits, shifted and turned a little", "error (%)"),
    "rotated_digits": ("Digits at any angle", "error (%)"),
    "molecules": ("Molecules, atoms numbered at random", "kcal/mol"),
    "torus": ("Even function on the torus", "squared error"),
    "sphere": ("Symmetric function on the sphere", "squared error"),
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
    sources.append({
        "comparison": task, "table": f"{results['profile']} profile", "seed": results["seed"],
        "code": results["provenance"]["code"],
    })
run.table(sources, "sources", caption="Where the numbers come from.")

# %% [markdown]
# ## How far from the best?
#
# For each task and number of samples the error of every method as a multiple of the smallest one. One is the best; two is twice its
# error. An empty field: the method does not apply there, and its notebook says why.

# %%
METHODS = {
    "plain kernel": ("raw", "krr"), "augmentation": ("augmentation",),
    "tangent distance": ("tangent-distance",), "scattering": ("scattering",), "locality": ("l",),
    "canonical form (sorted)": ("sorted",), "eigenvalues": ("definition",),
    "averaged kernel, sampled or local": ("local", "average-fit"),
    "averaged kernel, whole group": ("haar", "krr-average"),
    "CDF pooling (Mroueh et al.)": ("cdf",),
    "orbit random Fourier (Raj et al.)": ("lgika-rff",),
    "orbit Nystrom (Raj et al.)": ("lgika-nystrom",),
    "best fit (Liu et al.)": ("ti-ri", "best-fit"), "locality, best fit (Liu et al.)": ("l-ti-ri",),
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
    fig, axes = plt.subplots(1, len(found), figsize=(2.6 + 2.3 * len(found), 6.4), sharey=True, squeeze=False)
    for axis, task in zip(axes[0], found, strict=True):
        wide = errors(task)
        ratio = wide / wide.min()
        image = axis.imshow(np.log2(ratio), cmap="viridis_r", vmin=0, vmax=4, aspect="auto")
        for (i, j), value in np.ndenumerate(ratio.to_numpy()):
            if np.isfinite(value):
                dark = np.log2(value) > 2
                text = "1" if value == 1 else f"{value:.1f}" if value < 9.95 else f"{value:.0f}"
                axis.text(j, i, text, ha="center", va="center", fontsize=7.5, color="white" if dark else "black",
                          fontweight="bold" if value == 1 else "normal")
        axis.set(xticks=range(wide.shape[1]), title="\n".join(TASKS[task][0].split(", ")), xlabel="training samples")
        axis.set_xticklabels([f"{n:,}" for n in wide.columns], fontsize=8)
        axis.title.set_fontsize(8.5)
        axis.grid(False)
    axes[0, 0].set_yticks(range(len(METHODS)), list(METHODS), fontsize=8.5)
    bar = fig.colorbar(image, ax=axes[0], shrink=0.6, label="error as a multiple of the best", extend="max")
    bar.set_ticks(range(5), labels=[f"{2**k}" for k in range(5)])
    run.figure(
        fig, "errors",
        alt="A map of errors as multiples of the best error: methods in rows, in columns the tasks and numbers of samples. No row is "
        "best throughout; the plain kernel is best nowhere.",
        caption="Bold: the best. The figures with error bars, times and memory are those of the five notebooks.",
    )

# %% [markdown]
# ## Which one
#
# With the fewest and with the most samples of each task: of the best method and of those that are level with it (within two standard
# errors of the difference, paired by draw, and an error at most a quarter larger) the quickest. Each line rests on the figure
# `curves` of the notebook that it names.

# %%
rows = []
for task, (title, unit) in TASKS.items():
    if task not in found:
        rows.append({"task": title, "samples": "", "take": "not measured yet", "its error": "", "level with it": "",
                     "error of the plain kernel": "", "backed by": f"compare/{task}"})
        continue
    wide, table = errors(task), found[task][1].set_index("n")
    for n in (wide.columns[0], wide.columns[-1]):
        answer = table.loc[n]
        level = [PUBLIC[m] for m in [answer["best"], *answer["level"].split(", ")] if m]
        take = PUBLIC[answer["quickest"]]
        rows.append({
            "task": title, "samples": f"{n:,}", "take": take, "its error": f"{wide.loc[take, n]:.3g} {unit}",
            "level with it": ", ".join(m for m in level if m != take),
            "error of the plain kernel": f"{wide.loc['plain kernel', n]:.3g} {unit}",
            "backed by": f"compare/{task}, curves",
        })
run.table(pd.DataFrame(rows), "answer", caption="Computed from the tables of the five comparisons.")

# %% [markdown]
# ## Pairs
#
# Questions that a reader will have, as ratios of errors: below one, the first of the two is the better. With the fewest samples, then
# with the most.

# %%
BASIS = ("averaged kernel, whole group", "averaged kernel, sampled or local")
PAIRS = {
    "use the symmetry at all? best method / plain kernel": (list(METHODS), ["plain kernel"]),
    "augment, or build it in? augmentation / best method": (["augmentation"], list(METHODS)),
    "best fit / averaged kernel": (["best fit (Liu et al.)"], BASIS),
    "explicit features or the kernel? orbit Nystrom / averaged kernel": (["orbit Nystrom (Raj et al.)"], BASIS),
    "histograms or cosines? CDF pooling / orbit random Fourier": (
        ["CDF pooling (Mroueh et al.)"], ["orbit random Fourier (Raj et al.)"]),
    "local or whole group? local / Haar": (BASIS[1:], BASIS[:1]),
    "sort or average? canonical form / averaged kernel": (["canonical form (sorted)"], BASIS),
    "spectral averaging: ridge / published mean": (
        ["spectral averaging, ridge"], ["spectral averaging (Soleymani et al.)"]),
    "spectral averaging, ridge / best fit": (["spectral averaging, ridge"], ["best fit (Liu et al.)"]),
}
rows = []
for question, (ours, theirs) in PAIRS.items():
    row = {"question": question}
    for task in found:
        wide = errors(task)
        ratio = wide.loc[list(ours)].min() / wide.loc[list(theirs)].min()
        shown = ratio.notna().all()
        row[TASKS[task][0]] = f"{ratio.iloc[0]:.2f}, {ratio.iloc[-1]:.2f}" if shown else ""
    rows.append(row)
run.table(pd.DataFrame(rows), "pairs", caption="Ratios of errors with the fewest and with the most samples. Where a method comes in several forms, the best of them.")

# %% [markdown]
# ## How to choose
#
# What follows from how the methods are made; the tables say what it is worth.
#
# - **Is there a canonical form?** If points can be sorted, try that first. Where the group is all permutations the best fit *is* the
#   sorted form; it costs nothing and is exactly invariant.
# - **Can the group be listed?** Then the averaged kernel and the best fit are at hand. Both cost the order of the group times the square of the number of
#   samples, unless the group has structure: shifts go by Fourier transforms, rotations by angular frequencies.
# - **Are there many samples?** Explicit features cost the number of samples only once, and a linear learner does the rest.
# - **Is the group too large to list, and the domain a manifold with known eigenfunctions?** Spectral averaging needs the generators
#   only and is invariant to the last digit; take ridge regression in place of the published mean.
# - **Is the symmetry only approximate?** Average locally, and let leave-one-out say how locally.
