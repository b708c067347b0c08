"""`Subject`: transformations under examination, points to try them on, and how they fail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ..base import Group, Transformations

__all__ = ["ENTRIES", "Recogniser", "Subject"]

#: Numbers in an array of elements or of transformed points held at once.
ENTRIES = 2**21


class Subject:
    """Transformations, random points that they act on, and failures that name elements."""

    def __init__(self, group: Transformations, rng: np.random.RandomState, tolerance: float):
        self.group, self.rng, self.tolerance = group, rng, tolerance
        shape = group.shape
        if shape is not None and (np.ndim(shape) != 1 or np.asarray(shape).dtype.kind not in "iu"):
            self.fail(f"shape must be a property: a tuple of integers or None; got {shape!r:.80}")
        # 60 entries are rows of points of up to six coordinates, where any length will do.
        self.X = rng.standard_normal((3, group.n_features or 60))
        self.scale = np.linalg.norm(self.X, axis=1).max()

    def fail(self, what: str, *elements: Any) -> NoReturn:
        named = ", ".join(np.array2string(np.asarray(g)) for g in elements)
        raise AssertionError(f"{self.group!r}: {what}" + (f" for {named}" if named else ""))

    def hold(self, gaps: NDArray[Any], what: str, *batches: NDArray[Any]) -> None:
        """Fail with the largest gap and its elements; a batch of one belongs to every gap."""
        worst = int(np.argmax(gaps))
        if not gaps[worst] <= self.tolerance:
            self.fail(f"{what} by {gaps[worst]:.2g}", *(b[worst % len(b)] for b in batches))

    def gaps(self, left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
        """Largest difference an element, relative to the points' norm."""
        return np.asarray(np.abs(left - right).max(axis=(1, 2)) / self.scale)

    def images(self, elements: NDArray[Any], X: NDArray[Any]) -> NDArray[Any]:
        """Transformed points, of the due shape and finite."""
        group, due = self.group, (len(elements), *X.shape)
        moved = group.act(elements, X)
        # Sets such as `Projected` return other coordinates than they take.
        same_points = group.keeps_shape or group.unitary or isinstance(group, Group)
        if moved.shape != due and (same_points or moved.ndim != 3 or moved.shape[:2] != due[:2]):
            self.fail(f"act returned shape {moved.shape}, expected {due}")
        finite = np.isfinite(moved).all(axis=(1, 2))
        if not finite.all():
            self.fail("act returned nan or infinite values", elements[np.argmin(finite)])
        return moved

    def blocks(self, elements: NDArray[Any], n_points: int) -> Iterator[NDArray[Any]]:
        size = max(1, ENTRIES // (n_points * self.X.shape[1]))
        for start in range(0, len(elements), size):
            yield elements[start : start + size]


class Recogniser:
    """Tells known elements by what they do to a point: by three random coordinates of gx.

    Attributes
    ----------
    own : ndarray of int, shape (r,)
        For each known element the first that acts alike.
    """

    def __init__(self, subject: Subject, elements: NDArray[Any]):
        self.subject = subject
        width = subject.images(elements[:1], subject.X).shape[2]
        self.directions = subject.rng.standard_normal((width, 3)) / np.sqrt(width)
        signatures = self.signatures(elements, subject.X[:1])
        self.tree = cKDTree(signatures)
        self.own = self.cells(signatures)

    def signatures(self, elements: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
        """Three random coordinates of gx, shape (r, 3): equal for elements that act alike."""
        subject = self.subject
        parts = [subject.images(g, x)[:, 0] @ self.directions for g in subject.blocks(elements, 1)]
        return np.concatenate(parts)

    def cells(self, signatures: NDArray[Any]) -> NDArray[Any]:
        """The first of the known elements that acts alike, or -1."""
        reach = self.subject.tolerance * self.subject.scale
        near = self.tree.query_ball_point(signatures, reach)
        return np.array([min(indices, default=-1) for indices in near], dtype=np.intp)
