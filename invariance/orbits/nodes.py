"""`enough_nodes`: a finite rule for an infinite group that is fine enough for the points at hand.

A mean over rotations is replaced by a mean over nodes. The number of nodes that this takes depends
on how fast the values vary along the orbits of the points: on the norm of the moving part of a
point, and on the kernel or the templates. The nodes are doubled until the means of a few points,
those that need most nodes, no longer change. Kernels and features share this module.
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
from .blocks import row_blocks

Array = NDArray[Any]

#: Number of points for which nodes are chosen.
_POINTS = 6
#: Number of points that are paired with partners.
_PARTNERS = 2
#: If doubling multiplies the number of nodes by more than this, as for rotations of space, rules
#: are refined in smaller steps.
_STEEP = 4
#: Means that agree so well may be over the same set, such as rotations by 1/5 and by 1/10 of a turn
#: together with half turns. They are compared with the means of a much finer rule.
_ALIKE = 1e-10
#: Factor of the number of nodes of that finer rule.
_MUCH_FINER = 7
#: Rules may nearly coincide, such as turns by 1/9 and by 1/18 with half turns, if little but one
#: frequency moves. A third rule confirms agreement: three times as many nodes double neither.
_THIRD_RULE = 3
#: Largest number of nodes.
_MOST_NODES = 2**14
#: Bound on the number of nodes times features, since more would take seconds.
_MOST_WORK = 2e7
#: Errors at partners are relative to values no smaller than this share of their own values.
_FAINT = 1e-8
#: Bytes of a block of squared points.
_BLOCK_BYTES = 2**22
_TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Rule:
    """A finite set that represents a group, and the error of its means."""

    group: Transformations
    #: Relative to the largest value.
    error: float


def has_nodes(group: Any) -> bool:
    """Whether means over a group are means over nodes, its own or chosen ones."""
    return group is not None and group.refined(1) is not None


def are_given(group: Transformations) -> bool:
    """Whether the group has nodes of its own, whose number was set by the user."""
    return group.order != inf


def enough_nodes(
    group: Transformations,
    mean: Callable[[Transformations], Array],
    *,
    tolerance: float,
    most: Callable[[Transformations], float],
    change: Callable[[Array, Array], float] | None = None,
) -> Rule:
    """Return a rule whose means agree with those of a finer rule.

    The group's own nodes are not changed, but compared once.

    Parameters
    ----------
    group : Transformations that have nodes (`has_nodes`)
    mean : callable
        Means over a finite set for the points that need most nodes, an array (..., k).
    tolerance : float
        Largest change of vectors of k numbers, relative to the longest of them.
    most : callable
        The largest number of nodes, as a function of a rule.
    change : callable or None
        The relative change between two arrays of means; None is `departure`.
    """
    if change is None:
        change = departure

    def change_if_finer(times: int, factor: int, values: Array) -> float:
        """Change of seemingly converged means by a finer rule, zero if that is too large."""
        finest = group.refined(times * factor)
        if finest.order > most(finest):
            return 0.0
        return change(values, mean(finest))

    if are_given(group):
        values = mean(group)
        error = change(values, mean(group.refined(2)))
        if error <= _ALIKE:
            error = max(error, change_if_finer(_MUCH_FINER, 1, values))
        return Rule(group, error)
    rule = group.refined(1)
    doubled = group.refined(2)
    is_steep = doubled.order > _STEEP * rule.order
    excess = 2 if is_steep else 1
    factor = 1
    values = mean(rule)
    while True:
        factor = _next_factor(factor, is_steep)
        finer = group.refined(factor)
        finer_values = mean(finer)
        error = change(values, finer_values)
        if error <= tolerance:
            times = _MUCH_FINER if error <= _ALIKE else _THIRD_RULE
            error = max(error, change_if_finer(times, factor, finer_values))
        if error <= tolerance or finer.order > excess * most(finer):
            return Rule(rule, error)
        rule = finer
        values = finer_values


def _next_factor(factor: int, is_steep: bool) -> int:
    """Double a factor, or return the next one of 1, 2, 3, 4, 6, 8, 12, 16, 24, ... if steep."""
    if factor == 1 or not is_steep:
        return 2 * factor
    is_power_of_two = factor & (factor - 1) == 0
    if is_power_of_two:
        return factor * 3 // 2
    return factor * 4 // 3


def departure(values: Array, exact: Array) -> float:
    """Return the largest change of a vector (the last axis), relative to the longest vector."""
    size = np.linalg.norm(exact, axis=-1).max(initial=0.0)
    change = np.linalg.norm(values - exact, axis=-1).max(initial=0.0)
    return float(change / max(size, _TINY))


def most_nodes(n_features: int, *, squared: bool = False) -> float:
    """Largest number of nodes; ``squared`` if every pair of nodes is evaluated."""
    nodes = min(_MOST_NODES, _MOST_WORK / (12 * n_features))
    if squared:
        nodes = min(nodes, (1000 * _MOST_WORK / (72 * n_features)) ** 0.5)
    return nodes


# -- the points that need most nodes ---------------------------------------------------------------


def moving_norms(group: Transformations, points: Any, owner: str) -> Array:
    """Norms (k, n) of the part of each point that moves, for k parts of the group with nodes."""
    if hasattr(points, "detach"):
        points = points.detach()
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
            # Missing points of sets are NaN.
            squares = np.square(np.nan_to_num(block)) @ squared_rates
        blocks.append(np.sqrt(squares))
    return np.concatenate(blocks or [np.zeros((0, len(rates)))]).T


def fastest(group: Transformations, points: Any, owner: str, n_points: int = _POINTS) -> Array:
    """Return the points with the largest moving parts, in descending order, as float64."""
    norms = moving_norms(group, points, owner)
    n_per_part = max(2, -(-n_points // len(norms)))
    descending = np.argsort(-norms, axis=1, kind="stable")
    candidates = descending[:, :n_per_part].T.ravel()
    _, first_occurrences = np.unique(candidates, return_index=True)
    indices = candidates[np.sort(first_occurrences)]
    return plain(points, owner)[indices].astype(float)


@dataclass(frozen=True)
class Pairs:
    """Points on either side that need most nodes: first the user's points, then their partners.

    Partners are made by `fastest_pairs`.
    """

    one: Array
    two: Array
    #: Numbers of the user's points on both sides.
    n_given: tuple[int, int]

    def change(self, values: Array, exact: Array, rounding: float) -> float:
        """Return the largest error of a kernel matrix, relative to its largest value.

        That is the largest value at the user's points; ``rounding`` is the size of its rounding
        errors.
        """
        n_one, n_two = self.n_given
        errors = np.abs(values - exact)
        sizes = np.abs(exact)
        size = max(sizes[:n_one, :n_two].max(), rounding, _TINY)
        error = errors[:n_one, :n_two].max() / size
        error_with_partners = errors.max() / max(size, _FAINT * sizes.max())
        return float(max(error, error_with_partners))


def fastest_pairs(group: Transformations, X: Any, Y: Any, owner: str) -> Pairs:
    """Return the points of X and Y with the largest moving parts, and partners of the first ones.

    A partner is the point itself on the other side, with a moving part no longer than the longest
    one there: no pair of points varies faster along its orbit.
    """
    fastest_X = fastest(group, X, owner)
    if Y is X:
        return Pairs(fastest_X, fastest_X, (len(fastest_X), len(fastest_X)))
    fastest_Y = fastest(group, Y, owner)
    n_features = fastest_X.shape[1]
    moves = np.ones(n_features, dtype=bool)
    rates = group.moving(n_features)
    if rates is not None:
        moves = rates.any(axis=0)
    longest_X = float(moving_norms(group, fastest_X, owner)[0].max(initial=0.0))
    longest_Y = float(moving_norms(group, fastest_Y, owner)[0].max(initial=0.0))
    # The partner of a point stands on the other side.
    partners_of_X = _partners(fastest_X, moves, longest_Y / max(longest_X, _TINY))
    partners_of_Y = _partners(fastest_Y, moves, longest_X / max(longest_Y, _TINY))
    return Pairs(
        np.concatenate([fastest_X, partners_of_Y]),
        np.concatenate([fastest_Y, partners_of_X]),
        (len(fastest_X), len(fastest_Y)),
    )


def _partners(points: Array, moves: Array, ratio: float) -> Array:
    """Return the first points, with moving coordinates multiplied by a ratio if it is below one."""
    points = points[:_PARTNERS]
    return np.where(moves, min(1.0, ratio) * points, points)


def plain(points: Any, owner: str) -> Array:
    """Return points as a NumPy array on the host."""
    if is_foreign(points):
        if hasattr(points, "detach"):
            points = points.detach()
        points = on_host(points, owner)
    return np.asarray(points)
