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
# A polynomial of an image mixes distant pixels as readily as neighbours, although an edge is made of
# neighbours. The locality kernel takes powers of *windows* first and of their sum second (eq. 5),
#
# $$K^{(1)}_L(x, z) = \Big[\sum_w \big(\langle x_w, z_w\rangle + 1\big)^{d_1} + 1\Big]^{d_2},$$
#
# and again windows of windows for every further layer (eq. 6). Two questions: is that a kernel, and what
# does depth cost?

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import time
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np

from invariance.companion import Run, colour, marker
from invariance.kernels import Locality, gram_report

run = Run("liu2022/locality", profile=profile, seed=seed)

# %% [markdown]
# ## Lemma 3: positive definite at any depth
#
# Sums, products and positive constants keep kernels positive definite, and nothing else happens here. On
# random images and sequences, with one to four local layers, one or three channels, several strides and
# paddings, the smallest eigenvalue is never below zero by more than rounding. A violation is counted
# relative to the largest eigenvalue.

# %%
n = run.choose(quick=40, full=120)
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
    note=f"negative part of the spectrum relative to its largest eigenvalue, {len(rows)} kernels of up to "
    "four local layers",
)

# %% [markdown]
# ## What depth costs
#
# "Supported by adequate memory space, one can store all kernel values from every layer, with both computation
# time and memory space increasing linearly with depth. In contrast, when limited by memory space, one can
# store only the kernel values from the final layer": then "computation time grows exponentially with
# depth". Both are `storage` settings of `Locality`. `work()` counts the window values that are
# computed for one pair of points and those held at a time; a test checks the count against the powers
# actually taken.

# %%
depths = np.arange(1, run.choose(quick=7, full=9))
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

# %% [markdown]
# Times and memory as measured, for 50 × 50 pairs of sequences; they vary between runs and machines, so
# the verdict below rests on the counts.

# %%
X = run.rng.random((50, length))


def cost(depth, storage):
    """Processor seconds, the best of three, and the peak of the arrays alive in MiB."""
    kernel, seconds = deep(int(depth), storage), []
    for _ in range(3):
        start = time.process_time()
        kernel(X)
        seconds.append(time.process_time() - start)
    tracemalloc.start()
    kernel(X)
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    run.timing(f"{storage}, {depth} layers", min(seconds))
    return min(seconds), peak


measured = {
    storage: np.array([cost(depth, storage) for depth in depths]) for storage in ("layers", "last")
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
run.figure(
    fig,
    "depth",
    alt="Against depth, for every layer stored and for the last layer only. Above, counts for one pair: window values computed grow slowly when every layer "
    "is stored and by a factor of about three a layer when only the last one is; values held are about 130 and constant when layers "
    "are stored, a handful when they are not. Below, processor time and peak memory as measured: the same shapes.",
    caption=f"Sequences of {length} entries, windows of three. Measured for the Gram matrix of {len(X)} of them.",
)

# %% [markdown]
# **What it shows.** Exactly what the paper says, with one addition: a layer needs only the layer below, so that
# memory does not even grow with depth when layers are stored. Recomputation multiplies the work by the window, 3, for
# every layer (less at the ends, where windows are cut off).

# %%
growth = {storage: counts[1:, 0] / counts[:-1, 0] for storage, counts in work.items()}
steps = {storage: np.diff(counts[:, 0]).astype(float) for storage, counts in work.items()}
run.claim(
    "liu2022/complexity",
    order=[
        "growth a layer, last only > growth a layer, every layer",
        "growth a layer, last only > 2.5",
        "equal steps, every layer >= 1",
        "values held if linear in depth >= values held, every layer",
        "values held, every layer > values held, last only",
    ],
    scores={
        "growth a layer, last only": growth["last"],
        "growth a layer, every layer": growth["layers"],
        "2.5": 2.5,
        # Linear: every further layer costs the same.
        "equal steps, every layer": float(np.all(steps["layers"] == steps["layers"][0])),
        "1": 1.0,
        "values held if linear in depth": float(length * (depths[-1] + 1)),
        "values held, every layer": float(work["layers"][-1, 1]),
        "values held, last only": float(work["last"][-1, 1]),
    },
    note="by exact counts of window values; every further stored layer costs "
    f"{steps['layers'][0]:.0f} values, a recomputed one {growth['last'].mean():.2f} times as much as all below",
)

# %% [markdown]
# ## Try it
#
# Give `Locality` a stride of 2: layers shrink, and recomputation is no longer exponential in the same base.
