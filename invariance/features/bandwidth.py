"""`median_gamma`: a bandwidth from the median distance between points."""

from __future__ import annotations

from math import log10

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state

from ..core import parameters as kinds
from ..core.arrays import check_array
from ..core.parameters import arguments
from ..orbits import row_blocks

#: The median distance is computed from at most this many points.
_MAX_POINTS = 1000
#: Features whose products are added up in single precision.
_SINGLE_WIDTH = 1024
#: Bytes of the differences that are computed at a time.
_BLOCK_BYTES = 2**18
#: Distances near the median are computed anew if they are at most this share of all.
_MOST_NEAR = 0.1


@arguments(kernel=kinds.OneOf("gaussian", "laplacian"), random_state=kinds.Seed())
def median_gamma(X: ArrayLike, kernel: str = "gaussian", *, random_state=None) -> float:
    """Return the gamma whose kernel has a fixed value at the median distance between points.

    It is 1 / (2 median |x - z|^2) or, for the Laplacian, 1 / median |x - z|_1, over the pairs of at
    most 1,000 points drawn from X, of shape (n, d); 1.0 if the points of more than half of the
    pairs coincide, so that the median is zero.

    >>> median_gamma([[0.0], [1.0]])
    0.5
    """
    points = check_array(X, estimator="median_gamma").astype(float, copy=False)
    rng = check_random_state(random_state)
    if len(points) > _MAX_POINTS:
        points = points[rng.choice(len(points), _MAX_POINTS, replace=False)]
    if len(points) < 2:
        return 1.0
    # Points are divided by a power of two near their spread, so that no square overflows or
    # vanishes.
    half_ranges = points.max(axis=0) / 2 - points.min(axis=0) / 2
    spread = float(np.max(half_ranges))
    if spread == 0:
        return 1.0
    exponent = max(-1000, int(np.frexp(spread)[1]))
    points = points * 2.0**-exponent
    if kernel == "laplacian":
        inverse_gamma = _median(pdist(points, "cityblock"))
        gamma_exponent = -exponent
    else:
        inverse_gamma = 2 * _median_squared_distance(points)
        gamma_exponent = -2 * exponent
    if inverse_gamma == 0:
        _check_ties(points)
        return 1.0
    _check_magnitude(gamma_exponent * log10(2) - log10(inverse_gamma))
    return float(np.ldexp(1 / inverse_gamma, gamma_exponent))


def _check_ties(points: NDArray) -> None:
    """Refuse points whose squared distances vanish although they differ."""
    spread = float(np.ptp(points, axis=0).max())
    if spread > 0 and spread**2 < np.finfo(float).tiny:
        raise ValueError(f"X is too close, within {spread:.2g}: rescale X")


def _check_magnitude(log10_gamma: float) -> None:
    """Refuse points whose distances are so large or so small that gamma is out of range."""
    if -300 <= log10_gamma <= 150:
        return
    distances = "far apart" if log10_gamma < 0 else "close"
    raise ValueError(
        f"X is too {distances}: rescale X, as the median distance asks for a gamma of about "
        f"1e{log10_gamma:+.0f}, beyond the range from 1e-300 to 1e+150"
    )


def _median_squared_distance(X: NDArray) -> float:
    """Median of the squared distances, from matrix products if these lose no digits."""
    centred = X - X.mean(axis=0)
    half_norms = np.einsum("ij,ij->i", centred, centred) / 2
    median = _median_of_near_pairs(centred, half_norms)
    if median is not None:
        return median
    half_distances = _half_distances(half_norms, centred @ centred.T)
    lower, upper = _middle_of_pairs(half_distances)
    # Distances far below the norms, as within distant clusters, lose their digits in the product.
    if lower > 1e-3 * half_norms.max():
        return lower + upper
    return _median(pdist(X, "sqeuclidean"))


def _median_of_near_pairs(centred: NDArray, half_norms: NDArray) -> float | None:
    """Median of the squared distances, of which only those near it are computed to all digits.

    All are known up to ``error`` from products in single precision, which take half of the time.
    Ordered numbers that have such errors differ by at most as much from the ordered numbers
    without. So pairs in the middle are within twice the error of those that seem to be there. The
    result is None if there are many such pairs.
    """
    first, *others = row_blocks(centred.shape[1], 1, _SINGLE_WIDTH)
    block = centred[:, first].astype(np.float32)
    products = block @ block.T
    for columns in others:
        block = centred[:, columns].astype(np.float32)
        products += block @ block.T
    half_distances = _half_distances(half_norms.astype(np.float32), products)
    # Of the entries, of the sums within a product and over the blocks, and of norms and distances.
    n_roundings = 2 + min(centred.shape[1], _SINGLE_WIDTH) + len(others) + 8
    unit_roundoff = float(np.finfo(np.float32).eps) / 2
    error = n_roundings * unit_roundoff * 2 * half_norms.max()
    lower, upper = _middle_of_pairs(half_distances)
    is_below = half_distances < lower - 2 * error
    is_near = ~is_below & (half_distances <= upper + 2 * error)
    n = len(centred)
    n_pairs = n * (n - 1) // 2
    first_points, second_points = np.divmod(np.flatnonzero(is_near), n)
    if len(first_points) > 2 * _MOST_NEAR * n_pairs:
        return None
    is_once = first_points < second_points
    pairs = (first_points[is_once], second_points[is_once])
    distances = np.sort(_distances_of_pairs(centred, *pairs))
    n_below = np.count_nonzero(is_below) // 2
    middle = [(n_pairs - 1) // 2 - n_below, n_pairs // 2 - n_below]
    return float(distances[middle].mean())


def _half_distances(half_norms: NDArray, products: NDArray) -> NDArray:
    """Return half of the squared distances, shape (n, n), with infinity on the diagonal."""
    half_distances = half_norms[:, None] + half_norms
    half_distances -= products
    np.fill_diagonal(half_distances, np.inf)
    return half_distances


def _distances_of_pairs(X: NDArray, first: NDArray, second: NDArray) -> NDArray:
    """Return the squared distances of pairs of rows, given by their indices."""
    distances = np.empty(len(first))
    for pairs in row_blocks(len(first), 8 * X.shape[1], _BLOCK_BYTES):
        differences = X[first[pairs]] - X[second[pairs]]
        distances[pairs] = np.einsum("ij,ij->i", differences, differences)
    return distances


def _median(distances: NDArray) -> float:
    """Median of distances, which are reordered."""
    below, number = _at_rank(distances, len(distances) // 2)
    if len(distances) % 2 == 1:
        return number
    return (below + number) / 2


def _middle_of_pairs(distances: NDArray) -> tuple[float, float]:
    """Return the two distances in the middle of the order, or twice the one that is there.

    The matrix, of shape (n, n), has every distance twice, and infinity on its diagonal.
    """
    n = len(distances)
    n_pairs = n * (n - 1) // 2
    below, number = _at_rank(distances.ravel().copy(), 2 * (n_pairs // 2))
    if n_pairs % 2 == 1:
        return number, number
    return below, number


def _at_rank(numbers: NDArray, rank: int) -> tuple[float, float]:
    """Return the number before a rank in the order, and the one at this rank, from zero.

    The numbers are reordered. NumPy has fast instructions for the place of one number in order, not
    for two, so that `numpy.median` takes several times as long.
    """
    numbers.partition(rank)
    number = float(numbers[rank])
    return float(numbers[:rank].max(initial=-np.inf)), number
