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
# *Five machines of one kind have to be set. An experiment takes a day, and it does not matter which
# machine has which setting. Which settings should be tried next?*
#
# Bayesian optimisation answers with a Gaussian process: it proposes the point with the largest expected
# improvement over the best value so far, receives the value there, and proposes the next point. If the
# function has a symmetry, so should the process: one experiment then informs about all $5! = 120$
# orders of the same settings. The best fit is ahead of the plain kernel or level with it on all three
# functions; the average is, too, if it is normalised, and behind it if it is not.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
spread: float = 1.0  # of the five best settings; at 0 they are equal

# %%
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtr
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import DotProduct

from invariance.companion import Run, mean_se, panel
from invariance.groups import CyclicShifts, Permutations
from invariance.kernels import Average, BestFit, Gaussian, GramTransformer, gram_report

run = Run("guides/experiments", profile=profile, seed=seed, spread=spread)

# %% tags=["settings"]
GAMMAS = (2.0, 8.0, 32.0)
if run.quick:
    N_STARTS = 2
    N_EVALUATIONS = 8
    N_RANDOM = 4  # random points to start with
    N_CANDIDATES = 40
    EARLY = 6  # evaluations; the table has regrets here and at the end
else:
    N_STARTS = 30
    N_EVALUATIONS = 40
    N_RANDOM = 8
    N_CANDIDATES = 300
    EARLY = 20

# %% [markdown]
# ## Ask and tell
#
# `ask` proposes a point, and `tell` receives the value there. A third of the candidates lie near the
# best point so far.


# %%
class AskTell:
    """Bayesian minimisation of a function on the unit cube."""

    def __init__(self, model, dimension, random_state):
        self.model = model
        self.dimension = dimension
        self.rng = np.random.default_rng(random_state)
        self.points = []
        self.values = []

    def candidates(self):
        """Return random points, some of them near the best point so far."""
        points = self.rng.uniform(size=(N_CANDIDATES, self.dimension))
        best = self.points[np.argmin(self.values)]
        near_best = best + 0.1 * self.rng.standard_normal(points.shape)
        points[::3] = np.clip(near_best, 0, 1)[::3]
        return points

    def ask(self):
        """Return the candidate with the largest expected improvement."""
        if len(self.values) < N_RANDOM:
            return self.rng.uniform(size=self.dimension)
        self.model.fit(np.array(self.points), np.array(self.values))
        points = self.candidates()
        mean, deviation = self.model.predict(points)
        z = (min(self.values) - mean) / np.maximum(deviation, 1e-9)
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        improvement = deviation * (z * ndtr(z) + density)
        return points[np.argmax(improvement)]

    def tell(self, point, value):
        self.points.append(point)
        self.values.append(value)


# %% [markdown]
# The model is scikit-learn's `GaussianProcessRegressor`, with the kernel of the largest likelihood
# among three bandwidths. (With `ConstantKernel() * Average(Gaussian(8.0), group)` it tunes one.)


# %%
def gaussian_process(kernel):
    return GaussianProcessRegressor(kernel, optimizer=None, alpha=1e-6, normalize_y=True)


def log_likelihood(process):
    return process.log_marginal_likelihood_value_


class MostLikely:
    """The Gaussian process with the most likely one of several kernels."""

    def __init__(self, kernels):
        self.kernels = kernels

    def fit(self, X, y):
        processes = [gaussian_process(kernel).fit(X, y) for kernel in self.kernels]
        self.process = max(processes, key=log_likelihood)

    def predict(self, X):
        return self.process.predict(X, return_std=True)


# %% [markdown]
# ## Three kernels, and one to be repaired
#
# - **Average** over all orders. With `normalize=False` its variance $K(x, x)$ is up to 120 times
#   larger at points with equal settings than at points with different ones, and the process expects most
#   improvement there, for no other reason. `normalize=True` makes it one everywhere.
# - **Best fit** over all orders: the Gaussian kernel of the *sorted* numbers, positive definite.
# - **Best fit over the ring**, the five cyclic shifts alone: part of the symmetry, and the usual
#   case of a best fit. It is indefinite, so it is not a covariance.

# %%
orders = Permutations(5)
ring = CyclicShifts(5)
points = np.random.default_rng(seed).uniform(size=(40, 5))
for name, group in (("all orders", orders), ("ring", ring)):
    report = gram_report(BestFit(Gaussian(2.0), group)(points))
    run.say(
        "Best fit over {name}: eigenvalues from {least:.1e} to {most:.1f} on 40 random points.",
        name=name,
        least=report.smallest,
        most=report.largest,
    )

# %% [markdown]
# The repair is that of Bardou et al. (2025): negative eigenvalues of the Gram matrix are removed
# (`GramTransformer(repair="clip")`), and new points have the Nystrom extension
# $\tilde k(x, z) = \tilde k(x, X) \tilde K^+ \tilde k(X, z)$, an inner product of features. The
# variance that the features miss is added to the prediction.


# %%
class RepairedProcess:
    """A Gaussian process with an indefinite kernel, repaired on the training points."""

    def __init__(self, kernel):
        self.kernel = kernel

    def fit(self, X, y):
        self.gram_rows = GramTransformer(self.kernel, repair="clip")
        gram = self.gram_rows.fit_transform(X)
        values, vectors = np.linalg.eigh(gram)
        is_positive = values > 1e-9 * values[-1]
        self.root = vectors[:, is_positive] / np.sqrt(values[is_positive])
        self.process = gaussian_process(DotProduct(0.0, "fixed"))
        self.process.fit(gram @ self.root, y)
        self.log_marginal_likelihood_value_ = self.process.log_marginal_likelihood_value_
        self.variance = np.var(y)  # a process scales it to one
        return self

    def predict(self, X):
        features = self.gram_rows.transform(X) @ self.root
        mean, deviation = self.process.predict(features, return_std=True)
        missing = self.kernel.diag(X) - np.square(features).sum(axis=1)
        variance = deviation**2 + np.maximum(missing, 0) * self.variance
        return mean, np.sqrt(variance)


# %%
class MostLikelyRepaired(MostLikely):
    """The same for indefinite kernels."""

    def fit(self, X, y):
        processes = [RepairedProcess(kernel).fit(X, y) for kernel in self.kernels]
        self.process = max(processes, key=log_likelihood)

    def predict(self, X):
        return self.process.predict(X)


# %%
MODELS = {
    "raw": "plain",
    "average-fit": "average",
    "haar": "average, normalised",
    "best-fit": "best fit",
    "ti": "best fit over the ring, repaired",
}


# %%
def model(name):
    bases = [Gaussian(gamma) for gamma in GAMMAS]
    if name == "raw":
        return MostLikely(bases)
    if name == "best-fit":
        return MostLikely([BestFit(base, orders) for base in bases])
    if name == "ti":
        return MostLikelyRepaired([BestFit(base, ring) for base in bases])
    is_normalized = name == "haar"
    return MostLikely([Average(base, orders, normalize=is_normalized) for base in bases])


# %% [markdown]
# ## The functions
#
# Ackley, Griewank and Rastrigin are common tests of optimisers. We take them in five variables, on
# ranges with a few of their ripples. Their minimum lies at equal settings. That is rare, so we move it to
# five different settings $c_1 < \dots < c_5$, and make the function symmetric by sorting
# first: $f(x) = f_0(\mathrm{sort}(x) - c)$. (This suits a kernel of sorted numbers.)


# %%
def ackley(x):
    wide = np.exp(-0.2 * np.sqrt(np.mean(x**2)))
    narrow = np.exp(np.mean(np.cos(2 * np.pi * x)))
    return 20 - 20 * wide + np.e - narrow


def griewank(x):
    waves = np.cos(x / np.sqrt(np.arange(1, len(x) + 1)))
    return 1 + np.sum(x**2) / 4000 - np.prod(waves)


def rastrigin(x):
    return np.sum(x**2 + 10 - 10 * np.cos(2 * np.pi * x))


FUNCTIONS = {"ackley": ackley, "griewank": griewank, "rastrigin": rastrigin}
WIDTHS = {"ackley": 4.0, "griewank": 10.0, "rastrigin": 2.5}


# %%
def symmetric_function(name, spread):
    """Return a function on the unit cube with the minimum 0 at 0.45 + spread times offsets."""
    best = 0.45 + spread * np.array([-0.3, -0.15, 0.0, 0.15, 0.35])
    plain = FUNCTIONS[name]
    width = WIDTHS[name]
    return lambda u: float(plain(width * (np.sort(u) - best)))


# %% [markdown]
# ## The race
#
# There are thirty starts, each with the same first eight random points for all kernels. The result is the
# regret: the least value so far. Widths, bandwidths and numbers of candidates were chosen on a
# few other starts before.


# %%
@run.cache
def regrets(name, kernel, start, spread):
    """Return the least value after each evaluation, and CPU seconds."""
    begin = process_time()
    function = symmetric_function(name, spread)
    optimiser = AskTell(model(kernel), 5, [seed, start])
    for _ in range(N_EVALUATIONS):
        point = optimiser.ask()
        optimiser.tell(point, function(point))
    return np.minimum.accumulate(optimiser.values), process_time() - begin


# %%
def race(spread, kernels):
    """Return regrets (starts, evaluations) and mean CPU seconds by function and kernel."""
    regret = {}
    seconds = {}
    for name in FUNCTIONS:
        for kernel in kernels:
            runs = [regrets(name, kernel, start, spread) for start in range(N_STARTS)]
            regret[name, kernel] = np.array([values for values, _ in runs])
            seconds[name, kernel] = np.mean([seconds_of_run for _, seconds_of_run in runs])
    return regret, seconds


regret, seconds = race(spread, list(MODELS))


# %%
def verdict(gain):
    """Return whether a gain is beyond two standard errors, and in which direction."""
    if abs(gain.mean) <= 2 * gain.se:
        return "level"
    if gain.mean > 0:
        return "ahead"
    return "behind"


def gain_over_plain(regret, name, kernel, n):
    """Return the mean difference of regrets from the plain kernel after n evaluations."""
    return mean_se(regret[name, "raw"][:, n - 1] - regret[name, kernel][:, n - 1])


# %%
def table(regret, seconds, kernels):
    """Return rows with the regret early and at the end, and the gain over the plain kernel."""
    rows = []
    for name in FUNCTIONS:
        for kernel in kernels:
            row = {"function": name, "kernel": MODELS[kernel]}
            for n in (EARLY, N_EVALUATIONS):
                gain = gain_over_plain(regret, name, kernel, n)
                row[f"regret at {n}"] = f"{mean_se(regret[name, kernel][:, n - 1]):.3f}"
                row[f"gain at {n}"] = f"{gain:+.3f}, {verdict(gain)}"
                if kernel == "raw":
                    row[f"gain at {n}"] = ""
            row["CPU seconds"] = round(seconds[name, kernel], 2)
            rows.append(row)
    return rows


# %%
run.table(
    table(regret, seconds, list(MODELS)),
    "regret",
    caption=f"Means over {N_STARTS} starts with standard errors. Gain: regret of the plain kernel less "
    "this one's, paired by start; ahead or behind by more than two standard errors. Seconds of one "
    f"start with {N_EVALUATIONS} evaluations.",
)

# %%
marks = np.arange(N_RANDOM, N_EVALUATIONS + 1, max(1, (N_EVALUATIONS - N_RANDOM) // 4))
fig, axes = plt.subplots(1, 3, figsize=(9, 4))
for axis, name in zip(axes, FUNCTIONS, strict=True):
    curves = {}
    last = {}
    for kernel, label in MODELS.items():
        curves[label] = (kernel, regret[name, kernel][:, marks - 1])
        last[label] = regret[name, kernel][:, -1].mean()
    best = min(last, key=last.get)
    panel(axis, marks.tolist(), curves, ends=None, xlabel="evaluations")
    axis.set_title(f"On {name.capitalize()} {best} ends lowest")
axes[0].set_ylabel("least value so far")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
run.figure(
    fig,
    "regret",
    caption=f"Means over {N_STARTS} starts, bars: two standard errors. The first {N_RANDOM} points are "
    "random.",
)


# %%
def verdict_counts(kernel, n):
    """Return in words on how many functions a kernel is ahead, level or behind."""
    verdicts = [verdict(gain_over_plain(regret, name, kernel, n)) for name in FUNCTIONS]
    counts = [f"{word} on {verdicts.count(word)}" for word in ("ahead", "level", "behind")]
    return f"{MODELS[kernel]}: {', '.join(counts)}"


for n in (EARLY, N_EVALUATIONS):
    run.say(
        "After {n} evaluations, against the plain kernel on three functions: {words}.",
        n=n,
        words="; ".join(verdict_counts(kernel, n) for kernel in ("best-fit", "haar")),
    )

# %% [markdown]
# ## When the best settings are equal
#
# This is the case in the literature. The average without `normalize` is lucky: its larger variance lies
# exactly at the minimum.

# %%
KERNELS = ["raw", "average-fit", "haar", "best-fit"]
regret_of_equal, seconds_of_equal = race(0.0, KERNELS)
rows = table(regret_of_equal, seconds_of_equal, KERNELS)
run.table(rows, "equal", caption="As above, with the minimum at five equal settings.")

# %% [markdown]
# ## Which kernel to take
#
# - Numbers in any order: `BestFit(Gaussian(), Permutations(n))` costs next to nothing.
# - Another group: `Average(..., normalize=True)` is always a covariance; `gram_report` shows whether
#   a best fit has to be repaired.
#
# ## Try it
#
# `invariance run guides/experiments -p spread 0.5`: best settings that are closer together.
