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
# # Remark 4: the cost of orbit features, and how to pay less
#
# *Raj et al. (2017), remark (4) of section 2.2.2.*
#
# Features with $s$ templates and $r$ group elements take $n \cdot s \cdot r$ inner products in
# $d$ dimensions. How close to the speed of a bare matrix product can they be computed, without an array
# of $n \times s r$ numbers? And can we do with less than the bare product?
#
# For rotations we can. In a basis of functions $R_{mn}(\rho)\, e^{i m \theta}$ a rotation multiplies
# coefficients by $e^{i m \theta}$, so that with coefficients grouped by frequency
#
# $$\langle x, g_\theta \omega \rangle = \sum_{m \le M} a_m \cos m\theta + b_m \sin m\theta,$$
#
# all rotations of a template cost *one* projection (for $a$, $b$) and $2M + 1$ operations per angle
# instead of $d$. And the angle is better integrated than sampled.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
kappa: float = 0.2  # concentration of the density on rotations
r: int = 100  # random angles, as in the paper

# %%
import time
import tracemalloc
import warnings
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _aims import Aim

from invariance.companion import Run, colour, fit_rate, panel
from invariance.datasets import load_digits_images, load_mnist
from invariance.features import AngularBasis, OrbitFourier
from invariance.groups import Rotations, VonMises
from invariance.kernels import Average, Gaussian
from invariance.orbits import CircleProducts

run = Run("raj2017/cost", profile=profile, seed=seed, kappa=kappa, r=r)

# %% [markdown]
# The quick profile has fewer images and templates; ratios of times are then not informative.

# %% tags=["settings"]
N_TABLE = 12_000  # images of Table 2
if run.quick:
    N_IMAGES = 256
    N_TEMPLATES = 128
    N_KERNEL_IMAGES = 128
    N_DRAWS = 3  # of templates
    N_ROUNDS = 3  # of timing
    N_MEMORY_ROWS = 64
    N_MEMORY_TEMPLATES = 500
else:
    N_IMAGES = 2048
    N_TEMPLATES = 512
    N_KERNEL_IMAGES = 2048
    N_DRAWS = 10
    N_ROUNDS = 5
    N_MEMORY_ROWS = 256
    N_MEMORY_TEMPLATES = 7000

# %% [markdown]
# ## The setting
#
# Table 2's shape, $d = 784$ and $r = 100$, with fewer points and templates: every cost below is
# proportional to both. Methods are timed alternately on one thread; the best of several rounds counts.

# %%
data = load_digits_images() if run.quick else load_mnist()
run.uses_data(data)
pixels = data.data.reshape(len(data.data), -1)[:N_IMAGES].astype(np.float32) / 255
density = VonMises(kappa)
GAMMA = 0.04
basis = AngularBasis((28, 28)).fit(pixels)
Z = basis.transform(pixels)

# %% [markdown]
# ## Quadrature or random angles?
#
# A few nodes of quadrature are as good as a hundred random angles. The figure shows the error of the
# pooled features, relative to 1,024 nodes, on the digits. Features and reference have the same templates,
# so that the error is that of the angles alone.

# %%
few = Z[:200].astype(float)


def pooled(n_nodes, n_transforms, draw):
    """Features by quadrature (n_nodes) or by random angles (n_transforms)."""
    group = basis.rotations(density, n_nodes=n_nodes)
    model = OrbitFourier(group, 50, n_transforms=n_transforms, gamma=GAMMA, random_state=draw)
    return model.fit(few).transform(few)


references = [pooled(1024, None, draw) for draw in range(N_DRAWS)]
size = np.sqrt(np.mean(np.square(references)))


def relative_errors(n_nodes, n_transforms):
    """Relative errors of the features, one for each draw of templates."""
    errors = []
    for draw, reference in enumerate(references):
        difference = pooled(n_nodes, n_transforms, draw) - reference
        errors.append(np.sqrt(np.mean(difference**2)) / size)
    return errors


counts = np.array([8, 12, 16, 24, 32, 48, 64, r])
quadrature = np.array([relative_errors(int(count), None) for count in counts])
random = np.array([relative_errors(None, int(count)) for count in counts])
fit = fit_rate(counts, random.T)
as_good = quadrature.mean(axis=1) <= random[-1].mean()
enough = int(counts[as_good][0])

# %% [markdown]
# Quadrature converges at once when its nodes resolve the density. Random angles have the usual slow
# rate.

# %% tags=["hide-input"]
fig, axis = plt.subplots()
panel(
    axis,
    counts,
    {
        "quadrature": ("fast", quadrature.T),
        f"random angles, slope {fit.slope:.2f}": ("group", random.T),
    },
    log="xy",
    ends=0.5,
    xlabel="angles",
    ylabel="relative error of the features",
    title=f"{enough} nodes do no worse than {r} random angles",
)
caption = f"Means and two standard errors over {N_DRAWS} draws of templates."
run.figure(fig, "quadrature", caption=caption)

# %% [markdown]
# ## Blocked features against the bare product
#
# The paper's construction: templates rotated by interpolation, once, at `fit`. Interpolation is not
# unitary, and the library warns of it. The yardstick is one matrix product of the same size, without and
# with the cosines of its entries.


# %%
def interpolated(n_templates, images, block_bytes=None):
    """Features of templates that are turned by interpolation."""
    model = OrbitFourier(
        Rotations((28, 28), density=density),
        n_templates,
        n_transforms=r,
        gamma=GAMMA,
        side="second",
        block_bytes=block_bytes,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(images)


turned = interpolated(N_TEMPLATES, pixels, block_bytes=2**30)
columns = np.random.default_rng(seed).standard_normal((784, N_TEMPLATES * r), dtype=np.float32)


def bare_product(function=None):
    for start in range(0, N_IMAGES, 256):
        values = pixels[start : start + 256] @ columns
        if function is not None:
            function(values, out=values)


# %% [markdown]
# Then the same number of random angles by angular frequencies, and quadrature, the projection on the
# basis counted in; and the products $\langle x, g \omega \rangle$ alone.


# %%
def by_frequency(n_nodes, n_transforms=None):
    model = OrbitFourier(
        basis.rotations(density, n_nodes=n_nodes),
        N_TEMPLATES,
        n_transforms=n_transforms,
        gamma=GAMMA,
        random_state=seed,
    )
    return model.fit(Z)


# %% [markdown]
# The projection on the angular basis is part of the measured time, for features as for bare
# products.


# %%
def features_of(model):
    return model.transform(basis.transform(pixels))


def project(model):
    """Compute all products, and do nothing with them."""
    products = CircleProducts(basis.frequencies_, model.templates_, model.elements_)
    gathered = products.gather(basis.transform(pixels))
    for row in range(0, N_IMAGES, 256):
        for column in range(0, N_TEMPLATES, 128):
            blocks = (slice(row, row + 256), slice(column, column + 128))
            for _ in products.pairs(gathered, *blocks):
                continue


# %% [markdown]
# All methods by name, in the order in which the figure shows them.

# %%
angular = {
    f"{r} random angles": by_frequency(None, r),
    "64 nodes": by_frequency(64),
    f"{enough} nodes": by_frequency(enough),
}
methods = {
    "bare product": bare_product,
    "product and cosines": partial(bare_product, np.cos),
    "blocked features": partial(turned.transform, pixels),
}
for name, model in angular.items():
    methods[f"angular features, {name}"] = partial(features_of, model)
for name, model in angular.items():
    methods[f"angular projections, {name}"] = partial(project, model)


# %% [markdown]
# Processor time of each method, in turns over several rounds. Ratios are recorded as timings, apart
# from the results that equal seeds reproduce.


# %%
def seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


by_round = []
for _ in range(N_ROUNDS):
    by_round.append({name: seconds(method) for name, method in methods.items()})
times = {name: min(measured[name] for measured in by_round) for name in methods}
bare = times["bare product"]
blocked = times["blocked features"]
ratios = {"blocked features / product and cosines": blocked / times["product and cosines"]}
for name in angular:
    ratios[f"bare product / projections, {name}"] = bare / times[f"angular projections, {name}"]
    features = times[f"angular features, {name}"]
    ratios[f"blocked features / angular features, {name}"] = blocked / features
for name, measured in times.items():
    run.timing(name, measured)
for name, ratio in ratios.items():
    run.timing(f"ratio: {name}", ratio)

# %% [markdown]
# Blocked features take about as long as the product that they contain; angular frequencies take a
# fraction of it.

# %% tags=["hide-input"]
looks = ["gemm", "definition", "lgika", *["fast"] * len(angular), *["templates"] * len(angular)]
relative = {name: measured / bare for name, measured in times.items()}
slowest = max(list(relative.values())[3:])
fig, axis = plt.subplots(figsize=(7.4, 3.8))
for i, (name, look) in enumerate(zip(times, looks, strict=True)):
    axis.barh(i, relative[name], color=colour(look))
    axis.text(relative[name], i, f" {relative[name]:.2f}", va="center", fontsize=9)
axis.axvline(1, color=colour("bound"), linestyle=":")
axis.set(
    yticks=range(len(times)),
    yticklabels=list(times),
    xlabel="processor time relative to the bare product",
)
fig.suptitle(f"Angular frequencies take at most {slowest:.2f} of the bare product's time")
axis.invert_yaxis()
run.figure(
    fig,
    "times",
    alt="Bars of times relative to the bare matrix product: "
    + ", ".join(f"{name} {ratio:.2f}" for name, ratio in relative.items()),
    caption=f"n = {N_IMAGES} images, s = {N_TEMPLATES} templates, r = {r}; one thread.",
)

# %% [markdown]
# ## Memory at the size of Table 2
#
# 7,000 templates at 100 angles are over two gigabytes once rotated, and the products of 12,000
# images with them 34 GB. Neither array exists: templates are rotated, and products made, a block
# at a time. Measured with fewer rows, on which only the size of the features depends. For 12,000 rows the
# size of the further features is added, four bytes for each template and row.

# %%
tracemalloc.start()
large = interpolated(N_MEMORY_TEMPLATES, pixels[:N_MEMORY_ROWS])
large.transform(pixels[:N_MEMORY_ROWS])
peak = tracemalloc.get_traced_memory()[1]
tracemalloc.stop()
at_scale = peak + 4 * N_MEMORY_TEMPLATES * (N_TABLE - N_MEMORY_ROWS)
run.timing(f"peak memory at s = {N_MEMORY_TEMPLATES}, {N_TABLE} rows, MB", at_scale / 2**20)

# %% [markdown]
# ## The exact kernel
#
# The same products give the exact kernel $k_{q,G}$ without any templates (`Average`):

# %%
kernel = Average(Gaussian(GAMMA), basis.rotations(density, n_nodes=64))
exact_kernel = partial(kernel, Z[:N_KERNEL_IMAGES])
measured = min(seconds(exact_kernel), seconds(exact_kernel))
n_pairs = N_KERNEL_IMAGES * (N_KERNEL_IMAGES + 1)
at_table = measured * N_TABLE * (N_TABLE + 1) / n_pairs
run.timing("exact kernel, 12,000 x 12,000, extrapolated seconds", at_table)

# %% [markdown]
# ## Aims
#
# The measured values beside the aims that were set before the code was written. With $k$ coefficients in
# $M + 1$ frequencies a pair takes $2 k + (2 M + 1)\, r$ multiplications instead of $d\, r$.


# %%
aims = [
    Aim(
        "features against the bare product and its cosines",
        ratios["blocked features / product and cosines"],
        "at most",
        1.5,
        "times",
    ),
    Aim(
        f"peak memory at Table 2's size, s = {N_MEMORY_TEMPLATES:,}",
        at_scale / 2**30,
        "below",
        4,
        "GiB",
    ),
]
COMPARED = ("64 nodes", f"{r} random angles")
for name in COMPARED:
    ratio = ratios[f"bare product / projections, {name}"]
    aims.append(
        Aim(f"projections against the bare product, {name}", ratio, "at least", 10, "times faster")
    )
for name in COMPARED:
    ratio = ratios[f"blocked features / angular features, {name}"]
    aims.append(Aim(f"features end to end, {name}", ratio, "at least", 3, "times faster"))
aims.append(
    Aim("exact kernel, 12,000 x 12,000, extrapolated", at_table, "below", 120, "processor seconds")
)

# %% [markdown]
# The first table holds each measured value against its aim, the second has the numbers of the
# figure.

# %%
run.table(
    pd.DataFrame([aim.line() for aim in aims]),
    "aims",
    caption=f"Aims and measured values, in one run: n = {N_IMAGES} images, s = {N_TEMPLATES} "
    "templates, one thread, processor time.",
)
table = []
for name, measured in times.items():
    line = {
        "way": name,
        "processor time (s)": f"{measured:.3f}",
        "relative to the bare product": f"{relative[name]:.2f}",
    }
    table.append(line)
run.table(pd.DataFrame(table), "times", caption="Numbers of the second figure.")

# %% [markdown]
# ## Try it
#
# `invariance run raj2017/cost -p kappa 20`: how many nodes does a narrow density need?
