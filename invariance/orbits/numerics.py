r"""Care for squared distances of points that lie far from the origin.

A kernel of distances is computed from inner products, :math:`-\lVert x - z \rVert^2 / 2 = \langle
x, z \rangle - \lVert x \rVert^2 / 2 - \lVert z \rVert^2 / 2`, because matrix products are fast. Far
from the origin large numbers cancel there. Two remedies stand in this module:

- `centre_of` finds a point to subtract from both arguments first. A linear map g that fixes it
  leaves :math:`\lVert x - g z \rVert` as it is.
- `lost` says which pairs would still lose digits; `half_squares` computes these from differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from ..core.arrays import namespace
from ..groups import Transformations
from ..groups.base import ENUMERATION_LIMIT
from .form import Form

Array = NDArray[Any]

_EPS = float(np.finfo(float).eps)
_SINGLE_EPS = float(np.finfo(np.float32).eps)
#: Single precision will do where it changes a kernel's values by no more than this.
SINGLE_ERROR = 1e-5
#: Relative error of a kernel's values above which points are looked at, and above which pairs are
#: computed from differences.
_LOOK_FROM, REPAIR_FROM = 1e-12, 1e-9
#: A centre is worth its while where squared norms fall by this factor.
_GAIN = 4.0
#: Share of squared norms that the mean makes up where points count as far from the origin.
_OFFSET = 0.999
#: Points whose median is the centre.
_SAMPLE = 100
#: Numbers that are computed to find out what a group fixes.
_TRIAL = 10**7
#: An exponent beyond which values do not count.
_NEGLIGIBLE = 45.0
#: Share of the largest |x|^2 / 2 below which |x - z|^2 / 2 loses digits that a root shows.
_NEAR = 0.005
#: Bytes of differences at a time.
_BLOCK_BYTES = 2**24


def steepness(form: Form) -> float:
    """Relative change of the kernel's values for a change of one in v, zero if nobody knows."""
    if 0 < form.sensitivity < np.inf:
        return float(form.sensitivity)
    return 0.0 if form.reach is None else 1 / float(form.reach)


def error_of(form: Form, half_norm: float) -> float:
    """Relative error of values by cancellation, in double precision, for points of some |x|^2 / 2.

    NaN if nobody knows how steep the kernel is.
    """
    steep = steepness(form)
    return steep * 2 * float(half_norm) * _EPS if steep else np.nan


def needs_care(form: Form, half_norm: float) -> bool:
    """Whether points of some |x|^2 / 2 at most may lose digits that count, or nobody knows."""
    if 0 < form.sensitivity < np.inf:  # as a rule
        return form.sensitivity * 2 * half_norm * _EPS > _LOOK_FROM
    return not error_of(form, half_norm) <= _LOOK_FROM


def single_will_do(form: Form, half_norm: float, *, repaired: bool = False) -> bool:
    """Whether single precision changes a kernel of distances by no more than `SINGLE_ERROR`.

    Of points of some |x|^2 / 2 at most; not if nobody knows how steep the kernel is. ``repaired``
    is whether `repair_near` follows for a function of the distance itself.
    """
    if repaired and form.rooted and form.reach:
        error = _SINGLE_EPS * (2 * half_norm / (form.reach * _NEAR)) ** 0.5
        return bool(error <= SINGLE_ERROR)
    if not 0 < form.sensitivity < np.inf:
        return False
    return bool(form.sensitivity * 2 * half_norm * _SINGLE_EPS <= SINGLE_ERROR)


def centre_of(form: Form, points: Array, group: Any = None) -> Array | None:
    """A point that the group fixes, about which the points' squared norms are much smaller.

    Parameters
    ----------
    form : Form, of a kernel of distances
    points : ndarray of shape (m, d), those that are transformed
    group : Transformations or None, which moves nothing

    Returns
    -------
    ndarray of shape (d,) and the points' type; None if there is no such point
    """
    sample = points[:: -(-len(points) // _SAMPLE)].astype(float)
    # Squares of numbers up to one neither overflow nor vanish together.
    _, exponent = np.frexp(np.abs(sample).max(initial=0))
    sample = np.ldexp(sample, -exponent)
    sizes = np.einsum("nd,nd->n", sample, sample)
    if np.isnan(error_of(form, 0.0)):  # a cheaper look, for kernels that need it at every call
        mean = sample.mean(axis=0)
        if float(mean @ mean) < _OFFSET * float(sizes.mean()):
            return None
    # The median: one point far away must not draw the centre off the others.
    centre = np.median(sample, axis=0)
    if group is not None and centre.any():
        centre = fixed_part(group, centre)
    rounded = np.ldexp(centre, exponent).astype(points.dtype)
    if not rounded.any():
        return None
    sample -= np.ldexp(rounded.astype(float), -exponent)
    apart = np.median(np.einsum("nd,nd->n", sample, sample))
    return rounded if apart * _GAIN <= np.median(sizes) else None


def near_origin(points: Array, *others: Array | None) -> list[Any]:
    """Points, and others, less a point near the middle of the first; as they are without need.

    For what depends on differences of points alone, however they are computed.
    """
    centre = centre_of(Form(distance=True), points)
    sets = [points, *others]
    return sets if centre is None else [A if A is None else A - centre for A in sets]


def fixed_part(group: Transformations, point: Array) -> Array:
    """The point's projection on vectors that every element is known to leave as they are.

    Coordinates that the elements permute get their mean; those that change their sign, or mix with
    others in another way, get zero.

    >>> from invariance.groups import CyclicShifts, SignFlips
    >>> fixed_part(CyclicShifts(2, block=2), np.array([1.0, 10.0, 3.0, 30.0]))
    array([ 2., 20.,  2., 20.])
    >>> fixed_part(SignFlips(1).on_columns([1]), np.array([1.0, 10.0]))
    array([1., 0.])
    """
    parts = group.chain()
    known = all(p.keeps_shape and (p.linear or p.unitary) for p in parts)
    batches = [_spanning(p, len(point)) for p in parts] if known else [None]
    if any(batch is None for batch in batches):
        return np.zeros_like(point)
    # Two numbers agree by chance with probability zero.
    label = np.random.default_rng(0).uniform(1, 2, len(point))
    pairs = list(zip(parts, batches, strict=True))
    moved = np.concatenate(
        [np.asarray(p.act(g, label[None])).reshape(-1, len(point)) for p, g in pairs]
    )
    order = np.argsort(label)
    middle = (label[order][1:] + label[order][:-1]) / 2
    source = order[np.searchsorted(middle, np.abs(moved))]
    place = np.broadcast_to(np.arange(len(point)), moved.shape)
    links = coo_array(
        (np.ones(moved.size), (place.ravel(), source.ravel())), shape=(len(point), len(point))
    )
    n_orbits, orbit = connected_components(links, directed=False)
    # An orbit with a change of sign, or a number that is none of the point's, is left out.
    spoiled = np.zeros(n_orbits, dtype=bool)
    spoiled[orbit[place[np.abs(moved - label[source]) > 1e-13]]] = True
    sums = np.bincount(orbit, weights=point, minlength=n_orbits)
    means = np.where(spoiled, 0.0, sums / np.bincount(orbit, minlength=n_orbits))
    fixed = np.asarray(means[orbit])
    for part, elements in pairs:
        if not part.unitary and np.any(np.asarray(part.act(elements, fixed[None])) != fixed):
            return np.zeros_like(point)
    return fixed


def _spanning(group: Any, d: int) -> Array | None:
    """Generators of a group, all of a set, or some of an infinite one; None if too many."""
    if callable(getattr(group, "generators", None)):
        generators = np.asarray(group.generators())
        return generators if len(generators) * d <= _TRIAL else None
    if group.order == np.inf:
        return np.asarray(group.sample(8, 0))
    if group.order <= ENUMERATION_LIMIT and group.order * d <= _TRIAL:
        return np.asarray(group.elements())
    return None


def lost(form: Form, halves: Array, others: Array) -> tuple[Array, Array, float]:
    """Which first and which second points lose digits with each other, and how many at worst.

    ``halves`` (n,) and ``others`` (m,) are half the squared norms of centred points. Only a pair of
    which both are far from the centre can be near to each other.
    """
    worst = min(float(halves.max(initial=0)), float(others.max(initial=0)))
    error = error_of(form, worst)
    if not error > REPAIR_FROM:  # also if nobody knows it
        return np.empty(0, int), np.empty(0, int), 0.0
    least = worst * (REPAIR_FROM / error)
    # Norms of points that are near to each other are nearly equal.
    return np.flatnonzero(halves > least / 2), np.flatnonzero(others > least / 2), error


def repair(form: Form, v: Array, X: Array, Y: Array, halves: Array, others: Array) -> None:
    """Compute anew, in place, those v of pairs (n, m) that lost digits and make a difference."""
    rows, columns, error = lost(form, halves, others)
    if not error:
        return
    block = v[np.ix_(rows, columns)]
    i, j = np.nonzero(-block * steepness(form) < _reach_of(form, error))
    if 4 * len(i) > block.size:
        for some in range(0, len(rows), step := max(1, _BLOCK_BYTES // (8 * len(columns)))):
            few = rows[some : some + step]
            v[np.ix_(few, columns)] = half_squares(X[few], Y[columns])
        return
    _put_differences(v, X, Y, rows[i], columns[j])


def repair_near(v: Array, X: Array, Y: Array, largest: float) -> None:
    """Compute anew, in place, those v of pairs (n, m) of points that nearly coincide.

    For functions of |x - z| itself: the root of what rounding leaves of zero is half of the digits.
    ``largest`` is the largest |x|^2 / 2.
    """
    near = np.flatnonzero(v > -_NEAR * largest)
    if 4 * len(near) > v.size:
        for rows in range(0, len(X), step := max(1, _BLOCK_BYTES // (8 * len(Y)))):
            few = slice(rows, rows + step)
            v[few] = half_squares(X[few], Y)
        return
    _put_differences(v, X, Y, *np.divmod(near, v.shape[1]))


def _put_differences(v: Array, X: Array, Y: Array, rows: Array, columns: Array) -> None:
    """-|x - z|^2 / 2 of single pairs, from differences."""
    step = max(1, _BLOCK_BYTES // (8 * X.shape[1]))
    for start in range(0, len(rows), step):
        one = rows[start : start + step]
        two = columns[start : start + step]
        gaps = X[one].astype(float) - Y[two]
        v[one, two] = np.einsum("nd,nd->n", gaps, gaps) / -2


def _reach_of(form: Form, error: float) -> float:
    """Distance, in units of the kernel's, up to which pairs with this error are computed anew.

    Beyond it exponentials are nothing; of other functions the relative error is small enough.
    """
    return _NEGLIGIBLE + error if form.rate else max(_NEGLIGIBLE, error / REPAIR_FROM)


def half_squares(X: Any, Y: Any) -> Any:
    """-|x - z|^2 / 2 of all pairs of rows, from differences: nothing cancels."""
    if isinstance(X, np.ndarray):
        squares: Array = cdist(X, Y, "sqeuclidean")
        squares *= -0.5
        return squares
    xp = namespace(X)
    total = 0 * (X[:, :1] - Y[:, 0][None, :])
    for j in range(X.shape[1]):
        total = total - xp.square(X[:, j][:, None] - Y[:, j][None, :]) / 2
    return total
