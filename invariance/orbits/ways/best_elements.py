"""The element of a group that attains the largest value over an orbit, for each pair of points.

Groups that know it without listing their elements have the method `aligning`. All elements of the
other sets are tried.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.config import block_bytes_of
from ...groups import Transformations
from ..blocks import row_blocks
from ..form import Form
from ..numerics import half_norms, half_squares
from ..plan import WeightedSet, composed
from ..reductions import Extremes
from .infinite_part import one_infinite

if TYPE_CHECKING:
    from ..orbit_products import OrbitProducts

Array = NDArray[Any]


def best_elements(orbits: OrbitProducts, X: Array, smallest: bool = False) -> Array:
    r"""Return the element with the largest :math:`k(x, g z)` for all points x and templates z.

    Parameters
    ----------
    orbits : OrbitProducts, whose templates are NumPy's
    X : ndarray of shape (n, d)
    smallest : bool, whether to return the element with the smallest inner product instead

    Returns
    -------
    ndarray of shape (n, m, ...), elements of the orbits' group

    Raises a ParameterError if the elements cannot be listed and the group has no `aligning`.
    """
    X = X.astype(float, copy=False)
    Z = orbits.Z.astype(float, copy=False)
    form: Any = orbits.planner.outline(X.shape[1], Extremes()).form
    if can_align(orbits, form, X.shape[1]):
        elements: Array = _aligning(orbits.group, X, -Z if smallest else Z, form.distance)
        if form.turning_point is None or smallest:
            return elements
        opposite_elements = _aligning(orbits.group, X, -Z, form.distance)
        return _larger_of_two(orbits, X, Z, elements, opposite_elements)
    listed = orbits.elements
    if listed is None:
        listed = orbits.group.elements()
    sign = -1.0 if smallest else 1.0

    def values(transformed: Array) -> Array:
        return sign * _values(orbits, form, X, transformed, follows_products=smallest)

    return np.asarray(listed[_best_of_listed(orbits, listed, values, len(X))])


def can_align(orbits: OrbitProducts, form: Form | None, d: int) -> bool:
    """Whether the group knows the best elements for a kernel of inner products or distances."""
    if form is None or not form.linear or orbits.elements is not None:
        return False
    empty = np.zeros((0, d))
    return _aligning(orbits.group, empty, empty, form.distance) is not None


def _aligning(group: Transformations, A: Array, B: Array, distance: bool) -> Any:
    """Return the elements with the largest <a, g b> or least |a - g b|, shape (n, m, ...), or None.

    One part of a composition may know them, if the elements of all others can be listed. Parts in
    front of it may change norms, which matters for distances.
    """
    parts = group.chain()
    if len(parts) == 1:
        return group.aligning(A, B) if group.unitary else None
    place = one_infinite(parts)
    if place is None or not parts[place].unitary:
        return None
    if parts[place].aligning(A[:0], B[:0]) is None:
        return None
    if not len(A):
        return np.empty((0, len(B), 0))
    before = composed([WeightedSet(part) for part in parts[:place]])
    after = composed([WeightedSet(part) for part in parts[place + 1 :]])
    best_values = np.full((len(A), len(B)), -np.inf)
    best: Any = None
    for before_row, moved_B in _images(before, B):
        for after_row, moved_A in _images(after, A, inverted=True):
            elements = parts[place].aligning(moved_A, moved_B)
            values = _inner_products(parts[place], elements, moved_A, moved_B)
            if distance:
                values -= half_norms(moved_B)
            rows = _side_by_side(before_row, elements, after_row)
            if best is None:
                best = rows
            is_better = values > best_values
            best = np.where(is_better[..., None], rows, best)
            best_values = np.maximum(best_values, values)
    return best


def _images(listed: Any, X: Array, inverted: bool = False) -> Any:
    """Yield each element of a set as a row, and the points that it, or its inverse, makes of X."""
    if listed is None:
        yield np.zeros(0), X
        return
    for element in listed.rule[0]:
        batch = element[None]
        if inverted:
            images = _undone(listed.group, batch, X)
        else:
            images = listed.group.act(batch, X)[0]
        yield element.ravel().astype(float), images


def _undone(group: Any, batch: Array, X: Array) -> Array:
    """Return points before an element of a composition acted on them."""
    parts = group.chain()
    if len(parts) == 1:
        return np.asarray(group.act(group.inverse(batch), X)[0])
    first_element, second_element = group.split(batch)
    return _undone(group.first, first_element, _undone(group.second, second_element, X))


def _side_by_side(before: Array, elements: Array, after: Array) -> Array:
    """Return elements of a composition, shape (n, m, numbers of all parts)."""
    n, m = elements.shape[:2]
    middle = elements.reshape(n, m, prod(elements.shape[2:])).astype(float)
    fronts = np.broadcast_to(before, (n, m, len(before)))
    ends = np.broadcast_to(after, (n, m, len(after)))
    return np.concatenate([fronts, middle, ends], axis=2)


def _inner_products(group: Any, elements: Array, A: Array, B: Array) -> Array:
    """Return <a, g b> for the element g of each pair, shape (n, m)."""
    values = np.empty(elements.shape[:2])
    for j in range(len(B)):
        images = group.act(elements[:, j], B[j : j + 1])[:, 0]
        values[:, j] = np.einsum("nd,nd->n", A, images)
    return values


def _values(
    orbits: OrbitProducts, form: Form | None, X: Array, Z: Array, follows_products: bool
) -> Array:
    """Return numbers that are larger where the kernel is larger, shape (n, rows of Z).

    The inner product or distance of a pair is preferred to the kernel's value, which may underflow.
    """
    if form is not None and form.linear:
        values = half_squares(X, Z) if form.distance else X @ Z.T
        if form.turning_point is None or follows_products:
            return np.asarray(values)
        return np.asarray(form.value(values))
    base = getattr(orbits.base, "_gram", orbits.base)
    return np.asarray(base(X, Z), dtype=float)


def _larger_of_two(orbits: OrbitProducts, X: Array, Z: Array, first: Array, second: Array) -> Array:
    """Return for each pair the one of two elements with the larger value of the kernel."""
    best = first.copy()
    for j in range(len(Z)):
        values = []
        for elements in (first, second):
            images = orbits.group.act(elements[:, j], Z[j : j + 1])
            rows = images.reshape(len(X), -1)
            products = np.einsum("nd,nd->n", X, rows)
            form: Any = orbits.planner.outline(X.shape[1], Extremes()).form
            values.append(form.value(products))
        is_second = values[1] > values[0]
        best[is_second, j] = second[is_second, j]
    return best


def _best_of_listed(orbits: OrbitProducts, elements: Array, values: Any, n: int) -> Array:
    """Return the index of the element with the largest value for each pair, shape (n, m)."""
    Z = orbits.Z.astype(float, copy=False)
    m = len(Z)
    best = np.zeros((n, m), dtype=np.intp)
    largest = np.full((n, m), -np.inf)
    bytes_per_element = 8.0 * m * (prod(Z.shape[1:]) + 2 * n)
    for block in row_blocks(
        len(elements), bytes_per_element, block_bytes_of(orbits.block_bytes) / 2
    ):
        images = np.asarray(orbits.group.act(elements[block], Z))
        n_elements = len(images)
        tile = values(images.reshape(n_elements * m, -1)).reshape(n, n_elements, m)
        place = tile.argmax(axis=1)
        tile_largest = np.take_along_axis(tile, place[:, None], axis=1)[:, 0]
        is_better = tile_largest > largest
        best[is_better] = block.start + place[is_better]
        largest[is_better] = tile_largest[is_better]
    return best
