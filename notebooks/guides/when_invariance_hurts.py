# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # When invariance helps, and when it hurts
#
# Averaging a kernel over a group removes the part of every function that varies along orbits. If
# the target has no such part, the learner no longer has to estimate it: variance falls for free. If
# the target has one, that is bias, and **no amount of data brings it back**.
#
# A six turned upside down is a nine. So how far should a digit be allowed to turn? Let the angle
# be uniform on $[-w, w]$ and move $w$ from $0^\circ$ (the plain kernel) to $180^\circ$ (the Haar
# kernel):
#
# $$k_w(x, z) = \frac{1}{(2w)^2}
# \int_{-w}^{w}\!\int_{-w}^{w} k_0(g_\theta x, g_{\theta'} z)\, d\theta\, d\theta' .$$

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
n_train: int = 100  # labelled digits

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from invariance.companion import Run, label_ends, mean_se, panel
from invariance.datasets import load_digits_images, load_mnist
from invariance.features import AngularBasis
from invariance.groups import CircleAction, Uniform
from invariance.kernels import Average, Gaussian

run = Run("guides/when_invariance_hurts", profile=profile, seed=seed, n_train=n_train)

# %% tags=["settings"]
SIZES, DRAWS, MORE_DRAWS, N_TEST, N_IMAGES = {
    "quick": ([4, 10, 30, 60], 5, 4, 80, 1200),
    "full": ([4, 10, 30, 100, 300], 20, 20, 500, 6000),
}[profile]
origin = "scikit-learn's bundled digits" if run.quick else "MNIST"
data = load_digits_images() if run.quick else load_mnist()
run.uses_data(data)

# %% [markdown]
# `AngularBasis` writes an image in circular harmonics, where a rotation is an exactly unitary
# `CircleAction`, and `Average` integrates over it. A density that ends abruptly leaves a rule of 72
# nodes some per mille of error, which `tolerance` accepts.

# %%
pixels = data.data.reshape(len(data.data), -1).astype(np.float32) / 255
basis = AngularBasis((28, 28)).fit(pixels[:1])
turns = CircleAction(basis.frequencies_)


def kernel(degrees):
    """k_w as a kernel; w = 0 is the plain one."""
    if degrees == 0:
        return Gaussian(0.03)
    density = Uniform(*np.deg2rad([-degrees, degrees]))
    return Average(Gaussian(0.03), basis.rotations(density, n_nodes=72), tolerance=0.05)


def turned(Z, degrees):
    """Each point turned by an angle of its own."""
    pairs = zip(np.deg2rad(degrees), Z, strict=True)
    return np.stack([turns.act([angle], z[None])[0, 0] for angle, z in pairs])


def svc():
    return SVC(C=1e3, kernel="precomputed")


# %% [markdown]
# ## It hurts: what orbits share, no data can tell apart
#
# In the first task real sixes stand against real nines, and handwriting breaks the symmetry a
# little. In the second a six stands against *the same sixes upside down*.

# %%
sixes, nines = (basis.transform(pixels[data.target == digit][:600]) for digit in (6, 9))
TASKS = {
    "six or nine": nines,
    "a six or the same upside down": turned(sixes, np.full(len(sixes), 180.0)),
}
LOOKS = {0: "raw", 20: "local", 180: "haar"}
half, n_held = max(SIZES) // 2, 40
errors = {}
for task, others in TASKS.items():
    for width in LOOKS:
        k, values = kernel(width), np.empty((DRAWS, len(SIZES)))
        for repetition in range(DRAWS):
            rng = np.random.default_rng([seed, repetition])
            first = rng.permutation(len(sixes))[: half + n_held]
            second = first if "same" in task else rng.permutation(len(others))[: half + n_held]
            # six, other, six, other, ...: every first n rows are balanced
            Z = np.stack([sixes[first], others[second]], axis=1).reshape(-1, others.shape[1])
            y = np.tile([0, 1], half + n_held)
            K, K_test = k(Z[: 2 * half]), k(Z[2 * half :], Z[: 2 * half])
            for i, n in enumerate(SIZES):
                model = svc().fit(K[:n, :n], y[:n])
                values[repetition, i] = 100 * (1 - model.score(K_test[:, :n], y[2 * half :]))
        errors[task, width] = values

# %%
fig, panels = plt.subplots(1, 2, figsize=(9.6, 3.8), sharey=True)
for axes, task in zip(panels, TASKS, strict=True):
    curves = {f"w = {w}°": (method, errors[task, w]) for w, method in LOOKS.items()}
    curves["chance"] = "bound", [50] * len(SIZES), {"ls": ":"}
    title = f"{task}:\n{errors[task, 180][:, -1].mean():.0f} % wrong with all rotations"
    panel(axes, SIZES, curves, log="x", ends=None, xlabel="training digits", title=title)
panels[0].set_ylabel("test error (%)")
for axes in panels:  # both have all their limits by now
    label_ends(axes, room=0.3)
run.figure(
    fig,
    "six_nine",
    caption=f"Upright digits ({origin}). Error bars: two standard errors over {DRAWS} draws.",
)

# %% [markdown]
# On the right the Haar kernel cannot win: a test image and its turned copy have the same row in the
# Gram matrix, and rounding decides. On the left it can only use what handwriting adds. A local
# kernel tolerates small rotations without declaring six and nine the same.
#
# ## It helps: when the test digits do turn
#
# Now all ten digits. Training digits are upright, and few; test digits are **upright**, **tilted**
# by up to 30 degrees as on a page that lies askew, or **turned** by any angle as on the balls of a
# lottery.

# %%
widths = [0, 20, 45, 90, 180]
WORLDS = {"upright": (0.0, "raw"), "tilted": (30.0, "local"), "turned": (180.0, "haar")}
keep = np.random.default_rng(seed).permutation(len(pixels))[:N_IMAGES]
Z, y = basis.transform(pixels[keep]), data.target[keep]
accuracy = {world: np.empty((MORE_DRAWS, len(widths))) for world in WORLDS}
for repetition in range(MORE_DRAWS):
    rng = np.random.default_rng([seed, 1, repetition])
    train, test = np.split(rng.permutation(len(Z))[: n_train + N_TEST], [n_train])
    angles = rng.uniform(-1, 1, size=N_TEST)
    seen = {world: turned(Z[test], limit * angles) for world, (limit, _) in WORLDS.items()}
    for i, width in enumerate(widths):
        k = kernel(width)
        model = svc().fit(k(Z[train]), y[train])
        for world, points in seen.items():
            accuracy[world][repetition, i] = 100 * model.score(k(points, Z[train]), y[test])

# %%
best = {world: widths[int(values.mean(axis=0).argmax())] for world, values in accuracy.items()}
fig, axes = plt.subplots(figsize=(7.0, 3.8))
panel(
    axes,
    widths,
    {f"{world} test digits": (WORLDS[world][1], v) for world, v in accuracy.items()},
    xlabel="half-width w of the rotations in the kernel (degrees)",
    ylabel="test accuracy, ten classes (%)",
    title="Best w: " + ", ".join(f"{world} {width}°" for world, width in best.items()),
)
run.figure(
    fig,
    "width",
    caption=f"{n_train} upright training digits ({origin}). Error bars: two standard errors "
    f"over {MORE_DRAWS} draws.",
)

# %% [markdown]
# The kernel supplies the rotated digits that the training set lacks. Averaging over larger angles
# than occur may cost accuracy. Even upright digits may gain from a moderate width.
#
# ## Choosing
#
# 1. **Ask what an orbit holds.** If two classes meet in one orbit, the group is too large.
# 2. **Make it local.** A density on the group (`Uniform`, `VonMises`, `Normal`), or a part of it
#    (`Translations(max_shift=2)`, `Rotations(degrees=range(-10, 11))`), is a dial between both ends.
# 3. **Let cross-validation turn the dial**, with held-out points moved as the test points will be:

# %%
rng = np.random.default_rng([seed, 2])
rows = rng.permutation(len(Z))[:n_train]
folds, angles = np.arange(n_train) % 5, rng.uniform(-1, 1, size=n_train)
found = []
for world, (limit, _) in WORLDS.items():
    seen, estimates = turned(Z[rows], limit * angles), np.empty((len(widths), 5))
    for i, width in enumerate(widths):
        k = kernel(width)
        K, K_seen = k(Z[rows]), k(seen, Z[rows])
        for fold in range(5):
            kept, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            model = svc().fit(K[np.ix_(kept, kept)], y[rows[kept]])
            estimates[i, fold] = 100 * model.score(K_seen[np.ix_(held, kept)], y[rows[held]])
    pick = int(np.argmax(estimates.mean(axis=1)))
    row = {"expected digits": world, "half-width chosen (degrees)": widths[pick]}
    row |= {"its test accuracy (%)": f"{mean_se(accuracy[world][:, pick]):.1f}"}
    best_of_all = accuracy[world].mean(axis=0).max()
    found.append(row | {"best of all half-widths (%)": f"{best_of_all:.1f}"})
run.table(
    found,
    "chosen",
    caption=f"The half-width chosen by five folds of {n_train} training digits, held-out folds "
    "turned as the test digits will be; test accuracies from the figure above.",
)

# %% [markdown]
# In a scikit-learn pipeline: `guides/model_selection`. The theory: `raj2017/embedding` and
# `mroueh2015/theorem1` (its remark on subsets of a group).
