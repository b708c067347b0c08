"""How the extreme inner products over a set of transformations are computed, block by block.

`plan_for` decides which transformations go by correlation, which are applied to the second
points, and which are transposed onto the first; each way is a `Plan`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import prod

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..groups import (
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
from ..groups.translations import image_shape
from .arrays import shift_extremes
from .base import row_blocks
from .correlation import shift_correlation
from .lift import Lift
from .quarter_turns import QuarterTurns, within_a_quarter

__all__ = ["Correlations", "Plan", "Products", "TurnedProducts", "plan_for"]

#: Transformations that act linearly on points, so that <x, T y> = <T^t x, y>.
_LINEAR = (Affine, OrthogonalMatrices, Rotations, Scalings, SignedPermutationGroup)

#: Bytes of one thread's transforms of a block of rows.
_ROWS_BYTES = 128 * 2**20


def plan_for(
    X: NDArray, lift: Lift, shape: tuple[int, int, int], dtype, group: Transformations,
    elements: NDArray | None, block_bytes: int, n_jobs: int | None,
) -> Plan:
    """The plan for some first points X and the given elements of a set, None for all of them."""
    boxes = _bounding_boxes(X.reshape(len(X), *shape))
    common = lift, shape, np.dtype(dtype), block_bytes, n_jobs, boxes
    if elements is None:
        chain = _chain(group)
        places = [
            i for i, part in enumerate(chain)
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


def _bounding_boxes(images: NDArray) -> NDArray:
    """For rows, then columns: the first that is not blank, and the one after the last.

    >>> image = np.zeros((1, 3, 5, 1))
    >>> image[0, 1, 1:4] = 1
    >>> _bounding_boxes(image)[0].tolist()
    [[1, 2], [1, 4]]
    """
    shown = images.any(axis=3)
    boxes = np.empty((len(images), 2, 2), dtype=np.intp)
    for axis in (0, 1):
        along = shown.any(axis=2 - axis)
        boxes[:, axis, 0] = along.argmax(axis=1)
        boxes[:, axis, 1] = along.shape[1] - along[:, ::-1].argmax(axis=1)
    return boxes


@dataclass
class Plan:
    """Extreme inner products of lifted points over a set of transformations of the second.

    What is blank in all first points of a block need not be multiplied. So they are taken in the
    order of their bounding boxes, first along the axis by which a plan skips (`skips`).

    Attributes
    ----------
    lift : Lift
    shape : tuple (height, width, channels)
    dtype : dtype
        Of the inner products.
    block_bytes : int
    n_jobs : int or None
        Threads over blocks of first points.
    boxes : ndarray
        `_bounding_boxes` of the first points.
    skips : {0, 1}
        Axis of the images along which blank rows or columns are left out; each plan chooses.
    """

    lift: Lift
    shape: tuple[int, int, int]
    dtype: np.dtype
    block_bytes: int
    n_jobs: int | None
    boxes: NDArray

    def shown(self) -> NDArray:
        """Mean numbers of rows and of columns that are not blank."""
        return (self.boxes[:, :, 1] - self.boxes[:, :, 0]).mean(axis=0)

    def order(self) -> NDArray:
        """The first points by their bounding boxes."""
        axis = self.skips
        keys = [self.boxes[:, a, end] for a in (1 - axis, axis) for end in (1, 0)]
        return np.lexsort(keys)

    def images(self, X: NDArray) -> NDArray:
        return X.reshape(len(X), *self.shape)

    def extremes(
        self, X: NDArray, Y: NDArray, symmetric: bool
    ) -> tuple[NDArray | None, NDArray]:
        """Smallest (None where it cannot matter) and largest cores, shape (n, m)."""
        high = np.full((len(X), len(Y)), -np.inf, self.dtype)
        low = None if self.lift.monotone else np.full((len(X), len(Y)), np.inf, self.dtype)
        needed = False
        threads = effective_n_jobs(self.n_jobs)
        # Whole tiles under the diagonal are skipped where the mirror image will do.
        pieces = max(self.pieces(Y), min(8, len(Y) // 64) if symmetric else 1, 1)
        pieces = min(pieces, len(Y))
        bounds = np.linspace(0, len(Y), pieces + 1).astype(int)
        order = np.arange(len(X)) if symmetric else self.order()
        with threadpool_limits(1 if threads > 1 else None, "blas"), Parallel(
            threads, prefer="threads"
        ) as pool:
            for start, stop in pairwise(bounds):
                rows = stop if symmetric else len(X)
                # The same blocks whatever the number of threads, for the same rounding.
                step = min(self.row_step(stop - start), max(32, -(-rows // 16)))
                blocks = [order[a : min(a + step, rows)] for a in range(0, rows, step)]
                for second in self.seconds(Y[start:stop], pool):
                    parts = pool(delayed(self.block)(X[b], second) for b in blocks)
                    for b, (smallest, largest) in zip(blocks, parts, strict=True):
                        high[b, start:stop] = np.maximum(high[b, start:stop], largest)
                        if smallest is not None:
                            needed = True
                            low[b, start:stop] = np.minimum(low[b, start:stop], smallest)
        if needed:
            # Blocks whose points are too short to reach the turning point have no minimum.
            low = np.where(np.isinf(low), high, low)
        if symmetric:
            # The lower triangle is the caller's to copy; any number will do until then.
            i, j = np.tril_indices(len(X), -1)
            for matrix in (high, low):
                if matrix is not None:
                    matrix[i, j] = matrix[j, i]
        return (low if needed else None), high

    def lowest(self, first: NDArray, norm: float) -> bool:
        """Whether inner products of these points may lie below the turning point."""
        if self.lift.monotone:
            return False
        own = np.sqrt(np.einsum("nd,nd->n", first, first).max(initial=0.0))
        return -own * norm < self.lift.turning_point


def _largest_norm(points: NDArray) -> float:
    return float(np.sqrt(np.einsum("nd,nd->n", points, points).max(initial=0.0)))


@dataclass
class Products(Plan):
    """Every transformation applied, then one matrix product for a block of them."""

    support: NDArray    # (channels, height, width)
    group: Transformations
    elements: NDArray

    #: Bytes in use for each that `lifted` returns.
    overhead = 2

    def __post_init__(self) -> None:
        self.skips = int(np.argmin(self.shown() / self.shape[:2]))
        # Features along that axis, so that those of a range of rows or columns are a slice.
        features = np.arange(self.support.size).reshape(self.support.shape)
        features, support = (np.moveaxis(a, 1 + self.skips, 0) for a in (features, self.support))
        # Leaving features out costs a copy, which a few of them do not repay.
        self.features = features[support] if support.mean() < 0.9 else None

    def _lifted_bytes(self) -> int:
        return self.dtype.itemsize * self.lift.n_channels * self.shape[0] * self.shape[1]

    def pieces(self, Y: NDArray) -> int:
        # At least 64 columns at a time, however many transformations: these come in blocks too.
        kept = self.overhead * self._lifted_bytes() * len(self.elements)
        width = max(64, int(self.block_bytes // kept))
        return -(-len(Y) // width)

    def row_step(self, width: int) -> int:
        columns = width * min(len(self.elements), self._elements_step(width))
        fits = self.block_bytes // (16 * (self._lifted_bytes() + self.dtype.itemsize * columns))
        return int(np.clip(fits, 16, 1024))

    def _elements_step(self, width: int) -> int:
        return max(1, int(self.block_bytes // (self.overhead * self._lifted_bytes() * width)))

    def _kept(self, lifted: NDArray) -> NDArray:
        lifted = lifted.reshape(len(lifted), -1)
        return lifted if self.features is None else lifted[:, self.features]

    def lifted(self, Y: NDArray):
        """What `cores` needs of transformed points."""
        return self._kept(self.lift.second(self.images(Y)))

    def cores(self, X: NDArray, lifted) -> tuple[NDArray, NDArray]:
        """Largest and smallest inner products over what has not been applied yet: nothing."""
        first = self._kept(self.lift.first(self.images(X)))
        if self.features is not None:
            seen = np.flatnonzero(first.any(axis=0))
            some = slice(seen[0], seen[-1] + 1) if len(seen) else slice(0)
            first, lifted = first[:, some], lifted[:, some]
        core = first @ lifted.T
        return core, core

    def seconds(self, Y: NDArray, pool):
        step = self._elements_step(len(Y))
        for start in range(0, len(self.elements), step):
            moved = self.group.act(self.elements[start : start + step], Y)
            n_elements = len(moved)
            moved = moved.reshape(-1, Y.shape[1])
            half = np.einsum("nd,nd->n", moved, moved) / 2 if self.lift.halved_norm else None
            yield self.lifted(moved), n_elements, half, _largest_norm(moved)

    def block(self, X: NDArray, second) -> tuple[NDArray | None, NDArray]:
        lifted, n_elements, half, norm = second
        high, low = self.cores(X, lifted)
        if self.lift.halved_norm:
            high, low = high - half, low - half
        low = low.reshape(len(X), n_elements, -1).min(axis=1) if self.lowest(X, norm) else None
        return low, high.reshape(len(X), n_elements, -1).max(axis=1)


@dataclass
class TurnedProducts(Products):
    """The transformations within a quarter turn applied; quarter turns by `QuarterTurns`."""

    overhead = 4 / 3

    def __post_init__(self) -> None:
        super().__post_init__()
        self.turns = QuarterTurns(self.lift, self.shape, self.support.ravel())

    def lifted(self, Y: NDArray):
        return self.turns.second(Y)

    def cores(self, X: NDArray, lifted) -> tuple[NDArray, NDArray]:
        return self.turns.extremes(self.turns.first(X), lifted)


@dataclass
class Correlations(Plan):
    """Translations by correlation, after `before` on the second points; then `after` transposed."""

    pairs: NDArray
    cyclic: bool
    before: Transformations | None
    after: Transformations | None

    def __post_init__(self) -> None:
        margin = np.zeros(2, dtype=int) if self.cyclic else np.abs(self.pairs).max(axis=0)
        # Zeros beyond the frame turn the shifts that lose pixels into cyclic ones.
        self.margin = margin
        grid = (self.shape[0] + margin[0], self.shape[1] + margin[1])
        self.correlation = shift_correlation(
            grid, self.pairs, self.lift.n_channels, self.dtype, shown=tuple(self.shown() / grid)
        )
        self.skips = 1 if self.correlation.transposed else 0
        self.elements = None if self.before is None else self.before.elements()
        self.kept_transposes = None
        if self.after is not None:
            self.after_elements = self.after.elements()
            kept = len(self.after_elements) * self.dtype.itemsize * prod(self.shape) ** 2
            if kept <= self.block_bytes:
                self.kept_transposes = list(self._made_transposes())

    def transposes(self):
        """Matrices that carry the transposes of `after` to the first points; None for none."""
        if self.after is None:
            return [None]
        return self._made_transposes() if self.kept_transposes is None else self.kept_transposes

    def _made_transposes(self):
        basis = np.eye(prod(self.shape), dtype=self.dtype)
        for i in range(len(self.after_elements)):
            yield self.after.act(self.after_elements[i : i + 1], basis)[0].T

    def _n_elements(self) -> int:
        return 1 if self.elements is None else len(self.elements)

    def pieces(self, Y: NDArray) -> int:
        kept = self.correlation.spectrum_bytes() * self._n_elements()
        return -(-len(Y) * kept // (self.block_bytes * 3 // 4))

    def row_step(self, width: int) -> int:
        per_row = 4 * self.dtype.itemsize * self.lift.n_channels * (
            self.correlation.height * self.correlation.width
        )
        return int(np.clip(_ROWS_BYTES // per_row, 8, self.correlation.n_first))

    def _pad(self, planes: NDArray) -> NDArray:
        """Zeros below and to the right of (n, channels, height, width)."""
        if not self.margin.any():
            return planes
        return np.pad(planes, ((0, 0), (0, 0), (0, self.margin[0]), (0, self.margin[1])))

    def _padded_images(self, points: NDArray) -> NDArray:
        images = self.images(points)
        if not self.margin.any():
            return images
        return np.pad(images, ((0, 0), (0, self.margin[0]), (0, self.margin[1]), (0, 0)))

    def _spectra(self, points: NDArray) -> list[NDArray]:
        return self.correlation.spectra(self.lift.second(self._padded_images(points)))

    def seconds(self, Y: NDArray, pool):
        moved = Y[None] if self.before is None else self.before.act(self.elements, Y)
        n_elements = len(moved)
        moved = moved.reshape(-1, Y.shape[1])
        step = max(1, _ROWS_BYTES // (8 * self.correlation.spectrum_bytes()) + 1)
        parts = pool(
            delayed(self._spectra)(moved[a : a + step]) for a in range(0, len(moved), step)
        )
        spectra = []
        for h in range(len(parts[0])):
            spectra.append(np.concatenate([part[h] for part in parts], axis=1))
            for part in parts:
                part[h] = None
        yield spectra, n_elements, *self._halved_norms(moved), _largest_norm(moved)

    def extremes_arrays(self, xp, like_this, X: NDArray, Y: NDArray):
        """Smallest and largest cores in another library, shape (n, m) each."""
        kept = self._n_elements() * self.correlation.spectrum_bytes()
        parts = []
        for columns in row_blocks(len(Y), kept, self.block_bytes // 2):
            moved = Y[None, columns] if self.before is None else (
                self.before.act(self.elements, Y[columns])
            )
            n_elements = len(moved)
            moved = moved.reshape(-1, Y.shape[1])
            second = self.lift.second(self._padded_images(moved))
            halves, of_shifts = self._halved_norms(moved)
            if of_shifts is not None:
                halves = np.stack([of_shifts[self.correlation.place(pair)] for pair in self.pairs])
            low = high = None
            for transpose in self.transposes():
                own = X if transpose is None else X @ transpose
                smallest, largest = shift_extremes(
                    xp, like_this, self._pad(self.lift.first(self.images(own))), second,
                    self.pairs, None if halves is None else np.atleast_2d(halves),
                    self.block_bytes,
                )
                low = smallest if low is None else xp.minimum(low, smallest)
                high = largest if high is None else xp.maximum(high, largest)
            shape = (len(X), n_elements, -1)
            parts.append((xp.min(xp.reshape(low, shape), axis=1),
                          xp.max(xp.reshape(high, shape), axis=1)))
        return tuple(xp.concat(part, axis=1) for part in zip(*parts, strict=True))

    def _halved_norms(self, moved: NDArray) -> tuple[NDArray | None, NDArray | None]:
        """Half of |T z|^2: for each point where shifts keep it, else for each shift as well."""
        if not self.lift.halved_norm:
            return None, None
        if self.cyclic:
            return np.einsum("nd,nd->n", moved, moved) / 2, None
        frame = self._pad(np.ones((1, self.lift.n_channels, *self.shape[:2]), self.dtype))
        norms = self.correlation.every(frame, self._spectra(moved**2))
        return None, norms[:, :, :, 0] / 2

    def block(self, X: NDArray, second) -> tuple[NDArray | None, NDArray]:
        spectra, n_elements, half, halves, norm = second
        smallest = largest = None
        for transpose in self.transposes():
            own = X if transpose is None else X @ transpose
            first = self._pad(self.lift.first(self.images(own)))
            high, low = self.correlation.extremes(first, spectra, halves, self.lowest(own, norm))
            if half is not None:
                high -= half
            if n_elements > 1:
                high = high.reshape(len(X), n_elements, -1).max(axis=1)
                low = None if low is None else low.reshape(len(X), n_elements, -1).min(axis=1)
            largest = high if largest is None else np.maximum(largest, high, out=largest)
            if low is not None:
                smallest = low if smallest is None else np.minimum(smallest, low, out=smallest)
        return smallest, largest
