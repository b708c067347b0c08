"""`Maps`: group elements as linear maps of arrays of other libraries, through which gradients pass.

Groups act with NumPy, which keeps no history of derivatives. But nearly all elements are linear
maps, or linear maps and a shift: `Maps` finds them by letting the elements act on some NumPy
vectors. Elements that only move entries, change signs and set entries to zero are indices and
signs; all others are matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import detached, like, namespace
from ...core.parameters import ParameterError
from ...groups import Transformations

Array = NDArray[Any]

#: Relative error of a value that a linear map may have by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Maps:
    """Maps g x = A x + b, one for each of r elements, of points of length d to length e."""

    #: Numbers of the entries that move to each place, and their signs (zero for an entry that is
    #: lost), each of shape (r, e); None if the maps are matrices.
    sources: Array | None
    signs: Array | None
    #: Transposed matrices A, shape (r, d, e); None if entries only move.
    matrices: Array | None
    #: The vectors b, shape (r, e); None if they are zero.
    shifts: Array | None

    @classmethod
    def of(cls, group: Transformations, elements: Array, d: int) -> Maps:
        """Return elements of a group as maps of points of length d.

        Raises a ParameterError if they are not linear maps, apart from a shift.
        """
        n_elements = len(elements)
        labels = np.arange(1.0, d + 1)
        random_point = np.random.default_rng(0).uniform(1.0, 2.0, d)
        trial_points = np.stack([np.zeros(d), labels, random_point])
        try:
            images = np.asarray(group.act(elements, trial_points)).reshape(n_elements, 3, -1)
        except ValueError as error:  # The group takes some points only, such as Coulomb matrices.
            raise _not_linear(group) from error
        shifts = images[:, 0]
        moved_labels = images[:, 1] - shifts
        moved_point = images[:, 2] - shifts
        nonzero_shifts = shifts if shifts.any() else None

        whole_labels = np.clip(np.rint(np.abs(moved_labels)), 0, d)
        sources = np.maximum(whole_labels - 1, 0).astype(np.intp)
        signs = np.where(whole_labels > 0, np.sign(moved_labels), 0.0)
        if _agree(signs * random_point[sources], moved_point):
            return cls(sources, signs, None, nonzero_shifts)

        basis_images = np.asarray(group.act(elements, np.eye(d))).reshape(n_elements, d, -1)
        matrices = basis_images - shifts[:, None, :]
        if not _agree(np.einsum("d,rde->re", random_point, matrices), moved_point):
            raise _not_linear(group)
        return cls(None, None, matrices, nonzero_shifts)

    @property
    def n_bytes(self) -> int:
        arrays = (self.sources, self.signs, self.matrices, self.shifts)
        return sum(array.nbytes for array in arrays if array is not None)

    def on_all(self, X: Any) -> Any:
        """Return the images of all points X (n, d) under all r maps, shape (r, n, e)."""
        xp = namespace(X)
        n = X.shape[0]
        if self.sources is None:
            images = xp.matmul(X[None, :, :], _constant(self.matrices, X))
        else:
            r, e = self.sources.shape
            columns = xp.asarray(self.sources.ravel(), device=X.device)
            moved = xp.reshape(xp.take(X, columns, axis=1), (n, r, e))
            images = xp.permute_dims(moved, (1, 0, 2))
            images = images * _constant(self.signs, X)[:, None, :]
        if self.shifts is not None:
            images = images + _constant(self.shifts, X)[:, None, :]
        return images

    def on_own(self, X: Any, rows: Array) -> Any:
        """Return the image of point ``rows[k]`` of X under map k, shape (r, e)."""
        xp = namespace(X)
        if self.sources is None:
            own_points = xp.take(X, xp.asarray(rows, device=X.device), axis=0)
            images = xp.matmul(own_points[:, None, :], _constant(self.matrices, X))[:, 0, :]
        else:
            places = self.sources + X.shape[1] * rows[:, None]
            entries = xp.take(
                xp.reshape(X, (-1,)), xp.asarray(places.ravel(), device=X.device), axis=0
            )
            images = xp.reshape(entries, self.sources.shape) * _constant(self.signs, X)
        if self.shifts is not None:
            images = images + _constant(self.shifts, X)
        return images


def _not_linear(group: Transformations) -> ParameterError:
    return ParameterError(
        f"{group!r} does not act by linear maps on all points, so that no gradient passes through "
        "it: transform the other argument (side=...), or pass X.detach() for the values alone"
    )


def _agree(values: Array, expected: Array) -> bool:
    if values.shape != expected.shape:
        return False
    largest = np.abs(expected).max(initial=1.0)
    return bool(np.abs(values - expected).max(initial=0.0) <= _ROUNDING * largest)


def _constant(values: Any, X: Any) -> Any:
    """Return a NumPy array in the library, type and device of X."""
    return like(values, detached(X))
