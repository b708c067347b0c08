"""`SetKernel` and `MatchingKernel`: kernels between sets of points, of any size, in any order."""

from __future__ import annotations

from abc import abstractmethod
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
from ..orbits.closed import matching_operations
from ..orbits.way import mirror, rate, warn_long
from .padded import PointSets, as_set_rows, nested_as_sets

Array = NDArray[Any]

#: Bytes of a tile of values between points: it stays in a processor's cache.
_TILE_BYTES = 2**22
#: Points at a time of which the values among each other are computed for the diagonal alone.
_OWN = 128
#: Operations that a value between two points costs beside its products: measured, for a Gaussian.
_VALUE = 600


def _operations(kernel: Any, X: Array, Y: Array) -> float:
    """Operations of a kernel of sets, or of those that a kernel is made of."""
    if hasattr(kernel, "operations"):
        return float(kernel.operations(X, Y))
    return sum(_operations(part, X, Y) for part in vars(kernel).values() if takes_sets(part))


def _over_orbits(kernel: Any, X: Array, Y: Array) -> float:
    """Operations that orbits of points take, in a kernel or in those that it is made of."""
    if not len(X) or not len(Y):
        return 0.0
    if hasattr(kernel, "work_over_orbits"):
        return float(kernel.work_over_orbits(X, Y))
    parts = [part for part in vars(kernel).values() if hasattr(part, "diag")]
    return sum(_over_orbits(part, X, Y) for part in parts)


@stores_parameters
class _OfSets(Kernel):
    """What kernels between sets share: from padded sets to tiles of values between points."""

    #: Takes padded sets (n, largest, d), of which `on_rows` makes rows.
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
        """This kernel for rows (n, largest * d), and padded sets as such rows."""
        check_parameters(self)
        own = self.get_params(deep=False)
        sets = nested_as_sets(*arrays)
        if np.ndim(arrays[0]) > 3 and takes_sets(self.base):  # points are sets: the base's d
            (inside,) = {np.shape(A)[3:] for A in arrays}
            own["base"], _ = on_rows(self.base, np.zeros((1, 1, *inside)))
        rows, own["n_coordinates"] = as_set_rows(type(self).__name__, self.n_coordinates, *sets)
        return type(self)(**own), rows

    def preserved_by(self, group: Transformations) -> bool:
        """Where the group moves the points of a set alike, in a way that preserves the base."""
        size = self.n_coordinates or 0
        moved = group.moves_points(size)
        if moved is None:
            return False
        compared = range(self.labelled, size - self.weighted)
        return set(moved) <= set(compared) and preserved(self.base, group)

    def operations(self, X: Array, Y: Array) -> float:
        """Over all pairs of points, of one label where there are labels."""
        return self._counted(self._points(X), self._points(Y))

    def _counted(self, one: PointSets, two: PointSets) -> float:
        ours, theirs = one.by_label(), two.by_label()
        both = ours.keys() & theirs.keys()
        if takes_sets(self.base):
            return sum(_operations(self.base, ours[k].values, theirs[k].values) for k in both)
        pairs = sum(len(ours[k].values) * len(theirs[k].values) for k in both)
        reduced = sum(_over_orbits(self.base, ours[k].values, theirs[k].values) for k in both)
        return float(2 * one.values.shape[1] + _VALUE) * pairs + reduced

    def explain(self, X: ArrayLike, Y: ArrayLike | None = None) -> Explanation:
        """Operations, memory and time of the kernel matrix, over all pairs of points."""
        kernel, rows = self.on_rows(X, *(() if Y is None else (Y,)))
        operations = kernel.operations(rows[0], rows[-1]) / (2 if Y is None else 1)
        n_bytes = min(3 * _TILE_BYTES, block_bytes_of(self.block_bytes))
        n_bytes += len(rows[0]) * len(rows[-1]) * rows[0].itemsize
        return Explanation.of("pairs of points", operations, n_bytes, rows[0].dtype)

    def _points(self, X: Array) -> PointSets:
        given = int(self.n_coordinates or 0), self.labelled, self.weighted
        return PointSets.of(type(self).__name__, X, *given, takes_sets(self.base))

    def _gram(self, X: Array, Y: Array | None) -> Array:
        one = self._points(X)
        two = one if Y is None else self._points(Y)
        gram = self._between(one, two)
        if self.normalize:
            left = self._roots(one, gram.diagonal().copy() if Y is None else self._own(one))
            right = left if Y is None else self._roots(two, self._own(two))
            gram /= left[:, None]
            gram /= right
        return gram

    def _diag(self, X: Array) -> Array:
        return np.ones(len(X), X.dtype) if self.normalize else self._own(self._points(X))

    def _roots(self, sets: PointSets, values: Array) -> Array:
        """Roots of the values of sets with themselves."""
        rounding: Any = 0.0
        if not self.base.is_stationary() and not takes_sets(self.base):
            sizes = np.abs(np.asarray(self.base.diag(sets.values), dtype=float))
            most = np.square(sets.sums() @ np.sqrt(sizes))
            rounding = 16 * float(np.finfo(values.dtype).eps) * most
        return np.asarray(root_of_diagonal(type(self).__name__, values, rounding))

    def _own(self, sets: PointSets) -> Array:
        """Values of sets with themselves, not normalised."""
        few = map(sets.__getitem__, sets.blocks(_OWN))
        return np.concatenate([self._between(some, some).diagonal() for some in few])

    def _between(self, one: PointSets, two: PointSets) -> Array:
        """Values before they are normalised, shape (n, m), a tile of pairs of points at a time."""
        gram = np.zeros((len(one), len(two)), np.result_type(one.values, two.values))
        seconds = self._counted(one, two) / (2 if one is two else 1) / rate(gram.dtype.name)
        what = f"{type(self).__name__}: {len(one)} x {len(two)} pairs of sets"
        warn_long(seconds, what, f"float32, or {self._cheaper}")
        ours, theirs = one.by_label(), two.by_label()
        side = (min(_TILE_BYTES, block_bytes_of(self.block_bytes) / 4) / gram.itemsize) ** 0.5
        evaluate = getattr(self.base, "_gram", self.base)
        for label in ours.keys() & theirs.keys():
            left, right = ours[label], theirs[label]
            if self.base.is_stationary():  # distances lose fewest digits about the points' centre
                centre = right.values.mean(axis=0, dtype=float).astype(right.values.dtype)
                left, right = (replace(s, values=s.values - centre) for s in (left, right))
            columns = [(b, right[b]) for b in right.blocks(max(1.0, 2 * side))]
            rows = list(left.blocks(max(1.0, side / 2)))
            for a in tqdm(rows, "sets", unit=" blocks", disable=not self.verbose):
                first = left[a]
                for b, second in columns:
                    # Of a symmetric matrix the upper triangle alone.
                    wanted = one is not two or b.stop > a.start
                    if wanted and len(first.values) and len(second.values):
                        values = evaluate(first.values, second.values)
                        gram[a, b] += self._pooled(first, second, values)
        if one is two:
            mirror(gram)
        return gram

    @abstractmethod
    def _pooled(self, one: PointSets, two: PointSets, values: Array) -> Array:
        """From values between points (N, M) to values between sets (n, m)."""


@stores_parameters
class SetKernel(_OfSets):
    r"""The mean (or sum) of a kernel over all pairs of points of two sets.

    With weights that sum to one (equal ones by default) the inner product of the sets' mean
    embeddings,

    .. math:: K(x, z) = \sum_{i, j} v_i w_j \, k_0(x_i, z_j):

    positive definite where the base kernel is, whatever the sizes and the order of the points.

    It is linear in both sets: its average over a group that turns a whole set forgets how the
    points lie to each other; ``Average(Hyperkernel(SetKernel(base), gamma), group)`` does not.
    ``SetKernel(SetKernel(base))`` compares sets of sets (n, largest, largest inside, d) by all
    their points; ``SetKernel(Hyperkernel(SetKernel(base)))`` also sees who is with whom.

    Parameters
    ----------
    base : Kernel, of points; an `Average` compares each point over its own orbit
    pooling : {"mean", "sum"}
        "sum" for quantities that grow with the set, such as the energy of a molecule.
    normalize : bool, divide by sqrt(K(x, x) K(z, z))
    labelled : bool
        The first coordinate of each point is a label, such as an element's atomic number, and
        only points of one label are compared.
    weighted : bool, the last coordinate of each point is its weight
    n_coordinates : int or None
        Numbers that make a point (label and weight included) where sets are given as rows
        (n, largest * d) instead of padded arrays (n, largest, d).
    block_bytes, verbose : as in `Average`

    Raises a ParameterError for sets without points, points missing in part or infinite.

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
        return sets.of_means() if self.pooling == "mean" else sets

    def _pooled(self, one: PointSets, two: PointSets, values: Array) -> Array:
        return np.asarray((two.sums() @ (one.sums() @ values).T).T)


class MatchingKernel(_OfSets):
    r"""The largest sum of kernel values over one-to-one matchings of the points of two sets.

    With m and m' points, and matchings of all points of the smaller set to different ones of the
    larger (`scipy.optimize.linear_sum_assignment`),

    .. math:: K(x, z) = \frac{1}{\max(m, m')} \max_\pi \sum_i k_0(x_i, z_{\pi(i)}) .

    It need not be positive definite: see `gram_report` and `GramTransformer`.

    Parameters
    ----------
    base : Kernel, of points
    pooling : {"mean", "sum"}, "sum" leaves out the division by the size of the larger set
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

    def _counted(self, one: PointSets, two: PointSets) -> float:
        points = float(len(one.values) * len(two.values))
        return super()._counted(one, two) + matching_operations(len(one) * len(two), points)

    def _between(self, one: PointSets, two: PointSets) -> Array:
        gram = super()._between(one, two)
        if self.pooling == "mean":
            gram /= np.maximum.outer(one.counts, two.counts)
        return gram

    def _pooled(self, one: PointSets, two: PointSets, values: Array) -> Array:
        pooled = np.empty((len(one), len(two)), values.dtype)
        columns = np.split(values, two.ends[:-1], axis=1)
        for j, part in enumerate(columns):
            for i, block in enumerate(np.split(part, one.ends[:-1])):
                pooled[i, j] = block[linear_sum_assignment(block, maximize=True)].sum()
        return pooled
