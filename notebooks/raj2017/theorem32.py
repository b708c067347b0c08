# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Theorem 3.2: the cost of learning with few templates and few group samples
#
# *Raj et al. (2017), Theorem 3.2.*
#
# Let $\mathcal{F}_p$ be the functions $f(x) = \int \alpha(\omega) \int_G e^{-i \langle gx, \omega
# \rangle} q(g)\, d\nu(g)\, d\omega$ with $|\alpha(\omega)| \le C p(\omega)$. A learner that
# minimizes the empirical risk of a Lipschitz loss over $s$ random templates and $r$ random group
# elements, with $|\alpha_k| \le C/s$, is at most
#
# $$O\!\left( \left( \frac{1}{\sqrt N} + \frac{1}{\sqrt s} + \frac{1}{\sqrt r} \right)
# L C \sqrt{\log \tfrac1\delta} \right)$$
#
# worse than the best function of $\mathcal{F}_p$. We let each of $N$, $s$ and $r$ grow alone. Each part
# of the excess risk falls with about the stated power.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 1
kappa: float = 2.0  # concentration of the density on rotations
gamma: float = 1.5  # of the Gaussian kernel

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import special

from invariance.companion import Run, colour, curve, fit_rate, ticks
from invariance.groups import CircleAction, VonMises
from invariance.theory import raj2017

run = Run("raj2017/theorem32", profile=profile, seed=seed, kappa=kappa, gamma=gamma)

# %% [markdown]
# Sizes of the sample, of the templates and of the group elements; $C$ keeps the hinge loss linear.

# %% tags=["settings"]
C = 0.35  # bound on the coefficients
SAMPLE_COUNTS = np.array([25, 50, 100, 200, 400, 800])
ELEMENT_COUNTS = np.array([8, 16, 32, 64, 128, 256, 512])
if run.quick:
    N_POINTS = 60  # of the population
    N_DRAWS = 30
    POOL_SIZE = 4000  # templates whose mean is the expectation
    N_DISTANCES = 100
    N_WAVES = 1000  # templates of the last section's function
    TEMPLATE_COUNTS = np.array([8, 16, 32, 64, 128])
else:
    N_POINTS = 120
    N_DRAWS = 300
    POOL_SIZE = 154_000
    N_DISTANCES = 2000
    N_WAVES = 4000
    TEMPLATE_COUNTS = np.array([8, 16, 32, 64, 128, 256, 512])

# %% [markdown]
# ## A population whose risk is known exactly
#
# Points of the disc, finitely many, with label probabilities that oscillate; the circle acts on
# them under a von Mises density. And $C$ so small that the hinge loss stays in its linear part,
# $1 - y f(x)$. Then the best risk over $\mathcal F_p$ is known,
#
# $$ 1 - C\, E_\omega\bigl[\,|\mu_c(\omega)| + |\mu_s(\omega)|\,\bigr], \qquad
#    \mu_c(\omega) = E\Bigl[ y \int_G \cos \langle gx, \omega \rangle\, q(g)\, d\nu(g) \Bigr] $$
#
# (and $\mu_s$ with the sine). The random class takes means over its $s$ templates and $r$ elements in
# place of $E_\omega$ and the integral; the empirical minimizer takes signs of means over $N$ points.

# %%
rng = np.random.default_rng(seed)
radius = np.sqrt(rng.uniform(0, 1, N_POINTS)) * 1.5
angle = rng.uniform(-np.pi, np.pi, N_POINTS)
X = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
probability = 0.5 + 0.45 * np.sign(np.sin(4 * radius) * np.cos(angle))  # of label +1
mean_labels = (2 * probability - 1) / N_POINTS
density = VonMises(kappa)
sampled_circle = CircleAction([1, 1], density)
integrated_circle = CircleAction([1, 1], density, n_nodes=48)
elements, weights = integrated_circle.quadrature()
orbits = integrated_circle.act(elements, X)


def features(omega):
    """Integrals over the group of cos and sin <gx, omega>, shape (2, points, templates)."""
    angles = (orbits @ omega.T).astype(np.float32)
    cosines = np.tensordot(weights, np.cos(angles), 1)
    sines = np.tensordot(weights, np.sin(angles), 1)
    return np.array([cosines, sines])


def draw_templates(count, rng):
    return np.sqrt(2 * gamma) * rng.standard_normal((count, 2))


# %% [markdown]
# ## Each of the three alone
#
# All three parts have either sign (a few templates, or elements, may by luck be better than $\mathcal
# F_p$), so their sizes are measured.
#
# $s$: the best risk of the random class against that of $\mathcal F_p$.


# %%
def best_sum(omega):
    """|mu_c| + |mu_s| of each template."""
    means = np.einsum("p,cpt->ct", mean_labels, features(omega))
    return np.abs(means).sum(axis=0)


pool = np.concatenate([best_sum(draw_templates(1000, rng)) for _ in range(POOL_SIZE // 1000)])
by_templates = np.empty((len(TEMPLATE_COUNTS), N_DRAWS))
for j, s in enumerate(TEMPLATE_COUNTS):
    means = pool[: s * N_DRAWS].reshape(N_DRAWS, s).mean(axis=1)
    by_templates[j] = C * np.abs(means - pool.mean())

# %% [markdown]
# $N$: the term that carries it in the proof, expected less empirical risk of the minimizer. Points are
# drawn as counts of a multinomial law: one cell for each point and label.

# %%
omega = draw_templates(60, rng)
template_features = features(omega)
mu = np.einsum("p,cpt->ct", mean_labels, template_features)
cells = np.concatenate([probability, 1 - probability]) / N_POINTS
by_samples = np.empty((len(SAMPLE_COUNTS), N_DRAWS))
for j, n in enumerate(SAMPLE_COUNTS):
    for i, counts in enumerate(rng.multinomial(n, cells, N_DRAWS)):
        labels = counts[:N_POINTS] - counts[N_POINTS:]
        empirical = np.tensordot(labels, template_features, (0, 1)) / n
        excess = (np.abs(empirical) - np.sign(empirical) * mu).sum(axis=0)
        by_samples[j, i] = C * abs(excess.mean())

# %% [markdown]
# $r$: the best risk of the random class against that of the same templates with the whole group. A
# sampled element enters through $e^{i m g}$ alone: expand $e^{i \langle gx, \omega \rangle}$ in Bessel
# functions of $|x| |\omega|$.

# %%
orders = np.arange(-30, 31)
size = np.linalg.norm(omega, axis=1)
direction = np.arctan2(omega[:, 1], omega[:, 0])
coefficients = []
for m in orders:
    values = special.jv(m, size[:, None] * radius)
    coefficients.append(values @ (mean_labels * np.exp(1j * m * angle)))
bessel = np.array(coefficients)
bessel *= (1j ** (orders % 4))[:, None] * np.exp(-1j * orders[:, None] * direction)


def sampled_means(angles):
    """E[y cos], E[y sin] under a mean over rotations by these angles."""
    characters = np.exp(1j * orders[:, None] * np.ravel(angles)).mean(axis=1)
    means = characters @ bessel
    return np.array([means.real, means.imag])


by_group = np.empty((len(ELEMENT_COUNTS), N_DRAWS))
for j, r in enumerate(ELEMENT_COUNTS):
    for i in range(N_DRAWS):
        sampled = sampled_means(sampled_circle.sample(int(r), int(rng.integers(2**31))))
        excess = (np.abs(mu) - np.abs(sampled)).sum(axis=0)
        by_group[j, i] = C * abs(excess.mean())

# %% [markdown]
# The slopes of all three:

# %%
SIZES = {"samples": SAMPLE_COUNTS, "templates": TEMPLATE_COUNTS, "group": ELEMENT_COUNTS}
measured = {"samples": by_samples, "templates": by_templates, "group": by_group}
LABELS = {
    "samples": "labelled points N",
    "templates": "templates s",
    "group": "group samples r",
}
fits = {name: fit_rate(SIZES[name], values.T) for name, values in measured.items()}

# %% [markdown]
# Dotted lines have the stated power and start at the first fitted value.

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, 3, figsize=(9, 4))
for axis, (name, values) in zip(axes, measured.items(), strict=True):
    x = SIZES[name]
    fit = fits[name]
    curve(axis, x, values.T, name, linestyle="none", label="measured")
    axis.plot(x, fit.predict(x), color=colour(name), label="fitted power")
    stated = fit.predict(x[:1]) * (x / x[0]) ** -0.5
    axis.plot(x, stated, ":", color=colour("bound"), label="stated power")
    axis.set(
        xscale="log",
        yscale="log",
        xlabel=LABELS[name],
        title=f"The slope is {fit.slope:.2f}, stated −0.5",
    )
    ticks(axis, x, most=4)
axes[0].set_ylabel("part of the excess risk")
axes[0].legend()
run.figure(fig, "rates", caption="Means and two standard errors over random draws.")

# %% tags=["claims"]
run.claim(
    "raj2017/theorem3.2",
    rates=fits,
    expected=dict.fromkeys(fits, -0.5),
    upper_bound=True,
    note="parts of the excess hinge risk in closed form at C = 0.35, where the loss is linear on "
    "the class: expected less empirical risk of the minimizer (N), its best risk against that of F_p (s and "
    "r); sizes",
)

# %% [markdown]
# ## Lemma A.2: the function that the proof builds
#
# With $\beta = \alpha / p$, the member $\hat f = \frac1s \sum_k \beta(\omega_k)
# \frac1r \sum_i e^{-i \langle g_i x, \omega_k \rangle}$ of the random class is, with probability
# $1 - \delta_1 - \delta_2$, within
#
# $$\frac{C}{\sqrt s} \Bigl(1 + \sqrt{2 \log \tfrac{1}{\delta_1}}\Bigr)
# + \frac{C}{\sqrt r} \Bigl(1 + \sqrt{2 \log \tfrac{1}{\delta_2}}\Bigr)$$
#
# of $f$ in $L_2$. With $p$ uniform on a list of Gaussian templates $f$ is a finite sum:
#
# $$e^{-i \langle gx, \omega \rangle} = \sum_m (-i)^m J_m(|x| |\omega|)\, e^{i m (\theta_x + g -
# \theta_\omega)} .$$

# %%
rng = np.random.default_rng(302)
radius = np.sqrt(rng.uniform(0, 1, 60)) * 1.5
angle = rng.uniform(-np.pi, np.pi, 60)
omega = draw_templates(N_WAVES, rng)
beta = np.sign(np.cos(3 * omega[:, 0]))  # C = 1
size = np.linalg.norm(omega, axis=1)
direction = np.arctan2(omega[:, 1], omega[:, 0])
m = orders[:, None, None]
waves = special.jv(m, radius[:, None] * size)
waves = waves * beta * np.exp(-1j * m * direction)
point_phases = np.exp(1j * orders[:, None] * angle)[..., None]
waves *= ((-1j) ** (orders % 4))[:, None, None] * point_phases

integrated_circle = CircleAction([1, 1], density, n_nodes=64)
node_angles = np.ravel(integrated_circle.elements())
characters = integrated_circle.weights() @ np.exp(1j * node_angles[:, None] * orders)
f = characters @ waves.mean(axis=2)

# %% [markdown]
# One draw of templates serves several numbers of elements. The quantiles of the distances lie below the
# bound at each confidence.


# %%
def distances(s, element_counts):
    """Distances from f for one draw of s templates and each number of elements."""
    mean_waves = waves[..., rng.integers(len(omega), size=s)].mean(axis=2)
    by_count = []
    for r in element_counts:
        angles = np.ravel(sampled_circle.sample(r, int(rng.integers(2**31))))
        characters = np.exp(1j * angles[:, None] * orders).mean(axis=0)
        difference = characters @ mean_waves - f
        by_count.append(np.sqrt(np.mean(np.abs(difference) ** 2)))
    return by_count


COUNTS = (16, 64, 256)
DELTAS = (0.45, 0.25, 0.05, 0.005)
trials = []
for s in COUNTS:
    by_count = np.array([distances(s, COUNTS) for _ in range(N_DISTANCES)]).T
    for r, values in zip(COUNTS, by_count, strict=True):
        for delta in DELTAS:
            bound = float(raj2017.approximation_error(s, r, C=1.0, delta=delta))
            trials.append((np.quantile(values, 1 - 2 * delta), bound, 2.0))

# %% tags=["claims"]
run.claim("raj2017/lemmaA.2", trials=trials)

# %% [markdown]
# ## And the bound itself
#
# At $f = 0$ the hinge risk is 1, so a larger bound on the excess is empty:

# %%
table = []
for n in (10**2, 10**4, 10**6, 10**8):
    bound = raj2017.excess_risk_bound(n, n, r=n, C=4.0, delta=0.05)
    table.append({"N = s = r": n, "bound on the excess": bound})
run.table(
    pd.DataFrame(table),
    "bound",
    caption="Theorem 3.2 with its constants, probability 0.85, hinge loss.",
)

# %% [markdown]
# ## Try it
#
# `invariance run raj2017/theorem32 -p kappa 0.1`, a density that is nearly flat.
