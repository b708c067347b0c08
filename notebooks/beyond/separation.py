# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What does a map forget?
#
# Features that do not change under a group may forget more than the group. A power spectrum is the same
# for a signal and for its shifts, and for its mirror image too; an average over a set is nearly the
# same for two sets that differ. What a map keeps is measured by two constants,
#
# $$c\, d(x, z) \le \lVert \phi(x) - \phi(z) \rVert \le C\, d(x, z), \qquad
# d(x, z) = \min_{g \in G} \lVert x - g z \rVert ,$$
#
# between the distances of orbits and of features. With $c = 0$ two orbits are confused, or as nearly as
# one likes; the distortion $C / c$ says how much worse than the points themselves the features can be.
# `separation_report` searches for the pairs of points that attain both.
#
# ## What is known
#
# - Sorting is an isometry of orbits under all orders: c = C = 1.
# - Max filters, $x \mapsto \max_g \langle x, g t_j \rangle$, tell all orbits of a finite group apart with
#   2 d generic templates, and are then bi-Lipschitz (Cahill, Iverson, Mixon and Packer 2024).
# - A power spectrum is not injective: c = 0.
# - Sums of smooth features over a set are not bi-Lipschitz: of {t, -t} and {0, 0} the features differ by
#   a multiple of t squared, the sets by a multiple of t.
# - Histograms of inner products (`GroupCDF`) are step functions: for points as near as one likes neither
#   constant exists. What they do at the distances of data is another matter; the figure shows both.
#
# ## The protocol
#
# Forty normal points of dimension eight, under all shifts and under all orders. Templates are drawn
# anew, five times; bandwidths are the default of `OrbitFourier(gamma="median")`, histograms have ten
# bins. For each constant, the 20 pairs with the most extreme ratios are moved 300 times at random, and a
# move is kept where it makes the ratio more extreme, within the largest norm of the pairs. (In a first
# run they could leave it, and histograms were alike at $10^{31}$: bounded features always are.) What a
# search finds is attained: the true c is not larger, the true C not smaller. Distances below $10^{-4}$
# of the largest norm are not looked at. The stated distortion is 10.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1
d: int = 8  # numbers in a point

# %%
import matplotlib.pyplot as plt
import numpy as np

from invariance.beyond import MaxFilter
from invariance.beyond.separation import separation_report
from invariance.companion import Run, colour, panel, ticks
from invariance.features import GroupCDF, OrbitFourier
from invariance.groups import CyclicShifts, Permutations

run = Run("beyond/separation", profile=profile, seed=seed, d=d)

# %% tags=["settings"]
DRAWS, PAIRS, STEPS = (2, 5, 10) if run.quick else (5, 20, 300)
COUNTS = (d, 2 * d) if run.quick else (d // 4, d // 2, d, 3 * d // 2, 2 * d, 4 * d, 8 * d, 16 * d)
BINS, DISTORTION = 10, 10

# %% [markdown]
# ## Five maps
#
# Shifts: the power spectrum; max filters; histograms; random Fourier features averaged over shifts.
# Orders: sorted coordinates; max filters, which sort; random Fourier features of one number, averaged
# over the numbers of a set.

# %%
X = np.random.default_rng(seed).standard_normal((40, d))
shifts, orders = CyclicShifts(d), Permutations(d)


def spectrum(X):
    """Moduli of Fourier coefficients, of norm at most that of X."""
    return np.abs(np.fft.fft(X, axis=1)) / np.sqrt(X.shape[1])


def pooled(m, number):
    """Means over a set of m random Fourier features of one number."""
    rng = np.random.default_rng((seed, number))
    w, b = rng.standard_normal(m), rng.uniform(0, 2 * np.pi, m)
    return lambda X: np.sqrt(2 / m) * np.cos(X[:, :, None] * w + b).mean(axis=1)


def max_filters(m, number, group=shifts):
    return MaxFilter(group, m, random_state=seed + number).fit(X)


def histograms(m, number):
    return GroupCDF(shifts, m, n_bins=BINS, random_state=seed + number).fit(X)


def averages(m, number):
    return OrbitFourier(shifts, m, gamma="median", random_state=seed + number).fit(X)


KINDS = {"max filters": max_filters, "histograms": histograms, "averaged features": averages}
LOOKS = {"max filters": "haar", "histograms": "cdf", "averaged features": "lgika"}


# %% [markdown]
# ## Both constants
#
# One call for each map. At $4 d$ templates:


# %%
def constants(features, group, n_steps=STEPS, n_pairs=PAIRS):
    """Lower and upper constant found, among pairs of the points, then by moving them; worst pair."""
    how = {"n_pairs": n_pairs, "random_state": seed}
    among = separation_report(features, group, X, n_steps=0, **how)
    moved = separation_report(features, group, X, n_steps=n_steps, **how)
    return among.lower, among.upper, moved.lower, moved.upper, moved.worst


MOST = 2 * d if run.quick else 4 * d
SHOWN = {
    "sorted (orders)": (lambda X: np.sort(X, axis=1), orders, "sorted"),
    "max filters (orders)": (max_filters(MOST, 0, orders), orders, "haar"),
    "pooled features (orders)": (pooled(MOST, 0), orders, "lgika"),
    "power spectrum (shifts)": (spectrum, shifts, "raw"),
} | {f"{kind} (shifts)": (make(MOST, 0), shifts, LOOKS[kind]) for kind, make in KINDS.items()}
found = {name: constants(features, group) for name, (features, group, _) in SHOWN.items()}

# %%
FLOOR = 1e-5
fig, axis = plt.subplots(figsize=(8, 3.4))
for i, (name, (low, high, least, largest, _)) in enumerate(found.items()):
    hue = colour(SHOWN[name][2])
    axis.plot([max(least / high, FLOOR), largest / high], [i, i], color=hue, lw=1.5)
    axis.plot([low / high, 1], [i, i], color=hue, lw=7, solid_capstyle="butt")
    axis.plot(low / high, i, "|", color=hue, ms=9, mew=2)
    if least / high < FLOOR:
        axis.plot(FLOOR, i, "<", color=hue)
axis.set(
    xscale="log",
    yticks=range(len(found)),
    yticklabels=list(found),
    xlabel="distance of features / distance of orbits (largest among the points: 1)",
    title="Kept among the points (thick), and at the worst that was found (thin)",
)
axis.invert_yaxis()
run.figure(
    fig,
    "constants",
    alt="Intervals between lower and upper constants: "
    + "; ".join(
        f"{name} {low / high:.2g} to 1 among the points, {least / high:.1e} to {largest / high:.2g} found"
        for name, (low, high, least, largest, _) in found.items()
    )
    + ".",
    caption=f"{MOST} templates. Arrows: below {FLOOR:g} of the largest, no lower constant was found.",
)
rows = []
for name, (low, high, least, largest, _) in found.items():
    row = {"map": name, "lower, points": f"{low:.3g}", "upper, points": f"{high:.3g}"}
    bounded = least > 1e-7 * largest
    row |= {"lower, found": f"{least:.2g}" if bounded else "0", "upper, found": f"{largest:.3g}"}
    rows.append(row | {"distortion, found": f"{largest / least:.3g}" if bounded else "unbounded"})
run.table(rows, "constants", caption="Constants of the map as it is, not scaled.")

# %% [markdown]
# ## How many templates?


# %%
@run.cache
def sweep(kind, m, draws):
    """Lower and upper constants found, shape (draws, 2)."""
    return np.array([constants(KINDS[kind](m, number), shifts)[2:4] for number in range(draws)])


ratios = {}
for kind in KINDS:
    values = np.array([sweep(kind, m, DRAWS) for m in COUNTS])  # (counts, draws, 2)
    ratios[kind] = np.maximum(values[:, :, 0] / values[:, :, 1], 1e-9).T
fig, axis = plt.subplots(figsize=(6.5, 4))
middle = {kind: np.median(values, axis=0) for kind, values in ratios.items()}
for kind, values in ratios.items():
    axis.plot(COUNTS, middle[kind], color=colour(LOOKS[kind]), label=kind)
    for one in values:
        axis.plot(COUNTS, one, ".", color=colour(LOOKS[kind]), ms=4)
axis.axvline(2 * d, color=colour("bound"), lw=0.8, ls="--")
axis.axhline(1 / DISTORTION, color=colour("bound"), lw=0.8, ls=":")
axis.set(
    xscale="log",
    yscale="log",
    ylim=(1e-6, 1),
    xlabel="templates",
    ylabel="lower / upper constant",
    title=f"Max filters, 2 d = {2 * d} templates: lower / upper is {middle['max filters'][COUNTS.index(2 * d)]:.1g}",
)
ticks(axis, COUNTS, most=8)
axis.legend()
run.figure(
    fig,
    "templates",
    caption=f"Lines: median of {DRAWS} draws of templates, dots: draws. Dashes: 2 d templates; dots: a "
    f"distortion of {DISTORTION}. Values below the axis were found where nothing is drawn.",
)
rows = []
for kind, values in middle.items():
    by_count = dict(zip(COUNTS, values, strict=True))
    needed = next((m for m in COUNTS if by_count[m] >= 1 / DISTORTION), "not reached")
    row = {"map": kind, f"templates for a distortion of {DISTORTION}": needed}
    shares = {f"lower / upper, {m}": f"{v:.2g}" if v > 1e-6 else "0" for m, v in by_count.items()}
    rows.append(row | shares)
run.table(rows, "templates", caption=f"Medians of {DRAWS} draws.")
run.say(
    "With {m} templates, two for each dimension, the smallest ratio of the constants of max filters in "
    "{draws} draws is {least:.2g}; the search finds no two orbits that they confuse.",
    m=2 * d,
    draws=DRAWS,
    least=ratios["max filters"][:, COUNTS.index(2 * d)].min(),
)

# %% [markdown]
# For histograms the truth is c = 0, but features that only change in steps lead no search anywhere.
# Points moved by next to nothing show it.

# %%
step = np.random.default_rng(seed).standard_normal(X.shape)
step *= 1e-4 * (np.linalg.norm(X, axis=1) / np.linalg.norm(step, axis=1))[:, None]
features = SHOWN["histograms (shifts)"][0]
same = np.all(features.transform(X) == features.transform(X + step), axis=1)
run.say(
    "Moved by a ten-thousandth of its norm, a point has the same histograms of {m} templates in "
    "{share:.0f} % of {n} cases.",
    m=MOST,
    share=100 * same.mean(),
    n=len(X),
)

# %% [markdown]
# ## Sets that are nearly the same
#
# The set {t, -t} and zeros beside {0, 0} and zeros, for smaller and smaller t.

# %%
DISTANCES = np.logspace(-3, 0, 7)


def pair(t):
    """Two sets at distance sqrt(2) t."""
    both = np.zeros((2, d))
    both[0, :2] = t, -t
    return both


POOLINGS = {
    "sorted": ("sorted", [lambda X: np.sort(X, axis=1)] * DRAWS),
    "max filters": ("haar", [max_filters(MOST, k, orders).transform for k in range(DRAWS)]),
    "pooled features": ("lgika", [pooled(MOST, k) for k in range(DRAWS)]),
}
near = {}
for name, (_, maps) in POOLINGS.items():
    gaps = [[np.linalg.norm(np.subtract(*phi(pair(t)))) for t in DISTANCES] for phi in maps]
    near[name] = np.array(gaps) / (np.sqrt(2) * DISTANCES)
smallest = near["pooled features"].mean(axis=0)[:4]
slope = np.polyfit(np.log(DISTANCES[:4]), np.log(smallest), 1)[0]
fig, axis = plt.subplots(figsize=(6.5, 4))
panel(
    axis,
    DISTANCES,
    {name: (POOLINGS[name][0], values) for name, values in near.items()},
    log="xy",
    xlabel="t",
    ylabel="distance of features / distance of sets",
    title=f"The ratio of pooled features falls as t to the power {slope:.2f}",
)
run.figure(fig, "near", caption=f"{DRAWS} draws of {MOST} templates, bars: two standard errors.")

# %% [markdown]
# ## The worst pairs
#
# Two signals that a map takes for one, the second shifted to where it fits the first best.


# %%
def aligned(pair):
    """A pair, its second point moved to the nearest of its orbit."""
    orbit = shifts.act(shifts.elements(), pair[1:])[:, 0]
    return pair[0], orbit[np.argmin(np.linalg.norm(orbit - pair[0], axis=1))]


mirrored = np.concatenate([X[:5], X[:5, ::-1]])
mirror = separation_report(spectrum, shifts, mirrored, n_pairs=5, n_steps=0, random_state=seed)
PAIRED = {f"power spectrum, mirror image: {mirror.lower:.0e}": mirror.worst}
for name, shape in {"power spectrum": ".0e", "histograms": ".0e", "max filters": ".1g"}.items():
    _, _, least, _, worst = found[f"{name} (shifts)"]
    PAIRED[f"{name}: {least:{shape}}"] = worst
fig, axes = plt.subplots(1, len(PAIRED), figsize=(11, 2.4))
for axis, (title, two) in zip(axes, PAIRED.items(), strict=True):
    for one, style in zip(aligned(two), ("-", "--"), strict=True):
        axis.plot(range(d), one, style, color=colour("bound" if style == "-" else "haar"))
    axis.set_title(title, fontsize=9)
run.figure(
    fig,
    "pairs",
    alt="Pairs of signals for which the distance of features is the least part of that of orbits: "
    + "; ".join(PAIRED)
    + ".",
    caption="Numbers: distance of features over distance of orbits, at the pair that is drawn.",
)

# %% [markdown]
# ## How to read it
#
# A search shows that a map forgets; it cannot show that it does not. Confusing points that never occur
# costs nothing: the thick bars are about the data, the thin ones about the map. What a learner loses by a
# small lower constant is another question.
#
# ## Try it
#
# `invariance run beyond/separation -p d 16`: twice the dimension, and twice as many templates for the
# same constant.
