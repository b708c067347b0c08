"""A set of transformations on trial: the points that it is tried on, and how it fails."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ..base import Group, Transformations

__all__ = ["ENTRIES", "Recogniser", "Trial"]

#: Numbers in an array of elements or of transformed points held at once.
ENTRIES = 2**21


class Trial:
    """Transformations, random points that they act on, and failures that name elements."""

    def __init__(self, group: Transformations, rng: np.random.RandomState, tolerance: float):
        self.group, self.rng, self.tolerance = group, rng, tolerance
        shape = group.shape
        if shape is not None and (np.ndim(shape) != 1 or np.asarray(shape).dtype.kind not in "iu"):
            self.fail(f"shape must be a property: a tuple of integers or None; got {shape!r:.80}")
        self.X = rng.standard_normal((3, group.n_features or 5))
        self.scale = np.linalg.norm(self.X, axis=1).max()

    def fail(self, what: str, *elements) -> None:
        named = ", ".join(np.array2string(np.asarray(g)) for g in elements)
        raise AssertionError(f"{self.group!r}: {what}" + (f" for {named}" if named else ""))

    def hold(self, gaps: NDArray, what: str, *batches: NDArray) -> None:
        """Fail with the largest gap and its elements; a batch of one belongs to every gap."""
        worst = int(np.argmax(gaps))
        if not gaps[worst] <= self.tolerance:
            self.fail(f"{what} by {gaps[worst]:.2g}", *(b[worst % len(b)] for b in batches))

    def gaps(self, left: NDArray, right: NDArray) -> NDArray:
        """Largest difference an element, relative to the points' norm."""
        return np.abs(left - right).max(axis=(1, 2)) / self.scale

    def images(self, elements: NDArray, X: NDArray) -> NDArray:
        """Transformed points, of the due shape and finite."""
        group, due = self.group, (len(elements), *X.shape)
        moved = group.act(elements, X)
        # Sets such as `Projected` overwrite `act` and return other coordinates than they take.
        same_points = group.unitary or isinstance(group, Group)
        if moved.shape != due and (same_points or moved.ndim != 3 or moved.shape[:2] != due[:2]):
            self.fail(f"act returned shape {moved.shape}, expected {due}")
        finite = np.isfinite(moved).all(axis=(1, 2))
        if not finite.all():
            self.fail("act returned nan or infinite values", elements[np.argmin(finite)])
        return moved

    def blocks(self, elements: NDArray, n_points: int) -> Iterator[NDArray]:
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

    def __init__(self, trial: Trial, elements: NDArray):
        self.trial = trial
        width = trial.images(elements[:1], trial.X).shape[2]
        self.directions = trial.rng.standard_normal((width, 3)) / np.sqrt(width)
        signatures = self.signatures(elements, trial.X[:1])
        self.tree = cKDTree(signatures)
        self.own = self.cells(signatures)

    def signatures(self, elements: NDArray, x: NDArray) -> NDArray:
        """Three random coordinates of gx, shape (r, 3): equal for elements that act alike."""
        trial = self.trial
        parts = [trial.images(g, x)[:, 0] @ self.directions for g in trial.blocks(elements, 1)]
        return np.concatenate(parts)

    def cells(self, signatures: NDArray) -> NDArray:
        """The first of the known elements that acts alike, or -1."""
        reach = self.trial.tolerance * self.trial.scale
        near = self.tree.query_ball_point(signatures, reach)
        return np.array([min(indices, default=-1) for indices in near], dtype=np.intp)
