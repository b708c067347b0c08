# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Many points: more than a Gram matrix holds
#
# *A kernel matrix of 60,000 images has more than three billion entries. There are ways around it: the
# first table shows when to use which, and the last one what they take for up to a million points.*
#
# | you have | take | cost grows with |
# |---|---|---|
# | up to some 10,000 points | the Gram matrix: `RLSClassifier(kernel=...)`, `SVC(kernel=...)` | n² |
# | more, and a kernel that has no features (best fit, locality) | landmarks: `OrbitNystroem(kernel=...)` | n times landmarks |
# | more, and a mean over a group | random features: `OrbitFourier(group)` | n times features |
# | more than fit into memory | random features, and `BlockRidgeClassifier.partial_fit` | the same, a block at a time |
# | a Dask array | the same features: `transform` returns a Dask array | the same, a block at a time |
# | the whole matrix, on disk or on many machines | `by_rows(kernel, X, out=...)` | n², in bounded memory |

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
landmarks: int = 50  # of Nystrom features; the full profile takes 125 and 250

# %%
import tracemalloc
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from numpy.lib.format import open_memmap

from invariance.companion import Run, colour, look
from invariance.companion.claim import duration
from invariance.core.parallel import by_rows
from invariance.datasets import load_digits_images, load_mnist
from invariance.features import OrbitFourier, OrbitNystroem
from invariance.groups import CyclicShifts, Rotations, Translations
from invariance.kernels import BestFit, Gaussian, Locality
from invariance.linear import BlockRidgeClassifier

run = Run("guides/many_points", profile=profile, seed=seed, landmarks=landmarks)

# %% tags=["settings"]
FULL = not run.quick
PENALTIES = np.logspace(-9, -2, 8)  # shares of the features' mean squared norm
if FULL:
    N_TRAIN = 6000  # images for landmarks
    N_TEST = 3000
    N_LANDMARKS = (125, 250)
    ANGLES = range(-5, 6)
    MAX_SHIFT = 7
    WINDOW = 7
    N_FEATURES = 500
    SIZES = (10_000, 100_000, 1_000_000)  # points of the last table
    BLOCK = 10_000
else:
    N_TRAIN = 600
    N_TEST = 300
    N_LANDMARKS = (landmarks // 2, landmarks)
    ANGLES = (-5, 0, 5)
    MAX_SHIFT = 1
    WINDOW = 3
    N_FEATURES = 200
    SIZES = (400, 1000, 4000)
    BLOCK = 200

# %%
data = load_mnist() if FULL else load_digits_images()
run.uses_data(data)
X, y = data.train
X_test, y_test = data.test
side = X.shape[1]
X = X.reshape(len(X), -1).astype(np.float32) / 255
X_test = X_test.reshape(len(X_test), -1).astype(np.float32) / 255
few = X[:N_TRAIN]
few_labels = y[:N_TRAIN]
X_test = X_test[:N_TEST]
y_test = y_test[:N_TEST]

# %% [markdown]
# ## 1. Landmarks, for a kernel without features
#
# Liu et al.'s best kernel, L-TI-RI, looks for the rotation and the shift under which two images
# match best, window by window. Nystrom features compare each image with a few landmarks instead of
# with all other images:
#
# $$\psi(x) = K_{ZZ}^{-1/2} \, K(Z, x) .$$
#
# Directions in which the landmarks' matrix is not positive are left out. In a pipeline that is
# `OrbitNystroem(None, 500, kernel=kernel)`. In this guide values are cached one block at a time, so that
# an interrupted run continues. The penalty is chosen on the last sixth of the training images.

# %%
rotations = Rotations((side, side), degrees=ANGLES)
shifts = Translations((side, side), max_shift=MAX_SHIFT)
base = Locality((side, side), window=WINDOW, powers=(2, 4))
kernel = BestFit(base, rotations.then(shifts))
rng = np.random.default_rng(seed)
all_landmarks = few[rng.choice(len(few), N_LANDMARKS[1], replace=False)]
print(kernel.explain(few, all_landmarks[: N_LANDMARKS[0]]))


@run.cache
def block_values(images, landmarks):
    """Return kernel values of images with landmarks, and the CPU minutes that they took."""
    start = process_time()
    values = kernel(images, landmarks)
    return values, (process_time() - start) / 60


# %%
def kernel_values(images, landmarks):
    """Return the same for many images, computed in blocks."""
    values = []
    minutes = 0.0
    for start in range(0, len(images), 2000):
        block, minutes_of_block = block_values(images[start : start + 2000], landmarks)
        values.append(block)
        minutes += minutes_of_block
    return np.concatenate(values), minutes


images = np.concatenate([few, X_test])
first_landmarks, second_landmarks = np.split(all_landmarks, [N_LANDMARKS[0]])
first_values, first_minutes = kernel_values(images, first_landmarks)
second_values, second_minutes = kernel_values(images, second_landmarks)
all_values = np.concatenate([first_values, second_values], axis=1)


# %% [markdown]
# The features are the kernel values times a whitening matrix. They agree with those of `transform`.


# %%
def accuracy_with(landmarks, values):
    """Return the accuracy (%) of ridge regression on Nystrom features of the kernel values."""
    nystroem = OrbitNystroem(None, len(landmarks), kernel=kernel, landmarks=landmarks, rcond=1e-6)
    nystroem.fit(landmarks)
    features = values @ nystroem.whitener_.T
    norm = float(np.sqrt(np.mean(np.sum(features**2, axis=1))))
    assert np.allclose(features[:20], nystroem.transform(few[:20]), rtol=0, atol=1e-2 * norm)
    train_features = features[: len(few)]
    cut = 5 * len(few) // 6

    def validation_score(model):
        model.fit(train_features[:cut], few_labels[:cut])
        return model.score(train_features[cut:], few_labels[cut:])

    models = [BlockRidgeClassifier(alpha=penalty * norm**2) for penalty in PENALTIES]
    best = max(models, key=validation_score)
    best.fit(train_features, few_labels)
    return 100 * best.score(features[len(few) :], y_test)


# %%
accuracies = [
    accuracy_with(first_landmarks, first_values),
    accuracy_with(all_landmarks, all_values),
]
minutes = [first_minutes, first_minutes + second_minutes]


# %% [markdown]
# ## 2. Features that stream
#
# Random features of a mean over a group need no landmarks, and a linear learner that keeps sums
# needs no earlier point: a million points can pass in blocks.

# %%
rotations = Rotations((side, side), degrees=range(-10, 11, 5))
features = OrbitFourier(rotations, N_FEATURES, random_state=seed).fit(X[:2000])
learner = BlockRidgeClassifier(alpha=1e-5)
start = process_time()
for block in np.array_split(np.arange(len(X)), max(1, len(X) // 1000)):
    learner.partial_fit(features.transform(X[block]), y[block], classes=np.arange(10))
streaming_minutes = (process_time() - start) / 60
streaming_accuracy = 100 * learner.score(features.transform(X_test), y_test)
run.say(
    "Streaming features: {accuracy:.1f} % after {n:,} points, each of which was in memory once.",
    accuracy=streaming_accuracy,
    n=int(learner.n_seen_),
)

# %% [markdown]
# ## 3. Accuracy and cost of both

# %%
rows = []
names = [f"{n} landmarks" for n in N_LANDMARKS]
for name, n_images, accuracy, minutes_of_name in zip(
    [*names, "streaming features"],
    [len(few), len(few), len(X)],
    [*accuracies, streaming_accuracy],
    [*minutes, streaming_minutes],
    strict=True,
):
    row = {
        "way": name,
        "training images": n_images,
        "accuracy (%)": round(accuracy, 2),
        "CPU minutes": round(minutes_of_name, 2),
    }
    rows.append(row)
run.table(
    rows,
    "ways",
    caption=f"{len(X_test):,} test images, one draw. Minutes of kernel values, and of features and sums.",
)


# %%
def drawn_way(axis, accuracy, minutes_of_way, method, name):
    """Draw accuracy against minutes, with two standard errors of the test images."""
    error = 2 * np.sqrt(accuracy * (100 - accuracy) / len(X_test))
    axis.errorbar(minutes_of_way, accuracy, error, linestyle="none", **look(method)._asdict())
    axis.annotate(f"  {name}", (minutes_of_way, accuracy), va="center", color=colour(method))


fig, axis = plt.subplots(figsize=(7, 3.8))
axis.set_xscale("log")
for n, accuracy, minutes_of_way in zip(N_LANDMARKS, accuracies, minutes, strict=True):
    drawn_way(axis, accuracy, minutes_of_way, "l-ti-ri", f"best fit, {n:,} landmarks")
drawn_way(axis, streaming_accuracy, streaming_minutes, "lgika", "streaming features")
all_minutes = [*minutes, streaming_minutes]
axis.set_xlim(min(all_minutes) / 2, 20 * max(all_minutes))
axis.set(xlabel="CPU minutes", ylabel="test accuracy (%)")
axis.set_title(
    f"Best fit with {N_LANDMARKS[-1]:,} landmarks is right at {accuracies[-1]:.1f} % of test images,\n"
    f"streaming features at {streaming_accuracy:.1f} % in {streaming_minutes / minutes[-1]:.0%} of the time"
)
run.figure(
    fig,
    "landmarks",
    caption="One draw; bars of two standard errors of the test images. Minutes of kernel values and of "
    "features.",
)

# %% [markdown]
# ## 4. From ten thousand to a million points
#
# What does each way take? The points below are noise in 32 dimensions, made block by block, the group
# consists of all cyclic shifts. Ridge regression on features $\Phi$ needs $\Phi^T \Phi$ and
# $\Phi^T y$, so each way that has features computes $\Phi^T \Phi / n$, and all agree.


# %%
D = 32
shifts = CyclicShifts(D)


def block_of_points(start, n_points):
    """Return one block of the points."""
    rng = np.random.default_rng([seed, start])
    return rng.standard_normal((n_points, D), dtype=np.float32)


def starts_of_blocks(n_points):
    """Return the index of the first point of each block."""
    return range(0, n_points, BLOCK)


def all_points(n_points):
    """Return all points as one array in memory."""
    return np.concatenate([block_of_points(start, BLOCK) for start in starts_of_blocks(n_points)])


features = OrbitFourier(shifts, 200, gamma=0.02, random_state=seed)
features.fit(block_of_points(0, BLOCK))

# %% [markdown]
# **In memory**, one call of `transform` makes all features at once. **In a stream**, one block is in
# memory at a time.


# %%
def in_memory(n_points):
    """Return second moments of features that are all in memory."""
    Phi = features.transform(all_points(n_points))
    return Phi.T @ Phi / n_points


def in_a_stream(n_points):
    """Return second moments of features, block by block."""
    sums = 0.0
    for start in starts_of_blocks(n_points):
        Phi = features.transform(block_of_points(start, BLOCK))
        sums = sums + Phi.T @ Phi
    return sums / n_points


# %% [markdown]
# **With Dask** the points may lie in files on many machines, and nothing is computed before `compute`:
# the features of a Dask array are a Dask array with the same blocks of rows. `kernel(X, Y)` of Dask arrays
# is one, too. `fit` and the learners refuse them, because they need values in memory: fit to some rows.
# Dask comes with the extra `dask`; without it, this notebook leaves it out.


# %%
def with_dask(n_points):
    """Return second moments of the features of a Dask array."""
    blocks = []
    for start in starts_of_blocks(n_points):
        block = dask.delayed(block_of_points)(start, BLOCK)
        blocks.append(dask.array.from_delayed(block, (BLOCK, D), np.float32))
    Phi = features.transform(dask.array.concatenate(blocks))  # no number is computed yet
    return (Phi.T @ Phi / n_points).compute(scheduler="threads", num_workers=2)


# %% [markdown]
# **The whole matrix** of kernel values has n² entries. `by_rows` computes it in blocks of rows and writes
# them to a file, in several processes with `n_jobs`, or on a cluster (`guides/many_machines`). The matrix
# is symmetric, so that half of it is a copy. With `resume=True`, and the file opened with "r+" the second
# time, an interrupted run continues after its last finished block.

# %%
best_fit = BestFit(Gaussian(0.02), shifts)


def matrix_in_memory(n_points):
    """Return the largest entry outside the diagonal, of a matrix in memory."""
    gram = best_fit(all_points(n_points))
    np.fill_diagonal(gram, 0)
    return gram.max()


def matrix_in_a_file(n_points):
    """Return the same of a matrix on disk."""
    X = all_points(n_points)
    each = n_points // 20
    largest = 0.0
    with TemporaryDirectory() as folder:
        gram = open_memmap(f"{folder}/gram.npy", "w+", np.float32, (n_points, n_points))
        by_rows(best_fit, X, block_rows=each, out=gram, symmetric=True)
        for start in range(0, n_points, each):
            rows = np.array(gram[start : start + each])
            rows[np.arange(len(rows)), start + np.arange(len(rows))] = 0
            largest = max(largest, rows.max())
        del gram
    return largest


# %% [markdown]
# `tracemalloc` counts the bytes of all arrays in memory, including the points, but not those in the file:
# the system keeps as much of it in memory as is free.


# %%
def measured(function, n_points):
    """Return the result of a function, its peak memory in MiB, and its processor seconds."""
    tracemalloc.start()
    start = process_time()
    try:
        result = function(n_points)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return result, peak / 2**20, process_time() - start


# %%
ways = {"features in memory": in_memory, "features in a stream": in_a_stream}
if find_spec("dask"):
    import dask.array  # before its time is measured

    ways["features with Dask"] = with_dask
cost = []
for n_points in SIZES:
    moments = []
    for name, function in ways.items():
        result, peak, seconds = measured(function, n_points)
        moments.append(result)
        whole = n_points * 200 * 4 / 2**20
        row = {"points": n_points, "way": name, "all values (MiB)": whole, "memory (MiB)": peak}
        cost.append(row | {"CPU seconds": seconds, "remark": ""})
    for other in moments[1:]:
        assert np.allclose(moments[0], other, rtol=0, atol=1e-4 * moments[0].max())

# %% [markdown]
# Matrices of the two larger sizes are not computed here. Their size is known, and their time follows from
# that per entry of the smallest one.

# %%
largest = []
for name, function in {
    "matrix in memory": matrix_in_memory,
    "matrix in a file": matrix_in_a_file,
}.items():
    result, peak, seconds = measured(function, SIZES[0])
    largest.append(result)
    for n_points in SIZES:
        row = {"points": n_points, "way": name, "all values (MiB)": n_points**2 * 4 / 2**20}
        expected = seconds * (n_points / SIZES[0]) ** 2
        if n_points == SIZES[0]:
            row |= {"memory (MiB)": peak, "CPU seconds": seconds, "remark": ""}
        else:
            row["remark"] = f"not run; would take {duration(expected)} of a core"
        cost.append(row)
assert np.isclose(*largest, rtol=1e-4)

# %%
table = pd.DataFrame(cost).sort_values("points", kind="stable", ignore_index=True)
table = table.round({"all values (MiB)": 1, "memory (MiB)": 1, "CPU seconds": 2})
run.table(
    table,
    "cost",
    caption="Peak memory of the arrays, points included, and processor time of one run in single "
    f"precision, {D} numbers per point, 200 features, blocks of {BLOCK:,} points.",
)
last = table[table["points"] == SIZES[-1]].set_index("way")
run.say(
    "For {n:,} points a stream of features needs {stream:.0f} MiB, all features at once {whole:,.0f} MiB, "
    "and the matrix would have {matrix:,.1f} GiB.",
    n=SIZES[-1],
    stream=last.loc["features in a stream", "memory (MiB)"],
    whole=last.loc["features in memory", "memory (MiB)"],
    matrix=last.loc["matrix in a file", "all values (MiB)"] / 1024,
)

# %% [markdown]
# ## Try it
#
# `invariance run guides/many_points -p landmarks 200`. How soon does the accuracy level off?
