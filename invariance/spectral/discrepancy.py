"""`invariance_discrepancy`: how far from invariant is a function, at worst?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..groups import FiniteGroup

__all__ = ["invariance_discrepancy"]

#: At most this many points are handed to the function at once.
CHUNK = 20_000


def invariance_discrepancy(
    function: Callable[[NDArray], NDArray],
    group: FiniteGroup,
    X: ArrayLike,
    n_elements: int = 100,
    relative: bool = False,
    random_state=0,
) -> float | NDArray:
    r"""The largest change of a function under the group, over given points.

    .. math:: \mathrm{ID}(f) = \sup_{x, g} |f(x) - f(g x)|

    (Soleymani et al. 2025, section 6.3), a lower bound on the supremum over all points. Groups of
    at most ``n_elements`` are listed; from larger ones take the generators, ``n_elements``
    uniform draws and as many random words of length 20 in the generators and their inverses.

    Parameters
    ----------
    function : callable
        (n, d) -> (n,), or (n, m) for m functions at once.
    group : FiniteGroup
    X : array-like of shape (n, d)
    n_elements : int
    relative : bool
        Divide by the largest \\|f(x)\\| met (zero functions have discrepancy 0).
    random_state : int, RandomState or None

    Returns
    -------
    float, or ndarray of shape (m,)

    Examples
    --------
    >>> from invariance.groups import SignFlips
    >>> float(invariance_discrepancy(lambda X: X.sum(axis=1), SignFlips(2), [[1.0, 3.0]]))
    8.0
    """
    X = np.asarray(X, dtype=float)
    if n_elements < 1:
        raise ValueError(f"n_elements must be at least 1, got {n_elements}")
    reference = np.asarray(function(X))
    size = np.abs(reference).max(axis=0)
    worst = np.zeros_like(size)
    elements = tried_elements(group, n_elements, random_state)
    step = max(1, CHUNK // len(X))
    for start in range(0, len(elements), step):
        moved = group.act(elements[start : start + step], X)
        values = np.asarray(function(moved.reshape(-1, X.shape[1])))
        values = values.reshape(len(moved), *reference.shape)
        worst = np.maximum(worst, np.abs(values - reference).max(axis=(0, 1)))
        size = np.maximum(size, np.abs(values).max(axis=(0, 1)))
    return worst / np.where(size > 0, size, 1) if relative else worst


def tried_elements(group: FiniteGroup, n_elements: int, random_state) -> NDArray:
    """The elements over which a discrepancy is maximised."""
    if group.order <= n_elements:
        return group.elements()
    parts = [
        group.generators(),
        group.sample(n_elements, random_state),
        group.random_words(n_elements, random_state=random_state),
    ]
    return np.concatenate(parts)
