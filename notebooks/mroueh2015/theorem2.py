# ---
# jupyter:
#   invariance:
#     alone: true
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem 2: how many templates, bins and group elements?
#
# *Mroueh, Voinea and Poggio (2015), theorem 2, corollary 1 and remark 2.*
#
# Theorem 2 says how fast one draw of theorem 1's features gets to the kernel, on all N points: with
#
# $$ n \ge \frac{1}{\varepsilon_0}, \qquad
#    m \ge \frac{C_1}{\varepsilon_1^2} \log\frac{N}{\delta_1}, \qquad
#    |G| \ge \frac{C_2}{\varepsilon_2^2} \log\frac{Nm}{\delta_2} $$
#
# bins, templates and group elements, $|\langle\Phi(x_i), \Phi(x_j)\rangle - K_s(x_i, x_j)| \le
# \varepsilon_0 + \varepsilon_1 + \varepsilon_2$ for all pairs, with probability $1 - \delta_1 -
# \delta_2$. We measure the three errors **alone**, then all together; then we ask what $C_1$ and $C_2$
# are, on paper and in practice, and what remark 2's stored templates save.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1
dimension: int = 8  # of the points: 8, 12, 16, ...
epsilon: float = 0.2  # slack of the range of thresholds

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _groups import sphere, turns

from invariance import groups
from invariance.companion import Run, family, fit_rate, panel
from invariance.features import GroupCDF, draw_templates
from invariance.groups import CyclicShifts, Permutations
from invariance.kernels import CDF, Average
from invariance.theory import mroueh2015 as theory

run = Run("mroueh2015/theorem2", profile=profile, seed=seed, dimension=dimension, epsilon=epsilon)

# %% [markdown]
# ## Points, groups, slack
#
# Unit vectors in $\mathbb R^8$ under four groups, with $\varepsilon = 0.2$, so that $s = 1.2$.
# Rejected templates count zero.

# %% tags=["settings"]
quick = run.quick
N = 10 if quick else 20  # points
bins = np.array([4, 16, 64, 256] if quick else [2, 4, 8, 16, 32, 64, 128, 256, 512])
n_binned, bin_draws = (40, 3) if quick else (100, 10)  # templates, draws of them
sizes = np.array([16, 64, 256] if quick else [16, 32, 64, 128, 256, 512, 1024])  # templates
group_sizes = np.array([8, 32, 128] if quick else [32, 64, 128, 256, 512, 1024])  # elements
n_fixed, repetitions = (10, 6) if quick else (20, 40)  # templates beside them, draws
template_draws = 6 if quick else 60  # of the rate of templates alone
scales = np.array([4, 8, 16] if quick else [4, 6, 8, 12, 16, 24, 32])
joint_draws = 4 if quick else 6
trials, budgets = (5, [0.2]) if quick else (30, [0.2, 0.1])

# %%
d, eps, delta = dimension, epsilon, 0.05
s = 1 + eps
GROUPS = {
    "permutations": Permutations(4, block=d // 4),
    "cyclic shifts": CyclicShifts(d),
    "sign flips": groups.DirectProduct([groups.SignFlips(6), CyclicShifts(1, block=d - 6)]),
    "rotations": turns(60, d),
}
X = sphere(N, d, run.rng)
kernels = {name: Average(CDF(epsilon=eps), group)(X) for name, group in GROUPS.items()}
pd.DataFrame({name: {"smallest K_s": K.min(), "largest": K.max()} for name, K in kernels.items()})

# %% [markdown]
# All of $K_s$ lies in a short interval.
#
# ## Bins alone
#
# Whole group, the same templates on both sides. The sum over thresholds is a right-hand Riemann sum
# of a product that grows from 0 to 1. It overshoots by *at most* $s/n$, by about half of it on average.


# %%
def integrated(orbits):
    """Exact integrals over thresholds, summed over templates, from (elements, templates, d)."""
    return sum(theory.cdf_products(X @ orbits[:, j].T, s) for j in range(orbits.shape[1]))


@run.cache
def binning_error(name, bins, n_templates, seed):
    """Largest, mean and least excess over exact integrals for each number of bins."""
    how = {"epsilon": eps, "rejection": "zero", "random_state": seed}
    drawn = draw_templates("gaussian", n_templates, n_features=d, **how)
    kept = drawn[np.isfinite(drawn[:, 0])]
    exact = integrated(GROUPS[name].act(GROUPS[name].elements(), kept)) / n_templates
    rows = []
    for n in bins:
        # Whole weights at all thresholds, as printed; rejection="zero" halves the outermost.
        model = GroupCDF(GROUPS[name], len(kept), n_bins=n, templates=kept, epsilon=eps, s=s)
        Z = model.fit_transform(X) * np.sqrt(len(kept) / n_templates)
        excess = Z @ Z.T - exact
        rows.append((np.abs(excess).max(), excess.mean(), excess.min()))
    return np.array(rows)


binning = {
    name: np.array([binning_error(name, bins, n_binned, run.seed + i) for i in range(bin_draws)])
    for name in GROUPS
}
bin_rates = {name: fit_rate(bins, values[:, :, 0].T) for name, values in binning.items()}
within = all(
    (v[:, :, 2] >= -1e-12).all() and (v[:, :, 0] <= s / bins + 1e-12).all()
    for v in binning.values()
)


# %%
def sloped(method, values, rates):
    """Curves of all groups with their slopes; y of shape (sizes, draws)."""
    labels = {f"{name}: slope {rates[name].slope:.2f}": y.T for name, y in values.items()}
    return family(method, labels)


fig, axis = plt.subplots(figsize=(6.4, 4))
errors = {name: values[:, :, 0].T for name, values in binning.items()}
share = max((y.mean(axis=1) / (s / bins)).max() for y in errors.values())
bounds = {"bound s / n": ("bound", s / bins), "s / (2n)": ("bound", s / (2 * bins), {"ls": ":"})}
panel(
    axis,
    bins,
    sloped("bins", errors, bin_rates) | bounds,
    log="xy",
    ends=0.5,
    xlabel="bins n",
    ylabel="largest binning error on all pairs",
    title=f"The error of n bins is at most {share:.2f} of s / n in the mean",
)
run.figure(fig, "bins", caption="Mean over draws of templates, bars of two standard errors.")
run.claim(
    "mroueh2015/theorem2-rate-bins",
    rates=bin_rates,
    expected=dict.fromkeys(bin_rates, -1.0),
    note="largest error over all pairs; never negative and never above s/n in any draw"
    if within
    else "an error outside [0, s/n] occurred",
)

# %% [markdown]
# The theorem prints $n \ge 1/\varepsilon_0$, its proof derives $n \ge s/\varepsilon_0$ (and writes
# the Riemann weights as $2s/n$ on the way, where $s/n$ is meant). The printed number is enough.
#
# ## Templates alone
#
# Whole group, exact thresholds, fresh templates: their mean against $K_s$ in closed form.


# %%
@run.cache
def template_error(name, sizes, repetitions, seed):
    """Largest error over pairs, shape (sizes, repetitions), with nested sets of templates."""
    listed, K = GROUPS[name].elements(), kernels[name]
    errors = np.empty((len(sizes), repetitions))
    for r in range(repetitions):
        rng = np.random.default_rng([seed, r, *name.encode()])
        templates = rng.standard_normal((sizes[-1], d)) / np.sqrt(d)
        kept = np.square(templates).sum(axis=1) < 1 + eps
        orbits, total, done = GROUPS[name].act(listed, templates), np.zeros_like(K), 0
        for i, m in enumerate(sizes):
            total = total + integrated(orbits[:, done:m][:, kept[done:m]])
            errors[i, r], done = np.abs(total / m - K).max(), m
    return errors


by_templates = {name: template_error(name, sizes, template_draws, run.seed) for name in GROUPS}
template_rates = {name: fit_rate(sizes, values) for name, values in by_templates.items()}


def promised(n, m, elements):
    """What theorem 2 allows for bins, templates and elements, with 5 % failures."""
    return theory.theorem2_errors(n, m, n_elements=elements, n_points=N, delta=delta, s=s)


template_bound = [promised(np.inf, m, np.inf)[1] for m in sizes]

# %% [markdown]
# ## Group elements alone
#
# Exact thresholds, a fixed set of templates; sampled elements against the whole group. The elements are
# shared by all templates, as the paper has it, so more templates do *not* average this error out.


# %%
@run.cache
def group_error(name, sizes, n_templates, repetitions, seed):
    """Largest error over pairs against the same templates with the whole group."""
    group, errors = GROUPS[name], np.empty((len(sizes), repetitions))
    for r in range(repetitions):
        rng = np.random.default_rng([seed, r, *name.encode()])
        templates = rng.standard_normal((n_templates, d)) / np.sqrt(d)
        templates = templates[np.square(templates).sum(axis=1) < 1 + eps]
        exact = integrated(group.act(group.elements(), templates))
        drawn = group.act(group.sample(sizes[-1], int(rng.integers(2**31))), templates)
        for i, size in enumerate(sizes):
            errors[i, r] = np.abs(integrated(drawn[:size]) - exact).max() / n_templates
    return errors


# the constants below come from draws of `seed`, the rate from draws that no trial has used
by_group, fresh = (
    {name: group_error(name, group_sizes, n_fixed, repetitions, first) for name in GROUPS}
    for first in (run.seed, run.seed + 1)
)
group_rates = {name: fit_rate(group_sizes, values) for name, values in fresh.items()}
group_bound = [promised(np.inf, n_fixed, size)[2] for size in group_sizes]

# %%
fig, axes = plt.subplots(1, 2, figsize=(10, 4.2))
for axis, x, values, rates, bound, method, label in (
    (axes[0], sizes, by_templates, template_rates, template_bound, "templates", "templates m"),
    (axes[1], group_sizes, fresh, group_rates, group_bound, "group", "sampled elements |G|"),
):
    below = np.min(bound[-1] / np.array([np.mean(y[-1]) for y in values.values()]))
    panel(
        axis,
        x,
        sloped(method, values, rates) | {"theorem 2 (5 % failure)": ("bound", bound)},
        log="xy",
        ends=None,
        xlabel=label,
        ylabel="largest error on all pairs",
        title=f"In the end at least {below:.0f} times below the theorem",
        ylim=(None, 12 * np.max(bound)),
    )
    axis.legend(fontsize=8, loc="upper right")
run.figure(fig, "templates_group", caption="Mean over draws, bars of two standard errors.")
run.claim(
    "mroueh2015/theorem2-rate-templates",
    rates=template_rates,
    expected=dict.fromkeys(template_rates, -0.5),
)
run.claim(
    "mroueh2015/theorem2-rate-group",
    rates=group_rates,
    expected=dict.fromkeys(group_rates, -0.5),
    note="at few elements the bias of order 1/|G| from pairing sampled elements with themselves "
    "adds to the |G|^-1/2 fluctuation",
)

# %% [markdown]
# ## All at once
#
# $n = k$ bins, $m = k^2$ templates and $|G| = k^2$ elements make all three parts of order $1/k$.
# Here the features themselves, `GroupCDF`, against the kernel in closed form:


# %%
@run.cache
def joint_error(name, scales, repetitions, seed):
    errors = np.empty((len(scales), repetitions))
    how = {"epsilon": eps, "rejection": "zero", "s": s}
    for r in range(repetitions):
        for i, k in enumerate(scales):
            draw = seed + 1000 * r + i
            sizes = {"n_bins": k, "n_transforms": k * k, "random_state": draw}
            Z = GroupCDF(GROUPS[name], k * k, **sizes, **how).fit_transform(X)
            errors[i, r] = np.abs(Z @ Z.T - kernels[name]).max()
    return errors


joint = {name: joint_error(name, scales, joint_draws, run.seed) for name in GROUPS}
joint_rates = {name: fit_rate(scales, values) for name, values in joint.items()}
all_promised = np.array([sum(promised(k, k * k, k * k)) for k in scales.tolist()])

# %%
fig, axis = plt.subplots(figsize=(7.4, 4.4))
span = max(np.ptp(K) for K in kernels.values())
least = all_promised[-1] / max(np.mean(y[-1]) for y in joint.values())
slopes = [rate.slope for rate in joint_rates.values()]
panel(
    axis,
    scales,
    sloped("cdf", joint, joint_rates)
    | {"theorem 2": ("bound", all_promised)}
    | {"all that the kernel varies": ("published", 0 * scales + span, {"ls": ":", "marker": ""})},
    log="xy",
    ends=0.5,
    xlabel="k, with n = k bins, m = k² templates, |G| = k² elements",
    ylabel="largest error on all pairs",
    title=f"Twice k divides the error by {2 ** -max(slopes):.1f} to {2 ** -min(slopes):.1f}; "
    f"{least:.0f} times below the theorem",
)
run.figure(fig, "joint", caption=f"Mean over {joint_draws} draws, bars of two standard errors.")

# %% [markdown]
# ## The constants
#
# The proof gives explicit sizes: Hoeffding's inequality and a union over pairs give $m \ge \frac{2
# s^2}{\varepsilon_1^2} \log\frac{2N^2}{\delta_1}$ (`theory.theorem2_templates`); the
# Dvoretzky–Kiefer–Wolfowitz inequality, $|\hat X - X| \le 6 s \gamma$ and a union over pairs and
# templates give $|G| \ge \frac{18 s^2}{\varepsilon_2^2} \log\frac{4 m N^2}{\delta_2}$
# (`theory.theorem2_elements`). In the form of the theorem that makes $C_1 = 6 s^2$ and $C_2 = 72
# s^2$, at most 24 and 288 for every $\varepsilon < 1$ (`theory.theorem2_constants`).
#
# The proof is generous: template terms vary by $d^{-1/2}$ around $s$, not over $[0, 2s]$, and the $m
# |G|$ events of the union bound are nearly the same event.
#
# ## The theorem and the corollary, tried
#
# A bound is informative only if it is smaller than the variation of the kernel. So we take few
# dimensions and small groups, where the kernel varies most, and a budget
# $\varepsilon_0 + \varepsilon_1 + \varepsilon_2$ below that variation. The theory then asks for so many
# elements that we draw how often each occurs, and compute the features from these counts. Theorem 2
# requires the largest error to be within the budget; corollary 1 requires
#
# $$ \varepsilon - \delta_2(d, \varepsilon) - \varepsilon_0 \le
#    \langle\Phi(x_i), \Phi(x_j)\rangle - (1 - d_G(x_i, x_j))
#    \le \varepsilon + \delta_1(d, \varepsilon) + \varepsilon_0 . $$


# %%
def gram_of_counts(group, points, sizes, rng):
    """Inner products of features with given numbers of bins, templates and sampled elements."""
    n, m, size = sizes
    elements, dim = group.elements(), points.shape[1]
    share = rng.multinomial(size, np.full(len(elements), 1 / len(elements))) / size
    gram = np.zeros((len(points), len(points)))
    for start in range(0, m, 500):
        t = rng.standard_normal((min(500, m - start), dim)) / np.sqrt(dim)
        t = t[np.square(t).sum(axis=1) < 1 + eps]
        # The first threshold at or above each projection, weighted, then summed up to a CDF.
        first = np.ceil(np.einsum("pd,gtd->ptg", points, group.act(elements, t)) * n / s) + n
        cells = np.arange(len(points) * len(t))[:, None] * (2 * n + 2)
        cells = cells + first.reshape(-1, len(elements)).astype(int)
        weights = np.broadcast_to(share, cells.shape)
        jumps = np.bincount(cells.ravel(), weights.ravel(), len(cells) * (2 * n + 2))
        psi = jumps.reshape(len(points), len(t), -1).cumsum(axis=2)[:, :, :-1]
        psi = psi.reshape(len(points), -1)
        gram += psi @ psi.T
    return gram * s / (n * m)


@run.cache
def tried(name, budget, trials, seed):
    """Largest error, and range of the deviation from 1 - d_G, for each trial; what K can differ."""
    (group, dim, _), few = TRIED[name], 10
    rng = np.random.default_rng([seed, dim, *name.encode()])
    points = sphere(few, dim, rng)
    K = Average(CDF(epsilon=eps), group)(points)
    D = theory.orbit_distance(group.act(group.elements(), points))
    asked = theory.corollary1_sizes(budget, few, delta=delta, s=s)
    rows = []
    for _ in range(trials):
        gram = gram_of_counts(group, points, asked, rng)
        middle = gram - (1 - D)
        rows.append((np.abs(gram - K).max(), middle.min(), middle.max()))
    # A template's term lies in [0, s + sqrt(s)], and bins add at most s / n.
    most = max(K.max(), s + np.sqrt(s) + s / asked[0] - K.min())
    return np.array(rows), asked, np.ptp(K), most


TRIED = {
    "two coordinates swapped": (CyclicShifts(2), 2, budgets),
    "three coordinates permuted": (Permutations(3), 3, budgets[1:]),
    "two blocks of four swapped": (CyclicShifts(2, block=4), 8, budgets[1:]),
}


def quantile(values):
    """What a share delta of the draws exceeds."""
    return np.quantile(values, 1 - delta)


# %% [markdown]
# Every trial gives one inequality of theorem 2 and, for each side, one of corollary 1; and the same
# with $K_s - (1 - d_G)$ in place of its bounds, which leaves the budget alone to be tested.

# %%
rows, uniform, sandwich, exact_slack = [], [], [], []
for name, (_, dim, some) in TRIED.items():
    ends = theory.theorem1_deviation(np.array([0, 2 / np.sqrt(2 * np.pi * dim)]), dim, eps=eps)
    for budget in some:
        found, asked, varies, most = tried(name, budget, trials, run.seed)
        low, high = theory.corollary1_sandwich(dim, eps, eps0=budget)
        uniform += [(value, budget, most) for value in found[:, 0]]
        sandwich += [(value - eps, high - eps, 2.0) for value in found[:, 2]]
        sandwich += [(eps - value, eps - low, 1 + eps) for value in found[:, 1]]
        exact_slack += [(value - ends.max(), budget, most) for value in found[:, 2]]
        exact_slack += [(ends.min() - value, budget, most) for value in found[:, 1]]
        seen = quantile(found[:, 0])
        row = (dim, name, budget, round(varies, 3), *asked, round(seen, 4), round(budget / seen, 1))
        rows.append(row)
columns = "d, group, budget, kernel varies by, bins, templates, elements, 95 % quantile, tightness"
caption = f"Largest error over all pairs, {trials} draws each, at the sizes asked for."
run.table(pd.DataFrame(rows, columns=columns.split(", ")), "uniform", caption=caption)

# %% [markdown]
# ### Sharper: universal constants, measured in one place and tried in others
#
# The theorem speaks of universal constants $C_1, C_2$. Take them from *one* case, two points of
# the plane under the trivial group (templates) and under the rotations by 60 degrees (elements),
# so that 95 % of the draws keep to them. Do they hold in eight dimensions and for other groups?


# %%
@run.cache
def calibration(repetitions, seed):
    """C1 and C2 that 95 % of the draws keep to: two points in the plane, 64 draws a sample."""
    rng = np.random.default_rng([seed, 99])
    two = np.array([[1.0, 0.0], [-0.6, 0.8]])
    sixth, trivial = turns(6, 2), groups.OrthogonalMatrices([np.eye(2)])
    K = Average(CDF(epsilon=eps), trivial)(two)
    by_template, by_element = [], []
    for _ in range(repetitions):
        t = rng.standard_normal((64, 2)) / np.sqrt(2)
        t = t[np.square(t).sum(axis=1) < 1 + eps]
        alone = sum(theory.cdf_products(two @ t[j : j + 1].T, s) for j in range(len(t)))
        by_template.append(np.abs(alone / 64 - K).max())
        orbit = sixth.act(sixth.elements(), t[:20])
        some = rng.integers(len(orbit), size=64)
        pairs = ((two @ orbit[some, j].T, two @ orbit[:, j].T) for j in range(orbit.shape[1]))
        gap = sum(theory.cdf_products(a, s) - theory.cdf_products(b, s) for a, b in pairs)
        by_element.append(np.abs(gap).max() / orbit.shape[1])
    q1, q2 = quantile(by_template), quantile(by_element)
    return 64 * q1**2 / np.log(2 / delta), 64 * q2**2 / np.log(2 * 20 / delta)


C1, C2 = calibration(10 * repetitions, run.seed)
found = dict(zip(("C1", "C2", "P1", "P2"), (C1, C2, *theory.theorem2_constants(s)), strict=True))
run.say(
    "Measured constants: C1 = {C1:.2f} and C2 = {C2:.3f}; the proof's are {P1:.1f} and {P2:.0f}.",
    **found,
)

# %%
lhs, rhs = [], []
for name in GROUPS:
    lhs += [quantile(row[:repetitions]) for row in (*by_templates[name], *by_group[name])]
    rhs += [*np.sqrt(C1 * np.log(N / delta) / sizes)]
    rhs += [*np.sqrt(C2 * np.log(N * n_fixed / delta) / group_sizes)]
run.claim(
    "mroueh2015/theorem2-uniform",
    trials=uniform,
    allowed=2 * delta,
    sharper={
        "says": "constants measured in the plane, tried in "
        f"{'eight' if d == 8 else d} dimensions under four groups",
        "lhs": lhs,
        "rhs": rhs,
        "ceiling": float(max(K.max() for K in kernels.values())),
    },
    note="budgets below what the kernel varies (table), with the sizes that the proof's constants "
    "ask for",
)
run.claim(
    "mroueh2015/corollary1",
    trials=sandwich,
    allowed=2 * delta,
    sharper={
        "says": "theorem 1's slacks exactly, so that the budget alone is left",
        "trials": exact_slack,
        "allowed": 2 * delta,
    },
    note="each side over all pairs, one draw of features a trial, the same budgets",
)

# %% [markdown]
# ## Remark 2: what stored templates save
#
# For a unitary group $\langle gx, t\rangle = \langle x, g^{-1}t\rangle$: templates are transformed
# once and stored, while the kernel of equation (1) needs every point transformed and every pair of
# elements visited. We count what both do for N points: multiplications and moved numbers, comparisons
# and sums. Formulas, checked against a counting run for a few points, serve for many.


# %%
def counting_run(group, points, templates, n, per_number):
    """Does both for a few points; what is moved, multiplied, compared and summed."""
    stored, moved = (group.act(group.elements(), x) for x in (templates, points))
    projections = np.einsum("pd,gtd->ptg", points, stored)
    first = np.ceil(n * projections / s).clip(-n, n + 1)
    counts = np.stack([(first <= k).sum(axis=2) for k in range(-n, n + 1)], axis=-1)
    # a histogram touches each projection once, and each threshold is one sum
    own = stored.size * (1 + per_number) + projections.size * points.shape[1]
    own += projections.size + counts.size
    # equation (1) with a linear base kernel between all pairs of points, each pair once
    i, j = np.triu_indices(len(points))
    pairs = np.einsum("gpd,hpd->ghp", moved[:, i], moved[:, j])
    return own, moved.size * (1 + per_number) + pairs.size * points.shape[1]


def sums(group, dimension, per_number, N, m, n):
    """The same by formulas, and the kernel when one orbit of each pair is enough."""
    pairs, transform = N * (N + 1) // 2, group.order * dimension * (1 + per_number)
    own = m * transform + N * m * (group.order * (dimension + 1) + 2 * n + 1)
    printed = N * transform + pairs * group.order**2 * dimension
    return own, printed, N * transform + pairs * group.order * dimension


# a cubic spline weighs 16 pixels for each one that it moves
settings = {
    "permutations of 5 blocks, d = 40": (Permutations(5, block=8), 40, 0),
    "rotations of 28 x 28 images": (groups.Rotations((28, 28), degrees=range(-20, 21)), 784, 16),
}
n_points, m, n, scores, counted = (100, 200, 500, 1000), 50, 25, {}, {}
for title, (group, size, per_number) in settings.items():
    few, templates = (run.rng.standard_normal((k, size)) / np.sqrt(size) for k in (4, 3))
    done = counting_run(group, few, templates, n, per_number)
    if done != sums(group, size, per_number, 4, 3, n)[:2]:
        raise RuntimeError(f"{title}: the sums do not give what is counted")
    counted[title] = np.array([sums(group, size, per_number, N, m, n) for N in n_points])
    for N, (own, printed, _) in zip(n_points, counted[title].tolist(), strict=True):
        scores[f"signatures, {title}, {N} points"] = own
        scores[f"kernel, {title}, {N} points"] = printed

# %%
fig, axes = plt.subplots(1, 2, figsize=(9.6, 4.4))
for axis, (title, table) in zip(axes, counted.items(), strict=True):
    own, printed, one_moved = table.T
    panel(
        axis,
        n_points,
        {
            f"signatures on {m} stored templates": ("fast", own),
            "kernel of eq. (1), as printed": ("definition", printed),
            "the same, one orbit of each pair moved": ("haar", one_moved),
        },
        log="xy",
        ends=None,
        xlabel="points",
        ylabel="multiplications and moved numbers",
        title=f"{title}, |G| = {settings[title][0].order}:\n"
        f"{(printed / own).min():,.0f} to {(printed / own).max():,.0f} times fewer",
    )
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
caption = "Where the base kernel is itself invariant, one orbit of each pair is enough."
run.figure(fig, "cost", caption=caption)

# %%
run.claim(
    "mroueh2015/remark2-cost",
    order=[
        f"kernel, {title}, {N} points > signatures, {title}, {N} points"
        for title in settings
        for N in n_points
    ],
    scores=scores,
    exact="operations are counted",
)

# %% [markdown]
# ## Try it
#
# `invariance run mroueh2015/theorem2 -p dimension 16`: the kernel varies less. Or `-p epsilon 0.6`.
