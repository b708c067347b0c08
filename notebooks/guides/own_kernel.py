# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A kernel of your own
#
# Five lines turn any comparison of two points into a kernel that can be averaged over a
# group, maximised over it, used in a support vector machine, and tuned by a Gaussian process.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from invariance.companion import Run
from invariance.core.parameters import Positive
from invariance.groups import CyclicShifts
from invariance.kernels import Average, BestFit, Gaussian, GramTransformer, Kernel
from invariance.linear import RLSClassifier, RLSRegressor
from invariance.orbits import Form

run = Run("guides/own_kernel", profile=profile, seed=seed)  # only stores the results
rng = np.random.default_rng(seed)
X = rng.standard_normal((160, 6))
neighbours = X * np.roll(X, 1, axis=1)
sums = np.cos(neighbours).sum(axis=1)
y = (sums > 3.6).astype(int)

# %% [markdown]
# ## The minimum
#
# The minimum is a class with `_gram(X, Y)`. Points arrive as float arrays, one per row, already checked.
# **`Y` is None for the Gram matrix of X with itself**: use X in its place, and exploit the
# symmetry if you can. `__init__` stores its arguments and does nothing else, as everywhere in
# scikit-learn; `_parameters` declares the allowed values.


# %%
class Cauchy(Kernel):
    """k(x, z) = 1 / (1 + gamma |x - z|^2)."""

    _parameters = {"gamma": Positive()}

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def _gram(self, X, Y):
        if Y is None:
            Y = X
        squares = (X**2).sum(axis=1)[:, None] - 2 * X @ Y.T + (Y**2).sum(axis=1)
        return 1 / (1 + self.gamma * np.maximum(squares, 0))


# %%
group = CyclicShifts(6)
invariant = Average(Cauchy(0.3), group)
repaired = GramTransformer(BestFit(Cauchy(0.3), group))
models = {
    "plain": SVC(C=100, kernel=Cauchy(0.3)),
    "averaged over shifts": SVC(C=100, kernel=invariant),
    "best fit, repaired": make_pipeline(repaired, RLSClassifier(kernel="precomputed")),
}
for name, model in models.items():
    print(f"{cross_val_score(model, X, y, cv=4).mean():.2f} {name}")

# %% [markdown]
# So far the average evaluates the kernel for each pair of shifts, because the class does not declare
# that a common shift of both points changes nothing.
#
# ## Three declarations that make it fast
#
# - `unitary_invariant = True`: a common rotation, shift or permutation of both points changes
#   nothing. Then one of the two sums over the group is superfluous.
# - `inner_form(shape)`: the kernel is a function of one number, the inner product or the
#   distance. Then transformed points are compared by matrix products, and shifts in the frequency
#   domain.
# - `diag` (by `_diag(X)`): the values k(x, x), without the Gram matrix.


# %%
class FastCauchy(Cauchy):
    """The same kernel with three declarations."""

    unitary_invariant = True
    _tuned = ("gamma",)  # a Gaussian process may tune gamma, within `gamma_bounds` if there are any

    def inner_form(self, shape):
        def outer(v, xp):
            # v is -|x - z|^2 / 2, and positive only by rounding.
            negative = xp.where(v < 0, v, 0 * v)
            return 1 / (1 - 2 * self.gamma * negative)

        return Form(outer, distance=True)

    def _diag(self, X):
        return np.ones(len(X))


# %%
fast = Average(FastCauchy(0.3), group)
slow_gram = invariant(X)
fast_gram = fast(X)
print("largest difference", np.abs(slow_gram - fast_gram).max())
print("slow:", invariant.explain(X))
print("fast:", fast.explain(X))
assert np.allclose(slow_gram, fast_gram)

# %% [markdown]
# ## Tuned by a Gaussian process
#
# `_tuned` names the positive parameters; their derivatives are computed, also through an average
# or a best fit. `Average(RBF(), group)` uses the same algorithm as `Average(Gaussian(), group)`.

# %%
values = sums + 0.1 * rng.standard_normal(len(X))
rows = []
for base in (FastCauchy(0.01), Gaussian(0.01), RBF(2.0)):
    kernel = ConstantKernel() * Average(base, group) + WhiteKernel(0.1)
    process = GaussianProcessRegressor(
        kernel, normalize_y=True, n_restarts_optimizer=1, random_state=0
    )
    process.fit(X[:100], values[:100])
    tuned = " ".join(repr(process.kernel_).split())
    rows.append({"R^2": process.score(X[100:], values[100:]), "tuned kernel": tuned})
run.table(rows, "tuned", caption="Gaussian processes with three base kernels, tuned.")

# %% [markdown]
# ## Error bars for `RLSRegressor`
#
# `RLSRegressor` minimises the mean squared error plus `alpha` times the squared norm. A Gaussian
# process with the same kernel and the noise variance `n * alpha` predicts the same values, and its
# `return_std` gives their standard deviations. Two details make them equal:
#
# - An intercept is a constant kernel with a large variance: with `fit_intercept=False`, leave it out.
# - The standard deviations hold if the targets vary as much as the kernel. One factor of kernel and
#   noise, estimated from the targets, leaves the predictions as they are and multiplies the standard
#   deviations by its root.

# %%
X_train = X[:100]
y_train = values[:100]
X_new = X[100:]
kernel = Average(Gaussian(0.1), group)
ridge = RLSRegressor(kernel=kernel).fit(X_train, y_train)
same_process = GaussianProcessRegressor(
    kernel + ConstantKernel(1e6), alpha=len(X_train) * ridge.alpha_, optimizer=None
)
mean, deviation = same_process.fit(X_train, y_train).predict(X_new, return_std=True)
assert np.allclose(mean, ridge.predict(X_new), atol=1e-5)

# %%
residuals = y_train - ridge.intercept_
variance = residuals @ same_process.alpha_ / len(X_train)
noise_variance = len(X_train) * ridge.alpha_
error_bars = np.sqrt(variance * (deviation**2 + noise_variance))  # of new measurements
share = np.mean(np.abs(mean - values[100:]) <= 1.96 * error_bars)
print(f"{100 * share:.0f} % of new values are within 1.96 standard deviations")

# %% [markdown]
# ## Next steps
#
# - A kernel of more than two parts (of sets, of images with a shape) looks the same;
#   `point_shape` declares the shape of a row.
# - A group of your own: `guides/own_group`. Into production: `guides/production`.
# - An indefinite kernel: `RLSClassifier(kernel=...)` repairs it and warns.
