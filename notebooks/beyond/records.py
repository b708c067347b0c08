# ---
# jupyter:
#   invariance:
#     reads: [beyond/rotated_mnist, beyond/cifar10, beyond/few_samples, beyond/qm7,
#       compare/series, compare/graphs]
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # MNIST, CIFAR-10, QM7 and others: records without a trained network
#
# How accurate are a kernel, a group and ridge regression on the usual data sets? This page compares the
# results of other notebooks with published numbers that need no trained network, and lists for each the
# source, our cost, and the command that repeats it. We have fewer errors on most tasks, but most of the
# published numbers are not the best known.
#
# The table classifies each published number: it is the best that we know of, the best of a table that
# this project reproduces (better results have been published since), or known to be beaten. Two rows are
# measured in this notebook.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
from dataclasses import dataclass
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _edge_ideas import side_by_side, two_layers
from _patches import centred, patch_pooling, pooled

from invariance.companion import Run, Score, colour, mean_se, rows, saved
from invariance.datasets import (
    balanced_sample,
    deform_images,
    load_cifar10,
    load_digits_images,
    load_mnist,
    make_rotated_mnist,
    make_textures,
)
from invariance.features import AngularBasis, median_gamma
from invariance.kernels import Average, Gaussian
from invariance.linear import RLSClassifier, left_out_with_copies

run = Run("beyond/records", profile=profile, seed=seed)

# %% tags=["settings"]
QUICK = run.quick
if QUICK:
    CIFAR_SIZES = [10, 20]  # training images
    N_CIFAR_DRAWS = 2
    N_CIFAR_TEST = 20
    N_TEMPLATES = 20
    N_PATCHES = 2000
    N_COMPONENTS = 20
    UPRIGHT_SIZES = [20, 60]
    N_TURNED = 60  # test digits at any angle
    N_TURNED_DRAWS = 2
    N_IDEAS = 60  # images to try ideas on
else:
    CIFAR_SIZES = [10, 80, 640]
    N_CIFAR_DRAWS = 6
    N_CIFAR_TEST = 800
    N_TEMPLATES = 400
    N_PATCHES = 20_000
    N_COMPONENTS = 60
    UPRIGHT_SIZES = [100, 1000]
    N_TURNED = 1000
    N_TURNED_DRAWS = 3
    N_IDEAS = 3000

# %% [markdown]
# ## CIFAR-10 with 10 to 640 images
#
# The protocol is that of Arora et al. (2020): equally many images of each class, no further training
# images, and test images from the test set. Features and settings are those that `beyond/cifar10` chose
# on training images; whitening and templates come from the few images alone. The learner is regularised
# least squares, with its penalty by leave-one-out.


# %%
def photographs():
    """Return CIFAR-10, or synthetic textures in the quick profile."""
    if QUICK:
        return make_textures(length=2.0, width=1.2, random_state=0)
    return load_cifar10()


run.uses_data(photographs())


# %%
@run.cache
def few_photographs(n, draw):
    """Return the accuracy (%) on test images with n training images, and CPU seconds."""
    data = photographs()
    rng = np.random.RandomState(1000 * seed + draw)
    n_classes = len(np.unique(data.target))
    train = balanced_sample(data.target[: data.n_train], n // n_classes, random_state=rng)
    n_all_test = len(data.target) - data.n_train
    test = data.n_train + rng.permutation(n_all_test)[:N_CIFAR_TEST]
    chosen = np.r_[train, test]
    n_train = len(train)
    start = process_time()
    images = centred(data.data[chosen].reshape(len(chosen), -1).astype(np.float32) / 255)
    pooling = patch_pooling(
        images[:n_train],
        every=3,
        patches=N_PATCHES,
        components=N_COMPONENTS,
        templates=N_TEMPLATES,
        threshold=0.1,
        seed=draw,
    )
    features = np.sqrt(pooled(pooling, images))
    features = features - features[:n_train].mean(axis=0)
    squared_norms = np.square(features[:n_train]).sum(axis=1)
    features /= np.sqrt(squared_norms.mean())
    model = RLSClassifier().fit(features[:n_train], data.target[train])
    accuracy = model.score(features[n_train:], data.target[test])
    return 100 * accuracy, process_time() - start


# %%
CNTK = {10: 15.33, 20: 18.79, 40: 21.34, 80: 25.48, 160: 30.48, 320: 36.57, 640: 42.63}  # printed
cifar = {}
table = []
for n in CIFAR_SIZES:
    cifar[n] = np.array([few_photographs(n, draw) for draw in range(N_CIFAR_DRAWS)])
    accuracies, seconds = cifar[n].T
    row = {"training images": n, "ours (%)": f"{mean_se(accuracies):.2f}"}
    if not QUICK:
        row["CNTK, as published (%)"] = CNTK[n]
        row["distance"] = f"{accuracies.mean() - CNTK[n]:+.2f}"
    row["CPU seconds"] = round(seconds.mean(), 1)
    table.append(row)
data_note = " (synthetic textures)" if QUICK else ""
run.table(
    table,
    "few-photographs",
    caption=f"Means and standard errors over {N_CIFAR_DRAWS} draws of training images and of "
    f"{N_CIFAR_TEST:,} test images{data_note}; seconds for features, training and testing.",
)

# %% [markdown]
# ## Upright training, tests at any angle
#
# The average over the circle is exact (`AngularBasis`): training needs no turned image.

# %%
if QUICK:
    digits = load_digits_images()
else:
    digits = load_mnist()
run.uses_data(digits)


# %%
@run.cache
def turned_digits(n, average, draw):
    """Return the accuracy (%) on turned digits with n upright ones, and CPU seconds."""
    rng = np.random.RandomState(1000 * seed + draw)
    n_train = digits.n_train
    train = balanced_sample(digits.target[:n_train], n // 10, random_state=rng)
    test = make_rotated_mnist(
        digits.data[n_train:],
        digits.target[n_train:],
        n_train=10,
        n_test=N_TURNED,
        random_state=draw,
    )
    images = np.concatenate([digits.data[train] / 255.0, test.data[10:]])
    images = images.reshape(len(images), -1)
    start = process_time()
    basis = AngularBasis((28, 28)).fit(images[:1])
    X = basis.transform(images).astype(np.float32)
    kernel = Gaussian(3 * median_gamma(X[:n], random_state=0))
    if average:
        kernel = Average(kernel, basis.rotations(n_nodes=64))
    model = RLSClassifier(kernel=kernel).fit(X[:n], digits.target[train])
    return 100 * model.score(X[n:], test.target[10:]), process_time() - start


# %%
averaged = {}
table = []
for n in UPRIGHT_SIZES:
    draws = range(N_TURNED_DRAWS)
    plain = np.array([turned_digits(n, False, draw) for draw in draws])
    averaged[n] = np.array([turned_digits(n, True, draw) for draw in draws])
    row = {
        "upright training digits": n,
        "plain (%)": f"{mean_se(plain[:, 0]):.2f}",
        "averaged (%)": f"{mean_se(averaged[n][:, 0]):.2f}",
        "CPU seconds": round(averaged[n][:, 1].mean(), 1),
    }
    table.append(row)
run.table(
    table,
    "turned-digits",
    caption=f"Accuracy on {N_TURNED:,} test digits at any angle, means and standard errors over "
    f"{N_TURNED_DRAWS} draws. Gaussian kernel, plain and averaged over the circle.",
)

# %% [markdown]
# ## Collecting the records
#
# A record has a published number with its source and standing, and our score with its cost and its
# notebook.

# %%
PERCENT = "accuracy (%)"
CPU = "CPU seconds"
BEST_KNOWN = "best known to us"
REPRODUCED = "best of a table reproduced here"
BEATEN = "beaten by others, see source"
NONE = "none found"
SAME_RESAMPLES = "run beside; larger ensembles do better"


@dataclass
class Measured:
    """A score of ours, its seconds as text or number, and its notebook."""

    score: Score
    seconds: object
    notebook: str


# %%
@dataclass
class Record:
    """A published number beside ours."""

    task: str
    published: float | None
    source: str
    standing: str
    ours: Measured | None

    def error(self, value):
        """Return the share of errors in per cent, or the error itself."""
        if "kcal" in self.task:
            return value
        return 100 - value

    def ratio(self):
        """Return our error divided by the published one."""
        published_error = self.error(self.published)
        score = self.ours.score
        return Score(self.error(score.mean) / published_error, score.se / published_error)


# %% [markdown]
# Scores are read from the published tables of the other notebooks.


# %%
def read(notebook, table, where, column, seconds=None):
    """Return a measured cell of another notebook's table, or None if it is not measured."""
    source = saved(notebook, table, profile)
    if source is None:
        return None
    cells, _ = source
    for name, value in where.items():
        cells = cells[cells[name] == value]
    (row,) = cells.to_dict("records")
    mean, _, se = str(row[column]).partition(" ± ")
    score = Score(float(mean), float(se or row.get("se", 0)))
    return Measured(score, row.get(seconds, ""), notebook)


# %%
def measured_here(values):
    """Return a score of this notebook from accuracies and seconds, one row per draw."""
    accuracies, seconds = values.T
    return Measured(Score(*mean_se(accuracies)), round(seconds.mean(), 1), run.notebook)


# %% [markdown]
# The sources of published numbers: Raj et al. 2017, tables 1 and 2; Shankar et al. 2020 (neural
# kernels without tangents), 90 % on CIFAR-10; [Arora et al. 2020](https://arxiv.org/abs/1910.01663),
# CIFAR-10 with few images, copied from a program that repeats them, not from the paper; Liu et al.
# 2022, table 2; MiniRocket, run beside ours on the same resamples; Togninalli et al. 2019 (WWL).
# All are kernels or random features with a linear learner.

# %%
images_records = [
    Record(
        "Rotated MNIST (rebuilt)",
        97.21,
        "Raj et al. 2017, table 2",
        REPRODUCED,
        read(
            "beyond/rotated_mnist",
            "accuracy",
            {"features and kernel": "edges and edges of edges"},
            PERCENT,
            f"{CPU} a set",
        ),
    ),
    Record(
        f"{UPRIGHT_SIZES[-1]:,} upright digits, any angle",
        None,
        "",
        NONE,
        measured_here(averaged[UPRIGHT_SIZES[-1]]),
    ),
]
CIFAR_FEW = f"CIFAR-10, {CIFAR_SIZES[-1]} images"
if not QUICK:
    images_records.append(
        Record(
            CIFAR_FEW,
            CNTK[CIFAR_SIZES[-1]],
            "CNTK, Arora et al. 2020; the kernels of Shankar et al. 2020 do better with few images",
            BEATEN,
            measured_here(cifar[CIFAR_SIZES[-1]]),
        )
    )

# %%
images_records.append(
    Record(
        "CIFAR-10, 46,000 images",
        90.0,
        "Shankar et al. 2020; deep kernel machines, which learn Gram matrices, reach 94.5",
        BEATEN,
        read(
            "beyond/cifar10",
            "accuracy",
            {"features": "Gaussian kernel, at full size"},
            PERCENT,
        ),
    )
)
for n, published in {100: 81.55, 200: 89.23, 500: 93.11}.items():
    ours = read(
        "beyond/few_samples",
        "accuracy-mnist",
        {"description": "scattering, copies"},
        f"n = {n}",
        f"{CPU} at the largest",
    )
    task = f"MNIST, {n} images"
    images_records.append(Record(task, published, "Liu et al. 2022, table 2", REPRODUCED, ours))

# %%
best_kernel = {"kernel": "between unlike elements"}
molecule_records = [
    Record(
        "QM7, RMSE (kcal/mol)",
        10.05,
        "Raj et al. 2017, table 1",
        REPRODUCED,
        read("beyond/qm7", "errors", best_kernel, "RMSE", f"{CPU} per fold"),
    ),
    Record(
        "QM7, MAE (kcal/mol)",
        1.19,
        "Collins et al. 2018, kernel ridge regression",
        BEST_KNOWN,
        read("beyond/qm7", "errors", best_kernel, "MAE", f"{CPU} per fold"),
    ),
    Record(
        "MUTAG",
        87.27,
        "WWL, Togninalli et al. 2019",
        BEST_KNOWN,
        read("compare/graphs", "accuracy", {"task": "MUTAG", "method": "node sets"}, PERCENT),
    ),
]

# %% [markdown]
# For series the published method was run on the same resamples as ours.


# %%
def series_cell(name, method, column):
    where = {"data": name, "method": method}
    return read("compare/series", "accuracy", where, column, "ms a series")


def series_record(name):
    """Return the record of one data set of the UCR archive, or None if it is not measured."""
    ours = series_cell(name, "ours", PERCENT)
    minirocket = series_cell(name, "MiniRocket", PERCENT)
    our_change = series_cell(name, "ours", "change with a shift (%)").score.mean
    change = series_cell(name, "MiniRocket", "change with a shift (%)").score.mean
    source = (
        f"MiniRocket, run beside (a shift changes {change:.0f} % of its answers, "
        f"{our_change:.0f} % of ours)"
    )
    return Record(f"UCR {name}", minirocket.score.mean, source, SAME_RESAMPLES, ours)


# %%
series_records = []
series_table = saved("compare/series", "accuracy", profile)
for name in ("OSULeaf", "ArrowHead", "GunPoint"):
    if series_table is not None:
        cells, _ = series_table
        if "MiniRocket" in cells[cells["data"] == name]["method"].tolist():
            series_records.append(series_record(name))


# %% [markdown]
# ## All records

# %%
records = {}
for record in [*images_records, *molecule_records, *series_records]:
    if record.ours is not None:
        records[record.task] = record
ratios = {task: record.ratio() for task, record in records.items() if record.published}

table = []
for task, record in records.items():
    row = {
        "task": task,
        "published": record.published or "",
        "source": record.source,
        "it is": record.standing,
        "ours": f"{record.ours.score}",
        "errors, ours / theirs": "",
        "seconds": record.ours.seconds,
        "command": f"invariance run {record.ours.notebook} --profile full",
    }
    if record.published:
        row["errors, ours / theirs"] = f"{ratios[task].mean:.2f}"
    table.append(row)
run.table(
    table,
    "records",
    caption="Accuracy in % or error in kcal/mol, with the standard error. Published: without a "
    "trained network. Seconds as the notebook counts them: CPU seconds, or milliseconds a series.",
)

# %%
tasks_ahead = [task for task, ratio in ratios.items() if ratio.mean + 2 * ratio.se < 1]
methods = ["haar" if task in tasks_ahead else "raw" for task in ratios]
fig, axis = plt.subplots(figsize=(7.5, 0.32 * len(ratios) + 1.2))
rows(axis, ratios, methods)
axis.axvline(1, color=colour("published"), lw=0.9)
axis.set_xlabel("error over the published one, without a trained network")
axis.set_title(f"Ours has fewer errors than published on {len(tasks_ahead)} of {len(ratios)} tasks")
axis.set_xscale("log")
axis.set_xticks([0.2, 0.5, 1, 2], ["0.2", "0.5", "1", "2"])
axis.minorticks_off()
run.figure(
    fig,
    "records",
    caption="Left of the line: fewer errors than the published number, which need not be the best "
    "known (see the table). Two standard errors of ours; in colour if they stay left of it.",
)

# %%
run.say(
    "Trained networks, as published: {rotated} % on rotated MNIST, {photographs} % on CIFAR-10.",
    rotated=99.3,
    photographs=96,
)

# %% [markdown]
# (The first is E2-CNN, the second the network beside the kernel of Shankar et al.) On all of CIFAR-10,
# kernels of many layers are far ahead of patches and least squares. For UCR series the shifts go around
# if outlines are closed (OSULeaf, ArrowHead), and answers are the same after any shift; for the other
# sets leave-one-out decides.
#
# ## The aims, and the distance to them
#
# The contribution of an ingredient is the difference of two rows in the table of its notebook.


# %%
def largest_steps(notebook, table, column):
    """Return the four largest differences between rows of a notebook's table, in words."""
    cells, _ = saved(notebook, table, profile)
    values = [float(str(value).split(" ± ")[0]) for value in cells[column]]
    steps = pd.Series(np.diff(values), index=cells.iloc[1:, 0])
    order = steps.abs().sort_values(ascending=False).index[:4]
    return "; ".join(f"{idea} {steps[idea]:+.2f}" for idea in order)


# %%
AIMS = {
    "Rotated MNIST (rebuilt)": 99.2,
    CIFAR_FEW: CNTK[CIFAR_SIZES[-1]],
    "CIFAR-10, 46,000 images": 82.0,
    "QM7, MAE (kcal/mol)": 0.9,
}
INGREDIENTS = {
    "Rotated MNIST (rebuilt)": ("beyond/rotated_mnist", "accuracy", PERCENT),
    "CIFAR-10, 46,000 images": ("beyond/cifar10", "accuracy", PERCENT),
    "QM7, MAE (kcal/mol)": ("beyond/qm7", "errors", "MAE"),
}
table = []
for task, aim in AIMS.items():
    if task in records:
        score = records[task].ours.score
        row = {"task": task, "aim": aim, "ours": f"{score}", "distance": f"{score.mean - aim:+.3f}"}
        row["what gave most"] = ""
        if task in INGREDIENTS:
            row["what gave most"] = largest_steps(*INGREDIENTS[task])
        table.append(row)
run.table(table, "aims", caption="Aims, distances, and the largest contributions of ingredients.")

# %% [markdown]
# Rotated MNIST stays below its aim, and three more ideas were tried on training images alone, those of the
# set that chose the settings of `beyond/rotated_mnist`. Each has the best of two weights of its second layer,
# of two bandwidths and of six penalties.
#
# - *Deformed copies*: each image is joined by a copy, stretched and bent a little.
# - *Roots*: square roots of edges before they are pooled, as for the patches of photographs.
# - *Coarse edges*: the second layer also has edges of coarse edges.


# %%
def images_for_ideas():
    """Return turned training images and their labels."""
    images = labels = None
    if QUICK:
        images, labels = load_digits_images().train
    turned = make_rotated_mnist(images, labels, n_train=N_IDEAS, n_test=10, random_state=0)
    return turned.data[:N_IDEAS].reshape(N_IDEAS, -1), turned.target[:N_IDEAS]


@run.cache
def best_left_out(power=1, coarse_edges=False, has_copies=False):
    """Return the best leave-one-out accuracy (%) of an idea."""
    images, labels = images_for_ideas()
    if has_copies:
        pictures = images.reshape(-1, 28, 28)
        copies = deform_images(pictures, linear=0.1, bend=0.3, random_state=seed)
        images = np.concatenate([images, copies.reshape(len(copies), -1).astype(images.dtype)])
    layers = two_layers(images, power=power, coarse_edges=coarse_edges)
    accuracies = []
    for ratio in (0.5, 1):
        X, circle = side_by_side(layers, ratio)
        for gamma in (4, 8):
            gram = Average(Gaussian(gamma), circle)(X)
            alphas = [3e-8, 1e-7, 3e-7, 1e-6, 3e-6, 1e-5]
            accuracies.append(left_out_with_copies(gram, labels, alphas=alphas))
    return 100 * np.nanmax(accuracies)


# %%
IDEAS = {
    "as it is": {},
    "deformed copies": {"has_copies": True},
    "roots": {"power": 0.5},
    "coarse edges": {"coarse_edges": True},
}
left_out = {idea: best_left_out(**options) for idea, options in IDEAS.items()}
table = []
for idea, accuracy in left_out.items():
    errors = round(N_IDEAS * (1 - accuracy / 100))
    table.append({"idea": idea, "leave-one-out accuracy (%)": f"{accuracy:.2f}", "errors": errors})
run.table(
    table,
    "ideas",
    caption=f"Ideas for rotated MNIST on {N_IDEAS:,} training images, each with the best of its settings.",
)
best_idea = max(list(IDEAS)[1:], key=left_out.get)
run.say(
    "The best of the three ideas, {idea}, changes the accuracy on training images by {gain:+.2f} points.",
    idea=best_idea,
    gain=left_out[best_idea] - left_out["as it is"],
)


# %% [markdown]
# ## Try it
#
# `invariance run beyond/records -p seed 1` draws the data of the two measured rows anew.
