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
seeds: list[int] = [1, 2, 3]  # rebuilt sets to measure on; 0 chooses

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import ndimage

from invariance.companion import Run, colour, marker, mean_se
from invariance.datasets import load_digits_images, make_rotated_mnist
from invariance.features import AngularBasis, GroupCDF, OrbitFourier, OrbitNystroem, median_gamma
from invariance.groups import VonMises
from invariance.kernels import Average, Gaussian, Hyperkernel
from invariance.linear import BlockRidgeClassifier, RLSClassifier, ridge_by_holdout

run = Run("raj2017/rotated_mnist", profile=profile, seeds=seeds, chooses=True)

# %% [markdown]
# ## The data
#
# The published angles of Larochelle et al. (2007) belong to a file that is no longer to be had in
# the original; the set is rebuilt from MNIST, with disjoint images, uniform angles and bilinear
# interpolation. Differences of a few tenths of a point from numbers on the original are to be
# expected from that alone, so we rebuild it several times. Settings are chosen on the training
# images of another rebuilding, without test images, and none of those images is tested on later.

# %%
stand_in = "bundled digits, rotated" if run.quick else None


def rebuilt(seed, never_test=None):
    """The set as rebuilt with a seed."""
    if not run.quick:
        return make_rotated_mnist(random_state=seed, never_test=never_test)
    digits, labels = load_digits_images().train
    return make_rotated_mnist(
        digits, labels, n_train=300, n_test=600, random_state=seed, never_test=never_test
    )


basis = AngularBasis((28, 28))


def prepared(data):
    """Pixels, coefficients in the angular basis, and labels."""
    pixels = data.data.reshape(len(data.data), -1)
    return pixels, basis.fit(pixels[:1]).transform(pixels), data.target


seed = 0
choosing = rebuilt(seed)
for name, sha256 in choosing.sources.items():
    run.uses_data(name, sha256)
pixels, angular, labels = prepared(choosing)
n_train = choosing.n_train
carried = float(np.sum(angular**2) / np.sum(pixels**2))
print(f"{n_train} images; {angular.shape[1]} coefficients carry {carried:.2%} of the energy")

# %% [markdown]
# ## Features, then regularised least squares
#
# Templates: $s = 7000$ in the first layer and 17,000 in the second, a cosine and a sine each, the real and
# imaginary part of equation (7), which leaves less noise than a random phase does. The integral over rotations
# takes 32 nodes instead of the paper's $r = 100$ random angles: the cost notebook shows how quickly its error falls
# with the nodes, and that some two dozen err less than 100 random angles there; narrower kernels want more. GICDF features are 25 bins a template; the paper gives no number of templates, and more are
# better, so there are as many as fit into memory beside their Gram matrix (1,000), and a row with 300 to show the difference.
#
# Everything is chosen on the last sixth of the training images, by models that are fitted to the other
# five sixths at full size: bandwidth, second layer, and the scale of the images, of which the paper says
# nothing: as they are, or each divided by its norm, so that thick and thin strokes weigh the same. Rotations
# keep norms. The local features of the first row decide that for all rows. The exact kernels below, which
# take longer, choose by leave-one-out on part of the images. The regularisation is chosen anew in every fit,
# on the last sixth of its own training images. The second layer's bandwidth is chosen with its random
# features, since the narrower the kernel, the more templates it takes to follow it.

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
def held_out_accuracy(method, unit, gamma, templates):
    """Best accuracy of one layer over alpha."""
    Z = build(method, gamma, min(templates, n_train)).fit_transform(scaled(angular[:n_train], unit))
    return np.nanmax(held_out_ridge(Z @ Z.T, COARSE, refit=False).accuracies)


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


def bandwidth(multiple, unit):
    return multiple * median_gamma(scaled(angular[:n_train], unit), random_state=seed)


SECOND = (0.1, 0.3, 1.0)


METHODS = ("lgika-rf", "lgika-nystrom", "rf", "nystrom")
HELD_OUT = f"accuracy on {held:,} held-out training images"


def by_bandwidth(method, unit):
    """Held-out accuracy of one layer for each multiple of the median heuristic."""
    return [held_out_accuracy(method, unit, bandwidth(c, unit), s) for c in MULTIPLES]


unit = run.select(
    "unit norm",
    [False, True],
    lambda unit: max(by_bandwidth("lgika-rf", unit)),
    by=f"{HELD_OUT}, LGIKA (RF), one layer, best bandwidth",
)

# %%
multiples, seconds = {}, {}
for method in METHODS:
    multiples[method] = run.select(
        f"bandwidth / median, {method}",
        MULTIPLES,
        scores=lambda method=method: by_bandwidth(method, unit),
        by=f"{HELD_OUT}, one layer",
    )
    gamma = bandwidth(multiples[method], unit)
    seconds[method] = run.select(
        f"second bandwidth / median, {method}",
        SECOND,
        scores=lambda method=method, gamma=gamma: held_out_second(method, unit, gamma, SECOND),
        by=f"{HELD_OUT}, two layers",
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


GRIDS = {
    "rbf": [(None, 0.0)],
    "exact": [(kappa, blur) for kappa in KAPPAS for blur in BLURS],
}
exact = {
    name: run.select(
        f"kappa, blur and bandwidth / median, {name}",
        [[*setting, c] for setting in grid for c in EXACT_MULTIPLES],
        scores=lambda grid=grid: [e for setting in grid for e in exact_leave_one_out(*setting)],
        by=f"leave-one-out error on {part:,} training images",
        higher=False,
    )
    for name, grid in GRIDS.items()
}
run.table(
    [
        {
            "setting": name,
            "chosen": str(choice.chosen),
            "score": f"{choice.scores[choice.grid.index(choice.chosen)]:.4f}",
            "by": choice.by,
        }
        for name, choice in run.choices.items()
    ],
    "settings",
    caption="What was chosen, and the best score.",
)

# %% [markdown]
# ## Measured
#
# On sets rebuilt with other seeds: other training and test images, other angles, other templates.

# %%
run.measure()
measured = run.seeds[:2] if run.quick else run.seeds
results = {}


def keep(name, layer, predicted):
    right = 100 * np.mean(predicted == labels[n_train:])
    results.setdefault((name, layer), []).append(right)


for seed in measured:
    data = rebuilt(seed, choosing.rows)
    pixels, angular, labels = prepared(data)
    for method in METHODS:
        gamma = bandwidth(multiples[method], unit)
        predicted = test_predictions(method, unit, gamma, seconds[method], s)
        for layer, classes in enumerate(predicted, start=1):
            keep(method, layer, classes)
    gamma = bandwidth(multiples["lgika-rf"], unit)
    keep("lgika-orthogonal", 1, test_predictions("lgika-orthogonal", unit, gamma, None, s)[0])
    for name, templates in (("gicdf, fewer", n_cdf_fewer), ("gicdf", n_cdf)):
        keep(name, 1, test_predictions("gicdf", unit, None, None, templates)[0])
    for name, (kappa, blur, multiple) in exact.items():
        widths = (0.1, 0.25, 0.5, 1.0, 2.0) if name == "exact" else ()
        gamma = multiple * bandwidths(blur)[0]
        for layer, classes in enumerate(exact_predictions(kappa, blur, gamma, widths)[0], start=1):
            keep(name, layer, classes)


def score(key):
    """Mean over rebuilt sets and its standard error; of one set, the binomial error of its test."""
    right = np.array(results[key])
    if len(right) > 1:
        return mean_se(right)
    return right[0], np.sqrt(right[0] * (100 - right[0]) / (len(labels) - n_train))


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
            value, se = score((name, layer))
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
    caption=f"Test accuracy in per cent, mean and standard error over {len(measured)} rebuilt sets"
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
    value, se = score((name, layer))
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
    caption=f"Two standard errors over {len(measured)} rebuilt sets.",
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
# the bundled digits are another problem: their numbers say nothing about the paper's
for claim, keys in CLAIMS.items() if stand_in is None else ():
    if len(measured) > 1:
        samples = np.transpose([results[key] for key in keys])
        samples = samples[:, 0] if len(keys) == 1 else samples
        run.claim(claim, samples=samples, spread="rebuilt sets")
    else:
        value, se = np.transpose([score(key) for key in keys])
        run.claim(claim, value=value, se=se, spread="test images of one set, binomial")

# %% [markdown]
# **Where we differ.** Before settings were chosen in a stage of their own, on one rebuilt set, an earlier run of this notebook fell short
# in four rows and a later one did not; what changed says what matters, and both stand in the ledger. Images at unit norm gain the local
# features some tenths of a point, the original ones more. Bandwidths are chosen at full size: leave-one-out on 2,000 images chose others.
# And the second layer's bandwidth is chosen with its random features, not with the kernel that they approach: that one loses nothing as
# it narrows, but 17,000 templates no longer follow it. The set is rebuilt, so that some tenths of a point may be the data's; plain
# Gaussian kernels, Original (RBF), are above the paper's here too. The exact orbit kernel is above all random features.
