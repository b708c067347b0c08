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
# transformed random templates. In expectation, its inner product is an invariant kernel, by theorem 1: up to a constant, minus the mean distance between two orbits,
#
# $$ K_s(x, z) \approx s - d_G(x, z), \qquad
#    d_G(x, z) = \frac{1}{\sqrt{2 \pi d}}
#    \int_G \int_G \lVert gx - g'z \rVert \, d\mu(g)\, d\mu(g') . $$
#
# The kernel has a closed form. It agrees with simulations and stays within the theorem's two-sided
# bound for every pair of points of every unitary group, and the distance to the limit falls as stated.
# One printed equality fails: with few sampled elements the features have another expectation. The
# lemmas are in `mroueh2015/lemmas`, remarks 1, 3 and 4 in `mroueh2015/remarks`.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
dimensions: list[int] | None = None  # multiples of 4; None means those of the profile
turns_in_circle: int = 24  # order of the group of rotations

# %%
import matplotlib.pyplot as plt
import numpy as np
from _groups import both_sides, four_groups, kernel_by_definition, sphere, turns
from _theorem1 import distance_to_limit, listed_expectation, mean_products, simulate_kernel
from scipy import stats

from invariance.companion import (
    Run,
    colour,
    curve,
    family,
    fit_rate,
    label_ends,
    mean_se,
    panel,
    shades,
    ticks,
)
from invariance.features import GroupCDF
from invariance.groups import CyclicShifts, OrthogonalMatrices, Permutations, SignFlips
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
if run.quick:
    dims = (4, 16)
    n_points = 8  # of the simulated kernel
    n_templates = 200  # of the simulated kernel
    n_directions = 200  # of the kernel by its definition
    limits = (6, 12)  # least and largest d eps^2 / 4 for the limit of high dimension
    n_limit_templates = 40_000
    n_gram = 40  # points of the Gram matrices
    n_draws = 20  # draws of features
else:
    dims = (4, 8, 16, 64)
    n_points = 12
    n_templates = 2000
    n_directions = 4000
    limits = (8, 20)
    n_limit_templates = 1_000_000
    n_gram = 100
    n_draws = 100
if dimensions:
    dims = tuple(dimensions)

# %% [markdown]
# Four groups, all compact and unitary, as the paper assumes: permutations of four blocks of
# coordinates, cyclic shifts of four blocks, sign flips of the first four coordinates, and rotations
# of every coordinate plane by multiples of 15 degrees.


# %%
def groups(d):
    """Return the four groups on d coordinates, by name."""
    return four_groups(d, turns_in_circle)


slacks = (0.1, 0.3, 0.6, 0.9)
group_shades = dict(zip(groups(4), shades("group", 4), strict=True))
markers = dict(zip(groups(4), "os^D", strict=True))

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
    """Closed form, simulated mean, its standard error and orbit distance, (4, slacks, pairs)."""
    rng = np.random.default_rng([seed, d, *name.encode()])
    X = sphere(n_points, d, rng)
    return simulate_kernel(groups(d)[name], X, slacks, n_templates, rng)


simulated = {}
for d in dims:
    for name in groups(d):
        simulated[name, d] = simulate(name, d, slacks, n_points, n_templates, run.seed)
z_scores = [(mean - exact) / error for exact, mean, error, _ in simulated.values()]
largest_z = np.abs(z_scores).max()

# %% [markdown]
# The figure shows one dimension and one slack: the simulated values of all four groups on the line of
# the closed form.

# %%
d = dims[-1] if len(dims) < 2 else dims[1]
eps = slacks[2]
fig, axis = plt.subplots(figsize=(7.4, 4.4))
for name, shade in group_shades.items():
    _, mean, error, distance = simulated[name, d][:, 2]
    axis.errorbar(
        distance,
        mean,
        2 * error,
        fmt=markers[name],
        color=shade,
        ms=4,
        lw=0.7,
        label=name,
    )
ends = np.array(axis.get_xlim())
closed = 1 - ends + theory.theorem1_deviation(ends, d, eps=eps)
low, high = theory.theorem1_sandwich(d, eps)
axis.fill_between(
    ends,
    1 - ends + low,
    1 - ends + high,
    label="theorem 1's sandwich",
    color=colour("bound"),
    alpha=0.12,
    lw=0,
    zorder=0,
)
axis.plot(ends, closed, color=colour("exact-kernel"), label="closed form")
axis.plot(ends, 1 + eps - ends, color=colour("published"), ls="--", label="limit $s - d_G$")

# %%
axis.set(
    xlabel="mean distance between the orbits, $d_G(x, z)$",
    ylabel="$K_s(x, z)$",
    title=f"d = {d}, ε = {eps}: simulation is within {largest_z:.1f} standard errors of the closed "
    f"form;\nthe sandwich begins {-low:.2f} below $1 - d_G$",
    xlim=ends,
    ylim=(closed.min() - 0.1, 1 + eps - ends[0] + 0.05),
)
axis.legend(loc="lower left", ncols=2)
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
# `low, high = theory.theorem1_sandwich(d, eps)`. The expression in the middle is affine in $d_G \in [0,
# 2/\sqrt{2 \pi d}]$ (`theory.theorem1_deviation`). So the two ends of that interval decide
# for *every* pair of points of every unitary group, and we can scan $(d, \varepsilon)$. Both sides
# are upper bounds, $K_s - (s - d_G) \le \delta_1$ and $(s - d_G) - K_s \le \delta_2$:

# %%
all_d = np.unique(np.r_[1:200, np.geomspace(200, 1e5, 100).astype(int)])[:, None]
all_eps = np.linspace(0.005, 0.995, 199)
sandwich_trials = []
for end in (np.zeros(all_d.shape), 2 / np.sqrt(2 * np.pi * all_d)):
    extreme = theory.theorem1_deviation(end, all_d, eps=all_eps)
    sandwich_trials += both_sides(extreme - all_eps, all_d, all_eps)
for (_, d), (exact, _, _, distance) in simulated.items():
    for eps, K, D in zip(slacks, exact, distance, strict=True):
        sandwich_trials += both_sides(K - (1 - D) - eps, d, eps)

shares_used = []
for gap, slack, _ in sandwich_trials:
    share = np.where(slack > 1e-9, gap / np.maximum(slack, 1e-9), 0)
    shares_used.append(share.max())

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3.9), sharey=True)
d = np.arange(1, 400)
highest = []
for eps, shade in zip(slacks, shades("dimension", len(slacks)), strict=True):
    at_zero = theory.theorem1_gap(0 * d, d, eps=eps)
    at_largest = theory.theorem1_gap(2 / np.sqrt(2 * np.pi * d), d, eps=eps)
    delta1 = theory.theorem1_delta1(d, eps)
    delta2 = theory.theorem1_delta2(d, eps)
    highest.append(max(at_zero.max(), at_largest.max()))
    axes[0].fill_between(d, at_zero, at_largest, color=shade, alpha=0.8, lw=0.8, label=f"ε = {eps}")
    axes[1].plot(d, delta1, color=shade, label=f"$\\delta_1$, ε = {eps}")
    axes[1].plot(d, -delta2, color=shade, ls="--")
    axes[1].fill_between(d, at_zero, at_largest, color=shade, alpha=0.25, lw=0)
for axis in axes:
    axis.set(xscale="log", xlabel="dimension d")
axes[0].set(
    ylabel="$K_s - (1 - d_G) - ε$",
    title=f"The kernel is never more than {max(highest):.3f} above the limit",
)
axes[1].set_title(
    f"The deviation uses at most {max(shares_used):.2f} of either slack\n"
    r"(solid $\delta_1$, dashed $-\delta_2$)"
)
axes[0].legend()
run.figure(fig, "sandwich", caption="The exact deviation over all possible $d_G$.")

# %% tags=["claims"]
run.claim(
    "mroueh2015/theorem1-sandwich",
    trials=sandwich_trials,
    note="both sides, for every pair of four groups with d_G by its definition, and for the two "
    f"ends of the range of d_G at {len(all_d)} dimensions up to {all_d[-1, 0]:,}, where K_s is known exactly",
)

# %% [markdown]
# Three remarks on its proof. The first term of $\delta_2$ is not needed: the expectation $I_2$ that
# it bounds on both sides is positive. The lower tail bound of lemma 3 is false at $d = 1$; there the
# sandwich survives because the Cauchy–Schwarz step has room to spare. And in the last display for the
# lower bound a factor $(1 + \varepsilon)$ is missing in one line and back in the next.
#
# ## Equations (8) to (15): the origin of the slacks
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
    d = X.shape[1]
    rng = np.random.default_rng([seed, len(elements), d])
    directions = sphere(n_directions, d, rng)
    projections = np.einsum("pd,gde,te->tpg", X, elements, directions)
    return kernel_by_definition(projections, d, slacks)


# %%
def remainder(name, d, seed):
    """Return I_2 of all pairs of seven points, shape (slacks, points, points)."""
    if name == "trivial":
        group = OrthogonalMatrices([np.eye(d)])
    else:
        group = groups(d)[name]
    X = sphere(6, d, np.random.default_rng([seed, d]))
    X = np.r_[X, -X[:1]]
    matrices = group.act(group.elements(), np.eye(d)).swapaxes(1, 2)
    K = defined_kernel(matrices, X, slacks, n_directions, seed)
    distance = theory.orbit_distance(group.act(group.elements(), X))
    s = 1 + np.array(slacks)[:, None, None]
    return K - s * stats.chi2.cdf(d * s, d) + distance


# %% [markdown]
# The trivial group is included, in low dimensions too, because its remainder is largest.

# %%
cases = [("trivial", d) for d in (1, 2, 4, 8, 16, 64)]
cases += [(name, d) for d in (4, 8, 16, 64) for name in group_shades]
truncation_trials = []
largest_remainders = {name: [] for name in ["trivial", *group_shades]}
for name, d in cases:
    measured = np.abs(remainder(name, d, run.seed + 1)).reshape(len(slacks), -1)
    for eps, values in zip(slacks, measured, strict=True):
        bound = np.exp(-d * eps**2 / 16) / np.sqrt(d)
        truncation_trials.append((values, bound, 1 + eps))
        largest_remainders[name].append((d * eps**2, np.sqrt(d) * values.max()))
used = max(np.max(values / bound) for values, bound, _ in truncation_trials)

# %%
fig, axis = plt.subplots(figsize=(6.8, 4))
fine = np.geomspace(0.01, 52, 100)
axis.plot(fine, np.exp(-fine / 16), color=colour("bound"), label="bound")
truncation_shades = {"trivial": colour("raw")} | group_shades
for name, shade in truncation_shades.items():
    x, y = np.transpose(largest_remainders[name])
    axis.plot(x, y, markers.get(name, "."), color=shade, ms=5, label=name)
axis.set(
    xscale="log",
    xlabel=r"$d\,\varepsilon^2$",
    ylabel=r"largest $\sqrt{d}\,|I_2|$ over pairs",
    title=f"The remainder of truncation is at most {used:.2f} of its bound",
)
axis.legend()
run.figure(fig, "truncation", caption=f"{2 * n_directions:,} directions for each case.")

# %% tags=["claims"]
run.claim("mroueh2015/eq15-truncation", trials=truncation_trials)

# %% [markdown]
# ## The limit of high dimension
#
# Theorem 1.2: as d grows, $\delta_1, \delta_2 \to 0$ and $K_s \to s - d_G$. How fast? Templates
# inside the ball contribute equally to $K_s$ and to $s - d_G$ (lemma 2), so the distance
# is the missing contribution of the *rejected* templates,
#
# $$ (s - d_G) - K_s = E\bigl[1(\lVert t \rVert^2 \ge 1 + \varepsilon)\,
#    (s - \text{mean}_{g, g'} \max(\langle x, gt \rangle, \langle z, g't \rangle))\bigr] , $$
#
# and falls as the first power of the probability of a rejection, which lemma 3 bounds by
# $e^{-d\varepsilon^2/8}$. We fit the measured distance against the exact probability.

# %%
rng = np.random.default_rng(run.seed + 1)
limit_curves = {}
for eps in (0.3, 0.6, 0.9):
    quarters = np.round(np.linspace(*limits, 6) / (4 * eps**2))
    d = np.unique(4 * quarters.astype(int))
    values = []
    for k in d.tolist():
        shifts = groups(k)["cyclic shifts"]
        values.append(distance_to_limit(shifts, k, eps, n_limit_templates, rng))
    rejected = stats.chi2.sf(d * (1 + eps), d)
    limit_curves[eps] = {
        "d": d,
        "values": np.array(values),
        "rejected": rejected,
        "fit": fit_rate(rejected, np.array(values).T),
        "bound": np.exp(-d * eps**2 / 8),
    }

# %%
fig, axis = plt.subplots(figsize=(6.8, 4.2))
for (eps, line), shade in zip(limit_curves.items(), shades("dimension", 3), strict=True):
    d = line["d"]
    fit = line["fit"]
    rejected = line["rejected"]
    label = f"ε = {eps}, d = {d[0]} to {d[-1]}: slope {fit.slope:.3f}"
    mean = curve(axis, rejected, line["values"].T, "haar", color=shade, label=label, ls="none")
    axis.plot(rejected, fit.predict(rejected), color=shade)
    axis.plot(line["bound"], mean, ":", color=shade)
slopes = [line["fit"].slope for line in limit_curves.values()]
axis.set(
    xscale="log",
    yscale="log",
    xlabel="probability of a rejection (dotted: its bound $e^{-dε^2/8}$)",
    ylabel="distance to the limit, $(s - d_G) - K_s$",
    title=f"The distance falls as the power {min(slopes):.2f} to {max(slopes):.2f} of that probability",
)
axis.legend()
run.figure(fig, "limit", caption="Simulated, two standard errors; lines: fitted power laws.")

# %% tags=["claims"]
rates = {f"K_s, ε = {eps}": line["fit"] for eps, line in limit_curves.items()}
run.claim("mroueh2015/theorem1-limit", rates=rates, expected=dict.fromkeys(rates, 1.0))

# %% [markdown]
# The limit hides that a learner uses the differences of $K_s$, which are of order $d^{-1/2}$, as $d_G
# \le 2/\sqrt{2\pi d}$, while thresholds are spread over $[-s, s]$. Hence `GroupCDF(s="data")`.
#
# ## Symmetric and positive semi-definite
#
# Theorem 1.3, for all groups, dimensions and slacks:

# %%
asymmetries = []
negative_shares = []
spectra = {}
for d in dims:
    for name, group in groups(d).items():
        X = sphere(n_gram, d, run.rng)
        for eps in slacks:
            kernel = Average(CDF(epsilon=eps), group)
            K = kernel(X)
            eigenvalues = np.linalg.eigvalsh(K)
            gX, hX = group.act(group.sample(2, run.seed), X)
            asymmetries.append(np.abs(K - K.T).max())
            asymmetries.append(np.abs(kernel(gX, hX) - K).max())
            negative_shares.append(max(0.0, -eigenvalues[0]) / eigenvalues[-1])
        spectra[name] = eigenvalues[::-1]  # of the last dimension and slack

# %%
smallest = min(eigenvalues.min() for eigenvalues in spectra.values())
fig, axis = plt.subplots(figsize=(6.4, 3.8))
others = {name: eigenvalues[1:] for name, eigenvalues in spectra.items()}
panel(
    axis,
    np.arange(2, n_gram + 1),
    family("group", others),
    log="y",
    ends=None,
    xlabel="index of the eigenvalue",
    ylabel="eigenvalue of the Gram matrix",
    title=f"The smallest eigenvalue, {smallest:.1e}, is positive (d = {d}, ε = {eps})",
)
for line in axis.get_lines():
    line.set_markersize(2.5)
ticks(axis, [2, *range(20, n_gram + 1, 20)])
label_ends(axis, room=0.3)
largest = [eigenvalues[0] for eigenvalues in spectra.values()]
run.figure(
    fig,
    "spectrum",
    caption=f"Without the first eigenvalue of each matrix, {np.mean(largest):.0f}.",
)

# %% tags=["claims"]
run.claim(
    "mroueh2015/theorem1-psd",
    difference=np.r_[asymmetries, negative_shares],
    tolerance=1e-7,
    note="symmetry, invariance and the share of negative eigenvalues; the tolerance is the "
    "square root of machine precision because K_s takes the square root of squared distances",
)

# %% [markdown]
# ## Section 2: the same sampled elements serve both points
#
# Section 2 finds it "easy to see" that $\lim_n E_{t,g} \langle\Phi(x), \Phi(z)\rangle =
# K_s(x, z)$ when $|G|$ elements are drawn. Both feature vectors use the *same* elements, though: of
# the pairs $(g_i, g_{i'})$ a share $1/|G|$ has $i = i'$ and sees the plain distance $|x - z|$:
#
# $$ E\,\langle\Phi(x), \Phi(z)\rangle = \Bigl(1 - \tfrac{1}{|G|}\Bigr) K_s(x, z)
#    + \tfrac{1}{|G|} K_s^{\{e\}}(x, z) $$
#
# (`theory.expected_inner_product`). So the printed equality holds in the limit of many elements. For
# small groups every tuple of elements can be listed, which leaves no sampling error at all:

# %%
eps = 0.6
s = 1 + eps
rng = np.random.default_rng(run.seed + 1)
printed = []
corrected = []
for group in (CyclicShifts(3), Permutations(3), turns(4, 2)):
    d = group.shape[0] if group.shape else 3
    X = sphere(5, d, rng)
    templates = rng.standard_normal((20, d)) / np.sqrt(d)
    templates = templates[np.square(templates).sum(axis=1) < s]
    orbits = group.act(group.elements(), templates)
    K = mean_products(X, orbits.swapaxes(0, 1), s)
    plain_K = mean_products(X, orbits.reshape(-1, 1, d), s)
    for n_elements in (1, 2, 3):
        expectation = listed_expectation(group, n_elements, X, templates, s)
        formula = theory.expected_inner_product(K, plain_K, n_elements=n_elements)
        printed.append(np.abs(expectation - K).ravel())
        corrected.append(np.abs(expectation - formula).ravel())
run.say(
    "As printed, the two sides differ by up to {printed:.3f}; with the 1/|G| term by {mended:.0e}.",
    printed=np.max(printed),
    mended=np.max(corrected),
)

# %% [markdown]
# **By hand.** Two signs act on a line, $x = z = 1$, $t = 1$ and $s = 2$. The four pairs of signs have
# the maxima 1, 1, 1 and $-1$, so $K_s = s - \tfrac12$. One sampled sign meets itself: its maximum is 1 or
# $-1$, and the mean is $s$.

# %%
signs = SignFlips(1)
unit = np.ones((1, 1))
copies = signs.act(signs.elements(), unit)
K = mean_products(unit, copies.swapaxes(0, 1), s=2.0)
plain_K = mean_products(unit, copies, s=2.0)
by_definition = listed_expectation(signs, 1, unit, unit, s=2.0)
by_formula = theory.expected_inner_product(K, plain_K, n_elements=1)
counterexample = {
    "printed": K.item(),
    "exact": by_definition.item(),
    "repaired": by_formula.item(),
    "comparisons": np.size(printed),
    "printed_fails": int(np.sum(np.array(printed) > 1e-10)),
    "repaired_fails": int(np.sum(np.array(corrected) > 1e-10)),
}
run.table([counterexample], "counterexample")

# %% [markdown]
# The features themselves show it, for rotations and two opposite points, which lie in one orbit.

# %%
circle = turns(turns_in_circle, 4)
x = sphere(1, 4, run.rng)
X = np.r_[x, -x]
K = Average(CDF(epsilon=eps), circle)(X)[0, 1]
plain_K = CDF(epsilon=eps)(X)[0, 1]
counts = np.array([1, 2, 4, 8, 16, 32])  # of sampled elements
draws = np.empty((n_draws, len(counts)))
for i, j in np.ndindex(draws.shape):
    features = GroupCDF(
        circle,
        200,
        n_bins=200,
        n_transforms=counts[j],
        epsilon=eps,
        rejection="zero",
        s=s,
        random_state=int(run.rng.integers(2**31)),
    )
    Z = features.fit_transform(X)
    draws[i, j] = Z[0] @ Z[1]

# %%
fig, axis = plt.subplots(figsize=(6.2, 3.6))
formula = theory.expected_inner_product(K, plain_K, n_elements=counts)
mean, error = mean_se(draws)
z_printed = abs(mean[0] - K) / error[0]
z_corrected = abs(mean[0] - formula[0]) / error[0]
panel(
    axis,
    counts,
    {
        "with the 1/|G| term": ("exact-kernel", formula, {"marker": ""}),
        "$K_s$, as section 2 states": ("published", K + 0 * counts, {"ls": "--", "marker": ""}),
        "features": ("cdf", draws, {"ls": "none"}),
    },
    log="x",
    ends=0.5,
    xlabel="sampled group elements |G|",
    ylabel="mean of ⟨Φ(x), Φ(−x)⟩",
    title=f"One element is {z_printed:.0f} standard errors from $K_s$, "
    f"{z_corrected:.1f} with the 1/|G| term",
)
run.figure(fig, "sampled_group", caption="Bars of two standard errors.")

# %% tags=["claims"]
run.claim(
    "mroueh2015/section2-expectation",
    difference=np.concatenate(printed),
    tolerance=1e-10,
    note="The sampled elements serve x and z alike, so that a share 1/|G| of all pairs meets "
    "itself and sees the plain kernel.",
)

# %% [markdown]
# ## Try it
#
# `invariance run mroueh2015/theorem1 -p turns_in_circle 6`: with fewer rotations the same few sampled
# elements are a larger share of the group. Or `-p dimensions [4,32]`.
