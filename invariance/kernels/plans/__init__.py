"""How the extreme inner products over a set of transformations are computed, block by block.

`plan_for` decides which transformations go by correlation, which are applied to the second
points, and which are transposed onto the first; each way is a `Plan`.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ...groups import (
    Affine,
    Composition,
    CyclicTranslations,
    OrthogonalMatrices,
    Rotations,
    Scalings,
    SignedPermutationGroup,
    Transformations,
    Translations,
)
from ...groups.translations import image_shape
from ..lift import Lift
from ..quarter_turns import within_a_quarter
from .base import Plan, bounding_boxes
from .correlations import Correlations
from .products import Products, TurnedProducts

__all__ = ["Correlations", "Plan", "Products", "TurnedProducts", "plan_for"]

#: Transformations that act linearly on points, so that <x, T y> = <T^t x, y>.
_LINEAR = (Affine, OrthogonalMatrices, Rotations, Scalings, SignedPermutationGroup)


def plan_for(
    X: NDArray,
    lift: Lift,
    shape: tuple[int, int, int],
    dtype,
    group: Transformations,
    elements: NDArray | None,
    block_bytes: int,
    n_jobs: int | None,
) -> Plan:
    """The plan for some first points X and the given elements of a set, None for all of them."""
    boxes = bounding_boxes(X.reshape(len(X), *shape))
    common = lift, shape, np.dtype(dtype), block_bytes, n_jobs, boxes
    if elements is None:
        chain = _chain(group)
        places = [
            i
            for i, part in enumerate(chain)
            if isinstance(part, (Translations, CyclicTranslations))
        ]
        if places:
            place = places[-1]
            before, after = chain[:place], chain[place + 1 :]
            transposable = lift.linear and all(isinstance(part, _LINEAR) for part in after)
            # Shifts of the flattened points are none of the images that the base kernel sees.
            same_images = (*image_shape(chain[place].shape), 1)[:3] == shape
            if same_images and (not after or transposable):
                pairs, cyclic = _shifts(chain[place])
                return Correlations(*common, pairs, cyclic, _compose(before), _compose(after))
    # Features that are zero for all first points, such as the empty border, count for nothing.
    brightest = np.abs(X).max(axis=0, initial=0).reshape(1, *shape)
    support = lift.first(brightest)[0] != 0
    within = within_a_quarter(group) if elements is None else None
    if within is not None:
        return TurnedProducts(*common, support, within, within.elements())
    return Products(*common, support, group, group.elements() if elements is None else elements)


def _chain(group: Transformations) -> list[Transformations]:
    """The parts of nested compositions, in the order in which they are applied."""
    if isinstance(group, Composition):
        return [*_chain(group.first), *_chain(group.second)]
    return [group]


def _compose(parts: list[Transformations]) -> Transformations | None:
    return reduce(Composition, parts) if parts else None


def _shifts(group: Translations | CyclicTranslations) -> tuple[NDArray, bool]:
    """The shifts as rows (down, right), and whether they are cyclic."""
    elements = group.elements()
    if isinstance(group, Translations):
        return elements, group.boundary == "cyclic"
    pairs = np.zeros((len(elements), 2), dtype=np.int64)
    pairs[:, list(group.axes)] = elements
    return pairs, True
