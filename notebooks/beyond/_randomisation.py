"""Randomisation tests of Chiu, Sharp and Bloem-Reddy: `randomisation_p_value`, `Turned`.

The authors publish their code, github.com/chiukenny/Tests-for-Conditional-Symmetry; this is written
from its description of the method, with its bandwidths, numbers of kernels and randomisations.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist
from scipy.special import logsumexp

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator], Array]

#: Metrics of the distances D of the kernels exp(-D / width^power): Gaussian and Laplacian.
POWERS = {"sqeuclidean": 2, "cityblock": 1}
N_WIDTHS = 5  # of each kernel; the authors take ten
N_RANDOMISATIONS = 100


def kernel_scales(sample: Array, n_widths: int = N_WIDTHS) -> dict[str, Array]:
    """Return width^power of the kernels by metric.

    Widths are equally spaced from half the 5 % quantile of all distances to twice the 95 % one.
    """
    scales = {}
    for metric, power in POWERS.items():
        distances = pdist(sample, metric)
        quantiles = np.quantile(distances, [0.05, 0.95])
        low, high = quantiles ** (1 / power)
        widths = np.linspace(low / 2, 2 * high, n_widths)
        scales[metric] = widths**power
    return scales


def mean_kernels(distances: dict[str, Array], scales: dict[str, Array]) -> Array:
    """Return means of kernels, shape (samples, kernels), over distances (samples, pairs)."""
    means = []
    for metric, values in distances.items():
        # Single precision: these are means over thousands of pairs.
        in_single = values.astype(np.float32)
        for scale in scales[metric]:
            rate = np.float32(-1 / scale)
            kernel = np.exp(in_single * rate)
            mean = kernel.mean(axis=1, dtype=float)
            means.append(mean)
    return np.array(means).T


def randomisation_p_value(
    sample: Array,
    draw: Draw,
    rng: np.random.Generator,
    *,
    scales: dict[str, Array] | None = None,
) -> float:
    r"""Return the p-value of a sample, shape (n, p), among randomised ones that ``draw`` returns.

    One randomised sample is kept as reference. The statistic of a sample is its squared maximum
    mean discrepancy from the reference, fused over all kernels k,

    .. math:: \frac{1}{\lambda} \log \sum_k \exp(\lambda \, \mathrm{MMD}^2_k) ,
        \quad \lambda = \sqrt{n (n - 1)} ,

    and the p-value is (1 + number of B randomised samples with at least this statistic) / (B + 1).
    """
    if scales is None:
        scales = kernel_scales(sample)
    reference = draw(rng)
    randomised = [draw(rng) for _ in range(N_RANDOMISATIONS)]
    discrepancies = _discrepancies([sample, *randomised], reference, scales)
    n = len(sample)
    fusion = np.sqrt(n * (n - 1))
    statistics = logsumexp(fusion * discrepancies, axis=1) / fusion
    is_larger = statistics[1:] >= statistics[0]
    n_larger = np.count_nonzero(is_larger)
    return (1 + n_larger) / (N_RANDOMISATIONS + 1)


def _discrepancies(samples: list[Array], reference: Array, scales: dict[str, Array]) -> Array:
    """Return squared maximum mean discrepancies, shape (samples, kernels), from the reference."""
    inside = {}
    across = {}
    for metric in POWERS:
        within_each = [pdist(points, metric) for points in [*samples, reference]]
        inside[metric] = np.array(within_each)
        to_reference = [cdist(points, reference, metric).ravel() for points in samples]
        across[metric] = np.array(to_reference)
    means_inside = mean_kernels(inside, scales)
    means_of_samples = means_inside[:-1]
    means_of_reference = means_inside[-1]
    means_across = mean_kernels(across, scales)
    return means_of_samples + means_of_reference - 2 * means_across


def random_rotations(X: Array, rng: np.random.Generator) -> Array:
    """Return a rotation for each point of space that takes (|x|, 0, 0) to x, shape (n, 3, 3).

    The turn about x itself is random and uniform.
    """
    first = X / np.linalg.norm(X, axis=1, keepdims=True)
    second = rng.standard_normal(X.shape)
    products = np.sum(first * second, axis=1, keepdims=True)
    second -= products * first
    second /= np.linalg.norm(second, axis=1, keepdims=True)
    third = np.cross(first, second)
    return np.stack([first, second, third], axis=2)


def orders(X: Array, rng: np.random.Generator) -> Array:
    """Return, for each point, the permutation matrix that takes its sorted numbers to the point."""
    n, d = X.shape
    points = np.arange(n)[:, None]
    rows = np.argsort(X, axis=1)
    columns = np.arange(d)
    matrices = np.zeros((n, d, d))
    matrices[points, rows, columns] = 1.0
    return matrices


class Turned:
    """Targets turned back to the representatives of their points' orbits, and randomised targets.

    A law of targets given points is equivariant if and only if the targets that are turned back
    depend on a point only through the maximal invariant M. A randomised target is one of them,
    turned by the element of a point whose M is near: points are drawn with probabilities in
    proportion to a Gaussian kernel of M.
    """

    def __init__(self, X: Array, Y: Array, invariants: Array, elements: Array):
        self.elements = elements
        self.targets = np.einsum("nji,nj->ni", elements, Y)
        n, p = invariants.shape
        factor = (4 / (p + 2)) ** (1 / (p + 4))
        rule_of_thumb = factor * n ** (-1 / (p + 4))
        widths = rule_of_thumb * invariants.std(axis=0, ddof=1)
        scaled = invariants / widths
        squared_distances = cdist(scaled, scaled, "sqeuclidean")
        kernel = np.exp(-squared_distances / 2)
        probabilities = kernel / kernel.sum(axis=1, keepdims=True)
        self._cumulative = np.cumsum(probabilities, axis=1)

    def draw(self, rng: np.random.Generator) -> Array:
        """Return randomised targets, of the shape of the targets."""
        n = len(self._cumulative)
        uniform = rng.random((n, 1))
        n_below = (self._cumulative < uniform).sum(axis=1)
        sources = np.minimum(n_below, n - 1)  # rounded sums of probabilities may end below one
        elements = self.elements[sources]
        return np.einsum("nij,nj->ni", elements, self.targets)
