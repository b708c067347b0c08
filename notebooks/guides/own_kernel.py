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
# Whatever compares two of your points, five lines make it a kernel that can be averaged over a
# group, maximised over it, put into a support vector machine, and tuned by a Gaussian process.

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
from invariance.linear import RLSClassifier
from invariance.orbits import Form

run = Run("guides/own_kernel", profile=profile, seed=seed)  # keeps what the notebook makes, no more
rng = np.random.default_rng(seed)
X = rng.standard_normal((160, 6))
y = (np.cos(X * np.roll(X, 1, axis=1)).sum(axis=1) > 3.6).astype(int)

# %% [markdown]
# ## The least that it needs
#
# A class with `_gram(X, Y)`. Points arrive as float arrays, one per row, already checked. **`Y`
# is None when the Gram matrix of X with itself is wanted**: take X for it, and make use of the
# symmetry if you can. `__init__` stores its arguments and does nothing else, as everywhere in
# scikit-learn; `_parameters` says what they may be.


# %%
class Cauchy(Kernel):
    """k(x, z) = 1 / (1 + gamma |x - z|^2)."""

    _parameters = {"gamma": Positive()}

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def _gram(self, X, Y):
        Y = X if Y is None else Y
        squared = (X**2).sum(axis=1)[:, None] - 2 * X @ Y.T + (Y**2).sum(axis=1)
        return 1 / (1 + self.gamma * np.maximum(squared, 0))


group = CyclicShifts(6)
invariant, repaired = Average(Cauchy(0.3), group), GramTransformer(BestFit(Cauchy(0.3), group))
models = {
    "plain": SVC(C=100, kernel=Cauchy(0.3)),
    "averaged over shifts": SVC(C=100, kernel=invariant),
    "best fit, repaired": make_pipeline(repaired, RLSClassifier(kernel="precomputed")),
}
for name, model in models.items():
    print(f"{cross_val_score(model, X, y, cv=4).mean():.2f} {name}")

# %% [markdown]
# So far the average has evaluated the kernel for each pair of shifts: it cannot know that a common
# shift of both points changes nothing.
#
# ## Three promises that make it fast
#
# - `unitary_invariant = True`: a common rotation, shift or permutation of both points changes
#   nothing. One of the two sums over the group can then go.
# - `inner_form(shape)`: the kernel is a function of one number, the inner product or the
#   distance. Then transformed points meet in matrix products, and shifts in the frequency domain.
# - `diag` (by `_diag(X)`): the values k(x, x), without the Gram matrix.


# %%
class FastCauchy(Cauchy):
    """The same, and it says so."""

    unitary_invariant = True
    _tuned = ("gamma",)  # a Gaussian process may tune gamma, within `gamma_bounds` if there are any

    def inner_form(self, shape):
        # v is -|x - z|^2 / 2
        return Form(
            lambda v, xp: 1 / (1 - 2 * self.gamma * xp.where(v < 0, v, 0 * v)), distance=True
        )

    def _diag(self, X):
        return np.ones(len(X))


slow, fast = invariant(X), Average(FastCauchy(0.3), group)
print("largest difference", np.abs(slow - fast(X)).max())
print("slow:", invariant.explain(X))
print("fast:", fast.explain(X))
assert np.allclose(slow, fast(X))

# %% [markdown]
# ## Tuned by a Gaussian process
#
# `_tuned` names the positive parameters; their derivatives are computed, also through an average
# or a best fit. `Average(RBF(), group)` goes the same way as `Average(Gaussian(), group)`.

# %%
values = np.cos(X * np.roll(X, 1, axis=1)).sum(axis=1) + 0.1 * rng.standard_normal(len(X))
found = []
for base in (FastCauchy(0.01), Gaussian(0.01), RBF(2.0)):
    kernel = ConstantKernel() * Average(base, group) + WhiteKernel(0.1)
    how = dict(normalize_y=True, n_restarts_optimizer=1, random_state=0)
    process = GaussianProcessRegressor(kernel, **how).fit(X[:100], values[:100])
    tuned = " ".join(repr(process.kernel_).split())
    found.append({"R^2": process.score(X[100:], values[100:]), "tuned kernel": tuned})
run.table(found, "tuned", caption="Gaussian processes with three base kernels, tuned.")

# %% [markdown]
# ## Where to go
#
# - A kernel of more than two parts (of sets, of images with a shape) looks the same;
#   `point_shape` says what a row is.
# - A group of your own: `guides/own_group`. Into production: `guides/production`.
# - An indefinite kernel: `RLSClassifier(kernel=...)` repairs it by itself and says so.
