"""`departure_from_unitary`: how far interpolation and lost borders take an action from unitary."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core.parameters import Array, ParameterError, Seed, Whole, arguments, check_memory, short
from .base import GROUP, Transformations

__all__ = ["Departure", "departure_from_unitary"]


class Departure(NamedTuple):
    """Largest and root mean square departures over the sampled elements and the points."""

    norm: float
    norm_rms: float
    inner_product: float
    inner_product_rms: float
    inverse: float | None
    inverse_rms: float | None


@arguments(group=GROUP, X=Array(), n_samples=Whole(1), random_state=Seed())
def departure_from_unitary(
    group: Transformations, X: ArrayLike, *, n_samples: int = 50, random_state: Any = 0
) -> Departure:
    r"""Measure how far an action is from unitary on given points.

    Parameters
    ----------
    group : Transformations
    X : array of shape (n, d) or (n, *shape)
    n_samples : int
        Elements drawn from the measure.
    random_state : int, RandomState or None

    Returns
    -------
    Departure
        ``norm``: \| \|gx\| / \|x\| - 1 \|; ``inner_product``: \|<gx, gz> - <x, z>\| / (\|x\| \|z\|)
        over all pairs; ``inverse``: \|g^-1 g x - x\| / \|x\|, None where there is no inverse. Each
        as the largest value and, with ``_rms``, as a root mean square.

    Examples
    --------
    >>> from invariance.groups import Rotations, Translations
    >>> X = np.random.default_rng(0).standard_normal((4, 8, 8))
    >>> departure_from_unitary(Translations((8, 8), max_shift=2), X).inner_product < 1e-12
    True
    >>> departure_from_unitary(Rotations((8, 8)), X).norm > 0.1        # noise does not rotate
    True
    """
    points = np.asarray(X, dtype=float)
    if points.ndim < 2:
        raise ParameterError(
            f"departure_from_unitary needs X of shape (n, d), got {short(X)} of shape "
            f"{points.shape}"
        )
    flat = points.reshape(len(points), -1)
    norms = np.linalg.norm(flat, axis=1)
    if not np.all(norms > 0):
        raise ParameterError(
            f"X: point {int(norms.argmin())} is zero: its departure is undefined; got {short(X)}"
        )
    check_memory("departure_from_unitary", 8 * n_samples * flat.size, n_samples=n_samples)
    elements = group.sample(n_samples, random_state)
    moved = group.act(elements, points).reshape(len(elements), *flat.shape)
    gram = (moved @ moved.swapaxes(1, 2) - flat @ flat.T) / np.outer(norms, norms)
    stretch = np.linalg.norm(moved, axis=2) / norms - 1
    undone = None
    if hasattr(group, "inverse"):
        back = group.inverse(elements)
        residue = [group.act(back[i : i + 1], moved[i])[0] - flat for i in range(len(back))]
        undone = np.linalg.norm(residue, axis=2) / norms

    def both(values: Any) -> tuple[float, float]:
        return float(np.abs(values).max()), float(np.sqrt(np.mean(np.square(values))))

    inverse = (None, None) if undone is None else both(undone)
    return Departure(*both(stretch), *both(gram), *inverse)
