# ---
# jupyter:
#   invariance:
#     alone: true
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # How fast is it?
#
# A fast implementation is worth having only if it computes the same numbers. So each row below
# times several implementations of *one* job, and the table says how far apart their results are:
#
# - the **definition**, transformation by transformation, as the papers print it;
# - **ours**;
# - the **best public alternative** that installs with pip: scikit-learn on the transformed data,
#   invariantkernels (GPyTorch), GeometricKernels, kymatio;
# - **ours on PyTorch tensors**, on the same core; what it does on a GPU was not measured here;
# - the **bare matrix product** of the same size: nothing that computes every inner product can be
#   faster. Where ours is, the structure of the group made some of them unnecessary.
#
# `pip install "invariance[speed]"` installs the other packages. The quick profile leaves out what
# is not installed, the full one needs all of them. CPU seconds on one core, the smallest of several
# measurements. The images are the bundled digits, 28 × 28, in single precision; the group of the
# image jobs is the 49 cyclic shifts by up to three pixels.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import time
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import scipy.special
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from invariance.companion import Run, look
from invariance.core.extras import need
from invariance.datasets import load_digits_images
from invariance.features import AngularBasis, GroupCDF, OrbitFourier, OrbitNystroem
from invariance.features.scattering import Scattering
from invariance.groups import Permutations, Translations
from invariance.kernels import Average, BestFit, Gaussian, Locality, Polynomial, TangentDistance
from invariance.spectral import SobolevKernel, Sphere, project
from invariance.theory.soleymani2025 import alpha

run = Run("compare/speed", profile=profile, seed=seed)

# %% tags=["settings"]
FULL = not run.quick
TEMPLATES = 500 if FULL else 50
BUDGET, REPEATS = (8.0, 3) if FULL else (0.1, 2)  # seconds of an implementation, timings
FEW = (50, 100, 200, 400) if FULL else (15, 30)  # points, for kernels
MANY = (100, 300, 1000) if FULL else (40, 80)  # points, for features
LEVELS = 7  # eigenspaces of the sphere

# %%
images = load_digits_images().data.reshape(-1, 784).astype(np.float32) / np.float32(255)
shifts, few_shifts = (Translations((28, 28), max_shift=k) for k in (3, 1))
elements, GAMMA = shifts.elements(), np.float32(0.01)


def optional(name, why):
    """A module; in the quick profile None where it is missing, with the reason printed."""
    try:
        return need(name, "speed")
    except ImportError as error:
        if not run.quick:
            raise
        print(f"{name} is left out ({why}): {error}")
        return None


# what kymatio 0.3.0 and GeometricKernels 0.4.1 import, and newer releases of SciPy and NumPy lack
if not hasattr(scipy.special, "sph_harm"):
    scipy.special.sph_harm = None  # images do not need it
if not hasattr(np, "trapz"):
    np.trapz = np.trapezoid  # noqa: NPY201
kymatio = optional("kymatio.numpy", "scattering")
geometric = optional("geometric_kernels.spaces", "kernels of the sphere")
invariant = optional("invariantkernels", "averaged kernel")
torch = optional("torch", "the same code on PyTorch tensors")
if torch is not None:
    torch.set_num_threads(1)
if invariant is not None:
    import gpytorch

# %% [markdown]
# ## The jobs
#
# A job is a function of the number of points that prepares everything (drawing templates, fitting:
# not timed) and returns its implementations by name: functions without arguments.


# %%
def ours(function, X):
    """Our function of the points, and of a tensor of them where there is PyTorch."""
    ways = {"ours": lambda: function(X)}
    if torch is not None:
        tensor = torch.from_numpy(X)
        ways["ours, PyTorch tensors"] = lambda: function(tensor).numpy()
    return ways


def product(rows, columns):
    """All inner products, a tile at a time, thrown away."""

    def bare():
        for i in range(0, len(rows), 512):
            for j in range(0, len(columns), 2048):
                rows[i : i + 512] @ columns[j : j + 2048].T

    return {"bare product": bare}


def moved(points, group=shifts):
    """Under every element, one after the other."""
    return group.act(group.elements(), points).reshape(-1, points.shape[1])


def one_by_one(values, X, group=shifts):
    """The mean of `values` over the elements, applied to all points in turn."""
    return lambda: sum(values(group.act([g], X)[0]) for g in group.elements()) / group.order


PUBLIC = "scikit-learn, moved points"


def at_once(values, X, n, group=shifts, reduce=np.mean):
    """The same by a public function of all transformed points."""
    return {PUBLIC: lambda: reduce(values(moved(X, group)).reshape(n, group.order, -1), axis=1)}


def of_moved_points(transform, X):
    """The mean of a public transformer's features over each point's orbit."""
    return {PUBLIC: lambda: transform(moved(X)).reshape(len(elements), len(X), -1).mean(axis=0)}


# %%
def orbit_fourier(n):
    """psi_j(x) = sqrt(2/s) mean_g cos(<omega_j, g x> + b_j)."""
    X = images[:n]
    model = OrbitFourier(shifts, TEMPLATES, gamma=float(GAMMA), random_state=seed).fit(X)
    W, b, size = model.templates_, model.phases_, np.sqrt(np.float32(2 / TEMPLATES))
    sampler = RBFSampler(gamma=float(GAMMA), n_components=TEMPLATES, random_state=seed).fit(X)
    sampler.random_weights_, sampler.random_offset_ = W.T, b
    return {
        "definition": one_by_one(lambda Z: size * np.cos(Z @ W.T + b), X),
        **ours(model.transform, X),
        **of_moved_points(sampler.transform, X),
        **product(X, moved(W)),
    }


def orbit_nystroem(n):
    """<psi(x), psi(z)> with psi = L mean_g K(Z, g x)."""
    X, landmarks = images[:n], images[-TEMPLATES:]
    model = OrbitNystroem(shifts, TEMPLATES, gamma=float(GAMMA), landmarks=landmarks).fit(X)
    norms = (landmarks**2).sum(axis=1)

    def gaussian(Z):
        squared = (Z**2).sum(axis=1)[:, None] - 2 * Z @ landmarks.T + norms
        return np.exp(-GAMMA * squared)

    mean = one_by_one(gaussian, X)
    sampler = Nystroem(gamma=float(GAMMA), n_components=TEMPLATES, random_state=seed).fit(landmarks)
    # The same landmarks and whitening as ours: scikit-learn's own keeps eigenvalues that
    # single precision does not resolve.
    sampler.components_, sampler.normalization_ = landmarks, model.whitener_
    return {
        "definition": lambda: mean() @ model.whitener_.T,
        **ours(model.transform, X),
        **of_moved_points(sampler.transform, X),
        **product(X, moved(landmarks)),
    }


# %%
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

    bare = product(X, copies.reshape(-1, 784))
    return {"definition": definition, **ours(model.transform, X), **bare}


# %%
def invariantkernels(X):
    """GPyTorch's averaged kernel, where it is installed."""
    if invariant is None:
        return {}
    rbf = gpytorch.kernels.RBFKernel()
    rbf.lengthscale = float(1 / np.sqrt(2 * GAMMA))
    tensor = torch.from_numpy(X)
    averaged = invariant.InvariantKernel(
        rbf, lambda x: torch.from_numpy(shifts.act(elements, x.numpy())), is_isotropic=True
    )

    def other():
        with torch.no_grad():
            return averaged.forward(tensor, tensor).numpy()

    return {"invariantkernels": other}


def averaged_kernel(n):
    """K(x, z) = mean_g k(x, g z)."""
    X, base = images[:n], Gaussian(float(GAMMA))
    kernel = Average(base, shifts, side="second")
    return {
        "definition": one_by_one(lambda Z: base(X, Z), X),
        "ours": lambda: kernel(X),
        **at_once(lambda Z: rbf_kernel(X, Z, gamma=float(GAMMA)), X, n),
        **invariantkernels(X),
        **product(X, moved(X)),
    }


def best_fit(n):
    """K(x, z) = max_g (1 + <x, g z> / 784)^8."""
    X, base = images[:n], Polynomial(degree=8, gamma=1 / 784)
    kernel, how = BestFit(base, shifts), dict(degree=8, gamma=1 / 784, coef0=1)
    return {
        "definition": lambda: np.max([base(X, shifts.act([g], X)[0]) for g in elements], axis=0),
        **ours(kernel, X),
        **at_once(lambda Z: polynomial_kernel(X, Z, **how), X, n, reduce=np.max),
        **product(X, moved(X)),
    }


# %%
def locality_by_windows(X, Z):
    """(1 + beta sum_w (1 + alpha <x_w, z_w>)^2)^4 with 7 x 7 windows, window by window."""
    padded = [np.pad(A.reshape(-1, 28, 28), ((0, 0), (3, 3), (3, 3))) for A in (X, Z)]
    total = np.zeros((len(X), len(Z)))
    for i, j in np.ndindex(28, 28):
        x, z = (p[:, i : i + 7, j : j + 7].reshape(len(p), -1) for p in padded)
        total += (1 + x @ z.T / 49) ** 2
    return (1 + total / 28) ** 4


def locality(n, group=None):
    """The locality kernel of Liu et al. (2022), eq. 5, or its best fit over a group."""
    X, kernel = images[:n], Locality((28, 28), 7, powers=(2, 4))
    rows = np.ones((n, 784 * 49), dtype=np.float32)  # as many products as all windows need
    kernel, times = (BestFit(kernel, group), group.order) if group else (kernel, 1)

    def definition():
        copies = group.act(group.elements(), X) if group else [X]
        return np.max([locality_by_windows(X, Z) for Z in copies], axis=0)

    bare = {"bare product": lambda: [rows @ rows.T for _ in range(times)]}
    return {"definition": definition, **ours(kernel, X), **bare}


basis = AngularBasis((28, 28)).fit(images[:1])
coefficients, circle = basis.transform(images), basis.rotations(n_nodes=64)


def circle_average(n):
    """K(x, z) = mean over 64 rotations of k(x, g z)."""
    X, base = coefficients[:n], Gaussian(float(GAMMA))
    kernel = Average(base, circle)
    return {
        "definition": one_by_one(lambda Z: base(X, Z), X, circle),
        "ours": lambda: kernel(X),
        **at_once(lambda Z: rbf_kernel(X, Z, gamma=float(GAMMA)), X, n, circle),
        **product(X, moved(X, circle)),
    }


# %%
sphere = Sphere(5).truncate(degree=LEVELS - 1)


def sobolev(n):
    """sum_k D_k^-alpha sum_l phi_kl(x) phi_kl(z) on the sphere S^4: 336 functions."""
    X, kernel = sphere.sample(n, seed), SobolevKernel(sphere, smoothness=3.0)
    weights = sphere.counts_.astype(float) ** -alpha(3.0, 4)

    def definition():
        gram = np.zeros((n, n))
        pairs = zip(sphere.evaluate(X).T, np.repeat(weights, sphere.dimensions_), strict=True)
        for values, weight in pairs:
            gram += weight * np.outer(values, values)
        return gram

    ways = {"definition": definition, "ours": lambda: kernel(X)}
    if geometric is not None:
        harmonics = geometric.Hypersphere(4).get_eigenfunctions(LEVELS)
        ways["GeometricKernels"] = lambda: harmonics.phi_product(X, X) @ weights
    features = np.ones((n, sphere.n_functions_))
    return ways | {"bare product": lambda: features @ features.T}


def scattering(n):
    """Second-order scattering, two scales and eight orientations."""
    X, model = images[:n], Scattering((28, 28), n_scales=2).fit(images[:n])
    ways = {"ours": lambda: model.transform(X)}
    if kymatio is not None:
        other = kymatio.Scattering2D(J=2, shape=(28, 28), L=8)
        ways["kymatio"] = lambda: other(X.reshape(n, 28, 28)).reshape(n, -1)
    return ways


# %%
def tangent_distance(n):
    """min over a, b of |x + T_x a - z - T_z b|, two-sided (Simard et al. 1998)."""
    X, distance = images[:n].astype(float), TangentDistance((28, 28))
    planes = distance.tangents(X)

    def definition():
        found = np.empty((n, n))
        for i, j in np.ndindex(n, n):
            both = np.concatenate([planes[i], planes[j]]).T
            moves = np.linalg.lstsq(both, X[j] - X[i], rcond=None)[0]
            found[i, j] = np.linalg.norm(X[j] - X[i] - both @ moves)
        return found

    vectors = np.concatenate([X[:, None], planes], axis=1).reshape(-1, 784)
    return {"definition": definition, "ours": lambda: distance(X), **product(vectors, vectors)}


small_sphere, letters = Sphere(5).truncate(degree=5), Permutations(5)
expansions = np.random.default_rng(seed).standard_normal((small_sphere.n_functions_, 20))


def spectral_projection(n):
    """Invariant parts of 20 expansions on the sphere S^4: mean_g f(g x), 120 permutations."""
    X = small_sphere.sample(n, seed)
    values = small_sphere.evaluate(moved(X, letters))
    return {
        "definition": one_by_one(lambda Z: small_sphere.evaluate(Z) @ expansions, X, letters),
        "ours": lambda: small_sphere.evaluate(X) @ project(expansions, small_sphere, letters),
        "bare product": lambda: values @ expansions,
    }


# %% [markdown]
# ## Measured
#
# Implementations are timed alternately. One (other than ours) that exceeds the time budget is not
# run at larger sizes. Differences are relative to the largest number. Two are too large to be
# rounding: in CDF pooling a projection may fall on either side of a threshold (one count in 49),
# and kymatio pads and subsamples in its own way.

# %%
JOBS = {
    "orbit random Fourier": (orbit_fourier, MANY),
    "orbit Nystrom": (orbit_nystroem, MANY),
    "CDF pooling": (cdf_pooling, MANY),
    "averaged kernel": (averaged_kernel, MANY),
    "best fit over shifts": (best_fit, MANY),
    "locality kernel": (locality, FEW),
    "locality kernel, best fit": (partial(locality, group=few_shifts), FEW),
    "average over rotations": (circle_average, MANY),
    "kernel of the sphere": (sobolev, MANY),
    "scattering": (scattering, MANY),
    "tangent distance": (tangent_distance, FEW),
    "spectral projection": (spectral_projection, MANY),
}


def measure(job, sizes):
    """Seconds by way and size; largest relative difference of each way's result from ours."""
    seconds, apart, slow = {}, {}, set()
    for n in sizes:
        ways = {name: way for name, way in job(n).items() if name not in slow}
        if n == sizes[0]:
            own = ways["ours"]()
            for name in ways.keys() - {"ours", "bare product"}:
                other = ways[name]()
                if other.shape == own.shape:
                    apart[name] = float(np.abs(own - other).max() / np.abs(own).max())
        seconds |= {(name, n): np.inf for name in ways}
        for _ in range(REPEATS):
            for name, way in ways.items():
                start = time.process_time()
                way()
                seconds[name, n] = min(seconds[name, n], time.process_time() - start)
        slow |= {name for name in ways if seconds[name, n] > BUDGET and name != "ours"}
    return seconds, apart


measured = {name: measure(job, sizes) for name, (job, sizes) in JOBS.items()}

# %%
rows = []
for title, (seconds, apart) in measured.items():
    for way in dict.fromkeys(name for name, _ in seconds):
        n = max(size for name, size in seconds if name == way)
        run.timing(f"{title}: {way}, n = {n}", seconds[way, n])
        if way != "ours":
            times = f"{seconds[way, n] / max(seconds['ours', n], 1e-9):.2f}"
            row = {"job": title, "way": way, "points": n, "times ours": times}
            rows.append(row | {"difference": f"{apart[way]:.0e}" if way in apart else ""})
    if title not in ("CDF pooling", "scattering"):
        assert max(apart.values()) < 2e-4, f"{title} differs from ours by {apart}"
run.table(
    rows,
    "ratios",
    caption="Time of each way as a multiple of ours, at the largest size it reached.",
)

# %%
LOOKS = {
    "definition": look("definition"),
    PUBLIC: look("augmentation"),
    "ours, PyTorch tensors": look("fast"),
    "another package": look("published"),
    "bare product": look("gemm"),
}
fig, axis = plt.subplots(figsize=(8, 5.2))
places = {title: i for i, title in enumerate(JOBS)}
for label, style in LOOKS.items():
    some = [r for r in rows if (r["way"] if r["way"] in LOOKS else "another package") == label]
    times = [max(float(row["times ours"]), 0.01) for row in some]
    at = [places[row["job"]] for row in some]
    axis.plot(times, at, linestyle="none", label=label, **style._asdict())
axis.axvline(1, color="black", linewidth=0.8)
axis.set_yticks(range(len(JOBS)), JOBS)
quicker = [r for r in rows if r["way"] != "bare product" and float(r["times ours"]) < 1]
led = len(JOBS) - len({row["job"] for row in quicker})
axis.set(
    xscale="log",
    xlabel="CPU time as a multiple of ours",
    ylim=(len(JOBS) - 0.5, -0.5),
    title=f"No other way is quicker in {led} of {len(JOBS)} jobs",
)
axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
run.figure(
    fig,
    "speed",
    caption="On one core, at the largest size that each way reached; left of the line is quicker "
    "than ours. The bare product is that of all inner products the definition needs.",
)

# %% [markdown]
# **How to read it.** Where a definition is little more than one matrix product for each
# transformation (orbit features, averaged and best-fit kernels), there is only a small factor to
# gain on one core; what the fast paths save there is memory. Structure saves time: rotations in the
# angular basis, projections from generators instead of all elements. The locality kernel's
# definition multiplies less than ours, 49 × 784 numbers per pair against 86 × 784, but makes 784
# passes over the matrix. The code for tensors computes whole transforms and products at once, which
# suits a GPU; on one core it does not use the cache as the code for NumPy does.
