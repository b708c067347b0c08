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
# \rangle} q(g)\, d\nu(g)\, d\omega$ with $|\alpha(\omega)| \le C p(\omega)$. A learner that minimises
# the empirical risk of a Lipschitz loss over $s$ random templates and $r$ random group elements,
# with $|\alpha_k| \le C/s$, is at most
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

from invariance.companion import Run, colour, fit_rate, marker
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
C, gamma = 4.0, 1.5
population = run.choose(quick=60, full=120)
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
# ## Labelled points
#
# With the templates fixed and the group integrated, the excess risk of $N$ labelled points over
# what these templates can do at best:

# %%
repetitions = run.choose(quick=20, full=40)
n_learners = run.choose(quick=8, full=30)
enough = run.choose(quick=200, full=500)
sizes = {
    "samples": run.choose(
        quick=[25, 100, 400, 1600], full=[25, 50, 100, 200, 400, 800, 1600, 3200]
    ),
    "templates": run.choose(
        quick=[8, 32, 128, 512], full=[8, 16, 32, 64, 128, 256, 512, 1024, 2048]
    ),
    "group": run.choose(quick=[2, 8, 32, 128], full=[2, 4, 8, 16, 32, 64, 128, 256, 512]),
}
fixed = {draw: features(enough, None, 500 + draw) for draw in range(n_learners)}
best = {draw: minimise(Z, enough, labels, chances, both) for draw, Z in fixed.items()}
bayes = np.mean(1 - np.abs(2 * probability - 1))
reached = np.mean([expected_risk(scores) for scores in best.values()])
print(f"risk at f = 0: 1; best in the box: {reached:.3f}; best of all functions: {bayes:.3f}")


def excess_risk(n, draw):
    rng = np.random.default_rng([seed, n, draw])
    index = rng.integers(population, size=n)
    y = np.where(rng.random(n) < probability[index], 1, -1)
    return expected_risk(minimise(fixed[draw], enough, y, None, index)) - expected_risk(best[draw])


measured = {
    "samples": np.array([[excess_risk(n, i) for i in range(n_learners)] for n in sizes["samples"]])
}

# %% [markdown]
# ## Templates and group samples
#
# These two enter the theorem through Lemma A.2: for every $f^* \in \mathcal{F}_p$ the random class
# holds some $\hat f$ with
#
# $$\| f^* - \hat f \|_{L_2} \le C \Bigl( \frac1{\sqrt s} + \frac1{\sqrt r} \Bigr)
# \Bigl( 1 + \sqrt{2 \log \tfrac1\delta} \Bigr),$$
#
# and a Lipschitz loss turns distance into risk. (The excess risk itself can be *negative* here: a
# few templates or a few group samples are damped less than their average, so that the box
# $|\alpha_k| \le C/s$ may by luck hold better functions than $\mathcal{F}_p$. The theorem bounds it
# from above only.) We take $f^*$ with $\alpha(\omega) = C\,p(\omega)\,\mathrm{sign}(h(\omega))$ for
# an odd-looking $h$, on the boundary of $\mathcal{F}_p$, and the proof's own $\hat f$.


# %%
def sign_of(omega):
    return np.sign(np.cos(2 * np.linalg.norm(omega, axis=1)) + omega[:, 0])


def random_function(s, r, draw):
    """f^(x) = (C / s) sum_k sign_k (1/r) sum_i cos<g_i x, omega_k>."""
    group, n_transforms = (nodes, None) if r is None else (circle, r)
    model = OrbitFourier(
        group, s, n_transforms=n_transforms, gamma=gamma, form="cos_sin", random_state=draw
    )
    cosines = model.fit_transform(X.astype(np.float32))[:, :s].astype(float) * np.sqrt(s)
    return C / s * cosines @ sign_of(model.templates_)


target = np.mean(
    [
        random_function(run.choose(quick=20_000, full=50_000), None, 9000 + i)
        for i in range(run.choose(quick=5, full=20))
    ],
    axis=0,
)
fixed_templates = {draw: random_function(300, None, draw) for draw in range(repetitions)}
measured["templates"] = np.array(
    [
        [np.sqrt(np.mean((random_function(s, None, i) - target) ** 2)) for i in range(repetitions)]
        for s in sizes["templates"]
    ]
)
measured["group"] = np.array(
    [
        [
            np.sqrt(np.mean((random_function(300, r, i) - fixed_templates[i]) ** 2))
            for i in range(repetitions)
        ]
        for r in sizes["group"]
    ]
)
fits = {name: fit_rate(sizes[name], values) for name, values in measured.items()}

# %%
fig, axes = plt.subplots(1, 3, figsize=(11, 3.6))
titles = {"samples": "labelled points N", "templates": "templates s", "group": "group samples r"}
for ax, (name, fit) in zip(axes, fits.items(), strict=True):
    x, values = np.array(sizes[name]), measured[name]
    se = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
    ax.errorbar(
        x, values.mean(axis=1), 2 * se, color=colour(name), marker=marker(name), linestyle="none"
    )
    ax.plot(x, fit.predict(x), color=colour(name), label=f"slope {fit.slope:.2f}")
    ax.plot(
        x, fit.predict(x[:1]) * (x / x[0]) ** -0.5, ":", color=colour("bound"), label="slope −1/2"
    )
    ax.set(
        xscale="log",
        yscale="log",
        xlabel=titles[name],
        ylabel="excess risk" if name == "samples" else "distance in L2",
    )
    ax.minorticks_off()
    ax.legend()
run.figure(
    fig,
    "rates",
    alt="Excess risk against labelled points, and L2 distance against templates and against group samples, on logarithmic axes with fitted power laws; the first falls faster than the power minus one half, the others at that power.",
    caption="Each of N, s, r alone; means and two standard errors over random draws.",
)
run.claim(
    "raj2017/theorem3.2",
    rates=fits,
    expected=dict.fromkeys(fits, -0.5),
    note="for s and r the rate is that of the L2 distance in lemma A.2: the excess risk itself can be negative",
)

# %% [markdown]
# ## And the bound itself
#
# Its constants make it vacuous at these sizes, as risk bounds of this kind are: at $f = 0$ the
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
