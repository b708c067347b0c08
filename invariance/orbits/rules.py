"""Quadrature rules for means over infinite groups: how many nodes a stated error takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from operator import gt, is_
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import is_foreign, on_host
from ..groups import Transformations
from .choose import warn

__all__ = ["enough_nodes"]

#: Nodes at which doubling ends.
_MOST_NODES = 2**14
#: Features of moved points at which it ends, where more would take seconds.
_MOST_WORK = 2e7
#: By group: what the mean depended on when the nodes were looked at, the largest squared norms of
#: both arguments, and the error.
_LOOKED_AT: WeakKeyDictionary[Transformations, tuple[list[Any], list[float], float]]
_LOOKED_AT = WeakKeyDictionary()


def enough_nodes(
    group: Transformations,
    mean: Callable[[Transformations, Any, Any], Any],
    points: tuple[Any, Any],
    *,
    tolerance: float,
    pairs: Callable[[Transformations, Any], bool],
    kernel: Any,
) -> Transformations:
    """A finite rule of an infinite group whose mean agrees with that of twice as many nodes.

    Parameters
    ----------
    group : Transformations
        Returned as it is where it is finite, with a warning where it is itself a rule and too
        coarse a one. It is looked at again when a parameter of its own or of the kernel changes,
        or for larger points than before.
    mean : callable
        ``mean(group, A, B)``, the kernel matrix of some points.
    points : two arrays (n, d), (m, d)
        The six largest of each, whose values vary most, are looked at.
    tolerance : float
        Relative to the largest value.
    pairs : callable
        ``pairs(group, B)``: whether the mean runs over pairs of nodes.
    kernel : estimator
        Whose mean it is. It is named in the warning where the nodes that a second of work allows,
        16,384 at most, do not do.
    """
    finer = group.refined(1)
    if finer is None:
        return group
    given, owner = group.order != inf, type(kernel).__name__
    one, two = (_largest(A, owner) for A in points)
    now, norms = [*_parts(kernel)], [float(np.square(A).sum(axis=1).max()) for A in (one, two)]
    known, seen, error = _LOOKED_AT.get(group, ([], norms, 0.0)) if given else ([], norms, 0.0)
    chosen, d = group, one.shape[1]
    if len(known) != len(now) or not all(map(is_, known, now)) or any(map(gt, norms, seen)):
        most = min(_MOST_NODES, _MOST_WORK / (12 * d))
        if pairs(finer, two):
            most = min(most, (1000 * _MOST_WORK / (72 * d)) ** 0.5)
        factor, gram = 1, mean(finer, one, two)
        while True:
            chosen = group if given else finer
            factor *= 2
            finer = group.refined(factor)
            before, gram = gram, mean(finer, one, two)
            error = float(np.abs(gram - before).max())
            error /= max(float(np.abs(gram).max()), float(np.finfo(float).tiny))
            if error <= tolerance or given or finer.order > most:
                break
        if given:
            _LOOKED_AT[group] = now, norms, error
    if error > tolerance:
        mend = "n_nodes=None" if given else "a smaller gamma or degree, or a wider density"
        warn(
            f"{owner}: {chosen.order} nodes leave a relative error of about {error:.1e}, more than "
            f"tolerance={tolerance:g}; take {mend}"
        )
    return chosen


def _largest(A: Any, owner: str) -> NDArray[Any]:
    """The six points of largest norm."""
    if is_foreign(A):
        A = on_host(A.detach() if hasattr(A, "detach") else A, owner)
    largest: NDArray[Any] = A[np.argsort(np.einsum("nd,nd->n", A, A))[-6:]].astype(float)
    return largest


def _parts(value: Any) -> Iterator[Any]:
    """The parameters of an estimator and of those among them, which are named by their classes."""
    if not hasattr(value, "get_params"):
        yield value
        return
    yield type(value)
    for part in vars(value).values():
        yield from _parts(part)
