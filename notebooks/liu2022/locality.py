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

from invariance.companion import Run, colour, marker
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

# %%
first, deepest = 2, int(depths[-1])
scores, order = {"1": 1.0, "1.5": 1.5}, []
for d in range(first + 1, deepest + 1):
    scores |= {
        # Proportional to depth is as much as "linear" allows, with no constant term.
        f"stored: time over linear, depth {d}": seconds["layers", d]
        / (seconds["layers", first] * d / first),
        f"last only: growth of time, depth {d}": seconds["last", d] / seconds["last", d - 1],
        f"stored: memory over linear, depth {d}": memory["layers", d]
        / (memory["layers", first] * d / first),
    }
    order += [
        f"1 >= stored: time over linear, depth {d}",
        f"1 >= stored: memory over linear, depth {d}",
    ]
    if d > 4:  # where the layers outweigh what a call costs anyway
        order.append(f"last only: growth of time, depth {d} > 1.5")
run.claim(
    "liu2022/complexity",
    order=order,
    scores=scores,
    paired=True,
    exact="memory is the traced allocation of one call, the same in every call",
    level=0.1,
    note="processor time and peak memory as measured; by the package's own count a recomputed "
    "layer costs "
    f"{(work['last'][1:, 0] / work['last'][:-1, 0]).mean():.2f} times as much as all below it, a "
    f"stored one "
    f"the same number of values again; at depth {deepest} storing takes "
    f"{1e3 * seconds['layers', deepest].mean():.0f} ms and recomputing "
    f"{1e3 * seconds['last', deepest].mean():.0f} ms",
)

# %% [markdown]
# ## Try it
#
# Give `Locality` a stride of 2: layers shrink, and recomputation is no longer exponential in the
# same base.
