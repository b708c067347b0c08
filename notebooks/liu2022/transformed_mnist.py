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
# # Digits that really move: Figure 2
#
# *Liu, Kumar, Zhou and Liu (2022), Figure 2.*
#
# MNIST is centred and nearly upright; invariance has little to do there. Put the digits anywhere
# on a 64 × 64 canvas, or turn them by any angle, and it has everything to do. The paper compares
# the polynomial kernel, locality (windows of 5), invariance and both, from 100 to 1,000 training
# samples, five times.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
jobs: int = 2  # threads; results do not depend on it
n_test: int = 1000  # test images a repetition (full profile)

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVC

from invariance.companion import Run, colour, marker, mean_se
from invariance.datasets import load_mnist, make_rotated_mnist, make_translated_mnist
from invariance.groups import Rotations, Translations
from invariance.kernels import BestFit, Locality, Polynomial

run = Run("liu2022/transformed_mnist", profile=profile, seed=seed, jobs=jobs, n_test=n_test)

# %% tags=["settings"]
# all that differs between the two profiles
SETTINGS = {
    "quick": {
        "sizes": (30, 60),
        "repetitions": 2,
        "test size": 60,
    },
    "full": {
        "sizes": (100, 300, 500, 700, 1000),
        "repetitions": 5,
        "test size": n_test,
    },
}[profile]

# %%
sizes = SETTINGS["sizes"]
repetitions = SETTINGS["repetitions"]
test_size = SETTINGS["test size"]

# %% [markdown]
# ## Data
#
# Translated: offsets uniform on $0..36$ in both directions. Rotated: a whole degree, uniform on
# $-180..179$, by cubic splines, the frame grown to fit and centred on the canvas; 6 and 9 are
# left out, for no rotation-invariant kernel can tell them apart. The text adds Gaussian noise of
# standard deviation 0.1, the public code does not: both are run, and the claims rest on the
# text's. Every repetition draws new images, places and angles. Smaller training sets are the
# first rows of the largest.
#
# The quick profile puts the bundled 8 × 8 digits on a 14 × 14 canvas.


# %%
def source(kind):
    if run_quick:
        X, y = load_digits(return_X_y=True)
        X, canvas, checksums = X.reshape(-1, 8, 8).astype(np.float32) / 16, 14, {}
    else:
        data = load_mnist()
        X, y, canvas, checksums = data.data, data.target, 64, data.sources
    if kind == "rotated":
        kept = (y != 6) & (y != 9)
        X, y = X[kept], y[kept]
    return X, y, canvas, checksums


run_quick = run.quick
for file, sha256 in source("translated")[-1].items():
    run.uses_data(file, sha256)


def sample(kind, noise, repetition):
    """Training and test rows, flattened, with labels."""
    X, y, canvas, _ = source(kind)
    rows = np.random.default_rng([seed, repetition]).permutation(len(X))[: max(sizes) + test_size]
    make = make_translated_mnist if kind == "translated" else make_rotated_mnist
    data = make(X[rows], y[rows], canvas=canvas, noise=noise, random_state=repetition)
    points, n = data.data.reshape(len(rows), -1), max(sizes)
    return points[:n], y[rows][:n], points[n:], y[rows][n:]


# %% [markdown]
# ## Kernels
#
# Shifts of $-32..28$ in steps of 4 in both directions (256), rotations of $-180..170$ degrees in
# steps of 10 (36).


# %%
def kernels_of(kind):
    fast = dict(precision="single", n_jobs=jobs)
    canvas = 14 if run_quick else 64
    shape, window = (canvas, canvas), 3 if run_quick else 5
    polynomial, local = Polynomial(8, gamma=1 / canvas**2), Locality(shape, window, powers=(2, 4))
    plain = {"svm": polynomial, "l": local}
    if kind == "translated":
        shifts = np.arange(-7, 7) if run_quick else np.arange(-32, 29, 4)
        group = Translations(shape, shifts=shifts)
        return plain | {
            "ti": BestFit(polynomial, group, **fast),
            "l-ti": BestFit(local, group, **fast),
        }
    group = Rotations(shape, degrees=range(-180, 180, 15 if run_quick else 10))
    return plain | {"ri": BestFit(polynomial, group, **fast), "l-ri": BestFit(local, group, **fast)}


METHODS = {"translated": ("l-ti", "ti", "l", "svm"), "rotated": ("l-ri", "ri", "l", "svm")}

# %% [markdown]
# ## The constant C
#
# The paper does not state the constant of the soft margin. Its public code leaves it at 1. On a
# 64 × 64 canvas that is a strong assumption: with the scale 1/4096 the polynomial kernel's values
# differ by a fraction of one (the table below says how much), the margin in its feature space is
# tiny, and dual variables bounded by 1 cannot reach it. The locality kernel's values are
# millions, and C = 1 is a hard margin for it. A comparison at C = 1 is then one of scales as much
# as of kernels. So every machine is trained twice: with C = 1, and with C chosen by five-fold
# cross-validation on its own training samples.

# %%
GRID = [1, 10, 100, 1000, 10_000]
FIXED, CHOSEN = "C = 1", "C chosen"


@run.cache
def curve(kind, method, noise, repetition):
    """Accuracy in per cent for each training size under both choices of C, and what C = 1 meets at the smallest size."""
    X, y, X_test, y_test = sample(kind, noise, repetition)
    kernel = kernels_of(kind)[method]
    train, test = kernel(X, X), kernel(X_test, X)
    accuracy, constants = {FIXED: [], CHOSEN: []}, []
    for n in sizes:
        gram, labels = train[:n, :n], y[:n]
        machine = SVC(C=1, kernel="precomputed").fit(gram, labels)
        folds = KFold(5, shuffle=True, random_state=seed)
        search = GridSearchCV(SVC(kernel="precomputed"), {"C": GRID}, cv=folds).fit(gram, labels)
        constants.append(search.best_params_["C"])
        for name, fitted in ((FIXED, machine), (CHOSEN, search)):
            accuracy[name].append(100 * fitted.score(test[:, :n], y_test))
        if n == sizes[0]:
            dual = np.abs(machine.dual_coef_[machine.dual_coef_ != 0])
            facts = {"range": np.ptp(gram), "at the bound": np.mean(dual >= 1 - 1e-9)}
    return accuracy, constants, facts


NOISES = (0.1, 0.0)
results = {
    (kind, method, noise): [curve(kind, method, noise, r) for r in range(repetitions)]
    for kind in METHODS
    for noise in NOISES
    for method in reversed(METHODS[kind])
}
curves = {
    (*key, constant): np.array([accuracy[constant] for accuracy, _, _ in repeated])
    for key, repeated in results.items()
    for constant in (FIXED, CHOSEN)
}

# %%
LABELS = {
    "svm": "SVM",
    "l": "L-SVM",
    "ti": "TI-SVM",
    "l-ti": "L-TI-SVM",
    "ri": "RI-SVM",
    "l-ri": "L-RI-SVM",
}
fig, axes = plt.subplots(2, 2, figsize=(10, 7.5), sharex=True, sharey="row")
for row, kind in zip(axes, METHODS, strict=True):
    for axis, constant in zip(row, (FIXED, CHOSEN), strict=True):
        for method in METHODS[kind]:
            mean, error = mean_se(curves[kind, method, 0.1, constant])
            axis.errorbar(
                sizes,
                mean,
                error,
                color=colour(method),
                marker=marker(method),
                label=LABELS[method],
            )
        axis.set(title=f"{kind}, {constant}")
    row[0].set_ylabel("accuracy (%)")
    row[0].legend()
for axis in axes[1]:
    axis.set_xlabel("training samples")
run.figure(
    fig,
    "figure2",
    alt="Accuracy against training samples on translated digits (top) and rotated digits "
    "(bottom), with C = 1 (left) and C chosen by "
    "cross-validation (right). The kernels with invariance end far above those without. The "
    "polynomial invariant kernel starts low with C = 1 "
    "and next to the one with locality when C is chosen.",
    caption=f"Mean and standard error over {repetitions} repetitions, {test_size:,} test "
    f"images each, noise 0.1. The paper's Figure 2, which "
    "shows standard deviations.",
)
run.table(
    [
        {"data": kind, "noise": noise, "C": constant, "method": LABELS[method]}
        | {
            f"n = {n}": "{:.1f} ± {:.1f}".format(
                *mean_se(curves[kind, method, noise, constant][:, i])
            )
            for i, n in enumerate(sizes)
        }
        for kind in METHODS
        for noise in NOISES
        for constant in (FIXED, CHOSEN)
        for method in METHODS[kind]
    ],
    "figure2",
    caption="Accuracy in per cent, mean and standard error over repetitions.",
)
run.table(
    [
        {
            "data": kind,
            "method": LABELS[method],
            "range of the kernel's values": f"{np.mean([facts['range'] for _, _, facts in results[kind, method, 0.1]]):.3g}",
            "support vectors at the bound, C = 1": f"{np.mean([facts['at the bound'] for _, _, facts in results[kind, method, 0.1]]):.0%}",
            "C chosen, each repetition": ", ".join(
                str(constants[0]) for _, constants, _ in results[kind, method, 0.1]
            ),
        }
        for kind in METHODS
        for method in METHODS[kind]
    ],
    "soft_margin",
    caption=f"What the soft margin does with n = {sizes[0]} training samples, noise 0.1. A "
    f"support vector at the bound lies "
    "inside the margin or on its wrong side.",
)

# %% [markdown]
# **What it shows.** Without invariance a thousand moved digits are not enough; with it a few
# hundred are. Locality and invariance together do not mind the constant. Invariance alone does at
# small sizes: at C = 1 about half of its support vectors sit at the bound, and the machine
# answers with the frequent classes. Once C is chosen, it does as well as with locality.
#
# The paper's order of methods is judged as published, with C = 1, and printed again for the
# chosen C. Its other sentence, that the benefit of invariance shrinks as samples are added, is
# judged for TI over the plain SVM and for L-TI over L: in points of accuracy, between the
# smallest and the largest training set. It does not shrink here, whatever C: on digits moved this
# far the machines without invariance hardly learn at any of these sizes, so that the gain grows
# as the invariant ones do. The gain could shrink only after they had levelled off.

# %%
stand_in = "scikit-learn's bundled 8 x 8 digits on a 14 x 14 canvas" if run.quick else None


def order_of(kind, constant):
    """Scores of the methods at the smallest and largest size, and the order that the paper states."""
    both, invariant, local, plain = METHODS[kind]
    scores, order = {}, []
    for i in (0, -1):
        scores |= {
            f"{m} at {sizes[i]}": curves[kind, m, 0.1, constant][:, i] for m in METHODS[kind]
        }
        order += [
            f"{one} at {sizes[i]} > {other} at {sizes[i]}"
            for one in (both, invariant)
            for other in (local, plain)
        ]
    if kind == "translated":
        for name, one, other in (("gain", invariant, plain), ("gain with locality", both, local)):
            for n in (sizes[0], sizes[-1]):
                scores[f"{name} at {n}"] = scores[f"{one} at {n}"] - scores[f"{other} at {n}"]
            order.append(f"{name} at {sizes[0]} > {name} at {sizes[-1]}")
    return scores, order


def at_both_ends(kind, method, constant):
    first, *_, last = curves[kind, method, 0.1, constant].mean(axis=0)
    return f"{first:.0f} to {last:.0f} %"


both, invariant, local, plain = METHODS["translated"]
grows = (
    f"from {sizes[0]} to {sizes[-1]} samples {LABELS[plain]} goes from "
    f"{at_both_ends('translated', plain, FIXED)} and {LABELS[local]} from "
    f"{at_both_ends('translated', local, FIXED)}, {LABELS[invariant]} from "
    f"{at_both_ends('translated', invariant, FIXED)} and {LABELS[both]} from "
    f"{at_both_ends('translated', both, FIXED)}: gains grow while only the invariant ones learn"
)
both, invariant, local, plain = METHODS["rotated"]
at_bound = np.mean([facts["at the bound"] for _, _, facts in results["rotated", invariant, 0.1]])
chosen_first = {
    method: curves["rotated", method, 0.1, CHOSEN][:, 0].mean() for method in (invariant, local)
}
bound = (
    f"at {sizes[0]} samples {at_bound:.0%} of the support vectors of {LABELS[invariant]} sit "
    f"at the bound C = 1; with C chosen by cross-validation it has "
    f"{chosen_first[invariant]:.0f} % and {LABELS[local]} {chosen_first[local]:.0f} %"
)
for kind, reason in {"translated": grows, "rotated": bound}.items():
    scores, order = order_of(kind, FIXED)
    run.claim(
        f"liu2022/figure2-{kind}",
        order=order,
        scores=scores,
        paired=True,
        data=stand_in,
        note=f"C = 1 as in the public code, noise 0.1 as in the paper's text; {reason}",
    )

# %% [markdown]
# The same comparisons, gap by gap, under both constants:

# %%
gaps = []
for kind in METHODS:
    both_orders = {constant: order_of(kind, constant) for constant in (FIXED, CHOSEN)}
    for relation in both_orders[FIXED][1]:
        greater, smaller = relation.split(" > ")
        gaps.append(
            {"data": kind, "stated": relation}
            | {
                constant: "{:+.1f} ± {:.1f}".format(*mean_se(scores[greater] - scores[smaller]))
                for constant, (scores, _) in both_orders.items()
            }
        )
run.table(
    gaps,
    "gaps",
    caption="Gaps in points, paired over repetitions; the paper states that each is positive.",
)

# %% [markdown]
# ## Try it
#
# `invariance run liu2022/transformed_mnist -p seed 1` draws other images, places and angles.
