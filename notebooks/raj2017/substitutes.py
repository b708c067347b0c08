# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Section 2.2: four substitutions
#
# *Raj et al. (2017), section 2.2, section 4.3 and remark (3).*
#
# Four substitutions that the paper allows in passing: landmarks that move in place of the points,
# quasi-random templates in place of random ones, a second layer of random features in place of a
# nonlinear kernel between embeddings, and features in place of histograms. All four work.

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

# %% [markdown]
# The full profile has more draws, and more templates.

# %% tags=["settings"]
LAYER_SIZES = 2 ** np.arange(4, 12)  # features of the second layer
if run.quick:
    N_TRIALS = 5
    QUASI_DRAWS = 5
    LAYER_DRAWS = 10
    SIZES = 2 ** np.arange(4, 8)  # templates
else:
    N_TRIALS = 50
    QUASI_DRAWS = 100
    LAYER_DRAWS = 60
    SIZES = 2 ** np.arange(4, 11)

# %% [markdown]
# ## Landmarks in place of points
#
# If $k(gx, gz) = k(x, z)$ and $q(g) = q(g^{-1})$, then
#
# $$\int_G k(gx, t)\, q(g)\, d\nu(g) = \int_G k(x, g^{-1} t)\, q(g)\, d\nu(g)
# = \int_G k(x, gt)\, q(g)\, d\nu(g) ,$$
#
# and the Nyström kernel $C W^{-1} C^\top$ of these sums with it. The last step needs a symmetric $q$:
# with the skewed density the two sides differ.


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

# %% [markdown]
# The sums $C$ are compared, and the Nyström kernels that follow from them.


# %%
def relative_gap(first, second):
    return np.abs(first - second).max() / np.abs(first).max()


def transfer_gap(kernel, group, X, landmarks):
    """Largest relative difference between acting on the points and acting on the landmarks."""
    elements, weights = group.quadrature()
    on_points = [kernel(moved, landmarks) for moved in group.act(elements, X)]
    on_landmarks = [kernel(X, moved) for moved in group.act(elements, landmarks)]
    first = np.tensordot(weights, on_points, 1)
    second = np.tensordot(weights, on_landmarks, 1)
    square = kernel(landmarks)
    first_nystrom = first @ np.linalg.solve(square, first.T)
    second_nystrom = second @ np.linalg.solve(square, second.T)
    return max(relative_gap(first, second), relative_gap(first_nystrom, second_nystrom))


# %% [markdown]
# Only groups with a symmetric density enter the claim; the skewed one is in the table, to show that
# the condition matters.

# %%
differences = []
worst = {name: {"Gaussian": 0.0, "Polynomial": 0.0} for name in GROUPS}
for trial in range(N_TRIALS):
    rng = np.random.default_rng([seed, trial])
    for name, (group, d) in GROUPS.items():
        X = rng.standard_normal((8, d))
        landmarks = rng.standard_normal((6, d))
        for kernel in (Gaussian(0.2), Polynomial(2)):
            gap = transfer_gap(kernel, group, X, landmarks)
            if name != SKEWED:
                differences.append(gap)
            label = type(kernel).__name__
            worst[name][label] = max(gap, worst[name][label])
table = []
for name, gaps in worst.items():
    in_words = {label: f"{gap:.1e}" for label, gap in gaps.items()}
    table.append({"group": name} | in_words)
run.table(
    table,
    "landmarks",
    caption="Acting on landmarks against acting on points: largest relative difference.",
)

# %% tags=["claims"]
run.claim("raj2017/landmark-transfer", difference=np.array(differences), tolerance=1e-10)

# %% [markdown]
# ## Quasi-random templates
#
# Templates enter as a mean over $\omega \sim p$. Sobol points, scrambled and sent through the
# normal quantile, fill that law more evenly than independent draws, so errors are smaller:
#
# $$ k_{q,G}(x, z) \approx \frac1s \sum_{j \le s}
#    \operatorname{Re} \psi(x; \omega_j) \overline{\psi(z; \omega_j)}, \qquad
#    \psi(x; \omega) = \int_G e^{-i \langle gx, \omega \rangle} q(g)\, d\nu(g) .$$


# %%
def templates_of(kind, s, d, draw):
    rng = np.random.default_rng([seed + 1, d, int(s), draw])
    if kind == "random":
        return rng.standard_normal((s, d))
    # SciPy before 1.15 calls the generator `seed`; later versions accept both names.
    return norm.ppf(qmc.Sobol(d, seed=rng).random(s))


# %% [markdown]
# The Gram matrix of the templates is compared with the exact kernel, in which the mean over
# templates is known.


# %%
def errors_of_templates(kind, d):
    """RMS errors of the Gram matrix, shape (sizes, draws)."""
    group = CircleAction(np.repeat([1], d), VonMises(1.0), n_nodes=48)
    X = np.random.default_rng([seed + 1, d]).standard_normal((30, d)) / np.sqrt(d)
    exact = Average(Gaussian(0.5), group)(X)
    orbits = group.act(group.elements(), X).reshape(-1, d)
    errors = np.empty((len(SIZES), QUASI_DRAWS))
    for i, s in enumerate(SIZES):
        for draw in range(QUASI_DRAWS):
            omega = templates_of(kind, s, d, draw)
            waves = np.exp(-1j * (orbits @ omega.T)).reshape(-1, 30, s)
            psi = np.tensordot(group.weights(), waves, 1)
            gram = (psi @ psi.conj().T).real / s
            errors[i, draw] = np.sqrt(np.mean((gram - exact) ** 2))
    return errors


DIMENSIONS = (2, 10)
random_errors = {d: errors_of_templates("random", d) for d in DIMENSIONS}
quasi_errors = {d: errors_of_templates("quasi-random", d) for d in DIMENSIONS}

# %% [markdown]
# The advantage of Sobol points is large in few dimensions and shrinks in many.

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
for axis, d in zip(axes, DIMENSIONS, strict=True):
    ratio = random_errors[d][-1].mean() / quasi_errors[d][-1].mean()
    panel(
        axis,
        SIZES,
        {
            "random": ("templates", random_errors[d].T),
            "quasi-random": ("fast", quasi_errors[d].T),
        },
        log="xy",
        xlabel="templates s",
        title=f"In {d} dimensions the error of {SIZES[-1]:,} templates is {ratio:.1f} times smaller",
    )
axes[0].set_ylabel("RMS error of the Gram matrix")
run.figure(fig, "quasi", caption=f"Means and two standard errors over {QUASI_DRAWS} draws.")

# %% [markdown]
# At each size, random templates should err at least as much as quasi-random ones.

# %%
scores = {}
order = []
for d in DIMENSIONS:
    for i, s in enumerate(SIZES):
        scores[f"random, d = {d}, s = {s}"] = random_errors[d][i]
        scores[f"quasi-random, d = {d}, s = {s}"] = quasi_errors[d][i]
        order.append(f"random, d = {d}, s = {s} >= quasi-random, d = {d}, s = {s}")
least_error = min(errors[-1].mean() for errors in random_errors.values())

# %% tags=["claims"]
run.claim("raj2017/quasi-monte-carlo", order=order, scores=scores, level=0.02 * least_error)

# %% [markdown]
# ## A second layer
#
# A nonlinear kernel between embeddings, $\kappa(x, z) = e^{-2 \|\mu_x - \mu_z\|^2}$, is a Gaussian
# kernel in the space of embeddings, and therefore has random Fourier features. Coordinates of the
# embeddings are the eigenvectors of their averaged kernel, scaled by the roots of the eigenvalues.

# %%
X = np.random.default_rng(seed + 2).standard_normal((30, 4))
eigenvalues, eigenvectors = np.linalg.eigh(Average(Gaussian(0.5), CyclicShifts(4))(X))
embeddings = eigenvectors * np.sqrt(eigenvalues.clip(0))
hyperkernel = Gaussian(2.0)(embeddings)


def layer_error(s, draw):
    rng = np.random.RandomState(1000 * (seed + 2) + draw)
    omega = draw_frequencies("gaussian", 2.0, n_components=int(s), n_features=30, random_state=rng)
    phases = rng.uniform(0, 2 * np.pi, s)
    Z = np.sqrt(2 / s) * np.cos(embeddings @ omega.T + phases)
    return np.sqrt(np.mean((Z @ Z.T - hyperkernel) ** 2))


layer_errors = np.array(
    [[layer_error(s, draw) for draw in range(LAYER_DRAWS)] for s in LAYER_SIZES]
)
fit = fit_rate(LAYER_SIZES, layer_errors.T)

# %% [markdown]
# The error falls as that of any random features:

# %% tags=["hide-input"]
fig, axis = plt.subplots()
panel(
    axis,
    LAYER_SIZES,
    {
        "measured": ("lgika", layer_errors.T, {"ls": "none"}),
        "fitted power": ("bound", fit.predict(LAYER_SIZES)),
    },
    log="xy",
    xlabel="features of the second layer",
    ylabel="RMS error",
    title=f"The second layer's error falls with the power {fit.slope:.2f}",
)
run.figure(fig, "second_layer", caption=f"Means and two standard errors over {LAYER_DRAWS} draws.")

# %% tags=["claims"]
run.claim("raj2017/remark3-second-layer", rates={"features": fit}, expected={"features": -0.5})

# %% [markdown]
# ## Features in place of histograms
#
# GICDF keeps the distribution of $\langle gx, \omega \rangle$ at 25 thresholds, an orbit feature one
# mean of cosines. With $n$ thresholds on either side of zero, as Mroueh et al. count, GICDF has
# $2n + 1$ numbers per template: `n_bins=12` gives the 25 that this paper counts.

# %%
X = np.random.default_rng(seed + 3).standard_normal((100, 16))
group = CyclicShifts(16)
features = OrbitFourier(group, 40, gamma=0.5, random_state=0).fit_transform(X)
histograms = GroupCDF(group, 40, n_bins=12, random_state=0).fit_transform(X)
wide_histograms = GroupCDF(group, 40, n_bins=25, random_state=0).fit_transform(X)
run.say(
    "With 25 thresholds on either side of zero, as Mroueh et al. count, the ratio is {wide:.0f}.",
    wide=wide_histograms.nbytes / features.nbytes,
)

# %% tags=["claims"]
run.claim(
    "raj2017/gicdf-memory",
    value=histograms.nbytes / features.nbytes,
    exact="bytes of two arrays, counted",
)

# %% [markdown]
# ## Try it
#
# `invariance run raj2017/substitutes -p mode 0.1`: how skewed may a density be before it matters?
