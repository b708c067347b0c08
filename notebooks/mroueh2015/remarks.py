# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Remarks 1, 3 and 4: other templates, other points, part of a group
#
# *Mroueh, Voinea and Poggio (2015).*
#
# Theorem 1 is stated for Gaussian templates, points of norm one and a whole group. The remarks
# drop each of these assumptions. Remark 1 holds with *better* constants. Remark 3.2, on a part of a
# group, holds with other distances than it prints. Remarks 3.3 and 4 hold as printed.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
norms: list[float] = [0.5, 2.0, 10.0]  # largest norms of points, remark 3.3

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _groups import both_sides, four_groups, kernel_by_definition, sphere, turns
from _remarks import (
    Subset,
    direction_grid,
    error_of_elements,
    error_of_templates,
    excess_of_bins,
    kernel_of_templates,
    subset_distances,
    subsets,
)

from invariance import groups
from invariance.companion import Run, colour, family, mean_se, panel, rows
from invariance.features import GroupCDF
from invariance.groups import CyclicShifts, Permutations, SignFlips
from invariance.kernels import CDF, Average
from invariance.theory import mroueh2015 as theory

run = Run("mroueh2015/remarks", profile=profile, seed=seed, norms=norms)

# %% tags=["settings"]
if run.quick:
    dimensions = (4, 16)  # of remark 3.3
    local_dimensions = (8, 32)  # of remark 3.2
    n_nodes = 40  # heights of the grid of directions
    n_draws = 40  # of templates, elements and bins on the sphere
    n_directions = 200  # for the kernel of a subset
    n_maps = 10  # draws of the feature map of a subset
else:
    dimensions = (4, 8, 16, 64)
    local_dimensions = (8, 16, 32, 64, 128)
    n_nodes = 100
    n_draws = 400
    n_directions = 4000
    n_maps = 40

# %% [markdown]
# ## Remark 1: templates on the sphere
#
# The remark promises theorem 1 "with different constants" and does not give them. We derive them:
#
# **Theorem 1.** A Gaussian vector is a direction u times an independent length, of mean $1 / c_d$
# with $c_d = \sqrt{d/2}\; \Gamma(d/2) / \Gamma((d+1)/2)$. By lemma 2, then, a pair of elements has
# $E \max(\langle g^{-1}x, u \rangle, \langle g'^{-1}z, u \rangle) = c_d\, |g^{-1}x - g'^{-1}z|
# / \sqrt{2 \pi d}$. Projections lie in $[-1, 1]$, so $s = 1$ and nothing is rejected: exactly,
#
# $$ K_s - (s - d_G) = -(c_d - 1)\, d_G . $$
#
# By Wendel's inequality $c_d \le \sqrt{1 + 1/d} \le 1 + 1/(2d)$, and $d_G \le 2 / \sqrt{2 \pi d}$.
# Hence theorem 1 with $\delta_1 = 0$ and $\delta_2 = 1 / (d \sqrt{2 \pi d})$ (`theory.sphere_slack`).
#
# **Theorem 2.** A template's term lies in $[0, 2s] = [0, 2]$. Hoeffding's inequality, $2
# e^{-m t^2 / 2}$ for each of $N^2$ pairs, gives $t = \sqrt{2 \log(2 N^2 / \delta) / m}$. Bins and
# elements never saw the law of the templates: $1/n$ and $\sqrt{18 \log(4 m N^2 / \delta) / |G|}$,
# as in the proof at $s = 1$ (`theory.theorem2_errors`).
#
# The left side of theorem 1 is measured by the definition: an integral over a grid of directions
# in two and three dimensions, of products of distribution functions (`theory.cdf_products`).

# %%
planar = {
    "identity": groups.OrthogonalMatrices([np.eye(2)]),
    "sign flips": SignFlips(2),
    "turns by 60°": turns(6, 2),
}
spatial = {"permutations": Permutations(3), "cyclic shifts": CyclicShifts(3)}
rng = np.random.default_rng(run.seed + 1)
sphere_trials = []
table_rows = []
for d, named_groups in ((2, planar), (3, spatial)):
    n_grid = 20 * n_nodes if d == 2 else n_nodes
    templates, weights = direction_grid(d, n_grid)
    X = sphere(6, d, rng)
    pairs = np.triu_indices(len(X))
    slack = theory.sphere_slack(d)
    for name, group in named_groups.items():
        D = theory.orbit_distance(group.act(group.elements(), X))[pairs]
        K = kernel_of_templates(group, X, templates, weights)[pairs]
        gap = 1 - D - K
        sphere_trials.append((gap, slack, 1.0))
        sphere_trials.append((-gap, 1e-9, 1.0))
        row = {"d": d, "group": name, "largest (s - d_G) - K_s": gap.max()}
        row["bound"] = float(slack)
        row["delta2 of Gaussian templates"] = float(theory.theorem1_delta2(d, 0.5))
        table_rows.append(row)
table = pd.DataFrame(table_rows).round(4)
run.table(table, "sphere", caption="Theorem 1 for templates on the sphere.")

# %% [markdown]
# For theorem 2 we take few dimensions and small groups, in which the terms use their range. Each of the
# three errors is measured alone, and its quantile at $1 - \delta$ is compared with the derived bound. Bins can only
# add: their excess lies between zero and $1/n$.

# %%
delta = 0.05


def error_quantile(draw_error):
    """Quantile of drawn errors that a share delta of the draws exceeds."""
    errors = [draw_error() for _ in range(n_draws)]
    return np.quantile(errors, 1 - delta)


# %%
def derived_bounds(n_templates, n_elements, n_points):
    """Errors of bins, templates and elements that theorem 2 allows at s = 1."""
    return theory.theorem2_errors(
        np.inf,
        n_templates,
        n_elements=n_elements,
        n_points=n_points,
        delta=delta,
        s=1.0,
    )


# %%
def trials_of_templates(group, X, K):
    """Trials for 16 and 64 templates."""
    trials = []
    for m in (16, 64):
        _, bound, _ = derived_bounds(m, np.inf, len(X))
        measured = error_quantile(lambda m=m: error_of_templates(group, X, K, m, rng))
        trials.append((measured, bound, 2.0))
    return trials


# %%
def trials_of_elements(group, X):
    """Trials for 64 and 256 sampled elements with eight templates."""
    trials = []
    for n_elements in (64, 256):
        _, _, bound = derived_bounds(8, n_elements, len(X))
        measured = error_quantile(lambda n=n_elements: error_of_elements(group, X, n, 8, rng))
        trials.append((measured, bound, 2.0))
    return trials


# %%
def trials_of_bins(group, X):
    """Trials for 5 and 20 bins with eight templates."""
    trials = []
    for n_bins in (5, 20):
        draws = [excess_of_bins(group, X, n_bins, 8, rng) for _ in range(n_draws)]
        excess = np.ravel(draws)
        trials.append((excess, 1 / n_bins, 2.0))
        trials.append((-excess, 1e-9, 2.0))
    return trials


# %%
CASES = [
    {"group": planar["identity"], "d": 2, "points": 1},
    {"group": planar["identity"], "d": 2, "points": 4},
    {"group": planar["sign flips"], "d": 2, "points": 4},
    {"group": spatial["cyclic shifts"], "d": 3, "points": 4},
]
for case in CASES:
    group = case["group"]
    d = case["d"]
    X = sphere(case["points"], d, rng)
    D = theory.orbit_distance(group.act(group.elements(), X))
    K = 1 - D + theory.sphere_gap(D, d)
    sphere_trials += trials_of_templates(group, X, K)
    if group.order > 1:
        sphere_trials += trials_of_elements(group, X)
        sphere_trials += trials_of_bins(group, X)

# %% tags=["claims"]
run.claim("mroueh2015/remark1-sphere", trials=sphere_trials)

# %% [markdown]
# ## Remark 4: templates of any distribution
#
# For unit templates with any density the expected kernel is
#
# $$ K_s(x, z) = \int_G \int_G \Bigl( \int s - \max(\langle x, gt \rangle, \langle z, g't \rangle)\,
#    p(t)\, dt \Bigr) d\mu(g)\, d\mu(g') $$
#
# (`theory.remark4_kernel`). The left side is again computed by the definition. Three densities: a von Mises density
# on directions of the plane, points of a data set with unequal weights, and one-hot vectors.

# %%
angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
von_mises = np.exp(2 * np.cos(angle - 1))
DENSITIES = [
    {
        "groups": planar,
        "templates": np.stack([np.cos(angle), np.sin(angle)], axis=1),
        "weights": von_mises / von_mises.sum(),
    },
    {
        "groups": four_groups(8),
        "templates": sphere(20, 8, run.rng),
        "weights": run.rng.dirichlet(np.ones(20)),
    },
    {
        "groups": four_groups(8),
        "templates": np.eye(8),
        "weights": run.rng.dirichlet(np.ones(8)),
    },
]

# %%
differences = []
for density in DENSITIES:
    templates = density["templates"]
    weights = density["weights"]
    for group in density["groups"].values():
        X = sphere(5, templates.shape[1], run.rng)
        orbits = group.act(group.elements(), templates)
        projections = np.einsum("nd,gtd->tng", X, orbits)
        printed_kernel = theory.remark4_kernel(projections, weights, s=1.0)
        defined_kernel = kernel_of_templates(group, X, templates, weights)
        differences.append(np.abs(printed_kernel - defined_kernel).max())

# %% tags=["claims"]
run.claim("mroueh2015/remark4-general-templates", difference=differences, tolerance=1e-10)

# %% [markdown]
# ## Remark 3.2: local invariance
#
# Restrict $g$ to a subset $\mathcal G$ with a probability measure and the orbit distance becomes a
# local one. A small class, `Subset`, makes such a set out of chosen elements of a group, and `subsets`
# lists six of them.
#
# The remark prints the form
#
# $$ K_s(x, z) \approx s - \frac{1}{\sqrt{2 \pi d}} \int_{\mathcal G} \int_{\mathcal G}
#    \lVert gx - g'z \rVert \, d\mu(g)\, d\mu(g') . $$
#
# Transformed *templates* give something else: $\langle gt, x \rangle = \langle t, g^{-1}x
# \rangle$, so the proof has $\lVert g^{-1}x - g'^{-1}z \rVert$ up to equation (11) and only then
# replaces inverses by elements, "using that the group is compact and unitary". For a group, or a
# subset closed under inverses, that is a change of variables. For other subsets it is a step that
# fails, unless the elements commute: then $\lVert gx - g'z \rVert = \lVert g'^{-1}x - g^{-1}z
# \rVert$, and the mean over all pairs is the same again. A swap and a three-cycle do not commute.
#
# The kernel is measured by its definition, from projections on transformed directions.


# %%
@run.cache
def local_kernel(subset, X, slacks, n_directions, seed):
    """K_s of a subset by its definition, shape (slacks, points, points)."""
    d = X.shape[1]
    rng = np.random.default_rng([seed, d, subset.order])
    directions = sphere(n_directions, d, rng)
    orbits = subset.act(subset.elements(), directions)
    projections = [X @ orbits[:, j].T for j in range(n_directions)]
    return kernel_by_definition(projections, d, slacks)


# %% [markdown]
# For each subset and both distances we record the inequalities of theorem 1, and the largest ratio of
# the distance from the limit to the slack. Two of the points have equal blocks: on those a swap and a
# three-cycle differ most.

# %%
local_slacks = (0.1, 0.3, 0.6)
rng = np.random.default_rng(run.seed + 1)
local_trials = {"printed": [], "inverses": []}
largest_ratios = {"printed": {}, "inverses": {}}
for d in local_dimensions:
    equal_blocks = np.kron([[-2, 1, 1, 0], [1, 1, -2, 0]], np.ones(d // 4)) / np.sqrt(6 * d / 4)
    X = np.r_[sphere(8, d, rng), equal_blocks]
    for name, subset in subsets(d).items():
        kernels = local_kernel(subset, X, local_slacks, n_directions, run.seed + 1)
        for form, D in subset_distances(subset, X).items():
            for eps, K in zip(local_slacks, kernels, strict=True):
                trials = both_sides(K - (1 + eps - D), d, eps, 1.0)
                local_trials[form] += trials
                ratio = max(np.max(gap / slack) for gap, slack, _ in trials)
                largest_ratios[form][name] = max(ratio, largest_ratios[form].get(name, 0))

# %%
fig, axis = plt.subplots(figsize=(7.2, 3.6))
for form, method in (("printed", "raw"), ("inverses", "haar")):
    without_errors = {name: (ratio, 0) for name, ratio in largest_ratios[form].items()}
    rows(axis, without_errors, [method] * len(without_errors))
axis.axvline(1, color=colour("bound"), ls="--")
axis.set(
    xscale="log",
    xlabel="largest distance from the limit / slack of theorem 1",
    title="The printed distance (circles) takes up to "
    f"{max(largest_ratios['printed'].values()):.1f} times the slack,\n"
    f"that over inverses (diamonds) {max(largest_ratios['inverses'].values()):.2f}",
)
axis.set_xticks([0.2, 0.5, 1, 2, 5, 10], ["0.2", "0.5", "1", "2", "5", "10"])
axis.minorticks_off()
run.figure(fig, "local-distances", caption="Beyond the dashed line theorem 1's slack is exceeded.")

# %% tags=["claims"]
run.claim(
    "mroueh2015/remark3-local",
    trials=local_trials["printed"],
    note="Transformed templates give the distance over inverses (equation 11). If the subset is closed "
    "under inverses or its elements commute, that is the printed one; in general it is another.",
)
run.claim("mroueh2015/remark3-local-inverse", trials=local_trials["inverses"])

# %% [markdown]
# **By hand.** Take $x = (-2, 1, 1)/\sqrt 6$, the swap of the first two coordinates and a three-cycle.
# The printed distances are $|gx - gx| = 0$, twice, and $|gx - g'x| = \sqrt{18/6}$, twice: their mean
# is $\sqrt 3/2$. The inverses take x to the same point $(1, -2, 1)/\sqrt 6$, so that every
# template has $\langle gt, x \rangle = \langle g't, x \rangle$, and the distance is zero.

# %%
swap_and_cycle = Subset(Permutations(3), [[2, 1, 3], [2, 3, 1]])
x = np.array([[-2.0, 1.0, 1.0]]) / np.sqrt(6)
directions = sphere(n_directions, 3, np.random.default_rng(run.seed + 2))
on_templates = swap_and_cycle.act(swap_and_cycle.elements(), directions) @ x[0]
distances = subset_distances(swap_and_cycle, x)
to_mean_distance = np.sqrt(2 * np.pi * 3)


def n_violations(trials):
    """Number of comparisons in which the left side exceeds the right one."""
    return int(sum(np.sum(gap > slack) for gap, slack, _ in trials))


counterexample = {
    "printed": to_mean_distance * distances["printed"].item(),
    "exact": np.abs(on_templates[0] - on_templates[1]).max(),
    "repaired": to_mean_distance * distances["inverses"].item(),
    "comparisons": sum(np.size(gap) for gap, _, _ in local_trials["printed"]),
    "printed_fails": n_violations(local_trials["printed"]),
    "repaired_fails": n_violations(local_trials["inverses"]),
}
run.table([counterexample], "counterexample")

# %% [markdown]
# ### The feature map of a subset, and the kernel along an orbit
#
# The same distances appear with the feature map itself, on a swap and a three-cycle of three coordinates:

# %%
permutations = Permutations(3)
uneven = Subset(permutations, [[2, 1, 3], [2, 3, 1]])
mirrored = Subset(permutations, permutations.inverse(uneven.elements()))
x = np.array([[-2.0, 1.0, 1.0]]) / np.sqrt(6)
estimates = []
for _ in range(n_maps):
    features = GroupCDF(
        uneven,
        4000,
        n_bins=50,
        epsilon=0.9,
        rejection="zero",
        s=1.9,
        random_state=int(run.rng.integers(2**31)),
    )
    Z = features.fit_transform(x)
    estimates.append(Z[0] @ Z[0])
mean, error = mean_se(estimates)
run.say(
    "K_s(x, x): features {mean:.4f} ± {error:.4f}, integral of |gx - g'z| {printed:.4f}, of "
    "|g⁻¹x - g'⁻¹z| {inverted:.4f}.",
    mean=mean,
    error=error,
    printed=Average(CDF(epsilon=0.9), uneven)(x)[0, 0],
    inverted=Average(CDF(epsilon=0.9), mirrored)(x)[0, 0],
)

# %% [markdown]
# Local invariance is best seen along one orbit. Turn a point by $\theta$ and compare:

# %%
d = 16
circle = turns(72, d)
elements = circle.elements()
angle = np.degrees(np.arctan2(elements[:, 1, 0], elements[:, 0, 0]))
order = np.argsort(angle)
x = sphere(1, d, run.rng)
orbit = circle.act(elements, x)[:, 0]
curves = {}
for width in (0, 30, 90):
    window = Subset(circle, elements[np.abs(angle) <= width + 1e-9])
    curves[f"within ±{width}°"] = Average(CDF(epsilon=0.3), window)(x, orbit)[0, order]
curves["whole group"] = Average(CDF(epsilon=0.3), circle)(x, orbit)[0, order]

# %%
fig, axis = plt.subplots(figsize=(6.4, 3.8))
falls = ", ".join(f"{np.ptp(values):.3f}" for values in curves.values())
without_markers = {}
for label, (method, values, style) in family("local", curves).items():
    without_markers[label] = (method, values, style | {"marker": ""})
panel(
    axis,
    angle[order],
    without_markers,
    xlabel="rotation of z = g x (degrees)",
    ylabel="$K_s(x, gx)$",
    title=f"Wider windows reduce how much the kernel varies along the orbit: {falls}",
)
axis.set_xticks(np.arange(-180, 181, 60), np.arange(-180, 181, 60))
run.figure(fig, "local", caption="Averages over wider and wider windows of rotations.")

# %% [markdown]
# ## Remark 3.3: points of any norm
#
# With $|x| \le R$ and $s = R(1 + \varepsilon)$ equation (4) scales both slacks by $R$.

# %%
slacks = (0.1, 0.3, 0.6, 0.9)
norm_trials = []
for R in norms:
    for d in dimensions:
        for group in four_groups(d).values():
            directions = sphere(10, d, run.rng)
            lengths = R * np.r_[1.0, run.rng.uniform(0, 1, 9)]
            X = directions * lengths[:, None]
            D = theory.orbit_distance(group.act(group.elements(), X))
            for eps in slacks:
                K = Average(CDF(epsilon=eps, radius=R), group)(X)
                norm_trials += both_sides(K - (R * (1 + eps) - D), d, eps, R)

# %% tags=["claims"]
run.claim("mroueh2015/remark3-norm", trials=norm_trials)

# %% [markdown]
# ## Try it
#
# `invariance run mroueh2015/remarks -p norms [0.1,100]`. Or add a subset to `subsets` in `_remarks.py`.
