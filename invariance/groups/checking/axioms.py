"""The action is linear and unitary where that is claimed, and a group's axioms hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..base import FiniteGroup, Group
from .trial import Recogniser, Trial

__all__ = ["check_action", "check_axioms"]


def check_action(trial: Trial, elements: NDArray) -> None:
    """Linear, as the action of a group is and any unitary one; unitary where that is claimed."""
    X, unitary = trial.X, trial.group.unitary
    for g in trial.blocks(elements, len(X)):
        moved = trial.images(g, X)
        if unitary or isinstance(trial.group, Group):
            linear = trial.images(g, 2 * X[:1] - 3 * X[1:2])
            gaps = trial.gaps(linear, 2 * moved[:, :1] - 3 * moved[:, 1:2])
            trial.hold(gaps, "linearity of the action fails", g)
        if unitary:
            gaps = trial.gaps(moved @ moved.swapaxes(1, 2), X @ X.T) / trial.scale
            trial.hold(gaps, "unitary is claimed, but <gx, gz> differs from <x, z>", g)


def check_axioms(
    trial: Trial, known: Recogniser, elements: NDArray, complete: bool, n_trials: int
) -> None:
    """The axioms for each element and its products with the generators or a few draws.

    ``complete`` says that the elements are all of the group's.
    """
    group, x = trial.group, trial.X[:1]
    law = "action: (gh)x = g(hx) fails"
    e = group.identity()
    trial.hold(trial.gaps(trial.images(e, x), x), "identity: e x = x fails", e)
    if complete:
        a, b, c = elements[trial.rng.randint(len(elements), size=(3, n_trials))]
    else:
        a, b, c = (group.sample(n_trials, trial.rng) for _ in range(3))
    partners = group.generators() if complete and isinstance(group, FiniteGroup) else b[:3]
    reached = [[] for _ in partners]
    for g in trial.blocks(elements, 1):
        moved, back = trial.images(g, x), group.inverse(g)
        undone = np.array([trial.images(back[[i]], moved[i])[0] for i in range(len(g))])
        trial.hold(trial.gaps(undone, x), "inverse: g^-1 (g x) = x fails", g)
        for h, signatures in zip(partners[:, None], reached, strict=True):
            gh = trial.images(group.compose(g, h), x)
            trial.hold(trial.gaps(gh, trial.images(g, trial.images(h, x)[0])), law, g, h)
            hg = trial.images(group.compose(h, g), x)
            nested = trial.images(h, moved[:, 0]).swapaxes(0, 1)
            trial.hold(trial.gaps(hg, nested), law, h, g)
            signatures.append(hg[:, 0] @ known.directions)
    ab, bx = group.compose(a, b), trial.images(b, x)
    nested = np.concatenate([trial.images(a[[i]], bx[i]) for i in range(n_trials)])
    trial.hold(trial.gaps(trial.images(ab, x), nested), law, a, b)
    left, right = group.compose(ab, c), group.compose(a, group.compose(b, c))
    gaps = trial.gaps(trial.images(left, x), trial.images(right, x))
    trial.hold(gaps, "associativity fails", a, b, c)
    if complete:
        products = [known.cells(np.concatenate(signatures)) for signatures in reached]
        _check_closure(trial, known, elements, partners, products)


def _check_closure(
    trial: Trial, known: Recogniser, listed: NDArray, partners: NDArray, products: list[NDArray]
) -> None:
    """Each product is listed, once, and what is listed is a product of generators."""
    group, n = trial.group, len(listed)
    twins = np.flatnonzero(known.own != np.arange(n))
    if isinstance(group, FiniteGroup) and len(twins):
        trial.fail(
            f"order says {group.order}, but only {n - len(twins)} elements act differently: "
            "there is no difference",
            listed[known.own[twins[0]]],
            listed[twins[0]],
        )
    for h, product in zip(partners, products, strict=True):
        if product.min() < 0:
            trial.fail("closure: elements() lacks the product gh", h, listed[product.argmin()])
    (unit,) = known.cells(known.signatures(group.identity(), trial.X[:1]))
    if unit < 0:
        trial.fail("closure: elements() lacks the identity", group.identity()[0])
    if not isinstance(group, FiniteGroup):
        return
    # The orbits of the generators on the group: one, if they generate it.
    steps = (np.tile(np.arange(n), len(products)), np.concatenate([*products, known.own[:0]]))
    graph = coo_array((np.ones(len(steps[0])), steps), shape=(n, n))
    orbits = connected_components(graph, directed=False)[1]
    missed = np.flatnonzero(orbits != orbits[unit])
    if len(missed):
        trial.fail(
            f"order says {group.order}, but the generators give only {n - len(missed)} "
            "elements: no product is found",
            listed[missed[0]],
        )
