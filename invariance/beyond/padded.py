"""Sets of points of different sizes as padded arrays (n, largest, d), missing points NaN."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ..core.arrays import check_array, refuse_masked
from ..core.dask_arrays import refuse_dask
from ..core.parameters import ParameterError, short

Floats = NDArray[Any]


def pad_sets(sets: Iterable[Any]) -> Floats:
    """Return sets of points as one array, for `SetKernel`, `SetFeatures` and groups.

    Arrays of shape (m_i, d), with one d for all, become an array (n, largest, d) whose missing
    points are NaN; it is float32 if all sets are. Sets of sets, such as the players of each team of
    a match, are lists of such arrays, and become (n, largest, largest inside, d). Raises a
    `ParameterError` if there are no sets, for an empty set, for other shapes, and for points that
    are not finite.

    >>> pad_sets([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]])
    array([[[ 1.,  2.],
            [ 3.,  4.]],
    <BLANKLINE>
           [[ 5.,  6.],
            [nan, nan]]])
    """
    try:
        arrays = [_as_set(points) for points in sets]
    except (ValueError, TypeError) as error:
        raise ParameterError(
            f"pad_sets needs arrays (m_i, d), got {short(sets)}: {error}"
        ) from None
    if not arrays:
        raise ParameterError("pad_sets needs at least one set")
    first = arrays[0]
    for i, array in enumerate(arrays):
        if (array.ndim, array.shape[-1]) != (first.ndim, first.shape[-1]):
            raise ParameterError(
                f"pad_sets needs points of the same coordinates in all sets, but set 0 has shape "
                f"{first.shape} and set {i} has shape {array.shape}"
            )
    largest_shape = np.max([array.shape for array in arrays], axis=0)
    padded = np.full((len(arrays), *largest_shape), np.nan, np.result_type(*arrays))
    for target, array in zip(padded, arrays, strict=True):
        _write_at_start(target, array)
    return padded


def _as_set(points: Any) -> Floats:
    """Return an array of points; points that are sets themselves are padded."""
    if isinstance(points, (list, tuple)) and len(points) and np.ndim(points[0]) == 2:
        return pad_sets(points)
    if np.ndim(points) == 1:
        raise ValueError(
            f"a set has a row for each point, not shape {np.shape(points)}; a row with the "
            "coordinates of all points, three for each, becomes one by row.reshape(-1, 3)"
        )
    return check_array(points, input_name="a set")


def _write_at_start(target: Floats, array: Floats) -> None:
    """Write an array into the first entries of a larger one."""
    target[tuple(slice(length) for length in array.shape)] = array


def _padded_to_one_shape(arrays: Sequence[Floats], first_axis: int) -> list[Floats]:
    """Pad arrays by NaN to the largest length of each axis, from ``first_axis`` on."""
    largest_shape = np.max([array.shape for array in arrays], axis=0)[first_axis:].tolist()
    padded = []
    for array in arrays:
        shape = (*array.shape[:first_axis], *largest_shape)
        target = np.full(shape, np.nan, np.result_type(array, np.float32))
        _write_at_start(target, array)
        padded.append(target)
    return padded


def nested_as_sets(*arrays: ArrayLike) -> list[Floats]:
    """Return sets of sets (n, largest, ..., d) as sets (n, largest, numbers of an inner set).

    All arrays have the same numbers; arrays of plain sets are returned as they are.
    """
    for X in arrays:
        refuse_dask("X", X)
    sets = [_as_array(array) for array in arrays]
    for array in sets:
        refuse_masked("X", array)
    if all(array.ndim < 4 for array in sets):
        return sets
    if len({(array.ndim, array.shape[-1]) for array in sets}) > 1:
        shapes = [array.shape for array in sets]
        raise ParameterError(f"sets of sets of shapes {shapes} do not compare")
    padded = _padded_to_one_shape(sets, first_axis=2)
    return [array.reshape(*array.shape[:2], -1) for array in padded]


def _as_array(X: ArrayLike) -> Floats:
    """Return sets as an array; a list of sets of different sizes is refused with the remedy."""
    try:
        return np.asanyarray(X)
    except ValueError as error:
        raise ParameterError(
            "X is a list of sets of different sizes, which is no array: take pad_sets(X)"
        ) from error


def unpad_sets(X: ArrayLike) -> list[Floats]:
    """Return the sets, arrays of shape (m_i, d), of a padded array (n, largest, d).

    This is the inverse of `pad_sets`.

    >>> [len(points) for points in unpad_sets(pad_sets([[[1.0]], [[2.0], [3.0]]]))]
    [1, 2]
    """
    rows, d = as_set_rows("unpad_sets", None, X)
    sets = PointSets.from_rows(
        "unpad_sets", rows[0], d, labelled=False, weighted=False, nested=False
    )
    return np.split(sets.values, sets.ends[:-1])


def as_set_rows(
    owner: str, n_coordinates: int | None, *arrays: ArrayLike
) -> tuple[list[Floats], int]:
    """Return padded sets as rows (n, largest * d) of one length, and their d.

    Arrays are of shape (n, largest, d), or rows if ``n_coordinates`` is not None.
    """
    sets: list[Floats] = []
    for X in arrays:
        refuse_dask("X", X)
        refuse_masked("X", X)
        array = np.asarray(X)
        if array.ndim == 2 and n_coordinates and array.shape[1] % n_coordinates == 0:
            array = array.reshape(len(array), -1, n_coordinates)
        is_padded = array.ndim == 3 and n_coordinates in (None, array.shape[2])
        if not is_padded or array.dtype.kind not in "iuf":
            raise ParameterError(
                f"{owner} needs sets X to be an array (n, largest, {n_coordinates or 'd'}) of "
                f"pad_sets, or rows and n_coordinates=d, got {short(X)} of shape {array.shape}"
            )
        sets.append(check_array(array, allow_nd=True, ensure_all_finite=False))
    sizes = {array.shape[2] for array in sets}
    if len(sizes) > 1:
        raise ParameterError(f"{owner}: points of {sorted(sizes)} coordinates; they must agree")
    padded = _padded_to_one_shape(sets, first_axis=1)
    return [array.reshape(len(array), -1) for array in padded], sizes.pop()


@dataclass
class PointSets:
    """The points of n sets, one set after the other."""

    values: Floats  #: (N, d)
    ends: NDArray[np.intp]  #: (n,): number of points up to the end of each set
    weights: Floats  #: (N,)
    labels: Floats | None = None  #: (N,)

    @classmethod
    def from_rows(
        cls, owner: str, rows: Floats, d: int, *, labelled: bool, weighted: bool, nested: bool
    ) -> PointSets:
        """Read sets from rows; a point may begin with its label and end with its weight.

        Points of ``nested`` sets are sets themselves, which may be missing in part.
        """
        points = rows.reshape(len(rows), -1, d)
        is_point: NDArray[Any] = ~np.asarray(np.isnan(points).all(axis=2))
        counts = is_point.sum(axis=1)
        values = points[is_point]
        if not nested and not np.isfinite(values).all():
            i, j, k = np.argwhere(is_point[..., None] & ~np.isfinite(points))[0]
            raise ParameterError(
                f"{owner}: coordinate {k} of point {j} of set {i} is {points[i, j, k]}; "
                "only missing points are NaN, in all their coordinates"
            )
        if not counts.all():
            raise ParameterError(f"{owner}: set {int(np.argmin(counts))} has no points")
        if d <= labelled + weighted:
            raise ParameterError(f"{owner}: points of {d} coordinates leave none to compare")
        sets = cls(values, np.cumsum(counts), np.ones(len(values), values.dtype))
        if weighted:
            sets.weights = values[:, -1]
            sets.values = values[:, :-1]
            if sets.weights.min() < 0 or not (sets.sums().sum(axis=1) > 0).all():
                raise ParameterError(f"{owner}: weights must be >= 0, and not all 0 in a set")
        if labelled:
            sets.labels = sets.values[:, 0]
            sets.values = sets.values[:, 1:]
        return sets

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, block: slice) -> PointSets:
        """Return a block of consecutive sets."""
        first_point = self.ends[block.start - 1] if block.start else 0
        points = slice(first_point, self.ends[block.stop - 1])
        labels = None if self.labels is None else self.labels[points]
        ends = self.ends[block] - first_point
        return PointSets(self.values[points], ends, self.weights[points], labels)

    @property
    def counts(self) -> NDArray[np.intp]:
        """Numbers of points of the sets, shape (n,)."""
        return np.diff(self.ends, prepend=0)

    def blocks(self, n_points: float) -> Iterator[slice]:
        """Yield blocks of consecutive sets with at most so many points, or one larger set."""
        start = 0
        while start < len(self):
            points_before = self.ends[start - 1] if start else 0
            stop = int(np.searchsorted(self.ends, points_before + n_points, side="right"))
            stop = max(stop, start + 1)
            yield slice(start, stop)
            start = stop

    def sums(self) -> sparse.csr_array:
        """Return the matrix (n, N) that maps values at points to their weighted sums over sets."""
        n_points = len(self.values)
        starts_and_end = np.concatenate([[0], self.ends])
        entries = (self.weights, np.arange(n_points), starts_and_end)
        return sparse.csr_array(entries, (len(self), n_points))

    def with_mean_weights(self) -> PointSets:
        """Return the sets with weights that sum to one in each set."""
        totals = np.asarray(self.sums().sum(axis=1)).ravel()
        total_of_point = np.repeat(totals, self.counts).astype(self.weights.dtype)
        return replace(self, weights=self.weights / total_of_point)

    def by_label(self) -> dict[Any, PointSets]:
        """Return the sets' points of each label; the only key is None if there are no labels.

        Sets of points of one label may be empty.
        """
        if self.labels is None:
            return {None: self}
        parts = {}
        for label in np.unique(self.labels):
            has_label = self.labels == label
            counts_before = np.concatenate([[0], np.cumsum(has_label)])
            values = np.ascontiguousarray(self.values[has_label])
            ends = counts_before[self.ends]
            parts[float(label)] = PointSets(values, ends, self.weights[has_label])
        return parts
