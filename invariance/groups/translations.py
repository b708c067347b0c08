"""Translations: of images by whole pixels, cyclic or not, and of tori by rational steps."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from math import prod
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import parameters as kinds
from ..core.parameters import ParameterError, short, stores_parameters
from .base import FiniteGroup, Grid, Transformations

#: What may be given for the shape of an image.
IMAGE_SHAPE = kinds.Kind(
    "(height, width) or (height, width, channels), whole numbers >= 1", kinds.Shape(2, 3).accepts
)


class CyclicProduct(FiniteGroup):
    """Base of the groups Z_k1 x ... x Z_kd; an element is a row of d integers, added mod k."""

    @abstractmethod
    def _periods(self) -> NDArray[Any]:
        """The orders k1, ..., kd of the factors."""

    @property
    def order(self) -> int:
        return prod(int(k) for k in self._periods())

    def generators(self) -> NDArray[Any]:
        periods = self._periods()
        return np.eye(len(periods), dtype=np.intp)[periods > 1]

    def identity(self) -> NDArray[Any]:
        return np.zeros((1, len(self._periods())), dtype=np.intp)

    def compose(self, first: ArrayLike, second: ArrayLike) -> NDArray[Any]:
        return np.asarray((np.atleast_2d(first) + np.atleast_2d(second)) % self._periods())

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        return np.asarray(-np.atleast_2d(elements) % self._periods())

    def _sample(self, n_samples: int, rng: np.random.RandomState) -> NDArray[Any]:
        periods = self._periods()
        return rng.randint(periods, size=(n_samples, len(periods)))

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
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
        if len(set(axes)) < len(axes) or not set(axes) <= {0, 1}:
            raise ParameterError(f"axes must be (0,), (1,) or (0, 1), got {short(self.axes)}")

    def _periods(self) -> NDArray[Any]:
        self._check()
        return np.array([int(self.shape[a]) for a in np.atleast_1d(self.axes)])

    def elements(self) -> NDArray[Any]:
        periods = self._periods()
        self._check_listable()
        return np.indices(tuple(periods)).reshape(len(periods), -1).T.astype(np.intp)

    def as_shifts(self, elements: NDArray[Any]) -> Grid:
        """Shifts along the axes."""
        pairs = np.zeros((len(elements), 2), dtype=np.intp)
        pairs[:, np.atleast_1d(self.axes)] = np.atleast_2d(elements)
        return Grid(self.grid_shape, pairs)  # type: ignore[arg-type]

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        return _rolled(self.as_shifts(elements).pairs, X, self.shape)


@stores_parameters
class Translations(Transformations):
    r"""A finite set of translations of an image, or of a signal, by whole pixels.

    An element (down, right) moves the content: :math:`(g x)[i, j] = x[i - \text{down},
    j - \text{right}]`.

    Parameters
    ----------
    shape : tuple or int
        (height, width) or (height, width, channels). A length is a signal, (1, length); a signal
        of several channels has shape (1, length, channels), channels varying fastest.
    max_shift : int
        All shifts of at most this size in each direction; none along a side of length one.
    shifts : sequence of int, array of shape (r, 2) or None
        Instead of ``max_shift``: one sequence for both axes (all pairs are taken), or the pairs.
    boundary : {"cyclic", "zero"}
        What leaves the frame comes back on the other side (unitary), or is lost (not unitary).

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
        signal = name == "shape" and kinds.Whole(1).accepts(value)
        super().__setattr__(name, (1, int(value)) if signal else value)

    def _check_together(self) -> None:
        shape = np.shape(() if self.shifts is None else self.shifts)
        if len(shape) != 1 and shape[1:] != (2,):
            raise ParameterError(f"shifts must be a sequence or (r, 2), got {short(self.shifts)}")

    def _pairs(self) -> NDArray[Any]:
        """The shifts asked for."""
        if self.shifts is not None:
            sides = [np.array(self.shifts, dtype=np.intp)] * 2
        else:  # one shift beyond the image is refused; more of them are not listed
            reach = [min(int(self.max_shift), n) if n > 1 else 0 for n in self.shape[:2]]
            sides = [np.arange(-n, n + 1) for n in reach]
        if sides[0].ndim == 2:
            return sides[0]
        return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)

    def _listed(self) -> NDArray[Any]:
        """All shifts, shape (r, 2), the horizontal one varying fastest."""
        pairs, sizes = self._pairs(), np.array(self.shape[:2])
        if self.boundary == "cyclic":
            fit, wrong = (
                len(np.unique(pairs % sizes @ (sizes[1], 1))) == len(pairs),
                "are the same on",
            )
        else:
            fit, wrong = bool((np.abs(pairs) < sizes).all()), "move all out of"
        if not fit:
            given = short(self.max_shift if self.shifts is None else self.shifts)
            image = f"a {sizes[0]} x {sizes[1]} image"
            raise ParameterError(f"some shifts {wrong} {image}: take fewer or smaller, got {given}")
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
        return self._lists((pairs[:, None] + pairs).reshape(-1, 2))

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return self._lists(-self.elements())

    def _lists(self, pairs: NDArray[Any]) -> bool:
        """Whether all these shifts are among the elements."""
        period = np.array(self.shape[:2] if self._cyclic() else (2**40, 2**40))
        mine = {tuple(p) for p in self.elements() % period}
        return all(tuple(p) in mine for p in pairs % period)

    def as_shifts(self, elements: NDArray[Any]) -> Grid:
        """The shifts themselves."""
        return Grid(self.grid_shape, np.atleast_2d(elements), self._cyclic())  # type: ignore[arg-type]

    def relative_rule(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Distinct differences of cyclic shifts, by how many pairs differ so."""
        if not self._cyclic():
            return None
        pairs = self.elements()
        every = (pairs[None] - pairs[:, None]).reshape(-1, 2) % np.array(self.shape[:2])
        found, pairs_of = np.unique(every, axis=0, return_counts=True)
        return found, pairs_of / len(every)

    def inverse(self, elements: ArrayLike) -> NDArray[Any]:
        """Opposite shifts; with zero fill they bring back only what stayed in the frame."""
        return -np.atleast_2d(elements)

    def _check_elements(self, elements: NDArray[Any]) -> NDArray[Any]:
        return self._batch(elements, "shifts (down, right)", 2, whole=True)

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        if self._cyclic():
            return _rolled(elements, X, self.shape)
        images = X.reshape(len(X), *self.shape)
        moved = np.zeros((len(elements), *images.shape), dtype=X.dtype)
        for pair, result in zip(elements, moved, strict=True):
            sides = list(zip(map(int, pair), self.shape[:2], strict=True))
            to = tuple(slice(max(s, 0), n + min(s, 0)) for s, n in sides)
            of = tuple(slice(max(-s, 0), n - max(s, 0)) for s, n in sides)
            result[:, *to] = images[:, *of]
        return moved.reshape(len(elements), *X.shape)


def _rolled(shifts: NDArray[Any], X: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    images = X.reshape(len(X), *shape)
    moved = np.empty((len(shifts), *images.shape), dtype=X.dtype)
    for shift, result in zip(shifts, moved, strict=True):
        result[...] = np.roll(images, tuple(int(s) for s in shift), axis=(1, 2))
    return moved.reshape(len(shifts), *X.shape)


@stores_parameters
class TorusTranslations(CyclicProduct):
    """Translations of coordinate i by multiples of ``period / orders[i]``, read modulo ``period``.

    The group is Z_k1 x ... x Z_kd, one order a coordinate, of which 1 leaves it alone. With one
    order and period 2 pi it is that of rotations of the circle by 2 pi / k, a point being an angle.
    Isometries of the torus, but no linear maps of its coordinates, hence not `unitary`.

    >>> group = TorusTranslations([4, 1])
    >>> group.order, group.act(group.generators(), [[0.0, 0.3]])[0]
    (4, array([[0.5, 0.3]]))
    """

    unitary = False
    orders: Annotated[ArrayLike, kinds.Array(1, whole=True, least=1, most=2**31)]
    period: Annotated[float, kinds.Number(1e-100, 1e100)] = 2.0

    def _periods(self) -> NDArray[Any]:
        self._check()
        return np.asarray(self.orders, dtype=np.int64)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self._periods()),)

    def _act(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        shifts = np.asarray(float(self.period) * elements / self._periods(), dtype=X.dtype)
        return np.asarray(X[None] + shifts[:, None])
