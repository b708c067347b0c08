"""Bayesian optimisation of a symmetric function with four kernels: `regrets`."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from invariance.groups import LinearMaps
from invariance.kernels import Average, BestFit, Gaussian, Kernel

Array = NDArray[np.float64]

#: Routes, and the methods whose colours they have in figures.
ROUTES = {
    "plain": "raw",
    "average": "haar",
    "best fit": "ti",
    "best fit, clipped": "published",
}
#: Bumps of the function that is maximised, and the rate of the kernels.
_N_BUMPS = 6
_GAMMA = 4.0
#: Standard deviations added to the posterior mean.
_CONFIDENCE = 2.0
#: Relative to the largest eigenvalue; smaller ones count as zero when eigenvalues are clipped.
_CUTOFF = 1e-10


def kernel_of(route: str, matrices: Array) -> Kernel:
    """Return the kernel of a route, over the group with these elements."""
    base = Gaussian(_GAMMA)
    if route == "plain":
        return base
    if route == "average":
        # Normalised, since the variance of a point is otherwise about one over the group's order.
        return Average(base, LinearMaps(matrices), normalize=True)
    return BestFit(base, LinearMaps(matrices))


def regrets(
    route: str,
    matrices: Array,
    *,
    n_steps: int,
    n_candidates: int,
    noise: float,
    random_state: int,
) -> Array:
    """Return the simple regret after each of ``n_steps`` observations of one search.

    The target, the candidates and the noise depend on ``random_state`` alone, so that routes can be
    compared search by search.
    """
    rng = check_random_state(random_state)
    d = matrices.shape[1]
    candidates = rng.uniform(-1, 1, (n_candidates, d))
    target = _symmetric_bumps(candidates, matrices, rng)
    errors = noise * rng.standard_normal(n_steps)
    kernel = kernel_of(route, matrices)
    kernel_matrix = np.asarray(kernel(candidates))
    variances = kernel_matrix.diagonal()
    clipped = route.endswith("clipped")

    observed = [int(rng.randint(n_candidates))]
    values = [target[observed[0]] + errors[0]]
    gaps = [target.max() - target[observed].max()]
    for step in range(1, n_steps):
        gram = kernel_matrix[np.ix_(observed, observed)]
        cross = kernel_matrix[:, observed]
        mean, variance = _posterior(gram, cross, variances, np.array(values), noise, clipped)
        bound = mean + _CONFIDENCE * np.sqrt(np.maximum(variance, 0))
        chosen = int(np.argmax(bound))
        observed.append(chosen)
        values.append(target[chosen] + errors[step])
        gaps.append(target.max() - target[observed].max())
    return np.array(gaps)


def _symmetric_bumps(points: Array, matrices: Array, rng: np.random.RandomState) -> Array:
    """Return a sum of bumps at the points, each bump at the copy of its centre that is nearest."""
    centres = rng.uniform(-1, 1, (_N_BUMPS, points.shape[1]))
    heights = rng.uniform(0.5, 1.5, _N_BUMPS)
    copies = np.einsum("gij,bj->bgi", matrices, centres)
    differences = points[:, None, None, :] - copies
    squares = (differences**2).sum(axis=-1).min(axis=-1)
    return np.exp(-_GAMMA * squares) @ heights


def _posterior(
    gram: Array, cross: Array, variances: Array, values: Array, noise: float, clipped: bool
) -> tuple[Array, Array]:
    """Return posterior means and variances; negative eigenvalues are clipped if asked for."""
    eigenvalues, eigenvectors = np.linalg.eigh((gram + gram.T) / 2)
    if clipped:
        positive = eigenvalues > _CUTOFF * eigenvalues[-1]
        eigenvalues = eigenvalues[positive]
        eigenvectors = eigenvectors[:, positive]
    precisions = 1 / (eigenvalues + noise**2)
    projected = cross @ eigenvectors
    mean = (projected * precisions) @ (eigenvectors.T @ (values - values.mean()))
    variance = variances - (projected**2) @ precisions
    return mean + values.mean(), variance
