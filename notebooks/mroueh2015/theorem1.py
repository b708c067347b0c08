# ---
# jupyter:
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
# The kernel has a closed form, which we simulate and compare with the theorem's two-sided bound. The
# lemmas are in `mroueh2015/lemmas`, remarks 1, 3 and 4 in `mroueh2015/remarks`.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
dimensions: list[int] | None = None  # multiples of 4; None means those of the profile
turns_in_circle: int = 24  # order of the group of rotations

# %%
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from _groups import both_sides, four_groups, kernel_by_definition, sphere, turns
from scipy import stats

from invariance.companion import Run, colour, curve, family, fit_rate, mean_se, panel, shades
from invariance.features import GroupCDF
from invariance.groups import CyclicShifts, OrthogonalMatrices, Permutations
from invariance.kernels import CDF, Average
from invariance.theory import mroueh2015 as theory

run = Run(
    "mroueh2015/theorem1",
    profile=profile,
    seed=seed,
    dimensions=dimensions,
    turns_in_circle=turns_in_circle,
)

# %% tags=["settings"]
quick = run.quick
dims = tuple(dimensions or ((4, 16) if quick else (4, 8, 16, 64)))
n_points, n_templates, n_gram, n_draws = (8, 200, 40, 20) if quick else (12, 2000, 100, 100)
limits, limit_templates = ((6, 12), 40_000) if quick else ((8, 20), 1_000_000)
n_directions = 200 if quick else 4000

# %% [markdown]
# Four groups, all compact and unitary, as the paper assumes: permutations of four blocks of
# coordinates, cyclic shifts of four blocks, sign flips of the first four coordinates, and rotations
# of every coordinate plane by multiples of 15 degrees.


# %%
def groups(d):
    return four_groups(d, turns_in_circle)


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
# It is `Average(CDF(epsilon), group)`. The simulation uses no formula: draw templates, reject, project
# on the orbit, and integrate the product of the two distribution functions (`theory.cdf_products`).


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
simulated = {
    (name, d): simulate(name, d, slacks, n_points, n_templates, run.seed)
    for d in dims
    for name in groups(d)
}
z_scores = np.concatenate([((m - e) / s).ravel() for e, m, s, _ in simulated.values()])

# %%
d, shown = dims[-1] if len(dims) < 2 else dims[1], 2
eps = slacks[shown]
fig, axis = plt.subplots(figsize=(7.4, 4.4))
for name, (shade, symbol) in looks.items():
    exact, mean, error, distance = (part[shown] for part in simulated[name, d])
    axis.errorbar(distance, mean, 2 * error, fmt=symbol, color=shade, ms=4, lw=0.7, label=name)
ends = np.array(axis.get_xlim())
closed = 1 - ends + theory.theorem1_deviation(ends, d, eps=eps)
low, high = theory.theorem1_sandwich(d, eps)
band = {"color": colour("bound"), "alpha": 0.12, "lw": 0, "zorder": 0}
axis.fill_between(ends, 1 - ends + low, 1 - ends + high, label="theorem 1's sandwich", **band)
axis.plot(ends, closed, color=colour("exact-kernel"), label="closed form")
axis.plot(ends, 1 + eps - ends, color=colour("published"), ls="--", label="limit $s - d_G$")
axis.set(
    xlabel="mean distance between the orbits, $d_G(x, z)$",
    ylabel="$K_s(x, z)$",
    title=f"d = {d}, ε = {eps}: at most {np.abs(z_scores).max():.1f} standard errors from the closed "
    f"form;\nthe sandwich begins {-low:.2f} below $1 - d_G$",
    xlim=ends,
    ylim=(closed.min() - 0.1, 1 + eps - ends[0] + 0.05),
)
axis.legend(fontsize=8, loc="lower left", ncols=2)
caption = f"Bars of two standard errors; the {n_templates:,} templates serve all pairs of a group."
run.figure(fig, "kernel", caption=caption)

# %% [markdown]
# The printed limit $s - d_G$ overestimates $K_s$ at small $d$: the rejection lowers the kernel by up
# to $s(1 - F_d)$.
#
# ## The sandwich, equation (3)
#
# $$ \varepsilon - \delta_2(d, \varepsilon) \le K_s(x, z) - (1 - d_G(x, z))
#    \le \varepsilon + \delta_1(d, \varepsilon) $$
#
# `low, high = theory.theorem1_sandwich(d, eps)`. What stands in the middle is affine in $d_G \in [0,
# 2/\sqrt{2 \pi d}]$ (`theory.theorem1_deviation`). So the two ends of that interval settle the matter
# for *every* pair of points of every unitary group, and we can scan $(d, \varepsilon)$. Both sides
# are upper bounds, $K_s - (s - d_G) \le \delta_1$ and $(s - d_G) - K_s \le \delta_2$:

# %%
all_d = np.unique(np.r_[1:200, np.geomspace(200, 1e5, 100).astype(int)])[:, None]
all_eps, parts = np.linspace(0.005, 0.995, 199), []
for end in (np.zeros(all_d.shape), 2 / np.sqrt(2 * np.pi * all_d)):
    extreme = theory.theorem1_deviation(end, all_d, eps=all_eps)
    parts += both_sides(extreme - all_eps, all_d, all_eps)
for (_, d), (exact, _, _, distance) in simulated.items():
    for eps, K, D in zip(slacks, exact, distance, strict=True):
        parts += both_sides(K - (1 - D) - eps, d, eps)
run.claim(
    "mroueh2015/theorem1-sandwich",
    trials=parts,
    note="both sides, for every pair of four groups with d_G by its definition, and for the two "
    f"ends of the range of d_G at {len(all_d)} dimensions up to {all_d[-1, 0]:,}, where K_s is known exactly",
)

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3.9), sharey=True)
d, highest = np.arange(1, 400), []
for eps, shade in zip(slacks, shades("dimension", len(slacks)), strict=True):
    ends = [theory.theorem1_gap(end, d, eps=eps) for end in (0 * d, 2 / np.sqrt(2 * np.pi * d))]
    highest.append(np.max(ends))
    axes[0].fill_between(d, *ends, color=shade, alpha=0.8, lw=0.8, label=f"ε = {eps}")
    axes[1].plot(d, theory.theorem1_delta1(d, eps), color=shade, label=f"$\\delta_1$, ε = {eps}")
    axes[1].plot(d, -theory.theorem1_delta2(d, eps), color=shade, ls="--")
    axes[1].fill_between(d, *ends, color=shade, alpha=0.25, lw=0)
for axis in axes:
    axis.set(xscale="log", xlabel="dimension d")
axes[0].set(
    ylabel="$K_s - (1 - d_G) - ε$", title=f"Never more than {max(highest):.3f} above the limit"
)
shares = (np.where(right > 1e-9, left / np.maximum(right, 1e-9), 0) for left, right, _ in parts)
used = max(share.max() for share in shares)
axes[1].set_title(rf"$\delta_1$ and, dashed, $-\delta_2$: {used:.2f} of them at most are used")
axes[0].legend()
run.figure(fig, "sandwich", caption="The exact deviation over all possible $d_G$.")

# %% [markdown]
# Three remarks on its proof. The first term of $\delta_2$ is not needed: the expectation $I_2$ that
# it bounds on both sides is positive. The lower tail bound of lemma 3 is false at $d = 1$, where the
# sandwich survives because the Cauchy–Schwarz step has room to spare. And in the last display for the
# lower bound a factor $(1 + \varepsilon)$ is missing in one line and back in the next.
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
# projections on its orbit, exact integrals over thresholds; then the radius (`kernel_by_definition`).


# %%
@run.cache
def defined_kernel(elements, X, slacks, n_directions, seed):
    """K_s, shape (slacks, points, points), from directions and their opposites."""
    rng, d = np.random.default_rng([seed, len(elements), X.shape[1]]), X.shape[1]
    u = sphere(n_directions, d, rng)
    return kernel_by_definition(np.einsum("pd,gde,te->tpg", X, elements, u), d, slacks)


def rest(name, d, seed):
    """I_2 of all pairs of seven points, by slack, and what it can ever be."""
    group = groups(d)[name] if name in looks else OrthogonalMatrices([np.eye(d)])
    X = sphere(6, d, np.random.default_rng([seed, d]))
    X = np.r_[X, -X[:1]]
    listed = group.act(group.elements(), np.eye(d)).swapaxes(1, 2)
    K = defined_kernel(listed, X, slacks, n_directions, seed)
    distance = theory.orbit_distance(group.act(group.elements(), X))
    s = 1 + np.array(slacks)[:, None, None]
    return K - s * stats.chi2.cdf(d * s, d) + distance


cases = [("trivial", d) for d in (1, 2, 4, 8, 16, 64)]
cases += [(name, d) for d in (4, 8, 16, 64) for name in looks]
parts, points = [], []
for name, d in cases:
    measured = np.abs(rest(name, d, run.seed + 1)).reshape(len(slacks), -1)
    for eps, values in zip(slacks, measured, strict=True):
        parts.append((values, np.exp(-d * eps**2 / 16) / np.sqrt(d), 1 + eps))
        points.append((name, d * eps**2, np.sqrt(d) * values.max()))
used = max(np.max(left / right) for left, right, _ in parts)

# %%
fig, axis = plt.subplots(figsize=(6.8, 4))
fine = np.geomspace(0.01, 52, 100)
axis.plot(fine, np.exp(-fine / 16), color=colour("bound"), label="bound")
for name, (shade, symbol) in ({"trivial": (colour("raw"), ".")} | looks).items():
    at = np.array([point[1:] for point in points if point[0] == name])
    axis.plot(*at.T, symbol, color=shade, ms=5, label=name)
axis.set(
    xscale="log",
    xlabel=r"$d\,\varepsilon^2$",
    ylabel=r"largest $\sqrt{d}\,|I_2|$ over pairs",
    title=f"What truncation leaves is at most {used:.2f} of its bound",
)
axis.legend(fontsize=8)
run.figure(fig, "truncation", caption=f"{2 * n_directions:,} directions for each case.")
run.claim("mroueh2015/eq15-truncation", trials=parts)

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
# and falls as the first power of the probability of a rejection, which lemma 3 bounds by
# $e^{-d\varepsilon^2/8}$. We fit the measured distance against the exact probability.


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


rng, rates, curves = np.random.default_rng(run.seed + 1), {}, []
for eps in (0.3, 0.6, 0.9):
    d = np.unique(4 * np.round(np.linspace(*limits, 6) / (4 * eps**2)).astype(int))
    values = np.array([distance_to_limit(int(k), eps, limit_templates, rng) for k in d])
    rejected = stats.chi2.sf(d * (1 + eps), d)
    rates[f"K_s, ε = {eps}"] = fit = fit_rate(rejected, values)
    label = f"ε = {eps}, d = {d[0]} to {d[-1]}: slope {fit.slope:.3f}"
    curves.append((label, rejected, values, fit, np.exp(-d * eps**2 / 8)))

# %%
fig, axis = plt.subplots(figsize=(6.8, 4.2))
for (label, rejected, values, fit, bound), shade in zip(
    curves, shades("dimension", 3), strict=True
):
    mean = curve(axis, rejected, values.T, "haar", color=shade, label=label, ls="none")
    axis.plot(rejected, fit.predict(rejected), color=shade)
    axis.plot(bound, mean, ":", color=shade)
slopes = [fit.slope for fit in rates.values()]
axis.set(
    xscale="log",
    yscale="log",
    xlabel="probability of a rejection (dotted: its bound $e^{-dε^2/8}$)",
    ylabel="distance to the limit, $(s - d_G) - K_s$",
    title=f"Slopes {min(slopes):.2f} to {max(slopes):.2f} against the probability of a rejection",
)
axis.legend(fontsize=8)
run.figure(fig, "limit", caption="Simulated, two standard errors; lines: fitted power laws.")
run.claim("mroueh2015/theorem1-limit", rates=rates, expected=dict.fromkeys(rates, 1.0))

# %% [markdown]
# The limit hides that what a learner uses, the differences of $K_s$, is of order $d^{-1/2}$, as $d_G
# \le 2/\sqrt{2\pi d}$, while thresholds are spread over $[-s, s]$. Hence `GroupCDF(s="data")`.
#
# ## Symmetric and positive semi-definite
#
# Theorem 1.3, for all groups, dimensions and slacks:

# %%
asymmetries, negatives, spectra = [], [], {}
for d in dims:
    for name, group in groups(d).items():
        X = sphere(n_gram, d, run.rng)
        for eps in slacks:
            K = Average(CDF(epsilon=eps), group)(X)
            values = np.linalg.eigvalsh(K)
            g, h = group.act(group.sample(2, run.seed), X)
            moved = Average(CDF(epsilon=eps), group)(g, h)
            asymmetries += [np.abs(K - K.T).max(), np.abs(moved - K).max()]
            negatives.append(max(0.0, -values[0]) / values[-1])
        spectra[name] = values[::-1]  # of the last dimension and slack
fig, axis = plt.subplots(figsize=(6, 3.6))
panel(
    axis,
    np.arange(1, n_gram + 1),
    family("group", spectra),
    log="xy",
    xlabel="index",
    ylabel="eigenvalue of the Gram matrix",
    title=f"Smallest eigenvalue {min(map(min, spectra.values())):.1e} (d = {d}, ε = {eps})",
)
run.figure(fig, "spectrum")
run.claim(
    "mroueh2015/theorem1-psd",
    difference=np.r_[asymmetries, negatives],
    tolerance=1e-7,
    note="symmetry, invariance and the share of negative eigenvalues; the tolerance is the "
    "square root of machine precision because K_s takes the square root of squared distances",
)

# %% [markdown]
# ## Section 2: the same sampled elements serve both points
#
# "It is easy to see", says section 2, that $\lim_n E_{t,g} \langle\Phi(x), \Phi(z)\rangle =
# K_s(x, z)$ when $|G|$ elements are drawn. Both feature vectors use the *same* elements, though: of
# the pairs $(g_i, g_{i'})$ a share $1/|G|$ has $i = i'$ and sees the plain distance $|x - z|$:
#
# $$ E\,\langle\Phi(x), \Phi(z)\rangle = \Bigl(1 - \tfrac{1}{|G|}\Bigr) K_s(x, z)
#    + \tfrac{1}{|G|} K_s^{\{e\}}(x, z) $$
#
# (`theory.expected_inner_product`). So the printed equality holds in the limit of many elements. For
# small groups every tuple of elements can be listed, which leaves no sampling error at all:


# %%
def listed_expectation(group, size, X, templates):
    """Mean of <Phi(x), Phi(z)> over all tuples of that many elements, infinitely many bins."""
    s = 1 + 0.6
    orbits = group.act(group.elements(), templates)
    tuples = list(product(range(group.order), repeat=size))
    chosen = (orbits[list(some), j] for some in tuples for j in range(len(templates)))
    total = sum(theory.cdf_products(X @ copies.T, s) for copies in chosen)
    return total / (len(tuples) * len(templates))


rng, printed, mended = np.random.default_rng(run.seed + 1), [], []
for group in (CyclicShifts(3), Permutations(3), turns(4, 2)):
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
# The features themselves show it, for rotations and two opposite points, which lie in one orbit.

# %%
circle, d, eps = turns(turns_in_circle, 4), 4, 0.6
x = sphere(1, d, run.rng)
X = np.r_[x, -x]
K, plain_K = Average(CDF(epsilon=eps), circle)(X)[0, 1], CDF(epsilon=eps)(X)[0, 1]
counts, draws = np.array([1, 2, 4, 8, 16, 32]), np.empty((n_draws, 6))
how = {"n_bins": 200, "epsilon": eps, "rejection": "zero", "s": 1 + eps}
for i, j in np.ndindex(draws.shape):
    size = {"n_transforms": counts[j], "random_state": int(run.rng.integers(2**31))}
    Z = GroupCDF(circle, 200, **how, **size).fit_transform(X)
    draws[i, j] = Z[0] @ Z[1]

# %%
fig, axis = plt.subplots(figsize=(6.2, 3.6))
repaired = theory.expected_inner_product(K, plain_K, n_elements=counts)
mean, error = mean_se(draws)
panel(
    axis,
    counts,
    {
        "with the 1/|G| term": ("exact-kernel", repaired, {"marker": ""}),
        "$K_s$, as section 2 states": ("published", K + 0 * counts, {"ls": "--", "marker": ""}),
        "features": ("cdf", draws, {"ls": "none"}),
    },
    log="x",
    ends=0.5,
    xlabel="sampled group elements |G|",
    ylabel="mean of ⟨Φ(x), Φ(−x)⟩",
    title=f"One element: {abs(mean[0] - K) / error[0]:.0f} standard errors from $K_s$, "
    f"{abs(mean[0] - repaired[0]) / error[0]:.1f} with the 1/|G| term",
)
run.figure(fig, "sampled_group", caption="Bars of two standard errors.")

# %% [markdown]
# ## Try it
#
# `invariance run mroueh2015/theorem1 -p turns_in_circle 6`: with fewer rotations the same few sampled
# elements are a larger share of the group. Or `-p dimensions [4,32]`.
