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
profile: str = "quick"      # quick or full
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
from invariance.kernels import CircleAverage, Gaussian, Hyperkernel
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
    data = make_rotated_mnist(digits.data, digits.target, n_train=300, n_test=600, random_state=seed)
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
print(f"{n_train} + {len(pixels) - n_train} images; {angular.shape[1]} coefficients carry {carried:.2%} of the energy")

# %% [markdown]
# ## Features, then regularised least squares
#
# Templates: $s = 7000$ in the first layer; 17,000 in the second, a cosine with a random phase each.
# The local features take a cosine and a sine a template, the real and imaginary part of equation
# (7); the original ones a cosine with a phase. The integral over rotations takes 32 nodes instead
# of the paper's $r = 100$ random angles: the cost notebook shows that 16 already err less.
# Regularisation is chosen on the last sixth of the training set before all of it is fitted;
# bandwidths by exact leave-one-out on a part of the training set, with templates in the same
# proportion. No test image is looked at before the end.

# %%
s, s_second, n_cdf = run.choose(quick=(200, 300, 30), full=(7000, 17_000, 300))
part, s_part = run.choose(quick=(300, 100), full=(2000, 1200))
threads = run.choose(quick=1, full=2)
KAPPA, NODES = 0.2, 32
LAMBDAS = np.logspace(-8, -4, 5)
rotations = basis.rotations(VonMises(KAPPA), n_nodes=NODES)
reference_gamma = median_gamma(angular[:n_train], random_state=seed)


def build(method, gamma, templates):
    how = {"gamma": gamma, "n_jobs": threads, "random_state": seed}
    if method == "gicdf":
        return GroupCDF(rotations, templates, n_bins=25, n_transforms=100, s="data", random_state=seed)
    group = rotations if method.startswith("lgika") else None
    if method.endswith("nystrom"):
        return OrbitNystroem(group, templates, **how)
    if method == "lgika-orthogonal":
        return OrbitFourier(group, templates, form="cos_sin", sampling="orthogonal", **how)
    return OrbitFourier(group, templates, form="phase" if group is None else "cos_sin", **how)


def second_layer(second, templates, Z):
    """Random Fourier features of features; ``second`` is relative to the median heuristic."""
    gamma = second * median_gamma(Z, random_state=seed)
    return OrbitFourier(None, templates, gamma=gamma, n_jobs=threads, random_state=seed + 1).fit(Z[:1])


def loo_error(gram):
    model = RLSClassifier(kernel="precomputed").fit(gram.astype(float), labels[:part])
    return model.loo_errors_.min()


@run.cache
def leave_one_out(method, gamma, seconds):
    """Leave-one-out errors on a part of the training set: one layer, then two by ``seconds``."""
    Z = build(method, gamma, min(s_part, part)).fit_transform(angular[:part])
    errors = [loo_error(Z @ Z.T)]
    for second in seconds:
        W = second_layer(second, 2 * s_part, Z).transform(Z)
        errors.append(loo_error(W @ W.T))
    return errors


def holdout_fit(Z):
    """Weights and intercepts: by the smaller of the Gram matrix and the normal equations."""
    y, held = labels[:n_train], n_train // 6
    if Z.shape[1] >= n_train:
        fitted = ridge_by_holdout(Z @ Z.T, y, LAMBDAS, held)
        return Z.T @ fitted.dual_coef.astype(Z.dtype), fitted.intercept
    lambdas = LAMBDAS * np.mean(np.sum(np.square(Z), axis=1))
    model = BlockRidgeClassifier()
    model.partial_fit(Z[:-held], y[:-held], classes=np.unique(y))
    accuracies = model.scores(Z[-held:], y[-held:], lambdas)
    model.set_params(lam=float(lambdas[np.nanargmax(accuracies)]))
    model.partial_fit(Z[-held:], y[-held:])
    model.decision_function(Z[:1])
    return model.coef_.T.astype(Z.dtype), model.intercept_


@run.cache
def test_predictions(method, gamma, second):
    """Predicted classes of the test images: from one layer, then from two."""
    X = angular[:n_train]
    layers = [build(method, gamma, n_cdf if method == "gicdf" else min(s, n_train)).fit(X)]
    Z = layers[0].transform(X)
    weights = [holdout_fit(Z)]
    if second is not None:
        layers.append(second_layer(second, s_second, Z))
        Z = layers[1].transform(Z)
        weights.append(holdout_fit(Z))
    predicted = np.empty((len(layers), len(angular) - n_train), dtype=np.int8)
    for start in range(n_train, len(angular), 5000):
        Z = angular[start : start + 5000]
        for i, (layer, (coef, intercept)) in enumerate(zip(layers, weights, strict=True)):
            Z = layer.transform(Z)
            predicted[i, start - n_train :][: len(Z)] = (Z @ coef + intercept).argmax(axis=1)
    return predicted


MULTIPLES = (1.0, 2.0, 4.0, 8.0, 16.0)         # of the median heuristic
GAMMAS = [c * reference_gamma for c in MULTIPLES]
SECOND = (0.1, 0.3, 1.0)


def accuracy(predicted):
    """Per cent correct and its binomial standard error."""
    right = np.mean(predicted == labels[n_train:])
    return 100 * right, 100 * np.sqrt(right * (1 - right) / len(predicted))


results, settings = {}, []
for method in ("lgika-rf", "lgika-nystrom", "rf", "nystrom"):
    one_layer = {gamma: leave_one_out(method, gamma, ())[0] for gamma in GAMMAS}
    gamma = min(one_layer, key=one_layer.get)
    errors = leave_one_out(method, gamma, SECOND)
    second = SECOND[int(np.argmin(errors[1:]))]
    settings.append({"method": method, "bandwidth / median": gamma / reference_gamma, "second layer / median": second, "one layer": f"{errors[0]:.2%}", "two layers": f"{min(errors[1:]):.2%}"})
    for layer, predicted in enumerate(test_predictions(method, gamma, second), start=1):
        results[method, layer] = accuracy(predicted)
results["gicdf, fewer", 1] = accuracy(test_predictions("gicdf", None, None)[0])
orthogonal = min(leave_one_out("lgika-orthogonal", gamma, ())[0] for gamma in GAMMAS)
settings.append({"method": "lgika-rf, orthogonal templates (ours)", "one layer": f"{orthogonal:.2%}"})
run.table(pd.DataFrame(settings), "settings", caption=f"What leave-one-out chose on {part} training images with {min(s_part, part)} templates, and its errors there. Orthogonal templates, which the paper did not try, are compared at this size only.")

# %% [markdown]
# The paper gives no number of templates of the histogram features. More templates are better, so the row of Table 2 has as
# many as fit into memory beside their Gram matrix; one with fewer is kept to show the difference.

# %%
n_more = run.choose(quick=60, full=1000)


@run.cache
def histogram_predictions(templates):
    """Predicted classes of the test images from histogram features."""
    X = angular[:n_train]
    features = build("gicdf", None, templates).fit(X)
    coef, intercept = holdout_fit(features.transform(X))
    starts = range(n_train, len(angular), 2500)
    blocks = [features.transform(angular[a : a + 2500]) @ coef + intercept for a in starts]
    return np.concatenate([block.argmax(axis=1) for block in blocks]).astype(np.int8)


results["gicdf", 1] = accuracy(histogram_predictions(n_more))

# %% [markdown]
# ## One step beyond: no random features
#
# "Original (RBF)" is the Gaussian kernel itself. And the kernel that the LGIKA features approximate
# can be had exactly: all inner products of a pair over relative angles come from one small product
# over angular frequencies (`CircleAverage`). One thing more that the paper did not try: blurring
# the images first, which commutes with rotations and makes small displacements cheap. Bandwidth,
# $\kappa$ and blur by leave-one-out on the same part of the training set.

# %%
BLURS = run.choose(quick=(0.0, 0.5), full=(0.0, 0.5, 1.0))
KAPPAS = run.choose(quick=(0.2, 1.0), full=(0.2, 0.5, 1.0, 2.0))


def blurred(blur, start, stop):
    if blur == 0:
        return angular[start:stop]
    images = pixels[start:stop].reshape(-1, 28, 28)
    return basis.transform(ndimage.gaussian_filter(images, (0, blur, blur)).reshape(len(images), -1))


def bandwidths(blur):
    return [c * median_gamma(blurred(blur, 0, part), random_state=seed) for c in MULTIPLES]


def kernel(gamma, kappa):
    if kappa is None:
        return Gaussian(gamma)
    return CircleAverage(Gaussian(gamma), basis.rotations(VonMises(kappa), n_nodes=NODES), n_jobs=threads)


@run.cache
def exact_leave_one_out(kappa, blur):
    X = blurred(blur, 0, part)
    if kappa is None:
        grams = (kernel(gamma, None)(X) for gamma in bandwidths(blur))
    else:
        grams = kernel(1.0, kappa).grams(X, None, bandwidths(blur))
    return [loo_error(gram) for gram in grams]


@run.cache
def exact_predictions(kappa, blur, gamma):
    k, X = kernel(gamma, kappa), blurred(blur, 0, n_train)
    fitted = ridge_by_holdout(k(X), labels[:n_train], LAMBDAS, n_train // 6)
    predicted = []
    for start in range(n_train, len(angular), 5000):
        gram = k(blurred(blur, start, start + 5000), X)
        predicted.append((gram @ fitted.dual_coef.astype(gram.dtype) + fitted.intercept).argmax(axis=1))
    return np.concatenate(predicted).astype(np.int8)


for name, grid in {"rbf": [(None, 0.0)], "exact": [(kappa, blur) for kappa in KAPPAS for blur in BLURS]}.items():
    errors = {setting: exact_leave_one_out(*setting) for setting in grid}
    kappa, blur = min(errors, key=lambda setting: min(errors[setting]))
    best = int(np.argmin(errors[kappa, blur]))
    results[name, 1] = accuracy(exact_predictions(kappa, blur, bandwidths(blur)[best]))
    print(f"{name}: kappa = {kappa}, blur = {blur} pixels, bandwidth / median = {MULTIPLES[best]:g}, leave-one-out error {errors[kappa, blur][best]:.2%}")

# %% [markdown]
# The second layer can be had without random features as well: it is a Gaussian kernel of the embedded orbits,
# $\exp(-\gamma (k_{xx} + k_{zz} - 2 k_{xz}))$, with $\gamma$ relative to the median distance and chosen by held-out accuracy.

# %%
@run.cache
def exact_second_layer(kappa, blur, gamma, seconds):
    """Predicted classes of the test images, and which of ``seconds`` was chosen."""
    k, X = kernel(gamma, kappa), blurred(blur, 0, n_train)
    gram = k(X)
    norms = gram.diagonal().copy()
    distances = norms[:1000, None] + norms[:1000] - 2 * gram[:1000, :1000]
    unit = 1 / (2 * np.median(distances[np.triu_indices_from(distances, 1)]))
    tops = [Hyperkernel(k, second * unit) for second in seconds]
    fits = [ridge_by_holdout(top.of_gram(gram, norms), labels[:n_train], LAMBDAS, n_train // 6) for top in tops]
    best = int(np.argmax([np.nanmax(fitted.accuracies) for fitted in fits]))
    predicted = []
    for start in range(n_train, len(angular), 5000):
        points = blurred(blur, start, start + 5000)
        values = tops[best].of_gram(k(points, X), k.diag(points).astype(gram.dtype), norms)
        predicted.append((values @ fits[best].dual_coef.astype(gram.dtype) + fits[best].intercept).argmax(axis=1))
    return np.concatenate(predicted).astype(np.int8), seconds[best]


predicted, second = exact_second_layer(kappa, blur, bandwidths(blur)[best], (0.5, 1.0, 2.0))
results["exact", 2] = accuracy(predicted)
print(f"second layer / median = {second:g}")

# %% [markdown]
# ## Table 2

# %%
NAMES = {
    "rf": "Original (RF)", "nystrom": "Original (Nystrom)", "rbf": "Original (RBF)", "gicdf, fewer": f"GICDF, {n_cdf} templates", "gicdf": f"GICDF, {n_more} templates",
    "lgika-rf": "LGIKA (RF)", "lgika-nystrom": "LGIKA (Nystrom)",
    "exact": "exact orbit kernel (ours)",
}
PAPER = {
    ("rf", 1): 87.75, ("rf", 2): 88.01, ("nystrom", 1): 88.93, ("nystrom", 2): 88.98, ("rbf", 1): 90,
    ("gicdf", 1): 93.81, ("lgika-rf", 1): 96.83, ("lgika-rf", 2): 97.18,
    ("lgika-nystrom", 1): 96.81, ("lgika-nystrom", 2): 97.21,
}
CITED = {"TI-RBM": 95.8, "RC-RBM": 97.02, "Z2-CNN": 94.97, "P4-CNN": 97.72}
rows = []
for name, title in NAMES.items():
    for layer in (1, 2):
        if (name, layer) in results:
            value, se = results[name, layer]
            rows.append({"method": title, "layers": layer, "paper": PAPER.get((name, layer), np.nan), "here": f"{value:.2f} ± {se:.2f}"})
rows += [{"method": f"{name} (cited by the paper)", "layers": np.nan, "paper": value, "here": ""} for name, value in CITED.items()]
run.table(pd.DataFrame(rows), "table2", caption="Test accuracy in per cent, with binomial standard errors" + (f"; data: {stand_in}." if stand_in else "."))

# %%
fig, ax = plt.subplots(figsize=(7.6, 4.4))
looks = {"rf": "rff", "nystrom": "nystrom", "rbf": "rbf", "gicdf": "cdf", "gicdf, fewer": "cdf", "lgika-rf": "lgika-rff", "lgika-nystrom": "lgika-nystrom", "exact": "exact-kernel"}
shown = [key for name in NAMES for key in ((name, 1), (name, 2)) if key in results]
for i, (name, layer) in enumerate(shown):
    value, se = results[name, layer]
    ax.errorbar(value, i, xerr=2 * se, color=colour(looks[name]), marker=marker(looks[name]), linestyle="none")
    if stand_in is None and (name, layer) in PAPER:
        ax.plot(PAPER[name, layer], i, color=colour("published"), marker=marker("published"), linestyle="none", label="paper" if i == 0 else None)
ax.set(yticks=range(len(shown)), yticklabels=[f"{NAMES[name]}, {layer} layer{'s' if layer == 2 else ''}" for name, layer in shown], xlabel="test accuracy (%)" + (f", {stand_in}" if stand_in else ""))
ax.invert_yaxis()
if stand_in is None:
    ax.legend()
run.figure(fig, "table2", alt="Test accuracies of plain and rotation-averaged features and exact kernels, with the paper's numbers as stars on the full data; the exact orbit kernel is on top.", caption="Two binomial standard errors.")

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
# **Where we differ.** The local features with one layer, and the histogram features once they have enough templates, reach the printed
# numbers. The second layer of the local features does not add what it adds in the paper: the table of settings shows that leave-one-out on a
# part of the training set found no gain in it either, and chose bandwidths at or near the wide end of its grid. Plain
# random features with a cosine a template fall short most: their kernel's own row, Original (RBF), is above the paper's,
# so it is their number and not their kernel that limits them. The exact orbit kernel is above all random features, and a second layer adds
# nothing to it.
