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
# # Theorem 1: random features whose expected inner product is an invariant kernel
#
# *Mroueh, Voinea and Poggio (2015), theorem 1.*
#
# The paper's feature map only looks at the *distribution* of the projections of a point on
# transformed random templates. Theorem 1 says which invariant kernel its inner product has in
# expectation: up to a constant, minus the mean distance between two orbits,
#
# $$ K_s(x, z) \approx s - d_G(x, z), \qquad
#    d_G(x, z) = \frac{1}{\sqrt{2 \pi d}}
#    \int_G \int_G \lVert gx - g'z \rVert \, d\mu(g)\, d\mu(g') . $$
#
# It is true, and the kernel has a closed form, which this notebook derives, simulates and compares
# with the theorem's two-sided bound. What an averaged kernel buys is shown in
# `mroueh2015/core_set`, the lemmas in `mroueh2015/lemmas` and what remarks 1, 3 and 4 add in
# `mroueh2015/remarks`.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from invariance.companion import Run, colour, curve, fit_rate, marker, mean_se, shades
from invariance.features import GroupCDF
from invariance.groups import (
    CyclicShifts,
    DirectProduct,
    OrthogonalMatrices,
    Permutations,
    SignFlips,
)
from invariance.kernels import CDF, Average
from invariance.theory import mroueh2015 as theory

run = Run("mroueh2015/theorem1", profile=profile, seed=seed)
SETTINGS = {
    "quick": {
        "dimensions": (4, 16),
        "points": 8,
        "templates": 200,
        "gram": 40,
        "draws": 20,
        "limit": (6, 12),
        "limit templates": 40_000,
        "directions": 200,
    },
    "full": {
        "dimensions": (4, 8, 16, 64),
        "points": 12,
        "templates": 2000,
        "gram": 100,
        "draws": 100,
        "limit": (8, 20),
        "limit templates": 1_000_000,
        "directions": 4000,
    },
}[profile]

# %% [markdown]
# Four groups, all compact and unitary, as the paper assumes: permutations of four blocks of
# coordinates, cyclic shifts of four blocks, sign flips of the first four coordinates, and rotations
# of every coordinate plane by multiples of 15 degrees.


# %%
def turns(order, d):
    """Rotations of all d / 2 coordinate planes by multiples of 2 pi / order."""
    c, s = np.cos(2 * np.pi / order), np.sin(2 * np.pi / order)
    return OrthogonalMatrices([np.kron(np.eye(d // 2), [[c, -s], [s, c]])])


def groups(d):
    flips = SignFlips(4) if d == 4 else DirectProduct([SignFlips(4), CyclicShifts(1, block=d - 4)])
    return {
        "permutations": Permutations(4, block=d // 4),
        "cyclic shifts": CyclicShifts(4, block=d // 4),
        "sign flips": flips,
        "rotations": turns(24, d),
    }


def sphere(n, d, rng):
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


looks = dict(zip(groups(4), zip(shades("group", 4), "os^D", strict=True), strict=True))

# %% [markdown]
# ## The kernel in closed form
#
# The proof of theorem 1 *bounds* two expectations. Both can be computed exactly. With
# $t \sim N(0, I/d)$ and **rejected templates counting zero** (they are the null template
# $\bot$; they are not drawn again), and with $F_k$ the distribution function of $\chi^2_k$,
#
# $$ K_s(x, z) = s\, F_d\bigl(d(1+\varepsilon)\bigr)
#    - F_{d+1}\bigl(d(1+\varepsilon)\bigr)\, d_G(x, z),
#    \qquad s = 1 + \varepsilon . $$
#
# The one call for it is `Average(CDF(epsilon), group)`. Simulation uses no formula: draw
# templates, reject, project on the orbit, and integrate the product of the two empirical
# distribution functions over all thresholds exactly (`theory.cdf_products`).


# %%
@run.cache
def simulate(name, d, slacks, n_points, n_templates, seed):
    """Exact and simulated K_s: arrays (slack, pairs), and the simulation's standard error."""
    rng = np.random.default_rng([seed, d, *name.encode()])
    group, X = groups(d)[name], sphere(n_points, d, rng)
    templates = rng.standard_normal((n_templates, d)) / np.sqrt(d)
    squared = np.square(templates).sum(axis=1)
    orbits = group.act(group.elements(), templates)
    pairs = np.triu_indices(n_points)
    reach = np.sqrt(squared.max())
    products = np.array(
        [theory.cdf_products(X @ orbits[:, j].T, reach)[pairs] for j in range(n_templates)]
    )
    rows = []
    for eps in slacks:
        # A wider range of thresholds adds its width where both functions are one.
        values = np.where(squared[:, None] < 1 + eps, products + (1 + eps) - reach, 0)
        mean, error = mean_se(values)
        exact = Average(CDF(epsilon=eps), group)(X)[pairs]
        distance = theory.orbit_distance(group.act(group.elements(), X))[pairs]
        rows.append((exact, mean, error, distance))
    return np.array(rows).swapaxes(0, 1)


slacks = (0.1, 0.3, 0.6, 0.9)
dimensions, n_points, n_templates = (SETTINGS[k] for k in ("dimensions", "points", "templates"))
simulated = {
    (name, d): simulate(name, d, slacks, n_points, n_templates, run.seed)
    for d in dimensions
    for name in groups(d)
}

# %%
d, shown = dimensions[1], 2
eps = slacks[shown]
fig, axis = plt.subplots(figsize=(7.4, 4.4))
largest = 0.0
for name, (shade, symbol) in looks.items():
    exact, mean, error, distance = (part[shown] for part in simulated[name, d])
    axis.errorbar(
        distance, mean, 2 * error, fmt=symbol, color=shade, ms=4, lw=0.7, label=name, capsize=0
    )
    largest = max(largest, distance.max())
ends = np.array([0, 1.08 * largest])
closed = 1 - ends + theory.theorem1_deviation(ends, d, eps=eps)
low, high = theory.theorem1_sandwich(d, eps)
axis.fill_between(
    ends, 1 - ends + low, 1 - ends + high, color=colour("bound"), alpha=0.12, lw=0, zorder=0
)
axis.plot(ends, closed, color=colour("exact-kernel"))
axis.plot(ends, 1 + eps - ends, color=colour("published"), ls="--")
for text, y, c in (
    (" closed form", closed[1], "exact-kernel"),
    (" limit $s - d_G$", 1 + eps - ends[1], "published"),
    (" theorem 1's\n sandwich", 1 - ends[1] + low, "bound"),
):
    axis.annotate(text, (ends[1], y), color=colour(c), va="center", annotation_clip=False)
axis.set(
    xlabel="mean distance between the orbits, $d_G(x, z)$",
    ylabel="$K_s(x, z)$",
    title="Simulated features fall on the closed form, inside theorem 1's band",
    xlim=ends,
)
axis.legend(title=f"d = {d}, ε = {eps}", loc="lower left")
z_scores = np.concatenate([((m - e) / s).ravel() for e, m, s, _ in simulated.values()])
run.figure(
    fig,
    "kernel",
    alt="Simulated K_s of four groups against the distance between orbits: the points scatter "
    "about the straight line of the closed form, which lies below the limit line and inside "
    "the band that theorem 1 allows.",
    caption=f"{n_templates:,} templates per group, bars of two standard errors. The same templates "
    "serve all pairs of a group: its points err together.",
)
print(f"{len(z_scores):,} comparisons, largest |z| = {np.abs(z_scores).max():.2f}")

# %% [markdown]
# The printed limit $s - d_G$ overestimates $K_s$ at small $d$: the share of templates lost to the
# rejection, $1 - F_d$, lowers the kernel by up to $s(1 - F_d)$.
#
# ## The sandwich, equation (3)
#
# $$ \varepsilon - \delta_2(d, \varepsilon) \le K_s(x, z) - (1 - d_G(x, z))
#    \le \varepsilon + \delta_1(d, \varepsilon) $$
#
# `low, high = theory.theorem1_sandwich(d, eps)`. What stands in the middle is
# `theory.theorem1_deviation(d_G, d, eps)`, affine in $d_G \in [0, 2/\sqrt{2 \pi d}]$. So the two
# ends of that interval settle the matter for *every* pair of points of every unitary group, and we
# can scan all $(d, \varepsilon)$:

# %%
all_d = np.unique(np.r_[1:200, np.geomspace(200, 1e5, 100).astype(int)])[:, None]
all_eps = np.linspace(0.005, 0.995, 199)
low, high = theory.theorem1_sandwich(all_d, all_eps)
extremes = [
    theory.theorem1_deviation(end, all_d, eps=all_eps)
    for end in (np.zeros(all_d.shape), 2 / np.sqrt(2 * np.pi * all_d))
]

# Both sides as upper bounds: K_s - (s - d_G) <= delta1 and (s - d_G) - K_s <= delta2.
lhs, rhs, ceilings = [], [], []


def both_sides(deviation, d, eps):
    """The two inequalities at given values of K_s - (1 - d_G)."""
    gap, most = deviation - eps, 2 / np.sqrt(2 * np.pi * d)
    for side, slack, ceiling in (
        (gap, theory.theorem1_delta1(d, eps), most),  # K_s <= s, d_G <= most
        (-gap, theory.theorem1_delta2(d, eps), 1 + eps),  # K_s >= 0
    ):
        for values, kept in zip((lhs, rhs, ceilings), (side, slack, ceiling), strict=True):
            values.append(np.broadcast_to(kept, np.shape(gap)).ravel())


for extreme in extremes:
    both_sides(extreme, all_d, all_eps)
for (_, d), (exact, _, _, distance) in simulated.items():
    for eps, K, D in zip(slacks, exact, distance, strict=True):
        both_sides(K - (1 - D), d, eps)
lhs, rhs, ceilings = map(np.concatenate, (lhs, rhs, ceilings))
run.claim(
    "mroueh2015/theorem1-sandwich",
    lhs=lhs,
    rhs=rhs,
    ceiling=ceilings,
    note="both sides, for every pair of four groups with d_G by its definition, and for the two "
    "ends of the range of d_G at every d up to 100,000, where K_s is known exactly",
)

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3.7), sharey=True)
d = np.arange(1, 400)
for eps, shade in zip(slacks, shades("dimension", len(slacks)), strict=True):
    ends = [theory.theorem1_gap(end, d, eps=eps) for end in (0 * d, 2 / np.sqrt(2 * np.pi * d))]
    axes[0].fill_between(d, *ends, color=shade, alpha=0.8, lw=0.8, label=f"ε = {eps}")
    axes[1].plot(d, theory.theorem1_delta1(d, eps), color=shade, label=f"$\\delta_1$, ε = {eps}")
    axes[1].plot(d, -theory.theorem1_delta2(d, eps), color=shade, ls="--")
    axes[1].fill_between(d, *ends, color=shade, alpha=0.25, lw=0)
for axis in axes:
    axis.set(xscale="log", xlabel="dimension d")
axes[0].set(ylabel="$K_s - (1 - d_G) - ε$", title="the exact deviation, over all possible $d_G$,")
axes[1].set_title(r"lies between $\delta_1$ (solid) and $-\delta_2$ (dashed)")
axes[0].legend()
run.figure(
    fig,
    "sandwich",
    alt="Left: the exact deviation of K_s from 1 - d_G + eps is a band, mostly below zero, that "
    "closes "
    "on zero as the dimension grows, sooner for larger eps. Right: the bounds delta1 and minus "
    "delta2 "
    "enclose it, from afar at small dimension.",
    caption="The deviation is never above $d_G(1 - F_{d+1})$, and the first term of $\\delta_2$ "
    "is not "
    "needed: the expectation $I_2$ that the proof bounds by Cauchy–Schwarz on both sides is "
    "positive.",
)

# %% [markdown]
# The sandwich holds everywhere, d = 1 included. Two remarks on its proof, checked in the tests:
#
# - The lower tail bound of lemma 3 replaces the constant of its source by 1/2. It is true for $d
#   \ge 2$ (closest at $d = 2$, 4 % apart) and false at $d = 1$, where the sandwich survives
#   because the Cauchy–Schwarz step has room to spare.
# - In the proof's last display for the lower bound a factor $(1 + \varepsilon)$ is missing in one
#   line and back in the next. The result is right.
#
# ## Where the slacks come from: equations (8) to (15)
#
# Write $n$ for a Gaussian template before rejection and $Z = \max(\langle g^{-1}x, n \rangle,
# \langle g'^{-1}z, n \rangle)$. The proof splits the kernel, equation (8),
#
# $$ K_s(x, z) = (1 + \varepsilon)\, P(\lVert n \rVert^2 < 1 + \varepsilon) - d_G(x, z) + I_2,
#    \qquad I_2 = \iint_{G \times G} E\bigl[ 1(\lVert n \rVert^2 \ge 1 + \varepsilon)\, Z
#    \bigr] , $$
#
# and bounds the rest by Cauchy-Schwarz, equations (12) to (15): $|I_2| \le e^{-d\varepsilon^2/16}
# / \sqrt d$. To measure $I_2$ we need $K_s$ by its definition: a direction on the sphere, all
# projections on its orbit, the exact integral over thresholds; then the radius, by quadrature.


# %%
@run.cache
def kernel_by_definition(elements, X, slacks, n_directions, seed):
    """K_s, shape (slacks, points, points), from directions and their opposites."""
    rng = np.random.default_rng([seed, len(elements), X.shape[1]])
    d = X.shape[1]
    u = sphere(n_directions, d, rng)
    projections = np.einsum("pd,gde,te->tpg", X, elements, u)
    below = sum(theory.cdf_products(sign * p, 1 + 1e-9) for p in projections for sign in (1, -1))
    mean_max = 1 + 1e-9 - below / (2 * n_directions)
    kernels = []
    for eps in slacks:
        nodes, weights = np.polynomial.legendre.leggauss(200)
        radius = (nodes + 1) * np.sqrt(1 + eps) / 2
        weights = (
            weights * np.sqrt(1 + eps) / 2 * np.sqrt(d) * stats.chi.pdf(np.sqrt(d) * radius, d)
        )
        kernels.append(weights.sum() * (1 + eps) - weights @ radius * mean_max)
    return np.array(kernels)


# %%
def rest(name, d, seed):
    """I_2 of all pairs of seven points, by slack, and what it can ever be."""
    group = groups(d)[name] if name in looks else OrthogonalMatrices([np.eye(d)])
    X = sphere(6, d, np.random.default_rng([seed, d]))
    X = np.r_[X, -X[:1]]
    listed = group.act(group.elements(), np.eye(d)).swapaxes(1, 2)
    K = kernel_by_definition(listed, X, slacks, SETTINGS["directions"], seed)
    distance = theory.orbit_distance(group.act(group.elements(), X))
    s = 1 + np.array(slacks)[:, None, None]
    return K - s * stats.chi2.cdf(d * s, d) + distance


cases = [("trivial", d) for d in (1, 2, 4, 8, 16, 64)]
cases += [(name, d) for d in (4, 8, 16, 64) for name in looks]
fig, axis = plt.subplots(figsize=(6.8, 4))
lhs, rhs, ceilings = [], [], []
for name, d in cases:
    measured = np.abs(rest(name, d, run.seed + 1)).reshape(len(slacks), -1)
    for eps, values in zip(slacks, measured, strict=True):
        shade, symbol = looks.get(name, (colour("raw"), "."))
        axis.plot(d * eps**2, np.sqrt(d) * values.max(), symbol, color=shade, ms=5)
        lhs.append(values)
        rhs.append(np.full(len(values), np.exp(-d * eps**2 / 16) / np.sqrt(d)))
        ceilings.append(np.full(len(values), 1 + eps))
lhs, rhs, ceilings = map(np.concatenate, (lhs, rhs, ceilings))
fine = np.geomspace(0.01, 52, 100)
axis.plot(fine, np.exp(-fine / 16), color=colour("bound"), label="bound")
axis.plot([], [], ".", color=colour("raw"), label="trivial group")
for name, (shade, symbol) in looks.items():
    axis.plot([], [], symbol, color=shade, label=name)
axis.set(
    xscale="log",
    xlabel=r"$d\,\varepsilon^2$",
    ylabel=r"largest $\sqrt{d}\,|I_2|$ over pairs",
    title=f"What truncation leaves is at most {np.max(lhs / rhs):.2f} of its bound",
)
axis.legend(fontsize=8)
run.figure(
    fig,
    "truncation",
    alt="Largest rest of the truncation over pairs, times the root of d, against d eps squared: "
    f"points under the curve of the bound, at most {np.max(lhs / rhs):.2f} of it.",
    caption=f"{2 * SETTINGS['directions']:,} directions for each group and dimension.",
)
run.claim("mroueh2015/eq15-truncation", lhs=lhs, rhs=rhs, ceiling=ceilings)

# %% [markdown]
# ## The limit of high dimension
#
# Theorem 1.2: as d grows, $\delta_1, \delta_2 \to 0$ and $K_s \to s - d_G$. How fast? Templates
# inside the ball contribute to $K_s$ what they contribute to $s - d_G$ (lemma 2), so the distance
# is what the *rejected* templates would have added,
#
# $$ (s - d_G) - K_s = E\bigl[1(\lVert t \rVert^2 \ge 1 + \varepsilon)\,
#    (s - \text{mean}_{g, g'} \max(\langle x, gt \rangle, \langle z, g't \rangle))\bigr] , $$
#
# and falls as the probability of a rejection does: as its first power. The paper bounds that
# probability by $e^{-d\varepsilon^2/8}$, lemma 3. We draw templates, keep the rejected ones, and
# fit the measured distance against the exact probability of the chi-square law.


# %%
def distance_to_limit(d, eps, n_templates, rng):
    """(s - d_G) - K_s for a pair of points, by simulation: mean over templates of each batch."""
    x, z = sphere(2, d, np.random.default_rng(d))
    shifts, found = groups(d)["cyclic shifts"], []
    for size in np.full(20, n_templates // 20):
        squared = rng.chisquare(d, size) / d
        squared = squared[squared >= 1 + eps]
        t = sphere(len(squared), d, rng) * np.sqrt(squared)[:, None]
        orbit = shifts.act(shifts.elements(), t)
        maxima = np.maximum((orbit @ x)[:, None], (orbit @ z)[None]).mean(axis=(0, 1))
        found.append((1 + eps - maxima).sum() / size)
    return found


rng, rates = np.random.default_rng(run.seed + 1), {}
fig, axis = plt.subplots(figsize=(6.8, 4.2))
for eps, shade in zip((0.3, 0.6, 0.9), shades("dimension", 3), strict=True):
    d = np.unique(4 * np.round(np.linspace(*SETTINGS["limit"], 6) / (4 * eps**2)).astype(int))
    values = np.array([distance_to_limit(int(k), eps, SETTINGS["limit templates"], rng) for k in d])
    rejected = stats.chi2.sf(d * (1 + eps), d)
    rates[f"K_s, ε = {eps}"] = fit = fit_rate(rejected, values)
    label = f"ε = {eps}, d = {d[0]} to {d[-1]}: slope {fit.slope:.3f}"
    curve(axis, rejected, values.T, "haar", color=shade, label=label, ls="none")
    axis.plot(rejected, fit.predict(rejected), color=shade)
    axis.plot(np.exp(-d * eps**2 / 8), values.mean(axis=1), ":", color=shade)
slopes = [fit.slope for fit in rates.values()]
axis.set(
    xscale="log",
    yscale="log",
    xlabel="probability of a rejection (dotted: its bound $e^{-dε^2/8}$)",
    ylabel="distance to the limit, $(s - d_G) - K_s$",
    title=f"The distance to the limit falls as rejections do: slopes {min(slopes):.2f} to "
    f"{max(slopes):.2f}",
)
axis.legend(fontsize=8)
run.figure(
    fig,
    "limit",
    alt="Log-log plot of the measured distance of the kernel from its limit against the exact "
    "probability that a template is rejected, three slacks: points on straight lines with slopes "
    f"from {min(slopes):.2f} to {max(slopes):.2f}; the paper's bounds of that probability lie to "
    "the right.",
    caption="Simulated, bars of two standard errors; lines: fitted power laws.",
)
run.claim("mroueh2015/theorem1-limit", rates=rates, expected=dict.fromkeys(rates, 1.0))

# %% [markdown]
# One thing that the limit hides: $d_G$ itself is at most $2/\sqrt{2\pi d}$. In high dimension the
# kernel is a large constant minus a small distance, so that what a learner uses, the differences
# of $K_s$, is of order $d^{-1/2}$, while thresholds are spread over $[-s, s]$. Hence the practical
# choice `GroupCDF(s="data")`.
#
# ## Symmetric and positive semi-definite
#
# Theorem 1.3. Points in general position and points that share orbits, all groups, dimensions and
# slacks:

# %%
asymmetries, negatives = [], []
fig, axis = plt.subplots(figsize=(6, 3.6))
for d in SETTINGS["dimensions"]:
    for name, group in groups(d).items():
        X = sphere(SETTINGS["gram"], d, run.rng)
        for eps in slacks:
            K = Average(CDF(epsilon=eps), group)(X)
            values = np.linalg.eigvalsh(K)
            g, h = group.act(group.sample(2, run.seed), X)
            asymmetries += [
                np.abs(K - K.T).max(),
                np.abs(Average(CDF(epsilon=eps), group)(g, h) - K).max(),
            ]
            negatives.append(max(0.0, -values[0]) / values[-1])
        if d == 16:
            axis.plot(np.arange(1, len(X) + 1), values[::-1], color=looks[name][0], label=name)
axis.set(
    xscale="log",
    yscale="log",
    xlabel="index",
    ylabel="eigenvalue of the Gram matrix",
    title="All eigenvalues are positive (d = 16, ε = 0.9)",
)
axis.legend()
run.figure(
    fig,
    "spectrum",
    alt="Eigenvalues of the Gram matrices of K_s for four groups: one large eigenvalue of the "
    "constant part, then a slow decay; all are positive.",
)
run.claim(
    "mroueh2015/theorem1-psd",
    difference=np.r_[asymmetries, negatives],
    tolerance=1e-7,
    note="symmetry, invariance and the share of negative eigenvalues; the tolerance is the "
    "square root of "
    "machine precision because K_s takes the square root of squared distances",
)

# %% [markdown]
# ## Section 2: the same sampled elements serve both points
#
# "It is easy to see", says section 2, that $\lim_n E_{t,g} \langle\Phi(x), \Phi(z)\rangle =
# K_s(x, z)$ when $|G|$ elements are drawn. Both feature vectors use the *same* elements, though.
# Of the $|G|^2$ pairs $(g_i, g_{i'})$ in the product, a share $1/|G|$ has $i = i'$. For these the
# two elements are not independent, and what they see is the plain distance $|x - z|$:
#
# $$ E\,\langle\Phi(x), \Phi(z)\rangle = \Bigl(1 - \tfrac{1}{|G|}\Bigr) K_s(x, z)
#    + \tfrac{1}{|G|} K_s^{\{e\}}(x, z) $$
#
# (`theory.expected_inner_product`). So the printed equality holds in the limit of many elements, or
# with the whole group listed, or with elements drawn apart for x and z. For small groups every
# tuple of elements can be listed, which leaves no sampling error at all:


# %%
def listed_expectation(group, size, X, templates):
    """Mean of <Phi(x), Phi(z)> over all tuples of that many elements, infinitely many bins."""
    s = 1 + 0.6
    orbits = group.act(group.elements(), templates)
    tuples = list(product(range(group.order), repeat=size))
    total = sum(
        theory.cdf_products(X @ orbits[list(chosen), j].T, s)
        for chosen in tuples
        for j in range(len(templates))
    )
    return total / (len(tuples) * len(templates))


rng, printed, mended = np.random.default_rng(run.seed + 1), [], []
small = {
    "cyclic shifts": CyclicShifts(3),
    "permutations": Permutations(3),
    "turns by 90°": turns(4, 2),
}
for group in small.values():
    d = group.shape[0] if group.shape else 3
    X, templates = sphere(5, d, rng), rng.standard_normal((20, d)) / np.sqrt(d)
    templates = templates[np.square(templates).sum(axis=1) < 1.6]
    orbits = group.act(group.elements(), templates)
    K, plain = (
        sum(theory.cdf_products(X @ part.T, 1.6) for part in parts) / len(templates)
        for parts in (orbits.swapaxes(0, 1), orbits.reshape(-1, 1, d))
    )
    plain = plain / group.order
    for size in (1, 2, 3):
        expected = listed_expectation(group, size, X, templates)
        printed.append(np.abs(expected - K).ravel())
        repaired = theory.expected_inner_product(K, plain, n_elements=size)
        mended.append(np.abs(expected - repaired).max())
run.say(
    "As printed, the two sides differ by up to {printed:.3f}; with the 1/|G| term by {mended:.0e}.",
    printed=max(map(np.max, printed)),
    mended=max(mended),
)
run.claim(
    "mroueh2015/section2-expectation",
    difference=np.concatenate(printed),
    tolerance=1e-10,
    note="The sampled elements serve x and z alike, so that a share 1/|G| of all pairs meets "
    "itself and sees the plain kernel.",
)

# %% [markdown]
# The features themselves show it: two elements of a group of 24 rotations, two opposite points,
# which lie in one orbit but are as far apart as points can be.

# %%
circle, d, eps = turns(24, 4), 4, 0.6
x = sphere(1, d, run.rng)
X = np.r_[x, -x]
K = Average(CDF(epsilon=eps), circle)(X)[0, 1]
plain_K = CDF(epsilon=eps)(X)[0, 1]
counts = (1, 2, 4, 8, 16, 32)
draws = np.empty((SETTINGS["draws"], len(counts)))
for i in range(len(draws)):
    for j, r in enumerate(counts):
        features = GroupCDF(
            circle,
            200,
            n_bins=200,
            n_transforms=r,
            epsilon=eps,
            rejection="zero",
            s=1 + eps,
            random_state=int(run.rng.integers(2**31)),
        )
        Z = features.fit_transform(X)
        draws[i, j] = Z[0] @ Z[1]
mean, error = mean_se(draws)
fig, axis = plt.subplots(figsize=(6.2, 3.6))
r = np.geomspace(1, 32, 100)
axis.plot(
    r,
    theory.expected_inner_product(K, plain_K, n_elements=r),
    color=colour("exact-kernel"),
    label="with the 1/|G| term",
)
axis.axhline(K, color=colour("published"), ls="--", label="$K_s$, as section 2 states")
axis.errorbar(counts, mean, 2 * error, fmt=marker("cdf"), color=colour("cdf"), label="features")
axis.set(
    xscale="log",
    xlabel="sampled group elements |G|",
    ylabel="mean of ⟨Φ(x), Φ(−x)⟩",
    title="With few sampled elements the features see the plain kernel too",
)
axis.legend()
run.figure(
    fig,
    "sampled_group",
    alt="Mean inner product of features of x and -x against the number of sampled group "
    "elements: it follows the curve with the 1/|G| term and reaches K_s only for many elements.",
    caption="Bars of two standard errors. For one element the features are those of the trivial "
    "group.",
)

# %% [markdown]
# ## What to take away
#
# - The sandwich is true, and we know more than it says: $K_s$ in closed form.
# - The limit $s - d_G$ is approached exponentially fast in $d$, faster than the bounds say, and
#   nearly always from below.
# - Rejection costs nothing but a factor close to one; what limits the contrast of $K_s$ in high
#   dimension is the $d^{-1/2}$ in $d_G$.
# - With sampled group elements the expected kernel has a bias of order $1/|G|$ towards the plain
#   kernel.
