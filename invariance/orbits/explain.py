"""`explanation`: the cost of a reduction, estimated by a timing trial on some of its points."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .blocks import Workers
from .cost import Explanation, moving_clock, seconds_of
from .engine import reduce_in_blocks, triangle_pieces
from .reductions import Reduction
from .registry import Algorithm

if TYPE_CHECKING:
    from .orbit_products import OrbitProducts

Array = NDArray[Any]

#: Seconds of a call itself, for its checks and its plan.
_CALL = 2e-4
#: Shortest trial in seconds, and number of elements that are sampled from a larger group.
_TRIAL = 0.06
_TRIAL_ELEMENTS = 4096
#: Groups of more elements are sampled.
_LARGE_GROUP = 2**13


def explanation(
    orbits: OrbitProducts, X: Array, reduction: Reduction, *, times: float, symmetric: bool
) -> Explanation:
    """Return the algorithm that ``orbits.reduce`` takes for points X, with its cost.

    ``times`` is the number of such reductions.
    """
    group = orbits.group
    points, templates, far = orbits.placed(*orbits.roles(X, reduction), reduction)
    if far is not None and far.is_everything:
        return explanation(
            far.exact, far.points(points), reduction, times=times, symmetric=symmetric
        )
    chosen, *rest = orbits.ranked(X, reduction)
    lists_elements = orbits.elements is None and not rest and group.order < inf
    if lists_elements and group.order > _LARGE_GROUP:
        draw = getattr(group, "random_words", group.sample)  # Words need no stabilizer chain.
        elements = draw(_TRIAL_ELEMENTS, random_state=0)
        sampled = replace(
            orbits,
            elements=elements,
            weights=None,
            planner=None,  # type: ignore[arg-type]
        )
        times *= group.order / _TRIAL_ELEMENTS
        return explanation(sampled, X, reduction, times=times, symmetric=symmetric)
    n = len(points)
    m = len(templates)
    share = 1.0
    if symmetric:
        share = (1 + 1 / triangle_pieces(chosen, n, m)) / 2
    seconds = times * share * trial_seconds(chosen, points, templates, reduction)
    is_single = X.dtype == np.float32 and orbits.Z.dtype == np.float32
    result_bytes = n * m * reduction.n_outputs * prod(reduction.tail) * (4 if is_single else 8)
    temporary_bytes = min(2 * chosen.prepared_bytes(m), chosen.problem.block_bytes)
    return Explanation(
        way=chosen.name,
        operations=times * chosen.operations(n, m),
        n_bytes=temporary_bytes + result_bytes,
        seconds=max(_CALL, seconds),
        alternatives={algorithm.name: times * algorithm.operations(n, m) for algorithm in rest},
    )


def trial_seconds(algorithm: Algorithm, X: Array, templates: Array, reduction: Reduction) -> float:
    """Estimate the seconds that an algorithm takes, from trials on more and more points."""

    def run(n: int, m: int) -> None:
        _run_trial(algorithm, X[:n], templates[:m], reduction)

    return extrapolated_seconds(run, algorithm.operations, len(X), len(templates))


def extrapolated_seconds(
    run: Callable[[int, int], Any], operations: Callable[[int, int], float], n: int, m: int
) -> float:
    """Estimate the seconds of ``run(n, m)`` from runs for fewer points.

    The seconds of the last trial are multiplied by the ratio of the numbers of operations.
    """
    clock = moving_clock(time.process_time, time.perf_counter)
    size = 4
    previous = 0.0
    while True:
        trial_n = min(n, size)
        trial_m = min(m, size)
        trial = partial(run, trial_n, trial_m)
        start = clock.read()
        trial()
        seconds = clock.read() - start
        is_complete = trial_n == n and trial_m == m
        # The first trial pays for memory that is new to the process.
        if is_complete or (seconds > _TRIAL and previous > 0):
            break
        previous = seconds
        size *= 2
    if seconds < 4 * _TRIAL:
        again = seconds_of(trial, clock)
        seconds = again if seconds < clock.shortest else min(seconds, again)
    if is_complete:
        return seconds
    return seconds * operations(n, m) / operations(trial_n, trial_m)


def _run_trial(algorithm: Algorithm, X: Array, templates: Array, reduction: Reduction) -> None:
    """Reduce over the orbits of some templates, in one thread."""
    problem = algorithm.problem
    X = X.astype(problem.dtype, copy=False)
    templates = templates.astype(problem.dtype, copy=False)
    reduction = reduction.to_follow(problem.form)
    shape = (len(X), len(templates), *reduction.tail)
    results = [np.empty(shape, problem.dtype) for _ in range(reduction.n_outputs)]
    reduce_in_blocks(algorithm, X, templates, reduction, results, pool=Workers(1, map))
