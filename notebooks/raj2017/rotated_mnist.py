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
# # Digits at any angle
#
# *Raj et al. (2017), section 4.2 and Table 2.*
#
# Rotated MNIST: 12,000 digits to learn from and 50,000 to be tested on, each turned by a random
# angle. A learner that knows about rotations should not have to see every digit at every angle. But
# it must not be *blind* to them either, or 6 and 9 become one: the paper averages its features over
# rotations under a von Mises density with $\kappa = 0.2$, flat, yet not uniform.
#
# This notebook computes those features by angular frequencies (`AngularBasis`), where rotations are
# exactly unitary, integrates over the angle instead of sampling it, and then drops the random
# features altogether for the exact kernel.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import ndimage

from invariance.companion import Run, colour, marker
from invariance.datasets import load_digits_images, make_rotated_mnist
from invariance.features import AngularBasis, GroupCDF, OrbitFourier, OrbitNystroem, median_gamma
from invariance.groups import VonMises
from invariance.kernels import Average, Gaussian, Hyperkernel, Linear
from invariance.linear import BlockRidgeClassifier, RLSClassifier, ridge_by_holdout

run = Run("raj2017/rotated_mnist", profile=profile, seed=seed)

# %% [markdown]
# ## The data
#
# The published angles of Larochelle et al. (2007) belong to a file that is no longer to be had in
# the original; the set is rebuilt from MNIST, with disjoint images, uniform angles and bilinear
# interpolation. Differences of a few tenths of a point from numbers on the original are to be
# expected from that alone.

# %%
if run.quick:
    digits = load_digits_images()
    data = make_rotated_mnist(
        digits.data, digits.target, n_train=300, n_test=600, random_state=seed
    )
    stand_in = "bundled digits, rotated"
else:
    data = make_rotated_mnist(random_state=seed)
    for name, sha256 in data.sources.items():
        run.uses_data(name, sha256)
    stand_in = None
pixels = data.data.reshape(len(data.data), -1)
n_train = data.n_train
labels = data.target
basis = AngularBasis((28, 28)).fit(pixels[:1])
angular = basis.transform(pixels)
carried = float(np.sum(angular**2) / np.sum(pixels**2))
print(
    f"{n_train} + {len(pixels) - n_train} images; {angular.shape[1]} coefficients carry {carried:.2%} of the energy"
)

# %% [markdown]
# ## Features, then regularised least squares
#
# Templates: $s = 7000$ in the first layer and 17,000 in the second, a cosine and a sine each, the real and
# imaginary part of equation (7), which leaves less noise than a random phase does. The integral over rotations
# takes 32 nodes instead of the paper's $r = 100$ random angles: the cost notebook shows how quickly its error falls
# with the nodes, and that some two dozen err less than 100 random angles there; narrower kernels want more. GICDF features are 25 bins a template; the paper gives no number of templates, and more are
# better, so there are as many as fit into memory beside their Gram matrix (1,000), and a row with 300 to show the difference.
#
# Everything is chosen on the last sixth of the training set, by models that are fitted to the other
# five sixths at full size: bandwidth, second layer, regularisation. So is the scale of
# the images, of which the paper says nothing: as they are, or each divided by its norm, so that thick and thin strokes
# weigh the same. Rotations keep norms. The local features of the first row decide that for all rows. The exact kernels below, which
# take longer, choose by leave-one-out on 4,000 images. As templates grow
# in number the second layer's features approach the Gaussian kernel of the first layer's features,
# `Hyperkernel`; its accuracy is shown beside theirs, but the features themselves are what its bandwidth is chosen by: the
# narrower the kernel, the more templates it takes.

# %%
s, s_second = run.choose(quick=(200, 300), full=(7000, 17_000))
n_cdf, n_cdf_fewer = run.choose(quick=(60, 30), full=(1000, 300))
part = run.choose(quick=300, full=4000)
threads = run.choose(quick=1, full=2)
KAPPA, NODES = 0.2, 32
ALPHAS = np.logspace(-7, -4, 7)
COARSE = ALPHAS[::2]
held = n_train // 6
rotations = basis.rotations(VonMises(KAPPA), n_nodes=NODES)


def scaled(coefficients, unit):
    """Images at unit norm, or as they are."""
    return (
        coefficients / np.linalg.norm(coefficients, axis=1, keepdims=True) if unit else coefficients
    )


def build(method, gamma, templates):
    how = {"gamma": gamma, "n_jobs": threads, "random_state": seed}
    if method == "gicdf":
        return GroupCDF(
            rotations, templates, n_bins=25, n_transforms=100, s="data", random_state=seed
        )
    group = rotations if method.startswith("lgika") else None
    if method.endswith("nystrom"):
        return OrbitNystroem(group, templates, **how)
    sampling = "orthogonal" if method == "lgika-orthogonal" else "monte_carlo"
    return OrbitFourier(group, templates, form="cos_sin", sampling=sampling, **how)


def second_layer(second, templates, Z):
    """Random Fourier features of features; ``second`` is relative to the median heuristic."""
    gamma = second * median_gamma(Z, random_state=seed)
    how = {"form": "cos_sin", "gamma": gamma, "n_jobs": threads, "random_state": seed + 1}
    return OrbitFourier(None, templates, **how).fit(Z[:1])


def held_out_ridge(gram, alphas, refit=True):
    """Ridge regression, alpha relative to the Gram matrix's diagonal by held-out accuracy."""
    return ridge_by_holdout(
        gram,
        labels[:n_train],
        alphas=alphas,
        n_held_out=held,
        relative_to="diagonal",
        refit=refit,
    )


@run.cache
def held_out_accuracy(method, unit, gamma, seconds, templates):
    """Best accuracies over alpha: of one layer, and of the Gaussian kernel on top by ``seconds``."""
    X = scaled(angular[:n_train], unit)
    Z = build(method, gamma, min(templates, n_train)).fit_transform(X)
    gram, gamma_2 = Z @ Z.T, median_gamma(Z, random_state=seed)
    norms = gram.diagonal().copy()
    tops = [Hyperkernel(Linear(), second * gamma_2).of_gram for second in seconds]
    grams = [lambda: gram, *(lambda top=top: top(gram, norms) for top in tops)]
    return [np.nanmax(held_out_ridge(make(), COARSE, refit=False).accuracies) for make in grams]


@run.cache
def held_out_second(method, unit, gamma, seconds):
    """Best accuracies over alpha of random features of two layers by ``seconds``."""
    Z = build(method, gamma, min(s, n_train)).fit_transform(scaled(angular[:n_train], unit))
    tops = (second_layer(second, s_second, Z).transform(Z) for second in seconds)
    return [np.nanmax(held_out_ridge(W @ W.T, COARSE, refit=False).accuracies) for W in tops]


def holdout_fit(Z):
    """Weights and intercepts: by the smaller of the Gram matrix and the normal equations."""
    y = labels[:n_train]
    if Z.shape[1] >= n_train:
        fitted = held_out_ridge(Z @ Z.T, ALPHAS)
        return Z.T @ fitted.dual_coef.astype(Z.dtype), fitted.intercept
    alphas = ALPHAS * np.mean(np.sum(np.square(Z), axis=1))
    model = BlockRidgeClassifier()
    model.partial_fit(Z[:-held], y[:-held], classes=np.unique(y))
    accuracies = model.scores(Z[-held:], y[-held:], alphas=alphas)
    model.set_params(alpha=float(alphas[np.nanargmax(accuracies)]))
    model.partial_fit(Z[-held:], y[-held:])
    model.decision_function(Z[:1])
    return model.coef_.T.astype(Z.dtype), model.intercept_


@run.cache
def test_predictions(method, unit, gamma, second, templates):
    """Predicted classes of the test images: from one layer, then from two."""
    X = scaled(angular[:n_train], unit)
    layers = [build(method, gamma, min(templates, n_train)).fit(X)]
    Z = layers[0].transform(X)
    weights = [holdout_fit(Z)]
    if second is not None:
        layers.append(second_layer(second, s_second, Z))
        Z = layers[1].transform(Z)
        weights.append(holdout_fit(Z))
    predicted = np.empty((len(layers), len(angular) - n_train), dtype=np.int8)
    for start in range(n_train, len(angular), 2500):
        Z = scaled(angular[start : start + 2500], unit)
        for i, (layer, (coef, intercept)) in enumerate(zip(layers, weights, strict=True)):
            Z = layer.transform(Z)
            predicted[i, start - n_train :][: len(Z)] = (Z @ coef + intercept).argmax(axis=1)
    return predicted


MULTIPLES = (1.0, 2.0, 4.0, 8.0)  # of the median heuristic
GAMMAS = {
    unit: {
        c: c * median_gamma(scaled(angular[:n_train], unit), random_state=seed) for c in MULTIPLES
    }
    for unit in (False, True)
}
SECOND = (0.1, 0.3, 1.0)


def accuracy(predicted):
    """Per cent correct and its binomial standard error."""
    right = np.mean(predicted == labels[n_train:])
    return 100 * right, 100 * np.sqrt(right * (1 - right) / len(predicted))


def by_bandwidth(method, unit):
    """Held-out accuracy of one layer for each multiple of the median heuristic."""
    return {
        c: held_out_accuracy(method, unit, gamma, (), s)[0] for c, gamma in GAMMAS[unit].items()
    }


scales = {unit: by_bandwidth("lgika-rf", unit) for unit in (False, True)}
unit = max(scales, key=lambda unit: max(scales[unit].values()))
run.table(
    [
        {"images": "unit norm" if key else "as they are"}
        | {f"bandwidth {c:g}": f"{100 * value:.2f}" for c, value in found.items()}
        for key, found in scales.items()
    ],
    "scale",
    caption=f"LGIKA (RF), one layer: accuracy in per cent on {held:,} held-out training images by bandwidth, relative to the median heuristic.",
)

# %%
results, settings, chosen = {}, [], {}
for method in ("lgika-rf", "lgika-nystrom", "rf", "nystrom"):
    found = by_bandwidth(method, unit)
    chosen[method] = multiple = max(found, key=found.get)
    gamma = GAMMAS[unit][multiple]
    limits, tops = (
        held_out_accuracy(method, unit, gamma, SECOND, s)[1:],
        held_out_second(method, unit, gamma, SECOND),
    )
    second = SECOND[int(np.argmax(tops))]
    settings.append(
        {
            "method": method,
            "bandwidth / median": f"{multiple:g}",
            "one layer (%)": f"{100 * found[multiple]:.2f}",
        }
        | {
            f"two layers, {c:g} x median (%)": f"{100 * top:.2f}, limit {100 * limit:.2f}"
            for c, top, limit in zip(SECOND, tops, limits, strict=True)
        }
        | {"chosen": f"{second:g}"}
    )
    for layer, predicted in enumerate(test_predictions(method, unit, gamma, second, s), start=1):
        results[method, layer] = accuracy(predicted)
    if method == "lgika-rf":
        orthogonal = held_out_accuracy("lgika-orthogonal", unit, gamma, (), s)[0]
        results["lgika-orthogonal", 1] = accuracy(
            test_predictions("lgika-orthogonal", unit, gamma, None, s)[0]
        )
        settings.append(
            {
                "method": "lgika-rf, orthogonal templates (ours)",
                "bandwidth / median": f"{multiple:g}",
                "one layer (%)": f"{100 * orthogonal:.2f}",
            }
        )
for name, templates in (("gicdf, fewer", n_cdf_fewer), ("gicdf", n_cdf)):
    results[name, 1] = accuracy(test_predictions("gicdf", unit, None, None, templates)[0])
run.table(
    pd.DataFrame(settings),
    "settings",
    caption=f"Accuracies on {held:,} held-out training images, and what was chosen by them. Limit: the Gaussian kernel of the first layer's features in place of random features of them. Orthogonal templates, which the paper did not try, beside the independent ones.",
)

# %% [markdown]
# ## One step beyond: no random features
#
# "Original (RBF)" is the Gaussian kernel itself. And the kernel that the LGIKA features approximate
# can be had exactly: all inner products of a pair over relative angles come from one small product
# over angular frequencies (`Average`). One thing more that the paper did not try: blurring
# the images first, which commutes with rotations and makes small displacements cheap. Bandwidth,
# $\kappa$ and blur by leave-one-out on a part of the training set. On top of it goes the second layer,
# as exact: the Gaussian kernel of the embedded orbits, its width by held-out accuracy.

# %%
BLURS = run.choose(quick=(0.0, 0.5), full=(0.0, 0.5, 1.0, 1.5))
KAPPAS = run.choose(quick=(0.2, 1.0), full=(0.0, 0.05, 0.2))
EXACT_NODES = 64  # the kernel asks for more than its features


def loo_error(gram):
    model = RLSClassifier(kernel="precomputed").fit(gram.astype(float), labels[:part])
    return model.loo_errors_.min()


def blurred(blur, start, stop):
    if blur == 0:
        return scaled(angular[start:stop], unit)
    images = pixels[start:stop].reshape(-1, 28, 28)
    return scaled(
        basis.transform(ndimage.gaussian_filter(images, (0, blur, blur)).reshape(len(images), -1)),
        unit,
    )


EXACT_MULTIPLES = (*MULTIPLES, 16.0)


def bandwidths(blur):
    return [c * median_gamma(blurred(blur, 0, part), random_state=seed) for c in EXACT_MULTIPLES]


def kernel(gamma, kappa):
    if kappa is None:
        return Gaussian(gamma)
    return Average(
        Gaussian(gamma), basis.rotations(VonMises(kappa), n_nodes=EXACT_NODES), n_jobs=threads
    )


@run.cache
def exact_leave_one_out(kappa, blur):
    X = blurred(blur, 0, part)
    if kappa is None:
        grams = (kernel(gamma, None)(X) for gamma in bandwidths(blur))
    else:
        grams = kernel(1.0, kappa).grams(X, None, bandwidths(blur))
    return [loo_error(gram) for gram in grams]


@run.cache
def exact_predictions(kappa, blur, gamma, seconds):
    """Predicted classes of the test images with the kernel, and with the best Gaussian kernel on top."""
    k, X = kernel(gamma, kappa), blurred(blur, 0, n_train)
    gram = k(X)
    norms = gram.diagonal().copy()
    distances = norms[:1000, None] + norms[:1000] - 2 * gram[:1000, :1000]
    unit = 1 / (2 * np.median(distances[np.triu_indices_from(distances, 1)]))
    tops = [None, *(Hyperkernel(k, second * unit) for second in seconds)]
    fits = [
        held_out_ridge(gram if top is None else top.of_gram(gram, norms), ALPHAS) for top in tops
    ]
    best = (
        1 + int(np.argmax([np.nanmax(fitted.accuracies) for fitted in fits[1:]])) if seconds else 0
    )
    chosen = [(tops[i], fits[i]) for i in sorted({0, best})]
    predicted = [[] for _ in chosen]
    for start in range(n_train, len(angular), 5000):
        points = blurred(blur, start, start + 5000)
        gram = k(points, X)
        for out, (top, fitted) in zip(predicted, chosen, strict=True):
            values = (
                gram if top is None else top.of_gram(gram, k.diag(points).astype(gram.dtype), norms)
            )
            out.append(
                (values @ fitted.dual_coef.astype(gram.dtype) + fitted.intercept).argmax(axis=1)
            )
    return [np.concatenate(part).astype(np.int8) for part in predicted], seconds[
        best - 1
    ] if best else None


for name, grid in {
    "rbf": [(None, 0.0)],
    "exact": [(kappa, blur) for kappa in KAPPAS for blur in BLURS],
}.items():
    errors = {setting: exact_leave_one_out(*setting) for setting in grid}
    kappa, blur = min(errors, key=lambda setting: min(errors[setting]))
    best = int(np.argmin(errors[kappa, blur]))
    seconds = (0.1, 0.25, 0.5, 1.0, 2.0) if name == "exact" else ()
    predicted, second = exact_predictions(kappa, blur, bandwidths(blur)[best], seconds)
    for layer, classes in enumerate(predicted, start=1):
        results[name, layer] = accuracy(classes)
    print(
        f"{name}: kappa = {kappa}, blur = {blur} pixels, bandwidth / median = {EXACT_MULTIPLES[best]:g}, leave-one-out error {errors[kappa, blur][best]:.2%}, second layer / median = {second}"
    )

# %% [markdown]
# ## Table 2

# %%
NAMES = {
    "rf": "Original (RF)",
    "nystrom": "Original (Nystrom)",
    "rbf": "Original (RBF)",
    "gicdf, fewer": f"GICDF, {n_cdf_fewer} templates",
    "gicdf": f"GICDF, {n_cdf:,} templates",
    "lgika-rf": "LGIKA (RF)",
    "lgika-nystrom": "LGIKA (Nystrom)",
    "lgika-orthogonal": "LGIKA (RF), orthogonal templates (ours)",
    "exact": "exact orbit kernel (ours)",
}
PAPER = {
    ("rf", 1): 87.75,
    ("rf", 2): 88.01,
    ("nystrom", 1): 88.93,
    ("nystrom", 2): 88.98,
    ("rbf", 1): 90,
    ("gicdf", 1): 93.81,
    ("lgika-rf", 1): 96.83,
    ("lgika-rf", 2): 97.18,
    ("lgika-nystrom", 1): 96.81,
    ("lgika-nystrom", 2): 97.21,
}
CITED = {"TI-RBM": 95.8, "RC-RBM": 97.02, "Z2-CNN": 94.97, "P4-CNN": 97.72}
rows = []
for name, title in NAMES.items():
    for layer in (1, 2):
        if (name, layer) in results:
            value, se = results[name, layer]
            rows.append(
                {
                    "method": title,
                    "layers": layer,
                    "paper": PAPER.get((name, layer), np.nan),
                    "here": f"{value:.2f} ± {se:.2f}",
                }
            )
rows += [
    {"method": f"{name} (cited by the paper)", "layers": np.nan, "paper": value, "here": ""}
    for name, value in CITED.items()
]
run.table(
    pd.DataFrame(rows),
    "table2",
    caption="Test accuracy in per cent, with binomial standard errors"
    + (f"; data: {stand_in}." if stand_in else "."),
)

# %%
fig, ax = plt.subplots(figsize=(7.6, 4.4))
looks = {
    "rf": "rff",
    "nystrom": "nystrom",
    "rbf": "rbf",
    "gicdf": "cdf",
    "gicdf, fewer": "cdf",
    "lgika-rf": "lgika-rff",
    "lgika-nystrom": "lgika-nystrom",
    "lgika-orthogonal": "lgika-rff",
    "exact": "exact-kernel",
}
shown = [key for name in NAMES for key in ((name, 1), (name, 2)) if key in results]
for i, (name, layer) in enumerate(shown):
    value, se = results[name, layer]
    ax.errorbar(
        value,
        i,
        xerr=2 * se,
        color=colour(looks[name]),
        marker=marker(looks[name]),
        linestyle="none",
    )
    if stand_in is None and (name, layer) in PAPER:
        ax.plot(
            PAPER[name, layer],
            i,
            color=colour("published"),
            marker=marker("published"),
            linestyle="none",
            label="paper" if i == 0 else None,
        )
ax.set(
    yticks=range(len(shown)),
    yticklabels=[
        f"{NAMES[name]}, {layer} layer{'s' if layer == 2 else ''}" for name, layer in shown
    ],
    xlabel="test accuracy (%)" + (f", {stand_in}" if stand_in else ""),
)
ax.invert_yaxis()
if stand_in is None:
    ax.legend()
run.figure(
    fig,
    "table2",
    alt="Test accuracies of plain and rotation-averaged features and exact kernels, with the paper's numbers as stars on the full data; the exact orbit kernel is on top.",
    caption="Two binomial standard errors.",
)

# %%
CLAIMS = {
    "raj2017/table2-original-rf": [("rf", 1), ("rf", 2)],
    "raj2017/table2-original-nys": [("nystrom", 1), ("nystrom", 2)],
    "raj2017/table2-original-rbf": [("rbf", 1)],
    "raj2017/table2-gicdf": [("gicdf", 1)],
    "raj2017/table2-lgika-rf": [("lgika-rf", 1), ("lgika-rf", 2)],
    "raj2017/table2-lgika-nys": [("lgika-nystrom", 1), ("lgika-nystrom", 2)],
}
for claim, keys in CLAIMS.items():
    value, se = np.transpose([results[key] for key in keys])
    if len(keys) == 1:
        value, se = value[0], se[0]
    # the bundled digits are another problem: their numbers say nothing about the paper's
    if stand_in is None:
        run.claim(claim, value=value, se=se)

# %% [markdown]
# **Where we differ.** Every row reaches its printed number or passes it; an earlier run of this notebook did not, and what changed says what
# matters. Images at unit norm gain the local features some tenths of a point (table of scales), the original ones more. Bandwidths are chosen
# at full size: leave-one-out on 2,000 images chose others. And the second layer's bandwidth is chosen by its random features, not by
# the kernel that they approach: that one loses nothing as it narrows, but 17,000 templates no longer follow it (table of
# settings). The set is rebuilt, so that some tenths of a point may be the data's; plain Gaussian kernels, Original (RBF), are above
# the paper's here too. The exact orbit kernel is above all random features.
