"""`invariance_discrepancy`: how far from invariant is a function, at worst?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from ..groups import Transformations
from ..core.parameters import Array, Flag, Seed, Whole, arguments
from .base import GROUP

__all__ = ["invariance_discrepancy"]

#: At most this many points are handed to the function at once.
CHUNK = 20_000


@arguments(
    group=GROUP,
    outputs=GROUP | None,
    X=Array(ndim=2),
    n_elements=Whole(1),
    relative=Flag(),
    random_state=Seed(),
    verbose=Whole(0) | Flag(),
)
def invariance_discrepancy(
    function: Callable[[NDArray], NDArray],
    group: Transformations,
    X: ArrayLike,
    *,
    outputs: Transformations | None = None,
    n_elements: int = 100,
    relative: bool = False,
    random_state: Any = 0,
    verbose: int = 0,
) -> float | NDArray:
    r"""The largest change of a function under the group, over given points.

    .. math:: \mathrm{ID}(f) = \sup_{x, g} |f(x) - f(g x)|

    (Soleymani et al. 2025, section 6.3), a lower bound on the supremum over all points. Groups of
    at most ``n_elements`` are listed; from larger ones take the generators, ``n_elements``
    uniform draws and as many random words of length 20 in the generators and their inverses (of
    continuous groups twice as many draws).

    Parameters
    ----------
    function : callable
        (n, d) -> (n,), or (n, m) for m functions at once.
    group : FiniteGroup or continuous group
    X : array-like of shape (n, d)
    outputs : group, optional
        Of a function whose m values turn with the group, see `project`: the change is then
        \\|g f(x) - f(g x)\\|.
    n_elements : int
    relative : bool
        Divide by the largest \\|f(x)\\| met (zero functions have discrepancy 0).
    random_state : int, RandomState or None
    verbose : int
        1 shows progress.

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
    reference = np.asarray(function(X))
    size = np.abs(reference).max(axis=0)
    worst = np.zeros_like(size)
    elements = tried_elements(group, n_elements, random_state)
    step = max(1, CHUNK // len(X))
    starts = range(0, len(elements), step)
    for start in tqdm(starts, "discrepancy", disable=not verbose, leave=False):
        moved = group.act(elements[start : start + step], X)
        values = np.asarray(function(moved.reshape(-1, X.shape[1])))
        values = values.reshape(len(moved), *reference.shape)
        due = reference
        if outputs is not None:
            due = outputs.act(elements[start : start + step], reference.reshape(len(X), -1))
        gaps = np.abs(values - due.reshape(-1, *reference.shape))
        worst = np.maximum(worst, gaps.max(axis=(0, 1)))
        size = np.maximum(size, np.abs(values).max(axis=(0, 1)))
    return np.asarray(worst / np.where(size > 0, size, 1))[()] if relative else worst


def tried_elements(group: Transformations, n_elements: int, random_state: Any) -> NDArray:
    """The elements over which a discrepancy is maximised."""
    if group.order <= n_elements:
        return group.elements()
    if not hasattr(group, "random_words"):
        return group.sample(2 * n_elements, random_state)
    parts = [
        group.generators(),
        group.sample(n_elements, random_state),
        group.random_words(n_elements, random_state=random_state),
    ]
    return np.concatenate(parts)
