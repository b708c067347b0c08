"""`check_group`: does a class really implement a group, and is its action unitary?"""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from .base import FiniteGroup, Group, Transformations

__all__ = ["check_group"]


def check_group(
    group: Transformations, n_trials: int = 10, random_state=0, tolerance: float = 1e-8
) -> None:
    """Check axioms, action, unitarity and order on random elements and points.

    Parameters
    ----------
    group : Transformations
        A `Group` is held to the axioms; any other set only to its shape and its claims.
    n_trials : int
        Random elements (and points) tried for each property.
    tolerance : float
        Largest difference, relative to the points' norm, that counts as rounding.

    Raises
    ------
    AssertionError
        Names the property that fails and the elements that break it.

    >>> from invariance.groups import CyclicShifts
    >>> check_group(CyclicShifts(6))
    """
    rng = check_random_state(random_state)
    X = rng.standard_normal((3, group.n_features or 5))
    scale = np.linalg.norm(X, axis=1).max()

    def same(left, right, what: str, *elements) -> None:
        gap = np.abs(left - right).max() / scale
        if not gap <= tolerance:
            named = ", ".join(np.array2string(np.asarray(e)) for e in elements)
            raise AssertionError(f"{group!r}: {what} fails by {gap:.2g} for {named}")

    a, b, c = (group.sample(n_trials, rng) for _ in range(3))
    repeat = group.sample(4, 7)
    if not np.array_equal(repeat, group.sample(4, 7)):
        raise AssertionError(f"{group!r}: sample(4, 7) differs between calls with the same seed")
    moved = group.act(a, X)
    if moved.shape != (n_trials, *X.shape):
        raise AssertionError(
            f"{group!r}: act returned shape {moved.shape}, expected {(n_trials, *X.shape)}"
        )
    linear = group.act(a, 2 * X[:1] - 3 * X[1:2])[:, 0]
    same(linear, 2 * moved[:, 0] - 3 * moved[:, 1], "linearity of the action", a[0])
    if group.unitary:
        gram = moved @ moved.swapaxes(1, 2)
        for element, product in zip(a, gram, strict=True):
            gap = np.abs(product - X @ X.T).max() / scale**2
            if not gap <= tolerance:
                raise AssertionError(
                    f"{group!r}: unitary is claimed, but <gx, gz> differs from <x, z> by "
                    f"{gap:.2g} for {np.array2string(np.asarray(element))}"
                )
    if not isinstance(group, Group):
        return
    same(group.act(group.identity(), X)[0], X, "identity: e x = x", group.identity()[0])
    for g, h, k in zip(a[:, None], b[:, None], c[:, None], strict=True):
        nested = group.act(g, group.act(h, X)[0])[0]
        same(group.act(group.compose(g, h), X)[0], nested, "action: (gh)x = g(hx)", g, h)
        left = group.compose(group.compose(g, h), k)
        right = group.compose(g, group.compose(h, k))
        same(group.act(left, X)[0], group.act(right, X)[0], "associativity", g, h, k)
        undone = group.act(group.inverse(g), group.act(g, X)[0])[0]
        same(undone, X, "inverse: g^-1 (g x) = x", g)
    if isinstance(group, FiniteGroup) and group.order <= 2000:
        listed = group.elements()
        images = {np.round(y, 6).tobytes() for y in group.act(listed, X) + 0.0}
        closed = len(FiniteGroup.elements(group))
        if not len(listed) == len(images) == group.order == closed:
            raise AssertionError(
                f"{group!r}: order says {group.order}, elements() lists {len(listed)} of which "
                f"{len(images)} act differently, and the generators give {closed}"
            )
