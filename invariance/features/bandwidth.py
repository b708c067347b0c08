"""The median heuristic for the bandwidth of a base kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state

from ..core.arrays import check_array
from ..core.parameters import OneOf, Seed, arguments

#: Points that are looked at.
_MOST = 1000


@arguments(kernel=OneOf("gaussian", "laplacian"), random_state=Seed())
def median_gamma(X: ArrayLike, kernel: str = "gaussian", *, random_state=None) -> float:
    """The gamma whose kernel falls to a fixed value at the median distance between points.

    1 / (2 median |x - z|^2) or, for the Laplacian, 1 / median |x - z|_1, over pairs of at
    most 1,000 points drawn from X, of shape (n, d); 1.0 where all points coincide.

    >>> median_gamma([[0.0], [1.0]])
    0.5
    """
    points = check_array(X, estimator="median_gamma")
    rng = check_random_state(random_state)
    if len(points) > _MOST:
        points = points[rng.choice(len(points), _MOST, replace=False)]
    if len(points) < 2:
        return 1.0
    if kernel == "laplacian":
        median = float(np.median(pdist(points, "cityblock")))
    else:
        median = 2 * _median_squared_distance(points)
    if median == 0:
        return 1.0
    gamma = 1 / median
    if not 0 < gamma < np.inf:
        raise ValueError(
            f"points X are too {'far apart' if gamma == 0 else 'close'} for a bandwidth: rescale X"
        )
    return gamma


def _median_squared_distance(X: NDArray) -> float:
    """Through one matrix product of centred points where that loses no digits."""
    with np.errstate(over="ignore", invalid="ignore"):
        centred = X - X.mean(axis=0, dtype=np.float64)
        gram = centred @ centred.T
        norms = gram.diagonal().copy()
        squares = np.add.outer(norms, norms)
        gram *= 2
        squares -= gram
        pairs = np.concatenate([row[i + 1 :] for i, row in enumerate(squares)])
        median = float(np.median(pairs, overwrite_input=True))
    # Distances far below the norms, as within distant clusters, are lost to cancellation there.
    if median > 1e-3 * norms.max() > 0 and np.isfinite(median):
        return median
    return float(np.median(pdist(X, "sqeuclidean")))
