r"""Care for squared distances of points that lie far from the origin.

A kernel of distances is computed from inner products, :math:`-\lVert x - z \rVert^2 / 2 = \langle
x, z \rangle - \lVert x \rVert^2 / 2 - \lVert z \rVert^2 / 2`, because matrix products are fast. Far
from the origin large numbers cancel there. Two remedies stand in this module:

- `centred` subtracts a point from both arguments first, which `centre_of` finds. A linear map g
  that fixes it does not change :math:`\lVert x - g z \rVert`.
- `lost` finds the pairs that still lose digits; `half_squares` computes these from differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from ..core.arrays import like, namespace
from ..groups import Transformations
from ..groups.base import ENUMERATION_LIMIT
from .form import Form

Array = NDArray[Any]

#: Squares of larger coordinates overflow.
OVERFLOWS = 1e150
_EPS = float(np.finfo(float).eps)
_SINGLE_EPS = float(np.finfo(np.float32).eps)
#: Single precision is used if it changes a kernel's values by no more than this.
SINGLE_ERROR = 1e-5
#: Relative error of a kernel's values above which points are examined.
_LOOK_FROM = 1e-12
#: Relative error of a kernel's values above which pairs are computed from differences.
REPAIR_FROM = 1e-9
#: A centre is subtracted if this reduces squared norms by at least this factor.
_GAIN = 4.0
#: Points are far from the origin if their mean makes up this share of their squared norms.
_OFFSET = 0.999
#: The centre is the median of about this many points.
_SAMPLE = 100
#: The fixed points of a group are computed from at most this many numbers.
_TRIAL = 10**7
#: Exponentials with an exponent below minus this are negligible.
_NEGLIGIBLE = 45.0
#: If |x - z|^2 / 2 is below this share of the largest |x|^2 / 2, its square root loses digits.
_NEAR = 0.005
#: Bytes of a block of differences.
_BLOCK_BYTES = 2**24


def steepness(form: Form) -> float:
    """Relative change of the kernel's values for a change of one in v, zero if it is unknown."""
    if 0 < form.sensitivity < np.inf:
        return float(form.sensitivity)
    if form.reach is None:
        return 0.0
    return 1 / float(form.reach)


def error_of(form: Form, half_norm: float) -> float:
    """Relative error by cancellation in double precision, for points with |x|^2 / 2 = half_norm.

    It is NaN if the steepness of the kernel is unknown.
    """
    slope = steepness(form)
    if slope == 0:
        return np.nan
    return slope * 2 * float(half_norm) * _EPS


def needs_care(form: Form, half_norm: float) -> bool:
    """Whether points with |x|^2 / 2 <= half_norm may lose relevant digits, or this is unknown."""
    if 0 < form.sensitivity < np.inf:
        return form.sensitivity * 2 * half_norm * _EPS > _LOOK_FROM
    return not error_of(form, half_norm) <= _LOOK_FROM


def single_will_do(form: Form, half_norm: float, *, repaired: bool = False) -> bool:
    """Whether single precision changes a kernel of distances by no more than `SINGLE_ERROR`.

    The points have |x|^2 / 2 <= half_norm. The result is False if the steepness of the kernel is
    unknown. ``repaired`` is whether `repair_near` follows for a function of the distance itself.
    """
    if repaired and form.rooted and form.reach:
        scaled_norm = 2 * half_norm / (form.reach * _NEAR)
        error = _SINGLE_EPS * scaled_norm**0.5
        return bool(error <= SINGLE_ERROR)
    if not 0 < form.sensitivity < np.inf:
        return False
    return bool(form.sensitivity * 2 * half_norm * _SINGLE_EPS <= SINGLE_ERROR)


def centre_of(form: Form, points: Array, group: Any = None) -> Array | None:
    """Return a point fixed by the group, relative to which squared norms are much smaller.

    Parameters
    ----------
    form : Form, of a kernel of distances
    points : ndarray of shape (m, d), the points that are transformed
    group : Transformations, or None for the trivial group

    Returns
    -------
    ndarray of shape (d,) and of the points' type, or None if there is no such point
    """
    sample = sample_of(points).astype(float)
    # The largest entry is scaled to about one: its square neither overflows nor vanishes.
    _, exponent = np.frexp(np.abs(sample).max(initial=0))
    sample = np.ldexp(sample, -exponent)
    squared_norms = _squared_norms(sample)
    if np.isnan(error_of(form, 0.0)):
        # Kernels of unknown steepness come here at every call, so that this test has to be fast.
        mean = sample.mean(axis=0)
        if float(mean @ mean) < _OFFSET * float(squared_norms.mean()):
            return None
    # A single distant point changes the mean, but not the median.
    centre = np.median(sample, axis=0)
    if group is not None and centre.any():
        centre = fixed_part(group, centre)
    rounded: Array = np.ldexp(centre, exponent).astype(points.dtype)
    if not rounded.any():
        return None
    sample -= np.ldexp(rounded.astype(float), -exponent)
    if _GAIN * np.median(_squared_norms(sample)) <= np.median(squared_norms):
        return rounded
    return None


def centred(
    form: Form, group: Transformations, X: Any, templates: Array
) -> tuple[Any, Array] | None:
    """Subtract a point that the group fixes from points and templates, if there is one.

    ``form`` is that of a kernel of distances between the points themselves. X may be an array of
    another library. The result is None if the points need no care.
    """
    largest = largest_entry(templates)
    if largest > OVERFLOWS:
        return None
    largest_half_norm = templates.shape[1] * largest**2 / 2
    if not needs_care(form, largest_half_norm):
        return None
    centre = centre_of(form, templates, group)
    if centre is None:
        return X, templates
    return X - like(centre, X), templates - centre


def sample_of(points: Any) -> Any:
    """Return about a hundred points, evenly spaced, of an array of any library."""
    step = -(-points.shape[0] // _SAMPLE)
    return points[::step, :]


def largest_entry(points: Any) -> float:
    """Largest absolute value of an array of any library."""
    if isinstance(points, np.ndarray):
        return max(float(points.max()), -float(points.min()))
    xp = namespace(points)
    return max(float(xp.max(points)), -float(xp.min(points)))


def _squared_norms(points: Array) -> Array:
    squares: Array = np.einsum("nd,nd->n", points, points)
    return squares


def near_origin(points: Array, *further_sets: Array | None) -> list[Any]:
    """Subtract a point near the middle of the first points from all sets, if this helps.

    Use it for functions of differences of points.
    """
    sets = [points, *further_sets]
    centre = centre_of(Form(distance=True), points)
    if centre is None:
        return sets
    return [A if A is None else A - centre for A in sets]


def fixed_part(group: Transformations, point: Array) -> Array:
    """Project a point on vectors that no element changes, as far as this can be recognized.

    Coordinates that the elements permute are replaced by their mean. Coordinates whose sign changes
    or that are mixed in another way are replaced by zero.

    >>> from invariance.groups import CyclicShifts, SignFlips
    >>> fixed_part(CyclicShifts(2, block=2), np.array([1.0, 10.0, 3.0, 30.0]))
    array([ 2., 20.,  2., 20.])
    >>> fixed_part(SignFlips(1).on_columns([1]), np.array([1.0, 10.0]))
    array([1., 0.])
    """
    d = len(point)
    zero = np.zeros_like(point)
    parts = group.chain()
    if not all(part.keeps_shape and (part.linear or part.unitary) for part in parts):
        return zero
    batches = []
    for part in parts:
        elements = _spanning(part, d)
        if elements is None:
            return zero
        batches.append(elements)
    # Coordinates are recognized by random labels, which differ with probability one.
    labels = np.random.default_rng(0).uniform(1, 2, d)
    transformed_labels = []
    for part, elements in zip(parts, batches, strict=True):
        images = np.asarray(part.act(elements, labels[None]))
        transformed_labels.append(images.reshape(-1, d))
    means = _means_over_orbits(np.concatenate(transformed_labels), labels, point)
    for part, elements in zip(parts, batches, strict=True):
        if not part.unitary and np.any(np.asarray(part.act(elements, means[None])) != means):
            return zero
    return means


def _means_over_orbits(transformed_labels: Array, labels: Array, point: Array) -> Array:
    """Replace coordinates by their means over permuted coordinates, or by zero if not permuted."""
    d = len(point)
    # The source of a transformed label is the coordinate with the nearest label.
    order = np.argsort(labels)
    ascending = labels[order]
    midpoints = (ascending[1:] + ascending[:-1]) / 2
    sources = order[np.searchsorted(midpoints, np.abs(transformed_labels))]
    places = np.broadcast_to(np.arange(d), sources.shape)
    links = coo_array((np.ones(sources.size), (places.ravel(), sources.ravel())), shape=(d, d))
    n_orbits, orbit_of = connected_components(links, directed=False)
    # An orbit has no mean if a sign changes, or if a number is not one of the labels.
    is_new = np.abs(transformed_labels - labels[sources]) > 1e-13
    is_mixed = np.zeros(n_orbits, dtype=bool)
    is_mixed[orbit_of[places[is_new]]] = True
    sums = np.bincount(orbit_of, weights=point, minlength=n_orbits)
    sizes = np.bincount(orbit_of, minlength=n_orbits)
    means = np.where(is_mixed, 0.0, sums / sizes)
    return np.asarray(means[orbit_of])


def _spanning(group: Any, d: int) -> Array | None:
    """Generators of a group, all elements of a set, or a sample of an infinite set.

    The result is None if they are too many.
    """
    if callable(getattr(group, "generators", None)):
        generators = np.asarray(group.generators())
        if len(generators) * d > _TRIAL:
            return None
        return generators
    if group.order == np.inf:
        return np.asarray(group.sample(8, 0))
    if group.order <= ENUMERATION_LIMIT and group.order * d <= _TRIAL:
        return np.asarray(group.elements())
    return None


def lost(form: Form, halves: Array, others: Array) -> tuple[Array, Array, float]:
    """Return indices of first and second points that may lose digits, and the largest error.

    ``halves`` (n,) and ``others`` (m,) are half the squared norms of centred first and second
    points. Two points can only be close to each other if both are far from the centre.
    """
    largest = min(float(halves.max(initial=0)), float(others.max(initial=0)))
    error = error_of(form, largest)
    # The error is NaN if it is unknown.
    if not error > REPAIR_FROM:
        return np.empty(0, int), np.empty(0, int), 0.0
    # Norms of points that are close to each other are nearly equal, hence a factor of two.
    bound = largest * (REPAIR_FROM / error) / 2
    return np.flatnonzero(halves > bound), np.flatnonzero(others > bound), error


def repair(form: Form, v: Array, X: Array, Y: Array, halves: Array, others: Array) -> None:
    """Recompute, in place, the v of pairs (n, m) that lost relevant digits."""
    rows, columns, error = lost(form, halves, others)
    if not error:
        return
    block = v[np.ix_(rows, columns)]
    i, j = np.nonzero(-block * steepness(form) < _reach_of(form, error))
    if 4 * len(i) > block.size:
        step = max(1, _BLOCK_BYTES // (8 * len(columns)))
        for start in range(0, len(rows), step):
            block_rows = rows[start : start + step]
            v[np.ix_(block_rows, columns)] = half_squares(X[block_rows], Y[columns])
        return
    _put_differences(v, X, Y, rows[i], columns[j])


def repair_near(v: Array, X: Array, Y: Array, largest: float) -> None:
    """Recompute, in place, the v of pairs (n, m) of points that nearly coincide.

    Functions of |x - z| itself need this: the square root of a rounding error loses half of the
    digits. ``largest`` is the largest |x|^2 / 2.
    """
    near = np.flatnonzero(v > -_NEAR * largest)
    if 4 * len(near) > v.size:
        step = max(1, _BLOCK_BYTES // (8 * len(Y)))
        for start in range(0, len(X), step):
            block_rows = slice(start, start + step)
            v[block_rows] = half_squares(X[block_rows], Y)
        return
    rows, columns = np.divmod(near, v.shape[1])
    _put_differences(v, X, Y, rows, columns)


def _put_differences(v: Array, X: Array, Y: Array, rows: Array, columns: Array) -> None:
    """Set v to -|x - z|^2 / 2, from differences, at single pairs."""
    step = max(1, _BLOCK_BYTES // (8 * X.shape[1]))
    for start in range(0, len(rows), step):
        i = rows[start : start + step]
        j = columns[start : start + step]
        differences = X[i].astype(float) - Y[j]
        v[i, j] = _squared_norms(differences) / -2


def _reach_of(form: Form, error: float) -> float:
    """Distance, in the kernel's unit, up to which pairs with this error are recomputed.

    Beyond it exponentials are negligible, and other functions have a small relative error.
    """
    if form.rate:
        return _NEGLIGIBLE + error
    return max(_NEGLIGIBLE, error / REPAIR_FROM)


def half_norms(X: Any) -> Any:
    """Return |x|^2 / 2 of each row, of an array of any library."""
    if isinstance(X, np.ndarray):
        return np.einsum("nd,nd->n", X, X) / 2
    return namespace(X).sum(X * X, axis=1) / 2


def row_norms(X: Array) -> Array:
    """Return Euclidean norms of rows, also of those whose squares overflow or vanish.

    >>> row_norms(np.array([[3e-200, 4e-200], [3e200, 4e200], [0.0, 0.0]]))
    array([5.e-200, 5.e+200, 0.e+000])
    """
    limits = np.finfo(X.dtype)
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("nd,nd->n", X, X)
    is_safe = (squares > limits.tiny / limits.eps**2) & (squares < limits.max)
    norms: Array = np.sqrt(squares)
    if not is_safe.all():
        rows = X[~is_safe]
        scales = np.abs(rows).max(axis=1, initial=0.0)
        scales[scales == 0] = 1
        rows = rows / scales[:, None]
        norms[~is_safe] = scales * np.sqrt(np.einsum("nd,nd->n", rows, rows))
    return norms


def largest_norm(points: Array) -> float:
    """Return the largest Euclidean norm of the rows, zero if there are no rows."""
    return float(np.sqrt(_squared_norms(points).max(initial=0.0)))


def half_squares(X: Any, Y: Any) -> Any:
    """Return -|x - z|^2 / 2 of all pairs of rows, from differences, without cancellation."""
    if isinstance(X, np.ndarray):
        squares: Array = cdist(X, Y, "sqeuclidean")
        squares *= -0.5
        return squares
    xp = namespace(X)
    total = 0 * (X[:, :1] - Y[:, 0][None, :])
    for j in range(X.shape[1]):
        differences = X[:, j][:, None] - Y[:, j][None, :]
        total = total - xp.square(differences) / 2
    return total
