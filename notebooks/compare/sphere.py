# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A symmetric function on the sphere: which method when
#
# Spectral averaging with ridge regression is far better than the other methods, unless there are very
# few samples.
#
# The function on the sphere $S^{9}$ does not depend on the order of the ten coordinates. The group
# of permutations has $10! = 3{,}628{,}800$ elements: too many to average over, and too many to
# try. Each paper has its own way out. Pooled features (Mroueh et al. 2015, Raj et al. 2017) and
# averaged kernels take a *sample* of permutations, and are invariant up to the error of the sample.
# Spectral averaging (Soleymani et al. 2025) needs the two generators only. And the best fit over all
# permutations (Liu et al. 2022) has a closed form: by the rearrangement inequality
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
from _comparison import regression_sizes, show
from _trials import all_trials, regression_trial
from sklearn.model_selection import GridSearchCV

from invariance.companion import Run
from invariance.evaluation import best_by_leave_one_out, best_with_copies
from invariance.features import GroupCDF, OrbitFourier, OrbitNystroem
from invariance.groups import Permutations
from invariance.kernels import Average, Gaussian
from invariance.linear import RLSRegressor
from invariance.spectral import SpectralAveraging, Sphere

run = Run("compare/sphere", profile=profile, seed=seed)

# %% tags=["settings"]
FULL = not run.quick
DIMENSION = 10
NOISE = 0.1
GAMMAS = (0.2, 0.6, 2.0)
SIZES, N_DRAWS, N_TEST, N_FEATURES = regression_sizes(run.quick)
if run.quick:
    N_TRANSFORMS = 10
    DEGREES = [1, 2]
else:
    N_TRANSFORMS = 100
    DEGREES = [1, 2, 3, 4]

# %% [markdown]
# The target is symmetric and smooth, and it is not a polynomial.

# %%
group = Permutations(DIMENSION)
sphere = Sphere(DIMENSION)


# %%
def target(X):
    scaled = np.sqrt(DIMENSION) * X
    return np.log(np.mean(np.exp(scaled), axis=1)) - 0.5


def draw(n, repetition):
    """Return training points with noisy values, and test points."""
    rng = np.random.RandomState(1000 * seed + repetition)
    X = sphere.sample(1000, rng)[:n]
    noise = rng.standard_normal(1000)[:n]
    X_test = sphere.sample(N_TEST, rng)
    return X, target(X) + NOISE * noise, X_test


# %% [markdown]
# ## The methods
#
# Orbit features and the averaged kernel (of both arguments) share a sample of permutations; CDF
# pooling uses `N_TRANSFORMS` permutations of each template.

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
learner = RLSRegressor()


# %% [markdown]
# Leave-one-out chooses among the candidates of a method: one per bandwidth, or one per number of bins
# for CDF pooling.


# %%
def features(method, n, repetition):
    """Return the candidates of a feature map."""
    options = {"n_transforms": N_TRANSFORMS, "random_state": repetition}
    candidates = []
    if method == "cdf":
        for n_bins in (5, 10, 20):
            model = GroupCDF(group, N_FEATURES // 5, n_bins=n_bins, s="data", **options)
            candidates.append(model)
        return candidates
    for gamma in GAMMAS:
        if method == "lgika-rff":
            model = OrbitFourier(group, N_FEATURES, gamma=gamma, form="cos_sin", **options)
        else:
            model = OrbitNystroem(group, min(N_FEATURES, n), gamma=gamma, **options)
        candidates.append(model)
    return candidates


# %%
def candidates(method, n, repetition):
    """Return the candidates of a method."""
    if method in ("cdf", "lgika-rff", "lgika-nystrom"):
        return features(method, n, repetition)
    bases = [Gaussian(gamma=gamma) for gamma in GAMMAS]
    if method == "local":
        options = {"n_transforms": 8, "random_state": repetition}
        return [Average(base, group, **options) for base in bases]
    return bases


# %% [markdown]
# Spectral averaging chooses its degree by cross-validation, and the best fit sorts the coordinates.


# %%
def fit_spectral(X, y, estimator):
    """Return the predictions of spectral averaging, with the degree chosen by cross-validation."""
    model = SpectralAveraging(sphere, group, degree=1, estimator=estimator)
    search = GridSearchCV(model, {"degree": DEGREES}, scoring="neg_mean_squared_error")
    return search.fit(X, y).predict


# %%
def fit(method, X, y, repetition):
    """Return a function from points of the sphere to values."""
    if method == "spec-avg":
        return fit_spectral(X, y, "mean")
    if method == "spec-avg-ridge":
        return fit_spectral(X, y, "ridge")
    options = candidates(method, len(X), repetition)
    if method == "augmentation":
        copies = group.act(group.sample(3, repetition), X)
        return best_with_copies(options, learner, X=X, y=y, moved=copies)
    if method == "best-fit":
        predict = best_by_leave_one_out(options, learner, X=np.sort(X), y=y)
        return lambda X_test: predict(np.sort(X_test))
    return best_by_leave_one_out(options, learner, X=X, y=y)


# %%
@run.cache
def compare(method, n, repetition):
    X, y, X_test = draw(n, repetition)
    return regression_trial(
        lambda: fit(method, X, y, repetition),
        X_test,
        target(X_test),
        group=group,
        n_elements=30,
        memory=repetition == 0,
        apart=FULL,
    )


# %% [markdown]
# ## Results
#
# Few polynomials of low degree are symmetric, so ridge regression among them has little to fit. The
# best fit amounts to sorting here, for the price of a plain kernel. Methods that use a sample of
# permutations are not invariant. Orbit Nystrom with as many landmarks as points can follow the noise
# exactly, and occasionally the noisy leave-one-out error is smallest there: take fewer landmarks.

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
