# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem 3: the risk of a linear learner on invariant features
#
# *Mroueh, Voinea and Poggio (2015), section 4 and appendix B.*
#
# The bound of theorem 3 holds in every draw, and every part of the excess risk falls at least as fast
# as stated. With an unrestricted class the bound is larger than the risk of always predicting zero;
# with a small class it is informative.
#
# Take the functions that weigh the cumulative distributions of *all* templates and thresholds,
#
# $$ \mathcal F_p = \Bigl\{ f(x) = \iint_{-s}^{s} w(t, \tau)\, \psi(x, t, \tau)\, d\tau\, dt
#    \;\Big|\;
#    \sup \frac{|w(t, \tau)|}{p(t)} \le C \Bigr\}, $$
#
# and their finite counterpart on sampled templates, group elements and bins,
#
# $$ \tilde{\mathcal F} = \Bigl\{ f(x) = \frac{s}{n} \sum_{j, k} w_{jk}\,
#    \hat\psi\bigl(x, t_j, \tfrac{sk}{n}\bigr) \;\Big|\;
#    \lVert w \rVert_\infty \le \frac{C}{m} \Bigr\} . $$
#
# Theorem 3: the empirical risk minimiser over $\tilde{\mathcal F}$, trained on the core set alone,
# comes within $O(N^{-1/2}) + O(m^{-1/2}) + O(\sqrt{\log m / |G|}) + O(1/n)$ of the best function
# of $\mathcal F_p$ on all of $\mathcal X$.
#
# To test that we need the minimiser, a convex program that `NormInfinityClassifier` solves with a
# certificate, and the best risk over $\mathcal F_p$: we build the problem around a known member.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1
epsilon: float = 0.5  # slack of the range of thresholds
margin: float = 0.4  # C times s for the small class; up to 0.476

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _groups import sphere
from _norm_infinity import NormInfinityClassifier, margin_loss
from _theorem3 import (
    LinearProblem,
    best_in_class,
    draw_sample,
    expected_risk,
    features,
    make_problems,
)
from scipy.special import expit

from invariance.companion import Run, colour, curve, fit_rate, mean_se, panel, ticks
from invariance.groups import Permutations
from invariance.linear import RLSRegressor
from invariance.theory import mroueh2015 as theory

run = Run("mroueh2015/theorem3", profile=profile, seed=seed, epsilon=epsilon, margin=margin)

# %% tags=["settings"]
if run.quick:
    n_core = 80  # core points of the problems with a known best function
    m = 6  # templates of their class
    n = 5  # bins of their class
    n_class_draws = 3  # draws of features and samples
    sizes = np.array([20, 80, 320])  # training points
    n_small_core = 20  # core points of the problem with a small class
    n_pool = 2000  # templates for its best risk
    SMALL_CLASS = [{"samples": 400, "templates": 32, "elements": 0, "bins": 10}]
    ms = np.array([8, 16, 32, 64])  # templates, for the rate
    n_trials = 10
    n_repetitions = 30
else:
    n_core = 300
    m = 12
    n = 8
    n_class_draws = 5
    sizes = np.array([25, 50, 100, 200, 400, 800, 1600])
    n_small_core = 40
    n_pool = 100_000
    SMALL_CLASS = [
        {"samples": 1600, "templates": 64, "elements": 0, "bins": 20},
        {"samples": 6400, "templates": 256, "elements": 0, "bins": 20},
        {"samples": 6400, "templates": 256, "elements": 1024, "bins": 20},
    ]
    ms = np.array([16, 32, 64, 128, 256, 512])
    n_trials = 40
    n_repetitions = 190

# %% [markdown]
# ## A problem whose best risk is known
#
# **The core set** is a finite set of sorted unit vectors of $\mathbb R^4$, equally likely; $G$ is
# all 24 permutations, and $\mathcal X = G\mathcal X_0$. Every expectation is then a finite sum.
#
# **The target** is $f^\star = C\,\bigl(K_s(\cdot, x_1) - K_s(\cdot, x_2)\bigr)$, in closed form.
# By lemma 1's own argument it has $w/p = C\,(\psi(x_1, t, \tau) - \psi(x_2, t, \tau)) \in [-C,
# C]$, so it belongs to $\mathcal F_p$ with that $C$.
#
# **The labels** make $f^\star$ the best function of all, hence the best of $\mathcal F_p$:
#
# - square loss $(1 - u)^2$: $P(y = 1 \mid x) = (1 + f^\star(x))/2$, best risk $E[1 - f^{\star 2}]$;
# - logistic loss $\log(1 + e^{-u})$: $P(y = 1 \mid x) = 1/(1 + e^{-f^\star(x)})$, best risk entropy;
# - hinge loss $\max(0, 1 - u)$: $y = \mathrm{sign} f^\star(x)$ on the half of the core set where
#   $|f^\star| \ge 1$, best risk 0.

# %%
group = Permutations(4)
d = 4
eps = epsilon
s = 1 + eps

problems = make_problems(group, eps, n_core, run.seed)
overview = {}
for loss, problem in problems.items():
    overview[loss] = {
        "core points": len(problem.X),
        "C": problem.C,
        "best risk": problem.best_risk,
        "check: risk of f*": expected_risk(problem, problem.best),
    }
pd.DataFrame.from_dict(overview, orient="index").round(4)

# %% [markdown]
# ## The minimiser
#
# `NormInfinityClassifier(bound=C / m, loss=...)` on the features $\frac sn \hat\psi$, which are those
# of `GroupCDF` up to a constant. Given probabilities as sample weights it minimises the *expected*
# risk, which splits the excess risk into the theorem's two parts:
#
# $$ \underbrace{\mathcal E_V(f_N) - \min_{\tilde{\mathcal F}} \mathcal E_V}_{\text{statistical}}
#    \; + \; \underbrace{\min_{\tilde{\mathcal F}} \mathcal E_V
#    - \min_{\mathcal F_p} \mathcal E_V}_{\text{approximation}} . $$

#
# The excess risk of regularised least squares (Tikhonov) on the same features stands beside it.


# %%
@run.cache
def learning_curves(loss, draw, sizes, seed):
    """Return one row per training size, with the parts of the excess risk in one draw."""
    problem = make_problems(group, eps, n_core, seed)[loss]
    rng = np.random.default_rng([seed, draw, len(loss)])
    Z = features(problem.X, group, n_templates=m, n_bins=n, eps=eps, seed=seed + draw)
    least_risk = expected_risk(problem, best_in_class(problem, Z, m).decision_function(Z))
    rows = []
    for N in sizes:
        chosen, y = draw_sample(problem, N, rng)
        model = NormInfinityClassifier(problem.C / m, loss).fit(Z[chosen], y)
        risk = expected_risk(problem, model.decision_function(Z))
        ridge = RLSRegressor().fit(Z[chosen], y)
        ridge_risk = expected_risk(problem, ridge.predict(Z))
        row = {"loss": loss, "draw": draw, "N": N}
        row["excess"] = risk - problem.best_risk
        row["statistical"] = risk - least_risk
        row["gap"] = model.duality_gap_[0]
        row["Tikhonov"] = ridge_risk - problem.best_risk
        rows.append(row)
    return rows


# %%
curve_rows = []
for loss in problems:
    for draw in range(n_class_draws):
        curve_rows += learning_curves(loss, draw, sizes.tolist(), run.seed)
curves = pd.DataFrame(curve_rows)
print(f"largest duality gap of {len(curves)} programs: {curves['gap'].max():.1e}")

# %% [markdown]
# ## The bound
#
# `theory.theorem3_bound(N, m, G, n, L, C, s, V0, delta)`, here with the whole group ($|G| =
# \infty$ removes its term). $L$ is taken on the range of $\tilde{\mathcal F}$.
#
# The proof has slips, which `theory.theorem3_bound(..., printed=False)` corrects:
#
# - $2n + 1$ thresholds with weight $s/n$ add up to $(2 + 1/n)\,s$, not $s$: so the Rademacher
#   complexity of $\tilde{\mathcal F}$ is at most $(2 + 1/n)\, s C / \sqrt N$, and the supremum of
#   $|f|$ over it is $(2 + 1/n)\, s C$, not $C$.
# - The Riemann sum in lemma 4 needs weights that are regular in $\tau$, or averages of $w$ over bins.
# - Lemma 6 needs both signs of a deviation, which costs another $\delta$.

# %%
delta = 0.05


def bound(problem, n_samples, printed=True):
    """Theorem 3's bound with the whole group, as printed or with the corrected constants."""
    largest_value = (2 + 1 / n) * s * problem.C
    L, V0 = theory.loss_constants(problem.loss, largest_value)
    return theory.theorem3_bound(
        n_samples,
        m,
        G=np.inf,
        n=n,
        L=L,
        C=problem.C,
        s=s,
        V0=V0,
        delta=delta,
        printed=printed,
    )


# %% [markdown]
# One panel per loss: the measured excess risk and its statistical part, the bound with both sets of
# constants, and the excess risk of predicting zero.


# %%
def draw_measured(axis, loss):
    """Draw the means of the measured excess risks with their errors."""
    shown = {
        "minimiser over F̃": ("excess", "erm"),
        "its statistical part": ("statistical", "samples"),
    }
    if loss == "square":
        shown["Tikhonov (RLS)"] = ("Tikhonov", "rls")
    rows = curves[curves["loss"] == loss]
    for label, (column, method) in shown.items():
        values = rows.pivot(index="draw", columns="N", values=column)
        mean, error = mean_se(values.to_numpy())
        mean = np.where(mean > 1e-8, mean, np.nan)  # solver precision
        curve(axis, sizes, mean, method, np.minimum(error, 0.475 * mean), label=label)


# %%
fig, axes = plt.subplots(1, 3, figsize=(9, 4.6))
for axis, (loss, problem) in zip(axes, problems.items(), strict=True):
    draw_measured(axis, loss)
    zero_risk = float(margin_loss(loss, 0.0)) - problem.best_risk
    printed = [bound(problem, N) for N in sizes]
    corrected = [bound(problem, N, printed=False) for N in sizes]
    panel(
        axis,
        sizes,
        {
            "theorem 3, as printed": ("bound", printed),
            "with the constants mended": ("bound", corrected, {"ls": "--"}),
            "f = 0": ("raw", 0 * sizes + zero_risk, {"ls": ":", "marker": ""}),
        },
        log="xy",
        ends=None,
        xlabel="training points N",
        title=f"The bound allows the {loss} loss\n{printed[-1] / zero_risk:,.0f} times that of f = 0",
    )
axes[0].set_ylabel("expected risk above the best of $F_p$")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
caption = (
    f"m = {m} templates, n = {n} bins; mean and two standard errors over {n_class_draws} draws."
)
run.figure(fig, "learning_curves", caption=caption)

# %% [markdown]
# If a title names a number above one, the bound is weaker than the risk of always predicting zero.
#
# ## A small class, for which the bound is informative
#
# Take $C$ so small that no function of the class leaves the linear part of the hinge loss, $(2 +
# 1/n)\,s\,C \le 1$. Then the loss is $1 - y f(x)$. With $\mu(t, \tau) = E[y\, \psi(x, t, \tau)]$,
#
# $$ \min_{\mathcal F_p} \mathcal E_V = 1 - C\, E_t \int_{-s}^{s} |\mu(t, \tau)|\, d\tau , $$
#
# and the empirical minimiser over $\tilde{\mathcal F}$ takes $w_{jk} = \frac Cm
# \operatorname{sign} \frac1N \sum_i y_i \hat\psi(x_i, t_j, sk/n)$. No program has to be solved, and
# the bound falls below the largest loss of a function of the class.

# %%
core = np.sort(sphere(n_small_core, d, np.random.default_rng([seed, 5])), axis=1)
gap = core[:, -1] - core[:, -2]  # between the two largest coordinates
matrices = np.stack([group.act(g[None], np.eye(d))[0] for g in group.elements()])
small = LinearProblem(
    core=core,
    positive=0.2 + 0.75 * expit(20 * (gap - 0.25)),
    matrices=matrices,
    s=s,
    C=margin / s,
)
pool = small.integrals(n_pool, np.random.default_rng([seed, 6]))
least_risk_of_all = 1 - small.C * pool.mean()


# %%
@run.cache
def small_class_trials(samples, templates, elements, bins, n_trials, seed):
    """Excess risks of the empirical minimiser over the best of F_p, one per draw."""
    rng = np.random.default_rng([seed, samples, templates, elements, bins])
    excess = []
    for _ in range(n_trials):
        risk = small.risk_of_minimiser(samples, templates, elements, bins, rng)
        excess.append(risk - least_risk_of_all)
    return excess


# %%
def small_class_bound(size, printed=True):
    """Theorem 3's bound for the small class and the hinge loss."""
    return theory.theorem3_bound(
        size["samples"],
        size["templates"],
        G=size["elements"] or np.inf,
        n=size["bins"],
        L=1.0,
        C=small.C,
        s=s,
        V0=1.0,
        delta=delta,
        printed=printed,
    )


# %%
table_rows = []
small_trials = []
for size in SMALL_CLASS:
    excess = small_class_trials(**size, n_trials=n_trials, seed=run.seed)
    promised = small_class_bound(size)
    ceiling = small.largest_value(size["bins"]) + small.C * pool.mean()
    small_trials += [(value, promised, ceiling) for value in excess]
    row = {
        "N": size["samples"],
        "templates": size["templates"],
        "elements": size["elements"] or "all",
        "bins": size["bins"],
        "largest excess": f"{max(excess):.4f}",
        "bound": f"{promised:.4f}",
        "with the constants mended": f"{small_class_bound(size, printed=False):.4f}",
        "can be at most": f"{ceiling:.4f}",
    }
    table_rows.append(row)
table = pd.DataFrame(table_rows)
run.table(table, "sharp", caption=f"Excess risk over the best of $F_p$, {n_trials} draws each.")

# %% [markdown]
# The claim takes both: every draw of the convex programs, and the small class as the sharper test. The
# ceiling is the excess risk of a function of the class that errs everywhere.

# %% tags=["claims"]
bounds = []
ceilings = []
for row in curves.itertuples():
    problem = problems[row.loss]
    largest_value = (2 + 1 / n) * s * problem.C
    bounds.append(bound(problem, row.N))
    ceilings.append(float(margin_loss(row.loss, -largest_value)) - problem.best_risk)
run.claim(
    "mroueh2015/theorem3-risk",
    lhs=curves["excess"],
    rhs=bounds,
    ceiling=ceilings,
    allowed=3 * delta,
    sharper={
        "says": f"hinge loss in its linear part, C = {margin:g} / s, printed constants, N and m up to "
        f"{table['N'].max():,} and {table['templates'].max():,}",
        "trials": small_trials,
        "allowed": 3 * delta,
    },
    note="excess expected risk over the known minimum of F_p, each draw of features and sample a "
    "trial; first with the convex program, where the bound exceeds the risk of f = 0",
)

# %% [markdown]
# ## Rates, one size at a time
#
# The same problem gives each part of the excess risk with nothing else in it. Write $\mathcal E$
# for the expected hinge risk and $\hat{\mathcal E}$ for the empirical one. The theorem states upper
# bounds, so a part may fall faster. All draws are fresh.
#
# *Templates*: $|\min_{\tilde{\mathcal F}} \mathcal E - \min_{\mathcal F_p} \mathcal E|$ with
# the whole group and all thresholds; a few templates may by luck do better than $\mathcal F_p$.

# %%
rng = np.random.default_rng([seed + 2, 7])
fresh_pool = small.integrals(n_pool, np.random.default_rng([seed + 2, 6]))
centred = fresh_pool - fresh_pool.mean()
n_means = min(n_repetitions, len(centred) // ms[-1])
template_means = [centred[: k * n_means].reshape(n_means, k).mean(axis=1) for k in ms]
by_templates = small.C * np.abs(template_means)

# %% [markdown]
# *Samples*: $|\mathcal E(f_N) - \hat{\mathcal E}(f_N)|$ for 20 fixed templates and 10 bins.

# %%
Ns = np.array([25, 50, 100, 200, 400, 800])
templates, accepted = small.draw_templates(20, rng)
mu = small.signed_means(templates, accepted, 10).mean(axis=0)
psi = small.indicators(templates, accepted, 10).mean(axis=2)
psi = psi.transpose(1, 0, 2).reshape(len(core), -1)
cell_probabilities = np.r_[small.positive, 1 - small.positive] / len(core)


def generalisation_gap(cell_counts, n_samples):
    """Expected less empirical risk of the empirical minimiser, in size."""
    label_sums = cell_counts[: len(core)] - cell_counts[len(core) :]
    observed = label_sums @ psi / n_samples
    return s * small.C / (20 * 10) * abs(np.abs(observed).sum() - np.sign(observed) @ mu)


# %%
by_samples = np.empty((len(Ns), n_repetitions))
for i, N in enumerate(Ns):
    for j, cell_counts in enumerate(rng.multinomial(N, cell_probabilities, n_repetitions)):
        by_samples[i, j] = generalisation_gap(cell_counts, N)


# %% [markdown]
# *Elements*: the expected risk on all orbits of the function that is best for the sampled elements,
# less the least risk in the class. Labels alternate along the core set, so that signs depend on the
# elements drawn.

# %%
gs = np.array([16, 32, 64, 128, 256, 512])
waves = np.sin(12 * (core[:, -1] - core[:, -2]) + 5 * core[:, 0])
wavy_means = 0.4 * np.sign(waves) / len(core)
uniform = np.full(len(matrices), 1 / len(matrices))


def lost_by_sampling(rng):
    """Excess risk on all orbits, over the best of the class, for each number of elements."""
    templates, accepted = small.draw_templates(100, rng)
    per_element = small.signed_means(templates, accepted, 10, wavy_means)
    mu = per_element.mean(axis=0)
    losses = []
    for n_elements in gs:
        shares = rng.multinomial(n_elements, uniform) / n_elements
        signs = np.sign(shares @ per_element)
        losses.append(s * small.C / 1000 * (np.abs(mu) - signs * mu).sum())
    return losses


by_elements = np.array([lost_by_sampling(rng) for _ in range(n_repetitions)]).T

# %% [markdown]
# *Bins*: the least risk with n bins against that with all thresholds, in size.

# %%
ns = np.array([4, 8, 16, 32, 64])
by_bins = np.empty((len(ns), 20))
for i in range(20):
    exact = small.integrals(20, np.random.default_rng([seed + 2, 8, i])).mean()
    same_rng = np.random.default_rng([seed + 2, 8, i])
    templates, accepted = small.draw_templates(20, same_rng)
    for j, k in enumerate(ns.tolist()):
        mu = small.signed_means(templates, accepted, k).mean(axis=0)
        riemann_sum = s / k * np.abs(mu).sum() / 20
        by_bins[j, i] = small.C * abs(riemann_sum - exact)

# %%
excess_parts = {
    "samples": {"x": Ns, "values": by_samples, "stated": -0.5, "label": "training points N"},
    "templates": {"x": ms, "values": by_templates, "stated": -0.5, "label": "templates m"},
    "group": {"x": gs, "values": by_elements, "stated": -0.5, "label": "sampled elements |G|"},
    "bins": {"x": ns, "values": by_bins, "stated": -1.0, "label": "bins n"},
}
rates = {name: fit_rate(part["x"], part["values"].T) for name, part in excess_parts.items()}

# %%
fig, axes = plt.subplots(2, 2, figsize=(8.4, 6.4))
for axis, (name, part) in zip(axes.flat, excess_parts.items(), strict=True):
    x = part["x"]
    stated = part["stated"]
    mean = curve(axis, x, part["values"].T, name, ls="none", label="measured")
    stated_power = mean[0] * (x / x[0]) ** stated
    axis.plot(x, rates[name].predict(x), color=colour(name), label="fitted power")
    axis.plot(x, stated_power, ":", color=colour("bound"), label="stated power")
    axis.set(
        xscale="log",
        yscale="log",
        xlabel=part["label"],
        ylabel="part of the excess risk",
        title=f"The slope is {rates[name].slope:.2f}, stated {stated:g}",
    )
    ticks(axis, x)
axes[0, 0].legend()
run.figure(fig, "rates", caption="Bars of two standard errors.")

# %% [markdown]
# A slope steeper than stated means that a size enters more gently: near the best function, errors
# matter only if they change a sign, which a Lipschitz argument cannot see.

# %% tags=["claims"]
run.claim(
    "mroueh2015/theorem3-rates",
    rates=rates,
    expected={name: part["stated"] for name, part in excess_parts.items()},
    upper_bound=True,
)

# %% [markdown]
# ## Try it
#
# `invariance run mroueh2015/theorem3 -p margin 0.2`: a smaller class and bound. Or `-p epsilon 0.9`.
