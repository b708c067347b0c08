"""`Translations` of images by whole pixels, and the full group `CyclicTranslations`."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.parameters import (
    Array,
    Kind,
    OneOf,
    ParameterError,
    Shape,
    Whole,
    check_values,
    short,
    stores_parameters,
)
from .abilities import Grid, differences
from .base import Transformations, whole_elements
from .cyclic import CyclicProduct
from .densities import DENSITY, Density, normalised

__all__ = ["IMAGE_SHAPE", "CyclicTranslations", "Translations", "image_shape"]


#: What may be given for the shape of an image.
IMAGE_SHAPE = Kind(
    "(height, width) or (height, width, channels), whole numbers >= 1", Shape(2, 3).accepts
)


def image_shape(shape: Any) -> tuple[int, ...]:
    """(height, width) or (height, width, channels) as a tuple of positive integers."""
    check_values("an image", {"shape": IMAGE_SHAPE}, {"shape": shape})
    return tuple(int(side) for side in shape)


def _grid_shape(shape: Any) -> tuple[int, int, int]:
    """(height, width, channels), one channel where none are given."""
    height, width, channels = (*image_shape(shape), 1)[:3]
    return height, width, channels


def _roll(shifts: NDArray[Any], X: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    images = X.reshape(len(X), *shape)
    moved = np.empty((len(shifts), *images.shape), dtype=X.dtype)
    for shift, result in zip(shifts, moved, strict=True):
        result[...] = np.roll(images, tuple(int(s) for s in shift), axis=(1, 2))
    return moved.reshape(len(shifts), *X.shape)


@stores_parameters
class CyclicTranslations(CyclicProduct):
    """All cyclic translations of an image: Z_height x Z_width, permuting the pixels.

    An element is a row of integers, one for each of ``axes``; (down, right) for both. On polar
    images (annuli x sectors) with ``axes=(1,)`` these are the rotations of Liu et al. 2022,
    lemma 2: T_q' X^(p, q) = X^(p, q + q').

    Parameters
    ----------
    shape : tuple
        (height, width) or (height, width, channels).
    axes : tuple of int
        Which of the axes 0 (vertical) and 1 (horizontal) are translated.

    Examples
    --------
    >>> group = CyclicTranslations((3, 4))
    >>> group.order, len(group.generators())
    (12, 2)
    >>> group.act([[1, 0]], np.eye(3, 4)[None])[0, 0]         # down by one
    array([[0., 0., 1., 0.],
           [1., 0., 0., 0.],
           [0., 1., 0., 0.]])
    """

    unitary = True
    linear = True
    preserves_l1 = True
    shape: Annotated[tuple[int, ...], IMAGE_SHAPE]
    axes: Annotated[tuple[int, ...], Array(whole=True, least=0)] = (0, 1)

    def _check_together(self) -> None:
        axes = np.atleast_1d(self.axes).ravel().tolist()
        if len(set(axes)) < len(axes) or not set(axes) <= {0, 1}:
            raise ParameterError(f"axes must be (0,), (1,) or (0, 1), got {short(self.axes)}")

    def _periods(self) -> NDArray[Any]:
        self._check()
        return np.array([int(self.shape[a]) for a in np.atleast_1d(self.axes)])

    def elements(self) -> NDArray[Any]:
        periods = self._periods()
        self._check_listable()
        return np.indices(tuple(periods)).reshape(len(periods), -1).T.astype(np.int64)

    def as_signed_permutations(self, elements: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
        """As permutations of the pixels: ``(g x)[i] = signs[i] * x[perm[i]]``, all signs one."""
        pixels = np.arange(float(np.prod(self.shape)))[None]
        perm = self.act(np.atleast_2d(elements), pixels)[:, 0].astype(np.int64)
        return perm, np.ones(perm.shape, dtype=np.int8)

    def as_shifts(self, elements: NDArray[Any]) -> Grid:
        """Shifts along the axes."""
        pairs = np.zeros((len(elements), 2), dtype=np.int64)
        pairs[:, np.atleast_1d(self.axes)] = np.atleast_2d(elements)
        return Grid(_grid_shape(self.shape), pairs)

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        return _roll(self.as_shifts(elements).pairs, X, tuple(self.shape))


class Translations(Transformations):
    r"""A finite set of translations of an image, or of a signal, by whole pixels.

    An element (down, right) moves the content: :math:`(g x)[i, j] = x[i - \text{down},
    j - \text{right}]`.

    Parameters
    ----------
    shape : tuple or int
        (height, width) or (height, width, channels). A length is a signal, (1, length); a signal
        of several channels has shape (1, length, channels), channels varying fastest.
    max_shift : int or tuple (down, right)
        All shifts of at most this size in each direction; none along a side of length one.
    step : int
        Distance between neighbouring shifts.
    shifts : sequence of int, array of shape (r, 2) or None
        Instead of ``max_shift`` and ``step``: one sequence for both axes (all pairs are taken), or
        the pairs themselves.
    boundary : {"cyclic", "zero"}
        What leaves the frame comes back on the other side (unitary), or is lost (not unitary).
    density : Density or None
        On the shift in pixels along each axis; weighs the shifts. None weighs them equally.

    Raises
    ------
    ParameterError
        When two cyclic shifts are the same, or a zero-filled one would empty the frame.

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
    _parameters = {
        "shape": IMAGE_SHAPE,
        "max_shift": Array(whole=True, least=0, most=1_000_000),
        "step": Whole(1),
        "shifts": Array(whole=True) | None,
        "boundary": OneOf("cyclic", "zero"),
        "density": DENSITY,
    }

    def __init__(
        self,
        shape: tuple[int, ...] | int,
        max_shift: int | tuple[int, int] = 7,
        *,
        step: int = 1,
        shifts: ArrayLike | None = None,
        boundary: str = "cyclic",
        density: Density | None = None,
    ):
        self.shape = shape
        self.max_shift = max_shift
        self.step = step
        self.shifts = shifts
        self.boundary = boundary
        self.density = density

    def _check_together(self) -> None:
        if self.shifts is None:
            if np.shape(self.max_shift) not in ((), (2,)):
                raise ParameterError(
                    "max_shift must be a non-negative number of whole pixels, or two of them, "
                    f"(down, right), got {short(self.max_shift)}; for fractions of a pixel use "
                    "Affine"
                )
        elif np.ndim(self.shifts) != 1 and np.shape(self.shifts)[1:] != (2,):
            raise ParameterError(
                "shifts must be one sequence or pairs of shape (r, 2), got "
                f"{short(self.shifts)} of shape {np.shape(self.shifts)}"
            )

    # A constructor argument here, where the base class computes it.
    @property
    def shape(self) -> Any:
        """(height, width) or (height, width, channels)."""
        return self._shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._shape = (1, int(shape)) if Whole(1).accepts(shape) else shape

    def _twice(self, n_shifts: int, distinct: int) -> None:
        given = self.max_shift if self.shifts is None else self.shifts
        raise ParameterError(
            f"only {distinct} of {n_shifts} cyclic shifts of a {self.shape[0]} x {self.shape[1]} "
            f"image differ: take a smaller max_shift or fewer shifts, got {short(given)}"
        )

    def _out_of_frame(self, shift: NDArray[Any]) -> None:
        given = self.max_shift if self.shifts is None else self.shifts
        raise ParameterError(
            f"the shift {tuple(int(p) for p in shift)} moves a {self.shape[0]} x {self.shape[1]} "
            "image out of its frame: with boundary='zero' max_shift and shifts must be smaller "
            f"than the image, got {short(given)}"
        )

    @property
    def unitary(self) -> bool:  # type: ignore[override]
        return self._cyclic() or not self._pairs().any()

    @property
    def is_group(self) -> bool:  # type: ignore[override]
        """Whether the shifts are cyclic and closed under addition."""
        if not self._cyclic():
            return False
        sums = self._pairs()[:, None] + self._pairs()[None]
        return self._known(sums.reshape(-1, 2))

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        self._check()
        if self.density is not None and not self.density.symmetric:
            return False
        return self._known(-self._pairs())

    @property
    def order(self) -> int:
        return len(self._pairs())

    def elements(self) -> NDArray[Any]:
        """All shifts, shape (r, 2), the horizontal one varying fastest."""
        return self._pairs()

    def weights(self) -> NDArray[Any] | None:
        self._check()
        if self.density is None:
            return None
        weights = self.density.pdf(self._pairs()).prod(axis=1)
        listed = {"max_shift": self.max_shift, "shifts": self.shifts}
        return normalised(weights, self.density, **listed)

    _sample = Transformations._from_listed

    @property
    def preserves_l1(self) -> bool:  # type: ignore[override]
        return self.unitary

    def as_shifts(self, elements: NDArray[Any]) -> Grid:
        """The shifts themselves."""
        return Grid(_grid_shape(self.shape), np.atleast_2d(elements), self._cyclic())

    def relative_rule(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Differences of cyclic shifts."""
        if not self._cyclic():
            return None
        pairs, weights = self.quadrature()
        return differences(pairs, weights, np.array(image_shape(self.shape)[:2]))

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        """Opposite shifts; with zero fill they bring back only what stayed in the frame."""
        return -np.atleast_2d(elements)

    def _cyclic(self) -> bool:
        self._check()
        return self.boundary == "cyclic"

    def _known(self, pairs: NDArray[Any]) -> bool:
        """Whether all these shifts are among the elements."""
        period = np.array(self.shape[:2]) if self._cyclic() else np.array([2**40, 2**40])
        mine = {tuple(p) for p in self._pairs() % period}
        return all(tuple(p) in mine for p in pairs % period)

    def _pairs(self) -> NDArray[Any]:
        self._check()
        sizes = np.array(self.shape[:2])
        if self.shifts is None:
            # Counted before they are listed: a large shift is refused at once.
            reach = self._reach() // self.step * self.step
            count = 2 * (reach // self.step) + 1
            if self.boundary == "cyclic" and np.any(count > sizes):
                self._twice(int(np.prod(count)), int(np.prod(np.minimum(count, sizes))))
            if self.boundary == "zero" and np.any(reach >= sizes):
                self._out_of_frame(reach)
        pairs = self._list()
        if self.boundary == "cyclic":
            distinct = len(np.unique(pairs % sizes, axis=0))
            if distinct < len(pairs):
                self._twice(len(pairs), distinct)
        elif np.any(np.abs(pairs) >= sizes):
            self._out_of_frame(pairs[np.any(np.abs(pairs) >= sizes, axis=1)][0])
        return pairs

    def _reach(self) -> NDArray[Any]:
        reach = np.broadcast_to(np.asarray(self.max_shift, dtype=np.int64), (2,))
        # One number is for sides that there are: a signal has a single row.
        return (
            np.where(np.array(self.shape[:2]) == 1, 0, reach)
            if np.ndim(self.max_shift) == 0
            else reach
        )

    def _list(self) -> NDArray[Any]:
        if self.shifts is None:
            # Multiples of the step on both sides of zero, so that the set is symmetric.
            steps = self._reach() // self.step
            sides = [self.step * np.arange(-n, n + 1) for n in steps]
        else:
            shifts = np.asarray(self.shifts)
            if shifts.ndim == 2:
                return shifts.astype(np.int64)
            sides = [shifts, shifts]
        pairs = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)
        return pairs.astype(np.int64)

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        return whole_elements(self, elements, 2, "shifts (down, right)")

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        shape = tuple(self.shape)
        if self._cyclic():
            return _roll(elements, X, shape)
        images = X.reshape(len(X), *shape)
        moved = np.zeros((len(elements), *images.shape), dtype=X.dtype)
        for (down, right), result in zip(elements, moved, strict=True):
            rows = [
                (slice(max(s, 0), n + min(s, 0)), slice(max(-s, 0), n - max(s, 0)))
                for s, n in ((int(down), shape[0]), (int(right), shape[1]))
            ]
            (to_row, from_row), (to_column, from_column) = rows
            result[:, to_row, to_column] = images[:, from_row, from_column]
        return moved.reshape(len(elements), *X.shape)
