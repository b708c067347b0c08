# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # More points than a Gram matrix holds
#
# *A kernel matrix of 60,000 images has more than three billion entries. Three ways around it, and when which.*
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

from invariance.companion import Run
from invariance.core.parallel import by_rows
from invariance.datasets import load_digits_images, load_mnist
from invariance.features import OrbitFourier, OrbitNystroem
from invariance.groups import Rotations, Translations
from invariance.kernels import BestFit, Gaussian, Locality
from invariance.linear import BlockRidgeClassifier

run = Run("guides/many_points", profile=profile, seed=seed, landmarks=landmarks)

# %%
FULL = not run.quick
PENALTIES = np.logspace(-9, -2, 8)  # shares of the features' mean squared norm
data = load_mnist() if FULL else load_digits_images()
run.uses_data(data)
(X, y), (Z, truth) = data.train, data.test
side = X.shape[1]
X, Z = (A.reshape(len(A), -1).astype(np.float32) / 255 for A in (X, Z))
X, y, Z, truth = (X, y, Z, truth) if FULL else (X[:600], y[:600], Z[:300], truth[:300])

# %% [markdown]
# ## 1. Landmarks, for a kernel without features
#
# Liu et al.'s best kernel, L-TI-RI, looks for the rotation and the shift under which two images
# match best, window by window. Nystrom features compare each image with a few landmarks instead of
# with all others:
#
# $$\psi(x) = K_{ZZ}^{-1/2} \, K(Z, x) .$$
#
# Directions in which the landmarks' matrix is not positive are left out. In a pipeline that is
# `OrbitNystroem(None, 500, kernel=kernel)`. Here values are kept a block at a time, so that a long run
# goes on where it stopped. The penalty is chosen on the last sixth of the training images.

# %%
turns = Rotations((side, side), degrees=range(-5, 6) if FULL else (-5, 0, 5))
shifts = Translations((side, side), max_shift=7 if FULL else 1)
kernel = BestFit(Locality((side, side), window=7 if FULL else 3, powers=(2, 4)), turns.then(shifts))
NUMBERS = (500, 1000) if FULL else (landmarks // 2, landmarks)
Z0 = X[np.random.default_rng(seed).choice(len(X), NUMBERS[1], replace=False)]
print(kernel.explain(X, Z0[: NUMBERS[0]]))


@run.cache
def against(images, some):
    """Kernel values of images with some landmarks, and the CPU minutes that they took."""
    start = process_time()
    values = kernel(images, some)
    return values, (process_time() - start) / 60


def compared(images, some):
    """The same for many images, a block at a time."""
    blocks = [against(images[a : a + 2000], some) for a in range(0, len(images), 2000)]
    return np.concatenate([values for values, _ in blocks]), sum(took for _, took in blocks)


halves = [compared(np.concatenate([X, Z]), some) for some in np.split(Z0, [NUMBERS[0]])]


def with_landmarks(n, values, minutes):
    """Accuracy in % of ridge regression on Nystrom features, and CPU minutes of the kernel."""
    nystroem = OrbitNystroem(None, n, kernel=kernel, landmarks=Z0[:n], rcond=1e-6).fit(Z0[:n])
    features = values @ nystroem.whitener_.T
    norm = float(np.sqrt(np.mean(np.sum(features**2, axis=1))))
    assert np.allclose(features[:20], nystroem.transform(X[:20]), rtol=0, atol=1e-2 * norm)
    known, test = features[: len(X)], features[len(X) :]
    cut = 5 * len(X) // 6
    models = [BlockRidgeClassifier(alpha=a * norm**2) for a in PENALTIES]
    best = max(models, key=lambda m: m.fit(known[:cut], y[:cut]).score(known[cut:], y[cut:]))
    return 100 * best.fit(known, y).score(test, truth), minutes


both = np.concatenate([v for v, _ in halves], axis=1), sum(minutes for _, minutes in halves)
found = {n: with_landmarks(n, *some) for n, some in zip(NUMBERS, (halves[0], both), strict=True)}

# %% [markdown]
# ## 2. Features that stream
#
# Random features of a mean over a group need no landmarks, and a linear learner that keeps sums
# needs no earlier point: a million points pass by in blocks.

# %%
turns = Rotations((side, side), degrees=range(-10, 11, 5))
features = OrbitFourier(turns, 500 if FULL else 200, random_state=seed).fit(X[:2000])
learner = BlockRidgeClassifier(alpha=1e-5)
start = process_time()
for block in np.array_split(np.arange(len(X)), max(1, len(X) // 1000)):
    learner.partial_fit(features.transform(X[block]), y[block], classes=np.arange(10))
took = process_time() - start
streamed = 100 * learner.score(features.transform(Z), truth)
run.say(
    "Streaming features: {accuracy:.1f} % after {n:,} points, each of which was in memory once.",
    accuracy=streamed,
    n=int(learner.n_seen_),
)

# %% [markdown]
# ## 3. The whole matrix, in pieces
#
# `by_rows` computes it a block of rows at a time into a file, in several processes with `n_jobs`, or
# on a cluster (`guides/many_machines`). In single precision 60,000 points take some thirteen GiB.
# The matrix is symmetric, so that half of it is a copy. With `resume=True`, and the file opened with
# "r+" the second time, a run that was interrupted goes on after its last finished block.

# %%
some = X[:4000] if FULL else X[:300]
with TemporaryDirectory() as folder:
    gram = open_memmap(f"{folder}/gram.npy", "w+", np.float32, (len(some), len(some)))
    by_rows(BestFit(Gaussian(0.02), shifts), some, block_rows=256, out=gram, symmetric=True)
    run.say(
        "{n} x {n} values lie in a file; the largest is {top:.3f}.",
        n=len(some),
        top=float(gram.max()),
    )
    del gram

# %% [markdown]
# ## What it comes to

# %%
ways = {f"{n} landmarks": some for n, some in found.items()}
ways["streaming features"] = streamed, took / 60
run.table(
    [
        {"way": way, "accuracy (%)": round(accuracy, 2), "CPU minutes": round(minutes, 2)}
        for way, (accuracy, minutes) in ways.items()
    ],
    "ways",
    caption=f"{len(X):,} training and {len(Z):,} test images, one draw. Minutes of kernel values, and "
    "of features and sums.",
)
fig, axis = plt.subplots(figsize=(5, 3))
axis.plot(list(found), [a for a, _ in found.values()], "o-")
axis.set(xlabel="landmarks", ylabel="accuracy (%)", title="L-TI-RI with few landmarks")
run.figure(fig, "landmarks", caption="Nystrom features of the best-fit kernel, one draw.")

# %% [markdown]
# ## Try it
#
# `invariance run guides/many_points -p landmarks 200`. How soon does the accuracy level off?
