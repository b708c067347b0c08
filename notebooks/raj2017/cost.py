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
# # What orbit features cost, and how to pay less
#
# *Raj et al. (2017), remark (4) of section 2.2.2.*
#
# Features with $s$ templates and $r$ group elements take $n \cdot s \cdot r$ inner products in $d$
# dimensions: $6.8 \cdot 10^{13}$ operations for Table 2. Two questions. How close to the speed of a
# bare matrix product can they be computed, without an array of $n \times s r$ numbers? And can we do
# with less than the bare product?
#
# For rotations we can. In a basis of functions $R_{mn}(\rho)\, e^{i m \theta}$ a rotation multiplies
# coefficients by $e^{i m \theta}$. With the coefficients of $x$ and of a template collected by
# angular frequency,
#
# $$\langle x, g_\theta \omega \rangle = \sum_{m \le M} a_m \cos m\theta + b_m \sin m\theta,$$
#
# all rotations of a template cost *one* projection (for $a$, $b$) and $2M + 1$ operations an angle
# instead of $d$. And the angle, being one-dimensional, is better integrated by quadrature than
# sampled.

# %% tags=["parameters"]
profile: str = "quick"      # quick or full
seed: int = 0

# %%
import time
import tracemalloc
import warnings

import matplotlib.pyplot as plt
import numpy as np

from invariance.companion import Run, colour, fit_rate, marker
from invariance.datasets import load_digits_images, load_mnist
from invariance.features import AngularBasis, OrbitFourier
from invariance.groups import CircleProducts, Rotations, VonMises
from invariance.kernels import CircleAverage, Gaussian

run = Run("raj2017/cost", profile=profile, seed=seed)

# %% [markdown]
# ## The setting
#
# Table 2's shape, $d = 784$ and $r = 100$, with fewer points and templates: every cost below is
# proportional to both. One thread throughout; the best of several runs.

# %%
data = run.choose(quick=load_digits_images, full=load_mnist)()
for name, sha256 in data.sources.items():
    run.uses_data(name, sha256)
n, s, r = run.choose(quick=(256, 64, 100), full=(2048, 512, 100))
pixels = data.data.reshape(len(data.data), -1)[:n].astype(np.float32) / 255
density, gamma = VonMises(kappa=0.2), 0.04
basis = AngularBasis((28, 28)).fit(pixels)
Z = basis.transform(pixels)
carried = np.sum(Z**2) / np.sum(pixels**2)
print(f"{Z.shape[1]} coefficients in {basis.frequencies_.max() + 1} angular frequencies carry {carried:.1%} of the energy")


def seconds(function, repeats=3):
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        taken.append(time.perf_counter() - start)
    return min(taken)


# %% [markdown]
# ## Blocked features against the bare product
#
# The paper's way: templates rotated by interpolation, once, at `fit`. The yardstick is one matrix
# product of the same size, without and with the cosines of its entries, block by block so that it
# fits into memory.

# %%
with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)        # interpolated rotations are not unitary
    turned = OrbitFourier(Rotations((28, 28), density=density), s, r, gamma=gamma, side="templates", block_bytes=2**30, random_state=seed).fit(pixels)
columns = np.random.default_rng(seed).standard_normal((784, s * r), dtype=np.float32)


def bare_product(function=None):
    for start in range(0, n, 256):
        values = pixels[start : start + 256] @ columns
        if function is not None:
            function(values, out=values)


tracemalloc.start()
turned.transform(pixels)
peak = tracemalloc.get_traced_memory()[1]
tracemalloc.stop()
times = {
    "bare product": seconds(bare_product),
    "product and cosines": seconds(lambda: bare_product(np.cos)),
    "blocked features": seconds(lambda: turned.transform(pixels)),
}

# %% [markdown]
# ## Below the bare product
#
# The same number of random angles by angular frequencies, then quadrature with fewer nodes. The
# projection of the images on the basis is counted in.

# %%
models = {
    f"angular, {r} random angles": OrbitFourier(basis.rotations(density, n_nodes=None), s, r, gamma=gamma, random_state=seed),
    "angular, 64 nodes": OrbitFourier(basis.rotations(density, n_nodes=64), s, gamma=gamma, random_state=seed),
    "angular, 32 nodes": OrbitFourier(basis.rotations(density, n_nodes=32), s, gamma=gamma, random_state=seed),
}
for name, model in models.items():
    model.fit(Z)
    times[name] = seconds(lambda model=model: model.transform(basis.transform(pixels)))


def projections(model):
    products = CircleProducts(basis.frequencies_, model.templates_, model.elements_)
    gathered = products.gather(basis.transform(pixels))
    for a in range(0, n, 256):
        for b in range(0, s, 128):
            for _ in products.pairs(gathered, slice(a, a + 256), slice(b, b + 128)):
                continue


of_100, of_64, _ = models.values()
times[f"{r} random angles, projections only"] = seconds(lambda: projections(of_100))
times["64 nodes, projections only"] = seconds(lambda: projections(of_64))
for name, taken in times.items():
    run.timing(name, taken)
ratios = {
    "blocked features / product and cosines": times["blocked features"] / times["product and cosines"],
    "bare product / projections, same angles": times["bare product"] / times[f"{r} random angles, projections only"],
    "bare product / projections, 64 nodes": times["bare product"] / times["64 nodes, projections only"],
    "blocked features / angular, same angles": times["blocked features"] / times[f"angular, {r} random angles"],
    "blocked features / angular, 64 nodes": times["blocked features"] / times["angular, 64 nodes"],
    "blocked features / angular, 32 nodes": times["blocked features"] / times["angular, 32 nodes"],
}
for name, ratio in ratios.items():
    print(f"{name}: {ratio:.2f}")
    run.timing(f"ratio: {name}", ratio)
run.timing("peak memory of transform beyond the templates, MB", peak / 2**20)
print(f"the array of all products would take {n * s * r * 4 / 2**20:.0f} MB; peak {peak / 2**20:.0f} MB")

# %% [markdown]
# Times differ from run to run, so they are kept apart from results that equal seeds reproduce; the
# figure shows them relative to the bare product.

# %%
fig, ax = plt.subplots(figsize=(7.4, 3.4))
relative = {name: taken / times["bare product"] for name, taken in times.items()}
looks = ["gemm", "definition", "lgika", "fast", "fast", "fast", "templates", "templates"]
for i, (name, look) in enumerate(zip(relative, looks, strict=True)):
    ax.barh(i, relative[name], color=colour(look))
    ax.text(relative[name], i, f" {relative[name]:.2f}", va="center", fontsize=9)
ax.axvline(1, color=colour("bound"), linestyle=":")
ax.set(yticks=range(len(relative)), yticklabels=list(relative), xlabel="time relative to the bare product")
ax.invert_yaxis()
run.figure(fig, "times", alt="Bars of times relative to the bare matrix product; the angular ways take a fraction of it.", caption=f"n = {n} images, s = {s} templates, r = {r}; one thread.")

# %% [markdown]
# ## Do they compute the same thing?
#
# Against their definition: rotate every template as a *function*, take its pixels, project, take
# the cosine, average. Band-limited functions can be evaluated anywhere, so nothing is interpolated.

# %%
images = pixels[:64].astype(float)
model = OrbitFourier(basis.rotations(density, n_nodes=64), 64, gamma=gamma, random_state=seed).fit(basis.transform(images))
fast = model.transform(basis.transform(images))
plain = 0
for angle, weight in zip(model.elements_, model.weights_, strict=True):
    rotated = basis.inverse_transform(basis.rotations().act([angle], model.templates_)[0])
    plain = plain + weight * np.sqrt(2 / 64) * np.cos(images @ rotated.T + model.phases_)
print(f"largest difference {np.abs(fast - plain).max():.1e}, relative {np.linalg.norm(fast - plain) / np.linalg.norm(plain):.1e}")

# %% [markdown]
# ## Quadrature or random angles?
#
# Error of the pooled features against 1,024 nodes, on the digits:

# %%
counts = np.array([8, 16, 24, 32, 48, 64, 96, 128])
some, few = Z[:200].astype(float), 50


def pooled(n_nodes, n_transforms=None, draw=0):
    model = OrbitFourier(basis.rotations(density, n_nodes=n_nodes), few, n_transforms, gamma=gamma, random_state=draw)
    return model.fit(some).transform(some)


reference = pooled(1024)
size = np.sqrt(np.mean(reference**2))
quadrature = [np.sqrt(np.mean((pooled(int(c)) - reference) ** 2)) / size for c in counts]
random = np.array([
    [np.sqrt(np.mean((pooled(None, int(c), draw) - pooled(1024, None, draw)) ** 2)) / size for draw in range(run.choose(quick=3, full=10))]
    for c in counts
])
fit = fit_rate(counts, random)
fig, ax = plt.subplots()
ax.loglog(counts, quadrature, color=colour("fast"), marker=marker("fast"), label="quadrature")
ax.errorbar(counts, random.mean(axis=1), 2 * random.std(axis=1, ddof=1) / np.sqrt(random.shape[1]), color=colour("group"), marker=marker("group"), label=f"random angles, slope {fit.slope:.2f}")
ax.set(xlabel="angles", ylabel="relative error of the features")
ax.legend()
run.figure(fig, "quadrature", alt="Relative error of pooled features against the number of angles; random angles fall as the power minus one half, quadrature falls off a cliff.", caption=f"96 random angles leave an error of {random[counts == 96].mean():.0%}, 64 nodes one of {quadrature[5]:.0e}: the trapezoidal rule resolves the integrand and is then exact.")

# %% [markdown]
# ## The exact kernel
#
# The same products give the exact kernel $k_{q,G}$ without any templates (`CircleAverage`):

# %%
m = run.choose(quick=128, full=2048)
K = CircleAverage(Gaussian(gamma), basis.rotations(density, n_nodes=64))
taken = seconds(lambda: K(Z[:m]), repeats=2)
pairs_per_second = m * (m + 1) / 2 / taken
run.timing("exact kernel, pairs a second", pairs_per_second)
run.timing("exact kernel, 12,000 x 12,000, extrapolated seconds", 12_000 * 12_001 / 2 / pairs_per_second)
print(f"{pairs_per_second:.2e} pairs a second with 64 nodes: 12,000 x 12,000 in {7.2e7 / pairs_per_second:.0f} s")
