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
# the target has no such part, the learner no longer has to estimate it, and the variance falls at no
# cost. If the target has such a part, its removal is a bias, and **no amount of data removes that
# bias**.
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
HALF_WIDTHS = [0, 20, 45, 90, 180]  # degrees
if run.quick:
    SIZES = [4, 10, 30, 60]
    N_DRAWS = 5  # of sixes and nines
    N_DRAWS_OF_TEN = 4  # of all ten digits
    N_TEST = 80
    N_IMAGES = 1200
    ORIGIN = "scikit-learn's bundled digits"
else:
    SIZES = [4, 10, 30, 100, 300]
    N_DRAWS = 20
    N_DRAWS_OF_TEN = 20
    N_TEST = 500
    N_IMAGES = 6000
    ORIGIN = "MNIST"

# %% [markdown]
# `AngularBasis` writes an image in circular harmonics, where a rotation is an exactly unitary
# `CircleAction`, and `Average` integrates over it. The density ends abruptly, so a rule of 72 nodes has
# an error of some per mille, which `tolerance` accepts.

# %%
if run.quick:
    data = load_digits_images()
else:
    data = load_mnist()
run.uses_data(data)
pixels = data.data.reshape(len(data.data), -1).astype(np.float32) / 255
basis = AngularBasis((28, 28)).fit(pixels[:1])
turns = CircleAction(basis.frequencies_)


def kernel(degrees):
    """Return k_w as a kernel; for w = 0 it is the plain kernel."""
    if degrees == 0:
        return Gaussian(0.03)
    density = Uniform(*np.deg2rad([-degrees, degrees]))
    return Average(Gaussian(0.03), basis.rotations(density, n_nodes=72), tolerance=0.05)


# %%
def turned(Z, degrees):
    """Turn each point by its own angle."""
    points = []
    for angle, point in zip(np.deg2rad(degrees), Z, strict=True):
        points.append(turns.act([angle], point[None])[0, 0])
    return np.stack(points)


def svc():
    return SVC(C=1e3, kernel="precomputed")


# %% [markdown]
# ## It hurts if two classes share orbits
#
# The first task is to distinguish real sixes from real nines; handwriting breaks the symmetry a
# little. The second task is to distinguish sixes from *the same sixes upside down*.

# %%
sixes = basis.transform(pixels[data.target == 6][:600])
nines = basis.transform(pixels[data.target == 9][:600])
SIX_OR_NINE = "six or nine"
SIX_OR_TURNED = "a six or the same upside down"
TASKS = {
    SIX_OR_NINE: nines,
    SIX_OR_TURNED: turned(sixes, np.full(len(sixes), 180.0)),
}
STYLES = {0: "raw", 20: "local", 180: "haar"}
n_half = max(SIZES) // 2
n_held_out = 40  # of each class
n_fit = 2 * n_half


# %%
def draw_pairs(task, repetition):
    """Return alternating points of both classes, so that all first n rows are balanced."""
    rng = np.random.default_rng([seed, repetition])
    second_class = TASKS[task]
    n = n_half + n_held_out
    first_rows = rng.permutation(len(sixes))[:n]
    second_rows = first_rows
    if task == SIX_OR_NINE:
        second_rows = rng.permutation(len(second_class))[:n]
    pairs = np.stack([sixes[first_rows], second_class[second_rows]], axis=1)
    return pairs.reshape(2 * n, -1), np.tile([0, 1], n)


# %%
errors = {}
for task in TASKS:
    for width in STYLES:
        k = kernel(width)
        values = np.empty((N_DRAWS, len(SIZES)))
        for repetition in range(N_DRAWS):
            points, labels = draw_pairs(task, repetition)
            K = k(points[:n_fit])
            K_test = k(points[n_fit:], points[:n_fit])
            for i, n in enumerate(SIZES):
                model = svc().fit(K[:n, :n], labels[:n])
                accuracy_of_draw = model.score(K_test[:, :n], labels[n_fit:])
                values[repetition, i] = 100 * (1 - accuracy_of_draw)
        errors[task, width] = values

# %%
fig, panels = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
for axes, task in zip(panels, TASKS, strict=True):
    curves = {f"w = {w}°": (method, errors[task, w]) for w, method in STYLES.items()}
    curves["chance"] = ("bound", [50] * len(SIZES), {"ls": ":"})
    panel(axes, SIZES, curves, log="x", ends=None, xlabel="training digits")
    axes.set_title(f"{task}:\n{errors[task, 180][:, -1].mean():.0f} % wrong with all rotations")
panels[0].set_ylabel("test error (%)")
# Labels are placed last, because the panels share their limits.
for axes in panels:
    label_ends(axes, room=0.3)
run.figure(
    fig,
    "six_nine",
    caption=f"Upright digits ({ORIGIN}). Error bars: two standard errors over {N_DRAWS} draws.",
)

# %% [markdown]
# On the right the Haar kernel cannot succeed: a test image and its turned copy have the same row in the
# Gram matrix, and rounding decides. On the left it can only use the traces of handwriting. A local
# kernel tolerates small rotations without identifying six and nine.
#
# ## It helps if the test digits are rotated
#
# Now there are all ten digits. Training digits are upright, and few; test digits are **upright**,
# **tilted** by up to 30 degrees as on a page that lies askew, or **turned** by any angle as on the balls
# of a lottery.

# %%
LIMITS = {"upright": 0.0, "tilted": 30.0, "turned": 180.0}  # largest angle of test digits
LIMIT_STYLES = {"upright": "raw", "tilted": "local", "turned": "haar"}
chosen_images = np.random.default_rng(seed).permutation(len(pixels))[:N_IMAGES]
Z = basis.transform(pixels[chosen_images])
y = data.target[chosen_images]
accuracy = {kind: np.empty((N_DRAWS_OF_TEN, len(HALF_WIDTHS))) for kind in LIMITS}
for repetition in range(N_DRAWS_OF_TEN):
    rng = np.random.default_rng([seed, 1, repetition])
    order = rng.permutation(len(Z))
    train = order[:n_train]
    test = order[n_train : n_train + N_TEST]
    angles = rng.uniform(-1, 1, size=N_TEST)
    test_points = {kind: turned(Z[test], limit * angles) for kind, limit in LIMITS.items()}
    for i, width in enumerate(HALF_WIDTHS):
        k = kernel(width)
        model = svc().fit(k(Z[train]), y[train])
        for kind, points in test_points.items():
            accuracy[kind][repetition, i] = 100 * model.score(k(points, Z[train]), y[test])

# %%
best_widths = []
curves = {}
for kind, values in accuracy.items():
    best = HALF_WIDTHS[int(values.mean(axis=0).argmax())]
    best_widths.append(f"{kind} {best}°")
    curves[f"{kind} test digits"] = (LIMIT_STYLES[kind], values)
fig, axes = plt.subplots(figsize=(7.0, 3.8))
panel(axes, HALF_WIDTHS, curves)
axes.set_xlabel("half-width w of the rotations in the kernel (degrees)")
axes.set_ylabel("test accuracy, ten classes (%)")
axes.set_title(f"The best w depends on the test digits: {', '.join(best_widths)}")
run.figure(
    fig,
    "width",
    caption=f"{n_train} upright training digits ({ORIGIN}). Error bars: two standard errors "
    f"over {N_DRAWS_OF_TEN} draws.",
)

# %% [markdown]
# The kernel supplies the rotated digits that the training set lacks. An average over angles that do not
# occur may cost accuracy. Even upright digits may gain from a moderate width.
#
# ## Choosing the width
#
# 1. **Look at the orbits.** If two classes share an orbit, the group is too large.
# 2. **Make it local.** A density on the group (`Uniform`, `VonMises`, `Normal`), or a part of it
#    (`Translations(max_shift=2)`, `Rotations(degrees=range(-10, 11))`), is a dial between both ends.
# 3. **Let cross-validation turn the dial**, with held-out points transformed as the test points will be.


# %%
def cross_validated(width, points, transformed, labels):
    """Return the mean accuracy (%) over five folds, whose held-out points are transformed."""
    k = kernel(width)
    K = k(points)
    K_transformed = k(transformed, points)
    folds = np.arange(len(points)) % 5
    accuracies = []
    for fold in range(5):
        train = np.flatnonzero(folds != fold)
        held_out = np.flatnonzero(folds == fold)
        model = svc().fit(K[np.ix_(train, train)], labels[train])
        score = model.score(K_transformed[np.ix_(held_out, train)], labels[held_out])
        accuracies.append(100 * score)
    return np.mean(accuracies)


# %%
rng = np.random.default_rng([seed, 2])
rows = rng.permutation(len(Z))[:n_train]
angles = rng.uniform(-1, 1, size=n_train)
table = []
for kind, limit in LIMITS.items():
    transformed = turned(Z[rows], limit * angles)
    estimates = [cross_validated(width, Z[rows], transformed, y[rows]) for width in HALF_WIDTHS]
    chosen = int(np.argmax(estimates))
    row = {
        "expected digits": kind,
        "half-width chosen (degrees)": HALF_WIDTHS[chosen],
        "its test accuracy (%)": f"{mean_se(accuracy[kind][:, chosen]):.1f}",
        "best of all half-widths (%)": f"{accuracy[kind].mean(axis=0).max():.1f}",
    }
    table.append(row)
run.table(
    table,
    "chosen",
    caption=f"The half-width chosen by five folds of {n_train} training digits, held-out folds "
    "turned as the test digits will be; test accuracies from the figure above.",
)


# %% [markdown]
# `guides/model_selection` does this in a scikit-learn pipeline. The theory is in `raj2017/embedding` and
# `mroueh2015/theorem1` (its remark on subsets of a group).
