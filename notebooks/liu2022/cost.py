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
# # A maximum over 2,475 transformations, without visiting them
#
# *Beyond Liu, Kumar, Zhou and Liu (2022): how the Gram matrices of Table 2 are computed here, and what that saves.*
#
# By its definition a best-fit kernel is evaluated transformation by transformation: 121 polynomial kernels for TI, 20 for
# RI, and for L-TI-RI 2,475 locality kernels of 784 windows each. Four facts make that unnecessary.
#
# 1. $t \mapsto (1 + t)^8$ increases on $t \ge -1$, so the power is taken once, of the largest inner product. (An even power of values
#    below zero is the exception; there the smallest inner product is followed too, and a warning says so.)
# 2. All inner products with translates are a cross-correlation. A Fourier transform along rows turns horizontal shifts into
#    phases; vertical shifts stay matrix products. The inverse transform is wanted at 11 of 28 shifts only: a matrix product
#    with an 11 × 28 matrix, or rather with its even and odd halves, because $\max(E + O, E - O) = E + |O|$.
# 3. A quadratic locality kernel is an inner product too,
#    $\sum_w \langle x_w, z_w \rangle^2 = \sum_\delta \sum_p k(p, p + \delta)\, x_p x_{p+\delta}\, z_p z_{p+\delta}$, with $k$ the number of
#    windows that hold both pixels: 85 offsets $\delta$ for windows of 7, and one channel for the linear term. Zero padding sits in
#    $k$, on the side that is not transformed, and cyclic shifts of the other side commute with its products. So *one* inverse transform
#    of a sum over 86 channels, taken frequency by frequency as a matrix product, serves all shifts of a pair.
# 4. What is applied after the translations moves to the other argument as its transpose: $\langle x, R\, S z \rangle = \langle R^\top x, S z \rangle$.

# %% tags=["parameters"]
profile: str = "quick"      # quick or full
seed: int = 0
jobs: int = 2               # threads

# %%
import time

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from invariance.companion import Run
from invariance.datasets import load_digits_images, load_mnist
from invariance.groups import Rotations, Translations
from invariance.kernels import BestFit, Locality, Polynomial
from invariance.kernels.correlation import ShiftCorrelation

run = Run("liu2022/cost", profile=profile, seed=seed)
data = load_digits_images() if run.quick else load_mnist()
for file, sha256 in data.sources.items():
    run.uses_data(file, sha256)
X, y = data.data.reshape(len(data.data), -1) / 255, data.target
rows = np.random.default_rng(seed).permutation(len(X))
n_train, n_test = run.choose(quick=(60, 200), full=(500, 10_000))
train, test = X[rows[:n_train]], X[rows[n_train : n_train + n_test]]
y_train = y[rows[:n_train]]

# %% [markdown]
# ## The plain definition
#
# One kernel evaluation a transformation, in the double precision that scikit-learn's SVC hands over, with BLAS on both
# cores. For locality, window by window, as in the authors' scripts. Where the whole set would take hours, its cost is measured on the first
# few transformations and scaled to all of them: every one costs the same.

# %%
def plain_polynomial(A, B):
    return (1 + A @ B.T / 784) ** 8


def plain_locality(A, B, window):
    pad = window // 2
    first = np.pad(A.reshape(-1, 28, 28), ((0, 0), (pad, pad), (pad, pad)))
    second = np.pad(B.reshape(-1, 28, 28), ((0, 0), (pad, pad), (pad, pad)))
    total = np.zeros((len(A), len(B)))
    for i in range(28):
        for j in range(28):
            one = first[:, i : i + window, j : j + window].reshape(len(A), -1)
            other = second[:, i : i + window, j : j + window].reshape(len(B), -1)
            total += (1 + one @ other.T / window**2) ** 2
    return (total / 28 + 1) ** 4


def plain(kernel, group, A, B, limit):
    """The maximum over the first `limit` transformations, and seconds for all of them."""
    elements = group.elements()
    start = time.perf_counter()
    best = np.full((len(A), len(B)), -np.inf)
    for element in elements[:limit]:
        np.maximum(best, kernel(A, group.act(element[None], B)[0]), out=best)
    return best, (time.perf_counter() - start) * len(elements) / min(limit, len(elements))


shape = (28, 28)
small, turns = Translations(shape, max_shift=5), Rotations(shape, degrees=range(-10, 10))
shifts, few_turns = Translations(shape, max_shift=7), Rotations(shape, degrees=range(-5, 6))
polynomial, local = Polynomial(8, scale=1 / 784), Locality(shape, window=7, degrees=(2, 4))
CASES = {
    "TI": (polynomial, small, plain_polynomial, 121),
    "RI": (polynomial, turns, plain_polynomial, 20),
    "TI-RI": (polynomial, shifts.then(turns), plain_polynomial, run.choose(quick=20, full=90)),
    "L-TI": (local, shifts, lambda A, B: plain_locality(A, B, 7), 1),
    "L-TI-RI": (local, few_turns.then(shifts), lambda A, B: plain_locality(A, B, 7), 1),
}

# %% [markdown]
# ## Values and predictions
#
# Agreement first. On a few images the plain definition is evaluated for *all* transformations and compared with what `BestFit`
# returns in single precision; predictions of the two SVMs are compared as well.

# %%
a, b = run.choose(quick=(12, 6), full=(60, 40))
agreement, times = [], []
for name, (base, group, _, _) in CASES.items():
    slow = BestFit(base, group, method="definition")
    fast = BestFit(base, group, precision="single", n_jobs=jobs)
    exact, quick_values = slow(test[:a], train[:b]), fast(test[:a], train[:b])
    error = np.abs(quick_values / exact - 1).max()
    grams = [k(train[:b], train[:b]) for k in (slow, fast)]
    machines = [SVC(kernel="precomputed").fit(gram, y_train[:b]) for gram in grams]
    same = np.mean(machines[0].predict(exact) == machines[1].predict(quick_values))
    agreement.append({"kernel": name, "transformations": group.order, "largest relative difference": f"{error:.1e}",
                      "equal predictions": f"{same:.0%}"})
run.table(agreement, "agreement", caption="Single-precision values against the definition over every transformation.")

# %% [markdown]
# ## Time

# %%
results = []
for name, (base, group, definition, limit) in CASES.items():
    kernel = BestFit(base, group, precision="single", n_jobs=jobs)
    start = time.perf_counter()
    kernel(test, train)
    ours = time.perf_counter() - start
    with threadpool_limits(jobs, "blas"):
        _, slow = plain(definition, group, test, train, limit)
    run.timing(f"{name}, ours", ours)
    run.timing(f"{name}, plain definition", slow)
    results.append((name, group.order, limit, slow, ours))
    print(f"{name}: plain {slow:.1f} s{'' if limit >= group.order else f' (scaled from {limit} of {group.order})'}, "
          f"ours {ours:.2f} s, ratio {slow / ours:.0f}")

# %% [markdown]
# ## Against the bare matrix product
#
# The bulk of L-TI-RI is a real matrix product for each frequency, of $2 \times 86$ columns: $8 \cdot 86 \cdot 394$ operations a pair and rotation. At the speed
# of this machine's matrix product (measured on a square one) that alone would take the first time below; the rest of ours goes to
# Fourier transforms, the partial inverse and the maximum.

# %%
size = run.choose(quick=1000, full=3000)
square = np.random.default_rng(seed).standard_normal((size, size)).astype(np.float32)
with threadpool_limits(jobs, "blas"):
    square @ square
    start = time.perf_counter()
    square @ square
    rate = 2 * size**3 / (time.perf_counter() - start)
channels = local.lift().n_channels
operations = 8 * channels * (28 * 28 / 2) * n_test * n_train * few_turns.order
run.timing("bare product of L-TI-RI", operations / rate)
print(f"{operations / 1e12:.2f} Tflop at {rate / 1e9:.0f} Gflop/s: {operations / rate:.1f} s; ours {results[-1][-1]:.1f} s")

# %% [markdown]
# ## Memory
#
# Blocks bound the temporary arrays: `block_bytes` (1 GiB) for what is kept of a block of training images, and a fixed tile a
# thread. For 500 training and 10,000 test images the transforms of 5,500 rotated training images would take the second number if kept at
# once; they are worked off in blocks.

# %%
pairs = ShiftCorrelation(shape, shifts.elements(), channels, np.float32)
print(f"transforms: {pairs.spectrum_bytes() / 2**20:.2f} MiB an image, "
      f"{pairs.spectrum_bytes() * 500 * few_turns.order / 2**30:.2f} GiB for all")

# %% [markdown]
# ## Try it
#
# `Locality(shape, window=7, degrees=(3, 2))` has no such shortcut: `BestFit` then evaluates its definition, by blocks. Compare.
