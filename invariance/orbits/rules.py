"""Quadrature rules for means over infinite groups: how many nodes a stated error takes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from ..array_api import is_foreign, on_host
from ..groups import Transformations

__all__ = ["enough_nodes"]

#: Nodes at which doubling ends.
_MOST_NODES = 2**14
#: Features of moved points at which it ends, where more would take seconds.
_MOST_WORK = 2e7


def enough_nodes(
    group: Transformations,
    mean: Callable[[Transformations, Any, Any], Any],
    points: tuple[Any, Any],
    *,
    tolerance: float,
    pairs: Callable[[Transformations, Any], bool],
    owner: str,
) -> Transformations:
    """A finite rule of an infinite group whose mean agrees with that of twice as many nodes.

    Parameters
    ----------
    group : Transformations
        Returned as it is where it is finite, with a warning where it is itself a rule and too
        coarse a one.
    mean : callable
        ``mean(group, A, B)``, the kernel matrix of some points.
    points : two arrays (n, d), (m, d)
        The six largest of each, whose values vary most, are looked at.
    tolerance : float
        Relative to the largest value.
    pairs : callable
        ``pairs(group, B)``: whether the mean runs over pairs of nodes.
    owner : str
        For the warning where the nodes that a second of work allows, 16,384 at most, do not do.
    """
    given = group.order != inf
    finer = group.refined(1)
    if finer is None:
        return group
    largest = []
    for A in points:
        if is_foreign(A):
            A = on_host(A.detach() if hasattr(A, "detach") else A, owner)
        largest.append(A[np.argsort(np.einsum("nd,nd->n", A, A))[-6:]].astype(float))
    one, two = largest
    d = one.shape[1]
    most = min(_MOST_NODES, _MOST_WORK / (12 * d))
    if pairs(finer, two):
        most = min(most, (1000 * _MOST_WORK / (72 * d)) ** 0.5)
    factor, gram = 1, mean(finer, one, two)
    while True:
        chosen: Transformations = finer
        factor *= 2
        finer = group.refined(factor)
        before, gram = gram, mean(finer, one, two)
        error = float(np.abs(gram - before).max())
        error /= max(float(np.abs(gram).max()), float(np.finfo(float).tiny))
        if error > tolerance and (given or finer.order > most):
            mend = "n_nodes=None" if given else "a smaller gamma or degree, or a wider density"
            warnings.warn(
                f"{owner}: {chosen.order} nodes leave a relative error of about {error:.1e}, more "
                f"than tolerance={tolerance:g}; take {mend}",
                stacklevel=2,
            )
        elif error > tolerance:
            continue
        return group if given else chosen
