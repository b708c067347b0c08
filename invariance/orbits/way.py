"""`Problem` and `Way`: what is asked of an orbit, and one way to compute it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import is_foreign, like, namespace
from ..groups import Composition, Transformations
from .form import Form
from .reductions import Reduction

__all__ = ["Part", "Problem", "Run", "Way", "bounding_boxes", "largest_norm", "row_blocks"]

Array = NDArray[Any]
#: Applies a function to each of some arguments, in threads where that pays.
Run = Callable[..., list[Any]]


def row_blocks(n_rows: int, bytes_per_row: float, block_bytes: float) -> Iterator[slice]:
    """Slices that cover ``range(n_rows)`` with at most ``block_bytes`` of temporaries each.

    >>> list(row_blocks(5, bytes_per_row=10, block_bytes=25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, int(block_bytes // max(bytes_per_row, 1)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


class Part:
    """A set of transformations with the elements and weights taken of it; None takes its rule."""

    def __init__(
        self, group: Transformations, elements: Array | None = None, weights: Array | None = None
    ):
        self.group = group
        self._given = elements, weights
        self.whole = elements is None

    @cached_property
    def rule(self) -> tuple[Array, Array]:
        """Elements and their weights, which sum to one."""
        elements, weights = self._given
        if elements is None:
            return self.group.quadrature()
        if weights is None:
            weights = np.full(len(elements), 1 / len(elements))
        return elements, np.asarray(weights)

    @property
    def order(self) -> float:
        return len(self.rule[0]) if not self.whole else self.group.order


def together(parts: list[Part]) -> Part | None:
    """Some parts, applied one after another, as one; None for none."""
    if len(parts) < 2:
        return parts[0] if parts else None
    group: Transformations = parts[0].group
    for part in parts[1:]:
        group = Composition(group, part.group)
    return Part(group)


@dataclass
class Problem:
    """Reductions of a kernel's values over the orbits of second points.

    Attributes
    ----------
    form : Form
        What is done with inner products; without one (``evaluate`` given) with kernel values.
    evaluate : callable or None
        ``evaluate(X, Y)``, where the kernel is no function of inner products.
    shape : tuple (height, width, channels)
        Of a point; plain vectors are images of height one.
    dtype : dtype
        Of the inner products.
    parts : list of Part
        In the order in which they are applied to the second points.
    reduction : Reduction
    block_bytes : int
    first_terms : bool
        Whether something is added to the inner products with each first point: half its squared
        norm, where only extremes are wanted in the end instead.
    closed : callable or None
        ``closed(X, Y)`` is the whole reduction over the group, as the base kernel knows it.
    boxes : ndarray or None
        `bounding_boxes` of the first points, where these are images and known beforehand.
    support : ndarray of bool, shape (channels, height, width), or None
        Lifted features that are not zero for all first points.
    target : array or None
        One of the library and on the device in which pairs are computed; None is NumPy. What is
        linear in the number of points (group actions, lifts, transforms of a single point) is done
        by NumPy on the host, and then sent.
    """

    form: Form
    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    parts: list[Part]
    reduction: Reduction
    block_bytes: int
    first_terms: bool = False
    evaluate: Callable[[Array, Array], Array] | None = None
    closed: Callable[[Array, Array], Array] | None = None
    boxes: Array | None = None
    support: Array | None = None
    target: Any = None

    @cached_property
    def xp(self) -> Any:
        """The array API namespace of `target`."""
        return np if self.target is None else namespace(self.target)

    def send(self, A: Any) -> Any:
        """An array of the host in the library and on the device of `target`."""
        return A if self.target is None or A is None or is_foreign(A) else like(A, self.target)

    @cached_property
    def shown(self) -> Array:
        """Mean numbers of rows and of columns of first points that are not blank."""
        if self.boxes is None:
            return np.array(self.shape[:2], dtype=float)
        shown: Array = (self.boxes[:, :, 1] - self.boxes[:, :, 0]).mean(axis=0)
        return shown

    @property
    def folded(self) -> bool:
        """Whether prepared second points are scaled so that products are the exponents sought."""
        return (
            self.form.rate is not None
            and self.form.linear
            and self.reduction.plain_mean
            and self.evaluate is None
        )

    @property
    def applied(self) -> Form:
        """The outer function of products with prepared second points."""
        return Form(_exponential) if self.folded else self.form

    @property
    def n_channels(self) -> int:
        return self.form.n_channels or self.shape[2]

    @property
    def lifted_size(self) -> int:
        return self.n_channels * self.shape[0] * self.shape[1]

    def images(self, X: Array) -> Array:
        return X.reshape(len(X), *self.shape)

    def rows(self, X: Any, lift: Callable[[Array], Array]) -> Any:
        """Lifted points as rows; their features' order does not matter where the lift is none."""
        return X if self.form.linear else lift(self.images(X)).reshape(len(X), -1)

    def first(self, X: Array) -> Array:
        return self.form.first(self.images(X))

    def second(self, Y: Array) -> Array:
        return self.form.second(self.images(Y))

    def column_terms(self, moved: Array, offsets: Array | None) -> Array | None:
        """What is added for each second point: moved ones (r, m, d), shape (r, m)."""
        terms = None
        if self.form.distance:
            terms = -half_norms(moved.reshape(-1, moved.shape[-1])).reshape(moved.shape[:2])
        if offsets is not None:
            own = np.broadcast_to(offsets.astype(self.dtype), moved.shape[:2])
            terms = own if terms is None else terms + own
        return terms


def _exponential(values: Any, xp: Any) -> Any:
    return np.exp(values, out=values) if xp is np else xp.exp(values)


def beside(*parts: Any) -> Any:
    """Rows side by side, with single columns given as vectors; None is left out."""
    kept = [part if part.ndim == 2 else part[:, None] for part in parts if part is not None]
    if len(kept) == 1:
        return kept[0]
    if is_foreign(kept[0]):
        return namespace(kept[0]).concat(kept, axis=1)
    return np.concatenate(kept, axis=1, dtype=kept[0].dtype)


class Way(ABC):
    """A way to compute a `Problem`, blocks of first against pieces of second points."""

    name: str
    #: Axis of the images along which blank rows or columns are left out.
    skips: int = 0

    def __init__(self, problem: Problem):
        self.problem = problem

    @property
    def on_host(self) -> bool:
        """Whether first points are needed on the host, where they are another library's."""
        problem = self.problem
        return problem.evaluate is None and (problem.reduction.extreme or not problem.form.linear)

    @property
    def budget(self) -> float:
        """Bytes for a block of first points: threads share the bound, a device has it alone."""
        return self.problem.block_bytes / (8 if self.problem.target is None else 2)

    @abstractmethod
    def pieces(self, m: int) -> int:
        """Into how many pieces m second points go for memory's sake."""

    @abstractmethod
    def row_step(self, width: int) -> int:
        """First points at a time, against ``width`` second ones."""

    @abstractmethod
    def prepare(self, Y: Array, offsets: Array | None, run: Run) -> Iterator[Any]:
        """What `block` needs of second points, some elements at a time."""

    @abstractmethod
    def block(self, X: Any, prepared: Any, terms: Any) -> list[Any]:
        """Outputs (len(X), m, ...) of the reduction over the prepared elements.

        ``terms`` (len(X),) are added to the inner products with each first point. A smallest value
        that cannot matter is None.
        """

    @abstractmethod
    def operations(self, n: int, m: int) -> float:
        """Floating-point operations for n first and m second points."""

    @abstractmethod
    def prepared_bytes(self, m: int) -> float:
        """Bytes that `prepare` keeps for m second points and all elements."""

    def lowest(self, X: Array, norm: float) -> bool:
        """Whether a smallest value of these first points can matter."""
        turning = self.problem.form.turning_point
        if self.problem.reduction.n_outputs < 2 or not self.problem.reduction.extreme:
            return False
        return turning is None or -largest_norm(X) * norm < turning


def half_norms(X: Any) -> Any:
    if is_foreign(X):
        return namespace(X).sum(X * X, axis=1) / 2
    return np.einsum("nd,nd->n", X, X) / 2


def largest_norm(points: Array) -> float:
    """The largest Euclidean norm of the rows, zero for none."""
    return float(np.sqrt(np.einsum("nd,nd->n", points, points).max(initial=0.0)))


def bounding_boxes(images: Array) -> Array:
    """For rows, then columns: the first that is not blank, and the one after the last.

    >>> from invariance.orbits.way import bounding_boxes
    >>> image = np.zeros((1, 3, 5, 1))
    >>> image[0, 1, 1:4] = 1
    >>> bounding_boxes(image)[0].tolist()
    [[1, 2], [1, 4]]
    """
    boxes = np.empty((len(images), 2, 2), dtype=np.intp)
    for rows in row_blocks(len(images), 1, 512):  # few enough that nothing large is made
        shown: Array = np.asarray(images[rows].any(axis=3))
        for axis in (0, 1):
            along: Array = np.asarray(shown.any(axis=2 - axis))
            boxes[rows, axis, 0] = along.argmax(axis=1)
            boxes[rows, axis, 1] = along.shape[1] - along[:, ::-1].argmax(axis=1)
    return boxes
