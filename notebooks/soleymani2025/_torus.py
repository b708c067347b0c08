"""The paper's experiment on the torus under sign flips: data, models, and leave-one-out errors."""

from itertools import product

import numpy as np
from sklearn.kernel_ridge import KernelRidge

from invariance import spectral
from invariance.groups import SignFlips
from invariance.spectral import SpectralAveraging

DIMENSION = 10
N_TEST = 100
LAMBDAS = np.logspace(-6, 4, 21)
SIGNS_OF_HALF = np.array(list(product([1.0, -1.0], repeat=DIMENSION // 2)))
group = SignFlips(DIMENSION)
torus = spectral.Torus(DIMENSION)


def target(X):
    """Target of the paper, the mean of i x_i^2 over the coordinates i."""
    return X**2 @ np.arange(1, DIMENSION + 1) / DIMENSION


def draw(case, n, noise=0.0):
    """Training points, labels and test points of one seed."""
    rng = np.random.RandomState(case)
    X = torus.sample(n, rng)
    y = target(X) + noise * rng.standard_normal(n)
    Z = torus.sample(N_TEST, rng)
    return X, y, Z


def error(predicted, Z):
    """Mean squared test error against the noise-free target, one per model (column)."""
    return np.mean((predicted.T - target(Z)) ** 2, axis=-1)


def von_mises(eta):
    """Von Mises kernel with the paper's scale."""
    return spectral.VonMisesKernel(eta=eta, normalize=False)


def averaged_von_mises(eta):
    """Exact average of the von Mises kernel over all sign flips."""
    return spectral.SignAveragedVonMises(eta=eta, normalize=False)


def ridge_path(kernel, X, y, lambdas=LAMBDAS):
    """Kernel ridge regression at all penalties at once, one output per penalty."""
    repeated = np.repeat(y[:, None], len(lambdas), axis=1)
    return KernelRidge(kernel=kernel, alpha=lambdas).fit(X, repeated)


def invariant_counts(max_degree):
    """Number of invariant eigenfunctions up to each degree."""
    basis = torus.truncate(degree=max_degree)
    return np.cumsum(spectral.invariant_dimensions(basis, group))


def averages(X, y, degrees, counts, estimator="mean"):
    """Fitted Spec-Avg models by degree, as long as there are fewer functions than samples."""
    models = {}
    for degree in degrees:
        if counts[degree] < len(X):
            model = SpectralAveraging(torus, group, degree=degree, estimator=estimator)
            models[degree] = model.fit(X, y)
    return models


def change_under_flips(path, eta, Z):
    """Largest and root mean square change of kernel ridge regression under all sign flips.

    Both have one value per penalty. The kernel's values at all flips of a point are products of its
    values on the two halves of the coordinates.
    """
    first_half, second_half = np.split(np.pi * path.X_fit_, 2, axis=1)
    largest = 0.0
    mean_square = 0.0
    for z in np.pi * Z:
        first = _flipped_values(first_half, z[: DIMENSION // 2], eta)
        second = _flipped_values(second_half, z[DIMENSION // 2 :], eta)
        kernel = (first[:, None] * second).reshape(-1, len(path.X_fit_))
        values = kernel @ path.dual_coef_
        changes = values - values[0]
        largest = np.maximum(largest, np.abs(changes).max(axis=0))
        mean_square = mean_square + np.mean(changes**2, axis=0) / len(Z)
    return largest, np.sqrt(mean_square)


def _flipped_values(X, z, eta):
    """Kernel of all sign flips of z with X, on half of the coordinates, shape (flips, points)."""
    cosines = np.cos(X) @ np.cos(z)
    sines = (SIGNS_OF_HALF * np.sin(z)) @ np.sin(X).T
    return np.exp(eta * (cosines + sines))


def ridge_left_out(kernel, X, y):
    """Leave-one-out error of kernel ridge regression, one per penalty."""
    eigenvalues, eigenvectors = np.linalg.eigh(kernel(X))
    shrunk = 1 / (np.maximum(eigenvalues, 0)[:, None] + LAMBDAS)
    dual = eigenvectors @ (shrunk * (eigenvectors.T @ y)[:, None])
    residuals = dual / (eigenvectors**2 @ shrunk)
    return np.mean(residuals**2, axis=0)


def mean_left_out(model, X, y):
    """Leave-one-out error of the published mean in the model's invariant subspace."""
    n = len(X)
    phi = model.basis_.combine(X, model.vectors_)
    predicted = phi @ (phi.T @ y / n)
    without_itself = (n * predicted - (phi**2).sum(axis=1) * y) / (n - 1)
    return np.mean((without_itself - y) ** 2)


def chosen_errors(X, y, Z, degrees, counts, bandwidths):
    """Test errors with all hyperparameters chosen by leave-one-out, and the choices."""
    left_out = {}
    for bandwidth in bandwidths:
        errors = ridge_left_out(von_mises(bandwidth), X, y)
        for penalty, left_out_error in zip(LAMBDAS, errors, strict=True):
            left_out[bandwidth, penalty] = left_out_error
    bandwidth, penalty = min(left_out, key=left_out.get)
    ridge = ridge_path(von_mises(bandwidth), X, y, np.array([penalty]))
    models = averages(X, y, degrees, counts)
    degree = min(models, key=lambda k: mean_left_out(models[k], X, y))
    return {
        "n": len(X),
        "krr": error(ridge.predict(Z), Z)[0],
        "spec-avg": float(error(models[degree].predict(Z), Z)),
        "eta": bandwidth,
        "lambda": penalty,
        "D": int(counts[degree]),
    }
