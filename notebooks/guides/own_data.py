# ---
# jupyter:
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
# The file here is a table of recorded waveforms, one per row, that a cell writes into a temporary
# folder. To go on with your own table, change two cells: the one that reads (`path`, and which
# column is the label) and the one that names the group. Comments on the results refer to the
# example data.

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

from invariance.companion import Run, mean_se, panel, shades
from invariance.features import GroupCDF, OrbitFourier, median_gamma
from invariance.kernels import Average, BestFit, Gaussian, gram_report
from invariance.linear import RLSClassifier

run = Run("guides/own_data", profile=profile, seed=seed, n_train=n_train)
WAVEFORMS, SPLITS = (700, 4) if run.quick else (2000, 50)

# %% [markdown]
# ## 1. Rows, and what moves them
#
# A machine is recorded for one turn of its shaft, 48 samples. The recorder starts whenever somebody
# presses the button, so every waveform has a random phase. Three conditions are to be told apart.


# %%
def record(n_waveforms, rng, n_samples=48):
    """Waveforms of three conditions at random phases, with noise."""
    turn = 2 * np.pi * np.arange(n_samples) / n_samples
    others = (np.sin(2 * turn), np.cos(2 * turn), np.sin(3 * turn))
    shapes = np.stack([np.sin(turn) + 0.5 * other for other in others])
    condition = rng.integers(3, size=n_waveforms)
    starts = rng.integers(n_samples, size=n_waveforms)
    clean = np.stack([np.roll(shapes[c], s) for c, s in zip(condition, starts, strict=True)])
    return clean + 0.5 * rng.standard_normal(clean.shape), condition


folder = tempfile.TemporaryDirectory()  # goes away with the notebook
example = Path(folder.name) / "waveforms.csv"
waveforms, condition = record(WAVEFORMS, np.random.default_rng(seed))
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
# Scale all coordinates by one number (below: the median distance sets the bandwidth, which does the
# same), and not each by its own: the last section says why.
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
from invariance.groups import CyclicShifts

group = CyclicShifts(X.shape[1])
print(f"{group!r}: {group.order} elements, unitary: {group.unitary}")

# %% [markdown]
# ## 3. Kernel or features?
#
# Up to a few thousand points: a kernel, in `SVC`, `KernelRidge` or a Gaussian process. `Average`
# with its default `side` has no negative eigenvalues. `BestFit` looks for the best alignment, is
# often better with few samples, and may be indefinite. Beyond: features, whose cost grows with $n$ and
# not $n^2$, and any linear model behind them. All of them are drop-in replacements:

# %%
gamma = median_gamma(X, random_state=seed)
base = Gaussian(gamma)
pooled = GroupCDF(group, n_components=100, n_bins=10, s="data", random_state=seed)
waves = OrbitFourier(group, n_components=200, gamma=gamma, random_state=seed)
MODELS = {
    "SVC, Gaussian kernel": ("raw", SVC(C=1e3, kernel=base)),
    "SVC, Average": ("average-fit", SVC(C=1e3, kernel=Average(base, group))),
    "SVC, BestFit": ("best-fit", SVC(C=1e3, kernel=BestFit(base, group))),
    "GroupCDF + least squares": ("cdf", make_pipeline(pooled, RLSClassifier())),
    "OrbitFourier + least squares": ("lgika-rff", make_pipeline(waves, RLSClassifier())),
}

# %% [markdown]
# ## 4. Did it help?
#
# The same splits for every model: `n_train` rows for training, at most 250 others for testing.

# %%
sizes, n_test = [n_train // 4, n_train // 2, n_train], min(250, len(y) - n_train)
splits = StratifiedShuffleSplit(SPLITS, train_size=n_train, test_size=n_test, random_state=seed)
scores = {name: np.empty((SPLITS, len(sizes))) for name in MODELS}
for split, (a, b) in enumerate(splits.split(X, y)):
    for name, (_, model) in MODELS.items():
        fitted = (model.fit(X[a[:n]], y[a[:n]]) for n in sizes)
        scores[name][split] = [100 * one.score(X[b], y[b]) for one in fitted]

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(10.4, 4))
levels = np.ptp(X[:50]) * np.arange(len(classes))[::-1]
for c, level, shade in zip(classes, levels, shades("raw", len(classes)), strict=True):
    left.plot(X[y == c][:2].T + level, color=shade, lw=1)
left.set_yticks(levels, classes)
left.set(title=f"two rows of each {label}", xlabel="column", ylabel=label)
left.grid(False)
last = {name: values[:, -1].mean() for name, values in scores.items()}
best, plain = max(last, key=last.get), next(iter(last))
curves = {name: (MODELS[name][0], values) for name, values in scores.items()}
largest = [100 * counts.max() / len(y)] * len(sizes)
panel(
    right,
    sizes,
    curves | {"always the largest class": ("bound", largest, {"ls": ":"})},
    ends=0.6,
    xlabel="labelled rows",
    ylabel="test accuracy (%)",
    title=f"{best}: {last[best]:.0f} % right, plain kernel {last[plain]:.0f} %",
)
run.figure(fig, "waveforms", caption=f"Error bars: two standard errors over {SPLITS} splits.")

# %% [markdown]
# **Is it really invariant?** Move the test rows by random elements of the group: the decisions of
# invariant models may change by rounding only.

# %%
train, test = next(splits.split(X, y))
moved = group.act(group.sample(4, seed), X[test])


def change(model):
    """Share of predicted classes that change, and the largest change of a decision value."""
    before, values = model.predict(X[test]), model.decision_function(X[test])
    share = np.mean([model.predict(Z) != before for Z in moved])
    return share, max(np.abs(model.decision_function(Z) - values).max() for Z in moved)


found = []
for name, (_, model) in MODELS.items():
    share, largest = change(model.fit(X[train], y[train]))
    row = {"model": name, "accuracy (%)": f"{mean_se(scores[name][:, -1]):.1f}"}
    row |= {"classes changed (%)": f"{100 * share:.1f}"}
    found.append(row | {"largest change of a decision value": f"{largest:.1e}"})
run.table(
    found,
    "models",
    caption=f"With {n_train} labelled rows. Accuracy: mean and standard error. Changes: under "
    f"{len(moved)} random elements of the group.",
)

# %% [markdown]
# **Is the kernel positive definite?** A support vector machine needs that, and `BestFit` need not
# be; `gram_report` says what it found and what to do about it.

# %%
print(gram_report(BestFit(base, group)(X[train])))

# %% [markdown]
# **And a trap:** `StandardScaler` gives each *coordinate* its own scale, and a shift moves a
# coordinate to a place with another scale. Here all have nearly one; the change shows it still.

# %%
average = MODELS["SVC, Average"][1]
scaled = make_pipeline(StandardScaler(), average).fit(X[train], y[train])
for words, model in {"behind a StandardScaler": scaled, "without": average}.items():
    score = 100 * model.fit(X[train], y[train]).score(X[test], y[test])
    print(f"{words}: accuracy {score:.1f} %, largest change {change(model)[1]:.1e}")

# %% [markdown]
# Next: choose the group, the bandwidth and the penalty by cross-validation, all at once, in
# `guides/model_selection`.
