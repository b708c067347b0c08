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
# *A kernel matrix of 60,000 images has more than three billion entries. There are three ways around it,
# and the table shows when to use which.*
#
# | you have | take | cost grows with |
# |---|---|---|
# | up to some 10,000 points | the Gram matrix: `RLSClassifier(kernel=...)`, `SVC(kernel=...)` | n² |
# | more, and a kernel that has no features (best fit, locality) | landmarks: `OrbitNystroem(kernel=...)` | n times landmarks |
# | more, and a mean over a group | random features: `OrbitFourier(group)` | n times features |
# | more than fit into memory | random features, and `BlockRidgeClassifier.partial_fit` | the same, a block at a time |
# | the whole matrix, on disk or on many machines | `by_rows(kernel, X, out=...)` | n², in bounded memory |

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
landmarks: int = 50  # of Nystrom features; the full profile takes 500 and 1,000

# %%
from tempfile import TemporaryDirectory
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.format import open_memmap

from invariance.companion import Run, colour, look
from invariance.core.parallel import by_rows
from invariance.datasets import load_digits_images, load_mnist
from invariance.features import OrbitFourier, OrbitNystroem
from invariance.groups import Rotations, Translations
from invariance.kernels import BestFit, Gaussian, Locality
from invariance.linear import BlockRidgeClassifier

run = Run("guides/many_points", profile=profile, seed=seed, landmarks=landmarks)

# %% tags=["settings"]
FULL = not run.quick
PENALTIES = np.logspace(-9, -2, 8)  # shares of the features' mean squared norm
if FULL:
    N_LANDMARKS = (500, 1000)
    ANGLES = range(-5, 6)
    MAX_SHIFT = 7
    WINDOW = 7
    N_FEATURES = 500
    N_MATRIX = 4000  # points of the whole matrix
else:
    N_LANDMARKS = (landmarks // 2, landmarks)
    ANGLES = (-5, 0, 5)
    MAX_SHIFT = 1
    WINDOW = 3
    N_FEATURES = 200
    N_MATRIX = 300

# %%
data = load_mnist() if FULL else load_digits_images()
run.uses_data(data)
X, y = data.train
X_test, y_test = data.test
side = X.shape[1]
X = X.reshape(len(X), -1).astype(np.float32) / 255
X_test = X_test.reshape(len(X_test), -1).astype(np.float32) / 255
if not FULL:
    X = X[:600]
    y = y[:600]
    X_test = X_test[:300]
    y_test = y_test[:300]

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
all_landmarks = X[rng.choice(len(X), N_LANDMARKS[1], replace=False)]
print(kernel.explain(X, all_landmarks[: N_LANDMARKS[0]]))


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


images = np.concatenate([X, X_test])
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
    assert np.allclose(features[:20], nystroem.transform(X[:20]), rtol=0, atol=1e-2 * norm)
    train_features = features[: len(X)]
    cut = 5 * len(X) // 6

    def validation_score(model):
        model.fit(train_features[:cut], y[:cut])
        return model.score(train_features[cut:], y[cut:])

    models = [BlockRidgeClassifier(alpha=penalty * norm**2) for penalty in PENALTIES]
    best = max(models, key=validation_score)
    best.fit(train_features, y)
    return 100 * best.score(features[len(X) :], y_test)


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
# ## 3. The whole matrix, in pieces
#
# `by_rows` computes the matrix in blocks of rows and writes them to a file, in several processes with
# `n_jobs`, or on a cluster (`guides/many_machines`). In single precision 60,000 points take some thirteen
# GiB. The matrix is symmetric, so that half of it is a copy. With `resume=True`, and the file opened with
# "r+" the second time, an interrupted run continues after its last finished block.

# %%
points = X[:N_MATRIX]
with TemporaryDirectory() as folder:
    path = f"{folder}/gram.npy"
    gram = open_memmap(path, "w+", np.float32, (len(points), len(points)))
    by_rows(BestFit(Gaussian(0.02), shifts), points, block_rows=256, out=gram, symmetric=True)
    run.say(
        "{n} x {n} values lie in a file; the largest is {top:.3f}.",
        n=len(points),
        top=float(gram.max()),
    )
    del gram

# %% [markdown]
# ## Accuracy and cost

# %%
rows = []
names = [f"{n} landmarks" for n in N_LANDMARKS]
for name, accuracy, minutes_of_name in zip(
    [*names, "streaming features"],
    [*accuracies, streaming_accuracy],
    [*minutes, streaming_minutes],
    strict=True,
):
    row = {
        "way": name,
        "accuracy (%)": round(accuracy, 2),
        "CPU minutes": round(minutes_of_name, 2),
    }
    rows.append(row)
run.table(
    rows,
    "ways",
    caption=f"{len(X):,} training and {len(X_test):,} test images, one draw. Minutes of kernel values, "
    "and of features and sums.",
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
# ## Try it
#
# `invariance run guides/many_points -p landmarks 200`. How soon does the accuracy level off?
