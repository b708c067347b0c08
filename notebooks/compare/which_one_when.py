# ---
# jupyter:
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
        "best throughout; the plain kernel is several times worse than the best method on every task.",
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
# ## In words
#
# - **Is there a canonical form?** If points can be sorted, try that first: where the group is all permutations the best fit *is* the
#   sorted form, it costs nothing, and it is exactly invariant.
# - **Can the group be listed?** Then average the kernel, or take the best fit; with very few samples the best fit is the stronger, and
#   with more the two meet. Both grow with the order of the group and the square of the number of samples.
# - **Are there many samples?** Explicit features (orbit Nystrom, then random Fourier, then histograms) come close to the exact average at a
#   cost that grows with the number of samples only.
# - **Is the group too large to list, and the domain a manifold with known eigenfunctions?** Spectral averaging needs the
#   generators only, is invariant to the last digit, and, with ridge regression in place of the published mean, accurate.
# - **Is the symmetry only approximate?** Average locally; but a symmetry that holds is worth using whole.
#
# The first table says how these words are borne out by the numbers of the run at hand; where they disagree, trust the numbers.
