"""`separation_report`: what does a map forget? Lipschitz constants between orbits and features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ..core.arrays import check_array
from ..core.parameters import ParameterError, Seed, Whole, arguments
from ..groups import Transformations
from ..groups.base import GROUP
from ..kernels import BestFit, Linear

#: Of the points' largest norm: orbits that are nearer are not told apart from rounding.
_NEAREST = 1e-4


@dataclass(frozen=True)
class SeparationReport:
    """The constants of c d(x, z) <= |phi(x) - phi(z)| <= C d(x, z) that a search has found.

    They are attained: the true c is at most ``lower``, the true C at least ``upper``.

    Attributes
    ----------
    lower, upper : float
    worst, steepest : ndarray of shape (2, d)
        The pairs of points that attain them. With ``lower`` near zero, the map takes the two
        orbits of ``worst`` for one.
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
    norm of theirs, and a step is kept where it makes the ratio smaller or larger. Max filtering
    with enough templates has a positive lower constant (Cahill, Iverson, Mixon, Packer 2024); a
    power spectrum has none.

    Parameters
    ----------
    features : fitted transformer, or function from points (n, d) to features (n, k)
    group : Transformations
        Unitary. Features should be invariant to it.
    X : array-like of shape (n, d)
        Where the search begins, and the scale of its steps.
    n_pairs : int
        Pairs that are moved, for each constant.
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
    to_features: Callable[[Any], Any] = getattr(features, "transform", features)
    one, other = np.triu_indices(len(points), 1)
    some = rng.permutation(len(one))[: 20 * n_pairs]
    pairs = np.stack([points[one[some]], points[other[some]]], axis=1)
    ratios = partial(_ratios, to_features, group)
    first, found = ratios(pairs), []
    for sign in (1.0, -1.0):
        start = np.argsort(sign * np.where(np.isnan(first), sign * np.inf, first))[:n_pairs]
        found.append(_search(ratios, pairs[start], sign, n_steps, rng))
    (lower, worst), (upper, steepest) = found
    return SeparationReport(float(lower), float(upper), worst, steepest)


def _ratios(features: Callable[[Any], Any], group: Any, pairs: NDArray[Any]) -> NDArray[Any]:
    """|phi(x) - phi(z)| / d(x, z) for each pair; NaN where the orbits are too near."""
    one, two = pairs[:, 0], pairs[:, 1]
    kernel, step = BestFit(Linear(), group), 64
    blocks = [slice(a, a + step) for a in range(0, len(pairs), step)]
    inner = np.concatenate([kernel(one[b], two[b]).diagonal() for b in blocks])
    squares = (pairs**2).sum(axis=2)
    distance = np.sqrt(np.maximum(squares.sum(axis=1) - 2 * inner, 0))
    moved = np.linalg.norm(np.asarray(features(one)) - np.asarray(features(two)), axis=1)
    near = distance < _NEAREST * np.sqrt(squares.max())
    return np.where(near, np.nan, moved / np.where(near, 1, distance))


def _search(
    ratios: Callable[[Any], Any], pairs: NDArray[Any], sign: float, n_steps: int, rng: Any
) -> tuple[float, NDArray[Any]]:
    """The smallest ratio times `sign` that random steps reach, of sizes that follow success."""
    best = sign * ratios(pairs)
    best[np.isnan(best)] = np.inf
    sizes = np.full(len(pairs), 0.3 * pairs.std())
    radius = np.linalg.norm(pairs, axis=2).max()  # bounded features are alike at infinity
    for _ in range(n_steps):
        moved = pairs + sizes[:, None, None] * rng.standard_normal(pairs.shape)
        moved *= np.minimum(1, radius / np.linalg.norm(moved, axis=2, keepdims=True))
        values = sign * ratios(moved)
        better = values < best  # not where NaN
        pairs, best = np.where(better[:, None, None], moved, pairs), np.where(better, values, best)
        sizes *= np.where(better, 1.5, 0.9)
    first = int(np.argmin(best))
    return sign * best[first], pairs[first]
