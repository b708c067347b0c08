# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Your own data: from a symmetry to a first model
#
# This guide leads from a file on disk to an invariant model. The questions come up in this order:
#
# 1. What is a *row*, and which transformations do not change its meaning?
# 2. Which group of the package has these transformations?
# 3. Kernel, feature map, or both?
# 4. Did it help, by how much, and is the model really invariant?
#
# The example is a table of recorded waveforms, one per row, that a cell writes into a temporary
# folder. For your own table, change two cells: the one that reads the file (`path`, and the name of the
# label's column) and the one that names the group. Comments on the results refer to the
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

# %% tags=["settings"]
if run.quick:
    N_WAVEFORMS = 700
    N_SPLITS = 4
else:
    N_WAVEFORMS = 2000
    N_SPLITS = 50

# %% [markdown]
# ## 1. Rows, and the transformations that leave them the same
#
# A machine is recorded for one turn of its shaft, 48 samples. The recorder starts whenever somebody
# presses the button, so every waveform has a random phase. The task is to distinguish three conditions.


# %%
def record(n_waveforms, rng, n_samples=48):
    """Return waveforms of three conditions at random phases, with noise."""
    angle = 2 * np.pi * np.arange(n_samples) / n_samples
    overtones = np.stack([np.sin(2 * angle), np.cos(2 * angle), np.sin(3 * angle)])
    shapes = np.sin(angle) + 0.5 * overtones
    condition = rng.integers(3, size=n_waveforms)
    starts = rng.integers(n_samples, size=n_waveforms)
    waveforms = shapes[condition]
    for waveform, start in zip(waveforms, starts, strict=True):
        waveform[:] = np.roll(waveform, start)
    noise = rng.standard_normal((n_waveforms, n_samples))
    return waveforms + 0.5 * noise, condition


# %%
folder = tempfile.TemporaryDirectory()  # goes away with the notebook
example = Path(folder.name) / "waveforms.csv"
waveforms, condition = record(N_WAVEFORMS, np.random.default_rng(seed))
example_table = pd.DataFrame(waveforms.round(4))
example_table["condition"] = condition
example_table.to_csv(example, index=False)


# %% [markdown]
# Change this cell to read your own file, and add `run.uses_data(path)`: `--resume` and `run.cache` follow
# only files that are named so, and would otherwise keep the results of an earlier version of the file.

# %%
path = example
label = "condition"
table = pd.read_csv(path)
y = table.pop(label).to_numpy()
X = table.to_numpy(dtype=float)
assert np.isfinite(X).all(), "fill or drop missing values first"

# %%
print(f"X: {X.shape}, {X.dtype}")
classes, counts = np.unique(y, return_counts=True)
for name, count in zip(classes, counts, strict=True):
    print(f"{label} {name}: {count} rows")

# %% [markdown]
# **Every method takes an array of shape (n, d), one point per row.** Images may come as
# (n, height, width) if the group has a `shape`; flatten them with `X.reshape(len(X), -1)` for
# scikit-learn. Single precision is enough for large feature maps, and is many times faster there.
#
# Scale all coordinates by one number (below, the median distance sets the bandwidth, which has the
# same effect), and not each by its own: the last section gives the reason.
#
# ## 2. Which group?
#
# | your rows | transformations | group |
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
# For several at once, use `first.then(second)`. If the symmetry is only approximate, give the group a
# density, or take a part of it; see `guides/when_invariance_hurts`.

# %%
from invariance.groups import CyclicShifts

group = CyclicShifts(X.shape[1])
print(f"{group!r}: {group.order} elements, unitary: {group.unitary}")

# %% [markdown]
# ## 3. Kernel or features?
#
# Up to a few thousand points, use a kernel, in `SVC`, `KernelRidge` or a Gaussian process. `Average`
# with its default `side` has no negative eigenvalues. `BestFit` looks for the best alignment, is
# often better with few samples, and may be indefinite. For more points, use features, whose cost grows
# with $n$ and not $n^2$, and any linear model behind them. All of them are drop-in replacements.

# %%
gamma = median_gamma(X, random_state=seed)
base = Gaussian(gamma)
average = Average(base, group)
best_fit = BestFit(base, group)
distributions = GroupCDF(group, n_components=100, n_bins=10, s="data", random_state=seed)
waves = OrbitFourier(group, n_components=200, gamma=gamma, random_state=seed)
MODELS = {
    "SVC, Gaussian kernel": SVC(C=1e3, kernel=base),
    "SVC, Average": SVC(C=1e3, kernel=average),
    "SVC, BestFit": SVC(C=1e3, kernel=best_fit),
    "GroupCDF + least squares": make_pipeline(distributions, RLSClassifier()),
    "OrbitFourier + least squares": make_pipeline(waves, RLSClassifier()),
}

# %% [markdown]
# ## 4. Did it help?
#
# All models get the same splits: `n_train` rows for training, and at most 250 further rows for testing.

# %%
sizes = [n_train // 4, n_train // 2, n_train]
n_test = min(250, len(y) - n_train)
splits = StratifiedShuffleSplit(N_SPLITS, train_size=n_train, test_size=n_test, random_state=seed)
scores = {name: np.empty((N_SPLITS, len(sizes))) for name in MODELS}
for split, (train, test) in enumerate(splits.split(X, y)):
    for name, model in MODELS.items():
        for i, n in enumerate(sizes):
            first_rows = train[:n]
            model.fit(X[first_rows], y[first_rows])
            accuracy = model.score(X[test], y[test])
            scores[name][split, i] = 100 * accuracy


# %%
def draw_rows(axis):
    """Draw two rows of each class."""
    distance = np.ptp(X[:50])
    levels = distance * np.arange(len(classes))[::-1]
    colours = shades("raw", len(classes))
    for name, level, colour in zip(classes, levels, colours, strict=True):
        two_rows = X[y == name][:2]
        axis.plot(two_rows.T + level, color=colour, lw=1)
    axis.set_yticks(levels, classes)
    axis.set(title=f"Rows of one {label} differ by a shift", xlabel="column", ylabel=label)
    axis.grid(False)


# %%
STYLES = {
    "SVC, Gaussian kernel": "raw",
    "SVC, Average": "average-fit",
    "SVC, BestFit": "best-fit",
    "GroupCDF + least squares": "cdf",
    "OrbitFourier + least squares": "lgika-rff",
}


def draw_accuracies(axis):
    """Draw the accuracy of all models against the number of labelled rows."""
    curves = {name: (STYLES[name], values) for name, values in scores.items()}
    largest_class = [100 * counts.max() / len(y)] * len(sizes)
    curves["always the largest class"] = ("bound", largest_class, {"ls": ":"})
    panel(axis, sizes, curves, ends=0.6, xlabel="labelled rows", ylabel="test accuracy (%)")
    last = {name: values[:, -1].mean() for name, values in scores.items()}
    best = max(last, key=last.get)
    plain = last["SVC, Gaussian kernel"]
    axis.set_title(f"{best} gets {last[best]:.0f} % right, the plain kernel {plain:.0f} %")


# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
draw_rows(left)
draw_accuracies(right)
run.figure(fig, "waveforms", caption=f"Error bars: two standard errors over {N_SPLITS} splits.")

# %% [markdown]
# **Is it really invariant?** Transform the test rows by random elements of the group: the decisions of
# invariant models may change by rounding only.

# %%
train, test = next(splits.split(X, y))
transformed = group.act(group.sample(4, seed), X[test])


def change(model):
    """Return the share of classes that change, and the largest change of a decision value."""
    labels = model.predict(X[test])
    values = model.decision_function(X[test])
    shares = []
    changes = []
    for rows in transformed:
        shares.append(np.mean(model.predict(rows) != labels))
        differences = model.decision_function(rows) - values
        changes.append(np.abs(differences).max())
    return np.mean(shares), max(changes)


# %%
results = []
for name, model in MODELS.items():
    model.fit(X[train], y[train])
    share, largest = change(model)
    accuracy = mean_se(scores[name][:, -1])
    row = {"model": name}
    row["accuracy (%)"] = f"{accuracy:.1f}"
    row["classes changed (%)"] = f"{100 * share:.1f}"
    row["largest change of a decision value"] = f"{largest:.1e}"
    results.append(row)
run.table(
    results,
    "models",
    caption=f"With {n_train} labelled rows. Accuracy: mean and standard error. Changes: under "
    f"{len(transformed)} random elements of the group.",
)


# %% [markdown]
# **Is the kernel positive definite?** A support vector machine needs a positive definite kernel, and
# `BestFit` need not be one; `gram_report` prints the result of a check, and a remedy.

# %%
print(gram_report(best_fit(X[train])))

# %% [markdown]
# **Do not scale coordinates separately.** `StandardScaler` gives each *coordinate* its own scale, and a
# shift moves a coordinate to a place with another scale. In this example all coordinates have nearly the
# same scale, and the effect is visible even so.

# %%
invariant = MODELS["SVC, Average"]
scaled = make_pipeline(StandardScaler(), invariant)
for description, model in {"behind a StandardScaler": scaled, "without": invariant}.items():
    model.fit(X[train], y[train])
    score = 100 * model.score(X[test], y[test])
    _, largest = change(model)
    print(f"{description}: accuracy {score:.1f} %, largest change {largest:.1e}")

# %% [markdown]
# Next: choose the group, the bandwidth and the penalty by cross-validation, all at once, in
# `guides/model_selection`.
