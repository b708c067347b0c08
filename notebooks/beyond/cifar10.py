# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # CIFAR-10: photographs as sets of patches
#
# An average over transformed *images* does little for raw pixels of CIFAR-10 (`raj2017/cifar10`); Raj et
# al. leave orbit statistics of *patches* to future work. How accurate are they? Coates, Lee and Ng (2011)
# found the two decisive ingredients: many whitened patches as templates, and a response that is zero
# for most of them. An exact average over the mirror image and a Gaussian kernel between the averages
# add to them. Nothing is trained but by least squares.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seeds: list[int] = [1, 2, 3]  # draws of templates; the first also at full size; 0 chooses

# %%
import time
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from _large_kernel import kernel_ridge_classes
from _patches import centred, patch_pooling, pooled

from invariance.companion import Run, Score, colour, mean_se, rows
from invariance.datasets import load_cifar10, make_textures
from invariance.kernels import Gaussian
from invariance.linear import BlockRidgeClassifier

run = Run("beyond/cifar10", profile=profile, seeds=seeds, chooses=True)

# %% tags=["settings"]
QUICK = run.quick
ALPHAS = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4)  # for features with a total variance of one
GAMMAS = [0.025, 0.05, 0.1, 0.2]  # for these features as well
RIDGES = [0.001, 0.003, 0.01, 0.03]  # beside a diagonal of one
PUBLISHED = {"4,000 learnt patches (2011)": 79.6, "2,000 random patches (2021)": 82.5}  # per cent
AIM = 82.0
if QUICK:
    FEW_TEMPLATES = 20  # everywhere but at full size
    MANY_TEMPLATES = 40  # at full size
    N_LEARN = 150  # images to learn from while choosing
    N_HELD_OUT = 75  # images to choose with
    N_TRAIN_DRAW = 200  # images of the small size
    N_TEST_DRAW = 100
    THRESHOLDS = [0.1, 0.2]
    N_COMPONENTS = 20
    BLOCK = 100  # images at a time, at full size
    N_KERNEL = 380  # images that the kernel learns from, at full size
else:
    FEW_TEMPLATES = 500
    MANY_TEMPLATES = 2000
    N_LEARN = 8000
    N_HELD_OUT = 4000
    N_TRAIN_DRAW = 10_000
    N_TEST_DRAW = 5000
    THRESHOLDS = [0.1, 0.2, 0.3]
    N_COMPONENTS = 60
    BLOCK = 5000
    N_KERNEL = 46_000

# %% [markdown]
# ## Data and protocol
#
# There are 50,000 photographs for training and 10,000 for testing, each centred and divided by its
# standard deviation. Threshold, square roots, and bandwidth and ridge of the kernel are chosen on training
# images, with few templates. The penalty of a linear classifier is chosen on a tenth of the training images
# of each fit, which the model then learns too. The first run had no kernel, and fell short of the aim: its
# test accuracy had been seen when the kernel was added.


# %%
def load_images():
    """Return CIFAR-10, or synthetic textures in the quick profile."""
    if QUICK:
        return make_textures(length=2.0, width=1.2, random_state=0)
    return load_cifar10()


def pixels(images):
    """Return centred images, flattened."""
    rows = images.reshape(len(images), -1).astype(np.float32)
    return centred(rows / 255)


data = load_images()
images = data.data
labels = data.target
n_train = data.n_train
run.uses_data(data)

# %% [markdown]
# ## Parts and wholes
#
# A patch $p$ of 6 x 6 pixels is centred, whitened and brought to unit norm; templates $w_j$ are
# patches of training images. Its features are $\max(0, \pm\langle w_j, p \rangle - t)$ (`similar`, in
# `_patches.py`): zero for most templates, and large for the few that resemble the patch or its
# negative. `PatchPooling` averages them over all patches within each quarter of the image, an orbit
# under translations, and an image and its mirror image are averaged exactly. Square roots of these
# averages keep templates that fit everywhere from outweighing templates that fit in a few places.
# A linear classifier adds up the evidence of single templates; a Gaussian kernel between images' features,
# $e^{-\gamma \lVert \phi(x) - \phi(y) \rVert^2}$, also weighs templates that occur together.


# %%
def pooling_of(n_templates, threshold, seed, stride=1):
    """Return a pooling with templates from training images."""
    return patch_pooling(
        pixels(images[:5000]),
        every=5,
        patches=50_000,
        components=N_COMPONENTS,
        templates=n_templates,
        threshold=threshold,
        seed=seed,
        stride=stride,
    )


# %%
def scale_of(features, power):
    """Return the factor that gives powers of features a total variance of one."""
    total_variance = np.var(features**power, axis=0).sum()
    return np.float32(1 / np.sqrt(total_variance))


def choose_alpha(model, features, labels):
    """Return the model at the alpha with the best accuracy on a last block, after learning it."""
    accuracies = model.scores(features, labels, alphas=ALPHAS)
    model.partial_fit(features, labels)
    best = int(np.nanargmax(accuracies))
    return model.solve(ALPHAS[best])


# %% [markdown]
# ## Choosing the settings
#
# The power is chosen by the accuracy of a linear classifier on held-out training images.


# %%
def features_to_choose_with(threshold, seed):
    """Return the features of training images, with few templates."""
    pooling = pooling_of(FEW_TEMPLATES, threshold, seed)
    return pooled(pooling, pixels(images[: N_LEARN + N_HELD_OUT]))


@run.cache
def held_out(threshold, seed):
    """Return held-out accuracies by power."""
    Z = features_to_choose_with(threshold, seed)
    held_out_labels = labels[N_LEARN : N_LEARN + N_HELD_OUT]
    accuracies = []
    for power in (1, 0.5):
        X = Z**power * scale_of(Z, power)
        model = BlockRidgeClassifier(dtype="float32")
        model.partial_fit(X[:N_LEARN], labels[:N_LEARN], classes=np.unique(labels))
        scores = model.scores(X[N_LEARN:], held_out_labels, alphas=ALPHAS)
        accuracies.append(np.nanmax(scores))
    return accuracies


# %%
BY = (
    f"accuracy on {N_HELD_OUT:,} training images, {N_LEARN:,} others to learn from, "
    f"{FEW_TEMPLATES:,} templates"
)
power = run.select(
    "power",
    [1, 0.5],
    scores=lambda: np.max([held_out(threshold, 0) for threshold in THRESHOLDS], axis=0),
    by=f"{BY}, linear classifier, best threshold",
)

# %% [markdown]
# Threshold, bandwidth and ridge are chosen by the accuracy of the Gaussian kernel.


# %%
@run.cache
def held_out_with_kernel(threshold, power, seed):
    """Return held-out accuracies of the Gaussian kernel, shape (gammas, ridges)."""
    Z = features_to_choose_with(threshold, seed)
    X = Z**power * scale_of(Z, power)
    held_out_labels = labels[N_LEARN : N_LEARN + N_HELD_OUT]
    accuracies = []
    for gamma in GAMMAS:
        predicted = kernel_ridge_classes(
            Gaussian(gamma), X[:N_LEARN], labels[:N_LEARN], X[N_LEARN:], RIDGES
        )
        accuracies.append(np.mean(predicted == held_out_labels, axis=1))
    return np.array(accuracies)


# %%
threshold = run.select(
    "threshold",
    THRESHOLDS,
    lambda threshold: held_out_with_kernel(threshold, power, 0).max(),
    by=f"{BY}, best gamma and ridge",
)
gamma = run.select(
    "gamma",
    GAMMAS,
    scores=lambda: held_out_with_kernel(threshold, power, 0).max(axis=1),
    by=f"{BY}, best ridge",
)
ridge = run.select(
    "ridge",
    RIDGES,
    scores=lambda: held_out_with_kernel(threshold, power, 0)[GAMMAS.index(gamma)],
    by=BY,
)


# %% [markdown]
# ## Measuring
#
# Each row of the table adds one ingredient to the row above. These fits are small: few templates, and
# a part of the images.

# %%
run.measure()
data = load_images()
images = data.data
labels = data.target
INGREDIENTS = {
    "no threshold": {"has_threshold": False, "stride": 2, "mirror": False, "power": 1},
    "threshold": {"has_threshold": True, "stride": 2, "mirror": False, "power": 1},
    "every place": {"has_threshold": True, "stride": 1, "mirror": False, "power": 1},
    "mirror average": {"has_threshold": True, "stride": 1, "mirror": True, "power": 1},
    "square roots": {"has_threshold": True, "stride": 1, "mirror": True, "power": 0.5},
}
KERNEL = "Gaussian kernel"


# %%
def accuracy_of(features, power, labels):
    """Return the test accuracy (%) of powers of features; the training images come first."""
    n = N_TRAIN_DRAW
    n_fit = n - n // 10
    X = features**power * scale_of(features[:n], power)
    model = BlockRidgeClassifier(dtype="float32")
    model.partial_fit(X[:n_fit], labels[:n_fit], classes=np.unique(labels))
    model = choose_alpha(model, X[n_fit:n], labels[n_fit:n])
    return 100 * model.score(X[n:], labels[n:])


# %%
def accuracy_with_kernel(features, power, labels, gamma, ridge):
    """Return the same with the Gaussian kernel."""
    n = N_TRAIN_DRAW
    X = features**power * scale_of(features[:n], power)
    predicted = kernel_ridge_classes(Gaussian(gamma), X[:n], labels[:n], X[n:], [ridge])
    return 100 * np.mean(predicted[0] == labels[n:])


# %%
@run.cache
def small_fits(seed, threshold, power, gamma, ridge):
    """Return the accuracy (%) of each row, with few templates and images; the kernel comes last."""
    chosen = np.r_[:N_TRAIN_DRAW, n_train : n_train + N_TEST_DRAW]
    accuracies = []
    for row in INGREDIENTS.values():
        # Square roots use the features of the row above.
        if row["power"] == 1:
            row_threshold = threshold if row["has_threshold"] else 0
            pooling = pooling_of(FEW_TEMPLATES, row_threshold, seed, row["stride"])
            features = pooled(pooling, pixels(images[chosen]), row["mirror"])
        accuracies.append(accuracy_of(features, row["power"], labels[chosen]))
    accuracies.append(accuracy_with_kernel(features, power, labels[chosen], gamma, ridge))
    return accuracies


draws = np.array([small_fits(seed, threshold, power, gamma, ridge) for seed in run.seeds])


# %% [markdown]
# At full size there are more templates and all images. The linear classifier takes them in blocks, and the
# last block of training images chooses its penalty. Of the kernel's matrix only one half is in memory (module
# `_large_kernel.py`), 4 GB in single precision. SciPy's routine for such matrices takes 46,340 rows at most,
# so the kernel learns from the first 46,000 images.


# %%
@cache
def features_at_full_size(seed, threshold, power):
    """Return the features of all images, and the CPU seconds that they took."""
    start = time.process_time()
    pooling = pooling_of(MANY_TEMPLATES, threshold, seed)
    first_features = pooled(pooling, pixels(images[: BLOCK // 10]))
    scale = scale_of(first_features, power)
    X = np.empty((len(images), first_features.shape[1]), np.float32)
    for first in range(0, len(images), BLOCK):
        block = slice(first, first + BLOCK)
        X[block] = pooled(pooling, pixels(images[block])) ** power * scale
    return X, time.process_time() - start


# %%
@run.cache
def linear_at_full_size(seed, threshold, power):
    """Return the test accuracy (%) of the linear classifier, and CPU seconds."""
    X, seconds = features_at_full_size(seed, threshold, power)
    start = time.process_time()
    model = BlockRidgeClassifier(dtype="float32")
    classes = np.unique(labels)
    for first in range(0, n_train, BLOCK):
        block = slice(first, min(first + BLOCK, n_train))
        if block.stop < n_train:
            model.partial_fit(X[block], labels[block], classes=classes)
        else:
            model = choose_alpha(model, X[block], labels[block])
    accuracy = 100 * model.score(X[n_train:], labels[n_train:])
    return accuracy, seconds + time.process_time() - start


@run.cache
def kernel_at_full_size(seed, threshold, power, gamma, ridge):
    """Return the test accuracy (%) of the Gaussian kernel, and CPU seconds."""
    X, seconds = features_at_full_size(seed, threshold, power)
    start = time.process_time()
    predicted = kernel_ridge_classes(
        Gaussian(gamma), X[:N_KERNEL], labels[:N_KERNEL], X[n_train:], [ridge]
    )
    accuracy = 100 * np.mean(predicted[0] == labels[n_train:])
    return accuracy, seconds + time.process_time() - start


linear, seconds_linear = linear_at_full_size(run.seeds[0], threshold, power)
best, seconds = kernel_at_full_size(run.seeds[0], threshold, power, gamma, ridge)


# %% [markdown]
# ## Results
#
# The error of the full size combines the binomial error of the test images with the spread over draws
# of templates, which only the small fits show.

# %%
n_test = len(images) - n_train
names = [*INGREDIENTS, KERNEL]
spread = dict(zip(names, draws.std(axis=0, ddof=1), strict=True))


def full_score(accuracy, row):
    """Return an accuracy (%) at full size with its error."""
    binomial = 100 * np.sqrt(accuracy / 100 * (1 - accuracy / 100) / n_test)
    return Score(accuracy, np.hypot(binomial, spread[row]))


linear_row = "square roots" if power == 0.5 else "mirror average"
scores = {row: mean_se(draws[:, i]) for i, row in enumerate(names)}
full_scores = {
    "linear, at full size": full_score(linear, linear_row),
    f"{KERNEL}, at full size": full_score(best, KERNEL),
}
n_images = {"linear, at full size": n_train, f"{KERNEL}, at full size": N_KERNEL}
error = full_scores[f"{KERNEL}, at full size"].se

table = []
for row, score in scores.items():
    table.append(
        {
            "features": row,
            "templates": f"{FEW_TEMPLATES:,}",
            "training images": f"{N_TRAIN_DRAW:,}",
            "accuracy (%)": f"{score:.2f}",
        }
    )
for row, score in full_scores.items():
    table.append(
        {
            "features": row,
            "templates": f"{MANY_TEMPLATES:,}",
            "training images": f"{n_images[row]:,}",
            "accuracy (%)": f"{score:.2f}",
        }
    )
run.table(
    table,
    "accuracy",
    caption=f"Test accuracy; each row adds to the one above. Small size: {N_TEST_DRAW:,} test images, "
    f"mean and standard error over {len(run.seeds)} draws of templates. Full size: one draw, power "
    f"{power:g}, with the binomial error of the test images and the spread of the draws above.",
)

# %%
fig, axis = plt.subplots(figsize=(7, 4.4))
styles = ["raw"] * len(scores) + ["haar"] * len(full_scores)
rows(axis, scores | full_scores, styles)
axis.set_xlabel("test accuracy (%)")
axis.set_title(f"Patches and least squares classify {best:.1f} % correctly")
if QUICK:
    axis.set_title(f"Patches and least squares classify {best:.1f} % of synthetic textures")
else:
    lines = PUBLISHED | {f"aim, {AIM:.0f} %": AIM}
    for (name, value), style in zip(lines.items(), ("--", "-.", ":"), strict=True):
        axis.axvline(value, color=colour("published"), lw=0.9, ls=style, label=name)
    fig.legend(loc="outside lower center", ncols=2)
run.figure(
    fig,
    "steps",
    caption=f"Two standard errors. Small size: {FEW_TEMPLATES:,} templates, {N_TRAIN_DRAW:,} images; "
    f"full size: {MANY_TEMPLATES:,}, and {n_train:,} or, with the kernel, {N_KERNEL:,}. Lines: linear classifiers on patch features by "
    "Coates et al. and Thiry et al., as published, and the aim set beforehand.",
)

# %%
run.say(
    "At full size the Gaussian kernel classifies {best:.2f} ± {error:.2f} % of the photographs correctly, in "
    "{minutes:.0f} minutes of one core, and the linear classifier {linear:.2f} %, in {minutes_linear:.0f}; "
    "the first is {above:+.2f} points from the aim of {aim:.0f} %.",
    best=best,
    error=error,
    minutes=seconds / 60,
    linear=linear,
    minutes_linear=seconds_linear / 60,
    aim=AIM,
    above=best - AIM,
)
