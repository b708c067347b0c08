"""`enough_nodes`: a finite rule of an infinite group, fine enough for given points.

A mean over rotations is replaced by one over nodes, and how many that takes depends on how fast the
values vary along the orbits of the points at hand: on the norm of what moves, and on the kernel or
the templates. The nodes are doubled until the means of a few points, those that need most, stay as
they are. Kernels and features do it alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import is_foreign, like, on_host
from ..groups import Transformations
from .way import row_blocks

Array = NDArray[Any]

#: Points that are looked at, and those of them that meet a point of the other side head-on.
_POINTS, _PARTNERS = 6, 2
#: Rules whose nodes become more than this many times as many by doubling are refined in smaller
#: steps, such as those of rotations of space.
_STEEP = 4
#: Means that agree so well may be over one and the same set, as of rotations by 1/5 and by 1/10 of
#: a turn together with half turns: they are compared with so many times as many nodes.
_ALIKE, _OTHER = 1e-10, 7
#: Others that agree may be so nearly: turns by 1/9 and by 1/18 with half turns, if little but one
#: frequency moves. A third rule is no double of either.
_THIRDS = 3
#: Nodes at which refinement ends, and numbers of moved points, since more would take seconds.
_MOST_NODES, _MOST_WORK = 2**14, 2e7
#: Errors at partners are not held to values fainter than this, relative to their own.
_FAINT = 1e-8
#: Bytes of the squares of points that are looked at.
_BLOCK_BYTES = 2**22


@dataclass(frozen=True)
class Rule:
    """A finite set that stands for a group, and by how much its means are off."""

    group: Transformations
    error: float  #: relative to the largest value


def has_nodes(group: Any) -> bool:
    """Whether means over a group are means over nodes, chosen or given."""
    return group is not None and group.refined(1) is not None


def are_given(group: Transformations) -> bool:
    """Whether the nodes were chosen by whoever made the group."""
    return group.order != inf


def enough_nodes(
    group: Transformations,
    mean: Callable[[Transformations], Array],
    *,
    tolerance: float,
    most: Callable[[Transformations], float],
    change: Callable[[Array, Array], float] | None = None,
) -> Rule:
    """A rule whose means agree with those of a finer one.

    Nodes that were given are kept, and compared once.

    Parameters
    ----------
    group : Transformations that have nodes (`has_nodes`)
    mean : callable
        Means over a finite set for the points that need most nodes, an array (..., k).
    tolerance : float
        By how much vectors of k numbers may change, relative to the longest of them.
    most : callable
        Nodes at which doubling ends, for a rule.
    change : callable or None
        The relative change between two arrays of means; None is `departure`.
    """
    change = departure if change is None else change

    def unlike(times: int, factor: int, values: Array) -> float:
        """How much a much finer rule changes means that seem to stay as they are."""
        finest = group.refined(times * factor)
        return change(values, mean(finest)) if finest.order <= most(finest) else 0.0

    if are_given(group):
        values = mean(group)
        error = change(values, mean(group.refined(2)))
        if error <= _ALIKE:
            error = max(error, unlike(_OTHER, 1, values))
        return Rule(group, error)
    rule = group.refined(1)
    doubled = group.refined(2)
    steep = doubled.order > _STEEP * rule.order
    factor = 1
    values = mean(rule)
    while True:
        factor = _next(factor) if steep else 2 * factor
        finer = group.refined(factor)
        finer_values = mean(finer)
        error = change(values, finer_values)
        if error <= tolerance:
            error = max(error, unlike(_OTHER if error <= _ALIKE else _THIRDS, factor, finer_values))
        if error <= tolerance or finer.order > (2 if steep else 1) * most(finer):
            return Rule(rule, error)
        rule = finer
        values = finer_values


def _next(factor: int) -> int:
    """The next of 1, 2, 3, 4, 6, 8, 12, 16, 24, ..."""
    if factor == 1:
        return 2
    is_power_of_two = factor & (factor - 1) == 0
    return factor * 3 // 2 if is_power_of_two else factor * 4 // 3


def departure(values: Array, exact: Array) -> float:
    """The largest change of a vector (the last axis), relative to the longest of them."""
    size = np.linalg.norm(exact, axis=-1).max(initial=0.0)
    change = np.linalg.norm(values - exact, axis=-1).max(initial=0.0)
    return float(change / max(size, np.finfo(float).tiny))


def most_nodes(n_features: int, *, squared: bool = False) -> float:
    """Nodes at which refinement ends; of rules of which every pair of nodes is evaluated, too."""
    nodes = min(_MOST_NODES, _MOST_WORK / (12 * n_features))
    if squared:
        nodes = min(nodes, (1000 * _MOST_WORK / (72 * n_features)) ** 0.5)
    return nodes


# -- the points that need most nodes ---------------------------------------------------------------


def moving_norms(group: Transformations, points: Any, owner: str) -> Array:
    """Norms of what moves of each point, by each part of the group that has nodes; (k, n)."""
    points = points.detach() if hasattr(points, "detach") else points
    n, size = points.shape
    rates = group.moving(size)
    if rates is None:
        rates = np.ones((1, size))
    squared_rates = np.square(rates).T
    blocks = []
    for rows in row_blocks(n, 16 * size, _BLOCK_BYTES):
        block = points[rows, :]
        if is_foreign(block):
            squares = on_host((block * block) @ like(squared_rates, block), owner)
        else:
            squares = np.square(np.nan_to_num(block)) @ squared_rates  # sets may lack points
        blocks.append(np.sqrt(squares))
    return np.concatenate(blocks or [np.zeros((0, len(rates)))]).T


def fastest(group: Transformations, points: Any, owner: str, n_points: int = _POINTS) -> Array:
    """The points of which most moves, in double precision, the first ones first."""
    norms = moving_norms(group, points, owner)
    each = max(2, -(-n_points // len(norms)))
    chosen = np.argsort(-norms, axis=1, kind="stable")[:, :each].T.ravel()
    _, first = np.unique(chosen, return_index=True)
    return plain(points, owner)[chosen[np.sort(first)]].astype(float)


@dataclass(frozen=True)
class Pairs:
    """Pairs of points that need most nodes: the first ones of either side are given points.

    The others are partners, which `fastest_pairs` makes.
    """

    one: Array
    two: Array
    n_given: tuple[int, int]

    def change(self, values: Array, exact: Array, rounding: float) -> float:
        """The largest change of a kernel matrix of these, relative to its largest value.

        That is one of given points; ``rounding`` is what may be lost of it in any case.
        """
        given = tuple(slice(n) for n in self.n_given)
        errors = np.abs(values - exact)
        sizes = np.abs(exact)
        size = max(sizes[given].max(), rounding, np.finfo(float).tiny)
        among_all = errors.max() / max(size, _FAINT * sizes.max())
        return float(max(errors[given].max() / size, among_all))


def fastest_pairs(group: Transformations, X: Any, Y: Any, owner: str) -> Pairs:
    """The points of X and of Y of which most moves, and partners of the first ones.

    A partner is the point itself with what moves as long as that of the other side is: no pair of
    points varies faster along its orbit.
    """
    one = fastest(group, X, owner)
    if Y is X:
        return Pairs(one, one, (len(one), len(one)))
    two = fastest(group, Y, owner)
    rates = group.moving(one.shape[1])
    moves = np.ones(one.shape[1], dtype=bool) if rates is None else rates.any(axis=0)
    longest = [float(moving_norms(group, A, owner)[0].max(initial=0.0)) for A in (one, two)]

    def partners(points: Array, own: float, other: float) -> Array:
        share = min(1.0, other / max(own, np.finfo(float).tiny))
        return np.where(moves, share * points[:_PARTNERS], points[:_PARTNERS])

    return Pairs(
        np.concatenate([one, partners(two, *longest[::-1])]),
        np.concatenate([two, partners(one, *longest)]),
        (len(one), len(two)),
    )


def plain(points: Any, owner: str) -> Array:
    """Points as NumPy's array on the host."""
    if is_foreign(points):
        points = on_host(points.detach() if hasattr(points, "detach") else points, owner)
    return np.asarray(points)
