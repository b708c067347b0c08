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
# With a hundred labelled digits, a support-vector machine has no chance to find out by itself that
# a shifted seven is a seven. The paper tells it: similarity is the similarity under the *best*
# shift or rotation. How much does that help, and is it as much on another sample as on the one
# that the paper draws?

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
jobs: int = 1  # threads; results do not depend on it

# %%
import warnings
from functools import cache
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, train_test_split
from sklearn.svm import SVC

from invariance.companion import Run, mean_se, shades
from invariance.companion.network import ResidualNetwork
from invariance.datasets import load_emnist_letters, load_mnist
from invariance.features.scattering import Scattering
from invariance.groups import Rotations, Translations
from invariance.kernels import Average, BestFit, Locality, Polynomial, TangentDistance

run = Run("liu2022/few_samples", profile=profile, seed=seed, jobs=jobs)

# %% [markdown]
# ## Settings
#
# Split 0 is the paper's; further ones are drawn in the same way with other seeds. The baselines of
# the last section are trained on the first few of these, for copies and networks take longest.

# %%
SIZES = (20, 40, 80) if run.quick else (100, 200, 500)
MOST = SIZES[-1]
if run.quick:
    datasets, shape, further_test = ["digits"], (8, 8), 100
    further_splits, more_splits, baseline_splits = range(1, 3), range(3, 4), range(1, 3)
    reach, recipe = 1, {"epochs": 3}  # of shifted copies; of the network
else:
    datasets, shape, further_test = ["mnist", "emnist"], (28, 28), 1000
    further_splits, more_splits, baseline_splits = range(1, 11), range(11, 21), range(1, 6)
    reach, recipe = 2, {"epochs": 40, "learning_rate": 0.03}
warnings.simplefilter("ignore", ConvergenceWarning)  # said by `machine`
with_network = not run.quick or find_spec("torch") is not None
stand_in = "scikit-learn's bundled 8 x 8 digits" if run.quick else None
TITLES = {"mnist": "MNIST", "emnist": "EMNIST letters", "digits": "bundled digits"}

# %% [markdown]
# ## Data and splits
#
# The paper's split is known from its public code and is rebuilt here row for row: the 70,000 images
# of MNIST, pixels divided by 255, `train_test_split` with `random_state=4` twice; the first $n$
# rows of the training part train, and 10,000 images test. For EMNIST letters the official training
# images are split likewise, and all 20,800 test images are used. Nothing else is random, so the
# table can be matched to the digit.
#
# The quick profile has no network and takes scikit-learn's bundled 8 × 8 digits instead, with
# windows and shifts scaled down. These digits are much easier.


# %%
@cache
def images_of(name):
    """Images in [0, 1] as float32 rows, labels, and how many come first that may train."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return (X / 16).astype(np.float32), y, len(y)
    data = load_mnist() if name == "mnist" else load_emnist_letters()
    X = data.data.reshape(len(data.data), -1).astype(np.float32) / np.float32(255)
    return X, data.target, len(X) if name == "mnist" else data.n_train


@cache
def rows_of(name, split):
    """The 500 training rows and the test rows of a split; 0 is the paper's."""
    state = 4 if split == 0 else 1000 + split
    X, _, n = images_of(name)
    rows, test = np.arange(n), np.arange(n, len(X))
    if not len(test):
        share = 6 / 7 if name == "mnist" else 2 / 3
        rows, test = train_test_split(rows, train_size=share, random_state=state)
    rows, _ = train_test_split(rows, train_size=5 / 6, random_state=state)
    if split > 0 or name == "digits":
        test = test[np.random.default_rng(state).permutation(len(test))[:further_test]]
    return rows[:MOST], test


def split_of(name, split):
    """Training images and labels, test images and labels."""
    X, y, _ = images_of(name)
    train, test = rows_of(name, split)
    return X[train], y[train], X[test], y[test]


if not run.quick:
    for load in (load_mnist, load_emnist_letters):
        for file, sha256 in load().sources.items():
            run.uses_data(file, sha256)

# %% [markdown]
# ## The rows of the table
#
# $$K_{\mathcal{G},\mathrm{best}}(x, z) = \max_{T \in \mathcal{G}} K_{\mathrm{base}}(x, T z),
# \qquad K_{\mathrm{base}}(x, z) = \Big(1 + \tfrac{1}{784}\langle x, z\rangle\Big)^8,$$
#
# and, because neighbouring pixels belong together, the locality kernel, which adds up squared
# similarities of small windows $w$ of $f \times f$ pixels, of total degree 8 as well:
#
# $$K_L(x, z) = \Big(1 + \tfrac{1}{28}\sum_w \big(1 + \tfrac{1}{f^2}\langle x_w, z_w\rangle\big)^2
# \Big)^4.$$
#
# Cyclic shifts (TI) of up to 5 pixels alone and up to 7 in combinations; rotations (RI) in whole
# degrees by cubic splines, $-10..9$ alone and $-5..5$ with locality. TI-RI shifts first, then
# rotates; L-TI-RI rotates first. The transformed argument is the training image. The largest set,
# 11 rotations times 225 shifts, has 2,475 elements; `BestFit` does not visit them one by one: see
# the notebook `cost`.


# %%
@cache
def kernels_of(name):
    # Transformed training images are prepared once for each block: the larger, the faster.
    fast = dict(precision="single", n_jobs=jobs, block_bytes=2**31)
    if name == "digits":
        few, many, windows = 1, 1, dict.fromkeys(("l", "l-ri", "l-ti", "l-ti-ri"), 3)
    else:
        few, many = 5, 7
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
INVARIANT = [*LABELS][:6]

# %% [markdown]
# A support-vector machine with $C = 1$ for each kernel. For tangent distance, the paper's
# comparison, three nearest neighbours vote; where all three differ, which is common with ten images
# a class, the nearest decides.
#
# One matrix of training and test images against 500 training images for each row of the table: the
# smaller training sets are the first 100 and 200. Matrices are kept on disk in blocks, so that an
# interrupted run goes on where it stopped.

# %%
BLOCK = 5000


@run.cache
def block(name, row, split, start, n):
    """Kernel (or distance) matrix against the first n training images: of these, and of the test
    images after them, from row ``start`` on."""
    X, _, X_test, _ = split_of(name, split)
    images = np.concatenate([X[:n], X_test])[start : start + BLOCK]
    return kernels_of(name)[row](images, X[:n]).astype(np.float32)


def matrices(name, row, split, n=MOST):
    """Of the first n training images, and of all test images, against the former."""
    count = n + len(rows_of(name, split)[1])
    whole = np.concatenate([block(name, row, split, s, n) for s in range(0, count, BLOCK)])
    return whole[:n], whole[n:]


def three_nearest(distances, y):
    """Labels by majority of the three nearest; the nearest one's where all differ."""
    first, second, third = y[np.argsort(distances, axis=1, kind="stable")[:, :3]].T
    return np.where(second == third, second, first)


def machine(gram, y, C=1):
    """Indefinite matrices may send the solver in circles: its steps are limited."""
    return SVC(C=C, kernel="precomputed", max_iter=10_000).fit(gram, y)


@run.cache
def accuracies(name, row, split):
    """Accuracy in per cent for each training size."""
    train, test = matrices(name, row, split)
    _, y, _, y_test = split_of(name, split)
    if row == "tangent-distance":
        found = [three_nearest(test[:, :n], y[:n]) for n in SIZES]
    else:
        found = [machine(train[:n, :n], y[:n]).predict(test[:, :n]) for n in SIZES]
    return [100 * np.mean(labels == y_test) for labels in found]


table = {(name, row): accuracies(name, row, 0) for name in datasets for row in reversed(LABELS)}
further = {
    (name, row): np.array([accuracies(name, row, split) for split in further_splits])
    for name in datasets
    for row in reversed(LABELS)
}

# %% [markdown]
# ## A lucky split
#
# On the paper's split every kernel gives the number that the paper prints. On further splits most
# rows come out lower, by more the fewer the samples and the more the classes.

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


# %%
def luck(name, row, i):
    """Points by which the paper's split is above the mean of the others, and the error of that."""
    mean, error = mean_se(further[name, row][:, i])
    return table[name, row][i] - mean, error


luckiest = datasets[-1]
best = max(LABELS, key=lambda row: luck(luckiest, row, 0)[0])
tints = shades("samples", len(SIZES))[::-1]
fig, axes = plt.subplots(1, len(datasets), figsize=(5.4 * len(datasets), 4.6), squeeze=False)
for axis, name in zip(axes[0], datasets, strict=True):
    for i, n in enumerate(SIZES):
        gaps, errors = np.transpose([luck(name, row, i) for row in reversed(LABELS)])
        axis.errorbar(
            gaps,
            np.arange(len(LABELS)) + 0.22 * (1 - i),
            xerr=2 * errors,
            color=tints[i],
            marker="osD"[i],
            linestyle="none",
            label=f"n = {n}",
        )
    axis.axvline(0, color="black", linewidth=0.8)
    highest = max(luck(name, row, 0)[0] for row in LABELS)
    axis.set(
        xlabel="paper's split above further ones (points)",
        title=f"{TITLES[name]}: up to {highest:.0f} points of luck",
        ylim=(-0.6, len(LABELS) - 0.4),
    )
    axis.set_yticks(range(len(LABELS)), [LABELS[row] for row in reversed(LABELS)])
fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(SIZES))
shifts = {name: [luck(name, row, 0)[0] for row in LABELS] for name in datasets}
run.figure(
    fig,
    "table2",
    alt="By how many points each of ten methods does better on the paper's split than on further "
    f"ones, at {SIZES[0]}, {SIZES[1]} and {SIZES[2]} training samples. "
    + " ".join(
        f"{TITLES[name]}, {SIZES[0]} samples: between {min(gaps):.1f} and {max(gaps):.1f} points."
        for name, gaps in shifts.items()
    )
    + " With more samples the differences are smaller.",
    caption="Mean and two standard errors over further splits.",
)
run.say(
    "With {n} images of {data}, {method} reaches {own:.2f} % on the paper's split and "
    "{mean:.2f} ± {error:.2f} % on {count} further ones.",
    n=SIZES[0],
    data=TITLES[luckiest],
    method=LABELS[best],
    own=table[luckiest, best][0],
    mean=further[luckiest, best][:, 0].mean(),
    error=mean_se(further[luckiest, best][:, 0])[1],
    count=len(further_splits),
)

# %% [markdown]
# Luck is not shared evenly. For letters with 100 samples, rows without locality gain most by it, so
# that TI-RI is printed above L-TI, and TI above L-RI and L; over splits it is the other way round.
# With 200 and 500 samples the orders agree.

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
        caption=f"Test accuracy in per cent, {TITLES[name]}: on the paper's split, as printed, and "
        f"over {len(further_splits)} further splits with {further_test:,} test images each (mean "
        "and standard error).",
    )

# %%
for claimed in ("mnist", "emnist"):
    name = datasets[0] if run.quick else claimed
    for row in LABELS:
        mean, error = mean_se(further[name, row])
        over_splits = ", ".join(f"{m:.2f} ± {e:.2f}" for m, e in zip(mean, error, strict=True))
        kernel = row in ("svm", "tangent-distance", "average-fit")
        run.claim(
            f"liu2022/table2-{claimed}-{row if kernel else row + '-svm'}",
            value=table[name, row],
            exact="the paper's split and machine: nothing is random",
            data=stand_in,
            note=f"{len(further_splits)} further splits, {further_test:,} test images each: "
            f"{over_splits}",
        )

# %% [markdown]
# ## What locality adds
#
# Rows are compared on the same images, so their differences are known more precisely than the
# accuracies themselves. The table shows what locality with both invariances gains on each other row
# over further splits. It is ahead
# with 100 samples, ahead or level with 200, and behind invariance without locality with 500. The
# average-fit kernel is no better than the plain one.

# %%
run.table(
    [
        {"data": TITLES[name], "L-TI-RI-SVM less": LABELS[row]}
        | {
            f"n = {n}": f"{mean:+.2f} ± {error:.2f}"
            for n, mean, error in zip(
                SIZES, *mean_se(further[name, "l-ti-ri"] - further[name, row]), strict=True
            )
        }
        for name in datasets
        for row in LABELS
        if row != "l-ti-ri"
    ],
    "paired",
    caption="Gains in points, mean and standard error over further splits, paired.",
)

# %% [markdown]
# ## Against published networks
#
# The paper compares its best row with the published numbers of the best of many convolutional
# networks (D'Souza et al. 2020) for MNIST and of its own ResNet for EMNIST. Which row is the best
# one must not be seen on test images: we take the invariant row that five-fold cross-validation on
# the training sample takes, for each split and size. With 200 letters or 500 digits the gap is
# small and splits differ, so there are more of them.


# %%
@run.cache
def validated(name, row, split, n):
    """Mean accuracy over five folds of the first n training images."""
    y = split_of(name, split)[1][:n]
    if split in more_splits:  # test images are not needed for most rows
        X = split_of(name, split)[0][:n]
        gram = kernels_of(name)[row](X, X).astype(np.float32)
    else:
        gram = matrices(name, row, split)[0][:n, :n]
    folds = KFold(5, shuffle=True, random_state=0).split(gram)
    return np.mean(
        [machine(gram[np.ix_(a, a)], y[a]).score(gram[np.ix_(b, a)], y[b]) for a, b in folds]
    )


def taken(name, split, n):
    """The invariant row that cross-validation on the training sample takes."""
    return max(INVARIANT, key=lambda row: validated(name, row, split, n))


def accuracy_taken(name, split, n):
    """Its accuracy (%) on the split's test images."""
    row = taken(name, split, n)
    if split not in more_splits:
        return accuracies(name, row, split)[SIZES.index(n)]
    _, y, _, y_test = split_of(name, split)
    train, test = matrices(name, row, split, n)
    return 100 * machine(train, y[:n]).score(test, y_test)


NEAR = {("emnist", SIZES[1]), ("mnist", SIZES[2])}  # gaps of the size of their spread


# %%
def splits_for(claimed, n):
    return [*further_splits, *(more_splits if (claimed, n) in NEAR else [])]


order, scores, rows = [], {}, []
for claimed in ("mnist", "emnist"):
    name = datasets[0] if run.quick else claimed
    for i, n in enumerate(SIZES):
        own, network = f"{claimed} at {n}, paper's split", f"{claimed} network at {n}"
        others = f"{claimed} at {n}, further splits"
        scores[own] = accuracy_taken(name, 0, n)
        scores[others] = np.array(
            [accuracy_taken(name, split, n) for split in splits_for(claimed, n)]
        )
        scores[network] = CNN[claimed][i]
        order += [f"{own} > {network}", f"{others} > {network}"]
        rows.append(
            {
                "data": TITLES[name],
                "n": n,
                "row taken on the paper's split": LABELS[taken(name, 0, n)],
                "its accuracy": f"{scores[own]:.2f}",
                "rows taken on further splits": "{:.2f} ± {:.2f}".format(*mean_se(scores[others])),
                "splits": len(scores[others]),
                "network, as published": f"{CNN[claimed][i]:.2f}",
            }
        )
run.table(
    rows,
    "networks",
    caption="Accuracy (%) of the invariant row that cross-validation on the training sample takes.",
)
run.claim(
    "liu2022/table2-beats-cnn",
    order=order,
    scores=scores,
    exact="one split, and printed numbers: nothing is random",
    data=stand_in,
    note="the row taken by cross-validation on the training sample; the published numbers are "
    "those of one split, which further splits are not",
)

# %% [markdown]
# ## Best when samples are few?
#
# The paper's larger claim is that these kernels are the best choice for small samples. Three
# competitors on the same splits: the plain kernel on shifted copies of the images, scattering
# features with a Gaussian kernel, and a residual network trained from scratch. Constants of all
# machines, and the row of Table 2, come from five-fold cross-validation on the training sample;
# the network keeps the recipe that `transformed_mnist` chose on training digits.

# %%
COSTS = (1, 100) if run.quick else (1, 10, 100, 1000)
GAMMAS = (0.01, 0.04) if run.quick else (0.005, 0.01, 0.02, 0.04, 0.08)


def best_cost(gram, y):
    """Cross-validated accuracy and the first constant C that reaches it."""
    folds = list(KFold(5, shuffle=True, random_state=0).split(gram))
    hits = []
    for C in COSTS:
        fitted = [machine(gram[np.ix_(a, a)], y[a], C) for a, _ in folds]
        scores = [
            m.score(gram[np.ix_(b, a)], y[b]) for m, (a, b) in zip(fitted, folds, strict=True)
        ]
        hits.append(np.mean(scores))
        if all(np.abs(m.dual_coef_).max() < C for m in fitted):
            break  # a hard margin: a larger C changes nothing
    return max(hits), COSTS[int(np.argmax(hits))]


@run.cache
def with_best_fit(name, split, n):
    """Accuracy (%) of the invariant row and constant that cross-validation takes."""
    _, y, _, y_test = split_of(name, split)
    tried = {row: best_cost(matrices(name, row, split)[0][:n, :n], y[:n]) for row in INVARIANT}
    row = max(tried, key=lambda r: tried[r][0])
    train, test = matrices(name, row, split)
    return 100 * machine(train[:n, :n], y[:n], tried[row][1]).score(test[:, :n], y_test)


def squared_distances(A, B):
    return np.maximum((A**2).sum(1)[:, None] + (B**2).sum(1) - 2 * A @ B.T, 0)


# %%
@run.cache
def with_copies(name, split, n):
    """Accuracy (%) of the plain kernel on all shifted copies of the training images."""
    X, y, X_test, y_test = split_of(name, split)
    kernel = kernels_of(name)["svm"]
    _, C = best_cost(kernel(X[:n]), y[:n])
    group = Translations(shape, max_shift=reach, boundary="zero")
    copies = group.act(group.elements(), X[:n]).reshape(-1, X.shape[1])
    fitted = machine(kernel(copies), np.tile(y[:n], group.order), C)
    return 100 * fitted.score(kernel(X_test, copies), y_test)


@run.cache
def with_scattering(name, split):
    """Accuracy (%) of a Gaussian kernel on scattering features, for each training size."""
    X, y, X_test, y_test = split_of(name, split)
    scattering = Scattering(shape).fit(X)
    A, B = scattering.transform(X), scattering.transform(X_test)
    # Of the same total variance as the images, so that the widths suit both.
    scale = X.var(axis=0).sum() / A.var(axis=0).sum()
    own, other = scale * squared_distances(A, A), scale * squared_distances(B, A)
    found = []
    for n in SIZES:
        tried = {gamma: best_cost(np.exp(-gamma * own[:n, :n]), y[:n]) for gamma in GAMMAS}
        gamma = max(tried, key=lambda g: tried[g][0])
        fitted = machine(np.exp(-gamma * own[:n, :n]), y[:n], tried[gamma][1])
        found.append(100 * fitted.score(np.exp(-gamma * other[:, :n]), y_test))
    return found


# %%
@run.cache
def with_residual_network(name, split, recipe):
    """Accuracy (%) of a network trained from scratch, for each training size."""
    X, y, X_test, y_test = split_of(name, split)
    network = ResidualNetwork(shape, random_state=split, **recipe)
    return [100 * network.fit(X[:n], y[:n]).score(X_test, y_test) for n in SIZES]


OPPONENTS = {
    "shifted copies": lambda name, split: [with_copies(name, split, n) for n in SIZES],
    "scattering": with_scattering,
}
if with_network:
    OPPONENTS["residual network"] = lambda name, split: with_residual_network(name, split, recipe)
else:
    run.say("PyTorch is not installed: the network is left out.")

order, scores = [], {}
for name in datasets:
    found = {
        opponent: np.array([accuracy(name, split) for split in baseline_splits])
        for opponent, accuracy in OPPONENTS.items()
    }
    found["best fit"] = np.array(
        [[with_best_fit(name, split, n) for n in SIZES] for split in baseline_splits]
    )
    for i, n in enumerate(SIZES):
        scores |= {f"{method}, {name} at {n}": values[:, i] for method, values in found.items()}
        order += [f"best fit, {name} at {n} > {other}, {name} at {n}" for other in OPPONENTS]
run.table(
    [
        {"data": TITLES[name], "method": method}
        | {
            f"n = {n}": "{:.2f} ± {:.2f}".format(*mean_se(scores[f"{method}, {name} at {n}"]))
            for n in SIZES
        }
        for name in datasets
        for method in ("best fit", *OPPONENTS)
    ],
    "opponents",
    caption=f"Accuracy in per cent, mean and standard error over {len(baseline_splits)} splits; "
    "best fit: the row of Table 2 and its C that cross-validation on the training sample takes.",
)
run.claim(
    "liu2022/best-when-few", order=order, scores=scores, paired=True, data=stand_in,
    note=f"{len(baseline_splits)} splits; rows and constants cross-validated on training images",
)  # fmt: skip

# %% [markdown]
# ## Tangent distance
#
# Unlike the other rows this one is only named in the paper: two-sided, three nearest neighbours,
# tangents of the two translations and thickness. How images are differentiated is not said, and it
# matters. Our default does so under a Gaussian of 0.9 pixels, as Simard et al. recommend. The
# table shows alternatives by leaving out one training image at a time; test images decide nothing.

# %%
SEVEN = ("horizontal", "vertical", "rotation", "scaling", "axis", "diagonal", "thickness")
VARIANTS = {
    "default": {},
    "raw pixels": dict(smoothing=0.0),
    "Gaussian of 1.5 pixels": dict(smoothing=1.5),
    "all seven tangents": dict(vectors=SEVEN),
    "one-sided (training images)": dict(side="second"),
}


@run.cache
def left_out(name, variant, split):
    """Accuracy (%) on training images, each left out in turn, for each training size."""
    X, y, _, _ = split_of(name, split)
    distances = TangentDistance(shape, **VARIANTS[variant])(X, X)
    np.fill_diagonal(distances, np.inf)
    return [100 * np.mean(three_nearest(distances[:n, :n], y[:n]) == y[:n]) for n in SIZES]


run.table(
    [
        {"data": TITLES[name], "tangents": variant}
        | {
            f"n = {n}": f"{mean:.1f} ± {error:.1f}"
            for n, mean, error in zip(
                SIZES,
                *mean_se([left_out(name, variant, split) for split in baseline_splits]),
                strict=True,
            )
        }
        for name in datasets
        for variant in VARIANTS
    ],
    "tangent-distance",
    caption="Accuracy (%) of three nearest neighbours under variants of tangent distance, leaving "
    "one training image out; mean and standard error over further splits.",
)

# %% [markdown]
# ## Try it
#
# A window other than the paper's goes into `kernels_of`, another opponent into `OPPONENTS`.
