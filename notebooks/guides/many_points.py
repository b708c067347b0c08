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
from functools import partial
from tempfile import TemporaryDirectory
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.format import open_memmap
from sklearn.pipeline import make_pipeline

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
data = load_mnist() if FULL else load_digits_images()
for source in data.sources.items():
    run.uses_data(*source)
(X, y), (Z, truth) = data.train, data.test
side, white = X.shape[1], 255 if FULL else 16
X, Z = (A.reshape(len(A), -1).astype(np.float32) / white for A in (X, Z))
X, y, Z, truth = (X, y, Z, truth) if FULL else (X[:600], y[:600], Z[:300], truth[:300])

# %% [markdown]
# ## 1. Landmarks, for a kernel without features
#
# Liu et al.'s best kernel, L-TI-RI, looks for the rotation and the shift under which two images
# match best, window by window. It is no inner product of features that anybody could write down.
# Nystrom features compare each image with a few landmarks instead of with all others:
#
# $$\psi(x) = K_{ZZ}^{-1/2} \, K(Z, x) .$$
#
# A best-fit kernel may be indefinite: directions in which the landmarks' matrix is not positive are
# left out.

# %%
turns = Rotations((side, side), degrees=range(-5, 6) if FULL else (-5, 0, 5))
shifts = Translations((side, side), max_shift=7 if FULL else 1)
kernel = BestFit(Locality((side, side), window=7 if FULL else 3, powers=(2, 4)), turns.then(shifts))
NUMBERS = (500, 1000) if FULL else (landmarks // 2, landmarks)


@run.cache
def with_landmarks(n):
    """Accuracy in % and CPU minutes of ridge regression on Nystrom features."""
    start = process_time()
    model = make_pipeline(
        OrbitNystroem(None, n, kernel=kernel, rcond=1e-6, random_state=seed),
        BlockRidgeClassifier(alpha=1e-6),
    ).fit(X, y)
    return 100 * model.score(Z, truth), (process_time() - start) / 60


found = {n: with_landmarks(n) for n in NUMBERS}
print(kernel.explain(X, X[: NUMBERS[0]]))

# %% [markdown]
# ## 2. Features that stream
#
# Random features of a mean over a group need no landmarks, and a linear learner that keeps sums
# needs no earlier point. A million points pass by in blocks; here, those that there are, ten times.

# %%
features = OrbitFourier(
    Rotations((side, side), degrees=range(-10, 11, 5)), 500 if FULL else 200, random_state=seed
).fit(X[:2000])
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
# Where nothing but the matrix will do, `by_rows` computes it a block of rows at a time into a file,
# in several processes with `n_jobs`, or on a cluster under `joblib.parallel_config("dask")`. In single
# precision 60,000 points take some thirteen GiB of disk; memory stays bounded.

# %%
some = X[:4000] if FULL else X[:300]
with TemporaryDirectory() as folder:
    gram = open_memmap(f"{folder}/gram.npy", "w+", np.float32, (len(some), len(some)))
    by_rows(partial(BestFit(Gaussian(0.02), shifts), Y=some), some, block_rows=256, out=gram)
    run.say(
        "{n} x {n} values lie in a file; the largest is {top:.3f}.",
        n=len(some),
        top=float(gram.max()),
    )
    del gram

# %% [markdown]
# ## What it comes to

# %%
run.table(
    [
        {"way": f"{n} landmarks", "accuracy (%)": round(a, 2), "CPU minutes": round(minutes, 2)}
        for n, (a, minutes) in found.items()
    ]
    + [
        {
            "way": "streaming features",
            "accuracy (%)": round(streamed, 2),
            "CPU minutes": round(took / 60, 2),
        }
    ],
    "ways",
    caption=f"{len(X):,} training and {len(Z):,} test images, one draw.",
)
fig, axis = plt.subplots(figsize=(5, 3))
axis.plot(list(found), [a for a, _ in found.values()], "o-")
axis.set(xlabel="landmarks", ylabel="accuracy (%)", title="L-TI-RI with few landmarks")
run.figure(fig, "landmarks", caption="Nystrom features of the best-fit kernel, one draw.")

# %% [markdown]
# ## Try it
#
# `invariance run guides/many_points -p landmarks 200`. How soon does the accuracy level off?
