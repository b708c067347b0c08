"""`separation_report`: Lipschitz constants of a map between orbits and features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..core.arrays import check_array
from ..core.parameters import ParameterError, Seed, Whole, arguments, short
from ..groups import Transformations
from ..groups.base import GROUP
from ..kernels import BestFit, Linear
from ..linear.ridge import in_power_of_two

#: Least distance of orbits, relative to the points' largest norm; smaller ones may be rounding.
_NEAREST = 1e-4


@dataclass(frozen=True)
class SeparationReport:
    """The constants of c d(x, z) <= |phi(x) - phi(z)| <= C d(x, z) that a search has found.

    They are attained: the true c is at most ``lower``, the true C at least ``upper``.

    Attributes
    ----------
    lower : float
    upper : float
    worst : ndarray of shape (2, d)
        The pair of points that attains ``lower``. If that is near zero, the map takes their two
        orbits for one.
    steepest : ndarray of shape (2, d)
        The pair of points that attains ``upper``.
    """

    lower: float
    upper: float
    worst: NDArray[Any]
    steepest: NDArray[Any]

    def __str__(self) -> str:
        ratio = f"{self.upper / self.lower:.3g}" if self.lower > 0 else "unbounded"
        return (
            f"distances between orbits shrink to {self.lower:.3g} and grow to {self.upper:.3g} of "
            f"what they are (distortion {ratio})"
        )


@arguments(group=GROUP, n_pairs=Whole(1), n_steps=Whole(0), random_state=Seed())
def separation_report(
    features: Any,
    group: Transformations,
    X: ArrayLike,
    *,
    n_pairs: int = 50,
    n_steps: int = 300,
    random_state: Any = None,
) -> SeparationReport:
    r"""Search for the pairs of points whose distance a map of orbits changes most.

    With the distance between orbits under a unitary group,

    .. math:: d(x, z) = \min_{g \in G} \lVert x - g z \rVert ,

    the ratio :math:`\lVert \phi(x) - \phi(z) \rVert / d(x, z)` is computed for pairs of the points
    X; the pairs with the smallest and the largest ratio are moved at random, within the largest
    norm of the pairs, and a step is kept if it makes the ratio smaller or larger. Max filtering
    with enough templates has a positive lower constant (Cahill, Iverson, Mixon, Packer 2024); a
    power spectrum has none.

    Parameters
    ----------
    features : fitted transformer, or function from points (n, d) to features (n, k)
    group : Transformations
        Unitary. Features should be invariant to it.
    X : array-like of shape (n, d)
        Points from which the search starts; they set the scale of its steps.
    n_pairs : int
        Number of pairs that the search moves, for each constant.
    n_steps : int
    random_state : int, RandomState or None

    Examples
    --------
    >>> from invariance.groups import CyclicShifts, Permutations
    >>> X = np.random.default_rng(0).standard_normal((20, 4))
    >>> print(separation_report(lambda X: np.sort(X, axis=1), Permutations(4), X, random_state=0))
    distances between orbits shrink to 1 and grow to 1 of what they are (distortion 1)
    >>> spectrum = lambda X: np.abs(np.fft.fft(X, axis=1)) / 2
    >>> bool(separation_report(spectrum, CyclicShifts(4), X, random_state=0).lower < 0.1)
    True
    """
    points = check_array(X, dtype=np.float64)
    if len(points) < 2:
        raise ParameterError("separation_report needs at least two points X, got one")
    if not group.unitary:
        raise ParameterError(f"separation_report needs a unitary group, got {group!r}")
    rng = check_random_state(random_state)
    # Squares of numbers must neither overflow nor vanish: a power of two is the unit of points.
    points, exponent = in_power_of_two(points)
    to_features: Callable[[Any], Any] = getattr(features, "transform", features)
    rows, columns = np.triu_indices(len(points), 1)
    drawn = rng.permutation(len(rows))[: 20 * n_pairs]
    pairs = np.stack([points[rows[drawn]], points[columns[drawn]]], axis=1)
    ratios = partial(_ratios, to_features, group, exponent)
    first_ratios = ratios(pairs)
    if np.isnan(first_ratios).all():
        raise ParameterError(
            f"separation_report needs points X on different orbits of {short(group)}, got "
            f"{len(points)} points on one: add others"
        )
    smallest = np.argsort(np.where(np.isnan(first_ratios), np.inf, first_ratios))[:n_pairs]
    largest = np.argsort(np.where(np.isnan(first_ratios), np.inf, -first_ratios))[:n_pairs]
    lower, worst = _search(ratios, pairs[smallest], 1.0, n_steps, rng)
    upper, steepest = _search(ratios, pairs[largest], -1.0, n_steps, rng)
    return SeparationReport(
        float(lower), float(upper), np.ldexp(worst, exponent), np.ldexp(steepest, exponent)
    )


def _ratios(
    features: Callable[[Any], Any], group: Any, exponent: int, pairs: NDArray[Any]
) -> NDArray[Any]:
    """|phi(x) - phi(z)| / d(x, z) for each pair; NaN if the orbits are too near.

    The unit of pairs is ``2**exponent``.
    """
    X = pairs[:, 0]
    Z = pairs[:, 1]
    kernel = BestFit(Linear(), group)
    step = 64
    products = np.empty(len(pairs))
    for start in range(0, len(pairs), step):
        rows = slice(start, start + step)
        products[rows] = kernel(X[rows], Z[rows]).diagonal()
    squares = (pairs**2).sum(axis=2)
    distances = np.sqrt(np.maximum(squares.sum(axis=1) - 2 * products, 0))
    differences = np.asarray(features(np.ldexp(X, exponent)))
    differences = differences - np.asarray(features(np.ldexp(Z, exponent)))
    differences, exponent_of_features = in_power_of_two(differences)
    feature_distances = np.linalg.norm(differences, axis=1)
    is_near = distances < _NEAREST * np.sqrt(squares.max())
    ratios = feature_distances / np.where(is_near, 1, distances)
    return np.where(is_near, np.nan, np.ldexp(ratios, exponent_of_features - exponent))


def _search(
    ratios: Callable[[Any], Any], pairs: NDArray[Any], sign: float, n_steps: int, rng: Any
) -> tuple[float, NDArray[Any]]:
    """The smallest ratio times `sign` that random steps reach, of sizes that follow success."""
    best = sign * ratios(pairs)
    best[np.isnan(best)] = np.inf
    sizes = np.full(len(pairs), 0.3 * pairs.std())
    radius = np.linalg.norm(pairs, axis=2).max()  # bounded features are alike at infinity
    for _ in range(n_steps):
        steps = sizes[:, None, None] * rng.standard_normal(pairs.shape)
        new_pairs = pairs + steps
        new_pairs *= np.minimum(1, radius / np.linalg.norm(new_pairs, axis=2, keepdims=True))
        values = sign * ratios(new_pairs)
        is_better = values < best  # False for NaN
        pairs = np.where(is_better[:, None, None], new_pairs, pairs)
        best = np.where(is_better, values, best)
        sizes *= np.where(is_better, 1.5, 0.9)
    first = int(np.argmin(best))
    return sign * best[first], pairs[first]
