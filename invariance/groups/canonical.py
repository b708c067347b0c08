"""Representatives of orbits: one point of each orbit, the same for all points of the orbit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import check_finite

if TYPE_CHECKING:
    from .base import Transformations

Array = NDArray[Any]

#: Differences below this share of a point's largest entry, or below this many times the precision
#: of its type, are taken for rounding.
_ROUNDING = 1e-9
_UNITS = 64
#: Numbers of images that are held at a time.
_IMAGES = 2**22


def last_images(
    group: Transformations, X: Array, change: Callable[[Array], Any] | None = None
) -> Array:
    """Return the last image of each point in lexicographic order, over all elements of a group.

    ``change`` is applied to the images (rows) before they are compared. The comparison is exact for
    signed permutations; otherwise numbers that differ by rounding count as equal, and infinity is
    refused. Missing entries, NaN, count as the lowest.
    """
    elements = group.elements()
    is_exact = group.preserves_l1 and change is None
    tolerances = np.zeros(len(X)) if is_exact else rounding_of(X)
    representatives = np.empty_like(X)
    step = max(1, _IMAGES // (len(elements) * max(X.shape[1], 1)))
    for start in range(0, len(X), step):
        rows = slice(start, start + step)
        images = np.asarray(group.act(elements, X[rows]))
        if change is not None:
            images = np.asarray(change(images.reshape(-1, X.shape[1]))).reshape(images.shape)
        representatives[rows] = _last(images, tolerances[rows])
    return representatives


def rounding_of(points: Array) -> Array:
    """Differences of entries that are taken for rounding, one for each row of points."""
    check_finite("X", points, allow_nan=True)
    share = max(_ROUNDING, _UNITS * float(np.finfo(points.dtype).eps))
    return np.asarray(share * _sizes(points))


def _sizes(points: Array) -> Array:
    """Largest absolute entry of each row of points, without missing ones."""
    sizes = np.abs(points)
    sizes[np.isnan(sizes)] = 0
    return np.asarray(sizes.max(axis=1, initial=0))


def _last(images: Array, tolerances: Array) -> Array:
    """Return the last of r images (r, n, d) in lexicographic order, for each of n points."""
    is_candidate = np.ones(images.shape[:2], dtype=bool)
    for column in np.moveaxis(images, 2, 0):
        column = np.where(np.isnan(column), -np.inf, column)
        values = np.where(is_candidate, column, -np.inf)
        is_candidate &= column >= values.max(axis=0) - tolerances
        if np.all(is_candidate.sum(axis=0) == 1):
            break
    winners = is_candidate.argmax(axis=0)
    return np.asarray(images[winners, np.arange(images.shape[1])])


def sorted_blocks(X: Array, block: int) -> Array:
    """Return points whose blocks of numbers are in lexicographic order."""
    if block == 1:
        return np.sort(X, axis=1)
    blocks = X.reshape(len(X), X.shape[1] // block, block)
    # The last key is the most important one.
    order = np.lexsort(np.moveaxis(blocks, 2, 0)[::-1], axis=1)
    ordered = np.take_along_axis(blocks, order[..., None], axis=1)
    return np.asarray(ordered.reshape(X.shape))


def in_own_frame(points: Array) -> Array:
    """Return points of the plane or of space in a frame that the first of them define.

    The first point with a direction lies on the positive first axis; in space, the first one that
    is not parallel to it has a positive second and no third coordinate.

    Parameters
    ----------
    points : ndarray of shape (n, k, 2) or (n, k, 3)

    Returns
    -------
    ndarray of the same shape
    """
    size = points.shape[2]
    framed = np.empty_like(points)
    rows = points.reshape(len(points), points.shape[1] * size)
    # The largest entry of a row is scaled to about one: its square neither overflows nor vanishes.
    _, exponents = np.frexp(_sizes(rows))
    scaled_rows = np.ldexp(rows, -exponents[:, None])
    smallest_lengths = rounding_of(scaled_rows)
    for i, row in enumerate(scaled_rows.reshape(points.shape)):
        smallest = float(smallest_lengths[i])
        axes: list[Array] = []
        for _ in range(size - 1):
            axes.append(_next_axis(row, axes, smallest, size))
        axes.append(_last_axis(axes))
        framed[i] = points[i] @ np.stack(axes, axis=1)
    return framed


def _next_axis(row: Array, axes: list[Array], smallest: float, size: int) -> Array:
    """Return the direction, orthogonal to the axes, of the first point that has one.

    If no point has one, all points are fixed by turns of it, and any direction will do.
    """
    lengths_to_exceed = np.repeat([smallest, 0.5], [len(row), size])
    for point, least in zip(np.concatenate([row, np.eye(size)]), lengths_to_exceed, strict=True):
        rest = point.astype(float)
        for axis in axes:
            rest = rest - (rest @ axis) * axis
        length = float(np.linalg.norm(rest))
        if length > least:
            return np.asarray(rest / length)
    raise AssertionError("one of the unit vectors has a direction")


def _last_axis(axes: list[Array]) -> Array:
    """Return the axis that makes a frame right-handed."""
    if len(axes) == 1:
        x, y = axes[0]
        return np.array([-y, x])
    return np.cross(axes[0], axes[1])


def turned_to_axis(X: Array, frequencies: Array, act: Callable[[Array, Array], Array]) -> Array:
    """Return coefficients whose first pair that turns, and is not zero, is (r, 0).

    The pair of frequency m is there after m different turns: the last image is taken.
    """
    representatives = X.copy()
    cosines = np.flatnonzero(frequencies)[::2]
    tolerances = rounding_of(X)
    for i, row in enumerate(X):
        radii = np.hypot(row[cosines], row[cosines + 1])
        turning = np.flatnonzero(radii > tolerances[i])
        if not len(turning):
            continue
        place = cosines[turning[0]]
        frequency = int(frequencies[place])
        phase = np.arctan2(row[place + 1], row[place])
        angles = (2 * np.pi * np.arange(frequency) - phase) / frequency
        images = act(angles, row[None])
        representatives[i] = _last(images, tolerances[i : i + 1])[0]
    return representatives
