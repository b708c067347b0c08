# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Separation constants: which orbits does a map confuse?
#
# Features that do not change under a group may lose more information than necessary. A power spectrum is
# the same for a signal and for its shifts, and for its mirror image too; an average over a set is nearly
# the same for two sets that differ. The information that a map preserves is measured by two constants,
#
# $$c\, d(x, z) \le \lVert \phi(x) - \phi(z) \rVert \le C\, d(x, z), \qquad
# d(x, z) = \min_{g \in G} \lVert x - g z \rVert ,$$
#
# between the distances of orbits and of features. If $c = 0$, two orbits are confused, exactly or in the
# limit; the distortion $C / c$ bounds how much worse than the points themselves the features can be.
# `separation_report` searches for the pairs of points that attain both constants. Sorting and max filters
# keep orbits apart; power spectra and pooled features do not.
#
# ## Known results
#
# - Sorting is an isometry of orbits under all orders: c = C = 1.
# - Max filters, $x \mapsto \max_g \langle x, g t_j \rangle$, separate all orbits of a finite group with
#   2 d generic templates, and are then bi-Lipschitz (Cahill, Iverson, Mixon and Packer 2024).
# - A power spectrum is not injective: c = 0.
# - Sums of smooth features over a set are not bi-Lipschitz: for {t, -t} and {0, 0} the features differ by
#   a multiple of t squared, the sets by a multiple of t.
# - Histograms of inner products (`GroupCDF`) are step functions: for arbitrarily close points neither
#   constant exists. Their behaviour at the distances of data is a separate question; the figure shows
#   both.
#
# ## The protocol
#
# There are forty normal points of dimension eight, under all shifts and under all orders. Templates are
# drawn anew, five times; bandwidths are the default of `OrbitFourier(gamma="median")`, histograms have
# ten bins. For each constant, the 20 pairs with the most extreme ratios are moved 300 times at random,
# and a move is kept if it makes the ratio more extreme, within the largest norm of the pairs. (In a first
# run they could leave it, and histograms were alike at $10^{31}$: bounded features always are.) A
# constant that the search finds is attained: the true c is not larger, the true C not smaller. Distances
# below $10^{-4}$ of the largest norm are ignored. The required distortion is 10.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1
d: int = 8  # numbers in a point

# %%
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from invariance.beyond import MaxFilter
from invariance.beyond.separation import separation_report
from invariance.companion import Run, colour, panel, ticks
from invariance.features import GroupCDF, OrbitFourier
from invariance.groups import CyclicShifts, Permutations

run = Run("beyond/separation", profile=profile, seed=seed, d=d)

# %% tags=["settings"]
N_BINS = 10
DISTORTION = 10
if run.quick:
    N_DRAWS = 2
    N_PAIRS = 5
    N_STEPS = 10
    COUNTS = (d, 2 * d)  # templates
    N_TEMPLATES = 2 * d
else:
    N_DRAWS = 5
    N_PAIRS = 20
    N_STEPS = 300
    COUNTS = (d // 4, d // 2, d, 3 * d // 2, 2 * d, 4 * d, 8 * d, 16 * d)
    N_TEMPLATES = 4 * d

# %% [markdown]
# ## Five maps
#
# Under shifts we compare the power spectrum, max filters, histograms, and random Fourier features
# averaged over shifts. Under orders we compare sorted coordinates, max filters, which sort, and random
# Fourier features of one number, averaged over the numbers of a set.

# %%
X = np.random.default_rng(seed).standard_normal((40, d))
shifts = CyclicShifts(d)
orders = Permutations(d)


def spectrum(X):
    """Return moduli of Fourier coefficients, of norm at most that of X."""
    return np.abs(np.fft.fft(X, axis=1)) / np.sqrt(X.shape[1])


def sorted_coordinates(X):
    return np.sort(X, axis=1)


# %%
def pooled(n_features, number):
    """Return a map: means over a set of random Fourier features of one number."""
    rng = np.random.default_rng((seed, number))
    frequencies = rng.standard_normal(n_features)
    phases = rng.uniform(0, 2 * np.pi, n_features)

    def features(X):
        waves = np.cos(X[:, :, None] * frequencies + phases)
        return np.sqrt(2 / n_features) * waves.mean(axis=1)

    return features


def max_filters(n_templates, number, group=shifts):
    return MaxFilter(group, n_templates, random_state=seed + number).fit(X)


def histograms(n_templates, number):
    model = GroupCDF(shifts, n_templates, n_bins=N_BINS, random_state=seed + number)
    return model.fit(X)


def averages(n_templates, number):
    model = OrbitFourier(shifts, n_templates, gamma="median", random_state=seed + number)
    return model.fit(X)


KINDS = {"max filters": max_filters, "histograms": histograms, "averaged features": averages}
STYLES = {"max filters": "haar", "histograms": "cdf", "averaged features": "lgika"}


# %% [markdown]
# ## Both constants
#
# One call of `separation_report` is enough for each map. We call it twice: among the pairs of the points
# alone, and with a search that moves them.


# %%
@dataclass(frozen=True)
class Constants:
    """Constants of a map among the points and by the search, and the pair of the lower one."""

    lower_among: float
    upper_among: float
    lower: float
    upper: float
    worst: np.ndarray

    def relative(self, constant):
        """Return a constant relative to the largest ratio among the points."""
        return constant / self.upper_among


# %%
def constants(features, group):
    options = {"n_pairs": N_PAIRS, "random_state": seed}
    among = separation_report(features, group, X, n_steps=0, **options)
    search = separation_report(features, group, X, n_steps=N_STEPS, **options)
    return Constants(among.lower, among.upper, search.lower, search.upper, search.worst)


# %%
MAPS = {
    "sorted (orders)": sorted_coordinates,
    "max filters (orders)": max_filters(N_TEMPLATES, 0, orders),
    "pooled features (orders)": pooled(N_TEMPLATES, 0),
    "power spectrum (shifts)": spectrum,
}
MAP_STYLES = {
    "sorted (orders)": "sorted",
    "max filters (orders)": "haar",
    "pooled features (orders)": "lgika",
    "power spectrum (shifts)": "raw",
}
for kind, make in KINDS.items():
    MAPS[f"{kind} (shifts)"] = make(N_TEMPLATES, 0)
    MAP_STYLES[f"{kind} (shifts)"] = STYLES[kind]
results = {}
for name, features in MAPS.items():
    group = orders if name.endswith("(orders)") else shifts
    results[name] = constants(features, group)

# %%
FLOOR = 1e-5


def draw_constants(axis, height, result, color):
    """Draw the constants among the points (thick) and those of the search (thin)."""
    lower_among = result.relative(result.lower_among)
    lower = result.relative(result.lower)
    upper = result.relative(result.upper)
    axis.plot([max(lower, FLOOR), upper], [height, height], color=color, lw=1.5)
    axis.plot([lower_among, 1], [height, height], color=color, lw=7, solid_capstyle="butt")
    axis.plot(lower_among, height, "|", color=color, ms=9, mew=2)
    if lower < FLOOR:
        axis.plot(FLOOR, height, "<", color=color)


# %%
descriptions = []
fig, axis = plt.subplots(figsize=(8, 3.4))
for height, (name, result) in enumerate(results.items()):
    draw_constants(axis, height, result, colour(MAP_STYLES[name]))
    descriptions.append(
        f"{name} {result.relative(result.lower_among):.2g} to 1 among the points, "
        f"{result.relative(result.lower):.1e} to {result.relative(result.upper):.2g} found"
    )
n_confusing = sum(result.relative(result.lower) < FLOOR for result in results.values())
axis.set(xscale="log", yticks=range(len(results)), yticklabels=list(results))
axis.set_xlabel("distance of features / distance of orbits (largest among the points: 1)")
axis.set_title(f"The search finds confused orbits for {n_confusing} of {len(results)} maps")
axis.invert_yaxis()
run.figure(
    fig,
    "constants",
    alt="Intervals between lower and upper constants: " + "; ".join(descriptions) + ".",
    caption=f"{N_TEMPLATES} templates. Thick: among the points; thin: the worst pairs of the search. "
    f"Arrows: below {FLOOR:g} of the largest, no lower constant was found.",
)


# %%
rows = []
for name, result in results.items():
    row = {
        "map": name,
        "lower, points": f"{result.lower_among:.3g}",
        "upper, points": f"{result.upper_among:.3g}",
        "lower, found": "0",
        "upper, found": f"{result.upper:.3g}",
        "distortion, found": "unbounded",
    }
    if result.lower > 1e-7 * result.upper:
        row["lower, found"] = f"{result.lower:.2g}"
        row["distortion, found"] = f"{result.upper / result.lower:.3g}"
    rows.append(row)
run.table(rows, "constants", caption="Constants of the map as it is, not scaled.")

# %% [markdown]
# ## How many templates?
#
# The ratio of the constants is the inverse of the distortion. Values below the axis of the figure were
# found for counts without a dot.


# %%
@run.cache
def sweep(kind, n_templates, n_draws):
    """Return the ratio of lower and upper constant for each draw of templates."""
    ratios = []
    for number in range(n_draws):
        result = constants(KINDS[kind](n_templates, number), shifts)
        ratios.append(max(result.lower / result.upper, 1e-9))
    return np.array(ratios)


ratios = {}
medians = {}
for kind in KINDS:
    ratios[kind] = np.array([sweep(kind, n_templates, N_DRAWS) for n_templates in COUNTS])
    medians[kind] = np.median(ratios[kind], axis=1)
two_per_dimension = COUNTS.index(2 * d)

# %%
fig, axis = plt.subplots(figsize=(6.5, 4))
for kind in KINDS:
    axis.plot(COUNTS, medians[kind], color=colour(STYLES[kind]), label=kind)
    axis.plot(COUNTS, ratios[kind], ".", color=colour(STYLES[kind]), ms=4)
axis.axvline(2 * d, color=colour("bound"), lw=0.8, ls="--")
axis.axhline(1 / DISTORTION, color=colour("bound"), lw=0.8, ls=":")
axis.set(xscale="log", yscale="log", ylim=(1e-6, 1))
axis.set(xlabel="templates", ylabel="lower / upper constant")
axis.set_title(
    f"Max filters with 2 d = {2 * d} templates have the ratio "
    f"{medians['max filters'][two_per_dimension]:.1g}"
)
ticks(axis, COUNTS, most=8)
axis.legend()
run.figure(
    fig,
    "templates",
    caption=f"Lines: median of {N_DRAWS} draws of templates, dots: draws. Dashes: 2 d templates; dotted "
    f"line: a distortion of {DISTORTION}. Values below the axis are not drawn.",
)

# %%
rows = []
for kind in KINDS:
    n_needed = "not reached"
    for n_templates, ratio in zip(COUNTS, medians[kind], strict=True):
        if ratio >= 1 / DISTORTION:
            n_needed = n_templates
            break
    row = {"map": kind, f"templates for a distortion of {DISTORTION}": n_needed}
    for n_templates, ratio in zip(COUNTS, medians[kind], strict=True):
        row[f"lower / upper, {n_templates}"] = f"{ratio:.2g}" if ratio > 1e-6 else "0"
    rows.append(row)
run.table(rows, "templates", caption=f"Medians of {N_DRAWS} draws.")
run.say(
    "With {m} templates, two for each dimension, the smallest ratio of the constants of max filters in "
    "{draws} draws is {least:.2g}; the search finds no two orbits that they confuse.",
    m=2 * d,
    draws=N_DRAWS,
    least=ratios["max filters"][two_per_dimension].min(),
)

# %% [markdown]
# For histograms the truth is c = 0, but the search cannot find it: it has no direction to follow on step
# functions. So we test pairs of nearly equal points.

# %%
steps = np.random.default_rng(seed).standard_normal(X.shape)
relative_norms = np.linalg.norm(X, axis=1) / np.linalg.norm(steps, axis=1)
steps *= 1e-4 * relative_norms[:, None]
features = MAPS["histograms (shifts)"]
is_same = np.all(features.transform(X) == features.transform(X + steps), axis=1)
run.say(
    "Moved by a ten-thousandth of its norm, a point has the same histograms of {m} templates in "
    "{share:.0f} % of {n} cases.",
    m=N_TEMPLATES,
    share=100 * is_same.mean(),
    n=len(X),
)

# %% [markdown]
# ## Sets that are nearly the same
#
# We compare the set {t, -t} and zeros with {0, 0} and zeros, for smaller and smaller t.

# %%
DISTANCES = np.logspace(-3, 0, 7)
POOLINGS = {
    "sorted": [sorted_coordinates] * N_DRAWS,
    "max filters": [max_filters(N_TEMPLATES, k, orders).transform for k in range(N_DRAWS)],
    "pooled features": [pooled(N_TEMPLATES, k) for k in range(N_DRAWS)],
}
POOLING_STYLES = {"sorted": "sorted", "max filters": "haar", "pooled features": "lgika"}


def distance_ratio(features, t):
    """Return the distance of features of both sets over that of the sets, sqrt(2) t."""
    sets = np.zeros((2, d))
    sets[0, :2] = t, -t
    first, second = features(sets)
    return np.linalg.norm(first - second) / (np.sqrt(2) * t)


# %%
curves = {}
for name, maps in POOLINGS.items():
    values = [[distance_ratio(features, t) for t in DISTANCES] for features in maps]
    curves[name] = (POOLING_STYLES[name], np.array(values))


# %%
_, pooled_ratios = curves["pooled features"]
smallest = pooled_ratios.mean(axis=0)[:4]
slope = np.polyfit(np.log(DISTANCES[:4]), np.log(smallest), 1)[0]
fig, axis = plt.subplots(figsize=(6.5, 4))
panel(axis, DISTANCES, curves, log="xy", xlabel="t")
axis.set_ylabel("distance of features / distance of sets")
axis.set_title(f"The ratio of pooled features falls as t to the power {slope:.2f}")
run.figure(
    fig, "near", caption=f"{N_DRAWS} draws of {N_TEMPLATES} templates, bars: two standard errors."
)

# %% [markdown]
# ## The worst pairs
#
# The figure draws two signals that a map nearly confuses. The second one is shifted to its best fit with
# the first one.


# %%
def aligned(pair):
    """Return a pair with the second point replaced by the nearest point of its orbit."""
    first, second = pair
    orbit = shifts.act(shifts.elements(), second[None])[:, 0]
    distances = np.linalg.norm(orbit - first, axis=1)
    return first, orbit[np.argmin(distances)]


# %%
mirrored = np.concatenate([X[:5], X[:5, ::-1]])
mirror = separation_report(spectrum, shifts, mirrored, n_pairs=5, n_steps=0, random_state=seed)
power = results["power spectrum (shifts)"]
histogram = results["histograms (shifts)"]
max_filter = results["max filters (shifts)"]
WORST_PAIRS = {
    "The power spectrum of a mirror image": mirror,
    "The power spectrum": power,
    "Histograms": histogram,
    "Max filters": max_filter,
}


# %%
fig, axes = plt.subplots(2, 2, figsize=(8, 5.4), sharex=True)
kept_in_words = []
for axis, (name, report) in zip(axes.flat, WORST_PAIRS.items(), strict=True):
    first, second = aligned(report.worst)
    axis.plot(range(d), first, "-", color=colour("bound"), label="first signal")
    axis.plot(range(d), second, "--", color=colour("haar"), label="second signal, aligned")
    kept = f"{report.lower:.2g}"
    if report.lower == 0:
        kept = "nothing"
    elif report.lower < 1e-3:
        kept = f"{report.lower:.0e}"
    axis.set_title(f"{name} keeps {kept}".replace("s keeps", "s keep"))
    kept_in_words.append(f"{name} {kept}")
for axis in axes[:, 0]:
    axis.set_ylabel("value")
for axis in axes[-1]:
    axis.set_xlabel("position")
fig.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
run.figure(
    fig,
    "pairs",
    alt="Pairs of signals for which the distance of features is the least part of that of orbits: "
    + "; ".join(kept_in_words)
    + ".",
    caption="The pair that each map nearly confuses. A map keeps the distance of its features over that "
    "of the orbits; 1 would be all of it.",
)

# %% [markdown]
# ## How to read it
#
# A search can show that a map confuses orbits; it cannot show that it does not. Confusion of points that
# never occur costs nothing: the thick bars describe the data, the thin bars the map. How much a learner
# loses by a small lower constant is another question.
#
# ## Try it
#
# `invariance run beyond/separation -p d 16`: twice the dimension, and twice as many templates for the
# same constant.
