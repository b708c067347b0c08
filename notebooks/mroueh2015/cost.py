# ---
# jupyter:
#   invariance:
#     alone: true
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What pooled features cost
#
# *The feature map of Mroueh, Voinea and Poggio (2015), section 2, at the size of their Figure 2.*
#
# Every feature rests on the inner products of $N$ images with $m |G|$ transformed templates, a plain
# matrix product. Then one has to count how many of them lie below each of $2 n + 1$ thresholds. For
# 70,000 images, 500 templates and 441 transformations that is 15 billion inner products. How close to
# the bare product can the features come, and in how much memory?

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
n_bins: int = 50
angles: int = 9  # rotations between -20 and 20 degrees; each with 49 shifts

# %%
import tracemalloc
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from invariance.companion import Run, panel
from invariance.datasets import load_digits_images, load_mnist
from invariance.features import GroupCDF, draw_windowed_templates
from invariance.groups import Rotations, Translations

run = Run("mroueh2015/cost", profile=profile, seed=seed, n_bins=n_bins, angles=angles)

# %% tags=["settings"]
# all that differs between the two profiles; from `memory` on, pairs of templates and images
quick = run.quick
base = {"bins": n_bins, "images": 80, "templates": 10, "transformations": 40}
sweeps = {"images": [40, 80, 160], "bins": [5, 25, 50, 100]}
sweeps |= {"templates": [3, 10, 30], "transformations": [20, 40, 80]}
memory, largest = [(10, 100), (10, 300), (20, 100)], (20, 500)
if not quick:
    base |= {"images": 500, "templates": 20, "transformations": 120}
    sweeps |= {"images": [100, 300, 1000, 3000, 10000], "templates": [2, 6, 20, 60, 200]}
    sweeps |= {"transformations": [10, 30, 120, 441]}
    memory, largest = [(500, 200), (500, 2000)], (500, 10_000)

# %%
digits = load_digits_images() if quick else load_mnist()
run.uses_data(digits)
X = digits.data.reshape(len(digits.data), -1).astype(np.float32)
X /= np.linalg.norm(X, axis=1, keepdims=True)
group = Rotations((28, 28), np.linspace(-20, 20, angles)).then(Translations((28, 28), max_shift=3))
print(f"{digits.description}; {group.order} transformations")

# %% [markdown]
# ## Three ways
#
# The **definition**, threshold by threshold; **ours**, `GroupCDF.transform`; and the **bare
# product**, the same inner products, a tile at a time, thrown away.


# %%
def fitted(n_templates, n_transforms, n_bins=n_bins):
    """Templates drawn, transformed and kept; thresholds fixed."""
    templates = draw_windowed_templates(n_templates, (28, 28), width=3.0, random_state=seed)
    how = {"templates": templates, "s": "data", "block_bytes": 2**30, "random_state": seed}
    features = GroupCDF(group, n_templates, n_bins=n_bins, n_transforms=n_transforms, **how)
    return features.fit(X[:1000])


def transformed_templates(features):
    """All copies of all templates, shape (m, |G|, 784), float32."""
    orbit = group.act(features.elements_, features.templates_.astype(np.float32))
    return np.ascontiguousarray(orbit.swapaxes(0, 1))


def definition(features, X, orbit):
    """phi_jk(x) = sqrt(s / (n m)) mean_i 1[<g_i t_j, x> <= s k / n], as it is written."""
    n_bins = features.n_bins
    thresholds = features.s_ * np.arange(-n_bins, n_bins + 1) / n_bins
    shares = np.empty((len(X), len(orbit), len(thresholds)), dtype=np.float32)
    for j, copies in enumerate(orbit):
        products = X @ copies.T
        for k, threshold in enumerate(thresholds):
            shares[:, j, k] = np.mean(products <= threshold, axis=1)
    return np.sqrt(features.s_ / (n_bins * len(orbit))) * shares.reshape(len(X), -1)


def bare_product(X, orbit):
    flat = orbit.reshape(-1, X.shape[1])
    for begin in range(0, len(X), 512):
        for first in range(0, len(flat), 2048):
            X[begin : begin + 512] @ flat[first : first + 2048].T


# %% [markdown]
# ## Over images, bins, templates and transformations
#
# One quantity varies, the others are fixed. The smallest of three measurements, on one core.


# %%
def seconds(function, *arguments, repeats=3):
    times = []
    for _ in range(repeats):
        before = perf_counter()
        function(*arguments)
        times.append(perf_counter() - before)
    return min(times)


measured = {}
for what, values in sweeps.items():
    for value in values:
        size = base | {what: value}
        features = fitted(size["templates"], size["transformations"], size["bins"])
        points = X[: size["images"]]
        orbit = transformed_templates(features)
        tries = 1 if value == max(values) else 2
        measured[what, value] = {
            "ours": seconds(features.transform, points),
            "bare product": seconds(bare_product, points, orbit),
            "definition": seconds(definition, features, points, orbit, repeats=tries),
        }

# %%
fig, axes = plt.subplots(2, 2, figsize=(10, 7), sharey=True)
looks = {"definition": "definition", "ours": "fast", "bare product": "gemm"}
for axis, (what, values) in zip(axes.flat, sweeps.items(), strict=True):
    panel(
        axis,
        values,
        {way: (look, [measured[what, v][way] for v in values]) for way, look in looks.items()},
        log="xy",
        ends=None,
        xlabel=what,
        title=", ".join(f"{v} {k}" for k, v in base.items() if k != what),
    )
for axis in axes[:, 0]:
    axis.set_ylabel("seconds on one core")
axes[0, 0].legend()
ratio = [m["ours"] / m["bare product"] for m in measured.values()]
fig.suptitle(f"Ours takes {np.median(ratio):.1f} times as long as the bare product (median)")
run.figure(fig, "cost", caption="Time for CDF(n, m) features of 28 x 28 images.")
table = [
    (*key, f"{t['ours'] / t['bare product']:.2f}", f"{t['definition'] / t['ours']:.1f}")
    for key, t in measured.items()
]
columns = ["varied", "value", "ours / bare product", "definition / ours"]
run.table(pd.DataFrame(table, columns=columns), "ratios", caption="Measured in this run.")
for (what, value), times in measured.items():
    for way, spent in times.items():
        run.timing(f"{way}, {value} {what}", spent)

# %% [markdown]
# ## Memory
#
# Temporary arrays are a tile of projections with what counting it takes, and the transformed templates,
# kept when they fit into `block_bytes` (here 1 GiB) and otherwise made block by block. Neither grows
# with the number of images. Peak above input and output:


# %%
def peak_bytes(n_templates, n_images):
    """Largest allocation during fit and transform, above the result (and one copy of the input)."""
    tracemalloc.start()
    features = fitted(n_templates, None)
    result = features.transform(X[:n_images])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - result.nbytes - X[:n_images].nbytes


table = pd.DataFrame(memory, columns=["templates", "images"])
peaks = [f"{peak_bytes(*sizes) / 2**30:.2f}" for sizes in memory]
run.table(
    table.assign(**{"peak above input and output (GiB)": peaks}),
    "memory",
    caption=f"Peak of traced allocations, all {group.order} transformations.",
)

# %% [markdown]
# ## At full size
#
# CDF(50, 500) with 441 transformations on a seventh of the images, in parts of 1,000 whose features
# are dropped at once. Ours and the bare product are timed alternately.

# %%
n_templates, n_images = largest
features = fitted(n_templates, None)
orbit = transformed_templates(features)
spent = {"ours": 0.0, "bare product": 0.0}
for start in range(0, n_images, 1000):
    part = X[start : start + 1000]
    spent["ours"] += seconds(features.transform, part, repeats=1)
    spent["bare product"] += seconds(bare_product, part, orbit, repeats=1)
flops = 2 * n_images * orbit.size
for way, total in spent.items():
    run.timing(f"{way}, {n_images:,} images, CDF({n_bins}, {n_templates})", total)
bare = spent["bare product"]
table = [
    (way, f"{total:.1f}", f"{flops / total / 1e9:.0f}", f"{total / bare:.2f}")
    for way, total in spent.items()
]
columns = ["way", "seconds", "Gflop/s in the product", "relative to the bare product"]
run.table(
    pd.DataFrame(table, columns=columns),
    "full-size",
    caption=f"{n_images:,} images, {n_templates} templates, {group.order} transformations.",
)

# %% [markdown]
# ## Try it
#
# `invariance run mroueh2015/cost -p n_bins 200`: what do bins cost? Or `-p angles 3`.
