# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which one when: a symmetric function on the sphere
#
# A function on the sphere $S^{9}$ that does not care about the order of the ten coordinates. The
# group of permutations has $10! = 3{,}628{,}800$ elements: too many to average over, and too many
# to try. Each paper has its own way out. Pooled features (Mroueh et al. 2015, Raj et al.
# 2017) and averaged kernels take a *sample* of permutations and are invariant up to what the
# sample leaves. Spectral averaging (Soleymani et al. 2025) needs the two generators only. And the
# best fit over all permutations (Liu et al. 2022) has a closed form: by the rearrangement
# inequality
#
# $$\max_{g \in S_d} \langle x, g z \rangle = \langle \mathrm{sort}(x), \mathrm{sort}(z) \rangle,$$
#
# so that for every kernel that grows with the inner product it is the plain kernel of the
# *sorted* coordinates, and positive definite.
#
# The protocol is that of `compare/torus`; discrepancy is over the generators, random permutations
# and random words in the generators.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import numpy as np
from _comparison import show
from sklearn.model_selection import GridSearchCV

from invariance.companion import Run
from invariance.evaluation.selection import best_by_leave_one_out, best_with_copies
from invariance.evaluation.trials import trial
from invariance.features import GroupCDF, OrbitFourier, OrbitNystroem
from invariance.groups import Permutations
from invariance.kernels import Average, Gaussian
from invariance.linear import RLSRegressor
from invariance.spectral import SpectralAveraging, Sphere, invariance_discrepancy

run = Run("compare/sphere", profile=profile, seed=seed)

# %% tags=["settings"]
FULL = not run.quick
DIMENSION, NOISE, TEST = 10, 0.1, 500 if FULL else 100
SIZES = (10, 30, 100, 300, 1000) if FULL else (10, 30)
DRAWS, FEATURES, SAMPLED = (8, 500, 100) if FULL else (2, 100, 10)
DEGREES = [1, 2, 3, 4] if FULL else [1, 2]
group, sphere = Permutations(DIMENSION), Sphere(DIMENSION)

# %% [markdown]
# The target is symmetric, smooth, and no polynomial.


# %%
def target(X):
    scaled = np.sqrt(DIMENSION) * X
    return np.log(np.mean(np.exp(scaled), axis=1)) - 0.5


def draw(n, repetition):
    rng = np.random.RandomState(1000 * seed + repetition)
    X = sphere.sample(1000, rng)[:n]
    return X, target(X) + NOISE * rng.standard_normal(1000)[:n], sphere.sample(TEST, rng)


# %% [markdown]
# ## The methods
#
# Orbit features and the averaged kernel (of both arguments) share a sample of permutations; CDF
# pooling looks at `SAMPLED` permutations of each template.

# %%
NAMES = {
    "krr": "plain kernel ridge",
    "augmentation": "three random copies more",
    "local": "averaged kernel, 8 random permutations",
    "best-fit": "best fit (sorted coordinates)",
    "lgika-rff": "orbit random Fourier, sampled",
    "lgika-nystrom": "orbit Nystrom, sampled",
    "cdf": "CDF pooling, sampled",
    "spec-avg": "spectral averaging, as published",
    "spec-avg-ridge": "spectral averaging, ridge",
}
GAMMAS, learner = (0.2, 0.6, 2.0), RLSRegressor()


def candidates(method, n, repetition):
    """The method, a candidate a bandwidth."""
    drawn, few = dict(n_transforms=SAMPLED, random_state=repetition), min(FEATURES, n)
    if method == "cdf":
        return [GroupCDF(group, FEATURES // 5, n_bins=b, s="data", **drawn) for b in (5, 10, 20)]
    if method == "lgika-rff":
        return [OrbitFourier(group, FEATURES, gamma=g, form="cos_sin", **drawn) for g in GAMMAS]
    if method == "lgika-nystrom":
        return [OrbitNystroem(group, few, gamma=g, **drawn) for g in GAMMAS]
    bases = [Gaussian(gamma=g) for g in GAMMAS]
    if method == "local":
        return [Average(k, group, n_transforms=8, random_state=repetition) for k in bases]
    return bases


def fit(method, X, y, repetition):
    """A function from points of the sphere to values."""
    if method.startswith("spec-avg"):
        estimator = "ridge" if method == "spec-avg-ridge" else "mean"
        model = SpectralAveraging(sphere, group, degree=1, estimator=estimator)
        degrees = {"degree": DEGREES}
        return GridSearchCV(model, degrees, scoring="neg_mean_squared_error").fit(X, y).predict
    options = candidates(method, len(X), repetition)
    if method == "augmentation":
        moved = group.act(group.sample(3, repetition), X)
        return best_with_copies(options, learner, X=X, y=y, moved=moved)
    if method == "best-fit":
        f = best_by_leave_one_out(options, learner, X=np.sort(X), y=y)
        return lambda Z: f(np.sort(Z))
    return best_by_leave_one_out(options, learner, X=X, y=y)


# %%
@run.cache
def compare(method, n, repetition):
    X, y, Z = draw(n, repetition)
    how = dict(n_elements=30, relative=True)
    return trial(
        lambda: fit(method, X, y, repetition),
        Z,
        score=lambda predicted: np.mean((predicted - target(Z)) ** 2),
        discrepancy=lambda f: invariance_discrepancy(f, group, Z[:10], **how),
        memory=repetition == 0,
        apart=FULL,
    )


# %% [markdown]
# ## Results
#
# Few polynomials of low degree are symmetric: ridge regression among these has little to fit. The
# best fit is sorting here, for the price of a plain kernel. What rests on a sample of permutations
# is not invariant. Orbit Nystrom with as many landmarks as points can follow the noise exactly, and
# now and then the noisy leave-one-out error is smallest there: take fewer.

# %%
show(
    run,
    {(m, n): [compare(m, n, r) for r in range(DRAWS)] for m in NAMES for n in SIZES},
    NAMES,
    score="mean squared error",
    discrepancy="relative invariance discrepancy",
    higher_is_better=False,
)
