"""Sets of points of different sizes as padded arrays (n, largest, d), missing points NaN."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ..core.arrays import check_array, refuse_masked
from ..core.parameters import ParameterError, short

Floats = NDArray[Any]


def pad_sets(sets: Iterable[Any]) -> Floats:
    """Sets of points as one array, which `SetKernel`, `SetFeatures` and groups take.

    From arrays of shape (m_i, d), one d for all, an array (n, largest, d) whose missing points are
    NaN, float32 where all sets are. Sets of sets, such as the players of each team of a match, are
    lists of such arrays, and become (n, largest, largest inside, d). Raises a `ParameterError` for
    no sets, an empty set, other shapes, or points that are not finite.

    >>> pad_sets([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]])
    array([[[ 1.,  2.],
            [ 3.,  4.]],
    <BLANKLINE>
           [[ 5.,  6.],
            [nan, nan]]])
    """
    try:
        arrays = [_as_set(points) for points in sets]
        if len({(a.ndim, a.shape[-1]) for a in arrays}) != 1:
            raise ValueError("none, or of different shapes")
    except (ValueError, TypeError) as error:
        raise ParameterError(
            f"pad_sets needs arrays (m_i, d), got {short(sets)}: {error}"
        ) from None
    largest = np.max([A.shape for A in arrays], axis=0)
    padded = np.full((len(arrays), *largest), np.nan, np.result_type(*arrays))
    _fill(padded, arrays)
    return padded


def _as_set(points: Any) -> Floats:
    """An array of points, or padded where they are sets themselves."""
    if isinstance(points, (list, tuple)) and len(points) and np.ndim(points[0]) == 2:
        return pad_sets(points)
    return check_array(points, input_name="a set")


def _fill(padded: Any, arrays: Sequence[Floats]) -> None:
    """Write each array at the beginning of its room."""
    for room, A in zip(padded, arrays, strict=True):
        room[tuple(map(slice, A.shape))] = A


def _to_one_size(arrays: Sequence[Floats], first: int) -> list[Floats]:
    """Arrays continued by NaN to the largest extent of each axis from the ``first`` one on."""
    largest = np.max([A.shape for A in arrays], axis=0)[first:].tolist()
    shapes = [(*A.shape[:first], *largest) for A in arrays]
    types = [np.result_type(A, np.float32) for A in arrays]
    padded = [np.full(s, np.nan, t) for s, t in zip(shapes, types, strict=True)]
    _fill(padded, arrays)
    return padded


def nested_as_sets(*arrays: ArrayLike) -> list[Floats]:
    """Sets of sets (n, largest, ..., d) as sets (n, largest, rest) of one length of the rest."""
    given = [np.asanyarray(A) for A in arrays]
    for A in given:
        refuse_masked("X", A)
    if all(A.ndim < 4 for A in given):
        return given
    if len({(A.ndim, A.shape[-1]) for A in given}) > 1:
        raise ParameterError(f"sets of sets of shapes {[A.shape for A in given]} do not compare")
    return [A.reshape(*A.shape[:2], -1) for A in _to_one_size(given, first=2)]


def unpad_sets(X: ArrayLike) -> list[Floats]:
    """The sets, arrays of shape (m_i, d), of a padded array (n, largest, d): undoes `pad_sets`.

    >>> [len(points) for points in unpad_sets(pad_sets([[[1.0]], [[2.0], [3.0]]]))]
    [1, 2]
    """
    rows, d = as_set_rows("unpad_sets", None, X)
    points = PointSets.of("unpad_sets", rows[0], d, False, False, False)
    return np.split(points.values, points.ends[:-1])


def as_set_rows(
    owner: str, n_coordinates: int | None, *arrays: ArrayLike
) -> tuple[list[Floats], int]:
    """Padded sets as rows (n, largest * d), of one length, and the d that says how to read them.

    Arrays are of shape (n, largest, d), or rows where ``n_coordinates`` is given.
    """
    found: list[Floats] = []
    for X in arrays:
        refuse_masked("X", X)
        A = np.asarray(X)
        if A.ndim == 2 and n_coordinates and A.shape[1] % n_coordinates == 0:
            A = A.reshape(len(A), -1, n_coordinates)
        if A.ndim != 3 or A.dtype.kind not in "iuf" or n_coordinates not in (None, A.shape[2]):
            raise ParameterError(
                f"{owner} needs sets X to be an array (n, largest, {n_coordinates or 'd'}) of "
                f"pad_sets, or rows and n_coordinates=d, got {short(X)} of shape {A.shape}"
            )
        found.append(check_array(A, allow_nd=True, ensure_all_finite=False))
    d = {A.shape[2] for A in found}
    if len(d) > 1:
        raise ParameterError(f"{owner}: points of {sorted(d)} coordinates; they must agree")
    return [A.reshape(len(A), -1) for A in _to_one_size(found, first=1)], d.pop()


@dataclass
class PointSets:
    """The points of n sets, one set after the other."""

    values: Floats  #: (N, d)
    ends: NDArray[np.intp]  #: (n,): where each set ends
    weights: Floats  #: (N,)
    labels: Floats | None = None  #: (N,)

    @classmethod
    def of(
        cls, owner: str, rows: Floats, d: int, labelled: bool, weighted: bool, nested: bool
    ) -> PointSets:
        """From rows; the first coordinate of a point may be its label, the last its weight.

        Of ``nested`` sets points are sets themselves, which may be missing in part.
        """
        points = rows.reshape(len(rows), -1, d)
        there: NDArray[Any] = ~np.asarray(np.isnan(points).all(axis=2))
        counts = there.sum(axis=1)
        values = points[there]
        if not nested and not np.isfinite(values).all():
            i, j, k = np.argwhere(there[..., None] & ~np.isfinite(points))[0]
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
            sets.values, sets.weights = values[:, :-1], values[:, -1]
            if sets.weights.min() < 0 or not (sets.sums().sum(axis=1) > 0).all():
                raise ParameterError(f"{owner}: weights must be >= 0, and not all 0 in a set")
        if labelled:
            sets.labels, sets.values = sets.values[:, 0], sets.values[:, 1:]
        return sets

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, some: slice) -> PointSets:
        """Some of the sets, next to each other."""
        first = self.ends[some.start - 1] if some.start else 0
        inside = slice(first, self.ends[some.stop - 1])
        labels = None if self.labels is None else self.labels[inside]
        return PointSets(self.values[inside], self.ends[some] - first, self.weights[inside], labels)

    @property
    def counts(self) -> NDArray[np.intp]:
        """Numbers of points of the sets, shape (n,)."""
        return np.diff(self.ends, prepend=0)

    def blocks(self, n_points: float) -> Iterator[slice]:
        """Runs of sets that hold so many points in all, or a single larger one."""
        start = 0
        while start < len(self):
            before = self.ends[start - 1] if start else 0
            stop = int(np.searchsorted(self.ends, before + n_points, side="right"))
            yield slice(start, max(stop, start + 1))
            start = max(stop, start + 1)

    def sums(self) -> sparse.csr_array:
        """The matrix (n, N) that takes values at points to their weighted sums over sets."""
        indptr = np.concatenate([[0], self.ends])
        shape = len(self), len(self.values)
        return sparse.csr_array((self.weights, np.arange(shape[1]), indptr), shape)

    def of_means(self) -> PointSets:
        """With weights that sum to one in each set."""
        totals = np.asarray(self.sums().sum(axis=1)).ravel()
        weights = self.weights / np.repeat(totals, self.counts).astype(self.weights.dtype)
        return replace(self, weights=weights)

    def by_label(self) -> dict[Any, PointSets]:
        """The sets' points of each label (some sets may have none); of None, without labels."""
        if self.labels is None:
            return {None: self}
        parts = {}
        for label in np.unique(self.labels):
            has = self.labels == label
            ends = np.concatenate([[0], np.cumsum(has)])[self.ends]
            values = np.ascontiguousarray(self.values[has])
            parts[float(label)] = PointSets(values, ends, self.weights[has])
        return parts
