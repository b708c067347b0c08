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
# the **definition**, transformation by transformation; **ours**; the **best public alternative**
# that installs with pip; and the **floor**, for most the matrix product of the same size: nothing
# that computes every inner product can be faster. Where ours is, the structure of the group made
# some of them unnecessary.
#
# `pip install ".[speed]"` installs the other packages. The quick profile leaves out what
# is not installed, the full one needs all of them. Seconds on one core, the smallest of several
# measurements. The images are the bundled digits, 28 × 28, in single precision; the group of the
# image jobs is the 49 cyclic shifts by up to three pixels.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import time
from functools import partial
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
import scipy.special
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from invariance import beyond, features, groups, kernels, linear, spectral
from invariance.companion import Run, look
from invariance.core.extras import need
from invariance.datasets import load_digits_images
from invariance.features.orbit_fourier import cosine
from invariance.kernels import Average, BestFit, Gaussian, Polynomial
from invariance.theory.soleymani2025 import alpha

run = Run("compare/speed", profile=profile, seed=seed)

# %% tags=["settings"]
FULL = not run.quick
TEMPLATES = 500 if FULL else 50
BUDGET, REPEATS = (8.0, 3) if FULL else (0.1, 2)  # seconds of an implementation, timings
FEW = (50, 100, 200, 400) if FULL else (15, 30)  # points, for kernels
MANY = (100, 300, 1000) if FULL else (40, 80)  # points, for features
SIZE = 1000 if FULL else 60  # points, for single operations

# %%
images = load_digits_images().data.reshape(-1, 784).astype(np.float32) / np.float32(255)
shifts, few_shifts = (groups.Translations((28, 28), max_shift=k) for k in (3, 1))
turns = groups.Rotations((28, 28), degrees=range(-10, 10))
elements, GAMMA = shifts.elements(), 0.01
rng = np.random.default_rng(seed)
photos = rng.random((SIZE // 5, 64 * 64), dtype=np.float32)


def optional(name):
    """A module; in the quick profile None where it is not installed."""
    return need(name, "speed") if FULL or find_spec(name.split(".")[0]) else None


# what kymatio 0.3.0 and GeometricKernels 0.4.1 import, and newer releases of SciPy and NumPy lack
if not hasattr(scipy.special, "sph_harm"):
    scipy.special.sph_harm = None  # images do not need it
if not hasattr(np, "trapz"):
    np.trapz = np.trapezoid  # noqa: NPY201
kymatio, geometric = optional("kymatio.numpy"), optional("geometric_kernels.spaces")
invariant, torch = optional("invariantkernels"), optional("torch")
if torch is not None:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
if invariant is not None:
    import gpytorch

# %% [markdown]
# ## The jobs
#
# A job is a function of the number of points that prepares everything (not timed) and returns its
# implementations by name: functions without arguments.


# %%
def product(rows, columns):
    """All inner products, a tile at a time, thrown away."""

    def bare():
        for i in range(0, len(rows), 512):
            for j in range(0, len(columns), 2048):
                rows[i : i + 512] @ columns[j : j + 2048].T

    return {"floor": bare}


def moved(points):
    """Under every shift, one after the other."""
    return shifts.act(elements, points).reshape(-1, points.shape[1])


def one_by_one(values, X):
    """The mean of `values` over the shifts, applied to all points in turn."""
    return lambda: sum(values(shifts.act([g], X)[0]) for g in elements) / len(elements)


PUBLIC = "scikit-learn, moved points"


def at_once(values, X, n, reduce=np.mean):
    """The same by a public function of all transformed points."""
    return {PUBLIC: lambda: reduce(values(moved(X)).reshape(n, len(elements), -1), axis=1)}


def of_moved_points(transform, X):
    """The mean of a public transformer's features over each point's orbit."""
    return {PUBLIC: lambda: transform(moved(X)).reshape(len(elements), len(X), -1).mean(axis=0)}


# %%
def orbit_fourier(n):
    """psi_j(x) = sqrt(2/s) mean_g cos(<omega_j, g x> + b_j)."""
    X = images[:n]
    model = features.OrbitFourier(shifts, TEMPLATES, gamma=GAMMA, random_state=seed).fit(X)
    W, b, size = model.templates_, model.phases_, np.sqrt(np.float32(2 / TEMPLATES))
    sampler = RBFSampler(gamma=GAMMA, n_components=TEMPLATES, random_state=seed).fit(X)
    sampler.random_weights_, sampler.random_offset_ = W.T, b
    return {
        "definition": one_by_one(lambda Z: size * np.cos(Z @ W.T + b), X),
        "ours": lambda: model.transform(X),
        **of_moved_points(sampler.transform, X),
        **product(X, moved(W)),
    }


def orbit_nystroem(n):
    """<psi(x), psi(z)> with psi = L mean_g K(Z, g x)."""
    X, landmarks = images[:n], images[-TEMPLATES:]
    model = features.OrbitNystroem(shifts, TEMPLATES, gamma=GAMMA, landmarks=landmarks).fit(X)
    norms = (landmarks**2).sum(axis=1)

    def gaussian(Z):
        squared = (Z**2).sum(axis=1)[:, None] - 2 * Z @ landmarks.T + norms
        return np.exp(-GAMMA * squared)

    mean = one_by_one(gaussian, X)
    sampler = Nystroem(gamma=GAMMA, n_components=TEMPLATES, random_state=seed).fit(landmarks)
    # The same landmarks and whitening as ours: scikit-learn's own keeps eigenvalues that
    # single precision does not resolve.
    sampler.components_, sampler.normalization_ = landmarks, model.whitener_
    return {
        "definition": lambda: mean() @ model.whitener_.T,
        "ours": lambda: model.transform(X),
        **of_moved_points(sampler.transform, X),
        **product(X, moved(landmarks)),
    }


# %%
def cdf_pooling(n, bins=25):
    """phi_jk(x) = sqrt(s / (n m)) mean_g 1[<g t_j, x> <= s k / n]; see `mroueh2015/cost`."""
    X = images[:n]
    model = features.GroupCDF(shifts, TEMPLATES, n_bins=bins, s="data", random_state=seed).fit(X)
    copies = np.ascontiguousarray(shifts.act(elements, model.templates_).swapaxes(0, 1))
    return {"ours": lambda: model.transform(X), **product(X, copies.reshape(-1, 784))}


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
    return {"invariantkernels": lambda: averaged.forward(tensor, tensor).numpy()}


def averaged_kernel(n):
    """K(x, z) = mean_g k(x, g z)."""
    X, base = images[:n], Gaussian(GAMMA)
    kernel = Average(base, shifts, side="second")
    return {
        "definition": one_by_one(lambda Z: base(X, Z), X),
        "ours": lambda: kernel(X),
        **at_once(lambda Z: rbf_kernel(X, Z, gamma=GAMMA), X, n),
        **invariantkernels(X),
        **product(X, moved(X)),
    }


def best_fit(n):
    """K(x, z) = max_g (1 + <x, g z> / 784)^8."""
    X, base = images[:n], Polynomial(degree=8, gamma=1 / 784)
    kernel, how = BestFit(base, shifts), dict(degree=8, gamma=1 / 784, coef0=1)
    return {
        "definition": lambda: np.max([base(X, shifts.act([g], X)[0]) for g in elements], axis=0),
        "ours": lambda: kernel(X),
        **at_once(lambda Z: polynomial_kernel(X, Z, **how), X, n, reduce=np.max),
        **product(X, moved(X)),
    }


# %%
def locality(n, side=28, window=7):
    """The locality kernel of Liu et al. (2022), eq. 5, of n images and n others."""
    X, kernel = (images if side == 28 else photos)[: 2 * n], kernels.Locality((side, side), window)
    rows, columns = np.ones((2, n, side**2 * window**2), dtype=np.float32)  # as all windows need
    return {"ours": lambda: kernel(X[:n], X[n:]), "floor": lambda: rows @ columns.T}


# %%
sphere = spectral.Sphere(5).truncate(degree=6)  # seven eigenspaces


def sobolev(n):
    """sum_k D_k^-alpha sum_l phi_kl(x) phi_kl(z) on the sphere S^4: 336 functions."""
    X, kernel = sphere.sample(n, seed), spectral.SobolevKernel(sphere, smoothness=3.0)
    weights = sphere.counts_.astype(float) ** -alpha(3.0, 4)
    ways, values = {"ours": lambda: kernel(X)}, np.ones((n, sphere.n_functions_))
    if geometric is not None:
        harmonics = geometric.Hypersphere(4).get_eigenfunctions(7)
        ways["GeometricKernels"] = lambda: harmonics.phi_product(X, X) @ weights
    return ways | {"floor": lambda: values @ values.T}


def scattering(n, side=28, scales=2):
    """Second-order scattering, eight orientations."""
    X = (images if side == 28 else photos)[:n]
    model = beyond.Scattering((side, side), n_scales=scales).fit(X)
    ways = {"ours": lambda: model.transform(X)}
    if kymatio is not None:
        other = kymatio.Scattering2D(J=scales, shape=(side, side), L=8)
        ways["kymatio"] = lambda: other(X.reshape(n, side, side)).reshape(n, -1)
    return ways


# %%
def tangent_distance(n, dtype=float):
    """min over a, b of |x + T_x a - z - T_z b|, two-sided (Simard et al. 1998)."""
    X, distance = images[:n].astype(dtype), beyond.TangentDistance((28, 28))
    vectors = np.concatenate([X[:, None], distance.tangents(X)], axis=1).reshape(-1, 784)
    return {"ours": lambda: distance(X), **product(vectors, vectors)}


def averaging(n, case):
    """A fit of spectral averaging, over its largest product, or waves, and least squares."""
    (space, group, degree, table), how = case, {"estimator": "least_squares"}
    X = space.sample(n, seed)
    model = spectral.SpectralAveraging(space, group, degree=degree, **how).fit(X, X[:, 0] ** 2)
    values = model.basis_.combine(X, model.vectors_)

    def floor():
        return [function(X) for function in table], np.linalg.lstsq(values, X[:, 0] ** 2)

    return {"ours": lambda: model.fit(X, X[:, 0] ** 2), "floor": floor}


def patches(n):
    """Random Fourier features of all 6 x 6 patches, over their products and cosines."""
    X, waves = images[:n], features.OrbitFourier(None, 1000, gamma=0.05, random_state=seed)
    model = beyond.PatchPooling(waves, (28, 28), size=6, grid=2, random_state=seed).fit(X)
    W, sets = model.features_.templates_.T, beyond.patch_sets(X, (28, 28), size=6)

    def floor():
        for rows in np.array_split(sets.reshape(-1, 36), max(1, n * 2)):
            products = rows @ W
            np.cos(products, out=products)

    return {"ours": lambda: model.transform(X), "floor": floor}


# %%
def fourier(n, dtype):
    """Random Fourier features without a group."""
    X = rng.standard_normal((n, 100)).astype(dtype)
    model = features.OrbitFourier(None, 2000, gamma=0.01, random_state=seed).fit(X)
    peer = RBFSampler(gamma=0.01, n_components=2000, random_state=seed).fit(X)
    peer.random_weights_, peer.random_offset_ = model.templates_.T, model.phases_
    return {"ours": lambda: model.transform(X), "scikit-learn": lambda: peer.transform(X)}


def simple(given, n):
    """Any function of random points, over what it cannot leave out or over a public one."""
    _, d, dtype, ours, other, peer = (*given, "floor")[:6]
    X = rng.standard_normal((n, d)).astype(dtype)
    return {"ours": lambda: ours(X), peer: lambda: other(X)}


def threads(model, n):
    """One thread over two."""
    X = images[:n]
    one, two = (clone(model).set_params(n_jobs=k) for k in (1, 2))
    if hasattr(model, "transform"):
        one, two = one.fit(X).transform, two.fit(X).transform
    return {"ours": lambda: two(X), "one thread": lambda: one(X)}


# %% [markdown]
# ## Measured
#
# Implementations are timed alternately. One (other than ours) that exceeds the time budget is not
# run at larger sizes. Differences are relative to the largest number. Two are too large to be
# rounding: in CDF pooling a projection may fall on either side of a threshold (one count in 49),
# and kymatio pads and subsamples in its own way. The floor is the base kernel's Gram matrix for a
# mean in closed form, the value for a gradient, and for other single operations the products and
# what must be done with them: cosines, a median, eigenvectors.

# %%
gauss, laplace, cubic = Gaussian(0.05), kernels.Laplacian(0.05), Polynomial(3, gamma=0.1)
flips, swaps = groups.SignFlips(20), groups.Permutations(20)
mean, eighth = Average(gauss, groups.Permutations(5)), {"degree": 8, "gamma": 1 / 784}
public = partial(polynomial_kernel, **eighth)
waves = [lambda X, k=k: (np.cos(k * X), np.sin(k * X)) for k in (np.pi, 2 * np.pi)]
median = features.median_gamma, lambda X: np.median((X @ X.T)[: len(X) // 2])
path = (
    lambda X: linear.RLSClassifier().fit(X, np.arange(len(X)) % 10),
    lambda X: X @ np.linalg.eigh(X.T @ X)[1],
)
SIMPLE = {  # the aim, then what `simple` is given: points, features, type, ours, the other
    "mean over signs": (1 / 4, SIZE, 20, "f8", Average(gauss, flips), gauss),
    "mean over signs, Laplacian": (1 / 4, SIZE, 20, "f8", Average(laplace, flips), laplace),
    "mean over signs, polynomial": (1 / 4, SIZE, 20, "f8", Average(cubic, flips), cubic),
    "mean over permutations": (1 / 4, SIZE, 20, "f8", Average(cubic, swaps), cubic),
    "gradient": (1 / 2.5, SIZE // 5, 5, "f8", partial(mean, eval_gradient=True), mean),
    "median distance, f8": (1 / 1.5, SIZE, 784, "f8", *median),
    "median distance, f4": (1 / 1.5, SIZE, 784, "f4", *median),
    "least squares": (1 / 1.5, 5 * SIZE, SIZE, "f8", *path),
    "cosines": (1.9, SIZE, 1000, "f8", lambda X: cosine(X.copy()), np.cos, "NumPy"),
    "polynomial kernel": (1, SIZE, 784, "f4", Polynomial(**eighth), public, "scikit-learn"),
}
PAIRS = {  # by two threads
    "best fit, rotations": BestFit(Polynomial(**eighth), turns),
    "best fit, shifts and rotations": BestFit(Polynomial(**eighth), few_shifts.then(turns)),
    "average, rotations": Average(gauss, turns, side="second"),
    "features, rotations": features.OrbitFourier(turns, 200, gamma=0.01, random_state=seed),
    "locality": kernels.Locality((28, 28)),
    "tangents": beyond.TangentDistance((28, 28)),
}

# %%
squares = [lambda X: X @ np.ones((30, 465))]  # by the monomials of degree two
sphere_case = spectral.Sphere(30), groups.Permutations(30), 3, squares
torus_case = spectral.Torus(4), groups.SignedPermutations(4), 6, waves
PHOTOS, ONE = (SIZE // 10,), (5 * SIZE,)
JOBS = {  # a job, its numbers of points, and how many times ours its last way should take
    "orbit random Fourier": (orbit_fourier, MANY, None),
    "orbit Nystrom": (orbit_nystroem, MANY, None),
    "CDF pooling": (cdf_pooling, MANY, None),
    "CDF pooling, 50 bins": (partial(cdf_pooling, bins=50), MANY, 1 / 1.3),
    "CDF pooling, 100 bins": (partial(cdf_pooling, bins=100), MANY, 1 / 2),
    "averaged kernel": (averaged_kernel, MANY, None),
    "best fit over shifts": (best_fit, MANY, None),
    "locality kernel": (locality, FEW, None),
    "locality kernel, 64 x 64": (partial(locality, side=64, window=5), PHOTOS, 1 / 1.5),
    "kernel of the sphere": (sobolev, MANY, None),
    "scattering": (scattering, MANY, 1),
    "scattering, 64 x 64": (partial(scattering, side=64, scales=3), PHOTOS, 1),
    "tangent distance": (tangent_distance, FEW, 1 / 1.5),
    "tangent distance, f4": (partial(tangent_distance, dtype="f4"), FEW, 1 / 1.5),
    "spectral averaging, sphere": (partial(averaging, case=sphere_case), ONE, 1 / 6),
    "spectral averaging, torus": (partial(averaging, case=torus_case), ONE, 1 / 6),
    "patches": (patches, PHOTOS, 1 / 2),
    "random Fourier, no group, f8": (partial(fourier, dtype="f8"), ONE, 1),
    "random Fourier, no group, f4": (partial(fourier, dtype="f4"), ONE, 1),
}
JOBS |= {title: (partial(simple, given), given[:1], aim) for title, (aim, *given) in SIMPLE.items()}
JOBS |= {f"threads: {t}": (partial(threads, model), FEW[-1:], 1.6) for t, model in PAIRS.items()}


def measure(job, sizes):
    """Seconds by way and size; largest relative difference of each way's result from ours."""
    seconds, apart, slow = {}, {}, set()
    for n in sizes:
        ways = {name: way for name, way in job(n).items() if name not in slow}
        if n == sizes[0]:
            own = ways["ours"]()
            for name in ways.keys() - {"ours", "floor"}:
                other = ways[name]()
                if other.shape == own.shape:
                    apart[name] = float(np.abs(own - other).max() / np.abs(own).max())
        seconds |= {(name, n): np.full(2, np.inf) for name in ways}
        for _ in range(REPEATS):
            for name, way in ways.items():
                start = time.perf_counter(), time.process_time()
                way()
                spent = np.subtract((time.perf_counter(), time.process_time()), start)
                seconds[name, n] = np.minimum(seconds[name, n], spent)
        slow |= {name for name in ways if seconds[name, n][1] > BUDGET and name != "ours"}
    return seconds, apart


measured = {name: measure(job, sizes) for name, (job, sizes, _) in JOBS.items()}

# %%
rows = []
for title, (seconds, apart) in measured.items():
    *_, last = ways = list(dict.fromkeys(name for name, _ in seconds))
    for way in ways:
        n = max(size for name, size in seconds if name == way)
        run.timing(f"{title}: {way}, n = {n}", seconds[way, n][0])
        if way != "ours":
            times = seconds[way, n] / np.maximum(seconds["ours", n], 1e-9)
            row = dict(
                zip(["times ours", "of processor"], map("{:.2f}".format, times), strict=True)
            )
            row["at least"] = f"{JOBS[title][2]:.2f}" if way == last and JOBS[title][2] else ""
            row["difference"] = f"{apart[way]:.0e}" if way in apart else ""
            rows.append({"job": title, "way": way, "points": n} | row)
    if not title.startswith(("CDF pooling", "scattering")):
        assert max(apart.values(), default=0) < 2e-4, f"{title} differs from ours by {apart}"
run.table(
    rows,
    "ratios",
    caption="Time of each way as a multiple of ours, by the clock and of the processor, at the "
    "largest size it reached, and what we aim at.",
)

# %%
rivals = {}  # the fastest rival of each job that has one, as a multiple of ours
threads_gain = {}  # one thread over two
for row in rows:
    times = float(row["times ours"])
    if row["way"] == "one thread":
        threads_gain[row["job"]] = times
    elif row["way"] != "floor":
        rivals[row["job"]] = min(times, rivals.get(row["job"], np.inf))
n_fastest = sum(times >= 1 for times in rivals.values())
n_quicker = sum(times > 1 for times in threads_gain.values())

# %%
LOOKS = {
    "definition": look("definition"),
    PUBLIC: look("augmentation"),
    "another package": look("published"),
    "one thread": look("raw"),
    "floor": look("gemm"),
}
fig, axis = plt.subplots(figsize=(8, 10))
titles = list(JOBS)
for label, style in LOOKS.items():
    some = [r for r in rows if (r["way"] if r["way"] in LOOKS else "another package") == label]
    times = [max(float(row["times ours"]), 0.01) for row in some]
    at = [titles.index(row["job"]) for row in some]
    axis.plot(times, at, linestyle="none", label=label, **style._asdict())
axis.axvline(1, color="black", linewidth=0.8)
axis.set_yticks(range(len(titles)), titles)
title = f"Ours is the fastest in {n_fastest} of the {len(rivals)} jobs that have a rival;\n"
title += f"two threads are faster than one in {n_quicker} of {len(threads_gain)}"
axis.set(
    xscale="log",
    xlabel="Time as a multiple of ours",
    ylim=(len(JOBS) - 0.5, -0.5),
    title=title,
)
axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
run.figure(
    fig,
    "speed",
    caption="At the largest size that each way reached; left of the line is quicker than ours. All on "
    "one core, but for the last jobs, which compare our two threads with one. A rival is the plain "
    "definition or another package; the floor is none: it is mostly the product of all inner "
    "products the definition needs.",
)

# %%
run.say(
    "Of {jobs} jobs {rivals} have a rival, and ours is the fastest in {fastest} of these; {floor} are "
    "compared with a floor alone. Two threads are faster than one in {quicker} of {threads}.",
    jobs=len(JOBS),
    rivals=len(rivals),
    fastest=n_fastest,
    floor=len(JOBS) - len(rivals) - len(threads_gain),
    quicker=n_quicker,
    threads=len(threads_gain),
)

# %% [markdown]
# **How to read it.** Where a definition is little more than one product for each transformation, there
# is only a small factor to gain; the fast paths save memory. Structure saves more: closed forms,
# generators in place of elements (and the angular basis in `raj2017/cost`). Kymatio subsamples what
# ours averages whole.
