# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Example 5.2: all permutations of thirty coordinates, from two generators
#
# *Soleymani, Tahmasebi, Jegelka and Jaillet (2025), Example 5.2.*
#
# On the sphere $S^{d-1}$ let a function depend on a point's coordinates but not on their order.
# The group is $S_d$ with $d!$ elements: 120 for $d = 5$, and $2.7 \cdot 10^{32}$ for $d = 30$. But two
# elements generate it, the swap $(1\,2)$ and the cycle $(1\,2\,\dots\,d)$, and two linear constraints
# per eigenspace are enough for spectral averaging. It is invariant up to rounding for every $d$ that we
# try, in seconds; kernel ridge regression, sampled averages and augmentation are not.
#
# Eigenspace $k$ of the Laplacian on the sphere holds the harmonic homogeneous polynomials of degree
# $k$, of dimension $\binom{d+k-1}{k} - \binom{d+k-3}{k-2}$. How is $D^\lambda(g)$ computed? A
# permutation of coordinates permutes *monomials*. With $x^a / \sqrt{a!}$ as an orthonormal frame
# (Fischer's inner product) the harmonic polynomials are an invariant subspace, so one may average over
# the orbits of monomials, connected components of a graph with two edges per monomial.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0
noise: float = 0.1  # standard deviation of the samples
degree: int = 3  # of the polynomials that spectral averaging keeps

# %%
import math
import time

import matplotlib.pyplot as plt
import numpy as np
from _sphere import draw, fitted_models, target
from sklearn.kernel_ridge import KernelRidge

from invariance import spectral
from invariance.companion import Run, colour, label_ends, panel
from invariance.groups import Permutations
from invariance.kernels import Average, Gaussian
from invariance.spectral import SpectralAveraging, Sphere

run = Run(
    "soleymani2025/sphere_permutations", profile=profile, seed=seed, noise=noise, degree=degree
)

# %% [markdown]
# The exact average has fewer training points than spectral averaging (200 and 1,000), which is in its
# favour. In the full profile it ends at seven coordinates, with 5,040 permutations.

# %% tags=["settings"]
if run.quick:
    spectral_dimensions = [3, 5, 8, 12, 20, 30]  # of the cost of spectral averaging
    averaged_dimensions = [3, 4, 5]  # of the cost of the exact average
    compared_dimensions = [5, 12]  # of the comparison of all methods
    n_repetitions = 2
    n_compared = 150  # training points of the comparison
    n_sampled = 4  # random permutations of a sampled average
else:
    spectral_dimensions = [3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 30, 40, 50]
    averaged_dimensions = [3, 4, 5, 6, 7]
    compared_dimensions = [5, 10, 20, 30]
    n_repetitions = 6
    n_compared = 1000
    n_sampled = 8
n_spectral = 1000  # training points of the cost of spectral averaging
n_averaged = 200  # training points of the cost of the exact average

# %% [markdown]
# ## The cost over $d$, beside $d!$
#
# We time all of Spec-Avg, from empty tables to the prediction of 1,000 points. The exact kernel average
# is timed if the group can be listed, on 200 points, and extrapolated by $d!$ beyond. Processor seconds are
# counted, which other programs on the machine hardly change.


# %%
def fit_spectral(d, X, y, Z):
    """Fit spectral averaging and predict; return the model."""
    model = SpectralAveraging(Sphere(d), Permutations(d), degree=degree, estimator="ridge")
    model.fit(X, y).predict(Z)
    return model


def fit_averaged(d, X, y, Z):
    """Fit kernel ridge regression with the kernel's exact average, and predict."""
    kernel = Average(Gaussian(gamma=1.0), Permutations(d))
    return KernelRidge(kernel=kernel, alpha=1e-2).fit(X, y).predict(Z[:n_averaged])


# %%
def seconds_of(work, *arguments):
    """Processor seconds of a call, and its result."""
    start = time.process_time()
    result = work(*arguments)
    return time.process_time() - start, result


# %% [markdown]
# Spectral averaging, in up to fifty dimensions in the full profile. The discrepancy of each fitted model
# is measured at 100 test points, under the generators, random elements and random words in them.

# %%
spectral_seconds = []
gaps = []
for d in spectral_dimensions:
    X, y, Z = draw(d, n_spectral, noise, seed)
    duration, model = seconds_of(fit_spectral, d, X, y, Z)
    spectral_seconds.append(duration)
    gaps.append(model.discrepancy(Z[:100], n_elements=50))
    run.timing(f"spec-avg, degree {degree}, d={d}", duration)
    if d == 30:
        run.say(
            "In thirty dimensions {invariant} of {all:,} functions are symmetric.",
            invariant=model.invariant_dimensions_.sum(),
            all=model.basis_.n_functions_,
        )

# %% [markdown]
# The exact average, in the dimensions in which all $d!$ permutations can be listed:

# %%
averaged_seconds = []
for d in averaged_dimensions:
    X, y, Z = draw(d, n_averaged, noise, seed)
    duration, _ = seconds_of(fit_averaged, d, X, y, Z)
    averaged_seconds.append(duration)
    run.timing(f"exact kernel average, d={d}, {n_averaged} points", duration)

# %% [markdown]
# The time of the average is extrapolated from the last dimension in which it was measured.

# %%
further_dimensions = np.arange(averaged_dimensions[-1], 31)
factorials = np.array([float(math.factorial(d)) for d in further_dimensions.tolist()])
extrapolated = averaged_seconds[-1] * factorials / factorials[0]
figure, axis = plt.subplots()
panel(
    axis,
    spectral_dimensions,
    {
        f"Spec-Avg, n = {n_spectral:,}": ("spec-avg-ridge", spectral_seconds),
        f"all d! elements, n = {n_averaged}": (
            "krr-average",
            averaged_seconds,
            {"x": averaged_dimensions},
        ),
        "extrapolated": (
            "krr-average",
            extrapolated,
            {"x": further_dimensions, "ls": "--", "marker": ""},
        ),
    },
    log="y",
    ends=None,
    xlabel="number d of coordinates",
    ylabel="processor seconds to fit and predict",
    title=f"All permutations of {spectral_dimensions[-1]} coordinates take {spectral_seconds[-1]:.1g} s",
)
axis.axhline(4.35e17, linestyle=":", color=colour("raw"), label="age of the universe")
axis.legend()
run.figure(figure, "cost", caption="Fit and prediction. Dashed: extrapolated by d!.")

# %% [markdown]
# ## The alternatives: errors and discrepancies
#
# Kernel ridge regression with a Gaussian kernel (bandwidth and penalty by cross-validation), and
# four ways of making it aware of the group: the exact average (if $d! \le 120$), the average
# over a few random permutations on both sides, training on random copies, and sorting the
# coordinates first, which is exactly invariant too, but with a kink at points with two equal
# coordinates. Spectral averaging comes with the published mean and with ridge, also at one degree more.
#
# All models of one repetition see the same training points (`fitted_models` in `_sphere.py`). We record
# the test error and the largest change of the predictions under random permutations, relative to the
# largest prediction. Augmentation adds two permuted copies of each point, so that it has three times as
# many points to fit.


# %%
@run.cache
def compare(d, n, repetition, n_sampled, noise, degree):
    """Test error and relative discrepancy of each method."""
    X, y, Z = draw(d, n, noise, 200 + repetition)
    models = fitted_models(d, X, y, degree=degree, n_sampled=n_sampled, random_state=repetition)
    results = {}
    for name, model in models.items():
        gap = spectral.invariance_discrepancy(
            model.predict, Permutations(d), Z[:20], n_elements=10, relative=True
        )
        squared_error = np.mean((model.predict(Z) - target(Z)) ** 2)
        results[name] = {"error": float(squared_error), "gap": float(gap)}
    return results


# %%
results = {}
for d in compared_dimensions:
    results[d] = [
        compare(d, n_compared, repetition, n_sampled, noise, degree)
        for repetition in range(n_repetitions)
    ]


# %% [markdown]
# The exact average is missing in high dimensions, so that its curve ends early. Discrepancies are the
# worst over repetitions, and errors are means.


# %%
def gather(method, quantity):
    """Errors or gaps of a method, shape (repetitions, dimensions in which it was fitted)."""
    columns = []
    for repetitions in results.values():
        if method in repetitions[0]:
            columns.append([by_method[method][quantity] for by_method in repetitions])
    return np.array(columns).T


# %% [markdown]
# Sorting is drawn in both panels of errors as a reference, since it is a kernel method and invariant.

# %%
NAMES = {
    "krr": "kernel ridge",
    "krr-sampled": "sampled average",
    "augmentation": "augmentation",
    "sorted": "sorted coordinates",
    "krr-average": "exact average",
    "spec-avg": "Spec-Avg",
    "spec-avg-ridge": "Spec-Avg, ridge",
    "spec-avg-ridge, a degree more": "ridge, a degree more",
}
KERNELS = ("krr", "krr-sampled", "augmentation", "sorted", "krr-average")
SPECTRAL = ("sorted", "spec-avg", "spec-avg-ridge", "spec-avg-ridge, a degree more")
EVERYWHERE = ("krr", "krr-sampled", "augmentation", "sorted", "spec-avg", "spec-avg-ridge")
# Exact zeros are drawn where rounding begins.
worst_gaps = {name: np.maximum(gather(name, "gap").max(axis=0), 1e-17) for name in EVERYWHERE}
last_errors = {name: gather(name, "error")[:, -1].mean() for name in (*EVERYWHERE, SPECTRAL[-1])}
n_exact = sum(gap[-1] < 1e-12 for gap in worst_gaps.values())

# %% [markdown]
# Three panels: test errors of the kernel methods, of the invariant methods, and discrepancies of both.


# %%
def draw_panel(axis, curves, title):
    """Draw one quantity of several methods over the dimensions."""
    LOOKS = {"krr-sampled": "local", "spec-avg-ridge, a degree more": "spec-avg-least-squares"}
    panel(
        axis,
        compared_dimensions,
        {NAMES[name]: (LOOKS.get(name, name), values) for name, values in curves.items()},
        log="y",
        ends=None,
        xlabel="coordinates d",
        title=title,
    )


# %%
figure, places = plt.subplot_mosaic([["kernels", "spectral"], ["gaps", "gaps"]], figsize=(9, 8))
axes = [places["kernels"], places["spectral"], places["gaps"]]
axes[1].sharey(axes[0])
draw_panel(
    axes[0],
    {name: gather(name, "error") for name in KERNELS},
    f"Sorting divides the kernel's error by {last_errors['krr'] / last_errors['sorted']:.1f}",
)
draw_panel(
    axes[1],
    {name: gather(name, "error") for name in SPECTRAL},
    f"Spec-Avg of degree {degree + 1} divides it by "
    f"{last_errors['krr'] / last_errors[SPECTRAL[-1]]:.1f}",
)
invariant = f"{n_exact} of {len(EVERYWHERE)} methods are invariant up to rounding"
draw_panel(axes[2], worst_gaps, invariant)
axes[0].set_ylabel("mean squared test error")
axes[2].set_ylabel("relative invariance discrepancy")
for axis in axes:  # once all limits are known
    label_ends(axis, room=0.75 if axis is not places["gaps"] else 0.3)
caption = f"n = {n_compared}. Sampled averages use {n_sampled} random permutations on both sides."
run.figure(figure, "comparison", caption=caption)

# %% [markdown]
# The claim compares discrepancies in those dimensions in which the $d!$ elements are out of reach.

# %% tags=["claims"]
largest = compared_dimensions[-1]
order = []
scores = {}
for d in compared_dimensions:
    if d >= 10:
        for name in ("krr", "krr-sampled", "augmentation", "spec-avg"):
            scores[f"{name} at {d}"] = np.array([r[name]["gap"] for r in results[d]])
        for name in ("krr", "krr-sampled", "augmentation"):
            order.append(f"{name} at {d} > spec-avg at {d}")
test_errors = ", ".join(
    f"{name} {last_errors[name]:.3g}" for name in ("krr", "sorted", "spec-avg", "spec-avg-ridge")
)
run.claim(
    "soleymani2025/example5.2",
    order=order,
    scores=scores,
    paired=True,
    note=f"relative discrepancy at d = {largest}, where d! = "
    f"{float(math.factorial(largest)):.1e}; from d = "
    f"{spectral_dimensions[0]} to {spectral_dimensions[-1]} that of Spec-Avg is at most "
    f"{max(gaps):.0e}. Test errors: {test_errors}",
)

# %% [markdown]
# ## Try it
#
# `invariance run soleymani2025/sphere_permutations -p degree 2`: fewer functions, and a bias.
