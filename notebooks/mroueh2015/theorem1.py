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
# *Mroueh, Voinea and Poggio (2015), section 1.1, theorem 1, lemma 2 and remark 3.*
#
# Average a kernel over a group and it no longer notices the group. That is easy to state and
# expensive to compute. The paper's feature map only looks at the *distribution* of the projections of a point
# on transformed random templates, and theorem 1 says which averaged kernel its inner product has
# in expectation: up to a constant, minus the mean distance between two orbits,
#
# $$ K_s(x, z) \approx s - d_G(x, z), \qquad
#    d_G(x, z) = \frac{1}{\sqrt{2 \pi d}} \int_G \int_G \lVert gx - g'z \rVert \, d\mu(g)\, d\mu(g') . $$
#
# This notebook starts from what an averaged kernel buys (section 1.1), then takes theorem 1 apart:
# the kernel in closed form against simulation, the sandwich on both sides of it, its limit in high
# dimension, its positivity, and what remark 3 adds.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from invariance.companion import Run, colour, fit_rate, marker, mean_se, shades
from invariance.features import GroupCDF
from invariance.groups import (
    CyclicShifts,
    DirectProduct,
    OrthogonalMatrices,
    Permutations,
    SignFlips,
    Transformations,
)
from invariance.kernels import CDF, Average, Gaussian, Laplacian, Polynomial
from invariance.linear import RLSClassifier
from invariance.theory import mroueh2015 as theory

run = Run("mroueh2015/theorem1", profile=profile, seed=seed)

# %% [markdown]
# ## Four groups in any dimension
#
# All are compact and unitary, as the paper assumes: permutations of four blocks of coordinates,
# cyclic shifts of four blocks, sign flips of the first four coordinates, and rotations of every
# plane $(x_1, x_2), (x_3, x_4), \dots$ by multiples of 15 degrees, a discrete stand-in for the
# circle.


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


looks = dict(zip(groups(4), zip(shades("group", 4), "os^D", strict=True), strict=True))


def sphere(n, d, rng):
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


pd.DataFrame(
    {
        "order": [g.order for g in groups(8).values()],
        "action": [repr(g)[:48] for g in groups(8).values()],
    },
    index=list(groups(8)),
)

# %% [markdown]
# ## Equation (1): the Haar-integration kernel
#
# $$ \mathcal K(x, z) = \int_G \int_G k_0(gx, g'z)\, d\mu(g)\, d\mu(g') $$
#
# is `Average(base, group)`. It must not notice transformations of either argument, be symmetric,
# and be positive semi-definite whenever the base kernel is. We check all three on points that lie
# in general position *and* on points that share orbits (where Gram matrices are singular), for
# three base kernels; only the Laplacian one is not itself unitarily invariant, so that both sides
# really have to be averaged.


# %%
def defects(kernel, group, X, rng):
    """Largest violation of invariance, symmetry and positivity, relative to the kernel's size."""
    K = kernel(X)
    g, h = group.act(group.sample(2, int(rng.integers(2**31))), X)
    both = np.r_[X, g[: len(X) // 2]]
    gram = kernel(both)
    size = np.abs(K).max()
    return {
        "invariance": np.abs(kernel(g, h) - kernel(X, X)).max() / size,
        "symmetry": np.abs(gram - gram.T).max() / size,
        "positivity": max(0.0, -np.linalg.eigvalsh(gram)[0]) / np.trace(gram),
    }


rows = []
for base in (Gaussian(gamma=2.0), Polynomial(degree=3), Laplacian(gamma=1.0)):
    for d in run.choose(quick=(4, 8), full=(4, 8, 16)):
        for name, group in groups(d).items():
            found = defects(Average(base, group), group, sphere(12, d, run.rng), run.rng)
            rows.append({"base kernel": type(base).__name__, "d": d, "group": name, **found})
haar = pd.DataFrame(rows)
run.table(
    haar.groupby("base kernel")[["invariance", "symmetry", "positivity"]].max().reset_index(),
    "haar_kernel",
    caption="Largest defects over groups and dimensions, relative to the kernel's size.",
)
run.claim(
    "mroueh2015/eq1-haar-invariance",
    difference=haar[["invariance", "symmetry", "positivity"]].to_numpy(),
    tolerance=1e-10,
)

# %% [markdown]
# ### The decision function inherits the invariance
#
# By the representer theorem a kernel machine is $f(x) = \sum_i \alpha_i \mathcal K(x, x_i)$, so
# $f(gx) = f(x)$, for every $g$, whatever the labels. Two machines, trained on random labels (there
# is nothing to learn, and invariance holds all the same):

# %%
differences = []
for group in groups(8).values():
    X, y = sphere(40, 8, run.rng), run.rng.choice([-1, 1], size=40)
    kernel = Average(Gaussian(gamma=2.0), group)
    new = sphere(10, 8, run.rng)
    for machine in (SVC(kernel=kernel), KernelRidge(kernel=kernel, alpha=1e-3)):
        decide = getattr(machine.fit(X, y), "decision_function", machine.predict)
        for moved in group.act(group.sample(5, run.seed), new):
            differences.append(
                np.abs(decide(moved) - decide(new)).max() / np.abs(decide(new)).max()
            )
run.claim("mroueh2015/eq1-decision-boundary", difference=differences, tolerance=1e-10)

# %% [markdown]
# ## What it buys: learning from the core set
#
# Write $\mathcal X = \mathcal X_0 \cup G\mathcal X_0$. If labels do not change along orbits, equation
# (2) says that the risk of an invariant function on all of $\mathcal X$ *is* its risk on the core
# set $\mathcal X_0$: train there, and the rest comes free. A learner that is not invariant has no
# such right.
#
# The experiment: points of $\mathbb R^5$ under all 120 permutations. The core set holds the sorted
# points. The label depends, with noise, on the gap between the two largest coordinates, which is a
# *linear* function on the core set, and anything but linear off it. Four learners, all regularised
# least squares with a Gaussian kernel and $\lambda$ by leave-one-out: the averaged kernel trained on the
# core set, the plain kernel trained on the core set, the plain kernel with each training point
# joined by eight permuted copies, and the plain kernel on points drawn from all of $\mathcal X$.

# %%
permutations = Permutations(5)
plain = Gaussian(gamma=2.0)


def draw(n, rng):
    """Points of the core set and labels, P(y = 1) a logistic function of the gap."""
    X = np.sort(sphere(n, 5, rng), axis=1)[:, ::-1].copy()
    gap = X[:, 0] - X[:, 1]
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-40 * (gap - 0.3))), 1, -1)


def shuffled(X, rng):
    return rng.permuted(X, axis=1)


@run.cache
def core_set_experiment(sizes, repetitions, n_test, seed):
    """Accuracy and square-loss risk by learner, test set, training size and repetition."""
    results = []
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, repetition])
        on_core, y_test = draw(n_test, rng)
        off_core = shuffled(on_core, rng)
        for n in sizes:
            X, y = draw(n, rng)
            copies = np.concatenate([X] + [shuffled(X, rng) for _ in range(8)])
            learners = {
                "haar": (Average(plain, permutations), X, y),
                "raw": (plain, X, y),
                "augmentation": (plain, copies, np.tile(y, 9)),
                "raw on X": (plain, shuffled(X, rng), y),
            }
            for name, (kernel, points, labels) in learners.items():
                model = RLSClassifier(kernel=kernel).fit(points, labels)
                for where, test in (("X0", on_core), ("GX0", off_core)):
                    f = model.decision_function(test)
                    results.append(
                        {
                            "learner": name,
                            "test": where,
                            "n": n,
                            "repetition": repetition,
                            "accuracy": 100 * np.mean((f > 0) == (y_test > 0)),
                            "risk": np.mean((1 - y_test * f) ** 2),
                        }
                    )
    return results


sizes = run.choose(quick=(20, 50, 100), full=(10, 20, 50, 100, 200))
learned = pd.DataFrame(
    core_set_experiment(
        sizes, run.choose(quick=4, full=20), run.choose(quick=200, full=1000), run.seed
    )
)

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharey=True)
labels = {
    "haar": "averaged kernel, trained on $X_0$",
    "raw": "plain kernel, trained on $X_0$",
    "augmentation": "plain kernel, $X_0$ and 8 copies",
    "raw on X": "plain kernel, trained on $X$",
}
for axis, where in zip(axes, ("X0", "GX0"), strict=True):
    for name, label in labels.items():
        some = learned.query("learner == @name and test == @where").pivot(
            index="repetition", columns="n", values="accuracy"
        )
        mean, error = mean_se(some.to_numpy())
        look = "haar" if name == "haar" else "augmentation" if name == "augmentation" else "raw"
        axis.errorbar(
            sizes,
            mean,
            2 * error,
            label=label,
            color=colour(look),
            marker="s" if name == "raw on X" else marker(look),
            ls="--" if name == "raw on X" else "-",
        )
    axis.set(
        xscale="log",
        xlabel="training points",
        title={"X0": "tested on the core set $X_0$", "GX0": "tested on the orbits $GX_0$"}[where],
    )
    axis.set_xticks(sizes, sizes)
    axis.minorticks_off()
axes[0].set_ylabel("accuracy (%)")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
run.figure(
    fig,
    "core_set",
    alt="Accuracy against training size on the core set and on its orbits. The averaged kernel's two "
    "curves are the same; the plain kernel trained on the core set does well there and stays near "
    "chance on the orbits, with augmentation or training on all of X in between.",
    caption="Mean over repetitions, bars of two standard errors.",
)

# %% [markdown]
# The averaged kernel's accuracy is the same on both sides, not nearly but exactly: its predictions on
# a point and on a permuted copy are one number. The plain kernel falls to near chance off the core
# set. Copies repair part of it, at nine times the training points of 120 possible. On the core set itself the
# plain kernel is, for few points, even a little ahead: averaging blurs, and there it has nothing to win.

# %%
largest = learned.query("n == @sizes[-1]")
scores = {
    f"{name} on {where}": largest.query("learner == @name and test == @where")[
        "accuracy"
    ].to_numpy()
    for name in ("haar", "raw")
    for where in ("X0", "GX0")
}
run.claim(
    "mroueh2015/core-set",
    order=[
        "haar on GX0 >= haar on X0",
        "haar on X0 >= haar on GX0",
        "raw on X0 > raw on GX0",
        "haar on GX0 > raw on GX0",
    ],
    scores=scores,
    paired=True,
)

# %% [markdown]
# ## Lemma 2: the maximum of two Gaussians
#
# The proof of theorem 1 turns on $\int_{-s}^{s} 1[a \le \tau]\, 1[b \le \tau]\, d\tau = s - \max(a, b)$
# and on Clark's formulas for the mean and variance of the maximum of two correlated Gaussians,
# `theory.clark_max_moments`. Against direct integration of the density of the maximum:


# %%
def integrated_moments(mean_x, mean_y, sd_x, sd_y, rho):
    """Moments of max(X, Y) by integrating its density on a fine grid."""
    from scipy.stats import norm

    z = np.linspace(-30, 30, 60_001)
    density = 0.0
    for a, sa, b, sb in ((mean_x, sd_x, mean_y, sd_y), (mean_y, sd_y, mean_x, sd_x)):
        conditional = norm.cdf(z, b + rho * sb / sa * (z - a), sb * np.sqrt(1 - rho**2))
        density = density + norm.pdf(z, a, sa) * conditional
    mass = density * (z[1] - z[0])
    mean = mass @ z
    return mean, mass @ (z - mean) ** 2


cases = [
    (*run.rng.uniform(-2, 2, 2), *run.rng.uniform(0.2, 2, 2), run.rng.uniform(-0.98, 0.98))
    for _ in range(run.choose(quick=50, full=300))
]
clark = np.array(
    [
        theory.clark_max_moments(*means, sd_x=sd_x, sd_y=sd_y, rho=rho)
        for *means, sd_x, sd_y, rho in cases
    ]
)
integrated = np.array([integrated_moments(*case) for case in cases])
# Equation (11): for unit x and z the mean maximum of the projections is |x - z| / sqrt(2 pi d).
eleven = []
for d in (2, 5, 50):
    x, z = sphere(2, d, run.rng)
    eleven.append(
        theory.orbit_distance(x[None, None], z[None, None])[0, 0]
        - integrated_moments(0, 0, 1, 1, x @ z)[0] / np.sqrt(d)
    )

# %%
rho = np.linspace(-1, 1, 101)
n_draws = run.choose(quick=2000, full=20_000)
some_rho = np.linspace(-0.9, 0.9, 7)
u, v = run.rng.standard_normal((2, 7, n_draws))
maxima = np.maximum(u, some_rho[:, None] * u + np.sqrt(1 - some_rho**2)[:, None] * v)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4))
curves = theory.clark_max_moments(0, 0, sd_x=1, sd_y=1, rho=rho)
measured = mean_se(maxima.T), mean_se((maxima - maxima.mean(axis=1, keepdims=True)).T ** 2)
for axis, curve, (mean, error), what in zip(
    axes, curves, measured, ("mean", "variance"), strict=True
):
    axis.plot(rho, curve, color=colour("bound"), label="Clark's formula")
    axis.errorbar(some_rho, mean, 2 * error, fmt="o", color=colour("cdf"), label="simulation")
    axis.set(
        xlabel=r"correlation $\rho$", ylabel=f"{what} of max(X, Y)", xticks=[-1, -0.5, 0, 0.5, 1]
    )
axes[0].legend()
run.figure(
    fig,
    "clark",
    alt="Mean and variance of the maximum of two standard Gaussians against their "
    "correlation: simulated points lie on Clark's curves.",
    caption=f"{n_draws:,} draws a point, bars of two standard errors.",
)
run.claim(
    "mroueh2015/lemma2-clark",
    difference=np.r_[(clark - integrated).ravel(), eleven],
    tolerance=1e-8,
)

# %% [markdown]
# ## The kernel in closed form
#
# The proof of theorem 1 *bounds* two expectations. Both can be had exactly. With
# $t \sim N(0, I/d)$ and **rejected templates counting zero** (they are the null template
# $\bot$; they are not drawn again), and with $F_k$ the distribution function of $\chi^2_k$,
#
# $$ K_s(x, z) = s\, F_d\bigl(d(1+\varepsilon)\bigr) - F_{d+1}\bigl(d(1+\varepsilon)\bigr)\, d_G(x, z),
#    \qquad s = 1 + \varepsilon . $$
#
# The one call for it is `Average(CDF(epsilon), group)`. Simulation uses no formula: draw templates, reject,
# project on the orbit, and integrate the product of the two empirical distribution functions over all
# thresholds exactly (`theory.cdf_products`).


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
dimensions = run.choose(quick=(4, 16), full=(4, 8, 16, 64))
n_points, n_templates = run.choose(quick=(8, 200), full=(12, 2000))
simulated = {
    (name, d): simulate(name, d, slacks, n_points, n_templates, run.seed)
    for d in dimensions
    for name in groups(d)
}

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3.9))
d, shown = dimensions[1], 2
for name, (shade, symbol) in looks.items():
    exact, mean, error, distance = (part[shown] for part in simulated[name, d])
    axes[0].errorbar(
        1 - distance, mean, 2 * error, fmt=symbol, color=shade, ms=4, lw=0.7, label=name
    )
eps = slacks[shown]
ends = np.array([0, 2 / np.sqrt(2 * np.pi * d)])
axes[0].plot(
    1 - ends,
    1 - ends + theory.theorem1_deviation(ends, d, eps=eps),
    color=colour("exact-kernel"),
    label="closed form",
)
axes[0].plot(1 - ends, 1 + eps - ends, color=colour("published"), ls="--", label="limit $s - d_G$")
axes[0].set(
    xlabel="$1 - d_G(x, z)$",
    ylabel="$K_s(x, z)$",
    title=f"d = {d}, ε = {eps}",
    xlim=(1 - ends[1], 1.005),
)
axes[0].legend(fontsize=8)
z_scores = np.concatenate([((m - e) / s).ravel() for e, m, s, _ in simulated.values()])
axes[1].hist(
    z_scores,
    bins=np.linspace(-5, 5, 41),
    density=True,
    color=colour("cdf"),
    alpha=0.6,
    label="all pairs",
)
grid = np.linspace(-5, 5, 200)
axes[1].plot(
    grid, np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi), color=colour("bound"), label="N(0, 1)"
)
axes[1].set(
    xlabel="(simulation − closed form) / standard error",
    ylabel="density",
    title="groups, dimensions, slacks",
)
axes[1].legend(fontsize=8)
run.figure(
    fig,
    "kernel",
    alt="Left: simulated K_s for four groups against one minus the orbit distance; the points scatter "
    "about the closed form's straight line, below the limit line s - d_G. Right: their z-scores spread "
    "about as a standard normal density.",
    caption=f"{n_templates:,} templates a group, bars of two standard errors. The same templates serve all "
    "pairs of a group: its points err together, and the z-scores are not independent.",
)
print(f"{len(z_scores):,} comparisons, largest |z| = {np.abs(z_scores).max():.2f}")

# %% [markdown]
# The printed limit $s - d_G$ overestimates $K_s$ at small $d$: the share of templates lost to the
# rejection, $1 - F_d$, lowers the kernel by up to $s(1 - F_d)$.
#
# ## The sandwich, equation (3)
#
# $$ \varepsilon - \delta_2(d, \varepsilon) \le K_s(x, z) - (1 - d_G(x, z)) \le \varepsilon + \delta_1(d, \varepsilon) $$
#
# `low, high = theory.theorem1_sandwich(d, eps)`. What stands in the middle is
# `theory.theorem1_deviation(d_G, d, eps)`, affine in $d_G \in [0, 2/\sqrt{2 \pi d}]$. So the two ends of that
# interval settle the matter for *every* pair of points of every unitary group, and we can scan all $(d, \varepsilon)$:

# %%
all_d = np.unique(np.r_[1:200, np.geomspace(200, 1e5, 100).astype(int)])[:, None]
all_eps = np.linspace(0.005, 0.995, 199)
low, high = theory.theorem1_sandwich(all_d, all_eps)
extremes = [
    theory.theorem1_deviation(end, all_d, eps=all_eps)
    for end in (np.zeros(all_d.shape), 2 / np.sqrt(2 * np.pi * all_d))
]

lhs = [low, low, *extremes]
rhs = [*extremes, high, high]
for (_, d), (exact, _, _, distance) in simulated.items():
    for eps, K, D in zip(slacks, exact, distance, strict=True):
        bounds = theory.theorem1_sandwich(d, eps)
        lhs += [np.full(K.shape, bounds[0]), K - (1 - D)]
        rhs += [K - (1 - D), np.full(K.shape, bounds[1])]
run.claim(
    "mroueh2015/theorem1-sandwich",
    lhs=np.concatenate([np.ravel(part) for part in lhs]),
    rhs=np.concatenate([np.ravel(part) for part in rhs]),
    note="both sides, for every pair of four groups with d_G by its definition, and for the two ends "
    "of the range of d_G at every d up to 100,000, where K_s is known exactly",
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
axes[0].set(ylabel="$K_s - (1 - d_G) - ε$", title="exact, over all possible $d_G$")
axes[1].set_title(r"the bounds: $\delta_1$ (solid), $-\delta_2$ (dashed)")
axes[0].legend()
run.figure(
    fig,
    "sandwich",
    alt="Left: the exact deviation of K_s from 1 - d_G + eps is a band, mostly below zero, that closes "
    "on zero as the dimension grows, sooner for larger eps. Right: the bounds delta1 and minus delta2 "
    "enclose it, from afar at small dimension.",
    caption="The deviation is never above $d_G(1 - F_{d+1})$, and the first term of $\\delta_2$ is not "
    "needed: the expectation $I_2$ that the proof bounds by Cauchy–Schwarz on both sides is positive.",
)

# %% [markdown]
# The sandwich holds everywhere, d = 1 included. Two remarks on its proof, checked in the tests:
#
# - The lower tail bound of lemma 3 replaces the constant of its source by 1/2. It is true for
#   $d \ge 2$ (closest at $d = 2$, 4 % apart) and false at $d = 1$, where the sandwich survives because the
#   Cauchy–Schwarz step has room to spare.
# - In the proof's last display for the lower bound a factor $(1 + \varepsilon)$ is missing in one line and
#   back in the next. The result is right.
#
# ## The limit of high dimension
#
# Theorem 1.2: $\delta_1, \delta_2 \to 0$ and $K_s \to s - d_G$. The bounds decay like
# $e^{-d\varepsilon^2/16}$. To read an exponential as a power law, take $x = e^{d\varepsilon^2/16}$: a slope of $-1$ in
# $x$ is the stated decay. The kernel itself approaches its limit faster, like
# $e^{-d(\varepsilon - \log(1+\varepsilon))/2}$, the true large-deviation rate of $\chi^2_d / d$.

# %%
rates, expected = {}, {}
fig, axis = plt.subplots(figsize=(6.8, 4))
for eps, shade in zip((0.3, 0.6, 0.9), shades("dimension", 3), strict=True):
    d = np.unique(np.geomspace(100, 480 / eps**2, 12).astype(int))
    ends = [theory.theorem1_gap(end, d, eps=eps) for end in (0 * d, 2 / np.sqrt(2 * np.pi * d))]
    quantities = {
        "δ1": theory.theorem1_delta1(d, eps),
        "δ2": theory.theorem1_delta2(d, eps),
        "K_s": np.abs(ends).max(axis=0),
    }
    for (name, value), style in zip(quantities.items(), ("-", "--", ":"), strict=True):
        axis.plot(d * eps**2 / 16, value, style, color=shade, label=f"{name}, ε = {eps}")
        rates[f"{name}, ε = {eps}"] = fit_rate(np.exp(d * eps**2 / 16), value)
        expected[f"{name}, ε = {eps}"] = -1.0
axis.set(
    yscale="log", xlabel=r"$d \varepsilon^2 / 16$", ylabel="distance to the limit", ylim=(1e-30, 3)
)
axis.legend(ncols=3, fontsize=8)
run.figure(
    fig,
    "limit",
    alt="Logarithm of delta1, delta2 and of the kernel's largest distance to s - d_G against d eps "
    "squared over 16: straight lines, the two deltas with slope minus one, the kernel three times steeper.",
)
run.claim(
    "mroueh2015/theorem1-limit",
    rates=rates,
    expected=expected,
    note="slope of the logarithm against d eps^2 / 16; K_s stands for the largest |K_s - (s - d_G)| over "
    "all d_G, in closed form",
)

# %% [markdown]
# A caution that the limit hides: $d_G$ itself is at most $2/\sqrt{2\pi d}$. In high dimension the kernel
# is a large constant minus a small distance, so that what a learner uses, the differences of $K_s$, is of order
# $d^{-1/2}$, while thresholds are spread over $[-s, s]$. Hence the practical choice `GroupCDF(s="data")`.
#
# ## Symmetric and positive semi-definite
#
# Theorem 1.3. Points in general position and points that share orbits, all groups, dimensions and slacks:

# %%
asymmetries, negatives = [], []
fig, axis = plt.subplots(figsize=(6, 3.6))
for d in run.choose(quick=(4, 16), full=(4, 8, 16, 64)):
    for name, group in groups(d).items():
        X = sphere(run.choose(quick=40, full=100), d, run.rng)
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
    title="d = 16, ε = 0.9",
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
    note="symmetry, invariance and the share of negative eigenvalues; the tolerance is the square root of "
    "machine precision because K_s takes the square root of squared distances",
)

# %% [markdown]
# ## Remark 3.2: local invariance
#
# Nothing in the computation needs a whole group. Restrict $g$ to a subset $\mathcal G$ with a
# probability measure and the orbit distance becomes a local one. Any set of transformations will do;
# a class of ten lines makes one out of chosen elements of a group:


# %%
class Chosen(Transformations):
    """Some elements of a group, with equal probabilities."""

    def __init__(self, group, chosen):
        self.group = group
        self.chosen = chosen

    @property
    def shape(self):
        return self.group.shape

    @property
    def order(self):
        return len(self.chosen)

    def elements(self):
        return np.asarray(self.chosen)

    def sample(self, n_samples, random_state=None):
        return self.elements()[
            np.random.RandomState(random_state).randint(self.order, size=n_samples)
        ]

    def _act(self, elements, X):
        return self.group.act(elements, X)


def windows(d):
    """Local subsets closed under inverses: turns up to 45 degrees, near shifts, one swap at most."""
    circle, shifts, swaps = (
        turns(24, d),
        CyclicShifts(8, block=d // 8),
        Permutations(4, block=d // 4),
    )
    angles = circle.elements()[:, 0, 0]
    swap = np.array([e for e in swaps.elements() if np.sum(e != np.arange(1, 5)) <= 2])
    return {
        "rotations within 45°": Chosen(
            circle, circle.elements()[angles > np.cos(np.pi / 4) - 1e-9]
        ),
        "shifts by at most one": Chosen(shifts, shifts.elements()[[0, 1, 7]]),
        "at most one swap": Chosen(swaps, swap),
    }


lhs, rhs = [], []
for d in run.choose(quick=(8, 32), full=(8, 16, 32, 64, 128)):
    for window in windows(d).values():
        X = sphere(run.choose(quick=8, full=12), d, run.rng)
        D = theory.orbit_distance(window.act(window.elements(), X))
        for eps in slacks:
            low, high = theory.theorem1_sandwich(d, eps)
            deviation = Average(CDF(epsilon=eps), window)(X) - (1 - D)
            lhs += [np.full(D.size, low), deviation.ravel()]
            rhs += [deviation.ravel(), np.full(D.size, high)]

# %% [markdown]
# The paper prints the local distance with $gx$ and $g'z$, while transformed *templates* give
# $g^{-1}x$ and $g'^{-1}z$. On a set that is closed under inverses, as all of the above, it is the same. On one that
# is not, it is the inverses that count. Here are the templates' own words, a large feature map for two
# permutations of three coordinates, a swap and a three-cycle that comes without its inverse:

# %%
third = Permutations(3)
uneven = Chosen(third, [[2, 1, 3], [2, 3, 1]])
mirrored = Chosen(third, third.inverse(uneven.elements()))
X = np.array([[-2.0, 1.0, 1.0]]) / np.sqrt(6)
estimates = []
for _ in range(run.choose(quick=10, full=40)):
    features = GroupCDF(
        uneven,
        4000,
        n_bins=50,
        epsilon=0.9,
        rejection="zero",
        s=1.9,
        random_state=int(run.rng.integers(2**31)),
    )
    Z = features.fit_transform(X)
    estimates.append(Z[0] @ Z[0])
mean, error = mean_se(estimates)
as_printed = Average(CDF(epsilon=0.9), uneven)(X)[0, 0]
inverted = Average(CDF(epsilon=0.9), mirrored)(X)[0, 0]
pd.DataFrame(
    {"K_s(x, x)": [f"{mean:.4f} ± {error:.4f}", f"{as_printed:.4f}", f"{inverted:.4f}"]},
    index=["features", "integral of |gx - g'z|", "integral of |g⁻¹x - g'⁻¹z|"],
)

# %%
run.claim(
    "mroueh2015/remark3-local",
    lhs=np.concatenate(lhs),
    rhs=np.concatenate(rhs),
    note="the sandwich of theorem 1 with the local distance, on subsets closed under inverses; on others "
    f"the distance runs over inverses: features {mean:.4f} ± {error:.4f}, the printed integral "
    f"{as_printed:.4f}, the one over inverses {inverted:.4f}",
)

# %% [markdown]
# What local invariance means is seen best along one orbit. Turn a point by $\theta$ and compare:

# %%
d = 16
circle = turns(72, d)
listed = circle.elements()
angle = np.degrees(np.arctan2(listed[:, 1, 0], listed[:, 0, 0]))
order = np.argsort(angle)
x = sphere(1, d, run.rng)
fig, axis = plt.subplots(figsize=(6.4, 3.8))
for width, shade in zip((0, 30, 90, 180), shades("local", 4), strict=True):
    window = Chosen(circle, listed[np.abs(angle) <= width + 1e-9]) if width < 180 else circle
    along = Average(CDF(epsilon=0.3), window)(x, circle.act(listed, x)[:, 0])[0]
    axis.plot(
        angle[order],
        along[order],
        color=shade,
        label=f"within ±{width}°" if width < 180 else "whole group",
    )
axis.set(
    xlabel="rotation of z = g x (degrees)", ylabel="$K_s(x, gx)$", xticks=np.arange(-180, 181, 60)
)
axis.legend()
run.figure(
    fig,
    "local",
    alt="K_s between a point and its rotated copy against the angle: sharply peaked without "
    "averaging, flatter and lower with growing windows, constant for the whole group.",
    caption="The larger the window, the less the kernel notices a small rotation; a large one still counts.",
)

# %% [markdown]
# ## Remark 3.3: points of any norm
#
# With $|x| \le R$ and $s = R(1 + \varepsilon)$ equation (4) scales both slacks by $R$; the one call is
# `theory.theorem1_sandwich(d, eps, R)`. Norms are drawn uniformly up to $R$, with one point of norm $R$ itself.

# %%
lhs, rhs = [], []
for R in (0.5, 2.0, 10.0):
    for d in run.choose(quick=(4, 16), full=(4, 8, 16, 64)):
        for group in groups(d).values():
            X = sphere(10, d, run.rng) * R * np.r_[1.0, run.rng.uniform(0, 1, 9)][:, None]
            D = theory.orbit_distance(group.act(group.elements(), X))
            for eps in slacks:
                low, high = theory.theorem1_sandwich(d, eps, R=R)
                deviation = Average(CDF(epsilon=eps, radius=R), group)(X) - (R - D)
                lhs += [np.full(D.size, low), deviation.ravel()]
                rhs += [deviation.ravel(), np.full(D.size, high)]
run.claim("mroueh2015/remark3-norm", lhs=np.concatenate(lhs), rhs=np.concatenate(rhs))

# %% [markdown]
# ## One identity of section 2 that needs a large group sample
#
# Section 2 says that $\lim_n E_{t,g} \langle\Phi(x), \Phi(z)\rangle = K_s(x, z)$ for sampled group elements. Both
# feature vectors use the *same* sampled elements, though, so a share $1/|G|$ of all pairs $(g_i, g_{i'})$ has
# $i = i'$, and these see the plain distance $|x - z|$:
#
# $$ E\,\langle\Phi(x), \Phi(z)\rangle = \Bigl(1 - \tfrac{1}{|G|}\Bigr) K_s(x, z) + \tfrac{1}{|G|} K_s^{\{e\}}(x, z) $$
#
# (`theory.expected_inner_product`). Two elements of a group of 24 rotations, two opposite points, which lie in
# one orbit but are as far apart as points can be:

# %%
circle, d, eps = turns(24, 4), 4, 0.6
x = sphere(1, d, run.rng)
X = np.r_[x, -x]
K = Average(CDF(epsilon=eps), circle)(X)[0, 1]
plain_K = CDF(epsilon=eps)(X)[0, 1]
counts = (1, 2, 4, 8, 16, 32)
draws = np.empty((run.choose(quick=20, full=100), len(counts)))
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
axis.set(xscale="log", xlabel="sampled group elements |G|", ylabel="mean of ⟨Φ(x), Φ(−x)⟩")
axis.legend()
run.figure(
    fig,
    "sampled_group",
    alt="Mean inner product of features of x and -x against the number of sampled group "
    "elements: it follows the curve with the 1/|G| term and reaches K_s only for many elements.",
    caption="Bars of two standard errors. For one element the features are those of the trivial group.",
)

# %% [markdown]
# ## What to take along
#
# - The sandwich is true, and we know more than it says: $K_s$ in closed form.
# - The limit $s - d_G$ is approached exponentially fast in $d$, faster than the bounds tell, and nearly always
#   from below.
# - Rejection costs nothing but a factor close to one; what limits the contrast of $K_s$ in high dimension is
#   the $d^{-1/2}$ in $d_G$.
# - With sampled group elements the expected kernel has a bias of order $1/|G|$ towards the plain kernel.
