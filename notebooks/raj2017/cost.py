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
# # What orbit features cost, and how to pay less
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

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from invariance.companion import Run, colour, fit_rate, panel
from invariance.datasets import load_digits_images, load_mnist
from invariance.features import AngularBasis, OrbitFourier
from invariance.groups import Rotations, VonMises
from invariance.kernels import Average, Gaussian
from invariance.orbits import CircleProducts

run = Run("raj2017/cost", profile=profile, seed=seed, kappa=kappa, r=r)

# %% tags=["settings"]
n, s, m = (256, 128, 128) if run.quick else (2048, 512, 2048)  # images, templates, for the kernel
draws, n_rounds = (range(3), 3) if run.quick else (range(10), 5)
rows, s_table = (64, 500) if run.quick else (256, 7000)  # for memory
n_table = 12_000

# %% [markdown]
# ## The setting
#
# Table 2's shape, $d = 784$ and $r = 100$, with fewer points and templates: every cost below is
# proportional to both. Methods are timed alternately on one thread; the best of several rounds counts.

# %%
data = load_digits_images() if run.quick else load_mnist()
run.uses_data(data)
pixels = data.data.reshape(len(data.data), -1)[:n].astype(np.float32) / 255
density, gamma = VonMises(kappa), 0.04
basis = AngularBasis((28, 28)).fit(pixels)
Z = basis.transform(pixels)

# %% [markdown]
# ## Quadrature or random angles?
#
# The error of the pooled features, relative to 1,024 nodes, on the digits.

# %%
counts = np.array([8, 12, 16, 24, 32, 48, 64, r])
some = Z[:200].astype(float)


def pooled(n_nodes, n_transforms, draw):
    group = basis.rotations(density, n_nodes=n_nodes)
    how = {"n_transforms": n_transforms, "gamma": gamma, "random_state": draw}
    return OrbitFourier(group, 50, **how).fit(some).transform(some)


references = [pooled(1024, None, draw) for draw in draws]
size = np.sqrt(np.mean(np.square(references)))


def error(*way):
    """Relative errors of the features, one for each draw of templates."""
    return [np.sqrt(np.mean((pooled(*way, i) - references[i]) ** 2)) / size for i in draws]


quadrature = np.array([error(int(c), None) for c in counts])
random = np.array([error(None, int(c)) for c in counts])
fit = fit_rate(counts, random)
enough = int(counts[quadrature.mean(axis=1) <= random[-1].mean()][0])

# %%
fig, axis = plt.subplots()
slope = f"random angles, slope {fit.slope:.2f}"
panel(
    axis,
    counts,
    {"quadrature": ("fast", quadrature.T), slope: ("group", random.T)},
    log="xy",
    ends=0.5,
    xlabel="angles",
    ylabel="relative error of the features",
    title=f"{enough} nodes do no worse than {r} random angles",
)
caption = f"Means and two standard errors over {len(draws)} draws of templates."
run.figure(fig, "quadrature", caption=caption)

# %% [markdown]
# ## Blocked features against the bare product
#
# The paper's way: templates rotated by interpolation, once, at `fit`. The yardstick is one matrix
# product of the same size, without and with the cosines of its entries. Then the same number of
# random angles by angular frequencies, and quadrature, the projection on the basis counted in.


# %%
def interpolated(s, images, **how):
    """Features of templates that are turned by interpolation, which is not unitary, and says so."""
    group, how = Rotations((28, 28), density=density), how | {"random_state": seed}
    model = OrbitFourier(group, s, n_transforms=r, gamma=gamma, side="second", **how)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(images)


turned = interpolated(s, pixels, block_bytes=2**30)
columns = np.random.default_rng(seed).standard_normal((784, s * r), dtype=np.float32)


def bare_product(function=None):
    for start in range(0, n, 256):
        values = pixels[start : start + 256] @ columns
        if function is not None:
            function(values, out=values)


def projections(model):
    """All products <x, g omega>, without what is done with them."""
    products = CircleProducts(basis.frequencies_, model.templates_, model.elements_)
    gathered = products.gather(basis.transform(pixels))
    for a in range(0, n, 256):
        for b in range(0, s, 128):
            for _ in products.pairs(gathered, slice(a, a + 256), slice(b, b + 128)):
                continue


def by_frequency(n_nodes, n_transforms=None):
    group = basis.rotations(density, n_nodes=n_nodes)
    how = {"n_transforms": n_transforms, "gamma": gamma, "random_state": seed}
    return OrbitFourier(group, s, **how).fit(Z)


angular = {f"{r} random angles": by_frequency(None, r)}
angular |= {f"{k} nodes": by_frequency(k) for k in (64, enough)}
ways = {
    "bare product": bare_product,
    "product and cosines": lambda: bare_product(np.cos),
    "blocked features": lambda: turned.transform(pixels),
}
for name, model in angular.items():
    ways[f"angular features, {name}"] = lambda model=model: model.transform(basis.transform(pixels))
for name, model in angular.items():
    ways[f"angular projections, {name}"] = lambda model=model: projections(model)


# %%
def seconds(function):
    start = time.process_time()
    function()
    return time.process_time() - start


rounds = [{name: seconds(way) for name, way in ways.items()} for _ in range(n_rounds)]
times = {name: min(taken[name] for taken in rounds) for name in ways}
bare, blocked = times["bare product"], times["blocked features"]
ratios = {"blocked features / product and cosines": blocked / times["product and cosines"]}
for name in angular:
    ratios[f"bare product / projections, {name}"] = bare / times[f"angular projections, {name}"]
    features = times[f"angular features, {name}"]
    ratios[f"blocked features / angular features, {name}"] = blocked / features
for name, taken in (times | {f"ratio: {name}": ratio for name, ratio in ratios.items()}).items():
    run.timing(name, taken)

# %%
fig, axis = plt.subplots(figsize=(7.4, 3.8))
looks = ["gemm", "definition", "lgika", *["fast"] * len(angular), *["templates"] * len(angular)]
for i, (name, look) in enumerate(zip(times, looks, strict=True)):
    axis.barh(i, times[name] / bare, color=colour(look))
    axis.text(times[name] / bare, i, f" {times[name] / bare:.2f}", va="center", fontsize=9)
axis.axvline(1, color=colour("bound"), linestyle=":")
axis.set(
    yticks=range(len(times)),
    yticklabels=list(times),
    xlabel="processor time relative to the bare product",
)
slowest = max(list(times.values())[3:]) / bare
fig.suptitle(f"By angular frequencies: at most {slowest:.2f} of the bare product's time")
axis.invert_yaxis()
run.figure(
    fig,
    "times",
    alt="Bars of times relative to the bare matrix product: "
    + ", ".join(f"{name} {taken / bare:.2f}" for name, taken in times.items()),
    caption=f"n = {n} images, s = {s} templates, r = {r}; one thread.",
)

# %% [markdown]
# ## Memory at the size of Table 2
#
# 7,000 templates at 100 angles are over two gigabytes once rotated, and the products of 12,000
# images with them 34 GB. Neither array exists: templates are rotated, and products made, a block
# at a time. Measured with fewer rows, on which only the size of the features depends.

# %%
tracemalloc.start()
large = interpolated(s_table, pixels[:rows])
large.transform(pixels[:rows])
peak = tracemalloc.get_traced_memory()[1]
tracemalloc.stop()
at_scale = peak + 4 * s_table * (n_table - rows)
run.timing(f"peak memory at s = {s_table}, {n_table} rows, MB", at_scale / 2**20)

# %% [markdown]
# ## The exact kernel
#
# The same products give the exact kernel $k_{q,G}$ without any templates (`Average`):

# %%
K = Average(Gaussian(gamma), basis.rotations(density, n_nodes=64))
taken = min(seconds(lambda: K(Z[:m])) for _ in range(2))
at_table = taken * n_table * (n_table + 1) / (m * (m + 1))
run.timing("exact kernel, 12,000 x 12,000, extrapolated seconds", at_table)

# %% [markdown]
# ## What was aimed at
#
# What this page measured beside what we wanted before writing the code. With $k$ coefficients in $M +
# 1$ frequencies a pair takes $2 k + (2 M + 1)\, r$ multiplications instead of $d\, r$.

# %%
drawn, faster = f"{r} random angles", "times faster"
AIMS = {
    "features against the bare product and its cosines": (
        ratios["blocked features / product and cosines"], "at most", 1.5, "times"),
    f"peak memory at Table 2's size, s = {s_table:,}": (at_scale / 2**30, "below", 4, "GiB"),
    **{f"projections against the bare product, {how}": (
        ratios[f"bare product / projections, {how}"], "at least", 10, faster)
       for how in ("64 nodes", drawn)},
    **{f"features end to end, {how}": (
        ratios[f"blocked features / angular features, {how}"], "at least", 3, faster)
       for how in ("64 nodes", drawn)},
    "exact kernel, 12,000 x 12,000, extrapolated": (at_table, "below", 120, "processor seconds"),
}  # fmt: skip
table = []
for what, (value, how, aim, unit) in AIMS.items():
    reached = value >= aim if how == "at least" else value <= aim
    table.append((what, f"{how} {aim:g} {unit}", f"{value:.2f}", "yes" if reached else "no"))
run.table(
    pd.DataFrame(table, columns=["what", "aim", "measured", "reached"]),
    "aims",
    caption=f"Aims and measured values, in one run: n = {n} images, s = {s} templates, one "
    "thread, processor time.",
)
table = [(name, f"{taken:.3f}", f"{taken / bare:.2f}") for name, taken in times.items()]
columns = ["way", "processor time (s)", "relative to the bare product"]
run.table(pd.DataFrame(table, columns=columns), "times", caption="Numbers of the second figure.")

# %% [markdown]
# ## Try it
#
# `invariance run raj2017/cost -p kappa 20`: how many nodes does a narrow density need?
