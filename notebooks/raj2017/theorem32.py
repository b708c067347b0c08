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
# # What learning with few templates and few group samples costs
#
# *Raj et al. (2017), Theorem 3.2.*
#
# Let $\mathcal{F}_p$ be the functions $f(x) = \int \alpha(\omega) \int_G e^{-i \langle gx, \omega
# \rangle} q(g)\, d\nu(g)\, d\omega$ with $|\alpha(\omega)| \le C p(\omega)$. A learner that
# minimises the empirical risk of a Lipschitz loss over $s$ random templates and $r$ random group
# elements, with $|\alpha_k| \le C/s$, is at most
#
# $$O\!\left( \left( \frac{1}{\sqrt N} + \frac{1}{\sqrt s} + \frac{1}{\sqrt r} \right)
# L C \sqrt{\log \tfrac1\delta} \right)$$
#
# worse than the best function of $\mathcal{F}_p$. We let each of $N$, $s$ and $r$ grow while the
# other two are as good as infinite, and look at the exponents.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy import special

from invariance.companion import Run, colour, fit_rate, marker, mean_se
from invariance.features import OrbitFourier
from invariance.groups import CircleAction, VonMises
from invariance.linear import NormInfinityClassifier, margin_loss
from invariance.theory import raj2017

run = Run("raj2017/theorem32", profile=profile, seed=seed)

# %% [markdown]
# ## A population whose risk is known exactly
#
# Points of the disc, finitely many, with label probabilities that oscillate; the circle acts on
# them under a von Mises density. With a finite population the expected risk is a finite sum, and
# its minimiser over $|\alpha_k| \le C/s$ solves one linear program for the hinge loss
# (`NormInfinityClassifier`, which reports its duality gap).

# %%
SETTINGS = {
    "quick": {"population": 60, "learners": 8, "enough": 200, "draws": 30, "pool": 2000},
    "full": {"population": 120, "learners": 24, "enough": 400, "draws": 300, "pool": 150_000},
}[profile]
C, gamma = 4.0, 1.5
population = SETTINGS["population"]
rng = np.random.default_rng(seed)
radius, angle = np.sqrt(rng.uniform(0, 1, population)) * 1.5, rng.uniform(-np.pi, np.pi, population)
X = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
probability = 0.5 + 0.45 * np.sign(np.sin(4 * radius) * np.cos(angle))  # of label +1
density = VonMises(kappa=2.0)
nodes, circle = CircleAction([1, 1], density, n_nodes=48), CircleAction([1, 1], density)


def features(s, r, draw):
    """Templates of F_p without normalisation: real and imaginary parts, |alpha_k| <= C / s each."""
    group, n_transforms = (nodes, None) if r is None else (circle, r)
    model = OrbitFourier(
        group, s, n_transforms=n_transforms, gamma=gamma, form="cos_sin", random_state=draw
    )
    return model.fit_transform(X) * np.sqrt(s)


def expected_risk(scores):
    return np.mean(
        probability * margin_loss("hinge", scores)
        + (1 - probability) * margin_loss("hinge", -scores)
    )


def minimise(Z, s, labels, weights, index):
    model = NormInfinityClassifier(bound=C / s, loss="hinge")
    model.fit(Z[index], labels, sample_weight=weights)
    return Z @ model.coef_[0] * (1 if model.classes_[1] == 1 else -1)


both = np.r_[np.arange(population), np.arange(population)]
labels = np.repeat([1, -1], population)
chances = np.r_[probability, 1 - probability]

# %% [markdown]
# ## What N labelled points cost
#
# With the templates fixed and the group integrated, the excess risk of $N$ labelled points over
# what these templates can do at best, by the program above:

# %%
enough, learners = SETTINGS["enough"], SETTINGS["learners"]
sizes = {"quick": [25, 100, 400], "full": [25, 50, 100, 200, 400, 800]}[profile]
fixed = {draw: features(enough, None, 500 + draw) for draw in range(learners)}
best = {draw: minimise(Z, enough, labels, chances, both) for draw, Z in fixed.items()}


def excess_risk(n, draw):
    rng = np.random.default_rng([seed, n, draw])
    while True:
        index = rng.integers(population, size=n)
        y = np.where(rng.random(n) < probability[index], 1, -1)
        if len(set(y)) == 2:
            break
    learnt = minimise(fixed[draw], enough, y, None, index)
    return expected_risk(learnt) - expected_risk(best[draw])


by_program = np.array([[excess_risk(n, i) for i in range(learners)] for n in sizes])

# %% [markdown]
# ## Templates and group samples: the risk itself
#
# Take $C$ so small that the hinge loss stays in its linear part, $1 - y f(x)$. Then the best risk
# over $\mathcal F_p$ and over the random class are known,
#
# $$ 1 - C\, E_\omega\bigl[\,|\mu_c(\omega)| + |\mu_s(\omega)|\,\bigr], \qquad
#    \mu_c(\omega) = E\Bigl[ y \int_G \cos \langle gx, \omega \rangle\, q(g)\, d\nu(g) \Bigr] $$
#
# (and $\mu_s$ with the sine). The random class takes the mean over its $s$ templates in place of
# $E_\omega$, and over its $r$ elements in place of the integral: its best risk is known as well.
# Either part may be negative (a few templates, or elements, may by luck be better than $\mathcal
# F_p$), so sizes are measured.

# %%
signed = (2 * probability - 1) / population
small = 0.35
rng = np.random.default_rng([seed, 3])
radii, turned = np.linalg.norm(X, axis=1), np.arctan2(X[:, 1], X[:, 0])
orders = np.arange(-30, 31)
shares = special.ive(np.abs(orders), density.kappa) / special.ive(0, density.kappa)


def means(omega, characters):
    """E[y cos] and E[y sin] under elements whose characters are mean exp(i m g), (2, templates).

    exp(i <g x, w>) = sum_m i^m J_m(|x| |w|) exp(i m (angle of x + g - angle of w)).
    """
    size, angle = np.linalg.norm(omega, axis=1), np.arctan2(omega[:, 1], omega[:, 0])
    bessel = special.jv(orders[:, None, None], size[:, None] * radii)
    points = np.exp(1j * orders[:, None] * turned) * signed
    inner = np.einsum("mtp,mp->mt", bessel, points)
    inner *= (1j ** (orders % 4) * characters)[:, None] * np.exp(-1j * orders[:, None] * angle)
    total = inner.sum(axis=0)
    return np.array([total.real, total.imag])


def pool_of(count):
    """|mu_c| + |mu_s| for so many templates."""
    parts = []
    for start in range(0, count, 1000):
        omega = np.sqrt(2 * gamma) * rng.standard_normal((min(1000, count - start), 2))
        parts.append(np.abs(means(omega, shares)).sum(axis=0))
    return np.concatenate(parts)


pool = pool_of(SETTINGS["pool"])
draws = SETTINGS["draws"]
ss = np.array([8, 16, 32, 64, 128, 256, 512])
ss = ss[ss * draws <= 1.1 * len(pool)]
by_templates = np.array(
    [
        [small * abs(pool[i * k : (i + 1) * k].mean() - pool.mean()) for i in range(draws)]
        for k in ss
    ]
)
omega = np.sqrt(2 * gamma) * rng.standard_normal((60, 2))
mu, rs = means(omega, shares), np.array([8, 16, 32, 64, 128, 256, 512])
by_group = np.empty((len(rs), draws))
for j, r in enumerate(rs):
    for i in range(draws):
        angles = np.ravel(circle.sample(int(r), int(rng.integers(2**31))))
        sampled = means(omega, np.exp(1j * orders[:, None] * angles).mean(axis=1))
        by_group[j, i] = small * abs((np.abs(mu) - np.abs(sampled)).sum(axis=0).mean())
measured = {
    "samples": (np.array(sizes), by_program, "labelled points N"),
    "templates": (ss, by_templates, "templates s"),
    "group": (rs, by_group, "group samples r"),
}
fits = {name: fit_rate(x, values) for name, (x, values, _) in measured.items()}

# %%
fig, axes = plt.subplots(1, 3, figsize=(11, 3.6))
for ax, (name, (x, values, label)) in zip(axes, measured.items(), strict=True):
    mean, se = mean_se(values.T)
    ax.errorbar(x, mean, 2 * se, color=colour(name), marker=marker(name), linestyle="none")
    ax.plot(x, fits[name].predict(x), color=colour(name))
    ax.plot(x, fits[name].predict(x[:1]) * (x / x[0]) ** -0.5, ":", color=colour("bound"))
    ax.set(xscale="log", yscale="log", xlabel=label, title=f"slope {fits[name].slope:.2f}")
    ax.minorticks_off()
axes[0].set_ylabel("part of the excess risk")
run.figure(
    fig,
    "rates",
    alt="Parts of the excess risk against labelled points, templates and group samples on "
    "logarithmic "
    "axes with fitted power laws: templates fall at the power minus one half, drawn dotted, points "
    "and group samples faster.",
    caption="Each of N, s, r alone; means and two standard errors over random draws. Dotted: "
    "slope −1/2.",
)
run.claim(
    "raj2017/theorem3.2",
    rates=fits,
    expected=dict.fromkeys(fits, -0.5),
    upper_bound=True,
    note="excess expected hinge risk: N by the program at C = 4, s and r in closed form at C = "
    "0.35, "
    "where the loss is linear on the class; the sizes of these two parts, which have either sign",
)

# %% [markdown]
# ## And the bound itself
#
# Its constants make it vacuous at affordable sizes, as risk bounds of this kind are: at $f = 0$ the
# hinge risk is 1.

# %%
rows = [
    {
        "N": n,
        "s": n,
        "r": n,
        "bound on the excess": float(raj2017.excess_risk_bound(n, n, r=n, C=C, delta=0.05)),
    }
    for n in (10**2, 10**4, 10**6, 10**8)
]
run.table(rows, "bound", caption="Theorem 3.2 with its constants, probability 0.85, hinge loss.")
