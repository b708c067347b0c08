# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Experiments that cost money
#
# *Five machines of one kind are to be set. An experiment takes a day, and it does not matter which
# machine has which setting. Which settings should be tried next?*
#
# Bayesian optimisation answers with a Gaussian process: it asks for the point where an improvement
# over the best value so far is expected most, is told the value there, and asks again. If the
# function has a symmetry, so should the process: one experiment then tells about all $5! = 120$
# orders of the same settings.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
spread: float = 1.0  # of the five best settings; at 0 they are equal

# %%
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import DotProduct

from invariance.companion import Run, mean_se, panel
from invariance.groups import CyclicShifts, Permutations
from invariance.kernels import Average, BestFit, Gaussian, GramTransformer, gram_report

run = Run("guides/experiments", profile=profile, seed=seed, spread=spread)

# %% tags=["settings"]
SEEDS, EVALUATIONS = (2, 8) if run.quick else (30, 40)
FIRST, CANDIDATES = (4, 40) if run.quick else (8, 300)  # random points to start with
EARLY = 6 if run.quick else 20  # evaluations, beside all, that the table looks at

# %% [markdown]
# ## Ask and tell


# %%
class AskTell:
    """Bayesian optimisation of a function on the unit cube, which is to become small."""

    def __init__(self, model, dimension, random_state):
        self.model, self.dimension = model, dimension
        self.rng, self.points, self.values = np.random.default_rng(random_state), [], []

    def ask(self):
        """The point with the largest expected improvement among random ones, some near the best."""
        if len(self.values) < FIRST:
            return self.rng.uniform(size=self.dimension)
        self.model.fit(np.array(self.points), np.array(self.values))
        tried = self.rng.uniform(size=(CANDIDATES, self.dimension))
        near = self.points[np.argmin(self.values)] + 0.1 * self.rng.standard_normal(tried.shape)
        tried[::3] = np.clip(near, 0, 1)[::3]
        mean, deviation = self.model.predict(tried, return_std=True)
        z = (min(self.values) - mean) / np.maximum(deviation, 1e-9)
        return tried[np.argmax(deviation * (z * norm.cdf(z) + norm.pdf(z)))]

    def tell(self, point, value):
        self.points.append(point)
        self.values.append(value)


# %% [markdown]
# The model is scikit-learn's `GaussianProcessRegressor`, with the kernel of the largest likelihood
# among three bandwidths. (With `ConstantKernel() * Average(Gaussian(8.0), group)` it tunes one.)


# %%
class Likeliest:
    """Gaussian processes with several kernels, of which the likeliest predicts."""

    def __init__(self, kernels):
        self.kernels = kernels

    def process(self, kernel, X, y):
        """A process, and the map from points to what it takes."""
        how = {"optimizer": None, "alpha": 1e-6, "normalize_y": True}
        return GaussianProcessRegressor(kernel, **how).fit(X, y), None

    def fit(self, X, y):
        self.variance = np.var(y)  # of what a process scales to one
        found = [(kernel, *self.process(kernel, X, y)) for kernel in self.kernels]
        self.best = max(found, key=lambda one: one[1].log_marginal_likelihood_value_)

    def predict(self, X, return_std=True):
        return self.best[1].predict(X, return_std=True)


# %% [markdown]
# ## Three kernels, and one to be repaired
#
# - **Average** over all orders. With `normalize=False` its variance $K(x, x)$ is up to 120 times
#   larger where all settings are equal than where they differ, and the process expects most
#   improvement there, for no other reason. `normalize=True` makes it one everywhere.
# - **Best fit** over all orders: the Gaussian kernel of the *sorted* numbers, positive definite.
# - **Best fit over the ring**, the five cyclic shifts alone: part of the symmetry, and the usual
#   case of a best fit. It is indefinite, and no covariance.

# %%
GAMMAS = (2.0, 8.0, 32.0)
orders, ring = Permutations(5), CyclicShifts(5)
some = np.random.default_rng(seed).uniform(size=(40, 5))
for name, group in (("all orders", orders), ("ring", ring)):
    report = gram_report(BestFit(Gaussian(2.0), group)(some))
    run.say(
        "Best fit over {name}: eigenvalues from {least:.1e} to {most:.1f} on 40 random points.",
        name=name,
        least=report.smallest,
        most=report.largest,
    )

# %% [markdown]
# The repair, as Bardou et al. (2025) use it: negative eigenvalues of the Gram matrix go
# (`GramTransformer(repair="clip")`), and new points have the Nystrom extension
# $\tilde k(x, z) = \tilde k(x, X) \tilde K^+ \tilde k(X, z)$, an inner product of features. What
# is left of the variance is added.


# %%
class LikeliestRepaired(Likeliest):
    """The same with indefinite kernels, repaired on the points that were told."""

    def process(self, kernel, X, y):
        rows = GramTransformer(kernel, repair="clip")
        gram = rows.fit_transform(X)
        values, vectors = np.linalg.eigh(gram)
        kept = values > 1e-9 * values[-1]
        root = vectors[:, kept] / np.sqrt(values[kept])
        inner, _ = super().process(DotProduct(0.0, "fixed"), gram @ root, y)
        return inner, lambda Z: rows.transform(Z) @ root

    def predict(self, X, return_std=True):
        kernel, process, features = self.best
        Z = features(X)
        mean, deviation = process.predict(Z, return_std=True)
        rest = np.maximum(kernel.diag(X) - np.square(Z).sum(axis=1), 0)
        return mean, np.sqrt(deviation**2 + rest * self.variance)


MODELS = {
    "raw": "plain",
    "average-fit": "average",
    "haar": "average, normalised",
    "best-fit": "best fit",
    "ti": "best fit over the ring, repaired",
}


def model(name):
    base = [Gaussian(gamma) for gamma in GAMMAS]
    if name == "raw":
        return Likeliest(base)
    if name == "best-fit":
        return Likeliest([BestFit(kernel, orders) for kernel in base])
    if name == "ti":
        return LikeliestRepaired([BestFit(kernel, ring) for kernel in base])
    return Likeliest([Average(kernel, orders, normalize=name == "haar") for kernel in base])


# %% [markdown]
# ## The functions
#
# Ackley, Griewank and Rastrigin, usual tests of optimisers, in five variables, on ranges that hold
# a few of their ripples. Their minimum lies where all settings are equal. That is rare, so here it
# lies at five different settings $c_1 < \dots < c_5$, and the function is made symmetric by sorting
# first: $f(x) = f_0(\mathrm{sort}(x) - c)$. (This suits a kernel of sorted numbers.)


# %%
def ackley(x):
    wide, narrow = -0.2 * np.sqrt(np.mean(x**2)), np.mean(np.cos(2 * np.pi * x))
    return 20 - 20 * np.exp(wide) + np.e - np.exp(narrow)


def griewank(x):
    return 1 + np.sum(x**2) / 4000 - np.prod(np.cos(x / np.sqrt(np.arange(1, len(x) + 1))))


def rastrigin(x):
    return np.sum(x**2 + 10 - 10 * np.cos(2 * np.pi * x))


WIDTHS = {"ackley": 4.0, "griewank": 10.0, "rastrigin": 2.5}


def function(name, spread):
    """A function on the unit cube with its least value, 0, at 0.45 + spread times some offsets."""
    best = 0.45 + spread * np.array([-0.3, -0.15, 0.0, 0.15, 0.35])
    plain = {"ackley": ackley, "griewank": griewank, "rastrigin": rastrigin}[name]
    return lambda u: float(plain(WIDTHS[name] * (np.sort(u) - best)))


# %% [markdown]
# ## The race
#
# Thirty starts, each with the same first eight random points for all kernels. What counts is the
# regret: the least value met so far. Widths, bandwidths and numbers of candidates were settled on a
# few other starts before.


# %%
@run.cache
def regrets(name, kernel, start, spread):
    """The least value met, after each evaluation, and CPU seconds."""
    f, began = function(name, spread), process_time()
    optimiser = AskTell(model(kernel), 5, [seed, start])
    for _ in range(EVALUATIONS):
        point = optimiser.ask()
        optimiser.tell(point, f(point))
    return np.minimum.accumulate(optimiser.values), process_time() - began


def race(spread, kernels):
    """Regrets (starts, evaluations) and mean CPU seconds by function and kernel."""
    found, seconds = {}, {}
    for name in WIDTHS:
        for kernel in kernels:
            all_ = [regrets(name, kernel, start, spread) for start in range(SEEDS)]
            found[name, kernel] = np.array([one for one, _ in all_])
            seconds[name, kernel] = np.mean([took for _, took in all_])
    return found, seconds


found, seconds = race(spread, list(MODELS))


# %%
def verdict(gain):
    """Ahead or behind by more than two standard errors."""
    return "level" if abs(gain.mean) <= 2 * gain.se else "ahead" if gain.mean > 0 else "behind"


def table(found, seconds, kernels):
    """Regret early and at the end, and the paired gain over the plain kernel."""
    rows = []
    for name in WIDTHS:
        for kernel in kernels:
            row = {"function": name, "kernel": MODELS[kernel]}
            for n in (EARLY, EVALUATIONS):
                here, plain = found[name, kernel][:, n - 1], found[name, "raw"][:, n - 1]
                gain = mean_se(plain - here)
                row[f"regret at {n}"] = f"{mean_se(here):.3f}"
                row[f"gain at {n}"] = "" if kernel == "raw" else f"{gain:+.3f}, {verdict(gain)}"
            rows.append(row | {"CPU seconds": round(seconds[name, kernel], 2)})
    return rows


run.table(
    table(found, seconds, list(MODELS)),
    "regret",
    caption=f"Means over {SEEDS} starts with standard errors. Gain: regret of the plain kernel less "
    "this one's, paired by start; ahead or behind by more than two standard errors. Seconds of one "
    f"start with {EVALUATIONS} evaluations.",
)

# %%
fig, axes = plt.subplots(1, 3, figsize=(13, 4.2))
marks = np.arange(FIRST, EVALUATIONS + 1, max(1, (EVALUATIONS - FIRST) // 4))
for axis, name in zip(axes, WIDTHS, strict=True):
    curves = {MODELS[k]: (k, found[name, k][:, marks - 1]) for k in MODELS}
    last = {MODELS[k]: found[name, k][:, -1].mean() for k in MODELS}
    title = f"{name.capitalize()}: least at the end, {min(last, key=last.get)}"
    panel(axis, marks.tolist(), curves, ends=None, xlabel="evaluations", title=title)
axes[0].set_ylabel("least value so far")
axes[0].legend()
caption = (
    f"Means over {SEEDS} starts, bars: two standard errors. The first {FIRST} points are random."
)
run.figure(fig, "regret", caption=caption)


# %%
def counted(kernel, n):
    """On how many functions a kernel is ahead of the plain one, level or behind at n."""
    gains = [mean_se((found[f, "raw"] - found[f, kernel])[:, n - 1]) for f in WIDTHS]
    said = [verdict(gain) for gain in gains]
    parts = [f"{word} on {said.count(word)}" for word in ("ahead", "level", "behind")]
    return f"{MODELS[kernel]}: {', '.join(parts)}"


for n in (EARLY, EVALUATIONS):
    run.say(
        "After {n} evaluations, against the plain kernel on three functions: {words}.",
        n=n,
        words="; ".join(counted(kernel, n) for kernel in ("best-fit", "haar")),
    )

# %% [markdown]
# ## When the best settings are equal
#
# As in the literature. The average without `normalize` has luck: its larger variance lies just
# where the minimum is.

# %%
KERNELS = ["raw", "average-fit", "haar", "best-fit"]
rows = table(*race(0.0, KERNELS), KERNELS)
run.table(rows, "equal", caption="As above, with the minimum at five equal settings.")

# %% [markdown]
# ## What to take
#
# - Numbers in any order: `BestFit(Gaussian(), Permutations(n))` costs next to nothing.
# - Another group: `Average(..., normalize=True)` is always a covariance; `gram_report` says whether
#   a best fit has to be repaired.
#
# ## Try it
#
# `invariance run guides/experiments -p spread 0.5`: best settings that are closer together.
