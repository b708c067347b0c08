# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Digits at any angle
#
# *Raj et al. (2017), section 4.2 and Table 2.*
#
# Every digit is turned by a random angle, and the learner sees 12,000 of them. Should it have to see
# each digit at each angle? A kernel machine on pixels has to. Here its features are averaged over
# rotations, and then the kernel that those features approximate is computed exactly.
#
# The average must not make the learner *blind* to rotations, or 6 and 9 become one digit. The paper
# weighs angles by a von Mises density with $\kappa = 0.2$: nearly flat, but not uniform.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seeds: list[int] = [1, 2, 3]  # rebuilt sets for rows without a group; 0 chooses
kappa: float = 0.2  # concentration of the density on rotations

# %%
import warnings
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import ndimage

from invariance.companion import Run, colour, curve, look, mean_se
from invariance.datasets import load_digits_images, make_rotated_mnist
from invariance.features import AngularBasis, GroupCDF, OrbitFourier, OrbitNystroem, median_gamma
from invariance.groups import Rotations, VonMises
from invariance.kernels import Average, Gaussian, Hyperkernel
from invariance.linear import kernel_ridge, rls_by_cholesky, solve_by_gradients

run = Run("raj2017/rotated_mnist", profile=profile, seeds=seeds, kappa=kappa, chooses=True)

# %% [markdown]
# ## What differs between the profiles
#
# The full profile has the paper's 12,000 training images, 7,000 templates in the first layer and
# 17,000 in the second. It tests on 10,000 images of each of several sets where the paper tests on
# the 50,000 of one: rows without a group on three sets, the local ones on 25 others. The paper gives no
# number of templates for GICDF; we take as many as fit into memory.

# %% tags=["settings"]
METHODS = ("lgika-rf", "lgika-nystrom", "lgika-pixels", "rf", "nystrom")
if run.quick:
    set_sizes = {"n_train": 300, "n_test": 600}
    templates = {"first": 200, "second": 300, "gicdf": 60}
    n_choose, part = 200, 200  # images for held-out accuracy, and for leave-one-out
    bandwidths, second_bandwidths = dict.fromkeys(METHODS, (1, 4)), dict.fromkeys(METHODS, (0.3, 1))
    KERNELS = {"rbf": ([None], [0.0], [1, 4]), "exact": ([kappa], [0.0, 0.5], [1, 4])}
    fresh, n_angles, cv_sets, cv_images = (4, 5), 10, (4, 5), 200
else:
    set_sizes = {"n_train": 12_000, "n_test": 10_000}
    templates = {"first": 7000, "second": 17_000, "gicdf": 1000}
    n_choose, part = 6000, 2000
    bandwidths = {"nystrom": (4, 8, 16), "rf": (1, 2, 4, 8, 16)}
    bandwidths |= {"lgika-rf": (1, 2, 4, 8, 16), "lgika-nystrom": (2, 4, 8, 16, 32)}
    bandwidths["lgika-pixels"] = (1, 2, 4, 8, 16)
    second_bandwidths = dict.fromkeys(METHODS, (0.03, 0.1, 0.3, 1, 3))
    second_bandwidths["nystrom"] = (0.3, 1, 3)
    fresh, n_angles, cv_sets, cv_images = tuple(range(4, 29)), 100, range(10, 29), 3000
    KERNELS = {"rbf": ([None], [0.0], [2, 4, 8, 16])}
    KERNELS["exact"] = ([kappa], [0.0, 0.5, 1.0], [4, 8, 16])
HELD_OUT = n_choose // 3
KAPPAS, CV_BANDWIDTHS = (0.0, kappa, 1.0, 5.0, 25.0), (2, 4, 8, 16, 32)

# %% [markdown]
# ## The data
#
# The published set of Larochelle et al. (2007) can no longer be downloaded. We rebuild the set from
# MNIST: disjoint images, uniform angles, bilinear interpolation, several times. The error bars below
# are the spread over these sets: other images, other angles, other templates. Settings are chosen on
# the training images of one more set, and none of these is tested on later.
#
# Pixels turned by an angle have to be interpolated, which blurs. In polar Fourier coefficients
# (`AngularBasis`) a rotation multiplies each coefficient by a phase: it is exactly unitary.

# %%
digits = dict(zip(("images", "labels"), load_digits_images().train, strict=True))


def rebuilt(seed, never_test=None):
    """The set as rebuilt with a seed."""
    how = (digits if run.quick else {}) | set_sizes
    return make_rotated_mnist(**how, never_test=never_test, random_state=seed)


basis = AngularBasis((28, 28))


def prepared(data):
    """Pixels, coefficients in the angular basis, and labels."""
    pixels = data.data.reshape(len(data.data), -1)
    return pixels, basis.fit(pixels[:1]).transform(pixels), data.target


seed = 0
choosing = rebuilt(seed)
run.uses_data(choosing)
pixels, angular, labels = prepared(choosing)
n_train = choosing.n_train
run.say(
    "{d} coefficients carry {kept:.2%} of the images' energy.",
    d=angular.shape[1],
    kept=float(np.sum(angular**2) / np.sum(pixels**2)),
)

# %% [markdown]
# ## The features, one layer and two
#
# With a random template $\omega_j$, the local features of equation (7) are
#
# $$\psi_j(x) = \frac{1}{\sqrt{s}}
# \int e^{i \langle \omega_j, g_\theta x \rangle}\, q(\theta)\, d\theta,$$
#
# of which `OrbitFourier` takes the real and the imaginary part. The paper draws $r = 100$ angles and
# turns its templates as images; that is one of our rows ("pixels"), one cosine of a random phase for
# each template. In the others we integrate over 32 nodes in the angular basis, which errs less
# (notebook `cost`). With training images in place of random templates they are Nystrom features
# (`OrbitNystroem`), and without a group they are the "original" rows. The second layer is a Gaussian
# kernel on top of the first, by random Fourier features again.

# %%
rotations = basis.rotations(VonMises(kappa), n_nodes=32)
turns = Rotations((28, 28), density=VonMises(kappa), interpolation=1)
warnings.filterwarnings("ignore", message=".*unitary.*")  # turned pixels are not quite


def scaled(coefficients, unit):
    """Images at unit norm, or as they are."""
    norms = np.linalg.norm(coefficients, axis=1, keepdims=True)
    return coefficients / norms if unit else coefficients


def inputs(method, start, stop):
    """What a first layer sees of images start..stop, at the chosen scale."""
    return scaled((pixels if method == "lgika-pixels" else angular)[start:stop], unit)


def median(X):
    """The bandwidth of the median heuristic."""
    return median_gamma(X, random_state=seed)


def first_layer(method, multiple, X):
    """A fitted feature map of images X."""
    if method == "gicdf":
        cdf = {"n_bins": 25, "n_transforms": 100, "s": "data", "random_state": seed}
        return GroupCDF(rotations, templates["gicdf"], **cdf).fit(X)
    if method == "lgika-pixels":
        how = {"n_transforms": n_angles, "side": "second", "random_state": seed}
        return OrbitFourier(turns, templates["first"], gamma=multiple * median(X), **how).fit(X)
    group = rotations if method.startswith("lgika") else None
    how = {"gamma": multiple * median(X), "random_state": seed}
    if method.endswith("nystrom"):
        # in single precision a larger threshold would leave much of the kernel out
        how |= {"rcond": 1e-8}
        return OrbitNystroem(group, min(templates["first"], len(X)), **how).fit(X)
    return OrbitFourier(group, templates["first"], form="cos_sin", **how).fit(X)


def second_layer(multiple, Z):
    """Random Fourier features of the first layer's features Z."""
    how = {"form": "cos_sin", "gamma": multiple * median(Z), "random_state": seed + 1}
    return OrbitFourier(None, templates["second"], **how).fit(Z[:1])


# %% [markdown]
# ## Choosing
#
# The paper says nothing about the scale of the images: as they are, or each divided by its norm, so
# that thick and thin strokes weigh the same. The local kernel itself decides, by leave-one-out.
# Bandwidths (multiples of the median heuristic) and regularisation are chosen by the accuracy on
# held-out training images, with all templates: with fewer, other bandwidths come out. The second
# layer's bandwidth is chosen with its random features, too: the kernel that they approach loses nothing
# as it narrows, but 17,000 templates no longer follow it.

# %%
ALPHAS = (1e-7, 1e-6, 1e-5, 1e-4)  # relative to the mean squared norm


def leave_one_out_error(kernel, X):
    gram = kernel(X.astype(float))  # the search for alpha goes below the rounding of float32
    return min(rls_by_cholesky(gram, labels[: len(X)], start=1e-5).loo_errors.values())


@run.cache
def error_by_scale(unit, multiple):
    """Leave-one-out error of the local kernel."""
    X = scaled(angular[:part], unit)
    return leave_one_out_error(Average(Gaussian(multiple * median(X)), rotations), X)


MULTIPLES = (1, 4) if run.quick else (2, 4, 8)
unit = run.select(
    "unit norm",
    [False, True],
    lambda unit: min(error_by_scale(unit, multiple) for multiple in MULTIPLES),
    by=f"leave-one-out error on {part:,} training images, local kernel, best of {MULTIPLES} "
    "times the median heuristic",
    higher=False,
)


# %%
def accuracies(gram):
    """Held-out accuracy of ridge regression on the first training images, by alpha."""
    n = len(gram) - HELD_OUT
    kept, Y = gram[:n, :n], np.where(labels[:n, None] == np.arange(10), 1.0, -1.0)
    scaled_alphas = np.multiply(ALPHAS, kept.diagonal().mean(dtype=float))
    duals = kernel_ridge(kept, Y, alphas=scaled_alphas, clip=False)
    decided = (gram[n:, :n] @ duals + Y.mean(axis=0)).argmax(axis=2)
    right = (decided == labels[n : len(gram)]).mean(axis=1)
    return np.where(np.isnan(duals).any(axis=(1, 2)), np.nan, right)


@run.cache
def one_layer(method, unit, multiple):
    """Held-out accuracies by alpha."""
    X = inputs(method, 0, n_choose)
    Z = first_layer(method, multiple, X).transform(X)
    return accuracies(Z @ Z.T)


@run.cache
def two_layers(method, unit, multiple, seconds):
    """Held-out accuracies by the second bandwidth and alpha."""
    X = inputs(method, 0, n_choose)
    Z = first_layer(method, multiple, X).transform(X)
    tops = (second_layer(second, Z).transform(Z) for second in seconds)
    return [accuracies(W @ W.T) for W in tops]


def entries(*axes):
    return [list(entry) for entry in product(*axes)]


def inside(method, choice, grid):
    """A bandwidth must not lie at an end of its grid."""
    if not run.quick and choice[0] in (grid[0], grid[-1]):
        raise ValueError(f"{method}: {choice[0]} is at an end of {grid}; widen it, choose again")
    return choice


BY = f"accuracy on {HELD_OUT:,} training images, {n_choose - HELD_OUT:,} others to learn from"
first, second = {}, {}
for method in METHODS:
    multiples, seconds = bandwidths[method], second_bandwidths[method]
    first[method] = run.select(
        f"bandwidth and alpha, {method}",
        entries(multiples, ALPHAS),
        scores=lambda m=method, c=multiples: np.ravel([one_layer(m, unit, e) for e in c]),
        by=BY,
    )
    second[method] = run.select(
        f"second bandwidth and alpha, {method}",
        entries(seconds, ALPHAS),
        scores=lambda m=method, c=seconds: np.ravel(two_layers(m, unit, first[m][0], c)),
        by=BY,
    )
    inside(method, first[method], multiples)
    inside(method, second[method], seconds)
alpha = run.select("alpha, gicdf", ALPHAS, scores=lambda: one_layer("gicdf", unit, None), by=BY)
first["gicdf"] = [None, alpha]

# %% [markdown]
# ## The kernels themselves
#
# "Original (RBF)" is the Gaussian kernel. The kernel that the local features approximate can be
# computed exactly too, as `Average(Gaussian(gamma), rotations)`: a rotation acts by phases, so the
# inner products of two images at all angles come from one small product over angular frequencies. One
# more thing that the paper did not try is to blur the images first, which commutes with rotations.
# Blur and bandwidth by leave-one-out on a part of the training images, regularisation as above.


# %%
def blurred(blur, start, stop):
    """Coefficients of images start..stop after a Gaussian blur, at the chosen scale."""
    if blur == 0:
        return scaled(angular[start:stop], unit)
    images = pixels[start:stop].reshape(-1, 28, 28)
    images = ndimage.gaussian_filter(images, (0, blur, blur))
    return scaled(basis.transform(images.reshape(len(images), -1)), unit)


def kernel(kappa, blur, multiple):
    base = Gaussian(multiple * median(blurred(blur, 0, part)))
    return base if kappa is None else Average(base, basis.rotations(VonMises(kappa), n_nodes=64))


@run.cache
def kernel_error(kappa, blur, multiple):
    return leave_one_out_error(kernel(kappa, blur, multiple), blurred(blur, 0, part))


@run.cache
def kernel_accuracies(kappa, blur, multiple):
    return accuracies(kernel(kappa, blur, multiple)(blurred(blur, 0, n_choose)))


kernels = {}
for name, axes in KERNELS.items():
    chosen = run.select(
        f"kappa, blur and bandwidth, {name}",
        entries(*axes),
        lambda entry: kernel_error(*entry),
        by=f"leave-one-out error on {part:,} training images",
        higher=False,
    )
    alpha = run.select(
        f"alpha, {name}", ALPHAS, scores=lambda c=chosen: kernel_accuracies(*c), by=BY
    )
    kernels[name] = [*chosen, alpha]

# %% [markdown]
# ## Measuring
#
# From here on there are test images: those of sets rebuilt with other seeds.

# %%
run.measure()


def targets():
    return np.where(labels[:n_train, None] == np.arange(10), 1.0, -1.0)


def ridge(Z, near, alpha):
    """Coefficients and intercepts; ``near``, nearly the Gram matrix of Z, is overwritten."""
    Y, penalty = targets().astype(Z.dtype), alpha * np.trace(near)
    near.flat[:: len(near) + 1] += max(penalty, 1e-4 * near.diagonal().mean())
    near = [(slice(None), slice(None), near)]
    dual = solve_by_gradients(Z, Y - Y.mean(axis=0), penalty, near)
    return Z.T @ dual, Y.mean(axis=0)


def percent_right(decided):
    """Of the test images, given in order."""
    return 100 * np.mean(np.concatenate(decided).argmax(axis=1) == labels[n_train:])


def starts():
    """Of blocks of test images."""
    return range(n_train, len(labels), 2500)


# %%
@run.cache
def features_right(method, first, second):
    """Test accuracy in per cent with one layer and, where there is a second, with two."""
    X = inputs(method, 0, n_train)
    layers = [first_layer(method, first[0], X)]
    Z = layers[0].transform(X)
    gram = Z @ Z.T
    weights = [ridge(Z, gram.copy(), first[1])]
    if second:  # whose Gram matrix comes near that of the kernel
        layers.append(second_layer(second[0], Z))
        near = Hyperkernel(Gaussian(), layers[1].gamma_).of_gram(gram, gram.diagonal())
        weights.append(ridge(layers[1].transform(Z), near, second[1]))
    decided = [[] for _ in layers]
    for start in starts():
        Z = inputs(method, start, start + 2500)
        for layer, (coef, intercept), found in zip(layers, weights, decided, strict=True):
            Z = layer.transform(Z)
            found.append(Z @ coef + intercept)
    return [percent_right(found) for found in decided]


@run.cache
def kernel_right(kappa, blur, multiple, alpha):
    """Test accuracy in per cent with a kernel."""
    k, X = kernel(kappa, blur, multiple), blurred(blur, 0, n_train)
    gram, Y = k(X), targets()
    (dual,) = kernel_ridge(gram, Y, alphas=alpha * gram.diagonal().mean(dtype=float), clip=False)
    dual = dual.astype(gram.dtype)
    decided = [k(blurred(blur, start, start + 2500), X) @ dual for start in starts()]
    return percent_right([block + Y.mean(axis=0) for block in decided])


results = {}
plain_sets, printed = (run.seeds[:2], fresh) if run.quick else (run.seeds, fresh[3:])
for seed in dict.fromkeys((*plain_sets, *fresh)):
    pixels, angular, labels = prepared(rebuilt(seed, choosing.rows))
    found = {name: [kernel_right(*choice)] for name, choice in kernels.items() if seed not in fresh}
    for method, choice in first.items():
        sets = fresh if method in METHODS[:2] else printed if "pix" in method else plain_sets
        if seed in sets:
            found[method] = features_right(method, choice, second.get(method))
    for method, by_layer in found.items():
        for layers, right in enumerate(by_layer, start=1):
            results.setdefault((method, layers), []).append(right)
results = {key: np.array(right) for key, right in results.items()}

# %% [markdown]
# ## Table 2

# %%
NAMES = {
    "rf": ("Original (RF)", "rff"),
    "nystrom": ("Original (Nystrom)", "nystrom"),
    "rbf": ("Original (RBF)", "rbf"),
    "gicdf": (f"GICDF, {templates['gicdf']:,} templates", "cdf"),
    "lgika-pixels": ("LGIKA (RF), as printed", "lgika"),
    "lgika-rf": ("LGIKA (RF), polar", "lgika-rff"),
    "lgika-nystrom": ("LGIKA (Nystrom)", "lgika-nystrom"),
    "exact": ("exact orbit kernel (ours)", "exact-kernel"),
}
PRINTED = {"rf": (87.75, 88.01), "nystrom": (88.93, 88.98), "rbf": (90,), "gicdf": (93.81,)}
PRINTED |= {"lgika-pixels": (96.83, 97.18), "lgika-rf": (96.83, 97.18)}
PRINTED |= {"lgika-nystrom": (96.81, 97.21)}
PAPER = {(row, k): v for row, values in PRINTED.items() for k, v in enumerate(values, start=1)}
CITED = {"Z2-CNN": 94.97, "TI-RBM": 95.8, "RC-RBM": 97.02, "P4-CNN": 97.72}
rows = [(name, layers) for name in NAMES for layers in (1, 2) if (name, layers) in results]
several = {name for name, layers in rows if layers == 2}
titles = {
    (name, k): NAMES[name][0] + (f", {k} layer{'s'[: k - 1]}" if name in several else "")
    for name, k in rows
}
over = (
    f"{len(plain_sets)} rebuilt sets, of local rows {len(fresh)}, of the printed one {len(printed)}"
)
over += " (bundled digits)" if run.quick else ""
table = [(titles[k], PAPER.get(k, np.nan), f"{mean_se(results[k]):.2f}") for k in rows]
table += [(f"{name} (cited)", value, "") for name, value in CITED.items()]
run.table(
    pd.DataFrame(table, columns=["method", "paper", "here"]),
    "table2",
    caption=f"Test accuracy in per cent: mean and standard error over {over}.",
)

# %%
gain = results["lgika-rf", 1].mean() - results["rf", 1].mean()
fig, axis = plt.subplots(figsize=(7.2, 4))
shown = list(dict.fromkeys(name for name, _ in rows))
for name, layers in rows:
    mean, se = mean_se(results[name, layers])
    y = shown.index(name) + (0 if name not in several else (-0.16, 0.16)[layers - 1])
    how = look(NAMES[name][1])._asdict() | {"ls": "none"}
    axis.errorbar(mean, y, xerr=2 * se, markerfacecolor="white" if layers == 2 else None, **how)
    if (name, layers) in PAPER and not run.quick:
        axis.plot(PAPER[name, layers], y, ls="none", **look("published")._asdict())
if not run.quick:
    tone = {"color": colour("published")}
    axis.axvline(CITED["P4-CNN"], ls=":", **tone)
    axis.text(CITED["P4-CNN"] - 0.1, 0, "P4-CNN", ha="right", **tone)
axis.set(
    yticks=range(len(shown)),
    yticklabels=[NAMES[name][0] for name in shown],
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
# ## What the paper states
#
# The order: every row in the angular basis above every row without a group, above GICDF and above the
# printed Z2-CNN and TI-RBM. The printed RC-RBM lies above the paper's own rows of one layer, so it is
# compared with the rows of two layers. "Close to P4-CNN": the local row that is best held out.

# %%
NOTE = "the paper's own set is not published; each rebuilt one has other images and other angles"
if not run.quick:
    for claim, name in {
        "raj2017/table2-original-rf": "rf",
        "raj2017/table2-original-nys": "nystrom",
        "raj2017/table2-original-rbf": "rbf",
        "raj2017/table2-gicdf": "gicdf",
        "raj2017/table2-lgika-rf": "lgika-pixels",
        "raj2017/table2-lgika-rf-polar": "lgika-rf",
        "raj2017/table2-lgika-nys": "lgika-nystrom",
    }.items():
        sets = 3 if claim.endswith("polar") else None  # of the 25, as registered
        layers = [results[key] for key in rows if key[0] == name]
        samples = np.squeeze(np.transpose(layers))[:sets]
        run.claim(claim, samples=samples, spread=f"{len(samples)} rebuilt sets", note=NOTE)

local = entries(["lgika-rf", "lgika-nystrom"], [1, 2])
others = [f"{name} {k}" for name, k in rows if name in ("rf", "nystrom", "rbf", "gicdf")]
order = [f"{name} {k} > {other}" for name, k in local for other in (*others, "TI-RBM", "Z2-CNN")]
order += [f"{name} 2 > RC-RBM" for name in ("lgika-rf", "lgika-nystrom")]
scores = {f"{name} {k}": right for (name, k), right in results.items()} | CITED


def held_out_score(key):
    """The best held-out accuracy when the settings of a local row were chosen."""
    start = "bandwidth" if key[1] == 1 else "second bandwidth"
    return max(run.choices[f"{start} and alpha, {key[0]}"].scores)


best = max(map(tuple, local), key=held_out_score)
if not run.quick:
    run.claim("raj2017/table2-order", order=order, scores=scores, note=NOTE)
    run.claim(
        "raj2017/table2-near-p4cnn",
        samples=results[best],
        spread=f"{len(fresh)} rebuilt sets",
        note=f"{titles[best]}; the paper's best local row has {max(PAPER.values())}",
    )
run.say(
    "By held-out training images the best local row is {row}: it gets {right:.2f} % of the test "
    "images right, and the exact orbit kernel {exact:.2f} %.",
    row=titles[best],
    right=results[best].mean(),
    exact=results["exact", 1].mean(),
)

# %% [markdown]
# ## Is kappa = 0.2 what cross-validation takes?
#
# The paper says that $\kappa = 0.2$ was "selected using cross-validation". Five folds of the first
# training images of several sets, the exact local kernel, the rest by the same folds.


# %%
@run.cache
def cross_validated(kappa):
    """Best accuracy (%) over bandwidths and alphas in five folds of the set's training images."""
    Z, y = scaled(angular[:cv_images], unit), labels[:cv_images]
    Y, folds, best = np.where(y[:, None] == np.arange(10), 1.0, -1.0), np.arange(cv_images) % 5, 0.0
    for multiple in CV_BANDWIDTHS:
        base = Gaussian(multiple * median(Z[:2000]))
        gram = Average(base, basis.rotations(VonMises(kappa), n_nodes=64))(Z)
        right = np.zeros(len(ALPHAS))
        for fold in range(5):
            a, b = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            own = gram[np.ix_(a, a)]
            ridges = np.multiply(ALPHAS, own.diagonal().mean(dtype=float))
            duals = kernel_ridge(own, Y[a], alphas=ridges, clip=False)
            decided = (gram[np.ix_(b, a)] @ duals + Y[a].mean(axis=0)).argmax(axis=2)
            right += (decided == y[b]).sum(axis=1)
        best = max(best, 100 * right.max() / cv_images)
    return best


by_set = []
for seed in cv_sets:
    pixels, angular, labels = prepared(rebuilt(seed, choosing.rows))
    by_set.append([cross_validated(k) for k in KAPPAS])
by_kappa = dict(zip(KAPPAS, np.array(by_set).T, strict=True))
names = {k: f"kappa = {k:g}" for k in KAPPAS}
fig, axis = plt.subplots()
curve(axis, list(names.values()), np.array([*by_kappa.values()]).T, "lgika", linestyle="none")
best = max(by_kappa, key=lambda k: by_kappa[k].mean())
axis.set(ylabel="accuracy in cross-validation (%)", title=f"Cross-validation prefers {names[best]}")
run.figure(fig, "kappa", caption=f"{cv_images:,} training images of each of {len(cv_sets)} sets.")
if not run.quick:
    run.claim(
        "raj2017/kappa-by-cross-validation",
        order=[f"{names[kappa]} > {names[k]}" for k in KAPPAS if k != kappa],
        scores={names[k]: by_kappa[k] for k in KAPPAS},
        paired=True,
    )

# %% [markdown]
# **Where we differ.** The set is rebuilt, so that some tenths of a point may be the data's. The paper's
# Original (RBF) does not say by which learner; ours is ridge regression with that kernel. An earlier run,
# kept in the ledger, fell short in four rows; since then bandwidths are chosen with all templates.
#
# ## Try it
#
# `invariance run raj2017/rotated_mnist -p kappa 2`: a density that keeps apart what lies far apart.
