"""Translations: of images by whole pixels, cyclic or not, and of tori by rational steps."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from math import prod
from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import parameters as kinds
from ..core.parameters import ParameterError, short, stores_parameters
from .base import FiniteGroup, Grid, Transformations

Array: TypeAlias = NDArray[Any]

#: Values that are accepted as the shape of an image.
IMAGE_SHAPE = kinds.Kind(
    "(height, width) or (height, width, channels), whole numbers >= 1", kinds.Shape(2, 3).accepts
)


class CyclicProduct(FiniteGroup):
    """Base of the groups Z_k1 x ... x Z_kd; an element is a row of d integers, added mod k."""

    @abstractmethod
    def _periods(self) -> Array:
        """The orders k1, ..., kd of the factors."""

    @property
    def order(self) -> int:
        return prod(int(period) for period in self._periods())

    def generators(self) -> Array:
        periods = self._periods()
        unit_steps = np.eye(len(periods), dtype=np.intp)
        return unit_steps[periods > 1]

    def identity(self) -> Array:
        return np.zeros((1, len(self._periods())), dtype=np.intp)

    def compose(self, first: ArrayLike, second: ArrayLike) -> Array:
        steps = np.atleast_2d(first) + np.atleast_2d(second)
        return self._reduced(steps)

    def inverse(self, elements: ArrayLike) -> Array:
        steps = -np.atleast_2d(elements)
        return self._reduced(steps)

    def _reduced(self, steps: Array) -> Array:
        # Equal elements must have equal bytes, also if the periods are wider than an index.
        return np.asarray(steps % self._periods()).astype(np.intp, copy=False)

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> Array:
        periods = self._periods()
        return rng.randint(periods, size=(n_samples, len(periods)))

    def _check_elements(self, elements: Array) -> Array:
        return self._batch(elements, "rows of steps", len(self._periods()), whole=True)


@stores_parameters
class CyclicTranslations(CyclicProduct):
    """All cyclic translations of an image: Z_height x Z_width, permuting the pixels.

    An element is a row of integers, one for each of ``axes`` (0 is down, 1 right). On polar images
    (annuli x sectors) with ``axes=(1,)`` these are the rotations of Liu et al. 2022, lemma 2.

    >>> group = CyclicTranslations((3, 4))
    >>> group.order, len(group.generators())
    (12, 2)
    >>> group.act([[1, 0]], np.eye(3, 4)[None])[0, 0]         # down by one
    array([[0., 0., 1., 0.],
           [1., 0., 0., 0.],
           [0., 1., 0., 0.]])
    """

    linear = True
    preserves_l1 = True
    shape: Annotated[tuple[int, ...], IMAGE_SHAPE]
    axes: Annotated[tuple[int, ...], kinds.Array(whole=True, least=0)] = (0, 1)

    def _check_together(self) -> None:
        axes = np.atleast_1d(self.axes).ravel().tolist()
        if sorted(axes) not in ([0], [1], [0, 1]):
            raise ParameterError(f"axes must be (0,), (1,) or (0, 1), got {short(self.axes)}")

    def _periods(self) -> Array:
        self._check()
        axes = np.atleast_1d(self.axes)
        return np.array([int(self.shape[axis]) for axis in axes])

    def elements(self) -> Array:
        periods = self._periods()
        self._check_listable()
        steps = np.indices(tuple(periods)).reshape(len(periods), -1)
        return steps.T.astype(np.intp)

    def as_shifts(self, elements: Array) -> Grid:
        """The elements as shifts of a grid; axes that are not in ``axes`` do not move."""
        pairs = np.zeros((len(elements), 2), dtype=np.intp)
        pairs[:, np.atleast_1d(self.axes)] = np.atleast_2d(elements)
        return Grid(self.grid_shape, pairs)  # type: ignore[arg-type]

    def _act(self, elements: Array, X: Array) -> Array:
        return _rolled(self.as_shifts(elements).pairs, X, self.shape)


@stores_parameters
class Translations(Transformations):
    r"""A finite set of translations of an image, or of a signal, by whole pixels.

    An element (down, right) moves the content: :math:`(g x)[i, j] = x[i - \text{down},
    j - \text{right}]`.

    Parameters
    ----------
    shape : tuple or int
        (height, width) or (height, width, channels). A single number is the length of a signal,
        stored as (1, length); a signal with several channels has shape (1, length, channels),
        channels varying fastest.
    max_shift : int
        All shifts of at most this size in each direction; a side of length one is not shifted.
    shifts : sequence of int, array of shape (r, 2) or None
        Instead of ``max_shift``: one sequence for both axes (all pairs are taken), or the pairs.
    boundary : {"cyclic", "zero"}
        Pixels that leave the frame come back on the other side (unitary), or are lost (not
        unitary).

    Examples
    --------
    >>> shifts = Translations((28, 28), max_shift=3)
    >>> shifts.order, shifts.unitary, shifts.symmetric, shifts.is_group
    (49, True, True, False)
    >>> signals = Translations(128, max_shift=32, boundary="zero")
    >>> signals.order, signals.shape
    (65, (1, 128))
    """

    linear = True
    shape: Annotated[Any, IMAGE_SHAPE]
    max_shift: Annotated[int, kinds.Whole(0, 1_000_000)] = 7
    _: KW_ONLY
    shifts: Annotated[ArrayLike | None, kinds.Array(whole=True) | None] = None
    boundary: Annotated[str, kinds.OneOf("cyclic", "zero")] = "cyclic"

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "shape" and kinds.Whole(1).accepts(value):
            value = (1, int(value))
        super().__setattr__(name, value)

    def _check_together(self) -> None:
        if self.shifts is None:
            return
        shape = np.shape(self.shifts)
        if len(shape) != 1 and shape[1:] != (2,):
            raise ParameterError(f"shifts must be a sequence or (r, 2), got {short(self.shifts)}")

    def _pairs(self) -> Array:
        """The shifts of ``shifts`` or ``max_shift`` as pairs, shape (r, 2); not yet checked."""
        if self.shifts is None:
            # One shift beyond the image is enough for the check to fail; further ones would only
            # take memory.
            height, width = self.shape[:2]
            return _all_pairs(self._range_along(height), self._range_along(width))
        shifts = np.array(self.shifts, dtype=np.intp)
        if shifts.ndim == 2:
            return shifts
        return _all_pairs(shifts, shifts)

    def _range_along(self, length: int) -> Array:
        """The shifts along an axis of this length; none if it is one."""
        if length == 1:
            return np.zeros(1, dtype=np.intp)
        limit = min(int(self.max_shift), length)
        return np.arange(-limit, limit + 1)

    def _listed(self) -> Array:
        """All shifts, shape (r, 2), the horizontal one varying fastest."""
        pairs = self._pairs()
        height, width = self.shape[:2]
        if self.boundary == "cyclic":
            target_rows = pairs[:, 0] % height
            target_columns = pairs[:, 1] % width
            target_pixels = target_rows * width + target_columns
            is_valid = len(np.unique(target_pixels)) == len(pairs)
            problem = "are the same on"
        else:
            is_valid = bool(np.all(np.abs(pairs) < (height, width)))
            problem = "move all out of"
        if not is_valid:
            values = self.max_shift if self.shifts is None else self.shifts
            raise ParameterError(
                f"some shifts {problem} a {height} x {width} image: take fewer or smaller, got "
                f"{short(values)}"
            )
        return pairs

    def _cyclic(self) -> bool:
        self._check()
        return self.boundary == "cyclic"

    @property
    def unitary(self) -> bool:  # type: ignore[override]
        return self._cyclic() or not self.elements().any()

    @property
    def preserves_l1(self) -> bool:  # type: ignore[override]
        return self.unitary

    @property
    def is_group(self) -> bool:  # type: ignore[override]
        """Whether the shifts are cyclic and closed under addition."""
        if not self._cyclic():
            return False
        pairs = self.elements()
        sums = pairs[:, None] + pairs
        return self._contains(sums.reshape(-1, 2))

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return self._contains(-self.elements())

    def _contains(self, pairs: Array) -> bool:
        """Whether all these shifts are among the elements."""
        elements = self.elements()
        if self._cyclic():
            periods = np.array(self.shape[:2])
            elements = elements % periods
            pairs = pairs % periods
        element_set = {tuple(pair) for pair in elements}
        return all(tuple(pair) in element_set for pair in pairs)

    def as_shifts(self, elements: Array) -> Grid:
        """The elements as shifts of a grid, which they are."""
        pairs = np.atleast_2d(elements)
        return Grid(self.grid_shape, pairs, self._cyclic())  # type: ignore[arg-type]

    def relative_rule(self) -> tuple[Array, Array] | None:
        """Distinct differences of cyclic shifts, weighted by the number of pairs with each."""
        if not self._cyclic():
            return None
        pairs = self.elements()
        differences = (pairs[None] - pairs[:, None]).reshape(-1, 2)
        differences %= np.array(self.shape[:2])
        distinct, counts = np.unique(differences, axis=0, return_counts=True)
        return distinct, counts / len(differences)

    def inverse(self, elements: ArrayLike) -> Array:
        """Opposite shifts; with zero fill they restore only the pixels that stayed in the frame."""
        return -np.atleast_2d(elements)

    def _check_elements(self, elements: Array) -> Array:
        return self._batch(elements, "shifts (down, right)", 2, whole=True)

    def _act(self, elements: Array, X: Array) -> Array:
        if self._cyclic():
            return _rolled(elements, X, self.shape)
        height, width = self.shape[:2]
        images = X.reshape(len(X), *self.shape)
        results = np.zeros((len(elements), *images.shape), dtype=X.dtype)
        for i, (down, right) in enumerate(elements.tolist()):
            source_rows, target_rows = _overlap(down, height)
            source_columns, target_columns = _overlap(right, width)
            overlap = images[:, source_rows, source_columns]
            results[i, :, target_rows, target_columns] = overlap
        return results.reshape(len(elements), *X.shape)


def _all_pairs(downs: Array, rights: Array) -> Array:
    """All pairs of two shifts, shape (r, 2), the second varying fastest."""
    grid = np.meshgrid(downs, rights, indexing="ij")
    return np.stack(grid, axis=-1).reshape(-1, 2)


def _overlap(shift: int, length: int) -> tuple[slice, slice]:
    """Positions along an axis that stay in the frame, before and after a shift."""
    before = slice(max(-shift, 0), length - max(shift, 0))
    after = slice(max(shift, 0), length + min(shift, 0))
    return before, after


def _rolled(shifts: Array, X: Array, shape: tuple[int, ...]) -> Array:
    """Images after cyclic shifts (r, 2), shape (r, n, d)."""
    images = X.reshape(len(X), *shape)
    results = np.empty((len(shifts), *images.shape), dtype=X.dtype)
    for i, (down, right) in enumerate(shifts.tolist()):
        results[i] = np.roll(images, (down, right), axis=(1, 2))
    return results.reshape(len(shifts), *X.shape)


@stores_parameters
class TorusTranslations(CyclicProduct):
    """Translations of coordinate i by multiples of ``period / orders[i]``, read modulo ``period``.

    The group is Z_k1 x ... x Z_kd, one order per coordinate; order 1 leaves a coordinate fixed.
    With one order and period 2 pi, points are angles and the elements are the rotations of the
    circle by multiples of 2 pi / k. The elements are isometries of the torus, but not linear in
    its coordinates, hence not `unitary`.

    >>> group = TorusTranslations([4, 1])
    >>> group.order, group.act(group.generators(), [[0.0, 0.3]])[0]
    (4, array([[0.5, 0.3]]))
    """

    unitary = False
    orders: Annotated[ArrayLike, kinds.Array(1, whole=True, least=1, most=2**31)]
    period: Annotated[float, kinds.Number(1e-100, 1e100)] = 2.0

    def _periods(self) -> Array:
        self._check()
        return np.asarray(self.orders, dtype=np.int64)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self._periods()),)

    def representatives(self, X: Array) -> Array:
        """Points with coordinates from zero up to the smallest step of each.

        Remainders within rounding of the step are zero.
        """
        steps = float(self.period) / self._periods()
        remainders = np.asarray(np.mod(X, steps))
        rounding = 64 * np.finfo(X.dtype).eps * np.maximum(np.abs(X), float(self.period))
        remainders[remainders >= steps - rounding] = 0
        return remainders

    def _act(self, elements: Array, X: Array) -> Array:
        shifts = float(self.period) * elements / self._periods()
        shifts = shifts.astype(X.dtype)
        return np.asarray(X[None] + shifts[:, None])
