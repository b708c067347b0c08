# ---
# jupyter:
#   invariance:
#     alone: true
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How fast is it?
#
# *Every hot path of the package, against its definition, the best public alternative and the bare
# matrix product.*
#
# A fast implementation is worth having only if it computes the same numbers. So each panel below
# times several implementations of *one* job, and the table below says how far apart their results
# are:
#
# - the **definition**, transformation by transformation, as the papers print it;
# - **ours**;
# - the **best public alternative** that installs from PyPI and does the same job: scikit-learn's
#   samplers and kernels on the transformed data, invariantkernels (GPyTorch), GeometricKernels,
#   kymatio;
# - **ours on PyTorch tensors**, on the same core: the same code through the array API standard.
#   What it does on a GPU was not measured here;
# - the **bare matrix product** of the same size: nothing that computes every inner product can be
#   faster. Where ours is, the structure of the group made some of them unnecessary.
#
# `pip install "invariance[speed]"` installs the last packages named. The quick profile leaves out
# what is not installed, and says so; the full one needs all of them. CPU seconds on one core, the
# smallest of several measurements, taken alternately. The images are the bundled digits, 28 × 28,
# in single precision; the group of the image panels is the 49 cyclic shifts by up to three
# pixels.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import importlib
import time
from importlib.metadata import version
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from invariance.companion import Run, colour, marker
from invariance.datasets import load_digits_images
from invariance.features import AngularBasis, GroupCDF, OrbitFourier, OrbitNystroem
from invariance.features.scattering import Scattering
from invariance.groups import Permutations, Translations
from invariance.kernels import Average, BestFit, Gaussian, Locality, Polynomial, TangentDistance
from invariance.spectral import SobolevKernel, Sphere, project
from invariance.theory.soleymani2025 import alpha

run = Run("compare/speed", profile=profile, seed=seed)

# %%
FULL = not run.quick
TEMPLATES = 500 if FULL else 50
BUDGET, REPEATS = (8.0, 3) if FULL else (0.1, 2)  # seconds of an implementation, timings
FEW = (50, 100, 200, 400) if FULL else (15, 30)  # points, for kernels
MANY = (100, 300, 1000) if FULL else (40, 80)  # points, for features

# %%
images = load_digits_images().data.reshape(-1, 784).astype(np.float32) / np.float32(255)
shifts = Translations((28, 28), max_shift=3)
elements = shifts.elements()
GAMMA = np.float32(0.01)


def optional(name, why):
    """A module; in the quick profile None where it is missing, with the reason printed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if not run.quick:
            raise ImportError(
                f'{name} is missing ({why}); pip install "invariance[speed]"'
            ) from error
        print(f"{name} is left out ({why}): {error}")
        return None


# kymatio 0.3.0 and GeometricKernels 0.4.1 import functions that newer releases of SciPy and NumPy
# no longer have.
import scipy.special

if not hasattr(scipy.special, "sph_harm"):
    scipy.special.sph_harm = None  # images do not need it
if not hasattr(np, "trapz"):
    np.trapz = np.trapezoid  # noqa: NPY201
kymatio = optional("kymatio.numpy", "scattering")
geometric = optional("geometric_kernels.spaces", "kernels of the sphere")
invariant = optional("invariantkernels", "averaged kernel")
torch = optional("torch", "the same code on PyTorch tensors")
run.table(
    [
        {"package": name, "version": version(name)}
        for name in (
            "scikit-learn",
            "kymatio",
            "geometric_kernels",
            "invariantkernels",
            "gpytorch",
            "torch",
        )
        if find_spec(name.replace("scikit-learn", "sklearn"))
    ],
    "versions",
    caption="Packages compared with.",
)
if torch is not None:
    torch.set_num_threads(1)
if invariant is not None:
    import gpytorch


def of_tensors(function, X):
    """Our function on the tensor of the points, where there is PyTorch."""
    if torch is None:
        return {}
    tensor = torch.from_numpy(X)
    return {"ours, PyTorch tensors": lambda: function(tensor).numpy()}


# %% [markdown]
# ## The jobs
#
# A job is a function of the number of points that prepares everything and returns its
# implementations by name: functions without arguments. The preparation (drawing templates, fitting)
# is not timed; transforming templates or points is, where an implementation does so at each call.


# %%
def blocked_product(rows, columns):
    """All inner products, a tile at a time, thrown away."""

    def product():
        for i in range(0, len(rows), 512):
            for j in range(0, len(columns), 2048):
                rows[i : i + 512] @ columns[j : j + 2048].T

    return product


def orbit_fourier(n):
    """psi_j(x) = sqrt(2/s) mean_g cos(<omega_j, g x> + b_j)."""
    X = images[:n]
    model = OrbitFourier(shifts, TEMPLATES, gamma=float(GAMMA), random_state=seed).fit(X)
    W, b = model.templates_, model.phases_

    def definition():
        total = np.zeros((n, TEMPLATES), dtype=X.dtype)
        for g in elements:
            total += np.cos(shifts.act(g[None], X)[0] @ W.T + b)
        return np.sqrt(np.float32(2 / TEMPLATES)) * total / len(elements)

    sampler = RBFSampler(gamma=float(GAMMA), n_components=TEMPLATES, random_state=seed).fit(X)
    sampler.random_weights_, sampler.random_offset_ = W.T, b

    def public():
        moved = shifts.act(elements, X).reshape(-1, 784)
        return sampler.transform(moved).reshape(len(elements), n, -1).mean(axis=0)

    copies = shifts.act(elements, W).reshape(-1, 784)
    return {
        "definition": definition,
        "ours": lambda: model.transform(X),
        **of_tensors(model.transform, X),
        "scikit-learn, moved points": public,
        "bare product": blocked_product(X, copies),
    }


# %%
def orbit_nystroem(n):
    """<psi(x), psi(z)> with psi = L mean_g K(Z, g x)."""
    X = images[:n]
    landmarks = images[-TEMPLATES:]
    model = OrbitNystroem(shifts, TEMPLATES, gamma=float(GAMMA), landmarks=landmarks).fit(X)

    def definition():
        total = np.zeros((n, TEMPLATES), dtype=X.dtype)
        for g in elements:
            moved = shifts.act(g[None], X)[0]
            squared = (
                (moved**2).sum(axis=1)[:, None]
                - 2 * moved @ landmarks.T
                + (landmarks**2).sum(axis=1)
            )
            total += np.exp(-GAMMA * squared)
        return total / len(elements) @ model.whitener_.T

    sampler = Nystroem(gamma=float(GAMMA), n_components=TEMPLATES, random_state=seed).fit(landmarks)
    # The same landmarks and whitening as ours: scikit-learn's own keeps eigenvalues that
    # single precision does not resolve.
    sampler.components_, sampler.normalization_ = landmarks, model.whitener_

    def public():
        moved = shifts.act(elements, X).reshape(-1, 784)
        return sampler.transform(moved).reshape(len(elements), n, -1).mean(axis=0)

    copies = shifts.act(elements, landmarks).reshape(-1, 784)
    return {
        "definition": definition,
        "ours": lambda: model.transform(X),
        **of_tensors(model.transform, X),
        "scikit-learn, moved points": public,
        "bare product": blocked_product(X, copies),
    }


def cdf_pooling(n):
    """phi_jk(x) = sqrt(s / (n m)) mean_g 1[<g t_j, x> <= s k / n]."""
    X = images[:n]
    model = GroupCDF(shifts, TEMPLATES, n_bins=25, s="data", random_state=seed).fit(X)
    copies = np.ascontiguousarray(shifts.act(elements, model.templates_).swapaxes(0, 1))
    thresholds = model.s_ * np.arange(-25, 26) / 25

    def definition():
        shares = np.empty((n, TEMPLATES, 51), dtype=X.dtype)
        for j, copy in enumerate(copies):
            products = X @ copy.T
            for k, threshold in enumerate(thresholds):
                shares[:, j, k] = np.mean(products <= threshold, axis=1)
        return np.sqrt(model.s_ / (25 * TEMPLATES)) * shares.reshape(n, -1)

    return {
        "definition": definition,
        "ours": lambda: model.transform(X),
        **of_tensors(model.transform, X),
        "bare product": blocked_product(X, copies.reshape(-1, 784)),
    }


# %%
def averaged_kernel(n):
    """K(x, z) = mean_g k(x, g z)."""
    X = images[:n]
    kernel = Average(Gaussian(float(GAMMA)), shifts, side="second")
    base = Gaussian(float(GAMMA))
    copies = shifts.act(elements, X).reshape(-1, 784)

    def definition():
        return sum(base(X, shifts.act(g[None], X)[0]) for g in elements) / len(elements)

    def public():
        moved = shifts.act(elements, X).reshape(-1, 784)
        return rbf_kernel(X, moved, gamma=float(GAMMA)).reshape(n, len(elements), n).mean(axis=1)

    ways = {
        "definition": definition,
        "ours": lambda: kernel(X),
        "scikit-learn, moved points": public,
    }
    if invariant is not None:
        rbf = gpytorch.kernels.RBFKernel()
        rbf.lengthscale = float(1 / np.sqrt(2 * GAMMA))
        tensor = torch.from_numpy(X)
        averaged = invariant.InvariantKernel(
            rbf, lambda x: torch.from_numpy(shifts.act(elements, x.numpy())), is_isotropic=True
        )

        def other():
            with torch.no_grad():
                return averaged.forward(tensor, tensor).numpy()

        ways["invariantkernels"] = other
    return ways | {"bare product": blocked_product(X, copies)}


def best_fit(n):
    """K(x, z) = max_g (1 + <x, g z> / 784)^8."""
    X = images[:n]
    base = Polynomial(degree=8, gamma=1 / 784)
    kernel = BestFit(base, shifts)

    def definition():
        values = [base(X, shifts.act(g[None], X)[0]) for g in elements]
        return np.max(values, axis=0)

    def public():
        moved = shifts.act(elements, X).reshape(-1, 784)
        values = polynomial_kernel(X, moved, degree=8, gamma=1 / 784, coef0=1)
        return values.reshape(n, len(elements), n).max(axis=1)

    copies = shifts.act(elements, X).reshape(-1, 784)
    return {
        "definition": definition,
        "ours": lambda: kernel(X),
        **of_tensors(kernel, X),
        "scikit-learn, moved points": public,
        "bare product": blocked_product(X, copies),
    }


# %%
def locality_by_windows(X, Z):
    """(1 + beta sum_w (1 + alpha <x_w, z_w>)^2)^4 with 7 x 7 windows, window by window."""
    padded = [np.pad(A.reshape(-1, 28, 28), ((0, 0), (3, 3), (3, 3))) for A in (X, Z)]
    total = np.zeros((len(X), len(Z)))
    for row in range(28):
        for column in range(28):
            x, z = (p[:, row : row + 7, column : column + 7].reshape(len(p), -1) for p in padded)
            total += (1 + x @ z.T / 49) ** 2
    return (1 + total / 28) ** 4


def window_products(n):
    """As many multiplications as all windows of all pairs need, in one product."""
    rows = np.ones((n, 784 * 49), dtype=np.float32)
    return lambda: rows @ rows.T


def locality(n):
    """The locality kernel of Liu et al. (2022), eq. 5."""
    X = images[:n]
    kernel = Locality((28, 28), 7, powers=(2, 4))
    return {
        "definition": lambda: locality_by_windows(X, X),
        "ours": lambda: kernel(X),
        **of_tensors(kernel, X),
        "bare product": window_products(n),
    }


few_shifts = Translations((28, 28), max_shift=1)


def locality_best_fit(n):
    """The same at its best fit over the nine shifts by up to one pixel."""
    X = images[:n]
    kernel = BestFit(Locality((28, 28), 7, powers=(2, 4)), few_shifts)

    def definition():
        nine = few_shifts.elements()
        return np.max([locality_by_windows(X, few_shifts.act(g[None], X)[0]) for g in nine], axis=0)

    one = window_products(n)
    return {
        "definition": definition,
        "ours": lambda: kernel(X),
        **of_tensors(kernel, X),
        "bare product": lambda: [one() for _ in range(9)],
    }


basis = AngularBasis((28, 28)).fit(images[:1])
coefficients = basis.transform(images)
circle = basis.rotations(n_nodes=64)


# %%
def circle_average(n):
    """K(x, z) = mean over 64 rotations of k(x, g z)."""
    X = coefficients[:n]
    base = Gaussian(float(GAMMA))
    kernel = Average(base, circle)

    def definition():
        return sum(base(X, circle.act([angle], X)[0]) for angle in circle.elements()) / 64

    def public():
        moved = circle.act(circle.elements(), X).reshape(-1, X.shape[1])
        return rbf_kernel(X, moved, gamma=float(GAMMA)).reshape(n, 64, n).mean(axis=1)

    copies = circle.act(circle.elements(), X).reshape(-1, X.shape[1])
    return {
        "definition": definition,
        "ours": lambda: kernel(X),
        "scikit-learn, moved points": public,
        "bare product": blocked_product(X, copies),
    }


LEVELS = 7
sphere = Sphere(5).truncate(degree=LEVELS - 1)


def sobolev(n):
    """sum_k D_k^-alpha sum_l phi_kl(x) phi_kl(z) on the sphere S^4: 336 functions."""
    X = sphere.sample(n, seed)
    kernel = SobolevKernel(sphere, smoothness=3.0)
    weights = sphere.counts_.astype(float) ** -alpha(3.0, 4)

    def definition():
        values = sphere.evaluate(X)
        places = np.cumsum([0, *sphere.dimensions_])
        gram = np.zeros((n, n))
        for weight, start, stop in zip(weights, places[:-1], places[1:], strict=True):
            for k in range(start, stop):
                gram += weight * np.outer(values[:, k], values[:, k])
        return gram

    ways = {"definition": definition, "ours": lambda: kernel(X)}
    if geometric is not None:
        harmonics = geometric.Hypersphere(4).get_eigenfunctions(LEVELS)
        ways["GeometricKernels"] = lambda: harmonics.phi_product(X, X) @ weights
    features = np.ones((n, sphere.n_functions_))
    return ways | {"bare product": lambda: features @ features.T}


# %%
def scattering(n):
    """Second-order scattering, two scales and eight orientations."""
    X = images[:n]
    model = Scattering((28, 28), n_scales=2).fit(X)
    ways = {"ours": lambda: model.transform(X)}
    if kymatio is not None:
        other = kymatio.Scattering2D(J=2, shape=(28, 28), L=8)
        ways["kymatio"] = lambda: other(X.reshape(n, 28, 28)).reshape(n, -1)
    return ways


def tangent_distance(n):
    """min over a, b of |x + T_x a - z - T_z b|, two-sided (Simard et al. 1998)."""
    X = images[:n].astype(float)
    distance = TangentDistance((28, 28))
    planes = distance.tangents(X)

    def definition():
        found = np.empty((n, n))
        for i in range(n):
            for j in range(n):
                both = np.concatenate([planes[i], planes[j]]).T
                moves = np.linalg.lstsq(both, X[j] - X[i], rcond=None)[0]
                found[i, j] = np.linalg.norm(X[j] - X[i] - both @ moves)
        return found

    vectors = np.concatenate([X[:, None], planes], axis=1).reshape(-1, 784)
    return {
        "definition": definition,
        "ours": lambda: distance(X),
        "bare product": blocked_product(vectors, vectors),
    }


small_sphere, letters = Sphere(5).truncate(degree=5), Permutations(5)
expansions = np.random.default_rng(seed).standard_normal((small_sphere.n_functions_, 20))


def spectral_projection(n):
    """Invariant parts of 20 expansions on the sphere S^4: mean_g f(g x), 120 permutations."""
    X = small_sphere.sample(n, seed)
    moved = letters.act(letters.elements(), X).reshape(-1, 5)

    def definition():
        return (
            sum(
                small_sphere.evaluate(letters.act(g[None], X)[0]) @ expansions
                for g in letters.elements()
            )
            / letters.order
        )

    def ours():
        return small_sphere.evaluate(X) @ project(expansions, small_sphere, letters)

    values = small_sphere.evaluate(moved)
    return {"definition": definition, "ours": ours, "bare product": lambda: values @ expansions}


# %% [markdown]
# ## Measured
#
# Implementations are timed alternately. One (other than ours) that exceeds the time budget at some
# size is not run at larger ones.

# %%
JOBS = {
    "orbit random Fourier": (orbit_fourier, MANY),
    "orbit Nystrom": (orbit_nystroem, MANY),
    "CDF pooling": (cdf_pooling, MANY),
    "averaged kernel": (averaged_kernel, MANY),
    "best fit over shifts": (best_fit, MANY),
    "locality kernel": (locality, FEW),
    "locality kernel, best fit": (locality_best_fit, FEW),
    "average over rotations": (circle_average, MANY),
    "kernel of the sphere": (sobolev, MANY),
    "scattering": (scattering, MANY),
    "tangent distance": (tangent_distance, FEW),
    "spectral projection": (spectral_projection, MANY),
}


def measure(job, sizes):
    """Seconds by way and size; largest relative difference of each way's result from ours."""
    seconds, apart = {}, {}
    slow = set()
    for n in sizes:
        ways = {name: way for name, way in job(n).items() if name not in slow}
        if n == sizes[0]:
            results = {name: way() for name, way in ways.items() if name != "bare product"}
            apart = compared(results)
        for name in ways:
            seconds[name, n] = np.inf
        for _ in range(REPEATS):
            for name, way in ways.items():
                start = time.process_time()
                way()
                seconds[name, n] = min(seconds[name, n], time.process_time() - start)
        slow |= {name for name in ways if seconds[name, n] > BUDGET and name != "ours"}
    return seconds, apart


def compared(results):
    """Relative differences from ours."""
    ours = results["ours"]
    found = {}
    for name, other in results.items():
        if name == "ours":
            continue
        found[name] = (
            np.nan
            if ours.shape != other.shape
            else float(np.abs(ours - other).max() / np.abs(ours).max())
        )
    return found


measured = {name: measure(job, sizes) for name, (job, sizes) in JOBS.items()}

# %%
LOOKS = {
    "definition": "definition",
    "ours": "fast",
    "ours, PyTorch tensors": "fast",
    "scikit-learn, moved points": "augmentation",
    "invariantkernels": "published",
    "GeometricKernels": "published",
    "kymatio": "published",
    "bare product": "gemm",
}
LINES = {"bare product": ":", "ours, PyTorch tensors": "--"}
fig, axes = plt.subplots(3, 4, figsize=(13, 9.6))
for axis, (title, (seconds, _)) in zip(axes.ravel(), measured.items(), strict=True):
    for way in dict.fromkeys(name for name, _ in seconds):
        sizes = [n for name, n in seconds if name == way]
        axis.plot(
            sizes,
            [max(seconds[way, n], 1e-5) for n in sizes],
            label=way,
            color=colour(LOOKS[way]),
            marker=marker(LOOKS[way]),
            linestyle=LINES.get(way, "-"),
        )
    ticks = JOBS[title][1]
    most = max(n for way, n in seconds if way == "ours")
    others = {way: t for (way, n), t in seconds.items() if n == most and way != "bare product"}
    quickest = min(others, key=others.get)
    axis.set(xscale="log", yscale="log", title=f"{title}:\n{quickest} is quickest")
    axis.set_xticks(ticks, [f"{n:,}" for n in ticks])
    axis.xaxis.set_minor_locator(plt.NullLocator())
    axis.yaxis.set_minor_formatter(plt.NullFormatter())
for axis in axes[:, 0]:
    axis.set_ylabel("CPU seconds on one core")
for axis in axes[-1]:
    axis.set_xlabel("points")
leads = sum(axis.get_title().endswith(":\nours is quickest") for axis in axes.ravel())
lines = {line.get_label(): line for axis in axes.ravel() for line in axis.lines}
fig.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=len(lines))
run.figure(
    fig,
    "speed",
    alt="Twelve panels of CPU seconds against the number of points, on logarithmic axes: the "
    "definition, the package on NumPy arrays and on PyTorch tensors, public alternatives, and "
    "a dotted line for the bare matrix product. At the largest size the package on NumPy arrays is "
    f"the quickest in {leads} of {len(measured)}.",
    caption="Lines end where a way took longer than the budget. The bare product is that of all "
    "inner products the definition needs.",
)

# %% [markdown]
# ## Ratios, and do they agree?
#
# At the largest size that both reached. Differences are relative to the largest number. Two are too
# large to be rounding: a projection on a threshold to the last bit of single precision falls on
# either side in CDF pooling (one count in 49); and kymatio's scattering pads and subsamples in
# its own way, so that its numbers are comparable and not equal.

# %%
rows = []
for title, (seconds, apart) in measured.items():
    for way in dict.fromkeys(name for name, _ in seconds):
        n = max(size for name, size in seconds if name == way)
        if way == "ours":
            continue
        rows.append(
            {
                "job": title,
                "way": way,
                "points": n,
                "times ours": f"{seconds[way, n] / max(seconds['ours', n], 1e-9):.2f}",
                "difference": f"{apart[way]:.0e}" if np.isfinite(apart.get(way, np.nan)) else "",
            }
        )
        run.timing(f"{title}: {way}, n = {n}", seconds[way, n])
    n = max(size for name, size in seconds if name == "ours")
    run.timing(f"{title}: ours, n = {n}", seconds["ours", n])
run.table(
    rows,
    "ratios",
    caption="Time of each way as a multiple of ours, at the largest size it reached.",
)
for title, (_, apart) in measured.items():
    for way, difference in apart.items():
        if np.isfinite(difference) and title not in ("CDF pooling", "scattering"):
            assert difference < 2e-4, f"{title}: {way} differs from ours by {difference:.1e}"

# %% [markdown]
# Where something other than the bare product is faster than ours at the largest size that it
# reached:

# %%
quicker = [row for row in rows if row["way"] != "bare product" and float(row["times ours"]) < 1]
for row in quicker:
    run.say(
        "{job}: {way}, {share} of our time at {points:,} points.",
        job=row["job"],
        way=row["way"],
        share=row["times ours"],
        points=row["points"],
    )
if not quicker:
    run.say("Nowhere.")

# %% [markdown]
# **What it shows.** Where a definition is little more than one matrix product for each
# transformation, and single precision is used by all (orbit features, averaged and best-fit
# kernels), there is only a small factor to gain on one core; what the fast paths save there is
# memory. Structure saves time where there is some: rotations in the angular basis, projections from
# generators instead of all elements. The locality kernel's definition
# multiplies less than ours, 49 × 784 numbers per pair against 86 × 784, but makes 784 passes over
# the matrix where ours makes one product: the two take about as long, and only the best fit over
# shifts gains. The code for tensors makes whole transforms and products at once, which suits a
# GPU; on one core it does not use the cache as the code for NumPy does. The difference is largest
# for the best fit, where it inverts the whole transform and not only at the wanted shifts.
