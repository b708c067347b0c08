# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Table 2: digits at any angle
#
# *Raj et al. (2017), section 4.2 and Table 2.*
#
# Every digit is turned by a random angle, and the learner sees 12,000 of them. Should it have to see
# each digit at each angle? A kernel machine on pixels has to. Here its features are averaged over
# rotations, which closes most of the gap to a convolutional network. Then
# the kernel that those features approximate is computed exactly.
#
# The average must not make the learner *blind* to rotations, or 6 and 9 become one digit. The paper
# weighs angles by a von Mises density with $\kappa = 0.2$: nearly flat, but not uniform. Whether
# cross-validation chooses that value is asked in `kappa`, what interpolation does to the set in
# `nearest_rotation`, and landmarks that are turned as images are in `pixel_landmarks`.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seeds: list[int] = [1, 2, 3]  # rebuilt sets for rows without a group; 0 chooses
kappa: float = 0.2  # concentration of the density on rotations

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from _rotated_mnist import (
    entries,
    held_out_accuracies,
    leave_one_out_error,
    one_against_rest,
    percent_right,
    ridge_on_features,
    sample_of,
    scaled,
)
from scipy import ndimage

from invariance.companion import Run, colour, look, mean_se
from invariance.datasets import load_digits_images, make_rotated_mnist
from invariance.features import AngularBasis, GroupCDF, OrbitFourier, OrbitNystroem, median_gamma
from invariance.groups import Rotations, VonMises
from invariance.kernels import Average, Gaussian, Hyperkernel
from invariance.linear import kernel_ridge

run = Run("raj2017/rotated_mnist", profile=profile, seeds=seeds, kappa=kappa, chooses=True)

# %% [markdown]
# ## What differs between the profiles
#
# The full profile has the paper's 12,000 training images, 7,000 templates in the first layer and
# 17,000 in the second. It tests on 10,000 images of each of several sets, while the paper tests on
# the 50,000 of one: rows without a group on three sets, the local ones on 25 others. The paper gives
# no number of templates for GICDF; we take as many as fit into memory.

# %% tags=["settings"]
METHODS = ("lgika-rf", "lgika-nystrom", "lgika-pixels", "rf", "nystrom")
ALPHAS = (1e-7, 1e-6, 1e-5, 1e-4)  # relative to the mean squared norm
if run.quick:
    N_TRAIN = 300
    N_TEST = 600
    N_TEMPLATES = {"first": 200, "second": 300, "gicdf": 60}
    N_ANGLES = 10  # of the features as printed
    N_CHOOSE = 200  # images for held-out accuracy
    N_LEAVE_ONE_OUT = 200  # images for leave-one-out errors
    PLAIN_SETS = run.seeds[:2]
    LOCAL_SETS = (4, 5)
    PIXEL_SETS = (4, 5)
else:
    N_TRAIN = 12_000
    N_TEST = 10_000
    N_TEMPLATES = {"first": 7000, "second": 17_000, "gicdf": 1000}
    N_ANGLES = 100
    N_CHOOSE = 6000
    N_LEAVE_ONE_OUT = 2000
    PLAIN_SETS = run.seeds
    LOCAL_SETS = tuple(range(4, 29))
    PIXEL_SETS = tuple(range(7, 29))
N_HELD_OUT = N_CHOOSE // 3

# %% [markdown]
# The grids. Bandwidths are multiples of the median heuristic, and no chosen one may lie at an end.

# %% tags=["settings"]
if run.quick:
    MULTIPLES = (1, 4)  # to choose the scale
    BANDWIDTHS = dict.fromkeys(METHODS, (1, 4))
    SECOND_BANDWIDTHS = dict.fromkeys(METHODS, (0.3, 1))
    KERNELS = {
        "rbf": {"kappa": [None], "blur": [0.0], "multiple": [1, 4]},
        "exact": {"kappa": [kappa], "blur": [0.0, 0.5], "multiple": [1, 4]},
    }
else:
    MULTIPLES = (2, 4, 8)
    BANDWIDTHS = {
        "lgika-rf": (1, 2, 4, 8, 16),
        "lgika-nystrom": (2, 4, 8, 16, 32),
        "lgika-pixels": (1, 2, 4, 8, 16),
        "rf": (1, 2, 4, 8, 16),
        "nystrom": (4, 8, 16),
    }
    SECOND_BANDWIDTHS = dict.fromkeys(METHODS, (0.03, 0.1, 0.3, 1, 3))
    SECOND_BANDWIDTHS["nystrom"] = (0.3, 1, 3)
    KERNELS = {
        "rbf": {"kappa": [None], "blur": [0.0], "multiple": [2, 4, 8, 16]},
        "exact": {"kappa": [kappa], "blur": [0.0, 0.5, 1.0], "multiple": [4, 8, 16]},
    }

# %% [markdown]
# ## The data
#
# The published set of Larochelle et al. (2007) can no longer be downloaded. We rebuild the set from
# MNIST: disjoint images, uniform angles, bilinear interpolation, several times. The error bars below
# are the spread over these sets: other images, other angles, other templates. Settings are chosen on
# the training images of one more set, and its images are never tested on later.
#
# Pixels turned by an angle have to be interpolated, which blurs. In polar Fourier coefficients
# (`AngularBasis`) a rotation multiplies each coefficient by a phase: it is exactly unitary.

# %%
quick_images, quick_labels = load_digits_images().train
basis = AngularBasis((28, 28))


def rebuilt(seed, never_test=None):
    """The set as rebuilt with a seed, from bundled digits in the quick profile."""
    return make_rotated_mnist(
        quick_images if run.quick else None,
        quick_labels if run.quick else None,
        n_train=N_TRAIN,
        n_test=N_TEST,
        never_test=never_test,
        random_state=seed,
    )


# %% [markdown]
# Settings are chosen on the set of seed 0. The coefficients leave out some high frequencies, and
# with them hardly any of the images' energy.

# %%
choosing_data = rebuilt(0)
run.uses_data(choosing_data)
choosing = sample_of(choosing_data, basis, seed=0)
run.say(
    "{d} coefficients carry {kept:.2%} of the images' energy.",
    d=choosing.angular.shape[1],
    kept=float(np.sum(choosing.angular**2) / np.sum(choosing.pixels**2)),
)

# %% [markdown]
# ## The features, one layer and two
#
# With a random template $\omega_j$, the local features of equation (7) are
#
# $$\psi_j(x) = \frac{1}{\sqrt{s}}
# \int e^{i \langle \omega_j, g_\theta x \rangle}\, q(\theta)\, d\theta,$$
#
# and `OrbitFourier` takes their real and their imaginary part. The paper draws $r = 100$ angles and
# turns its templates as images; that is one of our rows ("pixels"). This row takes one cosine of a random
# phase for each template, $\sqrt{2 / s} \cos(\langle \omega_j, x \rangle + b_j)$: the form of the proof in
# the appendix, with half of the numbers of equation (7). In the other rows we integrate over 32 nodes in
# the angular basis, which has smaller errors (notebook `cost`). With training images in place of random templates they are Nystrom
# features (`OrbitNystroem`), and without a group they are the "original" rows.

# %%
rotations = basis.rotations(VonMises(kappa), n_nodes=32)
turns = Rotations((28, 28), density=VonMises(kappa), interpolation=1)
# Interpolation makes turned pixels not quite unitary.
warnings.filterwarnings("ignore", message=".*unitary.*")


def inputs(sample, method, unit, start, stop):
    """The inputs of a first layer for images start..stop, at the chosen scale."""
    coefficients = sample.pixels if method == "lgika-pixels" else sample.angular
    return scaled(coefficients[start:stop], unit)


def random_features(group, gamma, seed):
    return OrbitFourier(group, N_TEMPLATES["first"], form="cos_sin", gamma=gamma, random_state=seed)


# %% [markdown]
# The row of the paper's features has its random angles and turned templates, and the appendix' one
# cosine of a random phase each. Its protocol calls that form equation (7), which is complex.


# %%
def printed_features(gamma, seed):
    """Features as the paper prints them: turned pixels, a cosine of a random phase."""
    return OrbitFourier(
        turns,
        N_TEMPLATES["first"],
        n_transforms=N_ANGLES,
        side="second",
        gamma=gamma,
        random_state=seed,
    )


# %% [markdown]
# Bandwidths are multiples of the median heuristic. GICDF are the histogram features of Mroueh et
# al. (2015), which have none.


# %%
def landmark_features(group, gamma, n_images, seed):
    """Nystrom features."""
    n_landmarks = min(N_TEMPLATES["first"], n_images)
    # In single precision a larger threshold would leave out much of the kernel.
    return OrbitNystroem(group, n_landmarks, gamma=gamma, rcond=1e-8, random_state=seed)


def histogram_features(seed):
    return GroupCDF(
        rotations,
        N_TEMPLATES["gicdf"],
        n_bins=25,
        n_transforms=100,
        s="data",
        random_state=seed,
    )


# %% [markdown]
# One function makes the first layer of every row.


# %%
def first_layer(method, multiple, X, seed):
    """A feature map fitted to images X."""
    if method == "gicdf":
        return histogram_features(seed).fit(X)
    gamma = multiple * median_gamma(X, random_state=seed)
    if method == "lgika-pixels":
        return printed_features(gamma, seed).fit(X)
    group = rotations if method.startswith("lgika") else None
    if method.endswith("nystrom"):
        return landmark_features(group, gamma, len(X), seed).fit(X)
    return random_features(group, gamma, seed).fit(X)


# %% [markdown]
# The second layer is a Gaussian kernel on top of the first, by random Fourier features again.


# %%
def second_layer(multiple, Z, seed):
    """Random Fourier features of the first layer's features Z."""
    gamma = multiple * median_gamma(Z, random_state=seed)
    model = OrbitFourier(
        None, N_TEMPLATES["second"], form="cos_sin", gamma=gamma, random_state=seed + 1
    )
    return model.fit(Z[:1])


# %% [markdown]
# ## Choosing
#
# The paper does not specify the scale of the images: unchanged, or each divided by its norm, so that
# thick and thin strokes weigh the same. The local kernel itself decides, by leave-one-out.


# %%
@run.cache
def error_by_scale(unit, multiple):
    """Leave-one-out error of the local kernel."""
    X = scaled(choosing.angular[:N_LEAVE_ONE_OUT], unit)
    gamma = multiple * median_gamma(X, random_state=choosing.seed)
    return leave_one_out_error(Average(Gaussian(gamma), rotations), X, choosing.labels)


unit = run.select(
    "unit norm",
    [False, True],
    lambda unit: min(error_by_scale(unit, multiple) for multiple in MULTIPLES),
    by=f"leave-one-out error on {N_LEAVE_ONE_OUT:,} training images, local kernel, best of "
    f"{MULTIPLES} times the median heuristic",
    higher=False,
)

# %% [markdown]
# Bandwidths and regularization are chosen by the accuracy on held-out training images, with all
# templates: with fewer, other bandwidths come out. The second layer's bandwidth is chosen with its
# random features, too: the kernel that they approach loses nothing as it narrows, but 17,000
# templates no longer follow it.


# %%
def accuracies(gram):
    return held_out_accuracies(gram, choosing.labels, N_HELD_OUT, ALPHAS)


def choosing_features(method, unit, multiple):
    """First-layer features of the images with which settings are chosen."""
    X = inputs(choosing, method, unit, 0, N_CHOOSE)
    return first_layer(method, multiple, X, choosing.seed).transform(X)


@run.cache
def one_layer(method, unit, multiple):
    """Held-out accuracies by alpha."""
    Z = choosing_features(method, unit, multiple)
    return accuracies(Z @ Z.T)


@run.cache
def two_layers(method, unit, multiple, second_multiples):
    """Held-out accuracies by the second bandwidth and alpha."""
    Z = choosing_features(method, unit, multiple)
    by_bandwidth = []
    for second_multiple in second_multiples:
        top = second_layer(second_multiple, Z, choosing.seed).transform(Z)
        by_bandwidth.append(accuracies(top @ top.T))
    return by_bandwidth


# %% [markdown]
# A bandwidth must not lie at an end of its grid; otherwise the notebook stops.


# %%
BY = f"accuracy on {N_HELD_OUT:,} training images, {N_CHOOSE - N_HELD_OUT:,} others to learn from"


def one_layer_scores(method):
    return np.ravel([one_layer(method, unit, multiple) for multiple in BANDWIDTHS[method]])


def two_layer_scores(method):
    multiple = first[method][0]
    return np.ravel(two_layers(method, unit, multiple, SECOND_BANDWIDTHS[method]))


def check_inside(method, bandwidth, grid):
    if not run.quick and bandwidth in (grid[0], grid[-1]):
        raise ValueError(f"{method}: {bandwidth} is at an end of {grid}; widen it, choose again")


# %% [markdown]
# With each method the first layer chooses before the second.

# %%
first = {}  # bandwidth and alpha by method
second = {}
for method in METHODS:
    first[method] = run.select(
        f"bandwidth and alpha, {method}",
        entries(BANDWIDTHS[method], ALPHAS),
        scores=lambda method=method: one_layer_scores(method),
        by=BY,
    )
    second[method] = run.select(
        f"second bandwidth and alpha, {method}",
        entries(SECOND_BANDWIDTHS[method], ALPHAS),
        scores=lambda method=method: two_layer_scores(method),
        by=BY,
    )
    check_inside(method, first[method][0], BANDWIDTHS[method])
    check_inside(method, second[method][0], SECOND_BANDWIDTHS[method])
alpha = run.select("alpha, gicdf", ALPHAS, scores=lambda: one_layer("gicdf", unit, None), by=BY)
first["gicdf"] = [None, alpha]

# %% [markdown]
# ## The kernels themselves
#
# "Original (RBF)" is the Gaussian kernel. The kernel that the local features approximate can be
# computed exactly too, as `Average(Gaussian(gamma), rotations)`: a rotation acts by phases, so the
# inner products of two images at all angles come from one small product over angular frequencies.
# One more thing that the paper did not try is to blur the images first, which commutes with
# rotations.


# %%
def blurred(sample, blur, start, stop):
    """Coefficients of images start..stop after a Gaussian blur, at the chosen scale."""
    if blur == 0:
        return scaled(sample.angular[start:stop], unit)
    images = sample.pixels[start:stop].reshape(-1, 28, 28)
    images = ndimage.gaussian_filter(images, (0, blur, blur))
    return scaled(basis.transform(images.reshape(len(images), -1)), unit)


# %% [markdown]
# The median heuristic is taken of blurred images, so that a multiple means the same for each blur.


# %%
def kernel(sample, kappa, blur, multiple):
    X = blurred(sample, blur, 0, N_LEAVE_ONE_OUT)
    base = Gaussian(multiple * median_gamma(X, random_state=sample.seed))
    if kappa is None:
        return base
    return Average(base, basis.rotations(VonMises(kappa), n_nodes=64))


# %% [markdown]
# Blur and bandwidth are chosen by leave-one-out on a part of the training images, regularization as
# above.


# %%
@run.cache
def kernel_error(kappa, blur, multiple):
    k = kernel(choosing, kappa, blur, multiple)
    return leave_one_out_error(k, blurred(choosing, blur, 0, N_LEAVE_ONE_OUT), choosing.labels)


@run.cache
def kernel_accuracies(kappa, blur, multiple):
    k = kernel(choosing, kappa, blur, multiple)
    return accuracies(k(blurred(choosing, blur, 0, N_CHOOSE)))


# %% [markdown]
# Both kernels choose in the same way; the plain one has a single blur and no group.

# %%
kernels = {}
for name, axes in KERNELS.items():
    chosen = run.select(
        f"kappa, blur and bandwidth, {name}",
        entries(*axes.values()),
        lambda entry: kernel_error(*entry),
        by=f"leave-one-out error on {N_LEAVE_ONE_OUT:,} training images",
        higher=False,
    )
    alpha = run.select(
        f"alpha, {name}",
        ALPHAS,
        scores=lambda chosen=chosen: kernel_accuracies(*chosen),
        by=BY,
    )
    kernels[name] = [*chosen, alpha]

# %% [markdown]
# ## Measuring
#
# From here on there are test images: those of sets rebuilt with other seeds. Features are computed
# for a block of test images at a time, for both layers together.

# %%
run.measure()
TEST_BLOCK = 2500  # images


def starts(sample):
    """First images of the blocks of test images."""
    return range(sample.n_train, len(sample.labels), TEST_BLOCK)


# %% [markdown]
# The second layer's equations are preconditioned with the Gram matrix of its kernel, which follows
# from the first layer's Gram matrix without any features.


# %%
@run.cache
def features_right(sample, method, first, second):
    """Test accuracy in per cent with one layer and, if there is a second, with two."""
    X = inputs(sample, method, unit, 0, sample.n_train)
    targets = one_against_rest(sample.labels[: sample.n_train])
    layers = [first_layer(method, first[0], X, sample.seed)]
    Z = layers[0].transform(X)
    gram = Z @ Z.T
    weights = [ridge_on_features(Z, gram.copy(), targets, first[1])]
    if second:
        layers.append(second_layer(second[0], Z, sample.seed))
        # the Gram matrix of the second features comes near that of their kernel
        near = Hyperkernel(Gaussian(), layers[1].gamma_).of_gram(gram, gram.diagonal())
        top = layers[1].transform(Z)
        weights.append(ridge_on_features(top, near, targets, second[1]))
    decisions = [[] for _ in layers]
    for start in starts(sample):
        Z = inputs(sample, method, unit, start, start + TEST_BLOCK)
        for i, layer in enumerate(layers):
            Z = layer.transform(Z)
            coefficients, intercepts = weights[i]
            decisions[i].append(Z @ coefficients + intercepts)
    test_labels = sample.labels[sample.n_train :]
    return [percent_right(blocks, test_labels) for blocks in decisions]


# %% [markdown]
# A kernel needs no features: ridge regression on its Gram matrix.


# %%
@run.cache
def kernel_right(sample, kappa, blur, multiple, alpha):
    """Test accuracy in per cent with a kernel."""
    k = kernel(sample, kappa, blur, multiple)
    X = blurred(sample, blur, 0, sample.n_train)
    targets = one_against_rest(sample.labels[: sample.n_train])
    gram = k(X)
    penalty = alpha * gram.diagonal().mean(dtype=float)
    (duals,) = kernel_ridge(gram, targets, alphas=penalty, clip=False)
    duals = duals.astype(gram.dtype)
    decisions = []
    for start in starts(sample):
        block = k(blurred(sample, blur, start, start + TEST_BLOCK), X) @ duals
        decisions.append(block + targets.mean(axis=0))
    return percent_right(decisions, sample.labels[sample.n_train :])


# %% [markdown]
# Rows without a group, and the kernels, are measured on a few sets; local features on others.


# %%
def sets_of(method):
    """Seeds of the sets that a row of features is tested on."""
    if method in ("lgika-rf", "lgika-nystrom"):
        return LOCAL_SETS
    if method == "lgika-pixels":
        return PIXEL_SETS
    return PLAIN_SETS


def accuracies_on(sample):
    """Accuracies by row, one for each of its layers."""
    by_row = {}
    if sample.seed not in LOCAL_SETS:
        for name, choice in kernels.items():
            by_row[name] = [kernel_right(sample, *choice)]
    for method, choice in first.items():
        if sample.seed in sets_of(method):
            by_row[method] = features_right(sample, method, choice, second.get(method))
    return by_row


# %% [markdown]
# Each set is rebuilt without the images on which settings were chosen.

# %%
results = {}
for seed in dict.fromkeys((*PLAIN_SETS, *LOCAL_SETS)):
    data = rebuilt(seed, never_test=choosing_data.rows)
    for row, by_layer in accuracies_on(sample_of(data, basis, seed)).items():
        for layers, right in enumerate(by_layer, start=1):
            results.setdefault((row, layers), []).append(right)
results = {key: np.array(right) for key, right in results.items()}

# %% [markdown]
# ## Table 2
#
# Local averages are far above every row without a group, and the kernel itself is above its
# features. The paper's numbers:

# %%
PRINTED = {
    "rf": [87.75, 88.01],
    "nystrom": [88.93, 88.98],
    "rbf": [90],
    "gicdf": [93.81],
    "lgika-pixels": [96.83, 97.18],
    "lgika-rf": [96.83, 97.18],
    "lgika-nystrom": [96.81, 97.21],
}
CITED = {"Z2-CNN": 94.97, "TI-RBM": 95.8, "RC-RBM": 97.02, "P4-CNN": 97.72}
NAMES = {
    "rf": "Original (RF)",
    "nystrom": "Original (Nystrom)",
    "rbf": "Original (RBF)",
    "gicdf": f"GICDF, {N_TEMPLATES['gicdf']:,} templates",
    "lgika-pixels": "LGIKA (RF), as printed",
    "lgika-rf": "LGIKA (RF), polar",
    "lgika-nystrom": "LGIKA (Nystrom)",
    "exact": "exact orbit kernel (ours)",
}

# %% [markdown]
# Rows of the table have one layer or two; the kernels and GICDF have one.

# %%
PAPER = {}
for name, values in PRINTED.items():
    for layers, value in enumerate(values, start=1):
        PAPER[name, layers] = value
rows = [(name, layers) for name in NAMES for layers in (1, 2) if (name, layers) in results]
two_layered = {name for name, layers in rows if layers == 2}
titles = {}
for name, layers in rows:
    titles[name, layers] = NAMES[name]
    if name in two_layered:
        titles[name, layers] += ", 1 layer" if layers == 1 else ", 2 layers"
over = (
    f"{len(PLAIN_SETS)} rebuilt sets, of local rows {len(LOCAL_SETS)}, "
    f"of the printed one {len(PIXEL_SETS)}"
)
if run.quick:
    over += " (bundled digits)"

# %% [markdown]
# Networks and Boltzmann machines are cited with the numbers that the paper cites.

# %%
table = []
for key in rows:
    here = f"{mean_se(results[key]):.2f}"
    table.append({"method": titles[key], "paper": PAPER.get(key, np.nan), "here": here})
for name, value in CITED.items():
    table.append({"method": f"{name} (cited)", "paper": value, "here": ""})
run.table(
    pd.DataFrame(table),
    "table2",
    caption=f"Test accuracy in per cent: mean and standard error over {over}.",
)

# %% [markdown]
# Solid dots are one layer, hollow ones two; stars are the paper's numbers.

# %% tags=["hide-input"]
LOOKS = {
    "rf": "rff",
    "nystrom": "nystrom",
    "rbf": "rbf",
    "gicdf": "cdf",
    "lgika-pixels": "lgika",
    "lgika-rf": "lgika-rff",
    "lgika-nystrom": "lgika-nystrom",
    "exact": "exact-kernel",
}
gain = results["lgika-rf", 1].mean() - results["rf", 1].mean()
fig, axis = plt.subplots(figsize=(7.2, 4))
shown = list(dict.fromkeys(name for name, _ in rows))
for name, layers in rows:
    mean, se = mean_se(results[name, layers])
    offset = (-0.16, 0.16)[layers - 1] if name in two_layered else 0
    style = look(LOOKS[name])._asdict() | {"ls": "none"}
    fill = "white" if layers == 2 else None
    axis.errorbar(mean, shown.index(name) + offset, xerr=2 * se, markerfacecolor=fill, **style)
    if (name, layers) in PAPER and not run.quick:
        star = look("published")._asdict()
        axis.plot(PAPER[name, layers], shown.index(name) + offset, ls="none", **star)
if not run.quick:
    axis.axvline(CITED["P4-CNN"], ls=":", color=colour("published"))
    axis.text(CITED["P4-CNN"] - 0.1, 0, "P4-CNN", ha="right", color=colour("published"))
axis.set(
    yticks=range(len(shown)),
    yticklabels=[NAMES[name] for name in shown],
    xlabel="test accuracy (%)" + (", bundled digits" if run.quick else "; stars: the paper's"),
    title=f"Averaging over rotations changes accuracy by {gain:+.1f} points",
)
axis.invert_yaxis()
run.figure(
    fig,
    "table2",
    alt="Test accuracies in per cent as dots, one row per method, hollow for two layers: "
    + ", ".join(f"{titles[key]} {results[key].mean():.1f}" for key in rows),
    caption=f"Mean and two standard errors over {over}. Hollow: two layers.",
)

# %% [markdown]
# ## The paper's statements
#
# The order: every row in the angular basis above every row without a group, above GICDF and above the
# printed Z2-CNN and TI-RBM. The printed RC-RBM lies above the paper's own rows of one layer, so it is
# compared with the rows of two layers. "Close to P4-CNN": the local row that is best held out.

# %%
local_rows = entries(["lgika-rf", "lgika-nystrom"], [1, 2])
baselines = [f"{name} {k}" for name, k in rows if name in ("rf", "nystrom", "rbf", "gicdf")]
baselines += ["TI-RBM", "Z2-CNN"]
order = [f"{name} {k} > {baseline}" for name, k in local_rows for baseline in baselines]
order += ["lgika-rf 2 > RC-RBM", "lgika-nystrom 2 > RC-RBM"]
scores = {f"{name} {layers}": right for (name, layers), right in results.items()} | CITED


def held_out_score(key):
    """The best held-out accuracy when the settings of a local row were chosen."""
    name, layers = key
    bandwidth = "bandwidth" if layers == 1 else "second bandwidth"
    return max(run.choices[f"{bandwidth} and alpha, {name}"].scores)


best_row = max(map(tuple, local_rows), key=held_out_score)
run.say(
    "By held-out training images the best local row is {row}: it gets {right:.2f} % of the test "
    "images right, and the exact orbit kernel {exact:.2f} %.",
    row=titles[best_row],
    right=results[best_row].mean(),
    exact=results["exact", 1].mean(),
)

# %% [markdown]
# Claims are recorded in the full profile alone: the quick one has other digits. The polar row counts
# the first three of its sets, as registered.

# %% tags=["claims"]
NOTE = "the paper's own set is not published; each rebuilt one has other images and other angles"
CLAIMS = {
    "raj2017/table2-original-rf": "rf",
    "raj2017/table2-original-nys": "nystrom",
    "raj2017/table2-original-rbf": "rbf",
    "raj2017/table2-gicdf": "gicdf",
    "raj2017/table2-lgika-rf": "lgika-pixels",
    "raj2017/table2-lgika-rf-polar": "lgika-rf",
    "raj2017/table2-lgika-nys": "lgika-nystrom",
}
if not run.quick:
    for claim, name in CLAIMS.items():
        by_layer = [results[key] for key in rows if key[0] == name]
        samples = np.squeeze(np.transpose(by_layer))
        if claim == "raj2017/table2-lgika-rf-polar":
            samples = samples[:3]
        run.claim(claim, samples=samples, spread=f"{len(samples)} rebuilt sets", note=NOTE)
    run.claim("raj2017/table2-order", order=order, scores=scores, note=NOTE)
    run.claim(
        "raj2017/table2-near-p4cnn",
        samples=results[best_row],
        spread=f"{len(LOCAL_SETS)} rebuilt sets",
        note=f"{titles[best_row]}; the paper's best local row has {max(PAPER.values())}",
    )

# %% [markdown]
# **Where we differ.** The set is rebuilt, so that some tenths of a point may be the data's. The paper
# does not name the learner of its Original (RBF); ours is ridge regression with that kernel. An
# earlier run, kept in the ledger, fell short in four rows; since then bandwidths are chosen with all
# templates.
#
# ## Try it
#
# `invariance run raj2017/rotated_mnist -p kappa 2`: a density that keeps apart what lies far apart.
