"""Weights are probabilities, and draws follow them, or the Haar measure."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ..base import ENUMERATION_LIMIT, FiniteGroup, Group
from .subject import ENTRIES, Recogniser, Subject

__all__ = ["check_measure"]

#: Probability, over the seeds, that a correct `sample` is called wrong.
_FALSE_ALARM = 1e-6
#: Least number of draws from a set that is listed; half of those from one that is not.
_DRAWS = 1000


def check_measure(subject: Subject, known: Recogniser, listed: NDArray[Any] | None) -> None:
    """Weights and draws; ``listed`` holds all elements where they are few."""
    group = subject.group
    listable = group.order <= ENUMERATION_LIMIT
    weights = group.weights() if listable else None
    if weights is not None:
        _check_probabilities(subject, weights)
    if listed is not None:
        drawn_as_due = _check_frequencies(subject, known, listed, weights)
        if isinstance(group, Group) and group.symmetric:
            _check_symmetry(subject, known, listed, drawn_as_due)
        return
    haar = (
        isinstance(group, Group)
        and group.symmetric
        and weights is None
        and getattr(group, "density", None) is None
    )
    if haar or (listable and weights is None):
        drawn = group.sample(2 * _DRAWS, subject.rng)
        # Of more than 2,000 equally likely elements 1,264 or more differ on average. One draw
        # changes this number by one at most, so it is below 1,000 with probability 1e-30.
        different = len({g.tobytes() for g in drawn})
        if different < _DRAWS:
            subject.fail(
                f"of {len(drawn)} draws of sample only {different} differ, too few where "
                f"{group.order} elements are equally likely: it repeats itself",
                drawn[0],
            )
    if haar:
        _check_invariance(subject, known, drawn)


def _check_probabilities(subject: Subject, weights: NDArray[Any]) -> None:
    due = f"weights() must return None or an array of {subject.group.order} probabilities"
    if not isinstance(weights, np.ndarray) or weights.dtype.kind not in "iuf":
        subject.fail(f"{due}; got {weights!r:.80} (return np.array(...))")
    if weights.shape != (subject.group.order,):
        subject.fail(f"{due}; got shape {weights.shape}")
    if not np.all(weights >= 0):
        subject.fail(f"{due}; the least is {weights.min()}")
    if not abs(weights.sum() - 1) <= 1e-6:
        subject.fail(f"{due}, which sum to one; they sum to {weights.sum():.6g}")


def _check_frequencies(
    subject: Subject, known: Recogniser, listed: NDArray[Any], weights: NDArray[Any] | None
) -> NDArray[Any]:
    """How often each element is drawn: as often as its weight says, by binomial tests.

    Returns the weights by the first element that acts alike.
    """
    group, n = subject.group, len(listed)
    if weights is None:
        weights = np.full(n, 1 / n)
    # Elements that act alike count together.
    due = np.minimum(np.bincount(known.own, weights, n), 1)
    # Where 30 draws an element are due, one that never comes is unlikely enough to be found.
    n_draws = max(_DRAWS, 30 * n)
    counts: Counter[bytes] = Counter()
    size = max(1, ENTRIES // listed[0].size)
    for start in range(0, n_draws, size):
        drawn = group.sample(min(size, n_draws - start), subject.rng)
        counts.update(g.tobytes() for g in drawn)
    different = np.frombuffer(b"".join(counts), drawn.dtype).reshape(-1, *drawn.shape[1:])
    cells = known.cells(known.signatures(different, subject.X[:1]))
    if cells.min() < 0:
        subject.fail("sample draws what elements() does not list", different[cells.argmin()])
    drawn = np.bincount(cells, list(counts.values()), n)
    tails = stats.binom.cdf(drawn, n_draws, due), stats.binom.sf(drawn - 1, n_draws, due)
    chances = 2 * n * np.minimum(*tails)
    worst = int(chances.argmin())
    if chances[worst] < _FALSE_ALARM:
        subject.fail(
            f"sample does not follow the weights: of {n_draws} draws {drawn[worst]:.0f} "
            f"instead of {n_draws * due[worst]:.4g} (chance below {_FALSE_ALARM:g})",
            listed[worst],
        )
    return due


def _check_symmetry(
    subject: Subject, known: Recogniser, listed: NDArray[Any], weights: NDArray[Any]
) -> None:
    """An element and its inverse weigh the same."""
    inverses = known.cells(known.signatures(subject.group.inverse(listed), subject.X[:1]))
    if inverses.min() < 0:
        subject.fail("closure: elements() lacks the inverse", listed[inverses.argmin()])
    weight, opposite = weights[known.own], weights[inverses]
    unlike = np.isclose(weight, opposite).argmin()
    if not np.isclose(weight[unlike], opposite[unlike]):
        subject.fail(
            f"symmetric is claimed, but the weights {weight[unlike]:.4g} and, of the "
            f"inverse, {opposite[unlike]:.4g} differ",
            listed[unlike],
        )


def _check_invariance(subject: Subject, known: Recogniser, drawn: NDArray[Any]) -> None:
    """<t, gx> is distributed as <t, ghx>, for every h where g has the Haar measure."""
    group, x = subject.group, subject.X[:1]
    n = int(np.clip(4 * ENTRIES // x.size, 100, len(drawn) // 2))
    shifts = group.sample(5, subject.rng)
    if isinstance(group, FiniteGroup):
        shifts = group.generators()[:5]
    # Rounded, so that equal values stay equal when they are computed in two ways.
    digits = int(-np.log10(max(subject.tolerance, 1e-12)))
    still = known.signatures(drawn[:n], x).round(digits)
    for h in shifts[:, None]:
        moved = known.signatures(drawn[-n:], subject.images(h, x)[0]).round(digits)
        tests = [stats.ks_2samp(*pair) for pair in zip(still.T, moved.T, strict=True)]
        if len(tests) * len(shifts) * min(test.pvalue for test in tests) < _FALSE_ALARM:
            subject.fail(
                "sample is not the Haar measure: <t, gx> and <t, ghx> are distributed "
                f"differently (chance below {_FALSE_ALARM:g}; a measure that is meant to be "
                "another one is announced by an attribute density)",
                h[0],
            )
