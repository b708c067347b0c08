"""Learners, features and Gram matrices of the notebook `quantum_machine`.

Molecules come in five folds of n each. Arrays with one row per molecule hold fold 0 first, then
fold 1, and so on. Energies have shape (5, n).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from _ridge import gram_times, solve_by_gradients
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from invariance.features import draw_templates
from invariance.groups import SortedNoise
from invariance.kernels import Gaussian
from invariance.linear import solve_ridges
from invariance.orbits import Histogram, OrbitProducts, WeightedMean

N_FOLDS = 5
JITTER = 1e-10  # added to the diagonal of the landmarks' Gram matrix
N_BINS = 25  # of a histogram feature, on each side of zero
# Counts under so many templates are whole numbers that single precision adds without error.
TEMPLATE_BLOCK = 25
# Below this penalty, a Gram matrix in single precision is too inaccurate as a preconditioner.
LEAST_ALPHA_IN_SINGLE = 1e-5
# The preconditioner's penalty is at least this: more than most matrices lose in rounding.
LEAST_PRECONDITIONER_ALPHA = 1e-4

Matrices = str | float
Predictor = Callable[..., NDArray]


class Job(NamedTuple):
    """One model to measure: the fold that it is tested on, and its parameters."""

    fold: int
    matrices: Matrices
    sigma: float | None
    tau: float | None
    alpha: float


def grid(**axes: Sequence[Any]) -> list[dict[str, Any]]:
    """Return all combinations of the values on the axes, the last axis first."""
    names = list(axes)
    combined = product(*axes.values())
    return [dict(zip(names, values, strict=True)) for values in combined]


# ------------------------------------------------------------------------- ridge regression


def ridge_predictions(
    square: NDArray, across: NDArray, y: NDArray, alphas: Sequence[float]
) -> NDArray:
    """Return predicted energies, one row per alpha; NaN if rounding makes K + r indefinite.

    `square` is the training molecules' Gram matrix, `across` has one row per new molecule.
    """
    mean_energy = y.mean()
    ridges = np.multiply(alphas, square.diagonal().mean())
    duals = solve_ridges(square, y - mean_energy, ridges, safe=0.0)
    return mean_energy + duals @ across.T


def flipped_ridge_predictions(
    square: NDArray, across: NDArray, y: NDArray, alphas: Sequence[float]
) -> NDArray:
    """Return predicted energies after negative eigenvalues are replaced by their absolute values.

    `GramTransformer` makes the same repair, and would form the repaired matrix.
    """
    mean_energy = y.mean()
    values, vectors = eigh((square + square.T) / 2, overwrite_a=True)
    sizes = np.abs(values)
    projected = np.sign(values) * ((y - mean_energy) @ vectors)
    ridges = np.multiply(alphas, sizes.mean())
    shrunk = projected / (sizes + ridges[:, None])
    return mean_energy + shrunk @ vectors.T @ across.T


def nested_errors(
    gram: NDArray,
    energies: Sequence[NDArray],
    alphas: Sequence[float],
    tested: Sequence[int],
    predict: Predictor = ridge_predictions,
) -> NDArray:
    """Return the mean absolute error over the four inner folds, shape (5, alphas).

    Row k is right if fold k is among `tested`; the others may lack some inner folds.
    ``energies[k]`` are the energies that may be used when fold k is the test fold. A model that saw
    neither fold a nor fold b serves both.
    """
    n = len(gram) // N_FOLDS
    fold = np.repeat(np.arange(N_FOLDS), n)
    errors = np.zeros((N_FOLDS, N_FOLDS, len(alphas)))
    for a, b in combinations(range(N_FOLDS), 2):
        if a not in tested and b not in tested:
            continue
        left_out = (fold == a) | (fold == b)
        train = np.flatnonzero(~left_out)
        square = gram[np.ix_(train, train)]
        across = gram[np.ix_(left_out, train)]
        y = energies[a].ravel()[train]
        predicted = predict(square, across, y, alphas)
        errors[b, a] = np.abs(predicted[:, :n] - energies[b][a]).mean(axis=1)
        errors[a, b] = np.abs(predicted[:, n:] - energies[a][b]).mean(axis=1)
    return errors.sum(axis=1) / (N_FOLDS - 1)


def fold_errors(
    gram: NDArray,
    energies: NDArray,
    fold: int,
    alpha: float,
    predict: Predictor = ridge_predictions,
) -> NDArray:
    """Return predicted minus true energies of the molecules of a fold, learnt from the others."""
    n = len(gram) // N_FOLDS
    test = np.repeat(np.arange(N_FOLDS), n) == fold
    square = gram[np.ix_(~test, ~test)]
    across = gram[np.ix_(test, ~test)]
    y = energies[np.arange(N_FOLDS) != fold].ravel()
    (predicted,) = predict(square, across, y, [alpha])
    return predicted - energies[fold]


# ------------------------------------------------------------------- regression on features


def feature_gram(features: NDArray) -> NDArray:
    """Return the Gram matrix of features in double precision, without a copy of all features."""
    gram = np.zeros((len(features), len(features)))
    for columns in np.array_split(np.arange(features.shape[1]), 10):
        part = features[:, columns].astype(float)
        gram += part @ part.T
    return gram


def fold_errors_of_features(
    features: NDArray, energies: NDArray, jobs: Sequence[Job]
) -> dict[Job, NDArray]:
    """Return the errors of `fold_errors` by job, for models on the same features."""
    n = len(features) // N_FOLDS
    y = energies.reshape(-1, 1)
    fold = np.repeat(np.arange(N_FOLDS), n)
    test_folds = [job.fold for job in jobs]
    is_training = fold[:, None] != test_folds
    used = is_training.any(axis=1)
    training_features = features if used.all() else features[used]
    members = is_training[used]
    n_members = members.sum(axis=0)

    means = y[used, 0] @ members / n_members
    targets = members * (y[used] - means)
    squared_norms = np.einsum("nd,nd->n", training_features, training_features, dtype=float)
    mean_norms = squared_norms @ members / n_members
    alphas = np.array([job.alpha for job in jobs])
    used_duals = _dual_coefficients(training_features, members, targets, mean_norms, alphas)

    duals = np.zeros(is_training.shape)
    duals[used] = used_duals
    errors = gram_times(features, duals) + means - y
    return {job: errors[fold == job.fold, i] for i, job in enumerate(jobs)}


def _dual_coefficients(
    features: NDArray, members: NDArray, targets: NDArray, mean_norms: NDArray, alphas: NDArray
) -> NDArray:
    """Return (Z Z^T + r)^-1 y in double precision, one column per model.

    Each model is fitted to the rows that are its members, with r = alpha times their mean squared
    norm. Gradients with a preconditioner in single precision take half the memory of factors in
    double precision; they fail if the penalty is small.
    """
    if alphas.min() > LEAST_ALPHA_IN_SINGLE:
        with suppress(LinAlgError):
            return _duals_by_gradients(features, members, targets, mean_norms, alphas)
    return _duals_by_factors(features, members, targets, mean_norms, alphas)


def _duals_by_factors(
    features: NDArray, members: NDArray, targets: NDArray, mean_norms: NDArray, alphas: NDArray
) -> NDArray:
    duals = np.zeros(members.shape)
    gram = feature_gram(features)
    for i, rows in enumerate(members.T):
        square = gram[np.ix_(rows, rows)]
        ridge = mean_norms[i : i + 1] * alphas[i]
        (duals[rows, i],) = solve_ridges(square, targets[rows, i], ridge)
    return duals


def _duals_by_gradients(
    features: NDArray, members: NDArray, targets: NDArray, mean_norms: NDArray, alphas: NDArray
) -> NDArray:
    narrow = features.astype(np.float32, copy=False)
    gram = narrow @ narrow.T
    preconditioners = []
    for i, rows in enumerate(members.T):
        square = gram[np.ix_(rows, rows)]
        ridge = mean_norms[i] * max(alphas[i], LEAST_PRECONDITIONER_ALPHA)
        square.flat[:: len(square) + 1] += np.float32(ridge)
        preconditioners.append((rows, i, square))
    return solve_by_gradients(
        features, targets, mean_norms * alphas, preconditioners, inside=members, rtol=1e-9
    )


# ------------------------------------------------------------------------- Nystrom features


def renumbered_landmarks(
    X: NDArray, group: SortedNoise, n_numberings: int, n_landmarks: int, seed: int, fold: int
) -> NDArray:
    """Return landmarks drawn from the orbits of matrices X, shape (landmarks, features)."""
    n = len(X)
    elements = group.sample(n_numberings, seed + 200 + fold)
    rng = np.random.default_rng([seed, fold])
    drawn = rng.choice(n * n_numberings, n_landmarks, replace=False)
    molecule = drawn % n
    numbering = drawn // n
    rows = X.reshape(n, -1)
    landmarks = []
    for i in range(n_numberings):
        points = rows[molecule[numbering == i]]
        landmarks.append(group.act(elements[i][None], points)[0])
    return np.concatenate(landmarks)


def averaged_kernels(
    X: NDArray, points: NDArray, group: SortedNoise, elements: NDArray, sigmas: Sequence[float]
) -> list[NDArray]:
    """Return k(g x, point) averaged over the elements g, one matrix per bandwidth.

    The distances are computed once for all bandwidths.
    """
    kernels = [Gaussian(1 / (2 * sigma**2)) for sigma in sigmas]
    orbits = OrbitProducts(points, group, base=kernels[0], elements=elements, side="first")
    functions = [partial(kernel.inner_form((1, 1, 1)).outer, xp=np) for kernel in kernels]
    means = WeightedMean(functions, raw=True)
    return orbits.reduce(X.reshape(len(X), -1), means)


def nystrom_features(square: NDArray, kernel_rows: NDArray) -> NDArray:
    """Return the features L^-1 k, with L L^T the landmarks' Gram matrix; overwrites both arguments.

    `kernel_rows` has one row per landmark, the features one row per molecule.
    """
    square.flat[:: len(square) + 1] += JITTER
    lower = cholesky(square.T, lower=True, overwrite_a=True, check_finite=False)
    features = solve_triangular(
        lower, kernel_rows, lower=True, overwrite_b=True, check_finite=False
    )
    return features.T


# ----------------------------------------------------------------------- histogram features


def histogram_grams(
    orbits: NDArray, n_templates: int, seed: int, tested: Sequence[int], coverage: float
) -> Iterator[tuple[list[int], NDArray]]:
    """Yield test folds with equal ranges of the histograms, and the Gram matrix that they share.

    `orbits` holds renumbered molecules, shape (numberings, molecules, features). The range of the
    bins reaches to the quantile `coverage` of the training molecules' projections.
    """
    templates = draw_templates(
        "gaussian", n_templates, n_features=orbits.shape[2], epsilon=0.2, random_state=seed
    )
    templates = templates.astype(np.float32)
    sizes = np.abs(orbits[0] @ templates[:TEMPLATE_BLOCK].T).reshape(N_FOLDS, -1)
    ranges = []
    for fold in range(N_FOLDS):
        quantile = np.quantile(np.delete(sizes, fold, axis=0), coverage)
        ranges.append(float(f"{quantile:.1e}"))
    for half_width in {ranges[fold] for fold in tested}:
        folds = [fold for fold in tested if ranges[fold] == half_width]
        yield folds, histogram_gram(orbits, templates, half_width)


def histogram_gram(orbits: NDArray, templates: NDArray, half_width: float) -> NDArray:
    """Return the Gram matrix of histogram features, a few templates at a time."""
    r, n, _ = orbits.shape
    gram = np.zeros((n, n))
    histogram = Histogram(N_BINS, half_width)
    weights = np.ones((r, 1))
    for start in range(0, len(templates), TEMPLATE_BLOCK):
        projections = orbits @ templates[start : start + TEMPLATE_BLOCK].T
        (counts,) = histogram.of(projections[:, :, None], weights, None)
        counts = counts.reshape(n, -1)
        gram += counts @ counts.T
    return gram / (len(templates) * r**2)
