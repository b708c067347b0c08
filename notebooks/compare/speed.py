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
# # Speed: our jobs against public packages and the matrix product
#
# This package is the fastest in nearly every job that a public package can do as well; the sentence
# at the end has the counts.
#
# A fast implementation is worth having only if it computes the same numbers. So each row below
# times several implementations of *one* job, and the table lists how much their results differ:
#
# - the **definition**, transformation by transformation;
# - **ours**;
# - the **best public alternative** that installs with pip;
# - the **floor**: for most jobs, a matrix product of the same size. No program that computes every
#   inner product can be faster. If ours is faster, the structure of the group made some products
#   unnecessary.
#
# `pip install ".[speed]"` installs the other packages. The quick profile leaves out those
# that are not installed; the full profile needs all of them. Times are seconds on one core, the
# smallest of several measurements. The images are the bundled digits, 28 × 28, in single precision;
# the group of the image jobs consists of the 49 cyclic shifts by up to three pixels.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
from functools import partial
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
import scipy.special
from _speed import Job, measure
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
GAMMA = 0.01
if run.quick:
    N_TEMPLATES = 50
    BUDGET = 0.1  # seconds of an implementation
    REPEATS = 2
    LEAST_SECONDS = 0.0  # at each number of points
    FEW = (15, 30)  # points, for kernels
    MANY = (40, 80)  # points, for features
    SIZE = 60  # points, for single operations
else:
    N_TEMPLATES = 500
    BUDGET = 8.0
    REPEATS = 3
    LEAST_SECONDS = 1.5
    FEW = (50, 100, 200, 400)
    MANY = (100, 300, 1000)
    SIZE = 1000

# %%
images = load_digits_images().data.reshape(-1, 784).astype(np.float32) / np.float32(255)
shifts = groups.Translations((28, 28), max_shift=3)
elements = shifts.elements()
few_shifts = groups.Translations((28, 28), max_shift=1)
turns = groups.Rotations((28, 28), degrees=range(-10, 10))
rng = np.random.default_rng(seed)
photos = rng.random((SIZE // 5, 64 * 64), dtype=np.float32)


# %% [markdown]
# kymatio 0.3.0 and GeometricKernels 0.4.1 import two functions that newer releases of SciPy and NumPy
# lack. Neither is needed here.


# %%
def optional(name):
    """Import a module; in the quick profile return None if it is not installed."""
    if run.quick and not find_spec(name.split(".")[0]):
        return None
    return need(name, "speed")


# %%
if not hasattr(scipy.special, "sph_harm"):
    scipy.special.sph_harm = None
if not hasattr(np, "trapz"):
    np.trapz = np.trapezoid  # noqa: NPY201
kymatio = optional("kymatio.numpy")
geometric = optional("geometric_kernels.spaces")
invariant = optional("invariantkernels")
torch = optional("torch")
if torch is not None:
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
if invariant is not None:
    import gpytorch


# %% [markdown]
# ## The jobs
#
# A job is a function of the number of points. It prepares everything that is not timed, and returns
# its implementations by name, as functions without arguments. Most implementations are made by the
# following helpers: the floor, the definition, and a public function of all transformed points.


# %%
def floor(rows, columns):
    """Return a function that computes all inner products in tiles and discards them."""

    def products():
        for i in range(0, len(rows), 512):
            tile = rows[i : i + 512]
            for j in range(0, len(columns), 2048):
                tile @ columns[j : j + 2048].T

    return products


def transformed(points):
    """Return all points under every shift, one shift after the other."""
    return shifts.act(elements, points).reshape(-1, points.shape[1])


def definition(values, X):
    """Return a function: the mean of `values` over the shifts, applied to all points in turn."""
    return lambda: sum(values(shifts.act([g], X)[0]) for g in elements) / len(elements)


# %%
PUBLIC = "scikit-learn, moved points"


def public_kernel(values, X, n, reduce=np.mean):
    """Return a function: a public kernel of all transformed points, reduced over the shifts."""

    def kernel():
        gram = values(transformed(X)).reshape(n, len(elements), -1)
        return reduce(gram, axis=1)

    return kernel


def public_features(transform, X):
    """Return a function: the mean of a public transformer's features over each point's orbit."""

    def mean_features():
        values = transform(transformed(X)).reshape(len(elements), len(X), -1)
        return values.mean(axis=0)

    return mean_features


# %% [markdown]
# **Random Fourier features over an orbit**:
# $\psi_j(x) = \sqrt{2/s} \, \frac{1}{|G|} \sum_g \cos(\langle \omega_j, g x \rangle + b_j)$.


# %%
def orbit_fourier(n):
    X = images[:n]
    model = features.OrbitFourier(shifts, N_TEMPLATES, gamma=GAMMA, random_state=seed)
    model.fit(X)
    templates = model.templates_
    phases = model.phases_
    size = np.sqrt(np.float32(2 / N_TEMPLATES))
    sampler = RBFSampler(gamma=GAMMA, n_components=N_TEMPLATES, random_state=seed).fit(X)
    sampler.random_weights_ = templates.T
    sampler.random_offset_ = phases
    return {
        "definition": definition(lambda Z: size * np.cos(Z @ templates.T + phases), X),
        "ours": lambda: model.transform(X),
        PUBLIC: public_features(sampler.transform, X),
        "floor": floor(X, transformed(templates)),
    }


# %% [markdown]
# **Nyström features over an orbit**: $\langle \psi(x), \psi(z) \rangle$ with
# $\psi = L \, \frac{1}{|G|} \sum_g K(Z, g x)$. scikit-learn gets our landmarks and our whitening,
# because its own whitening keeps eigenvalues that single precision does not resolve.


# %%
def orbit_nystroem(n):
    X = images[:n]
    landmarks = images[-N_TEMPLATES:]
    model = features.OrbitNystroem(shifts, N_TEMPLATES, gamma=GAMMA, landmarks=landmarks)
    model.fit(X)
    norms = (landmarks**2).sum(axis=1)

    def gaussian(Z):
        squares = (Z**2).sum(axis=1)[:, None] - 2 * Z @ landmarks.T + norms
        return np.exp(-GAMMA * squares)

    mean = definition(gaussian, X)
    sampler = Nystroem(gamma=GAMMA, n_components=N_TEMPLATES, random_state=seed)
    sampler.fit(landmarks)
    sampler.components_ = landmarks
    sampler.normalization_ = model.whitener_
    return {
        "definition": lambda: mean() @ model.whitener_.T,
        "ours": lambda: model.transform(X),
        PUBLIC: public_features(sampler.transform, X),
        "floor": floor(X, transformed(landmarks)),
    }


# %% [markdown]
# **CDF pooling**: $\phi_{jk}(x) = \sqrt{s / (n m)} \, \frac{1}{|G|} \sum_g
# 1[\langle g t_j, x \rangle \leq s k / n]$ (see also `mroueh2015/cost`).


# %%
def cdf_pooling(n, bins=25):
    X = images[:n]
    model = features.GroupCDF(shifts, N_TEMPLATES, n_bins=bins, s="data", random_state=seed)
    model.fit(X)
    orbits = shifts.act(elements, model.templates_).swapaxes(0, 1)
    templates = np.ascontiguousarray(orbits).reshape(-1, 784)
    return {"ours": lambda: model.transform(X), "floor": floor(X, templates)}


# %% [markdown]
# **The averaged kernel**, $K(x, z) = \frac{1}{|G|} \sum_g k(x, g z)$. invariantkernels has it for
# GPyTorch.


# %%
def invariantkernels(X):
    """Return a function: GPyTorch's averaged kernel."""
    rbf = gpytorch.kernels.RBFKernel()
    rbf.lengthscale = float(1 / np.sqrt(2 * GAMMA))
    tensor = torch.from_numpy(X)

    def transform(points):
        return torch.from_numpy(shifts.act(elements, points.numpy()))

    kernel = invariant.InvariantKernel(rbf, transform, is_isotropic=True)
    return lambda: kernel.forward(tensor, tensor).numpy()


# %%
def averaged_kernel(n):
    X = images[:n]
    base = Gaussian(GAMMA)
    kernel = Average(base, shifts, side="second")
    implementations = {
        "definition": definition(lambda Z: base(X, Z), X),
        "ours": lambda: kernel(X),
        PUBLIC: public_kernel(lambda Z: rbf_kernel(X, Z, gamma=GAMMA), X, n),
    }
    if invariant is not None:
        implementations["invariantkernels"] = invariantkernels(X)
    implementations["floor"] = floor(X, transformed(X))
    return implementations


# %% [markdown]
# **The best fit**, $K(x, z) = \max_g (1 + \langle x, g z \rangle / 784)^8$.


# %%
def public_polynomial(X, Z):
    return polynomial_kernel(X, Z, degree=8, gamma=1 / 784, coef0=1)


def best_fit(n):
    X = images[:n]
    base = Polynomial(degree=8, gamma=1 / 784)
    kernel = BestFit(base, shifts)

    def maximum():
        grams = [base(X, shifts.act([g], X)[0]) for g in elements]
        return np.max(grams, axis=0)

    return {
        "definition": maximum,
        "ours": lambda: kernel(X),
        PUBLIC: public_kernel(lambda Z: public_polynomial(X, Z), X, n, reduce=np.max),
        "floor": floor(X, transformed(X)),
    }


# %% [markdown]
# **The locality kernel** of Liu et al. (2022), equation 5, between n images and n further ones. Its
# floor has as many columns as all windows have pixels.


# %%
def images_of(side):
    """Return the digits (28 x 28), or random images of 64 x 64 pixels."""
    if side == 28:
        return images
    return photos


def locality(n, side=28, window=7):
    X = images_of(side)[: 2 * n]
    kernel = kernels.Locality((side, side), window)
    rows, columns = np.ones((2, n, side**2 * window**2), dtype=np.float32)
    return {"ours": lambda: kernel(X[:n], X[n:]), "floor": lambda: rows @ columns.T}


# %% [markdown]
# **A Sobolev kernel on the sphere** $S^4$, $\sum_k D_k^{-\alpha} \sum_l \phi_{kl}(x) \phi_{kl}(z)$,
# with 336 functions in seven eigenspaces. GeometricKernels computes the same sum.

# %%
sphere = spectral.Sphere(5).truncate(degree=6)


def sobolev(n):
    X = sphere.sample(n, seed)
    kernel = spectral.SobolevKernel(sphere, smoothness=3.0)
    implementations = {"ours": lambda: kernel(X)}
    if geometric is not None:
        weights = sphere.counts_.astype(float) ** -alpha(3.0, 4)
        harmonics = geometric.Hypersphere(4).get_eigenfunctions(7)
        implementations["GeometricKernels"] = lambda: harmonics.phi_product(X, X) @ weights
    values = np.ones((n, sphere.n_functions_))
    implementations["floor"] = lambda: values @ values.T
    return implementations


# %% [markdown]
# **Second-order scattering** with eight orientations, as in kymatio.


# %%
def scattering(n, side=28, scales=2):
    X = images_of(side)[:n]
    model = beyond.Scattering((side, side), n_scales=scales).fit(X)
    implementations = {"ours": lambda: model.transform(X)}
    if kymatio is not None:
        rival = kymatio.Scattering2D(J=scales, shape=(side, side), L=8)
        implementations["kymatio"] = lambda: rival(X.reshape(n, side, side)).reshape(n, -1)
    return implementations


# %% [markdown]
# **The two-sided tangent distance** of Simard et al. (1998),
# $\min_{a, b} |x + T_x a - z - T_z b|$.


# %%
def tangent_distance(n, dtype=float):
    X = images[:n].astype(dtype)
    distance = beyond.TangentDistance((28, 28))
    vectors = np.concatenate([X[:, None], distance.tangents(X)], axis=1).reshape(-1, 784)
    return {"ours": lambda: distance(X), "floor": floor(vectors, vectors)}


# %% [markdown]
# **A fit of spectral averaging.** Its floor is the largest product (or the waves of the torus), and
# least squares.


# %%
def spectral_fit(n, space, group, degree, parts):
    X = space.sample(n, seed)
    y = X[:, 0] ** 2
    model = spectral.SpectralAveraging(space, group, degree=degree, estimator="least_squares")
    model.fit(X, y)
    values = model.basis_.combine(X, model.vectors_)

    def products_and_solution():
        return [part(X) for part in parts], np.linalg.lstsq(values, y)

    return {"ours": lambda: model.fit(X, y), "floor": products_and_solution}


def sphere_fit(n):
    def monomials(X):  # of degree two
        return X @ np.ones((30, 465))

    return spectral_fit(n, spectral.Sphere(30), groups.Permutations(30), 3, [monomials])


# %%
def torus_fit(n):
    def first_waves(X):
        return np.cos(np.pi * X), np.sin(np.pi * X)

    def second_waves(X):
        return np.cos(2 * np.pi * X), np.sin(2 * np.pi * X)

    group = groups.SignedPermutations(4)
    return spectral_fit(n, spectral.Torus(4), group, 6, [first_waves, second_waves])


# %% [markdown]
# **Features of patches**: random Fourier features of all 6 × 6 patches of an image. The floor has
# their products and cosines.


# %%
def patches(n):
    X = images[:n]
    waves = features.OrbitFourier(None, 1000, gamma=0.05, random_state=seed)
    model = beyond.PatchPooling(waves, (28, 28), size=6, grid=2, random_state=seed)
    model.fit(X)
    templates = model.features_.templates_.T
    rows = beyond.patch_sets(X, (28, 28), size=6).reshape(-1, 36)

    def cosines():
        for block in np.array_split(rows, max(1, n * 2)):
            products = block @ templates
            np.cos(products, out=products)

    return {"ours": lambda: model.transform(X), "floor": cosines}


# %% [markdown]
# **Random Fourier features without a group**, beside scikit-learn's.


# %%
def fourier(n, dtype):
    X = rng.standard_normal((n, 100)).astype(dtype)
    model = features.OrbitFourier(None, 2000, gamma=0.01, random_state=seed).fit(X)
    sampler = RBFSampler(gamma=0.01, n_components=2000, random_state=seed).fit(X)
    sampler.random_weights_ = model.templates_.T
    sampler.random_offset_ = model.phases_
    return {"ours": lambda: model.transform(X), "scikit-learn": lambda: sampler.transform(X)}


# %% [markdown]
# ## Single operations, and two threads
#
# Any function of random points can be compared with a second one: with a part that it cannot leave
# out (the floor), or with a public function. The last jobs compare our two threads with one.


# %%
def operation(n, ours, second, d, dtype="f8", name="floor"):
    X = rng.standard_normal((n, d)).astype(dtype)
    return {"ours": lambda: ours(X), name: lambda: second(X)}


def threads(n, model):
    X = images[:n]
    one = clone(model).set_params(n_jobs=1)
    two = clone(model).set_params(n_jobs=2)
    if hasattr(model, "transform"):
        one = one.fit(X).transform
        two = two.fit(X).transform
    return {"ours": lambda: two(X), "one thread": lambda: one(X)}


# %% [markdown]
# ## The list of jobs
#
# First the features and kernels. The aim is the multiple of our time that the last implementation of
# a job should take.

# %%
PHOTOS = (SIZE // 10,)
ONE_SIZE = (5 * SIZE,)
JOBS = {
    "orbit random Fourier": Job(orbit_fourier, MANY),
    "orbit Nystrom": Job(orbit_nystroem, MANY),
    "CDF pooling": Job(cdf_pooling, MANY),
    "CDF pooling, 50 bins": Job(partial(cdf_pooling, bins=50), MANY, aim=1 / 1.3),
    "CDF pooling, 100 bins": Job(partial(cdf_pooling, bins=100), MANY, aim=1 / 2),
    "averaged kernel": Job(averaged_kernel, MANY),
    "best fit over shifts": Job(best_fit, MANY),
    "locality kernel": Job(locality, FEW),
    "locality kernel, 64 x 64": Job(partial(locality, side=64, window=5), PHOTOS, aim=1 / 1.5),
    "kernel of the sphere": Job(sobolev, MANY),
    "scattering": Job(scattering, MANY, aim=1),
    "scattering, 64 x 64": Job(partial(scattering, side=64, scales=3), PHOTOS, aim=1),
    "tangent distance": Job(tangent_distance, FEW, aim=1 / 1.5),
    "tangent distance, f4": Job(partial(tangent_distance, dtype="f4"), FEW, aim=1 / 1.5),
    "spectral averaging, sphere": Job(sphere_fit, ONE_SIZE, aim=1 / 6),
    "spectral averaging, torus": Job(torus_fit, ONE_SIZE, aim=1 / 6),
    "patches": Job(patches, PHOTOS, aim=1 / 2),
    "random Fourier, no group, f8": Job(partial(fourier, dtype="f8"), ONE_SIZE, aim=1),
    "random Fourier, no group, f4": Job(partial(fourier, dtype="f4"), ONE_SIZE, aim=1),
}

# %% [markdown]
# The closed forms of means are compared with the Gram matrix of the base kernel, and a gradient with
# the value of the kernel.

# %%
gauss = Gaussian(0.05)
laplace = kernels.Laplacian(0.05)
cubic = Polynomial(3, gamma=0.1)
flips = groups.SignFlips(20)
swaps = groups.Permutations(20)
CLOSED_FORMS = {
    "mean over signs": (Average(gauss, flips), gauss),
    "mean over signs, Laplacian": (Average(laplace, flips), laplace),
    "mean over signs, polynomial": (Average(cubic, flips), cubic),
    "mean over permutations": (Average(cubic, swaps), cubic),
}
for title, (average, base) in CLOSED_FORMS.items():
    prepare = partial(operation, ours=average, second=base, d=20)
    JOBS[title] = Job(prepare, (SIZE,), aim=1 / 4)

mean = Average(gauss, groups.Permutations(5))
gradient = partial(operation, ours=partial(mean, eval_gradient=True), second=mean, d=5)
JOBS["gradient"] = Job(gradient, (SIZE // 5,), aim=1 / 2.5)

# %% [markdown]
# The floors of the next operations are the products and the work that must be done with them: a
# median, eigenvectors, cosines. The polynomial kernel is compared with scikit-learn's.


# %%
def half_median(X):
    return np.median((X @ X.T)[: len(X) // 2])


def fit_path(X):
    return linear.RLSClassifier().fit(X, np.arange(len(X)) % 10)


def eigenvectors(X):
    return X @ np.linalg.eigh(X.T @ X)[1]


def cosine_of_copy(X):
    return cosine(X.copy())


# %%
eighth = Polynomial(degree=8, gamma=1 / 784)
public_eighth = partial(polynomial_kernel, degree=8, gamma=1 / 784)
median = partial(operation, ours=features.median_gamma, second=half_median, d=784)
least_squares = partial(operation, ours=fit_path, second=eigenvectors, d=SIZE)
cosines = partial(operation, ours=cosine_of_copy, second=np.cos, d=1000, name="NumPy")
polynomial = partial(operation, ours=eighth, second=public_eighth, d=784, dtype="f4")
JOBS |= {
    "median distance, f8": Job(median, (SIZE,), aim=1 / 1.5),
    "median distance, f4": Job(partial(median, dtype="f4"), (SIZE,), aim=1 / 1.5),
    "least squares": Job(least_squares, ONE_SIZE, aim=1 / 1.5),
    "cosines": Job(cosines, (SIZE,), aim=1.9),
    "polynomial kernel": Job(partial(polynomial, name="scikit-learn"), (SIZE,), aim=1),
}


# %%
THREADED = {
    "best fit, rotations": BestFit(eighth, turns),
    "best fit, shifts and rotations": BestFit(eighth, few_shifts.then(turns)),
    "average, rotations": Average(gauss, turns, side="second"),
    "features, rotations": features.OrbitFourier(turns, 200, gamma=0.01, random_state=seed),
    "locality": kernels.Locality((28, 28)),
    "tangents": beyond.TangentDistance((28, 28)),
}
for title, model in THREADED.items():
    JOBS[f"threads: {title}"] = Job(partial(threads, model=model), FEW[-1:], aim=1.6)

# %% [markdown]
# ## Measurements
#
# Implementations are timed alternately. One (other than ours) that exceeds the time budget is not
# run at larger sizes. Differences are relative to the largest number. Two of them are larger than
# rounding: in CDF pooling a projection may fall on either side of a threshold (one count in 49),
# and kymatio pads and subsamples in its own way.

# %%
measured = {}
for title, job in JOBS.items():
    measured[title] = measure(job, budget=BUDGET, repeats=REPEATS, least_seconds=LEAST_SECONDS)
for title, measurement in measured.items():
    if not title.startswith(("CDF pooling", "scattering")):
        largest_difference = max(measurement.differences.values(), default=0)
        assert largest_difference < 2e-4, f"{title} differs from ours by {largest_difference}"


# %%
def table_row(title, measurement, name):
    """Return one implementation's times as multiples of ours, at its largest size."""
    n = measurement.largest_size(name)
    ours = np.maximum(measurement.seconds["ours", n], 1e-9)
    clock, processor = measurement.seconds[name, n] / ours
    row = {
        "job": title,
        "way": name,
        "points": n,
        "times ours": f"{clock:.2f}",
        "of processor": f"{processor:.2f}",
        "at least": "",
        "difference": "",
    }
    aim = JOBS[title].aim
    if aim and name == measurement.names()[-1]:
        row["at least"] = f"{aim:.2f}"
    if name in measurement.differences:
        row["difference"] = f"{measurement.differences[name]:.0e}"
    return row


# %%
rows = []
for title, measurement in measured.items():
    for name in measurement.names():
        n = measurement.largest_size(name)
        run.timing(f"{title}: {name}, n = {n}", measurement.seconds[name, n][0])
        if name != "ours":
            rows.append(table_row(title, measurement, name))
run.table(
    rows,
    "ratios",
    caption="Time of each implementation as a multiple of ours, by the clock and of the processor, "
    "at the largest size that it reached, and the multiple that we aim at.",
)


# %% [markdown]
# For the figure we count the jobs that have a rival, and those in which no rival is faster.

# %%
rivals = {}  # the fastest rival of each job that has one, as a multiple of ours
threads_gain = {}  # time of one thread over that of two
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
titles = list(JOBS)
points = {label: ([], []) for label in LOOKS}
for row in rows:
    label = row["way"]
    if label not in LOOKS:
        label = "another package"
    times, heights = points[label]
    times.append(max(float(row["times ours"]), 0.01))
    heights.append(titles.index(row["job"]))

fig, axis = plt.subplots(figsize=(8, 10))
for label, (times, heights) in points.items():
    axis.plot(times, heights, linestyle="none", label=label, **LOOKS[label]._asdict())
axis.axvline(1, color="black", linewidth=0.8)
axis.set_yticks(range(len(titles)), titles)
axis.set(xscale="log", xlabel="Time as a multiple of ours", ylim=(len(JOBS) - 0.5, -0.5))
axis.set_title(
    f"Ours is the fastest in {n_fastest} of the {len(rivals)} jobs that have a rival;\n"
    f"two threads are faster than one in {n_quicker} of {len(threads_gain)}"
)
axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
run.figure(
    fig,
    "speed",
    caption="Times at the largest size that each implementation reached; points left of the line are "
    "faster than ours. All jobs run on one core, except the last, which compare our two threads with "
    "one. A rival is the plain definition or another package. The floor is not a rival: it is mostly "
    "the product of all inner products that the definition needs.",
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
# **How to read it.** If a definition is little more than one product for each transformation, only a
# small factor can be gained, and the fast paths save memory. Structure saves more: closed forms,
# generators in place of elements (and the angular basis in `raj2017/cost`). Kymatio subsamples the
# features that ours averages over the whole image.
