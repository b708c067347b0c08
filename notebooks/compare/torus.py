# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # An even function on the torus: which method when
#
# The kernel averaged over all flips is the best method here, or level with the best, unless there are
# very few samples.
#
# The function lives on the six-dimensional torus $[-1, 1)^6$ and does not change when a coordinate
# changes its sign. The group of all sign flips has $2^6 = 64$ elements and can be listed. All four
# papers have something to offer. Spectral averaging works on the torus itself; the other methods get
# it embedded in space, $x_i \mapsto (\cos \pi x_i, \sin \pi x_i)$. Flipping $x_i$ flips the sine, so
# the action is unitary; the Gaussian kernel of these vectors is the torus's von Mises kernel.
#
# ## The protocol
#
# - Training points are uniform, and their values carry normal noise of 0.1. Risk is the mean squared
#   error at 500 further points, against the noise-free function.
# - All methods use the same learner, regularised least squares, with penalty and bandwidth chosen by
#   leave-one-out. The degree of spectral averaging (and, for ridge regression, the smoothness of the
#   penalty) is chosen by five-fold cross-validation. The test points are used only at the end.
# - Discrepancy is the largest change of the fitted function under the group, relative to its
#   largest value. Times and memory are measured as in `compare/digits`.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import warnings

import numpy as np
from _comparison import regression_sizes, show
from _trials import all_trials, regression_trial
from sklearn.model_selection import GridSearchCV

from invariance.companion import Run
from invariance.evaluation import best_by_leave_one_out, best_with_copies
from invariance.features import GroupCDF, OrbitFourier, OrbitNystroem
from invariance.groups import SignFlips
from invariance.kernels import Average, BestFit, Gaussian
from invariance.linear import RLSRegressor
from invariance.spectral import SpectralAveraging, Torus

run = Run("compare/torus", profile=profile, seed=seed)

# %% tags=["settings"]
FULL = not run.quick
DIMENSION = 6
NOISE = 0.1
GAMMAS = (0.05, 0.15, 0.5)
SIZES, N_DRAWS, N_TEST, N_FEATURES = regression_sizes(run.quick)
if run.quick:
    DEGREES = [1, 2]
else:
    DEGREES = [1, 2, 3, 4, 6, 8]

# %%
flips = SignFlips(DIMENSION)
torus = Torus(DIMENSION)
sines = range(DIMENSION, 2 * DIMENSION)
flips_in_space = flips.on_columns(sines)


def in_space(X):
    return np.hstack([np.cos(np.pi * X), np.sin(np.pi * X)])


# %% [markdown]
# The target is smooth and even, and it is not a trigonometric polynomial. One term sees each
# coordinate alone, the other couples neighbours.


# %%
def target(X):
    cosines = np.cos(np.pi * X)
    separate = np.log(np.mean(np.exp(1.5 * cosines), axis=1))
    coupled = np.mean(cosines[:, :-1] * cosines[:, 1:], axis=1)
    return separate + 0.5 * coupled


def draw(n, repetition):
    """Return training points with noisy values, and test points."""
    rng = np.random.RandomState(1000 * seed + repetition)
    X = torus.sample(1000, rng)[:n]
    noise = rng.standard_normal(1000)[:n]
    X_test = torus.sample(N_TEST, rng)
    return X, target(X) + NOISE * noise, X_test


# %% [markdown]
# ## The methods
#
# Averages, features and the best fit (its negative eigenvalues clipped) use all 64 flips unless the
# name says otherwise. Spectral averaging is used as published, and with ridge regression in the
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
learner = RLSRegressor()


# %% [markdown]
# Each method has a few candidates, among which leave-one-out chooses: one per bandwidth, or one per
# number of bins for CDF pooling.


# %%
def features(method, n, repetition):
    """Return the candidates of a feature map in the space of cosines and sines."""
    options = {"random_state": repetition}
    candidates = []
    if method == "cdf":
        for n_bins in (5, 10, 20):
            model = GroupCDF(flips_in_space, N_FEATURES // 5, n_bins=n_bins, s="data", **options)
            candidates.append(model)
        return candidates
    for gamma in GAMMAS:
        if method == "lgika-rff":
            model = OrbitFourier(flips_in_space, N_FEATURES, gamma=gamma, form="cos_sin", **options)
        else:
            n_landmarks = min(N_FEATURES, n)
            model = OrbitNystroem(flips_in_space, n_landmarks, gamma=gamma, **options)
        candidates.append(model)
    return candidates


# %%
def candidates(method, n, repetition):
    """Return the candidates of a method in the space of cosines and sines."""
    if method in ("cdf", "lgika-rff", "lgika-nystrom"):
        return features(method, n, repetition)
    bases = [Gaussian(gamma) for gamma in GAMMAS]
    if method == "local":
        options = {"n_transforms": 4, "random_state": repetition}
        return [Average(base, flips_in_space, **options) for base in bases]
    if method == "krr-average":
        return [Average(base, flips_in_space) for base in bases]
    if method == "best-fit":
        return [BestFit(base, flips_in_space) for base in bases]
    return bases


# %% [markdown]
# Spectral averaging has its own cross-validation. Degrees that are too high for the folds are
# rejected by it, so their warning is silenced.


# %%
def fit_spectral(X, y, estimator):
    """Return the predictions of spectral averaging, with the degree chosen by cross-validation."""
    model = SpectralAveraging(torus, flips, degree=1, estimator=estimator)
    grid = {"degree": DEGREES}
    if estimator == "ridge":
        grid["smoothness"] = [None, 6.0]
    search = GridSearchCV(model, grid, scoring="neg_mean_squared_error")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the cutoff keeps", UserWarning)
        return search.fit(X, y).predict


# %%
def fit(method, X, y, repetition):
    """Return a function from points of the torus to values."""
    if method == "spec-avg":
        return fit_spectral(X, y, "mean")
    if method == "spec-avg-ridge":
        return fit_spectral(X, y, "ridge")
    points = in_space(X)
    options = candidates(method, len(X), repetition)
    if method == "augmentation":
        copies = flips_in_space.act(flips_in_space.sample(3, repetition), points)
        predict = best_with_copies(options, learner, X=points, y=y, moved=copies)
    else:
        predict = best_by_leave_one_out(options, learner, X=points, y=y)
    return lambda X_test: predict(in_space(X_test))


# %% [markdown]
# A trial fits a method once and records its error, its discrepancy, its time and its memory.


# %%
@run.cache
def compare(method, n, repetition):
    X, y, X_test = draw(n, repetition)
    return regression_trial(
        lambda: fit(method, X, y, repetition),
        X_test,
        target(X_test),
        group=flips,
        n_elements=64,
        memory=repetition == 0,
        apart=FULL,
    )


# %% [markdown]
# ## Results
#
# An average over a few random flips is not invariant; neither is a kernel that has seen as many
# copies of the data. The published spectral averaging takes sample means as coefficients, which
# depend on the positions of the sample points; ridge regression in the same subspace fits them.

# %%
trials = all_trials(compare, NAMES, SIZES, N_DRAWS)

# %%
show(
    run,
    trials,
    NAMES,
    score="mean squared error",
    discrepancy="relative invariance discrepancy",
    higher_is_better=False,
)
