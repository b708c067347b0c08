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
# %% [markdown]
# # What may take the place of what
#
# *Raj et al. (2017), section 2.2, section 4.3 and remark (3).*
#
# Four substitutions that the paper allows in passing. Move the landmarks in place of the points,
# take quasi-random templates in place of random ones, put a second layer of random features in
# place of a nonlinear kernel between embeddings, and features in place of histograms. Each is one
# equation and one measurement.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 103

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm, qmc

from invariance.companion import Run, colour, curve, fit_rate, ticks
from invariance.features import GroupCDF, OrbitFourier, draw_frequencies
from invariance.groups import CircleAction, CyclicShifts, Permutations, SignFlips, VonMises
from invariance.kernels import Average, Gaussian, Polynomial

run = Run("raj2017/substitutes", profile=profile, seed=seed)
SETTINGS = {
    "quick": {"trials": 5, "quasi draws": 5, "templates": 2 ** np.arange(4, 8), "layer draws": 10},
    "full": {
        "trials": 50,
        "quasi draws": 100,
        "templates": 2 ** np.arange(4, 11),
        "layer draws": 60,
    },
}[profile]

# %% [markdown]
# ## Landmarks in place of points
#
# If $k(gx, gz) = k(x, z)$ and $q(g) = q(g^{-1})$, then
#
# $$\int_G k(gx, t)\, q(g)\, d\nu(g) = \int_G k(x, g^{-1} t)\, q(g)\, d\nu(g)
# = \int_G k(x, gt)\, q(g)\, d\nu(g) ,$$
#
# and the Nyström kernel $C W^{-1} C^\top$ of these sums with it. The last step needs the symmetry
# of $q$: a skewed density stands beside the others.

# %%
FREQUENCIES = [1, 1, 2, 2, 3, 3]


def rotations(loc):
    return CircleAction(FREQUENCIES, VonMises(2.0, loc=loc), n_nodes=64)


GROUPS = {
    "permutations": (Permutations(4), 4),
    "cyclic shifts": (CyclicShifts(6), 6),
    "sign flips": (SignFlips(6), 6),
    "rotations, symmetric density": (rotations(0.0), 6),
    "rotations, mode at 0.7 rad": (rotations(0.7), 6),
}


def both_sides(kernel, group, X, T):
    """C with the group acting on the points, and on the landmarks."""
    elements = group.elements()
    weights = group.weights()
    if weights is None:
        weights = np.full(len(elements), 1 / len(elements))
    on_points = [kernel(gX, T) for gX in group.act(elements, X)]
    on_landmarks = [kernel(X, gT) for gT in group.act(elements, T)]
    return [np.tensordot(weights, C, 1) for C in (on_points, on_landmarks)]


rows, differences = [], []
for trial in range(SETTINGS["trials"]):
    rng = np.random.default_rng([103, trial])
    for name, (group, d) in GROUPS.items():
        X, T = rng.standard_normal((8, d)), rng.standard_normal((6, d))
        for kernel in (Gaussian(0.2), Polynomial(2)):
            C = both_sides(kernel, group, X, T)
            K = [c @ np.linalg.solve(kernel(T), c.T) for c in C]
            gap = max(np.abs(a - b).max() / np.abs(a).max() for a, b in (C, K))
            rows.append((name, type(kernel).__name__, gap))
differences = [gap for name, _, gap in rows if "0.7" not in name]
worst = {}
for name, kernel, gap in rows:
    worst.setdefault(name, {"group": name}).setdefault(kernel, 0.0)
    worst[name][kernel] = max(worst[name][kernel], gap)
run.table(
    [{k: v if k == "group" else f"{v:.1e}" for k, v in row.items()} for row in worst.values()],
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
sizes = SETTINGS["templates"]


def errors_of_templates(d):
    """RMS errors of the Gram matrix, one array of shape (sizes, draws) a kind of templates."""
    group = CircleAction(np.repeat([1], d), VonMises(1.0), n_nodes=48)
    X = np.random.default_rng([104, d]).standard_normal((30, d)) / np.sqrt(d)
    exact = Average(Gaussian(0.5), group)(X)
    moved = group.act(group.elements(), X).reshape(-1, d)
    found = {"random": [], "quasi-random": []}
    for s in sizes:
        for kind, values in found.items():
            errors = []
            for draw in range(SETTINGS["quasi draws"]):
                rng = np.random.default_rng([104, d, int(s), draw])
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

# %%
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
for ax, (d, found) in zip(axes, quasi.items(), strict=True):
    for (kind, values), method in zip(found.items(), ("templates", "fast"), strict=True):
        curve(ax, sizes, values.T, method, label=kind)
    ratio = found["random"][-1].mean() / found["quasi-random"][-1].mean()
    ax.set(xscale="log", yscale="log", xlabel="templates s")
    ax.set_title(f"{d} dimensions: {ratio:.1f} times less error at {sizes[-1]:,}")
    ticks(ax, sizes)
    ax.legend()
axes[0].set_ylabel("RMS error of the Gram matrix")
run.figure(
    fig,
    "quasi",
    alt="Error of the Gram matrix against the number of templates in 2 and in 10 dimensions, "
    "for random and quasi-random templates, on logarithmic axes.",
    caption=f"Means and two standard errors over {SETTINGS['quasi draws']} draws.",
)
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
# kernel in the space of embeddings, hence has random Fourier features of its own. The embeddings of
# finitely many points have coordinates: the eigenvectors of their averaged kernel, scaled by the
# roots of the eigenvalues.

# %%
X = np.random.default_rng(105).standard_normal((30, 4))
values, vectors = np.linalg.eigh(Average(Gaussian(0.5), CyclicShifts(4))(X))
mu = vectors * np.sqrt(values.clip(0))
hyper = Gaussian(2.0)(mu)
layer_sizes = 2 ** np.arange(4, 12)


def layer_error(s, draw):
    rng = np.random.RandomState(105_000 + draw)
    omega = draw_frequencies("gaussian", 2.0, n_components=int(s), n_features=30, random_state=rng)
    Z = np.sqrt(2 / s) * np.cos(mu @ omega.T + rng.uniform(0, 2 * np.pi, s))
    return np.sqrt(np.mean((Z @ Z.T - hyper) ** 2))


layer = np.array([[layer_error(s, i) for i in range(SETTINGS["layer draws"])] for s in layer_sizes])
fit = fit_rate(layer_sizes, layer)
fig, ax = plt.subplots()
curve(ax, layer_sizes, layer.T, "lgika", linestyle="none")
ax.plot(layer_sizes, fit.predict(layer_sizes), color=colour("bound"))
ax.set(xscale="log", yscale="log", xlabel="features of the second layer", ylabel="RMS error")
ticks(ax, layer_sizes)
ax.set_title(f"The second layer's error falls with the power {fit.slope:.2f}")
run.figure(
    fig,
    "second_layer",
    alt="Error of the second layer against its number of features, a straight line on "
    "logarithmic axes.",
    caption=f"Means and two standard errors over {SETTINGS['layer draws']} draws; fitted power.",
)
run.claim("raj2017/remark3-second-layer", rates={"features": fit}, expected={"features": -0.5})

# %% [markdown]
# ## Features in place of histograms
#
# GICDF keeps the distribution of $\langle gx, \omega \rangle$ at 25 thresholds, an orbit feature one
# mean of cosines. With $n$ thresholds on either side of zero, as Mroueh et al. count, GICDF has
# $2n + 1$ numbers a template: `n_bins=12` gives the 25 that this paper counts.

# %%
X = np.random.default_rng(106).standard_normal((100, 16))
features = OrbitFourier(CyclicShifts(16), 40, gamma=0.5, random_state=0).fit_transform(X)
size = {
    n: GroupCDF(CyclicShifts(16), 40, n_bins=n, random_state=0).fit_transform(X).nbytes
    for n in (12, 25)
}
print(f"25 on either side of zero: {size[25] / features.nbytes:g} times the bytes")
run.claim(
    "raj2017/gicdf-memory",
    value=size[12] / features.nbytes,
    exact="bytes of two arrays, counted",
)
