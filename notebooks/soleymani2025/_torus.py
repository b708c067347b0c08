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
HALF = DIMENSION // 2
SIGNS_OF_HALF = np.array(list(product([1.0, -1.0], repeat=HALF)))
group = SignFlips(DIMENSION)
torus = spectral.Torus(DIMENSION)


def target(X):
    """Target of the paper, the mean of i x_i^2 over the coordinates i."""
    coefficients = np.arange(1, DIMENSION + 1)
    return X**2 @ coefficients / DIMENSION


def draw(case, n, noise=0.0):
    """Training points, labels and test points of one seed."""
    rng = np.random.RandomState(case)
    X = torus.sample(n, rng)
    errors = rng.standard_normal(n)
    y = target(X) + noise * errors
    Z = torus.sample(N_TEST, rng)
    return X, y, Z


def error(predicted, Z):
    """Mean squared test error against the noise-free target, one per model (column)."""
    differences = predicted.T - target(Z)
    return np.mean(differences**2, axis=-1)


def von_mises(eta):
    """Von Mises kernel with the paper's scale."""
    return spectral.VonMisesKernel(eta=eta, normalize=False)


def averaged_von_mises(eta):
    """Exact average of the von Mises kernel over all sign flips."""
    return spectral.SignAveragedVonMises(eta=eta, normalize=False)


def ridge_path(kernel, X, y, lambdas=LAMBDAS):
    """Kernel ridge regression at all penalties at once, one output per penalty."""
    repeated = np.repeat(y[:, None], len(lambdas), axis=1)
    model = KernelRidge(kernel=kernel, alpha=lambdas)
    return model.fit(X, repeated)


def invariant_counts(max_degree):
    """Number of invariant eigenfunctions up to each degree."""
    basis = torus.truncate(degree=max_degree)
    dimensions = spectral.invariant_dimensions(basis, group)
    return np.cumsum(dimensions)


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
    X = np.pi * path.X_fit_
    n = len(X)
    first_half, second_half = np.split(X, 2, axis=1)
    largest = 0.0
    mean_square = 0.0
    for z in np.pi * Z:
        first = _flipped_values(first_half, z[:HALF], eta)
        second = _flipped_values(second_half, z[HALF:], eta)
        products = first[:, None] * second
        kernel = products.reshape(-1, n)
        values = kernel @ path.dual_coef_
        changes = values - values[0]
        largest = np.maximum(largest, np.abs(changes).max(axis=0))
        mean_square = mean_square + np.mean(changes**2, axis=0) / len(Z)
    return largest, np.sqrt(mean_square)


def _flipped_values(X, z, eta):
    """Kernel of all sign flips of z with X, on half of the coordinates, shape (flips, points)."""
    cosines = np.cos(X) @ np.cos(z)
    flipped_sines = SIGNS_OF_HALF * np.sin(z)
    sines = flipped_sines @ np.sin(X).T
    return np.exp(eta * (cosines + sines))


def ridge_left_out(kernel, X, y):
    """Leave-one-out error of kernel ridge regression, one per penalty."""
    eigenvalues, eigenvectors = np.linalg.eigh(kernel(X))
    positive = np.maximum(eigenvalues, 0)
    shrunk = 1 / (positive[:, None] + LAMBDAS)
    coordinates = eigenvectors.T @ y
    dual = eigenvectors @ (shrunk * coordinates[:, None])
    diagonal = eigenvectors**2 @ shrunk  # of the inverse of the penalised Gram matrix
    residuals = dual / diagonal
    return np.mean(residuals**2, axis=0)


def mean_left_out(model, X, y):
    """Leave-one-out error of the published mean in the model's invariant subspace."""
    n = len(X)
    phi = model.basis_.combine(X, model.vectors_)
    coefficients = phi.T @ y / n
    predicted = phi @ coefficients
    squared_norms = (phi**2).sum(axis=1)
    without_itself = (n * predicted - squared_norms * y) / (n - 1)
    residuals = without_itself - y
    return np.mean(residuals**2)


def chosen_errors(X, y, Z, degrees, counts, bandwidths):
    """Test errors with all hyperparameters chosen by leave-one-out, and the choices."""
    bandwidth, penalty = _chosen_ridge(X, y, bandwidths)
    ridge = ridge_path(von_mises(bandwidth), X, y, np.array([penalty]))
    ridge_errors = error(ridge.predict(Z), Z)
    models = averages(X, y, degrees, counts)
    left_out = {degree: mean_left_out(model, X, y) for degree, model in models.items()}
    degree = min(left_out, key=left_out.get)
    mean_error = error(models[degree].predict(Z), Z)
    return {
        "n": len(X),
        "krr": ridge_errors[0],
        "spec-avg": float(mean_error),
        "eta": bandwidth,
        "lambda": penalty,
        "D": int(counts[degree]),
    }


def _chosen_ridge(X, y, bandwidths):
    """Bandwidth and penalty of the least leave-one-out error."""
    left_out = {}
    for bandwidth in bandwidths:
        errors = ridge_left_out(von_mises(bandwidth), X, y)
        for penalty, left_out_error in zip(LAMBDAS, errors, strict=True):
            left_out[bandwidth, penalty] = left_out_error
    return min(left_out, key=left_out.get)
