"""What one would do without spectral averaging: augment the data, or pick one point an orbit.

Averaging a kernel over a group, exactly or over random elements, is `invariance.kernels.Average`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, check_X_y

from ..core.arrays import validate_data
from ..core.parameters import Array, Has, Seed, Whole, arguments
from ..groups import FiniteGroup

__all__ = ["SortedCoordinates", "augment"]


@arguments(
    X=Array(2),
    group=Has("a finite group, such as Permutations(3)", "act", "elements", "identity"),
    n_copies=Whole(1) | None,
    random_state=Seed(),
)
def augment(
    X: ArrayLike,
    y: ArrayLike,
    group: FiniteGroup,
    *,
    n_copies: int | None = None,
    random_state: Any = None,
) -> tuple[NDArray, NDArray]:
    """Training points together with their images, labels repeated.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    group : FiniteGroup
    n_copies : int, optional
        Random elements used, besides the identity; default: the whole group.
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (r n, d)
    y : ndarray of shape (r n,)

    Examples
    --------
    >>> from invariance.groups import SignFlips
    >>> augment([[1.0], [2.0]], [5.0, 6.0], SignFlips(1))[0].ravel()
    array([ 1.,  2., -1., -2.])
    """
    points, labels = check_X_y(X, y, dtype=np.float64)
    if n_copies is None:
        elements = group.elements()
    else:
        elements = np.concatenate([group.identity(), group.sample(n_copies, random_state)])
    moved = group.act(elements, points)
    return moved.reshape(-1, points.shape[1]), np.tile(labels, len(moved))


class SortedCoordinates(TransformerMixin, BaseEstimator):
    """Canonicalisation under coordinate permutations: each point's coordinates, sorted.

    Continuous but not smooth: the map has a kink wherever two coordinates are equal, so a
    function of the sorted coordinates is in general less smooth than the invariant target.

    Examples
    --------
    >>> SortedCoordinates().fit_transform([[3.0, 1.0, 2.0]])
    array([[1., 2., 3.]])
    """

    def fit(self, X: ArrayLike, y: Any = None) -> SortedCoordinates:
        """Nothing is learnt."""
        validate_data(self, X, dtype=np.float64)
        return self

    def transform(self, X: ArrayLike) -> NDArray:
        """Shape (n, d), rows sorted in rising order."""
        check_is_fitted(self)
        return np.sort(validate_data(self, X, dtype=np.float64, reset=False), axis=1)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")
