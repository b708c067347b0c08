"""`BestFit`: the largest value of a kernel over the transformations of one argument."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import prod

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..array_api import like, on_host
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
from .arrays import orbit_extremes, product_extremes, shift_extremes
from .base import Kernel, row_blocks
from .correlation import shift_correlation
from .lift import Lift, lift_of
from .orbit import check_parts, drawn
from .quarter_turns import QuarterTurns, within_a_quarter

__all__ = ["BestFit"]

#: Transformations that act linearly on points, so that <x, T y> = <T^t x, y>.
_LINEAR = (Affine, OrthogonalMatrices, Rotations, Scalings, SignedPermutationGroup)

#: Bytes of one thread's transforms of a block of rows.
_ROWS_BYTES = 128 * 2**20

#: Bytes of the values that are computed from inner products at a time.
_OUTER_BYTES = 2**20


class BestFit(Kernel):
    r"""Similarity under the best transformation, :math:`K(x, z) = \max_T k_0(x, T z)`.

    Liu et al. 2022, eq. (1). The transformed argument is the second one, that is the training
    points in ``SVC(kernel=BestFit(...))``; ``side="first"`` transforms the first. Over a group of
    unitary maps and a base kernel that depends on inner products the two are the same (lemma 1),
    and the kernel is symmetric and invariant; for interpolated rotations they differ slightly. It
    need not be positive definite: see `gram_report`.

    Nothing is evaluated transformation by transformation where structure allows better. A
    polynomial or Gaussian base needs the largest inner product alone; a quadratic `Locality` is an
    inner product too; translations among the transformations then go by `ShiftCorrelation`, all at
    once, and what comes after the translations moves to the other side as its transpose.

    Parameters
    ----------
    base : Kernel
    group : Transformations
        Any finite set, or any set at all with ``n_transforms``.
    side : {"second", "first"}
        Which argument is transformed.
    n_transforms : int or None
        Draw so many elements from the group's measure instead of taking all.
    symmetric : bool or None
        Whether Gram matrices ``k(X)`` are computed once for both triangles. None does so where
        symmetry is known: unitary transformations, closed under inverse, and a unitarily
        invariant base kernel. True demands it.
    method : {"auto", "definition"}
        "definition" evaluates the base kernel for every transformation.
    precision : {"input", "single"}
        Precision of the inner products; "single" halves time and memory at a relative error of
        about 1e-6. scikit-learn's SVC hands over double precision whatever it was given.
    block_bytes : int
        Bound on the arrays that are kept for a block of points.
    n_jobs : int or None
        Threads over blocks of rows.
    random_state : int
        Seed for ``n_transforms``. An integer, since the elements are drawn anew at every call:
        fitting and predicting must draw the same ones.

    Raises
    ------
    TypeError
        For a base that is no kernel, or a group that is none.
    ValueError
        For an empty or infinite set, ``n_transforms`` without an integer ``random_state``, points
        or a base kernel of another shape, or ``symmetric=True`` where the kernel is not symmetric.

    Warns
    -----
    UserWarning
        When an even power of values below zero exceeds that of the largest value: maximum and
        power do not commute there, and the smallest value is followed as well.

    Examples
    --------
    >>> from invariance.groups import Translations
    >>> from invariance.kernels import Linear
    >>> kernel = BestFit(Linear(), Translations((1, 4), shifts=[[0, 0], [0, 1]]))
    >>> kernel([[0.0, 0.0, 3.0, 0.0]], [[1.0, 2.0, 1.0, 0.0]])     # 3 x 2 beats 3 x 1
    array([[6.]])
    """

    def __init__(
        self,
        base: Kernel,
        group: Transformations,
        side: str = "second",
        n_transforms: int | None = None,
        symmetric: bool | None = None,
        method: str = "auto",
        precision: str = "input",
        block_bytes: int = 2**30,
        n_jobs: int | None = None,
        random_state=0,
    ):
        self.base = base
        self.group = group
        self.side = side
        self.n_transforms = n_transforms
        self.symmetric = symmetric
        self.method = method
        self.precision = precision
        self.block_bytes = block_bytes
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _gram(self, X, Y):
        self._check(X.shape[1])
        same = Y is None or Y is X
        symmetric = self._is_symmetric() and same
        Y = X if same else Y
        if self.side == "first":
            return np.ascontiguousarray(self._second_side(Y, X, symmetric).T)
        return self._second_side(X, Y, symmetric)

    def _check(self, n_features: int) -> None:
        check_parts(self)
        for name, options in (
            ("side", ("second", "first")),
            ("method", ("auto", "definition")),
            ("precision", ("input", "single")),
        ):
            if getattr(self, name) not in options:
                raise ValueError(
                    f"{name} must be {options[0]!r} or {options[1]!r}, got {getattr(self, name)!r}"
                )
        if self.n_transforms is None and self.group.order == 0:
            raise ValueError(f"{self.group!r} is empty: there is nothing to maximise over")
        for part in (self.group, self.base):
            expected = getattr(part, "n_features", None)
            if expected is not None and expected != n_features:
                raise ValueError(
                    f"points have {n_features} features, but {part!r} takes {expected} "
                    f"(shape {part.shape})"
                )

    def _is_symmetric(self) -> bool:
        base_invariant = getattr(self.base, "unitary_invariant", False)
        known = (
            self.n_transforms is None
            and self.group.unitary
            and self.group.symmetric
            and base_invariant
        )
        if self.symmetric and not known:
            reason = (
                f"{self.base!r} changes when both arguments are transformed alike"
                if not base_invariant
                else f"{self.group!r} is not a set of unitary maps that holds its inverses"
            )
            raise ValueError(
                f"symmetric=True, but {reason}; pass symmetric=None, and symmetrise the Gram "
                "matrix if an algorithm needs that"
            )
        return known and self.symmetric is not False

    def _elements(self) -> NDArray:
        if self.n_transforms is not None:
            return drawn(self)
        return self.group.elements()

    def _second_side(self, X: NDArray, Y: NDArray, symmetric: bool) -> NDArray:
        result = np.result_type(X, Y)
        if self.method == "definition":
            return self._by_definition(X, Y)
        shape = self._image_shape(X.shape[1])
        lift = lift_of(self.base, shape[2])
        if lift is None:
            return self._by_definition(X, Y)
        dtype = np.float32 if self.precision == "single" else result
        plan = self._plan(lift, shape, dtype, X)
        low, high = plan.extremes(
            X.astype(dtype, copy=False), Y.astype(dtype, copy=False), symmetric
        )
        values = self._outer(lift, low, high, X, result)
        if symmetric:
            i, j = np.tril_indices(len(X), -1)
            values[i, j] = values[j, i]
        return values

    def _image_shape(self, n_features: int) -> tuple[int, int, int]:
        """(height, width, channels) of the points; plain vectors are images of height one."""
        if hasattr(self.base, "images"):
            _, *sizes = self.base.images(np.empty((0, n_features))).shape
            own = tuple(sizes[:-1]) + ((sizes[-1],) if sizes[-1] > 1 else ())
            given = self.group.shape
            flat = (1, *given) if given is not None and len(given) == 1 else given
            if given is not None and flat not in (own, tuple(sizes), (1, n_features)):
                raise ValueError(
                    f"{self.base!r} sees points of shape {own}, {self.group!r} of shape {given}: "
                    "they must agree"
                )
            return tuple(sizes)
        shape = self.group.shape
        if shape is None or len(shape) == 1:
            return (1, n_features, 1)
        return shape if len(shape) == 3 else (*shape, 1)

    def _plan(self, lift: Lift, shape, dtype, X: NDArray) -> _Plan:
        """Which transformations go by correlation, which are applied, and which are transposed."""
        settings = dict(
            lift=lift, shape=shape, dtype=np.dtype(dtype), block_bytes=self.block_bytes,
            n_jobs=self.n_jobs, boxes=_bounding_boxes(X.reshape(len(X), *shape)),
        )
        if self.n_transforms is None:
            chain = _chain(self.group)
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
                    return _Correlations(
                        **settings, pairs=pairs, cyclic=cyclic,
                        before=_compose(before), after=_compose(after),
                    )
        # Features that are zero for all first points, such as the empty border, count for nothing.
        brightest = np.abs(X).max(axis=0, initial=0).reshape(1, *shape)
        support = lift.first(brightest)[0] != 0
        within = None if self.n_transforms is not None else within_a_quarter(self.group)
        if within is not None:
            return _TurnedProducts(
                **settings, support=support, group=within, elements=within.elements()
            )
        return _Products(
            **settings, support=support, group=self.group, elements=self._elements()
        )

    def _outer(self, lift: Lift, low, high, X, dtype) -> NDArray:
        """The kernel's values from the extreme inner products."""
        values = np.empty(high.shape, dtype)
        n_reversed = 0
        # A few rows at a time, in a processor's cache: the arithmetic is less than the traffic.
        for rows in row_blocks(len(X), 4 * high.itemsize * high.shape[1], _OUTER_BYTES):
            points = X[rows].astype(float, copy=False)
            largest = lift.outer(high[rows].astype(float), points)
            if low is not None:
                others = lift.outer(low[rows].astype(float), points)
                n_reversed += int((others > largest).sum())
                np.maximum(largest, others, out=largest)
            values[rows] = largest
        self._warn_reversed(n_reversed, core=high)
        return values

    def _warn_reversed(self, reversed_pairs: int, core) -> None:
        if reversed_pairs:
            warnings.warn(
                f"{type(self.base).__name__} of even degree takes larger values at the "
                f"smallest than at the largest inner product for {reversed_pairs} of "
                f"{prod(core.shape)} pairs: maximum and power do not commute there, so both "
                "extremes were followed; smaller points or scale avoid this",
                stacklevel=6,
            )

    def _check_takes(self, X, Y):
        self.base._check_takes(X, Y)

    def _gram_arrays(self, xp, X, Y):
        self._check(X.shape[1])
        self._is_symmetric()        # refuses symmetric=True where it does not hold
        if self.side == "first":
            return self._second_side_arrays(xp, Y, X).T
        return self._second_side_arrays(xp, X, Y)

    def _second_side_arrays(self, xp, X, Y):
        """`_second_side` in another library; both triangles of a Gram matrix are computed."""
        shape = self._image_shape(X.shape[1])
        lift = lift_of(self.base, shape[2])
        if self.method == "definition" or lift is None:
            return self._by_definition_arrays(xp, X, Y)
        inner = xp.astype(X, xp.float32) if self.precision == "single" else X
        first, second = on_host(inner, "BestFit"), on_host(Y, "BestFit")
        second = second.astype(first.dtype, copy=False)
        plan = self._plan(lift, shape, first.dtype, first)
        if isinstance(plan, _Correlations):
            low, high = plan.extremes_arrays(xp, inner, first, second)
        else:
            low, high = orbit_extremes(
                xp, inner, first, second, plan, self.group, self._elements()
            )
        points = xp.astype(X, xp.float64)

        def outer(core):
            core = xp.astype(core, xp.float64)
            if not lift.halved_norm:
                return lift.outer(core, points)
            squared = xp.sum(points * points, axis=1)[:, None] - 2 * core
            return xp.exp(-self.base.gamma * xp.where(squared > 0, squared, 0 * squared))

        values = outer(high)
        if not lift.monotone:
            others = outer(low)
            self._warn_reversed(int(xp.sum(xp.astype(others > values, xp.int64))), core=high)
            values = xp.maximum(values, others)
        return xp.astype(values, X.dtype)

    def _by_definition_arrays(self, xp, X, Y):
        elements, second = self._elements(), on_host(Y, "BestFit")
        per_element = second.itemsize * (Y.shape[1] + 3 * X.shape[0])
        parts = []
        for columns in row_blocks(len(second), per_element, self.block_bytes):
            width = columns.stop - columns.start
            largest = None
            for some in row_blocks(len(elements), per_element * width, self.block_bytes):
                orbit = self.group.act(elements[some], second[columns])
                values = self.base._gram_arrays(xp, X, like(orbit.reshape(-1, Y.shape[1]), X))
                _, values = product_extremes(values, len(orbit), xp)
                largest = values if largest is None else xp.maximum(largest, values)
            parts.append(largest)
        return xp.concat(parts, axis=1)

    def _by_definition(self, X: NDArray, Y: NDArray) -> NDArray:
        """The base kernel for every transformation, a block of them at a time."""
        elements = self._elements()
        values = np.full((len(X), len(Y)), -np.inf, np.result_type(X, Y))
        per_element = values.itemsize * (Y.shape[1] + 3 * len(X))
        for columns in row_blocks(len(Y), per_element, self.block_bytes):
            width = columns.stop - columns.start
            for some in row_blocks(len(elements), per_element * width, self.block_bytes):
                orbit = self.group.act(elements[some], Y[columns])
                part = self.base(X, orbit.reshape(-1, Y.shape[1]))
                part = part.reshape(len(X), len(orbit), width).max(axis=1)
                np.maximum(values[:, columns], part, out=values[:, columns])
        return values


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
class _Plan:
    """Extreme inner products of lifted points over a set of transformations of the second.

    What is blank in all first points of a block need not be multiplied. So they are taken in the
    order of their bounding boxes, first along the axis by which a plan skips (`skips`).
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
class _Products(_Plan):
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
class _TurnedProducts(_Products):
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
class _Correlations(_Plan):
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
