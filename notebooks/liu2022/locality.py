# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Locality at multiple scales: lemma 3 and the cost of depth
#
# *Liu, Kumar, Zhou and Liu (2022), section 3.*
#
# A polynomial of an image mixes distant pixels as readily as neighbours, although an edge is made
# of neighbours. The locality kernel takes powers of *windows* first (eq. 5),
#
# $$K^{(1)}_L(x, z) = \Big[\sum_w \big(\langle x_w, z_w\rangle + 1\big)^{d_1} + 1\Big]^{d_2},$$
#
# and windows of windows for every further layer (eq. 6). Is that a kernel, and what does depth cost?

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
from sklearn.svm import SVC

from invariance.companion import Run, mean_se, panel
from invariance.datasets import load_digits_images, load_mnist
from invariance.groups import CyclicTranslations
from invariance.kernels import BestFit, Locality, Polynomial, gram_report

warnings.filterwarnings("ignore", "Polynomial of even degree")  # best fits follow both ends
run = Run("liu2022/locality", profile=profile, seed=seed, length=length)

# %% tags=["settings"]
IMAGES, DEEPEST, ROUNDS, SPLITS, N_TRAIN, N_TEST = {
    "quick": (40, 4, 2, 3, 100, 200),
    "full": (500, 8, 9, 10, 500, 1000),
}[profile]

# %% [markdown]
# ## Lemma 3: positive definite at any depth
#
# Sums, products and positive constants keep kernels positive definite, and nothing else happens
# here. By how much is the smallest eigenvalue below zero, relative to the largest? So that the points
# could tell, they are more than a best-fit kernel bears, which is no kernel: it stands beside.

# %%
violations, beside = [], []
for settings in (
    dict(shape=(10, 10), window=3, powers=(2, 4)),
    dict(shape=(10, 10), window=5, powers=(2, 4), padding="valid", stride=2),
    dict(shape=(10, 10), window=3, powers=(2, 2, 2)),
    dict(shape=(8, 8), window=3, powers=(2, 1, 2, 2)),
    dict(shape=(8, 8), window=3, powers=(3, 2), channels=3),
    dict(shape=(8, 8), window=3, powers=(3, 2), channels=3, mixed=True),
    dict(shape=(40,), window=(5, 3), powers=(3, 2, 3)),
    dict(shape=(40,), window=3, powers=(2, 1, 2, 1, 2)),
):
    kernel = Locality(**settings)
    points = run.rng.standard_normal((IMAGES, kernel.n_features))
    report = gram_report(kernel(points))
    violations.append(max(0.0, -report.smallest) / report.largest)
    if kernel.channels == 1:
        translations = CyclicTranslations(kernel.point_shape[:2])
        report = gram_report(
            BestFit(Polynomial(2, gamma=1 / points.shape[1]), translations)(points)
        )
        beside.append(report.smallest / report.largest)
run.claim(
    "liu2022/lemma3",
    difference=violations,
    tolerance=1e-10,
    note="negative part of the spectrum relative to its largest eigenvalue, "
    f"{len(violations)} kernels of up to four local layers; on the same points of one channel that "
    f"of quadratic best-fit kernels is {-max(beside):.1e} to {-min(beside):.1e}",
)

# %% [markdown]
# ## What depth costs
#
# "Supported by adequate memory space, one can store all kernel values from every layer, with both
# computation time and memory space increasing linearly with depth. In contrast, when limited by
# memory space, one can store only the kernel values from the final layer": then "computation time
# grows exponentially with depth". Both are `storage` settings of `Locality`; as a layer needs only the
# layer below, it keeps two layers at a time, not every one. Time and the peak of the arrays alive are
# measured on a Gram matrix; `work()`, the package's own count, is drawn above them.

# %%
depths = list(range(1, DEEPEST + 1))


def deep(depth, storage):
    powers, gammas = (2,) * depth + (1,), (0.2,) * (depth + 1)
    return Locality((length,), window=3, powers=powers, storage=storage, gammas=gammas)


def peak(kernel):
    """Largest sum of arrays alive, in MiB."""
    tracemalloc.start()
    kernel(X)
    found = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return found


x, z = run.rng.random((2, 1, length))
X = run.rng.random((50, length))
kernels = {(how, d): deep(d, how) for how in ("layers", "last") for d in depths}
seconds = {key: np.empty(ROUNDS) for key in kernels}
for k in range(ROUNDS):  # in turns, so that what else the machine does hits all alike
    for key, kernel in kernels.items():
        tries = []
        for _ in range(3):
            start = time.process_time()
            kernel(X)
            tries.append(time.process_time() - start)
        seconds[key][k] = min(tries)
memory = {key: peak(kernel) for key, kernel in kernels.items()}
for (how, depth), taken in seconds.items():
    run.timing(f"{how}, {depth} layers", float(taken.mean()))

# %%
work = {key: kernel.work() for key, kernel in kernels.items()}
STORED = {"whole layers, two at a time": ("layers", "l-ti-ri"), "last layer only": ("last", "l")}
PANELS = {
    "window values computed for a pair": lambda key: work[key][0],
    "window values held for a pair": lambda key: work[key][1],
    "processor time (s)": lambda key: seconds[key].mean(),
    "peak memory (MiB)": memory.get,
}
fig, axes = plt.subplots(2, 2, figsize=(10, 7.6))
for axis, (what, of) in zip(axes.flat, PANELS.items(), strict=True):
    curves = {
        words: (method, [of((how, d)) for d in depths]) for words, (how, method) in STORED.items()
    }
    panel(axis, depths, curves, log="y", ends=None, xlabel="local layers", title=what)
axes[0, 0].legend()
less = work["last", DEEPEST][0] / work["layers", DEEPEST][0]
fig.suptitle(f"Storing layers saves {less:.1f} times the work at depth {DEEPEST}")
caption = f"Sequences of {length} entries, windows of three; below, the Gram matrix of {len(X)}."
run.figure(fig, "depth", caption=caption)

# %% [markdown]
# The verdict rests on counts: the definition of eq. (6), run with a counter of the values that it
# computes and, with every layer stored, keeps; and on the peaks above.


# %%
def evaluations(depth, stored):
    """Kernel of one pair by eq. (6), window values that it takes, and those that are kept."""
    products, kept, count = (x * z)[0], {}, 0

    def window(layer, place):
        nonlocal count
        if (layer, place) in kept:
            return kept[layer, place]
        places = range(max(0, place - 1), min(length, place + 2))
        below = (products[i] if layer == 1 else window(layer - 1, i) for i in places)
        value = (1 + 0.2 * sum(below)) ** 2
        count += 1
        if stored:
            kept[layer, place] = value
        return value

    return 1 + 0.2 * sum(window(depth, i) for i in range(length)), count, len(kept)


counted, held = (
    {(how, d): evaluations(d, how == "layers")[part] for how, d in kernels} for part in (1, 2)
)
for d in (1, 2, 3):
    for how in ("layers", "last"):
        assert abs(evaluations(d, True)[0] / deep(d, how)(x, z)[0, 0] - 1) < 1e-10
scores, order = {"1": 1.0, "1.5": 1.5, "1.1": 1.1}, []
for d in range(3, DEEPEST + 1):
    # Proportional to depth is as much as "linear" allows, with no constant term.
    operations, values, bytes_ = (
        2 * of["layers", d] / (of["layers", 2] * d) for of in (counted, held, memory)
    )
    scores |= {
        f"stored: values kept over linear, {d}": values,
        f"stored: operations over linear, {d}": operations,
        f"stored: bytes over linear, {d}": bytes_,
        f"last only: growth of operations, {d}": counted["last", d] / counted["last", d - 1],
        f"last only: bytes over those at 2, {d}": memory["last", d] / memory["last", 2],
    }
    order += [
        f"1 >= stored: operations over linear, {d}",
        f"1 >= stored: values kept over linear, {d}",
        f"1 >= stored: bytes over linear, {d}",
        f"1.1 >= last only: bytes over those at 2, {d}",
    ]
    if d > 4:
        order.append(f"last only: growth of operations, {d} > 1.5")
run.claim(
    "liu2022/complexity",
    order=order,
    scores=scores,
    exact="window values of the definition, counted; memory is the traced allocation of one call, "
    "the same in every call",
    note=f"recursion keeps one running sum a layer and pair, so memory does grow, from "
    f"{memory['last', 2]:.2f} MiB at depth 2 to {memory['last', DEEPEST]:.2f} at "
    f"{DEEPEST}; there the definition takes {counted['layers', DEEPEST]:,} window "
    f"values with layers stored and {counted['last', DEEPEST]:,} without",
)

# %% [markdown]
# ## One channel
#
# A layer may have several channels, local powers of different degrees, $\sum_w (1 + \langle x_w, z_w
# \rangle)^2 + \sum_w (1 + \langle x_w, z_w\rangle)^4$. Section 3 calls that "equivalent to having only
# one output channel with the largest degree", whose features contain those of the smaller one. The
# weights differ, so it is no identity; we ask what it does to accuracy.

# %%
data = load_digits_images() if run.quick else load_mnist()
run.uses_data(data)
images, labels = data.data.reshape(len(data.data), -1) / 255, data.target


@run.cache
def accuracies(split, n_train, n_test):
    """Accuracy (%) with local powers of degrees 2 and 4, and of degree 4 alone."""
    rows = np.random.default_rng(split).permutation(len(images))[: n_train + n_test]
    X, y = images[rows], labels[rows]
    two, four = (Locality((28, 28), 9, powers=(d, 1))(X, X[:n_train]) for d in (2, 4))
    machine = SVC(kernel="precomputed", C=1)
    return [
        100 * machine.fit(gram[:n_train], y[:n_train]).score(gram[n_train:], y[n_train:])
        for gram in ((two + four - 1) ** 2, four**2)
    ]


both, alone = np.array([accuracies(30 + k, N_TRAIN, N_TEST) for k in range(SPLITS)]).T
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
