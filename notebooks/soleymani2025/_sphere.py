"""Symmetric functions on spheres, and the models that are compared on them."""

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from invariance.groups import Permutations
from invariance.kernels import Average, Gaussian
from invariance.spectral import SpectralAveraging, Sphere

N_TEST = 1000
GAUSSIANS = [Gaussian(gamma=gamma) for gamma in (0.1, 0.5, 2.0)]
LARGEST_AVERAGED_ORDER = 120  # groups whose exact average is among the models


def target(X):
    """A symmetric function that is no polynomial; of order one in every dimension."""
    d = X.shape[1]
    mean_exponential = np.mean(np.exp(np.sqrt(d) * X), axis=1)
    return np.sqrt(d) * (np.log(mean_exponential) - 0.5)


def draw(d, n, noise, random_state):
    """Training points, noisy labels, and test points."""
    rng = np.random.RandomState(random_state)
    X = Sphere(d).sample(n, rng)
    y = target(X) + noise * rng.standard_normal(n)
    Z = Sphere(d).sample(N_TEST, rng)
    return X, y, Z


def tuned(X, y, kernels):
    """Kernel ridge regression with kernel and penalty by three-fold cross-validation."""
    grid = {"kernel": kernels, "alpha": [1e-4, 1e-3, 1e-2, 1e-1]}
    search = GridSearchCV(KernelRidge(), grid, cv=3, scoring="neg_mean_squared_error")
    return search.fit(X, y)


def fitted_models(d, X, y, *, degree, n_sampled, random_state):
    """Fit all methods to the same sample, and return them by name.

    `n_sampled` is the number of random permutations of the sampled kernel average.
    """
    group = Permutations(d)
    plain = tuned(X, y, GAUSSIANS)
    base = Gaussian(plain.best_params_["kernel"].gamma)
    alpha = plain.best_params_["alpha"]
    sampled = Average(base, group, n_transforms=n_sampled, random_state=random_state)
    models = {
        "krr": plain,
        "krr-sampled": KernelRidge(kernel=sampled, alpha=alpha).fit(X, y),
        "augmentation": _augmented(group, base, alpha, X, y, random_state),
        "sorted": _sorted(X, y),
    }
    if group.order <= LARGEST_AVERAGED_ORDER:
        models["krr-average"] = tuned(X, y, [Average(base, group)])
    for name, estimator, highest in (
        ("spec-avg", "mean", degree),
        ("spec-avg-ridge", "ridge", degree),
        ("spec-avg-ridge, a degree more", "ridge", degree + 1),
    ):
        model = SpectralAveraging(Sphere(d), group, degree=highest, estimator=estimator)
        models[name] = model.fit(X, y)
    return models


def _augmented(group, base, alpha, X, y, random_state):
    """Kernel ridge regression on the sample and two randomly permuted copies of it."""
    elements = np.concatenate([group.identity(), group.sample(2, random_state)])
    copies = group.act(elements, X).reshape(-1, X.shape[1])
    labels = np.tile(y, len(elements))
    return KernelRidge(kernel=base, alpha=alpha).fit(copies, labels)


def _sorted(X, y):
    """Kernel ridge regression on sorted coordinates."""
    canonical = FunctionTransformer(np.sort)
    best = tuned(canonical.fit_transform(X), y, GAUSSIANS).best_estimator_
    return make_pipeline(canonical, best)
