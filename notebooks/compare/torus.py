# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which one when: an even function on the torus
#
# A function on the six-dimensional torus $[-1, 1)^6$ that does not change when a coordinate
# changes its sign: the group of all sign flips has $2^6 = 64$ elements and can be listed. All four
# papers have something to offer. Spectral averaging works on the torus itself; the other three get
# it embedded in space, $x_i \mapsto (\cos \pi x_i, \sin \pi x_i)$. Flipping $x_i$ flips the sine,
# so that the action is unitary; the Gaussian kernel of these vectors is the torus's von Mises
# kernel.
#
# ## The protocol
#
# - Training points are uniform, their values carry normal noise of 0.1. Risk is the mean squared
#   error at 500 further points, against the noise-free function.
# - The same learner for all, regularised least squares, with penalty and bandwidth by leave-one-out;
#   the degree (and, for ridge regression, the smoothness of the penalty) of spectral averaging by
#   five-fold cross-validation. No test point is looked at before the end.
# - Discrepancy is the largest change of the fitted function under the group, relative to its
#   largest value. Times and memory are measured as in `compare/digits`.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import warnings

import numpy as np
from _comparison import show
from sklearn.model_selection import GridSearchCV

from invariance.companion import Run
from invariance.evaluation.selection import best_by_leave_one_out, best_with_copies
from invariance.evaluation.trials import trial
from invariance.features import GroupCDF, OrbitFourier, OrbitNystroem
from invariance.groups import SignFlips
from invariance.kernels import Average, BestFit, Gaussian
from invariance.linear import RLSRegressor
from invariance.spectral import SpectralAveraging, Torus, invariance_discrepancy

run = Run("compare/torus", profile=profile, seed=seed)

# %% tags=["settings"]
FULL = not run.quick
DIMENSION, NOISE, TEST = 6, 0.1, 500 if FULL else 100
SIZES = (10, 30, 100, 300, 1000) if FULL else (10, 30)
DRAWS, FEATURES = (8, 500) if FULL else (2, 100)
DEGREES = [1, 2, 3, 4, 6, 8] if FULL else [1, 2]


# %%
flips, torus = SignFlips(DIMENSION), Torus(DIMENSION)
on_space = flips.on_columns(range(DIMENSION, 2 * DIMENSION))  # the sines alone


def in_space(X):
    return np.hstack([np.cos(np.pi * X), np.sin(np.pi * X)])


# %% [markdown]
# The target is smooth, even, and no trigonometric polynomial: one term sees each coordinate
# alone, the other couples neighbours.


# %%
def target(X):
    c = np.cos(np.pi * X)
    return np.log(np.mean(np.exp(1.5 * c), axis=1)) + 0.5 * np.mean(c[:, :-1] * c[:, 1:], axis=1)


def draw(n, repetition):
    rng = np.random.RandomState(1000 * seed + repetition)
    X = torus.sample(1000, rng)[:n]
    return X, target(X) + NOISE * rng.standard_normal(1000)[:n], torus.sample(TEST, rng)


# %% [markdown]
# ## The methods
#
# Averages, features and the best fit (its negative eigenvalues clipped) go over all 64 flips where
# nothing else is said. Spectral averaging comes as published and by ridge regression in the
# invariant subspace.

# %%
NAMES = {
    "krr": "plain kernel ridge",
    "augmentation": "three random copies more",
    "local": "averaged kernel, 4 random flips",
    "krr-average": "averaged kernel, all flips",
    "lgika-rff": "orbit random Fourier",
    "lgika-nystrom": "orbit Nystrom",
    "cdf": "CDF pooling",
    "best-fit": "best fit",
    "spec-avg": "spectral averaging, as published",
    "spec-avg-ridge": "spectral averaging, ridge",
}
GAMMAS, learner = (0.05, 0.15, 0.5), RLSRegressor()


def candidates(method, n, repetition):
    """The method in the space of cosines and sines, a candidate a bandwidth."""
    how, bases, few = dict(random_state=repetition), map(Gaussian, GAMMAS), min(FEATURES, n)
    if method == "cdf":
        how |= dict(s="data")
        return [GroupCDF(on_space, FEATURES // 5, n_bins=b, **how) for b in (5, 10, 20)]
    if method == "lgika-rff":
        return [OrbitFourier(on_space, FEATURES, gamma=g, form="cos_sin", **how) for g in GAMMAS]
    if method == "lgika-nystrom":
        return [OrbitNystroem(on_space, few, gamma=g, **how) for g in GAMMAS]
    if method == "local":
        return [Average(k, on_space, n_transforms=4, **how) for k in bases]
    of = {"krr-average": Average, "best-fit": BestFit}
    return [of[method](k, on_space) for k in bases] if method in of else list(bases)


def fit(method, X, y, repetition):
    """A function from points of the torus to values."""
    if method.startswith("spec-avg"):
        estimator = "ridge" if method == "spec-avg-ridge" else "mean"
        model = SpectralAveraging(torus, flips, degree=1, estimator=estimator)
        grid = {"degree": DEGREES, "smoothness": [None, 6.0] if estimator == "ridge" else [None]}
        search = GridSearchCV(model, grid, scoring="neg_mean_squared_error")
        with warnings.catch_warnings():  # degrees too high for the folds are rejected anyway
            warnings.filterwarnings("ignore", "the cutoff keeps", UserWarning)
            return search.fit(X, y).predict
    E, options = in_space(X), candidates(method, len(X), repetition)
    if method == "augmentation":
        moved = on_space.act(on_space.sample(3, repetition), E)
        f = best_with_copies(options, learner, X=E, y=y, moved=moved)
    else:
        f = best_by_leave_one_out(options, learner, X=E, y=y)
    return lambda Z: f(in_space(Z))


# %%
@run.cache
def compare(method, n, repetition):
    X, y, Z = draw(n, repetition)
    how = dict(n_elements=64, relative=True)
    return trial(
        lambda: fit(method, X, y, repetition),
        Z,
        score=lambda predicted: np.mean((predicted - target(Z)) ** 2),
        discrepancy=lambda f: invariance_discrepancy(f, flips, Z[:10], **how),
        memory=repetition == 0,
        apart=FULL,
    )


# %% [markdown]
# ## Results
#
# An average over a few random flips is not invariant; neither is a kernel that has seen as many
# copies of the data. As published, the coefficients of spectral averaging are sample means, which
# vary with where the points happen to lie; ridge regression in the same subspace fits them.

# %%
show(
    run,
    {(m, n): [compare(m, n, r) for r in range(DRAWS)] for m in NAMES for n in SIZES},
    NAMES,
    score="mean squared error",
    discrepancy="relative invariance discrepancy",
    higher_is_better=False,
)
