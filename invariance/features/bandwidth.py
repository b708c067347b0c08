"""The median heuristic for the bandwidth of a base kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state

from ..checks import check_finite, is_number

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

    Raises
    ------
    ValueError
        For points that are not finite, or whose distances overflow.

    Examples
    --------
    >>> median_gamma([[0.0], [1.0]])
    0.5
    """
    X = np.asarray(X)
    check_finite("X", X)
    rng = check_random_state(random_state)
    if len(X) > max_points:
        X = X[rng.choice(len(X), max_points, replace=False)]
    if len(X) < 2:
        return 1.0
    if kernel == "laplacian":
        median = float(np.median(pdist(X, "cityblock")))
    else:
        median = 2 * float(np.median(pdist(X, "sqeuclidean")))
    if median == 0:
        return 1.0
    gamma = 1 / median
    if not 0 < gamma < np.inf:
        raise ValueError(
            f"the points are too {'far apart' if gamma == 0 else 'close'} for a bandwidth from "
            "their median distance: rescale X, or give gamma as a number"
        )
    return gamma


def resolve_gamma(gamma: float | str, X: ArrayLike, kernel: str, random_state) -> float:
    """``gamma`` itself, or `median_gamma` of X where it is "median"."""
    if isinstance(gamma, str) and gamma == "median":
        return median_gamma(X, kernel, random_state=random_state)
    if not is_number(gamma) or not gamma > 0:
        raise ValueError(f"gamma must be a finite number > 0 or 'median', got {gamma!r}")
    return gamma
