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
# # Your own data
#
# From a file on disk to an invariant model, in the order in which the questions come up:
#
# 1. What is a *row*, and what moves it without changing its meaning?
# 2. Which group of the package is that?
# 3. Kernel, feature map, or both?
# 4. Did it help, by how much, and is it really invariant?
#
# The file here is a table of recorded waveforms, one per row. A cell writes it into a temporary
# folder, so that the guide needs no download. To go on with your own table, change two cells: the
# one that reads (`path`, and which column is the label) and the one that names the group. The
# others take the numbers of rows, columns and classes from what was read. Comments on the results
# refer to the example data.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
n_train: int = 60  # labelled waveforms

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from invariance.companion import Run, colour, label_ends, marker, mean_se, shades
from invariance.features import GroupCDF, OrbitFourier, median_gamma
from invariance.groups import CyclicShifts
from invariance.kernels import Average, BestFit, Gaussian, gram_report
from invariance.linear import RLSClassifier

run = Run("guides/own_data", profile=profile, seed=seed, n_train=n_train)

# %% tags=["settings"]
# all that differs between the two profiles
SETTINGS = {
    "quick": {"waveforms": 700, "splits": 4},
    "full": {"waveforms": 2000, "splits": 50},
}[profile]


# %% [markdown]
# ## 1. Rows, and what moves them
#
# A machine is recorded for one turn of its shaft, 48 samples per turn. The recorder starts whenever
# somebody presses the button, so every waveform has a random phase. Three conditions of the
# machine are to be told apart.


# %%
def record(n_waveforms, rng, n_samples=48):
    """Waveforms of three conditions at random phases, with noise."""
    turn = 2 * np.pi * np.arange(n_samples) / n_samples
    shapes = np.stack(
        [
            np.sin(turn) + 0.5 * np.sin(2 * turn),
            np.sin(turn) + 0.5 * np.cos(2 * turn),
            np.sin(turn) + 0.5 * np.sin(3 * turn),
        ]
    )
    condition = rng.integers(3, size=n_waveforms)
    starts = rng.integers(n_samples, size=n_waveforms)
    clean = np.stack([np.roll(shapes[c], s) for c, s in zip(condition, starts, strict=True)])
    return clean + 0.5 * rng.standard_normal(clean.shape), condition


folder = tempfile.TemporaryDirectory()  # goes away with the notebook
example = Path(folder.name) / "waveforms.csv"
waveforms, condition = record(SETTINGS["waveforms"], np.random.default_rng(seed))
pd.DataFrame(waveforms.round(4)).assign(condition=condition).to_csv(example, index=False)

# %% [markdown]
# The cell for your file: it only reads.

# %%
path, label = example, "condition"
table = pd.read_csv(path)
y = table.pop(label).to_numpy()
X = table.to_numpy(dtype=float)
classes, counts = np.unique(y, return_counts=True)
rows = dict(zip(classes.tolist(), counts.tolist(), strict=True))
print(f"X: {X.shape}, {X.dtype};  rows per class: {rows}")
assert np.isfinite(X).all(), "fill or drop missing values first"

# %% [markdown]
# **Every method takes an array of shape (n, d), one point per row.** Images may come as
# (n, height, width) where a group has a `shape`; flatten them with `X.reshape(len(X), -1)` for
# scikit-learn. Single precision suffices for large feature maps, and is many times faster there.
#
# A word on scaling: `StandardScaler` gives each *coordinate* its own scale, and a shift moves a
# coordinate to a place with another scale. That breaks the symmetry. Scale all coordinates by one
# number (below: the median distance sets the bandwidth, which does the same), or scale within
# what the group does not mix.
#
# ## 2. Which group?
#
# | your rows | what moves them | group |
# |---|---|---|
# | periodic signals, unknown phase | cyclic shifts | `CyclicShifts(d)` |
# | images, unknown position | shifts | `Translations((h, w), max_shift)`, `CyclicTranslations` |
# | images, unknown orientation | rotations | `Rotations((h, w))`; `CircleAction` is unitary |
# | sets of k vectors, in no order | permutations of blocks | `Permutations(k, block=...)` |
# | spectra or differences of unknown sign | sign flips | `SignFlips(d)` |
# | molecules as Coulomb matrices | permutations of atoms | `AtomPermutations` |
# | spoken words | pitch and speed | `PitchSpeed` |
# | anything else | one class | see `guides/own_group` |
#
# Several at once: `first.then(second)`. Only *nearly* symmetric: give the group a density, or take
# a part of it; see `guides/when_invariance_hurts`.

# %%
group = CyclicShifts(X.shape[1])
print(f"{group!r}: {group.order} elements, unitary: {group.unitary}")

# %% [markdown]
# ## 3. Kernel or features?
#
# Up to a few thousand points: a kernel, in `SVC`, `KernelRidge` or a Gaussian process. `Average`
# with its default `side` has no negative eigenvalues, whatever the transformations. (With
# `side="second"`, over transformations that form no group, it may; `guides/model_selection` has
# such a case.) `BestFit` looks for the best alignment, is often better with few samples, and may be
# indefinite. Beyond: features, whose cost grows with $n$ and not $n^2$, and any linear model behind
# them. All of them are drop-in replacements:

# %%
gamma = median_gamma(X, random_state=seed)
base = Gaussian(gamma)
models = {
    "raw": SVC(C=1e3, kernel=base),
    "average-fit": SVC(C=1e3, kernel=Average(base, group)),
    "best-fit": SVC(C=1e3, kernel=BestFit(base, group)),
    "cdf": make_pipeline(
        GroupCDF(group, n_components=100, n_bins=10, s="data", random_state=seed), RLSClassifier()
    ),
    "lgika-rff": make_pipeline(
        OrbitFourier(group, n_components=200, gamma=gamma, random_state=seed), RLSClassifier()
    ),
}
names = {
    "raw": "SVC, Gaussian kernel",
    "average-fit": "SVC, Average",
    "best-fit": "SVC, BestFit",
    "cdf": "GroupCDF + least squares",
    "lgika-rff": "OrbitFourier + least squares",
}

# %% [markdown]
# ## 4. Did it help?
#
# The same splits for every model, and a mean with its standard error over them. `n_train` rows are
# for training, at most 250 others for testing.

# %%
sizes = [n_train // 4, n_train // 2, n_train]
splits = StratifiedShuffleSplit(
    SETTINGS["splits"],
    train_size=n_train,
    test_size=min(250, len(y) - n_train),
    random_state=seed,
)
scores = {name: [] for name in models}
for train, test in splits.split(X, y):
    for name, model in models.items():
        scores[name].append(
            [100 * model.fit(X[train[:n]], y[train[:n]]).score(X[test], y[test]) for n in sizes]
        )

fig, (left, right) = plt.subplots(1, 2, figsize=(8.8, 3.8))
apart = np.ptp(X[:50])
levels = apart * np.arange(len(classes))[::-1]
for c, level, shade in zip(classes, levels, shades("raw", len(classes)), strict=True):
    left.plot(X[y == c][:2].T + level, color=shade, lw=1)
left.set(
    title=f"two rows of each {label}",
    xlabel="column",
    yticks=levels,
    yticklabels=classes,
    ylabel=label,
)
left.grid(False)
for name, values in scores.items():
    summary = [mean_se(column) for column in np.array(values).T]
    right.errorbar(
        sizes,
        [s.mean for s in summary],
        [2 * s.se for s in summary],
        color=colour(name),
        marker=marker(name),
        label=names[name],
    )
largest = [100 * counts.max() / len(y)] * len(sizes)
right.plot(sizes, largest, color=colour("bound"), ls=":", label="always the largest class")
last = {name: np.mean([row[-1] for row in values]) for name, values in scores.items()}
best = max(last, key=last.get)
right.set(
    xlabel="labelled rows",
    ylabel="test accuracy (%)",
    xticks=sizes,
    title=f"{last[best]:.0f} % right, plain kernel {next(iter(last.values())):.0f} %",
)
label_ends(right, apart=0.075)
run.figure(
    fig,
    "waveforms",
    alt=f"Left: two rows of each of {len(classes)} classes. Right: accuracy against the number of "
    f"labelled rows. With {n_train}: "
    + ", ".join(f"{names[name]} {value:.0f} %" for name, value in last.items())
    + ".",
    caption=f"Error bars: two standard errors over {splits.n_splits} splits.",
)

# %% [markdown]
# **Is it really invariant?** Move the test rows by random elements of the group and compare the
# decisions: the invariant models may change by rounding only.

# %%
train, test = next(splits.split(X, y))
moved = group.act(group.sample(4, seed), X[test])


def change(model):
    """Share of predicted classes that change, and the largest change of a decision value."""
    classes_before, before = model.predict(X[test]), model.decision_function(X[test])
    share = np.mean([model.predict(Z) != classes_before for Z in moved])
    return share, max(np.abs(model.decision_function(Z) - before).max() for Z in moved)


rows = []
for name, model in models.items():
    share, largest = change(model.fit(X[train], y[train]))
    mean = mean_se(np.array(scores[name])[:, -1])
    rows.append(
        {
            "model": names[name],
            "accuracy (%)": f"{mean.mean:.1f} ± {mean.se:.1f}",
            "classes changed (%)": f"{100 * share:.1f}",
            "largest change of a decision value": f"{largest:.1e}",
        }
    )
run.table(
    rows,
    "models",
    caption=f"With {n_train} labelled rows. Accuracy: mean and standard error. Changes: under "
    f"{len(moved)} random elements of the group.",
)

# %% [markdown]
# **Is the kernel positive definite?** A support vector machine needs a positive semi-definite
# Gram matrix. `Average`, with the default `side`, gives one by construction, `BestFit` need not;
# `gram_report` says what it found and what to do about it.

# %%
print(gram_report(BestFit(base, group)(X[train])))

# %% [markdown]
# **And the trap from above:** a `StandardScaler` in front breaks the invariance that the kernel was
# built for. Here all coordinates have nearly one scale, so accuracy hardly suffers; the change
# under a shift shows it.

# %%
scaled = make_pipeline(StandardScaler(), models["average-fit"]).fit(X[train], y[train])
print(
    f"behind a StandardScaler: accuracy {100 * scaled.score(X[test], y[test]):.1f} % (without: "
    f"{100 * models['average-fit'].score(X[test], y[test]):.1f} %)"
)
print(
    f"largest change of a decision value: {change(scaled)[1]:.1e} (without: "
    f"{change(models['average-fit'])[1]:.1e})"
)

# %% [markdown]
# Next: choose the group, the bandwidth and the penalty by cross-validation, all at once, in
# `guides/model_selection`.
