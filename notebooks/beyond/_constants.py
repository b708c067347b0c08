"""Lipschitz constants of maps of orbits, by a search with gradients: `lipschitz_constants`."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Step of differences, relative to norms of one.
STEP = 1e-5


@dataclass(frozen=True)
class Constants:
    """Smallest and largest ratio that were found, and the pair of the smallest."""

    lower: float
    upper: float
    worst: Array

    @property
    def distortion(self) -> float:
        return self.upper / self.lower if self.lower > 0 else np.inf


def orbit_distances(X: Array, Z: Array, matrices: Array) -> Array:
    """Return min_g |x - g z| for each pair of rows, given the matrices of a group."""
    orbits = np.einsum("gij,nj->gni", matrices, Z)
    return np.linalg.norm(X[None] - orbits, axis=2).min(axis=0)


def log_ratios(
    features: Callable[[Array], Array], matrices: Array, pairs: Array, nearest: float
) -> Array:
    """Return log(|phi(x) - phi(z)| / d(x, z)) for pairs (..., 2, d); NaN if orbits are near."""
    shape = pairs.shape[:-2]
    X, Z = pairs.reshape(-1, 2, pairs.shape[-1]).swapaxes(0, 1)
    distances = orbit_distances(X, Z, matrices)
    changes = np.linalg.norm(features(X) - features(Z), axis=1)
    norms = np.maximum(np.linalg.norm(X, axis=1), np.linalg.norm(Z, axis=1))
    with np.errstate(divide="ignore"):
        ratios = np.log(changes) - np.log(distances)
    return np.where(distances < nearest * norms, np.nan, ratios).reshape(shape)


def gradients(function: Callable[[Array], Array], pairs: Array) -> Array:
    """Return central differences of a function of pairs (n, 2, d), of the same shape."""
    n, _, d = pairs.shape
    steps = STEP * np.eye(2 * d).reshape(2 * d, 2, d)
    values = function(np.concatenate([pairs[:, None] + steps, pairs[:, None] - steps], axis=1))
    slopes = (values[:, : 2 * d] - values[:, 2 * d :]) / (2 * STEP)
    return np.nan_to_num(slopes, posinf=0, neginf=0).reshape(n, 2, d)


def normalized(pairs: Array) -> Array:
    """Return pairs whose larger norm is one."""
    norms = np.linalg.norm(pairs, axis=2).max(axis=1)
    return pairs / norms[:, None, None]


def search(
    function: Callable[[Array], Array], pairs: Array, n_steps: int, rng: np.random.Generator
) -> tuple[float, Array]:
    """Return the smallest value of a function of pairs that a search finds, and its pair.

    Steps follow the gradient and, every other time, a random direction; a step is kept if it makes
    the value smaller, and its size follows success.
    """
    pairs = normalized(pairs)
    best = np.nan_to_num(function(pairs), nan=np.inf)
    sizes = np.full((2, len(pairs)), 0.1)
    for i in range(n_steps):
        kind = i % 2
        if kind == 0:
            directions = -gradients(function, pairs)
        else:
            directions = rng.standard_normal(pairs.shape)
        lengths = np.linalg.norm(directions, axis=(1, 2))
        directions /= np.where(lengths > 0, lengths, 1)[:, None, None]
        moved = normalized(pairs + sizes[kind][:, None, None] * directions)
        values = np.nan_to_num(function(moved), nan=np.inf)
        is_better = values < best
        pairs = np.where(is_better[:, None, None], moved, pairs)
        best = np.where(is_better, values, best)
        sizes[kind] *= np.where(is_better, 1.5, 0.7)
        sizes[kind] = np.clip(sizes[kind], 1e-7, 1)
    first = int(np.argmin(best))
    return float(best[first]), pairs[first]


def lipschitz_constants(
    features: Callable[[Array], Array],
    matrices: Array,
    *,
    n_pairs: int,
    n_steps: int,
    nearest: float = 1e-3,
    random_state: int,
) -> Constants:
    """Search for the pairs of points with the smallest and the largest ratio of distances.

    The search starts from the most extreme of twenty times as many random pairs, of which half are
    far apart and half near each other.

    Parameters
    ----------
    features : callable
        From points (n, d) to features (n, k).
    matrices : ndarray of shape (|G|, d, d)
        All elements of a finite orthogonal group.
    nearest : float
        Pairs of orbits nearer than this, relative to the larger norm, which is one, are ignored.
    """
    rng = np.random.default_rng(random_state)
    d = matrices.shape[1]

    def ratios(pairs: Array) -> Array:
        return log_ratios(features, matrices, pairs, nearest)

    starts = normalized(rng.standard_normal((20 * n_pairs, 2, d)))
    near = starts[: 10 * n_pairs]
    near[:, 1] = near[:, 0] + 0.05 * near[:, 1]
    starts = normalized(starts)
    values = ratios(starts)
    smallest = np.argsort(np.nan_to_num(values, nan=np.inf))[:n_pairs]
    largest = np.argsort(np.nan_to_num(-values, nan=np.inf))[:n_pairs]
    lower, worst = search(ratios, starts[smallest], n_steps, rng)
    upper, _ = search(lambda pairs: -ratios(pairs), starts[largest], n_steps, rng)
    return Constants(float(np.exp(lower)), float(np.exp(-upper)), worst)
