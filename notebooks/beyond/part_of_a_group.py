# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A part of a group
#
# Who cannot afford a whole group takes a part of it: a few random elements in the kernel, a few
# moved copies of the data. How invariant is what comes out, and what would the whole have been
# worth? A part makes a kernel invariant only if that kernel cannot tell it from the whole; a
# Gaussian kernel always can. And a group of order $|G|$ is worth a factor $|G|$ in samples, as
# Tahmasebi and Jegelka (2023) prove, once there are enough samples to see it.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
noise: float = 0.5  # standard deviation of the samples on circle, torus and sphere

# %%
from itertools import chain, combinations
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

from invariance import groups, spectral
from invariance.companion import Run, Score, fit_rate, label_ends, mean_se, panel
from invariance.evaluation import best_by_leave_one_out, best_with_copies
from invariance.features import OrbitFourier
from invariance.groups import LinearMaps, Permutations
from invariance.kernels import Average, Gaussian, Linear, Polynomial
from invariance.linear import RLSRegressor

run = Run("beyond/part_of_a_group", profile=profile, seed=seed, noise=noise)

# %% tags=["settings"]
# all that differs between the two profiles
QUICK = run.quick
PARTS = [1, 12, 24] if QUICK else [1, 4, 8, 12, 18, 23, 24]  # elements of 24
PART_DRAWS, TRAIN, TEST = (2, 10, 50) if QUICK else (12, 30, 300)
ORDERS = [1, 2, 4] if QUICK else [1, 2, 4, 8]
SIZES = [50, 100, 200, 400, 800] if QUICK else [500, 1000, 2000, 4000, 8000, 16_000]
GAIN_DRAWS = 3 if QUICK else 24
SMOOTHNESS = {"circle": 0.75, "torus": 1.5, "sphere": 1.5}
LABELS = dict(zip(SMOOTHNESS, (30, 20, 6) if QUICK else (160, 100, 17), strict=True))  # kept

# %% [markdown]
# ## When is a part enough?
#
# For a part $S$ of the group, take both arguments to all elements of $S$:
#
# $$ K_S(x, z) = \frac{1}{|S|^2} \sum_{g, h \in S} k(g x, h z) . $$
#
# $K_S$ is invariant if and only if the averages of $k(\cdot, z)$ over $z \in S x$ and over $S g x$
# agree in the space of $k$, for all $x$ and $g$. A Gaussian kernel tells any two finite sets of
# points apart. Where some point has $|G|$ different images, $S x$ and $S g x$ are the same set for
# all $g$ only if $S = G$: every strict part has a positive discrepancy. A polynomial kernel sees
# only moments up to its degree, and a part that has the right moments is enough. The even
# permutations of four letters are half of all, and first differ in a moment of degree 6 (the
# product of all differences of coordinates).


# %%
def matrices_of(group, n):
    """The group's elements as matrices (r, n, n), the identity first."""
    moved = group.act(group.elements(), np.eye(n)).swapaxes(1, 2)
    return moved[np.argsort(-np.trace(moved, axis1=1, axis2=2), kind="stable")]


def departure(base, part, whole, X):
    """Largest change of K_S(x, z) under the group in x, relative to its largest value."""
    K, maps = Average(base, LinearMaps(part), side="both"), LinearMaps(whole)
    values = [K(moved, X) for moved in maps.act(maps.elements(), X)]
    return float(np.ptp(values, axis=0).max() / np.abs(values).max())


rng = np.random.default_rng(seed)
three, four = matrices_of(Permutations(3), 3), matrices_of(Permutations(4), 4)
even, X = four[np.linalg.det(four) > 0], rng.standard_normal((6, 4))
some = four[np.r_[0, 1 + rng.permutation(23)[:11]]]
CHOSEN = {"identity alone": four[:1], "4 cyclic shifts": matrices_of(groups.CyclicShifts(4), 4)}
CHOSEN |= {"12 random permutations": some, "12 even permutations": even, "all 24": four}
KERNELS = {f"degree {p}": Polynomial(p, gamma=0.3) for p in (3, 5, 6)}
KERNELS = {"linear": Linear(), **KERNELS, "Gaussian": Gaussian(0.5)}
changes = {part: [departure(k, m, four, X) for k in KERNELS.values()] for part, m in CHOSEN.items()}
run.table(
    [
        {"part": part} | {k: f"{v:.0e}" for k, v in zip(KERNELS, values, strict=True)}
        for part, values in changes.items()
    ],
    "parts",
    caption="Largest change of the averaged kernel when one point is permuted, relative to its "
    "largest value, for parts of the permutations of four coordinates. About 1e-16 is rounding.",
)

# %% [markdown]
# The permutations of three coordinates have few enough parts to try all of them:

# %%
parts = chain.from_iterable(combinations(range(6), size) for size in range(1, 7))
found = {part: departure(Gaussian(0.5), three[list(part)], three, X[:, :3]) for part in parts}
whole = found.pop(tuple(range(6)))
run.say(
    "Gaussian kernel, three coordinates: the least discrepancy of the {n} strict parts is "
    "{least:.1e}; that of the whole group is {whole:.0e}.",
    n=len(found),
    least=min(found.values()),
    whole=whole,
)
assert whole < 1e-12 < min(found.values())

# %% [markdown]
# ## Risk and discrepancy against the part that is used
#
# A function of four numbers in any order, from few noisy samples. The part grows from the identity
# to all 24 permutations, one random element after the other, and is used for copies of the data
# (augmentation), for averaged random features and for an averaged kernel. Bandwidth and penalty are
# chosen by leave-one-out; a point is left out with all its copies. A first run knew augmentation
# only with the penalty that is best without copies (`best_with_copies`): too small for noisy copies
# that lie close together, so that the risk grew with the part. It stays as a fourth way, on draws
# that were not looked at then.

# %%
WAYS = {"augmentation": "copies", "lgika-rff": "features", "haar": "kernel"}
WAYS["raw"] = "copies, penalty without"
GAMMAS, group = (0.1, 0.3, 1.0), Permutations(4)


def symmetric(X):
    return np.cos(X.sum(axis=1)) + np.log(np.mean(np.exp(X), axis=1))


def with_copies(bases, part, X, y):
    """Ridge regression on all copies; what chooses leaves out a point with its copies."""
    n, r, best = len(X), len(part), (np.inf, None, None)
    points = LinearMaps(part).act(np.arange(r), X).swapaxes(0, 1).reshape(n * r, -1)
    for base in bases:
        values, vectors = np.linalg.eigh(base(points))
        for penalty in 10.0 ** np.arange(-6, 3):
            inverse = (vectors / (np.maximum(values, 0) + penalty)) @ vectors.T
            dual = inverse @ np.repeat(y - y.mean(), r)
            own = inverse.reshape(n, r, n, r)[np.arange(n), :, np.arange(n)]
            left_out = np.linalg.solve(own, dual.reshape(n, r, 1))
            best = min(best, (np.mean(left_out**2), dual, base), key=lambda one: one[0])
    return lambda Z: best[2](Z, points) @ best[1] + y.mean()


def fitted(way, part, X, y, draw):
    """A function fitted with a part of the group."""
    bases, maps = [Gaussian(gamma) for gamma in GAMMAS], LinearMaps(part)
    if way == "augmentation":
        return with_copies(bases, part, X, y)
    if way == "raw":
        moved = maps.act(np.arange(len(part)), X)[1:]
        return best_with_copies(bases, RLSRegressor(), X=X, y=y, moved=moved)
    if way == "haar":
        candidates = [Average(base, maps, side="both") for base in bases]
    else:
        how = {"form": "cos_sin", "random_state": draw}
        candidates = [OrbitFourier(maps, 300, gamma=gamma, **how) for gamma in GAMMAS]
    return best_by_leave_one_out(candidates, RLSRegressor(), X=X, y=y)


@run.cache
def with_parts(way, sizes, draw):
    """Risk, relative discrepancy and CPU seconds, (sizes, 3), for one growing part."""
    rng, found = np.random.default_rng([seed, 100 + draw]), []
    X, Z = rng.standard_normal((TRAIN, 4)), rng.standard_normal((TEST, 4))
    y = symmetric(X) + 0.1 * rng.standard_normal(TRAIN)
    order = np.r_[0, 1 + rng.permutation(23)]
    for size in sizes:
        start = process_time()
        f = fitted(way, four[order[:size]], X, y, draw)
        risk = np.mean((f(Z) - symmetric(Z)) ** 2)
        took = process_time() - start
        change = spectral.invariance_discrepancy(f, group, Z[:20], relative=True)
        found.append((risk, change, took))
    return found


parts = {way: np.array([with_parts(way, PARTS, r) for r in range(PART_DRAWS)]) for way in WAYS}

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 4))
shares = [size / 24 for size in PARTS]
labels = ("mean squared error", "relative discrepancy")
for i, (axis, label) in enumerate(zip(axes, labels, strict=True)):
    curves = {name: (way, np.maximum(parts[way][:, :, i], 1e-16)) for way, name in WAYS.items()}
    panel(axis, shares, curves, log="y", ends=None, xlabel="part of the group", ylabel=label)
kept = list(WAYS)[:3]
gain = {way: parts[way][:, 0, 0].mean() / parts[way][:, -1, 0].mean() for way in kept}
near = max(parts[way][:, -2, 1].mean() for way in WAYS)
least, most = min(gain.values()), max(gain.values())
axes[0].set_title(f"The whole divides the risk by {least:.1f} to {most:.1f}")
axes[1].set_title(f"{PARTS[-2]} of 24 elements: still {near:.0e}")
for axis in axes:
    axis.set_xticks([0, 0.5, 1], ["0", "1/2", "1"])
    label_ends(axis, room=0.3)
run.figure(
    fig,
    "part",
    caption=f"Means and two standard errors over {PART_DRAWS} draws of samples and parts.",
)

# %%
ROWS = [("haar", 0), ("haar", len(PARTS) // 2), ("raw", -1), ("augmentation", -1), ("haar", -1)]
run.table(
    [
        {
            "elements": PARTS[at],
            "used in": WAYS[way] if PARTS[at] > 1 else "nothing",
            "risk": f"{mean_se(parts[way][:, at, 0]):.4f}",
            "discrepancy": f"{parts[way][:, at, 1].mean():.0e}",
            "CPU ms": round(1e3 * parts[way][:, at, 2].mean()),
        }
        for way, at in ROWS
    ],
    "cost",
    caption="Means over draws, with the standard error of the risk. The time is to fit (three "
    "bandwidths) and to predict.",
)

# %% [markdown]
# ## What the whole is worth: a factor |G| in samples
#
# Tahmasebi and Jegelka (2023) consider kernel ridge regression of an invariant function of
# smoothness $s$ on a manifold $M$ of dimension $d$. In our words: of the eigenfunctions up to
# some eigenvalue, one in $|G|$ is invariant, so the best risk with $n$ samples is that of $|G| n$
# samples without the group. Under a continuous group the number of invariant functions grows like
# that of a space of lower dimension, $\dim(M / G)$, and the exponent itself improves,
#
# $$ \text{risk} \sim \Big(\frac{\sigma^2 \operatorname{vol}(M / G)}{n}\Big)^{s / (s + d / 2)},
# \qquad d = \dim(M / G) . $$
#
# **Protocol**, fixed before the run. Circle ($s = 0.75$), torus and sphere of two dimensions
# ($s = 1.5$); cyclic groups of turns or translations, each in the next, so that one target,
# invariant under the largest, serves all of them. Kernel ridge regression with the Sobolev kernel
# averaged over each group, written in invariant eigenfunctions; risk by Parseval. Each group and
# size has the penalty of least mean risk, known here and to nobody else: best against best. The
# gain is $n' / n$, where $n'$ samples without the group have the same risk, read off between sizes
# on logarithmic axes, at the two smallest $n$; its exponent is the slope of $\log(n' / n)$ against
# $\log |G|$ through the origin. Intervals: two standard errors by the jackknife over draws of
# target and sample. They shall be no wider than ± 0.1; the table says how many draws that takes.
#
# What theory says at these $n$ is computed as well: bias and variance of ridge regression, with the
# energies of the targets and the number of invariant functions.

# %%
TURN = 2 * np.pi


def cyclic(name, m):
    """The cyclic group of order m on one of the manifolds; turns of the sphere about an axis."""
    if name == "sphere":
        c, s = np.cos(TURN / m), np.sin(TURN / m)
        return groups.OrthogonalMatrices([[[c, -s, 0], [s, c, 0], [0, 0, 1]]])
    orders, period = ([m], TURN) if name == "circle" else ([m, 1], 2.0)
    return groups.TorusTranslations(orders, period=period)


MANIFOLDS = {"circle": spectral.Circle(), "torus": spectral.Torus(2), "sphere": spectral.Sphere(3)}


def basis_of(name):
    return MANIFOLDS[name].truncate(degree=LABELS[name])


PENALTIES = 10.0 ** np.arange(-7, 0.1, 0.25)


def invariants(name, m):
    """Invariant functions of the cyclic group of order m, by eigenspace: matrices (dim, found)."""
    if m == 1:
        return [sparse.eye_array(dim) for dim in basis_of(name).dimensions_]
    return spectral.invariant_subspace(basis_of(name), cyclic(name, m))


def decay(name):
    """Eigenvalues of the Sobolev kernel, one per eigenspace."""
    basis = basis_of(name)
    return basis.counts_.astype(float) ** (-2 * SMOOTHNESS[name] / basis.manifold_dimension)


@run.cache
def risks(name, orders, sizes, draw, noise, first_seed):
    """Risks (orders, sizes, penalties) for one target and sample, and the target's energies."""
    basis, rng = basis_of(name), np.random.RandomState(first_seed + draw)
    spaces = [sparse.block_diag(invariants(name, m)).toarray() for m in orders]
    how = {"smoothness": SMOOTHNESS[name], "random_state": rng}
    f = spectral.sobolev_target(basis, cyclic(name, max(orders)), **how).coefficients
    X = basis.sample(max(sizes), rng)
    F, scale = basis.evaluate(X), np.repeat(decay(name) ** 0.5, basis.dimensions_)
    y = F @ f + noise * rng.standard_normal(len(X))
    F *= scale
    risk, A, b = np.empty((len(orders), len(sizes), len(PENALTIES))), 0, 0
    for j, (last, n) in enumerate(zip([0, *sizes], sizes, strict=False)):
        A, b = A + F[last:n].T @ F[last:n], b + F[last:n].T @ y[last:n]
        for i, V in enumerate(spaces):
            values, vectors = np.linalg.eigh(V.T @ A @ V / n)
            dual = (vectors.T @ (V.T @ b / n))[:, None]
            dual = vectors @ (dual / (np.maximum(values, 0)[:, None] + PENALTIES))
            risk[i, j] = np.sum((scale[:, None] * (V @ dual) - f[:, None]) ** 2, axis=0)
    return risk, np.add.reduceat(f**2, [part.start for part in basis.slices()])


def expected(name, orders, sizes, energies):
    """What bias and variance of ridge regression give, (orders, sizes)."""
    kernel = decay(name)[:, None]
    kept, lost = (kernel / (kernel + PENALTIES)) ** 2, (PENALTIES / (kernel + PENALTIES)) ** 2
    counts = np.array([[part.shape[1] for part in invariants(name, m)] for m in orders])
    variance = noise**2 * (counts @ kept)[:, None] / np.array(sizes)[:, None]
    return (variance + energies @ lost).min(axis=-1)


# %%
def at_best(draws):
    """Risks (draws, orders, sizes) at the penalty of least mean risk."""
    found = np.array([risk for risk, _ in draws])
    best = found.mean(axis=0).argmin(axis=-1)[None, ..., None]
    return np.take_along_axis(found, best, axis=-1)[..., 0]


def log_gains(mean):
    """Logarithm of the gain in samples (orders, 2) at the two smallest sizes."""
    less, known = -np.log(mean[:, :2]), -np.log(mean[0])
    return np.interp(less, known, np.log(SIZES)) - np.log(SIZES[:2])


def gain_exponent(mean):
    logs = np.log(ORDERS)
    return (log_gains(mean) * logs[:, None]).sum() / (2 * logs @ logs)


def jackknife(statistic, samples):
    """A statistic of the mean of samples, and its standard error."""
    n, mean = len(samples), samples.mean(axis=0)
    values = [statistic((n * mean - one) / (n - 1)) for one in samples]
    return Score(statistic(mean), np.sqrt((n - 1) ** 2 / n * np.var(values, ddof=1)))


def beside_theory(exponent, half, limit, here):
    """Columns of a measured exponent with its interval, and of what theory says."""
    found = {"exponent": f"{exponent:.3f} ± {half:.3f}", "in the limit": limit}
    found |= {"at these n": f"{here:.3f}", "draws": GAIN_DRAWS}
    return found | {"draws for ± 0.1": int(np.ceil(GAIN_DRAWS * (half / 0.1) ** 2))}


finite = {
    name: [risks(name, ORDERS, SIZES, r, noise, seed) for r in range(GAIN_DRAWS)]
    for name in SMOOTHNESS
}
rows, drawn = [], {}
for name, draws in finite.items():
    risk = at_best(draws)
    exponent = jackknife(gain_exponent, risk)
    factors = np.exp(log_gains(risk.mean(axis=0)))
    drawn[name] = risk, factors, exponent
    stated = gain_exponent(expected(name, ORDERS, SIZES, draws[0][1]))
    gains = dict(zip(ORDERS, ([f"{v:.1f}" for v in some] for some in factors), strict=True))
    row = {"manifold": name} | {f"gain of {m}": " and ".join(gains[m]) for m in ORDERS[1:]}
    rows.append(row | beside_theory(exponent.mean, 2 * exponent.se, 1, stated))
run.table(
    rows,
    "gain",
    caption=f"Gain in samples of cyclic groups with {SIZES[0]:,} and {SIZES[1]:,} samples, and the "
    "exponent of the order of the group, with two standard errors; what theory says in the limit, "
    "and what bias and variance say at these numbers; draws, and how many ± 0.1 takes.",
)

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 4))
risk = drawn["sphere"][0]
looks, worth = zip(("raw", "bag-of-words", "haar", "local"), "osD^", strict=True), {}
for i, (m, (method, mark)) in enumerate(zip(ORDERS, looks, strict=False)):
    how = {"marker": mark, "x": np.array(SIZES) * m}
    worth[f"order {m}"] = (method, risk[:, i], how)
mean = risk.mean(axis=0)
pairs = [(i, j) for i in range(len(ORDERS)) for j in range(len(SIZES) - i)]
apart = max(max(r, 1 / r) for r in (mean[i, j] / mean[0, i + j] for i, j in pairs))
title = f"Sphere: at equal n |G|, risks within {apart - 1:.0%} of no group's"
labels = {"xlabel": "samples × |G|", "ylabel": "risk", "title": title}
panel(axes[0], SIZES, worth, log="xy", ends=None, **labels)
axes[0].legend()
methods = zip(drawn, ("haar", "cdf", "spec-avg"), strict=True)
curves = {name: (method, drawn[name][1].mean(axis=1)) for name, method in methods}
curves["|G|"] = "bound", ORDERS, {"ls": ":"}
least, most = (f([d[2].mean for d in drawn.values()]) for f in (min, max))
title = f"Gain in samples ∝ |G| to the {least:.2f} to {most:.2f}"
labels = {"xlabel": "order of the group |G|", "ylabel": "gain in samples", "title": title}
panel(axes[1], ORDERS, curves, log="xy", **labels)
run.figure(
    fig,
    "gain",
    caption=f"Means over {GAIN_DRAWS} draws; bars on the left: two standard errors. Right: mean of "
    "the gains at the two smallest numbers of samples.",
)

# %% [markdown]
# ## A continuous group: a lower dimension
#
# Torus and sphere under all translations along one side, or all turns about one axis ($m = 64$ is
# more than the kept functions can tell from all). The exponent should grow from $s / (s + 1)$ to
# $s / (s + 1/2)$.

# %%
s, WIDE = SMOOTHNESS["torus"], SIZES[:-1]
rates = []
for name in ("torus", "sphere"):
    draws = [risks(name, [1, 64], WIDE, r, noise, seed + 1000) for r in range(GAIN_DRAWS)]
    risk = at_best(draws)
    stated = expected(name, [1, 64], WIDE, draws[0][1])
    for i, d in enumerate((2, 1)):
        fit, here = fit_rate(WIDE, risk[:, i].T), fit_rate(WIDE, stated[i])
        half, limit = (fit.high - fit.low) / 2, f"{s / (s + d / 2):.3f}"
        row = {"manifold": name, "group": "circle" if i else "none", "dimension left": d}
        rates.append(row | beside_theory(-fit.slope, half, limit, -here.slope))
run.table(
    rates,
    "rates",
    caption=f"Exponent of the risk against {WIDE[0]:,} to {WIDE[-1]:,} samples, with its 95 % "
    "interval; what theory says in the limit, and what bias and variance say at these numbers.",
)

# %% [markdown]
# ## Try it
#
# `invariance run beyond/part_of_a_group -p noise 0.2`: less noise is like more samples. Is the gain
# closer to $|G|$?
