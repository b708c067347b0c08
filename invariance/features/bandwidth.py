"""The median heuristic for the bandwidth of a base kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state

__all__ = ["median_gamma", "resolve_gamma"]


def median_gamma(
    X: ArrayLike, kernel: str = "gaussian", max_points: int = 1000, random_state=None
) -> float:
    """The gamma whose kernel falls to a fixed value at the median distance between points.

    Parameters
    ----------
    X : array-like of shape (n, d)
    kernel : {"gaussian", "laplacian"}
        gamma = 1 / (2 median |x - z|^2) and 1 / median |x - z|_1.
    max_points : int
        Size of the random sample of points that is looked at.
    random_state : int, RandomState or None

    Returns
    -------
    float
        1.0 where all points coincide.

    Examples
    --------
    >>> median_gamma([[0.0], [1.0]])
    0.5
    """
    X = np.asarray(X)
    rng = check_random_state(random_state)
    if len(X) > max_points:
        X = X[rng.choice(len(X), max_points, replace=False)]
    if len(X) < 2:
        return 1.0
    if kernel == "laplacian":
        median = float(np.median(pdist(X, "cityblock")))
        return 1 / median if median > 0 else 1.0
    median = float(np.median(pdist(X, "sqeuclidean")))
    return 1 / (2 * median) if median > 0 else 1.0


def resolve_gamma(gamma: float | str, X: ArrayLike, kernel: str, random_state) -> float:
    """``gamma`` itself, or `median_gamma` of X where it is "median"."""
    if not isinstance(gamma, str):
        return gamma
    if gamma != "median":
        raise ValueError(f"gamma must be positive or 'median', got {gamma!r}")
    return median_gamma(X, kernel, random_state=random_state)
