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
# # Photographs: a little rotation, scaling and translation
#
# *Raj et al. (2017), section 4.3 and Table 3.*
#
# On CIFAR-10 no transformation of a photograph is certain to leave its class alone, but small ones
# do. The paper averages features over a part of the affine group with three densities: log-normal
# scalings ($\sigma = 0.3$), normal translations ($\sigma = 0.3$) and von Mises rotations
# ($\kappa = 9$), and reports that wider ones hurt, which notebook `local_group` measures. Does a local
# average of raw pixels help a kernel machine on natural images?

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
second_templates: int = 30_000  # of the full profile, as in the paper

# %%
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import linalg
from sklearn.datasets import load_sample_images
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from invariance.companion import Run, colour, marker
from invariance.datasets import load_cifar10
from invariance.features import OrbitFourier, OrbitNystroem, PatchPooling, median_gamma
from invariance.groups import Affine, LinearMaps, LogNormal, Normal, Projected, VonMises
from invariance.kernels import Gaussian
from invariance.linear import BlockRidgeClassifier, RLSClassifier, ridge_by_holdout

run = Run("raj2017/cifar10", profile=profile, seed=seed, second_templates=second_templates)

# %% [markdown]
# ## The data
#
# 50,000 photographs to learn from, 10,000 to be tested on, pixels in [0, 1]. Twenty of the test
# images of the rebuilt file are decoded from JPEG; they can move an accuracy by at most 0.2 points.
# The quick profile tells patches of scikit-learn's two photographs apart.

# %%
if run.quick:
    rng = np.random.default_rng(seed)
    patches, labels = [], []
    for label, photograph in enumerate(load_sample_images().images):
        for _ in range(300):
            top, left = (
                rng.integers(photograph.shape[0] - 32),
                rng.integers(photograph.shape[1] - 32),
            )
            patches.append(photograph[top : top + 32, left : left + 32])
            labels.append(label)
    order = rng.permutation(len(patches))
    images, labels, n_train = np.array(patches)[order], np.array(labels)[order], 400
    stand_in = "patches of two photographs"
else:
    cifar = load_cifar10()
    for name, sha256 in cifar.sources.items():
        run.uses_data(name, sha256)
    images, labels, n_train = cifar.data, cifar.target, cifar.n_train
    stand_in = None
classes = np.unique(labels)


def centred(rows):
    """Each row minus its mean, over its standard deviation (kept from zero)."""
    rows = rows - rows.mean(axis=1, keepdims=True)
    return rows / np.sqrt(rows.var(axis=1, keepdims=True) + 1e-2)


def pixels(rows):
    """Centred images of the given rows, flattened."""
    chosen = images[rows].astype(np.float32) / 255
    return centred(chosen.reshape(len(chosen), -1))


# %% [markdown]
# ## The group, seen through principal components
#
# Interpolation damps white noise (notebook `lemma21`), and random templates are white noise, so the
# *images* are transformed here. Lemma 2.1's factor $|J_g|^{-1/2}$ keeps scaled images at their norm.
# Both the action of one element and the projection on a few hundred principal components, which
# carry nearly all of every distance, are linear: together they are one matrix an element
# (`LinearMaps`), made once.
#
# The paper takes "normalized pixel intensities". Which normalisation matters a good deal: images are
# centred and scaled here, and principal components divided by their standard deviations to a power
# between 0 (pixels as they are) and 1 (whitened), chosen by leave-one-out on training images.

# %%
affine = Affine(
    (32, 32, 3),
    rotation=VonMises(9),
    scaling=LogNormal(0.3),
    translation=Normal(0.3),
    interpolation=1,
)
k, r = run.choose(quick=(60, 6), full=(400, 50))
rng = np.random.default_rng(seed)
sample = pixels(rng.permutation(n_train)[: run.choose(quick=200, full=10_000)])
elements = affine.sample(r, seed)
moved = np.concatenate([sample, affine.act(elements[:1], sample)[0]])
principal = PCA(k, random_state=seed, svd_solver="randomized").fit(moved)
local_maps = (
    Projected(affine, principal.components_)
    .act(elements, np.eye(sample.shape[1], dtype=np.float32))
    .swapaxes(1, 2)
)
print(
    f"{k} of {sample.shape[1]} components keep {principal.explained_variance_ratio_.sum():.2%} of the variance"
)


def scales(power):
    return (principal.explained_variance_ ** (-power / 2)).astype(np.float32)


def plain(power, start, stop):
    return pixels(slice(start, stop)) @ (principal.components_ * scales(power)[:, None]).T.astype(
        np.float32
    )


# %% [markdown]
# ## Features in blocks, least squares from normal equations
#
# 10,000 templates in the first layer and 30,000 in the second, a cosine with a random phase each. Features come a block of images
# at a time and are kept on disk; `BlockRidgeClassifier` sums the normal equations. Regularisation
# is chosen on 5,000 held-out training images, which are then added; representation and bandwidths
# by leave-one-out on a part.
#
# "Nystrom based features gave similar results", says the paper of its early explorations, and prints none. Random Fourier features can
# only follow a wide kernel: the narrower it is, the more templates it takes. Landmarks are taken from where the images are. So here is
# a row of them too: 10,000 training images as landmarks (one element of each orbit, for local features) in both layers.

# %%
s, s_second = run.choose(quick=(150, 300), full=(10_000, second_templates))
m = run.choose(quick=100, full=10_000)  # landmarks
part, s_part = run.choose(quick=(300, 100), full=(2000, 1500))
threads, step = run.choose(quick=(1, 100), full=(2, 5000))
ALPHAS = np.logspace(-8, -3, 6)


@cache
def layer(method, kind, power, gamma, size):
    """A fitted first layer: random templates, or the first training images as landmarks."""
    how = {"gamma": gamma, "n_jobs": threads, "random_state": seed}
    group = LinearMaps(local_maps * scales(power)[:, None]) if kind == "local" else None
    if method == "fourier":
        return OrbitFourier(group, size, **how).fit(points(kind, power, 0, 2))
    # In single precision a larger threshold would leave much of the kernel out.
    return OrbitNystroem(group, size, from_orbit=group is not None, rcond=1e-8, **how).fit(
        points(kind, power, 0, size)
    )


def points(kind, power, start, stop):
    return pixels(slice(start, stop)) if kind == "local" else plain(power, start, stop)


def loo_error(Z):
    Z = Z.astype(float)
    return RLSClassifier(kernel="precomputed").fit(Z @ Z.T, labels[:part]).loo_errors_.min()


@run.cache
def leave_one_out(method, kind, power, gamma):
    fitted = layer(method, kind, power, gamma, s_part if method == "fourier" else part)
    return loo_error(fitted.transform(points(kind, power, 0, part)))


@run.cache
def features(method, kind, power, gamma, start, stop):
    """First-layer features of some images."""
    fitted = layer(method, kind, power, gamma, s if method == "fourier" else m)
    blocks = [
        fitted.transform(points(kind, power, a, min(a + 500, stop)))
        for a in range(start, stop, 500)
    ]
    return np.concatenate(blocks)


def first_features(method, kind, power, gamma, n):
    return np.concatenate(
        [features(method, kind, power, gamma, a, a + step) for a in range(0, n, step)]
    )[:n]


def second_layer(method, kind, power, gamma, factor, size):
    how = {
        "gamma": factor
        * median_gamma(features(method, kind, power, gamma, 0, step), random_state=seed),
        "n_jobs": threads,
        "random_state": seed + 1,
    }
    if method == "fourier":
        return OrbitFourier(None, size, **how).fit(
            features(method, kind, power, gamma, 0, step)[:2]
        )
    return OrbitNystroem(None, size, rcond=1e-8, **how).fit(
        first_features(method, kind, power, gamma, size)
    )


@run.cache
def second_layer_error(method, kind, power, gamma, factor):
    top = second_layer(
        method, kind, power, gamma, factor, 2 * s_part if method == "fourier" else part
    )
    return loo_error(top.transform(first_features(method, kind, power, gamma, part)))


def test_accuracy(block, dtype="float32"):
    """Per cent of test images right by ridge regression on ``block(start)``, a block of features."""
    held_out = n_train - step
    model = BlockRidgeClassifier(dtype=dtype)
    for start in range(0, held_out, step):
        model.partial_fit(block(start), labels[start : start + step], classes=classes)
    validation = block(held_out)
    scores = model.scores(validation, labels[held_out:n_train], alphas=ALPHAS)
    model.set_params(alpha=float(ALPHAS[np.nanargmax(scores)]))
    model.partial_fit(validation, labels[held_out:n_train])
    right = [
        model.predict(block(a)) == labels[a : a + step] for a in range(n_train, len(images), step)
    ]
    return 100 * np.mean(np.concatenate(right))


@run.cache
def accuracy(method, kind, power, gamma, factor):
    """One layer (``factor=None``) or two."""
    if factor is None:
        return test_accuracy(lambda a: features(method, kind, power, gamma, a, a + step), "float64")
    top = second_layer(method, kind, power, gamma, factor, s_second if method == "fourier" else m)
    return test_accuracy(lambda a: top.transform(features(method, kind, power, gamma, a, a + step)))


POWERS, MULTIPLES = (0.0, 0.5, 0.75), {"fourier": (1.0, 2.0, 4.0), "nystrom": (2.0, 4.0, 8.0)}
FACTORS = {"fourier": (0.01, 0.03, 0.1, 0.3, 1.0), "nystrom": (0.1, 0.3, 1.0, 3.0)}
results, chosen = {}, {}
for method in ("fourier", "nystrom"):
    for kind in ("original", "local"):
        unit = {power: median_gamma(plain(power, 0, part), random_state=seed) for power in POWERS}
        grid = {
            (power, multiple): leave_one_out(method, kind, power, multiple * unit[power])
            for power in POWERS
            for multiple in MULTIPLES[method]
        }
        power, multiple = min(grid, key=grid.get)
        gamma = multiple * unit[power]
        factor = min(
            FACTORS[method], key=lambda c: second_layer_error(method, kind, power, gamma, c)
        )
        chosen[method, kind] = (power, multiple, factor)
        results[method, kind] = [
            accuracy(method, kind, power, gamma, None),
            accuracy(method, kind, power, gamma, factor),
        ]
        layer.cache_clear()

# %% [markdown]
# ## One step beyond: orbit statistics of image patches
#
# The paper ends section 4.3 with what it leaves out: a local average of whole images ignores that
# small patches move about on their own, and "orbit statistics of image patches" are left to future
# work. They are a few lines here. A patch is centred, whitened and given random Fourier features;
# the features are averaged over all places within a cell of a coarse grid, a part of the patch's
# orbit under translations, and over the image and its mirror image (`PatchPooling`).

# %%
size, stride, grid, s_patch, k_patch = run.choose(quick=(6, 4, 2, 60, 20), full=(6, 2, 3, 1500, 60))
some = run.choose(quick=300, full=5000)


def patch_features(multiple, templates):
    psi = make_pipeline(
        FunctionTransformer(centred),
        PCA(k_patch, whiten=True, random_state=seed),
        OrbitFourier(
            None, templates, gamma=multiple / (4 * k_patch), n_jobs=threads, random_state=seed
        ),
    )
    pooling = PatchPooling(
        psi,
        (32, 32, 3),
        size=size,
        stride=stride,
        grid=grid,
        n_patches=50_000,
        block_bytes=2**27,
        random_state=seed,
    )
    return pooling.fit(pixels(slice(some)))


def mirrored(rows):
    return rows.reshape(-1, 32, 32, 3)[:, :, ::-1].reshape(len(rows), -1)


def orbit_statistics(fitted, rows):
    return (fitted.transform(rows) + fitted.transform(mirrored(rows))) / 2


@run.cache
def patch_error(multiple):
    return loo_error(orbit_statistics(patch_features(multiple, s_patch // 5), pixels(slice(part))))


@run.cache
def patch_block(multiple, start):
    return orbit_statistics(patch_features(multiple, s_patch), pixels(slice(start, start + step)))


best_patch = min(MULTIPLES["fourier"], key=patch_error)
patch_accuracy = test_accuracy(lambda a: patch_block(best_patch, a))

# %% [markdown]
# ## What moves the baseline?
#
# If the numbers below are not the paper's, is it the representation, the bandwidth, or the size? Held-out accuracies of the
# original features, fitted to 20,000 training images and scored on 5,000 others: first by how many
# principal components are kept, by how far they are whitened and by bandwidth, then by the numbers of images and
# templates. Beside them the Gaussian kernel itself, which the features approach as templates are added, on the first of these
# representations. Nothing here was used to choose a setting above.

# %%
REPRESENTATIONS = run.choose(
    quick=((60, 0.0), (20, 0.5)), full=((400, 0.0), (200, 0.25), (100, 0.5), (60, 0.75))
)
WIDTHS = (0.25, 0.5, 1.0, 2.0)
many, held, several = run.choose(quick=(300, 100, 100), full=(25_000, 5000, 4000))


@run.cache
def held_out_accuracy(kept, power, width, templates, n):
    """Per cent right among the last of the first n training images, at the best alpha."""
    axes = principal.components_[:kept] * principal.explained_variance_[:kept, None] ** (-power / 2)
    Z = pixels(slice(n)) @ axes.T.astype(np.float32)
    gamma = width * median_gamma(Z[:2000], random_state=seed)
    Z = (
        OrbitFourier(None, templates, gamma=gamma, n_jobs=threads, random_state=seed)
        .fit(Z[:2])
        .transform(Z)
    )
    model = BlockRidgeClassifier(dtype="float64").partial_fit(
        Z[:-held], labels[: n - held], classes=classes
    )
    return 100 * np.nanmax(model.scores(Z[-held:], labels[n - held : n], alphas=ALPHAS))


tried = {
    (*representation, width): held_out_accuracy(*representation, width, several, many)
    for representation in REPRESENTATIONS
    for width in WIDTHS
}
run.table(
    [
        {"components": kept, "power": power}
        | {f"bandwidth {width:g} x median": f"{tried[kept, power, width]:.1f}" for width in WIDTHS}
        for kept, power in REPRESENTATIONS
    ],
    "representations",
    caption=f"Held-out accuracy in per cent of original features, {several:,} templates, {many - held:,} images to learn from.",
)
best = max(tried, key=tried.get)
sizes = [
    (n, templates)
    for n in (many // 5 + held, many // 2 + held, many)
    for templates in (several // 4, several // 2, several, 2 * several)
]


def held_out_ridge(gram, n, alphas):
    """Held-out accuracies of ridge regression, by alpha relative to the Gram matrix's diagonal."""
    return ridge_by_holdout(
        gram,
        labels[:n],
        alphas=alphas,
        n_held_out=held,
        relative_to="diagonal",
        refit=False,
    ).accuracies


@run.cache
def held_out_exact(width, alphas, n):
    """As `held_out_accuracy` for the Gaussian kernel, and the best alpha."""
    Z = plain(0.0, 0, n)
    gram = Gaussian(width * median_gamma(Z[:2000], random_state=seed))(Z)
    accuracies = held_out_ridge(gram, n, alphas)
    return 100 * np.nanmax(accuracies), float(alphas[int(np.nanargmax(accuracies))])


@run.cache
def held_out_exact_of_all(width, alpha):
    """As `held_out_exact` with all training images but the last, in single precision: 8 GB, factorised in place."""
    Z, m = plain(0.0, 0, n_train), n_train - held
    kernel = Gaussian(width * median_gamma(Z[:2000], random_state=seed))
    gram = np.empty((m, m), np.float32, order="F")
    for start in range(0, m, 1000):
        gram[:, start : start + 1000] = kernel(Z[:m], Z[start : min(start + 1000, m)])
    gram[np.diag_indices(m)] += alpha * m
    factor = linalg.cholesky(gram, lower=True, overwrite_a=True, check_finite=False)
    targets = np.where(labels[:m, None] == classes, 1, -1).astype(np.float32)
    dual = linalg.cho_solve((factor, True), targets - targets.mean(axis=0), check_finite=False)
    scores = kernel(Z[m:n_train], Z[:m]) @ dual + targets.mean(axis=0)
    return 100 * np.mean(classes[scores.argmax(axis=1)] == labels[m:n_train])


counts = list(dict.fromkeys(n for n, _ in sizes))
# Width and alpha at the smallest size; beyond it they are kept.
exact_widths = {
    width: held_out_exact(width, (1e-6, 1e-5, 1e-4), counts[0]) for width in (1.0, 2.0, 4.0, 8.0)
}
exact_width = max(exact_widths, key=lambda width: exact_widths[width][0])
exact = {n: held_out_exact(exact_width, (exact_widths[exact_width][1],), n)[0] for n in counts}
exact_of_all = held_out_exact_of_all(exact_width, exact_widths[exact_width][1])
run.table(
    [
        {"images": n}
        | {
            f"{templates:,} templates": f"{held_out_accuracy(*best, templates, n):.1f}"
            for m, templates in sizes
            if m == n
        }
        | {"the Gaussian kernel itself": f"{exact[n]:.1f}"}
        for n in counts
    ]
    + [{"images": n_train, "the Gaussian kernel itself": f"{exact_of_all:.1f}"}],
    "growth",
    caption=f"The same at the best of these, by the numbers of templates and of images ({held:,} of them held out).",
)

# %% [markdown]
# And the normalisation, about which the paper says "normalized pixel intensities" and no more: the Gaussian kernel itself on pixels as they
# are, standardised a channel or a pixel at a time, at unit length, and centred an image at a time as above.

# %%
NORMALISATIONS = (
    "centred images (ours)",
    "as they are, in [0, 1]",
    "each channel standardised",
    "each pixel standardised",
    "unit length",
)


def normalised_pixels(rows, how):
    """Images with pixels in [0, 1], one a row, under one of these normalisations."""
    if how == "centred images (ours)":
        return centred(rows)
    if how == "each channel standardised":
        channels = rows.reshape(len(rows), -1, 3)
        return ((channels - channels.mean(axis=(0, 1))) / channels.std(axis=(0, 1))).reshape(
            rows.shape
        )
    if how == "each pixel standardised":
        return (rows - rows.mean(axis=0)) / (rows.std(axis=0) + 1e-3)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) if how == "unit length" else rows


@run.cache
def held_out_normalised(normalisation, width, n):
    """As `held_out_exact` on all pixels, at the best of some alphas."""
    Z = normalised_pixels(images[:n].reshape(n, -1).astype(np.float32) / 255, normalisation)
    gram = Gaussian(width * median_gamma(Z[:2000], random_state=seed))(Z)
    return 100 * np.nanmax(held_out_ridge(gram, n, (1e-7, 1e-6, 1e-5, 1e-4)))


EXACT_WIDTHS = (1.0, 2.0, 4.0, 8.0)
by_normalisation = {
    name: [held_out_normalised(name, width, counts[0]) for width in EXACT_WIDTHS]
    for name in NORMALISATIONS
}
best_normalised = max(max(found) for found in by_normalisation.values())
run.table(
    [
        {"pixels": name}
        | {
            f"bandwidth {width:g} x median": f"{value:.1f}"
            for width, value in zip(EXACT_WIDTHS, found, strict=True)
        }
        for name, found in by_normalisation.items()
    ],
    "normalisations",
    caption=f"Held-out accuracy in per cent of the Gaussian kernel by normalisation, {counts[0] - held:,} images to learn from; "
    f"standard error {100 * np.sqrt(best_normalised / 100 * (1 - best_normalised / 100) / held):.1f}.",
)

# %% [markdown]
# ## Table 3

# %%
n_test = len(images) - n_train


def binomial_se(accuracies):
    return [100 * np.sqrt(v / 100 * (1 - v / 100) / n_test) for v in accuracies]


PAPER = {"original": [61.02, 62.79], "local": [64.19, 67.32]}
names = {
    ("fourier", "original"): "Original (RF)",
    ("fourier", "local"): "LGIKA",
    ("nystrom", "original"): "Original (Nystrom, ours)",
    ("nystrom", "local"): "LGIKA (Nystrom, ours)",
}
rows = [
    {
        "method": names[key],
        "layers": i + 1,
        "paper": PAPER[key[1]][i] if key[0] == "fourier" else np.nan,
        "here": f"{value:.2f} ± {se:.2f}",
        "whitening power, bandwidth / median, second": " / ".join(
            f"{v:g}" for v in chosen[key][: 2 + i]
        ),
    }
    for key in results
    for i, (value, se) in enumerate(zip(results[key], binomial_se(results[key]), strict=True))
]
patch_se = binomial_se([patch_accuracy])[0]
rows.append(
    {
        "method": "orbit statistics of patches (ours)",
        "layers": 1,
        "here": f"{patch_accuracy:.2f} ± {patch_se:.2f}",
    }
)
run.table(
    pd.DataFrame(rows),
    "table3",
    caption=f"Test accuracy in per cent with binomial standard errors, {s_second:,} templates in the second layer"
    + (f"; data: {stand_in}, not comparable with the paper's." if stand_in else "."),
)

# %%
fig, ax = plt.subplots(figsize=(5.6, 3.4))
for key, look in zip(names, ("rff", "lgika", "nystrom", "lgika-nystrom"), strict=True):
    ax.errorbar(
        [1, 2],
        results[key],
        [2 * e for e in binomial_se(results[key])],
        color=colour(look),
        marker=marker(look),
        label=names[key],
    )
    if stand_in is None and key[0] == "fourier":
        ax.plot(
            [1, 2],
            PAPER[key[1]],
            color=colour("published"),
            marker=marker("published"),
            linestyle="none",
            label="paper" if key[1] == "local" else None,
        )
ax.errorbar(
    1,
    patch_accuracy,
    2 * patch_se,
    color=colour("templates"),
    marker=marker("templates"),
    linestyle="none",
    label="patches (ours)",
)
ax.set(xticks=[1, 2], xlabel="layers", ylabel="test accuracy (%)", title=stand_in or "")
ax.legend()
run.figure(
    fig,
    "table3",
    alt="Test accuracy with one and two layers of plain features and of features averaged over local affine maps, from random templates and from landmarks, with the paper's numbers as stars on the full data, and of orbit statistics of patches.",
    caption="Two binomial standard errors.",
)

# %%
original, local = (results["fourier", kind] for kind in ("original", "local"))
plain_gap = PAPER["original"][0] - original[0]
NOTES = {
    "original": f"on these pixels the Gaussian kernel itself, without random features, reaches {exact_of_all:.1f} held out from "
    f"{n_train - held:,} images, and no normalisation tried gives more (best of {len(NORMALISATIONS)} with {counts[0] - held:,} images: "
    f"{best_normalised:.1f}, ours {max(by_normalisation['centred images (ours)']):.1f})",
    "local": f"averaging gains {local[0] - original[0]:.1f} points over plain features (paper: "
    f"{PAPER['local'][0] - PAPER['original'][0]:.1f}), from a start that is {plain_gap:.1f} points lower; "
    f"with as many landmarks in place of random templates {results['nystrom', 'local'][0]:.1f} and {results['nystrom', 'local'][1]:.1f}",
}
for claim, kind in {"raj2017/table3-rf": "original", "raj2017/table3-lgika": "local"}.items():
    # patches of two photographs are another problem
    if stand_in is None:
        run.claim(
            claim,
            value=results["fourier", kind],
            se=binomial_se(results["fourier", kind]),
            note=NOTES[kind],
        )

# %% [markdown]
# **Where we differ.** Both rows lie below the printed ones, the original features by more than the local ones: averaging over
# small rotations, shifts and scalings helps here as it does in the paper, from a lower start. The start is not a matter of
# bandwidth, nor of how many principal components are kept or how far they are whitened: the table of representations
# is nearly level. Four times the templates or the images give some points, not the distance. The Gaussian kernel itself, at a width that
# its features cannot follow, is points above them at every number of images: part of the distance is what random features lose. Yet with
# all images it stays below the number printed for 10,000 features (last row of the table of images and templates): more
# features would not make up for the rest. Nor does any of the usual normalisations (last table before the result): what "normalized
# pixel intensities" are the paper does not say, and none of these is worth the missing points. The second layer adds one point to plain features and
# two to local ones, in the paper two and three; its bandwidth was chosen on a part of the images, inside its grid. Translations are taken in
# pixels, for which the paper gives no unit: it is worth a point at most (notebook `local_group`).
#
# With 10,000 landmarks in place of random templates every row gains about three points and stays four to six below the paper's random features:
# landmarks afford a narrower kernel, four times the median heuristic, which the templates cannot follow. In two layers local features
# then lie three points above the Gaussian kernel itself with all images. Orbit statistics of patches, the paper's own suggestion, are above
# all its rows.
