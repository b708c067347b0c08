# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What may take the place of what
#
# *Raj et al. (2017), section 2.2, section 4.3 and remark (3).*
#
# Four substitutions that the paper allows in passing: landmarks that move in place of the points,
# quasi-random templates in place of random ones, a second layer of random features in place of a
# nonlinear kernel between embeddings, and features in place of histograms.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 103
kappa: float = 2.0  # of the densities on rotations, symmetric and skewed
mode: float = 0.7  # of the skewed one, in radians

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm, qmc

from invariance.companion import Run, fit_rate, panel
from invariance.features import GroupCDF, OrbitFourier, draw_frequencies
from invariance.groups import CircleAction, CyclicShifts, Permutations, SignFlips, VonMises
from invariance.kernels import Average, Gaussian, Polynomial

run = Run("raj2017/substitutes", profile=profile, seed=seed, kappa=kappa, mode=mode)

# %% tags=["settings"]
trials, quasi_draws, layer_draws = (5, 5, 10) if run.quick else (50, 100, 60)
sizes = 2 ** np.arange(4, 8 if run.quick else 11)  # templates

# %% [markdown]
# ## Landmarks in place of points
#
# If $k(gx, gz) = k(x, z)$ and $q(g) = q(g^{-1})$, then
#
# $$\int_G k(gx, t)\, q(g)\, d\nu(g) = \int_G k(x, g^{-1} t)\, q(g)\, d\nu(g)
# = \int_G k(x, gt)\, q(g)\, d\nu(g) ,$$
#
# and the Nyström kernel $C W^{-1} C^\top$ of these sums with it. The last step needs a symmetric $q$.


# %%
def rotations(loc):
    return CircleAction([1, 1, 2, 2, 3, 3], VonMises(kappa, loc=loc), n_nodes=64)


SKEWED = f"rotations, mode at {mode:g} rad"
GROUPS = {
    "permutations": (Permutations(4), 4),
    "cyclic shifts": (CyclicShifts(6), 6),
    "sign flips": (SignFlips(6), 6),
    "rotations, symmetric density": (rotations(0.0), 6),
    SKEWED: (rotations(mode), 6),
}


def both_sides(kernel, group, X, T):
    """C with the group acting on the points, and on the landmarks."""
    elements, weights = group.quadrature()
    on_points = [kernel(gX, T) for gX in group.act(elements, X)]
    on_landmarks = [kernel(X, gT) for gT in group.act(elements, T)]
    return [np.tensordot(weights, C, 1) for C in (on_points, on_landmarks)]


differences, worst = [], {}
for trial in range(trials):
    rng = np.random.default_rng([seed, trial])
    for name, (group, d) in GROUPS.items():
        X, T = rng.standard_normal((8, d)), rng.standard_normal((6, d))
        for kernel in (Gaussian(0.2), Polynomial(2)):
            C = both_sides(kernel, group, X, T)
            K = [c @ np.linalg.solve(kernel(T), c.T) for c in C]
            gap = max(np.abs(a - b).max() / np.abs(a).max() for a, b in (C, K))
            differences += [] if name == SKEWED else [gap]
            row, what = worst.setdefault(name, {}), type(kernel).__name__
            row[what] = max(gap, row.get(what, 0.0))
run.table(
    [{"group": name} | {k: f"{gap:.1e}" for k, gap in row.items()} for name, row in worst.items()],
    "landmarks",
    caption="Acting on landmarks against acting on points: largest relative difference.",
)
run.claim("raj2017/landmark-transfer", difference=np.array(differences), tolerance=1e-10)

# %% [markdown]
# ## Quasi-random templates
#
# Templates enter as a mean over $\omega \sim p$. Sobol points, scrambled and sent through the
# normal quantile, fill that law more evenly than independent draws:
#
# $$ k_{q,G}(x, z) \approx \frac1s \sum_{j \le s}
#    \operatorname{Re} \psi(x; \omega_j) \overline{\psi(z; \omega_j)}, \qquad
#    \psi(x; \omega) = \int_G e^{-i \langle gx, \omega \rangle} q(g)\, d\nu(g) .$$


# %%
def errors_of_templates(d):
    """RMS errors of the Gram matrix, one array of shape (sizes, draws) a kind of templates."""
    group = CircleAction(np.repeat([1], d), VonMises(1.0), n_nodes=48)
    X = np.random.default_rng([seed + 1, d]).standard_normal((30, d)) / np.sqrt(d)
    exact = Average(Gaussian(0.5), group)(X)
    moved = group.act(group.elements(), X).reshape(-1, d)
    found = {"random": [], "quasi-random": []}
    for s in sizes:
        for kind, values in found.items():
            errors = []
            for draw in range(quasi_draws):
                rng = np.random.default_rng([seed + 1, d, int(s), draw])
                if kind == "random":
                    omega = rng.standard_normal((s, d))
                else:
                    omega = norm.ppf(qmc.Sobol(d, rng=rng).random(s))
                waves = np.exp(-1j * (moved @ omega.T)).reshape(-1, 30, s)
                psi = np.tensordot(group.weights(), waves, 1)
                errors.append(np.sqrt(np.mean(((psi @ psi.conj().T).real / s - exact) ** 2)))
            values.append(errors)
    return {kind: np.array(values) for kind, values in found.items()}


quasi = {d: errors_of_templates(d) for d in (2, 10)}
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
for axis, (d, found) in zip(axes, quasi.items(), strict=True):
    ratio = found["random"][-1].mean() / found["quasi-random"][-1].mean()
    looks = {"random": "templates", "quasi-random": "fast"}
    panel(
        axis,
        sizes,
        {kind: (look, found[kind].T) for kind, look in looks.items()},
        log="xy",
        xlabel="templates s",
        title=f"{d} dimensions: {ratio:.1f} times less error at {sizes[-1]:,}",
    )
axes[0].set_ylabel("RMS error of the Gram matrix")
run.figure(fig, "quasi", caption=f"Means and two standard errors over {quasi_draws} draws.")
scores = {
    f"{kind}, d = {d}, s = {s}": values
    for d, found in quasi.items()
    for kind, rows in found.items()
    for s, values in zip(sizes, rows, strict=True)
}
run.claim(
    "raj2017/quasi-monte-carlo",
    order=[
        f"random, d = {d}, s = {s} >= quasi-random, d = {d}, s = {s}" for d in quasi for s in sizes
    ],
    scores=scores,
    level=0.02 * min(found["random"][-1].mean() for found in quasi.values()),
)

# %% [markdown]
# ## A second layer
#
# A nonlinear kernel between embeddings, $\kappa(x, z) = e^{-2 \|\mu_x - \mu_z\|^2}$, is a Gaussian
# kernel in the space of embeddings, hence has random Fourier features of its own. Coordinates of the
# embeddings are the eigenvectors of their averaged kernel, scaled by the roots of the eigenvalues.

# %%
X = np.random.default_rng(seed + 2).standard_normal((30, 4))
values, vectors = np.linalg.eigh(Average(Gaussian(0.5), CyclicShifts(4))(X))
mu = vectors * np.sqrt(values.clip(0))
hyper = Gaussian(2.0)(mu)
layer_sizes = 2 ** np.arange(4, 12)


def layer_error(s, draw):
    rng = np.random.RandomState(1000 * (seed + 2) + draw)
    omega = draw_frequencies("gaussian", 2.0, n_components=int(s), n_features=30, random_state=rng)
    Z = np.sqrt(2 / s) * np.cos(mu @ omega.T + rng.uniform(0, 2 * np.pi, s))
    return np.sqrt(np.mean((Z @ Z.T - hyper) ** 2))


layer = np.array([[layer_error(s, i) for i in range(layer_draws)] for s in layer_sizes])
fit = fit_rate(layer_sizes, layer)
fig, axis = plt.subplots()
panel(
    axis,
    layer_sizes,
    {
        "measured": ("lgika", layer.T, {"ls": "none"}),
        "fitted power": ("bound", fit.predict(layer_sizes)),
    },
    log="xy",
    xlabel="features of the second layer",
    ylabel="RMS error",
    title=f"The second layer's error falls with the power {fit.slope:.2f}",
)
run.figure(fig, "second_layer", caption=f"Means and two standard errors over {layer_draws} draws.")
run.claim("raj2017/remark3-second-layer", rates={"features": fit}, expected={"features": -0.5})

# %% [markdown]
# ## Features in place of histograms
#
# GICDF keeps the distribution of $\langle gx, \omega \rangle$ at 25 thresholds, an orbit feature one
# mean of cosines. With $n$ thresholds on either side of zero, as Mroueh et al. count, GICDF has
# $2n + 1$ numbers a template: `n_bins=12` gives the 25 that this paper counts.

# %%
X = np.random.default_rng(seed + 3).standard_normal((100, 16))
features = OrbitFourier(CyclicShifts(16), 40, gamma=0.5, random_state=0).fit_transform(X)
own, wide = (
    GroupCDF(CyclicShifts(16), 40, n_bins=n, random_state=0).fit_transform(X).nbytes
    for n in (12, 25)
)
run.say(
    "With 25 thresholds on either side of zero, as Mroueh et al. count, the ratio is {wide:.0f}.",
    wide=wide / features.nbytes,
)
run.claim("raj2017/gicdf-memory", value=own / features.nbytes, exact="bytes of two arrays, counted")

# %% [markdown]
# ## Try it
#
# `invariance run raj2017/substitutes -p mode 0.1`: how skewed may a density be before it matters?
