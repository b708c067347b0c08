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
# # The cost of pooled features, at the size of Figure 2
#
# *The feature map of Mroueh, Voinea and Poggio (2015), section 2, at the size of their Figure 2.*
#
# Every feature rests on the inner products of $N$ images with $m |G|$ transformed templates, a plain
# matrix product. Then one has to count how many of them lie below each of $2 n + 1$ thresholds. For
# 70,000 images, 500 templates and 441 transformations that is 15 billion inner products. We
# measure how close the features come to the bare product, and in how much memory. The median ratio is in
# the title of the first figure; memory does not grow with the number of images.

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

# %% [markdown]
# Each sweep varies one quantity around a base size, at which the definition, too, can be timed. The size of
# Figure 2 comes at the end, without the definition.

# %% tags=["settings"]
if run.quick:
    base = {"bins": n_bins, "images": 80, "templates": 10, "transformations": 40}
    sweeps = {
        "images": [40, 80, 160],
        "bins": [5, 25, 50, 100],
        "templates": [3, 10, 30],
        "transformations": [20, 40, 80],
    }
    memory_sizes = [
        {"templates": 10, "images": 100},
        {"templates": 10, "images": 300},
        {"templates": 20, "images": 100},
    ]
    full_size = {"templates": 20, "images": 500}
else:
    base = {"bins": n_bins, "images": 500, "templates": 20, "transformations": 120}
    sweeps = {
        "images": [100, 300, 1000, 3000, 10000],
        "bins": [5, 25, 50, 100],
        "templates": [2, 6, 20, 60, 200],
        "transformations": [10, 30, 120, 441],
    }
    memory_sizes = [
        {"templates": 500, "images": 200},
        {"templates": 500, "images": 2000},
    ]
    full_size = {"templates": 500, "images": 10_000}

# %% [markdown]
# Images have unit norm and single precision, in which all inner products below are taken.

# %%
digits = load_digits_images() if run.quick else load_mnist()
run.uses_data(digits)
X = digits.data.reshape(len(digits.data), -1).astype(np.float32)
X /= np.linalg.norm(X, axis=1, keepdims=True)
rotations = Rotations((28, 28), np.linspace(-20, 20, angles))
group = rotations.then(Translations((28, 28), max_shift=3))
print(f"{digits.description}; {group.order} transformations")

# %% [markdown]
# ## Three ways to the inner products
#
# The first is **ours**, `GroupCDF.transform`. Templates are drawn, transformed and stored, and
# thresholds fixed, before anything is timed.


# %%
def fitted(n_templates, n_transforms, n_bins=n_bins):
    """Feature map with windowed templates and the thresholds of the data."""
    templates = draw_windowed_templates(n_templates, (28, 28), width=3.0, random_state=seed)
    features = GroupCDF(
        group,
        n_templates,
        n_bins=n_bins,
        n_transforms=n_transforms,
        templates=templates,
        s="data",
        block_bytes=2**30,
        random_state=seed,
    )
    return features.fit(X[:1000])


# %%
def transformed_templates(features):
    """All copies of all templates, shape (m, |G|, 784), float32."""
    orbit = group.act(features.elements_, features.templates_.astype(np.float32))
    return np.ascontiguousarray(orbit.swapaxes(0, 1))


# %% [markdown]
# The second is the **definition**, one threshold after the other. The third is the **bare product**: the
# same inner products, a tile at a time, thrown away.


# %%
def definition(features, X, orbit):
    """phi_jk(x) = sqrt(s / (n m)) mean_i 1[<g_i t_j, x> <= s k / n], as it is written."""
    n_bins = features.n_bins
    thresholds = features.s_ * np.arange(-n_bins, n_bins + 1) / n_bins
    shares = np.empty((len(X), len(orbit), len(thresholds)), dtype=np.float32)
    for j, copies in enumerate(orbit):
        products = X @ copies.T
        for k, threshold in enumerate(thresholds):
            shares[:, j, k] = np.mean(products <= threshold, axis=1)
    scale = np.sqrt(features.s_ / (n_bins * len(orbit)))
    return scale * shares.reshape(len(X), -1)


# %%
def bare_product(X, orbit):
    """Compute all inner products in tiles and drop them."""
    copies = orbit.reshape(-1, X.shape[1])
    for row in range(0, len(X), 512):
        for first in range(0, len(copies), 2048):
            X[row : row + 512] @ copies[first : first + 2048].T


# %% [markdown]
# ## Over images, bins, templates and transformations
#
# One quantity varies, the others are fixed. The smallest of three measurements, on one core. The smallest
# is taken and not the mean, because other programs on the machine can only add time. The definition is
# slow, and measured once or twice.


# %%
def seconds(function, *arguments, repeats=3):
    """Least duration of several calls."""
    durations = []
    for _ in range(repeats):
        before = perf_counter()
        function(*arguments)
        durations.append(perf_counter() - before)
    return min(durations)


# %%
measured = {}  # seconds of each way, by the quantity varied and its value
for quantity, values in sweeps.items():
    for value in values:
        size = base | {quantity: value}
        features = fitted(size["templates"], size["transformations"], size["bins"])
        points = X[: size["images"]]
        orbit = transformed_templates(features)
        repeats = 1 if value == max(values) else 2
        measured[quantity, value] = {
            "ours": seconds(features.transform, points),
            "bare product": seconds(bare_product, points, orbit),
            "definition": seconds(definition, features, points, orbit, repeats=repeats),
        }

# %% [markdown]
# In every panel the distance between our curve and that of the bare product is the price of counting. The
# definition passes over all inner products once for each threshold: the panel of bins shows it best.

# %%
LOOKS = {"definition": "definition", "ours": "fast", "bare product": "gemm"}
ratios = [times["ours"] / times["bare product"] for times in measured.values()]
fig, axes = plt.subplots(2, 2, figsize=(9, 6.8), sharey=True)
for axis, (quantity, values) in zip(axes.flat, sweeps.items(), strict=True):
    curves = {}
    for way, method in LOOKS.items():
        curves[way] = (method, [measured[quantity, value][way] for value in values])
    fixed = [f"{value} {name}" for name, value in base.items() if name != quantity]
    panel(
        axis,
        values,
        curves,
        log="xy",
        ends=None,
        xlabel=quantity,
        title=", ".join(fixed),
    )
for axis in axes[:, 0]:
    axis.set_ylabel("seconds on one core")
axes[0, 0].legend()
fig.suptitle(f"Ours takes {np.median(ratios):.1f} times as long as the bare product (median)")
run.figure(fig, "cost", caption="Time for CDF(n, m) features of 28 x 28 images.")

# %%
table_rows = []
for (quantity, value), times in measured.items():
    row = {"varied": quantity, "value": value}
    row["ours / bare product"] = f"{times['ours'] / times['bare product']:.2f}"
    row["definition / ours"] = f"{times['definition'] / times['ours']:.1f}"
    table_rows.append(row)
    for way, duration in times.items():
        run.timing(f"{way}, {value} {quantity}", duration)
run.table(pd.DataFrame(table_rows), "ratios", caption="Measured in this run.")

# %% [markdown]
# ## Memory
#
# Temporary arrays are a tile of projections with the arrays that count it, and the transformed
# templates, stored if they fit into `block_bytes` (here 1 GiB) and otherwise made block by block.
# Neither grows with the number of images. We measure the peak above input and output. Rows of the table
# that differ in the number of images alone should therefore have nearly the same peak.


# %%
def peak_bytes(n_templates, n_images):
    """Largest allocation during fit and transform, above the result (and one copy of the input)."""
    tracemalloc.start()
    features = fitted(n_templates, None)
    result = features.transform(X[:n_images])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - result.nbytes - X[:n_images].nbytes


# %%
table_rows = []
for size in memory_sizes:
    peak = peak_bytes(size["templates"], size["images"])
    table_rows.append(size | {"peak above input and output (GiB)": f"{peak / 2**30:.2f}"})
run.table(
    pd.DataFrame(table_rows),
    "memory",
    caption=f"Peak of traced allocations, all {group.order} transformations.",
)

# %% [markdown]
# ## At full size
#
# CDF(50, 500) with 441 transformations on a seventh of the images, in parts of 1,000 whose features
# are dropped at once. Ours and the bare product are timed alternately.

# %%
n_templates = full_size["templates"]
n_images = full_size["images"]
features = fitted(n_templates, None)
orbit = transformed_templates(features)
totals = {"ours": 0.0, "bare product": 0.0}
for start in range(0, n_images, 1000):
    part = X[start : start + 1000]
    totals["ours"] += seconds(features.transform, part, repeats=1)
    totals["bare product"] += seconds(bare_product, part, orbit, repeats=1)

# %%
n_operations = 2 * n_images * orbit.size
table_rows = []
for way, total in totals.items():
    run.timing(f"{way}, {n_images:,} images, CDF({n_bins}, {n_templates})", total)
    row = {"way": way, "seconds": f"{total:.1f}"}
    row["Gflop/s in the product"] = f"{n_operations / total / 1e9:.0f}"
    row["relative to the bare product"] = f"{total / totals['bare product']:.2f}"
    table_rows.append(row)
run.table(
    pd.DataFrame(table_rows),
    "full-size",
    caption=f"{n_images:,} images, {n_templates} templates, {group.order} transformations.",
)

# %% [markdown]
# ## Try it
#
# `invariance run mroueh2015/cost -p n_bins 200`: what do bins cost? Or `-p angles 3`.
