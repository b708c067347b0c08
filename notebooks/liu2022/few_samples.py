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
# # Learning from few samples: Table 2
#
# *Liu, Kumar, Zhou and Liu (2022), Table 2.*
#
# With a hundred labelled digits, a support-vector machine has no chance to find out by itself that a
# shifted seven is a seven. The paper tells it: similarity is the similarity under the *best* shift
# or rotation,
#
# $$K_{\mathcal{G},\mathrm{best}}(x, z) = \max_{T \in \mathcal{G}} K_{\mathrm{base}}(x, T z),
# \qquad K_{\mathrm{base}}(x, z) = \Big(1 + \tfrac{1}{784}\langle x, z\rangle\Big)^8,$$
#
# and that neighbouring pixels belong together: the locality kernel adds up squared similarities of
# small windows $w$ of $f \times f$ pixels,
#
# $$K_L(x, z) = \Big(1 + \tfrac{1}{28}\sum_w \big(1 + \tfrac{1}{f^2}\langle x_w, z_w\rangle\big)^2
# \Big)^4,$$
#
# with total degree 8 as well. Combinations of L (locality), TI (translations) and RI (rotations) are
# the rows of the table.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
jobs: int = 2  # threads; results do not depend on it
splits: int = 10  # further splits beside the paper's own (two in the quick profile)
n_test: int = 2000  # test images of the further splits (200 in the quick profile)

# %%
from functools import lru_cache

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from invariance.companion import Run, colour, marker, mean_se
from invariance.datasets import load_emnist_letters, load_mnist
from invariance.groups import Rotations, Translations
from invariance.kernels import Average, BestFit, Locality, Polynomial, TangentDistance

run = Run(
    "liu2022/few_samples", profile=profile, seed=seed, jobs=jobs, splits=splits, n_test=n_test
)
SIZES = (100, 200, 500)
further_splits = run.choose(quick=range(1, 3), full=range(1, splits + 1))
further_test = run.choose(quick=200, full=n_test)

# %% [markdown]
# ## Data and splits
#
# The paper's split is known from its public code and is rebuilt here row for row: the 70,000 images
# of MNIST, pixels divided by 255, `train_test_split` with `random_state=4` twice; the first $n$ rows
# of the training part train, and 10,000 images test. For EMNIST letters the official training images
# are split likewise, and all 20,800 test images are used. Nothing else is random, so the table
# can be matched to the digit.
#
# One split proves little, therefore ten further ones are drawn in the same way with other seeds,
# each tested on 2,000 of its test images.
#
# The quick profile has no network and takes scikit-learn's bundled 8 × 8 digits instead, with windows
# and shifts scaled down. These are much easier, and its verdicts only say that the notebook runs.


# %%
@lru_cache
def images_of(name):
    """Training and test pool (images in [0, 1] as float32 rows, and labels), file checksums."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        X = (X / 16).astype(np.float32)
        return X, y, None, None, {}
    data = load_mnist() if name == "mnist" else load_emnist_letters()
    X = data.data.reshape(len(data.data), -1).astype(np.float32) / np.float32(255)
    if name == "mnist":
        return X, data.target, None, None, data.sources
    n = data.n_train
    return X[:n], data.target[:n], X[n:], data.target[n:], data.sources


def split_of(name, split):
    """Split 0 is the paper's. Returns 500 training rows and all test rows."""
    state = 4 if split == 0 else 1000 + split
    X, y, X_test, y_test, _ = images_of(name)
    if X_test is None:
        share = 6 / 7 if name == "mnist" else 2 / 3
        X, X_test, y, y_test = train_test_split(X, y, train_size=share, random_state=state)
    X, _, y, _ = train_test_split(X, y, train_size=5 / 6, random_state=state)
    if split > 0 or name == "digits":
        rows = np.random.default_rng(state).permutation(len(X_test))[:further_test]
        X_test, y_test = X_test[rows], y_test[rows]
    return X[: max(SIZES)], y[: max(SIZES)], X_test, y_test


datasets = run.choose(quick=["digits"], full=["mnist", "emnist"])
for name in datasets:
    for file, sha256 in images_of(name)[-1].items():
        run.uses_data(file, sha256)


# %% [markdown]
# ## The rows
#
# Cyclic shifts of up to 5 pixels for TI alone and up to 7 in combinations; rotations in whole degrees by
# cubic splines, $-10..9$ alone and $-5..5$ with locality. TI-RI shifts first, then rotates;
# L-TI-RI rotates first. The transformed argument is the training image.
#
# The largest set, 11 rotations times 225 shifts, has 2,475 elements. `BestFit` does not visit them one by
# one: see the notebook `cost`.


# %%
def kernels_of(name):
    fast = dict(precision="single", n_jobs=jobs)
    if name == "digits":
        shape, few, many, windows = (8, 8), 1, 1, dict.fromkeys(("l", "l-ri", "l-ti", "l-ti-ri"), 3)
    else:
        shape, few, many = (28, 28), 5, 7
        windows = {"l": 9, "l-ri": 3 if name == "mnist" else 5, "l-ti": 7, "l-ti-ri": 7}
    polynomial = Polynomial(degree=8, gamma=1 / np.prod(shape))
    turns = Rotations(shape, degrees=range(-10, 10))
    small_turns = Rotations(shape, degrees=range(-5, 6))
    shifts, more_shifts = Translations(shape, max_shift=few), Translations(shape, max_shift=many)
    local = {row: Locality(shape, window, powers=(2, 4)) for row, window in windows.items()}
    return {
        "l-ti-ri": BestFit(local["l-ti-ri"], small_turns.then(more_shifts), **fast),
        "ti-ri": BestFit(polynomial, more_shifts.then(turns), **fast),
        "l-ti": BestFit(local["l-ti"], more_shifts, **fast),
        "l-ri": BestFit(local["l-ri"], turns if name == "emnist" else small_turns, **fast),
        "ti": BestFit(polynomial, shifts, **fast),
        "ri": BestFit(polynomial, turns, **fast),
        "l": local["l"],
        "svm": polynomial,
        "average-fit": Average(polynomial, turns, side="second"),
        "tangent-distance": TangentDistance(shape, vectors=("horizontal", "vertical", "thickness")),
    }


LABELS = {
    "l-ti-ri": "L-TI-RI-SVM",
    "ti-ri": "TI-RI-SVM",
    "l-ti": "L-TI-SVM",
    "l-ri": "L-RI-SVM",
    "ti": "TI-SVM",
    "ri": "RI-SVM",
    "l": "L-SVM",
    "svm": "SVM",
    "tangent-distance": "tangent distance, 3-NN",
    "average-fit": "RI-SVM (average fit)",
}


# %% [markdown]
# One Gram matrix of 500 training images a row of the table, and one of the test images against them: the
# smaller training sets are their first 100 and 200 rows and columns. They are kept on disk in blocks of
# 5,000 images, so that an interrupted run goes on where it stopped.

# %%
BLOCK = 5000


@run.cache
def gram(name, row, split, start):
    """Kernel (or distance) matrix against the training images: of a block of test images, or,
    with ``start=None``, of the training images themselves."""
    X, _, X_test, _ = split_of(name, split)
    kernel = kernels_of(name)[row]
    first = X if start is None else X_test[start : start + BLOCK]
    return kernel(first, X).astype(np.float32)


def grams(name, row, split):
    n = len(split_of(name, split)[2])
    return gram(name, row, split, None), np.concatenate(
        [gram(name, row, split, start) for start in range(0, n, BLOCK)]
    )


def neighbours(weights):
    return KNeighborsClassifier(3, weights=weights, metric="precomputed")


def predictions(train, test, y, row):
    if row == "tangent-distance":
        return neighbours("distance").fit(train, y).predict(test)
    return SVC(C=1, kernel="precomputed").fit(train, y).predict(test)


def accuracies(name, row, split):
    """Accuracy in per cent for each training size."""
    train, test = grams(name, row, split)
    _, y, _, y_test = split_of(name, split)
    return [
        100 * np.mean(predictions(train[:n, :n], test[:, :n], y[:n], row) == y_test) for n in SIZES
    ]


table = {(name, row): accuracies(name, row, 0) for name in datasets for row in reversed(LABELS)}

# %%
PAPER = {
    "mnist": {
        "l-ti-ri": (81.55, 89.23, 92.58),
        "ti-ri": (75.10, 86.47, 93.11),
        "l-ti": (78.86, 87.02, 91.01),
        "l-ri": (77.96, 83.96, 89.65),
        "ti": (69.34, 82.34, 91.00),
        "ri": (73.82, 83.60, 90.19),
        "l": (75.27, 82.11, 88.21),
        "svm": (68.16, 78.67, 87.14),
        "tangent-distance": (73.04, 81.68, 88.15),
        "average-fit": (68.05, 78.81, 87.21),
    },
    "emnist": {
        "l-ti-ri": (44.56, 55.18, 66.42),
        "ti-ri": (43.16, 52.40, 67.42),
        "l-ti": (42.51, 52.81, 64.66),
        "l-ri": (38.39, 47.29, 59.76),
        "ti": (39.94, 48.12, 63.52),
        "ri": (38.03, 45.02, 59.04),
        "l": (37.01, 45.08, 58.05),
        "svm": (36.65, 42.74, 56.38),
        "tangent-distance": (37.99, 45.31, 57.63),
        "average-fit": (36.82, 42.41, 56.22),
    },
}
CNN = {"mnist": (68.33, 83.20, 91.33), "emnist": (33.82, 53.17, 57.06)}
TITLES = {"mnist": "MNIST", "emnist": "EMNIST letters", "digits": "bundled digits"}

further = {
    (name, row): np.array([accuracies(name, row, split) for split in further_splits])
    for name in datasets
    for row in reversed(LABELS)
}

# %% [markdown]
# ## Results

# %%
for name in datasets:
    rows = []
    for row in LABELS:
        line = {"method": LABELS[row]}
        mean, error = mean_se(further[name, row])
        for i, n in enumerate(SIZES):
            line[f"n = {n}"] = f"{table[name, row][i]:.2f}"
            if name in PAPER:
                line[f"paper, {n}"] = f"{PAPER[name][row][i]:.2f}"
            line[f"further splits, {n}"] = f"{mean[i]:.2f} ± {error[i]:.2f}"
        rows.append(line)
    if name in CNN:
        label = "best CNN, as published" if name == "mnist" else "ResNet, as published"
        rows.append(
            {"method": label}
            | {f"paper, {n}": f"{value:.2f}" for n, value in zip(SIZES, CNN[name], strict=True)}
        )
    run.table(
        rows,
        f"table2-{name}",
        caption=(
            f"Test accuracy in per cent, {TITLES[name]}: on the paper's split, as printed, and over "
            f"{len(further_splits)} further splits with {further_test:,} test images each (mean and standard error)."
        ),
    )

# %%
fig, axes = plt.subplots(
    1, len(datasets), figsize=(5.5 * len(datasets), 4.6), sharey=True, squeeze=False
)
for axis, name in zip(axes[0], datasets, strict=True):
    for place, row in enumerate(reversed(LABELS)):
        mean, error = mean_se(further[name, row])
        axis.errorbar(
            mean,
            [place] * len(SIZES),
            xerr=error,
            color=colour(row),
            marker=marker(row),
            linestyle="none",
        )
        axis.plot(
            table[name, row],
            [place + 0.25] * len(SIZES),
            color=colour(row),
            marker=marker(row),
            fillstyle="none",
            linestyle="none",
        )
    for n, value in zip(SIZES, CNN.get(name, ()), strict=False):
        axis.axvline(value, color=colour("cnn"), linestyle=":")
        axis.annotate(
            f"network, n = {n}",
            (value, len(LABELS) - 0.4),
            rotation=90,
            fontsize=7,
            va="top",
            ha="right",
            color=colour("cnn"),
        )
    axis.set(xlabel="accuracy (%)", title=TITLES[name])
axes[0, 0].set_yticks(range(len(LABELS)), [LABELS[row] for row in reversed(LABELS)])
run.figure(
    fig,
    "table2",
    alt="Accuracy of ten methods at 100, 200 and 500 training samples. Combinations of locality and invariance lead; the "
    "plain polynomial kernel and the average-fit kernel are last among support-vector machines. Open markers of the "
    "paper's split lie near the means over further splits, but for letters with 100 samples, where they are several points above.",
    caption="From left to right in each row: 100, 200 and 500 training samples. Filled: mean and standard error over further "
    "splits. Open, just above: the paper's split. Dotted: the networks' published numbers.",
)

# %% [markdown]
# **What it shows.** On the paper's split all rows are the paper's. Over further splits the order is the same for MNIST: invariance and
# locality help, and the fewer the samples the more; together they are best up to 200 samples, while with 500 invariance alone is ahead. For letters with 100 samples the paper's split is a lucky
# one: rows without locality lie 7 to 9 points above their means over splits, rows with it 2 to 4, so that TI-RI is printed above L-TI and TI above
# L-RI and L, and over splits it is the other way round. With 200 and 500 samples the orders agree. The average-fit kernel is no better than the plain one.
#
# Rows are compared on the same images, so that their differences are better known than themselves: what locality with both invariances gains
# on each other row. At full scale it is 6.2 ± 1.1 points ahead of both invariances without locality with 100 digits, level with 200
# (0.5 ± 0.3) and 1.3 ± 0.2 behind with 500; with letters 7.7 ± 0.6 and 3.7 ± 0.6 ahead, and 2.0 ± 0.3 behind.

# %%
run.table(
    [
        {"data": TITLES[name], "L-TI-RI-SVM less": LABELS[row]}
        | {
            f"n = {n}": f"{mean:+.2f} ± {error:.2f}"
            for n, mean, error in zip(
                SIZES,
                *mean_se(np.asarray(further[name, "l-ti-ri"]) - np.asarray(further[name, row])),
                strict=True,
            )
        }
        for name in datasets
        for row in LABELS
        if row != "l-ti-ri"
    ],
    "paired",
    caption="Gains in points, mean and standard error over further splits, paired.",
)

# %%
stand_in = "scikit-learn's bundled 8 x 8 digits" if run.quick else None
for claimed in ("mnist", "emnist"):
    name = datasets[0] if run.quick else claimed
    for row in LABELS:
        mean, error = mean_se(further[name, row])
        over_splits = ", ".join(f"{m:.2f} ± {e:.2f}" for m, e in zip(mean, error, strict=True))
        run.claim(
            f"liu2022/table2-{claimed}-{row if row in ('tangent-distance', 'average-fit') else row + '-svm' if row != 'svm' else row}",
            value=table[name, row],
            data=stand_in,
            note=f"{len(further_splits)} further splits, {further_test:,} test images each: {over_splits}",
        )

# %% [markdown]
# ## Against networks
#
# The published numbers are those of the best convolutional network over many architectures (D'Souza et al. 2020) for MNIST
# and of the authors' ResNet for EMNIST. They were not run again here.

# %%
order, scores = [], {}
for claimed in ("mnist", "emnist"):
    name = datasets[0] if run.quick else claimed
    for i, n in enumerate(SIZES):
        best = max(
            (row for row in LABELS if {"ti", "ri"} & set(row.split("-"))),
            key=lambda row: table[name, row][i],
        )
        scores[f"{claimed} invariant SVM, n={n}"] = table[name, best][i]
        scores[f"{claimed} network, n={n}"] = CNN[claimed][i]
        order.append(f"{claimed} invariant SVM, n={n} > {claimed} network, n={n}")
run.claim(
    "liu2022/table2-beats-cnn",
    order=order,
    scores=scores,
    data=stand_in,
    note="best invariant row on the paper's split against published numbers",
)

# %% [markdown]
# ## Tangent distance
#
# Unlike the other rows this one is only named in the paper: two-sided, three nearest neighbours, tangents of the two
# translations and thickness. Two things are not said, and both matter. How are images differentiated? Our default does so
# under a Gaussian of 0.9 pixels, as Simard et al. recommend. And who wins when the three neighbours have three different labels, which
# with ten samples a class is common? Equal votes leave it to the order of the labels (scikit-learn takes the smallest), which throws
# away points; we weigh votes by inverse distance, so that the nearest decides. The table shows the alternatives, on the
# paper's split.

# %%
VARIANTS = {
    "default": {},
    "default, equal votes": {},
    "raw pixels": dict(smoothing=0.0),
    "Gaussian of 1.5 pixels": dict(smoothing=1.5),
    "all seven tangents": dict(
        vectors=("horizontal", "vertical", "rotation", "scaling", "axis", "diagonal", "thickness")
    ),
    "one-sided (training images)": dict(side="second"),
}


@run.cache
def tangent_accuracies(name, variant):
    """On 2,000 test images of the paper's split, at random: those of EMNIST come sorted by letter."""
    X, y, X_test, y_test = split_of(name, 0)
    rows = np.random.default_rng(seed).permutation(len(X_test))[:2000]
    X_test, y_test = X_test[rows], y_test[rows]
    shape = (8, 8) if name == "digits" else (28, 28)
    distances = TangentDistance(shape, **VARIANTS[variant])(X_test, X)
    weights = "uniform" if "equal votes" in variant else "distance"
    scores = []
    for n in SIZES:
        machine = neighbours(weights).fit(np.zeros((n, n)), y[:n])
        scores.append(100 * machine.score(distances[:, :n], y_test))
    return scores


run.table(
    [
        {"data": TITLES[name], "tangents": variant}
        | {
            f"n = {n}": f"{value:.2f}"
            for n, value in zip(SIZES, tangent_accuracies(name, variant), strict=True)
        }
        for name in datasets
        for variant in VARIANTS
    ],
    "tangent-distance",
    caption="Accuracy (%) of three nearest neighbours under variants of tangent distance, 2,000 test "
    "images at random.",
)

# %% [markdown]
# ## Try it
#
# `invariance run liu2022/few_samples -p splits 3` is a quick look; a window other than the paper's goes into `kernels_of`.
