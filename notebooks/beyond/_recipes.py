"""Five ways to use a symmetry in kernel regression, and their errors: `errors_by_recipe`.

The symmetry is that of cyclic shifts; points are uniform on the sphere, the target is a cubic.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from invariance.groups import CyclicShifts
from invariance.kernels import Average, Kernel, Polynomial
from invariance.spectral import SpectralAveraging, Sphere

Array = NDArray[np.float64]

PLAIN = "no symmetry"
AVERAGED_ANSWER = "average the answer"
AVERAGED_KERNEL = "average the kernel"
INSIDE = "ridge among invariant functions"
PUBLISHED = "published spectral averaging"

#: Recipes, and the methods whose colours they have in figures.
RECIPES = {
    PLAIN: "krr",
    AVERAGED_ANSWER: "krr-average",
    AVERAGED_KERNEL: "closed-form",
    INSIDE: "spec-avg-ridge",
    PUBLISHED: "spec-avg",
}
#: Penalties of kernel ridge regression, in units of the kernel's diagonal, which is one.
PENALTIES = 10.0 ** np.arange(-6, 1)


def base_kernel() -> Kernel:
    """Return the kernel <x, z>^3 of the plain regression."""
    return Polynomial(degree=3, gamma=1.0, coef0=0.0)


def invariant_kernel(d: int) -> Kernel:
    """Return the mean of the kernel over all cyclic shifts of d coordinates."""
    return Average(base_kernel(), CyclicShifts(d))


def target(X: Array) -> Array:
    """Return sum_i x_i x_(i+1) x_(i+3), indices modulo d, scaled to a variance of one.

    On the unit sphere of dimension d the mean of x_1^2 x_2^2 x_3^2 is 1 / (d (d + 2) (d + 4)), and
    different terms of the sum are uncorrelated. The function is a harmonic polynomial of degree 3.
    """
    d = X.shape[1]
    terms = X * np.roll(X, -1, axis=1) * np.roll(X, -3, axis=1)
    variance = d / (d * (d + 2) * (d + 4))
    return terms.sum(axis=1) / np.sqrt(variance)


class Draw:
    """Training, validation and test points of one draw, with noisy training targets."""

    def __init__(self, d: int, n_train: int, *, noise: float, n_test: int, seed: list[int]):
        rng = np.random.RandomState(seed)
        sphere = Sphere(d)
        self.d = d
        self.X = sphere.sample(n_train, rng)
        self.y = target(self.X) + noise * rng.standard_normal(n_train)
        self.X_validation = sphere.sample(n_test, rng)
        self.X_test = sphere.sample(n_test, rng)


def errors_by_recipe(draw: Draw, n_train: int, recipes: list[str]) -> dict[str, float]:
    """Return mean squared test errors of recipes that learn from the first ``n_train`` points."""
    X = draw.X[:n_train]
    y = draw.y[:n_train]
    errors = {}
    if PLAIN in recipes or AVERAGED_ANSWER in recipes:
        coefficients = _ridge(base_kernel(), X, y)
        # The mean of k(gx, x_i) over g turns the answer into its mean over the orbit of x.
        for recipe, kernel in (
            (PLAIN, base_kernel()),
            (AVERAGED_ANSWER, invariant_kernel(draw.d)),
        ):
            errors[recipe] = _validated_error(draw, kernel, X, coefficients)
    if AVERAGED_KERNEL in recipes:
        kernel = invariant_kernel(draw.d)
        errors[AVERAGED_KERNEL] = _validated_error(draw, kernel, X, _ridge(kernel, X, y))
    for recipe, estimator in ((INSIDE, "ridge"), (PUBLISHED, "mean")):
        if recipe not in recipes:
            continue
        model = SpectralAveraging(
            Sphere(draw.d), CyclicShifts(draw.d), degree=3, estimator=estimator
        )
        predictions = model.fit(X, y).predict(draw.X_test)
        errors[recipe] = float(np.mean((predictions - target(draw.X_test)) ** 2))
    return {recipe: errors[recipe] for recipe in recipes}


def _ridge(kernel: Kernel, X: Array, y: Array) -> Array:
    """Return coefficients of kernel ridge regression, a column for each penalty."""
    gram = np.asarray(kernel(X))
    columns = []
    for penalty in PENALTIES:
        penalised = gram.copy()
        penalised.flat[:: len(X) + 1] += penalty
        factor = linalg.cho_factor(penalised, overwrite_a=True, check_finite=False)
        columns.append(linalg.cho_solve(factor, y, check_finite=False))
    return np.stack(columns, axis=1)


def _validated_error(draw: Draw, kernel: Kernel, X: Array, coefficients: Array) -> float:
    """Return the test error at the penalty with the least error on the validation points."""
    validation = kernel(draw.X_validation, X) @ coefficients
    gaps = validation - target(draw.X_validation)[:, None]
    best = int(np.argmin((gaps**2).mean(axis=0)))
    predictions = kernel(draw.X_test, X) @ coefficients[:, best]
    return float(np.mean((predictions - target(draw.X_test)) ** 2))


def crossing(sizes: Array, errors: Array, level: float) -> float:
    """Return the sample size at which errors first fall below a level, interpolated in logarithms.

    It is the smallest size if all errors are below the level, and NaN if no error is.
    """
    below = np.asarray(errors) < level
    first = int(np.argmax(below))
    if not below[first]:
        return float("nan")
    if first == 0:
        return float(sizes[0])
    log_errors = np.log(errors[first - 1 : first + 1])
    log_sizes = np.log(sizes[first - 1 : first + 1])
    share = (log_errors[0] - np.log(level)) / (log_errors[0] - log_errors[1])
    return float(np.exp(log_sizes[0] + share * (log_sizes[1] - log_sizes[0])))
