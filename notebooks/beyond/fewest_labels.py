# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How many images of a class are enough to read digits and letters?
#
# *Yu, Mineyev, Varshney and Evans, Learning from one and only one shot, npj Artificial Intelligence (2025).*
#
# One to twenty images of a class, no other image of any kind, and the whole test set: how many are
# needed to read nine in ten digits, or three in four letters? Yu et al. answer with nearest neighbours in
# a space of human-like distortions, and beat networks and classical learners. Here scattering coefficients
# and deformed copies of the few images answer, as in `beyond/few_samples`.
#
# ## The protocol
#
# - *Theirs*: the first N training images of each class, in the order of the files, and all test images;
#   the smallest N with an accuracy of 90 % on MNIST, and of 75 % on EMNIST letters.
# - *Settings* are those that `beyond/few_samples` chose by leaving one out of 200 training images, and are
#   the same for every N. The learner is ridge regression with a Gaussian kernel of unit vectors; with
#   copies, there are 4,000 images altogether, for every N, as many as there.
# - *An earlier run* had half as many copies and at most ten letters of a class, and did not reach the
#   accuracy for letters. Its test accuracies had been seen when this protocol was set.
# - Beside it: the nearest neighbour by pixels, and scattering without copies.
# - Intervals are Wilson's at 95 %, over the test images. The first N images are one sample, which may be
#   a lucky one: two random samples of equal size are measured at the smallest N and one below.
# - Published numbers: the curves are in figure 2 of the paper, and no text or table that we found has them.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1  # of the copies and of random samples

# %%
from dataclasses import dataclass
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binomtest
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsClassifier

from invariance.beyond import Scattering
from invariance.companion import Run, mean_se, panel
from invariance.datasets import (
    balanced_sample,
    deform_images,
    load_digits_images,
    load_emnist_letters,
    load_mnist,
)
from invariance.kernels import Gaussian

run = Run("beyond/fewest_labels", profile=profile, seed=seed)


# %%
@dataclass(frozen=True)
class Task:
    """A data set, the accuracy to reach, and the settings of both scattering methods.

    Settings are pairs of gamma and alpha; the strength of copies is noise on the linear map and the
    bend in pixels.
    """

    title: str
    load: object
    aim: float
    numbers: tuple
    strength: tuple
    scattering: tuple
    with_copies: tuple


# %% tags=["settings"]
if run.quick:
    TASKS = {
        "digits": Task(
            "bundled digits",
            load_digits_images,
            90.0,
            (1, 2, 3),
            (0.2, 0.6),
            (0.5, 1e-6),
            (0.5, 1e-6),
        )
    }
    N_WITH_COPIES = 60
    N_SAMPLES = 2
    MOST_TEST = 50
else:
    TASKS = {
        "mnist": Task(
            "MNIST",
            load_mnist,
            90.0,
            tuple(range(1, 7)),
            (0.2, 0.6),
            (0.5, 1e-6),
            (0.5, 1e-6),
        ),
        "emnist": Task(
            "EMNIST letters",
            load_emnist_letters,
            75.0,
            tuple(range(1, 21)),
            (0.2, 0.6),
            (1.0, 1e-4),
            (1.0, 1e-6),
        ),
    }
    N_WITH_COPIES = 4000  # training images and copies together
    N_SAMPLES = 2
    MOST_TEST = None  # all test images
AT_ONCE = 4000  # test images
METHODS = {"nearest pixels": "raw", "scattering": "scattering", "scattering, copies": "haar"}

# %% [markdown]
# ## Images


# %%
@cache
def images_of(name):
    """Return images in [0, 1], classes from 0, and the number of training images."""
    data = TASKS[name].load()
    images = data.data.astype(np.float32) / 255
    classes = np.unique(data.target)
    return images, np.searchsorted(classes, data.target), data.n_train


def first_of_each_class(labels, n):
    """Return the rows of the first n images of each class, class after class."""
    classes = range(labels.max() + 1)
    return np.concatenate([np.flatnonzero(labels == label)[:n] for label in classes])


def training_sample(name, n, order):
    """Return n images of each class, the first ones if the order is zero, and their classes."""
    images, labels, n_train = images_of(name)
    if order == 0:
        rows = first_of_each_class(labels[:n_train], n)
    else:
        rows = balanced_sample(labels[:n_train], n, random_state=1000 * seed + order)
    return images[rows], labels[rows]


for task in TASKS.values():
    run.uses_data(task.load())

# %% [markdown]
# ## Descriptions

# %%
scattering = Scattering((28, 28), n_scales=2).fit(np.zeros((1, 784), np.float32))


def unit_vectors(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def described(images):
    """Return unit vectors of scattering coefficients."""
    return unit_vectors(scattering.transform(images.reshape(len(images), -1)))


@cache
def test_of(name):
    """Return unit vectors of pixels and of scattering coefficients, and classes of test images."""
    images, labels, n_train = images_of(name)
    images = images[n_train:][:MOST_TEST]
    pixels = unit_vectors(images.reshape(len(images), -1))
    return pixels, described(images), labels[n_train:][:MOST_TEST]


def with_copies(images, strength):
    """Return images followed by deformed copies, in the same order again and again."""
    n_copies = N_WITH_COPIES // len(images) - 1
    linear, bend = strength
    repeated = np.tile(images, (n_copies, 1, 1))
    copies = deform_images(repeated, linear=linear, bend=bend, random_state=seed)
    return np.concatenate([images, copies])


# %% [markdown]
# ## Right answers


# %%
def ridge_classes(X, labels, X_test, gamma, alpha):
    """Return the classes that ridge regression gives to test points, some at a time."""
    kernel = Gaussian(gamma)
    targets = np.where(labels[:, None] == np.arange(labels.max() + 1), 1.0, -1.0)
    model = KernelRidge(alpha=alpha * len(X), kernel="precomputed")
    model.fit(kernel(X), targets - targets.mean(axis=0))
    decisions = []
    for start in range(0, len(X_test), AT_ONCE):
        decisions.append(model.predict(kernel(X_test[start : start + AT_ONCE], X)))
    return np.concatenate(decisions).argmax(axis=1)


# %%
def predicted_classes(name, method, n, order):
    """Return the classes that a method gives to the test images."""
    task = TASKS[name]
    images, labels = training_sample(name, n, order)
    pixels, coefficients, _ = test_of(name)
    if method == "nearest pixels":
        X = unit_vectors(images.reshape(len(images), -1))
        return KNeighborsClassifier(1).fit(X, labels).predict(pixels)
    if method == "scattering":
        return ridge_classes(described(images), labels, coefficients, *task.scattering)
    copies = with_copies(images, task.strength)
    repeated = np.tile(labels, len(copies) // len(images))
    return ridge_classes(described(copies), repeated, coefficients, *task.with_copies)


# %%
@run.cache
def n_right(name, method, n, order):
    """Return the number of right answers and of test images."""
    labels = test_of(name)[2]
    predicted = predicted_classes(name, method, n, order)
    return int(np.sum(predicted == labels)), len(labels)


# %%
def accuracy(name, method, n, order=0):
    """Return the accuracy in per cent."""
    right, total = n_right(name, method, n, order)
    return 100 * right / total


def with_interval(name, method, n):
    """Return the accuracy with Wilson's interval, as text."""
    right, total = n_right(name, method, n, 0)
    interval = binomtest(right, total).proportion_ci(method="wilson")
    return f"{100 * right / total:.2f} ({100 * interval.low:.2f} to {100 * interval.high:.2f})"


def smallest_number(name, method):
    """Return the smallest number of images of a class that reaches the aim, or None."""
    for n in TASKS[name].numbers:
        if accuracy(name, method, n) >= TASKS[name].aim:
            return n
    return None


# %%
for name, task in TASKS.items():
    rows = []
    for n in task.numbers:
        row = {"images of a class": n}
        for method in METHODS:
            row[f"{method} (%)"] = with_interval(name, method, n)
        rows.append(row)
    n_test = n_right(name, "scattering", 1, 0)[1]
    run.table(
        rows,
        f"accuracy-{name}",
        caption=f"{task.title}: the first images of each class, {n_test:,} test images, 95 % "
        "intervals.",
    )

# %% [markdown]
# ## The smallest numbers


# %%
def of_samples(name, n):
    """Return the accuracies of random samples of n images of a class."""
    values = []
    for order in range(1, N_SAMPLES + 1):
        values.append(accuracy(name, "scattering, copies", n, order))
    return np.array(values)


# %%
rows = []
smallest = {}
for name, task in TASKS.items():
    smallest[name] = smallest_number(name, "scattering, copies")
    row = {"data": task.title, "accuracy to reach (%)": f"{task.aim:g}"}
    for method in METHODS:
        n = smallest_number(name, method)
        row[method] = n or f"more than {task.numbers[-1]}"
    last = smallest[name] or task.numbers[-1]
    row["random samples (%)"] = f"{mean_se(of_samples(name, last)):.2f}"
    row["one image less (%)"] = ""
    if last > 1:
        row["one image less (%)"] = f"{mean_se(of_samples(name, last - 1)):.2f}"
    row["published"] = "not found"
    rows.append(row)
run.table(
    rows,
    "smallest",
    caption="Smallest number of images of a class that reaches the accuracy. Random samples: "
    f"scattering with copies, mean and standard error of {N_SAMPLES} at this number.",
)

# %%
fig, axes = plt.subplots(1, len(TASKS), figsize=(4.5 * len(TASKS), 3.8), squeeze=False)
for axis, (name, task) in zip(axes[0], TASKS.items(), strict=True):
    curves = {}
    for method, style in METHODS.items():
        curves[method] = (style, [accuracy(name, method, n) for n in task.numbers], {})
    curves["to reach"] = ("bound", [task.aim] * len(task.numbers), {"linestyle": ":", "marker": ""})
    panel(axis, task.numbers, curves, xlabel="training images of a class")
    if smallest[name]:
        reached = f"{smallest[name]} of a class reach"
    else:
        reached = f"{task.numbers[-1]} of a class do not reach"
    axis.set_title(f"{task.title}: {reached} {task.aim:g} %")
axes[0, 0].set_ylabel("test accuracy (%)")
run.figure(
    fig,
    "fewest",
    caption="The first images of each class, all test images. Dots: the accuracy to reach.",
)

# %%
for name, task in TASKS.items():
    n = smallest[name] or task.numbers[-1]
    run.say(
        "{data}: with {n} images of a class, scattering with copies reads {right:.1f} % of the test "
        "images, scattering alone {alone:.1f} % and the nearest pixels {pixels:.1f} %; the accuracy to "
        "reach is {aim:g} %.",
        data=task.title,
        n=n,
        right=accuracy(name, "scattering, copies", n),
        alone=accuracy(name, "scattering", n),
        pixels=accuracy(name, "nearest pixels", n),
        aim=task.aim,
    )

# %% [markdown]
# ## Limits
#
# Settings were chosen on samples of 200 labelled training images, more than are then used: they are prior
# knowledge about handwriting, which the few images alone do not give. Yu et al. train nothing and have
# settings of their own. The deformations of the copies were designed for handwriting.
#
# ## Try it
#
# `invariance run beyond/fewest_labels -p seed 2`: other copies of the same images.
