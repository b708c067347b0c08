"""`Translations` of images by whole pixels, and the full group `CyclicTranslations`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from .abilities import Grid, differences
from .base import Transformations
from .cyclic import CyclicProduct
from .densities import Density, own_density

__all__ = ["CyclicTranslations", "Translations", "image_shape"]


def image_shape(shape) -> tuple[int, ...]:
    """(height, width) or (height, width, channels) as a tuple of positive integers."""
    sizes = np.atleast_1d(np.asarray(shape))
    if sizes.ndim != 1 or len(sizes) not in (2, 3) or sizes.dtype.kind not in "iu":
        raise ValueError(
            f"an image's shape is (height, width) or (height, width, channels), got {shape!r}"
        )
    if np.any(sizes < 1):
        raise ValueError(f"an image's sides must be positive, got shape {shape!r}")
    return tuple(int(s) for s in sizes)


def _roll(shifts: NDArray, X: NDArray, shape: tuple[int, ...]) -> NDArray:
    images = X.reshape(len(X), *shape)
    moved = np.empty((len(shifts), *images.shape), dtype=X.dtype)
    for shift, result in zip(shifts, moved, strict=True):
        result[...] = np.roll(images, tuple(int(s) for s in shift), axis=(1, 2))
    return moved.reshape(len(shifts), *X.shape)


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

    def __init__(self, shape: tuple[int, ...], axes: tuple[int, ...] = (0, 1)):
        self.shape = shape
        self.axes = axes

    # `shape` is a constructor argument here, where the base class computes it.
    shape = None

    def _periods(self) -> NDArray:
        sizes = image_shape(self.shape)
        axes = tuple(np.atleast_1d(self.axes))
        if not axes or len(set(axes)) < len(axes) or not set(axes) <= {0, 1}:
            raise ValueError(f"axes must be (0,), (1,) or (0, 1), got {self.axes!r}")
        return np.array([sizes[a] for a in axes])

    def elements(self) -> NDArray:
        periods = self._periods()
        return np.indices(periods).reshape(len(periods), -1).T.astype(np.int64)

    def as_signed_permutations(self, elements: ArrayLike) -> tuple[NDArray, NDArray]:
        """As permutations of the pixels: ``(g x)[i] = signs[i] * x[perm[i]]``, all signs one."""
        pixels = np.arange(self.n_features, dtype=float)[None]
        perm = self.act(np.atleast_2d(elements), pixels)[:, 0].astype(np.int64)
        return perm, np.ones(perm.shape, dtype=np.int8)

    def as_shifts(self, elements: NDArray) -> Grid:
        """Shifts along the axes."""
        pairs = np.zeros((len(elements), 2), dtype=np.int64)
        pairs[:, list(self.axes)] = np.atleast_2d(elements)
        return Grid((*image_shape(self.shape), 1)[:3], pairs)

    def _act(self, elements: NDArray, X: NDArray) -> NDArray:
        return _roll(self.as_shifts(elements).pairs, X, image_shape(self.shape))


class Translations(Transformations):
    r"""A finite set of translations of an image by whole pixels.

    An element (down, right) moves the content: :math:`(g x)[i, j] = x[i - \text{down},
    j - \text{right}]`.

    Parameters
    ----------
    shape : tuple
        (height, width) or (height, width, channels).
    max_shift : int or tuple (down, right)
        All shifts of at most this size in each direction.
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
    ValueError
        When two cyclic shifts are the same, or a zero-filled one would empty the frame.

    Examples
    --------
    >>> shifts = Translations((28, 28), max_shift=3)
    >>> shifts.order, shifts.unitary, shifts.symmetric, shifts.is_group
    (49, True, True, False)
    """

    linear = True

    # `shape` is a constructor argument here, where the base class computes it.
    shape = None

    def __init__(
        self,
        shape: tuple[int, ...],
        max_shift: int | tuple[int, int] = 7,
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

    @property
    def unitary(self) -> bool:
        return self._cyclic() or not self._pairs().any()

    @property
    def is_group(self) -> bool:
        """Whether the shifts are cyclic and closed under addition."""
        if not self._cyclic():
            return False
        sums = self._pairs()[:, None] + self._pairs()[None]
        return self._known(sums.reshape(-1, 2))

    @property
    def symmetric(self) -> bool:
        density = own_density(self)
        if density is not None and not density.symmetric:
            return False
        return self._known(-self._pairs())

    @property
    def order(self) -> int:
        return len(self._pairs())

    def elements(self) -> NDArray:
        """All shifts, shape (r, 2), the horizontal one varying fastest."""
        return self._pairs()

    def weights(self) -> NDArray | None:
        density = own_density(self)
        if density is None:
            return None
        weights = density.pdf(self._pairs()).prod(axis=1)
        if not weights.sum() > 0:
            raise ValueError(f"{density!r} gives none of the shifts a positive weight")
        return weights / weights.sum()

    def sample(self, n_samples: int, random_state=None) -> NDArray:
        pairs = self._pairs()
        rng = check_random_state(random_state)
        return pairs[rng.choice(len(pairs), size=n_samples, p=self.weights())]

    @property
    def preserves_l1(self) -> bool:
        return self.unitary

    def as_shifts(self, elements: NDArray) -> Grid:
        """The shifts themselves."""
        return Grid((*image_shape(self.shape), 1)[:3], np.atleast_2d(elements), self._cyclic())

    def relative_rule(self) -> tuple[NDArray, NDArray] | None:
        """Differences of cyclic shifts."""
        if not self._cyclic():
            return None
        pairs, weights = self.quadrature()
        return differences(pairs, weights, np.array(image_shape(self.shape)[:2]))

    def inverse(self, elements: ArrayLike) -> NDArray:
        """Opposite shifts; with zero fill they bring back only what stayed in the frame."""
        return -np.atleast_2d(elements)

    def _cyclic(self) -> bool:
        if self.boundary not in ("cyclic", "zero"):
            raise ValueError(f"boundary must be 'cyclic' or 'zero', got {self.boundary!r}")
        return self.boundary == "cyclic"

    def _known(self, pairs: NDArray) -> bool:
        """Whether all these shifts are among the elements."""
        sizes = image_shape(self.shape)[:2]
        reduce = (lambda p: p % sizes) if self._cyclic() else (lambda p: p)
        mine = {tuple(p) for p in reduce(self._pairs())}
        return all(tuple(p) in mine for p in reduce(pairs))

    def _pairs(self) -> NDArray:
        sizes = np.array(image_shape(self.shape)[:2])
        if self.shifts is None:
            largest = np.broadcast_to(np.asarray(self.max_shift), (2,))
            if largest.dtype.kind not in "iu" or np.any(largest < 0):
                raise ValueError(
                    f"max_shift must be a non-negative number of whole pixels, got "
                    f"{self.max_shift!r}; for fractions of a pixel use Affine"
                )
            if not isinstance(self.step, (int, np.integer)) or self.step < 1:
                raise ValueError(f"step must be a positive integer, got {self.step!r}")
            # Multiples of the step on both sides of zero, so that the set is symmetric.
            sides = [self.step * np.arange(-(m // self.step), m // self.step + 1) for m in largest]
            pairs = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)
        else:
            pairs = np.asarray(self.shifts)
            if pairs.dtype.kind not in "iu" or pairs.size == 0:
                raise ValueError(
                    f"shifts must be whole numbers of pixels, at least one, got {self.shifts!r}"
                )
            if pairs.ndim == 1:
                pairs = np.stack(np.meshgrid(pairs, pairs, indexing="ij"), axis=-1).reshape(-1, 2)
            if pairs.ndim != 2 or pairs.shape[1] != 2:
                raise ValueError(
                    f"shifts must be one sequence or pairs of shape (r, 2), got {pairs.shape}"
                )
        pairs = pairs.astype(np.int64)
        if self._cyclic():
            distinct = len(np.unique(pairs % sizes, axis=0))
            if distinct < len(pairs):
                raise ValueError(
                    f"only {distinct} of {len(pairs)} cyclic shifts of a "
                    f"{sizes[0]} x {sizes[1]} image differ: take smaller or fewer shifts"
                )
        elif np.any(np.abs(pairs) >= sizes):
            worst = pairs[np.any(np.abs(pairs) >= sizes, axis=1)][0]
            raise ValueError(
                f"the shift {tuple(int(p) for p in worst)} moves a {sizes[0]} x {sizes[1]} image "
                "out of its frame: with boundary='zero' shifts must be smaller than the image"
            )
        return pairs

    def _act(self, elements: NDArray, X: NDArray) -> NDArray:
        shape = image_shape(self.shape)
        if elements.ndim != 2 or elements.shape[1] != 2:
            raise ValueError(f"shifts must have shape (r, 2), got {elements.shape}")
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
