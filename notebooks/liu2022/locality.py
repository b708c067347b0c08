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
# # Locality at multiple scales: lemma 3 and the cost of depth
#
# *Liu, Kumar, Zhou and Liu (2022), section 3.*
#
# A polynomial of an image mixes distant pixels as readily as neighbours, although an edge is made
# of neighbours. The locality kernel takes powers of *windows* first and of their sum second (eq.
# 5),
#
# $$K^{(1)}_L(x, z) = \Big[\sum_w \big(\langle x_w, z_w\rangle + 1\big)^{d_1} + 1\Big]^{d_2},$$
#
# and again windows of windows for every further layer (eq. 6). Two questions: is that a kernel,
# and what does depth cost?

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import time
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from invariance.companion import Run, colour, marker, mean_se
from invariance.datasets import load_digits_images, load_mnist
from invariance.kernels import Locality, gram_report

run = Run("liu2022/locality", profile=profile, seed=seed)

# %% tags=["settings"]
# all that differs between the two profiles
SETTINGS = {
    "quick": {
        "images": 40,
    },
    "full": {
        "images": 120,
    },
}[profile]

# %% [markdown]
# ## Lemma 3: positive definite at any depth
#
# Sums, products and positive constants keep kernels positive definite, and nothing else happens
# here. On random images and sequences, with one to four local layers, one or three channels,
# several strides and paddings, the smallest eigenvalue is never below zero by more than rounding.
# A violation is counted relative to the largest eigenvalue.

# %%
n = SETTINGS["images"]
violations, rows = [], []
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
    report = gram_report(kernel(run.rng.standard_normal((n, kernel.n_features))))
    violations.append(max(0.0, -report.smallest) / report.largest)
    rows.append(
        {
            "kernel": repr(kernel).replace("\n", " "),
            "local layers": len(kernel.powers) - 1,
            "smallest / largest eigenvalue": f"{report.smallest / report.largest:.1e}",
            "asymmetry": f"{report.asymmetry:.0e}",
        }
    )
run.table(rows, "definiteness", caption=f"Gram matrices of {n} Gaussian points.")
run.claim(
    "liu2022/lemma3",
    difference=violations,
    tolerance=1e-10,
    note=f"negative part of the spectrum relative to its largest eigenvalue, {len(rows)} kernels "
    f"of up to "
    "four local layers",
)

# %% [markdown]
# ## What depth costs
#
# "Supported by adequate memory space, one can store all kernel values from every layer, with both
# computation time and memory space increasing linearly with depth. In contrast, when limited by
# memory space, one can store only the kernel values from the final layer": then "computation time
# grows exponentially with depth". Both are `storage` settings of `Locality`. Time is the
# processor's, memory the peak of the arrays alive, both measured on a Gram matrix; `work()`, the
# package's own count of window values per pair, is drawn above them.

# %%
DEEPEST, ROUNDS = {"quick": (4, 2), "full": (8, 9)}[profile]
depths = np.arange(1, DEEPEST + 1)
length = 64


def deep(depth, storage):
    return Locality(
        (length,),
        window=3,
        powers=(2,) * depth + (1,),
        storage=storage,
        gammas=(0.2,) * (depth + 1),
    )


work = {
    storage: np.array([deep(depth, storage).work() for depth in depths])
    for storage in ("layers", "last")
}
x, z = run.rng.random((2, 1, length))
same = [deep(d, "layers")(x, z)[0, 0] / deep(d, "last")(x, z)[0, 0] - 1 for d in depths]
print(f"largest relative difference between the two: {np.abs(same).max():.1e}")

# %%
X = run.rng.random((50, length))
kernels = {(how, int(d)): deep(int(d), how) for how in ("layers", "last") for d in depths}
seconds = {key: np.empty(ROUNDS) for key in kernels}
for k in range(ROUNDS):  # in turns, so that what else the machine does hits all alike
    for key, kernel in kernels.items():
        tries = []
        for _ in range(3):
            start = time.process_time()
            kernel(X)
            tries.append(time.process_time() - start)
        seconds[key][k] = min(tries)


def peak(kernel):
    """Largest sum of arrays alive, in MiB."""
    tracemalloc.start()
    kernel(X)
    found = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return found


memory = {key: peak(kernel) for key, kernel in kernels.items()}
for (how, depth), taken in seconds.items():
    run.timing(f"{how}, {depth} layers", float(taken.mean()))
measured = {
    how: np.array([(seconds[how, int(d)].mean(), memory[how, int(d)]) for d in depths])
    for how in ("layers", "last")
}

# %%
fig, axes = plt.subplots(2, 2, figsize=(10, 7), sharex=True)
looks = {"layers": ("l-ti-ri", "every layer stored"), "last": ("l", "last layer only")}
for storage, (name, label) in looks.items():
    look = dict(color=colour(name), marker=marker(name), label=label)
    for panels, values in zip(axes, (work[storage], measured[storage]), strict=True):
        for axis, column in zip(panels, values.T, strict=True):
            axis.plot(depths, column, **look)
axes[0, 1].plot(
    depths, length * depths, color=colour("bound"), linestyle="--", label="all layers at once"
)
for axis, what in zip(
    axes.flat,
    (
        "window values computed for a pair",
        "window values held for a pair",
        "processor time (s)",
        "peak memory (MiB)",
    ),
    strict=True,
):
    axis.set(yscale="log", ylabel=what)
    axis.legend()
for axis in axes[1]:
    axis.set_xlabel("local layers")
less = work["last"][-1, 0] / work["layers"][-1, 0]
fig.suptitle(
    f"Storing layers saves {less:.0f} times the work at depth {depths[-1]}, for more memory"
)
run.figure(
    fig,
    "depth",
    alt="Against depth, for every layer stored and for the last layer only. Above, counts for "
    "one pair: window values computed grow slowly when every layer "
    "is stored and by a factor of about three a layer when only the last one is; values held are "
    "about 130 and constant when layers "
    "are stored, a handful when they are not. Below, processor time and peak memory as measured: "
    "the same shapes.",
    caption=f"Sequences of {length} entries, windows of three. Measured for the Gram matrix of "
    f"{len(X)} of them.",
)

# %% [markdown]
# **What it shows.** Exactly what the paper says, with one addition: a layer needs only the layer
# below, so that memory does not even grow with depth when layers are stored. Recomputation
# multiplies the work by the window, 3, for every layer (less at the ends, where windows are cut
# off).

# %% [markdown]
# The verdict rests on counts, not on the clock: the definition of eq. (6), run with a counter.


# %%
def evaluations(depth, stored):
    """Value of the kernel of one pair by eq. (6), and how many window values that takes."""
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

    return 1 + 0.2 * sum(window(depth, i) for i in range(length)), count


scores, order = {"1": 1.0, "1.5": 1.5, "1.1": 1.1}, []
counted = {
    how: {int(d): evaluations(int(d), how == "layers")[1] for d in depths}
    for how in ("layers", "last")
}
off = max(abs(evaluations(d, True)[0] / deep(d, "layers")(x, z)[0, 0] - 1) for d in (1, 2, 3))
print(f"the definition and Locality differ by {off:.1e}")
for d in range(3, int(depths[-1]) + 1):
    scores |= {
        # Proportional to depth is as much as "linear" allows, with no constant term.
        f"stored: operations over linear, {d}": 2
        * counted["layers"][d]
        / (counted["layers"][2] * d),
        f"stored: bytes over linear, {d}": 2 * memory["layers", d] / (memory["layers", 2] * d),
        f"last only: growth of operations, {d}": counted["last"][d] / counted["last"][d - 1],
        f"last only: bytes over those at 2, {d}": memory["last", d] / memory["last", 2],
    }
    order += [
        f"1 >= stored: operations over linear, {d}",
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
    note=f"recursion keeps one running sum a layer, so memory does grow, from "
    f"{memory['last', 2]:.2f} MiB at depth 2 to {memory['last', int(depths[-1])]:.2f} at "
    f"{depths[-1]}; there the definition takes {counted['layers'][depths[-1]]:,} window "
    f"values with layers stored and {counted['last'][depths[-1]]:,} without",
)

# %% [markdown]
# ## One channel
#
# A layer may have several channels, local powers of different degrees, $\sum_w (1 + \langle x_w, z_w
# \rangle)^2 + \sum_w (1 + \langle x_w, z_w\rangle)^4$. Section 3 calls that "equivalent to having only
# one output channel with the largest degree", whose features contain those of the smaller one. The
# weights differ, so it is no identity; we ask what it does to accuracy.

# %%
splits, n_train, n_test = (3, 100, 200) if run.quick else (10, 500, 1000)
data = load_digits_images() if run.quick else load_mnist()
for file, sha256 in data.sources.items():
    run.uses_data(file, sha256)
images, labels = data.data.reshape(len(data.data), -1) / 255, data.target


@run.cache
def accuracies(split, n_train, n_test):
    """Accuracy (%) with local powers of degrees 2 and 4, and of degree 4 alone."""
    rows = np.random.default_rng(split).permutation(len(images))[: n_train + n_test]
    X, y = images[rows], labels[rows]
    two, four = (Locality((28, 28), 9, powers=(d, 1))(X, X[:n_train]) for d in (2, 4))
    return [
        100
        * SVC(kernel="precomputed", C=1)
        .fit(gram[:n_train], y[:n_train])
        .score(gram[n_train:], y[n_train:])
        for gram in ((two + four - 1) ** 2, four**2)
    ]


both, alone = np.array([accuracies(30 + k, n_train, n_test) for k in range(splits)]).T
run.claim(
    "liu2022/one-channel",
    samples=both - alone,
    spread="random splits",
    data="scikit-learn's bundled digits, enlarged" if run.quick else None,
    note="degrees 2 and 4: {:.2f} ± {:.2f} %, ".format(*mean_se(both))
    + "degree 4 alone: {:.2f} ± {:.2f} %".format(*mean_se(alone)),
)

# %% [markdown]
# ## Try it
#
# Give `Locality` a stride of 2: layers shrink, and recomputation is no longer exponential in the
# same base.
