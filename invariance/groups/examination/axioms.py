"""The action is linear and unitary where that is claimed, and a group's axioms hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..base import FiniteGroup, Group
from .subject import Recogniser, Subject

__all__ = ["check_action", "check_axioms"]


def check_action(subject: Subject, elements: NDArray[Any]) -> None:
    """Linear, as the action of a group is and any unitary one; unitary where that is claimed."""
    X, unitary = subject.X, subject.group.unitary
    for g in subject.blocks(elements, len(X)):
        moved = subject.images(g, X)
        if unitary or isinstance(subject.group, Group):
            linear = subject.images(g, 2 * X[:1] - 3 * X[1:2])
            gaps = subject.gaps(linear, 2 * moved[:, :1] - 3 * moved[:, 1:2])
            subject.hold(gaps, "linearity of the action fails", g)
        if unitary:
            gaps = subject.gaps(moved @ moved.swapaxes(1, 2), X @ X.T) / subject.scale
            subject.hold(gaps, "unitary is claimed, but <gx, gz> differs from <x, z>", g)


def check_axioms(
    subject: Subject, known: Recogniser, elements: NDArray[Any], complete: bool, n_trials: int
) -> None:
    """The axioms for each element and its products with the generators or a few draws.

    ``complete`` says that the elements are all of the group's.
    """
    group, x = subject.group, subject.X[:1]
    law = "action: (gh)x = g(hx) fails"
    e = group.identity()
    subject.hold(subject.gaps(subject.images(e, x), x), "identity: e x = x fails", e)
    if complete:
        a, b, c = elements[subject.rng.randint(len(elements), size=(3, n_trials))]
    else:
        a, b, c = (group.sample(n_trials, subject.rng) for _ in range(3))
    partners = group.generators() if complete and isinstance(group, FiniteGroup) else b[:3]
    reached: list[list[NDArray[Any]]] = [[] for _ in partners]
    for g in subject.blocks(elements, 1):
        moved, back = subject.images(g, x), group.inverse(g)
        undone = np.array([subject.images(back[[i]], moved[i])[0] for i in range(len(g))])
        subject.hold(subject.gaps(undone, x), "inverse: g^-1 (g x) = x fails", g)
        for h, signatures in zip(partners[:, None], reached, strict=True):
            gh = subject.images(group.compose(g, h), x)
            subject.hold(subject.gaps(gh, subject.images(g, subject.images(h, x)[0])), law, g, h)
            hg = subject.images(group.compose(h, g), x)
            nested = subject.images(h, moved[:, 0]).swapaxes(0, 1)
            subject.hold(subject.gaps(hg, nested), law, h, g)
            signatures.append(hg[:, 0] @ known.directions)
    ab, bx = group.compose(a, b), subject.images(b, x)
    nested = np.concatenate([subject.images(a[[i]], bx[i]) for i in range(n_trials)])
    subject.hold(subject.gaps(subject.images(ab, x), nested), law, a, b)
    left, right = group.compose(ab, c), group.compose(a, group.compose(b, c))
    gaps = subject.gaps(subject.images(left, x), subject.images(right, x))
    subject.hold(gaps, "associativity fails", a, b, c)
    if complete:
        products = [known.cells(np.concatenate(signatures)) for signatures in reached]
        _check_closure(subject, known, elements, partners, products)


def _check_closure(
    subject: Subject,
    known: Recogniser,
    listed: NDArray[Any],
    partners: NDArray[Any],
    products: list[NDArray[Any]],
) -> None:
    """Each product is listed, once, and what is listed is a product of generators."""
    group, n = subject.group, len(listed)
    twins = np.flatnonzero(known.own != np.arange(n))
    if isinstance(group, FiniteGroup) and len(twins):
        subject.fail(
            f"order says {group.order}, but only {n - len(twins)} elements act differently: "
            "there is no difference",
            listed[known.own[twins[0]]],
            listed[twins[0]],
        )
    for h, product in zip(partners, products, strict=True):
        if product.min() < 0:
            subject.fail("closure: elements() lacks the product gh", h, listed[product.argmin()])
    (unit,) = known.cells(known.signatures(group.identity(), subject.X[:1]))
    if unit < 0:
        subject.fail("closure: elements() lacks the identity", group.identity()[0])
    if not isinstance(group, FiniteGroup):
        return
    # The orbits of the generators on the group: one, if they generate it.
    steps = (np.tile(np.arange(n), len(products)), np.concatenate([*products, known.own[:0]]))
    graph = coo_array((np.ones(len(steps[0])), steps), shape=(n, n))
    orbits = connected_components(graph, directed=False)[1]
    missed = np.flatnonzero(orbits != orbits[unit])
    if len(missed):
        subject.fail(
            f"order says {group.order}, but the generators give only {n - len(missed)} "
            "elements: no product is found",
            listed[missed[0]],
        )
