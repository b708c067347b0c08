"""`SetKernel` and `MatchingKernel`: kernels between sets of points, of any size, in any order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from tqdm import tqdm

from ..core import parameters as kinds
from ..core.config import block_bytes_of
from ..core.kernel_matrix import takes_sets
from ..core.parameters import check_parameters, stores_parameters
from ..groups import Transformations
from ..kernels.base import BASE, Kernel, on_rows, preserved, root_of_diagonal
from ..orbits import Explanation
from ..orbits.blocks import mirror
from ..orbits.cost import LONG_SECONDS, rate, warn_long
from ..orbits.explain import extrapolated_seconds
from ..orbits.form import INNER, form_of
from ..orbits.matching import matching_operations
from ..orbits.numerics import sample_of
from .padded import PointSets, as_set_rows, nested_as_sets

Array = NDArray[Any]

#: Bytes of a tile of values between points, so that it stays in a processor's cache.
_TILE_BYTES = 2**22
#: Block size, in points, if only the diagonal is needed.
_DIAGONAL_POINTS = 128
#: A trial estimates the time of work that takes more seconds than this by its operations.
_TRIAL_FROM = LONG_SECONDS / 20
#: Cost of a value between two points without its products, in operations: measured for a Gaussian.
_OPERATIONS_PER_VALUE = 600


def _operations(kernel: Any, X: Array, Y: Array) -> float:
    """Return the operations of a kernel of sets, or of all such parts of a kernel."""
    if hasattr(kernel, "operations"):
        return float(kernel.operations(X, Y))
    parts = [part for part in vars(kernel).values() if takes_sets(part)]
    return sum(_operations(part, X, Y) for part in parts)


def _over_orbits(kernel: Any, X: Array, Y: Array) -> float:
    """Return the operations for orbits of points, in a kernel or in all parts of it."""
    if not len(X) or not len(Y):
        return 0.0
    if hasattr(kernel, "work_over_orbits"):
        return float(kernel.work_over_orbits(X, Y))
    parts = [part for part in vars(kernel).values() if hasattr(part, "diag")]
    return sum(_over_orbits(part, X, Y) for part in parts)


@stores_parameters
class KernelOfSets(Kernel):
    """Base class of kernels between sets: values between points, computed in tiles and pooled."""

    #: The kernel takes padded sets (n, largest, d), which `on_rows` converts to rows.
    takes_sets = True
    base: Annotated[Any, BASE]
    pooling: Annotated[str, kinds.OneOf("mean", "sum")] = "mean"
    _: KW_ONLY
    normalize: Annotated[bool, kinds.Flag()] = False
    labelled: Annotated[bool, kinds.Flag()] = False
    n_coordinates: Annotated[int | None, kinds.Whole(1) | None] = None
    block_bytes: kinds.BlockBytes = None
    verbose: kinds.Verbose = 0
    weighted = False
    _cheaper: ClassVar[str]

    def on_rows(self, *arrays: ArrayLike) -> tuple[Kernel, list[Array]]:
        """Return this kernel for rows (n, largest * d), and padded sets as such rows."""
        check_parameters(self)
        parameters = self.get_params(deep=False)
        sets = nested_as_sets(*arrays)
        if np.ndim(arrays[0]) > 3 and takes_sets(self.base):
            # Points are sets themselves: the base kernel needs the shape of an inner set.
            (inner_shape,) = {np.shape(array)[3:] for array in arrays}
            parameters["base"], _ = on_rows(self.base, np.zeros((1, 1, *inner_shape)))
        rows, n_coordinates = as_set_rows(type(self).__name__, self.n_coordinates, *sets)
        parameters["n_coordinates"] = n_coordinates
        return type(self)(**parameters), rows

    def preserved_by(self, group: Transformations) -> bool:
        """Whether the group acts on all points of a set alike, and preserves the base kernel."""
        size = self.n_coordinates or 0
        moved_coordinates = group.moves_points(size)
        if moved_coordinates is None:
            return False
        compared = range(self.labelled, size - self.weighted)
        return set(moved_coordinates) <= set(compared) and preserved(self.base, group)

    def operations(self, X: Array, Y: Array) -> float:
        """Return the operations of the kernel matrix, over points with equal labels."""
        return self._count_operations(self._points(X), self._points(Y))

    def _count_operations(self, x_sets: PointSets, z_sets: PointSets) -> float:
        x_parts = x_sets.by_label()
        z_parts = z_sets.by_label()
        per_pair = float(2 * x_sets.values.shape[1] + _OPERATIONS_PER_VALUE)
        operations = 0.0
        for label in x_parts.keys() & z_parts.keys():
            x_part = x_parts[label]
            z_part = z_parts[label]
            if takes_sets(self.base):
                operations += _operations(self.base, x_part.values, z_part.values)
                continue
            # Each tile transforms its points anew, so that one tile is counted.
            rows, columns = next(self._tiles(x_part, z_part, symmetric=False))
            x_points = x_part[rows].values
            z_points = z_part[columns].values
            n_pairs = len(x_part.values) * len(z_part.values)
            n_pairs_of_tile = max(1, len(x_points) * len(z_points))
            orbit_operations = _over_orbits(self.base, x_points, z_points)
            operations += per_pair * n_pairs + orbit_operations * n_pairs / n_pairs_of_tile
        return operations

    def explain(self, X: ArrayLike, Y: ArrayLike | None = None) -> Explanation:
        """Return operations, memory and time of the kernel matrix.

        Operations are those for all pairs of sets. Seconds are estimated by a trial on some sets,
        without the pairs that are left out if the matrix is symmetric.
        """
        arrays = (X,) if Y is None else (X, Y)
        kernel, rows = self.on_rows(*arrays)
        x_sets = kernel._points(rows[0])
        z_sets = x_sets if Y is None else kernel._points(rows[-1])
        n_bytes = min(3 * _TILE_BYTES, block_bytes_of(self.block_bytes))
        n_bytes += len(x_sets) * len(z_sets) * rows[0].itemsize
        return Explanation(
            way=kernel._kind_of_work(rows[0]),
            operations=kernel._count_operations(x_sets, z_sets),
            n_bytes=float(n_bytes),
            seconds=kernel._estimate_seconds(x_sets, z_sets),
            alternatives={},
        )

    def _estimate_seconds(self, x_sets: PointSets, z_sets: PointSets) -> float:
        """Estimate the seconds of the values between sets, by a trial on some of them."""

        def run(n: int, m: int) -> None:
            self._compute(x_sets[:n], z_sets[:m], symmetric=False)

        def operations(n: int, m: int) -> float:
            return self._count_operations(x_sets[:n], z_sets[:m])

        seconds = extrapolated_seconds(run, operations, len(x_sets), len(z_sets))
        if x_sets is z_sets:
            seconds *= self._share_if_symmetric(x_sets)
        return seconds

    def _share_if_symmetric(self, sets: PointSets) -> float:
        """Return the share of the pairs of points that a symmetric matrix needs, by its tiles."""
        n_needed = 0
        n_pairs = 0
        for part in sets.by_label().values():
            n_pairs += len(part.values) ** 2
            for rows, columns in self._tiles(part, part, symmetric=True):
                n_needed += len(part[rows].values) * len(part[columns].values)
        return n_needed / n_pairs

    def _kind_of_work(self, X: Array) -> str:
        return "pairs of points"

    def _points(self, X: Array) -> PointSets:
        return PointSets.from_rows(
            type(self).__name__,
            X,
            int(self.n_coordinates or 0),
            labelled=self.labelled,
            weighted=self.weighted,
            nested=takes_sets(self.base),
        )

    def _gram(self, X: Array, Y: Array | None) -> Array:
        x_sets = self._points(X)
        z_sets = x_sets if Y is None else self._points(Y)
        gram = self._between(x_sets, z_sets)
        if not self.normalize:
            return gram
        if Y is None:
            x_roots = self._roots(x_sets, gram.diagonal().copy())
            z_roots = x_roots
        else:
            x_roots = self._roots(x_sets, self._diagonal(x_sets))
            z_roots = self._roots(z_sets, self._diagonal(z_sets))
        gram /= x_roots[:, None]
        gram /= z_roots
        return gram

    def _diag(self, X: Array) -> Array:
        if self.normalize:
            return np.ones(len(X), X.dtype)
        return self._diagonal(self._points(X))

    def _roots(self, sets: PointSets, values: Array) -> Array:
        """Return the roots of the values of sets with themselves."""
        rounding: Any = 0.0
        if not self.base.is_stationary() and not takes_sets(self.base):
            point_values = np.abs(np.asarray(self.base.diag(sets.values), dtype=float))
            largest_sums = np.square(sets.sums() @ np.sqrt(point_values))
            rounding = 16 * float(np.finfo(values.dtype).eps) * largest_sums
        return np.asarray(root_of_diagonal(type(self).__name__, values, rounding))

    def _diagonal(self, sets: PointSets) -> Array:
        """Return the values of sets with themselves, before they are normalized."""
        diagonals = []
        for block in sets.blocks(_DIAGONAL_POINTS):
            few_sets = sets[block]
            diagonals.append(self._between(few_sets, few_sets).diagonal())
        return np.concatenate(diagonals)

    def _between(self, x_sets: PointSets, z_sets: PointSets) -> Array:
        """Return values before they are normalized, shape (n, m)."""
        symmetric = x_sets is z_sets
        dtype = np.result_type(x_sets.values, z_sets.values)
        seconds = self._count_operations(x_sets, z_sets) / rate(dtype.name)
        if seconds > _TRIAL_FROM:
            seconds = self._estimate_seconds(x_sets, z_sets)
        warn_long(
            seconds,
            f"{type(self).__name__}: {len(x_sets)} x {len(z_sets)} pairs of sets",
            f"float32, or {self._cheaper}",
        )
        gram = self._compute(x_sets, z_sets, symmetric=symmetric)
        if symmetric:
            mirror(gram)
        return gram

    def _compute(self, x_sets: PointSets, z_sets: PointSets, *, symmetric: bool) -> Array:
        """Return values before they are normalized; of a symmetric matrix only one triangle."""
        gram = np.zeros((len(x_sets), len(z_sets)), np.result_type(x_sets.values, z_sets.values))
        x_parts = x_sets.by_label()
        z_parts = z_sets.by_label()
        for label in x_parts.keys() & z_parts.keys():
            self._add_tiles(gram, x_parts[label], z_parts[label], symmetric)
        return gram

    def _tiles(
        self, x_part: PointSets, z_part: PointSets, *, symmetric: bool
    ) -> Iterator[tuple[slice, slice]]:
        """Yield the sets of each tile: rows and columns of the matrix.

        Tiles below the diagonal of a symmetric matrix are left out.
        """
        itemsize = np.result_type(x_part.values, z_part.values).itemsize
        tile_bytes = min(_TILE_BYTES, block_bytes_of(self.block_bytes) / 4)
        side = (tile_bytes / itemsize) ** 0.5
        column_blocks = list(z_part.blocks(max(1.0, 2 * side)))
        for rows in x_part.blocks(max(1.0, side / 2)):
            for columns in column_blocks:
                if not symmetric or columns.stop > rows.start:
                    yield rows, columns

    def _add_tiles(
        self, gram: Array, x_part: PointSets, z_part: PointSets, symmetric: bool
    ) -> None:
        """Add the values between points of one label, a tile of pairs of points at a time."""
        if self.base.is_stationary():  # distances are most accurate near the origin
            # A few distant points change the mean, far from which others lose their digits.
            centre = np.median(sample_of(z_part.values), axis=0).astype(z_part.values.dtype)
            x_part = replace(x_part, values=x_part.values - centre)
            z_part = replace(z_part, values=z_part.values - centre)
        evaluate = getattr(self.base, "_gram", self.base)
        tiles = list(self._tiles(x_part, z_part, symmetric=symmetric))
        for rows, columns in tqdm(tiles, "sets", unit=" tiles", disable=not self.verbose):
            x_block = x_part[rows]
            z_block = z_part[columns]
            if not len(x_block.values) or not len(z_block.values):
                continue
            values = evaluate(x_block.values, z_block.values)
            first_columns = np.zeros(len(x_block), dtype=int)
            if symmetric:
                first_columns = np.arange(rows.start, rows.stop) - columns.start
            gram[rows, columns] += self._pooled(x_block, z_block, values, first_columns)

    @abstractmethod
    def _pooled(
        self, x_sets: PointSets, z_sets: PointSets, values: Array, first_columns: Array
    ) -> Array:
        """Return values between sets (n, m) from values between points (N, M).

        Row i may be left at zero before column ``first_columns[i]``.
        """


@stores_parameters
class SetKernel(KernelOfSets):
    r"""The mean (or sum) of a kernel over all pairs of points of two sets.

    If weights sum to one (by default they are equal), it is the inner product of the sets' mean
    embeddings,

    .. math:: K(x, z) = \sum_{i, j} v_i w_j \, k_0(x_i, z_j) .

    It is positive definite if the base kernel is, and does not depend on the order of the points.

    It is linear in both sets. Its average over a group that acts on a whole set therefore does not
    depend on the positions of the points relative to each other, whereas
    ``Average(Hyperkernel(SetKernel(base), gamma), group)`` does. ``SetKernel(SetKernel(base))``
    compares sets of sets (n, largest, largest inside, d) by all their points;
    ``SetKernel(Hyperkernel(SetKernel(base)))`` also depends on which points are in the same inner
    set.

    Parameters
    ----------
    base : Kernel
        Kernel of points; an `Average` compares each point over its own orbit.
    pooling : {"mean", "sum"}
        "sum" for quantities that grow with the set, such as the energy of a molecule.
    normalize : bool, divide by sqrt(K(x, x) K(z, z))
    labelled : bool
        The first coordinate of each point is a label, such as an element's atomic number, and
        only points of one label are compared.
    weighted : bool, the last coordinate of each point is its weight
    n_coordinates : int or None
        Numbers per point (label and weight included) if sets are rows (n, largest * d) instead of
        padded arrays (n, largest, d).
    block_bytes, verbose : as in `Average`

    Raises a ParameterError for sets without points, and for incomplete or infinite points.

    Examples
    --------
    >>> from invariance.kernels import Gaussian
    >>> from invariance.beyond import SetKernel
    >>> from invariance.beyond.padded import pad_sets
    >>> X = pad_sets([[[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0]]])
    >>> SetKernel(Gaussian(1.0))(X).round(4)
    array([[0.6839, 0.6839],
           [0.6839, 1.    ]])
    """

    _: KW_ONLY
    weighted: Annotated[bool, kinds.Flag()] = False

    _cheaper = "SetFeatures, whose cost grows with the points alone"

    def _points(self, X: Array) -> PointSets:
        sets = super()._points(X)
        if self.pooling == "mean":
            return sets.with_mean_weights()
        return sets

    def _kind_of_work(self, X: Array) -> str:
        if self._compares_by_inner_products(self._points(X)):
            return "sums of points"
        return super()._kind_of_work(X)

    def _compares_by_inner_products(self, sets: PointSets) -> bool:
        """Whether the base kernel is <x, z>, so that one product of the sets' sums is enough."""
        return form_of(self.base, (1, sets.values.shape[1], 1)) == INNER

    def _count_operations(self, x_sets: PointSets, z_sets: PointSets) -> float:
        if not self._compares_by_inner_products(x_sets):
            return super()._count_operations(x_sets, z_sets)
        n_coordinates = x_sets.values.shape[1]
        n_points = len(x_sets.values) + len(z_sets.values)
        return 2.0 * n_coordinates * (n_points + len(x_sets) * len(z_sets))

    def _tiles(
        self, x_part: PointSets, z_part: PointSets, *, symmetric: bool
    ) -> Iterator[tuple[slice, slice]]:
        """Yield the sets of each tile; sums of points need only one."""
        if self._compares_by_inner_products(x_part):
            yield slice(0, len(x_part)), slice(0, len(z_part))
        else:
            yield from super()._tiles(x_part, z_part, symmetric=symmetric)

    def _add_tiles(
        self, gram: Array, x_part: PointSets, z_part: PointSets, symmetric: bool
    ) -> None:
        """Add the values between points of one label; those of inner products by sums of sets."""
        if not self._compares_by_inner_products(x_part):
            super()._add_tiles(gram, x_part, z_part, symmetric)
            return
        x_sums = x_part.sums() @ x_part.values
        z_sums = z_part.sums() @ z_part.values
        gram += x_sums @ z_sums.T

    def _pooled(
        self, x_sets: PointSets, z_sets: PointSets, values: Array, first_columns: Array
    ) -> Array:
        sums_over_x = x_sets.sums() @ values
        return np.asarray((z_sets.sums() @ sums_over_x.T).T)


class MatchingKernel(KernelOfSets):
    r"""The largest sum of kernel values over one-to-one matchings of the points of two sets.

    With m and m' points, and matchings of all points of the smaller set to different ones of the
    larger (`scipy.optimize.linear_sum_assignment`),

    .. math:: K(x, z) = \frac{1}{\max(m, m')} \max_\pi \sum_i k_0(x_i, z_{\pi(i)}) .

    It need not be positive definite: see `gram_report` and `GramTransformer`.

    Parameters
    ----------
    base : Kernel
        Kernel of points.
    pooling : {"mean", "sum"}
        "sum" leaves out the division by the size of the larger set.
    normalize, labelled, n_coordinates, block_bytes, verbose : as in `SetKernel`
        With labels, points are matched to points of the same label.

    Examples
    --------
    >>> from invariance.kernels import Gaussian
    >>> from invariance.beyond import MatchingKernel
    >>> from invariance.beyond.padded import pad_sets
    >>> X = pad_sets([[[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0]]])
    >>> MatchingKernel(Gaussian(1.0))(X).round(4)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    _cheaper = "SetKernel, which matches nothing"

    def _count_operations(self, x_sets: PointSets, z_sets: PointSets) -> float:
        n_pairs_of_sets = len(x_sets) * len(z_sets)
        n_pairs_of_points = float(len(x_sets.values) * len(z_sets.values))
        matching = matching_operations(n_pairs_of_sets, n_pairs_of_points)
        return super()._count_operations(x_sets, z_sets) + matching

    def _between(self, x_sets: PointSets, z_sets: PointSets) -> Array:
        gram = super()._between(x_sets, z_sets)
        if self.pooling == "mean":
            gram /= np.maximum.outer(x_sets.counts, z_sets.counts)
        return gram

    def _pooled(
        self, x_sets: PointSets, z_sets: PointSets, values: Array, first_columns: Array
    ) -> Array:
        pooled = np.zeros((len(x_sets), len(z_sets)), values.dtype)
        z_counts = z_sets.counts
        starts = z_sets.ends - z_counts
        for i, rows_of_set in enumerate(np.split(values, x_sets.ends[:-1])):
            first = max(0, first_columns[i])
            matched_rows = []
            matched_columns = []
            for start, end in zip(starts[first:], z_sets.ends[first:], strict=True):
                rows, columns = linear_sum_assignment(rows_of_set[:, start:end], maximize=True)
                matched_rows.append(rows)
                matched_columns.append(start + columns)
            matched = rows_of_set[np.concatenate(matched_rows), np.concatenate(matched_columns)]
            n_matched = np.minimum(len(rows_of_set), z_counts[first:])
            set_of_each = np.repeat(np.arange(first, len(z_sets)), n_matched)
            pooled[i] = np.bincount(set_of_each, weights=matched, minlength=len(z_sets))
        return pooled
