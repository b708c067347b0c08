# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lemma 3: locality at multiple scales, and the cost of depth
#
# *Liu, Kumar, Zhou and Liu (2022), section 3.*
#
# A polynomial of an image mixes distant pixels as readily as neighbours, although an edge is made
# of neighbours. The locality kernel takes powers of *windows* first (eq. 5),
#
# $$K^{(1)}_L(x, z) = \Big[\sum_w \big(\langle x_w, z_w\rangle + 1\big)^{d_1} + 1\Big]^{d_2},$$
#
# and windows of windows for every further layer (eq. 6). It is a kernel at any depth. Depth costs
# little if layers are stored, and exponentially much if they are not.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
length: int = 64  # of the sequences whose cost is measured

# %%
import time
import tracemalloc
import warnings

import matplotlib.pyplot as plt
import numpy as np
from _locality import counted_kernel
from sklearn.svm import SVC

from invariance.companion import Run, mean_se, panel
from invariance.datasets import load_digits_images, load_mnist
from invariance.groups import CyclicTranslations
from invariance.kernels import BestFit, Locality, Polynomial, gram_report

# Best fits of even degree follow the largest and the smallest inner product.
warnings.filterwarnings("ignore", "Polynomial of even degree")
run = Run("liu2022/locality", profile=profile, seed=seed, length=length)

# %% [markdown]
# Depths, and sizes of the Gram matrices.

# %% tags=["settings"]
if run.quick:
    N_POINTS = 40  # of a Gram matrix
    DEEPEST = 4  # local layers
    ROUNDS = 3  # of timing
    N_SPLITS = 3
    N_TRAIN = 100
    N_TEST = 200
else:
    N_POINTS = 500
    DEEPEST = 8
    ROUNDS = 9
    N_SPLITS = 10
    N_TRAIN = 500
    N_TEST = 1000

# %% [markdown]
# ## Lemma 3: positive definite at any depth
#
# Sums, products and positive constants keep kernels positive definite, and a locality kernel consists
# of these alone. We measure by how much the smallest eigenvalue is below zero, relative to the largest.

# %%
LOCAL_KERNELS = [
    Locality(shape=(10, 10), window=3, powers=(2, 4)),
    Locality(shape=(10, 10), window=5, powers=(2, 4), padding="valid", stride=2),
    Locality(shape=(10, 10), window=3, powers=(2, 2, 2)),
    Locality(shape=(8, 8), window=3, powers=(2, 1, 2, 2)),
    Locality(shape=(8, 8), window=3, powers=(3, 2), channels=3),
    Locality(shape=(8, 8), window=3, powers=(3, 2), channels=3, mixed=True),
    Locality(shape=(40,), window=(5, 3), powers=(3, 2, 3)),
    Locality(shape=(40,), window=3, powers=(2, 1, 2, 1, 2)),
]

# %% [markdown]
# The test needs enough points to detect an indefinite kernel: on the same points, the Gram matrix of a
# best-fit kernel, which is not positive definite in general, has clearly negative eigenvalues.

# %%
violations = []
best_fit_ratios = []
for kernel in LOCAL_KERNELS:
    points = run.rng.standard_normal((N_POINTS, kernel.n_features))
    report = gram_report(kernel(points))
    violations.append(max(0.0, -report.smallest) / report.largest)
    if kernel.channels == 1:
        translations = CyclicTranslations(kernel.point_shape[:2])
        best_fit = BestFit(Polynomial(2, gamma=1 / points.shape[1]), translations)
        report = gram_report(best_fit(points))
        best_fit_ratios.append(report.smallest / report.largest)

# %% tags=["claims"]
run.claim(
    "liu2022/lemma3",
    difference=violations,
    tolerance=1e-10,
    note="negative part of the spectrum relative to its largest eigenvalue, "
    f"{len(violations)} kernels of up to four local layers; on the same points of one channel that "
    f"of quadratic best-fit kernels is {-max(best_fit_ratios):.1e} to {-min(best_fit_ratios):.1e}",
)

# %% [markdown]
# ## The cost of depth
#
# "Supported by adequate memory space, one can store all kernel values from every layer, with both
# computation time and memory space increasing linearly with depth. In contrast, when limited by
# memory space, one can store only the kernel values from the final layer": then "computation time
# grows exponentially with depth". Both are `storage` settings of `Locality`; as a layer needs only the
# layer below, it keeps two layers at a time, not every one.

# %%
depths = list(range(1, DEEPEST + 1))


def deep(depth, storage):
    powers = (2,) * depth + (1,)
    gammas = (0.2,) * (depth + 1)
    return Locality((length,), window=3, powers=powers, storage=storage, gammas=gammas)


x, z = run.rng.random((2, 1, length))
X = run.rng.random((50, length))
kernels = {}
for storage in ("layers", "last"):
    for depth in depths:
        kernels[storage, depth] = deep(depth, storage)

# %% [markdown]
# Time and the peak of the arrays alive are measured on a Gram matrix. Kernels are timed in turns, so
# that anything else that the machine does slows all of them.


# %%
def shortest_time(kernel):
    """The least of three processor times of a Gram matrix."""
    times = []
    for _ in range(3):
        start = time.process_time()
        kernel(X)
        times.append(time.process_time() - start)
    return min(times)


# %% [markdown]
# Memory is the same in every call, so it is measured once for each depth.


# %%
def peak(kernel):
    """Largest sum of arrays alive, in MiB."""
    tracemalloc.start()
    kernel(X)
    largest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return largest / 2**20


seconds = {key: np.empty(ROUNDS) for key in kernels}
for k in range(ROUNDS):
    for key, kernel in kernels.items():
        seconds[key][k] = shortest_time(kernel)
memory = {key: peak(kernel) for key, kernel in kernels.items()}
for (storage, depth), times in seconds.items():
    run.timing(f"{storage}, {depth} layers", float(times.mean()))

# %% [markdown]
# The upper panels show `work()`, the package's count of window values, the lower ones the measurements.

# %%
work = {key: kernel.work() for key, kernel in kernels.items()}
PANELS = {
    "window values computed for a pair": {key: count for key, (count, _) in work.items()},
    "window values held for a pair": {key: n_held for key, (_, n_held) in work.items()},
    "processor time (s)": {key: times.mean() for key, times in seconds.items()},
    "peak memory (MiB)": memory,
}
less = work["last", DEEPEST][0] / work["layers", DEEPEST][0]

# %% [markdown]
# With layers stored, all four quantities grow slowly; with the last layer only, work and time grow
# exponentially. The memory of `Locality` grows a little, too, because it takes all pairs at once and has
# one running sum for each pair and layer.

# %% tags=["hide-input"]
fig, axes = plt.subplots(2, 2, figsize=(9, 7))
for axis, (title, values) in zip(axes.flat, PANELS.items(), strict=True):
    stored = [values["layers", depth] for depth in depths]
    last_only = [values["last", depth] for depth in depths]
    curves = {
        "whole layers, two at a time": ("l-ti-ri", stored),
        "last layer only": ("l", last_only),
    }
    panel(axis, depths, curves, log="y", ends=None, xlabel="local layers", title=title)
axes[0, 0].legend()
fig.suptitle(f"Storing layers saves {less:.1f} times the work at depth {DEEPEST}")
caption = f"Sequences of {length} entries, windows of three; below, the Gram matrix of {len(X)}."
run.figure(fig, "depth", caption=caption)

# %% [markdown]
# The verdict rests on counts for one pair at a time: the definition of eq. (6), run with a counter of
# the window values that it computes and keeps, with every layer stored and with the last one only; and,
# with layers stored, on the peaks above. The definition and `Locality` agree.

# %%
products = (x * z)[0]
for depth in (1, 2, 3):
    definition = counted_kernel(products, depth, stored=True).value
    for storage in ("layers", "last"):
        assert abs(definition / deep(depth, storage)(x, z)[0, 0] - 1) < 1e-10
counted = {}
n_kept = {}
n_sums = {}
for storage, depth in kernels:
    count = counted_kernel(products, depth, stored=storage == "layers")
    counted[storage, depth] = count.n_computed
    n_kept[storage, depth] = count.n_kept
    n_sums[storage, depth] = count.n_sums


def over_linear(values, depth):
    """Growth from depth 2, relative to growth in proportion to depth, with no constant term."""
    return 2 * values["layers", depth] / (values["layers", 2] * depth)


# %% [markdown]
# With layers stored, growth must not exceed proportion to depth; with the last one only, operations
# must grow by half or more per layer, and the values kept must not grow.

# %%
scores = {"1": 1.0, "1.5": 1.5}
scores["last only: values kept, 2"] = float(n_kept["last", 2])
order = []
for d in range(3, DEEPEST + 1):
    growth = counted["last", d] / counted["last", d - 1]
    scores[f"stored: values kept over linear, {d}"] = over_linear(n_kept, d)
    scores[f"stored: operations over linear, {d}"] = over_linear(counted, d)
    scores[f"stored: bytes over linear, {d}"] = over_linear(memory, d)
    scores[f"last only: growth of operations, {d}"] = growth
    scores[f"last only: values kept, {d}"] = float(n_kept["last", d])
    order += [
        f"1 >= stored: operations over linear, {d}",
        f"1 >= stored: values kept over linear, {d}",
        f"1 >= stored: bytes over linear, {d}",
        f"last only: values kept, 2 >= last only: values kept, {d}",
    ]
    if d > 4:
        order.append(f"last only: growth of operations, {d} > 1.5")

# %% tags=["claims"]
run.claim(
    "liu2022/complexity",
    order=order,
    scores=scores,
    exact="window values of the definition, counted; memory is the traced allocation of one call, "
    "the same in every call",
    note=f"with the last layer only, {n_sums['last', 2]} sums are under way at depth 2 and "
    f"{n_sums['last', DEEPEST]} at {DEEPEST}, one number a layer; `Locality`, which takes {len(X)} x "
    f"{len(X)} pairs at once, goes from {memory['last', 2]:.2f} to {memory['last', DEEPEST]:.2f} MiB; "
    f"at depth {DEEPEST} the definition takes {counted['layers', DEEPEST]:,} window values with "
    f"layers stored and {counted['last', DEEPEST]:,} without",
)

# %% [markdown]
# ## One channel
#
# A layer may have several channels, local powers of different degrees, $\sum_w (1 + \langle x_w, z_w
# \rangle)^2 + \sum_w (1 + \langle x_w, z_w\rangle)^4$. Section 3 calls that "equivalent to having only
# one output channel with the largest degree", whose features contain those of the smaller one. The
# weights differ, so it is no identity; we ask how much accuracy it changes.

# %%
data = load_digits_images() if run.quick else load_mnist()
run.uses_data(data)
images = data.data.reshape(len(data.data), -1) / 255
labels = data.target


@run.cache
def accuracies(split, n_train, n_test):
    """Accuracy (%) with local powers of degrees 2 and 4, and of degree 4 alone."""
    rows = np.random.default_rng(split).permutation(len(images))[: n_train + n_test]
    X = images[rows]
    y = labels[rows]
    two = Locality((28, 28), 9, powers=(2, 1))(X, X[:n_train])
    four = Locality((28, 28), 9, powers=(4, 1))(X, X[:n_train])
    machine = SVC(kernel="precomputed", C=1)
    scores = []
    for gram in ((two + four - 1) ** 2, four**2):
        machine.fit(gram[:n_train], y[:n_train])
        scores.append(100 * machine.score(gram[n_train:], y[n_train:]))
    return scores


by_split = np.array([accuracies(30 + k, N_TRAIN, N_TEST) for k in range(N_SPLITS)])

# %% [markdown]
# Differences are paired by split.

# %%
both = by_split[:, 0]
alone = by_split[:, 1]

# %% tags=["claims"]
run.claim(
    "liu2022/one-channel",
    samples=both - alone,
    spread="random splits",
    data="scikit-learn's bundled digits, enlarged" if run.quick else None,
    note=f"degrees 2 and 4: {mean_se(both):.2f} %, degree 4 alone: {mean_se(alone):.2f} %",
)

# %% [markdown]
# ## Try it
#
# `invariance run liu2022/locality -p length 32`: half as much work and memory, the same growth.
