"""`share_of_changes`: the share of predicted classes that change under a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..groups import Group


def share_of_changes(
    predict: Callable[[NDArray], NDArray],
    group: Group,
    *,
    X: NDArray,
    n_elements: int = 8,
    random_state: Any = 0,
) -> float:
    """Return the share of predicted classes that change under a random transformation.

    ``predict`` returns the classes of points of shape (n, d), such as X. All points are transformed
    by the same ``n_elements`` elements.

    >>> from invariance.groups import Negation
    >>> ones = np.ones((5, 1))
    >>> signs = share_of_changes(lambda X: X[:, 0] > 0, Negation(), X=ones, n_elements=100)
    >>> bool(0.35 < signs < 0.65)
    True
    """
    images = group.act(group.sample(n_elements, random_state), X)
    classes = predict(images.reshape(-1, X.shape[1]))
    changes = classes.reshape(len(images), -1) != np.ravel(predict(X))
    return float(np.mean(changes))
