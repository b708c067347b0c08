# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # In GPyTorch and BoTorch
#
# A kernel of this package becomes a kernel of GPyTorch by ten lines. Gradients pass through both of its
# arguments, so GPyTorch learns lengthscales, and BoTorch optimises symmetric functions.
#
# The packages come with the extra `gpytorch`: `pip install ".[gpytorch]"`. Without them the cells below
# that need them are skipped.

# %% tags=["parameters"]
profile: str = "quick"  # quick or full
seed: int = 0

# %%
import warnings
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel

from invariance.companion import Run, panel
from invariance.evaluation import mean_se
from invariance.groups import Permutations
from invariance.kernels import Average, Gaussian

run = Run("guides/in_gpytorch", profile=profile, seed=seed)  # only stores the results
HAS_GPYTORCH = find_spec("gpytorch") is not None
HAS_BOTORCH = HAS_GPYTORCH and find_spec("botorch") is not None
if HAS_GPYTORCH:
    import gpytorch
    import torch
else:
    print("GPyTorch is not installed, so the cells that need it are skipped.")
if HAS_BOTORCH:
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
elif HAS_GPYTORCH:
    print("BoTorch is not installed, so the optimisation at the end is skipped.")

# %% tags=["settings"]
N_STEPS = 40 if run.quick else 200
N_EVALUATIONS = 2 if run.quick else 10
N_REPEATS = 1 if run.quick else 5
N_FIRST = 4  # evaluations at random points

# %% [markdown]
# ## 1. A symmetric function
#
# The points are three pairs of numbers, and the order of the pairs is arbitrary. The function has its
# maximum where the pairs are at three given places, in any order.


# %%
PLACES = np.array([[0.2, 0.3], [0.5, 0.8], [0.9, 0.4]])


def symmetric_function(X):
    """Sum over places of the closeness of the nearest pair, shape (n,), at most 3."""
    pairs = np.asarray(X).reshape(-1, 3, 1, 2)
    squares = np.square(pairs - PLACES).sum(axis=3)
    return np.exp(-5 * squares.min(axis=1)).sum(axis=1)


rng = np.random.default_rng(seed)
X_train = rng.random((100, 6))
X_test = rng.random((100, 6))
noise = 0.02
y_train = symmetric_function(X_train) + noise * rng.standard_normal(100)
y_mean = y_train.mean()
kernel = Average(Gaussian(gamma=0.5), Permutations(3, block=2))

# %% [markdown]
# ## 2. Ten lines
#
# GPyTorch hands over two tensors, which may have further axes in front, and asks for a matrix or for its
# diagonal. **The lengthscale divides the points**, so the kernel itself needs no parameter: `gamma=0.5`
# is the usual Gaussian kernel of lengthscale one.

# %%
if HAS_GPYTORCH:

    class Invariant(gpytorch.kernels.Kernel):
        """A kernel of this package, with a lengthscale that GPyTorch learns."""

        has_lengthscale = True

        def __init__(self, kernel, **options):
            super().__init__(**options)
            self.kernel = kernel

        def forward(self, x1, x2, diag=False, **options):
            if x1.dim() > 2:
                return torch.stack([self.forward(a, b, diag) for a, b in zip(x1, x2, strict=True)])
            gram = self.kernel(x1 / self.lengthscale, x2 / self.lengthscale)
            return gram.diagonal() if diag else gram


# %% [markdown]
# ## 3. Learn the lengthscale
#
# The model and the loop are GPyTorch's own. The marginal likelihood has a gradient with respect to the
# lengthscale, because the kernel has one with respect to *both* arguments.

# %%
if HAS_GPYTORCH:

    class Process(gpytorch.models.ExactGP):
        """A Gaussian process with mean zero and an invariant kernel."""

        def __init__(self, X, y, likelihood):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(Invariant(kernel))

        def forward(self, X):
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(X), self.covar_module(X)
            )

    torch.manual_seed(seed)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    process = Process(torch.tensor(X_train), torch.tensor(y_train - y_mean), likelihood).double()
    first_lengthscale = process.covar_module.base_kernel.lengthscale.item()

# %%
if HAS_GPYTORCH:
    marginal_likelihood = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, process)
    optimizer = torch.optim.Adam(process.parameters(), lr=0.1)
    for _ in range(N_STEPS):
        optimizer.zero_grad()
        loss = -marginal_likelihood(process(*process.train_inputs), process.train_targets)
        loss.backward()
        optimizer.step()
    lengthscale = process.covar_module.base_kernel.lengthscale.item()
    scale = process.covar_module.outputscale.item()
    variance_of_noise = likelihood.noise.item()
    print(f"lengthscale: {first_lengthscale:.3f} at first, {lengthscale:.3f} after {N_STEPS} steps")
    assert abs(lengthscale - first_lengthscale) > 0.01

# %% [markdown]
# ## 4. The same process in scikit-learn
#
# A lengthscale $\ell$ is `gamma` $= 1 / (2 \ell^2)$. With the learned parameters, scikit-learn's Gaussian
# process makes the same predictions, means and standard deviations.

# %%
if not HAS_GPYTORCH:
    lengthscale, scale, variance_of_noise = 0.7, 1.0, noise**2
same_kernel = ConstantKernel(scale) * Average(Gaussian(0.5 / lengthscale**2), kernel.group)
reference = GaussianProcessRegressor(same_kernel, alpha=variance_of_noise, optimizer=None)
reference.fit(X_train, y_train - y_mean)
means, deviations = reference.predict(X_test, return_std=True)

if HAS_GPYTORCH:
    process.eval()
    likelihood.eval()
    with torch.no_grad():
        prediction = process(torch.tensor(X_test))
    largest_difference = np.abs(prediction.mean.numpy() - means).max()
    assert np.allclose(prediction.mean.numpy(), means, atol=1e-6)
    assert np.allclose(prediction.variance.numpy(), deviations**2, atol=1e-6)
    print(f"largest difference of two means: {largest_difference:.0e}")

errors = means + y_mean - symmetric_function(X_test)
explained = 1 - errors.var() / symmetric_function(X_test).var()
print(f"share of the variance that is explained on new points: {explained:.2f}")

# %% [markdown]
# ## 5. Bayesian optimisation of a symmetric function
#
# BoTorch climbs the expected improvement by its gradient with respect to the *candidate*, which is an
# argument of the kernel too. One evaluation informs an invariant process about all six orders of the pairs.
# Five repetitions of the full profile show what that is worth; a quick run has too few evaluations to tell.
#
# Two choices matter with so few values:
#
# - **A prior of the lengthscale, and a bound below.** The likelihood of four values is often largest at a
#   lengthscale near zero, at which the kernel matrix is diagonal and the search is blind. Both kernels
#   get the prior and the bound of BoTorch's own default kernel.
# - **`normalize=True`.** The average of a kernel with itself is largest where the pairs of a point are
#   equal. Without normalisation the process is most uncertain at such points, and the search goes there.


# %%
if HAS_BOTORCH:
    normalized = Average(Gaussian(gamma=0.5), Permutations(3, block=2), normalize=True)

    def lengthscale_options():
        """Return the prior and the bound of BoTorch's default kernel, for six numbers."""
        prior = gpytorch.priors.LogNormalPrior(np.sqrt(2) + np.log(6) / 2, np.sqrt(3))
        bound = gpytorch.constraints.GreaterThan(0.025, initial_value=prior.mode)
        return {"lengthscale_prior": prior, "lengthscale_constraint": bound}


# %%
def best_values(make_kernel, repeat):
    """Return the best value that is known after each evaluation, shape (N_EVALUATIONS + 1,)."""
    torch.manual_seed(repeat)
    X = torch.rand(N_FIRST, 6, dtype=torch.double)
    y = torch.tensor(symmetric_function(X))
    best = [y.max().item()]
    bounds = torch.tensor([[0.0] * 6, [1.0] * 6], dtype=torch.double)
    for _ in range(N_EVALUATIONS):
        covariance = gpytorch.kernels.ScaleKernel(make_kernel())
        model = SingleTaskGP(X, y[:, None], covar_module=covariance.double())
        fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
        improvement = LogExpectedImprovement(model, best_f=y.max())
        candidate, _ = optimize_acqf(improvement, bounds, q=1, num_restarts=2, raw_samples=16)
        X = torch.cat([X, candidate])
        y = torch.cat([y, torch.tensor(symmetric_function(candidate))])
        best.append(y.max().item())
    return best


# %%
if HAS_BOTORCH:
    runs = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that stop early
        for name, make_kernel in {
            "invariant": lambda: Invariant(normalized, **lengthscale_options()),
            "plain": lambda: gpytorch.kernels.RBFKernel(**lengthscale_options()),
        }.items():
            runs[name] = np.array([best_values(make_kernel, r) for r in range(N_REPEATS)])
    evaluations = N_FIRST + np.arange(N_EVALUATIONS + 1)
    regret = {name: 3 - best for name, best in runs.items()}
    middle = N_EVALUATIONS // 2
    fig, ax = plt.subplots(figsize=(5.5, 3.6))
    panel(
        ax,
        evaluations,
        {
            name: (colour, regret[name].mean(axis=0))
            for name, colour in (("invariant", "haar"), ("plain", "raw"))
        },
        log="y",
        xlabel="number of evaluations",
        ylabel="regret: 3 minus the best value so far",
        title=f"After {evaluations[middle]} evaluations the regret is "
        f"{regret['invariant'][:, middle].mean():.2f}, "
        f"with a plain kernel {regret['plain'][:, middle].mean():.2f}",
    )
    run.figure(fig, "optimisation")

# %%
if HAS_BOTORCH:
    rows = []
    for k in range(0, N_EVALUATIONS + 1, 2):
        row = {"evaluations": evaluations[k]}
        for name, values in regret.items():
            mean, se = mean_se(values[:, k])
            row[name] = f"{mean:.3f} ± {se:.3f}"
        mean, se = mean_se(regret["plain"][:, k] - regret["invariant"][:, k])
        row["plain minus invariant"] = f"{mean:+.3f} ± {se:.3f}"
        rows.append(row)
    run.table(rows, "regret", caption=f"Mean regret and standard error, {N_REPEATS} repetitions.")

# %% [markdown]
# ## Which derivatives exist
#
# - `Average` and `BestFit` have gradients through both arguments, also of `k(X, X)` and with
#   `normalize=True`, over every group whose elements can be listed or have closed forms.
# - A maximum has the gradient at the transformation that attains it. Its second derivatives leave out how
#   the best one of infinitely many rotations changes.
# - Over infinite groups, `Average` takes nodes for tensors, up to its `tolerance`.
# - The base may be a sum, a product or a power of kernels. One that only NumPy can evaluate refuses tensors.
# - Groups that act by maps that are not linear raise an error that names a remedy.
#
# `BestFit` need not be positive definite, so a Gaussian process takes `Average`.

# %% [markdown]
# ## Try it
#
#     invariance run guides/in_gpytorch -p seed 1
