"""How far a fitted function is from invariant."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..groups import Group
from .trials import Predict

__all__ = ["share_of_changes"]


def share_of_changes(
    predict: Predict,
    group: Group,
    *,
    X: NDArray,
    n_elements: int = 8,
    random_state: Any = 0,
) -> float:
    """How often a predicted class changes under a random transformation.

    Parameters
    ----------
    predict : callable
        From points of shape (n, d) to classes.
    group : Group
    X : ndarray of shape (n, d)
    n_elements : int
        Transformations, the same ones for every point.
    random_state : int, RandomState or None

    Examples
    --------
    >>> from invariance.groups import Negation
    >>> ones = np.ones((5, 1))
    >>> signs = share_of_changes(lambda X: X[:, 0] > 0, Negation(), X=ones, n_elements=100)
    >>> bool(0.35 < signs < 0.65)
    True
    """
    moved = group.act(group.sample(n_elements, random_state), X)
    classes = predict(moved.reshape(-1, X.shape[1])).reshape(len(moved), -1)
    return float(np.mean(classes != predict(X)))
