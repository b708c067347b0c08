# ---
# jupyter:
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
degree: int = 8  # of the polynomial kernel

# %%
import warnings
from functools import cache
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from _machines import best_cost, machine
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from invariance.beyond import TangentDistance
from invariance.beyond.scattering import Scattering
from invariance.companion import Run, look, mean_se, rows
from invariance.companion.network import ResidualNetwork
from invariance.datasets import load_emnist_letters, load_mnist
from invariance.groups import Rotations, Translations
from invariance.kernels import Average, BestFit, Locality, Polynomial

run = Run("liu2022/few_samples", profile=profile, seed=seed, jobs=jobs, degree=degree)
warnings.simplefilter("ignore", ConvergenceWarning)  # said by `machine`

# %% [markdown]
# ## Settings
#
# Split 0 is the paper's; further ones are drawn in the same way with other seeds, three lots of them
# for questions of their own. The baselines of the last section are trained on the first few, for
# copies and networks take longest.

# %% tags=["settings"]
SIZES = (20, 40, 80) if run.quick else (100, 200, 500)
MOST = SIZES[-1]
# Data standing for MNIST and EMNIST, in this order.
DATA = ("digits", "digits") if run.quick else ("mnist", "emnist")
datasets = list(dict.fromkeys(DATA))
shape, further_test = ((8, 8), 100) if run.quick else ((28, 28), 1000)
further_splits, lucky_splits, network_splits = (
    (range(1, 3), range(3, 5), range(5, 7))
    if run.quick
    else (range(1, 11), range(21, 41), range(41, 51))
)
many_splits = range(7, 9) if run.quick else range(101, 351)  # for the smallest size
baseline_splits = range(1, 3) if run.quick else range(1, 6)
reach = 1 if run.quick else 2  # of shifted copies
recipe = {"epochs": 3} if run.quick else {"epochs": 40, "learning_rate": 0.03}  # of the network
COSTS = (1, 100) if run.quick else (1, 10, 100, 1000)
GAMMAS = (0.01, 0.04) if run.quick else (0.005, 0.01, 0.02, 0.04, 0.08)
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
        run.uses_data(load())

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
    polynomial = Polynomial(degree, gamma=1 / np.prod(shape))
    turns, small_turns = (Rotations(shape, degrees=range(-k, k + e)) for k, e in ((10, 0), (5, 1)))
    shifts, more_shifts = (Translations(shape, max_shift=k) for k in (few, many))
    local = {
        row: Locality(shape, window, powers=(2, degree // 2)) for row, window in windows.items()
    }
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
def block(name, row, split, start, n, degree):
    """Kernel (or distance) matrix against the first n training images: of these, and of the test
    images after them, from row ``start`` on."""
    X, _, X_test, _ = split_of(name, split)
    images = np.concatenate([X[:n], X_test])[start : start + BLOCK]
    return kernels_of(name)[row](images, X[:n]).astype(np.float32)


def matrices(name, row, split, n=MOST):
    """Of the first n training images, and of all test images, against the former."""
    starts = range(0, n + len(rows_of(name, split)[1]), BLOCK)
    whole = np.concatenate([block(name, row, split, start, n, degree) for start in starts])
    return whole[:n], whole[n:]


def three_nearest(distances, y):
    """Labels by majority of the three nearest; the nearest one's where all differ."""
    first, second, third = y[np.argsort(distances, axis=1, kind="stable")[:, :3]].T
    return np.where(second == third, second, first)


@run.cache
def accuracies(name, row, split, degree, sizes=SIZES):
    """Accuracy in per cent for each training size."""
    train, test = matrices(name, row, split, sizes[-1])
    _, y, _, y_test = split_of(name, split)
    if row == "tangent-distance":
        found = [three_nearest(test[:, :n], y[:n]) for n in sizes]
    else:
        found = [machine(train[:n, :n], y[:n]).predict(test[:, :n]) for n in sizes]
    return [100 * np.mean(labels == y_test) for labels in found]


cells = [(name, row) for name in datasets for row in reversed(LABELS)]
table = {cell: accuracies(*cell, 0, degree) for cell in cells}
further = {
    cell: np.array([accuracies(*cell, split, degree) for split in further_splits]) for cell in cells
}

# %% [markdown]
# ## A lucky split
#
# Stars are what the paper prints, crosses our accuracy on the paper's split, dots the mean over
# further splits.

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
def luck(name, row, i=0):
    """Points by which the paper's split is above the mean of the others."""
    return table[name, row][i] - further[name, row][:, i].mean()


fig, axes = plt.subplots(1, len(datasets), figsize=(5.4 * len(datasets), 4.4), squeeze=False)
for axis, name in zip(axes[0], datasets, strict=True):
    own = [table[name, row][0] for row in LABELS]
    printed = [PAPER[name][row][0] for row in LABELS] if name in PAPER else []
    rows(axis, [mean_se(further[name, row][:, 0]) for row in LABELS], LABELS, paper=printed)
    axis.plot(own, range(len(LABELS)), linestyle="none", **look("definition")._asdict())
    axis.set_yticks(range(len(LABELS)), LABELS.values())
    axis.set(
        xlabel=f"accuracy (%) with {SIZES[0]} samples",
        title=f"{TITLES[name]}: up to {max(luck(name, row) for row in LABELS):.1f} points of luck",
    )
run.figure(
    fig,
    "table2",
    caption="Stars: as printed. Crosses: ours on the paper's split. Others: mean and two standard "
    f"errors over {len(further_splits)} further splits.",
)
luckiest = datasets[-1]
best = max(LABELS, key=lambda row: luck(luckiest, row))
run.say(
    "With {n} images of {data}, {method} reaches {own:.2f} % on the paper's split and "
    "{mean:.2f} % on {count} further ones.",
    n=SIZES[0],
    data=TITLES[luckiest],
    method=LABELS[best],
    own=table[luckiest, best][0],
    mean=mean_se(further[luckiest, best][:, 0]),
    count=len(further_splits),
)

# %%
for name in datasets:
    lines = []
    for row in LABELS:
        line = {"method": LABELS[row]}
        for i, (n, score) in enumerate(zip(SIZES, map(mean_se, further[name, row].T), strict=True)):
            line[f"n = {n}"] = f"{table[name, row][i]:.2f}"
            if name in PAPER:
                line[f"paper, {n}"] = f"{PAPER[name][row][i]:.2f}"
            line[f"further splits, {n}"] = f"{score:.2f}"
        lines.append(line)
    if name in CNN:
        label = "best CNN, as published" if name == "mnist" else "ResNet, as published"
        printed = zip(SIZES, CNN[name], strict=True)
        lines.append({"method": label} | {f"paper, {n}": f"{value:.2f}" for n, value in printed})
    run.table(
        lines,
        f"table2-{name}",
        caption=f"Test accuracy in per cent, {TITLES[name]}: on the paper's split, as printed, and "
        f"over {len(further_splits)} further splits with {further_test:,} test images each (mean "
        "and standard error).",
    )

# %%
for claimed, name in zip(("mnist", "emnist"), DATA, strict=True):
    for row in LABELS:
        over_splits = ", ".join(f"{score:.2f}" for score in map(mean_se, further[name, row].T))
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
# Is a printed number that of any split? Twenty more, drawn for this question alone, with the best
# kernel for a hundred letters; at a hundred letters, where splits differ most, 250 more:

# %%
several = np.array([accuracies(DATA[1], "l-ti-ri", s, degree) for s in lucky_splits])
many = [accuracies(DATA[1], "l-ti-ri", s, degree, SIZES[:1]) for s in many_splits]
of_size = [mean_se(values) for values in (np.ravel(many), *several.T[1:])]
run.claim(
    "liu2022/table2-emnist-further-splits",
    value=[one.mean for one in of_size],
    se=[one.se for one in of_size],
    repetitions=len(several),
    spread=f"{len(many)} splits at {SIZES[0]}, {len(several)} at other sizes",
    data=stand_in,
)

# %% [markdown]
# ## Does every kernel gain?
#
# "All SVMs with newly defined kernels improve upon the test accuracy of the original SVM." With
# $C$ chosen for each machine by five-fold cross-validation on its own training sample, over the
# further splits; `transformed_mnist` adds the digits that move and records the claim.


# %%
@run.cache
def with_cost_chosen(name, row, split, degree):
    """Accuracy (%) by size, the constant C by cross-validation."""
    both, (_, y, _, y_test) = matrices(name, row, split), split_of(name, split)
    costs = [best_cost(both[0][:n, :n], y[:n], COSTS)[1] for n in SIZES]
    return [
        100 * machine(both[0][:n, :n], y[:n], C).score(both[1][:, :n], y_test)
        for n, C in zip(SIZES, costs, strict=True)
    ]


KERNELS = [row for row in LABELS if row not in ("tangent-distance", "average-fit")]
chosen = {
    (name, row): np.array([with_cost_chosen(name, row, s, degree) for s in further_splits])
    for name in datasets
    for row in KERNELS
}
run.table(
    [
        {"data": name, "kernel": LABELS[row], "n": n}
        | {f"split {s}": values[k, i] for k, s in enumerate(further_splits)}
        for (name, row), values in chosen.items()
        for i, n in enumerate(SIZES)
    ],
    "by-split",
    caption="Test accuracy (%) on each further split, C by cross-validation.",
)
fig, axes = plt.subplots(1, len(datasets), figsize=(5.4 * len(datasets), 3.8), squeeze=False)
for axis, name in zip(axes[0], datasets, strict=True):
    gains = {LABELS[r]: chosen[name, r][:, 0] - chosen[name, "svm"][:, 0] for r in KERNELS[:-1]}
    rows(axis, [mean_se(gain) for gain in gains.values()], KERNELS[:-1])
    axis.set_yticks(range(len(gains)), gains)
    axis.axvline(0, color="0.6")
    axis.set(
        xlabel=f"points above the plain SVM, {SIZES[0]} samples",
        title=f"{TITLES[name]}: the least gain is {min(map(np.mean, gains.values())):.1f} points",
    )
run.figure(fig, "gains", caption="C chosen for each machine; mean and two standard errors.")

# %% [markdown]
# ## Tangent distance: neighbours or a machine?
#
# "The test accuracy of TD-based nearest neighbors is better than that of TD-based SVMs." The
# machine's kernel is $\exp(-d(x, z)^2 / w)$ with the same two-sided distance $d$; $w$, a multiple of
# the median of $d^2$, and $C$ by cross-validation. It need not be positive definite, and is left so.


# %%
@run.cache
def with_tangent_kernel(name, split):
    """Accuracy (%) of the machine, by size."""
    _, y, _, y_test = split_of(name, split)
    own, other = (d.astype(float) ** 2 for d in matrices(name, "tangent-distance", split))
    found = []
    for n in SIZES:
        widths = np.multiply((0.25, 0.5, 1, 2), np.median(own[:n, :n]))
        tried = {w: best_cost(np.exp(-own[:n, :n] / w), y[:n], COSTS) for w in widths}
        w = max(tried, key=lambda width: tried[width][0])
        fitted = machine(np.exp(-own[:n, :n] / w), y[:n], tried[w][1])
        found.append(100 * fitted.score(np.exp(-other[:, :n] / w), y_test))
    return found


order, scores = [], {}
for claimed, name in zip(("mnist", "emnist"), DATA, strict=True):
    machines = np.array([with_tangent_kernel(name, split) for split in further_splits])
    for i, n in enumerate(SIZES):
        one, other = (f"tangent {what}, {claimed} at {n}" for what in ("neighbours", "machine"))
        scores |= {one: further[name, "tangent-distance"][:, i], other: machines[:, i]}
        order.append(f"{one} > {other}")
run.claim("liu2022/tangent-neighbours", order=order, scores=scores, paired=True, data=stand_in)

# %% [markdown]
# ## Against networks
#
# The paper compares its best row with the published numbers of the best of many convolutional
# networks (D'Souza et al. 2020) for MNIST and of its own ResNet for EMNIST: we do so on the paper's
# split. On ten splits drawn for this question a residual network is trained from scratch on the very
# same samples. Which row is the best one must not be seen on test images: we take the invariant row
# that five-fold cross-validation on the training sample takes, for each split and size.


# %%
@run.cache
def validated(name, row, split, n, degree):
    """Mean accuracy over five folds of the first n training images."""
    X, y, _, _ = split_of(name, split)
    if split in network_splits:  # test images are not needed for most rows
        gram = kernels_of(name)[row](X[:n], X[:n]).astype(np.float32)
    else:
        gram = matrices(name, row, split)[0][:n, :n]
    return best_cost(gram, y[:n], costs=(1,))[0]


def accuracy_taken(name, split, n):
    """Test accuracy (%) of the invariant row that cross-validation takes."""
    row = max(INVARIANT, key=lambda row: validated(name, row, split, n, degree))
    if split not in network_splits:
        return accuracies(name, row, split, degree)[SIZES.index(n)]
    _, y, _, y_test = split_of(name, split)
    train, test = matrices(name, row, split, n)
    return 100 * machine(train, y[:n]).score(test, y_test)


@run.cache
def with_residual_network(name, split, recipe):
    """Accuracy (%) of a network trained from scratch, by size."""
    X, y, X_test, y_test = split_of(name, split)
    network = ResidualNetwork(shape, random_state=split, **recipe)
    return [100 * network.fit(X[:n], y[:n]).score(X_test, y_test) for n in SIZES]


# %%
order, scores = [], {}
for claimed, name in zip(("mnist", "emnist"), DATA, strict=True):
    trained = [with_residual_network(name, s, recipe) for s in network_splits if with_network]
    for i, n in enumerate(SIZES):
        own, network = f"{claimed} at {n}, paper's split", f"{claimed} network at {n}"
        scores |= {own: accuracy_taken(name, 0, n), network: CNN[claimed][i]}
        order.append(f"{own} > {network}")
        if trained:
            own, network = f"{claimed} at {n}, ten splits", f"network trained on {claimed} at {n}"
            scores[own] = np.array([accuracy_taken(name, split, n) for split in network_splits])
            scores[network] = np.array(trained)[:, i]
            order.append(f"{own} > {network}")
run.claim(
    "liu2022/table2-beats-cnn",
    order=order,
    scores=scores,
    paired=True,
    exact="one split, and printed numbers: nothing is random",
    data=stand_in,
    note="the row taken by cross-validation on the training sample, C = 1",
)

# %% [markdown]
# ## Best when samples are few?
#
# The paper's larger claim is that these kernels are the best choice for small samples. Three
# competitors on the same splits: the plain kernel on shifted copies of the images, scattering
# features with a Gaussian kernel, and a residual network trained from scratch. Constants of all
# machines, and the row of Table 2, come from five-fold cross-validation on the training sample; for
# shifted copies, on the images without their copies.
#
# The network keeps one recipe, for both data sets and all sizes. It was not chosen on these images: of
# six learning rates and numbers of epochs it was right most often on other training digits, moved on the
# 64 × 64 canvas, in the choosing stage that `transformed_mnist` had before it chose for each size.


# %%
@run.cache
def with_best_fit(name, split, degree):
    """Accuracy (%) of the invariant row and constant that cross-validation takes, by size."""
    _, y, _, y_test = split_of(name, split)
    both, found = {row: matrices(name, row, split) for row in INVARIANT}, []
    for n in SIZES:
        tried = {row: best_cost(both[row][0][:n, :n], y[:n], COSTS) for row in INVARIANT}
        row = max(tried, key=lambda r: tried[r][0])
        fitted = machine(both[row][0][:n, :n], y[:n], tried[row][1])
        found.append(100 * fitted.score(both[row][1][:, :n], y_test))
    return found


@run.cache
def with_copies(name, split, degree):
    """Accuracy (%) of the plain kernel on all shifted copies of the training images, by size."""
    X, y, X_test, y_test = split_of(name, split)
    kernel, found = kernels_of(name)["svm"], []
    group = Translations(shape, max_shift=reach, boundary="zero")
    for n in SIZES:
        _, C = best_cost(kernel(X[:n]), y[:n], COSTS)
        copies = group.act(group.elements(), X[:n]).reshape(-1, X.shape[1])
        fitted = machine(kernel(copies), np.tile(y[:n], group.order), C)
        found.append(100 * fitted.score(kernel(X_test, copies), y_test))
    return found


# %%
def squared_distances(A, B):
    return np.maximum((A**2).sum(1)[:, None] + (B**2).sum(1) - 2 * A @ B.T, 0)


@run.cache
def with_scattering(name, split):
    """Accuracy (%) of a Gaussian kernel on scattering features, by size."""
    X, y, X_test, y_test = split_of(name, split)
    scattering = Scattering(shape).fit(X)
    A, B = scattering.transform(X), scattering.transform(X_test)
    # Of the same total variance as the images, so that the widths suit both.
    scale = X.var(axis=0).sum() / A.var(axis=0).sum()
    own, other, found = scale * squared_distances(A, A), scale * squared_distances(B, A), []
    for n in SIZES:
        tried = {gamma: best_cost(np.exp(-gamma * own[:n, :n]), y[:n], COSTS) for gamma in GAMMAS}
        gamma = max(tried, key=lambda g: tried[g][0])
        fitted = machine(np.exp(-gamma * own[:n, :n]), y[:n], tried[gamma][1])
        found.append(100 * fitted.score(np.exp(-gamma * other[:, :n]), y_test))
    return found


# %%
OPPONENTS = {
    "shifted copies": lambda name, split: with_copies(name, split, degree),
    "scattering": with_scattering,
    "residual network": lambda name, split: with_residual_network(name, split, recipe),
}
if not with_network:
    del OPPONENTS["residual network"]
    run.say("PyTorch is not installed: the network is left out.")
ALL = OPPONENTS | {"best fit": lambda name, split: with_best_fit(name, split, degree)}
order, scores = [], {}
for name in datasets:
    found = {m: np.array([of(name, s) for s in baseline_splits]) for m, of in ALL.items()}
    for i, n in enumerate(SIZES):
        scores |= {f"{method}, {name} at {n}": values[:, i] for method, values in found.items()}
        order += [f"best fit, {name} at {n} > {other}, {name} at {n}" for other in OPPONENTS]
run.claim(
    "liu2022/best-when-few",
    order=order,
    scores=scores,
    paired=True,
    data=stand_in,
    note=f"{len(baseline_splits)} splits; rows and constants cross-validated on training images",
)

# %% [markdown]
# ## Try it
#
# `invariance run liu2022/few_samples -p degree 4`: kernels of a lower degree, closer to linear.
