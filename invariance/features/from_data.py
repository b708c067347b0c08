"""What features take from data: the bandwidth of a kernel, and the landmarks of Nystrom's."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.spatial.distance import pdist
from sklearn.utils import check_random_state

from ..core.arrays import check_array
from ..core.parameters import (
    Array,
    Has,
    OneOf,
    ParameterError,
    Positive,
    Seed,
    Whole,
    arguments,
    check_finite,
    short,
)
from ..kernels import Kernel

KERNEL = Has("a kernel, such as Gaussian(0.1)", "diag", "__call__")


@arguments(kernel=OneOf("gaussian", "laplacian"), max_points=Whole(2), random_state=Seed())
def median_gamma(
    X: ArrayLike, kernel: str = "gaussian", *, max_points: int = 1000, random_state=None
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
    points: NDArray = np.asarray(X)
    if points.ndim != 2 or points.dtype.kind not in "iuf":
        raise ParameterError(
            f"median_gamma needs X to be points as rows of shape (n, d), got {short(X)}"
        )
    check_finite("X", points)
    rng = check_random_state(random_state)
    if len(points) > max_points:
        points = points[rng.choice(len(points), max_points, replace=False)]
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
            f"the points are too {'far apart' if gamma == 0 else 'close'} for a bandwidth from "
            "their median distance: rescale X, or give gamma as a number"
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


@arguments(X=Array(2), kernel=KERNEL, alpha=Positive(), n_landmarks=Whole(1), random_state=Seed())
def leverage_scores(
    X: ArrayLike, kernel: Kernel, *, alpha: float, n_landmarks: int, random_state=None
) -> NDArray:
    r"""Ridge leverage scores diag(K (K + n alpha I)^-1), shape (n,).

    With m = ``n_landmarks`` random points S estimated as (k_ii - K_iS (K_SS + m alpha I)^-1 K_Si) /
    (n alpha), which gives points unlike any in S a high score; exact when S holds all points.
    ``alpha`` is on the scale of `invariance.linear`.

    >>> from invariance.kernels import Gaussian
    >>> X = np.array([[0.0], [0.0], [9.0]])            # the lonely point matters most
    >>> leverage_scores(X, Gaussian(1.0), alpha=1 / 3, n_landmarks=3).round(3)
    array([0.333, 0.333, 0.5  ])
    """
    points: NDArray = check_array(X, dtype=(np.float64, np.float32))
    rng = check_random_state(random_state)
    chosen = rng.choice(len(points), min(n_landmarks, len(points)), replace=False)
    gram = kernel(points[chosen])
    gram.flat[:: len(gram) + 1] += alpha * len(chosen)
    cross = kernel(points, points[chosen])
    explained = np.einsum("ij,ij->i", cross, np.linalg.solve(gram, cross.T).T)
    return np.clip((kernel.diag(points) - explained) / (alpha * len(points)), 0, 1)


def whitener(gram: NDArray, rcond: float | None, dtype: np.dtype) -> NDArray:
    """L of shape (rank, s) with L^T L the pseudo-inverse of the Gram matrix, for points of a type.

    Computed in the Gram matrix's precision, which is to be double: the small eigenvalues are lost
    to rounding in single.
    """
    if rcond is None:
        rcond = len(gram) * np.finfo(dtype).eps
    check_finite("the landmarks' Gram matrix", gram)
    gram = (gram + gram.T) / 2
    inverse = _inverse_factor(gram, rcond)
    if inverse is not None:
        return inverse.astype(dtype)
    values, vectors = np.linalg.eigh(gram)
    keep = values > rcond * max(values[-1], np.finfo(gram.dtype).tiny)
    if not keep.any():
        raise ValueError(
            "OrbitNystroem: the landmarks' Gram matrix has no positive eigenvalue, so there are no "
            "features; is the kernel zero at all landmarks?"
        )
    return (vectors[:, keep] / np.sqrt(values[keep])).T.astype(dtype)


def _inverse_factor(gram: NDArray, rcond: float) -> NDArray | None:
    """L with L^T L the inverse; None unless all eigenvalues exceed rcond times the largest.

    Two Cholesky factors, a tenth of the time of the eigenvectors.
    """
    largest = np.abs(gram).sum(axis=0).max()  # no eigenvalue is above it
    shifted = np.array(gram, order="F")
    shifted.flat[:: len(gram) + 1] -= rcond * largest
    try:
        linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        factor = linalg.cholesky(gram, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    identity = np.eye(len(gram))
    return linalg.solve_triangular(factor, identity, lower=True, check_finite=False)


def choose_landmarks(
    candidates: NDArray, how: str | ArrayLike, n_components: int, kernel: Kernel, rng
) -> NDArray:
    """Landmarks (s, d) among candidate points (n, d), or those given; see `OrbitNystroem`."""
    n, s = len(candidates), n_components
    if not isinstance(how, str):
        landmarks = np.asarray(how, dtype=candidates.dtype)
        if landmarks.shape != (s, candidates.shape[1]):
            raise ParameterError(
                f"landmarks must have shape (n_components, n_features) = "
                f"{(s, candidates.shape[1])}, got {landmarks.shape}"
            )
        return landmarks
    if s > n:
        warnings.warn(
            f"OrbitNystroem: n_components={s} landmarks were asked for but there are only {n} "
            "points; all of them are used",
            UserWarning,
            stacklevel=5,
        )
    if s >= n:
        return candidates.copy()
    if how == "kmeans":
        from sklearn.cluster import KMeans  # slow to import, and needed here alone

        means = KMeans(s, n_init=1, random_state=rng.randint(2**31)).fit(candidates)
        return means.cluster_centers_.astype(candidates.dtype)
    if how == "random":
        chosen = rng.choice(n, s, replace=False)
    else:
        # The alpha at which s landmarks can do justice to the kernel's effective dimension.
        alpha = float(np.mean(kernel.diag(candidates))) / s
        scores = np.zeros(n)
        if alpha > 0:
            scores = leverage_scores(
                candidates, kernel, alpha=alpha, n_landmarks=2 * s, random_state=rng
            )
        useful = np.flatnonzero(scores)
        if len(useful) < s:
            rest = rng.choice(np.flatnonzero(scores == 0), s - len(useful), replace=False)
            chosen = np.concatenate([useful, rest])
        else:
            chosen = rng.choice(n, s, replace=False, p=scores / scores.sum())
    return candidates[chosen]
